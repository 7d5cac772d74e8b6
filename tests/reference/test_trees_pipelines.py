"""Pipelines that end in trees, behind transformers of single columns: against calls of the pipeline itself."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import skedasis as sd
from skedasis.data.dataset import as_dataset
from skedasis.quantities import tree_evaluator
from skedasis.quantities.evaluator import probe_model
from skedasis.quantities.outputs import as_quantity
from skedasis.quantities.tree_evaluator import use_trees_if_exact
from skedasis.trees import preprocessing
from skedasis.trees.layout import ColumnTests, JointTests, States
from skedasis.trees.pipeline import PipelineForest
from skedasis.trees.preprocessing import OutputColumn, preprocessing_of
from tests.helpers import refused
from tests.reference.pipeline_cases import (
    CASES,
    fitted,
    people,
    tree_model,
)
from tests.reference.tree_cases import same

compose = pytest.importorskip("sklearn.compose")
pipe = pytest.importorskip("sklearn.pipeline")
p = pytest.importorskip("sklearn.preprocessing")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:sklearn|xgboost|lightgbm")

PAIRS = [
    ("scaled", "histograms"),
    ("scaled", "histograms 2"),
    ("scaled", "forest 2"),
    ("marked", "boosting"),
    ("marked", "forest"),
    ("marked", "xgboost"),
    ("marked", "lightgbm 2"),
    ("missing kept", "histograms"),
    ("missing kept", "xgboost 2"),
    ("missing kept", "lightgbm"),
    ("twice", "histograms 2"),
    ("twice", "forest"),
    ("twice", "catboost"),
    ("union", "tree"),
    ("union", "lightgbm"),
    ("target", "histograms"),
    ("target", "forest 2"),
]
SUMS_IN_SINGLE = {"xgboost", "xgboost 2"}


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget which warnings were issued: each is issued only once."""
    monkeypatch.setattr(tree_evaluator, "_WARNED", set())


def rows_explained() -> pd.DataFrame:
    """Return other rows than those of the fit, with a category that the fit has not seen."""
    X = people(120, seed=1).copy()
    X.loc[3:5, "home"] = "castle"
    return X


def both(about: Any, X: Any, *args: Any, **options: Any) -> tuple[Any, Any]:
    """Return the result from the trees, and the result of calling the pipeline."""
    by_trees = sd.explain(about, X, *args, **options)
    called = sd.explain(about, X, *args, tree="off", **options)
    return by_trees, called


METHODS = sd.PDP(grid=6), sd.ALE(bins=4), sd.RHALE()
USUAL = (("scaled", "histograms"), ("marked", "forest"), ("twice", "histograms 2"))


@pytest.mark.parametrize(
    ("case", "which", "method"),
    [
        pytest.param(*pair, method, marks=() if pair in USUAL else pytest.mark.slow)
        for pair, method in zip(PAIRS, itertools.cycle(METHODS), strict=False)
    ],
)
def test_effects_are_those_of_the_called_pipeline(case: str, which: str, method: Any) -> None:
    model = fitted(case, which)
    X = people(120, seed=1) if case == "marked" else rows_explained()
    # Of the other columns all effects of the target's encoder are 0.
    features = ["rooms", "income"] if case == "target" else ["age", "income"]
    if not isinstance(method, sd.RHALE):
        features.append("home")
    by_trees, called = both(model, X, features, method=method)
    tolerance = 1e-5 if which in SUMS_IN_SINGLE else 1e-10
    for name, effect in by_trees.items():
        same(effect, called[name], tolerance)
        assert effect.provenance["trees"].startswith("exact: ")
        assert "behind transformers of single columns" in effect.provenance["trees"]
        assert effect.provenance["effect_rows"] == 0


@pytest.mark.slow
def test_pairs_are_as_strong_as_by_calls() -> None:
    model, X = fitted("scaled", "histograms"), people(30, seed=1)
    wanted = [("age", "income"), ("income", "home"), ("age", "home")]
    found, called = (
        sd.interactions(model, X, wanted, tree=tree, max_rows=None) for tree in ("auto", "off")
    )
    assert found.provenance["trees"].startswith("exact")
    tables = [it.to_frame().set_index(["feature_0", "feature_1"]) for it in (found, called)]
    np.testing.assert_allclose(tables[0]["h2"], tables[1]["h2"].loc[tables[0].index], atol=1e-9)
    assert tables[0]["h2"].max() > 1e-3


