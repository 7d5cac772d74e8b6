"""What the verdicts on RHALE are based on: its table of bins against all partitions, and closed forms against draws."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from experiments.rhale.running_example_pdp import true_deviation
from experiments.rhale.search import bin_costs, by_arrays, plain, total
from experiments.rhale.theorem import partitions, parts
from skedasis.datasets.synthetic import RunningExample


def test_the_table_finds_the_best_of_all_partitions():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, d = rng.uniform(size=60), rng.normal(size=60)
        costs = bin_costs(x, d, 7, 0.2, 4)
        every = [[0, *inner, 7] for count in range(7) for inner in combinations(range(1, 7), count)]
        best = min(total(costs, edges) for edges in every)
        assert total(costs, plain(costs)) == pytest.approx(best)
        assert total(costs, by_arrays(costs)) == pytest.approx(best)


def test_partitions_are_all_there_are():
    assert len({tuple(edges) for edges in partitions(6)}) == 2**5


def test_the_parts_of_a_bins_variance_are_those_of_draws():
    rng = np.random.default_rng(0)
    mu, sigma = rng.normal(size=5), rng.exponential(size=5)
    cell = rng.integers(1, 4, 400_000)
    d = mu[cell] + sigma[cell] * rng.standard_normal(len(cell))
    star, inner, residual = parts(mu, sigma, 1, 4)
    assert d.var() == pytest.approx(star, rel=0.02)
    assert star == pytest.approx(inner + residual)


def test_the_deviation_near_0_is_that_of_draws_at_one_place():
    rng = np.random.default_rng(1)
    for z in (-0.3, -0.01, 0.0, 0.005, 0.2):
        x1 = np.full(200_000, z)
        X = np.column_stack(
            [x1, 2 * rng.standard_normal(x1.size), x1 + 0.01 * rng.standard_normal(x1.size)]
        )
        found = RunningExample().slope(X)[:, 0].std()
        assert found == pytest.approx(true_deviation(np.array([z]))[0], rel=0.02)
