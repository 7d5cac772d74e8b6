"""`Effect`: the effect of one feature, its kinds, and the dataclasses that results consist of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skedasis._calls import checked_call
from skedasis._numbers import counted, with_minus
from skedasis._types import Bools, Center, Floats, Ints, Json, Level, Side, TableLike, Values
from skedasis.data.features import Feature
from skedasis.data.gaps import Gap
from skedasis.data.times import TimeAxis
from skedasis.models.adapters import ON_CELLS, LocalEffectKind
from skedasis.results import operations
from skedasis.results.axis import (
    Axis,
    LevelAxis,
    LevelStats,
    NumericAxis,
    TimedAxis,
)
from skedasis.results.containers import FeatureResult
from skedasis.results.described import Documented, Keys
from skedasis.results.display import (
    DisplayMixin,
    ResultWithTables,
    bins_text,
    outside_text,
    sample_text,
)
from skedasis.results.export import Content, ExportOptions, TableColumns
from skedasis.results.immutable import Immutable
from skedasis.results.observed import Observed
from skedasis.results.provenance import Provenance, no_provenance
from skedasis.results.signatures import takes_figure_options
from skedasis.stats.ale_math import Accumulate
from skedasis.stats.depends_on import DependsOn
from skedasis.stats.grid import Cells
from skedasis.stats.heterogeneity_score import HeterogeneityScore
from skedasis.stats.moments import Moments, WeightKind
from skedasis.stats.random import RandomState

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from skedasis.binning import Binning
    from skedasis.plots.html import Explorable
    from skedasis.results.checks.check import Checks, Ignore
    from skedasis.results.checks.elevated_regions import ElevatedRegion
    from skedasis.results.checks.extrapolation import FeatureSpace
    from skedasis.results.checks.heterogeneity_test import HeterogeneityTest
    from skedasis.results.checks.variance_decomposition import VarianceDecomposition
    from skedasis.results.contrast import Contrast, Contrasts
    from skedasis.results.effect_difference import EffectDifference
    from skedasis.results.effects import Effects
    from skedasis.results.factors import Factors
    from skedasis.results.keywords import EffectKeywords, EffectViewKeywords


# --- description of a result: plain values that can be written as JSON ----------------------------


@dataclass(frozen=True)
class Spec(Documented):
    """The settings of the method that a result needs for rebinning, centring and drawing."""

    method: str
    """The method, such as "RHALE"."""
    center: Center | Literal["anchor"] = "mean"
    local_effects: LocalEffectKind = "slopes"
    """The kind of the local effects. "slopes", central "differences" and the "values" of an M-plot belong to points of
    the axis, and can be gathered in any bins. Differences belong to the cells that they are taken across: "edges" (the
    cells of an ALE), "steps" (step functions that are summarised in bins), "value_steps" (between few values),
    "integer_steps" (between whole numbers; differences across any bins are sums of them) and "levels" (between levels).
    "none" is used for methods without local effects (PDP, ICE)."""
    accumulate: Accumulate = "variance"
    """As in `RHALE`, as the next two."""
    ddof: int = 1
    accumulate_se: Literal["quadrature", "sum"] = "quadrature"
    closed: Side = "left"
    """The side on which bins are closed."""
    weight_kind: WeightKind = "frequency"
    parameters: Json = field(default_factory=dict)
    """The settings of the method, as given."""
    derivative: bool = False
    """Whether the values are derivatives of the quantity by the feature."""

    @property
    def pointwise(self) -> bool:
        """Return whether local effects belong to points of the axis instead of cells."""
        return self.local_effects in ("slopes", "differences", "integer_steps", "values")

    @property
    def on_cells(self) -> bool:
        """Return whether the curve is given at the edges of all cells, independently of the bins that summarise it."""
        return self.local_effects in ON_CELLS

    @property
    def mean_alone(self) -> bool:
        """Return whether the result has a mean only, because of ``heterogeneity=False``."""
        return self.parameters.get("heterogeneity") is False


@dataclass(frozen=True)
class About(Documented):
    """The feature, the quantity and the data frame library of a result."""

    feature: Feature
    quantity: str = "prediction"
    """Name of the quantity, for axis labels."""
    unit: str | None = None
    """Unit of the quantity."""
    library: str | None = None
    """Data frame library of X, which `to_frame` uses by default."""
    feature_std: float = 0.0
    """Weighted standard deviation of the feature (ddof 0)."""
    missing: int = 0
    """Number of rows in which the feature is missing."""
    dtype: str = "float64"
    """NumPy's name of the type that the bin edges were rounded to."""
    gaps: tuple[Gap, ...] = ()
    """Wide intervals of a numeric feature without values, from left to right."""
    quantity_mean: float = float("nan")
    """Mean of the quantity over the rows (of a region, over its rows), to which `plot(scale="prediction")` raises the
    curve. Over more than `heterogeneity_rows` rows, that of the rows of the heterogeneity score; NaN if unknown."""
    scale: str = "identity"
    """The scale of the quantity: exponentials of effects are factors if it is "log", and odds ratios if "logit"."""

    @property
    def axis(self) -> str:
        """Return the label of the quantity's axis, with its unit."""
        return f"{self.quantity} [{self.unit}]" if self.unit else self.quantity


# --- parts of results: bins, rows, ICE curves, levels, the point of missing values ----------------


TRUSTED_ROWS = 10
"""Minimum rows of a bin whose numbers are considered reliable (ale_uncertainty_draft, sec. 3.2)."""


