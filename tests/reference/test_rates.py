"""Factors of simulated claims: those of a fitted model recover the true ones, as well as the claims allow."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import GammaRegressor, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import skedasis as sd

TRUE = {
    "region": {"rural": 1.0, "town": 1.25, "city": 1.6},
    "fuel": {"petrol": 1.0, "diesel": 0.8},
}
BASES = {"region": "rural", "fuel": "petrol"}
SEVERITY = {"rural": 1.0, "town": 0.9, "city": 1.3}


def portfolio(
    seed: int, n: int = 20_000
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    """Return policies, their exposure, claims and the amounts paid; fuel depends on the region."""
    rng = np.random.default_rng(seed)
    region = rng.choice(list(TRUE["region"]), n, p=[0.5, 0.3, 0.2])
    diesel = rng.uniform(size=n) < np.where(region == "rural", 0.6, 0.3)
    X = pd.DataFrame({"region": region, "fuel": np.where(diesel, "diesel", "petrol")})
    exposure = rng.uniform(0.1, 1.0, n)
    rate = 0.2 * X["region"].map(TRUE["region"]) * X["fuel"].map(TRUE["fuel"])
    claims = rng.poisson(rate * exposure)
    scale = 1000 * X["region"].map(SEVERITY).to_numpy()
    paid = np.where(claims > 0, rng.gamma(np.maximum(claims, 1) * 2.0) * scale / 2.0, 0.0)
    return X, exposure, claims, paid


def fitted(X: pd.DataFrame, y: np.ndarray, weight: np.ndarray, model: object) -> object:
    encoder = OneHotEncoder(drop=["rural", "petrol"], sparse_output=False)
    pipeline = make_pipeline(encoder, model)
    return pipeline.fit(X, y, **{f"{type(model).__name__.lower()}__sample_weight": weight})


def test_observed_factors_have_the_error_of_counts():
    """The logarithm of a ratio of Poisson rates has the variance 1 / claims + 1 / claims at the base."""
    X, exposure, claims, _ = portfolio(0)
    q = sd.prediction(lambda X: np.ones(len(X)), inverse="log")
    options = {"y": claims / exposure, "sample_weight": exposure, "weight_kind": "sampling"}
    e = sd.explain(q, X, "region", method="ale", observed=True, heterogeneity_rows=0, **options)
    count = {level: claims[X["region"] == level].sum() for level in TRUE["region"]}
    for f in e.factors("rural"):
        if not f.is_base:
            error = np.sqrt(1 / count[f.text] + 1 / count["rural"])
            width = np.log(f.observed_upper[0] / f.observed[0])
            assert width == pytest.approx(1.96 * error, rel=0.04)


@pytest.mark.parametrize("method", ["ale", "pdp"])
def test_frequency_recovers_the_true_factors(method):
    X, exposure, claims, _ = portfolio(0)
    model = fitted(X, claims / exposure, exposure, PoissonRegressor(alpha=0, tol=1e-9))
    q = sd.prediction(model, inverse="log")
    weights = {"sample_weight": exposure, "weight_kind": "sampling", "heterogeneity_rows": None}
    table = sd.explain(q, X, method=method, **weights).factors(BASES)
    encoder, glm = model.named_steps.values()
    coefficients = dict(zip(encoder.get_feature_names_out(), glm.coef_, strict=True))
    design = np.c_[np.ones(len(X)), encoder.transform(X)]
    information = design.T @ (design * (exposure * model.predict(X))[:, None])
    errors = np.sqrt(np.diag(np.linalg.inv(information)))[1:]
    for (name, coefficient), error in zip(coefficients.items(), errors, strict=True):
        feature, level = name.split("_")
        found = {f.text: f.factor for f in table[feature]}[level]
        assert found == pytest.approx(np.exp(coefficient), rel=1e-12)
        assert abs(np.log(found / TRUE[feature][level])) < 4 * error
    assert table.base_value == pytest.approx(np.exp(glm.intercept_), rel=1e-12)


def test_observed_factors_are_confounded_and_factors_are_not():
    """Rural drivers have diesels more often: the observed factor of the city is that of region and fuel together."""
    X, exposure, claims, _ = portfolio(1, 40_000)
    y = claims / exposure
    model = fitted(X, y, exposure, PoissonRegressor(alpha=0, tol=1e-9))
    e = sd.explain(
        sd.prediction(model, inverse="log"),
        X,
        "region",
        method="ale",
        y=y,
        observed=True,
        sample_weight=exposure,
        weight_kind="sampling",
    )
    city = next(f for f in e.factors("rural") if f.text == "city")
    with_fuel = 1.6 * (0.3 * 0.8 + 0.7) / (0.6 * 0.8 + 0.4)
    assert city.factor == pytest.approx(1.6, rel=0.1)
    assert city.observed_lower[0] < with_fuel < city.observed_upper[0]
    assert city.observed[0] / city.factor == pytest.approx(with_fuel / 1.6, rel=0.03)


def test_the_factors_of_a_premium_are_those_of_frequency_and_severity():
    X, exposure, claims, paid = portfolio(2)
    some = claims > 0
    rate = fitted(X, claims / exposure, exposure, PoissonRegressor(alpha=0, tol=1e-9))
    cost = fitted(
        X[some], paid[some] / claims[some], claims[some], GammaRegressor(alpha=0, tol=1e-9)
    )
    weights = {"sample_weight": exposure, "weight_kind": "sampling", "heterogeneity_rows": None}
    models = {
        "frequency": rate.predict,
        "severity": cost.predict,
        "premium": lambda X: rate.predict(X) * cost.predict(X),
    }
    found = {
        name: sd.explain(sd.prediction(f, inverse="log"), X, method="ale", **weights).factors(BASES)
        for name, f in models.items()
    }
    one, two, both = found.values()
    assert both.base_value == pytest.approx(one.base_value * two.base_value, rel=1e-12)
    for name in X:
        parts = [np.array([f.factor for f in table[name]]) for table in found.values()]
        assert parts[0] * parts[1] == pytest.approx(parts[2], rel=1e-12)
    city = next(f for f in two["region"] if f.text == "city")
    assert city.factor == pytest.approx(1.3, rel=0.1)
