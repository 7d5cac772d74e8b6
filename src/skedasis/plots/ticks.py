"""Ticks of every axis: round numbers, powers of ten, dates and times, given values, and names of levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from skedasis._types import Floats
from skedasis.data import times
from skedasis.plots.scales import PlotAxis, distinct_names
from skedasis.plots.text import Lettering

Turn: TypeAlias = Literal[0, 40, 90]
"""Rotation of names below an axis in degrees."""

LONG = 24
"""Most characters of a rotated name."""

LINES = 3
"""Most lines of a name beside a vertical axis."""

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)

_BETWEEN = 8.0
"""Smallest gap between two tick labels in points."""

_SPACING = 44.0
"""Length of a horizontal axis per tick in points; tick labels of that width still differ clearly."""


@dataclass(frozen=True)
class Ticks:
    """Positions and labels of ticks; an empty label is a tick without one."""

    at: tuple[float, ...]
    texts: tuple[str, ...]
    turn: Turn = 0


def ticks_across(
    axis: PlotAxis,
    length: float,
    lettering: Lettering,
    *,
    before: float = math.inf,
    beyond: float = 10.0,
    letters: int = LONG,
) -> Ticks:
    """Return the ticks of a horizontal axis."""
    if axis.hidden:
        return Ticks((), ())
    ticks = (
        _names_across(axis, length, lettering, before, letters)
        if axis.labels
        else _numbers_across(axis, length, lettering, (before, beyond))
    )
    if not axis.asides:
        return ticks
    # The labels beside the axis come first, the outermost ones before the others: numbers must not touch them.
    low, high = axis.range
    sides = sorted(axis.asides, key=lambda aside: -abs(float(axis.share(aside.at)) - 0.5))
    given = [(aside.at, aside.text) for aside in sides]
    given += [(v, t) for v, t in zip(ticks.at, ticks.texts, strict=True) if low <= v <= high]
    taken: list[tuple[float, float]] = []
    kept: dict[float, str] = {}
    for k, (v, text) in enumerate(given):
        beside = k < len(sides)
        wide = 0.0 if ticks.turn and not beside else lettering.width(text, "tick") / 2
        x = length * float(axis.share(v))
        x = min(x, length + beyond - wide) if beside else x
        free = all(x + wide <= a - 4 or x - wide >= b + 4 for a, b in taken)
        kept[v] = text if free else ""
        taken += [(x - wide, x + wide)] if beside and free else []
    at = sorted(kept)
    return Ticks(tuple(at), tuple(kept[v] for v in at), ticks.turn)


def ticks_up(
    axis: PlotAxis, length: float, lettering: Lettering, *, room: float = math.inf
) -> Ticks:
    """Return the ticks of a vertical axis, whose labels are at most `room` points wide."""
    if axis.hidden:
        return Ticks((), ())
    line = lettering.leading("tick")
    if axis.labels:
        return _names_up(axis, length, lettering, room)
    most = int(np.clip(length / (2.4 * line), 2, 8))
    at = axis.ticks or round_ticks(axis, most)
    texts = axis.scale.texts(at)
    if length < 2 * line:  # not even two labels fit
        at, texts = at[-1:], texts[-1:]
    kept: list[str] = []
    last = -math.inf
    for place, text in zip((length * axis.share(np.array(at))).tolist(), texts, strict=True):
        free = place >= last + 0.8 * line and lettering.width(text, "tick") <= room
        kept.append(text if free else "")
        last = place if free else last
    return Ticks(at, tuple(kept))


def round_ticks(
    axis: PlotAxis, most: int, ends: tuple[float, float] | None = None
) -> tuple[float, ...]:
    """Return round numbers on an axis, with at most `most` steps between them."""
    low, high = axis.range if ends is None else ends
    if axis.log and low > 0:
        return _round_ratios(low, high, most)
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


_RECIPROCAL = ((1, 1.25, 2, 5, 8), (1, 1.25, 1.6, 2, 2.5, 4, 5, 6.25, 8))
"""Multiples of powers of ten that are each other's reciprocals."""


