"""Compute H² of pairs and features: exactly for sums of leaves, else from model calls at a sample of rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from skedasis._progress import Progress, map_in_order
from skedasis._types import Floats, Ints, OutputLabel
from skedasis.data.containers import DonorRows
from skedasis.data.dataset import Batch, Dataset
from skedasis.data.features import Feature
from skedasis.engine.options import ExplainOptions
from skedasis.engine.prepare import Job
from skedasis.engine.run import evaluators_of, stats_of
from skedasis.models.calling import CallStats
from skedasis.quantities.base import CALL_ROWS, Quantity
from skedasis.quantities.evaluator import BatchEvaluator, ProbeResult, probe_model
from skedasis.quantities.tree_evaluator import TreeModelProxy, use_trees_if_exact
from skedasis.stats.h_statistic import NOT_COMPUTED, HRows, HStatistic
from skedasis.stats.random import row_hashes
from skedasis.trees.partial_dependence import TreePartialDependence

_HELD = 4_000_000
"""Largest number of values of the quantity that are held at a time, when the model is called."""

_Means: TypeAlias = dict[OutputLabel, tuple[Floats, Floats]]
"""By output the means over a batch for each replaced value, and over the values for each row of the batch."""

ColumnPairs = Sequence[tuple[int, int]]
"""Pairs of features, by their indices."""


@dataclass(frozen=True, eq=False)
class HStatistics:
    """The statistics of one output."""

    pairs: list[HStatistic]
    overall: list[HStatistic]
    total: HStatistic
    exact: bool
    rows: int


@dataclass(frozen=True, eq=False)
class HComputation:
    """The statistics of all outputs, and their cost."""

    by_output: dict[OutputLabel, HStatistics]
    stats: CallStats
    checks: CallStats
    trees: str | None


def h_statistics(
    quantity: Quantity,
    dataset: Dataset,
    features: Sequence[Feature],
    pairs: ColumnPairs,
    max_rows: int | None,
    options: ExplainOptions,
    most: int | None,
) -> HComputation:
    """Return the statistics of each output; where the model is called, of at most so many pairs."""
    here = dataset.rows_for_pairs(max_rows, options.seed)
    every, dataset = here is dataset, here
    counted = CallStats()
    outputs = quantity.outputs(dataset, counted, None)
    checked = probe_model(list(outputs.values()), dataset, None)
    checked.stats.add(counted)
    decision = use_trees_if_exact(outputs, dataset, options.tree, checked, means=False)
    checked.stats.add(decision.stats)
    sums = {label: _leaf_sum(q, dataset) for label, q in decision.outputs.items()}
    found: dict[OutputLabel, HStatistics] = {}
    for label, leaf_sum in sums.items():
        if leaf_sum is not None:
            trees = _tree_partial_dependence(leaf_sum, dataset, features, pairs)
            rows = HRows(trees.values, dataset.weights, checked.eps, options.weight_kind)
            found[label] = _statistics(trees, rows, len(features), pairs, exact=every)
    called = {label: q for label, q in decision.outputs.items() if sums[label] is None}
    stats = CallStats()
    if called:
        part = sample_by_hash(dataset, max_rows, options.seed)
        calls = _Calls(called, part, features, checked, options, stats)
        some = pairs if most is None or len(pairs) <= most else calls.put_first(pairs, most)
        for label, called_partial in calls.partial_dependence(some).items():
            rows = HRows(called_partial.values, part.weights, checked.eps, options.weight_kind)
            exact = every and len(part) == len(dataset)
            found[label] = _statistics(called_partial, rows, len(features), pairs, exact=exact)
    ordered = {label: found[label] for label in outputs}
    return HComputation(ordered, stats, checked.stats, decision.said)


def count_h_rows(n: int, features: int, pairs: int, max_rows: int | None, most: int | None) -> int:
    """Return the most model rows that the statistics cost where the model is called, without calling it."""
    rows = n if max_rows is None else min(n, max_rows)
    few = most is not None and pairs > most
    screening = rows * (1 + features + pairs) if few else 0
    return screening + rows + rows**2 * (features + (most or 0 if few else pairs))


def exact_pairs(
    job: Job, features: Sequence[Feature], pairs: ColumnPairs
) -> dict[OutputLabel, list[HStatistic]] | None:
    """Return H² of pairs from the leaves that the outputs of a job sum; None if one of them is no such sum."""
    found: dict[OutputLabel, list[HStatistic]] = {}
    for label, quantity in job.outputs.items():
        leaf_sum = _leaf_sum(quantity, job.dataset)
        if leaf_sum is None:
            return None
        partial = _tree_partial_dependence(leaf_sum, job.dataset, features, pairs, rest=False)
        rows = HRows(partial.values, job.dataset.weights, job.checked.eps, job.options.weight_kind)
        single = [partial.of(i) for i in range(len(features))]
        found[label] = [
            rows.pair(partial.interaction(i, j), single[i], single[j]) for i, j in pairs
        ]
    return found


def sample_by_hash(dataset: Dataset, most: int | None, seed: int) -> Dataset:
    """Return the rows with the smallest keyed hashes, so that batches and the order of rows do not matter."""
    if most is None or len(dataset) <= most:
        return dataset.subset(np.arange(len(dataset)))
    hashes = row_hashes(dataset.identifiers, seed, "interactions: rows")
    return dataset.subset(np.sort(np.argsort(hashes, kind="stable")[:most]))


def _statistics(
    partial: _CalledPartialDependence | TreePartialDependence,
    rows: HRows,
    features: int,
    pairs: ColumnPairs,
    *,
    exact: bool,
) -> HStatistics:
    """Return the statistics from partial dependence; of a pair without one they are not computed."""
    single = [partial.of(i) for i in range(features)]
    both = [(single[i], single[j], partial.interaction(i, j)) for i, j in pairs]
    return HStatistics(
        [NOT_COMPUTED if joint is None else rows.pair(joint, a, b) for a, b, joint in both],
        [rows.overall(single[i], rows.values + partial.without(i)) for i in range(features)],
        rows.total(np.sum(single, axis=0)),
        exact,
        len(rows.values),
    )


# --- sums of leaves -------------------------------------------------------------------------------


def _leaf_sum(quantity: Quantity, dataset: Dataset) -> tuple[TreeModelProxy, int, float] | None:
    """Return the trees, the output and the factor of the sum of leaves that the quantity equals; None for others."""
    proxy = quantity.model
    found = proxy.leaf_sum(quantity) if isinstance(proxy, TreeModelProxy) else None
    # The kernels need a compiler, which means over rows can do without.
    if found is None or not isinstance(proxy, TreeModelProxy) or not proxy.forest.compiled:
        return None
    if proxy.forest.refuses(dataset.table, dataset.row_id):
        return None
    return proxy, *found


def _tree_partial_dependence(
    leaf_sum: tuple[TreeModelProxy, int, float],
    dataset: Dataset,
    features: Sequence[Feature],
    pairs: ColumnPairs,
    *,
    rest: bool = True,
) -> TreePartialDependence:
    proxy, output, scale = leaf_sum
    forest = proxy.forest
    partial = TreePartialDependence(
        forest.parts[output],
        [forest.rows(dataset.table, j, dataset.row_id) for j in forest.shape.columns],
        len(dataset),
        [f.columns for f in features],
        dataset.weights,
        pairs,
        scale,
    )
    partial.count(rest=rest)
    return partial


# --- model calls ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _CalledPartialDependence:
    """Partial dependence at rows, (n,) each, up to constants, from model calls; `TreePartialDependence`: from trees."""

    values: Floats
    singles: Mapping[int, Floats]
    rests: Mapping[int, Floats]
    pairs: Mapping[tuple[int, int], Floats]

    def of(self, feature: int) -> Floats:
        return self.singles[feature]

    def without(self, feature: int) -> Floats:
        return self.rests[feature] - self.values

    def interaction(self, one: int, other: int) -> Floats | None:
        """Return the partial dependence on two features less those on each; None if it was not computed."""
        both = self.pairs.get((one, other))
        return None if both is None else both - self.singles[one] - self.singles[other]


@dataclass(frozen=True, eq=False)
class _Donors:
    """The distinct values of a feature or a pair among the rows."""

    columns: tuple[int, ...]
    code: Ints
    rows: Ints
    weight: Floats


@dataclass(frozen=True, eq=False)
class _Calls:
    """The calls of the model at some rows, for outputs that are no sums of leaves."""

    outputs: Mapping[OutputLabel, Quantity]
    part: Dataset
    features: Sequence[Feature]
    checked: ProbeResult
    options: ExplainOptions
    stats: CallStats

    def put_first(self, pairs: ColumnPairs, most: int) -> ColumnPairs:
        """Return the pairs that seem to interact most: double differences between two rows have large mean squares.

        A quarter of the mean square of f(x) - f(x with x_j') - f(x with x_k') + f(x with x_j', x_k') is the variance of
        all interactions of independent features that x_j and x_k take part in (Liu & Owen, 2006). It costs a model row
        for each row and feature or pair, where the partial dependence costs one for each two rows.
        """
        part, features = self.part, self.features
        n, columns = len(part), len(part.features)
        order = np.argsort(row_hashes(part.identifiers, self.options.seed, "interactions: donors"))
        donor = np.empty(n, np.int64)
        donor[order] = np.roll(order, 1)
        rows = part.table_rows(np.arange(n))
        weights = np.ones(n) if part.weights is None else part.weights * part.weights[donor]
        changed = [(), *((i,) for i in range(len(features))), *pairs]
        moved = np.zeros((len(changed), columns), bool)
        for k, some in enumerate(changed):
            moved[k, [j for i in some for j in features[i].columns]] = True
        values = {label: np.empty((len(changed), n)) for label in self.outputs}
        for batch, copies in self._batches(len(changed)):
            evaluators = self._evaluators(batch, copies)
            own, other = rows[batch.places], rows[donor[batch.places]]
            for start in range(0, len(changed), copies):
                sets = moved[start : start + copies]
                changes = {
                    int(j): DonorRows(np.where(sets[:, j, None], other, own))
                    for j in np.flatnonzero(sets.any(axis=0))
                }
                for label, evaluator in evaluators.items():
                    swept = evaluator.sweep_together(changes, len(sets))
                    values[label][start : start + len(sets), batch.places] = swept.T
                for evaluator in evaluators.values():
                    evaluator.forget()
            self.stats.add(stats_of(evaluators))
        largest = np.zeros(len(pairs))
        for q in values.values():
            one, other = (1 + np.array([pair[side] for pair in pairs]) for side in (0, 1))
            both = q[1 + len(features) :]
            size = (q[0] - q[one] - q[other] + both) ** 2 @ weights
            # Rounding alone would order the pairs of an output that has no interactions.
            least = HRows(q[0], part.weights, self.checked.eps).least
            size[size <= 4 * least * weights.sum()] = 0.0
            largest = np.maximum(largest, size / (size.max() or 1.0))
        first = np.sort(np.argsort(-largest, kind="stable")[:most])
        return [pairs[k] for k in first.tolist()]

    def _evaluators(self, batch: Batch, copies: int) -> dict[OutputLabel, BatchEvaluator]:
        return evaluators_of(self.outputs, batch, self.checked.eps, self.checked.caller, copies)

    def _batches(self, most: int) -> Iterator[tuple[Batch, int]]:
        """Yield the batches, with the number of copies of each in one call, of so many that are needed."""
        room = self.options.memory_bytes // (8 * (len(self.part.features) + 8))
        size = max(1, min(CALL_ROWS, len(self.part), room))
        copies = max(1, min(most, CALL_ROWS // size, room // size))
        for batch in self.part.batches(size):
            yield batch, copies

    def partial_dependence(self, pairs: ColumnPairs) -> dict[OutputLabel, _CalledPartialDependence]:
        """Return the partial dependence of each output: every row is evaluated with the values of every row."""
        part, features = self.part, self.features
        codes = [_codes(part, feature) for feature in features]
        weights = np.ones(len(part)) if part.weights is None else part.weights
        share = weights / weights.sum()
        single = [_donors(part, (f,), (c,), share) for f, c in zip(features, codes, strict=True)]
        both = [
            _donors(part, (features[i], features[j]), (codes[i], codes[j]), share) for i, j in pairs
        ]
        most = max(len(donors.rows) for donors in (*single, *both))
        batches = list(self._batches(most))
        own_thread, made = _OwnThread(), list[Mapping[OutputLabel, BatchEvaluator]]()
        steps = [
            (batch, copies, donors) for batch, copies in batches for donors in (*single, *both)
        ]
        caller = self.checked.caller
        text = f"H² of {next(iter(self.outputs.values())).describe()}"
        # By step: the mean over the batch for each value, and for each row of the batch the mean over the values.
        with Progress(len(steps), text, self.options.progress) as bar:
            caller.heartbeat = lambda: bar.advance(0)

            def work(step: tuple[Batch, int, _Donors]) -> _Means:
                batch, copies, donors = step
                if own_thread.batch is not batch:
                    # One buffer of the rows for all features and pairs.
                    own_thread.evaluators = self._evaluators(batch, copies)
                    own_thread.batch = batch
                    made.append(own_thread.evaluators)
                means = _means(own_thread.evaluators, donors, share[batch.places])
                bar.advance()
                return means

            found = list(map_in_order(work, steps, self.options.n_jobs, None, caller.stop))
            own: list[dict[OutputLabel, Floats]] = []
            for batch, _ in batches:
                evaluators = self._evaluators(batch, 1)
                own.append({label: one.values() for label, one in evaluators.items()})
                self.stats.add(stats_of(evaluators))
        for evaluators in made:
            self.stats.add(stats_of(evaluators))
        n_sets = len(single) + len(both)
        out: dict[OutputLabel, _CalledPartialDependence] = {}
        for label in self.outputs:
            means = [
                [found[b * n_sets + k][label] for b in range(len(batches))] for k in range(n_sets)
            ]
            by_value = [np.sum([m for m, _ in parts], axis=0) for parts in means]
            out[label] = _CalledPartialDependence(
                np.concatenate([values[label] for values in own]),
                {i: by_value[i][donors.code] for i, donors in enumerate(single)},
                {i: np.concatenate([r for _, r in means[i]]) for i in range(len(single))},
                {
                    pair: by_value[len(single) + k][donors.code]
                    for k, (pair, donors) in enumerate(zip(pairs, both, strict=True))
                },
            )
        return out


def _codes(part: Dataset, feature: Feature) -> Ints:
    """Return the number of the value of each row; a missing value is one of its own."""
    joint = np.zeros(len(part), np.int64)
    for j in feature.columns:
        if part.features[j].kind == "continuous":
            code = np.unique(part.floats(j), return_inverse=True)[1]
        else:
            code = part.coded(j)[0] + 1
        joint = _renumbered(joint, code)
    return joint


def _renumbered(one: Ints, other: Ints) -> Ints:
    """Return the number of each combination of two codes."""
    return np.unique(one * (int(other.max(initial=0)) + 1) + other, return_inverse=True)[1]


def _donors(
    part: Dataset, features: Sequence[Feature], codes: Sequence[Ints], share: Floats
) -> _Donors:
    """Return the distinct values of a feature or of a pair."""
    code = codes[0] if len(codes) == 1 else _renumbered(codes[0], codes[1])
    _, example, code = np.unique(code, return_index=True, return_inverse=True)
    columns = tuple(j for f in features for j in f.columns)
    weight = np.bincount(code, share).astype(float)
    return _Donors(columns, code, part.table_rows(example), weight)


class _OwnThread(threading.local):
    """A batch, and its evaluators."""

    batch: Batch | None = None
    evaluators: Mapping[OutputLabel, BatchEvaluator]


def _means(
    evaluators: Mapping[OutputLabel, BatchEvaluator], donors: _Donors, share: Floats
) -> _Means:
    """Return the means of a batch with the columns of the donors replaced."""
    n, values = len(share), len(donors.rows)
    out = {label: (np.empty(values), np.zeros(n)) for label in evaluators}
    step = max(1, _HELD // (n * len(evaluators)))
    for start in range(0, values, step):
        some = slice(start, min(start + step, values))
        rows = DonorRows(donors.rows[some, None])
        changes = dict.fromkeys(donors.columns, rows)
        for label, evaluator in evaluators.items():
            swept = evaluator.sweep_together(changes, some.stop - some.start)
            by_value, by_row = out[label]
            by_value[some] = share @ swept
            by_row += swept @ donors.weight[some]
        for evaluator in evaluators.values():
            evaluator.forget()
    return out
