"""PDP and ICE: partial dependence (Friedman 2001) and individual conditional expectation (Goldstein et al. 2015).

Every row is evaluated with the feature set to each point of a grid, everything else as it is. A row's values are its
ICE curve (entropy_importance Eq. 3), their mean over rows is the PDP (Eq. 4). Where features are correlated, rows are
moved to places where no data lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from skedasis.cells import Grid, distinct, uniform_edges
from skedasis.data.schema import Feature, find
from skedasis.data.summary import FEW, Column
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.methods.base import Bound, Local, Parameters, Plan, chosen, one_of
from skedasis.moments import Moments, WeightKind
from skedasis.quantity.base import Traits
from skedasis.results.dependence import depend
from skedasis.results.effect import Curves, Effect, Rows
from skedasis.results.spec import About, Spec
from skedasis.typing import Bools, Center, Floats

RAW, ANCHORED, AXIS = "raw", "anchored", "axis"


@dataclass(frozen=True)
class PDP(Parameters):
    """Partial dependence: the mean over rows, with the feature set to each value of a grid.

    Parameters
    ----------
    grid : int, array_like or mapping
        A number of points; the points themselves, for all features or as ``{"feature": array}`` (others then get 50). A
        feature with 13 distinct values or fewer, or declared ordinal, has its own values unless points are given.
    ice : int or "all"
        How many individual curves to keep with the result: a seeded sample of the rows. The mean is over all rows.
    center : {"mean", "start", None}
        Subtract from each curve its unweighted mean over the grid, or its value at the left end.
    percentiles : (float, float)
        Between which of the feature's percentiles a grid of so many points lies.
    spacing : {"uniform", "quantile"}
        Equidistant points, or quantiles.

    Notes
    -----
    m N model rows a feature for m points. Memory does not grow with N. `heterogeneity` is the standard deviation over
    rows (ddof 1) of the curves minus their own anchor: the value at the left end for ``center="start"``, else their
    mean over the grid.

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

    grid: Any = 50
    ice: int | Literal["all"] = 200
    center: Center = None
    percentiles: tuple[float, float] = (5.0, 95.0)
    spacing: Literal["uniform", "quantile"] = "uniform"

    uses_slopes = False

    def __post_init__(self) -> None:
        one_of(f"{self.name}(center)", self.center, ("mean", "start", None))
        one_of(f"{self.name}(spacing)", self.spacing, ("uniform", "quantile"))
        if not (self.ice == "all" or (isinstance(self.ice, int) and self.ice >= 0)):
            raise DataError(
                explained(
                    f"{self.name}(ice)", repr(self.ice), "a number of curves, or 'all'", "Use 200"
                )
            )
        low, high = self.percentiles
        if not 0 <= low < high <= 100:
            raise DataError(
                explained(
                    f"{self.name}(percentiles)",
                    repr(self.percentiles),
                    "0 <= low < high <= 100",
                    "Use (5, 95)",
                )
            )
        self._check_grid()

    def _check_grid(self) -> None:
        if isinstance(self.grid, str):
            raise UnsupportedError(
                explained(
                    f"{self.name}(grid)",
                    repr(self.grid),
                    "a number of points, an array or a mapping",
                    "Use grid=50",
                )
            )
        grids = self.grid.values() if isinstance(self.grid, Mapping) else [self.grid]
        for grid in grids:
            if isinstance(grid, (int, np.integer)) and not isinstance(grid, bool):
                valid = grid >= 1
            else:
                points = _points(grid)
                valid = (
                    points is not None
                    and points.ndim == 1
                    and len(points) > 0
                    and bool(np.isfinite(points).all())
                )
            if not valid:
                raise DataError(
                    explained(
                        f"{self.name}(grid)",
                        f"{grid!r}"[:60],
                        "at least one finite point",
                        "Use a number such as 50, or an array of values",
                    )
                )

    def check(self, features: Sequence[Feature]) -> None:
        """Refuse a grid for a feature that is not there."""
        if isinstance(self.grid, Mapping):
            for name in self.grid:
                find(features, name)

    def plan(self, column: Column, traits: Traits) -> Plan:
        """Choose the grid."""
        return Plan(column.summary(), traits, self._grid(column))

    def _grid(self, column: Column) -> Grid:
        wanted: Any = self.grid
        if isinstance(wanted, Mapping):
            names = (column.feature.label, column.feature.name)
            wanted = next((wanted[n] for n in names if n in wanted), 50)
        if not isinstance(wanted, (int, np.integer)):
            return Grid(distinct(column.snap(np.asarray(wanted, dtype=float))), "given")
        values = column.distinct(None if column.feature.kind == "ordinal" else FEW)
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

    def sets(self, plans: Mapping[int, Plan]) -> int:
        """Return about ten, a divisor of the largest grid where there is one.

        Batches are then some 10,000 rows: few enough that their curves stay in the cache while they are averaged, and
        many enough that setting up a batch costs nothing beside it.
        """
        points = max(len(p.grid) for p in plans.values())
        return -(-points // max(1, round(points / 10)))

    def rows_wanted(self, rows: int) -> int:
        """Return how many curves are to be kept."""
        return rows if self.ice == "all" else min(self.ice, rows)

    def row_bytes(self, plan: Plan) -> int:
        """Return the size of a curve, the row's own value, its place and perhaps its weight."""
        return 8 * (len(plan.grid) + 3)

    def local(self, bound: Bound, plan: Plan, keep: Bools | None) -> Local:
        """Sweep the grid, and gather the curves point by point."""
        grid, j = plan.grid, plan.column.feature.position
        curves = bound.sweep(j, grid.points).T
        # By way of the left end: a curve that does not move then has a mean, and deviations, of exactly zero.
        anchored = curves - curves[0]
        if self.center != "start":
            anchored -= np.full(len(grid), 1 / len(grid)) @ anchored
        weights = bound.weights
        x = bound.column(j)
        there, w = x, weights
        if plan.column.missing:
            present = ~np.isnan(x)
            there, w = x[present], None if weights is None else weights[present]
        anchored_moments = Moments.of_curves(anchored, weights)
        moments = {
            ANCHORED: anchored_moments,
            # Without centring the curves' own scatter gives the error of their mean.
            RAW: Moments.of_curves(curves, weights) if self.center is None else anchored_moments,
            AXIS: Moments.of(there, grid.locate(there), len(grid) + 1, w),
        }
        shown = curves if self.center is None else anchored
        kept = {"x": x, "row": bound.row_id, "curve": shown.T, "weight": weights}
        return Local(moments, chosen(kept, keep))

    def read(
        self, plan: Plan, local: Local, about: About, *, exact: bool, kind: WeightKind
    ) -> Effect:
        """Average."""
        spec = Spec(self.name, self.center, "none", weight_kind=kind, parameters=self.describe())
        m = local.moments
        r = local.kept
        rows = Rows(r["x"], None, r.get("weight"), exact) if r else None
        curves = Curves(r["curve"], r["x"], r["row"], r.get("weight"), exact) if r else None
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


def _points(grid: Any) -> Floats | None:
    try:
        return np.asarray(grid, dtype=float)
    except (TypeError, ValueError):
        return None
