"""Time axes: dates, times and durations as floats in days, their text, and round ticks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import cached_property
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints
from skedasis.errors import DataError, explained

# ------------------------------------------------------------------------------------------
# Time axes: dates, times and durations as days on an axis of floats, and back to what the column holds.


TimeKind = Literal["date", "datetime", "duration", "time"]


PER_DAY = {
    "D": 1,
    "h": 24,
    "m": 1_440,
    "s": 86_400,
    "ms": 86_400_000,
    "us": 86_400_000_000,
    "ns": 86_400_000_000_000,
}
"""Ticks of each unit in a day, by NumPy's names of the units."""


_EXACT = 2**51
"""Up to this number of ticks the float64 of ticks / ticks_per_day rounds back to the same tick."""


NOT_A_TIME = np.iinfo(np.int64).min
"""NumPy's tick of "not a time"."""


_POWERS = 11
"""A day has 864 * 10**11 nanoseconds: coarser grains than 10**11 ticks would not divide it."""


_LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf")


_WHEN = re.compile(r"\d{4}-\d\d|\d\d:\d\d")
"""The beginning of a date, a point in time or a time of day in ISO 8601."""


_WORDS = {
    "date": "dates",
    "datetime": "dates and times",
    "duration": "durations",
    "time": "times of day",
}


@runtime_checkable
class PandasTimestamp(Protocol):
    """A point in time of pandas, which has nanoseconds that Python's own has not."""

    def to_datetime64(self) -> np.datetime64:
        """Return it in UTC if it has a time zone."""
        ...

    def tz_localize(self, tz: str) -> PandasTimestamp:
        """Return the same clock time with a time zone."""
        ...

    def tz_convert(self, tz: tzinfo) -> PandasTimestamp:
        """Return the same instant in another time zone."""
        ...


@runtime_checkable
class PandasTimedelta(Protocol):
    """A duration of pandas."""

    def to_timedelta64(self) -> np.timedelta64:
        """Return it with the unit that it has."""
        ...


