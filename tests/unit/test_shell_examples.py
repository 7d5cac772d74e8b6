"""Run every example of `--help` and of the command-line guide as written, and compare JSON with its documentation."""

import importlib
import json
import math
import re
import shlex
import sys
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

DOCS = Path(__file__).parents[2] / "docs" / "guides" / "shell.md"
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


WHOLE = ("--rows 3,17", "--sample 100", "houses.parquet", "houses.csv --target price --json")
"""Parts of lines that write pages of several features with all their figures."""


def slowly(command, line, *values):
    whole = command == "report" and any(part in line for part in WHOLE)
    marks = [pytest.mark.slow] if command == "demo" or whole else []
    return pytest.param(*values, marks=marks, id=line)


@pytest.mark.many
@pytest.mark.parametrize(("command", "line"), [slowly(*pair, *pair) for pair in LINES])
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


@pytest.mark.many
@pytest.mark.parametrize("command", HELP)
def test_help_shows_its_examples_whole(command):
    for width in ("80", "120"):
        shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": width})
        assert shown.exit_code == 0
        for line in re.findall(r"^skedasis .*$", HELP[command], re.MULTILINE):
            assert line in shown.stdout
        for common in ("--json", "--quiet", "--no-progress"):
            assert common in shown.stdout


@pytest.mark.many
@pytest.mark.parametrize("command", ["", *HELP])
def test_help_shows_options_whole_and_no_type_of_flags(command):
    for width in ("80", "120"):
        line = [command, "--help"] if command else ["--help"]
        shown = CliRunner().invoke(app, line, env={"COLUMNS": width}).stdout
        assert "<bool>" not in shown
        for panel in re.findall(r"╭─ (?:Options|Page|Model|Data|Output) .*?╰", shown, re.DOTALL):
            names = re.findall(r"^│ (--\S+)", panel, re.MULTILINE)
            assert names
            assert not any("…" in name for name in names)
    if command in ("report", "effect"):
        assert "--heterogeneity-rows" in shown


OTHERS = [line for line in TOLD if line not in {example for _, example in LINES}]


@pytest.mark.many
@pytest.mark.parametrize("line", [slowly(line.split()[1], line, line) for line in OTHERS])
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


@pytest.mark.slow
def test_json_of_importances(folder):
    said = document("skedasis importance my:clf houses.csv --quantity entropy --n-repeats 2")
    (result,) = said["results"]
    assert result["kind"] == "Importance"
    assert [r["lower"] for r in result["ranking"]] == [None] * 5  # two repeats have no interval
    said = document("skedasis importance my:clf houses.csv --target sold --n-repeats 3")
    assert said["results"][0]["kind"] == "Diagnosis"
    assert set(said["results"][0]["features"]) == {"age", "size", "gas", "oil", "wood"}


@pytest.mark.slow
def test_json_of_a_report(folder):
    said = document(
        "skedasis report model.skops houses.csv --target price --sample 100 --pairs 0 -o j.html"
    )
    assert said["written"] == ["j.html"]
    assert said["rows"]["used"] == 100
    assert "sample    100 of 160 rows, seed 0".replace("    ", " ") in " ".join(
        said["notes"][0].split()
    )
    (methods,) = said["models"].values()
    frame = shell_files.houses()
    for feature in ("age", "size"):
        assert methods["RHALE"][feature]["importance"] > 0
    assert set(methods["RHALE"]) == {"age", "size"}
    assert len(frame) == said["rows"]["read"]


@pytest.mark.slow
def test_json_of_info_and_datasets():
    said = document("skedasis info")
    assert said["versions"]["numpy"] == np.__version__
    assert said["extras"]["sklearn"] is True
    assert set(said["extras"]) >= {"jax", "keras", "onnx", "sklearn", "torch", "trees"}
    assert said["cores"] >= 1
    said = document("skedasis datasets")
    assert said["datasets"][0]["name"] == "diabetes"
    assert said["datasets"][0]["rows"] == 442
    assert "running_example" in said["synthetic"]


