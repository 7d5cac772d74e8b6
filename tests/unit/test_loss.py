"""Losses as quantities: accepted and rejected input, names, and that input is not modified."""

from __future__ import annotations

import pickle
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import mean_squared_error
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import skedasis as sd
from skedasis.engine import plan
from tests.helpers import METHODS, Remembers, bent, bent_slope, linear, refused, same_effect, table

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
        pd.Series,
        lambda y: pd.Series(y, index=range(100, 160)),
        pl.Series,
        lambda y: pl.Series(y).to_frame(),
        lambda y: y[:, None],
        lambda y: y.astype(object),
        lambda y: pd.Series(y).astype("Float64"),
        lambda y: np.array([Decimal(float(v)) for v in y]),
    ],
    ids=["list", "pandas", "index", "polars", "frame", "column", "object", "nullable", "decimal"],
)
@pytest.mark.parametrize("kind", NUMBERS)
def test_labels_of_numbers_come_in_any_container(given, kind):
    expected = sd.loss(LINEAR, kind).at(X, Y)
    np.testing.assert_array_equal(sd.loss(LINEAR, kind).at(X, given(Y)), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, np.uint8, bool])
def test_labels_are_what_their_type_holds_and_are_subtracted_in_double(dtype):
    y = np.abs(Y * 10).astype(dtype)
    exact = [(float(v) - float(f)) ** 2 for v, f in zip(y, linear(X), strict=True)]
    np.testing.assert_allclose(sd.loss(linear).at(X, y), exact, rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.uint8])
def test_predictions_are_subtracted_in_double_too(dtype):
    given = np.arange(60).astype(dtype)
    y = np.full(60, 200)
    expected = [(200 - k) ** 2 for k in range(60)]
    assert sd.loss(lambda X: given[: len(X)]).at(X, y).tolist() == expected


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_losses_have_no_scale(scale):
    for kind in NUMBERS:
        power = 2 if kind == "squared_error" else 1
        found = sd.loss(lambda X: scale * linear(X), kind).at(X, scale * Y)
        expected = scale**power * sd.loss(linear, kind).at(X, Y)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_frames_reach_a_callable_as_they_are_and_an_estimator_as_it_was_fitted(library):
    frame = library({c: X[:, j] for j, c in enumerate("abc")})
    expected = sd.loss(linear).at(X, Y)

    def of_frame(F):
        assert isinstance(F, library)
        return 3.0 * F["a"].to_numpy() - F["b"].to_numpy()

    np.testing.assert_allclose(sd.loss(of_frame).at(frame, Y), expected, rtol=1e-14)
    plain = sd.explain(sd.loss(LINEAR), X, 0, y=Y)
    same_effect(sd.explain(sd.loss(LINEAR), frame, "a", y=Y), plain)


@pytest.mark.parametrize(
    "y", [YES, YES.astype(object), list(YES), pd.Series(YES, dtype="category")]
)
def test_labels_of_classes_come_in_any_container(y):
    wrong = [float(p != t) for p, t in zip(FOREST.predict(X), YES, strict=True)]
    assert 0 < sum(wrong) < 30
    assert sd.loss(FOREST, "zero_one").at(X, y).tolist() == wrong
    assert sd.loss(FOREST, unequal).at(X, y).tolist() == wrong


def test_labels_equal_classes_of_another_type_of_number():
    model = DecisionTreeClassifier(max_depth=1).fit(X, (YES == "yes").astype(int))
    expected = sd.loss(model, "zero_one").at(X, (YES == "yes").astype(int))
    for y in (YES == "yes", (YES == "yes").astype(float), (YES == "yes").astype(object)):
        np.testing.assert_array_equal(sd.loss(model, "zero_one").at(X, y), expected)


