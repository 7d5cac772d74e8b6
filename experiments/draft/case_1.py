"""The draft's case 1: whether variance (Eq. 4) and standard error (Eq. 5) say how far to trust an ALE plot.

The draft sketches it only: "the variance shows how far away from the ALE plot the global effect can be", "the standard
error shows how wrong the ALE plot can be", for different sample sizes. Its section 3.2 adds that the effect lies within
two or three standard errors; that bins of fewer than ten rows are not to be trusted; and that everything is wrong where
the slope changes within a bin.

Here x is uniform on (0, 1) and the slope of row i is 2 + e_i, e normal with variance 1, so that the effect is 2 x, the
row's own effect (2 + e_i) x, and the curve has 20 equal bins. Where the slope changes it is 9 x + e_i.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, stdtr, stdtrit

import skedasis as sd
from experiments.draft.judged import QUANTITY
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone
from experiments.uale import drawing
from experiments.uale.drawing import Floats

BINS = 20
SIZES = (200, 500, 1000, 5000)
FEW = (2, 3, 5, 10, 20, 50)


@dataclass(frozen=True, eq=False)
class Trusted:
    """Curves of one sample size at all edges but the first, one row a run.

    Parameters
    ----------
    error : ndarray, shape (runs, 20)
        The curve minus the true effect.
    variance, summed, quadrature, reach : ndarray, shape (runs, 20)
        Eq. 4, Eq. 5, the standard error of independent bins, and half of the library's interval at 95 %.
    """

    error: Floats
    variance: Floats
    summed: Floats
    quadrature: Floats
    reach: Floats

    def covered(self, times: float, what: str = "summed") -> float:
        """Return the fraction of edges and runs where the truth is within a number of standard errors."""
        return float(np.mean(np.abs(self.error) <= times * getattr(self, what)))

    def ratio(self, what: str) -> float:
        """Return a standard error at the right end over the error's root mean square."""
        return float(np.mean(getattr(self, what)[:, -1]) / np.sqrt(np.mean(self.error[:, -1] ** 2)))


def explained(n: int, seed: int, bins: int = BINS, tilt: float = 0.0, se: str = "sum") -> sd.Effect:
    """Explain n rows with slopes 2 + tilt x + e by equal bins over (0, 1), 0 at the left end.

    Standard errors are the draft's ("sum", variances divided by n) or the library's ("quadrature", by n - 1).
    """
    rng = np.random.default_rng([seed, n])
    x = rng.uniform(size=n)
    X = np.stack([x, 2 + tilt * x + rng.normal(size=n)], axis=1)
    edges = sd.Edges(np.linspace(0, 1, bins + 1), closed="left")
    method = sd.DALE(bins=edges, center="start", ddof=int(se == "quadrature"), accumulate_se=se)
    return sd.explain(QUANTITY, X, 0, method=method, heterogeneity_rows=0)


def trusted(n: int, runs: int) -> Trusted:
    """Repeat it."""
    parts: list[list[Floats]] = []
    for seed in range(runs):
        e, own = explained(n, seed), explained(n, seed, se="quadrature")
        low, high = own.interval(0.95)
        found = [
            e.value - 2 * e.x,
            e.accumulated_std**2,
            e.std_error,
            own.std_error,
            (high - low) / 2,
        ]
        parts.append([a[1:] for a in found])
    return Trusted(*np.array(parts).transpose(1, 0, 2))


def run(quick: bool) -> Outcome:
    """Try all sample sizes."""
    runs = 30 if quick else 150
    found = {n: trusted(n, runs) for n in SIZES}
    claims = [
        _variance(found),
        _inside(found),
        _size(found),
        _samples(found),
        _few(),
        _changing(runs),
    ]
    settings = (
        f"{BINS} equal bins of (0, 1), {runs} runs of each sample size. Variances are divided by n as in Eq. 4; the "
        "library's own standard errors and intervals divide by n - 1."
    )
    return Outcome(claims, [_table(found)], [_drawn(found)], settings)


def _table(found: dict[int, Trusted]) -> Table:
    rows = [
        [
            f"{n:,}",
            f"{np.sqrt(t.variance[:, -1].mean()):.3f}",
            f"{np.sqrt(np.mean(t.error[:, -1] ** 2)):.3f}",
            f"{t.summed[:, -1].mean():.3f}",
            f"{t.quadrature[:, -1].mean():.3f}",
            f"{t.covered(2):.1%}",
            f"{t.covered(1, 'reach'):.1%}",
        ]
        for n, t in found.items()
    ]
    head = (
        "rows",
        "root of Eq. 4",
        "true error",
        "Eq. 5",
        "independent",
        "within 2 of Eq. 5",
        "library's 95 %",
    )
    return Table(
        "At the right end: standard deviation, error, standard errors; and coverage at all edges",
        head,
        rows,
    )


