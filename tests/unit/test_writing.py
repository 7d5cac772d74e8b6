"""Every file that the library writes is whole, or as it was: full disks, interruptions, and two writers."""

from __future__ import annotations

import ast
import errno
import io
import os
import pickle
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

try:
    import resource
except ImportError:  # Windows
    resource = None

import skedasis as sd
from skedasis import _files
from skedasis.cli import app as cli_app
from skedasis.cli import change as cli_change
from skedasis.cli import output as cli_output
from skedasis.datasets import real
from skedasis.demo import demo
from skedasis.errors import FileError
from skedasis.plots.draw_matplotlib import NotebookFigure
from skedasis.report import report as reports
from skedasis.report.content import gather
from tests.helpers import refused, table
from tests.systems import posix

SOURCE = Path(sd.__file__).parent
OLD = b"what was there before\n" * 3


# --------------------------------------------------------------------------------- all writers


def product(X: np.ndarray) -> np.ndarray:
    return X[:, 0] * X[:, 1]


@pytest.fixture(scope="module")
def effect():
    return sd.explain(product, table(60, 2), "x0", method=sd.ALE(bins=4))


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    content = gather(product, table(60, 2), heterogeneity_rows=20, progress=False)
    page = tmp_path_factory.mktemp("report") / "page.html"
    done = reports.write(content, page, progress=False)
    # Pages and figures are drawn once; how they are written is what is tested.
    return done, page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def change():
    return sd.change(product, table(30, 2), {"x0": 1.0})


@dataclass
class Made:
    """What the writers write."""

    effect: Any
    report: Any
    page: str
    change: Any
    figure: Any


@pytest.fixture(scope="module")
def made(effect, report, change):
    return Made(effect, *report, change, effect.plot())


PNG = b"\x89PNG" + bytes(5000)


def savefig(made: Made, path: Path) -> None:
    with mock.patch.object(NotebookFigure, "_print", lambda self, file, options: file.write(PNG)):
        made.figure.savefig(path)


def report_page(made: Made, path: Path) -> None:
    with (
        mock.patch("skedasis.report.html.page_context"),
        mock.patch("skedasis.report.html.render", return_value=made.page),
    ):
        reports.write(made.report.content, path, progress=False)


@contextmanager
def drawn() -> Iterator[None]:
    """Give figures that are drawn at once."""
    figure = mock.Mock(png=PNG)
    figure.name = "overview"
    with (
        mock.patch("skedasis.report.figures.overview_png", return_value=figure),
        mock.patch("skedasis.report.figures.rhale_png", return_value=figure),
        mock.patch("skedasis.report.figures.pdp_png", return_value=figure),
        mock.patch("skedasis.report.figures.file_name", return_value="overview"),
        mock.patch.object(demo, "features_named", return_value=[]),
    ):
        yield


def report_figures(made: Made, path: Path) -> None:
    with drawn():
        reports._save(replace(made.report.content, features=()), path.parent, False)


def demo_figures(made: Made, path: Path) -> None:
    with drawn():
        list(demo._write_figures(made.report.content, path.parent))


def download(made: Made, path: Path) -> None:
    text = b"a,b\n" + b"1,2\n" * 2000
    with (
        mock.patch("urllib.request.urlopen", return_value=io.BytesIO(text)),
        mock.patch.object(real, "_decode", return_value=text.decode()),
        mock.patch.dict(os.environ, {"SKEDASIS_DATA": str(path.parent)}),
    ):
        real._download(
            path.stem, mock.Mock(header=None, sha256="", codes={}), "https://example.org/x.csv"
        )


def change_rows(made: Made, path: Path) -> None:
    cli_change._write_rows(made.change, path)


def shell_table(made: Made, path: Path) -> None:
    cli_output.write(made.effect, path)


def shell_dataset(made: Made, path: Path) -> None:
    terminal = mock.Mock()
    options = mock.Mock(out=path, sample=100, random_state=0)
    options.name = "diabetes"
    cli_app.datasets(options, terminal)


