"""Time axes: dates, times and durations as floats in days, their text, and tick positions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints, Values
from skedasis.data.time_columns import (
    NOT_A_TIME,
    PER_DAY,
    NamedZone,
    PandasTimedelta,
    PandasTimestamp,
    Time,
    TimeKind,
    Times,
    is_points,
    is_times,
    kind_of,
    numpy_type,
    time_of_day,
    times_of,
    unit_of,
)
from skedasis.errors import DataError

# ---------------------------------------------------------------------------------- time axes
_EXACT = 2**51
"""Up to this number of ticks the float64 of ticks / ticks_per_day rounds back to the same tick."""

_LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf")

TimeLike: TypeAlias = date | time | timedelta | Time | str
"""A time that the user gives: an object of Python, a scalar of NumPy, or ISO 8601 text."""

_ISO_TIME = re.compile(r"\d{4}-\d\d|\d\d:\d\d")
"""The beginning of a date, a point in time or a time of day in ISO 8601."""

_KIND_NAMES = {
    "date": "dates",
    "datetime": "dates and times",
    "duration": "durations",
    "time": "times of day",
}


@dataclass(frozen=True)
class TimeAxis:
    """The conversion of a column of times to an axis of floats: days from `origin`."""

    kind: TimeKind
    unit: str
    origin: int = 0
    zone: str | None = None
    grain: int = 1
    exact: bool = True

    @classmethod
    def fitting(
        cls, kind: TimeKind, unit: str, ticks: Ints, present: Bools, zone: str | None = None
    ) -> TimeAxis:
        """Return the axis for a column's ticks."""
        if not present.any():
            return cls(kind, unit, 0, zone)
        some = ticks if present.all() else ticks[present]
        low, high = int(some.min()), int(some.max())
        day = PER_DAY[unit]
        # Times of day start at midnight; durations at zero, unless that would lose precision.
        from_zero = kind == "time" or (kind == "duration" and max(abs(low), abs(high)) < _EXACT)
        origin = 0 if from_zero else low // day * day
        span, grain, exact = max(high - origin, origin - low), 1, True
        while span // grain >= _EXACT and day % (10 * grain) == 0:
            grain *= 10
            exact = exact and not (some % grain).any()
        return cls(kind, unit, origin, zone, grain, exact)

    @classmethod
    def of(cls, values: Times, kind: TimeKind | None = None, zone: str | None = None) -> TimeAxis:
        """Return the axis for an array of datetime64 or timedelta64."""
        inferred, unit = kind_of(values.dtype)
        ticks, present = values.astype(np.int64), ~np.isnat(values)
        return cls.fitting(kind or inferred, unit, ticks, present, zone)

    @property
    def per_day(self) -> int:
        """Return the number of grains per day."""
        return PER_DAY[self.unit] // self.grain

    @property
    def resolution(self) -> float:
        """Return the smallest difference of two values, in days."""
        return 1 / self.per_day

    @property
    def dtype(self) -> np.dtype[Time]:
        """Return the NumPy type of the times; times of day are timedelta64 from midnight."""
        return numpy_type(self.kind, self.unit)

    def days_of_ticks(self, ticks: Ints, present: Bools | None = None) -> Floats:
        """Return ticks as days; NaN where not present."""
        # Divide before subtracting, because differences of nanoseconds over centuries overflow int64.
        grain = self.grain
        if grain == 1:
            whole = (ticks - self.origin).astype(float)
        else:
            whole = (ticks // grain - self.origin // grain) + (ticks % grain) / grain
        days = whole / self.per_day
        return days if present is None else np.where(present, days, np.nan)

    def ticks(self, days: Floats) -> Ints:
        """Return days as ticks, rounded to the column's resolution; NaN becomes `NOT_A_TIME`."""
        missing = np.isnan(days)
        whole = np.rint(np.where(missing, 0.0, days) * self.per_day).astype(np.int64)
        return np.where(missing, NOT_A_TIME, whole * self.grain + self.origin)

    def rounded(self, days: Floats) -> Floats:
        """Return the days of the nearest times that the column can represent."""
        if not self.exact:
            return days  # observed values must not change; `ticks` rounds all others
        whole = np.rint(days * self.per_day)
        if self.kind == "time":  # 24:00 is not a time of day
            whole = np.clip(whole, 0, self.per_day - 1)
        return whole / self.per_day

    def times(self, days: Floats) -> Times:
        """Return days as datetime64 (UTC where there is a time zone) or timedelta64; NaN becomes NaT."""
        return self.ticks(np.asarray(days, dtype=float)).view(self.dtype)

    def days(self, values: object, what: str = "values") -> Floats:
        """Return times as days."""
        array = _to_times(values)
        if array.dtype.kind in "OU":
            flat = [self._scalar(v, what) for v in array.ravel().tolist()]
            return np.array(flat, dtype=float).reshape(array.shape)
        if array.dtype.kind == "f" and np.isnan(array).all():
            return array.astype(float)
        if is_times(array) and is_points(array) == (self.dtype.kind == "M"):
            return self._from_numpy(array)
        raise self._error(what, f"{array.dtype} values")

    def _from_numpy(self, array: Times) -> Floats:
        present = ~np.isnat(array)
        if np.datetime_data(array.dtype)[0] == "generic":
            return np.full(array.shape, np.nan)  # an array of NaT only has no unit
        if np.datetime_data(array.dtype)[0] in ("Y", "M", "W"):
            array = array.astype("M8[D]" if array.dtype.kind == "M" else "m8[D]")
        if np.datetime_data(array.dtype)[1] != 1:
            array = array.astype(f"{array.dtype.kind}8[{np.datetime_data(array.dtype)[0]}]")
        given = PER_DAY[unit_of(array.dtype)]
        ticks = np.where(present, array.astype(np.int64), 0)
        own = PER_DAY[self.unit]
        if given <= own:
            return self.days_of_ticks(ticks * (own // given), present)
        ratio = given // own
        rest = (ticks % ratio) / given
        return self.days_of_ticks(ticks // ratio, present) + rest

    def _scalar(self, value: object, what: str) -> float:
        """Return an object or text as days."""
        if value is None or (isinstance(value, float) and np.isnan(value)):
            return np.nan
        if isinstance(value, str):
            value = self._parse(value, what)
        scalar = self._as_numpy(value)
        if scalar is None or (scalar.dtype.kind == "m") != (self.dtype.kind == "m"):
            raise self._error(what, repr(value)[:60])
        return float(self._from_numpy(np.array([scalar]))[0])

    def _as_numpy(self, value: object) -> Time | None:
        """Return an object as a NumPy scalar; None if it is not a time."""
        if isinstance(value, (np.datetime64, np.timedelta64)):
            return value
        if isinstance(value, (date, datetime)):
            return self._instant(value)
        return _to_timedelta(value)

    def _instant(self, value: date | datetime) -> np.datetime64:
        """Return a point in time in UTC. Without a time zone it is local time if the axis has a time zone."""
        if not isinstance(value, datetime):
            if self.zone is None:
                return np.datetime64(value)
            value = datetime(value.year, value.month, value.day)  # noqa: DTZ001 - set below
        if value.tzinfo is None and self.zone is not None:
            value = value.replace(tzinfo=self.tz)
        if isinstance(value, PandasTimestamp):
            return value.to_datetime64()
        if value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return np.datetime64(value)

    def _parse(self, text: str, what: str) -> time | datetime:
        try:
            if self.kind == "time":
                return time.fromisoformat(text)
            if self.kind != "duration":
                return datetime.fromisoformat(text)
        except ValueError as error:
            raise self._error(what, repr(text)[:60]) from error
        raise self._error(what, repr(text)[:60])

    def _error(self, what: str, got: str) -> DataError:
        example = {
            "duration": 'np.timedelta64(3, "h")',
            "time": "datetime.time(14, 30)",
        }.get(self.kind, 'np.datetime64("2020-01-31")')
        return DataError(
            what, got, _KIND_NAMES[self.kind], f"Use the column's type, for example {example}"
        )

    @cached_property
    def tz(self) -> tzinfo:
        """Return the time zone of texts."""
        return zone_of(self.zone)

    @property
    def clock(self) -> str:
        """Return what JavaScript needs to format days: kind, milliseconds from 1970 to day 0, and the time zone."""
        start = self.origin * 86_400_000 / PER_DAY[self.unit]
        zone = self.tz.key if isinstance(self.tz, NamedZone) else "UTC"
        if zone == "UTC" and self.zone is not None:
            ahead = self.tz.utcoffset(None)
            start += 0 if ahead is None else int(ahead.total_seconds() * 1000)
        return f"{self.kind} {start!r} {zone}"

    def local(self, days: Floats) -> Times:
        """Return days as datetime64 in local time, or as timedelta64."""
        times = self.times(days)
        if self.zone is None or self.dtype.kind == "m" or not len(times):
            return times
        shift = [_offset(t, self.tz) for t in times]
        return times.astype(_finer(times.dtype)) + np.array(shift, dtype="m8[s]")

    def from_local(self, times: Times) -> Floats:
        """Return local times as days."""
        if self.zone is None or self.dtype.kind == "m":
            return self._from_numpy(times)
        # The offset at the same clock time in UTC differs from the correct one by at most one change of the offset.
        guess = times - np.array([_offset(t, self.tz) for t in times], dtype="m8[s]")
        shift = np.array([_offset(t, self.tz) for t in guess], dtype="m8[s]")
        return self._from_numpy(times.astype(_finer(times.dtype)) - shift)

    def texts(self, days: Sequence[float] | Floats, step: float | None = None) -> list[str]:
        """Return days as readable text, precise enough to distinguish neighbours."""
        return written(self, np.asarray(days, dtype=float), step)

    def text(self, day: float, step: float | None = None) -> str:
        """Return one point of the axis as readable text; see `texts`."""
        return self.texts([day], step)[0]

    def onto(self, other: TimeAxis, days: Floats) -> Floats:
        """Return days on this axis as days on another axis, whose origin and unit may differ."""
        if (self.origin, self.unit) == (other.origin, other.unit):
            return days
        # A single division of Python integers, so that the result is rounded only once.
        own, others = PER_DAY[self.unit], PER_DAY[other.unit]
        return days + (self.origin * others - other.origin * own) / (own * others)


@dataclass(frozen=True, eq=False)
class TimePoints:
    """A column of times in a result table: a sequence of texts, which data frames convert to times."""

    axis: TimeAxis
    days: Floats

    def __len__(self) -> int:
        return len(self.days)

    def __getitem__(self, part: slice) -> TimePoints:
        return TimePoints(self.axis, self.days[part])

    def __iter__(self) -> Iterator[str | None]:
        return iter(self.tolist())

    def tolist(self) -> list[str | None]:
        """Return complete ISO 8601 texts, with the offset of the time zone; None where missing."""
        times = self.axis.local(self.days)
        missing = np.isnat(times)
        if is_points(times):
            ahead = np.zeros(len(times), dtype=np.int64)
            if self.axis.zone is not None:
                utc = self.axis.times(self.days).astype(times.dtype)
                ahead = (times - utc).astype("m8[s]").astype(np.int64)
            texts = [
                f"{t}{_offset_text(int(a))}" if self.axis.zone is not None else str(t)
                for t, a in zip(np.datetime_as_string(times), ahead, strict=True)
            ]
        else:
            texts = self.axis.texts(self.days, self.axis.resolution)
        return [None if m else t for m, t in zip(missing.tolist(), texts, strict=True)]

    def texts(self) -> list[str]:
        """Return readable texts; see `TimeAxis.texts`."""
        return self.axis.texts(self.days)

    def repeat(self, count: int) -> TimePoints:
        """Return the column with each entry repeated, as `numpy.repeat`."""
        return TimePoints(self.axis, np.repeat(self.days, count))

    def tile(self, count: int) -> TimePoints:
        """Return the whole column repeated, as `numpy.tile`."""
        return TimePoints(self.axis, np.tile(self.days, count))

    def joined(self, others: Sequence[TimePoints]) -> TimePoints:
        """Return several columns concatenated, on the axis of the first."""
        converted = [o.axis.onto(self.axis, o.days) for o in others]
        return TimePoints(self.axis, np.concatenate([self.days, *converted]))

    def alike(self, other: TimePoints) -> bool:
        """Return whether both can be concatenated: same kind and time zone."""
        return (self.axis.kind, self.axis.zone) == (other.axis.kind, other.axis.zone)


def _offset_text(seconds: int) -> str:
    sign, minutes = "-" if seconds < 0 else "+", abs(seconds) // 60
    return f"{sign}{minutes // 60:02}:{minutes % 60:02}"


class TimeTicks:
    """The conversion of days back to ticks of a column: exact for observed values, rounded for others."""

    def __init__(self, axis: TimeAxis, ticks: Ints, present: Bools) -> None:
        self.axis = axis
        self._known: tuple[Floats, Ints] | None = None
        if not axis.exact:
            # For nanoseconds over years floats are not exact: observed values are looked up.
            some = np.unique(ticks[present])
            self._known = axis.days_of_ticks(some), some

    def __call__(self, days: Floats) -> Ints:
        """Return days as ticks; NaN becomes `NOT_A_TIME`."""
        ticks = self.axis.ticks(days)
        if self._known is None:
            return ticks
        known_days, known_ticks = self._known
        index = np.minimum(np.searchsorted(known_days, days), len(known_days) - 1)
        return np.where(known_days[index] == days, known_ticks[index], ticks)


def _to_timedelta(value: object) -> np.timedelta64 | None:
    """Return a time of day (from midnight) or a duration as timedelta64; None for other objects."""
    if isinstance(value, time):
        return time_of_day(value)
    if isinstance(value, PandasTimedelta):
        return value.to_timedelta64()
    return np.timedelta64(value) if isinstance(value, timedelta) else None


def zone_of(name: str | None) -> tzinfo:
    """Return the time zone of a name such as "Europe/Berlin" or "+01:00"; UTC for names unknown to this system."""
    fixed = re.search(r"([+-])(\d{2}):?(\d{2})$", name or "")
    if fixed:
        minutes = 60 * int(fixed[2]) + int(fixed[3])
        return timezone(timedelta(minutes=minutes if fixed[1] == "+" else -minutes))
    if name is None or name.upper() == "UTC":
        return UTC
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def _offset(instant: np.datetime64, tz: tzinfo) -> int:
    """Return the offset of local time from UTC, in seconds."""
    try:
        moment = instant.astype("M8[s]").item()
    except (ValueError, OverflowError):
        return 0
    if not isinstance(moment, datetime):  # NaT, or before the year 1 or after 9999
        return 0
    try:
        ahead = moment.replace(tzinfo=UTC).astimezone(tz).utcoffset()
    except OverflowError:
        return 0
    return 0 if ahead is None else int(ahead.total_seconds())


def _finer(dtype: np.dtype[Time]) -> str:
    """Return the type with a unit of seconds or finer, because offsets of time zones are not whole hours."""
    unit = np.datetime_data(dtype)[0]
    return f"{dtype.kind}8[{unit if unit in ('s', 'ms', 'us', 'ns') else 's'}]"


def _to_times(values: object) -> Values:
    """Return values as an array; times of a data frame library become datetime64 or timedelta64."""
    if isinstance(values, np.ndarray):
        return values
    if type(values).__module__.partition(".")[0] in _LIBRARIES and isinstance(values, Sized):
        return times_of(values)
    return np.asarray(values, dtype=object)


def given_times(values: object) -> tuple[TimeLike, ...] | None:
    """Return the values as a tuple if all are times that `TimeAxis.days` accepts; else None."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return None
    try:
        times = tuple(values)
    except TypeError:
        return None
    kinds = (date, time, timedelta, np.datetime64, np.timedelta64)
    is_time = [
        isinstance(v, kinds) or (isinstance(v, str) and bool(_ISO_TIME.match(v))) for v in times
    ]
    return times if times and all(is_time) else None


# ------------------------------------------------------------------------ text of points in time
TimeUnit = Literal["D", "h", "m", "s", "ms", "us", "ns"]

_UNITS: tuple[TimeUnit, ...] = ("D", "h", "m", "s", "ms", "us", "ns")

_ROUND_STEPS = {
    "s": (1, 2, 5, 10, 15, 30),
    "m": (1, 2, 5, 10, 15, 30),
    "h": (1, 2, 3, 6, 12),
    "D": (1, 2, 7, 14),
}
"""Round steps between ticks, in each unit."""

_MONTHS = (1, 2, 3, 6)

_YEAR_0 = 12 * 1970
"""Months from the year 0 to 1970."""

_MONDAY = 4
"""Days from 1970-01-01 to a Monday, where weeks start."""

_TEXT_UNIT: dict[TimeUnit, TimeUnit] = {
    "D": "D",
    "h": "m",
    "m": "m",
    "s": "s",
    "ms": "ms",
    "us": "us",
    "ns": "ns",
}
"""Unit of the text for each precision: an hour is written with its minutes."""

_UNIT_NAMES = {"D": "d", "h": "h", "m": "min", "s": "s"}

_MISSING_TEXT = "–"


def written(axis: TimeAxis, days: Floats, step: float | None, *, short: bool = False) -> list[str]:
    """Return points of a time axis as text."""
    finite = np.isfinite(days)
    texts = np.full(len(days), _MISSING_TEXT, dtype=object)
    if finite.any():
        local = axis.local(days[finite])
        unit = _precision(days[finite], local, step)
        if is_points(local):
            texts[finite] = _points(local, unit, short=short)
        elif axis.kind == "time":
            texts[finite] = [_clock(t, unit) for t in local]
        else:
            texts[finite] = [_duration(int(t), axis.unit, unit) for t in local.astype(np.int64)]
    return texts.tolist()


def _precision(days: Floats, local: Times, step: float | None) -> TimeUnit:
    """Return the coarsest unit in which neighbours differ in text."""
    if step is None:
        gaps = np.diff(np.unique(days))
        step = float(gaps.min()) if len(gaps) else None
    # A single value has no neighbour to be distinguished from, so seconds are enough.
    finest: TimeUnit = "s"
    if step is not None:
        fine: list[TimeUnit] = [u for u in _UNITS if step * PER_DAY[u] >= 2]
        finest = fine[0] if fine else "ns"
    unit = np.datetime_data(local.dtype)[0]
    ticks = local.astype(np.int64)
    for coarse in _UNITS:
        if coarse == finest or PER_DAY[coarse] >= PER_DAY[unit]:
            return coarse
        if not (ticks % (PER_DAY[unit] // PER_DAY[coarse])).any():
            return coarse
    return finest


def _points(local: NDArray[np.datetime64], unit: TimeUnit, *, short: bool) -> list[str]:
    """Return points in time as ISO 8601 text, with a space between date and time."""
    if short and unit == "D" and len(local) > 1:
        coarser: tuple[Literal["Y", "M"], ...] = ("Y", "M")
        for coarse in coarser:
            if (local == local.astype(f"M8[{coarse}]")).all():
                return np.datetime_as_string(local, unit=coarse, casting="unsafe").tolist()
    texts = np.datetime_as_string(local, unit=_TEXT_UNIT[unit], casting="unsafe").tolist()
    return [t.replace("T", " ") for t in texts]


def _clock(time: np.timedelta64, unit: TimeUnit) -> str:
    """Return a time of day as text."""
    if time == np.timedelta64(1, "D"):
        return "24:00"
    text = str(
        np.datetime_as_string(
            np.datetime64(0, "D") + time,
            unit="m" if unit in ("D", "h") else _TEXT_UNIT[unit],
            casting="unsafe",
        )
    )
    return text.partition("T")[2]


def _duration(ticks: int, unit: str, finest: str) -> str:
    """Return a duration as text in days, hours, minutes and seconds, without those that are zero."""
    sign, rest = ("−" if ticks < 0 else ""), abs(ticks)
    if PER_DAY[finest] < PER_DAY[unit]:
        size = PER_DAY[unit] // PER_DAY[finest]
        rest = (rest + size // 2) // size * size
    parts: list[str] = []
    for name in ("D", "h", "m"):
        size = PER_DAY[unit] // PER_DAY[name] if PER_DAY[unit] >= PER_DAY[name] else 0
        count, rest = divmod(rest, size) if size else (rest if name == unit else 0, rest)
        if count:
            parts.append(f"{count:,} {_UNIT_NAMES[name]}")
    if unit in ("s", "ms", "us", "ns") and rest:
        per_second = PER_DAY[unit] // PER_DAY["s"]
        fraction = f"{rest / per_second:.9f}".rstrip("0").rstrip(".")
        parts.append(f"{fraction} s")
    return sign + " ".join(parts) if parts else "0"


# ---------------------------------------------------------------------------------------- ticks
def ticks(axis: TimeAxis, low: float, high: float, most: int) -> tuple[float, ...]:
    """Return tick positions on a time axis, with at most `most` steps between them."""
    if not (math.isfinite(high - low) and high > low):
        return ()
    previous: list[float] = []
    for positions in _coarser_positions(axis, low, high, most):
        inside = [float(v) for v in positions if low <= v <= high]
        if len(inside) <= most + 1:
            # If this step leaves a single tick, use every k-th tick of the previous step.
            return tuple(inside if len(inside) > 1 or not previous else _thinned(previous, most))
        previous = inside
    return ()


def _thinned(positions: list[float], most: int) -> list[float]:
    """Return every k-th position, so that at most most + 1 remain."""
    return positions[:: max(1, -(-len(positions) // (most + 1)))]


def _coarser_positions(axis: TimeAxis, low: float, high: float, most: int) -> Iterator[Floats]:
    """Yield tick positions at increasing steps."""
    unit, ends = _local_range(axis, low, high)
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
    """Yield steps in ticks: up to a day and in weeks; for durations any round number of days."""
    second = day // PER_DAY["s"]
    size = 1
    while size < second:
        yield from (k * size for k in (1, 2, 5))
        size *= 10
    for name, counts in _ROUND_STEPS.items():
        if PER_DAY[name] <= day:
            yield from (
                k * (day // PER_DAY[name])
                for k in counts
                if k < 7 or axis.kind != "duration" or name != "D"
            )
    if axis.kind == "duration":
        yield from (day * k * 10**e for e in range(7) for k in (1, 2, 5) if (e, k) > (0, 2))


def _local_range(axis: TimeAxis, low: float, high: float) -> tuple[str, tuple[int, int]]:
    """Return the unit of local times, and the ends of the axis in this unit."""
    local = axis.local(np.array([low, high]))
    return str(np.datetime_data(local.dtype)[0]), (
        int(local[0].astype(np.int64)),
        int(local[1].astype(np.int64)),
    )


def _multiples(ends: tuple[int, int], step: int, shift: int) -> Ints:
    first, last = -(-(ends[0] - shift) // step), (ends[1] - shift) // step
    return np.arange(first - 1, last + 2, dtype=np.int64) * step + shift


def _from_ticks(axis: TimeAxis, local_ticks: Ints, unit: str) -> Floats:
    return axis.from_local(local_ticks.view(f"{axis.dtype.kind}8[{unit}]"))


def _months(axis: TimeAxis, ends: tuple[int, int], unit: str, months: int) -> Floats:
    """Return the first days of every `months` months."""
    # Months are counted from the year 0, so that decades and centuries are round.
    first, last = (
        np.array(ends, dtype=np.int64).view(f"M8[{unit}]").astype("M8[M]").astype(np.int64)
        + _YEAR_0
    )
    count = np.arange(first // months, last // months + 2, dtype=np.int64) * months - _YEAR_0
    return axis.from_local(count.view("M8[M]").astype(f"M8[{unit}]"))
