"""PDP and ICE: numeric features, categorical features, pairs, and the exact grid of step functions.

Every row is evaluated with the feature set to each point of a grid, all other features unchanged. A row's values are
its ICE curve (entropy_importance Eq. 4; Goldstein et al. 2015), their mean over rows is the PDP (Eq. 3; Friedman 2001).
If features are correlated, the model is evaluated far from the data (extrapolation).

For a categorical feature the grid is its observed levels, for two features a product grid. For tree ensembles, which
are step functions, `exact_grid` has points on both sides of every jump.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from skedasis._arguments import check_flag, check_int, check_option, is_int, is_number, shown
from skedasis._calls import checked_call
from skedasis._numbers import percent
from skedasis._types import Bools, Center, Floats, Ints, Level, Values
from skedasis.binning import auto_edges
from skedasis.data.categories import LevelColumn, unknown_level
from skedasis.data.column_stats import MANY_FEW, Column, NotYetKnown
from skedasis.data.features import Feature
from skedasis.errors import DataError, UnsupportedError
from skedasis.methods.ale_categorical import LevelPlan, LevelVariant
from skedasis.methods.ale_pairs import (
    PairPlan,
    PairVariant,
    SideColumn,
    kept_pair_rows,
    numeric_side,
)
from skedasis.methods.base import ByFeature, ColumnPair, NumericMethod, param_for_feature
from skedasis.methods.plans import BatchStats, GridPlan, kept_rows, select_row_ids, select_rows
from skedasis.models.adapters import DerivativeInfo
from skedasis.quantities.evaluator import BatchEvaluator
from skedasis.results.axis import LevelAxis, NumericAxis
from skedasis.results.build.pdp import (
    partial_dependence,
    partial_dependence_surface,
    spread_of_curves,
)
from skedasis.results.effect import About, Curves, Effect
from skedasis.results.surface import Surface
from skedasis.stats.grid import EXACT_STEP_GRID, Grid, distinct, uniform_edges, width_weights
from skedasis.stats.moments import Moments, WeightKind, blocks_of_points, dot

# --- exact grid of step functions -----------------------------------------------------------------


EXACT = "exact"


def exact_grid(column: Column, derivative_info: DerivativeInfo, method: str) -> Grid:
    """Return the ends of the data range and, for each jump between them, the last float before and the first after it.

    Interpolated linearly between these points, a curve is the step function itself: constant, or a jump between two
    adjacent floats. Its mean over the axis weights each step by its width.
    """
    jumps = derivative_info.jumps()
    if jumps is None:
        raise UnsupportedError(
            f"{method}(grid='exact') of {column.feature.name!r}",
            "a quantity whose jumps are not known",
            "a tree ensemble of scikit-learn, LightGBM or XGBoost evaluated from its trees, and a numeric feature",
            "Use grid=50",
        )
    low, high = column.low, column.high
    inside = jumps[(jumps >= low) & (jumps < high)]
    after = np.nextafter(inside, np.inf)
    points = np.unique(np.concatenate([[low], inside, after, [high]]))
    return Grid(points, EXACT_STEP_GRID, width_weights(points))


# --- moments of curves ----------------------------------------------------------------------------


SHOWN, SPREAD, AXIS = "shown", "spread", "axis"
"""Keys of the moments of the curves as the method shows them, of those centred over the data, and of the feature."""


def curve_moments(
    curves: Floats,
    weights: Floats | None,
    center: Center,
    anchor: int | None = None,
    point_weights: Floats | None = None,
    shares: Floats | None = None,
) -> tuple[dict[str, Moments], Floats]:
    """Return the moments of the curves to show and of the curves centred over the data, and the curves to show.

    `curves`, (m, n), have a row for each point of the grid and a column for each row of X. Curves to show are centred
    as `center` says, or zero at the point with the index `anchor`. `point_weights`, (m,), are those of the points in
    the mean of a curve to show, and `shares`, (m,), the fraction of the data at each point; None: equal ones.
    """
    # Subtract the value at one point first: the mean of a constant curve and its deviations are then exactly zero.
    start = curves[0 if anchor is None else anchor].copy()
    spread = Moments.of_curves(curves, weights, start + _mean(curves, start, shares))
    # Without centring, the variance of the raw curves gives the standard error of their mean.
    if anchor is not None or center is not None:
        curves = curves - start
    if anchor is None and center == "mean":
        curves -= _mean(curves, np.zeros(1), point_weights)
    return {SHOWN: Moments.of_curves(curves, weights), SPREAD: spread}, curves


def _mean(curves: Floats, start: Floats, point_weights: Floats | None) -> Floats:
    """Return the weighted means over the points of curves (m, n) minus their values at one point (n,)."""
    m, n = curves.shape
    weights = np.full(m, 1 / m) if point_weights is None else point_weights
    mean, room = np.zeros(n), np.empty((0, n))
    for part in blocks_of_points(m, n):
        block = curves[part]
        room = room[: len(block)] if len(room) else np.empty(block.shape)
        np.subtract(block, start, out=room)
        # Not a matrix product, whose last digits depend on the number of threads.
        mean += np.einsum("m,mn->n", weights[part], room)
    return mean


_QUANTILES = 1024
"""Quantiles of a feature with many values that stand for its rows when curves are centred; of fewer rows, all."""


def _distribution(column: Column) -> tuple[Floats, Floats]:
    """Return values of a column and their weights, which stand for its rows."""
    values, weight = column.distinct(MANY_FEW), np.ones(min(_QUANTILES, len(column)))
    if values is not None:
        return values, column.value_weights(values)
    return column.order_statistics(2 * len(weight), np.arange(1, 2 * len(weight), 2)), weight


MOST_OUTSIDE = 0.25
"""With more of the rows outside the grid, the mean of a curve over the data is not known."""


def _outside(column: Column, points: Floats) -> float:
    """Return the fraction of the rows' weight outside the points."""
    at, weight = _distribution(column)
    return float(weight[(at < points[0]) | (at > points[-1])].sum() / weight.sum())


