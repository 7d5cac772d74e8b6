"""Example 1 (6.1.1, figures 6.1 to 6.4): f = x₁ x₂ x₃, and f = x₁ x₂², one feature at a time.

150 rows with X1 ~ U(0, 1/2), X2 ~ N(2, 2), X3 | X1, X2 ~ N(X2, X1), so that x₃ follows x₂. The chapter finds straight
PDPs of x₁ x₂ x₃; an ALE that is straight in x₁ but "shaky", and quadratic in x₂ and x₃, which it calls the true link;
and of x₁ x₂², which does not need x₃, PDPs and ALEs that agree.

In truth, with m = E[x₂²] = 8, E[x₁] = 1/4 and mu = 2, each curve up to a constant:

| f | feature | PDP | ALE | E[f given the feature], the M-plot |
|---|---|---|---|---|
| x₁ x₂ x₃ | x₁ | m x₁ | m x₁ | m x₁ |
| | x₂ | mu x₂ / 4 | x₂² / 8: the slope is E[x₁ x₃ given x₂] = x₂ / 4 | x₂² / 4 |
| | x₃ | mu x₃ / 4 | the integral of E[x₁ x₂ given x₃] | x₃ E[x₁ x₂ given x₃] |
| x₁ x₂² | x₁ | m x₁ | m x₁ | m x₁ |
| | x₂ | x₂² / 4 | x₂² / 4 | x₂² / 4 |
| | x₃ | 0 | 0 | E[x₁ x₂² given x₃] |
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import skedasis as sd
from experiments.ale_vs_pdp import chapter as ch
from experiments.ale_vs_pdp.drawing import features
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone

MU = SIGMA = 2.0
SQUARE = MU**2 + SIGMA**2
FUNCTIONS: dict[str, Callable[[ch.Floats], ch.Floats]] = {
    "x₁ x₂ x₃": ch.product,
    "x₁ x₂²": ch.squared,
}
Steps = dict[tuple[int, str], tuple[float, float]]
"""Distance of two curves, and number of bins, by rows and rule for bins."""
METHODS = ("PDP", "ALE", "M-plot")
SAMPLES = 200
SIZES = (150, 1_500, 15_000)
SEED = 1
"""Of the sample that is drawn."""


def truth(f: str, method: str, j: int, z: ch.Floats) -> ch.Floats:
    """Return the true effect up to a constant: see the table in the docstring."""
    if j == 0:
        return SQUARE * z
    if f == "x₁ x₂²" and j == 1:
        return z**2 / 4
    if j == 1:
        return {"PDP": MU * z / 4, "ALE": z**2 / 8, "M-plot": z**2 / 4}[method]
    if f == "x₁ x₂²":
        return ch.given_third(z, MU, SIGMA, 2) if method == "M-plot" else 0 * z
    if method == "PDP":
        return MU * z / 4
    slope = ch.given_third(z, MU, SIGMA, 1)
    return ch.accumulated(z, slope) if method == "ALE" else z * slope


@dataclass(frozen=True, eq=False)
class Curve:
    """One method's effect of one feature, of one sample.

    Parameters
    ----------
    effect : Effect
    value, true : ndarray
        At the rows, in order of the feature, each minus its mean over them.
    x : ndarray
        The feature, in order.
    """

    effect: Any
    x: ch.Floats
    value: ch.Floats
    true: ch.Floats

    @property
    def error(self) -> float:
        """Return the root mean square error over the rows."""
        return ch.rms(self.value - self.true)


def curves(f: str, X: ch.Floats, bins: Any = ch.INTERVALS) -> dict[tuple[str, int], Curve]:
    """Return all methods' effects of all features."""
    found: dict[tuple[str, int], Curve] = {}
    for method, how in (
        ("PDP", sd.PDP(grid={f"x{j}": _equidistant(X[:, j]) for j in range(3)})),
        ("ALE", sd.ALE(bins=bins)),
        ("M-plot", sd.MPlot(bins=ch.INTERVALS)),
    ):
        effects = sd.explain(FUNCTIONS[f], X, method=how, heterogeneity_rows=0)
        for j in range(3):
            x, effect = np.sort(X[:, j]), effects[f"x{j}"]
            true = truth(f, method, j, x)
            found[method, j] = Curve(effect, x, ch.at_rows(effect, x), true - true.mean())
    return found


def _equidistant(x: ch.Floats) -> ch.Floats:
    return np.linspace(x.min(), x.max(), ch.INTERVALS + 1)


