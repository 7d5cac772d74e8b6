"""See whether bins by their risk beat Eq. 13, effector's bins, and any number of equal ones.

    python -m experiments.bins [--runs 30] [--quick] [--out experiments/results]

Writes `bins.md`, `bins.png` and `bins.svg`. One core, some minutes; ``--quick`` takes half a minute and proves nothing.
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

_INTRODUCTION = """# Bins by their risk, beside others

Made by `python -m experiments.bins` with skedasis {version}: {runs} runs ({fewer} at 100,000 rows), {seconds:.0f} s of
processor time. Cases and their truths are in `experiments/bins/cases.py`, the errors in `experiments/bins/fits.py`.

- **risk**: `sd.Optimal(criterion="risk")`; "constant" is the same with `slopes="constant"`.
- **Eq. 13, 20 | 40 | 200**: `sd.Optimal` with that K_max, 10 rows per bin and alpha 0.2, the papers' settings;
  **default**: K_max 50, N / 20 rows per bin.
- **effector**: what its `RHALE` does by default (`DynamicProgramming`: K_max 20, 2 rows, discount 0.3), run by
  effector itself.
- **20 equal**, and **best equal**: of 2 to 100 equal bins those with the smallest mean error in this very row of the
  table, which nobody knows beforehand (the number in brackets).

∫ mean and ∫ spread are the integrals over the axis, divided by its length, of how far the estimated mean and standard
deviation of the slopes at x are from the truth; L_mu and L_sigma are the papers', means over bins (those without a
variance are left out: the last table counts them). Behind each rival's error stands what the paired 95 % interval of
the difference says of the risk: + better, = neither, - worse.
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
    parts = [head, "## In short", summary(outcomes)]
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
