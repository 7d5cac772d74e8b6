"""Peaks of memory, measured in a process that does nothing else.

``python -m benchmarks.memory LIBRARY METHOD N D KEEP HOW`` prints the extra megabytes.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.problem import arithmetic, rows_of

MEGABYTE = 1 << 20
STATUS = Path("/proc/self/status")


def peak(
    library: str, method: str, n: int, d: int, keep: str = "256MB", how: str = "resident"
) -> float:
    """Return the megabytes that a method takes at its peak beyond X, in a process of its own.

    "resident" is what the system had to give; "allocated" what NumPy and Python asked for, which
    depends on no allocator's habits.
    """
    task = [library, method, str(n), str(d), keep, how]
    command = [sys.executable, "-m", "benchmarks.memory", *task]
    done = subprocess.run(  # noqa: S603 (its own module, no shell)
        command, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed:\n{done.stderr[-2000:]}")
    return float(done.stdout.split()[-1])


def resident(entry: str) -> int:
    """Return bytes now (VmRSS) or at the peak (VmHWM).

    `ru_maxrss` does for the peak where there is no /proc; on Linux it is inherited from the parent.
    """
    if STATUS.exists():
        for line in STATUS.read_text(encoding="utf-8").splitlines():
            if line.startswith(entry):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def peak_of_process() -> float:
    """Return the megabytes that this process had at its peak, imports included."""
    return resident("VmHWM") / MEGABYTE


def forget_peak() -> None:
    """Let the peak start anew, where the kernel can."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except OSError:
        return


def _skedasis(method: str, X: Any, keep: str) -> Any:
    import skedasis as sd

    how = {"ale": sd.ALE(bins=20), "pdp": sd.PDP(grid=50), "rhale": sd.RHALE()}[method]
    q = sd.prediction(arithmetic)
    return sd.explain(q, X, method=how, keep_rows=keep, heterogeneity_rows=0, progress=False)


def _effector(method: str, X: Any, keep: str) -> Any:
    import effector

    if method == "ale":
        explainer = effector.ALE(X, arithmetic, nof_instances="all")
        explainer.fit("all")
    else:
        explainer = effector.PDP(X, arithmetic, nof_instances="all")
        explainer.fit(0)
    return explainer, keep


SOLVERS: dict[str, Callable[[str, Any, str], Any]] = {"skedasis": _skedasis, "effector": _effector}


def _task(library: str, method: str, X: Any, keep: str) -> Callable[[], Any]:
    """Return what is measured. What an importance needs besides X, a model and labels, is there before."""
    if method == "levels":
        return _levels(X)
    if method != "pfi":
        return partial(SOLVERS[library], method, X, keep)
    from benchmarks.fitted import regression

    case = regression(X)
    return case.ours if library == "skedasis" else case.theirs


LEVELS = 1_250
"""Of the feature whose PDP holds most: a curve has a point for each level."""


def _levels(X: Any) -> Callable[[], Any]:
    """Return the PDP of a feature with many levels of fitted trees."""
    import lightgbm
    import numpy as np
    import pandas as pd

    import skedasis as sd

    codes = np.arange(len(X)) % LEVELS
    frame = pd.DataFrame(X).add_prefix("x")
    frame["level"] = pd.Categorical(codes)
    y = X[:, 0] * np.sin(codes) + X[:, 1]
    model = lightgbm.LGBMRegressor(n_estimators=100, n_jobs=1, verbose=-1).fit(frame, y)
    return lambda: sd.explain(model, frame, "level", method=sd.PDP(), tree="force", progress=False)


def _allocated(run: Callable[[], Any]) -> int:
    """Return the bytes that were asked for and not yet given back, at the worst moment."""
    tracemalloc.start()
    result = run()
    extra = tracemalloc.get_traced_memory()[1]
    del result
    return extra


def _given(run: Callable[[], Any]) -> int:
    """Return by how many bytes the resident memory rose."""
    forget_peak()
    before = resident("VmRSS")
    result = run()
    extra = resident("VmHWM") - before
    del result
    return extra


def main(library: str, method: str, n: str, d: str, keep: str, how: str) -> None:
    """Explain a few rows (imports are no cost of N), then all, and print what that took."""
    _task(library, method, rows_of(500, int(d)), keep)()
    run = _task(library, method, rows_of(int(n), int(d)), keep)
    extra = _allocated(run) if how == "allocated" else _given(run)
    print(f"{extra / MEGABYTE:.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
