"""Groups of columns that are explained as one feature: their levels, and the rows of each level."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skedasis.data.categories import apply_groups
from skedasis.data.dataset import as_arrays, as_dataset
from skedasis.errors import DataError
from tests.helpers import paired, refused, rows_of

NAN = float("nan")
FRAMES = {"pandas": pd.DataFrame, "Polars": pl.DataFrame, "PyArrow": pa.table}
frames = pytest.mark.parametrize("make", FRAMES.values(), ids=list(FRAMES))


# ------------------------------------------------------------------------------- columns of a group


def wide():
    """Return a dataset of five columns."""
    return as_dataset(pd.DataFrame(np.arange(20).reshape(4, 5), columns=[*"abcde"]))


def test_a_group_stands_where_its_first_column_stood():
    source = wide()
    features = apply_groups(source.features, {"late": ["e", "b"], "pair": [2, "d"]})
    assert [f.name for f in features] == ["a", "late", "pair"]
    assert [f.columns for f in features] == [(0,), (1, 4), (2, 3)]
    late = features[1]
    assert (late.kind, late.position, late.dtype) == ("nominal", 1, "group")
    assert late.categorical
    assert not late.numeric
    assert apply_groups(source.features, {}) == source.features
    assert source.features[0].columns == (0,)
    assert source.features[0].members == ()


def test_a_group_of_one_column_is_that_column():
    source = wide()
    features = apply_groups(source.features, {"alone": ["b"], "c": ["c"], "p": np.array([3])})
    assert [f.name for f in features] == ["a", "alone", "c", "p", "e"]
    assert [
        replace(f, name=g.name) for f, g in zip(features, source.features, strict=True)
    ] == list(source.features)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"g": ["a", "b"], "h": ["b", "c"]}, ("'h'", "'b'", "'g'")),
        ({"g": ["a", "b", 1]}, ("'g'", "'b' twice")),
        ({"g": []}, ("'g'", "no column")),
        ({"g": ["a", "bee"]}, ("'bee'",)),
        ({"g": "ab"}, ("'g'", "'ab'", "a list of columns")),
        ({"a": ["b", "c"]}, ("'a'", "a column outside the group")),
        ([["a", "b"]], ("groups", "list", "a mapping")),
    ],
)
def test_groups_that_cannot_be_are_refused(groups, words):
    with refused(DataError, *words):
        apply_groups(wide().features, groups)


def test_overlapping_groups_are_in_the_order_of_their_first_columns_and_then_as_given():
    groups = {"late": ["e", "b"], "b": ["b"], "early": ["c", "a"], "same": [4, 1]}
    features = apply_groups(wide().features, groups, overlapping=True)
    assert [f.name for f in features] == ["early", "late", "b", "same", "d"]
    assert [f.columns for f in features] == [(0, 2), (1, 4), (1,), (1, 4), (3,)]
    with refused(DataError, "'b'", "also in 'late'", "one group only", "sd.PFI()"):
        apply_groups(wide().features, groups)


# ------------------------------------------------------------------------------------ one-hot blocks

BLOCK = [2, 0, None, 2, 1, 0, 2]
NAMES = ("city_<b>", "city_a", "city_never", "city_c")


def one_hot(number, dtype=float):
    """Return the one-hot block of BLOCK's codes; the third column is never 1, and None is a row of zeros."""
    out = np.zeros((len(BLOCK), 4), dtype=dtype)
    for i, place in enumerate(BLOCK):
        if place is not None:
            out[i, (0, 1, 3)[place]] = number
    return out


def block_of(X, **given):
    """Return a dataset, and the group of all its columns except the first."""
    source = as_dataset(X, **given)
    return source, apply_groups(source.features, {"city": [f.name for f in source.features[1:]]})[1]


def framed(make, block):
    """Return a frame of column x followed by a block."""
    columns = {name: block[:, k] for k, name in enumerate(NAMES)}
    return make({"x": np.arange(7.0), **columns})


@pytest.mark.parametrize(("make", "dtype"), paired(FRAMES.values(), [float, bool, np.uint8]))
def test_a_one_hot_block_has_its_columns_for_levels(make, dtype):
    source, group = block_of(framed(make, one_hot(1, dtype)))
    column = source.levels(group)
    assert column.levels.values == ("city_<b>", "city_a", "city_c", "(none)")
    assert column.levels.labels == ("<b>", "a", "c", "(none)")
    assert column.codes.tolist() == [3 if place is None else place for place in BLOCK]
    assert column.levels.rows.tolist() == [1, 4, 0, 2]
    assert (column.count.tolist(), column.missing) == ([2, 1, 3, 1], 0)
    assert [column.levels.named(v) for v in ("city_a", "a", "(none)", "city_never", 1)] == [
        1,
        1,
        3,
        -1,
        -1,
    ]
    (batch,) = source.batches(9)
    sets = np.array([[2], [3]])
    swept = rows_of(batch.tile(2).swept(column.replacements(sets), 2))
    assert swept == [[float(i), 0, 0, 0, 1] for i in range(7)] + [
        [float(i), 0, 0, 0, 0] for i in range(7)
    ]
    after = as_arrays(source).levels(group)
    assert (after.levels.values, after.codes.tolist()) == (
        column.levels.values,
        column.codes.tolist(),
    )


