"""UALE, section 3: its equations for bins, checked by closed forms and by simulation.

The example is the paper's own of section 4.2: slopes ``9 z + e`` with e of variance 1/2, so that the mean slope is
mu(z) = 9 z and the deviation sigma(z)² = 1/2 everywhere; and where a deviation must change, slopes of deviation z. In
one bin over (0, 1) the mean squared residual is 81/12 = 6.75.
"""

from __future__ import annotations

import sys

import numpy as np

import skedasis as sd
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone
from experiments.uale import drawing
from experiments.uale.drawing import Floats, bins_of

SLOPE, VARIANCE = 9.0, 0.5
RESIDUAL = SLOPE**2 / 12
COUNTS = (2, 3, 5, 10, 25, 50)
BINS = (1, 2, 5, 10, 20, 50, 100)
# The slopes of a row are its second column.
QUANTITY = sd.prediction(
    lambda X: X[:, 0] * X[:, 1], slope=lambda X: np.stack([X[:, 1], X[:, 0]], axis=1)
)


def run(quick: bool) -> Outcome:
    """Check each equation."""
    draws = 4000 if quick else 20_000
    biased, unbiased, error = variances(draws)
    growth = accumulated()
    claims = [
        _theorem(200_000 if quick else 1_000_000),
        _unbiased(biased, unbiased, error),
        _only_when(draws),
        _uniform(200_000 if quick else 1_000_000),
        _linear(),
        _accumulates(growth),
    ]
    rows = [
        [f"{k}", f"{growth[k][0]:.4f}", f"{growth[k][1]:.4f}", f"{growth[k][2]:.4f}"] for k in BINS
    ]
    head = ("equal bins", "exactly", "Eq. 9", "RHALE Eq. 16")
    table = Table("Deviation z accumulated from 0 to 1 (Eq. 5)", head, rows)
    settings = (
        f"Bins of n rows are drawn {draws:,} times; bins of many rows once. Estimates are the library's, with ddof = "
        "0 as in Eq. 11 and with ddof = 1."
    )
    return Outcome(claims, [table], [_drawn(biased, unbiased, growth)], settings)


def in_one_bin(x: Floats, d: Floats, ddof: int) -> sd.Effect:
    """Explain rows at x whose slopes are d, with one bin over (0, 1)."""
    method = sd.UALE(bins=sd.Edges([0.0, 1.0]), ddof=ddof)
    return sd.explain(QUANTITY, np.stack([x, d], axis=1), 0, method=method, heterogeneity_rows=0)


def variances(draws: int) -> tuple[Floats, Floats, Floats]:
    """Return, for each of `COUNTS`, the mean of Eq. 11 over its target with ddof 0 and 1, and the standard error."""
    rng = np.random.default_rng(0)
    out = []
    for n in COUNTS:
        x = rng.uniform(size=(draws, n))
        d = SLOPE * x + np.sqrt(VARIANCE) * rng.normal(size=(draws, n))
        ratio = d.var(axis=1) / (VARIANCE + RESIDUAL)
        out.append([ratio.mean(), ratio.mean() * n / (n - 1), ratio.std(ddof=1) / np.sqrt(draws)])
    return tuple(np.array(out).T)


def accumulated() -> dict[int, tuple[float, float, float]]:
    """Return, for equal bins: the integral of sigma(z) = z (Eq. 5), its form in bins (Eq. 9), and RHALE's Eq. 16."""
    out = {}
    for k in BINS:
        edges = np.linspace(0, 1, k + 1)
        squares = np.diff(edges**3) / 3 * k
        out[k] = (0.5, float(np.sum(np.sqrt(squares)) / k), float(np.sqrt(np.sum(squares)) / k))
    return out


def _rows(n: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n)
    return x, SLOPE * x + np.sqrt(VARIANCE) * rng.normal(size=n)


