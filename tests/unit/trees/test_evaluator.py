"""Tree evaluation: its cost and provenance, batches, threads, and inputs that stay unchanged."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from tests.helpers import refused
from tests.reference.tree_cases import grown, plain, rows, same

sklearn = pytest.importorskip("sklearn.ensemble")
METHODS = [sd.ALE(bins=5), sd.PDP(grid=5), sd.PDP(grid=5, heterogeneity=False), sd.RHALE()]
X, Y = rows(), grown("boosting")[2]


class Counted:
    """Patches a method of a tree model to record the number of rows of each call."""

    def __init__(self, model: Any, monkeypatch: pytest.MonkeyPatch, name: str = "predict") -> None:
        self.rows: list[int] = []
        own = getattr(type(model), name)

        def counting(this: Any, rows: Any, *args: Any, **options: Any) -> Any:
            if this is model:
                self.rows.append(len(rows))
            return own(this, rows, *args, **options)

        monkeypatch.setattr(type(model), name, counting)


# -------------------------------------------------------------------------------- call accounting


@pytest.mark.parametrize(
    ("method", "memory"),
    list(zip([*METHODS, sd.PFI(n_repeats=2), sd.MPlot(bins=5)], ["1GB", "20KB"] * 3, strict=True)),
)
def test_the_model_sees_no_more_than_two_checks(
    method: Any, memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = grown("boosting")[0]
    counted = Counted(model, monkeypatch)
    said = sd.explain(model, X, method=method, memory=memory, tree="force").provenance
    assert said["effect_rows"] == said["effect_calls"] == said["slope_rows"] == 0
    assert said["check_rows"] == sum(counted.rows) <= 256
    assert said["check_calls"] == len(counted.rows) <= 6
    assert max(counted.rows) <= 64
    assert said["tree_rows"] > 0
    assert said["trees"] == (
        "exact: 10 trees of GradientBoostingRegressor evaluated without calling the model"
    )


def test_off_calls_the_model_and_says_nothing_of_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    model = grown("boosting")[0]
    counted = Counted(model, monkeypatch)
    said = sd.explain(model, X, method=sd.ALE(), tree="off").provenance
    assert said["model_rows"] == sum(counted.rows) > 256
    assert said["check_rows"] <= 128
    assert "trees" not in said
    assert "tree_rows" not in said


def test_rows_that_are_walked_are_counted_as_the_methods_say() -> None:
    n, (model, _, _) = len(X), grown("boosting")
    rows_of = {
        "ale": (sd.ALE(bins=5), 2 * n),
        "pdp": (sd.PDP(grid=7), 7 * n),
        "alone": (sd.PDP(grid=7, heterogeneity=False), 7 * n),
        "pfi": (sd.PFI(n_repeats=3, groups=None), n * (1 + 3 * X.shape[1])),
    }
    for method, cost in rows_of.values():
        features = None if isinstance(method, sd.PFI) else 0
        said = sd.explain(model, X, features, method=method, tree="force").provenance
        assert said["tree_rows"] == cost


def test_other_models_have_no_word_of_trees() -> None:
    linear = pytest.importorskip("sklearn.linear_model").LinearRegression().fit(X, Y)
    neighbours = pytest.importorskip("sklearn.neighbors").KNeighborsRegressor().fit(X, Y)
    ensemble = sd.ensemble(grown("forest")[0])
    for model in (linear, neighbours, lambda X: X[:, 0], sd.predictive_variance(ensemble)):
        found = sd.explain(model, X, 0, method=sd.ALE())
        assert "trees" not in found.provenance
        assert "is called" not in str(found)
        with refused(sd.UnsupportedError, "tree='force'", "Use tree='auto'"):
            sd.explain(model, X, 0, method=sd.ALE(), tree="force")
    bound = grown("boosting")[0].predict
    assert "trees" in sd.explain(bound, X, 0, method=sd.ALE()).provenance


def test_another_wish_is_refused() -> None:
    with refused(sd.DataError, "tree", "'Force'"):
        sd.explain(grown("boosting")[0], X, 0, tree="Force")


# ------------------------------------------------------------------------------------- batches


@pytest.mark.parametrize(
    ("case", "method"),
    [
        ("boosting", METHODS[0]),
        ("histograms 2", METHODS[1]),
        ("two outputs", METHODS[2]),
        ("boosting", METHODS[3]),
        ("histograms 2", sd.PFI(n_repeats=2)),
    ],
)
def test_small_batches_give_the_same(case: str, method: Any) -> None:
    model, few, y = grown(case)
    many = np.repeat(few, 3, axis=0) + np.linspace(0, 1e-3, 3 * len(few))[:, None]
    about = sd.prediction(model, output="all") if case == "two outputs" else model
    del y
    whole = sd.explain(about, many, method=method, tree="force")
    for memory in ("200KB", "20KB"):
        same(sd.explain(about, many, method=method, tree="force", memory=memory), whole, 1e-12)


@pytest.mark.parametrize("method", [METHODS[0], METHODS[2], sd.PFI(n_repeats=2)])
def test_threads_give_the_same_bits(method: Any) -> None:
    model, few, _ = grown("histograms")
    many = np.repeat(few, 4, axis=0)
    one, two = (
        sd.explain(model, many, method=method, tree="force", memory="100KB", n_jobs=threads)
        for threads in (1, 2)
    )
    same(two, one, 0.0)


@pytest.mark.slow
def test_two_explain_at_once() -> None:
    models = [grown(case)[0] for case in ("boosting", "histograms", "extra", "tree")] * 2
    alone = [sd.explain(m, X, method=sd.PDP(grid=6), tree="force") for m in models]
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda m: sd.explain(m, X, method=sd.PDP(grid=6), tree="force"), models)
        )
    for one, other in zip(found, alone, strict=True):
        same(one, other, 0.0)


def test_quantities_and_results_can_be_pickled() -> None:
    for case in ("boosting", "forest 2", "lightgbm"):
        about = plain(case)
        found = sd.explain(about, X, 0, method=sd.ALE(), tree="force")
        same(pickle.loads(pickle.dumps(found)), found, 0.0)
        again = sd.explain(pickle.loads(pickle.dumps(about)), X, 0, method=sd.ALE(), tree="force")
        same(again, found, 0.0)
        assert not any("forest" in str(k) for k in vars(about))


def test_what_the_caller_gave_is_not_changed() -> None:
    model, few, _ = grown("histograms")
    Z, kept = few.copy(), few.copy()
    state = pickle.dumps(model)
    for method in (*METHODS, sd.PFI(n_repeats=2)):
        sd.explain(model, Z, method=method, tree="force")
    np.testing.assert_array_equal(Z, kept)
    assert pickle.dumps(model) == state


@pytest.mark.slow
def test_catboosts_regressors_are_no_classifiers() -> None:
    # They have an empty attribute `classes_`.
    catboost = pytest.importorskip("catboost")
    options = {"iterations": 5, "verbose": False, "allow_writing_files": False, "thread_count": 1}
    model = catboost.CatBoostRegressor(**options).fit(X, Y)
    walked, called = (sd.explain(model, X, 0, tree=tree) for tree in ("force", "off"))
    np.testing.assert_allclose(walked.value, called.value, atol=1e-10)