def _variance(found: dict[int, Trusted]) -> Claim:
    inside = {}
    for bins in (5, 20, 100):
        root = explained(5000, 0, bins=bins).accumulated_std[-1]
        # A row's own effect at the right end is normal around the curve with standard deviation 1.
        inside[bins] = 2 * float(ndtr(2 * root)) - 1
    shown = ", ".join(f"{v:.0%} with {k} bins" for k, v in inside.items())
    numbers = (
        f"At the right end the effects of single rows have a standard deviation of 1 around the curve; the root of "
        f"Eq. 4 is "
        f"{np.sqrt(found[5000].variance[:, -1].mean()):.2f} with 20 bins. So two roots contain {shown} of the rows, "
        f"not 95 %."
    )
    why = (
        "Eq. 4 adds variances as if a row's deviations in two bins were independent. They are deviations of the same "
        "row and equal, so they add up (UALE's Eq. 9). As bins become narrower Eq. 4 goes to 0."
    )
    holds = all(abs(v - 0.95) < 0.05 for v in inside.values())
    says = "the variance (Eq. 4) shows how far from the plot the effect can be"
    return Claim("variance", says, bool(holds), numbers, why)


def _inside(found: dict[int, Trusted]) -> Claim:
    two = {n: t.covered(2) for n, t in found.items()}
    three = min(t.covered(3) for t in found.values())
    shown = ", ".join(f"{v:.1%} of {n:,} rows" for n, v in two.items())
    numbers = f"Within two: {shown}; within three: {three:.1%} or more."
    says = "the correct effect is within two or three standard errors (Eq. 5)"
    return Claim("inside", says, bool(min(two.values()) >= 0.95), numbers)


def _size(found: dict[int, Trusted]) -> Claim:
    ratio = {n: t.ratio("summed") for n, t in found.items()}
    own = {n: t.ratio("quadrature") for n, t in found.items()}
    numbers = (
        f"At the right end Eq. 5 is {min(ratio.values()):.1f} to {max(ratio.values()):.1f} times the true error; the "
        f"root of the sum of squares, as in the library, {min(own.values()):.2f} to {max(own.values()):.2f} times."
    )
    why = (
        f"Eq. 5 adds standard errors as if the errors of all bins were perfectly correlated. Bins contain different "
        f"rows, so squared errors add: with {BINS} similar bins Eq. 5 is sqrt({BINS}) = {np.sqrt(BINS):.1f} times too "
        f"large."
    )
    says = "the standard error (Eq. 5) shows how wrong the plot can be (to within a factor of 2)"
    holds = all(0.5 < r < 2 for r in ratio.values())
    return Claim("size", says, bool(holds), numbers, "" if holds else why)


def _samples(found: dict[int, Trusted]) -> Claim:
    few, many = found[200], found[5000]
    se = few.summed[:, -1].mean() / many.summed[:, -1].mean()
    root = np.sqrt(few.variance[:, -1].mean() / many.variance[:, -1].mean())
    numbers = (
        f"From 200 to 5,000 rows Eq. 5 falls by a factor of {se:.2f} (the square root of 25 is 5), the root of Eq. 4 "
        f"by "
        f"{root:.2f}."
    )
    says = "with the sample size the standard error shrinks, and the variance does not"
    return Claim("samples", says, bool(4 < se < 6 and 0.9 < root < 1.1), numbers)


def few() -> dict[int, tuple[float, float]]:
    """Return, for bins of few rows, how often two standard errors of Eq. 5 cover, and Student's interval at 95 %.

    In closed form, for normal slopes: Eq. 5 divides by n where Student's statistic has n - 1, and two of its standard
    errors are 2 sqrt((n - 1) / n) of Student's.
    """
    out = {}
    for n in FEW:
        two = 2 * float(stdtr(n - 1, 2 * np.sqrt((n - 1) / n))) - 1
        out[n] = (two, 2 * float(stdtr(n - 1, stdtrit(n - 1, 0.975))) - 1)
    return out


def _few() -> Claim:
    closed = few()
    shown = ", ".join(f"{closed[n][0]:.1%} of {n}" for n in FEW)
    numbers = (
        f"Two standard errors should cover 95.4 %; in a bin of normal slopes they cover {shown} rows (in closed form). "
        "Student's quantiles and n - 1, as in the library's intervals, give 95 % at every number."
    )
    holds = all(closed[n][0] < 0.9 for n in FEW if n < 10) and all(
        closed[n][0] > 0.9 for n in FEW if n >= 10
    )
    says = (
        "the standard error is unreliable in bins of fewer than ten rows (it covers less than 90 %)"
    )
    return Claim("few", says, bool(holds), numbers)


