"""Joint calls: the same numbers from the same model rows as calls for each feature, in fewer calls."""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import skedasis as sd
from skedasis.data.containers import DonorRows, LevelReplacement, Part
from skedasis.data.dataset import as_dataset
from skedasis.engine import prepare
from skedasis.models.calling import ChunkedCaller
from skedasis.quantities.evaluator import ResponseCache
from skedasis.quantities.joint_calls import JointCalls
from tests.helpers import paired, refused


def table(n=60):
    """Return columns of several types, one with missing values, one far from zero."""
    rng = np.random.default_rng(4)
    holes = rng.normal(size=n)
    holes[::7] = np.nan
    return {
        "a": rng.normal(size=n),
        "k": rng.integers(0, 6, n),
        "s": np.array(list("pqr"))[rng.integers(0, 3, n)],
        "m": holes,
        "t": 1.7e9 + 1e5 * rng.normal(size=n),
        "b": rng.normal(size=n) > 0,
        "f": rng.normal(size=n).astype(np.float32),
    }


def plain(columns):
    """Return the columns as one array of floats."""
    numbers = [columns["s"] == "p" if name == "s" else v for name, v in columns.items()]
    return np.stack(numbers, axis=1).astype(float)


CONTAINERS = {
    "array": plain,
    "objects": lambda c: np.stack([np.asarray(v, dtype=object) for v in c.values()], axis=1),
    "pandas": lambda c: pd.DataFrame(c).astype({"s": "category"}).set_axis([5] * len(c["a"])),
    "nullable": lambda c: pd.DataFrame(c).convert_dtypes(),
    "polars": lambda c: pl.DataFrame(c).with_columns(pl.col("s").cast(pl.Categorical)),
    "arrow": lambda c: pa.table({k: pa.array(v, from_pandas=True) for k, v in c.items()}),
}


class Model:
    """A function of all columns of any container, that notes its calls and the types of the columns."""

    def __init__(self, outputs=1):
        self.outputs, self.calls, self.types = outputs, [], set()

    def __call__(self, X):
        self.calls.append(len(X))
        if isinstance(X, np.ndarray):
            self.types.add(str(X.dtype))
            text = X[:, 2].astype(str)
            columns = [*X.T[:2], (text == "p") | (text == "1.0"), *X.T[3:]]
        else:
            frame = X if isinstance(X, pd.DataFrame) else X.to_pandas()
            schema = X.dtypes if isinstance(X, pd.DataFrame) else X.schema
            self.types.add(str(schema))
            columns = [frame[c] == "p" if c == "s" else frame[c] for c in frame.columns]
        a, k, s, m, t, b, f = (
            pd.Series(np.asarray(v)).astype("Float64").to_numpy(float, na_value=np.nan)
            for v in columns
        )
        found = (
            a * b + k * s + np.where(np.isnan(m), 0.3, np.sin(m)) * a + 1e-5 * (t - 1.7e9) + f**2
        )
        return found if self.outputs == 1 else np.stack([found, a * f], axis=1)


def explained(X, method, monkeypatch, *, joint, outputs=1, **options):
    """Return the results of all features, and the model that gave them."""
    model = Model(outputs)
    quantity = model if outputs == 1 else sd.prediction(model, output="all")
    with monkeypatch.context() as patch:
        # Calls take no time, so that none is cut into parts because it lasts too long.
        patch.setattr("skedasis.models.calling.time.perf_counter", lambda: 0.0)
        if not joint:
            patch.setattr(prepare, "JOINT_CELLS", 0)
        return sd.explain(quantity, X, method=method, **options), model


def numbers(effects):
    """Return the numbers of effects of one output."""
    return {
        name: (
            e.value,
            e.heterogeneity,
            e.heterogeneity_score,
            e.spread.value,
            np.array(getattr(e.missing_point, "effect", np.nan)),
        )
        for name, e in effects.items()
    }


@pytest.mark.parametrize(
    ("method", "kind"),
    paired(["rhale", "ale", "pdp", "dale", "ice", "uale"], CONTAINERS),
)
def test_numbers_rows_and_types_are_those_of_a_call_for_each_feature(method, kind, monkeypatch):
    X = CONTAINERS[kind](table())
    together, few = explained(X, method, monkeypatch, joint=True)
    apart, many = explained(X, method, monkeypatch, joint=False)
    for name, found in numbers(apart).items():
        for one, other in zip(numbers(together)[name], found, strict=True):
            np.testing.assert_array_equal(one, other)
    assert sum(few.calls) == sum(many.calls)
    assert len(few.calls) < 0.7 * len(many.calls)
    assert few.types == many.types


