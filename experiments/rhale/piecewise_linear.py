"""RHALE section 4.2, piecewise linear (Fig. 7): five pieces of different width against equal bins.

``a(x1) x1 + x1 x2`` with a = 2, -2, 5, -10, 1/2 between 0, 0.2, 0.4, 0.45, 0.5, 1. The paper says that Eq. 13 finds
fine bins for the two narrow pieces, unites the wide ones, and that L^mu and L^sigma are smaller than with any number
of equal bins; and that the effect of x1 is a(x1) x1. All breaks are multiples of 1/20: 20 equal bins are made for
this function.
"""

from __future__ import annotations

import sys

import numpy as np

from experiments.experiment import Claim, Experiment, Outcome, Picture, alone
from experiments.rhale.settings import LIKELIHOOD, PIECEWISE, Floats, mean_error
from experiments.rhale.sweep import (
    COLUMNS,
    EQ13,
    OURS,
    SETTINGS,
    STRONG,
    Sweep,
    drawn,
    equal,
    span,
    swept,
)
from skedasis.datasets.simulations import PiecewiseLinear

CAPTION = (
    "RHALE's Fig. 7: slopes in Eq. 13's bins and in bins by likelihood, one run; losses by the number of equal bins, "
    "mean of 30 runs with twice its standard error"
)


def run(quick: bool) -> Outcome:
    """Compare Eq. 13's bins with 1 to 50 equal ones."""
    runs = 15 if quick else 30
    sweep, aligned = swept(PIECEWISE, runs), swept(PIECEWISE, runs, ends=True)
    x = np.linspace(0, 1, 401)
    true = np.stack([x, _levels(x) + x])
    claims = [
        _fine_bins(sweep),
        _loss(sweep, aligned, "L^mu", "mu_best", "estimate of the mean slope (L^mu)"),
        _loss(sweep, aligned, "L^sigma", "sigma_best", "estimate of the deviation (L^sigma)"),
        _effect(sweep),
        _deviation(sweep),
    ]
    return Outcome(
        claims=claims,
        tables=[sweep.table((1, 2, 5, 10, 15, 20, 25, 40, 50))],
        pictures=[Picture("piecewise_linear", drawn(sweep, true), CAPTION)],
        settings=SETTINGS,
    )


def _levels(x: Floats) -> Floats:
    """Return a(x1)."""
    inner = PiecewiseLinear.breaks[1:-1]
    return np.asarray(PiecewiseLinear.levels)[np.searchsorted(inner, x, side="right")]


def _fine_bins(sweep: Sweep) -> Claim:
    cell = 1 / PIECEWISE.max_bins
    inner = PiecewiseLinear.breaks[1:-1]
    edges = np.array([[np.min(np.abs(e.x - at)) for at in inner] for e in sweep.effects])
    wide = np.array([np.max(e.bins.right - e.bins.left) for e in sweep.effects])
    last = np.array([np.sum(e.bins.left > 0.5 + cell) for e in sweep.effects])
    likelihood = [e.rebin(LIKELIHOOD) for e in sweep.effects]
    inside = [int(np.sum(e.bins.left > 0.5 + cell)) for e in likelihood]
    return Claim(
        "fine_and_wide_bins",
        "Eq. 13 puts fine bins on [0.4, 0.45] and [0.45, 0.5] and merges most of each region with one slope",
        bool(np.all(edges < cell) and np.median(wide) > 0.2),
        f"All runs have an edge within {np.max(edges):.3f} of each break (a cell is 0.025). The widest bin is "
        f"{np.median(wide):.2f} wide in the median run; [1/2, 1] is divided {last.mean():.1f} times on average "
        f"(in bins by likelihood {np.mean(inside):.1f} times), {np.mean(last == 0):.0%} of the runs keep it whole.",
    )


def _loss(sweep: Sweep, aligned: Sweep, column: str, key: str, what: str) -> Claim:
    better = sweep.better(column)
    best = sweep.best(column)
    other = "slope" if column == "L^mu" else "deviation"
    at = COLUMNS.index(column)
    holds = not better
    return Claim(
        key,
        f"RHALE's {what} is better than with any number of equal bins",
        holds,
        f"{column} is {sweep.mean(EQ13, column):.3f} in Eq. 13's bins, {sweep.mean(best, column):.3f} in "
        f"{equal(best)}, {sweep.mean(20, column):.3f} ± {mean_error(sweep.found[20][:, at])[1]:.3f} in 20 and "
        f"{sweep.mean(OURS, column):.3f} in bins by likelihood.",
        "" if holds else _why(sweep, aligned, column, other),
    )


def _why(sweep: Sweep, aligned: Sweep, column: str, other: str) -> str:
    """Return which equal bins are better, why, and what an error along the axis and cells that meet the breaks say."""
    cells = [aligned.mean(name, column) for name in (EQ13, STRONG, 20)]
    return (
        f"Smaller by more than 2.5 standard errors with {span(sweep.better(column))} equal bins. All breaks are "
        f"multiples of 1/20, so 20 equal bins hardly mix any pieces; and a mean over bins is small for few wide bins, "
        f"even if slopes vary within them. Along the axis, where bins are weighted by width, the error of the {other} "
        f"is "
        f"{sweep.mean(EQ13, other):.3f} with Eq. 13, {sweep.mean(sweep.best(other), other):.3f} with "
        f"{equal(sweep.best(other))}, and {sweep.mean(OURS, other):.3f} by likelihood: no number of equal bins is "
        f"significantly better than Eq. 13 there. If two rows are added at 0 and 1, so that cells end exactly at the "
        f"breaks, {column} is {cells[0]:.3f} with Eq. 13, {cells[1]:.3f} with alpha = 0.8 and {cells[2]:.3f} "
        "in 20 equal bins: the result depends on alpha, which the paper does not give here, and on the position of "
        "the cells."
    )


def _effect(sweep: Sweep) -> Claim:
    rise = np.array([float(e([0.95])[0] - e([0.55])[0]) for e in sweep.effects])
    mean, error = mean_error(rise)
    return Claim(
        "effect",
        "the effect of x1 is a(x1) x1",
        bool(abs(mean - 0.2) < 3 * error),
        f"From 0.55 to 0.95, where a is 1/2, RHALE's curve rises by {mean:.3f} ± {error:.3f}; a(x1) x1 rises by 0.200, "
        f"a(x1) x1 + x1²/2 by 0.500.",
        "x2 is x1 on average, so x1 x2 adds x1²/2. (Where a changes, a(x1) x1 jumps, which derivatives do not "
        "include: there it is not the integral of the slopes either.)",
    )


def _deviation(sweep: Sweep) -> Claim:
    std = float(np.sqrt(np.nanmean(sweep.dense.std**2)))
    return Claim(
        "heterogeneity",
        "the slopes of x1 have standard deviation √0.5 everywhere",
        bool(abs(std - 0.5**0.5) < 0.005),
        f"In the truth's 1,000 bins the root mean variance is {std:.4f} (√0.5 = 0.7071).",
    )


EXPERIMENT = Experiment(
    "rhale",
    "piecewise_linear",
    "Bins of a piecewise linear function",
    "RHALE, sec. 4.2, Fig. 7",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
