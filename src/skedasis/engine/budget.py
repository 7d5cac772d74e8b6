"""What work costs in model rows: counted from its plans, announced, and kept to a limit.

The rows of a pass are counted by its own code, with an evaluator that answers zeros (`count_rows`). Once a model has
been checked, `announce` says what the work costs if that is more than a minute, at the speed of the calls so far.
`within_limit` chooses what is left out to keep to `max_model_rows`, before the model is called at all.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np

from skedasis._progress import Timed, current_work, in_words
from skedasis._types import Floats, OutputLabel, ResultKey, TableLike, Values
from skedasis.data.column_stats import Column
from skedasis.data.dataset import Batch, ChunkedRows, Dataset, even_places
from skedasis.engine.heterogeneity_score import count_score_rows
from skedasis.engine.options import ExplainOptions, Need
from skedasis.engine.prepare import (
    Job,
    job_without_model,
    planned_like,
    resolve_method_and_selection,
)
from skedasis.engine.rows import open_rows
from skedasis.engine.run import BatchWork
from skedasis.engine.select import FeatureTask, Task, as_method
from skedasis.errors import CostWarning, DataError, warn_caller
from skedasis.methods.plans import CellPlan
from skedasis.models.adapters import LocalEffectKind
from skedasis.quantities.base import Quantity
from skedasis.quantities.evaluator import (
    DERIVATIVE_ROWS,
    PROBE_ROWS,
    BatchEvaluator,
    ModelRows,
    ResponseCache,
    SetChanges,
)
from skedasis.quantities.tree_evaluator import may_be_trees
from skedasis.results.checks.slope_check import MOST_ROWS as CHECKED_ROWS
from skedasis.stats.spread import MOST_ROWS as SPREAD_ROWS
from skedasis.stats.spread import ROWS_PER_ROW

COUNTED = 4_096
"""Most rows at which model rows are counted. Of more rows, these are taken at even steps."""


class CountingEvaluator(BatchEvaluator):
    """Evaluator that counts the rows of each call, and answers zeros."""

    def _call(self, changes: SetChanges, sets: int, where: str) -> Floats:
        n = sets * len(self)
        if n and (changes or self.quantity.without_model(self.batch) is None):
            self._response(changes, sets, where)
        return np.zeros(n)

    def _ask(self, changes: SetChanges, sets: int, where: str) -> Values:
        self.stats.rows += sets * len(self)
        self.stats.calls += 1
        return np.empty(0)

    def _ask_slopes(self, rows: ModelRows, n: int) -> Floats:
        self.stats.slope_rows += n
        return np.zeros((n, len(self.batch.dataset.features)))


@dataclass(frozen=True)
class RowCount:
    """The rows that a pass asks for."""

    model: float = 0.0
    slope: float = 0.0
    later: float = 0.0
    """Most rows of a second round, which follows from the first one."""
    calls: float = 0.0

    def __add__(self, other: RowCount) -> RowCount:
        return RowCount(
            self.model + other.model,
            self.slope + other.slope,
            self.later + other.later,
            self.calls + other.calls,
        )

    @property
    def rows(self) -> float:
        """Return the most model rows."""
        return self.model + self.later


def count_rows(job: Job) -> dict[ResultKey, RowCount]:
    """Return the rows that a pass asks for, by feature or pair; the first feature's include those that all share."""
    # Of data that are read in chunks, the rows that were drawn: these are in memory.
    n, rows = len(job.dataset), job.dataset.drawable
    work = BatchWork.of(replace(job, sample=None))
    keys = [t.key for t in job.tasks]
    found = dict.fromkeys(keys, RowCount())
    places = even_places(len(rows), COUNTED)
    for some in np.array_split(places, math.ceil(len(places) / job.batch_rows)):
        for key, count in _count_batch(job, work, rows.whole.take(some)).items():
            found[key] += count
    each, more = job.rows_per_row, job.rows_per_row * n / len(places)
    return {
        key: RowCount(
            count.model * more,
            count.slope * more,
            # A second round asks for at most two rows for each row and output.
            2.0 * n * each * sum(plan[1] == key and job.may_continue(plan) for plan in job.plans),
            math.ceil(count.calls * more),
        )
        for key, count in found.items()
    }


