"""Ctrl-C at any moment: no thread, no file and no changed state of the process remains, and the next call works."""

from __future__ import annotations

import io
import json
import locale
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import timeit
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import skedasis as sd
from skedasis import _interrupts
from skedasis.engine import progress
from tests.helpers import table

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="no timers that raise signals"
)

X = table(300, 3)


class Interrupt(KeyboardInterrupt):
    """What the timer raises."""


def model(X: np.ndarray) -> np.ndarray:
    time.sleep(0.0003)
    return X[:, 0] * X[:, 1] + np.sin(X[:, 2])


# ------------------------------------------------------------------------------------ the state


def state(folder: Path) -> dict[str, Any]:
    """Return what a call could leave changed."""
    for _ in range(200):  # a thread that was just starting ends by itself
        if threading.active_count() == 1:
            break
        time.sleep(0.005)
    return {
        "threads": [t.name for t in threading.enumerate()],
        "files": sorted(p.name for p in folder.rglob("*") if p.name.startswith((".", "skedasis-"))),
        "filters": list(warnings.filters),
        "showwarning": warnings.showwarning,
        "log": vars(warnings).get("_showwarnmsg_impl"),
        "errors": np.geterr(),
        "rc": dict(mpl.rcParams),
        "streams": (sys.stdout, sys.stderr, sys.excepthook),
        "signal": signal.getsignal(signal.SIGINT),
        "locale": locale.setlocale(locale.LC_ALL),
        "environment": (Path.cwd(), dict(os.environ), list(sys.path)),
    }


def numbers(result: Any) -> str | None:
    """Return the content of a result, without the time that it took and the calls that this decided."""
    if result is None:
        return None

    def kept(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: kept(v) for k, v in value.items() if k != "provenance"}
        return [kept(v) for v in value] if isinstance(value, list) else value

    return json.dumps(kept(json.loads(result.to_json())), sort_keys=True)


def interrupted_at(work: Callable[[], object], seconds: float) -> bool:
    """Run with a Ctrl-C after some seconds, and return whether it came in time."""

    def interrupt(*_: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-5))
            work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    except Interrupt:
        return True
    except ValueError as error:
        # matplotlib's conversion of arguments in C++ replaces any exception by its own.
        if re.fullmatch(r"Invalid (bounding box|affine transformation matrix)", str(error)):
            return True
        raise
    finally:
        signal.signal(signal.SIGALRM, before)
    return False


def works(folder: Path) -> dict[str, Callable[[], Any]]:
    """Return the work that is interrupted, by name."""
    pa = pytest.importorskip("pyarrow")
    effect = sd.explain(model, X, 0, method="ale", progress=False)
    rows = pa.table({name: X[:, i] for i, name in enumerate("abc")})
    frame = LinearRegression().fit(X, X[:, 0])

    def saved() -> object:
        effect.save(folder / "effect.npz")
        return sd.load(folder / "effect.npz")

    def page() -> None:
        sd.report(
            lambda X: X[:, 0] * X[:, 1], X[:60, :2], path=folder / "r.html", heterogeneity_rows=20
        )

    return {
        "threads": lambda: sd.explain(model, X, n_jobs=3, memory=4000, progress=False),
        "bar": lambda: sd.explain(model, X, [0], progress=True),
        "bootstrap": lambda: _value(sd.explain(model, X, 0, method="ale", progress=False)),
        "save": saved,
        "spool": lambda: sd.explain(
            lambda t: np.asarray(t["a"]) * np.asarray(t["b"]),
            rows.to_reader(),
            "a",
            n_jobs=2,
            progress=False,
        ),
        "importance": lambda: sd.explain(
            model, X, y=X[:, 0], method="pfi", n_jobs=2, progress=False
        ),
        "linear": lambda: sd.explain(frame, X, progress=False),
        "figure": lambda: effect.plot().savefig(folder / "effect.png", dpi=30),
        "interactions": lambda: sd.interactions(model, X[:100], n_jobs=2, progress=False),
        "regions": lambda: sd.regions(model, X, 0, progress=False),
        "report": page,
    }


def _value(effect: Any) -> Any:
    effect.interval(method="bootstrap", replicates=100)
    return effect


USUAL = ("threads", "bar", "save", "spool", "bootstrap")


MOMENTS_OF_PYTHON = pytest.mark.filterwarnings(
    # Python itself loses an interruption within a callback of the garbage collection, and a file that was opened but
    # has no name yet is closed by the collection (the library has removed it by then).
    "ignore::pytest.PytestUnraisableExceptionWarning"
)


def check(
    name: str,
    moments: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
    seed: int = 0,
) -> None:
    monkeypatch.setattr(progress, "_DELAY", 0.01)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    work = works(folder)[name]
    expected = numbers(work())  # imports, and compiles
    # The shortest of three: after a slow one, all moments would lie behind the end of the work.
    seconds = min(timeit.repeat(work, number=1, repeat=3))
    draw, before, times = random.Random(seed), state(folder), 0
    for _ in range(moments):
        # Tracebacks hold what they saw, also those of interruptions: nothing may depend on their end.
        times += interrupted_at(work, draw.uniform(0.0, seconds))
        assert state(folder) == before
    assert times >= moments // 4
    assert numbers(work()) == expected
    record_property("tried", {"interruptions": times})


