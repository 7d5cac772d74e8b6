"""`skedasis interactions`: what it passes to the library, what it prints and writes, and its errors."""

import csv
import json

import numpy as np
import pytest

import skedasis as sd
from skedasis.cli.app import app
from skedasis.engine.options import SCORE_ROWS
from tests.made_regions import bikes
from tests.shell import CliRunner, working_folder

MODULE = """
def rentals(X):
    return X["hr"] * X["workingday"] + X["temp"]
"""

GIVEN = ("--max-rows", "30", "--heterogeneity-rows", "0")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rows = bikes(300)[["hr", "workingday", "temp"]]
    return working_folder(tmp_path, monkeypatch, "shop_of_pairs", MODULE, bikes=rows)


@pytest.fixture
def calls(monkeypatch):
    """Replace the computation by a function that keeps its arguments."""
    found = []
    X = np.random.default_rng(0).normal(size=(60, 3))
    it = sd.interactions(lambda X: X[:, 0] * X[:, 1], X, h2=False, ale=False, heterogeneity_rows=0)

    def interactions(model, X, pairs, h2, ale, **keywords):
        found.append({"pairs": pairs, "h2": h2, "ale": ale, **keywords})
        return it

    monkeypatch.setattr(sd, "interactions", interactions, raising=False)
    return found


def run(*arguments):
    given = ["interactions", "shop_of_pairs:rentals", "bikes.csv", *arguments]
    return CliRunner().invoke(app, given)


def test_the_strongest_pair_is_printed_first(folder):
    done = run(*GIVEN)
    assert done.exit_code == 0, done.output
    head, first, *_ = [line for line in done.output.splitlines() if line.startswith(("A ", "hr"))]
    assert head.split()[:2] == ["A", "B"]
    assert first.split()[:2] == ["hr", "workingday"]


def test_defaults_are_those_of_the_library(folder, calls):
    assert run().exit_code == 0
    (call,) = calls
    assert (call["pairs"], call["h2"], call["ale"], call["max_rows"]) == ("all", True, True, 200)
    assert (call["method"], call["heterogeneity_rows"]) == (None, SCORE_ROWS)


def test_options_reach_the_library(folder, calls):
    done = run(
        *("temp", "hr", "--feature", "workingday", "--no-h2", "--no-ale", "--max-rows", "40"),
        *("--method", "ale", "--bins", "7", "--random-state", "5", "--n-jobs", "2", *GIVEN[2:]),
    )
    assert done.exit_code == 0, done.output
    (call,) = calls
    assert call["pairs"] == [(2, 0), (2, 1), (0, 1)]  # positions
    assert (call["h2"], call["ale"], call["max_rows"]) == (False, False, 40)
    assert call["method"] == sd.ALE(bins=7)
    assert (call["heterogeneity_rows"], call["random_state"], call["n_jobs"]) == (0, 5, 2)


@pytest.mark.slow
def test_files(folder):
    for name in ("it.csv", "it.json", "it.npz", "it.png", "it.html"):
        done = run("hr", "workingday", *GIVEN, "-o", name)
        assert done.exit_code == 0, done.output
    with (folder / "it.csv").open(encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head[:3] == ["feature_0", "feature_1", "h2"]
    assert [row[:2] for row in rows] == [["hr", "workingday"]]
    found = json.loads((folder / "it.json").read_text("utf-8"))
    assert found["kind"] == "Interactions"
    assert found["overall"][-1]["feature"] == "temp"  # all others interact
    assert sd.load(folder / "it.npz")["hr", "workingday"].h2 > 0.1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("hr",), "at least two features"),
        (("hr", "nothing"), "nothing"),
        (("--max-rows", "1"), "--max-rows"),
        (("--quantity", "loss"), "--target"),
    ],
)
def test_invalid_arguments_are_errors_before_anything_is_computed(
    folder, calls, arguments, message
):
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert not calls
