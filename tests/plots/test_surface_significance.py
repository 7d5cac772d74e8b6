"""Dots on surfaces where the interval of an interaction effect contains zero."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.plots.figures.surface import SurfacePlotOptions, surface_figure
from skedasis.plots.marks import Heat, Rectangles, marks_of
from tests.helpers import refused
from tests.plots.specs import labels, mark


def numbers() -> sd.Surface:
    X = np.random.default_rng(3).uniform(-1, 1, (600, 3))
    q = lambda X: np.maximum(X[:, 0], 0) * X[:, 1] * (1 + 3 * X[:, 2])  # noqa: E731
    return sd.explain(q, X, (0, 1), method=sd.ALE(bins=8), progress=False)


def levels() -> sd.Surface:
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"c": rng.choice(list("uvw"), 600), "x": rng.uniform(-1, 1, 600)})
    X["e"] = rng.normal(size=600)
    q = lambda X: X["x"] * (X["c"] == "w") * (1 + 2 * X["e"])  # noqa: E731
    return sd.explain(q, X, ("c", "x"), method=sd.ALE(bins=5), progress=False)


@pytest.mark.parametrize("make", [numbers, levels])
def test_dots_lie_where_the_interval_holds_zero(make):
    s = make()
    shown = surface_figure(s, SurfacePlotOptions(confidence_level=0.9)).main
    (heat,) = marks_of(shown, Heat)
    unclear = mark(shown, Rectangles, "unclear")
    x, y = ((edges[:-1] + edges[1:]) / 2 for edges in (heat.x, heat.y))
    covered = np.zeros(heat.value.shape, dtype=bool)
    ends = (unclear.left, unclear.right, unclear.lower, unclear.upper)
    for left, right, low, high in zip(*ends, strict=True):
        covered |= ((x > left) & (x < right)) & ((y > low) & (y < high))[:, None]
    assert 0.05 < covered.mean() < 0.95
    # At the nodes themselves: the surface's interval.
    lower, upper = s.interval(0.9)
    holds = (lower <= 0) & (upper >= 0)
    turned = make is levels
    if turned:
        rows = [list(s.sides[0].levels.labels).index(n) for n in shown.y.labels]
        nodes = [np.abs(x - v).argmin() for v in s.x[1]]
        agree = covered[:, nodes] == holds[rows]
    else:
        first, second = (
            [np.abs(at - v).argmin() for v in nodes] for at, nodes in zip((x, y), s.x, strict=True)
        )
        agree = covered[np.ix_(second, first)] == holds.T
    # Patches have a width: a node next to the border may be in the adjacent patch.
    assert agree.mean() > 0.9


def test_without_a_level_nothing_is_marked():
    assert not list(marks_of(surface_figure(numbers()).main, Rectangles, "unclear"))


def test_the_legend_says_what_dots_are():
    spec = surface_figure(numbers(), SurfacePlotOptions(confidence_level=0.95))
    assert "not clearly different from 0" in labels(spec)
    figure = numbers().plot(confidence_level=0.95)
    texts = [t.get_text() for legend in figure.legends for t in legend.get_texts()]
    assert "not clearly different from 0" in texts


def test_zero_means_nothing_with_main_effects():
    with refused(sd.UnsupportedError, "plot(confidence_level)", "interaction effect"):
        surface_figure(numbers().with_main_effects(), SurfacePlotOptions(confidence_level=0.95))
    with refused(sd.DataError, "level"):
        surface_figure(numbers(), SurfacePlotOptions(confidence_level=2))
