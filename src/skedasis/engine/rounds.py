"""All passes over the rows: `compute` does the work of `explain` up to the results."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from skedasis._types import Floats, Ints, TableLike
from skedasis.binning import N_AUTO_CELLS, auto_cells
from skedasis.data.column_stats import Column, Summary
from skedasis.data.dataset import Dataset
from skedasis.engine.assemble import (
    abouts_of,
    finalize_task,
    resolve_method_and_selection,
)
from skedasis.engine.heterogeneity_score import Scores, compute_scores
from skedasis.engine.opening import open_rows
from skedasis.engine.options import ExplainOptions, Need
from skedasis.engine.plan import Job, TaskKey, prepare_job
from skedasis.engine.run import GatheredStats, make_evaluators, run
from skedasis.engine.select import AnyPlan, FeatureTask
from skedasis.errors import DataError
from skedasis.methods.base import BatchStats, CellPlan, NumericPlan
from skedasis.methods.missing import MISSING
from skedasis.models.adapters import DerivativeInfo
from skedasis.quantities.base import Quantity
from skedasis.results.checks.slope_check import ROWS, CheckedRows, SlopeCheck, slope_check
from skedasis.results.effect import Effect
from skedasis.stats.grid import Cells, at_or_above
from skedasis.stats.heterogeneity_score import score_rows


@dataclass(frozen=True, eq=False)
class Prepared:
    """The work of `explain` before the pass over the rows: what can be refused has been."""

    job: Job
    started: float


@dataclass(frozen=True, eq=False)
class Computed:
    """All that `explain` computes before it makes results."""

    job: Job
    gathered: GatheredStats
    scores: Scores
    finalized: dict[TaskKey, Effect]
    started: float


def prepare(
    quantity: Quantity,
    X: TableLike,
    features: object,
    method: object,
    options: ExplainOptions,
    rows: Ints | None = None,
    need: Need | None = None,
) -> Prepared:
    """Select the features and plan the work of `explain` for one model, before the pass over the rows."""
    _check_one_model(options)
    started = time.perf_counter()
    dataset, options = open_rows(quantity, X, features, method, options, need)
    if rows is not None:
        dataset = dataset.subset(rows)
    return prepare_rows(quantity, dataset, features, method, options, started)


def prepare_rows(
    quantity: Quantity,
    dataset: Dataset,
    features: object,
    method: object,
    options: ExplainOptions,
    started: float | None = None,
) -> Prepared:
    """Select the features and plan the work of `explain` at the rows of a dataset."""
    started = time.perf_counter() if started is None else started
    resolved, selection = resolve_method_and_selection(method, quantity, dataset, features, options)
    return Prepared(prepare_job(quantity, resolved, selection, options), started)


def compute(prepared: Prepared) -> Computed:
    """Do the work that was prepared: run, scores, second rounds."""
    job = prepared.job
    gathered = run(job)
    scores = compute_scores(job)
    second = run_second_rounds(job, gathered, scores)
    return Computed(job, gathered, scores, second, prepared.started)


def _check_one_model(options: ExplainOptions) -> None:
    """Raise if arguments for several models are given with a single model."""
    for name, value in (("cv", options.cv), ("correction", options.correction)):
        if value is not None:
            raise DataError(
                name,
                "one model",
                "a list of models, one for each fold",
                f"Remove {name}, or pass all models: sd.explain([m1, m2, m3], X, {name}=...)",
            )


def run_second_rounds(job: Job, gathered: GatheredStats, scores: Scores) -> dict[TaskKey, Effect]:
    """Check slopes, replace those that fail, and run the second rounds that methods request."""
    results, checks = check_slopes(job, gathered, scores)
    failed = [key for key, check in checks.items() if should_replace_slopes(job, key, check)]
    if failed:
        replace_slopes(job, {key: step_function_info(job, key, checks[key]) for key in failed})
        repeated = run(restricted_job(job, failed))
        for key, local in repeated.items():
            gathered[key] = keep_missing_moments(local, gathered[key])
            del results[key]
    run_requested_rounds(job, gathered, scores)
    return results


# ------------------------------------------------------------------------------------------
# The check of slopes.


def check_slopes(
    job: Job, gathered: GatheredStats, scores: Scores
) -> tuple[dict[TaskKey, Effect], dict[TaskKey, SlopeCheck]]:
    """Compare accumulated slopes with differences of the quantity across cells, in at most 16 rows of each."""
    tasks: dict[TaskKey, FeatureTask] = {
        (label, t.key): t
        for t in job.tasks
        for label in job.outputs
        if isinstance(t, FeatureTask)
        and t.variant.checks_slopes
        and _has_slopes(job.plans[label, t.key])
    }
    if not tasks:
        return {}, {}
    dataset = job.dataset.drawable
    rows = score_rows(dataset.identifiers, dataset.weights, ROWS, job.options.seed)
    ascending = np.sort(rows.rows)
    part, by_hash = dataset.subset(ascending), np.searchsorted(ascending, rows.rows)
    results: dict[TaskKey, Effect] = {}
    for key, task in tasks.items():
        effect = finalize_task(job, key[0], task, gathered[key], scores)
        if isinstance(effect, Effect):
            results[key] = effect
    values: dict[int, Floats] = {}
    cells: dict[TaskKey, Cells] = {}
    for key, effect in results.items():
        j, plan = tasks[key].feature.position, job.plans[key]
        if not isinstance(plan, CellPlan):
            raise TypeError(f"{key[1]!r} has no cells")
        if j not in values:
            values[j] = part.floats(j)[by_hash]
        scheme = tasks[key].variant.choosing_scheme()
        follows = scheme is not None and scheme.uses_likelihood
        cells[key] = _checked_cells(
            plan.column,
            None if follows else effect,
            values[j],
            rows.weights,
            sampling=dataset.sampling_weights,
        )
    checked = {
        key: CheckedRows.of(c, values[tasks[key].feature.position]) for key, c in cells.items()
    }
    rises = _rises(
        job, part, by_hash, {k: (tasks[k].feature.position, c) for k, c in checked.items()}
    )
    checks: dict[TaskKey, SlopeCheck] = {}
    for key, effect in results.items():
        x = values[tasks[key].feature.position]
        check = slope_check(effect, cells[key], x, rows.weights, checked[key], rises[key])
        results[key] = effect.with_provenance({"slope_check": check.record})
        checks[key] = check
    return results, checks


def _rises(
    job: Job, drawn: Dataset, by_hash: Ints, checked: Mapping[TaskKey, tuple[int, CheckedRows]]
) -> dict[TaskKey, Floats]:
    """Return the quantity's differences across the cells of the checked rows, by feature."""
    used = np.unique(np.concatenate([by_hash[c.rows] for _, c in checked.values()]))
    part, first = drawn.subset(used), 0
    found = {key: np.full(len(c.rows), np.nan) for key, (_, c) in checked.items()}
    for batch in part.batches(max(1, min(job.batch_rows, len(part)))):
        evaluators = make_evaluators(job, batch, min(job.copies, 2))
        for key, (position, c) in checked.items():
            place = np.searchsorted(used, by_hash[c.rows]) - first
            here = np.flatnonzero((place >= 0) & (place < len(batch)))
            if len(here):
                evaluator = evaluators[key[0]].subset(place[here], 2)
                found[key][here] = evaluator.edge_differences(position, c.low[here], c.high[here])
        for evaluator in evaluators.values():
            job.checked.stats.add(evaluator.stats)
        first += len(batch)
    return found


