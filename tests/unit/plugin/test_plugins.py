"""A package can add a method, a quantity and a reliability check, and use them everywhere."""

from __future__ import annotations

import contextlib
import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis import registry
from skedasis.cli.app import app
from skedasis.results.checks import check, reliability
from tests.helpers import refused
from tests.shell import CliRunner

SOURCE = Path(__file__).with_name("ends_plugin.py")
TABLES = (registry.METHODS, registry.QUANTITIES, check.CODES, reliability.RULES)
MODEL = "def model(X):\n    return -3 * X['a'].to_numpy() + X['b'].to_numpy() ** 2\n"


@pytest.fixture
def plugin(monkeypatch):
    """Import the plugin, and take it out of the tables afterwards."""
    monkeypatch.syspath_prepend(SOURCE.parent)
    with contextlib.ExitStack() as stack:
        for table in TABLES:
            stack.enter_context(mock.patch.dict(table))
        yield importlib.import_module("ends_plugin")
    del sys.modules["ends_plugin"]


def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.uniform(size=(80, 2)), columns=["a", "b"]).round(3)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    frame().to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "plugged.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("plugged", None)


def linear(X):
    return -3 * X["a"] + X["b"] ** 2


def test_a_method_is_used_by_name_and_by_class(plugin):
    X = frame()
    by_name, by_class = sd.explain(linear, X, "a", method="ends"), plugin.Ends(inner=0.25)
    low, high = X["a"].min(), X["a"].max()
    np.testing.assert_allclose(by_name.x, [low, high])
    np.testing.assert_allclose(by_name.value, -3 * by_name.x + (X["b"] ** 2).mean())
    assert "Ends" in str(by_name)
    inner = sd.explain(linear, X, "a", method=by_class)
    np.testing.assert_allclose(np.ptp(inner.x), (high - low) / 2)
    assert inner.spec.parameters == {"inner": 0.25}
    weights = np.arange(80) % 3
    weighted = sd.explain(linear, X, "a", method="ends", sample_weight=weights)
    repeated = sd.explain(linear, X.loc[X.index.repeat(weights)], "a", method="ends")
    np.testing.assert_allclose(weighted.value, repeated.value)
    np.testing.assert_allclose(weighted.std_error, repeated.std_error)


def test_what_a_method_has_not_is_refused(plugin):
    X = frame().assign(town=pd.Categorical(list("uv") * 40))
    with refused(sd.UnsupportedError, "Ends of 'town'", "a numeric feature"):
        sd.explain(lambda X: X["a"], X, "town", method="ends")
    with refused(sd.UnsupportedError, "Ends of ('a', 'b')", "a method for pairs: ALE, DALE"):
        sd.explain(linear, X, ("a", "b"), method="ends")
    with refused(sd.DataError, "'end'", "'ends'. Did you mean method='ends'"):
        sd.explain(linear, X, "a", method="end")
    with refused(sd.UnsupportedError, "regions of Ends", "RHALE, ALE, DALE, UALE, PDP or ICE"):
        sd.regions(linear, X[["a", "b"]], "a", method="ends")
    with pytest.raises(TypeError, match=r"method=Ends\(inner=\.\.\.\)"):
        sd.explain(linear, X, "a", inner=0.1)


def test_a_message_names_the_class_as_it_is_called(plugin):
    X = frame()
    with refused(sd.DataError, "the class Ends", "Pass an instance: method=Ends()"):
        sd.explain(linear, X, "a", method=plugin.Ends)
    with refused(sd.UnsupportedError, "method=Ends()"):
        plugin.Ends(linear)
    found = sd.explain(linear, X, "a", method="ends", heterogeneity_rows=0)
    with refused(sd.UnsupportedError, "needs local effects, which Ends does not have"):
        found.interval(of="heterogeneity_score")
    other = sd.explain(lambda X: X["a"] ** 2, X, "a", method=sd.PDP(grid=9))
    texts = [f.message for f in other.checks(beside=found).of("disagreement")]
    assert texts
    assert all("sd.Ends" not in text and "Ends(grid=e.x)" in text for text in texts)


def test_names_are_found_in_any_case(plugin):
    registry.METHODS["Mine"] = registry.MethodEntry("Ends", "the same", plugin.Ends)
    X = frame()
    for name in ("Mine", "mine", "ENDS"):
        assert sd.explain(linear, X, "a", method=name).spec.method == "Ends"


def test_results_are_saved_tabulated_and_drawn(plugin, tmp_path):
    X = frame()
    found = sd.explain(plugin.deviation(linear), X, method="ends")
    found.save(tmp_path / "found.zip")
    again = sd.load(tmp_path / "found.zip")
    assert again["a"].spec.method == "Ends"
    np.testing.assert_array_equal(again["a"].value, found["a"].value)
    assert found.to_json() == again.to_json()
    assert list(again.to_frame()["feature"].unique()) == ["a", "b"]
    assert "absolute prediction" in found["a"].plot().axes[0].get_ylabel()