def test_json_of_errors(folder):
    for line, kind, code in (
        ("effect my:model houses.csv aeg", "DataError", 2),
        ("effect my:model houses.csv age --bins x", None, 2),
        ("effect my:houses houses.csv age", None, 2),
        ("effect my:nothing_of_the_kind houses.csv age", "DataError", 2),
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


@pytest.mark.slow
def test_weights_count_rows(folder):
    frame = shell_files.houses()
    run(
        "skedasis effect my:clf houses.csv age --sample-weight visits --method pdp --bins 5 -o w.csv"
    )
    from my import clf

    columns = list(clf.feature_names_in_)
    want = sd.explain(
        clf, frame[columns], "age", method=sd.PDP(grid=5), sample_weight=frame["visits"]
    )
    np.testing.assert_allclose(table("w.csv")["value"], want.value)
    repeated = frame.loc[frame.index.repeat(frame["visits"])].reset_index(drop=True)
    means = [
        clf.predict_proba(repeated[columns].assign(age=x))[:, 1].mean() for x in table("w.csv")["x"]
    ]
    np.testing.assert_allclose(table("w.csv")["value"], means)


@pytest.mark.slow
def test_weights_and_target_are_no_features(folder):
    said = document("skedasis effect my:other houses.csv age --sample-weight visits --target sold")
    assert said["results"][0]["feature"] == "age"
    for line, word in (
        ("effect my:other houses.csv visits --sample-weight visits", "visits"),
        ("effect my:other houses.csv sold --target sold", "sold"),
        ("effect my:other houses.csv age --target sold --sample-weight sold", "--sample-weight"),
        ("effect my:other houses.csv age --sample-weight town", "sample_weight"),
        ("effect my:other houses.csv age --sample-weight vists", "Did you mean 'visits'"),
    ):
        done = run(f"skedasis {line}")
        assert done.exit_code == 2, done.output
        assert word in done.stderr


@pytest.mark.slow
def test_a_sample_is_seeded_and_said(folder):
    first = document("skedasis effect my:clf houses.csv age --sample 50 --random-state 3")
    again = document("skedasis effect my:clf houses.csv age --sample 50 --random-state 3")
    other = document("skedasis effect my:clf houses.csv age --sample 50 --random-state 4")
    everything = document("skedasis effect my:clf houses.csv age --sample 5000")
    assert first["rows"] == {"read": 160, "without_label": 0, "used": 50}
    assert first["results"][0]["curve"] == again["results"][0]["curve"]
    assert first["results"][0]["curve"] != other["results"][0]["curve"]
    assert everything["rows"]["used"] == 160
    assert everything["notes"] == []
    from my import clf

    X = shell_files.houses()[list(clf.feature_names_in_)]
    want = sd.explain(clf, X, "age", sample=50, random_state=3)
    assert first["results"][0]["importance"] == want.importance
    assert "50 of 160 rows" in run("skedasis effect my:clf houses.csv age --sample 50").stdout
    quiet = run("skedasis effect my:clf houses.csv age --sample 50 --quiet").stdout
    assert "50 of 160 rows" not in quiet
    assert "age: effect on " in quiet


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


def test_boosters_of_arrays_take_what_is_left(folder):
    import lightgbm

    frame = shell_files.houses()
    fitted = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1)
    fitted.fit(frame[["age", "size"]].to_numpy(), frame["price"]).booster_.save_model("plain.txt")
    frame[["age", "size", "price"]].to_csv("three.csv", index=False)
    assert run("skedasis effect plain.txt three.csv age --target price").exit_code == 0
    done = run("skedasis effect plain.txt three.csv age")
    assert done.exit_code == 2
    assert (
        "3 without target, weights and ignored columns ('age', 'size', 'price'), expected 2"
        in done.stderr
    )
    spaced = frame.rename(columns={"age": "age of house"})
    fitted.fit(spaced[["size", "age of house"]], frame["price"]).booster_.save_model("spaced.txt")
    spaced.to_csv("spaced.csv", index=False)
    said = document("skedasis effect spaced.txt spaced.csv 'age of house'")
    assert said["results"][0]["feature"] == "age of house"


