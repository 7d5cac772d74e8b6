"""UALE, section 3.3 and appendix E: what Eq. 13 minimises, and the table of Eq. 14, 15, 19 and 20 that should do it.

`table` is Eq. 14 as it stands: T(i, j) over the number of edges placed and the place of the last, with any cost B of a
bin. With B as Eq. 15 prints it and with B as Eq. 13 needs it, the result is held against all partitions of eight cells.

Eq. 15 differs from Eq. 13 in two ways: a bin is infeasible if ``x_j > x_l``, which is every bin that runs from left to
right (and if it holds fewer than N rows, N being all of them); and its cost is the variance alone, without the width
and the discount tau.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import combinations, pairwise

import numpy as np

import skedasis as sd
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone
from experiments.uale import drawing
from experiments.uale.drawing import Floats
from skedasis.datasets.simulations import PiecewiseLinear

CASE = PiecewiseLinear()
QUANTITY = sd.prediction(CASE.f, slope=CASE.slope)
CELLS, ALPHA, LEAST, ROWS = 8, 0.2, 5, 200
COUNTS = (1, 2, 5, 10, 20, 50, 100, 150)
Cost = Callable[[int, int], float]
Partition = tuple[int, ...]


class Binned:
    """The rows of one draw in eight cells, and what a bin of some of these costs.

    Parameters
    ----------
    x, d : ndarray, shape (n,)
        Places and slopes.
    """

    def __init__(self, x: Floats, d: Floats) -> None:
        self.edges = np.linspace(x.min(), x.max(), CELLS + 1)
        order = np.argsort(x)
        self.d, self.n = d[order], len(x)
        self.first = np.searchsorted(x[order], self.edges)
        self.first[-1] = self.n

    def rows(self, left: int, right: int) -> Floats:
        """Return the slopes between two edges."""
        return self.d[self.first[left] : self.first[right]]

    def eq13(self, left: int, right: int) -> float:
        """Return tau * variance * width of a bin that holds enough rows, else infinity."""
        if left == right:
            return 0.0
        rows = self.rows(left, right)
        if right < left or len(rows) < LEAST:
            return np.inf
        width = self.edges[right] - self.edges[left]
        return (1 - ALPHA * len(rows) / self.n) * float(rows.var(ddof=1) * width)

    def variance(self, left: int, right: int) -> float:
        """Return Eq. 15's cost, with feasibility put right: the variance alone."""
        feasible = np.isfinite(self.eq13(left, right))
        if left == right or not feasible:
            return self.eq13(left, right)
        return float(self.rows(left, right).var(ddof=1))

    def literal(self, left: int, right: int) -> float:
        """Return Eq. 15 as it stands, with l the left and j the right place."""
        if self.edges[right] > self.edges[left] or len(self.rows(left, right)) < self.n:
            return 0.0 if left == right else np.inf
        return float(self.rows(left, right).var(ddof=1))


def table(cost: Cost) -> tuple[float, Partition]:
    """Return the least total cost by Eq. 14, and the edges that reach it; none where it is infinite."""
    best = np.full((CELLS + 1, CELLS + 1), np.inf)
    best[0, 0] = 0.0
    came_from = np.zeros((CELLS + 1, CELLS + 1), dtype=int)
    costs = np.array([[cost(left, j) for j in range(CELLS + 1)] for left in range(CELLS + 1)])
    for i in range(1, CELLS + 1):
        reached = best[i - 1][:, None] + costs
        came_from[i] = reached.argmin(axis=0)
        best[i] = reached.min(axis=0)
    if not np.isfinite(best[CELLS, CELLS]):
        return np.inf, ()
    places = [CELLS]
    for i in range(CELLS, 0, -1):
        places.append(int(came_from[i, places[-1]]))
    return float(best[CELLS, CELLS]), tuple(sorted(set(places)))


def partitions() -> list[Partition]:
    """Return all partitions of the cells, as the edges that they keep."""
    inner = range(1, CELLS)
    return [(0, *some, CELLS) for k in range(CELLS) for some in combinations(inner, k)]


def total(cost: Cost, edges: Partition) -> float:
    """Return the cost of a partition."""
    return sum(cost(left, right) for left, right in pairwise(edges))


