"""Figures of surfaces as SVG: heat map, contours, cells without rows, marginal histograms and tooltips."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from skedasis._types import Floats
from skedasis.plots.figures.surface import (
    Cell,
    Crossing,
    HeatmapSpec,
    SurfacePlotOptions,
    bars_of,
    cells,
    heat,
    isolines,
    numbered,
    simplify_line,
)
from skedasis.plots.scales import SMALL, Axis, number, shorten, width_of
from skedasis.plots.svg.elements import Drawing, px, sheet, tag, way
from skedasis.plots.svg.frame import Frame, Keys, above, below, beside, legend, line_key, overhang
from skedasis.plots.svg.marks import Defs, heat_shades, patches
from skedasis.plots.svg.panels import contour_class, headed, scale_bar
from skedasis.results.surface import Surface

WIDTH = 480.0


MARGIN = 28.0
"""Height of the marginal histograms in pixels."""


LINE, MARKED = 26.0, 36.0
"""Height of the band of a level or value in pixels, without and with numbers in it."""


SEEN = SurfacePlotOptions(points=False, density=True)
"""Default options: no single rows, but marginal histograms."""


def surface(
    surface: Surface,
    *,
    ident: str,
    title: str = "",
    alt: str = "",
    sight: SurfacePlotOptions | None = None,
) -> Drawing:
    """Draw a surface as a heat map with contours.

    Parameters
    ----------
    surface : Surface
    ident : str
        Unique on the page.
    title, alt : str
        By default the names of the features and a description of the figure.
    sight : SurfacePlotOptions, optional
        Options; by default the surface with contours and marginal histograms, without single rows.

    Returns
    -------
    Drawing
        The tooltip of each cell, or pair of levels, states its value and its number of rows.

    Raises
    ------
    DataError, UnsupportedError
        As `skedasis.plots.mpl.surface.draw_surface`.

    Notes
    -----
    The colour scale of an interaction effect diverges from zero. Contours below zero are dashed, and a plus and a minus
    sign mark the maximum and the minimum, so that the sign is visible without colours. Costs no model rows.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> s = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=5))
    >>> surface(s, ident="pair").title
    'x0 × x1'
    """
    shown = heat(surface, SEEN if sight is None else sight)
    head, y = headed(shown.title, shown.notes, WIDTH)
    frame = _frame(shown, y)
    defs = Defs(ident)
    drawn, entries = _map(shown, frame, defs)
    pointed = [_hit(frame, cell) for cell in cells(surface, shown)]
    parts = [
        defs.written(),
        head,
        _margins(shown, frame),
        frame.panel(*drawn, frame.axes(), *pointed),
    ]
    y = frame.bottom + below(shown.x.axis, frame.width) + 4
    levels = shown.levels or tuple(sorted({c.level for c in shown.crossings}))
    bar, y = scale_bar(shown.scale, _scale(shown), levels, frame.left, frame.width, y)
    keys, high = legend(entries, 2.0, y, WIDTH - 4)
    return sheet(
        [*parts, bar, keys],
        (WIDTH, y + high + 2),
        ident=ident,
        title=title or " \N{MULTIPLICATION SIGN} ".join(shorten(n, 60) for n in surface.features),
        alt=alt or _alt_text(shown),
    )


def _scale(shown: HeatmapSpec) -> str:
    """Return the first letter of the CSS classes of the colours."""
    return "t" if shown.diverging else "s"


def _frame(shown: HeatmapSpec, top: float) -> Frame:
    """Return the rectangle of the map."""
    x, y = shown.x.axis, shown.y.axis
    rows, margin = len(shown.y.at), 0.0 if shown.margins is None else MARGIN
    high = 300.0
    if shown.y.discrete:
        tall = MARKED if shown.crossings or (shown.tiles and rows <= 12) else LINE
        high = float(np.clip(tall * rows, 72, 440))
    right = max(margin, 10.0)
    left = min(max(beside(y, high), overhang(x, 0.8 * WIDTH)), 0.45 * WIDTH)
    top += above(y, WIDTH) + margin
    return Frame(x, y, left, top, WIDTH - left - right, high, lift=margin)


def _map(shown: HeatmapSpec, frame: Frame, defs: Defs) -> tuple[list[Markup], Keys]:
    """Return the content of the map from back to front, and its legend."""
    x, y = frame.x(shown.x.edges), frame.y(shown.y.edges)
    steps = heat_shades(shown.value, shown.scale.limits)
    parts = [patches(x, y, steps, _scale(shown)), _between(shown, frame)]
    entries: Keys = {}
    for where, kind, said in (
        (shown.holes, "few", "no rows"),
        (shown.unclear, "unclear", "interval contains zero"),
    ):
        if len(where):
            look = {"class_": "hatched", "fill": defs.pattern(kind)}
            box = {"x": 1.0, "y": -6.0, "width": 24.0, "height": 12.0}
            d, key = _rectangles(frame, where), tag("rect", **box, **look)
            if kind == "few":  # cells without rows have a separate background
                parts.append(tag("path", d=d, class_="rowless"))
                key = tag("rect", **box, class_="rowless") + key
            parts.append(tag("path", d=d, **look))
            entries[said] = key
    places = _extremes(shown, frame)
    lines = _contours(shown, frame, places) + _crossings(shown, frame)
    parts += lines
    if lines:
        entries |= _key(shown)
    if len(shown.dots):
        at = zip(
            frame.x(shown.dots[:, 0]).tolist(), frame.y(shown.dots[:, 1]).tolist(), strict=True
        )
        parts.append(tag("path", class_="rows", d="".join(f"M{px(a)} {px(b)}h0" for a, b in at)))
        entries[shown.dots_label] = tag("path", class_="rows", d="M13 0h0")
    for tile in shown.tiles:
        parts.append(_tile_text(tile.text.split("\n"), frame, (tile.x, tile.y)))
    if places:
        parts += [
            tag("text", text, class_="sign middle haloed", x=x, y=y + 5) for text, x, y in places
        ]
        mark = tag("text", "+\N{MINUS SIGN}", class_="sign middle", x=13.0, y=5.0)
        entries["maximum and minimum"] = mark
    if shown.margins is not None:
        entries["rows along each axis"] = tag(
            "path", class_="margin", d="M4 6V0h6V6zM10 6V-6h6V6zM16 6V-2h6V6z"
        )
    return parts, entries


def _between(shown: HeatmapSpec, frame: Frame) -> Markup:
    """Return lines between the bands of levels or single values."""
    d = ""
    if shown.y.discrete:
        at = frame.y(shown.y.edges[1:-1]).tolist()
        d += "".join(f"M{px(frame.left)} {px(v)}H{px(frame.right)}" for v in at)
    if shown.x.discrete:
        at = frame.x(shown.x.edges[1:-1]).tolist()
        d += "".join(f"M{px(v)} {px(frame.top)}V{px(frame.bottom)}" for v in at)
    return tag("path", class_="between", d=d) if d else Markup()


def _rectangles(frame: Frame, places: Floats) -> str:
    """Return rectangles (left, right, lower, upper ends on the axes) as one path."""
    left, right = frame.x(places[:, 0]), frame.x(places[:, 1])
    lower, upper = frame.y(places[:, 2]), frame.y(places[:, 3])
    ends = zip(left.tolist(), right.tolist(), lower.tolist(), upper.tolist(), strict=True)
    return "".join(f"M{px(a)} {px(d)}H{px(b)}V{px(c)}H{px(a)}z" for a, b, c, d in ends)


def _contours(
    shown: HeatmapSpec, frame: Frame, signs: Sequence[tuple[str, float, float]]
) -> list[Markup]:
    """Return contours, dashed below zero, with numbers that avoid the plus and minus signs."""
    x, y = frame.x(shown.x.centres), frame.y(shown.y.centres)
    texts = shown.scale.scale.texts(shown.levels) if shown.levels else []
    room = (frame.left, frame.top, frame.right, frame.bottom)
    lines: list[Markup] = []
    numbers: list[Markup] = []
    taken: list[Floats] = [np.array([x, y]) for _, x, y in signs]
    for level, text in zip(shown.levels, texts, strict=True):
        found = [simplify_line(line, 0.15) for line in isolines(x, y, shown.value, level)]
        if not found:
            continue
        d = "".join(way(*line.T) for line in found)
        lines.append(tag("path", class_=contour_class(level), d=d))
        longest = sorted(found, key=lambda line: -float(np.hypot(*np.diff(line, axis=0).T).sum()))
        for line in longest[:2]:
            at = numbered(line, width_of(text), room, taken)
            if at is not None:
                turn = f"rotate({px(at.turn)} {px(at.x)} {px(at.y)})"
                look = {"x": at.x, "y": at.y + 0.35 * SMALL, "transform": turn}
                numbers.append(tag("text", text, class_="middle haloed", **look))
    return [*lines, tag("g", *numbers, class_="ticks")] if lines else []


def _crossings(shown: HeatmapSpec, frame: Frame) -> list[Markup]:
    """Return lines across bands where they take round values: the contours of bands."""
    if not shown.crossings:
        return []
    levels = sorted({c.level for c in shown.crossings})
    texts = dict(zip(levels, shown.scale.scale.texts(levels), strict=True))
    parts: list[Markup] = []
    half = frame.height / len(shown.y.at) / 2
    for level in levels:
        mine = [c for c in shown.crossings if c.level == level]
        ends = [(float(frame.x(c.x)), float(frame.y(c.band))) for c in mine]
        d = "".join(f"M{px(a)} {px(b - half)}v{px(2 * half)}" for a, b in ends)
        parts.append(tag("path", class_=contour_class(level), d=d))
    written = _non_touching(shown, frame, texts)
    numbers = [
        tag(
            "text",
            texts[c.level],
            class_="middle haloed",
            x=float(frame.x(c.x)),
            y=float(frame.y(c.band)) + 0.35 * SMALL,
        )
        for c in written
    ]
    return [*parts, tag("g", *numbers, class_="ticks")]


def _non_touching(shown: HeatmapSpec, frame: Frame, texts: Mapping[float, str]) -> list[Crossing]:
    """Return the crossings whose numbers do not touch the previous one in the same band."""
    last: dict[int, float] = {}
    written: list[Crossing] = []
    for c in shown.crossings:
        x, half = float(frame.x(c.x)), width_of(texts[c.level]) / 2 + 2
        if c.labelled and x - half > last.get(c.band, frame.left):
            written.append(c)
            last[c.band] = x + half
    return written


def _key(shown: HeatmapSpec) -> Keys:
    levels = shown.levels or [c.level for c in shown.crossings]
    entries: Keys = {}
    if any(v >= 0 for v in levels):
        said = "contour (≥ 0)" if shown.diverging else "contour"
        entries[said] = line_key("contour")
    if any(v < 0 for v in levels):
        entries["contour (< 0)"] = line_key("contour", "less")
    return entries


def _extremes(shown: HeatmapSpec, frame: Frame) -> list[tuple[str, float, float]]:
    """Return plus and minus signs at the maximum and minimum of an interaction effect; none if tiles have numbers."""
    known = np.isfinite(shown.value)
    if not shown.diverging or shown.tiles or shown.crossings or not known.any():
        return []
    found: list[tuple[str, float, float]] = []
    least = 0.02 * shown.scale.limits[1]
    for sign, text in ((1, "+"), (-1, "\N{MINUS SIGN}")):
        signed = np.where(known, sign * shown.value, -np.inf)
        i, j = np.unravel_index(int(np.argmax(signed)), signed.shape)
        if signed[i, j] > least:
            x = float(np.clip(frame.x(shown.x.centres[j]), frame.left + 8, frame.right - 8))
            y = float(np.clip(frame.y(shown.y.centres[i]), frame.top + 9, frame.bottom - 9))
            found.append((text, x, y))
    return found


def _tile_text(lines: list[str], frame: Frame, at: tuple[float, float]) -> Markup:
    """Return the text in the centre of a patch."""
    x, y = float(frame.x(at[0])), float(frame.y(at[1]))
    first = y + 0.35 * SMALL - (len(lines) - 1) * 0.6 * SMALL
    texts = [
        tag("text", line, x=x, y=first + 1.2 * SMALL * k, class_="rows-there" if k else None)
        for k, line in enumerate(lines)
    ]
    return tag("g", *texts, class_="ticks middle haloed")


def _margins(shown: HeatmapSpec, frame: Frame) -> Markup:
    """Return the marginal histograms above the map and on its right."""
    if shown.margins is None:
        return Markup()
    across, up = shown.margins
    x, y = frame.x(bars_of(shown.x)), frame.y(bars_of(shown.y))
    most = MARGIN - 5
    high = most * across / max(float(across.max(initial=0.0)), 1e-300)
    wide = most * up / max(float(up.max(initial=0.0)), 1e-300)
    foot, wall = frame.top - 2, frame.right + 2
    d = "".join(
        f"M{px(a)} {px(foot)}v{px(-h)}h{px(b - a)}v{px(h)}z"
        for a, b, h in zip(x[:-1].tolist(), x[1:].tolist(), high.tolist(), strict=True)
        if h > 0
    )
    d += "".join(
        f"M{px(wall)} {px(a)}h{px(w)}V{px(b)}h{px(-w)}z"
        for a, b, w in zip(y[:-1].tolist(), y[1:].tolist(), wide.tolist(), strict=True)
        if w > 0
    )
    return tag("path", class_="margin", d=d)


def _hit(frame: Frame, cell: Cell) -> Markup:
    """Return the transparent rectangle with the tooltip of a cell."""
    (a, b), (c, d) = (
        frame.x(np.array([cell.left, cell.right])),
        frame.y(np.array([cell.upper, cell.lower])),
    )
    look = {"x": float(a), "y": float(c), "width": float(b - a), "height": float(d - c)}
    return tag("rect", class_="hit", data_tip=cell.tip, **look)


def _alt_text(shown: HeatmapSpec) -> str:
    """Return the alternative text."""
    scale, axes = shown.scale, (shown.x.axis, shown.y.axis)
    across, up = (shorten(axis.name, 60) for axis in axes)
    first = f"Heat map of the {scale.label}: {across} on the horizontal axis, {up} on the vertical axis."
    if not np.isfinite(shown.value).any():
        return f"{first} It has no values."
    parts = [first]
    for what, find in (("Maximum", np.nanargmax), ("Minimum", np.nanargmin)):
        i, j = np.unravel_index(int(find(shown.value)), shown.value.shape)
        value = float(shown.value[i, j])
        at = _place(axes[0], float(shown.x.centres[j])), _place(axes[1], float(shown.y.centres[i]))
        parts.append(f"{what} {number(value)} at {across} = {at[0]}, {up} = {at[1]}.")
    return f"{' '.join(parts)} {'; '.join(shown.notes)}."


def _place(axis: Axis, value: float) -> str:
    """Return a position on an axis as text, with as many digits as the range of the axis needs."""
    if axis.labels:
        return axis.labels[int(np.argmin(np.abs(np.array(axis.ticks) - value)))]
    span = axis.limits[1] - axis.limits[0]
    if axis.time is not None:
        return axis.time.text(value, span / 100)
    decimals = max(0, 2 - math.floor(math.log10(span)))
    return (
        number(value, 6)
        if decimals > 9
        else f"{value:,.{decimals}f}".replace("-", "\N{MINUS SIGN}")
    )
