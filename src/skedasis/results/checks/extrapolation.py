"""Extrapolation check: rows made by a method that lie far from all observed rows, by nearest neighbours.

Rows that are asked of the model with a feature's value replaced are no rows of the data. One counts as an
*extrapolation* if no other row of the data is as near to it as neighbours are in the data: if its distance to the
nearest row, but the one it was made of, is above the 99th percentile of the distances of the data's own rows to their
nearest. Where the feature has nothing to do with the others, that is so for 1 % of the rows made up. Distances are
those in the feature and in the others (three at most) that go with it most: in many dimensions all rows are far from
one another, and one that is impossible is no farther.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.data.categories import in_order
from skedasis.data.dataset import Source, as_source
from skedasis.data.features import Feature
from skedasis.errors import DataError, explained
from skedasis.results.effect import Effect
from skedasis.stats.grid import Cells

PERCENTILE = 99.0


FAR_NOTE, FAR = 0.1, 0.25
"""Shares of extrapolations from which they are noted, and warned of."""


SWEPT, REFERENCE = 2_000, 10_000
"""Rows that are made up, and rows that they are compared with, at most: seeded samples of each."""


PARTNERS, _SHARED = 3, 0.1
"""Distances are measured in so many other features at most, beyond the first those with such an R² or more."""


_LEVELS = 30
"""Levels of a column that are told apart: the most frequent ones."""


@dataclass(frozen=True, eq=False)
class Space:
    """The rows of X as points.

    Parameters
    ----------
    source : Source
    points : ndarray of float, shape (n, k)
        Numbers in units of their standard deviation, a missing one at the mean and one unit off on an axis of its own;
        levels on axes of their own, so that two rows of different levels are one unit apart.
    owner : ndarray of int, shape (k,)
        The column of X that an axis belongs to.
    reference : ndarray of int, shape (r,)
        The rows that others are compared with.
    """

    source: Source
    points: Floats
    owner: Ints
    reference: Ints
    # What many effects ask for: how well axes tell one another, and the view that was asked for last.
    _told: dict[tuple[int, int], float] = field(default_factory=dict, repr=False)
    _last: dict[tuple[int, ...], View] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, X: Any, seed: int = 0) -> Space:
        """Read X."""
        if isinstance(X, Space):
            return X
        source = as_source(X)
        parts = [_axes(source, f) for f in source.features]
        owner = np.repeat(np.arange(len(parts)), [p.shape[1] for p in parts])
        reference = np.random.default_rng(seed).permutation(len(source))[:REFERENCE]
        return cls(source, np.concatenate(parts, axis=1), owner, np.asarray(reference))

    def beside(self, columns: tuple[int, ...]) -> View:
        """Return the axes of some columns and of the three others that go with them most."""
        if columns not in self._last:
            view = self._beside(columns)
            self._last.clear()
            self._last[columns] = view
        return self._last[columns]

    def _beside(self, columns: tuple[int, ...]) -> View:
        own, some = np.isin(self.owner, columns), self.reference[:SWEPT]
        shared = np.zeros(len(self.source.features))
        for axis in np.flatnonzero(~own):
            best = max(self._together(int(axis), int(a)) for a in np.flatnonzero(own))
            shared[self.owner[axis]] = max(shared[self.owner[axis]], best)
        ranked = [int(j) for j in np.argsort(-shared, kind="stable") if j not in columns]
        # One at least; and of those that have nothing to do with the feature no more.
        others = [j for k, j in enumerate(ranked[:PARTNERS]) if k == 0 or shared[j] > _SHARED]
        axes = np.flatnonzero(own | np.isin(self.owner, others))
        points = self.points[:, axes]
        distance = nearest(points[some], points[self.reference], np.arange(len(some)))
        limit = float(np.percentile(distance, PERCENTILE)) if len(self.reference) > 1 else np.inf
        names = tuple(self.source.features[j].name for j in others)
        return View(self, points, self.owner[axes], limit, names)

    @cached_property
    def _tenths(self) -> list[tuple[Floats, Ints, Ints]]:
        """Return each axis of a sample, which tenth of it each row lies in, and how many rows do."""
        sample = self.points[self.reference[:SWEPT]]
        return [(x, *_parts(x)) for x in np.ascontiguousarray(sample.T)]

    def _together(self, a: int, b: int) -> float:
        """Return how well one of two axes is told by a tenth of the other, the better way round: an R² (0 to 1)."""
        key = min(a, b), max(a, b)
        if key not in self._told:
            (x, *tenth), (y, *other) = self._tenths[a], self._tenths[b]
            self._told[key] = max(0.0, _told_by(x, *other), _told_by(y, *tenth))
        return self._told[key]

    def numbers(self, position: int) -> Floats:
        """Return a column of numbers."""
        return self.source.table.column(position)


@dataclass(frozen=True, eq=False)
class View:
    """Rows as points, on some axes, and how far apart neighbours are.

    Parameters
    ----------
    space : Space
    points : ndarray of float, shape (n, k)
    owner : ndarray of int, shape (k,)
    limit : float
        What is farther from its nearest row is an extrapolation.
    others : tuple of str
        The features that were taken in.
    """

    space: Space
    points: Floats
    owner: Ints
    limit: float
    others: tuple[str, ...]

    def far(self, made: Floats, row: Ints) -> Bools:
        """Return which rows, made of those of the given numbers, are extrapolations."""
        reference = self.space.reference
        place = np.full(len(self.points), -1)
        place[reference] = np.arange(len(reference))
        distance = nearest(made, self.points[reference], place[row])
        return distance > self.limit * (1 + 1e-9)

    def put(self, made: Floats, position: int, value: Floats) -> None:
        """Put values of a numeric column into rows, in place."""
        mean, scale = _scale(self.space.numbers(position))
        axes = np.flatnonzero(self.owner == position)
        made[:, axes] = 0.0  # it is there, if it was missing
        made[:, axes[0]] = (value - mean) / scale

    def lend(self, made: Floats, columns: tuple[int, ...], donor: Ints) -> None:
        """Put other rows' values of some columns into rows, in place."""
        axes = np.isin(self.owner, columns)
        made[:, axes] = self.points[donor][:, axes]


