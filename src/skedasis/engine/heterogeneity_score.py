"""Compute heterogeneity scores: pairs of rows swap their values of a feature, and the quantity changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from skedasis._progress import Progress, map_in_order
from skedasis._types import Bools, Floats, Ints, OutputLabel
from skedasis.data.categories import LevelColumn
from skedasis.data.containers import DonorRows
from skedasis.data.dataset import Batch, Dataset
from skedasis.engine.depends_on import ColumnFunctions, SwappedPairs
from skedasis.engine.plan import Job, TaskKey
from skedasis.engine.run import limits_model_threads, make_evaluators
from skedasis.engine.select import FeatureTask
from skedasis.engine.spread import compute_spreads, count_spread_rows, row_numbers
from skedasis.errors import DataError
from skedasis.models.calling import CallStats, one_thread_each
from skedasis.quantities.evaluator import BatchEvaluator
from skedasis.results.effect import Spread
from skedasis.stats.depends_on import Pairs
from skedasis.stats.heterogeneity_score import (
    HeterogeneityScore,
    Ranks,
    ScoreOrder,
    ScoreRows,
    frequent_levels,
    mid_ranks,
    score_rows,
    swap_score,
    variance_inflation,
)
from skedasis.stats.off_support import ColumnSet, Support, dependent_sets
from skedasis.stats.spread import MOST_ROWS

_MOST = 0.9
"""If at least this fraction of a batch's rows changes, all rows are evaluated, because selecting rows copies them."""


@dataclass(frozen=True, eq=False)
class Scores:
    """The heterogeneity scores of a job."""

    found: dict[TaskKey, HeterogeneityScore] = field(default_factory=dict)
    exact: bool = False
    stats: CallStats = field(default_factory=CallStats)
    rows: ScoreRows | None = None
    own: dict[OutputLabel, Floats] = field(default_factory=dict)
    spreads: dict[TaskKey, Spread] = field(default_factory=dict)
    swapped: SwappedPairs | None = None
    dependent: Mapping[str, Sequence[ColumnSet] | None] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Swap:
    """The pairs of rows that swap their values of one feature."""

    first: Ints
    second: Ints
    donors: Ints
    moves: Bools
    columns: tuple[int, ...]
    vif: float
    order: ScoreOrder

    @property
    def partners(self) -> Ints:
        """Return the other row of each row's pair, (n,) in the order of the hashes; -1 for rows without one."""
        partner = np.full(len(self.donors), -1)
        partner[self.first], partner[self.second] = self.second, self.first
        return partner


@dataclass(frozen=True, eq=False)
class _Drawn:
    """The rows of a score and their swaps."""

    rows: ScoreRows
    back: Ints
    part: Dataset
    columns: list[Ranks | Floats]
    swaps: Mapping[str, _Swap]
    evaluated: Bools


def _draw(job: Job) -> _Drawn | None:
    """Draw the rows of the scores, and pair them; None if there are no scores."""
    limit = job.options.heterogeneity_rows
    tasks = [t for t in job.tasks if isinstance(t, FeatureTask) and t.variant.scored]
    if limit == 0 or not tasks:
        return None
    dataset = job.dataset.drawable
    rows = score_rows(dataset.identifiers, dataset.weights, limit, job.options.seed)
    ascending = np.sort(rows.rows)
    back = np.searchsorted(ascending, rows.rows)
    part = dataset.subset(ascending)
    columns = [_regressor(part, j, rows, back) for j in range(len(part.features))]
    swaps = _swaps(tasks, part, columns, rows, back)
    return _Drawn(rows, back, part, columns, swaps, _evaluated_rows(job, tasks, part))


def count_score_rows(job: Job) -> int:
    """Return the number of model rows that `compute_scores` asks for, without calling the model."""
    drawn = _draw(job)
    if drawn is None:
        return 0
    some = np.flatnonzero(drawn.evaluated)
    size = max(1, min(job.batch_rows, len(some)))
    found = len(some)
    for swap in drawn.swaps.values():
        moves = swap.moves[some]
        for start in range(0, len(some), size):
            batch = moves[start : start + size]
            found += _asked(int(np.count_nonzero(batch)), len(batch))
    orders = {key: swap.order for key, swap in drawn.swaps.items()}
    return found + count_spread_rows(job, drawn.part, drawn.rows, drawn.back, orders)


def _asked(moved: int, rows: int) -> int:
    """Return how many rows of a batch are evaluated for a swap: all if nearly all move, because a subset is a copy."""
    return rows if moved >= _MOST * rows else moved


