"""H² of interactions: brute force by naive loops, tree ensembles of every library, and closed forms."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.trees import partial_dependence
from tests.reference.naive_h_statistic import Naive, naive
from tests.reference.tree_cases import MODELS, QUIET, categories, grown, number, turns, with_missing

ROWS = 60
FAST: dict[str, Any] = {"ale": False, "heterogeneity_rows": 0, "method": sd.ALE(bins=4)}


def compare(it: Any, want: Naive, tol: float = 1e-12) -> None:
    """Assert that all statistics are those of the naive loops, relative to the quantity."""
    names, size = it.features, np.sqrt(want.variance)
    for a, b in itertools.combinations(range(len(names)), 2):
        line, numerator = it[names[a], names[b]], want.pairs[a, b]
        if numerator < 1e-10 * want.variance:
            assert line.h2 == line.h2_unnormalized == 0.0
            continue
        assert line.h2_unnormalized == pytest.approx(np.sqrt(numerator), rel=tol, abs=tol * size)
        assert line.h2 == pytest.approx(want.h2((a, b)), rel=100 * tol, abs=tol)
    by_name = {line.feature: line for line in it.overall}
    for k, name in enumerate(names):
        numerator = want.overall[k] if want.overall[k] >= 1e-10 * want.variance else 0.0
        assert by_name[name].h2 == pytest.approx(numerator / want.variance, rel=100 * tol, abs=tol)
        assert by_name[name].h2_unnormalized == pytest.approx(
            np.sqrt(numerator), rel=tol, abs=tol * size
        )
    assert it.h2 == pytest.approx(want.total / want.variance, rel=100 * tol, abs=tol)


def three_way(X: np.ndarray) -> np.ndarray:
    return X[:, 0] * X[:, 1] * X[:, 2] + X[:, 0] * X[:, 3] + np.exp(X[:, 1])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_called_function_of_three_way_interactions(weighted: bool):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 4))
    X[:, 3] = rng.integers(0, 3, ROWS)  # ties: each value is evaluated once
    w = rng.uniform(0.5, 3.0, ROWS) if weighted else None
    it = sd.interactions(three_way, X, sample_weight=w, **FAST)
    compare(it, naive(three_way, X, w))
    assert it.exact


@pytest.mark.slow
def test_levels_missing_values_and_groups_of_a_called_function():
    frame, _ = categories(50)
    frame["d"] = np.arange(50) % 2

    def f(d: Any) -> np.ndarray:
        level = d["c"].astype(str).map({"u": 0.0, "v": 1.0, "w": -2.0, "x": 3.0}).to_numpy()
        b = d["b"].fillna(7.0).to_numpy()
        k = d["k"].astype(float).to_numpy()
        return (d["a"] * level).to_numpy() + b * k / 10 + d["d"].to_numpy() * b

    it = sd.interactions(f, frame, **FAST)
    compare(it, naive(f, frame))
    grouped = sd.interactions(f, frame, groups={"kd": ["k", "d"]}, **FAST)
    compare(grouped, naive(f, frame, features=[(0,), (1,), (2,), (3, 4)]))


# --- trees ----------------------------------------------------------------------------------------


def leaf_sums(case: str) -> dict[str, tuple[Any, Any]]:
    """Return the quantities of a model that are sums of leaves, with the function that the loops call."""
    model, _, _ = grown(case)
    if case == "isolation":
        return {}
    if case == "two outputs":
        return {"output": (sd.prediction(model, output=1), lambda Z: model.predict(Z)[:, 1])}
    if case == "catboost":
        return {"predict": (sd.prediction(model.predict), model.predict)}
    if case == "lightgbm poisson":
        return {}
    if not hasattr(model, "predict_proba"):
        return {"prediction": (model, model.predict)}
    last = model.classes_[-1]
    if case.startswith(("forest", "shallow")):
        column = list(model.classes_).index(last)
        return {
            "probability": (
                sd.probability(model, class_=last),
                lambda Z: model.predict_proba(Z)[:, column],
            )
        }
    if len(model.classes_) != 2:
        return {}

    def log_odds(Z: Any) -> np.ndarray:
        p = model.predict_proba(Z)
        return np.log(p[:, 1]) - np.log(p[:, 0])

    return {
        "logit": (sd.logit(model, class_=last), log_odds),
        "reversed": (sd.logit(model, class_=model.classes_[0]), lambda Z: -log_odds(Z)),
    }


CASES = [case for case in MODELS if case != "leaf"]  # that has a test of its own


@pytest.mark.parametrize(
    ("case", "weighted"), turns(CASES, [False, True], "boosting", "histograms 2", "lightgbm")
)
def test_trees_of_every_library(case: str, weighted: bool):
    """Trees are evaluated at all rows; the loops call the model. log(p / (1 - p)) of p near 1 loses digits."""
    found = leaf_sums(case)
    _, X, _ = grown(case)
    X = X[:ROWS]
    w = np.random.default_rng(3).uniform(0.2, 2.0, ROWS) if weighted else None
    for name, (quantity, f) in found.items():
        it = sd.interactions(quantity, X, sample_weight=w, tree="force", max_rows=10, **FAST)
        assert it.exact
        assert it.provenance["h2_rows"] == ROWS
        tol = 1e-4 if case.startswith("xgboost") else 1e-9 if name != "prediction" else 1e-11
        compare(it, naive(f, X, w), tol)
    if not found:  # a link function: called at a sample
        quantity = grown(case)[0].predict if case == "isolation" else _response(case)
        it = sd.interactions(quantity, X, max_rows=20, **FAST)
        assert not it.exact
        assert it.provenance["h2_rows"] == 20


def _response(case: str) -> Any:
    model, _, _ = grown(case)
    if hasattr(model, "predict_proba"):
        return sd.probability(model, class_=model.classes_[0])
    return model


@cache
def many_rows(missing: bool) -> tuple[Any, np.ndarray, list[tuple[np.ndarray | None, Naive]]]:
    """Return a model, rows, and for no weights and some the statistics of the naive loops."""
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 5)) * [1.0, 1e3, 1.0, 1.0, 1.0]
    X[:, 2] = np.round(X[:, 2])
    X = with_missing(X) if missing else X
    model = lightgbm.LGBMRegressor(**{**QUIET, "n_estimators": 20}).fit(X, number(X))
    part = X[:140]
    weights = [None, rng.uniform(0.5, 2.0, len(part))]
    return model, part, [(w, naive(model.predict, part, w)) for w in weights]


@pytest.mark.slow
@pytest.mark.parametrize(("missing", "cells"), [(False, 1), (True, 2**22)])
def test_many_rows_in_blocks_tables_and_sweeps(cells: int, missing: bool, monkeypatch: Any):
    """At 140 rows 1e-12 of the quantity; several blocks of rows, of which the last is not full."""
    monkeypatch.setattr(partial_dependence, "_TABLE", cells)
    monkeypatch.setattr(partial_dependence, "_BLOCK", 1)
    model, part, expected = many_rows(missing)
    for weights, want in expected:
        it = sd.interactions(model, part, sample_weight=weights, tree="force", **FAST)
        compare(it, want)


@pytest.mark.parametrize(
    ("library", "groups"),
    [("histograms", None), ("lightgbm", {"ck": ["c", "k"]}), ("histograms", {"ab": ["a", "b"]})],
)
def test_categories_missing_values_and_groups_of_trees(library: str, groups: Any):
    frame, y = categories(180)
    if library == "lightgbm":
        easy = {"min_data_per_group": 3, "cat_smooth": 1.0, "min_child_samples": 3}
        kind = pytest.importorskip("lightgbm").LGBMRegressor
        model = kind(**{**QUIET, **easy}).fit(frame, y)
    else:
        kind = pytest.importorskip("sklearn.ensemble").HistGradientBoostingRegressor
        model = kind(max_iter=15, min_samples_leaf=3, random_state=0).set_params(
            categorical_features="from_dtype"
        )
        model.fit(frame, y)
    part = frame.iloc[:ROWS]
    features = {None: None, "ck": [(0,), (1, 3), (2,)], "ab": [(0, 2), (1,), (3,)]}
    given = dict(FAST)
    if groups is not None and "ab" in groups:
        # Two continuous columns have too many combinations for an effect, and none is needed here.
        part = part.assign(a=part["a"].round(), b=part["b"].round())
    it = sd.interactions(model, part, groups=groups, tree="force", **given)
    compare(it, naive(model.predict, part, features=features[next(iter(groups or [None]))]), 1e-11)


def test_constant_trees_have_no_interactions():
    model, X, _ = grown("leaf")
    it = sd.interactions(model, X, tree="force", **FAST)
    assert {p.h2_unnormalized for p in it.values()} == {0.0}
    assert it.h2 == 0.0


# --- closed forms ---------------------------------------------------------------------------------


def test_the_product_of_two_uniform_features():
    """x₀·x₁ on a full grid: H² of the pair is 1, unnormalized the product of the standard deviations."""
    side = np.linspace(-1.0, 1.0, 15)
    X = np.column_stack([v.ravel() for v in np.meshgrid(side, 2.0 * side)])
    it = sd.interactions(lambda X: X[:, 0] * X[:, 1], X, max_rows=None, **FAST)
    line = it["x0", "x1"]
    assert line.h2 == pytest.approx(1.0, abs=1e-12)
    assert line.h2_unnormalized == pytest.approx(X[:, 0].std() * X[:, 1].std(), rel=1e-12)
    assert it.h2 == pytest.approx(1.0, abs=1e-12)
    assert [o.h2 for o in it.overall] == pytest.approx([1.0, 1.0])
    squares = (X[:, 0] * X[:, 1]) ** 2
    delta = squares.std(ddof=1) / np.sqrt(len(X)) / (2 * line.h2_unnormalized)
    assert line.std_error == pytest.approx(delta, rel=1e-9)


def test_a_sum_with_a_product_has_the_share_of_the_product():
    """f = c(x₀ + x₁) + x₀x₁ on a grid with mean 0 and variance v each: H² = v² / (2 c² v + v²)."""
    side, c = np.linspace(-1.0, 1.0, 15), 0.7
    X = np.column_stack([v.ravel() for v in np.meshgrid(side, side)])
    it = sd.interactions(
        lambda X: c * (X[:, 0] + X[:, 1]) + X[:, 0] * X[:, 1], X, max_rows=None, **FAST
    )
    v = float(side.var())
    assert it["x0", "x1"].h2 == pytest.approx(v**2 / (2 * c**2 * v + v**2), rel=1e-10)


def test_a_three_way_product_without_interactions_of_pairs():
    """x₀x₁x₂ with signs on a full design: no pair interacts, each feature does with all others."""
    X = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
    it = sd.interactions(lambda X: X.prod(axis=1), X, max_rows=None, **FAST)
    assert {p.h2_unnormalized for p in it.values()} == {0.0}
    assert [o.h2 for o in it.overall] == pytest.approx([1.0] * 3)
    assert it.h2 == pytest.approx(1.0)


def fitted(kind: str) -> Any:
    """Return the prediction of a model that was fitted on products, a jump and a curve, as a function."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 8))
    y = X[:, 0] * X[:, 1] + 1.2 * (X[:, 2] > 0) * X[:, 3] + np.sin(2 * X[:, 4]) * X[:, 5] / 2
    y += X[:, 6] ** 2
    if kind == "trees":
        boosting = pytest.importorskip("sklearn.ensemble").HistGradientBoostingRegressor
        model = boosting(max_iter=12, max_leaf_nodes=12, random_state=0).fit(X, y)
    else:
        network = pytest.importorskip("sklearn.neural_network").MLPRegressor
        model = network(hidden_layer_sizes=(24,), early_stopping=True, random_state=0).fit(X, y)

    def predict(Z: np.ndarray) -> np.ndarray:  # no method of the model, whose trees would be read
        return model.predict(Z)

    return predict


