"""Standard errors of integer steps, most with a single row, against the deviation over repeated draws."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd


def explained(x, seed, **options):
    X = np.column_stack([x, np.random.default_rng(seed).normal(size=len(x))])
    return sd.explain(
        lambda X: 3 * np.sin(X[:, 0] / 60) + X[:, 0] / 60 * X[:, 1],
        X,
        0,
        method=sd.DALE(bins=6, center="start"),
        heterogeneity_rows=0,
        **options,
    )


@pytest.mark.parametrize(("rows", "kind"), [(100, "frequency"), (300, "sampling")])
def test_values_of_single_rows_do_not_make_errors_small(rows, kind):
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=rows) * 60)
    weights = None if kind == "frequency" else rng.exponential(size=rows)
    found = [explained(x, s, sample_weight=weights, weight_kind=kind) for s in range(60)]
    assert found[0].spec.local_effects == "integer_steps"
    for error, spread in (
        ([e.std_error[1:] for e in found], np.std([e.value[1:] for e in found], axis=0)),
        ([e.bins.std_error for e in found], np.std([e.bins.effect for e in found], axis=0)),
    ):
        ratio = np.sqrt(np.mean(np.square(error), axis=0)) / spread
        assert 0.7 < np.mean(ratio) < 1.3
        assert ratio.min() > 0.55


@pytest.mark.parametrize(("of", "simultaneous"), [("value", True), ("bins", False)])
def test_whole_numbers_that_are_all_different_have_errors(of, simultaneous):
    x = np.random.default_rng(1).permutation(2000)[:200]
    e = explained(x, 2)
    assert np.isfinite(e.std_error).all()
    assert (e.std_error[1:] > 0).all()
    low, high = e.interval(of=of, simultaneous=simultaneous)
    assert np.isfinite(high - low).all()
    assert ((high - low)[1:] > 0).all()
