"""Before the first batch: check the model, plan every feature, and choose the batch size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from skedasis._types import Bools, Ints, OutputLabel, ResultKey, TreeMode
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Column, NotYetKnown
from skedasis.data.dataset import AnyColumn, Dataset, needs_memory
from skedasis.data.features import check_slopes
from skedasis.data.kept_rows import HashedRows
from skedasis.engine.options import ExplainOptions
from skedasis.engine.select import AnyPlan, FeatureSelection, FeatureTask, Task, check_curves
from skedasis.methods.base import NumericPlan, ResolvedMethod
from skedasis.methods.missing import Donors, donors_of
from skedasis.models.adapters import DerivativeInfo
from skedasis.models.calling import SMALLEST, CallStats
from skedasis.quantities.base import CALL_ROWS, FULL_CALL, Quantity
from skedasis.quantities.evaluator import (
    ProbeResult,
    ResponseCache,
    derivative_info_of,
    probe_model,
)
from skedasis.quantities.tree_evaluator import Outputs, TreeDecision, use_trees_if_exact

if TYPE_CHECKING:
    from skedasis.engine.multi_model import RowSubset


TaskKey: TypeAlias = tuple[OutputLabel, ResultKey]
"""The label of an output, and the name of a feature or the names of a pair."""


Plans: TypeAlias = dict[TaskKey, AnyPlan]


@dataclass(frozen=True)
class Job:
    """The prepared work of `explain`: all that does not depend on the batch."""

    quantity: Quantity
    outputs: Outputs
    method: ResolvedMethod
    selection: FeatureSelection
    dataset: Dataset
    tasks: Sequence[Task]
    plans: Plans
    donors: dict[TaskKey, Donors]
    checked: ProbeResult
    copies: int
    batch_rows: int
    sample: Bools | HashedRows | None
    options: ExplainOptions
    stats: CallStats = field(default_factory=CallStats)
    curve_stats: CallStats = field(default_factory=CallStats)
    trees: str | None = None

    @property
    def single(self) -> bool:
        """Whether the quantity has one output."""
        return set(self.outputs) == {None}

    @property
    def n_kept(self) -> int:
        """Largest number of rows that are kept."""
        if self.sample is None:
            return len(self.dataset)
        return self.sample.most if isinstance(self.sample, HashedRows) else int(self.sample.sum())

    @property
    def sample_mask(self) -> Bools | None:
        """Mask of the kept rows, (n,); None for all."""
        if isinstance(self.sample, HashedRows):
            raise needs_memory("all kept rows with their other features")
        return self.sample


def prepare_job(
    quantity: Quantity,
    method: ResolvedMethod,
    selection: FeatureSelection,
    options: ExplainOptions,
    part: RowSubset | None = None,
    agreed: Mapping[TaskKey, DerivativeInfo] | None = None,
) -> Job:
    """Check the model, plan every feature, and size the batches."""
    dataset, tasks = selection.dataset, selection.tasks(method)
    if options.curves:
        check_curves(tasks)
    evaluated, checked = _check_model(quantity, dataset, tasks, options.tree)
    outputs = evaluated.outputs
    infos: dict[TaskKey, list[DerivativeInfo]] = {}
    plans: Plans = {}

    def plan_all() -> None:
        unknown: Exception | None = None
        try:
            _plan_all(plans, infos, outputs, dataset, tasks, checked, agreed or {})
        except NotYetKnown as error:
            unknown = error
        # One pass over the data answers what plans and donors ask for.
        _donors(tasks, plans)
        if unknown is not None:
            raise unknown

    dataset.once_known(plan_all)
    all_tasks = tasks
    if part is not None:
        dataset, tasks, plans = part.restrict(dataset, list(tasks), plans)
    donors = _donors(tasks, plans)
    for column in (c for t in (*all_tasks, *tasks) for c in t.columns if isinstance(c, Column)):
        column.release()  # together, the sorted columns need as much memory as X
    rows, copies = _batch_size(dataset, tasks, plans, evaluated, options.memory_bytes)
    variants = {t.key: t.variant for t in tasks}
    row_bytes = sum(variants[k].row_bytes(p) for (_, k), p in plans.items())
    budget = options.keep_bytes // max(1, row_bytes + dataset.kept_row_bytes)
    requested = max(t.variant.n_rows_to_keep(len(dataset)) for t in tasks)
    kept = min(requested, budget)
    if kept < requested:
        plans = {(o, k): variants[k].with_fine_cells(p) for (o, k), p in plans.items()}
    return Job(
        quantity,
        outputs,
        method,
        selection,
        dataset,
        tasks,
        plans,
        donors,
        checked,
        copies,
        rows,
        dataset.rows_to_keep(kept, options.seed),
        options,
        trees=evaluated.said,
    )


def planned_like(job: Job, method: ResolvedMethod, selection: FeatureSelection) -> Job:
    """Return the job of another method on the same rows, planned without calling the model."""
    tasks = selection.tasks(method)
    if any(t.variant.uses_slopes for t in tasks):
        raise TypeError(
            "A method that uses derivatives cannot be planned without calling the model"
        )
    plans: Plans = {}
    _plan_all(plans, {}, job.outputs, job.dataset, tasks, job.checked, {})
    return replace(
        job,
        method=method,
        selection=selection,
        tasks=tasks,
        plans=plans,
        donors=_donors(tasks, plans),
        stats=CallStats(),
    )


def _check_model(
    quantity: Quantity, dataset: Dataset, tasks: Sequence[Task], tree: TreeMode
) -> tuple[TreeDecision, ProbeResult]:
    """Return the evaluated outputs (the model's, or those of its trees), and the results of the model's checks."""
    output_stats = CallStats()
    present = _present(dataset, tasks)
    outputs = quantity.outputs(dataset, output_stats, present)
    checked = probe_model(list(outputs.values()), dataset, present)
    checked.stats.add(output_stats)
    means = all(t.variant.means_only for t in tasks)
    evaluated = use_trees_if_exact(outputs, dataset, tree, checked, means=means)
    checked.stats.add(evaluated.stats)
    return evaluated, checked


def _batch_size(
    dataset: Dataset,
    tasks: Sequence[Task],
    plans: Plans,
    evaluated: TreeDecision,
    memory: int,
) -> tuple[int, int]:
    """Return the number of rows of a batch, and the number of its copies in one call of the model."""
    outputs = len(evaluated.outputs)
    by_task = {t.key: [p for (_, k), p in plans.items() if k == t.key] for t in tasks}
    sets = max(t.variant.points_per_call(by_task[t.key]) for t in tasks)
    held = max(t.variant.floats_per_row(by_task[t.key]) for t in tasks)
    # Memory per row: its copies in the buffer, and its curve with intermediate results. Outputs share a response cache.
    cached = outputs if outputs > 1 else 0
    row_bytes = 8 * ((len(dataset.features) + 8) * sets * outputs + held * (4 + cached))
    if evaluated.batch_rows is not None:
        # The model is not called: the batch size keeps a batch's copies in the processor's cache.
        return max(1, min(evaluated.batch_rows, len(dataset), memory // row_bytes)), sets
    rows = max(1, min(CALL_ROWS // sets, memory // row_bytes))
    limits = [t.variant.batch_rows for t in tasks]
    limits += [q.batch_rows for q in evaluated.outputs.values()]
    rows = min(rows, len(dataset), *(n for n in limits if n is not None))
    room = memory // (8 * (len(dataset.features) + 8) * rows)
    # With few rows, one call can carry more copies, so that its overhead becomes negligible.
    grid_size = max(t.variant.grid_size(by_task[t.key]) for t in tasks)
    copies = max(sets, min(grid_size, FULL_CALL // rows))
    return rows, max(1, min(copies, CALL_ROWS // rows, room))


def _donors(tasks: Sequence[Task], plans: Plans) -> dict[TaskKey, Donors]:
    """Return donor values for features with missing values."""
    donors: dict[TaskKey, Donors] = {}
    columns: dict[ResultKey, Column | LevelColumn] = {
        t.key: t.column
        for t in tasks
        if isinstance(t, FeatureTask)
        and t.variant.compares_missing
        and isinstance(t.column, (Column, LevelColumn))
        and t.column.missing
    }
    unknown: Exception | None = None
    for (label, key), plan in plans.items():
        try:
            found = donors_of(columns[key], plan) if key in columns else None
        except NotYetKnown as error:
            unknown = error
            continue
        if found is not None:
            donors[label, key] = found
    if unknown is not None:
        raise unknown
    return donors


def _plan_all(
    plans: Plans,
    infos: dict[TaskKey, list[DerivativeInfo]],
    outputs: Outputs,
    dataset: Dataset,
    tasks: Sequence[Task],
    checked: ProbeResult,
    agreed: Mapping[TaskKey, DerivativeInfo],
) -> None:
    """Plan every feature for every output; once for all outputs if the method uses no derivatives."""
    unknown: Exception | None = None
    for task in tasks:
        cache = ResponseCache() if len(outputs) > 1 else None
        for label, quantity in outputs.items():
            key = label, task.key
            if key in plans:
                continue
            try:
                for column in task.columns:
                    # A quantity that is zero at the probe's rows may have slopes at others.
                    if isinstance(column, Column) and checked.largest >= SMALLEST:
                        check_slopes(column.feature, column.low, column.high, checked.largest)
                if not task.variant.uses_slopes:
                    plan = task.plan((_NO_DERIVATIVES,) * len(task.columns))
                    plans.update({(name, task.key): plan for name in outputs})
                    continue
                if key not in infos:
                    infos[key] = [
                        _derivative_info(quantity, dataset, c, checked, cache, task)
                        for c in task.columns
                    ]
                plans[key] = _plan_of(task, infos[key], agreed.get(key))
            except NotYetKnown as error:
                unknown = error
    if unknown is not None:
        raise unknown


_NO_DERIVATIVES = DerivativeInfo("none", "")


def _plan_of(task: Task, infos: Sequence[DerivativeInfo], common: DerivativeInfo | None) -> AnyPlan:
    """Return the plan of one model; with `common`, on cells that suit all models."""
    if common is None:
        return task.plan(infos)
    shared = task.plan((common,))
    if not isinstance(shared, NumericPlan) or not shared.at_points:
        return shared
    own = task.plan(infos)
    return own.at_positions_of(shared) if isinstance(own, NumericPlan) else own


def _present(dataset: Dataset, tasks: Sequence[Task]) -> Ints | None:
    """Return the rows with a value of the explained feature or pair; None for all rows, or if others are explained."""
    task = tasks[0]
    if len(tasks) > 1 or not task.variant.leaves_out_missing:
        return None
    columns = [c for c in task.columns if isinstance(c, (Column, LevelColumn))]
    found = [p for c in columns if c.missing and (p := dataset.present(c)) is not None]
    if not found:
        return None
    present = found[0]
    for other in found[1:]:
        present = np.intersect1d(present, other)
    return present if len(present) else None


def _derivative_info(
    quantity: Quantity,
    dataset: Dataset,
    column: AnyColumn,
    checked: ProbeResult,
    cache: ResponseCache | None,
    task: Task,
) -> DerivativeInfo:
    if not isinstance(column, Column):
        return DerivativeInfo("levels", "differences between levels")
    derivative_info = quantity.derivative_info(column.feature)
    if isinstance(task, FeatureTask) and task.variant.observed_only(column):
        # Probing derivatives would evaluate the model between observed values.
        return derivative_info
    whole = column.discrete and derivative_info.kind == "differences"
    values = column.values_to_step_between() if whole else None
    return derivative_info_of(quantity, dataset, column.summary(), checked, cache, values)