def test_a_function_may_predict_classes():
    def model(X):
        return np.where(X[:, 0] > 0, "yes", "no")

    expected = ((X[:, 0] > 0) != (YES == "yes")).astype(float)
    np.testing.assert_array_equal(sd.loss(model, "zero_one").at(X, YES), expected)
    objects = sd.loss(lambda X: model(X).astype(object), "zero_one")
    np.testing.assert_array_equal(objects.at(X, YES), expected)


def test_classifiers_without_probabilities_have_a_zero_one_loss():
    model = make_pipeline(StandardScaler(), RidgeClassifier()).fit(X, YES)
    wrong = np.mean(model.predict(X) != YES)
    assert sd.loss(model, "zero_one").at(X, YES).mean() == pytest.approx(wrong)


def test_a_column_of_predictions_is_one_prediction_a_row():
    expected = sd.loss(linear).at(X, Y)
    np.testing.assert_array_equal(sd.loss(lambda X: linear(X)[:, None]).at(X, Y), expected)
    np.testing.assert_array_equal(sd.loss(lambda X: linear(X)[:, None], squared).at(X, Y), expected)


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


def test_the_provenance_says_what_was_explained():
    e = sd.explain(sd.loss(LINEAR, unit="EUR"), X, 0, y=Y)
    assert (e.provenance["quantity"], e.provenance["unit"]) == (
        "squared error(LinearRegression)",
        "EUR²",
    )


@pytest.mark.many
@pytest.mark.parametrize(
    "q",
    [
        sd.loss(LINEAR),
        sd.loss(LINEAR, "pinball", alpha=0.3),
        sd.loss(FOREST, "zero_one"),
        sd.loss(FOREST, "log_loss"),
        sd.loss(FOREST, unequal),
        sd.loss(sd.prediction(bent, slope=bent_slope)),
        sd.loss(sd.probability(FOREST)),
    ],
    ids=lambda q: q.describe(),
)
def test_losses_pickle(q):
    y = YES if FOREST in (getattr(q, "model", None), getattr(q, "of", q).model) else Y
    again = pickle.loads(pickle.dumps(q))
    np.testing.assert_array_equal(again.at(X, y), q.at(X, y))
    same_effect(sd.explain(again, X, 1, y=y), sd.explain(q, X, 1, y=y))


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


def test_a_prediction_that_meets_its_label_has_slope_zero():
    f = sd.prediction(bent, slope=bent_slope)
    for kind in NUMBERS:
        e = sd.explain(sd.loss(f, kind), X, 0, y=bent(X), method=sd.DALE(bins=3))
        assert (e.rows.effect == 0).all()


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


class Loose:
    """Trees summed in arbitrary order: the last digit of their large predictions differs between calls."""

    piecewise_constant = True

    def __init__(self):
        self.calls = 0

    def predict(self, X):
        self.calls += 1
        return 2000.0 + np.floor(X[:, 0]) + self.calls % 2 * 2 * np.spacing(2000.0)


def test_the_last_digit_of_a_forest_is_no_second_answer_though_its_loss_is_small():
    y = 2000.0 + np.floor(X[:, 0]) + 0.01
    e = sd.explain(sd.loss(Loose()), X, 0, y=y)
    assert e.provenance["quantity"] == "squared error(Loose)"
    forest = RandomForestRegressor(50, n_jobs=2, random_state=0).fit(X, y)
    for _ in range(3):
        sd.explain(sd.loss(forest), X, 0, y=y, method="ale")


# ------------------------------------------------------------------------- batches and weights


KNOWN = ["slopes", "differences", "steps", "zero_one", "own", "log_loss"]
APPLY = [(m, q) for m in sorted(METHODS) for q in KNOWN if m != "dale" or q in KNOWN[:2]]


@pytest.mark.many
@pytest.mark.thinned
@pytest.mark.parametrize(("method", "q"), APPLY)
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
        monkeypatch.setattr(plan, "CALL_ROWS", size)
        effects.append(sd.explain(quantity, X, 1, method=method, y=y, sample_weight=w))
    for e in effects[1:]:
        same_effect(e, effects[0], rtol=1e-9)


