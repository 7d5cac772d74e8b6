"""The draft's case 4: choosing K by Eq. 6 where the effect is not linear.

The draft: minimising the variance is a good criterion there, and bins of variable size estimate better than any equal
ones. It gives no function: here a parabola (UALE's section 4.2), a wave (UALE's Fig. 1), and a wave followed by a line.
"""

from __future__ import annotations

import sys

from experiments.draft import judged
from experiments.experiment import Experiment, Outcome, Picture, alone

SETTINGS = (
    f"{judged.ROWS} rows, x uniform on (0, 1), slopes of standard deviation 1 around their mean; {judged.RUNS} "
    f"draws, equal bins from 1 to {judged.MOST}, at least {judged.LEAST} rows per bin where bins are chosen. Errors "
    "are means over the axis."
)
SHORT = {judged.EQ13: "eq13", judged.LIKELIHOOD: "likelihood"}


def run(_quick: bool) -> Outcome:
    """Judge three cases; a quick run is the same, for its verdicts are near their limits."""
    found = [judged.judge(case) for case in (judged.PARABOLA, judged.WAVE, judged.UNEVEN)]
    claims = []
    for one, key in zip(found, ("parabola", "wave", "uneven"), strict=True):
        claims.append(judged.good(one, f"good_{key}", f"Eq. 6 chooses K well: {one.case.name}"))
    for name in (judged.EQ13, judged.LIKELIHOOD):
        better = f"variable-size bins ({judged.NAMES[name]}) estimate better than any equal bins"
        for one, key in zip(found, ("parabola", "wave", "uneven"), strict=True):
            claims.append(
                judged.wins(one, name, f"better_{SHORT[name]}_{key}", f"{better}: {one.case.name}")
            )
    caption = (
        "The draft's case 4, from above a parabola, a wave, a wave followed by a line: the bins of one draw; errors "
        "over "
        "K, and those of chosen bins; Eq. 6 over K, and how often each K is chosen"
    )
    return Outcome(
        claims, [judged.table(found)], [Picture("case_4", judged.figure(found), caption)], SETTINGS
    )


EXPERIMENT = Experiment(
    "draft",
    "case_4",
    "Choosing the number of bins: non-linear effects",
    "Draft, case 4, Eq. 6 and 7",
    run,
    slow=True,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
