"""Pages draw curves at the height of predictions, and around zero if they are asked to, or do not know the mean."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import skedasis as sd
from skedasis._numbers import number
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.marks import Line, Points, marks_of
from skedasis.report.content import AROUND_ZERO, gather
from skedasis.report.figures import folded_figures, main_figures
from skedasis.report.given_rows import row_marks, with_rows
from skedasis.report.report import write
from tests.report.test_report import Page

X = np.random.default_rng(3).uniform(-1, 1, (300, 3))
QUICK = {"pairs": 0, "uncertainty": False, "progress": False}


def f(X: np.ndarray) -> np.ndarray:
    return 40 + X[:, 0] * np.where(X[:, 1] > 0, 3.0, -1.0) + 4 * (X[:, 1] > 0) + X[:, 2] ** 2


@pytest.fixture(scope="module")
def content():
    return gather(f, X, rows=[7, 11], **QUICK)


def test_the_mean_prediction_of_all_rows_and_of_regions(content):
    (section,) = content.drawn_at("prediction").sections
    assert section.scale == "prediction"
    for effects in (section.rhale, section.ale, section.pdp):
        for e in effects.values():
            assert e.about.quantity_mean == pytest.approx(f(X).mean(), rel=1e-12)
    regions = section.regions["x0"]
    for k, e in enumerate(regions):
        assert e.about.quantity_mean == pytest.approx(
            f(X)[regions.assign(X) == k].mean(), rel=1e-12
        )


def test_rows_without_a_value_count_where_missing_is_a_level():
    rng = np.random.default_rng(0)
    a, town = np.where(rng.random(300) < 0.3, np.nan, X[:, 0]), rng.choice(["u", "v", None], 300)
    rows = pd.DataFrame({"a": a, "town": town, "b": X[:, 1]})

    def g(T: pd.DataFrame) -> np.ndarray:
        return np.asarray(T["a"].fillna(5.0) + 3.0 * T["town"].isna() + T["b"])

    (section,) = gather(g, rows, **QUICK).sections
    known = ~np.isnan(a)
    wanted = {"a": g(rows)[known].mean(), "town": g(rows).mean(), "b": g(rows).mean()}
    found = {name: e.about.quantity_mean for name, e in section.rhale.items()}
    assert found == pytest.approx(wanted, rel=1e-12)
    # Without a page the quantity is known at the rows of the scores alone: here all of them.
    alone = sd.explain(g, rows)
    assert {name: e.about.quantity_mean for name, e in alone.items()} == pytest.approx(
        wanted, rel=1e-12
    )


@pytest.mark.parametrize("feature", ["x0", "x2"])
def test_rows_are_on_the_curves_that_are_drawn(content, feature):
    (section,) = content.drawn_at("prediction").sections
    whole = effect_figure(section.rhale[feature], EffectPlotOptions(scale="prediction")).main
    main = with_rows(whole, section, feature, "curve")
    line = next(m for m in marks_of(main, Line) if m.style == "average")
    points = [m for m in marks_of(main, Points) if m.style.startswith("given")]
    assert len(points) == 2
    for point in points:
        # The parabolas of x2 are polygons.
        assert point.y[0] == pytest.approx(np.interp(point.x[0], line.x, line.y), abs=2e-3)
    curve = next(m for m in row_marks(section, feature, "ice") if isinstance(m, Line))
    before = next(m for m in row_marks(content.sections[0], feature, "ice") if isinstance(m, Line))
    assert np.ptp(curve.y - before.y) < 1e-9
    assert curve.y.mean() > 30


def test_rows_are_on_the_curves_of_their_regions(content):
    (section,) = content.drawn_at("prediction").sections
    regions = section.regions["x0"]
    for k, e in enumerate(regions):
        for point in row_marks(section, "x0", "curve", region=k):
            wanted = e(point.x)[0] + f(X)[regions.assign(X) == k].mean()
            assert point.y[0] == pytest.approx(wanted, rel=1e-9)
    assert sum(len(row_marks(section, "x0", "curve", region=k)) for k in (0, 1)) == 2


def test_a_page_draws_predictions_or_differences(content, tmp_path):
    said = f"average over all rows: {number(f(X).mean())}"
    pages = {
        scale: Page(write(content, tmp_path / f"{scale}.html", scale=scale).path)
        for scale in ("prediction", "difference")
    }
    assert said in pages["prediction"].words
    assert said not in pages["difference"].words
    assert "the effect is how each curve rises or falls" in pages["prediction"].words
    assert "Each curve is around the average of its own rows" in pages["difference"].words
    assert "The line at 0 stands for the average" in pages["difference"].words
    assert AROUND_ZERO not in pages["prediction"].words


def test_it_says_so_where_the_mean_is_not_known():
    model = HistGradientBoostingRegressor(max_iter=5, random_state=0).fit(X, f(X))
    unknown = gather(model, X, heterogeneity_rows=0, regions=False, tree="force", **QUICK)
    drawn = unknown.drawn_at("prediction")
    assert drawn.remarks == (*unknown.remarks, AROUND_ZERO)
    assert drawn.sections[0].scale == "difference"
    assert main_figures(drawn.sections[0], "x0", "i")
    assert folded_figures(drawn.sections[0], "x0", "i")
    assert dataclasses.replace(drawn, remarks=unknown.remarks).sections == unknown.sections


def test_only_these_two():
    with pytest.raises(sd.DataError, match=r"report\(scale\): got 'log'"):
        sd.report(f, X, scale="log")
