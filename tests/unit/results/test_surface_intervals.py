"""Standard errors, intervals and resampled rows of surfaces, and invalid requests for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from tests.helpers import refused

ORDERS = {"c": list("uvwx"), "d": list("pqr")}


def frame(n: int = 400, seed: int = 0, dependence: float = 0.5) -> pd.DataFrame:
    """Return two numeric columns, two text columns with unequal level frequencies, and e, which makes rows differ."""
    rng = np.random.default_rng(seed)
    a = rng.uniform(-1, 1, n)
    c = rng.choice(list("uvwx"), n, p=[0.4, 0.3, 0.2, 0.1])
    return pd.DataFrame(
        {
            "a": a,
            "b": dependence * a + rng.uniform(-1, 1, n),
            "c": c,
            "d": np.where(rng.uniform(size=n) < 0.6, "p", np.where(a > 0, "q", "r")),
            "e": rng.normal(size=n),
        }
    )


def joint(X: Any) -> np.ndarray:
    """Return a quantity in which every two of the features a to d interact, with a strength that depends on the row."""
    c = X["c"].map({"u": 0.0, "v": 1.0, "w": 3.0, "x": 6.0}).to_numpy(float)
    d = X["d"].map({"p": 0.0, "q": 2.0, "r": -1.0}).to_numpy(float)
    a, b, e = (X[k].to_numpy(float) for k in "abe")
    return (1 + e) * (
        np.sin(2 * a) * b**2 + a * c + np.exp(b) * c + c * d + (a**2 + b) * d + 1
    ) + 3 * a


def alone(X: Any) -> np.ndarray:
    """Return a quantity without interactions, far from zero."""
    c = X["c"].map({"u": 0.0, "v": 1.1, "w": 3.3, "x": 6.7}).to_numpy(float)
    d = X["d"].map({"p": 0.1, "q": 2.3, "r": -1.9}).to_numpy(float)
    return np.sin(X["a"]).to_numpy() + np.exp(X["b"]).to_numpy() + c + d + 1e4


def of_numbers(X: np.ndarray) -> np.ndarray:
    return np.sin(2 * X[:, 0]) * X[:, 1] ** 2 * (1 + X[:, 2]) + X[:, 0]


def mixed(X: np.ndarray, i: int, j: int) -> np.ndarray:
    return 4 * np.cos(2 * X[:, 0]) * X[:, 1] * (1 + X[:, 2])


def sloped(X: np.ndarray) -> np.ndarray:
    out = np.zeros(X.shape)
    out[:, 0] = 2 * np.cos(2 * X[:, 0]) * X[:, 1] ** 2 * (1 + X[:, 2]) + 1
    out[:, 1] = np.sin(2 * X[:, 0]) * 2 * X[:, 1] * (1 + X[:, 2])
    out[:, 2] = np.sin(2 * X[:, 0]) * X[:, 1] ** 2
    return out


EDGES = sd.Edges([-2.0, -0.5, 0.1, 0.4, 2.0])
"""On these every resample of the rows has the same cells."""
PAIRS = {
    "numbers": (("a", "b"), sd.ALE(bins=EDGES)),
    "holes": (("a", "b"), sd.ALE(bins=EDGES, empty=None)),
    "level, number": (("c", "a"), sd.ALE(bins=EDGES, order=ORDERS)),
    "levels": (("c", "d"), sd.ALE(order=ORDERS)),
    "slopes": (("a", "b"), sd.DALE(bins=EDGES)),
    "pdp": (("a", "c"), sd.PDP(grid={"a": [-0.5, 0.0, 0.7]}, ice="all")),
}
each = pytest.mark.parametrize(
    "kind",
    [
        *("numbers", "levels", "pdp"),
        *(pytest.param(k, marks=pytest.mark.slow) for k in ("holes", "level, number", "slopes")),
    ],
)


def explained(kind: str, X: Any, model: Any = joint, **options: Any) -> Any:
    pair, method = PAIRS[kind]
    if kind == "slopes":
        numbers = X[["a", "b", "e"]].to_numpy()
        quantity = sd.prediction(of_numbers, slope=sloped, mixed=mixed)
        return sd.explain(quantity, numbers, (0, 1), method=method, progress=False, **options)
    return sd.explain(model, X, pair, method=method, progress=False, **options)


def times(counts: np.ndarray, X: pd.DataFrame) -> pd.DataFrame:
    return X.loc[np.repeat(np.arange(len(X)), counts)].reset_index(drop=True)


# ----------------------------------------------------------------------------- resampled rows


@each
def test_resampled_rows_are_the_method_on_these_rows(kind):
    X, rng, weighted = frame(), np.random.default_rng(3), kind in ("levels", "holes")
    weights = rng.integers(1, 4, len(X)).astype(float) if weighted else None
    s = explained(kind, X, sample_weight=weights)
    counts = rng.multinomial(len(X), np.full(len(X), 1 / len(X)), size=3)
    found = s.resampled(counts)
    assert found.shape == (3, *s.value.shape)
    for one, got in zip(counts, found, strict=True):
        want = explained(kind, times(one, X))
        np.testing.assert_allclose(got, want.value, rtol=0, atol=1e-12 * np.abs(s.value).max())
    # The weights of the rows themselves give the surface itself.
    np.testing.assert_allclose(
        s.resampled(np.ones(len(X)) if weights is None else weights)[0],
        s.value,
        rtol=0,
        atol=1e-12 * np.abs(s.value).max(),
    )


@pytest.mark.parametrize("kind", ["numbers", "holes", "level, number"])
def test_cells_that_a_draw_leaves_empty_are_filled_as_empty_cells_are(kind):
    X, rng = frame(60), np.random.default_rng(4)
    s, gone = explained(kind, X), 0
    for _ in range(10):
        counts = rng.multinomial(20, np.full(len(X), 1 / len(X)))
        drawn = times(counts, X)
        if any(set(drawn[k]) != set(X[k]) for k in "cd"):
            continue
        want = explained(kind, drawn)
        gone += int((want.cells.empty & ~s.cells.empty).sum())
        np.testing.assert_allclose(s.resampled(counts)[0], want.value, rtol=0, atol=1e-11)
    assert gone > 5


def test_a_surface_on_other_bins_is_resampled_there():
    X = frame()
    s = explained("slopes", X).rebin(sd.Edges([-0.6, 0.0, 0.7], closed="right"))
    counts = np.random.default_rng(0).integers(0, 3, len(X))
    again = explained("slopes", times(counts, X))
    want = again.rebin(sd.Edges([-0.6, 0.0, 0.7], closed="right"))
    np.testing.assert_allclose(s.resampled(counts)[0], want.value, rtol=0, atol=1e-12)
    assert np.isfinite(s.std_error).all()


# ---------------------------------------------------------------------------- standard errors


@each
def test_frequencies_are_repetitions(kind):
    X = frame(200)
    weights = np.random.default_rng(1).integers(1, 4, len(X))
    weighted = explained(kind, X, sample_weight=weights.astype(float))
    repeated = explained(kind, times(weights, X))
    np.testing.assert_allclose(weighted.std_error, repeated.std_error, rtol=1e-9)
    np.testing.assert_allclose(weighted.df, repeated.df, rtol=1e-9)
    for one, two in zip(weighted.interval(0.9), repeated.interval(0.9), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)
    if weighted.cells is not None:
        np.testing.assert_allclose(weighted.cells.std_error, repeated.cells.std_error, rtol=1e-9)


@each
def test_sampling_weights_that_are_all_alike_are_none(kind):
    X = frame(200)
    plain = explained(kind, X)
    alike = explained(kind, X, sample_weight=np.full(len(X), 0.3), weight_kind="sampling")
    np.testing.assert_allclose(alike.std_error, plain.std_error, rtol=1e-9)
    np.testing.assert_allclose(alike.df, plain.df, rtol=1e-9)


@each
def test_errors_do_not_depend_on_batches_and_scale_with_the_quantity(kind):
    X = frame(300)
    s = explained(kind, X)
    pieces = explained(kind, X, memory="100KB")
    np.testing.assert_allclose(pieces.std_error, s.std_error, rtol=1e-10)
    if kind != "slopes":
        scaled = explained(kind, X, lambda X: -7 * joint(X) + 100)
        np.testing.assert_allclose(scaled.std_error, 7 * s.std_error, rtol=1e-9)
        np.testing.assert_allclose(scaled.df, s.df, rtol=1e-9)


@pytest.mark.parametrize("kind", ["numbers", "level, number", "levels", "slopes"])
def test_the_transposed_pair_has_the_transposed_errors(kind):
    X = frame()
    s = explained(kind, X)
    pair, method = PAIRS[kind]
    if kind == "slopes":
        quantity = sd.prediction(of_numbers, slope=sloped, mixed=mixed)
        data = X[["a", "b", "e"]].to_numpy()
        turned = sd.explain(quantity, data, (1, 0), method=method, progress=False)
    else:
        turned = sd.explain(joint, X, pair[::-1], method=method, progress=False)
    np.testing.assert_allclose(turned.std_error.T, s.std_error, rtol=1e-9)


def test_cells_of_one_row_borrow_and_nothing_else_is_lost():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(30, 3))
    s = sd.explain(of_numbers, X, (0, 1), method=sd.ALE(bins=5), progress=False)
    assert (s.cells.count == 1).any()
    assert np.isnan(s.cells.std_error[s.cells.count == 1]).all()
    assert np.isfinite(s.std_error).all()
    assert (s.std_error > 0).all()


def test_the_nearest_cell_lends_its_variance():
    """Two cells, with 50 rows and with one row. Cell frequencies have no influence here, so the errors are known."""
    many = np.column_stack([np.full(50, 0.25), np.full(50, 0.25), np.tile([-1.0, 1.0], 25)])
    X = np.vstack([many, [[0.75, 0.75, 0.0]]])

    def product(X):
        return X[:, 0] * X[:, 1] * X[:, 2]

    edges = sd.Edges([0.0, 0.5, 1.0])
    s = sd.explain(product, X, (0, 1), method=sd.ALE(bins=edges, empty=None), progress=False)
    # Double differences are x2 / 4: zero on average, so that cell frequencies do not matter.
    variance = 50 / 49 / 16
    assert s.cells.std_error[0, 0] == pytest.approx(np.sqrt(variance / 50))
    unit = [_unit(s, i, j) for i, j in ((0, 0), (1, 1))]
    want = unit[0] ** 2 * variance / 50 + unit[1] ** 2 * variance
    np.testing.assert_allclose(s.std_error, np.sqrt(want), rtol=1e-9)


def _unit(s: Any, i: int, j: int) -> np.ndarray:
    """Return the surface of a double difference of 1 in one cell and 0 in the others."""
    from skedasis.results.build.pairs import second_order

    delta = np.zeros((2, 2))
    delta[i, j] = 1.0
    return second_order(delta, s.moments["home"].weight, s.sides)


def test_where_every_cell_has_one_row_nothing_is_said():
    X = np.array([[0.25, 0.25], [0.25, 0.75], [0.75, 0.25], [0.75, 0.75]])
    s = sd.explain(
        lambda X: X[:, 0] * X[:, 1],
        X,
        (0, 1),
        method=sd.ALE(bins=sd.Edges([0, 0.5, 1])),
        progress=False,
    )
    assert np.isnan(s.std_error).all()
    lower, upper = s.interval()
    assert np.isnan(lower).all()
    assert np.isnan(upper).all()


@pytest.mark.parametrize("pair", [("a", "b"), ("c", "a"), ("c", "d")])
def test_a_constant_feature_moves_nothing(pair):
    X = frame(50).assign(**{pair[0]: 1.0 if pair[0] == "a" else "u"})
    s = sd.explain(joint, X, pair, method=sd.ALE(bins=4, order={"d": list("pqr")}), progress=False)
    assert (s.std_error == 0).all()
    for method in ("analytic", "bootstrap"):
        lower, upper = s.interval(method=method, replicates=5, simultaneous=True)
        np.testing.assert_allclose(lower, 0, atol=1e-12)
        np.testing.assert_allclose(upper, 0, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "scale"),
    [("numbers", 1.0), ("holes", 1e-6), ("level, number", 1.0), ("levels", 1e-6)],
)
def test_nothing_is_claimed_of_an_additive_model(kind, scale):
    s = explained(kind, frame(), lambda X: alone(X) * scale)
    assert np.abs(s.std_error).max() < 1e-10 * scale
    for method in ("analytic", "bootstrap"):
        for simultaneous in (False, True):
            for of in ("value", "cells"):
                lower, upper = s.interval(
                    0.5, method, simultaneous=simultaneous, of=of, replicates=50
                )
                there = ~np.isnan(lower)
                assert (lower[there] <= 0).all()
                assert (upper[there] >= 0).all()
                assert (upper - lower)[there].max() < 1e-8 * scale


def test_main_effects_have_errors_that_are_not_known():
    s = explained("numbers", frame())
    shown = s.with_main_effects()
    assert np.isnan(shown.std_error).all()
    with refused(sd.UnsupportedError, "main effects", "before adding"):
        shown.interval()
    with refused(sd.UnsupportedError, "main effects"):
        shown.resampled(np.ones(400))
    np.testing.assert_array_equal(shown.interval(of="cells"), s.interval(of="cells"))


# ---------------------------------------------------------------------------------- intervals


@each
def test_bands_hold_intervals_and_both_hold_the_surface(kind):
    s = explained(kind, frame())
    for method in ("analytic", "bootstrap"):
        each, both = (
            s.interval(0.9, method, simultaneous=together, replicates=200)
            for together in (False, True)
        )
        assert (each[0] < s.value).all()
        assert (s.value < each[1]).all()
        assert ((both[1] - both[0]) > 1.02 * (each[1] - each[0])).mean() > 0.9
        narrow = s.interval(0.5, method, replicates=200)
        assert (narrow[1] - narrow[0] < each[1] - each[0]).all()


@each
def test_the_bootstrap_spreads_as_the_errors_say(kind):
    s = explained(kind, frame(1500, dependence=0.0))
    counts = np.random.default_rng(9).multinomial(1500, np.full(1500, 1 / 1500), size=1000)
    np.testing.assert_allclose(s.resampled(counts).std(axis=0), s.std_error, rtol=0.12)
    lower, upper = s.interval(method="bootstrap")
    np.testing.assert_allclose((upper - lower) / 2 / s.std_error, 1.96, rtol=0.16)


@each
def test_moments_drawn_again_spread_as_rows_do(kind):
    s = explained(kind, frame(1500, dependence=0.0))
    apart = replace(s, rows=None)
    lower, upper = apart.interval(method="bootstrap", replicates=2000)
    np.testing.assert_allclose((upper - lower) / 2 / s.std_error, 1.96, rtol=0.12)
    rows, moments = (t.interval(0.9, "bootstrap", simultaneous=True) for t in (s, apart))
    # Points drawn independently ignore their correlation: the band is wider.
    wider = 1.4 if kind.startswith("pdp") else 1.1
    ratio = (moments[1] - moments[0]) / (rows[1] - rows[0])
    assert 0.88 < np.median(ratio) < wider


@each
def test_intervals_are_the_same_for_the_same_seed(kind):
    s = explained(kind, frame(100))
    for options in ({}, {"simultaneous": True}):
        for method in ("analytic", "bootstrap"):
            one, two = (s.interval(0.9, method, replicates=30, **options) for _ in range(2))
            np.testing.assert_array_equal(one, two)
    one, two = (s.interval(0.9, "bootstrap", replicates=30, random_state=k) for k in (1, 2))
    assert (one[0] != two[0]).any()


def test_sampling_weights_count_in_the_bootstrap():
    X = frame(1500, dependence=0.0)
    weights = np.random.default_rng(8).exponential(size=len(X)) + 0.1
    for kind in ("numbers", "level, number", "levels", "pdp"):
        s = explained(kind, X, sample_weight=weights, weight_kind="sampling")
        for shown in (s, replace(s, rows=None)):
            lower, upper = shown.interval(method="bootstrap")
            ratio = (upper - lower) / 2 / s.std_error
            assert 1.75 < np.median(ratio) < 2.15, kind


def test_cells_have_the_errors_of_means():
    X = frame()
    s = explained("numbers", X)
    counts, std = s.cells.count, s.cells.std
    np.testing.assert_allclose(s.cells.std_error, std / np.sqrt(counts), rtol=1e-12)
    np.testing.assert_array_equal(s.cells.trusted, counts >= 10)
    np.testing.assert_array_equal(s.support, counts > 0)
    lower, upper = s.interval(0.95, of="cells")
    from scipy.stats import t

    half = t(counts - 1).ppf(0.975) * std / np.sqrt(counts)
    there = counts > 1
    np.testing.assert_allclose((upper - lower)[there] / 2, half[there], rtol=1e-9)
    together = s.interval(0.95, of="cells", simultaneous=True)
    known = int((s.cells.std_error > 0).sum())
    wide = t(counts - 1).ppf((1 + 0.95 ** (1 / known)) / 2) * std / np.sqrt(counts)
    np.testing.assert_allclose((together[1] - together[0])[there] / 2, wide[there], rtol=1e-9)


def test_a_pdp_has_the_errors_of_means():
    X = frame()
    s = explained("pdp", X)
    own = s.rows.across.reshape(len(X), *s.value.shape)
    np.testing.assert_allclose(s.std_error, own.std(axis=0, ddof=1) / np.sqrt(len(X)), rtol=1e-10)
    assert (s.df == len(X) - 1).all()
    assert s.support is None


# ---------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("level", [1, float("nan")])
def test_levels_that_are_none(level):
    with refused(sd.DataError, "level", "between 0 and 1"):
        explained("numbers", frame(50)).interval(level)


@pytest.mark.parametrize("replicates", [1, 2.5])
def test_replicates_that_are_none(replicates):
    with refused(sd.DataError, "replicates", "at least 2"):
        explained("numbers", frame(50)).interval(method="bootstrap", replicates=replicates)


@pytest.mark.parametrize("counts", [np.ones(3), -np.ones(50), np.zeros(50), np.full(50, np.nan)])
def test_counts_that_are_none(counts):
    with refused(sd.DataError, "counts", "50 rows"):
        explained("numbers", frame(50)).resampled(counts)


def test_all_weight_on_one_row():
    s = explained("numbers", frame(50))
    counts = np.zeros(50)
    counts[7] = 3
    assert np.isfinite(s.resampled(counts)).all()


def test_what_a_pdp_cannot_say():
    X = frame(60)
    plain = sd.explain(joint, X, ("a", "b"), method=sd.PDP(grid=3), progress=False)
    with refused(sd.UnsupportedError, "ice='all'"):
        plain.resampled(np.ones(60))
    with refused(sd.UnsupportedError, "cells"):
        plain.interval(of="cells")
    means = sd.explain(
        joint, X, ("a", "b"), method=sd.PDP(grid=3, heterogeneity=False), progress=False
    )
    assert np.isnan(means.std_error).all()
    for method in ("analytic", "bootstrap"):
        with refused(sd.UnsupportedError, "heterogeneity=False"):
            means.interval(method=method)


def test_a_part_of_the_rows_cannot_be_resampled_but_its_moments_can():
    X = frame()
    s = explained("numbers", X, keep_rows="4KB")
    assert not s.rows.exact
    with refused(sd.UnsupportedError, "keep_rows="):
        s.resampled(np.ones(len(s.rows)))
    whole = explained("numbers", X)
    np.testing.assert_allclose(s.std_error, whole.std_error, rtol=1e-12)
    lower, upper = s.interval(method="bootstrap")
    assert (lower < upper).all()
