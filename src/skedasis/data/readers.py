"""Readers of CSV, Parquet and Arrow files.

What a spreadsheet does to a CSV file is undone here: byte order marks, semicolons, decimal commas. Without a data frame
library a CSV file of numbers is still read, into an array.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import importlib
import importlib.util
import io
import itertools
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Ints
from skedasis.data.features import Feature, check_names
from skedasis.errors import DataError, explained

# ------------------------------------------------------------------------------------------
# Parquet and Arrow files as data frames, by whichever library is installed that reads them.


PARQUET = (".parquet", ".pq")


ARROW = (".feather", ".arrow", ".ipc")


_FILE = b"ARROW1"
"""What an Arrow file begins with; a stream of Arrow has no such word."""


def parquet(path: Path, libraries: Sequence[str]) -> Any:
    """Read a Parquet file.

    Parameters
    ----------
    path : Path
    libraries : sequence of str
        Those that are installed, in the order in which they are tried.

    Raises
    ------
    DataError
        For damaged files, and where no library reads them.
    """

    def read(library: str) -> Any:
        import narwhals.stable.v2 as nw

        frame: Any = nw.read_parquet(str(path), backend=library)  # type: ignore[arg-type]
        return frame.to_native()

    return _first(path, "Parquet", libraries, read)


def arrow(path: Path, libraries: Sequence[str]) -> Any:
    """Read a file of Arrow, which is what Feather is today: the file or the stream, by what it begins with.

    Raises
    ------
    DataError
        For damaged files, and where no library reads them.
    """
    is_file = _is_file(path)

    def read(library: str) -> Any:
        if library == "polars":
            import polars as pl

            return pl.read_ipc(path) if is_file else pl.read_ipc_stream(path)
        ipc: Any = importlib.import_module("pyarrow.ipc")
        with path.open("rb") as source:
            opened = ipc.open_file(source) if is_file else ipc.open_stream(source)
            return opened.read_pandas()

    return _first(path, "Arrow", libraries, read)


def names_in(path: Path, *, is_parquet: bool) -> list[str]:
    """Return the column names that a file says it has, by reading no more than that; none where they cannot be read.

    Names that stand twice are all here, which data frames would not take.
    """
    try:
        if importlib.util.find_spec("pyarrow") is None:
            pl: Any = importlib.import_module("polars")
            known = (pl.read_parquet_schema if is_parquet else pl.read_ipc_schema)(path)
            return list(map(str, known))
        if is_parquet:
            return list(importlib.import_module("pyarrow.parquet").read_schema(path).names)
        ipc: Any = importlib.import_module("pyarrow.ipc")
        with path.open("rb") as source:
            opened = ipc.open_file(source) if _is_file(path) else ipc.open_stream(source)
            return list(opened.schema.names)
    except Exception:  # noqa: BLE001 - reading it in earnest says what is wrong
        return []


def _is_file(path: Path) -> bool:
    """Return whether Arrow data are a file, not a stream."""
    with path.open("rb") as stream:
        return stream.read(len(_FILE)) == _FILE


def _first(path: Path, kind: str, libraries: Sequence[str], read: Callable[[str], Any]) -> Any:
    """Return what the first library gives that can."""
    failures: list[str] = []
    for library in libraries:
        if library == "pandas" and importlib.util.find_spec("pyarrow") is None:
            continue  # pandas reads both by pyarrow only
        try:
            return read(library)
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as error:  # noqa: BLE001 - each has its own; a panic of Polars is no Exception
            failures.append((str(error).splitlines() or [type(error).__name__])[0])
    if failures:
        got = f"a file that cannot be read ({failures[0]})"
        raise DataError(explained(str(path), got, f"a whole {kind} file", "Write it again"))
    raise DataError(
        explained(
            str(path),
            f"{'an' if kind == 'Arrow' else 'a'} {kind} file and no library that reads it",
            "Polars, or pandas with pyarrow",
            "Install one: pip install polars",
        )
    )


# ------------------------------------------------------------------------------------------
# Files: a CSV, Parquet or Arrow file as a table, by whichever data frame library is installed.


_LIBRARIES = ("pandas", "polars")
"""Those whose frames scikit-learn's transformers know, in the order in which they are tried."""


ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", *PARQUET, *ARROW)
"""What the files end with that are suggested where a name is wrong."""


