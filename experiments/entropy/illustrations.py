"""Fig. 1 and 2: what the mean of curves hides, and what permuting does to the entropy of rows.

Fig. 1 shows a PDP with its ICE curves, which differ a lot while their mean does not. The example is that of Goldstein
et al. (2015), whom the paper cites: y = 0.2 x1 - 5 x2 + 10 x2 1[x3 >= 0] with uniform features.

Fig. 2 is a mock-up: rows lie where a model is sure; with one feature permuted, some lie where it is not, and the mean
entropy rises. Here it is a Gaussian process that was fitted on the rows.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import skedasis as sd
from experiments.entropy.drawing import MIDDLE, WARM, bare, curves, rug
from experiments.entropy.measures import spread, written
from experiments.entropy.models import process
from experiments.experiment import Claim, Experiment, Outcome, Picture, alone

GRID = np.linspace(-1.0, 1.0, 21)

SETTINGS = (
    "Fig. 1: 1,000 rows, the known function. Fig. 2: {draws} draws of 300 rows to fit on and 300 to test on, x2 = "
    "sin(2 "
    "x1) + noise of 0.15, y = sin(3 x1) + sin(3 x2) + noise of 0.1, scikit-learn's Gaussian process. The paper gives "
    "no "
    "formulas for either."
)


def crossing(X: np.ndarray) -> np.ndarray:
    """Return the function of Fig. 1: the slope in x2 is -5 or 5."""
    return 0.2 * X[:, 0] - 5.0 * X[:, 1] + 10.0 * X[:, 1] * (X[:, 2] >= 0)


def run(quick: bool) -> Outcome:
    """Draw the curves, and permute."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(1000, 3))
    effect = sd.explain(
        crossing, X, 1, method=sd.PDP(grid=GRID, ice="all"), heterogeneity_rows=0, progress=False
    )
    draws = range(2 if quick else 8)
    moved = [_moved(seed) for seed in draws]
    claims = [
        _average(effect),
        _hides(effect),
        _rises(moved),
        _exact(moved[0], 12 if quick else 60),
    ]
    return Outcome(claims, [], [_figure(effect, X, moved[0])], SETTINGS.format(draws=len(draws)))


def _moved(seed: int) -> dict[str, Any]:
    """Return the entropy of a process, rows, the rows with x2 permuted, and the entropies of both."""
    rng = np.random.default_rng(seed)
    x1 = rng.uniform(-2, 2, 600)
    X = np.column_stack([x1, np.sin(2 * x1) + 0.15 * rng.standard_normal(600)])
    y = np.sin(3 * X).sum(axis=1) + 0.1 * rng.standard_normal(600)
    entropy = sd.entropy(process(X[:300], y[:300]))
    rows = X[300:]
    other = rows.copy()
    other[:, 1] = rng.permutation(rows[:, 1])
    found = {"entropy": entropy, "rows": rows, "moved": other}
    return found | {"before": entropy.at(rows), "after": entropy.at(other)}


def _average(effect: sd.Effect) -> Claim:
    gap = float(np.abs(effect.curves.value.mean(axis=0) - effect.value).max())
    return Claim(
        "average",
        "the PDP is the average of the ICE curves (Eq. 3 and 4)",
        gap < 1e-12,
        f"They differ by {gap:.0e} at most.",
    )


def _hides(effect: sd.Effect) -> Claim:
    slopes = np.ptp(effect.curves.value, axis=1) / 2
    return Claim(
        "hides",
        "while the PDP shows the average behaviour, single rows' curves can be quite different (Fig. 1)",
        bool(np.ptp(effect.value) < 1.0 and slopes.min() > 4.9),
        f"The PDP changes by {written(float(np.ptp(effect.value)), 2)} over the range of x2, each curve by "
        f"{written(2 * slopes.min(), 2)}, up or down; the heterogeneity of the library is "
        f"{written(float(effect.heterogeneity.max()), 2)} at the ends.",
    )


def _rises(moved: list[dict[str, Any]]) -> Claim:
    rise = np.array([m["after"].mean() - m["before"].mean() for m in moved])
    high = np.array([np.quantile(m["before"], 0.99) for m in moved])
    beyond = np.array([np.mean(m["after"] > h) for m, h in zip(moved, high, strict=True)])
    return Claim(
        "rises",
        "rows are where the entropy is low; permuting x2 moves some to regions of high entropy, and the average rises "
        "(Fig. 2)",
        bool((rise > 0.1).all() and (beyond > 0.2).all()),
        f"The mean entropy rises by {spread(rise, 2)} nats; {100 * beyond.mean():.0f} % of the rows then exceed the "
        f"99 % quantile from before.",
    )


