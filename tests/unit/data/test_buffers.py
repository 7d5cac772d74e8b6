"""Buffers: the rows of a batch with some columns replaced by numbers or levels, all others unchanged."""

from __future__ import annotations

import tracemalloc
import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import skedasis as sd
from skedasis.data.containers import LevelReplacement, Part
from skedasis.data.dataset import as_dataset
from skedasis.data.frames import FrameBuffer
from tests.helpers import rows_of

FRAMES = {"pandas": pd.DataFrame, "Polars": pl.DataFrame, "PyArrow": pa.table}

ALWAYS_ON_WRITE = int(pd.__version__.split(".")[0]) >= 3
"""Whether pandas copies frames only when one of them is written to, and has no choice."""
COPY_ON_WRITE = [True] if ALWAYS_ON_WRITE else [False, True]


def copying(*, on_write):
    """Return a context in which pandas copies frames when they are written to, or at once."""
    if ALWAYS_ON_WRITE:
        return nullcontext()
    return pd.option_context("mode.copy_on_write", on_write)


def data(n=7):
    """Return columns of three types."""
    rng = np.random.default_rng(5)
    return {
        "x": rng.integers(0, 9, n),
        "s": np.array(list("pqrst"), dtype=object)[rng.integers(0, 5, n)],
        "z": rng.normal(size=n),
    }


CONTAINERS = {
    **FRAMES,
    "pandas, odd index": lambda columns: pd.DataFrame(columns, index=[3, 3, 0, 9, -1, 3, 2]),
    "objects": lambda columns: np.stack([v.astype(object) for v in columns.values()], axis=1),
}


def brute(X, rows, changes, sets):
    """Return the expected content of a buffer, computed entry by entry."""
    every = rows_of(X)
    out = []
    for k in range(sets):
        for i, row in enumerate(rows):
            new = list(every[row])
            for j, values in changes.items():
                if isinstance(values, LevelReplacement):
                    codes = np.broadcast_to(values.codes[k], len(rows))
                    new[j] = every[values.rows[codes[i]]][j]
                else:
                    new[j] = np.broadcast_to(values[k], len(rows))[i]
            out.append(new)
    return out


@pytest.mark.parametrize("name", CONTAINERS)
def test_buffers_replace_what_is_asked_for_and_nothing_else(name):
    X = CONTAINERS[name](data())
    before = rows_of(X)
    rng = np.random.default_rng(0)
    source = as_dataset(X, sample_weight=[1, 1, 0, 2, 1, 1, 3])
    for batch in [*source.batches(4), source.evenly_spaced_batch(3).take(np.array([2, 0, 1]))]:
        n, rows = len(batch), batch.row_id
        buffer = batch.tile(3)
        text = LevelReplacement(rng.integers(0, 4, (3, n)), np.array([6, 0, 3, 1]))
        one = LevelReplacement(np.array([[1], [0]]), np.array([4, 5]))
        for changes, sets in [
            ({1: text}, 3),
            ({1: one}, 2),
            ({2: rng.normal(size=(2, n)), 1: one}, 2),
            ({0: np.array([[4.0], [2.0], [3.0]])}, 3),
            ({0: (np.arange(n) * 1.0, np.array([7.0]))}, 2),
            ({2: rng.normal(size=(1, n))}, 1),
            ({}, 2),
            ({0: LevelReplacement(text.codes, text.rows), 1: text, 2: text}, 3),
            ({1: text}, 3),
        ]:
            got = rows_of(buffer.swept(changes, sets))
            assert got == brute(X, rows, changes, sets)
            assert rows_of(buffer.own()) == [before[row] for row in rows]
    assert rows_of(X) == before


@pytest.mark.parametrize("order", ["C", "F"])
def test_columns_are_restored_after_any_sequence_of_replacements(order):
    """Blocks of one, two and all columns follow each other: own values are kept of few columns, else read again."""
    rng = np.random.default_rng(3)
    X = np.asarray(rng.normal(size=(9, 5)), order=order)
    (batch,) = as_dataset(X).batches(9)
    buffer = batch.tile(2)
    for _ in range(300):
        some = rng.choice(5, rng.choice([0, 1, 1, 2, 3, 5]), replace=False).tolist()
        sets = int(rng.integers(1, 3))
        changes = {j: rng.normal(size=(sets, 9)) for j in some}
        got = buffer.swept(changes, sets)
        want = np.tile(X, (sets, 1))
        for j, values in changes.items():
            want[:, j] = values.reshape(-1)
        assert np.array_equal(got, want)
        if rng.random() < 0.2:
            assert np.array_equal(buffer.own(), X)


