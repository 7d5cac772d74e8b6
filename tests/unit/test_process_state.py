"""The state of the process: NumPy's error state, filters of warnings after calls in threads, and a closed stream."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import skedasis as sd

N = 200
X = np.random.default_rng(0).normal(size=(N, 3))
X[:, 2] = np.round(X[:, 2])
Y = X[:, 0] * X[:, 1] + np.random.default_rng(1).normal(size=N)
CLASSIFIER = LogisticRegression().fit(X, Y > 0)


def model(Z: np.ndarray) -> np.ndarray:
    return Z[:, 0] * Z[:, 1] + Z[:, 2] ** 2


def error(y: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.mean((y - predicted) ** 2))


FEW = sd.RHALE(bins=sd.Optimal(min_points=N + 1))  # warns that no partition has enough rows
CALLS: dict[str, Callable[[Path], object]] = {
    "explain": lambda _: sd.explain(model, X),
    "tiny": lambda _: sd.explain(lambda Z: 1e-95 * model(Z), X),
    "uale": lambda _: sd.explain(model, X, method="uale"),
    "entropy": lambda _: sd.explain(sd.entropy(CLASSIFIER), X),
    "metric": lambda _: sd.explain(model, X, y=Y, method=sd.PFI(metric=error, n_repeats=3)),
    "regions": lambda _: sd.regions(model, X),
    "interactions": lambda _: sd.interactions(model, X, max_rows=30),
    "bootstrap": lambda _: sd.explain(model, X, 0).contrast(-1.0, 1.0, method="bootstrap"),
    "threads": lambda _: sd.explain(model, X, n_jobs=2, method=FEW),
    "report": lambda folder: sd.report(
        model,
        X[:60],
        features=[0, 1],
        path=folder / "r.html",
        progress=False,
        regions=False,
        pairs=0,
    ),
}
"""Calls of the main functions."""


def written(result: object) -> str:
    """Return a result as text with all digits, without times and calls, whose number follows from them."""
    text = repr(result) if isinstance(result, list) else result.to_json()
    return re.sub(r'"(\w*seconds|\w*calls)": ?[\d.e+-]+', "", text)


@pytest.mark.filterwarnings("ignore::skedasis.errors.BinningWarning")
@pytest.mark.parametrize("name", CALLS)
def test_results_do_not_depend_on_numpys_error_state(name: str, tmp_path: Path) -> None:
    usual = written(CALLS[name](tmp_path))
    for state in ("raise", "ignore"):
        with np.errstate(all=state):
            before = np.geterr()
            assert written(CALLS[name](tmp_path)) == usual
            assert np.geterr() == before


def test_models_are_called_in_the_error_state_of_the_user() -> None:
    seen: list[dict[str, str]] = []

    def watched(Z: np.ndarray) -> np.ndarray:
        seen.append(dict(np.geterr()))
        return model(Z)

    for state in ("raise", "warn", "ignore"):
        seen.clear()
        with np.errstate(all=state):
            sd.explain(watched, X, 0)
        assert {value for one in seen for value in one.values()} == {state}
    with np.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
        sd.explain(lambda Z: np.exp(-1e4 * np.abs(Z[:, 0])), X, 0)
    assert np.geterr()["under"] == "ignore"


@pytest.mark.filterwarnings("ignore::skedasis.errors.BinningWarning")
@pytest.mark.parametrize("name", ["explain", "metric", "threads", "report"])
def test_calls_in_threads_leave_the_filters_of_warnings_as_they_were(
    name: str, tmp_path: Path
) -> None:
    """Eight threads begin together, so that the calls of all overlap."""
    CALLS[name](tmp_path)  # first calls import libraries, which change filters themselves
    filters, content = warnings.filters, list(warnings.filters)
    shown = warnings.showwarning
    together = Barrier(8)
    folders = [tmp_path / str(k) for k in range(8)]

    def call(folder: Path) -> object:
        together.wait()
        return CALLS[name](folder)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, folders))
    assert warnings.filters is filters
    assert list(warnings.filters) == content
    assert warnings.showwarning is shown


class Closed:
    """A standard error that is closed."""

    def isatty(self) -> bool:
        raise ValueError("I/O operation on closed file")

    def write(self, _: str) -> int:
        raise ValueError("I/O operation on closed file")


@pytest.mark.parametrize("stream", [None, Closed()], ids=["absent", "closed"])
def test_explain_without_standard_error(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    assert len(sd.explain(model, X)) == 3