@pytest.mark.parametrize("hole", [NAN, None])
def test_a_row_of_a_block_with_a_hole_is_missing(hole):
    block = one_hot(1).astype(object)
    block[1, 2] = block[4, 1] = hole
    source, group = block_of(framed(pd.DataFrame, block))
    column = source.levels(group)
    assert column.levels.values == ("city_<b>", "city_c", "(none)", None)
    assert column.codes.tolist() == [1, 3, 2, 1, 3, 0, 1]
    assert column.missing == 2
    assert column.levels.find(None) == column.levels.find(NAN) == 3
    assert column.levels.named("missing") == 3


def test_two_ones_in_a_row_are_refused():
    block = one_hot(1)
    block[:3] = 1
    source, group = block_of(framed(pd.DataFrame, block))
    with refused(DataError, "groups['city']", "3 rows with more than one 1", "one-hot"):
        source.levels(group)


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["a_x", "a_y"], ("x", "y")),
        (["k=1", "k=10"], ("1", "10")),
        (["ab", "ac"], ("ab", "ac")),
        (["a_", "a_b"], ("a_", "a_b")),
        (["(none)", "b"], ("(none)", "b")),
    ],
)
def test_what_all_names_begin_with_is_left_out_of_labels(names, labels):
    X = pd.DataFrame({names[0]: [0, 1, 0], names[1]: [1, 0, 0]})
    source = as_dataset(X)
    (group,) = apply_groups(source.features, {"g": names})
    levels = source.levels(group).levels
    assert levels.values[:2] == tuple(names)
    assert levels.labels[:2] == labels
    assert levels.labels[2] == ("((none))" if "(none)" in labels else "(none)")
    assert [levels.named(label) for label in levels.labels] == [0, 1, 2]


# ------------------------------------------------------------------------------------ other groups


@frames
def test_other_columns_have_their_combinations_for_levels(make):
    n = 60
    rng = np.random.default_rng(2)
    a, b = rng.integers(1, 4, n), np.array(["v", "u", None], dtype=object)[rng.integers(0, 3, n)]
    source, group = block_of(make({"x": np.arange(n), "a": a, "b": b}))
    column = source.levels(group)
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    assert column.levels.values == (*itertools.product([1, 2, 3], ["u", "v"]), None)
    assert column.levels.labels[:2] == ("a=1, b=u", "a=1, b=v")
    wanted = [None if None in pair else pair for pair in pairs]
    assert [column.levels.values[k] for k in column.codes] == wanted
    assert column.missing == wanted.count(None)
    assert column.levels.rows.tolist() == [wanted.index(v) for v in column.levels.values]
    assert column.levels.find((2, "v")) == column.levels.named("a=2, b=v") == 3
    assert column.levels.find((2.0, "v")) == 3
    assert column.levels.find((True, "v")) == column.levels.find(2) == -1
    (batch,) = source.batches(n)
    swept = rows_of(batch.tile(1).swept(column.replacements(np.array([[3]])), 1))
    assert swept == [[i, 2, "v"] for i in range(n)]


# ------------------------------------------------------------------------------ similarity order


def test_levels_are_ordered_by_the_similarity_of_the_other_columns():
    # Level k shifts the other columns' values by shift[k]; the order is that of the shifts, in either direction.
    shift = np.array([3, 0, 5, 1, 4, 2])
    level = np.repeat(np.arange(6), 20)
    x = shift[level] + np.tile(np.linspace(0, 9.5, 20), 6)
    text = np.array([f"t{v:02.0f}" for v in np.floor(x)], dtype=object)
    source = as_dataset(pd.DataFrame({"k": level, "x": x, "hole": NAN, "t": text}))
    feature = replace(source.features[0], kind="nominal")
    wanted = np.argsort(shift).tolist()
    for others in (None, source.features[1:2], source.features[3:]):
        assert source.levels(feature).similarity_order(others).tolist() in (wanted, wanted[::-1])
    assert source.levels(feature).similarity_order(source.features[:1]).tolist() == list(range(6))
