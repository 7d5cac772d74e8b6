"""The heterogeneity scores of a job: which rows swap their values, and what the quantity says of them.

The mathematics is in `skedasis.heterogeneity_score`. Here are the data and the model: rows are chosen by their hashes,
columns are read once, and each feature costs one model row for each row that takes another value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skedasis.data.changes import Borrowed
from skedasis.data.levels import LevelColumn
from skedasis.data.source import Batch, Source
from skedasis.engine.choose import Task
from skedasis.engine.prepare import Job
from skedasis.engine.run import bounds_of
from skedasis.errors import DataError, explained
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
from skedasis.typing import Floats, Ints

ROWS = 10_000
"""Rows of the score where nothing is said: the error is then about a hundredth of the score."""


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

    found: dict[tuple[Any, Any], HeterogeneityScore] = field(default_factory=dict)
    exact: bool = False
    meter: Meter = field(default_factory=Meter)


@dataclass(frozen=True, eq=False)
class _Swap:
    """How rows swap the values of one feature; all places are those among the rows of the score, in their own order.

    Parameters
    ----------
    first, second : ndarray of int, shape (m,)
        Pairs.
    donors : ndarray of int, shape (n,)
        By place in the data's order: the row of X whose value a row takes.
    moved : ndarray of int
        Rows, by place in the data's order, that take another value than their own.
    columns : tuple of int
    vif : float
    """

    first: Ints
    second: Ints
    donors: Ints
    moved: Ints
    columns: tuple[int, ...]
    vif: float


def check_rows_wanted(rows: Any) -> int | None:
    """Return `heterogeneity_rows` as it was given.

    Raises
    ------
    DataError
        For anything but a whole number from 0, or None.
    """
    whole = isinstance(rows, (int, np.integer)) and not isinstance(rows, (bool, np.bool_))
    if rows is None or (whole and rows >= 0):
        return None if rows is None else int(rows)
    raise DataError(
        explained(
            "heterogeneity_rows",
            repr(rows)[:60],
            "a whole number from 0, or None for all rows",
            "Use 10_000, or 0 for no heterogeneity score",
        )
    )


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
    own, changes, meter = _evaluated(job, part, swaps, threads, show)
    found: dict[tuple[Any, Any], HeterogeneityScore] = {}
    w = rows.weights
    for (label, key), change in changes.items():
        swap = swaps[key]
        moved = change[back]
        found[label, key] = swap_score(
            (moved[swap.first], moved[swap.second]),
            None if w is None else (w[swap.first], w[swap.second]),
            own[label][back],
            w,
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
        known = 1.0 if place is None else vif[place]
        swaps[task.key] = _swap(task, part, rows, back, ids, known)
    return swaps


def _regressor(part: Source, j: int, rows: ScoreRows, back: Ints) -> Ranks | Floats:
    """Return a column of X as the regression of ranks sees it, in the order of the hashes."""
    feature = part.features[j]
    if feature.kind == "nominal":
        return frequent_levels(part.table.coded(j, part.row_id)[0][back], rows.weights)
    if feature.kind == "ordinal":
        codes = part.levels(feature, most=len(part) + 1).codes
        return mid_ranks(np.where(codes < 0, np.nan, codes)[back], rows.weights)
    return mid_ranks(part.table.column(j, part.row_id)[back], rows.weights)


def _position(task: Task, columns: list[Ranks | Floats]) -> int | None:
    """Return a feature's column where it has an order and more than two values; None for all others."""
    feature = task.features[0]
    if feature.members or feature.kind == "nominal":
        return None
    column = columns[feature.position]
    return feature.position if isinstance(column, Ranks) and column.distinct > 2 else None


def _swap(task: Task, part: Source, rows: ScoreRows, back: Ints, ids: Ints, vif: float) -> _Swap:
    feature = task.features[0]
    value = _values(task, part, rows)[back]
    some = np.flatnonzero(~np.isnan(value))
    weights = None if rows.weights is None else rows.weights[some]
    ordered = feature.kind != "nominal" and not feature.members
    ranks = mid_ranks(value[some], weights) if ordered else None
    if ranks is not None and ranks.distinct <= 2:
        ranks = None
    first, second = paired(None if ranks is None else ranks.values, vif, rows.noise[some])
    first, second = some[first], some[second]
    donors = ids.copy()
    donors[back[first]], donors[back[second]] = ids[back[second]], ids[back[first]]
    differ = value[first] != value[second]
    moved = np.sort(np.concatenate([back[first[differ]], back[second[differ]]]))
    return _Swap(first, second, donors, moved, feature.columns, vif)


def _values(task: Task, part: Source, rows: ScoreRows) -> Floats:
    """Return a feature's values, or codes of its levels, in the order of the data; NaN for rows that have none."""
    column = task.columns[0]
    if isinstance(column, LevelColumn):
        codes = column.codes[np.sort(rows.rows)]
        return np.where(codes < 0, np.nan, codes)
    return part.table.column(task.features[0].position, part.row_id)


Answers = tuple[dict[Any, Floats], dict[tuple[Any, Any], Floats]]
"""The quantity at the rows by output, and what swaps change it by, by output and feature: each (n,)."""


def _evaluated(
    job: Job, part: Source, swaps: Mapping[Any, _Swap], threads: int, show: bool | None
) -> tuple[dict[Any, Floats], dict[tuple[Any, Any], Floats], Meter]:
    """Ask the quantity for the rows' own values, and with each feature swapped."""
    batches = list(part.batches(max(1, min(job.batch_rows, len(part)))))
    own: dict[Any, list[Floats]] = {label: [] for label in job.outputs}
    change: dict[tuple[Any, Any], list[Floats]] = {(o, k): [] for o in job.outputs for k in swaps}
    meter = Meter()
    text = f"Heterogeneity scores of {job.quantity.describe()}"
    with Progress(len(batches) * len(swaps), text, show) as bar:

        def work(batch: Batch) -> tuple[Answers, Meter]:
            return _batch(job, batch, swaps, bar)

        for (at, moved), cost in in_order(work, batches, threads, stop=job.checked.pace.stop):
            meter.add(cost)
            for label, values in at.items():
                own[label].append(values)
            for place, values in moved.items():
                change[place].append(values)
    return (
        {label: np.concatenate(values) for label, values in own.items()},
        {place: np.concatenate(values) for place, values in change.items()},
        meter,
    )


def _batch(
    job: Job, batch: Batch, swaps: Mapping[Any, _Swap], bar: Progress
) -> tuple[Answers, Meter]:
    bounds = bounds_of(job, batch, 1)
    at: dict[Any, Floats] = {label: bound.at() for label, bound in bounds.items()}
    moved: dict[tuple[Any, Any], Floats] = {}
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
    change = np.zeros(len(batch))
    start = batch.start or 0
    first, last = np.searchsorted(swap.moved, [start, start + len(batch)])
    moved = swap.moved[first:last] - start
    if len(moved) == 0:
        return change
    donors = swap.donors[start : start + len(batch)]
    if len(moved) < len(batch):
        bound, donors = bound.some(moved), donors[moved]
    borrowed = Borrowed(donors[None])
    swapped = bound.sweep_together(dict.fromkeys(swap.columns, borrowed), 1)[:, 0]
    change[moved] = swapped - bound.at()
    return change
