"""ALE, DALE, RHALE and UALE of numeric features: definitions, and their shared plan, compute and finalize.

For each row, the difference of the quantity at its bin's two edges, everything else as it is; averaged within bins;
accumulated over them. Rows are moved within their own bin only, so correlated features stay plausible.

Of a categorical feature rows move to the neighbouring levels (`ale_categorical.py`), of two features to the corners
of their cell (`methods/ale_pairs.py`).

The local effect of a row is the partial derivative where the row is. No row is moved at all, bins may be wide, and
may be chosen again without the model.

Slopes at the rows as in DALE; bins by the optimal partition, of Eq. 13 or by its risk; the standard deviation of the
slopes within bins (Eq. 11) shows where rows differ. Step functions (ensembles of trees) have no slopes: their curve is
that of the ALE, and the bins summarise it (docs/explanation/heterogeneity.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from skedasis._types import Bools, Center, Floats, Ints
from skedasis.binning import (
    CELLS,
    AutoUniform,
    Binning,
    Edges,
    Greedy,
    Optimal,
    Quantile,
    Uniform,
    as_binning,
    fitting,
    is_fixed,
)
from skedasis.data.column_stats import Column
from skedasis.data.features import Feature, find
from skedasis.errors import ModelOutputError, UnsupportedError, explained
from skedasis.methods.ale_categorical import LevelSteps, to_neighbours
from skedasis.methods.ale_pairs import OwnValuesOrQuantiles, PairALE, PairDALE, fixed
from skedasis.methods.base import Bound, Local, Parameters, Plan, chosen, given_for, one_of
from skedasis.models.adapters import Traits
from skedasis.results.build.accumulated import accumulate, chosen_bins, spread_of
from skedasis.results.build.linear_form import AXIS, LOCAL, RISE
from skedasis.results.build.step_functions import chosen_for_reading, read_in_bins
from skedasis.results.build.steps import existing, step_moments
from skedasis.results.effect import About, Effect, Rows, Spec
from skedasis.stats.ale_math import Accumulate
from skedasis.stats.grid import Cells, distinct, uniform_edges
from skedasis.stats.moments import Moments, WeightKind

if TYPE_CHECKING:
    from skedasis.stats.heterogeneity_score import HeterogeneityScore


# ------------------------------------------------------------------------------------------
# What ALE, DALE, UALE and RHALE share: how local effects are gathered by cell, and how the result is read.


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


# ------------------------------------------------------------------------------------------
# ALE: accumulated local effects (Apley & Zhu 2020; RHALE Eq. 3).


@dataclass(frozen=True)
class ALE(Accumulated):
    """Accumulated local effects of a feature, numeric or categorical, or of two.

    Parameters
    ----------
    bins : "auto", int, Binning or mapping
        "auto": 32 quantiles; of a feature with few values (at most 13, or at most 64 with ten rows or more a value)
        these values: the step between two of them is the mean of its ends' means. An integer means `Quantile` bins;
        ``{"feature": bins}`` sets them for each feature. With a scheme that chooses (`Optimal`, …) its fine cells are
        differenced and then merged. For two features "auto" means 20 quantiles, or the values of a feature with few.
    center, accumulate, ddof, accumulate_se, top_levels
        As in `RHALE`.
    order : None, "similarity", sequence of levels, or a mapping of these by feature
        Of a categorical feature's levels. None: the feature's own order, if it is ordinal or declared, else the
        similarity of the levels in the other features (Apley & Zhu).
    empty : {"nearest", None}
        Of two features: cells without rows take the double difference of the nearest cell that has some, or add nothing
        (and, between numeric features, have no value). They are marked either way.

    Notes
    -----
    At most 2 N model rows a feature; fewer where an edge is the row's own value. With few values as many, and N once
    for all such features. For a categorical feature each row at
    most twice, plus once itself for all of them. For two numeric features 4 N,
    whatever the bins; at most 6 N with one categorical feature among the two, 9 N with two.

    References
    ----------
    Apley & Zhu (2020), JRSS B 82(4); RHALE Eq. 3; bins as in ale_vs_pdp 6.2.1.2, pairs as in its Eq. 6.4 to 6.7.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(size=(500, 2))
    >>> e = sd.explain(
    ...     lambda X: X[:, 0] * 2 + X[:, 1], X, 0, method=sd.ALE(bins=10, center="start")
    ... )
    >>> bool(np.allclose(e.value, 2 * (e.x - e.x[0])))
    True
    >>> s = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=4))
    >>> s.value.shape
    (5, 5)
    """

    order: str | Sequence[Any] | Mapping[Any, Any] | None = None
    empty: Literal["nearest"] | None = "nearest"

    uses_slopes = False
    usual: ClassVar[Binning] = Quantile(CELLS)

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("ALE(empty)", self.empty, ("nearest", None))

    def scheme(self, bins: Any) -> Binning:
        """Return the scheme; the sides of a user's edges belong to the bins as quantiles' do."""
        scheme = self.usual if bins == "auto" else as_binning(bins, Quantile)
        if isinstance(scheme, Edges) and scheme.closed is None:
            return replace(scheme, closed="right")
        return scheme

    def check(self, features: Sequence[Feature]) -> None:
        """Refuse bins, or an order, for a feature that is not there."""
        super().check(features)
        for name in self.order if isinstance(self.order, Mapping) else ():
            find(features, name)

    def for_levels(self, feature: Feature) -> LevelSteps:
        """Return the same for a categorical feature."""
        return LevelSteps(self, self.order)

    def in_place_of(self, feature: Feature) -> LevelSteps:
        """Return the same for a categorical feature: nothing has to take its place."""
        return self.for_levels(feature)

    def for_pair(self, features: tuple[Feature, Feature]) -> PairALE:
        """Return the same for two features."""
        return PairALE(self)

    def fixed_binning(self, feature: Feature) -> Binning:
        """Return the scheme for one of two features: one that needs no local effects to choose."""
        bins = given_for(self.bins, feature, "auto")
        return OwnValuesOrQuantiles() if bins == "auto" else fixed(self.scheme(bins), self.name)

    def plan(self, column: Column, traits: Traits) -> Plan:
        """Choose the bins; derivatives, even if there are some, are not asked for."""
        return super().plan(column, Traits("edges", "differences across each row's bin"))


# ------------------------------------------------------------------------------------------
# DALE: ALE from derivatives (Gkolemis et al. 2022; RHALE Eq. 4).


@dataclass(frozen=True)
class DALE(Accumulated):
    """Differential accumulated local effects, on bins of your choice, of a feature or of two.

    Parameters
    ----------
    bins : "auto", int, Binning or mapping
        "auto": 20 equal bins; of a feature with few values the steps between these. An integer means `Uniform` bins;
        ``{"feature": bins}`` says it for each feature.
    center, accumulate, ddof, accumulate_se, top_levels
        As in `RHALE`.
    empty : {"nearest", None}
        Of two features: as in `ALE`.

    Raises
    ------
    UnsupportedError
        When explaining a piecewise constant model, whose derivative is zero almost everywhere.

    Notes
    -----
    N slope rows for all features together where the model has slopes, else 2 N model rows a feature. Of two features
    the local effect is the mixed second derivative: N rows of the model's own, else 2 N slope rows, else 4 N model
    rows.

    References
    ----------
    Gkolemis, Dalamagas & Diou (2022), arXiv:2210.04542; RHALE Eq. 4.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(size=(500, 2))
    >>> q = sd.prediction(lambda X: X[:, 0] ** 2, slope=lambda X: np.c_[2 * X[:, 0], 0 * X[:, 1]])
    >>> e = sd.explain(q, X, 0, method=sd.DALE(bins=5))
    >>> e.bins.effect.round(1)
    array([0.2, 0.6, 1. , 1.4, 1.8])
    """

    empty: Literal["nearest"] | None = "nearest"

    checks_slopes = True

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("DALE(empty)", self.empty, ("nearest", None))

    def in_place_of(self, feature: Feature) -> LevelSteps:
        """Return what takes this method's place for a categorical feature: between levels there are no slopes."""
        return LevelSteps(self, instead_of=self.name)

    def for_pair(self, features: tuple[Feature, Feature]) -> PairDALE:
        """Return the same for two features."""
        return PairDALE(self)

    def fixed_binning(self, feature: Feature) -> Binning:
        """Return the scheme for one of two features."""
        return fixed(self.scheme(given_for(self.bins, feature, "auto")), self.name)

    def plan(self, column: Column, traits: Traits) -> Plan:
        """Choose the bins; refuse a model without derivatives."""
        if traits.local == "steps":
            raise UnsupportedError(no_derivatives(self.name, column, traits))
        return super().plan(column, traits)