def products(X: np.ndarray) -> np.ndarray:
    main = X.sum(axis=1) + X[:, 7] ** 3
    return main + 2 * X[:, 0] * X[:, 3] + 1.2 * X[:, 1] * X[:, 2] + 0.7 * X[:, 4] * X[:, 6]


def exclusive_or(X: np.ndarray) -> np.ndarray:
    above = X > 0
    return (
        2.0 * (above[:, 0] ^ above[:, 5])
        + 1.2 * (above[:, 1] ^ above[:, 4])
        + 0.7 * (above[:, 2] & (X[:, 3] > 1))
        + X[:, 6]
    )


def one_pair(X: np.ndarray) -> np.ndarray:
    return np.exp(-(X[:, 2] ** 2)) * X[:, 6] + np.sin(X).sum(axis=1) + 3 * X[:, 0]


FIVE = {"products": products, "exclusive or": exclusive_or, "one pair": one_pair}


@pytest.mark.parametrize(
    ("kind", "correlated"),
    [*itertools.zip_longest([*FIVE, "trees", "network"], [False, True] * 2, fillvalue=True)],
)
def test_the_first_pairs_are_those_of_the_full_table(kind: str, correlated: bool):
    """Ten of 28 pairs, at 200 of 240 rows. Partial dependence is of all pairs and rows in the full table."""
    f = FIVE.get(kind) or fitted(kind)
    X = np.random.default_rng(1).normal(size=(240, 8))
    if correlated:
        X[:, 1:] = 0.8 * X[:, 1:] + 0.6 * X[:, :1]
    full = sd.interactions(f, X, max_rows=None, **FAST)
    it = sd.interactions(f, X, **FAST)
    assert (full.screened, it.screened) == (None, 10)
    wanted = [(p.feature_0, p.feature_1) for p in full.ranking()[:5] if p.h2_unnormalized > 0]
    first = it.ranking()[0]
    assert (first.feature_0, first.feature_1) == wanted[0]
    for one, other in itertools.combinations(wanted, 2):
        stronger, weaker = it[one], it[other]
        error = np.hypot(stronger.std_error, weaker.std_error)
        assert stronger.h2_unnormalized >= weaker.h2_unnormalized - 2 * error
    for pair in wanted:
        # From 200 of the 240 rows that partial dependence averages over, too.
        assert it[pair].h2_unnormalized == pytest.approx(full[pair].h2_unnormalized, rel=0.25)


