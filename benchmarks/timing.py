"""Medians of interleaved runs."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Run = Callable[[], Any]

ENOUGH = 20.0
"""Seconds after which a run is not repeated once more."""


@dataclass(frozen=True)
class Took:
    """Seconds of a run.

    Parameters
    ----------
    wall : float
        By the clock.
    cpu : float
        Of the processor, in this process alone: what others do meanwhile hardly changes it.
    """

    wall: float
    cpu: float

    def times(self, factor: float) -> Took:
        """Return the seconds of so many runs."""
        return Took(factor * self.wall, factor * self.cpu)


def once(run: Run) -> tuple[Took, Any]:
    """Return how long a run took, and what it gave."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    answer = run()
    return Took(time.perf_counter() - wall, time.process_time() - cpu), answer


def medians(runs: dict[str, Run], repeats: int) -> tuple[dict[str, Took], dict[str, Any]]:
    """Return each run's median seconds and its first answer.

    The runs take turns, so that a slow minute of the machine falls on all of them. Each is done
    once before, unmeasured unless it takes seconds.
    """
    took: dict[str, list[Took]] = {name: [] for name in runs}
    answers: dict[str, Any] = {}
    for name, run in runs.items():
        first, answers[name] = once(run)
        if first.wall > 2.0:
            took[name].append(first)
    for _ in range(repeats):
        for name, run in runs.items():
            if len(took[name]) < repeats and sum(t.wall for t in took[name]) < ENOUGH:
                took[name].append(once(run)[0])
    return {name: median(some) for name, some in took.items()}, answers


def median(took: list[Took]) -> Took:
    """Return the median of each time."""
    wall, cpu = (float(np.median([getattr(t, of) for t in took])) for of in ("wall", "cpu"))
    return Took(wall, cpu)
