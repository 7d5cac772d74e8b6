"""Checks of a model file before it is read: existence, first bytes, and the errors of files that cannot be read.

The readers in `skedasis.models.files` and `skedasis.models.torch_export` use them.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import IO, Any

from skedasis.errors import DataError, UnsupportedError

PICKLE = b"\x80"
"""First byte of a pickle since protocol 2 (2003)."""


_COMPRESSED = (
    b"\x78\x01",
    b"\x78\x5e",
    b"\x78\x9c",
    b"\x78\xda",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ\x00",
    b"\x5d\x00\x00",
)
"""First bytes of zlib (four levels), gzip, bzip2, xz and LZMA, with which joblib compresses pickles."""


_HEAD = 64
"""Number of bytes that `head` reads."""

_LARGEST = 2**30
"""Number of bytes that `content` reads at most: a file may state any size without taking space on the disk."""


_UNPACKED, _LARGEST_RATIO = 2**28, 20
"""Bytes in an archive that are always read; how much larger than the file a larger content may be."""


class Malformed(Exception):  # noqa: N818 - internal: `load_model` turns it into a DataError with the file's name
    """The content of a file is not what a library writes; the message, a noun phrase, names what is wrong."""


def head(file: Path) -> bytes:
    """Return the first bytes of a file.

    Raises
    ------
    DataError
        If the file does not exist, cannot be read, is empty, or is a folder.
    """
    if file.is_dir():
        raise DataError("model", f"the folder {str(file)!r}", "a file", "Pass the path of the file")
    try:
        if file.exists() and not file.is_file():
            raise OSError(0, "it is a pipe or a device")  # reading one may never end
        with file.open("rb") as stream:
            begins = stream.read(_HEAD)
    except FileNotFoundError as error:
        raise DataError("model", f"no file {str(file)!r}", "a file", "Check the path") from error
    except (OSError, ValueError) as error:
        raise unreadable(file, error) from error
    if not begins:
        raise DataError(
            f"model {str(file)!r}",
            "an empty file",
            "a fitted model",
            "Save the model again",
        )
    return begins


def content(file: Path) -> bytes:
    """Return all bytes of a file.

    Raises
    ------
    DataError
        If the file cannot be read, or has more than 1 GB.
    """
    try:
        with file.open("rb") as stream:
            found = stream.read(_LARGEST + 1) if file.stat().st_size <= _LARGEST else None
    except OSError as error:
        raise unreadable(file, error) from error
    if found is None or len(found) > _LARGEST:
        raise DataError(
            f"model {str(file)!r}",
            "a file of more than 1 GB",
            "a file of at most 1 GB",
            "If you know who wrote the file, load it with its own library, and pass the model that you get",
        )
    return found


def read_archive(file: Path | IO[bytes]) -> dict[str, bytes]:
    """Return the parts of a ZIP archive by their names.

    Python's `ZipFile.read` decompresses up to 2 GB whatever size the archive states, and a small archive can state a
    huge one. Here parts are read piece by piece, up to a limit for all of them.

    Raises
    ------
    Malformed
        If parts are damaged, encrypted, of other sizes than stated, or all together much larger than the file.
    """
    import zipfile  # with its compressors it costs as much as a third of NumPy

    parts: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            packed = sum(info.compress_size for info in infos)
            stated = sum(info.file_size for info in infos)
            if stated > max(_UNPACKED, _LARGEST_RATIO * packed):
                raise Malformed(f"{stated} bytes in {packed} bytes")
            for info in infos:
                if info.filename in parts:
                    raise Malformed(f"the part {info.filename[:40]!r} twice")
                pieces: list[bytes] = []
                with archive.open(info) as stream:
                    while piece := stream.read(1 << 20):
                        pieces.append(piece)
                parts[info.filename] = b"".join(pieces)
                if len(parts[info.filename]) != info.file_size:
                    raise Malformed(f"the part {info.filename[:40]!r} of another size")
    except Malformed:
        raise
    except Exception as error:
        # A damaged archive raises any error: BadZipFile, zlib.error, NotImplementedError, RuntimeError, ...
        raise Malformed(str(error)) from error
    return parts


def unreadable(file: Path, error: Exception) -> DataError:
    """Return the error for a file that the operating system does not let us read."""
    reason = getattr(error, "strerror", None) or error
    return DataError(
        f"model {str(file)!r}",
        f"a file that cannot be read ({reason})",
        "a readable file",
        "Check its permissions",
    )


def is_pickled(begins: bytes) -> bool:
    """Return whether a file's first bytes are those of a pickle, or of a compressed file as joblib writes them."""
    return begins.startswith((PICKLE, *_COMPRESSED))


def library(name: str, file: Path, extra: str | None = None) -> Any:
    """Import the library that reads a file.

    Parameters
    ----------
    name : str
        The module to import.
    file : Path
        The file, for the message.
    extra : str, optional
        The extra of skedasis that installs the library.

    Raises
    ------
    UnsupportedError
        If the library is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        install = f"'skedasis[{extra}]'" if extra else package
        raise UnsupportedError(
            f"model {str(file)!r}",
            f"no installed {package}",
            f"{package}, which reads the file",
            f"Install it: pip install {install}",
        ) from error


def broken(file: Path, kind: str, reason: object = None) -> DataError:
    """Return the error for a file that is truncated or not of its kind.

    Parameters
    ----------
    file : Path
    kind : str
        The library or format that the suffix of the file stands for.
    reason : object, optional
        The error of the library that failed to read the file.
    """
    line = " ".join(str(reason or "").split())[:200]
    return DataError(
        f"model {str(file)!r}",
        f"a file that is cut off or not in {kind} format{f' ({line})' if line else ''}",
        f"a complete model as saved by {kind}",
        "Save the model again",
    )