def run(quick: bool) -> Outcome:
    """Search the bins of many draws in all ways."""
    draws = 40 if quick else 150
    found = [_searched(seed) for seed in range(draws)]
    sums = estimated(200 if quick else 1000)
    claims = [_literal(found), _objective(found), _optimal(found), _corollary(), _estimate(sums)]
    head = ("search", "bins", "cost by Eq. 13 over the least", "the optimum")
    rows = [
        _line("all partitions", [f["all"] for f in found], found),
        _line("Eq. 14 with the cost of Eq. 13", [f["eq13"] for f in found], found),
        _line("Eq. 14 with the cost of Eq. 15, l < j", [f["variance"] for f in found], found),
        _line("skedasis.Optimal", [f["library"] for f in found], found),
    ]
    settings = (
        f"{draws} draws of {ROWS} rows of section 4.2's piecewise linear function, K_max = {CELLS}, alpha = {ALPHA}, "
        f"at least {LEAST} rows per bin; all 128 partitions are tried. Variances are divided by n - 1."
    )
    return Outcome(claims, [Table("Bins found", head, rows)], [_drawn(found, sums)], settings)


def _searched(seed: int) -> dict:
    X = CASE.sample(ROWS, seed)
    binned = Binned(X[:, 0], CASE.slope(X)[:, 0])
    every = {p: total(binned.eq13, p) for p in partitions()}
    bins = sd.Optimal(max_bins=CELLS, alpha=ALPHA, min_points=LEAST)
    effect = sd.explain(QUANTITY, X, 0, method=sd.RHALE(bins=bins), heterogeneity_rows=0)
    ours = tuple(int(np.argmin(np.abs(binned.edges - x))) for x in effect.x)
    return {
        "every": every,
        "all": min(every, key=lambda p: every[p]),
        "eq13": table(binned.eq13)[1],
        "variance": table(binned.variance)[1],
        "literal": table(binned.literal)[0],
        "library": ours,
    }


def _line(name: str, chosen: list[Partition], found: list[dict]) -> list[str]:
    ratio = [f["every"][p] / f["every"][f["all"]] for p, f in zip(chosen, found, strict=True)]
    share = np.mean(np.array(ratio) < 1 + 1e-9)
    bins = np.mean([len(p) - 1 for p in chosen])
    return [name, f"{bins:.1f}", f"{np.mean(ratio):.3f}", f"{share:.0%}"]


def _literal(found: list[dict]) -> Claim:
    none = np.mean([np.isinf(f["literal"]) for f in found])
    numbers = f"In {none:.0%} of {len(found)} draws T(K_max, K_max) is infinite: there is no partition at all."
    why = (
        "A bin from x_l up to x_j has x_j > x_l, and this is what Eq. 15 and 20 forbid. The intended condition is x_j "
        "< x_l, "
        "and fewer than N_PPB rows, not N."
    )
    says = "the table with the feasibility of Eq. 15 and 20 gives bins"
    return Claim("feasibility", says, bool(none < 1), numbers, why)


def _objective(found: list[dict]) -> Claim:
    ratio = np.array([f["every"][f["variance"]] / f["every"][f["all"]] for f in found])
    same = float(np.mean(ratio < 1 + 1e-9))
    bins = [np.mean([len(f[key]) - 1 for f in found]) for key in ("variance", "all")]
    numbers = (
        f"With corrected feasibility it finds the optimum of Eq. 13 in {same:.0%} of {len(found)} draws; its bins cost "
        f"{ratio.mean():.2f} times as much by Eq. 13 on average and {ratio.max():.2f} at most ({bins[0]:.1f} bins "
        f"against {bins[1]:.1f})."
    )
    why = (
        "Eq. 15 and 20 leave out the width and tau. Without the width each bin adds its variance, however narrow it "
        "is, so the minimum has few bins."
    )
    says = "the table with the cost of Eq. 15 and 20 minimises Eq. 13"
    return Claim("objective", says, bool(same == 1), numbers, why)


def _optimal(found: list[dict]) -> Claim:
    ratios = {
        key: np.array([f["every"][f[key]] / f["every"][f["all"]] for f in found])
        for key in ("eq13", "library")
    }
    numbers = (
        f"In {len(found)} draws its bins, and the library's, cost as little as the best of all 128 partitions (at most "
        f"{max(r.max() for r in ratios.values()) - 1:.0e} more)."
    )
    holds = all(bool(np.all(r < 1 + 1e-9)) for r in ratios.values())
    says = "dynamic programming finds the global optimum (with the cost of Eq. 13)"
    return Claim("global", says, holds, numbers)


