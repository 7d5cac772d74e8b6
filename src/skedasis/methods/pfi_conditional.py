"""Conditional PFI: values borrowed within subgroups of rows that are alike in the other features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.dataset import Source
from skedasis.data.features import Feature
from skedasis.errors import UnsupportedError, explained
from skedasis.methods.base import Local
from skedasis.methods.bound import Bound
from skedasis.methods.deal import deal
from skedasis.methods.pfi import PFI
from skedasis.methods.pfi_forms import Lent, RowPFI
from skedasis.methods.subgroups import subgroups
from skedasis.models.adapters import Traits
from skedasis.quantities.base import Quantity
from skedasis.results.importance import Importance
from skedasis.stats.moments import WeightKind
from skedasis.stats.resampling import parts_error

LEAST_ROWS = 7
"""Fewer rows have no standard error."""


def conditional_form(base: PFI, quantity: Quantity, source: Source, seed: int) -> ConditionalPFI:
    """Return the form for subgroups.

    Raises
    ------
    UnsupportedError
        For what does not know the label.
    """
    _check_conditional(quantity)
    return ConditionalPFI(base, source, seed)


def _check_conditional(quantity: Quantity) -> None:
    parts = getattr(quantity, "parts", None) or {None: quantity}
    if all(q.labelled for q in parts.values()):
        return
    raise UnsupportedError(
        explained(
            f"PFI(conditional=True) of {quantity.describe()}",
            "a quantity that does not know the label",
            "a loss, or a negative log-likelihood",
            "Leave conditional out: drawn from its conditional distribution a feature leaves the joint "
            "distribution as it is, so such an importance is zero by construction (entropy_importance, Proposition 3)",
        )
    )


@dataclass(frozen=True)
class ConditionalPFI(RowPFI):
    """Values borrowed within subgroups of rows that are alike in the other features (Molnar et al. 2023)."""

    def plan(self, column: Feature, traits: Traits) -> Lent:
        """Find the subgroups."""
        found = subgroups(self.source, column, self.base.subgroup_rows, self.seed)
        rows, w = self.source, self.source.weights
        dealt = deal(len(rows), rows.sorted, self.base.repeats, self.seed, w, found)
        return Lent(column, dealt, {"subgroups": {column.name: int(found.max()) + 1}})

    def _sums(self, bound: Bound, plan: Lent, rises: Floats, lenders: Ints) -> dict[str, Any]:
        """Sum by blocks of lenders, too."""
        found = super()._sums(bound, plan, rises, lenders)
        return {**found, "lent": self._by_lender(plan, rises, lenders)}

    def read(
        self, plan: Lent, local: Local, about: Any, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Average; the error takes what a row lends and what it receives for its part."""
        received, lent = (local.moments[k].sums for k in ("rises", "lent"))
        values = received.sum(axis=1) / self.weight
        everyone, w = np.arange(len(self.source)), self.source.weights
        spread: list[float] = []
        for some, circle in plan.circles.turns:  # each has blocks of its own
            weight = np.bincount(circle.block(everyone), w, received.shape[1])
            part = (received[some] + lent[some]).mean(axis=0)
            spread.append(parts_error(part - 2 * values.mean() * weight, self.weight)[0])
        # Parts are independent rows: weights that are frequencies stand for more of them.
        norm = self._norm(kind)
        error = float(np.sqrt(np.mean(np.square(spread)) * norm[1] / norm[0]))
        freedom = float(min(received.shape[1], len(self.source)) - 1)
        if len(self.source) < LEAST_ROWS:
            error, freedom = np.nan, np.nan
        return self._result(plan, local, about, values, (error, freedom), exact=exact)
