"""Coverage of contrasts: nominal 95 % intervals must contain the true change in 93 to 97 of 100 data sets.

The true change is that of the estimand of all intervals: E[d | bin] at fixed edges, accumulated between the two values;
for a PDP the difference of the mean curve, for an M-plot that of the means of two bins, in regions the same of the rows
of the region. The changes are between edges and between values inside bins, near and far, at the ends and in the
middle. The parabolas of RHALE have bins that are chosen on the same rows; the quantity's mean slope is linear there, so
that the change is the same for any bins.

The quick form has 80 data sets (40 for the bootstrap): a fraction of 95 % then has a standard error of 2.4 points
(3.4), and the mean over the changes of a case may lie three standard errors outside 93 to 97 %.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from tests.long.figures import long_case
from tests.reference import coverage_cases as c

Pairs = tuple[tuple[float, float], ...]

INSIDE: Pairs = ((-0.45, 0.5), (-0.9, -0.6), (-0.3, 0.62), (0.05, 0.2), (-1.0, 1.0))
INNER: Pairs = ((-0.45, 0.5), (-0.9, -0.6), (-0.3, 0.62), (0.05, 0.2), (-0.95, 0.95))
ON_GRID: Pairs = ((-0.9, 0.9), (-0.6, 0.3), (-0.45, 0.1), (0.3, 0.6))
LEVELS: Pairs = ((0, 1), (0, 3), (3, 1), (1, 2))
WHOLE: Pairs = ((0, 30), (25, 26), (12, 55), (33.5, 7))
WHOLE_EDGES = [0.0, 20.0, 40.0, 59.0]


@dataclass(frozen=True)
class Case:
    """An effect of rows with a seed, pairs of values, and the true changes between them."""

    made: Callable[[int, int], Any]
    pairs: Pairs
    truth: np.ndarray


def at_edges(curve: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Return the changes of a curve that is given at the edges, and linear between them."""
    return np.array([np.interp(b, c.EDGES, curve) - np.interp(a, c.EDGES, curve) for a, b in pairs])


def in_region(k: int) -> Callable[[int, int], Any]:
    """Return the regions v <= 1 and v > 1 of the cubic: v is independent of x and u."""

    def made(n: int, seed: int) -> Any:
        X = c.numbers(n, seed)
        masks = {"low": X[:, 2] <= 1, "high": X[:, 2] > 1}
        found = sd.explain(c.SLOPED, X, 0, method=sd.DALE(c.CUT), by=masks, **c.PLAIN)
        return found if k < 0 else found[k]

    return made


MEAN_V = (1 - 2 * np.exp(-1)) / (1 - np.exp(-1)), 2.0
"""E[v | v <= 1] and E[v | v > 1] of an exponential variable."""


def curve_of_region(k: int) -> np.ndarray:
    """Return the accumulated curve of a region at the edges."""
    a, b = c.EDGES[:-1], c.EDGES[1:]
    slope = (a * a + a * b + b * b) + 0.5 + 0.4 * (a + b) + MEAN_V[k] * (a + b)
    return np.append(0.0, np.cumsum(slope * np.diff(c.EDGES)))


def quadratic(X: np.ndarray) -> np.ndarray:
    return X[:, 0] ** 2 + X[:, 0] * X[:, 1]


SLOPED_QUADRATIC = sd.prediction(quadratic, slope=lambda X: np.c_[2 * X[:, 0] + X[:, 1], X[:, 0]])


