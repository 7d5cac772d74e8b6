"""Curves at the height of predictions: the same figures as around zero, moved by the mean of the quantity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis._numbers import number
from skedasis.plots.figures.compare import compare_figure
from skedasis.plots.figures.summary import (
    effect_summary_figure,
    models_summary_figure,
    regions_summary_figure,
)
from skedasis.plots.kinds import drawn_kind
from skedasis.plots.marks import FigureSpec, Line, Mark, Panel, Points, Segments, marks_of
from tests.plots.spec_helpers import only, tips

RNG = np.random.default_rng(4)
N = 400
X = RNG.uniform(-1, 1, size=(N, 3))
FRAME = pd.DataFrame(
    {
        "a": np.where(RNG.uniform(size=N) < 0.1, np.nan, X[:, 0]),
        "town": RNG.choice(["A", "B", "C"], N, p=[0.6, 0.3, 0.1]),
        "g": (X[:, 2] > 0.2).astype(int),
    }
)


def f(X: np.ndarray) -> np.ndarray:
    return 50 + 4 * X[:, 0] * np.where(X[:, 2] > 0.2, 3.0, -1.0) + X[:, 1] ** 2 + 5 * (X[:, 2] > 0)


def q(frame: pd.DataFrame) -> np.ndarray:
    a, town = frame["a"].fillna(2.0), frame["town"].map({"A": 10.0, "B": 20.0, "C": 25.0})
    return np.asarray(town * (1 + 0.1 * frame["g"]) + a * (1 + 2 * frame["g"]))


MODELS = [lambda X, k=k: f(X) + 7 * k for k in (0.0, 1.0)]
MADE: dict[str, Callable[[], object]] = {
    "ALE": lambda: sd.explain(f, X, 0, method=sd.ALE(bins=6)),
    "ALE from the left end": lambda: sd.explain(f, X, 0, method=sd.ALE(bins=6, center="start")),
    "ALE with curves": lambda: sd.explain(f, X, 0, method=sd.ALE(bins=6), curves=30),
    "RHALE with parabolas": lambda: sd.explain(f, X, 1, method=sd.RHALE()),
    "PDP": lambda: sd.explain(f, X, 0, method="pdp"),
    "centred PDP": lambda: sd.explain(f, X, 0, method=sd.PDP(center="mean")),
    "M-plot": lambda: sd.explain(f, X, 0, method=sd.MPlot()),
    "centred M-plot": lambda: sd.explain(f, X, 0, method=sd.MPlot(center="mean")),
    "missing values": lambda: sd.explain(q, FRAME, "a", method=sd.ALE(bins=5)),
    "levels": lambda: sd.explain(q, FRAME, "town", method="ale"),
    "levels, PDP": lambda: sd.explain(q, FRAME, "town", method="pdp"),
    "levels, M-plot": lambda: sd.explain(q, FRAME, "town", method=sd.MPlot()),
    "effects": lambda: sd.explain(f, X, method=sd.ALE(bins=6)),
    "models": lambda: sd.explain(MODELS, X, 0, method=sd.ALE(bins=6), refits=True),
    "models, levels": lambda: sd.explain(
        [q, lambda X: q(X) + 7], FRAME, "town", method="ale", refits=True
    ),
    "many effects of models": lambda: sd.explain(MODELS, X, method=sd.ALE(bins=6), refits=True),
}
MOVED = {"y", "y0", "y1", "lower", "upper"}
"""Fields of marks that are heights."""


def figure(result: object, **options: object) -> FigureSpec:
    return drawn_kind(result).figure(result, **options)


def is_zero(mark: Mark) -> bool:
    return getattr(mark, "style", "") == "zero"


def mean_of_quantity(panel: Panel) -> float:
    """Return the height of the line of the mean."""
    (line,) = marks_of(panel, Segments, "zero")
    said, _, height = line.label.rpartition(": ")
    assert height == number(float(line.y0[0]))
    own = "average of the curve"  # of a PDP
    assert said in (
        own,
        f"average over {'rows with a value' if panel.x.missing_label else 'all rows'}",
    )
    return float(line.y0[0])


def without_zero(panel: Panel) -> list[Mark]:
    return [mark for mark in panel.marks if not is_zero(mark)]


def height(panel: Panel) -> float:
    """Return the height of the first point of the first curve."""
    styles = ("average", "vertex", "hue0", "hue0-vertex", "mean", "dot")
    return next(float(m.y[0]) for m in panel.marks if getattr(m, "style", "") in styles)


def assert_moved(after: Panel, before: Panel, by: float) -> None:
    """Check that a panel is another one, mark by mark, with a number added to all heights but that of zero."""
    for new, old in zip(without_zero(after), without_zero(before), strict=True):
        assert type(new) is type(old)
        for field in fields(new):
            value, was = getattr(new, field.name), getattr(old, field.name)
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                wanted = was + by if field.name in MOVED else was
                np.testing.assert_allclose(value, wanted, atol=1e-9)
            elif field.name == "label":
                assert value == was.replace("average effect", "average")
            elif not isinstance(value, tuple):
                assert np.all(value == was)
    assert after.y.least == pytest.approx(before.y.least + by)
    assert after.y.most == pytest.approx(before.y.most + by)
    assert len(after.tooltips) == len(before.tooltips)


class TestLevel:
    """The mean of the quantity over the rows is known without more model rows."""

    def test_it_is_the_mean_prediction(self):
        e = sd.explain(f, X, 0, method=sd.ALE(bins=6))
        assert e.about.quantity_mean == pytest.approx(f(X).mean(), rel=1e-12)

    def test_it_is_weighted(self):
        weight = RNG.integers(1, 4, N).astype(float)
        e = sd.explain(f, X, 0, method=sd.ALE(bins=6), sample_weight=weight)
        assert e.about.quantity_mean == pytest.approx(np.average(f(X), weights=weight), rel=1e-12)

    def test_of_regions_it_is_that_of_their_rows(self):
        r = sd.regions(f, X, 0, method=sd.ALE(bins=6))
        assert len(r) > 1
        for k, e in enumerate(r):
            inside = r.assign(X) == k
            assert e.about.quantity_mean == pytest.approx(f(X)[inside].mean(), rel=1e-12)
        mean = r.shares @ [e.about.quantity_mean for e in r]
        assert mean == pytest.approx(r.whole.about.quantity_mean, rel=1e-12)

    def test_it_is_that_of_the_rows_of_the_score(self):
        e = sd.explain(f, X, 0, method=sd.ALE(bins=6), heterogeneity_rows=100)
        error = f(X).std() / np.sqrt(100)
        assert 0 < abs(e.about.quantity_mean - f(X).mean()) < 4 * error

    def test_it_is_saved(self, tmp_path):
        e = sd.explain(f, X, 0, method=sd.ALE(bins=6))
        e.save(tmp_path / "e.npz")
        assert (
            sd.load(tmp_path / "e.npz").about.quantity_mean
            == e.about.quantity_mean
            == e.to_dict()["quantity_mean"]
        )


class TestFigures:
    @pytest.mark.parametrize("name", MADE)
    def test_they_are_those_around_zero_plus_a_number(self, name):
        result = MADE[name]()
        before, after = figure(result), figure(result, scale="prediction")
        for new, old in zip(after.panels, before.panels, strict=True):
            by = height(new) - height(old) if new.kind == "main" else 0.0
            assert_moved(new, old, by)
            if [*marks_of(old, Segments, "zero")] and new.kind == "main" and "left" not in name:
                assert mean_of_quantity(new) == pytest.approx(by, rel=1e-9)

    @pytest.mark.parametrize("name", [n for n in MADE if n not in ("PDP", "levels, PDP")])
    def test_the_line_is_the_mean_prediction(self, name):
        wanted = (q(FRAME) if "levels" in name else f(X)).mean() + 3.5 * ("models" in name)
        if name == "missing values":
            wanted = q(FRAME)[FRAME["a"].notna()].mean()
        for panel in figure(MADE[name](), scale="prediction").panels:
            if panel.kind == "main":
                assert mean_of_quantity(panel) == pytest.approx(wanted, rel=1e-12)
                assert not panel.y.name.startswith("effect on")

    def test_the_line_says_what_it_is_the_mean_of(self):
        def said(e: sd.Effect) -> str:
            return next(marks_of(figure(e, scale="prediction").panels[0], Segments, "zero")).label

        # The prediction averages to 1/3 + 1/4; where x1 is independent of x0, as in the rows of a PDP, to 1/4.
        near = np.column_stack([X[:, 0], X[:, 0]]) + 0.5
        pdp = sd.explain(lambda X: X[:, 0] * X[:, 1], near, 0, method="pdp")
        wanted = np.mean([(v * near[:, 1]).mean() for v in near[:, 0]])
        assert said(pdp).startswith("average of the curve: ")
        assert float(said(pdp).split(": ")[1]) == pytest.approx(wanted, abs=0.01)
        assert wanted < 0.4 < (near[:, 0] * near[:, 1]).mean()
        some = sd.explain(f, X, 0, method=sd.ALE(bins=6), heterogeneity_rows=100)
        assert said(some) == f"average: {number(some.about.quantity_mean)}"
        m = sd.explain(f, X, 0, method=sd.MPlot(), heterogeneity_rows=100)
        assert said(m) == f"average over all rows: {number(f(X).mean())}"
        regions = sd.regions(q, FRAME, "a", method=sd.ALE(bins=5))
        wanted = q(FRAME)[FRAME["a"].notna()].mean()
        assert said(regions) == f"average over rows with a value: {number(wanted)}"
        ale = sd.explain(f, X, 0, method=sd.ALE(bins=6))
        panel = compare_figure(ale, m, scale="prediction").main
        assert next(marks_of(panel, Segments, "zero")).label == said(ale)

    @pytest.mark.parametrize("name", ["ALE", "ALE from the left end", "ALE with curves"])
    def test_the_mean_of_the_curve_over_the_rows_is_the_mean_prediction(self, name):
        line = only(figure(MADE[name](), scale="prediction").main, Line, "average")
        mean = np.interp(X[:, 0], line.x, line.y).mean()
        assert mean == pytest.approx(f(X).mean(), abs=0.05)

    @pytest.mark.parametrize("name", ["levels", "levels, M-plot"])
    def test_levels_average_to_the_mean_prediction(self, name):
        main = figure(MADE[name](), scale="prediction").main
        points = only(main, Points, "vertex")
        share = FRAME["town"].value_counts(normalize=True)
        mean = sum(y * share[t] for y, t in zip(points.y, main.x.labels, strict=True))
        assert mean == pytest.approx(q(FRAME).mean(), rel=1e-9)

    def test_a_pdp_is_that_of_the_model(self):
        e = sd.explain(f, X, 0, method=sd.PDP(grid=[-1.0, 0.0, 1.0]))
        line = only(figure(e, scale="prediction").main, Line, "average")
        wanted = [f(np.column_stack([np.full(N, v), X[:, 1:]])).mean() for v in line.x]
        np.testing.assert_allclose(line.y, wanted, rtol=1e-12)

    def test_an_m_plot_is_the_mean_in_each_bin(self):
        e = sd.explain(f, X, 0, method=sd.MPlot(bins=sd.Edges([-1, 0, 1])))
        line = only(figure(e, scale="prediction").main, Line, "average")
        low = X[:, 0] < 0
        np.testing.assert_allclose(line.y, [f(X)[low].mean(), f(X)[~low].mean()], rtol=1e-12)

    def test_words(self):
        main = figure(MADE["ALE"](), scale="prediction").main
        assert main.y.label_text == "prediction"
        assert any("average " in line for tip in tips(main) for line in tip)
        assert not any("effect" in line for tip in tips(main) for line in tip)


class TestSeveralCurves:
    @pytest.mark.parametrize("kind", ["panels", "together"])
    def test_each_region_is_at_its_own_height(self, kind):
        r = sd.regions(f, X, 0, method=sd.ALE(bins=6))
        options = {"kind": kind, "scores": False}
        before, after = (figure(r, scale=s, **options) for s in ("difference", "prediction"))
        found: list[float] = []
        for new, old in zip(after.panels, before.panels, strict=True):
            assert mean_of_quantity(new) == pytest.approx(f(X).mean(), rel=1e-12)
            for k in range(len(r)):
                moved = [(m, o) for m, o in zip(new.marks, old.marks, strict=True)]
                found += [
                    float(m.y[0] - o.y[0])
                    for m, o in moved
                    if isinstance(m, Line) and m.style == f"hue{k}"
                ]
        wanted = [f(X)[r.assign(X) == k].mean() for k in range(len(r))]
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        assert wanted[1] - wanted[0] > 3  # which curves around zero do not show

    def test_compared_methods(self):
        both = [sd.explain(f, X, 0, method=m) for m in (sd.ALE(bins=6), sd.PDP())]
        before, after = (compare_figure(*both, scale=s) for s in ("difference", "prediction"))
        lines = [[only(spec.main, Line, f"hue{k}").y for k in (0, 1)] for spec in (before, after)]
        up = [a - b for b, a in zip(*lines, strict=True)]
        np.testing.assert_allclose(up[0], f(X).mean(), rtol=1e-12)
        pdp = both[1]
        np.testing.assert_allclose(lines[1][1], pdp.value, atol=0.05)

    def test_outputs_at_their_own_heights(self):
        def p(X: np.ndarray) -> np.ndarray:
            up = 1 / (1 + np.exp(-X[:, 0] - 2))
            return np.stack([1 - up, up], axis=1)

        found = sd.explain(sd.prediction(p, output="all"), X, 0, method=sd.ALE(bins=6))
        spec = figure(found, scale="prediction")
        lines = [only(spec.main, Line, f"hue{k}") for k in (0, 1)]
        for k, line in enumerate(lines):
            assert np.interp(X[:, 0], line.x, line.y).mean() == pytest.approx(
                p(X)[:, k].mean(), abs=0.01
            )
        assert not [m for m in spec.main.marks if is_zero(m)]

    def test_small_figures(self):
        e, many = MADE["ALE"](), sd.explain(MODELS, X, 0, method=sd.ALE(bins=6), refits=True).models
        r = sd.regions(f, X, 0, method=sd.ALE(bins=6))
        pairs = [
            [effect_summary_figure(e, scale=s) for s in ("difference", "prediction")],
            [
                models_summary_figure(many, ["a", "b"], scale=s)
                for s in ("difference", "prediction")
            ],
            [regions_summary_figure(r, scale=s) for s in ("difference", "prediction")],
        ]
        for before, after in pairs[:1]:
            assert_moved(after.main, before.main, f(X).mean())
        models = pairs[1][1].main
        assert height(models) == pytest.approx(height(pairs[1][0].main) + f(X).mean(), rel=1e-12)
        assert mean_of_quantity(pairs[2][1].main) == pytest.approx(f(X).mean(), rel=1e-12)


class TestUnknown:
    @pytest.mark.parametrize(
        ("method", "options"),
        [("ale", {"heterogeneity_rows": 0}), (sd.PDP(center="start"), {"heterogeneity_rows": 0})],
    )
    def test_without_the_mean_prediction(self, method, options):
        e = sd.explain(f, X, 0, method=method, **options)
        with pytest.raises(sd.UnsupportedError, match="heterogeneity_rows above 0"):
            e.plot(scale="prediction")

    def test_derivatives(self):
        e = sd.explain(f, X, 0, method=sd.PDP(derivative=True))
        with pytest.raises(sd.UnsupportedError, match="a derivative"):
            e.plot(scale="prediction")

    def test_only_these_two(self):
        with pytest.raises(sd.DataError, match="'difference' or 'prediction'"):
            MADE["ALE"]().plot(scale="effect")