@pytest.mark.filterwarnings("ignore:This report")
@MOMENTS_OF_PYTHON
@pytest.mark.parametrize(
    "name", [*USUAL[:2], *(pytest.param(name, marks=pytest.mark.slow) for name in USUAL[2:])]
)
def test_an_interruption_leaves_nothing(name, tmp_path, monkeypatch, record_property):
    check(name, 5, tmp_path, monkeypatch, record_property)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:This report")
@MOMENTS_OF_PYTHON
@pytest.mark.parametrize(
    "name",
    [*USUAL, "importance", "linear", "figure", "interactions", "regions", "report"],
)
def test_hundreds_of_interruptions_leave_nothing(name, tmp_path, monkeypatch, record_property):
    moments = 40 if name == "report" else 200
    check(name, moments, tmp_path, monkeypatch, record_property, seed=1)


# ------------------------------------------------- the moments at which Python itself does not clean up


def interrupt_first(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[bool]:
    """Interrupt the library's first call of a method before its first instruction."""
    method, done = getattr(owner, name), []

    def instead(*args: Any, **kwargs: Any) -> Any:
        caller = sys._getframe(1).f_globals["__name__"]
        if not done and caller.startswith("skedasis"):
            done.append(True)
            raise KeyboardInterrupt
        return method(*args, **kwargs)

    monkeypatch.setattr(owner, name, instead)
    return done


@pytest.mark.parametrize(("owner", "name"), [(np.errstate, "__exit__"), (np.errstate, "__enter__")])
def test_the_error_state_of_numpy_is_restored(monkeypatch, owner, name):
    before = np.geterr()
    done = interrupt_first(monkeypatch, owner, name)
    with pytest.raises(KeyboardInterrupt):
        sd.explain(model, X, progress=False)
    assert done
    assert np.geterr() == before


def test_warnings_are_heard_again(monkeypatch):
    figure = sd.explain(model, X, 0, method="ale", progress=False).plot()
    before = list(warnings.filters), warnings.showwarning, vars(warnings)["_showwarnmsg_impl"]
    done = interrupt_first(monkeypatch, warnings.catch_warnings, "__exit__")
    with pytest.raises(KeyboardInterrupt):
        figure.savefig(io.BytesIO(), dpi=20)
    assert done
    assert (warnings.filters, warnings.showwarning, vars(warnings)["_showwarnmsg_impl"]) == before
    with pytest.warns(UserWarning, match="heard"):
        warnings.warn("heard", UserWarning, stacklevel=1)


def test_a_bar_is_closed(monkeypatch, tmp_path):
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    streams, threads = (sys.stdout, sys.stderr), state(tmp_path)["threads"]
    done = interrupt_first(monkeypatch, progress.Progress, "__exit__")
    with pytest.raises(KeyboardInterrupt):
        sd.explain(model, X, [0], progress=True)
    assert done
    assert (sys.stdout, sys.stderr) == streams
    assert state(tmp_path)["threads"] == threads
    assert progress._OPEN == []


def test_an_error_that_hides_the_interruption_is_not_raised():
    def broken(X: np.ndarray) -> np.ndarray:
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")

    with pytest.raises(KeyboardInterrupt):
        sd.explain(broken, X, 0, progress=False)

    def handled(X: np.ndarray) -> np.ndarray:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise RuntimeError("no answer") from None

    with pytest.raises(RuntimeError, match="no answer"):
        sd.explain(handled, X, 0, progress=False)
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:  # of the caller, long ago
        with pytest.raises(sd.DataError):
            sd.explain(model, X, 7, progress=False)


def test_only_an_interruption_restores_the_state():
    before = _interrupts.process_state()
    old = np.geterr()
    try:
        np.seterr(over="raise")
        _interrupts.raise_interruption(ValueError(), before)
        assert np.geterr()["over"] == "raise"
        _interrupts.raise_interruption(KeyboardInterrupt(), before)
        assert np.geterr() == old
    finally:
        np.seterr(**old)


# ------------------------------------------------------------------------------------ the shell

COMMAND = "import os; from skedasis.cli import main; os.write(1, b'x'); main()"


def shell_interrupted(folder: Path, seconds: float) -> tuple[int, str]:
    """Interrupt a command that writes a page some seconds after its start; return its exit code and errors."""
    rows = "".join(f"{k % 17},{k % 5},{k}\n" for k in range(60))
    (folder / "data.csv").write_text("a,b,c\n" + rows)
    (folder / "kiln.py").write_text("def f(X): return X['a'] * 2.0 * X['b']\n")
    args = ["effect", "kiln:f", "data.csv", "a", "b", "-q", "-o", "e.csv"]
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, *args],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert [
        p.name for p in folder.rglob("*") if p.name.startswith((".skedasis-", "skedasis-"))
    ] == []
    return process.returncode, errors


@pytest.mark.parametrize(
    "seconds",
    [0.1, *(pytest.param(0.1 * k, marks=pytest.mark.long) for k in range(3, 60))],
)
def test_the_shell_ends_with_130_and_one_line(tmp_path, seconds):
    code, errors = shell_interrupted(tmp_path, seconds)
    assert (code, errors) in [(130, "Interrupted.\n"), (0, "")]
    assert code or seconds > 0.3
