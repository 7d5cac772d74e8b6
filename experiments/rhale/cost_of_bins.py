"""RHALE section 3.2 and appendix A.5: what the search for the best bins costs as K_max grows.

The paper solves Eq. 13 by a table of bins and points, T(i, j) (Eq. 14), in O(K_max³), and says that up to some 100 bins
take a couple of seconds whatever the number of rows. The cost of a partition is a sum over its bins, so one array T(j)
over the points is enough: O(K_max²). Both must find the same optimum. The cost of a bin comes from its rows in the
paper, and here from the merged moments of fine cells.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone
from experiments.rhale import panels
from experiments.rhale.search import as_printed, bin_costs, by_arrays, plain, total
from experiments.rhale.settings import Floats
from skedasis.stats.moments import Moments
from skedasis.stats.segmentation import Criterion, optimal_partition

SIZES = {
    "plain": (10, 20, 40, 80, 120),
    "by arrays": (40, 80, 160, 320),
    "ours": (400, 800, 1600, 3200, 6400, 12800),
}
ROWS = (1_000, 10_000, 100_000)
SETTINGS = (
    "Slopes sin(6 x) + noise, x uniform, alpha = 0.2, N/20 rows per bin for Eq. 13; processor time, the least of "
    "three. "
    "“Plain” is Eq. 14 in three Python loops, “by arrays” the same with NumPy, “ours” the library's search with the "
    "merging of the cells' moments; the time for the bins' costs is not counted for the first two."
)


def sample(n: int, seed: int) -> tuple[Floats, Floats]:
    """Return x and slopes."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n)
    return x, np.sin(6 * x) + 0.5 * rng.standard_normal(n)


def cells(x: Floats, d: Floats, k: int, least: float) -> tuple[Floats, Moments, Criterion]:
    """Return what the library's search works on: the edges of fine cells, their moments and Eq. 13."""
    edges = np.linspace(x.min(), x.max(), k + 1)
    place = np.minimum(np.searchsorted(edges, x, side="right") - 1, k - 1)
    return edges, Moments.of(d, place, k), Criterion(0.2, least, float(len(x)))


def least_time(act: Callable[[], Any], times: int = 3) -> float:
    """Return the least processor time of a call."""
    found = []
    for _ in range(times):
        started = time.process_time()
        act()
        found.append(time.process_time() - started)
    return min(found)


def timed(quick: bool) -> dict[str, list[tuple[int, float]]]:
    """Return the seconds of each search for each K_max."""
    out: dict[str, list[tuple[int, float]]] = {}
    for name, sizes in SIZES.items():
        for k in sizes[:2] if quick else sizes:
            if name == "ours":
                job = cells(*sample(20_000, 0), k, 20_000 / 20)
                seconds = least_time(lambda job=job: optimal_partition(*job))
            else:
                costs = np.triu(np.random.default_rng(0).uniform(size=(k + 1, k + 1)), 1)
                costs[np.tril_indices(k + 1, -1)] = np.inf
                search = plain if name == "plain" else by_arrays
                seconds = least_time(lambda c=costs, s=search: s(c))
            out.setdefault(name, []).append((k, seconds))
    return out


