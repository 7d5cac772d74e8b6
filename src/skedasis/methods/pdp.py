"""PDP and ICE: numeric features, categorical features, pairs, and the exact grid of step functions.

Every row is evaluated with the feature set to each point of a grid, everything else as it is. A row's values are its
ICE curve (entropy_importance Eq. 4), their mean over rows is the PDP (Eq. 3). Where features are correlated, rows are
moved to places where no data lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from skedasis._types import Bools, Center, Floats, Ints, Json
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import MANY_FEW, Column
from skedasis.data.features import Feature, find
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.methods.ale_categorical import LevelPlan
from skedasis.methods.ale_pairs import SideColumn, places_of, side_of
from skedasis.methods.base import Bound, Form, Local, Parameters, Plan, chosen, given_for, one_of
from skedasis.models.adapters import Traits
from skedasis.results.build.pdp import depend, depend_levels, depend_pair
from skedasis.results.effect import About, Curves, Effect, Rows, Spec
from skedasis.results.surface import PairRows, Surface
from skedasis.stats.grid import EVERY_JUMP, Grid, distinct, uniform_edges, widths_share
from skedasis.stats.moments import Moments, WeightKind

# ------------------------------------------------------------------------------------------
# The grid that misses nothing: on both sides of every jump of a piecewise constant quantity.


EXACT = "exact"


def exact_grid(column: Column, traits: Traits, method: str) -> Grid:
    """Return the ends of the data, and for each jump between them the last number before it and the first behind it.

    Between two points a curve is a line: level, or a jump from one number to the next. So what is drawn and evaluated
    is the step function itself. Its mean over the axis counts each step by its width.

    Parameters
    ----------
    column : Column
    traits : Traits
        With the quantity's jumps.
    method : str
        For the message.

    Raises
    ------
    UnsupportedError
        Where it is not known where the quantity jumps.
    """
    if traits.jumps is None:
        raise UnsupportedError(
            explained(
                f"{method}(grid='exact') of {column.feature.name!r}",
                "a quantity whose jumps are not known",
                "trees that are walked (scikit-learn, LightGBM, XGBoost), and a numeric feature",
                "Use grid=50",
            )
        )
    low, high = column.low, column.high
    inside = traits.jumps[(traits.jumps >= low) & (traits.jumps < high)]
    behind = np.nextafter(inside, np.inf)
    points = np.unique(np.concatenate([[low], inside, behind, [high]]))
    return Grid(points, EVERY_JUMP, widths_share(points))


# ------------------------------------------------------------------------------------------
# What PDP, ICE and their kin share: the moments of rows' curves over a grid, anchored or not.


RAW, ANCHORED, AXIS = "raw", "anchored", "axis"


def curve_moments(
    curves: Floats,
    weights: Floats | None,
    center: Center,
    anchor: int | None = None,
    share: Floats | None = None,
) -> tuple[dict[str, Moments], Floats]:
    """Return the moments of curves, of the anchored curves, and the curves as they are shown.

    Parameters
    ----------
    curves : ndarray of float, shape (m, n)
        One row a point of the grid, one column an instance.
    weights : ndarray of float, shape (n,), optional
    center : {"mean", "start", None}
        What is subtracted from the curves that are shown.
    anchor : int, optional
        The point at which curves are anchored instead.
    share : ndarray of float, shape (m,), optional
        What each point counts in the mean of a curve; None means alike.
    """
    # By way of one point: a curve that does not move then has a mean, and deviations, of exactly zero.
    anchored = curves - curves[0 if anchor is None else anchor]
    if center != "start" and anchor is None:
        anchored -= (np.full(len(curves), 1 / len(curves)) if share is None else share) @ anchored
    shown = curves if center is None and anchor is None else anchored
    moved = Moments.of_curves(anchored, weights)
    # Without centring the curves' own scatter gives the error of their mean.
    return {
        ANCHORED: moved,
        RAW: Moments.of_curves(curves, weights) if shown is curves else moved,
    }, shown


def mean_moments(
    total: Floats,
    bound: Bound,
    center: Center,
    anchor: int | None = None,
    share: Floats | None = None,
) -> dict[str, Moments]:
    """Return what `curve_moments` does where only the curves' sums over the rows are known: their spread is NaN.

    Parameters
    ----------
    total : ndarray of float, shape (m,)
        Weighted sums over the batch's rows.
    bound : Bound
    center, anchor, share
        As there.
    """
    m, n, w = len(total), len(bound), bound.weights
    weight = float(n) if w is None else float(w.sum())
    weight2 = float(n) if w is None else float(w @ w)
    raw = total / weight
    anchored = raw - raw[0 if anchor is None else anchor]
    if center != "start" and anchor is None:
        anchored = anchored - (anchored.mean() if share is None else share @ anchored)
    sizes = np.full(m, float(n)), np.full(m, weight), np.full(m, weight2)
    unknown = np.full(m, np.nan)
    moved = Moments(*sizes, anchored, unknown)
    plain = center is None and anchor is None
    return {ANCHORED: moved, RAW: Moments(*sizes, raw, unknown) if plain else moved}


def axis_moments(grid: Grid, x: Floats, weights: Floats | None, *, missing: bool) -> Moments:
    """Return the moments of a feature between the points of a grid and beyond them, (m + 1 cells)."""
    if missing:
        present = ~np.isnan(x)
        x, weights = x[present], None if weights is None else weights[present]
    return Moments.of(x, grid.locate(x), len(grid) + 1, weights)


# ------------------------------------------------------------------------------------------
# PDP and ICE: partial dependence (Friedman 2001) and individual conditional expectation (Goldstein et al. 2015).


N_POINTS = 50
"""Points of a grid where nothing is said."""


@dataclass(frozen=True)
class PDP(Parameters):
    """Partial dependence: the mean over rows, with the feature set to each value of a grid.

    Parameters
    ----------
    grid : int, array_like, mapping or None
        A number of points (None: 50, for each of two features 20); the points themselves, for all features or as
        ``{"feature": array}`` (others then get the usual number); or "exact", for trees: all their jumps, so that the
        curve is the step function itself. Unless points are given a feature with few values has its own: at most 13, or
        at most 64 of whole numbers or with ten rows or more a value; a categorical one has its observed levels. Points
        of dates, times and durations are such.
    ice : int or "all"
        How many individual curves to keep with the result: a seeded sample of the rows. The mean is over all rows.
    center : {"mean", "start", None}
        Subtract from each curve its unweighted mean over the grid, or its value at the left end.
    percentiles : (float, float)
        Between which of the feature's percentiles a grid of so many points lies.
    spacing : {"uniform", "quantile"}
        Equidistant points, or quantiles.
    anchor : value or mapping, optional
        c-ICE: subtract from each curve its value at this value of the feature (``{"feature": value}`` for several).
    derivative : bool
        d-ICE and its mean: the slopes of the curves. Exact where the model has slopes (m N slope rows instead of m N
        model rows), else second-order differences along the grid.
    top_levels : int, optional
        Of a categorical feature: only so many of the most frequent levels.
    heterogeneity : bool
        False asks for the mean alone: no curves are kept, and heterogeneity and standard errors are NaN. Of trees whose
        leaves are summed it is then counted, some ten times as fast as from the rows' curves.

    Notes
    -----
    m N model rows a feature for m points (one more for an anchor), m0 m1 N for two features. Memory does not grow with
    N. `heterogeneity` is the standard deviation over rows (ddof 1) of the curves minus their own anchor: the value at
    the left end for ``center="start"``, at `anchor` where one is given, else their mean over the grid. Slopes have no
    level that would have to be taken off: theirs is the standard deviation of the slopes themselves.

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

    grid: Any = None
    ice: int | Literal["all"] = 200
    center: Center = None
    percentiles: tuple[float, float] = (5.0, 95.0)
    spacing: Literal["uniform", "quantile"] = "uniform"
    anchor: Any = None
    derivative: bool = False
    top_levels: int | None = None
    heterogeneity: bool = True

    @property
    def uses_slopes(self) -> bool:
        """Return whether derivatives are asked for, or jumps."""
        return self.derivative or self._exact

    @property
    def _exact(self) -> bool:
        grids = self.grid.values() if isinstance(self.grid, Mapping) else [self.grid]
        return any(isinstance(g, str) and g == EXACT for g in grids)

    @property
    def scored(self) -> bool:
        """Return whether there is a heterogeneity score: unless the mean alone was asked for."""
        return self.heterogeneity

    @property
    def means_only(self) -> bool:
        """Return whether nothing but means over rows is asked for."""
        return not self.heterogeneity

    def __post_init__(self) -> None:
        if self.anchor is not None and (self.center is not None or self.derivative):
            raise DataError(
                explained(
                    f"{self.name}(anchor)",
                    f"center={self.center!r} and derivative={self.derivative} besides",
                    "an anchor alone",
                    "Leave the others out",
                )
            )
        one_of(f"{self.name}(center)", self.center, ("mean", "start", None))
        one_of(f"{self.name}(spacing)", self.spacing, ("uniform", "quantile"))
        if not (self.ice == "all" or (isinstance(self.ice, int) and self.ice >= 0)):
            raise DataError(
                explained(
                    f"{self.name}(ice)", repr(self.ice), "a number of curves, or 'all'", "Use 200"
                )
            )
        one_of(f"{self.name}(heterogeneity)", self.heterogeneity, (True, False))
        if self.derivative and not self.heterogeneity:
            raise DataError(
                explained(
                    f"{self.name}(heterogeneity)",
                    "False, with derivative=True",
                    "the curves, whose slopes are asked for",
                    "Leave heterogeneity out",
                )
            )
        low, high = self.percentiles
        if not 0 <= low < high <= 100 or high <= 1:
            raise DataError(
                explained(
                    f"{self.name}(percentiles)",
                    repr(self.percentiles),
                    "0 <= low < high <= 100, in percent",
                    "Use (5, 95)",
                )
            )
        self._check_grid()

    def _check_grid(self) -> None:
        grids = self.grid.values() if isinstance(self.grid, Mapping) else [self.grid]
        for grid in grids:
            if grid is not None and not _is_grid(grid):
                raise DataError(
                    explained(
                        f"{self.name}(grid)",
                        f"{grid!r}"[:60],
                        "at least one finite point, or 'exact'",
                        "Use a number such as 50, or an array of values",
                    )
                )

    def check(self, features: Sequence[Feature]) -> None:
        """Refuse a grid, or an anchor, for a feature that is not there."""
        for given in (self.grid, self.anchor):
            for name in given if isinstance(given, Mapping) else ():
                find(features, name)

    def for_feature(self, feature: Feature) -> Any:
        """Return the method as it is for a feature; points on the axis of an ordinal one win."""
        grid = given_for(self.grid, feature, None)
        counted = grid is None or isinstance(grid, (int, np.integer))
        if (
            feature.kind == "ordinal"
            and feature.numeric
            and not counted
            and _points(grid) is not None
        ):
            return self
        return super().for_feature(feature)

    def for_levels(self, feature: Feature) -> LevelPDP:
        """Return the same for a categorical feature."""
        return LevelPDP(self)

    def for_pair(self, features: tuple[Feature, Feature]) -> PairPDP:
        """Return the same for two features."""
        return PairPDP(self)

    def plan(self, column: Column, traits: Traits) -> Plan:
        """Choose the grid."""
        wanted = given_for(self.grid, column.feature, N_POINTS)
        exact = isinstance(wanted, str)
        grid = exact_grid(column, traits, self.name) if exact else self.grid_of(column, N_POINTS)
        notes = {"derivative": _way(traits, len(grid))} if self.derivative else {}
        return Plan(column.summary(), traits, grid, notes)

    def grid_of(self, column: Column, usual: int) -> Grid:
        """Return the points for a column: `usual` of them, where nothing is said.

        Raises
        ------
        DataError
            For points that are no numbers.
        UnsupportedError
            For all jumps of two features.
        """
        wanted = given_for(self.grid, column.feature, usual)
        wanted = usual if wanted is None else wanted
        if isinstance(wanted, str):
            raise UnsupportedError(
                explained(
                    f"{self.name}(grid='exact') of two features",
                    "every pair of jumps, which are millions",
                    "points for each of the two",
                    "Use grid=20, or explain one feature",
                )
            )
        if not isinstance(wanted, (int, np.integer)):
            time = column.feature.time
            points = _points(wanted)
            if time is not None:
                points = time.days(wanted, f"{self.name}(grid) of {column.feature.name!r}").ravel()
            if points is None:
                raise DataError(
                    explained(
                        f"{self.name}(grid) of {column.feature.name!r}",
                        f"{wanted!r}"[:60],
                        "numbers",
                        'Give grids by feature: grid={"age": [20, 40], "sex": ["f"]}',
                    )
                )
            return Grid(distinct(column.snap(points)), "given")
        values = self._own_values(column)
        if values is not None:
            return Grid(values, "the feature's own values")
        low, high = self.percentiles
        ends = np.array([round(low * 1000), round(high * 1000)])
        if self.spacing == "quantile":
            steps = np.rint(np.linspace(ends[0], ends[1], int(wanted))).astype(int)
            return Grid(distinct(column.order_statistics(100_000, steps)), "quantiles")
        z = column.order_statistics(100_000, ends)
        said = f"equidistant between percentiles {low:g} and {high:g}"
        if z[0] == z[1]:  # one value has nearly all rows: the percentiles would show nothing else
            z, said = np.array([column.low, column.high]), "equidistant over the whole range"
        points = uniform_edges(z[0], z[1], int(wanted) - 1) if wanted > 1 else z[:1]
        return Grid(distinct(column.snap(points)), said)

    def _own_values(self, column: Column) -> Floats | None:
        """Return the values of a feature that has few, of whole numbers up to 64, and of one with an order."""
        if column.feature.kind == "ordinal":
            return column.distinct()
        few = column.few_values()
        return column.distinct(MANY_FEW) if few is None and column.integer else few

    def sets(self, plans: Sequence[Plan]) -> int:
        """Return about ten, a divisor of the largest grid where there is one.

        Batches are then some 10,000 rows: few enough that their curves stay in the cache while they are averaged, and
        many enough that setting up a batch costs nothing beside it.
        """
        points = max(len(p.grid) for p in plans)
        return -(-points // max(1, round(points / 10)))

    def swept(self, plans: Sequence[Plan]) -> int:
        """Return how many values a row is evaluated at, in as many calls as it takes."""
        return max(len(p.grid) for p in plans)

    def held(self, plans: Sequence[Plan]) -> int:
        """Return the length of a row's curve."""
        return max(len(p.grid) for p in plans) + 1 if self.heterogeneity else 2

    def rows_wanted(self, rows: int) -> int:
        """Return how many curves are to be kept."""
        return rows if self.ice == "all" else min(self.ice, rows)

    def row_bytes(self, plan: Plan) -> int:
        """Return the size of a curve, the row's own value, its place and perhaps its weight."""
        return 8 * (len(plan.grid) * self.heterogeneity + 3)

    def local(self, bound: Bound, plan: Plan, keep: Bools | None) -> Local:
        """Sweep the grid, and gather the curves point by point."""
        grid, j = plan.grid, plan.column.feature.position
        if not self.heterogeneity:
            return self._means(bound, plan, keep)
        curves, anchor = self._curves(bound, plan)
        weights, x = bound.weights, bound.column(j)
        moments, shown = curve_moments(curves, weights, self.center, anchor, grid.share)
        if anchor is not None:  # it was one more point, and is none of the grid
            moments = {k: m.take(slice(0, len(grid))) for k, m in moments.items()}
            shown = shown[: len(grid)]
        if self.derivative and self.center is None:
            moments[ANCHORED] = moments[RAW]  # slopes have no level that would have to be taken off
        moments[AXIS] = axis_moments(grid, x, weights, missing=bool(plan.column.missing))
        kept = {"x": x, "row": bound.row_id, "curve": shown.T, "weight": weights}
        return Local(moments, chosen(kept, keep))

    def _means(self, bound: Bound, plan: Plan, keep: Bools | None) -> Local:
        """Sum over the rows, without their curves."""
        grid, j = plan.grid, plan.column.feature.position
        points, anchor = self._points(plan)
        total = bound.sums({j: points}, len(points))
        moments = mean_moments(total, bound, self.center, anchor, grid.share)
        moments = {k: m.take(slice(0, len(grid))) for k, m in moments.items()}
        x = bound.column(j)
        moments[AXIS] = axis_moments(grid, x, bound.weights, missing=bool(plan.column.missing))
        kept = {"x": x, "row": bound.row_id, "weight": bound.weights}
        return Local(moments, chosen(kept, keep))

    def _points(self, plan: Plan) -> tuple[Floats, int | None]:
        """Return the points, and the place of the anchor behind those of the grid."""
        points = plan.grid.points
        anchor = given_for(self.anchor, plan.column.feature, None)
        if anchor is None:
            return points, None
        time, what = plan.column.feature.time, f"{self.name}(anchor)"
        place = _number(anchor, self.name) if time is None else float(time.days(anchor, what))
        there = plan.column.snap(np.array([place]))
        return np.append(points, there), len(points)

    def _curves(self, bound: Bound, plan: Plan) -> tuple[Floats, int | None]:
        """Return the rows' curves (m, n), or their slopes, and the place of the anchor behind the grid's points."""
        j = plan.column.feature.position
        points, anchor = self._points(plan)
        if not self.derivative:
            return bound.sweep(j, points).T, anchor
        if plan.traits.local == "slopes":
            return bound.slope_sweep(j, points).T, None
        if len(points) == 1:
            return np.zeros((1, len(bound))), None
        curves = bound.sweep(j, points).T
        return np.gradient(curves, points, axis=0, edge_order=2 if len(points) > 2 else 1), None

    def read(
        self, plan: Plan, local: Local, about: About, *, exact: bool, kind: WeightKind
    ) -> Effect:
        """Average."""
        anchored = given_for(self.anchor, plan.column.feature, None) is not None
        spec = Spec(
            self.name,
            "anchor" if anchored else self.center,
            "none",
            weight_kind=kind,
            derivative=self.derivative,
            parameters=self.describe(),
        )
        m = local.moments
        r = local.kept
        rows = Rows(r["x"], None, r.get("weight"), exact) if r else None
        curved = "curve" in r
        curves = Curves(r["curve"], r["x"], r["row"], r.get("weight"), exact) if curved else None
        effect = depend(plan.grid, m[RAW], m[ANCHORED], m[AXIS], spec, about, rows, curves)
        return effect.with_provenance({"grid": plan.grid.chosen, **plan.notes})


@dataclass(frozen=True)
class ICE(PDP):
    """Individual conditional expectation: `PDP` that keeps every row's curve (as far as `keep` allows).

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


def _way(traits: Traits, points: int) -> str:
    """Return how the curves' slopes are got, in words."""
    if traits.local == "slopes":
        return traits.source
    return "differences along the grid" if points > 1 else "none: there is one point only"


def _number(anchor: Any, method: str) -> float:
    points = _points(anchor)
    if points is None or points.ndim or not np.isfinite(points):
        raise DataError(
            explained(
                f"{method}(anchor)", repr(anchor)[:60], "a finite number", "Name a value of x"
            )
        )
    return float(points)


def _is_grid(grid: Any) -> bool:
    """Return whether something is a number of points, some finite points, or some levels."""
    if isinstance(grid, (int, np.integer)) and not isinstance(grid, bool):
        return bool(grid >= 1)
    if isinstance(grid, (str, bool)):
        return grid == EXACT
    points = _points(grid)
    if points is None:  # levels, which are known when the feature is
        return hasattr(grid, "__len__") and len(grid) > 0
    return points.ndim == 1 and len(points) > 0 and bool(np.isfinite(points).all())


def _points(grid: Any) -> Floats | None:
    """Return points that are numbers as an array, None for anything else."""
    try:
        if np.asarray(grid).dtype.kind in "mM":  # NumPy would count ticks
            return None
        return np.asarray(grid, dtype=float)
    except (TypeError, ValueError):
        return None


# ------------------------------------------------------------------------------------------
# PDP and ICE of categorical features: every row is given each of the observed levels.


@dataclass(frozen=True)
class LevelPDP(Form):
    """The PDP or ICE of a categorical feature, at its observed levels.

    Parameters
    ----------
    base : PDP
        The method as the user wrote it.
    """

    def plan(self, column: LevelColumn, traits: Any) -> LevelPlan:
        """Choose the levels: all that are observed, unless some are given."""
        if self.base.derivative:
            raise UnsupportedError(
                explained(
                    f"{self.name}(derivative=True) of {column.feature.name!r}",
                    f"a{'n' * (column.feature.kind == 'ordinal')} {column.feature.kind} feature",
                    "a numeric feature",
                    "Leave derivative out",
                )
            )
        asked = given_for(self.base.grid, column.feature, None)
        asked = (
            None if isinstance(asked, str) and asked == EXACT else asked
        )  # levels are all there is
        if asked is None or isinstance(asked, (int, np.integer)) or self._for_others(column, asked):
            return LevelPlan.of(column, np.arange(len(column.levels)), "the observed levels")
        return LevelPlan.of(column, _given(column, list(asked), self.name), "given")

    def _for_others(self, column: LevelColumn, asked: Any) -> bool:
        """Return whether a grid for all features is one of points, which this feature knows nothing of."""
        numbers = np.asarray(asked).dtype.kind in "iuf"
        known = any(column.levels.find(v) >= 0 for v in list(asked))
        return numbers and not known and not isinstance(self.base.grid, Mapping)

    def sets(self, plans: Sequence[LevelPlan]) -> int:
        """Return how many levels a row is given in one call."""
        return min(max(len(p) for p in plans), 10)

    def swept(self, plans: Sequence[LevelPlan]) -> int:
        """Return how many values a row is evaluated at, in as many calls as it takes."""
        return max(len(p) for p in plans)

    def held(self, plans: Sequence[LevelPlan]) -> int:
        """Return the length of a row's curve."""
        return max(len(p) for p in plans) if not self.means_only else 2

    @property
    def scored(self) -> bool:
        """Return whether there is a heterogeneity score: unless the mean alone was asked for."""
        return self.base.scored

    @property
    def means_only(self) -> bool:
        """Return whether nothing but means over rows is asked for."""
        return self.base.means_only

    def rows_wanted(self, rows: int) -> int:
        """Return how many curves are to be kept."""
        return self.base.rows_wanted(rows)

    def row_bytes(self, plan: LevelPlan) -> int:
        """Return the size of a curve, the row's own level, its place and perhaps its weight."""
        return 8 * (len(plan) + 3)

    def local(self, bound: Bound, plan: LevelPlan, keep: Bools | None) -> Local:
        """Give each row each level."""
        size = len(plan)
        if self.means_only:
            total = bound.sums(plan.changes(np.arange(size)), size)
            means = mean_moments(total, bound, self.base.center, self._anchor(plan))
            place = plan.at(bound).astype(float)
            place[place < 0] = np.nan
            return Local(means, chosen({"x": place, "weight": bound.weights}, keep))
        curves = bound.sweep_together(plan.changes(np.arange(size)), size).T
        anchor = self._anchor(plan)
        moments, shown = curve_moments(curves, bound.weights, self.base.center, anchor)
        place = plan.at(bound).astype(float)
        place[place < 0] = np.nan
        kept = {"x": place, "row": bound.row_id, "curve": shown.T, "weight": bound.weights}
        return Local(moments, chosen(kept, keep))

    def _anchor(self, plan: LevelPlan) -> int | None:
        """Return the place of the level at which curves are anchored."""
        anchor = given_for(self.base.anchor, plan.column.feature, None)
        if anchor is None:
            return None
        places = plan.places[plan.column.levels.find(anchor)]
        if places < 0:
            raise DataError(
                explained(
                    f"{self.name}(anchor)",
                    repr(anchor),
                    f"one of the levels {list(plan.stats.labels)[:6]}",
                    "Name one that is shown",
                )
            )
        return int(places)

    def read(
        self, plan: LevelPlan, local: Local, about: About, *, exact: bool, kind: WeightKind
    ) -> Effect:
        """Average."""
        anchored = self._anchor(plan) is not None
        spec = Spec(
            self.name,
            "anchor" if anchored else self.base.center,
            "none",
            weight_kind=kind,
            parameters=self.describe(),
        )
        r = local.kept
        rows = Rows(r["x"], None, r.get("weight"), exact) if r else None
        curved = "curve" in r
        curves = Curves(r["curve"], r["x"], r["row"], r.get("weight"), exact) if curved else None
        m = local.moments
        effect = depend_levels(plan.stats, m[RAW], m[ANCHORED], spec, about, rows, curves)
        said = {"grid": plan.chosen, "rows_outside": plan.column.outside, **plan.notes}
        return effect.with_provenance(said)


def _given(column: LevelColumn, asked: list[Any], method: str) -> Ints:
    places = np.array([column.levels.find(v) for v in asked], dtype=np.int64)
    absent = [v for v, p in zip(asked, places, strict=True) if p < 0]
    if absent or len(places) == 0 or len(np.unique(places)) < len(places):
        raise DataError(
            explained(
                f"{method}(grid) of {column.feature.name!r}",
                f"{absent[0]!r}, which no row has" if absent else "no level, or one twice",
                f"some of the observed levels {list(column.levels.labels)[:6]}",
                "Name each level once",
            )
        )
    return places


# ------------------------------------------------------------------------------------------
# PDP of two features: the mean over rows with both set to each point of a product grid.


N_POINTS_OF_PAIRS = 20
"""Points for each of two features, where nothing is said."""


@dataclass(frozen=True, eq=False)
class PairGrid:
    """The product grid.

    Parameters
    ----------
    sides : tuple of two SideColumn
    notes : dict
    """

    sides: tuple[SideColumn, SideColumn]
    notes: Json

    @property
    def size(self) -> int:
        """Return the number of points."""
        return self.sides[0].side.m * self.sides[1].side.m


@dataclass(frozen=True)
class PairPDP(Form):
    """The PDP of two features.

    Parameters
    ----------
    base : PDP
        The method as the user wrote it.
    """

    compares_missing = False
    leaves_out_missing = False

    def plan(self, columns: tuple[Any, Any], traits: Any) -> PairGrid:
        """Choose the grid of each feature."""
        base = self.base
        if base.derivative or base.anchor is not None or base.center == "start":
            got = "derivative=True" if base.derivative else f"anchor={base.anchor!r}"
            raise UnsupportedError(
                explained(
                    f"{self.name} of two features",
                    "center='start'" if base.center == "start" else got,
                    "center=None or 'mean'",
                    "Leave it out, or explain one feature",
                )
            )
        sides: list[SideColumn] = []
        for column in columns:
            if isinstance(column, LevelColumn):
                sides.append(side_of(base.for_levels(column.feature).plan(column, None)))
            else:
                sides.append(side_of(base.grid_of(column, N_POINTS_OF_PAIRS), column))
        return PairGrid((sides[0], sides[1]), {"grid": [s.chosen for s in sides]})

    def sets(self, plans: Sequence[PairGrid]) -> int:
        """Return about ten points a call, as for one feature."""
        points = max(p.size for p in plans)
        return -(-points // max(1, round(points / 10)))

    def swept(self, plans: Sequence[PairGrid]) -> int:
        """Return how many values a row is evaluated at, in as many calls as it takes."""
        return max(p.size for p in plans)

    def held(self, plans: Sequence[PairGrid]) -> int:
        """Return the length of a row's curve."""
        return max(p.size for p in plans)

    def row_bytes(self, plan: PairGrid) -> int:
        """Return the size of two values and a weight, and of a row's own surface where all are asked for."""
        return 24 + 8 * plan.size * self._keeps_curves

    @property
    def _keeps_curves(self) -> bool:
        """Return whether the rows' own surfaces are kept: all, or none, for a few of them say little."""
        return self.base.ice == "all" and not self.base.means_only

    def local(self, bound: Bound, plan: PairGrid, keep: Bools | None) -> Local:
        """Sweep the product grid."""
        first, second = plan.sides
        i, j = np.divmod(np.arange(plan.size), second.side.m)
        changes = {**first.changes(i), **second.changes(j)}
        if self.base.means_only:
            total = bound.sums(changes, plan.size)
            moments, shown = mean_moments(total, bound, self.base.center), None
        else:
            values = bound.sweep_together(changes, plan.size).T
            moments, shown = curve_moments(values, bound.weights, self.base.center)
        kept = {"across": shown.T} if shown is not None and self._keeps_curves else {}
        x0, x1 = places_of(bound, first), places_of(bound, second)
        return Local(
            {RAW: moments[RAW], ANCHORED: moments[ANCHORED]},
            chosen({"x0": x0, "x1": x1, "weight": bound.weights, **kept}, keep),
        )

    def read(
        self,
        plan: PairGrid,
        local: Local,
        about: tuple[About, About],
        *,
        exact: bool,
        kind: WeightKind,
    ) -> Surface:
        """Average."""
        spec = Spec(
            self.name, self.base.center, "none", weight_kind=kind, parameters=self.describe()
        )
        r = local.kept
        rows = None
        if r:
            across = r.get("across")
            rows = PairRows(r["x0"], r["x1"], None, r.get("weight"), exact, across=across)
        sides = (plan.sides[0].side, plan.sides[1].side)
        m = local.moments
        surface = depend_pair(sides, m[RAW], m[ANCHORED], spec, about, rows)
        return surface.with_provenance(plan.notes)