def parabola(n: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    X = np.c_[rng.uniform(-1, 1, n), rng.exponential(size=n)]
    return sd.explain(SLOPED_QUADRATIC, X, 0, method=sd.RHALE(), **c.PLAIN)


def few_values(n: int, seed: int) -> Any:
    """Return steps between the values 0, …, 9."""
    rng = np.random.default_rng(seed)
    X = np.c_[rng.integers(0, 10, n), rng.exponential(size=n)]
    return sd.explain(lambda X: X[:, 0] ** 2 * X[:, 1], X, 0, method=sd.ALE(), **c.PLAIN)


def whole_numbers(n: int, seed: int) -> Any:
    """Return steps between the integers 0, …, 59, in three bins."""
    rng = np.random.default_rng(seed)
    # Both ends of the axis occur, so that the curve begins and ends there.
    X = np.c_[np.append([0, 59], rng.integers(0, 60, n - 2)), rng.exponential(size=n)]
    return sd.explain(
        lambda X: X[:, 0] ** 2 / 60 + X[:, 0] * X[:, 1],
        X,
        0,
        method=sd.RHALE(sd.Edges(WHOLE_EDGES)),
        **c.PLAIN,
    )


def whole_curve(x: float) -> float:
    """Return the accumulated steps, which are linear between the edges of the bins."""
    edges = np.array(WHOLE_EDGES)
    return float(np.interp(x, edges, edges**2 / 60 + edges))


def changes(function: Callable[[float], float], pairs: Pairs) -> np.ndarray:
    return np.array([function(b) - function(a) for a, b in pairs])


START = c.curve("start")
CASES = {
    "ALE": Case(c.of_numbers(sd.ALE(c.CUT)), INSIDE, at_edges(START, INSIDE)),
    "slopes": Case(c.of_numbers(sd.DALE(c.CUT), c.SLOPED), INSIDE, at_edges(START, INSIDE)),
    "parabolas": Case(parabola, INNER, changes(lambda x: x**2 + x, INNER)),
    "few values": Case(few_values, LEVELS, changes(lambda x: x**2, LEVELS)),
    "whole numbers": Case(whole_numbers, WHOLE, changes(whole_curve, WHOLE)),
    "nominal levels": Case(
        c.of_levels(sd.ALE(order=list(c.LEVELS)), "nominal"),
        LEVELS,
        changes(lambda k: c.level_curve("start")[int(k)], LEVELS),
    ),
    "PDP": Case(
        c.of_numbers(sd.PDP(grid=c.GRID, ice="all")),
        ON_GRID,
        changes(lambda x: np.interp(x, c.GRID, c.dependence(c.GRID)), ON_GRID),
    ),
    "PDP, 200 curves": Case(
        c.of_numbers(sd.PDP(grid=c.GRID, ice=200)),
        ON_GRID,
        changes(lambda x: np.interp(x, c.GRID, c.dependence(c.GRID)), ON_GRID),
    ),
    "M-plot": Case(
        c.of_numbers(sd.MPlot(c.CUT)),
        ((0, 7), (2, 4), (6, 5)),
        changes(lambda k: c.bin_means()[int(k)], ((0, 7), (2, 4), (6, 5))),
    ),
    "region": Case(in_region(1), INSIDE, at_edges(curve_of_region(1), INSIDE)),
    "difference of regions": Case(
        in_region(-1),
        INSIDE,
        at_edges(curve_of_region(1), INSIDE) - at_edges(curve_of_region(0), INSIDE),
    ),
    "frequency weights": Case(
        c.weighted(c.rows_and_counts, sd.DALE(c.CUT), "frequency"),
        INSIDE,
        at_edges(c.counted_curve("start"), INSIDE),
    ),
    "sampling weights": Case(
        c.weighted(c.thinned, sd.DALE(c.CUT), "sampling"), INSIDE, at_edges(START, INSIDE)
    ),
}


def contrast_of(found: Any, a: float, b: float, **options: Any) -> sd.Contrast:
    """Return the contrast; of an M-plot between the points of two bins, of regions their difference."""
    if isinstance(found, sd.Regions):
        return found.contrast(a, b, **options).difference()
    if found.spec.method == "MPlot":
        a, b = found.x[int(a)], found.x[int(b)]
    return found.contrast(a, b, **options)


def covered(case: Case, n: int, runs: int, **options: Any) -> np.ndarray:
    """Return the fractions of data sets whose interval contains the true change, one per pair."""
    pairs = case.pairs[:3] if options else case.pairs
    hits = np.zeros(len(pairs))
    for seed in range(runs):
        found = case.made(n, seed)
        for k, ((a, b), truth) in enumerate(zip(pairs, case.truth, strict=False)):
            contrast = contrast_of(found, a, b, **options)
            hits[k] += contrast.lower <= truth <= contrast.upper
    return hits / runs


RESAMPLED = ("ALE", "slopes", "parabolas", "few values", "nominal levels", "PDP", "region")
"""The cases of the bootstrap, which is slower: one for each kind of statistic that is resampled."""


def take(measured: Any, share: np.ndarray, n: int, runs: int, low: float = 0.93) -> None:
    about: dict[str, Any] = {"draws": runs, "rows": n, "seed": f"0 to {runs - 1}"}
    measured("mean", share.mean(), **about, low=low, high=0.97)
    if runs > 100:
        measured("least", share.min(), **about)
        measured("most", share.max(), **about)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "runs"), [(500, 80), long_case(500, 1000), long_case(2000, 1000)])
@pytest.mark.parametrize("name", CASES)
def test_analytic_intervals_cover_the_change(name, n, runs, measured):
    take(measured, covered(CASES[name], n, runs), n, runs)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "runs"), [(500, 40), long_case(500, 400), long_case(2000, 400)])
@pytest.mark.parametrize("name", RESAMPLED)
def test_bootstrap_intervals_cover_the_change(name, n, runs, measured):
    share = covered(CASES[name], n, runs, method="bootstrap", replicates=300)
    # Of 500 rows 184 are in the region, 18 in its smallest bin: percentiles of so few skewed slopes are narrow.
    take(measured, share, n, runs, 0.92 if (name, n) == ("region", 500) else 0.93)
