"""Magnitudes: results of a quantity times a power of two are the results times it, or there is an error."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.stats.moments import power_of_two
from tests.helpers import refused

N = 240
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(N, 2)), RNG.integers(0, 3, N)])
WEIGHTS = RNG.uniform(0.5, 2.0, N)
KINDS = {"sample_weight": WEIGHTS, "weight_kind": "sampling"}


def bent(X):
    """Interactions of all features, and a curve."""
    return np.where(X[:, 2] > 1, X[:, 0] * X[:, 1], X[:, 0]) + X[:, 2] + X[:, 0] ** 2


def slopes(X):
    some, one = X[:, 2] > 1, np.ones(len(X))
    return np.stack(
        [np.where(some, X[:, 1], one) + 2 * X[:, 0], np.where(some, X[:, 0], 0.0), one], axis=1
    )


CALLS: dict[str, Callable] = {
    "rhale": lambda q: sd.explain(q, X, 0, **KINDS),
    "ale": lambda q: sd.explain(q, X, 0, method="ale", **KINDS),
    "pdp": lambda q: sd.explain(q, X, 0, method="pdp", **KINDS),
    "mplot": lambda q: sd.explain(q, X, 0, method="mplot", **KINDS),
    "pfi": lambda q: sd.explain(q, X, method="pfi", **KINDS),
    "pair": lambda q: sd.explain(q, X, (0, 1), **KINDS),
    "by": lambda q: sd.explain(q, X, 0, by=2, sample_weight=WEIGHTS),
    "regions": lambda q: sd.regions(q, X, 0, sample_weight=WEIGHTS),
    "interactions": lambda q: sd.interactions(q, X, max_rows=60, ale=False),
    "variance_shares": lambda q: sd.variance_shares(q, X, effects=None),
    "weak_spots": lambda q: sd.weak_spots(q, X, 2 * q.at(X)),
    "change": lambda q: sd.what_if(q, X, {0: 1}),
    "drift": lambda q: sd.drift(q, X[: len(X) // 2], X_new=X[len(X) // 2 :] + 0.5),
    "contrast": lambda q: sd.explain(q, X, 0, by=2).contrast(-0.5, 0.5).difference(),
}


def numbers(value: object, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers of a document, with where they are."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in ("provenance", "seconds"):
                yield from numbers(part, f"{path}/{key}")
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from numbers(part, f"{path}/{i}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, float(value)


@pytest.fixture(scope="module")
def plain() -> dict[str, dict[str, float]]:
    q = sd.prediction(bent, slope=slopes)
    return {name: dict(numbers(call(q).to_dict())) for name, call in CALLS.items()}


@pytest.mark.parametrize(
    ("name", "exponent"),
    [
        pytest.param(
            *case, marks=() if case[0] in ("rhale", "pair", "contrast") else pytest.mark.slow
        )
        for case in itertools.product(CALLS, [-300, 440])
    ],
)
def test_a_power_of_two_in_the_quantity_is_one_in_the_result(plain, name, exponent):
    """A number has the unit of the quantity, that of its square, or none. A warning would be an error."""
    unit = 2.0**exponent
    q = sd.prediction(lambda X: unit * bent(X), slope=lambda X: unit * slopes(X))
    got, want = dict(numbers(CALLS[name](q).to_dict())), plain[name]
    assert got.keys() == want.keys()
    scaled = 0
    for path, value in got.items():
        if np.isnan(value) and np.isnan(want[path]):
            continue
        powers = [
            p for p in (0, 1, 2) if np.isclose(value, want[path] * unit**p, rtol=1e-9, atol=0)
        ]
        assert powers, (path, value, want[path])
        scaled += 0 not in powers
    assert scaled or name == "variance_shares"  # shares only


@pytest.mark.parametrize("method", ["rhale", "ale", "dale", "pdp"])
@pytest.mark.parametrize("exponent", [-220, 100, 220])
def test_a_power_of_two_in_a_feature_changes_no_digit(method, exponent):
    """Floats above 2**53 have no fraction left, but they are no whole numbers between which there are none."""
    unit = 2.0**exponent
    want = sd.explain(bent, X, 0, method=method)
    moved = X * [unit, 1, 1]
    got = sd.explain(lambda Z: bent(Z / [unit, 1, 1]), moved, 0, method=method)
    np.testing.assert_array_equal(got.value, want.value)
    np.testing.assert_array_equal(got.x, want.x * unit)
    np.testing.assert_array_equal(got.std_error, want.std_error)


def test_the_unit_of_numbers_is_a_power_of_two():
    for values, unit in (
        ([5e-324], 5e-324),
        ([-1.7e308, 1.0], 2.0**1023),
        ([np.nan, np.inf, 3], 2),
    ):
        assert power_of_two(values) == unit
    assert power_of_two([]) == power_of_two([0.0]) == 1.0


# --------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("method", ["rhale", "pdp", "pfi"])
@pytest.mark.parametrize(
    ("size", "words"), [(1e-120, ("at most", "1e-100")), (1e200, ("up to", "1e+140"))]
)
def test_quantities_out_of_range_are_refused(method, size, words):
    with refused(sd.ModelOutputError, "prediction(function)", *words, "logarithm"):
        sd.explain(lambda X: size * X[:, 0], X, 0, method=method)


def test_a_quantity_that_is_tiny_at_most_rows_is_none_out_of_range():
    rare = np.zeros((300, 1))
    rare[150] = 1.0
    assert sd.explain(
        lambda X: np.where(X[:, 0] > 0.5, 0.9, 1e-200), rare, 0, method="ale"
    ).importance


@pytest.mark.parametrize(
    ("unit", "size"), [(1e-60, 1e100), (1e-60, 1e50), (1e60, 1e-90), (1e60, 1e-30)]
)
def test_slopes_out_of_range_are_refused(unit, size):
    with refused(sd.DataError, "feature 'x0'", "a quantity divided by", "Rescale both"):
        sd.explain(lambda Z: Z[:, 0] / unit * size, X * unit, 0)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (WEIGHTS * 1e-200, ("positive weights down to", "at least 1e-100")),
        (WEIGHTS * 1e200, ("sum to more than", "2**53")),
    ],
)
def test_weights_out_of_range_are_refused(weights, words):
    for method in ("rhale", "pfi"):
        with refused(sd.DataError, "sample_weight", *words, "Divide them by their mean"):
            sd.explain(bent, X, 0, method=method, sample_weight=weights)


@pytest.mark.parametrize("size", [1e-99, 1e-50, 1e12])
def test_the_size_of_sampling_weights_does_not_matter(size):
    """Their ratios do, and so does the suggestion of the message."""
    for method in ("rhale", "pdp"):
        want = sd.explain(bent, X, 0, method=method, **KINDS)
        got = sd.explain(bent, X, 0, method=method, **{**KINDS, "sample_weight": size * WEIGHTS})
        np.testing.assert_allclose(got.value, want.value, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(got.std_error, want.std_error, rtol=1e-9)


@pytest.mark.parametrize(
    "weights",
    [
        WEIGHTS + 0j,
        WEIGHTS.astype("M8[s]"),
        pd.Series(pd.to_timedelta(WEIGHTS, unit="h")),
        np.array(["1"] * N, dtype=object),
    ],
    ids=["complex", "times", "pandas", "objects"],
)
def test_values_that_numpy_would_convert_are_no_weights(weights):
    with refused(sd.DataError, "sample_weight", "not numbers", "weight of each row"):
        sd.explain(bent, X, 0, sample_weight=weights)


@pytest.mark.parametrize(
    ("weights", "plain_weights"),
    [
        (WEIGHTS > 1, (WEIGHTS > 1) * 1.0),
        ([Decimal(2)] * N, np.full(N, 2.0)),
        (pd.array([3] * N, dtype="Int64"), np.full(N, 3.0)),
        (WEIGHTS.astype(np.float16), WEIGHTS.astype(np.float16).astype(float)),
        (np.ma.masked_array(WEIGHTS, mask=False), WEIGHTS),
    ],
    ids=["mask", "Decimal", "Int64", "float16", "unmasked"],
)
def test_weights_may_be_real_numbers_of_any_type(weights, plain_weights):
    got = sd.explain(bent, X, 0, method="ale", sample_weight=weights)
    want = sd.explain(bent, X, 0, method="ale", sample_weight=plain_weights)
    np.testing.assert_array_equal(got.value, want.value)
