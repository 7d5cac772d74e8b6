"""`batch_rows`: no call of a model has more rows, and no more calls are made than that takes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import skedasis as sd
from skedasis.models.calling import ChunkedCaller
from skedasis.report.content import gather

X = np.random.default_rng(0).normal(size=(300, 3))
Y = X[:, 0] + X[:, 1] ** 2
OFF = {"progress": False}


class Regressor(LinearRegression):
    """A model that remembers how many rows each call has."""

    def predict(self, rows):
        self.sizes.append(len(rows))
        return super().predict(rows)


class Classifier(LogisticRegression):
    """A model that remembers how many rows each call has."""

    def predict_proba(self, rows):
        self.sizes.append(len(rows))
        return super().predict_proba(rows)


def regression() -> Regressor:
    model = Regressor().fit(X, Y)
    model.sizes = []
    return model


def classifier() -> Classifier:
    model = Classifier().fit(X, (X[:, 0] > 0).astype(int))
    model.sizes = []
    return model


QUANTITIES = {
    "prediction": (regression, lambda m, k: sd.prediction(m, batch_rows=k)),
    "prediction with inverse": (
        regression,
        lambda m, k: sd.prediction(m, inverse="exp", batch_rows=k),
    ),
    "probability": (classifier, lambda m, k: sd.probability(m, class_=1, batch_rows=k)),
    "probabilities": (classifier, lambda m, k: sd.probability(m, class_="all", batch_rows=k)),
    "logit": (classifier, lambda m, k: sd.logit(m, class_=1, batch_rows=k)),
    "entropy": (classifier, lambda m, k: sd.entropy(m, batch_rows=k)),
    "likelihood": (classifier, lambda m, k: sd.nll(m, batch_rows=k)),
    "log loss": (classifier, lambda m, k: sd.loss(m, "log_loss", batch_rows=k)),
    "loss": (regression, lambda m, k: sd.loss(m, "squared_error", batch_rows=k)),
    "loss of a prediction": (
        regression,
        lambda m, k: sd.loss(sd.prediction(m, batch_rows=k), "squared_error"),
    ),
}


@pytest.mark.parametrize("name", QUANTITIES)
def test_no_call_has_more_rows(name):
    make, quantity = QUANTITIES[name]
    free, limited = make(), make()
    y = Y if make is regression else (X[:, 0] > 0).astype(int)
    whole = sd.explain(quantity(free, None), X, method="pdp", y=y, **OFF)
    found = sd.explain(quantity(limited, 50), X, method="pdp", y=y, **OFF)
    assert max(free.sizes) > 50 >= max(limited.sizes)
    assert sum(free.sizes) == sum(limited.sizes)
    if isinstance(found, sd.MultiOutput):
        whole, found = next(iter(whole.values())), next(iter(found.values()))
    assert found.provenance["model_calls"] == len(limited.sizes)
    for one, other in zip(found.values(), whole.values(), strict=True):
        np.testing.assert_allclose(one.value, other.value, rtol=1e-12, atol=1e-12)


def test_calls_are_as_large_as_they_may_be():
    """The effect takes two rows for each row: its calls are those that hold 256 rows, and the last one."""
    model = regression()
    found = sd.explain(
        sd.prediction(model, batch_rows=256), X, 0, method="ale", heterogeneity_rows=0, **OFF
    )
    rows, calls = found.provenance["effect_rows"], found.provenance["effect_calls"]
    assert calls <= math.ceil(rows / 256) + 1


def test_a_report_keeps_to_it():
    model = regression()
    gather(sd.prediction(model, batch_rows=64), X[:120], regions=False, pairs=0, **OFF)
    other = classifier()
    gather(sd.probability(other, batch_rows=64), X[:120], regions=False, pairs=0, **OFF)
    assert max(other.sizes) <= 64
    assert max(model.sizes) <= 64


@pytest.mark.parametrize("rows", [0, -1, 2.5, "many", True])
def test_wrong_numbers_are_refused(rows):
    with pytest.raises(sd.DataError, match="batch_rows"):
        sd.prediction(regression(), batch_rows=rows)
    with pytest.raises(sd.DataError, match="batch_rows"):
        sd.loss(regression(), "squared_error", batch_rows=rows)


def test_distributions_in_parts_are_those_of_one_call():
    def model(rows):
        return rows[:, 0], 1.0 + rows[:, 1] ** 2

    whole = sd.entropy(model).raw(X)
    parts, calls = ChunkedCaller().call(sd.entropy(model).raw, X, len(X), 70)
    assert calls == 5
    assert len(parts) == len(whole)
    assert parts.dtype == whole.dtype
    for name, arguments in {
        "entropy": (), "entropy_error": (), "log_likelihood": (Y,), "floored": (Y,), "mean": (),
        "variance": (), "quantile": (0.3,),
    }.items():  # fmt: skip
        one, other = (getattr(found, name)(*arguments) for found in (parts, whole))
        np.testing.assert_array_equal(one, other)
