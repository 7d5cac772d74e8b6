"""How well each feature is predicted by the others, and by the others and the label (entropy_importance, sec. 5.1).

A random forest learns the feature, and its out-of-bag rows say how well.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis import execute
from skedasis._types import Floats, Ints
from skedasis.analysis.columns import Coded, moments
from skedasis.errors import DataError, explained

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
    with execute.Progress(2 * d, "features predicted by the others", progress) as bar:
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
    for gain, out, predicted in execute.in_order(grown, numbers.tolist(), threads):
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
