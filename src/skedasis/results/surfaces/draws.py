"""Surfaces drawn again: with their rows counted otherwise, from their moments, or as their errors would have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.results.dependence import SHOWN
from skedasis.results.surfaces.errors import Errors, Scatter, scatter_of
from skedasis.results.surfaces.pairs import CELL, JOINT, second_order, taking_part
from skedasis.stats.resampling import generator

if TYPE_CHECKING:
    from skedasis.results.surfaces.pair_parts import PairRows
    from skedasis.results.surfaces.surface import Surface

BLOCK = 4_000_000
"""Numbers that are worked on at a time."""
FEW_CELLS = 2_000
"""So many cells at most have a table of the distances between them."""

Drawn = tuple[Floats, Floats]
"""Surfaces, (R, m0, m1), and their cells' mean double differences, (R, K0, K1), NaN where a cell is empty."""


class Recount:
    """A surface whose cells and weights are given anew: what resampling repeats.

    Parameters
    ----------
    shown : Surface
        Of cells.
    """

    def __init__(self, shown: Surface) -> None:
        self.sides = shown.sides
        self.shape = tuple(s.m - 1 for s in self.sides)
        self.homes = tuple(s.homes for s in self.sides)
        self.fills = shown.provenance.get("empty_cells") == "nearest"
        self._apart: Floats | None = None

    def value(self, mean: Floats, there: Bools, weight: Floats) -> Drawn:
        """Return the surfaces of mean double differences.

        Parameters
        ----------
        mean : ndarray of float, shape (R, C)
        there : ndarray of bool, shape (R, C)
            Cells that have rows.
        weight : ndarray of float, shape (R, H)
        """
        delta = np.where(there, mean, 0.0)
        if self.fills:
            for r in np.flatnonzero(~there.all(axis=1) & there.any(axis=1)):
                delta[r, ~there[r]] = self._nearest(delta[r], there[r])
        shaped = delta.reshape(len(delta), *self.shape)
        value = second_order(shaped, weight.reshape(len(weight), *self.homes), self.sides)
        return value, np.where(there, mean, np.nan).reshape(shaped.shape)

    def _nearest(self, delta: Floats, there: Bools) -> Floats:
        """Return what the empty cells of one draw take, as `filled` has it."""
        apart = self._distances(there)
        nearest = apart <= apart.min(axis=1, keepdims=True) * (1 + 1e-9) ** 2
        return nearest @ delta[there] / nearest.sum(axis=1)

    def _distances(self, there: Bools) -> Floats:
        """Return the squared distances, from empty cells to the others."""
        first, second = (s.centres() for s in self.sides)
        at = np.stack([np.repeat(first, len(second)), np.tile(second, len(first))], axis=1)
        if len(at) > FEW_CELLS:
            return _squares(at[~there], at[there])
        if self._apart is None:
            self._apart = _squares(at, at)
        return self._apart[np.ix_(~there, there)]


def _squares(a: Floats, b: Floats) -> Floats:
    return np.subtract.outer(a[:, 0], b[:, 0]) ** 2 + np.subtract.outer(a[:, 1], b[:, 1]) ** 2


def jumps(shown: Surface, rows: PairRows) -> Floats | None:
    """Return the rows' double differences, (r, q); None where they were not kept."""
    if rows.effect is None:
        return rows.across
    area = np.ones(len(rows))
    for side, x in zip(shown.sides, (rows.x0, rows.x1), strict=True):
        widths = np.diff(side.nodes)
        if len(widths):  # a feature of one value has no cells
            area = area * widths.take(np.maximum(side.home(x), 0))
    return (rows.effect * area)[:, None]


def exact_rows(shown: Surface) -> bool:
    """Return whether all rows were kept, with what resampling needs of them."""
    rows = shown.rows
    if rows is None or not rows.exact:
        return False
    if shown.cells is not None and len(taking_part(shown.sides)) == 0:
        return True
    return rows.across is not None or rows.effect is not None


