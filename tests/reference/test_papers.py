"""The papers' examples with the papers' settings, over many seeds, against the true values.

The numbers in the assertions were found twice: from the theory given next to them, and with the
plain reference of `rhale_reference`. Where a paper's claim does not hold, the test asserts what
does.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import skedasis as sd
from skedasis.datasets import SYNTHETIC
from skedasis.datasets.simulations import Correlated
from skedasis.datasets.synthetic import RunningExample
from tests.reference import rhale_reference as reference
from tests.reference.paper_examples import (
    SEEDS,
    SETTINGS,
    effect,
    effects,
    from_the_left,
    runs,
    share,
    truth_from_the_left,
)

# ------------------------------------------------------------------------ exact optimum

ALL = [
    pytest.param(name, j, id=f"{name}-x{j + 1}")
    for name in SETTINGS
    for j in range(len(SYNTHETIC[name].features))
]


@pytest.mark.many
@pytest.mark.parametrize("seeds", [3, pytest.param(80, marks=pytest.mark.long)])
@pytest.mark.parametrize(("name", "feature"), ALL)
def test_cost_bins_and_statistics_are_the_references(name, feature, seeds):
    max_bins, alpha, min_points, _ = SETTINGS[name]
    for X, e in runs(name, feature, seeds=seeds):
        x, d = X[:, feature], SYNTHETIC[name].slope(X)[:, feature]
        best = reference.optimal(x, d, max_bins, alpha, min_points)
        found = reference.describe(x, d, e.x, alpha)
        tie = reference.tie(x, d)
        # The library adds one tie per bin; the rounding of the costs themselves is smaller.
        assert abs(found.cost - best.cost) <= max_bins * tie
        assert len(e.bins.count) == len(best.count)
        scale = np.max(np.abs(d)) + 1e-300
        np.testing.assert_array_equal(e.bins.count, found.count)
        np.testing.assert_allclose(e.bins.effect, found.effect, atol=1e-13 * scale)
        np.testing.assert_allclose(e.bins.std, found.std, rtol=1e-11, atol=1e-13 * scale)
        span = np.ptp(x) * scale
        np.testing.assert_allclose(from_the_left(e), found.value, atol=1e-12 * span)
        np.testing.assert_allclose(e.accumulated_std, found.heterogeneity, atol=1e-12 * span)


def test_the_tables_optimum_is_the_best_of_all_partitions():
    # The reference itself, against all partitions of eight cells.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, d = rng.uniform(size=40), rng.normal(size=40)
        for alpha, least in ((0.0, 2), (0.3, 4), (0.9, 7)):
            points = reference.grid(x, 8)
            costs = reference.all_costs(x, d, points, alpha, least)
            totals = []
            for mask in range(2**7):
                inner = [k + 1 for k in range(7) if mask >> k & 1]
                edges = [0, *inner, 8]
                totals.append(sum(costs[a, b] for a, b in pairwise(edges)))
            assert reference.optimal(x, d, 8, alpha, least).cost == pytest.approx(min(totals))


# ------------------------------------------------------------------------- RHALE Eq. 1


@pytest.mark.slow
def test_introduction_x2_is_one_bin_of_opposite_slopes():
    found = effects("rhale_introduction", 1)
    single = [e for e in found if len(e.bins.count) == 1]
    assert len(single) >= 0.95 * SEEDS
    mean = np.array([e.bins.effect[0] for e in single])
    std = np.array([e.bins.std[0] for e in single])
    # The slopes are -5 or 5: the mean of 100 has standard deviation 0.5, so 2 is four standard deviations.
    assert np.all(np.abs(mean) < 2)
    np.testing.assert_allclose(std, np.sqrt((25 - mean**2) * 100 / 99))
    # So the deviation is below 4.85 where |mean| > 1.31: in 1 % of seeds, on average.
    assert share(np.abs(std - 5) < 0.15) >= 0.97
    assert np.mean(std) == pytest.approx(5, abs=0.02)
    assert np.mean(mean) == pytest.approx(0, abs=4 * 0.5 / SEEDS**0.5)


def test_introduction_x3_is_exactly_nothing():
    for _, e in runs("rhale_introduction", 2, seeds=20):
        assert len(e.bins.count) == 1
        assert np.all(e.value == 0)
        assert np.all(e.accumulated_std == 0)
        assert np.all(e.std_error == 0)
        assert e.bins.effect[0] == 0
        assert e.bins.std[0] == 0


def test_introduction_x1_is_a_line():
    for _, e in runs("rhale_introduction", 0, seeds=20):
        assert len(e.bins.count) == 1
        np.testing.assert_allclose(from_the_left(e), 0.2 * (e.x - e.x[0]), atol=1e-14)
        np.testing.assert_allclose(e.accumulated_std, 0, atol=1e-14)


# ----------------------------------------------------------------- the running example


def halves(found):
    """Return per effect the numbers of bins with midpoints in the sinusoidal and in the constant half."""
    middles = [(e.bins.left + e.bins.right) / 2 for e in found]
    return np.array([[np.sum(m < 0), np.sum(m > 0)] for m in middles]).T


@pytest.mark.slow
def test_running_example_is_fine_in_the_sinusoid_and_coarse_beside_it():
    sinusoid, constant = halves(effects("running_example", 0))
    assert share(constant <= 2) >= 0.85
    assert share(sinusoid >= 5) >= 0.85
    assert share((sinusoid >= 5) & (constant <= 2)) >= 0.85


@pytest.mark.slow
def test_running_example_with_the_authors_fifty_and_ten_rows():
    # The paper draws 60 rows at random; the published experiment has exactly 50 left of 0 and 10
    # right of it, including both ends and 0. Ten rows cannot form three bins of five.
    found = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        left, right = rng.uniform(-0.5, 0, 48), rng.uniform(0, 0.5, 8)
        x1 = np.concatenate([[-0.5], left, [-1e-5, 0.0], right, [0.5]])
        X = np.column_stack([x1, 2 * rng.standard_normal(60), x1 + 0.01 * rng.standard_normal(60)])
        found.append(effect(RunningExample(), X, 0, *SETTINGS["running_example"][:3]))
    sinusoid, constant = halves(found)
    assert np.all(constant <= 2)
    assert share(sinusoid >= 5) >= 0.9


@pytest.mark.slow
def test_running_example_is_unbiased_in_the_sinusoid():
    example = RunningExample()
    points = np.linspace(-0.4, -0.05, 8)
    curves = np.array([e(points) - e([-0.4]) for e in effects("running_example", 0)])
    truth = example.true_effect("x1", points) - example.true_effect("x1", [-0.4])
    # Bins are about 0.08 wide. A chord of a curve with second derivative up to 4 pi^2 misses it by two
    # thirds of 4 pi^2 * 0.08^2 / 8 = 0.02, on average.
    allowed = 4 * curves.std(axis=0) / SEEDS**0.5 + 0.02
    assert np.all(np.abs(curves.mean(axis=0) - truth) < allowed)


def test_running_example_is_flat_beside_the_sinusoid_where_an_edge_divides_them():
    # A bin across 0 is dominated by the rows left of it, which are five times as dense, and distorts
    # the curve right of it: the mean over a bin's rows equals the mean over its width only where rows
    # are uniform (RHALE A.1).
    found = [e for e in effects("running_example", 0) if np.min(np.abs(e.x)) <= np.ptp(e.x) / 50]
    assert len(found) > SEEDS / 2
    rise = np.array([e([0.2])[0] - e([0.05])[0] for e in found])
    assert abs(rise.mean()) < 4 * rise.std() / len(found) ** 0.5
    # There the slopes are x2, whose standard deviation is 2.
    right = [
        (s, n)
        for e in found
        for s, n, left in zip(e.bins.std, e.bins.count, e.bins.left, strict=True)
        if left > 0.03
    ]
    std, count = np.array(right).T
    # The optimum prefers bins whose rows agree by chance, so their deviation is slightly lower.
    assert 1.7 < np.sqrt(np.average(std**2, weights=count - 1)) < 2.1


# ------------------------------------------------- section 4.1 of both papers, ground truths

UALE_CASE = ("correlated_c", 0)
"""The case of UALE that is not long."""
USUAL_CASES = (("correlated_b", 0), ("correlated_c", 1))
"""The cases of RHALE that are not slow: with unequal features, and with noise."""
CASES = [
    pytest.param(
        name,
        j,
        id=f"{name}-x{j + 1}",
        marks=() if (name, j) in USUAL_CASES else pytest.mark.slow,
    )
    for name in ("correlated_a", "correlated_b", "correlated_c")
    for j in (0, 1)
]
# UALE has the same bins as RHALE, and accumulates another heterogeneity.
WITH_METHODS = [
    pytest.param(
        name,
        j,
        method,
        id=f"{name}-x{j + 1}-{method.__name__}",
        marks=()
        if method is sd.RHALE and (name, j) in USUAL_CASES
        else pytest.mark.slow
        if method is sd.RHALE or (name, j) == UALE_CASE
        else pytest.mark.long,
    )
    for name, j in (case.values for case in CASES)
    for method in (sd.RHALE, sd.UALE)
]


def slope_changes(example, feature):
    """Return the changes of the mean slope at the two breaks: from w to -w, and to 0."""
    own = (example.a1, example.a2)[feature]
    return np.array([2 * own, own])


def rounding(example, feature):
    """Return an upper bound of the change of the effect by the noise, which rounds its corners."""
    own, other = (example.a1, example.a2)[:: 1 if feature == 0 else -1]
    return 0.8 * example.noise * own * other / (example.a1 + example.a2)


def sampling_error(example, feature, e, cell):
    """Return the standard error of the effect from the true variances, not from those of chosen bins.

    A bin that contains a break mixes two slopes; it overlaps the break by at most half a cell. Its
    mean depends on how many rows happen to lie on either side. The rest is heterogeneity.
    """
    n = e.bins.count.sum()
    widths = e.bins.right - e.bins.left
    middles = (e.bins.left + e.bins.right) / 2
    scatter = np.sum(widths**2 * example.true_std(feature, middles) ** 2 / e.bins.count)
    mixing = np.sum(slope_changes(example, feature) ** 2) * cell / (2 * n) if feature < 2 else 0.0
    return np.sqrt(scatter + mixing)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "feature", "method"), WITH_METHODS)
def test_an_edge_lies_within_a_cell_of_each_break(name, feature, method):
    max_bins = SETTINGS[name][0]
    for e in effects(name, feature, method):
        cell = (e.x[-1] - e.x[0]) / max_bins
        for at in SYNTHETIC[name].breaks:
            assert np.min(np.abs(e.x - at)) <= cell


@pytest.mark.parametrize(
    ("name", "feature", "method"),
    [
        *WITH_METHODS,
        pytest.param(
            "correlated_c", 2, sd.RHALE, id="correlated_c-x3-RHALE", marks=pytest.mark.slow
        ),
        pytest.param("correlated_c", 2, sd.UALE, id="correlated_c-x3-UALE", marks=pytest.mark.long),
    ],
)
def test_true_effects_are_found(name, feature, method):
    example, max_bins = SYNTHETIC[name], SETTINGS[name][0]
    corner = rounding(example, feature) if feature < 2 else 0.0
    errors = []
    for e in effects(name, feature, method):
        cell = (e.x[-1] - e.x[0]) / max_bins
        error = from_the_left(e) - truth_from_the_left(example, feature, e)
        assert np.max(np.abs(error)) < corner + 4.5 * sampling_error(example, feature, e, cell)
        errors.append(error[-1])
    # The right end is past all corners: there the mean over the seeds is unbiased.
    assert abs(np.mean(errors)) < 4 * np.std(errors) / SEEDS**0.5 + 1e-12


@pytest.mark.parametrize(
    ("name", "feature", "x", "true", "papers"),
    [
        pytest.param(name, j, *rest, marks=() if (name, j) in USUAL_CASES else pytest.mark.slow)
        for name, j, *rest in (
            ("correlated_a", 0, 0.375, 1 / 2 - 0.375, 1 / 4 - 0.375),
            ("correlated_a", 1, 0.375, 1 / 2 - 0.375, 1 / 4 - 0.375),
            ("correlated_b", 0, 0.3, 0.8 - 2 * 0.3, 0.4 - 2 * 0.3),
            ("correlated_b", 1, 0.3, 0.2 - 0.3 / 2, 0.4 - 2 * 0.3),
            ("correlated_b", 1, 0.1, 0.1 / 2, 2 * 0.1),
            ("correlated_c", 0, 0.375, 1 / 2 - 0.375, 1 / 4 - 0.375),
            ("correlated_c", 1, 0.375, 1 / 2 - 0.375, 1 / 4 - 0.375),
        )
    ],
)
def test_where_the_papers_err(name, feature, x, true, papers):
    # The effect at 0 is 0. The range of x2 begins slightly below 0, so the reference point is 0.03.
    start = 0.03
    slope = SYNTHETIC[name].true_effect(feature, [start])[0]
    found = np.mean([e(np.array([x]))[0] - e(np.array([start]))[0] for e in effects(name, feature)])
    assert found + slope == pytest.approx(true, abs=0.02)
    assert abs(found + slope - papers) > 0.1


@pytest.mark.parametrize(("name", "feature"), CASES)
def test_between_the_breaks_heterogeneity_is_the_true_one(name, feature):
    # With given bins: the optimum prefers bins whose rows agree by chance, which in case c lowers the
    # deviation of bins without a break by 4 %.
    example = SYNTHETIC[name]
    own, other = (example.a1, example.a2)[:: 1 if feature == 0 else -1]
    # Six standard deviations of the breaks' positions, which the noise shifts.
    gap = 6 * example.noise * other / (own + other)
    first, second = example.breaks
    inner = [first - gap, first + gap, second - gap, second + gap]
    variances = []
    for e in effects(name, feature):
        clear = e.rebin(sd.Edges([e.x[0], *inner, e.x[-1]])).bins
        variances.append(clear.std[::2] ** 2)
        np.testing.assert_allclose(clear.effect[4], 0, atol=0.5 if example.alpha else 1e-12)
    true = example.true_std(feature, [0.0])[0]
    assert np.sqrt(np.mean(variances)) == pytest.approx(true, rel=0.02, abs=1e-12)


@pytest.mark.slow
def test_heterogeneity_of_x3_is_the_deviation_of_a_uniform():
    found = effects("correlated_c", 2)
    pooled = [np.average(e.bins.std**2, weights=e.bins.count - 1) for e in found]
    # 0.289; the papers' 1/4 is 13 % off.
    assert np.mean(pooled) ** 0.5 == pytest.approx(12**-0.5, rel=0.01)


@pytest.mark.parametrize(("a1", "a2", "alpha"), [(1, 1, 0), (2, 0.5, 0), (1, 1, 1)])
def test_slopes_do_not_tell_the_papers_forms_apart(a1, a2, alpha):
    rhale, uale = (Correlated(a1, a2, alpha, form=form) for form in ("rhale", "uale"))
    X = rhale.sample(500, 1)
    for feature in range(3):
        one, other = (effect(form, X, feature, 20, 0.2, 10) for form in (rhale, uale))
        np.testing.assert_array_equal(one.x, other.x)
        np.testing.assert_array_equal(one.value, other.value)
        np.testing.assert_array_equal(one.accumulated_std, other.accumulated_std)


@pytest.mark.slow
def test_uale_accumulates_deviations():
    for e in effects("correlated_c", 0, sd.UALE):
        widths = e.bins.right - e.bins.left
        total = np.concatenate([[0], np.cumsum(widths * e.bins.std)])  # UALE Eq. 9
        np.testing.assert_allclose(e.accumulated_std, total, rtol=1e-12)
    # With alpha = 1 the slopes of x1 have standard deviation 1/2 everywhere: the sum is 1/2 at the
    # right end, plus a little for the two bins that mix slopes. Eq. 16 has no such limit.
    ends = np.mean([e.accumulated_std[-1] for e in effects("correlated_c", 0, sd.UALE)])
    assert ends == pytest.approx(0.5, abs=0.03)
