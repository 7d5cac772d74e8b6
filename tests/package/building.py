"""Building the package's archives, and environments in which they are installed, as with a user's pip."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
DEVELOPERS = {"bench", "dev", "docs", "lint", "test", "versions"}
"""Extras that are not for users."""
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
    """Build archives; return them, the wheel last.

    Without options those of `SKEDASIS_DIST` are returned, if this names a folder: what is published is tested.
    """
    made = os.environ.get("SKEDASIS_DIST")
    if made and source == ROOT and not options:
        return _by_kind(ROOT / made)
    for name in ("build", "hatchling"):
        pytest.importorskip(name, reason=f"{name} is not installed: pip install {name}")
    command = ("build", "--no-isolation", *options, "--outdir", folder, source)
    done(sys.executable, "-m", *command, folder=source)
    return _by_kind(folder)


def _by_kind(folder: Path) -> list[Path]:
    return sorted(folder.glob("skedasis-*"), key=lambda path: path.suffix == ".whl")


PARTS = (
    *("src", "tools", "pyproject.toml", "hatch_build.py", ".gitignore"),
    *("README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE"),
)
"""What the package is built from, and more tools than that."""


def copied(folder: Path) -> Path:
    """Copy what the package is built from into a new folder; return it."""
    folder.mkdir(parents=True)
    for name in PARTS:
        path = ROOT / name
        if path.is_dir():
            made = shutil.ignore_patterns("__pycache__")
            shutil.copytree(path, folder / name, ignore=made, copy_function=shutil.copyfile)
        else:
            shutil.copyfile(path, folder / name)
    return folder


def with_addresses(folder: Path, repository: str = "", documentation: str = "") -> Path:
    """Fill in the addresses of a project's pyproject.toml; return its folder."""
    path = folder / "pyproject.toml"
    text = path.read_text("utf-8")
    start = text.index("[tool.skedasis.addresses]")
    end = text.index("\n[", start)
    filled = f'repository = "{repository}"\ndocumentation = "{documentation}"\n'
    written = f"[tool.skedasis.addresses]\n{filled}"
    path.write_text(text[:start] + written + text[end:], encoding="utf-8")
    return folder


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
        self.install(archive, extras)
        return self

    def install(self, archive: Path, extras: str = "") -> None:
        """Install an archive with dependencies from the registry."""
        pip = ("-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check")
        done(self.command("python"), *pip, f"{archive}{extras}", folder=self.folder)

    def command(self, name: str) -> Path:
        """Return the path of a command of this environment."""
        windows = os.name == "nt"
        return self.home / ("Scripts" if windows else "bin") / (f"{name}.exe" if windows else name)

    def python(self, code: str) -> str:
        """Run a program in which warnings are errors; return its output."""
        return done(self.command("python"), "-W", "error", "-c", code, folder=self.folder)

    def runs(self, program: Path) -> str:
        """Run a program of a file, in which warnings are not errors; return its output."""
        return done(self.command("python"), program, folder=self.folder)

    def refused(self, program: Path, *options: str) -> str:
        """Run a program of a file, which must fail; return the last line of its errors."""
        answer = called(self.command("python"), *options, program, folder=self.folder)
        assert answer.returncode == 1, answer.stdout
        return answer.stderr.strip().splitlines()[-1]

    def skedasis(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run the shell command."""
        return called(self.command("skedasis"), *args, folder=self.folder)
