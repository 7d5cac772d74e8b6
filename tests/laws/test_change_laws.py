"""Laws of `sd.what_if`: exact for linear and additive models, and for any model what replacing columns gives."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import skedasis as sd
from tests.laws.strategies import law

QUIET = {"progress": False}
seeds = st.integers(0, 2**31 - 1)
steps = st.floats(-5, 5).filter(lambda h: abs(h) > 1e-3)


def table(seed, n=40, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


def random_model(seed, d=3):
    """Return a random nonlinear function of all columns: sines and products."""
    r = np.random.default_rng(seed)
    W, b = r.normal(size=(d, 6)), r.normal(size=6)

    def model(X):
        hidden = np.einsum("nd,dk->nk", X, W) + b  # the same bits for any number of rows
        return np.sin(hidden[:, :3]).sum(axis=1) + hidden[:, 3] * hidden[:, 4] - hidden[:, 5]

    return model


@law(seed=seeds, h=steps, factor=st.integers(2, 5))
def test_any_model_changes_as_if_columns_were_replaced(seed, h, factor):
    X, model = table(seed), random_model(seed + 7)
    new = X.copy()
    new[:, 0] += h
    new[:, 1] *= factor
    new[:, 2] = 0.25
    expected = model(new) - model(X)
    c = sd.what_if(model, X, {0: h, 1: f"x{factor}"}, to={2: 0.25}, **QUIET)
    np.testing.assert_array_equal(c.rows.change, expected)
    np.testing.assert_allclose(c.value, expected.mean(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(c.std, expected.std(ddof=1), rtol=1e-10, atol=1e-12)


@law(seed=seeds)
def test_the_order_of_the_rows_does_not_matter(seed):
    X, model = table(seed), random_model(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    region = np.arange(len(X)) % 3
    a = sd.what_if(model, X, {0: 0.5}, by=region, row_id=np.arange(len(X)), **QUIET)
    b = sd.what_if(model, X[order], {0: 0.5}, by=region[order], row_id=order, **QUIET)
    np.testing.assert_allclose([a.value, a.std], [b.value, b.std], rtol=1e-10)
    np.testing.assert_allclose([r.value for r in a.by], [r.value for r in b.by], rtol=1e-9)
    assert a.outside.rows == b.outside.rows
    np.testing.assert_allclose(a.outside.far, b.outside.far)


@law(seed=seeds)
def test_regions_together_are_the_whole(seed):
    r = np.random.default_rng(seed)
    X, model, w = table(seed), random_model(seed), r.integers(1, 4, 40)
    c = sd.what_if(model, X, {1: 0.3}, by=r.integers(0, 4, 40), sample_weight=w, **QUIET)
    np.testing.assert_allclose(
        sum(line.share * line.value for line in c.by), c.value, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(sum(line.share for line in c.by), 1)
    repeated = sd.what_if(model, np.repeat(X, w, axis=0), {1: 0.3}, **QUIET)
    np.testing.assert_allclose(c.value, repeated.value, rtol=1e-10)
    np.testing.assert_allclose(c.std_error, repeated.std_error, rtol=1e-8)


def test_a_change_between_two_settings_is_the_difference_of_partial_dependence():
    X, model = table(5, 300), random_model(2)
    pd = sd.explain(model, X, 0, method=sd.PDP(center=None), **QUIET)
    low, high = (sd.what_if(model, X, to={0: v}, **QUIET) for v in (-1.0, 1.0))
    np.testing.assert_allclose(high.after - low.after, pd(1.0) - pd(-1.0), atol=0.05)
    exact = [model(np.column_stack([np.full(300, v), X[:, 1:]])).mean() for v in (-1.0, 1.0)]
    np.testing.assert_allclose([low.after, high.after], exact, rtol=1e-10)
