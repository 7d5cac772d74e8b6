"""Model files: which are read, which are rejected, and that no untrusted code runs."""

import gzip
import io
import json
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

import skedasis as sd
from skedasis.cli.app import app
from skedasis.models.files import _FORMATS, SUFFIXES, load_model
from tests.helpers import PATTERN, refused
from tests.shell import CliRunner

skops_io = pytest.importorskip("skops.io")
X = np.random.default_rng(0).normal(size=(60, 2))
LINEAR = LinearRegression().fit(X, X @ [2.0, -1.0])
BOOSTED = HistGradientBoostingRegressor(max_iter=5).fit(X, X[:, 0])
TREES = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"


class Hostile:
    """An object that writes a file when it is unpickled."""

    def __init__(self, mark):
        self.mark = str(mark)

    def __reduce__(self):
        return (Path.write_text, (Path(self.mark), "here"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def effect(model, *args):
    line = ["effect", str(model), "rows.csv", "a", *args]
    return CliRunner().invoke(app, line, env={"COLUMNS": "200"})


def refusal(model, *args):
    done = effect(model, *args)
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    (line,) = done.stderr.strip().splitlines()
    assert PATTERN.match(line), line
    return line


# ------------------------------------------------------------------------------------ hostile files


def bytes_of(kind, mark):
    raw = pickle.dumps(Hostile(mark))
    if kind == "gzip":
        return gzip.compress(raw)
    if kind == "joblib":
        made = io.BytesIO()
        joblib.dump(Hostile(mark), made, compress=3)
        return made.getvalue()
    if kind == "zip":  # the format of torch.save
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            archive.writestr("archive/data.pkl", raw)
        return made.getvalue()
    return raw if kind == "pickle" else pickle.dumps(Hostile(mark), protocol=0)


def test_the_hostile_file_is_hostile(folder):
    mark = folder / "mark"
    for kind in ("pickle", "text"):
        pickle.loads(bytes_of(kind, mark))
        assert mark.read_text() == "here"
        mark.unlink()
    joblib.load(io.BytesIO(bytes_of("joblib", mark)))
    assert mark.exists()


@pytest.mark.parametrize("kind", ["pickle", "text", "gzip", "joblib", "zip"])
@pytest.mark.parametrize("suffix", [*SUFFIXES, ".npz", ".csv", ".parquet", ".feather", ""])
def test_a_hostile_pickle_is_not_loaded_whatever_it_is_called(folder, kind, suffix):
    file, mark = folder / f"model{suffix}", folder / "mark"
    file.write_bytes(bytes_of(kind, mark))
    for ask in (
        lambda: load_model(file),
        lambda: sd.explain(file, X, 0),
        lambda: sd.prediction(file),
    ):
        # UnsupportedError, if the library that reads this suffix is not installed.
        with pytest.raises((sd.DataError, sd.UnsupportedError)):
            ask()
    done = effect(file)
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    # It is not loaded as data or as a result, either.
    as_data = CliRunner().invoke(app, ["effect", "m:o", str(file), "a"])
    assert as_data.exit_code in (1, 2)
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever is wrong with it
        sd.load(file)
    assert not mark.exists()


@pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".joblib", ".skops", ".txt", ".model"])
def test_with_the_flag_it_runs(folder, suffix):
    # The warning in the help of the flag is true.
    file, mark = folder / f"model{suffix}", folder / "mark"
    file.write_bytes(bytes_of("pickle", mark))
    effect(file, "--trust-pickle")
    assert mark.exists()
    said = " ".join(effect("x", "--help").stdout.replace("│", " ").split())
    assert "THIS RUNS CODE FROM THE FILE" in said


def test_a_hostile_table_in_a_skops_file(folder):
    # skops stores objects as a schema. A schema that names a function to call is reported; the function is not called.
    skops_io.dump(LINEAR, "m.skops")
    with zipfile.ZipFile("m.skops") as old:
        parts = {n: old.read(n) for n in old.namelist()}
    schema = json.loads(parts["schema.json"])
    schema["__class__"], schema["__module__"], schema["__loader__"] = "system", "os", "FunctionNode"
    schema["content"] = {"module_path": "os", "function": "system"}
    parts["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile("evil.skops", "w") as new:
        for name, raw in parts.items():
            new.writestr(name, raw)
    line = refusal("evil.skops")
    assert "os.system" in line or "posix.system" in line
    assert "--trust" in line


# ------------------------------------------------------------------------------------------ pickles


@pytest.mark.parametrize("compress", [0, 3, ("gzip", 3), ("bz2", 3), ("xz", 3)])
def test_joblib_and_pickle_are_read_if_they_are_trusted(folder, compress):
    joblib.dump(LINEAR, "m.joblib", compress=compress)
    assert "a pickle, which can run any code when it is loaded" in refusal("m.joblib")
    found = load_model("m.joblib", pickle=True)
    np.testing.assert_array_equal(found.predict(X), LINEAR.predict(X))
    Path("m.pkl").write_bytes(pickle.dumps(LINEAR))
    done = effect("m.pkl", "--trust-pickle")
    assert done.exit_code == 0, done.output
    assert "2.00" in done.stdout


def test_pickles_without_joblib(folder, monkeypatch):
    import importlib.util

    Path("m.pkl").write_bytes(pickle.dumps(LINEAR))
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda n, *a: None if n == "joblib" else found(n, *a)
    )
    np.testing.assert_array_equal(load_model("m.pkl", pickle=True).coef_, LINEAR.coef_)


