"""The shell commands: what the library does, for whom there is no Python at hand.

Every command starts after a plain install. What it needs beyond that is loaded, or named, when it is needed.

| file | what it holds |
|---|---|
| `commands` | the commands |
| `importance` | one of them: `skedasis importance` |
| `options` | the options that commands share |
| `ask` | from options to what the library takes: models, columns, quantities, methods |
| `tell` | from results to a terminal and into files |
| `tables` | importances and diagnoses for a terminal |
"""

from __future__ import annotations

from skedasis.cli.commands import app, main

__all__ = ["app", "main"]
