"""Command-line interface: the shell commands, from `skedasis effect` to `skedasis info`.

`app` defines the application and the commands `demo`, `datasets` and `info`; `explain` has `effect`, `importance` and
`report`; `regions`, `interactions`, `what_if` and `drift` have the command of their name. The options of a command are
the fields of a dataclass, which `options` turns into a typer command; `choices` interprets their texts. A `session`
opens what they name, by the functions of `inputs` for models, data and columns. `output` writes tables, JSON and
figures; `runtime` handles exit codes, streams and errors; `completion` completes arguments in the shell. All commands
start after a plain install: optional libraries are imported when they are needed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from skedasis.registry import load_plugins

if TYPE_CHECKING:
    from skedasis.cli.app import app

__all__ = ["app", "main"]


_INTERRUPTED = 130


def _end(*_: object) -> NoReturn:
    """End the program at once: there is nothing to clean up before it has begun, and after its end."""
    with contextlib.suppress(OSError):
        os.write(2, b"Interrupted.\n")
    os._exit(_INTERRUPTED)


def _open_closed_streams() -> None:
    """Open standard streams that the caller has closed, such as by ``2>&-``, on the null device.

    Otherwise the next file that is opened would take their number, and receive what libraries write to it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if vars(sys)[name] is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            mode = "w" if number else "r"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def main() -> None:
    """Run the command line. During the imports, and when all is done, Ctrl-C ends the program without a traceback."""
    _open_closed_streams()
    waits = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if waits:
        signal.signal(signal.SIGINT, _end)
    load_plugins()  # before the texts of the options, which list what there is
    from skedasis.cli import app as cli_app
    from skedasis.cli import runtime

    try:
        if waits:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        runtime.run(cli_app.app)
    except KeyboardInterrupt:  # before `run` could prepare for it, or while it ended
        _end()
    finally:
        if waits:
            signal.signal(signal.SIGINT, _end)


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    from skedasis.cli.app import app

    return app
