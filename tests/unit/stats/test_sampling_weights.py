"""Sampling weights have no unit: multiplying them by a constant changes neither bins nor standard errors."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.stats.moments import Moments

RNG = np.random.default_rng(4)
WEIGHTS = RNG.exponential(size=400)


def explained(X, method, unit):
    return sd.explain(
        lambda X: 3 * np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1],
        X,
        0,
        method=method,
        sample_weight=WEIGHTS * unit,
        weight_kind="sampling",
    )


@pytest.mark.parametrize(
    ("method", "unit"),
    [
        (sd.RHALE(), 1e-9),
        (sd.RHALE(sd.Optimal(criterion="likelihood", grid="quantile")), 1e9),
        (sd.RHALE(6), 3.7),
        (sd.RHALE(local_effects="steps"), 1 / WEIGHTS.sum()),
        (sd.ALE(), 1e9),
    ],
    ids=lambda m: repr(m)[:40],
)
def test_the_unit_of_sampling_weights_decides_nothing(method, unit):
    X = np.random.default_rng(5).normal(size=(400, 2))
    want, got = explained(X, method, 1.0), explained(X, method, unit)
    assert got.spec.local_effects == want.spec.local_effects
    np.testing.assert_array_equal(got.bins.low, want.bins.low)
    checks = [e.provenance.get("slope_check") for e in (want, got)]
    assert checks[1] == (None if checks[0] is None else pytest.approx(checks[0], rel=1e-6))
    for name in ("value", "std_error", "heterogeneity"):
        np.testing.assert_allclose(getattr(got, name), getattr(want, name), rtol=1e-8, atol=1e-12)
    assert got.heterogeneity_score == pytest.approx(want.heterogeneity_score, rel=1e-12)
    assert got.heterogeneity_score_error == pytest.approx(want.heterogeneity_score_error, rel=1e-10)


@pytest.mark.parametrize("unit", [1.0, 1e-9])
def test_values_of_a_single_row_have_the_scatter_of_their_neighbours(unit):
    """One row gives no variance estimate. A rounding error was once used as its variance."""
    X = np.random.default_rng(6).normal(size=(400, 2))
    X[:, 0] = np.round(X[:, 0] * 60)
    e = sd.explain(
        lambda X: 3 * np.sin(X[:, 0] / 30) + X[:, 0] / 60 * X[:, 1],
        X,
        0,
        method=sd.DALE(bins=5),
        sample_weight=WEIGHTS * unit,
        weight_kind="sampling",
    )
    assert e.spec.local_effects == "integer_steps"
    plain = sd.explain(
        lambda X: 3 * np.sin(X[:, 0] / 30) + X[:, 0] / 60 * X[:, 1], X, 0, method=sd.DALE(bins=5)
    )
    assert e.std_error.max() < 3 * plain.std_error.max()


def test_a_single_row_has_no_degrees_of_freedom_whatever_the_rounding():
    alone = Moments.of(np.ones(400), np.arange(400), 400, WEIGHTS)
    assert (alone.df(1, "sampling") == 0).all()
    np.testing.assert_array_equal(alone.df(0, "sampling"), WEIGHTS)
    pair = Moments.of(np.ones(400), np.arange(400) // 2, 200, WEIGHTS)
    a, b = WEIGHTS[::2], WEIGHTS[1::2]
    np.testing.assert_allclose(pair.df(1, "sampling"), 2 * a * b / (a + b), rtol=1e-12)


CLASSES = np.array(list("abcd"))[np.random.default_rng(7).integers(0, 4, 400)]
VALUES = np.random.default_rng(8).integers(0, 6, 400)


def mixed_frame():
    """Return rows with a column of few values, one of levels, and two of many values."""
    x = np.random.default_rng(9).normal(size=(400, 2))
    return pd.DataFrame({"few": VALUES, "level": CLASSES, "x": x[:, 0], "z": x[:, 1]})


def mixed_model(X):
    levels = np.array([{"a": 1.0, "b": -1.0, "c": 0.0, "d": 2.0}[v] for v in X["level"]])
    return np.sin(X["x"]) * (1 + X["z"]) + levels * X["z"] + 0.3 * X["few"] * X["x"]


@pytest.mark.parametrize(
    ("method", "feature"),
    [
        *product(["ale", "pdp", "mplot"], ["few", "level", "x"]),
        ("rhale", "few"),
        ("rhale", "x"),
        *product([sd.MPlot(center="mean"), sd.PDP(center="mean")], ["few", "level", "x"]),
    ],
)
def test_the_unit_of_sampling_weights_decides_no_interval(method, feature):
    """Degrees of freedom, too, are those of the effective number of rows, which has no unit."""
    X = mixed_frame()
    want, got = (
        sd.explain(
            mixed_model,
            X,
            feature,
            method=method,
            sample_weight=WEIGHTS**2 * unit,  # about 20 effective rows of 400
            weight_kind="sampling",
            heterogeneity_rows=0,
        )
        for unit in (1.0, 1024.0)
    )
    np.testing.assert_allclose(got.df, want.df, rtol=1e-9)
    ends = dict.fromkeys(("x", "few"), (0.0, 1.0)).get(feature, ("a", "d"))
    for of in ("value", "bins"):
        if of == "bins" and got.bins is None:
            continue
        for simultaneous in (False, True):
            np.testing.assert_allclose(
                got.interval(0.9, of=of, simultaneous=simultaneous),
                want.interval(0.9, of=of, simultaneous=simultaneous),
                rtol=1e-9,
                atol=1e-12,
                err_msg=f"{of}, {simultaneous}",
            )
    one, two = got.contrast(*ends), want.contrast(*ends)
    assert (one.value, one.std_error) == pytest.approx((two.value, two.std_error), rel=1e-9)
    assert one.df == pytest.approx(two.df, rel=1e-9)


def spread_by_weight(X):
    return np.sin(3 * X[:, 0]) + X[:, 1] / np.sqrt(0.05 + X[:, 1])


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("keep_rows", ["2GB", 50])
@pytest.mark.parametrize(
    "bins",
    [None, sd.Optimal(max_bins=4), sd.Optimal(criterion="likelihood"), sd.Edges([0.0, 0.25, 1.0])],
)
def test_means_of_bins_have_the_error_of_independent_rows(bins, keep_rows, ddof):
    """The spread of values falls with their weights, which the variance over effective rows does not see."""
    X = np.random.default_rng(10).uniform(0, 1, size=(400, 2))
    X[:2, 0] = 0, 1
    w, values = 0.05 + X[:, 1], spread_by_weight(X)
    options = {"sample_weight": w, "weight_kind": "sampling", "keep_rows": keep_rows}
    method = sd.MPlot(bins=sd.Edges(np.linspace(0, 1, 9), closed="right"), ddof=ddof)
    e = sd.explain(spread_by_weight, X, 0, method=method, **options)
    e = e if bins is None else e.rebin(bins)
    wanted = []
    for low, high in zip(e.bins.low, e.bins.high, strict=True):
        inside = (X[:, 0] > low) & (X[:, 0] <= high) | (X[:, 0] == low) & (low == 0)
        y, own = values[inside], w[inside]
        rows = own.sum() ** 2 / (own**2).sum()
        square = (own**2 * (y - np.average(y, weights=own)) ** 2).sum() / own.sum() ** 2
        wanted.append(np.sqrt(square * (rows / (rows - 1) if ddof else 1)))
    np.testing.assert_allclose(e.std_error, wanted, rtol=1e-12)
    np.testing.assert_allclose(e.bins.std_error, wanted, rtol=1e-12)
    change = e.contrast(e.x[0], e.x[-1])
    assert change.std_error == pytest.approx(np.hypot(wanted[0], wanted[-1]), rel=1e-12)
    np.testing.assert_allclose((e - e).std_error, np.sqrt(2) * np.array(wanted), rtol=1e-12)
