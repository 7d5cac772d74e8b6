"""`skedasis drift`: which of its arguments are models and which are data, what it prints and writes, and its errors."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.cli.app import app
from tests.shell import CliRunner, working_folder

MODULE = """
import numpy as np

def old(X):
    return 2.0 * X["size"] + 1.0 * X["age"]

def new(X):
    return old(X) + 5.0 * (X["age"] > 50)
"""


def houses(n: int, seed: int, shift: float) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"size": rng.normal(80 + shift, 10, n), "age": rng.uniform(0, 100, n)})
    return X.assign(price=2 * X["size"] + X["age"] + rng.normal(size=n), w=rng.integers(0, 3, n))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    tables = {"before": houses(400, 0, 0.0), "after": houses(300, 1, 9.0)}
    return working_folder(tmp_path, monkeypatch, "shop_of_drift", MODULE, **tables)


OLD, NEW = "shop_of_drift:old", "shop_of_drift:new"


def run(*arguments: str):
    return CliRunner().invoke(app, ["drift", *arguments, "--target", "price", "--ignore", "w"])


def document(*arguments: str):
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_arguments_are_told_by_their_endings(folder):
    X = {name: pd.read_csv(f"{name}.csv")[["size", "age"]] for name in ("before", "after")}

    def old(X):
        return 2.0 * X["size"] + X["age"]

    def new(X):
        return old(X) + 5.0 * (X["age"] > 50)

    for more, expected in (
        (["after.csv"], sd.drift(old, X["before"], X_new=X["after"])),
        ([NEW], sd.drift(old, X["before"], new)),
        ([NEW, "after.csv"], sd.drift(old, X["before"], new, X["after"])),
        (["after.csv", NEW], sd.drift(old, X["before"], new, X["after"])),
    ):
        found = document(OLD, "before.csv", *more)
        (result,) = found["results"]
        assert (found["command"], result["kind"]) == ("drift", "Drift")
        assert result["verdict"] == list(expected.verdict)
        for part in ("change", "rows_moved", "model_changed"):
            assert result[part]["value"] == pytest.approx(getattr(expected, part).value)
        assert ("new_rows" in found) == ("after.csv" in more)


def test_it_prints_the_verdict_and_writes_files(folder):
    done = run(OLD, "before.csv", NEW, "after.csv", "-o", "drift.json")
    assert done.exit_code == 0, done.output
    assert "because rows moved and" in done.output
    assert "The model changed most where age > " in done.output
    assert json.loads((folder / "drift.json").read_text())["kind"] == "Drift"
    assert run(OLD, "before.csv", "after.csv", "-o", "drift.png").exit_code == 0
    assert (folder / "drift.png").stat().st_size > 0


def test_labels_and_weights_of_both_files(folder):
    found = document(
        OLD, "before.csv", NEW, "after.csv", "--loss", "squared_error", "--sample-weight", "w"
    )
    before, after = (pd.read_csv(f"{name}.csv") for name in ("before", "after"))
    error = (2 * before["size"] + before["age"] - before["price"]) ** 2
    assert found["results"][0]["mean_old"] == pytest.approx(np.average(error, weights=before["w"]))
    assert found["results"][0]["rows_new"] == int((after["w"] > 0).sum())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([OLD, "before.csv"], "NEW: got none"),
        ([OLD, "before.csv", NEW, OLD], "after OLD_DATA"),
        ([OLD, "before.csv", "after.csv", "other.csv"], "after OLD_DATA"),
        ([OLD, "before.csv", "after.csv", "--group", "g=size,age"], "--group"),
        ([OLD, "before.csv", "after.csv", "-o", "after.json", "--where", "size < 0"], "--where"),
        ([OLD, "before.csv", "missing.csv"], "missing.csv"),
        ([OLD], "DATA: got none"),
    ],
)
def test_wrong_calls(folder, arguments, said):
    done = run(*arguments)
    assert done.exit_code == 2
    assert said in done.output
