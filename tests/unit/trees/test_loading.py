"""Loading models as tree ensembles: which are read, which are rejected and why, files, categories, link functions."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from skedasis.errors import UnsupportedError
from skedasis.trees import lightgbm as lightgbm_trees
from skedasis.trees import xgboost as xgboost_trees
from skedasis.trees.ensemble import (
    Ensemble,
    ModelInfo,
    Nodes,
    TreesUnreadable,
    apply_link,
    assemble,
    method_response,
)
from skedasis.trees.readers import is_candidate, load
from skedasis.trees.xgboost import _tree, _vectors, parse_xgboost_json
from tests.helpers import refused, table
from tests.reference.tree_evaluation import as_codes, raw_scores

X = table(200, 3)
Y = X[:, 0] * X[:, 1] + X[:, 2]
TWO = (Y > 0).astype(int)
pytestmark = pytest.mark.filterwarnings("ignore")  # warnings of the fitted libraries


def boosters(name: str, **options: Any) -> Any:
    """Return an unfitted small model of LightGBM, XGBoost or CatBoost."""
    if name.startswith("LGBM"):
        fixed = {"n_estimators": 4, "verbose": -1, "n_jobs": 1, "min_child_samples": 5}
        return getattr(pytest.importorskip("lightgbm"), name)(**{**fixed, **options})
    if name.startswith("XGB"):
        fixed = {"n_estimators": 4, "n_jobs": 1}
        return getattr(pytest.importorskip("xgboost"), name)(**{**fixed, **options})
    fixed = {"iterations": 4, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return getattr(pytest.importorskip("catboost"), name)(**{**fixed, **options})


def scikit(name: str, **options: Any) -> Any:
    """Return an unfitted ensemble model of scikit-learn."""
    return getattr(pytest.importorskip("sklearn.ensemble"), name)(**options)


def same(model: Any, rows: Any, expected: Any, rtol: float = 1e-10) -> Ensemble:
    """Assert that the trees of a model give the expected response, and return them."""
    ensemble = load(model)
    found = method_response(ensemble, raw_scores(ensemble, as_codes(ensemble, rows)))
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * np.abs(expected).max())
    return ensemble


def reason(model: Any) -> str:
    """Return the reason why the trees of a model cannot be read."""
    with pytest.raises(TreesUnreadable) as caught:
        load(model)
    return caught.value.reason


# ------------------------------------------------------------------------------ rejected models


def own_loss(a: Any, b: Any) -> Any:
    """Return gradient and Hessian of the squared error of labels `a` and predictions `b`."""
    return b - a, np.ones_like(a)


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "linear trees": (lambda: boosters("LGBMRegressor", linear_tree=True), Y, "linear trees"),
    "squares": (lambda: boosters("LGBMRegressor", reg_sqrt=True), Y, "reg_sqrt"),
    "unknown link": (
        lambda: boosters("LGBMRegressor", objective="cross_entropy_lambda"),
        TWO,
        "'cross_entropy_lambda'",
    ),
    "own probabilities": (lambda: boosters("LGBMClassifier", objective=own_loss), TWO, "one's own"),
    "linear booster": (lambda: boosters("XGBRegressor", booster="gblinear"), Y, "gblinear"),
    "hinge": (lambda: boosters("XGBClassifier", objective="binary:hinge"), TWO, "'binary:hinge'"),
    "logits for probabilities": (
        lambda: boosters("XGBClassifier", objective="binary:logitraw"),
        TWO,
        "'binary:logitraw'",
    ),
    "two answers": (
        lambda: boosters("CatBoostRegressor", loss_function="RMSEWithUncertainty"),
        Y,
        "'RMSEWithUncertainty'",
    ),
    "focal loss": (
        lambda: boosters("CatBoostClassifier", loss_function="Focal:focal_alpha=0.5;focal_gamma=2"),
        TWO,
        "'Focal'",
    ),
    "several labels": (
        lambda: scikit("RandomForestClassifier", n_estimators=2),
        np.stack([TWO, TWO], axis=1),
        "several outputs",
    ),
    "model at the start": (
        lambda: scikit("GradientBoostingRegressor", init=scikit("RandomForestRegressor")),
        Y,
        "another model",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_trees_do_not_determine_is_refused(case: str) -> None:
    make, y, words = REFUSED[case]
    assert words in reason(make().fit(X, y))


@pytest.mark.parametrize(
    "make",
    [
        lambda: boosters("LGBMRegressor"),
        lambda: boosters("XGBClassifier"),
        lambda: boosters("CatBoostRegressor"),
        lambda: scikit("RandomForestRegressor"),
        lambda: scikit("HistGradientBoostingClassifier"),
        lambda: scikit("IsolationForest"),
    ],
)
def test_an_unfitted_model_is_refused(make: Any) -> None:
    assert is_candidate(make())
    assert "is not fitted" in reason(make())


def test_a_random_start_is_refused() -> None:
    dummy = pytest.importorskip("sklearn.dummy").DummyClassifier(strategy="stratified")
    assert "another model" in reason(scikit("GradientBoostingClassifier", init=dummy).fit(X, TWO))


def test_labels_of_a_booster_are_refused() -> None:
    xgb = pytest.importorskip("xgboost")
    booster = xgb.train({"objective": "multi:softmax", "num_class": 2}, xgb.DMatrix(X, TWO), 3)
    assert "labels" in reason(booster)


def test_categories_of_catboost_are_refused() -> None:
    frame = pd.DataFrame({"a": X[:, 0], "c": pd.Categorical(np.where(TWO, "u", "v"))})
    model = boosters("CatBoostRegressor", cat_features=["c"]).fit(frame, Y)
    assert "not numeric" in reason(model)


def test_a_missing_value_that_is_a_code_of_categories_is_refused() -> None:
    frame = pd.DataFrame({"a": X[:, 0], "c": pd.Categorical(np.where(TWO, "u", "v"))})
    model = boosters("XGBRegressor", enable_categorical=True, missing=1.0).fit(frame, TWO)
    assert "1.0 counts as missing" in reason(model)


def test_a_test_of_categories_without_categories_is_refused() -> None:
    frame = pd.DataFrame({"c": pd.Categorical(np.where(TWO, "u", "v"))})
    booster = boosters("XGBRegressor", enable_categorical=True).fit(frame, Y).get_booster()
    saved = json.loads(booster.save_raw("json"))
    for tree in saved["learner"]["gradient_booster"]["model"]["trees"]:
        for field in ("categories", "categories_nodes", "categories_segments", "categories_sizes"):
            tree[field] = []
    text = json.dumps(saved).encode()
    with pytest.raises(TreesUnreadable, match="no categories"):
        xgboost_trees.load(SimpleNamespace(save_raw=lambda form: text))


def test_zeros_that_are_missing_in_some_trees_only_are_refused() -> None:
    rows = np.where(np.abs(X) < 0.4, 0.0, X)
    model = boosters("LGBMRegressor", zero_as_missing=True).fit(rows, Y)
    assert load(model).also_missing
    text = model.booster_.model_to_string()
    head, tree, rest = text.partition("Tree=1")
    line = next(part for part in rest.split("\n") if part.startswith("decision_type="))
    changed = head + tree + rest.replace(line, line.replace("6", "2").replace("4", "0"), 1)
    with pytest.raises(TreesUnreadable, match="some trees"):
        lightgbm_trees.load(SimpleNamespace(model_to_string=lambda: changed))


def test_leaves_of_an_older_xgboost_are_refused() -> None:
    fields = "left_children", "right_children", "split_indices", "split_type", "default_left"
    saved: dict[str, Any] = {name: [0] for name in (*fields, "split_conditions")}
    saved["tree_param"] = {"size_leaf_vector": "2"}
    with pytest.raises(TreesUnreadable, match="several values in another form"):
        _vectors([_tree(saved)])


def test_none_as_a_category_is_refused() -> None:
    rows = np.array([["u", 1.0], ["v", 2.0], [None, 3.0]] * 30, dtype=object)
    model = scikit("HistGradientBoostingRegressor", max_iter=2, categorical_features=[0])
    assert "None is a category" in reason(model.fit(rows, rows[:, 1].astype(float)))


def test_ordered_categories_of_lightgbm_are_refused() -> None:
    names = pd.Categorical(np.where(TWO, "u", "v"), categories=["u", "v"])
    frame = pd.DataFrame({"a": X[:, 0], "c": names, "o": names.as_ordered(), "one": 1.0})
    assert "cannot be determined" in reason(boosters("LGBMRegressor").fit(frame, Y))


def test_other_models_are_no_candidates() -> None:
    linear = pytest.importorskip("sklearn.linear_model").LinearRegression().fit(X, Y)
    assert not is_candidate(linear)
    assert not is_candidate(len)
    assert "LinearRegression is not a supported tree ensemble" in reason(linear)
    assert is_candidate(scikit("ExtraTreesRegressor"))


def test_a_threshold_that_is_no_number_is_refused() -> None:
    model = scikit("HistGradientBoostingRegressor", max_iter=2).fit(X, Y)
    model._predictors[0][0].nodes["num_threshold"][0] = np.nan
    assert "not a number" in reason(model)


def test_an_unknown_inside_is_refused_with_its_words() -> None:
    model = scikit("HistGradientBoostingRegressor", max_iter=2).fit(X, Y)
    del model._baseline_prediction
    assert "_baseline_prediction" in reason(model)


def test_an_unknown_loss_is_refused() -> None:
    model = scikit("HistGradientBoostingRegressor", max_iter=2).fit(X, Y)
    model._loss.link = object()
    assert "link object" in reason(model)


# ---------------------------------------------------------------------------------------- nodes

# x0 <= 1 -> (x1 <= 2 -> 10, else 20), else 30; with two unreachable nodes, and children before parents.
SHUFFLED = Nodes(
    sizes=np.array([7, 1]),
    feature=np.array([0, -1, -1, -1, 1, 9, -1, -1]),
    threshold=np.array([1.0, 0, 0, 0, 2.0, np.nan, 0, 0]),
    left=np.array([4, -1, -1, -1, 3, 6, -1, -1]),
    right=np.array([1, -1, -1, -1, 2, 6, -1, -1]),
    missing_left=np.array([0, 0, 0, 0, 1, 0, 0, 0]),
    value=np.array([7.0, 30.0, 20.0, 10.0, 7.0, 7.0, 7.0, 0.5]),
)


def test_nodes_are_put_in_order_and_lost_ones_left_out() -> None:
    e = assemble(SHUFFLED, ModelInfo(2, np.array([100.0]), "by hand"))
    assert e.roots.tolist() == [0, 5, 6]
    assert e.feature.tolist() == [0, 1, -1, -1, -1, -1]
    assert e.value.tolist() == [0.0, 0.0, 30.0, 10.0, 20.0, 0.5]
    rows = np.array([[0.0, 0], [1, 3], [np.nan, 0], [0, np.nan], [2, 0]])
    assert raw_scores(e, rows)[:, 0].tolist() == [110.5, 120.5, 130.5, 110.5, 130.5]


def test_nodes_in_a_circle_are_refused() -> None:
    circle = Nodes(
        np.array([3]),
        np.zeros(3, int),
        np.zeros(3),
        np.array([1, 0, -1]),
        np.array([2, 2, -1]),
        np.zeros(3),
        np.zeros(3),
    )
    with pytest.raises(TreesUnreadable, match="do not form trees"):
        assemble(circle, ModelInfo(1, np.zeros(1), "by hand"))


@pytest.mark.parametrize(
    ("name", "value"),
    [("left", 100_000_000), ("right", 7), ("right", -1), ("feature", 2), ("feature", -1)],
)
def test_nodes_with_an_index_outside_of_its_array_are_refused(name: str, value: int) -> None:
    changed = getattr(SHUFFLED, name).copy()
    changed[4] = value
    with pytest.raises(TreesUnreadable, match=r"outside of its array|no node of its tree"):
        assemble(replace(SHUFFLED, **{name: changed}), ModelInfo(2, np.zeros(1), "by hand"))


def test_outputs_and_sets_that_do_not_exist_are_refused() -> None:
    for output in ([0, 1], [0, -2]):
        info = ModelInfo(2, np.zeros(1), "by hand", output=np.array(output))
        with pytest.raises(TreesUnreadable, match="outside of its array"):
            assemble(SHUFFLED, info)
    category = np.where(np.arange(8) == 4, 1, -1)
    nodes = replace(SHUFFLED, category=category, sets=[np.array([3])])
    with pytest.raises(TreesUnreadable, match="outside of its array"):
        assemble(nodes, ModelInfo(2, np.zeros(1), "by hand"))


def test_nodes_pruned_by_xgboost_are_left_out() -> None:
    model = boosters("XGBRegressor", tree_method="exact", gamma=8.0, max_depth=5).fit(X, Y)
    e = same(model, X, model.predict(X), 1e-5)
    assert len(e.feature) == 2 * (e.feature >= 0).sum() + e.trees


def test_columns_of_an_isolation_forest_are_those_of_x() -> None:
    model = scikit("IsolationForest", n_estimators=9, max_features=1, random_state=0).fit(X)
    e = same(model, X[:40], model.score_samples(X[:40]))
    for t, columns in enumerate(model.estimators_features_):
        tested = e.feature[e.roots[t] : e.roots[t + 1]]
        assert set(tested[tested >= 0]) == set(columns)


# -------------------------------------------------------------------- files and early stopping


def test_files_of_lightgbm(tmp_path: Path) -> None:
    lgb = pytest.importorskip("lightgbm")
    model = boosters("LGBMClassifier").fit(X, TWO)
    model.booster_.save_model(str(tmp_path / "model.txt"))
    booster = lgb.Booster(model_file=str(tmp_path / "model.txt"))
    same(booster, X[:30], booster.predict(X[:30]))


@pytest.mark.parametrize("form", ["json", "ubj"])
def test_files_of_xgboost(tmp_path: Path, form: str) -> None:
    xgb = pytest.importorskip("xgboost")
    model = boosters("XGBClassifier").fit(X, TWO)
    model.save_model(tmp_path / f"model.{form}")
    booster = xgb.Booster(model_file=str(tmp_path / f"model.{form}"))
    same(booster, X[:30], booster.inplace_predict(X[:30]), 1e-5)
    again = boosters("XGBClassifier")
    again.load_model(tmp_path / f"model.{form}")
    same(again, X[:30], model.predict_proba(X[:30]), 1e-5)


def test_files_of_catboost(tmp_path: Path) -> None:
    cat = pytest.importorskip("catboost")
    model = boosters("CatBoostClassifier").fit(X, TWO)
    model.save_model(str(tmp_path / "model.cbm"))
    again = cat.CatBoostClassifier().load_model(str(tmp_path / "model.cbm"))
    same(again, X[:30], model.predict_proba(X[:30]))


def test_lightgbm_that_stopped_early() -> None:
    lgb = pytest.importorskip("lightgbm")
    held = lgb.Dataset(X[150:], Y[150:])
    booster = lgb.train(
        {"learning_rate": 0.5, "min_data_in_leaf": 5, "verbose": -1, "num_threads": 1},
        lgb.Dataset(X[:150], Y[:150]),
        80,
        valid_sets=[held],
        callbacks=[lgb.early_stopping(3, verbose=False)],
        keep_training_booster=True,
    )
    e = same(booster, X[:40], booster.predict(X[:40]))
    assert e.trees == booster.best_iteration < booster.num_trees()


def test_boosting_fitted_on_a_frame_is_read_without_a_warning() -> None:
    f = pd.DataFrame(X, columns=["a", "b", "c"])
    model = scikit("GradientBoostingRegressor", n_estimators=3).fit(f, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(model, X[:40], model.predict(f[:40]))


@pytest.mark.parametrize("options", [{}, {"num_parallel_tree": 2, "subsample": 0.7}])
def test_xgboost_that_stopped_early(options: dict[str, Any]) -> None:
    model = boosters(
        "XGBRegressor", n_estimators=60, learning_rate=1.0, early_stopping_rounds=3, **options
    )
    model.fit(X[:150], Y[:150], eval_set=[(X[150:], Y[150:])], verbose=False)
    e = same(model, X[:40], model.predict(X[:40]), 1e-5)
    assert e.trees == (model.best_iteration + 1) * options.get("num_parallel_tree", 1)
    # A Booster uses all of its trees, also those after the best iteration.
    booster = model.get_booster()
    every = same(booster, X[:40], booster.inplace_predict(X[:40]), 1e-5)
    assert every.trees > e.trees


@pytest.mark.parametrize("name", ["LGBMRanker", "XGBRanker"])
def test_rankers(name: str) -> None:
    model = boosters(name).fit(X, TWO, group=[80, 120])
    same(model, X[:40], model.predict(X[:40]), 1e-5)


def test_objectives_of_ones_own() -> None:
    for name in ("LGBMRegressor", "XGBRegressor"):
        model = boosters(name, objective=own_loss).fit(X, Y)
        same(model, X[:40], model.predict(X[:40]), 1e-5)


# ----------------------------------------------------------------------------------- categories


def frame(n: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return two numeric columns, two categorical ones between them, and a target that depends on their levels."""
    rng = np.random.default_rng(seed)
    f = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "c": pd.Categorical(rng.choice(list("zyxwvu"), n)),
            "b": rng.normal(size=n),
            "k": pd.Categorical(rng.choice([30, 10, 20], n)),
        }
    )
    worth = f["c"].map({"z": 3.0, "y": -1.0, "x": 0.5, "w": 2.0, "v": -2.0, "u": 0.0}).astype(float)
    return f, np.asarray(f["a"] * worth + f["b"] * (f["k"] == 10) + worth)


