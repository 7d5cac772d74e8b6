"""Standard errors and intervals of surfaces: analytic and bootstrap.

An accumulated surface is a function of the cells' mean double differences and of the weights of the *homes*: the parts
of the plane that rows belong to (a bin of each numeric feature, a level of each categorical one). It is linear in the
double differences, and rational in the weights. To first order, a row i at home h therefore changes it by

    sum over its cells c of A[., c] (d_ic - mu_c) / n_c  +  dV/dW[., h]

This depends on the row's home and its double differences only, so moments by home suffice (`SurfaceDerivatives`,
`SecondMoments`, `SurfaceErrors`). Bootstrap replicates come from the kept rows, or from draws of these moments if not
all rows are kept (`SurfaceOfWeights`, `bootstrap_replicates`). A PDP surface is a mean of the rows' own surfaces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import check_option
from skedasis._types import Bools, Floats, Ints
from skedasis.errors import UnsupportedError
from skedasis.results.axis import PairAxis
from skedasis.results.build.pairs import (
    CELL,
    HOME,
    JOINT,
    cells_of_homes,
    filling_matrix,
    home_weights_in_cells,
    second_order,
)
from skedasis.results.build.pdp import SHOWN
from skedasis.results.immutable import Immutable
from skedasis.results.intervals.analytic import MOST_POINTS, IntervalEnds
from skedasis.results.intervals.moments import sums_by_cell
from skedasis.results.surface import AccumulatedSurface, PairRows, Surface
from skedasis.stats.moments import Moments, WeightKind, power_of_two
from skedasis.stats.random import RandomState
from skedasis.stats.resampling import (
    BootstrapDraws,
    bootstrap_rng,
    check_counts,
    check_interval,
    draw_in_parts,
    exceeds_rounding,
)
from skedasis.stats.student import t_interval

if TYPE_CHECKING:
    from scipy.sparse import csr_array


# ------------------------------------------------------------------------------------------
# Standard errors, by the linearization above.


BLOCK = 4_000_000
"""Largest number of array elements that are computed at once."""


@dataclass(frozen=True, eq=False)
class SurfaceDerivatives:
    """The derivatives of a surface by the double differences of cells and by the weights of homes, as factors."""

    sides: tuple[PairAxis, PairAxis]
    delta: Floats
    """Mean double differences, with empty cells filled, shape (K0, K1)."""
    weight: Floats
    """Shape (h0, h1)."""

    @cached_property
    def cumulate(self) -> tuple[Floats, Floats]:
        """The matrices (m, K) that accumulate from cells to nodes of each side."""
        t0, t1 = (np.tri(s.n_nodes, s.n_nodes - 1, k=-1) for s in self.sides)
        return t0, t1

    @cached_property
    def seen(self) -> tuple[Floats, Floats]:
        """The matrices (h, K) from cells to homes of each side."""
        b0, b1 = (
            s.node_to_home_matrix() @ t for s, t in zip(self.sides, self.cumulate, strict=True)
        )
        return b0, b1

    @cached_property
    def mains(self) -> tuple[Floats, Floats]:
        """The coefficients of the cells, (K0, K1), in the difference of each main effect across a strip of cells."""
        (b0, b1), (p0, p1) = self.seen, self._shares
        return p0 @ b1, (p1 @ b0).T

    @cached_property
    def centre(self) -> Floats:
        """The coefficients of the cells, (K0, K1), in the mean that centres the surface."""
        (b0, b1), (g0, g1) = self.seen, self.mains
        fraction = self.weight / self.weight.sum()
        c0, c1 = self._centred
        return b0.T @ fraction @ b1 - c0[:, None] * g0 - c1 * g1

    @cached_property
    def _shares(self) -> tuple[Floats, Floats]:
        found = [
            home_weights_in_cells(w, s)
            for w, s in zip((self.weight, self.weight.T), self.sides, strict=True)
        ]
        p0, p1 = (p / p.sum(axis=1, keepdims=True) for p in found)
        return p0, p1

    @cached_property
    def _centred(self) -> tuple[Floats, Floats]:
        fraction = self.weight / self.weight.sum()
        return fraction.sum(axis=1) @ self.seen[0], fraction.sum(axis=0) @ self.seen[1]

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
        """Return the difference of a main effect across each of its strips."""
        return (self._shares[axis] * rise).sum(axis=1)

    def _bends(self, axis: int, rise: Floats) -> Floats:
        """Return the derivatives of these differences by the weights, (K, own homes, other homes)."""
        own, weight = self.sides[axis], self.weight if axis == 0 else self.weight.T
        part = own.home_to_cell_matrix()
        size = (part @ weight).sum(axis=1)
        # A strip without rows uses the weights of all rows.
        part = np.where(size[:, None] > 0, part, 1.0)
        size = np.where(size > 0, size, weight.sum())
        off = (rise - self._steps(axis, rise)[:, None]) / size[:, None]
        return part[:, :, None] * off[:, None, :]

    def homes_at(self, nodes: slice) -> Floats:
        """Return dV/dW, shape (a, m1, H), at some nodes of the first side."""
        first, second, level = self.by_homes
        return -(first[nodes][:, None] + second + level)


@dataclass(frozen=True, eq=False)
class SecondMoments:
    """Second moments of the rows: sums, over the rows of each home, of products of deviations."""

    cells: Ints
    """The cells to which the rows of each home contribute, shape (q, H); -1 for none."""
    within: Floats
    """Sums of products of deviations from the home's own means, shape (H, q, q)."""
    mean: Floats
    """Mean double differences of the home, shape (H, q); 0 without a cell."""
    off: Floats
    """Deviations of these from the cells' means, shape (H, q)."""
    weight: Floats
    weight2: Floats
    count: Floats
    """Shape (H,)."""
    scale: Floats
    """Coefficients of deviations in the errors of the cells' means: 1 / n times the square root of n / (n - 1), shape
    (C,); 0 for cells without a variance."""
    error2: Floats
    """Squared standard errors of the cells' means, shape (C,); NaN for cells without a variance."""
    size: Floats
    """The divisor of the variance in these: the cells' effective number of rows, shape (C,)."""
    kind: WeightKind

    @property
    def ratio(self) -> Floats:
        """The factor of each home's sums: for sampling weights, the sum of squared weights over the sum of weights."""
        safe = np.where(self.weight > 0, self.weight, 1.0)
        return np.ones(len(safe)) if self.kind == "frequency" else self.weight2 / safe

    @property
    def effective(self) -> Floats:
        """The effective number of rows of each home."""
        if self.kind == "frequency":
            return self.weight
        return self.weight / np.maximum(self.ratio, 1e-300)

    def at_homes(self, by_cells: Floats) -> Floats:
        """Return the coefficients of the rows' deviations, (..., H, q), from those of the cells, (..., C)."""
        parts = by_cells * self.scale
        found = [np.where(c >= 0, parts[..., c], 0.0) for c in self.cells]
        if not found:
            return np.zeros((*by_cells.shape[:-1], len(self.weight), 0))
        return np.stack(found, axis=-1)


