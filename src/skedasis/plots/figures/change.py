"""From a `Change` to a figure: the mean change of each region as a dot, or a histogram of the changes of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from skedasis._arguments import check_probability
from skedasis._numbers import counted, number, percent, with_minus
from skedasis._types import Floats
from skedasis.errors import UnsupportedError
from skedasis.plots.figures import effect_parts
from skedasis.plots.figures.bars import (
    RankedLine,
    bin_edges,
    bin_tooltips,
    columns,
    in_unit,
    mean_marks,
    ranked_panel,
    value_lines,
)
from skedasis.plots.figures.importance import LONG
from skedasis.plots.marks import FigureSpec, Mark, Panel, Segments, Title, vertical_line
from skedasis.plots.scales import PlotAxis, clean, distinct_names, extent, position_texts, shorten
from skedasis.results.change import Change, rows_text

if TYPE_CHECKING:
    from skedasis.results.keywords import ChangeFigure

NAME = 44
"""Most characters of a region's rule."""

ALL = "all rows"


def change_figure(
    change: Change, *, kind: ChangeFigure | None = None, confidence_level: float = 0.95
) -> FigureSpec:
    level = check_probability("plot(confidence_level)", confidence_level)
    if kind == "regions" and not change.rules:
        raise UnsupportedError(
            "plot(kind='regions')",
            "a change without regions",
            "one with regions",
            "Name them: sd.what_if(..., by='column')",
        )
    rows = kind == "rows" or (not change.rules and change.rows is not None and kind is None)
    if rows:
        return _of_rows(change, level)
    return means_figure(
        change, mean_changes(change, level), level, _title(change), change_notes(change)
    )


def _title(change: Change) -> Title:
    return Title(shorten(change.text, LONG), _what(change))


def _what(change: Change) -> str:
    return f"change of {shorten(change.quantity, LONG)}"


def changes_title(changes: Sequence[Change]) -> Title:
    """Return the title of the changes of several named moves."""
    first = _title(changes[0])
    return replace(first, subject=f"{len(changes):,} named moves") if len(changes) > 1 else first


def change_notes(change: Change) -> tuple[str, ...]:
    """Return the number of rows, and of those that leave the data."""
    notes = [rows_text(change)]
    if change.outside.rows:
        share = percent(change.outside.share)
        notes.append(f"{share} of rows leave the observed range")
    if change.missing:
        notes.append(f"{counted(change.missing, 'row')} without a value left out")
    return tuple(notes)


@dataclass(frozen=True)
class MeanChange:
    """One line of a figure of mean changes."""

    name: str
    value: float
    ends: tuple[float, float]
    rows: int
    of_region: bool = False


def mean_changes(change: Change, level: float, name: str = ALL) -> list[MeanChange]:
    """Return the line of all rows of a change, with the given name, and one for each region."""
    low, high = change.interval(level) if np.isfinite(change.std_error) else (np.nan, np.nan)
    lines = [MeanChange(name, change.value, (low, high), change.n_rows)]
    if change.rules:
        ends = zip(*(end.tolist() for end in change.region_intervals(level)), strict=True)
        names = distinct_names([with_minus(clean(rule)) for rule in change.rules], NAME)
        lines += [
            MeanChange(rule, region.value, end, region.rows, True)
            for rule, region, end in zip(names, change.by, ends, strict=True)
        ]
    return lines


def means_figure(
    change: Change, lines: Sequence[MeanChange], level: float, title: Title, notes: tuple[str, ...]
) -> FigureSpec:
    """Return a figure with a dot and an interval for each line, from above."""
    interval = f"{100 * level:g} % interval"
    shown: list[RankedLine] = []
    said: list[str] = []
    for line in lines:
        known, style = np.isfinite(line.value), "nominal" if line.of_region else "independent"
        tip = [line.name]
        tip += (
            value_lines("mean change", line.value, change.unit, interval, line.ends)
            if known
            else ["no row"]
        )
        tip.append(counted(line.rows, "row"))
        label = f"mean change of {'a group of rows' if line.of_region else ALL}"
        name = f"{line.name} ({line.rows:,})"
        shown.append(RankedLine(name, line.value, tip, line.ends, style, label))
        said += [f"{line.name} {number(line.value)}{in_unit(change.unit)}"] if known else []
    axis = PlotAxis(_what(change), change.unit, np.nan, np.nan, 0.04)
    panel = ranked_panel(
        shown, axis, title=title, notes=notes, interval=interval, reach=np.inf, dotted=True
    )
    of = "groups of rows" if any(line.of_region for line in lines) else "moves"
    more = f"; and {len(lines) - 6:,} more {of}" if len(lines) > 6 else ""
    alt = f"{title}. Mean change: {'; '.join(said[:6])}{more}. {'; '.join(notes)}."
    return FigureSpec(((panel,),), str(title), alt)


def _of_rows(change: Change, level: float) -> FigureSpec:
    """Return a histogram of the changes of rows, with the mean, its interval, and zero."""
    kept = change.rows
    if kept is None or not len(kept):
        raise UnsupportedError(
            "plot(kind='rows')",
            "a change that keeps no rows",
            "one that keeps rows",
            "Compute it again with memory for rows: keep_rows='256MB'",
        )
    weight = np.ones(len(kept)) if kept.weight is None else kept.weight
    share = 100 * weight / weight.sum()
    edges = _edges(kept.change, change)
    height = np.histogram(kept.change, edges, weights=share)[0]
    highest = float(height.max())
    sample = "" if kept.exact else f", a sample of {counted(len(kept), 'row')}"
    marks: list[Mark] = [
        columns(edges, height, "bar", f"changes of rows{sample}"),
        vertical_line(0.0),
        *mean_marks(change.value, "after", "mean change"),
    ]
    unit = in_unit(change.unit)
    said = f"mean {number(change.value)}{unit}"
    if np.isfinite(change.std_error):
        low, high = (np.array([end]) for end in change.interval(level))
        interval = f"{100 * level:g} % interval of the mean"
        y = np.array([1.05 * highest])
        marks.append(Segments(low, y, high, y, "whisker", interval, caps=6.0))
        said += f" ({number(float(low[0]))} to {number(float(high[0]))})"
    beyond = 100 - float(height.sum())
    notes = [said, *change_notes(change)]
    if beyond > 0.02:
        notes.append(f"{percent(beyond / 100)} of rows are off the scale")
    tips = [
        f"change {low} – {high}{unit}\n{percent(rows / 100)} of rows"
        for (low, high), rows in zip(pairwise(position_texts(edges)), height.tolist(), strict=True)
    ]
    by_weight = "% of rows" if kept.weight is None else "% of rows by weight"
    title = _title(change)
    panel = Panel(
        PlotAxis(_what(change), change.unit, float(edges[0]), float(edges[-1]), 0.0),
        PlotAxis(by_weight, None, 0.0, 1.12 * highest, 0.0),
        tuple(marks),
        title=title,
        notes=tuple(notes),
        tooltips=bin_tooltips(edges, tips),
    )
    alt = f"{title}: histogram of the changes of rows. {'; '.join(notes)}."
    return FigureSpec(((panel,),), str(title), alt)


def _edges(values: Floats, change: Change) -> Floats:
    """Return the edges of the bins: they contain the mean and zero, and a few outliers do not stretch them."""
    low, high = effect_parts.visible(values, *extent([np.array([change.value, 0.0])]))
    size = max(abs(low), abs(high), abs(change.before) * 1e-9) or 1.0
    if high - low < 1e-9 * size:  # no row changes
        low, high = -0.5 * size, 0.5 * size
    return bin_edges(low, high, len(values))
