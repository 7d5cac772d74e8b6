"""Every entry of a provenance is declared in one place."""

import numpy as np
import pytest

import skedasis as sd
from skedasis.models.calling import CallStats
from skedasis.results.provenance import PARTS, Provenance, add_cost, summed_costs, with_total

METHODS = [sd.ALE(), sd.RHALE(), sd.PDP(ice=5), sd.MPlot(), sd.PFI(n_repeats=2)]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_the_entries_of_results_are_declared(method):
    X = np.random.default_rng(0).normal(size=(80, 2))
    found = sd.explain(lambda X: X[:, 0] * X[:, 1], X, method=method, progress=False)
    results = [found, *found.values()] if isinstance(found, sd.Effects) else [found]
    for result in results:
        assert set(result.provenance) <= set(Provenance.__annotations__)


def test_the_entries_of_a_rebinned_effect_and_of_a_surface_are_declared():
    X = np.random.default_rng(0).normal(size=(80, 2))
    surface = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=3))
    effect = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.RHALE()).rebin(2)
    for result in (surface, surface.with_main_effects(), effect):
        assert set(result.provenance) <= set(Provenance.__annotations__)


def test_each_entry_is_described():
    for name in Provenance.__annotations__:
        assert name in (Provenance.__doc__ or ""), name


def test_totals_are_the_sums_of_the_parts_whatever_the_order():
    costs = [CallStats(rows=10**k, calls=2 * 10**k, seconds=0.5) for k in range(len(PARTS))]
    record: dict = {}
    for part, cost in [*zip(PARTS, costs, strict=True)] * 2:
        add_cost(record, part, cost)
    assert (record["model_rows"], record["model_calls"]) == (22_222, 44_444)
    assert [record[f"{part}_rows"] for part in PARTS] == [2 * 10**k for k in range(len(PARTS))]
    assert record["model_seconds"] == 0.5 * 2 * len(PARTS)
    both = summed_costs([record, {"tree_rows": 5}, {**record, "tree_rows": 2}])
    assert {key: 2 * value for key, value in record.items()} | {"tree_rows": 7} == both


def test_totals_of_earlier_records_are_made_once():
    """Model rows were those of the effect alone."""
    parts = {
        f"{part}_{kind}": 10**k for k, part in enumerate(PARTS) if k for kind in ("rows", "calls")
    }
    found = with_total({"model_rows": 1, "model_calls": 1, "seconds": 2.0, **parts})
    assert (found["model_rows"], found["model_calls"]) == (11_111, 11_111)
    assert (found["effect_rows"], found["effect_calls"]) == (1, 1)
    assert with_total(found) == found
    assert with_total({"seconds": 2.0}) == {"seconds": 2.0}
