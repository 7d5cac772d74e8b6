"""Cases for the laws of categories and pairs: rows of numbers and codes, models of both, and all methods.

Columns: two numbers, two categories, then a number and a category that the model does not use. Models are computed
element by element, so that laws can demand exact equality.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

import skedasis as sd
from tests.laws.strategies import EXACT, near

A, B, C, D, IDLE, IDLE_CODES = range(6)
"""Columns: numbers A and B, categories C and D, and two that the model does not use."""


@dataclass(frozen=True)
class Mixed:
    """A smooth function of two numbers and two categories, with its derivatives.

    ``size * (a u + b v + p u v + w sin(u + v) + t_k + s_l + g_k u + h_l v + c_kl + d_kl u v) + lift`` where u, v are
    ``(x - shift) / unit`` and k, l are the codes; `place` holds the indices of their columns.
    """

    number: np.ndarray
    first: np.ndarray
    second: np.ndarray
    crossed: np.ndarray
    shift: float = 0.0
    unit: float = 1.0
    size: float = 1.0
    lift: float = 0.0
    place: tuple[int, ...] = (A, B, C, D)

    def _inputs(self, X):
        u, v = ((X[:, j] - self.shift) / self.unit for j in self.place[:2])
        return u, v, *(X[:, j].astype(int) for j in self.place[2:])

    def __call__(self, X):
        u, v, k, m = self._inputs(X)
        a, b, p, w = self.number
        total = a * u + b * v + p * u * v + w * np.sin(u + v)
        total += self.first[0, k] + self.second[0, m] + self.first[1, k] * u + self.second[1, m] * v
        total += self.crossed[0, k, m] + self.crossed[1, k, m] * u * v
        return self.size * total + self.lift

    def slope(self, X):
        """Return the partial derivatives, (n, d); those of categories are zero."""
        u, v, k, m = self._inputs(X)
        a, b, p, w = self.number
        both = p + self.crossed[1, k, m]
        wave = w * np.cos(u + v)
        jacobian = np.zeros(X.shape)
        jacobian[:, self.place[0]] = a + both * v + wave + self.first[1, k]
        jacobian[:, self.place[1]] = b + both * u + wave + self.second[1, m]
        return self.size / self.unit * jacobian

    def mixed(self, X, i, j):
        """Return the mixed derivative with respect to columns i and j, (n,)."""
        if {i, j} != set(self.place[:2]):
            return np.zeros(len(X))
        u, v, k, m = self._inputs(X)
        _, _, p, w = self.number
        both = p + self.crossed[1, k, m] - w * np.sin(u + v)
        return self.size / self.unit**2 * both

    def bound(self, X):
        """Return an upper bound of the quantity's absolute value on all combinations of observed values."""
        u, v = (np.abs((X[:, j] - self.shift) / self.unit).max() for j in self.place[:2])
        a, b, p, w = np.abs(self.number)
        t, s = (np.abs(table).max(axis=1) for table in (self.first, self.second))
        c, d = np.abs(self.crossed).max(axis=(1, 2))
        most = a * u + b * v + p * u * v + w + t[0] + s[0] + t[1] * u + s[1] * v + c + d * u * v
        return abs(self.size) * most + abs(self.lift)


@dataclass(frozen=True)
class MixedCase:
    """Rows, a model, and optional weights."""

    X: np.ndarray
    model: Mixed
    weights: np.ndarray | None
    rng: np.random.Generator
    levels: tuple[int, int]

    @property
    def bound(self):
        """Return the bound of the quantity, to which rounding errors are proportional."""
        return self.model.bound(self.X)

    def with_rows(self, rows):
        """Return the case with the given rows only, in the order of `rows`."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, X=self.X[rows], weights=weights)


def tables(rng, k, m, *, additive=False):
    """Return a random model of k and m levels."""
    first, second = rng.normal(size=(2, k)), rng.normal(size=(2, m))
    number, crossed = rng.normal(size=4), rng.normal(size=(2, k, m))
    if additive:
        number[2:] = 0.0
        first[1] = second[1] = 0.0
        crossed[:] = 0.0
    return Mixed(number, first, second, crossed)


@st.composite
def mixed_cases(draw, weights=("none", "whole", "fractional"), rows=(24, 70), additive=False):
    """Draw rows whose numbers depend on their categories, so that levels differ, and a model."""
    seed = draw(st.integers(0, 2**32 - 1))
    n = draw(st.integers(*rows))
    k, m = draw(st.integers(2, 5)), draw(st.integers(2, 4))
    weighing = draw(st.sampled_from(weights))
    rng = np.random.default_rng(seed)
    codes = [np.r_[np.arange(size), rng.integers(0, size, size=n - size)] for size in (k, m, 3)]
    X = np.stack(
        [
            rng.normal(size=n) + 0.7 * codes[0],
            rng.uniform(-1, 2, size=n) + 0.3 * codes[1] ** 2,
            codes[0],
            rng.permutation(codes[1]),
            np.exp(rng.normal(size=n)),
            rng.permutation(codes[2]),
        ],
        axis=1,
    )
    w = None
    if weighing == "whole":
        w = rng.integers(1, 5, size=n).astype(float)
    elif weighing == "fractional":
        w = rng.uniform(0.2, 3.0, size=n)
    return MixedCase(X, tables(rng, k, m, additive=additive), w, rng, (k, m))


# --------------------------------------------------------------------------------------- methods


@dataclass(frozen=True)
class LevelWay:
    """A method for a category: built from the observed levels, with the same shuffled order each time."""

    method: Callable
    kind: str = "nominal"
    moves: bool = True
    """Whether rows are moved; an M-plot does not move rows."""
    raw: bool = False
    """Whether values are uncentred, in the quantity's own units."""


