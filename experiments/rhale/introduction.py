"""RHALE section 1: an average of zero that hides two groups, and equal bins that are too narrow for 100 rows.

The function is ``0.2 x1 - 5 x2 + 10 x2 1[x3 > 0]`` (Eq. 1) of three features uniform on (-1, 1). The slopes of x2 are
-5 or 5, so its effect is 0 and its heterogeneity 5; x3 has no slopes at all. Figures 1 and 2 show ALE, which reports
neither heterogeneity; ALE with 20 equal bins, "5 rows per bin on average"; and RHALE with K_max = 20, at least ten rows
per bin and alpha = 0.5, which finds a single bin.

The library's heterogeneity score is not the paper's statistic: it swaps values between rows, in the unit of the
function, and includes interactions that slopes do not show. Without its additive parts the function is ±5 x2, with
standard deviation 5/√3. This is the interaction of x2 and x3, so both have this score, and that of x1 is zero.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

import skedasis as sd
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone
from experiments.rhale import panels
from experiments.rhale.settings import INTRODUCTION, LIKELIHOOD, Floats, pm

SETTINGS = (
    "100 rows; equal bins: 20; Eq. 13 with K_max = 20, at least 10 rows per bin, alpha = 0.5, as in the paper; slopes "
    "as "
    "given by the function. The noise of Y is not part of the function. The heterogeneity score is that of the "
    "library, from all 100 rows."
)
WAYS = {
    "20 equal bins": sd.Uniform(20),
    "RHALE, Eq. 13": INTRODUCTION.bins,
    "RHALE, by likelihood (our default)": LIKELIHOOD,
}


@dataclass(frozen=True, eq=False)
class Runs:
    """What each way of binning found for x2, one entry a run.

    Parameters
    ----------
    bins : ndarray
        Numbers of bins.
    mean, std : ndarray
        Mean absolute errors of the bins' mean slopes (true: 0) and standard deviations (true: 5).
    range : ndarray
        Of the average curve; true: 0.
    """

    bins: Floats
    mean: Floats
    std: Floats
    range: Floats


def runs(way: Any, seeds: int) -> Runs:
    """Explain x2 on many draws."""
    out = []
    for seed in range(seeds):
        e = INTRODUCTION.explain(INTRODUCTION.sample(seed), 1, way)
        some = e.bins.count > 1
        mean, std = np.abs(e.bins.effect[some]).mean(), np.abs(e.bins.std[some] - 5).mean()
        out.append((len(e.bins), mean, std, np.ptp(e.value)))
    return Runs(*np.array(out).T)


def run(quick: bool) -> Outcome:
    """Explain x2 by three ways of binning, and x3 by RHALE, on many draws."""
    seeds = 40 if quick else 200
    found = {name: runs(way, seeds) for name, way in WAYS.items()}
    first, second, third = (
        [INTRODUCTION.explain(INTRODUCTION.sample(s), j, score_rows=None) for s in range(seeds)]
        for j in range(3)
    )
    rows = [[name, pm(r.bins, 2), pm(r.mean), pm(r.std), pm(r.range)] for name, r in found.items()]
    head = ("x2", "bins", "error of mean slope", "error of deviation", "range of the curve")
    table = Table(
        f"Mean ± standard error over {seeds} draws; true slope 0, deviation 5", head, rows
    )
    return Outcome(
        claims=[*_of_bins(found), *_of_features(second, third), _swapped(first, second, third)],
        tables=[table],
        pictures=[Picture("introduction", _drawn(), CAPTION)],
        settings=SETTINGS,
    )


def _of_bins(found: dict[str, Runs]) -> list[Claim]:
    equal, chosen, likelihood = found.values()
    one, ours = np.mean(chosen.bins == 1), np.mean(likelihood.bins == 1)
    worse = [equal.mean.mean() / chosen.mean.mean(), equal.std.mean() / chosen.std.mean()]
    return [
        Claim(
            "equal_bins_err",
            "20 equal bins lead to large errors of the bins' means and deviations, a single bin does not",
            bool(min(worse) > 3),
            f"Errors of mean slope and deviation are {equal.mean.mean():.2f} and {equal.std.mean():.2f} in 20 equal "
            f"bins, {chosen.mean.mean():.2f} and {chosen.std.mean():.2f} in those of Eq. 13: {worse[0]:.1f} and "
            f"{worse[1]:.0f} times as large.",
        ),
        Claim(
            "one_bin",
            "RHALE finds that a single bin is optimal for x2",
            bool(one > 0.9),
            f"Eq. 13 has one bin in {one:.0%} of {len(chosen.bins)} draws, bins by likelihood in {ours:.0%}; mean "
            f"absolute "
            f"error of the deviation 5: {chosen.std.mean():.3f} and {likelihood.std.mean():.3f}.",
        ),
    ]


def _of_features(second: list[sd.Effect], third: list[sd.Effect]) -> list[Claim]:
    ranges = np.array(
        [[np.ptp(e.value), np.ptp(f.value)] for e, f in zip(second, third, strict=True)]
    )
    rises = np.array([e.value[-1] for e in second])
    within = abs(rises.mean()) < 4 * rises.std(ddof=1) / np.sqrt(len(rises))
    slopes = np.concatenate([e.rows.effect for e in second if e.rows is not None])
    nothing = all(np.all(f.value == 0) and np.all(f.accumulated_std == 0) for f in third)
    return [
        Claim(
            "averages_are_zero",
            "the average effects of x2 and of x3 are both zero, so ALE alone does not show that either feature matters",
            bool(within and nothing),
            f"The rise of x2 from end to end is {pm(rises, 2)} on average, that of x3 exactly 0 in every draw. (In a "
            f"single draw of 100 rows the curve of x2 is off by {ranges[:, 0].mean():.2f} on average: slopes of ±5 "
            "do not cancel.)",
        ),
        Claim(
            "heterogeneity_tells_them_apart",
            "RHALE's heterogeneity distinguishes them: slopes of x2 are −5 and 5, those of x3 do not vary",
            bool(nothing and np.all(np.abs(slopes) == 5)),
            f"All slopes of x2 are −5 or 5; the root mean square of the bins' deviations is "
            f"{pm(_deviation(second), 2)} for x2 (true: 5) and {_deviation(third).max():.0f} in every draw for x3.",
        ),
    ]


def _deviation(effects: list[sd.Effect]) -> Floats:
    """Return the root mean square over the rows of the bins' standard deviations, for each draw."""
    return np.array([np.sqrt(np.average(e.bins.std**2, weights=e.bins.count)) for e in effects])


