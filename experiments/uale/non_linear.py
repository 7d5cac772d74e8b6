"""UALE, section 4.2, Fig. 6: chosen bins against equal ones where the effect is a parabola.

``f = 4 x1² + x2² + x1 x2``, rows, runs and settings as in `piecewise_linear`. The paper says: the true effect is 4 x1²
and the accumulated deviation sigma_2 x1; with few equal bins the residual L^rho is large and the deviation biased, with
many the estimates are bad for lack of rows; and UALE compromises.
"""

from __future__ import annotations

import sys

import numpy as np

import skedasis as sd
from experiments.experiment import Claim, Experiment, Outcome, Picture, alone
from experiments.uale import fixed, truths
from skedasis.datasets.simulations import NonLinear

CASE = NonLinear()
QUANTITY = sd.prediction(CASE.f, slope=CASE.slope)
RUNS, ROWS = 30, 500
SCHEMES = fixed.schemes(40)


def run(quick: bool) -> Outcome:
    """Compare all bins; draw one run."""
    truth = truths.dense(QUANTITY, CASE, quick)
    found = fixed.compared(lambda r: (QUANTITY, CASE.sample(ROWS, r)), 0, truth, RUNS, SCHEMES)
    close = "close to the best of equal bins"
    claims = [
        truths.effect(truth, CASE, lambda x: 8 * x, "4 x1²", "4.5 x1²"),
        truths.deviation(truth, CASE),
        _wide(found),
        _narrow(found),
        fixed.closeness(found, 1, "sigma", f"L^sigma of UALE is {close}: it is a compromise"),
        fixed.closeness(found, 0, "mu", f"L^mu of UALE is {close} too"),
    ]
    settings = (
        f"As for the piecewise linear effect: {RUNS} runs of {ROWS} rows, truth from "
        f"{'200,000' if quick else 'a million'} rows in 1,000 bins, alpha = 0.2, K_max = 40, N/20 rows per bin."
    )
    return Outcome(claims, [fixed.lines(found)], [_drawn(found)], settings)


def _wide(found: fixed.Compared) -> Claim:
    rho = {k: float(v[:, 2].mean()) for k, v in found.equal.items() if k <= 20}
    sigma = {k: float(found.equal[k][:, 1].mean()) for k in (1, 2, 5)}
    best = found.best(1)
    # In bins of width 1/K the slope 9 x1 is uniform around its mean: E is 9 / (K sqrt(12)).
    theory = {k: 9 / (k * np.sqrt(12)) for k in (1, 5)}
    shown = ", ".join(f"{rho[k]:.2f} with K = {k}" for k in (1, 5, 20))
    numbers = (
        f"L^rho is {shown} (in theory {theory[1]:.2f} and {theory[5]:.2f} for 1 and 5); L^sigma is "
        f"{sigma[1]:.2f}, {sigma[2]:.2f}, {sigma[5]:.2f} for 1, 2, 5 bins, and {found.equal[best][:, 1].mean():.3f} at "
        f"its best, K = {best}."
    )
    falling = bool(np.all(np.diff(list(rho.values())) < 0))
    holds = falling and sigma[1] > sigma[2] > sigma[5] > found.equal[best][:, 1].mean()
    says = "with few bins the residual is large, and biases the deviation"
    return Claim("wide", says, bool(holds), numbers)


def _narrow(found: fixed.Compared) -> Claim:
    mu = [float(np.nanmean(found.equal[k][:, 0])) for k in (10, 50, 100)]
    sigma = [float(np.nanmean(found.equal[k][:, 1])) for k in (10, 50, 100)]
    numbers = (
        f"With 10, 50 and 100 bins L^mu is {mu[0]:.3f}, {mu[1]:.3f} and {mu[2]:.3f}, L^sigma "
        f"{sigma[0]:.3f}, {sigma[1]:.3f} and {sigma[2]:.3f}."
    )
    holds = mu[0] < mu[1] < mu[2] and sigma[0] < sigma[1] < sigma[2]
    says = "with many bins the estimates are bad because of few rows"
    return Claim("narrow", says, bool(holds), numbers)


def _drawn(found: fixed.Compared) -> Picture:
    X = CASE.sample(ROWS, 0)
    shown = sd.explain(QUANTITY, X, 0, method=sd.UALE(center="start"), heterogeneity_rows=0)
    figure = fixed.sheet(found, shown, X[:, 0], lambda x: 9 * x, RUNS)
    caption = (
        "UALE's Fig. 6: the bins of one run, and the losses of equal bins (grey: two standard errors) and of chosen "
        "ones. One bin by likelihood, in which the slope changes linearly, is sufficient"
    )
    return Picture("non_linear", figure, caption)


EXPERIMENT = Experiment(
    "uale",
    "non_linear",
    "Chosen bins compared with equal bins: a non-linear effect",
    "UALE, sec. 4.2, Fig. 6, Eq. 17 and 18",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
