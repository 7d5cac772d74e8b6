"""The heterogeneity scores of a job: which rows swap their values, and what the quantity is then.

The mathematics is in `skedasis.heterogeneity_score`. This module handles the data and the model: rows are chosen by
their hashes, columns are read once, and each feature costs one model row for each row that takes another value.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skedasis.data.changes import Borrowed
from skedasis.data.levels import LevelColumn
from skedasis.data.source import Batch, Source
from skedasis.engine.choose import Task
from skedasis.engine.prepare import Job, Key
from skedasis.engine.run import bounds_of, models_alone
from skedasis.errors import DataError
from skedasis.execute import Progress, in_order
from skedasis.heterogeneity_score import (
    HeterogeneityScore,
    Ranks,
    ScoreRows,
    frequent_levels,
    mid_ranks,
    paired,
    score_rows,
    swap_score,
    variance_inflation,
)
from skedasis.quantity.base import Meter
from skedasis.quantity.bound import Bound
from skedasis.quantity.own_threads import one_thread_each
from skedasis.typing import Bools, Floats, Ints

_MOST = 0.9
"""From this share of a batch's rows on all are asked for: a part of them has to be copied first."""


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of a job.

    Parameters
    ----------
    found : dict of (label, key) to HeterogeneityScore
        Empty where none was asked for.
    exact : bool
        Whether all rows took part.
    meter : Meter
        What they cost.
    """

    found: dict[Key, HeterogeneityScore] = field(default_factory=dict)
    exact: bool = False
    meter: Meter = field(default_factory=Meter)


@dataclass(frozen=True, eq=False)
class _Swap:
    """How rows swap the values of one feature.

    Parameters
    ----------
    first, second : ndarray of int, shape (m,)
        Pairs, as places among the rows of the score in the order of their hashes.
    donors : ndarray of int, shape (n,)
        In the data's order: the row of X whose value a row takes.
    moves : ndarray of bool, shape (n,)
        In the data's order: which rows take another value than their own.
    columns : tuple of int
    vif : float
    """

    first: Ints
    second: Ints
    donors: Ints
    moves: Bools
    columns: tuple[int, ...]
    vif: float


def scores_of(job: Job, limit: int | None, seed: int, threads: int, show: bool | None) -> Scores:
    """Return the heterogeneity score of each feature and output of a job.

    Parameters
    ----------
    job : Job
    limit : int or None
        Rows that take part at most; None for all, 0 for no score.
    seed, threads, show
        As `explain` has them: ``seed``, ``threads``, ``progress``.

    Notes
    -----
    At most `limit` model rows for each feature, and as many once for the rows' own values; none for trees whose sums
    are computed from their structure. Rows whose partner has the same value cost nothing. The columns of X are read for
    these rows alone.
    """
    tasks = [t for t in job.tasks if t.way.scored]
    if limit == 0 or not tasks:
        return Scores()
    source = job.source
    rows = score_rows(identifiers(source), source.weights, limit, seed)
    # Sources have their rows in ascending order; `back` leads from there to the order of the hashes.
    ascending = np.sort(rows.rows)
    back = np.searchsorted(ascending, rows.rows)
    part = source.only(ascending)
    swaps = _swaps(tasks, part, rows, back, ascending)
    there = _asked(job, tasks, part, rows)
    own, changes, meter = _evaluated(job, part, swaps, there, threads, show)
    known, w = there[back], rows.weights
    found: dict[Key, HeterogeneityScore] = {}
    for (label, key), change in changes.items():
        swap = swaps[key]
        moved = change[back]
        found[label, key] = swap_score(
            (moved[swap.first], moved[swap.second]),
            None if w is None else (w[swap.first], w[swap.second]),
            own[label][back[known]],
            None if w is None else w[known],
            job.checked.eps,
            vif=swap.vif,
            exact=rows.exact,
        )
    return Scores(found, rows.exact, meter)


def identifiers(source: Source) -> np.ndarray:
    """Return what the rows are known by: what the caller said, else their places in X."""
    if source.keys is not None:
        return source.keys
    return np.arange(len(source)) if source.row_id is None else source.row_id


def _asked(job: Job, tasks: list[Task], part: Source, rows: ScoreRows) -> Bools:
    """Return the rows that the model is asked for, in the data's order.

    All of them, but where a single feature is explained those that have it: a model need not take missing values.
    """
    if len(job.tasks) > 1 or not tasks[0].way.leaves_out_missing:
        return np.ones(len(part), dtype=bool)
    return ~np.isnan(_values(tasks[0], part, rows))


def _swaps(
    tasks: list[Task], part: Source, rows: ScoreRows, back: Ints, ascending: Ints
) -> dict[Any, _Swap]:
    """Return how rows swap the values of each feature."""
    columns = [_regressor(part, j, rows, back) for j in range(len(part.features))]
    places = {t.key: _position(t, columns) for t in tasks}
    wanted = sorted({j for j in places.values() if j is not None})
    found = variance_inflation(columns, wanted, rows)
    vif = dict(zip(wanted, found.tolist(), strict=True))
    ids = ascending if part.row_id is None else part.row_id
    swaps: dict[Any, _Swap] = {}
    for task in tasks:
        place = places[task.key]
        value = _values(task, part, rows)[back]
        if place is None:
            swaps[task.key] = _swap(task, value, None, rows, (back, ids), 1.0)
            continue
        ranks = columns[place]
        if np.isnan(value).any() or not isinstance(ranks, Ranks):
            ranks = _ranks_of_present(value, rows)
        swaps[task.key] = _swap(task, value, ranks.values, rows, (back, ids), vif[place])
    return swaps


def _ranks_of_present(value: Floats, rows: ScoreRows) -> Ranks:
    """Return mid-ranks among the rows that have a value; the others' are never used."""
    there = ~np.isnan(value)
    weights = None if rows.weights is None else rows.weights[there]
    found = mid_ranks(value[there], weights)
    every = np.full(len(value), 0.5)
    every[there] = found.values
    return Ranks(every, found.distinct)