def strange(seed: int = 1) -> pd.DataFrame:
    """Return rows with unknown levels, levels in another order, and missing values."""
    f, _ = frame(90, seed)
    f["c"] = pd.Categorical(np.where(np.arange(90) % 4 == 0, "new", f["c"].astype(str)))
    f["k"] = f["k"].cat.set_categories([99, 20, 10, 30])
    f.loc[::5, "k"] = 99
    f.loc[::7, ["c", "k"]] = None
    f.loc[::9, "a"] = np.nan
    return f


def test_pandas_categories_of_lightgbm(tmp_path: Path) -> None:
    lgb = pytest.importorskip("lightgbm")
    f, y = frame()
    model = boosters("LGBMRegressor", n_estimators=15, min_data_per_group=5).fit(f, y)
    e = same(model, strange(), model.predict(strange()))
    assert e.levels == {1: list("uvwxyz"), 3: [10, 20, 30]}
    assert {int(c) for c in e.feature[e.category >= 0]} == {1, 3}
    model.booster_.save_model(str(tmp_path / "model.txt"))
    booster = lgb.Booster(model_file=str(tmp_path / "model.txt"))
    same(booster, strange(), model.predict(strange()))


def test_a_constant_category_of_lightgbm_keeps_its_place() -> None:
    f, y = frame()
    f.insert(0, "one", pd.Categorical(["only"] * len(f)))
    rows = strange()
    rows.insert(0, "one", pd.Categorical(["only"] * len(rows)))
    model = boosters("LGBMRegressor", n_estimators=9).fit(f, y)
    e = same(model, rows, model.predict(rows))
    assert e.levels == {0: ["only"], 2: list("uvwxyz"), 4: [10, 20, 30]}


