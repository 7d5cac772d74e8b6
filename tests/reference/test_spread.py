"""The spread between rows at x compared with true values that do not depend on its computation.

Median relative error over the cells, mean of 8 data sets of N = 500 / 2,000 / 10,000 rows, and the fraction of cells
within two standard errors, over 20 data sets, for q = g(x) times a standard normal z (x² z u: times another one):

=================  =====================  ====================
g                  error                  within two errors
=================  =====================  ====================
x                  .037 / .023 / .013     .98 / .98 / .94
1[x > .5]          .077 / .037 / .012     .98 / .98 / .89
exp(-(x / .15)²)   .076 / .048 / .016     .91 / .97 / .98
sin(20 x)          .060 / .035 / .025     .94 / .96 / .94
x² (z u)           .133 / .049 / .017     .94 / .94 / .97
=================  =====================  ====================
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import skedasis as sd

N = 10_000
METHODS = {
    "ale": sd.ALE(),
    "dale": sd.DALE(bins=5),
    "rhale": sd.RHALE(),
    "uale": sd.UALE(),
}


# ------------------------------------------------------------------- independent features


FORMS = {
    "line": (lambda x: x, 1, 0.05),
    "step": (lambda x: 1.0 * (x > 0.5), 1, 0.05),
    "bump": (lambda x: np.exp(-((x / 0.15) ** 2)), 1, 0.05),
    "sine": (lambda x: np.sin(20 * x), 1, 0.10),
    "three": (lambda x: x**2, 2, 0.15),
}


def product_of(name, seed, n=N):
    """Return x, g(x) and the effect of x for q = g(x) times independent normal features."""
    g, others, _ = FORMS[name]
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-1, 1, n), rng.normal(size=(n, others))])

    def model(X):
        return g(X[:, 0]) * X[:, 1:].prod(axis=1)

    return X[:, 0], g(X[:, 0]), sd.explain(model, X, 0, method="ale", random_state=seed)


def true_spread(x, g, spread):
    """Return the root mean square of g - mean(g) in each of the spread's cells, which hold rows in order of x."""
    ends = np.append(0, np.rint(np.cumsum(spread.weight) * len(x)).astype(int))
    square = np.sort(x)[:, None], (g - g.mean())[np.argsort(x)] ** 2
    means = [square[1][a:b].mean() for a, b in itertools.pairwise(ends)]
    at = [square[0][a:b].mean() for a, b in itertools.pairwise(ends)]
    np.testing.assert_allclose(at, spread.x, atol=1e-12)
    return np.sqrt(means)


@pytest.mark.parametrize("name", FORMS)
def test_it_is_that_of_the_closed_form(name):
    errors, within, standardised = [], [], []
    for seed in range(20):
        x, g, e = product_of(name, seed)
        truth = true_spread(x, g, e.spread)
        errors.append(np.median(np.abs(e.spread.value / truth - 1)))
        standardised.append((e.spread.value - truth) / e.spread.std_error)
        within.append(np.abs(standardised[-1]) < 2)
        if name == "bump":
            assert e.spread.value[np.abs(e.spread.x) > 0.5] == pytest.approx(0.13, abs=0.03)
    assert np.mean(errors[:8]) < FORMS[name][2]
    assert np.mean(within) >= 0.85
    # Nor is the error too large.
    assert 0.75 < np.std(standardised) < 1.3


# ---------------------------------------------------------------------- dependent features


def normal_pair(rho, seed, n=N):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    return np.column_stack([x, rho * x + np.sqrt(1 - rho**2) * z])


@pytest.mark.parametrize("rho", [0.5, 0.8, 0.95, 0.99])
def test_it_is_that_of_moves_that_the_other_features_allow(rho):
    """x₁x₂ of normal features: at u, sqrt(1 - rho²) sqrt(1 - v + v u²), v from the variance inflation."""
    at = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    ratio, within = [], []
    for seed in range(24):
        X = normal_pair(rho, seed, N // 2)
        e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method="ale", random_state=seed)
        v = 2 / (1 + np.sqrt(12 * e.swap_score.vif - 11))

        def truth(u, v=v):
            return np.sqrt(1 - rho**2) * np.sqrt(1 - v + v * u**2)

        ratio.append(e.spread.at(at) / truth(at))
        within.append(np.abs(e.spread.value - truth(e.spread.x)) < 2 * e.spread.std_error)
    mean = np.mean(ratio, axis=0)
    np.testing.assert_allclose((mean + mean[::-1]) / 2, 1.0, atol=0.10)
    assert np.mean(np.concatenate(within)) >= 0.85