def _changing(runs: int) -> Claim:
    """Read slopes that change off two bins: at an edge, and in the middle of a bin."""
    covered = {}
    for n in (200, 5000):
        hits = []
        for seed in range(runs):
            e = explained(n, seed, bins=2, tilt=9.0, se="quadrature")
            low, high = e.interval(0.95)
            middle = (np.interp(0.75, e.x, low), np.interp(0.75, e.x, high))
            true = [2 * z + 4.5 * z**2 for z in (1.0, 0.75)]
            hits.append([low[-1] <= true[0] <= high[-1], middle[0] <= true[1] <= middle[1]])
        covered[n] = np.mean(hits, axis=0)
    numbers = (
        f"With slopes 2 + 9 x + e and two bins the 95 % interval covers the effect at the right end in "
        f"{covered[200][0]:.0%} of the runs with 200 rows and {covered[5000][0]:.0%} with 5,000; in the middle of a "
        f"bin in {covered[200][1]:.0%} and {covered[5000][1]:.0%}."
    )
    holds = covered[5000][1] < 0.5 and covered[5000][0] > 0.85
    why = (
        "Where rows are uniform the mean slope of a bin is right even if slopes vary within it, so the values at the "
        "edges are right; between edges the curve is interpolated linearly."
    )
    says = "where the slope changes within a bin, effect and standard error are wrong"
    return Claim("changing", says, bool(holds), f"{numbers} {why}")


def _drawn(found: dict[int, Trusted]) -> Picture:
    figure, (axes,) = drawing.sheet(1, 3, height=3.7, width=10.0)
    first, second, third = axes
    _own_effects(first)
    _sizes(second, found)
    drawing.plain(second.xaxis)
    drawing.plain(second.yaxis)
    drawing.named(second, "rows", "at the right end", "errors and sample size")
    closed = few()
    third.plot(
        FEW,
        [closed[n][0] for n in FEW],
        "o-",
        color=drawing.INK,
        markersize=4,
        label="two of Eq. 5",
    )
    third.plot(
        FEW,
        [closed[n][1] for n in FEW],
        "s--",
        color=drawing.EQ13,
        markersize=4,
        label="Student's at 95 %",
    )
    third.set(xscale="log", ylim=(0.6, 1.0))
    third.set_xticks(FEW, [str(n) for n in FEW])
    third.minorticks_off()
    drawing.named(third, "rows in the bin", "coverage of a bin's mean", "bins of few rows")
    for ax in axes:
        ax.legend(frameon=False, fontsize=8)
    caption = (
        "Left: effects of single rows and Eq. 4 and 5; middle: the true error of the curve and its estimates; right: "
        "how often two standard errors cover the mean of a bin"
    )
    return Picture("case_1", figure, caption)


def _own_effects(ax: Any) -> None:
    """Draw the effects of single rows, the curve, and both bands."""
    e = explained(200, 0)
    rng = np.random.default_rng(1)
    for deviation in rng.normal(size=25):
        ax.plot([0, 1], [0, 2 + deviation], color="#8a8a8a", linewidth=0.5)
    ax.plot([], [], color="#8a8a8a", linewidth=0.7, label="rows' own effects")
    for what, reach, look in (
        ("± 2 roots of Eq. 4", 2 * e.accumulated_std, {"color": drawing.EQ13, "linestyle": "--"}),
        ("± 2 of Eq. 5", 2 * e.std_error, {"color": drawing.TRUTH, "linestyle": ":"}),
    ):
        ax.plot(e.x, e.value + reach, linewidth=1.5, label=what, **look)
        ax.plot(e.x, e.value - reach, linewidth=1.5, **look)
    ax.plot(e.x, e.value, color=drawing.INK, linewidth=1.8, label="effect")
    drawing.named(ax, "x", "effect, 0 at the left end", "200 rows, 20 bins")


def _sizes(ax: Any, found: dict[int, Trusted]) -> None:
    sizes = list(found)
    for values, look in (
        (
            [np.sqrt(t.variance[:, -1].mean()) for t in found.values()],
            ("^-.", drawing.EQ13, "root of Eq. 4"),
        ),
        ([t.summed[:, -1].mean() for t in found.values()], ("D:", drawing.TRUTH, "Eq. 5")),
        (
            [t.quadrature[:, -1].mean() for t in found.values()],
            ("s--", "#6a4fb3", "independent bins"),
        ),
        (
            [np.sqrt(np.mean(t.error[:, -1] ** 2)) for t in found.values()],
            ("o-", drawing.INK, "true error"),
        ),
    ):
        mark, colour, label = look
        ax.plot(sizes, values, mark, color=colour, markersize=4, linewidth=1.3, label=label)


EXPERIMENT = Experiment(
    "draft",
    "case_1",
    "Variance and standard error as measures of reliability",
    "Draft, case 1, Eq. 4 and 5, sec. 3.2",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