NUMBERS = [-1, -0.5, 0.5, 1.7, 4.999, 99, 1e10, -1e10, np.nan, np.inf, -np.inf, 2.0**31, 4, 6]


@pytest.mark.parametrize(("missing", "onehot"), [(True, 1), (False, 100)])
def test_numbered_categories_of_lightgbm(missing: bool, onehot: int) -> None:
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.normal(size=500), rng.integers(0, 40, 500)])
    y = Z[:, 0] * np.isin(Z[:, 1], [1, 4, 7, 33]) + np.sin(Z[:, 1])
    if missing:
        Z[::6, 1] = np.nan
    model = boosters(
        "LGBMRegressor", n_estimators=15, max_cat_to_onehot=onehot, min_data_per_group=3, cat_l2=0.1
    ).fit(Z, y, categorical_feature=[1])
    Z[: 10 * len(NUMBERS), 1] = np.tile(NUMBERS, 10)
    e = same(model, Z[:200], model.predict(Z[:200]))
    assert (e.category >= 0).any()
    assert not e.levels


ONE_HOT_OR_SETS = pytest.mark.parametrize("onehot", [1, 100])


def categorical_xgboost(name: str = "XGBRegressor", **options: Any) -> Any:
    """Return an unfitted model of XGBoost with categories."""
    return boosters(name, n_estimators=15, enable_categorical=True, **options)


