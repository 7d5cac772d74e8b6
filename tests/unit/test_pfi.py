"""PFI: cost, provenance, unusual data, and invalid input."""

from __future__ import annotations

import time
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import skedasis as sd
from tests.helpers import Remembers, frame, of_frame, refused, table

N, D = 90, 3


def product(X):
    return X[:, 0] * X[:, 1]


def important(quantity, X, features=None, **options):
    """Return an importance; options are passed to `PFI` or to `explain` by their names."""
    known = sd.PFI.__dataclass_fields__
    settings = {k: options.pop(k) for k in list(options) if k in known and k != "groups"}
    return sd.explain(quantity, X, features, method=sd.PFI(**settings), progress=False, **options)


def labels(X):
    return X[:, 0] + 0.1 * X[:, 1] ** 2


# ------------------------------------------------------------------------------------------- costs


class Counts:
    """A model that counts its calls and their rows."""

    def __init__(self, model=product):
        self.model, self.rows, self.calls = model, 0, 0

    def __call__(self, X):
        self.rows += len(X)
        self.calls += 1
        return self.model(X)


@pytest.mark.parametrize("memory", ["1GB", 40_000])
@pytest.mark.parametrize("repeats", [1, 7, 30])
def test_model_rows_are_those_promised(repeats, memory):
    model = Counts()
    pf = important(model, table(N, D), n_repeats=repeats, memory=memory)
    said = pf.provenance
    assert said["model_rows"] == N * (1 + repeats * D)
    assert model.rows == said["model_rows"] + said["check_rows"]
    assert model.calls == said["model_calls"] + said["check_calls"]
    assert said["check_rows"] <= 128
    if memory == "1GB":
        assert said["model_calls"] == 1 + D


@pytest.mark.parametrize("memory", ["1GB", 200_000])
def test_all_pairs_cost_all_pairs(memory):
    model = Counts()
    pf = important(model, table(N, D), exact=True, memory=memory)
    assert pf.provenance["model_rows"] == N * (1 + N * D)
    assert model.rows == pf.provenance["model_rows"] + pf.provenance["check_rows"]


def test_the_other_forms_cost_the_same():
    X, q = table(N, D), sd.loss(product)
    for settings in ({"conditional": True}, {"metric": "r2"}, {"groups": None}):
        quantity = product if "metric" in settings else q
        pf = important(quantity, X, y=labels(X), n_repeats=4, **settings)
        assert pf.provenance["model_rows"] == N * (1 + 4 * D)
    groups = {"two": ["x0", "x2"]}
    pf = important(product, X, n_repeats=4, groups=groups)
    assert pf.features == ("two", "x1")
    assert pf.provenance["model_rows"] == N * (1 + 4 * 2)
    pf = important(product, X, n_repeats=4, max_samples=30)
    assert pf.provenance["model_rows"] == 30 * (1 + 4 * D)
    pf = important(product, X, ["x1"], n_repeats=4)
    assert pf.provenance["model_rows"] == N * (1 + 4)


def test_several_outputs_cost_the_rows_of_one():
    def both(X):
        return np.stack([X[:, 0], product(X)], axis=1)

    model = Counts(both)
    found = important(sd.prediction(model, output="all"), table(N, D), n_repeats=5)
    for pf in found.values():
        assert pf.provenance["model_rows"] == N * (1 + 5 * D)
        assert model.rows == pf.provenance["model_rows"] + pf.provenance["check_rows"]


def test_calls_are_neither_tiny_nor_giant():
    X = table(20_000, 2)
    model = Counts()
    said = important(model, X, n_repeats=10, local=0).provenance
    assert said["model_calls"] <= 10 * (1 + 2)  # 20,000 rows per call, if there are that many
    seen = Remembers(product)
    important(seen, table(300, 2), n_repeats=2_000, local=0)
    assert max(len(part) for part in seen.seen) <= 100_000


