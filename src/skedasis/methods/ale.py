"""ALE, DALE, RHALE and UALE of numeric features: definitions, and their shared plan, compute and finalize.

All four average local effects of the rows within bins and accumulate the averages over the bins:

- `ALE` (RHALE Eq. 3): the local effect is the difference of the quantity between the two edges of the row's bin, all
  other features unchanged. Rows are moved within their own bin only, which avoids extrapolation for correlated
  features.
- `DALE` (RHALE Eq. 4): the local effect is the partial derivative at the row. No row is moved, so that bins may be wide
  and may be chosen again without calling the model.
- `RHALE` and `UALE`: derivatives as in DALE, on bins chosen by an optimal partition (Eq. 13, or penalized likelihood).
  The standard deviation of the local effects within bins (Eq. 11) shows heterogeneity. Step functions (tree ensembles)
  have no slopes: their curve is that of the ALE, and the bins summarise it (docs/explanation/heterogeneity.md).

`Accumulated` holds what they share. For features with few values, and for integers under models without slopes, local
effects are differences between adjacent observed values. The variants for categorical features are in
`ale_categorical.py` (differences between adjacent levels), those for two features in `ale_pairs.py` (differences
between the corners of a cell).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import numpy as np

from skedasis._arguments import check_option
from skedasis._calls import checked_call
from skedasis._types import Bools, Center, Floats, Ints
from skedasis.binning import (
    N_AUTO_CELLS,
    AutoUniform,
    Binning,
    Edges,
    Greedy,
    Optimal,
    Quantile,
    Uniform,
    cells_for_column,
    check_rows_in_cells,
    is_fixed,
)
from skedasis.data.column_stats import Column
from skedasis.data.features import Feature
from skedasis.data.gaps import Nearest
from skedasis.errors import ModelOutputError, UnsupportedError, format_error
from skedasis.methods.ale_categorical import LevelSteps, Order, adjacent_differences
from skedasis.methods.ale_pairs import OwnValuesOrQuantiles, PairALE, PairDALE, fixed
from skedasis.methods.base import (
    AnyFeatureMethod,
    BinnedMethod,
    ByFeature,
    Scheme,
    as_scheme,
    param_for_feature,
    quantile_scheme,
)
from skedasis.methods.plans import BatchStats, CellPlan, kept_rows, select_rows
from skedasis.models.adapters import DerivativeInfo, LocalEffectKind
from skedasis.quantities.evaluator import BatchEvaluator
from skedasis.results.build.accumulated import accumulated_effect, select_bins, variance_options
from skedasis.results.build.linear_form import AXIS, GAP, LOCAL, RISE
from skedasis.results.build.step_functions import select_summary_bins, summarise_in_bins
from skedasis.results.build.steps import mask_missing_steps, step_moments
from skedasis.results.effect import About, AccumulatedEffect, Effect, Rows, Spec
from skedasis.stats.ale_math import Accumulate
from skedasis.stats.grid import Cells, distinct, uniform_edges
from skedasis.stats.moments import Moments, WeightKind

if TYPE_CHECKING:
    from skedasis.stats.heterogeneity_score import HeterogeneityScore


# --- shared by all --------------------------------------------------------------------------------


_FINE = 1024
"""Number of fine cells of a result whose rows are not all kept."""

_AUTO: Scheme = "auto"
Bins: TypeAlias = Scheme | ByFeature[Scheme]


@dataclass(frozen=True)
class Accumulated(BinnedMethod):
    """Base class of accumulated effects: their parameters (see `RHALE`), and the steps plan, compute and finalize."""

    bins: Bins = "auto"
    center: Center = "mean"
    accumulate: Accumulate = "variance"
    ddof: int = 1
    accumulate_se: Literal["quadrature", "sum"] = "quadrature"
    top_levels: int | None = None

    uses_slopes = True
    of_rows = "effects"
    by_feature = ("bins",)
    default_scheme: ClassVar[Binning] = Uniform(20)
    """The scheme for "auto" if local effects are evaluated at points."""

    def __post_init__(self) -> None:
        self.check_no_model()
        self.binning()
        check_option(f"{self.name}(center)", self.center, ("mean", "start", None))
        check_option(f"{self.name}(accumulate)", self.accumulate, ("variance", "std"))
        check_option(f"{self.name}(ddof)", self.ddof, (0, 1))
        check_option(f"{self.name}(accumulate_se)", self.accumulate_se, ("quadrature", "sum"))

    def scheme(self, bins: Scheme) -> Binning:
        """Return the scheme for a value of `bins`."""
        return as_scheme(bins, self.default_scheme, Uniform)

    def binning(self) -> Binning:
        return self.scheme("auto" if isinstance(self.bins, Mapping) else self.bins)

    def _bins_for(self, feature: Feature) -> Scheme:
        """Return the value of `bins` for a feature."""
        bins = self.bins
        return param_for_feature(bins, feature, _AUTO) if isinstance(bins, Mapping) else bins

    def is_explicit(self, feature: Feature) -> bool:
        return isinstance(self._bins_for(feature), (Uniform, Quantile, Edges))

    def for_feature(self, feature: Feature) -> AnyFeatureMethod:
        """Return the method for a feature, with the feature's bins."""
        method, own = super().for_feature(feature), self._bins_for(feature)
        return (
            replace(self, bins=own) if method is self and isinstance(self.bins, Mapping) else method
        )

    def for_levels(self, feature: Feature) -> LevelSteps:
        raise self.no_levels_error(feature)

    def plan(self, column: Column, derivative_info: DerivativeInfo) -> CellPlan:
        """Choose the fine cells, which depend on the column only.

        The curve of a feature with few values consists of differences between adjacent values, unless slopes or
        explicit edges are given: the model is never evaluated between two values. For integers with more values and a
        model without slopes, local effects are such differences, too, but the cells are those of the scheme. If data
        beyond memory have too many values for that, each row is evaluated at integers near its own.
        """
        scheme, bins = self.binning(), "auto" if isinstance(self.bins, Mapping) else self.bins
        derivative_info = self._local_effects(
            column, derivative_info, fixed=is_fixed(bins), plain=bins == "auto"
        )
        cells = cells_for_column(bins, scheme, column, derivative_info.kind, derivative_info.jumps)
        by_values = derivative_info.kind in ("value_steps", "integer_steps") and len(cells) > 0
        values = column.distinct_values if by_values else None
        observed = derivative_info.kind == "differences" and column.feature.time is not None
        summary = column.summary_of_observed() if observed else column.summary()
        plan = CellPlan(summary, derivative_info, cells, values=values)
        if not cells.gaps:
            return plan
        ends = np.stack([cells.edges[list(cells.gaps)], cells.edges[np.add(cells.gaps, 1)]], axis=1)
        return replace(plan, nearest=column.nearest(ends))

    def observed_only(self, column: Column) -> bool:
        """Return whether the feature has few values, so that the model is evaluated at these only."""
        return column.few_values() is not None

    def _local_effects(
        self, column: Column, derivative_info: DerivativeInfo, *, fixed: bool, plain: bool
    ) -> DerivativeInfo:
        """Return how local effects of the column are computed, given the quantity's derivatives.

        `fixed` means that edges are given explicitly, `plain` that `bins` is "auto".
        """
        if derivative_info.given or column.low == column.high:
            return derivative_info
        few = column.few_values() is not None
        if derivative_info.kind == "edges":
            return _VALUES if few and plain else derivative_info
        if few and (fixed or isinstance(self.binning(), AutoUniform)):
            # Edges need not be observed values: step functions are differenced across bins, for other quantities the
            # differences between adjacent values are interpolated.
            return derivative_info if derivative_info.kind == "steps" else _BETWEEN
        if few:
            return _VALUES
        if column.integer and derivative_info.kind == "differences":
            return self._between_integers(column)
        return derivative_info

    def _between_integers(self, column: Column) -> DerivativeInfo:
        """Return how local effects of whole numbers are computed under a model without slopes."""
        if self.binning().uses_likelihood and any(gap.separates for gap in column.gaps):
            return _BESIDE_GAPS
        return _INTEGERS if column.values_to_step_between() is not None else _NEAR_INTEGERS

    def points_per_call(self, plans: Sequence[CellPlan]) -> int:
        """Return 2 if rows are evaluated at two edges or on either side; 1 for slopes and for adjacent values."""
        single = ("slopes", "value_steps", "integer_steps")
        return 1 if all(p.derivative_info.kind in single for p in plans) else 2

    def row_bytes(self, plan: CellPlan) -> int:
        """Return the bytes of a value, the local effects and, if the rows are weighted, a weight."""
        n_floats = {"steps": 3, "value_steps": 4, "integer_steps": 4}.get(
            plan.derivative_info.kind, 2
        )
        return 8 * (n_floats + plan.column.weighted + len(plan.cells.gaps))

    def with_fine_cells(self, plan: CellPlan) -> CellPlan:
        """Return a plan with up to 1,024 fine cells, if local effects are evaluated at points."""
        cells, column = plan.cells, plan.column
        pointwise = plan.derivative_info.kind in ("slopes", "differences", "integer_steps")
        if not pointwise or not 0 < len(cells) < _FINE // 2:
            return plan
        between = uniform_edges(float(cells.edges[0]), float(cells.edges[-1]), _FINE - len(cells))
        fine = Cells(distinct(np.concatenate([cells.edges, column.snap(between)])), cells.closed)
        return replace(plan, cells=fine, coarse=np.searchsorted(fine.edges, cells.edges))

    def compute(self, evaluator: BatchEvaluator, plan: CellPlan, keep: Bools | None) -> BatchStats:
        """Return the moments of the local effects by cell; in a second round, of the differences across the bins."""
        cells, column = (
            plan.cells if plan.difference_bins is None else plan.difference_bins,
            plan.column,
        )
        x = evaluator.column(column.feature.position)
        cell = cells.locate(x)
        if len(cells) == 0:
            return BatchStats({LOCAL: Moments.zeros(0), AXIS: Moments.zeros(0)})
        gaps: dict[str, Moments] = {}
        across_gaps: Floats | None = None
        if plan.nearest is not None and plan.difference_bins is None:
            across_gaps = _across_gaps(evaluator, column.feature.position, plan.nearest)
            gaps = {GAP: gap_moments(plan.nearest, x, across_gaps, evaluator.weights)}
        outside, all_weights = cell < 0, evaluator.weights
        if outside.any():
            outside &= ~np.isnan(x)
            rows = np.flatnonzero(cell >= 0)
            evaluator, cell, x = evaluator.subset(rows), cell[rows], x[rows]
            keep = None if keep is None else keep[rows]
            across_gaps = None if across_gaps is None else across_gaps[rows]
        if plan.difference_bins is not None:
            difference = evaluator.cell_differences(column.feature.position, cells.edges, cell)
            effects = difference / cells.widths.take(cell)
            moments = {RISE: Moments.of(effects, cell, len(cells), evaluator.weights)}
            return BatchStats(moments, select_rows({"across": effects}, keep))
        if plan.values is not None:
            by_values = self._by_values(evaluator, plan, (x, cell), keep)
            return by_values.with_outside(outside, all_weights)
        effects = self._effects(evaluator, plan, cell)
        local, axis = Moments.of_both(effects, x, cell, len(cells), evaluator.weights)
        return BatchStats(
            {LOCAL: local, AXIS: axis, **gaps},
            select_rows(
                {
                    "x": x,
                    "effect": effects,
                    "weight": evaluator.weights,
                    "across_gaps": across_gaps,
                },
                keep,
            ),
            _largest(effects),
        ).with_outside(outside, all_weights)

    def _by_values(
        self,
        evaluator: BatchEvaluator,
        plan: CellPlan,
        at: tuple[Floats, Ints],
        keep: Bools | None,
    ) -> BatchStats:
        """Return the moments of the differences between each row's value and the adjacent values."""
        (x, cell), values, cells, j = at, plan.values, plan.cells, plan.column.feature.position
        if values is None:
            raise TypeError("differences between values require a plan with values")
        code = np.searchsorted(values, x)
        size, w = len(values), evaluator.weights
        down, up = adjacent_differences(evaluator, lambda codes: {j: values[codes]}, code, size)
        both = mask_missing_steps(down, up, code, size)
        slopes = slopes_between(values, code, both)
        if plan.derivative_info.kind == "value_steps":
            effects = own_slopes(code, slopes)
        else:
            exists = ~np.isnan(slopes)
            effects = np.where(exists, slopes, 0.0).sum(axis=1) / exists.sum(axis=1)
        local, axis = Moments.of_both(effects, x, cell, len(cells), w)
        moments = {**step_moments(down, up, code, size, w), LOCAL: local, AXIS: axis}
        kept = {"x": x, "effect": both, "weight": w, "across": effects}
        return BatchStats(moments, select_rows(kept, keep), _largest(effects))

    def _effects(self, evaluator: BatchEvaluator, plan: CellPlan, cell: Ints) -> Floats:
        """Return each row's local effect: its slope, or its difference across its cell divided by the width."""
        column, cells = plan.column, plan.cells
        if plan.at_points:
            effects = evaluator.local_slopes(column, plan.derivative_info)
            if not np.isfinite(effects.sum()) and not np.isfinite(effects).all():
                bad = int((~np.isfinite(effects)).sum())
                raise ModelOutputError(
                    f"slope of {column.feature.name!r}",
                    f"NaN or infinity for {bad} rows",
                    "finite numbers",
                    "Check the slope function, also for missing values in X",
                )
            return effects
        difference = evaluator.cell_differences(column.feature.position, cells.edges, cell)
        return difference / cells.widths.take(cell)

    def finalize(
        self, plan: CellPlan, stats: BatchStats, about: About, *, exact: bool, kind: WeightKind
    ) -> Effect:
        """Choose the bins as unions of cells, and accumulate."""
        check_rows_in_cells(plan.column.feature, stats.moments[LOCAL].count[: len(plan.cells)])
        spec, rows = self._spec(plan, kind), kept_rows(stats, exact=exact)
        effect = self._effect(plan, stats, spec, about, rows)
        notes = {"local_effects": plan.derivative_info.description, **stats.notes_outside}
        return effect.with_provenance({**notes, **plan.notes})

    def accumulated_spec(self, local_effects: LocalEffectKind, kind: WeightKind) -> Spec:
        """Return the settings that an accumulated result needs."""
        return replace(
            self.spec(self.center, local_effects, kind),
            accumulate=self.accumulate,
            ddof=self.ddof,
            accumulate_se=self.accumulate_se,
        )

    def _spec(self, plan: CellPlan, kind: WeightKind) -> Spec:
        spec = self.accumulated_spec(plan.derivative_info.kind, kind)
        return replace(spec, closed=plan.cells.closed)

    def _effect(
        self, plan: CellPlan, local: BatchStats, spec: Spec, about: About, rows: Rows | None
    ) -> AccumulatedEffect:
        """Choose the bins as unions of cells, and accumulate."""
        cells, moments = plan.cells, local.moments
        if plan.derivative_info.kind == "value_steps":
            all_edges = np.arange(len(cells.edges))
            return accumulated_effect(
                cells, moments, all_edges, spec, about, rows, values=plan.values
            )
        scheme = self.binning()
        if spec.parameters.get("bins") == "auto" and spec.pointwise:
            spec = replace(spec, parameters={**spec.parameters, "bins": scheme.describe()})
        options = variance_options(spec, local.largest, plan.column.feature.name)
        found = select_bins(scheme, cells, moments, spec, options, rows, plan.coarse, plan.values)
        gathered = found.moments if plan.values is None else {**moments, **found.moments}
        return accumulated_effect(
            found.cells, gathered, found.kept, spec, about, rows, found.trend, plan.values
        )


