"""Levels of categorical features: labels, codes, and groups of columns such as one-hot blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Protocol

import numpy as np

from skedasis._arguments import shown
from skedasis._types import Bools, Floats, Ints, Level
from skedasis.data.containers import LevelReplacement
from skedasis.data.factorize import (
    Factorized,
    argsort_values,
    dense_codes,
    equality_key,
    first_rows,
    is_absent,
    to_python,
)
from skedasis.data.features import Feature, Groups, find_feature, infinite_values, no_values
from skedasis.errors import DataError, nearest
from skedasis.stats.integer_weights import weight_quantum, weight_sums


# ---------------------------------------------------------------------------- labels of levels
def labels_of(values: Sequence[Level], feature: Feature | None = None) -> tuple[str, ...]:
    """Return a unique label for each value: that of the feature's levels if there is one."""
    texts = [_text(v) for v in values]
    count = Counter(texts)
    quoted = [
        repr(v) if isinstance(v, str) and (count[text] > 1 or not v.strip()) else text
        for v, text in zip(values, texts, strict=True)
    ]
    own = {} if feature is None else given_labels(values, feature)
    return _numbered([own.get(k, text) for k, text in enumerate(quoted)])


def given_labels(values: Sequence[Level], feature: Feature) -> dict[int, str]:
    """Return the labels that a schema gives to some of the values, by position."""
    keys, texts = [_key(v) for v in values], [_text(v) for v in values]
    found: dict[int, str] = {}
    for level, label in dict(feature.labels).items():
        if _key(level) in keys:
            found[keys.index(_key(level))] = label
        elif (
            isinstance(level, str) and level in texts
        ):  # a level of another type as text, as in JSON
            found[texts.index(level)] = label
        elif any(isinstance(v, Real) and v == level for v in values):  # True for 1
            what = f"labels of feature {feature.name!r}"
            raise unknown_level(what, level, values, texts, "Use an observed level")
        others = (v for v, text in zip(values, texts, strict=True) if text == label)
        if any(v is not None and _key(v) != _key(level) and str(level) != label for v in others):
            raise DataError(
                f"labels of feature {feature.name!r}",
                f"{label!r} for {shown(level)}, which is another level",
                "labels that are no other level",
                "Use another text",
            )
    return found


def _text(value: Level) -> str:
    if isinstance(value, float) and value % 1 == 0 and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def unknown_level(
    what: str, got: object, values: Sequence[Level], labels: Sequence[str], fix: str
) -> DataError:
    """Return the error for a value that is no level: it names the levels, and the nearest one if there is one."""
    # As a call writes them: a value, or the label of one that has another label than itself.
    names = [
        repr(value if label in (repr(value), *labels_of([value])) else label)
        for value, label in zip(values, labels, strict=True)
    ]
    texts = [*map(str, values), *labels]
    plain = dict(zip([text.casefold().strip() for text in texts], names * 2, strict=True))
    near = nearest(got, plain)
    meant = [
        # 1 for True, and True for 1.
        *(n for n, v in zip(names, values, strict=True) if isinstance(got, Real) and v == got),
        *([plain[near]] if near else []),
    ]
    fix = f"Did you mean {meant[0]}?" if meant else fix
    some = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return DataError(what, shown(got), f"one of the levels {some}", fix)


def _numbered(labels: Sequence[str]) -> tuple[str, ...]:
    """Make labels unique: repeated ones get a number, as in ``"a (2)"``."""
    seen: dict[str, None] = {}
    for label in labels:
        new, count = label, 2
        while new in seen:
            new, count = f"{label} ({count})", count + 1
        seen[new] = None
    return tuple(seen)


def _unused(label: str, labels: Sequence[str]) -> str:
    """Return a label that is not among `labels`: itself, or in parentheses if it is taken."""
    while label in labels:
        label = f"({label})"
    return label


# --------------------------------------------------------------------------- levels and codes
MAX_LEVELS = 2000
"""Largest number of levels of a feature, unless `top_levels` selects the most frequent."""


class TooManyLevels(DataError):  # noqa: N818 - named after the condition
    """A feature has more levels than the limit."""