def test_the_pipeline_is_called_for_the_comparison_only(monkeypatch: pytest.MonkeyPatch) -> None:
    model, rows = fitted("scaled", "histograms"), list[int]()
    own = type(model).predict

    def counting(this: Any, X: Any, **options: Any) -> Any:
        rows.append(len(X))
        return own.__get__(this)(X, **options) if hasattr(own, "__get__") else own(this, X)

    monkeypatch.setattr(type(model), "predict", counting)
    effects = sd.explain(model, rows_explained(), method=sd.PDP(grid=20))
    assert rows == [64, 2, 2, 8, 52, 64]  # the check of the model, in parts too, and of its trees
    assert all(e.provenance["effect_rows"] == 0 for e in effects.values())
    assert all(e.provenance["tree_rows"] > 0 for e in effects.values())


# --- any values, any rows -------------------------------------------------------------------------

INSERTED = st.one_of(
    st.floats(-1e6, 1e6), st.sampled_from([0.0, -1.0, 3.0, 40.0, 1e-300, 0.1, 2.5])
)


def evaluators(model: Any, X: Any) -> tuple[Any, Any]:
    """Return an evaluator of the trees and one of the pipeline on the same rows."""
    quantity = as_quantity(model)
    dataset = quantity.prepare(as_dataset(X))
    checked = probe_model([quantity], dataset)
    decision = use_trees_if_exact({None: quantity}, dataset, "force", checked, means=False)
    (batch,) = dataset.batches(len(dataset))
    return decision.outputs[None].evaluator(batch), quantity.evaluator(batch, 8)


@pytest.mark.parametrize(
    ("case", "which"), [("scaled", "histograms"), ("marked", "forest"), ("twice", "boosting")]
)
@given(data=st.data())
@settings(deadline=None)
def test_any_inserted_values(case: str, which: str, data: st.DataObject) -> None:
    X = people(40, seed=2)
    by_trees, called = evaluators(fitted(case, which), X)
    j = data.draw(st.sampled_from([0, 1, 2, 3]), "column")
    lowest = 0.0 if case == "twice" and j == 2 else -np.inf  # the logarithm of an income
    values = np.abs(data.draw(st.lists(INSERTED, min_size=1, max_size=5), "values"))
    values = values if lowest == 0.0 else values * data.draw(st.sampled_from([1.0, -1.0]))
    if case != "twice" and j != 1:
        values = np.append(values, np.nan)
    same_numbers(by_trees.sweep(j, values), called.sweep(j, values))
    each = np.random.default_rng(len(values)).choice(values, (len(X), 2))
    same_numbers(by_trees.sweep(j, each), called.sweep(j, each))
    same_numbers(
        by_trees.edge_differences(j, each[:, 0], each[:, 1]),
        called.edge_differences(j, each[:, 0], each[:, 1]),
    )
    same_numbers(by_trees.sums({j: values}, len(values)), called.sums({j: values}, len(values)))
    other = (j + 1) % 4
    pair = {j: values, other: np.abs(values)[::-1] if other == 2 else values[::-1].copy()}
    if not (np.isnan(values).any() and other == 1):
        same_numbers(
            by_trees.sweep_together(pair, len(values)), called.sweep_together(pair, len(values))
        )
    some = np.array([1, 5, 5, 7])
    same_numbers(by_trees.subset(some).sweep(j, values), called.subset(some).sweep(j, values))


def same_numbers(found: np.ndarray, expected: np.ndarray) -> None:
    """Assert that two arrays are equal but for the order of summation."""
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


# --- which outputs depend on which columns --------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_each_output_depends_on_its_column_alone(case: str) -> None:
    """By brute force: an output changes if its column is exchanged, and with no other column."""
    X = people()
    model = fitted(case, "lightgbm")
    before = preprocessing_of(model)
    base = as_numbers(before, X)
    assert base.shape[1] == len(before.outputs)
    other = X.sample(frac=1.0, random_state=3).reset_index(drop=True)
    for j, name in enumerate(X.columns):
        changed = as_numbers(before, X.assign(**{name: other[name]}))
        moved = np.flatnonzero(((base != changed) & ~(np.isnan(base) & np.isnan(changed))).any(0))
        assert set(moved) <= {k for k, o in enumerate(before.outputs) if o.column == j}
        ordered = X.iloc[[0] * len(X)].assign(**{name: X[name].sort_values().to_numpy()})
        swept = as_numbers(before, ordered)
        for k, o in enumerate(before.outputs):
            seen = swept[X[name].sort_values().notna().to_numpy(), k]
            if o.column == j and o.kind in ("same", "increasing"):
                assert (np.diff(seen) >= 0).all()
            if o.column == j and o.kind == "missing":
                assert len(np.unique(seen)) == 1


def as_numbers(before: Any, X: pd.DataFrame) -> np.ndarray:
    """Return transformed rows as floats."""
    table = before(X)
    return np.stack([table.column(k) for k in range(len(table.features()))], axis=1)


