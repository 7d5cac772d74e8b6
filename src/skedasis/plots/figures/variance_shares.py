"""From a `VarianceShares` to a figure: one bar of the parts, and a mark for the main effects as drawn."""

from __future__ import annotations

import math

import numpy as np

from skedasis._arguments import check_probability
from skedasis.plots.figures.importance import LONG
from skedasis.plots.marks import (
    FigureSpec,
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
from skedasis.plots.scales import PlotAxis, counted, shorten
from skedasis.results.variance_shares import VariancePart, VarianceShares, percent

PATTERNS = 5
"""Number of patterns of regions and pairs, which follow each other; neighbours always differ."""

LEAST = -25.0
"""Left end of the axis in percent, if the main effects as drawn explain less: their mark is then at this end."""

THIN = 0.07
"""Segments of smaller shares have room for their percentage only, which may be upright."""

TOP = 1.4
"""Height of the panel in heights of the bar."""


def variance_shares_figure(
    variance_shares: VarianceShares, confidence_level: float = 0.95
) -> FigureSpec:
    """Return the parts of the variance as one bar."""
    level = check_probability("plot(confidence_level)", confidence_level)
    z = _reach(level)
    of = shorten(variance_shares.quantity, LONG)
    end = 0.0
    bars: list[Mark] = []
    texts: list[Text] = []
    tips: list[Tooltip] = []
    whiskers: list[tuple[float, float, float]] = []
    drawn = [p for p in variance_shares.parts if p.share >= 0]
    zero, one = np.zeros(1), np.ones(1)
    for part in drawn:
        left, right = 100 * end, 100 * (end + part.share)
        end += part.share
        label, style = _label(part), _style(part, variance_shares)
        bars.append(Rectangles(np.array([left]), np.array([right]), zero, one, style, label))
        if part.share > 0:
            texts.append(_text(part, left, right))
        tips.append(Tooltip(left, right, _tip(part, z), 0.0, 1.0))
        half = 100 * z * part.std_error
        if math.isfinite(half) and part.kind != "unexplained":
            whiskers.append((right - half, right + half, (0.1, 0.2)[len(whiskers) % 2]))
    low, marks = _mark(variance_shares, z)
    high = max(
        100.0,
        100 * end,
        *(w[1] for w in whiskers),
        *(m.x[0] for m in marks if isinstance(m, Points)),
    )
    if whiskers:
        x0, x1, y = (np.array(v) for v in zip(*whiskers, strict=True))
        interval = f"{100 * level:g} % interval of a part"
        bars.append(Segments(x0, y, x1, y, "whisker", interval, caps=4.0))
    beyond = (vertical_line(100.0),) if end > 1.0005 else ()
    zero_line = (vertical_line(0.0),) if low < 0 else ()
    notes = _notes(variance_shares)
    panel = Panel(
        PlotAxis(f"part of the variance of {of}", "%", min(low, 0.0), high, 0.0),
        PlotAxis("", None, 0.0, TOP if marks else 1.0, 0.0, hidden=True),
        (*bars, *beyond, *zero_line, *marks),
        58.0 if marks else 42.0,
        Title(f"What explains the variance of {of}"),
        notes=(counted(variance_shares.rows_held_out, "held-out row"),),
        texts=tuple(texts),
        grid="",
        tooltips=tuple(tips),
    )
    said = "; ".join(_label(p) for p in variance_shares.parts)
    alt = [f"Parts of the variance of {of} at held-out rows: {said}."]
    if not math.isnan(variance_shares.as_drawn):
        alt.append(f"Main effects as drawn: {percent(variance_shares.as_drawn)}.")
    alt += [f"{n[:1].upper()}{n[1:]}." for n in notes]
    return FigureSpec(((panel,),), str(panel.title), " ".join(alt), notes=notes)


def _reach(level: float) -> float:
    """Return how many standard errors an interval reaches to each side."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2))


def _style(part: VariancePart, variance_shares: VarianceShares) -> str:
    if part.kind == "main":
        return "part0"
    if part.kind == "unexplained":
        return "part-rest"
    return f"part{1 + (variance_shares.parts.index(part) - 1) % PATTERNS}"


def _label(part: VariancePart) -> str:
    """Return a part's name with its share and standard error."""
    text = f"{shorten(part.title, LONG)} {percent(part.share)}"
    if not math.isfinite(part.std_error):
        return text
    return f"{text} (± {percent(part.std_error)})"


def _text(part: VariancePart, left: float, right: float) -> Text:
    """Return the name and the percentage in a segment, or what there is room for."""
    share, room = percent(part.share), (left, right, -np.inf, np.inf)
    if part.share < THIN:  # upright texts have one line
        return Text((left + right) / 2, 0.62, (share,), "value", room, upright=True)
    named = tuple(f"{shorten(part.title, size)}\n{share}" for size in (LONG, 12))
    return Text((left + right) / 2, 0.62, (*named, share), "value", room)


def _tip(part: VariancePart, z: float) -> str:
    """Return the tooltip of a part."""
    lines = [shorten(part.title, LONG), f"share {percent(part.share)}"]
    if math.isfinite(part.std_error):
        a, b = (percent(part.share + s * z * part.std_error) for s in (-1, 1))
        lines[-1] += f" ({a} to {b})"
    if part.kind != "unexplained":
        lines.append(f"R² with all parts before {percent(part.r2)}")
        if not math.isnan(part.label_r2):
            lines.append(f"R² for the label {percent(part.label_r2)}")
    elif not math.isnan(part.label_r2):
        lines.append(f"R² of the quantity for the label {percent(part.label_r2)}")
    return "\n".join(lines)


def _mark(variance_shares: VarianceShares, z: float) -> tuple[float, tuple[Mark, ...]]:
    """Return the left end of the axis, and the mark of the main effects as drawn with its interval."""
    if math.isnan(variance_shares.as_drawn):
        return 0.0, ()
    at = 100 * variance_shares.as_drawn
    shown = float(np.clip(at, LEAST, 110.0))
    label = f"main effects as drawn ({shorten(variance_shares.drawn_by, 20)}) {percent(variance_shares.as_drawn)}"
    y = np.array([1.2])
    points = Points(np.array([shown]), y, "part-mark", label)
    half = 100 * z * variance_shares.as_drawn_std_error
    low = min(0.0, 1.2 * shown)
    if not math.isfinite(half) or shown != at:
        return low, (points,)
    ends = np.array([max(at - half, LEAST)]), np.array([at + half])
    return min(low, float(ends[0][0])), (
        Segments(ends[0], y, ends[1], y, "whisker", caps=4.0),
        points,
    )


def _notes(variance_shares: VarianceShares) -> tuple[str, ...]:
    """Return notes on what is not drawn, and on labels."""
    notes = [
        f"{shorten(p.title, LONG)} is {percent(p.share)} (± {percent(p.std_error)}) and not drawn: at the held-out "
        "rows it explains nothing"
        for p in variance_shares.parts
        if p.share < 0
    ]
    if variance_shares.as_drawn < LEAST / 100:
        notes.append(
            "main effects as drawn explain less than nothing, because features depend on one another or interact; "
            "their mark is at the left end"
        )
    if variance_shares.has_labels:
        label = percent(variance_shares.parts[-1].label_r2)
        notes.append(
            f"{shorten(variance_shares.quantity, LONG)} itself explains {label} of the variance of the label"
        )
    return tuple(notes)
