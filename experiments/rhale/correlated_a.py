"""RHALE section 4.1 case a (Fig. 5; supplementary Fig. 2): equal weights, no interaction.

a1 = a2 = 1, alpha = 0. As x2 follows x1, a slope of x1 depends on x1 alone: 1 up to 1/4, -1 up to 1/2, then 0. The
paper says that RHALE finds these three pieces and no heterogeneity, that PDP is wrong, and that the effect is x, then
1/4 - x, then 0.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

import skedasis as sd
from experiments.experiment import Claim, Experiment, Outcome, alone
from experiments.rhale.correlated import (
    CONTINUOUS,
    Feature,
    deviations,
    formula,
    found,
    outcome,
    pdp_fails,
)
from experiments.rhale.settings import CORRELATED, LIKELIHOOD
from skedasis.datasets.simulations import Correlated

CASE = CORRELATED["a"]
CAPTION = (
    "RHALE's Fig. 5 and supplementary Fig. 2, case (a): RHALE, its slopes, RHALE in bins by likelihood, and PDP with "
    "ICE; "
    "rows x1, x2, x3"
)


def run(quick: bool) -> Outcome:
    """Explain all three features on many draws."""
    seeds = 15 if quick else 100
    features = [found(CASE, j, seeds) for j in range(3)]
    claims = [
        _three(features[0]),
        formula(
            CASE,
            features[0],
            0,
            ("effect_left", "left of 1/4 the effect of x1 is x1", lambda x: x),
            [0.125, 0.2],
        ),
        formula(
            CASE,
            features[0],
            0,
            (
                "effect_middle",
                "for x1 in [1/4, 1/2] the effect is 1/4 − x1 (Eq. 45)",
                lambda x: 0.25 - x,
            ),
            [0.3, 0.375, 0.45],
            CONTINUOUS,
        ),
        deviations("a", features, (0.0, 0.0, 0.0)),
        pdp_fails("a", features),
    ]
    return outcome("a", claims, features, CAPTION)


def _three(feature: Feature) -> Claim:
    """Return whether the bins are three: [0, 1/4], [1/4, 1/2], [1/2, 1]."""
    bins = np.array([len(e.bins) for e in feature.effects])
    ours = np.array([len(e.rebin(LIKELIHOOD).bins) for e in feature.effects])
    cell = 1 / CASE.max_bins
    near = np.mean(
        [all(np.min(np.abs(e.x - at)) <= cell for at in (0.25, 0.5)) for e in feature.effects]
    )
    inside = np.array(
        [
            np.sum(
                (e.bins.left > 0.25 + cell) & (e.bins.right < 0.5 - cell)
                | (e.bins.left > 0.5 + cell)
            )
            for e in feature.effects
        ]
    )
    return Claim(
        "three_bins",
        "the optimal bins of x1 are three: [0, 1/4], [1/4, 1/2] and [1/2, 1]",
        bool(np.median(bins) == 3),
        f"{np.mean(bins == 3):.0%} of the draws have three bins, the median has {np.median(bins):.0f} (by likelihood "
        f"{np.median(ours):.0f}). An edge lies within a cell (1/20) of 1/4 and of 1/2 in {near:.0%}; within the flat "
        f"and falling pieces, more than a cell from a break, there are {inside.mean():.1f} further bins.",
        "" if np.median(bins) == 3 else _clean(len(bins)),
    )


def _clean(seeds: int) -> str:
    """Return what becomes of the number of bins without noise, and with cells that end at the breaks."""
    shares = []
    for ends in (False, True):
        one = replace(Correlated(), noise=1e-6)
        q = sd.prediction(one.f, slope=one.slope)
        bins = []
        for seed in range(seeds):
            X = one.sample(CASE.rows, seed)
            if ends:
                X[:2, :2] = [[0.0, 0.0], [1.0, 1.0]]
            bins.append(
                len(sd.explain(q, X, 0, method=sd.RHALE(bins=CASE.bins), heterogeneity_rows=0).bins)
            )
        shares.append(np.mean(np.array(bins) == 3))
    return (
        "Mixed slopes occur in rows whose x2 lies beyond a break when their x1 does not, and in cells of 1/20 of the "
        "rows' range that contain a break. They become separate narrow bins. "
        f"Without noise in x2 three bins are found in {shares[0]:.0%} of the draws; without noise and with rows "
        f"at 0 and 1, so that cells end at the breaks, in {shares[1]:.0%}."
    )


EXPERIMENT = Experiment(
    "rhale",
    "correlated_a",
    "Correlated features, no interaction",
    "RHALE, sec. 4.1 case a, Fig. 5, Eq. 45",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