@pytest.mark.parametrize("method", METHODS)
def test_an_additive_quantity_has_none(method):
    X = np.column_stack([normal_pair(0.9, 0, 2000), np.ones(2000)])
    q = sd.prediction(
        lambda X: np.sin(3 * X[:, 0]) + X[:, 1] ** 2,
        slope=lambda X: np.column_stack([3 * np.cos(3 * X[:, 0]), 2 * X[:, 1], 0 * X[:, 2]]),
    )
    es = sd.explain(q, X, method=METHODS[method])
    for e in es.values():
        np.testing.assert_array_equal(e.spread.value, 0.0)
        np.testing.assert_array_equal(e.heterogeneity, 0.0)
        assert e.depends_on is None


def test_rows_that_cannot_be_are_not_asked_for():
    """A model that is wild where no row is: swaps among rows with similar other features do not go there."""
    for seed in (0, 4):
        X = normal_pair(0.95, seed)
        e = sd.explain(lambda X: X[:, 0] + 1000.0 * (X[:, 0] - X[:, 1] > 2.5), X, 0, method="ale")
        assert e.spread.value.max() == 0


# ------------------------------------------------------------------- the score's own scale


@pytest.mark.parametrize(
    ("method", "rho", "weighted"),
    [("ale", 0.8, True), ("dale", 0.0, False), ("rhale", 0.8, False), ("uale", 0.0, True)],
)
def test_its_mean_square_is_the_square_of_the_score(rho, method, weighted):
    X = normal_pair(rho, 1, 1500)
    w = np.random.default_rng(0).exponential(size=1500) if weighted else None
    q = sd.prediction(
        lambda X: X[:, 0] * X[:, 1] ** 2,
        slope=lambda X: np.column_stack([X[:, 1] ** 2, 2 * X[:, 0] * X[:, 1]]),
    )
    e = sd.explain(q, X, 0, method=METHODS[method], sample_weight=w, weight_kind="sampling")
    mean = e.spread.weight @ e.spread.value**2
    assert mean == pytest.approx(e.heterogeneity_score**2, rel=1e-12)
    assert e.spread.weight.sum() == pytest.approx(1, rel=1e-12)


# --------------------------------------------------------------------- categories, few values


LEVELS = np.array(list("abcdef"))
HEIGHTS = np.array([0.0, 1.0, 3.0, -2.0, 0.5, 4.0])


def of_levels(X):
    return HEIGHTS[np.searchsorted(LEVELS, X["g"].to_numpy(str))] * X["z"].to_numpy()


@pytest.mark.parametrize(("kind", "weighted"), [("nominal", True), ("ordinal", False)])
def test_levels(weighted, kind):
    """For a[g] z with independent z it is |a[g] - mean of a| sd(z)."""
    within = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        code = rng.choice(6, N // 2, p=[0.3, 0.25, 0.2, 0.15, 0.07, 0.03])
        X = pd.DataFrame({"g": LEVELS[code], "z": rng.normal(size=len(code))})
        X["g"] = pd.Categorical(X["g"], categories=list(LEVELS), ordered=kind == "ordinal")
        w = rng.integers(1, 5, len(X)).astype(float) if weighted else None
        weight = np.ones(len(X)) if w is None else w
        e = sd.explain(of_levels, X, "g", method="ale", sample_weight=w, random_state=seed)
        share = np.bincount(code, weight) / weight.sum()
        deviation = np.abs(HEIGHTS - share @ HEIGHTS)
        std = np.sqrt(np.cov(X["z"], aweights=weight))
        place = [list(LEVELS).index(level) for level in e.spread.x]
        np.testing.assert_allclose(e.spread.weight, share[place], rtol=1e-12)
        off = np.abs(e.spread.value - deviation[place] * std)
        assert (off < 3 * e.spread.std_error).all()
        within.append(off < 2 * e.spread.std_error)
        np.testing.assert_allclose(e.heterogeneity, e.spread.value, rtol=1e-12)
    assert np.mean(within) >= 0.85


@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_few_values_are_all_asked_for_that_rows_can_have(rho):
    """x of five values and z, dependent by ranks: the values of a row's window have the weights of P(value | t)."""
    at, want = [], np.abs(np.array([-2.0, -1.0, 0.0, 1.0, 2.0]))
    for seed in range(10):
        X = normal_pair(rho, seed)
        X[:, 0] = np.clip(np.rint(X[:, 0]), -2, 2)
        seen = []

        def model(X, seen=seen):
            seen.append(X[:, 0].copy())
            return X[:, 0] * X[:, 1]

        e = sd.explain(model, X, 0, method="ale", random_state=seed)
        assert set(np.concatenate(seen)) == {-2.0, -1.0, 0.0, 1.0, 2.0}
        np.testing.assert_array_equal(e.spread.x, [-2, -1, 0, 1, 2])
        at.append(e.spread.value)
    if rho == 0:
        np.testing.assert_allclose(np.mean(at, axis=0), want, atol=0.05)
    else:
        found = np.mean(at, axis=0)
        assert found[0] > found[1] > 0
        np.testing.assert_allclose(found, found[::-1], rtol=0.1)


# ------------------------------------------------------------------------ several of a kind


def mixed_frame(seed=0, n=1200):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "k": rng.integers(0, 9, n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "g": rng.choice(["a", "b", "c"], n),
            "o": pd.Categorical(rng.choice(["lo", "hi"], n), categories=["lo", "hi"], ordered=True),
            "z": rng.normal(size=n),
        }
    )


