"""`report`: a self-contained page about one or several models."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skedasis._types import Json
from skedasis.engine.run import Progress
from skedasis.errors import DataError, explained
from skedasis.plots.scales import count
from skedasis.plots.svg.elements import tag
from skedasis.quantities.tree_evaluator import Wish
from skedasis.report.content import Story, gather
from skedasis.report.format import listed
from skedasis.results.effects import Effects

_USUAL = "Use path='report.html'"


@dataclass(frozen=True, eq=False)
class Report:
    """A page that is written, and the results that it shows.

    Parameters
    ----------
    path : Path
    effects : dict of str to dict of str to Effects
        By model, then by method: "RHALE", "ALE", "PDP". Nominal features, which have no RHALE, have their ALE there.
    figures : tuple of Path
        Figures that were written besides.
    """

    path: Path
    effects: Mapping[str, Mapping[str, Effects]] = field(repr=False)
    figures: tuple[Path, ...] = field(default=(), repr=False)

    def __fspath__(self) -> str:
        return str(self.path)

    def _repr_html_(self) -> str:
        """Return a link to the page, and what it is about: the page itself would be megabytes in a notebook."""
        models = listed(list(self.effects))
        features = count(len(next(iter(self.effects.values()))["RHALE"]), "feature")
        link = tag("a", self.path.name, href=self.path.resolve().as_uri())
        return str(tag("p", link, f": {features} in {models}"))


def report(  # noqa: PLR0913 - each is a keyword, most of them those of `explain`
    models: Any,
    X: Any,
    y: Any = None,
    path: str | Path = "report.html",
    *,
    features: Sequence[Any] | None = None,
    schema: Any = None,
    groups: Any = None,
    weights: Any = None,
    title: str | None = None,
    pairs: int = 4,
    rows: bool = True,
    uncertainty: bool = True,
    seed: int = 0,
    memory: int | str = "1GB",
    keep: int | str = "256MB",
    threads: int = 1,
    progress: bool | None = None,
    tree: Wish = "auto",
    heterogeneity_rows: int | None = 10_000,
) -> Report:
    """Write the story of one or several models into one page.

    The page holds all it shows: its figures are part of it, it fetches nothing, runs no script but its own, and no row
    of X is in it beyond the curves and places that the figures show.

    Parameters
    ----------
    models : model or mapping of str to model
        A quantity, fitted estimator or callable; or several of them by name.
    X : array or data frame of n rows
    y : array of n labels, optional
        For quantities that need them; and then the page says how well the models predict.
    path : str or Path
        Where the page is written; a page that is there is replaced.
    features : list, optional
        By default every one. Those of more than 2,000 levels are named as left out.
    schema, groups, weights, seed, memory, keep, threads, progress, tree
        As in `skedasis.explain`.
    heterogeneity_rows : int or None
        Number of rows from which the heterogeneity scores are computed, at most. None takes all rows, 0 computes no
        scores. The score of a feature is computed once, whatever the number of methods.
    title : str, optional
    pairs : int
        At most so many second-order ALE surfaces, the strongest first; 0 for none.
    rows : bool
        False leaves out whatever shows single rows: individual curves, marks at rows' values, single local effects,
        numbers of rows. What stays are averages, counts, edges of bins and points of grids (the outermost of which are
        the least and the greatest value of a column; others may be a value, too, as quantiles are), the ends of
        stretches without rows in warnings, and the names of levels.
    uncertainty : bool
        Whether a model that predicts a distribution is asked what makes it unsure.

    Returns
    -------
    Report
        Where the page is, and the effects that it shows.

    Raises
    ------
    DataError
        For a path that is a folder or cannot be written, and for what `skedasis.explain` refuses.
    UnsupportedError
        For a pair among `features`, and where no feature has at most 2,000 levels.

    Notes
    -----
    Passes a model: RHALE of numeric and ordinal features, ALE and M-plots of all, PDP with c-ICE of these and those.
    Features that no row has a value of are named as left out; asked for by name they are refused. Model rows, of N
    rows and d features: N of slopes, or 2 N d of differences; n (d + 2) for the heterogeneity scores of n rows, n
    at most `heterogeneity_rows`; 2 N d for ALE and at most 51 N d for PDP; N for M-plots, the quality and the variance
    explained together; 4 N for each of at most ten candidate pairs, and no more than 2,000,000 for all of them; of a
    model that predicts a distribution what `skedasis.diagnose` and two more passes cost on at most 2,000 rows. Tree
    ensembles are computed from their structure, without calling the model.

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
    path = _writable(path)
    data: Json = {"features": features, "weights": weights, "schema": schema, "groups": groups}
    told: Json = {"pairs": pairs, "rows": rows, "uncertainty": uncertainty}
    how: Json = {"seed": seed, "memory": memory, "keep": keep, "threads": threads, "tree": tree}
    how["heterogeneity_rows"] = heterogeneity_rows
    story = gather(models, X, y, **data, **told, **how, progress=progress)
    return write(story, path, title=title, progress=progress)


