"""What the two simulations of RHALE's section 4.2 share: Eq. 13's bins against 1 to 50 equal ones, 30 runs of 500 rows.

x1 is uniform on (0, 1), x2 normal around x1 with variance 1/2. The truth comes from 10⁶ rows in 1,000 bins, the losses
are those of `experiments.losses`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import skedasis as sd
from experiments.experiment import Table
from experiments.losses import Dense, Losses, along, table
from experiments.rhale import panels
from experiments.rhale.settings import LIKELIHOOD, Floats, Setting, mean_error, pm

COUNTS = tuple(range(1, 51))
EQ13, OURS = "RHALE, Eq. 13", "RHALE, by likelihood (our default)"
STRONG = "RHALE, Eq. 13, alpha = 0.8"
COLUMNS = ("L^mu", "L^sigma", "L^rho", "bins", "empty", "one row", "slope", "deviation")
SETTINGS = (
    "500 rows per run, 30 runs; Eq. 13 with K_max = 40, at least 10 rows per bin as in the paper, alpha = 0.2 (not "
    "named "
    "there); 1 to 50 equal bins; the truth from 10⁶ rows in 1,000 bins. L^mu, L^sigma and L^rho are unweighted means "
    "over the bins; “slope” and “deviation” are mean absolute errors along the axis, which do not depend on the bins."
)


@dataclass(frozen=True, eq=False)
class Sweep:
    """The losses of all ways of binning: name, or number of equal bins, to shape (runs, `COLUMNS`).

    Parameters
    ----------
    found : dict
    effects : list of Effect
        In Eq. 13's bins.
    dense : Dense
        The truth.
    """

    found: dict[Any, Floats]
    effects: list[sd.Effect]
    dense: Dense

    def mean(self, name: Any, column: str) -> float:
        """Return the mean over the runs."""
        return float(np.nanmean(self.found[name][:, COLUMNS.index(column)]))

    def better(self, column: str, than: str = EQ13, by: float = 2.5) -> list[int]:
        """Return the numbers of equal bins whose loss is smaller by the given number of standard errors, paired."""
        at = COLUMNS.index(column)
        out = []
        for count in COUNTS:
            mean, error = mean_error(self.found[count][:, at] - self.found[than][:, at])
            if mean < -by * error:
                out.append(count)
        return out

    def best(self, column: str) -> int:
        """Return the number of equal bins with the smallest mean loss."""
        return min(COUNTS, key=lambda count: self.mean(count, column))

    def table(self, shown: tuple[Any, ...]) -> Table:
        """Return the losses of Eq. 13's bins, of bins by likelihood and of some numbers of equal bins."""
        rows = [
            [
                name if isinstance(name, str) else equal(name),
                *(pm(self.found[name][:, k]) for k in (0, 1, 2)),
                f"{self.mean(name, 'bins'):.1f}",
                f"{self.mean(name, 'one row') + self.mean(name, 'empty'):.2f}",
                *(pm(self.found[name][:, k]) for k in (6, 7)),
            ]
            for name in (EQ13, STRONG, OURS, *shown)
        ]
        head = ("bins", *COLUMNS[:4], "left out", "slope", "deviation")
        return Table(f"Mean ± standard error over {len(self.effects)} runs", head, rows)


def swept(setting: Setting, runs: int = 30, ends: bool = False) -> Sweep:
    """Run the comparison.

    Parameters
    ----------
    ends : bool
        Whether two rows are put at x1 = 0 and 1, so that bins are fractions of (0, 1) itself.
    """
    dense = Dense.of(setting.explain(setting.example.sample(1_000_000, 10**6), 0, sd.Uniform(1000)))
    effects = []
    for seed in range(runs):
        X = setting.sample(seed)
        if ends:
            X[:2, 1] += [0.0, 1.0] - X[:2, 0]
            X[:2, 0] = [0.0, 1.0]
        effects.append(setting.explain(X, 0))
    found: dict[Any, Floats] = {EQ13: _losses(effects, dense)}
    found[OURS] = _losses([e.rebin(LIKELIHOOD) for e in effects], dense)
    strong = replace(setting.bins, alpha=0.8)
    found[STRONG] = _losses([e.rebin(strong) for e in effects], dense)
    for count in COUNTS:
        found[count] = _losses([e.rebin(sd.Uniform(count)) for e in effects], dense)
    return Sweep(found, effects, dense)


def _losses(effects: list[sd.Effect], dense: Dense) -> Floats:
    return np.hstack(
        [table(Losses.of(e, dense) for e in effects), [along(e, dense) for e in effects]]
    )


def equal(count: int) -> str:
    """Write a number of equal bins."""
    return "1 bin" if count == 1 else f"{count} equal bins"


def span(counts: list[int]) -> str:
    """Write numbers of bins, neighbours as ranges: 1–6, 20."""
    parts: list[list[int]] = []
    for count in counts:
        if parts and count == parts[-1][-1] + 1:
            parts[-1].append(count)
        else:
            parts.append([count])
    return ", ".join(f"{p[0]}–{p[-1]}" if len(p) > 1 else f"{p[0]}" for p in parts) or "none"


def drawn(sweep: Sweep, slope: Floats) -> Any:
    """Draw the paper's four panels, and the slopes by Eq. 13 and by likelihood of one run.

    Parameters
    ----------
    slope : ndarray, shape (2, m)
        Points and the true mean slope there.
    """
    made, axes = panels.figure(2, 3, (10.0, 5.6))
    e = sweep.effects[0]
    for k, (one, name) in enumerate(((e, "Eq. 13"), (e.rebin(LIKELIHOOD), "by likelihood"))):
        panels.slopes(axes[k, 0], one, slope)
        many = "bin" if len(one.bins) == 1 else "bins"
        panels.label(axes[k, 0], f"slopes, {name}: {len(one.bins)} {many}", "x1", "slope")
    places = ((0, 1), (1, 1), (1, 2), (0, 2))
    titles = ("L^mu", "L^sigma", "L^rho", "slope")
    for (i, j), column in zip(places, titles, strict=True):
        at = COLUMNS.index(column)
        fixed = np.array([sweep.found[count][:, at] for count in COUNTS]).T
        panels.by_bins(axes[i, j], COUNTS, fixed, {n: sweep.mean(n, column) for n in (EQ13, OURS)})
        words = {"slope": "error of the slope along the axis"}.get(
            column, f"{column}: mean over bins"
        )
        panels.label(axes[i, j], words, "number of equal bins")
    panels.legend(made, [axes[0, 0], axes[0, 1]])
    return made
