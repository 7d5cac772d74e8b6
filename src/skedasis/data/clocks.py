"""Text of points on a time axis, and round ticks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints
from skedasis.data.times import PER_DAY, TimeAxis

_Unit = Literal["D", "h", "m", "s", "ms", "us", "ns"]
_UNITS: tuple[_Unit, ...] = ("D", "h", "m", "s", "ms", "us", "ns")
_ROUND = {
    "s": (1, 2, 5, 10, 15, 30),
    "m": (1, 2, 5, 10, 15, 30),
    "h": (1, 2, 3, 6, 12),
    "D": (1, 2, 7, 14),
}
"""Usual steps between ticks, in each unit."""
_MONTHS = (1, 2, 3, 6)
_YEAR_0 = 12 * 1970
"""Months from the year 0 to 1970."""
_MONDAY = 4
"""Days from 1970-01-01 to a Monday: weeks begin there."""
_TEXT: dict[_Unit, _Unit] = {
    "D": "D",
    "h": "m",
    "m": "m",
    "s": "s",
    "ms": "ms",
    "us": "us",
    "ns": "ns",
}
_NAMES = {"D": "d", "h": "h", "m": "min", "s": "s"}
_NOTHING = "–"


def written(axis: TimeAxis, days: Floats, step: float | None, *, short: bool = False) -> list[str]:
    """Return points of a time axis as text.

    Parameters
    ----------
    axis : TimeAxis
    days : ndarray of float, shape (n,)
    step : float, optional
        The smallest difference to distinguish, in days; by default that of neighbours.
    short : bool
        Whether the first of a month or of a year may be written as month or year, as for ticks.
    """
    there = np.isfinite(days)
    texts = np.full(len(days), _NOTHING, dtype=object)
    if there.any():
        local = axis.local(days[there])
        unit = _precision(days[there], local, step)
        if axis.kind == "duration":
            texts[there] = [_duration(int(t), axis.unit, unit) for t in local.astype(np.int64)]
        elif axis.kind == "time":
            texts[there] = [_clock(t, unit) for t in local]
        else:
            texts[there] = _points(local, unit, short=short)
    return texts.tolist()


def _precision(days: Floats, local: NDArray[Any], step: float | None) -> _Unit:
    """Return the coarsest unit in which neighbours differ in text."""
    if step is None:
        gaps = np.diff(np.unique(days))
        step = float(gaps.min()) if len(gaps) else None
    # A single value has no neighbour to be distinguished from: seconds are enough.
    finest: _Unit = "s"
    if step is not None:
        fine: list[_Unit] = [u for u in _UNITS if step * PER_DAY[u] >= 2]
        finest = fine[0] if fine else "ns"
    unit = np.datetime_data(local.dtype)[0]
    ticks = local.astype(np.int64)
    for coarse in _UNITS:
        if coarse == finest or PER_DAY[coarse] >= PER_DAY[unit]:
            return coarse
        if not (ticks % (PER_DAY[unit] // PER_DAY[coarse])).any():
            return coarse
    return finest


def _points(local: NDArray[Any], unit: _Unit, *, short: bool) -> list[str]:
    """Write points in time as ISO 8601 does, with a blank between date and time."""
    if short and unit == "D" and len(local) > 1:
        coarser: tuple[Literal["Y", "M"], ...] = ("Y", "M")
        for coarse in coarser:
            if (local == local.astype(f"M8[{coarse}]")).all():
                return np.datetime_as_string(local, unit=coarse, casting="unsafe").tolist()
    texts = np.datetime_as_string(local, unit=_TEXT[unit], casting="unsafe").tolist()
    return [t.replace("T", " ") for t in texts]


def _clock(time: np.timedelta64, unit: _Unit) -> str:
    """Write a time of day."""
    if time == np.timedelta64(1, "D"):
        return "24:00"
    text = str(
        np.datetime_as_string(
            np.datetime64(0, "D") + time,
            unit="m" if unit in ("D", "h") else _TEXT[unit],
            casting="unsafe",
        )
    )
    return text.partition("T")[2]


def _duration(ticks: int, unit: str, finest: str) -> str:
    """Write a duration in days, hours, minutes and seconds: those that are not zero."""
    sign, rest = ("−" if ticks < 0 else ""), abs(ticks)
    if PER_DAY[finest] < PER_DAY[unit]:
        size = PER_DAY[unit] // PER_DAY[finest]
        rest = (rest + size // 2) // size * size
    parts: list[str] = []
    for name in ("D", "h", "m"):
        size = PER_DAY[unit] // PER_DAY[name] if PER_DAY[unit] >= PER_DAY[name] else 0
        count, rest = divmod(rest, size) if size else (rest if name == unit else 0, rest)
        if count:
            parts.append(f"{count:,} {_NAMES[name]}")
    if unit in ("s", "ms", "us", "ns") and rest:
        per_second = PER_DAY[unit] // PER_DAY["s"]
        fraction = f"{rest / per_second:.9f}".rstrip("0").rstrip(".")
        parts.append(f"{fraction} s")
    return sign + " ".join(parts) if parts else "0"


def ticks(axis: TimeAxis, low: float, high: float, most: int) -> tuple[float, ...]:
    """Return round points of a time axis, with at most `most` steps between them.

    Round points are multiples of seconds, minutes and hours, midnights, Mondays, the first of a month or of a year, in
    local time if the axis has a time zone.

    Examples
    --------
    >>> axis = TimeAxis("datetime", "s")
    >>> axis.texts(ticks(axis, 0.1, 1.0, 4))
    ['1970-01-01 06:00', '1970-01-01 12:00', '1970-01-01 18:00', '1970-01-02 00:00']
    """
    if not (math.isfinite(high - low) and high > low):
        return ()
    before: list[float] = []
    for at in _coarser(axis, low, high, most):
        found = [float(v) for v in at if low <= v <= high]
        if len(found) <= most + 1:
            # If this step leaves a single tick, every k-th tick of the step before.
            return tuple(found if len(found) > 1 or not before else _some(before, most))
        before = found
    return ()


def _some(places: list[float], most: int) -> list[float]:
    """Return every k-th place: at most so many."""
    return places[:: max(1, -(-len(places) // (most + 1)))]


def _coarser(axis: TimeAxis, low: float, high: float, most: int) -> Iterator[Floats]:
    """Yield places at longer and longer steps."""
    unit, ends = _ends(axis, low, high)
    day = PER_DAY[unit]
    calendar = axis.kind in ("date", "datetime")
    for step in _steps(axis, day):
        if (ends[1] - ends[0]) / step > 4 * most + 4:
            continue
        shift = _MONDAY * day if calendar and step % (7 * day) == 0 else 0
        yield _from_ticks(axis, _multiples(ends, step, shift), unit)
    if calendar:
        for months in (*_MONTHS, *(12 * m * 10**k for k in range(5) for m in (1, 2, 5))):
            if (high - low) / (30 * months) <= 4 * most + 4:
                yield _months(axis, ends, unit, months)


def _steps(axis: TimeAxis, day: int) -> Iterator[int]:
    """Yield steps of a day at most, or of weeks; of durations any number of days: in ticks."""
    second = day // PER_DAY["s"]
    size = 1
    while size < second:
        yield from (k * size for k in (1, 2, 5))
        size *= 10
    for name, counts in _ROUND.items():
        if PER_DAY[name] <= day:
            yield from (
                k * (day // PER_DAY[name])
                for k in counts
                if k < 7 or axis.kind != "duration" or name != "D"
            )
    if axis.kind == "duration":
        yield from (day * k * 10**e for e in range(7) for k in (1, 2, 5) if (e, k) > (0, 2))


def _ends(axis: TimeAxis, low: float, high: float) -> tuple[str, tuple[int, int]]:
    """Return the unit of local times, and the ends of the axis in it."""
    local = axis.local(np.array([low, high]))
    return str(np.datetime_data(local.dtype)[0]), (
        int(local[0].astype(np.int64)),
        int(local[1].astype(np.int64)),
    )


def _multiples(ends: tuple[int, int], step: int, shift: int) -> Ints:
    first, last = -(-(ends[0] - shift) // step), (ends[1] - shift) // step
    return np.arange(first - 1, last + 2, dtype=np.int64) * step + shift


def _from_ticks(axis: TimeAxis, places: Ints, unit: str) -> Floats:
    return axis.from_local(places.view(f"{axis.dtype.kind}8[{unit}]"))


def _months(axis: TimeAxis, ends: tuple[int, int], unit: str, months: int) -> Floats:
    places = np.array(ends, dtype=np.int64).view(f"M8[{unit}]").astype("M8[M]")
    first, last = places.astype(np.int64).tolist()
    first, last = (
        first + _YEAR_0,
        last + _YEAR_0,
    )  # counted from the year 0, so that decades and centuries are round
    at = np.arange(first // months, last // months + 2, dtype=np.int64) * months - _YEAR_0
    return axis.from_local(at.view("M8[M]").astype(f"M8[{unit}]"))
