"""The package as a user installs it: a wheel in an empty environment, used from another folder."""

from __future__ import annotations

import re

import pytest
import typer.main

from skedasis.cli.app import app
from tests.package.building import PROJECT, Environment, built, within_reach
from tests.package.extras import PROGRAMS, ROWS, write_files

pytestmark = pytest.mark.slow

COMMANDS = sorted(typer.main.get_command(app).commands)
EXTRAS = {"m.skops": "skops", "m.onnx": "onnx", "m.pt2": "torch"}
"""Files of models, and what brings their readers."""

WITHOUT_MESSAGE = {"dask", "jax", "trees"}
"""Extras without which, or without other libraries, programs cannot make what they pass to skedasis."""

EVERY_MODULE = """
import importlib, pkgutil
import skedasis
for name in skedasis.__all__:
    getattr(skedasis, name)
for module in pkgutil.walk_packages(skedasis.__path__, "skedasis."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(skedasis.__file__)
"""

EXPLAINED = """
import numpy as np
import skedasis as sd
X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
e = sd.explain(lambda X: 3 * X[:, 0] + X[:, 1] ** 2, X, 0)
print(round(float(e.value[-1] - e.value[0]) / float(e.x[-1] - e.x[0]), 6))
e.plot().figure.savefig("e.png")
e.save("e.npz")
print(np.array_equal(sd.load("e.npz").value, e.value))
"""

FORBIDDEN = """
import skedasis as sd
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
X, y = load_diabetes(return_X_y=True)
forest = RandomForestRegressor(20, max_depth=4, random_state=0).fit(X, y)
e = sd.explain(forest, X, 2, tree="force")
print(e.provenance["effect_rows"])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    within_reach(folder)
    return built(folder)[-1]


def test_without_extras_it_works_on_arrays_and_names_what_is_missing(wheel, tmp_path):
    env = Environment.made(tmp_path, wheel)
    assert env.python(EVERY_MODULE).strip().startswith(str(env.home))
    assert env.python(EXPLAINED).split() == ["3.0", "True"]
    assert len(COMMANDS) >= 9
    for command in COMMANDS:
        shown = env.skedasis(command, "--help")
        assert shown.returncode == 0, shown.stderr
        assert f"skedasis {command}" in shown.stdout
    (env.folder / "rows.csv").write_text("a,b,y\n" + "1,2,3\n2,5,4\n4,3,6\n" * 20)
    for file, extra in EXTRAS.items():
        (env.folder / file).write_bytes(b"none")
        refused = env.skedasis("effect", file, "rows.csv", "a")
        assert refused.returncode == 2
        assert f"pip install 'skedasis[{extra}]'" in refused.stderr
    write_files(env.folder)
    (env.folder / "linear.skops").write_bytes(b"none")
    for extra in sorted(set(PROGRAMS) - WITHOUT_MESSAGE):
        program = env.folder / "program.py"
        program.write_text(ROWS + PROGRAMS[extra], encoding="utf-8")
        assert f"pip install 'skedasis[{extra}]'" in env.refused(program), extra
    refused = env.skedasis("demo")
    assert refused.returncode == 2
    assert "pip install 'skedasis[sklearn]'" in refused.stderr
    assert not (env.folder / "skedasis-demo").exists()
    # Every extra that is offered exists.
    offered = re.search(r"'skedasis\[(.+?)\]'", " ".join(env.skedasis("info").stdout.split()))
    assert offered is not None
    (every,) = PROJECT["project"]["optional-dependencies"]["all"]
    assert set(offered[1].split(",")) == set(every[len("skedasis[") : -1].split(","))


def test_with_scikit_learn_and_numba_the_demo_writes_its_page(wheel, tmp_path):
    env = Environment.made(tmp_path, wheel, "[sklearn,trees]")
    shown = env.skedasis("demo", "--out", "shown")
    assert shown.returncode == 0, shown.stderr
    page = (env.folder / "shown" / "report.html").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert page.rstrip().endswith("</html>")
    # Styles and scripts are in the page: their files were in the wheel.
    assert "<svg" in page
    assert "<style" in page
    assert "<script" in page
    assert len(list((env.folder / "shown" / "figures").glob("*.png"))) >= 3
    assert env.python(FORBIDDEN).strip() == "0"
