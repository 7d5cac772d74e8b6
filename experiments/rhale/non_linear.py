"""RHALE section 4.2, non-linear (Fig. 8): a slope that changes everywhere against equal bins.

``4 x1² + x2² + x1 x2``: the mean slope of x1 is 9 x1, its deviation √0.5. The paper says that few equal bins have a bin
error that biases the deviation, that many have too few rows, that Eq. 13 compromises "(almost) optimally", and that the
effect is 4 x1².
"""

from __future__ import annotations

import sys

import numpy as np

from experiments.experiment import Claim, Experiment, Outcome, Picture, alone
from experiments.rhale.settings import NON_LINEAR, mean_error
from experiments.rhale.sweep import COLUMNS, COUNTS, EQ13, OURS, SETTINGS, Sweep, drawn, span, swept

CAPTION = (
    "RHALE's Fig. 8: slopes in Eq. 13's bins and in bins by likelihood, one run; losses by the number of equal bins, "
    "mean of 30 runs with twice its standard error"
)


def run(quick: bool) -> Outcome:
    """Compare Eq. 13's bins with 1 to 50 equal ones."""
    sweep = swept(NON_LINEAR, 15 if quick else 30)
    x = np.linspace(0, 1, 101)
    return Outcome(
        claims=[
            _trade(sweep),
            _almost(sweep, "L^mu", "mu"),
            _almost(sweep, "L^sigma", "sigma"),
            _effect(sweep),
        ],
        tables=[sweep.table((1, 2, 5, 10, 20, 30, 40, 50))],
        pictures=[Picture("non_linear", drawn(sweep, np.stack([x, 9 * x])), CAPTION)],
        settings=SETTINGS,
    )


def _trade(sweep: Sweep) -> Claim:
    few, many, best = (sweep.mean(k, "L^sigma") for k in (2, 50, sweep.best("L^sigma")))
    rho = [sweep.mean(k, "L^rho") for k in (1, 2, 5, 10, 20, 50)]
    return Claim(
        "few_are_biased_many_are_noisy",
        "few equal bins have a large bin error that biases the deviation, many bins have too few rows",
        bool(np.all(np.diff(rho) < 0) and few > 3 * best and many > 1.5 * best),
        f"L^rho falls from {rho[0]:.2f} (1 bin) to {rho[-1]:.2f} (50 bins); L^sigma is {few:.2f} with 2 bins, "
        f"{best:.3f} with {sweep.best('L^sigma')} and {many:.3f} with 50.",
    )


def _almost(sweep: Sweep, column: str, key: str) -> Claim:
    at = COLUMNS.index(column)
    best = sweep.best(column)
    ratio = sweep.mean(EQ13, column) / sweep.mean(best, column)
    mean, error = mean_error(sweep.found[EQ13][:, at] - 1.5 * sweep.found[best][:, at])
    rank = 1 + sum(sweep.mean(k, column) < sweep.mean(EQ13, column) for k in COUNTS)
    holds = mean < 0
    return Claim(
        f"almost_optimal_{key}",
        f"RHALE's approximation is (almost) optimal in {column}",
        bool(holds),
        f"{column} is {sweep.mean(EQ13, column):.3f} in Eq. 13's bins ({sweep.mean(EQ13, 'bins'):.0f} of them), "
        f"{sweep.mean(best, column):.3f} in {best} equal bins: {ratio:.2f} times the best, rank {rank} of "
        f"{len(COUNTS) + 1}. “Almost” means up to 1.5 times ({mean:+.3f} ± {error:.3f} beyond that). Bins by "
        f"likelihood: "
        f"{sweep.mean(OURS, column):.3f}, with a single bin in which the slope changes linearly.",
        ""
        if holds
        else f"With {span(sweep.better(column))} equal bins it is smaller by more than 2.5 standard errors. The cost "
        f"in Eq. 13 is the variance within a bin, without a penalty for the noise of a bin's mean: where slopes "
        f"change it makes narrow bins.",
    )


def _effect(sweep: Sweep) -> Claim:
    rise = np.array([float(e([0.95])[0] - e([0.05])[0]) for e in sweep.effects])
    mean, error = mean_error(rise)
    return Claim(
        "effect",
        "the effect of x1 is 4 x1²",
        bool(abs(mean - 3.6) < 3 * error),
        f"From 0.05 to 0.95 RHALE's curve rises by {mean:.3f} ± {error:.3f}; 4 x1² rises by 3.600, 4.5 x1² by 4.050.",
        "x2 is x1 on average, so x1 x2 adds x1²/2.",
    )


EXPERIMENT = Experiment(
    "rhale", "non_linear", "Bins of a non-linear function", "RHALE, sec. 4.2, Fig. 8", run
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
