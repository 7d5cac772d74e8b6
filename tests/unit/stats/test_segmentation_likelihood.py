"""Partitions by penalized likelihood: the optimum, the noise estimate, and edges refined to single rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from skedasis.stats.grid import Cells
from skedasis.stats.segmentation import (
    CellMoments,
    Noise,
    PenalizedLikelihood,
    cell_moments,
    constant_up_to,
    likelihood_partition,
    merge_cells,
    refine_edges,
)
from tests.laws.strategies import law
from tests.reference.likelihood_partitions import Rows

SHAPES = ["steps", "line", "bent", "noise", "spread", "exact"]


def slopes(shape, x, rng):
    """Return local effects at x."""
    e = rng.normal(size=len(x))
    return {
        "steps": 4.0 * np.floor(3 * x) * (1 - 2 * (x > 0.5)) + 0.3 * e,
        "line": 6.0 * x + 0.3 * e,
        "bent": np.where(x < 0.5, 9 * x, 4 - 6 * x) + 0.2 * e,
        "noise": e,
        "spread": e * np.where(x < 0.4, 0.05, 3.0),
        "exact": np.where(x < 0.3, 2.0, 5.0 * x),
    }[shape]


def in_cells(shape, m, most, seed, *, weighted):
    """Return m cells of up to `most` rows each, in order of x, as lists of rows and as `CellMoments`."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, most + 1, size=m)
    x = np.sort(rng.uniform(size=size.sum()))
    d = slopes(shape, x, rng)
    w = rng.uniform(0.5, 3.0, size=len(x)) if weighted else np.ones(len(x))
    ends = np.cumsum(size)
    rows = [(x[b - n : b], d[b - n : b], w[b - n : b]) for n, b in zip(size, ends, strict=True)]
    noise = rng.uniform(0.01, 0.5, size=m)
    return rows, as_points(rows), noise


def as_points(rows):
    """Return the moments of cells, computed directly from their rows."""
    parts = []
    for x, d, w in rows:
        n = w.sum()
        a, b = np.average(x, weights=w), np.average(d, weights=w)
        parts.append(
            (n, b, w @ (d - b) ** 2, a, w @ (x - a) ** 2, w @ ((x - a) * (d - b))),
        )
    return CellMoments(*(np.array(column, dtype=float) for column in zip(*parts, strict=True)))


# ------------------------------------------------------------------------------ the optimum


@law(
    shape=st.sampled_from(SHAPES),
    m=st.integers(1, 60),
    most=st.sampled_from([1, 4, 30]),
    size=st.floats(1e-6, 1e-1),
    seed=st.integers(0, 2**32 - 1),
    weighted=st.booleans(),
)
def test_slopes_that_are_taken_for_constant_are_one_bin(shape, m, most, size, seed, weighted):
    rows, _, _ = in_cells(shape, m, most, seed, weighted=weighted)
    points = as_points([(x, 1.0 + size * (d - 1.0), w) for x, d, w in rows])
    floor = 1e-6
    noise = Noise.of(points, floor)
    found = likelihood_partition(noise.clip(points), noise, PenalizedLikelihood(floor=floor))
    if constant_up_to(points, floor):
        assert found.trend.tolist() == [False]
    total = sum(w.sum() for _, _, w in rows)
    squares = sum(w @ (1.0 + size * (d - 1.0)) ** 2 for _, d, w in rows)
    mean = sum(w @ (1.0 + size * (d - 1.0)) for _, d, w in rows) / total
    about = squares - total * mean**2
    if about < 0.99 * floor / total - 1e-12 * squares:
        assert constant_up_to(points, floor)


def test_slopes_whose_scatter_changes_are_not_constant():
    """All cells have the same mean, and those on the right a hundred times the scatter: two bins."""
    x = (np.arange(400) + 0.5) / 400
    d = 1.0 + np.where(x < 0.5, 0.01, 1.0) * np.tile([1.0, -1.0], 200)
    floor = 1e-6
    points = as_points([(x[i : i + 10], d[i : i + 10], np.ones(10)) for i in range(0, 400, 10)])
    noise = Noise.of(points, floor)
    found = likelihood_partition(noise.clip(points), noise, PenalizedLikelihood(floor=floor))
    assert found.starts.tolist() == [0, 20, 40]
    assert not constant_up_to(points, floor)