WRITERS: dict[str, tuple[str, str, Callable[[Made, Path], object]]] = {
    "save": ("results/io.py:save", "a.npz", lambda m, p: m.effect.save(p)),
    "to_json": ("results/export.py:to_json", "a.json", lambda m, p: m.effect.to_json(p)),
    "report.to_json": ("report/report.py:to_json", "r.json", lambda m, p: m.report.to_json(p)),
    "report": ("report/report.py:write", "r.html", report_page),
    "report(figures)": ("report/report.py:save", "overview.png", report_figures),
    "explore": ("plots/html.py:save", "a.html", lambda m, p: m.effect.explore().save(p)),
    "savefig": ("plots/draw_matplotlib.py:savefig", "a.png", savefig),
    "shell table": ("cli/output.py:write_csv", "a.csv", shell_table),
    "shell data set": ("cli/output.py:write_csv", "d.csv", shell_dataset),
    "shell rows": ("cli/output.py:write_csv", "rows.csv", change_rows),
    "download": ("datasets/real.py:_download", "x.csv", download),
    "demo": ("demo/demo.py:_write_figures", "overview.png", demo_figures),
}
"""Each writer: where it is in the source, the name of a file, and how to write it."""

SILENT = {"download"}
"""Writers of copies that nobody asked for: if they fail, nothing is said."""

every_writer = pytest.mark.parametrize("writer", WRITERS)

