"""RHALE section 5: Eq. 13's bins against equal ones on California's houses (Fig. 10; supplementary Fig. 6c, d).

The truth of a network's slopes is taken from all 15,639 training rows in 80 equal bins; 1,000 rows are drawn 30 times.
The paper says for latitude and median income, and in the supplement for all eight features, that L^mu and L^sigma of
Eq. 13's bins are close to those of the best number of equal bins. It does not say which numbers it tries: here 2 to 80.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

import skedasis as sd
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone
from experiments.losses import Dense, Losses, along
from experiments.rhale import panels
from experiments.rhale.california import NAMES, Fitted, fitted
from experiments.rhale.settings import LIKELIHOOD, Floats, pm

EQ13_BINS = sd.Optimal(20, 0.2, 30, criterion="eq13")
EQ13, OURS = "RHALE, Eq. 13", "RHALE, by likelihood (our default)"
COUNTS = (*range(2, 21), *range(25, 81, 5))
MEASURES = ("L^mu", "L^sigma", "slope", "deviation", "bins")
ALMOST = 1.5
LATITUDE, INCOME = 1, 7
SETTINGS = (
    "The networks of `california_effects`; 1,000 of the 15,639 training rows per run, 30 runs for each of three "
    "networks "
    "(8 of one for the tests); Eq. 13 with K_max = 20, at least 30 rows per bin, alpha = 0.2; 2 to 20 equal bins "
    "and 25 to 80 by fives. The truth: all training rows in 80 equal bins; bins of it without an estimate are left "
    "out. “Almost” the best means up to 1.5 times. “Slope” and “deviation” are errors along the axis, weighted by the "
    "rows in each bin of the truth."
)


@dataclass(frozen=True, eq=False)
class Found:
    """What was found of one feature: way of binning, or number of equal bins, to shape (runs, `MEASURES`)."""

    losses: dict[Any, Floats]

    def mean(self, name: Any, k: int) -> float:
        """Return the mean of a measure over the runs."""
        return float(np.nanmean(self.losses[name][:, k]))

    def best(self, k: int) -> int:
        """Return the number of equal bins with the smallest mean."""
        return min(COUNTS, key=lambda count: self.mean(count, k))

    def ratio(self, name: Any, k: int) -> float:
        """Return a mean as a multiple of that of the best number of equal bins."""
        return self.mean(name, k) / self.mean(self.best(k), k)

    def beaten_by(self, k: int) -> float:
        """Return the fraction of the numbers from 2 to 80 with a smaller mean than Eq. 13, by interpolation."""
        every = np.arange(COUNTS[0], COUNTS[-1] + 1)
        means = np.interp(every, COUNTS, [self.mean(count, k) for count in COUNTS])
        return float(np.mean(means < self.mean(EQ13, k)))


def compared(network: Fitted, runs: int, seed: int) -> list[Found]:
    """Run the comparison for all features of one network."""
    every = list(
        sd.explain(
            network.quantity, network.X, method=sd.DALE(bins=80), heterogeneity_rows=0
        ).values()
    )
    truths = [(Dense.of(e), e.bins.count.astype(float)) for e in every]
    rows: list[dict[Any, list[Any]]] = [{} for _ in NAMES]
    for run in range(runs):
        some = np.random.default_rng([seed, run]).choice(len(network.X), 1000, replace=False)
        method = sd.RHALE(bins=EQ13_BINS)
        for j, e in enumerate(
            sd.explain(
                network.quantity, network.X[some], method=method, heterogeneity_rows=0
            ).values()
        ):
            ways = {
                EQ13: e,
                OURS: e.rebin(LIKELIHOOD),
                **{k: e.rebin(sd.Uniform(k)) for k in COUNTS},
            }
            for name, one in ways.items():
                rows[j].setdefault(name, []).append(_measures(one, *truths[j]))
    return [Found({name: np.array(values) for name, values in one.items()}) for one in rows]


def _measures(e: sd.Effect, truth: Dense, density: Floats) -> tuple[float, ...]:
    losses = Losses.of(e, truth)
    return losses.mu, losses.sigma, *along(e, truth, density), len(e.bins)


def run(quick: bool) -> Outcome:
    """Compare the bins for all features, networks and runs."""
    found = [compared(fitted(seed), 8 if quick else 30, seed) for seed in range(1 if quick else 3)]
    claims = [
        _close(
            found,
            (LATITUDE, INCOME),
            k,
            key,
            f"for latitude and median income RHALE's {MEASURES[k]} is close to the "
            "best of all numbers of equal bins (Fig. 10)",
        )
        for k, key in ((0, "mu"), (1, "sigma"))
    ]
    claims += [
        _close(
            found,
            range(8),
            k,
            f"all_{key}",
            f"for all eight features RHALE's {MEASURES[k]} is (almost) as good as "
            "the best of all numbers of equal bins (supplement)",
        )
        for k, key in ((0, "mu"), (1, "sigma"))
    ]
    claims.append(_almost_any(found))
    return Outcome(
        claims=claims,
        tables=[_table(found[0])],
        pictures=[Picture("california_bins", _drawn(found[0]), CAPTION)],
        settings=SETTINGS,
    )


def _close(found: list[list[Found]], features: Any, k: int, key: str, says: str) -> Claim:
    ratios = np.array([[one[j].ratio(EQ13, k) for j in features] for one in found]).mean(axis=0)
    ours = np.array([[one[j].ratio(OURS, k) for j in features] for one in found]).mean(axis=0)
    names = [NAMES[j] for j in features]
    parts = [f"{name} {ratio:.2f}" for name, ratio in zip(names, ratios, strict=True)]
    far = [
        f"{name} ({ratio:.2f})" for name, ratio in zip(names, ratios, strict=True) if ratio > ALMOST
    ]
    axis = np.array(
        [[[one[j].mean(n, k + 2) for j in features] for n in (EQ13, OURS)] for one in found]
    )
    better = float(np.mean(axis[:, 1] < axis[:, 0]))
    return Claim(
        key,
        says,
        not far,
        f"As a multiple of the best number's, {_networks(len(found))}: {', '.join(parts)}. Bins by likelihood: "
        f"{', '.join(f'{r:.2f}' for r in ours)}; at the rows their error of the {MEASURES[k + 2]} is smaller than "
        f"Eq. 13's in {better:.0%} of features and networks.",
        "" if not far else _far(found, features, k),
    )


def _far(found: list[list[Found]], features: Any, k: int) -> str:
    """Return where Eq. 13 is far from the best, and the errors at the rows there."""
    parts = []
    for j in features:
        if np.mean([one[j].ratio(EQ13, k) for one in found]) > ALMOST:
            best = found[0][j].best(k)
            at_rows = [found[0][j].mean(name, k + 2) for name in (EQ13, best)]
            parts.append(f"{NAMES[j]} {at_rows[0]:.3f} and {at_rows[1]:.3f} ({best} bins)")
    return (
        f"A mean over bins compares only the mean of each bin, not the variation within it: few wide bins have a "
        f"small error. At the rows the "
        f"error of the {MEASURES[k + 2]} with Eq. 13 and with the best number, first network, is {'; '.join(parts)}."
    )


def _networks(count: int) -> str:
    return "one network" if count == 1 else f"mean of {count} networks"


def _almost_any(found: list[list[Found]]) -> Claim:
    beaten = np.array(
        [[one[j].beaten_by(k) for j in (LATITUDE, INCOME) for k in (0, 1)] for one in found]
    )
    share = beaten.mean(axis=0)
    names = [
        f"{NAMES[j]}, {MEASURES[k]}: {s:.0%}" for (j, k), s in zip(_PLACES, share, strict=True)
    ]
    return Claim(
        "better_than_almost_any",
        "RHALE is better than (almost) any number of equal bins (caption of Fig. 10)",
        bool(share.max() <= 0.2),
        f"Fraction of the numbers from 2 to 80 with a smaller mean loss than Eq. 13: {'; '.join(names)}. “Almost any” "
        f"means four in five.",
    )


_PLACES = [(j, k) for j in (LATITUDE, INCOME) for k in (0, 1)]


def _table(found: list[Found]) -> Table:
    rows = []
    for j, one in enumerate(found):
        best = [one.best(k) for k in (0, 1)]
        cells = [f"x{j + 1} {NAMES[j]}"]
        for k in (0, 1):
            cells += [pm(one.losses[name][:, k]) for name in (EQ13, OURS)]
            cells.append(f"{one.mean(best[k], k):.3f} ({best[k]})")
        cells += [
            f"{one.mean(EQ13, 2):.3f} / {one.mean(OURS, 2):.3f}",
            f"{one.mean(EQ13, 3):.3f} / {one.mean(OURS, 3):.3f}",
        ]
        rows.append(cells)
    head = (
        "feature",
        "L^mu, Eq. 13",
        "by likelihood",
        "best equal",
        "L^sigma, Eq. 13",
        "by likelihood",
        "best equal",
    )
    head = (*head, "slope: Eq. 13 / likelihood", "deviation: Eq. 13 / likelihood")
    return Table(
        "First network; mean ± standard error over the runs, best number of equal bins in brackets",
        head,
        rows,
    )


CAPTION = (
    "RHALE's Fig. 10 and supplementary Fig. 6 c and d: L^mu (upper rows) and L^sigma (lower rows) of the eight "
    "features by the number of equal bins, first network"
)


def _drawn(found: list[Found]) -> Any:
    made, axes = panels.figure(4, 4, (10.5, 7.6))
    for j, one in enumerate(found):
        for k in (0, 1):
            ax = axes[2 * (j // 4) + k, j % 4]
            fixed = np.array([one.losses[count][:, k] for count in COUNTS]).T
            panels.by_bins(ax, COUNTS, fixed, {n: one.mean(n, k) for n in (EQ13, OURS)}, False)
            last = k == 1 and j >= 4
            panels.label(
                ax,
                NAMES[j] if k == 0 else "",
                "equal bins" if last else "",
                MEASURES[k] if j % 4 == 0 else "",
            )
    panels.legend(made, [axes[0, 0]])
    return made


EXPERIMENT = Experiment(
    "rhale",
    "california_bins",
    "Bins of a network of California's houses",
    "RHALE, sec. 5, Fig. 10, supplementary Fig. 6",
    run,
    needs=("torch",),
    data=("california_housing.csv",),
    slow=True,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
