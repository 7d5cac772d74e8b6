"""Individual curves of drawn rows behind finished effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skedasis._progress import Progress
from skedasis._types import OutputLabel
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Column
from skedasis.data.dataset import Dataset
from skedasis.engine.assemble import Results
from skedasis.engine.prepare import Job
from skedasis.engine.run import make_evaluators, stats_of
from skedasis.engine.select import AnyPlan, FeatureTask
from skedasis.methods.ale_categorical import LevelPlan
from skedasis.methods.pdp import PDP, LevelPDP
from skedasis.methods.plans import BatchStats, GridPlan, Notes
from skedasis.quantities.base import FULL_CALL
from skedasis.quantities.evaluator import BatchEvaluator
from skedasis.results.build.curves import centred_curves
from skedasis.results.effect import Curves, Effect
from skedasis.stats.heterogeneity_score import ScoreRows, score_rows


def with_curves(job: Job, results: Results) -> Results:
    """Return finished results, with the curves of `ExplainOptions.curves` rows in effects that have none."""
    dataset, limit, seed = job.dataset.drawable, job.options.curves, job.options.seed
    # Drawn once for all features without missing values.
    whole = score_rows(dataset.identifiers, dataset.weights, limit, seed)
    found = {label: {**by_key} for label, by_key in results.items()}
    text, caller = f"Curves of {job.quantity.describe()}", job.checked.caller
    with Progress(len(job.tasks), text, job.options.progress) as bar:
        caller.heartbeat = lambda: bar.advance(0)
        for task in job.tasks:
            bare = {
                label: effect
                for label, by_key in results.items()
                if isinstance(effect := by_key[task.key], Effect) and not effect.curves
            }
            if isinstance(task, FeatureTask) and bare:
                for label, effect in _with_curves(job, task, dataset, whole, bare).items():
                    found[label][task.key] = effect
            bar.advance()
    return found


def _with_curves(
    job: Job,
    task: FeatureTask,
    dataset: Dataset,
    whole: ScoreRows,
    effects: dict[OutputLabel, Effect],
) -> dict[OutputLabel, Effect]:
    """Return the effects of one feature by output, with the curves of some of the rows in memory."""
    drawn = _draw(job, task, dataset, whole)
    if len(drawn) == 0:  # no row at hand has a value
        return effects
    order = np.argsort(drawn.rows)
    part = dataset.subset(drawn.rows[order])
    weights = part.weights if drawn.weights is None else drawn.weights[order]
    points = max(len(effect.axis) for effect in effects.values())
    size = min(job.batch_rows, len(part))
    room = job.options.memory_bytes // (8 * (len(dataset.features) + 8) * size)
    plans: dict[OutputLabel, AnyPlan] = {}
    for label in effects:
        plan = job.plans[label, task.key]
        if isinstance(plan, LevelPlan):  # its levels are found in the table of the rows at hand
            plan = replace(plan, column=plan.column.in_table())
        plans[label] = plan
    parts: dict[OutputLabel, list[Curves]] = {label: [] for label in effects}
    for batch in part.batches(size):
        evaluators = make_evaluators(job, batch, max(1, min(points, FULL_CALL // size, room)))
        for label, effect in effects.items():
            parts[label].append(_curves(evaluators[label], task, plans[label], effect))
        job.curve_stats.add(stats_of(evaluators))
    exact = drawn.exact and len(dataset) == len(job.dataset)
    found: dict[OutputLabel, Effect] = {}
    for label, effect in effects.items():
        curves = replace(_joined(parts[label]), weight=weights, exact=exact)
        found[label] = replace(effect, curves=curves).with_provenance(_promotion(task, effect))
    return found


def _draw(job: Job, task: FeatureTask, dataset: Dataset, whole: ScoreRows) -> ScoreRows:
    """Draw rows in memory that have a value of the feature; `whole` are those drawn from all rows."""
    if isinstance(task.column, LevelColumn):
        present = dataset.level_codes(task.column) >= 0
    else:
        present = ~np.isnan(dataset.floats(task.feature.position))
    if present.all():
        return whole
    some = np.flatnonzero(present)
    weights = None if dataset.weights is None or len(some) == 0 else dataset.weights[some]
    drawn = score_rows(dataset.identifiers[some], weights, job.options.curves, job.options.seed)
    return replace(drawn, rows=some[drawn.rows])


def _curves(evaluator: BatchEvaluator, task: FeatureTask, plan: AnyPlan, effect: Effect) -> Curves:
    """Return the curves of a batch's rows on the axis of an effect."""
    variant = task.variant
    # The curves of PDP and ICE have options of their own: their centre, an anchor, slopes.
    if isinstance(variant, PDP) and isinstance(plan, GridPlan):
        return _kept(_every(variant).compute(evaluator, plan, None), evaluator)
    if isinstance(variant, LevelPDP) and isinstance(plan, LevelPlan):
        every = replace(variant, base=_every(variant.base))
        return _kept(every.compute(evaluator, plan, None), evaluator)
    if isinstance(plan, LevelPlan):
        x = plan.at(evaluator).astype(float)
        changes = plan.changes(np.arange(len(plan)))
    else:
        x = evaluator.column(task.feature.position)
        changes = {task.feature.position: effect.axis.coordinates}
    value = evaluator.sweep_together(changes, len(effect.axis))
    return Curves(centred_curves(value, effect), x, evaluator.row_id)


def _every(method: PDP) -> PDP:
    """Return a method that keeps the curves of all rows."""
    return replace(method, ice="all", heterogeneity=True)


def _kept(stats: BatchStats, evaluator: BatchEvaluator) -> Curves:
    """Return the curves that a method keeps of all rows of a batch."""
    return Curves(stats.kept["curve"], stats.kept["x"], evaluator.row_id)


def _joined(parts: Sequence[Curves]) -> Curves:
    """Return the curves of several batches, without weights."""
    return Curves(
        np.concatenate([part.value for part in parts]),
        np.concatenate([part.x for part in parts]),
        np.concatenate([part.row for part in parts]),
    )


def _promotion(task: FeatureTask, effect: Effect) -> Notes:
    """Return the entry of the provenance for whole numbers that the model got as floats, for points between them."""
    column, points = task.column, effect.axis.coordinates
    if not isinstance(column, Column) or isinstance(task.variant, PDP):
        return {}
    if column.dtype.kind not in "iu" or not (points % 1 != 0).any():
        return {}
    return {"promoted": f"{column.dtype} to float64, for the curves of rows"}
