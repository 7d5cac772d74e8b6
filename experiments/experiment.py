"""What an experiment is: a run that ends in tables, figures, and claims that hold or do not.

A file of an experiment ends so::

    EXPERIMENT = Experiment("uale", "figure_1", "The accumulated deviation", "UALE, Fig. 1", run)

    if __name__ == "__main__":
        sys.exit(alone(EXPERIMENT))
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).parent
RESULTS = HERE / "results"


@dataclass(frozen=True)
class Claim:
    """One thing that a paper says, and whether it holds here.

    Parameters
    ----------
    key : str
        Its name within the experiment, for tests: ``"fewer_bins"``.
    says : str
        What the paper says, in one clause.
    holds : bool or None
        None where it can be neither shown nor refuted; `numbers` says why.
    numbers : str
        One sentence with the numbers on which the verdict rests.
    why : str
        Where it does not hold: the reason, as far as it is known.
    timed : bool
        Whether the verdict rests on seconds, which no test may.
    """

    key: str
    says: str
    holds: bool | None
    numbers: str
    why: str = ""
    timed: bool = False

    def __str__(self) -> str:
        """Return the verdict in one sentence, and the reason where there is one."""
        verdict = {True: "holds", False: "does not hold", None: "cannot be decided"}[self.holds]
        return f"{self.says}: {verdict}. {self.numbers}" + (f" {self.why}" if self.why else "")


@dataclass(frozen=True)
class Table:
    """Text in rows; numbers are written by who makes them."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return the table; all columns but the first are aligned to the right."""
        lines = [f"| {' | '.join(self.head)} |", f"|---|{'--:|' * (len(self.head) - 1)}"]
        return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in self.rows)])


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, and what is to be seen in it."""

    name: str
    figure: Figure
    caption: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """What an experiment found.

    Parameters
    ----------
    claims : sequence of Claim
    tables : sequence of Table
    pictures : sequence of Picture
    settings : str
        What was done with which settings, and where they differ from the paper's; one paragraph.
    values : dict
        Numbers that tests may want besides the verdicts; not written anywhere.
    """

    claims: Sequence[Claim]
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    settings: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, key: str) -> Claim:
        """Return the claim of that name."""
        return {claim.key: claim for claim in self.claims}[key]


@dataclass(frozen=True)
class Experiment:
    """One experiment of one paper.

    Parameters
    ----------
    paper, name : str
        Its place: ``experiments/{paper}/{name}.py``.
    title : str
        What it is about, in a few words.
    source : str
        Where in the paper: ``"RHALE, sec. 4.2, Fig. 6 and 7"``.
    run : callable
        Takes whether it is to be quick (seconds, as a test wants it), and returns an `Outcome`.
    needs : sequence of str
        Libraries beyond those of the tests.
    data : sequence of str
        Files that must be in the data folder (see `skedasis.datasets`).
    timed : bool
        Whether it measures time, so that nothing else may run beside it.
    slow : bool
        Whether its quick run takes more than some seconds, so that its test is a slow one.
    """

    paper: str
    name: str
    title: str
    source: str
    run: Callable[[bool], Outcome]
    needs: Sequence[str] = ()
    data: Sequence[str] = ()
    timed: bool = False
    slow: bool = False

    @property
    def module(self) -> str:
        """Return the module's name."""
        return f"experiments.{self.paper}.{self.name}"

    def missing(self) -> str:
        """Return what it cannot be run without, or nothing."""
        absent = [name for name in self.needs if find_spec(name) is None]
        if absent:
            return f"needs {', '.join(absent)}"
        files = [name for name in self.data if not (folder() / name).is_file()]
        return f"needs {', '.join(files)} in the folder named by SKEDASIS_DATA" if files else ""


def folder() -> Path:
    """Return where the real data lie: the folder named by SKEDASIS_DATA, else ``../shared/data``."""
    return Path(os.environ.get("SKEDASIS_DATA") or HERE.parent.parent / "shared" / "data")


def alone(experiment: Experiment) -> int:
    """Run one experiment as a program: print what it found, and keep it unless it was quick."""
    from experiments.record import Record

    reader = argparse.ArgumentParser(prog=f"python -m {experiment.module}")
    reader.add_argument("--quick", action="store_true", help="a small run, which is not kept")
    reader.add_argument("--out", type=Path, default=RESULTS)
    asked = reader.parse_args()
    if reason := experiment.missing():
        print(f"{experiment.module}: skipped, {reason}")
        return 0
    started = time.process_time()
    outcome = experiment.run(asked.quick)
    record = Record.of(experiment, outcome, time.process_time() - started)
    print(record.plain())
    if not asked.quick:
        record.keep(asked.out, outcome.pictures)
    sys.stdout.flush()
    return 0
