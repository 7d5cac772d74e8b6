"""Numerical differences: exact between integers, and step functions are detected instead of differentiated."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestRegressor,
)

import skedasis as sd

METHODS = [
    sd.ALE(),
    sd.DALE(2),
    sd.DALE(20),
    sd.RHALE(),
    sd.RHALE(sd.Greedy()),
    sd.RHALE(sd.AutoUniform()),
    sd.UALE(),
    sd.RHALE(local_effects="steps"),
]


def whole(levels, rows=90):
    X = np.random.default_rng(0).normal(size=(rows, 2))
    X[:, 0] = np.resize(levels, rows)
    return X


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("levels", [[0, 1], [0, 1, 2], [-4, -3, -2]], ids=str)
def test_a_step_between_whole_numbers_has_its_own_height(method, levels):
    X = whole(levels)
    middle = (levels[0] + levels[-1]) / 2 + 0.25
    e = sd.explain(lambda X: 5.0 * (X[:, 0] > middle) + X[:, 1], X, 0, method=method)
    assert e.value[-1] - e.value[0] == pytest.approx(5.0, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("method", [sd.RHALE(), sd.RHALE(sd.Greedy()), sd.UALE()], ids=repr)
def test_a_known_piecewise_constant_model_steps_from_each_value_to_the_next(method):
    X = whole([0, 4, 10], rows=300)
    y = 5.0 * (X[:, 0] > 5) * (1 + (X[:, 1] > 0))
    forest = RandomForestRegressor(10, bootstrap=False, max_features=1.0, random_state=0).fit(X, y)
    e = sd.explain(forest, X, 0, method=method)
    assert set(e.x) <= {0.0, 4.0, 10.0}
    rows = X[X[:, 0] >= 4]
    rise = np.array(
        [forest.predict([[10.0, b]])[0] - forest.predict([[4.0, b]])[0] for b in rows[:, 1]]
    )
    assert e.value[-1] - e.value[0] == pytest.approx(rise.mean())
    # Bins are closed on the right: the rows of the last bin have the value 10.
    last = rise[rows[:, 0] == 10] / 6
    assert e.bins.std[-1] == pytest.approx(np.std(last, ddof=method.ddof))


def test_the_model_is_only_asked_at_whole_numbers_of_the_data():
    asked = []
    X = whole([2, 3, 4, 5])
    sd.explain(lambda X: asked.append(X[:, 0].copy()) or X[:, 0], X, 0, method=sd.RHALE())
    assert set(np.concatenate(asked)) <= {2.0, 3.0, 4.0, 5.0}


def test_derivatives_of_a_known_tree_are_refused_and_of_a_suspected_one_are_not():
    X = whole([0, 1])
    forest = RandomForestRegressor(5, random_state=0).fit(X, X[:, 1])
    slopes = sd.RHALE(local_effects="slopes")
    with pytest.raises(sd.UnsupportedError, match="without derivatives"):
        sd.explain(forest, X, 1, method=slopes)
    e = sd.explain(lambda X: forest.predict(X) + 0.0, X, 1, method=slopes)
    assert e.provenance["local_effects"] == "central differences, as requested"


def test_a_wrapped_model_whose_jumps_lie_on_the_rows_is_seen_to_be_piecewise_constant():
    """Gradient boosting may split at a row's own value: a small step then crosses the jump and gives a huge slope."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)).round(2)
    model = HistGradientBoostingClassifier(random_state=0).fit(X, X[:, 0] + X[:, 1] ** 2 > 0.5)
    es = sd.explain(lambda X: model.predict_proba(X)[:, 1], X)
    for e in es.values():
        assert "detected" in e.provenance["local_effects"]
        assert e.importance < 0.5  # in units of probability


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.maximum(0.0, x - 1.0),
        lambda x: 1 / (1 + np.exp(-20 * x)),
        np.abs,
        lambda x: 1e-6 * x**2,
        lambda x: 3e8 + 2 * x,
    ],
    ids=["hinge", "steep", "corner", "tiny", "offset"],
)
def test_a_smooth_model_is_not_taken_for_piecewise_constant(f):
    X = np.random.default_rng(0).normal(size=(400, 2))
    e = sd.explain(lambda X: f(X[:, 0]), X, 0)
    assert e.provenance["local_effects"] == "central differences"


def of_many_numbers(rows=400):
    X = np.random.default_rng(0).normal(size=(rows, 2))
    X[:, 0] = np.random.default_rng(1).integers(0, 300, rows)
    return X


@pytest.mark.parametrize("make", [RandomForestRegressor, GradientBoostingRegressor])
def test_a_wrapped_model_of_trees_is_found_out_by_whole_numbers(make):
    """Most responses change from one integer to the next, but adjacent steps are not similar."""
    X = of_many_numbers()
    y = np.sin(X[:, 0] / 60) + X[:, 0] / 300 * X[:, 1]
    model = make(n_estimators=20, random_state=0).fit(X, y)
    e = sd.explain(lambda X: model.predict(X) + 0.0, X, 0)
    assert "detected" in e.provenance["local_effects"]
    own = sd.explain(model, X, 0, tree="off")
    np.testing.assert_array_equal(e.value, own.value)
    assert e.importance == own.importance


@pytest.mark.parametrize(
    "f",
    [
        lambda x: 3 * x,
        lambda x: (x - 90) ** 2,
        lambda x: np.sin(2 * np.pi * x / 24),
        lambda x: np.maximum(0.0, x - 200),
        lambda x: np.exp(x / 30),
        lambda x: np.abs(x - 150),
        lambda x: 3e8 + 2 * x,
        lambda x: 0 * x,
    ],
    ids=["line", "square", "days", "hinge", "exp", "corner", "offset", "nothing"],
)
def test_a_smooth_model_of_whole_numbers_is_not_taken_for_piecewise_constant(f):
    e = sd.explain(lambda X: f(X[:, 0]), of_many_numbers(), 0)
    assert e.spec.local_effects == "integer_steps"


@pytest.mark.parametrize("levels", [range(2), range(3), range(12)], ids=len)
def test_few_whole_numbers_may_bend_as_they_like(levels):
    e = sd.explain(lambda X: X[:, 0] ** 2, whole(list(levels), 300), 0)
    assert e.spec.local_effects == "value_steps"
    rise = levels[-1] ** 2 - levels[0] ** 2
    for method in (sd.DALE(5), sd.DALE(20), sd.RHALE(3), sd.RHALE(sd.AutoUniform()), sd.ALE(4)):
        e = sd.explain(lambda X: X[:, 0] ** 2, whole(list(levels), 300), 0, method=method)
        assert e.value[-1] - e.value[0] == pytest.approx(rise, rel=1e-12)
