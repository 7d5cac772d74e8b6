"""`skedasis.report`: a self-contained HTML page about one or several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Unpack, get_args

from numpy.typing import ArrayLike

from skedasis._arguments import check_option, shown
from skedasis._files import check_page, check_writable, write_bytes, write_text
from skedasis._numbers import counted
from skedasis._progress import Progress
from skedasis._types import JsonValue, TableLike
from skedasis.data.dataset import ChunkedRows, as_dataset
from skedasis.engine.argument_types import FeatureList, GivenRegions, Models, SplitBy
from skedasis.engine.options import ReportKeywords, takes_options
from skedasis.errors import DataError
from skedasis.plots.elements import tag
from skedasis.quantities.outputs import ModelLike
from skedasis.report.changed import OldRows
from skedasis.report.content import ReportContent, gather
from skedasis.report.data import report_data
from skedasis.report.format import feature_titles, listed
from skedasis.results.checks.check import IgnoreByFeature
from skedasis.results.effects import Effects
from skedasis.results.export import to_json
from skedasis.results.keywords import CurveScale


@dataclass(frozen=True, eq=False)
class Report:
    """A page that has been written, and the effects that it shows.

    Parameters
    ----------
    path : Path
    effects : dict of str to dict of str to Effects
        Effects by model, then by method: "RHALE", "ALE", "PDP". Nominal features have no RHALE, but their
        ALE in its place.
    content : ReportContent
        Everything that the page shows, as values.
    figures : tuple of Path
        PNG files of figures, if any were written.
    """

    path: Path
    effects: Mapping[str, Mapping[str, Effects]] = field(repr=False)
    content: ReportContent = field(repr=False)
    figures: tuple[Path, ...] = field(default=(), repr=False)

    def __fspath__(self) -> str:
        return str(self.path)

    def to_dict(self) -> dict[str, JsonValue]:
        """Return the numbers and texts of the page as plain data: dictionaries, lists, text, numbers and None.

        Returns
        -------
        dict
            With the keys "schema" (2), "version", "confidence_level", "left_out", "data" and "models". The reference
            page of the report describes all keys. Numbers that are not finite are None.

        Notes
        -----
        With ``report(rows=False)`` nothing in it is of a single row. No model row.

        Examples
        --------
        >>> import numpy as np, tempfile, pathlib
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(size=(200, 2))
        >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> done = sd.report(lambda X: X[:, 0] * X[:, 1], X, path=page, progress=False)
        >>> found = done.to_dict()
        >>> found["schema"], found["data"]["rows"], sorted(found["models"][0]["features"])
        (2, 200, ['x0', 'x1'])
        """
        return report_data(self.content)

    def to_json(self, path: str | Path | None = None, *, indent: int | None = None) -> str:
        """Return `to_dict` as strict JSON, and write it to a file if a path is given.

        Parameters
        ----------
        path : str or Path, optional
            An existing file is replaced. The encoding is UTF-8.
        indent : int, optional
            Number of spaces of each level; by default everything is on one line.

        Raises
        ------
        DataError
            If the path is a folder or cannot be written.
        """
        if path is not None:
            path = check_writable(path, "to_json(path)", "report.json")
        text = to_json(report_data(self.content), indent)
        if path is not None:
            write_text(path, text, "to_json(path)")
        return text

    def _repr_html_(self) -> str:
        """Return a link to the page: the page itself would add megabytes to a notebook."""
        models = listed(list(self.effects))
        features = counted(len(next(iter(self.effects.values()))["RHALE"]), "feature")
        link = tag("a", self.path.name, href=self.path.resolve().as_uri())
        return str(tag("p", link, f": {features} in {models}"))


@takes_options(ReportKeywords)
def report(  # noqa: PLR0913 - a page has many parts
    models: ModelLike | Models[ModelLike],
    X: TableLike,
    y: ArrayLike | None = None,
    path: str | Path = "report.html",
    *,
    features: Sequence[str | int] | str | int | FeatureList = None,
    title: str | None = None,
    pairs: int = 4,
    rows: bool | Sequence[int] = True,
    uncertainty: bool = True,
    regions: bool = True,
    by: GivenRegions | None = None,
    observed: bool = True,
    split: SplitBy | None = None,
    max_seconds: float | None = None,
    ignore: IgnoreByFeature = None,
    scale: CurveScale = "prediction",
    X_old: TableLike | None = None,
    y_old: ArrayLike | None = None,
    sample_weight_old: ArrayLike | None = None,
    **keywords: Unpack[ReportKeywords],
) -> Report:
    """Write a report about one or several models as one HTML page.

    The page is self-contained: it includes its figures, loads nothing from the network, and runs only its own script.
    It contains no rows of X except the curves and values that the figures show.

    Parameters
    ----------
    models : model, list of models, or mapping of str to model
        A quantity, fitted estimator or callable, or several of them, by name or as "model 0", "model 1", …. Of a
        classifier with more than two classes, or with several labels, all are explained.
    X : array, data frame or ParquetData of n rows
        Of data that are read in chunks (`sd.parquet`), the page shows a random sample of at most 100,000 rows, and says
        so.
    y : array of n labels, optional
        Needed by some quantities. With labels, the page shows how well the models predict, and along each feature the
        mean label and the mean prediction.
    path : str or Path
        Path of the page; an existing file is replaced.
    features : list, pattern or selector, optional
        By default all features; patterns and selectors as in `skedasis.explain`. Features with more than 2,000 levels
        are left out, which the page reports.
    schema, groups, sample_weight, random_state, sample, memory, keep_rows, n_jobs, progress, tree
        As in `skedasis.explain`.
    max_model_rows : int or None
        Largest number of rows at which the models are called, of all models together. The page then leaves out what is
        least needed, in the order of `max_seconds`. If the least is more, an error that states it is raised before a
        model is called. By default there is no limit.
    heterogeneity_rows : int or None
        Largest number of rows for the heterogeneity scores. None uses all rows, 0 computes no scores. The score of a
        feature is computed once, for all methods.
    title : str, optional
        Title of the page.
    pairs : int
        Largest number of second-order ALE surfaces, the strongest first; 0 for none, also in the variance shares.
    rows : bool or sequence of int
        Positions of at most eight rows in X, such as ``[3, 17]``: the page then shows where each of them stands on
        every curve, and its own ICE curve. Rows of weight 0 have no position on a curve, and raise an error.
        If False, the page shows nothing of single rows: no individual curves, rug marks, single local effects or row
        numbers. It still contains averages, counts, bin edges and grid points (the outermost ones are the minimum and
        the maximum of a column; others can also be values, such as quantiles), the boundaries of gaps without rows in
        warnings, and the names of levels.
    uncertainty : bool
        Whether to explain the predictive uncertainty of models that predict a distribution.
    regions : bool
        Whether to search, for each feature, for regions of the data in which its effect differs (`skedasis.regions`).
    by : str, tuple, array or mapping, optional
        Regions that you name, for all features, as in `skedasis.explain`. None are then searched for. The page
        compares the regions as cohorts.
    observed : bool
        Whether figures and tables of features show the mean labels and the mean predictions in cells of the feature, as
        `skedasis.explain` with ``observed=True``, if there are labels of a prediction or a probability. A sentence says
        where the mean residual is clearly not 0, nor that of all rows: by Student's t at 5 % for all cells of all
        features together (Holm), and by at least a tenth of what the mean predictions vary along the feature along
        which they vary most.
    split : str, int or array of n labels, optional
        A column or labels of the rows, such as "train" and "test", for each of which these means are apart, as in
        `skedasis.explain`.
    max_seconds : float, optional
        About how many seconds the report may take. If the models need longer, the page leaves out what is least
        needed, in this order: the predictive uncertainty; surfaces of pairs; PDP and ICE of the least important
        features; rows of the heterogeneity scores (2,000, 500, then 200 of them remain, then none); at last rows of
        everything, down to a random sample of 200. The page says what was left out, and the provenance records it. If
        the least takes longer, an error that names it is raised after two calls of each model with at most 32 rows in
        all. What fits depends on the measured speed of the models: with `max_seconds`, the same call need not give the
        same page. Work is planned before it begins: a call of the model that does not return is not interrupted,
        except by Ctrl-C.
    ignore : str, collection of str or mapping, optional
        Codes of checks whose findings the page leaves out, such as ``("few_rows",)``, or ``{"age": "few_rows"}`` for
        one feature.
    scale : {"prediction", "difference"}
        How high the curves of effects are drawn: at the height of predictions, such that each averages to the mean
        prediction; or around zero, as differences from it. Where the mean prediction is not known (of trees without
        heterogeneity scores), the page draws differences, and says so.
    X_old : array, data frame or ParquetData, optional
        Older rows, such as those of last year: the section *What changed* then says why the mean prediction changed
        from them to X, as `skedasis.drift` does. Of two models, the first one is the old one.
    y_old, sample_weight_old : array, optional
        Labels of the older rows, for quantities that need labels, and their weights.

    Returns
    -------
    Report
        The path of the page, and the effects that it shows.

    Raises
    ------
    DataError
        If the path is a folder or cannot be written, and for invalid arguments of `skedasis.explain`.
    UnsupportedError
        For a pair among `features`, and if no feature has at most 2,000 levels.

    Notes
    -----
    Two models are compared in the section *What changed*: where the new one, the second, predicts otherwise on average,
    by groups of rows, and which effects changed. It costs no model row; with `X_old` as many as `skedasis.drift`,
    within the limits.

    Several models of one quantity are drawn on the same axes, until a switch on the page chooses one; outputs of a
    model have a switch, too. A page has at most 2 MB for 20 features and 5 MB for 300: details of the least important
    features are left out, which the page reports.

    Each model is explained by RHALE for numeric and ordinal features, and by ALE, M-plots and PDP with c-ICE for all.
    Features without any value are left out, which the page reports; if they are named in `features`, an error is
    raised. What main effects, regions and pairs explain of the variance (`skedasis.variance_shares`) is measured at
    held-out rows. Pairs are compared as by `skedasis.interactions`, and the strongest are drawn.

    Cost in model rows, for N rows and d features: N for derivatives, or 2 N d for differences; n (d + 2) for the
    heterogeneity scores of n rows, where n is at most `heterogeneity_rows`, and at most 4,000 d for spreads; at most
    n + 4,000 for both within the regions of each feature that has some; 2 N d for ALE; (12 d + 114) N for PDP, and at
    most 50 N d; N for M-plots, quality, mean labels and the variance shares together; 4 N for each surface, and at
    most 2,000,000 for all; for a model that predicts a distribution, the cost of `skedasis.diagnose` and of two more
    passes on at most 2,000 rows. Tree ensembles are evaluated from their structure, without calling the model.

    PDPs of tree ensembles have 50 points. Where the model is called, each numeric feature has at least 12, and those
    with the largest effects and heterogeneity have more, up to 50. Their quantiles and ends are those of `PDP(grid=…)`.

    If the models will need more than about a minute, a `CostWarning` states the model rows and the time before the
    first long pass, and the progress bars repeat it. The model rows are counted from the plans of all passes. Those
    within regions, of surfaces of pairs and of the predictive uncertainty are upper bounds, because the first pass
    decides about them. What comes on top: checks of the model (`check_rows`), and at most 4 N for each feature whose
    slopes do not pass the check and are replaced by differences. For the time, the model is called with up to 20,000
    rows, for at most a second.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> done = sd.report(lambda X: X[:, 0] * X[:, 1], X, path=page, progress=False)
    >>> done.path.name, list(done.effects["function"])
    ('report.html', ['RHALE', 'ALE', 'PDP'])
    """
    if isinstance(y, (str, Path)):
        fix = f"Pass the labels themselves, such as y=data[{str(y)!r}]"
        if "." in str(y) or isinstance(y, Path):
            fix = f"Write path={str(y)!r}; labels are the third argument"
        raise DataError("report(y)", f"the text {str(y)!r}", "the labels of the rows, or None", fix)
    path = check_page(path, "report(path)", "report.html")
    if title is not None and not isinstance(title, str):
        raise DataError("report(title)", shown(title), "a text", f"Write title={str(title)!r}")
    check_option("report(scale)", scale, get_args(CurveScale))
    content = gather(
        models,
        X,
        y,
        features=features,
        pairs=pairs,
        rows=rows,
        uncertainty=uncertainty,
        regions=regions,
        by=by,
        observed=observed,
        split=split,
        max_seconds=max_seconds,
        ignore=ignore,
        old=_old_rows(X_old, y_old, sample_weight_old),
        **keywords,
    )
    return write(content, path, title=title, scale=scale, progress=keywords.get("progress"))


def _old_rows(
    X: TableLike | None, y: ArrayLike | None, sample_weight: ArrayLike | None
) -> OldRows | None:
    """Return the older rows; raise for labels or weights without rows."""
    if X is not None:
        if not isinstance(X, ChunkedRows):
            as_dataset(X, y, sample_weight)  # what is wrong with them is said before the work
        return OldRows(X, y, sample_weight)
    for name, value in (("y_old", y), ("sample_weight_old", sample_weight)):
        if value is not None:
            fix = "Pass X_old= too, or leave it out"
            raise DataError(f"report({name})", "no X_old", "the older rows", fix)
    return None


def write(
    content: ReportContent,
    path: str | Path,
    *,
    title: str | None = None,
    scale: CurveScale = "prediction",
    figures: str | Path | None = None,
    progress: bool | None = None,
) -> Report:
    """Draw the figures of a report and write its page."""
    from skedasis.report.html import page_context, render

    path, content = check_writable(path, "report(path)", "report.html"), content.drawn_at(scale)
    with feature_titles(content.titles):
        page = render(page_context(content, title, progress))
    write_text(path, page, "report(path)")
    saved = () if figures is None else _save(content, Path(figures), progress)
    effects = {t.name: {"RHALE": t.rhale, "ALE": t.ale, "PDP": t.pdp} for t in content.sections}
    return Report(path, effects, content, tuple(saved))


def _save(content: ReportContent, folder: Path, progress: bool | None) -> list[Path]:
    """Write the figures as PNG files, and return their paths."""
    from skedasis.report.figures import file_name, png_figures

    written: list[Path] = []
    with Progress(len(content.sections) * (len(content.features) + 1), "Figures", progress) as bar:
        for section in content.sections:
            for feature in (None, *content.features):
                for figure in png_figures(section, feature):
                    name = file_name(section.name, figure.name)
                    path = folder / f"{name}.png"
                    # Names can differ only in characters that are not allowed in file names.
                    if path in written:
                        path = folder / f"{name}-{len(written)}.png"
                    write_bytes(path, figure.png, "report(figures)")
                    written.append(path)
                bar.advance()
    return written
