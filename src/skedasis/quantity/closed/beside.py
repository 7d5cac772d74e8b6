"""Steps side by side: transformers of some of the columns each, or of all of them, whose outputs are joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.quantity.closed.chain import Step
from skedasis.quantity.closed.rows import columns


@dataclass(frozen=True, eq=False)
class Branch:
    """One of several transformers.

    Parameters
    ----------
    places : ndarray of int
        The inputs' columns that it takes.
    outputs : slice
        The columns of the joint outputs that are its own.
    step : Step
    weight : float
        What its outputs are multiplied with.
    whole : bool
        Whether it takes all columns, in their order.
    """

    places: Ints
    outputs: slice
    step: Step
    weight: float = 1.0
    whole: bool = False

    def pull(self, Z: Any, G: Floats) -> Floats:
        """Return the gradient by its own columns, (n, k) or (1, k)."""
        own = Z if self.step.flat or self.whole else columns(Z, self.places)
        return self.step.pull(own, G[:, self.outputs] * self.weight)

    def taint(self, bad: Bools | None) -> Bools | None:
        """Return which of its own columns act through a jump."""
        return self.step.taint(None if bad is None else bad[self.outputs])


@dataclass(frozen=True, eq=False)
class Beside(Step):
    """Branches whose outputs stand side by side. Columns that none of them takes have a slope of zero."""

    model: Any
    branches: Sequence[Branch]
    size: int

    @property
    def flat(self) -> bool:  # type: ignore[override]
        """Return whether all branches are."""
        return all(b.step.flat for b in self.branches)

    def pull(self, Z: Any, G: Floats) -> Floats:
        """Add up what all branches give back."""
        parts = [b.pull(Z, G) for b in self.branches]
        back = np.zeros((max((len(p) for p in parts), default=1), self.size))
        for branch, part in zip(self.branches, parts, strict=True):
            for k, j in enumerate(branch.places):  # a column may stand among them twice
                back[:, j] += part[:, k]
        return back

    def taint(self, bad: Bools | None) -> Bools | None:
        """Return what acts through a jump in one of the branches."""
        back = np.zeros(self.size, dtype=bool)
        for branch in self.branches:
            own = branch.taint(bad)
            if own is not None:
                back[branch.places[own]] = True
        return back if back.any() else None

    @property
    def outputs(self) -> int:
        """Return the number of joint outputs."""
        return max((b.outputs.stop for b in self.branches), default=0)

    @property
    def width(self) -> int:
        """Return the sum of the branches' widths, and the joint inputs and outputs."""
        return 2 * (self.outputs + self.size) + sum(b.step.width for b in self.branches)