def second_moments(shown: Surface) -> SecondMoments:
    """Return the second moments of a surface's rows, from its moments."""
    cell, home, kind = shown.moments[CELL], shown.moments[HOME], shown.spec.weight_kind
    cell, home = cell.reshape(-1), home.reshape(-1)
    cells = cells_of_homes(shown.sides)
    joint = cell.reshape(1, -1) if len(cells) == 1 and JOINT not in shown.moments else None
    if joint is None and len(cells):
        joint = shown.moments[JOINT].reshape(-1, len(home.weight))
    mean, within = _products(joint, len(cells), len(home.weight))
    valid = (cells >= 0).T
    off = np.where(valid, mean - cell.mean[np.maximum(cells, 0)].T, 0.0) if len(cells) else mean
    error = cell.mean_error(1, kind)
    free, size = cell.df(1, kind), np.where(cell.weight > 0, cell.weight, 1.0)
    known = ~np.isnan(error)
    scale = np.where(known, 1 / np.sqrt(np.where(known, free, 1.0) * size), 0.0)
    sizes = home.weight, home.weight2, home.count
    divisor = np.where(cell.weight > 0, cell.effective_size(kind), 1.0)
    return SecondMoments(cells, within, mean, off, *sizes, scale, error**2, divisor, kind)


