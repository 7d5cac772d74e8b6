"""Sec. 3.1 to 3.5: the propositions and further statements on both importances, for models known in closed form.

Nothing is fitted but a naive Bayes classifier: the models are written down, so that the true values are known.

- Proposition 1: a feature that is independent of the rest has Entropy-PFI 0, and its estimate comes closer to it
  the larger the test set. Proposition 2: so has one that is not used, and Likelihood-PFI too. Proposition 3: with
  values drawn given the other features, Entropy-PFI is 0 for all.
- Eq. 1 and 5 estimate Eq. 2 and 6 by a permutation; of a normal distribution of fixed width Likelihood-PFI is the PFI
  of the squared loss.
- Both are expected not to be negative; and where Entropy-PFI is 0 and Likelihood-PFI is not, what the feature knows
  is said not to be shared.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.naive_bayes import GaussianNB

import skedasis as sd
from experiments.entropy.drawing import DARK, MIDDLE, WARM, bare, bars
from experiments.entropy.measures import written
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone
from skedasis.errors import UnsupportedError

RHO = 0.8
COPIES = 6

SETTINGS = (
    "Models are functions that return a mean and a standard deviation s. x0 is independent, x1 and x2 are normal with "
    'correlation 0.8. "Local": log s = sin(3 x0) + x1 x2 / 4 + x0 x1; "joint": log s = x1 x2, whose Entropy-PFI is '
    'exactly -0.8; "additive": log s = (x1 + x2) / 2, mean x1 + x2. "Exact" is `sd.PFI(exact=True)`: all ordered '
    "pairs of rows."
)


def rows(n: int, seed: int) -> np.ndarray:
    """Return x0, independent, and x1 and x2 with correlation 0.8."""
    x0, x1, x2 = np.random.default_rng(seed).standard_normal((3, n))
    return np.column_stack([x0, x1, RHO * x1 + np.sqrt(1 - RHO**2) * x2])


def local(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a distribution of which each single row's entropy depends on x0."""
    return X[:, 0], np.exp(np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] / 4 + X[:, 0] * X[:, 1])


