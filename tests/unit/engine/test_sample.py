"""`sample=`: which rows are drawn, that all that belongs to rows goes with them, and what results say of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skedasis as sd
from skedasis.errors import DataError
from skedasis.stats.random import row_hashes

N, SIZE = 600, 150
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["a", "b", "c"])
Y = X["a"].to_numpy() + RNG.normal(size=N)


def model(X) -> np.ndarray:
    return np.sin(np.asarray(X["a"], float)) + np.asarray(X["b"], float) * np.asarray(X["c"], float)


def drawn_by_hand(ids: np.ndarray, usable: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return the rows with the smallest hashes, found without the library's sampling."""
    hashes = row_hashes(ids, seed, "score: rows") >> np.uint64(11)
    order = sorted(np.flatnonzero(usable).tolist(), key=lambda i: (int(hashes[i]), i))
    return np.array(sorted(order[:SIZE]))


ROWS = drawn_by_hand(np.arange(N), np.ones(N, bool))


def test_the_effect_of_a_sample_is_that_of_its_rows():
    found = sd.explain(model, X, "a", method="ale", sample=SIZE)
    alone = sd.explain(model, X.iloc[ROWS], "a", method="ale", row_id=ROWS)
    np.testing.assert_array_equal(found.value, alone.value)
    assert found.heterogeneity_score == alone.heterogeneity_score
    assert found.provenance["sample"] == found.provenance["rows"] == SIZE
    assert found.provenance["source_rows"] == N
    assert found.provenance["exact"] is False
    assert "a sample of 150 of 600 rows" in repr(found)


@pytest.mark.parametrize("method", ["rhale", "pdp", "pfi", "mplot"])
def test_a_sample_is_that_many_rows_with_weight_one(method):
    """A weight of zero means that a row is absent: an independent way to leave rows out."""
    weights = np.isin(np.arange(N), ROWS).astype(float)
    labels = {"y": Y} if method == "mplot" else {}
    kwargs = {"method": method, "heterogeneity_rows": 0, **labels}
    found = sd.explain(model, X, ["a", "b"], sample=SIZE, **kwargs)
    alone = sd.explain(model, X, ["a", "b"], sample_weight=weights, **kwargs)
    if method == "pfi":
        np.testing.assert_allclose(found.mean, alone.mean, rtol=1e-12)
        return
    for name in ("a", "b"):
        np.testing.assert_allclose(found[name].value, alone[name].value, rtol=1e-9, atol=1e-12)


def test_with_identifiers_the_same_rows_are_drawn_in_any_order():
    ids, turned = np.array([f"row {i}" for i in range(N)]), np.random.default_rng(1).permutation(N)
    first = sd.explain(model, X, "a", method="ale", sample=SIZE, row_id=ids)
    other = sd.explain(
        model,
        X.iloc[turned].reset_index(drop=True),
        "a",
        method="ale",
        sample=SIZE,
        row_id=ids[turned],
    )
    np.testing.assert_allclose(first.value, other.value, atol=1e-12)
    assert first.heterogeneity_score == pytest.approx(other.heterogeneity_score, rel=1e-12)


def test_labels_weights_masks_and_folds_go_with_their_rows():
    weights = RNG.integers(0, 3, N).astype(float)
    rows = drawn_by_hand(np.arange(N), weights > 0)
    masks = {"low": (X["b"] < 0).to_numpy()}
    by = sd.explain(model, X, "a", by=masks, sample=SIZE, sample_weight=weights, method="ale")
    inside = masks["low"][rows]
    assert by[0].provenance["sample"] == SIZE
    assert by.nodes[1].count == inside.sum() or by.nodes[2].count == inside.sum()
    loss = sd.loss(model, "squared_error")
    found = sd.explain(loss, X, "a", y=Y, sample=SIZE, sample_weight=weights, method="mplot")
    alone = sd.explain(
        loss, X.iloc[rows], "a", y=Y[rows], sample_weight=weights[rows], method="mplot"
    )
    np.testing.assert_array_equal(found.value, alone.value)
    folds = np.arange(N) % 2
    both = sd.explain([model, model], X, "a", cv=folds, sample=SIZE, method="ale")
    assert sum(one.provenance["rows"] for one in both.models) == SIZE


def test_parquet_gives_the_rows_that_memory_gives(tmp_path):
    for k, part in enumerate((X[:250], X[250:])):
        pq.write_table(pa.table(part), tmp_path / f"{k}.parquet", row_group_size=64)
    source = sd.parquet(tmp_path, container="pandas")
    for method in ("ale", "pfi"):
        there = sd.explain(model, source, ["a", "b"], method=method, sample=SIZE)
        here = sd.explain(model, X, ["a", "b"], method=method, sample=SIZE)
        for key in ("sample", "source_rows", "exact", "rows"):
            assert there.provenance[key] == here.provenance[key], key
        if method == "pfi":
            np.testing.assert_array_equal(there.values, here.values)
        else:
            np.testing.assert_array_equal(there["a"].value, here["a"].value)
            assert there["b"].heterogeneity_score == here["b"].heterogeneity_score


def test_more_rows_than_there_are_give_all_of_them():
    found, whole = (sd.explain(model, X, "a", method="ale", sample=n) for n in (N, None))
    np.testing.assert_array_equal(found.value, whole.value)
    assert "sample" not in found.provenance
    assert found.provenance["exact"] is True


def test_analyses_say_of_which_rows_they_are():
    regions = sd.regions(model, X, "b", sample=SIZE)
    assert regions.provenance["sample"] == SIZE
    assert "a sample of 150 of 600 rows" in str(regions)
    pairs = sd.interactions(model, X, sample=SIZE, max_rows=50)
    assert pairs.provenance["source_rows"] == N
    assert "a sample of 150 of 600 rows" in str(pairs)
    gaussian = lambda X: (model(X), np.ones(len(X)))  # noqa: E731 - a model of one line
    d = sd.diagnose(gaussian, X, Y, sample=SIZE, dependence=False)
    assert "The importances are computed on a random sample of 150 of 600 rows." in d.notes


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (0, "a number of rows"),
        (0.1, r"sample=int\(0.1 \* len\(X\)\)"),
        (10.0, "Write sample=10"),
    ],
)
def test_what_is_no_number_of_rows_is_refused(sample, message):
    with pytest.raises(DataError, match=message):
        sd.explain(model, X, "a", sample=sample)
