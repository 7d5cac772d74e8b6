"""Readers of CSV, Parquet and Arrow files, for the command line and the demonstration."""

from __future__ import annotations

import csv
import gzip
import importlib
import importlib.util
import io
import itertools
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from skedasis._types import Container, Ints, Values
from skedasis.data.features import check_names, first_names
from skedasis.errors import DataError, nearest

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    from narwhals.typing import IntoDataFrame

    from skedasis.data.where import RowCondition

FrameLibrary: TypeAlias = Literal["pandas", "polars"]
"""A library that reads files and has data frames."""

# ------------------------------------------------------------------------------ Parquet and Arrow
_PARQUET = (".parquet", ".pq")

_ARROW = (".feather", ".arrow", ".ipc")

_ARROW_MAGIC = b"ARROW1"
"""The first bytes of an Arrow file; an Arrow stream has no such prefix."""


def _read_parquet(path: Path, libraries: Sequence[FrameLibrary]) -> IntoDataFrame:
    """Read a Parquet file."""

    def read(library: FrameLibrary) -> IntoDataFrame:
        import narwhals.stable.v2 as nw

        return nw.read_parquet(str(path), backend=library).to_native()

    return _read_with_any(path, "Parquet", libraries, read)


def _read_arrow(path: Path, libraries: Sequence[FrameLibrary]) -> IntoDataFrame:
    """Read an Arrow (Feather) file, in the file or the stream format."""
    is_file = _is_arrow_file(path)

    def read(library: FrameLibrary) -> IntoDataFrame:
        if library == "polars":
            import polars as pl

            return pl.read_ipc(path) if is_file else pl.read_ipc_stream(path)
        ipc = importlib.import_module("pyarrow.ipc")
        with path.open("rb") as source:
            opened = ipc.open_file(source) if is_file else ipc.open_stream(source)
            return opened.read_pandas()

    return _read_with_any(path, "Arrow", libraries, read)


def _column_names(path: Path, *, is_parquet: bool) -> list[str]:
    """Return the column names from a file's schema, including duplicates; an empty list if they cannot be read."""
    try:
        if importlib.util.find_spec("pyarrow") is None:
            pl = importlib.import_module("polars")
            known = (pl.read_parquet_schema if is_parquet else pl.read_ipc_schema)(path)
            return list(map(str, known))
        if is_parquet:
            return list(importlib.import_module("pyarrow.parquet").read_schema(path).names)
        ipc = importlib.import_module("pyarrow.ipc")
        with path.open("rb") as source:
            opened = ipc.open_file(source) if _is_arrow_file(path) else ipc.open_stream(source)
            return list(opened.schema.names)
    except Exception:  # noqa: BLE001 - reading the data afterwards reports the error
        return []


def _is_arrow_file(path: Path) -> bool:
    """Return whether Arrow data are in the file format, not in the stream format."""
    with path.open("rb") as stream:
        return stream.read(len(_ARROW_MAGIC)) == _ARROW_MAGIC


def _read_with_any(
    path: Path,
    kind: str,
    libraries: Sequence[FrameLibrary],
    read: Callable[[FrameLibrary], IntoDataFrame],
) -> IntoDataFrame:
    """Return the data from the first library that can read the file."""
    failures: list[str] = []
    for library in libraries:
        if library == "pandas" and importlib.util.find_spec("pyarrow") is None:
            continue  # pandas needs pyarrow for both formats
        try:
            return read(library)
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as error:  # noqa: BLE001 - libraries differ; a panic of Polars is not an Exception
            failures.append((str(error).splitlines() or [type(error).__name__])[0])
    if failures:
        got = f"a file that cannot be read ({failures[0]})"
        raise DataError(str(path), got, f"a complete {kind} file", "Write the file again")
    raise DataError(
        str(path),
        f"{'an' if kind == 'Arrow' else 'a'} {kind} file and no library that reads it",
        "Polars, or pandas with pyarrow",
        "Install one, for example with pip install polars",
    )


# --------------------------------------------------------------------------------------- tables
_LIBRARIES: tuple[FrameLibrary, ...] = ("pandas", "polars")
"""Libraries whose frames scikit-learn's transformers support, in the order in which they are tried."""

ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", *_PARQUET, *_ARROW)
"""Endings of the files that are suggested for a wrong name."""

_GZIP = b"\x1f\x8b"