def joint(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return one that is the less certain the more x1 and x2 agree."""
    return X[:, 1] + X[:, 2], np.exp(X[:, 1] * X[:, 2])


def additive(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return one whose entropy is the sum of a term of each feature."""
    return X[:, 1] + X[:, 2], np.exp((X[:, 1] + X[:, 2]) / 2)


def fixed(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return one of the same width everywhere."""
    return X[:, 0] + np.sin(X[:, 1]), np.full(len(X), 0.5)


def pfi(quantity: Any, X: Any, y: Any = None, seed: int = 0, **parameters: Any) -> sd.Importance:
    """Return the importances of all features."""
    method = sd.PFI(**({"n_repeats": 10} | parameters))
    return sd.explain(quantity, X, y=y, method=method, random_state=seed, progress=False)


def run(quick: bool) -> Outcome:
    """Check one statement after the other."""
    draws = 60 if quick else 400
    sizes = (100, 400, 1600)
    errors = {n: _errors(n, draws) for n in sizes}
    negative = _doubled()
    claims = [
        _independent(errors, draws),
        _shrinks(errors),
        _unused(),
        _conditional(),
        _estimates(2_000 if quick else 20_000),
        _squared(),
        _likelihood_sign(negative),
        _entropy_sign(),
        _zero_is_alone(),
    ]
    table = [[f"{n}", written(e[0], 4), f"{e[1]:.1%}"] for n, e in errors.items()]
    head = ("rows", "root mean square of Entropy-PFI, nats", "95 % intervals that hold 0")
    tables = [Table(f"Proposition 1: the independent feature x0 in {draws} draws", head, table)]
    return Outcome(claims, tables, [_figure(errors, negative)], SETTINGS)


def _errors(n: int, draws: int) -> tuple[float, float]:
    """Return how far the Entropy-PFI of x0 is from 0, and how many intervals contain 0."""
    found = [pfi(sd.entropy(local), rows(n, seed), seed=seed) for seed in range(draws)]
    lower, upper = np.stack([one.interval(0.95) for one in found], axis=1)[:, :, 0]
    means = np.array([one.mean[0] for one in found])
    return float(np.sqrt(np.mean(means**2))), float(np.mean((lower <= 0) & (upper >= 0)))


def _independent(errors: dict[int, tuple[float, float]], draws: int) -> Claim:
    held = [e[1] for e in errors.values()]
    single = pfi(sd.entropy(local), rows(2000, 0), local="all").local
    moved = float(np.std(single["x0"]))
    return Claim(
        "independent",
        "a feature that is independent of the others has Entropy-PFI zero, though the entropies of single rows change "
        "(Proposition 1)",
        all(abs(h - 0.95) < 4 * np.sqrt(0.95 * 0.05 / draws) for h in held),
        f"The 95 % intervals contain 0 in {', '.join(f'{h:.1%}' for h in held)} of {draws} draws of "
        f"{', '.join(map(str, errors))} rows; the entropies of single rows change by {written(moved, 2)} nats "
        f"(standard deviation).",
    )


def _shrinks(errors: dict[int, tuple[float, float]]) -> Claim:
    off = [e[0] for e in errors.values()]
    ratios = [a / b for a, b in pairwise(off)]
    return Claim(
        "shrinks",
        "its deviation from zero decreases with the size of the test set",
        all(1.5 < r < 2.7 for r in ratios),
        f"From {', '.join(map(str, errors))} rows it falls from {' to '.join(written(v) for v in off)} nats: by a "
        "factor "
        f"of {' and '.join(written(r, 2) for r in ratios)} for four times the rows, as expected from the square root "
        f"(2).",
    )


def _unused() -> Claim:
    X = rows(500, 1)
    y = X[:, 1] + np.random.default_rng(2).standard_normal(500)
    found = [pfi(sd.entropy(joint), X), pfi(sd.nll(joint), X, y)]
    return Claim(
        "unused",
        "a feature that the distribution does not depend on has both importances zero (Proposition 2)",
        all(bool((one.values[0] == 0).all()) for one in found),
        f"Entropy-PFI and Likelihood-PFI of x0 are {found[0].mean[0]:g} and {found[1].mean[0]:g}, exactly, in each "
        "repeat.",
    )


def _conditional() -> Claim:
    n = 200_000
    X = rows(n, 3)
    drawn = np.random.default_rng(4).standard_normal(n)
    own = sd.entropy(joint).at(X)
    rises = []
    for feature, other in ((1, 2), (2, 1)):
        moved = X.copy()
        moved[:, feature] = RHO * X[:, other] + np.sqrt(1 - RHO**2) * drawn
        rises.append(sd.entropy(joint).at(moved) - own)
    z = [float(rise.mean() / (rise.std() / np.sqrt(n))) for rise in rises]
    try:
        pfi(sd.entropy(joint), X[:500], conditional=True)
        refused = False
    except UnsupportedError:
        refused = True
    marginal = pfi(sd.entropy(joint), X[:5000]).mean[1]
    return Claim(
        "conditional",
        "with values drawn given the other features Entropy-PFI is zero for all (Proposition 3)",
        all(abs(v) < 4 for v in z),
        f"Of x1 and x2 it is {written(rises[0].mean(), 4)} and {written(rises[1].mean(), 4)} nats in {n:,} draws from "
        "the "
        f"known conditional ({written(z[0], 1)} and {written(z[1], 1)} standard errors), against "
        f"{written(marginal, 2)} "
        f"by permutation. `sd.PFI(conditional=True)` of an entropy {'raises an error' if refused else 'is computed'}.",
    )


def _estimates(draws: int) -> Claim:
    X = rows(10, 5)
    entropy = sd.entropy(joint)
    exact = float(pfi(entropy, X, exact=True).mean[1])
    rng, own = np.random.default_rng(6), entropy.at(X)
    moved = np.tile(X, (draws, 1))
    orders = np.concatenate([rng.permutation(10) for _ in range(draws)])
    moved[:, 1] = X[orders, 1]
    each = (entropy.at(moved) - np.tile(own, draws)).reshape(draws, 10).mean(axis=1)
    off = abs(each.mean() - exact) / (each.std() / np.sqrt(draws))
    # In expectation over rows, too: E[x1' x2] = 0 and E[x1 x2] = 0.8, so that Eq. 2 is -0.8.
    many = np.array(
        [pfi(entropy, rows(10, seed), exact=True).mean[1] for seed in range(draws // 5)]
    )
    error = many.std() / np.sqrt(len(many))
    return Claim(
        "estimates",
        "the importance by permutation (Eq. 1 and 5) estimates the one of the distribution (Eq. 2 and 6)",
        bool(abs(many.mean() + RHO) < 4 * error),
        f"On ten rows {draws:,} permutations average {written(each.mean())}, the mean over all pairs of rows (exact) "
        "is "
        f"{written(exact)} ({written(off, 1)} standard errors). Over {len(many):,} such sets of ten rows that mean is "
        f"{written(many.mean())} ± {written(error)}, where Eq. 2 is {written(-RHO)}.",
        "In a permutation each row keeps its own value with probability 1/N, so Eq. 1 estimates (1 − 1/N) of Eq. 2: "
        f"{written(-0.9 * RHO)} at N = 10. It matters for small test sets only.",
    )


def _squared() -> Claim:
    X = rows(400, 7)
    y = X[:, 0] + np.random.default_rng(8).standard_normal(400)
    likelihood = pfi(sd.nll(fixed), X, y).mean
    squared = pfi(sd.loss(lambda X: fixed(X)[0], "squared_error"), X, y).mean / (2 * 0.5**2)
    entropy = pfi(sd.entropy(fixed), X).mean
    gap = float(np.abs(likelihood - squared).max())
    return Claim(
        "squared",
        "for a normal distribution of fixed width Likelihood-PFI is the PFI of the squared loss up to a factor, and "
        "Entropy-PFI is zero",
        gap < 1e-10 and bool((entropy == 0).all()),
        f"Times 1 / (2 s²) the two differ by {gap:.0e}; Entropy-PFI is exactly 0 for all features.",
    )


def _doubled() -> sd.Importance:
    """Return Likelihood-PFI of a naive Bayes classifier that is given the same evidence six times, and one other."""
    rng = np.random.default_rng(9)
    label = rng.integers(0, 2, 4000)
    one, two = (rng.standard_normal(4000) + (label - 0.5) for _ in range(2))
    X = np.column_stack([np.tile(one[:, None], COPIES), two])
    model = GaussianNB().fit(X[:2000], label[:2000])
    return pfi(sd.nll(model), X[2000:], label[2000:])


def _likelihood_sign(found: sd.Importance) -> Claim:
    lower, upper = found.interval(0.95)
    return Claim(
        "likelihood_sign",
        "Likelihood-PFI is expected not to be negative: permuting an informative feature raises the loss",
        bool((upper[:COPIES] > 0).all()),
        f"Naive Bayes with {COPIES} copies of one informative feature has a Likelihood-PFI of "
        f"{written(found.mean[0])} nats for the first ({written(lower[0])} to {written(upper[0])}), and below 0 for "
        "all.",
        "The model counts the same evidence six times and is overconfident; removing some of it improves the model. "
        "For the true model Likelihood-PFI is a mean Kullback-Leibler divergence, and so never negative.",
    )


def _entropy_sign() -> Claim:
    found = pfi(sd.entropy(joint), rows(5000, 10))
    lower, upper = found.interval(0.95)
    return Claim(
        "entropy_sign",
        "Entropy-PFI is expected not to be negative: a model is more certain where it interpolates",
        bool(upper[1] > 0),
        f"Where log s = x1 x2 it is {written(found.mean[1], 2)} nats for x1 ({written(lower[1], 2)} to "
        f"{written(upper[1], 2)}); its true value is −0.8.",
        "The noise of this distribution is largest where x1 and x2 agree, which is where the rows are. The paper "
        "itself says that the expectation assumes epistemic uncertainty (sec. 3.5).",
    )


def _zero_is_alone() -> Claim:
    X = rows(5000, 11)
    y = X[:, 1] + X[:, 2] + additive(X)[1] * np.random.default_rng(12).standard_normal(5000)
    diagnosed = sd.diagnose(additive, X, y, dependence_rows=500, progress=False)
    likelihood, entropy = diagnosed.likelihood["x1"], diagnosed.entropy["x1"]
    zero = abs(entropy.mean) < 1e-3
    return Claim(
        "zero_is_alone",
        "where Entropy-PFI is zero and Likelihood-PFI positive, the information is not shared with other features "
        "(sec. 3.5)",
        not (zero and likelihood.lower > 0),
        f"Where log s = (x1 + x2) / 2, x1 has Entropy-PFI {written(entropy.mean, 4)} and Likelihood-PFI "
        f"{written(likelihood.mean, 2)} nats, at a correlation of {RHO} with x2.",
        "An entropy that is a sum of terms has the same mean for any dependence between the features: Proposition 1 "
        "has "
        f'no converse. `diagnose` therefore also fits forests, and calls x1 "{diagnosed["x1"].verdict.kind}" (R² '
        f"{written(diagnosed['x1'].r2_others, 2)} from the others).",
    )


def _figure(errors: dict[int, tuple[float, float]], negative: sd.Importance) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.8, 3.4), layout="constrained")
    one, two, three = figure.subplots(1, 3)
    sizes, off = np.array(list(errors)), np.array([e[0] for e in errors.values()])
    one.loglog(sizes, off, "o", color=MIDDLE, label="measured")
    one.loglog(
        sizes, off[0] * np.sqrt(sizes[0] / sizes), "--", color=DARK, label="1 / root of the rows"
    )
    one.set(xlabel="rows", ylabel="Entropy-PFI of x0, rms, nats", title="Proposition 1")
    one.set_xticks(sizes, [str(n) for n in sizes])
    one.minorticks_off()
    one.set_yticks([0.03, 0.05, 0.1], ["0.03", "0.05", "0.1"])
    one.legend(frameon=False, fontsize=8)
    bars(
        two,
        negative,
        labels=[*(f"copy {k + 1}" for k in range(COPIES)), "another"],
        what="Likelihood-PFI",
    )
    two.set_title("Naive Bayes, one feature six times")
    _by_correlation(three)
    for ax in (one, two, three):
        ax.title.set_fontsize(10)
        bare(ax)
    caption = (
        "Entropy-PFI of an independent feature by rows; a negative Likelihood-PFI; an Entropy-PFI of either sign. "
        "Bars and "
        "dots with 95 % intervals"
    )
    return Picture("propositions", figure, caption)


def _by_correlation(three: Any) -> None:
    """Draw the Entropy-PFI of x1 against its true value."""
    rho = np.linspace(-0.9, 0.9, 7)
    for r in rho:
        X = rows(3000, 13)
        X[:, 2] = r * X[:, 1] + np.sqrt(1 - r**2) * (X[:, 2] - RHO * X[:, 1]) / np.sqrt(1 - RHO**2)
        found = pfi(sd.entropy(joint), X)
        low, high = (e[1] for e in found.interval(0.95))
        three.plot([r, r], [low, high], color=DARK, linewidth=1.4)
        three.plot(r, found.mean[1], "o", color=MIDDLE, markersize=4)
    three.plot(rho, -rho, "--", color=WARM, label="truth")
    three.set(
        xlabel="correlation of x1 and x2", ylabel="Entropy-PFI of x1, nats", title="log s = x1 x2"
    )
    three.legend(frameon=False, fontsize=8)


EXPERIMENT = Experiment(
    "entropy",
    "propositions",
    "The propositions and further statements",
    "entropy_importance, sec. 3.1 to 3.5, Propositions 1 to 3",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