def test_xgboost_from_the_shell(folder):
    xgboost = pytest.importorskip("xgboost")
    frame = shell_files.houses()
    fitted = xgboost.XGBRegressor(n_estimators=5).fit(frame[["size", "age"]], frame["price"])
    for ending in ("json", "ubj"):
        fitted.save_model(f"model.{ending}")
        said = document(f"skedasis effect model.{ending} houses.csv age --method pdp --bins 4")
        (result,) = said["results"]
        for x, value in zip(result["curve"]["x"], result["curve"]["value"], strict=True):
            mean = fitted.predict(frame[["size", "age"]].assign(age=x)).mean()
            assert value == pytest.approx(mean, rel=1e-5)


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
    for line, words in (
        ("--quantity likelihood", ["--target: got none"]),
        ("--quantity magic", ["one of prediction"]),
        ("--loss zero_one --quantity entropy", ["--loss"]),
        ("--class yes --quantity entropy", ["--class"]),
        ("--loss magic --target sold", ["magic"]),
        ("--features age,,size", ["COLUMN,COLUMN", "Write for example --features age,town"]),
        ("--features ''", ["--features"]),
        ("size --with town", ["--with: got 2 features"]),
    ):
        done = run(f"skedasis effect my:clf houses.csv age {line}")
        assert done.exit_code == 2, done.output
        for word in words:
            assert word in done.stderr, done.stderr


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


def test_features_by_every_way(folder):
    frame = shell_files.houses().rename(columns={"age": "age, years"})
    frame.to_csv("commas.csv", index=False)
    for names in (
        "'age, years' size",
        "--feature 'age, years' --feature size",
        "--features '\"age, years\",size'",
    ):
        said = document(
            f"skedasis effect my:other2 commas.csv {names} --target sold --method pdp --bins 3"
        )
        assert [r["feature"] for r in said["results"]] == ["age, years", "size"]


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
    for line, word in (
        ("datasets -o x.csv", "NAME"),
        ("datasets diabetes -o x.xls", "ends in .csv"),
        ("datasets dibetes", "Did you mean 'diabetes'"),
    ):
        done = run(f"skedasis {line}")
        assert done.exit_code == 2
        assert word in done.stderr


@pytest.mark.slow
def test_two_models_of_one_name(folder):
    Path("a").mkdir(exist_ok=True)
    Path("a/model.skops").write_bytes(Path("model.skops").read_bytes())
    sys.modules.pop("my", None)
    line = "report --model model.skops --model a/model.skops --data houses.csv --target price --pairs 0"
    said = document(f"skedasis {line} -o two.html")
    assert set(said["models"]) == {"model.skops", "a/model.skops"}
    done = run("skedasis report --model model.skops --model model.skops houses.csv")
    assert done.exit_code == 2
    assert "twice" in done.stderr


