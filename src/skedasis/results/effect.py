"""`Effect`: the effect of one feature, and the parts that results consist of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Center, Floats, Ints, Json, Side
from skedasis.data.features import Feature
from skedasis.data.times import TimeAxis
from skedasis.models.adapters import ON_CELLS, LocalEffects
from skedasis.results.display import ShownEffect
from skedasis.stats.ale_math import Accumulate
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments, WeightKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skedasis.binning import Binning
    from skedasis.results.checks.check import Trust
    from skedasis.results.checks.elevated_regions import Rise
    from skedasis.results.checks.heterogeneity_test import HeterogeneityTest
    from skedasis.results.checks.variance_decomposition import Split
    from skedasis.stats.heterogeneity_score import HeterogeneityScore


# ------------------------------------------------------------------------------------------
# How a result was made, as plain values that can be written as JSON.


@dataclass(frozen=True)
class Spec:
    """What a result needs to know of its method to be re-binned, centred and drawn.

    Parameters
    ----------
    method : str
        "ALE", "RHALE", "PDP", …
    center : {"mean", "start", "anchor", None}
    local : str
        Where the rows' local effects came from. "slopes", central "differences" and the "values" of an M-plot belong to
        points and may be put into any bins. Differences across cells belong to these: those of an ALE ("edges"), those
        of step functions that are read in bins ("steps"), and steps between few values ("value_steps"), between whole
        numbers ("integer_steps"; any bins are sums of them) and between "levels". "none" are curves.
    accumulate, ddof, accumulate_se
        As in `RHALE`.
    closed : {"left", "right"}
        The side that belongs to a bin.
    weight_kind : {"frequency", "sampling"}
    parameters : dict
        The method's settings, as given.
    derivative : bool
        Whether the values are slopes of the quantity by the feature.
    """

    method: str
    center: Center | Literal["anchor"] = "mean"
    local: LocalEffects = "slopes"
    accumulate: Accumulate = "variance"
    ddof: int = 1
    accumulate_se: Literal["quadrature", "sum"] = "quadrature"
    closed: Side = "left"
    weight_kind: WeightKind = "frequency"
    parameters: Json = field(default_factory=dict)
    derivative: bool = False

    @property
    def pointwise(self) -> bool:
        """Return whether local effects belong to points of the axis, not to cells."""
        return self.local in ("slopes", "differences", "integer_steps", "values")

    @property
    def on_cells(self) -> bool:
        """Return whether the curve is given at the edges of all cells, whatever bins summarise it."""
        return self.local in ON_CELLS

    @property
    def mean_alone(self) -> bool:
        """Return whether the spread of the rows' curves was not asked for."""
        return self.parameters.get("heterogeneity") is False

    def to_json(self) -> Json:
        """Return a dictionary that `json` can write."""
        return asdict(self)


@dataclass(frozen=True)
class About:
    """What a result is about: the feature, the quantity, and the library that X came from.

    Parameters
    ----------
    feature : Feature
    quantity : str
        The quantity's name, for axes.
    unit : str, optional
        The quantity's unit.
    library : str, optional
        The data frame library of X, for tables of the same kind.
    spread : float
        The weighted standard deviation of the feature (ddof 0).
    missing : int
        Rows without a value of the feature.
    dtype : str
        NumPy's name of the type that the feature's edges were rounded to.
    """

    feature: Feature
    quantity: str = "prediction"
    unit: str | None = None
    library: str | None = None
    spread: float = 0.0
    missing: int = 0
    dtype: str = "float64"

    @property
    def axis(self) -> str:
        """Return the text for the quantity's axis."""
        return f"{self.quantity} [{self.unit}]" if self.unit else self.quantity


# ------------------------------------------------------------------------------------------
# What results consist of: bins, levels, kept rows, individual curves, the point of missing values.


TRUSTED_ROWS = 10
"""Bins with fewer rows are marked not to be trusted (draft, sec. 3.2)."""


