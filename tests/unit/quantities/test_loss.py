"""Losses as quantities: accepted and rejected input, names, and that input is not modified."""

from __future__ import annotations

from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import mean_squared_error
from sklearn.tree import DecisionTreeRegressor

import skedasis as sd
from skedasis.engine import prepare
from tests.helpers import Remembers, bent, bent_slope, linear, paired, refused, same_effect, table

X = table(60)
Y = bent(X) + np.random.default_rng(3).normal(size=60)
YES = np.where(np.median(Y) < Y, "yes", "no")
TREE = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, Y)
LINEAR = LinearRegression().fit(X, Y)
FOREST = RandomForestClassifier(9, max_depth=2, random_state=0).fit(X, YES)
NUMBERS = ["squared_error", "absolute_error", "pinball"]


def squared(y, f):
    return (y - f) ** 2


def unequal(y, f):
    return (y != f).astype(float)


# ------------------------------------------------------------------------------------ values


def test_values_by_hand():
    x, y = np.array([[1.0], [2.0], [5.0]]), np.array([3.0, 2.0, 1.0])

    def f(x):
        return x[:, 0]

    assert sd.loss(f).at(x, y).tolist() == [4.0, 0.0, 16.0]
    assert sd.loss(f, "absolute_error").at(x, y).tolist() == [2.0, 0.0, 4.0]
    assert sd.loss(f, "pinball").at(x, y).tolist() == [1.0, 0.0, 2.0]
    assert sd.loss(f, "pinball", alpha=0.75).at(x, y).tolist() == [1.5, 0.0, 1.0]
    assert sd.loss(f, "zero_one").at(x, y).tolist() == [1.0, 0.0, 1.0]
    assert sd.loss(f, lambda y, f: y > f).at(x, y).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "given",
    [
        list,
        lambda y: pd.Series(y, index=range(100, 160)),
        lambda y: pl.Series(y).to_frame(),
        lambda y: y.astype(object),
        lambda y: pd.Series(y).astype("Float64"),
        lambda y: np.array([Decimal(float(v)) for v in y]),
    ],
    ids=["list", "pandas", "frame", "object", "nullable", "decimal"],
)
def test_labels_of_numbers_come_in_any_container(given):
    np.testing.assert_array_equal(sd.loss(LINEAR).at(X, given(Y)), sd.loss(LINEAR).at(X, Y))


@pytest.mark.parametrize("y", [YES, list(YES), pd.Series(YES, dtype="category")])
def test_labels_of_classes_come_in_any_container(y):
    wrong = [float(p != t) for p, t in zip(FOREST.predict(X), YES, strict=True)]
    assert 0 < sum(wrong) < 30
    assert sd.loss(FOREST, "zero_one").at(X, y).tolist() == wrong
    assert sd.loss(FOREST, unequal).at(X, y).tolist() == wrong


def test_probabilities_of_a_callable_are_those_of_labels_0_and_1_or_of_indices():
    p = FOREST.predict_proba
    two = sd.loss(sd.probability(lambda X: p(X)[:, 1])).at(X, YES == "yes")
    expected = (p(X)[:, 1] - (YES == "yes")) ** 2
    np.testing.assert_allclose(two, expected, rtol=1e-13, atol=1e-16)
    index = sd.loss(sd.probability(p, class_=0)).at(X, (YES == "yes").astype(int))
    np.testing.assert_allclose(index, expected, rtol=1e-13, atol=1e-16)


# ------------------------------------------------------------------- names, units, provenance


def test_names_and_units():
    assert sd.loss(LINEAR).axis == "squared error"
    assert sd.loss(LINEAR).describe() == "squared error(LinearRegression)"
    assert sd.loss(LINEAR, "absolute_error").unit is None
    assert sd.loss(LINEAR, "pinball", alpha=0.9).name == "pinball loss (alpha 0.9)"
    price = sd.prediction(linear, name="price", unit="EUR")
    assert sd.loss(price).axis == "squared error of price [EUR²]"
    assert sd.loss(price, "absolute_error").axis == "absolute error of price [EUR]"
    assert sd.loss(price, "pinball").axis == "pinball loss (alpha 0.5) of price [EUR]"
    assert sd.loss(price, "zero_one").axis == "zero-one loss of price"
    assert sd.loss(price, squared).axis == "squared of price"
    assert sd.loss(price, lambda y, f: y - f).name == "loss of price"
    assert sd.loss(price, partial(squared)).name == "loss of price"
    assert sd.loss(price, name="regret", unit="USD").axis == "regret [USD²]"
    assert sd.loss(linear, squared, unit="EUR²").axis == "squared [EUR²]"
    assert sd.loss(linear, unit="m/s").unit == "(m/s)²"
    assert sd.loss(linear, unit="m²").unit == "(m²)²"
    assert sd.loss(linear, unit="%").unit == "%²"
    assert sd.loss(FOREST, "log_loss").axis == "log loss [nats]"
    assert sd.loss(sd.probability(FOREST)).axis == "squared error of P(y = yes)"