def _count_batch(job: Job, work: BatchWork, batch: Batch) -> dict[ResultKey, RowCount]:
    """Return the rows that a batch asks for, by feature or pair."""
    cache = ResponseCache() if len(job.outputs) > 1 else None
    shared: dict[str, object] = {}
    evaluators: dict[OutputLabel, BatchEvaluator] = {}
    for label, quantity in job.outputs.items():
        one = CountingEvaluator(quantity, batch, job.copies, job.checked.eps, None, cache)
        one.shared = shared
        evaluators[label] = one
    found: dict[ResultKey, RowCount] = {}
    model = slope = calls = 0
    for task in job.tasks:
        only = replace(work, variants={task.key: task.variant}, observed=None)
        only.compute(batch, evaluators, lambda: None)
        if work.observed is not None:
            for evaluator in evaluators.values():
                evaluator.values()
        rows = sum(e.stats.rows for e in evaluators.values())
        slopes = sum(e.stats.slope_rows for e in evaluators.values())
        asked = sum(e.stats.calls for e in evaluators.values())
        found[task.key] = RowCount(rows - model, slopes - slope, calls=asked - calls)
        model, slope, calls = rows, slopes, asked
    return found


def count_rows_of(job: Job, method: object, names: list[str]) -> dict[ResultKey, RowCount]:
    """Return the rows that another method asks for at the rows of a job. The method may not use derivatives."""
    resolved, selection = resolve_method_and_selection(
        method, job.quantity, job.dataset, names, job.options
    )
    return count_rows(planned_like(job, resolved, selection, job.options))


# --- all the work of a job ------------------------------------------------------------------------

LONG = 60.0
"""Seconds of the model's time from which work is announced."""

SLOPE_ROWS = 3.0
"""Time of a slope row, in model rows: that of a backward pass beside the forward pass."""

PAIR_ROWS = (4, 6, 9)
"""Model rows of a pair's ALE for each row, by the number of its categorical features."""

_MOST_PER_ROW = 60
"""Model rows for each row and plan beyond which work is counted before it is said to be short."""


def work_ahead(job: Job, *, regions: bool = False) -> RowCount:
    """Return the most rows that the work of a job asks for after its plan: with `regions` also within regions."""
    found = sum(count_rows(job).values(), RowCount())
    scores = count_score_rows(job)
    features = sum(isinstance(t, FeatureTask) for t in job.tasks)
    # The scores of a feature are a call, its spread another one.
    found += RowCount(scores, calls=1 + 2 * features if scores else 0)
    found += RowCount(later=slope_check_rows(job), calls=float(count_slope_checks(job)))
    if job.options.curves:
        found += RowCount(
            job.options.curves * _points(job) * job.rows_per_row, calls=float(features)
        )
    if regions:
        found += RowCount(later=region_score_rows(job))
    return found


def count_slope_checks(job: Job) -> int:
    """Return the number of plans whose slopes are checked against differences."""
    checked = {t.key for t in job.tasks if isinstance(t, FeatureTask) and t.variant.checks_slopes}
    cells = (plan for (_, key), plan in job.plans.items() if key in checked)
    return sum(isinstance(plan, CellPlan) and plan.at_points for plan in cells)


def slope_check_rows(job: Job) -> float:
    """Return the most model rows of the checks of slopes."""
    rows = min(CHECKED_ROWS, len(job.dataset)) * job.rows_per_row
    return 2.0 * rows * count_slope_checks(job)


def scored_rows(job: Job) -> int:
    """Return the most rows of the heterogeneity scores."""
    n, most = len(job.dataset), job.options.heterogeneity_rows
    return n if most is None else min(most, n)


def region_score_rows(job: Job) -> float:
    """Return the most model rows of the scores and spreads within regions."""
    scored = scored_rows(job)
    each = job.rows_per_row * (scored + min(SPREAD_ROWS, ROWS_PER_ROW * scored))
    return float(each * sum(isinstance(t, FeatureTask) for t in job.tasks) * len(job.outputs))


def _points(job: Job) -> float:
    """Return the most points of all effects."""
    return float(
        sum(t.variant.grid_size([job.plans[o, t.key] for o in job.outputs]) + 1 for t in job.tasks)
    )


# --- what is announced ----------------------------------------------------------------------------


