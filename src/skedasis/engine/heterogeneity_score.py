"""Compute heterogeneity scores: pairs of rows swap their values of a feature, and the quantity changes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from skedasis._progress import Progress, map_in_order
from skedasis._types import Bools, Floats, Ints, OutputLabel
from skedasis.data.categories import LevelColumn
from skedasis.data.containers import DonorRows
from skedasis.data.dataset import Batch, Dataset
from skedasis.engine.depends_on import ColumnFunctions, SwappedPairs
from skedasis.engine.prepare import Job, TaskKey
from skedasis.engine.run import limits_model_threads, make_evaluators, stats_of
from skedasis.engine.select import FeatureTask
from skedasis.engine.spread import (
    ScoredRows,
    SpreadRows,
    compute_spreads,
    count_spread_rows,
)
from skedasis.errors import DataError
from skedasis.models.calling import CallStats, one_thread_each
from skedasis.quantities.evaluator import BatchEvaluator
from skedasis.quantities.joint_calls import in_few_calls, joint_calls
from skedasis.results.effect import About, Spread
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

OffSupportShare: TypeAlias = tuple[float | None, tuple[str, ...]]
"""Share of swapped rows that are off support, and the names of the other columns in which they are."""

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
    means: dict[OutputLabel, float] = field(default_factory=dict)
    """What `quantity_mean` has found for features without missing values."""

    def quantity_mean(self, job: Job, key: TaskKey, about: About, of: Bools | None = None) -> float:
        """Return the mean of the quantity over the rows that have a value of a feature; NaN if unknown.

        `of` masks the rows, (n,); by default all. Where the quantity is known at the rows of the scores alone, the mean
        is over these.
        """
        label, feature = key[0], about.feature
        own, weights = job.own.get(label), job.dataset.weights
        # A missing value of a nominal feature is a level.
        gaps = about.missing > 0 and feature.kind != "nominal"
        if of is None and not gaps and label in self.means:
            return self.means[label]
        if own is not None:
            known = ~np.isnan(own) if of is None else ~np.isnan(own) & of
            known = known & ~job.dataset.is_missing(feature) if gaps else known
        elif self.rows is not None and self.swapped is not None:
            own, weights = self.own[label], self.rows.weights
            known = ~np.isnan(own) & ~np.isnan(self.swapped.values[str(key[1])])
            known = known if of is None else known & of[self.rows.rows]
        else:
            return math.nan
        mean = math.nan
        if known.any():
            mean = float(
                np.average(own[known], weights=None if weights is None else weights[known])
            )
        if of is None and not gaps:
            self.means[label] = mean
        return mean


@dataclass(frozen=True, eq=False)
class _Moves:
    """Which rows get the values of some columns of which rows of the table."""

    donors: Ints
    moves: Bools
    columns: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Swap(_Moves):
    """The pairs of rows that swap their values of one feature."""

    first: Ints
    second: Ints
    vif: float
    order: ScoreOrder

    @classmethod
    def of(
        cls,
        drawn: ScoredRows,
        columns: tuple[int, ...],
        order: ScoreOrder,
        pairs: Sequence[tuple[Ints, Ints]],
        vif: float,
    ) -> _Swap:
        """Let the rows of pairs, in the order of the hashes, swap their values of some columns."""
        first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
        back, numbers = drawn.back, drawn.numbers
        donors = numbers.copy()
        donors[back[first]], donors[back[second]] = numbers[back[second]], numbers[back[first]]
        differ = order.values[first] != order.values[second]
        moves = np.zeros(len(donors), dtype=bool)
        moves[back[first[differ]]] = moves[back[second[differ]]] = True
        return cls(donors, moves, columns, first, second, vif, order)

    @property
    def partners(self) -> Ints:
        """Return the other row of each row's pair, (n,) in the order of the hashes; -1 for rows without one."""
        partner = np.full(len(self.donors), -1)
        partner[self.first], partner[self.second] = self.second, self.first
        return partner


