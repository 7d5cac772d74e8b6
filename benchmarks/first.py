"""The first call of a process: the libraries are imported, no kernel is loaded, and no memory has been used before.

Each call has a process of its own, ours and theirs in turn. So pages that arrays use for the first time and modules
that a call loads are part of the time, as they are for a user who asks once.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import skedasis as sd
from benchmarks.bench import Bench
from benchmarks.lines import Speed
from benchmarks.ours import Ours
from benchmarks.peers import Peers
from benchmarks.problem import Problem, Settings
from benchmarks.timing import Run, Took, median, once

BINS = 20


def first(bench: Bench) -> Iterator[Speed]:
    """Measure the calls of the groups `ale` and `rhale` again, each as the first one of its process."""
    for work, peer, ours, theirs, reach in (
        (f"ALE, {BINS} equal bins", "effector", "ale", "effector_ale", 5.0),
        (f"ALE, {BINS} quantile bins", "PyALE", "quantile_ale", "pyale", 12.0),
        (f"RHALE, slopes given, K_max {BINS}", "effector", "rhale", "effector_rhale", 4.0),
    ):
        took: dict[str, list[Took]] = {ours: [], theirs: []}
        for _ in range(bench.settings.repeats):
            for name, seconds in took.items():
                seconds.append(_apart(bench.settings, name))
        yield Speed(
            "first", work, peer, median(took[ours]), median(took[theirs]), reach=reach,
            note="first call of a process",
        )  # fmt: skip


def _apart(settings: Settings, name: str) -> Took:
    """Return how long a call takes in a new process."""
    task = json.dumps({"settings": asdict(settings), "name": name})
    command = [sys.executable, "-m", "benchmarks.first", task]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603 (no shell)
    return Took(**json.loads(done.stdout.splitlines()[-1]))


def _runs(problem: Problem) -> dict[str, Run]:
    """Return the calls by name; all names of the libraries that they use are imported."""
    ours, peers = Ours(problem), Peers(problem)
    peers.frame, peers.estimator  # noqa: B018 - making the frame is not measured
    methods: dict[str, Any] = {
        "ale": sd.ALE(bins=sd.Uniform(BINS)),
        "quantile_ale": sd.ALE(bins=sd.Quantile(BINS)),
        "rhale": sd.RHALE(bins=ours.search(BINS)),
    }
    sd.explain, sd.prediction  # noqa: B018 - loads the modules
    return {
        **{n: lambda n=n, m=m: ours.explain(m, n == "rhale") for n, m in methods.items()},
        "effector_ale": lambda: peers.effector_ale(BINS),
        "effector_rhale": lambda: peers.effector_rhale(BINS),
        "pyale": lambda: peers.pyale(BINS),
    }


def main(task: str) -> None:
    """Time one call; print its seconds as JSON."""
    logging.disable(logging.INFO)
    warnings.simplefilter("ignore")
    given = json.loads(task)
    problem = Problem(Settings(**given["settings"]))
    print(json.dumps(asdict(once(_runs(problem)[given["name"]])[0])))


if __name__ == "__main__":
    main(sys.argv[1])
