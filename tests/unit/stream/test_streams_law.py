"""A law: rows in files, read in chunks, have bit for bit the results that the same rows have in memory.

Leaves, chunks, decoded batches and budgets are made so small that a few hundred rows have many of each.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import skedasis as sd

pytest.importorskip("pyarrow")
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from skedasis.data import column_stats
from skedasis.stream import dataset, opening, order_statistics, parquet, passes, running

NUMBERS = ["normal", "narrow", "whole", "gaps", "large", "offset", "few", "heavy"]
TIMES = ["day", "zoned", "span"]
LEVELS = ["text", "mixed", "flag", "coded", "ranked"]


def _column(name: str, n: int, r: np.random.Generator) -> pa.Array:
    if name in ("text", "coded", "ranked"):
        codes = pa.array(r.integers(0, 4, n), pa.int8())
        coded = pa.DictionaryArray.from_arrays(
            codes, ["p", "q", "<i>", "s"], ordered=name == "ranked"
        )
        return coded.cast(pa.string()) if name == "text" else coded
    made = {
        "normal": lambda: r.normal(size=n),
        "narrow": lambda: r.normal(size=n).astype("f4"),
        "whole": lambda: r.integers(-20, 100, n).astype("i2"),
        "gaps": lambda: np.where(r.random(n) < 0.2, np.nan, r.normal(size=n)),
        "large": lambda: r.integers(2**52, 2**53, n),
        "offset": lambda: 1e9 + r.normal(size=n),
        "few": lambda: r.choice([-1.5, -0.0, 0.0, 2.0], n),
        "heavy": lambda: r.standard_cauchy(n),
        "day": lambda: np.datetime64("2024-01-01") + r.integers(0, 400, n),
        "zoned": lambda: r.integers(0, 10**12, n),
        "span": lambda: r.integers(0, 10**8, n).astype("m8[ms]"),
        "mixed": lambda: r.choice(np.array([None, "u", "v"], dtype=object), n),
        "flag": lambda: r.random(n) < 0.3,
    }[name]()
    return pa.array(made, pa.timestamp("ms", "Europe/Berlin") if name == "zoned" else None)


def _as_floats(column: pd.Series) -> np.ndarray:
    """Return any column as numbers of size 1."""
    # Text has a type of its own since pandas 3.
    if column.dtype == object or isinstance(column.dtype, (pd.CategoricalDtype, pd.StringDtype)):
        values = [0.3 if pd.isna(v) else hash_of(str(v)) for v in column]
        return np.array(values, dtype=float)
    kind = column.dtype.kind if isinstance(column.dtype, np.dtype) else "M"
    x = column.astype("int64").to_numpy() / 1e15 if kind in "mM" else column.to_numpy(dtype=float)
    return np.nan_to_num(x / (1 + np.abs(x)), nan=0.7)


def hash_of(text: str) -> float:
    """Return a number between 0 and 1 that does not depend on the process."""
    return sum(ord(c) * 7**i for i, c in enumerate(text)) % 101 / 101


def _product(X: pd.DataFrame) -> np.ndarray:
    total, before = np.zeros(len(X)), np.ones(len(X))
    for j, name in enumerate(X.columns):
        x = _as_floats(X[name])
        total, before = total + (1 + j) * x * before, x
    return total


def _methods(trees: bool):
    bins = [5, sd.Uniform(7), sd.Quantile(9)]
    numeric = [
        sd.ALE(),
        sd.RHALE(),
        sd.RHALE(bins=sd.Optimal(max_bins=9)),
        sd.PDP(grid=5),
        sd.MPlot(),
    ]
    return st.sampled_from(
        [*numeric, *(sd.ALE(bins=b) for b in bins), sd.ICE(grid=4)] + [sd.UALE()] * (not trees)
    )


@st.composite
def _cases(draw):
    n = draw(st.sampled_from([1, 2, 40, 300, 1100]))
    r = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["function", "function", "trees", "classes", "loss"]))
    pool = NUMBERS if kind != "function" else NUMBERS + TIMES + LEVELS
    names = draw(st.lists(st.sampled_from(pool), min_size=2, max_size=4, unique=True))
    weight = draw(st.sampled_from([None, "integer", "fraction", "zeros"]))
    table = pa.table({name: _column(name, n, r) for name in names} | {
        "integer": r.integers(1, 4, n),
        "fraction": r.random(n) + 0.05,
        "zeros": np.append(1.0, r.integers(0, 3, n - 1)),
        "label": r.normal(size=n),
    })  # fmt: skip
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=3)))
    sizes = draw(st.lists(st.sampled_from([1, 17, 100, 1000]), min_size=4, max_size=4))
    pair = draw(st.booleans()) and len(names) > 1
    method = draw(
        st.sampled_from([sd.ALE(bins=4), sd.PDP(grid=3)]) if pair else _methods(kind != "function")
    )
    options = {
        "memory": draw(st.sampled_from(["50KB", "1MB"])),
        "keep_rows": draw(st.sampled_from(["3KB", "100MB"])),
        "heterogeneity_rows": draw(st.sampled_from([0, 30, None])),
        "random_state": draw(st.integers(0, 3)),
        "weight_kind": draw(st.sampled_from(["frequency", "sampling"])),
        "progress": False,
    }
    if "whole" in names and draw(st.booleans()):
        options["schema"] = {"whole": draw(st.sampled_from(["ordinal", "nominal"]))}
    features = tuple(draw(st.permutations(names))[:2]) if pair else None
    jobs = draw(st.sampled_from([1, 1, 3])), draw(st.sampled_from([1, 2]))
    return table, names, weight, kind, (cuts, sizes), method, features, options, jobs


def _written(table: pa.Table, folder: Path, layout: tuple[list[int], list[int]]) -> Path:
    """Write a table to files that end at `cuts`, each with a dictionary of its own."""
    folder.mkdir()
    cuts, sizes = layout
    for i, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(table)], strict=True)):
        part = table.slice(start, stop - start)
        if "coded" in part.schema.names:
            place = part.schema.get_field_index("coded")
            text = part["coded"].cast(pa.string()).combine_chunks()
            part = part.set_column(place, "coded", text.dictionary_encode())
        pq.write_table(part, folder / f"{i}.parquet", row_group_size=sizes[i])
    return folder


def _parts(result: object, path: str = "") -> dict[str, object]:
    """Return all numbers and texts of a result by their places in it."""
    if isinstance(result, np.ndarray):
        # Which of equal zeros is found depends on the order in which values are sorted.
        values = result + 0.0 if result.dtype.kind == "f" else result
        values = result.tolist() if result.dtype.kind == "O" else values.tobytes()
        return {path: (result.dtype.str, result.shape, values)}
    if dataclasses.is_dataclass(result):
        left_out = {"provenance"}
        fields = [f.name for f in dataclasses.fields(result) if f.name not in left_out]
        items = [(name, getattr(result, name)) for name in fields]
    elif isinstance(result, (list, tuple)):
        items = list(enumerate(result))
    elif hasattr(result, "keys"):
        items = [(key, result[key]) for key in result]
    else:
        return {path: repr(result)}
    found: dict[str, object] = {path: len(items)}
    for name, item in items:
        found |= _parts(item, f"{path}.{name}")
    return found


def _model(kind: str, X: pd.DataFrame, label: np.ndarray):
    if kind == "function":
        return _product
    # Trees cannot be fitted on one row, or on a column without values.
    X, label = pd.concat([X.fillna(0)] * 3), np.tile(label, 3)
    if kind == "classes":
        classes = np.arange(len(label)) % 3
        model = HistGradientBoostingClassifier(max_iter=2, early_stopping=False).fit(X, classes)
        return sd.probability(model, class_="all")
    model = HistGradientBoostingRegressor(max_iter=3).fit(X, label)
    return model if kind == "trees" else sd.loss(model, "squared_error")


def _outcome(call):
    """Return all parts of what a call returns, or its error."""
    try:
        return _parts(call())
    except (sd.DataError, sd.UnsupportedError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.fixture(scope="module", autouse=True)
def _small():
    """Make leaves, chunks and budgets small."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (column_stats, passes):
            patch.setattr(module, "STATS_LEAF", 64)
        for module in (dataset, running):
            patch.setattr(module, "CHUNK_ROWS", 256)
        patch.setattr(parquet, "_BATCH_ROWS", 90)
        patch.setattr(opening, "_HEAD_ROWS", 20)
        patch.setattr(dataset, "_BUDGET", 10_000)
        patch.setattr(order_statistics, "MAX_DISTINCT", 50)
        patch.setattr(order_statistics.ColumnCounts, "max_distinct", 50)
        yield


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@settings(suppress_health_check=list(HealthCheck))
@given(case=_cases())
def test_streamed_is_memory(tmp_path_factory, case):
    table, names, weight, kind, layout, method, features, options, jobs = case
    # A row of weight zero has no number, as if it were not there.
    used = table if weight != "zeros" else table.filter(pa.compute.field("zeros") > 0)
    X, label = used.select(names).to_pandas(date_as_object=True), used["label"].to_numpy()
    quantity = _model(kind, X, label)
    folder = _written(table, tmp_path_factory.mktemp("law") / "rows", layout)
    y = "label" if kind == "loss" else None
    data = sd.parquet(folder, names, y, weight)
    given_ = {} if weight is None else {"sample_weight": used[weight].to_numpy()}
    given_ |= {} if y is None else {"y": label}
    memory = _outcome(
        lambda: sd.explain(
            quantity, X, features, method=method, n_jobs=jobs[0], **given_, **options
        )
    )
    found = _outcome(
        lambda: sd.explain(quantity, data, features, method=method, n_jobs=jobs[1], **options)
    )
    if isinstance(memory, str) or isinstance(found, str):
        assert found == memory
        return
    assert list(found) == list(memory)
    assert [k for k in memory if found[k] != memory[k]] == []