@dataclass(frozen=True, eq=False)
class _Swaps(ScoredRows):
    """The rows of a score, their columns as regressors, and the swaps of each feature."""

    columns: list[Ranks | Floats]
    by_feature: Mapping[str, _Swap]
    evaluated: Bools
    """The rows at which the model is evaluated, (n,), in the order of the data."""

    @classmethod
    def among(
        cls, job: Job, tasks: list[FeatureTask], rows: ScoreRows, strata: Bools | None = None
    ) -> _Swaps:
        """Pair some rows; with `strata`, a mask of all rows of the data, only rows of one stratum."""
        drawn = ScoredRows.of(job.dataset.drawable, rows)
        part, back = drawn.part, drawn.back
        columns = [_regressor(drawn, j) for j in range(len(part.features))]
        positions = {t.key: _position(t, columns) for t in tasks}
        wanted = sorted({j for j in positions.values() if j is not None})
        found = variance_inflation(columns, wanted, rows)
        vif = dict(zip(wanted, found.tolist(), strict=True))
        swaps: dict[str, _Swap] = {}
        for task in tasks:
            position, value = positions[task.key], _values(task, part)[back]
            ranks, inflation = None, 1.0
            if position is not None:
                regressor, inflation = columns[position], vif[position]
                if np.isnan(value).any() or not isinstance(regressor, Ranks):
                    regressor = mid_ranks(value, rows.weights)
                ranks = regressor
            order = ScoreOrder.of(value, ranks, inflation, rows.noise)
            some = [None] if strata is None else [strata[rows.rows], ~strata[rows.rows]]
            pairs = [order.pairs(stratum) for stratum in some]
            swaps[task.key] = _Swap.of(drawn, task.feature.columns, order, pairs, inflation)
        evaluated = np.ones(len(part), dtype=bool)
        if len(job.tasks) == 1 and tasks[0].variant.leaves_out_missing:
            evaluated = ~np.isnan(_values(tasks[0], part))
        return cls(rows, back, part, columns, swaps, evaluated)

    def spread_rows(
        self, job: Job, scores: Mapping[TaskKey, HeterogeneityScore], most: int = MOST_ROWS
    ) -> list[SpreadRows]:
        """Return what the spread of each feature is computed from, given the scores at these rows."""
        found: list[SpreadRows] = []
        for task in job.tasks:
            if isinstance(task, FeatureTask) and task.key in self.by_feature:
                of = {o: scores[o, task.key] for o in job.outputs if (o, task.key) in scores}
                order = self.by_feature[task.key].order
                found.append(SpreadRows(job, task, self, order, of, most))
        return found

    def off_support(
        self, dependent: Mapping[str, Sequence[ColumnSet] | None]
    ) -> dict[str, OffSupportShare]:
        """Return the share of swapped rows that are off support, and the other columns in which they are."""
        support = Support.of(
            [c if isinstance(c, Ranks) else _codes(self, j) for j, c in enumerate(self.columns)]
        )
        found: dict[str, OffSupportShare] = {}
        for key, swap in self.by_feature.items():
            far = support.off_support(
                swap.columns, dependent[key], swap.partners, self.rows.weights
            )
            found[key] = far.share, tuple(self.part.features[j].name for j in far.beside)
        return found

    def score(
        self,
        key: str,
        own: Floats,
        change: Floats,
        eps: float,
        far: OffSupportShare,
        some: Bools | None = None,
    ) -> HeterogeneityScore:
        """Return the score of a feature, given the quantity at the rows and its changes, in the order of the data.

        `some` are the rows whose pairs count, in the order of the hashes.
        """
        swap, weights, known = self.by_feature[key], self.rows.weights, self.evaluated[self.back]
        first, second = swap.first, swap.second
        if some is not None:
            first, second = first[some[swap.first]], second[some[swap.first]]
        moved = change[self.back]
        return swap_score(
            (moved[first], moved[second]),
            None if weights is None else (weights[first], weights[second]),
            own[self.back[known]],
            None if weights is None else weights[known],
            eps,
            vif=swap.vif,
            exact=self.rows.exact,
            off_support=far,
        )

    def pairs(self, key: str, change: Floats) -> Pairs:
        """Return the pairs of a feature, given the changes of the quantity in the order of the data."""
        swap, w, moved = self.by_feature[key], self.rows.weights, change[self.back]
        first, second = swap.first, swap.second
        weight = np.ones(len(first)) if w is None else w[first] * w[second]
        change = (moved[first] + moved[second]) / 2
        return Pairs(first, second, change, weight, self.rows.half[first])


def _draw(job: Job) -> _Swaps | None:
    """Draw the rows of the scores, and pair them; None if there are no scores."""
    limit = job.options.heterogeneity_rows
    tasks = [t for t in job.tasks if isinstance(t, FeatureTask) and t.variant.scored]
    if limit == 0 or not tasks:
        return None
    dataset = job.dataset.drawable
    rows = score_rows(dataset.identifiers, dataset.weights, limit, job.options.seed)
    return _Swaps.among(job, tasks, rows)


def count_score_rows(job: Job, *, known: bool = False) -> int:
    """Return the number of model rows that `compute_scores` asks for, without calling the model.

    `known` says that the quantity at the rows will be known.
    """
    drawn = _draw(job)
    if drawn is None:
        return 0
    some = np.flatnonzero(drawn.evaluated)
    size = max(1, min(job.batch_rows, len(some)))
    found = 0 if known else len(some)
    for swap in drawn.by_feature.values():
        moves = swap.moves[some]
        for start in range(0, len(some), size):
            batch = moves[start : start + size]
            found += _asked(int(np.count_nonzero(batch)), len(batch))
    return job.rows_per_row * (found + count_spread_rows(drawn.spread_rows(job, {})))