def from_rows(shown: Surface) -> Callable[[Floats], Drawn]:
    """Return what counts of the kept rows, (R, r), give; see `Surface.resampled`.

    Raises
    ------
    UnsupportedError
        Where not all rows were kept.
    """
    rows = shown.rows
    if shown.cells is not None and shown.includes_main_effects:
        raise UnsupportedError(
            explained(
                f"resampled rows of a {shown.spec.method}'s surface",
                "one with main effects",
                "the joint effect alone",
                "Resample it before they are added",
            )
        )
    if rows is None or not exact_rows(shown):
        raise UnsupportedError(
            explained(
                f"resampled rows of a {shown.spec.method}'s surface",
                "a result that keeps a part of them",
                "what each row adds",
                "Explain with a larger keep=, a PDP with ice='all'; or use interval()",
            )
        )
    if shown.cells is None:
        return _of_surfaces(shown, rows)
    return _of_cells(shown, rows)


def resampled(shown: Surface, counts: Any) -> Floats:
    """Return the surface with its rows counted otherwise; see `Surface.resampled`."""
    drawn = from_rows(shown)
    rows = 0 if shown.rows is None else len(shown.rows)
    given = np.asarray(counts)
    given = np.atleast_2d(given.astype(float) if given.dtype.kind in "iufb" else np.zeros(0))
    right = given.ndim == 2 and given.shape[1] == rows and len(given) > 0
    if not right or not (np.isfinite(given) & (given >= 0)).all() or not given.any(axis=1).all():
        got = f"an array of shape {np.shape(counts)}"
        raise DataError(
            explained(
                "resampled(counts)",
                got if not right else "negative or infinite counts, or none above zero",
                f"counts of the {rows} rows",
                "Count each row zero times or more, some at least once",
            )
        )
    return drawn(given)[0]


def _of_surfaces(shown: Surface, rows: PairRows) -> Callable[[Floats], Drawn]:
    """Return so for a PDP: weighted means of the rows' own surfaces."""
    own = rows.across if rows.across is not None else np.zeros((len(rows), shown.value.size))
    middle = shown.value.ravel()
    moved = own - middle

    def drawn(counts: Floats) -> Drawn:
        value = counts @ moved / counts.sum(axis=1, keepdims=True) + middle
        return value.reshape(-1, *shown.value.shape), np.empty((len(counts), 0, 0))

    return drawn


def _of_cells(shown: Surface, rows: PairRows) -> Callable[[Floats], Drawn]:
    """Return so for an ALE or DALE: sums over the rows of each cell and home."""
    from scipy.sparse import csr_array

    recount, across = Recount(shown), jumps(shown, rows)
    first, second = (s.home(x) for s, x in zip(shown.sides, (rows.x0, rows.x1), strict=True))
    n, homes = len(rows), recount.homes[0] * recount.homes[1]
    # Put into other bins, of slopes, rows may lie beyond the edges.
    inside = np.flatnonzero((first >= 0) & (second >= 0))
    home = (first * recount.homes[1] + second)[inside]
    live = csr_array((np.ones(len(inside)), (home, inside)), shape=(homes, n))
    cells = taking_part(shown.sides)[:, home]
    middle = shown.moments[CELL].mean.ravel()
    row = np.broadcast_to(inside, cells.shape)[cells >= 0]
    place = cells[cells >= 0]
    part = (place, row)
    taken = csr_array((np.ones(len(row)), part), shape=(len(middle), n))
    # From the cells' means: their own size would cost digits.
    off = np.zeros(0) if across is None else across[inside].T[cells >= 0] - middle[place]
    moved = csr_array((off, part), shape=(len(middle), n))

    def drawn(counts: Floats) -> Drawn:
        across_rows = np.ascontiguousarray(counts.T)
        weight, size = live @ across_rows, taken @ across_rows
        there = size > 0
        mean = moved @ across_rows / np.where(there, size, 1.0) + middle[:, None]
        return recount.value(mean.T, there.T, weight.T)

    return drawn


