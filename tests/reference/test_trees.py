"""Tree evaluation gives the same results as calling the model on modified rows: every method, every model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.trees import layout
from tests.reference.tree_cases import (
    METHODS,
    MODELS,
    SHORT,
    WEIGHTS,
    alike,
    categories,
    grown,
    largest,
    plain,
    singles,
    tolerance,
    turns,
)


@pytest.mark.parametrize(
    ("case", "method"), turns(MODELS, SHORT, "tree", "boosting", "histograms 2", "lightgbm 3")
)
def test_every_model(case: str, method: str) -> None:
    _, X, _ = grown(case)
    found = alike(plain(case), X, method=METHODS[method], tol=tolerance(case))
    assert case == "leaf" or max(largest(e) for e in singles(found)) > 0


@pytest.mark.parametrize(
    ("method", "case"),
    turns(
        [m for m in METHODS if m not in SHORT],
        ["boosting", "forest 3", "histograms 2", "lightgbm poisson"],
        *("ale uniform", "uale", "ice anchor"),
    ),
)
def test_every_method(case: str, method: str) -> None:
    _, X, _ = grown(case)
    alike(plain(case), X, method=METHODS[method], tol=tolerance(case))


@pytest.mark.parametrize("method", ["ale", "rhale", "pdp mean", "pdp alone", "mplot"])
def test_weights_and_rows_of_weight_zero(method: str) -> None:
    _, X, _ = grown("histograms")
    for weights in (WEIGHTS, WEIGHTS + 0.5):
        found = alike(plain("histograms"), X, method=METHODS[method], sample_weight=weights)
        assert found.provenance["rows"] == (weights > 0).sum()


def test_a_weight_of_two_is_a_row_twice() -> None:
    model, X, _ = grown("boosting")
    twice = np.repeat(X, WEIGHTS.astype(int), axis=0)
    for heterogeneity in (True, False):
        method = sd.PDP(grid=[-1.0, 0.0, 1.0], heterogeneity=heterogeneity)
        one = sd.explain(model, X, 0, method=method, sample_weight=WEIGHTS, tree="force")
        other = sd.explain(model, twice, 0, method=method, tree="force")
        np.testing.assert_allclose(one.value, other.value, rtol=1e-12)


# ---------------------------------------------------------------------------------------- pairs

PAIRS = [(0, 1), (2, 3), (0, 4), (4, 0)]


@pytest.mark.parametrize(
    ("case", "method"),
    [
        ("boosting", sd.ALE(bins=4)),
        ("forest 2", sd.ALE(bins=sd.Uniform(5), empty=None)),
        ("histograms", sd.PDP(grid=5)),
        ("lightgbm", sd.PDP(grid=5, center="mean")),
        ("boosting 2", sd.PDP(grid=4, heterogeneity=False)),
        ("forest 3", sd.PDP(grid=4, heterogeneity=False)),
        ("histograms 3", sd.PDP(grid=4)),
        ("lightgbm 2", sd.PDP(grid=4)),
        ("xgboost", sd.PDP(grid=4, heterogeneity=False)),
    ],
)
def test_pairs(case: str, method: Any) -> None:
    _, X, _ = grown(case)
    alike(plain(case), X, PAIRS, method=method, tol=tolerance(case))


def test_pairs_with_weights() -> None:
    _, X, _ = grown("boosting")
    methods = sd.ALE(bins=4), sd.PDP(grid=4), sd.PDP(grid=4, heterogeneity=False)
    for method in methods:
        for weights in (WEIGHTS, WEIGHTS + 0.5):
            alike(plain("boosting"), X, PAIRS, method=method, sample_weight=weights)


@pytest.mark.parametrize("heterogeneity", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS, WEIGHTS + 0.5])
def test_pdps_of_pairs_are_the_means_of_their_definition(weights: Any, heterogeneity: bool) -> None:
    """Categories and missing values, against the model's own mean at each point of the grid."""
    lightgbm = pytest.importorskip("lightgbm")
    X, y = categories()
    model = lightgbm.LGBMRegressor(n_estimators=30, min_child_samples=3, verbose=-1, n_jobs=1)
    model.fit(X, y)
    method = sd.PDP(grid=7, heterogeneity=heterogeneity)
    pairs = [("a", "b"), ("c", "a"), ("c", "k")]
    options = {"sample_weight": weights, "tree": "force", "progress": False}
    found = sd.explain(model, X, pairs, method=method, **options)
    for pair in pairs:
        surface = found[pair]
        levels = [
            s.labels if hasattr(s, "labels") else x
            for s, x in zip(surface.sides, surface.x, strict=True)
        ]
        wanted = np.empty(surface.value.shape)
        for at in np.ndindex(wanted.shape):
            altered = X.copy()
            for name, own, i in zip(pair, levels, at, strict=True):
                value = own[i]
                if isinstance(X[name].dtype, pd.CategoricalDtype):
                    value = type(X[name].cat.categories[0])(value)
                    altered[name] = pd.Categorical([value] * len(X), X[name].cat.categories)
                else:
                    altered[name] = value
            wanted[at] = np.average(model.predict(altered), weights=weights)
        np.testing.assert_allclose(
            surface.value, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max(), err_msg=str(pair)
        )


