"""From `WeakSpots` to a figure: the bias of each group as a bar with its interval, that of all rows as a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skedasis._arguments import check_probability
from skedasis._numbers import counted, number, percent, with_minus
from skedasis.plots.figures.bars import RankedLine, first_of, in_unit, ranked_panel, value_lines
from skedasis.plots.figures.importance import LONG
from skedasis.plots.marks import FigureSpec, Title, vertical_line
from skedasis.plots.scales import PlotAxis, clean, distinct_names, shorten
from skedasis.results.weak_spots import WeakSpot, WeakSpots, who_text

NAME = 44
"""Most characters of a rule."""


def weak_spots_figure(found: WeakSpots, confidence_level: float = 0.95) -> FigureSpec:
    """Return bars of all groups of rows, the largest first, those that are no weak spots hatched."""
    level = check_probability("plot(confidence_level)", confidence_level)
    of_bias = found.of == "bias"
    groups, interval = found.ranking(), f"{100 * level:g} % interval"
    names = distinct_names([with_minus(clean(g.rule)) for g in groups], NAME)
    lines: list[RankedLine] = []
    for name, group in zip(names, groups, strict=True):
        (low, high), base = group.interval(level), 0.0 if of_bias else found.overall.loss
        value, ends = group.bias + base, (low + base, high + base)
        style, label = ("bar", "weak spot") if group.confirmed else ("bar-hatched", "other rows")
        lines.append(
            RankedLine(
                f"{name} ({percent(group.share)})",
                value,
                _tip(found, group, name, value, interval, ends),
                ends,
                style,
                label,
            )
        )
    title = Title(f"Where the {shorten(found.of, LONG)} is large")
    notes = (counted(found.overall.rows, "row"),)
    if of_bias:
        who = shorten(who_text(found), LONG)
        title = Title(f"Where {who} is wrong on average")
        notes = (*notes, f"right of 0 {who} is too low")
    panel = ranked_panel(
        lines,
        PlotAxis(_axis(found), found.unit, np.nan, np.nan, 0.04),
        title=title,
        notes=notes,
        interval=interval,
    )
    overall = found.overall.bias if of_bias else found.overall.loss
    panel = replace(panel, marks=(*panel.marks, vertical_line(overall, "mean-before", "all rows")))
    alt = f"Bars of groups of rows, {_axis(found)}: {first_of(_said(found, lines))}. {'; '.join(notes)}."
    return FigureSpec(((panel,),), str(title), alt)


def _axis(found: WeakSpots) -> str:
    """Return what bars show."""
    if found.of == "bias":
        return "mean label − mean prediction"
    return f"mean {shorten(found.of, LONG)}"


def _tip(
    found: WeakSpots,
    group: WeakSpot,
    name: str,
    value: float,
    interval: str,
    ends: tuple[float, float],
) -> list[str]:
    """Return the tooltip of a group."""
    tip = [name, *value_lines(_axis(found), value, found.unit, interval, ends)]
    if found.of == "bias":
        means = f"mean label {number(group.label)}, mean prediction {number(group.prediction)}"
        tip.append(means)
    tip.append(f"{counted(group.rows, 'row')} ({percent(group.share)})")
    return tip


def _said(found: WeakSpots, lines: Sequence[RankedLine]) -> list[str]:
    """Return each bar in words."""
    return [f"{line.name} {number(line.value)}{in_unit(found.unit)}" for line in lines]
