"""Ensembles of trees that are walked, beside the peers that ask them for altered rows; and what compiling costs.

``python -m benchmarks.trees`` prints the seconds of first calls, of the process that it runs in.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

import skedasis as sd
from benchmarks.bench import Bench, largest_difference
from benchmarks.grown import BINS, POINTS, REPEATS, Answers, Grown, grown_of
from benchmarks.lines import Alone, Line, Speed
from benchmarks.ours import grid_spread
from benchmarks.problem import Floats
from benchmarks.timing import Took, once

CERTAIN = 6.0
ENOUGH = 30.0
"""Seconds beyond which a peer is measured on some of the features, or with fewer permutations, and scaled."""
WIDE = 50
"""Features where permutations are many."""
GRID = 20
"""Points of each of two features."""


@dataclass(frozen=True)
class Reach:
    """How many times as fast each must be; None where nothing was said. Pairs: at fewer and at more rows."""

    ale: tuple[float | None, float | None] = (None, None)
    numpy: float | None = None
    pdp: tuple[float | None, float | None] = (None, None)
    spread: float | None = None
    pfi: float | None = None


BOOSTED = Reach((40, 60), 300, (None, 2000), 100, 15)
HALF = Reach((20, 30), 150, (None, 1000), 50, 7.5)
QUICK_ITSELF = Reach((10, 10), None, (500, 500))
LARGE = Reach((8, 8), pfi=2)


def trees(bench: Bench) -> Iterator[Line]:
    """Measure what compiling costs, then each kind of ensemble at fewer and at more rows."""
    yield from _compiled()
    for run in _starts().values():  # this process, too, takes its kernels from disk
        run()
    quick, n, d = bench.settings.quick, bench.settings.n, bench.settings.d
    sizes = (1_000,) if quick else (n // 10, n)
    for what, reach in KINDS.items():
        for size in sizes:
            grown = grown_of(what, size, d, quick)
            with grown.counting():
                yield from _all(bench, grown, reach, size == n)
    grown = grown_of("LightGBM", sizes[-1], WIDE, quick)
    with grown.counting():
        yield _pfi(bench, grown, 40.0)
    grown = grown_of("LightGBM", 1_000 if quick else 20_000, d, quick)
    with grown.counting():
        yield _pairs(bench, grown, 3.0, heterogeneity=False)
        yield _pairs(bench, grown, 1.0, heterogeneity=True)
    for size in sizes:
        yield from _beside_calling(bench, size, quick)


KINDS = {
    "LightGBM": BOOSTED,
    "HistGradientBoosting": HALF,
    "RandomForest, depth 8": HALF,
    "XGBoost": QUICK_ITSELF,
    "RandomForest, deep": LARGE,
}


def _all(bench: Bench, grown: Grown, reach: Reach, large: bool) -> Iterator[Speed]:
    """Measure everything that one model is asked for; of deep trees, what was promised of them."""
    yield _ale_equal(bench, grown, reach.ale[large])
    yield _ale_quantile(bench, grown, reach.ale[large])
    if reach is not LARGE:
        if not large:
            yield _pdp(bench, grown, reach.numpy, compiled=False)
        yield _pdp(bench, grown, reach.pdp[large])
        yield _spread(bench, grown, reach.spread)
    yield _pfi(bench, grown, reach.pfi)


def _beside_calling(bench: Bench, n: int, quick: bool) -> Iterator[Speed]:
    """Measure models that are read although they are more than trees of numbers, beside calling them."""
    import pandas as pd
    from lightgbm import LGBMRegressor
    from sklearn.ensemble import RandomForestRegressor
    from xgboost import XGBRegressor

    rng = np.random.default_rng(0)
    numbers = np.round(rng.normal(size=(n, 6)), 1)
    levels = rng.integers(0, 12, size=(n, 4))
    y = numbers[:, 0] * (levels[:, 0] % 3) + np.sin(levels[:, 1]) + numbers[:, 1]
    frame = pd.DataFrame(numbers, columns=[f"x{j}" for j in range(6)])
    for k in range(4):
        frame[f"c{k}"] = pd.Categorical([f"level {v}" for v in levels[:, k]])
    zeros, absent = (
        np.where(np.abs(numbers) < 0.5, 0.0, numbers),
        np.where(numbers > 1, -999, numbers),
    )
    some = {"n_estimators": 10 if quick else 100, "n_jobs": 1}
    new, old = (
        sd.prediction(RandomForestRegressor(max_depth=8, random_state=k, **some).fit(numbers, y))
        for k in range(2)
    )
    models: dict[str, tuple[Any, Any]] = {
        "XGBoost, 4 of 10 columns categories": (
            XGBRegressor(enable_categorical=True, **some).fit(frame, y),
            frame,
        ),
        "XGBoost, missing=-999": (XGBRegressor(missing=-999, **some).fit(absent, y), absent),
        "LightGBM, zero_as_missing": (
            LGBMRegressor(zero_as_missing=True, verbose=-1, **some).fit(zeros, y),
            zeros,
        ),
        "difference of two forests, depth 8": (new - old, numbers),
    }
    for what, (model, X) in models.items():
        explain = partial(
            sd.explain, model, X, method=sd.ALE(bins=BINS), heterogeneity_rows=0,
            progress=False,
        )  # fmt: skip
        t, got = bench.run({"ours": explain, "theirs": partial(explain, tree="off")})
        pairs = [(e.value, got["theirs"][name].value) for name, e in got["ours"].items()]
        largest = max(np.abs(b).max() for _, b in pairs)
        apart = max(np.abs(a - b).max() for a, b in pairs) / largest
        yield Speed(
            "trees", f"ALE, {BINS} bins", "calling the model", t["ours"], t["theirs"],
            rows=got["ours"].provenance["effect_rows"],
            their_rows=got["theirs"].provenance["effect_rows"], difference=float(apart),
            tolerance=1e-4, reach=3.0, note=f"{what}, N = {n:,}", unit=n * X.shape[1],
        )  # fmt: skip


def _affordable(bench: Bench, grown: Grown, calls: int, most: int) -> int:
    """Return how many things, `most` at most, a peer can do in time that asks for all rows so often for each."""
    enough = ENOUGH / 60 if bench.settings.quick else ENOUGH
    return min(most, max(1, int(enough / (calls * len(grown.X) * grown.row_seconds))))


def _some(bench: Bench, grown: Grown, calls: int) -> range:
    """Return the features that a peer is measured on."""
    return range(_affordable(bench, grown, calls, len(grown.features)))


@dataclass(frozen=True)
class Told:
    """What a line says besides its times: who, what, and how much of it the peer was measured on."""

    work: str
    peer: str
    reach: float | None
    part: float = 1.0
    note: str = ""


def _beside(bench: Bench, grown: Grown, line: Told, ours: Any, theirs: Any, differ: Any) -> Speed:
    """Let both take turns; `differ` gives how far apart two answers are, and may be."""
    runs = {"ours": grown.named("ours", ours), "theirs": grown.named("theirs", theirs)}
    t, got = bench.run(runs)
    difference, tolerance = differ(got["ours"], got["theirs"])
    n, d = grown.X.shape
    notes = (grown.what, f"N = {n:,}", f"D = {d}", line.note)
    asked, factor = grown.asked["ours"], 1 / line.part
    return Speed(
        "trees", line.work, line.peer, t["ours"], t["theirs"].times(factor),
        asked * grown.row_seconds, asked, round(factor * grown.asked["theirs"]), difference,
        tolerance, line.reach, ", ".join(filter(None, notes)), n * d,
    )  # fmt: skip


def _scaled(some: range, grown: Grown) -> tuple[float, str]:
    """Return the share of the features that a peer is measured on, and what to say of it."""
    few, all_ = len(some), len(grown.features)
    return few / all_, "" if few == all_ else f"theirs: {few} of {all_} features, scaled"


def _ale_equal(bench: Bench, grown: Grown, reach: float | None) -> Speed:
    # A difference of two predictions of one row is compared with the largest mean of such differences.
    from benchmarks.tasks import bins_differ

    some = _some(bench, grown, 2)
    line = Told(f"ALE, {BINS} equal bins", "effector", reach, *_scaled(some, grown))
    method = sd.ALE(bins=sd.Uniform(BINS))

    def differ(ours: Any, theirs: Answers) -> tuple[float, float]:
        return max(bins_differ(ours[j], theirs[j]) for j in some), max(1e-8, 10 * grown.off)

    return _beside(
        bench, grown, line, lambda: grown.ours(method), lambda: grown.effector_ale(some), differ
    )


def _ale_quantile(bench: Bench, grown: Grown, reach: float | None) -> Speed:
    some = _some(bench, grown, 2)
    line = Told(f"ALE, {BINS} quantile bins", "PyALE", reach, *_scaled(some, grown))

    def differ(ours: Any, theirs: Answers) -> tuple[float, float]:
        # PyALE multiplies n by a rounded k / K, and may land one row beside the rank.
        if not all(np.array_equal(ours[j].x, theirs[j].index) for j in some):
            edges = {f"x{j}": sd.Edges(theirs[j].index.to_numpy()) for j in some}
            ours = grown.ours(sd.ALE(bins=edges))
        apart = max(largest_difference(ours[j].value, theirs[j]["eff"]) for j in some)
        return apart, max(1e-9, 10 * grown.off)

    return _beside(
        bench, grown, line, lambda: grown.ours(sd.ALE(bins=BINS)), lambda: grown.pyale(some), differ
    )


def _pdp(bench: Bench, grown: Grown, reach: float | None, compiled: bool = True) -> Speed:
    """Means only, beside scikit-learn's; uncompiled as where numba is not installed."""
    some = _some(bench, grown, POINTS)
    share, note = _scaled(some, grown)
    note = ", ".join(filter(None, ("" if compiled else "without numba", note)))
    line = Told(f"PDP, means, {POINTS} points", "scikit-learn brute", reach, share, note)
    method = sd.PDP(grid=POINTS, heterogeneity=False)
    first = grown.ours(method)
    grid = {j: first[j].x for j in grown.features}
    there = mock.patch("skedasis._compilation.has_numba", return_value=compiled)

    def ours() -> Any:
        with there:
            return grown.ours(method)

    def differ(ours: Any, theirs: Answers) -> tuple[float, float]:
        return max(largest_difference(ours[j].value, theirs[j]) for j in some), grown.off

    return _beside(bench, grown, line, ours, lambda: grown.sklearn_pdp(some, grid), differ)


