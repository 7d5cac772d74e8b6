"""What ALE, DALE, UALE and RHALE share: how local effects are gathered by cell, and how the result is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from skedasis.binning import (
    Binning,
    Edges,
    Quantile,
    Uniform,
    as_binning,
    fitting,
    for_local,
)
from skedasis.cells import Cells, distinct, uniform_edges
from skedasis.curves import Accumulate
from skedasis.data.schema import Feature, find
from skedasis.data.summary import Column
from skedasis.errors import ModelOutputError, explained
from skedasis.methods.base import Bound, Local, Parameters, Plan, chosen, given_for, one_of
from skedasis.moments import Moments, WeightKind
from skedasis.quantity.base import Traits
from skedasis.results.accumulated import accumulate
from skedasis.results.choosing import chosen_bins, spread_of
from skedasis.results.effect import Effect, Rows
from skedasis.results.pieces import ACROSS, AXIS, LOCAL
from skedasis.results.spec import About, Spec
from skedasis.typing import Bools, Center, Floats, Ints

_FINE = 1024
"""Fixed fine cells of a result whose rows are not all kept."""


@dataclass(frozen=True)
class Accumulated(Parameters):
    """Parameters of every accumulated effect.

    Parameters
    ----------
    bins : int, Binning or mapping
        The scheme, or a number of bins of the method's usual kind; ``{"feature": bins}`` says it for each feature.
    center : {"mean", "start", None}
        What is subtracted: the mean over bins of the mid-values, weighted by their rows; or nothing (the curve starts
        at zero then).
    accumulate : {"variance", "std"}
        How the spread is accumulated: RHALE Eq. 16 or UALE Eq. 9.
    ddof : int
        What n_k is lowered by in bin variances.
    accumulate_se : {"quadrature", "sum"}
        How standard errors are accumulated; "sum" is the draft's Eq. 5, conservative.
    top_levels : int, optional
        Of a categorical feature: only so many of the most frequent levels.
    """

    bins: Binning | int | Mapping[Any, Any] = 20
    center: Center = "mean"
    accumulate: Accumulate = "variance"
    ddof: int = 1
    accumulate_se: Literal["quadrature", "sum"] = "quadrature"
    top_levels: int | None = None

    uses_slopes = True
    scored = True
    usual: ClassVar[Any] = 20
    """Bins of features that a mapping does not name."""

    def __post_init__(self) -> None:
        one_of(f"{self.name}(center)", self.center, ("mean", "start", None))
        one_of(f"{self.name}(accumulate)", self.accumulate, ("variance", "std"))
        one_of(f"{self.name}(ddof)", self.ddof, (0, 1))
        one_of(f"{self.name}(accumulate_se)", self.accumulate_se, ("quadrature", "sum"))
        self.binning()

    def scheme(self, bins: Any) -> Binning:
        """Return the scheme that bins stand for."""
        return as_binning(bins, Uniform)

    def binning(self) -> Binning:
        """Return the scheme, for features of which nothing else is said."""
        return self.scheme(self.usual if isinstance(self.bins, Mapping) else self.bins)

    def check(self, features: Sequence[Feature]) -> None:
        """Refuse bins for a feature that is not there."""
        for name in self.bins if isinstance(self.bins, Mapping) else ():
            find(features, name)

    def for_feature(self, feature: Feature) -> Any:
        """Return the method as it is for a feature, with its bins.

        An ordinal feature of numbers is numeric where edges on its axis are asked for by name: they win.
        """
        bins = given_for(self.bins, feature, self.usual)
        explicit = feature.kind == "ordinal" and feature.numeric
        if feature.categorical and not (explicit and isinstance(bins, (Uniform, Quantile, Edges))):
            return self.for_levels(feature)
        return replace(self, bins=bins) if isinstance(self.bins, Mapping) else self

    def plan(self, column: Column, traits: Traits) -> Plan:
        """Choose the fine cells: they depend on the column alone."""
        scheme = self.binning()
        bins = scheme if isinstance(self.bins, Mapping) else self.bins
        cells = fitting(bins, scheme, column, traits.local, traits.jumps)
        if traits.local != "secants" or len(cells) == 0:
            return Plan(column.summary(), traits, cells)
        cells = without_empty_runs(cells, column)
        return Plan(column.summary(), traits, cells, empty=_without_rows(cells, column))

    def sets(self, plans: Sequence[Plan]) -> int:
        """Return 2, for a row is evaluated at two edges or on either side of itself; 1 where there are slopes."""
        return 1 if all(p.traits.local == "slopes" for p in plans) else 2

    def row_bytes(self, plan: Plan) -> int:
        """Return the size of a value, a local effect and perhaps a weight."""
        return 24 if plan.column.weighted else 16

    def refined(self, plan: Plan) -> Plan:
        """Return a plan with up to 1,024 fixed fine cells, where local effects belong to points."""
        cells, column = plan.bins, plan.column
        pointwise = plan.traits.local in ("slopes", "differences")
        if not pointwise or not 0 < len(cells) < _FINE // 2:
            return plan
        between = uniform_edges(float(cells.edges[0]), float(cells.edges[-1]), _FINE - len(cells))
        fine = Cells(distinct(np.concatenate([cells.edges, column.snap(between)])), cells.closed)
        return replace(plan, cells=fine, coarse=np.searchsorted(fine.edges, cells.edges))

    def local(self, bound: Bound, plan: Plan, keep: Bools | None) -> Local:
        """Gather the batch's local effects by cell."""
        cells, column = plan.bins, plan.column
        x = bound.column(column.feature.position)
        cell = cells.locate(x)
        inside = cell >= 0
        outside = len(x) - int(np.count_nonzero(inside))
        beyond = outside - int(np.count_nonzero(np.isnan(x))) if outside else 0
        if len(cells) == 0:
            return Local({LOCAL: Moments.zeros(0), AXIS: Moments.zeros(0)})
        if outside:
            rows = np.flatnonzero(inside)
            bound, cell, x = bound.some(rows), cell[rows], x[rows]
            keep = None if keep is None else keep[rows]
        effects = self._effects(bound, plan, cell)
        local = Moments.of(effects, cell, len(cells), bound.weights)
        gathered = Local(
            {LOCAL: local, AXIS: Moments.of(x, cell, len(cells), bound.weights, like=local)},
            chosen({"x": x, "effect": effects, "weight": bound.weights}, keep),
            float(max(effects.max(), -effects.min())) if len(effects) else 0.0,
            beyond,
        )
        if plan.empty is not None:
            gathered.moments[ACROSS] = _across(bound, plan, cell)
        return gathered

    def _effects(self, bound: Bound, plan: Plan, cell: Ints) -> Floats:
        column, cells = plan.column, plan.bins
        if plan.traits.local in ("slopes", "differences"):
            effects = bound.local_slopes(column, plan.traits)
            if not np.isfinite(effects.sum()) and not np.isfinite(effects).all():
                bad = int((~np.isfinite(effects)).sum())
                raise ModelOutputError(
                    explained(
                        f"slope of {column.feature.name!r}",
                        f"NaN or infinity for {bad} rows",
                        "finite numbers",
                        "Check the slope function, and that X has no missing values it cannot take",
                    )
                )
            return effects
        rise = bound.across(column.feature.position, cells.edges, cell)
        return rise / cells.widths.take(cell)

    def read(
        self, plan: Plan, local: Local, about: About, *, exact: bool, kind: WeightKind
    ) -> Effect:
        """Choose the bins by merging cells, and accumulate."""
        cells = plan.bins
        spec = Spec(
            self.name,
            self.center,
            plan.traits.local,
            self.accumulate,
            self.ddof,
            self.accumulate_se,
            cells.closed,
            kind,
            self.describe(),
        )
        r = local.kept
        rows = Rows(r["x"], r["effect"], r.get("weight"), exact) if r else None
        spread = spread_of(spec, local.largest, plan.column.feature.name)
        asked = self.binning()
        scheme = for_local(asked, plan.traits.local)
        whole = plan.column.integer and plan.traits.local == "differences"
        found = chosen_bins(
            scheme, cells, local.moments, spec, spread, rows, plan.coarse, whole=whole
        )
        effect = accumulate(
            found.cells, found.moments, found.kept, spec, about, rows, trend=found.trend
        )
        notes = {"local_effects": plan.traits.source, "rows_outside": local.outside, **plan.notes}
        if scheme is not asked:
            notes["bins"] = "by Eq. 13 instead of the risk: secants are jumps, not slopes"
        return effect.with_provenance(notes)


