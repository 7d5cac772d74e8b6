"""`Change`: what happens to a quantity if features of every row move, or are set; `Changes`: several of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, Unpack

import numpy as np

from skedasis._calls import checked_call
from skedasis._numbers import counted, percent, with_minus
from skedasis._types import Floats, Ints, Values
from skedasis.data.features import Feature
from skedasis.errors import DataError, UnsupportedError
from skedasis.results import json_keys, operations
from skedasis.results.containers import ResultMapping
from skedasis.results.described import (
    Documented,
    Keys,
    columns_of,
    content_of,
    keys_of,
    listed,
    object_of,
    or_null,
)
from skedasis.results.display import (
    Ranking,
    RankLine,
    ResultWithTables,
    align_columns,
    called_text,
    sample_text,
)
from skedasis.results.documents import feature_document
from skedasis.results.export import Content, ExportOptions, TableColumns
from skedasis.results.immutable import Immutable
from skedasis.results.provenance import Provenance, no_provenance
from skedasis.results.signatures import takes_figure_options
from skedasis.stats.moments import Moments, WeightKind
from skedasis.stats.random import RandomState
from skedasis.stats.resampling import (
    BootstrapDraws,
    Reweighted,
    bootstrap,
    check_interval,
    percentiles,
)
from skedasis.stats.student import t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from skedasis.plots.html import Explorable
    from skedasis.results.checks.check import Checks
    from skedasis.results.keywords import (
        ChangeKeywords,
        ChangesKeywords,
        ChangesViewKeywords,
        ChangeViewKeywords,
    )

MoveKind: TypeAlias = Literal["step", "factor", "value", "level"]
"""How a feature moves: by a step, by a factor, to a number or a time, or to a level."""

CHANGE: str = "change"
BEFORE: str = "before"
INCREASES: str = "increases"
DECREASES: str = "decreases"
SAME: str = "same"
OUTSIDE: str = "outside"
"""Names of the moments of a change: of the differences, of the quantity before, and of shares of the rows."""

ChangeTable: TypeAlias = Literal["summary", "regions", "rows"]
IntervalMethod: TypeAlias = Literal["analytic", "bootstrap"]


# --- parts ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MovedFeature(Documented):
    """How one feature moves, and how many rows leave its observed range by that."""

    feature: Feature
    kind: MoveKind
    """How it moves."""
    amount: float
    """The step, factor or value; of times in days, on the axis of the feature. For a level its index in `labels`."""
    text: str
    """The move in words, such as "age + 1" or "smoker = no"."""
    low: float = float("nan")
    high: float = float("nan")
    """The observed range; NaN for a categorical feature."""
    labels: tuple[str, ...] = ()
    """The levels of a categorical feature."""
    outside: int = 0
    """Rows whose value leaves the observed range."""
    missing: int = 0
    """Rows without a value: a step or a factor leaves them out, and a level or another setting applies to them."""

    @property
    def is_setting(self) -> bool:
        """Return whether all rows get the same value, also rows without one."""
        return self.kind in ("value", "level")

    def column(self, x: Floats) -> Values:
        """Return values of the feature as they are shown: numbers, times, or the labels of levels."""
        if self.labels:
            labels = [None if np.isnan(code) else self.labels[int(code)] for code in x]
            return np.array(labels, dtype=object)
        return x if self.feature.time is None else self.feature.time.times(x)


@dataclass(frozen=True)
class Outside(Documented):
    """How many rows leave the data."""

    share: float
    """Share of the weight of the rows of which a moved value is outside the observed range of its feature."""
    rows: int
    """Number of these rows."""
    far: float = float("nan")
    """Share of the sampled rows that are far from all rows of the data after the move: an extrapolation. About 1 % are
    expected of a move that keeps the data's joint distribution. NaN if it was not determined."""
    sampled: int = 0
    """Number of sampled rows, at most 2,000."""
    others: tuple[str, ...] = ()
    """The other features in which distances are measured."""