def announce(jobs: Sequence[Job], more: RowCount | None = None, *, regions: bool = False) -> None:
    """Say what work costs, if that is more than a minute and nothing of the same call has been announced.

    `more` is what follows in the same call.
    """
    work = current_work()
    called = [job for job in jobs if job.is_called]
    # Only now it is known that these are not evaluated from their trees.
    limits = [
        job.options.max_model_rows for job in called if may_be_trees(job.quantity, job.options.tree)
    ]
    limit = limits[0] if limits else None
    if not called or (work.is_cost_checked and limit is None):
        return
    # Several models have a job each. Of what follows later, the rows so far are a part.
    times = 1.0 if work.is_cost_checked else work.times / len(jobs)
    checked_before, work.is_cost_checked = work.is_cost_checked, True
    more = (more or RowCount()) + RowCount(work.more)
    callers = [job.checked.caller for job in called]

    def seconds(counts: Sequence[RowCount]) -> float:
        each = [
            caller.seconds(count.rows + SLOPE_ROWS * count.slope, count.calls)
            / (job.options.n_jobs if len(job.dataset) > job.batch_rows else 1)
            for job, caller, count in zip(called, callers, counts, strict=True)
        ]
        return times * (sum(each) + callers[0].seconds(more.rows, more.calls))

    bounds = [_bound(job) for job in called]
    if limit is None and seconds(bounds) <= LONG:
        return
    counts = [work_ahead(job, regions=regions) for job in called]
    whole = times * (sum(count.rows for count in counts) + more.rows + work.rows)
    if limit is not None and whole > limit:
        raise too_few(limit, whole)
    if not checked_before and seconds(counts) > LONG:
        say_cost(whole, seconds(counts), called[0].method.cheaper)


def say_cost(rows: float, seconds: float, cheaper: str) -> None:
    """Warn that a call takes long."""
    current_work().expected = rows
    warn_caller(
        f"This call asks the model for up to {rounded(rows)} rows, about {in_words(seconds)} of the model's time as "
        "measured so far. max_model_rows= limits the rows, and says what is left out for that. Less costs: "
        f"{cheaper}.",
        CostWarning,
    )


def _bound(job: Job) -> RowCount:
    """Return a bound of the rows of most methods, without counting them."""
    n = len(job.dataset)
    points = sum(
        max(_MOST_PER_ROW, t.variant.grid_size([job.plans[o, t.key] for o in job.outputs]))
        for t in job.tasks
    )
    calls = job.rows_per_row * points
    return RowCount(float(n * calls * len(job.outputs)), calls=float(3 * calls))


def rounded(rows: float) -> str:
    """Return a number of rows, rounded up to three significant digits."""
    unit = 10 ** max(math.floor(math.log10(max(rows, 1.0))) - 2, 0)
    return f"{math.ceil(rows / unit) * unit:,}"


# --- what is left out -----------------------------------------------------------------------------

LEAST_ROWS = 200
"""Fewest rows of a sample: with fewer, an effect does not mean much."""

PROBED_ROWS = 3 * PROBE_ROWS + 2
"""Most rows of the check of a model: its rows together, in parts, and once more where these differ."""

More: TypeAlias = Callable[[Dataset, ExplainOptions], float]
"""Returns the model rows that follow the effects, for rows and options."""

LOCAL_EFFECT_KINDS: tuple[LocalEffectKind, ...] = ("differences", "steps")
"""What local effects may be, where it takes calls of the model to find out which."""


def most_model_rows(
    quantity: Quantity,
    dataset: Dataset,
    features: object,
    method: object,
    options: ExplainOptions,
    *,
    regions: bool = False,
    again: bool = True,
) -> float:
    """Return the most model rows that effects cost, checks included, without calling the model.

    `again` counts the round of features whose slopes do not pass their check.
    """
    n, found, probed = len(dataset), 0.0, 0
    each = quantity.rows_per_row
    for local in LOCAL_EFFECT_KINDS:
        job = job_without_model(quantity, dataset, features, method, options, local)
        rows = work_ahead(job, regions=regions).rows
        if again and local == "differences":
            rows += 4.0 * n * each * count_slope_checks(job)
        found = max(found, rows)
        probed = sum(is_probed(quantity, task) for task in job.tasks)
    return found + each * (probed * 7.0 * min(n, DERIVATIVE_ROWS) + min(PROBED_ROWS, 3 * n + 2))