def grid_shares(column: Column, points: Floats) -> Floats:
    """Return the weights of the points, (m,), in the mean over the data of a curve that is linear between them."""
    at, weight = _distribution(column)
    after = np.clip(np.searchsorted(points, at, side="right"), 1, max(len(points) - 1, 1))
    before = np.minimum(after - 1, len(points) - 1)
    after = np.minimum(after, len(points) - 1)
    width = np.where(after > before, points[after] - points[before], 1.0)
    fraction = np.clip((at - points[before]) / width, 0.0, 1.0) * (after > before)
    place, parts = np.concatenate([before, after]), np.concatenate([1 - fraction, fraction])
    return np.bincount(place, np.tile(weight, 2) * parts, len(points)) / weight.sum()


def mean_moments(
    total: Floats,
    evaluator: BatchEvaluator,
    center: Center,
    anchor: int | None = None,
    point_weights: Floats | None = None,
) -> dict[str, Moments]:
    """Return the moments of the curves to show from sums of the curves over the rows; their variances are NaN.

    `total`, (m,), are weighted sums over the batch's rows. The others are as in `curve_moments`.
    """
    m, n, w = len(total), len(evaluator), evaluator.weights
    weight = float(n) if w is None else float(w.sum())
    weight2 = float(n) if w is None else float(dot(w, w))
    mean = total / weight
    if anchor is not None or center is not None:
        mean = mean - mean[0 if anchor is None else anchor]
    if center == "mean" and anchor is None:
        mean = mean - (mean.mean() if point_weights is None else point_weights @ mean)
    sizes = np.full(m, float(n)), np.full(m, weight), np.full(m, weight2)
    return {SHOWN: Moments(*sizes, mean, np.full(m, np.nan))}


def axis_moments(grid: Grid, x: Floats, weights: Floats | None, *, missing: bool) -> Moments:
    """Return the moments of a feature in the m + 1 cells between and outside the m points of a grid."""
    if missing:
        present = ~np.isnan(x)
        x, weights = x[present], None if weights is None else weights[present]
    return Moments.of(x, grid.locate(x), len(grid) + 1, weights)


# --- numeric features -----------------------------------------------------------------------------


N_POINTS = 50
"""Default number of points of a grid."""

GridPoints: TypeAlias = int | str | Sequence[Level] | Values | None
"""A grid as the user gives it: a number of points, the points or levels, or "exact"."""