def test_a_pickle_of_what_is_not_here(folder):
    (folder / "kiln.py").write_text("class Model:\n    def predict(self, X): return X[:, 0]\n")
    code = "import pickle, kiln; open('m.pkl', 'wb').write(pickle.dumps(kiln.Model()))"
    subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=folder, env={"PYTHONPATH": str(folder)}
    )
    (folder / "kiln.py").rename(folder / "moved.txt")
    assert "kiln" in refusal("m.pkl", "--trust-pickle")
    # In the folder of the module, the class is found.
    (folder / "moved.txt").rename(folder / "kiln.py")
    (folder / "rows.csv").write_text("a,b\n" + "\n".join(f"{a},{b}" for a, b in X))
    done = effect("m.pkl", "--trust-pickle", "--method", "pdp")
    sys.modules.pop("kiln", None)
    assert done.exit_code in (0, 1), (
        done.output
    )  # the model expects arrays and gets a frame: its own error
    assert "kiln" not in done.stderr


def test_names_in_a_pickle_that_are_gone(folder):
    Path("m.pkl").write_bytes(b"\x80\x04\x8c\x05numpy\x94\x8c\x07no_such\x94\x93\x94.")
    assert "objects whose modules are missing" in refusal("m.pkl", "--trust-pickle")


@pytest.mark.parametrize("suffix", [".pkl", ".joblib"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.95])
def test_cut_off_pickles(folder, suffix, part):
    raw = pickle.dumps(LINEAR)
    Path(f"m{suffix}").write_bytes(raw[: int(part * len(raw))])
    assert "cut off" in refusal(f"m{suffix}", "--trust-pickle")
    joblib.dump(LINEAR, f"m{suffix}", compress=3)
    raw = Path(f"m{suffix}").read_bytes()
    Path(f"m{suffix}").write_bytes(raw[: int(part * len(raw))])
    assert "cut off" in refusal(f"m{suffix}", "--trust-pickle")


# -------------------------------------------------------------------------------------------- skops


def test_skops_files_answer_as_their_model(folder):
    skops_io.dump(LINEAR, "m.skops")
    e = sd.explain("m.skops", X, 0, method=sd.RHALE())
    assert e.value[-1] - e.value[0] == pytest.approx(2 * np.ptp(X[:, 0]))
    done = effect("m.skops")
    assert done.exit_code == 0, done.output
    assert "2.00" in done.stdout


def test_unknown_types_are_listed_and_refused_unless_named(folder):
    skops_io.dump(BOOSTED, "m.skops")
    line = refusal("m.skops")
    assert f"--trust {TREES}" in line
    with refused(sd.DataError, "types that skops does not know", TREES):
        load_model("m.skops", trust=["other.Type"])
    # Further types in `trust` do no harm, also for a file without unknown types.
    for trust in ([TREES], [TREES, "other.Type"]):
        np.testing.assert_array_equal(load_model("m.skops", trust).predict(X), BOOSTED.predict(X))
    assert effect("m.skops", "--trust", TREES).exit_code == 0
    skops_io.dump(LINEAR, "l.skops")
    assert effect("l.skops", "--trust", TREES).exit_code == 0


def test_the_refusal_can_be_followed_word_by_word(folder):
    skops_io.dump(BOOSTED, "m.skops")
    named = refusal("m.skops").rpartition("name each: ")[2].rstrip(".").split()
    assert effect("m.skops", *named).exit_code == 0


@pytest.mark.parametrize("part", [0.01, 0.5, 0.99])
def test_cut_off_skops(folder, part):
    skops_io.dump(LINEAR, "m.skops")
    raw = Path("m.skops").read_bytes()
    Path("m.skops").write_bytes(raw[: int(part * len(raw))])
    assert "cut off" in refusal("m.skops")


@pytest.mark.parametrize(
    "schema", [None, b"", b"[]", b"{}", b'{"__loader__": "NoSuchNode"}', b"{" * 10]
)
def test_other_archives_are_no_skops(folder, schema):
    with zipfile.ZipFile("m.skops", "w") as archive:
        archive.writestr("a.txt" if schema is None else "schema.json", schema or b"")
    assert "not in skops format" in refusal("m.skops")