MIXING = {
    "PCA": ("sklearn.decomposition", {"n_components": 2}, "PCA is not known"),
    "PolynomialFeatures": ("sklearn.preprocessing", {}, "PolynomialFeatures is not known"),
    "FunctionTransformer": ("sklearn.preprocessing", {"func": np.cumsum}, "may mix columns"),
}


@pytest.mark.parametrize("name", MIXING)
def test_transformers_that_may_mix_columns_are_called_without_a_warning(name: str) -> None:
    module, options, words = MIXING[name]
    if name == "FunctionTransformer":
        options = {"func": lambda X: X[:, ::-1]}
    step = getattr(pytest.importorskip(module), name)(**options)
    X = people()[["rooms", "income"]].to_numpy(float)
    model = pipe.make_pipeline(step, tree_model("histograms")).fit(X, X[:, 0] * X[:, 1])
    said = sd.explain(model, X, 0, method=sd.ALE(bins=3)).provenance
    assert said["trees"].startswith("the model is called: ")
    assert words in said["trees"]
    assert said["effect_rows"] > 0
    with refused(sd.UnsupportedError, "tree='force'", words, "Use tree='auto'"):
        sd.explain(model, X, 0, method=sd.ALE(bins=3), tree="force")


def test_a_class_of_the_user_is_not_taken_for_the_one_it_derives_from() -> None:
    class Scaler(p.StandardScaler):
        def transform(self, X: Any, copy: Any = None) -> Any:
            scaled = super().transform(X)
            return scaled * scaled[:, ::-1]

    X = people()[["rooms", "income"]].to_numpy(float)
    model = pipe.make_pipeline(Scaler(), tree_model("histograms")).fit(X, X[:, 0] * X[:, 1])
    by_trees, called = both(model, X, 0, method=sd.ALE(bins=3))
    assert by_trees.provenance["trees"].startswith("the model is called: ")
    same(by_trees, called)


def test_wrong_columns_are_found_out_by_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    def exchanged(step: Any, inputs: Any) -> Any:
        return [OutputColumn(o.column, "increasing") for o in [*inputs[1:], inputs[0]]]

    monkeypatch.setitem(preprocessing._RULES, "StandardScaler", exchanged)
    X = people()[["rooms", "income", "height"]].to_numpy(float)
    model = pipe.make_pipeline(p.StandardScaler(), tree_model("histograms"))
    model.fit(X, X[:, 0] * X[:, 1])
    with pytest.warns(sd.TreeWarning, match="differ by up to"):
        found = sd.explain(model, X, 0, method=sd.ALE(bins=3))
    assert found.provenance["trees"].startswith("the model is called: ")
    same(found, sd.explain(model, X, 0, method=sd.ALE(bins=3), tree="off"))


# --- jumps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "which"),
    [
        ("scaled", "histograms"),
        ("marked", "boosting"),
        ("missing kept", "lightgbm"),
        ("twice", "tree"),
    ],
)
def test_the_pipeline_jumps_where_it_is_said_to_and_nowhere_else(case: str, which: str) -> None:
    model, X = fitted(case, which), people()
    forest = evaluators(model, X)[0].quantity.model.forest
    assert isinstance(forest, PipelineForest)
    rng = np.random.default_rng(0)
    for j in range(4):
        jumps = forest.jumps(j)
        if case == "twice" and j < 3:  # one-hot bins, and a negative weight
            assert jumps is None or {o.kind for o in made_of(forest, j)} <= {"same", "increasing"}
            if jumps is None:
                continue
        assert jumps is not None
        assert (np.diff(jumps) > 0).all()
        low, high = np.nanmin(X.iloc[:, j]), np.nanmax(X.iloc[:, j])
        assert ((jumps >= low) & (jumps < high)).all()
        # Between two jumps the pipeline is constant, at whatever rows.
        edges = np.concatenate([[low], np.repeat(jumps, 2), [high]]).reshape(-1, 2)
        edges[1:, 0] = np.nextafter(edges[1:, 0], np.inf)
        inside = [
            edges[:, 0],
            edges[:, 1],
            edges[:, 0] + rng.uniform(size=len(edges)) * 0.99 * (edges[:, 1] - edges[:, 0]),
        ]
        responses = [predicted(model, X, j, values) for values in inside]
        np.testing.assert_array_equal(responses[0], responses[1])
        np.testing.assert_array_equal(responses[0], responses[2])
        # And it does jump, at some row.
        if len(jumps):
            moved = (responses[0][1:] != responses[0][:-1]).any(axis=1)
            assert moved.mean() > 0.9


def made_of(forest: PipelineForest, j: int) -> list[OutputColumn]:
    """Return the tested outputs of the transformers that depend on a column."""
    return [forest.preprocessing.outputs[d] for d in forest.sources.get(j, [])]