def of_frame(X):
    day = (X["day"] - pd.Timestamp("2024-01-01")).dt.days.to_numpy(float) / 100
    level = X["g"].astype(str).map({"a": 0.0, "b": 1.0, "c": 3.0}).to_numpy()
    level = level + (X["o"].astype(str) == "hi").to_numpy()
    return (X["x"].to_numpy() + X["k"].to_numpy(float) + day + level) * X["z"].to_numpy()


def assert_same_spread(a, b, rtol=1e-10):
    for name in ("value", "std_error", "weight"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=rtol)
    np.testing.assert_array_equal(a.x, b.x)


def test_every_kind_of_feature_and_the_order_of_rows():
    X = mixed_frame()
    ids = np.arange(len(X)) * 7
    es = sd.explain(of_frame, X, method="ale", row_id=ids, memory="1MB")
    order = np.random.default_rng(1).permutation(len(X))
    moved = sd.explain(of_frame, X.iloc[order], method="ale", row_id=ids[order], n_jobs=2)
    columns = ["z", "g", "day", "o", "k", "x"]
    turned = sd.explain(lambda Z: of_frame(Z[list(X)]), X[columns], method="ale", row_id=ids)
    for name, e in es.items():
        assert (
            len(e.spread) == len(e.levels)
            if e.levels is not None
            else 10 <= len(e.spread) <= 44 or name == "k"
        )
        assert e.spread.x.dtype.kind == {"day": "M", "g": "U", "o": "U"}.get(name, "f")
        assert_same_spread(e.spread, moved[name].spread)
        assert_same_spread(e.spread, turned[name].spread)
        assert e.depends_on == moved[name].depends_on