@dataclass(frozen=True, eq=False)
class ChangeRows(Immutable):
    """The kept rows of a change."""

    row: Ints
    """Indices of the rows in X, shape (r,)."""
    x: tuple[Floats, ...]
    """The values of each moved feature before the move, shape (r,); of times days, of levels their indices."""
    before: Floats
    change: Floats
    """The quantity at the row, and its change, shape (r,)."""
    weight: Floats | None
    """Shape (r,)."""
    region: Ints
    """Index of the row's region, shape (r,); 0 without regions."""
    exact: bool
    """Whether these are all rows."""

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True)
class ChangeRegion(Documented):
    """The change in one region."""

    region: str
    """Its rule."""
    rows: int
    """Number of its rows."""
    share: float
    """Share of the weight."""
    value: float
    """Mean change over its rows, in units of the quantity."""
    std: float
    """Standard deviation of the changes over its rows."""
    std_error: float
    """Standard error of `value`; like the others NaN without enough rows."""
    df: float
    """Degrees of freedom of the error."""
    lower: float
    """Lower end of the interval of `value`, here at 95 %."""
    upper: float
    """Upper end."""
    increases: float
    """Share of the region's weight at which the quantity increases."""
    decreases: float
    """Share at which it decreases."""
    outside: float
    """Share at which a moved value leaves the observed range."""


@dataclass(frozen=True)
class ChangeRank(RankLine):
    """The change as a line of a ranking of several outputs."""

    ordered_by = "value"

    change: str
    """The move in words."""
    value: float
    """Mean change over the rows, in units of the quantity."""
    std_error: float
    """Its standard error."""
    std: float
    """Standard deviation of the changes over the rows."""
    rows: int

    def size(self, by: str) -> float:
        """Return the size of the change, of either sign."""
        return abs(super().size(by))