def is_probed(quantity: Quantity, task: Task) -> bool:
    """Return whether the model is called to tell whether a task's feature has slopes."""
    return task.variant.uses_slopes and any(
        isinstance(column, Column)
        and quantity.derivative_info(column.feature).kind == "differences"
        for column in task.columns
    )


@dataclass(frozen=True, eq=False)
class PlannedCall:
    """A call of the library before the model is called: the arguments of `prepare`, and what follows the effects."""

    quantity: Quantity
    X: TableLike
    features: object
    method: object
    need: Need | None = None
    more: More | None = None
    regions: bool = False

    share: float = 1.0
    """Share of the rows on which the model is explained, as one of several."""
    left_out: tuple[str, ...] = ()
    """What this call leaves out of a larger one, in sentences."""
    _opened: dict[int | None, tuple[Dataset, ExplainOptions]] = field(
        default_factory=dict[int | None, tuple[Dataset, ExplainOptions]]
    )

    def open(self, options: ExplainOptions) -> tuple[Dataset, ExplainOptions]:
        """Return the rows, and the options that belong to them."""
        found = self._opened.get(options.sample)
        if found is None:
            found = open_rows(self.quantity, self.X, self.features, self.method, options, self.need)
        if not self._opened:
            # Opening data that are read in chunks takes a pass over them. Smaller samples are opened once.
            self._opened[options.sample] = found
        return found[0], replace(found[1], heterogeneity_rows=options.heterogeneity_rows)

    def cost(self, options: ExplainOptions, *, again: bool = True) -> float:
        """Return the most model rows, without calling the model; see `most_model_rows`."""
        dataset, own = self.open(options)
        if self.share < 1.0:
            rows = math.ceil(self.share * len(dataset))
            dataset = dataset.subset(even_places(len(dataset), rows))
        found = most_model_rows(
            self.quantity,
            dataset,
            self.features,
            self.method,
            own,
            regions=self.regions,
            again=again,
        )
        return found + (0.0 if self.more is None else self.more(dataset, own))

    def announce_early(self, options: ExplainOptions, caller: Timed, columns: int) -> None:
        """Warn of a call whose checks alone take long, once the model has been called on a few rows."""
        work = current_work()
        checks = caller.seconds(7.0 * DERIVATIVE_ROWS * columns, 3.0 * columns)
        if not work.is_cost_checked and checks > LONG / 4:
            rows = work.times * (self.cost(options, again=False) + work.more)
            announce_rows(caller, rows, work.times * 4.0 * columns, as_method(self.method).cheaper)


def announce_rows(caller: Timed, rows: float, calls: float, cheaper: str) -> None:
    """Warn if so many model rows take more than a minute, and nothing of the same call has been announced."""
    work, seconds = current_work(), caller.seconds(rows, calls)
    if not work.is_cost_checked and seconds > LONG:
        work.is_cost_checked = True
        say_cost(rows, seconds, cheaper)


def within_limit(asked: PlannedCall, options: ExplainOptions) -> ExplainOptions:
    """Return options with which a call keeps to `max_model_rows`; raise `DataError` if the least is more."""
    return call_within_limit([asked], options)[1]


def call_within_limit(
    calls: Sequence[PlannedCall], options: ExplainOptions
) -> tuple[PlannedCall, ExplainOptions]:
    """Return the call and the options that keep to `max_model_rows`; raise `DataError` if the least is more.

    What is least needed is left out first: what each call leaves out of the one before; rows of the heterogeneity
    scores and spreads, half of them at a time, then all of these; at last rows of everything, down to a random sample
    of 200. The model is not called.
    """
    limit, chosen = options.max_model_rows, (calls[0], options)
    if limit is not None and not may_be_trees(calls[0].quantity, options.tree):
        n = len(calls[0].open(options)[0])
        choices = [(call, options) for call in calls]
        choices += [(calls[-1], fewer) for fewer in _fewer(options, n)]

        def said(choice: tuple[PlannedCall, ExplainOptions]) -> list[str]:
            return [*choice[0].left_out, *_left_out(options, choice[1], n)]

        chosen = keep_to(limit, choices, lambda c: c[0].cost(c[1]), said)
    if not isinstance(calls[0].X, ChunkedRows):
        current_work().after_check = partial(chosen[0].announce_early, chosen[1])
    return chosen


