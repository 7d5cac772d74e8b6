"""`PipelineForest`: an ensemble behind transformers that act by columns, as an ensemble on the columns of X."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import itemgetter

import numpy as np

from skedasis._types import Bools, Container, Floats, Ints, ModelRows
from skedasis.data.containers import RowIndex, Table
from skedasis.data.dataset import Batch, Dataset, as_table, finite_range
from skedasis.models.introspection import is_pipeline, takes_codes
from skedasis.trees import readers
from skedasis.trees.arrays import ThresholdCodes
from skedasis.trees.ensemble import Ensemble, TreesUnreadable
from skedasis.trees.evaluator import AnyTable, TreeForest
from skedasis.trees.layout import ColumnTests, JointTests, States, TreeLayout
from skedasis.trees.preprocessing import OutputColumn, Preprocessing, preprocessing_of
from skedasis.trees.xgboost import with_levels_of

_OUTSIDE = -1
"""The code of inserted values that the model does not accept."""

_CELLS = 4_000_000
"""Target number of entries of transformed rows at a time."""

_HELD_ROWS = 200_000
"""Largest number of rows of X whose codes are kept; of more rows, those of each batch are transformed."""

_INSERTED = 1_000_000
"""Largest number of inserted values of a column whose codes are kept."""

_LARGEST_TABLE = 2**26
"""Largest number of tests of a column times combinations of codes, in bytes: kernels may list all of them."""

_MOST_JUMPS = 20_000
"""Largest number of thresholds of a column of which the positions in X are searched."""


# --- from the codes of several columns to those of one --------------------------------------------


@dataclass(frozen=True, eq=False)
class _Join:
    """The tests of a column of X, and how its codes follow from those of the columns that are made of it.

    `order` is the position among these tests of each test of the columns made of it; None: they have this order.
    """

    tests: ColumnTests
    codes: Callable[[Sequence[ThresholdCodes]], ThresholdCodes]
    order: Ints | None = None


def _with_missing(
    main: int, marker: int, marked: int, missing: int, parts: Sequence[ThresholdCodes]
) -> ThresholdCodes:
    """Return the codes of a column of numbers, plus one, and `missing` where an indicator has the code `marked`."""
    return np.where(parts[marker] == marked, missing, parts[main] + 1).astype(np.int32)


def _numbered(states: States, parts: Sequence[ThresholdCodes]) -> ThresholdCodes:
    """Return the numbers of the combinations of the codes of any columns."""
    return states.number(np.stack(parts))


def _marked(
    parts: Sequence[ColumnTests],
    outputs: Sequence[OutputColumn],
    here: Sequence[int],
    gone: Sequence[int],
) -> _Join | None:
    """Return a column of numbers with indicators of missing values; None for other columns."""
    numeric = all(tests.categories is None and tests.also_missing is None for tests in parts)
    main = [i for i, o in enumerate(outputs) if o.kind in ("same", "increasing")]
    rest = [i for i, o in enumerate(outputs) if o.kind == "missing"]
    markers = [i for i in rest if here[i] != gone[i]]
    if not numeric or len(main) != 1 or len(main) + len(rest) < len(parts) or not markers:
        return None
    middle = main[0]
    # One is added to all codes, so that no number passes the tests that no number passes.
    thresholds = np.concatenate([[-np.inf], parts[middle].thresholds])
    largest = len(thresholds)
    cuts: list[ThresholdCodes] = []
    for i, tests in enumerate(parts):
        if i == middle:
            cuts.append(tests.cut + 1)
            continue
        passed = tests.passes(np.array([here[i]], np.int32))[:, 0]
        cuts.append(np.where(passed, largest, 0).astype(np.int32))
    cut = np.concatenate(cuts).astype(np.int32)
    left = np.concatenate(
        [tests.passes(np.array([gone[i]], np.int32))[:, 0] for i, tests in enumerate(parts)]
    )
    by_cut = np.argsort(cut, kind="stable")
    order = np.empty(len(cut), np.int64)
    order[by_cut] = np.arange(len(cut))
    tests = ColumnTests(thresholds, cut[by_cut], left[by_cut])
    codes = partial(_with_missing, middle, markers[0], int(gone[markers[0]]), tests.missing)
    return _Join(tests, codes, order)


# --- the ensemble on the columns of X -------------------------------------------------------------


@dataclass(eq=False)
class PipelineForest(TreeForest):
    """An ensemble behind transformers that act by columns."""

    searched = True

    preprocessing: Preprocessing = field(kw_only=True)
    template: AnyTable = field(kw_only=True)
    joins: dict[int, _Join] = field(default_factory=dict, kw_only=True)
    ranges: dict[int, tuple[float, float]] = field(default_factory=dict, kw_only=True)
    _inserted: dict[int, tuple[Floats, ThresholdCodes]] = field(default_factory=dict, kw_only=True)

    @cached_property
    def inner(self) -> TreeForest:
        """Return the ensemble on the columns that the transformers return."""
        return TreeForest(self.ensemble, self.compiled)

    @cached_property
    def sources(self) -> dict[int, list[int]]:
        """Return for each column of X that matters the tested columns that are made of it."""
        outputs, found = self.preprocessing.outputs, dict[int, list[int]]()
        for d in self.inner.shape.columns:
            found.setdefault(outputs[d].column, []).append(d)
        return dict(sorted(found.items()))

    @cached_property
    def shape(self) -> TreeLayout:
        """Return all trees in depth-first order, with tests of columns of X."""
        inner = self.inner.shape
        column = np.full(len(inner.columns) + 1, -1, np.int32)
        test = np.full(int(inner.first[-1]) + 1, -1, np.int64)
        first = [0]
        for k, (j, made) in enumerate(self.sources.items()):
            places = [inner.place(d) for d in made]
            column[places] = k
            tests = np.concatenate([np.arange(inner.first[p], inner.first[p + 1]) for p in places])
            order = self.joins[j].order
            test[tests] = first[-1] + (np.arange(len(tests)) if order is None else order)
            first.append(first[-1] + len(tests))
        return replace(
            inner,
            # The last entries are for leaves, whose column and test are -1.
            column=column[inner.column],
            test=test[inner.test].astype(np.int32),
            columns=tuple(self.sources),
            tests=tuple(self.joins[j].tests for j in self.sources),
            first=np.array(first, np.int64),
        )

    # --- codes ---

    def parts_of(self, X: ModelRows, columns: Sequence[int]) -> dict[int, list[ThresholdCodes]]:
        """Return the codes of the columns that are made of some columns of X, for rows as models take them."""
        table = self.preprocessing(X)
        return {j: [self.inner.read(table, d) for d in self.sources[j]] for j in columns}

    def _coded(self, X: ModelRows, columns: Sequence[int]) -> dict[int, ThresholdCodes]:
        """Return the codes of some columns of X for rows as models take them."""
        parts = self.parts_of(X, columns)
        return {j: self.joins[j].codes(parts[j]) for j in columns}

    def held(self, table: AnyTable) -> dict[int, ThresholdCodes] | None:
        return None if len(table) > _HELD_ROWS else super().held(table)

    def rows(self, table: AnyTable, j: int, rows: RowIndex | None) -> ThresholdCodes:
        held = self.held(table)
        if held is not None:
            if j not in held:
                held.update(self._of_table(table, slice(0, len(table)), self.shape.columns))
            return held[j] if rows is None else held[j][rows]
        which = slice(0, len(table)) if rows is None else rows
        if isinstance(which, slice):
            return self._of_table(table, which, [j])[j]
        distinct, inverse = np.unique(which, return_inverse=True)
        return self._of_table(table, distinct, [j])[j][inverse].reshape(which.shape)

    def _of_table(
        self, table: AnyTable, rows: RowIndex, columns: Sequence[int]
    ) -> dict[int, ThresholdCodes]:
        """Return the codes of some columns for rows of a table, which are transformed in parts."""
        found: dict[int, list[ThresholdCodes]] = {j: [np.zeros(0, np.int32)] for j in columns}
        for part in self._in_parts(table, rows):
            for j, codes in self._coded(part, columns).items():
                found[j].append(codes)
        return {j: np.concatenate(codes) for j, codes in found.items()}

    def _in_parts(self, table: AnyTable, rows: RowIndex) -> Iterator[ModelRows]:
        """Yield rows of a table as models take them, as many at a time as are transformed together."""
        indices = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        step = max(1, _CELLS // max(len(self.preprocessing.outputs), 1))
        for start in range(0, len(indices), step):
            yield table.tile(indices[start : start + step], 1).own()

    def _outside_rows(self, table: AnyTable) -> Bools:
        """Return which rows of a table have a transformed value that the model does not accept."""
        parts = self._in_parts(table, slice(0, len(table)))
        outside = [super(PipelineForest, self)._outside_rows(self.preprocessing(X)) for X in parts]
        return np.concatenate([np.zeros(0, bool), *outside])

    def refuses_inserted(self, j: int, values: Floats) -> bool:
        """Return whether the model does not accept some values in a column, once they are transformed."""
        return bool((self.numbers(j, values) == _OUTSIDE).any())

    def own(self, batch: Batch, j: int) -> Mapping[int, ThresholdCodes]:
        """Return a batch's own codes of all columns, which are transformed together."""
        table = batch.dataset.table
        if self.held(table) is not None:
            return {j: self.rows(table, j, batch.rows)}
        return self._of_table(table, batch.rows, self.shape.columns)

    def numbers(self, j: int, values: Floats) -> ThresholdCodes:
        """Return the codes of inserted values of a column, of any shape; `_OUTSIDE` if the model does not accept it."""
        distinct, inverse = np.unique(values, return_inverse=True)
        known, codes = self._inserted.get(j, (np.zeros(0), np.zeros(0, np.int32)))
        place = np.searchsorted(known, distinct)
        inside = place < len(known)
        found = np.zeros(len(distinct), bool)
        old, now = known[place[inside]], distinct[inside]
        found[inside] = (old == now) | (np.isnan(old) & np.isnan(now))
        out = np.empty(len(distinct), np.int32)
        out[found] = codes[place[found]]
        new = distinct[~found]
        if len(new):
            out[~found] = self._inserted_codes(j, new)
            if len(known) + len(new) > _INSERTED:
                known, codes = np.zeros(0), np.zeros(0, np.int32)
            together = np.concatenate([known, new])
            order = np.argsort(together, kind="stable")
            # One assignment of a new pair: threads may read the former one.
            self._inserted[j] = together[order], np.concatenate([codes, out[~found]])[order]
        return out[inverse].reshape(values.shape)

    def _inserted_codes(self, j: int, values: Floats) -> ThresholdCodes:
        table = self.preprocessing(self.with_values({j: values}))
        parts = [self.inner.read(table, d) for d in self.sources.get(j, [])]
        codes = self.joins[j].codes(parts) if parts else np.zeros(len(values), np.int32)
        outside = np.zeros(len(values), bool)
        for d, output in enumerate(self.preprocessing.outputs):
            if self.ensemble.limited and output.column == j:
                outside |= self.inner.outside_in(table, d)
        return np.where(outside, _OUTSIDE, codes)

    def with_values(self, values: Mapping[int, Floats]) -> ModelRows:
        """Return a row of X with columns replaced by these values, of which there are equally many."""
        size = len(next(iter(values.values())))
        buffer = self.template.tile(np.zeros(size, np.int64), 1)
        return buffer.swept({j: column[None] for j, column in values.items()}, 1)

    # --- jumps ---

    def jumps(self, j: int) -> Floats | None:
        if self.shape.place(j) < 0:
            return np.zeros(0)
        return self._positions.get(j)

    @cached_property
    def _positions(self) -> dict[int, Floats]:
        """Return the jumps of all columns of which they are known: searched together, to transform few times."""
        found: dict[int, list[Floats]] = {j: [] for j in self.ranges if self._increases(j)}
        searches = [
            _Search(d, self.inner.shape.tests[self.inner.shape.place(d)], *self.ranges[j])
            for j in found
            for d in self.sources[j]
            if self.preprocessing.outputs[d].kind != "missing"
        ]
        # A column of X may have several columns with tests: one after the other.
        waiting = list(searches)
        while waiting:
            together: dict[int, _Search] = {}
            for search in waiting:
                together.setdefault(self.preprocessing.outputs[search.column].column, search)
            self._search(together)
            for j, search in together.items():
                found[j].append(search.low[search.inside])
            waiting = [s for s in waiting if s not in together.values()]
        return {j: np.unique(np.concatenate([np.zeros(0), *p])) for j, p in found.items()}

    def _increases(self, j: int) -> bool:
        """Return whether all tested columns made of a column increase with it, or tell only whether it is missing."""
        made = self.sources.get(j, [])
        tests = [self.inner.shape.tests[self.inner.shape.place(d)] for d in made]
        kinds = {self.preprocessing.outputs[d].kind for d in made}
        few = all(len(t.thresholds) <= _MOST_JUMPS for t in tests)
        return (
            few
            and kinds <= {"same", "increasing", "missing"}
            and all(t.categories is None and t.also_missing is None for t in tests)
        )

    def _search(self, searches: Mapping[int, _Search]) -> None:
        """Narrow the brackets of some columns' jumps down to adjacent numbers."""
        with np.errstate(all="ignore"):
            ends = {j: np.concatenate([s.low, s.high]) for j, s in searches.items()}
            for j, values in self._made(searches, ends).items():
                searches[j].start(values)
            while any(s.open.any() for s in searches.values()):
                tried = {j: s.candidates() for j, s in searches.items() if s.open.any()}
                for j, values in self._made(searches, tried).items():
                    searches[j].narrow(tried[j], values)

    def _made(
        self, searches: Mapping[int, _Search], values: Mapping[int, Floats]
    ) -> dict[int, Floats]:
        """Return the transformed values of some columns, all inserted into the same rows."""
        size = max(len(column) for column in values.values())
        rows = self.with_values({j: np.resize(column, size) for j, column in values.items()})
        table = self.preprocessing(rows)
        return {j: table.column(searches[j].column)[: len(v)] for j, v in values.items()}


