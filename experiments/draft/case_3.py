"""The draft's case 3: choosing K by Eq. 6 where the effect is linear in pieces of different size.

The draft: minimising the variance is a good criterion there, and bins of variable size estimate better than any equal
ones. Two cases: the pieces of UALE's section 4.2, all of whose breaks are multiples of 0.05; and the same with breaks
that no few equal bins meet.
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


def run(_quick: bool) -> Outcome:
    """Judge both cases; a quick run is the same, for its verdicts are near their limits."""
    unequal, shifted = (judged.judge(case) for case in (judged.UNEQUAL, judged.SHIFTED))
    better = "estimate better than any equal bins"
    says = {n: f"variable-size bins ({judged.NAMES[n]}) {better}" for n in judged.NAMES}
    claims = [
        judged.good(unequal, "good", "Eq. 6 chooses K well where pieces are unequal"),
        judged.good(shifted, "good_shifted", "Eq. 6 chooses K well where breaks lie anywhere"),
        judged.wins(unequal, judged.EQ13, "better", says[judged.EQ13]),
        judged.wins(
            shifted, judged.EQ13, "better_shifted", f"{says[judged.EQ13]}, breaks anywhere"
        ),
        judged.wins(unequal, judged.LIKELIHOOD, "better_likelihood", says[judged.LIKELIHOOD]),
        judged.wins(
            shifted,
            judged.LIKELIHOOD,
            "better_likelihood_shifted",
            f"{says[judged.LIKELIHOOD]}, breaks anywhere",
        ),
    ]
    caption = (
        "The draft's case 3, breaks at multiples of 0.05 above and anywhere below: the bins of one draw; errors over "
        "K, and those of chosen bins; Eq. 6 over K, and how often each K is chosen"
    )
    picture = Picture("case_3", judged.figure([unequal, shifted]), caption)
    return Outcome(claims, [judged.table([unequal, shifted])], [picture], SETTINGS)


EXPERIMENT = Experiment(
    "draft",
    "case_3",
    "Choosing the number of bins: pieces of different size",
    "Draft, case 3, Eq. 6 and 7",
    run,
    slow=True,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
