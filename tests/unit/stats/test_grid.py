"""Locating values among many edges: more and finer buckets find the same cells as a binary search."""

from __future__ import annotations

import numpy as np
import pytest

from skedasis.stats.grid import Cells, bucket, locate, uniform_edges

N = 20_000


def values(kind):
    rng = np.random.default_rng(0)
    return {
        "normal": lambda: rng.normal(size=N),
        "long tail": lambda: rng.exponential(size=N) ** 3,
        "whole": lambda: rng.integers(0, 3000, N).astype(float),
        "far": lambda: 1e9 + rng.normal(size=N),
        "tiny": lambda: 1e-300 * rng.uniform(size=N),
        "clump": lambda: np.where(rng.uniform(size=N) < 0.97, 0.0, rng.normal(size=N)),
    }[kind]()


@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize("k", [511, 512, 513, 514, 1024, 4095, 4096, 4097, 4098])
def test_cells_are_those_of_a_search(k, closed, uniform):
    for kind in ("normal", "long tail", "whole", "far", "tiny", "clump"):
        x = values(kind)
        quantiles = np.quantile(x, np.linspace(0, 1, k + 1), method="inverted_cdf")
        edges = uniform_edges(x.min(), x.max(), k) if uniform else np.unique(quantiles)
        cell = Cells(edges, closed).locate(x)
        if closed == "left":
            inside = (edges[cell] <= x) & ((x < edges[cell + 1]) | (cell == len(edges) - 2))
        else:
            inside = (x <= edges[cell + 1]) & ((edges[cell] < x) | (cell == 0))
        assert inside.all()


def test_values_beyond_the_edges_are_counted_with_the_ends():
    x = np.random.default_rng(0).normal(size=N)
    inner = np.linspace(-1, 1, 1001)
    found = locate(inner, x, -1.0, 1.0, "left")
    np.testing.assert_array_equal(found, np.searchsorted(inner, x, side="right"))


def test_a_code_of_coarser_buckets_does_no_harm():
    x = np.random.default_rng(0).uniform(size=N)
    inner = np.linspace(0, 1, 1002)[1:-1]
    code = bucket(x, 0.0, 1.0)
    found = locate(inner, x, 0.0, 1.0, "right", code)
    np.testing.assert_array_equal(found, np.searchsorted(inner, x, side="left"))