@checked_call
@dataclass(frozen=True)
class PDP(NumericMethod[GridPlan]):
    """Partial dependence: the mean over rows, with the feature set to each value of a grid.

    Parameters
    ----------
    grid : int, array_like, mapping or None
        A number of points (None: 50; 20 for each of two features); an array of points for all features; a mapping
        ``{"feature": array}`` (other features then get the default number); or "exact", for tree ensembles: all their
        jumps, so that the curve is the step function itself. Unless points are given, the grid of a feature with few
        values is its values (at most 13, or at most 64 if they are integers or if there are on average at least ten
        rows per value), and that of a categorical feature its observed levels. For a time axis, pass dates, times or
        durations.
    ice : int or "all"
        Number of ICE curves to keep with the result: a seeded sample of the rows. The mean is over all rows.
    center : {"mean", "start", None}
        Subtract from each curve its unweighted mean over the grid, or its value at the left end.
    percentiles : (float, float), optional
        The feature's percentiles between which a grid with a given number of points lies. By default all values for
        ``spacing="auto"``, else, and for two features, the percentiles 5 to 95.
    spacing : {"auto", "uniform", "quantile"}
        How a given number of points is chosen. "auto": half of them are quantiles from the smallest to the largest
        value, with the ends of gaps and the values that many rows have; the others are equidistant over the percentiles
        5 to 95, none within a gap. "uniform": equidistant. "quantile": quantiles. For a column of whole numbers and for
        times, the points are observed values in all cases, so that the model gets the column's own type.
    anchor : value or mapping, optional
        c-ICE: subtract from each curve its value at this value of the feature; ``{"feature": value}`` sets it for each
        feature.
    derivative : bool
        d-ICE and its mean: the slopes of the curves. Exact if the model has slopes (m N slope rows instead of m N model
        rows), else second-order differences along the grid.
    top_levels : int, optional
        For a categorical feature, the number of most frequent levels to use.
    heterogeneity : bool
        False computes the mean only: no curves are kept, and heterogeneity and standard errors are NaN. For sums of
        trees the mean is then computed from row counts, about ten times as fast as from curves.

    Notes
    -----
    Costs m N model rows per feature for m points (and N for an anchor), m0 m1 N for two features. Memory does not grow
    with N. `heterogeneity` is the standard deviation over rows (ddof 1) of the curves, each minus its own mean over the
    data, whatever `center` and `anchor` are: a point of the grid has the weight of the rows at it, and of half of those
    between it and each neighbour. Slopes need no centring: their heterogeneity is the standard deviation of the slopes.

    References
    ----------
    entropy_importance Eq. 3 and 4; Friedman (2001), Annals of Statistics 29.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(size=(100, 2))
    >>> e = sd.explain(lambda X: X[:, 0] * 3, X, 0, method=sd.PDP(grid=[0.0, 0.5, 1.0]))
    >>> e.value
    array([0. , 1.5, 3. ])
    """

    grid: GridPoints | ByFeature[GridPoints] = None
    ice: int | Literal["all"] = 200
    center: Center = None
    percentiles: tuple[float, float] | None = None
    spacing: Literal["auto", "uniform", "quantile"] = "auto"
    anchor: Level | ByFeature[Level] | None = None
    derivative: bool = False
    top_levels: int | None = None
    heterogeneity: bool = True

    of_rows = "curves"
    by_feature = ("grid", "anchor")
    cheaper = (
        "sd.ALE(), which needs two model rows for each row and feature; fewer points (grid=10); fewer features; or a "
        "sample of the rows"
    )

    @property
    def uses_slopes(self) -> bool:
        """Return whether derivatives or jumps are needed."""
        return self.derivative or self._exact

    @property
    def _exact(self) -> bool:
        grids = self.grid.values() if isinstance(self.grid, Mapping) else [self.grid]
        return any(isinstance(g, str) and g == EXACT for g in grids)

    @property
    def means_only(self) -> bool:
        """Return whether only means over rows are needed."""
        return not self.heterogeneity

    def __post_init__(self) -> None:
        self.check_no_model()
        if self.anchor is not None and (self.center is not None or self.derivative):
            raise DataError(
                f"{self.name}(anchor)",
                f"an anchor with center={self.center!r} and derivative={self.derivative}",
                "an anchor alone",
                "Leave center and derivative out, or leave anchor out",
            )
        check_option(f"{self.name}(center)", self.center, ("mean", "start", None))
        check_option(f"{self.name}(spacing)", self.spacing, ("auto", "uniform", "quantile"))
        if not (isinstance(self.ice, str) and self.ice == "all"):
            check_int(f"{self.name}(ice)", self.ice, 0, "Use 200", "a number of curves, or 'all'")
        check_flag(f"{self.name}(heterogeneity)", self.heterogeneity)
        check_flag(f"{self.name}(derivative)", self.derivative)
        if self.derivative and not self.heterogeneity:
            raise DataError(
                f"{self.name}(heterogeneity)",
                "False, with derivative=True",
                "heterogeneity=True, because slopes require the curves",
                "Leave heterogeneity out",
            )
        if self.percentiles is not None and not _are_percentiles(self.percentiles):
            raise DataError(
                f"{self.name}(percentiles)",
                shown(self.percentiles),
                "0 <= low < high <= 100, in percent",
                "Use (5, 95)",
            )
        self._check_grid()

    def _check_grid(self) -> None:
        grids = self.grid.values() if isinstance(self.grid, Mapping) else [self.grid]
        for grid in grids:
            if grid is not None and not _is_grid(grid):
                raise DataError(
                    f"{self.name}(grid)",
                    shown(grid),
                    "at least one finite point, or 'exact'",
                    "Use a number of points such as 50, or an array of values",
                )

    def is_explicit(self, feature: Feature) -> bool:
        grid = param_for_feature(self.grid, feature, None)
        return grid is not None and not is_int(grid) and _points(grid) is not None

    def for_levels(self, feature: Feature) -> LevelPDP:
        return LevelPDP(self)

    def substitute_for(self, feature: Feature) -> LevelPDP:
        """Return the variant for a categorical feature that was not named: a grid of numbers is for the others."""
        return LevelPDP(self, named=False)

    def for_pair(self, features: tuple[Feature, Feature]) -> PairPDP:
        return PairPDP(self)

    def plan(self, column: Column, derivative_info: DerivativeInfo) -> GridPlan:
        requested = param_for_feature(self.grid, column.feature, N_POINTS)
        exact = isinstance(requested, str)
        try:
            grid = (
                exact_grid(column, derivative_info, self.name)
                if exact
                else self.grid_of(column, N_POINTS)
            )
        except NotYetKnown:
            with suppress(NotYetKnown):  # so that one pass over the data answers both
                _distribution(column)
            raise
        notes = {"derivative": _slope_source(derivative_info, len(grid))} if self.derivative else {}
        if column.dtype.kind in "iu" and (grid.points % 1 != 0).any():
            notes["promoted"] = f"{column.dtype} to float64, for the points of the grid"
        shares = grid_shares(column, grid.points) if self.heterogeneity else None
        if shares is not None and (outside := _outside(column, grid.points)) > MOST_OUTSIDE:
            shares = None
            notes["spread"] = (
                f"was not computed: {percent(outside)} of the rows lie outside the grid"
            )
        return GridPlan(column.summary(), derivative_info, grid, notes, shares)

    def grid_of(self, column: Column, default: int) -> Grid:
        """Return the grid for a column, with `default` points unless `grid` specifies them.

        Raise `DataError` for points that are not numbers, `UnsupportedError` for the exact grid of two features.
        """
        requested = param_for_feature(self.grid, column.feature, default)
        requested = default if requested is None else requested
        if isinstance(requested, str):
            raise UnsupportedError(
                f"{self.name}(grid='exact') of two features",
                "a product grid of all jumps, which has millions of points",
                "points for each of the two features",
                "Use grid=20, or explain one feature",
            )
        if not isinstance(requested, (int, np.integer)):
            time = column.feature.time
            points = _points(requested)
            if time is not None:
                what = f"{self.name}(grid) of {column.feature.name!r}"
                points = time.days(requested, what).ravel()
            if points is None:
                raise DataError(
                    f"{self.name}(grid) of {column.feature.name!r}",
                    shown(requested),
                    "numbers",
                    'Pass a grid for each feature: grid={"age": [20, 40], "sex": ["f"]}',
                )
            return Grid(distinct(column.snap(points)), "given")
        # The values of a feature with few values, or with at most 64 integers.
        few = column.few_values()
        values = column.distinct(MANY_FEW) if few is None and column.integer else few
        if values is not None:
            return Grid(values, "the feature's own values")
        points, chosen = self._chosen_points(column, int(requested))
        # A column of whole numbers keeps its type, and the model sees numbers that occur: they may be codes.
        points = column.observed(points) if column.discrete else column.snap(points)
        return Grid(distinct(points), chosen)

    def _chosen_points(self, column: Column, count: int) -> tuple[Floats, str]:
        """Return about so many points, and how they were chosen.

        By default half of them are quantiles with the ends of gaps and values that many rows have (`auto_edges`), the
        others equidistant over the percentiles 5 to 95 without the gaps.
        """
        low, high = self.percentiles or (5.0, 95.0)
        ends = np.array([round(low * 1000), round(high * 1000)])
        if self.spacing == "quantile":
            steps = np.rint(np.linspace(ends[0], ends[1], count)).astype(int)
            return column.order_statistics(100_000, steps), "quantiles"
        if self.spacing == "auto" and count == 1:
            return column.order_statistics(2, np.array([1])), "the median"
        first, last = column.order_statistics(100_000, ends)
        chosen = f"equidistant between percentiles {low:g} and {high:g}"
        if first == last:  # nearly all rows have the same value
            first, last, chosen = column.low, column.high, "equidistant over the whole range"
        if self.spacing == "uniform":
            return uniform_edges(first, last, count - 1) if count > 1 else np.array([first]), chosen
        quantiles = auto_edges(column, count // 2)
        if self.percentiles is not None:
            quantiles = quantiles[(quantiles >= first) & (quantiles <= last)]
        between = count - len(quantiles)
        # A single point lies in the middle.
        uniform = np.linspace(first, last, max(between, 0) + 2 * (between == 1))
        uniform = uniform[1:2] if between == 1 else uniform
        for gap in column.gaps:
            uniform = uniform[(uniform <= gap.left) | (uniform >= gap.right)]
        return np.concatenate([quantiles, uniform]), f"quantiles, and {chosen}"

    def points_per_call(self, plans: Sequence[GridPlan]) -> int:
        """Return about ten points per call, dividing the largest grid into calls of nearly equal size.

        Batches then have about 10,000 rows: few enough that their curves stay in the processor's cache while they are
        averaged, many enough that the overhead of a batch is negligible.
        """
        points = max(len(p.grid) for p in plans)
        return -(-points // max(1, round(points / 10)))

    def grid_size(self, plans: Sequence[GridPlan]) -> int:
        return max(len(p.grid) for p in plans)

    def floats_per_row(self, plans: Sequence[GridPlan]) -> int:
        """Return the number of floats held per row: its curve and the anchor."""
        return max(len(p.grid) for p in plans) + 1 if self.heterogeneity else 2

    def n_rows_to_keep(self, rows: int) -> int:
        return rows if self.ice == "all" else min(self.ice, rows)

    def row_bytes(self, plan: GridPlan) -> int:
        """Return the bytes of a curve, the row's own value, its index and its weight."""
        return 8 * (len(plan.grid) * self.heterogeneity + 3)

    def compute(self, evaluator: BatchEvaluator, plan: GridPlan, keep: Bools | None) -> BatchStats:
        """Evaluate the curves on the grid, and return their moments at each point."""
        grid, j, weights = plan.grid, plan.column.feature.position, evaluator.weights
        points, anchor = self._points(plan)
        curves: dict[str, Floats] = {}
        if self.heterogeneity:
            shares = plan.shares
            if shares is not None and anchor is not None:
                shares = np.append(shares, 0.0)
            found = self._curves(evaluator, plan, points)
            moments, shown = curve_moments(
                found, weights, self.center, anchor, grid.weights, shares
            )
            curves = {"curve": shown.T[:, : len(grid)]}
        else:
            total = evaluator.sums({j: points}, len(points))
            moments = mean_moments(total, evaluator, self.center, anchor, grid.weights)
        if anchor is not None:  # remove the anchor, an additional point after those of the grid
            moments = {k: m.take(slice(0, len(grid))) for k, m in moments.items()}
        if self.derivative:
            moments[SPREAD] = moments[SHOWN]  # slopes need no centring
        x = evaluator.column(j)
        moments[AXIS] = axis_moments(grid, x, weights, missing=bool(plan.column.missing))
        kept = select_rows({"x": x, **curves, "weight": weights}, keep)
        rows = select_row_ids(evaluator, keep) if curves else None
        return BatchStats(moments, kept, row_id=rows)

    def _points(self, plan: GridPlan) -> tuple[Floats, int | None]:
        """Return the points to evaluate, and the index of the anchor, which follows those of the grid."""
        points = plan.grid.points
        anchor = param_for_feature(self.anchor, plan.column.feature, None)
        if anchor is None:
            return points, None
        time, what = plan.column.feature.time, f"{self.name}(anchor)"
        value = _number(anchor, self.name) if time is None else float(time.days(anchor, what))
        anchor_point = plan.column.snap(np.array([value]))
        return np.append(points, anchor_point), len(points)

    def _curves(self, evaluator: BatchEvaluator, plan: GridPlan, points: Floats) -> Floats:
        """Return the rows' curves at the points, (m, n), or their slopes."""
        j = plan.column.feature.position
        if self.derivative and plan.derivative_info.kind == "slopes":
            return evaluator.slopes_at(j, j, points).T
        if self.derivative and len(points) == 1:
            return np.zeros((1, len(evaluator)))
        curves = evaluator.sweep(j, points).T
        if not self.derivative:
            return curves
        return np.gradient(curves, points, axis=0, edge_order=2 if len(points) > 2 else 1)

    def finalize(
        self, plan: GridPlan, stats: BatchStats, about: About, *, exact: bool, kind: WeightKind
    ) -> Effect:
        anchored = param_for_feature(self.anchor, plan.column.feature, None) is not None
        spec = self.spec("anchor" if anchored else self.center, "none", kind)
        spec = replace(spec, derivative=self.derivative)
        m = stats.moments
        rows, curves = kept_rows(stats, exact=exact), kept_curves(stats, exact=exact)
        spread = None
        if plan.shares is not None:
            spread = spread_of_curves(m[SPREAD], plan.shares, spec)
        points = NumericAxis.of(about.feature, plan.grid.points)
        effect = partial_dependence(points, m[SHOWN], m[AXIS], spec, about, rows, curves, spread)
        return effect.with_provenance({"grid": plan.grid.description, **plan.notes})


@checked_call
@dataclass(frozen=True)
class ICE(PDP):
    """Individual conditional expectation: `PDP` that keeps the curve of every row (as far as `keep_rows` allows).

    Parameters, cost and errors are those of `PDP`. The curves are in `Effect.curves`.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.array([[0.0, 1.0], [1.0, 2.0]])
    >>> e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ICE(grid=[0.0, 1.0]))
    >>> e.curves.value
    array([[0., 1.],
           [0., 2.]])
    """

    ice: int | Literal["all"] = "all"


def kept_curves(stats: BatchStats, *, exact: bool) -> Curves | None:
    """Return the kept rows' curves, or None if there are none."""
    r = stats.kept
    if "curve" not in r or stats.row_id is None:
        return None
    return Curves(r["curve"], r["x"], stats.row_id, r.get("weight"), exact)


def _slope_source(derivative_info: DerivativeInfo, points: int) -> str:
    """Return how the curves' slopes are computed, for the provenance."""
    if derivative_info.kind == "slopes":
        return derivative_info.description
    return "differences along the grid" if points > 1 else "none: there is one point only"


def _number(anchor: Level, method: str) -> float:
    points = None if isinstance(anchor, (bool, np.bool_)) else _points(anchor)
    if points is None or points.ndim or not np.isfinite(points):
        raise DataError(
            f"{method}(anchor)",
            shown(anchor),
            "a finite number",
            "Pass a value of the feature",
        )
    return float(points)


def _are_percentiles(given: object) -> bool:
    """Return whether a value is two percentiles, in percent: (0.05, 0.95) are fractions."""
    if not isinstance(given, (tuple, list)) or len(given) != 2 or not all(map(is_number, given)):
        return False
    low, high = given
    return bool(0 <= low < high <= 100 and high > 1)


def _is_grid(grid: GridPoints) -> bool:
    """Return whether a value is a valid grid: a number of points, finite points, levels, or "exact"."""
    if isinstance(grid, (int, np.integer)) and not isinstance(grid, bool):
        return bool(grid >= 1)
    if isinstance(grid, (str, bool)):
        return grid == EXACT
    points = _points(grid)
    if points is None:  # levels, which are checked when the feature is known
        return isinstance(grid, Sized) and len(grid) > 0
    return points.ndim == 1 and len(points) > 0 and bool(np.isfinite(points).all())


def _points(grid: GridPoints | Level) -> Floats | None:
    """Return numeric points as an array, None for anything else."""
    try:
        if np.asarray(grid).dtype.kind in "mM":  # as floats, times would be counts of their unit
            return None
        return np.asarray(grid, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return None


# --- categorical features -------------------------------------------------------------------------


@dataclass(frozen=True)
class LevelPDP(LevelVariant[PDP]):
    """The PDP or ICE of a categorical feature, at its observed levels."""

    named: bool = True

    of_rows = "curves"

    def plan(self, column: LevelColumn, derivative_info: DerivativeInfo) -> LevelPlan:
        """Choose the levels: all observed levels, unless `grid` lists some."""
        if self.base.derivative:
            raise UnsupportedError(
                f"{self.name}(derivative=True) of {column.feature.name!r}",
                f"a{'n' * (column.feature.kind == 'ordinal')} {column.feature.kind} feature",
                "a numeric feature",
                "Leave derivative out",
            )
        requested = param_for_feature(self.base.grid, column.feature, None)
        is_exact = isinstance(requested, str) and requested == EXACT
        if (
            requested is None
            or is_exact  # the observed levels are all possible values
            or isinstance(requested, (int, np.integer))
            or self._is_for_numeric(column, requested)
        ):
            return LevelPlan.of(column, np.arange(len(column.levels)), "the observed levels")
        return LevelPlan.of(column, _requested_levels(column, list(requested), self.name), "given")

    def _is_for_numeric(
        self, column: LevelColumn, requested: str | Sequence[Level] | Values
    ) -> bool:
        """Return whether a grid for all features is one of numbers, none of which is a level of this feature."""
        if self.named:
            return False
        are_numbers = np.asarray(requested).dtype.kind in "iuf"
        any_level = any(column.levels.named(v) >= 0 for v in list(requested))
        return are_numbers and not any_level and not isinstance(self.base.grid, Mapping)

    def points_per_call(self, plans: Sequence[LevelPlan]) -> int:
        return min(max(len(p) for p in plans), 10)

    def grid_size(self, plans: Sequence[LevelPlan]) -> int:
        return max(len(p) for p in plans)

    def floats_per_row(self, plans: Sequence[LevelPlan]) -> int:
        """Return the number of floats held per row: its curve."""
        return max(len(p) for p in plans) if not self.means_only else 2

    @property
    def means_only(self) -> bool:
        """Return whether only means over rows are needed."""
        return self.base.means_only

    def n_rows_to_keep(self, rows: int) -> int:
        return self.base.n_rows_to_keep(rows)

    def row_bytes(self, plan: LevelPlan) -> int:
        """Return the bytes of a curve, the row's own level, its index and its weight."""
        return 8 * (len(plan) + 3)

    def compute(self, evaluator: BatchEvaluator, plan: LevelPlan, keep: Bools | None) -> BatchStats:
        size, anchor, center = len(plan), self._anchor(plan), self.base.center
        changes, weights = plan.changes(np.arange(size)), evaluator.weights
        kept = {"x": plan.values(evaluator), "weight": weights}
        if self.means_only:
            means = mean_moments(evaluator.sums(changes, size), evaluator, center, anchor)
            return BatchStats(means, select_rows(kept, keep))
        curves, shares = evaluator.sweep_together(changes, size).T, plan.stats.share
        moments, shown = curve_moments(curves, weights, center, anchor, shares=shares)
        rows = select_rows({**kept, "curve": shown.T}, keep)
        return BatchStats(moments, rows, row_id=select_row_ids(evaluator, keep))

    def _anchor(self, plan: LevelPlan) -> int | None:
        """Return the position of the anchor level, None without an anchor."""
        anchor = param_for_feature(self.base.anchor, plan.column.feature, None)
        if anchor is None:
            return None
        position = plan.places[plan.column.levels.named(anchor)]
        if position < 0:
            levels, fix = plan.stats, "Name a level that is shown"
            raise unknown_level(f"{self.name}(anchor)", anchor, levels.values, levels.labels, fix)
        return int(position)

    def finalize(
        self, plan: LevelPlan, stats: BatchStats, about: About, *, exact: bool, kind: WeightKind
    ) -> Effect:
        anchored = self._anchor(plan) is not None
        spec = self.spec("anchor" if anchored else self.base.center, "none", kind)
        rows, curves = kept_rows(stats, exact=exact), kept_curves(stats, exact=exact)
        m = stats.moments
        spread = None if SPREAD not in m else spread_of_curves(m[SPREAD], plan.stats.share, spec)
        levels = LevelAxis(plan.stats)
        effect = partial_dependence(levels, m[SHOWN], None, spec, about, rows, curves, spread)
        notes = {"grid": plan.chosen, "rows_outside": plan.column.n_other, **plan.notes}
        return effect.with_provenance(notes)


def _requested_levels(column: LevelColumn, requested: list[Hashable], method: str) -> Ints:
    """Return the codes of the requested levels; raise unless they are distinct observed levels."""
    levels, name = column.levels, column.feature.name
    what, fix = f"{method}(grid) of {name!r}", "Name each level once"
    codes = np.array([levels.named(v) for v in requested], dtype=np.int64)
    absent = [v for v, code in zip(requested, codes, strict=True) if code < 0]
    if absent:
        if np.asarray(requested).dtype.kind in "iuf":
            known = next((v for v in levels.values if v is not None), None)
            fix = f"Pass a grid for each feature, such as grid={{{name!r}: [{known!r}]}}, or the number of points"
        raise unknown_level(what, absent[0], levels.values, levels.labels, fix)
    if len(codes) == 0 or len(np.unique(codes)) < len(codes):
        expected = f"some of the observed levels {list(levels.labels)[:6]}"
        raise DataError(what, "no level, or a level twice", expected, fix)
    return codes


# --- two features ---------------------------------------------------------------------------------


N_POINTS_OF_PAIRS = 20
"""Default number of points for each of two features."""


@dataclass(frozen=True, eq=False)
class PairGrid(PairPlan):
    """Plan of the PDP of two features: a product grid."""

    @property
    def size(self) -> int:
        """Return the number of points."""
        return self.axes[0].n_nodes * self.axes[1].n_nodes


@dataclass(frozen=True)
class PairPDP(PairVariant[PDP, PairGrid]):
    """The PDP of two features: the mean over rows with both set to each point of a product grid."""

    leaves_out_missing = False

    def plan(
        self, columns: ColumnPair, derivative_info: tuple[DerivativeInfo, DerivativeInfo]
    ) -> PairGrid:
        base = self.base
        if base.derivative or base.anchor is not None or base.center == "start":
            keyword, value = ("derivative", True) if base.derivative else ("anchor", base.anchor)
            if base.center == "start":
                keyword, value = "center", base.center
            raise UnsupportedError(
                f"{self.name} of two features",
                f"{keyword}={value!r}",
                "center=None or 'mean', without derivative and anchor",
                f"Leave {keyword} out, or explain one feature",
            )
        # The corners of a grid up to the extremes of both features are far from the data.
        inner = base if base.percentiles else replace(base, percentiles=(5.0, 95.0))
        sides: list[SideColumn] = []
        for column, own in zip(columns, derivative_info, strict=True):
            if isinstance(column, LevelColumn):
                sides.append(base.for_levels(column.feature).plan(column, own))
            else:
                sides.append(numeric_side(inner.grid_of(column, N_POINTS_OF_PAIRS), column))
        return PairGrid((sides[0], sides[1]), derivative_info, {"grid": [s.chosen for s in sides]})

    def points_per_call(self, plans: Sequence[PairGrid]) -> int:
        """Return about ten points per call, as for one feature."""
        points = max(p.size for p in plans)
        return -(-points // max(1, round(points / 10)))

    def grid_size(self, plans: Sequence[PairGrid]) -> int:
        return max(p.size for p in plans)

    def floats_per_row(self, plans: Sequence[PairGrid]) -> int:
        """Return the number of floats held per row: its values on the product grid."""
        return max(p.size for p in plans)

    def row_bytes(self, plan: PairGrid) -> int:
        """Return the bytes of two values, a weight and, if all individual surfaces are kept, the row's surface."""
        return 24 + 8 * plan.size * self._keeps_surfaces

    @property
    def _keeps_surfaces(self) -> bool:
        """Return whether the rows' individual surfaces are kept: for ``ice="all"`` only."""
        return self.base.ice == "all" and not self.base.means_only

    def compute(self, evaluator: BatchEvaluator, plan: PairGrid, keep: Bools | None) -> BatchStats:
        """Evaluate the product grid, and return the moments at each point."""
        first, second = plan.sides
        i, j = np.divmod(np.arange(plan.size), second.side.n_nodes)
        changes = {**first.changes(i), **second.changes(j)}
        if self.base.means_only:
            total = evaluator.sums(changes, plan.size)
            moments, shown = mean_moments(total, evaluator, self.base.center), None
        else:
            values = evaluator.sweep_together(changes, plan.size).T
            moments, shown = curve_moments(values, evaluator.weights, self.base.center)
        kept = {"across": shown.T} if shown is not None and self._keeps_surfaces else {}
        x0, x1 = first.values(evaluator), second.values(evaluator)
        return BatchStats(
            moments,
            select_rows({"x0": x0, "x1": x1, "weight": evaluator.weights, **kept}, keep),
        )

    def finalize(
        self,
        plan: PairGrid,
        stats: BatchStats,
        about: tuple[About, About],
        *,
        exact: bool,
        kind: WeightKind,
    ) -> Surface:
        spec = self.spec(self.base.center, "none", kind)
        rows = kept_pair_rows(stats, exact=exact)
        m = stats.moments
        surface = partial_dependence_surface(plan.axes, m[SHOWN], m.get(SPREAD), spec, about, rows)
        return surface.with_provenance({**plan.notes})