def _products(joint: Moments | None, q: int, homes: int) -> tuple[Floats, Floats]:
    """Return means (H, q) and sums of products (H, q, q), from moments of q values and of their pairwise sums."""
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
class SurfaceError(Immutable):
    """Standard errors of a surface."""

    std_error: Floats
    df: Floats
    """Shape (m0, m1)."""
    rounding: Floats
    """Largest error of the surface due to rounding of the quantity, shape (m0, m1)."""


def surface_error(shown: Surface) -> SurfaceError:
    """Return the standard errors of a surface; NaN where they are not known."""
    included = isinstance(shown, AccumulatedSurface) and shown.includes_main_effects
    if included or not has_variances(shown):
        unknown = np.full(shown.value.shape, np.nan)
        return SurfaceError(unknown, unknown.copy(), np.zeros(shown.value.shape))
    if not isinstance(shown, AccumulatedSurface):
        moments, kind = shown.moments[SHOWN], shown.spec.weight_kind
        df = moments.effective_size(kind) - 1.0
        return SurfaceError(moments.mean_error(1, kind), df, np.zeros(shown.value.shape))
    variance, df, squares = SurfaceErrors.of(shown).variances()
    rounding = float(shown.provenance.get("rounding", 0.0)) * np.sqrt(squares)
    return SurfaceError(np.sqrt(variance), df, rounding)


def has_variances(shown: Surface) -> bool:
    """Return whether the moments give standard errors; files of earlier versions lack covariances within rows."""
    if not isinstance(shown, AccumulatedSurface):
        return SHOWN in shown.moments
    return len(cells_of_homes(shown.sides)) < 2 or JOINT in shown.moments