_DELIMITERS = ",;\t|"

_MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")

_CHECKED_ROWS = 1000
"""Rows whose number of fields is compared with the header."""

_HEADER_BYTES = 1 << 20
"""Largest size of a header."""

_DECIMAL_COMMA = r"^\s*[-+]?\d+(?:,\d+)?(?:[eE][-+]?\d+)?\s*$"


@dataclass(frozen=True, eq=False)
class FileTable:
    """The contents of a file: data and column names."""

    data: Container
    names: tuple[str, ...]
    read: int | None = field(default=None, kw_only=True)

    @property
    def is_frame(self) -> bool:
        """Return whether the data are a data frame, which has column names."""
        return not isinstance(self.data, np.ndarray)

    def __len__(self) -> int:
        return len(self.data)

    def place(self, name: str, what: str = "column") -> int:
        """Return the position of a column."""
        if name in self.names:
            return self.names.index(name)
        near = nearest(name, reversed(self.names))
        fix = "Use one of these names" if near is None else f"Did you mean {near!r}?"
        parts = name.split(",")
        if len(parts) > 1 and all(part in self.names for part in parts):
            fix = f"Separate names by spaces: {' '.join(parts)}"
        pair = re.split(r"[:*&]", name)
        if len(pair) == 2 and all(part in self.names for part in pair):
            fix = f"For the interaction of two write {pair[0]} --with {pair[1]}"
        if name.lower().endswith(_WRITTEN):
            fix = f"For the file that is written, write --out {name}"
        raise DataError(what, repr(name), f"one of {first_names(self.names)}", fix)

    def column(self, name: str) -> Values:
        """Return a column's values."""
        j = self.place(name)
        if isinstance(self.data, np.ndarray):
            return self.data[:, j]
        import narwhals.stable.v2 as nw

        return nw.from_native(self.data, eager_only=True)[name].to_numpy()

    def select(self, names: Sequence[str]) -> FileTable:
        """Return some of the columns, in the order of `names`."""
        positions = [self.place(n) for n in names]
        if isinstance(self.data, np.ndarray):
            return FileTable(self.data[:, positions], tuple(names))
        import narwhals.stable.v2 as nw

        frame = nw.from_native(self.data, eager_only=True)
        return FileTable(frame.select(list(names)).to_native(), tuple(names))

    def where(self, text: str, what: str) -> FileTable:
        """Return the rows for which a condition on the columns is true; see `skedasis.data.where.parse`."""
        rows = self.condition(text, what).rows(self.data)
        if not len(rows):
            raise no_rows(text, len(self), what)
        return replace(self.take(rows), read=len(self))

    def condition(self, text: str, what: str) -> RowCondition:
        """Return a condition on the columns that there are."""
        from skedasis.data.where import parse  # for `--where` alone

        found = parse(text, self.names, what)
        for name in found.columns:
            if name not in self.names:
                near = nearest(name, self.names)
                meant = "" if near is None else f"Did you mean {near!r}? "
                fix = f"{meant}Text stands between single quotation marks"
                raise found.error(f"there is no column {name!r}", fix)
        return found

    def take(self, rows: Ints) -> FileTable:
        """Return some of the rows."""
        if isinstance(self.data, np.ndarray):
            return FileTable(self.data[rows], self.names)
        import narwhals.stable.v2 as nw

        return FileTable(nw.from_native(self.data, eager_only=True)[rows].to_native(), self.names)


_WRITTEN = (".html", ".htm", ".png", ".svg", ".pdf", ".json", ".csv", ".npz")
"""Endings of files that commands write."""


def no_rows(condition: str, n: int, what: str) -> DataError:
    """Return the error for a condition that is true for none of n rows."""
    got = f"{condition[:60]!r}, which none of {n:,} rows satisfies"
    fix = "Check the values; rows with a missing value satisfy no comparison"
    return DataError(what, got, "a condition that some rows satisfy", fix)


def read_table(path: str | Path) -> FileTable:
    """Read a CSV, Parquet or Arrow file."""
    path = Path(path)
    if not path.is_file():
        raise DataError(
            "data", _describe_absence(path), "a CSV, Parquet or Arrow file", _suggest_path(path)
        )
    try:
        table = _read_file(path)
    except OSError as error:
        got = f"a file that cannot be read ({error.strerror or error})"
        raise DataError(str(path), got, "a readable file", "Check its permissions") from error
    check_names(table.names)
    if not table.names:
        raise _incomplete(path, "no columns", "a table")
    if len(table) == 0:
        raise _incomplete(path, "no rows")
    return table


