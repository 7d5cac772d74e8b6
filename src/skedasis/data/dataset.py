"""`Dataset`: the validated data set (rows, labels, weights, schema), which is read in batches."""

from __future__ import annotations

import importlib.util
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skedasis._arguments import as_numbers, check_int_or_none, shown
from skedasis._calls import result_error
from skedasis._escaping import Printed
from skedasis._progress import map_in_order
from skedasis._types import Bools, Container, Floats, Ints, JsonValue, TableLike, Values
from skedasis.data.categories import (
    MAX_LEVELS,
    CodedLevels,
    LevelColumn,
    check_level_count,
    group_values,
    level_column,
    observed_group,
    ordered_levels,
    typed_level,
)
from skedasis.data.category_order import OtherFeature, level_distances, similarity_order
from skedasis.data.column_stats import Column
from skedasis.data.containers import ArrayTable, Buffer, RowIndex, Table
from skedasis.data.factorize import Factorized, missing_mask
from skedasis.data.features import Feature, Schema, apply_schema, check_integers, check_names
from skedasis.data.row_rules import KEPT_ROWS, KeptRows, MaskedRows
from skedasis.errors import DataError, UnsupportedError
from skedasis.stats.heterogeneity_score import draw_keys
from skedasis.stats.integer_weights import exact_sum, quantised, rounded, weight_quantum
from skedasis.stats.random import row_hashes

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

# ------------------------------------------------------------------------- data set and batches
AnyColumn: TypeAlias = Column | LevelColumn | Feature
"""What a method gets of a feature: its numbers, its levels, or only the feature if it permutes whole rows (PFI)."""

_ScalarT = TypeVar("_ScalarT", bound=np.generic)
_ResultT = TypeVar("_ResultT")
StateT = TypeVar("StateT")
PartT_contra = TypeVar("PartT_contra", contravariant=True)


class Pass(Protocol[StateT, PartT_contra]):
    """Work on all rows, part after part: parts can be added, and states merged, in any order."""

    def state(self) -> StateT:
        """Return the state of no rows."""
        ...

    def add(self, state: StateT, first: int, part: PartT_contra, /) -> None:
        """Add a part, of which the first row has this number, to a state."""
        ...

    def merge(self, state: StateT, other: StateT, /) -> None:
        """Add the rows of another state to a state."""
        ...


def add_each(state: Sequence[Ints], other: Sequence[Ints]) -> None:
    """Add arrays to arrays, in place."""
    for own, more in zip(state, other, strict=True):
        np.add(own, more, out=own)


class BatchPass(Pass[StateT, "Batch"], Protocol):
    """Work on batches, which are numbered."""

    def prepare(self, rows: Dataset) -> Dataset:
        """Return rows as the work needs them."""
        ...


_CACHE_BYTES = 8_000_000
"""Columns are cached as arrays if all of them together are smaller, so that batches do not extract them again."""


