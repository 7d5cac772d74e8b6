"""Laws of regions: what must not change them, and what they must agree with."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from tests.helpers import same_effect

some_methods = pytest.mark.parametrize(
    "method",
    [
        pytest.param(m, marks=() if m in ("ale", "pdp") else pytest.mark.slow)
        for m in ("ale", "ice", "pdp", "rhale")
    ],
)
"""Differences, curves of rows, and slopes."""


def table(n, seed, missing=False):
    """Return columns of several kinds; `b` and `c` may have missing values."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(size=n),
            "c": rng.choice(list("uvw"), n),
            "t": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 3000, n), unit="h"),
        }
    )
    if missing:
        data.loc[rng.random(n) < 0.1, "b"] = np.nan
        data["c"] = data["c"].astype(object).where(rng.random(n) > 0.1, None)
    return data


def switched(X):
    """Return a function in which `b`, then `c`, change the effect of `a`; element by element."""
    side = (X["b"] > 0.25).to_numpy(float) + 0.5 * (X["c"] == "u").to_numpy(float)
    return X["a"].to_numpy() * (0.25 + 2 * side)


def identical(one, two):
    """Assert that two results have the same trees and the same bits."""
    assert one.rules == two.rules
    for a, b in zip(one.splits, two.splits, strict=True):
        assert (a.feature, a.p_value, a.share, a.stability) == (
            b.feature,
            b.p_value,
            b.share,
            b.stability,
        )
    np.testing.assert_array_equal(one.scores.regions, two.scores.regions)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.value, b.value)
        np.testing.assert_array_equal(a.heterogeneity, b.heterogeneity)


def close(one, two, rtol=1e-9):
    """Assert that two results have the same trees, and the same numbers but for rounding."""
    assert one.rules == two.rules
    assert [n.count for n in one.leaves] == [n.count for n in two.leaves]
    for a, b in zip(one.splits, two.splits, strict=True):
        assert a.share == pytest.approx(b.share, rel=rtol, nan_ok=True)
    for a, b in zip(one, two, strict=True):
        same_effect(a, b, rtol)


SEED, ROWS = 0, 450
"""In so many rows, every method finds regions of `switched` by `b` and by `c`; ALE by `b` alone in 400."""


def quick(method):
    """Return a method, with few grid points for curves: their number does not matter to laws of batches."""
    return {"pdp": sd.PDP(grid=5), "ice": sd.ICE(grid=5)}.get(method, method)


@some_methods
def test_batches_do_not_matter(method):
    X = table(ROWS, SEED)
    whole = sd.regions(switched, X, "a", method=quick(method))
    pieces = sd.regions(switched, X, "a", method=quick(method), memory=4_000)
    assert pieces.provenance["effect_calls"] > whole.provenance["effect_calls"]
    assert {"b", "c"} <= {s.feature for s in whole.splits}
    close(pieces, whole)


@some_methods
def test_the_order_of_rows_does_not_matter(method):
    X, ids = table(ROWS, SEED), np.arange(ROWS)
    order = np.random.default_rng(SEED).permutation(ROWS)
    one = sd.regions(switched, X, "a", method=method, row_id=ids)
    two = sd.regions(
        switched, X.iloc[order].reset_index(drop=True), "a", method=method, row_id=ids[order]
    )
    close(two, one)


@some_methods
def test_integer_weights_split_as_repeated_rows(method):
    X = table(600, SEED)
    w = np.random.default_rng(SEED).integers(1, 4, 600)
    weighted = sd.regions(
        switched,
        X,
        "a",
        method=method,
        sample_weight=w.astype(float),
        weight_kind="frequency",
        max_depth=1,
    )
    repeated = sd.regions(
        switched, X.loc[X.index.repeat(w)].reset_index(drop=True), "a", method=method, max_depth=1
    )
    assert [s.feature for s in weighted.splits] == [s.feature for s in repeated.splits] == ["b"]
    # Halves are drawn by row, so that the threshold may lie at another of the nearest values.
    ends = [r.splits[0].conditions[0].high for r in (weighted, repeated)]
    assert ends == pytest.approx([0.25, 0.25], abs=0.1)
    assert sum(n.weight for n in weighted.leaves) == pytest.approx(w.sum())


@pytest.mark.parametrize(("scale", "shift"), [(-2.0, 3.0), (1e6, -1e3)])
@some_methods
def test_an_affine_quantity_has_the_same_splits(method, scale, shift):
    X = table(ROWS, SEED)
    one = sd.regions(switched, X, "a", method=method)
    two = sd.regions(lambda X: scale * (switched(X) + shift), X, "a", method=method)
    assert two.rules == one.rules
    assert [s.feature for s in two.splits] == [s.feature for s in one.splits]
    for a, b in zip(two, one, strict=True):
        np.testing.assert_allclose(
            np.diff(a.value), scale * np.diff(b.value), atol=1e-6 * abs(scale)
        )


@pytest.mark.parametrize("missing", [False, True])
@some_methods
def test_assigned_rows_are_those_of_the_leaves(method, missing):
    X = table(800, SEED, missing)

    def model(X):
        return X["a"].to_numpy() * (
            (X["b"].fillna(9) > 0.25).to_numpy(float)
            + 0.5 * (X["t"] > pd.Timestamp("2020-03-01")).to_numpy(float)
            + 0.5 * X["c"].isna().to_numpy(float)
        )

    r = sd.regions(model, X, "a", method=method)
    assert len(r) > 1
    where = r.assign(X)
    np.testing.assert_array_equal(np.bincount(where, minlength=len(r)), [n.count for n in r.leaves])
    shuffled = X.sample(frac=1, random_state=SEED)[["t", "c", "b", "a"]]
    np.testing.assert_array_equal(r.assign(shuffled), where[shuffled.index])


@some_methods
def test_save_and_load_are_identities(method, tmp_path_factory):
    X = table(500, SEED, missing=True)
    r = sd.regions(
        lambda X: X["a"].to_numpy() * (X["b"].fillna(9) > 0).to_numpy(float), X, "a", method=method
    )
    path = tmp_path_factory.mktemp("saved") / "r.npz"
    r.save(path)
    back = sd.load(path)
    identical(back, r)
    assert str(back) == str(r)
    np.testing.assert_array_equal(back.assign(X), r.assign(X))


@some_methods
def test_regions_of_all_features_are_found_in_one_pass(method):
    X = table(1200, 4)[["a", "b", "c"]]
    method = "ale" if method in ("dale", "uale", "rhale") else method
    together = sd.regions(switched, X, method=method)
    assert list(together) == ["a", "b", "c"]
    alone = sd.regions(switched, X, "a", method=method, alpha=0.05 / 3)
    assert together["a"].rules == alone.rules
    np.testing.assert_array_equal(together["a"][0].value, alone[0].value)


@some_methods
def test_a_small_sample_of_kept_rows_says_so(method):
    X = table(3000, 7)
    keep = 400_000 if method in ("pdp", "ice") else 30_000
    r = sd.regions(switched, X, "a", method=method, keep_rows=keep)
    assert r.splits[0].feature == "b"
    assert not r.provenance["exact"]
    assert not any(e.provenance["exact"] for e in r)
    assert "sample" in r[0].provenance["approximated"]
    assert r.whole.provenance["exact"]
    assert sum(n.count for n in r.leaves) == 3000
    np.testing.assert_array_equal(np.bincount(r.assign(X)), [n.count for n in r.leaves])
    complete = sd.regions(switched, X, "a", method=method)
    assert complete.provenance["exact"]
    assert all(e.provenance["exact"] for e in complete)