_GZIP = b"\x1f\x8b"


_DELIMITERS = ",;\t|"


_MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")


_LOOKED_AT = 1000


_BEGINNING = 1 << 20
"""Bytes in which a header is looked for."""


_DECIMAL_COMMA = r"^\s*[-+]?\d+(?:,\d+)?(?:[eE][-+]?\d+)?\s*$"


@dataclass(frozen=True, eq=False)
class Table:
    """A file's columns.

    Parameters
    ----------
    data : data frame or ndarray of float
        A pandas or Polars frame; an array where neither is installed.
    names : tuple of str
    """

    data: Any
    names: tuple[str, ...]

    @property
    def is_frame(self) -> bool:
        """Return whether there is a data frame, whose columns know their own names."""
        return not isinstance(self.data, np.ndarray)

    @property
    def schema(self) -> dict[int, Feature] | None:
        """Return what `skedasis.explain` needs to be told of an array: its columns' names."""
        if self.is_frame:
            return None
        return {j: Feature(name, position=j) for j, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.data)

    def place(self, name: str, what: str = "column") -> int:
        """Return the place of a column.

        Raises
        ------
        DataError
            Where there is none: the message suggests the nearest name.
        """
        if name in self.names:
            return self.names.index(name)
        near = _nearest(name, self.names)
        fix = "Name one of these" if near is None else f"Did you mean {near!r}?"
        listed = ", ".join(map(repr, self.names[:12])) + (", …" if len(self.names) > 12 else "")
        raise DataError(explained(what, repr(name), f"one of {listed}", fix))

    def column(self, name: str) -> NDArray[Any]:
        """Return a column's values."""
        j = self.place(name)
        if not self.is_frame:
            return self.data[:, j]
        import narwhals.stable.v2 as nw

        return nw.from_native(self.data, eager_only=True)[name].to_numpy()

    def select(self, names: Sequence[str]) -> Table:
        """Return some of the columns, in the order of `names`."""
        places = [self.place(n) for n in names]
        if not self.is_frame:
            return Table(self.data[:, places], tuple(names))
        import narwhals.stable.v2 as nw

        frame = nw.from_native(self.data, eager_only=True)
        return Table(frame.select(list(names)).to_native(), tuple(names))

    def take(self, rows: Ints) -> Table:
        """Return some of the rows."""
        if not self.is_frame:
            return Table(self.data[rows], self.names)
        import narwhals.stable.v2 as nw

        return Table(nw.from_native(self.data, eager_only=True)[rows].to_native(), self.names)


def _nearest(name: str, names: Sequence[str]) -> str | None:
    """Return the name that may have been meant: but for spaces and case the same, longer, or spelt alike."""
    short = name.strip().casefold()
    folded = {n.strip().casefold(): n for n in reversed(names)}
    if short in folded:
        return folded[short]
    longer = [n for f, n in folded.items() if len(short) > 1 and short in f]
    return next(iter(longer[-1:] or difflib.get_close_matches(name, names, 1, 0.5)), None)


