"""The heterogeneity score compared with true values that do not depend on its computation.

Coverage of nominal 95 % intervals over 500 data sets, in per cent, at N = 500 / 2,000 / 10,000, and the percentage of
data sets with fewer than 50 effective pairs (`few_pairs`), for products of two independent features.
`test_intervals_cover` asserts 92 to 97 from N = 2,000 on for the first four:

================  ====================  ====================
features          coverage              few effective pairs
================  ====================  ====================
uniform           90.6 / 94.0 / 94.4    77 / 0 / 0
normal            92.8 / 93.0 / 92.8    98 / 0.4 / 0
signs             94.6 / 94.8 / 92.6    3 / 0 / 0
indicators        95.4 / 94.2 / 95.0    2 / 0 / 0
exponential       85.8 / 90.2 / 92.2    100 / 65 / 0.4
t5                88.6 / 90.8 / 95.4    100 / 31 / 2
lognormal x sign  79.0 / 88.6 / 89.4    100 / 93 / 14
================  ====================  ====================

With heavy tails, few pairs dominate the mean of c², its standard error is uncertain, and intervals are too short.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.stats.heterogeneity_score import (
    HeterogeneityScore,
    ScoreOrder,
    mid_ranks,
    score_rows,
    swap_score,
    variance_inflation,
)
from tests.long.figures import long_case

SEEDS = range(2)
N = 10_000
METHODS = {
    "ale": sd.ALE(bins=5),
    "dale": sd.DALE(bins=5),
    "rhale": sd.RHALE(bins=5),
    "uale": sd.UALE(bins=5),
    "pdp": sd.PDP(grid=4),
    "ice": sd.ICE(grid=4),
}
EPS = np.finfo(float).eps


def _within_reach(vif):
    """Return v of docs/explanation/heterogeneity.md, dependent features."""
    return 2 / (1 + np.sqrt(12 * vif - 11))


def product(X):
    return X[:, 0] * X[:, 1]


def bent(X):
    return np.sin(2 * X[:, 0]) * (1 + X[:, 1] ** 2) + X[:, 2]


def explain(model, X, feature=0, **options):
    """Return the effect of one feature."""
    options = {"method": sd.ALE(bins=1), "progress": False, **options}
    return sd.explain(model, X, feature, **options)


def score(model, X, feature=0, **options):
    return explain(model, X, feature, **options).heterogeneity_score


class Remembers:
    """A function that records its inputs."""

    def __init__(self, model):
        self.model, self.calls = model, []

    def __call__(self, X):
        self.calls.append(np.array(X))
        return self.model(X)

    def swapped(self, X):
        """Return the last call with all rows: that of the scores, which only those of spreads follow."""
        return next(rows for rows in reversed(self.calls) if rows.shape == X.shape)


def pair_mean(model, X, columns=(0,), w=None):
    """Return the mean of c² over all ordered pairs of distinct rows, weighted by both, by a double loop."""
    n, columns = len(X), list(columns)
    w = np.ones(n) if w is None else w
    total = size = 0.0
    for i, j in itertools.permutations(range(n), 2):
        a, b = X[[i]].copy(), X[[j]].copy()
        own = model(a)[0], model(b)[0]
        a[0, columns], b[0, columns] = X[j, columns], X[i, columns]
        c = (model(a)[0] - own[0] + model(b)[0] - own[1]) / 2
        total, size = total + w[i] * w[j] * c**2, size + w[i] * w[j]
    return total / size


# --------------------------------------------------------------------------------- known values


@pytest.mark.parametrize("seed", SEEDS)
def test_products_thresholds_and_oscillations_have_their_interaction_spread(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(N, 3))
    z = rng.choice([-1.0, 1.0], N)
    assert score(product, X) == pytest.approx(1 / 3, abs=0.02)
    assert score(lambda X: np.sin(20 * X[:, 0]) * X[:, 1], np.c_[X[:, 0], z]) == pytest.approx(
        0.70, abs=0.03
    )
    both = score(lambda X: 1.0 * (X[:, 0] > 0) * (X[:, 1] > 0), X)
    assert both == pytest.approx(0.25, abs=0.015)
    # With three features, the effect of x0 depends on the product of the other two.
    assert score(lambda X: X.prod(axis=1), X) == pytest.approx(27**-0.5, rel=0.05)


@pytest.mark.parametrize(
    ("correlation", "low", "high"), [(0.5, 0.82, 0.94), (0.8, 0.54, 0.70), (0.95, 0.27, 0.37)]
)
def test_correlated_products_are_compared_within_reach(correlation, low, high):
    """The score is about sqrt(1 - r²), the standard deviation of x1 given x0 (random pairs would give 1.1 and more)."""
    x, e = np.random.default_rng(0).normal(size=(2, N))
    X = np.c_[x, correlation * x + np.sqrt(1 - correlation**2) * e]
    assert low < score(product, X) < high
    assert low < score(product, X, 1) < high


@pytest.mark.parametrize("seed", SEEDS)
def test_an_additive_quantity_and_an_unused_feature_have_none(seed):
    X = np.random.default_rng(seed).normal(size=(N, 4))
    X[:, 1] += X[:, 0]

    def model(X):
        return np.exp(X[:, 0]) + np.sin(9 * X[:, 1]) + 1e3 * (X[:, 2] > 0.3)

    es = sd.explain(model, X, method=sd.ALE(bins=2), progress=False)
    spread = model(X).std()
    assert max(e.heterogeneity_score for e in es.values()) <= 1e-12 * spread
    assert score(product, X, 3) == 0


# -------------------------------------------------------------------------- by the definition


def _partners(model, X, **options):
    """Return the donor of feature 0 for each row, taken from a recorded call of the model, and the result."""
    seen = Remembers(model)
    e = explain(seen, X, heterogeneity_rows=None, **options)
    swapped = seen.swapped(X)
    np.testing.assert_array_equal(swapped[:, 1:], X[:, 1:])
    order = np.argsort(X[:, 0])
    return order[np.searchsorted(X[order, 0], swapped[:, 0])], e


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_the_score_is_that_of_disjoint_pairs_that_swap(correlation):
    X = np.random.default_rng(1).normal(size=(400, 3))
    X[:, 1] += correlation * 3 * X[:, 0]
    donor, e = _partners(bent, X)
    np.testing.assert_array_equal(donor[donor], np.arange(400))  # donors are mutual
    assert (donor != np.arange(400)).all()  # all rows have another donor: their number is even
    squares = []
    for i, j in enumerate(donor):
        if i > j:
            continue
        a, b = X[[i]].copy(), X[[j]].copy()
        a[0, 0], b[0, 0] = X[j, 0], X[i, 0]
        rows = np.concatenate([a, b])
        c = (bent(rows) - bent(X[[i, j]])).sum() / 2
        squares.append(c**2)
    m = len(squares)
    assert m == 200 == e.swap_score.pairs
    want = np.sqrt(np.mean(squares))
    assert e.heterogeneity_score == pytest.approx(want, rel=1e-12)
    error = np.std(squares, ddof=1) / np.sqrt(m) / (2 * want)
    assert e.heterogeneity_score_error == pytest.approx(error, rel=1e-12)
    effective = np.sum(squares) ** 2 / np.sum(np.square(squares))
    assert e.swap_score.effective_pairs == pytest.approx(effective, rel=1e-12)
    assert e.swap_score.quantity_std == pytest.approx(bent(X).std(), rel=1e-12)
    reach = np.exp(1.959964 * error / want)
    np.testing.assert_allclose(
        e.interval(of="heterogeneity_score"), (want / reach, want * reach), rtol=1e-6
    )


def test_a_pair_counts_by_the_product_of_its_weights():
    X = np.random.default_rng(41).normal(size=(400, 3))
    w = np.random.default_rng(42).exponential(size=400)
    donor, e = _partners(bent, X, sample_weight=w)
    first = np.flatnonzero(np.arange(400) < donor)
    second = donor[first]
    a, b = X[first].copy(), X[second].copy()
    a[:, 0], b[:, 0] = X[second, 0], X[first, 0]
    c = (bent(a) + bent(b) - bent(X[first]) - bent(X[second])) / 2
    share = w[first] * w[second] / (w[first] @ w[second])
    square = share @ c**2
    assert e.heterogeneity_score == pytest.approx(np.sqrt(square), rel=1e-12)
    error = np.sqrt(share**2 @ (c**2 - square) ** 2 / (1 - share @ share))
    assert e.heterogeneity_score_error == pytest.approx(error / (2 * np.sqrt(square)), rel=1e-12)
    effective = square**2 / (share**2 @ c**4)
    assert e.swap_score.effective_pairs == pytest.approx(effective, rel=1e-12)


def test_dependent_features_swap_with_rows_near_by():
    X = np.random.default_rng(2).normal(size=(1000, 3))
    apart = []
    for strength in (0, 1, 3, 10):
        Z = X.copy()
        Z[:, 1] += strength * Z[:, 0]
        donor, _ = _partners(bent, Z)
        apart.append(np.mean((Z[donor, 0] - Z[:, 0]) ** 2) / 2)
    # Half the mean square distance of random pairs is the variance; for other pairs v, with inflation 1 + strength².
    want = [_within_reach(1 + strength**2) for strength in (0, 1, 3, 10)]
    assert want[0] == 1
    np.testing.assert_allclose(apart, want, rtol=0.15)


SMALL = 12


def _small(kind):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(SMALL, 3))
    X[:, 0] = rng.integers(0, 2 if kind == "two values" else 4, SMALL)
    X[0, 0], X[1, 0] = 0, 1
    schema = {0: "nominal"} if kind == "nominal" else None
    return X, schema


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "weighted"), [("two values", True), ("nominal", False)])
def test_over_seeds_the_mean_is_that_over_all_ordered_pairs(kind, weighted):
    X, schema = _small(kind)
    w = np.random.default_rng(4).uniform(0.9, 1.1, SMALL) if weighted else None
    options = {"schema": schema, "sample_weight": w}
    found = [score(bent, X, random_state=s, **options) ** 2 for s in range(150)]
    error = np.std(found) / np.sqrt(len(found))
    assert np.mean(found) == pytest.approx(pair_mean(bent, X, w=w), abs=4 * error)


@pytest.mark.slow
def test_groups_move_together():
    X = np.random.default_rng(6).normal(size=(SMALL, 4))
    level = np.arange(SMALL) % 3
    X[:, :3] = np.eye(3)[level]

    def model(X):
        return X[:, 3] * (X[:, 0] + 3 * X[:, 1] - X[:, 2] * X[:, 3])

    options = {"groups": {"g": [0, 1, 2]}}
    found = [score(model, X, "g", random_state=s, **options) ** 2 for s in range(150)]
    want = pair_mean(model, X, columns=(0, 1, 2))
    assert np.mean(found) == pytest.approx(want, abs=4 * np.std(found) / np.sqrt(150))


# ------------------------------------------------------------------------------------ coverage


def _of_arrays(model, X, seed):
    """Return the score of column 0 by the array functions alone."""
    rows = score_rows(np.arange(len(X)), None, None, seed)
    X = X[rows.rows]
    ranks = [mid_ranks(column) for column in X.T]
    two = ranks[0].distinct <= 2
    vif = 1.0 if two else float(variance_inflation(ranks, [0], rows)[0])
    ranked = None if two else ranks[0]
    i, j = ScoreOrder.of(X[:, 0], ranked, vif, rows.noise).pairs()
    swapped = X.copy()
    swapped[i, 0], swapped[j, 0] = X[j, 0], X[i, 0]
    own = model(X)
    change = model(swapped) - own
    return swap_score((change[i], change[j]), None, own, None, EPS, vif=vif)


def test_array_functions_are_what_explain_uses():
    X = np.random.default_rng(7).normal(size=(500, 2))
    score = explain(product, X, random_state=3).swap_score
    assert replace(score, off_support=None, beside=()) == _of_arrays(product, X, 3)


KINDS = {
    "uniform": (lambda rng, n: rng.uniform(-1, 1, (n, 2)), product, 1 / 3),
    "normal": (lambda rng, n: rng.normal(size=(n, 2)), product, 1.0),
    "signs": (lambda rng, n: rng.choice([-1.0, 1.0], (n, 2)), product, 1.0),
    "indicators": (
        lambda rng, n: rng.normal(size=(n, 2)),
        lambda X: 1.0 * (X[:, 0] > 0) * (X[:, 1] > 0),
        0.25,
    ),
}


@pytest.mark.parametrize(
    ("n", "draws"), [(2_000, 60), long_case(2_000, 500), long_case(10_000, 500)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover(kind, n, draws, measured):
    draw, model, truth = KINDS[kind]
    covered = 0
    for seed in range(draws):
        X = draw(np.random.default_rng([seed, n]), n)
        low, high = _of_arrays(model, X, seed).interval()
        covered += low <= truth <= high
    about = {"draws": draws, "rows": n, "seed": "[seed, n]"}
    measured("held", covered / draws, **about, low=0.92, high=0.97)


# ----------------------------------------------------------------------------------- invariance


def test_float32_models_of_additive_quantities_have_none():
    X = np.random.default_rng(10).normal(size=(3000, 3))

    def single(X):
        return (X[:, 0] + np.float32(100) * X[:, 1] + np.sin(X[:, 2])).astype(np.float32)

    es = sd.explain(single, X, method=sd.ALE(bins=4), progress=False)
    assert [e.heterogeneity_score for e in es.values()] == [0, 0, 0]
    near = score(lambda X: bent(X).astype(np.float32), X)
    assert near == pytest.approx(score(bent, X), rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_it_is_the_same_for_every_method(method):
    X = np.random.default_rng(11).normal(size=(300, 3))
    X[:, 2] = np.round(X[:, 2])
    want = sd.explain(bent, X, method=sd.DALE(bins=2), random_state=3, progress=False)
    got = sd.explain(bent, X, method=METHODS[method], random_state=3, progress=False)
    for name, e in want.items():
        assert got[name].swap_score == e.swap_score


def _frame(n=600, seed=13):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    return pd.DataFrame(
        {
            "a": np.where(rng.random(n) < 0.1, np.nan, a),
            "b": a + rng.normal(size=n),
            "c": rng.choice(["u", "v", "w", None], n),
            "d": rng.integers(0, 4, n),
            "e": rng.random(n) < 0.3,
        }
    )


def _of_frame(X):
    code = X["c"].map({"u": 1.0, "v": -1.0, "w": 0.5}).fillna(3.0).astype(float).to_numpy()
    a = X["a"].fillna(7.0).to_numpy(dtype=float)
    b, d, e = (X[k].to_numpy(dtype=float) for k in ("b", "d", "e"))
    return np.sin(a) * code + b * d * (1 + e)


def _scores(X, **options):
    options = {"method": sd.ALE(bins=3), "progress": False, "schema": {"d": "ordinal"}, **options}
    es = sd.explain(_of_frame, X, **options)
    return {name: e.swap_score for name, e in es.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("weighted", "rows"), [(False, None), (True, 250)])
def test_batches_threads_and_orders_change_no_bit(weighted, rows):
    X = _frame()
    w = np.random.default_rng(14).uniform(0.5, 2, len(X)) if weighted else np.ones(len(X))
    ids = np.array([f"row {i}" for i in range(len(X))])
    options = {"heterogeneity_rows": rows, "random_state": 5}
    want = _scores(X, sample_weight=w, row_id=ids, **options)
    assert all(s.value > 0.1 and s.exact == (rows is None) for s in want.values())
    assert want["a"].vif > 1.2
    assert want["c"].vif == want["e"].vif == 1
    for more in ({"memory": 20_000}, {"memory": 20_000, "n_jobs": 3}):
        assert _scores(X, sample_weight=w, row_id=ids, **options, **more) == want
    order = np.random.default_rng(15).permutation(len(X))
    shuffled = _scores(X.iloc[order], sample_weight=w[order], row_id=ids[order], **options)
    assert shuffled == want
    turned = _scores(X[["d", "c", "a", "e", "b"]], sample_weight=w, row_id=ids, **options)
    assert turned == want
    absent = pd.concat([X.iloc[:100], X])  # rows of weight zero are ignored
    ids_too = np.concatenate([[f"none {i}" for i in range(100)], ids])
    assert _scores(absent, sample_weight=np.r_[np.zeros(100), w], row_id=ids_too, **options) == want
    alone = sd.explain(_of_frame, X, "a", method="pdp", sample_weight=w, row_id=ids, **options)
    assert alone.swap_score.value == want["a"].value
    assert _scores(X, sample_weight=w, row_id=ids, heterogeneity_rows=rows, random_state=6) != want


# ------------------------------------------------------------------------------------- weights


def _two(n, seed):
    rng = np.random.default_rng(seed)
    return np.c_[rng.integers(0, 2, n), rng.normal(size=(n, 2))].astype(float)


@pytest.mark.slow
def test_frequency_weights_are_repetitions_of_rows():
    n = 30
    X, w = _two(n, 17), np.random.default_rng(18).integers(1, 5, n)
    weighted, repeated = (
        np.array([score(bent, rows, sample_weight=v, random_state=s) ** 2 for s in range(160)])
        for rows, v in ((X, w.astype(float)), (np.repeat(X, w, axis=0), None))
    )
    # Equal rows are also paired, with c = 0: a fraction (sum w² - W) / (W (W - 1)) of the pairs.
    W = w.sum()
    alike = (w @ w - W) / (W * (W - 1))
    assert alike < 1 / n
    error = np.hypot(weighted.std(), repeated.std()) / np.sqrt(160)
    assert repeated.mean() == pytest.approx((1 - alike) * weighted.mean(), abs=4 * error)
    # Equal weights change nothing at all.
    assert score(bent, X, sample_weight=np.full(n, 7.0)) == score(bent, X)


@pytest.mark.slow
def test_rows_drawn_by_weight_are_unbiased():
    n, limit = 300, 100
    X, w = _two(n, 19), np.random.default_rng(20).lognormal(size=n)
    sums, found = np.zeros(n), []
    for s in range(2000):
        rows = score_rows(np.arange(n), w, limit, s)
        assert len(rows) == limit
        assert not rows.exact
        sums[rows.rows] += rows.weights
    # Each row's weight is unbiased: so are totals over any set of rows.
    assert sums.sum() / 2000 == pytest.approx(w.sum(), rel=0.01)
    small = w < np.median(w)
    assert sums[small].sum() / 2000 == pytest.approx(w[small].sum(), rel=0.03)
    found = [
        score(bent, X, sample_weight=w, random_state=s, heterogeneity_rows=limit) ** 2
        for s in range(160)
    ]
    x, z = X[:, 0], 1 + X[:, 1] ** 2
    pairs = np.outer(w, w)
    np.fill_diagonal(pairs, 0)
    c = np.sin(2) * (x[:, None] != x[None, :]) * (z[:, None] - z[None, :]) / 2
    want = (pairs * c**2).sum() / pairs.sum()
    assert np.mean(found) == pytest.approx(want, abs=4 * np.std(found) / np.sqrt(160) + 0.03 * want)


@pytest.mark.slow
def test_samples_of_rows_are_unbiased():
    X = _two(300, 21)
    found = [score(bent, X, random_state=s, heterogeneity_rows=60) ** 2 for s in range(160)]
    x, z = X[:, 0], 1 + X[:, 1] ** 2
    c = np.sin(2) * (x[:, None] != x[None, :]) * (z[:, None] - z[None, :]) / 2
    want = (c**2).sum() / (300 * 299)
    assert np.mean(found) == pytest.approx(want, abs=4 * np.std(found) / np.sqrt(160))


# ------------------------------------------------------------------------------- kinds of data


def test_rows_without_the_feature_do_not_take_part():
    X = np.random.default_rng(22).normal(size=(500, 3))
    ids = np.arange(500)
    gone = np.random.default_rng(23).random(500) < 0.3
    X[gone, 0] = np.nan

    def model(X):
        return np.where(np.isnan(X[:, 0]), 50 * X[:, 1], X[:, 0] * X[:, 1])

    e = explain(model, X, row_id=ids)
    assert e.swap_score.pairs == (~gone).sum() // 2
    assert e.heterogeneity_score == pytest.approx(1, abs=0.2)
    # The same in a pass with other features, which use these rows.
    es = sd.explain(model, X, row_id=ids, method=sd.DALE(bins=1), progress=False)
    assert es["x0"].heterogeneity_score == e.heterogeneity_score


@pytest.mark.parametrize("method", ["ale", "ice"])
def test_models_that_take_no_missing_values_need_not(method):
    X = np.random.default_rng(24).normal(size=(300, 3))
    X[::7, 0] = np.nan

    def picky(X):
        if not np.isfinite(X).all():
            raise ValueError("no missing values, please")
        return product(X)

    e = explain(picky, X, method=METHODS[method])
    assert e.swap_score.pairs == (300 - 43) // 2
    assert e.heterogeneity_score > 0.5


def test_missing_is_a_level_of_a_nominal_feature():
    X = _frame(2000)
    found = _scores(X, features=["c", "d"])
    assert found["c"].pairs == 1000
    # sin(a) times an independent code of the level: the standard deviation of the codes times that of sin(a).
    code = X["c"].map({"u": 1.0, "v": -1.0, "w": 0.5}).fillna(3.0).astype(float)
    want = code.std() * np.sin(X["a"].fillna(7.0)).std()
    assert found["c"].value == pytest.approx(want, rel=0.1)


def test_few_values_and_orders_are_swapped_as_they_are():
    rng = np.random.default_rng(25)
    X = np.c_[rng.integers(0, 5, 4000), rng.normal(size=4000)].astype(float)

    def model(X):
        assert np.isin(X[:, 0], np.arange(5)).all()
        return product(X)

    want = X[:, 0].std() * X[:, 1].std()
    plain = explain(model, X).heterogeneity_score
    assert plain == pytest.approx(want, rel=0.1)
    assert explain(model, X, method="ale", schema={0: "ordinal"}).heterogeneity_score == plain
    nominal = explain(model, X, method="ale", schema={0: "nominal"}).heterogeneity_score
    assert nominal == pytest.approx(want, rel=0.1)


def _classes(n=400):
    from sklearn.linear_model import LogisticRegression

    X = np.random.default_rng(26).normal(size=(n, 3))
    y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2], [-0.5, 0.5])
    features = np.c_[X, X[:, 0] * X[:, 1]]
    fitted = LogisticRegression().fit(features, y)

    class Model:
        classes_ = fitted.classes_

        def predict_proba(self, X):
            X = np.asarray(X)
            return fitted.predict_proba(np.c_[X, X[:, 0] * X[:, 1]])

    return X, y, Model()


def test_each_model_has_the_score_that_it_has_alone():
    X = np.random.default_rng(27).normal(size=(300, 3))
    models = [product, bent]
    e = sd.explain(models, X, 0, method=sd.ALE(bins=3), refits=True)
    alone = [sd.explain(m, X, 0, method=sd.ALE(bins=3)) for m in models]
    assert [m.swap_score for m in e.models] == [a.swap_score for a in alone]
    assert e.heterogeneity_score == np.mean([a.heterogeneity_score for a in alone])
    assert 2 * 2 * 300 < e.provenance["score_rows"] <= 2 * (2 * 300 + 4 * 300)
    folds = [np.arange(0, 300, 2), np.arange(1, 300, 2)]
    held_out = sd.explain(models, X, 0, method=sd.ALE(bins=3), cv=folds)
    for one, model, rows in zip(held_out.models, models, folds, strict=True):
        only = sd.explain(model, X[rows], 0, method=sd.ALE(bins=3), row_id=rows)
        assert one.swap_score == only.swap_score


@pytest.mark.parametrize("kind", ["entropy", "nll", "loss"])
def test_every_quantity_has_one(kind):
    X, y, model = _classes()
    p = model.predict_proba

    def rows(R):
        own = np.maximum(p(R[:, :3]), EPS)  # as in `nll`
        if kind == "entropy":
            return -(own * np.log(own)).sum(axis=1)
        picked = own[np.arange(len(R)), R[:, 3].astype(int)]
        return -np.log(picked) if kind == "nll" else (1 - picked) ** 2

    if kind == "loss":

        def squared(y, own):
            return (1 - own[np.arange(len(y)), y.astype(int)]) ** 2

        q = sd.loss(model, squared, response="predict_proba")
    else:
        q = getattr(sd, kind)(model)
    labels = None if kind == "entropy" else y
    e = sd.explain(q, X, 0, y=labels, method=sd.ALE(bins=3))
    # The same function of the row, with its label in an additional column.
    beside = np.c_[X, y].astype(float)
    pairs = e.swap_score.pairs
    i, j = _pairs_of(X, 0)
    a, b = beside[i].copy(), beside[j].copy()
    a[:, 0], b[:, 0] = beside[j, 0], beside[i, 0]
    c = (rows(a) - rows(beside[i]) + rows(b) - rows(beside[j])) / 2
    assert len(i) == pairs == 200
    assert e.heterogeneity_score == pytest.approx(np.sqrt(np.mean(c**2)), rel=1e-9)


def _pairs_of(X, feature):
    """Return the pairs of rows that swap a feature, from a recorded call; they are the same for any quantity."""
    seen = Remembers(lambda X: X[:, feature] * X[:, 1 - feature])
    explain(seen, X, feature, method=sd.ALE(bins=3))
    order = np.argsort(X[:, feature])
    donor = order[np.searchsorted(X[order, feature], seen.swapped(X)[:, feature])]
    first = np.flatnonzero(np.arange(len(X)) < donor)
    return first, donor[first]


# --------------------------------------------------------------------------- variance inflation


def test_independent_columns_inflate_nothing():
    X = np.random.default_rng(28).normal(size=(60, 40))
    es = sd.explain(lambda X: X.sum(axis=1), X, method=sd.DALE(bins=1), progress=False)
    vif = [e.swap_score.vif for e in es.values()]
    assert 1 <= min(vif) <= max(vif) <= 1.3


@pytest.mark.parametrize("correlation", [0.5, 0.9, 0.99])
def test_variance_inflation_is_that_of_ranks(correlation):
    """Ranks of jointly normal features have correlation 6/pi asin(r/2); squares of ranks add a little."""
    x, e = np.random.default_rng(29).normal(size=(2, N))
    X = np.c_[x, correlation * x + np.sqrt(1 - correlation**2) * e]
    ranks = 6 / np.pi * np.arcsin(correlation / 2)
    assert explain(product, X).swap_score.vif == pytest.approx(1 / (1 - ranks**2), rel=0.06)


@pytest.mark.parametrize("columns", [3, 90])
@pytest.mark.parametrize("weighted", [False, True])
def test_variance_inflation_is_that_of_a_regression_for_each_column(columns, weighted):
    """Few columns, and more functions than rows; the weighted ridge regression as least squares with further rows."""
    n = 120
    rng = np.random.default_rng(columns)
    X = rng.normal(size=(n, columns))
    X[:, 1] = X[:, 0] ** 2 + 0.3 * X[:, 1]
    X[:, 2:] += 2 * X[:, :1]
    w = rng.uniform(0.2, 3, n) if weighted else np.ones(n)
    rows = score_rows(np.arange(n), w if weighted else None, None, 0)
    w = w[rows.rows] / w.mean()
    X = X[rows.rows]
    ranks = [mid_ranks(x, w if weighted else None) for x in X.T]

    def standard(x):
        x = x - np.average(x, weights=w)
        return x / np.sqrt(np.average(x**2, weights=w))

    first = [standard(r.values) for r in ranks]
    functions = np.array([first, [standard(z**2 - 1) for z in first]])  # (2, columns, n)
    penalty = 0.01 * 2 * columns
    expected = []
    for j in range(columns):
        others = np.delete(functions, j, axis=1).reshape(-1, n).T
        residual = total = 0.0
        for fit in (rows.half, ~rows.half):
            mean, own_mean = (
                np.average(v[fit], weights=w[fit], axis=0) for v in (others, first[j])
            )
            root = np.sqrt(w[fit])
            A = np.vstack(
                [root[:, None] * (others[fit] - mean), np.eye(others.shape[1]) * penalty**0.5]
            )
            b = np.append(root * (first[j][fit] - own_mean), np.zeros(others.shape[1]))
            found = np.linalg.lstsq(A, b)[0]
            target = first[j][~fit] - own_mean
            residual += w[~fit] @ (target - (others[~fit] - mean) @ found) ** 2
            total += w[~fit] @ target**2
        expected.append(max(total / residual, 1.0))
    assert max(expected) > 1.5
    found = variance_inflation(ranks, list(range(columns)), rows)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_copies_constants_and_bent_copies():
    x, y = np.random.default_rng(30).normal(size=(2, 1000))
    X = np.c_[x, y, np.full(1000, 3.0), x, y**2]
    es = sd.explain(product, X, method=sd.DALE(bins=1), progress=False)
    vif = {k: e.swap_score.vif for k, e in es.items()}
    assert vif["x0"] == vif["x3"] > 1000
    assert vif["x2"] == 1
    assert vif["x4"] > 10  # y² is almost a function of the squared ranks of y
    assert es["x2"].heterogeneity_score == 0
    assert es["x0"].provenance["vif"] == vif["x0"]
    # With a copy in the data, rows only swap nearly equal values, so the score of x0 is not meaningful.
    assert es["x0"].heterogeneity_score < 0.15
    assert score(product, X[:, :2]) == pytest.approx(1, abs=0.15)


def test_levels_tell_of_columns():
    rng = np.random.default_rng(31)
    c = rng.integers(0, 5, 2000)
    X = pd.DataFrame(
        {"x": c + 0.2 * rng.normal(size=2000), "c": c.astype(str), "u": rng.normal(size=2000)}
    )
    es = sd.explain(lambda X: X["x"] * X["u"], X, ["x", "u"], method=sd.DALE(bins=1))
    assert es["x"].swap_score.vif > 10
    assert es["u"].swap_score.vif < 1.1


# ------------------------------------------------------------------------------------ few rows


@pytest.mark.parametrize("n", [1, 2, 3])
def test_one_two_and_three_rows(n):
    X = np.random.default_rng(32).normal(size=(n, 2))
    e = explain(product, X, method=sd.PDP(grid=2))
    assert e.swap_score.pairs == n // 2
    assert e.swap_score.vif == 1
    if n == 1:
        assert e.heterogeneity_score == 0
        return
    # With one pair the score is that of the pair, and its error is undefined.
    want = score(product, X[:2]) if n == 2 else e.heterogeneity_score
    assert e.heterogeneity_score == want > 0
    assert np.isnan(e.heterogeneity_score_error)
    assert np.isnan(e.interval(of="heterogeneity_score")).all()
    found = e.heterogeneity_test()
    assert found.verdict == "unclear"
    assert np.isnan([found.p_value, found.lower]).all()
    assert "nan" not in found.text


def test_a_constant_model_and_a_constant_feature():
    X = np.random.default_rng(33).normal(size=(100, 2))
    X[:, 1] = 4.0
    es = sd.explain(lambda X: np.full(len(X), 7.0), X, method=sd.PDP(grid=3))
    for e in es.values():
        assert (e.heterogeneity_score, e.heterogeneity_score_error) == (0, 0)
        assert e.heterogeneity_test().verdict == "none"
        assert e.swap_score.quantity_std == 0
    fixed = explain(product, X, 1, method=sd.PDP(grid=3))
    assert fixed.heterogeneity_score == 0
    assert fixed.provenance["score_rows"] == 100  # the rows' own values; no row is changed


@pytest.mark.parametrize("unit", [1e-98, 1e-12, 1e12, 1e137])
def test_any_unit_of_the_quantity(unit):
    X = np.random.default_rng(34).normal(size=(200, 2))
    want = explain(product, X).swap_score
    got = explain(lambda X: unit * product(X), X).swap_score
    assert got.value == pytest.approx(unit * want.value, rel=1e-12)
    assert got.std_error == pytest.approx(unit * want.std_error, rel=1e-12)
    assert got.effective_pairs == pytest.approx(want.effective_pairs, rel=1e-12)


def test_an_interval_of_a_vague_score_has_ends():
    low, high = HeterogeneityScore(1.0, 1e6).interval()
    assert (low, high) == (0, np.inf)
    assert HeterogeneityScore(0.0, 0.0).interval() == (0, 0)


# -------------------------------------------------------------------------- calls of the model


@pytest.mark.parametrize("bad", [-1, 2.5, True, "all"])
def test_other_numbers_of_rows_are_refused(bad):
    with pytest.raises(sd.DataError, match="heterogeneity_rows"):
        explain(bent, np.zeros((5, 3)), heterogeneity_rows=bad)