@law(
    shape=st.sampled_from(SHAPES),
    m=st.integers(1, 8),
    most=st.sampled_from([1, 4, 30]),
    seed=st.integers(0, 2**32 - 1),
    tails=st.sampled_from([1.0, 0.1, 2.3]),
    linear=st.booleans(),
    weighted=st.booleans(),
)
def test_no_partition_costs_less(shape, m, most, seed, tails, linear, weighted):
    """Small tail factors make bins cheap, so that many are found. Here they are given, not estimated."""
    rows, points, near = in_cells(shape, m, most, seed, weighted=weighted)
    plain = Rows(rows, near, tails, linear=linear)
    noise = Noise(points.x, near, tails)
    found = likelihood_partition(points, noise, PenalizedLikelihood(linear=linear))
    want, lines = plain.cheapest()
    assert found.starts.tolist() == list(want)
    assert found.trend.tolist() == lines


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_no_partition_of_many_cells_costs_less(shape):
    """More cells than one block of sums, and x and slopes with an offset that would make plain sums inaccurate."""
    rows, points, near = in_cells(shape, 70, 3, 0, weighted=False)
    plain = Rows(rows, near, 0.3)
    noise = Noise(points.x, near, 0.3)
    want, lines = plain.cheapest(plain.tabled)
    found = likelihood_partition(points, noise, PenalizedLikelihood())
    assert found.starts.tolist() == list(want)
    assert found.trend.tolist() == lines
    shifted = CellMoments(
        points.weight, points.mean + 2.0**20, points.m2, points.x + 2.0**20, points.xx, points.xd
    )
    moved = likelihood_partition(shifted, Noise(shifted.x, near, 0.3), PenalizedLikelihood())
    np.testing.assert_array_equal(moved.starts, found.starts)
    np.testing.assert_array_equal(moved.trend, found.trend)


def test_without_an_axis_there_are_no_lines():
    rows, points, near = in_cells("line", 8, 30, 0, weighted=False)
    places = CellMoments(points.weight, points.mean, points.m2)
    found = likelihood_partition(places, Noise(np.arange(8.0), near, 0.1), PenalizedLikelihood())
    plain = Rows(rows, near, 0.1, linear=False)
    assert found.starts.tolist() == list(plain.cheapest()[0])
    assert len(found.trend) > 1
    assert not found.trend.any()


def test_bins_hold_enough_rows():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(size=60))
    d = np.where(x < x[3], 50.0, 0.0) + 0.1 * rng.normal(size=60)  # three rows with another mean
    rows = [(x[i : i + 1], d[i : i + 1], np.ones(1)) for i in range(60)]
    points = as_points(rows)
    noise = Noise(points.x, np.full(60, 0.01), 1.0)
    for least in (5.0, 12.0):
        starts = likelihood_partition(points, noise, PenalizedLikelihood(least=least)).starts
        assert len(starts) > 2
        assert np.diff(starts).min() >= least
    assert (
        likelihood_partition(points, noise, PenalizedLikelihood(least=3.0)).starts.tolist()[1] == 3
    )


# -------------------------------------------------------------------------- noise estimate


