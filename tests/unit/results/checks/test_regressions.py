"""Regression tests: unusual arguments to intervals, checks and statistics that once failed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.plots.figures.models import models_figure
from skedasis.stats.resampling import ErrorBlocks, sup_band, sup_t
from tests.helpers import bent, refused, table

X = table(120)


def _effect(method: str | Any = "ale", **more: Any) -> sd.Effect:
    return sd.explain(bent, X, 0, method=method, progress=False, **more)


def _surface(method: Any = None, **more: Any) -> sd.Surface:
    return sd.explain(bent, X, (0, 1), method=method or sd.ALE(bins=3), progress=False, **more)


# ------------------------------------------------------------------------------------ bad input


def test_wrong_arguments_are_refused() -> None:
    for ask in (_surface().interval, _effect().checks, _effect().heterogeneity_test):
        with refused(sd.DataError, "level", "between 0 and 1"):
            ask(np.array([0.5, 0.9]))
    for ask in (_surface().checks, _effect().checks, _effect().variance_decomposition):
        with refused(sd.DataError, "-1"):
            ask(random_state=-1)
    with refused(sd.DataError, "beside"):
        _effect().checks(beside={})


def test_a_surface_is_not_compared_with_columns_in_another_order() -> None:
    named = pd.DataFrame(X, columns=["a", "b", "c"])
    s = sd.explain(
        lambda t: t["a"] * t["b"], named, ("a", "b"), method=sd.PDP(grid=5), progress=False
    )
    s.checks(X=named)
    with refused(sd.DataError, "checks(X)", "another table"):
        s.checks(X=named[["c", "b", "a"]])


# -------------------------------------------------------------------------------- no variance


ALONE = np.r_[1.0, np.zeros(len(X) - 1)]


def test_whether_rows_differ_is_not_known_of_one_row() -> None:
    e = _effect("pdp", sample_weight=ALONE)
    # One row has no donor row to swap values with: no pair, score 0 and verdict "none".
    assert (e.swap_score.pairs, e.heterogeneity_score) == (0, 0)
    assert e.heterogeneity_test().verdict == "none"
    assert "not above" in e.heterogeneity_test().text


@pytest.mark.parametrize("method", [sd.ALE(), sd.DALE(), sd.PDP()], ids=lambda m: m.name)
def test_the_surface_of_one_row_has_a_bootstrap(method: Any) -> None:
    s = _surface(method, sample_weight=ALONE)
    lower, upper = s.interval(method="bootstrap", replicates=5)
    assert lower.shape == upper.shape == s.value.shape


def test_what_varies_by_rounding_does_not_make_a_band_endless() -> None:
    rng = np.random.default_rng(0)
    value = np.array([1.0, 1e-17])
    draws = np.stack([1 + 0.1 * rng.normal(size=500), -1e-17 + 1e-20 * rng.normal(size=500)], 1)
    lower, upper = sup_band(value, draws, 0.95, np.full(2, np.inf))
    alone = sup_band(value[:1], draws[:, :1], 0.95, np.full(1, np.inf))
    assert upper[0] - lower[0] == pytest.approx(alone[1][0] - alone[0][0], rel=1e-12)
    assert upper[1] - lower[1] < 1e-15


def test_bands_beyond_any_normal_tail_end_somewhere() -> None:
    # One replicate in 300 is 17 standard deviations away, which does not occur in a normal distribution.
    draws = np.where(np.arange(300) % 300 == 0, 1.0, 0.0)[:, None]
    lower, upper = sup_band(np.zeros(1), draws, 0.999, np.array([np.inf]))
    assert np.isfinite([lower[0], upper[0]]).all()
    far = float(np.quantile(draws[:, 0], 0.999))
    assert upper[0] == pytest.approx(far, rel=1e-9)


# ------------------------------------------------------------------- bins with linear slopes


def test_draws_from_moments_follow_the_lines_of_bins() -> None:
    # Where cells of several rows lie on a steep line, the draws of x and of the slopes are correlated.
    rng = np.random.default_rng(8)
    x = np.c_[rng.standard_t(4, size=(1000, 1)), rng.normal(size=(1000, 1))]
    q = sd.prediction(
        lambda t: t[:, 0] ** 2 + 0.05 * t[:, 0] * t[:, 1],
        slope=lambda t: np.c_[2 * t[:, 0] + 0.05 * t[:, 1], 0.05 * t[:, 0]],
    )
    e = sd.explain(q, x, 0, method=sd.RHALE(), progress=False)
    assert e.bins is not None
    assert np.any(e.bins.slope_change)
    widths = [
        upper - lower
        for source in ("rows", "moments")
        for lower, upper in [e.interval(0.9, "bootstrap", of="bins", source=source)]
    ]
    assert widths[1] == pytest.approx(widths[0], rel=0.25)


def test_slopes_that_run_along_a_line_are_all_in_the_panel() -> None:
    from matplotlib import pyplot as plt

    x = np.random.default_rng(3).uniform(-1, 1, size=(300, 2))
    e = sd.explain(lambda t: t[:, 0] ** 2, x, 0, method="rhale", progress=False)
    assert len(e.bins) == 1
    assert e.bins.slope_change[0] == pytest.approx(2.0)
    figure = e.plot()
    low, high = figure.axes[1].get_ylim()
    plt.close(figure)
    assert low <= -1.9
    assert high >= 1.9


def test_the_scale_of_several_models_holds_their_parabolas() -> None:
    x = np.random.default_rng(3).uniform(-1, 1, size=(300, 2))
    models = [lambda t, k=k: k * t[:, 0] ** 2 for k in (1.0, 1.01, 1.02)]
    panel = models_figure(
        sd.explain(models, x, 0, method="rhale", progress=False, refits=True)
    ).main
    # x² minus its mean ranges from -1/3 to 2/3; the curve at the edges alone is at 2/3.
    assert panel.y.least <= -0.33
    assert panel.y.most >= 0.66


@pytest.mark.parametrize("size", [1e-170, 1.0, 1e170])
def test_the_critical_value_of_a_band_has_no_units(size: float) -> None:
    factor = np.array([[1.0, 0.0], [1.0, 1.0], [0.5, 2.0]])
    block, df = np.array([0, 1]), np.array([20.0, 30.0])
    plain = sup_t(ErrorBlocks(factor, block, df), 0.95)
    assert sup_t(ErrorBlocks(size * factor, block, df), 0.95) == pytest.approx(plain, rel=1e-9)
