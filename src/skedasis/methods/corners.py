"""The corners of a row's cell in two features, and the differences between them (ale_vs_pdp Eq. 6.5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.methods.bound import Bound
from skedasis.methods.pairs_base import SideColumn
from skedasis.results.build.pairs import CELL, HOME, JOINT, MAIN0, MAIN1, taking_part
from skedasis.results.surface import Side
from skedasis.stats.moments import Moments

UP, DOWN = (0, 0, 1), (-1, -1, 0)
"""Moves: the cell, and the nodes before and after it, counted from the row's home."""


@dataclass(frozen=True, eq=False)
class Differences:
    """What the corners give.

    Parameters
    ----------
    moments : dict of str to Moments
        What `skedasis.results.build.pairs.surface` reads.
    across : ndarray of float, shape (n, q), optional
        Each row's double differences in the cells that it takes part in, in the order of `taking_part`; NaN where there
        is no such cell. None where a feature is constant.
    largest : float
        The largest absolute value at a corner.
    """

    moments: dict[str, Moments]
    across: Floats | None
    largest: float


def differences(
    bound: Bound,
    sides: tuple[SideColumn, SideColumn],
    homes: tuple[Ints, Ints],
    x: tuple[Floats, Floats],
) -> Differences:
    """Evaluate the quantity at the corners of the rows' cells, and gather the differences by cell.

    Parameters
    ----------
    bound : Bound
    sides : tuple of two SideColumn
    homes : tuple of two ndarray of int, shape (n,)
        Where the rows live.
    x : tuple of two ndarray of float, shape (n,)
        Their values.

    Returns
    -------
    Differences
    """
    if all(not s.categorical and s.side.m > 1 for s in sides):
        return _of_numbers(bound, sides, homes, x)
    corners = Corners(bound, sides, homes)
    return Differences(corners.moments(x), corners.across(), _largest(*corners.at.values()))


def _largest(*values: Floats) -> float:
    return max((float(np.abs(v).max(initial=0.0)) for v in values), default=0.0)


def _of_numbers(
    bound: Bound,
    sides: tuple[SideColumn, SideColumn],
    homes: tuple[Ints, Ints],
    x: tuple[Floats, Floats],
) -> Differences:
    """Do so for two numeric features: four corners in one call, 4 n model rows."""
    low, high, share = [], [], []
    for side, home, values in zip(sides, homes, x, strict=True):
        edges = np.asarray(side.side.nodes)
        low.append(edges[:-1].take(home))
        high.append(edges[1:].take(home))
        share.append((values - low[-1]) / (high[-1] - low[-1]))
    first, second = (s.feature.position for s in sides)
    corners = {
        first: (low[0], high[0], low[0], high[0]),
        second: (low[1], low[1], high[1], high[1]),
    }
    q = bound.sweep_together(corners, 4).T
    below, before = q[1] - q[0], q[2] - q[0]
    delta = (q[3] - q[2]) - below
    k, m = (s.side.m - 1 for s in sides)
    cell = Moments.of(delta, homes[0] * m + homes[1], k * m, bound.weights)
    home = Moments(*cell.sizes, np.zeros(k * m), np.zeros(k * m))
    across = delta[:, None]
    # Between the two edges of the other feature the difference is interpolated to the row's own value.
    share[1] *= delta
    share[0] *= delta
    moments = {
        CELL: cell.reshape(k, m),
        HOME: home.reshape(k, m),
        MAIN0: Moments.of(below + share[1], homes[0], k, bound.weights),
        MAIN1: Moments.of(before + share[0], homes[1], m, bound.weights),
    }
    return Differences(moments, across, _largest(q))


def counted(cell: Ints, cells: int, weights: Floats | None) -> Moments:
    """Return the moments of rows of which only their number and weight matter."""
    return Moments.of(np.zeros(len(cell)), cell, cells, weights)


