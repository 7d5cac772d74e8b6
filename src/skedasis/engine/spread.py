"""Compute spreads: the curves of blocks of the score's rows, within windows of their values of a feature."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self, TypeAlias

import numpy as np

from skedasis._progress import Progress, map_in_order
from skedasis._types import Floats, Ints, OutputLabel
from skedasis.binning import N_AUTO_CELLS, auto_cells, auto_edges
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Column
from skedasis.data.containers import DonorRows
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature
from skedasis.engine.prepare import Job
from skedasis.engine.run import limits_model_threads, make_evaluators, stats_of
from skedasis.engine.select import FeatureTask
from skedasis.models.calling import CallStats, one_thread_each
from skedasis.quantities.joint_calls import JointCalls, in_few_calls, joint_calls
from skedasis.results.axis import LevelAxis
from skedasis.results.effect import Effect, Spread
from skedasis.stats.grid import Cells
from skedasis.stats.heterogeneity_score import HeterogeneityScore, ScoreOrder, ScoreRows
from skedasis.stats.random import uniforms
from skedasis.stats.spread import (
    MANY_LEVELS,
    MOST_ROWS,
    POOL_POSITIONS,
    ROWS_PER_ROW,
    Blocks,
    SpreadCells,
    Windows,
    spread_at,
)


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """The rows of a score in the order of their hashes: the row `k` is at `back[k]` of the data set `part`."""

    rows: ScoreRows
    back: Ints
    part: Dataset

    @classmethod
    def of(cls, dataset: Dataset, rows: ScoreRows) -> Self:
        """Return some rows of a data set, which `part` has in the order of the data."""
        ascending = np.sort(rows.rows)
        return cls(rows, np.searchsorted(ascending, rows.rows), dataset.subset(ascending))

    @property
    def numbers(self) -> Ints:
        """Return the indices in the table of the rows of `part`."""
        return self.part.whole.table_rows


@dataclass(frozen=True, eq=False)
class SpreadRows:
    """A feature, the order of some rows by its values, and its score at them by output."""

    job: Job
    task: FeatureTask
    drawn: ScoredRows
    order: ScoreOrder
    scores: Mapping[OutputLabel, HeterogeneityScore] = field(default_factory=dict)
    most: int = MOST_ROWS

    @property
    def has_axis(self) -> bool:
        """Return whether the effect has values of the feature: a group of columns has none, and no spread."""
        return self.task.variant.of_rows == "effects"

    @property
    def _weights(self) -> Floats | None:
        return self.drawn.rows.weights

    @cached_property
    def level_cells(self) -> Ints | None:
        """Return the cell of each level, (L,), in which rare ones of many are pooled; None for other features."""
        column = self.task.column
        if not isinstance(column, LevelColumn):
            return None
        codes = np.arange(len(column.levels))
        values = self.order.values
        there = ~np.isnan(values)
        w = None if self._weights is None else self._weights[there]
        weight = np.bincount(values[there].astype(int), w, len(codes))
        if np.count_nonzero(weight) <= MANY_LEVELS:
            return codes
        if self.task.feature.kind == "ordinal":
            return None
        frequent = np.lexsort((codes, -weight))[: MANY_LEVELS - POOL_POSITIONS]
        rare = np.setdiff1d(codes, frequent)
        return np.where(np.isin(codes, frequent), codes, rare[0])

    def cells(self, count: int) -> SpreadCells:
        """Return the feature's cells, about so many if it has many values."""
        values, weights = self.order.values, self._weights
        rows = self.order.by_value
        cell, x = np.full(len(values), -1), values[rows]
        by_level = self.level_cells
        if by_level is not None:
            cell[rows] = by_level[x.astype(int)]
            pooled = by_level[by_level != np.arange(len(by_level))]
            pool = int(pooled[0]) if len(pooled) else -1
            return SpreadCells.of(values, cell, weights, single=True, pool=pool)
        whole, sampling = self.task.column, self.drawn.part.sampling_weights
        codes = isinstance(whole, (LevelColumn, Feature))
        dtype, gaps = (float, ()) if codes else (whole.dtype, whole.gaps)
        # Sorted values are sorted, counted and located in a fraction of the time.
        own = None if weights is None else weights[rows]
        column = Column(self.task.feature, x, own, dtype, sampling=sampling)
        few = column.few_values()
        if few is not None:
            cell[rows] = np.searchsorted(few, x)
            return SpreadCells.of(values, cell, weights, single=True)
        cells = (
            auto_cells(column, gaps)
            if count >= N_AUTO_CELLS
            else Cells(auto_edges(column, count, gaps), "right")
        )
        # Rows whose weight is next to nothing may lie beyond the quantiles.
        x = np.clip(x, cells.edges[0], cells.edges[-1])
        cell[rows] = np.maximum(cells.locate(x), 0)
        return SpreadCells.of(values, cell, weights, single=False)

    @cached_property
    def blocks(self) -> Blocks | None:
        """Return the blocks of rows and their cells; None if there are too few rows, or no axis."""
        n, option = len(self.order.rows), self.job.options.heterogeneity_rows
        if n == 0 or not self.has_axis:
            return None
        limit = min(self.most, ROWS_PER_ROW * n, self.most if option is None else option)
        return Blocks.of(self.cells, n, limit)

    @cached_property
    def windows(self) -> Windows | None:
        """Return the rows of the blocks and their positions; None if there are too few rows, or no axis."""
        if self.blocks is None:
            return None
        ids = self.drawn.part.identifiers[self.drawn.back]

        def drawn(some: Ints, purpose: str, count: int) -> Floats:
            return uniforms(ids[some], self.job.options.seed, f"spread: {purpose}", count)

        return self.blocks.windows(self.order, self._weights, drawn)

    def spread(self, score: HeterogeneityScore, response: Floats | None) -> Spread:
        """Return the spread, given the quantity at the windows, (B, J, m); None if it was not evaluated."""
        if len(self.order.rows) == 0:
            return Spread(*np.zeros((4, 0)))
        cells = self.cells(8) if self.blocks is None else self.blocks.cells
        value, error = np.full(len(cells), score.value), np.full(len(cells), score.std_error)
        if response is not None and self.windows is not None:
            eps = self.job.checked.eps
            value, error = spread_at(self.windows, response, self._weights, score, eps)
        column = self.task.column
        if isinstance(column, LevelColumn):
            return self._by_level(cells, value, error)
        return Spread(cells.x, value, error, cells.share)

    def _by_level(self, cells: SpreadCells, value: Floats, error: Floats) -> Spread:
        """Return the spread at each level that has rows, by its code."""
        codes = self.order.values[self.order.rows].astype(int)
        w = self._weights
        found, first, number = np.unique(codes, return_index=True, return_inverse=True)
        weight = np.bincount(number, None if w is None else w[self.order.rows], len(found))
        cell = cells.cell[self.order.rows[first]]
        return Spread(found.astype(float), value[cell], error[cell], weight / weight.sum())


