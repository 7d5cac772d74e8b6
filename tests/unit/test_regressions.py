"""Fixed bugs that involved several modules: threads and views, outputs, memory, missing values, pairs, provenance."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from skedasis.engine import prepare
from skedasis.results.build.pairs import fill_empty_cells
from tests.helpers import refused

pd = pytest.importorskip("pandas")


def rows(n=200, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def product(X):
    return X[:, 0] * X[:, 1]


# ------------------------------------------------------------------------------- threads and views


def test_mixed_derivatives_that_are_a_part_of_the_rows_are_kept_as_they_were():
    X = rows(60_000)
    q = sd.prediction(product, mixed=lambda X, j, k: X[:, 0])
    s = sd.explain(q, X, (0, 1), method=sd.DALE(bins=4), memory="1MB", n_jobs=4)
    np.testing.assert_array_equal(s.rows.effect, X[:, 0])


# ------------------------------------------------------------------------------- several outputs


def two(X):
    return np.c_[X[:, 0], -3 * X[:, 0]]


@pytest.mark.parametrize("output", ["all", ["a", "b"]])
def test_a_slope_of_one_output_does_not_serve_them_all(output):
    def slope(X):
        return np.c_[np.ones(len(X)), np.zeros((len(X), 2))]

    q = sd.prediction(two, slope=slope, output=output)
    with refused(sd.ModelOutputError, "slope", "(rows, outputs, features)", "every output"):
        sd.explain(q, rows(), 0, method=sd.DALE(bins=3))
    q = sd.prediction(two, slope=lambda X: np.stack([slope(X), -3 * slope(X)], 1), output=output)
    a, b = sd.explain(q, rows(), 0, method=sd.DALE(bins=3)).values()
    np.testing.assert_allclose(b.value, -3 * a.value, rtol=1e-12)


# ---------------------------------------------------------------------------------- missing values


def sizes(n=300):
    rng = np.random.default_rng(1)
    text = np.array(["s", "m", "l", "xl"])[rng.integers(0, 4, n)].astype(object)
    text[:20] = None
    kind = pd.CategoricalDtype(["s", "m", "l", "xl"], ordered=True)
    return pd.DataFrame({"size": pd.Series(text).astype(kind), "z": rng.normal(size=n)})


def of_size(X):
    return X["size"].cat.codes.to_numpy() ** 2 * (1.0 + X["z"].to_numpy())


def test_missing_an_ordinal_feature_is_compared_with_all_levels_whatever_is_shown():
    X = sizes()
    usual = sd.explain(of_size, X, "size", method=sd.PDP()).missing_point
    shown = sd.explain(of_size, X, "size", method=sd.PDP(grid={"size": ["s", "m"]})).missing_point
    assert (shown.count, shown.effect) == (20, usual.effect)


@pytest.mark.parametrize("size", [20, 60, 100_000])
def test_a_refusal_of_some_rows_leaves_no_point_however_rows_are_batched(size, monkeypatch):
    monkeypatch.setattr(prepare, "CALL_ROWS", size)
    X = rows(200)
    X[::2, 0] = np.nan

    def model(X):
        if (np.isnan(X[:, 0]) & (X[:, 1] > 1.8)).any():
            raise ValueError("not that one")
        return np.nan_to_num(X[:, 0]) + X[:, 1]

    e = sd.explain(model, X, 0, method=sd.ALE(bins=4))
    assert e.missing_point is None
    assert "not that one" in e.provenance["missing"]


def test_a_pair_leaves_out_rows_that_miss_a_value_and_the_model_never_sees_them():
    X = rows()
    X[::3, 0], X[1::7, 1] = np.nan, np.nan

    def model(X):
        assert not np.isnan(X).any()
        return product(X)

    s = sd.explain(model, X, (0, 1), method=sd.ALE(bins=3))
    there = ~np.isnan(X).any(axis=1)
    same = sd.explain(model, X[there], (0, 1), method=sd.ALE(bins={0: 3, 1: 3}))
    assert s.provenance["rows_in_cells"] == s.cells.count.sum() == there.sum()
    assert s.value.shape == same.value.shape


# ------------------------------------------------------------------------------------------- pairs


@pytest.mark.parametrize("seed", range(6))
def test_empty_cells_take_the_mean_of_the_nearest_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    k, m = rng.integers(2, 9, 2)
    delta, empty = rng.normal(size=(k, m)), rng.random((k, m)) < 0.6
    empty[0, 0] = False
    x, y = (np.arange(k) + 0.5) / k, (np.arange(m) + 0.5) / m
    got = fill_empty_cells(np.where(empty, 0.0, delta), empty, x, y)
    for i in range(k):
        for j in range(m):
            if not empty[i, j]:
                assert got[i, j] == delta[i, j]
                continue
            found = [
                (np.hypot(x[i] - x[a], y[j] - y[b]), delta[a, b])
                for a in range(k)
                for b in range(m)
                if not empty[a, b]
            ]
            least = min(d for d, _ in found)
            near = [v for d, v in found if d <= least * (1 + 1e-9)]
            assert got[i, j] == pytest.approx(np.mean(near), rel=1e-12)


# -------------------------------------------------------------------------------------- provenance


def test_rows_left_out_stay_left_out_when_bins_are_chosen_again():
    X = rows()
    q = sd.prediction(product, slope=lambda X: np.c_[X[:, 1], X[:, 0], 0 * X[:, 0]])
    e = sd.explain(q, X, 0, method=sd.DALE(bins=sd.Edges([-0.5, 0.5])))
    outside = int((np.abs(X[:, 0]) > 0.5).sum())
    again = e.rebin(sd.Edges([-0.5, 0.0, 0.5]))
    assert e.provenance["rows_outside"] == again.provenance["rows_outside"] == outside
