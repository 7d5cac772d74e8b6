"""Sec. 4.2 (Fig. 6 and 7): Entropy-PDP and Entropy-ICE of a model fitted on the border of a square.

Rows lie in a band along the sides of a square, none inside; the label is a smooth function of both features with
noise. A Gaussian process (appendix B.1) is fitted on 400 rows and explained on 400 others.

The paper claims that importances do not distinguish the two features; that the Entropy-PDP peaks in the middle of a
feature's range and rises again at its ends (Fig. 6); and that the Entropy-ICE curves show why (Fig. 7): it is rows
whose other feature is in the middle, too, that are moved to where no data are, and no row is as uncertain by itself as
the peak of the PDP.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

import skedasis as sd
from experiments.entropy.drawing import DARK, LIGHT, WARM, bare, curves, rug
from experiments.entropy.measures import diagnosis, spread, written
from experiments.entropy.models import adam_process, process
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone
from skedasis.datasets.uncertainty import SquareBorder

GRID = np.linspace(-1.0, 1.0, 41)
INSIDE = np.abs(GRID) <= 0.8
CENTRE, BANDS, ENDS = 20, [2, 38], [0, 40]
"""Places on the grid: at 0, in the middle of both bands (-0.9 and 0.9), and at both ends."""

SETTINGS = (
    "Draw 0 by {first}, {more} more by scikit-learn's Gaussian process at the optimum of the same likelihood; PDPs at "
    "41 "
    "points, with the curves of all 400 test rows. The width of the band (0.2), the function (sin 3x1 + sin 3x2), the "
    "noise (0.1) and the sizes are not in the available text (`sd.datasets.SquareBorder`). In addition to the "
    "Entropy-PDP of the paper, the figure shows RHALE of the same entropy, which follows the rows along the border "
    "and has no peak."
)


@dataclass(frozen=True, eq=False)
class Seen:
    """One draw: test rows, their own entropies, each feature's Entropy-PDP, importances, and Entropy-RHALE of x1."""

    X: np.ndarray
    own: np.ndarray
    effects: tuple[sd.Effect, sd.Effect]
    both: sd.Diagnosis
    along: sd.Effect


def run(quick: bool) -> Outcome:
    """Fit the processes, and look at their entropies."""
    draws = [_seen(seed, adam=seed == 0 and not quick) for seed in range(2 if quick else 6)]
    claims = [
        _alike(draws),
        _peaks(draws),
        _ends(draws),
        _groups(draws),
        _no_row(draws),
        _uniform(draws),
    ]
    first = (
        "scikit-learn's process" if quick else "GPyTorch with the paper's settings, 1,000 epochs"
    )
    settings = SETTINGS.format(first=first, more=len(draws) - 1)
    return Outcome(claims, [_table(draws)], [_figure(draws[0])], settings)


def _seen(seed: int, adam: bool) -> Seen:
    X, y, X_test, y_test = SquareBorder().split(seed)
    model = adam_process(X, y, 1000) if adam else process(X, y)
    entropy = sd.entropy(model)
    method = sd.PDP(grid=GRID, ice="all")
    one, two = (
        sd.explain(entropy, X_test, f, method=method, heterogeneity_rows=0, progress=False)
        for f in (0, 1)
    )
    # In its usual bins: slopes within the data, accumulated.
    along = sd.explain(entropy, X_test, 0, method=sd.RHALE(), heterogeneity_rows=0, progress=False)
    both = diagnosis(model, X_test, y_test)
    return Seen(X_test, entropy.at(X_test), (one, two), both, along)


def _each(draws: list[Seen], of: Any) -> np.ndarray:
    """Return a number of each draw and feature: `of` takes the effect, its curves' other feature, and the draw."""
    return np.array(
        [
            of(effect, np.abs(seen.X[effect.curves.row, 1 - k]), seen)
            for seen in draws
            for k, effect in enumerate(seen.effects)
        ]
    )


