"""Several models on the same axes."""

from __future__ import annotations

import re

import numpy as np
import pytest

import skedasis as sd
from skedasis.plots import draw_matplotlib, draw_svg
from skedasis.plots.figures.models import models_figure, models_importance_figure
from skedasis.plots.figures.multiples import models_effects_figure
from skedasis.plots.marks import (
    Area,
    CurveSet,
    FigureSpec,
    Line,
    Points,
    Rectangles,
    Segments,
    legend_of,
    marks_of,
)
from tests.helpers import bent, frame, linear, of_frame, refused, table

X = table(90, 3)
MODELS = [linear, bent, lambda X: 2 * linear(X)]
FOLDS = np.arange(90) % 3


def drawn(figure: FigureSpec) -> FigureSpec:
    """Draw a figure by both renderers, and return it."""
    draw_svg.draw(figure, ident="m")
    draw_matplotlib.draw(figure).draw_without_rendering()
    return figure


def legend(figure: FigureSpec) -> list[str]:
    return [key.label for key in legend_of(figure.panels, figure.order)]


def numbers(text: str) -> list[float]:
    return [
        float(v.replace("−", "-").replace(",", "")) for v in re.findall(r"−?\d[\d,]*\.?\d*", text)
    ]


def test_the_panel_holds_mean_band_and_each_model() -> None:
    em = sd.explain(MODELS, X, 0, method="ale", cv=FOLDS)
    panel = models_figure(em, 0.9).main
    (line,), (band,), (curves,) = (marks_of(panel, kind) for kind in (Line, Area, CurveSet))
    np.testing.assert_array_equal(line.y, em.value)
    np.testing.assert_array_equal(band.upper, em.interval(0.9)[1])
    np.testing.assert_array_equal(curves.y, em.values)
    assert curves.rows is not None
    assert (curves.each, curves.rows.tolist()) == ("model", [1, 2, 3])
    assert "new training sets" in band.label
    assert panel.notes[:2] == ("3 models", "30 rows each")
    (bound,) = marks_of(models_figure(em, 0.9, "bound").main, Area)
    np.testing.assert_array_equal(bound.upper, em.interval(0.9, "bound")[1])
    refits = models_figure(sd.explain(MODELS, X, 0, method="ale", refits=True))
    assert any("(refits)" in label for label in legend(refits))


def test_models_are_drawn_over_the_band_and_below_the_mean() -> None:
    figure = drawn(models_figure(sd.explain(MODELS, X, 0, method="ale", cv=FOLDS)))
    kinds = [type(m) for m in figure.main.marks]
    assert kinds.index(Area) < kinds.index(CurveSet) < kinds.index(Line)
    assert legend(figure)[0] == "mean"
    assert "each model" in legend(figure)


def test_points_tell_the_mean_the_variation_and_the_interval() -> None:
    em = sd.explain(MODELS, X, 0, method="ale", refits=True)
    lower, upper = em.interval(0.9)
    tips = [t.text.split("\n") for t in models_figure(em, 0.9).main.tooltips]
    assert len(tips) == len(em.x)
    found = np.array([numbers(" ".join(lines[1:])) for lines in tips])
    expected = np.c_[em.value, em.between, np.full(len(em.x), 90.0), lower, upper]
    np.testing.assert_allclose(found, expected, rtol=6e-3, atol=1e-9)


def test_the_alternative_text_has_the_range_of_the_mean() -> None:
    em = sd.explain(MODELS, X, 0, method="ale", refits=True)
    figure = models_figure(em)
    assert figure.title == "x0: effect on prediction, 3 models (ALE)"
    assert figure.alt.startswith(f"{figure.title}. The mean of the models ranges from ")
    low, high = numbers(figure.alt.split("ranges from")[1].split(". ")[0])
    assert [low, high] == pytest.approx([em.value.min(), em.value.max()], rel=6e-3)