def _asked(moved: int, rows: int) -> int:
    """Return how many rows of a batch are evaluated for a swap: all if nearly all move, because a subset is a copy."""
    return rows if moved >= _MOST * rows else moved


def compute_scores(job: Job) -> Scores:
    """Return the heterogeneity score of each feature and output of a job."""
    drawn = _draw(job)
    if drawn is None:
        return Scores()
    rows, swaps = drawn.rows, drawn.by_feature
    known = {label: values[np.sort(rows.rows)] for label, values in job.own.items()}
    own, changes, stats = _evaluate(job, drawn.part, swaps, drawn.evaluated, known)
    sets = dependent_sets(drawn.columns, [swap.columns for swap in swaps.values()], rows.half)
    dependent = dict(zip(swaps, sets, strict=True))
    far = drawn.off_support(dependent)
    found: dict[TaskKey, HeterogeneityScore] = {
        (label, key): drawn.score(key, own[label], change, job.checked.eps, far[key])
        for (label, key), change in changes.items()
    }
    by_feature, cost = compute_spreads(job, drawn.spread_rows(job, found))
    spreads: dict[TaskKey, Spread] = {
        (label, key): spread
        for key, by_output in zip(swaps, by_feature, strict=True)
        for label, spread in by_output.items()
    }
    stats.add(cost)
    swapped = SwappedPairs(
        functions=ColumnFunctions(drawn.part, drawn.back, drawn.columns, rows.weights),
        tasks={t.key: t for t in job.tasks if isinstance(t, FeatureTask) and t.key in swaps},
        values={key: swap.order.values for key, swap in swaps.items()},
        pairs={(label, key): drawn.pairs(key, change) for (label, key), change in changes.items()},
        scores=found,
    )
    return Scores(
        found=found,
        exact=rows.exact,
        stats=stats,
        rows=rows,
        own={label: values[drawn.back] for label, values in own.items()},
        spreads=spreads,
        swapped=swapped,
        dependent=dependent,
    )


@dataclass(frozen=True, eq=False)
class RegionScore:
    """The heterogeneity score within a region."""

    score: HeterogeneityScore
    held_out: HeterogeneityScore
    spread: Spread | None


def compute_region_scores(
    job: Job, scores: Scores, regions: Mapping[TaskKey, Ints], held_out: Bools
) -> tuple[dict[TaskKey, list[RegionScore]], CallStats]:
    """Return the heterogeneity scores of features and outputs within each region.

    `regions` are those of all rows, (n,) each. `held_out` masks the rows, (n,), with scores of their own.
    """
    found: dict[TaskKey, list[RegionScore]] = {key: [] for key in regions}
    stats = CallStats()
    if scores.rows is None:
        return found, stats
    whole = ScoredRows.of(job.dataset.drawable, scores.rows)
    for label, quantity in job.outputs.items():
        one = replace(job, outputs={label: quantity})
        own = np.empty(len(whole.back))
        own[whole.back] = scores.own[label]
        parts: list[tuple[FeatureTask, Ints, _Swaps, OffSupportShare]] = []
        moves: dict[str, _Moves] = {}
        for where, region in regions.items():
            task, at_rows = job.task(where), region[scores.rows.rows]
            if where[0] != label or not isinstance(task, FeatureTask):
                continue
            name = task.key
            # The regions share the rows of calls: no row is in two of them.
            donors, moved = whole.numbers.copy(), np.zeros(len(own), dtype=bool)
            for number in range(int(region.max()) + 1):
                some = np.flatnonzero((at_rows == number) & ~np.isnan(scores.own[label]))
                drawn = _Swaps.among(one, [task], scores.rows.take(some), held_out)
                swap, here = drawn.by_feature[name], whole.back[some]
                donors[here], moved[here] = swap.donors[drawn.back], swap.moves[drawn.back]
                far = drawn.off_support(scores.dependent)[name]
                # The columns as regressors, as large as X, are not needed any more.
                parts.append((task, here, replace(drawn, columns=[]), far))
            moves[name] = _Moves(donors, moved, task.feature.columns)
        _, changes, cost = _evaluate(one, whole.part, moves, ~np.isnan(own), {label: own})
        stats.add(cost)
        scored: list[tuple[TaskKey, HeterogeneityScore, HeterogeneityScore]] = []
        features: list[SpreadRows] = []
        for task, here, drawn, far in parts:
            key = label, task.key
            at_part, change = np.empty((2, len(here)))
            at_part[drawn.back], change[drawn.back] = own[here], changes[key][here]
            score, of_held_out = (
                drawn.score(task.key, at_part, change, job.checked.eps, far, counted)
                for counted in (None, held_out[drawn.rows.rows])
            )
            scored.append((key, score, of_held_out))
            # The regions share the rows that the spread of a feature may cost.
            most = MOST_ROWS * len(here) // len(scores.rows)
            features += drawn.spread_rows(one, {key: score}, most)
        spreads, cost = compute_spreads(one, features)
        stats.add(cost)
        for (key, score, of_held_out), by_output in zip(scored, spreads, strict=True):
            found[key].append(RegionScore(score, of_held_out, by_output.get(label)))
    return found, stats