def compute_scores(job: Job) -> Scores:
    """Return the heterogeneity score of each feature and output of a job."""
    drawn = _draw(job)
    if drawn is None:
        return Scores()
    rows, back, swaps, evaluated = drawn.rows, drawn.back, drawn.swaps, drawn.evaluated
    own, changes, stats = _evaluate(job, drawn.part, swaps, evaluated)
    known, w = evaluated[back], rows.weights
    sets = dependent_sets(drawn.columns, [swap.columns for swap in swaps.values()], rows.half)
    dependent = dict(zip(swaps, sets, strict=True))
    far = _off_support(drawn.part, back, drawn.columns, swaps, dependent, w)
    found: dict[TaskKey, HeterogeneityScore] = {}
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
            off_support=far[key],
        )
    in_order = {label: values[back] for label, values in own.items()}
    orders = {key: swap.order for key, swap in swaps.items()}
    spreads, cost = compute_spreads(job, drawn.part, rows, back, orders, found)
    stats.add(cost)
    swapped = SwappedPairs(
        ColumnFunctions(drawn.part, back, w),
        {t.key: t for t in job.tasks if isinstance(t, FeatureTask) and t.key in swaps},
        {key: swap.order.values for key, swap in swaps.items()},
        {
            (label, key): _pairs(swaps[key], change[back], rows)
            for (label, key), change in changes.items()
        },
        found,
    )
    return Scores(found, rows.exact, stats, rows, in_order, spreads, swapped, dependent)


def _pairs(swap: _Swap, moved: Floats, rows: ScoreRows) -> Pairs:
    """Return the pairs of a swap, given the changes of the quantity in the order of the hashes."""
    first, second, w = swap.first, swap.second, rows.weights
    weight = np.ones(len(first)) if w is None else w[first] * w[second]
    change = (moved[first] + moved[second]) / 2
    return Pairs(first, second, change, weight, rows.half[first])


@dataclass(frozen=True, eq=False)
class RegionScore:
    """The heterogeneity score within a region."""

    score: HeterogeneityScore
    held_out: HeterogeneityScore
    spread: Spread | None


def compute_region_scores(
    job: Job, scores: Scores, key: TaskKey, region: Ints, held_out: Bools
) -> tuple[list[RegionScore], CallStats]:
    """Return the heterogeneity score of one feature and output within each region."""
    label, name = key
    task = next(t for t in job.tasks if isinstance(t, FeatureTask) and t.key == name)
    found: list[RegionScore] = []
    stats = CallStats()
    rows = scores.rows
    if rows is None:
        return found, stats
    job = replace(job, outputs={label: job.outputs[label]})
    at_rows, own = region[rows.rows], scores.own[label]
    for number in range(int(region.max()) + 1):
        some = np.flatnonzero((at_rows == number) & ~np.isnan(own))
        part_rows = ScoreRows(
            rows.rows[some],
            None if rows.weights is None else rows.weights[some],
            rows.noise[some],
            rows.half[some],
            rows.exact,
        )
        ascending = np.sort(part_rows.rows)
        back = np.searchsorted(ascending, part_rows.rows)
        part = job.dataset.subset(ascending)
        strata = held_out[part_rows.rows]
        columns = [_regressor(part, j, part_rows, back) for j in range(len(part.features))]
        swaps = _swaps([task], part, columns, part_rows, back, strata)
        swap = swaps[task.key]
        far = _off_support(part, back, columns, swaps, scores.dependent, part_rows.weights)[
            task.key
        ]
        in_data_order = np.empty(len(some))
        in_data_order[back] = own[some]
        _, changes, cost = _evaluate(
            job, part, {task.key: swap}, np.ones(len(part), dtype=bool), {label: in_data_order}
        )
        stats.add(cost)
        moved, w = changes[label, task.key][back], part_rows.weights
        both = [
            swap_score(
                (moved[first], moved[second]),
                None if w is None else (w[first], w[second]),
                own[some],
                w,
                job.checked.eps,
                vif=swap.vif,
                exact=rows.exact,
                off_support=far,
            )
            for first, second in (
                (swap.first, swap.second),
                (swap.first[strata[swap.first]], swap.second[strata[swap.first]]),
            )
        ]
        # The regions share the rows that the spread of a feature may cost.
        most = MOST_ROWS * len(some) // len(rows)
        spreads, cost = compute_spreads(
            job, part, part_rows, back, {task.key: swap.order}, {key: both[0]}, most
        )
        stats.add(cost)
        found.append(RegionScore(both[0], both[1], spreads.get(key)))
    return found, stats


