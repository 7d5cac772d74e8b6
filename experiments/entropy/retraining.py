"""Sec. 5.2: is the information of age about diabetes redundant with plas? Breiman's check, which refits models.

The paper reports of Breiman (2001) that age holds useful information about diabetes, but that this is redundant with
plas, so that training a model with age or without it makes little difference to its predictive power. Here calibrated
forests (appendix B.2) are fitted on subsets of the features of 75 % of the rows, and compared by their negative
log-likelihood and error rate on the other 25 %, split by split.
"""

from __future__ import annotations

import sys

import numpy as np

import skedasis as sd
from experiments.entropy.drawing import DARK, LIGHT, WARM, bare
from experiments.entropy.measures import spread, written
from experiments.entropy.models import calibrated_forest, quarters
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone

NAMES = ["preg", "plas", "pres", "skin", "insu", "mass", "pedi", "age"]
SETS = {
    "all": NAMES,
    "without age": [n for n in NAMES if n != "age"],
    "without preg": [n for n in NAMES if n != "preg"],
    "without age and preg": [n for n in NAMES if n not in ("age", "preg")],
    "without mass": [n for n in NAMES if n != "mass"],
    "without plas": [n for n in NAMES if n != "plas"],
    "plas": ["plas"],
    "plas and age": ["plas", "age"],
    "plas and mass": ["plas", "mass"],
    "none": [],
}

SETTINGS = (
    "{splits} random splits, {trees} trees. ± is one standard error of a difference over the splits, corrected for the "
    'rows that splits share (Nadeau & Bengio 2003). "None" predicts the frequency of the class.'
)


def run(quick: bool) -> Outcome:
    """Fit the forests on all sets of features."""
    splits, trees = (10, 30) if quick else (20, 200)
    found = np.stack([_split(seed, trees) for seed in range(splits)])
    claims = [_useful(), _little(found), _redundant(found)]
    rows = []
    for k, name in enumerate(SETS):
        base = 0 if k < 6 else 6
        against = "all" if base == 0 else "plas"
        mean, error = _rise(found[:, :, 0], name, against)
        rise = "–" if k == base else f"{_signed(mean)} ± {written(error)}"
        rows.append([name, spread(found[:, k, 0]), rise, against, f"{found[:, k, 1].mean():.1%}"])
    head = ("features", "negative log-likelihood, nats", "its rise", "over", "error rate")
    table = Table("Forests on subsets of the features: mean of the splits (range)", head, rows)
    return Outcome(claims, [table], [_figure(found)], SETTINGS.format(splits=splits, trees=trees))


def _split(seed: int, trees: int) -> np.ndarray:
    """Return the negative log-likelihood and the error rate of each set of features, (sets, 2)."""
    X, y, X_test, y_test = quarters("pima_diabetes", seed)
    found = np.empty((len(SETS), 2))
    for k, names in enumerate(SETS.values()):
        if not names:
            share = float(np.mean(y))
            chance = np.where(y_test == 1, share, 1 - share)
            found[k] = -np.log(chance).mean(), np.mean(y_test == 1)
            continue
        model = calibrated_forest(X[names], y, seed, trees)
        rows = X_test[names].to_numpy()
        found[k] = sd.nll(model).at(rows, y_test).mean(), np.mean(model.predict(rows) != y_test)
    return found


def _rise(values: np.ndarray, of: str, over: str) -> tuple[float, float]:
    """Return by how much a set's values are above another's, and the standard error of that."""
    names = list(SETS)
    difference = values[:, names.index(of)] - values[:, names.index(over)]
    # 25 % of the rows are tested on, 75 % fitted on: a variance of the mean of J splits of (1/J + 1/3).
    error = np.sqrt(difference.var(ddof=1) * (1 / len(difference) + 1 / 3))
    return float(difference.mean()), float(error)


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + written(value)


