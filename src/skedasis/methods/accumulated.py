"""What ALE, DALE, UALE and RHALE share: how local effects are gathered by cell, and how the result is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from skedasis._types import Bools, Center, Floats, Ints
from skedasis.binning import (
    AutoUniform,
    Binning,
    Edges,
    Quantile,
    Uniform,
    as_binning,
    fitting,
    is_fixed,
)
from skedasis.data.column_stats import Column
from skedasis.data.features import Feature, find
from skedasis.errors import ModelOutputError, explained
from skedasis.methods.base import Local, Parameters, Plan, chosen, given_for, one_of
from skedasis.methods.bound import Bound
from skedasis.methods.levels import to_neighbours
from skedasis.models.adapters import Traits
from skedasis.results.build.accumulated import accumulate, chosen_bins, spread_of
from skedasis.results.build.linear_form import AXIS, LOCAL, RISE
from skedasis.results.build.steps import existing, step_moments
from skedasis.results.effect import About, Effect, Rows, Spec
from skedasis.stats.ale_math import Accumulate
from skedasis.stats.grid import Cells, distinct, uniform_edges
from skedasis.stats.moments import Moments, WeightKind

_FINE = 1024
"""Fixed fine cells of a result whose rows are not all kept."""

Bins = Binning | int | Literal["auto"] | Mapping[Any, Any]


@dataclass(frozen=True)
class Accumulated(Parameters):
    """Parameters of every accumulated effect.

    Parameters
    ----------
    bins : "auto", int, Binning or mapping
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

    bins: Bins = "auto"
    center: Center = "mean"
    accumulate: Accumulate = "variance"
    ddof: int = 1
    accumulate_se: Literal["quadrature", "sum"] = "quadrature"
    top_levels: int | None = None

    uses_slopes = True
    scored = True
    usual: ClassVar[Binning] = Uniform(20)
    """The meaning of "auto" for local effects that belong to points."""

    def __post_init__(self) -> None:
        one_of(f"{self.name}(center)", self.center, ("mean", "start", None))
        one_of(f"{self.name}(accumulate)", self.accumulate, ("variance", "std"))
        one_of(f"{self.name}(ddof)", self.ddof, (0, 1))
        one_of(f"{self.name}(accumulate_se)", self.accumulate_se, ("quadrature", "sum"))
        self.binning()

    def scheme(self, bins: Any) -> Binning:
        """Return the scheme that bins stand for."""
        return self.usual if bins == "auto" else as_binning(bins, Uniform)

    def binning(self) -> Binning:
        """Return the scheme, for features of which nothing else is said."""
        return self.scheme("auto" if isinstance(self.bins, Mapping) else self.bins)

    @property
    def follows_curve(self) -> bool:
        """Return whether bins are chosen by their risk."""
        return self.binning().by_risk

    def check(self, features: Sequence[Feature]) -> None:
        """Refuse bins for a feature that is not there."""
        for name in self.bins if isinstance(self.bins, Mapping) else ():
            find(features, name)

    def for_feature(self, feature: Feature) -> Any:
        """Return the method as it is for a feature, with its bins.

        An ordinal feature of numbers is numeric where edges on its axis are asked for by name: they win.
        """
        bins = given_for(self.bins, feature, "auto")
        explicit = feature.kind == "ordinal" and feature.numeric
        if feature.categorical and not (explicit and isinstance(bins, (Uniform, Quantile, Edges))):
            return self.for_levels(feature)
        return replace(self, bins=bins) if isinstance(self.bins, Mapping) else self

    def plan(self, column: Column, traits: Traits) -> Plan:
        """Choose the fine cells, which depend on the column alone.

        The curve of a feature with few values is made of steps between these, unless slopes are given or edges are
        named: the model is never evaluated between two values. For integers with more values and a model without
        slopes the curve is made of such steps, too, but the cells are those of the scheme.
        """
        scheme, bins = self.binning(), "auto" if isinstance(self.bins, Mapping) else self.bins
        traits = self._fitting(column, traits, fixed=is_fixed(bins), plain=bins == "auto")
        cells = fitting(bins, scheme, column, traits.local, traits.jumps)
        stepping = traits.local in ("value_steps", "integer_steps") and len(cells) > 0
        values = column.distinct_values if stepping else None
        return Plan(column.summary(), traits, cells, values=values)

    def observed_only(self, column: Column) -> bool:
        """Return whether the feature has few values: the curve is then made of steps between these."""
        return column.few_values() is not None

    def _fitting(self, column: Column, traits: Traits, *, fixed: bool, plain: bool) -> Traits:
        """Return how the local effects of a column are computed, given what the quantity offers."""
        if traits.given or column.low == column.high:
            return traits
        few = column.few_values() is not None
        if traits.local == "edges":
            return _VALUES if few and plain else traits
        if few and (fixed or isinstance(self.binning(), AutoUniform)):
            # Edges need not be values. A step function is differenced across them; otherwise steps are interpolated.
            return traits if traits.local == "steps" else _BETWEEN
        if few:
            return _VALUES
        if column.integer and traits.local == "differences":
            return _INTEGERS
        return traits

    def sets(self, plans: Sequence[Plan]) -> int:
        """Return 2, for a row is evaluated at two edges or on either side of itself; 1 for slopes and steps."""
        one = ("slopes", "value_steps", "integer_steps")
        return 1 if all(p.traits.local in one for p in plans) else 2

    def row_bytes(self, plan: Plan) -> int:
        """Return the size of a value, the local effects and perhaps a weight."""
        held = {"steps": 3, "value_steps": 4, "integer_steps": 4}.get(plan.traits.local, 2)
        return 8 * (held + plan.column.weighted)

    def refined(self, plan: Plan) -> Plan:
        """Return a plan with up to 1,024 fixed fine cells, where local effects belong to points."""
        cells, column = plan.bins, plan.column
        pointwise = plan.traits.local in ("slopes", "differences", "integer_steps")
        if not pointwise or not 0 < len(cells) < _FINE // 2:
            return plan
        between = uniform_edges(float(cells.edges[0]), float(cells.edges[-1]), _FINE - len(cells))
        fine = Cells(distinct(np.concatenate([cells.edges, column.snap(between)])), cells.closed)
        return replace(plan, cells=fine, coarse=np.searchsorted(fine.edges, cells.edges))

    def local(self, bound: Bound, plan: Plan, keep: Bools | None) -> Local:
        """Gather the batch's local effects by cell; in a second round, its rises across the chosen bins."""
        cells, column = plan.bins if plan.rises is None else plan.rises, plan.column
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
        if plan.rises is not None:
            rise = bound.across(column.feature.position, cells.edges, cell)
            effects = rise / cells.widths.take(cell)
            moments = {RISE: Moments.of(effects, cell, len(cells), bound.weights)}
            return Local(moments, chosen({"across": effects}, keep))
        if plan.values is not None:
            return self._stepping(bound, plan, (x, cell), keep, beyond)
        effects = self._effects(bound, plan, cell)
        local = Moments.of(effects, cell, len(cells), bound.weights)
        return Local(
            {LOCAL: local, AXIS: Moments.of(x, cell, len(cells), bound.weights, like=local)},
            chosen({"x": x, "effect": effects, "weight": bound.weights}, keep),
            _largest(effects),
            beyond,
        )

    def _stepping(
        self,
        bound: Bound,
        plan: Plan,
        at: tuple[Floats, Ints],
        keep: Bools | None,
        beyond: int,
    ) -> Local:
        """Gather the rows' steps to the neighbouring values."""
        (x, cell), values, cells, j = at, plan.values, plan.bins, plan.column.feature.position
        if values is None:
            raise TypeError("steps are between values")
        place = np.searchsorted(values, x)
        size, w = len(values), bound.weights
        down, up = to_neighbours(bound, lambda p: {j: values[p]}, place, size)
        both = existing(down, up, place, size)
        widths = np.append(np.append(np.nan, np.diff(values)), np.nan)
        if plan.traits.local == "value_steps":
            # Cells are closed on the right: a row's cell ends at its value, that of the first value begins there.
            effects = np.where(place > 0, down / widths[place], up / widths[place + 1])
        else:
            slopes = both / np.stack([widths[place], widths[place + 1]], axis=1)
            known = ~np.isnan(slopes)
            effects = np.where(known, slopes, 0.0).sum(axis=1) / known.sum(axis=1)
        local = Moments.of(effects, cell, len(cells), w)
        moments = {
            **step_moments(down, up, place, size, w),
            LOCAL: local,
            AXIS: Moments.of(x, cell, len(cells), w, like=local),
        }
        kept = {"x": x, "effect": both, "weight": w, "across": effects}
        return Local(moments, chosen(kept, keep), _largest(effects), beyond)

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
        spec, rows = self._spec(plan, kind), rows_of(local, exact=exact)
        effect = self._effect(plan, local, spec, about, rows)
        notes = {"local_effects": plan.traits.source, "rows_outside": local.outside}
        return effect.with_provenance({**notes, **plan.notes})

    def _spec(self, plan: Plan, kind: WeightKind) -> Spec:
        return Spec(
            self.name,
            self.center,
            plan.traits.local,
            self.accumulate,
            self.ddof,
            self.accumulate_se,
            plan.bins.closed,
            kind,
            self.describe(),
        )

    def _effect(
        self, plan: Plan, local: Local, spec: Spec, about: About, rows: Rows | None
    ) -> Effect:
        """Choose the bins by merging cells, and accumulate."""
        cells, moments = plan.bins, local.moments
        if plan.traits.local == "value_steps":
            every = np.arange(len(cells.edges))
            return accumulate(cells, moments, every, spec, about, rows, values=plan.values)
        scheme = self.binning()
        if spec.parameters.get("bins") == "auto" and spec.pointwise:
            spec = replace(spec, parameters={**spec.parameters, "bins": scheme.describe()})
        spread = spread_of(spec, local.largest, plan.column.feature.name)
        whole = plan.traits.local == "integer_steps"
        found = chosen_bins(scheme, cells, moments, spec, spread, rows, plan.coarse, whole=whole)
        gathered = found.moments if plan.values is None else {**moments, **found.moments}
        return accumulate(
            found.cells, gathered, found.kept, spec, about, rows, found.trend, plan.values
        )


_VALUES = Traits("value_steps", "steps between the feature's few distinct values")
_BETWEEN = Traits("integer_steps", "steps between the feature's few distinct values")
_INTEGERS = Traits("integer_steps", "steps between neighbouring observed integers")


def rows_of(local: Local, *, exact: bool) -> Rows | None:
    """Return the rows that were kept."""
    r = local.kept
    if not r:
        return None
    return Rows(r["x"], r["effect"], r.get("weight"), exact, r.get("across"))


def _largest(effects: Floats) -> float:
    return float(max(effects.max(), -effects.min())) if len(effects) else 0.0


def no_derivatives(name: str, column: Column, traits: Traits) -> str:
    """Return what is said where derivatives are asked of a model that has none."""
    return explained(
        f"{name} of {column.feature.name!r}",
        f"a model without derivatives ({traits.source})",
        "a differentiable model",
        "Use sd.RHALE(), which takes differences across bins, or sd.ALE()",
    )