def test_a_grid_whose_leaves_have_too_many_corners(monkeypatch: pytest.MonkeyPatch) -> None:
    _, X, _ = grown("boosting")
    few = sd.explain(plain("boosting"), X, (0, 1), method=sd.PDP(grid=5), tree="force")
    monkeypatch.setattr(layout, "_CORNERS", 0)
    many = sd.explain(plain("boosting"), X, (0, 1), method=sd.PDP(grid=5), tree="force")
    np.testing.assert_array_equal(few.value, many.value)


# ------------------------------------------------------------------------------ boosters, files


@pytest.mark.parametrize("case", ["lightgbm", "lightgbm 2", "lightgbm 3", "lightgbm poisson"])
def test_boosters_of_lightgbm_and_their_files(case: str, tmp_path: Path) -> None:
    model, X, _ = grown(case)
    path = tmp_path / "model.txt"
    model.booster_.save_model(path)
    output = 1 if case == "lightgbm 3" else None
    for booster in (model.booster_, pytest.importorskip("lightgbm").Booster(model_file=path)):
        for method in (METHODS["ale"], METHODS["pdp alone"]):
            alike(sd.prediction(booster, output=output), X, method=method)
            alike(sd.prediction(booster.predict, output=output), X, method=method)


@pytest.mark.slow
def test_categories_in_a_file_of_lightgbm(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    frame, y = categories()
    easy = {"n_estimators": 9, "verbose": -1, "n_jobs": 1, "min_data_per_group": 3}
    model = lightgbm.LGBMRegressor(**easy, cat_smooth=1.0, min_child_samples=3).fit(frame, y)
    model.booster_.save_model(tmp_path / "model.txt")
    booster = lightgbm.Booster(model_file=tmp_path / "model.txt")
    for method in (METHODS["ale"], METHODS["pdp alone"]):
        alike(booster, frame, method=method)


@pytest.mark.parametrize("case", ["xgboost", "xgboost 3"])
def test_boosters_of_xgboost_and_their_files(case: str, tmp_path: Path) -> None:
    model, X, _ = grown(case)
    model.save_model(tmp_path / "model.json")
    loaded = type(model)()
    loaded.load_model(tmp_path / "model.json")
    several = case == "xgboost 3"
    again = sd.probability(loaded, 1) if several else loaded
    booster = sd.prediction(model.get_booster(), output=1 if several else None)
    for method in (METHODS["ale"], METHODS["pdp alone"]):
        alike(again, X, method=method, tol=tolerance(case))
        alike(booster, X, method=method, tol=tolerance(case))
