"""What follows the first round over the rows: heterogeneity scores, and second rounds that methods ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from skedasis.engine.prepare import Job
from skedasis.engine.reading import about_of
from skedasis.engine.run import Gathered, run
from skedasis.engine.scores import Scores
from skedasis.methods.base import Local


def further_rounds(
    job: Job, gathered: Gathered, scores: Scores, threads: int, show: bool | None
) -> None:
    """Go through the batches again as long as a method asks for it, and add what that gives.

    Parameters
    ----------
    job : Job
        Its plans become those of the last round.
    gathered : dict
        Of the rounds before; added to.
    scores : Scores
    threads, show
        As `explain` has them: ``threads``, ``progress``.
    """
    plans: dict[tuple[Any, Any], Any] = {}
    for task in job.tasks:
        for label in job.outputs:
            key = label, task.key
            about = about_of(job, label, task)
            local, score = gathered[key], scores.found.get(key)
            found = task.way.further(job.plans[key], local, score, about)
            if found is not None:
                plans[key] = found
    if plans:
        add_round(job, plans, gathered, threads, show)


def add_round(
    job: Job,
    plans: dict[tuple[Any, Any], Any],
    gathered: Gathered,
    threads: int,
    show: bool | None,
) -> None:
    """Go through the batches for some of the plans, and add what that gives to what is there."""
    again = part_of(job, plans)
    for key, local in run(again, threads, show).items():
        before = gathered[key]
        gathered[key] = Local(
            {**before.moments, **local.moments},
            {**before.kept, **local.kept},
            before.largest,
            before.outside,
            before.notes,
        )
        job.plans[key] = plans[key]
    job.meter.add(again.meter)


def part_of(job: Job, plans: dict[tuple[Any, Any], Any]) -> Job:
    """Return the job of some plans; missing values have been compared already."""
    keys = {key for _, key in plans}
    tasks = [t for t in job.tasks if t.key in keys]
    return replace(job, plans=plans, tasks=tasks, donors={}, meter=type(job.meter)())
