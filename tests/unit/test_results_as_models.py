"""A result in the place of a model, of data or of a file: each function says what it needs, and what needs no model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import skedasis as sd
from tests.helpers import linear, refused, table

X = table(40)
MODEL: dict[str, Callable[[Any], Any]] = {
    "report": lambda r: sd.report(r, X),
    "explain": lambda r: sd.explain(r, X),
    "regions": lambda r: sd.regions(r, X, 0),
    "interactions": lambda r: sd.interactions(r, X),
    "variance_shares": lambda r: sd.variance_shares(r, X),
    "weak_spots": lambda r: sd.weak_spots(r, X, X[:, 0]),
    "change": lambda r: sd.what_if(r, X, {"x0": 1.0}),
    "drift": lambda r: sd.drift(r, X[:20], X_new=X[20:]),
    "diagnose": lambda r: sd.diagnose(r, X, X[:, 0]),
    "prediction": sd.prediction,
    "entropy": sd.entropy,
}
DATA: dict[str, Callable[[Any], Any]] = {
    "report": lambda r: sd.report(linear, r),
    "explain": lambda r: sd.explain(linear, r),
    "regions": lambda r: sd.regions(linear, r, 0),
    "change": lambda r: sd.what_if(linear, r, {"x0": 1.0}),
    "drift": lambda r: sd.drift(linear, r, X_new=X),
    "diagnose": lambda r: sd.diagnose(lambda X: (X[:, 0], X[:, 0] ** 2), r, X[:, 0]),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return effects and an effect, which can be called, from a file."""
    path = tmp_path_factory.mktemp("results") / "effects.npz"
    sd.explain(linear, X, method=sd.ALE(bins=3), heterogeneity_rows=0).save(path)
    loaded = sd.load(path)
    surface = sd.explain(linear, X, (0, 1), method=sd.ALE(bins=2))
    return {"Effects": loaded, "AccumulatedEffect": loaded["x0"], "AccumulatedSurface": surface}


@pytest.mark.parametrize("name", MODEL)
def test_a_result_is_no_model(name, results):
    for kind, result in results.items():
        with refused(
            sd.UnsupportedError, f"got a result ({kind})", "Pass the fitted model", "explore("
        ):
            MODEL[name](result)


@pytest.mark.parametrize("name", DATA)
def test_a_result_is_no_data(name, results):
    for kind, result in results.items():
        with refused(sd.UnsupportedError, f"X: got a result ({kind})", "a NumPy array"):
            DATA[name](result)
