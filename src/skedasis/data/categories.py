"""Levels of categorical features: labels, codes, and groups of columns such as one-hot blocks.

A level is put into rows by the place of a row that has it, never by its value: so text, categories and missing values
keep the type that X has for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.category_order import Other, level_distances, similarity_order
from skedasis.data.containers import Coded
from skedasis.data.factorize import absent, ascending, dense, first_rows, identity, plain
from skedasis.data.features import Feature, find
from skedasis.errors import DataError, explained

if TYPE_CHECKING:
    from skedasis.data.dataset import Source


# ------------------------------------------------------------------------------------------
# Labels: how the values of a categorical feature are written in tables and plots.


def labels_of(values: Sequence[Any]) -> tuple[str, ...]:
    """Return texts for values, all different.

    Examples
    --------
    >>> labels_of([1, "1", 2.0, "", "a"])
    ('1', "'1'", '2', "''", 'a')
    """
    texts = [_text(v) for v in values]
    often = Counter(texts)
    quoted = [
        repr(v) if isinstance(v, str) and (often[text] > 1 or not v.strip()) else text
        for v, text in zip(values, texts, strict=True)
    ]
    return different(quoted)


def _text(value: Any) -> str:
    whole = isinstance(value, float) and value % 1 == 0 and abs(value) < 2**53
    return str(int(value)) if whole else str(value)


def different(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels with a number behind those that were there before."""
    seen: dict[str, None] = {}
    for label in labels:
        new, count = label, 2
        while new in seen:
            new, count = f"{label} ({count})", count + 1
        seen[new] = None
    return tuple(seen)


def unused(label: str, labels: Sequence[str]) -> str:
    """Return a label, in brackets where it is taken."""
    while label in labels:
        label = f"({label})"
    return label


# ------------------------------------------------------------------------------------------
# Levels: the values of a categorical feature, and which row has which.


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
        No model rows; see `skedasis.data.category_order.level_distances` for the time.
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


# ------------------------------------------------------------------------------------------
# Groups: several columns that stand for one thing and move together, such as one-hot blocks.


NONE = "(none)"
"""The level of rows that have a one in no column of their block: that of the column that was left out."""


_JOINTS = "_=-.: "


def grouped(source: Source, groups: Mapping[str, Any] | None) -> tuple[Feature, ...]:
    """Return the features to explain: the columns, and groups of columns in their place.

    Parameters
    ----------
    source : Source
    groups : mapping of str to sequence, optional
        ``{"district": ["district_a", "district_b"]}``: columns by name, label or position.

    Returns
    -------
    tuple of Feature
        In X's order; a group stands where its first column stood. A group of one column is that column under the
        group's name.

    Raises
    ------
    DataError
        For a column in two groups or twice in one, an unknown one, an empty group, a group called like a column
        outside of it, and groups that are no mapping.
    """
    if groups is None:
        return source.features
    if not isinstance(groups, Mapping):
        raise DataError(
            explained(
                "groups",
                f"{type(groups).__name__}",
                "a mapping of names to columns",
                'Write groups={"district": ["district_a", "district_b"]}',
            )
        )
    owner: dict[int, str] = {}
    made: dict[int, Feature] = {}
    for name, columns in groups.items():
        places = _places(source.features, name, columns)
        for j in places:
            _claim(owner, j, name, source.features[j].name)
        made[min(places)] = _feature(source.features, name, sorted(places))
    for j, feature in enumerate(source.features):
        if feature.name in groups and owner.get(j) != feature.name:
            raise DataError(
                explained(
                    f"groups[{feature.name!r}]",
                    "the name of a column outside the group",
                    "a name of its own",
                    "Rename the group",
                )
            )
    kept = [made.get(j, f) for j, f in enumerate(source.features) if j in made or j not in owner]
    return tuple(kept)


def _places(features: tuple[Feature, ...], name: Any, columns: Any) -> list[int]:
    fix = "List its columns by name or position"
    if not isinstance(name, str):
        raise DataError(explained("groups", f"the name {name!r}", "names that are text", fix))
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        got = repr(columns)
    else:
        places = [find(features, c) for c in columns]
        if places:
            return places
        got = "no column"
    raise DataError(explained(f"groups[{name!r}]", got, "a list of columns", fix))