def test_without_skops_its_extra_is_named(folder, monkeypatch):
    skops_io.dump(LINEAR, "m.skops")
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with refused(sd.UnsupportedError, "pip install 'skedasis[skops]'"):
        load_model("m.skops")


def test_without_torch_its_extra_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "torch.export", None)
    Path("m.pt2").write_bytes(b"PK\x03\x04")
    Path("m.pt").write_bytes(b"PK\x03\x04")
    with refused(sd.UnsupportedError, "pip install 'skedasis[torch]'"):
        load_model("m.pt2")
    assert "a pickle" in refusal("m.pt")
    assert "skedasis[torch]" in refusal("m.pt", "--trust-pickle")


# ------------------------------------------------------------------------ files that are not models


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_empty_absent_and_folders(folder, suffix):
    pytest.importorskip(next(form.module for form in _FORMATS if suffix in form.suffixes))
    Path(f"empty{suffix}").touch()
    Path(f"folder{suffix}").mkdir()
    assert "cut off" in refusal(f"empty{suffix}", "--trust-pickle")
    assert "Is a directory" in refusal(f"folder{suffix}")
    assert "no file" in refusal(f"gone{suffix}")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_that_cannot_be_read(folder, suffix, monkeypatch):
    file = folder / f"m{suffix}"
    file.write_bytes(b"x")
    usual = Path.open

    def locked(self, *args, **kwargs):
        if self == file:
            raise PermissionError(13, "Permission denied")
        return usual(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", locked)
    with refused(sd.DataError, "cannot be read (Permission denied)", "its permissions"):
        load_model(file)


@pytest.mark.parametrize("suffix", [".pkl", ".joblib", ".skops", ".json", ".ubj", ".txt"])
def test_files_of_something_else(folder, suffix):
    Path(f"m{suffix}").write_text("a,b\n1,2\n", encoding="utf-8")
    assert "format" in refusal(f"m{suffix}", "--trust-pickle")


def test_json_that_is_no_object(folder):
    for text in ("[1]", "3", '"learner"', "\udc80"):
        Path("m.json").write_bytes(text.encode("utf-8", "surrogatepass"))
        assert "not in XGBoost format" in refusal("m.json")


def test_rows_before_the_model(folder):
    assert "the data file 'rows.csv'" in refusal("rows.csv")
    assert "Write the model first" in refusal("rows.csv")


@pytest.mark.parametrize(
    ("spec", "fix"),
    [
        (".my:x", "without a leading dot: my:x."),
        ("./my:x", "without a leading dot: my:x."),
        ("./my.py:x", "without a leading dot: my:x."),
        ("./sub/my:x.y", "without a leading dot: sub.my:x.y."),
        (".:x", "without a leading dot: my_module:x."),
        ("../my:x", "Run the command in the folder of ../my.py."),
    ],
)
def test_modules_with_a_leading_dot(folder, spec, fix):
    line = refusal(spec)
    assert line.startswith(f"--model: got {spec!r}, expected MODULE:OBJECT.")
    assert line.endswith(fix)


@pytest.mark.parametrize(
    ("name", "code", "kind"),
    [
        ("typed", "len(3)", "TypeError: object of type 'int'"),
        ("valued", "raise ValueError('two\\nlines')", "ValueError: two lines"),
        ("imports", "from math import no_such_name", "ImportError: cannot import name"),
        ("relative", "from .other import x", "ImportError: attempted relative import"),
        ("syntax", "x = (", "SyntaxError: "),
    ],
)
def test_modules_that_fail(folder, name, code, kind):
    (folder / f"{name}.py").write_text(code)
    line = refusal(f"{name}:model")
    assert f"--model {name}:model: got a module that cannot be imported ({kind}" in line
    assert line.endswith("Correct the module; --debug shows the traceback.")
    done = effect(f"{name}:model", "--debug")
    assert "Traceback" in done.stderr
    assert f"{name}.py" in done.stderr


def test_modules_whose_error_says_what_to_do(folder):
    (folder / "reads.py").write_text("open('gone.txt')")
    (folder / "explains.py").write_text(
        "import numpy as np, skedasis as sd\nsd.explain(len, np.eye(3), (0, 1, 2))"
    )
    done = effect("reads:model")
    assert done.exit_code == 2
    assert done.stderr.startswith("gone.txt: No such file or directory. Check the path")
    assert refusal("explains:model").startswith("features: got a tuple of 3")


def test_models_that_are_scripts(folder):
    (folder / "script.py").write_text("import sys\nmodel = 1\nsys.exit(0)\n")
    line = refusal("script:model")
    assert "SystemExit: 0" in line
    assert 'Move the code that runs into: if __name__ == "__main__"' in line
    assert "expected MODULE:OBJECT" in refusal(":model")
    assert "expected MODULE:OBJECT" in refusal("script:")
