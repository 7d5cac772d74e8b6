"""Dependence between features: how well the others predict each feature in a random forest (entropy_importance 5.1)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._arguments import check_int_or_none
from skedasis._progress import Progress, map_in_order
from skedasis._types import Bools, Floats, Ints
from skedasis.data.categories import ordered_levels
from skedasis.data.dataset import Dataset
from skedasis.data.factorize import argsort_values, coded_objects, dense_codes
from skedasis.data.features import Feature

# --- encoding of columns for random forests -------------------------------------------------------


LEVELS = 20
"""Number of levels of a nominal feature, those of most weight, that are separate targets; the others are one target."""


@dataclass(frozen=True, eq=False)
class Coded:
    """The rows of a data set, or a sample of them, encoded for random forests."""

    features: tuple[Feature, ...]
    places: Floats
    members: Bools
    targets: tuple[Floats, ...]
    label: Floats
    weights: Floats
    total: int


def coded(dataset: Dataset, features: Sequence[Feature], rows: int | None, seed: int) -> Coded:
    """Encode the rows of a data set for random forests."""
    # Independent of the order of the rows.
    sample = dataset.order[_sample(len(dataset), rows, seed)]
    table_rows = dataset.table_rows(sample)
    columns = [_column(dataset, f, table_rows) for f in dataset.features]
    members = np.zeros((len(features), len(columns)), dtype=bool)
    for k, feature in enumerate(features):
        members[k, list(feature.columns)] = True
    weights = np.ones(len(sample)) if dataset.weights is None else dataset.weights[sample]
    targets = tuple(_target([columns[j] for j in f.columns], weights) for f in features)
    inputs = np.stack([c.codes for c in columns], axis=1).astype(float)
    # So far below all codes that the midpoint of a split separates missing values only.
    inputs[inputs < 0] = -len(sample)
    codes, values = coded_objects(np.asarray(dataset.y)[sample].tolist(), "y")
    label = _ranks(codes, values).astype(float)
    return Coded(tuple(features), inputs, members, targets, label, weights, len(dataset))


def _sample(n: int, rows: int | None, seed: int) -> Ints:
    """Return the sorted indices of a sample of the rows, or of all rows."""
    if rows is None or rows >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, rows, replace=False))


@dataclass(frozen=True, eq=False)
class _Column:
    """One column: its codes as an input, and its values as a target."""

    codes: Ints
    values: Floats | None
    binary: bool


def _column(dataset: Dataset, feature: Feature, rows: Ints) -> _Column:
    """Read one column."""
    j = feature.position
    x = None
    if not feature.categorical:
        try:
            x = dataset.table.column(j, rows)
        except (ValueError, TypeError):  # declared as numeric, but not convertible to numbers
            x = None
    if x is not None:
        codes, _ = dense_codes(x, ~np.isnan(x))
        return _Column(codes, np.where(np.isfinite(x), x, np.nan), bool(np.isin(x, (0, 1)).all()))
    codes, values = dataset.table.coded(j, rows)
    ordered = ordered_levels(feature, codes, values)
    binary = set(values) <= {0, 1} and not (codes < 0).any()
    if feature.kind == "nominal" and not binary:
        return _Column(ordered.codes, None, binary=False)
    return _Column(ordered.codes, np.where(ordered.codes < 0, np.nan, ordered.codes), binary)


def _ranks(codes: Ints, values: list[Any]) -> Ints:
    """Return the rank of each row's value among the distinct values, -1 for missing values."""
    rank = np.full(len(values) + 1, -1)
    rank[argsort_values(values)] = np.arange(len(values))
    return rank[codes]


def _target(columns: Sequence[_Column], weights: Floats) -> Floats:
    """Return the target of a feature, (n, k): one column per number or level."""
    blocks = [
        _indicators(c.codes, weights) if c.values is None else c.values[:, None] for c in columns
    ]
    if len(columns) > 1 and all(c.binary for c in columns):
        return np.concatenate(blocks, axis=1)
    return np.concatenate([_scaled(b, weights) for b in blocks], axis=1)


