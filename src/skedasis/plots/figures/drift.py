"""From a `Drift` to a figure: bars of the change and its parts, by feature, and by groups of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skedasis._arguments import check_int_or_none, check_probability
from skedasis._numbers import counted, number, signed, with_minus
from skedasis.plots.figures.bars import RankedLine, first_of, in_unit, ranked_panel, value_lines
from skedasis.plots.figures.effect_parts import off_scale, readable_range
from skedasis.plots.figures.importance import LONG
from skedasis.plots.marks import FigureSpec, Panel, Title
from skedasis.plots.scales import PlotAxis, clean, distinct_names, extent, shorten
from skedasis.results.drift import JOINTLY, MODEL, ROWS, Drift, DriftGroup, shares_text

RULE = 44
"""Most characters of the rule of a group of rows."""

TOP = 8
"""Features that are drawn by default."""


def drift_figure(
    drift: Drift, *, top: int | None = TOP, confidence_level: float = 0.95
) -> FigureSpec:
    """Return the bars of the change and its parts, all on one scale."""
    level = check_probability("plot(confidence_level)", confidence_level)
    top = check_int_or_none("plot(top)", top, 1, "Use 8, or None for all features")
    interval = f"{100 * level:g} % interval"
    of = shorten(drift.quantity, LONG)
    blocks: list[tuple[str, list[RankedLine], list[str]]] = []
    parts = [p for p in drift.parts[:3] if not (drift.same_rows and p.part == ROWS)]
    if drift.same_model or drift.same_rows:
        parts = parts[:1]
    whole = [_line(drift, p.part, p.value, p.interval(level), interval, "bar") for p in parts]
    rows = counted(drift.rows_old, "row")
    if not drift.same_rows:
        rows = f"{drift.rows_old:,} old and {drift.rows_new:,} new rows"
    old, new = (number(mean) for mean in (drift.mean_old, drift.mean_new))
    blocks.append(
        (f"Drift of the mean {of}", whole, [f"from {old} to {new}{in_unit(drift.unit)}", rows])
    )
    if not drift.same_rows:
        blocks.append(_by_feature(drift, top, level, interval))
    several = [part for part in (ROWS, MODEL) if len(drift.groups_of(part)) > 1]
    blocks += [_by_group(drift, part, level, interval) for part in several]
    ends = np.array([line.ends for _, lines, _ in blocks for line in lines])
    values = np.array([line.value for _, lines, _ in blocks for line in lines])
    known = extent([values, np.zeros(1)])
    low, high = readable_range(extent([ends]), *known, 1.0)
    axis = PlotAxis(
        f"change of the mean {of}", drift.unit, low, high if high > low else low + 1.0, 0.04
    )
    panels: list[tuple[Panel, ...]] = []
    for name, lines, notes in blocks:
        title = Title(f"{name[:1].upper()}{name[1:]}")
        lower, upper = np.array([line.ends for line in lines]).T
        shown = (*notes, *off_scale(axis, [(lower, upper)]))
        panels.append((ranked_panel(lines, axis, title=title, notes=shown, interval=interval),))
    said = [f"{line.name} {signed(line.value)}" for _, lines, _ in blocks for line in lines]
    alt = f"Bars of the change of the mean {of} and its parts: {first_of(said)}. {' '.join(drift.verdict)}"
    return FigureSpec(tuple(panels), str(panels[0][0].title), alt)


def _line(
    drift: Drift,
    name: str,
    value: float,
    ends: tuple[float, float],
    interval: str,
    style: str,
    tip: Sequence[str] = (),
) -> RankedLine:
    lines = [name, *value_lines("change", value, drift.unit, interval, ends), *tip]
    return RankedLine(name, value, lines, ends, style, beside=(signed(value),))


def _by_feature(
    drift: Drift, top: int | None, level: float, interval: str
) -> tuple[str, list[RankedLine], list[str]]:
    """Return the lines of what single features carry of "rows moved", and jointly."""
    order = sorted(drift.features, key=lambda f: -abs(f.value))
    names = distinct_names([clean(f.title) for f in order], LONG)
    lines = [
        _line(
            drift,
            name,
            f.value,
            f.interval(level),
            interval,
            "bar",
            tip=[f"population stability index {number(f.psi, 2)}"],
        )
        for name, f in zip(names[:top], order[:top], strict=True)
    ]
    own = drift.jointly
    lines.append(_line(drift, JOINTLY, own.value, own.interval(level), interval, "bar-hatched"))
    hidden = len(order) - len(order[:top])
    left_out = [f"{hidden:,} of {counted(len(order), 'feature')} not shown"] if hidden else []
    return f"{ROWS}, by feature", lines, left_out


def _by_group(
    drift: Drift, part: str, level: float, interval: str
) -> tuple[str, list[RankedLine], list[str]]:
    """Return the lines of the groups of rows of a part."""
    groups: Sequence[DriftGroup] = drift.groups_of(part)
    names = distinct_names([with_minus(clean(group.group)) for group in groups], RULE)
    lines = [
        _line(
            drift,
            name,
            group.total,
            group.interval(level),
            interval,
            "bar",
            tip=[
                f"{shares_text(group, same_rows=drift.same_rows)} of the rows",
                f"mean {number(group.mean_old)} → {number(group.mean_new)}",
            ],
        )
        for name, group in zip(names, groups, strict=True)
    ]
    return f"{part}, by groups of rows", lines, ["intervals: rows that did not choose the groups"]
