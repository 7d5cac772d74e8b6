"""Parquet data of the commands: several files, folders and object stores, and files that do not fit in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from skedasis._types import Container, Ints, Values
from skedasis.data.readers import FileTable, no_rows
from skedasis.errors import DataError

if TYPE_CHECKING:
    from skedasis.data.where import RowCondition
    from skedasis.stream.parquet import ParquetData

_SUFFIXES = (".parquet", ".pq")
_PATTERN = "*?["
"""Characters of patterns of paths."""


def is_parquet(path: str) -> bool:
    """Return whether a path names Parquet data: a file, a folder, a pattern, or a URL."""
    if "://" in path or any(c in path for c in _PATTERN):
        return not path.lower().endswith((".csv", ".tsv", ".gz"))
    return Path(path).suffix.lower() in _SUFFIXES or Path(path).is_dir()


def opened(path: str, memory: int) -> FileTable | None:
    """Return Parquet data: in memory if they fit; None for one file that fits, which any reader can read."""
    single = Path(path).is_file()
    if single and Path(path).stat().st_size * _PACKED <= memory:
        return None
    # Imported here: most data are one small file.
    from skedasis.stream.parquet import parquet

    data = parquet(path)
    if data.n_rows * len(data.columns) * 8 <= memory:
        return None if single else _in_memory(data, np.arange(data.n_rows))
    return ParquetTable.of(data, path)


_PACKED = 20
"""A file of more than this part of the memory is opened to see how much its rows need."""


def _in_memory(data: ParquetData, rows: Ints) -> FileTable:
    """Return some rows as a table in the first installed library of data frames, else as an Arrow table."""
    # Imported here: data of one small file do not need it.
    from skedasis.stream.chunks import as_frame, default_library

    found = data.take(rows)
    names = tuple(field.name for field in found.schema)
    return FileTable(as_frame(found, default_library()), names)


_NOTHING = "no row that passes"
"""What the error of a source without rows says."""


def _as_data(source: ParquetData) -> Container:
    """Return a source as the library's functions take it in place of X."""
    return cast("Container", source)


@dataclass(frozen=True, eq=False)
class ParquetTable(FileTable):
    """A table whose rows are read in chunks."""

    source: ParquetData
    path: str
    chosen: RowCondition | None = None

    @classmethod
    def of(cls, source: ParquetData, path: str) -> ParquetTable:
        """Return the table of a source."""
        return cls(_as_data(source), source.columns, source, path)

    def column(self, name: str) -> Values:
        """Raise: a column does not fit in memory."""
        raise DataError(
            "data",
            f"rows of {self.path!r} that are read in chunks",
            f"all values of {name!r}",
            "Explain a part with --sample N, or allow more memory with --memory",
        )

    def select(self, names: Sequence[str]) -> ParquetTable:
        """Return the table with some of the columns."""
        for name in names:
            self.place(name)
        return replace(
            self, data=_as_data(replace(self.source, columns=tuple(names))), names=tuple(names)
        )

    def where(self, text: str, what: str) -> ParquetTable:
        """Return the rows for which a condition on the columns is true: files are read for it, and not copied."""
        table = replace(self, chosen=self.condition(text, what), read=len(self))
        try:
            found = table.with_roles(None, None)
            len(found)
        except DataError as error:
            if _NOTHING in str(error):
                raise no_rows(text, len(self), what) from None
            raise
        return found

    def take(self, rows: Ints) -> FileTable:
        """Return some rows in memory."""
        wanted = np.asarray(rows, dtype=np.int64)
        return _in_memory(replace(self.source, columns=self.names), wanted).select(self.names)

    def first_labels(self) -> Values | None:
        """Return the labels of the first rows, which show of what type labels are; None without a target."""
        name = self.source.y_name
        if name is None:
            return None
        rows = np.arange(min(self.source.n_rows, 1000))
        return self.source.take(rows).column(name).to_numpy(zero_copy_only=False)

    def with_roles(self, target: str | None, weight: str | None) -> ParquetTable:
        """Return the table with the columns of labels and weights; rows without a label are left out."""
        # Imported here: most data are one small file.
        import pyarrow.compute as pc

        from skedasis.stream.parquet import parquet

        given = None if target is None else ~pc.field(target).is_null(nan_is_null=True)
        source = parquet(self.path, list(self.names), target, weight, filters=given)
        # An expression does not say which columns it needs, so that all would be read.
        needed = None if target is None else (target,)
        source = replace(source, filter_names=needed, condition=self.chosen)
        return replace(self, data=_as_data(source), source=source)
