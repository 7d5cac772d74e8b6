"""Data whose accumulated effects, partial dependences and importances are known in closed form, to measure coverage.

The quantity is ``x^3 + x u + x^2 v`` with x uniform on (-1, 1), ``u = 0.5 + 0.8 x + noise`` and v exponential. Its
slopes ``3 x^2 + u + 2 x v`` vary more in some bins than in others, are skewed, and are correlated with u.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import skedasis as sd

EDGES = np.array([-1.0, -0.7, -0.45, -0.2, 0.0, 0.25, 0.5, 0.75, 1.0])
SHARE = np.diff(EDGES) / 2
CUT = sd.Edges(EDGES, closed="left")
GRID = np.linspace(-0.9, 0.9, 7)
LEVELS = (0, 1, 2, 3)
LEVEL_SHARE = np.array([0.3, 0.3, 0.2, 0.2])
BASE = np.array([0.0, 1.0, -0.5, 2.0])
STEEP = np.array([1.0, -0.5, 0.8, 2.0])

Floats = np.ndarray


def numbers(n: int, seed: int) -> Floats:
    """Return rows of x, u and v."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n)
    return np.c_[x, 0.5 + 0.8 * x + rng.normal(size=n), rng.exponential(size=n)]


def cubic(X: Floats) -> Floats:
    """Return the quantity."""
    return X[:, 0] ** 3 + X[:, 0] * X[:, 1] + X[:, 0] ** 2 * X[:, 2]


def cubic_slope(X: Floats) -> Floats:
    """Return the derivatives of the quantity."""
    x, u, v = X.T
    return np.c_[3 * x**2 + u + 2 * x * v, x, x**2]


SLOPED = sd.prediction(cubic, slope=cubic_slope)


def mean_slopes() -> Floats:
    """Return E[d | bin], equal for slopes and for differences across the bin, because x is uniform within it."""
    a, b = EDGES[:-1], EDGES[1:]
    return (a * a + a * b + b * b) + 0.5 + 0.4 * (a + b) + (a + b)


def curve(center: str | None) -> Floats:
    """Return the accumulated effect at the edges, centred by the population fractions of bins."""
    value = np.append(0.0, np.cumsum(mean_slopes() * np.diff(EDGES)))
    middle = (value[:-1] + value[1:]) / 2
    return value - SHARE @ middle if center == "mean" else value


def dependence(grid: Floats) -> Floats:
    """Return the partial dependence: E u = 0.5, E v = 1."""
    return grid**3 + 0.5 * grid + grid**2


def bin_means() -> Floats:
    """Return E[q | bin] of an M-plot; u depends on x."""
    a, b = EDGES[:-1], EDGES[1:]
    third = (b**3 - a**3) / (3 * (b - a))
    fourth = (b**4 - a**4) / (4 * (b - a))
    return fourth + 0.25 * (a + b) + 0.8 * third + third


def with_levels(n: int, seed: int) -> Floats:
    """Return rows of a level and of a number that depends on it."""
    rng = np.random.default_rng(seed)
    level = rng.choice(4, n, p=LEVEL_SHARE)
    return np.c_[level, rng.gamma(2.0, 0.7, n) - 1.4 + 0.6 * level]


def stepped(X: Floats) -> Floats:
    """Return a quantity whose differences between levels depend on the number."""
    level = X[:, 0].astype(int)
    return BASE[level] + STEEP[level] * X[:, 1]


def steps() -> Floats:
    """Return E[difference | either level]: the mean of the number at level l is 0.6 l."""
    near = np.array([LEVEL_SHARE[k : k + 2] / LEVEL_SHARE[k : k + 2].sum() for k in range(3)])
    beside = near[:, 0] * 0.6 * np.arange(3) + near[:, 1] * 0.6 * np.arange(1, 4)
    return np.diff(BASE) + np.diff(STEEP) * beside


def level_curve(center: str | None) -> Floats:
    """Return the accumulated effect at the levels."""
    value = np.append(0.0, np.cumsum(steps()))
    return value - LEVEL_SHARE @ value if center == "mean" else value


# --------------------------------------------------------------------------------------- weights

PLACES = (np.arange(40) + 0.5) / 20 - 1
"""Values of x in a population with few distinct rows, where a weight is the number of equal rows."""