def _spread(bench: Bench, grown: Grown, reach: float | None) -> Speed:
    """Means and heterogeneity at effector's own points, where it asks for each but once."""
    some = _some(bench, grown, POINTS)
    line = Told(f"PDP and heterogeneity, {POINTS} points", "effector", reach, *_scaled(some, grown))
    low, high = grown.X.min(axis=0), grown.X.max(axis=0)
    grid = {j: np.linspace(low[j], high[j], POINTS) for j in grown.features}

    def differ(ours: Any, theirs: Answers) -> tuple[float, float]:
        asked = {j: grid[j] for j in some}
        again = grown.named("again", lambda: grid_spread(grown.model, grown.X, asked, tree="force"))
        means = max(largest_difference(ours[j].value, theirs[j][0]) for j in some)
        spreads = (largest_difference(s, np.sqrt(theirs[j][1])) for j, s in again().items())
        return max(means, *spreads), max(1e-9, grown.off)

    method = sd.PDP(grid=grid)
    return _beside(
        bench,
        grown,
        line,
        lambda: grown.ours(method),
        lambda: grown.effector_pdp(some, grid),
        differ,
    )


def _pairs(bench: Bench, grown: Grown, reach: float, *, heterogeneity: bool) -> Speed:
    """PDPs of all pairs at woodelf's points; it computes means, from single precision."""
    pairs = list(itertools.combinations(grown.features, 2))
    what = "PDP and heterogeneity" if heterogeneity else "PDP, means"
    line = Told(f"{what}, {len(pairs)} pairs, {GRID} x {GRID} points", "woodelf", reach)
    method = sd.PDP(grid=grown.woodelf_pairs(GRID)[1], heterogeneity=heterogeneity, ice=0)

    def ours() -> Any:
        return sd.explain(grown.model, grown.X, pairs, method=method, tree="force", progress=False)

    def differ(ours: Any, theirs: tuple[Answers, Answers]) -> tuple[float, float]:
        return max(largest_difference(ours[p].value, theirs[0][p]) for p in pairs), 1e-5

    once(ours)  # kernels are compiled, or read
    return _beside(bench, grown, line, ours, lambda: grown.woodelf_pairs(GRID), differ)


