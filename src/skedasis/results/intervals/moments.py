"""Moments of cells for many replicates at once: of kept rows by one sparse product, or drawn at random.

A replicate of the bootstrap is a vector of counts: how often each row was drawn. The moments of cells for many vectors
of counts are arrays of shape (cells, R). They come from the kept rows by one sparse product (`CellRows`). If not all
rows are kept, the moments themselves are drawn (`MomentDraws`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.results.build.steps import BOTH, DOWN, UP
from skedasis.stats.moments import Moments, WeightKind
from skedasis.stats.resampling import BootstrapDraws

# ------------------------------------------------------------------------------------------
# Sparse matrices.


class SparseMatrix(Protocol):
    """A sparse matrix of SciPy, as far as sums of rows need it."""

    def __matmul__(self, other: Floats | Bools, /) -> Floats:
        """Return the product with an array on its right."""
        ...

    def __rmatmul__(self, other: Floats, /) -> Floats:
        """Return the product with an array on its left."""
        ...


def sparse_matrix(entries: Floats, row: Ints, column: Ints, shape: tuple[int, int]) -> SparseMatrix:
    """Return the matrix with these entries; several entries of one place are added up."""
    from scipy.sparse import csr_array

    return csr_array((entries, (row, column)), shape)


def sparse_diagonal(entries: Floats) -> SparseMatrix:
    """Return the matrix with these entries on its diagonal."""
    place = np.arange(len(entries))
    return sparse_matrix(entries, place, place, (len(entries), len(entries)))


def interpolation_matrix(corners: Floats, x: Floats) -> SparseMatrix:
    """Return the matrix of linear interpolation from corners to x, constant beyond the first and last corner."""
    place = np.clip(np.searchsorted(corners, x, side="right") - 1, 0, len(corners) - 2)
    part = np.clip((x - corners[place]) / (corners[place + 1] - corners[place]), 0.0, 1.0)
    row = np.tile(np.arange(len(x)), 2)
    entries = np.concatenate([1 - part, part])
    columns = np.concatenate([place, place + 1])
    return sparse_matrix(entries, row, columns, (len(x), len(corners)))


def sums_by_cell(
    values: Sequence[Floats], row: Ints, cell: Ints, shape: tuple[int, int]
) -> SparseMatrix:
    """Return the matrix (cells * parts, rows) that sums several values of rows by cell.

    `values` has one array per part; their rows and cells, sorted by cell, are `row` and `cell`. The parts of a cell are
    adjacent rows of the matrix, so that the counts of its rows stay in the cache.
    """
    from scipy.sparse import csr_array

    cells, rows = shape
    ends = np.searchsorted(cell, np.arange(cells + 1))
    spans = [slice(a, b) for a, b in pairwise(ends)]
    parts = len(values)
    data = np.concatenate([np.zeros(0), *(v[s] for s in spans for v in values)])
    index = np.concatenate([np.zeros(0, np.int32), *(np.tile(row[s], parts) for s in spans)])
    ends = np.concatenate([[0], np.cumsum(np.repeat(np.diff(ends), parts))])
    arrays = data, index.astype(np.int32), ends.astype(np.int32)
    return csr_array(arrays, (parts * cells, rows))


def counts_by_cell(cell: Ints, cells: int, counts: Floats) -> Floats:
    """Return the sums of counts of rows, (n, R), in each cell, (cells, R)."""
    order = np.argsort(cell, kind="stable")
    return sums_by_cell([np.ones(len(order))], order, cell[order], (cells, len(cell))) @ counts


# ------------------------------------------------------------------------------------------
# From kept rows.


@dataclass(frozen=True, eq=False)
class CellRows:
    """Rows with their cells, from which moments of cells are computed by one sparse product for many replicates."""

    place: Ints
    """Index of each row's cell, shape (n,); -1 for none."""
    cells: int
    values: dict[str, Floats]
    """Shape (n,)."""
    draws: BootstrapDraws

    def summed(self, names: tuple[str, ...], *, squares: bool) -> MomentSums:
        """Return the function from counts to moments of the named values."""
        inside = np.flatnonzero(self.place >= 0)
        order = inside[np.argsort(self.place[inside], kind="stable")]
        group = self.place[order]
        row_weight = self.draws.sampling_weight
        row_weight = None if row_weight is None else row_weight[order]
        ones = np.ones(len(order))
        parts = [ones] if row_weight is None else [ones, row_weight, row_weight**2]
        middle: dict[str, Floats] = {}
        for name in names:
            value = self.values[name][order]
            middle[name] = Moments.of(value, group, self.cells, row_weight).mean
            deviation = value - middle[name][group]
            first = deviation if row_weight is None else row_weight * deviation
            parts += [first, first * deviation] if squares else [first]
        matrix = sums_by_cell(parts, order, group, (self.cells, len(self.place)))
        return MomentSums(middle, matrix, 1 if row_weight is None else 3, squares)


