"""Sums over a curve that accumulates mean steps, with the influence of each row: for errors of any such sum.

The curve's values at its nodes are the cumulated mean steps between them, less their mean. A row has a local step
across its cell; or, at one of few values or at a level, one to the value before and one to the value after. The mean
step is that of all rows whose steps cross it: of differences across cells and of levels all together, of few values ½
of the mean from below + ½ of the mean from above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.stats.moments import WeightKind, summed


@dataclass(frozen=True, eq=False)
class LocalSteps:
    """The local steps of n rows across the K steps of a curve.

    Entry e is the step `size[e]` of the row `row[e]`; entries are averaged within groups, of which `group`, (e,), is
    the number. The group q belongs to the step `step[q]` of the curve.
    """

    n: int
    row: Ints
    size: Floats
    group: Ints
    step: Ints
    n_steps: int

    @classmethod
    def across_cells(cls, n: int, row: Ints, cell: Ints, size: Floats, cells: int) -> Self:
        """Return the steps of rows across their cells."""
        return cls(n, row, size, cell, np.arange(cells), cells)

    @classmethod
    def between_values(
        cls, n: int, row: Ints, code: Ints, sizes: Floats, values: int, *, halves: bool
    ) -> Self:
        """Return the steps of rows at values or levels: `sizes`, (r, 2), from the one before and to the one after."""
        k = max(values - 1, 0)
        down, up = ~np.isnan(sizes[:, 0]), ~np.isnan(sizes[:, 1])
        # Steps from below begin at the row's value, those from above end there.
        group = np.concatenate([code[up], code[down] - 1 + (k if halves else 0)])
        step = np.tile(np.arange(k), 2 if halves else 1)
        size = np.concatenate([sizes[up, 1], sizes[down, 0]])
        return cls(n, np.concatenate([row[up], row[down]]), size, group, step, k)

    def combined(self, other: LocalSteps, own: float, others: float) -> LocalSteps:
        """Return a linear combination with the steps of another function of the same rows."""
        size = own * self.size + others * other.size
        return type(self)(self.n, self.row, size, self.group, self.step, self.n_steps)

    def means(self, weights: Floats, some: Bools | None = None) -> tuple[Floats, Floats, Floats]:
        """Return the weight of each group, its mean step, and its part in the curve's step, of all or some rows."""
        w = weights[self.row]
        if some is not None:
            w = np.where(some[self.row], w, 0.0)
        total = summed(self.group, w, len(self.step))
        has_rows = total > 0
        mean = summed(self.group, w * self.size, len(self.step)) / np.where(has_rows, total, 1.0)
        sides = np.bincount(self.step[has_rows], minlength=self.n_steps)
        part = np.where(has_rows, 1.0 / np.maximum(sides[self.step], 1), 0.0)
        return total, mean, part

    def steps(self, weights: Floats, some: Bools | None = None) -> Floats:
        """Return the mean steps of the curve, (K,), from all or some rows."""
        _, mean, part = self.means(weights, some)
        return summed(self.step, part * mean, self.n_steps)

    def influence(
        self, coefficients: Floats, weights: Floats, kind: WeightKind, some: Bools | None = None
    ) -> Floats:
        """Return what each row contributes per unit of its weight to ``coefficients @ steps``, less the mean, (n,).

        The factor √(m / (m − 1)) turns the sum of squares over a group of m rows into the squared error of its mean;
        of sampling weights, m is the effective number of rows.
        """
        total, mean, part = self.means(weights, some)
        m = total
        if kind == "sampling":
            w = (
                weights[self.row]
                if some is None
                else np.where(some[self.row], weights[self.row], 0)
            )
            squares = summed(self.group, w * w, len(self.step))
            m = total**2 / np.where(squares > 0, squares, 1.0)
        factor = np.where(m > 1, np.sqrt(m / np.where(m > 1, m - 1, 1.0)), 1.0)
        scale = coefficients[self.step] * part * factor / np.where(total > 0, total, 1.0)
        size = scale[self.group] * (self.size - mean[self.group])
        if some is not None:
            size = np.where(some[self.row], size, 0.0)
        return summed(self.row, size, self.n)


def step_coefficients(of_nodes: Floats) -> Floats:
    """Return the coefficients of the steps in a sum over the values at the nodes, whose coefficients sum to 0."""
    return np.cumsum(of_nodes[::-1])[::-1][1:]


@dataclass(frozen=True, eq=False)
class Places:
    """Where n rows are among the nodes of a curve: between `node` and the next one, at the fraction `part` of the way.

    Rows without a place (missing values, other levels) are not `known`.
    """

    node: Ints
    part: Floats
    known: Bools
    nodes: int

    @classmethod
    def of(cls, x: Floats, nodes: Floats) -> Self:
        """Return the places of coordinates, NaN for none, on an axis."""
        known, last = np.isfinite(x), max(len(nodes) - 2, 0)
        at = np.where(known, x, nodes[0])
        node = np.clip(np.searchsorted(nodes, at, side="right") - 1, 0, last)
        if len(nodes) == 1:
            return cls(node, np.zeros(len(x)), known, 1)
        width = nodes[node + 1] - nodes[node]
        return cls(node, np.clip((at - nodes[node]) / width, 0.0, 1.0), known, len(nodes))

    def at(self, values: Floats, missing: float = 0.0) -> Floats:
        """Return a curve at the rows, (n,), given its values at the nodes."""
        after = np.minimum(self.node + 1, self.nodes - 1)
        found = values[self.node] * (1.0 - self.part) + values[after] * self.part
        return np.where(self.known, found, missing)

    def shares(self, weights: Floats) -> Floats:
        """Return the coefficients of the nodes in the mean of the curve over rows: those known, of all weight."""
        return self.weights(weights / weights.sum())

    def weights(self, weights: Floats) -> Floats:
        """Return the weight of the rows at each node; a row counts for two nodes, by how near it is to each."""
        w = np.where(self.known, weights, 0.0)
        first = summed(self.node, w * (1.0 - self.part), self.nodes)
        after = np.minimum(self.node + 1, self.nodes - 1)
        return first + summed(after, w * self.part, self.nodes)
