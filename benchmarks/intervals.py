"""A thousand bootstrap replicates of all features, from kept rows and from moments: beside nobody."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import skedasis as sd
from benchmarks.bench import Bench
from benchmarks.lines import Alone, Line, Space

BINS, REPLICATES = 40, 1000
SECONDS = {"rows": 6.0, "moments": 1.0}
MEGABYTES = 100.0


def intervals(bench: Bench) -> Iterator[Line]:
    """Measure times on two threads, what is allocated meanwhile, and a band of every effect."""
    X, model = bench.problem.rows, bench.problem.model
    effects = sd.explain(model, X, method=sd.ALE(bins=BINS), heterogeneity_rows=0, progress=False)
    work = f"{REPLICATES:,} replicates, {BINS} bins"
    for source, seconds in SECONDS.items():
        run = _bootstrap(effects, source)
        t, got = bench.run({"ours": run}, min(3, bench.settings.repeats))
        yield Alone(
            "intervals", f"{work}, from {source}", len(X), t["ours"], 0, seconds,
            "2 threads; as wide as the formula's", _as_wide(effects, got["ours"]),
        )  # fmt: skip
        yield Space(
            "intervals", f"{work}, from {source}", len(X), _allocated(run), MEGABYTES, "allocated"
        )
    t, _ = bench.run({"ours": lambda: effects.interval(simultaneous=True)})
    yield Alone("intervals", "simultaneous bands by formula", len(X), t["ours"], 0)


def _bootstrap(effects: Any, source: str) -> Callable[[], Any]:
    """Return what makes the intervals of all features."""
    return lambda: effects.interval(
        0.95, "bootstrap", replicates=REPLICATES, n_jobs=2, source=source
    )


def _as_wide(effects: Any, ends: Any) -> bool:
    """Return whether the intervals are as wide as the formula's, in the middle of the axis."""
    for name, (low, high) in ends.items():
        below, above = effects[name].interval()
        ratio = (high - low) / (above - below)
        if abs(float(np.median(ratio)) - 1) > 0.1:
            return False
    return True


def _allocated(run: Callable[[], Any]) -> float:
    """Return the peak of what NumPy and Python ask for meanwhile, in megabytes."""
    gc.collect()
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (1 << 20)