def test_a_check_is_run_for_every_effect_and_can_be_ignored(plugin):
    X = frame()
    found = sd.explain(linear, X, "a", method="ends")
    assert [f.code for f in found.checks().of("few_levels")] == ["few_levels"]
    assert not found.checks(ignore="few_levels").of("few_levels")
    assert not sd.explain(linear, X, "a", method=sd.PDP(grid=9)).checks().of("few_levels")
    assert "few_levels" in found.checks().to_json()


def test_a_report_explains_a_quantity_with_the_check(plugin, tmp_path):
    X = frame().assign(a=np.arange(80) % 2)
    path = sd.report(
        plugin.deviation(linear), X, path=tmp_path / "page.html", regions=False, pairs=0
    ).path
    page = Path(path).read_text(encoding="utf-8")
    assert "absolute prediction" in page
    assert "The curve of &#39;a&#39; has 2 points only." in page


def run(*args):
    done = CliRunner().invoke(app, [*args, "--no-progress"])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_shell_takes_the_names(plugin, folder):
    by_name = "effect", "plugged:model", "rows.csv", "a", "--method", "ends"
    wrong = CliRunner().invoke(app, [*by_name, "--bins", "5"])
    assert wrong.exit_code == 2
    assert "--bins: got --method ends, expected a method with bins or a grid" in wrong.output
    run(*by_name, "--quantity", "deviation", "-o", "curve.csv")
    found = sd.explain(plugin.deviation(linear), pd.read_csv("rows.csv"), "a", method="ends")
    np.testing.assert_allclose(pd.read_csv("curve.csv")["value"], found.value)
    ranked = run("importance", "plugged:model", "rows.csv", "--quantity", "deviation")
    assert "PFI" in ranked
    run("report", "plugged:model", "rows.csv", "--quantity", "deviation", "--ignore-check", "gap")
    assert "absolute prediction" in Path("report.html").read_text(encoding="utf-8")


# --------------------------------------------------------------------------- installed packages


def install(folder, name, text):
    """Write the files of an installed distribution whose entry point is a module."""
    (folder / f"{name}.py").write_text(text)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{registry.PLUGINS}]\n{name} = {name}\n")


def python(folder, *args):
    """Run Python with the distributions of a folder installed."""
    path = f"{folder}:{':'.join(p for p in sys.path if p)}"
    return subprocess.run(
        [sys.executable, *args], cwd=folder, env={"PYTHONPATH": path, "PATH": ""}, text=True,
        capture_output=True, check=False,
    )  # fmt: skip


def test_an_installed_plugin_is_known_in_the_shell_and_by_name(folder):
    install(folder, "ends_plugin", SOURCE.read_text(encoding="utf-8"))
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    shown = python(folder, "-m", "skedasis", "effect", "--help")
    assert shown.returncode == 0, shown.stderr
    assert "ends" in shown.stdout
    assert "deviation" in shown.stdout
    done = python(
        folder, "-m", "skedasis", "effect", "plugged:model", "rows.csv", "a", "--method", "ends"
    )
    assert done.returncode == 0, done.stderr
    assert "Ends" in done.stdout
    code = (
        "import numpy as np; import skedasis as sd\n"
        "e = sd.explain(lambda X: X[:, 0], np.arange(6.0).reshape(3, 2), 0, method='ends')\n"
        "print(e.value)"
    )
    assert python(folder, "-c", code).stdout == "[0. 4.]\n"


def test_checks_of_an_installed_plugin_do_not_depend_on_earlier_calls(folder):
    install(folder, "ends_plugin", SOURCE.read_text(encoding="utf-8"))
    code = (
        "import numpy as np; import skedasis as sd\n"
        "X = np.random.default_rng(0).uniform(size=(300, 2))\n"
        "e = sd.explain(lambda X: X[:, 0], X, 0, method=sd.PDP(grid=2))\n"
        "found, fewer = e.checks(), e.checks(ignore='few_levels')\n"
        "print(len(found.of('few_levels')), len(fewer.of('few_levels')), len(found) - len(fewer))"
    )
    assert python(folder, "-c", code).stdout == "1 0 1\n"


def test_a_broken_plugin_is_named_and_left_out(folder):
    install(folder, "broken_plugin", "import no_such_library")
    done = python(folder, "-m", "skedasis", "info")
    assert done.returncode == 0
    assert "The plugin 'broken_plugin' (broken_plugin) was left out" in done.stderr
    assert "no_such_library" in done.stderr