def locked(*arrays: np.ndarray) -> None:
    """Make arrays read-only: a result is a value, and a value does not change."""
    for array in arrays:
        array.flags.writeable = False


@dataclass(frozen=True, eq=False)
class BinStats:
    """The bins of an accumulated effect, one entry a bin, left to right.

    Parameters
    ----------
    low, high : ndarray, shape (K,)
        Edges, in units of the feature; of times days on the axis. Of a categorical feature the first and the last level
        that a step, or a run of steps, leads between.
    count : ndarray of int, shape (K,)
        Rows.
    weight : ndarray of float, shape (K,)
        Their weight.
    effect : ndarray of float, shape (K,)
        Mean slope, in units of the quantity per unit of the feature, or of times per day (RHALE Eq. 10); NaN where the
        bin is empty. Of a
        categorical feature per step from one level to the next; of an M-plot the bin's mean.
    std : ndarray of float, shape (K,)
        Standard deviation of the slopes (Eq. 11); NaN where the weight is 1 or less.
    std_error : ndarray of float, shape (K,)
        Standard error of `effect`; NaN likewise.
    empty, trusted : ndarray of bool, shape (K,)
        No row at all; ten rows or more.
    trend : ndarray of float, shape (K,)
        By how much the slope changes per unit of the feature within the bin: 0 where it is constant. Where it is not,
        `effect` is the slope in the middle of the bin, and `std` the spread about the line.
    time : TimeAxis, optional
        Of dates, times and durations: what the days of `low` and `high` are.
    """

    low: NDArray[Any]
    high: NDArray[Any]
    count: Ints
    weight: Floats
    effect: Floats
    std: Floats
    std_error: Floats
    empty: Bools
    trusted: Bools
    trend: Floats = field(default_factory=lambda: np.zeros(0))
    time: TimeAxis | None = None

    def __post_init__(self) -> None:
        # Constant slopes; and files written before there were others.
        if len(self.trend) != len(self.low):
            object.__setattr__(self, "trend", np.zeros(len(self.low)))
        locked(*(getattr(self, f.name) for f in fields(self) if f.name != "time"))

    def __len__(self) -> int:
        return len(self.low)

    @property
    def left(self) -> NDArray[Any]:
        """Return the left edges as the feature has them: of times datetime64 (UTC) or timedelta64; or levels."""
        return self.low if self.time is None else self.time.times(self.low)

    @property
    def right(self) -> NDArray[Any]:
        """Return the right edges likewise."""
        return self.high if self.time is None else self.time.times(self.high)

    @property
    def widths(self) -> Floats:
        """Return right - left, of times in days; 1 a step between levels, which have no distances."""
        if self.low.dtype.kind != "f":
            return np.ones(len(self))
        return self.high - self.low

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Return the slopes at the left and at the right end of each bin: alike where `trend` is 0."""
        tilt = self.trend * self.widths / 2
        return self.effect - tilt, self.effect + tilt

    @property
    def edges(self) -> Floats:
        """Return the edges of a numeric feature's bins, (K + 1,); of times days on the axis."""
        return np.append(self.low, self.high[-1:])

    @classmethod
    def of(
        cls,
        edges: Floats,
        bins: Moments,
        *,
        effect: Floats,
        std: Floats,
        std_error: Floats,
        trend: Floats | None = None,
    ) -> BinStats:
        """Return the bins of a numeric feature, whose rows are counted by moments.

        Parameters
        ----------
        edges : ndarray of float, shape (K + 1,)
        bins : Moments, K bins
        effect, std, std_error, trend : ndarray of float, shape (K,)
            As of `BinStats`; without a trend slopes are constant within the bins.
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
            trend=np.zeros(len(edges) - 1) if trend is None else trend,
        )

    @classmethod
    def none(cls) -> BinStats:
        """Return the bins of a constant feature: there are none."""
        zero = np.zeros(0)
        return cls(zero, zero, zero.astype(int), zero, zero, zero, zero, zero > 0, zero > 0)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that a result keeps.

    Parameters
    ----------
    x : ndarray of float, shape (r,)
        The feature's values, of times days on its axis; of a categorical feature the places of its levels.
    effect : ndarray of float, shape (r,) or (r, 2), optional
        The local effects that the curve is made of: slopes, or differences across cells; for few values, integers and
        categories the steps from the previous value and to the next one, NaN if there is none. None for PDP and ICE.
    weight : ndarray of float, shape (r,), optional
        None means 1 each.
    exact : bool
        Whether these are all rows that took part; otherwise they are a seeded sample.
    across : ndarray of float, shape (r,), optional
        The rows' rises across their bins over the bins' widths, if the curve is made of finer differences.
    """

    x: Floats
    effect: Floats | None = None
    weight: Floats | None = None
    exact: bool = True
    across: Floats | None = None

    def __len__(self) -> int:
        return len(self.x)

    @property
    def local(self) -> Floats | None:
        """Return the local effects whose standard deviation the bins report, (r,); of categories the steps, (r, 2)."""
        return self.effect if self.across is None else self.across


