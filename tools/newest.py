"""Run tests with the newest versions of the dependencies, or with what the next ones will be.

    python tools/newest.py                        # with the newest releases
    python tools/newest.py --nightly              # with last night's NumPy, SciPy, scikit-learn, pandas, matplotlib
    python tools/newest.py --nightly tests/unit   # other tests than those that touch every dependency

Unlike in the environment of developers, nothing holds versions back: libraries whose numbers are compared are missing.
Numba, and what needs it, follows new versions of NumPy months later, so it is missing among nightly versions.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools import lowest

NIGHTLY_INDEX = "https://pypi.anaconda.org/scientific-python-nightly-wheels/simple"
NIGHTLY = ("numpy", "scipy", "scikit-learn", "pandas", "matplotlib")
"""Libraries whose builds of last night are tested."""
WITHOUT = ("numba",)
"""Libraries that refuse a NumPy that is not released."""
UNRELEASED = """
import re, sys
from importlib.metadata import version
found = {name: version(name) for name in sys.argv[1:]}
print(found)
released = [name for name in found if re.fullmatch(r"[\\d.]+", found[name])]
sys.exit(f"released versions, not those of last night: {', '.join(released)}" if released else 0)
"""
"""A program that fails if a library is not a nightly version."""
NOT_NIGHTLY = (
    "tests/unit/test_containers.py::test_estimators_fitted_on_arrays_get_arrays_whatever_x_is",
)
"""Tests in which every warning is an error, also that numba is missing."""
SHOWN = (*lowest.OLD, "skedasis.errors.TreeWarning")
"""Warnings that are no errors with nightly versions: what libraries say of the next version of others, and that numba
is missing."""


def names(lines: list[str]) -> list[str]:
    """Return requirements without their bounds; the systems that they are for stay.

    Examples
    --------
    >>> names(["numpy>=2.0", "moto[server]>=5", "xgboost-cpu>=3.0; sys_platform != 'darwin'"])
    ['numpy', 'moto[server]', "xgboost-cpu; sys_platform != 'darwin'"]
    """
    return [re.sub(r"\s*[<>=!~]=?[^;]*", "", line, count=1) for line in lines]


def commands(python: Path, nightly: bool) -> list[list[str]]:
    """Return the commands that fill the environment, and check what is in it.

    Parameters
    ----------
    python : Path
        That of the environment.
    nightly : bool
    """
    text = (lowest.ROOT / "pyproject.toml").read_text("utf-8")
    wanted = names(lowest.requirements(tomllib.loads(text)["project"]))
    if nightly:
        wanted = [name for name in wanted if name not in WITHOUT]
    quiet = ["--quiet", "--no-compile", "--disable-pip-version-check"]
    pip = [str(python), "-m", "pip", "install", *quiet]
    found = [[*pip, "--upgrade", "--editable", str(lowest.ROOT), *wanted, *lowest.TOOLS]]
    if nightly:
        # By force, because pip takes what is there for the newest where it cannot reach the index; and looked at,
        # because it also takes a release from elsewhere. Dependencies are there.
        forced = ["--force-reinstall", "--no-deps", "--pre", "--index-url", NIGHTLY_INDEX]
        found.append([*pip, *forced, *NIGHTLY])
        found.append([str(python), "-c", UNRELEASED, *NIGHTLY])
    return found


def main(args: list[str]) -> int:
    """Run the tests that were named, or the common ones; return pytest's exit status."""
    nightly = "--nightly" in args
    tests = [arg for arg in args if arg != "--nightly"]
    home = lowest.ROOT / (".venv-nightly" if nightly else ".venv-newest")
    python = home / lowest.PYTHON.relative_to(lowest.HOME)
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
    # Each time: what is the newest changes.
    for command in commands(python, nightly):
        if subprocess.run(command, check=False).returncode:
            print("The versions could not be installed.", file=sys.stderr)
            return 1
    quiet = lowest.quietly(SHOWN) if nightly else []
    chosen = ["-m", "not slow and not torch and not optional", *quiet]
    left_out = (*lowest.CLOCKS, *(NOT_NIGHTLY if nightly else ()))
    chosen += [f"--deselect={test}" for test in left_out]
    own = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "NUMBA_CACHE_DIR": str(home / "numba")}
    command = [str(python), "-m", "pytest", "-n", "2", *chosen, *(tests or lowest.COMMON)]
    environment = {**os.environ, **own}
    return subprocess.run(command, cwd=lowest.ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
