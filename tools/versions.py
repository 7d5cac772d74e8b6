"""Run tests with the lowest or the newest versions of the dependencies that pyproject.toml allows.

    python -m tools.versions lowest-direct             # the tests that touch every dependency, in some minutes
    python -m tools.versions highest tests/unit        # any others: what is said here goes to pytest
    python -m tools.versions nightly                   # last night's NumPy, SciPy, scikit-learn, pandas, matplotlib

uv resolves the extra `versions` into an environment beside `.venv`. A lower bound is a promise that is kept: a release
that exists, goes together with the others, and passes. What the bounds leave open, such as the dependencies of
dependencies, and what tests are run with, is as new as it comes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ("hypothesis", "pytest", "pytest-xdist")
NIGHTLY_INDEX = "https://pypi.anaconda.org/scientific-python-nightly-wheels/simple"
NIGHTLY = ("numpy", "scipy", "scikit-learn", "pandas", "matplotlib")

COMMON = (
    *("tests/unit/data/test_containers.py", "tests/unit/data/test_readers.py"),
    *("tests/unit/stream/test_parquet.py", "tests/unit/stream/test_spool.py"),
    *("tests/unit/data/test_where.py", "tests/unit/results/test_frames.py"),
    *("tests/unit/results/test_io.py", "tests/unit/cli/test_effects.py"),
    *("tests/unit/stream/test_streams.py", "tests/unit/stream/test_cluster.py"),
    *("tests/unit/test_notebooks.py", "tests/unit/trees/test_loading.py"),
    *("tests/plots/test_draw_matplotlib.py", "tests/report/test_page.py"),
    *("tests/unit/analysis/test_shap_dependence.py",),
    *("tests/reference/test_closed_forms.py", "tests/reference/test_agreement.py"),
)
"""Containers, files, the shell, figures, reports, trees, data beyond memory, SHAP values: every dependency is met."""
NEWER = {
    "reference/test_tree_models.py::test_scikit_learn": (
        *("extra tree", "extra trees", "extra tree, classes"),
        "histograms, absolute error, stopped",
    ),
    "reference/test_tree_models.py::test_xgboost": ("2 outputs a leaf",),
    "reference/test_trees_categories.py::test_every_container": (
        *("pandas-histograms", "arrow-lightgbm"),
    ),
}
"""Tests that ask old libraries for what only newer ones have.

scikit-learn 1.5 takes no missing value in extra trees, stops histograms later and writes into columns; XGBoost 3.0
saves leaves of several values in a form that is refused, so that the model is called; LightGBM 4.5 forgets the names of
an Arrow table.
"""
OLD = ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning")
"""What libraries say of other versions that they stand on is no fault of anybody's here."""
# numba follows new versions of NumPy months later, so that it cannot be imported among nightly versions.
WITHOUT_NUMBA = (
    *("-W", "default::skedasis.errors.TreeWarning"),
    "--deselect=tests/unit/data/test_containers.py::test_estimators_fitted_on_arrays_get_arrays_whatever_x_is",
)


def prepare(home: Path, versions: str) -> None:
    """Make the environment, or bring it up to date."""
    uv = (sys.executable, "-m", "uv", "--quiet")
    resolution = "highest" if versions == "nightly" else versions
    into = ("--python", str(home))
    commands = [
        (*uv, "venv", "--allow-existing", "--python", sys.executable, str(home)),
        (
            *(*uv, "pip", "install", *into, "--upgrade", "--resolution", resolution),
            *("--editable", f"{ROOT}[versions]"),
        ),
        (*uv, "pip", "install", *into, *TOOLS),
    ]
    if versions == "nightly":
        # From this index alone, and by force: a release from elsewhere would pass for the newest.
        last_night = ("--prerelease", "allow", "--reinstall", "--no-deps", "--default-index")
        commands.append((*uv, "pip", "install", *into, *last_night, NIGHTLY_INDEX, *NIGHTLY))
    for command in commands:
        subprocess.run(command, check=True)


def main(args: list[str]) -> int:
    """Run the tests that were named, or the common ones; return pytest's exit status."""
    versions, *tests = args
    home = ROOT / f".venv-{versions}"
    prepare(home, versions)
    newer = [f"tests/{test}[{case}]" for test, cases in NEWER.items() for case in cases]
    left_out = newer if versions == "lowest-direct" else ()
    chosen = ["-m", "not slow and not long", *(f"--deselect={test}" for test in left_out)]
    if versions != "highest":
        chosen += [part for name in OLD for part in ("-W", f"default::{name}")]
    if versions == "nightly":
        chosen += WITHOUT_NUMBA
    own = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    # Kernels compiled by another numba would take the place of these, and these of those.
    own["NUMBA_CACHE_DIR"] = str(home / "numba")
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    command = [python, "-m", "pytest", "-n", "2", *chosen, *(tests or COMMON)]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
