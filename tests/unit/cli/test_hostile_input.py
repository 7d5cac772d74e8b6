"""Hostile names, models and files: no control codes on a terminal, no tracebacks, no input file overwritten."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis._escaping import visible
from skedasis.cli.app import app
from skedasis.cli.inputs import load_model
from tests.shell import CliRunner
from tests.unit import shell_files

COMMAND = [sys.executable, "-c", "from skedasis.cli import main; main()"]
ORDERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e]")
EVIL = "a\x1b[2J\x1b]8;;http://evil\x07b\x9b31m\u202e[/][red]:smile:\\"
MODULE = f"""
import os, sys, warnings
EVIL = {EVIL!r}

class Outside(BaseException):
    pass

def exits(X): sys.exit(0)
def outside(X): raise Outside(EVIL)
def says(X): raise ValueError(EVIL)
def endless(X): return endless(X)
def nan(X): return X.iloc[:, 0] * float("nan")

def first(X): return X.iloc[:, 0] * 1.0

def warns(X):
    warnings.warn(EVIL)
    return X.iloc[:, 0] * 1.0

def prints(X):
    os.write(1, b"from C\\n")
    os.system("echo from a child")
    print("from Python")
    sys.__stdout__.write("from below\\n")
    return X.iloc[:, 0] * 1.0
