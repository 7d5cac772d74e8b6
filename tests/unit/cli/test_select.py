"""The commands choose rows by `--where` and `--sample`, and features by patterns, as the library does."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.cli.app import app
from tests.shell import CliRunner

pytest.importorskip("pyarrow")

N = 2_000
MODULE = """
import numpy as np

class Rides:
    feature_names_in_ = np.array(["temp", "hum", "atemp", "town"])

    def predict(self, X):
        hum = np.nan_to_num(np.asarray(X["hum"], float))
        return np.asarray(X["temp"] * hum + (X["town"] == "x"), float)

model = Rides()
"""


@pytest.fixture(scope="module")
def frame():
    r = np.random.default_rng(0)
    found = pd.DataFrame(r.normal(size=(N, 3)), columns=["temp", "hum", "atemp"])
    found["town"] = r.choice(["x", "y"], N)
    found["yr"] = r.integers(0, 3, N)
    found["cnt"] = found["temp"] * found["hum"]
    found.loc[:9, "hum"] = np.nan
    return found


@pytest.fixture
def folder(frame, tmp_path, monkeypatch):
    frame.to_parquet(tmp_path / "rides.parquet", row_group_size=300)
    (tmp_path / "rides.py").write_text(MODULE)
    (tmp_path / "parts").mkdir()
    for k, part in enumerate(np.array_split(np.arange(N), 3)):
        frame.iloc[part].to_parquet(tmp_path / "parts" / f"{k}.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(*arguments, code=0):
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == code, done.output
    return done.output


def _json(*arguments):
    found = _run(*arguments, "--json")
    return json.loads(found[found.index("{") :])


def _importances(document):
    return [r["importance"] for r in document["results"]]


CHUNKS = ("--memory", "20KB")


@pytest.mark.parametrize(("data", "memory"), [("rides.parquet", ()), ("parts", CHUNKS)])
def test_where_explains_the_rows_that_satisfy_it(folder, frame, data, memory):
    condition = "yr IN (0, 1) AND NOT hum > 0.5"
    done = _json("effect", "rides:model", data, "temp", "--where", condition, *memory)
    rows = frame[frame["yr"].isin([0, 1]) & (frame["hum"] <= 0.5)].reset_index(drop=True)
    from rides import model

    alone = sd.explain(model, rows[["temp", "hum", "atemp", "town"]], "temp")
    assert _importances(done) == pytest.approx([alone.importance], rel=1e-12)
    counts = {"read": N, "where": len(rows), "without_label": 0, "used": len(rows)}
    assert done["rows"] == counts
    assert f"where {condition}: {len(rows):,} of 2,000 rows" in done["notes"]


def test_the_page_says_which_rows_it_is_about(folder):
    options = ("--features", "temp", "--pairs", 0, "--no-regions", "--out", "r.html")
    done = _json("report", "rides:model", "rides.parquet", *options, "--where", "town = 'x'")
    many = done["rows"]["where"]
    page = (folder / "r.html").read_text("utf-8")
    assert f"This page is about {many:,} of 2,000 rows of the data, those where town = " in page


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("yr == 7", "which none of 2,000 rows satisfies"),
        ("yrs == 1", "Did you mean 'yr'"),
        ("__import__('os')", "it names no column"),
    ],
)
def test_a_wrong_condition_is_refused(folder, condition, message):
    call = ("effect", "rides:model", "rides.parquet", "temp", "--where", condition)
    assert message in " ".join(_run(*call, code=2).split())


@pytest.mark.parametrize("memory", [(), CHUNKS], ids=["memory", "chunks"])
def test_a_sample_is_the_same_in_python_in_memory_and_in_chunks(folder, frame, memory):
    options = ("--sample", 300, "--random-state", 5, *memory)
    done = _json("effect", "rides:model", "rides.parquet", "temp", *options)
    from rides import model

    X = frame[["temp", "hum", "atemp", "town"]]
    alone = sd.explain(model, X, "temp", sample=300, random_state=5)
    assert _importances(done) == [alone.importance]
    assert done["rows"]["used"] == 300
    assert "sample 300 of 2,000 rows, seed 5" in done["notes"]
    assert done["results"][0]["provenance"]["sample"] == 300


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ("*temp", ["temp", "atemp"]),
        ("/temp/", ["temp", "atemp"]),
        ("/^h/,atem?", ["hum", "atemp"]),
    ],
)
def test_features_by_pattern(folder, features, expected):
    done = _json("effect", "rides:model", "rides.parquet", "--features", features)
    found = [r["feature"] for r in done["results"]]
    assert found == expected


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("zz*", "which matches none of 4 features"),
        ("/(/", "no regular expression"),
    ],
)
def test_a_pattern_without_a_match_is_refused(folder, features, message):
    call = ("effect", "rides:model", "rides.parquet", "--features", features)
    assert message in " ".join(_run(*call, code=2).split())