def _alike(draws: list[Seen]) -> Claim:
    overlapping, said = [], []
    for key in ("likelihood", "entropy"):
        for seen in draws:
            importance = getattr(seen.both, key)
            lower, upper = importance.interval(0.95)
            overlapping.append(lower.max() < upper.min() and lower.min() > 0)
        first = getattr(draws[0].both, key).mean
        said.append(
            f"{written(first[0], 2)} and {written(first[1], 2)} nats ({key.capitalize()}-PFI)"
        )
    return Claim(
        "alike",
        "both features appear equally important, so that importances give little insight",
        bool(np.mean(overlapping) > 0.7),
        f"In the first draw {' and '.join(said)}; in {sum(overlapping)} of {len(overlapping)} pairs the 95 % "
        f"intervals overlap, and all are above 0.",
    )


def _peaks(draws: list[Seen]) -> Claim:
    above = _each(draws, lambda e, _, __: e.value[INSIDE].max() - e.value[BANDS].max())
    place = _each(draws, lambda e, _, __: GRID[INSIDE][np.argmax(e.value[INSIDE])])
    return Claim(
        "peaks",
        "the Entropy-PDP is high for interior values of a feature",
        bool((above > 0.15).all() and (np.abs(place) < 0.5).all()),
        f"Its peak lies at {spread(place, 2)}, and {spread(above, 2)} nats above the bands.",
    )


def _ends(draws: list[Seen]) -> Claim:
    rise = _each(draws, lambda e, _, __: np.min(e.value[ENDS] - e.value[BANDS]))
    return Claim(
        "ends",
        "and at the very extreme values, with fewer training rows nearby than in the middle of the bands",
        bool((rise > 0.02).all()),
        f"At the ends it is {spread(rise, 2)} nats above the middle of the adjacent band, at least.",
    )


def _rise(effect: sd.Effect) -> np.ndarray:
    """Return of each curve how much higher it is at 0 than in the bands."""
    return effect.curves.value[:, CENTRE] - effect.curves.value[:, BANDS].mean(axis=1)


def _groups(draws: list[Seen]) -> Claim:
    near = _each(draws, lambda e, other, _: _rise(e)[other < 0.5].min())
    far = _each(draws, lambda e, other, _: _rise(e)[other >= 0.8].max())
    return Claim(
        "groups",
        "the Entropy-ICE curves behave in two ways: high in the middle where the other feature is small, low where it "
        "is extreme",
        bool((near > far + 0.2).all()),
        f"At 0, curves with the other feature within 0.5 are {spread(near, 2)} nats above their own values in the "
        f"bands, at least; with the other feature beyond 0.8, {spread(far, 2)} at most.",
    )


def _no_row(draws: list[Seen]) -> Claim:
    below = _each(draws, lambda e, _, seen: e.value[INSIDE].max() - seen.own.max())
    return Claim(
        "no_row",
        "none of the test rows has an entropy as high as the peak of the Entropy-PDP",
        bool((below > 0).all()),
        f"The most uncertain row is {spread(below, 2)} nats below the peak.",
    )


def _uniform(draws: list[Seen]) -> Claim:
    def edge(effect: sd.Effect) -> np.ndarray:
        found = effect.curves.value
        return np.minimum(found[:, 0] - found[:, 2], found[:, -1] - found[:, -3])

    least = _each(draws, lambda e, _, __: edge(e).min())
    ratio = _each(draws, lambda e, _, __: edge(e).std() / _rise(e).std())
    return Claim(
        "uniform",
        "towards the ends the curves are similar: the model becomes more uncertain for all rows",
        bool((least > 0).all() and (ratio < 0.3).all()),
        f"All curves rise, by {spread(least)} nats at least; the increase varies {spread(ratio, 2)} times as much "
        f"between rows as in the middle.",
    )


