"""Regions of hourly bicycle rentals in comparison with effector 0.6.0, measured by effector's own heterogeneity."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skedasis as sd
from skedasis.datasets import load

pytestmark = pytest.mark.slow

MODELS = ("LightGBM", "boosting", "network")


@pytest.fixture(scope="module")
def rentals() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return features, rentals, and a mask of the rows that models are fitted on."""
    try:
        data = load("bike_sharing_hour", download=False)
    except sd.DataError:
        pytest.skip("no bike_sharing_hour.csv")
    # `atemp` is nearly the same as `temp`.
    X = pd.DataFrame(data.X).drop(columns="atemp").astype(float)
    return X, np.asarray(data.y, float), np.random.default_rng(0).random(len(X)) < 0.7


@pytest.fixture(scope="module", params=MODELS)
def model(request, rentals) -> Any:
    X, y, fitting = rentals
    if request.param == "LightGBM":
        lightgbm = pytest.importorskip("lightgbm")
        made = lightgbm.LGBMRegressor(n_estimators=200, verbose=-1)
    elif request.param == "boosting":
        made = HistGradientBoostingRegressor(random_state=0)
    else:
        network = MLPRegressor(
            hidden_layer_sizes=(64, 64), early_stopping=True, max_iter=500, random_state=0
        )
        made, y = make_pipeline(StandardScaler(), network), (y - y.mean()) / y.std()
    return made.fit(X.to_numpy()[fitting], y[fitting])


@pytest.mark.parametrize(
    ("method", "criterion", "peer"), [("ale", "within", "ALE"), ("pdp", "auto", "PDP")]
)
def test_regions_explain_as_much_as_those_of_effector(rentals, model, method, criterion, peer):
    """effector's heterogeneity of ALE is that within bins, that of PDP the variance of centred curves."""
    reason = "effector is the reference: pip install effector==0.6.0"
    effector = pytest.importorskip("effector", reason=reason)
    from effector.space_partitioning import Best

    X, _, fitting = rentals
    rows = X[~fitting]
    hour = X.columns.get_loc("hr")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        theirs = getattr(effector, peer)(
            rows.to_numpy(),
            model.predict,
            nof_instances="all",
            schema={"feature_types": ["continuous"] * X.shape[1]},
        )
        found = theirs.find_regions(hour, finder=Best(max_depth=2))
    whole = theirs.heter_score(hour)

    def explained(masks: list[np.ndarray]) -> float:
        assert sum(masks).tolist() == [1] * len(rows)
        return 1 - sum(m.mean() * theirs.heter_score(hour, mask=m) for m in masks) / whole

    ours = sd.regions(model, rows, "hr", method=method, criterion=criterion)
    inside = ours.assign(rows)
    share = explained([inside == k for k in range(len(ours))])
    assert len(found.leaves) <= 4
    assert len(ours) <= 4
    assert share >= explained([leaf.mask for leaf in found.leaves]) - 0.01
    assert ours.splits[0].feature == "workingday"
