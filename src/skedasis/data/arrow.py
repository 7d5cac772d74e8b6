"""The parts of pyarrow that are used here, as types: pyarrow has no annotations of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Protocol, Self, cast

from skedasis._types import Ints, Values


class ArrowType(Protocol):
    """The type of a column."""

    @property
    def bit_width(self) -> int: ...  # noqa: D102
    @property
    def value_type(self) -> ArrowType: ...  # noqa: D102
    @property
    def ordered(self) -> bool: ...  # noqa: D102
    @property
    def tz(self) -> str | None: ...  # noqa: D102
    def to_pandas_dtype(self) -> type: ...  # noqa: D102


class ArrowField(Protocol):
    """The name and type of a column."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def type(self) -> ArrowType: ...  # noqa: D102
    def with_type(self, new_type: ArrowType) -> ArrowField: ...  # noqa: D102


class ArrowSchema(Protocol):
    """The columns of a table."""

    @property
    def names(self) -> list[str]: ...  # noqa: D102
    def __iter__(self) -> Iterator[ArrowField]: ...
    def field(self, name: str) -> ArrowField: ...  # noqa: D102
    def get_field_index(self, name: str) -> int: ...  # noqa: D102
    def remove(self, i: int) -> ArrowSchema: ...  # noqa: D102
    def append(self, field: ArrowField) -> ArrowSchema: ...  # noqa: D102
    def empty_table(self) -> ArrowTable: ...  # noqa: D102


class ArrowColumn(Protocol):
    """A column of a table."""

    @property
    def type(self) -> ArrowType: ...  # noqa: D102
    @property
    def null_count(self) -> int: ...  # noqa: D102
    def cast(self, target_type: ArrowType) -> ArrowColumn: ...  # noqa: D102
    def to_numpy(self, zero_copy_only: bool = ...) -> Values: ...  # noqa: D102


class ArrowValues(Protocol):
    """An array of values."""

    def __len__(self) -> int: ...
    def to_pylist(self) -> list[Any]: ...  # noqa: D102


class ArrowTable(Protocol):
    """Rows in columns of one chunk or several."""

    @property
    def num_rows(self) -> int: ...  # noqa: D102
    @property
    def num_columns(self) -> int: ...  # noqa: D102
    @property
    def schema(self) -> ArrowSchema: ...  # noqa: D102
    def __len__(self) -> int: ...
    def column(self, i: int | str) -> ArrowColumn: ...  # noqa: D102
    def select(self, columns: Sequence[str]) -> Self: ...  # noqa: D102
    def slice(self, offset: int = 0, length: int | None = None) -> Self: ...  # noqa: D102
    def take(self, indices: Ints) -> Self: ...  # noqa: D102
    def cast(self, target_schema: ArrowSchema, safe: bool = ...) -> Self: ...  # noqa: D102
    def filter(self, mask: object) -> Self: ...  # noqa: D102
    def append_column(self, field_: str, column: object) -> Self: ...  # noqa: D102
    def set_column(self, i: int, field_: str, column: object) -> Self: ...  # noqa: D102
    def combine_chunks(self) -> Self: ...  # noqa: D102
    def to_pandas(self, **options: object) -> Any: ...  # noqa: D102


class Expression(Protocol):
    """A condition on columns, by which rows are filtered."""

    def __and__(self, other: Expression) -> Expression: ...


class Compute(Protocol):
    """Functions of pyarrow.compute, which its own types leave out."""

    def if_else(self, test: object, x: object, y: object, /) -> ArrowColumn: ...  # noqa: D102
    def is_nan(self, x: ArrowColumn, /) -> ArrowColumn: ...  # noqa: D102
    def local_timestamp(self, x: ArrowColumn, /) -> ArrowColumn: ...  # noqa: D102


def compute_functions() -> Compute:
    """Return the module pyarrow.compute."""
    return cast("Compute", import_module("pyarrow.compute"))


class FileInfo(Protocol):
    """What a file system knows of a file."""

    @property
    def path(self) -> str: ...  # noqa: D102
    @property
    def size(self) -> int | None: ...  # noqa: D102
    @property
    def mtime_ns(self) -> int | None: ...  # noqa: D102
    @property
    def type(self) -> object: ...  # noqa: D102


class FileSystem(Protocol):
    """A file system: local, or an object store."""

    @property
    def type_name(self) -> str: ...  # noqa: D102
    def get_file_info(self, paths_or_selector: object) -> Any: ...  # noqa: D102
    def open_input_file(self, path: str) -> Any: ...  # noqa: D102


class ParquetReader(Protocol):
    """An open Parquet file."""

    @property
    def schema_arrow(self) -> ArrowSchema: ...  # noqa: D102
    @property
    def metadata(self) -> Any: ...  # noqa: D102
    def iter_batches(self, **options: object) -> Iterator[object]: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102