def _evaluated_rows(job: Job, tasks: list[FeatureTask], part: Dataset) -> Bools:
    """Return a mask of the rows at which the model is evaluated, (n,), in the order of the data."""
    if len(job.tasks) > 1 or not tasks[0].variant.leaves_out_missing:
        return np.ones(len(part), dtype=bool)
    return ~np.isnan(_values(tasks[0], part))


def _swaps(
    tasks: list[FeatureTask],
    part: Dataset,
    columns: list[Ranks | Floats],
    rows: ScoreRows,
    back: Ints,
    strata: Bools | None = None,
) -> dict[str, _Swap]:
    """Return the swaps of each feature; with `strata`, (n,) in the order of the hashes, between rows of one stratum."""
    positions = {t.key: _position(t, columns) for t in tasks}
    wanted = sorted({j for j in positions.values() if j is not None})
    found = variance_inflation(columns, wanted, rows)
    vif = dict(zip(wanted, found.tolist(), strict=True))
    ids = row_numbers(part)
    swaps: dict[str, _Swap] = {}
    for task in tasks:
        place = positions[task.key]
        value = _values(task, part)[back]
        if place is None:
            swaps[task.key] = _swap(task, value, None, rows, (back, ids), 1.0, strata)
            continue
        ranks = columns[place]
        if np.isnan(value).any() or not isinstance(ranks, Ranks):
            ranks = _ranks_of_present(value, rows)
        order = (back, ids)
        swaps[task.key] = _swap(task, value, ranks.values, rows, order, vif[place], strata)
    return swaps


def _off_support(
    part: Dataset,
    back: Ints,
    columns: list[Ranks | Floats],
    swaps: Mapping[str, _Swap],
    dependent: Mapping[str, Sequence[ColumnSet] | None],
    weights: Floats | None,
) -> dict[str, tuple[float | None, tuple[str, ...]]]:
    """Return the share of swapped rows that are off support, and the other columns in which they are."""
    support = Support.of(
        [c if isinstance(c, Ranks) else _codes(part, j, back) for j, c in enumerate(columns)]
    )
    found: dict[str, tuple[float | None, tuple[str, ...]]] = {}
    for key, swap in swaps.items():
        far = support.off_support(swap.columns, dependent[key], swap.partners, weights)
        found[key] = far.share, tuple(part.features[j].name for j in far.beside)
    return found


def _codes(part: Dataset, j: int, back: Ints) -> Ints:
    """Return the codes of a column's levels in the order of the hashes; -1 is missing."""
    return part.coded(j)[0][back]


def _ranks_of_present(value: Floats, rows: ScoreRows) -> Ranks:
    """Return mid-ranks among the rows with a value. Rows without one get 0.5, which is not used."""
    present = ~np.isnan(value)
    weights = None if rows.weights is None else rows.weights[present]
    found = mid_ranks(value[present], weights)
    all_rows = np.full(len(value), 0.5)
    all_rows[present] = found.values
    return Ranks(all_rows, found.distinct, ~present)


def _regressor(part: Dataset, j: int, rows: ScoreRows, back: Ints) -> Ranks | Floats:
    """Return a column of X as a regressor (ranks or indicators of levels), in the order of the hashes."""
    feature = part.features[j]
    if feature.kind == "nominal":
        return frequent_levels(_codes(part, j, back), rows.weights)
    if feature.kind == "ordinal":
        try:
            codes = part.levels(feature, most=len(part) + 1).codes
        except DataError:
            # All values are missing, or some level is missing in the declared order: the column is no regressor.
            return np.zeros((len(part), 0))
        return mid_ranks(np.where(codes < 0, np.nan, codes)[back], rows.weights)
    return mid_ranks(part.floats(j)[back], rows.weights)


def _position(task: FeatureTask, columns: list[Ranks | Floats]) -> int | None:
    """Return the column index of an ordered feature with more than two values, None for all other features."""
    feature = task.feature
    if feature.members or feature.kind == "nominal":
        return None
    column = columns[feature.position]
    return feature.position if isinstance(column, Ranks) and column.distinct > 2 else None


def _swap(
    task: FeatureTask,
    value: Floats,
    ranks: Floats | None,
    rows: ScoreRows,
    order: tuple[Ints, Ints],
    vif: float,
    strata: Bools | None = None,
) -> _Swap:
    """Pair the rows with a value."""
    back, ids = order
    in_order = ScoreOrder.of(value, ranks, vif, rows.noise)
    sets = [None] if strata is None else [strata, ~strata]
    pairs = [in_order.pairs(some) for some in sets]
    first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
    donors = ids.copy()
    donors[back[first]], donors[back[second]] = ids[back[second]], ids[back[first]]
    differ = value[first] != value[second]
    moves = np.zeros(len(value), dtype=bool)
    moves[back[first[differ]]] = moves[back[second[differ]]] = True
    return _Swap(first, second, donors, moves, task.feature.columns, vif, in_order)