@dataclass(frozen=True)
class TimeAxis:
    """How a column of times is an axis of floats: days from `origin`.

    Parameters
    ----------
    kind : {"date", "datetime", "duration", "time"}
    unit : str
        The column's resolution, as NumPy names it: "D", "h", "m", "s", "ms", "us" or "ns". Ticks are counted in it.
    origin : int
        The tick at which day 0 begins: of points in time the midnight (UTC) before the first value, counted from 1970.
    zone : str, optional
        The time zone of the column. Ticks are UTC; texts are local time.
    grain : int
        Ticks of the smallest difference on the axis: 1, or a power of ten if the range has too many ticks for float64.
    exact : bool
        Whether every value of the column can be recovered from its float. If not, results round it to the nearest
        multiple of the grain; the model still gets observed values as they are.

    Examples
    --------
    >>> axis = TimeAxis.of(np.array(["2020-01-01", "2020-03-01"], dtype="datetime64[D]"))
    >>> axis.days(np.array(["2020-01-31"], dtype="datetime64[D]"))
    array([30.])
    >>> axis.times(np.array([30.0]))
    array(['2020-01-31'], dtype='datetime64[D]')
    """

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
        """Return the axis for a column's ticks.

        Parameters
        ----------
        kind, unit, zone
            As of the axis.
        ticks : ndarray of int64, shape (n,)
        present : ndarray of bool, shape (n,)
            Which rows have a value.
        """
        if not present.any():
            return cls(kind, unit, 0, zone)
        some = ticks if present.all() else ticks[present]
        low, high = int(some.min()), int(some.max())
        day = PER_DAY[unit]
        # Times of day count from midnight; durations count from zero unless this would lose digits.
        near = kind == "time" or (kind == "duration" and max(abs(low), abs(high)) < _EXACT)
        origin = 0 if near else low // day * day
        span, grain, whole = max(high - origin, origin - low), 1, True
        while span // grain >= _EXACT and day % (10 * grain) == 0:
            grain *= 10
            whole = whole and not (some % grain).any()
        return cls(kind, unit, origin, zone, grain, whole)

    @classmethod
    def of(
        cls, values: NDArray[Any], kind: TimeKind | None = None, zone: str | None = None
    ) -> TimeAxis:
        """Return the axis for an array of datetime64 or timedelta64.

        Parameters
        ----------
        values : ndarray of datetime64 or timedelta64, shape (n,)
        kind : {"date", "datetime", "duration", "time"}, optional
            By default what the array's type says.
        zone : str, optional
            The time zone, whose times are given in UTC.

        Raises
        ------
        DataError
            For units that are coarser than a day, or finer than a nanosecond.
        """
        said, unit = kind_of(values.dtype)
        return cls.fitting(kind or said, unit, values.astype(np.int64), ~np.isnat(values), zone)

    @property
    def per_day(self) -> int:
        """Return how many grains a day has."""
        return PER_DAY[self.unit] // self.grain

    @property
    def resolution(self) -> float:
        """Return the least distance of two values, in days."""
        return 1 / self.per_day

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the NumPy type of its times: of times of day timedelta64 from midnight."""
        return np.dtype(f"{'m' if self.kind in ('duration', 'time') else 'M'}8[{self.unit}]")

    def days_of_ticks(self, ticks: Ints, present: Bools | None = None) -> Floats:
        """Return ticks as days; NaN where not present."""
        # Divided first: differences of nanoseconds over centuries do not fit into an int64.
        grain = self.grain
        if grain == 1:
            whole = (ticks - self.origin).astype(float)
        else:
            whole = (ticks // grain - self.origin // grain) + (ticks % grain) / grain
        days = whole / self.per_day
        return days if present is None else np.where(present, days, np.nan)

    def ticks(self, days: Floats) -> Ints:
        """Return days as ticks, rounded to the column's resolution; NaN is NumPy's "not a time"."""
        missing = np.isnan(days)
        whole = np.rint(np.where(missing, 0.0, days) * self.per_day).astype(np.int64)
        return np.where(missing, NOT_A_TIME, whole * self.grain + self.origin)

    def rounded(self, days: Floats) -> Floats:
        """Return the days of the nearest times that the column can hold."""
        if not self.exact:
            return days  # observed values must stay what they are: `ticks` rounds all others
        whole = np.rint(days * self.per_day)
        if self.kind == "time":  # there is none after the last tick of the day
            whole = np.clip(whole, 0, self.per_day - 1)
        return whole / self.per_day

    def times(self, days: Floats) -> NDArray[Any]:
        """Return days as datetime64 (UTC where there is a time zone) or timedelta64; NaN becomes NaT."""
        return self.ticks(np.asarray(days, dtype=float)).view(self.dtype)

    def days(self, values: Any, what: str = "values") -> Floats:
        """Return times as days.

        Parameters
        ----------
        values : array_like
            datetime64 or timedelta64 (of an axis with a time zone in UTC), objects of Python's `datetime` or of pandas,
            text as ISO 8601 writes it, or a column of a data frame library. Objects and text without a time zone are
            local time on an axis that has one. Floats are refused, but for NaN.
        what : str
            For errors.

        Returns
        -------
        ndarray of float, shape of `values`
            NaN where missing.

        Raises
        ------
        DataError
            For values that are not times of this kind.
        """
        array = _as_times(values)
        if array.dtype.kind in "OU":
            flat = [self._scalar(v, what) for v in array.ravel().tolist()]
            return np.array(flat, dtype=float).reshape(array.shape)
        if array.dtype.kind == "f" and np.isnan(array).all():
            return array.astype(float)
        if array.dtype.kind not in "mM" or (array.dtype.kind == "m") != (self.dtype.kind == "m"):
            raise self._refused(what, f"{array.dtype} values")
        return self._from_numpy(array)

    def _from_numpy(self, array: NDArray[Any]) -> Floats:
        present = ~np.isnat(array)
        if np.datetime_data(array.dtype)[0] == "generic":
            return np.full(array.shape, np.nan)  # NaT alone has no unit
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

    def _scalar(self, value: Any, what: str) -> float:
        """Return one object, or text, as days."""
        if value is None or (isinstance(value, float) and np.isnan(value)):
            return np.nan
        if isinstance(value, str):
            value = self._read(value, what)
        found = self._as_numpy(value)
        if found is None or (found.dtype.kind == "m") != (self.dtype.kind == "m"):
            raise self._refused(what, repr(value)[:60])
        return float(self._from_numpy(np.array([found]))[0])

    def _as_numpy(self, value: Any) -> np.datetime64 | np.timedelta64 | None:
        """Return an object as NumPy's, None where it is no time."""
        if isinstance(value, (np.datetime64, np.timedelta64)):
            return value
        if isinstance(value, (date, datetime)):
            return self._instant(value)
        return _amount(value)

    def _instant(self, value: date | datetime) -> np.datetime64:
        """Return a point in time in UTC; without a zone of its own it is local time where the axis has one."""
        if not isinstance(value, datetime):
            if self.zone is None:
                return np.datetime64(value)
            value = datetime(value.year, value.month, value.day)  # noqa: DTZ001 - gets one below
        if value.tzinfo is None and self.zone is not None:
            value = value.replace(tzinfo=self.tz)
        if isinstance(value, PandasTimestamp):
            return value.to_datetime64()
        if value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return np.datetime64(value)

    def _read(self, text: str, what: str) -> Any:
        try:
            if self.kind == "time":
                return time.fromisoformat(text)
            if self.kind != "duration":
                return datetime.fromisoformat(text)
        except ValueError as error:
            raise self._refused(what, repr(text)[:60]) from error
        raise self._refused(what, repr(text)[:60])

    def _refused(self, what: str, got: str) -> DataError:
        example = {
            "duration": 'np.timedelta64(3, "h")',
            "time": "datetime.time(14, 30)",
        }.get(self.kind, 'np.datetime64("2020-01-31")')
        return DataError(
            explained(
                what, got, _WORDS[self.kind], f"Give the column's own type, such as {example}"
            )
        )

    @cached_property
    def tz(self) -> tzinfo:
        """Return the time zone in which texts are written."""
        return zone_of(self.zone)

    @property
    def clock(self) -> str:
        """Return what a script needs to format days: kind, milliseconds from 1970 to day 0, and the time zone."""
        start = self.origin * 86_400_000 / PER_DAY[self.unit]
        zone = str(self.tz) if hasattr(self.tz, "key") else "UTC"
        if zone == "UTC" and self.zone is not None:
            ahead = self.tz.utcoffset(None)
            start += 0 if ahead is None else int(ahead.total_seconds() * 1000)
        return f"{self.kind} {start!r} {zone}"

    def local(self, days: Floats) -> NDArray[Any]:
        """Return days as datetime64 in local time, or as timedelta64."""
        times = self.times(days)
        if self.zone is None or self.dtype.kind == "m" or not len(times):
            return times
        shift = [_offset(t, self.tz) for t in times]
        return times.astype(_finer(times.dtype)) + np.array(shift, dtype="m8[s]")

    def from_local(self, times: NDArray[Any]) -> Floats:
        """Return local times as days."""
        if self.zone is None or self.dtype.kind == "m":
            return self._from_numpy(times)
        # The offset at the same clock time in UTC differs from the right one by at most one change of the offset.
        guess = times - np.array([_offset(t, self.tz) for t in times], dtype="m8[s]")
        shift = np.array([_offset(t, self.tz) for t in guess], dtype="m8[s]")
        return self._from_numpy(times.astype(_finer(times.dtype)) - shift)

    def texts(self, days: Sequence[float] | Floats, step: float | None = None) -> list[str]:
        """Return days as readable text, with enough detail to distinguish neighbours.

        Parameters
        ----------
        days : sequence of float
        step : float, optional
            The least difference that matters, in days; by default that of neighbours among `days`.

        Examples
        --------
        >>> axis = TimeAxis("datetime", "s")
        >>> axis.texts([0.0, 31.0]), axis.texts([0.25, 0.75])
        (['1970-01-01', '1970-02-01'], ['1970-01-01 06:00', '1970-01-01 18:00'])
        >>> TimeAxis("duration", "s").texts([0.0, 0.5, 2.25])
        ['0', '12 h', '2 d 6 h']
        """
        return written(self, np.asarray(days, dtype=float), step)

    def text(self, day: float, step: float | None = None) -> str:
        """Return one day as readable text; see `texts`."""
        return self.texts([day], step)[0]

    def onto(self, other: TimeAxis, days: Floats) -> Floats:
        """Return days on this axis as days on another one, whose origin may be another."""
        if (self.origin, self.unit) == (other.origin, other.unit):
            return days
        # One division of Python's integers: it is rounded once, however large they are.
        mine, theirs = PER_DAY[self.unit], PER_DAY[other.unit]
        return days + (self.origin * theirs - other.origin * mine) / (mine * theirs)


