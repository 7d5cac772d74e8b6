"""Parts of charts with a named line per feature, region or move, and of histograms of rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from skedasis._numbers import number
from skedasis._types import Floats
from skedasis.plots.figures.effect_parts import readable_range
from skedasis.plots.marks import (
    Mark,
    Panel,
    Points,
    Rectangles,
    Segments,
    Text,
    Title,
    Tooltip,
    vertical_line,
)
from skedasis.plots.scales import PlotAxis, clean, extent, padded

BINS = (8, 40)
"""Fewest and most bins of a histogram."""

# --- lines ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RankedLine:
    """A line of a chart: a bar from zero, or a dot, with its interval, its name, texts beside it and a tooltip.

    A bar may have a thinner one in front of it, which ends at `inner`; `dots` are single values below its interval.
    """

    name: str
    value: float
    tip: Sequence[str]
    ends: tuple[float, float] = (math.nan, math.nan)
    style: str = "bar"
    label: str = ""
    inner: float = math.nan
    dots: Floats = field(default_factory=lambda: np.zeros(0))
    beside: tuple[str, ...] = ()
    feature: str = ""


def ranked_panel(
    lines: Sequence[RankedLine],
    x: PlotAxis,
    *,
    title: Title,
    notes: Sequence[str] = (),
    interval: str = "",
    dots: str = "",
    inner: tuple[str, str] = ("bar", ""),
    reach: float = 1.0,
    thick: float = 0.62,
    dotted: bool = False,
) -> Panel:
    """Return a panel of lines, the first one on top, on an axis with zero, all values, and intervals up to `reach`.

    `reach` is the part of the span of all values by which intervals extend it at each end; an axis whose range is given
    keeps it. `interval`, `dots` and `inner` are legend entries, the last one after the style of thinner bars.
    """
    n = len(lines)
    y, value = line_centres(n), np.array([line.value for line in lines])
    within, (lower, upper) = (
        np.array([line.inner for line in lines]),
        np.array([line.ends for line in lines]).T,
    )
    if math.isnan(x.least):
        known = extent([value, within, *(line.dots for line in lines), np.zeros(1)])
        least, most = readable_range(extent([lower, upper]), *known, reach)
        x = replace(x, least=least, most=most if most > least else least + 1.0)
    marks: list[Mark] = [vertical_line(0.0)] if dotted else []
    for style, label in dict.fromkeys((line.style, line.label) for line in lines):
        mine = np.array([(line.style, line.label) == (style, label) for line in lines])
        mine &= np.isfinite(value)
        if dotted:
            marks.append(Points(value[mine], y[mine], style, label))
        else:
            marks.append(bars(y[mine], value[mine], style, label, thick=thick))
    if np.isfinite(within).any():
        some = np.isfinite(within)
        marks.append(bars(y[some], within[some], *inner, thick=0.55 * thick))
    marks += [] if dotted else [vertical_line(0.0)]
    single = np.concatenate([line.dots for line in lines])
    if single.size:
        # Below the whisker, with a small vertical offset so that equal ones do not coincide.
        shift = [thick * (0.27 + 0.08 * (np.arange(len(line.dots)) % 3 - 1)) for line in lines]
        below = np.concatenate([at - by for at, by in zip(y, shift, strict=True)])
        marks.append(Points(single, below, "repeat", dots))
    marks += whiskers(y, lower, upper, interval, 4.0 if n > 8 else 5.3)
    ends = np.fmax(np.fmax(value, np.minimum(upper, x.most)), np.fmax(within, 0.0)).tolist()
    at = tuple(float(i) for i in range(n))
    beside = [(end, line.beside) for end, line in zip(ends, lines, strict=True) if line.beside]
    return Panel(
        replace(x, room=(*x.room, *beside)),
        PlotAxis("", None, -0.5, n - 0.5, 0.0, at, tuple(line.name for line in lines[::-1])),
        tuple(marks),
        title=title,
        notes=tuple(notes),
        texts=tuple(
            Text(end, centre, line.beside, "value", across=1)
            for end, centre, line in zip(ends, y.tolist(), lines, strict=True)
            if line.beside
        ),
        grid="x",
        rows=n,
        tooltips=tuple(
            Tooltip(-np.inf, np.inf, "\n".join(line.tip), c - 0.5, c + 0.5, feature=line.feature)
            for line, c in zip(lines, y.tolist(), strict=True)
        ),
    )


def line_centres(n: int) -> Floats:
    """Return the vertical positions of n lines, from above, shape (n,)."""
    return np.arange(n - 1.0, -1.0, -1.0)


def bars(y: Floats, value: Floats, style: str, label: str = "", *, thick: float) -> Rectangles:
    """Return bars from zero around the centres of lines."""
    ends = np.fmin(value, 0.0), np.fmax(value, 0.0)
    return Rectangles(*ends, y - thick / 2, y + thick / 2, style, label)


def whiskers(
    y: Floats, lower: Floats, upper: Floats, label: str, caps: float = 5.3
) -> Iterator[Segments]:
    """Yield the known intervals of lines as one mark; nothing if no interval is known."""
    known = np.isfinite(lower) & np.isfinite(upper)
    if known.any():
        ends = lower[known], y[known], upper[known], y[known]
        yield Segments(*ends, "whisker", label, caps)


def value_lines(
    what: str,
    value: float,
    unit: str | None,
    interval: str = "",
    ends: tuple[float, float] = (math.nan, math.nan),
) -> list[str]:
    """Return a value and its interval as lines of a tooltip; without an interval that is not known."""
    known = (
        [f"{interval} {number(ends[0])} to {number(ends[1])}"] if np.isfinite(ends).all() else []
    )
    return [f"{what} {number(value)}{in_unit(unit)}", *known]


def in_unit(unit: str | None) -> str:
    """Return a unit as it follows a number."""
    return f" {clean(unit)}" if unit else ""


def first_of(texts: Sequence[str]) -> str:
    """Return the first five texts as an enumeration, and the number of the others: "a 1; b 2; and 7 more"."""
    rest = len(texts) - 5
    more = f"; and {rest:,} more" if rest > 0 else ""
    return f"{'; '.join(texts[:5])}{more}"


# --- histograms ----------------------------------------------------------------------------------


def bin_edges(low: float, high: float, rows: int) -> Floats:
    """Return the edges of a histogram of so many rows, with bins of equal width a little beyond both ends."""
    bins = int(np.clip(np.ceil(2 * rows ** (1 / 3)), *BINS))
    return np.linspace(*padded(low, high, 0.02), bins + 1, dtype=np.float64)


def columns(edges: Floats, height: Floats, style: str, label: str) -> Rectangles:
    """Return the columns of a histogram, without empty ones."""
    some = height > 0
    ends = edges[:-1][some], edges[1:][some], np.zeros(int(some.sum())), height[some]
    return Rectangles(*ends, style, label)


def mean_marks(mean: float, when: str, label: str) -> tuple[Segments, Points]:
    """Return the line of a mean, and the arrow at its upper end; `when` is "before" or "after"."""
    arrow = Points(np.array([mean]), np.array([np.inf]), f"arrow-{when}", label)
    return vertical_line(mean, f"mean-{when}", label), arrow


def bin_tooltips(edges: Floats, texts: Sequence[str]) -> tuple[Tooltip, ...]:
    """Return a tooltip per bin."""
    ends = pairwise(edges.tolist())
    return tuple(Tooltip(a, b, text) for (a, b), text in zip(ends, texts, strict=True))
