"""The examples of ale_vs_pdp (chapter 6): closed forms, and PDPs that are distorted by extrapolation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

import skedasis as sd
from tests.laws.strategies import law, near
from tests.reference import aleplot_reference as reference
from tests.reference.aleplot_cases import case

A, B = 0.0, 0.5
"""x1 is uniform between them; x2 is normal, and x3 is normal with mean x2 and standard deviation x1."""


def rows(n, seed, mu=5.0, sigma=1.0):
    """Return rows as in section 6.2.1.3; with mu = sigma = 2 those of 6.1.1."""
    rng = np.random.default_rng(seed)
    x1, x2 = rng.uniform(A, B, n), rng.normal(mu, sigma, n)
    return np.column_stack([x1, x2, rng.normal(x2, x1)])


def product(X):
    """Return f = x1 x2 x3 (Example 1)."""
    return X[:, 0] * X[:, 1] * X[:, 2]


def changed(X):
    """Return the modified Example 1 (6.2.2.3): x3³ in a region without data."""
    strange = (X[:, 2] >= 6) & (X[:, 1] <= 4)
    return np.where(strange, X[:, 2] ** 3, product(X))


def additive(X):
    """Return f = x1 + x2 - x3 (Example 2)."""
    return X[:, 0] + X[:, 1] - X[:, 2]


# ----------------------------------------------------------------- the appendix, section 6.5.1


def second_order(x1, x2, mu=5.0, sigma=1.0):
    """Return the second-order ALE of x1 and x2, which is the last line of 6.5.1.

    In the first lines of 6.5.1 z_0 lacks a square, and the corrected effect lacks a factor of one half and a sign; the
    corrected lines lead to the last line.
    """
    m2 = mu**2 + sigma**2
    middle = (A + B) / 2
    return (x2**2 * x1 - x1 * m2 - x2**2 * middle + m2 * middle) / 2


def with_main(x1, x2, mu=5.0, sigma=1.0):
    """Return the second-order ALE plus both main effects, derived as in 6.5.1.

    The slopes of the main effects are E[x2 x3 | x1] = mu² + sigma² and E[x1 x3 | x2] = x2 (a + b) / 2.
    """
    m2, middle = mu**2 + sigma**2, (A + B) / 2
    return second_order(x1, x2) + m2 * (x1 - middle) + middle / 2 * (x2**2 - m2)


def error(s, truth, seed=99, n=20_000):
    """Return the root mean square error over fresh rows."""
    Z = rows(n, seed)
    z = Z[~np.isnan(s(Z[:, 0], Z[:, 1]))]
    assert len(z) > 0.98 * n
    return float(np.sqrt(np.mean((s(z[:, 0], z[:, 1]) - truth(z[:, 0], z[:, 1])) ** 2)))


@pytest.mark.parametrize("main", [False, True])
def test_second_order_ale_comes_to_its_closed_form(main):
    """Appendix 6.5.1: the error decreases with more rows and more bins."""
    truth = with_main if main else second_order
    errors = []
    for n, bins in ((500, 8), (5_000, 16), (50_000, 32)):
        found = []
        for seed in range(4):
            s = sd.explain(product, rows(n, seed), (0, 1), method=sd.ALE(bins=bins))
            found.append(error(s.with_main_effects() if main else s, truth))
        errors.append(np.mean(found))
    spread = np.std(truth(*rows(20_000, 99)[:, :2].T))
    assert errors[1] < 0.6 * errors[0]
    assert errors[2] < 0.75 * errors[1]
    assert errors[2] < 0.04 * spread


# ------------------------------------------------------------------ Example 1, sections 6.1.1, 6.2.2.2


def conditional_mean(z, mu, sigma):
    """Return E[X1 X2 | X3 = z] by quadrature over x1: given x1, x2 and x3 are jointly normal."""
    x1 = (np.arange(4000) + 0.5) / 4000 * (B - A) + A
    variance = sigma**2 + x1**2
    density = np.exp(-((z[:, None] - mu) ** 2) / (2 * variance)) / np.sqrt(variance)
    x2 = mu + sigma**2 / variance * (z[:, None] - mu)
    return (density * x1 * x2).sum(axis=1) / density.sum(axis=1)


def test_first_order_ales_are_quadratic_and_pdps_straight():
    """6.1.1, figures 6.1 and 6.2: x3 is correlated with x2, so the ALE of each is quadratic."""
    X = rows(40_000, 0, mu=2.0, sigma=2.0)
    for j in (1, 2):
        e = sd.explain(product, X, j, method=sd.ALE(bins=100, center="start"))
        inner = e.x[1:-1]  # the end bins of a normal feature stay wide for any number of rows
        if j == 1:
            want = inner**2 / 8  # the integral of E[x1 x3 | x2 = z] = z / 4
        else:
            fine = np.linspace(inner[0], inner[-1], 2000)
            slope = conditional_mean(fine, 2.0, 2.0)
            area = np.cumsum((slope[1:] + slope[:-1]) / 2 * np.diff(fine))
            want = np.interp(inner, fine, np.append(0, area))
        got = e.value[1:-1]
        size = np.ptp(want)
        near(got - got.mean(), want - want.mean(), 0.03 * size, f"x{j + 1}")
        line = np.polyval(np.polyfit(inner, got, 1), inner)
        assert np.abs(got - line).max() > 0.2 * size  # not a straight line
        p = sd.explain(product, X, j, method=sd.PDP(grid=inner))
        others = np.prod(np.delete(X, j, axis=1), axis=1).mean()
        near(p.value, inner * others, 1e-12 * np.abs(p.value).max(), "PDP")


# --------------------------------------------------------------------- Example 2, section 6.2.2.1


@pytest.mark.parametrize("pair", [(0, 1), (1, 2), (2, 0)])
def test_additive_models_have_no_second_order_effect_and_the_pdp_as_sum(pair):
    """6.2.2.1, figures 6.9 and 6.10: the ALE is zero; with main effects it equals the PDP up to a constant."""
    X = rows(400, 1, mu=2.0, sigma=2.0)
    s = sd.explain(additive, X, pair, method=sd.ALE(bins={"x0": 6, "x1": 9, "x2": 12}))
    size = np.abs(additive(X)).max()
    assert np.abs(s.value).max() < 1e-12 * size
    grid = {f"x{j}": x for j, x in zip(pair, s.x, strict=True)}
    p = sd.explain(additive, X, pair, method=sd.PDP(grid=grid))
    alone = sd.explain(additive, X, list(pair), method=sd.ALE(bins={"x0": 6, "x1": 9, "x2": 12}))
    for whole in (s.with_main_effects(), s.with_main_effects(alone)):
        apart = whole.value - p.value
        near(apart, apart.mean(), 1e-12 * size, "ALE - PDP")
    assert p.with_main_effects() is p


@pytest.mark.slow
@law(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 9))
def test_main_effects_of_a_surface_are_the_features_own_ales(seed, k):
    """6.2.2.1: "the main effects (1D ALEs)". They are computed from the surface's own model rows.

    They are exact where the other feature is a category.
    """
    c = case(seed)
    w, orders = c.weights_of_plain, c.orders
    first, second = (
        reference.ale_categorical(c.f, c.plain, j, orders[f"x{j}"], w).value for j in (2, 3)
    )
    number = reference.ale_1d(c.f, c.plain, 0, k, w).value
    method, schema = sd.ALE(bins=k, order=orders), {2: "nominal", 3: "nominal"}
    found = sd.explain(
        c.f, c.X, [(2, 3), (0, 3)], method=method, sample_weight=c.weights, schema=schema
    )
    for got, want in (
        (found["x2", "x3"].main[0], first),
        (found["x2", "x3"].main[1], second),
        (found["x0", "x3"].main[0], number),
    ):
        near(got, want, 1e-9 * np.abs(want).max() + 1e-13 * c.size, "main effect")


# ------------------------------------------------------------- modified Example 1, section 6.2.2.3


@pytest.mark.parametrize(("n", "seed"), [(150, 0), (2000, 1)])
def test_rows_that_cannot_be_throw_the_pdp_off_and_not_the_ale(n, seed):
    """6.2.2.3, figure 6.12: f is changed where x3 >= 6 and x2 <= 4, four standard deviations from any row.

    Every sixth row has x3 >= 6, and hence x3³ of 216 and more. Moving these rows to x2 <= 4 adds about 40 to a PDP with
    values between 0 and 20. An ALE moves rows inside their own cells only, where f is unchanged.
    """
    X = rows(n, seed)
    assert (changed(X) == product(X)).all()
    ale, other = (
        sd.explain(f, X, (0, 1), method=sd.ALE(bins=10)).with_main_effects()
        for f in (product, changed)
    )
    np.testing.assert_array_equal(ale.value, other.value)
    grid = {"x0": np.array([0.01, 0.25, 0.49]), "x1": np.array([2.5, 3.5, 4.5, 6.5])}
    pdp, thrown = (
        sd.explain(f, X, (0, 1), method=sd.PDP(grid=grid)).value for f in (product, changed)
    )
    added = np.mean((X[:, 2] >= 6) * X[:, 2] ** 3)
    assert added > 25
    low = grid["x1"] <= 4
    assert (thrown[:, low] > pdp[:, low] + 0.9 * added).all()
    assert thrown[0, 0] > 200 * pdp[0, 0]
    np.testing.assert_array_equal(thrown[:, ~low], pdp[:, ~low])
    # f increases with x2 everywhere, by 1.75 from 2.5 to 4.5 (6.5.1); the PDP decreases by over ten times as much.
    assert with_main(0.25, 4.5) - with_main(0.25, 2.5) == pytest.approx(1.75)
    assert thrown[1, 2] - thrown[1, 0] < -0.6 * added
    x1, x2 = np.meshgrid([0.1, 0.25, 0.4], [3.5, 4.0, 4.5], indexing="ij")
    assert np.abs(other(x1, x2) - with_main(x1, x2)).max() < (1.5 if n < 1000 else 0.75)
