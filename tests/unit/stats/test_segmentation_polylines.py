"""The fewest bins whose polyline approximates a curve, against all partitions and integrals by quadrature."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

import skedasis as sd
from skedasis.stats.segmentation import _chords, _Polylines, fewest_bins

NODES, SHARES = np.polynomial.legendre.leggauss(3)
"""Exact for the squares of linear functions."""


def distance2(edges, curve, weight, kept):
    """Integrate the squared difference to a polyline cell by cell, with both curves centred."""
    mean = total = 0.0
    for k, (a, b) in enumerate(pairwise(edges)):
        x = (a + b) / 2 + (b - a) / 2 * NODES
        off = np.interp(x, edges, curve) - np.interp(x, edges[list(kept)], curve[list(kept)])
        mean += weight[k] / weight.sum() * float(SHARES / 2 @ off)
        total += weight[k] / weight.sum() * float(SHARES / 2 @ off**2)
    return total - mean**2


def best(edges, curve, weight, tolerance2):
    """Search all partitions: return the closest of those with the fewest bins within the tolerance."""
    inner = range(1, len(edges) - 1)
    for count in range(len(edges) - 1):
        found = [(0, *cut, len(edges) - 1) for cut in combinations(inner, count)]
        off = [distance2(edges, curve, weight, kept) for kept in found]
        if min(off) <= tolerance2:
            return found[int(np.argmin(off))], min(off), off
    return tuple(range(len(edges))), 0.0, [0.0]


def drawn(seed):
    rng = np.random.default_rng(seed)
    cells = int(rng.integers(1, 10))
    edges = np.concatenate([[0.0], np.cumsum(rng.gamma(1.0, size=cells))]) + rng.normal() * 10
    curve = np.cumsum(rng.normal(size=cells + 1) * rng.choice([0.2, 1, 3], cells + 1))
    weight = rng.choice([0.0, 1.0, 2.5, 40.0], cells)
    weight[rng.integers(cells)] = 3.0
    return edges, curve, weight, float(10 ** rng.uniform(-4, 1) * curve.var())


@pytest.mark.parametrize("part", range(15))
def test_no_other_partition_has_fewer_bins_or_is_nearer(part):
    for seed in range(10 * part, 10 * part + 10):
        edges, curve, weight, tolerance2 = drawn(seed)
        kept = fewest_bins(edges, curve, weight, tolerance2)
        wanted, nearest, _ = best(edges, curve, weight, tolerance2)
        assert len(kept) == len(wanted)
        off = distance2(edges, curve, weight, kept)
        assert off <= tolerance2 * (1 + 1e-9) + 1e-15
        assert off == pytest.approx(nearest, rel=1e-7, abs=1e-12 * curve.var())


@pytest.mark.parametrize("scale", [1e-9, 1e9])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_units_do_not_matter(scale, offset):
    edges, curve, weight, tolerance2 = drawn(7)
    kept = fewest_bins(edges, curve, weight, tolerance2)
    moved = fewest_bins(
        edges * scale, curve * scale + offset * scale, weight * 5, tolerance2 * scale**2
    )
    np.testing.assert_array_equal(moved, kept)


def test_of_as_few_bins_the_nearest_is_taken():
    edges = np.arange(5.0)
    curve = np.array([0.0, 0, 0, 1, 1])
    for tolerance2 in (0.04, 0.06):
        kept = fewest_bins(edges, curve, np.ones(4), tolerance2)
        assert tuple(kept) == best(edges, curve, np.ones(4), tolerance2)[0]


def test_a_tie_is_between_partitions_that_are_as_near():
    edges, curve = np.arange(5.0), np.array([0.0, 1, 0, 1, 0])
    kept = fewest_bins(edges, curve, np.ones(4), 0.3)
    _, nearest, _ = best(edges, curve, np.ones(4), 0.3)
    assert distance2(edges, curve, np.ones(4), kept) == pytest.approx(nearest)


def test_the_tolerance_itself_is_near_enough():
    edges, curve = np.arange(3.0), np.array([0.0, 1, 0])
    exact = distance2(edges, curve, np.ones(2), (0, 2))
    assert len(fewest_bins(edges, curve, np.ones(2), exact * (1 + 1e-12))) == 2
    assert len(fewest_bins(edges, curve, np.ones(2), exact * (1 - 1e-9))) == 3


def test_cells_without_rows_do_not_matter():
    edges, curve = np.arange(5.0), np.array([0.0, 1, 50, 3, 4])
    assert tuple(fewest_bins(edges, curve, np.array([1.0, 0, 0, 1]), 1e-9)) == (0, 4)
    assert len(fewest_bins(edges, curve, np.ones(4), 1e-9)) > 2


@pytest.mark.parametrize("level", [0.0, 3.0, -1e9])
def test_a_flat_curve_is_one_bin(level):
    edges = np.linspace(-1, 2, 33)
    assert tuple(fewest_bins(edges, np.full(33, level), np.ones(32), 0.0)) == (0, 32)


def _tolerance_terms(e):
    """Return the terms of the tolerance from a result's public attributes, and the weight fractions of its cells."""
    score, weight = e.swap_score, e.moments["local"].weight
    error2 = (e.std_error[:-1] ** 2 + e.std_error[1:] ** 2) / 2
    return {
        "moves": 0.01 * (e.importance**2 + score.value**2),
        "importance": 0.01 * e.importance**2,
        "error": weight @ error2 / weight.sum(),
        "small": (0.02 * score.quantity_std) ** 2,
    }, weight / weight.sum()


