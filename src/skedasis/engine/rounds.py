"""What follows the first round over the rows: slopes are checked, and methods may ask for second rounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from skedasis.cells import Cells
from skedasis.engine.choose import Task
from skedasis.engine.prepare import Job
from skedasis.engine.reading import about_of, read
from skedasis.engine.run import Gathered, bounds_of, run
from skedasis.engine.scores import Scores, identifiers
from skedasis.heterogeneity_score import score_rows
from skedasis.methods.base import Local, Plan
from skedasis.methods.missing import MISSING
from skedasis.moments import WeightKind
from skedasis.quantity.base import Traits
from skedasis.quantity.bound import Bound
from skedasis.results.effect import Effect
from skedasis.results.trust.slopes import ROWS, SlopeCheck, slope_check

Key = tuple[Any, Any]
"""The label of an output, and a feature."""


def complete(
    job: Job,
    gathered: Gathered,
    scores: Scores,
    threads: int,
    show: bool | None,
    *,
    seed: int,
    kind: WeightKind,
) -> dict[Key, Effect]:
    """Check slopes, replace those that do not tell the rise, and go through further rounds.

    Parameters
    ----------
    job : Job
        Its plans become those of the last round.
    gathered : dict
        Of the first round; added to.
    scores : Scores
    threads, show, seed, kind
        As `explain` has them.

    Returns
    -------
    dict of (label, feature) to Effect
        Results that are final already, since reading them was part of the check.
    """
    results, checks = checked_slopes(job, gathered, scores, seed, kind)
    failed = [key for key, check in checks.items() if replaceable(job, key, check)]
    if failed:
        replace_slopes(job, {key: stepped(job, key, checks[key]) for key in failed})
        again = run(part_of(job, failed), threads, show)
        for key, local in again.items():
            gathered[key] = with_missing_of(local, gathered[key])
            del results[key]
    further_rounds(job, gathered, scores, threads, show, kind)
    return results


# ------------------------------------------------------------------------------ the check of slopes


def checked_slopes(
    job: Job, gathered: Gathered, scores: Scores, seed: int, kind: WeightKind
) -> tuple[dict[Key, Effect], dict[Key, SlopeCheck]]:
    """Compare effects of slopes with the quantity's own rises across their bins, in at most 512 rows.

    Returns
    -------
    results : dict of (label, feature) to Effect
        With the outcome in their provenance.
    checks : dict of (label, feature) to SlopeCheck

    Notes
    -----
    At most 1,024 model rows a feature, counted as rows of the check; none for trees.
    """
    tasks = [t for t in job.tasks if t.way.checks_slopes]
    keys = [(o, t.key) for t in tasks for o in job.outputs if _sloped(job.plans[o, t.key])]
    if not keys:
        return {}, {}
    source = job.source
    rows = score_rows(identifiers(source), source.weights, ROWS, seed)
    places = np.sort(rows.rows)
    part = source.only(places)
    weights = None
    if rows.weights is not None:
        weights = rows.weights[np.argsort(rows.rows)]
    batch = next(part.batches(len(part)))
    bounds = bounds_of(job, batch, 2)
    of = {t.key: t for t in tasks}
    results: dict[Key, Effect] = {}
    checks: dict[Key, SlopeCheck] = {}
    for label, key in keys:
        effect = read(job, label, of[key], gathered[label, key], scores, kind)
        check = _checked(effect, bounds[label], of[key], weights)
        bounds[label].forget()
        found = {"distance": check.distance, "limit": check.limit, "rows": check.rows}
        results[label, key] = effect.with_provenance({"slope_check": found})
        checks[label, key] = check
    for bound in bounds.values():
        job.checked.meter.add(bound.meter)
    return results, checks


def _sloped(plan: Any) -> bool:
    """Return whether a plan has local effects that are slopes, and bins to check them on."""
    kinds = ("slopes", "differences")
    return isinstance(plan, Plan) and plan.traits.local in kinds and len(plan.bins) > 0


def _checked(effect: Effect, bound: Bound, task: Task, weights: Any) -> SlopeCheck:
    """Ask for the rises of the checked rows across the bins of an effect."""
    bins, j = effect.bins, task.features[0].position
    if bins is None or len(bins) == 0:
        return SlopeCheck(0.0, 0.0, 0)
    x = bound.column(j)
    cells = Cells(np.append(bins.left, bins.right[-1:]), effect.spec.closed)
    cell = cells.locate(x)
    inside = np.flatnonzero(cell >= 0)
    if len(inside) < len(x):
        bound, x, cell = bound.some(inside), x[inside], cell[inside]
        weights = None if weights is None else weights[inside]
    rise = bound.across(j, cells.edges, cell)
    return slope_check(effect, x, rise, weights)


def replaceable(job: Job, key: Key, check: SlopeCheck) -> bool:
    """Return whether slopes that failed the check are replaced: not those that a user gave, or asked for by name."""
    way = next(t.way for t in job.tasks if t.key == key[1])
    return not check.passed and way.replaces_slopes and not job.plans[key].traits.given


def stepped(job: Job, key: Key, check: SlopeCheck) -> Traits:
    """Return how local effects are got where slopes do not tell the rise."""
    said = (
        f"differences across bins: slopes ({job.plans[key].traits.source}) do not tell how much the quantity rises "
        f"(curves {check.distance:.3g} apart, allowed {check.limit:.3g})"
    )
    return Traits("steps", said)


def replace_slopes(job: Job, traits: Mapping[Key, Traits]) -> None:
    """Plan some features of a job anew, as step functions."""
    of = {t.key: t for t in job.tasks}
    for (label, key), known in traits.items():
        task = of[key]
        feature = task.features[0]
        column = job.source.column(feature.position)
        column.feature = feature
        plan = task.way.plan(column, known)
        job.plans[label, key] = plan if job.sample is None else task.way.refined(plan)


def with_missing_of(local: Local, before: Local) -> Local:
    """Keep what the first round found of rows without a value."""
    if MISSING in before.moments:
        local.moments[MISSING] = before.moments[MISSING]
    return replace(local, notes={**before.notes, **local.notes})


# ---------------------------------------------------------------------------------- more rounds


def further_rounds(
    job: Job,
    gathered: Gathered,
    scores: Scores,
    threads: int,
    show: bool | None,
    kind: WeightKind,
) -> None:
    """Go through the batches again where a method asks for it, and add what that gives.

    Parameters
    ----------
    job : Job
        Its plans become those of the last round.
    gathered : dict
        Of the rounds before; added to.
    scores : Scores
    threads, show, kind
        As `explain` has them: ``threads``, ``progress``, ``weight_kind``.
    """
    plans: dict[Key, Any] = {}
    for task in job.tasks:
        for label in job.outputs:
            key = label, task.key
            about = about_of(job, label, task)
            score = scores.found.get(key)
            found = task.way.further(job.plans[key], gathered[key], score, about, kind)
            if found is not None:
                plans[key] = found
    add_round(job, plans, gathered, threads, show)


def add_round(
    job: Job, plans: Mapping[Key, Any], gathered: Gathered, threads: int, show: bool | None
) -> None:
    """Go through the batches for some plans, and add what that gives to what is there."""
    if not plans:
        return
    job.plans.update(plans)
    for key, local in run(part_of(job, list(plans)), threads, show).items():
        before = gathered[key]
        moments, kept = {**before.moments, **local.moments}, {**before.kept, **local.kept}
        gathered[key] = replace(before, moments=moments, kept=kept)


def part_of(job: Job, keys: list[Key]) -> Job:
    """Return a job of some of the plans; its model rows count as the job's own, and missing values are done."""
    features = {key for _, key in keys}
    tasks = [t for t in job.tasks if t.key in features]
    return replace(job, plans={k: job.plans[k] for k in keys}, tasks=tasks, donors={})
