"""Example 2 (6.1.2 and 6.2.2.1, figures 6.5, 6.6, 6.9 and 6.10): f = x₁ + x₂ - x₃.

150 rows with X1 ~ U(0, 2), X2 ~ N(2, 1/2) and X3 | X2 ~ N(X2, 1/2). PDP and ALE agree up to a constant; the chapter
asks how to interpret them. With its distributions

- E[f] = 1, E[f | x₂] = 1 whatever x₂ is, for E[X3 | x₂] = x₂;
- E[f | x₃] = 2 - x₃ / 2, for E[X2 | x₃] = 2 + (x₃ - 2) / 2: normal variables regress to the mean both ways.

These are M-plots. Of the pair x₂, x₃ the ALE alone is zero, for there is no interaction; with the two main effects it
is the PDP up to a constant.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import skedasis as sd
from experiments.ale_vs_pdp import chapter as ch
from experiments.ale_vs_pdp.drawing import Panel, features, surfaces
from experiments.ale_vs_pdp.example_1 import Curve
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone

SAMPLES = 200
SLOPES = {"PDP": (1.0, 1.0, -1.0), "ALE": (1.0, 1.0, -1.0), "M-plot": (1.0, 0.0, -0.5)}
"""Every curve is a straight line in truth."""
PLACE = 2.5
"""Where the chapter reads the curves of x₂."""
SEED = 1


def curves(X: ch.Floats) -> dict[tuple[str, int], Curve]:
    """Return all methods' effects of all features; each method at its own points."""
    grid = {f"x{j}": np.linspace(X[:, j].min(), X[:, j].max(), ch.INTERVALS + 1) for j in range(3)}
    found = {}
    for method, how in (
        ("PDP", sd.PDP(grid=grid)),
        ("ALE", sd.ALE(bins=ch.INTERVALS)),
        ("M-plot", sd.MPlot(bins=ch.INTERVALS)),
    ):
        effects = sd.explain(ch.additive, X, method=how, heterogeneity_rows=0)
        for j in range(3):
            x, effect = np.sort(X[:, j]), effects[f"x{j}"]
            true = SLOPES[method][j] * (x - x.mean())
            found[method, j] = Curve(effect, x, ch.at_rows(effect, x), true)
    return found


def pair(X: ch.Floats) -> tuple[Any, Any, Any]:
    """Return the ALE of x₂ and x₃, the same with main effects, and the PDP on the same places."""
    ale = sd.explain(ch.additive, X, (1, 2), method=sd.ALE(bins=ch.INTERVALS))
    grid = {"x1": ale.x[0], "x2": ale.x[1]}
    pdp = sd.explain(ch.additive, X, (1, 2), method=sd.PDP(grid=grid))
    return ale, ale.with_main_effects(), pdp


def run(quick: bool) -> Outcome:
    """Repeat the example on many samples, and draw one."""
    samples = [ch.second(ch.N, seed) for seed in range(20 if quick else SAMPLES)]
    one = [curves(X) for X in samples]
    two = [pair(X) for X in samples]
    return Outcome(
        claims=[*_of_one(one), *_of_readings(one), *_of_pairs(samples, two)],
        tables=[_slopes(one)],
        pictures=_drawn(),
        settings=f"{ch.N} rows and {ch.INTERVALS} intervals, as in Example 1; {len(samples)} samples where the chapter "
        "has one. The M-plot is ours: the chapter argues with E[f | x₂], which an M-plot shows.",
    )


def _slope(many: list[Any], method: str, j: int) -> tuple[float, float]:
    """Return the mean slope of a line through a method's points, and its standard error."""
    effects = [c[method, j].effect for c in many]
    slopes = [np.polyfit(e.x, e.value, 1)[0] for e in effects]
    return float(np.mean(slopes)), float(np.std(slopes, ddof=1) / np.sqrt(len(slopes)))


def _of_one(many: list[Any]) -> list[Claim]:
    """Figures 6.5 and 6.6."""
    apart = max(float(np.abs(c[m, j].value - c[m, j].true).max()) for c in many
                for m in ("PDP", "ALE") for j in range(3))  # fmt: skip
    second, third = (_slope(many, "M-plot", j) for j in (1, 2))
    return [
        Claim(
            "same",
            "ALE and PDP are the same up to centring, and both right: lines of slope 1, 1 and -1",
            apart < 1e-12,
            f"Both differ from these lines by at most {apart:.0e} in {len(many)} samples.",
        ),
        Claim(
            "real_x2",
            "The real influence of x₂ is zero in expectation, because E[X2 - X3 | X2] = 0, and neither curve shows "
            "that",
            bool(abs(second[0]) < 4 * second[1] + 0.02),
            f"The mean prediction given x₂ (M-plot) has slope {second[0]:.3f} ± {second[1]:.3f}, both curves have 1.",
        ),
        Claim(
            "real_x3",
            "The real influence of x₃ is zero in expectation as well",
            bool(abs(third[0]) < 4 * third[1] + 0.02),
            f"The mean prediction given x₃ (M-plot) has slope {third[0]:.3f} ± {third[1]:.3f}.",
            "E[X3 | X2] = X2 does not imply E[X2 | X3] = X3: for normal variables with var X2 = 1/4 and var X3 = 1/2 "
            "it "
            "is 2 + (X3 - 2) / 2, so that E[f | x₃] = 2 - x₃ / 2.",
        ),
    ]


