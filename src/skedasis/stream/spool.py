"""Rows that can be read once, or are computed when they are read: collected, or written to temporary Parquet."""

from __future__ import annotations

import errno
import importlib.util
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from skedasis._arguments import shown
from skedasis.errors import DataError, UnsupportedError

if TYPE_CHECKING:
    from skedasis.data.arrow import ArrowSchema, ArrowTable, FileInfo, FileSystem

FOLDER = "SKEDASIS_SPOOL"
"""The environment variable that names the folder of the temporary files, or the URL of one in an object store; by
default that of the system."""

DASK = "Dask DataFrame"

_ROWS = 262_144
"""Rows of a row group."""


@runtime_checkable
class ArrowStream(Protocol):
    """Rows that are exported as an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


@runtime_checkable
class _SpoolColumn(Protocol):
    """A column of a data frame, which some libraries export as a stream, too."""

    def to_frame(self) -> object: ...


@runtime_checkable
class _Columns(Protocol):
    """A data frame with named columns."""

    @property
    def columns(self) -> object: ...


class _Partitioned(Protocol):
    """What is used of a Dask DataFrame."""

    _meta: object
    """A frame of the same types without rows."""

    def to_delayed(self) -> Sequence[object]:
        """Return the tasks that compute the partitions."""
        ...


def spool_kind(X: object) -> str | None:
    """Return what X is if its rows are spooled; None for all other X."""
    for module, name, kind in _KINDS:
        found = sys.modules.get(module)
        type_ = vars(found).get(name) if found is not None else None
        if isinstance(type_, type) and isinstance(X, type_):
            return kind
    if isinstance(X, ArrowStream) and not isinstance(X, (_Columns, _SpoolColumn)):
        return "Arrow stream"
    return None


_KINDS = (
    ("polars.lazyframe.frame", "LazyFrame", "Polars LazyFrame"),
    ("duckdb", "DuckDBPyRelation", "DuckDB relation"),
    ("pyarrow.lib", "RecordBatchReader", "Arrow stream"),
    ("pyarrow._dataset", "Dataset", "Arrow data set"),
    ("pyarrow._dataset", "Scanner", "Arrow scanner"),
    ("dask.dataframe", "DataFrame", DASK),
)
"""Module and name of the types, and what they are called."""


@contextmanager
def at_hand(
    X: object, roles: Mapping[str, object], most: int, client: object = None
) -> Generator[dict[str, object]]:
    """Give rows, and columns of them by their roles, as the arguments of a function.

    Rows that need at most `most` bytes are collected. More are written to temporary Parquet files, which are removed
    afterwards, and so are those of a cluster, whose workers read them.
    """
    kind = spool_kind(X) or type(X).__name__
    columns = _columns(roles, kind)
    held: list[ArrowTable] = []
    tables = None if kind == DASK else _tables(X, kind)
    if tables is not None and client is None and _fit(tables, held, most):
        yield _collected(held, columns, kind)
        return
    import pyarrow as pa

    from skedasis.stream.parquet import features_of, parquet

    check = partial(features_of, columns=None, roles=columns, described=kind)
    with _temporary_folder(kind) as folder:
        try:
            rows = (
                _write_partitions(X, folder, client)
                if tables is None
                else _write(_all(held, tables), check, kind, folder)
            )
        except (OSError, pa.ArrowException) as error:
            if not _is_full(error):
                raise
            raise _cannot_write(kind, folder.path, folder.size(), error) from error
        if not rows:
            raise _no_rows(kind)
        names = [columns.get(name) for name in ("y", "sample_weight", "row_id")]
        source = parquet(folder.path, None, *names, filesystem=folder.system)
        described = f"{kind}, written to temporary Parquet"
        yield {"X": replace(source, described=described)}


def _columns(roles: Mapping[str, object], kind: str) -> dict[str, str]:
    """Return the columns that have roles; raise for arrays, and if no library reads the rows."""
    for name, value in roles.items():
        if value is not None and not isinstance(value, str):
            raise DataError(
                name,
                f"{shown(value)} beside a {kind}",
                "the name of a column",
                f"Pass {name}='column'",
            )
    if importlib.util.find_spec("pyarrow") is None:
        raise UnsupportedError(
            f"a {kind}",
            "no pyarrow, which reads its rows",
            "pyarrow",
            "Install it: pip install 'skedasis[parquet]'",
        )
    return {name: str(value) for name, value in roles.items() if value is not None}


def _fit(tables: Iterator[ArrowTable], held: list[ArrowTable], most: int) -> bool:
    """Read tables until they need more than `most` bytes; return whether these are all."""
    size = 0
    for table in tables:
        held.append(table)
        size += _bytes(table)
        if size > most:
            return False
    return True


def _no_rows(kind: str) -> DataError:
    return DataError(f"the {kind}", "no rows", "at least one row", "Check its filters")


_TEXT_BYTES = 64
"""Bytes of a text as an object, beside its letters."""


def _bytes(table: ArrowTable) -> int:
    """Return the bytes that rows need as a data frame."""
    import pyarrow.types as pt

    tests = pt.is_string, pt.is_large_string, pt.is_string_view
    texts = sum(any(test(field.type) for test in tests) for field in table.schema)
    return table.nbytes + _TEXT_BYTES * texts * table.num_rows


def _collected(
    tables: Sequence[ArrowTable], columns: Mapping[str, str], kind: str
) -> dict[str, object]:
    """Return rows in memory, in the library in which rows of files are held, and the columns that have roles."""
    import pyarrow as pa

    from skedasis.stream.chunks import as_frame, default_library
    from skedasis.stream.parquet import chosen_types, features_of

    if not any(table.num_rows for table in tables):
        raise _no_rows(kind)
    rows = cast("ArrowTable", pa.concat_tables(tables).unify_dictionaries())
    features = features_of(rows.schema, None, columns, kind)
    own = rows.select(features).cast(chosen_types(rows.schema, features), safe=False)
    found = {name: rows.column(c).to_numpy(zero_copy_only=False) for name, c in columns.items()}
    return {"X": as_frame(own, default_library()), **found}


def _all(held: list[ArrowTable], rest: Iterator[ArrowTable]) -> Iterator[ArrowTable]:
    """Yield tables, of which the first are given up, and the others."""
    while held:
        yield held.pop(0)
    yield from rest


@dataclass(frozen=True)
class _Folder:
    """A folder of temporary files, in any file system. Picklable."""

    system: FileSystem
    path: str

    @property
    def local(self) -> bool:
        """Return whether it is on a disk of this machine, or on one that is mounted."""
        return self.system.type_name == "local"

    def file(self, number: int) -> str:
        """Return the path of a file; the order of their names is that of their numbers."""
        return f"{self.path}/rows-{number:08d}.parquet"

    def files(self) -> list[FileInfo]:
        """Return what the file system knows of the files."""
        import pyarrow.fs as pafs

        return self.system.get_file_info(pafs.FileSelector(self.path, allow_not_found=True))

    def size(self) -> int:
        """Return the bytes that have been written."""
        return sum(info.size or 0 for info in self.files())


@contextmanager
def _temporary_folder(kind: str) -> Generator[_Folder]:
    """Make a folder for temporary files, and remove it."""
    # Imported here: most calls have rows in memory.
    from tempfile import TemporaryDirectory

    import pyarrow.fs as pafs

    where = os.environ.get(FOLDER)
    with ExitStack() as stack:
        try:
            if where is not None and "://" in where:
                folder = stack.enter_context(_remote_folder(where))
            else:
                made = TemporaryDirectory(prefix="skedasis-", dir=where, ignore_cleanup_errors=True)
                path = stack.enter_context(made)
                folder = _Folder(cast("FileSystem", pafs.LocalFileSystem()), path)
        except OSError as error:
            raise _cannot_write(kind, where or "the system's temporary folder", 0, error) from error
        yield folder


@contextmanager
def _remote_folder(url: str) -> Generator[_Folder]:
    """Make a folder in an object store, and remove it."""
    import uuid

    import pyarrow.fs as pafs

    system, base = pafs.FileSystem.from_uri(url)
    path = f"{base.rstrip('/')}/skedasis-{uuid.uuid4().hex}"
    try:
        system.create_dir(path)
        yield _Folder(cast("FileSystem", system), path)
    finally:
        # The work is done, or its own error is on its way.
        with suppress(OSError):
            system.delete_dir(path)


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
    full = errno.ENOSPC, errno.EDQUOT, errno.EFBIG
    return (isinstance(error, OSError) and error.errno in full) or "No space left" in str(error)


def _write(
    tables: Iterator[ArrowTable],
    check: Callable[[ArrowSchema], object],
    kind: str,
    folder: _Folder,
) -> int:
    """Write rows to one file, and return their number."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer: Any = None
    rows = 0
    try:
        for number, table in enumerate(tables):
            if writer is None:
                system = folder.system
                check(table.schema)
                writer = pq.ParquetWriter(folder.file(0), table.schema, filesystem=system)
            if table.schema != writer.schema:
                table = _unified(table, writer.schema, kind, number)  # noqa: PLW2901
            writer.write_table(table, row_group_size=_ROWS)
            rows += table.num_rows
        if writer is not None:
            writer.close()
    except BaseException:
        # Its own error is that of the same disk, or hides an interruption.
        if writer is not None:
            with suppress(OSError, pa.ArrowException):
                writer.close()
        raise
    return rows