def known(seed: int = 1) -> pd.DataFrame:
    """Return rows with missing values and the levels of training in another order."""
    f, _ = frame(90, seed)
    f["c"] = f["c"].cat.reorder_categories(list("xvzuyw"))
    f["k"] = f["k"].cat.reorder_categories([20, 10, 30])
    f.loc[::7, ["c", "k"]] = None
    f.loc[::9, "a"] = np.nan
    return f


@ONE_HOT_OR_SETS
@pytest.mark.parametrize("form", ["json", "ubj"])
def test_named_categories_of_xgboost(tmp_path: Path, form: str, onehot: int) -> None:
    xgb = pytest.importorskip("xgboost", minversion="3.1")
    f, y = frame()
    f.loc[::8, "c"] = None
    model = categorical_xgboost(max_cat_to_onehot=onehot).fit(f, y)
    e = same(model, known(), model.predict(known()), 1e-5)
    assert e.levels == {1: list("uvwxyz"), 3: [10, 20, 30]}
    assert {int(c) for c in e.feature[e.category >= 0]} == {1, 3}
    assert max(len(s) for s in e.sets) == 1 if onehot > 1 else any(len(s) > 1 for s in e.sets)
    model.save_model(tmp_path / f"model.{form}")
    booster = xgb.Booster(model_file=str(tmp_path / f"model.{form}"))
    same(booster, known(), model.predict(known()), 1e-5)


