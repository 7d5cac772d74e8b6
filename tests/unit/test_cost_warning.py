"""A warning states what a call costs, before most of it is spent."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import skedasis as sd
from skedasis.engine import run

X = np.random.default_rng(0).normal(size=(60_000, 2))
OFF = {"progress": False, "heterogeneity_rows": 0, "memory": "1MB"}


class Counted:
    def __init__(self):
        self.rows = 0

    def __call__(self, X):
        self.rows += len(X)
        return np.asarray(X)[:, 0] * np.asarray(X)[:, 1]


@pytest.mark.parametrize(
    ("method", "less"),
    [
        (sd.PDP(grid=50), r"sd\.ALE\(\)"),
        (sd.ALE(), "sample of the rows"),
        (sd.PFI(), "max_samples"),
    ],
)
def test_the_estimate_is_what_is_spent(method, less, monkeypatch):
    monkeypatch.setattr(run, "COSTLY", 100_000)
    model = Counted()
    with pytest.warns(sd.CostWarning, match=less) as found:
        sd.explain(model, X, method=method, **OFF)
    (text,) = [str(w.message) for w in found]
    said = float(text.split("about ")[1].split(" rows")[0])
    assert said == pytest.approx(model.rows, rel=0.1)
    assert found[0].filename == __file__


def test_it_comes_before_most_of_the_work(monkeypatch):
    monkeypatch.setattr(run, "COSTLY", 100_000)
    model = Counted()
    with warnings.catch_warnings():
        warnings.simplefilter("error", sd.CostWarning)
        with pytest.raises(sd.CostWarning):
            sd.explain(model, X, method=sd.PDP(grid=50), **OFF)
    assert model.rows < 60_000 * 100 / 5


@pytest.mark.slow
def test_ordinary_calls_and_walked_trees_do_not_warn(monkeypatch):
    sklearn = pytest.importorskip("sklearn.ensemble")
    tree = sklearn.HistGradientBoostingRegressor(max_iter=5).fit(X[:999], X[:999, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sd.explain(Counted(), X, method=sd.PDP(), **OFF)
        monkeypatch.setattr(run, "COSTLY", 100_000)
        sd.explain(tree, X, method=sd.PDP(), **OFF)


def test_data_in_chunks_warn_after_the_first(tmp_path, monkeypatch):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), tmp_path / "p.parquet")
    monkeypatch.setattr(run, "COSTLY", 100_000)
    data = sd.parquet(tmp_path, container="numpy")
    model = Counted()
    with pytest.warns(sd.CostWarning) as found:
        sd.explain(model, data, method=sd.ALE(), **OFF)
    said = float(str(found[0].message).split("about ")[1].split(" rows")[0])
    assert said == pytest.approx(model.rows, rel=0.1)
    assert len(found) == 1