@pytest.mark.parametrize("method", ["rhale", "pdp"])
def test_several_outputs_are_computed_from_the_same_joint_calls(method, monkeypatch):
    X = CONTAINERS["array"](table())
    together, few = explained(X, method, monkeypatch, joint=True, outputs=2)
    apart, many = explained(X, method, monkeypatch, joint=False, outputs=2)
    for label, effects in apart.items():
        for name, found in numbers(effects).items():
            for one, other in zip(numbers(together[label])[name], found, strict=True):
                np.testing.assert_array_equal(one, other)
    assert sum(few.calls) == sum(many.calls)
    assert len(few.calls) < len(many.calls)


def product(X):
    return X[:, 0] * X[:, 1] + np.sin(X[:, 2])


@pytest.mark.parametrize(
    ("method", "calls"), [("rhale", 16), ("ale", 11), ("pdp", 24), ("dale", 16)]
)
def test_twenty_features_of_few_rows_take_few_calls(method, calls, monkeypatch):
    monkeypatch.setattr("skedasis.models.calling.time.perf_counter", lambda: 0.0)
    X = np.random.default_rng(0).normal(size=(400, 20))
    model = sd.prediction(counted := Counted())
    sd.explain(model, X, method=method)
    assert len(counted.calls) <= calls


class Counted:
    def __init__(self):
        self.calls = []

    def __call__(self, X):
        self.calls.append(len(X))
        return product(X)


def test_many_rows_have_calls_of_their_own(monkeypatch):
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    sizes = []
    for cells in (prepare.JOINT_CELLS, 0):
        model = Counted()
        monkeypatch.setattr(prepare, "JOINT_CELLS", cells)
        sd.explain(model, X, method="ale", heterogeneity_rows=0)
        sizes.append(model.calls)
    assert sizes[0] == sizes[1]


def test_a_model_that_fails_for_one_feature_names_it_in_its_error():
    def model(X):
        if X["b"].max() > 5.0:
            raise OverflowError("too large")
        return (X["a"] * X["c"]).to_numpy()

    X = pd.DataFrame(np.random.default_rng(0).uniform(size=(50, 3)), columns=list("abc"))
    with pytest.raises(OverflowError, match="too large") as caught:
        sd.explain(model, X, method=sd.PDP(grid={"b": [0.0, 9.0]}))
    assert any("column 'b' replaced" in note for note in caught.value.__notes__)


def test_a_response_that_is_not_finite_names_its_feature():
    def model(X):
        return np.where(X["b"] > 5.0, np.nan, X["a"] * X["c"])

    X = pd.DataFrame(np.random.default_rng(0).uniform(size=(50, 3)), columns=list("abc"))
    with refused(sd.ModelOutputError, "NaN or infinity", "column 'b' replaced"):
        sd.explain(model, X, method=sd.PDP(grid={"b": [0.0, 9.0]}))


def test_a_grid_that_changes_the_type_of_a_column_changes_it_for_that_feature_alone():
    types = []

    def model(X):
        types.append(X["k"].dtype)
        return X["a"].to_numpy() * (X["k"].astype(str).str.len() == 1)

    X = pd.DataFrame({"a": np.linspace(0, 1, 30), "k": np.arange(30) % 7, "c": 1.0})
    found = sd.explain(model, X, ["a", "k", "c"], method=sd.PDP(grid={"k": [0.5, 2.0]}))
    assert found["a"].value.max() > 0.5
    assert {str(t) for t in types} == {"int64", "float64"}


def test_a_model_that_fails_for_many_rows_pays_for_one_joint_call():
    def explained_by(most):
        calls = []

        def model(X):
            calls.append(len(X))
            if len(X) > most:
                raise MemoryError
            return product(X)

        X = np.random.default_rng(0).normal(size=(400, 20))
        found = sd.explain(model, X, method="ale")
        return found, calls

    found, calls = explained_by(2_000)
    expected, _ = explained_by(np.inf)
    assert sum(n > 2_000 for n in calls) == 1
    for name, e in expected.items():
        np.testing.assert_array_equal(found[name].value, e.value)


@pytest.mark.parametrize("holes", [False, True])
def test_slopes_are_asked_once_however_often_a_computation_starts(holes, monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 5))
    if holes:
        X[::9, :] = np.nan
    rows = []

    def slopes(X):
        rows.append(len(X))
        out = np.zeros_like(X)
        out[:, 0], out[:, 1], out[:, 2] = X[:, 1], X[:, 0], np.cos(X[:, 2])
        return np.nan_to_num(out)

    def explained(cells):
        rows.clear()
        monkeypatch.setattr(prepare, "JOINT_CELLS", cells)
        quantity = sd.prediction(lambda X: np.nan_to_num(product(X)), slope=slopes)
        found = sd.explain(quantity, X, method=sd.PDP(derivative=True))
        assert found.provenance["slope_rows"] == sum(rows)
        return found, sum(rows)

    together, few = explained(prepare.JOINT_CELLS)
    apart, many = explained(0)
    assert few == many
    for name, e in apart.items():
        np.testing.assert_array_equal(together[name].value, e.value)


