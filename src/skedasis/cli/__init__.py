"""Command-line interface: `skedasis effect`, `importance`, `report`, `demo`, `datasets` and `info`.

`app` defines the application and the smaller commands, `explain` the commands that explain models. The options of a
command are the fields of a dataclass, which `options` turns into a typer command. `inputs` turns text into models,
data, columns and methods; `output` writes tables, JSON and figures; `runtime` handles exit codes, streams and errors;
`completion` completes arguments in the shell. All commands start after a plain install: optional libraries are imported
when they are needed.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skedasis.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line. During the imports, Ctrl-C ends the program silently, without a traceback."""
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
