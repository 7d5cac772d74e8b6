"""Which columns are compared when a feature's heterogeneity is explained by another one."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from skedasis.engine import depends_on
from skedasis.stats.depends_on import Pairs, hat_functions, screened_shares


def by_loops(pairs, own, others):
    """Project c on each product of orthonormal differences, one product after the other."""
    root = np.sqrt(pairs.weight)

    def orthonormal(functions):
        left, size, _ = np.linalg.svd(pairs.differences(functions) * root[:, None])
        return left[:, : len(size)][:, size > 1e-4 * size.max(initial=0)] * np.sqrt(
            pairs.weight.sum()
        )

    explained = []
    for functions in others:
        products = [u * v for u in orthonormal(own).T for v in orthonormal(functions).T]
        by_chance = float(np.sum((pairs.weight * pairs.change) ** 2))
        explained.append(sum(float(pairs.change @ p) ** 2 - by_chance for p in products))
    total = pairs.weight.sum() * np.sum(pairs.weight * pairs.change**2)
    return np.array(explained) / total


@pytest.mark.parametrize("seed", range(5))
def test_columns_of_any_number_of_functions_are_screened_like_one_after_the_other(seed):
    rng = np.random.default_rng(seed)
    n, m = 120, 50
    order = rng.permutation(n)
    weight = rng.uniform(0.5, 2, m)
    pairs = Pairs(order[:m], order[m : 2 * m], rng.normal(size=m), weight, rng.random(m) < 0.5)
    own = hat_functions(rng.normal(size=n), 3)
    numbers = [hat_functions(rng.normal(size=n), 3) for _ in range(40)]
    levels = [np.eye(4)[rng.integers(0, 4, n)] for _ in range(5)]
    others = [*numbers[:20], *levels, np.zeros((n, 0)), np.ones((n, 2)), *numbers[20:]]
    np.testing.assert_allclose(
        screened_shares(pairs, own, others), by_loops(pairs, own, others), atol=1e-10
    )


def test_of_many_columns_those_of_the_largest_scores_are_compared(monkeypatch):
    X = np.random.default_rng(0).normal(size=(600, 8))

    def model(X):
        return 0.1 * X[:, 0] * X[:, 1] + X[:, 6] * X[:, 7]

    def partner(features):
        found = sd.explain(model, X, features, method="ale", progress=False)
        return {name: getattr(e.depends_on, "name", None) for name, e in found.items()}

    everything = partner(None)
    assert everything["x0"] == "x1"
    assert everything["x6"] == "x7"
    monkeypatch.setattr(depends_on, "MOST_COMPARED", 4)
    assert partner(None) == everything
    monkeypatch.setattr(depends_on, "MOST_COMPARED", 2)  # x6 and x7 have the largest scores
    assert partner(None) == {**everything, "x0": None, "x1": None}
    # Columns that are not explained have no score: they come first, and few features may have more.
    assert partner(["x0", "x6"]) == {"x0": "x1", "x6": None}