def test_x_is_not_copied():
    X = np.zeros((100_000, 50))
    X[:, :2] = table(100_000, 2)
    important(lambda X: X[:, 0] * X[:, 1], X[:100], [0])
    tracemalloc.start()
    important(lambda X: X[:, 0] * X[:, 1], X, [0, 1], n_repeats=3, local=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.8 * X.nbytes  # X has 40 MB; a batch and row indices need less


@pytest.mark.slow
def test_time_grows_as_the_rows():
    def seconds(rows):
        X = table(rows, 4)
        best = np.inf
        for _ in range(3):
            started = time.perf_counter()
            important(product, X, n_repeats=5)
            best = min(best, time.perf_counter() - started)
        return best

    seconds(1_000)
    assert seconds(200_000) < 4 * 8 * seconds(25_000)


# -------------------------------------------------------------------------------------- provenance


def test_provenance_tells_how_it_was_made():
    pf = important(product, table(N, D), n_repeats=4, groups={"two": ["x0", "x2"]}, random_state=3)
    said = pf.provenance
    assert (said["method"], said["random_state"], said["rows"], said["exact"]) == (
        "PFI",
        3,
        N,
        True,
    )
    assert said["settings"]["n_repeats"] == 4
    assert said["features"] == ["two", "x1"]
    own = sd.explain(product, table(N, D), method=sd.PFI(groups={"two": ["x0", "x2"]}))
    assert own.provenance["settings"]["groups"] == {"two": ["x0", "x2"]}


@pytest.mark.parametrize(
    ("settings", "rows", "exact"),
    [
        ({"max_samples": 30}, 30, False),
        ({"max_samples": np.int64(30)}, 30, False),
        ({"max_samples": 0.5}, 45, False),
        ({"max_samples": np.float64(0.5)}, 45, False),
        ({"max_samples": 1.0}, N, True),
        ({"max_samples": N}, N, True),
        ({"max_samples": 10 * N}, N, True),
        ({"max_samples": 1e-9}, 1, False),
        ({"max_samples": 30, "exact": True}, 30, False),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_samples_of_rows_say_so(settings, rows, exact, weighted):
    w = np.linspace(0.5, 3, N) if weighted else None
    pf = important(product, table(N, D), sample_weight=w, **settings)
    assert pf.rows == rows
    assert pf.provenance["rows"] == rows
    assert pf.provenance["exact"] is exact


def test_sampled_rows_keep_their_weights_and_labels():
    X = table(N, D)
    w, y = np.linspace(0.5, 3, N), labels(X)
    pf = important(
        sd.loss(product), X, y=y, sample_weight=w, max_samples=40, local="all", n_repeats=30
    )
    rows = pf.local.row
    assert len(np.unique(rows)) == 40
    np.testing.assert_array_equal(pf.local.weight, w[rows])
    np.testing.assert_allclose(pf.local.before, (product(X) - y)[rows] ** 2)
    assert pf.baseline == pytest.approx(np.average(pf.local.before, weights=w[rows]))
    exact = important(sd.loss(product), X[rows], y=y[rows], sample_weight=w[rows], exact=True)
    assert (np.abs(pf.mean - exact.mean) <= 4 * pf.std / np.sqrt(30) + 1e-12).all()
    other = important(
        sd.loss(product), X, y=y, sample_weight=w, max_samples=40, local="all", random_state=1
    )
    assert set(other.local.row) != set(rows)


def test_beyond_the_budget_a_sample_of_rows_is_kept():
    want = important(product, table(N, D), n_repeats=4, local="all")
    pf = important(product, table(N, D), n_repeats=4, local="all", keep="5KB")
    assert 0 < len(pf.local) < N
    assert not pf.local.exact
    assert pf.provenance["exact"] is True  # importances are computed from all rows
    assert pf.provenance["kept_as_wanted"] is False
    np.testing.assert_array_equal(pf.values, want.values)
    np.testing.assert_array_equal(pf.local.after, want.local.after[:, pf.local.row])
    assert important(product, table(N, D), keep=0).local is None


@pytest.mark.parametrize("most", [60, np.int64(80)])
def test_a_sample_that_holds_all_rows_is_none(most):
    w = np.where(np.arange(N) < 30, 0.0, 1.0)
    pf = important(product, table(N, D), sample_weight=w, max_samples=most)
    assert pf.rows == 60
    assert pf.provenance["exact"] is True


def test_names_stand_for_the_method():
    pf = sd.explain(product, table(N, D), method="pfi")
    assert isinstance(pf, sd.Importance)
    assert pf.values.shape == (D, 10)
    one = sd.explain(product, table(N, D), "x1", method="pfi")
    assert isinstance(one, sd.Importance)
    assert one.features == ("x1",)
    np.testing.assert_array_equal(one.values[0], pf.values[1])


def test_a_metric_of_ones_own():
    """It gets labels and values of all rows, and weights if there are any; results agree with direct computation."""
    X = table(N, D)
    y = labels(X)
    seen = []

    def largest(y, values, sample_weight=None):
        seen.append((len(y), None if sample_weight is None else sample_weight.copy()))
        return np.abs(y - values).max()

    pf = important(
        product, X, y=y, metric=largest, greater_is_better=False, n_repeats=5, local="all"
    )
    assert pf.baseline == pytest.approx(np.abs(y - product(X)).max())
    want = np.abs(y[:, None] - pf.local.after).max(axis=1) - pf.baseline
    np.testing.assert_allclose(pf.values, want, rtol=1e-12, atol=1e-12)
    assert pf.metric == pf.provenance["metric"] == "largest"
    assert (N, None) in seen
    w = np.linspace(0.5, 2, N)
    important(product, X, y=y, sample_weight=w, metric=largest, n_repeats=3)
    np.testing.assert_array_equal(next(given for rows, given in reversed(seen) if rows == N), w)


def test_a_metric_that_is_better_the_larger_it_is_has_the_opposite_sign():
    X = table(N, D)

    def likeness(y, values):
        return -np.mean((y - values) ** 2)

    def error(y, values):
        return np.mean((y - values) ** 2)

    up = important(product, X, y=labels(X), metric=likeness)
    down = important(product, X, y=labels(X), metric=error, greater_is_better=False)
    np.testing.assert_allclose(up.values, down.values, rtol=1e-12)
    # A loss is a mean over rows and includes pairs of a row with itself; a metric of all rows cannot.
    loss = important(sd.loss(product), X, y=labels(X))
    np.testing.assert_allclose((1 - 1 / N) * down.values, loss.values, rtol=1e-9)


def test_the_area_of_every_class_is_that_of_the_class_alone():
    X = table(N, D)
    y = np.where(X[:, 0] + X[:, 2] > 0, "yes", "no")
    model = LogisticRegression().fit(X, y)
    settings = {"metric": "roc_auc", "n_repeats": 2}
    found = important(sd.probability(model, class_="all"), X, y=y, **settings)
    for name, pf in found.items():
        alone = important(sd.probability(model, class_=name), X, y=y, **settings)
        np.testing.assert_allclose(pf.values, alone.values)


# ------------------------------------------------------------------------------------ unusual data


@pytest.mark.parametrize("settings", [{}, {"exact": True}])
def test_one_row_has_nobody_to_borrow_from(settings):
    pf = important(product, table(1, D), **settings)
    np.testing.assert_array_equal(pf.values, 0.0)
    with refused(sd.DataError, "1 row", "7 rows"):
        pf.interval()


def test_two_rows_lend_to_each_other_half_the_time():
    X = np.array([[1.0, 10.0], [2.0, 30.0]])
    pf = important(product, X, n_repeats=200)
    swapped = (2 * 10 + 1 * 30 - 1 * 10 - 2 * 30) / 2
    assert set(np.unique(pf.values)) == {swapped / 2}
    exact = important(product, X, exact=True)
    np.testing.assert_allclose(exact.mean, swapped / 2)


@pytest.mark.parametrize("rows", [2, 5, 6])
def test_few_rows_have_importances_but_no_interval(rows):
    pf = important(product, table(rows, D))
    assert np.isfinite(pf.mean).all()
    with refused(sd.DataError, f"{rows} rows", "7 rows"):
        pf.interval()


def test_three_repeats_have_an_interval_whatever_the_seed():
    X = table(100, 2)
    for seed in range(40):
        low, high = important(product, X, n_repeats=3, random_state=seed).interval()
        assert (low <= high).all()


@pytest.mark.parametrize("rows", [7, 20, 127, 128, 300])
def test_three_repeats_have_an_interval(rows):
    low, high = important(product, table(rows, 2), n_repeats=3, random_state=1).interval()
    assert (low <= high).all()


def test_gaps_are_lent_like_values():
    X = table(N, 2)
    X[::7, 0] = np.nan

    def model(X):
        return np.where(np.isnan(X[:, 0]), 10.0, X[:, 0]) * X[:, 1]

    pf = important(model, X, n_repeats=6, local="all")
    gaps = np.isnan(X[:, 0])
    lent = np.isclose(pf.local.after[0], 10 * X[:, 1:]).sum(axis=0)
    np.testing.assert_array_equal(lent, gaps.sum())
    assert np.isfinite(pf.mean).all()


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float32, bool])
def test_columns_keep_their_type(dtype):
    X = (np.abs(table(N, D)) * 3).astype(dtype)
    model = Remembers(lambda X: X[:, 0].astype(float) + X[:, 1])
    important(model, X, n_repeats=3)
    assert {part.dtype for part in model.seen} == {np.dtype(dtype)}


def test_a_data_frame_keeps_its_types_and_its_index():
    X = frame().assign(
        c=lambda X: pd.Categorical(X["c"], list("xwvu"), ordered=True),
        n=lambda X: pd.array(np.arange(len(X)) % 5, dtype="Int64"),
        t=lambda X: X["b"] > 0.5,
    )
    X.index = pd.Index(np.arange(120)[::-1] * 2)
    X.loc[4, "n"] = pd.NA
    before = X.copy(deep=True)
    model = Remembers(lambda X: X["a"].to_numpy() * ((X["c"] == "u") + X["t"]))
    pf = important(model, X, n_repeats=3)
    for part in model.seen:
        assert list(part.columns) == list(X.columns)
        assert (part.dtypes == X.dtypes).all()
    pd.testing.assert_frame_equal(X, before)
    np.testing.assert_array_equal(pf["d"].mean, 0)
    assert pf["t"].std > 0


@pytest.mark.parametrize("kind", [pl.DataFrame, pa.Table.from_pandas])
def test_other_frames_stay_what_they_are(kind):
    X = kind(frame())
    model = Remembers(lambda X: of_frame(X.to_pandas()))
    pf = important(model, X, n_repeats=3)
    assert {type(part) for part in model.seen} == {type(X)}
    want = important(of_frame, frame(), n_repeats=3)
    np.testing.assert_allclose(pf.values, want.values)
    assert type(pf.to_frame()) is type(X)


@pytest.mark.parametrize("method", ["pfi", "ale"])
def test_a_frame_of_numbers_texts_and_dates(method):
    dates = pd.date_range("2020-01-01", periods=120)
    X = pl.from_pandas(frame().assign(t=dates))
    sd.explain(lambda X: X["a"].to_numpy() * X["t"].dt.day().to_numpy(), X, "a", method=method)


def test_features_of_any_name():
    X = pd.DataFrame(table(N, 3), columns=["<script>alert('x')</script>", "", "a.b: {0}\n%s"])
    pf = important(lambda X: X.iloc[:, 0] * X.iloc[:, 1], X)
    assert pf.features == tuple(X.columns)
    assert pf.to_frame()["feature"].tolist() == list(X.columns)
    assert pf[X.columns[2]].mean == 0
    repr(pf)


def test_many_categories_and_texts_are_lent_without_counting_them():
    X = pd.DataFrame({"id": [f"id {i}" for i in range(3000)], "x": table(3000, 1)[:, 0]})
    pf = important(lambda X: X["x"] * X["id"].str[-1].astype(float), X, n_repeats=3)
    assert np.isfinite(pf.mean).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_memory_map_that_may_only_be_read(tmp_path, order):
    X = np.asarray(table(400, D), order=order)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for settings in ({"n_repeats": 4}, {"exact": True}, {"n_repeats": 4, "max_samples": 50}):
        got, want = important(product, mapped, **settings), important(product, X, **settings)
        np.testing.assert_array_equal(got.values, want.values)


def test_a_huge_offset_costs_no_digits_of_differences():
    X = table(400, 2)
    small = important(product, X)
    large = important(lambda X: product(X) + 2.0**40, X)
    np.testing.assert_allclose(large.values, small.values, atol=2.0**-12)


@pytest.mark.parametrize("size", [1e-99, 1e-12, 1e139])
def test_quantities_of_any_size(size):
    want = important(product, table(N, 2))
    got = important(lambda X: size * product(X), table(N, 2))
    np.testing.assert_allclose(got.values, size * want.values, rtol=1e-9)
    np.testing.assert_allclose(got.std_error, size * want.std_error, rtol=1e-6)


# --------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("name", ["n_repeats", "subgroup_rows"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "10", None, np.nan])
def test_counts_that_are_none(name, value):
    with refused(sd.DataError, f"PFI({name})", repr(value), "an integer", f"Use {name}="):
        sd.PFI(**{name: value})


@pytest.mark.parametrize("value", [-1, 1.5, True, "some", None])
def test_numbers_of_rows_to_keep_that_are_none(value):
    with refused(sd.DataError, "PFI(local)", repr(value), "an integer of at least 0"):
        sd.PFI(local=value)


@pytest.mark.parametrize("value", [0, -5, 0.0, 1.5, -0.5, np.nan, np.inf, True, "10"])
def test_samples_that_are_none(value):
    with refused(sd.DataError, "PFI(max_samples)", repr(value), "a number of rows"):
        sd.PFI(max_samples=value)


def test_whole_numbers_of_numpy_are_whole_numbers():
    pf = important(product, table(N, D), n_repeats=np.int32(4), local=np.int64(5))
    assert pf.values.shape == (D, 4)
    assert len(pf.local) == 5


@pytest.mark.parametrize(
    "both",
    [
        {"exact": True, "conditional": True},
        {"exact": True, "metric": "r2"},
        {"conditional": True, "metric": "r2"},
    ],
)
def test_settings_that_exclude_each_other(both):
    with refused(sd.DataError, "PFI", " and ".join(both), "one of them"):
        sd.PFI(**both)


@pytest.mark.parametrize("name", ["exact", "conditional"])
def test_switches_that_are_none(name):
    with refused(sd.DataError, f"PFI({name})", "'yes'"):
        sd.PFI(**{name: "yes"})


def test_groups_that_cannot_be():
    X = table(N, D)
    for groups, words in (
        ({"a": ["x0", "q"]}, ("'q'", "'x0', 'x1', 'x2'")),
        ({"a": ["x0", 7]}, ("7",)),
        ({"a": ["x0", "x0"]}, ("'x0' twice",)),
        ({"a": ["x0", "x1"], "b": ["x1", "x0", 1]}, ("groups['b']", "'x1' twice")),
        ({"x1": ["x0"], "b": ["x1", "x0"]}, ("'x1'", "a column outside the group")),
        ({"a": []}, ("no column",)),
        ({"a": "x0"}, ("'x0'", "a list of columns")),
        ({"x1": ["x0", "x2"]}, ("a column outside the group",)),
        ({1: ["x0"]}, ("names that are text",)),
        (["x0", "x1"], ("list", "a mapping")),
    ):
        with refused(sd.DataError, *words):
            sd.explain(product, X, method=sd.PFI(groups=groups))


WEATHER = {"temp": ["temp"], "weather": ["temp", "hum"], "outside": ["wind", "temp"]}


def rows_of_weather(n=40):
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "hour": rng.integers(0, 24, n),
            "temp": rng.normal(size=n),
            "hum": rng.uniform(size=n),
            "wind": rng.exponential(size=n),
            "city": rng.choice(["a", "b<script>"], n),
        }
    )