def _incomplete(path: Path, got: str, expected: str = "a header and rows below it") -> DataError:
    return DataError(str(path), got, expected, "Check how the file was written")


def _read_file(path: Path) -> FileTable:
    kind, begins = _file_kind(path)
    if kind == "text":
        return _read_csv(path)
    if not begins:
        raise _incomplete(path, "an empty file", "a table")
    check_names(_column_names(path, is_parquet=kind == "Parquet"))
    read = _read_parquet if kind == "Parquet" else _read_arrow
    return _of_frame(read(path, _installed()))


def _file_kind(path: Path) -> tuple[str, bytes]:
    """Return the kind of a file, from its ending or its first bytes, and these bytes."""
    with path.open("rb") as stream:
        begins = stream.read(8)
    suffix = path.suffix.lower()
    if suffix in _PARQUET or begins.startswith(b"PAR1"):
        return "Parquet", begins
    if suffix in _ARROW or begins.startswith(b"ARROW1"):
        return "Arrow", begins
    return "text", begins


def header(path: str | Path) -> list[str]:
    """Return a file's column names, reading only its beginning; an empty list if it cannot be read."""
    path = Path(path)
    try:
        kind, _ = _file_kind(path)
        if kind != "text":
            return _column_names(path, is_parquet=kind == "Parquet")
        with path.open("rb") as stream:
            raw = stream.read(_HEADER_BYTES)
        if raw.startswith(_GZIP):
            raw = zlib.decompressobj(wbits=31).decompress(raw, _HEADER_BYTES)
        if len(raw) == _HEADER_BYTES and b"\n" in raw:
            raw = raw[: raw.rindex(b"\n") + 1]  # whole lines, so that no character is incomplete
        text = _as_text(path, raw)
        rows = csv.reader(io.StringIO(text), delimiter=_delimiter(text))
        return next((row for row in rows if row), [])
    except (OSError, ValueError, csv.Error, zlib.error):
        return []


def _of_frame(frame: IntoDataFrame) -> FileTable:
    import narwhals.stable.v2 as nw

    return FileTable(frame, tuple(map(str, nw.from_native(frame, eager_only=True).columns)))


def _describe_absence(path: Path) -> str:
    return f"the folder {str(path)!r}" if path.is_dir() else f"no file {str(path)!r}"


def _suggest_path(path: Path) -> str:
    """Return a suggestion: the file with the most similar name."""
    folder = path if path.is_dir() else path.parent
    try:
        files = [p.name for p in folder.iterdir() if p.is_file()]
    except OSError:
        return "Check the folder's name"
    tables = [n for n in files if n.lower().endswith(ENDINGS)]
    near = nearest(path.name, tables)
    return f"Did you mean {str(folder / near)!r}?" if near else "Check the file's name"


def _installed() -> list[FrameLibrary]:
    return [name for name in _LIBRARIES if importlib.util.find_spec(name) is not None]


# ------------------------------------------------------------------------------------------ CSV
def _read_csv(path: Path) -> FileTable:
    text = _decoded(path)
    if not text.strip():
        raise _incomplete(path, "an empty file")
    delimiter = _delimiter(text)
    names = _check_header(path, text, delimiter)
    installed = _installed()
    if installed:
        return _parse_with_library(path, text, delimiter, installed[0])
    return _parse_numbers(path, text, delimiter, names)


def _decoded(path: Path) -> str:
    raw = path.read_bytes()
    if raw.startswith(_GZIP):
        raw = _decompressed(path, raw)
    return _as_text(path, raw)