@dataclass(frozen=True, eq=False)
class Levels:
    """The observed levels of a categorical feature, in order."""

    values: tuple[Level, ...]
    labels: tuple[str, ...]
    rows: Ints

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def _code_of(self) -> dict[Level, int]:
        return {_key(value): code for code, value in enumerate(self.values)}

    def take(self, index: Sequence[int] | Ints) -> Levels:
        """Return some of the levels, in the order of `index`."""
        codes = np.asarray(index, dtype=np.int64)
        values = tuple(self.values[i] for i in codes)
        labels = tuple(self.labels[i] for i in codes)
        return replace(self, values=values, labels=labels, rows=self.rows[codes])

    def find(self, value: Level) -> int:
        """Return the code of a level, or -1 if there is no such level. 1 equals 1.0, but neither True nor "1"."""
        try:
            return self._code_of.get(_key(value), -1)
        except TypeError:  # not hashable, so not a level
            return -1

    def named(self, value: object) -> int:
        """Return the code of a level that a caller names by its value or its label, or -1 if there is no such level."""
        code = self.find(value)
        is_label = code < 0 and isinstance(value, str) and value in self.labels
        return self.labels.index(value) if is_label else code


def _key(value: Level) -> Level:
    return None if is_absent(value) else equality_key(value)


@dataclass(frozen=True, eq=False)
class CodedLevels:
    """The codes of rows, and the distinct values and labels of the codes in order."""

    codes: Ints
    values: tuple[Level, ...]
    labels: tuple[str, ...]


class LevelSource(Protocol):
    """What a categorical feature needs to know of its rows and of their other features (see `Dataset`)."""

    @property
    def weights(self) -> Floats | None:
        """Return the rows' weights."""
        ...

    def table_rows(self, places: Ints) -> Ints:
        """Return the indices in the table of some rows."""
        ...

    def level_order(self, column: LevelColumn, others: Sequence[Feature] | None) -> Ints:
        """Return the order of levels in which neighbours have similar values of the other features."""
        ...

    def level_codes(self, column: LevelColumn) -> Ints:
        """Return the codes of the rows in a feature."""
        ...


@dataclass(frozen=True, eq=False)
class LevelColumn:
    """A categorical feature: its levels, and the code of each row."""

    feature: Feature
    levels: Levels
    codes: Ints
    weights: Floats | None
    count: Ints
    weight: Floats
    missing: int
    n_other: int
    dataset: LevelSource = field(repr=False)

    def __len__(self) -> int:
        return len(self.codes)

    def of_rows(self, dataset: LevelSource) -> bool:
        """Return whether the codes are those of a data set's rows."""
        return self.dataset is dataset

    @property
    def present(self) -> Ints:
        """Return the indices of the rows with a level."""
        return np.flatnonzero(self.codes >= 0)

    def replacements(self, codes: Ints) -> dict[int, LevelReplacement]:
        """Return the column replacements that insert the levels of these codes, of any shape, into the feature."""
        return dict.fromkeys(self.feature.columns, LevelReplacement(codes, self.levels.rows))

    def similarity_order(self, others: Sequence[Feature] | None = None) -> Ints:
        """Return the order of levels in which neighbours have similar values of the other features."""
        return self.dataset.level_order(self, others)

    def at_rows(self, dataset: LevelSource) -> LevelColumn:
        """Return the same levels with the codes of other rows."""
        codes = dataset.level_codes(self)
        sizes = self.count, self.weight, self.missing, self.n_other
        return LevelColumn(self.feature, self.levels, codes, dataset.weights, *sizes, dataset)

    def in_table(self) -> LevelColumn:
        """Return the levels with an example of each in the table of the data set."""
        return self


def ordered_levels(
    feature: Feature, codes: Ints, values: Sequence[Level], sizes: Ints | None = None
) -> CodedLevels:
    """Return a column's codes and values in the declared order, else in ascending order."""
    typed = [typed_level(v, feature.dtype) for v in values]
    keys = [equality_key(v) for v in typed]
    distinct: dict[Level, Level] = {}
    for key, value in zip(keys, typed, strict=True):
        distinct.setdefault(key, value)
    code_of = {key: i for i, key in enumerate(distinct)}
    merged = np.array([*map(code_of.__getitem__, keys), -1])[codes]
    _check_finite(feature, distinct, merged, sizes)
    if feature.levels is None:
        observed = list(distinct.values())
        order = argsort_values(observed)
        ordered = [observed[i] for i in order]
    else:
        declared = _declared(feature, distinct)
        order, ordered = [code_of[key] for key in declared], list(declared.values())
    rank = np.full(len(distinct) + 1, -1)
    rank[order] = np.arange(len(order))
    return CodedLevels(rank[merged], tuple(ordered), labels_of(ordered, feature))


