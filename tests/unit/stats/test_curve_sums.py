"""`curve_sums`: the influence of rows on sums over a curve, against the errors of means."""

from __future__ import annotations

import numpy as np
import pytest

from skedasis.stats.curve_sums import LocalSteps, step_coefficients


@pytest.mark.parametrize("kind", ["frequency", "sampling"])
def test_squares_of_the_influence_add_up_to_the_errors_of_means(kind):
    """Each cell has the mean of few rows, whose squared error is the unbiased variance divided by their number."""
    rng = np.random.default_rng(0)
    cell = np.repeat(np.arange(4), [1, 2, 3, 8])
    size, coefficients = rng.normal(size=14), np.array([0.0, 1.0, -2.0, 0.5])
    w = rng.integers(1, 4, 14).astype(float) if kind == "frequency" else np.full(14, 0.3)
    steps = LocalSteps.across_cells(14, np.arange(14), cell, size, 4)
    repeats = w.astype(int) if kind == "frequency" else np.ones(14, dtype=int)
    rows, of_row = np.repeat(size, repeats), np.repeat(cell, repeats)
    groups = [rows[of_row == k] for k in range(4)]
    expected = sum(
        c**2 * g.var(ddof=1) / len(g) for c, g in zip(coefficients, groups, strict=True) if c
    )
    own = steps.influence(coefficients, w, kind)
    squares = w * own**2 if kind == "frequency" else (w * own) ** 2
    assert squares.sum() == pytest.approx(expected)
    np.testing.assert_allclose(steps.steps(w), [g.mean() for g in groups])
    assert w @ own == pytest.approx(0.0, abs=1e-12)


def test_the_steps_of_few_values_are_half_from_below_and_half_from_above():
    rng = np.random.default_rng(0)
    code = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2])
    sizes = rng.normal(size=(9, 2))
    sizes[code == 0, 0] = sizes[code == 2, 1] = np.nan
    steps = LocalSteps.between_values(9, np.arange(9), code, sizes, 3, halves=True)
    sides = [(sizes[code == k, 1], sizes[code == k + 1, 0]) for k in range(2)]
    expected = [(a.mean() + b.mean()) / 2 for a, b in sides]
    np.testing.assert_allclose(steps.steps(np.ones(9)), expected)
    # A sum over the nodes, whose coefficients sum to 0, is one of the steps.
    of_nodes = np.array([0.5, 0.25, -0.75])
    curve = np.append(0.0, np.cumsum(expected))
    assert step_coefficients(of_nodes) @ expected == pytest.approx(of_nodes @ curve)
    influence = steps.influence(np.array([1.0, 0.0]), np.ones(9), "frequency")
    error = sum(side.var(ddof=1) / len(side) for side in sides[0]) / 4
    assert influence @ influence == pytest.approx(error)