# --- the result -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Change(ResultWithTables[ChangeTable]):
    """What happens to a quantity if features of every row move. Computed by `skedasis.what_if`.

    Notes
    -----
    Intervals are about the mean over the population of which the rows are a sample, with the model as it is. No method
    of a result calls the model.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(2).normal(size=(500, 2))
    >>> c = sd.what_if(lambda X: X[:, 0] ** 2 + X[:, 1], X, {"x0": 1})
    >>> bool(np.isclose(c.value, 2 * X[:, 0].mean() + 1))
    True
    >>> low, high = c.interval()
    >>> bool(low < 1 < high)
    True
    """

    frames = (
        "summary: one row in all",
        "regions: one row per region, with the columns of `ChangeRegion`, if there are regions",
        "rows: one row per kept row, if rows are kept",
    )

    moved: tuple[MovedFeature, ...]
    """The moved features."""
    moments: Mapping[str, Moments]
    """Of the changes, of the quantity before, and of shares of the rows, one cell per region."""
    outside: Outside
    """How many rows leave the data."""
    missing: int = 0
    """Rows that are left out because a feature that moves by a step or a factor has no value there."""
    rows: ChangeRows | None = None
    """The kept rows; None if none are kept."""
    regions_by: str = ""
    """What gives the regions: a column, "labels", "masks" or "regions"; empty without regions."""
    rules: tuple[str, ...] = ()
    """The rules of the regions."""
    quantity: str = "prediction"
    unit: str | None = None
    library: str | None = None
    """Data frame library of X, which `to_frame` uses by default."""
    weight_kind: WeightKind = "frequency"
    provenance: Provenance = field(default_factory=no_provenance)

    @property
    def features(self) -> tuple[str, ...]:
        """Return the names of the moved features."""
        return tuple(m.feature.name for m in self.moved)

    @property
    def text(self) -> str:
        """Return the move in words, such as "age + 1, smoker = no"."""
        return ", ".join(m.text for m in self.moved)

    @property
    def axis(self) -> str:
        """Return the label of the axis of changes, with the unit of the quantity."""
        what = f"change of {self.quantity}"
        return f"{what} [{self.unit}]" if self.unit else what

    @property
    def n_rows(self) -> int:
        """Return the number of rows, without those that are left out."""
        return int(self.moments[CHANGE].count.sum())

    @property
    def value(self) -> float:
        """Return the mean change over the rows, in units of the quantity: the average forward marginal effect."""
        return float(self._whole(CHANGE).mean[0])

    @property
    def before(self) -> float:
        """Return the mean of the quantity at the rows as they are."""
        return float(self._whole(BEFORE).mean[0])

    @property
    def after(self) -> float:
        """Return the mean of the quantity after the move."""
        return self.before + self.value

    @property
    def std(self) -> float:
        """Return the standard deviation of the changes over the rows; NaN with a weight of 1 or less."""
        return float(np.sqrt(self._whole(CHANGE).variance(1, self.weight_kind)[0]))

    @property
    def std_error(self) -> float:
        """Return the standard error of `value` over the rows."""
        return float(self._means(whole=True)[1][0])

    @property
    def df(self) -> float:
        """Return the degrees of freedom of `std_error`."""
        return float(self._means(whole=True)[2][0])

    @property
    def increases(self) -> float:
        """Return the share of the weight of the rows at which the quantity increases."""
        return float(self._whole(INCREASES).mean[0])

    @property
    def decreases(self) -> float:
        """Return the share of the weight of the rows at which the quantity decreases."""
        return float(self._whole(DECREASES).mean[0])

    @property
    def already(self) -> float:
        """Return the share of the weight of the rows that have all values already, so that they do not move."""
        return float(self._whole(SAME).mean[0])

    @property
    def by(self) -> Ranking[ChangeRegion]:
        """Return the regions, in the order of `rules`; none without regions. They print as a table."""
        if not self.rules:
            return Ranking()
        m = self.moments[CHANGE]
        value, std_error, df = self._means(whole=False)
        columns = (
            m.weight / m.weight.sum(),
            value,
            np.sqrt(m.variance(1, self.weight_kind)),
            std_error,
            df,
            *t_interval(value, std_error, df, 0.95),
            *(
                np.where(m.count > 0, self.moments[name].mean, np.nan)
                for name in (INCREASES, DECREASES, OUTSIDE)
            ),
        )
        return Ranking(
            ChangeRegion(rule, int(n), *map(float, numbers))
            for rule, n, *numbers in zip(self.rules, m.count, *columns, strict=True)
        )

    def _whole(self, name: str) -> Moments:
        """Return the moments of all regions together."""
        return self.moments[name].whole()

    def _means(self, *, whole: bool) -> tuple[Floats, Floats, Floats]:
        """Return the mean change of all rows, or of each region, its standard error and its degrees of freedom."""
        m, kind = self._whole(CHANGE) if whole else self.moments[CHANGE], self.weight_kind
        df = np.maximum(m.effective_size(kind) - 1.0, 0.0)
        return np.where(m.count > 0, m.mean, np.nan), m.mean_error(1, kind), df

    def _ends(self, level: float) -> tuple[float, float]:
        """Return the ends of the interval of `value`; NaN where it has no error."""
        lower, upper = t_interval(*self._means(whole=True), level)
        return float(lower[0]), float(upper[0])

    @checked_call
    def ranking(self) -> Ranking[ChangeRank]:
        """Return the change as the only line of a ranking, which prints as a table."""
        error, std = (_plain_zero(self, spread) for spread in (self.std_error, self.std))
        return Ranking([ChangeRank(self.text, self.value, error, std, self.n_rows)])

    def _document(self, options: ExportOptions) -> Content:
        level = options.confidence_level
        lower, upper = self._ends(level)
        ends = self.region_intervals(level) if self.rules else (np.zeros(0), np.zeros(0))
        content: Content = {
            **content_of(self, "text as change", "quantity", "unit"),
            "moved": [_moved_document(m) for m in self.moved],
            **content_of(self, "value", "std", "std_error", "df"),
            "lower": lower,
            "upper": upper,
            "confidence_level": level,
            **content_of(self, "before", "after", "increases", "decreases", "already"),
            **content_of(self, "n_rows as rows", "missing", "outside", "regions_by"),
            "regions": [
                replace(line, lower=float(low), upper=float(high))
                for line, low, high in zip(self.by, *ends, strict=True)
            ],
            "provenance": self.provenance,
        }
        if options.rows:
            content["kept_rows"] = None if self.rows is None else self._kept_document(self.rows)
        return content

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        moved = {
            **json_keys.FEATURE,
            **keys_of(MovedFeature, "kind as move", "text", "outside", "missing"),
            "amount": json_keys.value("The step, factor, value or level; a step of times in days."),
        }
        keys = {
            **keys_of(cls, "text as change", "quantity", "unit"),
            "moved": json_keys.lines("The features that move.", "One feature.", moved),
            **keys_of(cls, "value", "std", "std_error", "df"),
            "lower": json_keys.number("Lower end of the interval of `value`."),
            "upper": json_keys.number("Upper end."),
            **json_keys.LEVEL,
            **keys_of(cls, "before", "after", "increases", "decreases", "already"),
            **keys_of(cls, "n_rows as rows", "missing", "outside", "regions_by", "by as regions"),
            **json_keys.RECORD,
        }
        kept = object_of(
            "The kept rows; null if none are kept. With `rows=True`.",
            {
                "row": json_keys.integers("Index of each row in X."),
                "x": listed(
                    json_keys.points("Values of one feature."), "The values of each moved feature."
                ),
                "before": json_keys.numbers("The quantity at the rows."),
                "change": json_keys.numbers("The change of each row."),
                "region": json_keys.integers("Number of each row's region."),
                **json_keys.KEPT,
            },
        )
        return keys, {"kept_rows": or_null(kept)}

    def _kept_document(self, kept: ChangeRows) -> Content:
        return {
            "row": kept.row,
            "x": [m.column(x) for m, x in zip(self.moved, kept.x, strict=True)],
            **content_of(kept, "before", "change", "region", "weight", "exact"),
        }

    @checked_call
    def interval(
        self,
        confidence_level: float = 0.95,
        method: IntervalMethod = "analytic",
        *,
        replicates: int = 1000,
        random_state: RandomState = 0,
    ) -> tuple[float, float]:
        """Return a confidence interval of the mean change.

        Parameters
        ----------
        confidence_level : float
            Confidence level, between 0 and 1.
        method : {"analytic", "bootstrap"}
            Student's t interval, or expanded percentiles of means of resampled rows.
        replicates : int
            Number of bootstrap replicates.
        random_state : int
            Random seed of the bootstrap.

        Returns
        -------
        lower, upper : float
            In units of the quantity.

        Raises
        ------
        DataError
            For an invalid option, and for rows with a total weight of 1 or less.
        UnsupportedError
            For the bootstrap, if not all rows are kept.

        Notes
        -----
        For the mean over the population of rows; the model is taken as it is. No model row.
        """
        ends = self._interval(confidence_level, method, replicates, random_state, whole=True)
        return float(ends[0][0]), float(ends[1][0])

    @checked_call
    def region_intervals(
        self,
        confidence_level: float = 0.95,
        method: IntervalMethod = "analytic",
        *,
        replicates: int = 1000,
        random_state: RandomState = 0,
    ) -> tuple[Floats, Floats]:
        """Return a confidence interval of the mean change of each region, shape (regions,) each.

        Parameters
        ----------
        confidence_level, method, replicates, random_state
            As in `interval`.

        Raises
        ------
        DataError
            For an invalid option.
        UnsupportedError
            Without regions, and as `interval`.

        Notes
        -----
        NaN for a region with too few rows. Each interval is for one region; they do not cover all regions at the same
        time.
        """
        if not self.rules:
            raise UnsupportedError(
                "region_intervals",
                "a change without regions",
                "one with regions",
                "Name them: sd.what_if(..., by='column')",
            )
        return self._interval(confidence_level, method, replicates, random_state, whole=False)

    def _interval(
        self, level: float, method: str, replicates: int, random_state: RandomState, *, whole: bool
    ) -> tuple[Floats, Floats]:
        seed = check_interval(level, method, False, replicates, random_state)
        value, error, df = self._means(whole=whole)
        if whole and not np.isfinite(error[0]):
            weight = float(self._whole(CHANGE).weight[0])
            got = f"{counted(self.n_rows, 'row')} with a weight of {weight:.4g}"
            raise DataError(
                "interval", got, "a weight above 1, of two rows or more", "Pass more rows"
            )
        if method == "analytic":
            return t_interval(value, error, df, level)
        lower, upper = percentiles(self._replicates(replicates, seed, whole=whole), level, df)
        known = np.isfinite(error)
        return np.where(known, lower, np.nan), np.where(known, upper, np.nan)

    def _replicates(self, replicates: int, seed: int, *, whole: bool) -> Floats:
        """Return bootstrap replicates of the means, shape (replicates, regions or 1)."""
        kept = self._kept("interval(method='bootstrap')")
        if not kept.exact:
            raise UnsupportedError(
                "interval(method='bootstrap')",
                f"{counted(len(kept), 'kept row')} of {self.n_rows:,}",
                "all rows",
                "Use method='analytic', or compute the change again with more memory for rows: keep_rows='4GB'",
            )
        draws = BootstrapDraws(kept.weight, self.weight_kind, len(kept))
        own = draws.sampling_weight
        regions = 1 if whole else len(self.rules)
        members = [np.flatnonzero(kept.region == k) for k in range(regions)]

        def means(counts: Floats) -> Floats:
            out = np.full((regions, counts.shape[1]), np.nan)
            for k, rows in enumerate(members):
                part = slice(None) if whole else rows
                w = counts[part] if own is None else counts[part] * own[part, None]
                total = w.sum(axis=0)
                with np.errstate(invalid="ignore"):  # a replicate without a row of the region
                    out[k] = (kept.change[part] @ w) / np.where(total > 0, total, np.nan)
            return out

        return bootstrap({"": Reweighted(draws, means)}, replicates, seed)[""]

    def _kept(self, what: str) -> ChangeRows:
        if self.rows is None:
            raise UnsupportedError(
                what,
                "a change that keeps no rows",
                "one that keeps rows",
                "Compute it again with memory for rows: keep_rows='256MB'",
            )
        return self.rows

    def quantile(self, probability: float | Sequence[float] | Floats) -> Floats:
        """Return quantiles of the changes over the rows.

        Parameters
        ----------
        probability : float or sequence of float
            Between 0 and 1.

        Returns
        -------
        ndarray of float, shape of `probability`
            The inverse of the weighted empirical distribution: changes of rows, in units of the quantity.

        Raises
        ------
        DataError
            For a probability outside 0 to 1.
        UnsupportedError
            If no rows are kept.

        Notes
        -----
        Of a sample, if not all rows are kept. No model row.
        """
        kept = self._kept("quantile")
        wanted = np.asarray(probability, dtype=float)
        if not ((wanted >= 0) & (wanted <= 1)).all():
            raise DataError(
                "quantile(probability)", str(probability), "numbers from 0 to 1", "Use 0.5"
            )
        order = np.argsort(kept.change, kind="stable")
        w = np.ones(len(kept)) if kept.weight is None else kept.weight
        cumulative = np.cumsum(w[order])
        place = np.searchsorted(cumulative, wanted * cumulative[-1] * (1 - 1e-12), side="left")
        return kept.change[order][np.minimum(place, len(order) - 1)]

    @checked_call
    def checks(self) -> Checks:
        """Return the findings of reliability checks: rows that leave the data, and regions with few rows.

        Returns
        -------
        Checks
            With the codes "extrapolation" and "few_rows".

        Notes
        -----
        No model row.
        """
        return operations.check_change(self)

    def _table(self, of: str) -> TableColumns:
        if of == "rows":
            return self._row_columns()
        if of == "regions":
            if not self.rules:
                raise UnsupportedError(
                    "to_frame(of='regions')",
                    "a change without regions",
                    "one with regions",
                    "Name them: sd.what_if(..., by='column')",
                )
            return {**columns_of(ChangeRegion, self.by)}
        lower, upper = self._ends(0.95)
        mean = "text as change", "n_rows as rows", "value", "std", "std_error", "df"
        others = (
            *("before", "after", "increases", "decreases", "already"),
            *("outside.share as outside", "outside.far as far", "missing"),
        )
        return {
            **columns_of(Change, [self], *mean),
            "lower": [lower],
            "upper": [upper],
            **columns_of(Change, [self], *others),
        }

    def _row_columns(self) -> TableColumns:
        kept = self._kept("to_frame(of='rows')")
        columns: TableColumns = {"row": kept.row}
        own = ("row", "before", "change", "after", "weight", "region")
        for m, x in zip(self.moved, kept.x, strict=True):
            name = m.feature.name
            columns[f"{name} (feature)" if name in own else name] = m.column(x)
        columns |= {
            "before": kept.before,
            "change": kept.change,
            "after": kept.before + kept.change,
            "weight": np.ones(len(kept)) if kept.weight is None else kept.weight,
        }
        if self.rules:
            columns["region"] = [self.rules[k] for k in kept.region]
        return columns

    def tables(self) -> dict[str, TableColumns]:
        """Return the columns of all frames that there are, by name, without single rows."""
        found = {"summary": self.table("summary")}
        return found | ({"regions": self.table("regions")} if self.rules else {})

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[ChangeKeywords]) -> Figure:
        """Plot the mean change of each region with its interval, or the distribution of the changes of rows.

        Raises
        ------
        UnsupportedError
            For "rows" if none are kept, and for "regions" if there are none.
        """
        return operations.plot(self, ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[ChangeViewKeywords],
    ) -> Explorable:
        """Return the figure as an interactive page with tooltips, and its numbers as a table.

        Notes
        -----
        The page has no data of single rows, only a histogram of them.
        """
        return operations.explore(self, path, title, **options)

    def __repr__(self) -> str:
        error = f" ± {self.std_error:.2g}" if np.isfinite(self.std_error) else ""
        return (
            f"<Change of {self.quantity} if {self.text}: {_number(self.value)}{error}, "
            f"{rows_text(self)}>"
        )

    def __str__(self) -> str:
        return change_text(self)