def test_levels_never_promote_a_column_but_fractions_beside_them_do():
    X = np.array([[1, 5], [2, 6], [3, 7]])
    (batch,) = as_dataset(X).batches(3)
    buffer = batch.tile(2)
    coded = LevelReplacement(np.array([[0], [1]]), np.array([2, 0]))
    assert buffer.swept({0: coded}, 2).dtype == X.dtype
    mixed = buffer.swept({0: coded, 1: np.array([[0.5], [2.0]])}, 2)
    assert mixed.dtype == float
    assert mixed.tolist() == [[3, 0.5]] * 3 + [[1, 2.0]] * 3
    again = buffer.swept({0: LevelReplacement(coded.codes[:1], coded.rows)}, 1)
    assert (again.dtype, again.tolist()) == (X.dtype, [[3, 5], [3, 6], [3, 7]])


def test_whole_numbers_beyond_the_digits_of_a_float_are_put_as_they_are():
    big = 2**62 + 1
    for X in (np.array([[big, 1], [5, 2]]), pd.DataFrame({"a": [big, 5], "b": [1, 2]})):
        (batch,) = as_dataset(X).batches(2)
        swept = batch.tile(1).swept({0: LevelReplacement(np.array([[0]]), np.array([0]))}, 1)
        assert rows_of(swept) == [[big, 1], [big, 2]]


# ------------------------------------------------------------------- columns that are not replaced


