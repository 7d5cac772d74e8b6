"""Standard errors of surfaces: what each row adds to a surface's deviation from the population's, squared and summed.

A surface is linear in the cells' mean double differences, given the rows' shares of the homes, and rational in these
shares. To first order a row i at home h therefore moves it by

    sum over its cells c of A[., c] (d_ic - mu_c) / n_c  +  dV/dW[., h]

A row's part depends on its home and its double differences alone, so moments home by home are enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.results.dependence import SHOWN
from skedasis.results.parts import locked
from skedasis.results.surfaces.pairs import (
    CELL,
    HOME,
    JOINT,
    lending,
    mean_error,
    shares_of,
    taking_part,
)
from skedasis.results.surfaces.side import Side
from skedasis.stats.moments import Moments, WeightKind

if TYPE_CHECKING:
    from skedasis.results.surfaces.surface import Surface

BLOCK = 4_000_000
"""Numbers that are worked on at a time."""


@dataclass(frozen=True, eq=False)
class Slopes:
    """The derivatives of a surface by the double differences of cells and by the weights of homes, in factors.

    Parameters
    ----------
    sides : tuple of two Side
    delta : ndarray of float, shape (K0, K1)
        Double differences, empty cells filled.
    weight : ndarray of float, shape (h0, h1)
    """

    sides: tuple[Side, Side]
    delta: Floats
    weight: Floats

    @cached_property
    def cumulate(self) -> tuple[Floats, Floats]:
        """Return the matrices (m, K) from cells to nodes of each side."""
        t0, t1 = (np.tri(s.m, s.m - 1, k=-1) for s in self.sides)
        return t0, t1

    @cached_property
    def seen(self) -> tuple[Floats, Floats]:
        """Return the matrices (h, K) from cells to homes of each side."""
        b0, b1 = (s.averaging() @ t for s, t in zip(self.sides, self.cumulate, strict=True))
        return b0, b1

    @cached_property
    def mains(self) -> tuple[Floats, Floats]:
        """Return what each cell counts, shape (K0, K1), in the rise of each main effect across its strip."""
        (b0, b1), (p0, p1) = self.seen, self._shares
        return p0 @ b1, (p1 @ b0).T

    @cached_property
    def centre(self) -> Floats:
        """Return what each cell counts in the mean that is subtracted last, shape (K0, K1)."""
        (b0, b1), (g0, g1) = self.seen, self.mains
        share = self.weight / self.weight.sum()
        c0, c1 = self._centred
        return b0.T @ share @ b1 - c0[:, None] * g0 - c1 * g1

    @cached_property
    def _shares(self) -> tuple[Floats, Floats]:
        found = [
            shares_of(w, s) for w, s in zip((self.weight, self.weight.T), self.sides, strict=True)
        ]
        p0, p1 = (p / p.sum(axis=1, keepdims=True) for p in found)
        return p0, p1

    @cached_property
    def _centred(self) -> tuple[Floats, Floats]:
        share = self.weight / self.weight.sum()
        return share.sum(axis=1) @ self.seen[0], share.sum(axis=0) @ self.seen[1]

    def by_cells(self, nodes: slice) -> Floats:
        """Return dV/d(delta), shape (a, m1, K0, K1), at some nodes of the first side and all of the second."""
        (t0, t1), (g0, g1) = self.cumulate, self.mains
        first = t0[nodes][:, None, :, None]
        second = t1[None, :, None, :]
        return first * second - first * g0 - second * g1 - self.centre

    @cached_property
    def by_homes(self) -> tuple[Floats, Floats, Floats]:
        """Return dV/dW as -(f[a, h] + s[b, h] + e[h]): three arrays (m0, H), (m1, H) and (H,)."""
        (t0, t1), (c0, c1) = self.cumulate, self._centred
        rise0, rise1 = self.delta @ self.seen[1].T, self.delta.T @ self.seen[0].T
        first = self._bends(0, rise0)
        second = self._bends(1, rise1).swapaxes(1, 2)
        level = self.seen[0] @ self.delta @ self.seen[1].T
        level = level - (self.seen[0] @ self._steps(0, rise0))[:, None]
        level = level - (self.seen[1] @ self._steps(1, rise1))
        total = self.weight.sum()
        level = (level - (self.weight * level).sum() / total) / total
        size = self.weight.size
        return (
            (t0 - c0) @ first.reshape(len(first), size),
            (t1 - c1) @ second.reshape(len(second), size),
            level.ravel(),
        )

    def _steps(self, axis: int, rise: Floats) -> Floats:
        """Return the rise of a main effect across each of its strips."""
        return (self._shares[axis] * rise).sum(axis=1)

    def _bends(self, axis: int, rise: Floats) -> Floats:
        """Return the derivatives of these rises by the weights, shape (K, own homes, other homes)."""
        own, weight = self.sides[axis], self.weight if axis == 0 else self.weight.T
        part = own.sharing()
        size = (part @ weight).sum(axis=1)
        # A strip without rows takes the weights of all of them.
        part = np.where(size[:, None] > 0, part, 1.0)
        size = np.where(size > 0, size, weight.sum())
        off = (rise - self._steps(axis, rise)[:, None]) / size[:, None]
        return part[:, :, None] * off[:, None, :]

    def homes_at(self, nodes: slice) -> Floats:
        """Return dV/dW, shape (a, m1, H), at some nodes of the first side."""
        first, second, level = self.by_homes
        return -(first[nodes][:, None] + second + level)


@dataclass(frozen=True, eq=False)
class Scatter:
    """How rows scatter: sums over the rows of each home of products of their deviations.

    Parameters
    ----------
    cells : ndarray of int, shape (q, H)
        The cells that the rows of each home take part in; -1 for none.
    within : ndarray of float, shape (H, q, q)
        Sums of products of deviations from the home's own means.
    mean : ndarray of float, shape (H, q)
        The home's mean double differences; 0 where there is no cell.
    off : ndarray of float, shape (H, q)
        How far they lie from the cells' means.
    weight, weight2, count : ndarray of float, shape (H,)
    scale : ndarray of float, shape (C,)
        What deviations count in the means of cells: 1 / n, times the root of n / (n - 1); zero where a cell has no
        variance.
    error2 : ndarray of float, shape (C,)
        Squared standard errors of the cells' means; NaN where there is none.
    size : ndarray of float, shape (C,)
        What variances are divided by in these.
    kind : {"frequency", "sampling"}
    """

    cells: Ints
    within: Floats
    mean: Floats
    off: Floats
    weight: Floats
    weight2: Floats
    count: Floats
    scale: Floats
    error2: Floats
    size: Floats
    kind: WeightKind

    @property
    def ratio(self) -> Floats:
        """Return what the sums of each home count: of sampling weights, squared weights over weights."""
        safe = np.where(self.weight > 0, self.weight, 1.0)
        return np.ones(len(safe)) if self.kind == "frequency" else self.weight2 / safe

    @property
    def effective(self) -> Floats:
        """Return the homes' effective numbers of rows."""
        return (
            self.weight
            if self.kind == "frequency"
            else self.weight / np.maximum(self.ratio, 1e-300)
        )

    def at_homes(self, by_cells: Floats) -> Floats:
        """Return what each row's deviations count, shape (..., H, q), from what cells do, (..., C)."""
        parts = by_cells * self.scale
        found = [np.where(c >= 0, parts[..., c], 0.0) for c in self.cells]
        return (
            np.stack(found, axis=-1)
            if found
            else np.zeros((*by_cells.shape[:-1], len(self.weight), 0))
        )


