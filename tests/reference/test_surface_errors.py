"""Errors of surfaces against closed forms, finite differences and the infinitesimal jackknife; and their coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.results.axis import BinPairAxis, LevelPairAxis, LevelStats, PairAxis
from skedasis.results.build.pairs import second_order
from skedasis.results.intervals.surfaces import SurfaceDerivatives, SurfaceErrors
from skedasis.stats.grid import Cells

ORDERS = {"c": list("uvw"), "d": list("pqr")}


# ------------------------------------------------------------------------------- closed forms


def scattered(n: tuple[tuple[int, int], tuple[int, int]], size: float = 1.0) -> np.ndarray:
    """Return rows in a 2 x 2 square: n per cell, of which half have x2 = size and half -size."""
    rows = []
    for i in range(2):
        for j in range(2):
            sign = np.tile([-size, size], n[i][j] // 2)
            rows.append(
                np.column_stack([np.full(len(sign), i + 0.5), np.full(len(sign), j + 0.5), sign])
            )
    return np.vstack(rows)


def product(X: np.ndarray) -> np.ndarray:
    return X[:, 0] * X[:, 1] * X[:, 2]


def test_two_by_two_cells_of_a_square():
    """d = +-3: its mean is zero in each cell, so the cells' fractions of rows do not matter.

    With equal counts the surface is (t(u) - b) d (t(v) - b) with t = (0, 0), (1, 0), (1, 1) at the nodes and the
    averages of a main effect over a strip, b = (3/4, 1/4). So the weight of a cell is the product of two of these
    numbers.
    """
    n = 20
    X = scattered(((n, n), (n, n)), 3.0)
    s = sd.explain(product, X, (0, 1), method=sd.ALE(bins=sd.Edges([0, 1, 2])), progress=False)
    error = 9 * n / (n - 1) / n  # squared error of a cell's mean
    off = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]) - np.array([0.75, 0.25])
    squares = (off**2).sum(axis=1)
    np.testing.assert_allclose(s.std_error**2, np.outer(squares, squares) * error, rtol=1e-12)
    fourth = (off**4).sum(axis=1)
    df = np.outer(squares**2, squares**2) * (n - 1) / np.outer(fourth, fourth)
    np.testing.assert_allclose(s.df, df, rtol=1e-9)


def test_shares_of_a_product():
    """q = x0 x1: every double difference is 1, so only the cells' fractions of rows are uncertain.

    With equal counts the surface is (u - 1)(v - 1) at the nodes u, v = 0, 1, 2. Its derivative by the fractions follows
    from the paper's sums, written out for a product.
    """
    n = 10
    X = scattered(((n, n), (n, n)))
    s = sd.explain(
        lambda X: X[:, 0] * X[:, 1],
        X,
        (0, 1),
        method=sd.ALE(bins=sd.Edges([0, 1, 2])),
        progress=False,
    )
    np.testing.assert_allclose(s.value, np.outer([-1, 0, 1], [-1, 0, 1]), atol=1e-12)
    cells = [(i, j) for i in range(2) for j in range(2)]
    want = sum(n * (_by_shares(i, j) / (4 * n)) ** 2 for i, j in cells)
    np.testing.assert_allclose(s.std_error, np.sqrt(want), rtol=1e-8)
    assert s.std_error.max() > 0.1


def _by_shares(i: int, j: int, h: float = 1e-5) -> np.ndarray:
    """Return the derivative of a product's surface by the weight of a cell, from the paper's sums."""

    def surface(p: np.ndarray) -> np.ndarray:
        at = np.array([0.5, 1.5])
        first = np.append(0.0, np.cumsum(p @ at / p.sum(axis=1)))
        second = np.append(0.0, np.cumsum(at @ p / p.sum(axis=0)))
        raw = np.outer([0, 1, 2], [0, 1, 2]) - first[:, None] - second
        seen = (raw[:-1, :-1] + raw[1:, :-1] + raw[:-1, 1:] + raw[1:, 1:]) / 4
        return raw - (p * seen).sum() / p.sum()

    step = np.zeros((2, 2))
    step[i, j] = h
    p = np.full((2, 2), 0.25)
    return (surface(p + step) - surface(p - step)) / (2 * h)


# -------------------------------------------------------------------------------- derivatives


def side(kind: str, size: int, rng: np.random.Generator) -> PairAxis:
    if kind == "number":
        edges = np.append(0.0, np.cumsum(rng.uniform(0.5, 2, size)))
        return BinPairAxis(Cells(edges, "left"))
    one, names = np.ones(size + 1), tuple("abcdefg"[: size + 1])
    return LevelPairAxis(LevelStats(names, names, one.astype(int), one))


@pytest.mark.parametrize("kinds", ["number number", "level number", "number level", "level level"])
@pytest.mark.parametrize("hole", [False, True])
def test_derivatives_are_those_of_the_surface(kinds, hole):
    """Against central differences; also where a whole strip has no rows."""
    rng = np.random.default_rng(2)
    first, second = kinds.split()
    sides = side(first, 3, rng), side(second, 4, rng)
    delta = rng.normal(size=(3, 4))
    weight = rng.uniform(1, 5, size=(sides[0].n_homes, sides[1].n_homes))
    if hole:
        weight[1 : (3 if first == "level" else 2)] = 0.0
    slopes, h = SurfaceDerivatives(sides, delta, weight), 1e-6
    by_cells = slopes.by_cells(slice(None))
    by_homes = slopes.homes_at(slice(None)).reshape(*by_cells.shape[:2], *weight.shape)
    for i, j in np.ndindex(*delta.shape):
        step = np.zeros(delta.shape)
        step[i, j] = h
        up, down = (second_order(delta + k * step, weight, sides) for k in (1, -1))
        np.testing.assert_allclose(by_cells[:, :, i, j], (up - down) / (2 * h), atol=1e-8)
    for i, j in np.argwhere(weight > 0):
        step = np.zeros(weight.shape)
        step[i, j] = h
        up, down = (second_order(delta, weight + k * step, sides) for k in (1, -1))
        np.testing.assert_allclose(by_homes[:, :, i, j], (up - down) / (2 * h), atol=1e-8)


def frame(n: int, seed: int) -> pd.DataFrame:
    """Return data with unequal cell counts and dependent features."""
    rng = np.random.default_rng(seed)
    a = rng.uniform(-1, 1, n)
    return pd.DataFrame(
        {
            "a": a,
            "b": rng.uniform(-1, 1, n) + 0.3 * a,
            "c": rng.choice(list("uvw"), n, p=[0.5, 0.3, 0.2]),
            "d": np.where(rng.uniform(size=n) < 0.5, rng.choice(list("pqr"), n), "p"),
            "e": rng.normal(size=n),
        }
    )


def joint(X: pd.DataFrame) -> np.ndarray:
    """Return a quantity in which all pairs interact, with heterogeneity."""
    c = X["c"].map({"u": 0.0, "v": 1.0, "w": 3.0}).to_numpy(float)
    d = X["d"].map({"p": 0.0, "q": 2.0, "r": 1.0}).to_numpy(float)
    a, b, e = (X[k].to_numpy(float) for k in "abe")
    return (1 + e) * (np.sin(2 * a) * b + (a + b) * c + b * d + c * d + np.exp(a) * d) + 2 * e


EDGES = {"a": sd.Edges([-1, -0.4, 0.3, 1]), "b": sd.Edges([-1.3, -0.3, 0.3, 1.3])}
KINDS: dict[str, tuple[tuple[str, str], Any]] = {
    "numbers": (("a", "b"), sd.ALE(bins=EDGES)),
    "level, number": (("c", "b"), sd.ALE(bins=EDGES, order=ORDERS)),
    "levels": (("c", "d"), sd.ALE(order=ORDERS)),
    "slopes": (("a", "b"), sd.DALE(bins=EDGES)),
    "pdp": (("a", "c"), sd.PDP(grid={"a": [-0.5, 0.2, 0.8]}, ice="all")),
}


def explained(kind: str, X: pd.DataFrame, **options: Any) -> Any:
    pair, method = KINDS[kind]
    return sd.explain(joint, X, pair, method=method, progress=False, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_squares_of_every_rows_influence(kind):
    """The infinitesimal jackknife: for each row the surface is recomputed with slightly more and less weight.

    With a weight of 1,000 per row, n / (n - 1) is nearly 1.
    """
    X = frame(300, 0)
    s = explained(kind, X, sample_weight=np.full(300, 1000.0))
    counts, h = np.full((300, 300), 1000.0), 1.0
    up, down = (s.resampled(counts + k * h * np.eye(300)) for k in (1, -1))
    influence = (up - down) / (2 * h)
    want = np.sqrt((1000 * influence**2).sum(axis=0))
    np.testing.assert_allclose(s.std_error, want, rtol=1e-4)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "pdp"])
def test_draws_for_bands_go_together_as_influences_do(kind):
    """Their covariance is that of the infinitesimal jackknife, not only their variance."""
    from skedasis.results.intervals.surfaces import deviations

    X = frame(300, 0)
    s = explained(kind, X, sample_weight=np.full(300, 1000.0))
    counts = np.full((300, 300), 1000.0)
    influence = (s.resampled(counts + np.eye(300)) - s.resampled(counts - np.eye(300))) / 2
    flat = influence.reshape(300, -1)
    want = 1000 * flat.T @ flat
    drawn = deviations(SurfaceErrors.of(s), 20_000, np.random.default_rng(5)).reshape(20_000, -1)
    error = np.sqrt(np.diag(want))
    got = drawn.T @ drawn / len(drawn)
    np.testing.assert_allclose(
        got / np.outer(error, error), want / np.outer(error, error), atol=0.05
    )


# ----------------------------------------------------------------------------------- coverage


def drawn(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return a sample; the population's surface on given cells is the surface of a very large sample."""
    return frame(n, int(rng.integers(2**31)))


