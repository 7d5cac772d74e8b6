"""Coverage of E[d | bin]: nominal 95 % intervals and bands must contain it in 93 to 97 of 100 data sets.

There are a thousand data sets per case. The standard error of a fraction is then 0.7 points, and less for the mean over
points. With 300 rows the smallest bins have 30.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from tests.reference import coverage_cases as c

RUNS, ROWS = 1000, 330
OF_ROWS: dict[str, Any] = {"draws": RUNS, "rows": ROWS, "seed": f"0 to {RUNS - 1}"}

pytestmark = pytest.mark.long
HALF_AS_MANY = 3 * ROWS // 2
"""Rows with sampling weights: each bin then has an effective number of 30 rows."""


def important(rows: int, seed: int) -> Any:
    return sd.explain(c.products, c.pairs(rows, seed), method=sd.PFI(n_repeats=5), progress=False)


CASES: dict[str, tuple[Any, Any]] = {}
for middle in ("mean", "start"):
    curve = c.curve(middle)
    ordered = sd.ALE(center=middle, order=list(c.LEVELS))
    slopes = sd.DALE(c.CUT, middle)
    CASES |= {
        f"ALE {middle}": (c.of_numbers(sd.ALE(c.CUT, middle)), curve),
        f"DALE {middle}": (c.of_numbers(slopes, c.SLOPED), curve),
        f"RHALE {middle}": (c.of_numbers(sd.RHALE(c.CUT, middle), c.SLOPED), curve),
        f"UALE {middle}": (c.of_numbers(sd.UALE(c.CUT, middle), c.SLOPED), curve),
        f"nominal {middle}": (c.of_levels(ordered, "nominal"), c.level_curve(middle)),
        f"ordinal {middle}": (c.of_levels(sd.ALE(center=middle), "ordinal"), c.level_curve(middle)),
        f"frequencies {middle}": (
            c.weighted(c.rows_and_counts, slopes, "frequency"),
            c.counted_curve(middle),
        ),
        f"sampling weights {middle}": (c.weighted(c.thinned, slopes, "sampling"), curve),
    }
level, means = c.dependence(c.GRID), c.bin_means()
curves = sd.PDP(grid=c.GRID, ice="all")
CASES |= {
    "PDP": (c.of_numbers(curves), level),
    "PDP mean": (c.of_numbers(replace(curves, center="mean")), level - level.mean()),
    "M-plot": (c.of_numbers(sd.MPlot(c.CUT)), means),
    "M-plot mean": (c.of_numbers(sd.MPlot(c.CUT, center="mean")), means - c.SHARE @ means),
    "bins": (c.of_numbers(sd.DALE(c.CUT), c.SLOPED), c.mean_slopes()),
    "bins of ALE": (c.of_numbers(sd.ALE(c.CUT)), c.mean_slopes()),
    "steps": (c.of_levels(sd.ALE(order=list(c.LEVELS)), "nominal"), c.steps()),
}


@pytest.mark.parametrize("how", ["analytic", "bootstrap"])
@pytest.mark.parametrize("name", CASES)
def test_intervals_and_bands_cover(name, how, measured):
    made, truth = CASES[name]
    options = {"of": "bins"} if name.startswith(("bins", "steps")) else {}
    options |= {} if how == "analytic" else {"method": how, "replicates": 500}
    rows = HALF_AS_MANY if name.startswith("sampling") else ROWS
    share = c.covered(made, rows, truth, RUNS, **options)
    measured("each", share.points.mean(), **OF_ROWS, low=0.93, high=0.97)
    measured("all at once", share.together, **OF_ROWS, low=0.93, high=0.97)


def test_importances_cover_together(measured):
    """The importances of a pair are almost equal. Šidák assumes independence, so the joint coverage is too high."""
    share = c.covered(important, ROWS, c.IMPORTANCE, RUNS)
    measured("each", share.points.mean(), **OF_ROWS, low=0.93, high=0.97)
    measured("all at once", share.together, **OF_ROWS, low=0.93, high=0.985)


MANY, FINE = 1000, np.linspace(-1, 1, 21)


def test_without_the_errors_of_other_bins_intervals_do_not_cover(measured):
    """Why the formula is needed: an interval from a bin's own error, around the accumulated curve, is too narrow."""
    hits, ours = np.zeros(21), np.zeros(21)
    truth = c.curve_at(FINE)
    for seed in range(300):
        e = sd.explain(
            c.SLOPED, c.numbers(MANY, seed), 0, method=sd.DALE(sd.Edges(FINE)), **c.PLAIN
        )
        own = np.append(0.0, 1.96 * e.bins.std_error * e.bins.widths)
        hits += np.abs(e.value - truth) <= own
        low, high = e.interval()
        ours += (low <= truth) & (truth <= high)
    naive, good = hits[1:-1] / 300, ours[1:-1] / 300
    of_many: dict[str, Any] = {"draws": 300, "rows": MANY, "seed": "0 to 299"}
    measured("a bin's own error, least", naive.min(), **of_many)
    measured("a bin's own error, most", naive.max(), **of_many, high=0.8)
    measured("ours", good.mean(), **of_many, low=0.93, high=0.97)


def test_pyales_intervals_do_not_cover(measured):
    """At PyALE's own edges, centered by its own bins, against the population."""
    pyale = pytest.importorskip("PyALE")
    pd = pytest.importorskip("pandas")

    class Model:
        def predict(self, X: Any) -> np.ndarray:
            return c.cubic(np.asarray(X))

    shares = []
    for seed in range(200):
        X = pd.DataFrame(c.numbers(MANY, seed), columns=["x", "u", "v"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = pyale.ale(X, Model(), ["x"], grid_size=20, include_CI=True, plot=False)
        truth = c.curve_at(found.index.to_numpy(float))
        low, high = found.iloc[:, 2].to_numpy(), found.iloc[:, 3].to_numpy()
        shares.append(((low <= truth) & (truth <= high))[1:-1])
    share = np.mean(shares, axis=0)
    of_many: dict[str, Any] = {"draws": 200, "rows": MANY, "seed": "0 to 199"}
    measured("inner edges, least", share.min(), **of_many)
    measured("inner edges, most", share.max(), **of_many, high=0.85)


@pytest.mark.parametrize("how", ["analytic", "fixed", "chosen"])
def test_bins_that_were_chosen_on_the_same_rows_cover_less(how, measured):
    """The numbers in the documentation: intervals take the edges as known, although the same rows chose them."""
    more = {"analytic": {}, "fixed": {"method": "bootstrap", "replicates": 200}}
    chosen = {"method": "bootstrap", "replicates": 200, "bins": "chosen"}
    share = c.covered(
        c.of_numbers(sd.RHALE(sd.Optimal(max_bins=20)), c.SLOPED),
        ROWS,
        lambda e: c.curve_at(e.x),
        150,
        **more.get(how, chosen),
    )
    of_rows: dict[str, Any] = {"draws": 150, "rows": ROWS, "seed": "0 to 149"}
    measured("each", share.points.mean(), **of_rows, low=0.8)
    measured("all at once", share.together, **of_rows)
