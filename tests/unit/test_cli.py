"""Command-line interface: printed output, written files, and errors of one line."""

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.cli.app import app
from tests.shell import CliRunner
from tests.unit.shell_files import headings

MODULE = """
import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression
import pandas as pd

X = pd.read_csv("data.csv")
linear = LinearRegression().fit(X[["b", "a"]], X["y"])
classes = LogisticRegression().fit(X[["a", "b"]], np.digitize(X["y"], [-1, 1]))
answer = 42

class Room:
    model = staticmethod(lambda X: X["a"] * X["b"])

def broken(X):
    raise RuntimeError("the oven is cold")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    frame.assign(y=2 * frame.a - frame.b).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "kitchen.py").write_text(MODULE)
    (tmp_path / "needy.py").write_text("import no_such_library_at_all")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("kitchen", "needy"):
        sys.modules.pop(name, None)


def call(*args):
    return CliRunner().invoke(app, [str(a) for a in args], env={"COLUMNS": "120"})


def effect(*args, model="kitchen:linear", feature="a"):
    return call("effect", "--model", model, "--data", "data.csv", "--feature", feature, *args)


def one_line(result, code=2):
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    lines = result.stderr.strip().splitlines()
    return (
        lines[0] if code == 1 else "".join(lines) if len(lines) == 1 else pytest.fail(result.stderr)
    )


# ---------------------------------------------------------------------------------------- effects


@pytest.mark.slow
def test_effect_prints_its_bins(folder):
    done = effect()
    assert done.exit_code == 0, done.output
    assert "a: effect on prediction (RHALE)" in done.stdout
    assert "2.00" in done.stdout


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_effect_writes_a_figure(folder, ending):
    done = effect("--out", f"new/a.{ending}")
    assert done.exit_code == 0, done.output
    begins = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert (folder / "new" / f"a.{ending}").read_bytes().startswith(begins)


def test_effect_writes_its_numbers(folder):
    for method in ("ale", "pdp"):
        for ending in ("csv", "json", "npz"):
            done = effect("--out", f"{method}.{ending}", "--method", method, "--bins", 7)
            assert done.exit_code == 0, done.output
        csv = pd.read_csv(f"{method}.csv")
        loaded = sd.load(f"{method}.npz")
        content = json.loads((folder / f"{method}.json").read_text())
        np.testing.assert_allclose(csv["value"], loaded.value)
        np.testing.assert_allclose(content["curve"]["value"], loaded.value)
        assert len(loaded.x) == (8 if method == "ale" else 7)
        assert (content["bins"] is not None) == (method == "ale")
        assert content["provenance"]["method"] == method.upper()


def test_models_get_the_columns_that_they_know(folder):
    assert effect(feature="b").exit_code == 0
    inner = effect("--target", "y", model="kitchen:Room.model")
    assert inner.exit_code == 0, inner.output
    chosen = effect("--class", "1", model="kitchen:classes")
    assert "P(y = 1)" in chosen.stdout


@pytest.mark.many
@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"feature": "aa"}, "Did you mean 'a'"),
        ({"model": "kitchen"}, "expected MODULE:OBJECT"),
        ({"model": "kitchn:linear"}, "no module 'kitchn'"),
        ({"model": "needy:linear"}, "needs 'no_such_library_at_all'"),
        ({"model": "kitchen:lineal"}, "no 'lineal' in kitchen"),
        ({"model": "kitchen:classes"}, "3 classes and no class_"),
        ({"model": "kitchen:answer"}, "expected a callable"),
        ({"model": "kitchen:classes", "extra": ["--class", "7"]}, "class_='7'"),
        ({"extra": ["--method", "magic"]}, "expected one of 'ale'"),
        ({"extra": ["--out", "a.gif"]}, "a name that ends in .png"),
        ({"extra": ["--data", "dada.csv"]}, "Did you mean 'data.csv'"),
        ({"extra": ["--target", "z"], "model": "kitchen:Room.model"}, "--target: got 'z'"),
        ({"extra": ["--ignore", "few_rows"]}, "use --ignore-check few_rows"),
    ],
)
def test_errors_are_one_line(folder, args, message):
    extra = args.pop("extra", [])
    assert message in one_line(effect(*extra, **args))


def test_a_models_own_error_is_told_apart(folder):
    assert "the oven is cold" in one_line(effect(model="kitchen:broken"), code=1)


def test_debug_shows_where(folder):
    for place in (0, None):
        args = ["effect", "--model", "kitchen:broken", "--data", "data.csv", "--feature", "a"]
        args.insert(len(args) if place is None else place, "--debug")
        done = call(*args)
        assert done.exit_code == 1
        assert "Traceback" in done.stderr
        assert 'RuntimeError("the oven is cold")' in done.stderr


# --------------------------------------------------------------------------------- other commands


def test_report(folder):
    done = call(
        *("report", "--model", "kitchen:linear", "--data", "data.csv", "--feature", "a"),
        *("--out", "page.html", "--title", "Pots & pans"),
    )
    assert done.exit_code == 0, done.output
    page = (folder / "page.html").read_text("utf-8")
    assert headings(page, "h1") == ["Pots & pans"]
    assert "LinearRegression" in page


@pytest.mark.slow
def test_report_of_two(folder):
    (folder / "kitchen.py").write_text(
        MODULE + "\nsame = LinearRegression().fit(X[['b', 'a']], X['y'])"
    )
    models = ("--model", "kitchen:linear", "--model", "kitchen:same")
    done = call("report", *models, "--data", "data.csv", "--feature", "a", "--out", "page.html")
    assert done.exit_code == 0, done.output
    assert ">same<" in (folder / "page.html").read_text("utf-8")


def test_demo_passes_its_options_on(monkeypatch, tmp_path):
    seen = {}

    def demo(*args, **kwargs):
        seen.update(kwargs, args=args)
        return SimpleNamespace(path=tmp_path / "report.html", figures=(tmp_path / "a.png",))

    monkeypatch.setattr("skedasis.demo.demo.demo", demo)
    done = call(
        *(
            "demo",
            "--data",
            "x.csv",
            "--target",
            "t",
            "--out",
            tmp_path,
            "--class",
            "c",
            "--rows",
            9,
        )
    )
    assert done.exit_code == 0, done.output
    assert [str(a) for a in seen["args"]] == ["x.csv", "t", str(tmp_path)]
    assert (seen["class_"], seen["rows"], seen["random_state"]) == ("c", 9, 0)
    assert seen["progress"] is None
    done = call("demo", "--sample", 9, "--no-progress", "--json", "--out", tmp_path)
    assert json.loads(done.stdout)["written"] == [
        str(p) for p in (tmp_path / "report.html", tmp_path / "a.png")
    ]
    assert (seen["rows"], seen["progress"]) == (9, False)


def test_demo_errors_are_one_line(folder):
    assert "Did you mean 'y'" in one_line(call("demo", "--data", "data.csv", "--target", "yy"))


@pytest.mark.slow
def test_datasets(monkeypatch):
    done = call("datasets")
    assert done.exit_code == 0, done.output
    for name in ("diabetes", "concrete", "running_example"):
        assert name in done.stdout


def test_info():
    done = call("info")
    assert done.exit_code == 0
    assert sd.__version__ in done.stdout
    assert np.__version__ in done.stdout


def test_wrong_options_are_typers_own():
    done = call("effect", "--modl", "x")
    assert done.exit_code == 2
    assert "modl" in done.output


# -------------------------------------------------------------------------- the installed command


def shell(*args, **kwargs):
    command = [sys.executable, "-m", "skedasis.cli", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, **kwargs)


def test_the_package_is_the_command():
    command = [sys.executable, "-m", "skedasis", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"skedasis {sd.__version__}\n")


def test_the_real_command(folder):
    done = shell("effect", "--model", "kitchen:linear", "--data", "data.csv", "--feature", "nope")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("--feature: got 'nope'")
    assert done.stderr.count("\n") == 1


def test_help_loads_little():
    code = (
        "import sys, skedasis.cli; "
        "print([m for m in ('numpy', 'sklearn', 'pandas', 'matplotlib', 'narwhals') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["demo"],
        *(pytest.param(c, marks=pytest.mark.slow) for c in (["info"], ["datasets"])),
        # The help loads none of the libraries, as the test above says.
        *(pytest.param(c, marks=pytest.mark.long) for c in (["--help"], ["effect", "--help"])),
    ],
)
def test_commands_start_after_a_plain_install(folder, command):
    hidden = "('sklearn', 'pandas', 'polars', 'pyarrow', 'torch')"
    code = f"""
import sys, importlib.util
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in {hidden}: raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Hide())
found = importlib.util.find_spec
importlib.util.find_spec = lambda n, p=None: None if n.split('.')[0] in {hidden} else found(n, p)
sys.argv[1:] = {command}
from skedasis.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    if command == ["demo"]:
        assert done.returncode == 2
        assert "pip install 'skedasis[sklearn]'" in done.stderr
    else:
        assert done.returncode == 0, done.stderr
