"""RHALE section 5 and appendix B.3: a network of California's houses (Fig. 9; supplementary Fig. 5 and 6a, b).

The rows are prepared as in appendix B.3, the network is that of `experiments.rhale.california`. The paper reads from
the plots of latitude (x2) and median income (x8) that the first lowers and the second raises the price for almost all
instances, that latitude's slopes differ more, that PDP and ICE say much the same here, and that Eq. 13 makes wide
bins for x3, x4, x5 and x7 and narrow ones for x2.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import skedasis as sd
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone
from experiments.rhale import panels
from experiments.rhale.california import NAMES, Fitted, fitted
from experiments.rhale.settings import LIKELIHOOD, Floats
from skedasis.datasets.real import california_rhale, load

EQ13 = sd.Optimal(20, 0.2, 30, criterion="eq13")
TABLE_1 = (
    (-124.35, -114.31, -119.58, 2.0),
    (32.54, 41.95, 35.65, 2.14),
    (1, 52, 29.01, 12.42),
    (2, 9179, 2390.79, 1433.83),
    (2, 1797, 493.86, 291.0),
    (3, 4818, 1310.91, 771.78),
    (2, 1644, 460.3, 267.34),
    (0.5, 9.56, 3.72, 1.60),
)
LATITUDE, INCOME = 1, 7
SETTINGS = (
    "19,549 rows, features and target standardised; 15,639 to train and to explain; layers of 256, 128 and 36 "
    "units with ReLU, Adam at 0.02, 15 epochs of batches of 128; Eq. 13 with K_max = 20, at least 30 rows per bin, "
    "alpha = 0.2; slopes by autodiff; PDP of 2,000 rows on 20 points. Ten networks; figures of the first. "
    "Processors round differently, so that the same seed fits another network on another machine."
)
_ROWS = 2000


def run(_quick: bool) -> Outcome:
    """Fit networks, and explain each; a quick run is the same, for single networks differ in their verdicts."""
    networks = [fitted(seed) for seed in range(10)]
    explained = [
        list(
            sd.explain(
                n.quantity, n.X, method=sd.RHALE(bins=EQ13, center="start"), heterogeneity_rows=0
            ).values()
        )
        for n in networks
    ]
    swept = [list(_pdp(n).values()) for n in networks]
    similar = np.array(
        [
            [_similar(e, p) for e, p in zip(*both, strict=True)]
            for both in zip(explained, swept, strict=True)
        ]
    )
    return Outcome(
        claims=[
            *_of_rows(),
            _error(networks),
            *_of_slopes(explained),
            *_alike(similar),
            _widths(explained),
        ],
        tables=[_table(explained, similar)],
        pictures=[
            Picture("california_effects", _main(explained[0], swept[0]), MAIN),
            Picture("california_features", _others(explained[0], swept[0]), OTHERS),
            Picture("california_histograms", _histograms(), HISTOGRAMS),
        ],
        settings=SETTINGS,
    )


def _pdp(network: Fitted) -> sd.Effects:
    method = sd.PDP(grid=20, ice=200, center="start", percentiles=(5, 95), spacing="uniform")
    return sd.explain(network.quantity, network.X[:_ROWS], method=method, heterogeneity_rows=0)


def _similar(e: sd.Effect, p: sd.Effect) -> tuple[float, float]:
    """Return the correlation of the two curves on PDP's grid, and PDP's range there as a share of RHALE's."""
    a, b = e(p.x), p(p.x)
    return float(np.corrcoef(a, b)[0, 1]), float(np.ptp(b) / np.ptp(a))