@pytest.mark.parametrize("rows", [1, 40])
def test_noise_is_seen_past_jumps_slopes_and_outliers(rows):
    """The standard deviation of rows about μ is known: 0.5 on the left, 2 on the right."""
    rng = np.random.default_rng(0)
    n = 200 * rows
    x = np.sort(rng.uniform(size=n))
    scatter = np.where(x < 0.5, 0.5, 2.0)
    d = 30.0 * (x > 0.3) - 9 * x + scatter * rng.normal(size=n)
    d[:: n // 5] += 1e4
    cell = np.minimum(np.arange(n) // rows, 199)
    noise = Noise.of(cell_moments(x, d, np.ones(n), cell, 200), 0.0)
    # Medians of 50 differences, 3 of them with an outlier, are accurate to about a third.
    assert np.sqrt(noise.variance[:70].mean()) == pytest.approx(0.5, rel=0.4)
    assert np.sqrt(noise.variance[-70:].mean()) == pytest.approx(2.0, rel=0.4)
    assert 1.0 <= noise.tails < 2.0  # five outliers raise the tail factor only slightly


def test_heavy_tails_are_noticed():
    """The tail factor is near 1 for normal rows and larger for Student's t with 3 degrees of freedom."""
    rng = np.random.default_rng(1)
    x = np.arange(250.0)
    cell = np.arange(250)
    for draw, low, high in (
        (rng.normal, 1.0, 1.2),
        (lambda size: rng.standard_t(3, size), 1.3, 10),
    ):
        tails = [
            Noise.of(cell_moments(x, draw(size=250), np.ones(250), cell, 250), 0.0).tails
            for _ in range(20)
        ]
        assert low <= np.median(tails) <= high


def test_heavy_tails_within_cells_are_noticed():
    """The variance of a cell's variance is (kurtosis - 1) / 2 times that of normal rows: 2.5 for Laplace's."""
    rng = np.random.default_rng(5)
    cell = np.repeat(np.arange(300), 50)
    x = np.arange(len(cell), dtype=float)
    tails = [
        Noise.of(cell_moments(x, draw(size=len(x)), np.ones(len(x)), cell, 300), 0.0).tails
        for draw in (rng.normal, rng.laplace)
    ]
    # The tail factor is squared, and drawn towards 1 like a mean with 150 further cells.
    expected = 1 + (2.5**2 - 1) * 300 / 450
    assert tails[0] == pytest.approx(1.0, abs=0.3)
    assert tails[1] == pytest.approx(expected, rel=0.3)


def test_rare_values_are_heavy_tails():
    """Slopes are 0, and 1 in 2 % of the rows: the tail factor has its largest square, 10, as for few other slopes."""
    rng = np.random.default_rng(6)
    d = (rng.uniform(size=450) < 0.02).astype(float)
    noise = Noise.of(cell_moments(np.arange(450.0), d, np.ones(450), np.arange(450), 450), 0.0)
    assert noise.tails == pytest.approx(1 + (10 - 1) * 450 / 600)


def test_nothing_is_below_the_rounding():
    points = cell_moments(np.arange(9.0), np.full(9, 3.0), np.ones(9), np.arange(9), 9)
    assert (Noise.of(points, 1e-6).variance >= 1e-6).all()
    assert (Noise.of(points, 0.0).variance > 0).all()


def test_a_lone_outlier_is_cut_and_a_shift_is_not():
    rng = np.random.default_rng(2)
    d = rng.normal(size=120)
    d[60] = 1e9
    d[90:] += 50.0
    points = cell_moments(np.arange(120.0), d, np.ones(120), np.arange(120), 120)
    noise = Noise.of(points, 0.0)
    mean = noise.clip(points).mean
    assert abs(mean[60]) < 10
    np.testing.assert_allclose(mean[90:120], d[90:], rtol=1e-12)
    assert np.isclose(d, mean, rtol=1e-12).mean() > 0.95


@pytest.mark.parametrize("at", [0, 1, 60, 118, 119])
def test_a_lone_outlier_is_no_bin_wherever_it_lies(at):
    d = np.random.default_rng(3).normal(size=120)
    d[at] = 1e9
    points = cell_moments(np.arange(120.0), d, np.ones(120), np.arange(120), 120)
    noise = Noise.of(points, 0.0)
    assert noise.variance.max() < 10
    # The clipped value is still the most extreme one: near an end of the axis it may cause one more bin.
    assert len(likelihood_partition(noise.clip(points), noise, PenalizedLikelihood()).trend) <= (
        1 if at == 60 else 2
    )


def test_a_place_between_cells_has_the_noise_of_the_nearest():
    noise = Noise(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]), 1.0)
    at = np.array([-5.0, 0.2, 0.8, 1.0, 1.4, 1.6, 9.0])
    one = np.ones(7)
    assert noise.variance_at(CellMoments(one, one, one, at)).tolist() == [1, 1, 2, 2, 2, 3, 3]


# --------------------------------------------------------- merging cells and refining edges


