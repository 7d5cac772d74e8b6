"""Torch modules on an accelerator (CUDA, MPS, XPU), compared with the same modules on the processor.

Skipped where there is none: nothing of the library needs one.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest

import skedasis as sd

pytestmark = pytest.mark.slow

SINGLE = {"rtol": 1e-3, "atol": 1e-4}
"""What single precision may differ by when sums are taken in another order."""


@pytest.fixture(scope="module")
def device():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    found = torch.accelerator.current_accelerator(check_available=True)
    if found is None:
        pytest.skip("no accelerator: torch finds none on this machine")
    return found


@pytest.fixture(scope="module")
def pair(device):
    """Return a module on the processor and its copy on the accelerator."""
    import torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh(),
        torch.nn.Linear(64, 3),
    ).eval()  # fmt: skip
    return net, copy.deepcopy(net).to(device)


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(3000, 4))


def where(module):
    """Return the kind of device of every parameter."""
    return {p.device.type for p in module.parameters()}


@pytest.mark.parametrize(
    "method",
    [sd.ALE(bins=8), sd.RHALE(bins=8), sd.DALE(bins=8), sd.PDP(grid=9), sd.ICE(grid=9)],
    ids=lambda m: type(m).__name__,
)
def test_effects_are_those_of_the_processor(method, pair, X, device):
    here, there = (sd.explain(sd.prediction(m, output=1), X, method=method) for m in pair)
    for name in here:
        np.testing.assert_array_equal(there[name].x, here[name].x)
        np.testing.assert_allclose(there[name].value, here[name].value, **SINGLE)
    for rows in ("effect_rows", "slope_rows", "local_effects"):
        assert there.provenance.get(rows) == here.provenance.get(rows)
    assert where(pair[1]) == {device.type}


def test_pairs_regions_and_importance_are_those_of_the_processor(pair, X):
    here, there = (sd.prediction(m, output=0) for m in pair)
    effects = [sd.explain(q, X, ("x0", "x1"), method=sd.DALE(bins=6)) for q in (here, there)]
    np.testing.assert_allclose(effects[1].value, effects[0].value, **SINGLE)
    trees = [sd.regions(q, X, "x0") for q in (here, there)]
    assert trees[1].rules == trees[0].rules
    y = X[:, 0] * X[:, 1]
    scores = [sd.explain(sd.loss(q), X, y=y, method=sd.PFI(n_repeats=3)) for q in (here, there)]
    for mine, other in zip(*(s.ranking() for s in scores), strict=True):
        assert other.feature == mine.feature
        np.testing.assert_allclose(other.mean, mine.mean, **SINGLE)


@pytest.mark.parametrize("kind", ["float64", "float32", "bfloat16"])
def test_each_precision_is_kept(kind, device, X):
    import torch

    if kind == "float64" and device.type == "mps":
        pytest.skip("MPS computes in single precision")
    torch.manual_seed(1)
    net = torch.nn.Linear(4, 1).to(device=device, dtype=getattr(torch, kind))
    e = sd.explain(net, X, "x2", method=sd.RHALE(bins=5))
    slope = float(net.weight.detach()[0, 2])
    np.testing.assert_allclose(e.bins.effect, slope, rtol={"float64": 1e-12}.get(kind, 1e-2))


def test_fewer_rows_are_passed_at_once_where_the_memory_is_short(device):
    import torch

    if device.type != "cuda":
        pytest.skip("only CUDA can be given less memory")

    class Wide(torch.nn.Module):
        """Takes 40 kB for each row, as attention does; a pass of 65,536 rows takes 2.6 GB and more."""

        def __init__(self):
            super().__init__()
            self.spread = torch.nn.Linear(4, 10_000)

        def forward(self, rows):
            return torch.tanh(self.spread(rows)).sum(dim=1)

    torch.manual_seed(3)
    net = Wide()
    X = np.random.default_rng(1).normal(size=(20_000, 4))
    there = copy.deepcopy(net).to(device)
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(device).total_memory
    torch.cuda.set_per_process_memory_fraction(0.6e9 / total)
    try:
        got = sd.explain(there, X, method=sd.RHALE(bins=5))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    expected = sd.explain(net, X[:, :], method=sd.RHALE(bins=5))
    for name in got:
        np.testing.assert_allclose(
            got[name].bins.effect, expected[name].bins.effect, rtol=1e-3, atol=1e-3
        )
