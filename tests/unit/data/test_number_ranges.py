"""Numbers that float64 cannot compute with: an error if explained by name, left out if all features are explained."""

from __future__ import annotations

import warnings
from itertools import cycle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import skedasis as sd
from skedasis.errors import DataError
from tests.helpers import refused

N = 60
A = np.linspace(0, 1, N)
BIG = 2**60 + np.arange(N)


def first(X):
    """Return column a of any container."""
    return np.asarray(X["a"], dtype=float)


def integers():
    """Return columns of integers that float64 rounds, in all containers."""
    yield "pandas", pd.DataFrame({"big": BIG, "a": A})
    yield "pandas unsigned", pd.DataFrame({"big": BIG.astype(np.uint64) + 2**63, "a": A})
    yield "pandas negative", pd.DataFrame({"big": -BIG, "a": A})
    yield "pandas nullable", pd.DataFrame({"big": pd.array([None, *BIG[1:]], "Int64"), "a": A})
    yield "pandas objects", pd.DataFrame({"big": BIG.astype(object), "a": A})
    yield "polars", pl.DataFrame({"big": BIG, "a": A})
    yield "pyarrow", pa.table({"big": BIG, "a": A})


@pytest.mark.parametrize(
    ("X", "method"),
    [
        pytest.param(X, method, id=name)
        for (name, X), method in zip(integers(), cycle(["rhale", "pdp", "ale"]), strict=False)
    ],
)
def test_integers_that_float64_rounds_are_refused(X, method):
    with refused(DataError, "feature 'big'", "integer", "2**53", "Subtract an offset"):
        sd.explain(first, X, "big", method=method)
    with pytest.warns(
        sd.LeftOutWarning,
        match="1 feature with numbers out of range was left out: big. Explain one by its name",
    ):
        effects = sd.explain(first, X, method=method)
    assert list(effects) == ["a"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sd.explain(first, X, "a", method=method).importance > 0


def test_integers_in_arrays():
    X = np.column_stack([BIG, np.arange(N)])
    f = lambda X: X[:, 1].astype(float)  # noqa: E731
    with refused(DataError, "feature 'x0'", "integer"):
        sd.explain(f, X, 0)
    with pytest.warns(sd.LeftOutWarning, match="x0"):
        assert list(sd.explain(f, X)) == ["x1"]
    # The suggested fix works.
    X[:, 0] -= BIG.min()
    assert sd.explain(lambda X: X[:, 0] * 1.0, X, 0).importance > 0


def test_integers_up_to_the_limit_are_taken():
    X = np.array([[2**53 - 2], [2**53], [2**53 - 4], [2**53 - 1]] * 5)
    assert sd.explain(lambda X: (X[:, 0] - 2**53) * 1.0, X, 0, method="ale").importance > 0


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (A * 1e-71, ("differ by", "1e-70")),
        (A * -1e300, ("1e+300", "1e+70")),
    ],
)
def test_numbers_too_near_one_another_or_too_large_are_refused(column, words):
    X = np.column_stack([column, A])
    f = lambda X: X[:, 1]  # noqa: E731
    with refused(DataError, "feature 'x0'", *words, "Rescale"):
        sd.explain(f, X, 0)
    with pytest.warns(sd.LeftOutWarning, match="x0"):
        assert list(sd.explain(f, X)) == ["x1"]


@pytest.mark.parametrize("size", [1e-69, 1e-12, 1e12, 1e69])
def test_other_sizes_are_taken(size):
    X = (A * size)[:, None]
    for method in ("ale", "rhale", "dale"):
        q = sd.prediction(lambda X: X[:, 0] / size, slope=lambda X: np.full(X.shape, 1 / size))
        e = sd.explain(q, X, 0, method=method)
        np.testing.assert_allclose(e.value[-1] - e.value[0], 1.0)
        np.testing.assert_allclose(e.importance, A.std())


def test_a_constant_of_any_size_has_no_spread():
    assert sd.explain(lambda X: X[:, 0], np.full((5, 1), 1e-300), 0, method="ale").importance == 0


def test_where_nothing_is_left_the_reason_is_said():
    with refused(DataError, "feature 'x0'", "integer"):
        sd.explain(lambda X: X[:, 0] * 1.0, BIG[:, None])


def test_levels_and_donors_may_be_of_any_size():
    X = pd.DataFrame({"big": 2**60 + np.arange(N) % 3, "a": A})
    sd.explain(first, X, "big", method="ale", schema={"big": "nominal"})
    assert sd.explain(first, X, y=A, method=sd.PFI(n_repeats=3)).features == ("big", "a")
