"""PFI: cost, provenance, unusual data, and invalid input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

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


@pytest.mark.parametrize(("repeats", "memory"), [(1, 40_000), (7, "1GB"), (30, 40_000)])
def test_model_rows_are_those_promised(repeats, memory):
    model = Counts()
    pf = important(model, table(N, D), n_repeats=repeats, memory=memory)
    said = pf.provenance
    assert said["effect_rows"] == N * (1 + repeats * D)
    assert model.rows == said["model_rows"]
    assert model.calls == said["model_calls"]
    assert said["check_rows"] <= 128
    if memory == "1GB":
        assert said["effect_calls"] == 2  # the rows as they are, and all permutations


@pytest.mark.parametrize("memory", ["1GB", 200_000])
def test_all_pairs_cost_all_pairs(memory):
    model = Counts()
    pf = important(model, table(N, D), exact=True, memory=memory)
    assert pf.provenance["effect_rows"] == N * (1 + N * D)
    assert model.rows == pf.provenance["model_rows"]


def test_the_other_forms_cost_the_same():
    X, q = table(N, D), sd.loss(product)
    for settings in ({"conditional": True}, {"metric": "r2"}, {"groups": None}):
        quantity = product if "metric" in settings else q
        pf = important(quantity, X, y=labels(X), n_repeats=4, **settings)
        assert pf.provenance["effect_rows"] == N * (1 + 4 * D)
    groups = {"two": ["x0", "x2"]}
    pf = important(product, X, n_repeats=4, groups=groups)
    assert pf.features == ("two", "x1")
    assert pf.provenance["effect_rows"] == N * (1 + 4 * 2)
    pf = important(product, X, n_repeats=4, max_samples=30)
    assert pf.provenance["effect_rows"] == 30 * (1 + 4 * D)
    pf = important(product, X, ["x1"], n_repeats=4)
    assert pf.provenance["effect_rows"] == N * (1 + 4)


def test_calls_are_neither_tiny_nor_giant():
    X = table(20_000, 2)
    model = Counts()
    said = important(model, X, n_repeats=10, local=0).provenance
    assert said["effect_calls"] <= 10 * (1 + 2)  # 20,000 rows per call, if there are that many
    seen = Remembers(product)
    important(seen, table(300, 2), n_repeats=2_000, local=0)
    assert max(len(part) for part in seen.seen) <= 100_000


# -------------------------------------------------------------------------------------- provenance


@pytest.mark.parametrize(
    ("settings", "rows", "exact", "weighted"),
    [
        ({"max_samples": np.int64(30)}, 30, False, False),
        ({"max_samples": np.float64(0.5)}, 45, False, True),
        ({"max_samples": 1.0}, N, True, False),
        ({"max_samples": 10 * N}, N, True, True),
        ({"max_samples": 1e-9}, 1, False, False),
        ({"max_samples": 30, "exact": True}, 30, False, True),
    ],
)
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
    pf = important(product, table(N, D), n_repeats=4, local="all", keep_rows="5KB")
    assert 0 < len(pf.local) < N
    assert not pf.local.exact
    assert pf.provenance["exact"] is True  # importances are computed from all rows
    assert pf.provenance["kept_as_wanted"] is False
    np.testing.assert_array_equal(pf.values, want.values)
    np.testing.assert_array_equal(pf.local.after, want.local.after[:, pf.local.row])
    assert important(product, table(N, D), keep_rows=0).local is None


def test_a_sample_that_holds_all_rows_is_none():
    w = np.where(np.arange(N) < 30, 0.0, 1.0)
    pf = important(product, table(N, D), sample_weight=w, max_samples=60)
    assert pf.rows == 60
    assert pf.provenance["exact"] is True


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


def test_three_repeats_have_an_interval_whatever_the_seed():
    X = table(100, 2)
    for seed in range(40):
        low, high = important(product, X, n_repeats=3, random_state=seed).interval()
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


@pytest.mark.parametrize("dtype", [np.int8, np.float32, bool])
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


# --------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("n_repeats", 0, "an integer"),
        ("subgroup_rows", 1.5, "an integer"),
        ("local", -1, "an integer of at least 0"),
        ("max_samples", 1.5, "a number of rows"),
        ("max_samples", True, "a number of rows"),
        ("exact", "yes", "True or False"),
    ],
)
def test_settings_that_are_none(name, value, expected):
    with refused(sd.DataError, f"PFI({name})", repr(value), expected):
        sd.PFI(**{name: value})


def test_settings_that_exclude_each_other():
    both = {"exact": True, "metric": "r2"}
    with refused(sd.DataError, "PFI", " and ".join(both), "one of them"):
        sd.PFI(**both)


def test_groups_that_cannot_be():
    X = table(N, D)
    for groups, words in (
        ({"a": ["x0", "q"]}, ("'q'", "'x0', 'x1', 'x2'")),
        ({"a": ["x0", "x0"]}, ("'x0' twice",)),
        ({"x1": ["x0"], "b": ["x1", "x0"]}, ("'x1'", "a column outside the group")),
        ({"a": []}, ("no column",)),
        ({"a": "x0"}, ("'x0'", "a list of columns")),
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


def test_a_column_may_be_in_several_groups():
    """Each group is the mean over all pairs of rows, and the columns in no group remain."""
    frame = rows_of_weather()
    pf = sd.explain(of_weather, frame, method=sd.PFI(groups=WEATHER, exact=True), progress=False)
    assert pf.features == ("hour", "temp", "weather", "outside", "city")
    for name in ("hour", *WEATHER, "city"):
        want = all_pairs(of_weather, frame, WEATHER.get(name, [name]))
        assert pf[name].mean == pytest.approx(want, abs=1e-12), name


def test_groups_that_share_columns_cost_as_much_as_columns():
    X, model = rows_of_weather(), Counts(of_weather)
    pf = sd.explain(model, X, method=sd.PFI(n_repeats=4, groups=WEATHER), progress=False)
    assert pf.provenance["effect_rows"] == len(X) * (1 + 4 * 5)
    assert model.rows == pf.provenance["model_rows"]
    some = sd.explain(
        of_weather, X, ["outside", "temp"], method=sd.PFI(n_repeats=4, groups=WEATHER)
    )
    assert some.provenance["effect_rows"] == len(X) * (1 + 4 * 2)
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


def test_a_column_of_several_groups_is_not_explained_alone_and_effects_take_one_group():
    X = rows_of_weather()
    with refused(sd.DataError, "'hum'", "the group 'weather'"):
        sd.explain(of_weather, X, "hum", method=sd.PFI(groups=WEATHER))
    groups = {k: v for k, v in WEATHER.items() if k != "temp"}
    with refused(sd.DataError, "'temp'", "the groups 'weather', 'outside'"):
        sd.explain(of_weather, X, "temp", method=sd.PFI(groups=groups))
    with refused(sd.DataError, "also in 'temp'", "in one group only", "sd.PFI()"):
        sd.explain(of_weather, X, groups=WEATHER)


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


def test_metrics_that_are_none():
    X = table(N, D)
    with refused(sd.DataError, "PFI(metric)", "'rmse'", "'roc_auc'", "a function"):
        important(product, X, y=labels(X), metric="rmse")
    with refused(sd.DataError, "PFI(metric)", "a int", "a function"):
        sd.PFI(metric=3)
    with refused(sd.DataError, "PFI(metric)", "no y", "Pass y="):
        important(product, X, metric="r2")
    with refused(
        sd.DataError, "y", "missing labels (NaN or None) for 1 of", "Leave these rows out"
    ):
        important(product, X, y=[None, *labels(X)[1:]], metric="r2")


@pytest.mark.parametrize("answer", [np.nan, [1.0, 2.0]])
def test_metrics_that_answer_with_no_number(answer):
    X = table(N, D)
    with refused(sd.ModelOutputError, "PFI(metric=score)", "a finite number", "one number"):

        def score(y, values):
            return answer

        important(product, X, y=labels(X), metric=score)


def test_a_metric_beyond_what_is_kept():
    X = table(5000, D)
    with refused(sd.DataError, "PFI(metric)", "5,000 rows of 10 repeats", "MB", "keep_rows="):
        important(product, X, y=labels(X), metric="r2", keep_rows="100KB")


def test_a_maximum_takes_no_weights():
    """Rows of weight 0 are removed before; all other rows count equally for a maximum."""
    X, w = table(N, D), np.linspace(0, 2, N)
    pf = important(product, X, y=labels(X), sample_weight=w, metric="max_error")
    assert pf.baseline == pytest.approx(np.abs(labels(X) - product(X))[1:].max())


def test_all_pairs_of_too_many_rows():
    with refused(sd.DataError, "15,000 rows", "225,000,000 pairs", "repeats", "max_samples"):
        important(product, np.zeros((15_000, 2)), exact=True)
    pf = important(product, np.zeros((15_000, 2)), exact=True, max_samples=20)
    np.testing.assert_array_equal(pf.mean, 0)


def test_labels_that_are_missing():
    X, q = table(N, D), sd.loss(product)
    with refused(sd.DataError, "squared error", "no y", "Pass y="):
        important(q, X)
    with refused(sd.DataError, "y", "length 5", f"length {N}"):
        important(q, X, y=labels(X)[:5])
    with refused(sd.DataError, "missing labels (NaN or None) for 1 of", "Leave these rows out"):
        important(q, X, y=[np.nan, *labels(X)[1:]])


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (np.zeros(N), ("1 distinct values", "unique")),
        (np.arange(N - 1), (f"shape ({N - 1},)", f"shape ({N},)")),
        ([None, *range(N - 1)], ("1 missing values",)),
        (np.array(["a", 1] * (N // 2), dtype=object), ("several types",)),
    ],
)
def test_keys_that_are_none(ids, words):
    with refused(sd.DataError, "row_id", *words):
        important(product, table(N, D), row_id=ids)


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


@pytest.mark.parametrize("unit", [1.0, 1024.0])
def test_few_heavy_rows_have_no_more_degrees_of_freedom_than_as_few_rows(unit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] + rng.normal(size=600)
    w = np.where(np.arange(600) < 12, 1000.0, rng.uniform(0.5, 1.5, 600))
    effective = w.sum() ** 2 / (w**2).sum()
    assert 12 < effective < 14
    found = sd.explain(
        sd.loss(lambda X: X[:, 0], "squared_error"),
        X,
        y=y,
        method=sd.PFI(n_repeats=10),
        sample_weight=w * unit,
        weight_kind="sampling",
    )
    assert 1 <= found.df[0] <= effective - 1 + 1e-9
