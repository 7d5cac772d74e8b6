"""Columns of times in arrays and data frames: conversion to integer ticks, and back to the column's own type.

`TimeObjects` converts columns of Python objects (`datetime`, `date`, pandas `Timestamp` and others), and `TimeColumn`
those of pandas, Polars and PyArrow. `skedasis.data.containers` is the caller; `skedasis.data.times` has the time axes.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Ints
from skedasis.data.factorize import is_absent
from skedasis.data.times import (
    NOT_A_TIME,
    PER_DAY,
    PandasTimedelta,
    PandasTimestamp,
    Ticks,
    TimeAxis,
    TimeKind,
    TimePoints,
    time_of_day,
    unit_of,
)

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

# ------------------------------------------------------------------- columns of Python objects
Times = NDArray[Any]
"""An array of datetime64 or timedelta64."""


@runtime_checkable
class _ZoneInfo(Protocol):
    """A time zone of zoneinfo."""

    key: str


@runtime_checkable
class _PytzZone(Protocol):
    """A time zone of pytz."""

    zone: str


_NUMPY_TYPES: dict[type, tuple[TimeKind, str]] = {
    date: ("date", "M8[D]"),
    datetime: ("datetime", "M8[us]"),
    timedelta: ("duration", "m8[us]"),
    time: ("time", "m8[us]"),
}
"""For each Python type the kind of time, and the NumPy type that represents all its values."""

_YEAR_1 = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class TimeObjects:
    """The common type and time zone of a column of time objects, with conversions to and from NumPy.

    Parameters
    ----------
    kind : {"date", "datetime", "duration", "time"}
    type : type
        `date`, `datetime`, `timedelta` or `time` of Python, or ``Timestamp`` or ``Timedelta`` of pandas.
    dtype : dtype
        The equivalent NumPy type; times with a time zone are in UTC, times of day are durations from midnight.
    tz : tzinfo, optional
    missing : object
        The column's marker of missing values.
    """

    kind: TimeKind
    type: type
    dtype: np.dtype[Any]
    tz: tzinfo | None = None
    missing: Any = None

    @classmethod
    def of(cls, values: Iterable[Any]) -> TimeObjects | None:
        """Return the type of a column's objects; None unless all are missing or times of one type and time zone."""
        objects = list(values)
        present = [v for v in objects if not is_absent(v)]
        if not present or len({type(v) for v in present}) != 1:
            return None
        first = present[0]
        if isinstance(first, PandasTimestamp):
            # Each object has its own unit; the finest represents all.
            kind, dtype = "datetime", np.result_type(*{v.to_datetime64().dtype for v in present})
        elif isinstance(first, PandasTimedelta):
            kind, dtype = "duration", np.result_type(*{v.to_timedelta64().dtype for v in present})
        elif type(first) in _NUMPY_TYPES:
            kind, name = _NUMPY_TYPES[type(first)]
            dtype = np.dtype(name)
        else:
            return None
        tz = None
        if isinstance(first, (datetime, time)):
            # Compared by name, because pytz has one object for each offset of a zone.
            zones = {zone_name(v.tzinfo) for v in present}
            tz = first.tzinfo
            if len(zones) != 1 or (tz is not None and (kind == "time" or zones == {None})):
                return None
        return cls(kind, type(first), dtype, tz, next(filter(is_absent, objects), None))

    @property
    def zone(self) -> str | None:
        """Return the name of the time zone."""
        return zone_name(self.tz)

    def read(self, values: Iterable[Any]) -> Times:
        """Return objects as NumPy times, (n,), in UTC if they have a time zone."""
        return np.array(
            [None if is_absent(v) else self._numpy(v) for v in values], dtype=self.dtype
        )

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
        """Return NumPy times as objects of the column's type, (n,)."""
        objects = np.empty(len(times), dtype=object)
        objects[:] = [self.missing if np.isnat(v) else self._object(v) for v in times]
        return objects

    def _object(self, value: Any) -> Any:
        if self.type not in _NUMPY_TYPES:
            converted = self.type(value)
            if self.tz is not None and isinstance(converted, PandasTimestamp):
                converted = converted.tz_localize("UTC").tz_convert(self.tz)
            return converted
        plain = value.astype("M8[D]" if self.kind == "date" else value.dtype).item()
        if self.kind == "time":
            return (_YEAR_1 + plain).time()
        return plain if self.tz is None else plain.replace(tzinfo=UTC).astimezone(self.tz)


def zone_name(tz: tzinfo | None) -> str | None:
    """Return a time zone's name, such as "Europe/Berlin", "UTC" or "+01:00"; None if it has no name."""
    if isinstance(tz, timezone):
        ahead = tz.utcoffset(None)
        sign, minutes = "-" if ahead < timedelta() else "+", abs(ahead) // timedelta(minutes=1)
        return "UTC" if not ahead else f"{sign}{minutes // 60:02}:{minutes % 60:02}"
    if isinstance(tz, _ZoneInfo):
        return tz.key
    return tz.zone if isinstance(tz, _PytzZone) else None


