"""RHALE section 3, the running example's bins: six in a sinusoid, one in a flat half (Fig. 3b and 4).

``sin(2 pi x1) (1[x1 < 0] - 2 1[x3 < 0]) + x1 x2 + x2`` (Eq. 5), x3 almost x1, five sixths of 60 rows left of 0. The
effect of x1 is ``-sin(2 pi x1)`` left of 0 and flat right of it; its slopes have standard deviation 2, that of x2.
The paper lets Eq. 13 choose with K_max = 50, five rows per bin and alpha = 0.1, and says that every number of equal
bins does worse: 5 are too coarse for the wave, 50 too fine for 60 rows.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import skedasis as sd
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone
from experiments.losses import Dense, Losses, along
from experiments.rhale import panels
from experiments.rhale.settings import LIKELIHOOD, RUNNING, Floats, curve_error, mean_error, pm

COUNTS = tuple(range(1, 51))
EQ13, OURS = "RHALE, Eq. 13", "RHALE, by likelihood (our default)"
MEASURES = ("curve", "slope", "deviation", "L^mu", "L^sigma", "L^rho", "left out")
SETTINGS = (
    "60 rows per draw; Eq. 13 with K_max = 50, at least 5 rows per bin, alpha = 0.1, as in the paper; the truth from "
    "10⁶ "
    "rows in 1,000 bins (for the tests 10⁵ in 200). x3 is normal around x1 (appendix B.1; section 3 says around 0). "
    "Errors along the axis do not depend on the bins; L^mu and L^sigma are unweighted means over bins. Bins without "
    "an estimate (no row; no standard deviation with one row) are left out of all of them, which favours many equal "
    "bins."
)


def figures(e: sd.Effect, dense: Dense) -> tuple[float, ...]:
    """Return the `MEASURES` of one effect."""
    slope, std = along(e, dense)
    losses = Losses.of(e, dense)
    few = losses.empty + losses.single
    return curve_error(RUNNING, e, 0), slope, std, losses.mu, losses.sigma, losses.rho, few


def run(quick: bool) -> Outcome:
    """Compare Eq. 13's bins with 1 to 50 equal ones on many draws."""
    seeds, n, k = (40, 100_000, 200) if quick else (200, 1_000_000, 1000)
    dense = Dense.of(RUNNING.explain(RUNNING.example.sample(n, 10**6), 0, sd.Uniform(k)))
    effects = [RUNNING.explain(RUNNING.sample(seed), 0) for seed in range(seeds)]
    found: dict[Any, Floats] = {EQ13: np.array([figures(e, dense) for e in effects])}
    found[OURS] = np.array([figures(e.rebin(LIKELIHOOD), dense) for e in effects])
    for count in COUNTS:
        found[count] = np.array([figures(e.rebin(sd.Uniform(count)), dense) for e in effects])
    shown = (EQ13, OURS, 3, 5, 7, 10, 20, 50)
    rows = [
        [
            name if isinstance(name, str) else f"{name} equal bins",
            *(pm(c, 2) for c in found[name].T),
        ]
        for name in shown
    ]
    table = Table(f"Mean ± standard error over {seeds} draws", ("bins", *MEASURES), rows)
    return Outcome(
        claims=[_six_and_one(effects), _fixed(found), _coarse_and_fine(found), _left_end(effects)],
        tables=[table],
        pictures=[Picture("running_example", _drawn(found, effects), CAPTION)],
        settings=SETTINGS,
    )


def _six_and_one(effects: list[sd.Effect]) -> Claim:
    wave, flat = np.array([_counts(e) for e in effects]).T
    dense_enough, few = np.mean(wave >= 5), np.mean(flat <= 2)
    return Claim(
        "six_and_one",
        "the optimal bins divide the wave into six and merge the flat half into one",
        bool(
            dense_enough > 0.8 and few > 0.8 and 5 <= np.median(wave) <= 7 and np.median(flat) <= 1
        ),
        f"In {len(effects)} draws the median is {np.median(wave):.0f} bins in the wave (quartiles "
        f"{np.quantile(wave, 0.25):.0f} to {np.quantile(wave, 0.75):.0f}) and {np.median(flat):.0f} in the flat half; "
        f"{dense_enough:.0%} have five or more in the wave, {np.mean(flat == 1):.0%} exactly one in the flat half and "
        f"{np.mean(flat > 2):.0%} more than two.",
    )


def _counts(e: sd.Effect) -> tuple[int, int]:
    """Return how many bins lie in the wave and in the flat half, by their middles."""
    middles = (e.bins.left + e.bins.right) / 2
    return int(np.sum(middles < 0)), int(np.sum(middles > 0))