# ---------------------------------------------------------------------------- local effects


def way(q, y=Y):
    return sd.explain(q, X, 0, y=y).provenance["local_effects"]


def test_a_loss_of_a_piecewise_constant_model_is_explained_by_steps():
    for kind in (*NUMBERS, squared):
        assert (
            way(sd.loss(TREE, kind))
            == "differences across bins: DecisionTreeRegressor is piecewise constant"
        )
    assert way(sd.loss(sd.probability(FOREST)), YES).startswith(
        "differences across bins: RandomForest"
    )
    assert (
        way(sd.loss(LINEAR, "zero_one"))
        == "differences across bins: a zero-one loss is piecewise constant"
    )
    logistic = LogisticRegression().fit(X, YES)
    assert (
        way(sd.loss(logistic, unequal), YES)
        == "differences across bins: predicted classes are piecewise constant"
    )


def test_rhale_of_a_tree_s_loss_rises_by_what_the_loss_rises():
    """With a single feature, the effect increases from end to end by the sum of the loss's jumps."""
    x = np.linspace(0, 1, 81)[:, None]
    y = np.sin(9 * x[:, 0])
    tree = DecisionTreeRegressor(max_leaf_nodes=4, random_state=0).fit(x, y)
    constant = np.full(81, 0.4)
    e = sd.explain(sd.loss(tree), x, 0, y=constant)
    ends = (0.4 - tree.predict(x[[0, -1]])) ** 2
    assert e.value[-1] - e.value[0] == pytest.approx(ends[1] - ends[0], rel=1e-12)
    assert abs(ends[1] - ends[0]) > 0.01


