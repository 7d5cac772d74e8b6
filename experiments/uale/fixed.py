"""UALE, sections 4.2 and 5: chosen bins compared with equal bins, by L^mu, L^sigma and L^rho (Eq. 17, 18).

All bins of one draw are computed from one result, so that the model is called once. UALE divides the variance in a bin
by its rows (Eq. 11), and so does every row of the tables here, except the last.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import skedasis as sd
from experiments.experiment import Claim, Table
from experiments.losses import Dense, Losses, table
from experiments.uale import drawing
from experiments.uale.drawing import Floats

EQUAL = (*range(1, 21), *range(22, 51, 2), *range(55, 101, 5))
"""The numbers of equal bins."""
PAPER, FINER, LIKELIHOOD, OWN = "Eq. 13", "Eq. 13, 10 rows", "likelihood", "RHALE's default"
KINDS = ("L^mu", "L^sigma", "L^rho")
SYMBOLS = (r"$L^\mu$", r"$L^\sigma$", r"$L^\rho$")
TITLE = "Mean losses, by bin and over the axis; left out: bins without rows or with one"
CLOSE = 1.5
"""The meaning of "close to the best": at most this multiple of its loss."""


@dataclass(frozen=True, eq=False)
class Compared:
    """The losses of all bins in all draws.

    Parameters
    ----------
    chosen : mapping of str to ndarray, shape (runs, 8)
        For each scheme that chooses: L^mu, L^sigma, L^rho, bins, empty ones, ones of a single row; then the errors of
        mean slope and deviation over the axis (`integrated`).
    equal : mapping of int to ndarray, shape (runs, 8)
        For each number of equal bins.
    """

    chosen: Mapping[str, Floats]
    equal: Mapping[int, Floats]

    def best(self, kind: int) -> int:
        """Return the number of equal bins whose loss is smallest on average: known in hindsight only."""
        return min(self.equal, key=lambda k: float(np.nanmean(self.equal[k][:, kind])))

    def ratio(self, scheme: str, kind: int) -> float:
        """Return a scheme's loss over that of the best number of equal bins."""
        best = self.equal[self.best(kind)][:, kind]
        return float(self.chosen[scheme][:, kind].mean() / np.nanmean(best))

    def error(self, scheme: str, kind: int) -> float:
        """Return the standard error of `ratio`, with the runs of both means paired."""
        own, best = self.chosen[scheme][:, kind], self.equal[self.best(kind)][:, kind]
        apart = own - self.ratio(scheme, kind) * best
        return float(np.nanstd(apart, ddof=1) / np.sqrt(len(own)) / np.nanmean(best))

    def beaten_by(self, scheme: str, kind: int) -> list[int]:
        """Return the numbers of equal bins whose loss is below the scheme's by more than two standard errors."""
        return [
            k
            for k, e in self.equal.items()
            if apart(self.chosen[scheme][:, kind], e[:, kind]) > 2.0
        ]

    def not_beaten(self, scheme: str, kind: int) -> list[int]:
        """Return the numbers of equal bins whose loss is not above the scheme's by two standard errors."""
        return [
            k
            for k, e in self.equal.items()
            if apart(self.chosen[scheme][:, kind], e[:, kind]) > -2.0
        ]


def schemes(max_bins: int, least: float | None = None) -> dict[str, sd.Optimal]:
    """Return the schemes that choose: Eq. 13 with N / 20 rows per bin (UALE) and with 10 (RHALE), and by likelihood."""
    return {
        PAPER: sd.Optimal(max_bins=max_bins, alpha=0.2, min_points=least),
        FINER: sd.Optimal(max_bins=max_bins, alpha=0.2, min_points=10),
        LIKELIHOOD: sd.Optimal(criterion="likelihood"),
    }


def compared(
    draw: Callable[[int], tuple[Any, Floats]],
    feature: int,
    truth: Dense,
    runs: int,
    chosen: Mapping[str, sd.Optimal],
) -> Compared:
    """Compare all bins on many draws.

    Parameters
    ----------
    draw : callable
        From a run's number to a quantity and its rows.
    feature : int
    truth : Dense
    runs : int
    chosen : mapping of str to Optimal
    """
    losses: dict[Any, list[Losses]] = {name: [] for name in (*chosen, OWN, *EQUAL)}
    over: dict[Any, list[Floats]] = {name: [] for name in losses}
    for run in range(runs):
        quantity, X = draw(run)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sd.BinningWarning)
            effect = sd.explain(quantity, X, feature, method=sd.UALE(), heterogeneity_rows=0)
            found = {name: effect.rebin(bins) for name, bins in chosen.items()}
            found[OWN] = sd.explain(quantity, X, feature, heterogeneity_rows=0)
        for name, one in (*found.items(), *((k, effect.rebin(sd.Uniform(k))) for k in EQUAL)):
            losses[name].append(Losses.of(one, truth))
            over[name].append(integrated(one, truth))
    done = {name: np.hstack([table(losses[name]), np.array(over[name])]) for name in losses}
    return Compared({n: done[n] for n in (*chosen, OWN)}, {k: done[k] for k in EQUAL})