@pytest.mark.parametrize("method", ["rhale", "pdp"])
def test_every_kind_of_feature(method: str) -> None:
    T = frame(120)
    es = sd.explain([of_frame, lambda T: 2 * of_frame(T)], T, method=method, cv=np.arange(120) % 2)
    figure = drawn(models_effects_figure(es))
    assert len(figure.stacks) == 4
    for em in es.values():
        drawn(models_figure(em))


def test_many_share_their_scale_and_legend() -> None:
    es = sd.explain(MODELS, X, method="ale", refits=True)
    figure = drawn(models_effects_figure(es, top=2))
    ranks = es.ranking()
    assert [str(s[0].title) for s in figure.stacks] == [
        f"{i + 1}. {ranks[i].feature}" for i in range(2)
    ]
    assert len({s[0].y for s in figure.stacks}) == 1
    assert "2 of 3 features, all with top=None" in figure.notes
    assert f"rank 1 in {ranks[0].first} of 3 models" in figure.main.notes
    said = figure.main.notes[0].removeprefix("importance ").split(" ± ")
    wanted = (ranks[0].importance, ranks[0].between)
    assert [float(v) for v in said] == pytest.approx(wanted, rel=6e-3)
    assert {"mean", "each model"} <= set(legend(figure))
    one = models_effects_figure(es, top=2, columns=1, by="heterogeneity_score")
    assert one.columns == 1
    with refused(sd.DataError, "plot(top)"):
        models_effects_figure(es, top=0)
    with refused(sd.DataError, "ranking(by)"):
        models_effects_figure(es, by="score")  # pyright: ignore[reportArgumentType]


def test_importances_show_each_model() -> None:
    losses = [sd.loss(m, "squared_error") for m in MODELS]
    pf = sd.explain(losses, X, y=linear(X), method=sd.PFI(n_repeats=3), cv=FOLDS)
    figure = drawn(models_importance_figure(pf, top=2))
    order = np.argsort(-pf.mean)[:2]
    (bars,) = marks_of(figure.main, Rectangles, "bar")
    np.testing.assert_allclose(np.fmax(bars.left, bars.right), np.fmax(pf.mean[order], 0))
    (dots,) = marks_of(figure.main, Points, "repeat")
    np.testing.assert_allclose(np.sort(dots.x), np.sort(pf.values[:, order].ravel()))
    assert "1 of 3 features not shown" in figure.main.notes
    assert legend(figure)[0] == "mean"
    assert "each model" in legend(figure)
    tips = [t.text.split("\n") for t in figure.main.tooltips]
    assert [t[0] for t in tips] == [pf.features[i] for i in order]
    assert numbers(tips[0][1]) == pytest.approx([pf.mean[order[0]]], rel=6e-3)
    each = pf.values[:, order[0]]
    assert numbers(tips[0][-1]) == pytest.approx([each.min(), each.max()], rel=6e-3)


def test_surfaces_say_that_they_are_means() -> None:
    sm = sd.explain(MODELS, X, (0, 1), method=sd.ALE(bins=4), cv=FOLDS)
    mean = sm.mean()
    np.testing.assert_array_equal(mean.value, sm.value)
    assert "mean of 3 models" in mean.about.quantity


def test_points_and_constants() -> None:
    one = np.c_[np.ones(90), X[:, 1]]
    models = [lambda X, k=k: k + X[:, 1] for k in (1.0, 2.0)]
    for method in ("ale", "rhale", "pdp", "mplot"):
        em = sd.explain(models, one, 0, method=method, cv=np.arange(90) % 2)
        assert len(em.x) == 1
        panel = drawn(models_figure(em)).main
        (dashes,) = marks_of(panel, Segments, "model-dash")
        np.testing.assert_array_equal(np.sort(dashes.y0), np.sort(em.values[:, 0]))
        assert not list(marks_of(panel, Line))


def test_ends_that_few_models_cover() -> None:
    narrow = np.where(FOLDS[:, None] == 0, 0.2 * X, X)
    em = sd.explain(MODELS, narrow, 0, method=sd.ALE(bins=5), cv=FOLDS)
    panel = drawn(models_figure(em)).main
    assert ("the ends of the axis are covered by 2 models only" in panel.notes) == bool(
        (em.reached < 3).any()
    )
