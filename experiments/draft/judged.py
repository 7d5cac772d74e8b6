"""What the draft's cases 2 to 4 share: numbers of equal bins, how good each is, and which one Eq. 6 chooses.

A case draws places x and slopes d with a known mean and deviation. Bins are judged by the mean absolute error of the
slope over the axis (also of the deviation), never by their own bins: so numbers of bins can be compared. All bins of
one draw are computed from one result.

The draft leaves out N, the largest K and the least number of rows: here 500, 60 and 10, the number below which its
section 3.2 trusts no bin. Its discount is 0.2. What it calls variable-size bins it does not define (section 3.4 is
empty): here they are those of Eq. 13, in the papers that followed it, with K_max = 40 and the same least number, and
the library's own, by likelihood.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import skedasis as sd
from experiments.bins.cases import Case, Steps, constant
from experiments.experiment import Claim, Table
from experiments.uale import drawing
from experiments.uale.drawing import Floats
from experiments.uale.fixed import apart

ROWS, LEAST, MOST, RUNS = 500, 10, 60, 60
AUTO, EQ13, LIKELIHOOD = "Eq. 6", "Eq. 13", "likelihood"
SCHEMES: dict[str, sd.AutoUniform | sd.Optimal] = {
    AUTO: sd.AutoUniform(max_bins=MOST, alpha=0.2, min_points=LEAST),
    EQ13: sd.Optimal(max_bins=40, alpha=0.2, min_points=LEAST),
    LIKELIHOOD: sd.Optimal(criterion="likelihood"),
}
NAMES = {AUTO: "equal bins, K by Eq. 6", EQ13: "bins by Eq. 13", LIKELIHOOD: "bins by likelihood"}
GOOD = 1.5
"""What a good choice is taken to mean: at most so many times the error of the best K, which is known in hindsight "
"only."""
# The slopes of a row are its second column.
QUANTITY = sd.prediction(
    lambda X: X[:, 0] * X[:, 1], slope=lambda X: np.stack([X[:, 1], X[:, 0]], axis=1)
)
_POINTS = 2000

LINE = Case("a line", constant(2.0), constant(1.0))
FIFTHS = Case("five equal pieces", Steps([0.2, 0.4, 0.6, 0.8], [2, -2, 5, -3, 0.5]), constant(1.0))
UNEQUAL = Case(
    "five unequal pieces", Steps([0.2, 0.4, 0.45, 0.5], [2, -2, 5, -10, 0.5]), constant(1.0)
)
SHIFTED = Case(
    "unequal pieces, breaks anywhere",
    Steps([0.137, 0.382, 0.449, 0.523], [2, -2, 5, -10, 0.5]),
    constant(1.0),
)
PARABOLA = Case("a parabola", lambda x: 9.0 * x, constant(1.0))
WAVE = Case("a wave", lambda x: 2 * np.pi * np.cos(2 * np.pi * x), constant(1.0))
UNEVEN = Case(
    "a wave, then a line",
    lambda x: np.where(x < 0.5, 4 * np.pi * np.cos(4 * np.pi * x), 2.0),
    constant(1.0),
    breaks=(0.5,),
)


@dataclass(frozen=True, eq=False)
class Judged:
    """What came out for one case.

    Parameters
    ----------
    case : Case
    equal : ndarray, shape (runs, 60, 2)
        Errors of the slope and of the deviation with 1 to 60 equal bins.
    chosen : mapping of str to ndarray, shape (runs, 3)
        For each scheme both errors, and the number of bins.
    objective : ndarray, shape (runs, 60)
        What Eq. 6 minimises; NaN where a bin holds fewer than 10 rows.
    """

    case: Case
    equal: Floats
    chosen: Mapping[str, Floats]
    objective: Floats

    def best(self, kind: int = 0) -> int:
        """Return the K with the least mean error."""
        return 1 + int(np.argmin(self.equal[..., kind].mean(axis=0)))

    def ratio(self, name: str, kind: int = 0) -> tuple[float, float]:
        """Return a scheme's mean error over that of the best K, and the standard error of that."""
        own, best = self.chosen[name][:, kind], self.equal[:, self.best(kind) - 1, kind]
        ratio = own.mean() / best.mean()
        apart = own - ratio * best
        return float(ratio), float(apart.std(ddof=1) / np.sqrt(len(own)) / best.mean())

    def wins(self, name: str, kind: int = 0) -> bool | None:
        """Return whether a scheme's error is below that of every K by two standard errors; None if that is open."""
        margin = [apart(self.chosen[name][:, kind], e) for e in self.equal[..., kind].T]
        return True if max(margin) < -2 else False if max(margin) > 2 else None