def test_other_losses_take_differences():
    assert way(sd.loss(bent)) == "central differences"
    assert way(sd.loss(sd.prediction(bent, slope=bent_slope), squared)) == "central differences"
    model = LogisticRegression().fit(X, YES)

    def brier(y, p):
        return (p[:, 1] - (y == "yes")) ** 2

    own = sd.loss(model, brier, response="predict_proba")
    assert way(own, YES) == "central differences"
    exact = sd.explain(sd.loss(sd.probability(model)), X, 0, y=YES, method=sd.DALE(bins=3))
    found = sd.explain(own, X, 0, y=YES, method=sd.DALE(bins=3))
    np.testing.assert_allclose(found.rows.effect, exact.rows.effect, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("hidden", [False, True])
def test_differences_of_a_loss_suit_a_model_in_single_precision(hidden):
    def model(X):
        x = X.astype(np.float32)
        found = np.sin(x[:, 0]) + np.float32(0.3) * x[:, 1]
        return found.astype(float) if hidden else found

    y = np.full(60, 2.0)
    e = sd.explain(sd.loss(model), X, 0, y=y, method=sd.DALE(bins=3))
    expected = -2 * (y - np.sin(X[:, 0]) - 0.3 * X[:, 1]) * np.cos(X[:, 0])
    np.testing.assert_allclose(e.rows.effect, expected, atol=2e-3)


# ------------------------------------------------------------------------- batches and weights


KNOWN = ["slopes", "differences", "steps", "zero_one", "own", "log_loss"]


@pytest.mark.parametrize(
    ("method", "q"), paired(["ale", "rhale", "pdp", "uale", "ice", "ale"], KNOWN)
)
def test_batches_do_not_matter(method, q, monkeypatch):
    quantity, y = {
        "slopes": (sd.loss(sd.prediction(bent, slope=bent_slope), "pinball", alpha=0.7), Y),
        "differences": (sd.loss(bent), Y),
        "steps": (sd.loss(TREE, "absolute_error"), Y),
        "zero_one": (sd.loss(FOREST, "zero_one"), YES),
        "own": (sd.loss(FOREST, lambda y, f: (y == "no") * 3.0 + (y == f)), YES),
        "log_loss": (sd.loss(FOREST, "log_loss"), YES),
    }[q]
    w = np.arange(60) % 3 + 0.5
    effects = []
    for size in (100_000, 17, 64):
        monkeypatch.setattr(prepare, "CALL_ROWS", size)
        effects.append(sd.explain(quantity, X, 1, method=method, y=y, sample_weight=w))
    for e in effects[1:]:
        same_effect(e, effects[0], rtol=1e-9)


def test_every_slope_row_asks_the_model_for_a_row_besides():
    model, slope = Remembers(bent), Remembers(bent_slope)
    e = sd.explain(sd.loss(sd.prediction(model, slope=slope)), X, [0, 1], method="dale", y=Y)
    p = e.provenance
    assert (p["effect_rows"], p["slope_rows"], p["slope_calls"]) == (0, 60, 1)
    assert sum(map(len, slope.seen)) == 60
    assert sum(map(len, model.seen)) == 60 + p["check_rows"] + p["score_rows"]


def test_a_loss_costs_no_model_row_more_than_its_prediction():
    for method in ("pdp", "ale"):
        rows = [
            sd.explain(q, X, 0, method=method, y=Y).provenance["effect_rows"]
            for q in (LINEAR, sd.loss(LINEAR), sd.loss(LINEAR, squared))
        ]
        assert len(set(rows)) == 1


# ---------------------------------------------------------------- custom loss functions


def test_a_function_gets_labels_as_they_are_and_nothing_it_could_change():
    y, seen = Y.copy(), []

    def own(labels, prediction):
        seen.append((labels.dtype, prediction.shape))
        assert not labels.flags.writeable
        loss = (labels - prediction) ** 2
        prediction[:] = np.nan
        return loss

    held = linear(X)
    np.testing.assert_array_equal(sd.loss(lambda X: held[: len(X)], own).at(X, y), (Y - held) ** 2)
    np.testing.assert_array_equal(held, linear(X))
    np.testing.assert_array_equal(y, Y)
    assert seen == [(np.dtype(float), (60,))]


def test_a_function_gets_what_response_says():
    seen = []

    def own(y, p):
        seen.append(p)
        return np.zeros(len(y))

    sd.loss(FOREST, own).at(X, YES)
    sd.loss(FOREST, own, response="predict").at(X, YES)
    sd.loss(FOREST, own, response="predict_proba").at(X, YES)
    sd.loss(sd.probability(FOREST, class_="no"), own).at(X, YES)
    sd.loss(lambda X: np.c_[X, X], own).at(X, YES)
    np.testing.assert_array_equal(seen[0], FOREST.predict(X))
    np.testing.assert_array_equal(seen[1], FOREST.predict(X))
    np.testing.assert_array_equal(seen[2], FOREST.predict_proba(X))
    np.testing.assert_array_equal(seen[3], FOREST.predict_proba(X)[:, 0])
    np.testing.assert_array_equal(seen[4], np.c_[X, X])


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (mean_squared_error, ["mean_squared_error", "a single number", "(60,)", "not their mean"]),
        (lambda y, f: None, ["the loss function function", "got None", "one number for each row"]),
        (lambda y, f: (y - f)[:-1], ["output of shape (59,)", "(60,)"]),
        (lambda y, f: np.where(y > np.median(y), np.nan, 0), ["NaN or infinity for 30 of 60 rows"]),
    ],
)
def test_functions_that_return_no_losses_are_refused_by_name(own, words):
    with refused(sd.ModelOutputError, "the loss function", *words):
        sd.loss(linear, own).at(X, Y)


# ----------------------------------------------------------------------------- several outputs


def outputs(X):
    return np.c_[linear(X), bent(X)]


def test_one_of_several_outputs():
    expected = sd.loss(bent).at(X, Y)
    q = sd.loss(outputs, output=1)
    assert q.name == "squared error of prediction 1"
    np.testing.assert_array_equal(q.at(X, Y), expected)
    np.testing.assert_array_equal(sd.loss(outputs, squared, output=1).at(X, Y), expected)
    given = sd.loss(sd.prediction(outputs, output=np.int64(1)))
    np.testing.assert_array_equal(given.at(X, Y), expected)
    np.testing.assert_array_equal(sd.loss(sd.prediction(outputs), output=1).at(X, Y), expected)
    multi = LinearRegression().fit(X, outputs(X))
    assert sd.loss(multi, output=0).at(X, linear(X)).max() < 1e-20
    e = sd.explain(sd.loss(multi, output=1), X, 0, y=Y, method="dale")
    assert e.provenance["local_effects"].startswith("closed form of LinearRegression")


