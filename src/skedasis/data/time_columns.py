"""Times as NumPy arrays: units, kinds, objects of Python and pandas, and columns of data frames as integer ticks."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Protocol,
    TypeAlias,
    TypeGuard,
    cast,
    runtime_checkable,
)

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Ints, Values
from skedasis.data.factorize import is_absent
from skedasis.errors import DataError

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    from narwhals.typing import IntoSeries

Series: TypeAlias = "nw.Series[IntoSeries]"
"""A column of a data frame of any library."""

# ----------------------------------------------------------------------------- kinds and units
Time: TypeAlias = np.datetime64 | np.timedelta64
Times: TypeAlias = NDArray[Time]
"""An array of datetime64 or timedelta64."""

TimeKind: TypeAlias = Literal["date", "datetime", "duration", "time"]

PER_DAY = {
    "D": 1,
    "h": 24,
    "m": 1_440,
    "s": 86_400,
    "ms": 86_400_000,
    "us": 86_400_000_000,
    "ns": 86_400_000_000_000,
}
"""Ticks per day for each unit, by NumPy's names of the units."""

NOT_A_TIME = np.iinfo(np.int64).min
"""NumPy's tick of "not a time"."""


@runtime_checkable
class PandasTimestamp(Protocol):
    """A point in time of pandas. Unlike Python's `datetime` it has nanoseconds."""

    def to_datetime64(self) -> np.datetime64:
        """Return it as datetime64, in UTC if it has a time zone."""
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
        """Return it as timedelta64 with its own unit."""
        ...


def is_times(array: NDArray[np.generic]) -> TypeGuard[Times]:
    """Return whether an array has times or durations of NumPy."""
    return array.dtype.kind in "mM"


def is_points(array: NDArray[np.generic]) -> TypeGuard[NDArray[np.datetime64]]:
    """Return whether an array has points in time, not durations."""
    return array.dtype.kind == "M"


def time_of_day(value: time) -> np.timedelta64:
    """Return a time of day as a duration from midnight."""
    seconds = 3600 * value.hour + 60 * value.minute + value.second
    return np.timedelta64(1_000_000 * seconds + value.microsecond, "us")


def unit_of(dtype: np.dtype[Time]) -> str:
    """Return the unit of a datetime64 or timedelta64."""
    unit, count = np.datetime_data(dtype)
    if unit not in PER_DAY or count != 1:
        raise DataError(
            "X",
            f"an array of dtype {dtype}",
            "times in days, hours, minutes, seconds, or units down to nanoseconds",
            f'Use X.astype("{dtype.kind}8[s]")',
        )
    return unit


def kind_of(dtype: np.dtype[Time]) -> tuple[TimeKind, str]:
    """Return the kind and the unit of a NumPy type of times; see `unit_of`."""
    unit = unit_of(dtype)
    if dtype.kind == "m":
        return "duration", unit
    return ("date" if unit == "D" else "datetime"), unit


def numpy_type(kind: TimeKind, unit: str) -> np.dtype[Time]:
    """Return the NumPy type of a kind of times; times of day are timedelta64 from midnight."""
    return np.dtype(f"{'m' if kind in ('duration', 'time') else 'M'}8[{unit}]")


# ------------------------------------------------------------------- columns of Python objects
@runtime_checkable
class _PandasIndex(Protocol):
    def to_series(self) -> IntoSeries:
        """Return it as a column."""
        ...


@runtime_checkable
class NamedZone(Protocol):
    """A time zone of zoneinfo."""

    key: str


@runtime_checkable
class _PytzZone(Protocol):
    """A time zone of pytz; one that is an offset has no name."""

    zone: str | None