def test_the_parts_of_a_sweep_wait_together():
    """Else a computation would be started again for each part, and go through all parts before it."""
    X, calls, starts = np.random.default_rng(0).normal(size=(60, 3)), [], []
    grid = np.linspace(-1, 1, 40)

    def model(T):
        calls.append(len(T))
        return product(T)

    (batch,) = as_dataset(X).batches(60)
    evaluator = sd.prediction(model).evaluator(batch, 2, cache=ResponseCache())
    evaluator.joint = JointCalls(3_000)

    def work(j):
        starts.append(j)
        return evaluator.sweep(j, grid)

    found = list(evaluator.joint.results([partial(work, j) for j in range(3)]))
    for j, swept in enumerate(found):
        for k, value in enumerate(grid):
            moved = X.copy()
            moved[:, j] = value
            np.testing.assert_array_equal(swept[:, k], product(moved))
    # 40 points of 60 rows each: a feature fills most of a call.
    assert calls == [3_000, 3_000, 1_200]
    assert sorted(starts) == [0, 0, 1, 1, 2, 2]


# ------------------------------------------------------------------------------- joined rows


@pytest.mark.parametrize("kind", CONTAINERS)
def test_parts_of_a_call_have_the_rows_that_calls_of_their_own_would_have(kind):
    X = CONTAINERS[kind](table(40))
    (batch,) = as_dataset(X).batches(40)
    rng = np.random.default_rng(1)
    changes = [
        ({0: rng.normal(size=(2, 40))}, 2),
        ({2: LevelReplacement(rng.integers(0, 3, (3, 40)), np.array([1, 2, 5]))}, 3),
        ({3: DonorRows(rng.integers(0, 40, (1, 40)))}, 1),
        ({0: (np.zeros(40), np.ones(1)), 4: np.full((2, 1), 1.7e9)}, 2),
        ({1: np.array([[2.0], [4.0]])}, 2),
    ]
    ends = np.cumsum([40 * sets for _, sets in changes])
    parts = [Part(e - 40 * m, e, m, c) for e, (c, m) in zip(ends.tolist(), changes, strict=True)]
    buffer = batch.tile(10)
    table_rows = np.tile(batch.table_rows, 10)
    alone = pd.concat([as_pandas(batch.tile(m).swept(c, m)) for c, m in changes])
    for found in (
        buffer.joined(parts),
        batch.dataset.table.joined(table_rows, parts),
        buffer.joined(parts),
    ):
        pd.testing.assert_frame_equal(as_pandas(found), alone.reset_index(drop=True))
    assert as_pandas(buffer.own()).equals(as_pandas(X))


def as_pandas(rows):
    if isinstance(rows, np.ndarray):
        rows = pd.DataFrame(rows)
    frame = rows if isinstance(rows, pd.DataFrame) else rows.to_pandas()
    return frame.reset_index(drop=True)


@pytest.mark.parametrize("kind", ["array", "pandas"])
def test_a_joint_call_allocates_its_columns_and_not_the_table(kind):
    values = np.random.default_rng(0).normal(size=(20, 400))
    X = (
        values
        if kind == "array"
        else pd.DataFrame(values).set_axis([f"c{j}" for j in range(400)], axis=1)
    )
    (batch,) = as_dataset(X).batches(20)
    buffer = batch.tile(80)
    new = np.zeros((20, 20))

    def call(first):
        parts = [Part(400 * k, 400 * (k + 1), 20, {first + k: new}) for k in range(4)]
        return buffer.joined(parts)

    call(0)
    tracemalloc.start()
    for first in range(0, 400, 4):
        call(first)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 120 * 1600 * 8  # a call copies 4 columns; the table has 400 such columns


# ---------------------------------------------------------------------------- calls of slow models


@pytest.mark.parametrize(
    ("call", "row", "most"),
    [(0.5, 0.0, 1.05), (0.5, 1e-4, 1.4), (0.05, 1e-3, 1.25), (0.0, 1e-3, 1.1)],
)
def test_a_model_whose_calls_cost_much_gets_few_of_them(call, row, most, monkeypatch):
    """The clock is the model's: `call` seconds for each call, `row` for each row."""
    clock = [0.0]
    monkeypatch.setattr("skedasis.models.calling.time.perf_counter", lambda: clock[0])
    caller = ChunkedCaller()

    def model(X):
        clock[0] += call + row * len(X)
        return np.zeros(len(X))

    for n in (64, 2, 60):
        caller.call(model, np.zeros((n, 1)), n)
    before, n, calls = clock[0], 100_000, 20
    for _ in range(calls):
        caller.call(model, np.zeros((n, 1)), n)
    assert clock[0] - before <= most * calls * (call + row * n) + 4 * call