@pytest.mark.parametrize("method", ["pdp", "ale", "rhale"])
def test_weights_are_repetitions_and_labels_stay_with_their_rows(method):
    w = np.arange(60) % 3
    e = sd.explain(sd.loss(LINEAR), X, 0, method=method, y=Y, sample_weight=w)
    again = sd.explain(
        sd.loss(LINEAR), np.repeat(X, w, axis=0), 0, method=method, y=np.repeat(Y, w)
    )
    np.testing.assert_allclose(e.x, again.x, rtol=1e-12)
    np.testing.assert_allclose(e.value, again.value, rtol=1e-9, atol=1e-12)
    if method == "pdp":
        np.testing.assert_allclose(e.heterogeneity, again.heterogeneity, rtol=1e-9)
    else:
        np.testing.assert_allclose(e.accumulated_std, again.accumulated_std, rtol=1e-9)


def test_threads_do_not_matter(monkeypatch):
    monkeypatch.setattr(plan, "CALL_ROWS", 20)
    one, two = (sd.explain(sd.loss(bent), X, 0, y=Y, n_jobs=t) for t in (1, 2))
    same_effect(one, two)


def test_every_slope_row_asks_the_model_for_a_row_besides():
    model, slope = Remembers(bent), Remembers(bent_slope)
    e = sd.explain(sd.loss(sd.prediction(model, slope=slope)), X, [0, 1], method="dale", y=Y)
    p = e.provenance
    assert (p["model_rows"], p["slope_rows"], p["slope_calls"]) == (0, 60, 1)
    assert sum(map(len, slope.seen)) == 60
    assert sum(map(len, model.seen)) == 60 + p["check_rows"] + p["score_rows"]


