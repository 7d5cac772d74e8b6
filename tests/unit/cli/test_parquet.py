"""The commands read several Parquet files, and in chunks those that do not fit in memory."""

from __future__ import annotations

import json

import numpy as np
import pytest

from skedasis.cli.app import app
from tests.shell import CliRunner

pytest.importorskip("pyarrow")
import pandas as pd

N = 6_000
MODEL = """
import numpy as np

class Product:
    feature_names_in_ = np.array(["a", "b", "c"])

    def predict(self, X):
        return np.asarray(X["a"] * X["b"] + (X["c"] == "x"))

class Certain:
    def __call__(self, X):
        return np.asarray(X["a"]), 0.5 + np.asarray(X["c"] == "x")

model, certain = Product(), Certain()
"""


@pytest.fixture(scope="module")
def frame():
    r = np.random.default_rng(0)
    found = pd.DataFrame(
        {"a": r.normal(size=N), "b": r.normal(size=N), "c": r.choice(list("xy"), N)}
    )
    found["label"] = found.a * found.b
    found.loc[:9, "label"] = np.nan
    found["w"] = r.integers(1, 3, N).astype(float)
    return found


@pytest.fixture
def folder(frame, tmp_path, monkeypatch):
    for year, part in enumerate(np.array_split(np.arange(N), 3)):
        (tmp_path / f"year={year}").mkdir()
        frame.iloc[part].to_parquet(tmp_path / f"year={year}" / "p.parquet", row_group_size=700)
    frame.to_parquet(tmp_path / "one.pq")
    (tmp_path / "its_model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(*arguments, code=0):
    done = CliRunner().invoke(app, [*arguments], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.output


def _json(*arguments):
    found = _run(*arguments, "--json")
    return json.loads(found[found.index("{") :])


@pytest.mark.parametrize(
    ("data", "weight"),
    [
        ("year=*/*.parquet", ("--sample-weight", "w")),
        ("one.pq", ()),
        ("file", ("--sample-weight", "w")),
    ],
)
def test_an_effect_in_chunks_is_that_of_memory(folder, data, weight):
    path = str(folder / "one.pq") if data == "file" else data
    small, large = (
        _json("effect", "its_model:model", path, "a", *weight, "--memory", size)
        for size in ("20KB", "1GB")
    )
    assert small["rows"] == large["rows"] == {"read": N, "without_label": 0, "used": N}
    for document in (small, large):
        document.pop("rows")
    assert _numbers(small) == _numbers(large)
    assert "in chunks" in _run("effect", "its_model:model", path, "a", "--memory", "20KB")
    assert "in chunks" not in _run("effect", "its_model:model", path, "a")


def _numbers(document):
    """Return the numbers of a document without those that say how they were computed."""
    if isinstance(document, dict):
        left_out = {"provenance", "passes", "seconds", "notes"}
        return {k: _numbers(v) for k, v in document.items() if k not in left_out}
    return [_numbers(v) for v in document] if isinstance(document, list) else document


@pytest.mark.parametrize(
    "command",
    [
        ("regions", "its_model:model", "year=*/*.parquet", "a"),
        ("interactions", "its_model:model", "year=*/*.parquet"),
        ("importance", "its_model:model", "year=*/*.parquet", "--target", "label"),
        # A diagnosis grows forests.
        pytest.param(
            (
                *("importance", "its_model:certain", "year=*/*.parquet"),
                *("--target", "label", "--ignore", "w"),
            ),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            (
                *("report", "its_model:model", "year=*/*.parquet"),
                *("--target", "label", "--out", "r.html"),
            ),
            marks=pytest.mark.slow,
        ),
    ],
    ids=lambda c: " ".join(c[:2]),
)
def test_all_commands_read_in_chunks(folder, command):
    found = _run(*command, "--memory", "20KB")
    assert "in chunks" in found
    if command[0] == "report":
        assert "<html" in (folder / "r.html").read_text("utf-8")


@pytest.mark.parametrize("split", ["c", "year"])
def test_observed_means_in_chunks_are_those_of_memory(folder, split):
    call = ("effect", "its_model:model", "year=*/*.parquet", "a", "--target", "label", "--observed")
    one, other = (
        _json(*call, "--split", split, "--memory", size)["results"][0]["observed"]
        for size in ("1GB", "20KB")
    )
    named = {"c": "c", "year": None}[split]  # labels of rows in memory have no name
    assert (one.pop("split"), other.pop("split")) == (named, split)
    assert one == other
    assert np.sum(one["rows"]) == N - 10


def test_a_sample_is_read_into_memory(folder):
    found = _json(
        "effect", "its_model:model", "year=*/*.parquet", "a", "--memory", "20KB", "--sample", "500"
    )
    assert found["rows"]["used"] == 500


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_the_library_that_holds_rows_in_memory(folder, frame, monkeypatch, library):
    from skedasis.cli.parquet import opened
    from skedasis.stream import chunks

    monkeypatch.setattr(chunks, "default_library", lambda: library)
    table = opened("year=*/p.parquet", 10**9)
    assert type(table.data).__module__.startswith(library)
    some = table.select(["b", "a"]).take(np.array([5, 4_000]))
    assert some.column("a").tolist() == frame["a"].iloc[[5, 4_000]].tolist()