def _write_partitions(X: object, folder: _Folder, client: object) -> int:
    """Write each partition of a Dask DataFrame to a file of its own, where Dask computes it; return the rows."""
    import pyarrow as pa
    from dask.base import compute
    from dask.delayed import delayed

    lazy = cast("_Partitioned", X)
    schema = pa.Schema.from_pandas(lazy._meta, preserve_index=False)  # noqa: SLF001 - its types, without rows
    write = delayed(_write_partition)
    tasks = [write(p, i, schema, folder) for i, p in enumerate(lazy.to_delayed())]
    rows: tuple[int, ...] = compute(*tasks, scheduler=client)
    if len(folder.files()) != len(tasks):
        raise _not_shared(folder.path)
    return sum(rows)


def _write_partition(partition: object, number: int, schema: ArrowSchema, folder: _Folder) -> int:
    """Write a partition, and return its number of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import pyarrow.types as pt

    if folder.local and not Path(folder.path).is_dir():
        raise _not_shared(folder.path)
    table = pa.Table.from_pandas(partition, preserve_index=False)
    # Columns of text have no type without rows, and those of categories have the values of their partition.
    own = {f.name: f for f in table.schema}
    loose = [f.name for f in schema if pt.is_null(f.type) or pt.is_dictionary(f.type)]
    wanted = pa.schema([own.get(f.name, f) if f.name in loose else f for f in schema])
    if table.schema != wanted:
        table = _unified(table, wanted, DASK, number)
    pq.write_table(table, folder.file(number), row_group_size=_ROWS, filesystem=folder.system)
    return int(table.num_rows)


def _not_shared(folder: str) -> DataError:
    return DataError(
        f"the {DASK}",
        f"workers that do not write to the folder {folder} of this machine",
        "a folder that all machines share, or an object store",
        f"Name it in the environment variable {FOLDER}, such as s3://bucket/temporary",
    )


def _unified(table: ArrowTable, schema: ArrowSchema, kind: str, number: int) -> ArrowTable:
    """Return the rows of a part in the types of the first part."""
    import pyarrow as pa

    try:
        return table.select(schema.names).cast(schema)
    except (KeyError, pa.ArrowException) as error:
        raise DataError(
            f"part {number} of the {kind}",
            f"columns {_types(table.schema)} ({str(error)[:150]})",
            f"those of the other parts, {_types(schema)}",
            "Convert the columns to one type in all parts",
        ) from error


def _types(schema: ArrowSchema) -> dict[str, str]:
    """Return the types of some columns by name, for messages."""
    return {f.name: str(f.type) for f in list(schema)[:20]}


def _tables(lazy: Any, kind: str) -> Iterator[ArrowTable]:
    """Yield the rows as Arrow tables, one after the other."""
    import pyarrow as pa

    if kind == "Polars LazyFrame":
        yield from _of_polars(lazy)
        return
    if kind in ("Arrow data set", "Arrow scanner"):
        batches: Iterable[ArrowTable] = lazy.to_batches()
    elif kind == "DuckDB relation":
        batches = pa.RecordBatchReader.from_stream(lazy)
    else:
        is_reader = isinstance(lazy, pa.RecordBatchReader)
        try:
            batches = lazy if is_reader else pa.RecordBatchReader.from_stream(lazy)
        except (TypeError, ValueError, pa.ArrowException) as error:
            raise DataError(
                "X",
                f"a {type(lazy).__name__}, a stream without columns ({str(error)[:150]})",
                "rows of named columns",
                "Pass a table: pyarrow.table({'name': X})",
            ) from error
    held: list[ArrowTable] = []
    # Small batches would make as many row groups.
    for batch in batches:
        held.append(batch)
        if sum(b.num_rows for b in held) >= _ROWS:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


class _PolarsFrame(Protocol):
    """What is used of a data frame of Polars."""

    def to_arrow(self) -> ArrowTable: ...


@runtime_checkable
class _InBatches(Protocol):
    """What is used of a lazy frame of Polars 1.34 or later."""

    def collect_batches(
        self, *, chunk_size: int, maintain_order: bool
    ) -> Iterator[_PolarsFrame]: ...


def _of_polars(lazy: Any) -> Iterator[ArrowTable]:
    """Yield the rows of a lazy frame as they are computed."""
    if isinstance(lazy, _InBatches):
        for frame in lazy.collect_batches(chunk_size=_ROWS, maintain_order=True):
            yield frame.to_arrow()
        return
    # Earlier versions compute rows one after the other only for a file.
    from tempfile import TemporaryDirectory

    import pyarrow as pa
    import pyarrow.parquet as pq

    with TemporaryDirectory(prefix="skedasis-", dir=_local_folder()) as here:
        path = str(Path(here, "rows.parquet"))
        lazy.sink_parquet(path, row_group_size=_ROWS)
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_ROWS):
                yield pa.Table.from_batches([batch])


def _local_folder() -> str | None:
    """Return the folder of temporary files on this machine; None for that of the system."""
    where = os.environ.get(FOLDER)
    return None if where is None or "://" in where else where