def _of_rows() -> list[Claim]:
    data, raw = california_rhale(standardize=False), load("california_housing")
    X = np.asarray(data.X, dtype=float)
    ours = np.array([X.min(axis=0), X.max(axis=0), X.mean(axis=0), X.std(axis=0)]).T
    off = np.abs(ours - np.array(TABLE_1)).max()
    kept = [c for c in raw.feature_names if c != "ocean_proximity"]
    numeric = np.column_stack([np.asarray(raw.X[c], dtype=float) for c in kept])
    whole = ~np.isnan(numeric).any(axis=1)
    scores = np.abs(numeric[whole] - numeric[whole].mean(axis=0)) / numeric[whole].std(axis=0)
    three, one = int((scores > 3).any(axis=1).sum()), int((scores > 1).any(axis=1).sum())
    before = np.asarray(raw.y, dtype=float)[whole]
    y = np.asarray(data.y, dtype=float)
    return [
        Claim(
            "table_1",
            "19,549 rows remain, whose features have the minima, maxima, means and deviations of Table 1",
            bool(len(X) == 19_549 and off < 0.01),
            f"{len(X):,} rows; the largest difference from the table's 32 figures is {off:.4f} (some of its "
            "last digits are cut off, not rounded).",
        ),
        Claim(
            "outlier_formula",
            "rows with |x − mean| > one standard deviation in a feature are dropped, 884 of them (B.3, formula)",
            one == 884,
            f"{one:,} rows have a feature beyond one standard deviation, {three} beyond three.",
            "The text says three standard deviations, which is what was done; the formula lacks the 3.",
        ),
        Claim(
            "target_in_table_1",
            "the target of these rows has mean 206,864, deviation 115,436 and maximum 500,000 (Table 1)",
            bool(abs(y.mean() - 206_864.41) < 1),
            f"It has mean {y.mean():,.0f}, deviation {y.std():,.0f} and maximum {y.max():,.0f}; section 5 has "
            f"201,000 and 110,000.",
            f"The table's row is for the {len(before):,} rows before outliers are dropped: mean {before.mean():,.2f}, "
            f"deviation {before.std(ddof=1):,.2f}.",
        ),
    ]


def _error(networks: list[Fitted]) -> Claim:
    errors = np.array([n.error for n in networks])
    return Claim(
        "network_error",
        "the network's mean absolute error is 37,000 dollars",
        bool(abs(errors.mean() - 37_000) < 2_500),
        f"On the 3,910 test rows it is {errors.min():,.0f} to {errors.max():,.0f} dollars ({len(errors)} networks, "
        f"mean {errors.mean():,.0f}).",
    )


def _slopes(explained: list[list[sd.Effect]], j: int) -> list[Floats]:
    return [np.asarray(one[j].rows.effect) for one in explained if one[j].rows is not None]


def _of_slopes(explained: list[list[sd.Effect]]) -> list[Claim]:
    latitude, income = (_slopes(explained, j) for j in (LATITUDE, INCOME))
    falls = np.array([np.mean(d < 0) for d in latitude])
    rises = np.array([np.mean(d > 0) for d in income])
    means = np.array([[a.mean(), b.mean()] for a, b in zip(latitude, income, strict=True)])
    spread = np.array([[a.std(), b.std()] for a, b in zip(latitude, income, strict=True)])
    ends = np.array([[e[j].value[-1] for j in (LATITUDE, INCOME)] for e in explained])
    return [
        Claim(
            "directions",
            "the average effect of latitude is negative, that of median income positive",
            bool((ends[:, 0] < 0).all() and (ends[:, 1] > 0).all() and (means * [-1, 1] > 0).all()),
            f"Mean slopes are {means[:, 0].mean():.2f} and {means[:, 1].mean():.2f} sd per sd; from the left "
            f"end to the right the price changes by {ends[:, 0].mean():.2f} and {ends[:, 1].mean():.2f} sd.",
        ),
        Claim(
            "latitude_for_almost_all",
            "latitude lowers the price for almost all instances",
            bool(falls.mean() >= 0.95),
            f"The slope is negative at {falls.mean():.1%} of the rows ({falls.min():.1%} to {falls.max():.1%} over the "
            "networks); “almost all” means 95 %.",
            "About one row in ten has a positive slope. (ReLU networks have rough slopes: this refers to the "
            "derivative at the row, which RHALE averages.)",
        ),
        Claim(
            "income_for_almost_all",
            "median income raises the price for almost all instances",
            bool(rises.mean() >= 0.95),
            f"The slope is positive at {rises.mean():.1%} of the rows ({rises.min():.1%} to {rises.max():.1%}).",
        ),
        Claim(
            "latitude_scatters_more",
            "slopes vary more for latitude than for income",
            bool((spread[:, 0] > 2 * spread[:, 1]).all()),
            f"Their standard deviation is {spread[:, 0].mean():.2f} for latitude and {spread[:, 1].mean():.2f} for "
            "median income.",
        ),
    ]


