"""Groups of rows by the mean of a number: their rules, and means, differences and ratios by plain NumPy and SciPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from skedasis.analysis.row_groups import find_row_groups
from skedasis.data.dataset import as_dataset


def draw(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, 4))
    return X, 5.0 + 2.0 * (X[:, 2] > 0.7) + rng.normal(size=n)


def groups_of(X, values, weights=None, sampling=False, **options):
    rows = replace(as_dataset(X, sample_weight=weights), sampling_weights=sampling)
    return find_row_groups(values, rows, 0, purpose="test", **options)


def test_the_rules_are_those_of_the_truth_and_partition_the_rows():
    X, values = draw()
    found = groups_of(X, values, max_depth=1)
    assert [leaf.rule for leaf in found.leaves] == ["x2 ≤ 0.7", "x2 > 0.7"]
    np.testing.assert_array_equal(found.group, X[:, 2] > 0.7)
    assert [leaf.count for leaf in found.leaves] == np.bincount(found.group).tolist()
    assert found.share(0) + found.share(1) == 1
    assert 0.4 < found.half.mean() < 0.6


def test_means_are_those_of_the_rows_that_did_not_choose():
    X, values = draw()
    found = groups_of(X, values, max_depth=1)
    other = ~found.half
    inside = values[other & (found.group == 1)]
    mean = found.mean(values, 1)
    one = stats.ttest_1samp(inside, 0.0)
    assert mean.value == pytest.approx(inside.mean(), rel=1e-12)
    assert mean.interval() == pytest.approx(one.confidence_interval(), rel=1e-10)
    assert found.mean(values).value == pytest.approx(values[other].mean(), rel=1e-12)
    near = found.mean(values - inside.mean() + 0.1, 1)
    assert near.p_value == pytest.approx(stats.ttest_1samp(inside - inside.mean() + 0.1, 0).pvalue)
    chosen = values[found.half & (found.group == 1)].mean()
    assert found.chosen_mean(values, 1) == pytest.approx(chosen, rel=1e-12)


def test_differences_and_ratios_to_all_rows():
    """The difference to all rows is Welch's, times the share of the others; the error of the ratio is a bootstrap's."""
    X, values = draw()
    found = groups_of(X, values, max_depth=1)
    other = ~found.half
    inside, outside = (values[other & (found.group == g)] for g in (1, 0))
    rest = len(outside) / other.sum()
    welch = stats.ttest_ind(inside, outside, equal_var=False)
    low, high = welch.confidence_interval()
    difference = found.difference(values, 1)
    assert difference.value == pytest.approx(inside.mean() - values[other].mean(), rel=1e-10)
    assert difference.interval() == pytest.approx((rest * low, rest * high), rel=1e-10)
    assert difference.df == pytest.approx(welch.df, rel=1e-10)
    ratio = found.log_ratio(values, 1)
    assert ratio.value == pytest.approx(np.log(inside.mean() / values[other].mean()), rel=1e-10)
    rng = np.random.default_rng(1)
    draws = [[rng.choice(v, len(v)).mean() for _ in range(4000)] for v in (inside, outside)]
    a, b = np.array(draws)
    errors = np.log(a / ((1 - rest) * a + rest * b)).std()
    assert ratio.std_error == pytest.approx(errors, rel=0.06)


def test_one_group_is_equal_to_all_rows():
    X, values = draw()
    found = groups_of(X, np.random.default_rng(3).normal(size=len(X)) + 5)
    assert len(found) == 1
    assert found.leaves[0].rule == "all rows"
    assert found.difference(values, 0).value == found.log_ratio(values, 0).value == 0
    assert found.difference(values, 0).p_value == 1


def test_weights_are_repetitions_or_sampling_weights():
    X, values = draw(600)
    w = np.random.default_rng(2).integers(1, 4, 600).astype(float)
    found = groups_of(X, values, w, max_depth=1)
    some = ~found.half & (found.group == 1)
    repeated = np.repeat(values[some], w[some].astype(int))
    one = stats.ttest_1samp(repeated, 0.0)
    assert found.mean(values, 1).interval() == pytest.approx(one.confidence_interval(), rel=1e-10)
    # Sampling weights have no size.
    small, large = (
        groups_of(X, values, c * w, True, max_depth=1).mean(values, 1) for c in (1e-6, 1e6)
    )
    assert small.std_error == pytest.approx(large.std_error, rel=1e-12)
    m = np.average(values[some], weights=w[some])
    n = w[some].sum() ** 2 / (w[some] ** 2).sum()
    squares = (w[some] ** 2 * (values[some] - m) ** 2).sum() / w[some].sum() ** 2
    assert small.std_error == pytest.approx(np.sqrt(squares * n / (n - 1)), rel=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_a_split_of_weighted_rows_has_the_p_value_of_repeated_ones(seed):
    """With their degrees of freedom; repeated rows are in the same half."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(100, 2)), rng.integers(1, 9, 100)
    values, many = (X[:, 0] > 0) + rng.normal(size=100), np.repeat(np.arange(100), w)
    found = []
    for rows, weights in ((np.arange(100), w), (many, None)):
        data = replace(as_dataset(X[rows], sample_weight=weights), keys=rows)
        root = find_row_groups(values[rows], data, 0, purpose="test").nodes[0]
        assert root.split is not None
        found.append(stats.norm.isf(root.split.p_value))
    assert found[0] == pytest.approx(found[1], rel=0.02)


def test_ratios_of_means_that_are_not_positive_do_not_exist():
    X, values = draw()
    found = groups_of(X, values, max_depth=1)
    assert np.isnan(found.log_ratio(values - 10, 1).value)


@pytest.mark.parametrize("unit", [1e-160, 1e160])
def test_the_unit_of_the_values_does_not_matter(unit):
    X, values = draw()
    plain, scaled = (groups_of(X, v, max_depth=1).difference(v, 1) for v in (values, values * unit))
    assert scaled.std_error == pytest.approx(plain.std_error * unit, rel=1e-10)
    assert scaled.p_value == pytest.approx(plain.p_value)