def _indicators(codes: Ints, weights: Floats) -> Floats:
    """Return indicators of the levels, (n, levels); missing values are a level, and rare levels are merged."""
    _, code = np.unique(codes, return_inverse=True)
    weight = np.bincount(code, weights)
    order = np.argsort(-weight, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    merged = np.minimum(rank[code], LEVELS)
    return (merged[:, None] == np.arange(min(len(order), LEVELS + 1))).astype(float)


def _scaled(block: Floats, weights: Floats) -> Floats:
    """Return columns centred and scaled by one factor to a total variance of 1; unchanged if they are constant."""
    observed = np.isfinite(block).all(axis=1)
    size = np.abs(block[observed]).max(initial=0.0)
    if size == 0:
        return block
    small = block / size  # squares of values like 1e200 overflow
    mean, variance = moments(small[observed], weights[observed])
    return (small - mean) / np.sqrt(variance.sum()) if variance.sum() > 0 else block


def moments(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return weighted means and variances of columns (n, k); the variance of equal numbers is exactly 0."""
    if (
        values == values[:1]
    ).all():  # the computed mean of equal numbers may differ from them by rounding
        return values[0], np.zeros(values.shape[1])
    mean = weights @ values / weights.sum()
    return mean, weights @ (values - mean) ** 2 / weights.sum()


# --- out-of-bag R² and partners -------------------------------------------------------------------


TREES = 100
"""Number of trees, as in the paper (App. B.5); its forests use scikit-learn's defaults otherwise, too."""


LEAST_ROWS = 10
"""Minimum rows with a value for a forest."""


PARTNERS, SHARE, MOST = 3, 0.1, 0.5
"""Maximum number of partners; their minimum fraction of a forest's impurity decrease; and the fraction from which one
feature explains most of a forest."""


BEYOND = 0.05
"""Minimum excess of that fraction over the one expected for a feature that is noise for the forest."""


LEAST_R2 = 0.1
"""Minimum R² of a forest whose features are named as partners; below it they would be random."""


@dataclass(frozen=True, eq=False)
class Dependence:
    """Dependence between features, measured by random forests."""

    others: Floats
    with_target: Floats
    partners: tuple[tuple[str, ...], ...]
    predicts: tuple[tuple[str, float], ...]
    rows: int = 0
    notes: tuple[str, ...] = ()


def nothing(features: int, *notes: str) -> Dependence:
    """Return the result without forests: every R² is NaN."""
    unknown = np.full((2, features), np.nan)
    return Dependence(
        unknown[0], unknown[1], ((),) * features, (("", float("nan")),) * features, 0, notes
    )


def dependence(
    data: Coded, *, seed: int = 0, n_jobs: int = 1, progress: bool | None = None
) -> Dependence:
    """Measure by random forests how well the other features predict each feature, without and with the label y."""
    d = len(data.features)
    try:
        importlib.import_module("sklearn.tree")
    except ImportError:
        return nothing(d, "R² needs scikit-learn: pip install 'skedasis[sklearn]'.")
    r2, importances, excess = np.full((2, d), np.nan), np.zeros((d, d)), np.zeros((d, d))
    split_weight = np.log2([len(np.unique(column)) for column in data.places.T])
    with Progress(2 * d, "features predicted by the others", progress) as bar:
        for k in range(d):
            r2[0, k], importances[k] = _fit_feature(data, k, seed, n_jobs, label=False)
            excess[k] = importances[k] - _noise_importance(data.members, split_weight, k, r2[0, k])
            bar.advance()
            r2[1, k], _ = _fit_feature(data, k, seed, n_jobs, label=True)
            bar.advance()
    names = tuple(f.name for f in data.features)
    importances[excess < BEYOND] = 0.0  # forests split by noise features, too
    links = [_links(names, r2[0], importances, k) for k in range(d)]
    partners, predicts = tuple(p for p, _ in links), tuple(q for _, q in links)
    return Dependence(r2[0], r2[1], partners, predicts, len(data.label), _notes(data))


def _notes(data: Coded) -> tuple[str, ...]:
    n = len(data.label)
    if n == data.total:
        return ()
    return (f"R² is computed on a random sample of {n:,} of {data.total:,} rows.",)


def _fit_feature(
    data: Coded, k: int, seed: int, n_jobs: int, *, label: bool
) -> tuple[float, Floats]:
    """Return the out-of-bag R² of feature k, NaN if it cannot be predicted, and the importances of the features."""
    target, others = data.targets[k], ~data.members[k]
    inputs = data.places[:, others]
    if label:
        inputs = np.column_stack([inputs, data.label])
    observed = np.isfinite(target).all(axis=1)
    importances = np.zeros(len(data.features))
    y, w = target[observed], data.weights[observed]
    if inputs.shape[1] == 0 or len(y) < LEAST_ROWS or (y == y[0]).all():
        return float("nan"), importances
    predicted, by_column = out_of_bag(inputs[observed], y, w, seed, n_jobs)
    out = np.isfinite(predicted[:, 0])
    _, variance = moments(y[out], w[out])
    if not variance.sum() > 0:
        return float("nan"), importances
    residual = w[out] @ (y[out] - predicted[out]) ** 2 / w[out].sum()
    feature, column = np.nonzero(_disjoint(data.members, k)[:, others])
    np.add.at(importances, feature, by_column[column])
    return float(1 - residual.sum() / variance.sum()), importances


def _disjoint(members: Bools, k: int) -> Bools:
    """Return the members of the features that share no column with feature k; of the others none."""
    shares: Bools = np.any(members[:, members[k]], axis=1)
    return members & ~shares[:, None]


def _noise_importance(members: Bools, split_weight: Floats, k: int, r2: float) -> Floats:
    """Return the expected importances in a forest of feature k if all features were noise, shape (features,)."""
    split_weight = np.where(members[k], 0.0, split_weight)
    feature, column = np.nonzero(_disjoint(members, k))
    of_feature = np.bincount(feature, split_weight[column], len(members))
    fraction = of_feature / max(split_weight.sum(), 1e-300)
    return fraction * (1 - np.clip(np.nan_to_num(r2), 0.0, 1.0))


def out_of_bag(
    X: Floats, y: Floats, weights: Floats, seed: int, n_jobs: int
) -> tuple[Floats, Floats]:
    """Fit a random forest, and return its out-of-bag predictions and its impurity importances."""
    from sklearn.tree import DecisionTreeRegressor
    from sklearn.utils import check_random_state

    n = len(X)
    equal_weights = bool((weights == weights[0]).all())
    probability = weights / weights.sum()
    # The types that trees use, so that check_input=False is safe; codes are exact in float32.
    inputs, y = np.ascontiguousarray(X, np.float32), np.ascontiguousarray(y, float)

    def fit_tree(tree_seed: int) -> tuple[Floats, Any, Any]:
        rng = check_random_state(tree_seed)
        bag = rng.randint(0, n, n) if equal_weights else rng.choice(n, n, p=probability)
        counts = np.bincount(bag, minlength=n)
        tree = DecisionTreeRegressor(random_state=tree_seed)
        tree.fit(inputs, y, sample_weight=counts.astype(float), check_input=False)
        out = np.flatnonzero(counts == 0)
        if len(out) == 0:
            return tree.feature_importances_, out, np.zeros((0, y.shape[1]))
        predicted = tree.predict(inputs[out], check_input=False).reshape(len(out), -1)
        return tree.feature_importances_, out, predicted

    seeds = check_random_state(int(seed) % 2**32).randint(np.iinfo(np.int32).max, size=TREES)
    total, count, importances = np.zeros(y.shape), np.zeros(n), np.zeros(X.shape[1])
    with closing(map_in_order(fit_tree, seeds.tolist(), n_jobs)) as trees:
        for of_tree, out, predicted in trees:
            total[out] += predicted
            count[out] += 1
            importances += of_tree
    never_out = np.where(count == 0, np.nan, 1.0)
    mean = total / np.maximum(count, 1)[:, None] * never_out[:, None]
    return mean, importances / max(importances.sum(), 1e-300)


def _links(
    names: tuple[str, ...], r2: Floats, importances: Floats, k: int
) -> tuple[tuple[str, ...], tuple[str, float]]:
    """Return the partners of feature k, and the feature that it predicts best, with the R²."""
    # In forests with a low R² importances are random.
    known = np.where(r2 >= LEAST_R2, np.nan_to_num(r2), 0.0)
    importance = np.maximum(
        np.where(known[k] > 0, importances[k], 0), np.where(known > 0, importances[:, k], 0)
    )
    strength = np.maximum(known[k] * importances[k], known * importances[:, k])
    order = np.argsort(-strength, kind="stable")[:PARTNERS]
    partners = tuple(names[j] for j in order if importance[j] >= SHARE)
    predicted = np.where(importances[:, k] >= MOST, known, 0.0)
    best = int(predicted.argmax())
    if predicted[best] > 0:
        return partners, (names[best], float(predicted[best]))
    return partners, ("", float("nan"))


def check_rows(rows: object) -> None:
    """Raise if `rows` is no valid number of rows."""
    check_int_or_none(
        "diagnose(dependence_rows)",
        rows,
        LEAST_ROWS,
        "Pass for example 2000",
        f"an integer of at least {LEAST_ROWS}, or None for all rows",
    )
