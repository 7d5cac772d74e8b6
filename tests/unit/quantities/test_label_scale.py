"""The scale on which a quantity is compared with labels, and the labels on it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, PoissonRegressor

import skedasis as sd
from tests.helpers import refused

RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 0.9, size=(200, 2))
COUNTS = RNG.poisson(np.exp(1 + X[:, 0]))
RATES = PoissonRegressor(alpha=1e-4).fit(X, COUNTS)
TEXT = np.where(X[:, 0] > 0.5, "yes", "no")
CLASSIFIER = LogisticRegression().fit(X, TEXT)
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [0.3, 0.6])]


def log_rate(X):
    return 1.0 + np.asarray(X)[:, 0]


def on_label_scale(quantity):
    found = quantity.on_label_scale()
    assert found is not None
    return found


# ---------------------------------------------------------------------- which quantity it is
@pytest.mark.parametrize("inverse", ["exp", "square", "expit", "identity", "reciprocal", np.exp])
def test_a_function_that_undoes_a_transformation_of_labels_is_on_their_scale(inverse):
    q = sd.prediction(log_rate, inverse=inverse)
    assert q.on_label_scale() is q
    assert q.scale == "identity"


@pytest.mark.parametrize(
    "inverse",
    ["log", "log1p", "sqrt", "cbrt", np.log10, np.log2, np.arcsinh, (np.log, np.reciprocal)],
)
def test_a_function_that_shows_the_response_on_another_scale_is_left_out(inverse):
    q = sd.prediction(RATES, inverse=inverse, unit="claims")
    plain = on_label_scale(q)
    np.testing.assert_array_equal(plain.at(X), RATES.predict(X))
    assert (plain.name, plain.unit) == ("prediction", None)
    assert f"{q.scale}(prediction)" == q.name


def test_the_label_scale_of_a_log_link_is_the_exponential():
    q = sd.prediction(log_rate, link="log")
    assert (q.name, q.scale) == ("log(prediction)", "log")
    np.testing.assert_array_equal(q.at(X), log_rate(X))
    rate = on_label_scale(q)
    assert (rate.name, rate.scale) == ("prediction", "identity")
    np.testing.assert_array_equal(rate.at(X), np.exp(log_rate(X)))
    assert rate.on_label_scale() is rate


def test_names_that_a_user_gave_are_kept_in_that_of_the_label_scale():
    assert on_label_scale(sd.prediction(log_rate, link="log", name="margin")).name == "exp(margin)"
    assert on_label_scale(sd.prediction(RATES, inverse="sqrt", name="root")).name == "square(root)"
    assert on_label_scale(sd.logit(CLASSIFIER, name="score")).name == "expit(score)"
    of_rate = sd.prediction(RATES, inverse="log", name="log(claims per year)")
    assert on_label_scale(of_rate).name == "claims per year"
    other = sd.prediction(RATES, inverse="log", name="log(a) + log(b)")
    assert on_label_scale(other).name == "exp(log(a) + log(b))"
    assert on_label_scale(sd.prediction(log_rate, link="log", output=1)).name == "prediction 1"


def test_the_label_scale_of_log_odds_is_the_probability():
    for model in (CLASSIFIER, RandomForestClassifier(5, random_state=0).fit(X, THREE)):
        class_ = model.classes_[0]
        p = on_label_scale(sd.logit(model, class_))
        assert p.name == f"P(y = {class_})"
        np.testing.assert_array_equal(p.at(X), model.predict_proba(X)[:, 0])
        assert p.on_label_scale() is p


def test_other_quantities_have_none():
    quantities = [
        *(
            sd.entropy(CLASSIFIER),
            sd.nll(CLASSIFIER),
            sd.loss(RATES),
            sd.predictive_variance(CLASSIFIER_2),
        ),
        *(sd.probability(CLASSIFIER, "all"), sd.prediction(log_rate, output="all")),
    ]
    for q in quantities:
        assert q.on_label_scale() is None, q.describe()
        with refused(sd.UnsupportedError, "not compared with labels"):
            q.observed_labels(COUNTS)


CLASSIFIER_2 = LogisticRegression().fit(X, COUNTS > 4)


def test_each_class_has_its_own_and_outputs_with_labels_of_their_own_have_none():
    classes = sd.probability(CLASSIFIER, "all").parts.values()
    assert [q.on_label_scale() is q for q in classes] == [True, True]
    both = sd.prediction(lambda X: X, output=["a", "b"]).parts.values()
    assert [q.on_label_scale() for q in both] == [None, None]
    several = RandomForestClassifier(5, random_state=0).fit(X, np.c_[TEXT, TEXT == "no"])
    assert [q.on_label_scale() for q in sd.logit(several, "all").parts.values()] == [None, None]
    one = sd.probability(several, {0: "yes"})
    assert one.on_label_scale() is one


# ---------------------------------------------------------------------- labels on it
def test_labels_of_a_prediction_are_numbers():
    q = sd.prediction(RATES)
    np.testing.assert_array_equal(q.observed_labels(COUNTS), COUNTS.astype(float))
    with refused(sd.DataError, "labels that are not numbers", "'yes'", "Pass y as numbers"):
        q.observed_labels(TEXT)
    with refused(sd.DataError, "missing labels (NaN or None) for 1 of 2 rows"):
        q.observed_labels(np.array([1.0, np.nan]))


def test_labels_of_a_probability_are_those_of_its_class():
    q = sd.probability(RandomForestClassifier(5, random_state=0).fit(X, THREE), "b")
    np.testing.assert_array_equal(q.observed_labels(THREE), THREE == "b")
    np.testing.assert_array_equal(
        on_label_scale(sd.logit(CLASSIFIER)).observed_labels(TEXT), TEXT == "yes"
    )
    np.testing.assert_array_equal(
        sd.probability(lambda X: X[:, 0]).observed_labels(np.array([0, 1, 1])), [0, 1, 1]
    )
    with refused(sd.DataError, "'d'", "labels that the model knows"):
        q.observed_labels(np.where(X[:, 0] > 0.8, "d", "a"))


# ---------------------------------------------------------------------- the link
def test_results_say_that_values_are_logarithms(tmp_path):
    e = sd.explain(sd.prediction(log_rate, link="log"), X, 0, method=sd.PDP())
    plain = sd.explain(log_rate, X, 0, method=sd.PDP())
    np.testing.assert_array_equal(e.value, plain.value)
    assert e.about.scale == "log"
    assert plain.about.scale == "identity"
    e.save(tmp_path / "effect.npz")
    assert sd.load(tmp_path / "effect.npz").about.scale == "log"
    levels = pd.DataFrame({"a": TEXT, "b": X[:, 1]})
    few = sd.explain(sd.prediction(lambda X: X["b"], link="log"), levels, "a", method=sd.PDP())
    assert few.about.scale == "log"


def test_a_model_of_trees_keeps_its_scale():
    model = HistGradientBoostingRegressor(loss="poisson", max_iter=5).fit(X, COUNTS)
    e = sd.explain(sd.prediction(model, inverse="log"), X, 0)
    assert e.about.scale == "log"
    assert "trees" in e.provenance


def test_a_loss_compares_labels_with_the_exponential():
    of_log = sd.loss(sd.prediction(log_rate, link="log"))
    np.testing.assert_allclose(
        of_log.at(X, COUNTS), (COUNTS - np.exp(log_rate(X))) ** 2, rtol=1e-14
    )
    assert of_log.name == "squared error"


def test_invalid_links():
    with refused(sd.DataError, "prediction(link)", "'logit'", "'log'"):
        sd.prediction(log_rate, link="logit")  # pyright: ignore[reportArgumentType]
    with refused(sd.DataError, "prediction(inverse, link)", "one of them", "inverse='exp' alone"):
        sd.prediction(log_rate, link="log", inverse="exp")