@dataclass(frozen=True, eq=False)
class SurfaceErrors:
    """A surface's derivatives and the second moments of its rows, from which its errors follow."""

    slopes: SurfaceDerivatives
    scatter: SecondMoments
    fill: csr_array
    neighbors: csr_array | None

    @classmethod
    def of(cls, shown: Surface) -> SurfaceErrors:
        """Return the errors of a surface."""
        scatter = second_moments(shown)
        from scipy.sparse import csr_array, diags_array

        cell, sides = shown.moments[CELL], shown.sides
        empty = cell.weight == 0
        centres = sides[0].centres(), sides[1].centres()
        fill = csr_array(diags_array(np.where(empty, 0.0, 1.0).ravel()))
        if shown.provenance.get("empty_cells") == "nearest" and not empty.all():
            fill = filling_matrix(empty, *centres)
        delta = (fill @ np.where(empty, 0.0, cell.mean).ravel()).reshape(empty.shape)
        none = np.isnan(scatter.error2).reshape(empty.shape)
        neighbors = csr_array((empty.size, empty.size)) if not (none & ~empty).any() else None
        if neighbors is None and not none.all():
            lacking = diags_array((none & ~empty).ravel().astype(float), format="csr")
            neighbors = lacking @ filling_matrix(none, *centres)
        return cls(
            SurfaceDerivatives(sides, delta, shown.moments[HOME].weight), scatter, fill, neighbors
        )

    def blocks(self) -> list[slice]:
        """Return blocks of nodes of the first side whose matrices have at most `BLOCK` elements."""
        m0, m1 = (s.n_nodes for s in self.slopes.sides)
        width = max(self.slopes.delta.size, len(self.scatter.weight) * len(self.scatter.cells), 1)
        step = max(1, BLOCK // (m1 * width))
        return [slice(a, min(a + step, m0)) for a in range(0, m0, step)]

    @cached_property
    def neighbor_errors(self) -> csr_array:
        """The squared errors of cells without a variance, as a sparse matrix (cell, cell whose variance it uses)."""
        from scipy.sparse import diags_array

        size = self.scatter.size
        variance = np.nan_to_num(self.scatter.error2) * size
        return diags_array(1 / size) @ self.neighbors @ diags_array(variance)

    def variances(self) -> tuple[Floats, Floats, Floats]:
        """Return variance, degrees of freedom, and sums of squared slopes by cells, each of shape (m0, m1)."""
        out = np.zeros((3, *(s.n_nodes for s in self.slopes.sides)))
        if self.neighbors is None:
            out[:2] = np.nan
        else:
            for nodes in self.blocks():
                out[:, nodes] = self._block(nodes)
        return out[0], out[1], out[2]

    def _block(self, nodes: slice) -> Floats:
        """Return `variances` for some nodes of the first side."""
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
        neighbor_errors = (
            squares @ self.neighbor_errors if self.neighbor_errors.nnz else np.zeros((len(own), 1))
        )
        variance = np.maximum(own.sum(axis=1) + shared + neighbor_errors.sum(axis=1), 0.0)
        df = self._df(variance, own, shared, neighbor_errors)
        return np.stack([variance, df, squares.sum(axis=1)]).reshape(3, *shape)

    def _df(self, variance: Floats, own: Floats, shared: Floats, neighbor_errors: Floats) -> Floats:
        """Return Satterthwaite's degrees of freedom."""
        s = self.scatter
        unit = power_of_two(variance)
        variance, own = variance / unit, own / unit
        shared, neighbor_errors = shared / unit, neighbor_errors / unit
        degrees = np.maximum(s.effective - 1.0, 1.0)
        rows = s.weight.sum() if s.kind == "frequency" else s.weight.sum() ** 2 / s.weight2.sum()
        # If homes are cells, a variance used for other cells is fully correlated with the cell's own part.
        if len(s.cells) == 1 and neighbor_errors.shape == own.shape:
            squares = ((own + neighbor_errors) ** 2 / degrees).sum(axis=1)
        else:
            squares = (own**2 / degrees).sum(axis=1) + neighbor_errors.sum(axis=1) ** 2
        squares += shared**2 / max(rows - 1.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            df = variance**2 / squares
        return np.where(variance > 0, df, np.inf)


# ------------------------------------------------------------------------------------------
# Bootstrap replicates, from rows or from moments; normal draws from the analytic errors.


SurfaceStatistic = Literal["value", "cells"]
"""What has intervals: the surface, or its cells' mean double differences."""


RepeatedSurface = Callable[[Floats], Floats]
"""A function from counts of the kept rows, (n, R), to surfaces, (R, m0, m1), or cells, (R, K0, K1)."""


@dataclass(frozen=True, eq=False)
class SurfaceOfWeights:
    """A surface as a function of its cells' mean double differences and weights."""

    sides: tuple[PairAxis, PairAxis]
    fills: bool

    @classmethod
    def of(cls, shown: Surface) -> SurfaceOfWeights:
        """Return the function that a surface with cells was computed by."""
        return cls(shown.sides, shown.provenance.get("empty_cells") == "nearest")

    @property
    def homes(self) -> tuple[int, int]:
        """The numbers of homes of both sides."""
        return self.sides[0].n_homes, self.sides[1].n_homes

    def evaluate(self, mean: Floats, there: Bools, weight: Floats, of: SurfaceStatistic) -> Floats:
        """Return the surfaces, (R, m0, m1), or the cells, (R, K0, K1), NaN where a cell is empty.

        From the cells' mean double differences, (R, C), whether they have rows, and the weights of the homes, (R, H).
        """
        shape = len(mean), *(s.n_nodes - 1 for s in self.sides)
        if of == "cells":
            return np.where(there, mean, np.nan).reshape(shape)
        delta = np.where(there, mean, 0.0)
        if self.fills:
            for r in np.flatnonzero(~there.all(axis=1) & there.any(axis=1)):
                delta[r, ~there[r]] = self._nearest(delta[r], there[r])
        return second_order(
            delta.reshape(shape), weight.reshape(len(mean), *self.homes), self.sides
        )

    def _nearest(self, delta: Floats, there: Bools) -> Floats:
        """Return the empty cells' values of one replicate: means of the nearest cells, as in `fill_empty_cells`."""
        at, known = self._centres[~there], self._centres[there]
        across = np.subtract.outer(at[:, 0], known[:, 0]) ** 2
        distance = across + np.subtract.outer(at[:, 1], known[:, 1]) ** 2
        nearest = distance <= distance.min(axis=1, keepdims=True) * (1 + 1e-9) ** 2
        return nearest @ delta[there] / nearest.sum(axis=1)

    @cached_property
    def _centres(self) -> Floats:
        first, second = (s.centres() for s in self.sides)
        return np.stack([np.repeat(first, len(second)), np.tile(second, len(first))], axis=1)


def double_differences(shown: Surface, rows: PairRows) -> Floats | None:
    """Return the rows' double differences, (r, q), or None if they were not kept."""
    if rows.effect is None:
        return rows.across
    area = np.ones(len(rows))
    for side, x in zip(shown.sides, (rows.x0, rows.x1), strict=True):
        widths = np.diff(side.nodes)
        if len(widths):  # a feature of one value has no cells
            area = area * widths.take(np.maximum(side.home_of(x), 0))
    return (rows.effect * area)[:, None]


def exact_rows(shown: Surface) -> bool:
    """Return whether all rows were kept, with the data that resampling needs."""
    rows = shown.rows
    if rows is None or not rows.exact:
        return False
    if isinstance(shown, AccumulatedSurface) and len(cells_of_homes(shown.sides)) == 0:
        return True
    return rows.across is not None or rows.effect is not None


def from_rows(shown: Surface, of: SurfaceStatistic) -> tuple[RepeatedSurface, BootstrapDraws]:
    """Return the function from counts of the kept rows to surfaces or cells, and how the rows are drawn."""
    rows = shown.rows
    if isinstance(shown, AccumulatedSurface) and shown.includes_main_effects:
        raise _main_effects_error(f"resampled rows of {shown.spec.method} surface", "Resample it")
    if rows is None or not exact_rows(shown):
        raise UnsupportedError(
            f"resampled rows of {shown.spec.method} surface",
            "a result that keeps a part of the rows",
            "a result that keeps all rows",
            "Explain with a larger keep_rows=, for a PDP with ice='all'; or use interval()",
        )
    draws = BootstrapDraws(rows.weight, shown.spec.weight_kind, len(rows), multinomial=True)
    if isinstance(shown, AccumulatedSurface):
        return _surfaces_from_cells(shown, rows, of), draws
    return _means_of_surfaces(shown, rows), draws


def _main_effects_error(what: str, fix: str) -> UnsupportedError:
    got, expected = "a surface that includes main effects", "the second-order effect alone"
    return UnsupportedError(what, got, expected, f"{fix} before adding the main effects")


def reweighted_surface(shown: Surface, counts: ArrayLike) -> Floats:
    """Return the surface for other counts of its rows; see `Surface.resampled`."""
    repeated, draws = from_rows(shown, "value")
    return repeated(np.ascontiguousarray(check_counts(counts, draws.rows, least=1).T))


def _means_of_surfaces(shown: Surface, rows: PairRows) -> RepeatedSurface:
    """Return that function for a PDP: weighted means of the rows' own surfaces."""
    own = rows.across if rows.across is not None else np.zeros((len(rows), shown.value.size))
    middle = shown.value.ravel()
    moved = own - middle

    def repeated(counts: Floats) -> Floats:
        counts = np.ascontiguousarray(counts.T)
        value = counts @ moved / counts.sum(axis=1, keepdims=True) + middle
        return value.reshape(-1, *shown.value.shape)

    return repeated


def _surfaces_from_cells(shown: Surface, rows: PairRows, of: SurfaceStatistic) -> RepeatedSurface:
    """Return that function for an ALE or DALE: sums over the rows of each cell and home."""
    recount, across = SurfaceOfWeights.of(shown), double_differences(shown, rows)
    first, second = (s.home_of(x) for s, x in zip(shown.sides, (rows.x0, rows.x1), strict=True))
    n, homes = len(rows), recount.homes[0] * recount.homes[1]
    # After `rebin`, rows of slopes may be outside the edges.
    inside = np.flatnonzero((first >= 0) & (second >= 0))
    home = (first * recount.homes[1] + second)[inside]
    order = np.argsort(home, kind="stable")
    home_sums = sums_by_cell([np.ones(len(home))], inside[order], home[order], (homes, n))
    cells = cells_of_homes(shown.sides)[:, home]
    middle = shown.moments[CELL].mean.ravel()
    row = np.broadcast_to(inside, cells.shape)[cells >= 0]
    place = cells[cells >= 0]
    # Deviations from the cells' means, for precision.
    off = np.zeros(0) if across is None else across[inside].T[cells >= 0] - middle[place]
    order = np.lexsort((row, place))
    parts = [np.ones(len(row)), off[order]]
    cell_sums = sums_by_cell(parts, row[order], place[order], (len(middle), n))

    def repeated(counts: Floats) -> Floats:
        weight = home_sums @ counts
        sums = (cell_sums @ counts).reshape(len(middle), 2, counts.shape[1])
        size, moved = sums[:, 0], sums[:, 1]
        there = size > 0
        mean = moved / np.where(there, size, 1.0) + middle[:, None]
        return recount.evaluate(mean.T, there.T, weight.T, of)

    return repeated


def bootstrap_replicates(
    shown: Surface, of: SurfaceStatistic, replicates: int, seed: int
) -> Floats:
    """Return bootstrap replicates, (R, ...): from the rows if all are kept, else from the moments."""
    rng = bootstrap_rng(seed, 0)
    if not exact_rows(shown):
        check_moments(shown)
        if isinstance(shown, AccumulatedSurface):
            return _from_moments(shown, of, replicates, rng)
        return _points(shown, replicates, rng)
    repeated, draws = from_rows(shown, of)
    kept = draws.sampling_weight

    def draw(size: int) -> Floats:
        counts = draws.counts(rng, size)
        return repeated(counts if kept is None else counts * kept[:, None])

    return draw_in_parts(replicates, max(1, BLOCK // max(draws.rows, 1)), draw)


def check_moments(shown: Surface) -> None:
    """Raise if the surface lacks the moments for standard errors."""
    if not has_variances(shown):
        raise UnsupportedError(
            f"interval of {shown.spec.method} surface",
            "a result of an earlier version, without variances",
            "a result with variances",
            "Explain again",
        )


def _from_moments(
    shown: Surface, of: SurfaceStatistic, replicates: int, rng: np.random.Generator
) -> Floats:
    """Return replicates from drawn counts of rows per home, and drawn means of their double differences."""
    s, recount = second_moments(shown), SurfaceOfWeights.of(shown)
    fraction = s.weight if s.kind == "frequency" else s.count
    # Variance of one row's double differences, increased for unequal weights, whose means have larger errors.
    covariance = s.within / np.where(s.weight > 0, s.weight, 1.0)[:, None, None]
    root = _root(covariance * (fraction / np.maximum(s.effective, 1e-300))[:, None, None])
    middle = shown.moments[CELL].mean.ravel()

    def draw(drawn: int) -> Floats:
        counts, weight = _draw_home_counts(s, fraction, drawn, rng)
        mean = _correlate(root, rng.standard_normal((len(counts), *s.mean.shape)))
        mean = mean / np.sqrt(np.maximum(counts, 1.0))[..., None] + s.off
        sums, size = np.zeros((2, len(counts), len(middle)))
        for i, cells in enumerate(s.cells):
            part = np.flatnonzero(cells >= 0)
            _add(sums, cells[part], weight[:, part] * mean[:, part, i])
            _add(size, cells[part], weight[:, part])
        there = size > 0
        return recount.evaluate(sums / np.where(there, size, 1.0) + middle, there, weight, of)

    return draw_in_parts(replicates, max(1, BLOCK // max(s.mean.size, s.weight.size)), draw)


def _draw_home_counts(
    s: SecondMoments, fraction: Floats, replicates: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return drawn counts of rows per home, and their weights."""
    rows = max(1, round(float(fraction.sum())))
    counts = rng.multinomial(rows, fraction / fraction.sum(), size=replicates).astype(float)
    if s.kind == "frequency":
        return counts, counts
    # The weights of a home's rows vary between draws.
    each = s.weight / np.maximum(s.count, 1.0)
    variance = np.maximum(s.weight2 / np.maximum(s.count, 1.0) - each**2, 0.0)
    moved = np.sqrt(counts * variance) * rng.standard_normal(counts.shape)
    return counts, np.maximum(counts * each + moved, counts * each / 10)


def _correlate(root: Floats, noise: Floats) -> Floats:
    """Return normal numbers with the covariances of which `root` has the square roots."""
    if root.shape[1:] == (1, 1):
        return noise * root[:, :, 0]
    return np.einsum("hpq,rhq->rhp", root, noise)


def _root(covariance: Floats) -> Floats:
    """Return square roots of covariance matrices; eigenvalues that rounding made negative become 0."""
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]


def _points(shown: Surface, replicates: int, rng: np.random.Generator) -> Floats:
    """Return independent draws of a PDP's points. Their correlation would need the rows' own surfaces."""
    error = shown.moments[SHOWN].mean_error(0, shown.spec.weight_kind)
    noise = rng.standard_normal((replicates, *shown.value.shape))
    return shown.value + error * noise


def deviation_sampler(shown: Surface) -> Callable[[int, np.random.Generator], Floats] | None:
    """Return a function that draws deviations with the surface's correlation, or None if that is unknown.

    That of a PDP is known from the rows' own surfaces.
    """
    if isinstance(shown, AccumulatedSurface):
        found = SurfaceErrors.of(shown)
        return lambda draws, rng: deviations(found, draws, rng)
    rows = shown.rows
    if rows is None or rows.across is None or not rows.exact or shown.value.size > MOST_POINTS:
        return None
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    moved = (rows.across - shown.value.ravel()) * np.sqrt(weight)[:, None]
    products = moved.T @ moved
    size = np.diag(products)
    scale = shown.std_error.ravel() / np.sqrt(np.where(size > 0, size, 1.0))
    root = _root(products * np.outer(scale, scale))

    def drawn(draws: int, rng: np.random.Generator) -> Floats:
        noise = rng.standard_normal((draws, shown.value.size))
        return (noise @ root.T).reshape(draws, *shown.value.shape)

    return drawn


def deviations(found: SurfaceErrors, draws: int, rng: np.random.Generator) -> Floats:
    """Return normal deviations of the surface with the covariance of its errors, (draws, m0, m1)."""
    s, slopes = found.scatter, found.slopes
    root = np.sqrt(s.weight * s.ratio)
    drift = rng.standard_normal((draws, len(s.weight))) * root
    root_within = _root(s.within * s.ratio[:, None, None])
    noise = rng.standard_normal((draws, *s.mean.shape))
    sums = _correlate(root_within, noise) + drift[..., None] * s.off
    cell = np.zeros((draws, len(s.scale)))
    for i, cells in enumerate(s.cells):
        there = np.flatnonzero(cells >= 0)
        _add(cell, cells[there], sums[:, there, i])
    cell *= s.scale
    neighbor_std = np.sqrt(np.asarray(found.neighbor_errors.sum(axis=1)).ravel())
    cell += neighbor_std * rng.standard_normal(cell.shape)
    delta = (cell @ found.fill.T).reshape(draws, *slopes.delta.shape)
    first, second, level = slopes.by_homes
    moved = second_order(delta, slopes.weight, slopes.sides)
    moved -= (drift @ first.T)[:, :, None] + (drift @ second.T)[:, None, :]
    return moved - (drift @ level)[:, None, None]


def _add(total: Floats, place: Ints, values: Floats) -> None:
    """Add columns of values to the columns of `total` with index `place`, in place."""
    if len(place) == total.shape[1] and (np.diff(place) == 1).all():  # each home is one cell
        total += values
        return
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    if len(starts):
        total[:, place[order][starts]] += np.add.reduceat(values[:, order], starts, axis=1)


# ------------------------------------------------------------------------------------------
# Intervals of surfaces and of their cells: pointwise or simultaneous, analytic or by the bootstrap.


DRAWS, NUMBERS, FEW = 10_000, 20_000_000, 2_000
"""Draws for a simultaneous band; for large surfaces as many as give `NUMBERS` elements, but at least `FEW`."""


def surface_interval(
    shown: Surface,
    confidence_level: float,
    method: str,
    *,
    simultaneous: bool,
    of: SurfaceStatistic,
    replicates: int,
    random_state: RandomState,
) -> IntervalEnds:
    """Return the lower and upper ends of intervals; see `Surface.interval`."""
    seed = check_interval(confidence_level, method, simultaneous, replicates, random_state)
    check_option("interval(of)", of, ("value", "cells"))
    _check_statistic(shown, of)
    if method == "bootstrap":
        drawn = bootstrap_replicates(shown, of, int(replicates), seed)
        value = shown.value
        if isinstance(shown, AccumulatedSurface) and of == "cells":
            value = shown.cells.effect
        ends = _percentiles(drawn, value.shape, confidence_level)
        if simultaneous:
            ends = _band(drawn, value, confidence_level)
    elif isinstance(shown, AccumulatedSurface) and of == "cells":
        ends = _interval_of_cells(shown, confidence_level, simultaneous=simultaneous)
    else:
        ends = _analytic(shown, confidence_level, simultaneous=simultaneous, seed=seed)
    room = shown.error.rounding if of == "value" else shown.provenance.get("rounding", 0.0)
    return ends[0] - room, ends[1] + room


def _check_statistic(shown: Surface, of: SurfaceStatistic) -> None:
    """Raise if the surface has no intervals of this kind."""
    what = f"interval of {shown.spec.method} surface"
    if isinstance(shown, AccumulatedSurface):
        if shown.includes_main_effects and of == "value":
            raise _main_effects_error(what, "Compute the interval")
        return
    if of == "cells":
        raise UnsupportedError(
            what, "a surface on a grid", "cells, as of ALE and DALE", "Remove of="
        )
    if shown.spec.mean_alone:
        raise UnsupportedError(
            what,
            "only the mean surface",
            "the standard deviation between rows",
            "Explain again without heterogeneity=False",
        )


def _analytic(
    shown: Surface, confidence_level: float, *, simultaneous: bool, seed: int
) -> IntervalEnds:
    """Return intervals by Student's t; simultaneous ones from the quantile of the largest deviation."""
    from scipy.special import ndtr

    check_moments(shown)
    error, df = shown.std_error, shown.df
    if not simultaneous:
        return t_interval(shown.value, error, df, confidence_level)
    moving = error > 0  # excludes NaN, and points without an error
    draw = deviation_sampler(shown)
    if draw is None or not moving.any():
        each = _sidak(confidence_level, int(moving.sum()))
        return t_interval(shown.value, error, df, each)
    draws = max(FEW, min(DRAWS, NUMBERS // error.size))
    step = max(1, NUMBERS // 5 // error.size)
    largest: list[Floats] = []
    for i, start in enumerate(range(0, draws, step)):
        drawn = draw(min(step, draws - start), bootstrap_rng(seed, 1 + i))
        largest.append(np.abs(drawn[:, moving] / error[moving]).max(axis=1))
    quantile = float(np.quantile(np.concatenate(largest), confidence_level))
    # The level at which the normal distribution has this quantile.
    return t_interval(shown.value, error, df, float(1 - 2 * ndtr(-quantile)))


def _sidak(confidence_level: float, points: int) -> float:
    """Return the level of each interval for a joint level (Šidák); conservative for dependent intervals."""
    return float(confidence_level ** (1 / max(points, 1)))


def _interval_of_cells(
    shown: AccumulatedSurface, confidence_level: float, *, simultaneous: bool
) -> IntervalEnds:
    """Return intervals of the cells' mean double differences."""
    cells = shown.cells
    size = shown.moments[CELL].effective_size(shown.spec.weight_kind)
    known = int(np.count_nonzero(cells.std_error > 0))
    each = _sidak(confidence_level, known) if simultaneous else confidence_level
    return t_interval(cells.effect, cells.std_error, size - 1.0, each)


def _percentiles(drawn: Floats, shape: tuple[int, ...], confidence_level: float) -> IntervalEnds:
    """Return percentiles over replicates; NaN where all replicates are NaN."""
    tail = (1 - confidence_level) / 2
    flat = drawn.reshape(len(drawn), -1)
    ends = np.full((2, flat.shape[1]), np.nan)
    there = ~np.isnan(flat).all(axis=0)
    gaps = bool(np.isnan(flat[:, there]).any())
    quantile = np.nanquantile if gaps else np.quantile
    ends[:, there] = quantile(flat[:, there], [tail, 1 - tail], axis=0)
    return ends[0].reshape(shape), ends[1].reshape(shape)


def _band(drawn: Floats, value: Floats, confidence_level: float) -> IntervalEnds:
    """Return a band from the largest deviation of each replicate, in units of the replicates' standard deviation."""
    # A point or cell may be NaN in some or all replicates.
    count = np.count_nonzero(~np.isnan(drawn), axis=0)
    some = np.maximum(count, 1)
    mean = np.nansum(drawn, axis=0) / some
    std = np.sqrt(np.nansum((drawn - mean) ** 2, axis=0) / np.maximum(count - 1, 1))
    std = np.where(count > 1, std, np.nan)
    moving = exceeds_rounding(std, value)
    half = std * 0.0
    if moving.any():
        off = np.abs(drawn[:, moving] - value[moving]) / std[moving]
        half = std * float(np.quantile(np.nan_to_num(off).max(axis=1), confidence_level))
    return value - half, value + half