# --- columns and values ---------------------------------------------------------------------------


def _codes(drawn: ScoredRows, j: int) -> Ints:
    """Return the codes of a column's levels in the order of the hashes; -1 is missing."""
    return drawn.part.coded(j)[0][drawn.back]


def _regressor(drawn: ScoredRows, j: int) -> Ranks | Floats:
    """Return a column of X as a regressor (ranks or indicators of levels), in the order of the hashes."""
    part, back, weights = drawn.part, drawn.back, drawn.rows.weights
    feature = part.features[j]
    if feature.kind == "nominal":
        return frequent_levels(_codes(drawn, j), weights)
    if feature.kind == "ordinal":
        try:
            codes = part.levels(feature, most=len(part) + 1).codes
        except DataError:
            # All values are missing, or some level is missing in the declared order: the column is no regressor.
            return np.zeros((len(part), 0))
        return mid_ranks(np.where(codes < 0, np.nan, codes)[back], weights)
    return mid_ranks(part.floats(j)[back], weights)


def _position(task: FeatureTask, columns: list[Ranks | Floats]) -> int | None:
    """Return the column index of an ordered feature with more than two values, None for all other features."""
    feature = task.feature
    if feature.members or feature.kind == "nominal":
        return None
    column = columns[feature.position]
    return feature.position if isinstance(column, Ranks) and column.distinct > 2 else None


def _values(task: FeatureTask, part: Dataset) -> Floats:
    """Return a feature's values, or the codes of its levels, in the order of the data; NaN for missing values."""
    column = task.column
    if isinstance(column, LevelColumn):
        codes = part.level_codes(column)
        return np.where(codes < 0, np.nan, codes)
    return part.floats(task.feature.position)


# --- the model ------------------------------------------------------------------------------------


SwapResponses: TypeAlias = tuple[dict[OutputLabel, Floats], dict[tuple[OutputLabel, str], Floats]]
"""By output the quantity at the rows, and by output and feature its changes by the swaps: arrays of shape (n,)."""


def _evaluate(
    job: Job,
    part: Dataset,
    moves: Mapping[str, _Moves],
    evaluated: Bools,
    known: Mapping[OutputLabel, Floats] | None = None,
) -> tuple[dict[OutputLabel, Floats], dict[tuple[OutputLabel, str], Floats], CallStats]:
    """Evaluate the quantity at some rows, unless it is known, and its change by each feature's moves; NaN elsewhere."""
    swaps, positions = {**moves}, np.flatnonzero(evaluated)
    if not evaluated.all():
        part = part.subset(positions)
        swaps = {
            k: _Moves(w.donors[positions], w.moves[positions], w.columns) for k, w in moves.items()
        }
        known = known and {label: values[positions] for label, values in known.items()}
    batches = list(part.batches(max(1, min(job.batch_rows, len(part)))))
    own = {label: np.full(len(evaluated), np.nan) for label in job.outputs}
    change = {
        (label, key): np.full(len(evaluated), np.nan) for label in job.outputs for key in swaps
    }
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
    swaps: Mapping[str, _Moves],
    bar: Progress,
    known: Mapping[OutputLabel, Floats] | None,
) -> tuple[SwapResponses, CallStats]:
    """Evaluate one batch; see `_evaluate`."""
    joint = joint_calls(job.joint_rows, len(batch))
    evaluators = make_evaluators(job, batch, 1, joint)
    at: dict[OutputLabel, Floats] = {
        label: known[label][batch.places] if known else evaluator.values()
        for label, evaluator in evaluators.items()
    }

    def changes(key: str) -> dict[tuple[OutputLabel, str], Floats]:
        swap = swaps[key]
        return {(o, key): _change(e, batch, swap, at[o]) for o, e in evaluators.items()}

    moved: dict[tuple[OutputLabel, str], Floats] = {}
    for found in in_few_calls(joint, [partial(changes, key) for key in swaps]):
        moved |= found
        for evaluator in evaluators.values():
            evaluator.forget()
        bar.advance()
    return (at, moved), stats_of(evaluators)


def _change(evaluator: BatchEvaluator, batch: Batch, swap: _Moves, own: Floats) -> Floats:
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