def integrated(effect: sd.Effect, truth: Dense) -> Floats:
    """Return the mean errors of slope and deviation over the axis, whatever the bins: at the truth's narrow bins.

    L^mu and L^sigma count each bin once, so that narrow bins weigh most; here each part of the axis counts once, and a
    slope that changes within a bin is followed. What bins without enough rows do not know is left out.
    """
    bins = drawing.bins_of(effect)
    middle = (truth.edges[:-1] + truth.edges[1:]) / 2
    place = np.clip(np.searchsorted(bins.left, middle, side="right") - 1, 0, len(bins) - 1)
    inside = (middle >= bins.left[0]) & (middle <= bins.right[-1])
    centre = (bins.left + bins.right) / 2
    at = bins.effect[place] + np.nan_to_num(bins.slope_change)[place] * (middle - centre[place])
    errors = np.abs([at - truth.effect, bins.std[place] - truth.std])
    known = np.isfinite(errors).all(axis=0) & inside
    return np.average(errors[:, known], axis=1, weights=np.diff(truth.edges)[known])


def lines(found: Compared, title: str = TITLE) -> Table:
    """Return the losses as a table."""
    rows = [_line(name, values) for name, values in found.chosen.items()]
    best = {found.best(kind) for kind in range(2)}
    for k in sorted({2, 5, 10, 20, 50, 100, *best}):
        mark = [KINDS[kind] for kind in range(2) if found.best(kind) == k]
        name = f"{k} equal" + (f" (best {' and '.join(mark)})" if mark else "")
        rows.append(_line(name, found.equal[k]))
    head = ("bins", *KINDS, "slope, over x", "sigma, over x", "number", "left out")
    return Table(title, head, rows)


def closeness(found: Compared, kind: int, key: str, says: str, scheme: str = PAPER) -> Claim:
    """Say whether a scheme's loss is close to that of the best number of equal bins."""
    ratio, error = found.ratio(scheme, kind), found.error(scheme, kind)
    others = ", ".join(
        f"{name} {found.ratio(name, kind):.2f}" for name in found.chosen if name != scheme
    )
    numbers = (
        f"{KINDS[kind]} is {ratio:.2f} ± {error:.2f} times that of the best equal bins, K = {found.best(kind)} "
        f"({others}); “close” means at most {CLOSE:g} times."
    )
    if abs(ratio - CLOSE) < 2 * error:
        return Claim(
            key,
            says,
            None,
            f"{numbers} The difference from this limit is too small to decide with this "
            f"number of draws.",
        )
    return Claim(key, says, bool(ratio <= CLOSE), numbers)


def panels(found: Compared, axes: Sequence[Any], *, counted: bool = True) -> None:
    """Draw the losses over the number of equal bins, and those of the chosen bins as levels."""
    looks = {
        PAPER: (drawing.TRUTH, "--"),
        FINER: ("#6a4fb3", "-."),
        LIKELIHOOD: (drawing.EQ13, (0, (1, 1.2))),
    }
    ks = np.array(list(found.equal))
    for kind, ax in enumerate(axes):
        values = [found.equal[k][:, kind] for k in ks]
        mean = np.array([np.nanmean(v) for v in values])
        error = np.array([np.nanstd(v, ddof=1) / np.sqrt(len(v)) for v in values])
        ax.fill_between(ks, mean - 2 * error, mean + 2 * error, color="#c9c9c9", linewidth=0)
        ax.plot(
            ks, mean, "o-", color=drawing.INK, markersize=2.5, linewidth=1, label="K equal bins"
        )
        for name, (colour, stroke) in looks.items():
            at = found.chosen[name]
            label = f"bins by {name}"
            label += f" ({at[:, 3].mean():.1f} on average)" if counted else ""
            ax.axhline(
                at[:, kind].mean(), color=colour, linestyle=stroke, linewidth=1.6, label=label
            )
        ax.set(xscale="log", ylim=(0, None))
        ax.set_xticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
        ax.minorticks_off()


def sheet(
    found: Compared, shown: sd.Effect, x: Floats, slope: Callable[[Floats], Floats], runs: int
) -> Any:
    """Return the figure of section 4.2: the bins of one run at the places x, and the losses by the number of bins."""
    figure, axes = drawing.sheet(2, 2, height=6.4)
    first, losses = axes[0, 0], (axes[0, 1], axes[1, 0], axes[1, 1])
    drawing.slopes(first, shown.rebin(schemes(40)[PAPER]), slope)
    drawing.steps(first, shown, "mean slope, bins by likelihood")
    drawing.rug(first, x)
    drawing.named(first, "x1", "slope of f along x1", "one run, bins by Eq. 13")
    panels(found, losses)
    for ax, kind in zip(losses, SYMBOLS, strict=True):
        drawing.named(ax, "number K of equal bins", f"{kind}, mean of {runs} runs")
    drawing.key(figure, *axes.ravel(), columns=3)
    return figure


def apart(own: Floats, other: Floats) -> float:
    """Return by how many standard errors of the paired difference one error is above another; NaN are left out.

    Parameters
    ----------
    own, other : ndarray, shape (runs,)
    """
    difference = own - other
    difference = difference[np.isfinite(difference)]
    mean, error = difference.mean(), difference.std(ddof=1) / np.sqrt(len(difference))
    if error == 0:
        return 0.0 if mean == 0 else float(np.copysign(np.inf, mean))
    return float(mean / error)


def _line(name: str, found: Floats) -> list[str]:
    mu, sigma, rho, bins, empty, single, *over = np.nanmean(found, axis=0)
    errors = [f"{value:.3f}" for value in (mu, sigma, rho, *over)]
    return [name, *errors, f"{bins:.1f}", f"{empty + single:.1f}"]