def rows_within_limit(
    quantity: Quantity, X: TableLike, per_row: int, options: ExplainOptions
) -> ExplainOptions:
    """Return options with which a call of so many model rows for each row keeps to `max_model_rows`: by a sample."""
    limit = options.max_model_rows
    if limit is None or may_be_trees(quantity, options.tree):
        return options
    n = len(X) if isinstance(X, ChunkedRows) else len(options.dataset(X))
    n = min(n, options.sample or n)
    rows = keep_to(
        limit,
        range(n, min(n, LEAST_ROWS) - 1, -1),
        lambda rows: quantity.rows_per_row * (rows * per_row + PROBED_ROWS),
        lambda rows: [on_a_sample(rows, n)],
    )
    return options if rows == n else replace(options, sample=rows)


_ChoiceT = TypeVar("_ChoiceT")


def keep_to(
    limit: int,
    choices: Sequence[_ChoiceT],
    cost: Callable[[_ChoiceT], float],
    left_out: Callable[[_ChoiceT], Sequence[str]],
) -> _ChoiceT:
    """Return the first of choices, each of which costs less than the one before, that keeps to a limit of model rows.

    A call that is repeated `Work.times` keeps to it in all. What the choice leaves out is said; `DataError` is raised
    if the last choice costs more than the limit.
    """
    work = current_work()
    whole = work.times * cost(choices[0])
    if whole <= limit:
        return choices[0]
    least = work.times * cost(choices[-1])
    if least > limit:
        raise too_few(limit, least)
    chosen = first_fitting(choices[1:], lambda c: work.times * cost(c) <= limit)
    leave_out(limit, left_out(chosen), whole)
    return chosen


def first_fitting(choices: Sequence[_ChoiceT], fits: Callable[[_ChoiceT], bool]) -> _ChoiceT:
    """Return the first of choices, each of which asks for less than the one before, that fits; or else the last."""
    first = bisect_left(range(len(choices) - 1), True, key=lambda k: fits(choices[k]))
    return choices[first]


def fewer_rows(n: int, least: int) -> list[int]:
    """Return numbers of rows below n, each at most two percent less than the one before, down to the least."""
    found: list[int] = []
    while n > least:
        n = max(least, min(n - 1, n * 49 // 50))
        found.append(n)
    return found


def leave_out(limit: int, sentences: Sequence[str], whole: float) -> None:
    """Say what a call leaves out of all its model rows to keep to a limit: each sentence once."""
    work = current_work()
    new = [said for said in sentences if said not in work.left_out]
    if not new:
        return
    work.left_out += new
    warn_caller(
        f"To keep to {limit:,} model rows (max_model_rows), this call leaves out what is least needed: all of it needs "
        f"up to {rounded(whole)}. {' '.join(new)}",
        CostWarning,
    )


def on_a_sample(rows: int, n: int) -> str:
    """Return the sentence about a call that explains a random sample of n rows."""
    return f"All numbers are computed from a random sample of {rows:,} of {n:,} rows."


def _fewer(options: ExplainOptions, n: int) -> list[ExplainOptions]:
    """Return options that leave out more and more of n rows."""
    scored = options.heterogeneity_rows
    rows = n if scored is None else min(scored, n)
    halves = [rows >> k for k in range(1, rows.bit_length()) if rows >> k >= LEAST_ROWS]
    none = replace(options, heterogeneity_rows=0)
    found = [replace(options, heterogeneity_rows=rows) for rows in halves]
    found += [none] if scored != 0 else []
    return found + [replace(none, sample=rows) for rows in fewer_rows(n, LEAST_ROWS)]


def _left_out(options: ExplainOptions, changed: ExplainOptions, n: int) -> list[str]:
    """Return what is left out, in sentences."""
    said: list[str] = []
    if changed.heterogeneity_rows != options.heterogeneity_rows:
        rows = changed.heterogeneity_rows
        said.append(
            f"The heterogeneity scores are computed from {rows:,} rows."
            if rows
            else "There are no heterogeneity scores and no spreads."
        )
    if changed.sample is not None and changed.sample != options.sample:
        said.append(on_a_sample(changed.sample, n))
    return said


def too_few(limit: int, least: float) -> DataError:
    """Return the error for a limit below the least that all the work of a call needs."""
    needed = rounded(least)
    return DataError(
        "max_model_rows",
        f"{limit:,}",
        f"at least {needed} model rows, for what remains if all is left out that can be",
        f"Use max_model_rows={needed.replace(',', '_')}, or None for no limit",
    )
