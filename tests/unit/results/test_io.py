"""Saved results: every field of every result is restored with its type; loading a file runs no code."""

from __future__ import annotations

import errno
import functools
import io
import json
import math
import pickle
import struct
import tracemalloc
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import skedasis as sd
from skedasis.results.containers import ResultMapping
from skedasis.results.io import (
    _READ_ERRORS,
    FORMAT,
    OLDEST,
    Packer,
    _is_result,
    save,
    unpack,
)
from skedasis.results.saved_fields import saved_kinds
from tests.helpers import refused
from tests.made_results import every_column, every_result, of_every_column

N = 60
RNG = np.random.default_rng(5)


def same(got: Any, want: Any, where: str = "result") -> None:
    """Assert that two values are equal in every field, type, dtype and order."""
    assert type(got) is type(want), where
    if is_dataclass(want):
        for f in fields(want):
            same(getattr(got, f.name), getattr(want, f.name), f"{where}.{f.name}")
    elif isinstance(want, np.ndarray):
        assert (got.dtype, got.shape) == (want.dtype, want.shape), where
        if want.dtype.kind == "O":
            same(got.tolist(), want.tolist(), where)
        else:
            np.testing.assert_array_equal(got, want, err_msg=where)
            assert got.tobytes() == want.tobytes() or want.dtype.kind == "f", where
    elif isinstance(want, dict):
        assert list(got) == list(want), where
        assert [type(k) for k in got] == [type(k) for k in want], where
        for key in want:
            same(got[key], want[key], f"{where}[{key!r}]")
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want), where
        for i, (one, two) in enumerate(zip(got, want, strict=True)):
            same(one, two, f"{where}[{i}]")
    elif isinstance(want, float) and math.isnan(want):
        assert math.isnan(got), where
    else:
        assert got == want, where


def again(result: Any, path: Any) -> Any:
    """Save, check that the file holds no objects, and load."""
    save(result, path)
    with np.load(path, allow_pickle=False) as file:
        assert all(file[name].dtype.kind != "O" for name in file.files)
        json.loads(str(file["header"]), parse_constant=_refuse)
    return sd.load(path)


def _refuse(constant: str) -> None:
    raise AssertionError(f"JSON knows no {constant}")


def frame() -> pd.DataFrame:
    """Return columns of every kind: numbers without and with missing values, text, booleans, ordinals, mixed types."""
    mixed = np.array([1, True, "1", 2.5, None, (1, "a"), 7] * 9, dtype=object)[:N]
    return pd.DataFrame(
        {
            "a": RNG.normal(size=N),
            "gaps": np.where(RNG.uniform(size=N) < 0.2, np.nan, RNG.normal(size=N)),
            "text": RNG.choice(["<b>x</b>", "ä ö", "z"], N),
            "flag": RNG.integers(0, 2, N).astype(bool),
            "grade": RNG.integers(1, 6, N),
            "half": RNG.choice([0.5, 1.5, 2.5], N),
            "mixed": mixed,
            "same": np.ones(N),
        }
    )


X = frame()
SCHEMA = {
    "grade": "ordinal",
    "half": sd.Feature("half", "nominal", unit="€", levels=(2.5, 0.5, 1.5)),
}
WEIGHTS = RNG.integers(1, 4, N).astype(float)
GROUPS = {"both": ["flag", "half"]}


def model(rows: pd.DataFrame) -> np.ndarray:
    """Return a function of all columns but `same`; missing numbers count as 3."""
    own = rows["mixed"].map(lambda v: len(str(v))).to_numpy(float)
    level = rows["text"].map({"<b>x</b>": 1.0, "ä ö": -1.0, "z": 0.5}).to_numpy(float)
    slope = 1.0 + 0.3 * rows["flag"].to_numpy(float) + level
    gaps = rows["gaps"].fillna(3.0).to_numpy(float)
    return slope * rows["a"].to_numpy() + gaps * own + rows["grade"] ** 2 * rows["half"]


