"""What surrounds the process: closed streams, no home, full and read-only disks, locales, temporary folders, clocks."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from tests.helpers import refused, table
from tests.long.figures import LONG
from tests.systems import linux, posix

X = table(200, 3)
COMMAND = "from skedasis.cli import main; main()"


def product(X: np.ndarray) -> np.ndarray:
    return X[:, 0] * X[:, 1]


# ------------------------------------------------------------------------------------ closed streams


class Closed:
    """A standard error that is closed."""

    def isatty(self) -> bool:
        raise ValueError("I/O operation on closed file")

    def write(self, _: str) -> int:
        raise ValueError("I/O operation on closed file")


@pytest.mark.parametrize("stream", [None, Closed()], ids=["absent", "closed"])
def test_explain_without_standard_error(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    assert len(sd.explain(product, X)) == 3


@pytest.fixture
def folder(tmp_path):
    rows = "".join(f"{k % 17},{k % 5},{k}\n" for k in range(60))
    (tmp_path / "data.csv").write_text("a,ä,c\n" + rows, encoding="utf-8")
    (tmp_path / "kiln.py").write_text("def f(X): return X['a'] * 2.0 * X['c']\n")
    return tmp_path


def shell(folder: Path, args: str, redirected: str = "", **environment: str) -> Any:
    """Run a command by a shell that redirects its streams."""
    line = f"exec {sys.executable} -c '{COMMAND}' {args} {redirected}"
    kept = {name: value for name, value in os.environ.items() if environment.get(name) != "unset"}
    kept |= {name: value for name, value in environment.items() if value != "unset"}
    return subprocess.run(
        ["sh", "-c", line], cwd=folder, env=kept, capture_output=True, check=False, timeout=120
    )


@pytest.mark.slow
@posix
@pytest.mark.parametrize(
    "redirected",
    [
        ">&- 2>&-",
        *(pytest.param(r, marks=pytest.mark.slow) for r in ("2>&-", ">&-", "<&-", "<&- >&- 2>&-")),
    ],
)
def test_the_shell_with_closed_streams(folder, redirected):
    done = shell(folder, "effect kiln:f data.csv a -o e.csv", redirected)
    assert (done.returncode, done.stderr) == (0, b"")
    text = (folder / "e.csv").read_text(encoding="utf-8")
    assert text.startswith("feature,x,value")  # and nothing that was meant for a stream
    assert len(text.splitlines()) == 3


# ------------------------------------------------------------------------------- homes, disks, locales


@pytest.mark.slow
@posix
@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({"HOME": "unset", "MPLCONFIGDIR": "unset"}, id="no home", marks=LONG),
        pytest.param(
            {"HOME": "/proc", "XDG_CACHE_HOME": "/proc/x", "MPLCONFIGDIR": "unset"},
            id="read-only home",
            marks=linux,
        ),
        pytest.param({"TMPDIR": "/nowhere"}, id="no temporary folder", marks=LONG),
        pytest.param(
            {
                "LC_ALL": "C",
                "PYTHONUTF8": "0",
                "PYTHONCOERCECLOCALE": "0",
                "PYTHONIOENCODING": "ascii",
            },
            id="ascii",
        ),
        pytest.param({"LC_ALL": "C"}, id="C", marks=LONG),
    ],
)
def test_pages_figures_and_tables_are_written_anywhere(folder, environment):
    for out in ("ü.html", "ü.png", "ü.csv"):
        done = shell(folder, f"effect kiln:f data.csv a -q -o {out}", **environment)
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
        assert (folder / out).stat().st_size > 50


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """Return a folder on a file system of 32 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(disk)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only root can mount a small disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.slow
def test_a_disk_that_is_really_full_and_one_that_is_read_only(small_disk):
    effect = sd.explain(product, X, 0, method="ale", progress=False)
    path = small_disk / "page.html"
    path.write_text("before")
    with refused(sd.DataError, "No space left on device", "The file is as it was"):
        effect.explore().save(path)
    assert [(p.name, p.read_text()) for p in small_disk.iterdir()] == [("page.html", "before")]
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with refused(sd.DataError, "without write permission"):
        effect.save(small_disk / "a.npz")
    with refused(sd.DataError, "Read-only file system"):
        effect.plot().savefig(small_disk / "a.png", dpi=20)


@posix
@pytest.mark.parametrize("name", ["a b.csv", "new\nline.csv", "100%s.csv", "-x.csv", "\udcff.csv"])
def test_strange_names_in_the_shell(folder, name, monkeypatch):
    from skedasis.cli.app import app
    from tests.shell import CliRunner

    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    done = CliRunner().invoke(app, ["datasets", "diabetes", "--json", f"--out={name}"])
    assert done.exit_code == 0, done.output
    assert Path(name).stat().st_size > 1000
    assert json.loads(done.stdout)["written"]


# ----------------------------------------------------------------------------------- temporary folders


def test_temporary_folders_that_cannot_be_made(monkeypatch, tmp_path):
    pa = pytest.importorskip("pyarrow")
    rows = pa.table({"a": X[:, 0]})
    monkeypatch.setenv("SKEDASIS_SPOOL", str(tmp_path / "nowhere"))
    with refused(sd.DataError, "No such file or directory", "SKEDASIS_SPOOL"):
        sd.explain(lambda t: np.asarray(t["a"]), rows.to_reader(), progress=False)


# --------------------------------------------------------------------------------------------- clocks


def content(result: Any) -> str:
    """Return a result without what was measured."""

    def kept(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: kept(v) for k, v in value.items() if k != "provenance"}
        return [kept(v) for v in value] if isinstance(value, list) else value

    return json.dumps(kept(json.loads(result.to_json())))


def clocks() -> dict[str, Callable[[], float]]:
    draw, falling = random.Random(0), itertools.count()
    return {
        "backwards": lambda: 1e9 - 1e3 * next(falling),
        "jumping": lambda: draw.uniform(-1e12, 1e12),
        "standing": lambda: 5.0,
    }


@pytest.mark.parametrize("clock", ["backwards", "jumping", "standing"])
def test_clocks_change_no_number(monkeypatch, clock):
    works: list[Callable[[], Any]] = [
        lambda: sd.explain(product, X, progress=True),
        lambda: sd.explain(product, X, method="pdp", progress=True),
        lambda: sd.explain(product, X, y=X[:, 0], method="pfi", n_jobs=2, progress=True),
        lambda: sd.regions(product, X, 0, progress=True),
        lambda: sd.interactions(product, X, progress=True),
    ]
    expected = [content(work()) for work in works]
    for name in ("perf_counter", "monotonic", "time"):
        monkeypatch.setattr(time, name, clocks()[clock])
    assert [content(work()) for work in works] == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This report")
@pytest.mark.parametrize("clock", ["backwards", "jumping", "standing"])
def test_a_report_with_a_limit_of_time_and_a_wrong_clock(monkeypatch, tmp_path, clock):
    for name in ("perf_counter", "monotonic", "time"):
        monkeypatch.setattr(time, name, clocks()[clock])
    path = tmp_path / "r.html"
    sd.report(product, X[:60, :2], path=path, heterogeneity_rows=20, max_seconds=5, progress=True)
    assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")
