"""After the first pass: the check of slopes, and the second rounds that methods ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from skedasis._types import Floats
from skedasis.data.dataset import Source
from skedasis.engine.assemble import about_of, read
from skedasis.engine.heterogeneity_score import Scores, identifiers
from skedasis.engine.plan import Job, Key
from skedasis.engine.run import Gathered, bounds_of, run
from skedasis.methods.base import Local, Plan
from skedasis.methods.missing import MISSING
from skedasis.models.adapters import Traits
from skedasis.quantities.evaluator import Bound
from skedasis.results.checks.slope_check import ROWS, SlopeCheck, slope_check
from skedasis.results.effect import Effect
from skedasis.stats.grid import Cells
from skedasis.stats.heterogeneity_score import score_rows
from skedasis.stats.moments import WeightKind

_COMMON = 16
"""Quantiles between which slopes are checked."""


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
    """Check slopes, replace those that fail, and run the further rounds that methods ask for.

    Parameters
    ----------
    job : Job
        Its plans are replaced by those of the last round.
    gathered : dict of (label, feature) to Local
        From the first round. What later rounds gather is added to it.
    scores : Scores
    threads, show, seed, kind
        ``threads``, ``progress``, ``seed`` and ``weight_kind`` of `explain`.

    Returns
    -------
    dict of (label, feature) to Effect
        Effects whose slopes were kept. The check makes them, so they need not be made again.
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
    """Compare accumulated slopes with the quantity's own rises between 16 quantiles, in at most 512 rows.

    Parameters
    ----------
    job : Job
    gathered : dict of (label, feature) to Local
        From the first round.
    scores : Scores
    seed, kind
        ``seed`` and ``weight_kind`` of `explain`. The rows are those with the smallest hashes of seed and identifier.

    Returns
    -------
    results : dict of (label, feature) to Effect
        Of all features with slopes. Their provenances have the outcome, ``slope_check``.
    checks : dict of (label, feature) to SlopeCheck

    Notes
    -----
    At most 1,024 model rows per feature, counted as ``check_rows``; per feature and output where outputs have bins of
    their own that were not chosen by their risk. None for trees.
    """
    tasks = [t for t in job.tasks if t.way.checks_slopes]
    keys = [(o, t.key) for t in tasks for o in job.outputs if _sloped(job.plans[o, t.key])]
    if not keys:
        return {}, {}
    source = job.source
    rows = score_rows(identifiers(source), source.weights, ROWS, seed)
    part = source.only(np.sort(rows.rows))
    weights = None if rows.weights is None else rows.weights[np.argsort(rows.rows)]
    of = {t.key: t for t in job.tasks}
    results = {
        (label, key): read(job, label, of[key], gathered[label, key], scores, kind)
        for label, key in keys
    }
    cells = {
        at: _cells_of(part, results[at], follows_curve=of[at[1]].way.follows_curve) for at in keys
    }
    rises: dict[Key, list[Floats]] = {at: [] for at in keys}
    for batch in part.batches(max(1, min(job.batch_rows, len(part)))):
        bounds = bounds_of(job, batch, min(job.copies, 2))
        for label, key in keys:
            position = of[key].features[0].position
            rises[label, key].append(_rises(bounds[label], position, cells[label, key]))
        for bound in bounds.values():
            job.checked.meter.add(bound.meter)
    checks: dict[Key, SlopeCheck] = {}
    for at, effect in results.items():
        x, rise = part.table.column(of[at[1]].features[0].position, part.row_id), rises[at]
        there = np.flatnonzero(cells[at].locate(x) >= 0)
        some = None if weights is None else weights[there]
        check = slope_check(effect, cells[at], x[there], np.concatenate(rise)[there], some)
        results[at] = effect.with_provenance({"slope_check": check.said})
        checks[at] = check
    return results, checks


def _sloped(plan: object) -> bool:
    """Return whether the local effects of a plan are slopes, and there are bins to check them on."""
    kinds = ("slopes", "differences")
    return isinstance(plan, Plan) and plan.traits.local in kinds and len(plan.bins) > 0