def of_weather(X):
    temp, hum, wind = (np.asarray(X[c], dtype=float) for c in ("temp", "hum", "wind"))
    return temp * hum + wind * temp**2 + np.asarray(X["hour"], dtype=float) / 24


def all_pairs(model, X, columns):
    """Return the mean increase over all ordered pairs of rows, by a loop over donors."""
    before, total = model(X), 0.0
    for i in range(len(X)):
        total += (model(X.assign(**{c: X[c].iloc[i] for c in columns})) - before).sum()
    return total / len(X) ** 2


@pytest.mark.parametrize("make", [lambda X: X, pl.from_pandas, pa.Table.from_pandas])
def test_a_column_may_be_in_several_groups(make):
    """Each group is the mean over all pairs of rows, and the columns in no group remain."""
    frame = rows_of_weather()
    pf = sd.explain(
        of_weather, make(frame), method=sd.PFI(groups=WEATHER, exact=True), progress=False
    )
    assert pf.features == ("hour", "temp", "weather", "outside", "city")
    for name in ("hour", *WEATHER, "city"):
        want = all_pairs(of_weather, frame, WEATHER.get(name, [name]))
        assert pf[name].mean == pytest.approx(want, abs=1e-12), name


def test_groups_that_share_columns_cost_as_much_as_columns():
    X, model = rows_of_weather(), Counts(of_weather)
    pf = sd.explain(model, X, method=sd.PFI(n_repeats=4, groups=WEATHER), progress=False)
    assert pf.provenance["model_rows"] == len(X) * (1 + 4 * 5)
    assert model.rows == pf.provenance["model_rows"] + pf.provenance["check_rows"]
    some = sd.explain(
        of_weather, X, ["outside", "temp"], method=sd.PFI(n_repeats=4, groups=WEATHER)
    )
    assert some.provenance["model_rows"] == len(X) * (1 + 4 * 2)
    assert some.features == ("outside", "temp")
    np.testing.assert_array_equal(some.values, pf.values[[3, 1]])