def _table(draws: list[Seen]) -> Table:
    rows = []
    for name, place in (("-0.9", 2), ("-0.5", 10), ("0", 20), ("0.5", 30), ("0.9", 38)):
        pdp = [seen.effects[0].value[place] for seen in draws]
        # The level of RHALE is arbitrary: both curves are shown relative to their values in the left band.
        change = [seen.effects[0].value[place] - seen.effects[0].value[2] for seen in draws]
        rhale = [float(seen.along(GRID[place]) - seen.along(-0.9)) for seen in draws]
        rows.append([name.replace("-", "−"), spread(pdp, 2), spread(change, 2), spread(rhale, 2)])
    head = ("x1", "Entropy-PDP, nats", "its change from −0.9", "change of Entropy-RHALE")
    return Table("Entropy by x1: mean of the draws (range)", head, rows)


def _figure(seen: Seen) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 7.2), layout="constrained")
    (rows, pdp), (ice, other) = figure.subplots(2, 2)
    X, _, _, _ = SquareBorder().split(0)
    rows.fill_between(
        [-0.8, 0.8], -0.8, 0.8, facecolor="none", edgecolor=LIGHT, hatch="//", linewidth=0
    )
    rows.plot(*X[::2].T, ".", markersize=3, color=DARK, rasterized=True)
    rows.set(xlabel="x1", ylabel="x2", aspect="equal", title="Rows to fit on (half of them)")
    _average(pdp, seen)
    for k, ax in enumerate((ice, other)):
        effect = seen.effects[k]
        far = np.abs(seen.X[effect.curves.row, 1 - k])
        groups = [
            (f"|x{2 - k}| < 0.5", np.flatnonzero(far < 0.5)),
            (f"|x{2 - k}| ≥ 0.8", np.flatnonzero(far >= 0.8)),
        ]
        curves(
            ax,
            effect,
            groups,
            (seen.X[effect.curves.row, k], seen.own[effect.curves.row]),
            shown=14,
        )
        ax.set(
            xlabel=f"x{k + 1}",
            title=f"Fig. 7: Entropy-ICE of x{k + 1}; marks: the rows as they are",
        )
        ax.legend(frameon=False, fontsize=8, loc="upper right")
        rug(ax, seen.X[:, k])
    ice.set_ylabel("entropy, nats")
    for ax in (rows, pdp, ice, other):
        bare(ax)
    caption = (
        "Rows on a border, the Entropy-PDP and Entropy-RHALE, and the individual curves: the peak is caused by rows "
        "that were moved inside"
    )
    return Picture("border", figure, caption)


def _average(ax: Any, seen: Seen) -> None:
    """Draw both Entropy-PDPs, and what RHALE makes of the same entropy, at the level of the left band."""
    for effect, stroke, name in zip(seen.effects, ("-", "--"), ("x1", "x2"), strict=True):
        ax.plot(
            effect.x, effect.value, color=DARK, linestyle=stroke, label=f"Entropy-PDP of {name}"
        )
    x = np.linspace(seen.along.x[0], seen.along.x[-1], 200)
    level = seen.effects[0].value[2] - seen.along(-0.9)
    ax.plot(
        x,
        seen.along(x) + level,
        color=WARM,
        linestyle=":",
        linewidth=2,
        label="Entropy-RHALE of x1",
    )
    ax.axhline(seen.own.max(), color="#777777", linewidth=0.8, linestyle="-.")
    ax.annotate(
        "most uncertain row",
        (0, seen.own.max()),
        (0, -10),
        textcoords="offset points",
        ha="center",
        fontsize=8,
    )
    ax.set(xlabel="x1 or x2", ylabel="entropy, nats", title="Fig. 6: on average")
    ax.legend(frameon=False, fontsize=8, loc="best")


EXPERIMENT = Experiment(
    "entropy",
    "border",
    "Rows on a border: Entropy-PDP and Entropy-ICE",
    "entropy_importance, sec. 4.2, Fig. 6 and 7",
    run,
    needs=("torch", "gpytorch"),
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
