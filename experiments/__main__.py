"""Run the experiments in parallel, and write RESULTS.md: ``python -m experiments [--only uale/]``."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from experiments.catalogue import everything
from experiments.experiment import HERE, RESULTS, Experiment
from experiments.record import Record, results


def main() -> int:
    """Run the selected experiments; those that measure time come last, one by one."""
    reader = argparse.ArgumentParser(prog="python -m experiments")
    reader.add_argument("--only", default="", help="a part of paper/name")
    reader.add_argument("--quick", action="store_true", help="small runs, which are not stored")
    reader.add_argument("--jobs", type=int, default=2)
    reader.add_argument("--write", action="store_true", help="only rewrite RESULTS.md")
    asked = reader.parse_args()
    chosen = [e for e in everything() if asked.only in f"{e.paper}/{e.name}" and not asked.write]
    started = time.perf_counter()
    with ThreadPoolExecutor(asked.jobs) as pool:
        failed = list(pool.map(lambda e: _run(e, asked.quick), [e for e in chosen if not e.timed]))
    failed += [_run(e, asked.quick) for e in chosen if e.timed]
    if not asked.quick:
        write()
    print(f"{len(chosen)} experiments, {sum(failed)} failed, {time.perf_counter() - started:.0f} s")
    return int(any(failed))


def _run(experiment: Experiment, quick: bool) -> bool:
    """Run one experiment in a separate process, so that runs are independent; return whether it failed."""
    command = [sys.executable, "-m", experiment.module, *(["--quick"] if quick else [])]
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    said = done.stdout if done.returncode == 0 else done.stdout + done.stderr
    print(
        f"\n=== {experiment.paper}/{experiment.name}: {seconds:.0f} s\n{said.rstrip()}", flush=True
    )
    return done.returncode != 0


def write(folder: Path = RESULTS, path: Path = HERE / "RESULTS.md") -> None:
    """Write RESULTS.md from the stored results."""
    places = [folder / e.paper / f"{e.name}.json" for e in everything()]
    kept = [Record.read(place) for place in places if place.is_file()]
    path.write_text(results(kept), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
