"""Parquet and Arrow files as data frames, by whichever library is installed that reads them."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from skedasis.errors import DataError, explained

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
