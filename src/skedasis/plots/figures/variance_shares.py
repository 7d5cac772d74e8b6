"""From a `VarianceShares` to a figure: one bar of the parts, and a mark for the curves shown."""

from __future__ import annotations

import itertools
import math

import numpy as np

from skedasis._arguments import check_probability
from skedasis._numbers import counted, percent
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
from skedasis.plots.scales import PlotAxis, shorten
from skedasis.results.variance_shares import (
    GROUPS,
    VariancePart,
    VarianceShares,
    curves_text,
    full_model_text,
)

PATTERNS = 5
"""Number of patterns of regions and pairs, which follow each other; neighbours always differ."""

LEAST = -25.0
"""Left end of the axis in percent, if the curves shown explain less: their mark is then at this end."""

THIN = 0.07
"""Segments of smaller shares have room for their percentage only, which may be upright."""

TOP = 1.4
"""Height of the panel in heights of the bar."""


def variance_shares_figure(
    variance_shares: VarianceShares, confidence_level: float = 0.95
) -> FigureSpec:
    """Return the parts of the variance as one bar."""
    level = check_probability("plot(confidence_level)", confidence_level)
    z, of = _reach(level), shorten(variance_shares.quantity, LONG)
    drawn = [p for p in variance_shares.parts if p.share >= 0]
    ends = 100 * np.cumsum([0.0, *(p.share for p in drawn)])
    pairs = list(itertools.pairwise(ends.tolist()))
    marks: list[Mark] = [
        Rectangles(
            ends[k : k + 1],
            ends[k + 1 : k + 2],
            np.zeros(1),
            np.ones(1),
            _style(part, variance_shares),
            _label(part),
        )
        for k, part in enumerate(drawn)
    ]
    half = 100 * z * np.array([_error(part) for part in drawn])
    known = np.isfinite(half)
    left, right = (ends[1:] - half)[known], (ends[1:] + half)[known]
    if known.any():
        # Neighbouring intervals are at two heights.
        y = np.where(np.arange(len(left)) % 2, 0.2, 0.1)
        interval = f"{100 * level:g} % interval of a part"
        marks.append(Segments(left, y, right, y, "whisker", interval, caps=4.0))
    low, as_drawn = _mark(variance_shares, z)
    shown = [float(m.x[0]) for m in as_drawn if isinstance(m, Points)]
    high = max([100.0, float(ends[-1]), *right.tolist(), *shown])
    beyond = (vertical_line(100.0),) if ends[-1] > 100.05 else ()
    zero_line = (vertical_line(0.0),) if low < 0 else ()
    notes = _notes(variance_shares)
    panel = Panel(
        PlotAxis(f"part of the variance of {of}", "%", min(low, 0.0), high, 0.0),
        PlotAxis("", None, 0.0, TOP if as_drawn else 1.0, 0.0, hidden=True),
        (*marks, *beyond, *zero_line, *as_drawn),
        58.0 if as_drawn else 42.0,
        Title(f"What explains the variance of {of}"),
        notes=(counted(variance_shares.rows_held_out, "held-out row"),),
        texts=tuple(_text(p, a, b) for p, (a, b) in zip(drawn, pairs, strict=True) if p.share > 0),
        grid="",
        tooltips=tuple(
            Tooltip(a, b, _tip(p, z), 0.0, 1.0) for p, (a, b) in zip(drawn, pairs, strict=True)
        ),
    )
    said = "; ".join(_label(p) for p in variance_shares.parts)
    alt = [f"Parts of the variance of {of} at held-out rows: {said}."]
    if not math.isnan(variance_shares.as_drawn):
        alt.append(f"{curves_text(variance_shares)}.")
    alt += [f"{n[:1].upper()}{n[1:]}." for n in notes]
    return FigureSpec(((panel,),), str(panel.title), " ".join(alt), notes=notes)


def _reach(level: float) -> float:
    """Return how many standard errors an interval reaches to each side."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2))


def _error(part: VariancePart) -> float:
    """Return the standard error of a part that has an interval; NaN for others."""
    return math.nan if part.kind == "unexplained" else part.std_error


def _style(part: VariancePart, variance_shares: VarianceShares) -> str:
    if part.kind == "main":
        return "part0"
    if part.kind == "unexplained":
        return "part-rest"
    return f"part{1 + (variance_shares.parts.index(part) - 1) % PATTERNS}"


def _name(part: VariancePart, most: int = LONG) -> str:
    """Return what a part consists of, in at most so many characters."""
    groups = GROUPS if most == LONG else "groups:"
    room = max(most, len(groups) + 6)
    return (
        part.title if part.kind == "main" else shorten(part.title.replace(GROUPS, groups, 1), room)
    )


def _label(part: VariancePart) -> str:
    """Return a part's name with its share and standard error."""
    return f"{_name(part)} {percent(part.share, part.std_error)}"


def _text(part: VariancePart, left: float, right: float) -> Text:
    """Return the name and the percentage in a segment, or what there is room for."""
    share, room = percent(part.share), (left, right, -np.inf, np.inf)
    if part.share < THIN:  # upright texts have one line
        return Text((left + right) / 2, 0.62, (share,), "value", room, upright=True)
    named = tuple(f"{_name(part, size)}\n{share}" for size in (LONG, 12))
    return Text((left + right) / 2, 0.62, (*named, share), "value", room)


def _tip(part: VariancePart, z: float) -> str:
    """Return the tooltip of a part."""
    lines = [_name(part), f"share {percent(part.share)}"]
    if math.isfinite(part.std_error):
        a, b = (percent(part.share + s * z * part.std_error) for s in (-1, 1))
        lines[-1] += f" ({a} to {b})"
    if part.kind != "unexplained":
        lines.append(f"R² with all parts before {percent(part.r2)}")
        if not math.isnan(part.label_r2):
            lines.append(f"R² for the label {percent(part.label_r2)}")
    elif not math.isnan(part.label_r2):
        lines.append(f"full model: R² for the label {percent(part.label_r2)}")
    return "\n".join(lines)


def _mark(variance_shares: VarianceShares, z: float) -> tuple[float, tuple[Mark, ...]]:
    """Return the left end of the axis, and the mark of the curves shown with its interval."""
    if math.isnan(variance_shares.as_drawn):
        return 0.0, ()
    at = 100 * variance_shares.as_drawn
    shown = float(np.clip(at, LEAST, 110.0))
    explained = percent(variance_shares.as_drawn) if at > 0 else "explain nothing"
    label = f"the curves shown ({shorten(variance_shares.drawn_by, 20)}) {explained}"
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
        f"{_name(p)}: nothing at the held-out rows ({percent(p.share, p.std_error)})"
        for p in variance_shares.parts
        if p.share < 0
    ]
    if variance_shares.as_drawn < LEAST / 100:
        notes.append(
            "the mark of the curves shown is at the left end: added up, they are further off than the mean"
        )
    if variance_shares.has_labels:
        notes.append(full_model_text(variance_shares))
    return tuple(notes)
