"""UALE, section 4.1 (a): two correlated features with equal weights, no interaction; UALE compared with PDP and ICE.

``x1 + x2`` up to 1/2, then ``1/2 - x1 - x2`` up to 1, then 0, where x2 = x1 (Eq. 16). The paper looks at x1 alone, for
x2 has the same effect; it says that the true effect is x, -x, 0 in [0, 1/4], [1/4, 1/2], [1/2, 1], that nothing is
heterogeneous, that UALE shows so with three bins, and that PDP and ICE do not. See `correlated` for the closed forms.
"""

from __future__ import annotations

import sys

from experiments.experiment import Experiment, Outcome, Picture, Table, alone
from experiments.uale import correlated as shared
from experiments.uale import panels

CASE = shared.example()


def run(quick: bool) -> Outcome:
    """Explain x1 in many draws; draw the first."""
    draws = shared.runs(CASE, 0, quick)
    claims = [
        shared.rises(draws, CASE, 0),
        shared.curve(draws, CASE, 0),
        shared.quiet(draws),
        shared.three(draws, CASE),
        shared.misled(draws, CASE, 0),
    ]
    figure = panels.beside([draws[0]], CASE, [0])
    caption = (
        "UALE's Fig. 2, x1: the effect and its accumulated deviation with bins by Eq. 13 and by likelihood; the bins "
        "of "
        "Eq. 13; PDP and ICE, with the PDP's closed form"
    )
    table = Table(
        f"UALE of x1, {len(draws)} draws of 500 rows", shared.BINS_HEAD, shared.bins_table(draws)
    )
    return Outcome(claims, [table], [Picture("correlated_a", figure, caption)], shared.SETTINGS)


EXPERIMENT = Experiment(
    "uale",
    "correlated_a",
    "Correlated features, equal weights: UALE compared with PDP and ICE",
    "UALE, sec. 4.1 (a), Fig. 2",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
