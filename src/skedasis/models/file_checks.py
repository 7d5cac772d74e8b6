"""Checks of a model file before it is read: existence, first bytes, refusal of pickles."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from skedasis.errors import DataError, UnsupportedError, explained

PICKLE = b"\x80"
"""What a pickle begins with, since its second protocol of 2003."""


_WRAPPED = (
    b"\x78\x01",
    b"\x78\x5e",
    b"\x78\x9c",
    b"\x78\xda",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ\x00",
    b"\x5d\x00\x00",
)
"""zlib (four levels), gzip, bzip2, xz and LZMA: joblib compresses its pickles by these."""


_HEAD = 64


def head(file: Path) -> bytes:
    """Return the first bytes of a file.

    Raises
    ------
    DataError
        For a file that is not there, a folder, one that may not be read, and one that is empty.
    """
    if file.is_dir():
        raise DataError(explained("model", f"the folder {str(file)!r}", "a file", "Name the file"))
    try:
        if file.exists() and not file.is_file():
            raise OSError(0, "it is a pipe or a device")  # which may never end
        with file.open("rb") as stream:
            begins = stream.read(_HEAD)
    except FileNotFoundError as error:
        raise DataError(
            explained("model", f"no file {str(file)!r}", "a file", "Check the path")
        ) from error
    except (OSError, ValueError) as error:
        raise unreadable(file, error) from error
    if not begins:
        raise DataError(
            explained(
                f"model {str(file)!r}",
                "an empty file, cut off before its first byte",
                "a fitted model",
                "Save it anew",
            )
        )
    return begins


def content(file: Path) -> bytes:
    """Return all bytes of a file.

    Raises
    ------
    DataError
    """
    try:
        return file.read_bytes()
    except OSError as error:
        raise unreadable(file, error) from error


def unreadable(file: Path, error: Exception) -> DataError:
    """Return the refusal of a file that the system does not give."""
    why = getattr(error, "strerror", None) or error
    return DataError(
        explained(
            f"model {str(file)!r}",
            f"a file that cannot be read ({why})",
            "a file of yours",
            "Check its permissions",
        )
    )


def is_pickled(begins: bytes) -> bool:
    """Return whether a file begins as pickles do, compressed ones as joblib writes them too."""
    return begins.startswith((PICKLE, *_WRAPPED))


def library(name: str, file: Path, extra: str | None = None) -> Any:
    """Import what reads a file.

    Raises
    ------
    UnsupportedError
        Where it is not installed: the message names the extra that brings it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        install = f"'skedasis[{extra}]'" if extra else package
        raise UnsupportedError(
            explained(
                f"model {str(file)!r}",
                f"no {package}",
                f"{package}, which reads it",
                f"Install it: pip install {install}",
            )
        ) from error


def broken(file: Path, kind: str, why: object = None) -> DataError:
    """Return the refusal of a file that is none of its kind, or not whole."""
    line = " ".join(str(why or "").split())[:200]
    return DataError(
        explained(
            f"model {str(file)!r}",
            f"a file that is cut off, or none of {kind}{f' ({line})' if line else ''}",
            f"a whole model as {kind} saves it",
            "Save it anew",
        )
    )