def scatter_of(shown: Surface) -> Scatter:
    """Return how a surface's rows scatter, from moments that were gathered."""
    cell, home, kind = shown.moments[CELL], shown.moments[HOME], shown.spec.weight_kind
    cell, home = cell.reshape(-1), home.reshape(-1)
    cells = taking_part(shown.sides)
    joint = cell.reshape(1, -1) if len(cells) == 1 and JOINT not in shown.moments else None
    if joint is None and len(cells):
        joint = shown.moments[JOINT].reshape(-1, len(home.weight))
    mean, within = _products(joint, len(cells), len(home.weight))
    valid = (cells >= 0).T
    off = np.where(valid, mean - cell.mean[np.maximum(cells, 0)].T, 0.0) if len(cells) else mean
    error = mean_error(cell, shown.spec)
    free, size = cell.degrees(1, kind), np.where(cell.weight > 0, cell.weight, 1.0)
    known = ~np.isnan(error)
    scale = np.where(known, 1 / np.sqrt(np.where(known, free, 1.0) * size), 0.0)
    sizes = home.weight, home.weight2, home.count
    divisor = np.where(cell.weight > 0, cell.effective(kind), 1.0)
    return Scatter(cells, within, mean, off, *sizes, scale, error**2, divisor, kind)


def _products(joint: Moments | None, q: int, homes: int) -> tuple[Floats, Floats]:
    """Return means (H, q) and sums of products (H, q, q), from moments of q values and of the sums of each two."""
    if joint is None:
        return np.zeros((homes, 0)), np.zeros((homes, 0, 0))
    m2, within, p = joint.m2, np.empty((homes, q, q)), q
    for i in range(q):
        within[:, i, i] = m2[i]
        for j in range(i + 1, q):
            within[:, i, j] = within[:, j, i] = (m2[p] - m2[i] - m2[j]) / 2
            p += 1
    return joint.mean[:q].T.copy(), within