def shakiness(samples: int, sizes: tuple[int, ...]) -> Steps:
    """Return how far the ALE of x₁ lies from its PDP, and the number of bins, by rows and rule for bins.

    The distance is the root mean square over the rows, as a fraction of that of the PDP.
    """
    rules = {str(k): sd.ALE(bins=k) for k in (100, 20, 10, 5, 2)} | {"automatic": sd.RHALE()}
    found = {}
    for n in sizes:
        many = max(3, samples * ch.N // n)
        apart: dict[str, list[tuple[float, int]]] = {rule: [] for rule in rules}
        for seed in range(many):
            X = ch.first(n, seed)
            line = np.mean(X[:, 1] * X[:, 2]) * (X[:, 0] - X[:, 0].mean())
            for rule, how in rules.items():
                effect = sd.explain(ch.product, X, 0, method=how, heterogeneity_rows=0)
                off = ch.rms(ch.at_rows(effect, X[:, 0]) - line) / ch.rms(line)
                apart[rule].append((off, len(effect.bins)))
        found |= {(n, rule): tuple(np.mean(a, axis=0)) for rule, a in apart.items()}
    return found


def run(quick: bool) -> Outcome:
    """Repeat the example on many samples, and draw one."""
    samples = 30 if quick else SAMPLES
    many = {f: [curves(f, ch.first(ch.N, seed)) for seed in range(samples)] for f in FUNCTIONS}
    steps = shakiness(20 if quick else SAMPLES, SIZES[:2] if quick else SIZES)
    return Outcome(
        claims=[
            *_of_product(many["x₁ x₂ x₃"], steps),
            *_of_steps(steps),
            *_of_square(many["x₁ x₂²"]),
        ],
        tables=[_errors(many), _steps(steps)],
        pictures=[_drawn()],
        settings=f"{ch.N} rows and {ch.INTERVALS} intervals (iml's default; the chapter names none), equal-count for "
        f"ALE and M-plot, equidistant for PDP; {samples} samples where the chapter has one. The prediction function is "
        "given, not fitted. Every curve is centred by its mean over the rows.",
        values={"steps": steps},
    )


def _left(many: list[Any], method: str, j: int, degree: int) -> ch.Floats:
    return np.array([ch.left_by(c[method, j].x, c[method, j].value, degree) for c in many])


def _of_product(many: list[Any], steps: Steps) -> list[Claim]:
    """Figures 6.1 and 6.2."""
    bent = max(float(_left(many, "PDP", j, 1).max()) for j in range(3))
    slopes = [
        np.mean([np.ptp(c["PDP", j].value) / np.ptp(c["PDP", j].x) for c in many]) for j in range(3)
    ]
    line = [_left(many, "ALE", j, 1) for j in range(3)]
    parabola = [_left(many, "ALE", j, 2) for j in range(3)]
    return [
        Claim(
            "pdp_straight",
            "The PDP of x₁ x₂ x₃ detects a linear influence of all three features",
            bool(bent < 1e-20),
            f"A straight line leaves at most {bent:.0e} of a PDP's variance; the slopes are "
            f"{', '.join(f'{s:.2f}' for s in slopes)} on average, in truth 8, 0.5 and 0.5.",
        ),
        Claim(
            "ale_bent",
            "The ALE is linear in x₁ only, and quadratic in x₂ and x₃",
            bool(line[0].mean() < 0.05)
            and all(bool(s.mean() > 0.15) for s in line[1:])
            and all(bool(s.mean() < 0.02) for s in parabola[1:]),
            f"A straight line leaves {', '.join(_percent(s) for s in line)} of its variance on average, a parabola "
            f"{', '.join(_percent(s) for s in parabola)}.",
        ),
        Claim(
            "shaky",
            "The ALE of x₁ is so unstable that its linear influence is almost invisible",
            bool(np.quantile(line[0], 0.95) > 0.2),
            f"A straight line explains {_percent(1 - line[0])} of it on average and "
            f"{1 - line[0].max():.1%} in the worst of {len(many)} samples.",
            f"The slopes of the bins are means of x₂ x₃ over some 7 rows each and do vary, but they add up to a line: "
            f"even with 100 intervals, a row or two in each, the curve deviates from the PDP's line by "
            f"{steps[ch.N, '100'][0]:.0%} of its standard deviation.",
        ),
        _link(many),
    ]


def _link(many: list[Any]) -> Claim:
    ale, link = (_curvature(many, method) for method in ("ALE", "M-plot"))
    apart = abs(ale[0] / link[0] - 1)
    return Claim(
        "true_link",
        "The quadratic ALEs of x₂ and x₃ are the true relation between prediction and feature, because x₂ x₃ is "
        "nearly x₂²",
        bool(apart < 0.2),
        f"The coefficient of x₂² is {ale[0]:.3f} ± {ale[1]:.3f} in the ALE (in truth 1/8) and {link[0]:.3f} ± "
        f"{link[1]:.3f} in the mean prediction given x₂ (M-plot; in truth 1/4).",
        "The form is right, the size is half: the ALE of x₂ is the effect of x₂ with x₃ fixed; the other half is the "
        "effect of x₃. The chapter describes E[f | x₂], which the M-plot shows.",
    )


def _curvature(many: list[Any], method: str) -> tuple[float, float]:
    """Return the mean coefficient of x₂², and its standard error.

    An ALE is one at the rows; an M-plot only at its points, the means of the bins, beyond which it says nothing.
    """
    points = [(c.x, c.value) for c in (sample[method, 1] for sample in many)]
    if method == "M-plot":
        points = [(c.x, c.value) for c in (sample[method, 1].effect for sample in many)]
    fits = [np.polyfit(x, value, 2)[0] for x, value in points]
    return float(np.mean(fits)), float(np.std(fits, ddof=1) / np.sqrt(len(fits)))


def _of_steps(steps: Steps) -> list[Claim]:
    """Check the statements on more rows and fewer intervals."""
    sizes = sorted({n for n, _ in steps})
    by_rows = [steps[n, str(ch.INTERVALS)][0] for n in sizes]
    by_bins = {k: steps[ch.N, k][0] for k in ("20", "10", "5", "2", "automatic")}
    fewer = list(by_bins.values())[:-1]
    return [
        Claim(
            "more_rows",
            "With more data the ALE of x₁ looks more like its PDP",
            all(bool(b < 0.6 * a) for a, b in pairwise(by_rows)),
            "Their distance is "
            + ", ".join(f"{d:.1%} with {n:,} rows" for d, n in zip(by_rows, sizes, strict=True))
            + " (root mean square, as a fraction of that of the PDP).",
        ),
        Claim(
            "fewer_intervals",
            "With fewer intervals the ALE of x₁ looks more like its PDP",
            all(bool(b < a) for a, b in pairwise(fewer)),
            f"It is {', '.join(f'{d:.1%} with {k}' for k, d in list(by_bins.items())[:-1])} intervals; RHALE, which "
            f"chooses its bins automatically, makes {steps[ch.N, 'automatic'][1]:.1f} of them on average: "
            f"{by_bins['automatic']:.1%}.",
        ),
    ]


def _of_square(many: list[Any]) -> list[Claim]:
    """Figures 6.3 and 6.4."""
    left = {m: _left(many, m, 0, 1).mean() for m in ("PDP", "ALE")}
    off = {m: np.mean([c[m, 1].error / ch.rms(c[m, 1].true) for c in many]) for m in ("PDP", "ALE")}
    none = max(np.abs(c[m, 2].effect.value - c[m, 2].effect.value[0]).max() for c in many
               for m in ("PDP", "ALE"))  # fmt: skip
    seen = np.mean([np.ptp(c["M-plot", 2].value) for c in many])
    return [
        Claim(
            "square_agrees",
            "For x₁ x₂² both PDP and ALE show a line in x₁ and a parabola in x₂: the PDP works, because x₁ and x₂ are "
            "independent",
            bool(max(left.values()) < 0.05 and max(off.values()) < 0.25),
            f"A line leaves {left['PDP']:.0e} of the PDP's and {left['ALE']:.1%} of the ALE's variance in x₁; in x₂ "
            f"the error is {off['PDP']:.0%} and {off['ALE']:.0%} of the true effect's deviation.",
        ),
        Claim(
            "square_unused",
            "Neither shows an influence of x₃, which x₁ x₂² does not use",
            bool(none < 1e-12),
            f"Both curves change by at most {none:.0e} in {len(many)} samples. The mean prediction given x₃ (M-plot) "
            f"changes by {seen:.1f} on average, because x₃ follows x₂.",
        ),
    ]


def _percent(share: Any) -> str:
    return f"{np.mean(share):.1%}"


def _errors(many: dict[str, list[Any]]) -> Table:
    rows = []
    for f, samples in many.items():
        for j in range(3):
            cells = []
            for m in METHODS:
                size = np.mean([ch.rms(c[m, j].true) for c in samples])
                error = np.mean([c[m, j].error for c in samples])
                cells.append(f"{size:.2f} / {error:.3f}")
            rows.append([f"{f}, {ch.NAMES[j]}", *cells])
    return Table(
        "Deviation of the true effect over the rows / root mean square error of the estimate",
        ("function, feature", *METHODS),
        rows,
    )


def _steps(steps: Steps) -> Table:
    sizes = sorted({n for n, _ in steps})
    rules = list(dict.fromkeys(rule for _, rule in steps))
    return Table(
        "Distance of the ALE of x₁ from its PDP (f = x₁ x₂ x₃), as a share of the PDP's deviation; number of bins",
        ("intervals", *(f"{n:,} rows" for n in sizes)),
        [
            [
                rule if rule != "automatic" else "RHALE, automatic",
                *(f"{steps[n, rule][0]:.1%} ({steps[n, rule][1]:.1f})" for n in sizes),
            ]
            for rule in rules
        ],
    )


def _drawn() -> Picture:
    X = ch.first(ch.N, SEED)
    rows = {
        f"f = {f}": [{m: c[m, j] for m in METHODS} for j in range(3)]
        for f, c in ((f, curves(f, X)) for f in FUNCTIONS)
    }
    figure = features(rows, X)
    return Picture(
        "example_1",
        figure,
        "Figures 6.1 to 6.4 in one: PDP, ALE and M-plot of 150 rows; thick grey lines are the true effects of each. "
        "Above, x₃ follows x₂, and the three methods show different things; below, f does not depend on x₃, and only "
        "the M-plot shows an effect of it.",
    )


EXPERIMENT = Experiment(
    "ale_vs_pdp",
    "example_1",
    "First-order effects of a product",
    "ale_vs_pdp, 6.1.1, figures 6.1 to 6.4",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