def _fixed(found: dict[Any, Floats]) -> Claim:
    """Paired over the draws: which numbers of equal bins beat Eq. 13 by more than chance in slope, and in deviation."""
    better: list[list[int]] = [[], []]
    for which in (0, 1):
        for count in COUNTS:
            mean, error = mean_error(found[count][:, which + 1] - found[EQ13][:, which + 1])
            if mean < -2.5 * error:
                better[which].append(count)
    best = [min(COUNTS, key=lambda c: np.nanmean(found[c][:, which])) for which in (1, 2)]
    ours = [np.nanmean(found[EQ13][:, which]) for which in (1, 2)]
    likelihood = [np.nanmean(found[OURS][:, which]) for which in (1, 2)]
    return Claim(
        "all_equal_bins_poor",
        "all numbers of equal bins estimate slope and deviation worse than the optimal bins",
        not better[0] and not better[1],
        f"Errors along the axis of slope and deviation: Eq. 13 {ours[0]:.2f} and {ours[1]:.2f}, by likelihood "
        f"{likelihood[0]:.2f} and {likelihood[1]:.2f}, "
        f"{best[0]} equal bins {np.nanmean(found[best[0]][:, 1]):.2f} and {best[1]} equal bins "
        f"{np.nanmean(found[best[1]][:, 2]):.2f}.",
        "" if not better[0] and not better[1] else _why(better),
    )


def _why(better: list[list[int]]) -> str:
    parts = [
        f"{what} is smaller with {_span(counts)} equal bins (by more than 2.5 standard errors, paired)"
        for what, counts in zip(
            ("the error of the slope", "that of the deviation"), better, strict=True
        )
        if counts
    ]
    return f"On average over the draws {' and '.join(parts)}."


def _span(counts: list[int]) -> str:
    return f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"


def _coarse_and_fine(found: dict[Any, Floats]) -> Claim:
    five, fifty, chosen = found[5], found[50], found[EQ13]
    biased = np.nanmean(five[:, 5]) / np.nanmean(chosen[:, 5])
    few = np.nanmean(fifty[:, 6])
    return Claim(
        "coarse_is_biased_fine_is_noisy",
        "five equal bins are biased, fifty have a high variance (Fig. 4)",
        bool(biased > 1.25 and few > 25),
        f"The bin error L^rho is {np.nanmean(five[:, 5]):.2f} in 5 bins, {np.nanmean(chosen[:, 5]):.2f} in Eq. 13's. "
        f"Of 50 bins {few:.0f} have fewer than two rows and therefore no standard deviation; the error L^mu of the "
        f"others is "
        f"{np.nanmean(fifty[:, 3]):.2f}, against {np.nanmean(chosen[:, 3]):.2f}.",
    )


def _left_end(effects: list[sd.Effect]) -> Claim:
    slope, std = [], []
    for e in effects:
        ends = e.rebin(sd.Edges([e.x[0], -0.4, e.x[-1]])).bins
        slope.append(ends.effect[0])
        std.append(ends.std[0])
    mean, error = mean_error(np.array(slope))
    exact = -(np.sin(2 * np.pi * -0.4) - np.sin(2 * np.pi * -0.5)) / 0.1
    return Claim(
        "six_plus_minus_two",
        "for x1 in [−0.5, −0.4] a unit of x1 changes the output by about 6 ± 2",
        bool(abs(mean - 6) < 0.5 + 3 * error and abs(np.nanmean(std) - 2) < 0.3),
        f"The rows' slopes there have mean {mean:.2f} ± {error:.2f} (true: {exact:.2f}) and deviation "
        f"{pm(np.array(std), 2)}.",
    )


CAPTION = (
    "RHALE's Fig. 3b and 4: the running example in Eq. 13's bins, in bins by likelihood, in 5 and in 50 equal bins, "
    "one "
    "draw that has the paper's six bins and one; right: errors along the axis over all draws"
)


def _drawn(found: dict[Any, Floats], effects: list[sd.Effect]) -> Any:
    e = next(e for e in effects if _counts(e) == (6, 1))
    made, axes = panels.figure(2, 5, (11.5, 5.0))
    ways = {
        f"Eq. 13: {len(e.bins)} bins": e,
        f"by likelihood: {len(e.rebin(LIKELIHOOD).bins)} bins": e.rebin(LIKELIHOOD),
        "5 equal bins": e.rebin(sd.Uniform(5)),
        "50 equal bins": e.rebin(sd.Uniform(50)),
    }
    x = np.linspace(e.x[0], e.x[-1], 200)
    slope = np.where(x < 0, -2 * np.pi * np.cos(2 * np.pi * x), 0.0)
    for k, (title, one) in enumerate(ways.items()):
        panels.effect(axes[0, k], one, np.stack([x, RUNNING.true_rise(0, x)]))
        panels.label(axes[0, k], title, y="effect, 0 at the left" if k == 0 else "")
        panels.slopes(axes[1, k], one, np.stack([x, slope]))
        panels.label(axes[1, k], x="x1", y="slope" if k == 0 else "")
        axes[0, k].set_ylim(-1.6, 2.6)
        axes[1, k].set_ylim(-13, 13)
    for row, title in ((0, "error of the slope"), (1, "error of the deviation")):
        fixed = np.array([found[count][:, row + 1] for count in COUNTS]).T
        lines = {name: float(np.nanmean(found[name][:, row + 1])) for name in (EQ13, OURS)}
        panels.by_bins(axes[row, 4], COUNTS, fixed, lines)
        panels.label(axes[row, 4], title, "equal bins" if row else "")
    panels.legend(made, [axes[0, 0], axes[1, 0], axes[1, 4]], 5)
    return made


EXPERIMENT = Experiment(
    "rhale", "running_example", "Bins of the running example", "RHALE, sec. 3, Fig. 3b and 4", run
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
