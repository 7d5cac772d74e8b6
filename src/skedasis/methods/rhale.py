"""RHALE: robust and heterogeneity-aware ALE (Gkolemis et al. 2023), and UALE, where it came from.

Slopes at the rows as in DALE; bins by the optimal partition, of Eq. 13 or by its risk; the standard deviation of the
slopes within bins (Eq. 11) shows where rows differ. Step functions (ensembles of trees) have no slopes: their curve is
that of the ALE, and the bins summarise it (docs/explanation/heterogeneity.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from skedasis.binning import Binning, Greedy, Optimal, is_fixed
from skedasis.data.column_stats import Column
from skedasis.data.features import Feature
from skedasis.errors import UnsupportedError, explained
from skedasis.methods.accumulated import Accumulated, no_derivatives
from skedasis.methods.base import Local, Plan, one_of
from skedasis.methods.levels import LevelSteps
from skedasis.models.adapters import Traits
from skedasis.results.build.accumulated import accumulate, spread_of
from skedasis.results.build.linear_form import LOCAL, RISE
from skedasis.results.build.step_functions import chosen_for_reading, read_in_bins
from skedasis.results.effect import About, Effect, Rows, Spec
from skedasis.stats.ale_math import Accumulate
from skedasis.stats.moments import WeightKind

if TYPE_CHECKING:
    from skedasis.stats.heterogeneity_score import HeterogeneityScore

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