def rows_and_counts(n: int, seed: int) -> tuple[Floats, Floats]:
    """Return the distinct rows among n, and how often each occurs."""
    rng = np.random.default_rng(seed)
    x = rng.choice(PLACES, n)
    X = np.c_[x, 0.5 + 0.8 * x + rng.choice([-1.0, 1.0], n), rng.choice([0.5, 1.5], n)]
    rows, counts = np.unique(X, axis=0, return_counts=True)
    return rows, counts.astype(float)


def counted_curve(center: str | None) -> Floats:
    """Return the accumulated slopes of that population."""
    x, place = PLACES, np.digitize(PLACES, EDGES) - 1
    share = np.bincount(place) / len(x)
    slope = np.bincount(place, 3 * x**2 + 0.5 + 0.8 * x + 2 * x) / np.bincount(place)
    value = np.append(0.0, np.cumsum(slope * np.diff(EDGES)))
    return value - share @ (value[:-1] + value[1:]) / 2 if center == "mean" else value


def thinned(n: int, seed: int) -> tuple[Floats, Floats]:
    """Return rows drawn with higher probability for larger x, and random weights that correct for it on average."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, 3 * n + 100)
    x = x[rng.uniform(0, 1.5, len(x)) < 1 + 0.5 * x][:n]
    X = np.c_[x, 0.5 + 0.8 * x + rng.normal(size=n), rng.exponential(size=n)]
    return X, rng.gamma(4.0, 0.25, n) / (1 + 0.5 * x)


# ------------------------------------------------------------------------------------------ selected bins


def whole_curve(z: Floats) -> Floats:
    """Return the integral of E[d | x] from zero."""
    return z**3 + 0.5 * z + 1.4 * z**2


def curve_at(edges: Floats) -> Floats:
    """Return the accumulated effect at any edges, centred by the population fractions of bins."""
    value, share = whole_curve(edges), np.diff(edges) / (edges[-1] - edges[0])
    return value - share @ (value[:-1] + value[1:]) / 2


# ----------------------------------------------------------------------------------------- importances

RELATED = (0.5, -0.3)


def pairs(n: int, seed: int) -> Floats:
    """Return two pairs of normal columns, each with its own correlation."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 4))
    for k, rho in enumerate(RELATED):
        z[:, 2 * k + 1] = rho * z[:, 2 * k] + np.sqrt(1 - rho**2) * z[:, 2 * k + 1]
    return z


def products(X: Floats) -> Floats:
    """Return the sum of the pairs' products: permuting one column of a pair changes it by minus the correlation."""
    return X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3]


IMPORTANCE = -np.repeat(RELATED, 2)


# ---------------------------------------------------------------------------------------------- counting


@dataclass(frozen=True)
class Share:
    """Fraction of runs in which the truth was covered: at each point, and at all points at once."""

    points: Floats
    together: float


PLAIN: dict[str, Any] = {"progress": False, "heterogeneity_rows": 0}
"""The score has coverage tests of its own, and would cost more than the curves."""

Made = Callable[[int, int], Any]
"""Makes an effect of n rows of a seed."""


def of_numbers(method: Any, quantity: Any = cubic) -> Made:
    """Explain the first of three numbers."""
    return lambda n, seed: sd.explain(quantity, numbers(n, seed), 0, method=method, **PLAIN)


def of_levels(method: Any, kind: str) -> Made:
    """Explain the levels."""
    schema = {0: sd.Feature("c", kind, levels=LEVELS)}
    return lambda n, seed: sd.explain(
        stepped, with_levels(n, seed), 0, method=method, schema=schema, **PLAIN
    )


def weighted(sample: Any, method: Any, kind: str) -> Made:
    """Explain the first number of weighted rows."""

    def made(n: int, seed: int) -> Any:
        X, weights = sample(n, seed)
        return sd.explain(
            SLOPED, X, 0, method=method, sample_weight=weights, weight_kind=kind, **PLAIN
        )

    return made


def covered(
    made: Made, rows: int, truth: Floats | Callable[[Any], Floats], runs: int, **options: Any
) -> Share:
    """Return the coverage of nominal 95 % intervals and bands; points without uncertainty are excluded."""
    points, together = [], 0
    for seed in range(runs):
        e = made(rows, seed)
        want = truth(e) if callable(truth) else truth
        single, band = (e.interval(0.95, simultaneous=s, **options) for s in (False, True))
        known = single[1] > single[0]
        points.append(((single[0] <= want) & (want <= single[1]))[known].mean())
        together += bool(((band[0] <= want) & (want <= band[1]))[known].all())
    return Share(np.array(points), together / runs)
