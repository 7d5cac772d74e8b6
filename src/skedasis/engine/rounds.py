"""Run the rounds of a job: the pass over the rows, the scores, the check of slopes, and second rounds.

In: a `Job`. Out: `Computed`, with the results of each output. `finalize` makes each result once its last round is over;
only slopes that fail the check are repeated, as step functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np

from skedasis._types import Floats, Ints, ResultKey
from skedasis.binning import N_AUTO_CELLS, auto_cells
from skedasis.data.column_stats import Column, Summary
from skedasis.data.dataset import Dataset
from skedasis.engine.assemble import Results, abouts_of, finalize
from skedasis.engine.budget import announce
from skedasis.engine.heterogeneity_score import Scores, compute_scores
from skedasis.engine.observed import OBSERVED
from skedasis.engine.prepare import Job, TaskKey
from skedasis.engine.run import GatheredStats, make_evaluators, run, stats_of
from skedasis.engine.select import AnyPlan, FeatureTask
from skedasis.methods.base import MethodResult
from skedasis.methods.missing import OF_MISSING
from skedasis.methods.plans import BatchStats, CellPlan, NumericPlan
from skedasis.models.adapters import DerivativeInfo
from skedasis.quantities.joint_calls import in_few_calls, joint_calls
from skedasis.results.checks.slope_check import ROWS, CheckedRows, SlopeCheck, slope_check
from skedasis.results.effect import Effect
from skedasis.stats.grid import Cells, at_or_above
from skedasis.stats.heterogeneity_score import score_rows


@dataclass(frozen=True, eq=False)
class Computed:
    """The work of a job, before the caller gets its results."""

    job: Job
    gathered: GatheredStats
    scores: Scores
    results: Results


def compute(job: Job) -> Computed:
    """Do the work of a job; updates the plans of features that get a second round."""
    announce([job])
    gathered = run(job)
    scores = compute_scores(job)
    found = finalize(job, gathered, scores, [key for key in job.plans if not job.may_continue(key)])
    checks = check_slopes(job, found)
    for key, check in checks.items():
        found[key] = found[key].with_provenance({"slope_check": check.record})
    failed = [key for key, check in checks.items() if should_replace_slopes(job, key, check)]
    if failed:
        replace_slopes(job, {key: step_function_info(job, key, checks[key]) for key in failed})
        for key, local in run(restricted_job(job, failed)).items():
            gathered[key] = keep_missing_moments(local, gathered[key])
            del found[key]
    run_requested_rounds(job, gathered, scores)
    found |= finalize(job, gathered, scores, [key for key in job.plans if key not in found])
    by_output = {label: {t.key: found[label, t.key] for t in job.tasks} for label in job.outputs}
    return Computed(job, gathered, scores, by_output)


# ------------------------------------------------------------------------------------------
# The check of slopes.


@dataclass(frozen=True, eq=False)
class _CheckedFeature:
    """A feature whose slopes are checked: its values in the order of the hashes, and the rows of each cell."""

    position: int
    x: Floats
    cells: Cells
    rows: CheckedRows


def with_slopes(job: Job) -> Iterator[tuple[TaskKey, FeatureTask, CellPlan]]:
    """Yield the features whose slopes are checked: those of methods that ask for it, with bins on which to check."""
    for key, plan in job.plans.items():
        task = job.task(key)
        if not isinstance(task, FeatureTask) or not task.variant.checks_slopes:
            continue
        if isinstance(plan, CellPlan) and plan.at_points and len(plan.cells) > 0:
            yield key, task, plan


def check_slopes(job: Job, results: Mapping[TaskKey, MethodResult]) -> dict[TaskKey, SlopeCheck]:
    """Compare accumulated slopes with differences of the quantity across cells, in at most 16 rows of each."""
    found = list(with_slopes(job))
    if not found:
        return {}
    dataset = job.dataset.drawable
    drawn = score_rows(dataset.identifiers, dataset.weights, ROWS, job.options.seed)
    ascending = np.sort(drawn.rows)
    part, by_hash = dataset.subset(ascending), np.searchsorted(ascending, drawn.rows)
    effects = {key: cast("Effect", results[key]) for key, _, _ in found}
    checked: dict[TaskKey, _CheckedFeature] = {}
    for key, task, plan in found:
        x = part.floats(task.feature.position)[by_hash]
        scheme = task.variant.choosing_scheme()
        if scheme is not None and scheme.uses_likelihood:
            cells = _cells_for_check(plan.column, x, drawn.weights, dataset)
        else:
            cells = _unions_of_bins(effects[key], plan.column, x)
        rows = CheckedRows.of(cells, x)
        checked[key] = _CheckedFeature(task.feature.position, x, cells, rows)
    rises = _rises(job, part, by_hash, checked)
    return {
        key: slope_check(effects[key], one.cells, one.x, drawn.weights, one.rows, rises[key])
        for key, one in checked.items()
    }


def _rises(
    job: Job, drawn: Dataset, by_hash: Ints, checked: Mapping[TaskKey, _CheckedFeature]
) -> dict[TaskKey, Floats]:
    """Return the quantity's differences across the cells of the checked rows, by feature."""
    used = np.unique(np.concatenate([by_hash[one.rows.rows] for one in checked.values()]))
    part, first = drawn.subset(used), 0
    found = {key: np.full(len(one.rows.rows), np.nan) for key, one in checked.items()}
    for batch in part.batches(max(1, min(job.batch_rows, len(part)))):
        joint = joint_calls(job.joint_rows, 1)
        evaluators = make_evaluators(job, batch, min(job.copies, 2), joint)
        asked: dict[ResultKey, list[tuple[TaskKey, Ints, Callable[[], Floats]]]] = {}
        for key, one in checked.items():
            place = np.searchsorted(used, by_hash[one.rows.rows]) - first
            here = np.flatnonzero((place >= 0) & (place < len(batch)))
            if len(here):
                evaluator = evaluators[key[0]].subset(place[here], 2)
                low, high = one.rows.low[here], one.rows.high[here]
                ask = partial(evaluator.edge_differences, one.position, low, high)
                asked.setdefault(key[1], []).append((key, here, ask))
        # Outputs have equal requests, which a computation asks once.
        for rises in in_few_calls(joint, [partial(_asked, some) for some in asked.values()]):
            for key, here, value in rises:
                found[key][here] = value
        job.checked.stats.add(stats_of(evaluators))
        first += len(batch)
    return found


