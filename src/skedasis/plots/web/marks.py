"""What marks look like: lines, bands, points; steps, violins, dashes and bars. Looks are the style sheet's."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from skedasis._types import Floats
from skedasis.plots.marks import Apart, Band, Bars, Dashes, Line, Panel, Steps
from skedasis.plots.web.frame import Frame
from skedasis.plots.web.legend import Keys, area_key, line_key
from skedasis.plots.web.svg import dashes, joined, path, px, tag, texts, way
from skedasis.plots.web.thin import thinned

_ROUND = "m-{r} 0a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0-{d} 0"
_CORNERS = (
    ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    ((0, 1.2), (1.15, -0.9), (-1.15, -0.9)),
    (
        (-0.4, -1.2),
        (0.4, -1.2),
        (0.4, -0.4),
        (1.2, -0.4),
        (1.2, 0.4),
        (0.4, 0.4),
        (0.4, 1.2),
        (-0.4, 1.2),
        (-0.4, 0.4),
        (-1.2, 0.4),
        (-1.2, -0.4),
        (-0.4, -0.4),
    ),
    ((-1.1, -1.1), (0, -0.5), (1.1, -1.1), (0.5, 0), (1.1, 1.1), (0, 0.5), (-1.1, 1.1), (-0.5, 0)),
    ((-1.2, 0), (0.9, 1.15), (0.9, -1.15)),
)
"""Marks beside the round one: square, triangles, diamond, plus, cross, in shares of their half width."""
BENDS = 60
"""Points from which a band is one of a curve that bends: what straight lines between fewer miss, nobody sees."""
COLUMN = 1.0
"""Pixels: marks nearer to each other than this are drawn over one another."""
SEEN = 20
"""Points on one side of a violin: more of them nobody sees."""


def shape(place: int, half: float) -> str:
    """Return a mark as a path that starts in its middle: eight of them are told apart."""
    if place == 0:
        return _ROUND.format(r=px(half), d=px(2 * half))
    x, y = (half * np.array(side) for side in zip(*_CORNERS[place - 1], strict=True))
    steps = zip(np.diff(x, prepend=0.0).tolist(), np.diff(y, prepend=0.0).tolist(), strict=True)
    way = [f"{px(a)} {px(b)}" for a, b in steps]
    return f"m{way[0]}l{' '.join(way[1:])}z"


def trace(x: Floats, y: Floats) -> str:
    """Return a curve as short as it can be written; what is not finite interrupts it."""
    known = np.isfinite(x) & np.isfinite(y)
    return way(x, y) if known.all() and len(x) else path(x, y)


def points(x: Floats, y: Floats, place: int, half: float, look: str) -> Markup:
    """Return a mark at each point that there is, all of them as one path."""
    there = np.isfinite(x) & np.isfinite(y)
    if "solid" in look.split():
        # Ends of strokes are round: a dot is one without a length, and a tenth of the text of a circle.
        return tag("path", class_=f"dots {look}", d=dashes(x[there], y[there], 0.0))
    form = shape(place, half)
    at = zip(texts(x[there]), texts(y[there]), strict=True)
    return tag("path", class_=f"marks {look}", d="".join(f"M{a} {b}{form}" for a, b in at))


def bars_of(x: Floats, lower: Floats, upper: Floats, look: str) -> Markup:
    """Return upright bars between two values at each point, as one path."""
    there = np.isfinite(lower) & np.isfinite(upper)
    at = zip(texts(x[there]), texts(lower[there]), texts(upper[there]), strict=True)
    return tag("path", class_=look, d="".join(f"M{a} {b}V{c}" for a, b, c in at))


def line(frame: Frame, line: Line, look: str, *, small: bool) -> tuple[Markup, Keys]:
    """Draw a curve; of levels the points, and a thin line where one leads to the next."""
    x, y = frame.x(line.x), frame.y(line.y)
    parts: list[Markup] = []
    key: list[Markup] = []
    if line.joined is not None and len(x) > 1:
        style = f"line {look}{' thin' if line.joined == 'thin' else ''}"
        d = trace(x, y)
        if look == "ink":  # it crosses curves of all colours
            parts.append(tag("path", class_="halo", d=d))
        parts.append(tag("path", class_=style, d=d))
        key.append(line_key(style))
    at = np.arange(len(x)) if line.marked is None else line.marked
    alone = len(x) == 1
    if line.vertices or alone:
        few, levels = len(at) <= 30, line.joined != "line" and len(at) <= 60
        half = (2.2 if small else 3.0) if few or levels else 1.4
        solid = "" if few or levels else " solid"
        parts.append(points(x[at], y[at], 0, half, look + solid))
        key.append(points(np.array([13.0]), np.zeros(1), 0, half, look + solid))
    return joined(parts), {line.label: joined(key)}


def band(frame: Frame, band: Band) -> tuple[Markup, Keys]:
    """Draw the area between two curves; of levels a box at each."""
    look = "err" if band.role == "error" else "het"
    x, lower, upper = frame.x(band.x), frame.y(band.lower), frame.y(band.upper)
    keys = {band.label: area_key(f"band {look}", f"edge {look}")}
    if band.reach is not None:
        return _boxes(frame, band, f"box {look}"), keys
    if len(x) == 1:  # no area above one point: a bar instead
        return bars_of(x, lower, upper, f"bar-{look}"), keys
    if len(x) > BENDS:
        kept = thinned(x, np.stack([lower, upper]), 0.1).any(axis=0)
        x, lower, upper = x[kept], lower[kept], upper[kept]
    area = tag("path", class_=f"band {look}", d=between(x, lower, upper))
    edges = tag("path", class_=f"edge {look}", d=trace(x, lower) + trace(x, upper))
    return area + edges, keys


def between(x: Floats, lower: Floats, upper: Floats) -> str:
    """Return the outline of an area between two curves: one piece for each stretch on which both are known."""
    there = np.isfinite(lower) & np.isfinite(upper) & np.isfinite(x)
    ends = np.flatnonzero(np.diff(np.concatenate([[0], there.astype(int), [0]])))
    parts: list[str] = []
    for first, end in zip(ends[::2], ends[1::2], strict=True):
        around = np.concatenate([np.arange(first, end), np.arange(end - 1, first - 1, -1)])
        y = np.concatenate([upper[first:end], lower[first:end][::-1]])
        parts.append(f"{way(x[around], y)}z")
    return "".join(parts)


def _boxes(frame: Frame, band: Band, look: str) -> Markup:
    there = np.isfinite(band.lower) & np.isfinite(band.upper)
    reach = 0.0 if band.reach is None else band.reach
    x, half = frame.x(band.x[there]), frame.x(reach) - frame.x(0.0)
    x, low, high = fewer(x, frame.y(band.lower[there]), frame.y(band.upper[there]), 2 * float(half))
    half = np.maximum(half, COLUMN / 2) if len(x) < np.count_nonzero(there) else half
    return tag("path", class_=look, d=rectangles(x - half, x + half, low, high))


def fewer(x: Floats, low: Floats, high: Floats, wide: float) -> tuple[Floats, Floats, Floats]:
    """Return upright marks of which those that share a pixel are one, which reaches as far as they do.

    Parameters
    ----------
    x, low, high : ndarray of float, shape (n,)
        In pixels; `low` is the larger one, for they grow downwards. `x` ascends.
    wide : float
        How wide each is: where that can be seen, all are left as they are.
    """
    column = np.floor(x / COLUMN)
    first = np.flatnonzero(np.diff(column, prepend=np.nan) != 0)
    if wide >= COLUMN or len(first) == len(x) or np.any(np.diff(x) < 0):
        return x, low, high
    return (
        (column[first] + 0.5) * COLUMN,
        np.maximum.reduceat(low, first),
        np.minimum.reduceat(high, first),
    )


def rectangles(left: Floats, right: Floats, low: Floats, high: Floats) -> str:
    """Return rectangles as one path."""
    sides = zip(texts(left), texts(right), texts(low), texts(high), strict=True)
    return "".join(f"M{a} {c}V{d}H{b}V{c}z" for a, b, c, d in sides)


def apart(frame: Frame, point: Apart, *, small: bool) -> tuple[Markup, Keys]:
    """Draw a point that lies nowhere on the axis, with its interval."""
    half = 2.6 if small else 3.6
    x = frame.x(np.array([frame.across.beside]))
    lower, upper = frame.y(np.array([[point.lower], [point.upper]]))
    drawn = bars_of(x, lower, upper, "apart")
    key = points(np.array([13.0]), np.zeros(1), 3, half, "average")
    return drawn + points(x, frame.y(np.array([point.y])), 3, half, "average"), {point.label: key}


# ---------------------------------------------------------------------------- one value a bin


def steps(frame: Frame, steps: Steps, *, fine: bool) -> tuple[Markup, Markup, Keys]:
    """Draw whiskers in the bins' middles, and each bin's mean across it; in this order."""
    left, right = frame.x(steps.left), frame.x(steps.right)
    tilt = np.zeros(len(steps.y)) if steps.rise is None else steps.rise / 2
    first, last = frame.y(steps.y - tilt), frame.y(steps.y + tilt)
    there = np.isfinite(steps.y) & np.isfinite(tilt)
    means = _means(left[there], first[there], right[there], last[there])
    whiskers = _whiskers(frame, steps, np.minimum(1.5 if fine else 4.0, 0.35 * (right - left)))
    look = " fine" if fine else ""
    keys = {
        steps.label: line_key("step"),
        steps.whiskers: tag("path", class_="whisker", d="M13-6V6M9-6h8M9 6h8"),
    }
    drawn = tag("path", class_=f"whisker{look}", d=whiskers)
    return drawn, tag("path", class_=f"step{look}", d=means), keys


def _means(left: Floats, first: Floats, right: Floats, last: Floats) -> str:
    """Return strokes across bins, from the first height to the last one."""
    if len(left) and np.array_equal(first, last) and float((right - left).max()) < COLUMN:
        return dashes(left, first, float((right - left).mean()))
    ends = zip(*(texts(v) for v in (left, first, right, last)), strict=True)
    return "".join(f"M{a} {b}H{c}" if b == d else f"M{a} {b}L{c} {d}" for a, b, c, d in ends)


def _whiskers(frame: Frame, steps: Steps, cap: Floats) -> str:
    middle, low, high = frame.x(steps.middle), frame.y(steps.lower), frame.y(steps.upper)
    there = np.isfinite(low) & np.isfinite(high)
    if len(middle) and float(cap.max()) < COLUMN / 4:
        x, low, high = fewer(middle[there], low[there], high[there], 0.0)
        ends = zip(texts(x), texts(low), texts(high), strict=True)
        return "".join(f"M{a} {b}V{c}" for a, b, c in ends)
    at = (texts(v[there]) for v in (middle, middle - cap, 2 * cap, low, high))
    return "".join(
        f"M{m} {a}V{b}M{c} {a}h{w}M{c} {b}h{w}" for m, c, w, a, b in zip(*at, strict=True)
    )


def violins(frame: Frame, panel: Panel) -> tuple[Markup, Keys]:
    """Draw densities of local effects, and single ones where there are too few for a density."""
    parts: list[Markup] = []
    if panel.violins:
        parts.append(tag("path", class_="violin", d="".join(_outlines(frame, panel))))
    if panel.dashes is not None:
        parts.append(tag("path", class_="dash", d=_single(frame, panel.dashes)))
    if not parts or panel.steps is None:
        return Markup(""), {}
    curve = "M13-7C14-4 19-2 19 0C19 2 14 4 13 7C12 4 7 2 7 0C7-2 12-4 13-7z"
    return joined(parts), {panel.steps.bodies: tag("path", class_="violin", d=curve)}


def _single(frame: Frame, single: Dashes) -> str:
    """Return a dash for each local effect; those that lie on one another are one."""
    left, right = frame.x(single.x - single.reach), frame.x(single.x + single.reach)
    y, wide = frame.y(single.y), right - left
    if len(y) and float(wide.max()) < COLUMN:
        at = np.unique(np.floor(np.column_stack([left, y])[np.isfinite(y)] / COLUMN), axis=0)
        return dashes(COLUMN * at[:, 0], COLUMN * (at[:, 1] + 0.5), COLUMN)
    at = zip(texts(left), texts(y), texts(wide), strict=True)
    return "".join(f"M{a} {b}h{w}" for a, b, w in at)


def _outlines(frame: Frame, panel: Panel) -> list[str]:
    """Return the outlines of violins, with as many points as can be seen."""
    y = np.stack([frame.y(v.y) for v in panel.violins])
    scale = frame.width / (frame.across.limits[1] - frame.across.limits[0])
    half = np.stack([scale * v.half_width for v in panel.violins])
    kept = thinned(y, half, 0.15)
    for tolerance in (0.3, 0.6, 1.2):
        many = kept.sum(axis=1) > SEEN
        if not many.any():
            break
        kept[many] = thinned(y[many], half[many], tolerance)
    out: list[str] = []
    for v, at, wide, some in zip(panel.violins, y, half, kept, strict=True):
        middle = float(frame.x(v.middle))
        x = np.concatenate([middle + wide[some], (middle - wide[some])[::-1]])
        out.append(way(x, np.concatenate([at[some], at[some][::-1]])) + "z")
    return out


def bars(frame: Frame, bars: Bars) -> Markup:
    """Draw counts of rows."""
    left, right = frame.x(bars.left), frame.x(bars.right)
    low, high = frame.y(np.zeros(len(bars.height))), frame.y(bars.height)
    middle, low, high = fewer((left + right) / 2, low, high, float((right - left).max(initial=0.0)))
    if len(middle) < len(left):
        left, right = middle - COLUMN / 2, middle + COLUMN / 2
    return tag("path", class_="bar", d=rectangles(left, right, low, high))
