"""Methods at the boundaries of their rules: rejected combinations, orders of levels, steps of permutations."""

from __future__ import annotations

import itertools
import json
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.data.dataset import as_dataset
from skedasis.methods.ale import _largest
from skedasis.methods.ale_categorical import steps_of_levels
from skedasis.methods.base import plain, quantile_scheme
from skedasis.methods.pdp import grid_shares
from skedasis.methods.permutation_plan import (
    BLOCKS,
    WeightedCycles,
    _draw_distances,
    _draw_steps,
    _n_blocks,
    _numbers,
    _targets,
    draw_donors,
)
from skedasis.methods.plans import BatchStats, RowStore
from tests.helpers import observed, refused


@pytest.mark.parametrize("other", [{"center": "mean"}, {"center": "start"}, {"derivative": True}])
def test_an_anchor_takes_the_place_of_a_centre_and_of_slopes(other):
    with refused(sd.DataError, "PDP(anchor)", "an anchor alone"):
        sd.PDP(anchor=0.0, **other)
    assert sd.PDP(anchor=0.0).anchor == 0.0


def test_times_are_no_numbers_of_a_grid():
    """As numbers they would be counts of a unit that nobody chose; as levels they are looked up."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    times = np.array(["2026-01-01", "2026-02-01"], dtype="datetime64[D]")
    with pytest.raises(sd.DataError):
        sd.explain(lambda X: X[:, 0], X, 0, method=sd.PDP(grid=times))


@pytest.mark.parametrize(
    ("values", "chosen"),
    [
        (pd.Categorical(["b", "a"] * 20, categories=["b", "a"], ordered=True), "declared"),
        (["b", "a"] * 20, "ascending values"),
    ],
)
def test_the_order_of_levels_says_where_it_comes_from(values, chosen):
    X = pd.DataFrame({"town": values, "x": np.arange(40.0)})
    e = sd.explain(lambda X: X["x"] + (X["town"] == "a"), X, "town", method=sd.MPlot())
    assert e.provenance["order_chosen"] == chosen


def test_steps_of_permutations_go_both_ways_and_never_there_and_back():
    """A step and its opposite would evaluate the same pairs of rows twice."""
    blocks = 101
    steps = _draw_steps(1, blocks, 50, np.random.default_rng(0))
    assert len(set(np.minimum(steps, blocks - steps))) == 50
    forward = (steps <= 50).sum()
    assert 10 < forward < 40  # binomial: beyond these by chance once in 50,000


def test_the_largest_effect_of_no_rows_is_nothing():
    assert _largest(np.zeros(0)) == 0.0
    assert _largest(np.array([-3.0, 2.0])) == 3.0
    assert _largest(np.array([-3.0, 4.0])) == 4.0


@pytest.mark.parametrize("size", [2, 3])
def test_in_subgroups_donors_are_other_rows_of_the_same_subgroup(size):
    subgroup = np.random.default_rng(1).permutation(np.repeat(np.arange(15), size))
    rows = np.arange(15 * size)
    donors = draw_donors(len(rows), None, 6, 0, None, subgroup).donors(rows)
    assert donors.shape == (6, len(rows))
    assert (donors != rows).all()
    np.testing.assert_array_equal(subgroup[donors], np.tile(subgroup, (6, 1)))
    # Each row is a donor once in each repeat.
    np.testing.assert_array_equal(np.sort(donors, axis=1), np.tile(rows, (6, 1)))


def test_parameters_are_plain_values():
    days = np.array(["2026-01-01"], dtype="datetime64[D]")
    assert plain((np.int64(1), [np.float32(0.5), None], "a")) == [1, [0.5, None], "a"]
    assert plain({1: np.array([1.0, 2.0])}) == {"1": [1.0, 2.0]}
    assert plain([days[0]]) == ["2026-01-01"]


@pytest.mark.parametrize("kind", ["ordinal", "nominal"])
def test_regions_of_levels_are_divided_where_their_steps_change(kind):
    """The steps between levels are +1 where z > 0 and -1 elsewhere."""
    rng = np.random.default_rng(2)
    names = np.array(["low", "middle", "top"])
    code, z = rng.integers(0, 3, 400), rng.uniform(-1, 1, 400)
    ordered = pd.Categorical(names[code], categories=names, ordered=kind == "ordinal")
    X = pd.DataFrame({"size": ordered, "z": z, "other": rng.normal(size=400)})

    def model(X):
        return X["size"].cat.codes * np.sign(X["z"])

    found = sd.regions(model, X, "size", method=sd.ALE())
    held = np.asarray(found.assign(X))
    assert len(found) == 2
    share = np.mean((held == held[z > 0][0]) == (z > 0))
    assert share > 0.97


@pytest.mark.parametrize("value", [0.0, -0.1, 1.5, 0, -3, "half", True])
def test_a_sample_is_a_number_of_rows_or_a_fraction(value):
    for good in (None, 1, 50, 0.3, 1.0):
        assert sd.PFI(max_samples=good).max_samples == good
    with refused(sd.DataError, "PFI(max_samples)", "a fraction between 0.0 and 1.0"):
        sd.PFI(max_samples=value)


def test_a_curve_of_one_point_has_no_slope():
    """The column has one value, so that its grid has one point."""
    X = np.c_[np.full(30, 2.0), np.arange(30.0)]
    e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.PDP(derivative=True))
    assert e.value.tolist() == [0.0]


@pytest.mark.parametrize("n", [2, 4, 5, 40, 1201])
def test_no_row_is_its_own_donor(n):
    rows = np.arange(n)
    for seed in range(4):
        donors = draw_donors(n, None, 12, seed, None).donors(rows)
        assert (donors != rows).all()
        np.testing.assert_array_equal(np.sort(donors, axis=1), np.tile(rows, (12, 1)))


@pytest.mark.parametrize("given", [(95, 5), (-1, 50), (5, 101), (5,), "all", (5, "95"), ("5", 95)])
def test_percentiles_are_two_numbers_in_per_cent(given):
    with refused(sd.DataError, "PDP(percentiles)", "0 <= low < high <= 100"):
        sd.PDP(percentiles=given)


@pytest.mark.parametrize("step", [np.timedelta64("NaT", "D"), np.timedelta64(1, "M")])
def test_a_move_in_time_has_a_fixed_length(step):
    X = pd.DataFrame({"day": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(9), "D")})
    with refused(sd.DataError, "change['day']", "a duration of a fixed length"):
        sd.what_if(lambda X: np.arange(float(len(X))), X, {"day": step})


def test_a_store_has_the_rows_of_its_fullest_feature():
    assert RowStore([], 5).most() == 0
    store = RowStore(["a", "b"], 5)
    store.add("b", {"x": np.arange(3.0)})
    assert store.most() == 3
    assert store.of("a") == {}


def test_a_store_copies_no_array_of_all_rows():
    x = np.arange(5.0)
    x.flags.writeable = False
    store = RowStore(["a"], 5)
    store.add("a", {"x": x})
    assert np.shares_memory(store.of("a")["x"], x)


def test_a_store_of_slices_of_one_array_copies_them_only_if_they_come_in_another_order():
    x = np.arange(5.0)
    x.flags.writeable = False
    for order, shares in (([0, 3, 5], True), ([3, 5, 0, 3], False)):
        store = RowStore(["a"], 5)
        parts = [x[i:k] for i, k in itertools.pairwise(order) if i < k]
        for part in parts:
            store.add("a", {"x": part})
        found = store.of("a")["x"]
        np.testing.assert_array_equal(found, np.concatenate(parts))
        assert np.shares_memory(found, x) is shares


@pytest.mark.parametrize("seed", range(3))
def test_distances_to_donors_are_one_in_each_part_of_the_cycle(seed):
    distances, beyond = _draw_distances(100, 60.0, 50.0, 8, np.random.default_rng(seed))
    assert not beyond
    np.testing.assert_array_equal(np.sort(distances[:, 0] // (50.0 / 8)), np.arange(8))


def test_a_mean_of_labels_is_named_as_one():
    X = np.arange(20.0)[:, None]
    y = X[:, 0] % 3
    for name in ("prediction", "label", "residual"):
        e = sd.explain(observed(name, lambda X: X[:, 0]), X, 0, method=sd.MPlot(), y=y)
        assert f"Effect of 'x0' on {name}:" in repr(e)


def test_edges_are_closed_as_their_user_says():
    edges = [0.0, 1.0, 2.0]
    closed = {
        side: quantile_scheme(sd.Edges(edges, closed=side), sd.Quantile(2)).closed
        for side in ("left", "right")
    }
    assert closed == {"left": "left", "right": "right"}
    assert quantile_scheme(sd.Edges(edges), sd.Quantile(2)).closed == "right"


def test_a_constant_column_has_the_mean_of_all_rows():
    X = np.c_[np.full(30, 2.0), np.arange(30.0)]
    e = sd.explain(lambda X: X[:, 1] ** 2, X, 0, method=sd.MPlot())
    np.testing.assert_allclose(e.value, np.mean(X[:, 1] ** 2))


@pytest.mark.parametrize("method", [sd.ALE, sd.MPlot])
@pytest.mark.parametrize("kind", ["nominal", "ordinal"])
def test_bins_on_an_axis_make_numeric_levels_numbers_only_if_they_have_an_order(kind, method):
    X = pd.DataFrame({"grade": np.arange(200) % 5, "z": np.arange(200.0)})
    schema = {"grade": sd.Feature("grade", kind=kind)}
    scheme = method(bins=sd.Uniform(2))
    e = sd.explain(lambda X: X["grade"] ** 2, X, "grade", method=scheme, schema=schema)
    if kind == "ordinal":
        assert len(e.bins) == 2
    else:
        assert e.levels.labels == ("0", "1", "2", "3", "4")


def test_regions_of_curves_of_two_points():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 2))
    found = sd.regions(lambda X: X[:, 0] * np.sign(X[:, 1]), X, 0, method=sd.PDP(grid=2))
    held = np.asarray(found.assign(X))
    assert np.mean((held == held[X[:, 1] > 0][0]) == (X[:, 1] > 0)) > 0.97


def test_what_to_set_a_level_to_is_a_level_and_not_a_missing_value():
    X = pd.DataFrame({"town": ["b", None, "a"] * 10, "z": np.arange(30.0)})

    def model(X):
        return X["z"].to_numpy()

    with refused(sd.DataError, "change['town']", "to={'town': '"):
        sd.what_if(model, X, {"town": 1})
    with refused(sd.DataError, "PDP(grid) of 'town'", "grid={'town': ['"):
        sd.explain(model, X, "town", method=sd.PDP(grid=[1, 2]))


_ACCUMULATED = {
    "center": "median",
    "accumulate": "max",
    "ddof": 2,
    "accumulate_se": "max",
}
_CURVES = {
    "center": "median",
    "spacing": "log",
    "derivative": 2,
    "heterogeneity": "no",
    "ice": -1,
    "percentiles": (5, 100.5),
    "grid": [0.0, np.nan],
}
OPTIONS = {
    sd.ALE: {**_ACCUMULATED, "empty": "zero"},
    sd.DALE: {**_ACCUMULATED, "empty": "zero"},
    sd.RHALE: {**_ACCUMULATED, "local_effects": "both"},
    sd.UALE: {**_ACCUMULATED, "local_effects": "both"},
    sd.MPlot: {"center": "start", "ddof": 2},
    sd.PDP: _CURVES,
    sd.ICE: _CURVES,
    sd.PFI: {
        "n_repeats": 0,
        "subgroup_rows": 1,
        "local": -1,
        "max_samples": 1.5,
        "exact": "yes",
        "conditional": 1,
        "greater_is_better": "no",
        "metric": 3,
    },
}


@pytest.mark.parametrize("method", OPTIONS, ids=lambda m: m.__name__)
def test_options_that_do_not_exist_are_refused_by_name(method):
    for option, wrong in OPTIONS[method].items():
        with refused(sd.DataError, f"{method.__name__}({option})"):
            method(**{option: wrong})


def test_parameters_are_recorded_as_they_were_given():
    """Schemes by name and parameters, arrays and mappings as lists and mappings, so that JSON has them."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    for scheme in (sd.Uniform(5), sd.Edges([-9.0, 0.0, 9.0])):
        e = sd.explain(lambda X: X[:, 0], X, 0, method=sd.ALE(bins=scheme))
        assert e.spec.parameters["bins"] == scheme.describe()
    assert sd.Uniform(5).describe()["k"] == 5
    grids = {"x0": np.array([0.0, 1.0]), "x1": (np.float64(2.0), 3)}
    e = sd.explain(lambda X: X[:, 0], X, 0, method=sd.PDP(grid=grids))
    assert e.spec.parameters["grid"] == {"x0": [0.0, 1.0], "x1": [2.0, 3]}
    assert json.loads(json.dumps(e.spec.parameters)) == e.spec.parameters
    # Bins by slopes are those of a scheme; those of differences depend on the column.
    for method, scheme in ((sd.ALE(), "auto"), (sd.DALE(), sd.Uniform(20).describe())):
        e = sd.explain(lambda X: X[:, 0], X, 0, method=method)
        assert e.spec.parameters["bins"] == scheme
    for method in (sd.ALE(bins=3), sd.DALE(bins=3), sd.PDP(grid=3)):
        s = sd.explain(lambda X: X[:, 0], X, (0, 1), method=method)
        assert s.spec.parameters == method.describe()


