"""Prepare: from the arguments of `explain` to a job, before the first batch.

In: a quantity, rows, features, a method and options. Out: a `Job`: the model is checked, every feature is planned, and
the size of the batches is chosen. What can be refused has been.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from skedasis._progress import current_work
from skedasis._types import Bools, Floats, Ints, OutputLabel, ResultKey, TableLike, TreeMode
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Column, NotYetKnown
from skedasis.data.dataset import AnyColumn, Dataset
from skedasis.data.features import check_slopes
from skedasis.data.row_rules import KeptRows
from skedasis.derivatives.finite_differences import PROBED_VALUES, probe_derivatives
from skedasis.engine.observed import (
    ObservedCells,
    ObservedWork,
    RowSplit,
    check_labels,
    check_observed,
)
from skedasis.engine.options import ExplainOptions, Need
from skedasis.engine.rows import open_rows
from skedasis.engine.select import (
    AnyPlan,
    FeatureSelection,
    FeatureTask,
    Task,
    as_method,
    check_curves,
)
from skedasis.errors import DataError
from skedasis.methods.base import ResolvedMethod
from skedasis.methods.missing import Donors, donors_of
from skedasis.methods.plans import NumericPlan
from skedasis.models.adapters import DerivativeInfo, LocalEffectKind
from skedasis.models.calling import SMALLEST, CallStats
from skedasis.quantities.base import CALL_ROWS, FULL_CALL, ModelProxy, Quantity
from skedasis.quantities.evaluator import (
    DERIVATIVE_ROWS,
    BatchEvaluator,
    ProbeResult,
    ResponseCache,
    probe_model,
)
from skedasis.quantities.joint_calls import JOINT_CELLS, JOINT_ROWS, in_few_calls, joint_calls
from skedasis.quantities.outputs import MultiOutputQuantity
from skedasis.quantities.tree_evaluator import (
    Outputs,
    TreeDecision,
    TreeModelProxy,
    use_trees_if_exact,
)

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
    checked: ProbeResult
    options: ExplainOptions
    started: float
    donors: dict[TaskKey, Donors] = field(default_factory=dict[TaskKey, Donors])
    copies: int = 1
    batch_rows: int = 1
    sample: KeptRows | None = None
    stats: CallStats = field(default_factory=CallStats)
    curve_stats: CallStats = field(default_factory=CallStats)
    trees: str | None = None
    tree_batch_rows: int | None = None
    observed: ObservedWork | None = None
    """What observed means take; None if they are not wanted."""
    own: Mapping[OutputLabel, Floats] = field(default_factory=dict[OutputLabel, Floats])
    """The quantity at the rows of the dataset, (n,), by output; empty unless it is known."""

    @cached_property
    def _task_of(self) -> dict[ResultKey, Task]:
        return {task.key: task for task in self.tasks}

    def task(self, key: TaskKey) -> Task:
        """Return the feature or pair of a plan."""
        return self._task_of[key[1]]

    def may_continue(self, key: TaskKey) -> bool:
        """Return whether a second round may follow for a plan."""
        task = self.task(key)
        return isinstance(task, FeatureTask) and task.variant.may_continue(self.plans[key])

    @property
    def is_called(self) -> bool:
        """Whether the model is called, because its trees are not evaluated instead."""
        return not (self.trees or "").startswith("exact")

    @property
    def joint_rows(self) -> int:
        """Most rows of a call that answers the requests of several features; 0 if each has its own calls."""
        return _joint_rows(self.outputs, self.dataset, self.tasks, self.checked, self.options)

    @property
    def rows_per_row(self) -> int:
        """Model rows that an output costs at one row: one of each model that is called."""
        return next(iter(self.outputs.values())).rows_per_row

    def with_predictions(self) -> Job:
        """Return the job whose pass keeps the predictions, from which the observed means of regions follow."""
        if self.observed is None:
            return self
        own = self.observed.with_predictions(self.dataset, self.outputs)
        return replace(self, observed=own)

    @property
    def single(self) -> bool:
        """Whether the quantity has one output."""
        return set(self.outputs) == {None}

    @property
    def n_kept(self) -> int:
        """Largest number of rows that are kept."""
        return len(self.dataset) if self.sample is None else self.sample.most

    @cached_property
    def sample_mask(self) -> Bools | None:
        """Mask of the kept rows, (n,); None for all."""
        return None if self.sample is None else self.sample.mask(self.dataset.whole)


def prepare(
    quantity: Quantity,
    X: TableLike,
    features: object,
    method: object,
    options: ExplainOptions,
    rows: Ints | None = None,
    need: Need | None = None,
) -> Job:
    """Select the features and plan the work of `explain` for one model, before the pass over the rows."""
    _check_one_model(options)
    started = time.perf_counter()
    dataset, options = open_rows(quantity, X, features, method, options, need)
    if rows is not None:
        dataset = dataset.subset(rows)
    return replace(prepare_rows(quantity, dataset, features, method, options), started=started)


def prepare_rows(
    quantity: Quantity,
    dataset: Dataset,
    features: object,
    method: object,
    options: ExplainOptions,
) -> Job:
    """Select the features and plan the work of `explain` at the rows of a dataset."""
    resolved, selection = resolve_method_and_selection(method, quantity, dataset, features, options)
    return prepare_job(quantity, resolved, selection, options)


def _check_one_model(options: ExplainOptions) -> None:
    """Raise if arguments for several models are given with a single model."""
    for name in ("cv", "correction", "refits"):
        if vars(options)[name] not in (None, False):
            raise DataError(
                name,
                "one model",
                "a list of models, one for each fold or fit",
                f"Remove {name}, or pass all models: sd.explain([m1, m2, m3], X, {name}=...)",
            )


def resolve_method_and_selection(
    method: object,
    quantity: Quantity,
    dataset: Dataset,
    features: object,
    options: ExplainOptions,
) -> tuple[ResolvedMethod, FeatureSelection]:
    """Return the method for these rows, and the selected features."""
    requested, groups = None if method is None else as_method(method), options.groups
    if requested is not None:
        dataset, groups = requested.rows_and_groups(dataset, groups, options.seed)
    overlapping = requested is not None and requested.donor_rows > 0
    selection = FeatureSelection(
        dataset, features, groups, free=requested is None, overlapping=overlapping
    )
    chosen = as_method(None, pair=selection.pairs) if requested is None else requested
    names = {f.name for f in dataset.features}
    chosen.check_features(
        (*dataset.features, *(f for f in selection.features if f.name not in names))
    )
    return chosen.for_rows(quantity, dataset, options.seed), selection


# ------------------------------------------------------------------------------------------
# Plans.


def prepare_job(
    quantity: Quantity,
    method: ResolvedMethod,
    selection: FeatureSelection,
    options: ExplainOptions,
    part: RowSubset | None = None,
    agreed: Mapping[TaskKey, DerivativeInfo] | None = None,
) -> Job:
    """Check the model, plan every feature, and size the batches."""
    started = time.perf_counter()
    dataset, tasks = selection.dataset, _tasks(quantity, method, selection)
    if options.curves:
        check_curves(tasks)
    split = None
    if options.observed:
        check_observed(quantity, dataset, tasks)
        split = RowSplit.of(dataset, options.split)
    evaluated, checked = _check_model(quantity, dataset, tasks, options.tree)
    if split is not None and isinstance(quantity, MultiOutputQuantity):
        for one in evaluated.outputs.values():
            check_labels(one, dataset)
    work = current_work()
    after_check, work.after_check = work.after_check, None
    if after_check is not None and not (evaluated.said or "").startswith("exact"):
        after_check(checked.caller, len(dataset.features))
    room = _joint_rows(evaluated.outputs, dataset, tasks, checked, options)
    planner = _Planner(
        evaluated.outputs, dataset, tasks, checked, agreed or {}, room, observed=split is not None
    )
    dataset.once_known(planner.plan_all)
    plans = planner.plans
    if part is not None:
        whole = list(tasks)
        dataset, tasks, plans = part.restrict(dataset, whole, plans)
        if tasks is not whole:
            _release(whole)
    base = Job(
        quantity=quantity,
        outputs=evaluated.outputs,
        method=method,
        selection=selection,
        dataset=dataset,
        tasks=tasks,
        plans=plans,
        checked=checked,
        options=options,
        started=started,
        trees=evaluated.said,
        tree_batch_rows=evaluated.batch_rows,
        observed=None
        if split is None
        else ObservedWork(planner.cells, split, dataset.sampling_weights),
    )
    return _with_sizes(base)


def _tasks(
    quantity: Quantity, method: ResolvedMethod, selection: FeatureSelection
) -> Sequence[Task]:
    """Return the features and pairs with their methods; raise if these change rows of a quantity of observed ones."""
    tasks = selection.tasks(method)
    if any(t.variant.moves_rows for t in tasks):
        quantity.refuse_moved_rows(method.name)
    return tasks


def planned_like(
    job: Job, method: ResolvedMethod, selection: FeatureSelection, options: ExplainOptions
) -> Job:
    """Return the job of another method on the same rows, planned without calling the model, which is checked."""
    started = time.perf_counter()
    tasks = selection.tasks(method)
    if any(t.variant.uses_slopes for t in tasks):
        raise TypeError(
            "A method that uses derivatives cannot be planned without calling the model"
        )
    checked = replace(job.checked, stats=CallStats())
    planner = _Planner(job.outputs, job.dataset, tasks, checked)
    planner.plan_all()
    return _with_sizes(
        replace(
            job,
            method=method,
            selection=selection,
            tasks=tasks,
            plans=planner.plans,
            checked=checked,
            options=options,
            started=started,
            observed=None,
            stats=CallStats(),
            curve_stats=CallStats(),
        )
    )


def _with_sizes(job: Job) -> Job:
    """Return a planned job with the donors of missing values, the size of its batches, and the rows that it keeps."""
    dataset, tasks, plans, options = job.dataset, job.tasks, job.plans, job.options
    donors = _donors(tasks, plans)
    _release(tasks)
    batch_rows, copies = _batch_size(job)
    variants = {t.key: t.variant for t in tasks}
    row_bytes = sum(variants[k].row_bytes(p) for (_, k), p in plans.items())
    budget = options.keep_bytes // max(1, row_bytes + dataset.kept_row_bytes)
    requested = max(t.variant.n_rows_to_keep(len(dataset)) for t in tasks)
    kept = min(requested, budget)
    if kept < requested:
        plans = {(o, k): variants[k].with_fine_cells(p) for (o, k), p in plans.items()}
    return replace(
        job,
        plans=plans,
        donors=donors,
        copies=copies,
        batch_rows=batch_rows,
        sample=dataset.rows_to_keep(kept, options.seed),
    )


def _release(tasks: Sequence[Task]) -> None:
    """Forget the sorted columns: together, they need as much memory as X."""
    for column in (c for t in tasks for c in t.columns if isinstance(c, Column)):
        column.release()


def job_without_model(
    quantity: Quantity,
    dataset: Dataset,
    features: object,
    method: object,
    options: ExplainOptions,
    local: LocalEffectKind,
) -> Job:
    """Return a job that is planned without calling the model.

    Where only the model would tell whether it has slopes, `local` says what they are taken for: "differences" or
    "steps". Nothing but its rows can be counted.
    """
    method, selection = resolve_method_and_selection(method, quantity, dataset, features, options)
    dataset, tasks = selection.dataset, _tasks(quantity, method, selection)
    outputs: Outputs = {None: quantity}
    if isinstance(quantity, MultiOutputQuantity):
        outputs = dict(quantity.parts) or {None: quantity.one}
    if options.observed:
        check_observed(quantity, dataset, tasks)
    checked = ProbeResult(float(np.finfo(float).eps), CallStats())
    planner = _Planner(outputs, dataset, tasks, checked, local=local)
    dataset.once_known(planner.plan_all)
    base = Job(
        quantity=quantity,
        outputs=outputs,
        method=method,
        selection=selection,
        dataset=dataset,
        tasks=tasks,
        plans=planner.plans,
        checked=checked,
        options=options,
        started=time.perf_counter(),
        observed=ObservedWork({}, RowSplit(), dataset.sampling_weights)
        if options.observed
        else None,
    )
    return _with_sizes(base)


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


_CURVES, _FEWEST = 16_000_000, 256
"""Target size in bytes of a batch's curves of trees, and the fewest rows of a batch, for sets of 64 rows."""


