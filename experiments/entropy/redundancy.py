"""Sec. 5.1 (Fig. 9): how well each feature of concrete is predicted by the others, without and with the target.

A random forest (appendix B.5: 100 trees, no maximum depth) learns each feature from the seven others, and from the
seven others and the strength; R² is that of the 25 % of the rows that it has not seen.

The paper claims that all others are predicted well but that age appears to be independent of the rest; and that age
is predicted much better once the target is known.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy.stats import ks_2samp
from sklearn.ensemble import RandomForestRegressor

import skedasis as sd
from experiments.entropy.drawing import DARK, LIGHT, MIDDLE, WARM, bare
from experiments.entropy.measures import spread, written
from experiments.entropy.models import process, quarters
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone
from skedasis.datasets.real import load

AGE = 7
LABELS = [
    "cement",
    "slag",
    "fly ash",
    "water",
    "superplasticizer",
    "coarse agg.",
    "fine agg.",
    "age",
]

SETTINGS = (
    "{splits} random splits, {trees} trees. The table also shows the out-of-bag R² that `diagnose` finds on the test "
    "rows of the first split alone; it is lower, because these are only 258 rows. The last line is the R² for "
    "permuted ages: the result of a forest without any dependence."
)


def run(quick: bool) -> Outcome:
    """Grow the forests."""
    splits, trees = (2, 10) if quick else (6, 100)
    found = np.stack([_split(seed, trees) for seed in range(splits)])
    permuted = np.array([_permuted(seed, trees) for seed in range(splits)])
    alone_, informed = found[:, 0], found[:, 1]
    X, y, X_test, y_test = quarters("concrete", 0)
    diagnosed = sd.diagnose(process(X, y), X_test.to_numpy(), y_test, n_repeats=3, progress=False)
    claims = [
        _others(alone_),
        _least(alone_),
        _independent(alone_, permuted),
        _with_target(alone_, informed),
    ]
    rows = [
        [
            label,
            spread(alone_[:, k], 2),
            spread(informed[:, k], 2),
            written(diagnosed.r2_others[k], 2),
            written(diagnosed.r2_with_target[k], 2),
        ]
        for k, label in enumerate(LABELS)
    ]
    rows.append(["age, permuted", spread(permuted, 2), "–", "–", "–"])
    head = (
        "feature",
        "R² from the others",
        "and the target",
        "`diagnose`: others",
        "and the target",
    )
    table = Table("Fig. 9 in numbers: mean of the splits (range)", head, rows)
    settings = SETTINGS.format(splits=splits, trees=trees)
    return Outcome(claims, [table], [_figure(alone_, informed)], settings)


def _split(seed: int, trees: int) -> np.ndarray:
    """Return R² of each feature from the others, and from the others and the target, (2, features)."""
    X, y, X_test, y_test = (np.asarray(v, dtype=float) for v in quarters("concrete", seed))
    found = np.empty((2, X.shape[1]))
    for k in range(X.shape[1]):
        rest, rest_test = (np.delete(v, k, axis=1) for v in (X, X_test))
        found[0, k] = _r2(rest, X[:, k], rest_test, X_test[:, k], seed, trees)
        rest, rest_test = np.column_stack([rest, y]), np.column_stack([rest_test, y_test])
        found[1, k] = _r2(rest, X[:, k], rest_test, X_test[:, k], seed, trees)
    return found


def _r2(X: Any, target: Any, X_test: Any, target_test: Any, seed: int, trees: int) -> float:
    forest = RandomForestRegressor(trees, random_state=seed).fit(X, target)
    return float(forest.score(X_test, target_test))


def _permuted(seed: int, trees: int) -> float:
    """Return R² of ages that belong to other rows."""
    X, _, X_test, _ = (np.asarray(v, dtype=float) for v in quarters("concrete", seed))
    rng = np.random.default_rng(seed)
    rest, rest_test = np.delete(X, AGE, axis=1), np.delete(X_test, AGE, axis=1)
    ages, ages_test = rng.permutation(X[:, AGE]), rng.permutation(X_test[:, AGE])
    return _r2(rest, ages, rest_test, ages_test, seed, trees)


def _others(found: np.ndarray) -> Claim:
    least = np.delete(found, AGE, axis=1).min(axis=1)
    return Claim(
        "others",
        "the other features are predicted well by the rest",
        bool((least > 0.75).all()),
        f"The least well predicted of the seven has R² {spread(least, 2)}.",
    )


def _least(found: np.ndarray) -> Claim:
    others = np.delete(found, AGE, axis=1).min(axis=1)
    return Claim(
        "least",
        "the other features give no reliable information about age",
        bool((found[:, AGE] < 0.5 * others).all()),
        f"R² of age is {spread(found[:, AGE], 2)}, of all others at least {spread(others, 2)}.",
    )


def _independent(found: np.ndarray, permuted: np.ndarray) -> Claim:
    X = load("concrete", download=False).X
    old, plain, no_ash = X["age"] >= 180, X["superplasticizer"] == 0, X["fly_ash"] == 0
    chance = float(ks_2samp(X["age"][plain], X["age"][~plain]).pvalue)
    return Claim(
        "independent",
        "age appears to be independent of the other features",
        chance > 0.01,
        f"A forest's R² of age is no better than that of the mean, {spread(found[:, AGE], 2)}, but better than that "
        f"of permuted ages, {spread(permuted, 2)}. Mixtures without superplasticizer are {X['age'][plain].mean():.0f} "
        f"days old on average, others {X['age'][~plain].mean():.0f} (Kolmogorov-Smirnov: p = {chance:.0e}).",
        f"Of the {int(old.sum())} rows that are 180 days or older {float(plain[old].mean()):.0%} are without "
        f"superplasticizer (of the younger {float(plain[~old].mean()):.0%}) and {float(no_ash[old].mean()):.0%} "
        "without "
        f"fly ash (of the younger {float(no_ash[~old].mean()):.0%}). The mixture does not determine the age, but "
        f"limits the possible ages: therefore the Entropy-PFI of age is small but not zero (Fig. 8).",
    )


def _with_target(found: np.ndarray, informed: np.ndarray) -> Claim:
    gain = informed - found
    others = np.abs(np.delete(gain, AGE, axis=1)).max(axis=1)
    return Claim(
        "with_target",
        "the prediction of age improves significantly when the target is known, so that the two share information",
        bool((gain[:, AGE] > 0.3).all() and (gain[:, AGE] > 3 * others).all()),
        f"R² of age rises by {spread(gain[:, AGE], 2)} to {spread(informed[:, AGE], 2)}; for no other feature does it "
        f"change by more than {spread(others, 2)}.",
    )


def _figure(found: np.ndarray, informed: np.ndarray) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, 3.8), layout="constrained")
    ax = figure.subplots()
    place = np.arange(len(LABELS))
    kinds = (
        (found, LIGHT, "", "from the other features"),
        (informed, MIDDLE, "///", "and the strength"),
    )
    for shift, (values, colour, hatch, label) in zip((-0.2, 0.2), kinds, strict=True):
        look = {"color": colour, "edgecolor": DARK, "hatch": hatch, "linewidth": 0.6}
        ax.bar(place + shift, values.mean(axis=0), 0.38, label=label, **look)
        for one in values:
            ax.plot(
                place + shift,
                one,
                "o",
                markersize=2.6,
                markerfacecolor="none",
                markeredgecolor=WARM,
            )
    ax.plot(
        [],
        [],
        "o",
        markersize=2.6,
        markerfacecolor="none",
        markeredgecolor=WARM,
        label="single splits",
    )
    ax.set_xticks(place, LABELS)
    ax.set(ylabel="R² on rows not seen", ylim=(min(0.0, found.min()) - 0.05, 1.05))
    ax.axhline(0.0, color=DARK, linewidth=0.8)
    ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    bare(ax)
    caption = (
        "How well each feature is predicted by the others, without and with the target: age is predicted only "
        "with it"
    )
    return Picture("redundancy", figure, caption)


EXPERIMENT = Experiment(
    "entropy",
    "redundancy",
    "How well features predict each other",
    "entropy_importance, sec. 5.1, Fig. 9",
    run,
    data=("concrete.csv",),
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
