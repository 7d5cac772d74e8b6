"""Effects of many features on shared scales."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.plots import draw_matplotlib, draw_svg
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.effect_parts import average_of
from skedasis.plots.figures.multiples import effects_figure
from skedasis.plots.marks import FigureSpec, Line, legend_of, marks_of
from tests.helpers import frame, of_frame, refused

METHODS = [sd.ALE(bins=6), sd.PDP(), sd.MPlot(bins=5)]


def several(method):
    X = np.random.default_rng(0).normal(size=(150, 4))
    q = sd.prediction(lambda X: X[:, 0] + 3 * np.sin(X[:, 2]) + X[:, 1] * X[:, 3])
    return sd.explain(q, X, method=method)


def legend(figure: FigureSpec) -> list[str]:
    return [key.label for key in legend_of(figure.panels, figure.order)]


def drawn(figure: FigureSpec) -> None:
    ET.fromstring(str(draw_svg.draw(figure, ident="m").svg))
    drawings, _ = draw_svg.draw_tiles(figure, ident="t")
    assert len(drawings) == len(figure.stacks)
    draw_matplotlib.draw(figure).draw_without_rendering()


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_they_share_their_scales_and_are_ordered(method):
    found = several(method)
    figure = effects_figure(found, columns=4)
    order = sorted(found.values(), key=lambda e: -e.importance)
    mains = [stack[0] for stack in figure.stacks]
    assert [str(p.title) for p in mains] == [f"{i + 1}. {e.feature}" for i, e in enumerate(order)]
    assert len({p.y for p in mains}) == 1
    for stack, e in zip(figure.stacks, order, strict=True):  # slopes have scales of their own
        assert [p.y for p in stack[1:]] == [
            p.y for p in effect_figure(e).panels if p.kind == "detail"
        ]
    for panel, e in zip(mains, order, strict=True):
        curve = average_of(panel)
        moved = e.spread.weight @ e.value if method.name == "PDP" else 0.0
        np.testing.assert_allclose(curve.y, e.value - moved, atol=1e-12)
        assert panel.y.range[0] <= curve.y.min() <= curve.y.max() <= panel.y.range[1]
    assert (figure.shared, figure.small, figure.columns) == (True, True, 4)
    mplot = method.name == "MPlot"
    said = (
        f": {'mean of' if mplot else 'effect on'} prediction ({'M-plot' if mplot else method.name})"
    )
    assert figure.title == str(figure.heading) == f"4 features{said}"
    assert figure.stack_titles == tuple(f"{e.feature}{said}" for e in order)
    assert figure.alt.startswith("4 effects on shared scales, ordered by importance: ")
    drawn(figure)


def test_the_head_tells_importance_score_and_missing_values():
    X = np.random.default_rng(0).normal(size=(120, 2))
    X[3:9, 1] = np.nan
    found = sd.explain(lambda X: np.nan_to_num(X[:, 0] * (1 + X[:, 1])), X, method=sd.ALE(bins=4))
    figure = effects_figure(found)
    for stack in figure.stacks:
        e = found[stack[0].x.name]
        first, second, *more = stack[0].notes
        assert float(first.removeprefix("importance ")) == pytest.approx(e.importance, rel=6e-3)
        assert second.startswith("heterogeneity score ")
        assert more[: e.missing > 0] == ["6 rows with a missing value"][: e.missing > 0]
        assert len(more) == (e.missing > 0) + (e.depends_on is not None)
    assert "missing values" in legend(figure)
    assert not any("(n=" in label for label in legend(figure))


@pytest.mark.parametrize("method", ["rhale", "pdp"])
def test_kinds_of_features_together(method):
    found = sd.explain(of_frame, frame(150), method=method)
    figure = effects_figure(found)
    assert len({key.parts for key in legend_of(figure.panels)}) >= 3
    assert len({stack[0].y for stack in figure.stacks}) == 1
    assert not any(panel.kind == "counts" for panel in figure.panels)
    for stack in figure.stacks:
        assert all(t.below < len(stack) for t in stack[0].tooltips)
    drawn(figure)


def test_entries_that_look_the_same_are_one():
    X = pd.DataFrame(
        {
            "x": np.random.default_rng(0).normal(size=150),
            "c": pd.Categorical(["a", "b", "c"] * 50),
        }
    )
    found = sd.explain(
        lambda d: d["x"].to_numpy() * (d["c"] == "b").to_numpy(), X, method=sd.ALE(bins=4)
    )
    labels = legend(effects_figure(found))
    assert "average slope or average step" in labels
    assert "± SD between rows" in labels
    assert not {"average slope", "average step"} & set(labels)


def test_the_largest_come_first_and_the_rest_is_mentioned():
    found = several(METHODS[0])
    figure = effects_figure(found, by="heterogeneity_score", top=3)
    order = sorted(found.values(), key=lambda e: -e.heterogeneity_score)[:3]
    assert [stack[0].x.name for stack in figure.stacks] == [e.feature for e in order]
    assert figure.notes == ("3 of 4 features, all with top=None",)
    assert figure.title == "3 features: effect on prediction (ALE)"
    assert legend(figure)[0] == "average effect"
    assert effects_figure(found).notes == ()


def test_a_tile_is_the_figure_of_its_effect():
    found = several(METHODS[0])
    figure = effects_figure(found)
    for stack in figure.stacks:
        alone = effect_figure(found[stack[0].x.name]).main
        a, b = next(marks_of(stack[0], Line)), next(marks_of(alone, Line))
        np.testing.assert_array_equal(a.y, b.y)
        assert [t.text for t in stack[0].tooltips] == [t.text for t in alone.tooltips]


def test_what_is_refused():
    found = several(METHODS[1])
    with refused(sd.DataError, "'importance' or 'heterogeneity_score'"):
        effects_figure(found, by="name")  # pyright: ignore[reportArgumentType]
    with refused(sd.DataError, "no effect"):
        effects_figure({})
    for name in ("top", "columns", "page"):
        with refused(sd.DataError, f"plot({name})"):
            effects_figure(found, **{name: 0})
