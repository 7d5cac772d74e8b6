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
from rich.cells import cell_len
from rich.text import Text

import skedasis as sd
from skedasis._escaping import visible
from skedasis.cli.app import app
from skedasis.cli.inputs import load_model
from skedasis.engine.progress import Progress
from tests.shell import CliRunner
from tests.unit import shell_files

COMMAND = [sys.executable, "-c", "from skedasis.cli import main; main()"]
ORDERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e]")
EVIL = "a\x1b[2J\x1b]8;;http://evil\x07b\x9b31m\u202e[/][red]:smile:\\"
MODULE = f"""
import os, sys, warnings
EVIL = {EVIL!r}

class Mute(Exception):
    def __str__(self): raise RuntimeError("no words")

class Outside(BaseException):
    pass

def exits(X): sys.exit(0)
def leaves(X): raise SystemExit("done " + EVIL)
def outside(X): raise Outside(EVIL)
def mute(X): raise Mute
def pipe(X): raise BrokenPipeError("its own pipe")
def disk(X): raise OSError(28, "no room", "its own file")
def says(X): raise ValueError(EVIL)
def sentinel(X): raise GeneratorExit
def endless(X): return endless(X)
def nan(X): return X.iloc[:, 0] * float("nan")
def short(X): return X.iloc[1:, 0]
def nothing(X): return None

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
    "leaves": "ended the program (done a",
    "outside": "Outside: a",
    "mute": "Mute: the error has no readable message",
    "pipe": "BrokenPipeError: its own pipe",
    "disk": "no room",
    "says": "ValueError: a",
    "sentinel": "GeneratorExit",
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


@pytest.mark.many
@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["effect", "enemy:first", "evil.csv", EVIL], 0),
        (["effect", "enemy:first", "evil.csv", "level"], 0),
        (["effect", "enemy:first", "evil.csv", EVIL, "--with", "level"], 0),
        (["effect", "enemy:first", "evil.csv", "none" + EVIL], 2),
        (["effect", "enemy:first", "evil.csv", "level", "-o", "x\x1b[2J.csv"], 0),
        (["effect", "enemy:first", "evil\x1b[2J.csv", "level"], 2),
        (["effect", "no\x1b[2J.txt", "evil.csv", "level"], 2),
        (["effect", "enemy:warns", "evil.csv", EVIL], 0),
        (["effect", "enemy:says", "evil.csv", EVIL], 1),
        (["effect", "enemy:says", "evil.csv", EVIL, "--debug"], 1),
        (["effect", "enemy:outside", "evil.csv", EVIL], 1),
        (["importance", "enemy:first", "evil.csv", "--quantity", "prediction"], 0),
        (["report", "enemy:first", "evil.csv", EVIL, "-o", "y\x1b[2J.html", "--pairs", "0"], 0),
        (["effect", "--\x1b[2J"], 2),
        (["\x1b[2J"], 2),
        (["datasets", "\x1b[2J"], 2),
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


def test_a_bar_may_be_called_anything():
    with Progress(2, EVIL, show=True) as bar:
        bar._open()
        bar.advance()
        shown = Text.from_markup(bar._bar.tasks[0].description).plain
    assert not ORDERS.search(shown)
    assert "[/][red]" in shown


# --------------------------------------------------------------------------------------- models


@pytest.mark.many
@pytest.mark.parametrize("name", RAISING)
def test_models_that_raise_anything(folder, name):
    message = refused("effect", f"enemy:{name}", "d.csv", "b", code=1)
    assert RAISING[name] in message
    done = run("effect", f"enemy:{name}", "d.csv", "b", "--json")
    said = json.loads(done.stdout)
    assert done.exit_code == said["error"]["exit_code"] == 1
    assert RAISING[name] in said["error"]["message"]
    debug = run("effect", f"enemy:{name}", "d.csv", "b", "--json", "--debug")
    assert debug.exit_code == 1
    assert json.loads(debug.stdout) == said
    assert "Traceback" in debug.stderr


@pytest.mark.parametrize("name", ["nan", "short", "nothing"])
def test_models_that_answer_wrongly(folder, name):
    assert "expected" in refused("effect", f"enemy:{name}", "d.csv", "b")
    assert "expected" in refused("importance", f"enemy:{name}", "d.csv", "--target", "c")


def test_debug_does_not_change_exit_codes(folder):
    for args, code in ((["enemy:first", "d.csv", "zz"], 2), (["enemy:says", "d.csv", "a"], 1)):
        done = run("effect", *args, "--debug")
        assert done.exit_code == code
        assert "Traceback" in done.stderr


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


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_no_room_for_the_output(folder):
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        for args in (["--help"], ["info", "--json"]):
            done = subprocess.run(
                [*COMMAND, *args], stdout=full, stderr=subprocess.PIPE, check=False, timeout=120
            )
            assert done.returncode in (1, 2)
            assert b"Traceback" not in done.stderr
            assert b"No space left" in done.stderr


def test_a_json_option_without_a_command(folder):
    done = run("--json")
    assert done.exit_code == 2
    assert json.loads(done.stdout)["error"]["exit_code"] == 2


# ---------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("out", "word"),
    [
        ("keep.csv", "which is an input file"),
        ("./keep.csv", "which is an input file"),
        ("other/../keep.csv", "which is an input file"),
        ("link.csv", "which is an input file"),
        ("other", "ends in"),
        ("folder.csv", "the folder 'folder.csv'"),
        ("keep.csv/x.csv", "is a file"),
        ("x.xyz", "ends in"),
        ("", "ends in"),
        ("x" * 300 + ".csv", "too long"),
    ],
)
def test_outputs_that_are_refused_before_the_work(folder, out, word):
    shutil.copy("d.csv", "keep.csv")
    Path("other").mkdir(exist_ok=True)
    Path("folder.csv").mkdir(exist_ok=True)
    Path("link.csv").unlink(missing_ok=True)
    os.link("keep.csv", "link.csv")
    before = Path("d.csv").read_bytes()
    for command in (
        ["effect", "enemy:says", "keep.csv", "a"],
        ["importance", "enemy:says", "keep.csv"],
    ):
        assert word in refused(*command, "-o", out)
        assert Path("keep.csv").read_bytes() == before


def test_models_are_not_written_over(folder):
    shutil.copy("model.skops", "copy.json")
    assert "an input file" in refused("effect", "copy.json", "d.csv", "a", "-o", "copy.json")
    shutil.copy("d.csv", "s-a.csv")
    # With several results, the names of the files are known only at the end.
    assert "an input file" in refused("effect", "enemy:first", "s-a.csv", "a", "b", "-o", "s.csv")
    assert Path("s-a.csv").read_bytes() == Path("d.csv").read_bytes()
    shutil.copy("d.csv", "page.html")
    assert "an input file" in refused("report", "enemy:first", "page.html", "a", "-o", "page.html")
    assert Path("page.html").read_bytes() == Path("d.csv").read_bytes()


def test_folders_are_made(folder):
    assert run("effect", "enemy:first", "d.csv", "a", "-o", "new/er/a.csv").exit_code == 0
    assert len(pd.read_csv("new/er/a.csv")) > 0


def test_a_file_of_lightgbm_that_is_cut_anywhere(folder):
    raw = Path("model.txt").read_bytes()
    end = raw.index(b"end of parameters") + len(b"end of parameters")
    places = [*np.linspace(1, len(raw) - 2, 20).astype(int), *range(end - 3, end)]
    last = raw.rindex(b"pandas_categorical:") + len(b"pandas_categorical:")
    places += range(last, len(raw) - 2)
    for place in places:
        if end <= place < last:
            continue  # a complete model, as other languages write it
        Path("cut.txt").write_bytes(raw[:place])
        assert "cut off" in refused("effect", "cut.txt", "houses.csv", "age"), place


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_no_model(folder):
    if not Path("pipe.txt").exists():
        os.mkfifo("pipe.txt")
    assert "pipe" in refused("effect", "pipe.txt", "d.csv", "a")  # instead of waiting forever


@pytest.mark.parametrize("weights", ["neg", "gap", "zero", "text", "endless"])
def test_weights_that_are_none(folder, weights):
    k = np.arange(40)
    columns = {
        "neg": k - 5,
        "gap": np.where(k == 3, np.nan, 1.0),
        "zero": k * 0,
        "text": "x",
        "endless": np.where(k == 3, np.inf, 1.0),
    }
    pd.DataFrame({"a": k, "b": k % 7, "c": k % 3, **columns}).to_csv("weights.csv", index=False)
    call = "enemy:first", "weights.csv", "--features", "a,c", "--sample-weight", weights
    assert "sample_weight" in refused("effect", *call)
    assert "sample_weight" in refused("importance", *call, "--target", "b")


def test_numbers_that_are_out_of_range(folder):
    for option in (
        ["--sample", "0"],
        ["--sample", "-1"],
        ["--random-state", "-1"],
        ["--sample", "x"],
    ):
        assert option[0] in refused("effect", "enemy:first", "d.csv", "a", *option)


# --------------------------------------------------------------- suggestions and readable output


def test_names_that_may_have_been_meant(folder):
    frame = pd.DataFrame({"--target": range(9), "Age of house": range(9), "size": range(9)})
    frame.to_csv("near.csv", index=False)
    for wrong, meant in (("age", "Age of house"), ("SIZE ", "size"), ("sise", "size")):
        assert f"Did you mean {meant!r}?" in refused("effect", "enemy:first", "near.csv", wrong)
    assert "Use one of these names" in refused("effect", "enemy:first", "near.csv", "zzzz")
    assert "Did you mean 'first'?" in refused("effect", "enemy:fisrt", "near.csv", "size")


def test_columns_that_are_no_features(folder):
    import lightgbm

    frame = shell_files.houses()
    fitted = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1)
    fitted.fit(frame[["age", "size"]].to_numpy(), frame["price"])
    fitted.booster_.save_model("unnamed.txt")
    frame[["zip", "age", "visits", "size", "price"]].to_csv("ids.csv", index=False)
    call = ["effect", "unnamed.txt", "ids.csv", "age", "--target", "price"]
    assert "--ignore COLUMN" in refused(*call)
    said = document(*call, "--ignore", "zip", "--ignore", "visits", "--method", "ale")
    want = sd.explain(fitted, frame[["age", "size"]].to_numpy(), 0, method=sd.ALE())
    np.testing.assert_array_equal(said["results"][0]["curve"]["value"], want.value)
    assert "zpi" in refused(*call, "--ignore", "zpi")


def test_outputs_of_models_without_classes(folder):
    import lightgbm

    frame = shell_files.houses()
    clf = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1).fit(
        frame[["age", "size"]], frame["zip"]
    )
    clf.booster_.save_model("three.txt")
    call = ["effect", "three.txt", "houses.csv", "age", "--method", "pdp", "--bins", "3"]
    assert "In a shell: --class 0" in refused(*call)
    every = document(*call, "--class", "all")["results"]
    for k, result in enumerate(every):
        (one,) = document(*call, "--class", str(k))["results"]
        assert one["curve"]["value"] == result["curve"]["value"]
        X = frame[["age", "size"]]
        for x, value in zip(*(one["curve"][c] for c in ("x", "value")), strict=True):
            mean = clf.booster_.predict(X.assign(age=x))[:, k].mean()
            assert value == pytest.approx(mean, rel=1e-9)
    assert len(every) == 3
    assert "Count from 0" in refused(*call, "--class", "ten")
    assert "column 7" in refused(*call, "--class", "7")


def test_importance_of_some_features(folder):
    clf = load_model("my:clf")
    call = ["importance", "my:clf", "houses.csv", "--target", "sold", "--n-repeats", "3"]
    said = document(*call, "age", "size", "--n-jobs", "2")["results"][0]
    X, y = shell_files.houses()[list(clf.feature_names_in_)], shell_files.houses()["sold"]
    want = sd.explain(sd.nll(clf), X, ["age", "size"], y=y, method=sd.PFI(n_repeats=3))
    assert said["features"] == ["age", "size"]
    means = {line["feature"]: line["mean"] for line in said["ranking"]}
    assert means == dict(zip(want.features, want.mean.tolist(), strict=True))
    assert document(*call, "--features", "age,size")["results"][0]["ranking"] == said["ranking"]
    assert "--quantity both" in refused(*call, "age", "--quantity", "both")
    assert "Did you mean 'size'" in refused(*call, "sice")


@pytest.mark.parametrize(
    "columns", [60, 80, *(pytest.param(n, marks=pytest.mark.slow) for n in (100, 200))]
)
def test_tables_fit_their_terminal(folder, columns):
    for args in (
        [
            "importance",
            "my:clf",
            "houses.csv",
            "--target",
            "sold",
            "--n-repeats",
            "3",
            "--sample",
            "60",
        ],
        ["effect", "my:clf", "houses.csv", "age", "--method", "ale", "--bins", "4"],
        ["effect", "my:model", "houses.csv", "town"],
    ):
        done = run(*args, columns=columns)
        assert done.exit_code == 0, done.output
        table = done.stdout.split("\n\n")[0] if columns > 100 else done.stdout
        # Sentences are wrapped by the terminal.
        lines = [line for line in table.splitlines() if not re.match(r"\w+: |The ", line)]
        assert max(map(cell_len, lines)) <= columns, table
        if columns >= 80:  # headings are not wrapped
            for word in ("Likelihood-PFI", "Entropy-PFI") if args[0] == "importance" else ("rows",):
                assert word in done.stdout


# --------------------------------------------------------------------- the same numbers as in Python


def same(table, want, value):
    """Compare exactly: the text of a float is read back as the same float."""
    np.testing.assert_array_equal(np.array(table["value"], float), want.value)
    np.testing.assert_array_equal(np.array(table["heterogeneity"], float), want.heterogeneity)
    assert value == want.importance


@pytest.mark.many
@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        ([], {}),
        (["--sample-weight", "visits"], {"sample_weight": "visits"}),
        (["--sample", "70", "--random-state", "5"], {"sample": 70, "random_state": 5}),
        (
            ["--sample-weight", "visits", "--sample", "70"],
            {"sample_weight": "visits", "sample": 70},
        ),
        (["--class", "no"], {"class_": "no"}),
        (["--group", "heat=gas,oil,wood"], {"groups": {"heat": ["gas", "oil", "wood"]}}),
        (["--categorical", "gas"], {"schema": {"gas": "nominal"}}),
        (["--n-jobs", "2"], {}),
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


@pytest.mark.parametrize("file", ["houses.parquet", "houses.feather"])
def test_numbers_are_those_of_explain_in_every_file(folder, file):
    clf = load_model("my:clf")
    frame = shell_files.houses()
    X, visits = frame[list(clf.feature_names_in_)], frame["visits"]
    want = sd.explain(sd.probability(clf, class_="yes"), X, "size", sample_weight=visits)
    (found,) = document("effect", "my:clf", file, "size", "--sample-weight", "visits")["results"]
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