@dataclass(frozen=True, eq=False)
class MomentSums:
    """Function from counts of rows, (n, R), to moments of cells, (P, R)."""

    middle: dict[str, Floats]
    """The cells' means, shape (P,). Deviations from these are summed, so that a large offset does not cost precision.
    """
    matrix: SparseMatrix
    """Sums counts, shape (P * parts, n); with sampling weights also weights and squared weights; then for each value
    the weighted deviations and their squares."""
    sizes: int
    """Number of parts that are counts or sums of weights: 1 or 3."""
    squares: bool
    """Whether squared deviations are summed."""

    def __call__(self, counts: Floats) -> dict[str, Moments]:
        """Return moments (P, R) from counts (n, R)."""
        counts = np.ascontiguousarray(counts, dtype=float)
        each = 2 if self.squares else 1
        parts = self.sizes + each * len(self.middle)
        sums = (self.matrix @ counts).reshape(-1, parts, counts.shape[1])
        count = sums[:, 0]
        weight, weight2 = (count, count) if self.sizes == 1 else (sums[:, 1], sums[:, 2])
        safe = np.where(weight > 0, weight, 1.0)
        found: dict[str, Moments] = {}
        for k, (name, middle) in enumerate(self.middle.items()):
            place = self.sizes + each * k
            deviation = sums[:, place] / safe
            m2 = np.zeros_like(weight)
            if self.squares:
                m2 = np.maximum(sums[:, place + 1] - safe * deviation**2, 0.0)
            mean = np.where(weight > 0, middle[:, None] + deviation, 0.0)
            found[name] = Moments(count, weight, weight2, mean, m2)
        return found


# ------------------------------------------------------------------------------------------
# Drawn from moments, for results that keep only some of the rows.


@dataclass(frozen=True, eq=False)
class MomentDraws:
    """Random draws of the moments of cells, for R replicates.

    Notes
    -----
    Counts of rows per cell are multinomial, as in a bootstrap of rows. The mean of a cell is normal around the observed
    one, with the cell's variance (with divisor n, as in a bootstrap) divided by the drawn number of rows. The sum of
    squares is chi-squared. This equals a bootstrap of rows up to the shape of the distribution within a cell, which
    matters in cells with few rows. Sampling weights are assumed independent of the values.
    """

    sizes: Moments
    rng: np.random.Generator
    kind: WeightKind
    squares: bool

    @classmethod
    def of(
        cls,
        own: Moments,
        rng: np.random.Generator,
        replicates: int,
        kind: WeightKind,
        *,
        squares: bool,
    ) -> MomentDraws:
        """Draw the sizes of the cells that have the moments `own`, (P,)."""
        of = own.weight if kind == "frequency" else own.count
        total = max(1, round(float(of.sum())))
        count = rng.multinomial(total, of / of.sum(), size=replicates).T.astype(float)
        if kind == "frequency":
            return cls(Moments(count, count, count, count, count), rng, kind, squares)
        rows = np.where(own.count > 0, own.count, 1.0)[:, None]
        mean, square = own.weight[:, None] / rows, own.weight2[:, None] / rows
        std = np.sqrt(count * np.maximum(square - mean**2, 0.0))
        weight = count * mean + std * rng.standard_normal(count.shape)
        # A normal draw may be too small or negative; half the mean weight is a lower limit that is rarely reached.
        weight = np.maximum(weight, count * mean / 2)
        return cls(Moments(count, weight, count * square, weight, weight), rng, kind, squares)

    @property
    def size(self) -> Floats:
        """The effective number of rows in each cell, (P, R); 1 in cells without rows."""
        return np.where(self.sizes.count > 0, self.sizes.effective_size(self.kind), 1.0)

    def cells(self, own: Moments) -> Moments:
        """Return drawn moments, (P, R), of cells that have the moments `own`, (P,)."""
        count = self.sizes.count
        variance = _variance(own.m2, own)[:, None]
        normal = self.rng.standard_normal(count.shape)
        mean = own.mean[:, None] + np.sqrt(variance / self.size) * normal
        return self._moments(mean, variance)

    def steps(self, moments: Mapping[str, Moments]) -> dict[str, Moments]:
        """Return drawn moments of both steps of each level, with their covariance."""
        down, up, both = moments[DOWN], moments[UP], moments[BOTH]
        at_down, at_up = _variance(down.m2, up), _variance(up.m2, up)
        product = _variance((both.m2 - down.m2 - up.m2) / 2, up)
        product[0] = product[-1] = 0.0  # one of the two steps does not exist
        root = np.sqrt(at_down)
        slope = np.where(root > 0, product / np.where(root > 0, root, 1.0), 0.0)
        rest = np.sqrt(np.maximum(at_up - slope**2, 0.0))
        normal = self.rng.standard_normal((2, *self.sizes.count.shape))
        one, two = normal / np.sqrt(self.size)
        means = {
            DOWN: down.mean[:, None] + root[:, None] * one,
            UP: up.mean[:, None] + slope[:, None] * one + rest[:, None] * two,
        }
        variances = {DOWN: at_down[:, None], UP: at_up[:, None]}
        return {name: self._moments(means[name], variances[name]) for name in (DOWN, UP)}

    def _moments(self, mean: Floats, variance: Floats) -> Moments:
        """Return moments with these means, and drawn sums of squares."""
        sizes = self.sizes
        m2 = np.zeros_like(mean)
        if self.squares:
            free = np.maximum(sizes.effective_size(self.kind) - 1.0, 0.0)
            m2 = variance * sizes.weight / self.size * 2 * self.rng.standard_gamma(free / 2)
        mean = np.where(sizes.count > 0, mean, 0.0)
        return Moments(sizes.count, sizes.weight, sizes.weight2, mean, m2)


def _variance(m2: Floats, own: Moments) -> Floats:
    """Return variances with divisor n: the variance of resampled rows."""
    return m2 / np.where(own.weight > 0, own.weight, 1.0)