def judge(case: Case, runs: int = RUNS) -> Judged:
    """Draw a case repeatedly, and try all bins."""
    equal, objective = [], []
    chosen: dict[str, list[Any]] = {name: [] for name in SCHEMES}
    for seed in range(runs):
        effect = explained(case, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sd.BinningWarning)
            for name, scheme in SCHEMES.items():
                found = effect.rebin(scheme)
                chosen[name].append([*errors(case, found), len(drawing.bins_of(found))])
        fixed = [effect.rebin(sd.Uniform(k)) for k in range(1, MOST + 1)]
        equal.append([errors(case, one) for one in fixed])
        objective.append([eq6(one) for one in fixed])
    out = {name: np.array(found) for name, found in chosen.items()}
    return Judged(case, np.array(equal), out, np.array(objective))


def explained(case: Case, seed: int) -> sd.Effect:
    """Explain one draw."""
    X = np.stack(case.sample(ROWS, seed), axis=1)
    return sd.explain(QUANTITY, X, 0, method=sd.RHALE(center="start"), heterogeneity_rows=0)


def eq6(effect: sd.Effect) -> float:
    """Return the draft's Eq. 6 for equal bins; NaN where Eq. 7 is violated."""
    bins = drawing.bins_of(effect)
    if np.min(bins.count) < LEAST:
        return np.nan
    return float(np.sum(bins.widths * bins.std * (1 - 0.2 * bins.count / bins.count.sum())))


def errors(case: Case, effect: sd.Effect) -> tuple[float, float]:
    """Return the mean absolute errors of slope and deviation over the axis."""
    bins = drawing.bins_of(effect)
    at = bins.left[0] + (np.arange(_POINTS) + 0.5) / _POINTS * (bins.right[-1] - bins.left[0])
    place = np.clip(np.searchsorted(bins.left, at, side="right") - 1, 0, len(bins) - 1)
    tilt = np.nan_to_num(bins.slope_change)[place] * (at - (bins.left + bins.right)[place] / 2)
    # What a bin of too few rows does not know counts as the whole truth missed.
    slope, std = np.nan_to_num(bins.effect)[place], np.nan_to_num(bins.std)[place]
    return (
        float(np.mean(np.abs(slope + tilt - case.mean(at)))),
        float(np.mean(np.abs(std - case.scatter(at)))),
    )


def good(judged: Judged, key: str, says: str) -> Claim:
    """Say whether the K that Eq. 6 chooses is a good one."""
    ratio, error = judged.ratio(AUTO)
    sigma, its = judged.ratio(AUTO, 1)
    k = judged.chosen[AUTO][:, 2]
    allowed = np.isfinite(judged.objective).cumsum(axis=1).argmax(axis=1) + 1
    numbers = (
        f"{judged.case.name.capitalize()}: Eq. 6 chooses K = {np.median(k):.0f} (median; {k.min():.0f} to "
        f"{k.max():.0f}; Eq. 7 allows {np.median(allowed):.0f}), the best for the slope is K = {judged.best()}, for "
        f"the deviation K = {judged.best(1)}. Its errors are {ratio:.2f} ± {error:.2f} and {sigma:.2f} ± {its:.2f} "
        f"times those of the best; “good” means at most {GOOD:g} for the slope."
    )
    if abs(ratio - GOOD) < 2 * error:
        return Claim(
            key,
            says,
            None,
            f"{numbers} The difference from this limit is too small to decide with {len(k)} draws.",
        )
    return Claim(key, says, bool(ratio <= GOOD), numbers, "" if ratio <= GOOD else WHY)


WHY = (
    "Bins of equal width must all hold ten rows (Eq. 7), so that one sparse place limits K everywhere; and Eq. 6 "
    "does not know what few rows cost, for it sums deviations, which do not grow with narrow bins."
)


def wins(judged: Judged, name: str, key: str, says: str) -> Claim:
    """Say whether a scheme's error is below that of every number of equal bins."""
    ratio, error = judged.ratio(name)
    other = LIKELIHOOD if name == EQ13 else EQ13
    best = judged.equal[:, judged.best() - 1, 0].mean()
    many = round(float(judged.chosen[name][:, 2].mean()))
    same = float(judged.equal[:, many - 1, 0].mean() / best)
    holds = judged.wins(name)
    numbers = (
        f"{judged.case.name.capitalize()}: its error of the slope is {ratio:.2f} ± {error:.2f} times that of the "
        f"best K, {judged.best()}; that of as many equal bins, {many}, {same:.2f}; that of {NAMES[other]} "
        f"{judged.ratio(other)[0]:.2f} ± {judged.ratio(other)[1]:.2f}."
    )
    return Claim(key, says, holds, numbers, _why(same < ratio) if holds is False else "")


