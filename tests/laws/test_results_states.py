"""Results in any order of what users do with them: their numbers, provenance and immutability stay, no model is called.

Each machine starts from one result, and applies saving, copying, tables, pages, intervals and re-binning in random
order. After each step the result equals one that was computed afresh.
"""

from __future__ import annotations

import copy
import io
import json
import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from matplotlib import pyplot as plt

import skedasis as sd

CALLS = 0
"""Calls of the model, which may occur in `explained` only."""


def model(X: pd.DataFrame) -> np.ndarray:
    global CALLS  # noqa: PLW0603 - the count of all machines
    CALLS += 1
    slope = np.where(X["b"] > 0, 2.0, -1.0) + (X["c"] == "u") * 0.5
    return np.asarray(slope * X["a"] + X["b"] ** 2 + (X["c"] == "v"))


def explained(kind: str) -> Any:
    """Return a result of a kind, computed afresh."""
    rng = np.random.default_rng(0)
    n = 60
    X = pd.DataFrame(
        {"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.choice(list("uvw"), n)}
    )
    y = model(X) + 0.1 * rng.normal(size=n)
    few = {"heterogeneity_rows": 50}
    models = [model, lambda X: 2 * model(X)]
    made: dict[str, Callable[[], Any]] = {
        "RHALE": lambda: sd.explain(model, X, "a", method=sd.RHALE(), **few),
        "DALE": lambda: sd.explain(model, X, "a", method=sd.DALE(bins=4), **few),
        "ICE": lambda: sd.explain(model, X, "a", method=sd.ICE(grid=4), **few),
        "levels": lambda: sd.explain(model, X, "c", method=sd.ALE(), **few),
        "M-plot": lambda: sd.explain(model, X, "a", method=sd.MPlot(bins=3)),
        "effects": lambda: sd.explain(model, X, method=sd.ALE(bins=3), **few),
        "surface": lambda: sd.explain(model, X, ("a", "b"), method=sd.ALE(bins=3)),
        "regions": lambda: sd.regions(model, X, "a", method=sd.ALE(bins=3), **few),
        "importance": lambda: sd.explain(
            sd.loss(model, "squared_error"), X, y=y, method=sd.PFI(n_repeats=3, local=10)
        ),
        "models": lambda: sd.explain(models, X, "a", method=sd.ALE(bins=3), refits=True, **few),
        "change": lambda: sd.what_if(model, X, {"a": 0.1}),
        "statistics": lambda: sd.explain(model, X, method=sd.ALE(bins=3)).statistics(
            y, replicates=5
        ),
    }
    return made[kind]()


KINDS = (
    *("RHALE", "DALE", "ICE", "levels", "M-plot", "effects", "surface", "regions"),
    *("importance", "models", "change", "statistics"),
)


@cache
def fresh(kind: str) -> Any:
    """Return a result to compare with, which no machine gets."""
    return explained(kind)


@cache
def started(kind: str) -> bytes:
    """Return another one, pickled: a machine starts from a copy."""
    return pickle.dumps(explained(kind))


# Times, and numbers of calls, which follow from the times that the model took.
COSTS = ("seconds", "calls")


def leaves(value: object, where: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all values in a result with the way to them, but caches and times of computation."""
    if isinstance(value, np.ndarray):
        yield where, value
    elif isinstance(value, Mapping) and not hasattr(value, "__dataclass_fields__"):
        for key, part in value.items():
            if not str(key).endswith(COSTS):
                yield from leaves(part, f"{where}[{key!r}]")
    elif isinstance(value, (list, tuple)) and not hasattr(value, "__dataclass_fields__"):
        for i, part in enumerate(value):
            yield from leaves(part, f"{where}[{i}]")
    elif hasattr(value, "__dataclass_fields__"):
        for name in (f.name for f in fields(value)):
            yield from leaves(getattr(value, name), f"{where}.{name}")
    else:
        yield where, value


def assert_equal(got: object, want: object) -> None:
    assert type(got) is type(want)
    found, wanted = dict(leaves(got)), dict(leaves(want))
    assert found.keys() == wanted.keys()
    for where, value in wanted.items():
        np.testing.assert_array_equal(found[where], value, err_msg=where)


class Results(RuleBasedStateMachine):
    """A result and the calls that it has got."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())

    @initialize(kind=st.sampled_from(KINDS))
    def start(self, kind: str) -> None:
        self.kind, self.want = kind, fresh(kind)
        self.result = pickle.loads(started(kind))
        self.calls = CALLS

    # --- the same result ---

    @rule()
    def save_and_load(self) -> None:
        path = self.folder / "r.npz"
        self.result.save(path)
        self.result = sd.load(path)

    @rule(protocol=st.sampled_from([2, 4, 5]))
    def pickle(self, protocol: int) -> None:
        self.result = pickle.loads(pickle.dumps(self.result, protocol))

    @rule(deep=st.booleans())
    def copy(self, deep: bool) -> None:
        self.result = copy.deepcopy(self.result) if deep else copy.copy(self.result)

    # --- what is made from it ---

    @rule()
    def text(self) -> None:
        assert str(self.result) == str(self.want)
        assert repr(self.result) == repr(self.want)

    @rule(backend=st.sampled_from(["pandas", "polars"]))
    def table(self, backend: str) -> None:
        got, want = self.result.to_frame(backend), self.want.to_frame(backend)
        assert got.equals(want)
        if backend == "pandas":  # the table is the user's to change
            got.iloc[:, :] = got.iloc[::-1].to_numpy()

    @rule(rows=st.booleans())
    def document(self, rows: bool) -> None:
        def plain(result: Any) -> str:
            found = json.loads(result.to_json(rows=rows))
            return json.dumps(_without_costs(found))

        assert plain(self.result) == plain(self.want)

    @precondition(lambda self: hasattr(self.result, "plot"))
    @rule()
    def plot(self) -> None:
        drawn = self.result.plot()
        (drawn if hasattr(drawn, "savefig") else drawn.figure).savefig(io.BytesIO(), format="svg")
        plt.close("all")

    @rule(data=st.data())
    def write(self, data: Any) -> None:
        """Assignments fail, whatever array is taken."""
        arrays = [(w, a) for w, a in leaves(self.result) if isinstance(a, np.ndarray) and a.size]
        if arrays:
            _, array = data.draw(st.sampled_from(arrays))
            with pytest.raises(ValueError, match="read-only"):
                array[...] = array.ravel()[0]

    # --- what holds after each step ---

    @invariant()
    def is_unchanged(self) -> None:
        if hasattr(self, "kind"):
            assert_equal(self.result, self.want)
            assert_unwriteable(self.result)
            assert self.calls == CALLS


def assert_unwriteable(result: object) -> None:
    assert [w for w, a in leaves(result) if isinstance(a, np.ndarray) and a.flags.writeable] == []


def _without_costs(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_costs(part) for part in node]
    if isinstance(node, dict):
        return {k: _without_costs(v) for k, v in node.items() if not str(k).endswith(COSTS)}
    return node


@pytest.mark.slow
def test_results_stay_what_they_are_whatever_is_done_with_them():
    run_state_machine_as_test(Results, settings=settings(stateful_step_count=6))
