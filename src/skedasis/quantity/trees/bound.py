"""`TreeBound`: a quantity of an ensemble of trees on one batch. The model is not called at all."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.quantity.bound import Bound, Changes, sets_of
from skedasis.quantity.trees.coding import Codes
from skedasis.quantity.trees.forest import TreeRows
from skedasis.quantity.trees.standin import StandIn


class TreeBound(Bound):
    """One batch of rows bound to a quantity of trees.

    What it answers is what `Bound` answers, found by walking the trees. Where the quantity is the sum of the leaves
    itself, differences and means are taken before anything is summed up row by row.
    """

    @cached_property
    def _buffer(self) -> TreeRows:
        stand_in: StandIn = self.quantity.called
        if self._whole is not None:
            whole, rows = self._whole
            return whole._buffer.some(rows)  # noqa: SLF001 - its own kind
        return stand_in.forest.on(self.batch)

    @cached_property
    def _part(self) -> tuple[int, Any] | None:
        """Return which output's sum the quantity is, and its trees on the rows; None where it is another function."""
        output = self.quantity.called.plain_output(self.quantity)
        return None if output is None else (output, self._buffer.part(output))

    def _ask(self, changes: Changes, sets: int, where: str) -> Any:
        """Walk the trees."""
        rows = self._buffer
        question = rows.swept(changes, sets) if changes else rows.own()
        self.meter.tree_rows += len(question)
        return self._timed(self.quantity.raw, question, where)

    def sweep_together(self, changes: Changes, m: int) -> Floats:
        """Return the quantity with columns replaced, (n, m)."""
        if self._part is None:
            return super().sweep_together(changes, m)
        output, _ = self._part
        rows = self._buffer
        self.meter.tree_rows += m * len(self)
        asked = {j: sets_of(values, 0, m) for j, values in changes.items()}
        found = self._timed(lambda _: rows.sums(output, asked, m), None, "the trees' sums")
        return (found + rows.forest.ensemble.base[output]).T

    def across(self, j: int, edges: Floats, cell: Ints) -> Floats:
        """Return q(z_k, x_c) - q(z_{k-1}, x_c) for the edges of each row's cell, (n,)."""
        forest = self._buffer.forest
        if self._part is None or forest.shape.place(j) < 0:
            return super().across(j, edges, cell)
        # There are few edges: their codes are handed out to the rows.
        codes = forest.numbers(j, edges)
        return self._between(j, codes[:-1].take(cell), codes[1:].take(cell))

    def edge_differences(self, j: int, low: Floats, high: Floats) -> Floats:
        """Return q(high, x_c) - q(low, x_c), (n,), from the leaves that differ."""
        if self._part is None:
            return super().edge_differences(j, low, high)
        if self._buffer.forest.shape.place(j) < 0:
            return np.zeros(len(self))
        below, above = self._buffer.coded(j, low[None]), self._buffer.coded(j, high[None])
        return self._between(j, below[0], above[0])

    def _between(self, j: int, low: Codes, high: Codes) -> Floats:
        """Return the rise from one code of each row in a column to another, (n,)."""
        if self._part is None:
            raise TypeError("only sums of leaves have differences of their own")
        part, place = self._part[1], self._buffer.forest.shape.place(j)
        self.meter.tree_rows += 2 * len(self)
        return self._timed(lambda _: part.between(place, low, high), None, "the trees' differences")

    def sums(self, changes: Changes, m: int) -> Floats:
        """Return the sums over the rows with columns replaced, (m,), from counts where one column is moved."""
        forest = self._buffer.forest
        tested = [j for j in changes if forest.shape.place(j) >= 0]
        if self._part is None or self.weights is not None or len(tested) > 1:
            return super().sums(changes, m)
        output, part = self._part
        self.meter.tree_rows += m * len(self)
        base = len(self) * float(forest.ensemble.base[output])
        if not tested:
            return np.full(m, base + part.total())
        place = forest.shape.place(tested[0])
        codes = self._buffer.coded(tested[0], sets_of(changes[tested[0]], 0, m))[:, 0]
        found = self._timed(lambda _: part.totals(place, codes), None, "the trees' means")
        return found + base
