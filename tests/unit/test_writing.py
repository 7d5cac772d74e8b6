"""Every file that the library writes is whole, or as it was: full disks, interruptions, and two writers."""

from __future__ import annotations

import errno
import io
import os
import pickle
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import skedasis as sd
from skedasis import _files
from skedasis.cli import output as cli_output
from skedasis.errors import FileError
from tests.helpers import refused, table
from tests.systems import posix

OLD = b"what was there before\n" * 3


@pytest.fixture(scope="module")
def effect():
    return sd.explain(lambda X: X[:, 0] * X[:, 1], table(60, 2), "x0", method=sd.ALE(bins=4))


WRITERS: dict[str, tuple[str, Callable[[sd.Effect, Path], object]]] = {
    "save": ("a.npz", lambda e, p: e.save(p)),
    "to_json": ("a.json", lambda e, p: e.to_json(p)),
    "explore": ("a.html", lambda e, p: e.explore(p)),
    "savefig": ("a.png", lambda e, p: e.plot().savefig(p, dpi=20)),
    "shell table": ("a.csv", cli_output.write),
}
"""Each kind of writer: the name of a file, and how to write it."""


# ------------------------------------------------------------------------------- injected faults


class Raw(io.FileIO):
    """A file whose `fails`-th operation of the system raises an error."""

    def __init__(self, path: Path, mode: str, fault: Fault) -> None:
        super().__init__(path, mode)
        self.fault = fault

    def write(self, data: Any) -> int:
        self.fault.step("write")
        return super().write(data)


class Fault:
    """Raises an error at the n-th operation on temporary files, and counts them."""

    def __init__(self, at: int, error: BaseException) -> None:
        self.at, self.error, self.count = at, error, 0

    def step(self, _: str) -> None:
        self.count += 1
        if self.count == self.at:
            raise self.error

    @contextmanager
    def injected(self) -> Iterator[Fault]:
        opened, replace, fsync, chmod = Path.open, Path.replace, os.fsync, Path.chmod

        def new_open(path: Path, mode: str = "r", *args: Any, **options: Any) -> Any:
            if not path.name.startswith(".skedasis-") or "x" not in mode:
                return opened(path, mode, *args, **options)
            self.step("open")
            return io.BufferedWriter(Raw(path, mode, self))

        def new_replace(path: Path, target: Path) -> Any:
            self.step("replace")
            return replace(path, target)

        def new_fsync(descriptor: int) -> None:
            self.step("fsync")
            fsync(descriptor)

        def new_chmod(path: Path, mode: int) -> None:
            chmod(path, mode)
            if isinstance(self.error, KeyboardInterrupt):  # errors of permissions are ignored
                self.step("chmod")

        with (
            mock.patch.object(Path, "open", new_open),
            mock.patch.object(Path, "replace", new_replace),
            mock.patch.object(os, "fsync", new_fsync),
            mock.patch.object(Path, "chmod", new_chmod),
        ):
            yield self


def disk_full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("error", [disk_full, KeyboardInterrupt], ids=["full", "interrupted"])
def test_a_fault_at_any_operation_leaves_the_old_file_and_nothing_else(
    effect, tmp_path, writer, error
):
    name, write = WRITERS[writer]
    path = tmp_path / name
    path.write_bytes(OLD)
    fault = Fault(0, error())
    with fault.injected():
        write(effect, path)
    operations = fault.count
    assert path.read_bytes() != OLD
    assert operations >= 4  # open, write, synchronise, rename
    for at in sorted({1, 2, *range(operations - 3, operations + 1)}):
        path.write_bytes(OLD)
        raised = error()
        expected = FileError if isinstance(raised, OSError) else KeyboardInterrupt
        with Fault(at, raised).injected(), pytest.raises(expected) as found:
            write(effect, path)
        if expected is FileError:
            assert found.value.errno == errno.ENOSPC
            assert "The file is as it was." in str(found.value)
        assert path.read_bytes() == OLD, at
        assert [p.name for p in tmp_path.iterdir()] == [name], at


def test_an_interrupted_model_leaves_numpys_error_state():
    def interrupted(X: np.ndarray) -> np.ndarray:
        raise KeyboardInterrupt

    with np.errstate(all="raise"):
        before = np.geterr()
        with pytest.raises(KeyboardInterrupt):
            sd.explain(interrupted, table(60, 2), 0)
        assert np.geterr() == before