def no_derivatives(name: str, column: Column, traits: Traits) -> str:
    """Return what is said where derivatives are asked of a model that has none."""
    return explained(
        f"{name} of {column.feature.name!r}",
        f"a model without derivatives ({traits.source})",
        "a differentiable model",
        "Use sd.RHALE(), which takes differences over fine cells, or sd.ALE()",
    )


def without_empty_runs(cells: Cells, column: Column) -> Cells:
    """Join neighbouring cells without rows into one.

    Nothing is known of where inside such a run the model jumps, so an edge there would divide nothing.
    """
    empty = _without_rows(cells, column)
    inner = ~(empty[:-1] & empty[1:])
    return cells.keep(np.concatenate([[0], np.flatnonzero(inner) + 1, [len(cells)]]))


def _without_rows(cells: Cells, column: Column) -> Bools:
    """Return which cells hold no row."""
    # Shifted by one: rows beyond the edges are counted before the first cell.
    return np.bincount(cells.locate(column.x) + 1, minlength=len(cells) + 1)[1:] == 0


def _across(bound: Bound, plan: Plan, cell: Ints) -> Moments:
    """Gather the rises across cells without rows, seen by the rows of the cells beside them.

    A piecewise constant model may jump where no row lies. Without this the curve would miss that jump.
    """
    cells, column = plan.bins, plan.column
    k = len(cells)
    total = Moments.zeros(k)
    # One more at the end: it answers for the neighbours behind the last cell and, as [-1], before the first.
    empty = np.append(plan.empty if plan.empty is not None else np.zeros(k, bool), False)
    for side in (1, -1):
        rows = np.flatnonzero(empty[cell + side])
        if len(rows) == 0:
            continue
        gap = cell[rows] + side
        low, high = cells.edges[gap], cells.edges[gap + 1]
        beside = bound.some(rows)
        rise = beside.edge_differences(column.feature.position, low, high)
        total = total.merge(Moments.of(rise / (high - low), gap, k, beside.weights))
    return total
