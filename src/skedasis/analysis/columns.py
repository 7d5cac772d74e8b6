"""Columns of any kind as random forests take them: what they split by, and what they learn.

Trees ask for the order of values only, so what they are given of a column are places: of numbers their rank, of
categories their place among the levels, and a place far below where there is no value. So neither the scale of a column
nor its type matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.categories import in_order
from skedasis.data.dataset import Source
from skedasis.data.factorize import ascending, coded_objects, dense
from skedasis.data.features import Feature

LEVELS = 20
"""Of a nominal feature so many levels, those of most weight, are learnt one by one; the rest as one more."""


@dataclass(frozen=True, eq=False)
class Coded:
    """A source's rows, or a sample of them, as forests take them.

    Parameters
    ----------
    features : tuple of Feature
        Columns, and groups of columns in their place.
    places : ndarray of float, shape (n, columns of X)
        What forests split by.
    owner : ndarray of int, shape (columns of X,)
        The place in `features` that a column belongs to.
    targets : tuple of ndarray of float, shape (n, k)
        What forests learn, one for each feature; NaN in rows without a value.
    label : ndarray of float, shape (n,)
        The labels' places.
    weights : ndarray of float, shape (n,)
    total : int
        Rows of the source.
    """

    features: tuple[Feature, ...]
    places: Floats
    owner: Ints
    targets: tuple[Floats, ...]
    label: Floats
    weights: Floats
    total: int


def coded(source: Source, features: Sequence[Feature], rows: int | None, seed: int) -> Coded:
    """Turn a source's rows into what forests take, and refuse what cannot be.

    Parameters
    ----------
    source : Source
        With labels.
    features : sequence of Feature
        As `skedasis.data.categories.grouped` gives them.
    rows : int, optional
        So many rows at most, a seeded sample; None takes all.
    seed : int

    Raises
    ------
    DataError
        For a declared order of levels that misses one, and labels that cannot be told apart.
    """
    some = source.order[_some(len(source), rows, seed)]  # the same for any order of the rows
    given = some if source.row_id is None else source.row_id[some]
    columns = [_column(source, f, given) for f in source.features]
    owner = np.zeros(len(columns), dtype=np.int64)
    for place, feature in enumerate(features):
        owner[list(feature.columns)] = place
    weights = np.ones(len(some)) if source.weights is None else source.weights[some]
    targets = tuple(_target([columns[j] for j in f.columns], weights) for f in features)
    places = np.stack([c.places for c in columns], axis=1).astype(float)
    places[places < 0] = -len(
        some
    )  # far enough that no split half-way between places takes any along
    codes, values = coded_objects(np.asarray(source.y)[some].tolist(), "y")
    label = _ranked(codes, values).astype(float)
    return Coded(tuple(features), places, owner, targets, label, weights, len(source))


def _some(n: int, rows: int | None, seed: int) -> Ints:
    """Return the places of the rows that are looked at, in their order."""
    if rows is None or rows >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, rows, replace=False))


@dataclass(frozen=True, eq=False)
class _Column:
    """One column: its places, and what is learnt of it.

    Parameters
    ----------
    places : ndarray of int, shape (n,)
        -1 where there is no value.
    values : ndarray of float, shape (n,), optional
        Numbers to be learnt, NaN where there is none; None for what has levels without an order.
    block : bool
        Whether it holds zeros and ones alone, as the columns of a one-hot block do.
    """

    places: Ints
    values: Floats | None
    block: bool


def _column(source: Source, feature: Feature, rows: Ints) -> _Column:
    """Read one column."""
    j = feature.position
    x = None
    if not feature.categorical:
        try:
            x = source.table.column(j, rows)
        except (ValueError, TypeError):  # declared to be numbers, and is none
            x = None
    if x is not None:
        places, _ = dense(x, ~np.isnan(x))
        return _Column(places, np.where(np.isfinite(x), x, np.nan), bool(np.isin(x, (0, 1)).all()))
    codes, values = source.table.coded(j, rows)
    seen = in_order(feature, codes, values)
    binary = set(values) <= {0, 1} and not (codes < 0).any()
    if feature.kind == "nominal" and not binary:
        return _Column(seen.codes, None, block=False)
    held = np.where(seen.codes < 0, np.nan, seen.codes)
    return _Column(seen.codes, held, binary)


def _ranked(codes: Ints, values: list[Any]) -> Ints:
    """Return each row's place among the distinct values in ascending order, -1 where there is none."""
    rank = np.full(len(values) + 1, -1)
    rank[ascending(values)] = np.arange(len(values))
    return rank[codes]


def _target(columns: Sequence[_Column], weights: Floats) -> Floats:
    """Return what is to be learnt of a feature, (n, k): as many columns as numbers or levels.

    The R² is one for all of them, each with its variance for weight. A one-hot block is learnt as it stands, as are the
    levels of one nominal column, which is the same; of any other group each column counts alike.
    """
    blocks = [
        _levels(c.places, weights) if c.values is None else c.values[:, None] for c in columns
    ]
    if len(columns) > 1 and all(c.block for c in columns):
        return np.concatenate(blocks, axis=1)
    return np.concatenate([_scaled(b, weights) for b in blocks], axis=1)


def _levels(places: Ints, weights: Floats) -> Floats:
    """Return which row has which level, (n, levels): no value is a level too, and rare levels are one."""
    _, place = np.unique(places, return_inverse=True)
    weight = np.bincount(place, weights)
    order = np.argsort(-weight, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    kept = np.minimum(rank[place], LEVELS)
    return (kept[:, None] == np.arange(min(len(order), LEVELS + 1))).astype(float)


def _scaled(block: Floats, weights: Floats) -> Floats:
    """Return columns moved and scaled as one to a total variance of 1; as they are where nothing varies.

    The trees of scikit-learn take a node for pure below an absolute 1e-16, whatever the unit.
    """
    there = np.isfinite(block).all(axis=1)
    size = np.abs(block[there]).max(initial=0.0)
    if size == 0:
        return block
    small = block / size  # squares of 1e200 overflow
    mean, variance = moments(small[there], weights[there])
    return (small - mean) / np.sqrt(variance.sum()) if variance.sum() > 0 else block


def moments(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return weighted means and variances of columns (n, k); of equal numbers exactly 0."""
    if (values == values[:1]).all():  # a mean of equal numbers need not equal them
        return values[0], np.zeros(values.shape[1])
    mean = weights @ values / weights.sum()
    return mean, weights @ (values - mean) ** 2 / weights.sum()