@dataclass(frozen=True, eq=False, repr=False)
class BinStats(Immutable, DisplayMixin):
    """The bins of an accumulated effect or an M-plot, from left to right; they print as a table.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.arange(100.0)[:, None]
    >>> print(
    ...     sd.explain(
    ...         lambda X: X[:, 0] ** 2, X, 0, method=sd.ALE(bins=sd.Edges([0, 50, 95, 99]))
    ...     ).bins
    ... )
    from  to  rows  effect  rise  std  std error
       0  50    51      50  2500    0          0
      50  95    45     145  6525    0          0
      95  99     4     194   776    0          0  fewer than 10 rows
    """

    low: NDArray[Any]
    high: NDArray[Any]
    """Edges, in units of the feature (for times: days on the axis), shape (K,). For a categorical feature: the first
    and the last level of a step, or of a group of adjacent steps."""
    count: Ints
    """Number of rows, shape (K,)."""
    weight: Floats
    """Sum of the rows' weights, shape (K,)."""
    effect: Floats
    """Mean of the rows' local effects, which are slopes, in units of the quantity per unit of the feature (for times:
    per day, shape (K,); RHALE Eq. 10); NaN in an empty bin. If local effects are differences across bins or cells (ALE,
    step functions, few values): the mean slope of the curve, which is `rise` over the width. For a categorical feature:
    the mean difference per step to the next level. For an M-plot: the mean of the quantity."""
    rise: Floats = field(init=False)
    """Value of the curve at the right end of the bin minus that at its left end, in units of the quantity, shape (K,);
    NaN where the curve has no value, and for an M-plot. For whole numbers, whose curve adds up the steps from value to
    value, it differs from `effect` times the width."""
    end_labels: tuple[str, ...] = field(default=(), init=False, repr=False)
    std: Floats
    """Standard deviation of the local effects (Eq. 11), shape (K,); NaN where the weight is 1 or less."""
    std_error: Floats
    """Standard error of `effect`, shape (K,); NaN where the weight is 1 or less."""
    empty: Bools
    trusted: Bools
    """Whether the bin has no row, shape (K,); whether it has at least 10 rows."""
    slope_change: Floats = field(default_factory=lambda: np.zeros(0))
    """Change of the slope per unit of the feature within the bin, shape (K,); 0 where the slope is constant. Where it
    is not 0, `effect` is the slope in the middle of the bin, and `std` the standard deviation around the line."""
    time: TimeAxis | None = None
    """For dates, times and durations: the axis on which `low` and `high` count days."""

    def __post_init__(self) -> None:
        # By default slopes are constant within bins.
        if len(self.slope_change) != len(self.low):
            object.__setattr__(self, "slope_change", np.zeros(len(self.low)))
        object.__setattr__(self, "rise", np.full(len(self.low), np.nan))
        super().__post_init__()

    def on_curve(self, value: Floats, end_labels: tuple[str, ...] = ()) -> BinStats:
        """Return the bins with a curve's rises and with labels of levels, given at the ends of the bins: (K + 1,)."""
        return self.altered(end_labels=end_labels, rise=np.diff(value))

    def __len__(self) -> int:
        return len(self.low)

    def __str__(self) -> str:
        return bins_text(self) if len(self) else "no bins"

    def __repr__(self) -> str:
        few = int(np.count_nonzero(~self.trusted & ~self.empty))
        said = [counted(len(self), "bin"), counted(int(self.count.sum()), "row")]
        said += [f"{int(self.empty.sum())} without rows"] if self.empty.any() else []
        said += [f"{few} with fewer than {TRUSTED_ROWS} rows"] if few else []
        return f"<BinStats: {', '.join(said)}>"

    @property
    def left(self) -> NDArray[Any]:
        """Return the left edges in the feature's own type: numbers, datetime64 (UTC), timedelta64, or levels."""
        return self.low if self.time is None else self.time.times(self.low)

    @property
    def right(self) -> NDArray[Any]:
        """Return the right edges in the feature's own type, as `left`."""
        return self.high if self.time is None else self.time.times(self.high)

    @property
    def widths(self) -> Floats:
        """Return the widths, (K,), for times in days; 1 for each step between levels, which have no distances."""
        if self.low.dtype.kind != "f":
            return np.ones(len(self))
        return self.high - self.low

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Return the slopes at the left and at the right end of each bin; they are equal where `slope_change` is 0."""
        half_change = self.slope_change * self.widths / 2
        return self.effect - half_change, self.effect + half_change

    @property
    def edges(self) -> Floats:
        """Return the edges of the bins of a numeric feature, (K + 1,); for times: days on the axis."""
        return np.append(self.low, self.high[-1:])

    def quadratic_term(self, x: Floats) -> Floats:
        """Return the deviation of the effect from the straight line between the edges of its bin; 0 outside bins."""
        k = np.clip(np.searchsorted(self.low, x, side="right") - 1, 0, len(self) - 1)
        left, right = self.low[k], self.high[k]
        inside = (x > left) & (x < right)
        return np.where(inside, self.slope_change[k] / 2 * (x - left) * (x - right), 0.0)

    def polygon(self, x: Floats, value: Floats, points: int = 24) -> tuple[Floats, Floats]:
        """Return the vertices of a polygon that approximates a curve, given at the edges, and its parabolas."""
        curved = np.flatnonzero(self.slope_change)
        if len(curved) == 0:
            return x, value
        fractions = np.arange(1, points + 1) / (points + 1)
        more = (self.low[curved, None] + np.outer(self.widths[curved], fractions)).ravel()
        vertices = np.sort(np.concatenate([x, more]))
        return vertices, np.interp(vertices, x, value) + self.quadratic_term(vertices)

    @classmethod
    def of(
        cls,
        edges: Floats,
        bins: Moments,
        *,
        effect: Floats,
        std: Floats,
        std_error: Floats,
        slope_change: Floats | None = None,
    ) -> BinStats:
        """Return the bins of a numeric feature between edges, (K + 1,), with counts and weights from moments.

        Without `slope_change`, slopes are constant within the bins.
        """
        return cls(
            low=edges[:-1],
            high=edges[1:],
            count=bins.count.astype(int),
            weight=bins.weight,
            effect=effect,
            std=std,
            std_error=std_error,
            empty=bins.count == 0,
            trusted=bins.count >= TRUSTED_ROWS,
            slope_change=np.zeros(len(edges) - 1) if slope_change is None else slope_change,
        )

    @classmethod
    def empty_bins(cls) -> BinStats:
        """Return zero bins, for a constant feature."""
        zero = np.zeros(0)
        return cls(zero, zero, zero.astype(int), zero, zero, zero, zero, zero > 0, zero > 0)


@dataclass(frozen=True, eq=False, repr=False)
class Spread(Immutable):
    """The spread between rows at x: the standard deviation of the effect at x, on cells of its own.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0)  # |x0| sd(x1)
    >>> bool(abs(e.spread.value - abs(e.spread.x) * X[:, 1].std()).max() < 0.1)
    True
    """

    points: Floats
    """The mean of the feature in each cell, shape (K,); for times: days on the axis; for a categorical feature: the
    index of the level in `levels.values`; for PDP and ICE: the points of the grid."""
    value: Floats
    """In units of the quantity, shape (K,). The mean of its square, weighted with `weight`, is the square of the
    heterogeneity score (not for PDP, ICE and M-plots, whose spread is that of their own curves, or of the quantity)."""
    std_error: Floats
    """Standard error of `value`, shape (K,); NaN where it is not known."""
    weight: Floats
    """Fraction of the rows' weight in each cell, shape (K,)."""
    x: Values = field(init=False)
    """`points` in the feature's own type: numbers, datetime64 (UTC), timedelta64, or levels, shape (K,)."""
    levels: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", self.points)
        super().__post_init__()

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        low, high = np.nanmin(self.value, initial=np.inf), np.nanmax(self.value, initial=-np.inf)
        return f"<Spread: {low:.4g} to {high:.4g}, {counted(len(self), 'cell')}>"

    def on(self, axis: Axis) -> Spread:
        """Return the spread with `x` in the type of an axis."""
        return self.altered(x=axis.in_own_type(self.points), levels=isinstance(axis, LevelAxis))

    def within(self, low: float, high: float) -> Spread:
        """Return the spread in the cells between two points of the axis."""
        some = (self.points >= low) & (self.points <= high)
        return Spread(self.points[some], self.value[some], self.std_error[some], self.weight[some])

    def at(self, coordinates: Floats) -> Floats:
        """Return the spread at coordinates of the axis, interpolated in squares; of a level without rows, NaN."""
        value = np.where(np.isfinite(self.value), self.value, np.nan)
        if np.isnan(value).all():
            return np.full(len(coordinates), np.nan)
        # Scaled by the largest value, so that squares neither overflow nor underflow.
        largest = float(np.nanmax(value)) or 1.0
        square = np.interp(coordinates, self.points, (value / largest) ** 2)
        known = np.isin(coordinates, self.points) if self.levels else True
        return np.where(known, largest * np.sqrt(square), np.nan)


