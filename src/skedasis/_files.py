"""Writing files: a file is whole or as it was before. Every file that the library writes is written here."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

from skedasis.errors import DataError, FileError, format_error


def check_writable(path: str | Path, what: str, example: str) -> Path:
    """Return the path; raise `DataError` before the work if it cannot be written."""
    fix = f"Write {example!r}"
    try:
        path = Path(path)
        path.resolve()  # raises for characters that no path has
        folder = next(p for p in (path, *path.absolute().parents) if p.exists())
    except (TypeError, ValueError, OSError) as error:
        got = f"{str(path)[:80]!r} ({error})"
        raise DataError(what, got, "the path of a file", fix) from None
    if path.is_dir():
        write_to = f"Write {str(path / example)!r}"
        raise DataError(what, f"the folder {str(path)!r}", "a file", write_to)
    if folder != path and not folder.is_dir():
        got = f"{str(path)!r}, below the file {str(folder)!r}"
        raise DataError(what, got, "a path in a folder", fix)
    if not os.access(folder, os.W_OK):
        got = f"{str(path)!r}, without write permission"
        raise DataError(what, got, "a writable path", fix)
    return path


def check_page(path: str | Path, what: str, example: str) -> Path:
    """Return the path of an HTML page; raise `DataError` if it cannot be written, or has another ending."""
    import mimetypes  # most results are written to no page

    path = check_writable(path, what, example)
    kind = mimetypes.guess_type(path.name)[0]
    if kind not in (None, "text/html", "application/xhtml+xml") or path.suffix.lower() in _NO_PAGES:
        fix = f"Write {str(path.with_suffix('.html'))!r}; a browser prints the page to PDF"
        raise DataError(what, repr(str(path)), "the path of an HTML page", fix)
    return path


_NO_PAGES = (".ipynb", ".npz")
"""Endings that the table of media types does not have."""


def write_bytes(path: str | Path, content: bytes | memoryview, what: str) -> None:
    """Write a file; see `binary_file`."""
    with binary_file(path, what) as file:
        file.write(content)


def write_text(path: str | Path, text: str, what: str) -> None:
    """Write a text file in UTF-8, with the line ends of the text; see `binary_file`."""
    write_bytes(path, text.encode("utf-8", errors="replace"), what)


@contextmanager
def text_file(path: str | Path, what: str) -> Generator[TextIO]:
    """Open a text file as `write_text` writes it; see `binary_file`."""
    with binary_file(path, what) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
        yield text
        text.detach()  # which writes what is left


@contextmanager
def binary_file(path: str | Path, what: str) -> Generator[BinaryIO]:
    """Open a file that gets its name when it is complete; missing folders are created."""
    target, there = Path(path), False
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        there = target.is_file()
        # A regular file as standard output keeps what is written to it afterwards.
        device = target.absolute().is_relative_to("/dev")
        folder = Path(os.path.realpath(target)).parent
        if device or (target.exists() and not there) or not os.access(folder, os.W_OK):
            with target.open("wb") as file:
                yield file
        else:
            with _replacement(Path(os.path.realpath(target))) as file:
                yield file
    except (FileError, BrokenPipeError):  # the reader of a pipe has had enough
        raise
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        got = f"{str(target)!r}, which cannot be written ({reason})"
        fix = "Choose another path" + (". The file is as it was" if there else "")
        message = format_error(what, got, "the path of a file that can be written", fix)
        raise FileError(message, error.errno or errno.EIO, str(target)) from error


@contextmanager
def _replacement(target: Path) -> Generator[BinaryIO]:
    """Open a temporary file that replaces the target after the block, or is removed if the block fails."""
    old = target.stat() if target.exists() else None
    if old is not None and not os.access(target, os.W_OK):
        # The folder would allow to replace it; its owner did not.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    # `tempfile` would open it for its owner only, also where the target is new.
    temporary = target.with_name(f".skedasis-{os.urandom(8).hex()}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            if old is not None:  # a power failure leaves one or the other
                os.fsync(file.fileno())
                with suppress(OSError):  # a file system without permissions
                    temporary.chmod(stat.S_IMODE(old.st_mode))
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