"""
RAISING = {
    "exits": "ended the program (0)",
    "outside": "Outside: a",
    "says": "ValueError: a",
    "endless": "RecursionError",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("enemy")
    shell_files.build(folder)
    (folder / "enemy.py").write_text(MODULE, encoding="utf-8")
    rows = "".join(f"{k},{k % 7},{k % 3}\n" for k in range(40))
    (folder / "d.csv").write_text("a,b,c\n" + rows)
    levels = np.resize(["x", EVIL, "y"], 40)
    pd.DataFrame({EVIL: np.arange(40.0), "level": levels}).to_csv(folder / "evil.csv", index=False)
    return folder


@pytest.fixture
def folder(made, monkeypatch):
    yield from shell_files.entered(made, monkeypatch)


def run(*args, columns=100):
    return CliRunner().invoke(app, [*args], env={"COLUMNS": str(columns)}, prog_name="skedasis")


def document(*args):
    done = run(*args, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout, parse_constant=pytest.fail)


def refused(*args, code=2):
    done = run(*args)
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    return " ".join(done.stderr.split())


# --------------------------------------------------------------------------------- control codes


def test_what_is_visible():
    shown = visible(EVIL)
    assert not ORDERS.search(shown)
    assert shown.startswith("a\\x1b[2J\\x1b]8;;http://evil\\x07b\\x9b31m\\u202e[/][red]:smile:")
    plain = "é שכר 🏠 line\nand\ttab [red]"
    assert visible(plain) == plain


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["effect", "enemy:first", "evil.csv", EVIL], 0),
        (["effect", "enemy:first", "evil.csv", EVIL, "--with", "level"], 0),
        (["effect", "enemy:first", "evil.csv", "none" + EVIL], 2),
        (["effect", "enemy:first", "evil.csv", "level", "-o", "x\x1b[2J.csv"], 0),
        (["effect", "enemy:warns", "evil.csv", EVIL], 0),
        (["effect", "enemy:says", "evil.csv", EVIL, "--debug"], 1),
        (["importance", "enemy:first", "evil.csv", "--quantity", "prediction"], 0),
        (["\x1b[2J"], 2),
    ],
)
@pytest.mark.filterwarnings("default")
def test_no_order_reaches_the_terminal(folder, args, code):
    done = run(*args)
    assert done.exit_code == code, done.output
    assert not ORDERS.search(done.output), repr(done.output)
    assert "\\x1b" in done.output
    # Text that looks like markup or like an emoji code is printed as it is.
    if EVIL in args and code == 0 and args[0] == "effect":
        assert "[/][red]:smile:" in "".join(done.output.replace("│", "").split())


def test_documents_hold_names_as_they_are(folder):
    said = document("effect", "enemy:first", "evil.csv", EVIL)
    assert said["results"][0]["feature"] == EVIL


# --------------------------------------------------------------------------------------- models


@pytest.mark.parametrize("name", RAISING)
def test_models_that_raise_anything(folder, name):
    message = refused("effect", f"enemy:{name}", "d.csv", "b", code=1)
    assert RAISING[name] in message
    done = run("effect", f"enemy:{name}", "d.csv", "b", "--json")
    said = json.loads(done.stdout)
    assert done.exit_code == said["error"]["exit_code"] == 1
    assert RAISING[name] in said["error"]["message"]


def test_models_that_answer_wrongly(folder):
    assert "expected" in refused("effect", "enemy:nan", "d.csv", "b")
    assert "expected" in refused("importance", "enemy:nan", "d.csv", "--target", "c")


@pytest.mark.slow
def test_standard_output_is_the_documents_alone(folder):
    # C code and child processes of a model write to the file descriptor, not through sys.stdout.
    done = subprocess.run(
        [*COMMAND, "effect", "enemy:prints", "d.csv", "a", "--json"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert json.loads(done.stdout)["command"] == "effect"
    for word in ("from C", "from a child", "from Python", "from below"):
        assert word in done.stderr


# ---------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("out", "word"),
    [
        ("keep.csv", "which is an input file"),
        ("other/../keep.csv", "which is an input file"),
        ("folder.csv", "the folder 'folder.csv'"),
        ("x.xyz", "ends in"),
        ("x" * 300 + ".csv", "too long"),
    ],
)
def test_outputs_that_are_refused_before_the_work(folder, out, word):
    shutil.copy("d.csv", "keep.csv")
    Path("other").mkdir(exist_ok=True)
    Path("folder.csv").mkdir(exist_ok=True)
    before = Path("d.csv").read_bytes()
    for command in (
        ["effect", "enemy:says", "keep.csv", "a"],
        ["importance", "enemy:says", "keep.csv"],
    ):
        assert word in refused(*command, "-o", out)
        assert Path("keep.csv").read_bytes() == before


def test_folders_are_made(folder):
    assert run("effect", "enemy:first", "d.csv", "a", "-o", "new/er/a.csv").exit_code == 0
    assert len(pd.read_csv("new/er/a.csv")) > 0


# --------------------------------------------------------------------- the same numbers as in Python


def same(table, want, value):
    """Compare exactly: the text of a float is read back as the same float."""
    np.testing.assert_array_equal(np.array(table["value"], float), want.value)
    np.testing.assert_array_equal(np.array(table["heterogeneity"], float), want.heterogeneity)
    assert value == want.importance


@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        (["--sample-weight", "visits"], {"sample_weight": "visits"}),
        (["--sample", "70", "--random-state", "5"], {"sample": 70, "random_state": 5}),
        (["--class", "no"], {"class_": "no"}),
        (["--group", "heat=gas,oil,wood"], {"groups": {"heat": ["gas", "oil", "wood"]}}),
        (["--categorical", "gas"], {"schema": {"gas": "nominal"}}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_numbers_are_those_of_explain(folder, options, keywords):
    clf, file = load_model("my:clf"), "houses.csv"
    frame = shell_files.houses()
    X = frame[list(clf.feature_names_in_)]
    feature = "heat" if "groups" in keywords else "gas" if "schema" in keywords else "age"
    as_given = ("schema", "groups", "sample", "random_state")
    said = {k: v for k, v in keywords.items() if k in as_given}
    if "sample_weight" in keywords:
        said["sample_weight"] = frame["visits"]
    method = sd.ALE() if feature != "age" else sd.RHALE()
    quantity = sd.probability(clf, class_=keywords.get("class_", "yes"))
    want = sd.explain(quantity, X, feature, method=method, **said)
    (found,) = document("effect", "my:clf", file, feature, *options, "-o", "n.csv")["results"]
    same(found["curve"], want, found["importance"])
    same(pd.read_csv("n.csv", dtype=str), want, want.importance)
    assert run("effect", "my:clf", file, feature, *options, "-o", "n.npz").exit_code == 0
    again = sd.load("n.npz")
    np.testing.assert_array_equal(again.value, want.value)
    assert again.importance == want.importance


def test_numbers_are_those_of_explain_in_every_file(folder):
    clf = load_model("my:clf")
    frame = shell_files.houses()
    X, visits = frame[list(clf.feature_names_in_)], frame["visits"]
    want = sd.explain(sd.probability(clf, class_="yes"), X, "size", sample_weight=visits)
    (found,) = document("effect", "my:clf", "houses.parquet", "size", "--sample-weight", "visits")[
        "results"
    ]
    same(found["curve"], want, found["importance"])


def test_numbers_of_importance_are_those_of_explain(folder):
    clf = load_model("my:clf")
    frame = shell_files.houses()
    want = sd.explain(
        sd.entropy(clf),
        frame[list(clf.feature_names_in_)],
        method=sd.PFI(n_repeats=4),
        sample_weight=frame["visits"],
        random_state=2,
        sample=90,
    )
    call = "importance", "my:clf", "houses.csv", "--quantity", "entropy", "--n-repeats", "4"
    said = document(*call, "--sample-weight", "visits", "--sample", "90", "--random-state", "2")
    lines = {line["feature"]: line for line in said["results"][0]["ranking"]}
    for key in ("mean", "lower", "upper", "std"):
        assert [lines[name][key] for name in want.features] == list(want.table()[key])