def typed_level(value: Level, dtype: str) -> Level:
    """Convert a float back to the column's type: int or bool, if the table was converted to an array of floats."""
    if isinstance(value, float) and value % 1 == 0:
        if dtype.lower().startswith(("int", "uint")):
            return int(value)
        if dtype.lower().startswith("bool") and value in (0.0, 1.0):
            return bool(value)
    return value


def _check_finite(
    feature: Feature, distinct: dict[Level, Level], codes: Ints, sizes: Ints | None
) -> None:
    infinite = [i for i, v in enumerate(distinct.values()) if isinstance(v, float) and np.isinf(v)]
    if infinite:
        raise infinite_values(feature, _rows_of(np.isin(codes, infinite), sizes))


def _rows_of(mask: Bools, sizes: Ints | None) -> int:
    """Return the number of rows in a mask, each of which stands for as many as `sizes` says."""
    return int(mask.sum() if sizes is None else sizes[mask].sum())


def _declared(feature: Feature, distinct: dict[Level, Level]) -> dict[Level, Level]:
    """Return the declared levels that are observed, in the declared order."""
    observed, labels = list(distinct.values()), dict(feature.labels)
    own = given_labels(observed, feature)
    level_of = {label: observed[k] for k, label in own.items()}
    declared = [
        # "0" for 0, as in the labels of a JSON file
        level_of.get(labels.get(v, ""), v) if isinstance(v, str) else to_python(v)
        for v in feature.levels or ()
        if not is_absent(v)
    ]
    keys = [equality_key(v) for v in declared]
    times = Counter(keys)
    duplicates = [v for v, key in zip(declared, keys, strict=True) if times[key] > 1]
    undeclared = [own.get(k, v) for k, (key, v) in enumerate(distinct.items()) if key not in times]
    if duplicates or undeclared:
        some = ", ".join(repr(v) for v in undeclared[:5]) + (", …" if len(undeclared) > 5 else "")
        raise DataError(
            f"levels of feature {feature.name!r}",
            f"{duplicates[0]!r} more than once" if duplicates else f"an order without {some}",
            "each observed level once",
            "List each level once" if duplicates else "Add the observed levels to the order",
        )
    return {key: v for key, v in zip(keys, declared, strict=True) if key in distinct}


def check_level_count(feature: Feature, levels: int, most: int, *, counted: bool = True) -> None:
    """Raise if a feature has more than `most` levels, as identifiers have; `counted`: whether `levels` are all."""
    if levels > most:
        raise TooManyLevels(
            f"feature {feature.name!r}",
            f"{levels:,} levels" if counted else f"more than {most:,} levels",
            f"at most {most:,}",
            "It may be an identifier. Leave it out, or keep only its most frequent levels: "
            "sd.ALE(top_levels=50)",
        )


def level_column(
    dataset: LevelSource, feature: Feature, seen: CodedLevels, top: int | None
) -> LevelColumn:
    """Return the levels of a dataset's rows with their counts and weights."""
    codes, values, labels = seen.codes, seen.values, seen.labels
    is_missing = codes < 0
    missing = int(is_missing.sum())
    if missing == len(codes):
        raise no_values(feature)
    if missing and feature.kind == "nominal":
        codes = np.where(is_missing, len(values), codes)
        values = (*values, None)
        own = given_labels(values, feature).get(len(labels))
        labels = (*labels, own or _unused("missing", labels))
    levels = Levels(values, labels, dataset.table_rows(first_rows(codes, len(values))))
    count, weight = _sizes(codes, len(levels), dataset.weights)
    whole = LevelColumn(feature, levels, codes, dataset.weights, count, weight, missing, 0, dataset)
    return whole if top is None or top >= len(levels) else keep_top(whole, top)


def _sizes(codes: Ints, size: int, weights: Floats | None) -> tuple[Ints, Floats]:
    """Return the number of rows and the total weight of each level."""
    # Codes are shifted by one, so that the first entry counts the rows without a level; it is dropped.
    count = np.bincount(codes + 1, minlength=size + 1)[1:]
    if weights is None:
        return count.astype(np.int64), count.astype(float)
    quantum = weight_quantum(float(weights.max()), len(weights))
    weight = weight_sums(codes + 1, weights, size + 1, quantum)[1:]
    return count.astype(np.int64), weight