def _why(by_chance: bool) -> str:
    """Return why chosen bins lose: their edges follow chance, or they may not be narrow enough."""
    if by_chance:
        return (
            "The cause is the edges: where the curvature is even, equal bins are best, and variable edges follow "
            "random variation."
        )
    return (
        "The cause is their number: they are better than as many equal bins, but an approximation by constant slopes "
        "needs narrow bins, and these must contain ten rows and have edges at multiples of 1/40."
    )


def table(found: Sequence[Judged]) -> Table:
    """Return errors and numbers of bins."""
    rows = []
    for one in found:
        for kind in (0, 1):
            k = one.best(kind)
            what = ("slope", "deviation")[kind]
            cells = [f"{one.equal[:, k - 1, kind].mean():.3f} (K = {k})"]
            cells += [
                f"{one.chosen[n][:, kind].mean():.3f} ({one.chosen[n][:, 2].mean():.1f})"
                for n in SCHEMES
            ]
            rows.append([f"{one.case.name}, {what}", *cells])
    head = ("case, error of", "best equal", *(NAMES[n] for n in SCHEMES))
    return Table("Mean errors over the axis (number of bins)", head, rows)


def figure(found: Sequence[Judged], seed: int = 0) -> Any:
    """Draw for each case its bins in one draw, the errors over K, and the objective of Eq. 6."""
    fig, axes = drawing.sheet(len(found), 3, height=0.7 + 2.7 * len(found), width=10.0)
    for (left, middle, right), one in zip(axes, found, strict=True):
        effect = explained(one.case, seed)
        drawing.slopes(left, effect.rebin(SCHEMES[AUTO]), one.case.mean)
        drawing.steps(left, effect, "mean slope, bins by likelihood")
        drawing.rug(left, one.case.sample(ROWS, seed)[0])
        drawing.named(left, "x", "slope", f"{one.case.name}: K by Eq. 6")
        _over_k(middle, one)
        drawing.named(middle, "number K of equal bins", "error of the slope", "")
        _objective(right, one)
        drawing.named(right, "number K of equal bins", "what Eq. 6 minimises", "")
    drawing.key(fig, *axes.ravel(), columns=4)
    return fig


def _objective(ax: Any, one: Judged) -> None:
    ks = np.arange(1, MOST + 1)
    known = np.isfinite(one.objective).mean(axis=0) > 0.5
    mean = np.nanmean(one.objective[:, known], axis=0)
    chosen = one.chosen[AUTO][:, 2].astype(int)
    share = np.bincount(chosen, minlength=MOST + 1)[1:] / len(chosen)
    # The bars stand in the lower sixth, each with its share of the highest.
    height = mean.max() / 6 * share / share.max()
    some = share > 0
    ax.bar(
        ks[some],
        height[some],
        width=0.9,
        color=drawing.PALE,
        edgecolor="#5f7c96",
        linewidth=0.5,
        label="runs that choose K",
    )
    top = int(share.argmax())
    ax.annotate(f"{share[top]:.0%}", (ks[top], height[top]), ha="center", va="bottom", fontsize=8)
    look = {"color": drawing.INK, "markersize": 2.5, "linewidth": 1}
    ax.plot(ks[known], mean, "o-", label="Eq. 6, mean of runs", **look)
    ax.set(xlim=(0, MOST + 1), ylim=(0, None))


def _over_k(ax: Any, one: Judged) -> None:
    ks = np.arange(1, MOST + 1)
    mean = one.equal[..., 0].mean(axis=0)
    ax.plot(ks, mean, "o-", color=drawing.INK, markersize=2.5, linewidth=1, label="K equal bins")
    looks = {
        AUTO: ("#6a4fb3", "-."),
        EQ13: (drawing.TRUTH, "--"),
        LIKELIHOOD: (drawing.EQ13, (0, (1, 1.2))),
    }
    for name, (colour, stroke) in looks.items():
        ax.axhline(
            one.chosen[name][:, 0].mean(),
            color=colour,
            linestyle=stroke,
            linewidth=1.6,
            label=NAMES[name],
        )
    drawing.plain(ax.yaxis)
