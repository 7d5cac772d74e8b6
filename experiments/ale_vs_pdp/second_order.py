"""Two features of Example 1 (6.2.1, 6.2.2.2, figures 6.8 and 6.11; Eq. 6.4 to 6.7; appendix 6.5.1): f = x₁ x₂ x₃.

X1 ~ U(0, 1/2), X2 ~ N(5, 1), X3 | X1, X2 ~ N(X2, X1). The appendix works out the second-order ALE of x₁ and x₂; its
last line simplifies to

    (x₁ - (a + b) / 2) (x₂² - mu² - sigma²) / 2,

derived in `definition.py`, where Eq. 6.1 to 6.3 are also integrated numerically, without the appendix. `equations.py`
has the estimate, Eq. 6.4 to 6.7, sum by sum as printed. The library differs from it on purpose: the increments of
the main effects average a cell's two edges, and between corners the surface is bilinear where the chapter's is a step
function with the value of the upper corner.

With main effects the ALE is x₁ (x₂² + m) / 2 with m = E[X2²], the PDP is mu x₁ x₂, each up to a constant: they differ
by x₁ ((x₂ - mu)² + sigma²) / 2.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import skedasis as sd
from experiments.ale_vs_pdp import chapter as ch
from experiments.ale_vs_pdp.definition import by_definition, lines
from experiments.ale_vs_pdp.drawing import Panel, surfaces
from experiments.ale_vs_pdp.equations import Literal, literal
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone

MU, SIGMA = 5.0, 1.0
SAMPLES = 100
DESIGN = ((150, 5), (150, 20), (1_500, 10), (1_500, 20), (15_000, 20), (15_000, 40))
"""Rows, and intervals of each feature."""
SEED = 1


def truth(X: ch.Floats) -> ch.Floats:
    """Return the second-order ALE at rows."""
    return ch.second_order(X[:, 0], X[:, 1], MU, SIGMA)


def rows(n: int, seed: int) -> ch.Floats:
    """Return rows of 6.2.1.3."""
    return ch.first(n, seed, MU, SIGMA)


def run(quick: bool) -> Outcome:
    """Check the appendix and the equations, and estimate from many samples."""
    many = 10 if quick else SAMPLES
    found = {
        (n, K): [_estimated(n, K, seed) for seed in range(max(3, many * ch.N // n))]
        for n, K in DESIGN[: 3 if quick else None]
    }
    return Outcome(
        claims=[*_of_appendix(), *_of_equations(), _of_estimate(found), _of_whole(many)],
        tables=[_lines(), _errors(found)],
        pictures=_drawn(),
        settings=f"Cells are products of equal-count intervals, {ch.INTERVALS} by {ch.INTERVALS} unless stated "
        f"otherwise; empty cells take the nearest cell's value, as in the chapter. {many} samples of {ch.N} rows "
        f"where the "
        "chapter has one, fewer of more rows.",
    )


# ------------------------------------------------------------------------------------------- the appendix


def _compared() -> dict[str, tuple[float, float]]:
    """Return the largest error of each printed line at the rows, and the range of the correct values."""
    whole = by_definition(ch.product, MU, SIGMA)
    near = np.abs(whole.x2 - MU) < 2.5 * SIGMA
    x1, x2 = np.meshgrid(whole.x1, whole.x2[near], indexing="ij")
    right = {"raw": whole.raw, "corrected": whole.corrected}
    found = {}
    printed = lines(x1, x2, MU, SIGMA, float(whole.x1[0]), float(whole.x2[0]))
    for name, value in printed.items():
        true = right.get(name, whole.centred)[:, near]
        found[name] = (float(np.abs(value - true).max()), float(np.ptp(true)))
    return found


def _of_appendix() -> list[Claim]:
    compared = _compared()
    last, short = compared["centred, last line"], compared["short form"]
    wrong = {k: v for k, v in compared.items() if v[0] > 1e-6 * v[1]}
    said = ", ".join(f"“{k}” by {e:.1f} where the range is {r:.1f}" for k, (e, r) in wrong.items())
    return [
        Claim(
            "closed_form",
            "The last line of the appendix is the second-order ALE of x₁ and x₂",
            max(last[0], short[0]) < 1e-9,
            f"It differs from Eq. 6.1 to 6.3, integrated numerically, by at most {last[0]:.0e}; so does "
            f"(x₁ - (a + b)/2)(x₂² - mu² - sigma²)/2, to which it simplifies; the range is {last[1]:.1f}.",
        ),
        Claim(
            "derivation",
            "The lines of the appendix that lead to it are also right",
            not wrong,
            f"{len(wrong)} of {len(compared) - 1} printed lines differ: {said}.",
            "The first lacks the square of z₀,₂; the corrected effect lacks the factor 1/2 and has + for - before "
            "(x₁ - z₀,₁)(mu² + sigma²); the first centred line repeats that sign. Eq. 6.9, 6.10 and the last two "
            "lines are right.",
        ),
    ]


def _lines() -> Table:
    body = [[k, f"{e:.2g}", f"{r:.2f}"] for k, (e, r) in _compared().items()]
    head = ("line of 6.5.1", "largest error", "range")
    return Table("The appendix as printed, compared with Eq. 6.1 to 6.3 integrated", head, body)


# ------------------------------------------------------------------------------------------ the equations


def _of_equations() -> list[Claim]:
    """Read Eq. 6.4 to 6.7 as they are printed; rows and intervals such that no cell is empty."""
    X = rows(2_000, SEED)
    edges = tuple(np.quantile(X[:, j], np.linspace(0, 1, 7), method="inverted_cdf") for j in (0, 1))
    cells = literal(ch.product, X, (edges[0], edges[1]))
    left = {p: _main_left(cells, p) for p in (True, False)}
    corrected = cells.corrected(False)
    mean = {p: cells.mean(cells.centred(corrected, p)) for p in (True, False)}
    size = float(np.ptp(corrected))
    return [
        Claim(
            "eq_6_6",
            "Eq. 6.6 removes both main effects",
            left[True] < 1e-9 * size,
            f"As printed it leaves a main effect of x₂ of {left[True]:.2f}, where the surface's range is "
            f"{size:.2f}; with the right index, {left[False]:.0e}.",
            "In its second sum k counts intervals of x_l, as its limit k_l(x_l) and n_l(k) say, but z_k,j, z_m,l and "
            "n(k, m) then use it for x_j.",
        ),
        Claim(
            "eq_6_7",
            "Eq. 6.7 centres the surface by its mean over the data",
            abs(mean[True]) < 1e-9 * size,
            f"As printed the mean afterwards is {mean[True]:,.0f}; divided by N = {len(X):,}, {mean[False]:.0e}.",
            "The sum over the cells, weighted by their counts, is N times the mean: the factor 1/N is missing.",
        ),
    ]


def _main_left(cells: Literal, printed: bool) -> float:
    return max(float(np.abs(m).max()) for m in cells.main(cells.corrected(printed)))


# ------------------------------------------------------------------------------------------- the estimate


def _estimated(n: int, K: int, seed: int) -> dict[str, float]:
    """Return the estimates' errors at the rows, as shares of the truth's deviation, and the correlation."""
    X = rows(n, seed)
    true, size = truth(X), truth(rows(20_000, 99)).std()
    surface = sd.explain(ch.product, X, (0, 1), method=sd.ALE(bins=K))
    smooth = surface(X[:, 0], X[:, 1])
    found = {
        "bilinear": ch.rms(smooth - true) / size,
        "step": ch.rms(surface(X[:, 0], X[:, 1], step=True) - true) / size,
        "correlation": float(np.corrcoef(smooth, true)[0, 1]),
        "filled": float(surface.support.mean()),
    }
    # Eq. 6.4 says nothing of empty cells.
    if n <= 1_500 and surface.support.all():
        cells = literal(ch.product, X, surface.x)
        value = cells.centred(cells.corrected(False), False)
        up = [np.clip(np.searchsorted(z, X[:, j], "left"), 1, K) for j, z in enumerate(surface.x)]
        found["printed"] = ch.rms(value[up[0], up[1]] - true) / size
    return found


def _of_estimate(found: dict[tuple[int, int], list[dict[str, float]]]) -> Claim:
    small = found[ch.N, ch.INTERVALS]
    alike = [s["correlation"] for s in small]
    error = np.mean([s["bilinear"] for s in small])
    filled = np.mean([s["filled"] for s in small])
    n, K = max(found)
    best = np.mean([s["bilinear"] for s in found[n, K]])
    return Claim(
        "estimate",
        "The ALE of 150 rows looks pretty similar to the theoretical one",
        bool(np.mean(alike) > 0.95),
        f"At the rows their correlation is {np.mean(alike):.3f} (at least {min(alike):.3f} in {len(small)} samples), "
        f"the error {error:.0%} of the true deviation, although rows are in only {filled:.0%} of the cells; with {n:,} "
        f"rows and {K} intervals it is {best:.0%}.",
    )


def _errors(found: dict[tuple[int, int], list[dict[str, float]]]) -> Table:
    body = []
    for (n, K), samples in found.items():
        mean = {
            k: np.mean([s[k] for s in samples])
            for k in ("filled", "correlation", "bilinear", "step")
        }
        full = [s["printed"] for s in samples if "printed" in s]
        printed = f"{np.mean(full):.0%}" if full else "–"
        body.append(
            [f"{n:,}, {K} × {K}", f"{mean['filled']:.0%}", f"{mean['correlation']:.3f}",
             f"{mean['bilinear']:.1%}", f"{mean['step']:.0%}", printed]
        )  # fmt: skip
    return Table(
        "The second-order ALE of x₁ and x₂: error at the rows, as a fraction of the true standard deviation",
        ("rows, intervals", "cells with rows", "correlation", "ours", "ours, as steps",
         "Eq. 6.4–6.7 corrected, as steps"),
        body,
    )  # fmt: skip


# ------------------------------------------------------------------------------ with main effects, Fig. 6.11


def _whole(X: ch.Floats) -> tuple[Any, Any]:
    """Return the ALE with main effects and the PDP, on the same places."""
    ale = sd.explain(ch.product, X, (0, 1), method=sd.ALE(bins=ch.INTERVALS)).with_main_effects()
    grid = {"x0": ale.x[0], "x1": ale.x[1]}
    return ale, sd.explain(ch.product, X, (0, 1), method=sd.PDP(grid=grid))


def _of_whole(many: int) -> Claim:
    alike = []
    for seed in range(many):
        X = rows(ch.N, seed)
        at = [surface(X[:, 0], X[:, 1]) for surface in _whole(X)]
        alike.append(float(np.corrcoef(at[0], at[1])[0, 1]))
    X = rows(20_000, 99)
    apart = X[:, 0] * ((X[:, 1] - MU) ** 2 + SIGMA**2) / 2
    share = apart.std() / (MU * X[:, 0] * X[:, 1]).std()
    return Claim(
        "whole",
        "With main effects added, the ALE of x₁ and x₂ looks pretty much like the PDP",
        bool(np.mean(alike) > 0.95),
        f"At the rows their correlation is {np.mean(alike):.4f} (at least {min(alike):.4f} in {many} samples); "
        f"in truth they differ by x₁ ((x₂ - mu)² + sigma²)/2, whose deviation is {share:.1%} of the PDP's.",
    )


def _drawn() -> list[Picture]:
    X = rows(ch.N, SEED)
    names = (ch.NAMES[0], ch.NAMES[1])
    estimate = [sd.explain(ch.product, rows(n, SEED), (0, 1), method=sd.ALE(bins=ch.INTERVALS))
                for n in (ch.N, 15_000)]  # fmt: skip
    ale, pdp = _whole(X)
    middle = np.mean(pdp(X[:, 0], X[:, 1]))
    second = [
        Panel("in truth", lambda a, b: ch.second_order(a, b, MU, SIGMA)),
        Panel("from 150 rows, which are shown", estimate[0], rows=True),
        Panel("from 15,000 rows", estimate[1]),
    ]
    whole = [
        Panel("PDP, minus its mean at the rows", lambda a, b: pdp(a, b) - middle),
        Panel("ALE with main effects", ale, rows=True),
        Panel("the same in truth", lambda a, b: ch.with_main(a, b, MU, SIGMA)),
    ]
    return [
        Picture(
            "second_order",
            surfaces(second, names, X),
            "Figure 6.8: the second-order ALE of x₁ and x₂ in the closed form of the appendix, and estimated",
        ),
        Picture(
            "second_order_whole",
            surfaces(whole, names, X),
            "Figure 6.11: with main effects the ALE looks like the PDP; the difference is a few percent",
        ),
    ]


EXPERIMENT = Experiment(
    "ale_vs_pdp",
    "second_order",
    "Second-order effects of a product",
    "ale_vs_pdp, 6.2.1, 6.2.2.2 and 6.5.1, figures 6.8 and 6.11, Eq. 6.1 to 6.7",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
