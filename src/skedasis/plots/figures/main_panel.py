"""The main panel of an effect: its average with bands, individual curves, gaps, and what is beside the axis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.plots.figures import effect_parts, effect_texts
from skedasis.plots.figures.curve_height import DrawnEffect, shows_labels
from skedasis.plots.figures.effect_parts import Band, Doubts
from skedasis.plots.figures.ice import (
    GroupAverage,
    IndividualCurves,
    lines_of_groups,
    strips,
    texts_of_groups,
)
from skedasis.plots.figures.observed import cells_of
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.figures.shown_levels import ShownLevels
from skedasis.plots.figures.titles import effect_title
from skedasis.plots.marks import Heat, Line, Mark, Panel, Points, Rectangles, Tooltip
from skedasis.plots.scales import PlotAxis
from skedasis.results.checks.elevated_regions import ElevatedRegion
from skedasis.results.effect import Effect
from skedasis.results.main_stretch import main_part

HALF_WIDTHS = {"interval": 0.16, "heterogeneity": 0.3}
"""Half widths of the boxes of bands at a level."""

ROWS_HALF_WIDTH = 0.36
"""Half width of the rows at a level."""

BETWEEN_GROUPS = 0.08
"""Distance of the averages of two groups at a nominal level."""


def main_panel(
    drawn: DrawnEffect[Effect],
    options: EffectPlotOptions,
    x: PlotAxis,
    curve: tuple[Floats, Floats, str],
    *,
    bands: Sequence[Band],
    intervals: Sequence[Band],
    curves: IndividualCurves | None,
    notes: Sequence[str],
    tooltips: Iterable[Tooltip],
    below: int,
    levels: ShownLevels | None = None,
    vertices: Ints | None = None,
    doubts: Doubts | None = None,
    gaps_of: Effect | None = None,
    regions: Sequence[ElevatedRegion] = (),
) -> Panel:
    """Return the panel of an average at points of the axis, (m,) twice, with its name, and of what is around it.

    Tooltips reach over `below` more panels.
    """
    whole = drawn.effect
    at, value, label = curve
    beside = effect_parts.effects_beside(whole, options)
    cells = cells_of(whole, options, x) if shows_labels(whole, options) else None
    reached = () if curves is None else curves.reached
    groups = () if curves is None else curves.groups
    means = [] if cells is None else cells.intervals()
    reached = (*reached, *(() if cells is None else cells.curves()))
    ends = (*intervals, *means)
    y = effect_parts.vertical(drawn.name, drawn.unit, bands, ends, (value, *reached), beside)
    y, elevated, texts = strips(regions, y)
    hatched, words = effect_parts.hatches(doubts, y, gaps_of)
    grid = main_part(whole).effect.points if levels is None else at
    rug = effect_parts.effect_rug(whole) if levels is None else None
    more: tuple[Tooltip, ...] = (*effect_texts.tooltips_beside(x, y.unit, beside, below),)
    if cells is not None:
        # The legend needs the room, and the panel with rows says more.
        rug = None if rug is None else replace(rug, label="")
        tooltips = cells.tooltips(x) if levels is None else cells.added([*tooltips])
        more = cells.added(more)
        # Open circles would look like mean predictions.
        vertices = np.zeros(0, dtype=np.int64) if levels is None else vertices
    marks: list[Mark] = [
        *effect_parts.backdrop(x),
        *(_band(band, "heterogeneity", levels) for band in bands),
        *hatched,
        *drawn.line,
        *(() if curves is None else curves.marks),
        *(_band(band, "interval", levels) for band in intervals),
        *effect_parts.average(
            at,
            value,
            label,
            vertices=vertices,
            on_colors=curves is not None and options.color is not None,
            join="line" if levels is None else "thin" if levels.ordered else "",
            mark="vertex" if cells is None else "vertex-plus",
        ),
        *(lines_of_groups(grid, groups) if levels is None else _averages(levels, groups)),
        *(() if curves is None else curves.own),
        *(() if cells is None else cells.marks()),
        *elevated,
        *([] if rug is None else [rug]),
        *effect_parts.marks_beside(x, y, beside),
    ]
    if cells is not None:
        marks = list(_in_one_entry(marks, label, [band.label for band in intervals]))
    return Panel(
        x,
        y,
        tuple(marks),
        effect_parts.MAIN,
        title=effect_title(whole),
        notes=(
            *notes,
            *drawn.notes,
            *effect_parts.remarks(whole),
            *effect_parts.no_spread(whole, options),
            *effect_parts.off_scale(y, [(band.lower, band.upper) for band in ends]),
        ),
        texts=(*words, *texts, *(texts_of_groups(grid, groups) if levels is None else ())),
        tooltips=(*tooltips, *more),
    )


def _in_one_entry(marks: Iterable[Mark], curve: str, intervals: Sequence[str]) -> Iterator[Mark]:
    """Yield marks such that a curve and its interval have one legend entry, as mean labels and theirs have."""
    for interval in intervals:
        said = interval.removesuffix(" of the average")
        named = (
            f"{curve.removesuffix(')')}, {said})" if curve.endswith(")") else f"{curve} ({said})"
        )
        names = {curve: named, interval: named}
        marks = [
            m if isinstance(m, Heat) else replace(m, label=names.get(m.label, m.label))
            for m in marks
        ]
    yield from marks


def axis_of(levels: ShownLevels, effect: Effect) -> PlotAxis:
    """Return the axis of an effect of a categorical feature."""
    missing_label = "" if effect.missing_point is None else effect_parts.MISSING
    return levels.axis(effect.about.feature, missing_label)


def _band(band: Band, style: str, levels: ShownLevels | None) -> Mark:
    """Return a band: an area, or a box per level."""
    if levels is None:
        return effect_parts.area(band, style)
    x, half = levels.x, HALF_WIDTHS[style]
    return Rectangles(x - half, x + half, band.lower, band.upper, style, band.label)


def _averages(levels: ShownLevels, groups: Sequence[GroupAverage]) -> Iterator[Mark]:
    """Yield the average of each group of rows at the levels, side by side, or connected at ordinal levels."""
    for k, group in enumerate(groups):
        beside = 0.0 if levels.ordered else BETWEEN_GROUPS * (k - (len(groups) - 1) / 2)
        if levels.ordered and len(levels.x) > 1:
            yield Line(levels.x, group.value, group.style, group.label)
        yield Points(levels.x + beside, group.value, f"{group.style}-point", group.label)
