"""Cells and evaluation grids of a numeric axis: edges, order statistics, and the cell of each row.

Order statistics, wide steps between values and cells are exact, but found without sorting all values. The range is
divided into a few thousand buckets of equal width. The bucket number is monotone in the value (subtraction,
multiplication and truncation preserve order in floating point), so a value is above every edge in a lower bucket and
below every edge in a higher one. Only the values that share a bucket with an edge, or with a requested rank, are
compared or sorted: a few per cent. Compiled kernels (`row_kernels.py`) do the same in one pass over the values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skedasis._compilation import compiled, kernels_pay, read_only
from skedasis._types import Bools, Floats, Ints, Side
from skedasis.stats import row_kernels

# ------------------------------------------------------------------------------ bucket arithmetic
_BUCKETS = 4096

_BUCKETS_FOR_MANY_EDGES = 32_768
"""With many edges, so many buckets that few values share one with an edge; their tables still fit the cache."""

_FEW_VALUES = 2048
"""For up to this many values, NumPy's search is as fast."""


def bucket(x: Floats, low: float, high: float, count: int = _BUCKETS) -> Ints | None:
    """Return the bucket in 0..count of each value between `low` and `high`, or None if the range cannot be divided."""
    scale = _buckets_per_unit(low, high, count)
    if scale is None:
        return None
    code = x - low
    code *= scale
    # Only the largest values can have the code `count`. int64, because NumPy casts narrower indices at every use.
    return code.astype(np.int64)


def _buckets_per_unit(low: float, high: float, count: int) -> float | None:
    """Return the number of buckets per unit of the values, or None if the range cannot be divided."""
    with np.errstate(over="ignore", divide="ignore"):
        scale = float(count / np.float64(high - low))
    return scale if np.isfinite(scale) and scale > 0 else None


class Ordered:
    """The values of a column as if they were sorted, without sorting more than the few that a question is about.

    `x`, (n,), is finite, from `low` to `high`; `code` are its buckets (see `bucket`), if they are known.
    """

    def __init__(self, x: Floats, low: float, high: float, code: Ints | None = None) -> None:
        self._x, self._low, self._range, self._code = x, low, high - low, code
        scale = _buckets_per_unit(low, high, _BUCKETS)
        if scale is None or (code is None and len(x) <= _FEW_VALUES):
            self._sorted: Floats | None = np.sort(x)
            return
        self._sorted, self._scale = None, scale
        if code is None and not kernels_pay(len(x)):
            self._code = bucket(x, low, high)
        if self._code is not None:
            self._size = np.bincount(self._code, minlength=_BUCKETS + 1)
        else:
            self._x, self._size = read_only(x), np.zeros(_BUCKETS + 1, dtype=np.int64)
            compiled(row_kernels.count_buckets)(self._x, low, scale, self._size)
        self._reached = np.cumsum(self._size)

    def _select(self, buckets: Ints) -> tuple[Floats, Ints]:
        """Return the sorted values of some buckets, and how many values are in skipped buckets up to each bucket."""
        needed = np.zeros(_BUCKETS + 1, dtype=bool)
        needed[buckets] = True
        skipped = np.cumsum(np.where(needed, 0, self._size))
        if self._code is not None:
            return np.sort(self._x[needed.take(self._code)]), skipped
        some = np.empty(int(self._size[needed].sum()) + 1)
        select = compiled(row_kernels.select_buckets)
        select(self._x, self._low, self._scale, needed.view(np.uint8), some)
        return np.sort(some[:-1]), skipped

    def at(self, ranks: Ints) -> Floats:
        """Return the values at the given ranks (from 0), in ascending order."""
        if self._sorted is not None:
            return self._sorted[ranks]
        buckets = np.searchsorted(self._reached, ranks, side="right")
        some, skipped = self._select(buckets)
        return some[ranks - skipped[buckets]]

    def upto(self, points: Floats) -> tuple[Ints, Floats]:
        """Return how many values are at most as large as each point, and the largest of these; NaN if there is none."""
        some, skipped = self._sorted, np.zeros(len(points), dtype=np.int64)
        if some is None:
            own = np.clip((points - self._low) * self._scale, 0, _BUCKETS).astype(np.int64)
            # The largest value may be in the last bucket before that has any.
            last = np.searchsorted(self._reached, (self._reached - self._size)[own], side="left")
            some, skipped_upto = self._select(np.concatenate([own, last]))
            skipped = skipped_upto[own]
        found = np.searchsorted(some, points, side="right")
        return found + skipped, np.where(found > 0, some[found - 1], np.nan)

    def wide_steps(self, share: float) -> list[tuple[float, float]]:
        """Return the steps between neighbouring values that are wider than a share of the range, from left to right.

        The share is above 2 / 4096, so that a step leaves buckets between its ends empty.
        """
        if self._sorted is not None:
            x = self._sorted
            wide = np.flatnonzero(np.diff(x) > share * (x[-1] - x[0]))
            return [(float(x[k]) + 0.0, float(x[k + 1]) + 0.0) for k in wide]
        used, found = np.flatnonzero(self._size), list[tuple[float, float]]()
        for k in np.flatnonzero(np.diff(used) > share * _BUCKETS - 2):
            some, _ = self._select(used[k : k + 2])
            left = int(self._size[used[k]]) - 1
            if some[left + 1] - some[left] > share * self._range:
                found.append((float(some[left]) + 0.0, float(some[left + 1]) + 0.0))
        return found


