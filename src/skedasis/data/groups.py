"""Groups: several columns that stand for one thing and move together, such as one-hot blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from skedasis._types import Ints
from skedasis.data.coding import dense
from skedasis.data.labels import different, unused
from skedasis.data.levels import Observed, in_order
from skedasis.data.schema import Feature, find
from skedasis.errors import DataError, explained

if TYPE_CHECKING:
    from skedasis.data.source import Source

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