def _has_slopes(plan: object) -> bool:
    """Return whether the local effects of a plan are slopes, and the plan has bins on which to check them."""
    return isinstance(plan, CellPlan) and plan.at_points and len(plan.cells) > 0


def _checked_cells(
    column: Summary, effect: Effect | None, x: Floats, weights: Floats | None, *, sampling: bool
) -> Cells:
    """Return the cells on which slopes are checked: those of ``bins="auto"``, or unions of an effect's bins."""
    if np.isnan(x).all():
        return Cells(np.zeros(1))
    if effect is None:
        drawn = Column(column.feature, x, weights, column.dtype, sampling=sampling)
        return auto_cells(drawn, column.gaps)
    bins = effect.bins
    if bins is None or len(bins) == 0:
        return Cells(np.zeros(1))
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
    task, info = _task_of(job, key), _derivative_info_of(job, key)
    return not check.passed and task.variant.replaces_slopes and not info.given


def _task_of(job: Job, key: TaskKey) -> FeatureTask:
    return next(t for t in job.tasks if isinstance(t, FeatureTask) and t.key == key[1])


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
        task = _task_of(job, key)
        plan = job.dataset.once_known(
            partial(
                lambda t, i: t.variant.plan(t.variant.read_column(job.dataset, t.feature), i),
                task,
                info,
            ),
        )
        job.plans[key] = plan if job.sample is None else task.variant.with_fine_cells(plan)


def keep_missing_moments(local: BatchStats, before: BatchStats) -> BatchStats:
    """Return `local` with the moments of rows with missing values and the notes of the first round."""
    if MISSING in before.moments:
        local.moments[MISSING] = before.moments[MISSING]
    return replace(local, notes={**before.notes, **local.notes})


# ------------------------------------------------------------------------------------------
# More rounds.


def run_requested_rounds(job: Job, gathered: GatheredStats, scores: Scores) -> None:
    """Run one more round for the features whose method requests it (`FeatureMethod.next_round`)."""
    plans: dict[TaskKey, AnyPlan] = {}
    for task in (t for t in job.tasks if isinstance(t, FeatureTask)):
        for label in job.outputs:
            key: TaskKey = label, task.key
            about = abouts_of(job, label, task)[0]
            score = scores.found.get(key)
            kind = job.options.weight_kind
            found = task.variant.next_round(job.plans[key], gathered[key], score, about, kind)
            if found is not None:
                plans[key] = found
    add_round(job, plans, gathered)


def add_round(job: Job, plans: Mapping[TaskKey, AnyPlan], gathered: GatheredStats) -> None:
    """Run a round for some plans, and add its moments and rows to those of earlier rounds."""
    if not plans:
        return
    job.plans.update(plans)
    for key, local in run(restricted_job(job, list(plans))).items():
        before = gathered[key]
        moments, kept = {**before.moments, **local.moments}, {**before.kept, **local.kept}
        gathered[key] = replace(before, moments=moments, kept=kept)


def restricted_job(job: Job, keys: list[TaskKey]) -> Job:
    """Return a job for some of the plans, with the same call counters and without donors of missing values."""
    features = {key for _, key in keys}
    tasks = [t for t in job.tasks if t.key in features]
    return replace(job, plans={k: job.plans[k] for k in keys}, tasks=tasks, donors={})