def test_a_loss_costs_no_model_row_more_than_its_prediction():
    for method in ("pdp", "ale"):
        rows = [
            sd.explain(q, X, 0, method=method, y=Y).provenance["model_rows"]
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


def test_a_function_that_writes_to_the_labels_is_stopped_and_named():
    def greedy(y, f):
        y[:] = f
        return y - f

    y = Y.copy()
    with pytest.raises(ValueError, match="read-only") as caught:
        sd.loss(linear, greedy).at(X, y)
    assert "raised in the loss function greedy" in "".join(caught.value.__notes__)
    np.testing.assert_array_equal(y, Y)


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
        (lambda y, f: (y - f)[:, None] * (y - f), ["output of shape (60, 60)"]),
        (lambda y, f: np.where(y > np.median(y), np.nan, 0), ["NaN or infinity for 30 of 60 rows"]),
        (lambda y, f: np.where(y > np.median(y), np.inf, 0), ["NaN or infinity for 30 of 60 rows"]),
        (lambda y, f: np.full(len(y), "much"), ["output of type <U4", "numbers"]),
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


@pytest.mark.parametrize(
    "kind", [DecisionTreeClassifier(max_depth=2), MultiOutputClassifier(FOREST)]
)
def test_one_of_several_outputs_of_a_classifier(kind):
    low = np.where(X[:, 1] < 0, "low", "high")
    model = kind.fit(X, np.c_[YES, low])
    q = sd.loss(model, "zero_one", output=1)
    np.testing.assert_array_equal(q.at(X, low), model.predict(X)[:, 1] != low)
    np.testing.assert_array_equal(
        sd.loss(model, unequal, output=0).at(X, YES), model.predict(X)[:, 0] != YES
    )
    with refused(sd.DataError, "zero-one loss", "yes", "['high', 'low']"):
        q.at(X, YES)
    with refused(sd.ModelOutputError, "2 outputs", "output=0"):
        sd.loss(model, "zero_one")


def test_outputs_that_are_not_chosen_or_not_there_are_refused():
    with refused(sd.ModelOutputError, "squared error", "(60, 2)", "sd.loss(model, output=0)"):
        sd.loss(outputs).at(X, Y)
    with refused(sd.ModelOutputError, "zero-one", "(60, 2)", "sd.loss(model, output=0)"):
        sd.loss(outputs, "zero_one").at(X, Y)
    with refused(sd.ModelOutputError, "column 2"):
        sd.loss(outputs, output=2).at(X, Y)
    with refused(sd.ModelOutputError, "Leave output out"):
        sd.loss(linear, output=0).at(X, Y)
    for several in ("all", ["a", "b"], True, 0.0):
        with refused(sd.DataError, "loss(output)", "the index of one output"):
            sd.loss(outputs, output=several)
    for quantity in (sd.prediction(outputs, output="all"), sd.probability(FOREST, class_="all")):
        with refused(sd.UnsupportedError, "one output", "sd.prediction(model, output=0)"):
            sd.loss(quantity)
    with refused(sd.UnsupportedError, "a model for output=1", "Leave output out"):
        sd.loss(sd.prediction(outputs, output=0), output=1)
    with refused(sd.UnsupportedError, "a model for output=1"):
        sd.loss(sd.probability(FOREST), output=1)
    with refused(sd.DataError, "log_loss", "output=1"):
        sd.loss(FOREST, "log_loss", output=1)
    with refused(sd.ModelOutputError, "(60, 2)", "sd.probability(model, class_=0)"):
        sd.loss(sd.probability(FOREST.predict_proba)).at(X, YES == "yes")


# ----------------------------------------------------------------------------- rejected input


@pytest.mark.parametrize("kind", ["mse", "log-loss", None, 3, np.zeros(2), ["squared_error"]])
def test_kinds_that_are_none_are_refused(kind):
    with refused(sd.DataError, "loss(kind)", "'squared_error', 'absolute_error', 'pinball'"):
        sd.loss(LINEAR, kind)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("log-loss", "log_loss"),
        ("zero-one", "zero_one"),
        ("squared_eror", "squared_error"),
    ],
)
def test_misspelt_kinds_are_told_what_they_may_mean(name, kind):
    with refused(sd.DataError, "loss(kind)", repr(name), f"Did you mean '{kind}'?"):
        sd.loss(LINEAR, name)
    with refused(sd.DataError, "loss(kind)", "Name one"):
        sd.loss(LINEAR, "good")


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, np.nan, "0.5", None, True, np.array([0.5])])
def test_alphas_that_are_none_are_refused(alpha):
    with refused(sd.DataError, "loss(alpha)", "between 0 and 1"):
        sd.loss(LINEAR, "pinball", alpha=alpha)


def test_settings_without_effect_are_refused():
    with refused(sd.DataError, "loss(alpha)", "0.9 with kind='squared_error'", "kind='pinball'"):
        sd.loss(LINEAR, alpha=0.9)
    with refused(sd.DataError, "loss(alpha)", "the loss function squared"):
        sd.loss(LINEAR, squared, alpha=0.9)
    with refused(sd.DataError, "loss(response)", "'predict' with kind='zero_one'"):
        sd.loss(FOREST, "zero_one", response="predict")
    with refused(sd.DataError, "loss(response)", "'proba'", "'predict_proba'"):
        sd.loss(FOREST, squared, response="proba")
    with refused(sd.UnsupportedError, "no classifier", "Leave response out"):
        sd.loss(LINEAR, squared, response="predict_proba")
    with refused(sd.UnsupportedError, "response='predict'"):
        sd.loss(sd.probability(FOREST), squared, response="predict")
    with refused(sd.UnsupportedError, "no predict_proba", "response='predict'"):
        sd.loss(RidgeClassifier().fit(X, YES), squared, response="predict_proba")
    with refused(sd.UnsupportedError, "output=0"):
        sd.loss(FOREST, squared, response="predict_proba", output=0)


