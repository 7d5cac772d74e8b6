"""Figures: what `plot()` takes to draw, beside scikit-learn's `PartialDependenceDisplay.plot`."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import partial
from typing import Any

import matplotlib as mpl
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.inspection import PartialDependenceDisplay

import skedasis as sd
from benchmarks.bench import Bench
from benchmarks.lines import Alone, Line, Speed

ROWS, FEATURES, CURVES, GRID = 2_000, 10, 60, 20
QUICK_FEATURES = 3
DPI = 100


def saved(figure: Any) -> int:
    """Return the size of a figure as PNG, drawn as for a page."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    return buffer.tell()


def theirs(display: PartialDependenceDisplay, size: tuple[float, float]) -> int:
    """Draw scikit-learn's figure in the size of ours."""
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=size)
    display.plot(ax=ax)
    found = saved(figure)
    plt.close(figure)
    return found


def figures(bench: Bench) -> Iterator[Line]:
    """Measure drawing alone: the curves are computed before."""
    mpl.use("agg")
    d = QUICK_FEATURES if bench.settings.quick else FEATURES
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, d))
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2])
    model = HistGradientBoostingRegressor(max_iter=30, random_state=0).fit(X, y)
    method = sd.PDP(grid=GRID, ice=CURVES)
    for features in ([0], list(range(d))):
        effects = sd.explain(
            model, X, features, method=method, heterogeneity_rows=0, progress=False
        )
        # Scikit-learn draws one panel per feature, without slopes.
        ours = partial(effects.plot, lower=False, top=None, curves=CURVES)
        display = PartialDependenceDisplay.from_estimator(
            model, X, features, kind="both", subsample=CURVES, grid_resolution=GRID, random_state=0
        )
        width, height = ours().get_size_inches()
        runs = {
            "ours": lambda ours=ours: saved(ours()),
            "theirs": partial(theirs, display, (float(width), float(height))),
        }
        t, _ = bench.run(runs)
        what = "one feature" if len(features) == 1 else f"{len(features)} features"
        yield Speed(
            "figures", f"PDP with {CURVES} curves of {what}, drawn as PNG", "scikit-learn",
            t["ours"], t["theirs"], reach=1.0, note="already computed; ours with bands, rug and legend",
        )  # fmt: skip
    yield from _of_many(bench)


MANY, SECONDS = 200, 3.0


def _of_many(bench: Bench) -> Iterator[Alone]:
    """Measure what is drawn of many features: the largest twenty, and all as an interactive page."""
    many = 40 if bench.settings.quick else MANY
    X = np.random.default_rng(0).normal(size=(1_000, many))
    effects = sd.explain(
        lambda X: X @ np.arange(float(many)) + X[:, 0] * X[:, 1], X, method=sd.PDP(grid=GRID),
        heterogeneity_rows=0, progress=False,
    )  # fmt: skip
    runs = {
        "plot()": lambda: saved(effects.plot()),
        "explore()": lambda: len(effects.explore().html),
    }
    t, size = bench.run(runs)
    for name in runs:
        yield Alone(
            "figures", f"{name} of {many} features", len(X), t[name], 0, SECONDS,
            f"already computed; {size[name] / 1e6:.1f} MB",
        )  # fmt: skip