# ------------------------------------------------------------------------------------------
# RHALE: robust and heterogeneity-aware ALE (Gkolemis et al. 2023), and UALE, where it came from.


RISK = Optimal(criterion="risk")
"""The usual bins: they beat Eq. 13 at the papers' settings on all their cases (docs/guides/bins.md)."""


@dataclass(frozen=True)
class RHALE(Accumulated):
    """The average effect and its heterogeneity, on bins chosen automatically.

    Parameters
    ----------
    bins : "auto", int, Binning or mapping
        "auto": ``Optimal(criterion="risk")`` for slopes. For step functions and features with few values: the fewest
        unions of the cells of ``ALE(bins="auto")`` whose polyline describes the curve to within a tenth of
        √(importance² + score²). An integer means `Uniform` bins. The papers' bins are `Optimal()`. Named edges
        (`Uniform`, `Quantile`, `Edges`) are the cells as well as the bins of a step function.
    center : {"mean", "start", None}
        "mean" subtracts the mean over bins of the mid-values, weighted by their rows; "start" and None leave zero at
        the left end.
    accumulate : {"variance", "std"}
        The spread at the edges: root of the sum of width² std² (Eq. 16), or sum of width * std (UALE Eq. 9).
    ddof : {1, 0}
        1 divides bin variances by n - 1 (Eq. 11), 0 by n (UALE Eq. 11, the draft's Eq. 4).
    accumulate_se : {"quadrature", "sum"}
        Errors of the bins are added as independent ones are, or by the draft's Eq. 5, which is conservative.
    top_levels : int, optional
        Of a categorical feature: only so many of the most frequent levels.
    local_effects : {"auto", "slopes", "steps"}
        "auto" takes slopes unless the model is known or found to be piecewise constant, or its slopes do not match its
        rises. "slopes" takes slopes unless the model is known to be piecewise constant; "steps" treats the model as a
        step function.

    Notes
    -----
    N slope rows for all features together if the model has slopes, else 2 N model rows per feature; and up to 1,024
    model rows per feature to compare slopes with the rises of the model. For step functions and features with few
    values: 2 N model rows per feature for the curve, and in a second round up to 2 N more for the rows' rises across
    the bins that the first round chose. The number of bins costs nothing.

    For step functions `x`, `value` and `std_error` refer to the edges of the cells, and are those of the ALE; `bins`
    are the chosen bins. A row's local effect is its rise across its whole bin divided by the bin's width, so that
    Eq. 16 adds variances of rises, for any cells.

    Of an ordinal feature the local effects are the steps between neighbouring levels, each row at most twice plus once
    itself; the same dynamic program groups runs of steps that are alike. A nominal feature has no axis: explained by
    name it is refused, and with ``features=None`` it gets its categorical `ALE`.

    References
    ----------
    Gkolemis, Dalamagas, Ntoutsi & Diou (2023), RHALE, ECAI: Eq. 9 to 16.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> e = sd.explain(lambda X: 5 * X[:, 0] * np.sign(X[:, 1]), X, 0, method=sd.RHALE())
    >>> bool(e.importance < 0.3), bool(e.heterogeneity_score > 2.5)
    (True, True)
    """

    local_effects: Literal["auto", "slopes", "steps"] = "auto"

    usual: ClassVar[Binning] = RISK
    checks_slopes = True

    @property
    def replaces_slopes(self) -> bool:
        """Return whether slopes that do not match the rises are replaced: not if they are requested by name."""
        return self.local_effects != "slopes"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(f"{self.name}(local_effects)", self.local_effects, ("auto", "slopes", "steps"))

    def for_levels(self, feature: Feature) -> Any:
        """Return the same for an ordinal feature: steps between its levels, in runs that the scheme chooses.

        Raises
        ------
        UnsupportedError
            For a nominal feature, and for bins that do not choose.
        """
        chooses = isinstance(self.binning(), (Optimal, Greedy))
        if feature.kind == "ordinal" and chooses:
            return LevelSteps(self, grouped=True)
        if feature.kind == "ordinal":
            raise UnsupportedError(
                explained(
                    f"{self.name}(bins={type(self.binning()).__name__}) of {feature.name!r}",
                    "bins on an axis",
                    "Optimal or Greedy, which group levels",
                    "Use sd.RHALE(); or, if its values are numbers, declare them continuous",
                )
            )
        return super().for_levels(feature)

    def in_place_of(self, feature: Feature) -> LevelSteps:
        """Return what takes this method's place for a categorical feature, where all features are explained."""
        if feature.kind == "ordinal" and isinstance(self.binning(), (Optimal, Greedy)):
            return LevelSteps(self, grouped=True)
        return LevelSteps(self, instead_of=self.name)

    def plan(self, column: Column, traits: Traits) -> Plan:
        """Choose the fine cells; the bins are chosen when the slopes are known."""
        if self.local_effects == "steps":
            traits = Traits("steps", "differences across bins, as requested")
        elif self.local_effects == "slopes" and traits.local == "steps":
            if traits.certain:
                raise UnsupportedError(no_derivatives(self.name, column, traits))
            traits = Traits("differences", "central differences, as requested")
        return super().plan(column, traits)

    def further(
        self,
        plan: Plan,
        local: Local,
        score: HeterogeneityScore | None,
        about: About,
        kind: WeightKind,
    ) -> Plan | None:
        """Return the plan of a second round, which computes the rows' rises across the chosen bins."""
        if plan.rises is not None or not plan.traits.on_cells or len(plan.bins) == 0:
            return None
        if is_fixed(self.bins):  # named edges are the cells as well as the bins
            return None
        scheme, spec = self.binning(), self._spec(plan, kind)
        if scheme.by_risk:
            centred = replace(spec, center="mean")
            curve = self._on_cells(plan, local, centred, about, None)
            kept = chosen_for_reading(curve, score)
        else:
            spread = spread_of(spec, local.largest, plan.column.feature.name)
            kept = scheme.choose(plan.bins, local.moments[LOCAL], spread)
        # The rises across single cells are known already.
        return None if len(kept) > len(plan.bins) else replace(plan, rises=plan.bins.keep(kept))

    def _effect(
        self, plan: Plan, local: Local, spec: Spec, about: About, rows: Rows | None
    ) -> Effect:
        """Choose the bins by merging cells, and accumulate; for step functions add the chosen bins to the ALE."""
        if not plan.traits.on_cells or len(plan.bins) == 0:
            return super()._effect(plan, local, spec, about, rows)
        effect = self._on_cells(plan, local, spec, about, rows)
        if plan.rises is None:
            return read_in_bins(effect, np.arange(len(plan.bins.edges)), local.moments[LOCAL])
        kept = np.searchsorted(plan.bins.edges, plan.rises.edges)
        return read_in_bins(effect, kept, local.moments[RISE])

    def _on_cells(
        self, plan: Plan, local: Local, spec: Spec, about: About, rows: Rows | None
    ) -> Effect:
        """Return the ALE on all cells."""
        every = np.arange(len(plan.bins.edges))
        return accumulate(plan.bins, local.moments, every, spec, about, rows, values=plan.values)


@dataclass(frozen=True)
class UALE(RHALE):
    """RHALE with standard deviations accumulated (UALE Eq. 9) and divided by n (Eq. 11).

    Parameters, cost and errors are those of `RHALE`.

    References
    ----------
    Uncertainty-aware Accumulated Local Effects, Eq. 8 to 15. (Its Eq. 15 omits the width and the discount, and states
    feasibility the wrong way round; Eq. 13 is what is minimised.)

    Examples
    --------
    >>> UALE().accumulate, UALE().ddof
    ('std', 0)
    """

    accumulate: Accumulate = "std"
    ddof: int = 0