@dataclass(frozen=True, eq=False)
class SurfaceError:
    """Standard errors of a surface.

    Parameters
    ----------
    std_error, freedom : ndarray of float, shape (m0, m1)
    rounding : ndarray of float, shape (m0, m1)
        By how much the rounding of the quantity's values may move the surface.
    """

    std_error: Floats
    freedom: Floats
    rounding: Floats

    def __post_init__(self) -> None:
        locked(self.std_error, self.freedom, self.rounding)


def surface_error(shown: Surface) -> SurfaceError:
    """Return the standard errors of a surface; NaN where they are not known."""
    nothing = np.full(shown.value.shape, np.nan)
    unknown = SurfaceError(nothing, nothing.copy(), np.zeros(shown.value.shape))
    if shown.cells is None:
        if SHOWN not in shown.moments:
            return unknown
        moments, kind = shown.moments[SHOWN], shown.spec.weight_kind
        size = moments.effective(kind)
        error = np.sqrt(moments.variance(1, kind) / size)
        return SurfaceError(error, size - 1.0, unknown.rounding)
    # Files of earlier versions do not say how a row's several double differences go together.
    untold = len(taking_part(shown.sides)) > 1 and JOINT not in shown.moments
    if shown.includes_main_effects or untold:
        return unknown
    variance, freedom, squares = Errors.of(shown).variances()
    rounding = float(shown.provenance.get("rounding", 0.0)) * np.sqrt(squares)
    return SurfaceError(np.sqrt(variance), freedom, rounding)