@pytest.mark.parametrize("kind", NUMBERS)
def test_losses_of_numbers_of_a_classifier_are_refused_with_what_to_do(kind):
    fixes = ["zero_one", "log_loss", f"sd.loss(sd.probability(model, class_=...), '{kind}')"]
    with refused(sd.UnsupportedError, "RandomForestClassifier", "a classifier", *fixes):
        sd.loss(FOREST, kind)


def test_what_is_no_model_is_refused():
    with refused(sd.UnsupportedError, "the class LinearRegression"):
        sd.loss(LinearRegression)
    with refused(sd.UnsupportedError, "the class LogisticRegression"):
        sd.loss(LogisticRegression, "zero_one")
    with refused(sd.UnsupportedError, "a callable or an object with predict"):
        sd.loss(3)
    for quantity in (sd.logit(FOREST), sd.entropy(FOREST), sd.loss(LINEAR)):
        with refused(sd.UnsupportedError, "the quantity", "a prediction of the label"):
            sd.loss(quantity)
    with refused(sd.UnsupportedError, "P(y = yes)", "sd.loss(model, 'zero_one')"):
        sd.loss(sd.probability(FOREST), "zero_one")
    with refused(sd.UnsupportedError, "P(y = yes)", "the fitted classifier itself"):
        sd.loss(sd.probability(FOREST), "log_loss")
    with refused(sd.UnsupportedError, "Count class_ from 0"):
        sd.loss(sd.probability(FOREST.predict_proba, class_=-1))
    with pytest.raises(sd.UnsupportedError):
        sd.loss(LINEAR, "log_loss")


@pytest.mark.parametrize("kind", [*NUMBERS, "zero_one", squared])
def test_labels_that_are_missing_or_too_few_are_refused(kind):
    q = sd.loss(linear, kind)
    with refused(sd.DataError, q.describe(), "no y", "Pass y="):
        q.at(X)
    with refused(sd.DataError, "no y"):
        sd.explain(q, X, 0)
    with refused(sd.DataError, "y", "length 59", "length 60"):
        q.at(X, Y[:-1])
    with refused(sd.DataError, "3 missing labels"):
        q.at(X, np.where(np.arange(60) < 3, np.nan, Y))
    with refused(sd.DataError, "1 missing labels"):
        q.at(X, [None, *Y[1:]])
    with refused(sd.DataError, "shape (60, 2)"):
        q.at(X, np.c_[Y, Y])


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize(
    "y",
    [
        YES,
        YES.astype(object),
        np.array([*Y[1:], "1.5"], dtype=object),
        np.full(60, "2020-01-01", dtype="M8[D]"),
        Y + 1j,
        np.where(np.arange(60) == 5, np.inf, Y),
    ],
    ids=["text", "objects", "one text", "dates", "complex", "infinite"],
)
def test_labels_that_are_no_numbers_are_refused(kind, y):
    with refused(sd.DataError, "LinearRegression): y", "number"):
        sd.loss(LINEAR, kind).at(X, y)


@pytest.mark.parametrize(
    "q", [sd.loss(FOREST, "zero_one"), sd.loss(sd.probability(FOREST)), sd.loss(FOREST, "log_loss")]
)
def test_labels_that_a_classifier_has_never_seen_are_refused_by_name(q):
    for y in (np.r_[YES[2:], ["maybe", "never"]], [*YES[2:], "maybe", "never"]):
        with refused(sd.DataError, "maybe", "never", "['no', 'yes']"):
            q.at(X, y)
    with refused(sd.DataError, "1", "['no', 'yes']"):
        q.at(X, (YES == "yes").astype(int))
    with refused(sd.DataError, "['no', 'yes']"):
        q.at(X, np.array([*YES[1:], 7], dtype=object))


