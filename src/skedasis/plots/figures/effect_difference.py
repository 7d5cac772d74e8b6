"""From `EffectDifference` to a figure: the difference with its band around 0, and below it both curves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skedasis._arguments import check_flag
from skedasis._numbers import counted, number, p_value
from skedasis._types import Floats
from skedasis.plots.figures import effect_parts
from skedasis.plots.figures.effect_parts import LONG, LONGEST
from skedasis.plots.marks import (
    Area,
    FigureSpec,
    Line,
    Mark,
    Panel,
    Points,
    Segments,
    Title,
    Tooltip,
    horizontal_line,
)
from skedasis.plots.scales import PlotAxis, clean, distinct_names, extent, shorten
from skedasis.results.contrast import level_text
from skedasis.results.effect_difference import EffectDifference

APART = 0.12
"""Half of the distance between the points of two effects at a level."""

MOST_POINTS = 30
"""Most points of a curve that are marked."""

CURVES = 80.0
"""Height of the panel of both curves."""


def effect_difference_figure(
    difference: EffectDifference, confidence_level: float = 0.95, simultaneous: bool = True
) -> FigureSpec:
    """Return the figure of the difference of two effects."""
    d = difference
    check_flag("plot(simultaneous)", simultaneous)
    ends = d.interval(confidence_level, simultaneous=simultaneous)
    x, at = _horizontal(d)
    feature, quantity = shorten(d.title or d.feature, LONG), shorten(d.quantity, LONG)
    title = Title(feature, f"difference in the effect on {quantity}", d.method)
    whole = "simultaneous " if simultaneous else ""
    band = f"{level_text(confidence_level)} {whole}{'band' if simultaneous else 'interval'}"
    tips = tuple(_tips(d, x, at, ends, band))
    curves = (*effect_parts.backdrop(x), *_curves(d, at))
    low, high = extent([d.first, d.second])
    unit = d.unit
    name = f"effect on {quantity}" if d.centered else quantity
    both = Panel(x, PlotAxis(name, unit, low, high, 0.06), curves, CURVES, kind="detail")
    marks = (*effect_parts.backdrop(x), horizontal_line(0.0), *_difference(d, at, ends, band))
    low, high = extent([d.value, np.zeros(1)])
    low, high = effect_parts.readable_range(extent([*ends, np.zeros(1)]), low, high)
    y = PlotAxis("difference", unit, low, high, 0.06)
    test = f"{p_value(d.p_value)}, test of no difference anywhere"
    notes = (test, *effect_parts.off_scale(y, [ends]), *map(str, d.notes))
    main = Panel(x, y, marks, effect_parts.MAIN, title=title, notes=notes, tooltips=tips)
    order = tuple(_names(d))
    return FigureSpec(((main, both),), str(title), " ".join([f"{title}.", *d.remarks]), order=order)


def _names(d: EffectDifference) -> list[str]:
    """Return the names of the two effects."""
    return [
        f"{which} ({counted(n, 'row')})"
        for which, n in zip(("first", "second"), d.rows, strict=True)
    ]


def _horizontal(d: EffectDifference) -> tuple[PlotAxis, Floats]:
    """Return the axis of the feature, and the positions of the points on it."""
    name, unit = shorten(d.title or d.feature, LONGEST), d.feature_unit
    at = d.axis.coordinates
    if d.levels is not None:
        names = distinct_names([clean(text) for text in d.texts], LONGEST)
        return PlotAxis(name, unit, -0.5, len(at) - 0.5, 0.0, tuple(at.tolist()), names), at
    few = len(at) <= effect_parts.OWN_TICKS and d.time is None and np.array_equal(at, np.rint(at))
    ticks = tuple(at.tolist()) if few else ()
    return PlotAxis(name, unit, float(at[0]), float(at[-1]), 0.03, ticks, time=d.time), at


def _curves(d: EffectDifference, at: Floats) -> Iterator[Mark]:
    """Yield both effects: as lines, or for levels as points side by side."""
    for k, (value, name) in enumerate(zip((d.first, d.second), _names(d), strict=True)):
        if d.levels is None:
            yield Line(at, value, f"hue{k}", name)
        else:
            yield Points(at + (2 * k - 1) * APART, value, f"hue{k}-vertex", name)


def _difference(
    d: EffectDifference, at: Floats, ends: tuple[Floats, Floats], band: str
) -> Iterator[Mark]:
    """Yield the difference with its band."""
    lower, upper = ends
    known = np.isfinite(lower)
    if d.levels is not None:
        yield Segments(at[known], lower[known], at[known], upper[known], "interval-bar", band)
        yield Points(at, d.value, "mean-vertex", "difference")
        return
    yield Area(at[known], lower[known], upper[known], "interval", band)
    yield Line(at, d.value, "mean", "difference")
    if len(at) <= MOST_POINTS:
        yield Points(at, d.value, "mean-vertex", "difference")


def _tips(
    d: EffectDifference, x: PlotAxis, at: Floats, ends: tuple[Floats, Floats], band: str
) -> Iterator[Tooltip]:
    """Yield a tooltip for each point, halfway to its neighbours."""
    low, high = (-0.5, len(at) - 0.5) if d.levels is not None else x.range
    middles = (at[1:] + at[:-1]) / 2
    unit = f" {clean(d.unit)}" if d.unit else ""
    for k, (left, right) in enumerate(
        zip([low, *middles.tolist()], [*middles.tolist(), high], strict=True)
    ):
        lines = [
            f"{shorten(d.title or d.feature, LONG)}: {shorten(d.texts[k], LONG)}",
            f"first minus second {number(d.value[k])}{unit}",
            f"{band} {number(ends[0][k])} to {number(ends[1][k])}",
            f"first {number(d.first[k])}, second {number(d.second[k])}",
        ]
        yield Tooltip(left, right, "\n".join(lines), below=1)