# --------------------------------------------------------------------------------- kinds of paths


def put(path: Path, content: bytes = b"new") -> None:
    _files.write_bytes(path, content, "save(path)")


@posix
def test_permissions_are_kept_and_new_files_follow_the_umask(tmp_path):
    path = tmp_path / "a"
    before = os.umask(0o027)
    try:
        put(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    for mode in (0o600, 0o666, 0o755):
        path.chmod(mode)
        put(path)
        assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == b"new"


def test_a_link_keeps_leading_to_its_file(tmp_path):
    for k, there in enumerate((True, False)):
        target, link = tmp_path / f"folder{k}" / "target", tmp_path / f"link{k}"
        target.parent.mkdir()
        if there:
            target.write_bytes(OLD)
        link.symlink_to(f"folder{k}/target")
        put(link)
        assert link.is_symlink()
        assert target.read_bytes() == b"new"
        assert [p.name for p in target.parent.iterdir()] == ["target"]


@posix
def test_a_pipe_is_written_directly(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE) as reader:
        put(tmp_path / "pipe", b"x" * 100_000)
        assert reader.communicate(timeout=20)[0] == b"x" * 100_000
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@posix
def test_standard_output_is_written_directly_even_if_it_is_a_file(tmp_path):
    code = (
        "from skedasis._files import write_bytes; import sys;"
        "write_bytes(sys.argv[1], b'first', 'save(path)'); print(); print('later')"
    )
    with (tmp_path / "out").open("wb") as out:
        inode = os.fstat(out.fileno()).st_ino
        call = [sys.executable, "-c", code, "/dev/stdout"]
        subprocess.run(call, stdout=out, check=True, timeout=60)
    assert (tmp_path / "out").stat().st_ino == inode
    assert b"later" in (tmp_path / "out").read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", code, "/dev/stdout"], capture_output=True, check=True, timeout=60
    )
    assert done.stdout == b"first\nlater\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_device():
    with refused(FileError, "'/dev/full', which cannot be written (No space left on device)"):
        put(Path("/dev/full"))


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("folder", errno.EISDIR),
        ("file/a", errno.EEXIST),
        ("file/b/a", errno.ENOTDIR),
        ("é" * 140, errno.ENAMETOOLONG),
    ],
)
def test_paths_that_are_no_files(tmp_path, name, number):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(OLD)
    with refused(FileError, "save(path): got", os.strerror(number)) as found:
        put(tmp_path / name)
    assert found.value.errno == number
    assert isinstance(found.value, sd.DataError)
    assert isinstance(found.value, OSError)


