"""Intervals of observed means contain the true mean in 95 % of simulated cells, whatever the weights are."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from skedasis.stats.moments import RowMeans
from skedasis.stats.student import t_interval

Drawn = tuple[np.ndarray, np.ndarray]


def equal(rng: np.random.Generator, shape: tuple[int, int]) -> Drawn:
    return rng.normal(size=shape), np.ones(shape)


def exposed(rng: np.random.Generator, shape: tuple[int, int]) -> Drawn:
    """Return rates of Poisson counts, whose variance is inverse to the exposure, less the true rate."""
    exposure = rng.uniform(0.05, 1, shape)
    return rng.poisson(5 * exposure) / exposure - 5, exposure


def independent(rng: np.random.Generator, shape: tuple[int, int]) -> Drawn:
    return rng.normal(size=shape), rng.lognormal(0, 0.7, shape)


def informative(rng: np.random.Generator, shape: tuple[int, int]) -> Drawn:
    """Return rows of a population that were kept with a probability that depends on the value."""
    y = rng.normal(size=(shape[0], 8 * shape[1]))
    kept = np.minimum(1.0, 0.15 + 0.3 * y**2)
    order = np.argsort(rng.uniform(size=y.shape) >= kept, axis=1, kind="stable")[:, : shape[1]]
    y, kept = (np.take_along_axis(a, order, axis=1) for a in (y, kept))
    return y, 1 / kept


@pytest.mark.parametrize("rows", [30, 400])
@pytest.mark.parametrize("draw", [equal, exposed, independent, informative])
def test_intervals_contain_the_true_mean(draw, rows):
    cells = 3000
    y, w = draw(np.random.default_rng(rows), (cells, rows))
    cell = np.repeat(np.arange(cells), rows)
    means = RowMeans.of(y.ravel(), cell, cells, w.ravel(), "sampling")
    lower, upper = t_interval(means.mean, means.error, means.df, 0.95)
    share = float(np.mean((lower <= 0) & (upper >= 0)))
    assert 0.93 <= share <= 0.97
    error = float(np.sqrt(np.mean(means.error**2)))
    assert error == pytest.approx(means.mean.std(), rel=0.06)


@pytest.mark.parametrize("rows", [30, 400])
def test_repetitions_are_rows(rows):
    """Rolls of a die, counted by the number of eyes: the weight of each number is how often it fell."""
    rng, cells = np.random.default_rng(rows), 3000
    often = rng.multinomial(rows, np.full(6, 1 / 6), cells).ravel()
    eyes, cell, some = np.tile(np.arange(6.0), cells), np.repeat(np.arange(cells), 6), often > 0
    means = RowMeans.of(eyes[some], cell[some], cells, often[some].astype(float), "frequency")
    lower, upper = t_interval(means.mean, means.error, means.df, 0.95)
    assert 0.935 <= float(np.mean((lower <= 2.5) & (upper >= 2.5))) <= 0.965


@pytest.mark.parametrize("kind", ["frequency", "sampling"])
@pytest.mark.parametrize(
    ("rows", "p"), [(66, 0.02), (200, 0.01), (66, 0.05), (30, 0.1), (100, 0.5)]
)
def test_intervals_of_rare_events_contain_the_probability(rows, p, kind):
    """Of a model that is right: the intervals of mean labels, and those of mean residuals, which are 0."""
    cells, rng = 1500, np.random.default_rng(rows)
    x = np.repeat(np.arange(cells), rows)[:, None]
    y, w = rng.uniform(size=len(x)) < p, np.ones(len(x))
    if kind == "sampling":
        w = rng.uniform(0.2, 2, len(x))
    e = sd.explain(
        lambda X: np.full(len(X), p),
        x,
        0,
        y=y,
        method=sd.MPlot(bins=sd.Edges(np.arange(cells + 1) - 0.5)),
        sample_weight=w,
        weight_kind=kind,
        observed=True,
    )
    assert e.observed is not None
    for of, truth in (("label", p), ("residual", 0.0)):
        lower, upper = e.observed.interval(0.95, of)
        assert np.mean((lower <= truth) & (upper >= truth)) >= 0.93
