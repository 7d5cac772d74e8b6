"""Frame of a panel in SVG: coordinates in pixels, grid, ticks, labels and legends.

Usage::

    frame = Frame(panel.x, panel.y, left=44, top=40, width=420, height=220)
    room = beside(panel.y, 220)  # width in pixels of the tick labels on the left of the frame
    room = below(panel.x, 420)  # height of ticks, tick labels and the axis label below it
    room = above(panel.y, 460)  # height of the label of the vertical axis, which is above it
    frame.x(values), frame.y(values)  # coordinates in pixels
    svg = frame.panel(  # the group with data-x and data-y
        frame.ground(zero=panel.zero),  # grid, line at zero, background of missing values
        ...,  # marks
        frame.axes(),  # axis lines, ticks, tick labels, axis labels
    )

The label of the vertical axis is above the axis and horizontal: it is easier to read, and takes no width on phones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from skedasis._types import Floats
from skedasis.data import times
from skedasis.plots.scales import LEADING, SIZE, SMALL, Axis, fitting, lines_of, width_of
from skedasis.plots.svg.elements import joined, px, tag

# --- frames --------------------------------------------------------------------------------------

TICK, GAP = 4.0, 3.0
"""Length of a tick, and the gap between it and its label, in pixels."""


_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


_BETWEEN = 12.0
"""Smallest gap between two tick labels, in pixels."""


_SLANT = {0: 0.0, 40: math.radians(40), 90: math.radians(90)}


@dataclass(frozen=True)
class Ticks:
    """Positions and labels of ticks.

    Parameters
    ----------
    at : tuple of float
    texts : tuple of str
    named : bool
        Whether the labels are names of levels.
    """

    at: tuple[float, ...]
    texts: tuple[str, ...]
    named: bool = False


@dataclass(frozen=True)
class Frame:
    """A rectangle in pixels with a horizontal and a vertical axis.

    Parameters
    ----------
    across, up : Axis
    left, top, width, height : float
        The rectangle, in pixels; y grows downwards.
    edge : float
        Left end of the label above the frame.
    dense : bool
        Whether to use few ticks.
    lift : float
        Additional distance of the label above the frame, in pixels, for content between them.
    """

    across: Axis
    up: Axis
    left: float
    top: float
    width: float
    height: float
    edge: float = 2.0
    dense: bool = False
    lift: float = 0.0

    @property
    def right(self) -> float:
        """Return the right end in pixels."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Return the lower end in pixels."""
        return self.top + self.height

    def x(self, values: Floats | float) -> Floats:
        """Return horizontal coordinates of values, in pixels."""
        return self.left + self.width * _share(values, self.across)

    def y(self, values: Floats | float) -> Floats:
        """Return vertical coordinates of values, in pixels."""
        return self.bottom - self.height * _share(values, self.up)

    def panel(self, *children: object, **attributes: object) -> Markup:
        """Return the group of the panel, with attributes from which the script converts pixels to values."""
        x0, x1 = self.across.limits
        y0, y1 = self.up.limits
        return tag(
            "g",
            *children,
            class_="panel",
            data_x=f"{px(self.left)} {px(self.right)} {x0!r} {x1!r}",
            data_y=f"{px(self.bottom)} {px(self.top)} {y0!r} {y1!r}",
            data_clock=None if self.across.time is None else self.across.time.clock,
            **attributes,
        )

    def clip(self, ident: str) -> Markup:
        """Return the clip path of the frame, to be referenced as ``url(#ident)``."""
        inside = tag("rect", x=self.left, y=self.top, width=self.width, height=self.height)
        return tag("clipPath", inside, id=ident)

    def ground(self, *, zero: bool = False) -> Markup:
        """Return the background: grid lines, line at zero, and the area of missing values."""
        parts: list[Markup] = []
        if self.across.missing_label:
            a, b = (float(v) for v in self.x(np.array(self.across.gap)))
            look = {"y": self.top, "width": b - a, "height": self.height}
            parts.append(tag("rect", class_="aside", x=a, **look))
        if not self.up.labels:
            at = self.y(np.array(self.beside.at))
            d = "".join(f"M{px(self.left)} {px(v)}H{px(self.right)}" for v in at)
            parts.append(tag("path", class_="grid", d=d))
        if zero:
            parts.append(self.zero())
        return joined(parts)

    def zero(self) -> Markup:
        """Return the line at zero; nothing if zero is not on the axis."""
        low, high = self.up.limits
        if not low <= 0 <= high:
            return Markup("")
        d = f"M{px(self.left)} {px(float(self.y(0.0)))}H{px(self.right)}"
        return tag("path", class_="zero", d=d)

    @property
    def beside(self) -> Ticks:
        """Return the ticks of the vertical axis."""
        return upright_ticks(self.up, self.height, dense=self.dense)

    @property
    def under(self) -> Ticks:
        """Return the ticks of the horizontal axis."""
        return level_ticks(self.across, self.width, dense=self.dense)

    def axes(self, *, below: bool = True, names: bool = True) -> Markup:
        """Return the lines of both axes with ticks and labels.

        Parameters
        ----------
        below : bool
            Whether to write tick labels below the frame.
        names : bool
            Whether to write the axis labels.
        """
        under, side = self.under, self.beside
        at_x, at_y = self.x(np.array(under.at)), self.y(np.array(side.at))
        d = f"M{px(self.left)} {px(self.top)}V{px(self.bottom)}H{px(self.right)}"
        d += "".join(f"M{px(v)} {px(self.bottom)}v{px(TICK)}" for v in at_x)
        d += "".join(f"M{px(self.left)} {px(v)}h{px(-TICK)}" for v in at_y)
        at = self.left - TICK - GAP
        texts = [
            tag("text", t, x=at, y=float(v) + 0.35 * SMALL)
            for t, v in zip(side.texts, at_y, strict=True)
        ]
        parts = [tag("path", class_="axis", d=d), tag("g", *texts, class_="ticks end")]
        if names:
            parts.append(self._above())
        if below:
            parts.append(self._below(under, at_x))
            if names:
                parts.append(self._name_below())
        return joined(parts)

    def _below(self, ticks: Ticks, at: Floats) -> Markup:
        """Return the tick labels of the horizontal axis."""
        turn = self.across.turn if ticks.named else 0
        # Labels rotated by 90° begin at the end of the tick; those rotated by 40° hang from their upper right corner.
        y = self.bottom + TICK + GAP + (0.0 if turn == 90 else 0.5 * SMALL)
        level: list[Markup] = []
        turned: list[Markup] = []
        for place, (text, v) in enumerate(zip(ticks.texts, at.tolist(), strict=True)):
            # The label of missing values is one short word and never rotated.
            if turn and place < len(self.across.ticks):
                x = v + (0.35 * SMALL if turn == 90 else 0.0)
                way = f"rotate(-{turn} {px(x)} {px(y)})"
                turned.append(tag("text", text, x=x, y=y, transform=way))
            elif text:
                flat = self.bottom + TICK + GAP + 0.8 * SMALL
                level.append(tag("text", text, x=v, y=flat))
        under = tag("g", *level, class_="ticks middle") if level else Markup("")
        return under + (tag("g", *turned, class_="ticks end") if turned else Markup(""))

    def _name_below(self) -> Markup:
        y = self.bottom + _deep(self.across, self.under) + 0.95 * SIZE
        lines = lines_of(self.across.label, self.width, SIZE, 2)
        middle = self.left + self.width / 2
        texts = [
            tag("text", line, x=middle, y=y + i * LEADING * SIZE) for i, line in enumerate(lines)
        ]
        return tag("g", *texts, class_="label middle")

    def _above(self) -> Markup:
        lines = lines_of(self.up.label, self.right - self.edge, SIZE, 2)
        last = self.top - self.lift - 7
        texts = [
            tag("text", line, x=self.edge, y=last - (len(lines) - 1 - i) * LEADING * SIZE)
            for i, line in enumerate(lines)
        ]
        return tag("g", *texts, class_="label")


