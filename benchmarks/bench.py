"""What every task works with: the problem, its solvers, counted rows, compared answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.ours import Ours
from benchmarks.peers import Peers, seconds_of
from benchmarks.problem import Floats, Model, Problem, Settings
from benchmarks.timing import Run, Took, medians


class Counted:
    """A model that counts the rows it is asked for."""

    def __init__(self, model: Model) -> None:
        self.model, self.rows = model, 0

    def __call__(self, X: Any) -> Floats:
        """Count the rows, and answer."""
        self.rows += len(X)
        return self.model(X)


class Bench:
    """One problem, its solvers, and how long the model alone takes."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.problem = Problem(settings)
        self.ours, self.peers = Ours(self.problem), Peers(self.problem)
        self.row_seconds = seconds_of(self.problem.model, self.problem.rows)
        self.slope_seconds = seconds_of(self.problem.slope, self.problem.rows)

    def run(self, runs: dict[str, Run], repeats: int | None = None) -> tuple[dict[str, Took], Any]:
        """Return median seconds and first answers."""
        return medians(runs, repeats or self.settings.repeats)

    def count(self, who: str, method: str, *arguments: Any, **keywords: Any) -> int:
        """Return the model rows of one call, counted by the model, not by whoever calls it."""
        model, slope = Counted(self.problem.model), Counted(self.problem.slope)
        problem = Problem(self.settings, (model, slope))
        solver = Ours(problem) if who == "ours" else Peers(problem)
        getattr(solver, method)(*arguments, **keywords)
        return model.rows + slope.rows


def largest_difference(ours: Any, theirs: Any) -> float:
    """Return the largest difference, relative to the largest value, where both are numbers."""
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    both = np.isfinite(ours) & np.isfinite(theirs)
    scale = np.abs(theirs[both]).max(initial=0.0) or 1.0
    return float(np.abs(ours - theirs)[both].max(initial=0.0) / scale)


def must_ask(work: str, result: Any, counted: int, expected: int) -> None:
    """Stop where a result cost other model rows than it must, by the model's count or its own.

    The check of the model on a few rows, which provenances count apart, is left out.
    """
    asked = counted - result.provenance["check_rows"]
    said = result.provenance["effect_rows"]
    if not asked == said == expected:
        raise RuntimeError(
            f"{work}: got {asked:,} model rows, in the provenance {said:,}; expected {expected:,}"
        )
