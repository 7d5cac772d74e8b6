"""Writing files: a file is whole or as it was before. Every file that the library writes is written here.

The content goes to a temporary file in the folder of the target, which then takes the target's name in one step. If the
disk is full, on Ctrl-C, and if the process is killed, the target keeps its old content, or does not exist.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

from skedasis._interrupts import after_interruption
from skedasis.errors import DataError, FileError, format_error

_ENCODING = "utf-8"
"""Of every text file, whatever the locale."""

_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EROFS}
"""Errors of file systems, pipes and devices that cannot synchronise."""

_NO_SECOND_FILE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV}
"""Errors of a folder that takes no other file, or keeps its files' names, such as the mounted file of a container."""

_DESCRIPTORS = ("/dev", "/dev/fd", "/proc")
"""Folders whose names are open files: that of `/dev/stdout` must not be replaced, even if it is a regular file."""


# --- before the work ------------------------------------------------------------------------------


def check_writable(path: str | Path, what: str, example: str) -> Path:
    """Return the path; raise `DataError` if it cannot be written.

    Parameters
    ----------
    path : str or Path
    what : str
        The argument as the user wrote it, such as "to_json(path)".
    example : str
        A file name, for the message.
    """
    fix = f"Use path={example!r}"
    try:
        path = Path(path)
        path.resolve()  # raises for characters that are not allowed in a path
        folder = path.is_dir()
        above = next(p for p in path.absolute().parents if p.exists())
    except (TypeError, ValueError, OSError, RuntimeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        got = f"{str(path)[:80]!r} ({reason})"
        raise DataError(what, got, "the path of a file", fix) from None
    if folder:
        write_to = f"Write {str(path / example)!r}"
        raise DataError(what, f"the folder {str(path)!r}", "a file", write_to)
    if not above.is_dir():
        got = f"{str(path)!r}, below the file {str(above)!r}"
        raise DataError(what, got, "a path in a folder", fix)
    if not os.access(path if path.exists() else above, os.W_OK):
        got = f"{str(path)!r}, without write permission"
        raise DataError(what, got, "a writable path", fix)
    return path


_OTHER_FORMATS = {
    *(".csv", ".doc", ".docx", ".ipynb", ".json", ".md", ".npz"),
    *(".pdf", ".png", ".pptx", ".svg", ".tex", ".txt", ".xlsx"),
}
"""Endings of files that are no HTML: a page in a file of such a name opens nowhere."""


def check_page(path: str | Path, what: str, example: str) -> Path:
    """Return the path of an HTML page; raise `DataError` if it cannot be written, or its ending is of another format.

    Parameters
    ----------
    path : str or Path
    what, example : str
        As for `check_writable`.
    """
    path = check_writable(path, what, example)
    if path.suffix.lower() in _OTHER_FORMATS:
        fix = f"Write path={str(path.with_suffix('.html'))!r}; a browser prints the page to PDF"
        raise DataError(what, repr(str(path)), "the path of an HTML page", fix)
    return path


# --- writing --------------------------------------------------------------------------------------


def write_bytes(path: str | Path, content: bytes | memoryview, what: str) -> None:
    """Write a file; see `binary_file`."""
    with binary_file(path, what) as file:
        file.write(content)


def write_text(path: str | Path, text: str, what: str) -> None:
    """Write a text file in UTF-8, with the line ends of the text; see `binary_file`.

    A lone surrogate, as in file names that are no UTF-8, cannot be encoded, and becomes a question mark.
    """
    write_bytes(path, text.encode(_ENCODING, errors="replace"), what)


@contextmanager
def text_file(path: str | Path, what: str) -> Generator[TextIO]:
    """Open a text file as `write_text` writes it; see `binary_file`."""
    with binary_file(path, what) as file:
        text = io.TextIOWrapper(file, encoding=_ENCODING, errors="replace", newline="")
        try:
            yield text
            text.flush()
        finally:
            # Otherwise it would close the file when it is deleted. What it still holds is not wanted after an error.
            with suppress(OSError, ValueError):
                text.detach()


@contextmanager
def binary_file(path: str | Path, what: str) -> Generator[BinaryIO]:
    """Open a file that gets its name when it is complete; missing folders are created.

    Parameters
    ----------
    path : str or Path
        Of a symbolic link, the file that it names is replaced. What is no regular file, such as a pipe, is written
        directly.
    what : str
        The argument as the user wrote it, for messages, such as "to_json(path)".

    Raises
    ------
    FileError
        If the file cannot be written. An existing file is unchanged, and keeps its permissions.

    Notes
    -----
    If the folder takes no second file, the content replaces that of the existing file in place. A file that is replaced
    is on the disk before it takes the name, so that a power failure leaves one or the other.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with binary_file(Path(folder, "new", "a.txt"), "save(path)") as file:
    ...         _ = file.write(b"abc")
    ...     Path(folder, "new", "a.txt").read_text()
    'abc'
    """
    target, old = Path(path), None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        old = _status(target)
        if old is not None and _is_written_directly(target, old):
            with _closed(target.open("wb")) as file:
                yield file
        else:
            with _replacement(Path(os.path.realpath(target)), old) as file:
                yield file
    except (FileError, BrokenPipeError):  # the reader of a pipe has had enough
        raise
    except OSError as error:
        raise _file_error(error, target, what, old) from error


def _status(path: Path) -> os.stat_result | None:
    """Return the status of an existing file, which a link may name."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _is_written_directly(path: Path, status: os.stat_result) -> bool:
    """Return whether a file is no regular one, or is open as a stream of this process."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        return True
    folder = os.path.realpath(path.parent)
    if folder in _DESCRIPTORS or folder.startswith("/proc/"):
        return True
    for stream in (1, 2):  # `skedasis … --out table.csv > table.csv`
        with suppress(OSError):
            if os.path.samestat(status, os.fstat(stream)):
                return True
    return False


@contextmanager
def _replacement(target: Path, old: os.stat_result | None) -> Generator[BinaryIO]:
    """Open a temporary file that replaces the target after the block, or is removed if the block fails."""
    if old is not None and not os.access(target, os.W_OK):
        # The folder would allow to replace it; its owner did not.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    # The name is chosen before the file exists, so that an interruption at any moment removes it. It is short, because
    # the target's own name may be as long as the file system allows.
    temporary = target.with_name(f".skedasis-{os.urandom(8).hex()}")
    _UNFINISHED[temporary] = threading.get_ident()
    try:
        beside = True
        try:
            opened = temporary.open("xb")
        except OSError as error:
            if old is None or error.errno not in _NO_SECOND_FILE:
                raise
            beside, opened = False, target.open("r+b")
        with _closed(opened) as file:
            yield file
            if not beside:
                file.truncate()
            file.flush()
            if old is not None:
                _synchronise(file)
        if beside:
            if old is not None:
                _take_permissions(temporary, old)
            _rename(temporary, target, old)
    except BaseException:
        _remove(temporary)
        raise
    del _UNFINISHED[temporary]


@contextmanager
def _closed(file: BinaryIO) -> Generator[BinaryIO]:
    """Close a file; if the block fails, its error is the one that counts, not that of closing a file on a full disk."""
    try:
        yield file
        file.close()
    except BaseException:
        with suppress(OSError):
            file.close()
        raise


def _synchronise(file: BinaryIO) -> None:
    """Wait until the content is on the disk."""
    try:
        os.fsync(file.fileno())
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def _take_permissions(temporary: Path, old: os.stat_result) -> None:
    """Give a file the permissions, and if possible the owner, of the file that it replaces."""
    # File systems without permissions, and files of other owners, are no reason to fail.
    with suppress(OSError, AttributeError):
        new = temporary.stat()
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            os.chown(temporary, old.st_uid, old.st_gid)
    with suppress(OSError):
        temporary.chmod(stat.S_IMODE(old.st_mode))


def _rename(temporary: Path, target: Path, old: os.stat_result | None) -> None:
    """Give the complete file the target's name; if the target cannot be replaced, give the target its content."""
    try:
        temporary.replace(target)
    except OSError as error:
        if old is None or error.errno not in _NO_SECOND_FILE:
            raise
        import shutil

        with temporary.open("rb") as new, _closed(target.open("r+b")) as file:
            shutil.copyfileobj(new, file)
            file.truncate()
        temporary.unlink()


# --- temporary folders ----------------------------------------------------------------------------


@contextmanager
def temporary_folder(where: str | Path | None = None) -> Generator[Path]:
    """Make a folder for temporary files, and remove it with its content.

    Parameters
    ----------
    where : str or Path, optional
        The folder in which it is made; by default that of the system.

    Raises
    ------
    OSError
        If it cannot be made.

    Examples
    --------
    >>> with temporary_folder() as folder:
    ...     _ = (folder / "a.txt").write_text("abc")
    >>> folder.exists()
    False
    """
    # Imported here: most calls write no temporary file.
    import tempfile

    # `tempfile.mkdtemp` returns a name when the folder exists: an interruption in between would leave it.
    folder = Path(where or tempfile.gettempdir()) / f"skedasis-{os.urandom(8).hex()}"
    _UNFINISHED[folder] = threading.get_ident()
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        try:
            _remove(folder)
        except BaseException:  # interrupted: what is left goes now
            _remove(folder)
            raise


_UNFINISHED: dict[Path, int] = {}
"""Temporary files and folders, with the thread that made each."""


def _remove(path: Path) -> None:
    """Remove a temporary file or folder."""
    import shutil

    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        path.unlink(missing_ok=True)
    _UNFINISHED.pop(path, None)


def _remove_unfinished() -> None:
    """Remove the temporary files of this thread."""
    for path in [p for p, thread in _UNFINISHED.items() if thread == threading.get_ident()]:
        _remove(path)


after_interruption(_remove_unfinished)


# --- messages -------------------------------------------------------------------------------------


def _file_error(error: OSError, path: Path, what: str, old: os.stat_result | None) -> FileError:
    """Return the error of a file that could not be written: which file, why, and what to do."""
    number = error.errno or errno.EIO
    name = repr(str(path))
    folder = next((p for p in path.absolute().parents if p.is_dir()), Path())
    got, expected, fix = _REASONS.get(
        number,
        ("{name}, which cannot be written ({reason})", "a writable path", "Choose another path"),
    )
    got = got.format(
        name=name,
        folder=str(folder),
        free=_free(folder),
        size=len(os.fsencode(path.name)),
        reason=error.strerror or str(error) or type(error).__name__,
    )
    message = format_error(what, got, expected, f"{fix}. {_left(path, old)}".strip())
    return FileError(message, number, str(path))


_FULL = (
    "{name}, but the file system of the folder {folder!r} has no room for it ({free})",
    "room for the file",
    "Delete files there, or write to a folder on another disk",
)
_DENIED = (
    "{name}, without permission to write it in the folder {folder!r}",
    "a writable path",
    "Choose another folder, or change its permissions",
)
_REASONS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: (
        "{name}, but the quota of disk space in the folder {folder!r} is used up",
        "room for the file",
        "Delete files of yours there, or write to a folder on another disk",
    ),
    errno.EFBIG: (
        "{name}, which is larger than a file may become in the folder {folder!r}",
        "a smaller file",
        "Raise the limit of the file size (ulimit -f), or write to a folder on another disk",
    ),
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
    errno.EROFS: (
        "{name}, but the file system of the folder {folder!r} is read-only",
        "a writable path",
        "Choose a folder on another disk",
    ),
    errno.EISDIR: ("the folder {name}", "a file", "Choose a file in this folder"),
    errno.ENOTDIR: (
        "{name}, below a file instead of a folder",
        "a path in a folder",
        "Choose another folder",
    ),
    errno.EEXIST: (
        "{name}, below a file instead of a folder",
        "a path in a folder",
        "Choose another folder",
    ),
    errno.ENAMETOOLONG: (
        "{name}, a name of {size} bytes, which is too long for the file system",
        "a shorter name, mostly of at most 255 bytes",
        "Choose a shorter name",
    ),
    errno.ELOOP: (
        "{name}, a symbolic link that leads to itself",
        "the path of a file",
        "Remove the link, or choose another path",
    ),
}
"""Number of an error of the system → what was got and expected, and what to do."""


def _free(folder: Path) -> str:
    import shutil

    try:
        return f"{shutil.disk_usage(folder).free:,} bytes free"
    except OSError:
        return "free space unknown"


def _left(path: Path, old: os.stat_result | None) -> str:
    """Return what became of the file that was there."""
    if old is None or not stat.S_ISREG(old.st_mode):
        return ""
    try:
        new = path.stat()
    except OSError:
        return ""
    same = (new.st_ino, new.st_size, new.st_mtime_ns) == (old.st_ino, old.st_size, old.st_mtime_ns)
    return "The existing file is unchanged" if same else "The existing file has been overwritten"
