"""Extrapolation check: how many of the rows at which a method evaluates the model are far from the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from skedasis._types import Bools, Floats, Ints, TableLike
from skedasis.data.categories import ordered_levels
from skedasis.data.dataset import Dataset, as_dataset
from skedasis.data.features import Feature
from skedasis.errors import DataError
from skedasis.results.axis import LevelAxis
from skedasis.results.effect import BinnedEffect, Effect, PartialDependence
from skedasis.stats.grid import Cells

PERCENTILE = 99.0
"""Percentile of the nearest-neighbour distances above which a row is an extrapolation."""


NOTE_EXTRAPOLATION, WARN_EXTRAPOLATION = 0.1, 0.25
"""Fractions of extrapolations from which they are a note, and a warning."""


NOTE_OFF_SUPPORT, WARN_OFF_SUPPORT = 0.15, 0.25
"""The same for the swapped rows of the heterogeneity score. Normal features whose correlations are all 0.9 have .15."""


N_NEW_ROWS, N_REFERENCE = 2_000, 10_000
"""Largest numbers of new rows, and of rows of the data that they are compared with. Both are random samples."""


MOST_RELATED, _SHARED = 3, 0.1
"""Distances include at most this many other features. All but the first need at least this R²."""


_LEVELS = 30
"""Number of most frequent levels with an axis of their own; all other levels share one."""


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """The rows of X as points in a common space."""

    dataset: Dataset
    points: Floats
    owner: Ints
    reference: Ints
    # For many effects: the last view.
    _last: dict[tuple[int, ...], Subspace] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, X: TableLike | FeatureSpace, seed: int = 0) -> FeatureSpace:
        """Return the space of X; X itself if it is one."""
        if isinstance(X, FeatureSpace):
            return X
        dataset = as_dataset(X)
        reference = np.random.default_rng(seed).permutation(len(dataset))[:N_REFERENCE]
        return cls.of_rows(dataset, np.asarray(reference))

    @classmethod
    def of_rows(cls, dataset: Dataset, reference: Ints) -> FeatureSpace:
        """Return the space of a data set's rows, some of which others are compared with."""
        parts = [_axes_of(dataset, f) for f in dataset.features]
        owner = np.repeat(np.arange(len(parts)), [p.shape[1] for p in parts])
        return cls(dataset, np.concatenate(parts, axis=1), owner, reference)

    def with_related(self, columns: tuple[int, ...]) -> Subspace:
        """Return the view of some columns and the (at most three) others that share most information with them."""
        if columns not in self._last:
            view = self._view(columns)
            self._last.clear()
            self._last[columns] = view
        return self._last[columns]

    def _view(self, columns: tuple[int, ...]) -> Subspace:
        own, some = np.isin(self.owner, columns), self.reference[:N_NEW_ROWS]
        best = np.max([self._dependence(int(a)) for a in np.flatnonzero(own)], axis=0)
        shared = np.zeros(len(self.dataset.features))
        np.maximum.at(shared, self.owner[~own], best[~own])
        ranked = [int(j) for j in np.argsort(-shared, kind="stable") if j not in columns]
        # At least one; no further ones that are nearly independent of the feature.
        others = [j for k, j in enumerate(ranked[:MOST_RELATED]) if k == 0 or shared[j] > _SHARED]
        axes = np.flatnonzero(own | np.isin(self.owner, others))
        points = self.points[:, axes]
        distance = nearest_distance(points[some], points[self.reference], np.arange(len(some)))
        limit = float(np.percentile(distance, PERCENTILE)) if len(self.reference) > 1 else np.inf
        names = tuple(self.dataset.features[j].name for j in others)
        return Subspace(self, points, self.owner[axes], limit, names)

    @cached_property
    def _deciles(self) -> _Deciles:
        return _Deciles.of(self.points[self.reference[:N_NEW_ROWS]])

    def _dependence(self, a: int) -> Floats:
        """Return R² (0 to 1) of predicting one axis from the decile bins of each, in the better direction, (axes,)."""
        return np.maximum(0.0, np.maximum(self._deciles.by_each(a), self._deciles.by(a)))