def test_groups_of_the_call_and_of_the_method_may_share_columns():
    X = rows_of_weather()
    options = {"random_state": 2, "progress": False}
    pf = sd.explain(
        of_weather, X, method=sd.PFI(groups={"weather": WEATHER["weather"]}),
        groups={"temp": ["temp"], "outside": ["wind", "temp"]}, **options,
    )  # fmt: skip
    assert pf.features == ("hour", "temp", "outside", "weather", "city")
    want = sd.explain(of_weather, X, method=sd.PFI(groups=WEATHER), **options)
    np.testing.assert_array_equal(pf.values, want.values[[0, 1, 3, 2, 4]])


def test_groups_that_share_columns_of_several_models_outputs_and_samples():
    X = rows_of_weather(80)
    method, options = sd.PFI(n_repeats=3, groups=WEATHER, max_samples=50), {"progress": False}
    names = ("hour", "temp", "weather", "outside", "city")
    models = [of_weather, lambda X: 2 * of_weather(X)]
    several = sd.explain(models, X, method=method, **options)
    assert several.features == names
    one = sd.explain(of_weather, X, method=method, **options)
    assert one.rows == 50
    np.testing.assert_allclose(several.models[0].values, one.values)
    both = sd.prediction(lambda X: np.stack([of_weather(X), -of_weather(X)], axis=1), output="all")
    outputs = sd.explain(both, X, method=method, **options).values()
    for found, sign in zip(outputs, (1, -1), strict=True):
        assert found.features == names
        np.testing.assert_allclose(found.values, sign * one.values, atol=1e-14)