def predicted(model: Any, X: pd.DataFrame, j: int, values: np.ndarray) -> np.ndarray:
    """Return the predictions for mixed rows with a column replaced, (values, rows)."""
    mixed = pd.DataFrame(
        {c: X[c].sample(frac=1.0, random_state=k).to_numpy() for k, c in enumerate(X)}
    )
    mixed["job"] = pd.Categorical(mixed["job"], X["job"].cat.categories)
    name = X.columns[j]
    kind = np.float32 if name == "height" else float
    # One call for all values: each call of a pipeline costs as much as thousands of rows.
    stacked = mixed.iloc[np.tile(np.arange(len(X)), len(values))].reset_index(drop=True)
    replaced = stacked.assign(**{name: np.repeat(values, len(X)).astype(kind)})
    return model.predict(replaced).reshape(len(values), len(X))


# --- containers, kinds of models, processes --------------------------------------------------------


def test_a_forest_can_be_sent_to_other_processes() -> None:
    X = people(60, seed=3)
    by_trees, _ = evaluators(fitted("twice", "forest"), X)
    expected = by_trees.sweep(0, np.array([20.0, 50.0, 61.5]))
    quantity = pickle.loads(pickle.dumps(by_trees.quantity))
    (batch,) = as_dataset(X).batches(60)
    found = quantity.evaluator(batch).sweep(0, np.array([61.5, 50.0, 20.0]))
    np.testing.assert_array_equal(found, expected[:, ::-1])


def test_values_whose_combinations_are_found_late_are_evaluated_rightly() -> None:
    """Deep trees list the tests of combinations: combinations found after that must be listed, too."""
    X = people(60, seed=4)
    forest = pytest.importorskip("sklearn.ensemble").RandomForestRegressor(5, random_state=0)
    prepare = compose.ColumnTransformer(
        [("one", "passthrough", [0]), ("other", p.FunctionTransformer(np.square), [0, 1])]
    )
    rng = np.random.default_rng(0)
    train = rng.normal(size=(3000, 2))
    model = pipe.make_pipeline(prepare, forest).fit(train, np.sin(3 * train[:, 0]) * train[:, 1])
    few = train[:8]
    by_trees, called = evaluators(model, few)
    assert by_trees._trees.forest.deep
    same_numbers(by_trees.values(), called.values())
    for x in np.linspace(-3, 3, 9):
        values = np.array([x, x + 0.01])
        same_numbers(by_trees.sweep(0, values), called.sweep(0, values))
        pair = {0: values, 1: values[::-1].copy()}
        same_numbers(by_trees.sweep_together(pair, 2), called.sweep_together(pair, 2))
    assert len(X)


def test_means_need_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skedasis._compilation.has_numba", lambda: False)
    model, X = fitted("twice", "boosting"), people(50, seed=5)
    by_trees, called = both(
        model, X, "income", method=sd.PDP(grid=5, heterogeneity=False), heterogeneity_rows=0
    )
    same(by_trees, called)
    assert by_trees.provenance["trees"].startswith("exact")


# --- combinations of codes ------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [2, 60], ids=["numbers", "bytes"])
def test_combinations_keep_their_numbers(columns: int) -> None:
    rng = np.random.default_rng(0)
    states = States([3] * columns)
    first = rng.integers(0, 3, (columns, 30)).astype(np.int32)
    numbers = states.number(first)
    np.testing.assert_array_equal(states.codes[:, numbers], first)
    second = rng.integers(0, 3, (columns, 30)).astype(np.int32)
    joined = states.number(np.concatenate([second, first], axis=1))
    np.testing.assert_array_equal(joined[30:], numbers)
    np.testing.assert_array_equal(states.codes[:, joined[:30]], second)
    assert len(states) == len(np.unique(np.concatenate([second, first], axis=1), axis=1).T)
    again = pickle.loads(pickle.dumps(states))
    np.testing.assert_array_equal(again.number(first), numbers)


def test_joint_tests_are_the_tests_of_their_parts() -> None:
    one = ColumnTests(np.array([0.5, 1.5]), np.array([0, 1], np.int32), np.array([True, False]))
    two = ColumnTests(np.array([0.0]), np.array([0], np.int32), np.array([False]))
    joint = JointTests.of([one, two])
    x = np.array([0.0, 1.0, 2.0, np.nan, 1.0])
    z = np.array([-1.0, 1.0, np.nan, 5.0, -2.0])
    codes = joint.states.number(np.stack([one.codes(x), two.codes(z)]))
    expected = np.concatenate([one.passes(one.codes(x)), two.passes(two.codes(z))])
    np.testing.assert_array_equal(joint.passes(codes), expected)
    assert expected.any()
    assert not expected.all()
