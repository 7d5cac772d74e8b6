"""Trees at the boundaries of their rules: no thresholds, no trees, tables too large to keep, numbers far apart."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from skedasis.data.dataset import as_dataset
from skedasis.trees import catboost, evaluator, pipeline
from skedasis.trees.ensemble import ModelInfo, Nodes, assemble, method_response
from skedasis.trees.preprocessing import Preprocessing
from skedasis.trees.readers import load
from tests.helpers import refused, table
from tests.reference.tree_cases import alike
from tests.reference.tree_evaluation import raw_scores

compose = pytest.importorskip("sklearn.pipeline")
impute = pytest.importorskip("sklearn.impute")
preprocessing = pytest.importorskip("sklearn.preprocessing")
tree = pytest.importorskip("sklearn.tree")


def test_only_tests_of_numbers_need_a_threshold():
    """The root tests for categories, its right child for numbers; leaves test nothing."""
    nodes = Nodes(
        sizes=np.array([5]),
        feature=np.array([0, 7, 1, 7, 7]),
        threshold=np.array([np.nan, np.nan, 0.5, np.nan, np.nan]),
        left=np.array([1, -1, 3, -1, -1]),
        right=np.array([2, -1, 4, -1, -1]),
        missing_left=np.zeros(5, bool),
        value=np.array([0.0, 10.0, 0.0, 20.0, 30.0]),
        category=np.array([0, -1, -1, -1, -1]),
        sets=[np.array([1, 3])],
    )
    known = {0: np.arange(4)}
    trees = assemble(nodes, ModelInfo(2, np.zeros(1), "by hand", known=known))
    X = np.array([[1.0, 9.0], [3.0, 0.0], [0.0, 0.5], [2.0, 0.6], [np.nan, 0.0]])
    assert raw_scores(trees, X)[:, 0].tolist() == [10.0, 10.0, 20.0, 30.0, 20.0]


def test_a_booster_without_trees_predicts_its_base():
    xgboost = pytest.importorskip("xgboost")
    X = table(30)
    booster = xgboost.train({"base_score": 0.25}, xgboost.DMatrix(X, label=X[:, 0]), 0)
    trees = load(booster)
    found = method_response(trees, raw_scores(trees, X))
    np.testing.assert_array_equal(found, booster.inplace_predict(X))
    for method in (sd.PDP(grid=5), sd.PDP(grid="exact"), sd.PDP(grid=5, heterogeneity=False)):
        e = sd.explain(booster, X, 0, method=method, tree="force")
        np.testing.assert_allclose(e.value, 0.25)
    for method in (sd.ALE(bins=4), sd.RHALE()):
        assert not sd.explain(booster, X, 0, method=method, tree="force").value.any()
    assert not sd.explain(booster, X, method=sd.PFI(), tree="force").values.any()


class Symmetric:
    """A model whose file has one tree of three tests, in the format of a library of symmetric trees."""

    feature_names_ = ("a", "b")
    borders = ((0, 0.5), (1, -1.0), (0, -0.5))

    def save_model(self, path: str, format: str) -> None:  # noqa: A002 - the library's name
        """Write the model."""
        splits = [{"float_feature_index": j, "border": b} for j, b in self.borders]
        saved = {
            "features_info": {
                "float_features": [
                    {"feature_index": j, "flat_feature_index": j, "nan_value_treatment": "AsIs"}
                    for j in range(2)
                ]
            },
            "oblivious_trees": [{"splits": splits, "leaf_values": [2.0**k for k in range(8)]}],
            "scale_and_bias": [1.0, [0.0]],
        }
        Path(path).write_text(json.dumps(saved), encoding="utf-8")

    def predict(self, X: Any) -> Any:
        """Return the value of the leaf whose number has a bit for each border that is exceeded."""
        bits = [2**k * (X[:, j] > border) for k, (j, border) in enumerate(self.borders)]
        return 2.0 ** np.sum(bits, axis=0)


def test_the_leaf_of_a_symmetric_tree_has_a_bit_for_each_border():
    model = Symmetric()
    X = np.array(list(product([-1.0, -0.5, 0.0, 0.5, 1.0], [-2.0, -1.0, 0.0])))
    trees = catboost.load(model)
    np.testing.assert_array_equal(raw_scores(trees, X)[:, 0], model.predict(X))


def test_codes_of_a_table_too_large_to_keep_are_read_anew(monkeypatch: pytest.MonkeyPatch):
    X = table(90)
    model = tree.DecisionTreeRegressor(max_depth=4).fit(X, X[:, 0] * X[:, 1])
    monkeypatch.setattr(evaluator, "_HOLD", 0)
    alike(model, X, method=sd.PDP(grid=5))
    alike(model, X, method=sd.ALE(bins=4))


def piped(X: np.ndarray, *steps: Any) -> Any:
    """Return a fitted pipeline of these steps and a tree."""
    y = np.nan_to_num(np.sin(X[:, 0]), nan=4.0)
    return compose.make_pipeline(*steps, tree.DecisionTreeRegressor(max_depth=3)).fit(X, y)


@pytest.mark.parametrize("function", [np.log1p, np.sqrt, np.tanh])
def test_jumps_behind_an_increasing_function_are_found(function):
    X = np.abs(table(60, 1))
    model = piped(X, preprocessing.FunctionTransformer(function))
    e = sd.explain(model, X, 0, method=sd.PDP(grid="exact"), tree="force")
    x = np.concatenate([e.x, np.linspace(e.x[0], e.x[-1], 500)])
    called = model.predict(x[:, None])
    assert len(np.unique(called)) > 4
    np.testing.assert_allclose(e(x) - e.value[0], called - called[0], rtol=0, atol=1e-12)


def test_jumps_between_numbers_whose_difference_is_beyond_all_floats(
    monkeypatch: pytest.MonkeyPatch,
):
    """Their middle is infinite, so that only halving the floats between them ends the search."""
    X = np.concatenate([table(60, 1), [[-1.7e308], [1.7e308]]])
    model = piped(X, preprocessing.FunctionTransformer(np.arctan))
    forest = pipeline.read_forest(model, as_dataset(X), compiled=True)
    transformed, calls = Preprocessing.__call__, []

    def counted(self: Preprocessing, rows: Any) -> Any:
        calls.append(len(rows))
        assert len(calls) < 500, "the search does not end"
        return transformed(self, rows)

    monkeypatch.setattr(Preprocessing, "__call__", counted)
    jumps = forest.jumps(0)
    own = model[-1].tree_
    assert len(jumps) == len(np.unique(own.threshold[own.feature >= 0])) > 4
    behind = np.nextafter(jumps, np.inf)
    assert (model.predict(jumps[:, None]) != model.predict(behind[:, None])).all()


@pytest.mark.parametrize("function", [np.negative, np.square, np.abs, np.cos])
def test_jumps_behind_other_functions_are_not_known(function):
    X = table(60, 1)
    model = piped(X, preprocessing.FunctionTransformer(function))
    alike(model, X, 0, method=sd.PDP(grid=5))
    with refused(sd.UnsupportedError, "grid='exact'", "jumps are not known"):
        sd.explain(model, X, 0, method=sd.PDP(grid="exact"), tree="force")


def test_numbers_with_an_indicator_of_missing_ones_need_no_list_of_combinations(
    monkeypatch: pytest.MonkeyPatch,
):
    """Their order is kept, so that columns of any number of thresholds are read from the trees."""
    X = table(90, 2)
    X[::4, 0] = np.nan
    model = piped(X, impute.SimpleImputer(add_indicator=True))
    assert {0, 2} <= set(model[-1].tree_.feature)
    monkeypatch.setattr(pipeline, "_LARGEST_TABLE", 0)
    alike(model, X, 0, method=sd.PDP(grid=5))