def test_of_regions_it_is_that_of_their_rows():
    """For x z where u, and 2 x z elsewhere: each region has the spread of its own rows."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-1, 1, N), rng.normal(size=N), rng.random(N)])

    def model(X):
        return np.where(X[:, 2] > 0.5, 1.0, 2.0) * X[:, 0] * X[:, 1]

    r = sd.explain(model, X, 0, method="ale", by=X[:, 2] > 0.5)
    for effect, factor in zip(r, (2.0, 1.0), strict=True):
        spread = effect.spread
        truth = factor * np.abs(spread.x)
        assert np.median(np.abs(spread.value / truth - 1)) < 0.15
        assert spread.weight @ spread.value**2 == pytest.approx(
            effect.heterogeneity_score**2, rel=1e-12
        )
        assert effect.depends_on is None
    assert r.provenance["region_score_rows"] <= N + 4000


def test_rows_without_the_feature_are_left_out():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(3000, 2))
    gone = rng.random(3000) < 0.3
    Z = X.copy()
    Z[gone, 0] = np.nan
    seen = []

    def model(X):
        seen.append(np.isnan(X[:, 0]).any())
        return np.nan_to_num(X[:, 0]) * X[:, 1]

    e = sd.explain(model, Z, 0, method="ale")
    kept = sd.explain(model, X[~gone], 0, method="ale", row_id=np.flatnonzero(~gone))
    assert_same_spread(e.spread, kept.spread)


@pytest.mark.parametrize("tree", ["off", "force"])
def test_trees_cost_no_row_and_give_what_calls_give(tree):
    from sklearn.ensemble import HistGradientBoostingRegressor

    X = np.random.default_rng(0).normal(size=(3000, 3))
    X[:, 2] = np.rint(X[:, 2])
    trees = HistGradientBoostingRegressor(max_iter=30).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    es = sd.explain(trees, X, method="rhale", tree=tree)
    called = sd.explain(trees, X, method="ale", tree="off")
    for name, e in es.items():
        assert_same_spread(e.spread, called[name].spread)
        assert (
            e.depends_on == pytest.approx(called[name].depends_on) if e.depends_on is None else True
        )
    rows = es["x0"].provenance["score_rows"]
    assert rows == 0 if tree == "force" else 4 * 3000 < rows <= 4 * 3000 + 3 * 4000


@pytest.mark.parametrize("feature", ["x", "k", "g"])
def test_it_costs_at_most_four_rows_for_each_row(feature):
    for n in (2, 3, 20, 150, 1500):
        X = mixed_frame(n=n)
        e = sd.explain(of_frame, X, feature, method="ale")
        assert e.provenance["score_rows"] <= 2 * n + min(4000, 4 * n)
        assert np.isfinite(e.spread.value).all()
        mean = e.spread.weight @ e.spread.value**2
        assert mean == pytest.approx(e.heterogeneity_score**2, rel=1e-12)
        if n <= 20 and feature == "x":  # too few rows for blocks: flat
            np.testing.assert_allclose(e.spread.value, e.heterogeneity_score, rtol=1e-12)


def test_without_a_score_there_is_none():
    X = mixed_frame(n=200)
    for e in sd.explain(of_frame, X, ["x", "g"], method="ale", heterogeneity_rows=0).values():
        assert e.spread is None
        assert np.isnan(e.heterogeneity).all()
        assert np.isfinite(e.accumulated_std).all()
    few = sd.explain(of_frame, X, "x", method="ale", heterogeneity_rows=100)
    assert few.provenance["score_rows"] <= 2 * 100 + 100


def test_rebinning_keeps_it():
    X = normal_pair(0.0, 0, 1000)
    e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ALE(bins=20))
    coarse = e.rebin(sd.Edges(e.x[::5], closed="right"))
    assert coarse.spread is not None
    assert_same_spread(coarse.spread, e.spread, rtol=0)
    np.testing.assert_allclose(coarse.heterogeneity, e.spread.at(coarse.x), rtol=1e-12)


@pytest.mark.parametrize(
    ("unit", "offset"), [(1e-98, 0.0), (1000000000000.0, 1000000.0), (1e137, 0.0)]
)
def test_any_unit_of_the_quantity_and_of_the_feature(unit, offset):
    X = normal_pair(0.3, 0, 1000)

    def model(X):
        return X[:, 0] * X[:, 1]

    want = sd.explain(model, X, 0, method="ale").spread
    moved = X * [2.0, 1.0] + [offset, 0.0]
    got = sd.explain(
        lambda Z: unit * model((Z - [offset, 0.0]) / [2.0, 1.0]), moved, 0, method="ale"
    ).spread
    np.testing.assert_allclose(got.value / unit, want.value, rtol=1e-5)
    np.testing.assert_allclose(got.std_error / unit, want.std_error, rtol=1e-4)


# --------------------------------------------------------------------------- PDP and ICE


@pytest.mark.parametrize(
    ("method", "center"), [(sd.PDP, None), (sd.ICE, "start"), (sd.PDP, "mean")]
)
def test_curves_are_centred_over_the_data(method, center):
    """For x² z with exponential x: |x² - mean of x²| sd(z), whatever is subtracted from the curves that are shown."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.exponential(size=N), rng.normal(size=N)])
    e = sd.explain(
        lambda X: X[:, 0] ** 2 * X[:, 1],
        X,
        0,
        method=method(grid=np.quantile(X[:, 0], np.linspace(0, 1, 300)), center=center),
    )
    truth = np.abs(e.x**2 - np.mean(X[:, 0] ** 2)) * X[:, 1].std(ddof=1)
    np.testing.assert_allclose(e.heterogeneity, truth, atol=0.02)
    np.testing.assert_allclose(e.spread.x, e.x)
    assert e.spread.weight.sum() == pytest.approx(1)
    assert e.accumulated_std is None