@runtime_checkable
class _ZonedType(Protocol):
    """The type of a pandas column of points in time with a time zone, which narwhals may not know."""

    unit: Literal["s", "ms", "us", "ns"]
    tz: tzinfo


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
    """The common type and time zone of a column of time objects, with conversions to and from NumPy."""

    kind: TimeKind
    type: type
    dtype: np.dtype[Time]
    tz: tzinfo | None = None
    missing: object = None

    @classmethod
    def of(cls, values: Iterable[object]) -> TimeObjects | None:
        """Return the type of a column's objects; None unless all are missing or times of one type and time zone."""
        objects = list(values)
        first = next((v for v in objects if not is_absent(v)), None)
        # Most columns of objects are text: their other values need not be looked at.
        if not isinstance(first, (*_NUMPY_TYPES, PandasTimestamp, PandasTimedelta)):
            return None
        present = [v for v in objects if not is_absent(v)]
        if len({type(v) for v in present}) != 1:
            return None
        # All objects have the type of the first.
        if isinstance(first, PandasTimestamp):
            # Each object has its own unit; the finest represents all.
            stamps = cast("list[PandasTimestamp]", present)
            kind, dtype = "datetime", np.result_type(*{v.to_datetime64().dtype for v in stamps})
        elif isinstance(first, PandasTimedelta):
            deltas = cast("list[PandasTimedelta]", present)
            kind, dtype = "duration", np.result_type(*{v.to_timedelta64().dtype for v in deltas})
        elif type(first) in _NUMPY_TYPES:
            kind, name = _NUMPY_TYPES[type(first)]
            dtype = np.dtype(name)
        else:
            return None
        tz = None
        if isinstance(first, (datetime, time)):
            tz, name = first.tzinfo, zone_name(first.tzinfo)
            zones = [v.tzinfo for v in cast("list[datetime | time]", present)]
            # Also compared by name, because pytz has one object for each offset of a zone.
            same = all(z == tz or (name is not None and zone_name(z) == name) for z in zones)
            if not same or (tz is not None and kind == "time"):
                return None
        return cls(kind, type(first), dtype, tz, next(filter(is_absent, objects), None))

    @property
    def zone(self) -> str | None:
        """Return the time zone of texts."""
        return zone_of_texts(self.tz)

    def read(self, values: Iterable[object]) -> Times:
        """Return objects as NumPy times, (n,), in UTC if they have a time zone."""
        return np.array(
            [None if is_absent(v) else self._numpy(v) for v in values], dtype=self.dtype
        )

    def _numpy(self, value: object) -> object:
        """Return an object in a form that NumPy converts to its times."""
        if isinstance(value, PandasTimestamp):
            return value.to_datetime64()
        if isinstance(value, PandasTimedelta):
            return value.to_timedelta64()
        if isinstance(value, time):
            return time_of_day(value)
        if self.tz is not None and isinstance(value, datetime):
            return value.astimezone(UTC).replace(tzinfo=None)
        return value

    def made(self, times: Times) -> NDArray[np.object_]:
        """Return NumPy times as objects of the column's type, (n,)."""
        objects = np.empty(len(times), dtype=object)
        objects[:] = [self.missing if np.isnat(v) else self._object(v) for v in times]
        return objects

    def _object(self, value: Time) -> object:
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
    """Return a time zone's name, such as "Europe/Berlin", "UTC" or "+01:00"; None if it has none, as dateutil's."""
    if isinstance(tz, NamedZone):
        return tz.key
    if isinstance(tz, _PytzZone) and tz.zone is not None:
        return tz.zone
    ahead = None if tz is None else tz.utcoffset(None)
    if ahead is None:  # not the same at all times
        return None
    sign, minutes = "-" if ahead < timedelta() else "+", abs(ahead) // timedelta(minutes=1)
    return "UTC" if not ahead else f"{sign}{minutes // 60:02}:{minutes % 60:02}"


def zone_of_texts(tz: tzinfo | None) -> str | None:
    """Return the zone in which results show times of a zone: UTC for a zone without a name; None for no zone."""
    return None if tz is None else zone_name(tz) or "UTC"


# ------------------------------------------------------- columns of data frames as integer ticks
def native_of(series: Series) -> Any:
    """Return a column in its library's own type. The libraries have no type in common."""
    return series.to_native()


def objects_of(series: Series) -> TimeObjects | None:
    """Return the type of a pandas column's time objects; None for other columns."""
    import narwhals.stable.v2 as nw

    if series.dtype == nw.Object and series.implementation.is_pandas_like():
        return TimeObjects.of(native_of(series))
    return None


def zoned_type(series: Series) -> _ZonedType | None:
    """Return the type of a pandas column of points in time with a time zone; None for other columns."""
    if not series.implementation.is_pandas_like():
        return None
    dtype = native_of(series).dtype
    return dtype if isinstance(dtype, _ZonedType) else None