def _batch_size(job: Job) -> tuple[int, int]:
    """Return the number of rows of a batch, and the number of its copies in one call of the model."""
    dataset, tasks, memory = job.dataset, job.tasks, job.options.memory_bytes
    first = next(iter(job.outputs.values()))
    # What each model is given and returns needs memory at the same time.
    outputs = len(job.outputs) * len(first.models)
    by_task: dict[ResultKey, list[AnyPlan]] = {t.key: [] for t in tasks}
    for (_, key), plan in job.plans.items():
        by_task[key].append(plan)
    sets = max(t.variant.points_per_call(by_task[t.key]) for t in tasks)
    held = max(t.variant.floats_per_row(by_task[t.key]) for t in tasks)
    # Memory per row: its copies in the buffer, and its curve with intermediate results. Outputs share a response cache.
    cached = outputs if outputs > 1 else 0
    row_bytes = 8 * ((len(dataset.features) + 8) * sets * outputs + held * (4 + cached))
    grid_size = max(t.variant.grid_size(by_task[t.key]) for t in tasks)
    trees = [model for model in first.models if isinstance(model, TreeModelProxy)]
    if job.tree_batch_rows is not None and trees:
        # The model is not called: the batch size keeps a batch's row sets and curves in the processor's cache.
        curve = 8 * max(1, held, grid_size) * sum(m.forest.ensemble.outputs for m in trees)
        fit = max(_FEWEST, _CURVES // curve)
        rows = min(job.tree_batch_rows, len(dataset), memory // row_bytes, fit)
        return max(1, rows), max(sets, grid_size)
    rows = max(1, min(CALL_ROWS // sets, memory // row_bytes))
    limits = [t.variant.batch_rows for t in tasks]
    limits += [q.batch_rows for q in job.outputs.values()]
    rows = min(rows, len(dataset), *(n for n in limits if n is not None))
    room = memory // (8 * (len(dataset.features) + 8) * rows)
    # With few rows, one call can carry more copies, so that its overhead becomes negligible.
    copies = max(sets, min(grid_size, FULL_CALL // rows))
    return rows, max(1, min(copies, CALL_ROWS // rows, room))


def _joint_rows(
    outputs: Outputs,
    dataset: Dataset,
    tasks: Sequence[Task],
    checked: ProbeResult,
    options: ExplainOptions,
) -> int:
    """Return how many rows a call may have that answers the requests of several features; 0 if there are no such calls.

    A slow model is called as seldom as memory allows, a cheap one in blocks that stay in the processor's cache.
    """
    caller, models = checked.caller, [model for q in outputs.values() for model in q.models]
    if len(tasks) < 2 or not caller.can_join or any(isinstance(m, ModelProxy) for m in models):
        return 0
    columns = len(dataset.features)
    rows = CALL_ROWS if caller.slow else min(JOINT_ROWS, JOINT_CELLS // columns)
    limits = [q.batch_rows for q in outputs.values()]
    memory = options.memory_bytes // (8 * (columns + 8))
    return min([rows, memory, *(n for n in limits if n is not None)])


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


_NO_DERIVATIVES = DerivativeInfo("none", "")


class _Probes:
    """Evaluators at the rows where derivatives are probed, one for each output, made when it is needed."""

    def __init__(self, outputs: Outputs, dataset: Dataset, checked: ProbeResult, room: int) -> None:
        self._outputs, self._dataset, self._checked = outputs, dataset, checked
        self.joint = joint_calls(room, 1)
        self._cache = ResponseCache() if len(outputs) > 1 or self.joint is not None else None
        self._made: dict[OutputLabel, BatchEvaluator] = {}

    def of(self, label: OutputLabel) -> BatchEvaluator:
        """Return the evaluator of an output."""
        if label not in self._made:
            checked = self._checked
            batch = self._dataset.evenly_spaced_batch(DERIVATIVE_ROWS, checked.among)
            made = self._outputs[label].evaluator(
                batch, PROBED_VALUES, checked.eps, cache=self._cache
            )
            made.caller, made.joint = checked.caller, self.joint
            self._made[label] = made
        return self._made[label]

    def forget(self) -> None:
        """Delete the responses of features that are planned."""
        for evaluator in self._made.values():
            evaluator.forget()

    def count(self) -> None:
        """Add the calls to those of the model's check."""
        for evaluator in self._made.values():
            self._checked.stats.add(evaluator.stats)


@dataclass(frozen=True, eq=False)
class _Planner:
    """Plans every feature for every output; once for all outputs if the method uses no derivatives."""

    outputs: Outputs
    dataset: Dataset
    tasks: Sequence[Task]
    checked: ProbeResult
    agreed: Mapping[TaskKey, DerivativeInfo] = field(default_factory=dict)
    """The kind of local effect that several models agree on."""
    room: int = 0
    local: LocalEffectKind | None = None
    """If the model is not called: what its local effects are taken for where only it would tell."""
    observed: bool = False
    """Whether the cells of observed means are planned, too."""
    plans: Plans = field(default_factory=dict)
    cells: dict[ResultKey, ObservedCells] = field(default_factory=dict[ResultKey, ObservedCells])
    infos: dict[TaskKey, list[DerivativeInfo]] = field(default_factory=dict)

    def plan_all(self) -> None:
        """Plan what is not planned yet; raise if columns are to be counted first."""
        # Columns that wait keep their order, and all of them need as much memory as X.
        few = len(self.dataset) <= CALL_ROWS
        probes = _Probes(self.outputs, self.dataset, self.checked, self.room if few else 0)
        works = [partial(self._plan_task, task, probes) for task in self.tasks]
        unknown: Exception | None = None
        for found in in_few_calls(probes.joint, works):
            unknown = found or unknown
            probes.forget()
        probes.count()
        # One pass over the data answers what plans and donors ask for.
        _donors(self.tasks, self.plans)
        if unknown is not None:
            raise unknown

    def _plan_task(self, task: Task, probes: _Probes) -> Exception | None:
        """Plan a feature or pair for all outputs; return the error that says what is to be counted first."""
        unknown: Exception | None = None
        for label in self.outputs:
            try:
                self._plan(task, label, probes)
            except NotYetKnown as error:
                unknown = error
        try:
            if self.observed and isinstance(task, FeatureTask) and task.key not in self.cells:
                self.cells[task.key] = ObservedCells.of(task)
        except NotYetKnown as error:
            unknown = error
        for column in task.columns:
            if isinstance(column, Column) and not column.missing:  # donors need the order
                column.release_order()
        return unknown

    def _plan(self, task: Task, label: OutputLabel, probes: _Probes) -> None:
        key = label, task.key
        if key in self.plans:
            return
        for column in task.columns:
            # A quantity that is zero at the probe's rows may have slopes at others.
            if isinstance(column, Column) and self.checked.largest >= SMALLEST:
                check_slopes(column.feature, column.low, column.high, self.checked.largest)
        if not task.variant.uses_slopes:
            plan = task.plan((_NO_DERIVATIVES,) * len(task.columns))
            self.plans.update({(name, task.key): plan for name in self.outputs})
            return
        if key not in self.infos:
            self.infos[key] = [self._derivative_info(label, c, probes, task) for c in task.columns]
        self.plans[key] = _plan_of(task, self.infos[key], self.agreed.get(key))

    def _derivative_info(
        self, label: OutputLabel, column: AnyColumn, probes: _Probes, task: Task
    ) -> DerivativeInfo:
        """Return how the local effects of a column are computed; without derivatives, whether differences do."""
        if not isinstance(column, Column):
            return DerivativeInfo("levels", "differences between levels")
        known = self.outputs[label].derivative_info(column.feature)
        # Probing derivatives would evaluate the model between observed values.
        observed = isinstance(task, FeatureTask) and task.variant.observed_only(column)
        if observed or known.kind != "differences":
            return known
        return self._probed(label, column, probes)

    def _probed(self, label: OutputLabel, column: Column, probes: _Probes) -> DerivativeInfo:
        """Return whether differences of the model serve as local effects of a column, or what is assumed of them."""
        if self.local is not None:
            return DerivativeInfo(self.local, "")
        values = column.values_to_step_between() if column.discrete else None
        return probe_derivatives(probes.of(label), column.summary(), values)


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
