"""Sec. 5.2 (Fig. 12 to 15): where two models of diabetes are uncertain, and for which patients.

The models are those of Fig. 11. Their Entropy-PDP and -ICE (Eq. 9 and 10) and Likelihood-PDP and -ICE of plas (the
plasma glucose) and of mass (the body mass index) are drawn on the test rows.

The paper claims that entropy is low where plas is low and peaks at about 150 (Fig. 12), for at 100 to 170 both classes
are frequent; that with rising plas the loss falls for the positive class and rises for the negative (Fig. 13), and so
with mass (Fig. 15); and that rows of the positive class generally have more entropy at low mass, which the Entropy-PDP
does not show (Fig. 14).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

import skedasis as sd
from experiments.entropy.drawing import DARK, MIDDLE, WARM, bare, curves, rug
from experiments.entropy.measures import spread
from experiments.entropy.models import calibrated_forest, quarters
from experiments.entropy.networks import bayesian_network
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone

FOREST, NETWORK = "calibrated forest", "Bayes by backprop"
GRID = {"plas": np.arange(60.0, 200.0, 5.0), "mass": np.linspace(20.0, 45.0, 11)}
COLUMN = {"plas": 1, "mass": 5}
UNIT = {"plas": "plas, mg/dL", "mass": "mass, kg/m²"}
Curve = tuple[str, str]

SETTINGS = (
    "{splits} random splits, {trees} trees; PDPs with the curves of all 192 test rows, plas from 60 to 195 in steps of "
    "5, mass from 20 to 45 in steps of 2.5. Fig. 12 also shows Entropy-RHALE, which follows the observed rows. The "
    "section on Fig. 11 lists the unknown settings of the network."
)


@dataclass(frozen=True, eq=False)
class Seen:
    """One model of one split: curves by feature and quantity, Entropy-RHALE of plas, the rows' labels and values."""

    effects: dict[Curve, sd.Effect]
    along: sd.Effect
    label: np.ndarray
    X: np.ndarray

    def value(self, feature: str, what: str) -> np.ndarray:
        """Return all curves, in the order of the test rows."""
        effect = self.effects[feature, what]
        return effect.curves.value[np.argsort(effect.curves.row)]


def run(quick: bool) -> Outcome:
    """Fit both models on several splits, and draw their curves."""
    splits, trees = (3, 60) if quick else (10, 500)
    found: dict[str, list[Seen]] = {FOREST: [], NETWORK: []}
    for seed in range(splits):
        X, y, X_test, y_test = (np.asarray(v) for v in quarters("pima_diabetes", seed))
        found[FOREST].append(_seen(calibrated_forest(X, y, seed, trees), X_test, y_test))
        network = bayesian_network(X, y, seed, 40 if quick else 100)
        found[NETWORK].append(_seen(network, X_test, y_test))
    claims = [
        _low(found),
        _peak(found),
        _frequent(),
        _apart(found, "plas", "Fig. 13"),
        _low_mass(found),
        _hidden(found),
        _apart(found, "mass", "Fig. 15"),
    ]
    settings = SETTINGS.format(splits=splits, trees=trees)
    pictures = [_figure(found, "entropy", "plas"), _figure(found, "nll", "plas"), _of_mass(found)]
    return Outcome(claims, [_table(found)], pictures, settings)


def _seen(model: Any, X: np.ndarray, y: np.ndarray) -> Seen:
    effects = {}
    for feature, grid in GRID.items():
        for what, quantity in (("entropy", sd.entropy(model)), ("nll", sd.nll(model))):
            method = sd.PDP(grid=grid, ice="all")
            given = {"y": y} if what == "nll" else {}
            effects[feature, what] = sd.explain(
                quantity, X, COLUMN[feature], method=method, progress=False, **given
            )
    along = sd.explain(
        sd.entropy(model),
        X,
        COLUMN["plas"],
        method=sd.RHALE(),
        heterogeneity_rows=0,
        progress=False,
    )
    return Seen(effects, along, y, X)


