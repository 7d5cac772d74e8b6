"""RHALE section 3.2 and 2.1: what RHALE, ALE and PDP ask of the model, and bins that leave the data.

The paper says that slopes are computed once and re-used for every partition, where Eq. 3 (ALE) asks the model anew for
each; that PDP with ICE asks it t times for every row, "a much slower alternative"; and that slopes allow wide bins
"without creating out-of-distribution instances", as ALE's differences across wide bins do.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import skedasis as sd
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone
from experiments.rhale import panels
from experiments.rhale.settings import CORRELATED, LIKELIHOOD, Floats

FEATURES = (2, 5, 10, 20)
GRID = 50
SETTINGS = (
    "A network of two layers of 128 and 64 units in torch with random weights, 2,000 rows; slopes by autodiff, "
    "ALE with 20 equal bins, PDP with ICE on 50 points; processor time, the lesser of two. Rows are counted by "
    "the results themselves (`provenance`); the library's check of the slopes, of at most 1,024 model rows per "
    "feature, is counted separately there. No heterogeneity score."
)


def network(features: int) -> Any:
    """Return a network of so many features."""
    import torch

    torch.manual_seed(features)
    sizes = ((features, 128), (128, 64), (64, 1))
    layers = [m for a, b in sizes for m in (torch.nn.Linear(a, b), torch.nn.Tanh())]
    return torch.nn.Sequential(*layers[:-1]).eval()


METHODS: dict[str, Any] = {
    "RHALE": sd.RHALE(),
    "ALE": sd.ALE(bins=sd.Uniform(20)),
    "PDP and ICE": sd.PDP(grid=GRID, ice="all"),
}


def asked(effect: sd.Effect) -> tuple[int, int]:
    """Return rows of the model and rows with slopes that an effect cost."""
    return int(effect.provenance["effect_rows"]), int(effect.provenance["slope_rows"])


def run(quick: bool) -> Outcome:
    """Count and time."""
    sizes, n = ((2, 5), 500) if quick else (FEATURES, 2000)
    counts: dict[str, list[tuple[int, int]]] = {name: [] for name in METHODS}
    times: dict[str, list[float]] = {name: [] for name in METHODS}
    for features in sizes:
        q = sd.prediction(network(features))
        X = np.random.default_rng(0).standard_normal((n, features))
        for name, method in METHODS.items():
            seconds = []
            for _ in range(2):
                started = time.process_time()
                found = sd.explain(q, X, method=method, heterogeneity_rows=0)
                seconds.append(time.process_time() - started)
            times[name].append(min(seconds))
            counts[name].append(asked(next(iter(found.values()))))
    claims = [
        _once(),
        _asks(counts, sizes, n),
        _slower(times, sizes),
        _off_the_data(10 if quick else 40),
    ]
    rows = [
        [
            name,
            *(f"{m:,} + {s:,}" for m, s in counts[name]),
            *(f"{1000 * t:,.0f}" for t in times[name]),
        ]
        for name in METHODS
    ]
    head = ("all features", *(f"{d}: rows + slopes" for d in sizes), *(f"{d}: ms" for d in sizes))
    table = Table(f"What {n:,} rows cost, by the number of features", head, rows)
    return Outcome(
        claims, [table], [Picture("efficiency", _drawn(times, sizes), CAPTION)], SETTINGS
    )


def _once() -> Claim:
    """Count what each further partition costs, by a function that counts its own rows."""
    calls = {"f": 0, "slope": 0}
    example = CORRELATED["c"].example

    def f(X: Floats) -> Floats:
        calls["f"] += len(X)
        return example.f(X)

    def slope(X: Floats) -> Floats:
        calls["slope"] += len(X)
        return example.slope(X)

    q, X = sd.prediction(f, slope=slope), example.sample(1000, 0)
    e = sd.explain(q, X, 0, method=sd.RHALE(bins=CORRELATED["c"].bins), heterogeneity_rows=0)
    before = dict(calls)
    for bins in (*(sd.Uniform(k) for k in range(1, 51)), LIKELIHOOD, sd.Optimal(100, 0.5)):
        e.rebin(bins)
    later = calls["f"] + calls["slope"] - before["f"] - before["slope"]
    again = []
    for k in (5, 10, 20):
        calls["f"] = 0
        sd.explain(q, X, 0, method=sd.ALE(bins=sd.Uniform(k)), heterogeneity_rows=0)
        again.append(calls["f"])
    return Claim(
        "slopes_once",
        "slopes are computed once; other partitions re-use them without calling the model, whereas ALE calls it again",
        bool(later == 0 and min(again) >= 2 * len(X)),
        f"1,000 rows: slopes at {before['slope']:,} rows; 52 further partitions needed {later} more. ALE needs "
        f"{min(again):,} to {max(again):,} rows for each number of bins.",
    )


def _asks(counts: dict[str, list[tuple[int, int]]], sizes: tuple[int, ...], n: int) -> Claim:
    pdp = [m / (n * d) for (m, _), d in zip(counts["PDP and ICE"], sizes, strict=True)]
    slopes = [s / n for _, s in counts["RHALE"]]
    ale = [m / (n * d) for (m, _), d in zip(counts["ALE"], sizes, strict=True)]
    return Claim(
        "pdp_asks_t_times",
        "PDP with ICE evaluates the model at t positions for all N rows, RHALE computes N slopes",
        bool(np.allclose(pdp, GRID, rtol=0.01) and np.allclose(slopes, 1, rtol=0.01)),
        f"Rows per row of the data and feature: PDP {max(pdp):.0f}, ALE {max(ale):.0f}; RHALE {max(slopes):.0f} "
        "slope for all features together.",
    )


def _slower(times: dict[str, list[float]], sizes: tuple[int, ...]) -> Claim:
    ratio = [b / a for a, b in zip(times["RHALE"], times["PDP and ICE"], strict=True)]
    ale = [b / a for a, b in zip(times["RHALE"], times["ALE"], strict=True)]
    return Claim(
        "pdp_is_much_slower",
        "PDP with ICE is much slower than RHALE",
        bool(min(ratio) > 3),
        f"{min(ratio):.0f} to {max(ratio):.0f} times for {sizes[0]} to {sizes[-1]} features (ALE with 20 bins "
        f"{min(ale):.1f} to {max(ale):.1f} times).",
        timed=True,
    )


def _off_the_data(seeds: int) -> Claim:
    """Compare the mean slope of x1 over its whole range by differences and by slopes; true: 0."""
    setting = CORRELATED["a"]
    q = sd.prediction(setting.example.f, slope=setting.example.slope)
    found, far = [], []
    for seed in range(seeds):
        X = setting.sample(seed)
        one = [
            sd.explain(
                q, X, 0, method=method(bins=sd.Uniform(1)), heterogeneity_rows=0
            ).bins.effect[0]
            for method in (sd.ALE, sd.DALE)
        ]
        found.append(one)
        far.append(np.mean(np.abs(X[:, 1] - X[:, 0].max()) > 0.05))
    ale, dale = np.array(found).T
    return Claim(
        "wide_bins_stay_on_the_data",
        "with wide bins the differences of ALE use rows outside the data, slopes do not",
        bool(
            abs(dale.mean()) < 4 * dale.std(ddof=1) / len(dale) ** 0.5 + 0.01
            and abs(ale.mean()) > 0.2
        ),
        f"Case (a) of section 4.1, x1 in one bin over its range, true mean slope 0: ALE {ale.mean():.3f}, slopes "
        f"{dale.mean():.3f} ± {dale.std(ddof=1) / len(dale) ** 0.5:.3f}. At the right edge {np.mean(far):.0%} of ALE's "
        "rows have an x2 that is more than five standard deviations of the noise from x1.",
    )


CAPTION = (
    "Processor time of RHALE, ALE and PDP with ICE for all features of a network, by their number"
)


def _drawn(times: dict[str, list[float]], sizes: tuple[int, ...]) -> Any:
    made, axes = panels.figure(1, 1, (7.0, 3.4))
    ax = axes[0, 0]
    ax.set(xscale="log", yscale="log")
    looks = (("o", "-", panels.BLUE), ("s", "--", panels.ORANGE), ("^", ":", panels.RED))
    for (name, seconds), (mark, stroke, colour) in zip(times.items(), looks, strict=True):
        ax.plot(sizes, seconds, marker=mark, linestyle=stroke, color=colour, label=name)
    ax.set_xticks(sizes, [str(d) for d in sizes])
    ax.minorticks_off()
    panels.label(ax, "", "features", "seconds of processor time")
    ax.legend(fontsize=8, frameon=False)
    return made


EXPERIMENT = Experiment(
    "rhale",
    "efficiency",
    "Model evaluations of each method",
    "RHALE, sec. 2.1 and 3.2, computational complexity",
    run,
    needs=("torch",),
    timed=True,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