def wide(columns=60, n=50):
    """Return columns of several types in turn."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=(columns, n))
    kinds = [lambda v: v, lambda v: np.rint(9 * v).astype(np.int64), lambda v: v > 0]
    return {f"c{j}": kinds[j % 3](v) for j, v in enumerate(values)}


def one_by_one(columns):
    """Return a pandas frame with a block for each column."""
    frame = pd.DataFrame(index=np.arange(50))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.PerformanceWarning)
        for name, values in columns.items():
            frame[name] = values
    return frame


WIDE = {
    **FRAMES,
    "pandas, inserted": one_by_one,
    "pandas, nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas, Arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
}


@pytest.mark.parametrize("name", WIDE)
def test_frames_of_several_calls_share_the_columns_that_are_not_replaced(name):
    (batch,) = as_dataset(WIDE[name](wide())).batches(50)
    buffer = batch.tile(4)
    first, second = (buffer.swept({j: np.zeros((4, 50))}, 4) for j in (0, 3))
    for j in (6, 30, 57):  # floats, of which NumPy shows the memory without a copy
        a, b = (np.asarray(frame[f"c{j}"]) for frame in (first, second))
        assert np.shares_memory(a, b) or "nullable" in name or "Arrow" in name
    assert rows_of(second)[0][0] == wide()["c0"][0]


@pytest.mark.parametrize("name", ["pandas", "pandas, inserted"])
def test_a_call_allocates_a_column_of_a_frame_and_not_the_table(name):
    (batch,) = as_dataset(WIDE[name](wide(300))).batches(50)
    buffer = batch.tile(100)
    new = np.zeros((100, 50))
    buffer.swept({0: new}, 100)
    tracemalloc.start()
    for j in range(0, 300, 3):
        buffer.swept({j: new}, 100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * new.nbytes  # the table has 212 times as many bytes as the column


def test_a_pandas_frame_has_few_blocks_however_it_was_made():
    (batch,) = as_dataset(one_by_one(wide(300))).batches(50)
    for frame in (batch.tile(2).own(), batch.tile(2).swept({4: np.ones((2, 50))}, 2)):
        assert len(frame._mgr.blocks) <= 6


def test_a_large_pandas_frame_is_not_copied_to_have_few_blocks(monkeypatch):
    X = one_by_one(wide(300))
    for cells, copied in ((300 * 50, True), (300 * 50 - 1, False)):
        monkeypatch.setattr("skedasis.data.frames._COPIED_CELLS", cells)
        table = as_dataset(X).table
        assert (table.whole_blocks is not table.frame) == copied


@pytest.mark.parametrize("name", FRAMES)
def test_a_column_is_put_together_once_for_all_parts_of_a_call(name, monkeypatch):
    X = FRAMES[name](data(20))
    (batch,) = as_dataset(X).batches(20)
    counted = []
    column = FrameBuffer._column

    def counting(buffer, j, values, **options):
        counted.append(j)
        return column(buffer, j, values, **options)

    monkeypatch.setattr(FrameBuffer, "_column", counting)
    new = [np.random.default_rng(k).normal(size=(2, 20)) for k in range(8)]
    parts = [Part(40 * k, 40 * (k + 1), 2, {2: v}) for k, v in enumerate(new)]
    found = as_dataset(batch.tile(16).joined(parts))
    assert counted == [2]
    np.testing.assert_array_equal(found.table.column(2), np.concatenate(new).ravel())


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "Polars", "PyArrow"]
)
def test_integers_beyond_float64_beside_replaced_ones_are_exact(make):
    whole = 2**60 + np.arange(4)
    (batch,) = as_dataset(make({"a": whole, "b": np.arange(4.0)})).batches(4)
    parts = [Part(0, 4, 1, {1: np.zeros((1, 4))}), Part(4, 8, 1, {0: np.full((1, 4), 7.0)})]
    found = as_dataset(batch.tile(2).joined(parts)).table
    assert found.series(0).to_list() == [*whole.tolist(), 7, 7, 7, 7]
    assert found.series(1).to_list() == [0.0] * 4 + [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("copy_on_write", COPY_ON_WRITE)
@pytest.mark.parametrize("kind", ["plain", "nullable", "Arrow"])
@pytest.mark.parametrize(
    "write",
    [
        lambda X: X.__setitem__("b", 0.0),
        lambda X: X.loc.__setitem__((slice(None), "b"), 0.0),
        lambda X: X.iloc.__setitem__((slice(0, 2), 1), 0.0),
        lambda X: X["b"].to_numpy().__setitem__(slice(None), 0.0),
        lambda X: X["b"].array.__setitem__(0, 0.0),
        lambda X: X.insert(0, "new", 1.0),
        lambda X: X.sort_values("a", inplace=True),
        lambda X: X.fillna(-1.0, inplace=True),
        lambda X: X.drop(columns="b", inplace=True),
        lambda X: setattr(X, "columns", list("dcba")),
    ],
)
def test_a_model_that_writes_to_its_frame_does_not_change_what_the_next_call_gets(
    write, kind, copy_on_write
):
    def model(X):
        out = X["a"] * 2 + X["b"].fillna(3.0) * X["c"]
        return out.to_numpy(dtype=float)

    def writes(X):
        out = model(X)
        try:
            write(X)
        except ValueError as error:  # pandas itself shows these arrays as read-only
            if not (copy_on_write or kind == "Arrow") or "read-only" not in str(error):
                raise
        return out

    values = np.random.default_rng(0).normal(size=(30, 4))
    values[3, 1] = np.nan
    with copying(on_write=copy_on_write):
        X = pd.DataFrame(values, columns=list("abcd"))
        if kind != "plain":
            backend = "pyarrow" if kind == "Arrow" else "numpy_nullable"
            X = X.convert_dtypes(dtype_backend=backend)
        before = X.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "The inplace keyword")  # of pandas 3.1
            found = sd.explain(writes, X, ["b", "c", "d"], method="pdp")
        expected = sd.explain(model, X, ["b", "c", "d"], method="pdp")
        pd.testing.assert_frame_equal(X, before)
    for feature, effect in expected.items():
        np.testing.assert_array_equal(found[feature].value, effect.value)
        assert found[feature].heterogeneity_score == effect.heterogeneity_score


def columns_of_all_kinds(n):
    """Return a pandas frame with a block of each kind of memory."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": x,
            "z": rng.normal(size=n),
            "whole": rng.integers(0, 9, n),
            "flag": x > 0,
            "object": np.array(list("pqr"), dtype=object)[rng.integers(0, 3, n)],
            "category": pd.Categorical(np.array(list("uvw"))[rng.integers(0, 3, n)]),
            "nullable": pd.array(np.rint(9 * x), dtype="Int64"),
            "text": pd.array(np.array(list("abc"))[rng.integers(0, 3, n)], dtype="string"),
            "time": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n), unit="h"),
            "zone": pd.date_range("2020-01-01", periods=n, freq="h", tz="Europe/Berlin"),
            "arrow": pd.Series(x).astype("float64[pyarrow]"),
        }
    )