@dataclass(frozen=True, eq=False)
class TimePoints:
    """A table's column of times: a sequence of texts, from which data frames make their own type of times.

    Parameters
    ----------
    axis : TimeAxis
    days : ndarray of float, shape (n,)
        NaN is missing.
    """

    axis: TimeAxis
    days: Floats

    def __len__(self) -> int:
        return len(self.days)

    def __getitem__(self, part: slice) -> TimePoints:
        return TimePoints(self.axis, self.days[part])

    def __iter__(self) -> Iterator[str | None]:
        return iter(self.tolist())

    def tolist(self) -> list[str | None]:
        """Return ISO 8601 texts in full, with the offset of the time zone; None where missing."""
        times = self.axis.local(self.days)
        missing = np.isnat(times)
        if self.axis.dtype.kind == "m":
            texts = self.axis.texts(self.days, self.axis.resolution)
        else:
            ahead = np.zeros(len(times), dtype=np.int64)
            if self.axis.zone is not None:
                utc = self.axis.times(self.days).astype(times.dtype)
                ahead = (times - utc).astype("m8[s]").astype(np.int64)
            texts = [
                f"{t}{_offset_text(int(a))}" if self.axis.zone is not None else str(t)
                for t, a in zip(np.datetime_as_string(times), ahead, strict=True)
            ]
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
        moved = [o.axis.onto(self.axis, o.days) for o in others]
        return TimePoints(self.axis, np.concatenate([self.days, *moved]))

    def alike(self, other: TimePoints) -> bool:
        """Return whether both may stand in one column."""
        return (self.axis.kind, self.axis.zone) == (other.axis.kind, other.axis.zone)


