"""Run shell commands in this process.

typer builds a command, with the types of all its options, anew for each call: a quarter of a second, which is more than
most commands take. Here it is built once.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pytest
import typer.main
import typer.testing

_command = functools.cache(typer.main.get_command)


class CliRunner(typer.testing.CliRunner):
    """typer's runner, which keeps the command of an application."""

    def invoke(self, app: typer.Typer, *args: Any, **kwargs: Any) -> Any:
        """Run a command, and return its exit code and output; see `typer.testing.CliRunner`."""
        with mock.patch.object(typer.testing, "_get_command", _command):
            return super().invoke(app, *args, **kwargs)


def working_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, module: str, code: str, **tables: pd.DataFrame
) -> Path:
    """Go to a folder, with the code of a module that commands can import, and CSV files by their names."""
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    (folder / f"{module}.py").write_text(code)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    return folder