@dataclass(frozen=True, eq=False)
class Errors:
    """A surface's derivatives and the scatter of its rows, and the errors that follow.

    Parameters
    ----------
    slopes : Slopes
    scatter : Scatter
    fill : sparse matrix (C, C)
        From the means of cells that have rows to the double differences that are accumulated.
    borrow : sparse matrix (C, C), optional
        From the variances of cells that have one to those of cells that have rows and none; None where no cell has.
    """

    slopes: Slopes
    scatter: Scatter
    fill: Any
    borrow: Any

    @classmethod
    def of(cls, shown: Surface) -> Errors:
        """Gather them."""
        scatter = scatter_of(shown)
        from scipy.sparse import csr_array, diags_array

        cell, sides = shown.moments[CELL], shown.sides
        empty = cell.weight == 0
        centres = sides[0].centres(), sides[1].centres()
        fill = diags_array(np.where(empty, 0.0, 1.0).ravel(), format="csr")
        if shown.provenance.get("empty_cells") == "nearest" and not empty.all():
            fill = lending(empty, *centres)
        delta = (fill @ np.where(empty, 0.0, cell.mean).ravel()).reshape(empty.shape)
        none = np.isnan(scatter.error2).reshape(empty.shape)
        borrow = csr_array((empty.size, empty.size)) if not (none & ~empty).any() else None
        if borrow is None and not none.all():
            lacking = diags_array((none & ~empty).ravel().astype(float), format="csr")
            borrow = lacking @ lending(none, *centres)
        return cls(Slopes(sides, delta, shown.moments[HOME].weight), scatter, fill, borrow)

    def blocks(self) -> list[slice]:
        """Return the nodes of the first side in blocks whose matrices fit into memory."""
        m0, m1 = (s.m for s in self.slopes.sides)
        width = max(self.slopes.delta.size, len(self.scatter.weight) * len(self.scatter.cells), 1)
        step = max(1, BLOCK // (m1 * width))
        return [slice(a, min(a + step, m0)) for a in range(0, m0, step)]

    @cached_property
    def lent(self) -> Any:
        """Return the squared errors that cells without a variance borrow, by (cell, lender), as a sparse matrix."""
        from scipy.sparse import diags_array

        size = self.scatter.size
        variance = np.nan_to_num(self.scatter.error2) * size
        return diags_array(1 / size) @ self.borrow @ diags_array(variance)

    def variances(self) -> tuple[Floats, Floats, Floats]:
        """Return variance, degrees of freedom, and sums of squared slopes by cells, each of shape (m0, m1)."""
        shape = self.slopes.sides[0].m, self.slopes.sides[1].m
        out = np.zeros((3, *shape))
        if self.borrow is None:
            out[:2] = np.nan
            return out[0], out[1], out[2]
        for nodes in self.blocks():
            out[:, nodes] = self._block(nodes)
        return out[0], out[1], out[2]

    def _block(self, nodes: slice) -> Floats:
        """Return these for some nodes of the first side."""
        s = self.scatter
        raw = self.slopes.by_cells(nodes)
        shape = raw.shape[:2]
        by_cell = raw.reshape(shape[0] * shape[1], -1)
        if self.fill.diagonal().sum() < by_cell.shape[1]:  # some cells are empty
            by_cell = by_cell @ self.fill
        by_home = self.slopes.homes_at(nodes).reshape(len(by_cell), -1)
        part, q = s.at_homes(by_cell), len(s.cells)
        product = s.within + s.weight[:, None, None] * s.off[:, :, None] * s.off[:, None, :]
        own = sum(
            (part[..., i] * part[..., j] * product[:, i, j] for i in range(q) for j in range(q)),
            np.zeros(part.shape[:2]),
        )
        own = own * s.ratio
        drift = np.einsum("nhq,hq->nh", part, s.off)
        shared = ((2 * drift + by_home) * by_home) @ (s.weight * s.ratio)
        squares = np.square(by_cell)
        lent = squares @ self.lent if self.lent.nnz else np.zeros((len(own), 1))
        variance = np.maximum(own.sum(axis=1) + shared + lent.sum(axis=1), 0.0)
        freedom = self._freedom(variance, own, shared, lent)
        return np.stack([variance, freedom, squares.sum(axis=1)]).reshape(3, *shape)

    def _freedom(self, variance: Floats, own: Floats, shared: Floats, lent: Floats) -> Floats:
        """Return Satterthwaite's degrees of freedom."""
        s = self.scatter
        degrees = np.maximum(s.effective - 1.0, 1.0)
        rows = s.weight.sum() if s.kind == "frequency" else s.weight.sum() ** 2 / s.weight2.sum()
        # Where homes are cells, what a lender lends moves with its own part.
        if len(s.cells) == 1 and lent.shape == own.shape:
            squares = ((own + lent) ** 2 / degrees).sum(axis=1)
        else:
            squares = (own**2 / degrees).sum(axis=1) + lent.sum(axis=1) ** 2
        squares += shared**2 / max(rows - 1.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = variance**2 / squares
        return np.where(variance > 0, freedom, np.inf)