def compute_spreads(
    job: Job, features: Sequence[SpreadRows]
) -> tuple[list[dict[OutputLabel, Spread]], CallStats]:
    """Return the spread of each feature at its rows, by output; levels are their codes."""
    found: list[dict[OutputLabel, Spread]] = []
    stats = CallStats()
    text, caller = f"Spreads of {job.quantity.describe()}", job.checked.caller
    limited = limits_model_threads(job)
    limiter, n_jobs = (one_thread_each(), job.options.n_jobs) if limited else (nullcontext(), 1)
    with limiter as begin, Progress(len(features), text, job.options.progress) as bar:
        caller.heartbeat = lambda: bar.advance(0)
        joint = None if limited else joint_calls(job.joint_rows, 1)
        works = (_work(feature, joint) for feature in features)
        # An iterator: a single feature, too, is computed in a thread of ours, where the model's are limited.
        done = (
            map_in_order(operator.call, works, n_jobs, begin, caller.stop)
            if joint is None
            else in_few_calls(joint, works)
        )
        with closing(done):
            for spreads, cost in done:
                found.append(spreads)
                stats.add(cost)
                bar.advance()
    return found, stats


def spread_of(effect: Effect, spread: Spread, task: FeatureTask) -> Spread:
    """Return the spread of an effect, in which the codes of levels become those of the effect's order."""
    column = task.column
    if isinstance(column, LevelColumn) and isinstance(effect.axis, LevelAxis):
        values = column.levels.values
        place = effect.axis.levels.codes([values[int(code)] for code in spread.points])
        order = np.argsort(place, kind="stable")[np.count_nonzero(place < 0) :]
        parts = (place, spread.value, spread.std_error, spread.weight)
        return Spread(*(part[order].astype(float) for part in parts))
    return spread


def count_spread_rows(features: Sequence[SpreadRows]) -> int:
    """Return the most model rows that `compute_spreads` asks for, without calling the model."""
    return sum(f.windows.n_model_rows for f in features if f.windows is not None)


_Evaluated: TypeAlias = tuple[dict[OutputLabel, Spread], CallStats]


def _work(feature: SpreadRows, joint: JointCalls | None) -> Callable[[], _Evaluated]:
    """Return the computation of the spreads of one feature by output."""
    job, part = feature.job, feature.drawn.part

    def spreads(response: Mapping[OutputLabel, Floats]) -> dict[OutputLabel, Spread]:
        return {
            label: feature.spread(score, response.get(label))
            for label, score in feature.scores.items()
            if feature.has_axis
        }

    wanted = len(part) > 0 and any(s.value > 0 for s in feature.scores.values())
    found = feature.windows if wanted else None
    if found is None:
        return lambda: (spreads({}), CallStats())
    (whole,) = part.batches(len(part))
    blocks, size = found.rows.shape
    back = feature.drawn.back
    batch = whole.take(back[found.rows].ravel())
    positions = found.donors.shape[1]
    donors = feature.drawn.numbers[back[found.donors]]
    replaced = DonorRows(np.repeat(donors, size, axis=0).T)
    room = max(job.batch_rows * job.copies, 0 if joint is None else joint.room // 2)
    copies = max(1, min(positions, room // len(batch)))
    evaluators = make_evaluators(job, batch, copies, joint)
    changes = dict.fromkeys(feature.task.feature.columns, replaced)

    def evaluate() -> _Evaluated:
        response: dict[OutputLabel, Floats] = {}
        for label, evaluator in evaluators.items():
            swept = evaluator.sweep_together(changes, positions)
            response[label] = swept.reshape(blocks, size, positions).transpose(0, 2, 1)
        return spreads(response), stats_of(evaluators)

    return evaluate
