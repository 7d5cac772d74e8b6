"""Medians of interleaved runs."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Run = Callable[[], Any]

ENOUGH = 20.0
"""Seconds after which a run is not repeated once more."""


def once(run: Run) -> tuple[float, Any]:
    """Return how long a run took, and what it gave."""
    gc.collect()
    started = time.perf_counter()
    answer = run()
    return time.perf_counter() - started, answer


def medians(runs: dict[str, Run], repeats: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Return each run's median seconds and its first answer.

    The runs take turns, so that a slow minute of the machine falls on all of them. Each is done
    once before, unmeasured unless it takes seconds.
    """
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    answers: dict[str, Any] = {}
    for name, run in runs.items():
        first, answers[name] = once(run)
        if first > 2.0:
            seconds[name].append(first)
    for _ in range(repeats):
        for name, run in runs.items():
            if len(seconds[name]) < repeats and sum(seconds[name]) < ENOUGH:
                seconds[name].append(once(run)[0])
    return {name: float(np.median(s)) for name, s in seconds.items()}, answers
