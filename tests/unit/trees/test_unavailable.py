"""Tree models that are called: the reason, its warning, and the detection of trees that were read wrongly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from skedasis.quantities import tree_evaluator
from skedasis.trees import readers
from skedasis.trees.ensemble import TreesUnreadable
from tests.helpers import refused
from tests.reference.tree_cases import categories, grown, plain, rows, same

sklearn = pytest.importorskip("sklearn.ensemble")
X, Y = rows(), grown("boosting")[2]


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget which warnings were issued: each is issued only once."""
    monkeypatch.setattr(tree_evaluator, "_WARNED", set())


@pytest.mark.parametrize("kind", ["linear trees", "unknown", "wrong"])
def test_what_cannot_be_walked_is_called_and_said_once(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = grown("boosting")[0]
    words = {
        "linear trees": "linear trees",
        "unknown": "of another kind",
        "wrong": "differ by up to",
    }
    if kind == "linear trees":
        lightgbm = pytest.importorskip("lightgbm")
        model = lightgbm.LGBMRegressor(n_estimators=3, linear_tree=True, n_jobs=1, verbose=-1).fit(
            X, Y
        )
    elif kind == "unknown":
        monkeypatch.setattr(readers, "load", _refusing)
    else:
        monkeypatch.setattr(readers, "load", _wrong)
    with pytest.warns(sd.TreeWarning, match=words[kind]) as caught:
        found = sd.explain(model, X, 0, method=sd.ALE(bins=5))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    said = found.provenance
    assert said["trees"].startswith("the model is called: ")
    assert words[kind] in said["trees"]
    assert said["effect_rows"] > 0
    assert said["tree_rows"] == 0
    again = sd.explain(model, X, 0, method=sd.ALE(bins=5))  # a second warning would be an error
    assert again.provenance["trees"] == said["trees"]
    same(found, sd.explain(model, X, 0, method=sd.ALE(bins=5), tree="off"))
    with refused(sd.UnsupportedError, "tree='force'", words[kind], "Use tree='auto'"):
        sd.explain(model, X, 0, method=sd.ALE(bins=5), tree="force")


def _refusing(model: Any) -> Any:
    raise TreesUnreadable("it is of another kind")


_load = readers.load


def _wrong(model: Any) -> Any:
    """Return trees whose leaf values are off by a millionth."""
    e = _load(model)
    return replace(e, value=e.value * (1 + 1e-6))


@pytest.mark.parametrize(
    ("case", "change"),
    [
        ("boosting", lambda e: replace(e, base=e.base + 1e-6)),
        ("boosting", lambda e: replace(e, threshold=e.threshold + 0.3)),
        ("histograms", lambda e: replace(e, missing_left=~e.missing_left)),
        ("boosting 2", lambda e: replace(e, scale=1.01)),
        ("two outputs", lambda e: replace(e, value=e.value * [1.0, 1.01])),
        ("boosting 3", lambda e: replace(e, base=e.base + np.array([0.0, 0.0, 1e-3]))),
    ],
)
def test_trees_that_were_read_wrongly_are_found_out(
    case: str, change: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, rows_, _ = grown(case)
    monkeypatch.setattr(readers, "load", lambda m: change(_load(m)))
    about = sd.prediction(model, output="all") if case == "two outputs" else plain(case)
    with pytest.warns(sd.TreeWarning, match="differ by up to"):
        sd.explain(about, rows_, 0, method=sd.ALE(bins=5))


@pytest.mark.parametrize("output", [0, 1])
def test_leaves_that_no_row_reaches_but_rows_put_together_do(
    output: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.linspace(-1.0, 1.0, 100)
    both = np.stack([x, x], axis=1)
    rng = np.random.default_rng(0)
    free = rng.uniform(-1, 1, size=(400, 2))
    y = np.stack([free[:, 0] * free[:, 1], free.sum(axis=1)], axis=1)
    tree = pytest.importorskip("sklearn.tree").DecisionTreeRegressor(max_depth=5, random_state=0)
    model = tree.fit(free, y)
    reached = np.unique(model.apply(both))
    e = _load(model)
    value = e.value.copy()
    lost = np.setdiff1d(np.flatnonzero(e.feature < 0), reached)
    assert len(lost) > 3
    value[lost, output] += 1e-3
    monkeypatch.setattr(readers, "load", lambda m: replace(e, value=value))
    with pytest.warns(sd.TreeWarning, match="differ by up to"):
        sd.explain(sd.prediction(model, output="all"), both, 0, method=sd.ALE(bins=5))


def test_categories_that_were_attributed_wrongly_are_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    frame, y = categories()
    model = lightgbm.LGBMRegressor(
        n_estimators=9,
        verbose=-1,
        n_jobs=1,
        min_data_per_group=3,
        cat_smooth=1.0,
        min_child_samples=3,
    ).fit(frame, y)
    e = _load(model)
    assert e.levels[1] == ["x", "w", "v", "u"]
    for levels in (
        {1: e.levels[3], 3: e.levels[1]},
        {**e.levels, 1: ["u", "v", "w", "x"]},
        {**e.levels, 3: [1, 30, 7]},
    ):
        monkeypatch.setattr(tree_evaluator, "_WARNED", set())
        monkeypatch.setattr(readers, "load", lambda m, levels=levels: replace(e, levels=levels))
        with pytest.warns(sd.TreeWarning, match="differ by up to"):
            sd.explain(model, frame, "a", method=sd.ALE(bins=5))


def test_slopes_that_were_given_are_used() -> None:
    model = grown("boosting")[0]

    def slope(X: np.ndarray) -> np.ndarray:
        return np.ones(X.shape) * X[:, :1]

    about = sd.prediction(model, slope=slope)
    for method in (sd.RHALE(), sd.DALE(), sd.PDP(derivative=True, grid=5)):
        found = sd.explain(about, X, 0, method=method)
        assert found.provenance["slope_rows"] > 0
        same(found, sd.explain(about, X, 0, method=method, tree="off"))
    for of in (about, sd.loss(about, "squared_error")):
        with refused(sd.UnsupportedError, "tree='force'", "slopes were given"):
            sd.explain(of, X, 0, y=Y, method=sd.ALE(), tree="force")


# ------------------------------------------------------------------------------- what `print` says


def bagged() -> Any:
    """Return an ensemble of tree models that is not read."""
    return sklearn.BaggingRegressor(grown("boosting")[0], n_estimators=2, random_state=0).fit(X, Y)


def scaled_target() -> Any:
    """Return a tree model behind a transformed target."""
    compose = pytest.importorskip("sklearn.compose")
    return compose.TransformedTargetRegressor(grown("boosting")[0]).fit(X, Y)


def mixed() -> Any:
    """Return a tree model behind a transformer that mixes columns."""
    pca = pytest.importorskip("sklearn.decomposition").PCA()
    pipeline = pytest.importorskip("sklearn.pipeline")
    return pipeline.make_pipeline(pca, sklearn.RandomForestRegressor(2)).fit(X, Y)


def linear() -> Any:
    """Return a model of linear trees."""
    kind = pytest.importorskip("lightgbm").LGBMRegressor
    return kind(n_estimators=3, linear_tree=True, n_jobs=1, verbose=-1).fit(X, Y)


CALLED = {
    "no reader": (bagged, "not a supported tree ensemble"),
    "transformed target": (scaled_target, "not a supported tree ensemble"),
    "mixed columns": (mixed, "PCA"),
    "linear leaves": (linear, "linear trees"),
}


@pytest.mark.filterwarnings("ignore::skedasis.TreeWarning")
@pytest.mark.parametrize("case", CALLED)
def test_why_a_model_with_trees_is_called_is_printed(case: str) -> None:
    make, words = CALLED[case]
    found = sd.explain(make(), X, [0, 1], method=sd.ALE(bins=4))
    for result in (found, found["x0"]):
        lines = [line for line in str(result).split("\n") if line.startswith("the model is called")]
        assert len(lines) == 1
        assert words in lines[0]


@pytest.mark.filterwarnings("ignore::skedasis.TreeWarning")
def test_every_kind_of_result_says_why_the_model_is_called() -> None:
    model, forest = linear(), grown("forest")[0]
    few = X[:60]
    found = [
        sd.regions(model, X, [0, 1], max_depth=1),
        sd.regions(model, X, 0, max_depth=1),
        sd.interactions(model, few),
        sd.what_if(model, X, {"x0": 1}),
        sd.explain(model, X, [(0, 1), (1, 2)], method=sd.PDP(grid=3)),
        sd.explain(sd.loss(model), X, y=Y, method=sd.PFI(n_repeats=2)),
    ]
    for result in found:
        assert str(result).count("the model is called: LightGBM's linear trees") == 1
    assert "is called" not in str(sd.explain(forest, X, 0, method=sd.ALE(bins=4)))
    assert "is called" not in str(sd.explain(model, X, 0, method=sd.ALE(bins=4), tree="off"))