def _offset_text(seconds: int) -> str:
    sign, minutes = "-" if seconds < 0 else "+", abs(seconds) // 60
    return f"{sign}{minutes // 60:02}:{minutes % 60:02}"


class Ticks:
    """The way from days back to the ticks of a column: observed values exactly, others rounded.

    Parameters
    ----------
    axis : TimeAxis
    ticks : ndarray of int64, shape (n,)
        The column.
    present : ndarray of bool, shape (n,)
    """

    def __init__(self, axis: TimeAxis, ticks: Ints, present: Bools) -> None:
        self.axis = axis
        self._known: tuple[Floats, Ints] | None = None
        if not axis.exact:
            # Nanoseconds over years: floats lead back to observed values by looking them up.
            some = np.unique(ticks[present])
            self._known = axis.days_of_ticks(some), some

    def __call__(self, days: Floats) -> Ints:
        """Return days as ticks; NaN is `NOT_A_TIME`."""
        ticks = self.axis.ticks(days)
        if self._known is None:
            return ticks
        own, known = self._known
        place = np.minimum(np.searchsorted(own, days), len(own) - 1)
        return np.where(own[place] == days, known[place], ticks)


def _amount(value: Any) -> np.timedelta64 | None:
    """Return a time of day, from midnight, or a duration as NumPy's; None for anything else."""
    if isinstance(value, time):
        return time_of_day(value)
    if isinstance(value, PandasTimedelta):
        return value.to_timedelta64()
    return np.timedelta64(value) if isinstance(value, timedelta) else None