@dataclass(frozen=True, eq=False)
class Rows(Immutable):
    """The rows that a result keeps, with their local effects."""

    x: Floats
    """Values of the feature, shape (r,); for times: days on the axis; for a categorical feature: the index of the level
    in `levels.values` (the order of accumulation), NaN for a value that is no level."""
    effect: Floats | None = None
    """The local effects from which the curve is accumulated: slopes, or differences across cells, shape (r,) or (r, 2).
    For few values, integers and categories: the steps from the previous value and to the next one, NaN where there is
    none. None for PDP and ICE."""
    weight: Floats | None = None
    """None means weight 1 for each row, shape (r,)."""
    exact: bool = True
    """Whether these are all rows that were used; otherwise they are a random sample with a fixed seed."""
    bin_slope: Floats | None = None
    """Each row's difference across its bin, divided by the bin's width, if the curve is accumulated from finer
    differences, shape (r,)."""

    def __len__(self) -> int:
        return len(self.x)

    @property
    def local(self) -> Floats | None:
        """Return the local effects whose standard deviation the bins report, (r,); for categories: steps, (r, 2)."""
        return self.effect if self.bin_slope is None else self.bin_slope


@dataclass(frozen=True, eq=False)
class Curves(Immutable):
    """Curves of single rows (ICE), centred in the same way as the effect."""

    value: Floats
    """One curve per row, at the points of the effect, shape (r, m)."""
    x: Floats
    """The rows' own values of the feature, shape (r,); for times: days on the axis; for a categorical feature: the
    index of the level in `levels.values`, NaN for a value that is no level."""
    row: Ints
    """Indices of the rows in X, shape (r,)."""
    weight: Floats | None = None
    """For averages over these rows, shape (r,); of rows that were drawn by their weights, what is left of them."""
    exact: bool = True
    """Whether these are the curves of all rows; otherwise they are a random sample with a fixed seed."""

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True)
class MissingPoint(Documented):
    """The effect of a missing value of a numeric feature (docs/explanation/levels-and-pairs.md)."""

    effect: float
    """Mean over the rows with a missing value: the quantity there, minus its mean over the observed values of the
    feature."""
    std: float
    std_error: float
    """Standard deviation over these rows, and standard error of the mean; NaN for a single row."""
    count: int
    """Number of rows with a missing value."""
    weight: float
    value: float
    """The point on the scale of the curve: the curve's mean over the data, plus `effect`."""
    exact: bool = True
    """Whether all observed values were inserted; otherwise as many of their quantiles as the budget of model rows
    allows."""


BEFORE_SPREAD = "was not computed by the version that saved the result"
"""Why an effect has no spread, as its provenance says; without an entry there, it has no score."""


def format_values(values: Sequence[object]) -> str:
    """Format the first five values for an error message."""
    shown = ", ".join(repr(v) for v in values[:5])
    return f"{shown}, …" if len(values) > 5 else shown


# --- the effect -----------------------------------------------------------------------------------


class OfFeature:
    """A result of one feature."""

    __slots__ = ()

    @property
    def feature(self: FeatureResult) -> str:
        """Return the name of the feature."""
        return self.about.feature.name

    @property
    def feature_title(self: FeatureResult) -> str:
        """Return the feature's text for people: its label if it has one, else its name."""
        return self.about.feature.title