# ---------------------------------------------------------------------- columns of data frames
class TimeColumn:
    """A data frame column of times: its axis, and the conversion of days to the column's own type.

    Parameters
    ----------
    axis : TimeAxis
    series : narwhals Series
        The column, whose type converted columns get.
    ticks : ndarray of int64, shape (n,)
        The column in ticks of the axis.
    present : ndarray of bool, shape (n,)
        Which rows have a value.
    objects : TimeObjects, optional
        The type of the objects, if it is a column of objects.
    """

    def __init__(
        self,
        axis: TimeAxis,
        series: nw.Series[Any],
        ticks: Ints,
        present: Bools,
        objects: TimeObjects | None = None,
    ) -> None:
        self.axis = axis
        self._series, self._ticks, self._objects = series, Ticks(axis, ticks, present), objects

    @classmethod
    def of(cls, series: nw.Series[Any]) -> TimeColumn | None:
        """Return a column of times; None if the column does not have times only."""
        objects = _objects_of(series)
        kind_unit_zone = _kind_of(series, objects)
        if kind_unit_zone is None:
            return None
        kind, unit, zone = kind_unit_zone
        ticks, present = ticks_of(series, unit, objects)
        axis = TimeAxis.fitting(kind, unit, ticks, present, zone)
        return cls(axis, series, ticks, present, objects)

    def days(self, series: nw.Series[Any]) -> NDArray[np.float64]:
        """Return values of the column as days; NaN where missing."""
        return self.axis.days_of_ticks(*ticks_of(series, self.axis.unit, self._objects))

    def made(self, days: NDArray[np.float64], label: Any) -> nw.Series[Any]:
        """Return days as a column of the same type; observed values are exact, others rounded to its resolution."""
        import narwhals.stable.v2 as nw

        ticks, like = self._ticks(days), self._series.to_native()
        if self._objects is not None:
            native = like.__class__(self._objects.made(ticks.view(self.axis.dtype)), dtype=object)
        else:
            native = series_of(ticks, self.axis, like, self._series.implementation)
        return nw.from_native(native, series_only=True).alias(label)


def _objects_of(series: nw.Series[Any]) -> TimeObjects | None:
    """Return the type of a pandas column's time objects; None for other columns."""
    import narwhals.stable.v2 as nw

    if series.dtype == nw.Object and series.implementation.is_pandas_like():
        return TimeObjects.of(series.to_native())
    return None


def _kind_of(
    series: nw.Series[Any], objects: TimeObjects | None
) -> tuple[TimeKind, str, str | None] | None:
    """Return kind, unit and time zone of a column of times; None for other columns."""
    import narwhals.stable.v2 as nw

    dtype, arrow = series.dtype, str(_arrow_type(series))
    if arrow.startswith(("time32", "time64")):
        return "time", _unit_of(_arrow_type(series)), None
    if dtype == nw.Date or arrow.startswith("date"):  # narwhals does not support all Arrow types
        return "date", "D", None
    if isinstance(dtype, nw.Datetime):
        return "datetime", dtype.time_unit, dtype.time_zone
    if isinstance(dtype, nw.Duration):
        return "duration", dtype.time_unit, None
    if dtype == nw.Time:
        return "time", "ns", None
    return None if objects is None else (objects.kind, unit_of(objects.dtype), objects.zone)


def _arrow_type(series: nw.Series[Any]) -> Any:
    """Return a column's Arrow type; None for columns that are not stored as Arrow."""
    native: Any = series.to_native()
    if series.implementation.is_pyarrow():
        return native.type
    if series.implementation.is_pandas_like():
        return getattr(native.dtype, "pyarrow_dtype", None)
    return None


def ticks_of(
    series: nw.Series[Any], unit: str, objects: TimeObjects | None = None
) -> tuple[Ints, Bools]:
    """Return a column of times as ticks of `unit`, and which rows have a value.

    `objects` is the type of the objects, if it is a column of objects.
    """
    import narwhals.stable.v2 as nw

    native: Any = series.to_native()
    arrow = _arrow_type(series)
    if arrow is not None:
        ticks, present = _from_arrow(native if series.implementation.is_pyarrow() else native.array)
        return _scaled(ticks, _unit_of(arrow), unit), present
    if series.implementation.is_polars():
        present = ~native.is_null().to_numpy()
        ticks = native.to_physical().cast(importlib.import_module("polars").Int64)
        return ticks.fill_null(0).to_numpy().astype(np.int64), present
    if objects is not None:
        times = objects.read(native.tolist())
    else:
        if isinstance(series.dtype, nw.Datetime) and series.dtype.time_zone:
            native = native.dt.tz_convert("UTC").dt.tz_localize(None)
        times = np.asarray(native.to_numpy())
    present = ~np.isnat(times)
    return np.where(
        present, times.astype(f"{times.dtype.kind}8[{unit}]").astype(np.int64), 0
    ), present


