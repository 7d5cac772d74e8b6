"""UALE, section 4.1 (b): as case a, with weights 2 and 1/2.

The paper says: the true effect of x1 is 2x, -2x, 0 in [0, 1/5], [1/5, 2/5], [2/5, 1]; nothing is heterogeneous; UALE
shows so with wide bins; and the PDP goes the other way, down in [0, 1/5) and up in [1/5, 2/5). See `correlated` for the
closed forms: the slope of the PDP is ``4 (g(2 x + 1/2) - g(2 x))``, g the function of f1.
"""

from __future__ import annotations

import sys

import numpy as np

from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone
from experiments.uale import correlated as shared
from experiments.uale import panels

CASE = shared.example(2.0, 0.5)


def run(quick: bool) -> Outcome:
    """Explain x1 in many draws; draw the first."""
    draws = shared.runs(CASE, 0, quick)
    claims = [
        shared.rises(draws, CASE, 0),
        shared.curve(draws, CASE, 0),
        shared.quiet(draws),
        shared.three(draws, CASE),
        shared.misled(draws, CASE, 0),
        _opposite(draws),
    ]
    figure = panels.beside([draws[0]], CASE, [0])
    caption = (
        "UALE's Fig. 3, x1: the effect and its accumulated deviation with bins by Eq. 13 and by likelihood; the bins "
        "of "
        "Eq. 13; PDP and ICE, with the PDP's closed form"
    )
    table = Table(
        f"UALE of x1, {len(draws)} draws of 500 rows", shared.BINS_HEAD, shared.bins_table(draws)
    )
    return Outcome(claims, [table], [Picture("correlated_b", figure, caption)], shared.SETTINGS)


def _opposite(draws: list[shared.Draw]) -> Claim:
    """Say where the PDP falls and rises."""
    ends = np.array([0.0, 0.2, 0.25, 0.4])
    closed = np.diff(shared.pdp(CASE, 0, ends))
    on_grid = np.searchsorted(shared.GRID, ends - 1e-9)
    found = np.array([np.diff(d.pdp.value[on_grid]) for d in draws])
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
    shown = ", ".join(
        f"{c:+.3f} ({m:+.3f} ± {e:.3f})" for c, m, e in zip(closed, mean, error, strict=True)
    )
    numbers = (
        f"Over [0, 0.2], [0.2, 0.25] and [0.25, 0.4] it changes by {shown}, in closed form and as measured; the true "
        "effect by +0.4, -0.1, -0.3."
    )
    falls = np.sign(closed)
    why = (
        "It falls up to 1/4, where 2 x1 reaches 1/2 for any x2: in [1/5, 1/4] it has the same direction as the truth. "
        "From 1/4 on it rises, and up to 1/5 it falls, as the paper says."
    )
    says = "the PDP is opposite to the truth: it falls in [0, 1/5) and rises in [1/5, 2/5)"
    return Claim("opposite", says, bool(np.all(falls == [-1, 1, 1])), numbers, why)


EXPERIMENT = Experiment(
    "uale",
    "correlated_b",
    "Correlated features, unequal weights: UALE compared with PDP and ICE",
    "UALE, sec. 4.1 (b), Fig. 3",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
