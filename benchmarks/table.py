"""The table, for people and as JSON."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.problem import Settings
from benchmarks.tasks import Line, Space, Speed

LIBRARIES = ("skedasis", "numpy", "effector", "PyALE", "scikit-learn")


def watch(lines: Iterable[Line]) -> Iterator[Line]:
    """Pass the lines on, and say on the terminal's other stream which one is done."""
    console = Console(stderr=True)
    with console.status("measuring"):
        for line in lines:
            console.print(f"[dim]done[/dim] {line.work} {getattr(line, 'peer', '')} {line.note}")
            yield line


def show(settings: Settings, lines: list[Line]) -> None:
    """Print both tables."""
    console = Console()
    if not console.is_terminal:
        console.width = 110  # a log file has no width of its own
    fast = [line for line in lines if isinstance(line, Speed)]
    small = [line for line in lines if isinstance(line, Space)]
    title = f"N = {settings.n:,}, D = {settings.d}, model: {settings.model}, one thread"
    if settings.quick:
        title += " (quick: the ratios mean nothing)"
    if fast:
        console.print(_speeds(fast, settings, title))
    if small:
        console.print(_spaces(small, settings))
    console.print("   ".join(f"{name} {number}" for name, number in _versions().items()))


def _mark(reached: bool | None) -> str:
    return "" if reached is None else ("[green]✓[/green]" if reached else "[red]✗[/red]")


def _speeds(lines: list[Speed], settings: Settings, title: str) -> Table:
    cells = settings.n * settings.d
    table = Table(title=title, caption="rows: model rows asked for, as multiples of N D")
    table.add_column("work, beside, note", overflow="fold")
    names = ("ours\nms", "model\nalone ms", "theirs\nms", "ratio", "reach", "")
    for name in (*names, "rows\nours", "rows\ntheirs", "differ\nby"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        difference = "" if line.difference is None else f"{line.difference:.0e}"
        what = ", ".join(filter(None, (line.peer, line.note)))
        table.add_row(
            f"{line.work}\n[dim]{what}[/dim]",
            _ms(line.ours), _ms(line.model), _ms(line.theirs), f"{line.ratio:.1f} x",
            "" if line.reach is None else f"{line.reach:g} x", _mark(line.reached),
            _rows(line.rows / cells), _rows(line.their_rows / cells),
            difference if line.agrees else f"[red]{difference}[/red]",
        )  # fmt: skip
    return table


def _spaces(lines: list[Space], settings: Settings) -> Table:
    table = Table(title=f"extra memory at the peak beyond X, D = {settings.d}")
    table.add_column("work")
    for name in ("N", "MB", "reach", ""):
        table.add_column(name, justify="right")
    table.add_column("note")
    for line in lines:
        limit = "" if line.limit is None else f"{line.limit:.0f}"
        table.add_row(
            line.work, f"{line.n:,}", f"{line.megabytes:.0f}", limit, _mark(line.reached), line.note
        )
    return table


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:,.1f}" if seconds else ""


def _rows(multiple: float) -> str:
    return f"{multiple:.4g}" if multiple else ""


def _versions() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            # Run from a checkout that is not installed.
            found[name] = "?"
    return found


def as_json(settings: Settings, lines: list[Line]) -> dict[str, Any]:
    """Return everything that was measured."""
    rows: list[dict[str, Any]] = []
    for line in lines:
        ratio = {"ratio": line.ratio} if isinstance(line, Speed) else {}
        rows.append({**asdict(line), **ratio, "reached": line.reached, "agrees": line.agrees})
    machine = {"processor": platform.processor() or platform.machine(), "system": platform.system()}
    return {"settings": asdict(settings), "versions": _versions(), "machine": machine, "rows": rows}
