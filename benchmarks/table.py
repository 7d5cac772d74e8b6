"""The table, for people and as JSON."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.lines import Alone, Growth, Line, Space, Speed
from benchmarks.problem import Settings

LIBRARIES = ("skedasis", "numpy", "pandas", "effector", "PyALE", "scikit-learn")


def watch(lines: Iterable[Line]) -> Iterator[Line]:
    """Pass the lines on, and say on the terminal's other stream which one is done."""
    console = Console(stderr=True)
    with console.status("measuring"):
        for line in lines:
            console.print(f"[dim]done[/dim] {line.work} {getattr(line, 'peer', '')} {line.note}")
            yield line


def show(settings: Settings, lines: list[Line]) -> None:
    """Print the tables that have lines."""
    console = Console()
    if not console.is_terminal:
        console.width = 110  # a log file has no width of its own
    fast = [line for line in lines if isinstance(line, Speed)]
    alone = [line for line in lines if isinstance(line, Alone)]
    small = [line for line in lines if isinstance(line, Space)]
    title = f"N = {settings.n:,}, D = {settings.d}, model: {settings.model}, one thread"
    if settings.quick:
        title += " (quick: the ratios mean nothing)"
    if fast:
        console.print(_speeds(fast, settings, title))
    if alone:
        console.print(_times(alone, settings))
    if small:
        console.print(_spaces(small, settings))
    if grown := [line for line in lines if isinstance(line, Growth)]:
        console.print(_growths(grown))
    console.print("   ".join(f"{name} {number}" for name, number in _versions().items()))


def _mark(reached: bool | None) -> str:
    return "" if reached is None else ("[green]✓[/green]" if reached else "[red]✗[/red]")


def _speeds(lines: list[Speed], settings: Settings, title: str) -> Table:
    cells = settings.n * settings.d
    caption = "rows: model rows asked for, as multiples of N for each feature or pair explained"
    table = Table(title=title, caption=caption)
    table.add_column("work, beside, note", overflow="fold")
    names = ("ours\nms", "model\nalone ms", "theirs\nms", "ratio", "cpu\nratio", "reach", "")
    for name in (*names, "rows\nours", "rows\ntheirs", "differ\nby"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        difference = "" if line.difference is None else f"{line.difference:.0e}"
        what = ", ".join(filter(None, (line.peer, line.note)))
        table.add_row(
            f"{line.work}\n[dim]{what}[/dim]",
            _ms(line.ours.wall), _ms(line.model), _ms(line.theirs.wall),
            f"{line.ratio:.1f} x", f"{line.cpu_ratio:.1f} x",
            "" if line.reach is None else f"{line.reach:g} x", _mark(line.reached),
            _rows(line.rows / (line.unit or cells)), _rows(line.their_rows / (line.unit or cells)),
            difference if line.agrees else f"[red]{difference}[/red]",
        )  # fmt: skip
    return table


def _times(lines: list[Alone], settings: Settings) -> Table:
    table = Table(title=f"ours alone, D = {settings.d} other features, one thread")
    table.add_column("work")
    for name in ("N", "s", "cpu s", "reach", "", "rows"):
        table.add_column(name, justify="right")
    table.add_column("note")
    for line in lines:
        limit = "" if line.limit is None else f"{line.limit:g}"
        note = line.note if line.agrees else f"[red]{line.note}: no[/red]"
        table.add_row(
            line.work, f"{line.n:,}", f"{line.took.wall:.2f}", f"{line.took.cpu:.2f}", limit,
            _mark(line.reached), _rows(line.rows / line.n), note,
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


def _growths(lines: list[Growth]) -> Table:
    table = Table(title="growth: processor seconds, and megabytes at the peak, at each size")
    table.add_column("work", overflow="fold")
    for name in ("sizes", "s", "MB", "exponents", ""):
        table.add_column(name, justify="right")
    for line in lines:
        seconds = (f"{t.cpu:.2g}" if t else "not done" for t in line.took)
        megabytes = ("" if m is None else f"{m:.0f}" for m in line.megabytes)
        table.add_row(
            line.work, " / ".join(f"{size:,}" for size in line.sizes), " / ".join(seconds),
            " / ".join(megabytes), "{:.2f}, {:.2f}".format(*line.exponents), _mark(line.reached),
        )  # fmt: skip
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
        ratio: dict[str, float] = {}
        if isinstance(line, Speed):
            ratio = {"ratio": line.ratio, "cpu_ratio": line.cpu_ratio}
        rows.append({**asdict(line), **ratio, "reached": line.reached, "agrees": line.agrees})
    machine = {"processor": platform.processor() or platform.machine(), "system": platform.system()}
    return {"settings": asdict(settings), "versions": _versions(), "machine": machine, "rows": rows}
