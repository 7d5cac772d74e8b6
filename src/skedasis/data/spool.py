"""Rows that can be read once, or are computed when they are read: written to temporary Parquet, and read from there.

These are lazy frames of Polars, relations of DuckDB, streams of Arrow (record batch readers, scanners, data sets, and
all objects with ``__arrow_c_stream__`` that are no data frames), and data frames of Dask. `spooled` writes the rows in
the memory of a batch or a partition, in their order, and removes the files when the work is done.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from skedasis._arguments import shown
from skedasis.errors import DataError, UnsupportedError

if TYPE_CHECKING:
    from skedasis.data.arrow import ArrowSchema, ArrowTable
    from skedasis.data.parquet import ParquetData

FOLDER = "SKEDASIS_SPOOL"
"""The environment variable that names the folder of the temporary files; by default that of the system."""

_ROWS = 262_144
"""Rows of a row group."""


@runtime_checkable
class ArrowStream(Protocol):
    """Rows that are exported as an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


@runtime_checkable
class _Columns(Protocol):
    """A data frame with named columns."""

    @property
    def columns(self) -> object: ...


def spool_kind(X: object) -> str | None:
    """Return what X is if its rows are spooled; None for all other X.

    No library is imported: X cannot be an object of one that is not there.

    Examples
    --------
    >>> import numpy as np
    >>> spool_kind(np.zeros((3, 2))) is None
    True
    """
    for module, name, kind in _KINDS:
        found = sys.modules.get(module)
        type_ = vars(found).get(name) if found is not None else None
        if isinstance(type_, type) and isinstance(X, type_):
            return kind
    if isinstance(X, ArrowStream) and not isinstance(X, _Columns):
        return "Arrow stream"
    return None


_KINDS = (
    ("polars.lazyframe.frame", "LazyFrame", "Polars LazyFrame"),
    ("duckdb", "DuckDBPyRelation", "DuckDB relation"),
    ("pyarrow.lib", "RecordBatchReader", "Arrow stream"),
    ("pyarrow._dataset", "Dataset", "Arrow data set"),
    ("pyarrow._dataset", "Scanner", "Arrow scanner"),
    ("dask.dataframe", "DataFrame", "Dask DataFrame"),
)
"""Module and name of the types, and what they are called."""


@contextmanager
def spooled(
    X: object, y: object = None, sample_weight: object = None, row_id: object = None
) -> Generator[ParquetData, None, None]:
    """Write rows to a temporary Parquet file, give it as a source, and remove it.

    Parameters
    ----------
    X : lazy frame, relation, stream or Dask DataFrame
        Of which `spool_kind` has a name.
    y, sample_weight, row_id : str, optional
        The columns of labels, weights and identifiers.

    Raises
    ------
    DataError
        If there are no rows, if a role is not the name of a column, if partitions differ in their columns, and if the
        disk is full.
    UnsupportedError
        If pyarrow is not installed.

    Notes
    -----
    Writes as many bytes as a Parquet file of the rows has, below the folder of the environment variable
    ``SKEDASIS_SPOOL``. With a cluster of several machines, it must name a folder that all of them share.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> table = pa.table({"a": np.arange(5.0), "label": np.ones(5)})
    >>> with spooled(table.to_reader(), y="label") as source:
    ...     len(source), source.columns
    (5, ('a',))
    """
    kind = spool_kind(X) or type(X).__name__
    for name, value in (("y", y), ("sample_weight", sample_weight), ("row_id", row_id)):
        if value is not None and not isinstance(value, str):
            raise DataError(
                name,
                f"{shown(value)} beside a {kind}",
                "the name of a column",
                f"Pass {name}='column'",
            )
    try:
        import pyarrow as pa
    except ImportError as error:
        raise UnsupportedError(
            f"a {kind}",
            "no pyarrow, which writes its rows to temporary files",
            "pyarrow",
            "Install it: pip install 'skedasis[parquet]'",
        ) from error
    where = os.environ.get(FOLDER)
    try:
        folder = Path(tempfile.mkdtemp(prefix="skedasis-", dir=where))
    except OSError as error:
        raise _cannot_write(kind, where or tempfile.gettempdir(), 0, error) from error
    try:
        path = folder / "rows.parquet"
        try:
            rows = _write(X, kind, path)
        except (OSError, pa.ArrowException) as error:
            if not _is_full(error):
                raise
            written = path.stat().st_size if path.exists() else 0
            raise _cannot_write(kind, str(folder), written, error) from error
        if not rows:
            raise DataError(f"the {kind}", "no rows", "at least one row", "Check its filters")
        from skedasis.data.parquet import parquet

        roles = [None if v is None else str(v) for v in (y, sample_weight, row_id)]
        source = parquet(path, None, *roles)
        described = f"{kind}, written to temporary Parquet"
        yield replace(source, described=described, spooled=kind)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _cannot_write(kind: str, folder: str, written: int, error: Exception) -> DataError:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return DataError(
        f"the {kind}",
        f"{reason} after {written:,} bytes in {folder}",
        "room for its rows as Parquet",
        f"Name a folder on a larger disk in the environment variable {FOLDER}",
    )


def _is_full(error: Exception) -> bool:
    """Return whether a disk is full, or a quota is used up."""
    full = errno.ENOSPC, errno.EDQUOT
    return (isinstance(error, OSError) and error.errno in full) or "No space left" in str(error)


def _write(X: object, kind: str, path: Path) -> int:
    """Write the rows, and return their number."""
    import pyarrow.parquet as pq

    lazy: Any = X
    if kind == "Polars LazyFrame":
        lazy.sink_parquet(path, row_group_size=_ROWS)
        return int(pq.read_metadata(path).num_rows)
    writer: Any = None
    rows = 0
    try:
        for number, table in enumerate(_tables(lazy, kind)):
            if writer is None:
                writer = pq.ParquetWriter(path, table.schema)
            if table.schema != writer.schema:
                table = _unified(table, writer.schema, kind, number)  # noqa: PLW2901
            writer.write_table(table, row_group_size=_ROWS)
            rows += table.num_rows
    finally:
        if writer is not None:
            writer.close()
    return rows


def _unified(table: ArrowTable, schema: ArrowSchema, kind: str, number: int) -> ArrowTable:
    """Return the rows of a part in the types of the first part.

    Raises
    ------
    DataError
        If that loses values, or columns differ.
    """
    import pyarrow as pa

    try:
        return table.select(schema.names).cast(schema)
    except (KeyError, pa.ArrowException) as error:
        raise DataError(
            f"part {number} of the {kind}",
            "columns {f.name: str(f.type) for f in table.schema}",
            "those of part 0, {f.name: str(f.type) for f in schema}",
            "Convert the columns to one type in all parts",
        ) from error


def _tables(lazy: Any, kind: str) -> Iterator[ArrowTable]:
    """Yield the rows as Arrow tables, one after the other."""
    import pyarrow as pa

    if kind == "Dask DataFrame":
        for partition in lazy.partitions:
            yield pa.Table.from_pandas(partition.compute(), preserve_index=False)
        return
    if kind in ("Arrow data set", "Arrow scanner"):
        batches: Any = lazy.to_batches()
    elif kind == "DuckDB relation":
        batches = pa.RecordBatchReader.from_stream(lazy)
    else:
        is_reader = isinstance(lazy, pa.RecordBatchReader)
        batches = lazy if is_reader else pa.RecordBatchReader.from_stream(lazy)
    held: list[Any] = []
    # Small batches would make as many row groups.
    for batch in batches:
        held.append(batch)
        if sum(b.num_rows for b in held) >= _ROWS:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)