def redrawn(shown: Surface, replicates: int, seed: int) -> Drawn:
    """Return bootstrap replicates: of the rows where all are kept, else of the moments.

    Raises
    ------
    DataError
        For fewer than two replicates.
    UnsupportedError
        Where neither allows it.
    """
    if (
        isinstance(replicates, bool)
        or not isinstance(replicates, (int, np.integer))
        or replicates < 2
    ):
        raise DataError(
            explained("interval(replicates)", repr(replicates), "2 or more", "Use 1000")
        )
    rng = generator(seed, 0)
    if exact_rows(shown):
        return _resampled(shown, int(replicates), rng)
    gathered(shown)
    if shown.cells is None:
        return _points(shown, int(replicates), rng)
    return _from_moments(shown, int(replicates), rng)


def _resampled(shown: Surface, replicates: int, rng: np.random.Generator) -> Drawn:
    """Draw as many rows with replacement as there are, again and again."""
    rows, drawn = shown.rows, from_rows(shown)
    n = 0 if rows is None else len(rows)
    weight = None if rows is None else rows.weight
    step = max(1, BLOCK // max(n, 1))
    parts: list[Drawn] = []
    for start in range(0, replicates, step):
        size = min(step, replicates - start)
        parts.append(drawn(_counts(n, weight, shown.spec.weight_kind, size, rng)))
    return _joined(parts)


def _counts(
    n: int, weight: Floats | None, kind: str, size: int, rng: np.random.Generator
) -> Floats:
    """Return how often rows count in some replicates, (size, n)."""
    if weight is not None and kind == "frequency":  # a row of weight 2 is two rows
        total = float(weight.sum())
        share = weight / total
        return rng.multinomial(max(1, round(total)), share, size=size).astype(float)
    counts = np.empty((size, n))
    for r in range(size):
        counts[r] = np.bincount(rng.integers(0, n, n), minlength=n)
    return counts if weight is None else counts * weight


def gathered(shown: Surface) -> None:
    """Refuse a surface whose rows' spread was never gathered.

    Raises
    ------
    UnsupportedError
    """
    rows_alone = len(taking_part(shown.sides)) > 1 and JOINT not in shown.moments
    if rows_alone if shown.cells is not None else SHOWN not in shown.moments:
        raise UnsupportedError(
            explained(
                f"interval of a {shown.spec.method}'s surface",
                "a result of an earlier version, without the spread of its rows",
                "what errors follow from",
                "Explain again",
            )
        )


def _from_moments(shown: Surface, replicates: int, rng: np.random.Generator) -> Drawn:
    """Draw how many rows each home has, and the means of its rows' double differences."""
    s, recount = scatter_of(shown), Recount(shown)
    share = s.weight if s.kind == "frequency" else s.count
    # Variance of one row's double differences; weights that differ make means of as many rows worse.
    spread = s.within / np.where(s.weight > 0, s.weight, 1.0)[:, None, None]
    root = _root(spread * (share / np.maximum(s.effective, 1e-300))[:, None, None])
    middle = shown.moments[CELL].mean.ravel()
    step = max(1, BLOCK // max(s.mean.size, s.weight.size))
    parts: list[Drawn] = []
    for start in range(0, replicates, step):
        counts, weight = _home_draws(s, share, min(step, replicates - start), rng)
        mean = _times(root, rng.standard_normal((len(counts), *s.mean.shape)))
        mean = mean / np.sqrt(np.maximum(counts, 1.0))[..., None] + s.off
        sums, size = np.zeros((2, len(counts), len(middle)))
        for i, cells in enumerate(s.cells):
            part = np.flatnonzero(cells >= 0)
            _add(sums, cells[part], weight[:, part] * mean[:, part, i])
            _add(size, cells[part], weight[:, part])
        there = size > 0
        drawn = sums / np.where(there, size, 1.0) + middle
        parts.append(recount.value(drawn, there, weight))
    return _joined(parts)


def _home_draws(
    s: Scatter, share: Floats, replicates: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return how many rows each home has in each draw, and their weight."""
    rows = max(1, round(float(share.sum())))
    counts = rng.multinomial(rows, share / share.sum(), size=replicates).astype(float)
    if s.kind == "frequency":
        return counts, counts
    # Rows of a home have other weights in each draw.
    each = s.weight / np.maximum(s.count, 1.0)
    apart = np.maximum(s.weight2 / np.maximum(s.count, 1.0) - each**2, 0.0)
    moved = np.sqrt(counts * apart) * rng.standard_normal(counts.shape)
    return counts, np.maximum(counts * each + moved, counts * each / 10)


def _times(root: Floats, noise: Floats) -> Floats:
    """Return normal numbers with the covariances whose roots these are."""
    if root.shape[1:] == (1, 1):
        return noise * root[:, :, 0]
    return np.einsum("hpq,rhq->rhp", root, noise)


def _joined(parts: list[Drawn]) -> Drawn:
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _root(spread: Floats) -> Floats:
    """Return roots of matrices of covariances, which rounding may have made a little less than that."""
    values, vectors = np.linalg.eigh(spread)
    return vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]


def _points(shown: Surface, replicates: int, rng: np.random.Generator) -> Drawn:
    """Draw a PDP's points one by one: how they go together only the rows' own surfaces tell."""
    moments, kind = shown.moments[SHOWN], shown.spec.weight_kind
    size = moments.effective(kind)
    error = np.sqrt(moments.variance(0, kind) / size)
    noise = rng.standard_normal((replicates, *shown.value.shape))
    return shown.value + error * noise, np.empty((replicates, 0, 0))


def point_draws(shown: Surface) -> Callable[[int, np.random.Generator], Floats] | None:
    """Return what draws a PDP's deviations as its rows' own surfaces go together; None where these were not kept."""
    rows = shown.rows
    if rows is None or rows.across is None or not rows.exact or shown.value.size > FEW_CELLS:
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


def deviations(found: Errors, draws: int, rng: np.random.Generator) -> Floats:
    """Return deviations of the surface as its errors have them, drawn from the normal distribution, (draws, m0, m1)."""
    s, slopes = found.scatter, found.slopes
    root = np.sqrt(s.weight * s.ratio)
    drift = rng.standard_normal((draws, len(s.weight))) * root
    spread = _root(s.within * s.ratio[:, None, None])
    noise = rng.standard_normal((draws, *s.mean.shape))
    sums = _times(spread, noise) + drift[..., None] * s.off
    cell = np.zeros((draws, len(s.scale)))
    for i, cells in enumerate(s.cells):
        there = np.flatnonzero(cells >= 0)
        _add(cell, cells[there], sums[:, there, i])
    cell *= s.scale
    borrowed = np.sqrt(np.asarray(found.lent.sum(axis=1)).ravel())
    cell += borrowed * rng.standard_normal(cell.shape)
    delta = (cell @ found.fill.T).reshape(draws, *slopes.delta.shape)
    first, second, level = slopes.by_homes
    moved = second_order(delta, slopes.weight, slopes.sides)
    moved -= (drift @ first.T)[:, :, None] + (drift @ second.T)[:, None, :]
    return moved - (drift @ level)[:, None, None]


def _add(total: Floats, place: Ints, values: Floats) -> None:
    """Add columns to the columns of their places."""
    if len(place) == total.shape[1] and (np.diff(place) == 1).all():  # a home is its cell
        total += values
        return
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    if len(starts):
        total[:, place[order][starts]] += np.add.reduceat(values[:, order], starts, axis=1)
