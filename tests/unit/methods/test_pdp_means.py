"""PDP(heterogeneity=False): the same mean curve; heterogeneity, errors and intervals are not available."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from tests.helpers import frame, of_frame, refused, table
from tests.reference.tree_cases import WEIGHTS, grown

MODEL, X, Y = grown("histograms")
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "points": {"grid": [-1.0, 0.0, 0.3]},
    "quantiles": {"grid": 7, "spacing": "quantile"},
    "mean": {"center": "mean"},
    "start": {"center": "start", "grid": 6},
    "anchor": {"anchor": 0.3},
    "exact": {"grid": "exact"},
    "exact, mean": {"grid": "exact", "center": "mean"},
    "one point": {"grid": [0.2]},
}


@pytest.mark.parametrize(
    ("name", "weights"), list(zip(OPTIONS, cycle([None, WEIGHTS, WEIGHTS + 0.5]), strict=False))
)
def test_the_same_mean_and_no_spread(name: str, weights: Any) -> None:
    alone = sd.explain(
        MODEL, X, method=sd.PDP(**OPTIONS[name], heterogeneity=False), sample_weight=weights
    )
    whole = sd.explain(MODEL, X, method=sd.PDP(**OPTIONS[name]), sample_weight=weights)
    for feature, e in alone.items():
        other = whole[feature]
        size = np.abs(other.value).max()
        np.testing.assert_array_equal(e.x, other.x)
        np.testing.assert_allclose(e.value, other.value, rtol=0, atol=1e-12 * size)
        assert e.importance == pytest.approx(other.importance, rel=1e-9, abs=1e-12 * size)
        assert np.isnan(e.heterogeneity).all()
        assert np.isnan(e.std_error).all()
        assert np.isnan(e.heterogeneity_score)
        assert e.curves is None
        assert e.missing == other.missing
        assert e.missing_point is not None
        assert e.missing_point.effect == pytest.approx(other.missing_point.effect, rel=1e-9)


@pytest.mark.parametrize("tree", ["auto", "off"])
def test_any_model_and_any_batch(tree: Any) -> None:
    rows = table(200, 3)
    for model in (lambda X: X[:, 0] * X[:, 1] + X[:, 2], grown("boosting")[0]):
        rows = table(200, 3) if callable(model) else grown("boosting")[1]
        whole = sd.explain(model, rows, 0, method=sd.PDP(grid=5), tree=tree)
        for memory in ("1GB", "10KB"):
            method = sd.PDP(grid=5, heterogeneity=False)
            e = sd.explain(model, rows, 0, method=method, tree=tree, memory=memory)
            np.testing.assert_allclose(e.value, whole.value, rtol=0, atol=1e-12)


def test_categories_and_pairs() -> None:
    alone, whole = sd.PDP(grid=4, heterogeneity=False), sd.PDP(grid=4)
    rows = frame()
    e = sd.explain(of_frame, rows, "c", method=alone)
    other = sd.explain(of_frame, rows, "c", method=whole)
    np.testing.assert_allclose(e.value, other.value, rtol=1e-12)
    assert np.isnan(e.heterogeneity).all()
    assert np.isnan(e.heterogeneity_score)
    assert e.importance == pytest.approx(other.importance, rel=1e-12)
    for pair in (("a", "b"), ("a", "c"), ("c", "d")):
        s = sd.explain(of_frame, rows, pair, method=alone)
        full = sd.explain(of_frame, rows, pair, method=whole)
        np.testing.assert_allclose(s.value, full.value, rtol=1e-12)
        assert np.isnan(s.heterogeneity).all()
        # Interaction strength depends on the mean surface only.
        size = full.interaction_strength()
        assert s.interaction_strength() == pytest.approx(size, rel=1e-9)


def test_no_interval_and_no_curves() -> None:
    e = sd.explain(MODEL, X, 0, method=sd.PDP(heterogeneity=False))
    for method in ("analytic", "bootstrap"):
        with refused(sd.UnsupportedError, "heterogeneity=False", "only the mean curve"):
            e.interval(method=method)
    with refused(sd.UnsupportedError, "PDP without ICE curves"):
        e.elevated_regions()
    with refused(sd.DataError, "heterogeneity", "derivative=True"):
        sd.PDP(heterogeneity=False, derivative=True)


def test_what_it_costs() -> None:
    said = sd.explain(
        MODEL, X, 0, method=sd.PDP(grid=5, heterogeneity=False), tree="off"
    ).provenance
    missing = int(np.isnan(X[:, 0]).sum())
    donors = said["effect_rows"] - 5 * len(X)
    assert donors > 0
    assert donors % missing == 0


def test_there_is_no_order_by_what_was_not_asked_for() -> None:
    means = sd.explain(MODEL, X, method=sd.PDP(grid=4, heterogeneity=False))
    with refused(sd.UnsupportedError, "ranking(by='heterogeneity_score')", "heterogeneity=False"):
        means.ranking("heterogeneity_score")
    assert means.ranking()[0].importance >= means.ranking()[-1].importance


@pytest.mark.parametrize("grid", [2, 7, [-1.0, 0.1, 0.4, 2.0]])
def test_the_importance_of_a_line_is_its_standard_deviation_over_the_rows(grid):
    """Within the steps of the grid, too; rows beyond its ends have the values there."""
    X = np.random.default_rng(0).uniform(-1.5, 2.5, (300, 2))
    e = sd.explain(
        lambda X: 3 * X[:, 0] + X[:, 1], X, 0, method=sd.PDP(grid=grid), heterogeneity_rows=0
    )
    on_grid = np.clip(X[:, 0], e.x[0], e.x[-1])
    assert e.importance == pytest.approx(3 * on_grid.std(), rel=1e-9)