def beside(axis: Axis, height: float, *, dense: bool = False) -> float:
    """Return the width in pixels of ticks and tick labels on the left of a frame."""
    texts = upright_ticks(axis, height, dense=dense).texts
    return max((width_of(t) for t in texts), default=0.0) + TICK + GAP + 2


def overhang(axis: Axis, width: float) -> float:
    """Return how far rotated names of levels extend to the left of a frame, in pixels."""
    if axis.turn != 40 or not axis.labels:
        return 0.0
    low, high = axis.limits
    places = [width * (t - low) / (high - low) for t in axis.ticks]
    reach = [
        math.cos(_SLANT[40]) * width_of(t) - at for t, at in zip(axis.labels, places, strict=True)
    ]
    return max(0.0, *reach) + 4


def below(axis: Axis, width: float, *, names: bool = True, dense: bool = False) -> float:
    """Return the height in pixels of ticks, tick labels and the axis label below a frame."""
    deep = _deep(axis, level_ticks(axis, width, dense=dense))
    lines = len(lines_of(axis.label, width, SIZE, 2)) if names else 0
    return deep + lines * LEADING * SIZE + 3


def above(axis: Axis, width: float) -> float:
    """Return the height in pixels of the label above a vertical axis; `width` is measured from the figure's edge."""
    return len(lines_of(axis.label, width, SIZE, 2)) * LEADING * SIZE + 9


