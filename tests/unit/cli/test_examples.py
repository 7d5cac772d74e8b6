"""Run every example of `--help` and of the command-line guide as written, and compare JSON with its documentation."""

import importlib
import json
import math
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import skedasis as sd
from skedasis.cli import app as cli_app
from skedasis.cli import explain
from skedasis.cli.app import app
from skedasis.cli.output import jsonable
from skedasis.quantities.base import Quantity
from tests.shell import CliRunner
from tests.unit import shell_files

DOCS = Path(__file__).parents[3] / "docs" / "guides" / "shell.md"
HELP = {
    "report": explain.REPORT_EXAMPLES,
    "effect": explain.EFFECT_EXAMPLES,
    "importance": explain.IMPORTANCE_EXAMPLES,
    "datasets": cli_app.DATASETS_EXAMPLES,
    "info": cli_app.INFO_EXAMPLES,
    "demo": cli_app.EXAMPLES,
}
LINES = [
    (c, line)
    for c, text in HELP.items()
    for line in re.findall(r"^skedasis .*$", text, re.MULTILINE)
]
TOLD = (
    re.findall(r"^\$ (skedasis .*)$", DOCS.read_text("utf-8"), re.MULTILINE)
    if DOCS.exists()
    else []
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    shell_files.build(folder)
    frame = shell_files.houses()
    skops = pytest.importorskip("skops.io")
    fitted = HistGradientBoostingRegressor(max_iter=5).fit(frame[["age", "size"]], frame["price"])
    skops.dump(fitted, folder / "boosted.skops")
    return folder


@pytest.fixture
def folder(made, monkeypatch):
    # Completion scripts depend on the calling shell, and tests may run without a supported one.
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    yield from shell_files.entered(made, monkeypatch)


def run(line):
    # Text after # is a comment, as in a shell.
    words = shlex.split(line, comments=True)
    return CliRunner().invoke(app, words[1:], env={"COLUMNS": "120"}, prog_name="skedasis")


def document(line):
    done = run(f"{line} --json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout, parse_constant=pytest.fail)


FIRST = {
    next(line for c, line in LINES if c == command)
    for command in HELP
    if command not in ("demo", "report")
}


@pytest.mark.parametrize(
    ("command", "line"),
    [
        # One of each command, but for pages, takes a second.
        pytest.param(c, line, id=line, marks=[] if line in FIRST else pytest.mark.slow)
        for c, line in LINES
    ],
)
def test_examples_of_help_run_as_written(folder, command, line):
    assert line.split()[1] == command
    assert len(line) <= 78, "it would be broken in a terminal of 80 columns"
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}
    done = run(line)
    assert done.exit_code == 0, done.output
    assert done.stdout.strip()
    new = {
        p.name for p in folder.rglob("*") if p.is_file() and before.get(p) != p.stat().st_mtime_ns
    }
    named = re.search(r"-o (\S+)", line)
    if named:
        stem, ending = Path(named[1]).stem, Path(named[1]).suffix
        assert any(n.startswith(stem) and n.endswith(ending) for n in new), new
    if command == "report":
        assert any(n.endswith(".html") for n in new)


@pytest.mark.parametrize("command", HELP)
def test_help_shows_its_examples_whole(command):
    for width in ("80", "120"):
        shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": width})
        assert shown.exit_code == 0
        for line in re.findall(r"^skedasis .*$", HELP[command], re.MULTILINE):
            assert line in shown.stdout
        for common in ("--json", "--quiet", "--no-progress"):
            assert common in shown.stdout


OTHERS = [line for line in TOLD if line not in {example for _, example in LINES}]


@pytest.mark.slow
@pytest.mark.parametrize("line", OTHERS)
def test_the_docs_are_true(folder, line):
    done = run(line)
    wanted = re.search(r"# exit code (\d)", line)
    assert done.exit_code == (int(wanted[1]) if wanted else 0), done.output
    files = re.search(r"# (\S+\.\w+) and (\S+\.\w+)", line)
    for name in files.groups() if files else ():
        assert (folder / name).is_file(), name


def test_the_docs_tell_all_there_is():
    text = DOCS.read_text("utf-8")
    assert len(TOLD) > 12
    for command in HELP:
        assert f"`skedasis {command}" in text
    from skedasis.cli import runtime
    from skedasis.data.readers import ENDINGS
    from skedasis.models.files import SUFFIXES

    for ending in (*SUFFIXES, *ENDINGS):
        assert ending in text, ending
    for code in (0, runtime.FAILED, runtime.REFUSED, runtime.INTERRUPTED, runtime.CLOSED):
        assert f"| {code} |" in text


# --------------------------------------------------------------------------------------------- JSON


def test_json_holds_the_numbers(folder):
    said = document(
        "skedasis effect model.skops houses.csv age --target price --method ale --bins 4"
    )
    (result,) = said["results"]
    frame = shell_files.houses()
    import pickle

    linear = pickle.loads((folder / "model.pkl").read_bytes())
    want = sd.explain(linear, frame[["size", "age"]], "age", method=sd.ALE(bins=4))
    assert result["importance"] == want.importance
    alone = {"provenance": result["provenance"]}
    assert result | alone == json.loads(want.to_json()) | alone
    assert result["provenance"]["method"] == "ALE"
    assert said["rows"] == {"read": 160, "without_label": 0, "used": 160}
    assert said["written"] == []
    assert said["skedasis"] == sd.__version__
    assert said["seconds"] > 0


def test_json_of_several(folder):
    said = document("skedasis effect my:clf houses.csv age size --class all -o k.csv")
    apart = [(r["feature"], r["class"]) for r in said["results"]]
    assert apart == [(f, c) for f in ("age", "size") for c in ("no", "yes")]
    assert said["written"] == [f"k-{f}-{c}.csv" for f, c in apart]
    assert all(Path(p).is_file() for p in said["written"])


def test_json_of_errors(folder):
    for line, kind, code in (
        ("effect my:model houses.csv aeg", "DataError", 2),
        ("effect my:model houses.csv age --bins x", None, 2),
    ):
        done = run(f"skedasis {line} --json")
        said = json.loads(done.stdout)
        assert set(said) == {"error"}
        assert done.exit_code == said["error"]["exit_code"] == code
        assert kind is None or said["error"]["kind"] == kind
        assert said["error"]["message"]
        assert done.stderr


def test_what_json_does_not_know():
    class Odd:
        def __str__(self):
            return "odd"

    value = {
        1: float("nan"),
        "a": [np.inf, -math.inf, np.float32(1.5), np.int8(3), np.bool_(True)],
        "b": np.array([[1.0, np.nan]]),
        "c": (None, "é", Path("x/y"), Odd(), pd.Timestamp("2020-01-02"), {3}),
    }
    assert jsonable(value) == {
        "1": None,
        "a": [None, None, 1.5, 3, True],
        "b": [[1.0, None]],
        "c": [None, "é", str(Path("x/y")), "odd", "2020-01-02T00:00:00", [3]],
    }
    json.dumps(jsonable(value), allow_nan=False)


# ------------------------------------------------------------------------------------------- options


def table(name):
    return pd.read_csv(name)


def test_a_booster_gets_its_columns_in_its_order(folder):
    # The file has its columns in another order, and additional columns.
    frame = shell_files.houses()
    frame[frame.columns[::-1]].to_csv("turned.csv", index=False)
    there = document("skedasis effect model.txt houses.csv age size")["results"]
    turned = document("skedasis effect model.txt turned.csv age size")["results"]
    for a, b in zip(there, turned, strict=True):
        assert a["curve"] == b["curve"]
    frame.drop(columns="zip").to_csv("less.csv", index=False)
    done = run("skedasis effect model.txt less.csv age")
    assert done.exit_code == 2
    assert "'zip'" in done.stderr


def test_quantities(folder):
    frame = shell_files.houses()
    said = document(
        "skedasis effect my:clf houses.csv age --quantity likelihood --target sold --method pdp --bins 3"
    )
    from my import clf

    columns = list(clf.feature_names_in_)
    (result,) = said["results"]
    yes = (frame["sold"] == "yes").to_numpy()
    for x, value in zip(result["curve"]["x"], result["curve"]["value"], strict=True):
        p = clf.predict_proba(frame[columns].assign(age=x))[:, 1]
        assert value == pytest.approx(-np.log(np.where(yes, p, 1 - p)).mean())
    loss = document(
        "skedasis effect model.skops houses.csv age --loss absolute_error --target price"
    )
    assert "absolute" in loss["results"][0]["provenance"]["quantity"]


def test_rows_without_a_label(folder):
    frame = shell_files.houses()
    frame.loc[:9, "sold"] = None
    frame.to_csv("holes.csv", index=False)
    said = document("skedasis effect my:clf holes.csv age --quantity likelihood --target sold")
    assert said["rows"] == {"read": 160, "without_label": 10, "used": 150}
    assert "left out 10 rows without a sold" in said["notes"][0]
    # Quantities that do not use labels include these rows.
    said = document("skedasis effect my:clf holes.csv age --target sold")
    assert said["rows"]["used"] == 160


def test_datasets_are_written(folder):
    said = document("skedasis datasets diabetes -o d/diabetes.csv")
    assert said["written"] == [str(Path("d/diabetes.csv"))]
    frame = table("d/diabetes.csv")
    want = sd.datasets.load_diabetes()
    assert list(frame) == [*want.feature_names, want.target]
    np.testing.assert_allclose(frame[want.target], want.y)
    run("skedasis datasets running_example --sample 30 --random-state 2 -o r.csv")
    made = sd.datasets.SYNTHETIC["running_example"]
    X = made.sample(30, 2)
    # Python's float() is exact; the parser of older pandas may be off by the last bit.
    drawn = pd.read_csv("r.csv", dtype=str)
    np.testing.assert_array_equal(drawn[["x1", "x2", "x3"]].to_numpy(float), X)
    np.testing.assert_array_equal(drawn["f"].to_numpy(float), made.f(X))


def test_a_report_gets_what_was_asked_for(folder, monkeypatch):
    seen = {}

    def gather(model, X, **options):
        seen.update(options, model=model, X=X)
        return SimpleNamespace()

    def write(content, path, *, title, scale, progress):
        seen.update(path=path, title=title, scale=scale)
        return SimpleNamespace(path=path, effects={})

    monkeypatch.setattr(importlib.import_module("skedasis.report.content"), "gather", gather)
    # Patch the module by its path: `skedasis.report` is the function after its first use.
    monkeypatch.setattr(importlib.import_module("skedasis.report.report"), "write", write)
    line = "skedasis report my:clf houses.csv age --features size,heat --group heat=gas,oil,wood"
    asked = (
        "--target sold --sample-weight visits --no-rows --pairs 2 --no-uncertainty --n-jobs 2 --random-state 5 "
        "--heterogeneity-rows 50 --no-regions --by oil --max-seconds 7.5 --ignore-check few_rows "
        "--ignore-check collinear --scale difference --split town"
    )
    done = run(f"{line} {asked} --title T --categorical oil --no-progress -o p.html")
    assert done.exit_code == 0, done.output
    frame = shell_files.houses()
    assert list(seen["X"]) == ["age", "size", "gas", "oil", "wood"]
    assert list(seen["y"]) == list(frame["sold"])
    assert list(seen["sample_weight"]) == list(frame["visits"])
    assert (seen["rows"], seen["pairs"], seen["uncertainty"]) == (False, 2, False)
    assert (seen["regions"], seen["by"]) == (False, 3)
    assert (seen["n_jobs"], seen["random_state"], seen["title"]) == (2, 5, "T")
    assert seen["heterogeneity_rows"] == 50
    assert (seen["observed"], list(seen["split"])) == (True, list(frame["town"]))
    assert (seen["max_seconds"], seen["ignore"]) == (7.5, ["few_rows", "collinear"])
    assert (seen["progress"], seen["path"]) == (False, Path("p.html"))
    assert seen["scale"] == "difference"
    assert seen["features"] == [0, 1, "heat"]
    assert seen["groups"] == {"heat": [2, 3, 4]}
    assert seen["schema"] == {"oil": {"kind": "nominal"}}
    assert type(seen["model"]).__name__ == "LogisticRegression"
    line = "skedasis report my:clf houses.csv --class yes --rows 3,17 --no-observed"
    assert run(line).exit_code == 0
    assert (seen["observed"], seen["split"]) == (False, None)
    assert (seen["rows"], seen["pairs"], seen["uncertainty"]) == ([3, 17], 4, True)
    assert (seen["regions"], seen["by"], seen["scale"]) == (True, None, "prediction")
    wrong = run("skedasis report my:clf houses.csv --scale log")
    assert "--scale: got 'log', expected 'difference' or 'prediction'" in " ".join(
        wrong.output.split()
    )
    assert isinstance(seen["model"], Quantity)
    assert seen["path"] == Path("report.html")


@pytest.mark.slow
def test_the_numbers_of_a_page_are_written_to_a_file(folder):
    line = "skedasis report my:model houses.csv age --pairs 0 -o n.html --json-file deep/n.json"
    written = document(f"{line} --ignore-check few_rows")["written"]
    assert written == ["n.html", "deep/n.json"]
    found = json.loads(Path("deep/n.json").read_text("utf-8"))
    assert list(found["models"][0]["features"]) == ["age"]
    assert "deep/n.json" in run(line).stdout


def test_what_was_observed(folder):
    frame = shell_files.houses()
    said = document("skedasis effect my:clf houses.csv gas --quantity label --target price")
    (result,) = said["results"]
    assert result["method"] == "MPlot"
    assert result["curve"]["value"] == pytest.approx([*frame.groupby("gas")["price"].mean()])
    said = document(
        "skedasis effect my:clf houses.csv age --quantity residual --class no --target sold"
    )
    assert said["results"][0]["quantity"] == "residual of P(y = no)"
    said = document(
        "skedasis effect my:clf houses.csv age --quantity label --class yes --target sold --bins 2"
    )
    halves = frame["age"] > frame["age"].quantile(0.5, interpolation="inverted_cdf")
    shares = (frame["sold"] == "yes").groupby(halves).mean()
    assert said["results"][0]["curve"]["value"] == pytest.approx([shares[False], shares[True]])
    done = run("skedasis regions model.skops houses.csv age --quantity residual --target price")
    assert done.exit_code == 2
    assert "MPlot" in done.stderr
