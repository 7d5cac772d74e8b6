"""Compare bins by penalized likelihood with Eq. 13, effector's bins, and any number of equal bins.

    python -m experiments.bins [--runs 30] [--quick] [--out experiments/results]

Writes `bins.md`, `bins.png` and `bins.svg`. One core, some minutes; ``--quick`` takes half a minute
and is not conclusive.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import skedasis as sd
from experiments.bins.cases import CASE, CASES
from experiments.bins.claims import FLAT, PAPERS, sentences
from experiments.bins.figure import drawn
from experiments.bins.fits import ERRORS
from experiments.bins.runs import Outcome, counted, simulated
from experiments.bins.tables import by_case, counts, summary

ROWS = (60, 200, 500, 2_000, 10_000, 100_000)
_FEWER = 10
"""Runs at the largest number of rows."""
_MORE = 200
"""Runs in which bins are only counted; 50 from 10,000 rows on."""

_INTRODUCTION = """# Bins by likelihood compared with others

Made by `python -m experiments.bins` with skedasis {version}: {runs} runs ({fewer} at 100,000 rows), {seconds:.0f} s of
processor time. Cases and their truths are in `experiments/bins/cases.py`, the errors in `experiments/bins/fits.py`.

- **likelihood**: `sd.Optimal(criterion="likelihood")`; "constant" is the same with `slopes="constant"`.
- **Eq. 13, 20 | 40 | 200**: `sd.Optimal` with that K_max, 10 rows per bin and alpha 0.2, the papers' settings;
  **default**: K_max 50, N / 20 rows per bin.
- **effector**: the default of its `RHALE` (`DynamicProgramming`: K_max 20, 2 rows, discount 0.3), run by effector
  itself.
- **20 equal**, and **best equal**: among 2 to 100 equal bins those with the smallest mean error in this row of the
  table, which is not known in advance (the number in brackets).

∫ mean and ∫ std are the absolute errors of the estimated mean and standard deviation of the slopes at x, integrated
over the axis and divided by its length; L_mu and L_sigma are the papers' losses, means over bins (those without a
variance are left out: the last table counts them). The sign after each error follows from the paired 95 % interval of
the difference: + likelihood is better, = no significant difference, - likelihood is worse.
"""


def main() -> int:
    """Run the experiment."""
    asked = _asked()
    runs, rows = (3, ROWS[:3]) if asked.quick else (asked.runs, ROWS)
    started = time.process_time()
    outcomes: list[Outcome] = []
    for case in CASES:
        outcomes += [simulated(case, n, min(runs, _FEWER) if n == ROWS[-1] else runs) for n in rows]
        _say(f"{case.name}: {time.process_time() - started:.0f} s")
    often = dict.fromkeys(FLAT, rows) | {PAPERS[0]: (500,)}
    more = 5 if asked.quick else _MORE
    bins = {
        (name, n): counted(CASE[name], n, more if n < 10_000 else max(more // 4, 2))
        for name, sizes in often.items()
        for n in sizes
    }
    asked.out.mkdir(parents=True, exist_ok=True)
    seconds = time.process_time() - started
    text = _written(outcomes, sentences(outcomes, bins), runs, seconds)
    (asked.out / "bins.md").write_text(text, encoding="utf-8")
    drawn(outcomes, asked.out)
    _say(f"{asked.out / 'bins.md'}: {seconds:.0f} s")
    return 0


def _written(outcomes: list[Outcome], claims: list[str], runs: int, seconds: float) -> str:
    head = _INTRODUCTION.format(
        version=sd.__version__, runs=runs, fewer=min(runs, _FEWER), seconds=seconds
    )
    parts = [head, "## Summary", summary(outcomes)]
    parts += ["![Errors by rows, relative to the best equal bins](bins.png)"]
    parts += ["## Claims", "\n".join(f"- {claim}" for claim in claims)]
    for kind, error in enumerate(ERRORS):
        parts += [f"## {error}", by_case(outcomes, kind)]
    parts += ["## Bins (of these without a variance)", counts(outcomes)]
    return "\n\n".join(parts) + "\n"


def _asked() -> argparse.Namespace:
    reader = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    reader.add_argument("--runs", type=int, default=30)
    reader.add_argument("--quick", action="store_true", help="3 runs of at most 500 rows")
    reader.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "results")
    return reader.parse_args()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    sys.exit(main())