_WRITING = {"write_bytes", "write_text", "text_file", "binary_file"}
_OTHER_WAYS = {
    *("savez", "savez_compressed", "tofile", "ParquetWriter", "write_table", "sink_parquet"),
    *("mkdir", "makedirs", "mkdtemp", "mkstemp", "NamedTemporaryFile", "TemporaryDirectory"),
    *("to_csv", "to_parquet", "to_excel", "write_parquet", "write_csv", "imsave"),
}
_EXPECTED_ELSEWHERE = {
    "data/spool.py:_write sink_parquet",
    "data/spool.py:_write ParquetWriter",
    "data/spool.py:_write write_table",  # a method of the writer
    "data/spool.py:_write_partition write_table",
    "results/io.py:_write_archive open",
    "results/io.py:_write_archive ZipFile",  # into a `binary_file`
    "cli/output.py:write write_csv",
    "cli/change.py:_write_rows write_csv",
    "cli/app.py:datasets write_csv",
}
"""Calls that write by other means: to temporary folders, or to memory."""


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Yield where in the source which function is called."""

    def within(node: ast.AST, where: str) -> Iterator[tuple[str, str, ast.Call]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                yield from within(child, f"{where.partition(':')[0]}:{child.name}")
                continue
            if isinstance(child, ast.Call):
                called = child.func
                if isinstance(called, (ast.Name, ast.Attribute)):
                    yield where, called.id if isinstance(called, ast.Name) else called.attr, child
            yield from within(child, where)

    names = re.compile("|".join((*_WRITING, *_OTHER_WAYS, "open", "ZipFile")))
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path.name != "_files.py" and names.search(text):
            yield from within(ast.parse(text), path.relative_to(SOURCE).as_posix())


def test_every_writer_is_in_the_list_and_there_is_no_other_way():
    found, others = set(), set()
    for where, name, call in calls():
        if name in _WRITING:
            found.add(where)
        elif name in _OTHER_WAYS:
            others.add(f"{where} {name}")
        elif name in ("open", "ZipFile"):  # both read without a mode
            modes = [a.value for a in call.args if isinstance(a, ast.Constant)]
            modes += [k.value.value for k in call.keywords if k.arg == "mode"]
            if any(
                isinstance(m, str) and set(m) <= set("rwxabt+U") and set(m) & set("wxa+")
                for m in modes
            ):
                others.add(f"{where} {name}")
    assert found == {where for where, _, _ in WRITERS.values()}
    assert others - _EXPECTED_ELSEWHERE == set()


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
            if isinstance(
                self.error, KeyboardInterrupt
            ):  # errors of permissions are no reason to fail
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


@pytest.mark.many
@every_writer
@pytest.mark.parametrize("error", [disk_full, KeyboardInterrupt], ids=["full", "interrupted"])
def test_a_fault_at_any_operation_leaves_the_old_file_and_nothing_else(
    made, tmp_path, writer, error
):
    _, name, write = WRITERS[writer]
    path = tmp_path / name
    path.write_bytes(OLD)
    fault = Fault(0, error())
    with fault.injected():
        write(made, path)
    new, operations = path.read_bytes(), fault.count
    assert new != OLD
    assert operations >= 4  # open, write, synchronise, rename
    for at in range(1, operations + 1):
        path.write_bytes(OLD)
        raised = error()
        expected = FileError if isinstance(raised, OSError) else KeyboardInterrupt
        with Fault(at, raised).injected():
            if writer in SILENT and expected is FileError:
                write(made, path)
            else:
                with pytest.raises(expected) as found:
                    write(made, path)
                if expected is FileError:
                    assert found.value.errno == errno.ENOSPC
                    assert "The existing file is unchanged." in str(found.value)
        assert path.read_bytes() == OLD, at
        assert [p.name for p in tmp_path.iterdir()] == [name], at


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Let files of this process have at most so many bytes: the system then refuses to write more."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.many
@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no limit of file sizes")
@every_writer
def test_a_disk_that_takes_only_a_part(made, tmp_path, writer):
    _, name, write = WRITERS[writer]
    path = tmp_path / name
    write(made, path)
    size = path.stat().st_size
    for limit in (0, 1, size // 2, size - 100):
        path.write_bytes(OLD) if limit else path.unlink()
        with file_size_limit(limit):
            if writer in SILENT:
                write(made, path)
            else:
                with refused(FileError, repr(str(path)), "larger than a file may become"):
                    write(made, path)
        assert [p.name for p in tmp_path.iterdir()] == ([name] if limit else [])
        assert not limit or path.read_bytes() == OLD


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


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives files away"
)
def test_the_owner_is_kept(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(OLD)
    os.chown(path, 1234, 2345)
    put(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


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


def test_a_link_that_leads_to_itself(tmp_path):
    (tmp_path / "a").symlink_to("a")
    with refused(FileError, "a symbolic link that leads to itself"):
        put(tmp_path / "a")


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
    for path in ("/dev/stdout", str(tmp_path / "out")):
        with (tmp_path / "out").open("wb") as out:
            inode = os.fstat(out.fileno()).st_ino
            subprocess.run([sys.executable, "-c", code, path], stdout=out, check=True, timeout=60)
        assert (tmp_path / "out").stat().st_ino == inode
        assert b"later" in (tmp_path / "out").read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", code, "/dev/stdout"], capture_output=True, check=True, timeout=60
    )
    assert done.stdout == b"first\nlater\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_device():
    with refused(FileError, "'/dev/full', but the file system of the folder '/dev' has no room"):
        put(Path("/dev/full"))


@pytest.mark.parametrize(
    ("name", "words", "number"),
    [
        ("folder", ("the folder", "Choose a file in this folder"), errno.EISDIR),
        ("file/a", ("below a file instead of a folder",), errno.EEXIST),
        ("file/b/a", ("below a file instead of a folder",), errno.ENOTDIR),
        ("é" * 140, ("a name of 280 bytes, which is too long",), errno.ENAMETOOLONG),
    ],
)
def test_paths_that_are_no_files(tmp_path, name, words, number):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(OLD)
    with refused(FileError, "save(path): got", *words) as found:
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


@pytest.mark.parametrize(
    "number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO]
)
def test_messages_say_what_to_do(tmp_path, number):
    words = {
        errno.ENOSPC: "bytes free",
        errno.EDQUOT: "the quota of disk space",
        errno.EROFS: "is read-only",
        errno.EIO: "cannot be written (Input/output error)",
    }
    with (
        Fault(1, OSError(number, os.strerror(number))).injected(),
        refused(
            FileError, words.get(number, "without permission"), repr(str(tmp_path / "a"))
        ) as found,
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
        mock.patch.object(os, "access", return_value=False),
        refused(FileError, "without permission", "The existing file is unchanged"),
    ):
        put(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == OLD


@pytest.mark.parametrize("at", [1, "replace"])
@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EBUSY])
def test_a_folder_that_takes_no_second_file_has_its_file_written_in_place(tmp_path, at, number):
    path = tmp_path / "a"
    for content in (b"short", OLD * 100):
        path.write_bytes(OLD)
        inode = path.stat().st_ino
        last = 4 if at == "replace" else at  # open, write, synchronise, rename
        with Fault(last, OSError(number, os.strerror(number))).injected():
            put(path, content)
        assert path.read_bytes() == content
        assert path.stat().st_ino == inode
        assert [p.name for p in tmp_path.iterdir()] == ["a"]


def write_and_raise(path: Path, text: str, error: BaseException) -> None:
    with _files.text_file(path, "save(path)") as file:
        file.write(text)
        raise error


def write_bytes_and_interrupt(path: Path) -> None:
    with _files.binary_file(path, "save(path)") as file:
        file.write(b"a")  # which is written when the file is closed
        raise KeyboardInterrupt


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
    # What a file still holds cannot be written to a full disk; that is not the error that counts.
    for at in (2, 3):  # when the text is flushed, and when the file is closed
        with Fault(at, disk_full()).injected() as fault, pytest.raises(KeyboardInterrupt):
            write_and_raise(path, "a" * 5000, KeyboardInterrupt())
        assert fault.count >= 2
    with Fault(2, disk_full()).injected(), pytest.raises(KeyboardInterrupt):
        write_bytes_and_interrupt(path)
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