@dataclass(frozen=True)
class RowSample:
    """A simple random sample of the rows with a positive weight: those with the smallest hashes."""

    size: int
    random_state: int

    def of(self, dataset: Dataset) -> Dataset:
        """Return the rows of a data set that are drawn, in their order."""
        n = len(dataset)
        if self.size >= n:
            return dataset
        # The keys of rows that are drawn from data beyond memory: the same rows are drawn from both.
        keys = draw_keys(dataset.identifiers, None, self.random_state)
        places = np.sort(np.argsort(keys, kind="stable")[: self.size])
        origin: dict[str, JsonValue] = {"source_rows": n, "sample": self.size, "exact": False}
        return replace(dataset.subset(places), origin={**dataset.origin, **origin})


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a dataset."""

    dataset: Dataset
    rows: RowIndex
    weights: Floats | None
    size: int
    start: int | None = None

    def __len__(self) -> int:
        return self.size

    @property
    def table_rows(self) -> Ints:
        """Return the indices of the rows in the dataset's table, shape (size,)."""
        if isinstance(self.rows, slice):
            return np.arange(self.rows.start, self.rows.stop)
        return self.rows

    @property
    def row_id(self) -> Ints:
        """Return the indices of the rows in X, shape (size,)."""
        numbers = self.dataset.row_numbers
        return (
            self.table_rows + self.dataset.offset if numbers is None else numbers[self.table_rows]
        )

    @property
    def places(self) -> Ints:
        """Return the indices of the rows in the dataset, shape (size,)."""
        if self.start is not None:
            return np.arange(self.start, self.start + self.size)
        ids = self.dataset.row_id
        if ids is None:
            return self.table_rows - self.dataset.skip
        return np.searchsorted(ids, self.table_rows)

    @property
    def identifiers(self) -> Values:
        """Return the row identifiers that the caller gave, else the row indices in X, shape (size,)."""
        keys = self.dataset.keys
        return self.row_id if keys is None else self._of_rows(keys)

    def take(self, some: Ints) -> Batch:
        """Return some rows of the batch."""
        weights = None if self.weights is None else self.weights[some]
        return Batch(self.dataset, self.table_rows[some], weights, len(some))

    def column(self, j: int) -> Floats:
        cached = self.dataset.float_cache.get(j)
        if cached is not None and self.start is not None:
            return cached[self.start : self.start + self.size]
        return self.dataset.table.column(j, self.rows)

    def codes(self, column: LevelColumn) -> Ints:
        """Return the rows' codes of a categorical feature, shape (size,); -1 for rows without a level."""
        return self._of_rows(self.dataset.level_codes(column))

    def given_labels(self) -> Values:
        """Return the rows' labels as the caller gave them, shape (size,)."""
        if self.dataset.y is None:
            raise DataError("y", "no labels", "one label per row", "Pass y=")
        return self._of_rows(self.dataset.y)

    def split(self) -> Values:
        """Return the rows' values of the column by which means are kept apart, shape (size,)."""
        if self.dataset.split is None:
            raise TypeError("the rows were read without a column for a split")
        return self._of_rows(self.dataset.split)

    def targets(self) -> Values:
        """Return the rows' labels as the quantity encodes them, shape (size,)."""
        if self.dataset.targets is None:
            raise DataError("y", "no labels", "one label per row", "Pass y=")
        return self._of_rows(self.dataset.targets)

    def _of_rows(self, values: NDArray[_ScalarT]) -> NDArray[_ScalarT]:
        """Return the entries of these rows from an array over all rows of the dataset."""
        if self.start is not None:
            return values[self.start : self.start + self.size]
        return values[self.places]

    def tile(self, copies: int, used: Buffer[Container] | None = None) -> Buffer[Container]:
        """Return a buffer of the batch's rows, repeated `copies` times (see `Table.tile`)."""
        return self.dataset.table.tile(self.rows, copies, used)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A validated data set: n rows of a table, with features, labels and weights.

    Parameters
    ----------
    table : Table
        Holds the rows, and possibly others.
    features : tuple of Feature
        One for each column.
    y : ndarray, shape (n,), optional
        The labels as the caller gave them.
    weights : ndarray of float, shape (n,), optional
        The weights, all positive; None for 1.
    row_id : ndarray of int, shape (n,), optional
        The indices of the rows in the table, ascending; None for all rows after the first `skip`.
    library : str, optional
        The library of the data frame; None for an array.
    float_cache, code_cache, level_cache : dict
        Columns that have been read: as numbers and as codes by position, as codes of levels by the identity of these.
    targets : ndarray, shape (n,), optional
        The labels as the quantity encodes them.
    keys : ndarray, shape (n,), optional
        The row identifiers that the caller gave.
    sampled : bool
        Whether these are a sample of the rows to explain, so that results are not exact.
    skip : int
        Number of rows at the start of the table that are no rows of the data set: examples of levels, or donors.
    offset : int
        The index in X of the table's first row, by which those of the others are counted.
    row_numbers : ndarray of int, shape of the table's rows, optional
        The index in X of each row of the table, where these are not consecutive; -1 for those that are skipped.
    origin : dict
        Entries of provenances about where the rows come from.
    sampling_weights : bool
        Whether weights are sampling weights; else frequencies.
    model_tables : tuple of Table
        The table as each model of a quantity of several takes it; empty if they all take `table`.
    split : ndarray, shape (n,), optional
        The values by which observed means are kept apart, of data beyond memory that name a column of them.
    """

    table: Table[Container]
    features: tuple[Feature, ...]
    y: Values | None = None
    weights: Floats | None = None
    row_id: Ints | None = None
    library: str | None = None
    float_cache: dict[int, Floats] = field(default_factory=dict)
    code_cache: dict[int, Ints | None] = field(default_factory=dict)
    targets: Values | None = None
    keys: Values | None = None
    sampled: bool = False
    skip: int = 0
    offset: int = 0
    row_numbers: Ints | None = None
    level_cache: dict[int, tuple[LevelColumn, Ints]] = field(default_factory=dict)
    origin: dict[str, JsonValue] = field(default_factory=dict)
    sampling_weights: bool = False
    model_tables: tuple[Table[Container], ...] = ()
    split: Values | None = None

    def __len__(self) -> int:
        return len(self.table) - self.skip if self.row_id is None else len(self.row_id)

    @property
    def rows(self) -> RowIndex | None:
        """Return the rows of the table that belong to the data set; None for all."""
        if self.row_id is None and self.skip:
            return slice(self.skip, len(self.table))
        return self.row_id

    @property
    def total_weight(self) -> float:
        """Return the sum of the rows' weights."""
        return float(len(self)) if self.weights is None else rounded(exact_sum(self.weights))

    @property
    def provenance(self) -> dict[str, JsonValue]:
        """Return what results record of how the rows were read: nothing if they are all the rows of X, in memory."""
        return self.origin

    @property
    def kept_row_bytes(self) -> int:
        """Return the bytes of a kept row beside its local effects: none, because X is in memory."""
        return 0

    @property
    def drawable(self) -> Dataset:
        """Return a data set in memory from which rows are drawn by their hashes: itself."""
        return self

    @property
    def weight_quantum(self) -> float | None:
        """Return the power of two of which integer sums of weights are multiples; None without weights."""
        return None if self.weights is None else weight_quantum(self.weights.max(), len(self))

    def integer_weights(self, quantum: float | None) -> Ints | None:
        """Return the rows' weights as multiples of a quantum, (n,); None without weights."""
        return None if self.weights is None or quantum is None else quantised(self.weights, quantum)

    @property
    def places_in_x(self) -> Ints:
        """Return the indices of the rows in X, shape (n,)."""
        return self.whole.row_id

    def table_rows(self, places: Ints) -> Ints:
        """Return the indices in the table of some rows, given those in the data set."""
        return places + self.skip if self.row_id is None else self.row_id[places]

    # -- what differs if the rows do not fit in memory
    def once_known(self, work: Callable[[], _ResultT]) -> _ResultT:
        """Return what `work` returns, when all is known that it asks for."""
        return work()

    def before_passes(self, work: Callable[[], _ResultT]) -> _ResultT | None:
        """Return what `work` returns of all rows; None if they are not at hand yet."""
        return work()

    def fold(self, work: Pass[StateT, Dataset], text: str, record: str) -> StateT:
        """Return the state of all rows."""
        state = work.state()
        work.add(state, 0, self)
        return state

    def fold_batches(
        self,
        work: BatchPass[StateT],
        size: int,
        memory: int,
        n_jobs: int,
        begin: Callable[[], object] | None,
        stop: Callable[[], object],
    ) -> Generator[tuple[int, StateT]]:
        """Yield the states of consecutive rows, with their number, in order."""

        def state_of(numbered: tuple[int, Batch]) -> tuple[int, StateT]:
            state = work.state()
            work.add(state, *numbered)
            return len(numbered[1]), state

        return map_in_order(state_of, list(enumerate(self.batches(size))), n_jobs, begin, stop)

    def rows_to_keep(self, kept: int, seed: int) -> KeptRows | None:
        """Return the rows that results keep; None for all."""
        return self.sample_rows(kept, seed)

    def sample_rows(self, kept: int, seed: int) -> MaskedRows | None:
        """Return the rows with the smallest hashes; None for all."""
        if kept >= len(self):
            return None
        sample = np.zeros(len(self), dtype=bool)
        if kept:
            hashes = row_hashes(self.identifiers, seed, KEPT_ROWS)
            sample[np.argpartition(hashes, kept - 1)[:kept]] = True
        return MaskedRows(sample)

    def note_kept(self, rows: int) -> None:
        """Note how many rows results keep, where that is known only when they have been read."""

    def kept_rows(self, rule: KeptRows | None) -> Dataset:
        """Return a data set in memory with the rows that results keep, and those that are drawn: itself."""
        return self

    def rows_for_pairs(self, most: int | None, seed: int) -> Dataset:
        """Return the rows from which `most` are drawn whose pairs are computed: all that are at hand."""
        return self

    def donors_for_chunks(self) -> Dataset | None:
        """Return the rows whose values others get in permutations; None if these are all rows."""
        return None

    def range_of(self, j: int) -> tuple[float, float] | None:
        """Return the smallest and largest finite number of a column in all rows of the table; None if not known."""
        return finite_range(self.table.column(j))

    def level_order(self, column: LevelColumn, others: Sequence[Feature] | None) -> Ints:
        """Return the order of a feature's levels in which neighbours have similar values of the other features."""
        own = set(column.feature.columns)
        chosen = self.features if others is None else others
        parts = self.other_features([f for f in chosen if not own & set(f.columns)])
        size, sampling = len(column.levels), self.sampling_weights
        return similarity_order(
            level_distances(column.codes, size, parts, column.weights, sampling=sampling)
        )

    @cached_property
    def sorted(self) -> Ints | None:
        """Return the indices that sort the rows by their keys; None without keys."""
        return None if self.keys is None else np.argsort(self.keys, kind="stable")

    @property
    def order(self) -> Ints:
        """Return the indices that sort the rows by their keys; without keys the rows in their given order."""
        return np.arange(len(self)) if self.sorted is None else self.sorted

    @property
    def identifiers(self) -> Values:
        """Return the row identifiers that the caller gave, else the row indices in X. They key random draws."""
        if self.keys is not None:
            return self.keys
        return np.arange(len(self)) if self.row_id is None else self.row_id

    def subset(self, places: Ints) -> Dataset:
        """Return the subset of the rows with these indices, which are ascending."""
        parts = {
            name: None if values is None else values[places]
            for name, values in (
                ("y", self.y),
                ("weights", self.weights),
                ("targets", self.targets),
                ("keys", self.keys),
                ("split", self.split),
            )
        }
        rows = self.table_rows(places)
        return replace(
            self, row_id=rows, float_cache={}, code_cache={}, level_cache={}, sampled=True, **parts
        )

    def fits_cache(self, size: int) -> bool:
        """Return whether arrays of `size` bytes are small enough to be cached, one for each column."""
        return size * len(self.features) <= _CACHE_BYTES

    def cache_numbers(self) -> None:
        """Read all numeric columns once, if batches are to read them many times."""
        for feature in self.features:
            x = self.numbers(feature)
            if x is not None:
                x.flags.writeable = False  # shared with batches and results
                self.float_cache[feature.position] = x

    def floats(self, j: int) -> Floats:
        """Return column j of the rows as float64, NaN where a value is missing."""
        try:
            return self.table.column(j, self.rows)
        except (ValueError, TypeError) as error:
            feature = self.features[j]
            raise DataError(
                f"feature {feature.name!r}",
                f"values that are not numbers, declared as {feature.kind}",
                "numbers",
                "Remove it from schema, or use numeric codes",
            ) from error

    def coded(self, j: int) -> Factorized:
        """Return column j of the rows as codes and distinct values."""
        return self.table.coded(j, self.rows)

    def column(self, j: int) -> Column:
        """Return the values of a numeric feature."""
        # Checked before the conversion to floats, which rounds large integers.
        check_integers(self.features[j], self.table.integer_ends(j, self.rows))
        x = self.floats(j)
        if self.fits_cache(x.nbytes):
            x.flags.writeable = False  # shared with batches and results
            self.float_cache[j] = x
        dtype, sampling = self.table.numeric_type(j), self.sampling_weights
        return Column(self.features[j], x, self.weights, dtype, sampling=sampling)

    def levels(
        self, feature: Feature, top: int | None = None, most: int = MAX_LEVELS
    ) -> LevelColumn:
        """Return the levels of a categorical feature, and the code of each row."""
        top = check_int_or_none("top_levels", top, 1, "Leave it out to keep all levels")
        limit = len(self) + 1 if top is not None else most
        return level_column(self, feature, self.observed(feature, limit), top)

    def observed(self, feature: Feature, most: int, sizes: Ints | None = None) -> CodedLevels:
        """Return the codes, values and labels of a categorical feature."""
        if feature.members:
            columns = [self.features[j] for j in feature.members]
            coded = [self.coded(f.position) for f in columns]
            observed = observed_group(feature, columns, coded, sizes)
            has_missing = bool((observed.codes < 0).any())
            check_level_count(feature, len(observed.values) + has_missing, most)
            return observed
        codes, values = self.coded(feature.position)
        has_missing = feature.kind == "nominal" and bool((codes < 0).any())
        check_level_count(feature, len(values) + has_missing, most)
        return ordered_levels(feature, codes, values, sizes)

    def level_codes(self, column: LevelColumn) -> Ints:
        """Return the codes of this data set's rows in a categorical feature, (n,); -1 for rows without a level."""
        if column.of_rows(self):
            return column.codes
        cached = self.level_cache.get(id(column))
        if cached is None or cached[0] is not column:
            cached = column, self._level_codes(column)
            self.level_cache[id(column)] = cached
        return cached[1]

    def _level_codes(self, column: LevelColumn) -> Ints:
        """Return the rows' codes, found by their values among the feature's levels."""
        feature, levels = column.feature, column.levels
        if feature.members:
            columns = [self.features[j] for j in feature.members]
            parts = [self.coded(f.position) for f in columns]
            codes, values = group_values(feature, columns, parts, levels)
        else:
            codes, values = self.coded(feature.position)
        code_of = [levels.find(typed_level(v, feature.dtype)) for v in values]
        missing = levels.find(None) if feature.kind == "nominal" else -1
        return np.array([*code_of, missing], dtype=np.int64)[codes]

    def present(self, column: Column | LevelColumn) -> Ints | None:
        """Return the indices of the rows that have a value of a feature; None for all."""
        return column.present

    def numbers(self, feature: Feature) -> Floats | None:
        """Return a feature's values as floats, NaN where missing; None if its values have no distances."""
        if feature.members or not feature.numeric:
            return None
        cached = self.float_cache.get(feature.position)
        if cached is not None:
            return cached
        try:
            return self.floats(feature.position)
        except DataError:  # declared as ordinal, but not numeric
            return None

    def is_missing(self, feature: Feature) -> Bools:
        """Return which rows have no value of a feature, of a group those without one of its columns; shape (n,)."""
        x = self.numbers(feature)
        if x is not None:
            return np.isnan(x)
        return np.any([self.coded(j).codes < 0 for j in feature.columns], axis=0)

    def other_features(self, features: Iterable[Feature]) -> Iterator[OtherFeature]:
        """Yield the features one at a time: as numbers if they have distances, else as codes."""
        for feature in features:
            x = self.numbers(feature)
            if x is not None:
                if np.isfinite(x).any() and not np.isinf(x).any():
                    yield OtherFeature(x, None)
                continue
            if feature.members:
                column = self.levels(feature, most=len(self) + 1)
                yield OtherFeature(None, column.codes, len(column.levels))
                continue
            # Neither order nor labels are needed, and for an identifier they would take seconds.
            codes = self._unordered_codes(feature)
            if codes is not None:
                yield OtherFeature(None, codes, int(codes.max()) + 1)

    def _unordered_codes(self, feature: Feature) -> Ints | None:
        """Return a column's codes in arbitrary order, None if it has no values; cached while small."""
        if feature.position not in self.code_cache:
            codes, values = self.coded(feature.position)
            if feature.kind == "nominal":
                codes = np.where(codes < 0, len(values), codes)
            if not self.fits_cache(codes.nbytes):
                return codes if values else None
            self.code_cache[feature.position] = codes if values else None
        return self.code_cache[feature.position]

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield the rows in order, `size` at a time."""
        for start in range(0, len(self), size):
            part = slice(start, min(start + size, len(self)))
            if self.row_id is not None:
                rows: RowIndex = self.row_id[part]
            else:
                rows = slice(part.start + self.skip, part.stop + self.skip)
            weights = None if self.weights is None else self.weights[part]
            yield Batch(self, rows, weights, part.stop - part.start, start)

    @property
    def whole(self) -> Batch:
        """Return all rows as one batch."""
        rows = slice(self.skip, len(self.table)) if self.row_id is None else self.row_id
        return Batch(self, rows, self.weights, len(self), 0)

    def evenly_spaced_batch(self, count: int, among: Ints | None = None) -> Batch:
        """Return a batch of up to `count` rows at even steps through all rows, or through the rows `among`."""
        size = len(self) if among is None else len(among)
        index = even_places(size, count)
        index = index if among is None else among[index]
        weights = None if self.weights is None else self.weights[index]
        return Batch(self, self.table_rows(index), weights, len(index))


def even_places(n: int, count: int) -> Ints:
    """Return up to `count` indices at even steps through n rows, ascending."""
    return np.unique(np.linspace(0, n - 1, min(count, n)).astype(int))


def as_arrays(dataset: Dataset) -> Dataset:
    """Return the dataset with X converted to an array, for models that were fitted on arrays."""
    if isinstance(dataset.table, ArrayTable):
        return dataset
    return replace(dataset, table=ArrayTable(dataset.table.to_array()))


def as_frames(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """Return the dataset with X converted to a data frame, for models that were fitted on one."""
    if not isinstance(dataset.table, ArrayTable):
        return dataset
    for library in ("pandas", "polars"):
        if importlib.util.find_spec(library) is not None:
            import narwhals.stable.v2 as nw

            from skedasis.data.frames import FrameTable

            frame = nw.from_numpy(dataset.table.X, schema=list(names), backend=library)
            return replace(dataset, table=FrameTable(frame))
    return dataset


def to_array(X: Container) -> Values:
    """Return an array or any data frame as an array."""
    if isinstance(X, np.ndarray):
        return X
    import narwhals.stable.v2 as nw

    from skedasis.data.frames import decoded

    return decoded(nw.from_native(X, eager_only=True)).to_numpy()


# ------------------------------------------------------------------- validation of the arguments
class ChunkedRows(ABC):
    """Rows that are read in chunks, in place of X (`ParquetData`)."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def without_rows(self) -> IntoDataFrame:
        """Return a data frame with the columns of the features and without rows."""