@ONE_HOT_OR_SETS
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("XGBRegressor", {"booster": "dart", "rate_drop": 0.4}),
        ("XGBRegressor", {"num_parallel_tree": 2, "subsample": 0.7}),
        ("XGBClassifier", {}),
        ("XGBRFRegressor", {}),
    ],
)
def test_kinds_of_xgboost_with_categories(name: str, options: dict[str, Any], onehot: int) -> None:
    pytest.importorskip("xgboost", minversion="3.1")
    f, y = frame()
    model = categorical_xgboost(name, max_cat_to_onehot=onehot, **options)
    model.fit(f, np.digitize(y, [0.0, 2.0]) if name == "XGBClassifier" else y)
    ask = model.predict_proba if name == "XGBClassifier" else model.predict
    e = same(model, known(), ask(known()), 1e-5)
    assert (e.category >= 0).any()


def test_outputs_of_xgboost_with_categories() -> None:
    pytest.importorskip("xgboost", minversion="3.1")
    f, y = frame()
    model = categorical_xgboost(max_cat_to_onehot=1).fit(f, np.stack([y, -2 * y], axis=1))
    same(model, known(), model.predict(known()), 1e-5)


@ONE_HOT_OR_SETS
def test_numbered_categories_of_xgboost(onehot: int) -> None:
    """Unknown categories go left in each test, whatever its default; negative numbers are unknown, not truncated."""
    xgb = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.normal(size=500), rng.integers(0, 40, 500)])
    y = Z[:, 0] * np.isin(Z[:, 1], [1, 4, 7, 33]) + np.sin(Z[:, 1])
    Z[::6, 1] = np.nan
    data = xgb.DMatrix(Z, y, feature_types=["q", "c"], enable_categorical=True)
    booster = xgb.train({"max_cat_to_onehot": onehot, "nthread": 1, "lambda": 0.1}, data, 15)
    numbers = [*NUMBERS, np.nextafter(5.0, 0.0), 2.0**24, 2.0**23]
    Z[: 10 * len(numbers), 1] = np.tile(numbers, 10)
    e = same(booster, Z[:200], booster.inplace_predict(Z[:200]), 1e-5)
    assert (e.category >= 0).any()
    assert not e.levels


