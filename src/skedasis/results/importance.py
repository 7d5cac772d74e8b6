"""`Importance`: permutation importance, the increase of a quantity when a feature's values come from other rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

import numpy as np

from skedasis._arguments import check_flag, check_name, check_option, check_probability
from skedasis._calls import NearestAttribute, checked_call
from skedasis._numbers import counted
from skedasis._types import Floats, Ints
from skedasis.errors import UnsupportedError
from skedasis.results import json_keys, operations
from skedasis.results.described import Keys, columns_of, content_of, described, keys_of, or_null
from skedasis.results.display import (
    Ranking,
    RankLine,
    ResultWithTables,
    importance_table,
    no_interval_error,
)
from skedasis.results.export import Content, Exportable, ExportOptions, TableColumns
from skedasis.results.immutable import Immutable
from skedasis.results.provenance import Provenance, no_provenance
from skedasis.results.signatures import takes_figure_options
from skedasis.stats.student import t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.results.keywords import ImportanceKeywords, ImportanceViewKeywords

ImportanceIntervalMethod = Literal["analytic", "repeats"]


@dataclass(frozen=True)
class ImportanceRank(RankLine):
    """One line of a ranking."""

    ordered_by = "mean"

    feature: str
    mean: float
    """The importance: the mean over the repeats, in units of the quantity."""
    std: float
    """Standard deviation over the repeats."""
    std_error: float
    """Standard error of `mean`."""
    lower: float
    """Lower end of the analytic interval, here at 95 %; NaN if there is none."""
    upper: float
    """Upper end."""


@dataclass(frozen=True, eq=False)
class LocalImportance(NearestAttribute, Immutable, Exportable):
    """The effect of permutation on single rows (entropy_importance, appendix A).

    Iteration yields the feature names; ``local["age"]`` is the mean increase of each row for one feature.

    Notes
    -----
    `difference` contains the differences between a row with the value of a *different* row and the row itself. If these
    are all n rows, permuted with equal weights, the importance is their mean times (1 - 1/n), because the importance is
    a mean over all pairs of rows, including each row with itself.
    """

    exported = ("features", "row", "before", "_by_feature as difference", "weight", "exact")
    features: tuple[str, ...]
    row: Ints
    """Index of each row in X, shape (m,)."""
    before: Floats
    """The quantity at the rows, shape (m,)."""
    after: Floats
    """The quantity at the rows with the feature's value from a donor row, shape (features, m, repeats)."""
    weight: Floats | None = None
    """Weights of the rows, shape (m,); None if all are 1."""
    exact: bool = True
    """Whether these are all rows; otherwise they are a random sample with a fixed seed."""

    def __len__(self) -> int:
        return len(self.row)

    def __iter__(self) -> Iterator[str]:
        return iter(self.features)

    def __contains__(self, feature: object) -> bool:
        return feature in self.features

    def __repr__(self) -> str:
        rows = "all" if self.exact else "a sample of"
        return f"<LocalImportance: {rows} {len(self):,} rows, {counted(len(self.features), 'feature')}>"

    @property
    def difference(self) -> Floats:
        """Return the mean increase of each row over the repeats, shape (features, m)."""
        return (self.after - self.before[:, None]).mean(axis=2)

    def __getitem__(self, feature: str) -> Floats:
        """Return the mean increase of each row for one feature, shape (m,)."""
        k = _index(self.features, feature)
        return (self.after[k] - self.before[:, None]).mean(axis=1)

    @property
    def _by_feature(self) -> Mapping[str, Floats]:
        """Return by feature the mean increase of each row with the feature's values of other rows."""
        return dict(zip(self.features, self.difference, strict=True))

    def _columns(self) -> Content:
        return {**self.table()}

    def table(self) -> TableColumns:
        """Return the columns of `to_frame`: one row per feature and row of X."""
        rows = len(self)
        return {
            "feature": list(np.repeat(np.array(self.features, dtype=object), rows)),
            "row": np.tile(self.row, len(self.features)),
            "before": np.tile(self.before, len(self.features)),
            "difference": self.difference.ravel(),
        }


