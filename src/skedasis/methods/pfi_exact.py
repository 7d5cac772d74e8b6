"""PFI by all ordered pairs of rows: nothing is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skedasis._types import Bools
from skedasis.data.containers import Borrowed
from skedasis.data.dataset import Source
from skedasis.errors import DataError, explained
from skedasis.methods.base import Local
from skedasis.methods.bound import Bound
from skedasis.methods.deal import Deal
from skedasis.methods.pfi import PFI
from skedasis.methods.pfi_forms import CALL, Lent, OnRows
from skedasis.results.importance import Importance
from skedasis.stats.moments import Totals, WeightKind
from skedasis.stats.resampling import influence_error

_PAIRS = 200_000_000
"""Pairs of rows that are taken on at most."""


def exact_form(base: PFI, source: Source, seed: int) -> ExactPFI:
    """Return the form for all pairs.

    Raises
    ------
    DataError
        For too many rows.
    """
    _check_size(len(source))
    return ExactPFI(base, source, seed)


def _check_size(rows: int) -> None:
    if rows**2 > _PAIRS:
        raise DataError(
            explained(
                "PFI(exact=True)",
                f"{rows:,} rows, which are {rows**2:,} pairs for each feature",
                f"at most {_PAIRS:,} pairs",
                "Use sd.PFI(repeats=30), or max_samples",
            )
        )


@dataclass(frozen=True)
class ExactPFI(OnRows):
    """The mean over all ordered pairs of rows."""

    @cached_property
    def deal(self) -> Deal | None:
        """Return None: every row lends to every other."""
        return None

    @property
    def batch_rows(self) -> int | None:
        """Return how many rows meet all the others at a time."""
        return max(1, CALL // len(self.source))

    def sets(self, plans: Sequence[Any]) -> int:
        """Return how many values a row gets: those of all rows."""
        return len(self.source)

    def row_bytes(self, plan: Lent) -> int:
        """Return what a kept row costs."""
        return 32

    def local(self, bound: Bound, plan: Lent, keep: Bools | None) -> Local:
        """Call the model with everyone's values, and sum the rises by receiver and by lender."""
        n = len(self.source)
        everyone = Borrowed(self._rows(np.arange(n))[:, None])
        rises = self._after(bound, plan, everyone) - bound.at()
        w, all_w = bound.weights, self.source.weights
        mean = rises.mean(axis=0) if all_w is None else all_w @ rises / self.weight
        received = np.zeros(n)
        received[bound.places] = mean
        lent = (rises.sum(axis=1) if w is None else rises @ w) / self.weight
        own = bound.at()
        total = np.array([own.sum() if w is None else own @ w])
        sums = {"received": Totals(received), "lent": Totals(lent), "own": Totals(total)}
        return Local(sums, self._kept(bound, (own + mean)[None], keep))

    def read(
        self, plan: Lent, local: Local, about: Any, *, exact: bool, kind: WeightKind
    ) -> Importance:
        """Average, and say how sure that is."""
        received, lent = local.moments["received"].sums, local.moments["lent"].sums
        w = self.source.weights
        mean = float(received.mean() if w is None else w @ received / self.weight)
        error = influence_error(received + lent - 2 * mean, w, kind)
        return self._result(plan, local, about, np.array([mean]), error, exact=exact)