def _pdps(many: list[Seen], feature: str, what: str) -> np.ndarray:
    """Return the PDPs of all splits, (splits, grid)."""
    return np.stack([one.effects[feature, what].value for one in many])


def _low(found: dict[str, list[Seen]]) -> Claim:
    grid, rise = GRID["plas"], {}
    for name, many in found.items():
        pdp = _pdps(many, "plas", "entropy")
        rise[name] = pdp[:, (grid >= 130) & (grid <= 170)].max(1) - pdp[:, grid <= 90].max(1)
    said = ", ".join(f"{spread(v, 2)} ({name})" for name, v in rise.items())
    return Claim(
        "low",
        "entropy is relatively low for low plas, and rises significantly, in both models (Fig. 12)",
        all(bool(v.mean() > 0.05 and np.mean(v > 0) > 0.8) for v in rise.values()),
        f"The maximum of the Entropy-PDP from 130 to 170 exceeds that up to 90 by (nats): {said}.",
    )


def _peak(found: dict[str, list[Seen]]) -> Claim:
    grid, peaks, single = GRID["plas"], {}, {}
    for name, many in found.items():
        pdp = _pdps(many, "plas", "entropy")
        peaks[name] = float(grid[np.argmax(pdp.mean(axis=0))])
        single[name] = grid[np.argmax(pdp, axis=1)]
    said = ", ".join(
        f"{peaks[k]:.0f} ({k}; single splits {v.min():.0f} to {v.max():.0f})"
        for k, v in single.items()
    )
    return Claim(
        "peak",
        "the entropy peaks at a plas of about 150",
        all(130 <= v <= 170 for v in peaks.values()),
        f"The mean of the splits' Entropy-PDPs peaks at {said}.",
    )


def _frequent() -> Claim:
    X, y, X_test, y_test = quarters("pima_diabetes", 0)
    plas = np.concatenate([X["plas"], X_test["plas"]])
    label = np.concatenate([y, y_test])
    parts = {
        "below 100": (plas > 0) & (plas < 100),
        "100 to 170": (plas >= 100) & (plas <= 170),
        "above": plas > 170,
    }
    share = {name: float(label[rows].mean()) for name, rows in parts.items()}
    said = ", ".join(
        f"{share[name]:.0%} of {int(rows.sum())} ({name})" for name, rows in parts.items()
    )
    low, middle, high = share.values()
    return Claim(
        "frequent",
        "at 100 to 170 both classes are frequent, at extreme values plas separates them",
        bool(low < 0.15 and 0.3 < middle < 0.7 and high > 0.75),
        f"Positive rows: {said}.",
    )


def _apart(found: dict[str, list[Seen]], feature: str, where: str) -> Claim:
    share = {}
    for name, many in found.items():
        each = []
        for one in many:
            value = one.value(feature, "nll")
            grid = GRID[feature]
            low, high = (90, 170) if feature == "plas" else (20, 45)
            rise = value[:, np.searchsorted(grid, high)] - value[:, np.searchsorted(grid, low)]
            each.append((np.mean(rise[one.label == 1] < 0), np.mean(rise[one.label == 0] > 0)))
        share[name] = np.array(each)
    said = "; ".join(
        f"{v[:, 0].mean():.0%} of the positive and {v[:, 1].mean():.0%} of the negative ({k})"
        for k, v in share.items()
    )
    ends = "90 to 170" if feature == "plas" else "20 to 45"
    return Claim(
        f"apart_{feature}",
        f"with rising {feature} the loss falls for the positive class, and rises for the negative ({where})",
        all(bool((v.mean(axis=0) > 0.9).all()) for v in share.values()),
        f"From {ends} this is so for {said}.",
    )


