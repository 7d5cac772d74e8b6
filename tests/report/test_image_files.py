"""Image files are self-contained: a legend explains everything that is drawn."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import skedasis as sd
from skedasis.report import figures as report_figures
from skedasis.report.content import gather
from skedasis.report.figures import rhale_png

DOTTED = "ALE, aligned to the same mean"


def words_in(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_the_ale_that_is_drawn_over_rhale_is_in_a_legend(monkeypatch):
    X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    section = gather({"m": lambda X: X[:, 0] ** 2 + X[:, 1]}, X, progress=False).sections[0]
    seen = []
    drawn = report_figures._to_png
    monkeypatch.setattr(report_figures, "_to_png", lambda f, name: seen.append(f) or drawn(f, name))
    rhale_png(section, "x0")
    (axes, *_) = seen[0].axes
    assert DOTTED in words_in(seen[0])
    ale = sd.explain(lambda X: X[:, 0] ** 2 + X[:, 1], X, 0, method=sd.ALE())
    assert any(np.array_equal(line.get_xdata(), ale.x) for line in axes.lines)


@pytest.mark.slow
def test_an_ale_that_is_the_same_curve_is_not_drawn_over_it(monkeypatch):
    X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    y = X[:, 0] ** 2 + X[:, 0] * X[:, 1]
    model = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    section = gather({"m": model}, X, progress=False).sections[0]
    seen = []
    drawn = report_figures._to_png
    monkeypatch.setattr(report_figures, "_to_png", lambda f, name: seen.append(f) or drawn(f, name))
    rhale_png(section, "x0")
    assert words_in(seen[0])
    assert DOTTED not in words_in(seen[0])