MISSING = [-999.0, 0.0, 0.5, np.inf, 1e39]


@pytest.mark.parametrize("missing", MISSING)
def test_a_number_that_is_missing_in_xgboost(missing: float) -> None:
    """Compared in single precision, as the thresholds are."""
    rows = np.round(X, 1)
    rows[::5, 0] = missing if missing < 1e38 else np.nan
    model = boosters("XGBRegressor", missing=missing, n_estimators=20)
    model.fit(rows, np.where(rows[:, 0] == rows[0, 0], 3 * X[:, 1], X[:, 0]))
    single = np.float32(min(missing, 1e38))
    near = [missing, np.nan, float(single), *(float(np.nextafter(single, s)) for s in SIDES)]
    near += [np.nextafter(missing, -1e9), np.nextafter(missing, 1e9), -np.inf, 3.5e38]
    rows[: 3 * len(near)] = rows[0]
    rows[: len(near), 0] = rows[len(near) : 2 * len(near), 1] = near
    e = same(model, rows[:60], model.predict(rows[:60]), 1e-5)
    assert set(e.also_missing) == {0, 1, 2}


SIDES = np.array([-np.inf, np.inf], np.float32)


@pytest.mark.parametrize("use", [True, False])
def test_zeros_that_are_missing_in_lightgbm(use: bool) -> None:
    rows = np.where(np.abs(X) < 0.4, 0.0, X)
    rows[::9, 0] = np.nan
    model = boosters("LGBMRegressor", n_estimators=20, zero_as_missing=True, use_missing=use)
    model.fit(rows, np.where(rows[:, 0] == 0, 3 * X[:, 1], X[:, 0]))
    border = float(np.float32(1e-35))
    near = [0.0, -0.0, border, -border, *np.nextafter([border, -border], [1.0, -1.0]), 1e-300]
    near += [1e-36, np.nan, np.inf, 0.4]
    rows[: 2 * len(near)] = rows[3]
    rows[: len(near), 0] = rows[len(near) : 2 * len(near), 1] = near
    e = same(model, rows[:60], model.predict(rows[:60]))
    assert bool(e.also_missing) is use