def _some_order(levels):
    return list(np.random.default_rng(len(levels)).permutation(levels))


def _least(levels):
    return sd.Optimal(max_bins=max(len(levels) - 1, 1), min_points=2)


LEVEL_WAYS = {
    "ale-similarity": LevelWay(lambda v: sd.ALE()),
    "ale-given": LevelWay(lambda v: sd.ALE(order=_some_order(v), center="start")),
    "ale-ordinal": LevelWay(lambda v: sd.ALE(ddof=0), "ordinal"),
    "ale-sum": LevelWay(lambda v: sd.ALE(order=_some_order(v), accumulate_se="sum")),
    "rhale-ordinal": LevelWay(lambda v: sd.RHALE(bins=_least(v)), "ordinal"),
    "uale-ordinal": LevelWay(lambda v: sd.UALE(bins=sd.Greedy(min_points=2)), "ordinal"),
    "pdp": LevelWay(lambda v: sd.PDP(), raw=True),
    "pdp-mean": LevelWay(lambda v: sd.PDP(center="mean"), "ordinal"),
    "pdp-anchor": LevelWay(lambda v: sd.PDP(anchor=v[-1])),
    "ice-start": LevelWay(lambda v: sd.ICE(center="start")),
    "mplot": LevelWay(lambda v: sd.MPlot(), moves=False, raw=True),
    "mplot-mean": LevelWay(lambda v: sd.MPlot(center="mean", ddof=0), "ordinal", moves=False),
}


@dataclass(frozen=True)
class PairWay:
    """A method for a pair of columns."""

    method: Callable
    columns: tuple[int, int] = (A, B)
    local: str = "values"
    kind: str = "ordinal"

    @property
    def accumulates(self):
        return self.local != "grid"


PAIR_WAYS = {
    "ale": PairWay(lambda: sd.ALE(bins={"x0": 4, "x1": sd.Uniform(3)})),
    "ale-left-empty": PairWay(lambda: sd.ALE(bins=sd.Uniform(5), empty=None)),
    "ale-category-number": PairWay(lambda: sd.ALE(bins=4), (C, A)),
    "ale-number-category": PairWay(lambda: sd.ALE(bins=sd.Uniform(3)), (B, D)),
    "ale-categories": PairWay(sd.ALE, (C, D)),
    "ale-similarity": PairWay(lambda: sd.ALE(order="similarity"), (C, D), kind="nominal"),
    "dale-slopes": PairWay(lambda: sd.DALE(bins={"x0": 4, "x1": 3}), local="slopes"),
    "dale-mixed": PairWay(lambda: sd.DALE(bins=sd.Quantile(3)), local="mixed"),
    "dale-differences": PairWay(lambda: sd.DALE(bins=4), local="differences"),
    "pdp": PairWay(lambda: sd.PDP(grid={"x0": 4, "x1": 3}), local="grid"),
    "pdp-mean": PairWay(lambda: sd.PDP(grid=3, center="mean"), (C, B), "grid", "nominal"),
    "pdp-categories": PairWay(sd.PDP, (C, D), "grid", "nominal"),
}


def level_ways(wanted=lambda way: True):
    """Draw one of the methods for one category that satisfy `wanted`."""
    return st.sampled_from([way for way in LEVEL_WAYS.values() if wanted(way)])