def test_outputs_that_are_not_chosen_or_not_there_are_refused():
    for kind in ("squared_error", "zero_one"):
        with refused(sd.ModelOutputError, "(60, 2)", "output=0"):
            sd.loss(outputs, kind).at(X, Y)
    with refused(sd.ModelOutputError, "column 2"):
        sd.loss(outputs, output=2).at(X, Y)
    with refused(sd.ModelOutputError, "Leave output out"):
        sd.loss(linear, output=0).at(X, Y)
    for several in ("all", ["a", "b"], True):
        with refused(sd.DataError, "loss(output)", "the index of one output"):
            sd.loss(outputs, output=several)
    with refused(sd.UnsupportedError, "one output", "sd.prediction(model, output=0)"):
        sd.loss(sd.prediction(outputs, output="all"))
    with refused(sd.UnsupportedError, "a model for output=1", "Leave output out"):
        sd.loss(sd.prediction(outputs, output=0), output=1)
    with refused(sd.DataError, "log_loss", "output=1"):
        sd.loss(FOREST, "log_loss", output=1)


# ----------------------------------------------------------------------------- rejected input


@pytest.mark.parametrize("alpha", [0, 1, np.nan, None, True])
def test_alphas_that_are_none_are_refused(alpha):
    with refused(sd.DataError, "loss(alpha)", "between 0 and 1"):
        sd.loss(LINEAR, "pinball", alpha=alpha)


def test_settings_without_effect_are_refused():
    with refused(sd.DataError, "loss(alpha)", "0.9 with kind='squared_error'", "kind='pinball'"):
        sd.loss(LINEAR, alpha=0.9)
    with refused(sd.DataError, "loss(response)", "'predict' with kind='zero_one'"):
        sd.loss(FOREST, "zero_one", response="predict")
    with refused(sd.DataError, "loss(response)", "'proba'", "'predict_proba'"):
        sd.loss(FOREST, squared, response="proba")
    with refused(sd.UnsupportedError, "no classifier", "Leave response out"):
        sd.loss(LINEAR, squared, response="predict_proba")
    with refused(sd.UnsupportedError, "no predict_proba", "response='predict'"):
        sd.loss(RidgeClassifier().fit(X, YES), squared, response="predict_proba")


@pytest.mark.parametrize("kind", ["squared_error", "zero_one", squared])
def test_labels_that_are_missing_or_too_few_are_refused(kind):
    q = sd.loss(linear, kind)
    with refused(sd.DataError, q.describe(), "no y", "Pass y="):
        q.at(X)
    with refused(sd.DataError, "y", "length 59", "length 60"):
        q.at(X, Y[:-1])
    with refused(sd.DataError, "missing labels (NaN or None) for 1 of 60"):
        q.at(X, [None, *Y[1:]])


@pytest.mark.parametrize(
    "y",
    [
        YES,
        np.array([*Y[1:], "1.5"], dtype=object),
        np.full(60, "2020-01-01", dtype="M8[D]"),
        Y + 1j,
        np.where(np.arange(60) == 5, np.inf, Y),
    ],
    ids=["text", "one text", "dates", "complex", "infinite"],
)
def test_labels_that_are_no_numbers_are_refused(y):
    with refused(sd.DataError, "LinearRegression): y", "number"):
        sd.loss(LINEAR).at(X, y)


def test_predictions_that_are_no_numbers_are_refused():
    with refused(sd.ModelOutputError, "squared error", "output of type <U3", "numbers"):
        sd.loss(lambda X: np.full(len(X), "yes")).at(X, Y)
    for bad in (np.nan, 1e200):
        with refused(sd.ModelOutputError, "squared error", "NaN or infinity"):
            sd.loss(lambda X, bad=bad: np.full(len(X), bad)).at(X, Y)
    with refused(sd.ModelOutputError, "zero-one", "type float64", "labels of type <U3"):
        sd.loss(linear, "zero_one").at(X, YES)
    for kind in ("squared_error", squared):
        with refused(sd.ModelOutputError, "output of shape (59,)"):
            sd.loss(lambda X: linear(X)[1:], kind).at(X, Y)
