"""RHALE appendix B.2 case b (supplementary Fig. 3): unequal weights, no interaction.

a1 = 2, a2 = 1/2, alpha = 0: f1 is 5/2 x1, so pieces end at 1/5 and 2/5. The paper gives x1 and x2 the same effect
(Eq. 49 and 50), and the middle piece the ends 1/4 and 2/5.
"""

from __future__ import annotations

import sys

from experiments.experiment import Experiment, Outcome, alone
from experiments.rhale.correlated import CONTINUOUS, deviations, formula, found, outcome, pdp_fails
from experiments.rhale.settings import CORRELATED

OWN = (
    "The weight of x2 itself is 1/2: its effect is a quarter of that of x1. (The middle piece is wrong in the same "
    "way as for x1.)"
)
CASE = CORRELATED["b"]
CAPTION = (
    "RHALE's supplementary Fig. 3, case (b): RHALE, its slopes, RHALE in bins by likelihood, and PDP with ICE; rows "
    "x1, x2, x3"
)


def run(quick: bool) -> Outcome:
    """Explain all three features on many draws."""
    seeds = 15 if quick else 100
    features = [found(CASE, j, seeds) for j in range(3)]
    said = [
        (
            0,
            "effect_of_x1_left",
            "left of 1/5 the effect of x1 is 2 x1 (Eq. 49)",
            lambda x: 2 * x,
            [0.1, 0.15],
        ),
        (
            0,
            "effect_of_x1_middle",
            "right of it, up to 2/5, the effect of x1 is 2/5 − 2 x1 (Eq. 49)",
            lambda x: 0.4 - 2 * x,
            [0.3, 0.35],
        ),
        (
            1,
            "effect_of_x2_left",
            "left of 1/5 the effect of x2 is 2 x2 (Eq. 50)",
            lambda x: 2 * x,
            [0.1, 0.15],
        ),
        (
            1,
            "effect_of_x2_middle",
            "right of it, up to 2/5, the effect of x2 is 2/5 − 2 x2 (Eq. 50)",
            lambda x: 0.4 - 2 * x,
            [0.3, 0.35],
        ),
    ]
    claims = [
        formula(CASE, features[j], j, (key, words, f), at, (CONTINUOUS, OWN)[j])
        for j, key, words, f, at in said
    ]
    claims += [deviations("b", features, (0.0, 0.0, 0.0)), pdp_fails("b", features)]
    return outcome("b", claims, features, CAPTION)


EXPERIMENT = Experiment(
    "rhale",
    "correlated_b",
    "Correlated features of unequal weight",
    "RHALE, appendix B.2 case b, supplementary Fig. 3, Eq. 49 and 50",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
