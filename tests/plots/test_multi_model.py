"""Several models on the same axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skedasis as sd
from skedasis.plots.figures.compare import importance_panel, models_panel
from tests.helpers import bent, frame, linear, of_frame, refused, table

X = table(90, 3)
MODELS = [linear, bent, lambda X: 2 * linear(X)]
FOLDS = np.arange(90) % 3


def test_the_panel_holds_mean_band_and_each_model() -> None:
    em = sd.explain(MODELS, X, 0, method="ale", cv=FOLDS)
    shown = models_panel(em, 0.9)
    np.testing.assert_array_equal(shown.panel.lines[0].y, em.value)
    np.testing.assert_array_equal(shown.panel.bands[0].upper, em.interval(0.9)[1])
    np.testing.assert_array_equal(shown.each, em.values)
    assert "c = 0.5" in shown.panel.bands[0].label
    assert shown.panel.notes[:2] == ("3 models", "30 rows each")
    bound = models_panel(em, 0.9, "bound").panel.bands[0]
    np.testing.assert_array_equal(bound.upper, em.interval(0.9, "bound")[1])
    refits = models_panel(sd.explain(MODELS, X, 0, method="ale")).panel.bands[0]
    assert "refits to these rows" in refits.label


def test_models_are_drawn_over_the_band() -> None:
    em = sd.explain(MODELS, X, 0, method="ale", cv=FOLDS)
    ax = em.plot().axes[0]
    lines = [c for c in ax.collections if len(c.get_paths()) == 3]
    fill = min(c.get_zorder() for c in ax.collections)
    assert lines
    assert lines[-1].get_zorder() > fill
    texts = [t.get_text() for t in ax.figure.legends[0].get_texts()]
    assert "mean of the models" in texts
    assert "individual models" in texts


@pytest.mark.parametrize("method", ["ale", "rhale", "pdp", "mplot"])
def test_every_kind_of_feature(method: str) -> None:
    T = frame(120)
    es = sd.explain([of_frame, lambda T: 2 * of_frame(T)], T, method=method, cv=np.arange(120) % 2)
    figure = es.plot(legend=False)
    assert len(figure.axes) == 4
    figure.canvas.draw()
    for em in es.values():
        em.plot(size=(4, 3)).canvas.draw()


def test_given_axes_and_options() -> None:
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    em = sd.explain(MODELS, X, 0, method="pdp")
    assert em.plot(ax=ax) is ax.figure
    assert ax.get_legend() is not None
    es = sd.explain(MODELS, X, method="ale")
    assert len(es.plot(top=2, columns=1, by="heterogeneity_score").axes) == 2
    with refused(sd.DataError, "plot"):
        es.plot(top=0)
    with refused(sd.DataError, "ranking(by)"):
        es.plot(by="score")


def test_importances_show_each_model() -> None:
    losses = [sd.loss(m, "squared_error") for m in MODELS]
    pf = sd.explain(losses, X, y=linear(X), method=sd.PFI(n_repeats=3), cv=FOLDS)
    panel = importance_panel(pf, top=2)
    order = np.argsort(-pf.mean)[:2]
    np.testing.assert_allclose(panel.value, pf.mean[order])
    np.testing.assert_allclose(panel.repeats, pf.values.T[order])
    assert "1 of 3 features not shown" in panel.notes
    figure = pf.plot()
    figure.canvas.draw()
    texts = [t.get_text() for t in figure.legends[0].get_texts()]
    assert texts[0] == "mean of the models"
    assert "individual models" in texts


def test_surfaces_say_that_they_are_means() -> None:
    sm = sd.explain(MODELS, X, (0, 1), method=sd.ALE(bins=4), cv=FOLDS)
    mean = sm.mean()
    np.testing.assert_array_equal(mean.value, sm.value)
    figure: Any = sm.plot()
    figure.canvas.draw()
    assert "mean of 3 models" in mean.about.quantity


def test_points_and_constants() -> None:
    one = np.c_[np.ones(90), X[:, 1]]
    models = [lambda X, k=k: k + X[:, 1] for k in (1.0, 2.0)]
    for method in ("ale", "rhale", "pdp", "mplot"):
        em = sd.explain(models, one, 0, method=method, cv=np.arange(90) % 2)
        assert len(em.x) == 1
        em.plot().canvas.draw()
