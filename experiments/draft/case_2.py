"""The draft's case 2: choosing K by Eq. 6 where the effect is linear, in one piece or in equal ones.

The draft: minimising the variance is a good criterion there, and bins of variable size estimate as well as the best of
equal size. Its Eq. 6 discounts by ``d = 0.2 p / N``, which it puts into [0, 0.1].
"""

from __future__ import annotations

import sys

import numpy as np

from experiments.draft import judged
from experiments.experiment import Claim, Experiment, Outcome, Picture, alone

SETTINGS = (
    f"{judged.ROWS} rows, x uniform on (0, 1), slopes of standard deviation 1 around their mean; {judged.RUNS} "
    f"draws, equal bins from 1 to {judged.MOST}, at least {judged.LEAST} rows per bin where bins are chosen. Errors "
    "are means over the axis."
)


def run(_quick: bool) -> Outcome:
    """Judge both cases; a quick run is the same, for its verdicts are near their limits."""
    line, fifths = (judged.judge(case) for case in (judged.LINE, judged.FIFTHS))
    claims = [
        judged.good(line, "good_line", "Eq. 6 chooses K well where the effect is linear"),
        judged.good(fifths, "good_fifths", "Eq. 6 chooses K well where pieces are equal"),
        _exact(fifths),
        _as_well(
            line,
            judged.EQ13,
            "as_well_line",
            "as well as the best equal size where the effect is linear",
        ),
        _as_well(
            fifths, judged.EQ13, "as_well", "as well as the best equal size where pieces are equal"
        ),
        _as_well(
            fifths,
            judged.LIKELIHOOD,
            "as_well_likelihood",
            "as well as the best equal size where pieces are equal",
        ),
        _discount(line),
    ]
    caption = (
        "The draft's case 2, a line above and five equal pieces below: the bins of one draw; errors over K, and "
        "those of chosen bins; Eq. 6 over K, and how often each K is chosen"
    )
    picture = Picture("case_2", judged.figure([line, fifths]), caption)
    return Outcome(claims, [judged.table([line, fifths])], [picture], SETTINGS)


def _exact(found: judged.Judged) -> Claim:
    k = found.chosen[judged.AUTO][:, 2]
    share, near = float(np.mean(k == 5)), float(np.mean(k % 5 == 0))
    numbers = (
        f"Eq. 6 chooses K = 5 in {share:.0%} of {len(k)} draws, a multiple of 5 in {near:.0%}."
    )
    why = (
        "Edges are multiples of the range of the rows, which is a little less than (0, 1), so five bins contain a few "
        "rows of neighbouring pieces; more bins avoid these, and Eq. 6 penalises their number only by a discount."
    )
    says = "Eq. 6 finds the number of equal pieces (in 9 of 10 draws)"
    return Claim("exact", says, share >= 0.9, numbers, "" if share >= 0.9 else why)


def _as_well(found: judged.Judged, name: str, key: str, what: str) -> Claim:
    ratio, error = found.ratio(name)
    numbers = (
        f"{found.case.name.capitalize()}: the error of the slope is {ratio:.2f} ± {error:.2f} times that of the best "
        f"K, {found.best()}, with {found.chosen[name][:, 2].mean():.1f} bins on average; “as well” means at most "
        f"{judged.GOOD:g}."
    )
    holds = None if abs(ratio - judged.GOOD) < 2 * error else bool(ratio <= judged.GOOD)
    why = (
        "Eq. 13 makes more bins than there are pieces: its discount is smaller than the random differences of "
        "variances."
    )
    says = f"variable-size bins ({judged.NAMES[name]}) estimate {what}"
    return Claim(key, says, holds, numbers, why if holds is False else "")


def _discount(found: judged.Judged) -> Claim:
    effect = judged.explained(found.case, 0).rebin(judged.SCHEMES[judged.AUTO])
    count = judged.drawing.bins_of(effect).count
    largest = 0.2 * float(count.max() / count.sum())
    numbers = (
        f"For a line Eq. 6 makes {len(count)} bin with all rows, and its discount is {largest:.2f}."
    )
    why = (
        "It reaches 0.2 where one bin contains all rows; a maximum of 0.1 would mean that no bin contains more than "
        "half of them."
    )
    says = "the discount 0.2 p / N lies in [0, 0.1]"
    return Claim("discount", says, bool(largest <= 0.1), numbers, why)


EXPERIMENT = Experiment(
    "draft",
    "case_2",
    "Choosing the number of bins: linear effects",
    "Draft, case 2, Eq. 6 and 7",
    run,
    slow=True,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