class CellParts:
    """The smallest and the largest value in each of equal parts of a stretch, of values that are read in chunks."""

    def __init__(self, low: float, high: float) -> None:
        self._low, self._high = low, high
        self._first = np.full(_BUCKETS + 1, np.inf)
        self._last = np.full(_BUCKETS + 1, -np.inf)

    def add(self, x: Floats, weights: Floats | None = None) -> None:
        """Add values; those outside the stretch and NaN are left out. Weights do not matter."""
        x = x[(x >= self._low) & (x <= self._high)] + 0.0
        code = bucket(x, self._low, self._high)
        if code is not None:
            np.minimum.at(self._first, code, x)
            np.maximum.at(self._last, code, x)

    def merge(self, other: CellParts) -> None:
        """Add the values of another part of the data."""
        np.minimum(self._first, other._first, out=self._first)
        np.maximum(self._last, other._last, out=self._last)

    def wide_steps(self, share: float) -> list[tuple[float, float]]:
        """Return the steps between neighbouring values that are wider than a share of the stretch; see `Ordered`."""
        used = np.isfinite(self._first)
        left, right = self._last[used][:-1], self._first[used][1:]
        wide = np.flatnonzero(right - left > share * (self._high - self._low))
        return [(float(left[k]), float(right[k])) for k in wide]


def at_or_above(values: Floats, points: Floats) -> Floats:
    """Return the smallest of some sorted values that is not below each point; the largest one for points above all."""
    return values[np.minimum(np.searchsorted(values, points), len(values) - 1)]


def locate(
    inner: Floats, x: Floats, low: float, high: float, closed: Side, code: Ints | None = None
) -> Ints:
    """Return each value's cell: the number of inner edges, increasing, below it.

    Equals ``np.searchsorted(inner, x, side="right" if closed == "left" else "left")``: cells include their edge on the
    `closed` side. Values lie between `low` and `high`. Others are allowed if these are themselves the first and the
    last inner edge, with which they are then compared. `code` are the values' buckets (see `bucket`), if they are
    known.
    """
    side = "right" if closed == "left" else "left"
    if code is None and kernels_pay(len(x)):
        found = _compiled_cells(inner, x, (low, high), closed, limited=False)
        if found is not None:
            return found
    use_numpy = len(x) <= _FEW_VALUES or not 0 < len(inner) < _BUCKETS_FOR_MANY_EDGES // 8
    count = _BUCKETS
    if len(inner) >= _BUCKETS // 8:
        # Tables of this size pay only for many values.
        use_numpy = use_numpy or len(x) < _BUCKETS_FOR_MANY_EDGES // 2
        count, code = _BUCKETS_FOR_MANY_EDGES, None
    edge_code = None if use_numpy else bucket(inner, low, high, count)
    if code is None and not use_numpy:
        may_exceed = inner[0] == low and inner[-1] == high
        code = bucket(np.clip(x, low, high) if may_exceed else x, low, high, count)
    if use_numpy or code is None or edge_code is None:
        return np.searchsorted(inner, x, side=side)
    has_edge: Bools = np.zeros(count + 1, dtype=bool)
    has_edge[edge_code] = True
    cell = _edges_below(edge_code, count).take(code)
    ambiguous = np.flatnonzero(has_edge.take(code))
    if 2 * len(ambiguous) > len(x):  # long tails: nearly all values lie in few buckets
        return np.searchsorted(inner, x, side=side)
    cell[ambiguous] = np.searchsorted(inner, x[ambiguous], side=side)
    return cell


def _edges_below(edge_code: Ints, count: int) -> Ints:
    """Return the number of edges in lower buckets, for each bucket and one beyond the last, (count + 2,)."""
    below = np.zeros(count + 2, dtype=np.int64)
    np.cumsum(np.bincount(edge_code, minlength=count + 1), out=below[1:])
    return below