def _falls(one: Seen) -> tuple[np.ndarray, np.ndarray]:
    """Return of positive and of negative rows how much more entropy they have at a mass of 20 than at 45."""
    value = one.value("mass", "entropy")
    fall = value[:, 0] - value[:, -1]
    return fall[one.label == 1], fall[one.label == 0]


def _of_sure(many: list[Seen], low: float, high: float) -> float:
    """Return the share of positive rows with more entropy at low mass among those of some probability at high mass."""
    kept = []
    for one in many:
        chance = np.exp(-one.value("mass", "nll")[one.label == 1, -1])
        kept.append(_falls(one)[0][(chance >= low) & (chance < high)] > 0)
    return float(np.concatenate(kept).mean())


def _low_mass(found: dict[str, list[Seen]]) -> Claim:
    share = {
        k: np.array([[np.mean(f > 0) for f in _falls(one)] for one in many])
        for k, many in found.items()
    }
    said = "; ".join(
        f"{v[:, 0].mean():.0%} of the positive and {v[:, 1].mean():.0%} of the negative ({k})"
        for k, v in share.items()
    )
    table = quarters("pima_diabetes", 0)
    mass, label = np.asarray(table[0]["mass"]), np.asarray(table[1])
    few = int(((label == 1) & (mass > 0) & (mass < 25)).sum())
    return Claim(
        "low_mass",
        "rows of the positive class generally have more entropy at low mass (Fig. 14)",
        all(bool(v[:, 0].mean() > 0.75) for v in share.values()),
        f"Rows with more entropy at a mass of 20 than at 45: {said}.",
        f"This is true only for the positive rows of which the model is certain: low mass indicates the negative "
        f"class, and moves their probability towards one half. Of the forest's that are positive with more than 0.6 "
        f"at a mass of 45, "
        f"{_of_sure(found[FOREST], 0.6, 1.0):.0%} have more entropy at 20, of those with less than 0.6 "
        f"{_of_sure(found[FOREST], 0.0, 0.6):.0%}. (That there are hardly any positive rows of low mass to learn from "
        "is "
        f"true: {few} of {int((label == 1).sum())} are below 25.)",
    )


def _hidden(found: dict[str, list[Seen]]) -> Claim:
    ends, gap = {}, {}
    for name, many in found.items():
        pdp = _pdps(many, "mass", "entropy")
        ends[name] = pdp[:, 0] - pdp[:, -1]
        gap[name] = np.array([np.subtract(*(f.mean() for f in _falls(one))) for one in many])
    said = "; ".join(
        f"{spread(ends[k], 2)}, positive minus negative {spread(gap[k], 2)} ({k})" for k in found
    )
    return Claim(
        "hidden",
        "this is not visible in the Entropy-PDP, only in the curves",
        all(bool(ends[k].mean() < 0 < gap[k].mean()) for k in found),
        f"The Entropy-PDP's value at a mass of 20 less that at 45, in nats, is {said}: the classes differ, while the "
        f"mean suggests that the model is certain at low mass.",
    )


def _table(found: dict[str, list[Seen]]) -> Table:
    rows = []
    for feature, points in (("plas", (80, 100, 120, 150, 180)), ("mass", (20, 30, 40))):
        for point in points:
            place = int(np.argmin(np.abs(GRID[feature] - point)))
            line = [f"{feature} {point}"]
            for many in found.values():
                entropy = [one.effects[feature, "entropy"].value[place] for one in many]
                line.append(spread(entropy, 2))
                for label in (1, 0):
                    nll = [
                        one.value(feature, "nll")[one.label == label, place].mean() for one in many
                    ]
                    line.append(spread(nll, 2))
            rows.append(line)
    head = [
        f"{name}: {what}"
        for name in found
        for what in ("entropy", "loss, positive", "loss, negative")
    ]
    title = "Entropy-PDP, and Likelihood-PDP of each class, nats: mean of the splits (range)"
    return Table(title, ("at", *head), rows)