def _from_arrow(values: Any) -> tuple[Ints, Bools]:
    pa = importlib.import_module("pyarrow")
    array = values.__arrow_array__() if hasattr(values, "__arrow_array__") else values
    narrow = pa.int32() if array.type.bit_width == 32 else pa.int64()
    whole = array.cast(narrow).cast(pa.int64())
    present = np.asarray(whole.is_valid().to_numpy(), dtype=bool)
    return np.asarray(whole.fill_null(0).to_numpy(), dtype=np.int64), present


def _unit_of(arrow: Any) -> str:
    text = str(arrow)
    if text.startswith("date32"):
        return "D"
    return "ms" if text.startswith("date64") else str(arrow.unit)


def _scaled(ticks: Ints, given: str, wanted: str) -> Ints:
    """Return ticks in another unit; also exact for Arrow's dates in milliseconds, which are whole days."""
    have, want = PER_DAY[given], PER_DAY[wanted]
    return ticks * (want // have) if want >= have else ticks // (have // want)


def series_of(ticks: Ints, axis: TimeAxis, like: Any, implementation: nw.Implementation) -> Any:
    """Return ticks as a native column.

    Parameters
    ----------
    ticks : ndarray of int64, shape (n,)
        `NOT_A_TIME` is missing.
    axis : TimeAxis
    like : native Series
        A column of the type to return.
    implementation : narwhals Implementation
        The data frame library.
    """
    if implementation.is_polars():
        pl = importlib.import_module("polars")
        whole = pl.Series(ticks)
        if (ticks == NOT_A_TIME).any():
            whole = whole.set(whole == NOT_A_TIME, None)
        return (whole.cast(pl.Int32) if axis.kind == "date" else whole).cast(like.dtype)
    if implementation.is_pyarrow():
        return importlib.import_module("pyarrow").chunked_array([_arrow(ticks, axis, like.type)])
    arrow = getattr(like.dtype, "pyarrow_dtype", None)
    if arrow is not None:
        made = like.array.__class__(_arrow(ticks, axis, arrow))
        return like.__class__(made, dtype=like.dtype)
    times = ticks.view(axis.dtype)
    series = like.__class__(times)
    if axis.zone is not None:
        series = series.dt.tz_localize("UTC").dt.tz_convert(like.dtype.tz)
    return series.astype(like.dtype)


def _arrow(ticks: Ints, axis: TimeAxis, wanted: Any) -> Any:
    pa = importlib.import_module("pyarrow")
    missing = ticks == NOT_A_TIME
    scaled = _scaled(np.where(missing, 0, ticks), axis.unit, _unit_of(wanted))
    whole = pa.array(scaled, mask=missing)
    return (whole.cast(pa.int32()) if wanted.bit_width == 32 else whole).cast(wanted)


def times_of(values: Any) -> NDArray[Any]:
    """Return a column or index of a data frame library as datetime64 (UTC) or timedelta64; else as objects."""
    import narwhals.stable.v2 as nw

    if hasattr(values, "to_series"):  # a pandas index
        values = values.to_series()
    try:
        series = nw.from_native(values, series_only=True)
    except TypeError:
        return np.asarray(values, dtype=object)
    column = TimeColumn.of(series)
    if column is None:
        return np.array(series.to_list(), dtype=object)
    ticks, present = ticks_of(series, column.axis.unit, _objects_of(series))
    return np.where(present, ticks, NOT_A_TIME).view(column.axis.dtype)


def as_series(points: TimePoints, name: str, backend: Any) -> nw.Series[Any]:
    """Return points of a time axis as a column of a data frame library."""
    import narwhals.stable.v2 as nw

    axis, times = points.axis, points.axis.times(points.days)
    if axis.kind == "time":
        clock: list[Any] = [None if v is None else time.fromisoformat(v) for v in points.tolist()]
        return nw.new_series(name, clock, backend=backend)
    unit = axis.unit
    if unit in ("h", "m", "s") or (unit == "D" and axis.kind != "date"):
        unit = "ms" if backend == "polars" else "s"  # Polars has no unit of seconds
    series = nw.new_series(name, times.astype(f"{times.dtype.kind}8[{unit}]"), backend=backend)
    if axis.zone is not None:
        series = series.dt.replace_time_zone("UTC").dt.convert_time_zone(axis.zone)
    return series