class _Search:
    """The search for the largest number of a column of X that passes each threshold of a column made of it."""

    def __init__(self, column: int, tests: ColumnTests, low: float, high: float) -> None:
        self.column, self.tests = column, tests
        count = len(tests.thresholds)
        self.low, self.high = np.full(count, low), np.full(count, high)
        self.inside = np.zeros(count, bool)
        self._values = np.zeros((2, count))

    @property
    def open(self) -> Bools:
        """Return which jumps are still between two numbers that are not adjacent."""
        return self.inside & (np.nextafter(self.low, np.inf) < self.high)

    def start(self, values: Floats) -> None:
        """Take the transformed ends of the range: only jumps between them are searched."""
        self._values = values.reshape(2, -1).copy()
        left = self._passes(self._values)
        self.inside = left[0] & ~left[1]

    def _passes(self, values: Floats) -> Bools:
        """Return whether transformed values, (k, T), pass the T thresholds."""
        return self.tests.codes(values) <= np.arange(values.shape[-1])

    def candidates(self) -> Floats:
        """Return numbers in each bracket: two middles, and one on either side of where a straight line passes."""
        low, high = self.low, self.high
        first, last = self._values
        share = np.clip((self.tests.thresholds - first) / (last - first), 0.0, 1.0)
        guess = np.where(np.isfinite(share), low + share * (high - low), low)
        room = 4 * np.spacing(np.maximum(np.abs(guess), np.abs(high - low) * 2.0**-40))
        middle = low + (high - low) / 2
        # Halved before they are added, because the sum of two ranks may exceed 64 bits.
        between = _number(_rank(low) // 2 + _rank(high) // 2)
        tried = np.stack([guess - room, middle, between, guess + room])
        return np.clip(tried, np.nextafter(low, np.inf), np.nextafter(high, -np.inf)).reshape(-1)

    def narrow(self, tried: Floats, values: Floats) -> None:
        """Take the transformed values of the candidates."""
        tried, values = tried.reshape(4, -1), values.reshape(4, -1)
        open_ = self.open
        for x, value, left in zip(tried, values, self._passes(values), strict=True):
            up = open_ & left & (x > self.low)
            down = open_ & ~left & (x < self.high)
            self.low[up], self._values[0, up] = x[up], value[up]
            self.high[down], self._values[1, down] = x[down], value[down]


def _rank(x: Floats) -> Ints:
    """Return the ranks of numbers among all floats: the difference of two is how many floats apart they are."""
    bits = (x + 0.0).view(np.int64)
    return np.where(bits < 0, -(bits & np.int64(0x7FFFFFFFFFFFFFFF)), bits)


def _number(rank: Ints) -> Floats:
    return np.where(rank < 0, -np.abs(rank).view(np.float64), np.abs(rank).view(np.float64))


# --- construction ---------------------------------------------------------------------------------


def read_forest(model: object, dataset: Dataset, *, compiled: bool) -> TreeForest:
    """Return the trees of a fitted model, or of the last step of a pipeline, ready for evaluation on columns of X."""
    if not is_pipeline(model):
        ensemble = readers.load(model)
        if dataset.library is None and takes_codes(model):
            ensemble = replace(ensemble, levels={})
        elif ensemble.names:
            ensemble = with_levels_of(ensemble, dataset.table)
        return TreeForest(ensemble, compiled)
    before = preprocessing_of(model)
    return pipeline_forest(readers.load(model.steps[-1][1]), before, dataset, compiled=compiled)


def pipeline_forest(
    ensemble: Ensemble, preprocessing: Preprocessing, dataset: Dataset, *, compiled: bool
) -> PipelineForest:
    """Return the ensemble of a pipeline's last step on the columns of X."""
    if ensemble.columns != len(preprocessing.outputs):
        raise TreesUnreadable(
            f"its transformers return {len(preprocessing.outputs)} columns, and the trees have {ensemble.columns}"
        )
    batch = dataset.evenly_spaced_batch(1)
    table = dataset.table
    template = as_table(table.tile(batch.table_rows[:1], 1).own())
    if ensemble.names:
        ensemble = with_levels_of(ensemble, preprocessing(template.tile(slice(0, 1), 1).own()))
    forest = PipelineForest(ensemble, compiled, preprocessing=preprocessing, template=template)
    times = [
        f.name for f in dataset.features if f.time is not None and f.position in forest.sources
    ]
    if times:
        raise TreesUnreadable(f"column {times[0]!r} has times")
    try:
        _join(forest, dataset, table)
    except TreesUnreadable:
        raise
    except Exception as error:
        # Transformers raise exceptions of any kind.
        raise TreesUnreadable(f"its transformers fail: {error}") from error
    return forest


def _join(forest: PipelineForest, dataset: Dataset, table: Table[Container]) -> None:
    """Find how the codes of each column follow from those of the columns made of it, and the columns' ranges."""
    outputs, shape = forest.preprocessing.outputs, forest.inner.shape
    numeric = {f.position for f in dataset.features if f.kind == "continuous"} & set(forest.sources)
    forest.ranges = {j: r for j in sorted(numeric) if (r := dataset.range_of(j)) is not None}
    for j, made in forest.sources.items():
        parts = [shape.tests[shape.place(d)] for d in made]
        if len(parts) == 1:
            forest.joins[j] = _Join(parts[0], itemgetter(0))
            continue
        join: _Join | None = None
        if j in numeric and (value := finite_range(table.column(j))) is not None:
            try:
                codes = forest.parts_of(forest.with_values({j: np.array([value[0], np.nan])}), [j])[
                    j
                ]
            except Exception:  # noqa: BLE001 - the column cannot hold a missing value
                codes = []
            if codes:
                here, gone = ([int(c[i]) for c in codes] for i in (0, 1))
                join = _marked(parts, [outputs[d] for d in made], here, gone)
        if join is None:
            tests = JointTests.of(parts)
            join = _Join(tests, partial(_numbered, tests.states))
        forest.joins[j] = join
    if forest.held(table) is not None and forest.shape.columns:
        forest.rows(table, forest.shape.columns[0], None)
    for j, join in forest.joins.items():
        if (
            join.tests.categories is not None
            and len(join.tests) * join.tests.missing > _LARGEST_TABLE
        ):
            names = {f.position: f.name for f in dataset.features}
            raise TreesUnreadable(
                f"column {names[j]!r} has {len(join.tests):,} tests of several columns"
            )