def _parts(x: Floats) -> tuple[Ints, Ints]:
    """Return which tenth of a column each row lies in, and how many rows lie in each."""
    part = np.searchsorted(np.unique(np.quantile(x, np.linspace(0, 1, 11)[1:-1])), x, "left")
    return part, np.bincount(part)


def _told_by(y: Floats, part: Ints, count: Ints) -> float:
    """Return how well a column is told by the part of another that rows lie in: an R², 0 where it does not vary."""
    mean = np.bincount(part, y) / np.where(count > 0, count, 1)
    total = float(((y - y.mean()) ** 2).sum())
    if total <= 0:
        return 0.0
    left = float(((y - mean[part]) ** 2).sum()) / max(len(y) - (count > 0).sum(), 1)
    return 1 - left / (total / max(len(y) - 1, 1))


def nearest(made: Floats, reference: Floats, without: Ints) -> Floats:
    """Return the distance of each point to the nearest of others, but the one whose place is given (-1 for none)."""
    from scipy.spatial import KDTree

    out = np.full(len(made), np.inf)
    if len(reference) == 0 or len(made) == 0:
        return out
    if made.shape[1] <= 8:  # in more dimensions a tree looks at nearly all points, slowly
        k = min(2, len(reference))
        distance, place = KDTree(reference).query(made, k=k)
        distance, place = distance.reshape(len(made), k), place.reshape(len(made), k)
        return np.where(place == without[:, None], np.inf, distance).min(axis=1)
    square = (reference**2).sum(axis=1)
    for start in range(0, len(made), 256):
        part = made[start : start + 256]
        distance = square - 2 * part @ reference.T + (part**2).sum(axis=1)[:, None]
        skip = without[start : start + 256]
        known = np.flatnonzero(skip >= 0)
        distance[known, skip[known]] = np.inf
        # From the differences themselves: the formula above loses the digits of small distances.
        near = distance.argmin(axis=1)
        found = np.sqrt(((part - reference[near]) ** 2).sum(axis=1))
        out[start : start + 256] = np.where(np.isinf(distance.min(axis=1)), np.inf, found)
    return out


def _axes(source: Source, feature: Feature) -> Floats:
    """Return a column as axes."""
    n = len(source.table)
    x = source.numbers(feature) if not feature.categorical else None
    if x is not None:
        mean, scale = _scale(x)
        there = np.isfinite(x)
        axis = np.where(there, (x - mean) / scale, 0.0)[:, None]
        return axis if there.all() else np.hstack([axis, (~there).astype(float)[:, None]])
    codes, values = source.table.coded(feature.position)
    codes = in_order(feature, codes, values).codes + 1
    count = np.bincount(codes)
    kept = np.argsort(-count, kind="stable")[:_LEVELS]
    axes = np.zeros((n, len(kept) + 1))
    place = np.full(len(count), len(kept))
    place[kept] = np.arange(len(kept))
    axes[np.arange(n), place[codes]] = np.sqrt(0.5)
    return axes


def _scale(x: Floats) -> tuple[float, float]:
    """Return mean and standard deviation of what is finite; 1 where nothing varies."""
    known = x[np.isfinite(x)]
    if len(known) == 0 or (known == known[0]).all():
        return (float(known[0]) if len(known) else 0.0), 1.0
    size = float(np.abs(known - known[0]).max())
    moved = (known - known[0]) / size  # squares of 1e200 overflow
    return float(moved.mean() * size + known[0]), float(moved.std() * size)


@dataclass(frozen=True, eq=False)
class Extrapolation:
    """Share of the rows made up that are extrapolations.

    Parameters
    ----------
    share : ndarray of float, shape (m,)
        At each point of the effect's grid, at each edge of its bins, or at each level; NaN where none was looked at.
    overall : float
    rows : int
        How many were looked at.
    others : tuple of str
        The other features in which distances were measured.
    """

    share: Floats
    overall: float
    rows: int
    others: tuple[str, ...] = ()


