"""What provenances say of data that are read in chunks: the source, its passes, samples, and kept rows."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd

pytest.importorskip("pyarrow")
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import LinearRegression

N = 6_000
OFF = {"progress": False}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    r = np.random.default_rng(0)
    a, b = r.normal(size=(2, N))
    table = pa.table({"a": a, "b": b, "y": a * b + r.normal(size=N), "id": r.permutation(N) * 7})
    where = tmp_path_factory.mktemp("said") / "rows.parquet"
    pq.write_table(table, where, row_group_size=1_000)
    return where


def _product(X):
    return np.asarray(X["a"]) * np.asarray(X["b"])


@pytest.mark.parametrize(("keep", "row_id"), [("0MB", None), ("20KB", "id"), ("256MB", None)])
def test_kept_rows_are_counted(path, keep, row_id):
    data = sd.parquet(path, columns=["a", "b"], row_id=row_id)
    effect = sd.explain(_product, data, "a", method="ale", keep_rows=keep, **OFF)
    said = effect.provenance["rows_kept"]
    kept = 0 if effect.rows is None else len(effect.rows.x)
    assert said == ("all" if keep == "256MB" else kept)
    assert (kept == 0) == (keep == "0MB")
    ids = pq.read_table(path)["id"].to_numpy() if row_id else None
    table = pq.read_table(path, columns=["a", "b"])
    memory = sd.explain(_product, table, "a", method="ale", keep_rows=keep, row_id=ids, **OFF)
    if row_id is None:
        assert said == memory.provenance["rows_kept"]


def test_passes_of_interactions_are_those_of_effects_and_pairs(path):
    data = sd.parquet(path, columns=["a", "b"])
    options = {"method": sd.ALE(), "heterogeneity_rows": 0, **OFF}
    found = sd.interactions(_product, data, h2=False, ale=True, heterogeneity_rows=0, **OFF)
    alone = sd.interactions(_product, data, h2=False, ale=False, heterogeneity_rows=0, **OFF)
    pair = sd.explain(_product, data, ("a", "b"), **options)
    more = found.provenance["passes"] - alone.provenance["passes"]
    assert more == pair.provenance["passes"] > 1


@pytest.mark.parametrize("rows", [500, None])
def test_a_diagnosis_names_its_source(path, rows):
    table = pq.read_table(path)
    X = np.stack([table["a"], table["b"]], axis=1)
    model = LinearRegression().fit(X, table["y"])

    def normal(X):
        rows = np.stack([np.asarray(X["a"]), np.asarray(X["b"])], axis=1)
        return model.predict(rows), np.ones(len(rows))

    data = sd.parquet(path, columns=["a", "b"], y="y")
    found = sd.diagnose(normal, data, max_samples=rows, dependence=False, **OFF)
    said = found.provenance
    assert said["exact"] == (rows is None)
    assert (said["rows"], said["source_rows"]) == (rows or N, N)
    assert "rows.parquet" in said["source"]
    assert any("random sample of 500 of 6,000" in n for n in found.notes) == (rows == 500)
