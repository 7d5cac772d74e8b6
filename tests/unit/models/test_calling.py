"""Rows per call of a slow model, tested with a simulated clock that only the model advances."""

from __future__ import annotations

import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression

import skedasis as sd
from skedasis.models import calling
from skedasis.models.calling import ChunkedCaller
from tests.helpers import bent, frame, of_frame, same_effect

X = np.random.default_rng(0).normal(size=(40_003, 3))


class Clock:
    """Replaces the module `time`; only models advance it."""

    now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    stopped = Clock()
    monkeypatch.setattr(calling, "time", stopped)
    return stopped


def timed(clock, seconds, model=bent):
    """Return a model whose calls take ``seconds(rows)``, and a list that records the rows of each call."""
    sizes = []

    def slow(X):
        sizes.append(len(X))
        clock.now += seconds(len(X))
        return model(X)

    return slow, sizes


def met(clock, seconds, model=bent):
    """Return a caller after the model check, which calls the model on 64 rows; the model; the sizes of later calls."""
    caller = ChunkedCaller()
    slow, sizes = timed(clock, seconds, model)
    caller.call(slow, X[:64], 64)
    sizes.clear()
    return caller, slow, sizes


# ------------------------------------------------------------------------------------ sizes of calls


@pytest.mark.parametrize("row", [1e-9, 1e-6, 6e-6])
def test_a_fast_model_gets_all_rows_in_one_call(clock, row):
    caller, model, sizes = met(clock, lambda n: n * row)
    answer, calls = caller.call(model, X, len(X))
    assert (sizes, calls) == ([len(X)], 1)
    np.testing.assert_array_equal(answer, bent(X))


@pytest.mark.parametrize("row", [3e-5, 1e-4, 1e-3, 1e-2])
def test_calls_of_a_slow_model_last_a_tenth_of_a_second_to_one(clock, row):
    caller, model, sizes = met(clock, lambda n: n * row)
    answer, calls = caller.call(model, X, len(X))
    assert sum(sizes) == len(X)
    assert len(sizes) == calls > 1
    assert all(
        0.1 <= n * row <= 1.5 for n in sizes
    )  # the last chunk has the remaining rows, up to 50 % more
    np.testing.assert_array_equal(answer, bent(X))


def test_a_call_that_costs_more_than_its_rows_gets_more_of_them(clock):
    """20 ms per call and 0.01 ms per row: extrapolating the check of 64 rows would give calls of 3,000 rows."""
    caller, model, sizes = met(clock, lambda n: 0.02 + n * 1e-5)
    caller.call(model, X, len(X))
    assert sizes == [1024, 16_384, len(X) - 1024 - 16_384]
    sizes.clear()
    caller.call(model, X, len(X))
    assert sizes == [len(X)]


# -------------------------------------------------------------------------------------- responses


@pytest.mark.parametrize(
    "answer",
    [
        lambda X: X[:, 0],
        lambda X: X[:, :2],
        lambda X: X[:, 0].astype(np.float32),
        lambda X: X[:, 0] > 0,
        lambda X: X[:, 0].tolist(),
    ],
)
def test_answers_are_put_together_as_they_came(clock, answer):
    caller, model, sizes = met(clock, lambda n: n * 1e-3, answer)
    found, _ = caller.call(model, X[:3000], 3000)
    assert len(sizes) > 1
    assert type(found) is type(answer(X))
    assert np.asarray(found).dtype == np.asarray(answer(X)).dtype
    np.testing.assert_array_equal(found, answer(X[:3000]))


@pytest.mark.parametrize("method", [sd.ALE, sd.RHALE])
def test_a_batch_without_rows_between_the_edges_is_not_asked(method):
    """Estimators raise for an array without rows, so the model is not called."""
    model, rows = LinearRegression().fit(X, X[:, 0]), X[:300].copy()
    rows[:150, 0] = 5.0
    asked = sd.prediction(model.predict)
    edges = method(bins=sd.Edges([-3.0, 0.0, 3.0]), center="start")
    e = sd.explain(asked, rows, 0, method=edges, memory="20KB")
    np.testing.assert_allclose(e.value, [0.0, 3.0, 6.0], atol=1e-9)
    assert e.provenance["rows_outside"] == 150 + np.sum(np.abs(rows[150:, 0]) > 3)


# -------------------------------------------------------------------------------- whole explanations


@pytest.mark.parametrize("method", [sd.ALE(bins=8), sd.RHALE()])
def test_a_slow_model_has_the_same_effects_to_the_last_bit(clock, method):
    rows = X[:5003]
    fast = sd.explain(bent, rows, 0, method=method)
    model, sizes = timed(clock, lambda n: n * 1e-3)
    slow = sd.explain(model, rows, 0, method=method)
    same_effect(slow, fast, rtol=0)
    said = slow.provenance
    assert max(sizes) < 2000
    assert sum(sizes) == said["model_rows"] + said["check_rows"] + said["score_rows"]
    assert len(sizes) == said["model_calls"] + said["check_calls"] + said["score_calls"]
    assert said["model_rows"] == fast.provenance["model_rows"]


@pytest.mark.parametrize("library", [pd.DataFrame, lambda d: pl.DataFrame(d.to_dict("list"))])
def test_parts_of_a_frame_are_frames_of_the_same_kind(clock, library):
    data = frame(5000)
    whole = library(data)
    seen = set()

    def kept(Z):
        seen.add((type(Z), tuple(Z.columns)))
        return np.asarray(of_frame(Z if isinstance(Z, pd.DataFrame) else Z.to_pandas()))

    model, sizes = timed(clock, lambda n: n * 1e-3, kept)
    e = sd.explain(model, whole, "a", method=sd.ALE(bins=5))
    assert seen == {(type(whole), ("a", "b", "c", "d"))}
    assert max(sizes) < 2000
    same_effect(e, sd.explain(kept, whole, "a", method=sd.ALE(bins=5)), rtol=0)


# ----------------------------------------------------------------------------- few rows, many values


@pytest.mark.parametrize("rows", [20, 2_000])
def test_few_rows_are_evaluated_at_many_values_in_one_call(rows):
    """One call takes up to 10,000 rows, so that the fixed cost of a call is paid once."""
    sizes = []

    def model(X):
        sizes.append(len(X))
        return bent(X)

    method = sd.PDP(grid=np.linspace(-1, 1, 100))
    sd.explain(model, X[:rows], 0, method=method, heterogeneity_rows=0)
    calls = sizes[4:]  # after those of the model check
    assert sum(calls) == 100 * rows
    assert len(calls) == max(1, 100 * rows // 10_000) if rows < 1_000 else len(calls) == 10


# -------------------------------------------------------------------------- progress and cancellation


def test_threads_end_at_their_next_call_when_one_fails():
    """Otherwise the other threads would complete all features of their batches before the error is raised."""
    after, failed = [], threading.Event()

    def model(X):
        if (X[:, 1] == 99.0).any() and len(X) > 64:
            time.sleep(0.05)
            failed.set()
            raise RuntimeError("out of order")
        if failed.is_set():
            after.append(threading.get_ident())
            time.sleep(0.01)
        return bent(X)

    rows = np.tile(X[:2000], (1, 20))
    rows[1, 1] = 99.0  # in the first batch, but not among the rows of the model check
    with pytest.raises(RuntimeError, match="out of order") as caught:
        sd.explain(model, rows, None, method=sd.ALE(), memory="1MB", n_jobs=2)
    assert "raised while skedasis called" in caught.value.__notes__[0]
    assert len(after) < 20  # a batch has 60 features