def needs_memory(what: str) -> UnsupportedError:
    """Return the error for work that cannot be done in passes over the data."""
    return UnsupportedError(
        "data that are read in chunks",
        f"work that needs {what}",
        "work in one pass after the other",
        "Read a part into memory: data.take(rows), or a data frame",
    )


def require_rows(
    X: object,
    what: str,
    got: str,
    expected: str,
    fix: str,
    error: type[DataError] | type[UnsupportedError] = UnsupportedError,
) -> None:
    """Raise for an argument that needs the rows of X at hand, if they are read in chunks."""
    if isinstance(X, ChunkedRows):
        raise error(what, f"{got} beside data that are read in chunks", expected, fix)


def finite_range(values: Floats) -> tuple[float, float] | None:
    """Return the smallest and largest finite number; None if there is none."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if len(finite) else None


def columns_of(X: TableLike, what: str) -> IntoDataFrame:
    """Return a data frame with the columns of X, from which a selector chooses."""
    if isinstance(X, ChunkedRows):
        return X.without_rows()
    if isinstance(as_table(X), ArrayTable):
        raise UnsupportedError(
            what,
            "a selector, and an array",
            "a data frame, whose columns have names and types",
            "Use positions, or re.compile() for names such as x0",
        )
    return cast("IntoDataFrame", X)


def as_table(X: TableLike) -> Table[Container]:
    if isinstance(X, np.ndarray):
        return ArrayTable(X)
    if isinstance(X, ChunkedRows):
        raise DataError(
            "X",
            "a ParquetData, whose rows are read in chunks",
            "rows in memory",
            "Read a part of them: data.take(rows).to_pandas()[list(data.columns)]",
        )
    expected = "a NumPy array or a data frame"
    if isinstance(X, Printed):
        raise result_error("X", X, expected)
    if isinstance(X, (list, tuple, dict)) or _is_tensor(X):
        raise DataError("X", f"a {type(X).__name__}", expected, _how_to_convert(X))
    from skedasis.data.frames import FrameTable

    try:
        return FrameTable(cast("IntoDataFrame", X))  # which raises a TypeError for all else
    except TypeError as error:
        got = shown(X) if X is None or isinstance(X, str) else f"a {type(X).__name__}"
        raise DataError("X", got, expected, _how_to_convert(X)) from error


def _how_to_convert(X: object) -> str:
    """Return how to pass the rows, where something else was passed."""
    fix = "Pass the rows to explain on"
    if isinstance(X, (str, os.PathLike)):
        read = "sd.parquet" if str(X).endswith((".parquet", ".pq")) else "pandas.read_csv"
        fix = f"Read the file first: X = {read}({str(X)!r})"
    elif isinstance(X, Mapping):
        fix = "Use pandas.DataFrame(X)"
    elif isinstance(X, tuple) and len(X) == 2:
        fix = "Pass the rows alone, and labels by name: sd.explain(model, X, y=y)"
    elif isinstance(X, (list, tuple)):
        fix = "Use np.asarray(X)"
    elif _is_tensor(X):
        fix = "Use X.detach().cpu().numpy()"
    elif hasattr(X, "predict") or callable(X):
        fix = "Pass the model first, then the rows: sd.explain(model, X)"
    elif hasattr(X, "toarray"):
        fix = "Use X.toarray()"
    elif type(X).__name__ == "Series":
        fix = "Pass all columns that the model takes; for a model of one column X.to_frame()"
    return fix


def _is_tensor(X: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def as_dataset(
    X: TableLike,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    schema: Schema | None = None,
    row_id: ArrayLike | None = None,
    sample: RowSample | None = None,
) -> Dataset:
    """Validate X, y, weights, schema and row identifiers, and return them as a `Dataset`."""
    table = as_table(X)
    features = table.features()
    check_names([f.name for f in features])
    if len(table) == 0 or not features:
        raise DataError(
            "X",
            f"{len(table)} rows and {len(features)} columns",
            "at least one of each",
            "Check how the data were selected",
        )
    labels = None if y is None else _check_labels(y, len(table))
    weights, rows = _check_weights(sample_weight, len(table))
    keys = None if row_id is None else _check_keys(row_id, len(table))
    if rows is not None:
        labels = None if labels is None else labels[rows]
        keys = None if keys is None else keys[rows]
    features = apply_schema(features, schema)
    dataset = Dataset(table, features, labels, weights, rows, table.library, keys=keys)
    return dataset if sample is None else sample.of(dataset)


@runtime_checkable
class _Predictor(Protocol):
    """A model, which some pass as labels."""

    def predict(self, X: object, /) -> object: ...


def _check_labels(y: ArrayLike, n: int) -> Values:
    """Return the labels as an array, one for each row."""
    if isinstance(y, (str, os.PathLike)):
        fix = f"Pass the labels themselves, such as y=data[{str(y)!r}]"
        if "." in str(y):  # the path of a report
            fix = f"Pass the labels of the rows; a path is passed by name: path={str(y)!r}"
        raise DataError("y", f"the text {str(y)!r}", f"{n} labels, one for each row of X", fix)
    if callable(y) or isinstance(y, _Predictor):
        got, expected = shown(y), f"{n} labels, one for each row of X"
        raise DataError("y", got, expected, "Pass the labels of the rows")
    if np.ma.is_masked(y):
        fix = "Leave these rows out of X and y"
        raise DataError(
            "y", f"{int(np.ma.count_masked(y))} masked labels", "one label per row", fix
        )
    labels = np.asarray(y)
    if labels.dtype.kind == "U" and isinstance(y, (list, tuple)):
        labels = np.asarray(y, dtype=object)  # a NaN among texts is no text
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]  # a data frame with one column
    if labels.ndim != 1:
        raise DataError(
            "y",
            f"shape {labels.shape}",
            f"shape ({n},)",
            "Pass one label for each row, such as a column of these; a model of several labels is explained without y",
        )
    if len(labels) != n:
        raise DataError(
            "y",
            f"length {len(labels)}",
            f"length {n} (one per row)",
            "Pass the labels of the same rows as X",
        )
    return labels


def _check_keys(row_id: ArrayLike, n: int) -> Values:
    """Return the row identifiers as an array; raise if they are missing, of several types, or not unique."""
    row_keys = np.asarray(row_id)
    got, fix = None, "Pass one number or text for each row"
    if isinstance(row_id, str):
        got, fix = f"the text {row_id!r}", f"Pass the column itself: row_id=data[{row_id!r}]"
    elif row_keys.shape != (n,):
        got = f"shape {row_keys.shape}"
    elif missing_mask(row_keys).any():
        got = f"{int(missing_mask(row_keys).sum())} missing values"
    else:
        try:
            distinct = len(np.unique(row_keys))
        except TypeError:
            got = "values of several types, which cannot be sorted"
        else:
            got = f"{distinct:,} distinct values in {n:,} rows" if distinct < n else None
    if got is not None:
        raise DataError(
            "row_id",
            got,
            f"shape ({n},) of unique values",
            fix,
        )
    return row_keys


def _check_weights(weights: ArrayLike | None, n: int) -> tuple[Floats | None, Ints | None]:
    """Return the positive weights, and the indices of their rows (None for all rows)."""
    if weights is None:
        return None, None
    w = _as_weights(weights)
    got, fix = None, "Pass one weight per row; rows of weight 0 are excluded"
    if w.shape != (n,):
        got = f"shape {w.shape}"
        if w.shape == (n, 1):
            fix = "Pass a single dimension: np.ravel(sample_weight)"
    elif not np.isfinite(w).all():
        got = f"{int((~np.isfinite(w)).sum())} values that are NaN or infinite"
    elif (w < 0).any():
        got = f"{int((w < 0).sum())} negative values"
    elif not (w > 0).any():
        got = "zeros only"
    if got is not None:
        expected = f"shape ({n},), finite and non-negative, with a positive sum"
        raise DataError("sample_weight", got, expected, fix)
    check_weight_sizes("sample_weight", w)
    if (w > 0).all():
        return w, None
    rows = np.flatnonzero(w > 0)
    return w[rows], rows


LARGEST_WEIGHTS = 2.0**53
"""Largest sum of weights: more rows cannot be counted in float64."""

SMALLEST_WEIGHT = 1e-100
"""Smallest positive weight: the product of smaller ones with a square may leave the range of float64."""


def check_weight_sizes(what: str, weights: Floats) -> None:
    """Raise if finite weights, none of them negative, are too large or too small for sums of squares in float64."""
    positive = weights[weights > 0]
    got = expected = None
    if float(np.minimum(positive, LARGEST_WEIGHTS).sum()) > LARGEST_WEIGHTS:
        got = f"weights of up to {positive.max():.3g} that sum to more than {LARGEST_WEIGHTS:.3g}"
        expected = "a sum of at most 2**53, up to which rows can be counted"
    elif len(positive) and float(positive.min()) < SMALLEST_WEIGHT:
        got = f"positive weights down to {positive.min():.3g}"
        expected = f"0, or at least {SMALLEST_WEIGHT:g}"
    if got is not None and expected is not None:
        fix = "Divide them by their mean, and set to 0 what is then still below 1e-100"
        raise DataError(what, got, expected, fix)


def _as_weights(weights: ArrayLike) -> Floats:
    """Return weights as floats; raise if they are not numbers."""
    try:
        return as_numbers(weights)
    except (TypeError, ValueError) as error:
        raise DataError(
            "sample_weight",
            f"values of {type(weights).__name__} that are not numbers",
            "one number per row",
            f"Pass the weights themselves, such as sample_weight=data[{weights!r}]"
            if isinstance(weights, str)
            else "Pass an array with the weight of each row",
        ) from error
