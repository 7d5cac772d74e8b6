"""Edges to the very row: bins that were chosen among a few hundred candidates, looked at again around their edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skedasis.cells import Cells
from skedasis.moments import Moments, WeightKind
from skedasis.risk import Noise, Partition, Points, Risk, risk_partition
from skedasis.typing import Bools, Floats, Ints

_AROUND = 2
"""Cells on either side of an edge within which it may move."""
_CANDIDATES = 300
"""Edges that are tried at a time."""
_MOST = 1000
"""The same where bins are many. Where even that is too few for them, edges stay: bins are as fine as the cells."""
_ROUNDS = 8


@dataclass(frozen=True, eq=False)
class Sharpened:
    """Bins whose edges lie between two rows.

    Parameters
    ----------
    edges : ndarray of float, shape (bins + 1,)
    trend : ndarray of bool, shape (bins,)
        Whether slopes change linearly within the bin.
    """

    edges: Floats
    trend: Bools


def points_of(moments: Moments, axis: Moments | None, kind: WeightKind) -> Points:
    """Return what the risk needs of the cells that hold rows.

    Parameters
    ----------
    moments : Moments
        Of the local effects.
    axis : Moments, optional
        Of the feature.
    kind : {"frequency", "sampling"}
        Sampling weights count as much as they are worth together: (sum w)² / sum w² rows.
    """
    some = np.flatnonzero(moments.weight > 0)
    cells = moments.take(some)
    worth = _worth(float(cells.weight.sum()), float(cells.weight2.sum()), kind)
    x = None if axis is None else axis.mean[some]
    # How effects lean within a cell is not known: its rows count as if they lay at their mean.
    nothing = None if axis is None else np.zeros(len(some))
    return Points(cells.weight * worth, cells.mean, cells.m2 * worth, x, nothing, nothing)


def _worth(weight: float, weight2: float, kind: WeightKind) -> float:
    return 1.0 if kind == "frequency" else weight / weight2


def sharpened(
    cells: Cells,
    kept: Ints,
    rows: tuple[Floats, Floats, Floats | None],
    risk: Risk,
    kind: WeightKind,
) -> Sharpened | None:
    """Return bins with their edges moved to the best place between two rows; None where they lie so already.

    Parameters
    ----------
    cells : Cells
    kept : ndarray of int, shape (bins + 1,)
        Edges that were chosen among those of the cells.
    rows : tuple of three ndarray, shapes (n,)
        Values, local effects, and weights or None.
    risk : Risk
    kind : {"frequency", "sampling"}

    Notes
    -----
    Rows near an edge are its new candidates, what lies between is one cell. With more than 300 candidates they are
    thinned out, and looked at again around the edges found, until nothing moves.
    """
    x, d, w = _inside(cells, rows)
    w = w * _worth(float(w.sum()), float(w @ w), kind)
    cell = cells.locate(x)
    fine = gathered(x, d, w, cell, len(cells))
    if _alone(fine, float(np.abs(x).max(initial=0.0))):
        return None
    noise = Noise.of(_some(fine), risk.floor)
    near = np.zeros(len(cells), dtype=bool)
    for place in kept[1:-1]:
        near[max(place - _AROUND, 0) : place + _AROUND] = True
    units, low, high = _units(cells, fine, near, x, d, w, cell)
    if len(units) <= len(kept) or _wanted(len(kept) - 2) > _MOST:
        return None
    first = np.searchsorted(high, cells.edges[kept[1:-1]], side="right")
    starts = np.unique(np.concatenate([[0], first, [len(units)]]))
    # So many units lie within reach of an edge, if they are spread evenly over the cells near edges.
    reach = 2 * _AROUND * -(-len(units) // int(near.sum()))
    starts, found = _settled(units, starts, reach, noise, risk)
    inner = starts[1:-1]
    between = high[inner - 1] + (low[inner] - high[inner - 1]) / 2
    edges = np.concatenate([cells.edges[:1], between, cells.edges[-1:]])
    return Sharpened(edges, found.trend)


def _alone(fine: Points, largest: float) -> bool:
    """Return whether the rows of each cell share one value, but for the rounding of their mean."""
    rounding = 4 * np.finfo(float).eps * largest
    return bool(fine.xx is not None and (fine.xx <= fine.weight * rounding**2).all())


def _inside(
    cells: Cells, rows: tuple[Floats, Floats, Floats | None]
) -> tuple[Floats, Floats, Floats]:
    """Return the rows that count, and lie in a cell."""
    x, d, w = rows
    weight = np.ones(len(x)) if w is None else w
    there = (cells.locate(x) >= 0) & (weight > 0)
    return (x, d, weight) if there.all() else (x[there], d[there], weight[there])


def gathered(x: Floats, d: Floats, w: Floats, cell: Ints, cells: int) -> Points:
    """Return what is known of cells from their rows; cells without rows have weight 0."""

    def summed(values: Floats) -> Floats:
        sums: Floats = np.bincount(cell, values, cells).astype(float, copy=False)
        return sums

    weight = summed(w)
    safe = np.where(weight > 0, weight, 1.0)
    mean, middle = (summed(w * v) / safe for v in (d, x))
    off, beside = d - mean[cell], x - middle[cell]
    # The sum of deviations is not exactly zero: what it is corrects the mean (see `Moments.of`).
    left = summed(w * off) / safe
    m2 = np.maximum(summed(w * off * off) - weight * left**2, 0.0)
    xx, xd = summed(w * beside * beside), summed(w * off * beside)
    return Points(weight, mean + left, m2, middle, xx, xd)


def _some(points: Points) -> Points:
    return points.take(np.flatnonzero(points.weight > 0))


def pooled(points: Points, starts: Ints) -> Points:
    """Return neighbouring cells of an axis merged; `starts` are the first cell of each group."""
    w = points.weight
    x, xx, xd = _axis(points)
    weight = np.add.reduceat(w, starts)
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(w))))
    mean, middle = (np.add.reduceat(w * v, starts) / weight for v in (points.mean, x))
    off, beside = points.mean - mean[group], x - middle[group]
    m2 = np.add.reduceat(points.m2 + w * off * off, starts)
    return Points(
        weight,
        mean,
        m2,
        middle,
        np.add.reduceat(xx + w * beside * beside, starts),
        np.add.reduceat(xd + w * off * beside, starts),
    )


def _axis(points: Points) -> tuple[Floats, Floats, Floats]:
    if points.x is None or points.xx is None or points.xd is None:
        raise TypeError("points of an axis have their places on it")
    return points.x, points.xx, points.xd


def _units(
    cells: Cells, fine: Points, near: Bools, x: Floats, d: Floats, w: Floats, cell: Ints
) -> tuple[Points, Floats, Floats]:
    """Return the distinct values near edges one by one, and what lies between them as one; with their two ends."""
    rows = np.flatnonzero(near[cell])
    values, place = np.unique(x[rows], return_inverse=True)
    single = gathered(x[rows], d[rows], w[rows], place, len(values))
    apart = np.flatnonzero((fine.weight > 0) & ~near)
    # Runs of cells that are not near an edge; a near cell between two of them parts them.
    passed = np.cumsum(near)[apart]
    starts = np.flatnonzero(np.append(True, np.diff(passed) > 0)) if len(apart) else apart
    low, high, parts = values, values, single
    if len(apart):
        between = pooled(fine.take(apart), starts)
        ends = np.append(starts[1:], len(apart)) - 1
        low = np.concatenate([values, cells.edges[apart[starts]]])
        high = np.concatenate([values, cells.edges[apart[ends] + 1]])
        parts = _together(single, between)
    order = np.argsort(low, kind="stable")
    return parts.take(order), low[order], high[order]


def _together(a: Points, b: Points) -> Points:
    pairs = [(p.weight, p.mean, p.m2, *_axis(p)) for p in (a, b)]
    return Points(*(np.concatenate(both) for both in zip(*pairs, strict=True)))


def _settled(
    units: Points, starts: Ints, reach: int, noise: Noise, risk: Risk
) -> tuple[Ints, Partition]:
    """Return the first unit of each bin (and behind the last their number), when looking again moves nothing."""
    found = Partition(starts, np.zeros(len(starts) - 1, dtype=bool))
    for _ in range(_ROUNDS):
        if _wanted(len(starts) - 2) > _MOST:
            break
        candidates, all_of_them = _candidates(starts, reach, len(units))
        merged = pooled(units, candidates)
        found = risk_partition(noise.cut(merged), noise, risk)
        now = np.append(candidates, len(units))[found.starts]
        if all_of_them and len(now) == len(starts) and (now == starts).all():
            break
        gaps = np.diff(np.append(candidates, len(units)))
        inner = found.starts[1:-1]
        if len(inner) == 0:
            return now, found
        reach = _AROUND * max(int(gaps[np.concatenate([inner - 1, inner])].max()), 1)
        starts = now
    return starts, found


def _wanted(edges: int) -> int:
    """Return how many candidates there are to be for so many edges."""
    return max(_CANDIDATES, edges * (2 * _AROUND + 1))


def _candidates(starts: Ints, reach: int, units: int) -> tuple[Ints, bool]:
    """Return units at which bins may start, and whether these are all within reach."""
    inner = starts[1:-1]
    each = _wanted(len(inner)) // max(len(inner), 1)
    step = max(1, -(-2 * min(reach, units) // each))
    offsets = np.arange(-min(reach, units), min(reach, units) + 1, step)
    around = (inner[:, None] + offsets).ravel()
    inside = around[(around > 0) & (around < units)]
    return np.unique(np.concatenate([[0], inner, inside])), step == 1