def read_table(path: str | Path) -> Table:
    """Read a CSV, Parquet or Arrow file.

    Parameters
    ----------
    path : str or Path
        Parquet if it ends in ``.parquet`` or ``.pq``, Arrow if it ends in ``.feather``, ``.arrow`` or ``.ipc``; else
        text with commas, semicolons, tabs or bars between columns, which may be compressed by gzip.

    Raises
    ------
    DataError
        For a file that is not there, is empty or damaged, has a column name twice or rows of different lengths, or
        needs a library that is not installed.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(
            explained("data", _absence(path), "a CSV, Parquet or Arrow file", _nearby(path))
        )
    try:
        table = _read(path)
    except OSError as error:
        got = f"a file that cannot be read ({error.strerror or error})"
        raise DataError(
            explained(str(path), got, "a file of yours", "Check its permissions")
        ) from error
    check_names(table.names)
    if not table.names:
        raise DataError(explained(str(path), "no column", "a table", "Check how it was written"))
    if len(table) == 0:
        raise DataError(
            explained(str(path), "no row", "a header and rows below it", "Check how it was written")
        )
    return table


def _read(path: Path) -> Table:
    kind, begins = _kind(path)
    if kind == "text":
        return _csv(path)
    if not begins:
        raise DataError(
            explained(str(path), "an empty file", "a table", "Check how it was written")
        )
    check_names(names_in(path, is_parquet=kind == "Parquet"))
    read = parquet if kind == "Parquet" else arrow
    return _of_frame(read(path, _installed()))


def _kind(path: Path) -> tuple[str, bytes]:
    """Return what kind of file it is, and its first bytes: what it holds counts more than what it is called."""
    with path.open("rb") as stream:
        begins = stream.read(8)
    suffix = path.suffix.lower()
    if suffix in PARQUET or begins.startswith(b"PAR1"):
        return "Parquet", begins
    if suffix in ARROW or begins.startswith(b"ARROW1"):
        return "Arrow", begins
    return "text", begins


def header(path: str | Path) -> list[str]:
    """Return a file's column names after a look at its beginning; none where there is no such file, or it is damaged.

    Examples
    --------
    >>> header("no-such-file.csv")
    []
    """
    path = Path(path)
    try:
        kind, _ = _kind(path)
        if kind != "text":
            return names_in(path, is_parquet=kind == "Parquet")
        with path.open("rb") as stream:
            raw = stream.read(_BEGINNING)
        if raw.startswith(_GZIP):
            raw = zlib.decompressobj(wbits=31).decompress(raw, _BEGINNING)
        if len(raw) == _BEGINNING and b"\n" in raw:
            raw = raw[: raw.rindex(b"\n") + 1]  # no letter is cut in two
        text = _as_text(path, raw)
        rows = csv.reader(io.StringIO(text), delimiter=_delimiter(text))
        return next((row for row in rows if row), [])
    except (OSError, ValueError, csv.Error, zlib.error):
        return []


def _of_frame(frame: Any) -> Table:
    import narwhals.stable.v2 as nw

    return Table(frame, tuple(map(str, nw.from_native(frame, eager_only=True).columns)))


def _absence(path: Path) -> str:
    return f"the folder {str(path)!r}" if path.is_dir() else f"no file {str(path)!r}"


def _nearby(path: Path) -> str:
    """Suggest the file that may have been meant."""
    folder = path if path.is_dir() else path.parent
    try:
        there = [p.name for p in folder.iterdir() if p.is_file()]
    except OSError:
        return "Check the folder's name"
    tables = [n for n in there if n.lower().endswith(ENDINGS)]
    near = difflib.get_close_matches(path.name, tables, n=1, cutoff=0.4)
    return f"Did you mean {str(folder / near[0])!r}?" if near else "Check the file's name"


def _installed() -> list[Any]:
    return [name for name in _LIBRARIES if importlib.util.find_spec(name) is not None]


# ------------------------------------------------------------------------------------------------- CSV
def _csv(path: Path) -> Table:
    text = _decoded(path)
    if not text.strip():
        raise DataError(
            explained(
                str(path), "an empty file", "a header and rows below it", "Check how it was written"
            )
        )
    delimiter = _delimiter(text)
    names = _checked_header(path, text, delimiter)
    installed = _installed()
    if installed:
        return _by_library(path, text, delimiter, installed[0])
    return _numbers(path, text, delimiter, names)


def _decoded(path: Path) -> str:
    raw = path.read_bytes()
    if raw.startswith(_GZIP):
        raw = _unpacked(path, raw)
    return _as_text(path, raw)


def _as_text(path: Path, raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", errors="replace")  # what a spreadsheet calls "Unicode text"
    if b"\0" in raw[:4096]:
        raise DataError(
            explained(
                str(path),
                "a binary file",
                "text with one row a line",
                "Save it as CSV, Parquet or Feather",
            )
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")


def _unpacked(path: Path, raw: bytes) -> bytes:
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            explained(
                str(path),
                f"a compressed file that is cut off or damaged ({error})",
                "a whole one",
                "Compress it again",
            )
        ) from error


def _delimiter(text: str) -> str:
    """Return what stands between columns: the candidate that splits the first lines most, and evenly."""
    lines = [line for line in itertools.islice(io.StringIO(text), 20) if line.strip()]
    best, most = ",", 1
    for candidate in _DELIMITERS:
        counts = [len(row) for row in csv.reader(lines, delimiter=candidate) if row]
        if counts and min(counts) == max(counts) > most:
            best, most = candidate, counts[0]
    if most > 1:
        return best
    # Uneven everywhere: the header decides, and the check of its rows then says which line is odd.
    return max(_DELIMITERS, key=lines[0].count) if lines else ","


def _checked_header(path: Path, text: str, delimiter: str) -> list[str]:
    """Return the column names, after a look at the first rows: libraries bend uneven ones silently."""
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    header = next((row for row in rows if row), [])
    check_names([name for name in header if name])
    for row in itertools.islice(rows, _LOOKED_AT):
        if row and len(row) != len(header):
            raise DataError(
                explained(
                    f"{path}, line {rows.line_num}",
                    f"{len(row)} fields",
                    f"{len(header)}, as in the header (between them: {delimiter!r})",
                    "Put values that contain the delimiter into quotation marks",
                )
            )
    return header


def _by_library(path: Path, text: str, delimiter: str, library: Any) -> Table:
    import narwhals.stable.v2 as nw  # whose own read_csv takes no text in memory in 2.0

    if library == "pandas":
        options: dict[str, Any] = {"sep": delimiter, "low_memory": False, "index_col": False}
        if int(version("pandas").split(".")[0]) < 3:  # they may read the last bit wrong
            options["float_precision"] = "round_trip"
    else:
        options = {"infer_schema_length": None, "null_values": [*_MISSING], "separator": delimiter}
    file, reader = io.BytesIO(text.encode()), importlib.import_module(library)
    try:
        frame = nw.from_native(reader.read_csv(file, **options))
    except Exception as error:  # each library has its own for a damaged file
        got = f"rows that {library} cannot read ({str(error).splitlines()[0]})"
        what = (str(path), got, "a CSV table", "Check the rows it names")
        raise DataError(explained(*what)) from error
    frame = _with_decimal_points(frame) if delimiter == ";" else frame
    return Table(frame.to_native(), tuple(map(str, frame.columns)))


def _with_decimal_points(frame: Any) -> Any:
    """Return a frame whose columns of text like ``3,14`` are numbers."""
    import narwhals.stable.v2 as nw

    changed: list[Any] = []
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


def _numbers(path: Path, text: str, delimiter: str, names: list[str]) -> Table:
    """Read a table of numbers without a data frame library."""
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    next(row for row in rows if row)
    table: list[list[float]] = []
    for row in rows:
        if not row:
            continue
        try:
            table.append([_number(cell, delimiter) for cell in row])
        except ValueError as error:
            raise DataError(
                explained(
                    f"{path}, line {rows.line_num}",
                    f"text ({error})",
                    "numbers only, as no data frame library is installed",
                    "Install one: pip install pandas",
                )
            ) from error
        if len(row) != len(names):
            raise DataError(
                explained(
                    f"{path}, line {rows.line_num}",
                    f"{len(row)} fields",
                    f"{len(names)}, as in the header",
                    "Repair the line",
                )
            )
    return Table(np.array(table, dtype=float).reshape(len(table), len(names)), tuple(names))


def _number(cell: str, delimiter: str) -> float:
    if cell.strip() in _MISSING:
        return float("nan")
    return float(cell.replace(",", ".") if delimiter == ";" else cell)
