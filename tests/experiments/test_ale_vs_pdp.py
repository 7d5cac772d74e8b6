"""What the verdicts on the chapter are based on: its definition, its equations, and true values by quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import skedasis as sd
from experiments.ale_vs_pdp import chapter as ch
from experiments.ale_vs_pdp import modified, munich
from experiments.ale_vs_pdp.definition import by_definition, lines
from experiments.ale_vs_pdp.equations import literal

MU, SIGMA = 5.0, 1.0


@pytest.mark.parametrize(
    ("f", "closed"),
    [
        (lambda X: X[:, 0] * X[:, 1], lambda a, b: (a - ch.MIDDLE) * (b - MU)),
        (lambda X: X[:, 0] ** 2 + np.sin(X[:, 1]), lambda a, b: 0 * a * b),
        # E[x3² | x1, x2] = x2² + x1²: the mixed derivative of x2 x3² x1 is x3², whose mean this is.
        (ch.product, lambda a, b: (a - ch.MIDDLE) * (b**2 - MU**2 - SIGMA**2) / 2),
    ],
)
def test_the_definition_integrated_is_the_closed_form(f, closed):
    whole = by_definition(f, MU, SIGMA)
    near = np.abs(whole.x2 - MU) < 3 * SIGMA
    want = closed(whole.x1[:, None], whole.x2[None, near])
    # Mixed differences with a step of 1e-3 lose 6 digits.
    np.testing.assert_allclose(whole.centred[:, near], want, atol=1e-6)


def test_the_last_line_of_the_appendix_and_its_short_form_are_one():
    x1, x2 = np.meshgrid(np.linspace(0, 0.5, 7), np.linspace(1, 9, 9), indexing="ij")
    for start in ((0.0, -3.0), (0.1, 2.0)):
        found = lines(x1, x2, MU, SIGMA, *start)
        last = found["centred, last line"]
        np.testing.assert_allclose(found["short form"], last, atol=1e-12)
        np.testing.assert_allclose(found["centred, second line"], last, atol=1e-12)
        assert np.abs(found["centred, first line"] - last).max() > 0.1


def test_the_equations_put_right_have_no_main_effect_and_no_mean():
    X = ch.first(400, 3, MU, SIGMA)
    edges = tuple(np.quantile(X[:, j], np.linspace(0, 1, 5), method="inverted_cdf") for j in (0, 1))
    cells = literal(ch.product, X, edges)
    assert cells.counts.sum() == len(X)
    centred = cells.centred(cells.corrected(False), False)
    assert max(np.abs(m).max() for m in cells.main(centred)) < 1e-12
    assert abs(cells.mean(centred)) < 1e-12


def test_the_equations_agree_with_the_library_where_both_are_defined_alike():
    # For x1 x2 the double differences are areas: main effects by one edge or by both then differ by a linear function
    # of one feature only, so that the raw differences of both surfaces over a cell are equal.
    X = ch.first(400, 3, MU, SIGMA)
    f = lambda X: X[:, 0] * X[:, 1]  # noqa: E731
    surface = sd.explain(f, X, (0, 1), method=sd.ALE(bins=4))
    cells = literal(f, X, surface.x)
    mine = cells.centred(cells.corrected(False), False)
    for values in (mine, surface.value):
        double = np.diff(np.diff(values, axis=0), axis=1)
        area = np.diff(surface.x[0])[:, None] * np.diff(surface.x[1])
        np.testing.assert_allclose(double, area, atol=1e-12)


@pytest.mark.parametrize("power", [1, 2])
def test_means_given_the_third_feature_are_those_of_many_rows(power):
    X = ch.first(400_000, 0)
    for z in (-1.0, 2.0, 4.0):
        near = np.abs(X[:, 2] - z) < 0.05
        sample = X[near, 0] * X[near, 1] ** power
        error = sample.std(ddof=1) / np.sqrt(near.sum())
        want = ch.given_third(np.array([z]), 2.0, 2.0, power)[0]
        assert abs(sample.mean() - want) < 4 * error + 0.01 * abs(want)


def test_tails_are_those_of_many_rows():
    X = ch.first(1_000_000, 0, MU, SIGMA)
    high = X[:, 2] >= modified.HIGH
    below, above, chance = modified.tails()
    for want, sample in ((below, X[:, 2] * ~high), (above, X[:, 2] ** 3 * high)):
        assert abs(sample.mean() - want) < 4 * sample.std() / np.sqrt(len(X))
    # Such rows are too rare to count, but the probability of so high an x3 is known for each row.
    beyond = norm.sf((modified.HIGH - X[:, 1]) / X[:, 0]) * (X[:, 1] <= modified.JUMP)
    assert abs(beyond.mean() - chance) < 4 * beyond.std() / np.sqrt(len(X))


def test_a_fall_is_from_the_highest_place_before():
    x = np.array([100.0, 110, 120, 130, 140, 150, 170])
    value = np.array([50.0, 1, 5, 2, 4, 9, -100])
    assert munich.fall(x, value) == 3.0
    assert munich.fall(x, np.sort(value)) == 0.0