@dataclass(frozen=True, eq=False)
class Importance(ResultWithTables[Literal["importance", "values", "local"]]):
    """Permutation importance of features for a quantity.

    It estimates ``E q(X', X_c, Y) - E q(X, Y)``, where X' is an independent copy of the feature X_s, and the other
    features X_c are unchanged. It prints as a table; iteration yields the feature names, and ``pf["age"]`` is one line.

    Notes
    -----
    No method of a result calls the model.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = X[:, 0] + 2 * X[:, 1]
    >>> loss = sd.loss(lambda X: X[:, 0] + 2 * X[:, 1], "squared_error")
    >>> pf = sd.explain(loss, X, y=y, method=sd.PFI(n_repeats=5))
    >>> [line.feature for line in pf.ranking()]
    ['x1', 'x0', 'x2']
    >>> float(pf.mean[2])
    0.0
    """

    exported = (
        *("features", "quantity", "unit", "method", "metric", "baseline", "rows"),
        "is_exact as all_pairs",
    )
    frames = (
        "importance: one row per feature, in X's order",
        "values: one row per feature and repeat",
        "local: one row per feature and kept row, if rows are kept",
    )
    features: tuple[str, ...]
    """Feature names in X's order; for groups of features, the names of the groups."""
    values: Floats
    """The importance in each repeat: the mean of the quantity over the rows with the feature's values from donor rows,
    minus its mean at the rows, shape (features, repeats). The mean is over all pairs of rows, of which one in n is a
    row with itself, as in random permutations; it is therefore (1 - 1/n) times the mean over pairs of different rows.
    It is not clipped at zero. For a metric: its deterioration when each row has the value of a different row."""
    std_error: Floats
    """Standard error of `mean`, including the sampling error of the rows, shape (features,); NaN for fewer than three
    repeats."""
    df: Floats
    """Degrees of freedom of `std_error`, shape (features,)."""
    baseline: float
    """The weighted mean of the quantity at the rows, or the metric on them."""
    rows: int
    """Number of rows."""
    quantity: str = "prediction"
    unit: str | None = None
    library: str | None = None
    """Data frame library of X, which `to_frame` uses by default."""
    method: str = "PFI"
    local: LocalImportance | None = None
    """Values of single rows, if they are kept."""
    provenance: Provenance = field(default_factory=no_provenance)
    """"exact" is whether all rows were used instead of a sample. Whether all pairs of rows were used is `is_exact`."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """The texts for people of features that have a label, by name."""

    @property
    def mean(self) -> Floats:
        """Return the importances, shape (features,): the means over the repeats."""
        return self.values.mean(axis=1)

    @property
    def feature_titles(self) -> tuple[str, ...]:
        """Return the features' texts for people: their labels, or their names."""
        return tuple(self.labels.get(name, name) for name in self.features)

    @property
    def std(self) -> Floats:
        """Return the standard deviation over the repeats (ddof 1), shape (features,).

        NaN for a single repeat; 0 if all pairs of rows were used, so that there is no randomness.
        """
        repeats = self.values.shape[1]
        if self.is_exact:
            return np.zeros(len(self.features))
        return self.values.std(axis=1, ddof=1) if repeats > 1 else np.full(len(self.values), np.nan)

    @property
    def is_exact(self) -> bool:
        """Return whether all ordered pairs of rows were used, ``PFI(exact=True)``, so that there is no randomness.

        ``provenance["exact"]`` is different: it is whether all rows were used instead of a sample.
        """
        return bool(self.provenance.get("settings", {}).get("exact", False))

    @property
    def axis(self) -> str:
        """Return the label of the axis of importances."""
        up = not self.metric or not self.provenance.get("greater_is_better", True)
        what = f"{'rise' if up else 'fall'} of {self.metric or self.quantity}"
        return f"{what} [{self.unit}]" if self.unit and not self.metric else what

    @property
    def metric(self) -> str | None:
        """Return the name of the metric; None if the quantity is a mean over rows."""
        return self.provenance.get("metric")

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[str]:
        return iter(self.features)

    def __contains__(self, feature: object) -> bool:
        return feature in self.features

    def __repr__(self) -> str:
        first = max(zip(self.mean, self.features, strict=True), default=(0.0, ""))
        repeats = "all pairs" if self.is_exact else counted(self.values.shape[1], "repeat")
        return (
            f"<Importance of {counted(len(self), 'feature')} for {self.quantity}: {self.method}, "
            f"{repeats}, first {first[1]!r} ({first[0]:.4g})>"
        )

    def __str__(self) -> str:
        return importance_table(self)

    def __getitem__(self, feature: str) -> ImportanceRank:
        """Return the line of one feature."""
        return self._lines()[_index(self.features, feature)]

    @checked_call
    def interval(
        self,
        confidence_level: float = 0.95,
        method: ImportanceIntervalMethod = "analytic",
        simultaneous: bool = False,
    ) -> tuple[Floats, Floats]:
        """Return a confidence interval of each importance.

        Parameters
        ----------
        confidence_level : float
            Confidence level, between 0 and 1.
        method : {"analytic", "repeats"}
            "analytic" is an interval for the population: it includes the sampling error of the rows (the Hájek
            projection over rows as recipients and as donors). "repeats" is an interval for the importance on these
            rows with infinitely many repeats: it includes the randomness of the donors only.
        simultaneous : bool
            Return intervals that cover all features simultaneously, each at confidence_level ** (1 / features):
            Šidák's correction, which assumes independence.

        Returns
        -------
        lower, upper : ndarray of float, shape (features,)

        Raises
        ------
        DataError
            For fewer than three repeats ("repeats": two), fewer than seven rows (twenty for a metric), frequency
            weights with a sum of 1 or less, a `confidence_level` outside (0, 1), or another method.

        Notes
        -----
        For a metric the standard error is a jackknife over ten parts of the rows, of one repeat. It treats a row's
        contributions as recipient and as donor as independent. It is too large where most of the metric's error is the
        same before and after permutation, and too small where the metric has heavy tails.
        """
        check_option("interval(method)", method, ("analytic", "repeats"), "Pass one of these")
        confidence_level = check_probability("interval(confidence_level)", confidence_level)
        if check_flag("interval(simultaneous)", simultaneous):
            confidence_level **= 1 / max(int(np.count_nonzero(self.std_error != 0)), 1)
        if method == "repeats" and not self.is_exact:
            repeats = self.values.shape[1]
            if repeats < 2:
                raise no_interval_error(self, 2)
            error = self.std / np.sqrt(repeats)
            return t_interval(self.mean, error, np.full(len(self), repeats - 1.0), confidence_level)
        if method == "repeats":
            return self.mean, self.mean
        if np.isnan(self.std_error).any():
            raise no_interval_error(self, 3)
        return t_interval(self.mean, self.std_error, self.df, confidence_level)

    @checked_call
    def ranking(self) -> Ranking[ImportanceRank]:
        """Return the features, most important first."""
        return Ranking(sorted(self._lines(), key=lambda r: -r.mean))

    def _lines(self) -> list[ImportanceRank]:
        ends = t_interval(self.mean, self.std_error, self.df, 0.95)
        columns = (self.mean, self.std, self.std_error, *ends)
        return [
            ImportanceRank(f, *map(float, numbers))
            for f, *numbers in zip(self.features, *columns, strict=True)
        ]

    def _table(self, of: str) -> TableColumns:
        names = np.array(self.features, dtype=object)
        if of == "importance":
            return {**columns_of(ImportanceRank, self._lines())}
        if of == "values":
            repeats = self.values.shape[1]
            return {
                "feature": list(np.repeat(names, repeats)),
                "repeat": np.tile(np.arange(repeats), len(self)),
                "value": self.values.ravel(),
            }
        if self.local is None:
            raise UnsupportedError(
                "to_frame(of='local')",
                "an importance without values of single rows",
                "an importance that keeps them",
                "Explain again with sd.PFI(local=1000)",
            )
        return self.local.table()

    def _document(self, options: ExportOptions) -> Content:
        level = options.confidence_level
        lower, upper = t_interval(self.mean, self.std_error, self.df, level)
        lines = [
            {**content_of(line), "lower": lower[k], "upper": upper[k], "values": self.values[k]}
            for k, line in enumerate(self._lines())
        ]
        content: Content = {
            **content_of(self),
            "confidence_level": level,
            "ranking": [lines[k] for k in np.argsort(-self.mean, kind="stable").tolist()],
            "provenance": self.provenance,
        }
        return {**content, "local": self.local} if options.rows else content

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        return {
            **keys_of(cls),
            **json_keys.LEVEL,
            "ranking": json_keys.lines(
                "The features, most important first.",
                "One line of the ranking.",
                {
                    **keys_of(ImportanceRank),
                    "values": json_keys.numbers("The importance in each repeat."),
                },
            ),
            **json_keys.RECORD,
        }, {
            "local": described(
                or_null(json_keys.result("LocalImportance")),
                "Values of single rows, only with rows=True; null if none are kept.",
            )
        }

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[ImportanceKeywords]) -> Figure:
        """Plot the importances as bars with confidence intervals, most important first.

        Raises
        ------
        UnsupportedError
            For "local" if no rows were kept.

        Notes
        -----
        Negative importances are drawn as negative bars. Intervals that would flatten all bars extend beyond the panel.

        Examples
        --------
        >>> import numpy as np
        >>> values = np.array([[0.1, 0.2, 0.3], [0.0, -0.01, 0.01]])
        >>> pf = Importance(("age", "noise"), values, np.full(2, 0.05), np.full(2, 9.0), 0.5, 500)
        >>> [t.get_text() for t in pf.plot().axes[0].get_yticklabels()]
        ['noise', 'age']
        """
        return operations.plot(self, ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[ImportanceViewKeywords],
    ) -> Explorable:
        """Return the bars, or histograms of rows before and after permutation, as an interactive page with tooltips.

        Notes
        -----
        The page contains no data of single rows, only histograms of them.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> pf = sd.explain(lambda X: X[:, 0], X, method=sd.PFI())
        >>> pf.explore().title
        '2 features: importance for prediction (PFI)'
        """
        return operations.explore(self, path, title, **options)


def _index(features: tuple[str, ...], feature: str) -> int:
    return features.index(check_name("feature", feature, features, "Pass the name of a feature"))
