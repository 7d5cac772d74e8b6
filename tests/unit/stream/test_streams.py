"""Rows of Parquet, read in chunks, give bit for bit what the same rows give in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import skedasis as sd

pytest.importorskip("pyarrow")
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.neural_network import MLPRegressor

N = 30_001
COLUMNS = ["a", "b", "c", "t", "m", "k"]
NUMBERS = ["a", "b", "c", "t"]


def _frame(n: int, seed: int = 0) -> pd.DataFrame:
    r = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": r.normal(size=n),
            "b": r.normal(size=n).astype("f4"),
            "c": r.integers(0, 9, n),
            "t": 1.7e9 + np.arange(n) * 0.37,
            "m": np.where(r.random(n) < 0.1, np.nan, r.random(n)),
        }
    )
    frame["k"] = np.where(frame.a > 1, "high", r.choice(list("uvwxyz"), n))
    frame["weight"] = r.integers(1, 4, n) * 0.3
    frame["label"] = frame.a * frame.b + r.normal(size=n)
    return frame


def _written(frame: pd.DataFrame, folder: Path, cuts: list[int], groups: list[int]) -> Path:
    """Write a frame to files that end at `cuts`, in row groups of these sizes."""
    folder.mkdir()
    starts = [0, *cuts]
    for i, (start, stop) in enumerate(zip(starts, [*cuts, len(frame)], strict=True)):
        table = pa.Table.from_pandas(frame.iloc[start:stop], preserve_index=False)
        size = groups[i % len(groups)]
        pq.write_table(table, folder / f"part-{i}.parquet", row_group_size=size)
    return folder


@pytest.fixture(scope="module")
def frame():
    return _frame(N)


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    where = tmp_path_factory.mktemp("streams") / "data"
    return _written(frame, where, [1, 10_000, 22_222], [1, 3_333, 5_000, 50_000])


def _function(X):
    curve = np.exp((X["t"] - 1.7e9) / 1e4) + np.sin(X["c"])
    return X["a"] * X["b"] + curve + np.where(X["m"] > 0.5, 1.0, 0.0) + (X["k"] == "high") * X["a"]


def _product(X):
    return X["a"] * X["b"]


def _differences(one, other) -> list[str]:
    """Return the names of what differs in any bit."""
    names = ["value", "heterogeneity", "std_error", "importance", "heterogeneity_score"]
    found = [
        name
        for name in names
        if hasattr(one, name)
        and not np.array_equal(
            np.asarray(getattr(one, name)), np.asarray(getattr(other, name)), equal_nan=True
        )
    ]
    axes = [e.x if isinstance(e.x, tuple) else (e.x,) for e in (one, other)]
    same = all(np.array_equal(p, q) for p, q in zip(*axes, strict=True))
    return found if same else [*found, "x"]


def _all_equal(one, other) -> bool:
    return list(one) == list(other) and not any(_differences(one[k], other[k]) for k in one)


METHODS = [
    (sd.ALE(), None),
    (sd.RHALE(), "weight"),
    (sd.PDP(grid=7), None),
    (sd.MPlot(), "weight"),
    (sd.UALE(), None),
]
SMALL = {"progress": False, "memory": "3MB", "keep_rows": "300KB", "heterogeneity_rows": 500}


@pytest.mark.parametrize(("method", "weight"), METHODS, ids=lambda v: getattr(v, "name", v))
def test_a_function_of_mixed_columns(frame, folder, method, weight):
    data = sd.parquet(folder, columns=COLUMNS, sample_weight=weight)
    weights = {} if weight is None else {"sample_weight": frame[weight].to_numpy()}
    memory = sd.explain(_function, frame[COLUMNS], method=method, **SMALL, **weights)
    streamed = sd.explain(_function, data, method=method, **SMALL)
    assert _all_equal(memory, streamed)
    assert memory["a"].provenance["rows_kept"] == streamed["a"].provenance["rows_kept"]
    assert memory["a"].provenance["effect_rows"] == streamed["a"].provenance["effect_rows"]


@pytest.mark.parametrize(
    ("method", "tree"),
    [
        ("ale", "auto"),
        ("rhale", "off"),
        ("pdp", "auto"),
    ],
)
def test_trees(frame, folder, method, tree):
    X = frame[NUMBERS]
    model = HistGradientBoostingRegressor(max_iter=10).fit(X, frame["label"])
    data = sd.parquet(folder, columns=NUMBERS)
    memory = sd.explain(model, X, method=method, tree=tree, **SMALL)
    streamed = sd.explain(model, data, method=method, tree=tree, **SMALL)
    assert _all_equal(memory, streamed)
    assert ("trees" in streamed["a"].provenance) == (tree == "auto")


@pytest.mark.parametrize("method", ["ale", "rhale", "dale"])
def test_a_network_that_was_fitted_on_arrays(frame, folder, method):
    X = frame[NUMBERS].to_numpy()
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    model = MLPRegressor(hidden_layer_sizes=(8,), max_iter=20, random_state=0, tol=1.0).fit(
        scaled[:2_000], frame["label"][:2_000]
    )
    data = sd.parquet(folder, columns=NUMBERS, container="numpy")
    memory = sd.explain(model, X, method=method, **SMALL)
    streamed = sd.explain(model, data, method=method, **SMALL)
    assert list(streamed) == NUMBERS
    assert not any(
        _differences(memory[m], streamed[s]) for m, s in zip(memory, streamed, strict=True)
    )


@pytest.mark.parametrize("method", ["ale", "mplot"])
def test_equal_weights_are_weights(frame, tmp_path, method):
    where = _written(frame.assign(half=0.5), tmp_path / "equal", [9_999], [4_000])
    data = sd.parquet(where, columns=NUMBERS, sample_weight="half")
    memory = sd.explain(
        _product, frame[NUMBERS], "a", method=method, sample_weight=np.full(N, 0.5), **SMALL
    )
    streamed = sd.explain(_product, data, "a", method=method, **SMALL)
    assert not _differences(memory, streamed)


@pytest.mark.parametrize("method", ["ale", "pdp", "mplot"])
def test_grids_of_models_that_get_arrays_are_of_the_type_of_the_array(frame, folder, method):
    """Not of the type of the column, which is float32: the array is of float64."""
    names = ["a", "b"]

    model = MLPRegressor(hidden_layer_sizes=(3,), max_iter=20, random_state=0, tol=1.0).fit(
        frame[names].to_numpy()[:2_000], frame["label"][:2_000]
    )
    data = sd.parquet(folder, columns=names)
    memory = sd.explain(model, frame[names], "b", method=method, **SMALL)
    streamed = sd.explain(model, data, "b", method=method, **SMALL)
    assert not _differences(memory, streamed)
    assert streamed.about.dtype == memory.about.dtype == "float64"


@pytest.mark.parametrize(
    ("pair", "method"),
    [
        (("a", "b"), "ale"),
        (("a", "c"), "pdp"),
        (("a", "k"), "ale"),
        (("m", "t"), "ale"),
        (("m", "t"), "pdp"),
    ],
)
def test_pairs(frame, folder, pair, method):
    method = sd.PDP(grid=5) if method == "pdp" else sd.ALE(bins=6)
    memory = sd.explain(_function, frame[COLUMNS], pair, method=method, **SMALL)
    data = sd.parquet(folder, columns=COLUMNS)
    streamed = sd.explain(_function, data, pair, method=method, **SMALL)
    assert not _differences(memory, streamed)


@pytest.mark.slow
def test_other_files_threads_and_chunks_give_the_same_bits(frame, folder, tmp_path):
    other = _written(frame, tmp_path / "other", [7, 29_000], [997])
    results = [
        sd.explain(_function, sd.parquet(where, columns=COLUMNS), method="ale", **SMALL, **options)
        for where, options in ((folder, {}), (other, {}), (folder, {"n_jobs": 3}))
    ]
    assert _all_equal(results[0], results[1])
    assert _all_equal(results[0], results[2])


def test_several_outputs_and_labels(frame, folder):
    X, label = frame[NUMBERS], frame["label"].to_numpy()
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, label)
    quantity = sd.loss(model, "squared_error")
    memory = sd.explain(quantity, X, method="ale", y=label, **SMALL)
    data = sd.parquet(folder, columns=NUMBERS, y="label")
    assert _all_equal(memory, sd.explain(quantity, data, method="ale", **SMALL))


def test_identifiers_of_the_caller_key_the_draws(frame, folder, tmp_path):
    shuffled = frame.assign(id=np.random.default_rng(1).permutation(N))
    where = _written(shuffled, tmp_path / "identified", [9_999], [4_000])
    data = sd.parquet(where, columns=NUMBERS, row_id="id")
    memory = sd.explain(
        lambda X: X["a"] * X["b"], shuffled[NUMBERS], "a", method="ale", row_id=shuffled["id"]
    )
    streamed = sd.explain(lambda X: X["a"] * X["b"], data, "a", method="ale")
    assert not _differences(memory, streamed)


@pytest.mark.parametrize(
    ("method", "passes"),
    [
        (sd.ALE(bins=sd.Uniform(20)), 3),
        (sd.RHALE(bins=sd.Optimal()), 3),
        (sd.ALE(bins=20), 3),
        (sd.PDP(grid=9), 4),
        (sd.MPlot(), 3),
    ],
    ids=lambda v: v.name if isinstance(v, sd.ALE | sd.RHALE | sd.PDP | sd.MPlot) else str(v),
)
def test_passes_are_counted(folder, method, passes):
    """The passes before the one that calls the model, and that one."""
    data = sd.parquet(folder, columns=NUMBERS)
    quantity = sd.prediction(
        lambda X: X["a"] * X["b"],
        slope=lambda X: np.stack([X["b"], X["a"], 0 * X["c"], 0 * X["t"]], axis=1),
    )
    effect = sd.explain(quantity, data, "a", method=method, progress=False)
    assert effect.provenance["passes"] == passes
    assert "ParquetData" in effect.provenance["source"]


@pytest.mark.parametrize(
    "call",
    [
        lambda data: sd.explain([_function, _function], data, "a", refits=True),
        lambda data: sd.prediction(_function).at(data),
    ],
    ids=["models", "at"],
)
def test_what_needs_all_rows_says_what_to_do(folder, call):
    data = sd.parquet(folder, columns=NUMBERS)
    with pytest.raises((sd.DataError, sd.UnsupportedError), match=r"data\.take\(rows\)"):
        call(data)


def test_arrays_beside_the_source_are_refused(folder):
    data = sd.parquet(folder, columns=NUMBERS)
    with pytest.raises(sd.DataError, match=r"row_id: .*name of a column"):
        sd.explain(_function, data, "a", row_id=np.ones(N))


def test_a_row_that_the_model_refuses_is_located(frame, tmp_path):
    where = _written(frame, tmp_path / "poison", [20_000], [6_000])

    def model(X):
        if (X["t"] == frame["t"].iloc[25_000]).any():
            raise RuntimeError("poison")
        return X["a"]

    with pytest.raises(RuntimeError, match="poison") as caught:
        sd.explain(model, sd.parquet(where, columns=NUMBERS), "a", method="ale", **SMALL)
    assert any("part-1.parquet, row group 0" in note for note in caught.value.__notes__)


# ------------------------------------------------------------------------------------ many leaves


def test_the_spread_and_what_it_depends_on_are_those_of_memory(frame, folder):
    """The rows of the score are drawn by their hashes: they are the same, wherever the data are."""
    given = {"heterogeneity_rows": 2000, "progress": False}
    memory = sd.explain(_function, frame, method=sd.ALE(bins=5), **given)
    streamed = sd.explain(
        _function, sd.parquet(folder), method=sd.ALE(bins=5), memory="3MB", **given
    )
    assert {name: e.depends_on for name, e in memory.items()} == {
        name: e.depends_on for name, e in streamed.items()
    }
    assert any(e.depends_on is not None for e in memory.values())
    for name, e in memory.items():
        for field in ("points", "value", "std_error", "weight"):
            np.testing.assert_array_equal(
                getattr(streamed[name].spread, field), getattr(e.spread, field)
            )
