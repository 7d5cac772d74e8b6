"""Do nominal 95 % intervals and bands cover E[d | bin] in 93 to 97 of 100 data sets?

A thousand data sets each; the standard error of a share is then 0.7 points, and less of the mean over points. With 300
rows the smallest bins hold 30.
"""

# ruff: noqa: T201 - the figures are what simulations are for
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from tests.reference import covered as c

RUNS, ROWS = 1000, 330
PLAIN: dict[str, Any] = {"progress": False, "heterogeneity_rows": 0}
"""The score has coverage tests of its own, and would cost more than the curves."""

pytestmark = [pytest.mark.slow, pytest.mark.long]


def of_numbers(method: Any, quantity: Any = c.cubic) -> Any:
    return lambda seed: sd.explain(quantity, c.numbers(ROWS, seed), 0, method=method, **PLAIN)


def of_levels(method: Any, kind: str) -> Any:
    schema = {0: sd.Feature("c", kind, levels=c.LEVELS)}
    return lambda seed: sd.explain(
        c.stepped, c.with_levels(ROWS, seed), 0, method=method, schema=schema, **PLAIN
    )


def weighted(sample: Any, method: Any, kind: str) -> Any:
    def of(seed: int) -> Any:
        # Of sampling weights so many that thirty are left in each bin as weights count.
        X, weights = sample(ROWS if kind == "frequency" else 3 * ROWS // 2, seed)
        return sd.explain(c.SLOPED, X, 0, method=method, weights=weights, weight_kind=kind, **PLAIN)

    return of


def important(seed: int) -> Any:
    return sd.explain(c.products, c.pairs(ROWS, seed), method=sd.PFI(repeats=5), progress=False)


CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {}
for middle in ("mean", "start"):
    CASES |= {
        f"ALE {middle}": (of_numbers(sd.ALE(c.CUT, middle)), c.curve(middle), {}),
        f"DALE {middle}": (of_numbers(sd.DALE(c.CUT, middle), c.SLOPED), c.curve(middle), {}),
        f"RHALE {middle}": (of_numbers(sd.RHALE(c.CUT, middle), c.SLOPED), c.curve(middle), {}),
        f"UALE {middle}": (of_numbers(sd.UALE(c.CUT, middle), c.SLOPED), c.curve(middle), {}),
        f"nominal {middle}": (
            of_levels(sd.ALE(center=middle, order=list(c.LEVELS)), "nominal"),
            c.level_curve(middle),
            {},
        ),
        f"ordinal {middle}": (
            of_levels(sd.ALE(center=middle), "ordinal"),
            c.level_curve(middle),
            {},
        ),
        f"frequencies {middle}": (
            weighted(c.rows_and_counts, sd.DALE(c.CUT, middle), "frequency"),
            c.counted_curve(middle),
            {},
        ),
        f"sampling weights {middle}": (
            weighted(c.thinned, sd.DALE(c.CUT, middle), "sampling"),
            c.curve(middle),
            {},
        ),
    }
LEVEL = c.dependence(c.GRID)
MEANS = c.bin_means()
CASES |= {
    "PDP": (of_numbers(sd.PDP(grid=c.GRID, ice="all")), LEVEL, {}),
    "PDP mean": (
        of_numbers(sd.PDP(grid=c.GRID, ice="all", center="mean")),
        LEVEL - LEVEL.mean(),
        {},
    ),
    "M-plot": (of_numbers(sd.MPlot(c.CUT)), MEANS, {}),
    "M-plot mean": (of_numbers(sd.MPlot(c.CUT, center="mean")), MEANS - c.SHARE @ MEANS, {}),
    "bins": (of_numbers(sd.DALE(c.CUT), c.SLOPED), c.mean_slopes(), {"of": "bins"}),
    "bins of ALE": (of_numbers(sd.ALE(c.CUT)), c.mean_slopes(), {"of": "bins"}),
    "steps": (
        of_levels(sd.ALE(order=list(c.LEVELS)), "nominal"),
        c.steps(),
        {"of": "bins"},
    ),
}


@pytest.mark.parametrize("how", ["analytic", "bootstrap"])
@pytest.mark.parametrize("name", CASES)
def test_intervals_and_bands_cover(name, how):
    made, truth, options = CASES[name]
    more = {} if how == "analytic" else {"method": how, "replicates": 500}
    share = c.covered(made, truth, RUNS, **options, **more)
    print(f"\n{name}, {how}: {share.points.mean():.3f} each, {share.together:.3f} all at once")
    assert 0.93 < share.points.mean() < 0.97
    assert 0.93 < share.together < 0.97


def test_importances_cover_together():
    """Importances of a pair are nearly one: Šidák takes all as independent, and covers more often than it says."""
    share = c.covered(important, c.IMPORTANCE, RUNS)
    print(f"\nPFI: {share.points.mean():.3f} each, {share.together:.3f} all at once")
    assert 0.93 < share.points.mean() < 0.97
    assert 0.93 < share.together < 0.985


MANY, FINE = 1000, np.linspace(-1, 1, 21)


def test_without_the_errors_of_other_bins_intervals_do_not_cover():
    """What the formula is for: a bin's own error, drawn around the accumulated curve, as is often done."""
    hits, ours = np.zeros(21), np.zeros(21)
    truth = c.curve_at(FINE)
    for seed in range(300):
        e = sd.explain(c.SLOPED, c.numbers(MANY, seed), 0, method=sd.DALE(sd.Edges(FINE)), **PLAIN)
        own = np.append(0.0, 1.96 * e.bins.std_error * e.bins.widths)
        hits += np.abs(e.value - truth) <= own
        low, high = e.interval()
        ours += (low <= truth) & (truth <= high)
    naive, good = hits[1:-1] / 300, ours[1:-1] / 300
    print(f"\na bin's own error: {naive.min():.2f} to {naive.max():.2f}; ours {good.mean():.3f}")
    assert naive.max() < 0.8
    assert 0.93 < good.mean() < 0.97


def test_pyales_intervals_do_not_cover():
    """Of its own edges, and centred by its own bins, in the population."""
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
    print(f"\nPyALE: {share.min():.2f} to {share.max():.2f} at the inner edges")
    assert share.max() < 0.85


@pytest.mark.parametrize("how", ["analytic", "fixed", "chosen"])
def test_bins_that_were_chosen_on_the_same_rows_cover_less(how):
    """The figure in the documentation: fixed edges are taken as if they had been known."""
    more = {"analytic": {}, "fixed": {"method": "bootstrap", "replicates": 200}}
    chosen = {"method": "bootstrap", "replicates": 200, "bins": "chosen"}
    share = c.covered(
        of_numbers(sd.RHALE(sd.Optimal(max_bins=20)), c.SLOPED),
        lambda e: c.curve_at(e.x),
        150,
        **more.get(how, chosen),
    )
    print(f"\nbins chosen on the same rows, {how}: {share.points.mean():.3f}, {share.together:.3f}")
    assert 0.8 < share.points.mean() <= 1
