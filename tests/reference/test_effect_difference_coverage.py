"""Differences of effects of two tables: coverage of intervals and bands, and the level of the test, by simulation.

The quantity of the coverage is a product with a covariate whose mean differs between the tables. Its effects are exact
on any cells, so that the true difference is known: the effect per unit of the covariate, times the difference of the
means, minus its mean by the weights of the result. The level is that of two tables of one distribution and a curved
quantity, also with bins and grids that each table chooses for itself: their differences must not be taken for one of
the effects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from tests.long.figures import LONG

EDGES = sd.Edges(np.linspace(-2.0, 2.0, 9))
GRID = sd.PDP(grid=np.linspace(-2.0, 2.0, 9).tolist())
OF_LEVEL = {"u": 0.0, "v": 1.0, "w": 3.0}
SHIFT = 0.4


def rows(n: int, rng: np.random.Generator, mean: float = 0.0) -> pd.DataFrame:
    """Return rows in which the covariate z has this mean."""
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": x,
            "z": rng.normal(mean, 1.0, n),
            "noise": rng.exponential(size=n) * (1 + np.abs(x)),
            "whole": rng.integers(0, 7, n),
            "level": rng.choice([*OF_LEVEL], n, p=[0.6, 0.3, 0.1]),
        }
    )


def per_z(X: pd.DataFrame) -> Any:
    """Return the effect of each feature per unit of z, at the rows."""
    return X["x"] + 0.2 * X["whole"] ** 2 + X["level"].map(OF_LEVEL)


def product(X: pd.DataFrame) -> Any:
    return X["z"] * per_z(X) + np.sin(X["whole"])


def curved(X: pd.DataFrame) -> Any:
    return np.sin(2 * X["x"]) * (2 + X["z"]) + product(X) + 0.3 * X["noise"] * X["x"]


CASES: dict[str, tuple[str, Any]] = {
    "ALE": ("x", sd.ALE(bins=EDGES)),
    "RHALE": ("x", sd.RHALE(bins=EDGES)),
    "PDP": ("x", GRID),
    "few values": ("whole", sd.ALE()),
    "levels": ("level", sd.ALE()),
}
"""Name → feature and a method with the same points in every table."""

OWN_POINTS: dict[str, tuple[str, Any]] = {
    "ALE with its own bins": ("x", sd.ALE()),
    "PDP with its own grid": ("x", sd.PDP()),
    "M-plot with its own bins": ("x", sd.MPlot()),
}

OWN_BINS: dict[str, tuple[str, Any]] = {
    "RHALE with its own bins": ("x", sd.RHALE()),
    "M-plot": ("x", sd.MPlot(bins=EDGES)),
}


def differences(
    of: Callable[[pd.DataFrame], Any], case: tuple[str, Any], sets: int, shift: float
) -> list[sd.EffectDifference]:
    """Return the differences of many pairs of tables."""
    feature, method = case
    found: list[sd.EffectDifference] = []
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        tables = rows(400, rng, shift), rows(600, rng)
        new, old = (sd.explain(of, X, feature, method=method, heterogeneity_rows=0) for X in tables)
        found.append(new - old)
    return found


def truth(d: sd.EffectDifference, feature: str, shift: float) -> np.ndarray:
    """Return the true difference at the points, centred by the weights of the result if it is."""
    x = d.x
    curve = {
        "x": lambda: np.asarray(x, float),
        "whole": lambda: 0.2 * np.asarray(x, float) ** 2,
        "level": lambda: np.array([OF_LEVEL[v] for v in x.tolist()]),
    }[feature]()
    if d.centered:
        return shift * (curve - d.weight @ curve)
    return shift * curve + shift * _others(feature)


def _others(feature: str) -> float:
    """Return the mean of the effects per unit of z of the other features."""
    means = {"x": 0.0, "whole": 0.2 * np.mean(np.arange(7.0) ** 2), "level": 0.3 + 0.3}
    return sum(v for k, v in means.items() if k != feature)


def covered(found: list[sd.EffectDifference], feature: str) -> tuple[float, float]:
    """Return the share of points whose interval covers the truth, and that of bands that cover all points."""
    at_points: list[float] = []
    bands: list[bool] = []
    for d in found:
        want = truth(d, feature, SHIFT)
        for simultaneous in (False, True):
            lower, upper = d.interval(simultaneous=simultaneous)
            inside = (lower <= want + 1e-9) & (want - 1e-9 <= upper)
            bands += [bool(inside.all())] * simultaneous
            at_points += [] if simultaneous else [float(inside.mean())]
    return float(np.mean(at_points)), float(np.mean(bands))


@pytest.mark.parametrize("name", ["ALE", "levels"])
def test_intervals_cover_the_difference_quick(name: str):
    """Of 60 data sets; three standard errors of a band's coverage are 8 points."""
    points, bands = covered(differences(product, CASES[name], 60, SHIFT), CASES[name][0])
    assert 0.91 <= points <= 0.985
    assert bands >= 0.86


@LONG
@pytest.mark.parametrize("name", CASES)
def test_intervals_cover_the_difference(name: str):
    points, bands = covered(differences(product, CASES[name], 400, SHIFT), CASES[name][0])
    assert 0.93 <= points <= 0.97
    assert 0.925 <= bands <= 0.975


@pytest.mark.parametrize(
    "name", ["ALE", "ALE with its own bins", "RHALE with its own bins", "M-plot"]
)
def test_no_difference_is_seldom_found_quick(name: str):
    """At most 9 of 60: more have a probability of 0.1 % at a level of 5 %."""
    found = differences(curved, (CASES | OWN_POINTS | OWN_BINS)[name], 60, 0.0)
    assert sum(d.p_value < 0.05 for d in found) <= 9


@LONG
@pytest.mark.parametrize("name", [*CASES, *OWN_BINS])
def test_the_level_of_the_test(name: str):
    found = differences(curved, (CASES | OWN_BINS)[name], 400, 0.0)
    assert 0.03 <= np.mean([d.p_value < 0.05 for d in found]) <= 0.07


@LONG
@pytest.mark.parametrize("name", OWN_POINTS)
def test_bins_and_grids_of_each_table_are_no_difference(name: str):
    found = differences(curved, OWN_POINTS[name], 400, 0.0)
    assert np.mean([d.p_value < 0.05 for d in found]) <= 0.07


def test_a_difference_is_found():
    found = differences(product, CASES["ALE"], 20, 1.0)
    assert all(d.p_value < 0.001 for d in found)