def everything(method: Any, **options: Any) -> Any:
    features = options.pop("features", None)
    return sd.explain(model, X, features, method=method, schema=SCHEMA, progress=False, **options)


RESULTS: dict[str, Any] = {
    "ale from the start, weighted": lambda: everything(
        sd.ALE(bins=4, center="start"), sample_weight=WEIGHTS
    ),
    "rhale": lambda: everything(sd.RHALE()),
    "grouped grades": lambda: everything(sd.RHALE(bins=sd.Greedy(min_points=50)), features="grade"),
    "a sample of the rows": lambda: everything(sd.RHALE(), keep_rows=2000, sample_weight=WEIGHTS),
    "anchored": lambda: everything(sd.ICE(grid=5, anchor={"a": 0.0, "text": "z"})),
    "slopes of curves": lambda: everything(sd.ICE(grid=5, derivative=True), features=["a", "gaps"]),
    "mplot": lambda: everything(sd.MPlot(bins=4, center="mean")),
    "a group": lambda: everything(sd.ALE(), features=["both", "a"], groups=GROUPS),
    "surface, rows a part": lambda: everything(
        sd.ALE(bins=3), features=("a", "gaps"), keep_rows=900
    ),
    "surface of levels twice": lambda: everything(
        sd.ALE(order="similarity"), features=("mixed", "flag"), sample_weight=WEIGHTS
    ),
    "surface with holes": lambda: everything(
        sd.ALE(bins=sd.Uniform(9), empty=None), features=("a", "gaps")
    ).with_main_effects(),
    "surface of a pdp": lambda: everything(sd.PDP(grid=3, center="mean"), features=("a", "flag")),
    "pairs": lambda: everything(sd.ALE(bins=3), features=[("a", "text"), ("gaps", "a")]),
}


@pytest.mark.parametrize("name", RESULTS)
def test_what_is_loaded_is_what_was_saved(name, tmp_path):
    want = RESULTS[name]()
    same(again(want, tmp_path / "result"), want)


def test_other_levels_come_back_as_their_text_and_dates_as_dates(tmp_path):
    rows = pd.DataFrame({"x": np.arange(40.0)})
    rows["bin"] = pd.cut(rows["x"], 4)
    rows["day"] = np.array([date(2020, 1, 1 + i % 3) for i in range(40)], dtype=object)
    rows["time"] = np.array(
        [datetime(2020, 1, 1, i % 2, tzinfo=UTC) for i in range(40)], dtype=object
    )
    f = lambda rows: rows["x"].to_numpy() + np.array([v.day for v in rows["day"]])  # noqa: E731
    levels = {"day": "nominal", "time": "nominal"}
    want = sd.explain(
        f, rows, ["bin", "day", "time"], method=sd.PDP(), schema=levels, progress=False
    )
    got = again(want, tmp_path / "r.npz")
    assert isinstance(want["bin"].levels.values[0], pd.Interval)
    assert got["bin"].levels.values == tuple(str(v) for v in want["bin"].levels.values)
    same(got["bin"].levels.labels, want["bin"].levels.labels)
    np.testing.assert_array_equal(got["bin"](got["bin"].x), want["bin"].value)
    same(got["day"], want["day"])
    assert got["time"].levels.values == want["time"].levels.values


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2) | st.just("$"), inner, max_size=3)
        | st.dictionaries(st.tuples(st.integers(), st.booleans()), inner, max_size=3)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(PLAIN)
def test_any_plain_value_survives_json(value):
    packer = Packer({})
    text = json.dumps(packer.packed(value, "v"), allow_nan=False)
    same(unpack(json.loads(text), packer.arrays.__getitem__, {}), value)


