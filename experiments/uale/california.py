"""UALE, section 5: a network of California's house prices, UALE, PDP and ICE, chosen and equal bins.

The rows, the network and its training are those of RHALE's section 5 (`experiments.rhale.california`), which are the
same: 19,549 rows after outliers are left out, 15,639 to train, three layers of 256, 128 and 36 units, 15 epochs of Adam
at 0.02. The paper shows latitude, population and median income (x2, x6, x8), alpha = 0.2 and N / 20 rows per bin; K_max
is not given and is 40 here, as in section 4.2. For the losses the truth is 80 equal bins of all training rows, and 30
draws of 1,000 of these are explained.

A network depends on its seed, and so do its effects: verdicts rest on several networks.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

import skedasis as sd
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone
from experiments.losses import Dense
from experiments.rhale.california import NAMES, TRAINING, UNITS, Fitted, fitted
from experiments.uale import drawing, fixed
from experiments.uale.drawing import Floats, bins_of
from skedasis.datasets.real import california_rhale

FEATURES = (1, 5, 7)
SCHEMES = fixed.schemes(40)
SAMPLE = 1000
GRID = np.linspace(5, 95, 46)
"""Percentiles of the feature, where curves are compared."""


@dataclass(frozen=True, eq=False)
class Explained:
    """One network; of the three features UALE, the PDP with ICE, both derived, and the losses of bins."""

    model: Fitted
    effects: list[sd.Effect]
    pdps: list[sd.Effect]
    steep: list[sd.Effect]
    losses: list[fixed.Compared]


def run(quick: bool) -> Outcome:
    """Fit networks, explain them, compare bins; draw the first."""
    raw = california_rhale(standardize=False)
    found = [_explained(seed, 8 if quick else 30) for seed in range(3)]
    claims = [
        _prepared(raw.y),
        _fit(found),
        _alike(found, "average"),
        _alike(found, "uncertainty"),
        _one_bin(found, raw),
        _close(found, 1),
        _close(found, 0),
    ]
    settings = (
        "Standardised features and price; the network is that of RHALE's section 5, fitted with three seeds. Eq. 13 "
        f"with alpha = 0.2, K_max = 40, N/20 rows per bin. PDP and ICE between the 5th and 95th percentile, of "
        f"{SAMPLE:,} rows."
    )
    tables = [_table(found, j) for j in range(3)]
    return Outcome(claims, tables, [_effects(found[0], raw), _curves(found)], settings)


def _explained(seed: int, runs: int) -> Explained:
    model = fitted(seed)
    X, quantity = model.X, model.quantity
    some = X[np.random.default_rng(seed).choice(len(X), SAMPLE, replace=False)]
    effects = sd.explain(
        quantity, X, list(FEATURES), method=sd.UALE(bins=SCHEMES[fixed.PAPER]), heterogeneity_rows=0
    )
    grid = {j: np.percentile(X[:, j], GRID) for j in FEATURES}
    pdps = sd.explain(
        quantity, some, list(FEATURES), method=sd.PDP(grid=grid, ice="all"), heterogeneity_rows=0
    )
    steep = sd.explain(
        quantity,
        some,
        list(FEATURES),
        method=sd.PDP(grid=grid, ice="all", derivative=True),
        heterogeneity_rows=0,
    )
    losses = []
    for j in FEATURES:
        truth = Dense.of(sd.explain(quantity, X, j, method=sd.DALE(bins=80), heterogeneity_rows=0))
        losses.append(fixed.compared(lambda r: (quantity, _drawn(X, r)), j, truth, runs, SCHEMES))
    each = ([found[j] for j in FEATURES] for found in (effects, pdps, steep))
    return Explained(model, *each, losses)


def _drawn(X: Floats, run: int) -> Floats:
    return X[np.random.default_rng(run).choice(len(X), SAMPLE, replace=False)]


def _prepared(price: Floats) -> Claim:
    mean, std = float(np.mean(price)), float(np.std(price))
    numbers = (
        f"{len(price):,} rows, of which {TRAINING:,} train and {len(price) - TRAINING:,} test; prices from "
        f"{price.min():,.0f} to {price.max():,.0f} dollars, mean {mean:,.0f}, standard deviation {std:,.0f}."
    )
    holds = len(price) - TRAINING == 3910 and abs(mean - 201e3) < 1e3 and abs(std - 110e3) < 1e3
    says = "15,639 rows train and 3,910 test; prices have a mean of 201,000 and a deviation of 110,000 dollars"
    return Claim("rows", says, bool(holds), numbers)


def _fit(found: list[Explained]) -> Claim:
    errors = [one.model.error for one in found]
    shown = ", ".join(f"{e:,.0f}" for e in errors)
    numbers = f"On the test rows {shown} dollars, with three seeds."
    holds = abs(np.mean(errors) - 37e3) < 3e3
    return Claim(
        "fit",
        "the network's mean absolute error is 37,000 dollars (within 3,000)",
        bool(holds),
        numbers,
    )


def _pairs(found: list[Explained], what: str) -> Floats:
    """Return the similarity of the two methods per network and feature: correlation of curves, ratio of deviations."""
    out = []
    for one in found:
        for effect, pdp, steep in zip(one.effects, one.pdps, one.steep, strict=True):
            if what == "average":
                out.append(np.corrcoef(effect(pdp.x), pdp.value)[0, 1])
                continue
            bins = bins_of(effect)
            place = np.clip(np.searchsorted(bins.left, steep.x, side="right") - 1, 0, None)
            if steep.curves is None:
                raise TypeError("a PDP has curves")
            out.append(bins.std[place].mean() / steep.curves.value.std(axis=0).mean())
    return np.reshape(out, (len(found), len(FEATURES)))


def _alike(found: list[Explained], what: str) -> Claim:
    pairs = _pairs(found, what)
    shown = "; ".join(
        f"{NAMES[j]} {', '.join(f'{v:.2f}' for v in column)}"
        for j, column in zip(FEATURES, pairs.T, strict=True)
    )
    if what == "average":
        numbers = f"The curves' correlation over percentiles 5 to 95, for each seed: {shown}. Roughly: at least 0.8."
        holds = pairs.mean(axis=0).min() >= 0.8
    else:
        numbers = (
            "Standard deviation of UALE's slopes divided by that of the ICE curves' slopes, mean over percentiles 5 "
            "to 95, one for "
            f"each seed: {shown}. Roughly: between 2/3 and 3/2."
        )
        mean = pairs.mean(axis=0)
        holds = bool(np.all((mean > 2 / 3) & (mean < 3 / 2)))
    says = f"UALE and PDP-ICE show roughly the same {what}"
    return Claim(f"alike_{what}", says, bool(holds), numbers)


def _one_bin(found: list[Explained], raw: Any) -> Claim:
    """Count the bins in the interval, except those that overlap it by less than a cell of the grid."""
    low, high = 1.5, 6.0
    counts: dict[str, list[int]] = {"eq13": [], "likelihood": []}
    slopes = []
    for one in found:
        paper = one.effects[2]
        edges = _dollars(paper.x, raw)
        cell = (edges[-1] - edges[0]) / 40
        inside = (edges[1:] > low + cell) & (edges[:-1] < high - cell)
        counts["eq13"].append(int(inside.sum()))
        slopes.append(bins_of(paper).effect[inside])
        other = _dollars(paper.rebin(SCHEMES[fixed.LIKELIHOOD]).x, raw)
        counts["likelihood"].append(
            int(np.sum((other[1:] > low + cell) & (other[:-1] < high - cell)))
        )
    ranges = ", ".join(f"{s.min():.2f} to {s.max():.2f}" for s in slopes)
    numbers = (
        f"Bins in that range, one number for each seed, with a tolerance of one cell at the ends: "
        f"{', '.join(map(str, counts['eq13']))} by Eq. 13, {', '.join(map(str, counts['likelihood']))} by likelihood."
    )
    why = (
        f"It depends on the network: by seed the mean slopes of these bins are {ranges} standard deviations of the "
        "price per standard deviation of income, so the effect is not always a line."
    )
    holds = max(counts["eq13"]) == 1
    says = "UALE makes a single bin of the median income in [1.5, 6], where the effect is linear"
    return Claim("one_bin", says, holds, numbers, "" if holds else why)


def _dollars(x: Floats, raw: Any) -> Floats:
    """Return standardised incomes as tens of thousands of dollars."""
    column = np.asarray(raw.X)[:, FEATURES[2]].astype(float)
    return x * column.std() + column.mean()


def _close(found: list[Explained], kind: int) -> Claim:
    ratio = np.array([[one.losses[k].ratio(fixed.PAPER, kind) for k in range(3)] for one in found])
    likelihood = np.array(
        [[one.losses[k].ratio(fixed.LIKELIHOOD, kind) for k in range(3)] for one in found]
    )
    mean = ratio.mean(axis=0)
    shown = "; ".join(
        f"{NAMES[j]} {', '.join(f'{v:.2f}' for v in column)} (likelihood {', '.join(f'{v:.2f}' for v in other)})"
        for j, column, other in zip(FEATURES, ratio.T, likelihood.T, strict=True)
    )
    name = fixed.KINDS[kind]
    numbers = (
        f"{name} divided by that of the best equal bins, one number for each seed: {shown}; “close” means at most "
        f"{fixed.CLOSE:g} on average."
    )
    says = f"{name} of UALE is close to that of the best equal bins, for all three features"
    return Claim(f"close_{name[2:]}", says, bool(mean.max() <= fixed.CLOSE), numbers)


def _table(found: list[Explained], k: int) -> Table:
    title = f"{NAMES[FEATURES[k]]}, first network: mean losses, by bin and over the axis"
    return fixed.lines(found[0].losses[k], title)


def _effects(one: Explained, raw: Any) -> Picture:
    figure, axes = drawing.sheet(3, 3, height=8.2, width=10.0)
    table = np.asarray(raw.X).astype(float)
    for row, (j, effect, pdp) in enumerate(zip(FEATURES, one.effects, one.pdps, strict=True)):
        left, middle, right = axes[row]
        drawing.curve(left, effect)
        drawing.slopes(middle, effect)
        drawing.rug(middle, one.model.X[::50, j])
        drawing.strands(right, pdp)
        unit = f" ({UNITS[j]})" if UNITS[j] else ""
        for ax in (left, middle, right):
            # The network sees standardised values; a reader knows degrees, people and dollars.
            _in_units(ax, table[:, j].mean(), table[:, j].std())
            drawing.named(ax, f"{NAMES[j]}{unit}")
        left.set_ylabel("effect (sd of the price)", fontsize=9)
        middle.set_ylabel("slope (sd per sd)", fontsize=9)
        right.set_ylabel("price (sd)", fontsize=9)
        drawing.named(
            middle, middle.get_xlabel(), "slope (sd per sd)", f"{len(effect.bins)} bins by Eq. 13"
        )
    drawing.named(axes[0, 0], axes[0, 0].get_xlabel(), "effect (sd of the price)", "UALE")
    drawing.named(axes[0, 2], axes[0, 2].get_xlabel(), "price (sd)", "PDP and ICE")
    drawing.key(figure, *axes.ravel(), columns=6)
    caption = (
        "UALE's Fig. 7, latitude, population and median income of one network: the effect and its accumulated "
        "deviation; the bins; PDP and ICE"
    )
    return Picture("california", figure, caption)


def _in_units(ax: Any, mean: float, std: float) -> None:
    """Write the feature's own values at its axis."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    low, high = (v * std + mean for v in ax.get_xlim())
    at = [v for v in MaxNLocator(5).tick_values(low, high) if low <= v <= high]
    ax.set_xticks([(v - mean) / std for v in at])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v * std + mean:,.4g}"))


def _curves(found: list[Explained]) -> Picture:
    figure, axes = drawing.sheet(3, 2, height=7.6, width=8.5)
    for row, j in enumerate(FEATURES):
        fixed.panels(found[0].losses[row], axes[row], counted=False)
        for ax, kind in zip(axes[row], fixed.SYMBOLS[:2], strict=True):
            drawing.named(ax, "number K of equal bins", f"{kind}, mean of runs", NAMES[j])
    drawing.key(figure, *axes.ravel(), columns=4)
    caption = (
        "UALE's Fig. 8, one network: losses of equal bins (grey: two standard errors) and of chosen ones, 1,000 of "
        "15,639 rows"
    )
    return Picture("california_bins", figure, caption)


EXPERIMENT = Experiment(
    "uale",
    "california",
    "California's house prices",
    "UALE, sec. 5, Fig. 7 and 8",
    run,
    needs=("torch",),
    data=("california_housing.csv",),
    slow=True,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
