"""Levels: the values of a categorical feature, and which row has which.

A level is put into rows by the place of a row that has it, never by its value: so text, categories and missing values
keep the type that X has for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.changes import Coded
from skedasis.data.coding import absent, ascending, first_rows, identity, plain
from skedasis.data.labels import labels_of, unused
from skedasis.data.schema import Feature
from skedasis.data.similarity import Other, level_distances, similarity_order
from skedasis.errors import DataError, explained

if TYPE_CHECKING:
    from skedasis.data.source import Source

MOST = 2000
"""More levels than this are refused, unless the most frequent ones are asked for."""


class TooManyLevels(DataError):  # noqa: N818 - says what it is
    """A feature has more levels than can be looked at."""


@dataclass(frozen=True, eq=False)
class Levels:
    """The observed levels of a categorical feature, in an order.

    Parameters
    ----------
    values : tuple
        Plain Python objects; None is missing. Of a one-hot block the columns' names, of another group tuples.
    labels : tuple of str
        For tables and plots; all different.
    rows : ndarray of int, shape (L,)
        For each level the first row of X that has it.
    group : bool
        Whether they are a group's, whose levels are also known by their labels.

    Examples
    --------
    >>> levels = Levels(("a", "b", None), ("a", "b", "missing"), np.array([4, 0, 1]))
    >>> levels.find("b"), levels.find(float("nan")), levels.find("c"), len(levels.take([2, 0]))
    (1, 2, -1, 2)
    """

    values: tuple[Any, ...]
    labels: tuple[str, ...]
    rows: Ints
    group: bool = False

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {_key(value): place for place, value in enumerate(self.values)}

    def take(self, index: Sequence[int] | Ints) -> Levels:
        """Return some of the levels, in the order of `index`."""
        places = np.asarray(index, dtype=np.int64)
        values = tuple(self.values[i] for i in places)
        labels = tuple(self.labels[i] for i in places)
        return replace(self, values=values, labels=labels, rows=self.rows[places])

    def find(self, value: Any) -> int:
        """Return a level's place, -1 if it is none. 1 and 1.0 are the same; 1, True and "1" are not."""
        try:
            place = self._places.get(_key(value), -1)
        except TypeError:  # what has no hash is no level
            return -1
        if place < 0 and self.group and value in self.labels:
            return self.labels.index(value)
        return place


def _key(value: Any) -> Any:
    return None if absent(value) else identity(value)


@dataclass(frozen=True, eq=False)
class Observed:
    """The distinct values of some rows, in order, and each row's place among them.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        -1 where a value is missing.
    values : tuple
    labels : tuple of str
    group : bool
        Whether they are a group's.
    """

    codes: Ints
    values: tuple[Any, ...]
    labels: tuple[str, ...]
    group: bool = False


@dataclass(frozen=True, eq=False)
class LevelColumn:
    """A categorical feature: its levels, and which row has which.

    Parameters
    ----------
    feature : Feature
    levels : Levels
        In the declared order, else ascending; missing last.
    codes : ndarray of int, shape (n,)
        Places in `levels` of the source's rows; -1 for rows that are left out.
    weights : ndarray of float, shape (n,), optional
        None means 1 each.
    count : ndarray of int, shape (L,)
        Rows of each level.
    weight : ndarray of float, shape (L,)
        Their total weight.
    missing : int
        Rows without a value: a nominal feature's last level, left out of an ordinal one.
    outside : int
        Rows of levels that were cut.
    source : Source
        Where the rows are.
    """

    feature: Feature
    levels: Levels
    codes: Ints
    weights: Floats | None
    count: Ints
    weight: Floats
    missing: int
    outside: int
    source: Source = field(repr=False)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def present(self) -> Ints:
        """Return the places of the rows that have a level."""
        return np.flatnonzero(self.codes >= 0)

    def changes(self, codes: Ints) -> dict[int, Any]:
        """Return what puts the levels of these codes, of any shape, into all columns of the feature."""
        return dict.fromkeys(self.feature.columns, Coded(codes, self.levels.rows))

    def similar(self, others: Sequence[Feature] | None = None) -> Ints:
        """Return the order of the levels in which neighbours have similar other features.

        Parameters
        ----------
        others : sequence of Feature, optional
            The other features; without them all columns that are not the feature's own. Those without any value, or
            with infinite ones, are passed over.

        Returns
        -------
        ndarray of int, shape (L,)

        Notes
        -----
        No model rows; see `skedasis.data.similarity.level_distances` for the time.
        """
        chosen = self.source.features if others is None else others
        own = set(self.feature.columns)
        there = [f for f in chosen if not own & set(f.columns)]
        parts = _others(self.source, there)
        return similarity_order(level_distances(self.codes, len(self.levels), parts, self.weights))


def _others(source: Source, features: Sequence[Feature]) -> Iterator[Other]:
    """Yield the features one by one, as numbers where these have distances."""
    for feature in features:
        x = source.numbers(feature)
        if x is not None:
            if np.isfinite(x).any() and not np.isinf(x).any():
                yield Other(x, None)
            continue
        if feature.members:
            column = source.levels(feature, most=len(source) + 1)
            yield Other(None, column.codes, len(column.levels))
            continue
        # Their order and their labels do not matter: of an identifier these would take seconds.
        codes = _plain_codes(source, feature)
        if codes is not None:
            yield Other(None, codes, int(codes.max()) + 1)


def _plain_codes(source: Source, feature: Feature) -> Ints | None:
    """Return a column's codes in no particular order, None if it holds nothing; made once for all that ask."""
    if feature.position not in source.coded:
        codes, values = source.table.coded(feature.position, source.row_id)
        if feature.kind == "nominal":
            codes = np.where(codes < 0, len(values), codes)
        if not source.holds(codes.nbytes):
            return codes if values else None
        source.coded[feature.position] = codes if values else None
    return source.coded[feature.position]


