"""What the verdicts on the draft are based on: Eq. 4 to 6 as published, and the criteria for bins."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from experiments.draft import case_1, judged
from experiments.uale.drawing import bins_of


def test_variance_and_standard_error_are_eq_4_and_5():
    e = case_1.explained(400, 1)
    bins = bins_of(e)
    np.testing.assert_allclose(e.accumulated_std[1:] ** 2, np.cumsum((bins.widths * bins.std) ** 2))
    summed = np.cumsum(bins.widths * bins.std / np.sqrt(bins.count))
    np.testing.assert_allclose(e.std_error[1:], summed)


@pytest.mark.parametrize("n", [3, 10])
def test_coverage_of_few_rows_in_closed_form_is_that_of_simulations(n):
    d = np.random.default_rng(n).normal(size=(40_000, n))
    covered = np.mean(np.abs(d.mean(axis=1)) <= 2 * d.std(axis=1) / np.sqrt(n))
    assert covered == pytest.approx(case_1.few()[n][0], abs=4 * 0.5 / 200)
    assert case_1.few()[n][1] == pytest.approx(0.95)


@pytest.mark.slow
def test_auto_uniform_minimises_eq_6_over_what_eq_7_allows():
    for seed in range(5):
        e = judged.explained(judged.FIFTHS, seed)
        costs = [judged.eq6(e.rebin(sd.Uniform(k))) for k in range(1, judged.MOST + 1)]
        chosen = len(e.rebin(judged.SCHEMES[judged.AUTO]).bins)
        assert costs[chosen - 1] == pytest.approx(np.nanmin(costs))
        # `Judged.objective` knows which K are allowed.
        for k, cost in enumerate(costs, start=1):
            fewest = np.min(e.rebin(sd.Uniform(k)).bins.count)
            assert np.isnan(cost) == (fewest < judged.LEAST)


def test_errors_are_those_of_a_known_partition():
    e = judged.explained(judged.FIFTHS, 0).rebin(sd.Uniform(1))
    bins = bins_of(e)
    low, high = bins.left[0], bins.right[0]
    ends = np.array([low, 0.2, 0.4, 0.6, 0.8, high])
    levels = np.array([2, -2, 5, -3, 0.5])
    slope = np.sum(np.abs(bins.effect[0] - levels) * np.diff(ends)) / (high - low)
    found = judged.errors(judged.FIFTHS, e)
    assert found[0] == pytest.approx(slope, abs=0.02)
    assert found[1] == pytest.approx(abs(bins.std[0] - 1.0))


@pytest.mark.slow
def test_a_scheme_wins_only_against_every_number_of_bins():
    one = judged.judge(judged.LINE, 8)
    losing = np.zeros_like(one.chosen[judged.LIKELIHOOD])
    losing[:, 0] = 10.0 + np.arange(8)
    winning = losing.copy()
    winning[:, 0] = -1.0 - np.arange(8)
    for values, verdict in ((losing, False), (winning, True), (one.equal[:, 0], None)):
        other = judged.Judged(one.case, one.equal, {judged.LIKELIHOOD: values}, one.objective)
        # Compared with itself the margin is 0: neither wins.
        assert other.wins(judged.LIKELIHOOD) is verdict
