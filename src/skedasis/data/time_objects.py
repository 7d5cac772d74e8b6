"""Columns of Python's own times: which objects they hold, read as NumPy's times, and made of these again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from skedasis.data.coding import absent
from skedasis.data.times import PandasTimedelta, PandasTimestamp, TimeKind, time_of_day

Times = NDArray[Any]
"""An array of datetime64 or timedelta64."""


@runtime_checkable
class _Keyed(Protocol):
    """A time zone of zoneinfo."""

    key: str


@runtime_checkable
class _Named(Protocol):
    """A time zone of pytz."""

    zone: str


_NUMPY: dict[type, tuple[TimeKind, str]] = {
    date: ("date", "M8[D]"),
    datetime: ("datetime", "M8[us]"),
    timedelta: ("duration", "m8[us]"),
    time: ("time", "m8[us]"),
}
"""Of each of Python's types the kind of time, and the NumPy type that holds all its values."""
_YEAR_1 = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class TimeObjects:
    """What the objects of a column are: all that are not missing have one type, and one time zone or none.

    Parameters
    ----------
    kind : {"date", "datetime", "duration", "time"}
    type : type
        `date`, `datetime`, `timedelta` or `time` of Python, or ``Timestamp`` or ``Timedelta`` of pandas.
    dtype : dtype
        The NumPy type of the same times: in UTC if there is a time zone; times of day count from midnight.
    tz : tzinfo, optional
    missing : object
        What stands for a missing time.
    """

    kind: TimeKind
    type: type
    dtype: np.dtype[Any]
    tz: tzinfo | None = None
    missing: Any = None

    @classmethod
    def of(cls, values: Iterable[Any]) -> TimeObjects | None:
        """Return what Python objects are; None unless all that are not missing are times of one type and zone."""
        every = list(values)
        there = [v for v in every if not absent(v)]
        if not there or len({type(v) for v in there}) != 1:
            return None
        first = there[0]
        if isinstance(first, PandasTimestamp):
            # Each has a unit of its own; the finest holds all.
            kind, dtype = "datetime", np.result_type(*{v.to_datetime64().dtype for v in there})
        elif isinstance(first, PandasTimedelta):
            kind, dtype = "duration", np.result_type(*{v.to_timedelta64().dtype for v in there})
        elif type(first) in _NUMPY:
            kind, name = _NUMPY[type(first)]
            dtype = np.dtype(name)
        else:
            return None
        tz = None
        if isinstance(first, (datetime, time)):
            # A library may have an object for each offset of a zone: the name tells that they are the same.
            zones = {zone_name(v.tzinfo) for v in there}
            tz = first.tzinfo
            if len(zones) != 1 or (tz is not None and (kind == "time" or zones == {None})):
                return None
        return cls(kind, type(first), dtype, tz, next(filter(absent, every), None))

    @property
    def zone(self) -> str | None:
        """Return the name of the time zone."""
        return zone_name(self.tz)

    def read(self, values: Iterable[Any]) -> Times:
        """Return objects of a column as NumPy's times, (n,), in UTC if they have a zone."""
        return np.array([None if absent(v) else self._numpy(v) for v in values], dtype=self.dtype)

    def _numpy(self, value: Any) -> Any:
        if isinstance(value, PandasTimestamp):
            return value.to_datetime64()
        if isinstance(value, PandasTimedelta):
            return value.to_timedelta64()
        if isinstance(value, time):
            return time_of_day(value)
        if self.tz is not None:
            return value.astimezone(UTC).replace(tzinfo=None)
        return value

    def made(self, times: Times) -> NDArray[Any]:
        """Return NumPy's times as objects of the column's type, (n,)."""
        made = np.empty(len(times), dtype=object)
        made[:] = [self.missing if np.isnat(v) else self._object(v) for v in times]
        return made

    def _object(self, value: Any) -> Any:
        if self.type not in _NUMPY:
            found = self.type(value)
            if self.tz is not None and isinstance(found, PandasTimestamp):
                found = found.tz_localize("UTC").tz_convert(self.tz)
            return found
        plain = value.astype("M8[D]" if self.kind == "date" else value.dtype).item()
        if self.kind == "time":
            return (_YEAR_1 + plain).time()
        return plain if self.tz is None else plain.replace(tzinfo=UTC).astimezone(self.tz)


def zone_name(tz: tzinfo | None) -> str | None:
    """Return a time zone's name, such as "Europe/Berlin", "UTC" or "+01:00"; None for one that has none."""
    if isinstance(tz, timezone):
        ahead = tz.utcoffset(None)
        sign, minutes = "-" if ahead < timedelta() else "+", abs(ahead) // timedelta(minutes=1)
        return "UTC" if not ahead else f"{sign}{minutes // 60:02}:{minutes % 60:02}"
    if isinstance(tz, _Keyed):
        return tz.key
    return tz.zone if isinstance(tz, _Named) else None
