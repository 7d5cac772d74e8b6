"""Columns of times in data frames: read as whole ticks, and made of them, in the type that the column has."""

from __future__ import annotations

import importlib
from datetime import time
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Ints
from skedasis.data.time_objects import TimeObjects
from skedasis.data.times import (
    NOT_A_TIME,
    PER_DAY,
    Ticks,
    TimeAxis,
    TimeKind,
    TimePoints,
    unit_of,
)


class TimeColumn:
    """A column of times: its axis, and the way from days to the column's own type.

    Parameters
    ----------
    axis : TimeAxis
    series : narwhals Series
        The column, whose type is taken over.
    ticks : ndarray of int64, shape (n,)
        The column in ticks of the axis.
    present : ndarray of bool, shape (n,)
    objects : TimeObjects, optional
        What the column holds, if it holds objects.
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
        """Return a column of times, None for one of anything else."""
        objects = _objects_of(series)
        found = _kind_of(series, objects)
        if found is None:
            return None
        kind, unit, zone = found
        ticks, present = ticks_of(series, unit, objects)
        axis = TimeAxis.fitting(kind, unit, ticks, present, zone)
        return cls(axis, series, ticks, present, objects)

    def days(self, series: nw.Series[Any]) -> NDArray[np.float64]:
        """Return rows of the column as days, NaN where missing."""
        return self.axis.days_of_ticks(*ticks_of(series, self.axis.unit, self._objects))

    def made(self, days: NDArray[np.float64], label: Any) -> nw.Series[Any]:
        """Return days as a column of the same type: observed values exactly, others rounded to its resolution."""
        ticks, like = self._ticks(days), self._series.to_native()
        if self._objects is not None:
            native = like.__class__(self._objects.made(ticks.view(self.axis.dtype)), dtype=object)
        else:
            native = series_of(ticks, self.axis, like, self._series.implementation)
        return nw.from_native(native, series_only=True).alias(label)


def _objects_of(series: nw.Series[Any]) -> TimeObjects | None:
    """Return what the objects of a column are, None where it holds none or no times."""
    if series.dtype == nw.Object and series.implementation.is_pandas_like():
        return TimeObjects.of(series.to_native())
    return None


def _kind_of(
    series: nw.Series[Any], objects: TimeObjects | None
) -> tuple[TimeKind, str, str | None] | None:
    """Return what a column's times are, their unit and zone; None for other columns."""
    dtype, arrow = series.dtype, str(_arrow_type(series))
    found: tuple[TimeKind, str, str | None] | None = None
    if arrow.startswith(("time32", "time64")):
        found = "time", _unit_of(_arrow_type(series)), None
    elif dtype == nw.Date or arrow.startswith("date"):  # narwhals does not know all that Arrow has
        found = "date", "D", None
    elif isinstance(dtype, nw.Datetime):
        found = "datetime", dtype.time_unit, dtype.time_zone
    elif isinstance(dtype, nw.Duration):
        found = "duration", dtype.time_unit, None
    elif dtype == nw.Time:
        found = "time", "ns", None
    elif objects is not None:
        found = objects.kind, unit_of(objects.dtype), objects.zone
    return found


def _arrow_type(series: nw.Series[Any]) -> Any:
    """Return the type of Arrow that a column has, None for columns of other libraries."""
    native: Any = series.to_native()
    if series.implementation.is_pyarrow():
        return native.type
    if series.implementation.is_pandas_like():
        return getattr(native.dtype, "pyarrow_dtype", None)
    return None


def ticks_of(
    series: nw.Series[Any], unit: str, objects: TimeObjects | None = None
) -> tuple[Ints, Bools]:
    """Return a column of times as ticks, and which rows have a value; `objects` are those that it holds."""
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
    """Return ticks in another unit: the dates that Arrow counts in milliseconds are whole days nevertheless."""
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
        Its type is taken over.
    implementation : narwhals Implementation
        The library.
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
    """Return a column, or an index, of a data frame library as datetime64 (UTC) or timedelta64, or as objects."""
    if hasattr(values, "to_series"):  # an index of pandas
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
    """Return places on a time axis as a column of a data frame library, in the type that the feature had."""
    axis, times = points.axis, points.axis.times(points.days)
    if axis.kind == "time":
        clock: list[Any] = [None if v is None else time.fromisoformat(v) for v in points.tolist()]
        return nw.new_series(name, clock, backend=backend)
    unit = axis.unit
    if unit in ("h", "m", "s") or (unit == "D" and axis.kind != "date"):
        unit = "ms" if backend == "polars" else "s"  # Polars has no seconds
    series = nw.new_series(name, times.astype(f"{times.dtype.kind}8[{unit}]"), backend=backend)
    if axis.zone is not None:
        series = series.dt.replace_time_zone("UTC").dt.convert_time_zone(axis.zone)
    return series
