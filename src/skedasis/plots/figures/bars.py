"""Parts of charts with a named line per feature, region or move, and of histograms of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from skedasis._numbers import number
from skedasis._types import Floats
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
from skedasis.plots.scales import PlotAxis, padded

BINS = (8, 40)
"""Fewest and most bins of a histogram."""

# --- lines ---------------------------------------------------------------------------------------


def line_centres(n: int) -> Floats:
    """Return the vertical positions of n lines, from above, shape (n,)."""
    return np.arange(n - 1.0, -1.0, -1.0)


def line_panel(
    x: PlotAxis,
    names: Sequence[str],
    marks: Sequence[Mark],
    tips: Sequence[str],
    *,
    title: Title,
    notes: Sequence[str] = (),
    texts: Sequence[Text] = (),
    features: Sequence[str] = (),
) -> Panel:
    """Return a panel of lines with names and tooltips, the first one on top; tooltips may be those of features."""
    n = len(names)
    at = tuple(float(i) for i in range(n))
    return Panel(
        x,
        PlotAxis("", None, -0.5, n - 0.5, 0.0, at, tuple(names[::-1])),
        tuple(marks),
        title=title,
        notes=tuple(notes),
        texts=tuple(texts),
        grid="x",
        rows=n,
        tooltips=tuple(
            Tooltip(-np.inf, np.inf, tip, y - 0.5, y + 0.5, feature=feature)
            for y, tip, feature in zip(
                line_centres(n).tolist(), tips, features or [""] * n, strict=True
            )
        ),
    )


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


def interval_lines(label: str, lower: float, upper: float) -> list[str]:
    """Return an interval as a line of a tooltip; none if it is not known."""
    known = np.isfinite([lower, upper]).all()
    return [f"{label} {number(lower)} to {number(upper)}"] if known else []


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