# --- several changes ------------------------------------------------------------------------------


class Changes(ResultMapping[str, Change]):
    """A mapping from names to changes, all from the same pass over the rows, in the order of the names.

    `what_if` returns it for several named moves. All changes are of the same quantity and have the same regions.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(size=(400, 2))
    >>> moves = {"up": {"x0": 0.1}, "both": {"x0": 0.1, "x1": -0.1}}
    >>> found = sd.what_if(lambda X: 3 * X[:, 0] + X[:, 1], X, moves)
    >>> found
    <Changes of prediction: 2 named moves: up, both>
    >>> print(found.ranking())
    name  change              value  std error  std  rows
    up    x0 + 0.1              0.3          0    0   400
    both  x0 + 0.1, x1 − 0.1    0.2          0    0   400
    >>> round(found["both"].value, 3)
    0.2
    """

    exported = ("ranking", "changes", "provenance")
    noun = "named move"
    tables = ("summary", "regions", "rows", "ranking")
    orders = ("value",)

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        line = {"name": json_keys.text("Its name."), **keys_of(ChangeRank)}
        text = "The changes, the largest mean change of either sign first."
        ranking = json_keys.lines(text, "One change.", line)
        return {"ranking": ranking, **keys_of(cls, "changes", "provenance")}, {}

    @property
    def changes(self) -> Mapping[str, Change]:
        """Return the changes by name."""
        return self.members

    def __repr__(self) -> str:
        first = next(iter(self.values()), None)
        if first is None:
            return "<Changes: no named move>"
        return f"<Changes of {first.quantity}: {counted(len(self), self.noun)}: {self._named()}>"

    def __str__(self) -> str:
        return changes_text(self)

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[ChangesKeywords]) -> Figure:
        """Plot the mean change of each move with its interval, or the distributions of the changes of rows.

        Raises
        ------
        UnsupportedError
            For "rows" if none are kept, and for "regions" if there are none.
        """
        return operations.plot(self, ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[ChangesViewKeywords],
    ) -> Explorable:
        """Return the figure of `plot` as an interactive page with tooltips, and the numbers of each change.

        Notes
        -----
        The page has no data of single rows, only histograms of them.
        """
        return operations.explore(self, path, title, **options)