def _corollary() -> Claim:
    """Compare all partitions of (0, 1) into cells in closed form, for mu(z) = sin(7 z) and sigma(z) = z."""
    edges = np.linspace(0, 1, CELLS + 1)
    mean = -np.cos(7 * edges) / 7
    square = edges / 2 - np.sin(14 * edges) / 28
    spread = edges**3 / 3
    errors, sums = [], []
    for kept in partitions():
        at = list(kept)
        residual = np.diff(square[at]) - np.diff(mean[at]) ** 2 / np.diff(edges[at])
        errors.append(residual.sum())
        sums.append((residual + np.diff(spread[at])).sum())
    apart = np.array(sums) - np.array(errors)
    numbers = (
        f"With mu(z) = sin 7z and sigma(z) = z the two sums differ by {apart.min():.6f} to {apart.max():.6f} over "
        "all 128 partitions, the integral of sigma²: they rank the partitions in the same order."
    )
    says = "Corollary 3.1.1: the least bin error and the least sum of sigma*² dz are the same partition"
    return Claim("corollary", says, bool(np.ptp(apart) < 1e-12), numbers)


def estimated(draws: int) -> dict[int, tuple[float, float, float]]:
    """Return, for equal bins, the mean of the sum of Eq. 11 times width, with ddof 0 and 1, and its error; truly 1."""
    rng = np.random.default_rng(7)
    out = {}
    for k in COUNTS:
        d = rng.normal(size=(draws, k, 300 // k))
        sums = d.var(axis=2).mean(axis=1)
        per = 300 // k
        error = sums.std(ddof=1) / np.sqrt(draws)
        out[k] = (float(sums.mean()), float(sums.mean() * per / (per - 1)), float(error))
    return out


def _estimate(sums: dict[int, tuple[float, float, float]]) -> Claim:
    shown = ", ".join(f"{sums[k][0]:.3f}" for k in (1, 20, 100, 150))
    other = ", ".join(f"{sums[k][1]:.3f}" for k in (1, 20, 100, 150))
    numbers = (
        f"Where slopes have mean 0 and deviation 1 everywhere, 300 rows, the sum is 1 for all partitions; with 1, "
        f"20, 100, 150 equal bins its estimate is {shown} on average, and divided by n - 1 {other}."
    )
    why = (
        "Eq. 11 divides by n: the more bins, the smaller the estimated sum, so its minimum favours narrow bins "
        "because of the estimator. alpha and N_PPB counteract this; dividing by n - 1 removes it."
    )
    holds = all(abs(v[0] - 1) < 4 * v[2] for v in sums.values())
    says = "the sum of sigma*² dz is directly estimated by that of Eq. 11"
    return Claim("estimate", says, bool(holds), numbers, why)


def _drawn(found: list[dict], sums: dict[int, tuple[float, float, float]]) -> Picture:
    figure, (axes,) = drawing.sheet(1, 2, height=3.6, width=9.5)
    left, right = axes
    every = found[0]["every"]
    known = {p: c for p, c in every.items() if np.isfinite(c)}
    bins = [len(p) - 1 for p in known]
    left.plot(bins, list(known.values()), ".", color="#8a8a8a", markersize=4, label="a partition")
    for key, mark, label in (
        ("eq13", "o", "Eq. 14 with Eq. 13's cost"),
        ("variance", "s", "with Eq. 15's cost"),
    ):
        place = found[0][key]
        look = {"markerfacecolor": "none", "markersize": 9, "markeredgewidth": 1.6}
        colour = drawing.EQ13 if key == "eq13" else drawing.TRUTH
        left.plot(len(place) - 1, every[place], mark, color=colour, label=label, **look)
    drawing.named(left, "number of bins", "cost by Eq. 13", "one draw, all partitions of 8 cells")
    right.axhline(1, color="#999999", linewidth=0.8)
    looks = (
        ("divided by n (Eq. 11)", drawing.INK, "o-"),
        ("divided by n - 1", drawing.EQ13, "s--"),
    )
    for column, (label, colour, stroke) in enumerate(looks):
        values = [sums[k][column] for k in COUNTS]
        right.plot(COUNTS, values, stroke, color=colour, markersize=4, label=label)
    right.set(xscale="log", ylim=(0.4, 1.1))
    right.set_xticks(COUNTS, [str(k) for k in COUNTS])
    right.minorticks_off()
    drawing.named(
        right,
        "number of equal bins, 300 rows",
        "sum of variance times width, truly 1",
        "what Eq. 13 minimises",
    )
    for ax in axes:
        ax.legend(frameon=False, fontsize=8)
    caption = (
        "Left: all partitions of eight cells by their cost, and the result of Eq. 14 with the costs of Eq. 13 and of "
        "Eq. 15. Right: the sum that Eq. 13 minimises, in a case where its true value does not depend on the bins"
    )
    return Picture("bin_search", figure, caption)


EXPERIMENT = Experiment(
    "uale",
    "bin_search",
    "The bin search",
    "UALE, Corollary 3.1.1, Eq. 13 to 15, 19 and 20",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
