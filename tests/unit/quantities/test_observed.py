"""`sd.label` and `sd.residual`: their values, which methods explain them, and which refuse them."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

import skedasis as sd
from tests.helpers import refused

RNG = np.random.default_rng(0)
N = 300
FRAME = pd.DataFrame(
    {"a": RNG.normal(size=N), "b": RNG.integers(0, 4, N) * 1.0, "town": RNG.choice(list("xyz"), N)}
)
X = FRAME[["a", "b"]]
Y = X["a"].to_numpy() + RNG.normal(size=N)
COUNTS = RNG.poisson(np.exp(0.3 * X["a"].to_numpy()))
W = RNG.integers(1, 4, N).astype(float)
LINEAR = LinearRegression().fit(X, Y)
RATES = PoissonRegressor(alpha=1e-4).fit(X, COUNTS)
TEXT = np.where(X["a"] + RNG.normal(size=N) > 0, "yes", "no")
CLASSIFIER = LogisticRegression().fit(X, TEXT)
CLASSES = np.array(["low", "mid", "top"])[np.digitize(Y, [-0.5, 0.5])]
THREE = RandomForestClassifier(5, random_state=0).fit(X, CLASSES)
TREES = HistGradientBoostingRegressor(max_iter=5).fit(X, Y)


def means(values, by, weights=None):
    weights = np.ones(len(values)) if weights is None else weights
    return [np.average(values[by == v], weights=weights[by == v]) for v in np.unique(by)]


def mplot(quantity, feature="b", y=Y, **options):
    return sd.explain(
        quantity, FRAME if feature == "town" else X, feature, y=y, method="mplot", **options
    )


# ---------------------------------------------------------------------- values
def test_a_label_is_itself_and_asks_no_model():
    q = sd.label(unit="EUR")
    np.testing.assert_array_equal(q.at(X, Y), Y)
    assert (q.axis, q.model) == ("label [EUR]", None)
    e = mplot(q, sample_weight=W)
    np.testing.assert_allclose(e.value, means(Y, X["b"].to_numpy(), W), rtol=1e-12)
    assert (e.provenance["model_rows"], e.provenance["model_calls"]) == (0, 0)


def test_a_class_of_labels_is_its_share():
    e = mplot(sd.label("yes"), "town", TEXT)
    np.testing.assert_allclose(e.value, means(TEXT == "yes", FRAME["town"].to_numpy()))
    assert e.about.quantity == "y = yes"
    numbers = (Y > 0).astype(int)
    np.testing.assert_array_equal(sd.label(1).at(X, numbers), numbers)
    np.testing.assert_array_equal(sd.label(0).at(X, list(numbers)), 1 - numbers)
    np.testing.assert_array_equal(sd.label().at(X, Y > 0), Y > 0)
    mixed = np.array(["yes", 1] * (N // 2), dtype=object)
    np.testing.assert_array_equal(sd.label(1).at(X, mixed), [0, 1] * (N // 2))


def test_a_residual_is_the_label_minus_the_prediction():
    for model in (LINEAR, TREES, sd.prediction(LINEAR)):
        np.testing.assert_array_equal(sd.residual(model).at(X, Y), Y - as_model(model).predict(X))
    e = mplot(sd.residual(LINEAR), sample_weight=W)
    np.testing.assert_allclose(
        e.value, means(Y - LINEAR.predict(X), X["b"].to_numpy(), W), atol=1e-12
    )
    assert e.provenance["effect_rows"] == N
    price = sd.residual(sd.prediction(LINEAR, name="price", unit="EUR"))
    assert price.axis == "residual of price [EUR]"
    assert sd.residual(LINEAR).axis == "residual"


def as_model(model):
    return model.model if isinstance(model, sd.prediction(LINEAR).__class__) else model


def test_residuals_of_classes_use_their_indicator():
    p = CLASSIFIER.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(sd.residual(CLASSIFIER).at(X, TEXT), (TEXT == "yes") - p)
    np.testing.assert_allclose(
        sd.residual(sd.logit(CLASSIFIER, "no")).at(X, TEXT), (TEXT == "no") - (1 - p), atol=1e-15
    )
    with refused(sd.ModelOutputError, "3 classes and no class_", "'low', 'mid', 'top'"):
        sd.residual(THREE)
    mid = sd.residual(THREE, class_="mid").at(X, CLASSES)
    np.testing.assert_array_equal(mid, (CLASSES == "mid") - THREE.predict_proba(X)[:, 1])
    for every in (sd.residual(THREE, class_="all"), sd.residual(sd.probability(THREE, "all"))):
        found = mplot(every, y=CLASSES)
        assert list(found) == ["low", "mid", "top"]
        for k, (label, e) in enumerate(found.items()):
            left = (label == CLASSES) - THREE.predict_proba(X)[:, k]
            np.testing.assert_allclose(e.value, means(left, X["b"].to_numpy()), atol=1e-12)
            assert e.about.quantity == f"residual of P(y = {label})"


def test_residuals_are_on_the_scale_of_the_labels():
    left = COUNTS - RATES.predict(X)
    for quantity in (
        sd.prediction(RATES, inverse="log"),
        sd.prediction(lambda X: np.log(RATES.predict(X)), link="log"),
    ):
        np.testing.assert_allclose(
            sd.residual(quantity).at(X, COUNTS), left, rtol=1e-12, atol=1e-12
        )


def test_trees_are_evaluated_from_their_structure():
    e = mplot(sd.residual(TREES))
    assert e.provenance["effect_rows"] == 0
    np.testing.assert_allclose(
        e.value, means(Y - TREES.predict(X), X["b"].to_numpy()), rtol=1e-9, atol=1e-12
    )
    assert sd.explain(sd.label(), X, "b", y=Y, method="mplot", tree="off").value.shape == (4,)


# ---------------------------------------------------------------------- deviance residuals
def test_deviance_residuals_are_signed_roots_of_the_loss():
    f = RATES.predict(X)
    for kind, name, y, more in (
        ("poisson", "poisson_deviance", COUNTS, {}),
        ("gamma", "gamma_deviance", COUNTS + 0.5, {}),
        ("tweedie", "tweedie_deviance", COUNTS, {"power": 1.7}),
        ("tweedie", "tweedie_deviance", COUNTS + 0.5, {"power": 3}),
    ):
        found = sd.residual(RATES, kind, **more).at(X, y)
        loss = sd.loss(RATES, name, **more).at(X, y)
        np.testing.assert_allclose(found**2, loss, rtol=1e-12)
        np.testing.assert_array_equal(np.sign(found), np.sign(y - f))
    q = sd.residual(sd.prediction(RATES, name="claims", unit="1/a"), "poisson")
    assert q.axis == "Poisson deviance residual of claims"


def test_bernoulli_residuals_are_roots_of_twice_the_log_loss():
    found = sd.residual(CLASSIFIER, "bernoulli").at(X, TEXT)
    np.testing.assert_allclose(found**2, 2 * sd.nll(CLASSIFIER).at(X, TEXT), rtol=1e-12)
    np.testing.assert_array_equal(found > 0, TEXT == "yes")
    certain = sd.residual(lambda X: np.array([0.0, 1.0, 0.0, 1.0]), "bernoulli")
    found = certain.at(X[:4], [1, 0, 0, 1])
    most = np.sqrt(-2 * np.log(np.finfo(float).eps))
    np.testing.assert_allclose(found, [most, -most, 0, 0], atol=1e-7)


def test_distributions_refuse_labels_and_predictions_that_they_do_not_have():
    with refused(sd.DataError, "labels such as -1, for 1 of 300 rows", "not negative"):
        sd.residual(RATES, "poisson").at(X, [-1, *COUNTS[1:]])
    with refused(sd.ModelOutputError, "predictions such as", "predictions above 0", "log link"):
        sd.residual(LINEAR, "poisson").at(X, COUNTS)
    with refused(sd.DataError, "0, 1 or a proportion"):
        sd.residual(RATES, "bernoulli").at(X, COUNTS)
    with refused(sd.ModelOutputError, "between 0 and 1"):
        sd.residual(LINEAR, "bernoulli").at(X, COUNTS > 0)


# ---------------------------------------------------------------------- where they pass
def test_they_pass_through_files_chunks_and_workers(tmp_path):
    table = pa.table({"a": X["a"], "b": X["b"], "y": Y, "class": TEXT})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=40)
    for quantity, column, y in (
        (sd.label(), "y", Y),
        (sd.residual(LINEAR), "y", Y),
        (sd.label("yes"), "class", TEXT),
        (sd.residual(CLASSIFIER, "bernoulli"), "class", TEXT),
    ):
        data = sd.parquet(tmp_path / "rows.parquet", y=column, columns=["a", "b"])
        streamed = sd.explain(quantity, data, "b", method="mplot")
        np.testing.assert_allclose(streamed.value, mplot(quantity, y=y).value, rtol=1e-12)
        again = pickle.loads(pickle.dumps(quantity))
        np.testing.assert_array_equal(again.at(X, y), quantity.at(X, y))
        threads = mplot(quantity, y=y, n_jobs=2)
        np.testing.assert_array_equal(threads.value, mplot(quantity, y=y).value)


def test_several_models_are_compared_and_averaged():
    other = LinearRegression().fit(X[:100], Y[:100])
    q = [sd.residual(LINEAR), sd.residual(other)]
    compared = mplot(q)
    np.testing.assert_allclose(compared[0].value, mplot(q[0]).value)
    mean = mplot(q, refits=True)
    both = [e.value for e in compared.values()]
    np.testing.assert_allclose(mean.value, np.mean(both, axis=0), atol=1e-12)


def test_a_label_minus_a_prediction_is_the_residual():
    both, left = mplot(sd.label() - sd.prediction(LINEAR)), mplot(sd.residual(LINEAR))
    np.testing.assert_allclose(both.value, left.value, atol=1e-12)
    assert both.provenance["effect_rows"] == N
    other = LinearRegression().fit(X[:100], Y[:100])
    shift = mplot(sd.residual(other) - sd.residual(LINEAR)).value
    back = mplot(sd.prediction(LINEAR) - sd.prediction(other)).value
    np.testing.assert_allclose(shift, back, atol=1e-12)
    with refused(sd.UnsupportedError, "label − prediction", "method=sd.MPlot()"):
        sd.explain(sd.label() - sd.prediction(LINEAR), X, "a", y=Y)


def test_what_explains_the_variance_of_a_residual_moves_no_row():
    wave = np.sin(4 * X["a"].to_numpy())
    shares = sd.variance_shares(
        sd.residual(LINEAR), X, LINEAR.predict(X) + wave, effects=None, regions={}
    )
    assert shares["main effects"].share > 0.8


# ---------------------------------------------------------------------- where they are refused
@pytest.mark.parametrize("quantity", [sd.label(), sd.residual(LINEAR), sd.residual(TREES)])
@pytest.mark.parametrize(
    "call",
    [
        lambda q: sd.explain(q, X, "a", y=Y),
        *(
            lambda q, m=m: sd.explain(q, X, "a", y=Y, method=m)
            for m in ("ale", "dale", "uale", "rhale", "pdp", "ice", "pfi")
        ),
        lambda q: sd.explain(q, X, y=Y, method="pfi"),
        lambda q: sd.explain(q, X, ("a", "b"), y=Y),
        lambda q: sd.explain(q, X, "a", y=Y, max_model_rows=250),
        lambda q: sd.explain([q, q], X, "a", y=Y, refits=True),
        lambda q: sd.regions(q, X, "a", y=Y),
        lambda q: sd.what_if(q, X, {"a": 1.0}, y=Y),
        lambda q: sd.interactions(q, X, y=Y),
        lambda q: sd.interactions(q, X, y=Y, method="pdp"),
        lambda q: sd.variance_shares(q, X, Y),
        lambda q: sd.report(q, X, Y),
    ],
)
def test_methods_that_change_rows_refuse_them(quantity, call):
    with refused(sd.UnsupportedError, quantity.name, "changes values", "method=sd.MPlot()"):
        call(quantity)


def test_shap_values_refuse_them():
    pytest.importorskip("shap", reason="shap is not installed")
    with refused(sd.UnsupportedError, "residual", "method=sd.MPlot()"):
        sd.shap_dependence(sd.residual(LINEAR), X, "a", y=Y)


def test_null_distributions_are_of_models_without_labels():
    with refused(sd.DataError, "residual(LinearRegression)", "no y"):
        sd.null_distribution(lambda X, y: sd.residual(LINEAR), X, Y, n_repeats=20)


def test_each_output_is_refused():
    with refused(sd.UnsupportedError, "residual", "method=sd.MPlot()"):
        sd.explain(sd.residual(THREE, class_="all"), X, "a", y=CLASSES)


# ---------------------------------------------------------------------- strange input
def test_labels_must_be_there():
    for q in (sd.label(), sd.residual(LINEAR)):
        with refused(sd.DataError, q.name, "no y", "Pass y="):
            q.at(X)
        with refused(sd.DataError, q.name, "missing labels (NaN or None) for 1 of"):
            q.at(X, [np.nan, *Y[1:]])
    with refused(sd.DataError, "label: y", "'yes'", "sd.label(class_='yes')"):
        sd.label().at(X, TEXT)
    with refused(sd.DataError, "residual(LinearRegression): y", "labels that are not numbers"):
        sd.residual(LINEAR).at(X, TEXT)
    with refused(sd.DataError, "label(class_)", "'yess', which no row has", "'no'", "'yes'"):
        mplot(sd.label("yess"), y=TEXT)


def test_arguments_that_mean_nothing():
    with refused(sd.DataError, "label(class_)", "a LinearRegression", "sd.residual(model)"):
        sd.label(LINEAR)
    with refused(sd.DataError, "name", "7", "text"):
        sd.label(name=7)  # pyright: ignore[reportArgumentType]
    with refused(sd.DataError, "residual(kind)", "'pearson'", "'response'"):
        sd.residual(LINEAR, "pearson")  # pyright: ignore[reportArgumentType]
    with refused(sd.DataError, "residual(power)", "kind='tweedie' only"):
        sd.residual(LINEAR, "poisson", power=1.2)
    with refused(sd.DataError, "residual(power)", "not between 0 and 1"):
        sd.residual(LINEAR, "tweedie", power=0.5)
    with refused(sd.DataError, "residual(class_)", "beside"):
        sd.residual(sd.probability(CLASSIFIER), class_="no")
    for q in (
        sd.entropy(CLASSIFIER),
        sd.loss(LINEAR),
        sd.label(),
        sd.prediction(LINEAR, output="all"),
    ):
        with refused(sd.UnsupportedError, "residual(model)", "which is not compared with labels"):
            sd.residual(q)
    with refused(sd.UnsupportedError, "MPlot()", "'of'", "sd.label()"):
        sd.MPlot(of="label")  # pyright: ignore[reportCallIssue]


def test_two_rows_one_class_constant_columns_and_names_from_the_web():
    few = pd.DataFrame({"<script>": [1.0, 1.0]})
    e = sd.explain(sd.label(name="<script>"), few, "<script>", y=[1.0, 3.0], method="mplot")
    assert e.value.tolist() == [2.0]
    assert sd.label("a").at(few, ["a", "a"]).tolist() == [1.0, 1.0]
    zero = sd.explain(sd.label(), X, "b", y=Y, method="mplot", sample_weight=(X["b"] > 0) * 1.0)
    assert len(zero.value) == 3