def keep_top(column: LevelColumn, top: int) -> LevelColumn:
    """Keep the levels with the largest weight, in their order."""
    kept = np.sort(np.argsort(-column.weight, kind="stable")[:top])
    new_code = np.full(len(column.levels) + 1, -1)
    new_code[kept] = np.arange(len(kept))
    return replace(
        column,
        levels=column.levels.take(kept),
        codes=new_code[column.codes],
        count=column.count[kept],
        weight=column.weight[kept],
        n_other=int(column.count.sum() - column.count[kept].sum()),
    )


# ------------------------------------------------------ groups of columns, such as one-hot blocks
NO_COLUMN_LEVEL = "(none)"
"""The level of rows that are zero in all columns of a one-hot block: the level whose column was dropped."""

_SEPARATORS = "_=-.: "
"""Characters at which the common prefix of the columns of a block ends."""


def apply_groups(
    features: tuple[Feature, ...], groups: Groups, *, overlapping: bool = False
) -> tuple[Feature, ...]:
    """Return the features to explain: the columns, with groups replacing their columns."""
    if not isinstance(groups, Mapping):
        raise DataError(
            "groups",
            f"{type(groups).__name__}",
            "a mapping of names to columns",
            'For example groups={"district": ["district_a", "district_b"]}',
        )
    owners: dict[int, list[str]] = {}
    groups_at: dict[int, list[Feature]] = {}
    for name, columns in groups.items():
        positions = _positions(features, name, columns)
        for j in positions:
            _claim(owners, j, name, features[j].name, overlapping=overlapping)
        groups_at.setdefault(min(positions), []).append(
            _group_feature(features, name, sorted(positions))
        )
    for j, feature in enumerate(features):
        if feature.name in groups and feature.name not in owners.get(j, ()):
            raise DataError(
                f"groups[{feature.name!r}]",
                "the name of a column outside the group",
                "a name that no other column has",
                "Rename the group",
            )
    return tuple(
        found
        for j, column in enumerate(features)
        for found in groups_at.get(j, () if j in owners else (column,))
    )


def _positions(features: tuple[Feature, ...], name: object, columns: object) -> list[int]:
    """Return the positions of a group's columns."""
    if not isinstance(name, str):
        raise DataError(
            "groups", f"the name {name!r}", "names that are text", "Use strings as group names"
        )
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        got = repr(columns)
    else:
        positions = [find_feature(features, c, f"groups[{name!r}]") for c in columns]
        if positions:
            return positions
        got = "no column"
    fix = (
        f"Write a list: [{columns!r}]" if isinstance(columns, str) else "Name its columns in a list"
    )
    raise DataError(f"groups[{name!r}]", got, "a list of columns", fix)


def _claim(
    owners: dict[int, list[str]], j: int, group: str, column: str, *, overlapping: bool
) -> None:
    """Record that column j is in a group; raise if it is there twice, or in another group and may not be."""
    known = owners.setdefault(j, [])
    if group in known:
        raise DataError(
            f"groups[{group!r}]",
            f"the column {column!r} twice",
            "each column once",
            "List the column once",
        )
    if known and not overlapping:
        raise DataError(
            f"groups[{group!r}]",
            f"the column {column!r}, which is also in {known[0]!r}",
            "each column in one group only, because a group replaces its columns by one feature",
            "Remove the column from one of the groups. Importances allow a column in several groups: "
            "use sd.PFI() or sd.diagnose",
        )
    known.append(group)


def _group_feature(features: tuple[Feature, ...], name: str, positions: list[int]) -> Feature:
    if len(positions) == 1:
        return replace(features[positions[0]], name=name)
    return Feature(
        name,
        "nominal",
        position=positions[0],
        key=name,
        dtype="group",
        members=tuple(positions),
    )


def observed_group(
    feature: Feature,
    columns: Sequence[Feature],
    coded: Sequence[Factorized],
    sizes: Ints | None = None,
) -> CodedLevels:
    """Return the levels of a group, and the code of each row."""
    if all(set(values) <= {0, 1} for _, values in coded):
        return _one_hot(feature, columns, coded, sizes)
    parts = [ordered_levels(f, *c, sizes) for f, c in zip(columns, coded, strict=True)]
    return _combined(feature, columns, parts, sizes)


