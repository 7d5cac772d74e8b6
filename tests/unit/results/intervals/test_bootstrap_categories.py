"""Errors of categorical ALE, M-plots and ICE: resampled rows, brute-force influence values, and coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skedasis as sd
from skedasis.results.intervals.bootstrap import resampler
from tests.helpers import refused

SHARE = np.array([0.3, 0.25, 0.25, 0.2])
BASE = np.array([0.0, 1.0, -0.5, 2.0])
SLOPE = np.array([1.0, -0.5, 0.8, 2.0])
SCHEMA = {
    "nominal": {0: sd.Feature("c", "nominal", levels=(0, 1, 2, 3))},
    "ordinal": {0: sd.Feature("c", "ordinal", levels=(0, 1, 2, 3))},
}


def rows(n: int = 400, seed: int = 1) -> np.ndarray:
    """Return a level in 0..3, a number whose mean depends on the level, and an independent number."""
    rng = np.random.default_rng(seed)
    level = rng.choice(4, n, p=SHARE)
    return np.c_[level, rng.normal(size=n) + 0.6 * level, rng.uniform(-1, 1, n)]


def model(X: np.ndarray) -> np.ndarray:
    """Return a function that is smooth in x1 and x2, with steps between levels that depend on x1."""
    level = X[:, 0].astype(int)
    return BASE[level] + SLOPE[level] * X[:, 1] + np.sin(2 * X[:, 2]) * (2 + X[:, 1])


def explain(method: Any, feature: int = 0, kind: str = "nominal", **options: Any) -> Any:
    X = options.pop("X", rows())
    return sd.explain(
        model, X, feature, method=method, schema=SCHEMA[kind], progress=False, **options
    )


WEIGHTS = np.random.default_rng(7).integers(1, 4, 400).astype(float)
EDGES = sd.Edges([-1.0, -0.4, 0.1, 0.6, 1.0])
CASES: dict[str, tuple[Any, int, str]] = {
    "ale of levels": (sd.ALE(), 0, "nominal"),
    "ale of levels from the start": (sd.ALE(center="start"), 0, "nominal"),
    "ale of ordered levels": (sd.ALE(), 0, "ordinal"),
    "rhale of ordered levels": (sd.RHALE(), 0, "ordinal"),
    "mplot": (sd.MPlot(bins=EDGES), 2, "nominal"),
    "centred mplot": (sd.MPlot(bins=EDGES, center="mean"), 2, "nominal"),
    "mplot of levels": (sd.MPlot(), 0, "nominal"),
    "centred mplot of levels": (sd.MPlot(center="mean"), 0, "nominal"),
    "ice of levels": (sd.ICE(), 0, "nominal"),
    "centred ice of levels": (sd.ICE(center="mean"), 0, "nominal"),
    "anchored ice of levels": (sd.ICE(anchor={"c": 2}), 0, "nominal"),
    "anchored ice": (sd.ICE(grid=[-0.8, 0.0, 0.7], anchor=0.3), 2, "nominal"),
    "slopes of ice": (sd.ICE(grid=[-0.8, 0.0, 0.7], derivative=True), 2, "nominal"),
    "ale": (sd.ALE(bins=EDGES), 2, "nominal"),
}
USUAL = ("ale of levels", "mplot of levels", "ale")
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@every_case
def test_rows_that_count_otherwise_are_rows_of_other_weights(case):
    """A replicate equals a full run of `explain` with the counts as weights."""
    method, feature, kind = case
    e = explain(method, feature, kind, sample_weight=WEIGHTS)
    source = resampler(e)
    np.testing.assert_array_equal(source.weight, WEIGHTS)
    np.testing.assert_allclose(source.value(WEIGHTS), e.value, rtol=1e-12, atol=1e-12)
    counts = np.random.default_rng(3).multinomial(400, np.full(400, 1 / 400)).astype(float)
    want = explain(method, feature, kind, sample_weight=counts)
    np.testing.assert_allclose(source.value(counts), want.value, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("case", "weights"),
    [
        pytest.param(case, weights, id=name, marks=() if name in USUAL else pytest.mark.slow)
        for (name, case), weights in zip(CASES.items(), 7 * [None, WEIGHTS], strict=True)
    ],
)
def test_bootstrap_and_formula_agree(case, weights):
    method, feature, kind = case
    e = explain(method, feature, kind, sample_weight=weights)
    low, high = e.interval(0.9, "bootstrap", replicates=1500, random_state=1)
    below, above = e.interval(0.9)
    known = e.std_error > 1e-12 * np.abs(e.value).max()
    assert known.sum() >= len(known) - 1
    ratio = (high - low)[known] / (above - below)[known]
    assert np.abs(ratio - 1).max() < 0.15
    assert ((low <= e.value) & (e.value <= high)).all()


def test_sampling_weights_are_resampled_with_their_rows():
    weights = np.random.default_rng(5).gamma(2.0, 1.0, 400) + 0.2
    for method in (sd.ALE(), sd.MPlot(center="mean")):
        e = explain(method, sample_weight=weights, weight_kind="sampling")
        low, high = e.interval(0.9, "bootstrap", replicates=1000)
        below, above = e.interval(0.9)
        assert np.abs((high - low) / (above - below) - 1).max() < 0.2


# ------------------------------------------------------------------- draws without some levels


def drawn(e: Any, absent: list[int], levels: np.ndarray) -> np.ndarray:
    """Return the replicate in which the rows of the absent levels have count 0."""
    return resampler(e).value(np.where(np.isin(levels, absent), 0.0, 1.0))


STEPS = np.array([1.0, 3.0, 10.0, 100.0])
"""Without scatter, so that it is plain what each step is."""


@pytest.fixture
def stairs() -> tuple[Any, Any, np.ndarray]:
    """Return ALEs of a step function, with center "mean" and "start", and its levels: four rows each of 0..4."""
    levels = np.repeat(np.arange(5), 4)
    heights = np.append(0.0, np.cumsum(STEPS))
    X = np.c_[levels, np.arange(20)].astype(float)
    schema = {0: sd.Feature("c", "nominal", levels=(0, 1, 2, 3, 4))}
    both = [
        sd.explain(
            lambda X: heights[X[:, 0].astype(int)],
            X,
            0,
            method=sd.ALE(center=center),
            schema=schema,
            progress=False,
        )
        for center in ("mean", "start")
    ]
    return both[0], both[1], levels


def test_one_absent_level_is_seen_from_its_neighbours(stairs):
    centred, started, levels = stairs
    for k in range(5):
        np.testing.assert_allclose(drawn(started, [k], levels), [0, 1, 4, 14, 114])
        got = drawn(centred, [k], levels)
        there = np.delete(np.array([0, 1, 4, 14, 114.0]), k)
        np.testing.assert_allclose(got, np.array([0, 1, 4, 14, 114.0]) - there.mean())


def test_a_step_without_rows_is_joined_inside_and_unknown_at_the_ends(stairs):
    centred, started, levels = stairs
    # No rows at 1 and 2: the step between them is the mean of the adjacent steps, (1 + 10) / 2.
    np.testing.assert_allclose(drawn(started, [1, 2], levels), [0, 1, 6.5, 16.5, 116.5])
    shape = np.array([0, 1, 6.5, 16.5, 116.5])
    np.testing.assert_allclose(
        drawn(centred, [1, 2], levels), shape - (0 + 16.5 + 116.5) / 3, rtol=1e-12
    )
    # No rows at 3 and 4: level 3 is estimated from the rows of level 2, level 4 is unknown.
    np.testing.assert_allclose(drawn(started, [3, 4], levels), [0, 1, 4, 14, np.nan])
    np.testing.assert_allclose(
        drawn(centred, [3, 4], levels), np.array([0, 1, 4, 14, np.nan]) - 5 / 3
    )
    # No rows at 0 and 1: with center="start" all values are unknown, with center="mean" only the value at 0.
    assert np.isnan(drawn(started, [0, 1], levels)).all()
    got = drawn(centred, [0, 1], levels)
    np.testing.assert_allclose(got, np.array([np.nan, 1, 4, 14, 114]) - (4 + 14 + 114) / 3)
    assert np.isnan(drawn(centred, [0, 1, 2, 3, 4], levels)).all()


def test_rare_levels_keep_their_interval():
    """Two levels of one row each: many draws contain neither, and these draws must not determine the interval."""
    X = rows(200)
    X[:2, 0] = [4, 5]
    schema = {0: sd.Feature("c", "nominal", levels=(4, 0, 1, 2, 3, 5))}
    for method in (sd.ALE(), sd.ALE(center="start"), sd.MPlot(), sd.MPlot(center="mean"), sd.ICE()):
        e = sd.explain(
            lambda X: model(np.c_[X[:, 0] % 4, X[:, 1:]]),
            X,
            0,
            method=method,
            schema=schema,
            progress=False,
        )
        low, high = e.interval(method="bootstrap", replicates=300)
        # In an M-plot the variance of a level with one row is unknown (NaN), not zero.
        known = np.isfinite(e.heterogeneity) if e.spec.method == "MPlot" else np.ones(6, bool)
        np.testing.assert_array_equal(np.isfinite(low), known)
        low, high, value = low[known], high[known], e.value[known]
        assert ((low <= value + 1e-12) & (value - 1e-12 <= high)).all()


def test_a_bin_of_one_row_has_no_interval():
    X = rows(100)
    X[0, 2] = 3.0
    edges = sd.Edges([-1.0, 0.0, 1.0, 2.0, 3.0])
    e = explain(sd.MPlot(bins=edges), 2, X=X)
    assert len(e.x) == 3
    low, high = e.interval(method="bootstrap", replicates=200)
    assert e.value[-1] == model(X[:1])[0]
    assert np.isnan([low[-1], high[-1]]).all()
    assert (high[:-1] > low[:-1]).all()
    counts = np.ones(100)
    counts[0] = 0
    got = resampler(e).value(counts)
    assert np.isnan(got[-1])
    assert np.isfinite(got[:-1]).all()
    # With center="start", a draw without rows in the first bin gives NaN at all points.
    e = explain(sd.ALE(bins=edges, center="start"), 2, X=X)
    counts = np.where(X[:, 2] <= 0, 0.0, 1.0)
    assert np.isnan(resampler(e).value(counts)).all()
    e = explain(sd.ALE(bins=edges, center="mean"), 2, X=X)
    assert np.isnan(resampler(e).value(counts)).tolist() == [True, False, False, False, False]


def test_an_m_plot_of_one_value_still_has_an_interval():
    X = rows(300)
    X[:, 2] = 0.5
    e = explain(sd.MPlot(), 2, X=X)
    low, high = e.interval(0.9, "bootstrap", replicates=1000)
    below, above = e.interval(0.9)
    assert (high - low) == pytest.approx(above - below, rel=0.1)
    e = explain(sd.ALE(), 2, X=X)
    assert e.interval(method="bootstrap") == (0.0, 0.0)


@pytest.mark.parametrize("method", [sd.ALE(), sd.MPlot(), sd.PDP(ice=10)])
def test_a_part_of_the_rows_is_refused(method):
    with refused(sd.UnsupportedError, "bootstrap of", "all rows", "larger keep_rows="):
        explain(method, keep_rows=4000).interval(method="bootstrap", source="rows")


# ------------------------------------------------------------ influence values by brute force


def by_hand(X: np.ndarray, weight: np.ndarray, center: str) -> np.ndarray:
    """Return the ALE of the levels directly from its definition."""
    level = X[:, 0].astype(int)
    value = np.zeros(4)
    for k in range(3):
        near = np.isin(level, [k, k + 1])
        low, high = X[near].copy(), X[near].copy()
        low[:, 0], high[:, 0] = k, k + 1
        value[k + 1] = value[k] + np.average(model(high) - model(low), weights=weight[near])
    return value - np.average(value[level], weights=weight) if center == "mean" else value


@pytest.mark.parametrize(("center", "weighted"), [("mean", False), ("start", True)])
def test_errors_are_sums_of_squared_influences(center, weighted):
    """The influence of each row is the numerical derivative of the effect by its weight.

    The tolerance is needed because the formula divides the squares of each step by n - 1, and influences use n.
    """
    X, weight = rows(), WEIGHTS if weighted else np.ones(400)
    e = explain(sd.ALE(center=center), sample_weight=weight)
    np.testing.assert_allclose(e.value, by_hand(X, weight, center), rtol=1e-12, atol=1e-12)
    size = 1e-4
    square = np.zeros(4)
    for i in range(len(X)):
        nudge = np.zeros(len(X))
        nudge[i] = size
        slope = by_hand(X, weight + nudge, center) - by_hand(X, weight - nudge, center)
        square += weight[i] * (slope / (2 * size)) ** 2
    least = min(np.bincount(X[:, 0].astype(int)))
    np.testing.assert_allclose(e.std_error, np.sqrt(square), rtol=0.75 / least, atol=1e-12)
    assert (e.std_error**2 >= square * (1 - 1e-9)).all()


def test_the_error_of_a_single_step_is_that_of_a_mean():
    X = rows()
    X[:, 0] = X[:, 0] % 2
    schema = {0: sd.Feature("c", "nominal", levels=(0, 1))}
    e = sd.explain(
        model,
        X,
        0,
        method=sd.ALE(center="start"),
        schema=schema,
        sample_weight=WEIGHTS,
        progress=False,
    )
    low, high = X.copy(), X.copy()
    low[:, 0], high[:, 0] = 0, 1
    step = np.repeat(model(high) - model(low), WEIGHTS.astype(int))
    assert e.std_error[1] == pytest.approx(step.std(ddof=1) / np.sqrt(len(step)), rel=1e-12)
    assert e.std_error[0] == 0


# ------------------------------------------------------------------------------- coverage


def truth(center: str) -> np.ndarray:
    """Return the ALE of the population: steps are linear in x1, whose mean at each level is known."""
    middle = 0.6 * np.arange(4)
    value = np.zeros(4)
    for k in range(3):
        share = SHARE[k : k + 2] / SHARE[k : k + 2].sum()
        rise = BASE[k + 1] - BASE[k] + (SLOPE[k + 1] - SLOPE[k]) * (share @ middle[k : k + 2])
        value[k + 1] = value[k] + rise
    return value - SHARE @ value if center == "mean" else value


@pytest.mark.slow
@pytest.mark.parametrize("center", [pytest.param("mean", marks=pytest.mark.long), "start"])
def test_intervals_cover_as_often_as_they_say(center):
    """About 270 of 300 intervals cover the true value: a binomial count with a standard deviation of 5."""
    want, hits, repetitions = truth(center), np.zeros(4), 300
    method = sd.ALE(center=center)
    for seed in range(repetitions):
        low, high = explain(method, X=rows(300, 1000 + seed)).interval(0.9)
        hits += (low <= want + 1e-12) & (want - 1e-12 <= high)
    share = hits / repetitions
    if center == "start":
        assert share[0] == 1
        share = share[1:]
    assert share.min() > 0.85
    assert share.max() < 0.95
