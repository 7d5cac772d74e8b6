"""Sec. 5.2 (Fig. 11): which features two models of diabetes rely on.

Diabetes among 768 Pima women is predicted by a calibrated forest (appendix B.2) and by a network with uncertain
weights (B.3, Bayes by backprop), on 75 % of the rows; 25 % are explained.

The paper reports of Breiman (2001) that plas is the most important feature, followed by age and mass, and claims
(Fig. 11) the same of Likelihood-PFI: plas first, age and mass with significant effects; and that the network sees much
the same as the forest.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import skedasis as sd
from experiments.entropy.drawing import legend_of_bars, pair
from experiments.entropy.measures import (
    HEAD,
    above_zero,
    diagnosis,
    means,
    spread,
    table_of,
    written,
)
from experiments.entropy.models import calibrated_forest, quarters
from experiments.entropy.networks import bayesian_network
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone

LABELS = ["preg", "plas", "pres", "skin", "insu", "mass", "pedi", "age"]
PLAS, MASS, AGE = 1, 5, 7
FOREST, NETWORK = "calibrated forest", "Bayes by backprop"
Found = dict[str, list[sd.Diagnosis]]

SETTINGS = (
    "{splits} random splits, {trees} trees. The prior's standard deviation of Bayes by backprop is not in the "
    "available text (1 here), nor its optimiser (Adam, 64 rows per batch); 50 samples of the weights. Zeros in plas, "
    "pres, "
    "skin, "
    "insu and mass stand for missing values, and are left as they are."
)


def run(quick: bool) -> Outcome:
    """Fit both models on several splits, and measure."""
    splits, trees = (4, 60) if quick else (10, 500)
    repeats = 5 if quick else 10
    found: Found = {FOREST: [], NETWORK: []}
    errors, grown = [], []
    for seed in range(splits):
        X, y, X_test, y_test = (np.asarray(v) for v in quarters("pima_diabetes", seed))
        forest = calibrated_forest(X, y, seed, trees)
        found[FOREST].append(diagnosis(forest, X_test, y_test, repeats, seed == 0 and not quick))
        errors.append(_error_pfi(forest, X_test, y_test, repeats))
        full = RandomForestClassifier(trees, random_state=seed).fit(X, y)
        grown.append(_error_pfi(full, X_test, y_test, repeats))
        network = bayesian_network(X, y, seed, 40 if quick else 100)
        found[NETWORK].append(diagnosis(network, X_test, y_test, repeats))
    claims = [
        _first(found, FOREST, "first"),
        _next(found),
        _order(found, np.stack(errors), np.stack(grown)),
        _first(found, NETWORK, "first_network"),
        _similar(found),
        _both_tell(found),
    ]
    tables = [
        Table(f"Fig. 11, {name}, nats", HEAD, table_of(many, LABELS, 3))
        for name, many in found.items()
    ]
    settings = SETTINGS.format(splits=splits, trees=trees)
    return Outcome(claims, tables, [_figure(found)], settings)


def _first(found: Found, name: str, key: str) -> Claim:
    likelihood = means(found[name], "likelihood")
    second = np.delete(likelihood, PLAS, axis=1).max(axis=1)
    first = likelihood[:, PLAS] > second
    return Claim(
        key,
        f"plas is the most important feature in terms of the likelihood ({name})",
        bool(first.mean() > 0.8),
        f"It is first in {int(first.sum())} of {len(first)} splits: {spread(likelihood[:, PLAS])} nats, the next "
        f"{spread(second)}.",
    )


def _next(found: Found) -> Claim:
    likelihood = means(found[FOREST], "likelihood").mean(axis=0)
    sure = np.mean([above_zero(one.likelihood)[[MASS, AGE]] for one in found[FOREST]], axis=0)
    three = np.argsort(-likelihood)[:3]
    return Claim(
        "next",
        "age and mass also have significant effects on its predictive power (forest)",
        bool(set(three) == {PLAS, MASS, AGE}),
        f"By the mean of the splits the first three are {', '.join(LABELS[k] for k in three)} "
        f"({', '.join(written(likelihood[k]) for k in three)} nats); the fourth has "
        f"{written(np.sort(likelihood)[-4])}. The interval of mass lies above 0 in {sure[0]:.0%} of the splits, that "
        "of "
        f"age in {sure[1]:.0%}.",
    )


def _order(found: Found, errors: np.ndarray, grown: np.ndarray) -> Claim:
    likelihood = means(found[FOREST], "likelihood")
    by_nll = likelihood[:, AGE] > likelihood[:, MASS]
    by_error = errors[:, AGE] > errors[:, MASS]
    rate = errors.mean(axis=0)
    plain = grown.mean(axis=0)
    return Claim(
        "order",
        "age comes before mass, as in Breiman's forest",
        bool(likelihood[:, AGE].mean() > likelihood[:, MASS].mean()),
        f"Age is before mass in {int(by_nll.sum())} of {len(by_nll)} splits by Likelihood-PFI. By the increase of the "
        f"error rate, which Breiman measured, in {int(by_error.sum())}: plas {rate[PLAS]:.1%}, mass {rate[MASS]:.1%}, "
        f"age "
        f"{rate[AGE]:.1%} on average.",
        f"A fully grown forest, as Breiman's, comes closer: by its error rate {plain[PLAS]:.1%} (plas), "
        f"{plain[MASS]:.1%} (mass) and {plain[AGE]:.1%} (age), and age is before mass in "
        f"{int((grown[:, AGE] > grown[:, MASS]).sum())} of {len(grown)} splits. A single split may show either order.",
    )


def _error_pfi(model: Any, X: np.ndarray, y: np.ndarray, repeats: int) -> np.ndarray:
    """Return by how much the error rate rises when a feature is permuted."""
    method = sd.PFI(n_repeats=repeats)
    return sd.explain(sd.loss(model, "zero_one"), X, y=y, method=method, progress=False).mean


def _similar(found: Found) -> Claim:
    forest, network = (means(found[name], "likelihood").mean(axis=0) for name in (FOREST, NETWORK))
    related = float(np.corrcoef(forest, network)[0, 1])
    three = [{LABELS[k] for k in np.argsort(-mean)[:3]} for mean in (forest, network)]
    return Claim(
        "similar",
        "results of the network are similar to those of the forest",
        bool(related > 0.9),
        f"The correlation of the two models' mean Likelihood-PFI over the eight features is {written(related, 2)}; the "
        f"first three are {', '.join(sorted(three[0]))} and {', '.join(sorted(three[1]))}.",
    )


def _both_tell(found: Found) -> Claim:
    entropy = means(found[FOREST], "entropy")
    top = entropy.mean(axis=0)
    sure = np.mean([above_zero(one.entropy)[[PLAS, AGE]] for one in found[FOREST]], axis=0)
    return Claim(
        "shared",
        "age contains information that is also in other features (after Breiman), so its Entropy-PFI is not zero (sec. "
        "3.5)",
        bool(sure[1] > 0.8),
        f"Entropy-PFI of age is {spread(entropy[:, AGE])} nats, above 0 by its interval in {sure[1]:.0%} of the "
        "splits; "
        f"the highest is that of {LABELS[int(np.argmax(top))]}, {written(top.max())}.",
    )


def _figure(found: Found) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 5.8), layout="constrained")
    axes: Any = figure.subplots(2, 2)
    for row, (name, many) in zip(axes, found.items(), strict=True):
        pair(row, many[0], many[1:], LABELS)
        row[0].set_title(name, fontsize=10, loc="left")
        row[1].tick_params(labelleft=False)
    legend_of_bars(axes[0, 0], loc="center right")
    caption = "Both importances of both models: plas first, mass and age next; splits differ as much as features"
    return Picture("diabetes", figure, caption)


EXPERIMENT = Experiment(
    "entropy",
    "diabetes",
    "Which features two models of diabetes rely on",
    "entropy_importance, sec. 5.2, Fig. 11",
    run,
    needs=("torch",),
    data=("pima_diabetes.csv",),
    slow=True,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