def _compiled_cells(
    inner: Floats, x: Floats, ends: tuple[float, float], closed: Side, *, limited: bool
) -> Ints | None:
    """Return each value's cell, or None if NumPy's search is as fast.

    With `limited` NaN and values outside the ends are `OUTSIDE`.
    """
    n, k, (low, high) = len(x), len(inner), ends
    count = _BUCKETS if k < _BUCKETS // 8 else _BUCKETS_FOR_MANY_EDGES
    if n <= _FEW_VALUES or not 0 < k < _BUCKETS_FOR_MANY_EDGES // 8 or n < count // 2:
        return None
    scale, edge_code = _buckets_per_unit(low, high, count), bucket(inner, low, high, count)
    if scale is None or edge_code is None:
        return None
    table = _edges_below(edge_code, count).astype(np.int32)
    cell = np.empty(n, dtype=np.int64)
    compiled(row_kernels.locate)(
        read_only(x),
        read_only(inner),
        (low, high, scale),
        read_only(table),
        closed == "left",
        limited,
        cell,
    )
    return cell


# ------------------------------------------------------------------------------ cells and grids
EXACT_STEP_GRID = "both sides of every jump"
"""Provenance label of a grid that represents a step function exactly."""

OUTSIDE = -1
"""The cell of a missing value, and of a value outside the edges."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Adjacent intervals ``[z_{k-1}, z_k)`` (closed left) or ``(z_{k-1}, z_k]`` (closed right).

    The outermost interval on the open side includes its edge, so that every value from ``z_0`` to ``z_K`` lies in
    exactly one cell. `edges`, (K + 1,), increase strictly; a constant feature has one edge and no cell. `gaps` are the
    indices of cells that no value lies within: the rise across one is estimated from the rows nearest to it on both
    sides.
    """

    edges: Floats
    closed: Side = "left"
    gaps: tuple[int, ...] = ()

    def __len__(self) -> int:
        return max(len(self.edges) - 1, 0)

    @property
    def widths(self) -> Floats:
        """Return the cells' widths, shape (K,)."""
        return np.diff(self.edges)

    def locate(self, x: Floats) -> Ints:
        """Return each value's cell, or `OUTSIDE` for NaN and for values outside the edges."""
        if len(self) == 0:
            return np.full(len(x), OUTSIDE, dtype=np.int64)
        low, high = float(self.edges[0]), float(self.edges[-1])
        if kernels_pay(len(x)):
            found = _compiled_cells(self.edges[1:-1], x, (low, high), self.closed, limited=True)
            if found is not None:
                return found
        # NaN compares false with both ends, so it is excluded together with the values outside them.
        inside = (x >= low) & (x <= high)
        if inside.all():
            return locate(self.edges[1:-1], x, low, high, self.closed)
        cell = np.full(len(x), OUTSIDE, dtype=np.int64)
        cell[inside] = locate(self.edges[1:-1], x[inside], low, high, self.closed)
        return cell

    def merge(self, kept: Ints) -> Cells:
        """Return the unions of cells whose edges are ``edges[kept]``."""
        return Cells(self.edges[kept], self.closed)


@dataclass(frozen=True, eq=False)
class Grid:
    """The points at which a PDP or an ICE curve is evaluated, (m,), strictly increasing.

    `description` says in the provenance how they were chosen. `weights`, (m,), are those of the points in the mean of
    a curve, and sum to 1; None: equal weights.
    """

    points: Floats
    description: str = "given"
    weights: Floats | None = None

    def __len__(self) -> int:
        return len(self.points)

    def locate(self, x: Floats) -> Ints:
        """Return how many points are less than or equal to each value, 0 to m. The values must not be NaN."""
        return locate(self.points, x, float(self.points[0]), float(self.points[-1]), "left")


def width_weights(points: Floats) -> Floats:
    """Return the weights of points in a mean over the axis: half the gaps on both sides, normalised to sum 1."""
    gaps = np.diff(points)
    weights = np.zeros(len(points))
    weights[:-1] += gaps / 2
    weights[1:] += gaps / 2
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(points), 1 / max(len(points), 1))


def uniform_edges(low: float, high: float, k: int) -> Floats:
    """Return k + 1 equidistant edges, exact at both ends, without duplicates from rounding."""
    edges = _points_between(low, high, np.arange(k + 1), np.full(k + 1, k))
    edges[0], edges[-1] = low, high
    return distinct(edges)


def _points_between(low: float, high: float, part: Ints, whole: Ints) -> Floats:
    """Return the points at the fractions part/whole of the interval; whole numbers among them are exact.

    Data often lie on whole numbers, and an edge that is one rounding error off puts them into the wrong cell. Fractions
    are reduced first, so that 1/3 and 2/6 are the same point.
    """
    common = np.gcd(part, whole)
    part, whole = part // common, whole // common
    # If low and high are close or equal, rounding may exceed them.
    return np.clip((low * (whole - part) + high * part) / whole, low, high)


def distinct(values: Floats) -> Floats:
    """Return the sorted distinct values."""
    return np.unique(np.asarray(values, dtype=float))
