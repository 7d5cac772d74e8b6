"""Sums of kept rows in cells, for many counts of the rows at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.results.intervals.counted import Of
from skedasis.stats.moments import Moments
from skedasis.stats.resampling import Draws


@dataclass(frozen=True, eq=False)
class Columns:
    """Rows laid out by cell, so that sums in cells are one sparse product for many replicates.

    Parameters
    ----------
    place : ndarray of int, shape (n,)
        Each row's cell; -1 for none.
    cells : int
    values : dict of str to ndarray of float, shape (n,)
    draws : Draws
    """

    place: Ints
    cells: int
    values: dict[str, Floats]
    draws: Draws

    def summed(self, names: tuple[str, ...], *, squares: bool) -> Summed:
        """Return what gathers these moments."""
        inside = np.flatnonzero(self.place >= 0)
        order = inside[np.argsort(self.place[inside], kind="stable")]
        group = self.place[order]
        w = self.draws.weight
        worth = w[order] if w is not None and self.draws.kind == "sampling" else None
        ones = np.ones(len(order))
        parts = [ones] if worth is None else [ones, worth, worth**2]
        middle = {}
        for name in names:
            value = self.values[name][order]
            middle[name] = Moments.of(value, group, self.cells, worth).mean
            moved = value - middle[name][group]
            first = moved if worth is None else worth * moved
            parts += [first, first * moved] if squares else [first]
        ends = np.searchsorted(group, np.arange(self.cells + 1))
        matrix = sums_of(parts, order, ends, len(self.place))
        return Summed(middle, matrix, 1 if worth is None else 3, squares)


def sums_of(values: Sequence[Floats], order: Ints, ends: Ints, rows: int) -> Any:
    """Return the matrix (cells * parts, rows) that sums several values of the same rows by cell.

    Parameters
    ----------
    values : sequence of ndarray of float, shape (n,)
        Of the rows in `order`.
    order : ndarray of int, shape (n,)
        The rows, cell by cell.
    ends : ndarray of int, shape (cells + 1,)
        Where each cell begins in `order`.
    rows : int

    Notes
    -----
    All parts of a cell follow one another, so that the counts of its rows are near when they are needed again.
    """
    from scipy.sparse import csr_array

    spans = [slice(a, b) for a, b in pairwise(ends)]
    parts = len(values)
    data = np.concatenate([np.zeros(0), *(v[s] for s in spans for v in values)])
    index = np.concatenate([np.zeros(0, np.int32), *(np.tile(order[s], parts) for s in spans)])
    ends = np.concatenate([[0], np.cumsum(np.repeat(np.diff(ends), parts))])
    shape = (parts * len(spans), rows)
    return csr_array((data, index.astype(np.int32), ends.astype(np.int32)), shape)


@dataclass(frozen=True, eq=False)
class Summed:
    """From counts of rows to moments of cells.

    Parameters
    ----------
    middle : dict of str to ndarray, shape (P,)
        The cells' means: values are summed as deviations from these, so that an offset costs no digits.
    matrix : csr_array, shape (P * parts, n)
        Sums counts, with sampling weights also these and their squares; then of each value weighted deviations, and
        their squares.
    sizes : int
        How many parts are sizes.
    squares : bool
    """

    middle: dict[str, Floats]
    matrix: Any
    sizes: int
    squares: bool

    def __call__(self, counts: Floats) -> dict[str, Moments]:
        """Return moments (P, R) from counts (n, R)."""
        counts = np.ascontiguousarray(counts, dtype=float)
        each = 2 if self.squares else 1
        parts = self.sizes + each * len(self.middle)
        sums = (self.matrix @ counts).reshape(-1, parts, counts.shape[1])
        count = sums[:, 0]
        weight, weight2 = (count, count) if self.sizes == 1 else (sums[:, 1], sums[:, 2])
        safe = np.where(weight > 0, weight, 1.0)
        found = {}
        for k, (name, middle) in enumerate(self.middle.items()):
            place = self.sizes + each * k
            moved = sums[:, place] / safe
            m2 = np.zeros_like(weight)
            if self.squares:
                m2 = np.maximum(sums[:, place + 1] - safe * moved**2, 0.0)
            mean = np.where(weight > 0, middle[:, None] + moved, 0.0)
            found[name] = Moments(count, weight, weight2, mean, m2)
        return found


class Counted(ABC):
    """What can be counted otherwise."""

    draws: Draws

    @abstractmethod
    def repeated(self, of: Of) -> Any:
        """Return what gives (m, R) from counts (n, R)."""

    @property
    def weight(self) -> Floats:
        """Return how often each row is there."""
        w = self.draws.weight
        return np.ones(self.draws.rows) if w is None else w

    def value(self, counts: Floats) -> Floats:
        """Return the effect, (m,), with each row counted so often, (n,)."""
        return self.repeated("value")(np.asarray(counts, dtype=float)[:, None])[:, 0]