def _pfi(bench: Bench, grown: Grown, reach: float | None) -> Speed:
    d = len(grown.features)
    repeats = _affordable(bench, grown, d, REPEATS)
    part = (1 + repeats * d) / (1 + REPEATS * d)
    note = "" if repeats == REPEATS else f"theirs: R = {repeats}, scaled"
    line = Told(f"PFI of squared error, R = {REPEATS}", "scikit-learn", reach, part, note)

    def differ(ours: Any, theirs: Floats) -> tuple[float, float]:
        # Draws differ: their means may, by some of their standard errors. The spread of ours is also that of theirs.
        scale = np.abs(theirs.mean(axis=1)).max()
        error = np.sqrt(ours.values.var(axis=1, ddof=1).max() * (1 / REPEATS + 1 / repeats))
        apart = largest_difference(ours.values.mean(axis=1), theirs.mean(axis=1))
        return apart, float(CERTAIN * error / scale)

    return _beside(
        bench, grown, line, grown.importance, lambda: grown.sklearn_importance(repeats), differ
    )


def _starts() -> dict[str, Callable[[], Any]]:
    """Return calls that need each kernel. What several need counts for the first of them."""
    boosted, deep = (grown_of(what, 1_000, 10, True) for what in ("LightGBM", "RandomForest, deep"))
    # All but the trees is called before: what is left is the compiler's.
    sd.explain(lambda X: X[:, 0], boosted.X, method="ale", heterogeneity_rows=0, progress=False)
    return {
        "ALE": lambda: boosted.ours(sd.ALE(bins=BINS)),
        "PDP, means": lambda: boosted.ours(sd.PDP(grid=POINTS, heterogeneity=False)),
        "PDP": lambda: boosted.ours(sd.PDP(grid=POINTS)),
        "PFI": boosted.importance,
        "ALE, deep": lambda: deep.ours(sd.ALE(bins=BINS)),
        "PFI, deep": deep.importance,
    }