class OnAxis:
    """A curve at the points of an axis."""

    __slots__ = ()
    axis: Axis

    @property
    def x(self) -> NDArray[Any]:
        """Return the points at which `value` is given, in the feature's own type: numbers, times or levels."""
        return self.axis.x

    @property
    def points(self) -> NDArray[Any]:
        """Return the points as floats, for times as days; for a categorical feature, the levels."""
        return self.axis.x if isinstance(self.axis, LevelAxis) else self.axis.coordinates

    @property
    def levels(self) -> LevelStats | None:
        """Return the levels of a categorical feature; None for a numeric feature."""
        return self.axis.levels if isinstance(self.axis, LevelAxis) else None

    @property
    def time(self) -> TimeAxis | None:
        """Return the axis that converts days to times; None for numbers and levels."""
        return self.axis.time if isinstance(self.axis, TimedAxis) else None


@dataclass(frozen=True, eq=False)
class Effect(
    ResultWithTables[Literal["effect", "bins", "spread", "curves", "missing", "observed"]],
    OnAxis,
    OfFeature,
):
    """The effect of one feature on a quantity.

    Notes
    -----
    No method of a result calls the model. Effects of the different kinds of methods are of derived classes; the module
    `skedasis.results.effect` lists them.
    """

    prints_ranking = True
    frames = (
        "effect: one row per point of `x`",
        "bins: one row per bin, if it has bins",
        "spread: one row per cell of the spread",
        "curves: one row per point of each curve of a row, if it keeps them",
        "missing: one row for the missing values, if the model accepts them",
        "observed: one row per cell and value of the split, with ``explain(observed=True)``; missing values come last",
    )

    axis: Axis
    """The points, as an object that knows the kind of the feature."""
    value: Floats
    """The effect at `x`, in units of the quantity, shape (m,). It is linear between the points, except in bins whose
    `bins.slope_change` is not 0: there it is a parabola, which `path()` returns as a polygon."""
    std_error: Floats
    """Standard error of `value`, shape (m,)."""
    df: Floats
    """Degrees of freedom of `std_error` (Satterthwaite), shape (m,)."""
    importance: float
    """Weighted standard deviation of the effect over the data, in units of the quantity."""
    about: About
    """The feature and the quantity."""
    spec: Spec
    """The settings of the method."""
    rows: Rows | None = None
    """The rows that the result keeps."""
    moments: Mapping[str, Moments] = field(default_factory=dict)
    """The sufficient statistics, from which `rebin` and intervals compute."""
    provenance: Provenance = field(default_factory=no_provenance)
    """How the result was computed."""
    missing_point: MissingPoint | None = None
    """The effect of a missing value, if the feature has missing values and the model accepts them."""
    swap_score: HeterogeneityScore | None = None
    """The heterogeneity score with its standard error and its number of pairs; see `heterogeneity_score`."""
    spread: Spread | None = None
    """The spread between rows on cells of its own, with standard errors: the standard deviation of the effect at x. For
    PDP and ICE, that of their own curves, each minus its mean over the data; for an M-plot, that of the quantity within
    the bins."""
    depends_on: DependsOn | None = None
    """The other feature that explains most of the heterogeneity: ``name``, ``share`` of the score's square on rows from
    which it was not fitted, and its standard ``error``. None where no single feature explains a tenth of it, by two
    standard errors; in regions; and without a score."""
    curves: Curves | None = None
    """The individual curves that the result keeps: those of PDP and ICE, else of ``explain(curves=30)``."""
    observed: Observed | None = None
    """Means of label, prediction and residual in cells of the feature, of ``explain(observed=True)``."""
    # None here; the kinds that have them declare them as parameters.
    bins: BinStats | None = field(default=None, init=False)
    """None for PDP and ICE, which have no bins. For a categorical feature: the steps between adjacent levels."""
    cells: Cells | None = field(default=None, init=False)
    """The fine cells whose unions the bins of a numeric feature are."""
    values: Floats | None = field(default=None, init=False)
    """The observed values of the feature, if the curve is accumulated from steps between them."""
    accumulated_std: Floats | None = field(default=None, init=False)
    """Standard deviations of the local effects, accumulated from the left end (RHALE Eq. 16, UALE Eq. 9), shape (m,).
    For a level of a nominal feature: the root mean square of the standard deviations of the adjacent steps. None for
    PDP, ICE and M-plots, which accumulate nothing."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.spread is not None:
            object.__setattr__(self, "spread", self.spread.on(self.axis))
        if self.observed is not None:
            object.__setattr__(self, "observed", self.observed.on(self.axis))

    @property
    def n_parts(self) -> int:
        """Return the number of bins; without bins, of points of the grid; for a categorical feature, of levels."""
        return len(self.axis)

    @property
    def part_noun(self) -> str:
        """Return what `n_parts` counts: "bin", "point" or "level"."""
        return self.axis.noun

    @property
    def rule(self) -> str:
        """Return the rule of the region that the effect is of, such as "workingday = 0"; empty for all rows."""
        return self.provenance.get("rule", "")

    @property
    def heterogeneity(self) -> Floats:
        """Return the spread between rows at `x`, (m,), in units of the quantity; NaN where it is not known."""
        if self.spread is None:
            return np.full(len(self.value), np.nan)
        return self.spread.at(self.axis.coordinates)

    @property
    def heterogeneity_score(self) -> float:
        """Return the heterogeneity score: how strongly the effect of the feature depends on the other features.

        Returns
        -------
        float
            In units of the quantity; 0 if the quantity is additive in the feature or does not use it. NaN for an
            M-plot, with ``heterogeneity_rows=0``, and with ``PDP(heterogeneity=False)``.

        Notes
        -----
        Pairs of rows swap their values of the feature. The score is the root mean square of the part of the changes
        that does not occur for an additive quantity (`stats/heterogeneity_score.py`). For independent features it is
        the standard deviation of all interactions of the feature. It does not depend on the method, and is comparable
        between features, methods and models. `explain` computes it; accessing it costs no model row.

        References
        ----------
        Hooker (2004), KDD; Liu & Owen (2006), JASA 101; Fruth, Roustant & Kuhnt (2014), JSPI 147.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
        >>> e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0)  # sd(x0) * sd(x1) = 1 / 3
        >>> bool(abs(e.heterogeneity_score - 1 / 3) < 0.1)
        True
        """
        return float("nan") if self.swap_score is None else self.swap_score.value

    @property
    def heterogeneity_score_error(self) -> float:
        """Return the standard error of `heterogeneity_score`, in units of the quantity; NaN if it is unknown.

        It is the standard error of a mean over disjoint pairs of rows, by the delta method. No model row.
        """
        return float("nan") if self.swap_score is None else self.swap_score.std_error

    @property
    def score_off_support(self) -> float:
        """Return the largest share of the heterogeneity score's swapped rows that are off support; NaN if unknown.

        Two rows that swap their values of the feature become rows that were not observed. They are off support if they
        are farther from the data than 99 % of the rows are from their nearest neighbour, in the feature and the one or
        two other columns in which most of them are; see the check `extrapolation`. 0 if the feature depends on no
        other column. At most 1,000 swapped rows, chosen by hash, are compared with 2,000; no model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(1_000, 3))
        >>> X[:, 2] = X[:, 0] * X[:, 1]
        >>> e = sd.explain(lambda X: (X[:, 2] - X[:, 0] * X[:, 1]) ** 2, X, 2)  # 0 at every row
        >>> e.heterogeneity_score > 1, e.score_off_support > 0.25
        (True, True)
        """
        share = None if self.swap_score is None else self.swap_score.off_support
        return float("nan") if share is None else share

    @property
    def missing(self) -> int:
        """Return the number of rows in which the feature is missing."""
        return self.about.missing

    @property
    def untrusted_rows(self) -> int:
        """Return the number of rows in bins, or at levels, with fewer than 10 rows."""
        if not isinstance(self.axis, LevelAxis):
            return 0
        rows = self.axis.levels.count
        return int(rows[rows < TRUSTED_ROWS].sum())

    def __repr__(self) -> str:
        where = f" where {with_minus(self.rule)}" if self.rule else ""
        return (
            f"<Effect of {self.feature!r} on {self.about.quantity}{where}: {self.spec.method}, "
            f"{counted(self.n_parts, self.part_noun)}{outside_text(self.provenance.get('rows_outside'))}, "
            f"importance {self.importance:.4g}, heterogeneity {self.heterogeneity_score:.4g}"
            f"{sample_text(self.provenance)}>"
        )

    def __str__(self) -> str:
        return operations.effect_text(self)

    @checked_call
    def __call__(self, x_new: object) -> Floats:
        """Evaluate the effect at values of the feature.

        Between the points the effect is linear, or a parabola where `bins.slope_change` is not 0. For a categorical
        feature it is the value at the level.

        Parameters
        ----------
        x_new : array_like
            Values of the feature. For dates, times and durations: such values, or text that denotes them.

        Returns
        -------
        ndarray of float, shape of `x_new`
            NaN outside the range of `x`, and where `x_new` is missing (unless missing is a level).

        Raises
        ------
        DataError
            For values that are no level.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.arange(5.0)[:, None]
        >>> e = sd.explain(lambda X: 3 * X[:, 0], X, 0, method=sd.ALE(bins=2))
        >>> e([0.0, 1.0, 4.0, 5.0])
        array([-6., -3.,  6., nan])
        """
        return self.at(self.axis.coordinates_of(x_new, f"effect of {self.feature!r}"))

    def __sub__(self, other: Effect) -> EffectDifference:
        """Return the difference to the effect of the same feature in another table, with errors and a test.

        Parameters
        ----------
        other : Effect
            Of the same feature and quantity, by the same method, of other rows; of the same model or another one.

        Returns
        -------
        EffectDifference
            On the range, or at the levels, that both have. Its intervals add up the errors of independent rows; for two
            models on the same rows explain ``sd.prediction(new) - sd.prediction(old)``.

        Raises
        ------
        DataError
            For different features, kinds, methods or units, and if there is no common range or level.
        UnsupportedError
            If an error is not known, as for a PDP with ``heterogeneity=False``.

        Notes
        -----
        Curves that are centred are compared in shape. Use the same ``bins=sd.Edges(...)`` for both, so that bins make
        no difference. No model row.
        """
        if not isinstance(other, Effect):
            return NotImplemented
        return operations.effect_difference(self, other)

    def alone(self) -> Effects:
        """Return a container with this effect alone."""
        return operations.Effects({self.feature: self})

    def at(self, x_new: Floats) -> Floats:
        """Evaluate the effect at numbers; ``effect(x)`` also accepts times and levels.

        Parameters
        ----------
        x_new : ndarray of float
            Values of the feature; for a feature of times, days since the origin of its axis: ``effect.time.origin``, in
            ticks of ``effect.time.unit``; for a categorical feature, codes of levels.

        Returns
        -------
        ndarray of float, shape of `x_new`
            NaN outside the curve.
        """
        return self.axis.interpolate(x_new, self.value)

    def path(self, points: int = 24) -> tuple[Values, Floats]:
        """Return the vertices (x, value) of a polygon for drawing: `x`, and `points` more in each curved bin."""
        return self.x, self.value

    @checked_call
    def interval(
        self,
        confidence_level: float = 0.95,
        method: Literal["analytic", "bootstrap"] = "analytic",
        *,
        of: Literal["value", "bins", "importance", "heterogeneity_score"] = "value",
        simultaneous: bool = False,
        bins: Literal["fixed", "chosen"] = "fixed",
        replicates: int = 1000,
        random_state: RandomState = 0,
        n_jobs: int = 1,
        source: Literal["rows", "moments"] | None = None,
    ) -> tuple[Floats, Floats]:
        """Return the lower and upper limits of confidence intervals of `value`, or of another statistic.

        Parameters
        ----------
        confidence_level : float
            Confidence level, between 0 and 1.
        method : {"analytic", "bootstrap"}
            Student's t with the standard errors `std_error`; or percentiles over resampled rows.
        of : {"value", "bins", "importance", "heterogeneity_score"}
            The effect at `x`; the mean effects of the bins; the importance (bootstrap only); the heterogeneity score:
            ``score * exp(-+ z * error / score)`` with a normal quantile z (analytic only, because resampling rows would
            separate the pairs that the score is computed from).
        simultaneous : bool
            Return a simultaneous band, which covers all points, or all bins, with probability `confidence_level`.
        bins : {"fixed", "chosen"}
            Whether each bootstrap replicate keeps the bins, or chooses new ones by the binning of the effect.
        replicates, random_state, n_jobs : int
            Settings of the bootstrap. The results do not depend on `n_jobs`.
        source : {"rows", "moments"}, optional
            What the bootstrap resamples; by default the rows if all are kept, otherwise the moments.

        Returns
        -------
        lower, upper : ndarray of float, shape (m,); (K,) for bins, () for a scalar
            NaN where no variance can be estimated, for example in a bin with one row. An interval of width zero would
            suggest certainty.

        Raises
        ------
        DataError
            For a `confidence_level` outside (0, 1), fewer than two replicates, and other invalid arguments.
        UnsupportedError
            If the effect does not have the statistic, or was explained with ``heterogeneity=False``.

        Notes
        -----
        The estimand is the mean of the local effects within the given bins. The bias due to binning, and the error of
        the model, are not included. `skedasis.results.intervals.analytic` describes the computation. No model row.
        """
        asked = operations.IntervalOptions(
            *(confidence_level, method, replicates, random_state, n_jobs, source),
            simultaneous=simultaneous,
            of=of,
            bins=bins,
        )
        return operations.interval(self, asked)

    @checked_call
    def contrast(
        self,
        a: Level,
        b: Level,
        confidence_level: float = 0.95,
        method: Literal["analytic", "bootstrap"] = "analytic",
        *,
        replicates: int = 1000,
        random_state: RandomState = 0,
        n_jobs: int = 1,
        source: Literal["rows", "moments"] | None = None,
    ) -> Contrast:
        """Return the change of the average effect from value `a` to value `b` of the feature, with its interval.

        Parameters
        ----------
        a, b : value of the feature
            Numbers on the curve; dates, times, durations, or text that denotes them; levels, or their labels (None or
            NaN: the level of missing values).
        confidence_level : float
            Confidence level, between 0 and 1.
        method : {"analytic", "bootstrap"}
            Student's t with the standard error of the change; or percentiles over resampled rows.
        replicates, random_state, n_jobs : int
            Settings of the bootstrap. The results do not depend on `n_jobs`.
        source : {"rows", "moments"}, optional
            What the bootstrap resamples; by default the rows if all are kept, otherwise the moments.

        Returns
        -------
        Contrast
            Its `value` is ``effect(b) - effect(a)``. 0 with the interval (0, 0) if `a` equals `b`.

        Raises
        ------
        DataError
            For a value that is missing, no level or outside the curve, and for invalid options.
        UnsupportedError
            For PDP and ICE with fewer than two kept curves, or with ``heterogeneity=False``.

        Notes
        -----
        The two points of a curve share rows and the centre: the error of their difference is much smaller than the
        errors of two independent points. It is computed from the rows between `a` and `b`
        (`skedasis.results.intervals.contrasts`), and does not depend on the centring. The estimand is that of
        `interval`: the mean of the local effects within the given bins. No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(size=(500, 2))
        >>> e = sd.explain(lambda X: X[:, 0] + X[:, 0] * X[:, 1], X, 0, method=sd.ALE(bins=10))
        >>> print(e.contrast(0.2, 0.6))
        x0 0.2 → 0.6: prediction +0.606, 95 % interval 0.590 to 0.622
        """
        options = operations.ContrastOptions(
            confidence_level, method, replicates, random_state, n_jobs, source
        )
        return operations.contrast(self, a, b, options)

    @checked_call
    def contrasts(
        self,
        reference: Level | EllipsisType = ...,
        confidence_level: float = 0.95,
        method: Literal["analytic", "bootstrap"] = "analytic",
        *,
        replicates: int = 1000,
        random_state: RandomState = 0,
        n_jobs: int = 1,
        source: Literal["rows", "moments"] | None = None,
    ) -> Contrasts:
        """Return the change from a reference level of a categorical feature to each other level.

        Parameters
        ----------
        reference : level, optional
            By default the level with the largest weight.
        confidence_level, method, replicates, random_state, n_jobs, source
            As in `contrast`.

        Returns
        -------
        Contrasts
            In the order of the levels. `Contrasts.simultaneous` adjusts the intervals for their number.

        Raises
        ------
        DataError, UnsupportedError
            As `contrast`, and for a numeric feature.

        Notes
        -----
        No model row.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> import skedasis as sd
        >>> rng = np.random.default_rng(0)
        >>> X = pd.DataFrame({"town": rng.choice(["A", "B", "C"], 300), "z": rng.normal(size=300)})
        >>> q = lambda X: X["town"].map({"A": 0.0, "B": 1.0, "C": 3.0}) * (1 + 0.2 * X["z"])
        >>> e = sd.explain(q, X, "town", method="ale")
        >>> [(c.a, c.b, round(float(c), 1)) for c in e.contrasts("A")]
        [('A', 'B', 1.0), ('A', 'C', 3.0)]
        """
        options = operations.ContrastOptions(
            confidence_level, method, replicates, random_state, n_jobs, source
        )
        given = reference is not ...
        return operations.contrasts_with_reference(self, reference, given, options)

    @checked_call
    def factors(self, base: Level | None = None, confidence_level: float = 0.95) -> Factors:
        """Return the multiplicative effects of a quantity on the log scale: by how much each value multiplies it.

        Parameters
        ----------
        base : value of the feature, optional
            The level or value whose factor is 1: a number, a date, a level or its label ("missing" for the level of
            missing values). By default that with the most weight, which the table says; for a number it may be any.
        confidence_level : float
            Confidence level of the intervals, between 0 and 1.

        Returns
        -------
        Factors
            A line per level, or per point of the curve, with its factor, interval, rows and exposure (the weight of the
            rows). With `observed` the lines of a numeric feature are the cells of the observed means, each at its mean,
            and all lines have the observed factor: the mean label relative to that at the base, for each value of the
            split.

        Raises
        ------
        DataError
            For a `base` that is missing, no level or outside the curve, and a `confidence_level` outside (0, 1).
        UnsupportedError
            For a quantity that is no logarithm (neither ``inverse="log"`` nor ``link="log"`` nor `skedasis.logit`), for
            M-plots, and for derivatives.

        Notes
        -----
        A factor is ``exp(effect(x) - effect(base))``, and its interval the exponential of that of ``contrast(base,
        x)``. On a log-additive model factors are exact at levels and at the points of an ALE or a PDP; between the
        points a curve is linear. The estimand is that of `interval`. No model row.

        Of log odds (`skedasis.logit`) they are odds ratios, and observed ones are ratios of the odds of mean labels.
        Observed factors of fewer than 10 rows have no interval.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).integers(0, 3, size=(500, 2)).astype(float)
        >>> q = sd.prediction(lambda X: 0.1 * 2.0 ** X[:, 0] * (1 + X[:, 1]), inverse="log")
        >>> print(sd.explain(q, X, 0, method="ale").factors(base=0))
        factors of prediction for x0 (ALE), base 0
        x0  factor  95 % interval  rows
        0     1.00           base  35 %
        1     2.00   2.00 to 2.00  32 %
        2     4.00   4.00 to 4.00  33 %
        Single rows differ from these factors by × or ÷ 1.00, typically (exponential of the heterogeneity score).
        """
        return operations.factors_of(self, base, confidence_level)

    def resampled(
        self, counts: ArrayLike, of: Literal["value", "bins", "importance"] = "value"
    ) -> Floats:
        """Return the effect for each of R vectors of row weights.

        See `skedasis.results.intervals.analytic.reweighted_effect`: counts replace frequency weights and multiply
        sampling weights.
        """
        return operations.reweighted_effect(self, counts, of)

    @checked_call
    def checks(
        self,
        confidence_level: float = 0.95,
        *,
        X: TableLike | FeatureSpace | None = None,
        beside: Effect | None = None,
        random_state: RandomState = 0,
        ignore: Ignore = None,
    ) -> Checks:
        """Run the reliability checks and return their findings, warnings and notes.

        See `skedasis.results.checks.reliability`. With X, the explained data, the artificial rows that the method
        evaluates are checked for extrapolation. `beside` is an effect of the same feature by another method, for
        comparison. `ignore` is a code, or several, whose findings are left out, such as ``("few_rows",)``.
        """
        return operations.check_effect(
            self, confidence_level, X=X, beside=beside, random_state=random_state, ignore=ignore
        )

    @checked_call
    def variance_decomposition(self, *, random_state: RandomState = 0) -> VarianceDecomposition:
        """Decompose the variance within the bins (RHALE Theorem 1); see `results/checks/variance_decomposition.py`."""
        return operations.variance_decomposition(self, random_state=random_state)

    @checked_call
    def heterogeneity_test(
        self, confidence_level: float = 0.95, above: float | None = None
    ) -> HeterogeneityTest:
        """Test whether the heterogeneity score exceeds a threshold, by default the size of rounding errors.

        Parameters
        ----------
        confidence_level : float
            Confidence level of the verdict and of the lower bound, between 0 and 1.
        above : float, optional
            Threshold, in units of the quantity; by default 1e-6 standard deviations of the quantity.

        Returns
        -------
        HeterogeneityTest
            See `skedasis.results.checks.heterogeneity_test.heterogeneity_test` for the method and an example.

        Raises
        ------
        DataError
            For a `confidence_level` outside (0, 1), or a threshold that is negative or not a finite number.
        UnsupportedError
            For an effect without a heterogeneity score.
        """
        return operations.heterogeneity_test(self, confidence_level, above)

    @checked_call
    def rebin(self, bins: Binning | int) -> Effect:
        """Return the effect on other bins, computed from the rows and moments that the result keeps.

        Parameters
        ----------
        bins : Binning or int
            Any binning, if local effects are slopes, and for M-plots. Differences (of ALE and of step functions) belong
            to their cells, so that bins are unions of cells. Where the curve is given at the edges of all cells (RHALE
            of step functions, few values) it does not change, and the standard deviations of the rows' differences
            across the new bins are unknown: they are NaN, and the provenance names the call that computes them. For an
            ordinal feature `Optimal` and `Greedy` group the steps between levels anew.

        Returns
        -------
        Effect
            A new effect; this one is unchanged.

        Raises
        ------
        UnsupportedError
            For PDP and ICE, for nominal features, and if the bins are not unions of the cells of an ALE.

        Notes
        -----
        No model row. If only a sample of the rows was kept, bins are unions of the fine cells, whose moments are of all
        rows: edges are moved to the nearest edge of a cell, and the provenance notes it. Individual curves are kept
        where they have all points of the new curve.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).uniform(size=(200, 2))
        >>> q = sd.prediction(
        ...     lambda X: X[:, 0] ** 2, slope=lambda X: np.c_[2 * X[:, 0], 0 * X[:, 1]]
        ... )
        >>> e = sd.explain(q, X, 0, method=sd.RHALE())
        >>> len(e.rebin(sd.Uniform(7)).bins)
        7
        """
        return operations.rebin_effect(self, bins)

    @checked_call
    def elevated_regions(self, confidence_level: float = 0.95) -> tuple[ElevatedRegion, ...]:
        """Return regions where the mean ICE curve is elevated, and whether the curves of rows observed there are, too.

        For an uncertainty this separates noise at these values of the feature (the curves of "all" rows are elevated)
        from extrapolation (only curves of rows from "elsewhere" are; entropy_importance, sec. 4.1). See
        `results/checks/elevated_regions.py`.

        Raises
        ------
        UnsupportedError
            For other methods than PDP and ICE, without curves, for a categorical feature, and for derivatives.
        """
        return operations.elevated_regions(self, confidence_level)

    def _table(self, of: str) -> TableColumns:
        return operations.effect_table(self, of)

    def _document(self, options: ExportOptions) -> Content:
        return operations.effect_document(self, options)

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        return operations.effect_keys()

    @classmethod
    def json_kind(cls) -> str:
        """Return "Effect", also for the classes that derive from it."""
        return Effect.__name__

    @takes_figure_options
    def plot(self, ax: Axes | None = None, **options: Unpack[EffectKeywords]) -> Figure:
        """Plot the effect.

        Raises
        ------
        UnsupportedError
            For raw curves of a centred effect, for colours or a number of curves if the result keeps no curves, for
            elevated regions without ICE curves over a numeric feature, for a histogram if colours are not groups, for
            a logarithmic axis of levels or times, and for the accumulated band of PDP, ICE and M-plots.

        Notes
        -----
        Levels of a categorical feature are drawn at positions 0, 1, … in the order of the effect. Of more than 40
        nominal levels those with most rows are shown, and the notes say so. In a small figure lower panels, and then
        notes, are left out.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ALE(bins=5))
        >>> [ax.get_ylabel() for ax in e.plot(title="Effect of x0", size=(5, 5)).axes]
        ['effect on prediction', 'slope [prediction per x0]']
        """
        return operations.plot(self, ax=ax, **options)

    @takes_figure_options
    def explore(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        **options: Unpack[EffectViewKeywords],
    ) -> Explorable:
        """Return the figure as an interactive page with tooltips for bins, points and curves.

        Notes
        -----
        Arrow keys move between bins and between curves. The page contains those data of single rows that the figure
        shows: ICE curves with row indices, the rug, and the local effects of bins with few rows.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ALE(bins=5))
        >>> page = e.explore()
        >>> page.title, page.html.count("<svg ")
        ('x0: effect on prediction (ALE)', 1)
        """
        return operations.explore(self, path, title, **options)


# --- kinds of effects -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class PartialDependence(Effect):
    """A partial dependence: PDP and ICE. Its value is the mean of the curves of all rows, of which it may keep some."""


@dataclass(frozen=True, eq=False, repr=False)
class BinnedEffect(Effect):
    """An effect of a numeric feature that is summarised in bins: `AccumulatedEffect` or `MPlotEffect`."""

    axis: NumericAxis
    bins: BinStats = field(kw_only=True)
    """No bins for a constant feature."""
    cells: Cells = field(kw_only=True)
    """The fine cells whose unions the bins are."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.time is not None and self.bins.time is None:
            object.__setattr__(self, "bins", replace(self.bins, time=self.time))

    @property
    def points(self) -> Floats:
        """Return the points as floats, for times as days."""
        return self.axis.points

    @property
    def n_parts(self) -> int:
        """Return the number of bins."""
        return len(self.bins)

    @property
    def part_noun(self) -> str:
        """Return "bin"."""
        return "bin"

    @property
    def untrusted_rows(self) -> int:
        """Return the number of rows in bins with fewer than 10 rows."""
        return int(self.bins.count[~self.bins.trusted].sum())