@dataclass(frozen=True, eq=False)
class Curves:
    """Individual curves (ICE), centred as the effect is.

    Parameters
    ----------
    value : ndarray of float, shape (r, m)
        One curve a row, on the effect's grid.
    x : ndarray of float, shape (r,)
        The rows' own values of the feature, of times days on its axis; of a categorical feature the places of their
        levels, NaN for none.
    row : ndarray of int, shape (r,)
        The rows' places in X.
    weight : ndarray of float, shape (r,), optional
    exact : bool
        Whether every row has its curve here; otherwise they are a seeded sample.
    """

    value: Floats
    x: Floats
    row: Ints
    weight: Floats | None = None
    exact: bool = True

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True, eq=False)
class LevelStats:
    """The levels of a categorical feature, in the order in which they were accumulated.

    Parameters
    ----------
    values : tuple
        As X has them; None is a missing value.
    labels : tuple of str
        What stands in tables and figures.
    count : ndarray of int, shape (L,)
        Rows.
    weight : ndarray of float, shape (L,)
        Their weight.
    chosen : str
        How the order was chosen.
    """

    values: tuple[Any, ...]
    labels: tuple[str, ...]
    count: Ints
    weight: Floats
    chosen: str = ""

    def __post_init__(self) -> None:
        locked(self.count, self.weight)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def share(self) -> Floats:
        """Return each level's share of the weight."""
        return self.weight / max(float(self.weight.sum()), np.finfo(float).tiny)

    def array(self) -> NDArray[Any]:
        """Return the levels as an array: of numbers or of text where all of them are, else of objects."""
        kinds = {type(v) for v in self.values}
        if kinds <= {int, float} or kinds in ({str}, {bool}):
            return np.array(self.values)
        out = np.empty(len(self), dtype=object)
        out[:] = self.values
        return out

    def places(self, wanted: Any) -> Ints:
        """Return the place of each of the given values, -1 for what is no level.

        Parameters
        ----------
        wanted : array_like
            Values, or labels.
        """
        known: dict[Any, int] = {_key(label): i for i, label in enumerate(self.labels)}
        known |= {_key(v): i for i, v in enumerate(self.values)}
        flat = np.asarray(wanted, dtype=object).ravel()
        return np.array([known.get(_key(v), -1) for v in flat], dtype=np.int64)


def _key(value: Any) -> Any:
    """Return what two equal levels share, and unequal ones do not: True is not 1."""
    value = value.item() if isinstance(value, np.generic) else value
    try:
        missing = value is None or bool(value != value) or type(value).__name__ == "NAType"  # noqa: PLR0124 - NaN
    except TypeError:  # the NA of pandas has no truth value
        missing = True
    return None if missing else (isinstance(value, bool), value)


