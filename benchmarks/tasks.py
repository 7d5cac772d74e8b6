"""The tasks: what is measured, against whom, and whether both give the same answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import skedasis as sd
from benchmarks.bench import Bench, largest_difference
from benchmarks.categories import categories, levels
from benchmarks.figures import figures
from benchmarks.first import first
from benchmarks.growth import growth
from benchmarks.importance import importance
from benchmarks.interactions import interactions
from benchmarks.intervals import intervals
from benchmarks.lines import Alone, Line, Space, Speed
from benchmarks.memory import LEVELS, peak
from benchmarks.networks import networks
from benchmarks.observed import observed
from benchmarks.ours import grid_spread, objective
from benchmarks.pairs import pairs
from benchmarks.problem import Floats, Settings
from benchmarks.report import report
from benchmarks.scores import scores
from benchmarks.streams import streams
from benchmarks.timing import Took, medians, once
from benchmarks.trees import trees
from benchmarks.wide import wide
from skedasis._compilation import has_numba, kernels_pay

BINS, POINTS = 20, 50


def ale(bench: Bench) -> Iterator[Speed]:
    """ALE of all features, with equal-width bins beside effector and quantile bins beside PyALE."""
    ours, peers = bench.ours, bench.peers
    asked = bench.count("ours", "ale", sd.Uniform(BINS))
    t, got = bench.run(
        {"ours": lambda: ours.ale(sd.Uniform(BINS)), "theirs": lambda: peers.effector_ale(BINS)}
    )
    differences = [bins_differ(got["ours"][j], got["theirs"][j]) for j in bench.problem.features]
    yield Speed(
        "ale", f"ALE, {BINS} equal bins", "effector", t["ours"], t["theirs"],
        asked * bench.row_seconds, asked, bench.count("peers", "effector_ale", BINS),
        max(differences), reach=6.0,
    )  # fmt: skip
    asked = bench.count("ours", "ale", sd.Quantile(BINS))
    t, got = bench.run(
        {"ours": lambda: ours.ale(sd.Quantile(BINS)), "theirs": lambda: peers.pyale(BINS)}
    )
    curves = [
        largest_difference(got["ours"][j].value, got["theirs"][j]["eff"])
        for j in bench.problem.features
    ]
    yield Speed(
        "ale", f"ALE, {BINS} quantile bins", "PyALE", t["ours"], t["theirs"],
        asked * bench.row_seconds, asked, bench.count("peers", "pyale", BINS),
        max(curves), 1e-9, reach=15.0,
    )  # fmt: skip


def bins_differ(effect: Any, payload: dict[str, Any]) -> float:
    """Compare bins that have a variance; effector divides by n, and interpolates empty bins."""
    bins = effect.bins
    several = bins.count > 1
    n = bins.count[several]
    variance = bins.std[several] ** 2 * (n - 1) / n
    return max(
        largest_difference(bins.effect[several], payload["bin_effect"][several]),
        largest_difference(variance, payload["bin_variance"][several]),
    )


def rhale(bench: Bench) -> Iterator[Speed]:
    """RHALE of all features with the model's own derivative."""
    ours, peers = bench.ours, bench.peers
    asked = bench.count("ours", "rhale", BINS)
    t, got = bench.run(
        {"ours": lambda: ours.rhale(BINS), "theirs": lambda: peers.effector_rhale(BINS)}
    )
    X, slopes = bench.problem.rows, bench.problem.slope(bench.problem.rows)
    worse = max(
        _no_worse(got["ours"][j].x, got["theirs"][j]["limits"], X[:, j], slopes[:, j])
        for j in bench.problem.features
    )
    yield Speed(
        "rhale", f"RHALE, slopes given, K_max {BINS}", "effector", t["ours"], t["theirs"],
        asked * bench.slope_seconds, asked, bench.count("peers", "effector_rhale", BINS),
        worse, 1e-9, reach=6.0, note="same optimum of Eq. 13",
    )  # fmt: skip


def _no_worse(ours: Floats, theirs: Floats, x: Floats, effects: Floats) -> float:
    """Return by how much our partition is worse than theirs under Eq. 13, unbiased variance.

    effector's variances divide by n and its bins with too few rows cost 1e8: its optimum is that of
    a slightly different objective. Ours must be at least as good under Eq. 13, and better by no
    more than 1/n explains.
    """
    mine, other = (objective(z, x, effects, 1) for z in (ours, theirs))
    scale = max(abs(other), float(np.ptp(x)) * float(np.max(effects**2)) * 1e-6)
    gain = (other - mine) / scale
    return max(0.0, -gain, gain - 1e-3)