def _regressor(part: Source, j: int, rows: ScoreRows, back: Ints) -> Ranks | Floats:
    """Return a column of X as the regression of ranks sees it, in the order of the hashes."""
    feature = part.features[j]
    if feature.kind == "nominal":
        return frequent_levels(part.table.coded(j, part.row_id)[0][back], rows.weights)
    if feature.kind == "ordinal":
        try:
            codes = part.levels(feature, most=len(part) + 1).codes
        except DataError:
            # Nothing in these rows, or levels that its order does not name: it says nothing of the other columns.
            return np.zeros((len(part), 0))
        return mid_ranks(np.where(codes < 0, np.nan, codes)[back], rows.weights)
    return mid_ranks(part.table.column(j, part.row_id)[back], rows.weights)


def _position(task: Task, columns: list[Ranks | Floats]) -> int | None:
    """Return a feature's column where it has an order and more than two values; None for all others."""
    feature = task.features[0]
    if feature.members or feature.kind == "nominal":
        return None
    column = columns[feature.position]
    return feature.position if isinstance(column, Ranks) and column.distinct > 2 else None


def _swap(
    task: Task,
    value: Floats,
    ranks: Floats | None,
    rows: ScoreRows,
    order: tuple[Ints, Ints],
    vif: float,
) -> _Swap:
    """Pair the rows that have a value, (n,) in the order of the hashes; `order` leads to the data's, and to X's."""
    back, ids = order
    some = np.flatnonzero(~np.isnan(value))
    first, second = paired(None if ranks is None else ranks[some], vif, rows.noise[some])
    first, second = some[first], some[second]
    donors = ids.copy()
    donors[back[first]], donors[back[second]] = ids[back[second]], ids[back[first]]
    differ = value[first] != value[second]
    moves = np.zeros(len(value), dtype=bool)
    moves[back[first[differ]]] = moves[back[second[differ]]] = True
    return _Swap(first, second, donors, moves, task.features[0].columns, vif)


def _values(task: Task, part: Source, rows: ScoreRows) -> Floats:
    """Return a feature's values, or codes of its levels, in the order of the data; NaN for rows that have none."""
    column = task.columns[0]
    if isinstance(column, LevelColumn):
        codes = column.codes[np.sort(rows.rows)]
        return np.where(codes < 0, np.nan, codes)
    return part.table.column(task.features[0].position, part.row_id)


Answers = tuple[dict[Any, Floats], dict[Key, Floats]]
"""The quantity at the rows by output, and what swaps change it by, by output and feature: each (n,)."""


def _evaluated(
    job: Job,
    part: Source,
    swaps: Mapping[Any, _Swap],
    there: Bools,
    threads: int,
    show: bool | None,
) -> tuple[dict[Any, Floats], dict[Key, Floats], Meter]:
    """Ask the quantity for the rows' own values, and with each feature swapped; NaN for rows that are not `there`."""
    if not there.all():
        some = np.flatnonzero(there)
        part = part.only(some)
        swaps = {
            k: replace(w, donors=w.donors[some], moves=w.moves[some]) for k, w in swaps.items()
        }
    batches = list(part.batches(max(1, min(job.batch_rows, len(part)))))
    own = {label: np.full(len(there), np.nan) for label in job.outputs}
    change = {(label, key): np.full(len(there), np.nan) for label in job.outputs for key in swaps}
    places = np.flatnonzero(there)
    meter, pace = Meter(), job.checked.pace
    text = f"Heterogeneity scores of {job.quantity.describe()}"
    each = one_thread_each() if models_alone(job, threads) else nullcontext()
    with each as begin, Progress(len(batches) * len(swaps), text, show) as bar:
        pace.pulse = lambda: bar.advance(0)

        def work(batch: Batch) -> tuple[Ints, Answers, Meter]:
            return (places[batch.places], *_batch(job, batch, swaps, bar))

        for rows, (at, moved), cost in in_order(work, batches, threads, begin, pace.stop):
            meter.add(cost)
            for label, values in at.items():
                own[label][rows] = values
            for key, values in moved.items():
                change[key][rows] = values
    return own, change, meter


def _batch(
    job: Job, batch: Batch, swaps: Mapping[Any, _Swap], bar: Progress
) -> tuple[Answers, Meter]:
    bounds = bounds_of(job, batch, 1)
    at: dict[Any, Floats] = {label: bound.at() for label, bound in bounds.items()}
    moved: dict[Key, Floats] = {}
    for key, swap in swaps.items():
        for label, bound in bounds.items():
            moved[label, key] = _change(bound, batch, swap)
        for bound in bounds.values():
            bound.forget()
        bar.advance()
    meter = Meter()
    for bound in bounds.values():
        meter.add(bound.meter)
    return (at, moved), meter


def _change(bound: Bound, batch: Batch, swap: _Swap) -> Floats:
    """Return what the swap changes the quantity by in each row of a batch, (n,)."""
    places = batch.places
    change, moved = np.zeros(len(batch)), np.flatnonzero(swap.moves[places])
    if len(moved) == 0:
        return change
    donors = swap.donors[places]
    every = len(moved) >= _MOST * len(batch)
    if not every:
        bound, donors = bound.some(moved), donors[moved]
    # Columns of a group borrow from the same rows, so that they move together.
    borrowed = Borrowed(donors[None])
    swapped = bound.sweep_together(dict.fromkeys(swap.columns, borrowed), 1)[:, 0]
    gained = swapped - bound.at()
    change[moved] = gained[moved] if every else gained
    return change