def kind_of_column(
    series: Series, objects: TimeObjects | None
) -> tuple[TimeKind, str, str | None] | None:
    """Return kind, unit and time zone of a column of times; None for other columns."""
    import narwhals.stable.v2 as nw

    dtype, arrow, zoned = series.dtype, str(arrow_type(series)), zoned_type(series)
    if arrow.startswith(("time32", "time64")):
        return "time", arrow_unit(arrow_type(series)), None
    if dtype == nw.Date or arrow.startswith("date"):  # narwhals does not support all Arrow types
        return "date", "D", None
    if zoned is not None:
        dtype = nw.Datetime(zoned.unit, zone_of_texts(zoned.tz))
    if isinstance(dtype, nw.Datetime):
        return "datetime", dtype.time_unit, dtype.time_zone
    if isinstance(dtype, nw.Duration):
        return "duration", dtype.time_unit, None
    if dtype == nw.Time:
        return "time", "ns", None
    return None if objects is None else (objects.kind, unit_of(objects.dtype), objects.zone)


def arrow_type(series: Series) -> Any:
    """Return a column's Arrow type; None for columns that are not stored as Arrow."""
    native = native_of(series)
    if series.implementation.is_pyarrow():
        return native.type
    if series.implementation.is_pandas_like():
        return getattr(native.dtype, "pyarrow_dtype", None)
    return None


def ticks_of(series: Series, unit: str, objects: TimeObjects | None = None) -> tuple[Ints, Bools]:
    """Return a column of times as ticks of `unit`, and which rows have a value."""
    native = native_of(series)
    arrow = arrow_type(series)
    if arrow is not None:
        in_pandas = not series.implementation.is_pyarrow()
        ticks, present = _from_arrow(native.array.__arrow_array__() if in_pandas else native)
        return rescaled(ticks, arrow_unit(arrow), unit), present
    if series.implementation.is_polars():
        present = ~native.is_null().to_numpy()
        ticks = native.to_physical().cast(importlib.import_module("polars").Int64)
        return ticks.fill_null(0).to_numpy().astype(np.int64), present
    if objects is not None:
        times = objects.read(native.tolist())
    else:
        if zoned_type(series) is not None:
            native = native.dt.tz_convert("UTC").dt.tz_localize(None)
        times = np.asarray(native.to_numpy())
    present = ~np.isnat(times)
    return np.where(
        present, times.astype(f"{times.dtype.kind}8[{unit}]").astype(np.int64), 0
    ), present


def _from_arrow(array: Any) -> tuple[Ints, Bools]:
    pa = importlib.import_module("pyarrow")
    narrow = pa.int32() if array.type.bit_width == 32 else pa.int64()
    whole = array.cast(narrow).cast(pa.int64())
    present = np.asarray(whole.is_valid().to_numpy(), dtype=bool)
    return np.asarray(whole.fill_null(0).to_numpy(), dtype=np.int64), present


def arrow_unit(arrow: Any) -> str:
    """Return the unit of an Arrow type of times, by NumPy's name."""
    text = str(arrow)
    if text.startswith("date32"):
        return "D"
    return "ms" if text.startswith("date64") else str(arrow.unit)


def rescaled(ticks: Ints, given: str, wanted: str) -> Ints:
    """Return ticks in another unit; also exact for Arrow's dates in milliseconds, which are whole days."""
    have, want = PER_DAY[given], PER_DAY[wanted]
    return ticks * (want // have) if want >= have else ticks // (have // want)


def times_of(values: object) -> Values:
    """Return a column or index of a data frame library as datetime64 (UTC) or timedelta64; else as objects."""
    import narwhals.stable.v2 as nw

    if isinstance(values, _PandasIndex):
        values = values.to_series()
    try:
        series = nw.from_native(cast("IntoSeries", values), series_only=True)  # checked there
    except TypeError:
        return np.asarray(values, dtype=object)
    objects = objects_of(series)
    known = kind_of_column(series, objects)
    if known is None:
        return np.array(series.to_list(), dtype=object)
    kind, unit, _ = known
    ticks, present = ticks_of(series, unit, objects)
    return np.where(present, ticks, NOT_A_TIME).view(numpy_type(kind, unit))