def _of_readings(many: list[Any]) -> list[Claim]:
    """Check the statements on the curves of x₂ at 2.5."""
    read = {m: np.array([float(c[m, 1].effect(PLACE)) for c in many]) for m in SLOPES}
    mean, error = (
        read["M-plot"].mean(),
        read["M-plot"].std(ddof=1) / np.sqrt(len(many)),
    )
    wrong = bool(abs(read["PDP"].mean() - 1.5) < 0.05 and abs(mean - 1) < 4 * error + 0.02)
    above = bool(abs(read["ALE"].mean() - 0.5) < 0.05 and abs(mean - 1) < 4 * error + 0.02)
    return [
        Claim(
            "reading_pdp",
            "“If x₂ is 2.5, I expect the prediction 1.5” is what the PDP seems to say, and is wrong",
            wrong,
            f"The PDP is {read['PDP'].mean():.2f} there; the mean prediction of rows with x₂ about 2.5 is "
            f"{mean:.2f} ± {error:.2f} (M-plot; in truth 1).",
        ),
        Claim(
            "reading_ale",
            "“If x₂ is 2.5, the prediction is 0.5 above average” is what the ALE seems to say, and is wrong",
            above,
            f"The ALE is {read['ALE'].mean():.2f} there; the mean prediction of such rows is {mean - 1:+.2f} ± "
            f"{error:.2f} from the average, 1.",
        ),
    ]


def _of_pairs(samples: list[ch.Floats], two: list[Any]) -> list[Claim]:
    """Figures 6.9 and 6.10."""
    alone_ = max(float(np.abs(ale.value).max()) for ale, _, _ in two)
    apart = max(float(np.ptp(whole.value - pdp.value)) for _, whole, pdp in two)
    together = np.mean(
        [ch.rms(_at_rows(whole, X)) for X, (_, whole, _) in zip(samples, two, strict=True)]
    )
    single = [np.mean([X[:, j].std() for X in samples]) for j in (1, 2)]
    over = np.mean([whole.value.std() for _, whole, _ in two])
    return [
        Claim(
            "no_second_order",
            "The ALE of x₂ and x₃ is almost zero, because there are only main effects",
            alone_ < 1e-12,
            f"Its largest value in {len(two)} samples is {alone_:.0e}.",
        ),
        Claim(
            "whole_is_pdp",
            "With both main effects it is the PDP of x₂ and x₃ up to a constant",
            apart < 1e-12,
            f"Their difference varies by at most {apart:.0e}.",
        ),
        Claim(
            "cancel",
            "For realistic rows the influence of the two is close to zero, because their effects oppose each other",
            bool(together < 0.5 * min(single)),
            f"At the rows the two effects together have deviation {together:.2f}; alone x₂ has {single[0]:.2f} and x₃ "
            f"{single[1]:.2f}; over the whole grid, which the rows only partly cover, it is {over:.2f}.",
            "On average it is zero, but not for single rows: x₂ - x₃ has standard deviation 1/2, the noise of x₃ about "
            "x₂, and x₂ itself varies by no more than that.",
        ),
    ]


def _at_rows(surface: Any, X: ch.Floats) -> ch.Floats:
    """Return a surface at rows, minus its mean over them."""
    value = surface(X[:, 1], X[:, 2])
    return value - value.mean()


def _slopes(many: list[Any]) -> Table:
    rows = []
    for j in range(3):
        cells = []
        for method, true in SLOPES.items():
            mean, error = _slope(many, method, j)
            cells.append(f"{mean:.3f} ± {error:.3f} ({true[j]:g})")
        rows.append([ch.NAMES[j], *cells])
    return Table(
        "Mean slope of the curves, with its standard error (in truth)", ("", *SLOPES), rows
    )


def _drawn() -> list[Picture]:
    X = ch.second(ch.N, SEED)
    ale, whole, pdp = pair(X)
    found = curves(X)
    panels = {"f = x₁ + x₂ - x₃": [{m: found[m, j] for m in SLOPES} for j in range(3)]}
    middle = np.mean(pdp(X[:, 1], X[:, 2]))
    shown = [
        Panel("PDP, minus its mean at the rows", lambda a, b: pdp(a, b) - middle),
        Panel("ALE: the second order alone", ale),
        Panel("ALE with main effects, and the rows", whole, rows=True),
    ]
    return [
        Picture(
            "example_2",
            features(panels, X),
            "Figures 6.5 and 6.6: PDP and ALE of 150 rows coincide; thick grey lines are true effects. The "
            "M-plot shows the mean prediction of rows with such a value: it stays the same with x₂ and falls with x₃",
        ),
        Picture(
            "example_2_pair",
            surfaces(shown, (ch.NAMES[1], ch.NAMES[2]), X[:, 1:]),
            "Figures 6.9 and 6.10: the ALE of x₂ and x₃ is zero, with main effects it is the PDP. The rows lie along "
            "the diagonal, but also vary across it",
        ),
    ]


EXPERIMENT = Experiment(
    "ale_vs_pdp",
    "example_2",
    "A sum of correlated features",
    "ale_vs_pdp, 6.1.2 and 6.2.2.1, figures 6.5, 6.6, 6.9 and 6.10",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
