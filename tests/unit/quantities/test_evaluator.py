"""A response that depends on the other rows of a call is refused; one that rounds differently in other calls is not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import LabelEncoder

import skedasis as sd
from skedasis.errors import ModelOutputError

X = np.random.default_rng(0).normal(size=(300, 3))
Y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])
DEPENDENT = {
    "rank": lambda Z: rankdata(Z[:, 0]),
    "centred": lambda Z: Z[:, 0] - Z[:, 0].mean(),
    "far from zero": lambda Z: 50.0 + Z[:, 0] - Z[:, 0].mean(),
    "scaled": lambda Z: Z[:, 0] / Z[:, 0].std(),
    "row before": lambda Z: np.diff(Z[:, 0], prepend=Z[0, 0]),
    "sum so far": lambda Z: np.cumsum(Z[:, 0]),
    "noise by position": lambda Z: Z[:, 0] + np.random.default_rng(0).normal(size=len(Z)),
}


@pytest.mark.parametrize("order", ["as drawn", "sorted"])
@pytest.mark.parametrize("name", DEPENDENT)
def test_responses_that_depend_on_other_rows_are_refused(name: str, order: str) -> None:
    rows = np.sort(X, axis=0) if order == "sorted" else X
    with pytest.raises(
        ModelOutputError, match=r"other rows of the call.*fitted on the training data"
    ):
        sd.explain(DEPENDENT[name], rows, 0, method="pdp")


OF_LEVELS = {
    "numbers of levels": lambda D: D["a"] + LabelEncoder().fit_transform(D["g"]),
    "codes": lambda D: D["a"] + D["g"].astype("category").cat.codes,
    "means by level": lambda D: D["a"] + D.groupby("g")["b"].transform("mean"),
    "mean of the call": lambda D: D["a"] + D["m"].fillna(D["m"].mean()),
}


def test_levels_numbered_and_missing_values_filled_by_the_call_are_refused() -> None:
    rng = np.random.default_rng(0)
    D = pd.DataFrame(rng.normal(size=(600, 3)), columns=list("abm"))
    D["g"], D["h"] = rng.choice(list("uvw"), 600), rng.choice(list("pq"), 600)
    D.loc[rng.uniform(size=600) < 0.2, "m"] = np.nan
    for model in OF_LEVELS.values():
        with pytest.raises(ModelOutputError, match="other rows of the call"):
            sd.explain(model, D, "a", method="pdp")
    codes = {"u": 0.0, "v": 1.0, "w": 2.0}
    sd.explain(lambda D: D["a"] + D["g"].map(codes) + D["m"].fillna(0.0), D, "a", method="pdp")


ROUNDED = {
    "little noise": GaussianProcessRegressor(alpha=1e-10, optimizer=None),
    "ridge": KernelRidge(kernel="rbf", alpha=1e-8),
    "network": MLPRegressor(hidden_layer_sizes=(30,), max_iter=20, random_state=0),
    "neighbours": KNeighborsRegressor(algorithm="brute"),
    "forest": RandomForestRegressor(5, random_state=0),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ROUNDED)
def test_rounding_that_depends_on_the_size_of_a_call_is_no_dependence(name: str) -> None:
    """Also in integers with many ties, and in single precision."""
    many_ties = np.round(X)
    for rows in (X, many_ties):
        model = ROUNDED[name].fit(rows, Y)
        for predict in (model.predict, lambda Z, of=model: of.predict(Z).astype(np.float32)):
            said = sd.explain(predict, rows, 0, method=sd.PDP(grid=3)).provenance
            assert said["check_rows"] in (128, 192)


@pytest.mark.parametrize("n", [1, 3, 4, 9])
def test_few_rows_are_checked_too(n: int) -> None:
    assert sd.explain(lambda Z: Z[:, 0], X[:n], 0, method="pdp").provenance["check_rows"] == 2 * n
    if n >= 4:
        with pytest.raises(ModelOutputError, match="other rows of the call"):
            sd.explain(DEPENDENT["centred"], X[:n], 0, method="pdp")


@pytest.mark.slow
def test_batch_normalisation_in_training_mode_is_refused_and_in_evaluation_explained() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
    )

    def predict(Z: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return 100.0 + 20.0 * net(torch.tensor(Z, dtype=torch.float32)).numpy().astype(float)

    with pytest.raises(ModelOutputError, match=r"model\.eval\(\)"):
        sd.explain(predict, X, 0, method="pdp")
    net.eval()
    moved = np.column_stack([np.full(300, 0.5), X[:, 1:]])
    effect = sd.explain(predict, X, 0, method=sd.PDP(grid=[0.5]))
    assert effect.value[0] == pytest.approx(predict(moved).mean(), rel=1e-6)


def test_outputs_of_one_model_are_checked_together() -> None:
    def two(Z: np.ndarray) -> np.ndarray:
        return np.column_stack([Z[:, 0], rankdata(Z[:, 0])])

    assert len(sd.explain(sd.prediction(two, output=0), X, 0).value) > 1
    with pytest.raises(ModelOutputError, match=r"prediction 1.*other rows of the call"):
        sd.explain(sd.prediction(two, output="all"), X, 0)