@dataclass(frozen=True)
class MissingPoint:
    """What it does to miss a value of a numeric feature (docs/explanation/levels-and-pairs.md).

    Parameters
    ----------
    effect : float
        Mean over the rows without a value of the quantity there, minus its mean over the feature's observed values.
    std, std_error : float
        Spread over these rows, and the error of their mean; NaN for a single row.
    count : int
        Rows without a value.
    weight : float
    value : float
        Where the point stands on the curve's own scale: `effect` above the curve's mean over the data.
    exact : bool
        Whether all observed values took part; otherwise so many of their quantiles as the budget of model rows allows.
    """

    effect: float
    std: float
    std_error: float
    count: int
    weight: float
    value: float
    exact: bool = True


def joined(values: Sequence[Any]) -> str:
    """Write some values for an error message."""
    shown = ", ".join(repr(v) for v in values[:5])
    return f"{shown}, …" if len(values) > 5 else shown


# ------------------------------------------------------------------------------------------
# `Effect`: what one feature does, for whom that is not true, and how sure that is.


@dataclass(frozen=True, eq=False)
class Effect(ShownEffect):
    """The effect of one feature on a quantity.

    Attributes
    ----------
    x : ndarray, shape (m,)
        Edges of the bins, or points of the grid, in units of the feature; the means of the feature within the bins of
        an M-plot; the levels of a categorical feature, in the order of accumulation. Of dates, times and durations
        datetime64 (in UTC where the column has a time zone) or timedelta64 (of times of day from midnight).
    points : ndarray, shape (m,)
        The same as floats: of dates, times and durations days on the feature's axis. Else `x` itself.
    value : ndarray of float, shape (m,)
        The effect there, in units of the quantity. Between `x` it is linear, but where `bins.trend` is not 0: there it
        is a parabola, and `path()` has what is to be drawn.
    heterogeneity : ndarray of float, shape (m,)
        How much the rows differ: accumulated from the left end (RHALE Eq. 16, UALE Eq. 9), or for PDP and ICE the
        standard deviation over rows of the curves minus their own anchor. At a level of a nominal feature the root mean
        square of the spread of the steps that touch it. In an M-plot the spread of the quantity within the bin.
    std_error : ndarray of float, shape (m,)
        Standard error of `value`.
    freedom : ndarray of float, shape (m,)
        Degrees of freedom of `std_error` (Satterthwaite).
    importance : float
        Weighted standard deviation of the effect over the data, in units of the quantity.
    swap_score : HeterogeneityScore or None
        The heterogeneity score with its error and the number of its pairs; see `heterogeneity_score`.
    values : ndarray of float or None
        The feature's observed values, where the curve is made of steps between them.
    bins : BinStats or None
        None for PDP and ICE, which have none; of a categorical feature the steps from level to level.
    rows, curves
        What is kept of the rows.
    levels : LevelStats or None
        Of a categorical feature.
    missing_point : MissingPoint or None
        What missing the feature does, where rows miss it and the model takes that.
    about, spec, provenance
        What this is, and how it was made.

    Notes
    -----
    No method of a result ever calls the model.
    """

    points: NDArray[Any]
    value: Floats
    heterogeneity: Floats
    std_error: Floats
    freedom: Floats
    importance: float
    about: About
    spec: Spec
    bins: BinStats | None = None
    rows: Rows | None = None
    curves: Curves | None = None
    cells: Cells | None = None
    moments: Mapping[str, Moments] = field(default_factory=dict)
    provenance: Json = field(default_factory=dict)
    levels: LevelStats | None = None
    missing_point: MissingPoint | None = None
    swap_score: HeterogeneityScore | None = None
    values: Floats | None = None

    def __post_init__(self) -> None:
        locked(self.points, self.value, self.heterogeneity, self.std_error, self.freedom)
        if self.time is not None and self.bins is not None and self.bins.time is None:
            object.__setattr__(self, "bins", replace(self.bins, time=self.time))

    @property
    def time(self) -> TimeAxis | None:
        """Return how days are the times of the feature; None of numbers, and of levels."""
        return self.about.feature.time if self.levels is None else None

    @property
    def x(self) -> NDArray[Any]:
        """Return where `value` stands, as the feature has it."""
        return self.points if self.time is None else self.time.times(self.points)

    @property
    def feature(self) -> str:
        """Return the feature's name."""
        return self.about.feature.name

    @property
    def heterogeneity_score(self) -> float:
        """Return how much of the quantity's variation with the feature depends on the other features.

        Returns
        -------
        float
            In units of the quantity; 0 if the quantity is additive in the feature or does not use it. NaN for an
            M-plot, with ``heterogeneity_rows=0``, and with ``PDP(heterogeneity=False)``.

        Notes
        -----
        Pairs of rows swap their values of the feature. The score is the root mean square of the part of the changes
        that an additive quantity would not have (`stats/heterogeneity_score.py`). For independent features it is the
        standard deviation of all interactions of the feature. It is the same for every method, and comparable between
        features, methods and models. `explain` computes it; reading it costs no model row.

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
        """Return the standard error of `heterogeneity_score`, in units of the quantity; NaN where that is not known.

        It is the error of a mean over disjoint pairs of rows, by the delta method. No model row.
        """
        return float("nan") if self.swap_score is None else self.swap_score.std_error

    @property
    def missing(self) -> int:
        """Return the number of rows without a value of the feature."""
        return self.about.missing

    @property
    def untrusted_rows(self) -> int:
        """Return the number of rows in bins not to be trusted; of a categorical feature, at such levels."""
        if self.levels is not None:
            return int(self.levels.count[self.levels.count < TRUSTED_ROWS].sum())
        return 0 if self.bins is None else int(self.bins.count[~self.bins.trusted].sum())

    def __repr__(self) -> str:
        from skedasis.results.display import count

        where = count(len(self.points), "point" if self.levels is None else "level")
        if self.bins is not None and self.levels is None:
            where = count(len(self.bins), "bin")
        return (
            f"<Effect of {self.feature!r} on {self.about.quantity}: {self.spec.method}, {where}, "
            f"importance {self.importance:.4g}, heterogeneity {self.heterogeneity_score:.4g}>"
        )

    def __call__(self, x_new: Any) -> Floats:
        """Evaluate the effect, linear between `x` (a parabola where `bins.trend` is not 0); of a category at levels.

        Parameters
        ----------
        x_new : array_like
            Values of the feature: of dates, times and durations such, or text that says when.

        Returns
        -------
        ndarray of float, shape of `x_new`
            NaN outside the range of `x`, for what is no level, and where `x_new` is NaN (unless that is a level).

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.arange(5.0)[:, None]
        >>> e = sd.explain(lambda X: 3 * X[:, 0], X, 0, method=sd.ALE(bins=2))
        >>> e([0.0, 1.0, 4.0, 5.0])
        array([-6., -3.,  6., nan])
        """
        if self.levels is not None:
            place = self.levels.places(x_new)
            return np.where(place >= 0, self.value[place], np.nan).reshape(np.shape(x_new))
        if self.time is not None:
            days = self.time.days(x_new, f"effect of {self.feature!r}")
            # The ends as `x` has them may be off by the rounding to the axis' grain.
            slack = 0.0 if self.time.exact else self.time.resolution
            first, last = self.points[[0, -1]]
            near = (days >= first - slack) & (days <= last + slack)
            return self.at(np.where(near, np.clip(days, first, last), days))
        return self.at(np.asarray(x_new, dtype=float))

    def at(self, x_new: Floats) -> Floats:
        """Evaluate the effect of a feature that has no levels at places on its axis: numbers, or days."""
        found = np.interp(x_new, self.points, self.value, left=np.nan, right=np.nan)
        if self.bins is not None and np.any(self.bins.trend):
            from skedasis.results.build.linear_form import bulge

            found = found + bulge(self.bins, x_new)
        # Of a single point `interp` says its value even where it is asked for NaN.
        return np.where(np.isnan(x_new), np.nan, found)

    def path(self, points: int = 24) -> tuple[NDArray[Any], Floats]:
        """Return the corners of a polygon that looks like the curve, (x, value): `x`, and `points` in each bend."""
        from skedasis.results.build.linear_form import drawn

        x, value = drawn(self.bins, self.points, self.value, points)
        return x if self.time is None else self.time.times(x), value

    def interval(
        self,
        level: float = 0.95,
        method: Literal["analytic", "bootstrap"] = "analytic",
        *,
        of: Literal["value", "bins", "importance", "heterogeneity_score"] = "value",
        simultaneous: bool = False,
        bins: Literal["fixed", "chosen"] = "fixed",
        replicates: int = 1000,
        seed: int = 0,
        threads: int = 1,
        source: Literal["rows", "moments"] | None = None,
    ) -> tuple[Floats, Floats]:
        """Return lower and upper ends of confidence intervals of `value`, or of another figure.

        Parameters
        ----------
        level : float
            Between 0 and 1.
        method : {"analytic", "bootstrap"}
            Student's t with the standard errors that are in `std_error`; or percentiles over resampled rows.
        of : {"value", "bins", "importance", "heterogeneity_score"}
            The effect at `x`; the bins' mean effects; the importance (bootstrap only); the heterogeneity score:
            ``score * exp(-+ z * error / score)`` with a normal quantile z (analytic only, because resampling rows would
            separate the pairs that the score is computed from).
        simultaneous : bool
            A band that covers all points, or all bins, at once with probability `level`.
        bins : {"fixed", "chosen"}
            Whether a bootstrap keeps the bins, or chooses them anew in each replicate, by the effect's own scheme.
        replicates, seed, threads : int
            Of the bootstrap; threads change no number.
        source : {"rows", "moments"}, optional
            What a bootstrap draws from; by default rows, if all are kept.

        Returns
        -------
        lower, upper : ndarray of float, shape (m,); (K,) of bins, () of a scalar
            NaN where there is no variance, as in a bin of one row: zero would be a claim.

        Raises
        ------
        DataError
            For a level outside (0, 1), fewer than two replicates, and other wrong arguments.
        UnsupportedError
            For what an effect does not have, and for a mean without its heterogeneity.

        Notes
        -----
        The estimand is the mean of the local effects within the bins as they are: what binning itself changes, and the
        error of the model, are not in it. How they are made: `skedasis.results.intervals.analytic`. No model row.
        """
        from skedasis.results.intervals.analytic import Asked, interval

        asked = Asked(level, method, of, simultaneous, bins, replicates, seed, threads, source)
        return interval(self, asked)

    def resampled(
        self, counts: Any, of: Literal["value", "bins", "importance"] = "value"
    ) -> Floats:
        """Return the effect with its rows counted otherwise, (R, m): see `results.intervals.interval.resampled`."""
        from skedasis.results.intervals.analytic import resampled

        return resampled(self, counts, of)

    def trust(
        self, level: float = 0.95, *, X: Any = None, beside: Effect | None = None, seed: int = 0
    ) -> Trust:
        """Return what there is to object to the curve, as sentences; see `skedasis.results.checks.reliability.trust`.

        With X, what was explained, rows that the method made up are compared with the data. `beside` is another
        method's effect of the same feature.
        """
        from skedasis.results.checks.reliability import trust

        return trust(self, level, X=X, beside=beside, seed=seed)

    def split(self, *, seed: int = 0) -> Split:
        """Split the variance within the bins by RHALE Theorem 1; see `results/checks/variance_decomposition.py`."""
        from skedasis.results.checks.variance_decomposition import split

        return split(self, seed=seed)

    def heterogeneity_test(
        self, level: float = 0.95, above: float | None = None
    ) -> HeterogeneityTest:
        """Test whether the heterogeneity score is above a threshold, by default above rounding errors.

        Parameters
        ----------
        level : float
            Confidence of the verdict and of the lower bound, between 0 and 1.
        above : float, optional
            Threshold, in units of the quantity; by default 1e-6 standard deviations of the quantity.

        Returns
        -------
        HeterogeneityTest
            See `skedasis.results.checks.heterogeneity_test.heterogeneity_test` for the method and an example.

        Raises
        ------
        DataError
            For a level outside (0, 1), or a threshold that is negative or not a finite number.
        UnsupportedError
            For an effect without a heterogeneity score.
        """
        from skedasis.results.checks.heterogeneity_test import heterogeneity_test

        return heterogeneity_test(self, level, above)

    def rebin(self, bins: Binning | int) -> Effect:
        """Return the effect on other bins, from what is kept.

        Parameters
        ----------
        bins : Binning or int
            Any scheme where local effects are slopes, and for M-plots. Differences, of ALE and of step functions,
            belong to their cells: bins are then unions of these, and where the curve stands on all cells (RHALE of step
            functions, few values) it stays as it is. The spread of the rows' rises across other bins is then not
            known: NaN, and the provenance names the call that computes it. The steps between the levels of an ordinal
            feature are grouped again by `Optimal` and `Greedy`.

        Returns
        -------
        Effect
            A new one; this one is unchanged.

        Raises
        ------
        UnsupportedError
            For PDP and ICE, for nominal features, and where ALE's cells would have to be cut.

        Notes
        -----
        No model row. If only a sample of the rows was kept, bins are unions of the fine cells whose moments rest on all
        rows, edges moved to the nearest fine edge, and the provenance says so.

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
        from skedasis.results.build.rebin import rebinned

        return rebinned(self, bins)

    def rises(self, level: float = 0.95) -> tuple[Rise, ...]:
        """Return where the curves of a PDP or ICE stand high, and whether those of rows that really lie there do.

        Of an uncertainty it tells noise that belongs to the feature's values ("all" rows) from the model's surprise at
        rows put there from "elsewhere" (entropy_importance, sec. 4.1); see `results/checks/elevated_regions.py`.

        Raises
        ------
        UnsupportedError
            Without individual curves, for a categorical feature, and for slopes.
        """
        from skedasis.results.checks.elevated_regions import rises

        return rises(self, level)

    def to_frame(
        self,
        backend: str | None = None,
        *,
        of: Literal["effect", "bins", "curves", "missing"] = "effect",
    ) -> Any:
        """Return the numbers as a data frame.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars", "pyarrow"; by default the library of X, for NumPy the first that is installed.
        of : {"effect", "bins", "curves", "missing"}
            One row a point of `x`, a bin, or a point of an individual curve; the one of missing values.

        Raises
        ------
        UnsupportedError
            Where no data frame library is installed, or there are no bins, curves or missing values.
        """
        from skedasis.results.frames import frame, table_of

        return frame(table_of(self, of), backend or self.about.library)

    def plot(self, ax: Axes | None = None, **options: Any) -> Any:
        """Draw the effect.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Draw only the main panel, there. By default a figure with all panels is made.
        **options
            Of `skedasis.plots.mpl.effect.draw`.

        Returns
        -------
        matplotlib Figure
        """
        from skedasis.plots.mpl.effect import draw

        return draw(self, ax=ax, **options)

    def save(self, path: str | Path) -> None:
        """Write the result into a file that `skedasis.load` reads: arrays and a JSON header, no code."""
        from skedasis.results.io import save

        save(self, path)

    def with_provenance(self, provenance: Json) -> Effect:
        """Return the same effect with more said about how it was made."""
        return replace(self, provenance={**self.provenance, **provenance})