def _deep(axis: Axis, ticks: Ticks) -> float:
    """Return the height in pixels of ticks and tick labels."""
    turn = axis.turn if ticks.named else 0
    if not turn:
        return TICK + GAP + LEADING * SMALL
    longest = max((width_of(t) for t in ticks.texts), default=0.0)
    slant = _SLANT[turn]
    return TICK + GAP + math.sin(slant) * longest + (math.cos(slant) + 0.2) * SMALL


def _share(values: Floats | float, axis: Axis) -> Floats:
    """Return the positions of values as fractions of the axis."""
    low, high = axis.limits
    return (np.asarray(values, dtype=float) - low) / (high - low)


# --- ticks ---------------------------------------------------------------------------------------


def level_ticks(axis: Axis, width: float, *, dense: bool = False) -> Ticks:
    """Return the ticks of a horizontal axis, as many as fit without touching each other."""
    low, high = axis.range
    end = (axis.limits[1] - low) / width if width > 0 else 0.0
    ticks = _numbers_across(axis, width, 4 if dense else 7)
    if not axis.missing_label:
        return ticks
    half = width_of(axis.missing_label) / 2 + 6
    at: list[float] = []
    texts: list[str] = []
    for v, text in zip(ticks.at, ticks.texts, strict=True):
        # The label of missing values must not touch the last number; names of levels have enough space.
        free = axis.beside - end * (half + width_of(text) / 2)
        if low <= v <= high and (ticks.named or v <= free):
            at.append(v)
            texts.append(text)
    return Ticks((*at, axis.beside), (*texts, axis.missing_label), ticks.named)


def _numbers_across(axis: Axis, width: float, most: int) -> Ticks:
    """Return names of levels, the given ticks, or round numbers, as many as do not touch each other."""
    if axis.labels:
        return Ticks(axis.ticks, axis.labels, named=True)
    low, high = axis.range
    for k in range(most, 1, -1):
        at = axis.ticks or round_ticks(axis, k)
        texts = tuple(axis.scale.texts(at))
        room = width / max(axis.limits[1] - axis.limits[0], 5e-324)
        if axis.ticks or _do_not_touch(at, texts, room):
            return _thinned(at, texts, room) if axis.ticks else Ticks(at, texts)
    ends = tuple(t for t in round_ticks(axis, 2) if low <= t <= high)[:1]
    return Ticks(ends, tuple(axis.scale.texts(ends)))


def _do_not_touch(at: tuple[float, ...], texts: tuple[str, ...], room: float) -> bool:
    """Return whether labels centred at their ticks do not touch each other."""
    half = [width_of(t) / 2 for t in texts]
    pairs = zip(at, at[1:], half, half[1:], strict=False)
    return all(room * (b - a) >= left + right + _BETWEEN for a, b, left, right in pairs)


def _thinned(at: tuple[float, ...], texts: tuple[str, ...], room: float) -> Ticks:
    """Return the given ticks without the labels that would touch the previous one."""
    kept: list[str] = []
    last = -math.inf
    for v, text in zip(at, texts, strict=True):
        half = width_of(text) / 2
        free = room * v - half >= last + _BETWEEN / 2
        kept.append(text if free else "")
        last = room * v + half if free else last
    return Ticks(at, tuple(kept))


