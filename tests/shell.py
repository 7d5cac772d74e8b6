"""Run shell commands in this process.

typer builds a command, with the types of all its options, anew for each call: a quarter of a second, which is more than
most commands take. Here it is built once.
"""

from __future__ import annotations

import functools
from typing import Any
from unittest import mock

import typer.main
import typer.testing

_command = functools.cache(typer.main.get_command)


class CliRunner(typer.testing.CliRunner):
    """typer's runner, which keeps the command of an application."""

    def invoke(self, app: typer.Typer, *args: Any, **kwargs: Any) -> Any:
        """Run a command, and return its exit code and output; see `typer.testing.CliRunner`."""
        with mock.patch.object(typer.testing, "_get_command", _command):
            return super().invoke(app, *args, **kwargs)
