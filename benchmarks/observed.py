"""Means of label, prediction and residual in cells of all features: what they add to M-plots, beside plain NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import skedasis as sd
from benchmarks.bench import Bench, largest_difference
from benchmarks.lines import Alone, Line
from benchmarks.problem import Floats
from benchmarks.timing import Took

CELLS = 20
SECONDS = {"given edges": 3.0, "exact quantiles": 30.0}
"""Most seconds that they add to the pass, for 10 million rows of 10 features on two threads."""


def observed(bench: Bench) -> Iterator[Line]:
    """Measure a hundred times as many rows as other groups have."""
    quick, d = bench.settings.quick, bench.settings.d
    n = 10_000 if quick else 100 * bench.settings.n
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.uniform(size=(n, d)))
    y = X[:, 0] + rng.normal(size=n)
    edges = np.linspace(0.0, 1.0, CELLS + 1)
    methods = {"given edges": sd.MPlot(bins=sd.Edges(edges)), "exact quantiles": sd.MPlot()}
    for cells, seconds in SECONDS.items():
        runs = {
            "without": lambda cells=cells: _explained(X, methods[cells]),
            "with": lambda cells=cells: _explained(X, methods[cells], y=y, observed=True),
            "numpy": lambda: _plain(X, y, edges),
        }
        t, got = bench.run(runs, min(3, bench.settings.repeats))
        added = Took(t["with"].wall - t["without"].wall, t["with"].cpu - t["without"].cpu)
        ratio = t["numpy"].cpu / added.cpu
        agrees = True
        if cells == "given edges":
            means = [e.observed.label[0] for e in got["with"].values()]
            agrees = largest_difference(means, got["numpy"]) < 1e-9
        yield Alone(
            "observed", f"observed means, {cells}", n, added, n, seconds,
            f"2 threads, beside the M-plots; {ratio:.1f} times as fast as NumPy by the processor's time",
            agrees,
        )  # fmt: skip


def _explained(X: Floats, method: sd.MPlot, **options: Any) -> Any:
    return sd.explain(
        _first, X, method=method, n_jobs=2, keep_rows=0, heterogeneity_rows=0, progress=False,
        **options,
    )  # fmt: skip


def _first(X: Floats) -> Floats:
    return X[:, 0]


def _plain(X: Floats, y: Floats, edges: Floats) -> Floats:
    """Return the mean labels by feature and cell; means and variances of all three numbers are computed."""
    numbers, found = (y, _first(X), y - _first(X)), []
    for x in X.T:
        cell = np.maximum(np.searchsorted(edges, x) - 1, 0)
        rows = np.maximum(np.bincount(cell, minlength=CELLS), 1)
        means = [np.bincount(cell, values, CELLS) / rows for values in numbers]
        for values, mean in zip(numbers, means, strict=True):
            np.bincount(cell, (values - mean[cell]) ** 2, CELLS)
        found.append(means[0])
    return np.array(found)
