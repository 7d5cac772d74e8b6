"""PFI of rows that differ in weight: the same means, and an error that knows what the weights are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.methods.base import Local
from skedasis.methods.bound import Bound
from skedasis.methods.pfi_forms import Lent, RowPFI
from skedasis.results.importance import Importance
from skedasis.stats.moments import Totals, WeightKind
from skedasis.stats.resampling import permutation_error


@dataclass(frozen=True)
class WeightedPFI(RowPFI):
    """Means over rows of different weights.

    A block's sum counts rows by their squared weights, as samples want it. Of frequencies a row of weight w is w rows,
    which count by w: where heavy rows vary less than light ones, or more, that is another error. Sums in which a row
    that borrows, or lends, has the root of its weight say by how much.
    """

    def _sums(self, bound: Bound, plan: Lent, rises: Floats, lenders: Ints) -> dict[str, Any]:
        """Sum by receivers and by lenders, with the rows' weights and with their roots."""
        found = super()._sums(bound, plan, rises, lenders)
        own, all_roots = bound.weights, np.sqrt(self._weights)
        roots = np.ones(len(bound)) if own is None else np.sqrt(own)
        # `rises` carry the receiver's weight, and so does a lender gather its own from all that borrow from it.
        found["lent"] = self._by_lender(plan, rises, lenders)
        found["rises by root"] = self._by_receiver(bound, plan, rises / roots)
        found["lent by root"] = self._by_lender(plan, rises / all_roots[lenders], lenders)
        return found

    @property
    def _weights(self) -> Floats:
        w = self.source.weights
        return np.ones(len(self.source)) if w is None else w

    def read(
        self, plan: Lent, local: Local, about: Any, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Average, and say how sure that is."""
        sums = local.moments["rises"].sums
        values = sums.sum(axis=1) / self.weight
        norm = self._norm(kind)
        if kind == "frequency":
            norm = norm[0] / self._repeated(plan, local, float(values.mean())), norm[1]
        error, freedom = permutation_error(self._parts(plan, sums), norm)
        if kind == "sampling":  # few heavy rows say no more than as few rows would
            freedom = min(freedom, max(norm[1] - 1, 1.0))
        return self._result(plan, local, about, values, (error, freedom), exact=exact)

    def _repeated(self, plan: Lent, local: Local, mean: float) -> float:
        """Return the rows' variance, each counted by its weight, beside that of rows counted by squared weights."""
        w = self._weights
        size = float(w.sum()), float(w @ w)
        by_root = self._spread(plan, local, " by root", mean, np.sqrt(w)) / size[0]
        by_weight = self._spread(plan, local, "", mean, w) / size[1]
        return by_root / by_weight if by_weight > 0 and by_root > 0 else 1.0

    def _spread(self, plan: Lent, local: Local, kind: str, mean: float, share: Floats) -> float:
        """Return the squares of what blocks lend and receive beyond the mean, summed, on average over the circles."""
        received: Totals = local.moments[f"rises{kind}"]
        lent: Totals = local.moments[f"lent{kind}"]
        everyone, found = np.arange(len(share)), []
        for some, circle in plan.circles.turns:
            usual = 2 * mean * np.bincount(circle.block(everyone), share, received.sums.shape[1])
            part = (received.sums[some] + lent.sums[some]).mean(axis=0) - usual
            found.append(float(((part - part.mean()) ** 2).sum()))
        return float(np.mean(found))
