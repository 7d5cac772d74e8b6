"""The shell commands: what the library does, for whom there is no Python at hand.

Every command starts after a plain install. What it needs beyond that is loaded, or named, when it is needed.

| file | what it holds |
|---|---|
| `commands` | the commands by name |
| `report`, `effect`, `importance`, `demo`, `about` | their options, and what they do |
| `order` | from a dataclass of options to a command |
| `given` | options of a model and of data, and what they give |
| `models` | models by their path or file, and their columns |
| `ask` | from options to what the library takes: columns, quantities, methods |
| `complete` | what may stand behind a Tab |
| `tell` | from results to a terminal and into files |
| `tables` | importances and diagnoses for a terminal |
| `talk` | remarks and warnings |
| `screen` | texts of strangers on a terminal |
| `machine` | results as JSON |
| `shell` | exit codes, streams, errors |
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skedasis.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line. While it is loaded, Ctrl-C ends it as it ends programs that know nothing of it."""
    waits = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if waits:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from skedasis.cli import app as cli_app
    from skedasis.cli import runtime

    if waits:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    runtime.run(cli_app.app)


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    from skedasis.cli.app import app

    return app