def upright_ticks(axis: Axis, height: float, *, dense: bool = False) -> Ticks:
    """Return the ticks of a vertical axis: names of levels, or round numbers about 34 pixels apart."""
    if axis.labels:
        return Ticks(axis.ticks, axis.labels, named=True)
    most = int(np.clip(height / (40 if dense else 34), 2, 8))
    at = axis.ticks or round_ticks(axis, most)
    return Ticks(at, tuple(axis.scale.texts(at)))


def round_ticks(axis: Axis, most: int) -> tuple[float, ...]:
    """Return round numbers on an axis, with at most `most` steps between them.

    Rounding applies to the written numbers, which are without the offset and power of ten in the axis label.

    Examples
    --------
    >>> round_ticks(Axis("age", None, 0.0, 100.0), 5)
    (0.0, 25.0, 50.0, 75.0, 100.0)
    """
    low, high = axis.range
    if axis.time is not None:
        return times.ticks(axis.time, low, high, most)
    unit, offset = 10.0**axis.scale.exponent, axis.scale.offset
    a, b = (low - offset) / unit, (high - offset) / unit
    if not (math.isfinite(b - a) and b > a):
        return ()
    size = 10.0 ** math.floor(math.log10((b - a) / most))
    # Smaller steps are tried if fewer than two ticks lie between the ends.
    sizes = [s * size for s in _STEPS if s * size * most >= (b - a) * (1 - 1e-9)]
    at = np.zeros(0)
    for step in (sizes[0], sizes[0] / 2, sizes[0] / 4):
        first, last = math.ceil(a / step - 1e-9), math.floor(b / step + 1e-9)
        at = np.arange(first, last + 1, dtype=np.float64) * step
        if len(at) >= 2:
            break
    return tuple(float(v) for v in at * unit + offset)


# --- legends -------------------------------------------------------------------------------------

Keys = dict[str, Markup]
"""Legend: labels and their keys, each drawn like its mark, between 0 and `WIDE` and centred at height 0."""


WIDE, HIGH = 26.0, 12.0


_GAP, _APART = 6.0, 16.0


ROW = 1.5 * SMALL


def legend(
    keys: Mapping[str, Markup], left: float, top: float, width: float
) -> tuple[Markup, float]:
    """Return a legend in lines that fit the width, and its height in pixels.

    Parameters
    ----------
    keys : mapping
    left, top, width : float
        In pixels.
    """
    parts: list[Markup] = []
    x, y = left, top + ROW / 2
    for text, key in keys.items():
        words = fitting(text, width - WIDE - _GAP)
        wide = WIDE + _GAP + width_of(words)
        if x > left and x + wide > left + width:
            x, y = left, y + ROW
        label = tag("text", words, x=WIDE + _GAP, y=0.35 * SMALL)
        parts.append(tag("g", key, label, transform=f"translate({px(x)} {px(y)})"))
        x += wide + _APART
    if not parts:
        return Markup(""), 0.0
    return tag("g", *parts, class_="legend"), y + ROW / 2 - top


def line_key(*classes: str) -> Markup:
    """Return the legend key of a line."""
    return tag("path", class_=" ".join(classes), d=f"M0 0H{px(WIDE)}")


def area_key(look: str | None = None, edge: str = "", *, fill: str | None = None) -> Markup:
    """Return the legend key of an area with its upper and lower edge."""
    box = {"x": 1.0, "y": -HIGH / 2, "width": WIDE - 2, "height": HIGH}
    parts: list[Markup] = []
    if look is not None:
        parts.append(tag("rect", class_=look, **box, fill=fill))
    if edge:
        low, high = px(HIGH / 2), px(-HIGH / 2)
        parts.append(tag("path", class_=edge, d=f"M1 {high}H{px(WIDE - 1)}M1 {low}H{px(WIDE - 1)}"))
    return joined(parts)


def heading(lines: list[str], left: float, last: float, size: float, look: str) -> Markup:
    """Return left-aligned lines of text, the last one at height `last`."""
    step = LEADING * size
    texts = [
        tag("text", line, x=left, y=last - (len(lines) - 1 - i) * step)
        for i, line in enumerate(lines)
    ]
    return tag("g", *texts, class_=look)
