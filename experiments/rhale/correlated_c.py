"""RHALE section 4.1 case b, appendix B.2 case c (Fig. 6; supplementary Fig. 4): equal weights and an interaction.

a1 = a2 = 1, alpha = 1: x1 x3 is added. The slopes of x1 now have the standard deviation of x3, 1/2, those of x3 that of
x1. The paper says 1/4 for the latter; x1 is uniform on (0, 1), which has a deviation of 1/sqrt(12) = 0.289.
"""

from __future__ import annotations

import sys

import numpy as np

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
from experiments.rhale.settings import CORRELATED, mean_error

CASE = CORRELATED["c"]
CAPTION = (
    "RHALE's Fig. 6 and supplementary Fig. 4, case (c): RHALE, its slopes, RHALE in bins by likelihood, and PDP with "
    "ICE; rows x1, x2, x3"
)


def run(quick: bool) -> Outcome:
    """Explain all three features on many draws."""
    seeds = 15 if quick else 100
    features = [found(CASE, j, seeds) for j in range(3)]
    middle = (
        "effect_middle",
        "for x1 in [1/4, 1/2] the effect is 1/4 − x1 (Eq. 53)",
        lambda x: 0.25 - x,
    )
    third = ("effect_of_x3", "the effect of x3 is x3 / 2 (Eq. 55)", lambda x: 0.5 * x)
    claims = [
        formula(CASE, features[0], 0, middle, [0.3, 0.375, 0.45], CONTINUOUS),
        formula(CASE, features[2], 2, third, [-0.5, 0.5]),
        deviations("c", features[:2], (0.5, 0.0)),
        _third_scatters(features[2]),
        pdp_fails("c", features),
        _pdp_is_right(features[2]),
    ]
    return outcome("c", claims, features, CAPTION)


def _third_scatters(feature: Feature) -> Claim:
    pooled = np.sqrt([np.average(e.bins.std**2, weights=e.bins.count - 1) for e in feature.effects])
    mean, error = mean_error(pooled)
    return Claim(
        "heterogeneity_of_x3",
        "the standard deviation of the slopes of x3 is that of x1, 1/4",
        bool(abs(mean - 0.25) < 3 * error + 0.005),
        f"Pooled over Eq. 13's bins their deviation is {mean:.4f} ± {error:.4f}.",
        "The deviation of a uniform variable on (0, 1) is 1/√12 = 0.289.",
    )


def _pdp_is_right(feature: Feature) -> Claim:
    pdp, rhale = feature.pdp.mean(), feature.curve.mean()
    return Claim(
        "pdp_is_right_for_x3",
        "of x3, which is independent of the others, PDP and ICE estimate effect and heterogeneity correctly",
        bool(pdp < 0.02),
        f"The mean error of the curve is {pdp:.4f} with PDP and {rhale:.4f} with RHALE. ICE curves are lines whose "
        f"slopes are the rows' x1, as RHALE's slopes are.",
    )


EXPERIMENT = Experiment(
    "rhale",
    "correlated_c",
    "Correlated features with an interaction",
    "RHALE, sec. 4.1 case b, Fig. 6, Eq. 53 to 55",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