def test_trees_and_groups_that_share_columns():
    X = rows_of_weather(200)[["temp", "hum", "wind"]]
    forest = RandomForestRegressor(10, random_state=0).fit(X, of_weather(X.assign(hour=0)))
    method = sd.PFI(n_repeats=3, groups=WEATHER)
    walked = sd.explain(forest, X, method=method, tree="force")
    called = sd.explain(forest, X, method=method, tree="off")
    assert walked.features == ("temp", "weather", "outside")
    np.testing.assert_allclose(walked.values, called.values, rtol=1e-9, atol=1e-12)


def test_groups_that_share_columns_are_shown_and_saved(tmp_path):
    pf = sd.explain(of_weather, rows_of_weather(), method=sd.PFI(groups=WEATHER))
    figure = pf.plot()
    texts = [t.get_text() for t in figure.axes[0].get_yticklabels()]
    assert {"temp", "weather", "outside"} <= set(texts)
    pf.save(tmp_path / "pf.npz")
    assert sd.load(tmp_path / "pf.npz").provenance["settings"]["groups"] == WEATHER
    assert pf.to_frame(backend="pandas")["feature"].tolist() == list(pf.features)


def test_a_column_of_several_groups_is_not_explained_alone_and_effects_take_one_group():
    X = rows_of_weather()
    with refused(sd.DataError, "'hum'", "the group 'weather'"):
        sd.explain(of_weather, X, "hum", method=sd.PFI(groups=WEATHER))
    groups = {k: v for k, v in WEATHER.items() if k != "temp"}
    with refused(sd.DataError, "'temp'", "the groups 'weather', 'outside'"):
        sd.explain(of_weather, X, "temp", method=sd.PFI(groups=groups))
    for method in ("ale", "pdp", "rhale", None):
        with refused(sd.DataError, "also in 'temp'", "in one group only", "sd.PFI()"):
            sd.explain(of_weather, X, method=method, groups=WEATHER)


