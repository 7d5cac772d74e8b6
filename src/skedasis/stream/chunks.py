"""Rows of a source as data sets in memory, in types that all chunks have."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from skedasis._types import Container, Floats, Ints, Values
from skedasis.data.arrow import ArrowColumn, ArrowSchema, ArrowTable, ArrowValues
from skedasis.data.containers import ArrayTable, Table
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature
from skedasis.errors import DataError
from skedasis.stream.parquet import ParquetData, RowsLibrary

if TYPE_CHECKING:
    from skedasis.data.frames import TimeFormat


@dataclass(frozen=True, eq=False)
class ChunkReader:
    """Reads rows as data sets in memory, one chunk after the other."""

    source: ParquetData
    features: tuple[Feature, ...]
    library: RowsLibrary
    times: Mapping[int, TimeFormat]
    categories: Mapping[str, ArrowValues]
    types: ArrowSchema
    dtype: np.dtype[np.generic] | None = None
    examples: ArrowTable | None = None
    weighted: bool = False

    def dataset(self, rows: ArrowTable, first: int) -> Dataset:
        """Return rows of the source, of which the first has this number, as a data set in memory."""
        import pyarrow as pa

        source = self.source
        skip = 0 if self.examples is None else self.examples.num_rows
        own = self.unified(rows)
        if self.examples is not None:
            own = pa.concat_tables([self.examples, own])
        keys = _identifiers(rows, source.row_id_name)
        return Dataset(
            self.table(own),
            self.features,
            _plain(rows, source.y_name),
            self.weights(rows),
            library=None if self.library == "numpy" else self.library,
            keys=np.arange(first, first + rows.num_rows) if keys is None else keys,
            skip=skip,
            offset=first - skip,
            split=_plain(rows, source.split_name),
        )

    def gathered(self, numbers: Ints, rows: ArrowTable, *, sampled: bool) -> Dataset:
        """Return rows with these numbers as a data set in memory."""
        here = self.dataset(rows, 0)
        keys = numbers if self.source.row_id_name is None else here.keys
        # The examples of levels before the rows are no rows of X.
        in_table = np.concatenate([np.full(here.skip, -1), numbers])
        return replace(here, keys=keys, row_numbers=in_table, sampled=sampled)

    def unified(self, rows: ArrowTable) -> ArrowTable:
        """Return the columns of the features in the types that all chunks have."""
        import pyarrow as pa
        import pyarrow.compute

        pc: Any = pyarrow.compute
        own = rows.select(list(self.source.columns))
        for name, values in self.categories.items():
            at = own.schema.get_field_index(name)
            kind: Any = self.types.field(name).type
            text = own.column(name).cast(kind.value_type)
            codes = pc.index_in(text, value_set=values).combine_chunks()
            coded = pa.DictionaryArray.from_arrays(
                codes.cast(kind.index_type), values, ordered=kind.ordered
            )
            own = own.set_column(at, name, coded)
        # Integers with missing values become floats as in a data frame of pandas: large ones are rounded.
        return own.cast(self.types, safe=False)

    def weights(self, rows: ArrowTable) -> Floats | None:
        """Return the weights of some rows; None without weights."""
        if not self.weighted:
            return None
        weights = _plain(rows, self.source.weight_name)
        return None if weights is None else weights.astype(float)

    def table(self, rows: ArrowTable) -> Table[Container]:
        """Return rows with the columns of the features as a table."""
        native = self.native(rows)
        if isinstance(native, np.ndarray):
            return ArrayTable(native)
        from skedasis.data.frames import FrameTable

        return FrameTable(native).with_times(self.times)

    def native(self, rows: ArrowTable) -> Container:
        """Return rows with the columns of the features in the container that models are called with."""
        if self.library == "numpy":
            columns = [_numbers(rows.column(j)) for j in range(rows.num_columns)]
            X = np.empty((rows.num_rows, len(columns)), dtype=self.dtype, order="F")
            for j, column in enumerate(columns):
                X[:, j] = column
            return X
        return as_frame(rows, self.library)


def _plain(rows: ArrowTable, name: str | None) -> Values | None:
    """Return a column that is no feature as an array; None if there is no such column."""
    return None if name is None else rows.column(name).to_numpy(zero_copy_only=False)


def _identifiers(rows: ArrowTable, name: str | None) -> Values | None:
    """Return the identifiers of some rows; raise if one is missing."""
    ids = _plain(rows, name)
    if name is None or ids is None:
        return None
    missing = rows.column(name).null_count
    if ids.dtype.kind == "f" and not missing:
        missing = int(np.isnan(ids).sum())
    if missing:
        raise DataError(
            f"row_id={name!r}",
            f"{missing:,} missing values",
            "a number or text for each row",
            "Exclude these rows by filters=, or name another column",
        )
    return ids


def _numbers(column: ArrowColumn) -> Values:
    """Return a column of numbers or booleans, NaN where a value is missing."""
    values = column.to_numpy(zero_copy_only=False)
    return values.astype(float) if values.dtype.kind == "O" else values


def as_frame(rows: ArrowTable, library: RowsLibrary) -> Container:
    """Return rows as a data frame of pandas or Polars, else as they are."""
    if library == "pandas":
        # Booleans with missing values are objects in each chunk.
        return rows.to_pandas(split_blocks=True, date_as_object=True, ignore_metadata=True)
    if library == "polars":
        import polars as pl

        return cast("Container", pl.from_arrow(rows))
    return cast("Container", rows)


def default_library() -> RowsLibrary:
    """Return what rows of files are held in: the first of pandas and Polars that is installed, else Arrow tables."""
    for name in ("pandas", "polars"):
        if importlib.util.find_spec(name) is not None:
            return "pandas" if name == "pandas" else "polars"
    return "pyarrow"