def test_the_standard_error_is_that_of_repeated_points_of_evaluation():
    """The spread of the statistic over samples of points from a fixed function with known partial dependence."""
    rng = np.random.default_rng(0)
    from skedasis.stats.h_statistic import HRows

    found: list[tuple[float, float]] = []
    for _ in range(400):
        x = rng.normal(size=(300, 2))
        product = x[:, 0] * x[:, 1]
        line = HRows(product).pair(product, np.zeros(300), np.zeros(300))
        found.append((line.unnormalized, line.std_error))
    spread, stated = np.std([f for f, _ in found]), np.mean([e for _, e in found])
    assert stated == pytest.approx(spread, rel=0.15)


def test_modulation_of_known_functions():
    """The effect of x₀ in x₀·x₁ is explained by x₁ alone; in x₀·(x₁ + x₂) by each to half."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(4000, 4))
    it = sd.interactions(lambda X: X[:, 0] * (X[:, 1] + X[:, 2]) + X[:, 3], X, h2=False, ale=False)
    assert it["x0", "x1"].depends_01 == pytest.approx(0.5, abs=0.05)
    assert it["x0", "x2"].depends_01 == pytest.approx(0.5, abs=0.05)
    assert it["x0", "x1"].depends_10 == pytest.approx(1.0, abs=0.05)
    assert it["x0", "x3"].depends_01 == pytest.approx(0.0, abs=0.05)
    assert np.isnan(it["x3", "x0"].depends_01)  # the effect of x₃ is the same for all rows
    assert it.measure == "depends"


def additive_curve(X: np.ndarray) -> np.ndarray:
    return X[:, 0] ** 3 + X[:, 0] * X[:, 1] + X[:, 2]


@pytest.mark.parametrize("method", ["rhale", "ale", "ice"])
def test_modulation_does_not_depend_on_the_method(method: str):
    """x₀·x₁ + x₀³ + x₂: all of the heterogeneity of x₀ is explained by x₁, and none by x₂; that of x₁ by x₀."""
    X = np.random.default_rng(1).uniform(-1, 1, size=(3000, 3))
    it = sd.interactions(additive_curve, X, h2=False, ale=False, method=method)
    line = it["x0", "x1"]
    assert [line.depends_01, line.depends_10] == pytest.approx([1.0, 1.0], abs=0.1)
    assert it["x0", "x2"].depends_01 == pytest.approx(0.0, abs=0.03)
    assert np.isnan(it["x0", "x2"].depends_10)


@pytest.mark.parametrize("weight_kind", ["frequency", "sampling"])
def test_modulation_of_weighted_rows(weight_kind: Any):
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(12000, 3))
    w = np.where(X[:, 1] > 0, 4.0, 1.0)

    def f(X: np.ndarray) -> np.ndarray:
        return X[:, 0] * ((X[:, 1] > 0) + X[:, 2])

    given: dict[str, Any] = {"h2": False, "ale": False}
    it = sd.interactions(f, X, sample_weight=w, weight_kind=weight_kind, **given)
    # The variance of [x₁ > 0] with probability 0.8 is 0.16, that of x₂ 1/3.
    share = 0.16 / (0.16 + 1 / 3)
    by_jump, by_line = it["x0", "x1"].depends_01, it["x0", "x2"].depends_01
    assert by_jump + by_line == pytest.approx(1.0, abs=0.07)
    assert by_jump / (by_jump + by_line) == pytest.approx(share, abs=0.02)


def test_ale_strength_is_that_of_the_surfaces():
    frame, _ = categories(120)

    def f(d: pd.DataFrame) -> np.ndarray:
        level = d["c"].astype(str).map({"u": 0.0, "v": 1.0, "w": -2.0, "x": 3.0}).to_numpy()
        return (d["a"] * level).to_numpy() + level * d["k"].astype(float).to_numpy()

    part = frame[["a", "c", "k"]]
    it = sd.interactions(f, part, h2=False)
    a_c = sd.explain(f, part, ("a", "c"), method=sd.ALE()).interaction_strength()
    c_k = sd.explain(f, part, ("c", "k"), method=sd.ALE(order="similarity")).interaction_strength()
    assert it["a", "c"].ale_strength == a_c
    assert it["c", "k"].ale_strength == c_k
    assert it.measure == "ale_strength"
