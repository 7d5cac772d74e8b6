"""Example 1 modified (6.2.2.3, figure 6.12): f = x₃³ where x₃ >= 6 and x₂ <= 4, else x₁ x₂ x₃.

X1 ~ U(0, 1/2), X2 ~ N(5, 1), X3 | X1, X2 ~ N(X2, X1): where f is changed x₃ lies four standard deviations and more from
x₂. The PDP combines the x₃ of every row with every x₂. In truth it is, for x₂ <= 4,

    x₁ x₂ E[X3; X3 < 6] + E[X3³; X3 >= 6],

and mu x₁ x₂ for x₂ > 4. An ALE moves rows no farther than to the edges of their own cells.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import skedasis as sd
from experiments.ale_vs_pdp import chapter as ch
from experiments.ale_vs_pdp.drawing import Panel, surfaces
from experiments.ale_vs_pdp.second_order import MU, SIGMA, rows
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone

SAMPLES = 100
JUMP, HIGH = 4.0, 6.0
"""f is changed for x₂ up to the one and x₃ from the other."""
GRID = {"x0": np.array([0.01, 0.25, 0.49]), "x1": np.array([2.5, 3.5, 4.0, 4.5, 5.5, 6.5])}
SEED = 1


def tails(cells: int = 400) -> tuple[float, float, float]:
    """Return E[X3; X3 < 6], E[X3³; X3 >= 6] and P(X3 >= 6, X2 <= 4), by quadrature over x₁ and x₂."""
    x1 = (np.arange(cells) + 0.5) / cells * (ch.B - ch.A) + ch.A
    t = (np.arange(4 * cells) + 0.5) / (4 * cells) * 16 - 8
    x2, weight = MU + SIGMA * t, np.exp(-(t**2) / 2)
    z = np.linspace(-4, 14, 9 * cells + 1)
    density = np.mean([_normal(z, MU, np.sqrt(SIGMA**2 + s**2)) for s in x1], axis=0)
    step = z[1] - z[0]
    # The sums end between two points, where the tails begin.
    ends = np.where(z < HIGH, 1.0, 0.0) + np.where(np.isclose(z, HIGH), 0.5, 0.0)
    below = float((z * density * ends).sum() * step)
    above = float((z**3 * density * (1 - ends)).sum() * step)
    far = [_beyond((HIGH - x2[x2 <= JUMP]) / s) @ weight[x2 <= JUMP] for s in x1]
    return below, above, float(np.mean(far) / weight.sum())


def _normal(z: ch.Floats, mean: float, deviation: float) -> ch.Floats:
    return np.exp(-(((z - mean) / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))


def _beyond(z: ch.Floats) -> ch.Floats:
    from scipy.stats import norm

    return np.asarray(norm.sf(z))


def ale(f: Any, X: ch.Floats) -> Any:
    """Return the ALE with main effects."""
    return sd.explain(f, X, (0, 1), method=sd.ALE(bins=ch.INTERVALS)).with_main_effects()


def pdp(f: Any, X: ch.Floats, grid: Any = GRID) -> Any:
    """Return the PDP."""
    return sd.explain(f, X, (0, 1), method=sd.PDP(grid=grid))


def run(quick: bool) -> Outcome:
    """Explain both functions from many samples; draw one."""
    samples = [rows(ch.N, seed) for seed in range(15 if quick else SAMPLES)]
    ales = [(ale(ch.product, X), ale(ch.changed, X)) for X in samples]
    pdps = np.array([(pdp(ch.product, X).value, pdp(ch.changed, X).value) for X in samples])
    below, above, chance = tails()
    place, value = GRID["x1"], np.outer(GRID["x0"], GRID["x1"])
    true = np.where(place <= JUMP, value * below + above, MU * value)
    return Outcome(
        claims=[
            _unlikely(chance, samples),
            _thrown(pdps, true, above, samples),
            _unmoved(ales),
        ],
        tables=[_table(pdps, true, ales)],
        pictures=[_drawn()],
        settings=f"{ch.N} rows, {ch.INTERVALS} × {ch.INTERVALS} cells; {len(samples)} samples where the "
        "chapter has one. " + _told(samples),
    )


def _unlikely(chance: float, samples: list[ch.Floats]) -> Claim:
    seen = sum(int((ch.changed(X) != ch.product(X)).sum()) for X in samples)
    return Claim(
        "unlikely",
        "The rows for which f is changed are very unlikely",
        chance < 1e-4,
        f"Their probability is {chance:.0e}; among the {sum(map(len, samples)):,} rows of all samples there are "
        f"{seen}.",
    )


def _thrown(pdps: Any, true: ch.Floats, above: float, samples: list[ch.Floats]) -> Claim:
    low = GRID["x1"] <= JUMP
    rise = (pdps[:, 1] - pdps[:, 0])[:, :, low].mean(axis=(1, 2))
    error = (pdps[:, 1].mean(axis=0) - true) / (pdps[:, 1].std(axis=0, ddof=1) / np.sqrt(len(pdps)))
    largest = np.mean([ch.product(X).max() for X in samples])
    return Claim(
        "pdp",
        "Where x₂ < 4 the values of the PDP are huge, because it assumes that such rows are possible",
        bool(rise.min() > 10 and np.abs(error).max() < 5),
        f"There it is higher by {rise.mean():.0f} on average (at least {rise.min():.0f}), where f itself is at most "
        f"{largest:.0f} in a sample; E[X3³; X3 >= 6] = {above:.1f}. It agrees with its definition: the largest "
        f"error of the mean over samples is {np.abs(error).max():.1f} standard errors.",
    )


def _unmoved(ales: list[Any]) -> Claim:
    apart = max(float(np.abs(a.value - b.value).max()) for a, b in ales)
    return Claim(
        "ale",
        "The ALE shows no difference to the unchanged f",
        apart == 0.0,
        f"The largest difference in {len(ales)} samples is {apart:g}: no such row is ever evaluated.",
    )


def _told(samples: list[ch.Floats]) -> str:
    """Return whether the library warns of the PDP, from rows and grid alone."""
    grid = {"x0": ch.INTERVALS + 1, "x1": ch.INTERVALS + 1}
    few = samples[:5]
    pdps = sum(_far(pdp(ch.changed, X, grid), X) for X in few)
    ales = sum(_far(ale(ch.changed, X), X) for X in few)
    return (
        f"The library's `surface.checks(X=X)` warns of {pdps} of {len(few)} PDPs that they extrapolate, and of {ales} "
        f"of the ALEs."
    )


def _far(surface: Any, X: ch.Floats) -> bool:
    return "farther from all data" in str(surface.checks(X=X))


def _table(pdps: Any, true: ch.Floats, ales: list[Any]) -> Table:
    body = []
    x1 = GRID["x0"][1]
    for k, x2 in enumerate(GRID["x1"]):
        at = [float(np.nanmean([pair[j](x1, x2) for pair in ales])) for j in (0, 1)]
        body.append(
            [f"{x2:g}", f"{ch.product(np.array([[x1, x2, x2]]))[0]:.2f}",
             f"{pdps[:, 0, 1, k].mean():.2f}", f"{pdps[:, 1, 1, k].mean():.2f}", f"{true[1, k]:.2f}",
             f"{at[0]:.2f}", f"{at[1]:.2f}"]
        )  # fmt: skip
    return Table(
        f"At x₁ = {x1:g}: means over the samples",
        ("x₂", "f at x₃ = x₂", "PDP", "PDP, f changed", "in truth", "ALE, centred",
         "ALE, f changed"),
        body,
    )  # fmt: skip


def _drawn() -> Picture:
    X = rows(ch.N, SEED)
    whole = ale(ch.changed, X)
    fine = {"x0": whole.x[0], "x1": np.unique([*whole.x[1], JUMP, np.nextafter(JUMP, 9)])}
    surface = pdp(ch.changed, X, fine)
    shown = [
        Panel("PDP", surface, scale="pdp", jump=JUMP),
        Panel("ALE with main effects, and the rows", whole, rows=True, scale="ale"),
        Panel("the same in truth", lambda a, b: ch.with_main(a, b, MU, SIGMA), scale="ale"),
    ]
    return Picture(
        "modified",
        surfaces(shown, (ch.NAMES[0], ch.NAMES[1]), X),
        "Figure 6.12: f is changed where there is no row. Every sixth row has x₃ >= 6, and the PDP puts its cube "
        "wherever "
        "x₂ <= 4; the ALE is that of x₁ x₂ x₃. The PDP has a separate colour scale",
    )


EXPERIMENT = Experiment(
    "ale_vs_pdp",
    "modified",
    "A function changed where there are no data",
    "ale_vs_pdp, 6.2.2.3, figure 6.12",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
