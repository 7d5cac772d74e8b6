"""Individual curves of drawn rows behind any effect: `sd.explain(..., curves=n)`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

import skedasis as sd
from tests.helpers import METHODS, accumulated, refused, same_effect

OFF = {"progress": False, "heterogeneity_rows": 0}
N = 400


def product(X):
    return X[:, 0] * X[:, 1]


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(8).uniform(-1, 1, (N, 3))


@pytest.fixture(scope="module")
def levels():
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "town": rng.choice(["A", "B", "C", "D"], N, p=[0.4, 0.3, 0.2, 0.1]),
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], N), ["low", "mid", "high"], ordered=True
            ),
            "few": rng.integers(0, 4, N),
            "many": rng.integers(0, 90, N),
            "day": np.datetime64("2026-01-01") + rng.integers(0, 400, N).astype("m8[D]"),
            "z": rng.normal(size=N),
        }
    )


SIZE = {"A": 0.0, "B": 1.0, "C": 3.0, "D": -2.0, "low": 0.0, "mid": 1.0, "high": 5.0}


def value_of(column):
    """Return levels, numbers and days as numbers."""
    if column.dtype.kind == "M":
        return (column - pd.Timestamp("2026-01-01")) / pd.Timedelta("1D") / 100
    return (
        column.map(SIZE).astype(float) if column.dtype.kind not in "iuf" else column.astype(float)
    )


def of(name):
    return lambda X: value_of(X[name]) * X["z"]


class Counted:
    """A model that counts its rows, and keeps the types of a column of the rows that it gets."""

    def __init__(self, function, column=None):
        self.function, self.column, self.rows, self.types = function, column, 0, set()

    def __call__(self, X):
        self.rows += len(X)
        if self.column is not None:
            self.types.add(str(X[self.column].dtype))
        return self.function(X)


# ------------------------------------------------------------------------------------ closed forms
@accumulated
@pytest.mark.parametrize("center", ["mean", "start"])
def test_the_curve_of_a_product_is_a_line_through_the_centre_of_the_effect(X, method, center):
    e = sd.explain(product, X, 0, method=METHODS[method](bins=7, center=center), curves=30, **OFF)
    z, curves = X[e.curves.row, 1], e.curves
    assert curves.value.shape == (30, len(e.x))
    assert curves.x == pytest.approx(X[curves.row, 0], abs=0)
    assert not curves.exact
    assert curves.weight is None
    # The mean of the axis over the data: rows in the middle of their bins.
    inside = np.clip(np.searchsorted(e.x, X[:, 0], side="right") - 1, 0, len(e.x) - 2)
    if method == "ale":  # quantile bins are closed on the right
        inside = np.clip(np.searchsorted(e.x, X[:, 0]) - 1, 0, len(e.x) - 2)
    middle = ((e.x[1:] + e.x[:-1]) / 2)[inside].mean() if center == "mean" else e.x[0]
    assert curves.value == pytest.approx(np.outer(z, e.x - middle), rel=1e-9, abs=1e-9)


@accumulated
def test_all_curves_have_the_centre_of_the_effect(X, method):
    """The mean of the curves of all rows, over independent features, is the effect up to the sampling of rows."""
    e = sd.explain(product, X, 0, method=METHODS[method](center="mean"), curves=N, **OFF)
    assert e.curves.exact
    assert e.curves.value.mean(axis=0) == pytest.approx(e.value, abs=0.1)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *(
            (name, method)
            for name in ("grade", "few", "many", "day")
            for method in ("ale", "rhale", "pdp")
        ),
        ("town", "ale"),
        ("town", "pdp"),
    ],
)
def test_every_kind_of_feature(levels, name, method):
    chosen = METHODS[method](center="mean", **({"ice": 0} if method == "pdp" else {}))
    model = Counted(of(name), name)
    e = sd.explain(model, levels, name, method=chosen, curves=25, **OFF)
    own, z = value_of(levels[name]).to_numpy(), levels["z"].to_numpy()[e.curves.row]
    at = value_of(pd.Series(e.x)).to_numpy()
    slopes = np.diff(e.curves.value, axis=1)
    assert slopes == pytest.approx(np.outer(z, np.diff(at)), rel=1e-7, abs=1e-9)
    if e.levels is not None:
        assert (
            np.asarray(e.x)[e.curves.x.astype(int)] == levels[name].to_numpy()[e.curves.row]
        ).all()
    if name in ("few", "town", "grade") and method != "pdp":
        # Each value is a point: the mean over the data is that over the rows.
        assert e.curves.value == pytest.approx(np.outer(z, at - own.mean()), rel=1e-7, abs=1e-9)
    assert model.types == {str(levels[name].dtype)}  # no column is promoted
    assert "promoted" not in e.provenance


def test_a_group_of_columns_moves_together():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 3, 200)
    X = pd.DataFrame(np.eye(3, dtype=int)[code], columns=["gas", "oil", "wood"])
    X["z"] = rng.normal(size=200)
    model = lambda X: (X["oil"] + 3 * X["wood"]) * X["z"]  # noqa: E731
    groups = {"fuel": ["gas", "oil", "wood"]}
    e = sd.explain(model, X, "fuel", groups=groups, curves=10, **OFF)
    z, size = X["z"].to_numpy()[e.curves.row], np.array([0.0, 1.0, 3.0])
    assert np.ptp(e.curves.value, axis=1) == pytest.approx(3 * np.abs(z))
    assert e.levels.share @ e.curves.value.T == pytest.approx(0, abs=1e-12)
    assert size[code].std() > 0


# ------------------------------------------------------------------------------------ rows and cost
def test_model_rows_are_counted_apart(X):
    plain, drawn = Counted(product), Counted(product)
    without = sd.explain(plain, X, method="ale", **OFF)
    with_curves = sd.explain(drawn, X, method="ale", curves=20, **OFF)
    p = with_curves.provenance
    expected = 20 * sum(len(e.x) for e in with_curves.values())
    assert drawn.rows - plain.rows == p["curve_rows"] == expected
    assert p["curve_calls"] == 3
    assert p["effect_rows"] == without.provenance["effect_rows"]
    assert "curve_rows" not in without.provenance
    for name, e in with_curves.items():
        same_effect(e, without[name], 0)
        assert without[name].curves is None
    rows = {tuple(e.curves.row.tolist()) for e in with_curves.values()}
    assert len(rows) == 1  # the same rows for all features


def test_pdp_and_ice_keep_their_own_curves(X):
    for method in (sd.PDP(ice=7), sd.ICE()):
        e = sd.explain(product, X, 0, method=method, curves=30, **OFF)
        assert len(e.curves) == (7 if method.name == "PDP" else N)
        assert e.provenance["curve_rows"] == 0


@pytest.mark.parametrize("change", [{}, {"center": "mean"}, {"anchor": 0.5}, {"derivative": True}])
def test_a_pdp_without_curves_gets_those_that_it_would_keep(X, change):
    every = sd.explain(product, X, 0, method=sd.ICE(grid=9, **change), **OFF)
    means = not change.get("derivative")
    for more in ({"ice": 0}, *([{"heterogeneity": False}] if means else [])):
        method = sd.PDP(grid=9, **more, **change)
        e = sd.explain(product, X, 0, method=method, curves=12, **OFF)
        assert len(e.curves) == 12
        assert e.curves.value == pytest.approx(every.curves.value[e.curves.row], rel=1e-12)


def test_rows_do_not_depend_on_batches_threads_and_order(X):
    ids = np.arange(N) * 7 + 3
    first = sd.explain(product, X, 0, method="ale", curves=40, row_id=ids, **OFF)
    order = np.random.default_rng(1).permutation(N)
    for options in ({"memory": 20_000}, {"n_jobs": 2}):
        e = sd.explain(product, X, 0, method="ale", curves=40, row_id=ids, **OFF, **options)
        assert (e.curves.row == first.curves.row).all()
        assert (e.curves.value == first.curves.value).all()
    e = sd.explain(product, X[order], 0, method="ale", curves=40, row_id=ids[order], **OFF)
    assert set(ids[order][e.curves.row]) == set(ids[first.curves.row])
    place = np.argsort(order[e.curves.row])
    assert e.curves.value[place] == pytest.approx(first.curves.value, rel=1e-9, abs=1e-12)
    other = sd.explain(product, X, 0, method="ale", curves=40, row_id=ids, random_state=1, **OFF)
    assert set(other.curves.row) != set(first.curves.row)


@pytest.mark.parametrize("method", ["ale", "rhale", "pdp"])
def test_rows_without_the_feature_have_no_curve(X, method):
    missing = X.copy()
    missing[::2, 0] = np.nan
    model = lambda X: np.nan_to_num(X[:, 0], nan=0.5) * X[:, 1]  # noqa: E731
    chosen = METHODS[method](**({"ice": 0} if method == "pdp" else {}))
    e = sd.explain(model, missing, 0, method=chosen, curves=N, **OFF)
    assert e.curves.row.tolist() == list(range(1, N, 2))
    assert e.curves.exact
    assert e.missing_point is not None


def test_weights_are_repetitions(X):
    w = np.random.default_rng(5).integers(0, 4, N)
    weighted = sd.explain(product, X, 0, method="ale", sample_weight=w, curves=N, **OFF)
    assert (w[weighted.curves.row] > 0).all()
    assert (weighted.curves.weight == w[w > 0]).all()
    repeated = sd.explain(product, np.repeat(X, w, axis=0), 0, method="ale", curves=4 * N, **OFF)
    own = np.repeat(weighted.curves.value, w[w > 0], axis=0)
    assert repeated.curves.value == pytest.approx(own, rel=1e-9, abs=1e-12)


def test_rows_are_drawn_by_their_weights(X):
    """Weighted sums of the drawn rows are unbiased for sums over all rows."""
    w = np.where(np.arange(N) % 10 == 0, 20.0, 1.0)
    shares, sums = [], []
    for seed in range(60):
        e = sd.explain(
            product, X, 0, method=sd.ALE(2), sample_weight=w, curves=40, random_state=seed, **OFF
        )
        heavy = w[e.curves.row] == 20
        shares.append(heavy.mean())
        sums.append(e.curves.weight[heavy].sum() / e.curves.weight.sum())
    assert np.mean(shares) > 0.3  # a tenth of the rows, but drawn far more often
    truth = w[w == 20].sum() / w.sum()
    assert abs(np.mean(sums) - truth) < 4 * np.std(sums) / np.sqrt(60)


# ------------------------------------------------------------------------------------ models
def test_trees_cost_nothing_and_agree_with_the_called_model(X):
    forest = RandomForestRegressor(8, max_depth=4, random_state=0).fit(X, product(X))
    for method in ("ale", "rhale", sd.PDP(heterogeneity=False, grid=9)):
        walked = sd.explain(forest, X, method=method, curves=15, tree="force", **OFF)
        called = sd.explain(forest, X, method=method, curves=15, tree="off", **OFF)
        assert walked.provenance["curve_rows"] == walked.provenance["curve_calls"] == 0
        for name, e in called.items():
            other = walked[name].curves
            assert (other.row == e.curves.row).all()
            if np.array_equal(e.x, walked[name].x):
                assert other.value == pytest.approx(e.curves.value, rel=1e-6, abs=1e-9)
    assert called.provenance["curve_rows"] == 15 * sum(len(e.x) for e in called.values())


@pytest.mark.parametrize("method", ["ale", sd.PDP(ice=0)])
def test_the_effect_of_all_rows_has_curves_and_those_of_regions_have_none(X, method):
    model = Counted(product)
    y = X[:, 1] > 0
    found = sd.explain(model, X, 0, by=y, method=method, curves=8, **OFF)
    assert len(found.whole.curves) == 8
    assert found.provenance["curve_rows"] == 8 * len(found.whole.x)
    if method == "ale":
        assert all(e.curves is None for e in found.effects)
    searched = sd.regions(product, X, 0, method=method, curves=8, **OFF)
    assert (searched.whole.curves.row == found.whole.curves.row).all()


# ------------------------------------------------------------------------------------ data beyond memory
@pytest.mark.parametrize("weighted", [False, True])
def test_streams_draw_the_same_rows(tmp_path, levels, weighted):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rows = levels.drop(columns=["grade", "day"])
    rows["gaps"] = np.where(rows["z"] > 0.5, np.nan, rows["z"])
    weight = np.random.default_rng(0).integers(1, 4, N) * 1.0
    written = rows.assign(w=weight) if weighted else rows
    pq.write_table(pa.Table.from_pandas(written, preserve_index=False), tmp_path / "x.parquet")
    weights = {"sample_weight": weight} if weighted else {}
    source = sd.parquet(tmp_path / "x.parquet", **({"sample_weight": "w"} if weighted else {}))
    model = lambda X: value_of(X["town"]) * X["z"] + X["gaps"].fillna(0.2) * X["few"]  # noqa: E731
    small = {"progress": False, "heterogeneity_rows": 20}
    streamed = sd.explain(model, source, method="ale", curves=30, **small)
    here = sd.explain(model, rows, method="ale", curves=30, **weights, **small)
    for name in ("town", "few", "gaps", "many", "z"):
        a, b = streamed[name].curves, here[name].curves
        assert (a.row == b.row).all()
        assert a.value == pytest.approx(b.value, rel=1e-12, abs=1e-12)
        assert (a.x == b.x).all()
        assert (a.weight is None) == (b.weight is None)
        if weighted:
            assert a.weight == pytest.approx(b.weight)
    assert streamed.provenance["curve_rows"] == here.provenance["curve_rows"]


# ------------------------------------------------------------------------------------ results


def test_other_bins_keep_the_curves_at_their_points(X):
    e = sd.explain(product, X, 0, method=sd.ALE(bins=8), curves=6, **OFF)
    fewer = e.rebin(sd.Edges(e.x[::4]))
    assert fewer.curves.value.shape == (6, 3)
    # A line minus its mean over the rows of the wider bins.
    z = X[e.curves.row, 1]
    assert np.diff(fewer.curves.value) == pytest.approx(np.outer(z, np.diff(fewer.x)))
    n = fewer.bins.count
    mean = (fewer.curves.value[:, 1:] + fewer.curves.value[:, :-1]) / 2 @ n / n.sum()
    assert mean == pytest.approx(np.zeros(6), abs=1e-12)
    sloped = sd.prediction(product, slope=lambda X: X[:, [1, 0, 2]] * [1, 1, 0])
    e = sd.explain(sloped, X, 0, method=sd.RHALE(bins=sd.Uniform(4)), curves=6, **OFF)
    assert e.rebin(sd.Uniform(5)).curves is None


# ------------------------------------------------------------------------------------ errors
@pytest.mark.parametrize(
    ("method", "features", "word"),
    [("mplot", None, "MPlot"), ("pfi", None, "PFI"), ("ale", (0, 1), "'x0', 'x1'")],
)
def test_what_has_no_curves_says_so_before_the_model_is_called(X, method, features, word):
    model = Counted(product)
    with refused(sd.UnsupportedError, "explain(curves)", word, "Leave curves out"):
        sd.explain(model, X, features, method=method, y=product(X), curves=3, **OFF)
    assert model.rows == 0
