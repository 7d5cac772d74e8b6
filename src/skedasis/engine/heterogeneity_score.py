"""Heterogeneity scores of a run: rows that swap their values, and the quantity before and after.

The mathematics is in `skedasis.stats.heterogeneity_score`. This module handles the data and the model: rows are
chosen by their hashes, columns are read once, and each feature costs one model row for each row whose value changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.data.categories import LevelColumn
from skedasis.data.containers import Borrowed
from skedasis.data.dataset import Batch, Source
from skedasis.engine.plan import Job, Key
from skedasis.engine.run import Progress, bounds_of, in_order, models_alone
from skedasis.engine.select import Task
from skedasis.errors import DataError
from skedasis.models.calling import Meter, one_thread_each
from skedasis.quantities.evaluator import Bound
from skedasis.stats.heterogeneity_score import (
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

_MOST = 0.9
"""If at least this fraction of a batch's rows changes, all are evaluated: selecting a part would copy it."""


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of a job.

    Parameters
    ----------
    found : dict of (label, key) to HeterogeneityScore
        Empty with ``heterogeneity_rows=0``.
    exact : bool
        Whether the scores are computed from all rows.
    meter : Meter
        Their cost.
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
        Pairs, as indices into the rows of the score in the order of their hashes.
    donors : ndarray of int, shape (n,)
        In the data's order: the index in X of each row's donor.
    moves : ndarray of bool, shape (n,)
        In the data's order: which rows get a value that differs from their own.
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
        Largest number of rows; None for all, 0 for no score.
    seed, threads, show
        ``seed``, ``threads`` and ``progress`` of `explain`.

    Notes
    -----
    At most `limit` model rows for each feature, and as many once for the rows' own values; none for tree ensembles that
    are evaluated from their structure. Rows whose partner has the same value cost nothing. The columns of X are read
    for these rows only.
    """
    tasks = [t for t in job.tasks if t.way.scored]
    if limit == 0 or not tasks:
        return Scores()
    source = job.source
    rows = score_rows(identifiers(source), source.weights, limit, seed)
    # Sources have their rows in ascending order; indexing with `back` gives the order of the hashes.
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
    """Return the identifiers of the rows: those that the caller gave, else their indices in X."""
    if source.keys is not None:
        return source.keys
    return np.arange(len(source)) if source.row_id is None else source.row_id


def _asked(job: Job, tasks: list[Task], part: Source, rows: ScoreRows) -> Bools:
    """Return which rows the model is evaluated at, (n,) in the data's order.

    These are all rows. If a single feature is explained, rows that miss it are left out, because the model need not
    accept missing values.
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
    """Return mid-ranks among the rows that have a value; those of other rows are not used."""
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
            # These rows are all missing, or have levels that the order does not name: no regressor for other columns.
            return np.zeros((len(part), 0))
        return mid_ranks(np.where(codes < 0, np.nan, codes)[back], rows.weights)
    return mid_ranks(part.table.column(j, part.row_id)[back], rows.weights)


def _position(task: Task, columns: list[Ranks | Floats]) -> int | None:
    """Return the index of a feature's column if it has an order and more than two values; None for all others."""
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
    """Pair the rows that have a value; `value` is in the order of the hashes, `order` maps it to the data's and X's."""
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
"""The quantity at the rows by output, and its changes by swaps by output and feature: each (n,)."""


def _evaluated(
    job: Job,
    part: Source,
    swaps: Mapping[Any, _Swap],
    there: Bools,
    threads: int,
    show: bool | None,
) -> tuple[dict[Any, Floats], dict[Key, Floats], Meter]:
    """Evaluate the quantity at the rows, and with each feature swapped; NaN for rows that are not `there`."""
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
    """Evaluate one batch; see `_evaluated`."""
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
    """Return the change of the quantity by the swap in each row of a batch, (n,)."""
    places = batch.places
    change, moved = np.zeros(len(batch)), np.flatnonzero(swap.moves[places])
    if len(moved) == 0:
        return change
    donors = swap.donors[places]
    every = len(moved) >= _MOST * len(batch)
    if not every:
        bound, donors = bound.some(moved), donors[moved]
    # The columns of a group have the same donors, so that they move together.
    borrowed = Borrowed(donors[None])
    swapped = bound.sweep_together(dict.fromkeys(swap.columns, borrowed), 1)[:, 0]
    gained = swapped - bound.at()
    change[moved] = gained[moved] if every else gained
    return change