def _theorem(n: int) -> Claim:
    x, d = _rows(n, 1)
    found = float(bins_of(in_one_bin(x, d, 1)).std[0] ** 2)
    printed = VARIANCE + RESIDUAL**2
    numbers = (
        f"In one bin over (0, 1) sigma*² is {VARIANCE + RESIDUAL:.2f} in closed form and {found:.3f} of {n:,} rows; "
        f"with E = {RESIDUAL:.2f}, the mean squared residual, the printed right side is {printed:.2f}."
    )
    why = (
        f"The theorem defines E as the mean squared residual and adds its square. It is right if E² is the mean "
        f"squared residual: {VARIANCE:g} + {RESIDUAL:g}."
    )
    says = "Theorem 3.1: sigma*² = sigma² + E², where E is the mean squared residual"
    return Claim("theorem", says, bool(abs(found - printed) < 0.1), numbers, why)


def _unbiased(biased: Floats, unbiased: Floats, error: Floats) -> Claim:
    shown = ", ".join(f"{b:.3f}" for b in biased)
    of = ", ".join(str(n) for n in COUNTS)
    other = ", ".join(f"{b:.3f}" for b in unbiased)
    numbers = (
        f"In bins of {of} rows its mean is {shown} of sigma*² (standard error at most {error.max():.3f}); divided by "
        f"n - 1 it is {other}."
    )
    why = "It divides by n, not by n - 1, so its mean is (n - 1)/n of sigma*²; RHALE's Eq. 11 divides by n - 1."
    holds = bool(np.all(np.abs(biased - 1) < 4 * error))
    return Claim("unbiased", "Eq. 11 is an unbiased estimator of sigma*²", holds, numbers, why)


def _only_when(draws: int) -> Claim:
    rng = np.random.default_rng(2)
    ratio = {}
    for slope in (0.0, 1.0, 3.0):
        x = rng.uniform(size=(draws, 25))
        d = slope * x + np.sqrt(VARIANCE) * rng.normal(size=x.shape)
        each = d.var(axis=1, ddof=1) / VARIANCE
        ratio[slope] = (float(each.mean()), float(each.std(ddof=1) / np.sqrt(draws)))
    shown = ", ".join(
        f"{m:.3f} ± {e:.3f} (in theory {1 + b**2 / 12 / VARIANCE:.3f}) with mu(z) = {b:g} z"
        for b, (m, e) in ratio.items()
    )
    numbers = f"Divided by n - 1 the estimate is {shown}, in units of sigma²."
    flat, rest = ratio[0.0], [ratio[b] for b in (1.0, 3.0)]
    holds = abs(flat[0] - 1) < 4 * flat[1] and all(m - 1 > 4 * e for m, e in rest)
    says = "the estimate of a bin's deviation is unbiased only where the mean slope does not change in it"
    return Claim("only_when", says, bool(holds), numbers)


def _uniform(n: int) -> Claim:
    x, d = _rows(n, 3)
    rng = np.random.default_rng(4)
    leaning = np.sqrt(rng.uniform(size=n))
    other = SLOPE * leaning + np.sqrt(VARIANCE) * rng.normal(size=n)
    means = [float(bins_of(in_one_bin(*rows, 1)).effect[0]) for rows in ((x, d), (leaning, other))]
    error = np.sqrt((VARIANCE + RESIDUAL) / n)
    numbers = (
        f"The bin effect (Eq. 6) is 4.5; the mean of {n:,} slopes is {means[0]:.3f} where rows are uniform and "
        f"{means[1]:.3f} where their density rises as 2 z (in theory 6). So the assumption is needed, and it is "
        f"violated wherever data are skewed."
    )
    holds = abs(means[0] - 4.5) < 4 * error and abs(means[1] - 4.5) > 4 * error
    says = "Eq. 10 is unbiased under the assumption that rows are uniform within the bin"
    return Claim("uniform", says, bool(holds), numbers)


def _linear() -> Claim:
    at, printed, joined, true = _curves(10)
    steps = float(np.abs(printed - true).max())
    lines = float(np.abs(joined - true).max())
    numbers = (
        f"For sin(2 pi x) with ten bins Eq. 8 as printed is up to {steps:.2f} from the effect, and jumps at each "
        f"edge; linear within bins it is up to {lines:.3f} off."
    )
    why = (
        "The sums include the whole bin that contains x, wherever x is in it. RHALE's Eq. 9 counts the "
        "part up to x, as the library does."
    )
    says = "Eq. 8 and 9 are piecewise linear approximations"
    flat = bool(np.allclose(np.diff(printed[(at > 0.01) & (at < 0.09)]), 0))
    return Claim("piecewise", says, not flat, numbers, why)


