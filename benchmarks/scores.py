"""What the heterogeneity score costs: RHALE, and ALE of trees, of all features with it beside the same without.

Of walked trees the score needs no model row, of called models at most 10,000 a feature and once for the rows' own
values, and the spread at most 4,000 a feature. RHALE of a forest chooses its bins with the score, so both runs may read
the same curve in other bins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import skedasis as sd
from benchmarks.bench import Bench
from benchmarks.grown import Grown, grown_of
from benchmarks.lines import Alone, Line
from benchmarks.timing import once

WORST = 1.5
"""How many times as long RHALE with the score may take as without."""


def scores(bench: Bench) -> Iterator[Line]:
    """Measure boosted trees, walked and called."""
    quick, n, d = bench.settings.quick, bench.settings.n, bench.settings.d
    grown = grown_of("LightGBM", 1_000 if quick else n, d, quick)
    yield from _beside(bench, grown, "force", "walked")
    # Called, a model takes seconds for as many rows: a tenth of them shows the ratio.
    few = grown_of("LightGBM", 1_000 if quick else n // 10, d, quick)
    yield from _beside(bench, few, "off", "called")
    yield from _beside(bench, few, "force", "walked", sd.ALE(), None if quick else 0.075)


def _beside(
    bench: Bench,
    grown: Grown,
    tree: Any,
    how: str,
    method: Any = None,
    seconds: float | None = None,
) -> Iterator[Alone]:
    """Let both take turns; with the score, the same curves. `seconds` is the target, by default a multiple."""
    method = sd.RHALE() if method is None else method

    def explained(rows: int) -> Any:
        return sd.explain(
            grown.model, grown.X, method=method, tree=tree, heterogeneity_rows=rows,
            progress=False,
        )  # fmt: skip

    once(lambda: explained(100))  # kernels are compiled, or read
    runs = {"without": lambda: explained(0), "with": lambda: explained(10_000)}
    with grown.counting():
        t, got = bench.run({name: grown.named(name, run) for name, run in runs.items()})
    same = all(
        np.array_equal(got["with"][j].value, got["without"][j].value) for j in grown.features
    )
    known = all(np.isfinite(got["with"][j].heterogeneity_score) for j in grown.features)
    n, d = grown.X.shape
    work, trees = f"{type(method).__name__}, {how}", f"{grown.what}, {d} features"
    yield Alone(
        "scores", f"{work}, without the score", n, t["without"], grown.asked["without"], note=trees
    )
    most, note = seconds, f"{t['with'].cpu / t['without'].cpu:.2f} times the processor time"
    if most is None:
        most, note = round(WORST * t["without"].wall, 3), f"{note}; wanted: {WORST} times"
    yield Alone(
        "scores", f"{work}, with the score", n, t["with"], grown.asked["with"],
        most, note, same and known,
    )  # fmt: skip
