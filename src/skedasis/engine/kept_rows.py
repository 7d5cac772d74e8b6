"""The rows that results keep, with all their features: regions and interactions of streams come from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.data.dataset import AnyColumn, Dataset
from skedasis.data.features import Feature
from skedasis.data.streamed import ChunkReader, StreamedDataset, StreamedLevels
from skedasis.engine.plan import HashedRows, Job
from skedasis.engine.rounds import Computed
from skedasis.engine.streams import run_pass
from skedasis.methods.ale_categorical import LevelPlan
from skedasis.results.regions import RegionNode
from skedasis.stats.order_statistics import quantised

if TYPE_CHECKING:
    from skedasis.data.arrow import ArrowTable


def at_kept_rows(done: Computed) -> Computed:
    """Return the work as if the rows at hand were the data: those that results keep, and those of the scores."""
    job = done.job
    if not job.dataset.streamed:
        return done
    dataset = job.dataset
    if not isinstance(dataset, StreamedDataset) or isinstance(job.sample, np.ndarray):
        raise TypeError("kept rows of data that are read in chunks have a rule")
    rule, drawn = job.sample, dataset.positions[dataset.drawn]
    work = GatherPass(dataset.reader, rule, drawn)
    found = run_pass(work, Gathered.merge, dataset.reader.source, job.options, "Reading kept rows")
    dataset.passes.append("kept rows")
    numbers, here = found.dataset(dataset.reader)
    here = job.quantity.prepare(here)
    mask = None if rule is None else rule.mask(here.identifiers)
    known: dict[int, AnyColumn] = {}

    def bound(column: AnyColumn) -> AnyColumn:
        """Return a column with the codes of the rows at hand."""
        if id(column) not in known:
            known[id(column)] = _bound(column, here)
        return known[id(column)]

    tasks = [task.with_columns(bound) for task in job.tasks]
    plans = {
        key: replace(plan, column=bound(plan.column)) if isinstance(plan, LevelPlan) else plan
        for key, plan in job.plans.items()
    }
    scores = done.scores
    if scores.rows is not None:
        at = np.searchsorted(numbers, drawn[scores.rows.rows])
        scores = replace(scores, rows=replace(scores.rows, rows=at))
    own = replace(job, dataset=here, tasks=tasks, plans=plans, sample=mask)
    return replace(done, job=own, scores=scores)


def _bound(column: AnyColumn, here: Dataset) -> AnyColumn:
    """Return a column with the codes of other rows; a column of numbers as it is."""
    return column.at_rows(here) if isinstance(column, StreamedLevels) else column


# ------------------------------------------------------------------------------------ gathering
@dataclass(eq=False)
class Gathered:
    """Some of the rows of a range, with their numbers."""

    parts: list[tuple[Ints, ArrowTable]] = field(default_factory=list)

    def merge(self, other: Gathered) -> None:
        """Add the rows of another range."""
        self.parts += other.parts

    def dataset(self, reader: ChunkReader) -> tuple[Ints, Dataset]:
        """Return the numbers of the rows, ascending, and the rows as a data set in memory."""
        import pyarrow as pa

        numbers = np.concatenate([numbers for numbers, _ in self.parts])
        order = np.argsort(numbers)
        rows = pa.concat_tables([rows for _, rows in self.parts]).combine_chunks().take(order)
        here, numbers = reader.dataset(rows, 0), numbers[order]
        keys = numbers if reader.source.row_id_name is None else here.keys
        # The examples of levels before the rows are no rows of X.
        in_table = np.concatenate([np.full(reader.skip, -1), numbers])
        return numbers, replace(here, keys=keys, row_numbers=in_table, sampled=True)


@dataclass(frozen=True, eq=False)
class GatherPass:
    """A pass that reads the rows that are kept by a rule, and those with given numbers."""

    reader: ChunkReader
    rule: HashedRows | None
    wanted: Ints

    def state(self) -> Gathered:
        """Return no rows."""
        return Gathered()

    def add(self, state: Gathered, first: int, rows: ArrowTable) -> None:
        """Add the rows of a chunk."""
        n = rows.num_rows
        some = np.arange(n)
        if self.rule is not None:
            ids = self.reader.dataset(rows, first).identifiers
            given = self.wanted[np.searchsorted(self.wanted, first) :]
            given = given[: np.searchsorted(given, first + n)] - first
            some = np.union1d(np.flatnonzero(self.rule.mask(ids)), given)
        state.parts.append((some + first, rows.take(some)))


# ------------------------------------------------------------------------------------ counting
@dataclass(frozen=True, eq=False)
class RegionCounts:
    """The rows and the weight of each region, and the rows with a missing value of some features, by set of rules."""

    rows: list[Ints]
    weight: list[Floats]
    missing: list[dict[str, Ints]]


@dataclass(eq=False)
class RegionTally:
    """The counts of a range of rows. Weights are multiples of a quantum, whose sums do not depend on the order."""

    rows: list[Ints]
    weight: list[Ints]
    missing: list[dict[str, Ints]]

    def merge(self, other: RegionTally) -> None:
        """Add the counts of another range."""
        for index in range(len(self.rows)):
            self.rows[index] += other.rows[index]
            self.weight[index] += other.weight[index]
            for name, count in other.missing[index].items():
                self.missing[index][name] += count


@dataclass(frozen=True, eq=False)
class Rules:
    """The rules of the regions of some features."""

    leaves: tuple[RegionNode, ...]
    features: Mapping[str, Feature]


@dataclass(frozen=True, eq=False)
class CountPass:
    """A pass that counts the rows that satisfy rules."""

    reader: ChunkReader
    rules: Sequence[Rules]
    quantum: float | None

    def state(self) -> RegionTally:
        """Return the counts of no rows."""
        sizes = [len(r.leaves) for r in self.rules]
        return RegionTally(
            [np.zeros(n, dtype=np.int64) for n in sizes],
            [np.zeros(n, dtype=np.int64) for n in sizes],
            [
                {name: np.zeros(n, dtype=np.int64) for name in r.features}
                for n, r in zip(sizes, self.rules, strict=True)
            ],
        )

    def add(self, state: RegionTally, first: int, rows: ArrowTable) -> None:
        """Add the rows of a chunk."""
        chunk = self.reader.dataset(rows, first)
        w = chunk.weights
        weights = None if w is None or self.quantum is None else quantised(w, self.quantum)
        known: dict[int, Bools] = {}
        for i, rules in enumerate(self.rules):
            missing = {name: chunk.is_missing(feature) for name, feature in rules.features.items()}
            for number, leaf in enumerate(rules.leaves):
                inside = np.ones(len(chunk), dtype=bool)
                for condition in leaf.conditions:
                    if id(condition) not in known:
                        known[id(condition)] = condition.holds(chunk)
                    inside &= known[id(condition)]
                count = int(inside.sum())
                state.rows[i][number] += count
                state.weight[i][number] += count if weights is None else int(weights[inside].sum())
                for name in rules.features:
                    state.missing[i][name][number] += int(missing[name][inside].sum())


def count_regions(dataset: Dataset, job: Job, rules: Sequence[Rules]) -> RegionCounts:
    """Return how many rows of data that are read in chunks satisfy rules, in one pass."""
    if not isinstance(dataset, StreamedDataset):
        raise TypeError("the rows of data in memory have their regions")
    work = CountPass(dataset.reader, rules, dataset.quantum)
    source = dataset.reader.source
    found = run_pass(work, RegionTally.merge, source, job.options, "Counting regions")
    dataset.passes.append("rows of regions")
    unit = 1.0 if dataset.quantum is None else dataset.quantum
    # Converted at the end: floats would round the sums of multiples beyond 2**53.
    weight = [multiples.astype(float) * unit for multiples in found.weight]
    return RegionCounts(found.rows, weight, found.missing)
