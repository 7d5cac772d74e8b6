"""Experiments: a run returns tables, figures, and claims that hold or do not.

The file of an experiment ends with::

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
    """A statement of a paper, and whether it holds here.

    Parameters
    ----------
    key : str
        Its name within the experiment, for tests: ``"fewer_bins"``.
    says : str
        The statement of the paper, in one clause.
    holds : bool or None
        None if it can be neither confirmed nor refuted; `numbers` gives the reason.
    numbers : str
        One sentence with the numbers that the verdict is based on.
    why : str
        The reason why it does not hold, as far as it is known.
    timed : bool
        Whether the verdict depends on measured time, which tests must not check.
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
    """A table of text; the caller formats the numbers."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return the table; all columns but the first are aligned to the right."""
        lines = [f"| {' | '.join(self.head)} |", f"|---|{'--:|' * (len(self.head) - 1)}"]
        return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in self.rows)])


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure and its caption."""

    name: str
    figure: Figure
    caption: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """The results of an experiment.

    Parameters
    ----------
    claims : sequence of Claim
    tables : sequence of Table
    pictures : sequence of Picture
    settings : str
        Settings, and where they differ from those of the paper; one paragraph.
    values : dict
        Further numbers for tests; not stored.
    """

    claims: Sequence[Claim]
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    settings: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, key: str) -> Claim:
        """Return the claim with this key."""
        return {claim.key: claim for claim in self.claims}[key]


@dataclass(frozen=True)
class Experiment:
    """One experiment of one paper.

    Parameters
    ----------
    paper, name : str
        Its file: ``experiments/{paper}/{name}.py``.
    title : str
        The subject, in a few words.
    source : str
        Source in the paper: ``"RHALE, sec. 4.2, Fig. 6 and 7"``.
    run : callable
        Takes whether the run is quick (seconds, for tests), and returns an `Outcome`.
    needs : sequence of str
        Libraries beyond those of the tests.
    data : sequence of str
        Files that must be in the data folder (see `skedasis.datasets`).
    timed : bool
        Whether it measures time, so that nothing else may run at the same time.
    slow : bool
        Whether its quick run takes more than a few seconds, so that its test is marked slow.
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
        """Return the missing requirements, or an empty string."""
        absent = [name for name in self.needs if find_spec(name) is None]
        if absent:
            return f"needs {', '.join(absent)}"
        files = [name for name in self.data if not (folder() / name).is_file()]
        return f"needs {', '.join(files)} in the folder named by SKEDASIS_DATA" if files else ""


def folder() -> Path:
    """Return the folder of the real data: the one named by SKEDASIS_DATA, else ``../shared/data``."""
    return Path(os.environ.get("SKEDASIS_DATA") or HERE.parent.parent / "shared" / "data")


def alone(experiment: Experiment) -> int:
    """Run one experiment as a program: print its results, and store them unless the run was quick."""
    from experiments.record import Record

    reader = argparse.ArgumentParser(prog=f"python -m {experiment.module}")
    reader.add_argument("--quick", action="store_true", help="a small run, which is not stored")
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