def extrapolation(effect: Effect, X: Any, seed: int = 0) -> Extrapolation:
    """Return how many of the rows that an effect asked the model for are far from all data.

    Parameters
    ----------
    effect : Effect
        Of a PDP or ICE: each row at each point of the grid. Of accumulated effects: each row at an edge of its own bin
        (slopes, and M-plots, ask for the rows themselves: none is made up).
    X : array or data frame, or Space
        What was explained.
    seed : int
        Of the sample of 2,000 such rows, and of the 10,000 of X that they are compared with.

    Raises
    ------
    DataError
        For an X that is not what was explained.
    """
    space = Space.of(X, seed)
    columns = columns_of(space, effect)
    m, rng = len(effect.points), np.random.default_rng(seed)
    if effect.spec.local in ("slopes", "differences", "values"):
        return Extrapolation(np.zeros(m), 0.0, 0)
    view, n = space.beside(columns), len(space.points)
    if effect.levels is not None:
        row, point, made = _levels(effect, view, columns, rng)
    elif effect.spec.local == "none":
        point = np.repeat(np.arange(m), max(SWEPT // max(m, 1), 1))
        row = rng.integers(n, size=len(point))
        made = view.points[row]
        view.put(made, columns[0], np.asarray(effect.points, dtype=float)[point])
    else:
        row, point, made = _edges(effect, view, columns[0], rng)
    far = view.far(made, row)
    known = np.bincount(point, minlength=m)
    share = np.bincount(point, far, m) / np.where(known > 0, known, 1)
    overall = float(far.mean()) if len(far) else 0.0
    return Extrapolation(np.where(known > 0, share, np.nan), overall, len(far), view.others)


def columns_of(space: Space, effect: Effect) -> tuple[int, ...]:
    """Return the columns of the effect's feature, once it is sure that X has them as the effect saw them."""
    columns, kept = effect.about.feature.columns, effect.curves
    off = elsewhere(space, effect.about.feature)
    if not off and kept is not None and len(kept) and effect.levels is None:
        off = int(kept.row.max()) >= len(space.points)
        off = off or not _same(space.numbers(columns[0])[kept.row], kept.x)
    if off:
        raise another_table()
    return columns


def elsewhere(space: Space, feature: Feature) -> bool:
    """Return whether a feature's columns are not where they were."""
    columns, known = feature.columns, space.source.features
    if max(columns) >= len(known):
        return True
    if feature.members or feature.name in ("", known[columns[0]].name):
        return False
    return feature.name in {f.name for f in known}  # else a schema gave it another name


def another_table() -> DataError:
    """Return the error for an X that was not explained."""
    got, expected = "another table than the one that was explained", "the same rows and columns"
    return DataError(explained("trust(X)", got, expected, "Pass the X given to sd.explain"))


def _same(a: Floats, b: Floats) -> bool:
    """Return whether values are the same but for the rounding to another type."""
    return np.allclose(a, b, rtol=1e-6, atol=0.0, equal_nan=True)


def _edges(
    effect: Effect, view: View, position: int, rng: np.random.Generator
) -> tuple[Ints, Ints, Floats]:
    """Return rows, the places of the edges they are moved to, and what becomes of them."""
    edges = np.asarray(effect.points if effect.cells is None else effect.cells.edges, dtype=float)
    cell = Cells(edges, effect.spec.closed).locate(view.space.numbers(position))
    inside = np.flatnonzero(cell >= 0)
    row = inside[rng.integers(len(inside), size=SWEPT)] if len(inside) else inside
    edge = cell[row] + rng.integers(2, size=len(row))
    # Cells may be finer than the bins that are shown.
    point = np.clip(
        np.searchsorted(effect.points, edges[edge], "right") - 1, 0, len(effect.points) - 1
    )
    made = view.points[row]
    view.put(made, position, edges[edge])
    return row, point, made


def _levels(
    effect: Effect, view: View, columns: tuple[int, ...], rng: np.random.Generator
) -> tuple[Ints, Ints, Floats]:
    """Return rows, the levels they are given, and what becomes of them."""
    n = len(view.points)
    column = view.space.source.levels(effect.about.feature, top=n)
    labels = column.levels.labels
    shown = effect.levels.labels if effect.levels is not None else ()
    donors = np.array(
        [int(column.levels.rows[labels.index(v)]) if v in labels else -1 for v in shown]
    )
    point = np.flatnonzero(donors >= 0)
    if effect.spec.local == "none":
        point = np.repeat(point, max(SWEPT // max(len(point), 1), 1))
        row = rng.integers(n, size=len(point))
    else:  # a row takes a step to the level before, or to the one after
        place = np.array([shown.index(v) if v in shown else -1 for v in labels] + [-1])
        row = rng.integers(n, size=SWEPT)
        point = place[column.codes[row]] + rng.choice([-1, 1], size=SWEPT)
        fine = (place[column.codes[row]] >= 0) & (point >= 0) & (point < len(shown))
        row, point = row[fine], point[fine]
    made = view.points[row]
    view.lend(made, columns, donors[point])
    return row, point, made
