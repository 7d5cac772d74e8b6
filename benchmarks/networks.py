"""RHALE and ALE of a torch network, beside effector and beside the network's own passes.

``python -m benchmarks.networks WHO N KEEP`` prints the extra megabytes of RHALE.
"""

from __future__ import annotations

import functools
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import skedasis as sd
from benchmarks.bench import Bench
from benchmarks.lines import Alone, Line, Space, Speed
from benchmarks.memory import MEGABYTE, _given
from benchmarks.ours import objective
from benchmarks.peers import ALPHA
from benchmarks.problem import Floats, rows_of
from benchmarks.timing import Took

D, WIDTH, LAYERS, BINS = 20, 256, 3, 20
CHUNK = 2048
"""Rows of one pass of ours: the bare passes are made of as many."""
SINGLE = 1e-4
"""How far apart sums in single precision may be, relative to the largest, in calls of different sizes."""


@dataclass(frozen=True, eq=False)
class Network:
    """A network of one thread, and the rows that it is explained on.

    Parameters
    ----------
    n : int
    """

    n: int

    @functools.cached_property
    def rows(self) -> Floats:
        """Return the rows, shape (n, 20), as doubles."""
        return rows_of(self.n, D)

    @functools.cached_property
    def module(self) -> Any:
        """Return 3 layers of 256 ReLU, of single precision."""
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(0)
        sizes = [D] + [WIDTH] * LAYERS
        layers: list[Any] = []
        for k in range(LAYERS):
            layers += [torch.nn.Linear(sizes[k], sizes[k + 1]), torch.nn.ReLU()]
        return torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 1)).eval()

    def model(self, X: Floats) -> Floats:
        """Answer for all rows at once, as one writes it for effector."""
        import torch

        with torch.no_grad():
            return self.module(torch.as_tensor(X, dtype=torch.float32)).numpy()[:, 0]

    def jacobian(self, X: Floats) -> Floats:
        """Return the slopes of all features at all rows from one backward pass."""
        import torch

        x = torch.as_tensor(X, dtype=torch.float32).requires_grad_(True)
        (slopes,) = torch.autograd.grad(self.module(x).sum(), x)
        return slopes.numpy()

    def bare(self) -> None:
        """Pass as many rows through the network as an ALE of all features asks for, and do nothing else."""
        import torch

        with torch.no_grad():
            parts = torch.as_tensor(self.rows, dtype=torch.float32).split(CHUNK)
            for _ in range(2 * D):
                for part in parts:
                    self.module(part)

    def ours(self, method: Any, keep: str = "256MB") -> Any:
        """Explain all features, without the heterogeneity score: effector has none."""
        q = sd.prediction(self.module)
        return sd.explain(
            q, self.rows, method=method, keep_rows=keep, heterogeneity_rows=0, progress=False
        )

    @property
    def least(self) -> int:
        """Return the fewest rows of a bin."""
        return max(2, -(-self.n // 20))

    def rhale(self, keep: str = "256MB") -> Any:
        """RHALE with the search that effector is given, and slopes whatever their check says: effector has none."""
        bins = sd.Optimal(max_bins=BINS, alpha=ALPHA, min_points=self.least)
        return self.ours(sd.RHALE(bins=bins, local_effects="slopes"), keep)

    def effector_rhale(self, slopes: bool = True) -> list[dict[str, Any]]:
        """RHALE with slopes by torch, or by effector's own differences."""
        import effector
        from effector import axis_partitioning

        jacobian = self.jacobian if slopes else None
        rhale = effector.RHALE(self.rows, self.model, jacobian, nof_instances="all")
        search = axis_partitioning.DynamicProgramming(
            max_nof_bins=BINS, min_points_per_bin=self.least, discount=ALPHA
        )
        rhale.fit("all", binning_method=search)
        return [rhale.payload(j) for j in range(D)]

    def effector_ale(self) -> list[dict[str, Any]]:
        """Equal bins: their means and variances."""
        import effector
        from effector import axis_partitioning

        ale = effector.ALE(self.rows, self.model, nof_instances="all")
        ale.fit("all", binning_method=axis_partitioning.Fixed(nof_bins=BINS))
        return [ale.payload(j) for j in range(D)]


def networks(bench: Bench) -> Iterator[Line]:
    """Measure RHALE, its memory, and ALE of one network."""
    n = 2_000 if bench.settings.quick else bench.settings.n
    if importlib.util.find_spec("torch") is None:
        yield Alone("networks", "skipped", n, Took(0.0, 0.0), 0, note="torch is not installed")
        return
    small, network = Network(500), Network(n)
    for first in (
        small.rhale,
        small.effector_rhale,
        small.effector_ale,
    ):  # torch's imports are long
        first()
    yield from _rhale(bench, network)
    yield from _peaks(n)
    yield from _ale(bench, network)


def _rhale(bench: Bench, network: Network) -> Iterator[Speed]:
    """Let ours and both ways of effector take turns."""
    t, got = bench.run(
        {
            "ours": network.rhale,
            "torch": network.effector_rhale,
            "none": lambda: network.effector_rhale(slopes=False),
            "model": lambda: network.jacobian(network.rows),
        }
    )
    slopes = network.jacobian(network.rows).astype(float)
    worse = max(
        _worse(network, j, got["ours"][j].x, got["torch"][j]["limits"], slopes[:, j])
        for j in range(D)
    )
    work, asked = f"RHALE of an MLP, K_max {BINS}", _asked(got["ours"][0])
    peers = {"torch": (2.0, "its slopes by torch"), "none": (20.0, "its own differences")}
    for name, (reach, note) in peers.items():
        # Differences of single precision are mostly noise: nothing to compare with.
        difference = worse if name == "torch" else None
        yield Speed(
            "networks", work, "effector", t["ours"], t[name], t["model"].wall, asked, 0,
            difference, SINGLE, reach, _note(network, note), network.n * D,
        )  # fmt: skip


def _ale(bench: Bench, network: Network) -> Iterator[Speed]:
    """Let ours, effector and the bare passes take turns."""
    from benchmarks.tasks import bins_differ

    t, got = bench.run(
        {
            "ours": lambda: network.ours(sd.ALE(bins=sd.Uniform(BINS))),
            "theirs": network.effector_ale,
            "bare": network.bare,
        }
    )
    work, model, asked = f"ALE of an MLP, {BINS} equal bins", t["bare"].wall, _asked(got["ours"][0])
    apart = max(bins_differ(got["ours"][j], got["theirs"][j]) for j in range(D))
    yield Speed(
        "networks", work, "effector", t["ours"], t["theirs"], model, asked, 0,
        apart, 10 * SINGLE, 1.6, _note(network), network.n * D,
    )  # fmt: skip
    yield Speed(
        "networks", work, "the bare passes", t["ours"], t["bare"], model, asked, 0,
        None, SINGLE, round(1 / 1.1, 3), _note(network, "wanted: within 1.1 of them"), network.n * D,
    )  # fmt: skip


def _note(network: Network, more: str = "") -> str:
    return ", ".join(filter(None, (f"N = {network.n:,}", f"D = {D}, float32", more)))


def _asked(result: Any) -> int:
    """Return all rows that the network was asked for, slope rows and those of the check included."""
    said = result.provenance
    return sum(said.get(of, 0) for of in ("model_rows", "slope_rows"))


def _worse(network: Network, j: int, ours: Floats, theirs: Floats, slopes: Floats) -> float:
    """Return by how much our bins are worse than theirs under Eq. 13, or too good to be the same.

    Their variances divide by n, which explains 1/n of a gain.
    """
    x = network.rows[:, j]
    mine, other = (objective(z, x, slopes, 1) for z in (ours, theirs))
    scale = max(abs(other), float(np.ptp(x)) * float(np.max(slopes**2)) * 1e-6)
    gain = (other - mine) / scale
    return max(0.0, -gain, gain - 1e-3)


def _peaks(n: int) -> Iterator[Space]:
    """Measure by how much the resident memory rises, each in a process of its own."""
    lines = {"ours": (("0MB", 20.0), ("256MB", None)), "effector": (("", None),)}
    for who, kinds in lines.items():
        for keep, limit in kinds:
            task = [sys.executable, "-m", "benchmarks.networks", who, str(n), keep]
            done = subprocess.run(  # noqa: S603 (its own module, no shell)
                task, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RuntimeError(f"{' '.join(task[1:])} failed:\n{done.stderr[-2000:]}")
            note = {"0MB": "no rows kept", "": "slopes by torch"}.get(
                keep, "rows kept, as by default"
            )
            megabytes = float(done.stdout.split()[-1])
            yield Space("networks", f"{who}: RHALE of an MLP, D = {D}", n, megabytes, limit, note)


def main(who: str, n: str, keep: str) -> None:
    """Explain a few rows (imports are no cost of N), then all, and print what that took."""
    for rows in (500, int(n)):
        network = Network(rows)
        network.model(network.rows[:2])  # the rows and the network are there before
        run = functools.partial(network.rhale, keep) if who == "ours" else network.effector_rhale
        if rows == 500:
            run()
        else:
            print(f"{_given(run) / MEGABYTE:.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