@law(seed=st.integers(0, 2**32 - 1), m=st.integers(2, 12), weighted=st.booleans())
def test_cells_merged_are_the_cells_of_their_rows(seed, m, weighted):
    rows, points, _ = in_cells("bent", m, 5, seed, weighted=weighted)
    starts = np.unique(np.append(0, np.random.default_rng(seed).integers(0, m, size=3)))
    ends = np.append(starts[1:], m)
    joined = [
        tuple(np.concatenate([rows[i][k] for i in range(a, b)]) for k in range(3))
        for a, b in zip(starts, ends, strict=True)
    ]
    got, want = merge_cells(points, starts), as_points(joined)
    for name in ("weight", "mean", "m2", "x", "xx", "xd"):
        np.testing.assert_allclose(
            getattr(got, name), getattr(want, name), rtol=1e-10, atol=1e-12, err_msg=name
        )
    part = points.take(np.array([m - 1]))
    assert part.mean[0] == points.mean[-1]


def quantile_cells(x, k):
    """Return k cells with equal numbers of rows."""
    return Cells(np.concatenate([[x[0]], x[len(x) // k :: len(x) // k][: k - 1], [x[-1]]]))


@pytest.mark.parametrize("seed", range(4))
def test_an_edge_moves_to_the_best_of_all_places_between_two_rows(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(size=120))
    jump = rng.uniform(0.25, 0.75)
    d = 2.0 * (x > jump) + 0.5 * rng.normal(size=120)
    cells = quantile_cells(x, 20)
    near = int(np.abs(cells.edges - jump).argmin())
    got = refine_edges(
        cells, np.array([0, near, 20]), (x, d, None), PenalizedLikelihood(linear=False), "frequency"
    )
    assert len(got.edges) == 3
    # The prior noise has a weight of only three rows, so it barely matters for this many rows.
    noise = np.full(120, 0.25)
    rows = [(x[i : i + 1], d[i : i + 1], np.ones(1)) for i in range(120)]
    one = Rows.__new__(Rows)
    one.cells, one.noise, one.tails, one.linear, one.least = rows, noise, 1.0, False, 5.0

    def cost(split):
        return one.of_bin(0, split)[0] + one.of_bin(split, 120)[0]

    at = int(np.searchsorted(x, got.edges[1]))
    assert got.edges[1] == pytest.approx((x[at - 1] + x[at]) / 2, rel=1e-12)
    best = min(range(5, 116), key=cost)
    assert cost(at) <= cost(best) + 0.3
    assert cost(at) <= cost(int(np.searchsorted(x, cells.edges[near]))) + 1e-9


@pytest.mark.parametrize("n", [400, 3000])
def test_edges_lie_exactly_where_slopes_jump(n):
    """The edge is midway between the two rows around the jump, whatever the cells were."""
    rng = np.random.default_rng(n)
    x = np.sort(rng.normal(size=n))
    at = [-0.7, 0.1, 0.4]
    d = np.array([0.0, 9.0, -4.0, 6.0])[np.searchsorted(at, x)] + 0.05 * rng.normal(size=n)
    cells = quantile_cells(x, 25)
    kept = np.array([0, *(int(np.abs(cells.edges - a).argmin()) for a in at), 25])
    got = refine_edges(cells, kept, (x, d, None), PenalizedLikelihood(), "frequency")
    place = np.searchsorted(x, at)
    np.testing.assert_allclose(got.edges[1:-1], (x[place - 1] + x[place]) / 2, rtol=1e-12)
    assert not got.trend.any()


def test_edges_between_rows_stay():
    x, d = np.arange(60.0), np.where(np.arange(60) < 30, 0.0, 5.0)
    cells = Cells(np.concatenate([[0.0], np.arange(59) + 0.5, [59.0]]))
    assert (
        refine_edges(cells, np.array([0, 30, 60]), (x, d, None), PenalizedLikelihood(), "frequency")
        is None
    )


def test_very_many_bins_stay_where_they_are():
    """With as many bins as cells, refining all edges would need memory quadratic in the number of bins."""
    x = np.linspace(0, 1, 20_000)
    cells = quantile_cells(x, 250)
    kept = np.arange(len(cells.edges))
    rows = (x, np.floor(x * 250), None)
    assert refine_edges(cells, kept, rows, PenalizedLikelihood(linear=False), "frequency") is None