def _exact(first: dict[str, Any], seeds: int) -> Claim:
    entropy, rows = first["entropy"], first["rows"][:150]
    exact = sd.explain(entropy, rows, method=sd.PFI(exact=True), progress=False).mean
    held, off = [], []
    for seed in range(seeds):
        drawn = sd.explain(
            entropy, rows, method=sd.PFI(n_repeats=10), random_state=seed, progress=False
        )
        lower, upper = drawn.interval(0.95, "repeats")
        held.append((lower <= exact) & (exact <= upper))
        off.append(np.abs(drawn.mean - exact) / exact)
    share = float(np.mean(held))
    return Claim(
        "exact",
        "averages over permutations of a test set approximate Entropy-PFI",
        share > 0.85,
        f"The mean over all pairs of rows, `sd.PFI(exact=True)`, is {written(exact[1])} nats for x2 on 150 rows. Ten "
        f"permutations are off by {100 * np.mean(off):.1f} % on average, and their 95 % intervals contain it in "
        f"{share:.0%} of {2 * seeds} cases.",
    )


def _figure(effect: sd.Effect, X: np.ndarray, moved: dict[str, Any]) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.8, 6.2), layout="constrained")
    (one, before), (counts, after) = figure.subplots(2, 2)
    kept = X[effect.curves.row]
    groups = [
        ("x3 ≥ 0", np.flatnonzero(kept[:, 2] >= 0)),
        ("x3 < 0", np.flatnonzero(kept[:, 2] < 0)),
    ]
    curves(one, effect, groups, shown=12)
    rug(one, X[:, 1])
    one.set(xlabel="x2", ylabel="prediction", title="Fig. 1: ICE curves and their mean")
    one.legend(frameon=False, fontsize=8)
    for ax, rows, title in (
        (before, moved["rows"], "Fig. 2: test rows"),
        (after, moved["moved"], "Fig. 2: x2 permuted"),
    ):
        drawn = _contours(ax, moved["entropy"])
        ax.plot(*rows.T, ".", color=WARM, markersize=3, rasterized=True)
        ax.set(xlabel="x1", ylabel="x2", title=title)
        figure.colorbar(drawn, ax=ax, label="entropy, nats")
    _counted(counts, moved)
    for ax in (one, before, counts, after):
        ax.title.set_fontsize(10)
        bare(ax)
    caption = "What a mean hides (top left), and the effect of permutation on the entropy of rows"
    return Picture("illustrations", figure, caption)


def _counted(counts: Any, moved: dict[str, Any]) -> None:
    """Draw how many rows have which entropy."""
    edges = np.linspace(moved["before"].min(), moved["after"].max(), 30)
    counts.hist(
        moved["before"], edges, histtype="step", color=MIDDLE, linewidth=1.4, label="as they are"
    )
    counts.hist(
        moved["after"],
        edges,
        histtype="step",
        color=WARM,
        linestyle="--",
        linewidth=1.4,
        label="x2 permuted",
    )
    for key, colour, stroke in (("before", MIDDLE, "-"), ("after", WARM, "--")):
        counts.axvline(moved[key].mean(), color=colour, linestyle=stroke, linewidth=0.8)
    counts.set(
        xlabel="entropy, nats (thin lines: means)",
        ylabel="test rows",
        title="Fig. 2: entropies of the rows",
    )
    counts.legend(frameon=False, fontsize=8)


def _contours(ax: Any, entropy: Any) -> Any:
    """Draw the entropy over the plane."""
    a, b = np.meshgrid(np.linspace(-2.2, 2.2, 25), np.linspace(-1.6, 1.6, 19))
    found = entropy.at(np.column_stack([a.ravel(), b.ravel()])).reshape(a.shape)
    drawn = ax.contourf(a, b, found, levels=6, cmap="Greys", alpha=0.8)
    drawn.set_rasterized(True)
    return drawn


EXPERIMENT = Experiment(
    "entropy",
    "illustrations",
    "What averaging curves hides, and the effect of permutation",
    "entropy_importance, sec. 2.3 and 3.3, Fig. 1 and 2",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
