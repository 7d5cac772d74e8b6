"""Labels, kinds of predictive distributions, and the floating-point type that they were computed in."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import skedasis as sd
from skedasis.distributions.base import Labels
from skedasis.distributions.categorical import as_classes
from skedasis.distributions.continuous import (
    as_normal,
    find_integer_roots,
    find_roots,
)
from skedasis.distributions.scipy import as_distribution
from tests.helpers import refused

X = np.random.default_rng(0).normal(size=(40, 2))
N = len(X)


def test_labels_of_classes_are_found_whatever_their_type():
    labels = Labels("classes", ["a", 1, True, None.__class__.__name__])
    assert labels.encode(np.array(["a", 1, "NoneType"], dtype=object), "q").tolist() == [0, 2, 3]
    assert labels.values is None
    assert Labels("classes", [1, 2.5]).values.tolist() == [1.0, 2.5]
    assert Labels("classes", [False, True]).values.tolist() == [0.0, 1.0]
    assert Labels().values is None
    with refused(sd.DataError, "[1, 2]"):
        strange = np.empty(1, dtype=object)
        strange[0] = [1, 2]
        labels.encode(strange, "q")


def test_single_precision_sums_to_1_within_its_own_rounding():
    p = np.random.default_rng(1).dirichlet(np.ones(50), size=N).astype(np.float32)
    assert np.isfinite(sd.entropy(lambda X: p).at(X)).all()
    # Probabilities computed in float32 and converted to float64 are checked with float32's tolerance.
    shifted = p.astype(float) * (1 + 1e-5)
    with refused(sd.ModelOutputError, "differs from 1"):
        sd.entropy(lambda X: shifted).at(X)
    wide = (p * np.float32(1 + 1e-5)).astype(float)
    assert np.isfinite(sd.entropy(lambda X: wide).at(X)).all()


@pytest.mark.parametrize("k", [2, 5])
def test_the_type_that_a_model_computed_in_is_found(k):
    p = np.random.default_rng(2).dirichlet(np.ones(k), size=N)
    single = p.astype(np.float32)
    for given, expected in (
        (p, "f8"),
        (single, "f4"),
        (single.astype(float), "f4"),
        (p.round(1), "f8"),
    ):
        if np.allclose(given.sum(axis=1), 1, atol=1e-6):
            assert as_classes(given, N, "m").dtype == np.dtype(expected)
    mean = X[:, 0]
    for given, expected in (
        (mean, "f8"),
        (mean.astype("f4"), "f4"),
        (mean.astype("f4").astype(float), "f4"),
    ):
        assert as_normal(given, np.ones(N, dtype=given.dtype), N, "m").dtype == np.dtype(expected)
        frozen = as_distribution(st.laplace(given, 1.0), N, "m")
        assert frozen.dtype == np.dtype(expected)


# ----------------------------------------------------------------- SciPy distributions as responses


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda X: st.norm(0.0, 1.0), ("mean of shape ()",)),
        (lambda X: st.gamma(2.0), ("distributions of shape ()", "one number for each row")),
        (
            lambda X: st.gamma(np.where(X[:, 0] > 0, 1.0, -1.0)),
            ("invalid parameters", "of 40 rows"),
        ),
        (lambda X: st.norm(X[:, 0], -np.ones(N)), ("NaN",)),
    ],
)
def test_distributions_of_another_shape_are_refused(answer, words):
    with refused(sd.ModelOutputError, *words):
        sd.entropy(answer).at(X)


def test_labels_that_cannot_occur_are_counted():
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    bad = int((y < 0).sum())
    with refused(sd.ModelOutputError, f"likelihood of 0 for the labels of {bad} of 40 rows"):
        sd.nll(lambda X: st.gamma(np.full(len(X), 2.0))).at(X, y)
    with refused(sd.ModelOutputError, "likelihood of 0"):
        sd.nll(lambda X: st.poisson(np.full(len(X), 2.0))).at(X, np.full(N, 0.5))


def test_counts_over_too_many_numbers_and_values_that_are_no_counts_are_refused():
    wide = sd.ensemble(lambda X, s: st.poisson(np.full(len(X), 1e10)), samples=2)
    with refused(sd.UnsupportedError, "integers", "100,000"):
        sd.entropy(wide).at(X)
    halves = st.rv_discrete(values=([0, 0.5, 1], [0.2, 0.5, 0.3]))
    with refused(sd.UnsupportedError, "not integers"):
        sd.entropy(sd.ensemble(lambda X, s: halves(np.zeros(len(X))), samples=2)).at(X)


# ------------------------------------------------------------------------------------------- roots


def test_roots_are_found_where_newton_would_run_away():
    low, high, unit = np.full(3, -50.0), np.full(3, 80.0), np.ones(3)
    target = np.array([-3.0, 0.5, 20.0])
    root = find_roots(
        low,
        high,
        unit,
        lambda x, rows: np.arctan(1e3 * (x - target[rows])),
        lambda x, rows: 1e3 / (1 + (1e3 * (x - target[rows])) ** 2),
    )
    np.testing.assert_allclose(root, target, atol=1e-13)


def test_flat_functions_are_halved():
    step = find_roots(
        np.zeros(1),
        np.ones(1),
        np.ones(1),
        lambda x, rows: np.where(x < 0.3, -1.0, 1.0),
        lambda x, rows: 0 * x,
    )
    assert step[0] == pytest.approx(0.3, abs=1e-14)


def test_whole_numbers_are_found():
    found = find_integer_roots(
        np.array([0.0, -4.0, 7.0]),
        np.array([100.0, 9.0, 7.0]),
        lambda k: k - np.array([41.5, -4.0, 3.0]),
    )
    assert found.tolist() == [42.0, -4.0, 7.0]