def time_of_day(value: time) -> np.timedelta64:
    """Return a time of day as a duration from midnight."""
    seconds = 3600 * value.hour + 60 * value.minute + value.second
    return np.timedelta64(1_000_000 * seconds + value.microsecond, "us")


def unit_of(dtype: np.dtype[Any]) -> str:
    """Return the unit of a datetime64 or timedelta64.

    Raises
    ------
    DataError
        For units that are coarser than a day, finer than a nanosecond, or multiples such as 25 seconds.
    """
    unit, count = np.datetime_data(dtype)
    if unit not in PER_DAY or count != 1:
        raise DataError(
            explained(
                "X",
                f"an array of dtype {dtype}",
                "times in days, hours, minutes, seconds or fractions down to nanoseconds",
                f'Use X.astype("{dtype.kind}8[s]")',
            )
        )
    return unit


def kind_of(dtype: np.dtype[Any]) -> tuple[TimeKind, str]:
    """Return what times of a NumPy type are, and their unit; see `unit_of`."""
    unit = unit_of(dtype)
    if dtype.kind == "m":
        return "duration", unit
    return ("date" if unit == "D" else "datetime"), unit


def zone_of(name: str | None) -> tzinfo:
    """Return the time zone of a name such as "Europe/Berlin" or "+01:00"; UTC where it is not known here."""
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
    """Return by how many seconds local time is ahead of UTC."""
    try:
        moment = instant.astype("M8[s]").item()
    except (ValueError, OverflowError):
        return 0
    if not isinstance(moment, datetime):  # not a time; before the year 1, after 9999
        return 0
    try:
        ahead = moment.replace(tzinfo=UTC).astimezone(tz).utcoffset()
    except OverflowError:
        return 0
    return 0 if ahead is None else int(ahead.total_seconds())


def _finer(dtype: np.dtype[Any]) -> str:
    """Return the type, or that of seconds where it is coarser: time zones are minutes apart."""
    unit = np.datetime_data(dtype)[0]
    return f"{dtype.kind}8[{unit if unit in ('s', 'ms', 'us', 'ns') else 's'}]"


def _as_times(values: Any) -> NDArray[Any]:
    """Return values as an array; those of a data frame library as datetime64 or timedelta64 if they are times."""
    if isinstance(values, np.ndarray):
        return values
    if type(values).__module__.partition(".")[0] in _LIBRARIES and np.ndim(values):
        from skedasis.data.time_columns import times_of  # it loads narwhals

        return times_of(values)
    return np.asarray(values, dtype=object)


def given_times(values: Any) -> tuple[Any, ...] | None:
    """Return what a caller gave as a tuple of times, of any types that `TimeAxis.days` takes; None for others."""
    if isinstance(values, str):
        return None
    try:
        found = tuple(values)
    except TypeError:
        return None
    kinds = (date, time, timedelta, np.datetime64, np.timedelta64)
    there = [isinstance(v, kinds) or (isinstance(v, str) and bool(_WHEN.match(v))) for v in found]
    return found if found and all(there) else None


# ------------------------------------------------------------------------------------------
# Text of points on a time axis, and round ticks.


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