def _panel(ax: Any, seen: Seen, feature: str, what: str) -> None:
    effect = seen.effects[feature, what]
    label = seen.label[effect.curves.row]
    groups = [
        ("positive rows", np.flatnonzero(label == 1)),
        ("negative rows", np.flatnonzero(label == 0)),
    ]
    curves(ax, effect, groups, shown=14)
    rug(ax, seen.X[:, COLUMN[feature]][seen.X[:, COLUMN[feature]] >= GRID[feature][0]])
    ax.set(xlabel=UNIT[feature], xlim=(GRID[feature][0], GRID[feature][-1]))
    ax.set_ylabel({"entropy": "entropy, nats", "nll": "negative log-likelihood, nats"}[what])


def _figure(found: dict[str, list[Seen]], what: str, feature: str) -> Picture:
    from matplotlib.figure import Figure

    entropy = what == "entropy"
    figure = Figure(figsize=(9.5, 5.6 if entropy else 3.9), layout="constrained")
    axes: Any = figure.subplots(
        2 if entropy else 1,
        2,
        squeeze=False,
        sharex=True,
        gridspec_kw={"height_ratios": [3, 1.3]} if entropy else None,
    )
    for ax, (name, many) in zip(axes[0], found.items(), strict=True):
        _panel(ax, many[0], feature, what)
        ax.set_title(name, fontsize=10, loc="left")
        if entropy:
            along, pdp = many[0].along, many[0].effects["plas", "entropy"]
            x = GRID["plas"][(GRID["plas"] >= along.x[0]) & (GRID["plas"] <= along.x[-1])]
            level = np.interp(120.0, pdp.x, pdp.value) - along(120.0)
            ax.plot(
                x,
                along(x) + level,
                color=DARK,
                linestyle=":",
                linewidth=2,
                label="RHALE, level at 120",
            )
    axes[0, 0].legend(fontsize=8, loc="best", edgecolor="none", framealpha=0.9)
    if entropy:
        _classes(axes[1])
    name, number = ("entropy", 12) if entropy else ("likelihood", 13)
    caption = f"Fig. {number}: {name.capitalize()}-ICE and -PDP of plas, both models"
    return Picture(f"diabetes_plas_{name}", figure, caption)


def _classes(axes: Any) -> None:
    """Draw how often each class has which plas, among the rows to fit on."""
    X, y, _, _ = quarters("pima_diabetes", 0)
    plas = np.asarray(X["plas"])
    for ax in axes:
        edges = np.arange(60, 201, 10)
        look = {"bins": edges, "histtype": "step", "linewidth": 1.4}
        ax.hist(plas[y == 1], color=WARM, linestyle="--", label="positive", **look)
        ax.hist(plas[y == 0], color=MIDDLE, label="negative", **look)
        ax.set(xlabel=UNIT["plas"], ylabel="rows to fit on")
        bare(ax)
    axes[0].legend(frameon=False, fontsize=8)


def _of_mass(found: dict[str, list[Seen]]) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 6.0), layout="constrained")
    axes: Any = figure.subplots(2, 2)
    for row, what in zip(axes, ("entropy", "nll"), strict=True):
        for ax, (name, many) in zip(row, found.items(), strict=True):
            _panel(ax, many[0], "mass", what)
            ax.set_title(f"Fig. {14 if what == 'entropy' else 15}: {name}", fontsize=10, loc="left")
    axes[1, 0].legend(fontsize=8, loc="best", edgecolor="none", framealpha=0.9)
    return Picture(
        "diabetes_mass", figure, "Fig. 14 and 15: Entropy- and Likelihood-ICE of mass, both models"
    )


EXPERIMENT = Experiment(
    "entropy",
    "diabetes_curves",
    "Where two models of diabetes are uncertain, and for which patients",
    "entropy_importance, sec. 5.2, Fig. 12 to 15",
    run,
    needs=("torch",),
    data=("pima_diabetes.csv",),
    slow=True,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