def test_an_array_is_kept_once_and_is_one_again():
    shared = np.arange(3.0)
    packer = Packer({})
    node = packer.packed([shared, {"again": shared}, np.arange(3.0)], "v")
    assert list(packer.arrays) == ["v.0", "v.2"]
    first, second, third = unpack(node, packer.arrays.__getitem__, {})
    assert first is second["again"]
    assert first is not third


# ------------------------------------------------------------- files that are not results


class Bomb:
    """An object that fails the test when it is unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("a file ran code",))


def damaged(path: Any, **changes: Any) -> None:
    """Write a valid file with some of its arrays changed, or removed (None)."""
    RESULTS["rhale"]().save(path)
    with np.load(path) as file:
        arrays = {k: file[k] for k in file.files} | changes
    np.savez(path, **{k: v for k, v in arrays.items() if v is not None})


def with_header(path: Any, change: Any, result: Any = None) -> None:
    """Write a valid file with a changed header."""
    save(everything(sd.ALE(bins=4), features="text") if result is None else result, path)
    with np.load(path) as file:
        arrays = {k: file[k] for k in file.files}
    header = json.loads(str(arrays["header"]))
    changed = change(header)
    arrays["header"] = np.array(json.dumps(header if changed is None else changed))
    np.savez(path, **arrays)


HEADERS: dict[str, Any] = {
    "a list": lambda h: [h],
    "no format": lambda h: h.pop("skedasis") and None,
    "format null": lambda h: h.update(skedasis=None),
    "a part of a result": lambda h: h.update(result=h["result"]["of"]["axis"]),
    "an unknown kind": lambda h: h["result"].update({"$": "os.system"}),
    "an unknown field": lambda h: h["result"]["of"].update(evil=1),
    "a missing field": lambda h: h["result"]["of"].pop("value") and None,
    "an array that is not there": lambda h: h["result"]["of"].update(
        points={"$": "array", "of": "no"}
    ),
    "the wrong shape": lambda h: h["result"]["of"].update(
        points={"$": "objects", "of": [1], "shape": [5]}
    ),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_say_something_else(name, tmp_path):
    path = tmp_path / "r.npz"
    with_header(path, HEADERS[name])
    with refused(sd.DataError, "load", "no saved result"):
        sd.load(path)


def test_a_result_of_a_package_that_is_not_imported(tmp_path, monkeypatch):
    path = tmp_path / "r.npz"
    result = RESULTS["rhale"]()
    with_header(path, lambda h: h["result"].update({"$": "Towns"}), result)
    with refused(sd.DataError, "load", "class Towns, whose package is not imported", "Import the"):
        sd.load(path)

    def plugin():
        class Towns(ResultMapping[str, sd.Effect]):
            """Effects by town."""

    monkeypatch.setattr("skedasis.results.io.load_plugins", plugin)
    found = sd.load(path)
    assert type(found).__name__ == "Towns"
    same(dict(found), dict(result))


@pytest.mark.parametrize(
    ("version", "fix"),
    [
        (FORMAT + 1, "Update skedasis"),
        (OLDEST - 1, "save the result again"),
    ],
)
def test_a_format_that_is_not_read_is_named(version, fix, tmp_path):
    path = tmp_path / "r.npz"
    # The rest of the header may have any content: other formats have other headers.
    with_header(path, lambda h: {"skedasis": version, "effects": [h["result"]]})
    with refused(
        sd.DataError, f"load: got format {version}, expected format {OLDEST} to {FORMAT}", fix
    ):
        sd.load(path)


def test_a_file_of_format_6_has_accumulated_deviations_and_no_spread(tmp_path):
    """The file was written by version 0.1, which printed these numbers as the heterogeneity of ALE and UALE."""
    found = sd.load(Path(__file__).with_name("format_6.npz"))
    wanted = {
        ("ale", "a"): [
            0.0,
            2.7230950533887306,
            2.9036078859401306,
            3.0084104587975995,
            3.7638161911357746,
        ],
        ("ale", "g"): [0.8511522288304006, 1.3721692791214724, 1.735377387620021],
    }
    effects = [found["ale"]["a"], found["ale"]["g"], found["uale"], found["pdp"], found["mplot"]]
    for (name, feature), numbers in wanted.items():
        assert found[name][feature].accumulated_std.tolist() == numbers
    uale = [0.0, 1.3707474424909731, 3.056836714210526, 4.613339288301192, 6.278452173172276]
    assert found["uale"].accumulated_std.tolist() == uale
    for e in (*effects, *found["models"].models):
        assert e.spread is None
        assert np.isnan(e.heterogeneity).all()
        assert "version" in e.provenance["spread"]
        assert not any(
            "spread between rows" in text
            for text in e.plot().axes[0].get_legend_handles_labels()[1]
        )
    assert found["pdp"].accumulated_std is None
    assert np.isnan(found["models"].heterogeneity).all()
    same(again(found, tmp_path / "r.npz"), found)


@pytest.mark.slow
def test_objects_in_a_file_are_never_unpickled(tmp_path):
    path = tmp_path / "r.npz"
    bomb = np.array([Bomb()], dtype=object)
    for name in ("header", "result.members.0.value"):
        damaged(path, **{name: bomb})
        with refused(sd.DataError, "no saved result"):
            sd.load(path)
    for content in (pickle.dumps(Bomb()), b"", b"skedasis", b"PK\x03\x04 and nothing else"):
        path.write_bytes(content)
        with refused(sd.DataError, "no saved result"):
            sd.load(path)
    np.save(path.with_suffix(".npy"), np.arange(3))
    with refused(sd.DataError, "no saved result"):
        sd.load(path.with_suffix(".npy"))


def test_missing_members_and_headers_that_are_no_text(tmp_path):
    path = tmp_path / "r.npz"
    for changes in (
        {"header": None},
        {"header": np.arange(3)},
        {"header": np.array("[" * 100_000)},
        {"result.members.0.value": None},
    ):
        damaged(path, **changes)
        with refused(sd.DataError, "no saved result"):
            sd.load(path)


class Members:
    """The members of a saved effect's file, to be changed and written again."""

    def __init__(self, path: Any, result: Any = None) -> None:
        save(every_result()["Effect"] if result is None else result, path)
        self.path = path
        with zipfile.ZipFile(path) as file:
            self.content = {info.filename: file.read(info) for info in file.infolist()}

    def write(self, *more: tuple[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> None:
        with zipfile.ZipFile(self.path, "w", compression) as file:
            for name, content in [*self.content.items(), *more]:
                file.writestr(name, content)


def npy(array: Any, **header: Any) -> bytes:
    """Return the content of a .npy file, whose header may declare something else."""
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), allow_pickle=False)
    if header:
        declared = np.lib.format.header_data_from_array_1_0(np.asarray(array)) | header
        out = io.BytesIO()
        np.lib.format.write_array_header_1_0(out, declared)
        out.write(np.asarray(array).tobytes())
    return out.getvalue()