RUNS, ROWS = 1000, 700


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_coverage(kind, measured):
    """Pointwise and simultaneous 95 % intervals contain the population's surface in 93 to 97 % of 1,000 data sets."""
    want = explained(kind, frame(1_000_000, 12345), keep_rows=0)
    rng = np.random.default_rng(77)
    each, together, cells = np.zeros(want.value.shape), 0, []
    for _ in range(RUNS):
        s = explained(kind, drawn(ROWS, rng))
        lower, upper = s.interval(0.95)
        each += (lower <= want.value) & (want.value <= upper)
        lower, upper = s.interval(0.95, simultaneous=True)
        together += bool(((lower <= want.value) & (want.value <= upper)).all())
        if want.cells is not None:
            assert s.cells.count.min() >= 30
            lower, upper = s.interval(0.95, of="cells")
            cells.append(((lower <= want.cells.effect) & (want.cells.effect <= upper)).mean())
    each /= RUNS
    about = {"draws": RUNS, "rows": ROWS, "seed": "77"}
    measured("each", each.mean(), **about, low=0.93, high=0.97)
    measured("each, least", each.min(), **about, low=0.92)
    measured("all at once", together / RUNS, **about, low=0.93, high=0.97)
    if cells:
        measured("cells", np.mean(cells), **about, low=0.93, high=0.97)
