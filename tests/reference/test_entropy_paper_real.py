"""The entropy paper's experiments on real data (Wood et al. 2024, section 5), and their findings.

The assertions held on at least nine of ten random splits when they were written. Where the paper claims more, the test
states what we found instead.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import skedasis as sd
from tests.reference.entropy_paper import (
    Both,
    calibrated_forest,
    gaussian_process,
    importances,
    order,
    quarters,
)

pytestmark = pytest.mark.unmeasured  # networks are trained, at length
seeds = pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])

# ------------------------------------------------------------------------ section 5.1, concrete


@cache
def process(seed: int, scales: int = 1) -> Any:
    X, y, _, _ = quarters("concrete", seed)
    return gaussian_process(X, y, scales)


@cache
def concrete(seed: int, scales: int = 1) -> Both:
    """Return the importances of a Gaussian process with one length scale, as in the paper, or with eight."""
    _, _, X_test, y_test = quarters("concrete", seed)
    return importances(process(seed, scales), X_test, y_test)


@pytest.mark.slow
@seeds
def test_age_matters_most_and_is_shared_least(seed):
    found = concrete(seed)
    likelihood, entropy = found.likelihood, found.entropy
    assert order(likelihood)[0] == "age"
    second = order(likelihood)[1]
    assert likelihood["age"].lower > likelihood[second].upper
    # The paper calls it small, and near zero. Here it is smaller than all others, but its interval is above zero.
    others = [entropy[k].mean for k in entropy.features if k != "age"]
    assert entropy["age"].mean < min(others) / 2.5
    assert entropy["age"].lower > 0


@pytest.mark.slow
@seeds
def test_with_a_length_scale_for_each_feature_age_stays_first_and_last(seed):
    found = concrete(seed, scales=8)
    assert order(found.likelihood)[0] == "age"
    assert order(found.entropy)[-1] == "age"
    assert found.entropy.mean[-1] < 0.7 * np.sort(found.entropy.mean)[1]


@pytest.mark.slow
@seeds
def test_the_trees_of_a_forest_say_the_same(seed):
    # Another kind of model: a mixture of the trees' predictions, with noise estimated from out-of-bag residuals.
    X, y, X_test, y_test = quarters("concrete", seed)
    forest = RandomForestRegressor(100, oob_score=True, random_state=seed).fit(X, y)
    noise = float(np.std(y - forest.oob_prediction_))
    found = importances(sd.ensemble(forest, noise=noise), X_test, y_test, n_repeats=5)
    assert order(found.likelihood)[0] == "age"
    assert order(found.entropy)[-1] == "age"
    others = found.entropy.mean[:-1]
    assert abs(found.entropy["age"].mean) < np.median(others) / 3
    lower, _ = found.entropy.interval(0.95)
    assert np.all(lower[:-1] > 0)
    assert lower[-1] < 0.02


@pytest.mark.torch
@pytest.mark.slow
@seeds
def test_by_monte_carlo_dropout_age_is_among_the_first_and_shared_least(seed):
    pytest.importorskip("torch", reason="torch is not installed")
    from tests.reference.entropy_paper_torch import dropout_network

    X, y, X_test, y_test = quarters("concrete", seed)
    found = importances(dropout_network(X, y, seed), X_test, y_test, n_repeats=5)
    # The paper has age first for this model, too. Our networks have cement first on most splits, then age.
    assert set(order(found.likelihood)[:2]) == {"age", "cement"}
    assert order(found.entropy)[-1] == "age"
    assert found.entropy.mean[-1] < 0.8 * found.entropy.mean[:-1].min()


@pytest.mark.slow
@seeds
def test_the_entropy_changes_with_age_all_the_same(seed):
    # The global importance is almost zero; locally the entropy varies with age and between rows (Figure 10).
    _, _, X_test, _ = quarters("concrete", seed)
    method = sd.PDP(grid=np.linspace(3, 100, 30), ice="all")
    effect = sd.explain(sd.entropy(process(seed)), X_test, "age", method=method, progress=False)
    assert np.ptp(effect.value) > 1.5 * concrete(seed).entropy["age"].mean
    each = np.ptp(effect.curves.value, axis=1)
    assert np.quantile(each, 0.9) > 5 * np.quantile(each, 0.1)


@pytest.mark.slow
@seeds
def test_age_is_read_off_the_target_and_not_off_the_others(seed):
    X, y, X_test, y_test = quarters("concrete", seed)
    alone, informed = {}, {}
    for name in X.columns:
        fitted, tested = X.drop(columns=name), X_test.drop(columns=name)
        forest = RandomForestRegressor(40, random_state=0)
        alone[name] = forest.fit(fitted, X[name]).score(tested, X_test[name])
        forest.fit(fitted.assign(target=y), X[name])
        informed[name] = forest.score(tested.assign(target=y_test), X_test[name])
    others = [k for k in X.columns if k != "age"]
    assert min(alone[k] for k in others) > 0.8
    assert alone["age"] < 0.4
    assert informed["age"] > alone["age"] + 0.35
    assert all(abs(informed[k] - alone[k]) < 0.05 for k in others)


# ------------------------------------------------------------------------ section 5.2, diabetes


@cache
def diabetic(seed: int, trees: int) -> Any:
    X, y, _, _ = quarters("pima_diabetes", seed)
    return calibrated_forest(X, y, trees, seed)


def curves(quantity: Any, feature: str, grid: Any, seed: int) -> sd.Effect:
    """Return the PDP on the test rows, with all ICE curves."""
    _, _, X_test, y_test = quarters("pima_diabetes", seed)
    method = sd.PDP(grid=grid, ice="all")
    return sd.explain(quantity, X_test, feature, y=y_test, method=method, progress=False)


forests = pytest.mark.parametrize(
    ("trees", "seed"), [(100, 0), pytest.param(500, 1, marks=pytest.mark.long)]
)
PLAS, MASS = np.arange(60.0, 200.0, 5.0), np.linspace(20.0, 45.0, 11)


@pytest.mark.slow
@forests
def test_plas_is_first_and_mass_second(trees, seed):
    _, _, X_test, y_test = quarters("pima_diabetes", seed)
    found = importances(diabetic(seed, trees), X_test, y_test).likelihood
    # The paper, and Breiman before it, have age before mass. On our splits mass is nearly always before age.
    assert order(found)[:2] == ["plas", "mass"]
    assert found["plas"].lower > 0
    assert found["mass"].lower > 0
    assert found["plas"].mean > 1.5 * found["mass"].mean
    assert "age" in order(found)[:5]


@pytest.mark.long
def test_over_many_splits_age_is_third_and_entropy_peaks_at_about_150():
    importance, entropy = [], []
    for seed in range(10):
        _, _, X_test, y_test = quarters("pima_diabetes", seed)
        model = diabetic(seed, 100)
        importance.append(importances(model, X_test, y_test).likelihood.mean)
        entropy.append(curves(sd.entropy(model), "plas", PLAS, seed).value)
    mean = np.mean(importance, axis=0)
    assert [X_test.columns[j] for j in np.argsort(-mean)[:3]] == ["plas", "mass", "age"]
    assert mean[7] > 1.3 * np.sort(mean)[-4]
    together = np.mean(entropy, axis=0)
    assert 140 <= PLAS[np.argmax(together)] <= 165


@forests
def test_entropy_is_low_where_plas_is(trees, seed):
    effect = curves(sd.entropy(diabetic(seed, trees)), "plas", PLAS, seed)
    low, middle = PLAS <= 90, (PLAS >= 130) & (PLAS <= 170)
    # It increases up to about 150, where both classes are frequent. On some splits a plateau follows.
    assert effect.value[middle].max() > effect.value[low].max() + 0.07
    assert effect.value[middle].max() > effect.value.max() - 0.08


@forests
@pytest.mark.parametrize(
    ("feature", "grid", "low", "high"), [("plas", PLAS, 90, 170), ("mass", MASS, 20, 45)]
)
def test_likelihood_curves_of_the_two_classes_run_apart(trees, seed, feature, grid, low, high):
    effect = curves(sd.nll(diabetic(seed, trees)), feature, grid, seed)
    _, _, _, y_test = quarters("pima_diabetes", seed)
    label = y_test[effect.curves.row]
    ends = effect.curves.value[:, np.searchsorted(grid, [low, high])]
    rise = ends[:, 1] - ends[:, 0]
    assert np.mean(rise[label == 0] > 0) > 0.95
    assert np.mean(rise[label == 1] < 0) > 0.95


@forests
def test_low_mass_leaves_the_positive_class_less_sure_than_the_negative(trees, seed):
    # The paper sees more entropy at low mass in "generally" all positive rows. In our forests this holds for about half
    # of them, and for very few of the negative ones: the classes differ, which the PDP of all rows does not show.
    effect = curves(sd.entropy(diabetic(seed, trees)), "mass", MASS, seed)
    _, _, _, y_test = quarters("pima_diabetes", seed)
    label = y_test[effect.curves.row]
    fall = effect.curves.value[:, 0] - effect.curves.value[:, -1]
    assert np.mean(fall[label == 1] > 0) > np.mean(fall[label == 0] > 0) + 0.1
    assert fall[label == 1].mean() > fall[label == 0].mean() + 0.03
    assert effect.value[0] < effect.value[-1]


@pytest.mark.torch
@pytest.mark.slow
@seeds
def test_bayes_by_backprop_sees_the_same_in_plas(seed):
    pytest.importorskip("torch", reason="torch is not installed")
    from tests.reference.entropy_paper_torch import bayesian_network

    X, y, X_test, y_test = quarters("pima_diabetes", seed)
    model = bayesian_network(X, y, seed)
    found = importances(model, X_test, y_test, n_repeats=5).likelihood
    assert order(found)[:2] == ["plas", "mass"]
    assert found["plas"].lower > found["mass"].mean
    effect = curves(sd.entropy(model), "plas", PLAS, seed)
    assert effect.value[PLAS <= 90].max() < effect.value.max() - 0.1
    assert PLAS[np.argmax(effect.value)] >= 120