def _round_ratios(low: float, high: float, most: int) -> tuple[float, ...]:
    """Return powers of ten, every second or third one if there are many, or also their multiples if there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = math.log10(high / low)
    if decades > most:
        step = math.ceil(decades / most)
        found = [10.0**k for k in range(first, last + 1) if k % step == 0]
    else:
        # Around 1, a factor and its reciprocal are as far from it: 0.8 and 1.25, 0.5 and 2.
        few = _RECIPROCAL if low < 1 < high else ((1, 2, 3, 4, 5, 6, 7, 8, 9),)
        for factors in ((1,), (1, 3), (1, 2, 5), *few):
            found = [f * 10.0**k for k in range(first, last + 1) for f in factors]
            if sum(low <= v <= high for v in found) >= min(3, most):
                break
        else:  # less than a decade: a linear scale has the rounder numbers
            return round_ticks(PlotAxis("", None, low, high, 0.0), most)
    return tuple(v for v in found if low * (1 - 1e-9) <= v <= high * (1 + 1e-9))


# --- numbers -------------------------------------------------------------------------------------


def _numbers_across(
    axis: PlotAxis, length: float, lettering: Lettering, around: tuple[float, float]
) -> Ticks:
    """Return the given ticks, or round numbers, as many as do not touch."""
    low, high = axis.range
    if axis.ticks:
        texts = tuple(axis.scale.texts(axis.ticks))
        return _thinned(axis, axis.ticks, texts, length, lettering, around)
    for most in range(int(np.clip(round(length / _SPACING), 2, 9)), 0, -1):
        at = tuple(t for t in round_ticks(axis, most) if low <= t <= high)
        texts = tuple(axis.scale.texts(at))
        ticks = _thinned(axis, at, texts, length, lettering, around)
        # At an end of the axis there may be no room for a label.
        if all(ticks.texts[1:-1]) and sum(map(bool, ticks.texts)) > 1:
            return ticks
    ends = tuple(t for t in round_ticks(axis, 2) if low <= t <= high)[:1]
    return _thinned(axis, ends, tuple(axis.scale.texts(ends)), length, lettering, around)


def _thinned(
    axis: PlotAxis,
    at: Sequence[float],
    texts: Sequence[str],
    length: float,
    lettering: Lettering,
    around: tuple[float, float],
) -> Ticks:
    """Return ticks without the labels that would touch the previous one, or extend beyond the figure."""
    kept: list[str] = []
    last = -math.inf
    for place, text in zip((length * axis.share(np.array(at))).tolist(), texts, strict=True):
        half = lettering.width(text, "tick") / 2
        free = place - half >= max(last + _BETWEEN, -around[0])
        free = free and place + half <= length + around[1]
        kept.append(text if free else "")
        last = place + half if free else last
    return Ticks(tuple(at), tuple(kept))


# --- names of levels -----------------------------------------------------------------------------


def overhang(names: Sequence[str], places: Floats, lettering: Lettering) -> float:
    """Return how far slanted names extend beyond the left end of an axis on which they have these places."""
    cosine = math.cos(math.radians(40))
    ends = [cosine * lettering.width(n, "tick") for n in names]
    return max((e - p for e, p in zip(ends, places.tolist(), strict=True)), default=0.0)


def _names_across(
    axis: PlotAxis, length: float, lettering: Lettering, before: float, letters: int
) -> Ticks:
    """Return names below a horizontal axis: level, slanted or upright; no ticks for which there is no room."""
    places = length * axis.share(np.array(axis.ticks))
    slot = float(np.diff(places).min()) if len(places) > 1 else length
    line = lettering.leading("tick")
    names = axis.labels
    if max((lettering.width(n, "tick") for n in names), default=0.0) + 0.5 * line <= slot:
        return Ticks(axis.ticks, names)
    room = int(slot / lettering.width("n", "tick")) - 1
    short = distinct_names(names, max(letters, room))
    if max(lettering.width(n, "tick") for n in short) + 0.5 * line <= slot:
        return Ticks(axis.ticks, short)
    slanted = slot >= 1.6 * line and overhang(short, places, lettering) <= before
    turn: Turn = 40 if slanted else 90
    # Thousands of ticks would form a bar.
    every = max(1, math.ceil(line / slot))
    return Ticks(axis.ticks[::every], short[::every], turn)


def _names_up(axis: PlotAxis, length: float, lettering: Lettering, room: float) -> Ticks:
    """Return names beside a vertical axis in as many lines as fit, without those for which there is no room."""
    places = length * axis.share(np.array(axis.ticks))
    slot = float(np.abs(np.diff(places)).min()) if len(places) > 1 else length
    line = lettering.leading("tick")
    every = max(1, math.ceil(0.9 * line / max(slot, 1e-9)))
    most = int(np.clip(slot / line, 1, LINES))
    names = [
        "\n".join(
            lettering.wrap(n, room, "tick", most if lettering.breakable(n, room, "tick") else 1)
        )
        for n in axis.labels
    ]
    if len(set(names)) < len(names):
        letters = max(6, int(room / lettering.width("n", "tick")))
        names = [lettering.fit(n, room, "tick") for n in distinct_names(axis.labels, letters)]
    # From above, where the first line of a bar chart is.
    order = range(len(names) - 1, -1, -1)
    kept = {i for k, i in enumerate(order) if k % every == 0}
    return Ticks(axis.ticks, tuple(n if i in kept else "" for i, n in enumerate(names)))