def _plain_zero(change: Change, spread: float) -> float:
    """Return a standard deviation or error; 0 if it is a rounding error of the quantity."""
    return 0.0 if spread <= _NOISE * max(abs(change.before), abs(change.after)) else spread


def _moved_document(moved: MovedFeature) -> Content:
    """Return a feature that moves for `to_dict`."""
    shown: object = moved.amount
    if moved.labels:
        shown = moved.labels[int(moved.amount)]
    elif moved.kind == "value":
        shown = moved.column(np.array([moved.amount]))[0]
    return {
        **feature_document(moved.feature),
        "move": moved.kind,
        "amount": shown,
        **content_of(moved, "text", "outside", "missing"),
    }


_NOISE = 1e-13
"""Standard deviations below this fraction of the quantity are rounding errors, and printed as 0."""


# --- text -----------------------------------------------------------------------------------------


def change_text(change: Change) -> str:
    """Return a change in sentences, with a table of its regions."""
    unit = f" {change.unit}" if change.unit else ""
    lines = [f"Change of {change.quantity} if {change.text}: {rows_text(change)}"]
    mean = f"mean change {_number(change.value)}{unit}"
    if np.isfinite(change.std_error):
        low, high = change.interval()
        std = _number(_plain_zero(change, change.std))
        mean += (
            f", 95 % interval {_number(low)} to {_number(high)}; standard deviation over rows {std}"
        )
    lines.append(mean)
    before, after = _both(change)
    lines.append(f"from {before} to {after} on average; {_directions(change)}")
    lines += _outside_lines(change)
    if change.missing:
        lines.append(f"{counted(change.missing, 'row')} without a value left out")
    lines += filter(None, [called_text(change.provenance)])
    if change.rules:
        lines += ["", *align_columns(region_lines(change))]
    return "\n".join(lines)


