"""Building the package's archives, and environments in which they are installed, as with a user's pip."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PATIENCE = 400
"""Seconds for a single command: an environment is some hundred megabytes."""


def called(*command: Any, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command outside the repository, so that a new environment cannot import modules from it."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COV", "VIRTUAL"))}
    settled = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "COLUMNS": "120", **environment}
    return subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**kept, **settled},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def done(*command: Any, folder: Path, **environment: str) -> str:
    """Run a command that must succeed; return its output."""
    result = called(*command, folder=folder, **environment)
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def within_reach(folder: Path) -> None:
    """Skip where pip cannot download packages: installing cannot be tested there."""
    asked = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
    answer = called(*asked, "hatchling", folder=folder)
    if answer.returncode:
        last = (answer.stderr.strip().splitlines() or ["nothing"])[-1]
        pytest.skip(f"pip cannot reach a package registry: {last}")


def built(folder: Path, *options: str, source: Path = ROOT) -> list[Path]:
    """Build archives in an isolated environment; return them."""
    pytest.importorskip("build", reason="build is not installed: pip install build")
    done(sys.executable, "-m", "build", *options, "--outdir", folder, source, folder=folder)
    return sorted(folder.glob("skedasis-*"))


@dataclass(frozen=True)
class Environment:
    """A new environment in which an archive of the package is installed.

    Parameters
    ----------
    home : Path
    folder : Path
        An empty working directory.
    """

    home: Path
    folder: Path

    @classmethod
    def made(cls, folder: Path, archive: Path, extras: str = "") -> Environment:
        """Create an environment, and install an archive with dependencies from the registry."""
        home, empty = folder / "environment", folder / "empty"
        empty.mkdir()
        done(sys.executable, "-m", "venv", home, folder=empty)
        self = cls(home, empty)
        pip = ("-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check")
        done(self.command("python"), *pip, f"{archive}{extras}", folder=empty)
        return self

    def command(self, name: str) -> Path:
        """Return the path of a command of this environment."""
        return self.home / "bin" / name

    def python(self, code: str) -> str:
        """Run a program in which warnings are errors; return its output."""
        return done(self.command("python"), "-W", "error", "-c", code, folder=self.folder)

    def skedasis(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run the shell command."""
        return called(self.command("skedasis"), *args, folder=self.folder)
