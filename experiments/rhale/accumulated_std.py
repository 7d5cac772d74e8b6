"""RHALE Eq. 16: what the shaded area of its plots is, and what the paper reads from it.

``STD(x) = sqrt(sum over the bins left of x of width² variance)`` is drawn around the average curve and read as the
standard deviation of the instances' effects: in Fig. 1c its limits are to be "the lines 5 x2 and -5 x2", in Fig. 3b "±
2 x1". Both examples have an exact truth, because in both an instance's effect is a line through 0: the variation of the
instances' effects at x is 5 |x2|, and 2 |x1| from the interaction; counted from the left end, 5 (x2 + 1) and 2 (x1 +
1/2). Nothing is estimated here: the bins get the true standard deviation.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import skedasis as sd
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone
from experiments.rhale import panels
from experiments.rhale.settings import Floats

COUNTS = (1, 2, 5, 10, 20, 50)
SETTINGS = (
    "Slopes with exactly the true standard deviation in every bin: half of the rows have slope −sigma, half +sigma, at "
    "each of 1,000 equidistant points of the axis; ddof = 0."
)


def explained(sigma: float, end: float, bins: int, method: Any, points: int = 1000) -> sd.Effect:
    """Explain x1 x2 on [-end, end] where x2 is -sigma or sigma: every instance's effect is a line through 0."""
    x = np.repeat(np.linspace(-end, end, points), 2)
    X = np.stack([x, np.tile([-sigma, sigma], points)], axis=1)
    q = sd.prediction(lambda X: X[:, 0] * X[:, 1], slope=lambda X: X[:, ::-1])
    return sd.explain(
        q, X, 0, method=method(bins=bins, center="start", ddof=0), heterogeneity_rows=0
    )


def at_the_right(method: Any, points: int) -> Floats:
    """Return the accumulated standard deviation of x2 at its right end for each number of bins."""
    return np.array([explained(5.0, 1.0, k, method, points).accumulated_std[-1] for k in COUNTS])


def run(quick: bool) -> Outcome:
    """Accumulate a known standard deviation over 1 to 50 bins, by Eq. 16 and by UALE's Eq. 9."""
    points = 200 if quick else 1000
    rhale, uale = (at_the_right(method, points) for method in (sd.RHALE, sd.UALE))
    one, left = explained(5.0, 1.0, 1, sd.RHALE, points), explained(2.0, 0.5, 1, sd.RHALE, points)
    middle = float(np.interp(0.0, one.x, one.accumulated_std))
    at_start, at_zero = (
        float(left.accumulated_std[0]),
        float(np.interp(0.0, left.x, left.accumulated_std)),
    )
    rows = [
        [f"{k}", f"{a:.2f}", f"{b:.2f}", "10.00"]
        for k, a, b in zip(COUNTS, rhale, uale, strict=True)
    ]
    head = ("bins", "STD, Eq. 16", "sum of width × deviation, UALE Eq. 9", "truth")
    table = Table("Variation of the instances' effects of x2 at 1, from −1", head, rows)
    return Outcome(
        claims=[_limits(middle, at_start, at_zero), _bins(rhale, uale)],
        tables=[table],
        pictures=[Picture("accumulated_std", _drawn(), CAPTION)],
        settings=SETTINGS,
    )


def _limits(middle: float, at_start: float, at_zero: float) -> Claim:
    return Claim(
        "limits_are_the_lines",
        "the limits of the shaded area are the lines 5 x2 and −5 x2 (Fig. 1c), and ± 2 x1 around the average (Fig. 3b)",
        bool(abs(middle) < 0.1 and abs(at_start - 1.0) < 0.1),
        f"In one bin, where Eq. 16 is at its widest, STD at x2 = 0 is {middle:.2f} (5 x2 is 0 there); at x1 = −1/2 it "
        f"is {at_start:.2f} (2 |x1| is 1), at x1 = 0 {at_zero:.2f} (2 |x1| is 0).",
        "Eq. 16 is 0 at the left end, wherever the instances' effects cross, and grows from there: its limits are "
        "± 5 (x2 + 1) and ± 2 (x1 + 1/2), parallel to the lines but not these lines.",
    )


def _bins(rhale: Floats, uale: Floats) -> Claim:
    shrinks = rhale[0] / rhale
    return Claim(
        "std_is_the_scatter_of_effects",
        "STD(x) of Eq. 16 is the standard deviation of the effect",
        bool(np.allclose(rhale, 10.0, rtol=0.1)),
        f"The instances' effects of x2 differ by 10 at the right end. Eq. 16 gives {rhale[0]:.2f} in 1 bin, "
        f"{rhale[2]:.2f} in 5 and {rhale[4]:.2f} in 20: {shrinks[4]:.2f} times too small, the square root of the "
        f"number of bins. The sum of UALE's Eq. 9 is {uale[0]:.2f}, {uale[2]:.2f} and {uale[4]:.2f}.",
        "Eq. 16 adds variances as if an instance's slopes in different bins were independent; an instance keeps its x2 "
        "(or its group) along the axis, so standard deviations add. The library computes Eq. 16 as published, and Eq. "
        '9 (`accumulate="std"`), in `accumulated_std`; its band is the spread between rows at x.',
    )


CAPTION = (
    "STD by Eq. 16 in 1, 5 and 20 bins with the true deviation in every bin, and how far the instances' effects truly "
    "differ, from the left end and around x2 = 0"
)


def _drawn() -> Any:
    made, axes = panels.figure(1, 2, (9.0, 3.4))
    x = np.linspace(-1, 1, 201)
    for ax, method, title in (
        (axes[0, 0], sd.RHALE, "RHALE Eq. 16: root of the sum of squares"),
        (axes[0, 1], sd.UALE, "UALE Eq. 9: sum"),
    ):
        for k, stroke in ((1, "-"), (5, "--"), (20, "-.")):
            e = explained(5.0, 1.0, k, method)
            ax.plot(
                e.x,
                e.accumulated_std,
                color=panels.BLUE,
                linestyle=stroke,
                label=f"{k} bins" if k > 1 else "1 bin",
            )
        ax.plot(
            x,
            5 * (x + 1),
            "k",
            linestyle=(0, (1, 1.5)),
            linewidth=1.8,
            label="truth, from the left end",
        )
        ax.plot(
            x,
            5 * np.abs(x),
            color=panels.RED,
            linewidth=0.9,
            marker="x",
            markevery=20,
            label="5 |x2|, the paper's",
        )
        panels.label(ax, title, "x2", "variation of the instances' effects")
    panels.legend(made, [axes[0, 0]])
    return made


EXPERIMENT = Experiment(
    "rhale",
    "accumulated_std",
    "The meaning of the shaded area",
    "RHALE, Eq. 16, read in sec. 1 and 3, Fig. 1c and 3b",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