def test_groups_of_both_places_are_joined():
    pf = sd.explain(
        product, table(N, 4), method=sd.PFI(groups={"a": ["x0", "x2"]}), groups={"b": ["x1", "x3"]}
    )
    assert pf.features == ("a", "b")


def test_groups_need_no_levels():
    """Donor values are inserted as they are, also those of numeric columns, which have no levels as a group."""
    X = table(N, 3)
    pf = important(lambda X: X[:, 0] * X[:, 1] * X[:, 2], X, groups={"two": [0, 1]}, local="all")
    assert pf.features == ("two", "x2")
    lent = pf.local.after[0] / X[:, 2:]
    for r in range(10):
        np.testing.assert_allclose(np.sort(lent[:, r]), np.sort(product(X)))


def test_a_pair_is_pointed_to_groups():
    with refused(sd.UnsupportedError, "PFI of ('x0', 'x1')", "a pair", 'groups={"both"'):
        sd.explain(product, table(N, D), ("x0", "x1"), method="pfi")
    with refused(sd.UnsupportedError, "a pair"):
        sd.explain(product, table(N, D), [("x0", "x1")], method="pfi")


def test_the_class_instead_of_a_method():
    with refused(sd.DataError, "method", "Pass an instance: method=sd.PFI()"):
        sd.explain(product, table(N, D), method=sd.PFI)


