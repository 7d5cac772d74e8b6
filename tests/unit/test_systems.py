"""The library needs nothing that only Linux and macOS have: what Windows lacks is taken away from a process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.systems import posix

WITHOUT = """
import builtins, os, select, signal, sys

# What others need, which have their own ways on Windows, comes first.
import asyncio, logging.handlers, matplotlib.figure, multiprocessing, narwhals, numpy, pandas, pyarrow.parquet
import psutil, pathlib, rich.console, scipy.stats, shutil, sklearn.ensemble, subprocess, tempfile, typer

MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "termios", "tty"}
FUNCTIONS = {
    os: "chown fork getegid geteuid getgid getuid killpg lchown mkfifo mknod nice openpty sched_getaffinity setsid "
    "sysconf uname",
    select: "poll POLLERR POLLHUP POLLOUT",
    signal: "ITIMER_REAL SIGALRM SIGHUP SIGKILL SIGPIPE alarm pthread_kill setitimer siginterrupt",
}
imported = builtins.__import__


def allowed(name, globals=None, *args, **kwargs):
    if name in MODULES and (globals or {}).get("__name__", "").startswith("skedasis"):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return imported(name, globals, *args, **kwargs)


builtins.__import__ = allowed
for module, names in FUNCTIONS.items():
    for name in names.split():
        delattr(module, name)
"""

PROGRAM = """
import numpy as np, skedasis as sd

X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
effect = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method="ale", n_jobs=2, progress=True)
for _ in range(2):  # the second time, the files exist
    effect.save("e.npz")
    effect.explore().save("e.html")
    effect.plot().savefig("e.png")
print(np.array_equal(sd.load("e.npz").value, effect.value))
pandas.DataFrame(X, columns=["a", "b"]).to_parquet("rows.parquet")
rows = sd.parquet("rows.parquet", container="numpy")
parquet = sd.explain(lambda X: X[:, 0], rows, "a", memory="20KB", progress=False)
print(len(parquet.x))
forest = sklearn.ensemble.RandomForestRegressor(5).fit(X, X[:, 0])
print(sd.explain(forest, X, 0, method="pdp").provenance["effect_rows"])
"""


def run(code: str, folder) -> str:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + code],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@posix
@pytest.mark.slow
def test_effects_files_rows_and_trees(tmp_path):
    same, bins, model_rows = run(PROGRAM, tmp_path).split()
    assert (same, model_rows) == ("True", "0")
    assert int(bins) >= 1