def changes_text(changes: Changes) -> str:
    """Return several changes as a table of their means, and one of their regions."""
    if not changes:
        return repr(changes)
    every = list(changes.items())
    first = every[0][1]
    unit = f" [{first.unit}]" if first.unit else ""
    rows = {rows_text(c) for _, c in every}
    of_rows = f": {rows.pop()}" if len(rows) == 1 else ""
    head = ("name", "change", "rows", "mean change", "95 % interval", "std over rows", "outside")
    table: list[tuple[str, ...]] = [head]
    for name, c in every:
        interval = "-"
        if np.isfinite(c.std_error):
            low, high = c.interval()
            interval = f"{_number(low)} to {_number(high)}"
        out, std = percent(c.outside.share), _number(_plain_zero(c, c.std))
        table.append((name, c.text, f"{c.n_rows:,}", _number(c.value), interval, std, out))
    lines = [
        f"Changes of {first.quantity}{unit}, {counted(len(every), 'named move')}{of_rows}",
        *align_columns(table, left=(0, 1)),
    ]
    if first.rules:
        regions = [("name", *region_lines(first)[0])]
        regions += [(name, *line) for name, c in every for line in region_lines(c)[1:]]
        lines += ["", *align_columns(regions, left=(0, 1))]
    return "\n".join(lines)