def test_metrics_that_are_none():
    X = table(N, D)
    with refused(sd.DataError, "PFI(metric)", "'rmse'", "'roc_auc'", "a function"):
        important(product, X, y=labels(X), metric="rmse")
    with refused(sd.DataError, "PFI(metric)", "a int", "a function"):
        sd.PFI(metric=3)
    with refused(sd.DataError, "PFI(metric)", "no y", "Pass y="):
        important(product, X, metric="r2")
    with refused(sd.DataError, "y", "1 missing labels", "Leave these rows out"):
        important(product, X, y=[None, *labels(X)[1:]], metric="r2")


@pytest.mark.parametrize("answer", [np.nan, np.inf, None, "good", [1.0, 2.0]])
def test_metrics_that_answer_with_no_number(answer):
    X = table(N, D)
    with refused(sd.ModelOutputError, "PFI(metric=score)", "a finite number", "one number"):

        def score(y, values):
            return answer

        important(product, X, y=labels(X), metric=score)


def test_a_metric_beyond_what_is_kept():
    X = table(5000, D)
    with refused(sd.DataError, "PFI(metric)", "5,000 rows of 10 repeats", "MB", "keep="):
        important(product, X, y=labels(X), metric="r2", keep="100KB")


def test_weights_that_add_up_to_one_row_are_told():
    """Frequencies that sum to 1 count as one row, for which there is no standard error."""
    pf = important(product, table(N, D), sample_weight=np.full(N, 1 / N), exact=True)
    with refused(sd.DataError, "weight"):
        pf.interval()


def test_a_metric_of_few_rows_says_how_many_it_takes():
    X = table(15, D)
    with refused(sd.DataError, "15 rows", "20 rows"):
        important(product, X, y=labels(X), metric="r2").interval()


def test_a_maximum_takes_no_weights():
    """Rows of weight 0 are removed before; all other rows count equally for a maximum."""
    X, w = table(N, D), np.linspace(0, 2, N)
    pf = important(product, X, y=labels(X), sample_weight=w, metric="max_error")
    assert pf.baseline == pytest.approx(np.abs(labels(X) - product(X))[1:].max())


def test_a_function_that_takes_no_weights_is_refused_where_there_are_some():
    def score(y, values):
        return 1.0

    X = table(N, D)
    with refused(sd.DataError, "score", "sample_weight", "weights"):
        important(product, X, y=labels(X), sample_weight=np.linspace(1, 2, N), metric=score)