def _swapped(*effects: list[sd.Effect]) -> Claim:
    first, second, third = (np.array([e.heterogeneity_score for e in some]) for some in effects)
    true = 5 / np.sqrt(3)
    near = [abs(s.mean() - true) < 0.1 * true for s in (second, third)]
    return Claim(
        "score_of_interaction",
        "Ours: the heterogeneity score is positive for x2 and x3, which interact, and zero for x1, which is additive",
        bool(all(near) and np.all(first == 0)),
        f"It is {pm(second, 2)} for x2 and {pm(third, 2)} for x3 (true: 5/√3 = 2.89 for both), and {first.max():.0f} "
        "in every draw for x1. That x3 determines the sign of the effect of x2 is visible when its values are "
        "swapped, not in its slopes, which are 0.",
    )


CAPTION = (
    "RHALE's Fig. 1 and 2, one draw of 100 rows: x2 by ALE, in 20 equal bins and by RHALE, and x3 by RHALE; average "
    "effects above, slopes below"
)


def _drawn() -> Any:
    X = INTRODUCTION.sample(0)
    equal = INTRODUCTION.explain(X, 1, sd.Uniform(20))
    chosen, third = (INTRODUCTION.explain(X, j) for j in (1, 2))
    made, axes = panels.figure(2, 4, (10.5, 5.2), sharex=True, sharey="row")
    line = np.array([[-1.0, 1.0], [0.0, 0.0]])
    for k, (e, title, band) in enumerate(
        [
            (equal, "x2: ALE, its average alone", False),
            (equal, "x2: 20 equal bins", True),
            (chosen, f"x2: RHALE, {len(chosen.bins)} bin", True),
            (third, f"x3: RHALE, {len(third.bins)} bin", True),
        ]
    ):
        panels.effect(axes[0, k], e, line, band)
        panels.label(axes[0, k], title, y="effect, 0 at the left" if k == 0 else "")
        if k > 0:
            panels.slopes(axes[1, k], e, line)
        panels.label(axes[1, k], x="x2" if k < 3 else "x3", y="slope" if k == 0 else "")
    axes[1, 0].text(0, 0, "ALE shows no\nheterogeneity", ha="center", va="bottom", fontsize=8)
    axes[1, 0].plot(*line, color="black", linewidth=1.1, linestyle=(0, (1, 1.5)))
    panels.legend(made, [axes[0, 2], axes[1, 2]])
    return made


EXPERIMENT = Experiment(
    "rhale",
    "introduction",
    "An average of zero that hides two groups",
    "RHALE, sec. 1, Fig. 1 and 2",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
