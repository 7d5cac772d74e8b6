"""The command in separate processes: exit codes, streams, pipes, and Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from skedasis.cli.app import app
from tests.shell import CliRunner
from tests.systems import posix

COMMAND = [sys.executable, "-c", "from skedasis.cli import main; main()"]
MODULE = """
import sys, time, warnings

def slow(X):
    print("asked", file=sys.stderr, flush=True)
    time.sleep(30)
    return X["a"]

def chatty(X):
    print("I am printing")
    warnings.warn("the kiln is hot")
    return X["a"] * 2.0

def broken(X):
    raise RuntimeError("the oven is cold")
"""


@pytest.fixture
def folder(tmp_path):
    rows = "".join(f"{k % 17},{k % 5},{k}\n" for k in range(60))
    (tmp_path / "data.csv").write_text("a,b,c\n" + rows)
    (tmp_path / "kiln.py").write_text(MODULE)
    return tmp_path


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    return {**kept, "OMP_NUM_THREADS": "1", **more}


def shell(folder, *args, env=None, **kwargs):
    return subprocess.run(
        [*COMMAND, *args],
        cwd=folder,
        env=environment(**(env or {})),
        capture_output=True,
        check=False,
        timeout=120,
        **kwargs,
    )


# --------------------------------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["effect", "kiln:chatty", "data.csv", "a"], 0, "note: the kiln is hot"),
        (["effect", "kiln:broken", "data.csv", "a"], 1, "the oven is cold"),
        (["effect", "kiln:chatty", "data.csv", "aa"], 2, "Did you mean"),
    ],
)
def test_exit_codes(folder, args, code, said):
    done = shell(folder, *args)
    assert done.returncode == code, done.stderr
    errors = done.stderr.decode()
    assert "Traceback" not in errors
    assert said in errors
    if code:
        assert done.stdout == b""
    else:  # warnings are a line each, and name no code
        assert errors.strip().splitlines() == [said]


@pytest.fixture
def entered(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("kiln", None)


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["effect", "kiln:chatty", "gone.csv", "a"], 2, "no file"),
        (["effect", "--no-such-option"], 2, "no-such-option"),
        (["no-such-command"], 2, "no-such-command"),
        (["info"], 0, ""),
        (["--version"], 0, ""),
        (["--help"], 0, ""),
    ],
)
def test_exit_codes_in_this_process(entered, args, code, said):
    done = CliRunner().invoke(app, args)
    assert done.exit_code == code, done.stderr
    assert "Traceback" not in done.stderr
    assert said in done.stderr
    if code:
        assert done.stdout == ""


@pytest.mark.slow
@posix
def test_ctrl_c_ends_at_once(folder):
    with subprocess.Popen(
        [*COMMAND, "effect", "kiln:slow", "data.csv", "a", "--method", "pdp"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr.readline().strip() == "asked"  # the model is running
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert time.monotonic() - began < 10
    assert process.returncode == 130
    assert out == ""
    assert err.strip().splitlines()[-1] == "Interrupted."
    assert "Traceback" not in err


# ------------------------------------------------------------------------------------------- streams


@posix
@pytest.mark.parametrize(
    "args",
    [
        "effect kiln:chatty data.csv a",
        "report --help",
        "info --json",
    ],
)
def test_a_reader_who_has_had_enough_is_no_error(folder, args):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, *args.split()],
        cwd=folder,
        env=environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        timeout=120,
    )
    os.close(writing)
    assert b"Traceback" not in done.stderr, done.stderr
    assert b"Exception ignored" not in done.stderr, done.stderr
    assert b"Broken" not in done.stderr, done.stderr
    assert b"SystemExit" not in done.stderr, done.stderr
    assert done.returncode == 141, args


@pytest.mark.filterwarnings("default")
def test_notes_are_in_the_document_of_a_quiet_command(entered):
    line = ["effect", "kiln:chatty", "data.csv", "a", "--json", "--quiet"]
    quiet = CliRunner().invoke(app, line)
    assert json.loads(quiet.stdout)["notes"] == ["the kiln is hot"]
    assert "I am printing" in quiet.stderr
    assert "note:" not in quiet.stderr


@pytest.mark.slow
def test_a_pipe_gets_no_colours(folder):
    for args in (["effect", "kiln:chatty", "data.csv", "a"], ["effect"]):
        done = shell(folder, *args, env={"TERM": "xterm-256color"})
        assert b"\x1b" not in done.stdout + done.stderr
