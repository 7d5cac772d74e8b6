"""Before the first batch: check the model, plan every feature, and choose the batch size.

`prepare_job` returns a `Job`, which holds everything that does not depend on the batch. Features are planned once for
each output of the model, because outputs may differ in their derivatives; methods that use no derivatives plan once for
all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from skedasis._types import Bools, Ints, OutputLabel, ResultKey, TreeMode
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Column
from skedasis.data.dataset import AnyColumn, Dataset
from skedasis.engine.options import ExplainOptions
from skedasis.engine.select import AnyPlan, FeatureSelection, FeatureTask, Task
from skedasis.methods.base import NumericPlan, ResolvedMethod
from skedasis.methods.missing import Donors, donors_of
from skedasis.models.adapters import DerivativeInfo
from skedasis.models.calling import CallStats
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


Key: TypeAlias = tuple[OutputLabel, ResultKey]
"""The label of an output, and the name of a feature or the names of a pair."""


Plans: TypeAlias = dict[Key, AnyPlan]


@dataclass(frozen=True)
class Job:
    """The prepared work of `explain`: all that does not depend on the batch.

    Parameters
    ----------
    quantity : Quantity
        As the caller gave it.
    outputs : dict of label to Quantity
        One entry for each output; a single entry None for a quantity with one output.
    method : ResolvedMethod
        The method for the rows of the dataset.
    selection : FeatureSelection
        What the caller wanted explained.
    dataset : Dataset
    tasks : sequence of Task
    plans : dict of (label, key) to plan
    donors : dict of (label, key) to Donors
        For features with missing values.
    checked : ProbeResult
        Results of the model's checks.
    copies, batch_rows : int
        Copies of a batch's rows in one call of the model, and rows of a batch.
    sample : ndarray of bool, optional
        Mask of the kept rows, (n,); None for all.
    options : ExplainOptions
    stats : CallStats
        Calls and rows of the model so far.
    trees : str, optional
        For tree ensembles: that their structure is used, or why the model is called.
    """

    quantity: Quantity
    outputs: Outputs
    method: ResolvedMethod
    selection: FeatureSelection
    dataset: Dataset
    tasks: Sequence[Task]
    plans: Plans
    donors: dict[Key, Donors]
    checked: ProbeResult
    copies: int
    batch_rows: int
    sample: Bools | None
    options: ExplainOptions
    stats: CallStats = field(default_factory=CallStats)
    trees: str | None = None

    @property
    def single(self) -> bool:
        """Whether the quantity has one output."""
        return set(self.outputs) == {None}


def prepare_job(
    quantity: Quantity,
    method: ResolvedMethod,
    selection: FeatureSelection,
    options: ExplainOptions,
    part: RowSubset | None = None,
    agreed: Mapping[Key, DerivativeInfo] | None = None,
) -> Job:
    """Check the model, plan every feature, and size the batches.

    Parameters
    ----------
    quantity : Quantity
    method : ResolvedMethod
        The method for the rows of the selection's dataset.
    selection : FeatureSelection
    options : ExplainOptions
    part : RowSubset, optional
        For several models: the rows that this one is explained on. Plans are made on all rows, then restricted to
        these.
    agreed : mapping of (label, key) to DerivativeInfo, optional
        For several models: how local effects are computed where the models differ in their derivatives.
    """
    dataset, tasks = selection.dataset, selection.tasks(method)
    evaluated, checked = _check_model(quantity, dataset, tasks, options.tree)
    outputs = evaluated.outputs
    plans = _plans(outputs, dataset, tasks, checked, agreed or {})
    all_tasks = tasks
    if part is not None:
        dataset, tasks, plans = part.restrict(dataset, list(tasks), plans)
    donors = _donors(tasks, plans)
    for column in (c for t in (*all_tasks, *tasks) for c in t.columns if isinstance(c, Column)):
        column.release()  # together, the sorted columns need as much memory as X
    rows, copies = _batch_size(dataset, tasks, plans, evaluated, options.memory_bytes)
    variants = {t.key: t.variant for t in tasks}
    budget = options.keep_bytes // max(
        1, sum(variants[k].row_bytes(p) for (_, k), p in plans.items())
    )
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
        sample_rows(dataset, kept, options.seed),
        options,
        trees=evaluated.said,
    )


def _check_model(
    quantity: Quantity, dataset: Dataset, tasks: Sequence[Task], tree: TreeMode
) -> tuple[TreeDecision, ProbeResult]:
    """Return the evaluated outputs (the model's, or those of its trees), and the results of the model's checks."""
    output_stats = CallStats()
    present = _present(tasks)
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


def _donors(tasks: Sequence[Task], plans: Plans) -> dict[Key, Donors]:
    """Return donor values for features with missing values."""
    donors: dict[Key, Donors] = {}
    columns: dict[ResultKey, Column | LevelColumn] = {
        t.key: t.column
        for t in tasks
        if isinstance(t, FeatureTask)
        and t.variant.compares_missing
        and isinstance(t.column, (Column, LevelColumn))
        and t.column.missing
    }
    for (label, key), plan in plans.items():
        found = donors_of(columns[key], plan) if key in columns else None
        if found is not None:
            donors[label, key] = found
    return donors


def _plans(
    outputs: Outputs,
    dataset: Dataset,
    tasks: Sequence[Task],
    checked: ProbeResult,
    agreed: Mapping[Key, DerivativeInfo],
) -> Plans:
    """Plan every feature for every output; once for all outputs if the method uses no derivatives."""
    plans: Plans = {}
    for task in tasks:
        if not task.variant.uses_slopes:
            plan = task.plan((_NO_DERIVATIVES,) * len(task.columns))
            plans |= {(label, task.key): plan for label in outputs}
            continue
        cache = ResponseCache() if len(outputs) > 1 else None
        for label, quantity in outputs.items():
            infos = [
                _derivative_info(quantity, dataset, c, checked, cache, task) for c in task.columns
            ]
            plans[label, task.key] = _plan_of(task, infos, agreed.get((label, task.key)))
    return plans


_NO_DERIVATIVES = DerivativeInfo("none", "")


def _plan_of(task: Task, infos: Sequence[DerivativeInfo], common: DerivativeInfo | None) -> AnyPlan:
    """Return the plan of one model; with `common`, on cells that suit all models.

    Slopes and differences belong to points, so models may share cells and yet differ in them. Step functions need one
    kind of local effect for all models.
    """
    if common is None:
        return task.plan(infos)
    shared = task.plan((common,))
    if not isinstance(shared, NumericPlan) or not shared.at_points:
        return shared
    own = task.plan(infos)
    return own.at_positions_of(shared) if isinstance(own, NumericPlan) else own


def _present(tasks: Sequence[Task]) -> Ints | None:
    """Return the rows with a value of the explained feature or pair; None for all rows, or if others are explained.

    Rows without a value are evaluated last and separately, because the model may not accept them.
    """
    task = tasks[0]
    if len(tasks) > 1 or not task.variant.leaves_out_missing:
        return None
    columns = [c for c in task.columns if isinstance(c, (Column, LevelColumn))]
    found = [c.present for c in columns if c.missing and c.present is not None]
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
    values = (
        column.distinct_values if column.integer and derivative_info.kind == "differences" else None
    )
    return derivative_info_of(quantity, dataset, column.summary(), checked, cache, values)


def sample_rows(dataset: Dataset, kept: int, seed: int) -> Bools | None:
    """Return a mask of the rows that are kept, None for all. Draws are keyed by row identifier."""
    n = len(dataset)
    if kept >= n:
        return None
    sample = np.zeros(n, dtype=bool)
    sample[dataset.order[np.random.default_rng(seed).choice(n, kept, replace=False)]] = True
    return sample