def _asked(
    some: Iterable[tuple[TaskKey, Ints, Callable[[], Floats]]],
) -> list[tuple[TaskKey, Ints, Floats]]:
    return [(key, rows, ask()) for key, rows, ask in some]


_NO_CELLS = Cells(np.zeros(1))


def _cells_for_check(column: Summary, x: Floats, weights: Floats | None, dataset: Dataset) -> Cells:
    """Return the cells of ``bins="auto"`` for the drawn values, on which slopes are checked."""
    if np.isnan(x).all():
        return _NO_CELLS
    sampling = dataset.sampling_weights
    return auto_cells(
        Column(column.feature, x, weights, column.dtype, sampling=sampling), column.gaps
    )


def _unions_of_bins(effect: Effect, column: Summary, x: Floats) -> Cells:
    """Return unions of an effect's bins, as many as ``bins="auto"`` has, on which slopes are checked."""
    bins = effect.bins
    if np.isnan(x).all() or bins is None or len(bins) == 0:
        return _NO_CELLS
    edges = bins.edges
    if len(edges) > N_AUTO_CELLS + 1:
        wanted = np.nanquantile(x, np.linspace(0, 1, N_AUTO_CELLS + 1)[1:-1])
        near = np.abs(edges[:, None] - wanted).argmin(axis=0)
        edges = np.unique(np.concatenate([edges[[0, -1]], edges[near]]))
    if column.discrete:
        edges = np.unique(at_or_above(np.unique(x[~np.isnan(x)]), edges))
    return Cells(edges, effect.spec.closed)


