"""RHALE section 3.1, appendix A: what a bin's deviation estimates, Theorem 1 and Corollary 2, by exact sums and draws.

Within a bin the expected slope mu(z) and its deviation sigma(z) change with z. The paper proves that the bin's
estimates are unbiased for z uniform in the bin (A.1, A.2), that the variance is sigma² plus a bin error (Theorem 1),
and that the partition with the least bin error is the one with the least variance (Corollary 2), which "can be
directly estimated".
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any

import numpy as np

import skedasis as sd
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone
from experiments.rhale import panels
from experiments.rhale.settings import LIKELIHOOD, Floats, mean_error, pm

SETTINGS = (
    "Theorem and corollary on 12 cells with random means and deviations, all partitions compared; estimates on "
    "200 rows with slopes mu(z) = 4 z², sigma(z) = 1 + z, z uniform on (0, 1) and, for comparison, z with density 2 "
    "z; the number of bins for slopes that do not depend on z."
)
CELLS = 12


def parts(mu: Floats, sigma: Floats, start: int, end: int) -> tuple[float, float, float]:
    """Return sigma*², sigma² and E² of the bin of some cells of equal width (Eq. 8, 12; A.2)."""
    m, s = mu[start:end], sigma[start:end]
    second = float(np.mean(s**2 + m**2))
    return second - float(m.mean()) ** 2, float(np.mean(s**2)), float(np.mean((m - m.mean()) ** 2))


def partitions(cells: int) -> Iterator[list[int]]:
    """Yield the edges of every partition."""
    for count in range(cells):
        for inner in combinations(range(1, cells), count):
            yield [0, *inner, cells]


def slopes(z: Floats, rng: np.random.Generator) -> Floats:
    """Draw slopes with mean 4 z² and deviation 1 + z."""
    return 4 * z**2 + (1 + z) * rng.standard_normal(len(z))


def explained(z: Floats, d: Floats, bins: Any, **settings: Any) -> sd.Effect:
    """Explain rows whose slopes are d."""
    q = sd.prediction(
        lambda X: X[:, 0], slope=lambda X: np.stack([X[:, 1], np.zeros(len(X))], axis=1)
    )
    return sd.explain(
        q, np.stack([z, d], axis=1), 0, method=sd.RHALE(bins=bins, **settings), heterogeneity_rows=0
    )


def run(quick: bool) -> Outcome:
    """Check each statement, by exact sums where there are some."""
    draws, seeds = (200, 30) if quick else (3000, 200)
    counts = {name: chosen(scheme, seeds) for name, scheme in SCHEMES.items()}
    claims = [
        *_estimates(draws),
        *_theorem(),
        _corollary(5 if quick else 20),
        _estimated(seeds),
        _prefers(counts),
    ]
    return Outcome(
        claims, [_table(counts)], [Picture("theorem", _drawn(counts), CAPTION)], SETTINGS
    )


def _estimates(draws: int) -> list[Claim]:
    # Over (0, 1): the integrals of 4 z², (1 + z)² and of (4 z² - 4/3)².
    mu, variance = 4 / 3, 7 / 3 + 16 * (1 / 5 - 1 / 9)
    found = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        u = rng.uniform(size=200)
        row = []
        for z in (u, np.sqrt(u)):
            bins = explained(z, slopes(z, rng), sd.Edges([0.0, 1.0])).bins
            row += [bins.effect[0], bins.std[0] ** 2]
        found.append(row)
    means = [mean_error(column) for column in np.array(found).T]
    off = [abs(m - t) / e for (m, e), t in zip(means, (mu, variance, mu, variance), strict=True)]
    return [
        Claim(
            "unbiased_if_uniform",
            "a bin's mean and variance of slopes are unbiased for mu and sigma*² if z is uniform in the bin (A.1, A.2)",
            bool(max(off[:2]) < 4),
            f"{draws:,} draws of 200 rows: {means[0][0]:.4f} ± {means[0][1]:.4f} (true {mu:.4f}) and "
            f"{means[1][0]:.3f} ± {means[1][1]:.3f} (true {variance:.3f}).",
        ),
        Claim(
            "unbiased",
            "the bin effect of Eq. 10 is an unbiased estimator of Eq. 7 (section 3.1, without the condition)",
            bool(max(off[2:]) < 4),
            f"With rows of density 2 z in the bin the mean is {means[2][0]:.3f} ± {means[2][1]:.3f} where Eq. 7 is "
            f"{mu:.3f}, the variance {means[3][0]:.2f} where sigma*² is {variance:.2f}.",
            "Eq. 7 averages over the bin's width, Eq. 10 over its rows. They agree if rows are uniform within the bin "
            "or mu(z) is constant: appendix A.1 assumes the former, section 3.1 does not say so.",
        ),
    ]


def _theorem() -> list[Claim]:
    rng = np.random.default_rng(0)
    squared, plain, over = [], [], []
    for _ in range(200):
        mu, sigma = rng.normal(size=CELLS), rng.exponential(size=CELLS)
        star, inner, residual = parts(mu, sigma, 0, CELLS)
        squared.append(abs(star - inner - residual))
        plain.append(abs(star - inner - residual**2))
        over.append(star >= inner)
    return [
        Claim(
            "theorem_1",
            "sigma*² = sigma² + E², with E² the mean squared residual, so the estimate is never too small (Theorem 1)",
            bool(max(squared) < 1e-12 and all(over)),
            f"200 random bins, exact sums: the two sides differ by {max(squared):.0e} at most.",
        ),
        Claim(
            "theorem_1_as_defined",
            "it holds with E itself defined as the mean squared residual, as the theorem's text does (before Eq. 12)",
            bool(max(plain) < 1e-12),
            f"The two sides then differ by up to {max(plain):.2f}.",
            "E is the root of the mean squared residual; the proof has it right (A.3, Eq. 12).",
        ),
    ]


def _corollary(examples: int) -> Claim:
    rng = np.random.default_rng(1)
    same, least = [], []
    for _ in range(examples):
        mu, sigma = np.round(rng.normal(size=CELLS), 1), rng.exponential(size=CELLS)
        costs = []
        for edges in partitions(CELLS):
            figures = np.array(
                [np.array(parts(mu, sigma, a, b)) * (b - a) for a, b in pairwise(edges)]
            )
            costs.append(figures.sum(axis=0))
        star, inner, residual = np.array(costs).T
        same.append(np.ptp(inner))
        least.append(star[np.argmin(residual)] <= star.min() + 1e-9)
    return Claim(
        "corollary_2",
        "the partition with the least bin error has the least variance, for the sum of sigma² is the same for "
        "all of them",
        bool(max(same) < 1e-9 and all(least)),
        f"{examples} random examples, all {2 ** (CELLS - 1):,} partitions of {CELLS} cells: the sum of sigma² "
        f"differs between partitions by {max(same):.0e} at most, and both sums have their minimum at the same "
        f"partitions.",
    )


def _estimated(seeds: int) -> Claim:
    """Compare the least sum of estimated variances with the true one, for slopes that do not depend on z."""
    bins, sums = [], []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        e = explained(
            rng.uniform(size=200),
            rng.standard_normal(200),
            sd.Optimal(20, 0.0, 10, criterion="eq13"),
        )
        bins.append(len(e.bins))
        sums.append(np.sum(e.bins.std**2 * (e.bins.right - e.bins.left)) / (e.x[-1] - e.x[0]))
    return Claim(
        "directly_estimated",
        "the sum of variances to be minimised can be directly estimated from the bins' estimates (after Corollary 2)",
        bool(abs(np.mean(sums) - 1) < 0.02),
        "Slopes independent of z with variance 1, 200 rows, alpha = 0: the least estimated sum is "
        f"{pm(np.array(sums), 3)} where the true sum is 1 for every partition, and its partition has "
        f"{np.mean(bins):.1f} bins where one is as good.",
        "Each estimate is unbiased, the smallest of many is not: the search prefers bins whose rows agree by chance. "
        "The discount alpha counteracts this, and so does a penalty for each bin (our default).",
    )


SCHEMES: dict[str, sd.Optimal] = {
    **{
        f"Eq. 13, alpha = {a:g}": sd.Optimal(20, a, 10, criterion="eq13")
        for a in (0.0, 0.2, 0.5, 0.8)
    },
    "by likelihood (our default)": LIKELIHOOD,
}


def chosen(scheme: sd.Optimal, seeds: int) -> Floats:
    """Return numbers of bins for slopes that do not depend on z, 200 rows per draw."""
    out = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        out.append(len(explained(rng.uniform(size=200), rng.standard_normal(200), scheme).bins))
    return np.array(out, dtype=float)


def _prefers(counts: dict[str, Floats]) -> Claim:
    none, typical = counts["Eq. 13, alpha = 0"], counts["Eq. 13, alpha = 0.2"]
    ours = counts["by likelihood (our default)"]
    mean, error = mean_error(none - typical)
    return Claim(
        "discount_prefers_wide_bins",
        "among partitions of similar error the discount tau prefers the one with wider bins",
        bool(mean > 3 * error),
        f"Where slopes do not depend on z at all, alpha = 0 gives {none.mean():.1f} bins, the typical 0.2 "
        f"{typical.mean():.1f} ({np.mean(typical == 1):.0%} of the draws have the one bin that is best), bins by "
        f"likelihood "
        f"{ours.mean():.2f} ({np.mean(ours == 1):.0%}).",
    )


def _table(counts: dict[str, Floats]) -> Table:
    rows = [[name, pm(found, 2), f"{np.mean(found == 1):.0%}"] for name, found in counts.items()]
    return Table(
        "Slopes that do not depend on z: 200 rows, one bin is best",
        ("rule", "bins", "one bin"),
        rows,
    )


CAPTION = (
    "Theorem 1 for slopes 4 z² ± (1 + z): the standard deviation in equal bins of (0, 1), and the true one; right: "
    "bins found where slopes do not depend on z"
)


def _drawn(counts: dict[str, Floats]) -> Any:
    made, axes = panels.figure(1, 2, (9.5, 3.4))
    z = (np.arange(4000) + 0.5) / 4000
    for k, stroke in ((1, "-"), (2, "--"), (5, ":")):
        star = [parts(4 * z**2, 1 + z, i * 4000 // k, (i + 1) * 4000 // k)[0] for i in range(k)]
        name = "1 bin" if k == 1 else f"{k} bins"
        axes[0, 0].stairs(
            np.sqrt(star),
            np.linspace(0, 1, k + 1),
            linestyle=stroke,
            color=panels.BLUE,
            label=name,
            baseline=None,
        )
    axes[0, 0].plot(z, 1 + z, "k", linestyle=(0, (1, 1.5)), label="sigma(z)")
    panels.label(axes[0, 0], "sigma* of equal bins", "z", "deviation of the slopes")
    axes[0, 0].legend(fontsize=8, frameon=False)
    axes[0, 0].set_ylim(bottom=0)
    axes[0, 1].boxplot(list(counts.values()), orientation="horizontal", widths=0.6, sym=".")
    axes[0, 1].invert_yaxis()
    axes[0, 1].set_yticks(range(1, len(counts) + 1), counts)
    panels.label(axes[0, 1], "slopes that do not depend on z", "bins found (1 is best)")
    return made


EXPERIMENT = Experiment(
    "rhale",
    "theorem",
    "What the standard deviation in a bin estimates",
    "RHALE, sec. 3.1 and 3.2, Theorem 1, Corollary 2, A.1–A.4",
    run,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
