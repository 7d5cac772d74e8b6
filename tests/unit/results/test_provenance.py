"""Every entry of a provenance is declared in one place."""

import numpy as np
import pytest

import skedasis as sd
from skedasis.results.provenance import Provenance

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