def _useful() -> Claim:
    X, y, X_test, y_test = quarters("pima_diabetes", 0)
    age = np.concatenate([X["age"], X_test["age"]])
    label = np.concatenate([y, y_test])
    young, old = label[age < 30].mean(), label[age >= 30].mean()
    split = label.mean()
    entropy = -(split * np.log(split) + (1 - split) * np.log(1 - split))
    rest = [
        share * -(p * np.log(p) + (1 - p) * np.log(1 - p))
        for p, share in ((young, np.mean(age < 30)), (old, np.mean(age >= 30)))
    ]
    return Claim(
        "useful",
        "age contains useful information about the label",
        bool(old > young + 0.1),
        f"{young:.0%} of the women below 30 have diabetes, {old:.0%} of the others: this information alone accounts "
        f"for {written(float(entropy - sum(rest)))} of the {written(float(entropy))} nats of the label.",
    )


def _little(found: np.ndarray) -> Claim:
    nll = found[:, :, 0]
    (age, error), (plas, _) = _rise(nll, "without age", "all"), _rise(nll, "without plas", "all")
    wrong, wrong_error = _rise(found[:, :, 1], "without age", "all")
    return Claim(
        "little",
        "training a model with or without age has little effect on its predictive power",
        abs(age) < plas / 3,
        f"Without age the loss changes by {_signed(age)} ± {written(error)} nats and the error rate by "
        f"{100 * wrong:+.1f} "
        f"± {100 * wrong_error:.1f} points; without plas the loss rises by {_signed(plas)}.",
    )


def _redundant(found: np.ndarray) -> Claim:
    nll = found[:, :, 0]
    age, error = _rise(nll, "plas and age", "plas")
    mass, _ = _rise(nll, "plas and mass", "plas")
    (rest, _), (preg, _) = _rise(nll, "without age", "all"), _rise(nll, "without preg", "all")
    both, both_error = _rise(nll, "without age and preg", "all")
    X, _, _, _ = quarters("pima_diabetes", 0)
    related = X.corr(method="spearman")["age"]
    return Claim(
        "redundant",
        "the information in age is redundant with plas",
        not -age > 2 * max(rest, 0.005),
        f"A forest of plas alone has a loss of {written(nll[:, list(SETS).index('plas')].mean())} nats; age reduces it "
        f"by {written(-age)} ± {written(error)} and mass by {written(-mass)}.",
        f"If age were redundant with plas, it would not improve a model of plas. It is redundant with all other "
        f"features together, and closer to preg (the number of pregnancies): its rank correlation is "
        f"{written(related['plas'], 2)} with plas and "
        f"{written(related['preg'], 2)} with preg, and the loss changes by {_signed(rest)} without age, "
        f"{_signed(preg)} "
        f"without preg, and {_signed(both)} ± {written(both_error)} without both.",
    )


def _figure(found: np.ndarray) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, 4.0), layout="constrained")
    ax = figure.subplots()
    place = np.arange(len(SETS))
    look = {"markersize": 3.5, "markerfacecolor": "none", "markeredgecolor": WARM}
    for k in place:
        ax.plot(found[:, k, 0], np.full(len(found), k), "o", **look)
    ax.plot([], [], "o", label="single splits", **look)
    ax.plot(found[:, :, 0].mean(axis=0), place, "D", color=DARK, markersize=6, label="mean")
    ax.axhline(5.5, color=LIGHT, linewidth=0.8)
    ax.set_yticks(place, list(SETS))
    ax.invert_yaxis()
    ax.set(xlabel="negative log-likelihood on rows not seen, nats")
    ax.legend(frameon=False, fontsize=8, loc="upper right")
    bare(ax)
    caption = "The loss of calibrated forests on subsets of the features"
    return Picture("retraining", figure, caption)


EXPERIMENT = Experiment(
    "entropy",
    "retraining",
    "Breiman's check: retraining without age",
    "entropy_importance, sec. 5.2 (after Breiman 2001)",
    run,
    data=("pima_diabetes.csv",),
    slow=True,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