def _cells_of(part: Source, effect: Effect, *, follows_curve: bool) -> Cells:
    """Return the cells on which an effect is checked: its own bins, or unions of them if there are more than 16.

    Bins chosen by their risk follow the curve, so quantiles of the checked rows within the range of the bins serve as
    well, and all outputs share them: the bins themselves differ between outputs, and each output would need model rows
    of its own. Other bins may straighten the curve, which is no fault of the slopes; on quantiles it would seem one.
    """
    bins = effect.bins
    if bins is None or len(bins) == 0:
        return Cells(np.zeros(1))
    edges = np.append(bins.low, bins.high[-1:])
    column = part.column(effect.about.feature.position)
    inner = np.clip(column.order_statistics(_COMMON)[1:-1], edges[0], edges[-1])
    ends = edges[[0, -1]]
    if follows_curve:
        edges = np.unique(np.concatenate([ends, inner]))
    elif len(bins) > _COMMON:
        near = np.abs(edges[:, None] - inner).argmin(axis=0)
        edges = np.unique(np.concatenate([ends, edges[near]]))
    return Cells(edges, effect.spec.closed)


def _rises(bound: Bound, j: int, cells: Cells) -> Floats:
    """Return the rise of each row of a batch across its cell, (n,); NaN for rows outside the cells."""
    cell = cells.locate(bound.column(j))
    out = np.full(len(cell), np.nan)
    inside = np.flatnonzero(cell >= 0)
    if len(inside):
        part = bound if len(inside) == len(cell) else bound.some(inside)
        out[inside] = part.across(j, cells.edges, cell[inside])
    return out


def replaceable(job: Job, key: Key, check: SlopeCheck) -> bool:
    """Return whether slopes failed the check and may be replaced: they were neither given nor requested by name."""
    way = next(t.way for t in job.tasks if t.key == key[1])
    return not check.passed and way.replaces_slopes and not job.plans[key].traits.given


def stepped(job: Job, key: Key, check: SlopeCheck) -> Traits:
    """Return how local effects are computed instead of slopes that failed the check."""
    source = (
        f"differences across bins: slopes ({job.plans[key].traits.source}) do not tell how much the quantity rises "
        f"(root mean square difference {check.distance:.3g}, limit {check.limit:.3g})"
    )
    return Traits("steps", source)


def replace_slopes(job: Job, traits: Mapping[Key, Traits]) -> None:
    """Plan some features of a job again, as step functions."""
    of = {t.key: t for t in job.tasks}
    for (label, key), known in traits.items():
        task = of[key]
        feature = task.features[0]
        column = job.source.column(feature.position)
        column.feature = feature
        plan = task.way.plan(column, known)
        job.plans[label, key] = plan if job.sample is None else task.way.refined(plan)


def with_missing_of(local: Local, before: Local) -> Local:
    """Keep the moments of rows with missing values from the first round."""
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
    """Run one more round for the features whose method asks for it (`Method.further`); see `complete`."""
    plans: dict[Key, Plan] = {}
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
    job: Job, plans: Mapping[Key, Plan], gathered: Gathered, threads: int, show: bool | None
) -> None:
    """Run a round for some plans, and add its moments and rows to those of the rounds before."""
    if not plans:
        return
    job.plans.update(plans)
    for key, local in run(part_of(job, list(plans)), threads, show).items():
        before = gathered[key]
        moments, kept = {**before.moments, **local.moments}, {**before.kept, **local.kept}
        gathered[key] = replace(before, moments=moments, kept=kept)


def part_of(job: Job, keys: list[Key]) -> Job:
    """Return the job for some of its plans. It shares the job's counters; missing values are not compared again."""
    features = {key for _, key in keys}
    tasks = [t for t in job.tasks if t.key in features]
    return replace(job, plans={k: job.plans[k] for k in keys}, tasks=tasks, donors={})