@pytest.mark.slow
def test_a_rare_class_brings_no_warnings():
    X, y = table(N, D), np.arange(N) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        important(product, X, y=y, metric="roc_auc")


def test_all_pairs_of_too_many_rows():
    with refused(sd.DataError, "15,000 rows", "225,000,000 pairs", "repeats", "max_samples"):
        important(product, np.zeros((15_000, 2)), exact=True)
    pf = important(product, np.zeros((15_000, 2)), exact=True, max_samples=20)
    np.testing.assert_array_equal(pf.mean, 0)


@pytest.mark.parametrize("conditional", [False, True])
def test_labels_that_are_missing(conditional):
    X, q = table(N, D), sd.loss(product)
    with refused(sd.DataError, "squared error", "no y", "Pass y="):
        important(q, X, conditional=conditional)
    with refused(sd.DataError, "y", "length 5", f"length {N}"):
        important(q, X, y=labels(X)[:5], conditional=conditional)
    with refused(sd.DataError, "1 missing labels", "Leave these rows out"):
        important(q, X, y=[np.nan, *labels(X)[1:]], conditional=conditional)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (np.zeros(N), ("1 distinct values", "unique")),
        (np.arange(N - 1), (f"shape ({N - 1},)", f"shape ({N},)")),
        ([None, *range(N - 1)], ("1 missing values",)),
        ([np.nan, *range(N - 1)], ("1 missing values",)),
        (np.zeros((N, 2)), (f"shape ({N}, 2)",)),
        (np.array(["a", 1] * (N // 2), dtype=object), ("several types",)),
    ],
)
def test_keys_that_are_none(ids, words):
    with refused(sd.DataError, "row_id", *words):
        important(product, table(N, D), row_id=ids)


def test_keys_may_be_text_dates_or_a_series():
    X = table(N, D)
    want = important(product, X).values
    for ids in (
        [f"row {i:03}" for i in range(N)],
        pd.date_range("2020-01-01", periods=N),
        pd.Series(np.arange(N) - 7.5),
        -np.arange(N)[::-1],
    ):
        np.testing.assert_array_equal(important(product, X, row_id=ids).values, want)


def test_names_that_stand_twice():
    X = pd.DataFrame(table(N, 2), columns=["a", "a"])
    with refused(sd.DataError, "X", "more than once"):
        important(product, X)


def test_models_that_take_no_gaps():
    X = table(N, D)
    X[5, 1] = np.nan
    model = LinearRegression().fit(np.nan_to_num(X), labels(table(N, D)))
    with pytest.raises(ValueError, match="NaN"):
        important(model, X)


def test_models_that_fail_on_borrowed_values_name_the_column():
    X = table(N, D)

    def moved(Z):
        """Return whether a row's first value differs from that of the row of X with the same second value."""
        place = np.abs(Z[:, 1:2] - X[:, 1]).argmin(axis=1)
        return Z[:, 0] != X[place, 0]

    with refused(sd.ModelOutputError, "NaN or infinity", "column 'x0' replaced"):
        important(lambda Z: np.where(moved(Z), np.nan, 1.0), X)

    def breaks(Z):
        if moved(Z).any():
            raise RuntimeError("out of range")
        return Z[:, 0]

    with pytest.raises(RuntimeError, match="out of range") as caught:
        important(breaks, X)
    assert any("column 'x0' replaced" in note for note in caught.value.__notes__)
    with refused(sd.ModelOutputError, "columns 'x0', 'x2' replaced"):
        important(lambda Z: np.where(moved(Z), np.inf, 1.0), X, groups={"two": ["x0", "x2"]})


def test_models_that_answer_too_little_for_borrowed_values():
    def short(Z):
        return Z[:-1, 0] if len(Z) > N else Z[:, 0]

    with refused(sd.ModelOutputError, "prediction(short)", f"({10 * N - 1},)", f"({10 * N},)"):
        important(short, table(N, D))


def test_models_that_answer_too_little_name_the_column():
    def short(Z):
        return Z[:-1, 0] if len(Z) > N else Z[:, 0]

    with refused(sd.ModelOutputError, "column 'x0' replaced"):
        important(short, table(N, D))