def write(
    story: Story,
    path: str | Path,
    *,
    title: str | None = None,
    figures: str | Path | None = None,
    progress: bool | None = None,
) -> Report:
    """Draw a story's figures and write its page.

    Parameters
    ----------
    story : Story
        Of `gather`.
    path : str or Path
    title : str, optional
    figures : str or Path, optional
        A folder into which the figures are written besides, as PNG files.
    progress : bool, optional
        A bar when drawing takes longer than two seconds.
    """
    from skedasis.report.html import sections, written

    path = _writable(path)
    page = written(sections(story, title, progress))
    path.parent.mkdir(parents=True, exist_ok=True)
    # A half of a surrogate pair in a name has no bytes.
    path.write_text(page, encoding="utf-8", errors="replace")
    saved = () if figures is None else _save(story, Path(figures), progress)
    effects = {t.name: {"RHALE": t.rhale, "ALE": t.ale, "PDP": t.pdp} for t in story.told}
    return Report(path, effects, tuple(saved))


def _writable(path: str | Path) -> Path:
    """Refuse a path that cannot be written, before the work begins."""
    try:
        path = Path(path)
        path.resolve()  # refuses what no system allows in a name
        folder = path.is_dir()
        above = next(p for p in path.absolute().parents if p.exists())
    except (TypeError, ValueError, OSError) as error:
        said = f"{str(path)[:80]!r} ({getattr(error, 'strerror', None) or error})"
        raise DataError(explained("report(path)", said, "a file’s path", _USUAL)) from None
    if folder:
        fix = f"Write {str(path / 'report.html')!r}"
        raise DataError(explained("report(path)", f"the folder {str(path)!r}", "a file", fix))
    if not above.is_dir():
        said = f"{str(path)!r}, below the file {str(above)!r}"
        raise DataError(explained("report(path)", said, "a path below folders", _USUAL))
    if not os.access(path if path.exists() else above, os.W_OK):
        said = f"{str(path)!r}, which may not be written"
        raise DataError(explained("report(path)", said, "a path that may be written", _USUAL))
    return path


def _save(story: Story, folder: Path, progress: bool | None) -> list[Path]:
    """Write the figures as files."""
    from skedasis.report import figures as report_figures

    folder.mkdir(parents=True, exist_ok=True)
    written: dict[Path, None] = {}

    def save(model: str, picture: report_figures.Picture) -> None:
        name = report_figures.file_name(model, picture.name)
        path = folder / f"{name}.png"
        if path in written:  # names that differ only in what a file system cannot hold
            path = folder / f"{name}-{len(written)}.png"
        path.write_bytes(picture.png)
        written[path] = None

    with Progress(len(story.told) * (len(story.features) + 1), "Figures", progress) as bar:
        for told in story.told:
            save(told.name, report_figures.overview_png(told))
            bar.advance()
            for feature in story.features:
                # A feature that takes one value has nothing to show.
                if len(told.rhale[feature].points) > 1:
                    save(told.name, report_figures.of_rhale(told, feature))
                    save(told.name, report_figures.of_pdp(told, feature))
                bar.advance()
    return list(written)
