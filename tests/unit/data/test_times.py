"""Dates, times and durations: continuous features, passed to the model in the column's own type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from typing import Any
from zoneinfo import ZoneInfo

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from dateutil import tz as dateutil_zones

import skedasis as sd
from skedasis.data import times
from skedasis.data.dataset import as_dataset
from skedasis.data.times import TimeAxis
from skedasis.errors import DataError
from tests.helpers import refused

N = 240
RNG = np.random.default_rng(7)
START = np.datetime64("2020-03-01", "us")
SECONDS = np.sort(RNG.choice(120 * 86_400, N, replace=False))
SECONDS[0] = 0
MOMENTS = START + SECONDS.astype("m8[s]").astype("m8[us]")
MOVED = RNG.permutation(N)
OTHER = RNG.normal(size=N)


def moments(unit="us"):
    """Return the moments in random order."""
    return MOMENTS[MOVED].astype(f"M8[{unit}]")


def clock(values):
    """Return the times of day of moments, as Python objects."""
    return [v.time() for v in values.astype("M8[us]").tolist()]


BERLIN = ZoneInfo("Europe/Berlin")
INDIA = dt.timezone(dt.timedelta(hours=5, minutes=30))


def zoned_moments(tz):
    """Return the moments in a time zone, as Python objects. Summer time begins in Berlin on 2020-03-29."""
    return [v.replace(tzinfo=dt.UTC).astimezone(tz) for v in moments().tolist()]


def pandas_columns():
    """Return pandas columns by name."""
    t = pd.Series(moments("ns"))
    zoned = t.dt.tz_localize("UTC")
    return {
        "ns": t,
        "s": t.astype("datetime64[s]"),
        "zone": zoned.dt.tz_convert("Europe/Berlin"),
        "zone of dateutil": zoned.dt.tz_convert(dateutil_zones.gettz("Europe/Berlin")),
        "duration": t - t.min(),
        "objects": pd.Series([v.date() for v in t], dtype=object),
        "zoned stamp objects": pd.Series(list(zoned.dt.tz_convert("Europe/Berlin")), dtype=object),
        "zoned objects": pd.Series(zoned_moments(BERLIN), dtype=object),
        "time objects": pd.Series(clock(t.to_numpy()), dtype=object),
        "arrow zone": zoned.astype("timestamp[us, tz=America/New_York][pyarrow]"),
        "arrow date": t.astype("date32[pyarrow]"),
        "arrow duration": (t - t.min()).astype("duration[ms][pyarrow]"),
        "arrow time": pd.Series(clock(t.to_numpy())).astype("time64[us][pyarrow]"),
    }


def polars_columns():
    """Return Polars columns by name."""
    t = pl.Series(moments())
    return {
        "date": t.cast(pl.Date),
        "ms": t.cast(pl.Datetime("ms")),
        "zone": t.dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"),
        "duration": (t - t.min()).cast(pl.Duration("ns")),
        "time": t.dt.time(),
    }


def arrow_columns():
    """Return Arrow columns by name."""
    t = pa.array(moments())
    since = pa.array(moments() - START)
    return {
        "date32": t.cast(pa.date32()),
        "date64": t.cast(pa.date32()).cast(pa.date64()),
        "zone": t.cast(pa.timestamp("us", "UTC")),
        "duration": since.cast(pa.duration("s")),
        "time64": pa.array(clock(moments()), pa.time64("ns")),
    }


@dataclass(frozen=True)
class Frame:
    """A frame with a column t, made when it is called: threads of Polars do not survive a fork of the collection."""

    make: Callable[[Any], Any]
    columns: Callable[[], dict[str, Any]]
    name: str

    def __call__(self):
        return self.make({"t": self.columns()[self.name], "z": OTHER})


FRAMES = [
    pytest.param(Frame(make, columns, name), id=f"{make.__module__.split('.')[0]} {name}")
    for make, columns, names in (
        (pd.DataFrame, pandas_columns, list(pandas_columns())),
        (pl.DataFrame, polars_columns, ["date", "ms", "zone", "duration", "time"]),
        (pa.table, arrow_columns, list(arrow_columns())),
    )
    for name in names
]


def numbers(frame):
    """Return column t in days, from the Python objects of its library, without the conversion under test."""
    found = []
    for v in nw.from_native(frame, eager_only=True).get_column("t").to_list():
        if isinstance(v, dt.timedelta):
            found.append(v / dt.timedelta(days=1))
        elif isinstance(v, dt.time):
            found.append((v.hour * 3600 + v.minute * 60 + v.second + v.microsecond / 1e6) / 86_400)
        elif isinstance(v, dt.datetime):
            day = dt.datetime(2020, 3, 1, tzinfo=dt.UTC if v.tzinfo else None)
            found.append((v - day) / dt.timedelta(days=1))
        else:
            found.append(float((v - dt.date(2020, 3, 1)).days))
    return np.array(found)


def kind_of(frame):
    """Return the native type of column t."""
    native = frame["t"]
    return native.type if isinstance(frame, pa.Table) else native.dtype


def other(frame):
    """Return column z."""
    return nw.from_native(frame, eager_only=True).get_column("z").to_numpy()


class Watching:
    """A model that uses the column as it is, checks its type and records its values."""

    def __init__(self, frame):
        self.kind, self.container = kind_of(frame), type(frame)
        self.seen = set()

    def __call__(self, X):
        assert type(X) is self.container
        assert kind_of(X) == self.kind
        days = numbers(X)
        self.seen |= set(days.tolist())
        return 3.0 * days + np.sin(days / 20.0) * other(X)


# ------------------------------------------------------------------------- rows passed to the model


@pytest.mark.parametrize(
    ("made", "method"),
    [
        pytest.param(*frame.values, method, id=f"{method}-{frame.id}")
        for frame, method in zip(FRAMES, cycle(["ale", "pdp", "rhale", "mplot"]), strict=False)
    ],
)
def test_an_effect_is_that_of_the_same_days_as_numbers(made, method):
    X = made()
    model = Watching(X)
    e = sd.explain(model, X, "t", method=method)
    days = numbers(X)
    plain = np.column_stack([days, OTHER])
    if method == "pdp":  # whose points are times that occur
        method = sd.PDP(grid=(e.x - e.x[0]) / np.timedelta64(1, "D") + days.min())
    want = sd.explain(
        lambda X: 3 * X[:, 0] + np.sin(X[:, 0] / 20) * X[:, 1], plain, 0, method=method
    )
    tick = e.time.resolution  # the column rounds points between observed values to it
    np.testing.assert_allclose(e(e.x), e.value, atol=4 * tick + 1e-6)
    if method == "rhale":
        assert abs(e.importance - want.importance) < 0.02 * want.importance
        assert np.all(np.abs(e.bins.effect[~e.bins.empty] - 3) < 0.5)  # per day, for any unit
        return
    got = (e.x - e.x[0]) / np.timedelta64(1, "D")
    np.testing.assert_allclose(got, want.x - want.x[0], atol=1.01 * tick + 1e-9)
    if method != "mplot":
        assert set(np.round(got + days.min(), 8)) <= set(np.round(days, 8))
    if len(e.value) == len(want.value):
        np.testing.assert_allclose(e.value, want.value, atol=4 * tick + 1e-6)


@pytest.mark.parametrize("made", FRAMES)
def test_observed_values_come_back_exactly(made):
    X = made()
    source = as_dataset(X)
    feature = source.features[0]
    assert feature.kind == "continuous"
    assert feature.time is not None
    assert feature.slope_denominator == "day"
    buffer = next(source.batches(N)).tile(1)
    days = source.table.column(0)
    back = buffer.swept({0: days[None, :]}, 1)
    assert kind_of(back) == kind_of(X)
    for made, own in zip(_list(back), _list(X), strict=True):
        assert made == own
        assert type(made) is type(own)


def _list(frame):
    return nw.from_native(frame, eager_only=True).get_column("t").to_list()


OBJECTS = {
    "dates": [v.date() for v in moments().tolist()],
    "moments": moments().tolist(),
    "durations": (moments() - START).tolist(),
    "times": clock(moments()),
    "moments in Berlin": zoned_moments(BERLIN),
    "moments in India": zoned_moments(INDIA),
    "stamps": list(pd.Series(moments("ns"))),
    "stamps in Berlin": [pd.Timestamp(v) for v in zoned_moments(BERLIN)],
    "amounts": [pd.Timedelta(v) for v in (moments() - START).tolist()],
}


@pytest.mark.parametrize(
    ("name", "missing", "frame"),
    list(zip(OBJECTS, cycle([pd.NaT, None]), cycle([True, False, False]), strict=False)),
)
def test_objects_of_which_some_are_missing_are_times(name, missing, frame):
    values = np.empty((N, 1), dtype=object)
    values[:, 0] = OBJECTS[name]
    values[:30, 0] = missing
    X = pd.DataFrame({"t": pd.Series(values[:, 0], dtype=object)}) if frame else values
    seen = set()

    def model(X):
        column = (X["t"].to_numpy() if frame else X[:, 0]).tolist()
        seen.update(type(v) for v in column)
        return np.array([v is missing for v in column], dtype=float)

    feature = as_dataset(X).features[0]
    assert feature.kind == "continuous"
    assert feature.time is not None
    # A batch may contain only missing values.
    e = sd.explain(model, X, 0, method="ale", memory=20_000)
    assert e.missing_point.count == 30
    assert np.all(e.value == 0)
    assert seen == {type(missing), type(OBJECTS[name][0])}
    assert e.x[0] == np.sort(TimeAxis.times(e.time, e.points))[0]


@pytest.mark.parametrize("name", [n for n in OBJECTS if " in " in n])
def test_objects_with_a_zone_are_made_again_in_it(name):
    own = OBJECTS[name]
    X = pd.DataFrame({"t": own}, dtype=object)
    source = as_dataset(X)
    zone = {"Berlin": "Europe/Berlin", "India": "+05:30", "UTC": "UTC"}[name.split()[-1]]
    assert source.features[0].time.zone == zone
    days = source.table.column(0)
    made = next(source.batches(N)).tile(1).swept({0: days[None, :]}, 1)["t"].tolist()
    assert made == own
    assert [v.isoformat() for v in made] == [v.isoformat() for v in own]  # same time and offset
    assert {type(v) for v in made} == {type(v) for v in own}
    # Columns without objects have the same axis.
    plain = pd.DataFrame({"t": pd.to_datetime(pd.Series(own), utc=True).astype("M8[us, UTC]")})
    np.testing.assert_array_equal(as_dataset(plain).table.column(0), days)


UNNAMED = {
    "zone of this machine": (dateutil_zones.tzlocal(), "UTC"),
    "rules of a file": (dateutil_zones.gettz("America/New_York"), "UTC"),
    "offset of dateutil": (dateutil_zones.tzoffset("X", 5 * 3600), "+05:00"),
    "offset": (dt.timezone(dt.timedelta(hours=-5, minutes=-30)), "-05:30"),
}
"""Zones without a name of the time zone database, and the zones in which their times are shown."""


@pytest.mark.parametrize(
    ("name", "objects"), list(zip(UNNAMED, cycle([False, True]), strict=False))
)
def test_zones_without_a_name_are_times(name, objects):
    tz, shown = UNNAMED[name]
    t = pd.Series(moments()).dt.tz_localize("UTC").dt.tz_convert(tz)
    X = pd.DataFrame({"t": t.astype(object) if objects else t, "z": OTHER})
    seen, day = set(), pd.Timedelta(1, "D")

    def model(X):
        assert X["t"].dtype == (object if objects else t.dtype)
        seen.update((v, v.utcoffset()) for v in X["t"])
        return (pd.to_datetime(X["t"], utc=True) - pd.Timestamp(START, tz="UTC")) / day

    e = sd.explain(model, X, "t", method="ale")
    assert e.time.zone == shown
    np.testing.assert_allclose(e.bins.effect, 1.0)
    # Edges are observed values, and the model gets these with their offsets from UTC.
    assert seen <= {(v, v.utcoffset()) for v in t}
    assert set(e.to_frame()["x"]) <= set(t)


@pytest.mark.parametrize(
    "values",
    [
        [dt.time(h, tzinfo=dt.UTC) for h in range(24)],
        [dt.datetime(2020, 1, d, tzinfo=(dt.UTC, INDIA)[d % 2]) for d in range(1, 25)],
        [(dt.date, dt.datetime)[d % 2](2020, 1, d) for d in range(1, 25)],
    ],
    ids=["times of day with a zone", "two zones", "dates and moments"],
)
def test_objects_that_are_no_single_axis_are_levels(values):
    X = pd.DataFrame({"t": pd.Series(values, dtype=object)})
    assert as_dataset(X).features[0].kind == "nominal"


@pytest.mark.parametrize("unit", ["D", "m", "us", "ns"])
def test_an_array_of_times_stays_one(unit):
    X = np.column_stack([moments(unit), moments(unit)[::-1]])

    def model(X):
        assert X.dtype == np.dtype(f"M8[{unit}]")
        return (X[:, 0] - START) / np.timedelta64(1, "D")

    e = sd.explain(model, X, 0, method="ale")
    assert e.x.dtype == X.dtype
    assert set(e.x.tolist()) <= set(X[:, 0].tolist())
    np.testing.assert_allclose(e.bins.effect, 1.0)
    durations = X - X.min()
    e = sd.explain(lambda X: X[:, 0] / np.timedelta64(1, "h"), durations, 0, method="ale")
    assert e.x.dtype == durations.dtype
    np.testing.assert_allclose(e.bins.effect, 24.0)


@pytest.mark.parametrize("unit", ["M8[M]", "m8[ps]"])
def test_units_that_are_no_days_or_parts_are_refused(unit):
    X = np.zeros((5, 1), dtype=unit)
    with refused(DataError, "X", unit[:2], "days, hours"):
        sd.explain(lambda X: np.zeros(len(X)), X, 0)


def test_nanoseconds_over_decades_come_back_exactly():
    ticks = RNG.integers(0, 60 * 365 * 86_400 * 10**9, 500)
    X = pd.DataFrame({"t": ticks.view("M8[ns]"), "z": RNG.normal(size=500)})
    known = set(ticks.tolist())
    asked = []

    def model(X):
        asked.append(X["t"].to_numpy().view(np.int64))
        return X["z"].to_numpy()

    sd.explain(model, X, "t", method=sd.ALE(bins=7))
    assert set(np.concatenate(asked).tolist()) <= known
    assert as_dataset(X).features[0].time.exact is False


def test_ticks_that_are_whole_in_a_coarser_unit_lose_nothing():
    ticks = RNG.integers(0, 90 * 365 * 86_400, 500) * 10**9
    axis = TimeAxis.of(ticks.view("M8[ns]"))
    assert axis.exact
    assert axis.unit == "ns"
    np.testing.assert_array_equal(axis.ticks(axis.days(ticks.view("M8[ns]"))), ticks)
    # A difference of five centuries in nanoseconds does not fit into int64.
    far = np.array(["1700-01-01", "2200-01-01"], dtype="M8[ns]")
    axis = TimeAxis.of(far)
    np.testing.assert_array_equal(axis.times(axis.days(far)), far)


# ------------------------------------------------------------------------------ arguments and results


def zoned():
    """Return a frame with a time zone, and a model for it."""
    X = pd.DataFrame({"t": pandas_columns()["zone"], "z": OTHER})
    start = pd.Timestamp(START, tz="UTC")
    return X, lambda X: (X["t"] - start).dt.total_seconds() / 3600 + X["z"]


def test_tables_have_the_type_and_the_zone_of_the_column():
    X, model = zoned()
    e = sd.explain(model, X, "t", method="ale")
    assert e.to_frame()["x"].dtype == X["t"].dtype
    bins = e.to_frame(of="bins")
    assert bins["left"].dtype == bins["right"].dtype == X["t"].dtype
    assert set(bins["left"]) <= set(X["t"])
    np.testing.assert_allclose(bins["effect"], 24.0)
    for backend, kind in (
        ("polars", pl.Datetime("ns", "Europe/Berlin")),
        ("pyarrow", pa.timestamp("ns", "Europe/Berlin")),
    ):
        table = e.to_frame(backend)
        assert (table["x"].type if backend == "pyarrow" else table["x"].dtype) == kind
    curves = sd.explain(model, X, "t", method=sd.ICE(grid=3)).to_frame(of="curves")
    assert curves["x"].dtype == X["t"].dtype


def test_an_effect_is_evaluated_at_times():
    X, model = zoned()
    e = sd.explain(model, X, "t", method="ale")
    first = X["t"].min()
    np.testing.assert_allclose(e(e.x), e.value)
    np.testing.assert_allclose(e(X["t"]), e.at(as_dataset(X).table.column(0)))
    ways = [
        first,
        first.to_pydatetime(),
        str(first),
        str(first.tz_localize(None)),
        first.tz_convert("UTC").tz_localize(None).to_datetime64(),
    ]
    for way in ways:
        np.testing.assert_allclose(e(way), e.value[0], atol=1e-9)
    outside = [first - pd.Timedelta(1, "s"), pd.NaT, None, X["t"].max() + pd.Timedelta(1, "D")]
    assert np.isnan(e(outside)).all()
    with refused(DataError, "effect of 't'", "3.5", "dates and times"):
        e([3.5])


def test_bins_grids_and_anchors_are_asked_for_as_times():
    X, model = zoned()
    days = ["2020-04-01", "2020-05-01", "2020-06-01"]
    edges = [pd.Timestamp(d, tz="Europe/Berlin") for d in days]
    for given in (days, edges, pd.DatetimeIndex(edges)):
        e = sd.explain(model, X, "t", method=sd.ALE(bins=sd.Edges(given)))
        assert e.to_frame()["x"].tolist() == edges
        e = sd.explain(model, X, "t", method=sd.PDP(grid=given, anchor=edges[1]))
        assert e.to_frame()["x"].tolist() == edges
        assert e.value[1] == 0
    with refused(DataError, "Edges of 't'", "1.0", "dates and times"):
        sd.explain(model, X, "t", method=sd.ALE(bins=sd.Edges([1.0, 2.0])))
    with refused(DataError, "Edges of 'z'", "2020-04-01", "numbers"):
        sd.explain(model, X, "z", method=sd.ALE(bins=sd.Edges(days)))
    with refused(DataError, "increasing"):
        sd.explain(model, X, "t", method=sd.ALE(bins=sd.Edges(days[::-1])))
    with refused(DataError, "PDP(grid) of 't'", "dates and times"):
        sd.explain(model, X, "t", method=sd.PDP(grid=[1.0, 2.0]))


def test_missing_times_are_missing_values():
    X, model = zoned()
    X.loc[::6, "t"] = pd.NaT
    e = sd.explain(lambda X: np.nan_to_num(model(X)), X, "t", method="ale")
    assert e.missing == int(X["t"].isna().sum())
    assert e.missing_point is not None
    dates = pl.DataFrame({"t": polars_columns()["date"], "z": OTHER})
    dates = dates.with_columns(
        pl.when(pl.col("z") > 0.5).then(None).otherwise(pl.col("t")).alias("t")
    )
    e = sd.explain(lambda X: X["t"].is_null().to_numpy() * 1.0, dates, "t", method="pdp")
    assert e.missing == dates["t"].null_count()


def test_pairs_are_evaluated_at_times():
    X, model = zoned()
    s = sd.explain(lambda X: model(X) * X["z"], X, ("t", "z"), method=sd.ALE(bins=5))
    assert s.x[0].dtype.kind == "M"
    assert np.isfinite(s(X["t"][:5], X["z"][:5])).all()
    np.testing.assert_allclose(s(s.x[0][:, None], s.x[1][None, :]), s.value)
    assert s.to_frame()["x0"].dtype == X["t"].dtype
    assert s.to_frame(of="cells")["right0"].dtype == X["t"].dtype
    main = sd.explain(model, X, ["t", "z"], method=sd.ALE(bins=5))
    assert np.isfinite(s.with_main_effects(main).value).all()
    p = sd.explain(model, X, ("z", "t"), method=sd.PDP(grid=4))
    assert p.x[1].dtype.kind == "M"


# -------------------------------------------------------------------------------------- labels


def test_places_are_written_with_what_tells_them_apart():
    axis = TimeAxis.of(np.array(["2020-01-01T06:30:15", "2021-01-01"], dtype="M8[us]"))
    assert axis.texts([0.0, 31.0]) == ["2020-01-01", "2020-02-01"]
    assert axis.texts([0.25, 0.75]) == ["2020-01-01 06:00", "2020-01-01 18:00"]
    assert axis.texts([0.2, 100.3]) == ["2020-01-01", "2020-04-10"]
    assert axis.texts([0.0, 1 / 86_400]) == ["2020-01-01 00:00:00", "2020-01-01 00:00:01"]
    assert axis.texts([np.nan, 0.0]) == ["–", "2020-01-01"]
    waits = TimeAxis("duration", "s")
    assert waits.texts([-0.5, 0.0, 1.75]) == ["−12 h", "0", "1 d 18 h"]
    assert waits.text(90 / 86_400) == "1 min 30 s"
    assert TimeAxis("time", "ns").texts([0.25, 0.5 + 1 / 1440]) == ["06:00", "12:01"]


def test_local_time_is_written():
    axis = TimeAxis("datetime", "s", 0, "Europe/Berlin")
    summer = (
        np.datetime64("2020-07-01T10:00") - np.datetime64("1970-01-01T00:00")
    ) / np.timedelta64(1, "D")
    assert axis.text(summer) == "2020-07-01 12:00"
    assert TimeAxis("datetime", "s", 0, "+05:30").text(0.0) == "1970-01-01 05:30"
    assert TimeAxis("datetime", "s", 0, "no such zone").text(0.0) == "1970-01-01"


@pytest.mark.parametrize(
    ("kind", "span", "expected"),
    [
        ("datetime", 3e-4, "00:00:05"),
        ("datetime", 0.9, "06:00"),
        ("datetime", 20.0, "1970-01-12"),
        ("datetime", 200.0, "1970-03"),
        ("datetime", 4000.0, "1976"),
        ("datetime", 4e5, "2400"),
        ("date", 20.0, "1970-01-12"),
        ("duration", 20.0, "10 d"),
        ("duration", 0.9, "6 h"),
        ("time", 0.9, "06:00"),
    ],
)
def test_ticks_are_round(kind, span, expected):
    axis = TimeAxis(kind, "D" if kind == "date" else "us")
    at = times.ticks(axis, -0.02 * span if kind != "time" else 0.0, span, 6)
    assert 2 <= len(at) <= 8
    texts = times.written(axis, np.array(at), None, short=True)
    assert any(expected in t for t in texts), texts