@pytest.mark.parametrize("largest", ["moves", "error", "small"])
def test_each_term_of_the_tolerance_decides_where_it_is_the_largest(largest):
    rows = 300 if largest == "error" else 3000
    X = np.random.default_rng(3).normal(size=(rows, 3))
    model = {
        "moves": lambda X: (
            np.floor(4 * np.sin(2 * X[:, 0])) * (X[:, 1] > 0) - 2 * np.sin(2 * X[:, 0])
        ),
        "error": lambda X: np.floor(2 * np.sin(3 * X[:, 0])) * X[:, 1] + np.floor(X[:, 0]) / 2,
        "small": lambda X: np.floor(3 * np.sin(3 * X[:, 0])) + 60 * X[:, 2],
    }[largest]
    e = sd.explain(model, X, 0, method=sd.RHALE(local_effects="steps"))
    terms, share = _tolerance_terms(e)
    tolerance2 = max(terms.values())
    assert terms[largest] == tolerance2
    rest = max(v for k, v in terms.items() if k != largest)
    kept = np.searchsorted(e.x, np.append(e.bins.low, e.bins.high[-1]))
    assert distance2(e.x, e.value, share, kept) <= tolerance2
    fewer = fewest_bins(e.x, e.value, share, tolerance2)
    assert len(fewer) == len(kept)
    # The other terms alone require more bins: without this term the test would fail.
    assert len(fewest_bins(e.x, e.value, share, rest)) > len(kept)


@pytest.mark.parametrize("bins", [2, 3])
@pytest.mark.parametrize("offset", [-0.4, 0.0, 0.7])
def test_for_an_offset_the_polyline_is_the_best_of_all(bins, offset):
    """It minimises the mean square of its distance from the curve plus the offset, up to the offset's own square."""
    rng = np.random.default_rng(7)
    edges = np.concatenate([[0.0], np.cumsum(rng.gamma(1.0, size=7))])
    curve, weight = np.cumsum(rng.normal(size=8)), rng.uniform(0.5, 2.0, 7)
    values = []
    for cut in combinations(range(1, 7), bins - 1):
        kept, value = [0, *cut, 7], 0.0
        for k, (a, b) in enumerate(pairwise(edges)):
            x = (a + b) / 2 + (b - a) / 2 * NODES
            off = np.interp(x, edges[kept], curve[kept]) - np.interp(x, edges, curve) - offset
            value += weight[k] / weight.sum() * float(SHARES / 2 @ off**2)
        values.append((value - offset**2, kept))
    polylines = _Polylines(*_chords(edges, curve, weight / weight.sum()))
    found = polylines.lowest(bins, offset)
    assert found.at(offset) == pytest.approx(min(values)[0], rel=1e-9)
    assert polylines.edges_of(found).tolist() == min(values)[1]
