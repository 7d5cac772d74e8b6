"""How time and memory grow with rows, columns and levels: explanations, regions and reports of boosted trees.

``python -m benchmarks.growth TASK AXIS SIZE`` does one task in a process of its own, and prints its time and memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import skedasis as sd
from benchmarks.bench import Bench
from benchmarks.grown import grown_of
from benchmarks.lines import Growth, Line
from benchmarks.memory import MEGABYTE, forget_peak, resident
from benchmarks.problem import Floats
from benchmarks.timing import Took, once

GROUP = "growth"

AXES: dict[str, tuple[int, ...]] = {
    "rows, 10 columns": (30_000, 100_000, 300_000, 1_000_000),
    "columns, 300 rows": (250, 500, 1_000, 2_000),
    "levels, 20,000 rows": (250, 500, 1_000, 2_000),
}
QUICK: dict[str, tuple[int, ...]] = {
    "rows, 10 columns": (1_000, 2_000, 4_000),
    "columns, 300 rows": (20, 40, 80),
    "levels, 20,000 rows": (20, 40, 80),
}

STEEPEST = 1.1
"""Largest exponent wanted of time and of memory."""

LIMIT = 900
"""Seconds after which a size counts as not done."""


def growth(bench: Bench) -> Iterator[Line]:
    """Measure every task at each size of each axis, in processes of their own."""
    quick = bench.settings.quick
    for axis, sizes in (QUICK if quick else AXES).items():
        for task in TASKS:
            done = [_apart(task, axis, size, quick=quick) for size in sizes]
            yield Growth(
                GROUP, f"{task}; {axis}", list(sizes),
                [None if d is None else Took(d["wall"], d["cpu"]) for d in done],
                [None if d is None else d["megabytes"] for d in done],
                None if quick else STEEPEST,
            )  # fmt: skip


def _apart(task: str, axis: str, size: int, *, quick: bool) -> dict[str, float] | None:
    """Return the time and memory of a task in a process of its own; None if it is not done within the limit."""
    command = [sys.executable, "-m", "benchmarks.growth", task, axis, str(size), str(int(quick))]
    try:
        done = subprocess.run(  # noqa: S603 (its own module, no shell)
            command, capture_output=True, text=True, check=False, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


# ---------------------------------------------------------------------------------------- in a process
def _case(axis: str, size: int, *, quick: bool) -> tuple[Any, Floats, Floats, list[int]]:
    """Return a model, rows, labels and the nominal columns."""
    if axis.startswith("levels"):
        return _levelled(size, 2_000 if quick else 20_000)
    rows, columns = (size, 10) if axis.startswith("rows") else (300, size)
    grown = grown_of("LightGBM", rows, columns, quick)
    return grown.model, grown.X, grown.y, []


def _levelled(levels: int, n: int) -> tuple[Any, Floats, Floats, list[int]]:
    """Return a model of nine numbers and of a category, whose effect each level draws."""
    import lightgbm

    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 10))
    X[:, 9] = np.arange(n) % levels
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=levels)[X[:, 9].astype(int)]
    # LightGBM does not split levels of a few rows unless it is told to.
    few: dict[str, Any] = {
        "min_data_per_group": 1,
        "cat_smooth": 1,
        "min_data_in_bin": 1,
        "max_bin": 6_000,
    }
    model = lightgbm.LGBMRegressor(n_estimators=100, n_jobs=1, verbose=-1, **few)
    return model.fit(X, y, categorical_feature=[9]), X, y, [9]


def _explain(model: Any, X: Floats, how: dict[str, Any]) -> Any:
    return sd.explain(model, X, progress=False, **how)


def _pdp(model: Any, X: Floats, how: dict[str, Any]) -> Any:
    return sd.explain(model, X, method=sd.PDP(), progress=False, **how)


def _regions(model: Any, X: Floats, how: dict[str, Any]) -> Any:
    return sd.regions(model, X, [0, 1, 2, 3, 9], progress=False, **how)


def _report(model: Any, X: Floats, how: dict[str, Any]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return sd.report(model, X, path=Path(folder) / "page.html", progress=False, **how)


TASKS: dict[str, Callable[[Any, Floats, dict[str, Any]], Any]] = {
    "explain": _explain,
    "explain, PDP": _pdp,
    "regions of five features": _regions,
    "report": _report,
}


def main(task: str, axis: str, size: str, quick: str) -> None:
    """Do a task at few rows (imports and kernels do not grow), then at all, and print what that took."""
    model, X, y, nominal = _case(axis, int(size), quick=quick == "1")
    how: dict[str, Any] = {"y": y, "schema": dict.fromkeys(nominal, "nominal")}
    sd.explain(model, X[:200], [0, 1], progress=False)
    forget_peak()
    before = resident("VmRSS")
    took, _ = once(lambda: TASKS[task](model, X, how))
    megabytes = (resident("VmHWM") - before) / MEGABYTE
    print(json.dumps({"wall": took.wall, "cpu": took.cpu, "megabytes": megabytes}))


if __name__ == "__main__":
    main(*sys.argv[1:])