@dataclass(frozen=True, eq=False, repr=False)
class AccumulatedEffect(BinnedEffect):
    """An effect of a numeric feature that is accumulated from local effects: ALE, DALE, UALE and RHALE."""

    accumulated_std: Floats = field(kw_only=True)
    """Shape (m,)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        ends = self.value[np.searchsorted(self.points, self.bins.edges)]
        object.__setattr__(self, "bins", self.bins.on_curve(ends))

    def at(self, x_new: Floats) -> Floats:
        """Evaluate the effect at numbers or days; in bins whose `bins.slope_change` is not 0 it is a parabola."""
        value = self.axis.interpolate(x_new, self.value)
        if not np.any(self.bins.slope_change):
            return value
        return np.asarray(value + self.bins.quadratic_term(x_new))

    def path(self, points: int = 24) -> tuple[Values, Floats]:
        """Return the vertices (x, value) of a polygon for drawing: `x`, and `points` more in each curved bin."""
        x, value = self.bins.polygon(self.points, self.value, points)
        return self.axis.in_own_type(x), value


@dataclass(frozen=True, eq=False, repr=False)
class ValueStepsEffect(AccumulatedEffect):
    """An accumulated effect whose curve is accumulated from steps between the feature's observed values."""

    values: Floats = field(kw_only=True)
    """The observed values, shape (L,)."""

    def without_values(self) -> AccumulatedEffect:
        """Return the effect without the observed values: its curve, bins and cells stay."""
        kept = {f.name: getattr(self, f.name) for f in fields(AccumulatedEffect) if f.init}
        return AccumulatedEffect(**kept)


@dataclass(frozen=True, eq=False, repr=False)
class MPlotEffect(BinnedEffect):
    """An M-plot of a numeric feature: the means of the quantity in the bins that contain rows."""


@dataclass(frozen=True, eq=False, repr=False)
class LevelStepsEffect(Effect):
    """An effect of a categorical feature that is accumulated from steps between levels: ALE and RHALE."""

    axis: LevelAxis
    bins: BinStats = field(kw_only=True)
    """The steps between adjacent levels, or groups of them."""
    accumulated_std: Floats = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        levels = self.axis.levels
        ends = levels.codes(np.append(self.bins.low, self.bins.high[-1:]))
        labels = tuple(levels.labels[k] for k in ends)
        object.__setattr__(self, "bins", self.bins.on_curve(self.value[ends], labels))


@dataclass(frozen=True, eq=False, repr=False)
class LevelMeansEffect(Effect):
    """An M-plot of a categorical feature: the means of the quantity at the levels."""

    axis: LevelAxis


AnyMPlot: TypeAlias = MPlotEffect | LevelMeansEffect
"""The kinds of M-plots, for isinstance."""

AnyAccumulated: TypeAlias = AccumulatedEffect | LevelStepsEffect
"""The kinds of accumulated effects, for isinstance."""