def rows_text(change: Change) -> str:
    """Return the number of rows, or of how many rows a sample was drawn."""
    drawn = sample_text(change.provenance)
    return drawn.removeprefix(", ") if drawn else counted(change.n_rows, "row")


def _both(change: Change) -> tuple[str, str]:
    """Format the quantity before and after, with as many digits as show their difference."""
    ends, size = (change.before, change.after), abs(change.value)
    largest = max(map(abs, ends))
    digits = 4
    if size > _NOISE * largest:
        digits = int(np.clip(3 + np.ceil(np.log10(largest / size)), 4, 15))
    before, after = (f"{end:.{digits}g}".replace("-", "−") for end in ends)
    return before, after


def _directions(change: Change) -> str:
    """Return at which shares of the rows the quantity increases and decreases."""
    rest = 1 - change.increases - change.decreases
    parts = [
        f"rises at {percent(change.increases)} of the rows, falls at {percent(change.decreases)}"
    ]
    if rest > 0.0005:
        parts.append(f"stays the same at {percent(rest)}")
    text = ", ".join(parts)
    if change.already > 0:
        text += f" ({percent(change.already)} have these values already)"
    return text


def _outside_lines(change: Change) -> list[str]:
    """Return how many rows leave the data, in sentences."""
    out, lines = change.outside, []
    ranged = [m for m in change.moved if not m.labels]
    if ranged:
        names = ", ".join(m.feature.title for m in ranged)
        what = "range" if len(ranged) == 1 else "ranges"
        rows, verb = "no row", "leaves"
        if out.rows:
            rows = f"{counted(out.rows, 'row')} ({percent(out.share)})"
            verb = "leaves" if out.rows == 1 else "leave"
        lines.append(f"{rows} {verb} the observed {what} of {names}")
    if np.isfinite(out.far):
        names = ", ".join((*(m.feature.title for m in change.moved), *out.others))
        are = "is an extrapolation" if out.sampled == 1 else "are extrapolations"
        lines.append(
            f"{percent(out.far)} of {counted(out.sampled, 'sampled row')} {are} (distances in {names})"
        )
    return lines


def region_lines(change: Change) -> list[tuple[str, ...]]:
    """Return the printed table of regions: a header, then one row of cells per region."""
    head = ("region", "rows", "mean change", "95 % interval", "std over rows", "outside")
    body = [
        (
            with_minus(r.region),
            f"{r.rows:,}",
            _number(r.value),
            f"{_number(r.lower)} to {_number(r.upper)}" if np.isfinite(r.lower) else "-",
            _number(_plain_zero(change, r.std)),
            percent(r.outside),
        )
        for r in change.by
    ]
    return [head, *body]


def _number(value: float) -> str:
    return f"{value + 0.0:.4g}".replace("-", "−") if np.isfinite(value) else "-"