def test_the_longest_and_the_strangest_names(tmp_path):
    names = [
        "x" * 255,
        "a b",
        "new\nline",
        "100 %s %d",
        "-rf",
        b"\xff\xfe".decode("utf-8", "surrogateescape"),
        "ä€😀",
    ]
    for name in names:
        put(tmp_path / "new" / name)
        assert (tmp_path / "new" / name).read_bytes() == b"new"
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == sorted(names)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_messages_say_why(tmp_path, number):
    with (
        Fault(1, OSError(number, os.strerror(number))).injected(),
        refused(FileError, os.strerror(number), repr(str(tmp_path / "a"))) as found,
    ):
        put(tmp_path / "a")
    again = pickle.loads(pickle.dumps(found.value))
    assert (str(again), again.errno, again.filename) == (
        str(found.value),
        number,
        str(tmp_path / "a"),
    )
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_must_not_be_changed_is_not_replaced(tmp_path):
    (tmp_path / "a").write_bytes(OLD)
    with (
        mock.patch.object(os, "access", lambda path, _: Path(path) != tmp_path / "a"),
        refused(FileError, "Permission denied", "The file is as it was"),
    ):
        put(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == OLD


def test_a_file_in_a_folder_that_must_not_be_changed_is_written_in_place(tmp_path):
    (tmp_path / "a").write_bytes(OLD)
    number = (tmp_path / "a").stat().st_ino
    with mock.patch.object(os, "access", lambda path, _: Path(path) != tmp_path):
        put(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert (tmp_path / "a").stat().st_ino == number


def write_and_raise(path: Path, text: str, error: BaseException) -> None:
    with _files.text_file(path, "save(path)") as file:
        file.write(text)
        raise error


@posix
def test_a_reader_who_has_had_enough(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = ["head", "-c", "1", str(tmp_path / "pipe")]
    with (
        subprocess.Popen(reader, stdout=subprocess.PIPE),
        pytest.raises(BrokenPipeError),
    ):
        put(tmp_path / "pipe", b"x" * 10_000_000)


def test_the_error_of_the_content_is_its_own(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(OLD)
    with pytest.raises(ZeroDivisionError):
        write_and_raise(path, "a" * 100_000, ZeroDivisionError())
    with pytest.raises(KeyboardInterrupt):
        write_and_raise(path, "a" * 5000, KeyboardInterrupt())
    assert path.read_bytes() == OLD
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_text_is_utf_8_with_its_own_line_ends(tmp_path):
    with _files.text_file(tmp_path / "a", "save(path)") as file:
        file.write("ä\r\n€\n\ud800")
    _files.write_text(tmp_path / "b", "ä\r\n€\n\ud800", "save(path)")
    for name in "ab":
        assert (tmp_path / name).read_bytes() == "ä\r\n€\n?".encode()


@pytest.mark.parametrize("ending", ["png", "", "jpg"])
def test_figures_are_those_of_matplotlib(effect, tmp_path, ending):
    figure, name = effect.plot(), f"a.{ending}" if ending else "a."
    figure.savefig(tmp_path / "new" / name, dpi=30)
    own = io.BytesIO()
    figure.savefig(own, dpi=30, format=ending or "png")
    assert [p.name for p in (tmp_path / "new").iterdir()] == [f"a.{ending or 'png'}"]
    assert next((tmp_path / "new").iterdir()).read_bytes() == own.getvalue()
    with pytest.raises(ValueError, match="not supported"):
        figure.savefig(tmp_path / "a.xyz")


def test_paths_are_checked_before_the_work(tmp_path):
    (tmp_path / "file").write_bytes(OLD)
    for name, words in (
        (".", ("the folder", "result.npz")),
        ("file/a.npz", ("below the file",)),
        ("a\0b", ("the path of a file",)),
    ):
        with refused(sd.DataError, "save(path): got", *words):
            _files.check_writable(tmp_path / name, "save(path)", "result.npz")
    with (
        mock.patch.object(os, "access", return_value=False),
        refused(sd.DataError, "without write permission"),
    ):
        _files.check_writable(tmp_path / "new" / "a", "save(path)", "result.npz")
    for name in ("a.pdf", "a.PNG", "a.json", "a.csv", "a.npz", "a.ipynb"):
        with refused(sd.DataError, "the path of an HTML page", "a.html"):
            _files.check_page(tmp_path / name, "report(path)", "report.html")
    for name in ("a.html", "a.htm", "a.xhtml", "a", "v2.1"):
        path = tmp_path / "new" / name
        assert _files.check_page(path, "report(path)", "report.html") == path


# ------------------------------------------------------------------------------ several processes


WRITES = """
import sys
from skedasis._files import binary_file
letter, path, rounds = sys.argv[1].encode(), sys.argv[2], int(sys.argv[3])
print("started", flush=True)
for _ in range(rounds):
    with binary_file(path, "save(path)") as file:
        for _ in range(50):
            file.write(letter * 10_000)
"""


def writing(letter: str, path: Path, rounds: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITES, letter, str(path), str(rounds)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


@pytest.mark.slow
@posix
def test_two_processes_that_write_one_file_and_one_that_is_killed(tmp_path):
    path = tmp_path / "a"
    two = [writing(letter, path, 60) for letter in "ab"]
    seen = set()
    while any(p.poll() is None for p in two):
        if path.exists():
            content = path.read_bytes()
            assert len(content) == 500_000
            assert len(set(content)) == 1  # never a mixture
            seen.add(content[:1])
    assert all(p.wait() == 0 for p in two)
    assert seen <= {b"a", b"b"}
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    for process in two:
        process.stdout.close()
    killed = writing("c", path, 10**9)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    killed.stdout.close()
    assert set(path.read_bytes()) in ({ord("a")}, {ord("b")}, {ord("c")})
    assert path.stat().st_size == 500_000
