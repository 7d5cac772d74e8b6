"""What a model may return: containers of NumPy, SciPy, pandas, Polars, torch and JAX, read as the same numbers."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import skedasis as sd
from tests.helpers import refused

RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 0.9, size=(60, 2))


def tensor(numbers: np.ndarray, dtype: str = "float64", **options: Any) -> Any:
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    return torch.tensor(numbers, dtype=getattr(torch, dtype), **options)


def of_jax(numbers: np.ndarray) -> Any:
    return pytest.importorskip("jax.numpy").asarray(numbers, dtype="bfloat16")


TORCH = {
    "tensor": tensor,
    "requires grad": lambda r: tensor(r, requires_grad=True),
    "float16": lambda r: tensor(r, "float16", requires_grad=True),
    "bfloat16": lambda r: tensor(r, "bfloat16"),
    "bfloat16 that requires grad": lambda r: tensor(r, "bfloat16", requires_grad=True),
    "sparse tensor": lambda r: tensor(r).to_sparse(),
    "list of tensors": lambda r: list(tensor(r, requires_grad=True)),
}
USUAL = {
    "frame": pd.DataFrame,
    "nullable frame": lambda r: pd.DataFrame(r).convert_dtypes(),
    "Polars frame": lambda r: pl.DataFrame(np.atleast_2d(r.T).T),
    "sparse matrix": lambda r: sp.csr_matrix(np.atleast_2d(r.T).T),
    "sparse array": lambda r: sp.coo_array(np.atleast_2d(r.T).T),
    "masked array": lambda r: np.ma.masked_array(r, np.zeros(r.shape, bool)),
    "float16 array": lambda r: r.astype(np.float16),
}
KINDS = [
    *(pytest.param(wrap, id=name) for name, wrap in USUAL.items()),
    *(pytest.param(wrap, id=name, marks=pytest.mark.slow) for name, wrap in TORCH.items()),
    pytest.param(of_jax, id="bfloat16 of JAX", marks=pytest.mark.slow),
]


def one(rows: np.ndarray) -> np.ndarray:
    return rows[:, 0] * rows[:, 1]


def two(rows: np.ndarray) -> np.ndarray:
    return np.column_stack([one(rows), 1 - one(rows)])


ASKED = {
    "prediction": (lambda wrap: sd.prediction(lambda r: wrap(one(r))), one),
    "inverse": (
        lambda wrap: sd.prediction(lambda r: wrap(one(r)), inverse="exp"),
        lambda r: np.exp(one(r)),
    ),
    "output": (lambda wrap: sd.prediction(lambda r: wrap(two(r)), output=1), lambda r: 1 - one(r)),
    "probability": (lambda wrap: sd.probability(lambda r: wrap(two(r)), class_=0), one),
    "logit": (
        lambda wrap: sd.logit(lambda r: wrap(two(r)), class_=0),
        lambda r: np.log(one(r) / (1 - one(r))),
    ),
    "loss": (lambda wrap: sd.loss(lambda r: wrap(one(r))), lambda r: (r[:, 0] - one(r)) ** 2),
}


@pytest.mark.parametrize("wrap", KINDS)
def test_responses_are_read_as_numbers(wrap):
    for asked, (quantity, expected) in ASKED.items():
        # bfloat16 has 8 bits, and of log odds and squares more than one is lost.
        found = quantity(wrap).at(X, X[:, 0] if asked == "loss" else None)
        assert np.allclose(found, expected(X), atol=0.03), asked


@pytest.mark.parametrize("wrap", KINDS)
def test_all_outputs_and_effects_are_of_these_numbers(wrap):
    several = sd.prediction(lambda r: wrap(two(r)), output="all")
    grid = np.array([0.2, 0.8])
    found = sd.explain(several, X, 0, method=sd.PDP(grid=grid, center=None))
    assert np.allclose(found[0].value, grid * X[:, 1].mean(), atol=0.01)
    assert np.allclose(found[1].value, 1 - grid * X[:, 1].mean(), atol=0.01)


@pytest.mark.slow
def test_slopes_and_distributions_may_be_tensors():
    slopes = sd.prediction(one, slope=lambda r: tensor(r[:, ::-1].copy(), requires_grad=True))
    exact = sd.prediction(one, slope=lambda r: r[:, ::-1])
    assert np.array_equal(sd.explain(slopes, X, 0).value, sd.explain(exact, X, 0).value)
    p = two(X)
    found = sd.entropy(lambda r: tensor(two(r), requires_grad=True)).at(X)
    assert np.allclose(found, -(p * np.log(p)).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("output", [0, "all"])
def test_masked_values_are_missing_in_each_output(output):
    def masked(rows):
        return np.ma.masked_array(two(rows), two(rows) > 0.7)

    with refused(sd.ModelOutputError, "NaN or infinity", "impute them"):
        sd.explain(sd.prediction(masked, output=output), X, 0)