def _compiled() -> Iterator[Alone]:
    """Measure first calls of a process with nothing compiled yet, and of the next one, which finds it on disk."""
    with tempfile.TemporaryDirectory() as folder:
        for what in ("cold start: kernels are compiled", "warm start: kernels are on disk"):
            command = [sys.executable, "-m", "benchmarks.trees"]
            done = subprocess.run(  # noqa: S603 (its own module, no shell)
                command, capture_output=True, text=True, check=False,
                env={**os.environ, "NUMBA_CACHE_DIR": folder},
            )  # fmt: skip
            if done.returncode:
                raise RuntimeError(f"{' '.join(command[1:])} failed:\n{done.stderr[-2000:]}")
            took = json.loads(done.stdout.splitlines()[-1])
            note = "; ".join(f"{name} {t['wall']:.1f}" for name, t in took.items())
            wall, cpu = (sum(t[of] for t in took.values()) for of in ("wall", "cpu"))
            yield Alone(
                "trees", what, 1_000, Took(wall, cpu), 0, note=f"first call - second: {note}"
            )


def main() -> None:
    """Print by how many seconds first calls are longer than second ones, in this process."""
    warnings.simplefilter("ignore")
    found: dict[str, dict[str, float]] = {}
    for name, run in _starts().items():
        first, second = once(run)[0], once(run)[0]
        found[name] = {"wall": first.wall - second.wall, "cpu": first.cpu - second.cpu}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