@dataclass(frozen=True, eq=False)
class _Deciles:
    """Centred axes of a sample, (m, p), and each row's decile bin on each; those of an axis begin at its `start`."""

    centred: Floats
    place: Ints
    count: Ints
    start: Ints

    @classmethod
    def of(cls, sample: Floats) -> _Deciles:
        """Return the decile bins of a sample."""
        parts = [_decile_bins(x) for x in np.ascontiguousarray(sample.T)]
        counts = [np.bincount(part) for part in parts]
        start = np.cumsum([0, *map(len, counts)])[:-1]
        place = np.stack(parts, axis=1) + start
        return cls(sample - sample.mean(axis=0), place, np.concatenate(counts), start)

    @cached_property
    def _total(self) -> Floats:
        return (self.centred**2).sum(axis=0)

    @cached_property
    def _bins(self) -> Ints:
        """The number of bins that have rows, of each axis."""
        return np.add.reduceat((self.count > 0).astype(int), self.start)

    def by_each(self, a: int) -> Floats:
        """Return the adjusted R² of one axis predicted from the bins of each, (p,)."""
        weight = np.broadcast_to(self.centred[:, a, None], self.place.shape)
        sums = np.bincount(self.place.ravel(), weight.ravel(), len(self.count))
        between = np.add.reduceat(sums**2 / np.maximum(self.count, 1), self.start)
        return self._adjusted(between, self._total[a], self._bins)

    def by(self, a: int) -> Floats:
        """Return the adjusted R² of each axis predicted from the bins of one, (p,)."""
        order = np.argsort(self.place[:, a], kind="stable")
        first = np.flatnonzero(np.diff(self.place[order, a], prepend=-1))
        count = np.diff(np.append(first, len(order)))
        sums = np.add.reduceat(self.centred[order], first, axis=0)
        return self._adjusted((sums**2 / count[:, None]).sum(axis=0), self._total, self._bins[a])

    def _adjusted(self, between: Floats, total: Floats, bins: Ints) -> Floats:
        """Return adjusted R²; 0 for a constant axis."""
        m = len(self.centred)
        left = np.maximum(total - between, 0.0) / np.maximum(m - bins, 1)
        return np.where(total > 0, 1 - left * max(m - 1, 1) / np.where(total > 0, total, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class Subspace:
    """Rows as points on some axes, with the largest usual distance between neighbours."""

    space: FeatureSpace
    points: Floats
    owner: Ints
    limit: float
    others: tuple[str, ...]

    def is_extrapolation(self, new_rows: Floats, row: Ints) -> Bools:
        """Return a mask of the new rows that are extrapolations, given the indices of the rows they were made from."""
        reference = self.space.reference
        position = np.full(len(self.points), -1)
        position[reference] = np.arange(len(reference))
        distance = nearest_distance(new_rows, self.points[reference], position[row])
        return distance > self.limit * (1 + 1e-9)

    def set_values(self, new_rows: Floats, position: int, value: Floats) -> None:
        """Replace the values of a numeric column in new rows, in place."""
        mean, scale = _scale(self.space.dataset.floats(position))
        axes = np.flatnonzero(self.owner == position)
        new_rows[:, axes] = 0.0  # also the axis that marks missing values
        new_rows[:, axes[0]] = (value - mean) / scale

    def set_from_donors(self, new_rows: Floats, columns: tuple[int, ...], donor: Ints) -> None:
        """Replace the values of some columns in new rows by those of donor rows, in place."""
        axes = np.isin(self.owner, columns)
        new_rows[:, axes] = self.points[donor][:, axes]


def _decile_bins(x: Floats) -> Ints:
    return np.searchsorted(np.unique(np.quantile(x, np.linspace(0, 1, 11)[1:-1])), x, "left")


def nearest_distance(new_rows: Floats, reference: Floats, without: Ints) -> Floats:
    """Return each point's distance to the nearest reference point other than that with index `without` (-1: none)."""
    from scipy.spatial import KDTree

    out = np.full(len(new_rows), np.inf)
    if len(reference) == 0 or len(new_rows) == 0:
        return out
    if new_rows.shape[1] <= 8:  # with more, a k-d tree visits nearly all points and is slower
        k = min(2, len(reference))
        distance, position = KDTree(reference).query(new_rows, k=k)
        distance, position = distance.reshape(len(new_rows), k), position.reshape(len(new_rows), k)
        return np.where(position == without[:, None], np.inf, distance).min(axis=1)
    square = (reference**2).sum(axis=1)
    for start in range(0, len(new_rows), 256):
        part = new_rows[start : start + 256]
        distance = square - 2 * part @ reference.T + (part**2).sum(axis=1)[:, None]
        skip = without[start : start + 256]
        known = np.flatnonzero(skip >= 0)
        distance[known, skip[known]] = np.inf
        # Recomputed from differences: the formula above loses precision for small distances.
        near = distance.argmin(axis=1)
        found = np.sqrt(((part - reference[near]) ** 2).sum(axis=1))
        out[start : start + 256] = np.where(np.isinf(distance.min(axis=1)), np.inf, found)
    return out


def _axes_of(dataset: Dataset, feature: Feature) -> Floats:
    """Return the axes of a column, (n, k)."""
    n = len(dataset)
    x = dataset.numbers(feature) if not feature.categorical else None
    if x is not None:
        mean, scale = _scale(x)
        there = np.isfinite(x)
        axis = np.where(there, (x - mean) / scale, 0.0)[:, None]
        return axis if there.all() else np.hstack([axis, (~there).astype(float)[:, None]])
    codes, values = dataset.coded(feature.position)
    codes = ordered_levels(feature, codes, values).codes + 1
    count = np.bincount(codes)
    kept = np.argsort(-count, kind="stable")[:_LEVELS]
    axes = np.zeros((n, len(kept) + 1))
    position = np.full(len(count), len(kept))
    position[kept] = np.arange(len(kept))
    axes[np.arange(n), position[codes]] = np.sqrt(0.5)
    return axes


def _scale(x: Floats) -> tuple[float, float]:
    """Return mean and standard deviation of the finite values; the latter is 1 for a constant column."""
    known = x[np.isfinite(x)]
    if len(known) == 0 or (known == known[0]).all():
        return (float(known[0]) if len(known) else 0.0), 1.0
    size = float(np.abs(known - known[0]).max())
    scaled = (known - known[0]) / size  # squares of 1e200 overflow
    return float(scaled.mean() * size + known[0]), float(scaled.std() * size)


@dataclass(frozen=True, eq=False)
class Extrapolation:
    """Fraction of extrapolations among the rows at which a method evaluates the model."""

    share: Floats
    overall: float
    rows: int
    others: tuple[str, ...] = ()


def extrapolation(effect: Effect, X: TableLike | FeatureSpace, seed: int = 0) -> Extrapolation:
    """Return the fraction of extrapolations among the rows at which an effect evaluated the model."""
    space = FeatureSpace.of(X, seed)
    columns = columns_of(space, effect)
    m, rng = len(effect.points), np.random.default_rng(seed)
    kind = effect.spec.local_effects
    near = kind == "integer_steps" and effect.values is None  # at integers next to the rows' own
    if near or kind in ("slopes", "differences", "values"):
        return Extrapolation(np.zeros(m), 0.0, 0)
    view, n = space.with_related(columns), len(space.points)
    if isinstance(effect.axis, LevelAxis):
        row, point, new_rows = _rows_at_levels(effect, view, columns, rng)
    elif isinstance(effect, PartialDependence):
        point = np.repeat(np.arange(m), max(N_NEW_ROWS // max(m, 1), 1))
        row = rng.integers(n, size=len(point))
        new_rows = view.points[row]
        view.set_values(new_rows, columns[0], np.asarray(effect.points, dtype=float)[point])
    else:
        row, point, new_rows = _rows_at_edges(effect, view, columns[0], rng)
    is_extrapolation = view.is_extrapolation(new_rows, row)
    known = np.bincount(point, minlength=m)
    share = np.bincount(point, is_extrapolation, m) / np.where(known > 0, known, 1)
    overall = float(is_extrapolation.mean()) if len(is_extrapolation) else 0.0
    return Extrapolation(
        np.where(known > 0, share, np.nan), overall, len(is_extrapolation), view.others
    )


def columns_of(space: FeatureSpace, effect: Effect) -> tuple[int, ...]:
    """Return the columns of the effect's feature. Raise if X is not the data that the effect was computed from."""
    columns, kept = effect.about.feature.columns, effect.curves
    mismatch = is_moved(space, effect.about.feature)
    if not mismatch and kept is not None and len(kept) and not isinstance(effect.axis, LevelAxis):
        mismatch = int(kept.row.max()) >= len(space.points)
        mismatch = mismatch or not _same(space.dataset.floats(columns[0])[kept.row], kept.x)
    if mismatch:
        raise wrong_table_error()
    return columns


def is_moved(space: FeatureSpace, feature: Feature) -> bool:
    """Return whether the columns of a feature have other positions or names in X than in the explained data."""
    columns, known = feature.columns, space.dataset.features
    if max(columns) >= len(known):
        return True
    if feature.members or feature.name in ("", known[columns[0]].name):
        return False
    return feature.name in {f.name for f in known}  # else it was renamed by a schema


def wrong_table_error() -> DataError:
    """Return the error for an X other than the explained data."""
    got, expected = "another table than the one that was explained", "the same rows and columns"
    return DataError("checks(X)", got, expected, "Pass the X that was passed to sd.explain")


def _same(a: Floats, b: Floats) -> bool:
    """Return whether values are equal up to rounding to another type."""
    return np.allclose(a, b, rtol=1e-6, atol=0.0, equal_nan=True)


def _rows_at_edges(
    effect: Effect, view: Subspace, position: int, rng: np.random.Generator
) -> tuple[Ints, Ints, Floats]:
    """Return row indices, the indices of the points they are moved to, and the new rows."""
    edges = effect.cells.edges if isinstance(effect, BinnedEffect) else effect.axis.coordinates
    if effect.spec.local_effects == "integer_steps" and effect.values is not None:
        edges = effect.values  # rows are moved to a neighbouring value, whatever the bins
    cell = Cells(edges, effect.spec.closed).locate(view.space.dataset.floats(position))
    inside = np.flatnonzero(cell >= 0)
    row = inside[rng.integers(len(inside), size=N_NEW_ROWS)] if len(inside) else inside
    edge = cell[row] + rng.integers(2, size=len(row))
    # Cells may be finer than the reported bins.
    point = np.clip(
        np.searchsorted(effect.points, edges[edge], "right") - 1, 0, len(effect.points) - 1
    )
    new_rows = view.points[row]
    view.set_values(new_rows, position, edges[edge])
    return row, point, new_rows


def _rows_at_levels(
    effect: Effect, view: Subspace, columns: tuple[int, ...], rng: np.random.Generator
) -> tuple[Ints, Ints, Floats]:
    """Return row indices, the indices of the levels they get, and the new rows."""
    n = len(view.points)
    column = view.space.dataset.levels(effect.about.feature, top=n)
    labels = column.levels.labels
    shown = effect.axis.levels.labels if isinstance(effect.axis, LevelAxis) else ()
    donors = np.array(
        [int(column.levels.rows[labels.index(v)]) if v in labels else -1 for v in shown]
    )
    point = np.flatnonzero(donors >= 0)
    if isinstance(effect, PartialDependence):
        point = np.repeat(point, max(N_NEW_ROWS // max(len(point), 1), 1))
        row = rng.integers(n, size=len(point))
    else:  # each row is moved to the previous or the next level
        position = np.array([shown.index(v) if v in shown else -1 for v in labels] + [-1])
        row = rng.integers(n, size=N_NEW_ROWS)
        point = position[column.codes[row]] + rng.choice([-1, 1], size=N_NEW_ROWS)
        fine = (position[column.codes[row]] >= 0) & (point >= 0) & (point < len(shown))
        row, point = row[fine], point[fine]
    new_rows = view.points[row]
    view.set_from_donors(new_rows, columns, donors[point])
    return row, point, new_rows