def test_a_report_gets_what_was_asked_for(folder, monkeypatch):
    seen = {}

    def build(model, X, y, path, **options):
        seen.update(options, model=model, X=X, y=y, path=path)
        return SimpleNamespace(path=path, effects={})

    # Patch the module by its path: `skedasis.report` is the function after its first use.
    monkeypatch.setattr(importlib.import_module("skedasis.report.report"), "report", build)
    line = "skedasis report my:clf houses.csv age --features size,heat --group heat=gas,oil,wood"
    asked = (
        "--target sold --sample-weight visits --no-rows --pairs 2 --no-uncertainty --n-jobs 2 --random-state 5 "
        "--heterogeneity-rows 50 --no-regions --by oil --max-seconds 7.5 --ignore-check few_rows "
        "--ignore-check collinear"
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
    assert (seen["max_seconds"], seen["ignore"]) == (7.5, ["few_rows", "collinear"])
    assert (seen["progress"], seen["path"]) == (False, Path("p.html"))
    assert seen["features"] == [0, 1, "heat"]
    assert seen["groups"] == {"heat": [2, 3, 4]}
    assert seen["schema"] == {"oil": {"kind": "nominal"}}
    assert type(seen["model"]).__name__ == "LogisticRegression"
    assert run("skedasis report my:clf houses.csv --class yes").exit_code == 0
    assert (seen["rows"], seen["pairs"], seen["uncertainty"]) == (True, 4, True)
    assert (seen["regions"], seen["by"]) == (True, None)
    assert seen["heterogeneity_rows"] == 10_000
    assert (seen["max_seconds"], seen["ignore"]) == (None, None)
    assert isinstance(seen["model"], Quantity)
    assert (seen["progress"], seen["y"], seen["features"]) == (None, None, None)
    assert seen["path"] == Path("report.html")


@pytest.mark.slow
def test_scores_are_in_the_document_unless_they_are_left_out(folder):
    names = ("heterogeneity_score", "heterogeneity_score_error")
    for rows, known in (("10000", True), ("0", False)):
        line = f"skedasis effect my:model houses.csv age --heterogeneity-rows {rows}"
        said = document(line)["results"][0]
        assert all((said[name] is not None) == known for name in names)
        assert (said["provenance"]["score_rows"] > 0) == known
        words = run(line).stdout
        assert ("heterogeneity score not computed" in words) != known
    line = "skedasis report my:model houses.csv age --pairs 0 -o scores.html"
    (methods,) = document(line)["models"].values()
    assert set(methods["RHALE"]["age"]) == {"importance", *names}
    assert methods["RHALE"]["age"]["heterogeneity_score"] is not None


@pytest.mark.slow
def test_no_rows_leaves_rows_out(folder):
    frame = shell_files.houses()
    frame["age"] = np.linspace(10, 80, len(frame)) + 0.123456789
    frame.to_csv("precise.csv", index=False)
    sizes = {}
    for rows in ("", "--no-rows"):
        line = f"skedasis report model.skops precise.csv --pairs 0 {rows} -o rows.html"
        assert run(line).exit_code == 0
        sizes[rows] = Path("rows.html").stat().st_size
        drawn = 'class="curves ' in Path("rows.html").read_text("utf-8")
        assert drawn == (not rows)
    assert sizes["--no-rows"] < sizes[""]


def test_rows_are_numbers_of_the_file(folder, monkeypatch):
    seen = {}

    def build(model, X, y, path, **options):
        seen.update(options, X=X)
        return SimpleNamespace(path=path, effects={})

    monkeypatch.setattr(importlib.import_module("skedasis.report.report"), "report", build)
    assert run("skedasis report my:model houses.csv --rows 3,17").exit_code == 0
    assert seen["rows"] == [3, 17]
    assert run("skedasis report my:model houses.csv --rows '0, 2'").exit_code == 0
    assert seen["rows"] == [0, 2]


@pytest.mark.many
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("--rows 3,x", "'3,x'"),
        ("--rows 3,,4", "'3,,4'"),
        ("--rows=-1", "'-1'"),
        ("--rows ²", "'²'"),
        ("--rows 3 --no-rows", "beside --no-rows"),
        ("--rows 3 --sample 10", "beside --sample"),
        ("--rows 999999", "among"),
        ("--max-seconds 0", "max_seconds"),
        ("--max-seconds nan", "max_seconds"),
        ("--ignore-check nonsense", "'nonsense'"),
        ("--json-file page.html", "ends in .json"),
        ("--json-file .", "ends in .json"),
    ],
)
def test_options_of_a_report_are_refused_in_one_line(folder, asked, said):
    done = run(f"skedasis report my:model houses.csv age --pairs 0 {asked} -o refused.html")
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert not Path("refused.html").exists()


def test_numbers_of_rows_are_refused_where_rows_are_left_out(folder):
    frame = shell_files.houses()
    frame.loc[2, "price"] = np.nan
    frame.to_csv("gaps.csv", index=False)
    done = run(
        "skedasis report model.skops gaps.csv --target price --rows 3 --pairs 0 -o gaps.html"
    )
    assert done.exit_code == 2
    assert "1 rows without a price" in done.stderr


@pytest.mark.slow
def test_the_numbers_of_a_page_are_written_to_a_file(folder):
    line = "skedasis report my:model houses.csv age --pairs 0 -o n.html --json-file deep/n.json"
    written = document(f"{line} --ignore-check few_rows")["written"]
    assert written == ["n.html", "deep/n.json"]
    found = json.loads(Path("deep/n.json").read_text("utf-8"))
    assert list(found["models"][0]["features"]) == ["age"]
    assert "deep/n.json" in run(line).stdout
