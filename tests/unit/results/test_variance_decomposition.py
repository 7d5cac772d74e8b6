"""Theorem 1 for each bin, the test whether slopes depend on x inside a bin, and the heterogeneity test."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from skedasis.errors import DataError, UnsupportedError
from skedasis.results.checks.heterogeneity_test import heterogeneity_test
from skedasis.results.checks.variance_decomposition import (
    dependence_p_value,
    split_variance,
    variance_decomposition,
)
from tests.helpers import frame, of_frame, refused


def sloped(slopes, x, *others):
    """Return a quantity with the given slope of each row by the first feature, and the rows."""
    X = np.column_stack([x, slopes, *others])

    def slope(X):
        return np.column_stack([X[:, 1], np.zeros((len(X), X.shape[1] - 1))])

    return sd.prediction(lambda X: X[:, 0] * X[:, 1], slope=slope), X


def of_slopes(slopes, x, method):
    q, X = sloped(slopes, x)
    return sd.explain(q, X, 0, method=method)


# ------------------------------------------------------------------------------ variance decomposition of one bin


def test_total_is_the_sample_variance_and_a_linear_slope_is_residual_alone():
    x = np.linspace(2, 3, 50)
    total, within = split_variance(x, 4 * x)
    assert total == pytest.approx(np.var(4 * x, ddof=1), rel=1e-12)
    assert within == pytest.approx(0, abs=1e-20)


def test_linear_slope_and_noise_split_as_theorem_1_says():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 2, 20_000)
    d = 3 * x + rng.normal(0, 0.5, len(x))
    total, within = split_variance(x, d)
    assert within == pytest.approx(0.25, rel=0.05)
    assert total - within == pytest.approx(9 * 4 / 12, rel=0.03)  # b² w² / 12


def test_at_equal_x_the_split_is_that_of_an_analysis_of_variance():
    rng = np.random.default_rng(1)
    x = np.repeat(np.arange(4.0), 25)
    d = x**2 + rng.normal(size=100)
    by_hand = np.mean([np.var(d[x == k], ddof=1) for k in range(4)])
    assert split_variance(x, d)[1] == pytest.approx(by_hand, rel=1e-12)


def test_one_jump_hardly_touches_the_variance_at_given_x():
    rng = np.random.default_rng(2)
    x = rng.uniform(size=2000)
    d = 10.0 * (x > 0.5) + rng.normal(size=2000)
    assert split_variance(x, d)[1] == pytest.approx(1, abs=0.15)
    assert split_variance(x, d)[0] == pytest.approx(26, abs=1)


def test_residual_without_dependence_is_near_zero_and_never_negative():
    rng = np.random.default_rng(3)
    shares = []
    for _ in range(50):
        total, within = split_variance(rng.uniform(size=300), rng.normal(size=300))
        assert 0 <= within <= total
        shares.append(1 - within / total)
    assert np.mean(shares) < 0.06


def test_too_few_rows_are_said():
    assert np.isnan(split_variance(np.zeros(1), np.ones(1))).all()
    total, within = split_variance(np.arange(2.0), np.array([1.0, 3.0]))
    assert total == 2
    assert np.isnan(within)


def test_equal_weights_are_no_weights_and_the_unit_does_not_matter():
    rng = np.random.default_rng(4)
    x, d = rng.uniform(size=80), rng.normal(size=80)
    plain = split_variance(x, d)
    assert split_variance(x, d, np.full(80, 3.0)) == pytest.approx(plain, rel=1e-12)
    assert split_variance(1e7 + x, d) == pytest.approx(plain, rel=1e-5)
    tiny = split_variance(1e-12 * x, 1e-12 * d)
    assert np.array(tiny) * 1e24 == pytest.approx(plain, rel=1e-9)
    assert split_variance(x, d + 1e7) == pytest.approx(plain, rel=1e-6)


# ------------------------------------------------------------------------------------------- dependence on x


@pytest.mark.parametrize(
    "shape",
    [
        lambda x: x,
        lambda x: (x - 0.5) ** 2 * 4,
        lambda x: 1.0 * (x > 0.6),
        lambda x: np.sin(40 * x),  # no trend of low degree: only differences of neighbours show it
    ],
    ids=["line", "parabola", "jump", "waves"],
)
@pytest.mark.parametrize("n", [150, 1500])
def test_dependence_of_any_shape_is_found(shape, n):
    rng = np.random.default_rng(5)
    x = rng.uniform(size=n)
    assert dependence_p_value(x, shape(x) + 0.2 * rng.normal(size=n)) < 0.01


def test_a_spread_that_changes_with_x_is_no_dependence():
    rng = np.random.default_rng(6)
    found = []
    for seed in range(100):
        x = rng.uniform(size=400)
        found.append(dependence_p_value(x, rng.normal(size=400) * (0.1 + 3 * x), seed=seed))
    assert np.mean(np.array(found) < 0.05) <= 0.11  # 12 or more of 100: probability 0.4 %
    assert np.mean(found) == pytest.approx(0.5, abs=0.12)


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(7)
    x, d, w = np.round(rng.uniform(size=60), 1), rng.normal(size=60), rng.uniform(1, 2, 60)
    turn = rng.permutation(60)
    assert dependence_p_value(x, d, w) == dependence_p_value(x[turn], d[turn], w[turn])


def test_units_and_offsets_do_not_matter():
    rng = np.random.default_rng(8)
    x, d = rng.uniform(size=60), rng.normal(size=60)
    p = dependence_p_value(x, d)
    assert dependence_p_value(1e-12 * x, d) == p
    assert dependence_p_value(x, 1e-12 * d) == p
    assert dependence_p_value(1e7 + x, 1e7 + d) == pytest.approx(p, abs=0.01)
    assert dependence_p_value(x, 1e200 * d) == p


@pytest.mark.parametrize(
    ("x", "d"),
    [
        (np.arange(4.0), np.arange(4.0)),
        (np.ones(50), np.arange(50.0)),
        (np.arange(50.0), np.ones(50)),
        (np.zeros(0), np.zeros(0)),
    ],
    ids=["four rows", "one x", "one slope", "no_rows"],
)
def test_where_there_is_nothing_to_test_there_is_no_p_value(x, d):
    assert np.isnan(dependence_p_value(x, d))


def test_two_values_of_x_are_enough():
    rng = np.random.default_rng(9)
    x = np.repeat([0.0, 1.0], 40)
    assert dependence_p_value(x, x + 0.3 * rng.normal(size=80)) < 0.01
    assert dependence_p_value(np.repeat([0.0, 1.0], 400), np.tile([0.0, 1.0], 400)) > 0.5


# ------------------------------------------------------------------------------ variance decomposition of an effect


def test_the_total_is_the_variance_that_bins_report():
    rng = np.random.default_rng(10)
    x = rng.uniform(size=500)
    e = of_slopes(np.sin(5 * x) + rng.normal(size=500), x, sd.DALE(bins=4))
    parts = e.variance_decomposition()
    np.testing.assert_allclose(np.sqrt(parts.total), e.bins.std, rtol=1e-12)
    np.testing.assert_allclose(parts.within + parts.residual, parts.total, rtol=1e-12)
    assert (parts.residual >= 0).all()
    np.testing.assert_array_equal(parts.count, e.bins.count)


def test_holm_counts_bins_as_by_hand():
    rng = np.random.default_rng(11)
    x = rng.uniform(size=600)
    parts = of_slopes(
        3 * x * (x < 0.5) + rng.normal(size=600), x, sd.DALE(bins=6)
    ).variance_decomposition()
    order = np.argsort(parts.p_value)
    expected, running = np.zeros(6), 0.0
    for k, place in enumerate(order):
        running = max(running, min(1.0, (6 - k) * parts.p_value[place]))
        expected[place] = running
    np.testing.assert_allclose(parts.adjusted(), expected)


def test_without_rows_fine_cells_tell():
    rng = np.random.default_rng(12)
    x = rng.uniform(size=40_000)
    d = np.where(x < 0.5, 4 * x, 1.0) + rng.normal(0, 0.5, len(x))
    q, X = sloped(d, x)
    e = sd.explain(q, X, 0, method=sd.DALE(bins=sd.Edges([0, 0.5, 1])), keep_rows=0)
    assert e.rows is None or len(e.rows) == 0
    parts = e.variance_decomposition()
    np.testing.assert_allclose(np.sqrt(parts.total), e.bins.std, rtol=1e-9)
    assert parts.p_value[0] < 1e-9 < 0.001 < parts.p_value[1]
    assert parts.within == pytest.approx([0.25, 0.25], rel=0.05)
    assert parts.residual[0] == pytest.approx(16 * 0.25 / 12, rel=0.05)


def test_steps_between_levels_have_a_split():
    X = frame(400)
    parts = sd.explain(of_frame, X, "c", method=sd.ALE()).variance_decomposition()
    assert len(parts) == 3
    assert (parts.total >= parts.within).all()


def test_a_constant_feature_has_no_bins_to_split():
    e = sd.explain(lambda X: X[:, 0], np.ones((30, 2)), 0, method=sd.ALE())
    assert len(e.variance_decomposition()) == 0
    assert len(e.variance_decomposition().adjusted()) == 0
    assert not e.checks()


def test_curves_have_no_bins():
    e = sd.explain(lambda X: X[:, 0], np.arange(20.0)[:, None], 0, method=sd.PDP())
    with refused(UnsupportedError, "PDP", "no bins"):
        variance_decomposition(e)


# -------------------------------------------------------------------------------------- heterogeneity test


@pytest.mark.parametrize(
    "shape",
    [
        lambda x: 0 * x + 5,
        lambda x: np.sin(9 * x),
        lambda x: 1.0 * (x > 0.3) - 3.0 * (x > 0.7),
        lambda x: np.abs(x - 0.5) * 1e7,
        lambda x: np.where(np.abs(x - 0.5) < 0.001, 9.0, x),
    ],
    ids=["constant", "waves", "jumps", "kink", "spike"],
)
@pytest.mark.parametrize("n", [60, 500])
def test_an_additive_model_is_never_called_heterogeneous(shape, n):
    X = np.random.default_rng(13).uniform(size=(n, 2))
    e = sd.explain(lambda X: shape(X[:, 0]) + np.exp(3 * X[:, 1]), X, 0, method=sd.ALE())
    found = e.heterogeneity_test()
    assert found.verdict == "none"
    assert found.p_value == 1
    assert "not above" in found.text
    assert repr(found) == f"<HeterogeneityTest: {found.text}>"


def test_a_bending_curve_is_no_heterogeneity():
    """In 20 sin(3 x) + x z / 2 the curve bends far more than rows differ; only the difference of rows is tested."""
    X = np.random.default_rng(15).normal(size=(3000, 2))
    e = sd.explain(
        lambda X: 20 * np.sin(3 * X[:, 0]) + X[:, 0] * X[:, 1] / 2, X, 0, method=sd.ALE(bins=2)
    )
    found = e.heterogeneity_test()
    assert found.verdict == "heterogeneous"
    assert found.score == e.heterogeneity_score == pytest.approx(0.5, rel=0.1)
    assert found.std_error == e.heterogeneity_score_error
    assert found.effective_pairs == e.swap_score.effective_pairs
    assert 0.4 < found.lower < found.score
    assert e.heterogeneity_test(above=0.7).p_value > 0.9
    assert e.heterogeneity_test(above=0.7).verdict == "none"
    assert e.heterogeneity_test(above=0.4).p_value < 0.01
    assert e.heterogeneity_test(above=0).p_value == 0
    just = e.heterogeneity_test(above=0.98 * found.score)
    assert just.verdict == "unclear"
    assert "not significantly above" in just.text


def test_the_test_is_one_sided_on_the_logarithm_of_the_score():
    """By hand: z = log(score / above) score / error; the lower bound is where z is 1.645."""
    from scipy.stats import norm

    X = np.random.default_rng(20).normal(size=(500, 2))
    e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ALE(bins=2))
    score, error = e.heterogeneity_score, e.heterogeneity_score_error
    for above in (0.5, 0.9, 1.1):
        z = np.log(score / above) * score / error
        assert e.heterogeneity_test(above=above).p_value == pytest.approx(norm.sf(z), rel=1e-9)
    lower = e.heterogeneity_test(confidence_level=0.95).lower
    assert np.log(score / lower) * score / error == pytest.approx(norm.ppf(0.95), rel=1e-9)
    assert e.heterogeneity_test(above=lower).p_value == pytest.approx(0.05, rel=1e-6)


@pytest.mark.parametrize(
    "method",
    [sd.ALE(), sd.RHALE(), sd.DALE(), sd.ICE(), sd.PDP(ice="all")],
    ids=lambda m: m.name,
)
def test_every_method_tells_an_interaction_from_none(method):
    X = np.random.default_rng(16).uniform(-1, 1, size=(400, 2))
    q = sd.prediction(
        lambda X: X[:, 0] * X[:, 1], slope=lambda X: np.column_stack([X[:, 1], X[:, 0]])
    )
    assert sd.explain(q, X, 0, method=method).heterogeneity_test().verdict == "heterogeneous"
    alone = sd.explain(lambda X: 2 * X[:, 0] + X[:, 1] ** 2, X, 0, method=method)
    assert alone.heterogeneity_test().verdict == "none"


def test_levels_are_tested_too():
    effects = sd.explain(of_frame, frame(400), method=sd.ALE())
    assert effects["c"].heterogeneity_test().verdict == "heterogeneous"
    assert effects["d"].heterogeneity_test().verdict == "none"


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_test_of_heterogeneity_knows_no_units(scale):
    X = np.random.default_rng(18).normal(size=(100, 2))
    plain, other = (
        sd.explain(lambda X, c=c: c * X[:, 0] * X[:, 1], X, 0, method="pdp").heterogeneity_test()
        for c in (1.0, scale)
    )
    assert other.p_value == pytest.approx(plain.p_value, rel=1e-6)
    assert other.lower == pytest.approx(scale * plain.lower, rel=1e-6)


@pytest.mark.parametrize("level", [1, True])
def test_levels_outside_are_refused(level):
    e = of_slopes(np.arange(20.0), np.arange(20.0), sd.DALE(bins=1))
    with refused(DataError, "level"):
        heterogeneity_test(e, level)


@pytest.mark.parametrize("above", [-1, "much"])
def test_thresholds_that_are_none_are_refused(above):
    e = of_slopes(np.arange(20.0), np.arange(20.0), sd.DALE(bins=1))
    with refused(DataError, "above"):
        e.heterogeneity_test(above=above)


@pytest.mark.parametrize(
    ("method", "rows", "fix"),
    [
        (sd.PDP(heterogeneity=False), 100, "heterogeneity_rows=0"),
        (sd.MPlot(), 100, "sd.ALE()"),
        (sd.ALE(), 0, "heterogeneity_rows=0"),
    ],
)
def test_without_a_score_there_is_nothing_to_test(method, rows, fix):
    X = np.random.default_rng(19).normal(size=(50, 2))
    e = sd.explain(lambda X: X[:, 0], X, 0, method=method, heterogeneity_rows=rows)
    with refused(UnsupportedError, "no heterogeneity score", fix):
        e.heterogeneity_test()