@pytest.mark.parametrize("key", ["name", "position"])
def test_values_of_parameters_are_found_by_the_name_and_by_the_position_of_a_column(key):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(90, 3)), columns=["a", "b", "c"])
    names = {"a": 3, "c": 5} if key == "name" else {0: 3, 2: 5}
    e = sd.explain(lambda X: X["a"] + X["c"], X, method=sd.ALE(bins=names))
    assert [len(e[name].bins) for name in "ac"] == [3, 5]
    assert len(e["b"].bins) > 5


def test_numbers_as_labels_are_never_positions():
    """Columns 2 and 0, in this order: a 0 names the second one."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(90, 2)), columns=[2, 0])
    e = sd.explain(lambda X: X[2] + X[0], X, method=sd.ALE(bins={0: 3}))
    assert len(e["0"].bins) == 3
    assert len(e["2"].bins) > 3


@pytest.mark.parametrize(
    ("metric", "better"),
    [("r2", True), ("max_error", False), ("median_absolute_error", False)],
)
def test_whether_more_is_better_is_recorded(metric, better):
    X = np.random.default_rng(0).normal(size=(80, 1))
    pf = sd.explain(lambda X: X[:, 0], X, y=X[:, 0], method=sd.PFI(metric=metric, n_repeats=3))
    assert pf.provenance["greater_is_better"] is better
    assert pf.mean[0] > 0


def test_blocks_leave_as_few_rows_over_as_possible_and_never_one():
    for n in range(2, 3000):
        blocks = _n_blocks(n)
        if n <= BLOCKS:
            assert blocks == n
            continue
        assert BLOCKS // 2 < blocks <= BLOCKS
        over = [n % g for g in range(BLOCKS // 2 + 1, BLOCKS + 1)]
        assert n % blocks == min(k for k in over if k != 1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "df"), [(40, 39), (127, 126), (900, 126)])
def test_conditional_importance_has_one_degree_of_freedom_less_than_blocks(n, df, weighted):
    X = np.random.default_rng(0).normal(size=(n, 2))
    w = np.random.default_rng(1).uniform(0.5, 2, n) if weighted else None
    q = sd.loss(lambda X: X[:, 0], "squared_error")
    pf = sd.explain(q, X, 0, y=X[:, 1], method=sd.PFI(conditional=True), sample_weight=w)
    assert pf.df[0] == df


@pytest.mark.parametrize(
    ("move", "text"),
    [
        ("+10%", "x0 + 10 %"),
        ("-10%", "x0 − 10 %"),
        ("+50%", "x0 + 50 %"),
        ("x0.75", "x0 − 25 %"),
        ("x2", "x0 × 2"),
        ("x3.5", "x0 × 3.5"),
        ("-100%", "x0 × 0"),
        ("+0.25", "x0 + 0.25"),
        (-3, "x0 − 3"),
        ("7", "x0 = 7"),
    ],
)
def test_moves_in_words(move, text):
    c = sd.what_if(lambda X: X[:, 0], np.arange(1.0, 9.0)[:, None], {"x0": move})
    assert c.text == text


@pytest.mark.parametrize("move", ["x2", "+10%"])
def test_times_have_no_multiples(move):
    """Durations have."""
    days = pd.date_range("2026-01-01", periods=20)
    X = pd.DataFrame({"day": days, "for": days - days[0]})

    def model(X):
        return (X["for"] / pd.Timedelta("1D")).to_numpy()

    with refused(sd.DataError, "change['day']", "times have no percentages"):
        sd.what_if(model, X, {"day": move})
    added = 1 if move == "x2" else 0.1
    assert sd.what_if(model, X, {"for": move}).value == pytest.approx(9.5 * added)


@pytest.mark.parametrize("ice", [0, 20, "all"])
def test_regions_keep_as_many_curves_as_the_method(ice):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 2))
    found = sd.regions(lambda X: X[:, 0] * np.sign(X[:, 1]), X, 0, method=sd.PDP(grid=5, ice=ice))
    held = np.asarray(found.assign(X))
    assert len(found) == 2
    for number, region in enumerate(found):
        rows = np.flatnonzero(held == number)
        curves = region.curves
        kept = np.zeros(0) if curves is None else curves.row
        assert len(kept) == (len(rows) if ice == "all" else ice)
        assert set(kept) <= set(rows)


def test_all_values_are_between_percentiles_0_and_100():
    X = np.random.default_rng(0).normal(size=(50, 1))
    e = sd.explain(lambda X: X[:, 0], X, 0, method=sd.PDP(grid=5, percentiles=(0, 100)))
    assert (e.x[0], e.x[-1]) == (X.min(), X.max())


def test_the_largest_of_several_batches_is_the_largest_of_all():
    one, two = BatchStats({}, largest=3.0, outside=1), BatchStats({}, largest=2.0, outside=4)
    for merged in (one.merge(two), two.merge(one)):
        assert (merged.largest, merged.outside) == (3.0, 5)


def test_a_scheme_that_merges_bins_does_not_merge_steps_between_few_values():
    x = np.arange(200.0) % 5
    e = sd.explain(lambda X: 2 * X[:, 0], x[:, None], 0, method=sd.DALE(bins=sd.Optimal()))
    np.testing.assert_array_equal(e.x, np.arange(5.0))


def _town(n=300):
    rng = np.random.default_rng(0)
    town = pd.Categorical(rng.choice(list("cab"), n), categories=list("cab"), ordered=True)
    return pd.DataFrame({"x": rng.uniform(1, 3, n), "town": town})


def _linear(X):
    return X["x"] * X["town"].astype(object).map({"c": 1.0, "a": -2.0, "b": 5.0}).astype(float)


@pytest.mark.parametrize("pair", [("x", "town"), ("town", "x")])
def test_main_effects_of_a_pair_are_those_of_the_single_features(pair):
    """The model is linear in the number, so that values between two edges are interpolated exactly."""
    X = _town()
    s = sd.explain(_linear, X, pair, method=sd.ALE(bins=4))
    for name, main in zip(pair, s.main, strict=True):
        e = sd.explain(_linear, X, name, method=sd.ALE(bins=4))
        np.testing.assert_allclose(main, e.value, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("names", [("x", "town"), ("x", "z")])
def test_the_rounding_of_a_surface_is_that_of_its_negative(names):
    X = _town().assign(z=np.linspace(0, 1, 300))

    def model(X):
        return 7 + _linear(X) + X["z"] * X["x"]

    one, other = (
        sd.explain(q, X, names, method=sd.ALE(bins=3)).provenance["rounding"]
        for q in (model, lambda X: -model(X))
    )
    assert one == other > 0


def test_rows_of_a_pair_that_are_outside_are_not_those_without_a_value():
    X = _town()
    X.loc[:9, "x"] = np.nan
    X.loc[5:19, "town"] = np.nan
    edges = {"x": sd.Edges([1.5, 2.0, 2.5])}

    def model(X):
        return X["x"].fillna(0)

    s = sd.explain(model, X, ("x", "town"), method=sd.ALE(bins=edges))
    outside = (X["x"] < 1.5) | (X["x"] > 2.5)
    assert s.provenance["rows_outside"] == (outside & X["town"].notna()).sum()
    # Levels that are left out are outside, too.
    s = sd.explain(model, X, ("x", "town"), method=sd.ALE(bins=edges, top_levels=2))
    kept = X["town"].isin(X["town"].value_counts().index[:2])
    inside = X["x"].between(1.5, 2.5) & kept
    assert s.provenance["rows_in_cells"] == inside.sum()
    assert s.provenance["rows_outside"] == (X["x"].notna() & ~inside).sum()


def test_a_store_copies_slices_of_an_array_that_may_change():
    x = np.arange(5.0)
    part = x[:3]
    part.flags.writeable = False
    store = RowStore(["a"], 5)
    store.add("a", {"x": part})
    x[:] = -1
    np.testing.assert_array_equal(store.of("a")["x"], [0, 1, 2])


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (timedelta(days=1), "+ 1 day"),
        (timedelta(days=-30), "− 30 days"),
        (timedelta(hours=36), "+ 36 hours"),
        (timedelta(hours=1), "+ 1 hour"),
        (timedelta(minutes=90), "+ 90 minutes"),
        (timedelta(seconds=45), "+ 45 seconds"),
        (timedelta(days=2000), "+ 2,000 days"),
        ("+2 weeks", "+ 14 days"),
        ("-1 s", "− 1 second"),
        (timedelta(milliseconds=864), "+ 1e-05 days"),
    ],
)
def test_steps_in_time_in_words(step, text):
    days = pd.date_range("2026-01-01", periods=20)
    X = pd.DataFrame({"day": days})
    c = sd.what_if(lambda X: np.zeros(len(X)), X, {"day": step})
    assert c.text == f"day {text}"


def test_rows_of_a_change_without_regions_are_in_the_first_one():
    c = sd.what_if(lambda X: X[:, 0], np.arange(9.0)[:, None], {"x0": 1})
    np.testing.assert_array_equal(c.rows.region, np.zeros(9))


def test_rows_without_a_value_get_ten_observed_values_if_they_are_many():
    rng = np.random.default_rng(0)
    X = np.stack([rng.normal(size=1200), np.arange(1200.0)], axis=1)
    missing = np.arange(1200) % 2 == 0
    X[missing, 0] = np.nan
    calls = np.zeros(1200)

    def model(X):
        np.add.at(calls, X[:, 1].astype(int), 1)
        return np.nan_to_num(X[:, 0])

    quantity = sd.prediction(model)
    sd.explain(quantity, X, 0, method=sd.ALE(bins=4))
    # Once for itself; the rows at which the model is tried beforehand more often.
    assert np.median(calls[missing]) == 11


@pytest.mark.parametrize("categorical", [False, True])
def test_errors_of_means_in_bins_are_those_of_the_kind_of_weights(categorical):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=300)})
    if categorical:
        X["x"] = rng.choice(list("ab"), 300)
    y, w = rng.normal(size=300), np.full(300, 4.0)

    def error(**options):
        return sd.explain(sd.label(), X, "x", y=y, method=sd.MPlot(bins=3), **options).std_error

    np.testing.assert_allclose(error(sample_weight=w, weight_kind="sampling"), error())
    np.testing.assert_allclose(error(sample_weight=w), error() / 2, rtol=0.01)


def test_a_grid_of_one_point():
    x = np.random.default_rng(0).normal(size=101)
    for spacing in ("uniform", "quantile"):
        method = sd.PDP(grid=1, spacing=spacing)
        e = sd.explain(lambda X: X[:, 0], x[:, None], 0, method=method)
        np.testing.assert_allclose(e.x, [np.percentile(x, 5)])


@pytest.mark.parametrize(
    ("grid", "source"), [([0.5], "one point only"), ([0.0, 1.0], "along the grid")]
)
def test_where_slopes_of_curves_come_from(grid, source):
    X = np.random.default_rng(0).normal(size=(50, 2))
    e = sd.explain(lambda X: X[:, 0], X, 0, method=sd.PDP(grid=grid, derivative=True))
    assert source in e.provenance["derivative"]


@pytest.mark.parametrize("heterogeneity", [False, True])
def test_rows_without_a_level_have_no_place_among_levels(heterogeneity):
    X = _town()
    X.loc[3:7, "town"] = np.nan
    method = sd.PDP(heterogeneity=heterogeneity, ice="all")
    e = sd.explain(lambda X: X["x"], X, "town", method=method)
    place = X["town"].cat.codes.to_numpy().astype(float)
    np.testing.assert_array_equal(e.rows.x, np.where(place < 0, np.nan, place))


def test_a_level_that_is_a_number_is_named_once():
    X = pd.DataFrame({"k": np.arange(60) % 3})
    schema = {"k": sd.Feature("k", kind="nominal")}

    def explained(grid):
        return sd.explain(lambda X: X["k"], X, "k", method=sd.PDP(grid=grid), schema=schema)

    with refused(sd.DataError, "PDP(grid) of 'k'", "a level twice", "Name each level once"):
        explained([1, 1])
    with refused(sd.DataError, "PDP(grid) of 'k'", "got 7", "grid={'k': [0]}"):
        explained([1, 7])


def test_a_function_is_recorded_by_its_name():
    def largest_error(y, values):
        return float(np.abs(y - values).max())

    assert sd.PFI(metric=largest_error).describe()["metric"] == "largest_error"
    assert sd.PFI(metric="r2").describe()["metric"] == "r2"


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_of_two_labels_that_are_numbers_the_larger_one_is_scored(metric):
    metrics = pytest.importorskip("sklearn.metrics")
    X = np.random.default_rng(0).normal(size=(90, 2))
    y = np.where(X[:, 0] + X[:, 1] > 0.4, 7.0, 3.0)
    method = sd.PFI(metric=metric, n_repeats=3)
    pf = sd.explain(sd.prediction(lambda X: X[:, 0]), X, y=y, method=method)
    expected = getattr(metrics, f"{metric}_score")(y == 7, X[:, 0])
    assert pf.baseline == pytest.approx(expected)
    assert pf["x0"].mean > 0


def test_the_very_end_of_a_cycle_belongs_to_its_last_block():
    ones = np.ones(4)
    cycle = WeightedCycles(
        np.arange(4), np.array([0.0, 1.0, 2.0, 4.0]), np.zeros(4, int), np.cumsum(ones),
        np.array([4.0]), np.ones((1, 1)), 4,
    )  # fmt: skip
    np.testing.assert_array_equal(cycle.block(np.arange(4)), [0, 1, 2, 3])


def test_the_rarest_of_fifty_levels_is_a_subgroup():
    """Equally frequent levels are taken in their order, so that the last one is the first to be left out."""
    level = np.repeat([f"{i:02}" for i in range(50)], 40)
    x = np.random.default_rng(0).normal(size=2000) + 50 * (level == "49")
    X = pd.DataFrame({"x": x, "level": level})
    pf = sd.explain(
        sd.loss(lambda X: X["x"], "squared_error"), X, "x", y=np.zeros(2000),
        method=sd.PFI(conditional=True, local="all"),
    )  # fmt: skip
    after = np.sqrt(pf.local.after[0])
    assert (after[level == "49"] > 40).all()
    assert (after[level != "49"] < 40).all()


def test_columns_of_a_group_count_alike_in_its_subgroups():
    X = pd.DataFrame({"flag": np.arange(300) % 2, "x": np.random.default_rng(0).normal(size=300)})
    source = as_dataset(X)
    for feature in source.features:
        np.testing.assert_allclose(_targets(source, feature).std(axis=0), 1.0)


@pytest.mark.parametrize("n", [100, 131, 400])
@pytest.mark.parametrize("settings", [{}, {"exact": True}, {"conditional": True}, {"metric": "r2"}])
def test_equal_weights_of_a_sample_are_no_weights(settings, n):
    """Some numbers of rows cannot be divided into blocks, so that rows are left over."""
    X = np.random.default_rng(0).normal(size=(n, 2))
    q = sd.prediction(lambda X: X[:, 0] + X[:, 1])
    if "metric" not in settings:
        q = sd.loss(lambda X: X[:, 0] + X[:, 1], "squared_error")
    w = np.full(n, 3.0)

    def found(**options):
        return sd.explain(q, X, 0, y=X[:, 0], method=sd.PFI(**settings), **options)

    plain_, weighted = found(), found(sample_weight=w, weight_kind="sampling")
    near = 0.35 if settings.get("conditional") else 1e-9  # other donors are drawn
    np.testing.assert_allclose(weighted.std_error, plain_.std_error, rtol=near)
    np.testing.assert_allclose(weighted.df, plain_.df)


def test_the_largest_step_between_levels_may_go_down():
    kept = {"effect": np.array([[np.nan, -1.0], [-5.0, 2.0], [2.0, np.nan]]), "x": np.arange(3.0)}
    plan = sd.explain(_linear, _town(), "town", method=sd.ALE())
    assert steps_of_levels(range(3), kept, None).largest == 5.0
    assert plan.value.shape == (3,)


CASES_OF_WHOLE_REGIONS = {
    "slopes": ("x", sd.RHALE()),
    "steps between few values": ("few", sd.RHALE()),
    "bins of few values": ("line", sd.RHALE()),
    "bins of step functions": ("x", sd.RHALE(local_effects="steps")),
    "levels": ("town", sd.ALE()),
    "differences": ("x", sd.ALE(bins=5)),
    "curves": ("x", sd.PDP(grid=5, ice="all")),
    "curves of levels": ("town", sd.PDP(ice="all")),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES_OF_WHOLE_REGIONS)
def test_a_region_of_all_rows_has_their_effect(case, weighted):
    feature, method = CASES_OF_WHOLE_REGIONS[case]
    X = _town()
    X["few"] = np.array([0.0, 1.0, 3.0, 4.0, 9.0])[np.arange(300) % 5]
    X["line"] = np.arange(300) % 12 + 2.0 * (np.arange(300) % 12 > 5)
    w = np.random.default_rng(1).uniform(0.5, 2, 300) if weighted else None

    def model(X):
        return _linear(X) + np.sqrt(X["few"]) * X["x"] + X["line"] * X["few"]

    options = {"method": method, "sample_weight": w, "weight_kind": "sampling"}
    whole = sd.explain(model, X, feature, **options)
    (region,) = sd.explain(model, X, feature, by=np.zeros(300), **options)
    np.testing.assert_array_equal(region.x, whole.x)
    for name in ("value", "std_error", "heterogeneity"):
        np.testing.assert_allclose(
            getattr(region, name), getattr(whole, name), rtol=1e-9, atol=1e-12, err_msg=name
        )
    assert set(region.moments) == set(whole.moments)
    for name, moments in whole.moments.items():
        for key, values in moments.arrays().items():
            np.testing.assert_allclose(
                region.moments[name].arrays()[key], values, rtol=1e-9, atol=1e-9, err_msg=name
            )


def test_two_values_next_to_each_other_have_a_mean_each():
    """The middle between them is rounded to the larger one."""
    low = 1 + np.finfo(float).eps
    X = np.where(np.arange(40) % 4 == 0, low, np.nextafter(low, 2))[:, None]
    e = sd.explain(lambda X: X[:, 0] > low, X, 0, method=sd.MPlot())
    np.testing.assert_array_equal(e.value, [0, 1])


def test_columns_that_have_no_numbers_to_move():
    z = np.arange(9.0)
    for x, got in (
        (np.full(9, np.nan), "only missing values"),
        (np.r_[np.inf, z[1:]], "1 infinite"),
    ):
        X = pd.DataFrame({"x": x, "z": z})
        with refused(sd.DataError, "feature 'x'", got):
            sd.what_if(lambda X: X["z"], X, {"x": 1})


def test_levels_with_an_order_are_grouped_if_all_features_are_explained():
    X = _town()
    X["free"] = np.array(list("uvw"))[np.arange(300) % 3]

    def model(X):
        return X["x"] + X["town"].cat.codes

    found = sd.explain(model, X, method=sd.RHALE())
    assert found["town"].spec.method == "RHALE"
    assert len(found["town"].bins) == 1  # both steps are 1
    assert found["free"].spec.method == "ALE"
    assert "instead_of" in found["free"].provenance


@pytest.mark.parametrize(("repeats", "known"), [(2, False), (3, True)])
def test_a_metric_of_two_permutations_has_no_error(repeats, known):
    X = np.random.default_rng(0).normal(size=(80, 2))
    method = sd.PFI(metric="r2", n_repeats=repeats)
    pf = sd.explain(lambda X: X[:, 0], X, 0, y=X[:, 0] + X[:, 1], method=method)
    assert np.isfinite(pf.std_error[0]) == known


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("categorical", [False, True])
def test_the_spread_within_bins_has_the_degrees_of_freedom_asked_for(ddof, categorical):
    rng = np.random.default_rng(0)
    k, y = np.arange(60) % 3, rng.normal(size=60)
    X = pd.DataFrame({"x": np.array(list("abc"))[k] if categorical else k * 1.0})
    e = sd.explain(sd.label(), X, "x", y=y, method=sd.MPlot(ddof=ddof))
    expected = [y[k == level].std(ddof=ddof) for level in range(3)]
    np.testing.assert_allclose(e.heterogeneity, expected)


def test_a_store_copies_what_came_before_an_array_of_its_own():
    x = np.arange(5.0)
    x.flags.writeable = False
    store = RowStore(["a"], 5)
    store.add("a", {"x": x[:3]})
    store.add("a", {"x": np.array([8.0, 9.0])})
    np.testing.assert_array_equal(store.of("a")["x"], [0, 1, 2, 8, 9])
    np.testing.assert_array_equal(x, np.arange(5.0))


def test_a_donor_at_the_end_of_a_cycle_is_of_this_cycle():
    """The first cycle is so long that the target in the second one is rounded to the start of the third."""
    w = np.array([1e16, 2.0, 2.0, 2.0, 2.0])
    cycle = np.array([0, 1, 1, 2, 2])
    ahead = np.array([[0.0, 2.99999, 0.0]])
    point = np.array([0.0, 1.0, 3.0, 1.0, 3.0])
    drawn = WeightedCycles(
        np.arange(5), point, cycle, np.cumsum(w), np.bincount(cycle, w), ahead, 5
    )
    assert drawn.donors(np.array([1]))[0, 0] == 2


@pytest.mark.parametrize(("share", "beyond"), [(2.99, True), (3.01, False)])
def test_distances_exceed_the_longest_arc_if_it_is_at_most_three_blocks(share, beyond):
    longest = share * 1000 / BLOCKS
    distances, found = _draw_distances(500, longest, 1000.0, 5, np.random.default_rng(0))
    assert found is beyond
    assert ((distances > longest) & (distances < 1000 - longest)).all() or not beyond


def test_few_heavy_rows_of_a_sample_have_few_degrees_of_freedom():
    X = np.random.default_rng(0).normal(size=(60, 2))
    w = np.where(np.arange(60) < 5, 1000.0, 1.0)
    pf = sd.explain(
        lambda X: X[:, 0], X, 0, method=sd.PFI(), sample_weight=w, weight_kind="sampling"
    )
    assert pf.df[0] == pytest.approx(w.sum() ** 2 / (w @ w) - 1)


def test_many_rows_without_a_value_are_not_outside():
    """So many that some batches have no others."""
    x = np.arange(300_000.0) % 2
    x[:200_000] = np.nan
    c = sd.what_if(lambda X: X[:, 1], np.stack([x, np.ones(len(x))], axis=1), {"x0": 1})
    (moved,) = c.moved
    assert (moved.outside, moved.missing) == (50_000, 200_000)


def test_the_error_of_a_metric_that_is_a_mean_is_about_that_of_the_loss():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] + rng.normal(size=600)

    def negative_loss(y, values):
        return -np.mean((y - values) ** 2)

    def model(X):
        return X[:, 0]

    by_metric = sd.explain(model, X, 0, y=y, method=sd.PFI(metric=negative_loss))
    by_loss = sd.explain(sd.loss(model, "squared_error"), X, 0, y=y, method=sd.PFI())
    assert by_metric.mean[0] == pytest.approx(by_loss.mean[0], rel=0.05)
    assert 0.5 < by_metric.std_error[0] / by_loss.std_error[0] < 2


@pytest.mark.parametrize("value", ["+1", "10%", "-5%", "x2", "× 2"])
def test_moves_are_no_settings(value):
    X = np.arange(1.0, 9.0)[:, None]
    with refused(sd.DataError, "change(to)['x0']", "which is a move"):
        sd.what_if(lambda X: X[:, 0], X, to={"x0": value})
    assert sd.what_if(lambda X: X[:, 0], X, to={"x0": "-5"}).text == "x0 = -5"


def test_no_change_is_neither_a_rise_nor_a_fall():
    """Of zero, too, whose rounding error is zero."""
    X = np.arange(9.0)[:, None]
    c = sd.what_if(lambda X: np.zeros(len(X)), X, {"x0": 1})
    assert (c.increases, c.decreases) == (0, 0)


def test_levels_with_an_order_are_one_column_for_trees_and_others_have_indicators():
    X = _town().assign(free=np.array(list("uvwz"))[np.arange(300) % 4])
    source = as_dataset(X)
    columns = {f.name: _numbers(source, f) for f in source.features}
    np.testing.assert_array_equal(columns["town"][:, 0], X["town"].cat.codes)
    assert columns["town"].shape == (300, 1)
    indicators = {tuple(c) for c in columns["free"].T if c.any()}
    assert indicators == {tuple((X["free"] == level).astype(float)) for level in "uvwz"}


@pytest.mark.parametrize("options", [{"anchor": 0.0}, {"center": "mean"}, {"center": "start"}, {}])
def test_means_alone_are_those_of_curves(options):
    X = np.random.default_rng(0).normal(size=(80, 2))

    def model(X):
        return np.exp(X[:, 0]) * X[:, 1] + 5

    one, other = (
        sd.explain(model, X, 0, method=sd.PDP(grid=7, heterogeneity=h, **options)).value
        for h in (True, False)
    )
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("option", "wrong"), [("center", "start"), ("derivative", True), ("anchor", 0.0)]
)
def test_options_of_curves_are_refused_for_two_features(option, wrong):
    X = np.random.default_rng(0).normal(size=(40, 2))

    def explained(**options):
        return sd.explain(lambda X: X[:, 0], X, (0, 1), method=sd.PDP(grid=3, **options))

    with refused(sd.UnsupportedError, "PDP of two features", f"{option}={wrong!r}"):
        explained(**{option: wrong})
    assert explained(center="mean").value.shape == (3, 3)


@pytest.mark.parametrize("scale", [1e-20, 1e20])
@pytest.mark.parametrize(
    ("feature", "method"),
    [("town", sd.RHALE()), ("town", sd.ALE()), ("x", sd.RHALE()), ("x", sd.ALE(bins=4))],
)
def test_bins_do_not_depend_on_the_unit_of_the_quantity(feature, method, scale):
    X = _town()
    one = sd.explain(_linear, X, feature, method=method)
    other = sd.explain(lambda X: scale * _linear(X), X, feature, method=method)
    assert len(one.bins) == len(other.bins)
    assert one.heterogeneity.any()
    assert one.accumulated_std.any()
    np.testing.assert_allclose(other.value / scale, one.value, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        other.heterogeneity / scale, one.heterogeneity, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        other.accumulated_std / scale, one.accumulated_std, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("scale", [1e-20, 1e20])
@pytest.mark.parametrize("bins", ["auto", sd.Optimal(), sd.Greedy()], ids=str)
def test_groups_of_levels_do_not_depend_on_the_unit_of_the_quantity(bins, scale):
    """Two steps of 1 and three of 5, which differ between rows."""
    k = np.arange(600) % 6
    levels = list("abcdef")
    X = pd.DataFrame({"g": pd.Categorical(np.array(levels)[k], levels, ordered=True)})
    X["z"] = np.random.default_rng(0).normal(size=600)

    def model(X):
        return (1 + 0.3 * X["z"]) * np.array([0.0, 1.0, 2.0, 7.0, 12.0, 17.0])[X["g"].cat.codes]

    method = sd.RHALE(bins=bins)
    one = sd.explain(model, X, "g", method=method)
    other = sd.explain(lambda X: scale * model(X), X, "g", method=method)
    assert len(one.bins) == len(other.bins) == 2


def test_one_row_that_outweighs_all_others_has_one_degree_of_freedom():
    X = np.random.default_rng(0).normal(size=(60, 2))
    w = np.where(np.arange(60) == 5, 1e6, 1.0)
    pf = sd.explain(
        lambda X: X[:, 0], X, 0, method=sd.PFI(), sample_weight=w, weight_kind="sampling"
    )
    assert pf.df[0] == 1


@pytest.mark.parametrize("method", [sd.ALE(), sd.RHALE(), sd.PDP()], ids=lambda m: m.name)
@pytest.mark.parametrize("ordinal", [True, False])
def test_regions_in_which_all_rows_are_alike_explain_everything(method, ordinal):
    """The sign of z decides, and the steps between the four values differ."""
    rng = np.random.default_rng(0)
    k, z = rng.integers(0, 4, 800), rng.choice([-1.0, 1.0], 800)
    values = pd.Categorical(np.array(list("abcd"))[k], list("abcd"), ordered=True)
    X = pd.DataFrame({"g": values if ordinal else k * 1.0, "z": z})

    def model(X):
        place = X["g"].cat.codes if ordinal else X["g"].astype(int)
        return X["z"] * np.array([0.0, 1.0, 5.0, 6.0])[place]

    (split,) = sd.regions(model, X, "g", method=method, criterion="within").splits
    assert split.feature == "z"
    assert split.share_in_sample == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("method", [sd.RHALE(), sd.ALE(), sd.DALE()], ids=lambda m: m.name)
def test_a_constant_feature_has_no_effect_in_any_region(method):
    X = np.stack([np.full(60, 3.0), np.arange(60.0)], axis=1)
    found = sd.explain(lambda X: X[:, 1] ** 2, X, 0, method=method, by=np.arange(60) % 2)
    assert len(found) == 2
    for e in found:
        assert not e.value.any()


@pytest.mark.parametrize(("label", "some"), [("b", "all are"), ("a", "never are")])
def test_labels_of_one_class_are_told_apart(label, some):
    linear_model = pytest.importorskip("sklearn.linear_model")
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = linear_model.LogisticRegression().fit(X, np.where(X[:, 0] > 0, "b", "a"))
    with refused(sd.DataError, "PFI(metric='roc_auc'): y", f"labels that {some} the class of"):
        sd.explain(
            sd.probability(model, class_="b"), X, y=np.full(40, label),
            method=sd.PFI(metric="roc_auc"),
        )  # fmt: skip


@pytest.mark.parametrize(
    "method", [sd.PDP(grid=5, derivative=True), sd.DALE(bins=4)], ids=lambda m: m.name
)
def test_a_model_with_slopes_beside_one_without_has_its_own(method):
    X = np.random.default_rng(0).normal(size=(90, 2))
    models = [
        sd.prediction(
            lambda X: X[:, 0] ** 2, slope=lambda X: np.stack([2 * X[:, 0], 0 * X[:, 1]], axis=1)
        ),
        lambda X: np.sin(X[:, 0]) * X[:, 1],
    ]
    together = sd.explain(models, X, 0, method=method, refits=True)
    for model, own in zip(models, together.models, strict=True):
        alone = sd.explain(model, X, 0, method=method)
        np.testing.assert_array_equal(own.x, alone.x)
        np.testing.assert_allclose(own.value, alone.value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("top", [2, 4, 9])
def test_the_largest_whole_number_is_no_bin_of_its_own(top):
    # Local effects vary only for rows with the largest value, so the best partition has an edge right before it.
    rng = np.random.default_rng(0)
    k = rng.integers(0, top + 1, 2000)
    X = pd.DataFrame({"k": k, "z": np.where(k == top, 1.0, 0.01) * rng.normal(size=2000)})

    def model(X):
        return np.where(X["k"] >= top, 9 * X["z"], 0.0) + 1e-3 * X["k"]

    e = sd.explain(model, X, "k", method=sd.RHALE(), progress=False)
    assert (np.diff(e.bins.left) > 0).all()
    assert (e.bins.right > e.bins.left).all()
    assert e.bins.right[-1] == top
    assert e.bins.count.sum() == len(X)
    assert np.isfinite(e.value).all()


@pytest.mark.parametrize("grid", [frozenset(), (), [0.0, np.nan], [np.inf], 0, -1, True, "all"])
def test_a_grid_is_finite_points_levels_or_their_number(grid):
    with refused(sd.DataError, "PDP(grid)"):
        sd.PDP(grid=grid)


@pytest.mark.parametrize("ice", [-1, 1.5, "some", True])
def test_curves_of_rows_are_a_number_or_all(ice):
    with refused(sd.DataError, "PDP(ice)", "a number of curves, or 'all'"):
        sd.PDP(ice=ice)


@pytest.mark.parametrize(("size", "more"), [(12, False), (13, True)])
def test_the_first_twelve_levels_are_named(size, more):
    X = pd.DataFrame({"town": [f"t{i:02}" for i in range(size)] * 9})
    with pytest.raises(sd.DataError) as caught:
        sd.what_if(lambda X: np.zeros(len(X)), X, {"town": "nowhere"})
    assert ("'t11', …" in str(caught.value)) is more
    assert ("…" in str(caught.value)) is more


def test_a_truth_value_is_no_step():
    with refused(sd.DataError, "change['town']", "got True, expected one of"):
        sd.what_if(_linear, _town(), {"town": True})
    with refused(sd.DataError, "change['town']", "1, a step of an ordinal feature"):
        sd.what_if(_linear, _town(), {"town": 1})


@pytest.mark.parametrize("method", [sd.ALE, sd.DALE, sd.RHALE, sd.UALE, sd.MPlot])
@pytest.mark.parametrize("bins", [0, 2.5, "many", None])
def test_bins_are_checked_before_there_are_data(method, bins):
    with refused(sd.DataError, "expected"):
        method(bins=bins)


def test_a_percentage_without_a_sign_is_told_to_have_one():
    X = np.arange(1.0, 9.0)[:, None]
    with refused(sd.DataError, "change['x0']", 'Write the sign: "+10%" or "-10%"'):
        sd.what_if(lambda X: X[:, 0], X, {"x0": "10%"})
    for text in ("ten", "ten%"):
        with refused(sd.DataError, "change['x0']", 'Use for example "+1"'):
            sd.what_if(lambda X: X[:, 0], X, {"x0": text})


@pytest.mark.parametrize("method", [sd.ALE, sd.RHALE, sd.PDP, sd.MPlot, sd.PFI])
def test_a_model_is_not_an_option_of_a_method(method):
    class Fitted:
        def predict(self, X):
            return X[:, 0]

    for model in (lambda X: X[:, 0], Fitted(), pd.DataFrame({"a": [1.0]})):
        with pytest.raises((TypeError, ValueError), match="explain"):
            method(model)


def test_the_mean_of_a_curve_over_the_data_is_that_of_its_values_at_the_rows():
    x = np.random.default_rng(0).normal(size=301)
    points = np.array([-9.0, -0.5, 0.0, 0.1, 2.0, 9.0])
    curve = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0])
    shares = grid_shares(as_dataset(x[:, None]).column(0), points)
    assert shares @ curve == pytest.approx(np.interp(x, points, curve).mean(), rel=1e-12)


def test_bins_of_few_values_end_halfway_between_them():
    X = np.repeat([0.0, 1.0, 2.0, 5.0], 10)[:, None]
    e = sd.explain(lambda X: X[:, 0], X, 0, method="mplot", progress=False)
    assert e.bins.edges.tolist()[1:] == [0.5, 1.5, 3.5, 5.0]


def test_bins_are_for_levels_that_are_numbers():
    X = pd.DataFrame({"size": pd.Categorical(["s", "m", "l"] * 20, ["s", "m", "l"], ordered=True)})
    e = sd.explain(
        lambda X: X["size"].cat.codes.to_numpy(float),
        X,
        "size",
        method=sd.MPlot(bins=sd.Uniform(2)),
    )
    assert e.levels.values == ("s", "m", "l")
