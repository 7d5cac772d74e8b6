"""ALE statistics by simulation: coverage of the intervals, and p-values of features without effect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skedasis as sd
from skedasis.results.ale_statistics import statistics
from tests.long.figures import long_case, take_uniform

CURVES: dict[str, tuple[Any, Any]] = {
    "wave": (lambda x: np.sin(2 * np.pi * x), lambda x: 2 * np.pi * np.cos(2 * np.pi * x)),
    "line": (lambda x: x, np.ones_like),
    "bump": (
        lambda x: np.exp(-(((x - 0.5) / 0.05) ** 2)),
        lambda x: -800 * (x - 0.5) * np.exp(-(((x - 0.5) / 0.05) ** 2)),
    ),
}


def truth(curve: Any, bins: int, y: np.ndarray) -> list[float]:
    """Return ALED, the ends of ALER and NALED of a piecewise linear curve for uniform x."""
    x = (np.arange(100_000) + 0.5) / 100_000
    edges = np.linspace(0, 1, bins + 1)
    f = np.interp(x, edges, curve(edges))
    f -= f.mean()
    above, below = np.sort(y[y > 0]), np.sort(-y[y < 0])
    passed = np.searchsorted(above, f, side="right") + np.searchsorted(below, -f, side="right")
    return [np.abs(f).mean(), f.min(), f.max(), 100 * passed.mean() / len(y)]


def covered(shape: str, size: float, rows: int, bins: int, runs: int) -> tuple[np.ndarray, float]:
    """Return the coverage of the intervals, and how often an effect is reported as noise."""
    f, slope = (lambda x, g=g: size * g(x) for g in CURVES[shape])
    y = np.linspace(-0.5, 0.5, rows)
    known = truth(f, bins, y)
    q = sd.prediction(
        lambda X: f(X[:, 0]) + X[:, 0] * X[:, 1],
        slope=lambda X: np.c_[slope(X[:, 0]) + X[:, 1], X[:, 0]],
    )
    method = sd.DALE(bins=sd.Edges(np.linspace(0, 1, bins + 1)))
    hits, noise = np.zeros(4), 0
    for run in range(runs):
        rng = np.random.default_rng([3, run])
        X = np.c_[rng.uniform(size=rows), rng.normal(size=rows)]
        e = sd.explain(q, X, 0, method=method, heterogeneity_rows=0)
        s = statistics(e, y, replicates=300, random_state=run)[0]
        ends = (s.aled_interval, *s.aler_interval, s.naled_interval)
        hits += [low <= v <= high for v, (low, high) in zip(known, ends, strict=True)]
        noise += s.is_noise
    return hits / runs, noise / runs


CASES = [
    *(("wave", size, 400, 10) for size in (0.0, 0.02, 0.05, 0.1, 0.3, 1.0)),
    *(("line", size, 400, 10) for size in (0.05, 0.1, 0.3)),
    *(("bump", size, 400, 10) for size in (0.1, 0.3)),
    *(("wave", size, 600, 30) for size in (0.0, 0.1)),
    *(("wave", size, 150, 5) for size in (0.0, 0.1, 0.5)),
]


@pytest.mark.long
@pytest.mark.parametrize(("shape", "size", "rows", "bins"), CASES)
def test_intervals_cover(shape: str, size: float, rows: int, bins: int, measured: Any) -> None:
    share, noise = covered(shape, size, rows, bins, 1000)
    about: dict[str, Any] = {"draws": 1000, "rows": rows, "seed": "[3, run]"}
    # Three standard errors of 1,000 runs are 2 percentage points.
    limits = {"low": 0.89, "high": 0.985} if size >= 0.3 and shape == "wave" else {"low": 0.89}
    for name, one in zip(("ALED", "ALER low", "ALER high", "NALED"), share, strict=True):
        measured(name, one, **about, **limits)
    measured("said to be noise", noise, **about, **({"low": 0.89} if size == 0 else {}))


def least_squares(X: np.ndarray, y: Any) -> Any:
    """Fit a plane."""
    b = np.linalg.lstsq(np.c_[X, np.ones(len(X))], np.asarray(y), rcond=None)[0]
    return lambda X: np.c_[X, np.ones(len(X))] @ b


def boosted(X: np.ndarray, y: Any) -> Any:
    """Fit eight trees of one split each."""
    order = np.argsort(X, axis=0)
    cuts, rest, trees = np.arange(5, len(X) - 5), y - y.mean(), []
    for _ in range(8):
        run = np.cumsum(rest[order], axis=0)[cuts - 1]
        gain = run**2 * (1 / cuts + 1 / (len(X) - cuts))[:, None]
        i, j = np.unravel_index(gain.argmax(), gain.shape)
        left, right = order[: cuts[i], j], order[cuts[i] :, j]
        at = (X[left[-1], j] + X[right[0], j]) / 2
        trees.append((j, at, rest[left].mean() / 2, rest[right].mean() / 2))
        rest = rest - np.where(X[:, j] <= at, trees[-1][2], trees[-1][3])
    return lambda X: sum(np.where(X[:, j] <= t, a, b) for j, t, a, b in trees)


@pytest.mark.parametrize("runs", [25, long_case(250)])
@pytest.mark.slow
@pytest.mark.parametrize("fit", [least_squares, boosted], ids=lambda f: f.__name__)
def test_p_values_are_uniform_and_have_power(fit: Any, runs: int, measured: Any) -> None:
    method, rows = sd.ALE(bins=4), 80
    given, even, weak = np.empty((runs, 3)), np.empty((runs, 3)), np.empty(runs)
    for run in range(runs):
        rng = np.random.default_rng([5, run])
        X = rng.normal(size=(rows, 3))
        y = X[:, 0] + 0.5 * X[:, 1] + 1.5 * rng.normal(size=rows)
        es = sd.explain(fit(X, y), X, method=method, heterogeneity_rows=0)
        null = sd.null_distribution(
            fit, X, y, method=method, n_repeats=39, columns=2, random_state=run
        )
        st = es.statistics(null=null, replicates=2)
        given[run] = st["x2"].p_value, *st["x2"].p_aler
        weak[run] = st["x1"].p_value
        # Features that are not used tie at zero and have p = 1. With ties broken at random, and p randomized within its
        # 40 values, p is continuous and uniform for exchangeable features.
        size = np.array([1, -1, 1]) * [st["x2"].aled, *st["x2"].aler]
        drawn = np.array([1, -1, 1]) * null.draws["x2"]
        slack = 1e-9 * np.abs(drawn).max()
        above, tied = drawn > size + slack, np.abs(drawn - size) <= slack
        even[run] = (above.sum(axis=0) + rng.uniform(size=3) * (tied.sum(axis=0) + 1)) / 40
    about: dict[str, Any] = {"draws": runs, "rows": rows, "seed": "[5, run]"}
    most = 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
    for j, name in enumerate(("ALED", "ALER low", "ALER high")):
        take_uniform(measured, even[:, j], f"{name}: distance from uniform", **about)
        measured(f"{name}: rejected at 5 %", np.mean(given[:, j] <= 0.05), **about, high=most)
    measured("power", np.mean(weak <= 0.05), **about, low=0.4)