def pair_ways(wanted=lambda way: True):
    """Draw one of the methods for two columns that satisfy `wanted`."""
    return st.sampled_from([way for way in PAIR_WAYS.values() if wanted(way)])


def kinds(kind, place=(A, B, C, D, IDLE, IDLE_CODES)):
    """Return the schema that declares the columns of codes as categories."""
    return {f"x{place[j]}": kind for j in (C, D, IDLE_CODES)}


def levels_of(case, column=C):
    """Return the observed levels of a column of codes."""
    return [float(v) for v in np.unique(case.X[:, column])]


def level_effect(case, way, column=C, method=None, **options):
    """Return the effect of a category."""
    options = {
        "sample_weight": case.weights,
        "progress": False,
        "schema": kinds(way.kind),
        **options,
    }
    method = method or way.method(levels_of(case, column))
    return sd.explain(case.model, case.X, column, method=method, **options)


def pair_quantity(model, way):
    """Return the quantity, with the derivatives that the method needs."""
    slope = model.slope if way.local in ("slopes", "mixed") else None
    return sd.prediction(model, slope=slope, mixed=model.mixed if way.local == "mixed" else None)


def pair_effect(case, way, columns=None, method=None, **options):
    """Return the effect of a pair of columns."""
    options = {
        "sample_weight": case.weights,
        "progress": False,
        "schema": kinds(way.kind),
        **options,
    }
    quantity = pair_quantity(case.model, way)
    return sd.explain(
        quantity, case.X, columns or way.columns, method=method or way.method(), **options
    )


# --------------------------------------------------------------------------------------- equality

SECOND = 2e-4
"""Tolerance of mixed differences, whose step may change by a bit: their rounding is eps / eps^(1/2) = 1.5e-8 of q for
steps of one standard deviation in both directions; widths and variances add some decades.
"""


def pair_tolerance(way):
    return SECOND if way.local == "differences" else EXACT


NUMBERS = ("value", "heterogeneity", "accumulated_std", "std_error")


def level_by_level(got, want, size, names=NUMBERS):
    """Assert that two effects are the same at each level, in whatever order the levels are."""
    labels = list(got.levels.labels)
    assert sorted(labels) == sorted(want.levels.labels)
    place = [labels.index(label) for label in want.levels.labels]
    for name in names:
        if getattr(want, name) is not None:
            near(getattr(got, name)[place], getattr(want, name), size, name)
    near(got.levels.weight[place], want.levels.weight, 1e-12 * want.levels.weight.sum(), "weight")


def same_levels(got, want, size, *, score=True):
    """Assert that two effects of a category are the same up to rounding, including level differences."""
    # Other pairs and blocks of rows are drawn for the score and its spread.
    drawn = not score and want.accumulated_std is not None
    level_by_level(got, want, size, [n for n in NUMBERS if not (drawn and n == "heterogeneity")])
    near(got.importance, want.importance, size, "importance")
    if score:  # without equal row_ids the score draws other pairs
        near(got.heterogeneity_score, want.heterogeneity_score, size, "score")
    assert (got.bins is None) == (want.bins is None)
    if want.bins is None or list(got.levels.labels) != list(want.levels.labels):
        return
    for name in ("effect", "std", "std_error"):
        near(getattr(got.bins, name), getattr(want.bins, name), size, f"bins.{name}")


def same_surface(got, want, size, *, x_size=0.0):
    """Assert that two surfaces are the same up to rounding."""
    for one, two in zip(got.x, want.x, strict=True):
        if two.dtype.kind == "f":
            near(one, two, x_size, "x")
        else:
            np.testing.assert_array_equal(one, two)
    near(got.value, want.value, size, "value")
    near(got.heterogeneity, want.heterogeneity, size, "heterogeneity")
    near(got.interaction_strength(), want.interaction_strength(), size, "strength")
    assert (got.cells is None) == (want.cells is None)
    if want.cells is not None:
        np.testing.assert_array_equal(got.cells.empty, want.cells.empty)
        near(got.cells.effect, want.cells.effect, size, "cells.effect")
        near(got.cells.std, want.cells.std, size, "cells.std")
        near(got.cells.weight, want.cells.weight, 1e-12 * want.cells.weight.sum(), "cells.weight")
    assert (got.main is None) == (want.main is None)
    for one, two in zip(got.main or (), want.main or (), strict=True):
        near(one, two, size, "main")


def size_of(case, way):
    """Return the size to which rounding errors of surfaces are proportional."""
    reach = np.ptp(case.X[:, [A, B]], axis=0).prod() if way.local in ("slopes", "mixed") else 1.0
    return max(reach, 1.0) * case.bound
