"""Before the first batch: check the model, plan every feature, choose the batch size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from skedasis._types import Bools, Ints
from skedasis.data.column_stats import Column
from skedasis.data.dataset import Source
from skedasis.data.features import Feature
from skedasis.engine.select import Task
from skedasis.methods.missing import Donors, donors_of
from skedasis.models.adapters import Traits
from skedasis.models.calling import Meter
from skedasis.quantities.base import CALL_ROWS, FULL_CALL, Quantity
from skedasis.quantities.evaluator import Checked, Tape, check, traits_of
from skedasis.quantities.tree_evaluator import Chosen, Wish, by_trees

if TYPE_CHECKING:
    from skedasis.engine.multi_model import Part


Key = tuple[Any, Any]
"""The label of an output, and the name of a feature or of a pair."""


Plans = dict[Key, Any]


@dataclass(frozen=True)
class Settings:
    """How the work is to be done.

    Parameters
    ----------
    memory, keep : int
        Bytes for a batch, and for rows that the results keep.
    seed : int
        Of the sample of rows that are kept.
    tree : {"auto", "off", "force"}
        Whether an ensemble of trees is walked instead of called.
    """

    memory: int
    keep: int
    seed: int = 0
    tree: Wish = "auto"


@dataclass(frozen=True)
class Job:
    """What `explain` was asked, checked: everything that does not depend on the batch.

    Parameters
    ----------
    quantity : Quantity
        As it was given.
    outputs : dict of label to Quantity
        Of each output; one entry, None, where there is only one.
    method : object
        As the user wrote it.
    source : Source
    tasks : sequence of Task
    plans : dict of (label, key) to plan
    donors : dict of (label, key) to Donors
        Where a feature has missing values.
    checked : Checked
    copies, batch_rows : int
        Sets of a batch's rows in one call, and rows of a batch.
    sample : ndarray of bool, optional
        Which rows are kept: None for all.
    meter : Meter
    trees : str, optional
        Of an ensemble of trees: that it is walked, or why it is called.
    """

    quantity: Quantity
    outputs: dict[Any, Quantity]
    method: Any
    source: Source
    tasks: Sequence[Task]
    plans: Plans
    donors: dict[Key, Donors]
    checked: Checked
    copies: int
    batch_rows: int
    sample: Bools | None
    meter: Meter = field(default_factory=Meter)
    trees: str | None = None

    @property
    def single(self) -> bool:
        """Return whether the quantity is one, not several outputs."""
        return set(self.outputs) == {None}


def prepare(
    quantity: Quantity,
    method: Any,
    source: Source,
    tasks: Sequence[Task],
    settings: Settings,
    part: Part | None = None,
    agreed: Mapping[Any, Traits] | None = None,
) -> Job:
    """Check the model, plan every feature, and size the batches.

    Parameters
    ----------
    quantity, method, source, tasks
        Carried into the job.
    settings : Settings
    part : Part, optional
        Of several models: the rows that this one is explained on. What is planned is planned on all.
    agreed : mapping of (label, key) to Traits, optional
        Likewise: how local effects are got, where the models differ in what they can do.
    """
    chosen, checked = _answering(quantity, source, tasks, settings.tree)
    outputs = chosen.outputs
    plans = _plans(outputs, source, tasks, checked, agreed or {})
    whole = tasks
    if part is not None:
        source, tasks, plans = part.met(source, list(tasks), plans)
    donors = _donors(tasks, plans)
    for column in (c for t in (*whole, *tasks) for c in t.columns if isinstance(c, Column)):
        column.release()  # as large as X, all together
    rows, copies = _sizes(source, tasks, plans, chosen, settings.memory)
    ways = {t.key: t.way for t in tasks}
    budget = settings.keep // max(1, sum(ways[k].row_bytes(p) for (_, k), p in plans.items()))
    wished = max(t.way.rows_wanted(len(source)) for t in tasks)
    kept = min(wished, budget)
    if kept < wished:
        plans = {(o, k): ways[k].refined(p) for (o, k), p in plans.items()}
    return Job(
        quantity,
        outputs,
        method,
        source,
        tasks,
        plans,
        donors,
        checked,
        copies,
        rows,
        _sample(source, kept, settings.seed),
        trees=chosen.said,
    )


def _answering(
    quantity: Quantity, source: Source, tasks: Sequence[Task], tree: Wish
) -> tuple[Chosen, Checked]:
    """Return what answers, the model or its trees, and what the look at the model found."""
    asked = Meter()
    there = _present(tasks)
    several = quantity.outputs(source, asked, there)
    outputs: dict[Any, Quantity] = {None: quantity} if several is None else several
    checked = check(list(outputs.values()), source, there)
    checked.meter.add(asked)
    means = all(getattr(t.way, "means_only", False) for t in tasks)
    chosen = by_trees(outputs, source, tree, checked, means=means)
    checked.meter.add(chosen.meter)
    return chosen, checked


def _sizes(
    source: Source,
    tasks: Sequence[Task],
    plans: Plans,
    chosen: Chosen,
    memory: int,
) -> tuple[int, int]:
    """Return how many rows a batch has, and how many sets of them a call carries."""
    outputs = len(chosen.outputs)
    of = {t.key: [p for (_, k), p in plans.items() if k == t.key] for t in tasks}
    sets = max(t.way.sets(of[t.key]) for t in tasks)
    held = max(t.way.held(of[t.key]) for t in tasks)
    # What a row costs: its copies in the buffer, and its curve with what is computed from it; outputs share a tape.
    tape = outputs if outputs > 1 else 0
    row_bytes = 8 * ((len(source.features) + 8) * sets * outputs + held * (4 + tape))
    if chosen.batch_rows is not None:
        # No call carries rows: what counts is that their sets stay in the cache.
        return max(1, min(chosen.batch_rows, len(source), memory // row_bytes)), sets
    rows = max(1, min(CALL_ROWS // sets, memory // row_bytes))
    wanted = [t.way.batch_rows for t in tasks]
    wanted += [getattr(q.called, "batch_rows", None) for q in chosen.outputs.values()]
    rows = min(rows, len(source), *(n for n in wanted if n is not None))
    room = memory // (8 * (len(source.features) + 8) * rows)
    # Of few rows more sets fit into a call, which then costs little beside what it carries.
    swept = max(getattr(t.way, "swept", lambda _: 0)(of[t.key]) for t in tasks)
    copies = max(sets, min(swept, FULL_CALL // rows))
    return rows, max(1, min(copies, CALL_ROWS // rows, room))


def _donors(tasks: Sequence[Task], plans: Plans) -> dict[Key, Donors]:
    """Return the values that missing ones are compared with, where there are missing ones."""
    donors: dict[Key, Donors] = {}
    comparing = {t.key: t for t in tasks if t.way.compares_missing}
    for (label, key), plan in plans.items():
        found = donors_of(comparing[key].column, plan) if key in comparing else None
        if found is not None:
            donors[label, key] = found
    return donors


def _plans(
    outputs: dict[Any, Quantity],
    source: Source,
    tasks: Sequence[Task],
    checked: Checked,
    agreed: Mapping[Any, Traits],
) -> Plans:
    """Plan every feature for every output; once for all where the model's derivatives do not matter."""
    plans: Plans = {}
    for task in tasks:
        if not task.way.uses_slopes:
            plan = task.way.plan(task.column, _nothing(task))
            plans |= {(label, task.key): plan for label in outputs}
            continue
        tape = Tape() if len(outputs) > 1 else None
        for label, quantity in outputs.items():
            traits = tuple(_traits(quantity, source, c, checked, tape, task) for c in task.columns)
            known = traits[0] if len(traits) == 1 else traits
            common = agreed.get((label, task.key))
            plans[label, task.key] = _agreeing(task, known, common)
    return plans


