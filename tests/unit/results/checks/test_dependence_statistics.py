"""Statistics of the dependence test: against loops over rows and pairs, and unbiasedness over many draws."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from skedasis.results.checks import variance_decomposition
from skedasis.results.checks.variance_decomposition import split_variance
from tests.helpers import paired


def draw(seed, n=40):
    rng = np.random.default_rng(seed)
    return np.round(rng.uniform(size=n), 1), rng.lognormal(size=n), rng.uniform(0.5, 2, n)


@pytest.mark.parametrize("seed", range(3))
def test_the_trend_is_whites_score_statistic(seed):
    x, d, w = draw(seed)
    rows = variance_decomposition._sorted(x, d, w)
    found = variance_decomposition._trend(rows, rows.e[None], rows.weight[None])[0]
    # The influence of each row on the weighted covariance of effect and regressors, which are powers of mid-ranks of x.
    rank = np.array([(x < v).sum() + ((x == v).sum() - 1) / 2 for v in x])
    z = np.column_stack([rank, rank**2, rank**3]) / rank.max() ** np.arange(1, 4)
    z -= w @ z / w.sum()
    influence = (w * (d - w @ d / w.sum()))[:, None] * z
    score = influence.sum(axis=0)
    covariance = sum(np.outer(row, row) for row in influence)
    assert found == pytest.approx(score @ np.linalg.solve(covariance, score), rel=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_likeness_of_neighbours_is_a_sum_over_pairs(seed):
    x, d, _ = draw(seed)
    rows = variance_decomposition._sorted(x, d, None)
    found = variance_decomposition._neighbour_similarity(rows, rows.e[None])[0]
    e, places = d - d.mean(), np.unique(x)
    total = square = often = 0.0
    for i in range(len(x)):
        for j in range(i):
            a, b = sorted((np.searchsorted(places, x[i]), np.searchsorted(places, x[j])))
            if b - a <= 1:
                c = 1 / max((x == places[a]).sum(), (x == places[b]).sum())
                total, square, often = (
                    total + c * e[i] * e[j],
                    square + (c * e[i] * e[j]) ** 2,
                    often + c,
                )
    total += often * (e @ e) / (len(e) * (len(e) - 1))
    assert found == pytest.approx(total / np.sqrt(square), rel=1e-9)


def test_a_p_value_of_permutations_is_their_share():
    rng = np.random.default_rng(5)
    x, d = rng.uniform(size=30), rng.normal(size=30)
    rows = variance_decomposition._sorted(x, d, None)
    observed = variance_decomposition._smallest_p_value(
        rows, np.arange(30)[None], with_neighbours=True
    )[0]
    orders = np.array([rng.permutation(30) for _ in range(20_000)])
    expected = np.mean(
        variance_decomposition._smallest_p_value(rows, orders, with_neighbours=True) <= observed
    )
    found = np.mean(
        [variance_decomposition.dependence_p_value(x, d, seed=seed) for seed in range(30)]
    )
    assert found == pytest.approx(expected, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spacing", "weighted"),
    paired(["even", "clustered", "some ties", "two at each"], [False, True, True, False]),
)
def test_the_variance_at_given_x_is_unbiased_for_any_spacing_and_weights(spacing, weighted):
    rng = np.random.default_rng(6)
    x = {
        "even": np.arange(24.0),
        "clustered": np.sort(rng.uniform(size=24) ** 4),
        "some ties": np.sort(np.append(np.arange(18.0), [3, 3, 3, 9, 9, 16])),
        "two at each": np.repeat(np.arange(12.0), 2),
    }[spacing]
    w = rng.uniform(0.5, 2, 24) if weighted else None
    got = [split_variance(x, 5 + rng.normal(size=24), w) for _ in range(4000)]
    total, least = np.mean(got, axis=0)
    assert total == pytest.approx(1, abs=0.025)
    # The estimate is clipped at the total variance, which biases it by a few percent where both are similar.
    assert least == pytest.approx(0.91, abs=0.06)
    steep = [split_variance(x, 40 * x / x.max() + rng.normal(size=24), w)[1] for _ in range(4000)]
    assert np.mean(steep) == pytest.approx(1, abs=0.04)


@pytest.mark.parametrize("rows_in_each", [2, 3, 10])
def test_the_variance_within_cells_divides_by_their_degrees_of_freedom(rows_in_each):
    rng = np.random.default_rng(7)
    cells = 3000 // rows_in_each
    x = np.repeat(np.arange(cells) + 0.5, rows_in_each)
    X = np.column_stack([x, rng.normal(size=len(x))])
    edges = sd.Edges(np.arange(cells + 1.0))
    e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ALE(bins=edges))
    pooled = np.average(e.bins.std**2, weights=e.bins.count)
    assert np.sqrt(pooled) == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize(("rows", "share"), [(20, 0.12), (200, 0.04)])
def test_the_share_of_a_changing_slope_is_slightly_positive_where_there_is_none(rows, share):
    """The percentages in docs/guides/reliability.md: slopes are independent of x, so the true share is zero."""
    rng = np.random.default_rng(0)
    draws = ((rng.uniform(size=rows), rng.normal(size=rows)) for _ in range(3000))
    found = np.array([split_variance(x, d) for x, d in draws])
    excess = found[:, 0] - found[:, 1]
    assert excess.min() >= 0
    error = excess.std() / np.sqrt(len(excess))
    assert abs(excess.mean() - share) < 4 * error + 0.003
    assert abs(found[:, 0].mean() - 1) < 4 * found[:, 0].std() / np.sqrt(len(found))