def _one_hot(
    feature: Feature,
    columns: Sequence[Feature],
    coded: Sequence[Factorized],
    sizes: Ints | None = None,
) -> CodedLevels:
    """Return the levels of a one-hot block: in each row, the column that is 1, or `NO_COLUMN_LEVEL`."""
    n = len(coded[0][0])
    column_of, ones = np.full(n, len(columns)), np.zeros(n, dtype=np.int64)
    is_missing = np.zeros(n, dtype=bool)
    for k, (codes, values) in enumerate(coded):
        hot = np.isin(codes, [code for code, value in enumerate(values) if value == 1])
        column_of[hot] = k
        ones += hot
        is_missing |= codes < 0
    several = _rows_of((ones > 1) & ~is_missing, sizes)
    if several:
        raise DataError(
            f"groups[{feature.name!r}]",
            f"{several:,} rows with more than one 1",
            "a one-hot block (one 1 per row)",
            "Remove the columns that do not belong to the block",
        )
    names = [f.name for f in columns]
    labels = _shortened(names)
    names.append(_unused(NO_COLUMN_LEVEL, names))
    labels.append(_unused(NO_COLUMN_LEVEL, labels))
    column_of[is_missing] = -1
    codes, first = dense_codes(column_of, ~is_missing)
    observed = column_of[first]
    return CodedLevels(codes, tuple(names[k] for k in observed), tuple(labels[k] for k in observed))


def _shortened(names: list[str]) -> list[str]:
    """Return names without their common prefix, which ends at a separator."""
    low, high = min(names), max(names)
    same = 0
    while same < min(len(low), len(high)) and low[same] == high[same]:
        same += 1
    cut = max((low.rfind(separator, 0, same) for separator in _SEPARATORS), default=-1) + 1
    short = [name[cut:] for name in names]
    return short if all(s.strip() for s in short) else list(names)


def group_values(
    feature: Feature, columns: Sequence[Feature], coded: Sequence[Factorized], levels: Levels
) -> Factorized:
    """Return codes and values of a group for some of the rows; its levels, from all rows, tell which kind it is."""
    if not isinstance(levels.values[0], tuple):
        observed = _one_hot(feature, columns, coded)
        return Factorized(observed.codes, list(observed.values))
    is_missing = np.any([part.codes < 0 for part in coded], axis=0)
    codes, first = np.zeros(len(is_missing), dtype=np.int64), np.zeros(0, dtype=np.int64)
    for part in coded:
        codes, first = dense_codes(codes * max(len(part.values), 1) + part.codes, ~is_missing)
    values = [
        tuple(
            typed_level(p.values[p.codes[row]], f.dtype)
            for p, f in zip(coded, columns, strict=True)
        )
        for row in first
    ]
    return Factorized(codes, list(values))


def _combined(
    feature: Feature,
    columns: Sequence[Feature],
    parts: Sequence[CodedLevels],
    sizes: Ints | None,
) -> CodedLevels:
    """Return the levels of a group of other columns: the observed combinations of their values."""
    is_missing = np.any([part.codes < 0 for part in parts], axis=0)
    codes, first = np.zeros(len(is_missing), dtype=np.int64), np.zeros(0, dtype=np.int64)
    for part in parts:
        # Codes are made dense after each column, because the product of all numbers of levels may overflow.
        codes, first = dense_codes(codes * max(len(part.values), 1) + part.codes, ~is_missing)
    rows = _rows_of(~is_missing, sizes)
    if 2 * len(first) > rows > 0:
        raise DataError(
            f"groups[{feature.name!r}]",
            f"{len(first):,} different combinations in {rows:,} rows",
            f"a one-hot block, or columns with at most {rows // 2:,} combinations",
            "Remove the columns with many values",
        )
    combinations = [[int(part.codes[row]) for part in parts] for row in first]
    values = tuple(tuple(p.values[k] for p, k in zip(parts, c, strict=True)) for c in combinations)
    names = [f.name for f in columns]
    labels = [
        ", ".join(f"{name}={p.labels[k]}" for name, p, k in zip(names, parts, c, strict=True))
        for c in combinations
    ]
    return CodedLevels(codes, values, _numbered(labels))