def test_labels_of_a_callable_s_probability_are_places():
    one, of = sd.loss(sd.probability(lambda X: np.full(len(X), 0.5))), sd.probability
    for y in (YES, np.arange(60), np.full(60, -1), np.full(60, 0.5)):
        with refused(sd.DataError, "P(y = 1)"):
            one.at(X, y)
    column = sd.loss(of(lambda X: np.full((len(X), 3), 1 / 3), class_=2))
    assert column.at(X, np.arange(60) % 3)[:3] == pytest.approx([1 / 9, 1 / 9, 4 / 9])
    with refused(sd.DataError, "no indices of classes"):
        column.at(X, np.full(60, 1.5))


def test_predictions_that_are_no_numbers_are_refused():
    with refused(sd.ModelOutputError, "squared error", "output of type <U3", "numbers"):
        sd.loss(lambda X: np.full(len(X), "yes")).at(X, Y)
    for bad in (np.nan, np.inf):
        for kind in NUMBERS:
            with refused(sd.ModelOutputError, "NaN or infinity for 60 of 60 rows", "rows of X"):
                sd.loss(lambda X, bad=bad: np.full(len(X), bad), kind).at(X, Y)
    with refused(sd.ModelOutputError, "squared error", "NaN or infinity"):
        sd.loss(lambda X: np.full(len(X), 1e200)).at(X, Y)
    with refused(sd.ModelOutputError, "output of shape (59,)", "in the rows' order"):
        sd.loss(lambda X: linear(X)[1:]).at(X, Y)
    with refused(sd.ModelOutputError, "output of shape ()"):
        sd.loss(lambda X: 3.0, squared).at(X, Y)
    with refused(sd.ModelOutputError, "output of shape (59,)"):
        sd.loss(lambda X: linear(X)[1:], squared).at(X, Y)


def test_predictions_that_can_never_equal_a_label_are_refused():
    with refused(sd.ModelOutputError, "zero-one", "type float64", "labels of type <U3"):
        sd.loss(linear, "zero_one").at(X, YES)
    with refused(sd.ModelOutputError, "no prediction (NaN or None) for 60 of 60 rows"):
        sd.loss(lambda X: np.full(len(X), np.nan), "zero_one").at(X, Y)
    with refused(sd.ModelOutputError, "no prediction (NaN or None) for 60 of 60 rows"):
        sd.loss(lambda X: np.array([None] * len(X)), "zero_one").at(X, YES)


def test_slopes_of_a_wrong_shape_or_kind_are_refused():
    for slope, words in (
        (linear, ["slope", "shape (60,)", "(60, 3)"]),
        (lambda X: bent_slope(X)[:, :2], ["slope", "shape (60, 2)"]),
        (lambda X: bent_slope(X)[1:], ["slope", "shape (59, 3)"]),
        (lambda X: np.full(X.shape, "steep"), ["slope", "numbers"]),
    ):
        with refused(sd.ModelOutputError, "squared error", *words):
            sd.explain(sd.loss(sd.prediction(bent, slope=slope)), X, 0, y=Y, method="dale")


def test_a_model_s_own_error_is_told_under_the_loss_s_name():
    def broken(X):
        raise ZeroDivisionError("broken")

    with pytest.raises(ZeroDivisionError) as caught:
        sd.loss(broken).at(X, Y)
    assert "called squared error(broken)" in "".join(caught.value.__notes__)
    with refused(
        sd.DataError, "squared error(LinearRegression)", "2 columns", "3 columns, as in fit"
    ):
        sd.loss(LINEAR).at(X[:, :2], Y)


def test_nothing_of_the_caller_s_is_changed():
    frame, y = pd.DataFrame(X, columns=list("abc")), pd.Series(Y)
    kept = frame.copy(), y.copy()
    for method in METHODS:
        sd.explain(sd.loss(LINEAR, "absolute_error"), frame.copy(), "a", method=method, y=y)
    pd.testing.assert_frame_equal(frame, kept[0])
    pd.testing.assert_series_equal(y, kept[1])
