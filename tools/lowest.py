"""Run tests with the lowest versions of the dependencies that pyproject.toml allows.

    python tools/lowest.py                        # the tests that touch every dependency, in some minutes
    python tools/lowest.py tests/unit tests/laws  # any others: what is said here goes to pytest

Each bound ``x>=a`` is pinned as ``x==a``, so a bound is a promise that is kept: a release that exists, goes together
with the others, and passes. What the bounds leave open, such as the dependencies of dependencies, pip decides.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".venv-lowest"
PYTHON = HOME / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = HOME / "pins.txt"

EXTRAS = ("dask", "parquet", "shap", "sklearn", "skops", "trees")
"""Whose lower bounds are tested. torch, JAX, Keras and ONNX Runtime are large, and tested with one version only."""
BESIDE = ("lightgbm", "pandas", "polars", "pyarrow", "xgboost", "xgboost-cpu")
"""From the tests' own: libraries whose data and models are understood, with bounds as good as a promise."""
TOOLS = ("hypothesis", "pytest", "pytest-xdist")
"""What the tests are run with: no user has it, so it is as new as it comes."""
COMMON = (
    *("tests/unit/test_containers.py", "tests/unit/test_readers.py", "tests/unit/test_frames.py"),
    *("tests/unit/test_saving.py", "tests/unit/test_cli.py", "tests/unit/test_notebooks.py"),
    *(
        "tests/unit/test_tree_loading.py",
        "tests/plots/test_draw_matplotlib.py",
        "tests/report/test_page.py",
    ),
    *("tests/unit/test_streams.py", "tests/unit/test_parquet_source.py"),
    *("tests/unit/test_spool.py", "tests/unit/test_cluster.py"),
    "tests/unit/test_shap_dependence.py",
    *("tests/reference/test_closed_forms.py", "tests/reference/test_agreement.py"),
)
"""Containers, files, the shell, figures, reports, trees, data beyond memory, SHAP values: every dependency is met."""
NEWER = {
    "reference/test_tree_models.py": [
        "test_scikit_learn[extra tree]",
        "test_scikit_learn[extra trees]",
        "test_scikit_learn[extra trees, classes]",
        "test_scikit_learn[histograms, absolute error, stopped]",
        "test_xgboost[2 outputs a leaf]",
    ],
    "reference/test_trees_categories.py": [
        "test_every_container[pandas-histograms]",
        "test_every_container[arrow-lightgbm]",
    ],
    "unit/test_parquet_source.py": [
        "test_types_that_drift_to_wider_ones[True-string_view-string_view]",
        "test_types_that_drift_to_wider_ones[False-string_view-string_view]",
    ],
    "unit/test_pfi.py": [
        "test_a_frame_of_numbers_texts_and_dates[ale]",
        "test_a_frame_of_numbers_texts_and_dates[pfi]",
    ],
    "unit/test_predictive_kinds.py": [
        "test_distributions_of_another_shape_are_refused[<lambda>-words5]"
    ],
}
"""Tests by file that ask old libraries for what only newer ones have.

scikit-learn 1.5 takes no Polars frame in a ColumnTransformer and no missing value in extra trees, stops histograms
later and writes into columns; PyArrow 16 writes no views of strings; XGBoost 3.0 saves leaves of several values in a
form that is refused, so that the model is called; LightGBM 4.5 forgets the names of an Arrow table; Polars 1.0
crashes where dates stand beside numbers; SciPy has distributions of a new kind since 1.15.
"""
CLOCKS = (
    "tests/unit/test_cli.py::test_help_is_quick_and_loads_little",
    "tests/unit/test_import.py::test_importing_takes_less_than_150_ms_beyond_numpy",
)
"""Seconds are promised with the newest versions, and measured with them."""
OLD = ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning")
"""What old libraries have to say of newer ones that they stand on is no fault of anybody's here."""


def requirements(project: dict[str, Any]) -> list[str]:
    """Return what is pinned: the dependencies, those of the extras, and what the tests have beside.

    Examples
    --------
    >>> extras = {
    ...     "dask": ["dask>=2024.8", "skedasis[parquet]"],
    ...     "parquet": ["pyarrow>=16.0"],
    ...     "shap": [],
    ...     "sklearn": ["scikit-learn>=1.5"],
    ...     "skops": [],
    ...     "trees": [],
    ...     "test": ["pandas>=2.2.2", "pytest>=8"],
    ... }
    >>> requirements({"dependencies": ["numpy>=2.0"], "optional-dependencies": extras})
    ['numpy>=2.0', 'dask>=2024.8', 'pyarrow>=16.0', 'scikit-learn>=1.5', 'pandas>=2.2.2']
    """
    extras = project["optional-dependencies"]
    beside = [line for line in extras["test"] if _name(line) in BESIDE]
    chosen = [*project["dependencies"], *(line for e in EXTRAS for line in extras[e]), *beside]
    # An extra may stand for another one of the project, which is listed beside it.
    return list(dict.fromkeys(line for line in chosen if _name(line) != "skedasis"))


def pins(lines: Iterable[str]) -> list[str]:
    """Return each lower bound as the only version.

    Examples
    --------
    >>> pins(["numpy>=2.0", "PyALE==1.2.0"])
    ['numpy==2.0', 'PyALE==1.2.0']
    """
    return [re.sub(r">=\s*", "==", line) for line in lines]


def _name(line: str) -> str:
    return re.split(r"[\s<>=!~;\[]", line, maxsplit=1)[0]


def quietly(names: Iterable[str]) -> list[str]:
    """Return the options with which pytest shows warnings of these classes instead of failing."""
    return [part for name in names for part in ("-W", f"default::{name}")]


def prepare(pinned: list[str]) -> None:
    """Make the environment, if it is not there with these versions already."""
    said = "\n".join(pinned) + "\n"
    if STAMP.is_file() and STAMP.read_text() == said:
        return
    print(f"Making {HOME.name} with {', '.join(pinned)} (once)", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", HOME], check=True)
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, "--editable", ROOT, *pinned, *TOOLS], check=True)
    STAMP.write_text(said)


def main(args: list[str]) -> int:
    """Run the tests that were named, or the common ones; return pytest's exit status."""
    prepare(
        pins(requirements(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]))
    )
    chosen = ["-m", "not slow and not torch and not optional", *quietly(OLD)]
    chosen += [f"--deselect={test}" for test in CLOCKS]
    for file, tests in NEWER.items():
        chosen += [f"--deselect=tests/{file}::{test}" for test in tests]
    own = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    # Kernels compiled by another numba would take the place of these, and these of those.
    own["NUMBA_CACHE_DIR"] = str(HOME / "numba")
    command = [PYTHON, "-m", "pytest", "-n", "2", *chosen, *(args or COMMON)]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
