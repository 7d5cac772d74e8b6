"""`parquet`: rows of Parquet files, local or in an object store, as a source that is read in chunks."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import check_option, is_int, shown
from skedasis._calls import checked_call
from skedasis._types import Container, Floats
from skedasis.data.arrow import (
    ArrowField,
    ArrowSchema,
    ArrowTable,
    ArrowType,
    Expression,
    FileSystem,
    ParquetReader,
)
from skedasis.data.dataset import ChunkedRows, check_weight_sizes
from skedasis.data.features import check_names
from skedasis.errors import DataError, UnsupportedError, nearest
from skedasis.stats.integer_weights import exact_sum, rounded

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

    from skedasis.data.where import RowCondition

RowsLibrary: TypeAlias = Literal["numpy", "pandas", "polars", "pyarrow"]
"""What the rows are held in when the model is called."""

Filters: TypeAlias = (
    "list[tuple[str, str, object]] | list[list[tuple[str, str, object]]] | Expression | None"
)

_OBJECT_STORES = {
    "s3": "S3FileSystem",
    "gs": "GcsFileSystem",
    "gcs": "GcsFileSystem",
    "abfs": "AzureFileSystem",
    "abfss": "AzureFileSystem",
    "hdfs": "HadoopFileSystem",
}
"""File systems of pyarrow by the beginning of a URL."""

_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"

_BATCH_ROWS = 131_072
"""Rows that are decoded at a time: row groups may have many millions."""


# ------------------------------------------------------------------------------------ files
@dataclass(frozen=True)
class ParquetFile:
    """One file of a source."""

    path: str
    size: int
    modified: int | None
    partition: tuple[tuple[str, int | str | None], ...]
    groups: tuple[int, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True)
class FilePart:
    """A row group of a source."""

    file: int
    group: int
    first: int
    rows: int


@dataclass(frozen=True)
class _Used:
    """What a scan of filters and weights finds: the used rows of each row group, and the weights' range and sum."""

    rows: tuple[int, ...]
    smallest: float = 1.0
    largest: float = 1.0
    total: float = 0.0
    scans: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ParquetData(ChunkedRows):
    """Rows of Parquet files; see `parquet`, which makes it.

    Parameters
    ----------
    files : tuple of ParquetFile
    filesystem : pyarrow file system
    schema : pyarrow schema
        Of all columns that chunks have.
    columns : tuple of str
        The features, in their order.
    y_name, weight_name, row_id_name : str, optional
        The columns of labels, weights and identifiers.
    expression : pyarrow expression, optional
        Which rows are used.
    filter_names : tuple of str, optional
        The columns that the expression needs; None for an expression of the caller's, which does not say which.
    container : {"numpy", "pandas", "polars", "pyarrow"}, optional
        What the rows are held in when a model is called; None for the first installed of pandas, Polars and PyArrow.
    described : str
        The path, as the caller gave it.
    condition : RowCondition, optional
        Of the rows that are used, besides the expression.
    split_name : str, optional
        The column by whose values observed means are kept apart; see `with_split`.
    every : pyarrow schema, optional
        Of all columns of the files.
    """

    files: tuple[ParquetFile, ...]
    filesystem: FileSystem
    schema: ArrowSchema
    columns: tuple[str, ...]
    y_name: str | None = None
    weight_name: str | None = None
    row_id_name: str | None = None
    expression: Expression | None = field(default=None, repr=False)
    filter_names: tuple[str, ...] | None = None
    container: RowsLibrary | None = None
    described: str = ""
    condition: RowCondition | None = field(default=None, repr=False)
    split_name: str | None = None
    every: ArrowSchema | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        many = f"{len(self.files):,} file{'s' * (len(self.files) != 1)}"
        return f"ParquetData({self.described!r}: {many}, {len(self.columns)} features)"

    def __len__(self) -> int:
        return self.n_rows

    # -- rows
    @cached_property
    def parts(self) -> tuple[FilePart, ...]:
        """The row groups that have used rows, in order."""
        found: list[FilePart] = []
        first = 0
        groups = ((i, g) for i, file in enumerate(self.files) for g in file.groups)
        for (i, g), rows in zip(groups, self._used.rows, strict=True):
            if rows:
                found.append(FilePart(i, g, first, rows))
            first += rows
        return tuple(found)

    def without_rows(self) -> IntoDataFrame:
        """Return the columns of the features without rows."""
        return cast("IntoDataFrame", self.schema.empty_table().select(list(self.columns)))

    def with_split(self, column: str | int) -> ParquetData:
        """Return the data with a column, by its name or as the position of a feature, that is read as the split."""
        if isinstance(column, int) and -len(self.columns) <= column < len(self.columns):
            column = self.columns[column]
        every = self.schema if self.every is None else self.every
        if not isinstance(column, str) or column not in every.names:
            near = nearest(column, every.names)
            fix = f"Did you mean {near!r}?" if near else "Use a column of the files"
            raise DataError("split", shown(column), "the name of a column", fix)
        schema = self.schema
        if column not in schema.names:
            schema = schema.append(chosen_types(every, [column]).field(0))
        return replace(self, split_name=column, schema=schema)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows that are used."""
        return sum(self._used.rows)

    @property
    def scans(self) -> tuple[str, ...]:
        """Passes over some columns that counted the used rows: of the weights, of the columns of the filter."""
        return self._used.scans

    @property
    def largest_weight(self) -> float:
        """The largest weight; 1 without weights."""
        return self._used.largest

    @property
    def equal_weights(self) -> bool:
        """Whether all weights are equal."""
        return self._used.smallest == self._used.largest

    @property
    def total_weight(self) -> float:
        """The sum of the weights; the number of rows without weights."""
        return self._used.total if self.weight_name is not None else float(self.n_rows)

    @cached_property
    def _used(self) -> _Used:
        """The rows that are used of each row group; from the metadata alone if there are no weights and no filter."""
        if self.weight_name is None and self.expression is None and self.condition is None:
            return _Used(tuple(rows for file in self.files for rows in file.rows))
        counts: list[int] = []
        smallest, largest, total = float("inf"), 0.0, 0
        # At least one column: a table without columns has no rows.
        names = self.schema.names[:1] if self.weight_name is None else [self.weight_name]
        for i, file in enumerate(self.files):
            with self._open(i) as opened:
                for g in file.groups:
                    rows = 0
                    for batch in self._batches(opened, i, g, names):
                        rows += batch.num_rows
                        if self.weight_name is not None and batch.num_rows:
                            weights = batch.column(self.weight_name).to_numpy().astype(float)
                            smallest = min(smallest, float(weights.min()))
                            largest = max(largest, float(weights.max()))
                            total += exact_sum(weights)
                    counts.append(rows)
        if not sum(counts):
            raise DataError(
                f"parquet({self.described!r})",
                "no row that passes the filter and has a positive weight",
                "at least one row",
                "Check filters and sample_weight",
            )
        scans = ("weights",) if self.weight_name is not None else ("filter",)
        return _Used(tuple(counts), smallest, largest, rounded(total), scans)

    def chunks(
        self, size: int, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[int, ArrowTable]]:
        """Yield consecutive rows, each time with the number of the first.

        Parameters
        ----------
        size : int
            Number of rows of each chunk but the last.
        start, stop : int
            Numbers of the first row, and of that after the last one.

        Raises
        ------
        DataError
            For a file that changed or cannot be read; the message names the file and the row group.
        """
        import pyarrow as pa

        stop = self.n_rows if stop is None else min(stop, self.n_rows)
        held: list[ArrowTable] = []
        have = 0
        for table in self._tables(start, stop):
            held.append(table)
            have += table.num_rows
            while have >= size:
                whole = pa.concat_tables(held)
                yield start, whole.slice(0, size)
                start, have = start + size, have - size
                held = [whole.slice(size)] if have else []
        if have:
            yield start, pa.concat_tables(held)

    def take(self, rows: ArrayLike) -> ArrowTable:
        """Return some rows by their numbers. Only their row groups are read.

        Parameters
        ----------
        rows : array_like of int
            From 0 to the number of rows, in any order.

        Raises
        ------
        DataError
            If there is no row of a number.
        """
        import pyarrow as pa

        numbers = np.asarray(rows)
        if not numbers.size:
            return self.schema.empty_table()
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise DataError(
                "take(rows)",
                f"an array of {numbers.dtype} with {numbers.ndim} dimensions",
                "numbers of rows",
                "For a mask, use np.flatnonzero(mask)",
            )
        if numbers.min() < 0 or numbers.max() >= self.n_rows:
            raise DataError(
                "take(rows)",
                f"numbers from {numbers.min():,} to {numbers.max():,}",
                f"numbers from 0 to {self.n_rows - 1:,}",
                "Rows that a filter excludes, and rows of weight zero, have no number",
            )
        order = np.argsort(numbers, kind="stable")
        ascending = numbers[order].astype(np.int64)
        found: list[ArrowTable] = []
        for part in self.parts:
            low, high = np.searchsorted(ascending, [part.first, part.first + part.rows])
            if low < high:
                tables = list(self._tables(part.first, part.first + part.rows))
                found.append(pa.concat_tables(tables).take(ascending[low:high] - part.first))
        taken = pa.concat_tables(found)
        if np.array_equal(ascending, numbers):
            return taken
        return taken.take(np.argsort(order))

    def where(self, start: int, stop: int) -> str:
        """Return in which files and row groups rows are, for messages."""
        some = [p for p in self.parts if p.first < stop and p.first + p.rows > start]
        listed = [f"{self.files[p.file].path}, row group {p.group}" for p in some[:3]]
        more = f", and {len(some) - 3} more row groups" if len(some) > 3 else ""
        return f"rows {start:,} to {stop - 1:,}: {'; '.join(listed)}{more}"

    def where_row(self, row: int) -> str:
        """Return in which file and row group a row is, for messages."""
        part = next(p for p in self.parts if row < p.first + p.rows)
        return f"{self.files[part.file].path}, row group {part.group}"

    def null_counts(self) -> dict[str, int | None]:
        """Return the number of missing values of each column from the files' statistics; None where unknown.

        Of integer columns, whose type depends on it, the values are read where there are no statistics.
        """
        return dict(self._null_counts)

    @cached_property
    def _null_counts(self) -> dict[str, int | None]:
        counts: dict[str, int | None] = dict.fromkeys(self.schema.names, 0)
        for i, file in enumerate(self.files):
            constants = dict(file.partition)
            with self._open(i) as opened:
                metadata = opened.metadata
                places = {metadata.schema.column(c).path: c for c in range(metadata.num_columns)}
                for name in self.schema.names:
                    known = counts[name]
                    if name in constants:
                        nulls = sum(file.rows) if constants[name] is None else 0
                        counts[name] = None if known is None else known + nulls
                        continue
                    for g, rows in zip(file.groups, file.rows, strict=True):
                        known = counts[name]
                        if not rows or name not in places or known is None:
                            continue
                        statistics: Any = metadata.row_group(g).column(places[name]).statistics
                        if statistics is not None and statistics.has_null_count:
                            counts[name] = known + int(statistics.null_count)
                        else:
                            found = self._nulls(opened, i, g, name)
                            counts[name] = None if found is None else known + found
        return counts

    def _nulls(self, opened: ParquetReader, file: int, group: int, name: str) -> int | None:
        """Return the number of missing values of an integer column in a row group; None for other columns."""
        import pyarrow as pa

        if not pa.types.is_integer(self.schema.field(name).type):
            return None
        with self._readable(file, group):
            batches = opened.iter_batches(
                batch_size=_BATCH_ROWS, row_groups=[group], columns=[name], use_threads=False
            )
            return sum(pa.table(batch).column(0).null_count for batch in batches)

    # -- reading
    def _tables(self, start: int, stop: int) -> Iterator[ArrowTable]:
        """Yield the used rows with numbers from `start` to `stop`, as they are decoded."""
        file, opened = -1, None
        try:
            for part in self.parts:
                if part.first + part.rows <= start or part.first >= stop:
                    continue
                if part.file != file:
                    if opened is not None:
                        opened.close()
                    file, opened = part.file, self._opened(part.file)
                at = part.first
                if opened is None:
                    continue
                for table in self._batches(opened, part.file, part.group, self.schema.names):
                    low, high = max(start - at, 0), min(stop - at, table.num_rows)
                    if low < high:
                        yield table.slice(low, high - low)
                    at += table.num_rows
                    if at >= stop:
                        break
        finally:
            if opened is not None:
                opened.close()

    def _batches(
        self, opened: ParquetReader, file: int, group: int, names: Sequence[str]
    ) -> Iterator[ArrowTable]:
        """Yield the used rows of a row group with some columns, in unified types."""
        import pyarrow as pa

        constants = dict(self.files[file].partition)
        needed = list(names)
        if self.expression is not None and self.filter_names is not None:
            needed += self.filter_names
        elif self.expression is not None:
            needed = list(_all_names(opened, constants))
        needed += self.condition.columns if self.condition is not None else ()
        needed = list(dict.fromkeys([*needed, *([self.weight_name] if self.weight_name else [])]))
        stored = [name for name in needed if name not in constants]
        with self._readable(file, group):
            batches = opened.iter_batches(
                batch_size=_BATCH_ROWS, row_groups=[group], columns=stored, use_threads=False
            )
        while True:
            with self._readable(file, group):
                batch = next(batches, None)
                if batch is None:
                    return
                table = pa.table(batch)
            for name, value in constants.items():
                if name in needed:
                    kind = pa.string() if isinstance(value, str) else pa.int64()
                    kind = self.schema.field(name).type if name in self.schema.names else kind
                    table = table.append_column(name, pa.array([value] * len(table), kind))
            if self.expression is not None:
                table = table.filter(self.expression)
            if self.condition is not None:
                table = table.take(self.condition.rows(cast("Container", table)))
            if self.weight_name is not None:
                weights = table.column(self.weight_name).to_numpy().astype(float)
                self._check_weights(weights, file, group)
                table = table.filter(weights > 0.0)
            wanted = pa.schema([self.schema.field(name) for name in names])
            with self._readable(file, group):
                yield table.select(list(names)).cast(wanted)

    def _check_weights(self, weights: Floats, file: int, group: int) -> None:
        """Raise for weights that are missing, negative or not finite."""
        bad = ~np.isfinite(weights) | (weights < 0)
        if bad.any():
            raise DataError(
                f"sample_weight={self.weight_name!r}",
                f"{int(bad.sum()):,} weights that are missing, negative or not finite "
                f"({self.files[file].path}, row group {group})",
                "finite and non-negative numbers",
                "Correct them, or exclude these rows by filters=",
            )
        check_weight_sizes(f"sample_weight={self.weight_name!r}", weights)

    @contextmanager
    def _readable(self, file: int, group: int | None = None) -> Generator[None]:
        """Turn the errors of a file that cannot be read into one that names it."""
        import pyarrow as pa

        try:
            yield
        except (OSError, pa.ArrowException) as error:
            place = "" if group is None else f", row group {group}"
            raise DataError(
                f"{self.files[file].path}{place}",
                f"a file that cannot be read ({str(error)[:200]})",
                "a Parquet file that stays as it is while it is read",
                "Check that it is complete and still there",
            ) from error

    def _opened(self, file: int) -> ParquetReader:
        """Open a file, after checking that it is the one that was found."""
        import pyarrow.parquet as pq

        known = self.files[file]
        with self._readable(file):
            info = self.filesystem.get_file_info(known.path)
            if (info.size, info.mtime_ns) != (known.size, known.modified):
                raise DataError(
                    known.path,
                    "a file that is gone" if info.size is None else "a file that has changed",
                    "the file that was there at the beginning",
                    "Write new data to a new folder, and call sd.parquet again",
                )
            opened = self.filesystem.open_input_file(known.path)
            # From an object store a row group is read at once, from a disk in small pieces.
            local = self.filesystem.type_name == "local"
            file_of_rows = pq.ParquetFile(
                opened, pre_buffer=not local, buffer_size=65_536 if local else 0
            )
            return cast("ParquetReader", file_of_rows)

    @contextmanager
    def _open(self, file: int) -> Generator[ParquetReader]:
        opened = self._opened(file)
        try:
            yield opened
        finally:
            opened.close()


def _all_names(opened: ParquetReader, constants: Mapping[str, object]) -> Iterator[str]:
    yield from opened.schema_arrow.names
    yield from constants


@contextmanager
def located(source: ParquetData, first: int, n: int) -> Generator[None]:
    """Add to an error where the rows are that caused it."""
    try:
        yield
    except Exception as error:
        error.add_note(f"while reading {source.where(first, first + n)}")
        raise


# ------------------------------------------------------------------------------------ finding files
@checked_call
def parquet(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Sequence[str] | None = None,
    y: str | None = None,
    sample_weight: str | None = None,
    row_id: str | None = None,
    *,
    filters: Filters = None,
    row_groups: slice | Sequence[int] | None = None,
    container: RowsLibrary | None = None,
    filesystem: FileSystem | None = None,
    storage_options: Mapping[str, object] | None = None,
) -> ParquetData:
    """Return rows of Parquet files that need not fit in memory, for `explain` and all that takes X.

    Parameters
    ----------
    path : str, path, or list of these
        A file, a folder, a pattern (``"data/year=*/*.parquet"``), or the URL of an object store (``"s3://bucket/…"``).
        Parts of the path such as ``year=2024`` become columns. Hidden files are left out.
    columns : list of str, optional
        The features, in this order; by default all columns but `y`, `sample_weight` and `row_id`.
    y, sample_weight, row_id : str, optional
        The columns of labels, weights and identifiers of the rows. Rows of weight 0 are left out.
    filters : list of tuple, or pyarrow expression, optional
        Which rows are used, as in ``pyarrow.parquet.read_table``: ``[("year", ">=", 2020)]``. Folders and row groups
        without such rows are not read.
    row_groups : slice or list of int, optional
        Which row groups of each file are used.
    container : str, optional
        What the model is called with: "numpy", "pandas", "polars" or "pyarrow". By default data frames of pandas, else
        of Polars, else Arrow tables; models that were fitted on arrays get arrays.
    filesystem : pyarrow or fsspec file system, optional
        By default the one that the path names.
    storage_options : mapping, optional
        Arguments of the object store's file system in pyarrow, such as ``{"endpoint_override": "http://…"}``.

    Returns
    -------
    ParquetData

    Raises
    ------
    DataError
        If there are no files or no rows, if files differ in their columns, and for unknown or nested columns.
    UnsupportedError
        If pyarrow is not installed.

    Notes
    -----
    Reads the metadata of the files only. With a filter or weights, these columns are read once more in order to count
    the rows.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np, pyarrow as pa, pyarrow.parquet as pq
    >>> import skedasis as sd
    >>> x = np.random.default_rng(0).normal(size=(1000, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pa.table({"a": x[:, 0], "b": x[:, 1]})
    ...     pq.write_table(table, pathlib.Path(folder, "part-0.parquet"))
    ...     data = sd.parquet(folder)
    ...     effect = sd.explain(lambda X: X["a"] * X["b"], data, "a", method="ale", progress=False)
    >>> len(data), effect.provenance["passes"]
    (1000, 2)
    """
    try:
        importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise UnsupportedError(
            "parquet",
            "no pyarrow",
            "the library that reads Parquet files",
            "pip install 'skedasis[parquet]'",
        ) from error
    check_option("parquet(container)", container, (None, "numpy", "pandas", "polars", "pyarrow"))
    described = str(path) if isinstance(path, (str, os.PathLike)) else shown(path)
    system, found = _find(path, filesystem, storage_options, described)
    expression = _expression(filters)
    files, schemas = _read_footers(system, found, row_groups, described)
    schema = _unified(schemas, files)
    roles = {"y": y, "sample_weight": sample_weight, "row_id": row_id}
    features = features_of(schema, columns, roles, described)
    # A column may have several roles.
    names = list(dict.fromkeys([*features, *(n for n in roles.values() if n is not None)]))
    chosen = chosen_types(schema, names)
    if expression is not None:
        files = _pruned(files, system, schema, expression)
    data = ParquetData(
        tuple(files),
        system,
        chosen,
        tuple(features),
        y,
        sample_weight,
        row_id,
        expression,
        _filter_names(filters),
        container,
        described,
        every=schema,
    )
    if expression is None and not sum(rows for file in files for rows in file.rows):
        raise _nothing(described, "files without rows")
    return data


def _nothing(described: str, got: str) -> DataError:
    return DataError(
        f"parquet({described!r})",
        got,
        "at least one Parquet file with rows",
        "Check the path; patterns such as 'data/*.parquet' and 'data/year=*/*.parquet' are possible",
    )


def _find(
    path: object, filesystem: object, storage_options: Mapping[str, object] | None, described: str
) -> tuple[FileSystem, list[str]]:
    """Return the file system, and the files in the order of their names."""
    import pyarrow as pa

    given: list[object] = (
        list(path) if isinstance(path, Sequence) and not isinstance(path, (str, bytes)) else [path]
    )
    many = [os.fspath(p) for p in given if isinstance(p, (str, os.PathLike))]
    if len(many) < len(given) or not many or not all(isinstance(p, str) and p for p in many):
        raise DataError(
            "parquet(path)", shown(path), "a path, a URL, or a list of these", "Pass a path"
        )
    found: list[str] = []
    system: FileSystem | None = None
    for one in many:
        try:
            system, pattern = _system_of(one, filesystem, storage_options)
            found += _matching(system, pattern)
        except UnicodeError as error:
            raise DataError(
                f"parquet({described!r})",
                f"a name of a file or folder that is not UTF-8 ({str(error)[:100]})",
                "names in UTF-8",
                "Rename it, or list the other files: sd.parquet([...])",
            ) from error
        except (OSError, pa.ArrowException) as error:
            raise DataError(
                f"parquet({one!r})",
                f"files that cannot be listed ({str(error)[:200]})",
                "a path, or the URL of an object store such as s3://bucket/folder",
                "Check the address and the credentials; a file system can be passed as filesystem=",
            ) from error
    if system is None or not found:
        raise _nothing(described, "no file")
    return system, sorted(dict.fromkeys(found))


def _system_of(
    path: str, filesystem: object, storage_options: Mapping[str, object] | None
) -> tuple[FileSystem, str]:
    """Return the file system of a path, and the path in it."""
    import pyarrow.fs as pafs

    parts = urlsplit(path)
    bare = f"{parts.netloc}{parts.path}" if parts.scheme and "://" in path else path
    if filesystem is not None:
        if isinstance(filesystem, pafs.FileSystem):
            return cast("FileSystem", filesystem), bare
        return pafs.PyFileSystem(pafs.FSSpecHandler(filesystem)), bare
    if "://" not in path:
        return pafs.LocalFileSystem(), str(Path(path).expanduser().absolute())
    if storage_options is None:
        # Without the pattern, which is no valid URL.
        fixed = re.split(r"[*?\[]", path)[0]
        system, base = pafs.FileSystem.from_uri(fixed)
        return system, base + path[len(fixed) :]
    kinds = _OBJECT_STORES
    if parts.scheme not in kinds:
        raise DataError(
            "parquet(storage_options)",
            f"a URL that begins with {parts.scheme}://",
            f"one of {', '.join(kinds)}",
            "Pass a file system: filesystem=",
        )
    # What names the server is among the options: abfss://container@account/path, hdfs://host/path.
    place = {"abfs": parts.username or parts.netloc, "abfss": parts.username or parts.netloc}
    place["hdfs"] = ""
    bare = f"{place.get(parts.scheme, parts.netloc)}{parts.path}"
    return vars(pafs)[kinds[parts.scheme]](**storage_options), bare


def _matching(system: FileSystem, pattern: str) -> list[str]:
    """Return the files that a path or pattern means."""
    import pyarrow.fs as pafs

    if not re.search(r"[*?\[]", pattern):
        info = system.get_file_info(pattern)
        if info.type == pafs.FileType.File:
            return [info.path]
        base, test = pattern.rstrip("/"), None
    else:
        base = re.split(r"[*?\[]", pattern)[0].rpartition("/")[0]
        test = re.compile(_regular(pattern))
    selector = pafs.FileSelector(base or "/", recursive=True, allow_not_found=True)
    found = [
        i.path
        for i in system.get_file_info(selector)
        if i.type == pafs.FileType.File and not _hidden(i.path[len(base) :])
    ]
    if test is None:
        # Other files may stand beside the data.
        return [p for p in found if p.endswith((".parquet", ".pq", ".parq"))] or found
    whole = [p for p in found if test.fullmatch(p)]
    inside = [p for p in found if any(test.fullmatch(str(q)) for q in Path(p).parents)]
    return whole or inside


def _regular(pattern: str) -> str:
    """Return the regular expression of a pattern: * and ? stand within one folder, ** for any."""
    pieces = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    found: list[str] = re.findall(r"\*\*|\*|\?|\[[^\]]+\]|[^*?\[]+|\[", pattern)
    parts: list[str] = []
    for piece in found:
        is_class = piece.startswith("[") and piece.endswith("]")
        other = piece.replace("[!", "[^", 1) if is_class else re.escape(piece)
        parts.append(pieces.get(piece, other))
    return "".join(parts)


def _hidden(path: str) -> bool:
    return any(part.startswith((".", "_")) for part in path.split("/") if "=" not in part)


def _expression(filters: Filters) -> Expression | None:
    if filters is None:
        return None
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if isinstance(filters, pc.Expression):
        return cast("Expression", filters)
    try:
        return cast("Expression", pq.filters_to_expression(filters))
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise DataError(
            "parquet(filters)",
            shown(filters),
            'a list such as [("year", ">=", 2020)], or a pyarrow expression',
            'Write for example filters=[("year", ">=", 2020)], with =, !=, <, <=, >, >=, in or not in',
        ) from error


def _filter_names(filters: Filters) -> tuple[str, ...] | None:
    """Return the columns that a list of conditions names; None for an expression, which does not say which."""
    if not isinstance(filters, list):
        return None
    names: list[str] = []
    for part in filters:
        names.extend(str(name) for name, *_ in (part if isinstance(part, list) else [part]))
    return tuple(dict.fromkeys(names))


def _partition(path: str) -> dict[str, str | None]:
    """Return the columns whose values are in a path."""
    found: dict[str, str | None] = {}
    for part in path.split("/")[:-1]:
        name, separator, value = part.partition("=")
        if separator and name:
            value = unquote(value)
            found[unquote(name)] = None if value == _NULL_PARTITION else value
    return found


def _read_footers(
    system: FileSystem,
    paths: Sequence[str],
    row_groups: slice | Sequence[int] | None,
    described: str,
) -> tuple[list[ParquetFile], list[ArrowSchema]]:
    """Return the files with the row groups that are read, and the schema of each with its partition columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    files: list[ParquetFile] = []
    schemas: list[ArrowSchema] = []
    partitions = [_partition(path) for path in paths]
    whole = {
        name: all(
            p.get(name) is None or re.fullmatch(r"[-+]?\d{1,18}", str(p[name])) for p in partitions
        )
        for partition in partitions
        for name in partition
    }
    for path, partition in zip(paths, partitions, strict=True):
        info = system.get_file_info(path)
        try:
            with system.open_input_file(path) as opened:
                reader = pq.ParquetFile(opened)
                metadata, schema = reader.metadata, reader.schema_arrow
        except (OSError, pa.ArrowException) as error:
            fix = "Leave it out, for example by a pattern: 'data/*.parquet'"
            if path.lower().endswith((".csv", ".csv.gz", ".tsv", ".txt")):
                fix = f"Read it first: X = pandas.read_csv({path!r})"
            raise DataError(
                path,
                f"a file that is not Parquet ({str(error)[:150]})",
                "a Parquet file",
                fix,
            ) from error
        repeated = {name for name in schema.names if schema.names.count(name) > 1}
        if repeated:
            raise DataError(
                path,
                f"the column name {min(repeated)!r} more than once",
                "column names that are unique",
                "Write the file with other names",
            )
        groups = _selected(row_groups, metadata.num_row_groups)
        values = tuple(
            (name, None if value is None else int(value) if whole[name] else value)
            for name, value in partition.items()
        )
        for name in partition:
            if name in schema.names:
                schema = schema.remove(schema.get_field_index(name))
            schema = schema.append(pa.field(name, pa.int64() if whole[name] else pa.string()))
        rows = tuple(metadata.row_group(g).num_rows for g in groups)
        files.append(ParquetFile(path, info.size, info.mtime_ns, values, groups, rows))
        schemas.append(schema)
    if not files:
        raise _nothing(described, "no file")
    return files, schemas


def _selected(row_groups: slice | Sequence[int] | None, n: int) -> tuple[int, ...]:
    """Return the row groups of a file that are read; raise for what is neither a slice nor a list of numbers."""
    if row_groups is None:
        return tuple(range(n))
    if isinstance(row_groups, slice):
        return tuple(range(n)[row_groups])
    if isinstance(row_groups, str) or not all(is_int(g) and g >= 0 for g in row_groups):
        raise DataError(
            "parquet(row_groups)",
            shown(row_groups),
            "a slice, or a list of numbers from 0",
            "Write slice(-1, None) for the last row group of each file",
        )
    return tuple(int(g) for g in row_groups if g < n)


def _unified(schemas: Sequence[ArrowSchema], files: Sequence[ParquetFile]) -> ArrowSchema:
    """Return one schema for all files: the wider of two types of numbers or text; raise if files differ."""
    import pyarrow as pa

    first = schemas[0]
    fields: dict[str, ArrowField] = {f.name: f for f in first}
    for schema, file in zip(schemas, files, strict=True):
        if set(schema.names) != set(fields):
            other = sorted(set(schema.names) ^ set(fields))
            here = other[0] in schema.names
            raise DataError(
                f"parquet: {file.path}",
                f"{'a' if here else 'no'} column {other[0]!r}, unlike {files[0].path}",
                "the same columns in all files",
                "Name files of one schema, or the columns' files apart",
            )
        for new in schema:
            known = fields[new.name].type
            if new.type == known:
                continue
            wider = _wider_dictionary(known, new.type) or _wider(known, new.type)
            if wider is None:
                raise DataError(
                    f"parquet: column {new.name!r}",
                    f"{new.type} in {file.path}, {known} in {files[0].path}",
                    "one type in all files",
                    "Write the files with one schema",
                )
            fields[new.name] = pa.field(new.name, wider)
    return pa.schema(list(fields.values()))


def _wider_dictionary(one: ArrowType, other: ArrowType) -> ArrowType | None:
    """Return the type of the values of two dictionaries: codes of few and of many values have different types."""
    import pyarrow as pa
    import pyarrow.types as pt

    both = pt.is_dictionary(one) and pt.is_dictionary(other)
    if not both or one.ordered != other.ordered:
        return None
    value, more = one.value_type, other.value_type
    wider = value if value == more else _wider(value, more)
    return None if wider is None else pa.dictionary(pa.int32(), wider, one.ordered)


def _wider(one: Any, other: Any) -> ArrowType | None:
    """Return the type that holds the values of two types; None for types of different kinds."""
    import pyarrow as pa
    import pyarrow.types as pt

    plain = [t.value_type if pt.is_dictionary(t) else t for t in (one, other)]
    if all(pt.is_string(t) or pt.is_large_string(t) for t in plain):
        return pa.large_string() if any(pt.is_large_string(t) for t in plain) else pa.string()
    if all(pt.is_integer(t) for t in plain):
        return pa.int64() if pa.uint64() not in plain else None
    if all(pt.is_floating(t) or pt.is_decimal(t) for t in plain):
        floats = [pa.float64() if pt.is_decimal(t) else t for t in plain]
        return max(floats, key=lambda t: t.bit_width)
    if any(pt.is_null(t) for t in plain):
        return plain[1] if pt.is_null(plain[0]) else plain[0]
    if all(pt.is_timestamp(t) for t in plain) and plain[0].tz == plain[1].tz:
        order = ["s", "ms", "us", "ns"]
        return max(plain, key=lambda t: order.index(t.unit))
    return None


def features_of(
    schema: ArrowSchema,
    columns: Sequence[str] | None,
    roles: Mapping[str, str | None],
    described: str,
) -> list[str]:
    """Return the names of the features; raise for unknown and repeated columns, and for nested ones."""
    import pyarrow.types as pt

    given = {name for name in roles.values() if isinstance(name, str)}
    if isinstance(columns, str):
        raise DataError("parquet(columns)", repr(columns), "a list of names", f"Use [{columns!r}]")
    # The index of a pandas frame is no feature.
    free = [n for n in schema.names if n not in given and not n.startswith("__index_level_")]
    features = free if columns is None else list(columns)
    known = ", ".join(repr(n) for n in schema.names[:12]) + ", …" * (len(schema.names) > 12)
    wanted = [("columns", name) for name in features]
    wanted += [(role, name) for role, name in roles.items() if name is not None]
    for argument, name in wanted:
        if not isinstance(name, str) or name not in schema.names:
            near = nearest(name, schema.names)
            fix = f"Did you mean {near!r}?" if near else "Use a column of the files"
            raise DataError(f"parquet({argument})", shown(name), f"one of {known}", fix)
    check_names(features)
    if not features:
        raise DataError(
            f"parquet({described!r})", "no column for a feature", "at least one", "Name columns"
        )
    for name in features:
        kind = schema.field(name).type
        if pt.is_nested(kind) or pt.is_interval(
            kind
        ):  # DuckDB's INTERVAL: months, days and nanoseconds
            raise DataError(
                f"parquet: column {name!r}",
                f"values of type {kind}",
                "numbers, text, booleans or times",
                "Name the other columns: columns=[...]",
            )
    weight = roles.get("sample_weight")
    if weight is not None and not _is_number(schema.field(weight).type):
        raise DataError(
            "parquet(sample_weight)",
            f"a column of type {schema.field(weight).type}",
            "numbers",
            "Name the column of the weights",
        )
    return features


def _is_number(kind: ArrowType) -> bool:
    import pyarrow.types as pt

    plain = kind.value_type if pt.is_dictionary(kind) else kind
    tests = (pt.is_integer, pt.is_floating, pt.is_decimal, pt.is_boolean)
    return any(test(plain) for test in tests)


def chosen_types(schema: ArrowSchema, names: Sequence[str]) -> ArrowSchema:
    """Return the schema of some columns, with decimal numbers as floats, and text in the common layout."""
    import pyarrow as pa
    import pyarrow.types as pt

    def plain(f: ArrowField) -> ArrowField:
        if pt.is_decimal(f.type):
            return pa.field(f.name, pa.float64())
        # Views have no kernels that take rows.
        if pt.is_string_view(f.type):
            return pa.field(f.name, pa.large_string())
        if pt.is_binary_view(f.type):
            return pa.field(f.name, pa.large_binary())
        if pt.is_dictionary(f.type):
            # The values of all files together may need wider codes than those of each.
            return pa.field(f.name, pa.dictionary(pa.int32(), f.type.value_type, f.type.ordered))
        return pa.field(f.name, f.type)

    return pa.schema([plain(schema.field(name)) for name in names])


def _pruned(
    files: Sequence[ParquetFile],
    system: FileSystem,
    schema: ArrowSchema,
    expression: Expression,
) -> list[ParquetFile]:
    """Return the files with those row groups only that may have rows which pass a filter."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as pads

    kept: list[ParquetFile] = []
    for file in files:
        where: Expression | None = None
        for name, value in file.partition:
            test = pc.field(name).is_null() if value is None else pc.field(name) == value
            where = test if where is None else where & test
        fragment = pads.ParquetFileFormat().make_fragment(
            file.path, system, partition_expression=where, row_groups=list(file.groups)
        )
        try:
            parts = fragment.split_by_row_group(filter=expression, schema=schema)
        except pa.ArrowException as error:
            raise DataError(
                "parquet(filters)",
                f"a filter that cannot be applied ({str(error)[:150]})",
                "comparisons of columns with values of their types",
                "See pyarrow.parquet.read_table",
            ) from error
        left = {g.id for part in parts for g in part.row_groups}
        chosen = [(g, n) for g, n in zip(file.groups, file.rows, strict=True) if g in left]
        if chosen:
            groups, rows = zip(*chosen, strict=True)
            kept.append(replace(file, groups=tuple(groups), rows=tuple(rows)))
    if not kept:
        raise DataError(
            "parquet(filters)", "no row that passes", "at least one row", "Check the filter"
        )
    return kept