@pytest.mark.parametrize("copy_on_write", COPY_ON_WRITE)
@pytest.mark.parametrize("n", [60, 2_000])
@pytest.mark.parametrize(
    "explain",
    [
        lambda model, X: sd.explain(model, X, "x", method="ale"),
        lambda model, X: sd.explain(model, X, "x", method=sd.PDP(grid={"x": [0.5]})),
        lambda model, X: sd.explain(model, X, method="pdp"),
        lambda model, X: sd.what_if(model, X, {"x": 0.5}),
    ],
)
def test_the_users_frame_stays_writable(explain, n, copy_on_write):
    def model(X):
        return X["x"].to_numpy() * X["z"].to_numpy()

    with copying(on_write=copy_on_write):
        X = columns_of_all_kinds(n)
        before, flags = X.copy(), memory_flags(X)
        explain(model, X)
        assert memory_flags(X) == flags
        pd.testing.assert_frame_equal(X, before)
        for j, name in enumerate(X.columns):
            X.iloc[0, j] = X[name].iloc[5]
            assert X[name].iloc[0] == before[name].iloc[5]


def memory_of(values):
    """Return the arrays of a block of a pandas frame."""
    parts = [getattr(values, part, None) for part in ("_ndarray", "_data", "_mask")]
    return [a for a in (values, *parts) if isinstance(a, np.ndarray)]


def memory_flags(X):
    """Return whether each array of a pandas frame can be written to."""
    return [a.flags.writeable for b in X._mgr.blocks for a in memory_of(b.values)]


@pytest.mark.parametrize("copy_on_write", COPY_ON_WRITE)
def test_memory_that_calls_share_is_read_only_in_every_kind_of_column(copy_on_write):
    with copying(on_write=copy_on_write):
        X = columns_of_all_kinds(40)
        flags = memory_flags(X)
        (batch,) = as_dataset(X).batches(40)
        swept = batch.tile(1).swept({0: np.zeros((1, 40))}, 1)
        pd.testing.assert_frame_equal(swept.drop(columns="x"), X.drop(columns="x"))
        assert memory_flags(X) == flags
        frozen = [b for b in swept._mgr.blocks if 0 not in b.mgr_locs.as_array]
        assert len(frozen) >= 8
        assert not any(a.flags.writeable for b in frozen for a in memory_of(b.values))


class Writing:
    """A model that writes to its frame, and says nothing of that if it cannot."""

    def __init__(self, always=False):
        self.calls, self.always = 0, always

    def __call__(self, X):
        self.calls += 1
        try:
            if ALWAYS_ON_WRITE:  # the array of a column is read-only then, whoever owns it
                X.loc[:, "x"] = X["x"].to_numpy() + 0.0
            else:
                X["x"].to_numpy()[:] += 0.0
            if self.always:
                raise ValueError
        except ValueError:
            raise RuntimeError(f"call {self.calls} failed") from None
        return X["x"].to_numpy() * X["z"].to_numpy()


def test_a_model_that_cannot_write_gets_a_copy_whatever_its_error_says():
    X = columns_of_all_kinds(50)
    model = Writing()
    found = sd.explain(model, X, "z", method="pdp")
    expected = sd.explain(lambda X: X["x"].to_numpy() * X["z"].to_numpy(), X, "z", method="pdp")
    np.testing.assert_array_equal(found.value, expected.value)


def test_a_model_that_fails_with_a_copy_too_raises_its_first_error():
    X = columns_of_all_kinds(50)

    class Fails(Writing):
        failed = ()

        def __call__(self, X):
            self.always = (X["z"] == 0.25).all()
            if self.always:
                self.failed += (self.calls + 1,)
            return super().__call__(X)

    model = Fails()
    with pytest.raises(RuntimeError, match="failed") as caught:
        sd.explain(model, X, "z", method=sd.PDP(grid={"z": [0.25]}))
    assert str(caught.value) == f"call {model.failed[0]} failed"
    assert model.failed[1] == model.failed[0] + 1
    assert sum("raised while" in note for note in caught.value.__notes__) == 1