@pytest.mark.parametrize("k", [0, 2, 3])
def test_categories_of_histograms_are_found_in_xs_own_columns(k: int) -> None:
    f, y = frame()
    f.loc[::8, "c"] = None
    kind = "HistGradientBoostingClassifier" if k else "HistGradientBoostingRegressor"
    target = np.digitize(y, [0.0, 2.0][: k - 1]) if k else y
    model = scikit(kind, max_iter=10, categorical_features="from_dtype").fit(f, target)
    ask = model.predict_proba if k else model.predict
    e = same(model, strange(), ask(strange()))
    assert e.levels == {1: list("uvwxyz"), 3: [10, 20, 30]}
    assert {int(c) for c in e.feature[e.category >= 0]} <= {1, 3}
    assert {int(c) for c in e.feature[(e.category < 0) & (e.feature >= 0)]} <= {0, 2}


def test_numbered_categories_of_histograms() -> None:
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.normal(size=400), rng.integers(0, 9, 400) * 10 - 5.5])
    y = Z[:, 0] * np.isin(Z[:, 1], [4.5, 34.5]) + Z[:, 1] ** 2 / 100
    model = scikit("HistGradientBoostingRegressor", max_iter=10, categorical_features=[1]).fit(Z, y)
    Z[:60, 1] = np.tile([-5.5, 4.4, 4.5, 0.0, 1.0, np.nan], 10)
    same(model, Z[:120], model.predict(Z[:120]))


# ------------------------------------------------------------------------------- link functions


def test_links_are_their_formulas() -> None:
    raw = np.array([[[0.3, -1.2, 2.0]], [[800.0, 0.0, -800.0]]])
    e = np.exp([0.3, -1.2, 2.0])
    np.testing.assert_allclose(apply_link("softmax", 1.0, raw)[0, 0], e / e.sum(), rtol=1e-14)
    np.testing.assert_allclose(apply_link("softmax", 1.0, raw)[1, 0], [1, 0, 0], atol=1e-300)
    np.testing.assert_allclose(apply_link("exp", 1.0, raw)[0, 0], e, rtol=1e-14)
    odds = np.exp(2.0 * raw[0, 0])
    for link in ("sigmoid", "one_vs_rest"):
        np.testing.assert_allclose(apply_link(link, 2.0, raw)[0, 0], odds / (1 + odds), rtol=1e-14)
    shares = apply_link("normalised", 1.0, np.array([[1.0, 3.0], [2.0, 0.0]]))
    assert shares.tolist() == [[0.25, 0.75], [1.0, 0.0]]
    assert apply_link("path", 4.0, np.array([[8.0]])).tolist() == [[-0.25]]
    assert apply_link("path", 0.0, np.array([[0.0]])).tolist() == [[-0.5]]
    assert apply_link("identity", 1.0, raw) is raw


def test_labels_and_unknown_methods_are_refused() -> None:
    e = load(scikit("RandomForestClassifier", n_estimators=2).fit(X, TWO))
    with refused(UnsupportedError, "predict", "predict_proba", "RandomForestClassifier"):
        method_response(e, np.zeros((3, 2)), "predict")
    isolation = load(scikit("IsolationForest", n_estimators=2).fit(X))
    with refused(UnsupportedError, "a question for predict", "score_samples"):
        method_response(isolation, np.zeros((3, 1)), "predict")
    regressor = load(scikit("RandomForestRegressor", n_estimators=2).fit(X, Y))
    with refused(UnsupportedError, "apply"):
        method_response(regressor, np.zeros((3, 1)), "apply")


# -------------------------------------------------------------------------------- XGBoost's JSON

# Of all float32 numbers, only the first and its negative change if their decimals are first rounded to float64. The
# others are the smallest, the smallest normal and the largest number, negative zero, and 2**24 + 2.
HARD = np.array([0x15AE43FD, 0x95AE43FD, 1, 0x00800000, 0x7F7FFFFF, 1 << 31, 0x4B800001], np.uint32)


