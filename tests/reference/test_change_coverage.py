"""Coverage of `sd.what_if`: 95 % intervals must contain the mean change of the population in 95 of 100 data sets.

The populations have closed forms. Many data sets are simulated at a time: each is a region of one data set, so that
its interval is that of `region_intervals`, which is the interval of these rows alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import skedasis as sd

SETS = 25
"""Data sets of one call: below the largest number of regions."""


@dataclass(frozen=True)
class World:
    """A population: `draw(rng, n)` gives rows, `model(X)` the quantity, `truth` the mean change."""

    draw: Callable
    model: Callable
    moves: dict
    truth: float


def skewed(rng, n):
    return rng.exponential(size=(n, 2))


def scaled(rng, n):
    return np.column_stack([rng.exponential(size=n), rng.uniform(0, 2, n)])


def binary(rng, n):
    return np.column_stack([rng.normal(size=n), (rng.random(n) < 0.2).astype(float)])


WORLDS = {
    # E[(x + 1)² − x²] = 2 E[x] + 1 = 3: a skewed change.
    "square": World(skewed, lambda X: X[:, 0] ** 2, {0: 1}, 3.0),
    # E[0.1 x z] of an independent exponential x and a uniform z with mean 1: a percentage.
    "product": World(scaled, lambda X: X[:, 0] * X[:, 1], {0: "+10%"}, 0.1),
    # E[1 − z] of a setting: most rows change by the same, a fifth not at all.
    "setting": World(binary, lambda X: 2 * X[:, 1], {1: "1"}, 1.6),
    # E[cos(x + 0.5) − cos(x)] of a normal x: (cos 0.5 − 1) exp(−1/2).
    "wave": World(
        binary, lambda X: np.cos(X[:, 0]), {0: 0.5}, float((np.cos(0.5) - 1) * np.exp(-0.5))
    ),
}

LONG_TAILS = World(skewed, lambda X: X[:, 0] * X[:, 1], {0: "+10%"}, 0.1)
"""A change with a skewness of 5, which a mean of 500 rows does not make normal."""


def coverage(world, n, draws, method):
    """Return the fraction of data sets whose interval contains the truth."""
    inside = 0
    for run in range(draws // SETS):
        rng = np.random.default_rng([24, run])
        X = world.draw(rng, n * SETS)
        by = np.repeat(np.arange(SETS), n)
        c = sd.what_if(world.model, X, world.moves, by=by, progress=False)
        lower, upper = c.region_intervals(method=method, replicates=400)
        inside += int(((lower <= world.truth) & (world.truth <= upper)).sum())
    return inside / draws


def coverage_of_bootstrap(world, n, draws):
    """Return the fraction of data sets whose bootstrap interval contains the truth, each by itself."""
    inside = 0
    for run in range(draws):
        X = world.draw(np.random.default_rng([25, run]), n)
        c = sd.what_if(world.model, X, world.moves, progress=False)
        low, high = c.interval(method="bootstrap", replicates=400)
        inside += low <= world.truth <= high
    return inside / draws


@pytest.mark.parametrize("name", ["product", "setting", "wave"])
def test_a_few_intervals_cover(name):
    """A coarse check of every run: 200 data sets, four standard errors."""
    assert 0.89 <= coverage(WORLDS[name], 500, 200, "analytic") <= 1.0


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(WORLDS))
@pytest.mark.parametrize("n", [500, 2000])
def test_intervals_cover(name, n, measured):
    draws = 4000 if n == 500 else 2000
    found = coverage(WORLDS[name], n, draws, "analytic")
    measured("analytic", found, draws=draws, rows=n, seed="[24, run]", low=0.93, high=0.97)


@pytest.mark.long
@pytest.mark.parametrize("name", ["product", "setting"])
def test_bootstrap_intervals_cover(name, measured):
    found = coverage_of_bootstrap(WORLDS[name], 500, 1000)
    measured("bootstrap", found, draws=1000, rows=500, seed="[25, run]", low=0.93, high=0.97)


@pytest.mark.long
@pytest.mark.parametrize("n", [500, 2000])
def test_intervals_of_long_tails_cover_less(n, measured):
    found = coverage(LONG_TAILS, n, 2000, "analytic")
    measured("analytic", found, draws=2000, rows=n, seed="[24, run]", low=0.91, high=0.96)