def _alike(similar: Floats) -> list[Claim]:
    """Compare PDP with RHALE in the typical network; `similar` has shape (networks, features, 2)."""
    shape, size = similar[..., 0], np.median(similar[..., 1], axis=0)
    typical, unlike = np.median(shape, axis=0), shape <= 0.7
    off = [f"{NAMES[j]} {size[j]:.2f}" for j in np.flatnonzero(size < 0.8)]
    each = [f"{NAMES[j]} {shape[i, j]:.2f}" for i, j in np.argwhere(unlike)]
    return [
        Claim(
            "pdp_has_the_same_shape",
            "RHALE and PDP compute effects of similar shape for all features",
            bool((typical > 0.7).all()),
            f"The correlation of the two curves between the 5th and 95th percentile has a median over the "
            f"networks of {typical.min():.2f} ({NAMES[int(typical.argmin())]}) to {typical.max():.2f}. In "
            f"{unlike.any(axis=1).sum()} of {len(shape)} networks it is at most 0.7 for some feature "
            f"({', '.join(each) or 'none'}).",
            "Of all features the median age changes the price least, so that small differences decide about the "
            "shape of its curve.",
        ),
        Claim(
            "pdp_has_the_same_size",
            "RHALE and PDP compute effects of similar size for all features",
            bool((size > 0.8).all()),
            f"The range of the PDP there, as a fraction of that of RHALE, is {size.min():.2f} to {size.max():.2f}; it "
            f"is below 0.8 for "
            f"{', '.join(off) or 'none'}.",
            "These features are correlated (longitude with latitude; rooms, bedrooms, people and households with each "
            "other): PDP also evaluates the network at pairs of values that no row has, where it was never fitted.",
        ),
    ]


def _widths(explained: list[list[sd.Effect]]) -> Claim:
    bins = np.array([[len(e.bins) for e in one] for one in explained]).mean(axis=0)
    likelihood = np.array([[len(e.rebin(LIKELIHOOD).bins) for e in one] for one in explained]).mean(
        axis=0
    )
    others = [2, 3, 4, 6]
    return Claim(
        "wide_and_narrow_bins",
        "Eq. 13 makes wide bins for x3, x4, x5 and x7, where effects are piecewise linear, and narrow ones for x2",
        bool(bins[others].max() < bins[LATITUDE]),
        f"Bins of Eq. 13 (of 20 possible): {', '.join(f'{bins[j]:.1f} for {NAMES[j]}' for j in others)}, "
        f"{bins[LATITUDE]:.1f} for latitude; by likelihood {', '.join(f'{likelihood[j]:.1f}' for j in others)} and "
        f"{likelihood[LATITUDE]:.1f}.",
    )


