"""`skedasis what-if`: the grammar of moves, what it passes to the library, prints and writes, and its errors."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.cli.app import app
from tests.made_regions import bikes
from tests.shell import CliRunner, working_folder

MODULE = """
import numpy as np
import pandas as pd

def rentals(X):
    return X["hr"] * X["workingday"] + X["temp"]

class Two:
    classes_ = np.array(["few", "many"])
    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-np.asarray(X["hr"] * X["temp"] / 10, float)))
        return np.column_stack([1 - p, p])
    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]

many = Two()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    frame = bikes(200)[["hr", "workingday", "temp"]]
    frame["kind"] = np.resize(["a=b", "c"], 200)
    rows = frame.rename(columns={"kind": "kind=of"})
    return working_folder(tmp_path, monkeypatch, "shop_of_changes", MODULE, bikes=rows)


@pytest.fixture
def calls(monkeypatch):
    """Replace the computation by a function that keeps its arguments."""
    found = []
    c = sd.what_if(lambda X: X[:, 0], np.arange(20.0)[:, None], {0: 1})

    def change(model, X, moves, **keywords):
        found.append({"moves": moves, **keywords})
        return c

    monkeypatch.setattr(sd, "what_if", change, raising=False)
    return found


def run(*arguments, model="rentals"):
    given = ["what-if", f"shop_of_changes:{model}", "bikes.csv", *arguments]
    return CliRunner().invoke(app, given)


@pytest.mark.parametrize(
    ("given", "moves", "to"),
    [
        (["hr=+1"], {0: "+1"}, {}),
        (["temp=+10%", "hr=40"], {2: "+10%", 0: "40"}, {}),
        (["kind=of=a=b"], {3: "a=b"}, {}),
        (["hr=x2", "--set", "temp=-5"], {0: "x2"}, {2: "-5"}),
    ],
)
def test_moves_and_settings_reach_the_library(folder, calls, given, moves, to):
    done = run(*given)
    assert done.exit_code == 0, done.output
    assert (calls[0]["moves"], calls[0]["to"], calls[0]["by"]) == (moves, to, None)


def test_options_reach_the_library(folder, calls):
    done = run(
        "hr=+1", "--by", "temp=3,5", "--random-state", "4", "--n-jobs", "2", "--target", "temp"
    )
    assert done.exit_code == 2  # the target is no feature
    done = run("hr=+1", "--by", "temp=3,5", "--random-state", "4", "--n-jobs", "2")
    assert done.exit_code == 0, done.output
    (call,) = calls
    assert call["by"] == (2, [3.0, 5.0])
    assert (call["random_state"], call["n_jobs"]) == (4, 2)


def _read(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_files(folder):
    done = run("hr=+1", "--by", "workingday", "-o", "c.npz", "--rows", "rows.csv")
    assert done.exit_code == 0, done.output
    c = sd.load(folder / "c.npz")
    assert c.text == "hr + 1"
    rows = _read(folder / "rows.csv")
    assert len(rows) == 200
    np.testing.assert_allclose([float(r["change"]) for r in rows], c.rows.change)
    for name in ("c.png", "c.html", "c.csv", "c.json"):
        assert run("hr=+1", "-o", name).exit_code == 0
        assert (folder / name).stat().st_size > 0
    table = _read(folder / "c.csv")
    assert table[0]["change"] == "hr + 1"


def test_the_document(folder):
    done = run("hr=+1", "--by", "workingday", "--json")
    document = json.loads(done.stdout)
    (result,) = document["results"]
    assert (document["command"], result["kind"]) == ("what-if", "Change")
    assert [moved["feature"] for moved in result["moved"]] == ["hr"]
    assert result["change"] == "hr + 1"
    assert len(result["regions"]) == 2
    assert result["provenance"]["effect_rows"] == 400
    assert result["provenance"]["settings"] == {"moves": ["hr + 1"], "by": "workingday"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "FEATURE=MOVE: got none"),
        (["hr="], "expected FEATURE=MOVE"),
        (["hr=+1", "hr=40"], "'hr' twice"),
        (["kind=of=d"], "expected one of"),
        (["hr=+1", "--by", "temp=a,b"], "numbers that cut"),
        (["hr=+1", "--rows", "rows.png"], "--rows"),
    ],
)
def test_errors(folder, given, said):
    done = run(*given)
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert "Traceback" not in done.output


def test_an_inverse_is_applied_before_the_change(folder):
    done = run("temp=+1", "--inverse", "exp", "--json")
    assert done.exit_code == 0, done.output
    (result,) = json.loads(done.output)["results"]
    X = pd.read_csv("bikes.csv")
    level = np.exp(X["hr"] * X["workingday"] + X["temp"])
    assert result["value"] == pytest.approx(np.mean((np.e - 1) * level))
    assert result["quantity"] == "exp(prediction)"
