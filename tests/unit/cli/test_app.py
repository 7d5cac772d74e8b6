"""Command-line interface: printed output, written files, and errors of one line."""

import json
import subprocess
import sys

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


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_effect_writes_a_figure(folder, ending):
    done = effect("--out", f"new/a.{ending}")
    assert done.exit_code == 0, done.output
    begins = {"png": b"\x89PNG", "svg": b"<?xml"}[ending]
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


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"feature": "aa"}, "Did you mean 'a'"),
        ({"model": "kitchen"}, "expected MODULE:OBJECT"),
        ({"model": "needy:linear"}, "needs 'no_such_library_at_all'"),
        ({"model": "kitchen:lineal"}, "no 'lineal' in kitchen"),
        ({"model": "kitchen:classes", "extra": ["--class", "7"]}, "class_='7'"),
        ({"extra": ["--out", "a.gif"]}, "a name that ends in .png"),
        ({"extra": ["--data", "dada.csv"]}, "Did you mean 'data.csv'"),
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


# -------------------------------------------------------------------------- the installed command


def test_help_loads_little():
    code = (
        "import sys, skedasis.cli; "
        "print([m for m in ('numpy', 'sklearn', 'pandas', 'matplotlib', 'narwhals') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["demo", "info"])
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
sys.argv[1:] = ['{command}']
from skedasis.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if command == "demo" else 0)
    assert ("pip install 'skedasis[sklearn]'" in done.stderr) == (command == "demo")
