"""RHALE Theorem 1 on simulated data, and the tests based on it: p-values are uniform under the null hypothesis."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from skedasis.results.checks.variance_decomposition import dependence_p_value
from tests.long.figures import long_case, take_uniform
from tests.unit.results.test_variance_decomposition import of_slopes, sloped

runs = pytest.mark.parametrize("runs", [100, long_case(1000)])

# Slopes within one bin [0, 1]: mean slope mu(x), deviation sigma(x), and the closed forms of sigma² and E².
CASES = {
    "line": (lambda x: 2 + 3 * x, lambda x: 0.5 + 0 * x, 0.25, 9 / 12),
    "parabola": (lambda x: 4 * x**2, lambda x: 1 + 0 * x, 1.0, 16 * (1 / 5 - 1 / 9)),
    "waves": (lambda x: np.sin(4 * np.pi * x), lambda x: 0.3 + 0 * x, 0.09, 0.5),
    "jump": (lambda x: 2.0 * (x > 0.25), lambda x: 1 + 0 * x, 1.0, 4 * 0.25 * 0.75),
    "spread that grows": (lambda x: x, lambda x: x, 1 / 3, 1 / 12),
    "nothing": (lambda x: 1 + 0 * x, lambda x: 1 + 0 * x, 1.0, 0.0),
}


def draw(rng, case, n):
    mu, sigma = CASES[case][:2]
    x = rng.uniform(size=n)
    return x, mu(x) + sigma(x) * rng.normal(size=n)


@pytest.mark.parametrize("case", CASES)
def test_the_variance_of_a_bin_is_that_at_given_x_plus_the_mean_squared_residual(case):
    rng = np.random.default_rng(0)
    found = []
    for _ in range(40):
        x, d = draw(rng, case, 1000)
        (parts,) = [of_slopes(d, x, sd.DALE(bins=sd.Edges([0, 1]))).variance_decomposition()]
        found.append([parts.total[0], parts.within[0], parts.residual[0]])
    sigma2, residual2 = CASES[case][2:]
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    # A residual near zero is truncated at zero, so its mean is slightly high; jumps and waves leave 1 % in sigma².
    slack = 4 * error + 0.01 * (sigma2 + residual2)
    assert abs(mean[0] - sigma2 - residual2) < slack[0]
    assert abs(mean[1] - sigma2) < slack[1] + (0.04 if residual2 == 0 else 0)
    assert abs(mean[2] - residual2) < slack[2] + (0.04 if residual2 == 0 else 0)


def test_the_residual_of_a_model_of_one_feature_is_the_integral_of_the_theorem():
    # f = x⁴ / 4, f' = x³: no heterogeneity, E² = (integral of (x³ - its mean)²) over each bin.
    x = (np.arange(4000) + 0.5) / 4000
    parts = of_slopes(x**3, x, sd.DALE(bins=sd.Edges([0, 0.5, 1]))).variance_decomposition()
    for k, (a, b) in enumerate([(0, 0.5), (0.5, 1)]):
        mean = (b**4 - a**4) / 4 / (b - a)
        square = (b**7 - a**7) / 7 / (b - a)
        assert parts.residual[k] == pytest.approx(square - mean**2, rel=1e-3)
        assert parts.within[k] < 1e-6 * parts.total[k]


def test_heterogeneity_is_what_the_interaction_makes_it():
    # f = x0² + x0 x1: f' = 2 x0 + x1, so sigma = sd(x1) = 0.577 everywhere, and in one bin s* = hypot(2, 1) · 0.577.
    X = np.random.default_rng(1).uniform(-1, 1, size=(20_000, 2))
    q = sd.prediction(
        lambda X: X[:, 0] ** 2 + X[:, 0] * X[:, 1],
        slope=lambda X: np.column_stack([2 * X[:, 0] + X[:, 1], X[:, 0]]),
    )
    for method in (sd.DALE(bins=1), sd.DALE(bins=20), sd.RHALE()):
        e = sd.explain(q, X, 0, method=method)
        parts = e.variance_decomposition()
        assert np.average(parts.within, weights=e.bins.count) == pytest.approx(1 / 3, rel=0.04)
        # In units of the quantity: sd(x0) sd(x1), for any bins, although the slope is not constant.
        assert e.heterogeneity_test().score == pytest.approx(1 / 3, rel=0.05)
    one = sd.explain(q, X, 0, method=sd.DALE(bins=1)).variance_decomposition()
    assert one.total[0] == pytest.approx(5 / 3, rel=0.04)
    assert one.residual[0] == pytest.approx(4 / 3, rel=0.04)


# ------------------------------------------------------------------------------------------- simulations

PLACES = {
    "uniform": lambda rng, n: rng.uniform(size=n),
    "ties": lambda rng, n: np.round(rng.uniform(size=n), 1),
    "skewed": lambda rng, n: rng.lognormal(size=n),
}
SLOPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "skewed": lambda rng, n: rng.lognormal(size=n),
    "heavy tails": lambda rng, n: rng.standard_t(3, size=n),
}


def uniform(measured, p, rows, seed, most=None):
    """Record the distance of p-values from a uniform distribution, and the fraction that is at most 0.05."""
    about = {"draws": len(p), "rows": rows, "seed": seed}
    take_uniform(measured, p, "distance from uniform", **about)
    limits = {} if most is None else {"high": most}
    measured("rejected at 5 %", np.mean(np.array(p) <= 0.05), **about, **limits)


@pytest.mark.parametrize(
    ("slopes", "places"),
    [
        pytest.param(
            slopes, places, id=f"{slopes}-{places}", marks=() if i == k else pytest.mark.slow
        )
        for i, slopes in enumerate(sorted(SLOPES))
        for k, places in enumerate(sorted(PLACES))
    ],
)
@pytest.mark.parametrize(("n", "runs"), [(150, 50), *(long_case(n, 1000) for n in (30, 150, 500))])
def test_p_values_of_slopes_that_do_not_depend_on_x_are_uniform(n, slopes, places, runs, measured):
    rng = np.random.default_rng([n, len(slopes), len(places)])
    p = [
        dependence_p_value(PLACES[places](rng, n), SLOPES[slopes](rng, n), seed=run)
        for run in range(runs)
    ]
    uniform(measured, p, n, "[n, slopes, places]", most=0.075)


@runs
def test_p_values_with_weights_are_uniform(runs, measured):
    rng = np.random.default_rng(3)
    p = [
        dependence_p_value(*rng.uniform(size=(2, 60)), rng.exponential(size=60), seed=run)
        for run in range(runs)
    ]
    uniform(measured, p, 60, "3")


@runs
@pytest.mark.parametrize("n", [40, 400])
def test_a_spread_that_depends_on_x_makes_no_false_alarms(n, runs, measured):
    rng = np.random.default_rng(4)
    found = []
    for run in range(runs):
        x = rng.uniform(size=n)
        found.append(dependence_p_value(x, (0.1 + 2 * x) * rng.normal(size=n), seed=run) <= 0.05)
    measured("rejected at 5 %", np.mean(found), draws=runs, rows=n, seed="4", high=0.07)


@pytest.mark.slow
@pytest.mark.parametrize("runs", [25, long_case(200)])
def test_power_grows_with_the_residual(runs, measured):
    rng = np.random.default_rng(5)
    power = []
    for slope in (0.0, 0.5, 1.0, 2.0):
        hits = 0
        for run in range(runs):
            x = rng.uniform(size=150)
            hits += dependence_p_value(x, slope * x + rng.normal(size=150), seed=run) <= 0.05
        power.append(hits / runs)
        limits = {0.0: {"high": 0.1}, 2.0: {"low": 0.97}}.get(slope, {})
        measured(f"power at slope {slope}", power[-1], draws=runs, rows=150, seed="5", **limits)
    assert np.all(np.diff(power) > 0)


SHAPES = {
    "flat": lambda x: 0 * x,
    "waves": lambda x: np.sin(9 * x),
    "jumps": lambda x: 4.0 * (x > 0.3),
}


def interaction(rng, n, size, shape=SHAPES["flat"]):
    """Return the ALE of shape(x0) + size * x0 * x1 for uniform features; its true heterogeneity score is size / 3."""
    X = rng.uniform(-1, 1, size=(n, 2))

    def model(X):
        return shape(X[:, 0]) + size * X[:, 0] * X[:, 1]

    return sd.explain(model, X, 0, method=sd.ALE(bins=2))


@pytest.mark.slow
@runs
@pytest.mark.parametrize(
    "shape",
    sorted(SHAPES),
)
def test_p_values_of_heterogeneity_are_uniform_at_the_threshold(shape, runs, measured):
    rng = np.random.default_rng(6)
    p = [
        interaction(rng, 4000, 3.0, SHAPES[shape]).heterogeneity_test(above=1.0).p_value
        for _ in range(runs)
    ]
    uniform(measured, p, 4000, "6", most=0.075)


@pytest.mark.slow
@pytest.mark.parametrize("runs", [50, long_case(400)])
def test_the_lower_bound_of_heterogeneity_covers(runs, measured):
    rng = np.random.default_rng(7)
    for n in (500, 4000):
        lower = [
            interaction(rng, n, 2.1, SHAPES["waves"]).heterogeneity_test().lower
            for _ in range(runs)
        ]
        share = np.mean(np.array(lower) <= 0.7)
        measured(f"held, {n} rows", share, draws=runs, rows=n, seed="7", low=0.92, high=0.98)


@pytest.mark.slow
@pytest.mark.parametrize("runs", [40, long_case(200)])
@pytest.mark.parametrize(
    "method",
    [sd.ALE(), sd.DALE(bins=sd.Quantile(10)), sd.RHALE(), sd.PDP()],
)
def test_clean_data_raise_no_more_than_five_percent_false_alarms(method, runs, measured):
    alarms = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(500, 3))
        q, X = sloped(2 + X[:, 1], X[:, 0], X[:, 2])
        found = sd.explain(q, X, 0, method=method).checks(X=X)
        # With 500 normal rows few pairs carry the score of a product, in 98 % of the data sets, and the product depends
        # on its other factor: these checks are expected.
        alarms += any(f.code not in ("few_pairs", "depends_on") for f in found)
    # A rate of 5 % gives at most 18 of 200 with a probability of 99 %.
    seeds = f"0 to {runs - 1}"
    measured("alarms", alarms / runs, draws=runs, rows=500, seed=seeds, high=18 / 200)