def exponent(times: list[tuple[int, float]]) -> float:
    """Return the slope of log seconds on log K_max over the upper half, where overheads no longer count."""
    k, seconds = np.log(np.array(times[len(times) // 2 - 1 :])).T
    return float(np.polyfit(k, seconds, 1)[0])


def run(quick: bool) -> Outcome:
    """Compare optima and seconds."""
    times = timed(quick)
    by_rows = _by_rows(quick)
    claims = [_same(quick), _printed(), *_seconds(times), _whatever_rows(by_rows)]
    rows = [[name, f"{k:,}", f"{1000 * s:,.2f}"] for name, found in times.items() for k, s in found]
    table = Table("The search alone", ("search", "K_max", "milliseconds"), rows)
    head = (
        "rows",
        "bins' costs from rows (Eq. 11 as written)",
        "from merged moments, with the search",
    )
    second = Table(
        "K_max = 100, milliseconds",
        head,
        [[f"{n:,}", f"{1000 * a:,.1f}", f"{1000 * b:,.1f}"] for n, a, b in by_rows],
    )
    return Outcome(
        claims, [table, second], [Picture("cost_of_bins", _drawn(times), CAPTION)], SETTINGS
    )


def _same(quick: bool) -> Claim:
    worst, runs = 0.0, 0
    for seed in range(10 if quick else 40):
        for k in (8, 25, 50):
            x, d = sample(400, seed)
            costs = bin_costs(x, d, k, 0.2, 20)
            kept = optimal_partition(*cells(x, d, k, 20))
            found = [total(costs, edges) for edges in (plain(costs), by_arrays(costs))]
            worst = max(
                worst,
                *(abs(total(costs, [] if kept is None else kept.tolist()) / f - 1) for f in found),
            )
            runs += 1
    return Claim(
        "global_optimum",
        "dynamic programming finds the global optimum (and one array finds the same as the table)",
        bool(worst < 1e-9),
        f"{runs} problems with K_max = 8, 25 and 50: costs of the three partitions differ by {worst:.0e} at most, "
        "relatively. (The tests compare the table with all partitions of 8 cells.)",
    )


def _printed() -> Claim:
    hits, excess = 0, []
    for seed in range(30):
        costs = bin_costs(*sample(200, seed), 8, 0.2, 10)
        best, got = total(costs, plain(costs)), total(costs, as_printed(costs))
        hits += got <= best * (1 + 1e-9)
        excess.append(got / best)
    finite = np.array(excess)[np.isfinite(excess)]
    return Claim(
        "algorithm_1",
        "Algorithm 1, as printed, solves Eq. 13",
        hits == 30,
        f"With its indices as printed it finds the optimum in {hits} of 30 problems with K_max = 8; "
        f"{30 - len(finite)} of its partitions have too few rows in a bin, the others cost {finite.mean():.2f} "
        "times the optimum on average.",
        "It adds B(k, j), the cost of the bin that ends at the point with the bin's own number, where B(k, i) is "
        "intended (as in Eq. 14), and follows I(j, Z(j + 1)) where I(Z(j + 1), j) is intended. Eq. 19 has the same "
        "error.",
    )


def _seconds(times: dict[str, list[tuple[int, float]]]) -> list[Claim]:
    cube, arrays, square = (exponent(times[name]) for name in SIZES)
    k, seconds = times["plain"][-1]
    hundred = seconds * (100 / k) ** 3
    ours = times["ours"][-1]
    return [
        Claim(
            "cubic",
            "the search by the table T(i, j) is O(K_max³)",
            bool(2.5 < cube < 3.5),
            f"Plain, time grows with K_max to the power {cube:.2f}, by arrays {arrays:.2f}; the library's array "
            f"T(j) to the power {square:.2f}, at {1000 * ours[1]:.0f} ms for K_max = {ours[0]:,}.",
            timed=True,
        ),
        Claim(
            "couple_of_seconds",
            "up to some K_max = 100 bins the search takes a couple of seconds",
            bool(hundred < 5),
            f"Plain it takes {hundred:.2f} s at K_max = 100 (by the cube of {k}), without the bins' costs.",
            timed=True,
        ),
    ]


def _by_rows(quick: bool) -> list[tuple[int, float, float]]:
    """Return, by the number of rows, seconds for all bins' costs from the rows, and for ours from cells to bins."""
    out = []
    for n in ROWS[: 1 if quick else 3]:
        x, d = sample(n, 1)
        slow = least_time(lambda x=x, d=d: bin_costs(x, d, 100, 0.2, 20), 1)
        job = cells(x, d, 100, n / 20)
        out.append((n, slow, least_time(lambda job=job: optimal_partition(*job))))
    return out


def _whatever_rows(by_rows: list[tuple[int, float, float]]) -> Claim:
    first, last = by_rows[0], by_rows[-1]
    return Claim(
        "whatever_the_rows",
        "the search takes the same time for any number of rows",
        bool(last[2] < 3 * first[2] and last[1] < 3 * first[1]),
        f"From {first[0]:,} to {last[0]:,} rows, K_max = 100, ours goes from {1000 * first[2]:.1f} to "
        f"{1000 * last[2]:.1f} ms; the bins' costs taken from their rows from {first[1]:.2f} to {last[1]:.2f} s.",
        "Slopes are computed once, but each of the K_max²/2 costs of Eq. 13 needs the variance of its rows. The claim "
        "is true only if moments of fine cells are merged; computing them is one pass over the rows.",
        timed=True,
    )


CAPTION = "RHALE A.5: processor time of the search by K_max, and lines of power 3 and 2"


def _drawn(times: dict[str, list[tuple[int, float]]]) -> Any:
    made, axes = panels.figure(1, 1, (7.0, 3.8))
    ax = axes[0, 0]
    ax.set(xscale="log", yscale="log")
    looks = (("o", "-", panels.RED), ("s", "--", panels.ORANGE), ("^", "-", panels.BLUE))
    names = (
        "RHALE's table, plain Python",
        "RHALE's table, by arrays",
        "ours: one array, with the bins' moments",
    )
    for found, name, (mark, stroke, colour) in zip(times.values(), names, looks, strict=True):
        k, seconds = np.array(found).T
        ax.plot(
            k,
            seconds,
            marker=mark,
            linestyle=stroke,
            color=colour,
            label=f"{name} (power {exponent(found):.1f})",
        )
    k = np.array([10.0, 12800.0])
    for power, anchor, stroke in ((3, times["plain"][-1], ":"), (2, times["ours"][-1], "-.")):
        line = anchor[1] * (k / anchor[0]) ** power
        ax.plot(k, line, color=panels.GREY, linewidth=0.8, linestyle=stroke, label=f"power {power}")
    ax.set_ylim(1e-5, 30)
    panels.label(ax, "", "K_max", "seconds of processor time")
    ax.legend(fontsize=8, frameon=False, loc="lower right")
    return made


EXPERIMENT = Experiment(
    "rhale",
    "cost_of_bins",
    "The cost of the bin search",
    "RHALE, sec. 3.2, Eq. 14, appendix A.5",
    run,
    timed=True,
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