def _claim(owner: dict[int, str], j: int, group: str, column: str) -> None:
    if j not in owner:
        owner[j] = group
        return
    again = owner[j] == group
    raise DataError(
        explained(
            f"groups[{group!r}]",
            f"the column {column!r} twice"
            if again
            else f"the column {column!r}, which {owner[j]!r} has too",
            "each column in one group, once",
            "Leave it out of one of them" if not again else "Name it once",
        )
    )


def _feature(features: tuple[Feature, ...], name: str, places: list[int]) -> Feature:
    if len(places) == 1:
        return replace(features[places[0]], name=name)
    return Feature(
        name,
        "nominal",
        position=places[0],
        label=name,
        dtype="group",
        members=tuple(places),
    )


def observed_group(source: Source, feature: Feature) -> Observed:
    """Return the levels of a group, and each row's place among them.

    Columns of zeros and ones are a one-hot block, whose levels are its columns. Of other columns the combinations are
    the levels. A row where some column is missing is missing.

    Raises
    ------
    DataError
        For rows with more than one 1, and for combinations that hardly ever occur twice.
    """
    columns = [source.features[j] for j in feature.members]
    coded = [source.table.coded(f.position, source.row_id) for f in columns]
    if all(set(values) <= {0, 1} for _, values in coded):
        return _one_hot(feature, columns, coded)
    parts = [in_order(f, *c) for f, c in zip(columns, coded, strict=True)]
    return _combined(feature, columns, parts)


def _one_hot(
    feature: Feature, columns: list[Feature], coded: list[tuple[Ints, list[Any]]]
) -> Observed:
    n = len(coded[0][0])
    place, ones = np.full(n, len(columns)), np.zeros(n, dtype=np.int64)
    blank = np.zeros(n, dtype=bool)
    for k, (codes, values) in enumerate(coded):
        hot = np.isin(codes, [code for code, value in enumerate(values) if value == 1])
        place[hot] = k
        ones += hot
        blank |= codes < 0
    several = int(((ones > 1) & ~blank).sum())
    if several:
        raise DataError(
            explained(
                f"groups[{feature.name!r}]",
                f"{several:,} rows with more than one 1",
                "a one-hot block (one 1 a row)",
                "Leave out the columns that belong to something else",
            )
        )
    names = [f.name for f in columns]
    labels = _shortened(names)
    names.append(unused(NONE, names))
    labels.append(unused(NONE, labels))
    place[blank] = -1
    codes, first = dense(place, ~blank)
    there = place[first]
    return Observed(
        codes, tuple(names[k] for k in there), tuple(labels[k] for k in there), group=True
    )


def _shortened(names: list[str]) -> list[str]:
    """Return names without what they all begin with, up to a joint."""
    low, high = min(names), max(names)
    same = 0
    while same < min(len(low), len(high)) and low[same] == high[same]:
        same += 1
    cut = max((low.rfind(joint, 0, same) for joint in _JOINTS), default=-1) + 1
    short = [name[cut:] for name in names]
    return short if all(s.strip() for s in short) else list(names)


def _combined(feature: Feature, columns: list[Feature], parts: list[Observed]) -> Observed:
    blank = np.any([part.codes < 0 for part in parts], axis=0)
    codes, first = np.zeros(len(blank), dtype=np.int64), np.zeros(0, dtype=np.int64)
    for part in parts:
        # Made dense at each step: products of many columns' sizes are larger than any integer.
        codes, first = dense(codes * max(len(part.values), 1) + part.codes, ~blank)
    rows = int((~blank).sum())
    if 2 * len(first) > rows > 0:
        raise DataError(
            explained(
                f"groups[{feature.name!r}]",
                f"{len(first):,} different combinations in {rows:,} rows",
                f"a one-hot block, or columns of at most {rows // 2:,} combinations",
                "Leave out columns of many values",
            )
        )
    chosen = [[int(part.codes[row]) for part in parts] for row in first]
    values = tuple(tuple(p.values[k] for p, k in zip(parts, c, strict=True)) for c in chosen)
    names = [f.name for f in columns]
    labels = [
        ", ".join(f"{name}={p.labels[k]}" for name, p, k in zip(names, parts, c, strict=True))
        for c in chosen
    ]
    return Observed(codes, values, different(labels), group=True)