def _as_text(path: Path, raw: bytes) -> str:
    """Return the text of a file, with the ends of lines of any system as newlines."""
    text = _decoded_text(path, raw)
    # A carriage return alone ends the lines of old Macs; the parsers take it for a part of a value, or refuse it.
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _decoded_text(path: Path, raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return raw.decode("utf-32", errors="replace")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", errors="replace")  # "Unicode text" of spreadsheets
    if b"\0" in raw[:4096]:
        raise DataError(
            str(path),
            "a binary file",
            "text with one row per line",
            "Save the data as CSV, Parquet or Feather",
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")


def _decompressed(path: Path, raw: bytes) -> bytes:
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            str(path),
            f"a compressed file that is truncated or damaged ({error})",
            "a complete file",
            "Compress the data again",
        ) from error


def _delimiter(text: str) -> str:
    """Return the delimiter: the candidate that splits the first lines into the most fields, equally many in each."""
    lines = [line for line in itertools.islice(io.StringIO(text), 20) if line.strip()]
    best, most = ",", 1
    for candidate in _DELIMITERS:
        counts = [len(row) for row in csv.reader(lines, delimiter=candidate) if row]
        if counts and min(counts) == max(counts) > most:
            best, most = candidate, counts[0]
    if most > 1:
        return best
    # No candidate splits the lines evenly: the header decides, and `_check_header` then reports the deviating line.
    return max(_DELIMITERS, key=lines[0].count) if lines else ","


def _check_header(path: Path, text: str, delimiter: str) -> list[str]:
    """Return the column names; raise if the first rows have other lengths, which libraries may silently accept."""
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    header = next((row for row in rows if row), [])
    check_names([name for name in header if name])
    for row in itertools.islice(rows, _CHECKED_ROWS):
        if row and len(row) != len(header):
            raise DataError(
                f"{path}, line {rows.line_num}",
                f"{len(row)} fields",
                f"{len(header)}, as in the header (delimiter {delimiter!r})",
                "Put values that contain the delimiter into quotation marks",
            )
    return header


def _parse_with_library(path: Path, text: str, delimiter: str, library: FrameLibrary) -> FileTable:
    import narwhals.stable.v2 as nw  # its read_csv does not accept text in memory in version 2.0

    if library == "pandas":
        options: dict[str, object] = {"sep": delimiter, "low_memory": False, "index_col": False}
        if int(version("pandas").split(".")[0]) < 3:  # older versions may read the last bit wrong
            options["float_precision"] = "round_trip"
    else:
        options = {"infer_schema_length": None, "null_values": [*_MISSING], "separator": delimiter}
    file, reader = io.BytesIO(text.encode()), importlib.import_module(library)
    try:
        frame = nw.from_native(reader.read_csv(file, **options))
    except Exception as error:  # each library has its own exceptions for damaged files
        got = f"rows that {library} cannot read ({str(error).splitlines()[0]})"
        fix = f"Check the rows that {library} reports"
        raise DataError(str(path), got, "a CSV table", fix) from error
    frame = _with_decimal_points(frame) if delimiter == ";" else frame
    return FileTable(frame.to_native(), tuple(map(str, frame.columns)))


def _with_decimal_points(frame: nw.DataFrame[IntoDataFrame]) -> nw.DataFrame[IntoDataFrame]:
    """Return a frame in which columns of text like ``3,14`` are converted to numbers."""
    import narwhals.stable.v2 as nw

    changed: list[nw.Expr] = []
    for name in frame.columns:
        column = frame[name]
        if column.dtype != nw.String:
            continue
        text = column.drop_nulls()
        if len(text) and text.str.contains(_DECIMAL_COMMA).all():
            changed.append(
                nw.col(name).str.strip_chars().str.replace_all(",", ".").cast(nw.Float64)
            )
    return frame.with_columns(changed) if changed else frame


def _parse_numbers(path: Path, text: str, delimiter: str, names: list[str]) -> FileTable:
    """Read a table of numbers without a data frame library."""
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    next(row for row in rows if row)
    table: list[list[float]] = []
    for row in rows:
        if not row:
            continue
        try:
            table.append([_parse_number(cell, delimiter) for cell in row])
        except ValueError as error:
            raise DataError(
                f"{path}, line {rows.line_num}",
                f"text ({error})",
                "numbers only, because no data frame library is installed",
                "Install one, for example with pip install pandas",
            ) from error
        if len(row) != len(names):
            raise DataError(
                f"{path}, line {rows.line_num}",
                f"{len(row)} fields",
                f"{len(names)}, as in the header",
                "Correct the line",
            )
    return FileTable(np.array(table, dtype=float).reshape(len(table), len(names)), tuple(names))


def _parse_number(cell: str, delimiter: str) -> float:
    if cell.strip() in _MISSING:
        return float("nan")
    return float(cell.replace(",", ".") if delimiter == ";" else cell)