def dropped_trees(rounds: int) -> tuple[dict[str, Any], dict[str, Any], list[float]]:
    """Return a saved DART model with one-split trees, the part with the trees, and the list of the trees' weights."""
    xgb = pytest.importorskip("xgboost")
    options = {"max_depth": 1, "nthread": 1, "booster": "dart", "rate_drop": 0.5}
    saved = json.loads(xgb.train(options, xgb.DMatrix(X, Y), rounds).save_raw("json"))
    booster = saved["learner"]["gradient_booster"]
    model = booster["gbtree"]["model"] if "gbtree" in booster else booster["model"]
    # Before 3.4, XGBoost wrote the weights into the booster.
    weights = model["weight_drop"] if "weight_drop" in model else booster["weight_drop"]
    return saved, model, weights


def with_numbers(key: str, numbers: np.ndarray) -> Any:
    """Return a booster with a one-split tree for each number: its threshold, left leaf or tree weight, by `key`."""
    xgb = pytest.importorskip("xgboost")
    saved, model, weights = dropped_trees(len(numbers))
    weights[:] = [1.0] * len(numbers)
    for t, number in enumerate(numbers.astype(float).tolist()):
        if key == "weight_drop":
            weights[t] = number
        else:
            place = 0 if key == "threshold" else 1
            model["trees"][t]["split_conditions"][place] = number
    booster = xgb.Booster()
    booster.load_model(bytearray(json.dumps(saved).encode()))
    return booster


@pytest.mark.parametrize("key", ["threshold", "leaf", "weight_drop"])
def test_every_number_of_xgboost_comes_back_in_full(key: str) -> None:
    rng = np.random.default_rng(0)
    bits = np.concatenate([HARD, rng.integers(0, 0x7F800000, 200).astype(np.uint32)])
    numbers = bits.view(np.float32)
    if key == "weight_drop":  # it multiplies leaves, which must not overflow
        numbers = numbers[np.abs(numbers) < 1e30]
    e = load(with_numbers(key, numbers))
    root, left = e.roots[:-1], e.roots[:-1] + 1
    if key == "threshold":
        below = np.nextafter(numbers, np.float32(-np.inf))
        assert e.threshold[root].tobytes() == below.astype(float).tobytes()
    elif key == "leaf":
        assert e.value[left].tobytes() == numbers.astype(float).tobytes()
    else:
        plain = load(with_numbers(key, np.ones(len(numbers), np.float32)))
        expected = plain.value[left].astype(np.float32) * numbers
        assert e.value[left].tobytes() == expected.astype(float).tobytes()


@pytest.mark.parametrize("version", ["3.0", "3.4"])
def test_weights_of_trees_are_read_as_each_version_of_xgboost_writes_them(version: str) -> None:
    saved, model, weights = dropped_trees(20)
    assert len(set(weights)) > 3
    bare = {key: part for key, part in model.items() if key != "weight_drop"}
    saved["learner"]["gradient_booster"] = {
        "3.0": {
            "name": "dart",
            "gbtree": {"name": "gbtree", "model": bare},
            "weight_drop": weights,
        },
        "3.4": {"name": "gbtree", "model": {**bare, "weight_drop": weights}},
    }[version]
    e = xgboost_trees.load(SimpleNamespace(save_raw=lambda form: json.dumps(saved).encode()))
    leaves = np.array([tree["split_conditions"][1] for tree in model["trees"]], np.float32)
    expected = leaves * np.array(weights, np.float32)
    assert e.value[e.roots[:-1] + 1].tobytes() == expected.astype(float).tobytes()


@pytest.mark.parametrize(
    "name", ['a "b"', "C:\\users", "a\\\\u", "\\u00", "\\n\nb\t\x01", "é", "日本", "😀", "{}:,\\"]
)
def test_names_of_features_and_attributes_are_in_nobodys_way(name: str) -> None:
    xgb = pytest.importorskip("xgboost")
    booster = xgb.train({"nthread": 1}, xgb.DMatrix(X, Y, feature_names=[name, "b", "c"]), 2)
    booster.set_attr(note=name)
    same(booster, X[:40], booster.inplace_predict(X[:40]), 1e-5)


def test_what_is_no_json_is_refused() -> None:
    for text in (b"", b'{"learner": {', rb'{"learner": "\q"}'):
        with pytest.raises(ValueError, match=r"Expecting|Invalid"):
            parse_xgboost_json(text)


def test_nothing_of_the_model_is_changed() -> None:
    model = scikit("RandomForestRegressor", n_estimators=3, random_state=0).fit(X, Y)
    before = model.predict(X)
    e = load(model)
    e.value[:] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(X).tolist() == before.tolist()