VALUE = "result.value.npy"
ARCHIVES: dict[str, tuple[Any, str]] = {
    "a member twice": (lambda m: m.write((VALUE, m.content[VALUE])), "a member twice"),
    "a member more": (lambda m: m.write(("more.npy", npy([1.0]))), "'more' belongs to no field"),
    "an archive inside": (lambda m: m.write(("a.zip", m.path.read_bytes())), "is no array"),
    "a member less": (lambda m: (m.content.pop(VALUE), m.write()), "no saved result"),
    "larger than it declares": (
        lambda m: (m.content.update({VALUE: m.content[VALUE] + b"12345678"}), m.write()),
        "another size",
    ),
    "smaller than it declares": (
        lambda m: (m.content.update({VALUE: npy([1.0], shape=(4 * 10**9,))}), m.write()),
        "another size",
    ),
    "objects": (
        lambda m: (m.content.update({VALUE: npy([1.0], descr="|O")}), m.write()),
        "is of object",
    ),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives_that_save_does_not_write(name, tmp_path):
    change, said = ARCHIVES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # zipfile's own of a name that is there twice
        change(Members(tmp_path / "r.npz"))
    with refused(sd.DataError, "load", "no saved result", said):
        sd.load(tmp_path / "r.npz")


def test_an_array_that_expands_to_much_memory_is_refused_before_it_is_read(tmp_path):
    """4 MB of zeros, which take 4 kB of the file: the limit decides by the memory, not by the ratio."""
    members = Members(tmp_path / "r.npz")
    members.content["result.rows.x.npy"] = npy(np.zeros(2**19))
    members.write()
    assert (tmp_path / "r.npz").stat().st_size < 50_000
    tracemalloc.start()
    with refused(sd.DataError, "load", "take 4.", "at most 1MB", "memory='1MB'", "trust the file"):
        sd.load(tmp_path / "r.npz", memory="1MB")
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()
    for memory in ("10MB", None):  # its size is accepted, not that it contradicts other fields
        with refused(sd.DataError, "load", "Rows.effect has the shape"):
            sd.load(tmp_path / "r.npz", memory=memory)
    with refused(sd.DataError, "load(memory)", "a size such as"):
        sd.load(tmp_path / "r.npz", memory="much")


def declared(change: Any) -> Any:
    """Return a writer of files whose directory declares the honest size of a member that is another one."""

    def write(members: Members) -> None:
        honest = members.content[VALUE]
        members.content[VALUE] = change(honest)
        with zipfile.ZipFile(members.path, "w", zipfile.ZIP_DEFLATED) as file:
            for member, content in members.content.items():
                file.writestr(member, content)
            info = file.getinfo(VALUE)
            info.file_size = len(honest)
            info.CRC = zlib.crc32(honest)

    return write


ZEROS = bytes(20_000_000)
LIES: dict[str, Any] = {
    "a stream that is longer than declared": declared(lambda v: v + ZEROS),
    "a method that inflates without a limit": lambda m: (
        m.content.update({VALUE: m.content[VALUE] + ZEROS}),
        m.write(compression=zipfile.ZIP_BZIP2),
    ),
    "a header of an array that takes much": lambda m: (
        m.content.update({VALUE: b"\x93NUMPY\x02\x00" + struct.pack("<I", len(ZEROS)) + ZEROS}),
        m.write(),
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_file_never_takes_more_memory_than_it_declares(lie, tmp_path):
    """20 MB of zeros, which take 20 kB of the file: the directory, or the array's header, declares other sizes."""
    path = tmp_path / "lie.npz"
    LIES[lie](Members(path))
    assert path.stat().st_size < 500_000
    tracemalloc.start()
    with refused(sd.DataError, "load", "lie.npz", "no saved result"):
        sd.load(path)
    assert tracemalloc.get_traced_memory()[1] < 1e7
    tracemalloc.stop()


# ------------------------------------------------------------- fields that no result has


def places(node: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield class, field and JSON object of all fields of all objects in a header."""
    if isinstance(node, list):
        for part in node:
            yield from places(part)
    elif isinstance(node, dict):
        of = node.get("of")
        if node.get("$") in saved_kinds():
            for field in of:
                yield node["$"], field, of
        for part in node.values():
            yield from places(part)


@functools.cache
def packed() -> list[tuple[Any, dict[str, np.ndarray]]]:
    """Return header and arrays of one result of every kind."""
    found = []
    for result in [*every_result().values(), *more_results()]:
        if _is_result(result):
            packer = Packer(saved_kinds())
            found.append((packer.packed(result, "result"), packer.arrays))
    return found


def more_results() -> list[Any]:
    """Return effects and surfaces of further kinds."""
    columns = ["a", "text", "grade"]
    return [
        everything(sd.ALE(bins=3), features=columns, sample_weight=WEIGHTS),
        everything(sd.ICE(grid=3), features=columns, sample_weight=WEIGHTS),
        everything(sd.MPlot(bins=3), features=columns),
        everything(sd.PDP(grid=3), features=("a", "flag")),
        everything(sd.ALE(bins=3), features=("text", "a")),
        sd.explain(of_every_column, every_column(), "when", method=sd.RHALE()),
    ]


def first_places() -> Iterator[tuple[str, str, Any, Any, dict[str, np.ndarray]]]:
    """Yield each class and field where it first occurs with a value, with its object, its header and arrays."""
    seen = set()
    for header, arrays in packed():
        for kind, field, of in places(header):
            if (kind, field) not in seen and of[field] is not None:
                seen.add((kind, field))
                yield kind, field, of, header, arrays


def loads(header: Any, arrays: dict[str, np.ndarray]) -> bool:
    try:
        unpack(header, arrays.__getitem__, saved_kinds())
    except _READ_ERRORS:
        return False
    return True


ARRAYS: dict[str, Any] = {
    "longer": lambda a: np.concatenate(
        [a, a[-1:] if len(a) else np.zeros((1, *a.shape[1:]), a.dtype)]
    ),
    "shorter": lambda a: a[:-1] if len(a) else None,
    "without an axis": lambda a: np.float64(1.0) + np.zeros(()),
    "text": lambda a: None if a.dtype.kind in "UO" else a.astype(str),
    "complex": lambda a: None if a.dtype.kind in "UO" else a.astype(complex),
}
FREE = {
    # Levels may be text.
    ("BinStats", "low", "text"),
    ("BinStats", "high", "text"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_no_result_has_are_refused(name):
    accepted, tried = [], 0
    for kind, field, of, header, arrays in first_places():
        node = of[field]
        if not (isinstance(node, dict) and node.get("$") == "array"):
            continue
        other = ARRAYS[name](arrays[node["of"]])
        if other is None:
            continue
        tried += 1
        of[field] = {"$": "array", "of": "other"}
        if loads(header, {**arrays, "other": other}):
            accepted.append((kind, field, name))
        of[field] = node
    assert tried > 30
    assert set(accepted) - FREE == set()


NUMBERS: dict[str, tuple[str, str, Any]] = {
    "a negative weight": ("BinStats", "weight", lambda a: a * -1),
    "an unknown count": ("Moments", "count", lambda a: a * np.nan),
    "a negative variance": ("Moments", "m2", lambda a: a - 1e9),
    "a negative standard error": ("AccumulatedEffect", "std_error", lambda a: a - 1e9),
    "edges that decrease": ("Cells", "edges", lambda a: a[::-1]),
    "bins that are not adjacent": ("BinStats", "low", lambda a: a - 0.01),
    "points that decrease": ("NumericAxis", "points", lambda a: a[::-1]),
    "a row before the first": ("Curves", "row", lambda a: a - 9),
}


def test_what_is_accepted_is_complete():
    """Without a change everything loads."""
    assert all(loads(header, arrays) for header, arrays in packed())
    assert len(list(first_places())) > 150


def test_files_that_are_not_there_say_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        sd.load(tmp_path / "none.npz")
    with refused(OSError, "got the folder", f"such as {str(tmp_path / 'result.npz')!r}"):
        sd.load(tmp_path)
    (tmp_path / "effect.npz").touch()
    with refused(sd.DataError, f"such as {str(tmp_path / 'effect.npz')!r}") as found:
        sd.load(tmp_path)
    assert found.value.errno == errno.EISDIR


@pytest.mark.parametrize("thing", [None, {"a": 3}])
def test_only_results_are_saved(thing, tmp_path):
    path = tmp_path / "r.npz"
    path.write_bytes(b"precious")
    with refused(sd.DataError, "save", "such as an Effect"):
        save(thing, path)
    assert path.read_bytes() == b"precious"
