"""Weighted bootstrap: each replicate equals a full run of `explain` on the repeated rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skedasis as sd
from tests.helpers import paired, refused

N = 240
LEVELS = (0, 1, 2, 3)
NOMINAL = {0: sd.Feature("c", "nominal", levels=LEVELS)}
ORDINAL = {0: sd.Feature("c", "ordinal", levels=LEVELS)}
EDGES = np.array([-1.2, -0.6, -0.2, 0.1, 0.5, 1.2])
ROUGH = np.array([-1.2, -0.2, 0.5, 1.2])


def data(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    level = rng.choice(4, N, p=[0.4, 0.3, 0.2, 0.1])
    return np.c_[level, rng.normal(size=N) + 0.4 * level, rng.uniform(-1, 1, N)]


def model(X: np.ndarray) -> np.ndarray:
    step = np.array([0.0, 1.0, -0.5, 2.0])[X[:, 0].astype(int)]
    return step * (1 + X[:, 1]) + np.sin(3 * X[:, 2]) * (2 + X[:, 1]) + X[:, 1] ** 2


def slope(X: np.ndarray) -> np.ndarray:
    step = np.array([0.0, 1.0, -0.5, 2.0])[X[:, 0].astype(int)]
    by_1 = step + np.sin(3 * X[:, 2]) + 2 * X[:, 1]
    return np.c_[0 * step, by_1, 3 * np.cos(3 * X[:, 2]) * (2 + X[:, 1])]


SLOPED = sd.prediction(model, slope=slope)
CUT = sd.Edges(EDGES, closed="left")
GRID = [-0.8, -0.1, 0.4, 0.9]
Case = tuple[Any, Any, int, Any, bool]
CASES: dict[str, Case] = {}
for middle in ("mean", "start"):
    CASES |= {
        f"ale {middle}": (model, sd.ALE(bins=CUT, center=middle), 2, NOMINAL, False),
        f"ale merged {middle}": (model, sd.ALE(bins=CUT, center=middle), 2, NOMINAL, True),
        f"dale {middle}": (SLOPED, sd.DALE(bins=CUT, center=middle), 2, NOMINAL, False),
        f"rhale {middle}": (SLOPED, sd.RHALE(bins=CUT, center=middle), 2, NOMINAL, False),
        f"uale {middle}": (SLOPED, sd.UALE(bins=CUT, center=middle), 2, NOMINAL, False),
        f"nominal {middle}": (model, sd.ALE(center=middle, order=list(LEVELS)), 0, NOMINAL, False),
        f"ordinal {middle}": (model, sd.RHALE(center=middle), 0, ORDINAL, False),
        f"pdp {middle}": (model, sd.PDP(grid=GRID, ice="all", center=middle), 2, NOMINAL, False),
    }
CASES |= {
    "mplot": (model, sd.MPlot(bins=CUT), 2, NOMINAL, False),
    "mplot centred": (model, sd.MPlot(bins=CUT, center="mean"), 2, NOMINAL, False),
    "mplot of levels": (model, sd.MPlot(center="mean"), 0, NOMINAL, False),
    "pdp": (model, sd.PDP(grid=GRID, ice="all"), 2, NOMINAL, False),
    "pdp of levels": (model, sd.PDP(ice="all"), 0, NOMINAL, False),
    "anchored": (model, sd.PDP(grid=GRID, ice="all", anchor=0.3), 2, NOMINAL, False),
    "slopes of pdp": (SLOPED, sd.PDP(grid=GRID, ice="all", derivative=True), 2, NOMINAL, False),
}
FIGURES = ("value", "bins", "importance")
WEIGHTS = np.random.default_rng(4).gamma(2.0, 1.0, N) + 0.1


def explain(case: Case, X: np.ndarray, **options: Any) -> Any:
    what, method, feature, schema, merged = case
    e = sd.explain(what, X, feature, method=method, schema=schema, progress=False, **options)
    return e.rebin(sd.Edges(ROUGH, closed="left")) if merged else e


def figure(e: Any, of: str) -> np.ndarray:
    if of == "bins":
        return e.bins.effect
    return np.atleast_1d(getattr(e, of))


def same(got: np.ndarray, want: np.ndarray, size: float) -> None:
    assert got.shape == want.shape
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    assert np.nanmax(np.abs(got - want), initial=0.0) <= 1e-12 * size


@pytest.mark.parametrize(("name", "kind"), paired(CASES, ["plain", "frequency", "sampling"]))
def test_rows_counted_otherwise_are_rows_repeated(name, kind):
    """Compare all statistics, at the same edges. With sampling weights, a repeated row keeps its weight."""
    case, X, rng = CASES[name], data(), np.random.default_rng(9)
    options: dict[str, Any] = {}
    if kind == "frequency":
        options = {"sample_weight": np.ceil(WEIGHTS)}
    if kind == "sampling":
        options = {"sample_weight": WEIGHTS, "weight_kind": "sampling"}
    e = explain(case, X, **options)
    counts = rng.multinomial(N, np.full(N, 1 / N), size=3)
    figures = [f for f in FIGURES if f != "bins" or e.bins is not None]
    got = {of: e.resampled(counts, of) for of in figures}
    for r, count in enumerate(counts):
        more = {}
        if kind == "sampling":
            more = {"sample_weight": np.repeat(WEIGHTS, count), "weight_kind": "sampling"}
        again = explain(case, np.repeat(X, count, axis=0), **more)
        for of in figures:
            want = figure(again, of)
            same(got[of][r], want, np.nanmax(np.abs(want)))
    own = options["sample_weight"] if kind == "frequency" else np.ones(N)
    for of in figures:
        same(e.resampled(own, of), figure(e, of), np.nanmax(np.abs(figure(e, of))))


def test_an_offset_costs_no_digits():
    """Adding 1e7 to all slopes shifts the intervals by 1e7 without loss of precision."""
    X = data()
    tiny = sd.prediction(
        lambda X: X[:, 2], slope=lambda X: np.c_[0 * X[:, :2], 1e7 + slope(X)[:, 2]]
    )
    far = sd.explain(tiny, X, 2, method=sd.DALE(bins=CUT), progress=False)
    near = sd.explain(SLOPED, X, 2, method=sd.DALE(bins=CUT), progress=False)
    low, high = far.interval(method="bootstrap", of="bins", replicates=50)
    below, above = near.interval(method="bootstrap", of="bins", replicates=50)
    np.testing.assert_allclose([low - 1e7, high - 1e7], [below, above], atol=2e-8)


def test_counts_that_are_none_are_refused():
    e = explain(CASES["ale mean"], data())
    for counts in (np.ones(3), np.ones((2, 2, N)), np.full(N, "a"), None):
        with refused(sd.DataError, "resampled(counts)", f"(R, {N})"):
            e.resampled(counts)
    for counts in (np.zeros(N), np.full(N, -1.0), np.full(N, np.nan)):
        with refused(sd.DataError, "resampled(counts)", "non-negative"):
            e.resampled(counts)
    assert e.resampled(np.ones((0, N))).shape == (0, 6)
    with refused(sd.UnsupportedError, "a part of the rows"):
        explain(CASES["ale mean"], data(), keep_rows=800).resampled(np.ones(N))


# ------------------------------------------------------------------------------ bins with linear slopes


def bent() -> tuple[Any, np.ndarray]:
    """Return slopes that jump once and are linear beyond, so that the penalized likelihood selects linear bins."""
    rng = np.random.default_rng(2)
    X = np.c_[rng.uniform(0, 1, 900), rng.normal(size=900)]

    def slope(X: np.ndarray) -> np.ndarray:
        x = X[:, 0]
        return np.c_[np.where(x < 0.4, 1.0, 6.0 * x) + 0.4 * X[:, 1], 0 * x]

    return sd.prediction(lambda X: X[:, 0], slope=slope), X


def test_lines_in_bins_are_fitted_to_the_rows_that_are_there():
    """Compare each replicate with a least-squares line through the means of the cells."""
    q, X = bent()
    method = sd.RHALE(bins=sd.Optimal(criterion="likelihood"), center="start")
    e = sd.explain(q, X, 0, method=method, progress=False)
    assert np.any(e.bins.slope_change)
    counts = np.random.default_rng(3).multinomial(900, np.full(900, 1 / 900), size=3)
    got = {of: e.resampled(counts, of) for of in ("value", "bins", "importance")}
    cell = np.searchsorted(e.cells.edges, e.rows.x, side="right") - 1
    cell = np.minimum(cell, len(e.cells) - 1)
    for r, count in enumerate(counts):
        rise = []
        for k, (a, b) in enumerate(zip(e.x[:-1], e.x[1:], strict=True)):
            inside = (e.cells.edges[cell] >= a) & (e.cells.edges[cell] < b) & (count > 0)
            x, d, w = e.rows.x[inside], e.rows.effect[inside], count[inside].astype(float)
            mean, middle = np.average(d, weights=w), np.average(x, weights=w)
            slope = 0.0
            if e.bins.slope_change[k] != 0:
                groups = cell[inside]
                n = np.bincount(groups, w)
                there = n > 0
                means = [np.bincount(groups, w * v)[there] / n[there] for v in (x, d)]
                slope = np.polyfit(*means, 1, w=np.sqrt(n[there]))[0]
            rise.append((mean + slope * ((a + b) / 2 - middle)) * (b - a))
        np.testing.assert_allclose(got["value"][r], np.append(0, np.cumsum(rise)), rtol=1e-10)
        np.testing.assert_allclose(got["bins"][r], np.array(rise) / np.diff(e.x), rtol=1e-10)
    ones = np.ones(900)
    for of in got:
        same(e.resampled(ones, of), figure(e, of), np.abs(figure(e, of)).max() * 100)
    for options in ({}, {"simultaneous": True}, {"method": "bootstrap", "replicates": 800}):
        low, high = e.interval(0.9, **options)
        assert ((low < e.value) & (e.value < high))[1:].all()
    low, high = e.interval(0.9)
    below, above = e.interval(0.9, "bootstrap", replicates=2000)
    np.testing.assert_allclose((above - below)[1:], (high - low)[1:], rtol=0.15)
    part = sd.explain(q, X, 0, method=method, progress=False, keep_rows=3000)
    below, above = part.interval(0.9, "bootstrap", replicates=2000)
    low, high = part.interval(0.9)
    np.testing.assert_allclose((above - below)[1:], (high - low)[1:], rtol=0.2)


# ---------------------------------------------------------------------------- moments instead of rows


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["ale mean", "rhale start", "nominal mean", "ordinal start", "mplot centred"]
)
def test_moments_and_rows_give_one_distribution(name):
    """Kolmogorov–Smirnov test at each point: 4,000 replicates from rows and 4,000 from moments."""
    from scipy.stats import ks_2samp

    from skedasis.results.intervals.bootstrap import replicate_source
    from skedasis.stats.resampling import replicate

    what, method, feature, schema, _ = CASES[name]
    rng = np.random.default_rng(1)
    X = np.c_[
        rng.choice(4, 6000, p=[0.4, 0.3, 0.2, 0.1]), rng.normal(size=6000), rng.uniform(-1, 1, 6000)
    ]
    e = sd.explain(what, X, feature, method=method, schema=schema, progress=False)
    rows = replicate_source(e, "rows")
    by_rows = replicate(rows.draws, [rows.repeated("value")], 4000, 1)[0]
    by_moments = replicate_source(e, "moments").replicates("value", 4000, 2)
    moving = np.flatnonzero(by_rows.std(axis=0) > 0)
    least = min(ks_2samp(by_rows[:, k], by_moments[:, k]).pvalue for k in moving)
    print(f"\n{name}: least p {least:.3f}")  # noqa: T201
    assert least * len(moving) > 0.01
