"""How well each feature is predicted by the others, by random forests (entropy_importance, sec. 5.1).

Trees ask for the order of values only, so what they are given of a column are places: of numbers their rank, of
categories their place among the levels, and a place far below where there is no value. So neither the scale of a column
nor its type matters.

A random forest learns the feature, and its out-of-bag rows say how well.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.categories import in_order
from skedasis.data.dataset import Source
from skedasis.data.factorize import ascending, coded_objects, dense
from skedasis.data.features import Feature
from skedasis.engine import run
from skedasis.errors import DataError, explained

# ------------------------------------------------------------------------------------------
# Columns of any kind as random forests take them: what they split by, and what they learn.


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


# ------------------------------------------------------------------------------------------
# How well each feature is predicted by the others, and by the others and the label (entropy_importance, sec. 5.1).


TREES = 100
"""As in the paper (App. B.5), whose forests have scikit-learn's other defaults too."""


LEAST_ROWS = 10
"""With fewer rows that have a value a forest says nothing."""


PARTNERS, SHARE, MOST = 3, 0.1, 0.5
"""So many partners are named at most: those with such a share in what a forest gained by its splits; and most of it."""


BEYOND = 0.05
"""Their share is so much greater than that of a feature would be that is noise to the forest."""


LEAST_R2 = 0.1
"""Below it there is little to share, and partners would be named by chance."""


@dataclass(frozen=True, eq=False)
class Dependence:
    """How features depend on one another.

    Parameters
    ----------
    others : ndarray of float, shape (features,)
        Out-of-bag R² of each feature from the others; at most 1, and below 0 where the forest does worse than a mean.
        NaN where there is nothing to predict (a constant feature) or nothing to predict it from.
    with_target : ndarray of float, shape (features,)
        The same from the others and the label.
    partners : tuple of tuple of str
        For each feature those that it shares most with: that its forest learns from, or whose forests learn from it.
        (A square is predicted by what it is the square of, and does not predict it.)
    predicts : tuple of (str, float)
        For each feature the one whose forest learns most from it, with its R²; ("", NaN) where there is none.
    rows : int
        How many rows the forests saw; 0 where there were none.
    notes : tuple of str
        What a reader has to know of these numbers.
    """

    others: Floats
    with_target: Floats
    partners: tuple[tuple[str, ...], ...]
    predicts: tuple[tuple[str, float], ...]
    rows: int = 0
    notes: tuple[str, ...] = ()


def nothing(features: int, *notes: str) -> Dependence:
    """Return what is known of so many features where no forest was grown."""
    unknown = np.full((2, features), np.nan)
    return Dependence(
        unknown[0], unknown[1], ((),) * features, (("", float("nan")),) * features, 0, notes
    )


def dependence(
    data: Coded, *, seed: int = 0, threads: int = 1, progress: bool | None = None
) -> Dependence:
    """Measure by random forests how well each feature is predicted by the others, without and with the label.

    Parameters
    ----------
    data : Coded
    seed : int
        Of each forest.
    threads : int
        Trees that are grown at a time.
    progress : bool, optional
        As in `skedasis.explain`.

    Returns
    -------
    Dependence

    Notes
    -----
    No model rows. Two forests of 100 trees for each feature: with 5,000 rows and ten features about 3 s each.
    Without scikit-learn all R² are NaN, and a note says so.
    """
    d = len(data.features)
    try:
        importlib.import_module("sklearn.tree")
    except ImportError:
        return nothing(d, "R² needs scikit-learn: pip install 'skedasis[sklearn]'.")
    r2, shares, beyond = np.full((2, d), np.nan), np.zeros((d, d)), np.zeros((d, d))
    often = np.log2([len(np.unique(column)) for column in data.places.T])
    with run.Progress(2 * d, "features predicted by the others", progress) as bar:
        for k in range(d):
            r2[0, k], shares[k] = _learnt(data, k, seed, threads, label=False)
            beyond[k] = shares[k] - _by_chance(data.owner, often, k, r2[0, k])
            bar.advance()
            r2[1, k], _ = _learnt(data, k, seed, threads, label=True)
            bar.advance()
    names = tuple(f.name for f in data.features)
    shares[beyond < BEYOND] = 0.0  # of one feature by chance, and of many: noise is split by, too
    found = [_links(names, r2[0], shares, k) for k in range(d)]
    partners, predicts = tuple(p for p, _ in found), tuple(q for _, q in found)
    return Dependence(r2[0], r2[1], partners, predicts, len(data.label), _notes(data))


def _notes(data: Coded) -> tuple[str, ...]:
    n = len(data.label)
    if n == data.total:
        return ()
    return (f"R² rests on a seeded sample of {n:,} of {data.total:,} rows.",)