def pdp(bench: Bench) -> Iterator[Speed]:
    """PDP with heterogeneity of all features on the same explicit points."""
    ours, peers = bench.ours, bench.peers
    grid = bench.problem.grid(POINTS)
    asked = bench.count("ours", "pdp", grid)
    work, model = f"PDP and heterogeneity, {POINTS} points", asked * bench.row_seconds
    t, got = bench.run({"ours": lambda: ours.pdp(grid), "sklearn": lambda: peers.sklearn_pdp(grid)})
    found = got["ours"]
    means = max(largest_difference(found[j].value, got["sklearn"][j]) for j in grid)
    yield Speed(
        "pdp", work, "scikit-learn brute", t["ours"], t["sklearn"], model, asked,
        bench.count("peers", "sklearn_pdp", grid), means, 1e-11, 1.3, "theirs: means only",
    )  # fmt: skip
    variants: dict[str, dict[str, bool]] = {
        "as it comes": {},
        "30 + 48 points, one call a point": {"vectorized": False},
        "its grid set to ours": {"own_grid": False},
        "both": {"vectorized": False, "own_grid": False},
    }
    spread = grid_spread(sd.prediction(bench.problem.model), bench.problem.rows, grid)
    for note, options in variants.items():
        yield _beside_effector(bench, (found, spread), t["ours"], note, options)
    yield _with_spread(bench, found, t["ours"])


def _beside_effector(
    bench: Bench,
    ours: tuple[Any, dict[int, Floats]],
    seconds: Took,
    note: str,
    options: dict[str, bool],
) -> Speed:
    grid, peers = bench.problem.grid(POINTS), bench.peers
    run = {"theirs": lambda: peers.effector_pdp(grid, **options)}
    t, got = bench.run(run, min(3, bench.settings.repeats))
    asked = POINTS * bench.problem.rows.size
    # Interpolated heterogeneity cannot be the same; where it is computed at our points, it must be.
    exact = options.get("own_grid") is False
    found, spread = ours
    answers = zip(grid, got["theirs"], strict=True)
    different = max(
        _curves_differ(found[j], curve, spread[j] if exact else None) for j, curve in answers
    )
    return Speed(
        "pdp", f"PDP and heterogeneity, {POINTS} points", "effector", seconds, t["theirs"],
        asked * bench.row_seconds, asked,
        bench.count("peers", "effector_pdp", grid, **options), different, 1e-9,
        None if options else 8.0, note,
    )  # fmt: skip


def _with_spread(bench: Bench, found: Any, seconds: Took) -> Speed:
    grid, peers = bench.problem.grid(POINTS), bench.peers
    t, got = bench.run({"theirs": lambda: peers.sklearn_ice(grid)}, min(3, bench.settings.repeats))
    asked = POINTS * bench.problem.rows.size
    spread = max(
        largest_difference(found[j].heterogeneity, curve[1])
        for j, curve in zip(grid, got["theirs"], strict=True)
    )
    return Speed(
        "pdp", f"PDP and heterogeneity, {POINTS} points", "scikit-learn brute", seconds,
        t["theirs"], asked * bench.row_seconds, asked, asked, spread, 1e-9, None,
        "theirs: and the spread of its ICE by NumPy",
    )  # fmt: skip


def _curves_differ(effect: Any, theirs: Floats, spread: Floats | None) -> float:
    means = largest_difference(effect.value, theirs[0])
    return means if spread is None else max(means, largest_difference(spread, np.sqrt(theirs[1])))


def search(bench: Bench) -> Iterator[Line]:
    """Search bins alone, on local effects that are there already."""
    x, effects = bench.problem.effects
    for bins, reach in ((200, 3.0), (1000, 100.0)):
        yield _search(bench, x, effects, bins, reach)
    yield _rebin(bench, 200)
    for candidates, seconds in ((256, None), (1000, 0.05)):
        yield _by_risk(bench, candidates, seconds)


def _by_risk(bench: Bench, candidates: int, seconds: float | None) -> Alone:
    """Choose bins by their risk, edges between two rows and a new result included: nobody else does."""
    effect, scheme = bench.ours.rhale(BINS)[0], sd.Optimal(candidates, criterion="likelihood")
    t, _ = bench.run({"ours": lambda: effect.rebin(scheme)})
    work = f"rebin by risk, {candidates:,} candidates"
    return Alone("search", work, len(bench.problem.rows), t["ours"], 0, seconds, "one feature")