def _curves(k: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return points, Eq. 8 as printed, Eq. 8 joined linearly, and the effect, of sin(2 pi x) with k equal bins."""
    at = np.linspace(0, 1, 1001)
    edges = np.linspace(0, 1, k + 1)
    value = np.sin(2 * np.pi * edges)
    place = np.minimum(np.searchsorted(edges, at, side="right"), k)
    return at, value[place], np.interp(at, edges, value), np.sin(2 * np.pi * at)


def _accumulates(growth: dict[int, tuple[float, float, float]]) -> Claim:
    true, many = 0.5, growth[BINS[-1]]
    rng = np.random.default_rng(5)
    x = rng.uniform(size=100_000)
    e = sd.explain(
        QUANTITY,
        np.stack([x, x * rng.normal(size=len(x))], axis=1),
        0,
        method=sd.UALE(bins=sd.Uniform(1)),
        heterogeneity_rows=0,
    )
    numbers = (
        f"Where sigma(z) = z it accumulates to 0.5 over (0, 1); Eq. 9 gives {growth[1][1]:.3f} with one bin (the "
        f"library, of 100,000 rows: {e.accumulated_std[-1]:.3f}), {growth[5][1]:.3f} with 5, {many[1]:.4f} with 100: "
        f"never less, because the root of a mean square is at least the mean. RHALE's Eq. 16 gives {growth[1][2]:.3f}, "
        f"{growth[5][2]:.3f}, {many[2]:.3f}: it goes to 0 as bins become narrower."
    )
    holds = all(v[1] >= true for v in growth.values()) and many[1] - true < 1e-3
    says = "Eq. 9 approximates the accumulated deviation (Eq. 5)"
    return Claim("accumulated", says, bool(holds), numbers)


def _drawn(
    biased: Floats, unbiased: Floats, growth: dict[int, tuple[float, float, float]]
) -> Picture:
    figure, (axes,) = drawing.sheet(1, 3, height=3.5, width=10.0)
    first, second, third = axes
    first.axhline(1, color="#999999", linewidth=0.8)
    first.plot(COUNTS, unbiased, "s--", color=drawing.EQ13, markersize=4, label="divided by n - 1")
    first.plot(COUNTS, biased, "o-", color=drawing.INK, markersize=4, label="divided by n (Eq. 11)")
    first.set(xscale="log", ylim=(0.4, 1.1))
    first.set_xticks(COUNTS, [str(n) for n in COUNTS])
    first.minorticks_off()
    drawing.named(first, "rows in the bin", "mean estimate / truth", "bin variance")
    at, printed, joined, true = _curves(10)
    second.plot(at, printed, color=drawing.INK, linewidth=1.5, label="Eq. 8 as printed")
    second.plot(
        at, joined, color=drawing.EQ13, linewidth=1.5, linestyle="--", label="linear within bins"
    )
    second.plot(at, true, color=drawing.TRUTH, linewidth=1.2, linestyle=":", label="effect")
    drawing.named(second, "x", "effect", "ten bins of sin(2πx)")
    for column, label, look in (
        (0, "Eq. 5", {"color": drawing.TRUTH, "linestyle": ":"}),
        (1, "Eq. 9", {"color": drawing.INK, "marker": "o"}),
        (2, "RHALE Eq. 16", {"color": drawing.EQ13, "marker": "s", "linestyle": "--"}),
    ):
        third.plot(BINS, [growth[k][column] for k in BINS], markersize=4, label=label, **look)
    third.set(xscale="log", ylim=(0, None))
    third.set_xticks(BINS, [str(k) for k in BINS])
    third.minorticks_off()
    drawing.named(third, "number of equal bins", "accumulated to x = 1", "deviation z, accumulated")
    for ax in axes:
        ax.legend(frameon=False, fontsize=8)
    caption = (
        "UALE's equations: the bin variance of Eq. 11 over its target; Eq. 8 as printed; the accumulated "
        "deviation of Eq. 5, and its approximation by Eq. 9 and RHALE's Eq. 16"
    )
    return Picture("formulas", figure, caption)


EXPERIMENT = Experiment(
    "uale", "formulas", "The equations of bins", "UALE, Eq. 5 to 12, Theorem 3.1", run
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