def in_order(feature: Feature, codes: Ints, values: list[Any]) -> Observed:
    """Put a column's values into the declared order, or the ascending one.

    Parameters
    ----------
    feature : Feature
    codes : ndarray of int, shape (n,)
    values : list
        By code. Some may be the same level (1 and 1.0).

    Raises
    ------
    DataError
        For infinite numbers, and a declared order that misses a level or has one twice.
    """
    typed = [_typed(v, feature.dtype) for v in values]
    keys = [identity(v) for v in typed]
    distinct: dict[Any, Any] = {}
    for key, value in zip(keys, typed, strict=True):
        distinct.setdefault(key, value)
    place = {key: i for i, key in enumerate(distinct)}
    merged = np.array([*map(place.__getitem__, keys), -1])[codes]
    _finite(feature, distinct, merged)
    if feature.levels is None:
        found = list(distinct.values())
        order = ascending(found)
        ordered = [found[i] for i in order]
    else:
        declared = _declared(feature, distinct)
        order, ordered = [place[key] for key in declared], list(declared.values())
    rank = np.full(len(distinct) + 1, -1)
    rank[order] = np.arange(len(order))
    return Observed(rank[merged], tuple(ordered), labels_of(ordered))


def _typed(value: Any, dtype: str) -> Any:
    """Return a number as the type its column had, before a table became an array of floats."""
    if isinstance(value, float) and value % 1 == 0:
        if dtype.lower().startswith(("int", "uint")):
            return int(value)
        if dtype.lower().startswith("bool") and value in (0.0, 1.0):
            return bool(value)
    return value


def _finite(feature: Feature, distinct: dict[Any, Any], codes: Ints) -> None:
    places = [i for i, v in enumerate(distinct.values()) if isinstance(v, float) and np.isinf(v)]
    if places:
        raise DataError(
            explained(
                f"feature {feature.name!r}",
                f"{np.isin(codes, places).sum():,} infinite values",
                "finite numbers (NaN where a value is missing)",
                "Replace them, for example X.replace([np.inf, -np.inf], np.nan)",
            )
        )


def _declared(feature: Feature, distinct: dict[Any, Any]) -> dict[Any, Any]:
    """Return the declared levels that are observed, in their order."""
    named = [plain(v) for v in feature.levels or () if not absent(v)]
    keys = [identity(v) for v in named]
    twice = [v for v, key in zip(named, keys, strict=True) if keys.count(key) > 1]
    absentees = [v for key, v in distinct.items() if key not in set(keys)]
    if twice or absentees:
        some = ", ".join(repr(v) for v in absentees[:5]) + (", …" if len(absentees) > 5 else "")
        raise DataError(
            explained(
                f"levels of feature {feature.name!r}",
                f"{twice[0]!r} more than once" if twice else f"an order without {some}",
                "each observed level once",
                "Name each level once" if twice else "Add what is missing, in its place",
            )
        )
    return {key: v for key, v in zip(keys, named, strict=True) if key in distinct}


def few_enough(feature: Feature, levels: int, most: int) -> None:
    """Refuse more levels than can be looked at: they are somebody's number."""
    if levels > most:
        raise TooManyLevels(
            explained(
                f"feature {feature.name!r}",
                f"{levels:,} levels",
                f"at most {most:,}",
                "It may be an identifier: leave it out, or keep the most frequent: "
                "sd.ALE(top_levels=50)",
            )
        )


def level_column(source: Source, feature: Feature, seen: Observed, top: int | None) -> LevelColumn:
    """Return the levels of a source's rows, with their rows counted.

    Parameters
    ----------
    source : Source
    feature : Feature
    seen : Observed
        Of the source's rows.
    top : int, optional
        Only so many levels, those of the largest weight, are kept.

    Raises
    ------
    DataError
        Where no row has a value.
    """
    codes, values, labels = seen.codes, seen.values, seen.labels
    blank = codes < 0
    missing = int(blank.sum())
    if missing == len(codes):
        raise DataError(
            explained(
                f"feature {feature.name!r}",
                "no value at all",
                "at least one value",
                "Leave the feature out, or check how the column was read",
            )
        )
    if missing and feature.kind == "nominal":
        codes = np.where(blank, len(values), codes)
        values, labels = (*values, None), (*labels, unused("missing", labels))
    rows = first_rows(codes, len(values))
    rows = rows if source.row_id is None else source.row_id[rows]
    levels = Levels(values, labels, rows, seen.group)
    count, weight = _sizes(codes, len(levels), source.weights)
    whole = LevelColumn(feature, levels, codes, source.weights, count, weight, missing, 0, source)
    return whole if top is None or top >= len(levels) else _cut(whole, top)


def _sizes(codes: Ints, size: int, weights: Floats | None) -> tuple[Ints, Floats]:
    # Shifted by one, so that rows without a level have a place too, which is not read.
    count = np.bincount(codes + 1, minlength=size + 1)[1:]
    if weights is None:
        return count.astype(np.int64), count.astype(float)
    weight = np.bincount(codes + 1, weights, minlength=size + 1)[1:]
    return count.astype(np.int64), weight.astype(float)


def _cut(column: LevelColumn, top: int) -> LevelColumn:
    """Keep the levels of the largest weight, in their order."""
    kept = np.sort(np.argsort(-column.weight, kind="stable")[:top])
    place = np.full(len(column.levels) + 1, -1)
    place[kept] = np.arange(len(kept))
    return replace(
        column,
        levels=column.levels.take(kept),
        codes=place[column.codes],
        count=column.count[kept],
        weight=column.weight[kept],
        outside=int(column.count.sum() - column.count[kept].sum()),
    )