def _search(bench: Bench, x: Floats, effects: Floats, bins: int, reach: float) -> Speed:
    ours, peers = bench.ours, bench.peers
    limits = [x.min(), x.max()]
    theirs = lambda k: peers.search(k).find_limits(x, effects, limits)  # noqa: E731
    # Their time grows with the cube of the bins: a quick run measures a fifth of the bins.
    quick = bench.settings.quick and bins > 500
    t, got = bench.run({"ours": lambda: ours.find(bins, x, effects)})
    if quick:
        seconds, worse = medians({"t": lambda: theirs(bins // 5)}, 3)[0]["t"].times(125), None
    else:
        their, answer = bench.run({"t": lambda: theirs(bins)})
        seconds, worse = their["t"], _no_worse(got["ours"], answer["t"], x, effects)
    return Speed(
        "search", f"bin search alone, K_max {bins}", "effector", t["ours"], seconds,
        difference=worse, tolerance=1e-9, reach=reach,
        note="theirs extrapolated from a fifth" if quick else "same optimum of Eq. 13",
    )  # fmt: skip


def _rebin(bench: Bench, bins: int) -> Speed:
    """Re-bin a finished effect: the public way to the same search, a new result included."""
    ours, peers = bench.ours, bench.peers
    effect = ours.rhale(BINS)[0]
    x, slopes = bench.problem.rows[:, 0], bench.problem.slope(bench.problem.rows)[:, 0].copy()
    limits = [x.min(), x.max()]
    t, got = bench.run(
        {
            "ours": lambda: effect.rebin(ours.search(bins)),
            "theirs": lambda: peers.search(bins).find_limits(x, slopes, limits),
        }
    )
    return Speed(
        "search", f"rebin: search, then the whole result, K_max {bins}", "effector", t["ours"],
        t["theirs"], difference=_no_worse(got["ours"].x, got["theirs"], x, slopes), tolerance=1e-9,
        note="theirs: search only",
    )  # fmt: skip


def memory(bench: Bench) -> Iterator[Space]:
    """Peaks beyond X, each in a process of its own."""
    small, large = (20_000, 40_000) if bench.settings.quick else (100_000, 1_000_000)
    d = bench.settings.d
    for method, keep in (("pdp", "0MB"), ("ale", "0MB")):
        at_small = peak("skedasis", method, small, d, keep)
        yield Space("memory", f"{method.upper()} means, all features, keep_rows=0", small, at_small)
        # Independent of N: but for what an allocator leaves, not more than at a tenth of the rows.
        yield Space(
            "memory", f"{method.upper()} means, all features, keep_rows=0", large,
            peak("skedasis", method, large, d, keep), _about(at_small), "as much as at fewer rows",
        )  # fmt: skip
    yield Space(
        "memory", "ALE, all features, rows kept", large,
        peak("skedasis", "ale", large, d), 250.0, "in all",
    )  # fmt: skip
    yield Space("memory", "PDP, all features, rows kept", large, peak("skedasis", "pdp", large, d))
    for how in ("resident", "allocated"):
        yield Space(
            "memory", f"PDP of trees, {LEVELS:,} levels, {how}", 20_000,
            peak("skedasis", "levels", 20_000, d, how=how), 400.0,
        )  # fmt: skip
    yield Space("memory", "effector: ALE", large, peak("effector", "ale", large, d))
    yield Space("memory", "effector: PDP, one feature", small, peak("effector", "pdp", small, d))


def _about(megabytes: float) -> float:
    return 1.25 * megabytes + 20.0


GROUPS: dict[str, Callable[[Bench], Iterator[Line]]] = {
    "ale": ale, "first": first, "pairs": pairs, "categories": categories, "levels": levels,
    "rhale": rhale, "pdp": pdp, "search": search, "importance": importance, "memory": memory,
    "trees": trees, "networks": networks, "intervals": intervals, "report": report,
    "scores": scores, "interactions": interactions, "figures": figures, "streams": streams,
    "growth": growth, "wide": wide, "observed": observed,
}  # fmt: skip


def measure(settings: Settings, groups: list[str]) -> Iterator[Line]:
    """Measure the groups, line by line."""
    bench = Bench(settings)
    # Imports, first calls and the machine's clock: not what is compared. Kernels are loaded when they begin to pay.
    once(lambda: bench.ours.ale(sd.Uniform(2)))
    while has_numba() and not kernels_pay(0):
        once(lambda: bench.ours.ale(sd.Uniform(2)))
    for name in groups:
        yield from GROUPS[name](bench)