def _table(explained: list[list[sd.Effect]], similar: Floats) -> Table:
    rows = []
    for j, name in enumerate(NAMES):
        d = _slopes(explained, j)
        rows.append(
            [
                f"x{j + 1} {name}",
                f"{np.mean([s.mean() for s in d]):.2f}",
                f"{np.mean([s.std() for s in d]):.2f}",
                f"{np.mean([np.mean(s > 0) for s in d]):.1%}",
                f"{np.mean([len(e[j].bins) for e in explained]):.1f}",
                f"{np.mean([len(e[j].rebin(LIKELIHOOD).bins) for e in explained]):.1f}",
                f"{similar[:, j, 0].mean():.2f}",
                f"{np.median(similar[:, j, 1]):.2f}",
            ]
        )
    head = (
        "feature",
        "mean slope",
        "deviation",
        "positive",
        "bins, Eq. 13",
        "bins, by likelihood",
        "correlation with PDP",
        "range of PDP as a fraction",
    )
    return Table(
        f"Mean of {len(explained)} networks; sd of the price per sd of the feature", head, rows
    )


MAIN = (
    "RHALE's Fig. 9, latitude and median income: RHALE in Eq. 13's bins, its slopes, RHALE in bins by likelihood, PDP "
    "with ICE (all in standard deviations)"
)
OTHERS = (
    "RHALE's supplementary Fig. 6 a and b: the other features, RHALE above and PDP with ICE below"
)
HISTOGRAMS = "RHALE's supplementary Fig. 5: the features' histograms, in their own units"


def _main(explained: list[sd.Effect], pdp: list[sd.Effect]) -> Any:
    made, axes = panels.figure(2, 4, (10.5, 5.4))
    for row, j in enumerate((LATITUDE, INCOME)):
        e = explained[j]
        ours = e.rebin(LIKELIHOOD)
        panels.effect(axes[row, 0], e)
        panels.slopes(axes[row, 1], e)
        panels.effect(axes[row, 2], ours)
        panels.ice(axes[row, 3], pdp[j])
        titles = (
            f"Eq. 13: {len(e.bins)} bins",
            "its slopes",
            f"by likelihood: {len(ours.bins)} bins",
            "PDP and ICE",
        )
        for k, title in enumerate(titles):
            panels.label(axes[row, k], f"{NAMES[j]}, {title}", f"{NAMES[j]} (sd)")
        axes[row, 0].set_ylabel("effect on the price (sd)", fontsize=8)
        axes[row, 1].set_ylabel("slope (sd per sd)", fontsize=8)
    panels.legend(made, [axes[0, 0], axes[0, 1], axes[0, 3]], 8)
    return made


def _others(explained: list[sd.Effect], pdp: list[sd.Effect]) -> Any:
    some = [j for j in range(8) if j not in (LATITUDE, INCOME)]
    made, axes = panels.figure(2, 6, (11.5, 4.6), sharey="col")
    for k, j in enumerate(some):
        panels.effect(axes[0, k], explained[j])
        panels.ice(axes[1, k], pdp[j], most=16)
        panels.label(axes[0, k], f"{NAMES[j]}: {len(explained[j].bins)} bins")
        panels.label(axes[1, k], "", f"{NAMES[j]} (sd)")
    for row in (0, 1):
        axes[row, 0].set_ylabel("effect on the price (sd)", fontsize=8)
    panels.legend(made, [axes[0, 0], axes[1, 0]])
    return made


def _histograms() -> Any:
    X = np.asarray(california_rhale(standardize=False).X, dtype=float)
    made, axes = panels.figure(2, 4, (10.0, 3.8), sharey=True)
    for ax, x, name in zip(axes.ravel(), X.T, NAMES, strict=True):
        ax.hist(x, bins=30, histtype="stepfilled", color="#b9cbe0", edgecolor=panels.BLUE)
        panels.label(ax, "", name)
    for row in (0, 1):
        axes[row, 0].set_ylabel("rows", fontsize=8)
    return made


EXPERIMENT = Experiment(
    "rhale",
    "california_effects",
    "A network of California's houses",
    "RHALE, sec. 5, Fig. 9, appendix B.3, Table 1, supplementary Fig. 5 and 6",
    run,
    needs=("torch",),
    data=("california_housing.csv",),
    slow=True,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