class Corners:
    """The quantity at the nodes around each row's home, and the differences between them.

    Parameters
    ----------
    bound : Bound
    sides : tuple of two SideColumn
    homes : tuple of two ndarray of int, shape (n,)

    Notes
    -----
    4 n model rows for two numeric features; 6 n at most with one categorical feature, 9 n with two, less what rows at
    the first and last levels save.
    """

    def __init__(
        self, bound: Bound, sides: tuple[SideColumn, SideColumn], homes: tuple[Ints, Ints]
    ) -> None:
        self.bound, self.sides, self.homes = bound, sides, homes
        self.at: dict[tuple[int, int], Floats] = {}
        # The feature of levels goes outside: its rows at the ends are left out there, once for both edges of the other.
        swap = sides[1].categorical and not sides[0].categorical
        outer, inner = (1, 0) if swap else (0, 1)
        for o in offsets(sides[outer].side):
            for group in _together(sides[inner]):
                self._ask(outer, o, inner, group)

    def _ask(self, outer: int, o: int, inner: int, group: tuple[int, ...]) -> None:
        """Evaluate at one node of the outer feature, and one or two of the inner one."""
        h, g = self.homes[outer], self.homes[inner]
        valid = _valid(self.sides[outer].side, h + o) & _valid(self.sides[inner].side, g + group[0])
        rows = np.flatnonzero(valid)
        keys = [(o, i) if outer == 0 else (i, o) for i in group]
        if len(rows) == 0:
            self.at |= dict.fromkeys(keys, np.zeros(len(h)))
            return
        part = self.bound if len(rows) == len(h) else self.bound.some(rows)
        if all(s.categorical for s in self.sides) and keys == [(0, 0)]:
            self.at[0, 0] = part.at()
            return
        nodes = np.stack([g[rows] + i for i in group], axis=1)
        first = np.broadcast_to((h[rows] + o)[:, None], nodes.shape)
        changes = {**self.sides[outer].changes(first), **self.sides[inner].changes(nodes)}
        found = part.sweep_together(changes, len(group))
        for k, key in enumerate(keys):
            self.at[key] = np.zeros(len(h))
            self.at[key][rows] = found[:, k]

    def moments(self, x: tuple[Floats, Floats]) -> dict[str, Moments]:
        """Return the moments that a surface is read off."""
        (h0, h1), weights = self.homes, self.bound.weights
        sides = (self.sides[0].side, self.sides[1].side)
        shape = sides[0].homes, sides[1].homes
        home = counted(h0 * shape[1] + h1, shape[0] * shape[1], weights)
        found = {
            CELL: self._cells(sides),
            HOME: home.reshape(*shape),
            MAIN0: self._main(0, x[1]),
            MAIN1: self._main(1, x[0]),
        }
        joint = self._joint(home)
        return found if joint is None else {**found, JOINT: joint.reshape(-1, *shape)}

    def across(self) -> Floats | None:
        """Return each row's double differences, (n, q); NaN where it has no such cell."""
        sides = (self.sides[0].side, self.sides[1].side)
        cells = taking_part(sides)[:, self.homes[0] * sides[1].homes + self.homes[1]]
        found = [
            (self.at[b0, b1] - self.at[a0, b1]) - (self.at[b0, a1] - self.at[a0, a1])
            for _, a0, b0 in moves(sides[0])
            for _, a1, b1 in moves(sides[1])
        ]
        return np.where(cells >= 0, found, np.nan).T.copy() if found else None

    def _joint(self, home: Moments) -> Moments | None:
        """Gather, home by home, the rows' double differences and the sums of each two of them."""
        across = self.across()
        if across is None:
            return None
        known, width = np.nan_to_num(across), self.sides[1].side.homes
        q, place = known.shape[1], self.homes[0] * width + self.homes[1]
        values = [known[:, i] for i in range(q)]
        values += [known[:, i] + known[:, j] for i in range(q) for j in range(i + 1, q)]
        parts = [Moments.of(v, place, len(home.weight), self.bound.weights, home) for v in values]
        return Moments(
            *(np.stack(a) for a in zip(*(p.arrays().values() for p in parts), strict=True))
        )

    def _cells(self, sides: tuple[Side, Side]) -> Moments:
        """Pool the double differences (Eq. 6.5) of all rows that take part in each cell."""
        k, m = sides[0].m - 1, sides[1].m - 1
        total = Moments.zeros((k, m))
        for c0, a0, b0 in moves(sides[0]):
            for c1, a1, b1 in moves(sides[1]):
                delta = (self.at[b0, b1] - self.at[a0, b1]) - (self.at[b0, a1] - self.at[a0, a1])
                i, j = self.homes[0] + c0, self.homes[1] + c1
                rows = (i >= 0) & (i < k) & (j >= 0) & (j < m)
                w = self.bound.weights
                w = None if w is None else w[rows]
                part = Moments.of(delta[rows], i[rows] * m + j[rows], k * m, w)
                total = total.merge(part.reshape(k, m))
        return total

    def _main(self, axis: int, other: Floats) -> Moments:
        """Pool the differences along one feature, at the row's own value of the other.

        Of a numeric feature only the two edges around that value are known: between them it is interpolated.
        """
        side, across = self.sides[axis].side, self.sides[1 - axis]
        k = side.m - 1
        total = Moments.zeros(k)
        share = np.zeros(len(other))
        if not across.categorical and across.side.m > 1:
            edges, h = np.asarray(across.side.nodes), self.homes[1 - axis]
            share = (other - edges[h]) / (edges[h + 1] - edges[h])
        for c, a, b in moves(side):
            low = self._along(axis, b, 0) - self._along(axis, a, 0)
            rise = low
            if share.any():
                high = self._along(axis, b, 1) - self._along(axis, a, 1)
                rise = (1 - share) * low + share * high
            cell = self.homes[axis] + c
            rows = (cell >= 0) & (cell < k)
            w = self.bound.weights
            total = total.merge(
                Moments.of(rise[rows], cell[rows], k, None if w is None else w[rows])
            )
        return total

    def _along(self, axis: int, own: int, other: int) -> Floats:
        return self.at[(own, other) if axis == 0 else (other, own)]


def offsets(side: Side) -> tuple[int, ...]:
    """Return the nodes around a home, counted from it."""
    if side.levels is not None:
        return (-1, 0, 1) if side.m > 1 else (0,)
    return (0, 1) if side.m > 1 else (0,)


def moves(side: Side) -> tuple[tuple[int, int, int], ...]:
    """Return the cells that a row takes part in: its bin, or the steps on both sides of its level."""
    if side.m == 1:
        return ()
    return (UP, DOWN) if side.levels is not None else (UP,)


def _together(column: SideColumn) -> list[tuple[int, ...]]:
    """Return the nodes that are evaluated in one call: both edges of a bin, or one level."""
    around = offsets(column.side)
    return [(o,) for o in around] if column.categorical else [around]


def _valid(side: Side, nodes: Ints) -> Bools:
    return (nodes >= 0) & (nodes < side.m)