# ------------------------------------------------------------------------------- hard cases


def test_an_output_without_a_score_beside_one_with_it():
    """An interaction in few rows, none of which is paired with another: its score is zero, its curves differ."""

    def model(X):
        rare = (X[:, 0] > 1.8) * (X[:, 1] > 1)
        return np.column_stack([X[:, 0] * X[:, 1], rare])

    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(60, 2))
        es = sd.explain(sd.prediction(model, output="all"), X, 0, method="ale", random_state=seed)
        for e in es.values():
            mean = e.spread.weight @ e.spread.value**2
            assert mean == pytest.approx(e.heterogeneity_score**2, rel=1e-12)


def test_of_a_feature_that_no_row_of_the_score_has_nothing_is_known():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(3000, np.nan), rng.normal(size=3000)])
    X[:3, 0] = [1.0, 2.0, 3.0]
    for seed in range(5):
        e = sd.explain(
            lambda X: np.nan_to_num(X[:, 0]) * X[:, 1],
            X,
            0,
            method="ale",
            random_state=seed,
            heterogeneity_rows=50,
        )
        assert len(e.heterogeneity) == len(e.value)


@pytest.mark.parametrize("light", [0.001, 1e-12, 1e-20])
def test_rows_of_next_to_no_weight(light):
    X = normal_pair(0.8, 0, 2000)
    w = np.where(X[:, 0] > 1.5, light, 1.0)
    e = sd.explain(
        lambda X: X[:, 0] * X[:, 1],
        X,
        0,
        method="ale",
        sample_weight=w,
        weight_kind="sampling",
    )
    assert np.isfinite(e.spread.value).all()
    assert e.spread.weight @ e.spread.value**2 == pytest.approx(e.heterogeneity_score**2, rel=1e-9)


@pytest.mark.parametrize("heavy", [10.0, 100.0])
def test_blocks_weigh_rows_as_the_score_does(heavy):
    """Heavy rows have the spread |x| z, light ones another shape: at 0 only the light ones' variance is left."""
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = np.column_stack(
            [rng.uniform(-1, 1, N), rng.normal(size=N), rng.integers(0, 2, N).astype(float)]
        )

        def model(X):
            return np.where(X[:, 2] == 1, X[:, 0], 3 * np.abs(X[:, 0])) * X[:, 1]

        w = np.where(X[:, 2] == 1, heavy, 1.0)
        options = {"sample_weight": w, "weight_kind": "sampling", "random_state": seed}
        found.append(sd.explain(model, X, 0, method="ale", **options).spread.at(np.zeros(1))[0])
    # Light rows: 3 |x| minus its mean 1.5; their share of the weight is 1 / (1 + heavy).
    truth = np.sqrt(1.5**2 / (1 + heavy) + 0.02**2)
    assert np.mean(found) == pytest.approx(truth, rel=0.15)


@pytest.mark.parametrize("levels", [100, 300])
def test_a_pool_of_levels_is_compared_with_others_of_it(levels):
    """For (code / L) z with equal levels: |code / L - 1 / 2|; the pool has the root mean square of its levels'."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, levels, N)
    X = pd.DataFrame({"g": [f"l{c:04}" for c in code], "z": rng.normal(size=N)})
    model = lambda X: X["g"].str[1:].astype(float).to_numpy() / levels * X["z"].to_numpy()  # noqa: E731
    e = sd.explain(model, X, "g", method="ale")
    truth = np.abs(np.array([float(x[1:]) for x in e.spread.x]) / levels - 0.5)
    value, count = np.unique(e.spread.value, return_counts=True)
    pooled = e.spread.value == value[count.argmax()]
    assert pooled.sum() > levels - 64
    assert value[count.argmax()] == pytest.approx(np.sqrt(np.mean(truth[pooled] ** 2)), rel=0.15)
    others = ~pooled & (truth > 0.05)
    assert np.median(e.spread.value[others] / truth[others]) == pytest.approx(1, abs=0.1)


def test_a_grid_beside_the_data_has_no_spread():
    X = np.column_stack([np.random.default_rng(0).exponential(size=500), np.ones(500)])
    e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.PDP(grid=[5.0, 6.0]))
    assert e.spread is None
    assert "outside the grid" in e.provenance["spread"]