def _learnt(data: Coded, k: int, seed: int, threads: int, *, label: bool) -> tuple[float, Floats]:
    """Return the out-of-bag R² of feature k, and each feature's share in what the forest gained; NaN where none."""
    target, outside = data.targets[k], data.owner != k
    inputs = data.places[:, outside]
    if label:
        inputs = np.column_stack([inputs, data.label])
    there = np.isfinite(target).all(axis=1)
    shares = np.zeros(len(data.features))
    known, w = target[there], data.weights[there]
    if inputs.shape[1] == 0 or len(known) < LEAST_ROWS or (known == known[0]).all():
        return float("nan"), shares
    predicted, gained = out_of_bag(inputs[there], known, w, seed, threads)
    out = np.isfinite(predicted[:, 0])
    _, variance = moments(known[out], w[out])
    if not variance.sum() > 0:
        return float("nan"), shares
    residual = w[out] @ (known[out] - predicted[out]) ** 2 / w[out].sum()
    np.add.at(shares, data.owner[outside], gained[: int(outside.sum())])
    return float(1 - residual.sum() / variance.sum()), shares


def _by_chance(owner: Ints, often: Floats, k: int, r2: float) -> Floats:
    """Return what each feature's share would be in a forest of feature k if it were noise to it, shape (features,).

    Trees that are grown to the end split the variance that nothing explains, too: by any column, and by one with many
    values more often.
    """
    often = np.where(owner == k, 0.0, often)
    share = np.bincount(owner, often) / max(often.sum(), 1e-300)
    return share * (1 - np.clip(np.nan_to_num(r2), 0.0, 1.0))


def out_of_bag(
    X: Floats, y: Floats, weights: Floats, seed: int, threads: int
) -> tuple[Floats, Floats]:
    """Grow a random forest, and return what it predicts of rows that are out of the bag.

    Parameters
    ----------
    X : ndarray of float, shape (n, d)
    y : ndarray of float, shape (n, k)
    weights : ndarray of float, shape (n,)
    seed, threads : int

    Returns
    -------
    predicted : ndarray of float, shape (n, k)
        Means over the trees whose bag does not hold the row.
    gained : ndarray of float, shape (d,)
        The columns' shares in what splits gained.

    Notes
    -----
    Without weights, tree by tree the same as scikit-learn's `RandomForestRegressor`. With them bags are filled by
    weight, as samples of the rows that the weights stand for. (Its releases differ in that, and predict 0 for a heavy
    row that is in every bag.)
    """
    from sklearn.tree import DecisionTreeRegressor
    from sklearn.utils import check_random_state

    n = len(X)
    even = bool((weights == weights[0]).all())
    share = weights / weights.sum()
    # What trees take, so that they need not look: whole numbers stay what they are.
    places, y = np.ascontiguousarray(X, np.float32), np.ascontiguousarray(y, float)

    def grown(number: int) -> tuple[Floats, Any, Any]:
        draw = check_random_state(number)
        drawn = draw.randint(0, n, n) if even else draw.choice(n, n, p=share)
        often = np.bincount(drawn, minlength=n)
        tree = DecisionTreeRegressor(random_state=number)
        tree.fit(places, y, sample_weight=often.astype(float), check_input=False)
        out = np.flatnonzero(often == 0)
        if len(out) == 0:
            return tree.feature_importances_, out, np.zeros((0, y.shape[1]))
        predicted = tree.predict(places[out], check_input=False).reshape(len(out), -1)
        return tree.feature_importances_, out, predicted

    numbers = check_random_state(int(seed) % 2**32).randint(np.iinfo(np.int32).max, size=TREES)
    total, count, gained = np.zeros(y.shape), np.zeros(n), np.zeros(X.shape[1])
    for gain, out, predicted in run.in_order(grown, numbers.tolist(), threads):
        total[out] += predicted
        count[out] += 1
        gained += gain
    never = np.where(count == 0, np.nan, 1.0)
    return total / np.maximum(count, 1)[:, None] * never[:, None], gained / max(
        gained.sum(), 1e-300
    )


def _links(
    names: tuple[str, ...], r2: Floats, shares: Floats, k: int
) -> tuple[tuple[str, ...], tuple[str, float]]:
    """Return the partners of feature k, and what it predicts.

    Parameters
    ----------
    names : tuple of str
    r2 : ndarray of float, shape (d,)
    shares : ndarray of float, shape (d, d)
        What the forest of each row's feature gained by each column's.
    k : int
    """
    # Of forests that learn nothing the shares are chance.
    known = np.where(r2 >= LEAST_R2, np.nan_to_num(r2), 0.0)
    share = np.maximum(np.where(known[k] > 0, shares[k], 0), np.where(known > 0, shares[:, k], 0))
    strength = np.maximum(known[k] * shares[k], known * shares[:, k])
    order = np.argsort(-strength, kind="stable")[:PARTNERS]
    partners = tuple(names[j] for j in order if share[j] >= SHARE)
    mine = np.where(shares[:, k] >= MOST, known, 0.0)
    best = int(mine.argmax())
    return partners, (names[best], float(mine[best])) if mine[best] > 0 else ("", float("nan"))


def check_rows(rows: Any) -> None:
    """Refuse a number of rows that is none.

    Raises
    ------
    DataError
    """
    whole = isinstance(rows, (int, np.integer)) and not isinstance(rows, bool)
    if rows is not None and (not whole or rows < LEAST_ROWS):
        raise DataError(
            explained(
                "diagnose(dependence_rows)",
                repr(rows),
                f"a whole number from {LEAST_ROWS}, or None for all rows",
                "Use 2000",
            )
        )