def _agreeing(task: Task, known: Any, common: Traits | None) -> Any:
    """Return the plan for what the model can do; where several models differ in that, on cells that suit all of them.

    Slopes and differences belong to points and may share cells as they are; steps are taken of all models or of none.
    """
    if common is None:
        return task.way.plan(task.column, known)
    plan = task.way.plan(task.column, common)
    if plan.traits.local not in ("slopes", "differences"):
        return plan
    return replace(task.way.plan(task.column, known), cells=plan.cells)


def _present(tasks: Sequence[Task]) -> Ints | None:
    """Return the rows that have a value of the one feature, or pair, that is explained, where no others are asked for.

    Rows without a value are looked at last, and apart: a model need not take them.
    """
    task = tasks[0]
    if len(tasks) > 1 or not task.way.leaves_out_missing:
        return None
    columns = [c for c in task.columns if not isinstance(c, Feature)]
    found = [c.present for c in columns if c.missing and c.present is not None]
    if not found:
        return None
    there = found[0]
    for other in found[1:]:
        there = np.intersect1d(there, other)
    return there if len(there) else None


def _nothing(task: Task) -> Any:
    none = Traits("none", "")
    return none if len(task.columns) == 1 else (none, none)


def _traits(
    quantity: Quantity, source: Source, column: Any, checked: Checked, tape: Tape | None, task: Task
) -> Traits:
    if not isinstance(column, Column):
        return Traits("levels", "differences between levels")
    traits = quantity.traits(column.feature)
    if len(task.columns) == 1 and task.way.observed_only(column):
        return traits  # looking for derivatives would evaluate the model between observed values
    values = column.distinct_values if column.integer and traits.local == "differences" else None
    return traits_of(quantity, source, column.summary(), checked, tape, values)


def _sample(source: Source, kept: int, seed: int) -> Bools | None:
    """Return which rows are kept: None for all."""
    n = len(source)
    if kept >= n:
        return None
    sample = np.zeros(n, dtype=bool)
    sample[source.order[np.random.default_rng(seed).choice(n, kept, replace=False)]] = True
    return sample