def _values(task: FeatureTask, part: Dataset) -> Floats:
    """Return a feature's values, or the codes of its levels, in the order of the data; NaN for missing values."""
    column = task.column
    if isinstance(column, LevelColumn):
        codes = part.level_codes(column)
        return np.where(codes < 0, np.nan, codes)
    return part.floats(task.feature.position)


SwapResponses: TypeAlias = tuple[dict[OutputLabel, Floats], dict[tuple[OutputLabel, str], Floats]]
"""By output the quantity at the rows, and by output and feature its changes by the swaps: arrays of shape (n,)."""


def _evaluate(
    job: Job,
    part: Dataset,
    swaps: Mapping[str, _Swap],
    evaluated: Bools,
    known: Mapping[OutputLabel, Floats] | None = None,
) -> tuple[dict[OutputLabel, Floats], dict[tuple[OutputLabel, str], Floats], CallStats]:
    """Evaluate the quantity at the rows, and its change by each feature's swaps; NaN for rows not in `evaluated`."""
    if not evaluated.all():
        some = np.flatnonzero(evaluated)
        part = part.subset(some)
        swaps = {
            k: replace(w, donors=w.donors[some], moves=w.moves[some]) for k, w in swaps.items()
        }
    batches = list(part.batches(max(1, min(job.batch_rows, len(part)))))
    own = {label: np.full(len(evaluated), np.nan) for label in job.outputs}
    change = {
        (label, key): np.full(len(evaluated), np.nan) for label in job.outputs for key in swaps
    }
    positions = np.flatnonzero(evaluated)
    stats, caller = CallStats(), job.checked.caller
    text = f"Heterogeneity scores of {job.quantity.describe()}"
    limiter = one_thread_each() if limits_model_threads(job) else nullcontext()
    n_jobs, steps = job.options.n_jobs, len(batches) * len(swaps)
    with limiter as begin, Progress(steps, text, job.options.progress) as bar:
        caller.heartbeat = lambda: bar.advance(0)

        def work(batch: Batch) -> tuple[Ints, SwapResponses, CallStats]:
            return (positions[batch.places], *_batch(job, batch, swaps, bar, known))

        done = map_in_order(work, batches, n_jobs, begin, caller.stop)
        with closing(done):
            for rows, (at, moved), cost in done:
                stats.add(cost)
                for label, values in at.items():
                    own[label][rows] = values
                for key, values in moved.items():
                    change[key][rows] = values
    return own, change, stats


def _batch(
    job: Job,
    batch: Batch,
    swaps: Mapping[str, _Swap],
    bar: Progress,
    known: Mapping[OutputLabel, Floats] | None,
) -> tuple[SwapResponses, CallStats]:
    """Evaluate one batch; see `_evaluate`."""
    evaluators = make_evaluators(job, batch, 1)
    at: dict[OutputLabel, Floats] = {
        label: evaluator.values() if known is None else known[label][batch.places]
        for label, evaluator in evaluators.items()
    }
    moved: dict[tuple[OutputLabel, str], Floats] = {}
    for key, swap in swaps.items():
        for label, evaluator in evaluators.items():
            moved[label, key] = _change(evaluator, batch, swap, at[label])
        for evaluator in evaluators.values():
            evaluator.forget()
        bar.advance()
    stats = CallStats()
    for evaluator in evaluators.values():
        stats.add(evaluator.stats)
    return (at, moved), stats


def _change(evaluator: BatchEvaluator, batch: Batch, swap: _Swap, own: Floats) -> Floats:
    """Return the change of the quantity, `own` at the rows, by the swap in each row of a batch, (n,)."""
    positions = batch.places
    change, moved = np.zeros(len(batch)), np.flatnonzero(swap.moves[positions])
    if len(moved) == 0:
        return change
    donors = swap.donors[positions]
    all_rows = _asked(len(moved), len(batch)) == len(batch)
    if not all_rows:
        evaluator, donors = evaluator.subset(moved), donors[moved]
    # The columns of a group have the same donors, so that their combinations stay observed ones.
    donor_rows = DonorRows(donors[None])
    swapped = evaluator.sweep_together(dict.fromkeys(swap.columns, donor_rows), 1)[:, 0]
    change[moved] = (swapped[moved] if all_rows else swapped) - own[moved]
    return change