def should_replace_slopes(job: Job, key: TaskKey, check: SlopeCheck) -> bool:
    """Return whether slopes failed the check and may be replaced (neither given nor requested by name)."""
    task = job.task(key)
    replaces = isinstance(task, FeatureTask) and task.variant.replaces_slopes
    return not check.passed and replaces and not _derivative_info_of(job, key).given


def _derivative_info_of(job: Job, key: TaskKey) -> DerivativeInfo:
    """Return how the local effects of a feature with slopes are computed."""
    plan = job.plans[key]
    if not isinstance(plan, NumericPlan):
        raise TypeError(f"{key[1]!r} has no slopes")
    return plan.derivative_info


def step_function_info(job: Job, key: TaskKey, check: SlopeCheck) -> DerivativeInfo:
    """Return the description of the step function that replaces slopes which failed the check."""
    source = (
        f"differences across bins, because the slopes ({_derivative_info_of(job, key).description}) do not match "
        f"the differences of the quantity ({check.outcome})"
    )
    return DerivativeInfo("steps", source)


def replace_slopes(job: Job, infos: Mapping[TaskKey, DerivativeInfo]) -> None:
    """Plan some features of a job again, as step functions. Updates the job's plans."""
    for key, info in infos.items():
        task = job.task(key)
        if isinstance(task, FeatureTask):
            job.plans[key] = _planned_again(job, task, info)


def _planned_again(job: Job, task: FeatureTask, info: DerivativeInfo) -> AnyPlan:
    """Return the plan of a feature whose local effects are of another kind."""

    def plan() -> AnyPlan:
        return task.variant.plan(task.variant.read_column(job.dataset, task.feature), info)

    found = job.dataset.once_known(plan)
    return found if job.sample is None else task.variant.with_fine_cells(found)


def keep_missing_moments(local: BatchStats, before: BatchStats) -> BatchStats:
    """Return `local` with the notes of the first round, and its moments of missing values and of observed means."""
    for name in {*OF_MISSING, *OBSERVED} & before.moments.keys():
        local.moments[name] = before.moments[name]
    return replace(local, notes={**before.notes, **local.notes})


# ------------------------------------------------------------------------------------------
# More rounds.


def run_requested_rounds(job: Job, gathered: GatheredStats, scores: Scores) -> None:
    """Run one more round for the features whose method requests it (`FeatureMethod.next_round`)."""
    plans: dict[TaskKey, AnyPlan] = {}
    for key, plan in job.plans.items():
        task = job.task(key)
        if not isinstance(task, FeatureTask) or not job.may_continue(key):
            continue
        (about,) = abouts_of(job, key[0], task)
        score, kind = scores.found.get(key), job.options.weight_kind
        found = task.variant.next_round(plan, gathered[key], score, about, kind)
        if found is not None:
            plans[key] = found
    add_round(job, plans, gathered)


def add_round(job: Job, plans: Mapping[TaskKey, AnyPlan], gathered: GatheredStats) -> None:
    """Run a round for some plans, and add its moments and rows to those of earlier rounds."""
    if not plans:
        return
    job.plans.update(plans)
    for key, local in run(restricted_job(job, plans)).items():
        before = gathered[key]
        moments, kept = {**before.moments, **local.moments}, {**before.kept, **local.kept}
        gathered[key] = replace(before, moments=moments, kept=kept)


def restricted_job(job: Job, keys: Iterable[TaskKey]) -> Job:
    """Return a job for some of the plans, with the same call counters, without missing values and observed means."""
    plans = {key: job.plans[key] for key in keys}
    names = {name for _, name in plans}
    tasks = [t for t in job.tasks if t.key in names]
    return replace(job, plans=plans, tasks=tasks, donors={}, observed=None)