def slopes_between(values: Floats, code: Ints, both: Floats) -> Floats:
    """Return each row's slopes from the previous value and to the next one, (n, 2), given both differences."""
    widths = np.append(np.append(np.nan, np.diff(values)), np.nan)
    return both / np.stack([widths[code], widths[code + 1]], axis=1)


def own_slopes(code: Ints, slopes: Floats) -> Floats:
    """Return the slope of each row's cell, which ends at its value; that of the first value begins there."""
    return np.where(code > 0, slopes[:, 0], slopes[:, 1])


def _across_gaps(evaluator: BatchEvaluator, j: int, nearest: Nearest) -> Floats:
    """Return the rows' differences across gaps over their widths, (n, gaps); NaN for rows that are not the nearest."""
    rows, group = nearest.rows(evaluator.column(j), evaluator.identifiers)
    slope = np.full((len(evaluator.column(j)), len(nearest.low) // 2), np.nan)
    if len(rows):
        low, high = nearest.across[group].T
        part = evaluator.subset(rows, 2)
        slope[rows, group // 2] = part.edge_differences(j, low, high) / (high - low)
    return slope


def gap_moments(nearest: Nearest, x: Floats, slope: Floats, weights: Floats | None) -> Moments:
    """Return the moments of the rows' slopes across gaps, (n, gaps), two a gap: of rows on its left and its right."""
    row, gap = np.nonzero(~np.isnan(slope))
    group = 2 * gap + (x[row] > nearest.across[2 * gap, 0])
    own = None if weights is None else weights[row]
    return Moments.of(slope[row, gap], group, len(nearest.low), own)


_VALUES = DerivativeInfo("value_steps", "steps between the feature's few distinct values")

_BETWEEN = DerivativeInfo("integer_steps", "steps between the feature's few distinct values")

_INTEGERS = DerivativeInfo("integer_steps", "steps between neighbouring observed integers")

_BESIDE_GAPS = DerivativeInfo(
    "steps",
    "differences across bins, because bins of slopes would span the gaps between the values",
)

_NEAR_INTEGERS = DerivativeInfo(
    "differences",
    "differences between integers near each row, also between integers that do not occur: data that are read in "
    "chunks have too many distinct values",
)


def _largest(effects: Floats) -> float:
    return float(max(effects.max(), -effects.min())) if len(effects) else 0.0


def no_derivatives(name: str, column: Column, derivative_info: DerivativeInfo) -> str:
    """Return the error message for a model without derivatives."""
    return format_error(
        f"{name} of {column.feature.name!r}",
        f"a model without derivatives ({derivative_info.description})",
        "a differentiable model",
        "Use sd.RHALE(), which uses differences across bins, or sd.ALE()",
    )


# --- ALE (Apley & Zhu 2020; RHALE Eq. 3) ----------------------------------------------------------


@checked_call
@dataclass(frozen=True)
class ALE(Accumulated):
    """Accumulated local effects of a numeric or categorical feature, or of two features.

    Parameters
    ----------
    bins : "auto", int, Binning or mapping
        "auto": 32 quantiles, with more cells for values that many rows have, gaps and sparse tails
        (docs/explanation/effects.md, cells); for a feature with few values (at most 13, or at most 64 with on average
        at least ten rows per value) its values, where the difference between two adjacent values is the mean of the
        two values' mean differences. An integer means `Quantile` bins; ``{"feature": bins}`` sets them for each
        feature. For a scheme that chooses bins (`Optimal`, …), differences are computed across its fine cells, which
        are then merged. For two features "auto" means 20 quantiles, or the values of a feature with few values.
    center, accumulate, ddof, accumulate_se, top_levels
        As in `RHALE`.
    order : None, "similarity", sequence of levels, or a mapping of these by feature
        Order of a categorical feature's levels. None: the feature's own order if it is ordinal or declared, else by
        the similarity of the levels in the other features (Apley & Zhu).
    empty : {"nearest", None}
        For two features: cells without rows take the double difference of the nearest cell with rows ("nearest"), or
        contribute nothing and, for numeric features, have no value (None). They are marked in both cases.

    Notes
    -----
    Costs at most 2 N model rows per feature, and about 128 for each gap; fewer if edges equal the rows' own values. The
    same holds for features with few values and for categorical features, plus N once for all of them. For two numeric
    features 4 N, independent of the bins; at most 6 N if one of the two is categorical, 9 N if both are.

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

    order: Order | ByFeature[Order] = None
    empty: Literal["nearest"] | None = "nearest"

    uses_slopes = False
    by_feature = ("bins", "order")
    default_scheme: ClassVar[Binning] = Quantile(N_AUTO_CELLS)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option("ALE(empty)", self.empty, ("nearest", None))

    def scheme(self, bins: Scheme) -> Binning:
        """Return the scheme; bins with a user's edges are closed on the right, like quantiles."""
        return quantile_scheme(bins, self.default_scheme)

    def for_levels(self, feature: Feature) -> LevelSteps:
        return LevelSteps(self, self.order)

    def substitute_for(self, feature: Feature) -> LevelSteps:
        """Return the method for a categorical feature when all features are explained: the categorical ALE."""
        return self.for_levels(feature)

    def for_pair(self, features: tuple[Feature, Feature]) -> PairALE:
        return PairALE(self, self.order)

    def fixed_binning(self, feature: Feature) -> Binning:
        """Return the scheme for one of two features, which must not depend on local effects."""
        bins = self._bins_for(feature)
        return OwnValuesOrQuantiles() if bins == "auto" else fixed(self.scheme(bins), self.name)

    def plan(self, column: Column, derivative_info: DerivativeInfo) -> CellPlan:
        """Choose the bins. Derivatives are not used, even if the quantity has them."""
        return super().plan(column, DerivativeInfo("edges", "differences across each row's bin"))


# --- DALE (Gkolemis et al. 2022; RHALE Eq. 4) -----------------------------------------------------


@checked_call
@dataclass(frozen=True)
class DALE(Accumulated):
    """Differential accumulated local effects of a feature or of two features, on bins that you choose.

    Parameters
    ----------
    bins : "auto", int, Binning or mapping
        "auto": 20 bins of equal width; for a feature with few values, the intervals between adjacent values. An integer
        means `Uniform` bins; ``{"feature": bins}`` sets them for each feature.
    center, accumulate, ddof, accumulate_se, top_levels
        As in `RHALE`.
    empty : {"nearest", None}
        For two features, as in `ALE`.

    Raises
    ------
    UnsupportedError
        If the model is piecewise constant, because its derivative is zero almost everywhere.

    Notes
    -----
    Costs N slope rows for all features together if the model has slopes, else 2 N model rows per feature; and up to
    1,500 model rows per feature to compare slopes with differences of the model. For two features the local effect is
    the mixed second derivative: N slope rows if the model provides it, else 2 N slope rows, else 4 N model rows.

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
        check_option("DALE(empty)", self.empty, ("nearest", None))

    def substitute_for(self, feature: Feature) -> LevelSteps:
        """Return the method for a categorical feature when all features are explained: ALE, which needs no slopes."""
        return LevelSteps(self, instead_of=self.name)

    def for_pair(self, features: tuple[Feature, Feature]) -> PairDALE:
        return PairDALE(self)

    def fixed_binning(self, feature: Feature) -> Binning:
        """Return the scheme for one of two features."""
        bins = self._bins_for(feature)
        return fixed(self.scheme(bins), self.name)

    def plan(self, column: Column, derivative_info: DerivativeInfo) -> CellPlan:
        """Choose the bins; raise for a model without derivatives."""
        if derivative_info.kind == "steps":
            raise UnsupportedError(no_derivatives(self.name, column, derivative_info))
        return super().plan(column, derivative_info)


# --- RHALE (Gkolemis et al. 2023) and UALE --------------------------------------------------------


DEFAULT_BINS = Optimal(criterion="likelihood")
"""The default bins. On all cases of the papers they are better than Eq. 13 at the papers' settings
(docs/guides/bins.md)."""


@checked_call
@dataclass(frozen=True)
class RHALE(Accumulated):
    """The average effect and its heterogeneity, on bins chosen automatically.

    Parameters
    ----------
    bins : "auto", int, Binning or mapping
        "auto": ``Optimal(criterion="likelihood")`` for slopes; for step functions and features with few values, the
        fewest unions of the cells of ``ALE(bins="auto")`` whose polyline approximates the curve to within a tenth of
        √(importance² + score²). An integer means `Uniform` bins. The papers' bins are `Optimal()`. For step functions,
        explicit edges (`Uniform`, `Quantile`, `Edges`) define both the cells and the bins.
    center : {"mean", "start", None}
        "mean" subtracts the mean over bins of the mid-values, weighted by their rows; with "start" and None the curve
        starts at zero at the left end.
    accumulate : {"variance", "std"}
        `Effect.accumulated_std`: root of the sum of width² std² (Eq. 16), or sum of width * std (UALE Eq. 9).
    ddof : {1, 0}
        1 divides variances within bins by n - 1 (Eq. 11), 0 by n (UALE Eq. 11, the draft's Eq. 4).
    accumulate_se : {"quadrature", "sum"}
        Standard errors of the bins are added in quadrature, as for independent errors, or by the draft's Eq. 5, which
        is conservative.
    top_levels : int, optional
        For a categorical feature, the number of most frequent levels to use.
    local_effects : {"auto", "slopes", "steps"}
        "auto" uses slopes unless the model is known or found to be piecewise constant, or its slopes do not match its
        differences. "slopes" uses slopes unless the model is known to be piecewise constant. "steps" treats the model
        as a step function.

    Notes
    -----
    Costs N slope rows for all features together if the model has slopes, else 2 N model rows per feature; and up to
    1,500 model rows per feature to compare slopes with differences of the model. For step functions and features with
    few values: 2 N model rows per feature for the curve, about 128 more for each gap, and in a second round up to 2 N
    for the rows' differences across the bins that the first round chose. The number of bins does not change the cost.

    For step functions, `x`, `value` and `std_error` refer to the edges of the cells and are those of the ALE; `bins`
    are the chosen bins. A row's local effect is its difference across its whole bin divided by the bin's width, so that
    Eq. 16 adds variances of differences, for any cells.

    For an ordinal feature the local effects are differences between adjacent levels, which cost each row at most twice,
    plus once at its own level; the same dynamic program groups adjacent differences of similar size. A nominal feature
    has no axis: explaining it by name raises an error, and with ``features=None`` its categorical `ALE` is returned.

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

    default_scheme: ClassVar[Binning] = DEFAULT_BINS
    checks_slopes = True

    @property
    def replaces_slopes(self) -> bool:
        """Return whether slopes that do not match the differences are replaced: not for ``local_effects="slopes"``."""
        return self.local_effects != "slopes"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(f"{self.name}(local_effects)", self.local_effects, ("auto", "slopes", "steps"))

    def for_levels(self, feature: Feature) -> LevelSteps:
        """Return the variant for an ordinal feature: differences between adjacent levels, grouped by the scheme.

        Raise `UnsupportedError` for a nominal feature, and for a scheme that does not group levels.
        """
        chooses = isinstance(self.binning(), (Optimal, Greedy))
        if feature.kind == "ordinal" and chooses:
            return LevelSteps(self, grouped=True)
        if feature.kind == "ordinal":
            raise UnsupportedError(
                f"{self.name}(bins={type(self.binning()).__name__}) of {feature.name!r}",
                "bins on an axis",
                "Optimal or Greedy, which group levels",
                "Use sd.RHALE(). If the values are numbers, declare the feature continuous",
            )
        raise self.no_levels_error(feature)

    def substitute_for(self, feature: Feature) -> LevelSteps:
        """Return the method for a categorical feature when all features are explained: ALE unless it is ordinal."""
        if feature.kind == "ordinal" and isinstance(self.binning(), (Optimal, Greedy)):
            return LevelSteps(self, grouped=True)
        return LevelSteps(self, instead_of=self.name)

    def plan(self, column: Column, derivative_info: DerivativeInfo) -> CellPlan:
        """Choose the fine cells; the bins are chosen from the local effects later."""
        if self.local_effects == "steps":
            derivative_info = DerivativeInfo("steps", "differences across bins, as requested")
        elif self.local_effects == "slopes" and derivative_info.kind == "steps":
            if derivative_info.exact:
                raise UnsupportedError(no_derivatives(self.name, column, derivative_info))
            derivative_info = DerivativeInfo("differences", "central differences, as requested")
        return super().plan(column, derivative_info)

    def may_continue(self, plan: CellPlan) -> bool:
        """Return whether bins of a step function will be chosen; explicit edges define both the cells and the bins."""
        first = plan.difference_bins is None and plan.on_cells and len(plan.cells) > 0
        return first and not is_fixed(self.bins)

    def next_round(
        self,
        plan: CellPlan,
        local: BatchStats,
        score: HeterogeneityScore | None,
        about: About,
        kind: WeightKind,
    ) -> CellPlan | None:
        """Return the plan of a second round for step functions, which computes differences across the chosen bins."""
        if not self.may_continue(plan):
            return None
        scheme, spec = self.binning(), self._spec(plan, kind)
        if scheme.uses_likelihood:
            centred = replace(spec, center="mean")
            curve = self._on_cells(plan, local, centred, about, None)
            kept = select_summary_bins(curve, score)
        else:
            options = variance_options(spec, local.largest, plan.column.feature.name)
            kept = scheme.choose(plan.cells, local.moments[LOCAL], options)
        # If every cell is a bin, the differences are known from the first round.
        return (
            None
            if len(kept) > len(plan.cells)
            else replace(plan, difference_bins=plan.cells.merge(kept))
        )

    def _effect(
        self, plan: CellPlan, local: BatchStats, spec: Spec, about: About, rows: Rows | None
    ) -> AccumulatedEffect:
        """Choose the bins and accumulate; for step functions, add the chosen bins to the ALE."""
        if not plan.on_cells or len(plan.cells) == 0:
            return super()._effect(plan, local, spec, about, rows)
        effect = self._on_cells(plan, local, spec, about, rows)
        if plan.difference_bins is None:
            return summarise_in_bins(effect, np.arange(len(plan.cells.edges)), local.moments[LOCAL])
        kept = np.searchsorted(plan.cells.edges, plan.difference_bins.edges)
        return summarise_in_bins(effect, kept, local.moments[RISE])

    def _on_cells(
        self, plan: CellPlan, local: BatchStats, spec: Spec, about: About, rows: Rows | None
    ) -> AccumulatedEffect:
        """Return the ALE on all cells."""
        edges = np.arange(len(plan.cells.edges))
        return accumulated_effect(
            plan.cells, local.moments, edges, spec, about, rows, values=plan.values
        )


@checked_call
@dataclass(frozen=True)
class UALE(RHALE):
    """RHALE that accumulates standard deviations (UALE Eq. 9) with variances divided by n (Eq. 11).

    Parameters, cost and errors are those of `RHALE`.

    References
    ----------
    Uncertainty-aware Accumulated Local Effects, Eq. 8 to 15. (Eq. 15 of the paper omits the width and the discount, and
    reverses the feasibility condition; `UALE(bins=Optimal())` minimises Eq. 13 instead. The default bins are those of
    `RHALE`.)

    Examples
    --------
    >>> UALE().accumulate, UALE().ddof
    ('std', 0)
    """

    accumulate: Accumulate = "std"
    ddof: int = 0
