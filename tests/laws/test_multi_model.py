"""Laws of multi-model results: guarantees for one model also hold for each model of a list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

import skedasis as sd
from tests.helpers import bent, frame, linear, of_frame, table
from tests.laws.strategies import law

METHODS: dict[str, Any] = {
    "ale": sd.ALE(bins=6),
    "dale": sd.DALE(),
    "rhale": sd.RHALE(),
    "rhale, Eq. 13": sd.RHALE(sd.Optimal()),
    "uale": sd.UALE(),
    "pdp": sd.PDP(grid=5),
    "mplot": sd.MPlot(bins=5),
}
every = pytest.mark.parametrize("method", list(METHODS))
X = table(120, 3, seed=3)
MODELS = [bent, linear, lambda X: bent(X) * X[:, 2]]
FOLDS = np.arange(120) % 3


def alike(a: Any, b: Any, rtol: float = 1e-9) -> None:
    """Assert that two multi-model results are the same up to rounding."""
    np.testing.assert_allclose(a.x, b.x, rtol=1e-12)
    scale = np.nanmax(np.abs(b.values))
    np.testing.assert_allclose(a.values, b.values, rtol=rtol, atol=rtol * scale)
    np.testing.assert_allclose(a.between, b.between, rtol=1e-6, atol=rtol * scale)


@every
def test_batches_and_threads_change_nothing(method: str) -> None:
    one = sd.explain(MODELS, X, 0, method=METHODS[method], cv=FOLDS)
    other = sd.explain(MODELS, X, 0, method=METHODS[method], cv=FOLDS, memory="2KB", n_jobs=2)
    alike(one, other)


@every
def test_the_order_of_rows_does_not_matter(method: str) -> None:
    order = np.random.default_rng(5).permutation(120)
    one = sd.explain(MODELS, X, 0, method=METHODS[method], cv=FOLDS)
    alike(sd.explain(MODELS, X[order], 0, method=METHODS[method], cv=FOLDS[order]), one)


@every
def test_whole_weights_are_repeated_rows(method: str) -> None:
    w = np.random.default_rng(6).integers(1, 4, 120)
    many = np.repeat(np.arange(120), w)
    weighted = sd.explain(MODELS, X, 0, method=METHODS[method], cv=FOLDS, sample_weight=w)
    repeated = sd.explain(MODELS, X[many], 0, method=METHODS[method], cv=FOLDS[many])
    alike(weighted, repeated)
    assert weighted.correction == pytest.approx(repeated.correction)
    assert weighted.overlap == pytest.approx(repeated.overlap)


@every
@law(scale=st.sampled_from([1e-9, 1e-3, 2.0, 1e6]), shift=st.sampled_from([0.0, -3.0, 50.0]))
def test_scales_of_the_quantity(method: str, scale: float, shift: float) -> None:
    one = sd.explain(MODELS, X, 0, method=METHODS[method], cv=FOLDS)
    moved = [lambda X, m=m: scale * (m(X) + shift) for m in MODELS]
    other = sd.explain(moved, X, 0, method=METHODS[method], cv=FOLDS)
    # Rounding of differences may decide ties between partitions.
    assume(not method.startswith(("rhale", "uale")) or len(one.x) == len(other.x))
    raw = method in ("pdp", "mplot")
    np.testing.assert_allclose(
        other.value / scale, one.value + (shift if raw else 0.0), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(other.between / scale, one.between, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("feature", "method"), [("a", "ale"), ("b", "pdp"), ("c", "ale"), ("d", "mplot")]
)
def test_frames(feature: str, method: str) -> None:
    T, part = frame(120), np.arange(120) % 2
    models = [of_frame, lambda T: 3 * of_frame(T)]
    one = sd.explain(models, T, feature, method=method, cv=part)
    both = sd.explain(models, T, method=method, cv=part)[feature]
    np.testing.assert_array_equal(one.values, both.values)
    order = np.random.default_rng(5).permutation(120)
    other = sd.explain(models, T.iloc[order], feature, method=method, cv=part[order])
    same = [list(other.x).index(v) for v in one.x] if one.levels is not None else slice(None)
    np.testing.assert_allclose(other.values[:, same], one.values, atol=1e-9)


def test_importances_do_not_depend_on_the_order_of_rows_that_are_known_by_name() -> None:
    order = np.random.default_rng(5).permutation(120)
    names = np.array([f"row {i:03d}" for i in range(120)])
    one = sd.explain(MODELS, X, method=sd.PFI(n_repeats=4), cv=FOLDS, row_id=names)
    other = sd.explain(
        MODELS, X[order], method=sd.PFI(n_repeats=4), cv=FOLDS[order], row_id=names[order]
    )
    np.testing.assert_allclose(other.values, one.values, atol=1e-12)
