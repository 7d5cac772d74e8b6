"""Trees without numba, and where compiled kernels are kept."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from skedasis import _compilation as compilation
from skedasis.quantities import tree_evaluator
from tests.helpers import refused
from tests.reference.tree_cases import alike, categories, grown, rows, same

sklearn = pytest.importorskip("sklearn.ensemble")
METHODS = [sd.ALE(bins=5), sd.PDP(grid=5), sd.RHALE()]
X = rows()


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget which warnings were issued: each is issued only once."""
    monkeypatch.setattr(tree_evaluator, "_WARNED", set())


@pytest.fixture
def no_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make numba unavailable, and fail if a kernel is compiled."""
    monkeypatch.setattr(compilation, "has_numba", lambda: False)
    monkeypatch.setattr(compilation, "compiled", _never)


def _never(kernel: Any) -> Any:
    raise AssertionError(f"{kernel} was to be compiled")


@pytest.mark.usefixtures("no_numba")
@pytest.mark.parametrize("method", METHODS)
def test_without_numba_the_model_is_called(method: Any) -> None:
    model = grown("boosting")[0]
    with pytest.warns(sd.TreeWarning, match="numba is not installed.*pip install") as caught:
        found = sd.explain(model, X, method=method)
    assert len(caught) == 1
    assert "numba" in found.provenance["trees"]
    same(found, sd.explain(model, X, method=method, tree="off"), 0.0)
    sd.explain(model, X, method=method)
    with refused(sd.UnsupportedError, "numba is not installed"):
        sd.explain(model, X, method=method, tree="force")


SLOW = [pytest.param(c, marks=pytest.mark.slow) for c in ("boosting", "histograms", "lightgbm")]


@pytest.mark.usefixtures("no_numba")
@pytest.mark.parametrize("case", ["forest", "two outputs", *SLOW])
def test_without_numba_means_are_counted(case: str) -> None:
    model, few, _ = grown(case)
    about = sd.prediction(model, output=1) if case == "two outputs" else model
    alike(about, few, method=sd.PDP(grid=7, heterogeneity=False))
    alike(about, few, method=sd.PDP(grid=7, heterogeneity=False, center="mean"), memory="20KB")


@pytest.mark.usefixtures("no_numba")
def test_without_numba_means_of_categories_and_exact_grids() -> None:
    frame, y = categories()
    model = sklearn.HistGradientBoostingRegressor(
        max_iter=9, categorical_features="from_dtype", min_samples_leaf=3
    ).fit(frame, y)
    alike(model, frame, method=sd.PDP(grid=5, heterogeneity=False))
    boosted = grown("boosting")[0]
    e = sd.explain(boosted, X, 0, method=sd.PDP(grid="exact", heterogeneity=False))
    many = np.tile(X, (len(e.x), 1))
    many[:, 0] = np.repeat(e.x, len(X))
    wanted = boosted.predict(many).reshape(len(e.x), -1).mean(axis=1)
    np.testing.assert_allclose(e.value, wanted, rtol=0, atol=1e-10)


@pytest.mark.usefixtures("no_numba")
def test_without_numba_weighted_means_and_probabilities_of_sums_are_the_models() -> None:
    alone = sd.PDP(grid=5, heterogeneity=False)
    weights = np.arange(len(X)) % 3 + 1.0
    with pytest.warns(sd.TreeWarning, match="numba"):
        found = sd.explain(grown("boosting")[0], X, 0, method=alone, sample_weight=weights)
    same(
        found,
        sd.explain(grown("boosting")[0], X, 0, method=alone, sample_weight=weights, tree="off"),
    )
    with pytest.warns(sd.TreeWarning, match="numba"):
        found = sd.explain(grown("boosting 2")[0], X, 0, method=alone)
    assert found.provenance["effect_rows"] == 5 * len(X)


# ----------------------------------------------------------------------------------- processes

SCRIPT = """
import threading, warnings
import numpy as np
import skedasis as sd
from sklearn.ensemble import GradientBoostingRegressor
X = np.random.default_rng(0).normal(size=(300, 3))
model = GradientBoostingRegressor(n_estimators=5).fit(X, X[:, 0] * X[:, 1])
said, found = [], []
warnings.showwarning = lambda message, kind, *rest: said.append((kind.__name__, str(message)))
warnings.simplefilter("always")

def work(method):
    found.append(sd.explain(model, X, 0, method=method))

for method in (sd.ALE(bins=5), sd.PDP(grid=5), sd.ALE(bins=5)):
    work(method)
for kind, message in said:
    print(kind, message)
print(found[0].provenance["trees"])
off = sd.explain(model, X, 0, method=sd.ALE(bins=5), tree="off")
print(float(np.abs(found[0].value - off.value).max()) < 1e-12)
"""


def ran(script: str, folder: Path, source: Path | None = None, **environment: str) -> Any:
    """Run a script in a separate process."""
    known = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA")}
    known |= {"HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    if source is not None:
        known["PYTHONPATH"] = str(source)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=known | environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def copied(folder: Path) -> Path:
    """Return a folder with a copy of the library that cannot store compiled kernels next to its files."""
    own = Path(sd.__file__).parent
    target = folder / "copy" / "skedasis"
    shutil.copytree(own, target, ignore=shutil.ignore_patterns("__pycache__"))
    # A file in place of the cache folder: even root cannot write into it.
    (target / "trees" / "__pycache__").write_text("no folder")
    return target.parent


@pytest.mark.slow
def test_a_process_without_numba(tmp_path: Path) -> None:
    (tmp_path / "numba.py").write_text("raise ImportError('numba needs an older NumPy')")
    # The working directory of the process comes first on the module search path.
    said = ran(SCRIPT, tmp_path).stdout.splitlines()
    assert sum("numba is not installed" in line and "TreeWarning" in line for line in said) == 1
    assert said[-2].startswith("the model is called: numba is not installed")
    assert said[-1] == "True"


@pytest.mark.slow
def test_kernels_are_kept_where_the_variable_says_and_that_is_said_once(tmp_path: Path) -> None:
    source = copied(tmp_path)
    cache = str(tmp_path / "cache")
    first = ran(SCRIPT, tmp_path, source, NUMBA_CACHE_DIR=cache)
    line = r"skedasis: compiling kernels for effects of shallow trees, about \d+ s; this happens once\."
    assert len(re.findall(line, first.stderr)) == first.stderr.count("compiling") == 1
    assert list(Path(cache).rglob("*.nbi"))
    second = ran(SCRIPT, tmp_path, source, NUMBA_CACHE_DIR=cache)
    assert "compiling" not in second.stderr
    assert first.stdout.splitlines()[-1] == second.stdout.splitlines()[-1] == "True"
    assert "TreeWarning" not in first.stdout
