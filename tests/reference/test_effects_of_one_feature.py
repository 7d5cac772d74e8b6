"""ALE of a number, M-plots, anchored and derivative curves, missing values, multi-output: against plain means."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest
from hypothesis import strategies as st

import skedasis as sd
from tests.helpers import observed
from tests.laws.strategies import law, near
from tests.reference import aleplot_reference as reference
from tests.reference.aleplot_cases import NAMES, NOMINAL, case

pd = pytest.importorskip("pandas", reason="M-plots are compared with pandas' means by groups")

SEEDS = st.integers(0, 2**32 - 1)
KINDS = {NAMES.index(n): kind for n, kind in NOMINAL.items()}


@law(seed=SEEDS, k=st.integers(1, 45))
def test_ale_of_a_number(seed, k):
    """RHALE Eq. 3, 9, 10: accumulated mean differences over quantile bins, centred by mid-values."""
    c = case(seed)
    for j in (0, 1):
        want = reference.ale_1d(c.f, c.plain, j, k, c.weights_of_plain)
        e = sd.explain(c.f, c.X, j, method=sd.ALE(bins=k), sample_weight=c.weights, schema=KINDS)
        np.testing.assert_array_equal(e.x, want.edges)
        tolerance = 1e-9 * np.abs(want.value).max() + 1e-13 * c.size
        near(e.value, want.value, tolerance, "value")
        rise = e.bins.effect * e.bins.widths
        near(rise, want.mean, tolerance + 1e-9 * np.abs(want.mean).max(), "rises")
        near(e.bins.weight, want.count, 1e-12 * want.count.max(), "weight")


# ---------------------------------------------------------------------------- M-plots


def grouped_means(by, columns, weights):
    """Return weighted means, and weighted standard deviations (ddof 1 of repetitions), by pandas."""
    frame = pd.DataFrame({**columns, "by": by, "w": weights})
    groups = frame.groupby("by", observed=True)
    total = groups["w"].sum()
    means, spreads = {}, {}
    for name in columns:
        mean = (frame[name] * frame["w"]).groupby(frame["by"], observed=True).sum() / total
        off = (frame[name] - frame["by"].map(mean).astype(float)) ** 2 * frame["w"]
        means[name] = mean.to_numpy()
        with np.errstate(divide="ignore", invalid="ignore"):
            square = off.groupby(frame["by"], observed=True).sum() / (total - 1).where(total > 1)
        spreads[name] = np.sqrt(square.to_numpy())
    return means, spreads, total


@law(seed=SEEDS, k=st.integers(1, 12), of=st.sampled_from(["prediction", "label", "residual"]))
def test_m_plots_are_pandas_means_by_groups(seed, k, of):
    """No row is changed: the values are means of the observed values in each bin or level, at the bin's mean."""
    c = case(seed)
    y = np.random.default_rng([seed, 3]).normal(size=len(c.X)) * c.size
    w = np.ones(len(c.X)) if c.weights is None else c.weights
    q = c.f(c.X)
    shown = {"prediction": q, "label": y, "residual": y - q}[of]
    x = c.X.astype(float)[:, 0]
    edges = reference.quantile_edges(x, k, c.weights)
    there = w > 0
    bins = pd.Series(reference.cell_of(x[there], edges))
    means, spreads, _ = grouped_means(bins, {"x": x[there], "q": shown[there]}, w[there])
    method, quantity = sd.MPlot(bins=k), observed(of, c.f)
    e = sd.explain(quantity, c.X, 0, method=method, y=y, sample_weight=c.weights, schema=KINDS)
    near(e.x, means["x"], 1e-12 * np.abs(means["x"]).max(), "x")
    near(e.value, means["q"], 1e-11 * c.size, "value")
    kept = e.bins.weight > 1 + 1e-9
    near(e.heterogeneity[kept], spreads["q"][kept], 1e-9 * c.size, "spread")
    e = sd.explain(quantity, c.X, 2, method=method, y=y, sample_weight=c.weights, schema=KINDS)
    means, _, total = grouped_means(c.X[there, 2], {"q": shown[there]}, w[there])
    np.testing.assert_array_equal(e.x, total.index)
    near(e.value, means["q"], 1e-11 * c.size, "levels")


# ------------------------------------------------------- curves: entropy_importance Eq. 3


def bowl(X):
    """Return a function that is quadratic in its first feature."""
    return X[:, 0] ** 2 * X[:, 1] - 3 * X[:, 0] * X[:, 2] + X[:, 1]


def bowl_slope(X):
    """Return the derivatives of `bowl`."""
    x, a, b = X.T
    return np.column_stack([2 * x * a - 3 * b, x**2 + 1, -3 * x])


GRID = np.array([-1.5, -1.0, 0.25, 0.75, 2.0])


def moved(X, value, j=0):
    """Return the rows with one column set to a value."""
    X = X.copy()
    X[:, j] = value
    return X


@pytest.mark.parametrize(("anchor", "weighted"), [(0.0, False), (0.25, True), (5.0, True)])
def test_c_ice_is_zero_at_its_anchor(anchor, weighted):
    """c-ICE: each curve minus its own value at the anchor, which need not be on the grid."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    w = rng.integers(1, 4, 60) / 2 if weighted else None
    want = np.stack([bowl(moved(X, z)) - bowl(moved(X, anchor)) for z in GRID], axis=1)
    e = sd.explain(bowl, X, 0, method=sd.ICE(grid=GRID, anchor=anchor), sample_weight=w)
    near(e.curves.value, want, 1e-12 * np.abs(want).max(), "curves")
    near(e.value, np.average(want, axis=0, weights=w), 1e-12 * np.abs(want).max(), "mean")
    if anchor in GRID:
        assert (e.curves.value[:, anchor == GRID] == 0).all()


def test_curves_of_levels_are_anchored_at_a_level():
    """c-ICE of a category: each curve minus its value at one of the levels."""
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.integers(0, 3, 40) * 10.0, rng.normal(size=(40, 2))])
    want = np.stack([bowl(moved(X, z)) - bowl(moved(X, 10.0)) for z in (0, 10, 20)], axis=1)
    schema = {0: "nominal"}
    e = sd.explain(bowl, X, 0, method=sd.ICE(anchor=10.0), schema=schema)
    near(e.curves.value, want, 1e-12 * np.abs(want).max(), "curves")
    assert e.value[1] == 0.0


@pytest.mark.parametrize("given", [True, False])
def test_d_ice_is_the_derivative_of_the_curves(given):
    """d-ICE: slopes of the model if given; otherwise differences along the grid, exact for quadratic curves."""
    X = np.random.default_rng(3).normal(size=(50, 3))
    calls = {"rows": 0, "slopes": 0}

    def counted(X):
        calls["rows"] += len(X)
        return bowl(X)

    def slope(X):
        calls["slopes"] += len(X)
        return bowl_slope(X)

    q = sd.prediction(counted, slope=slope if given else None)
    e = sd.explain(q, X, 0, method=sd.ICE(grid=GRID, derivative=True))
    want = np.stack([bowl_slope(moved(X, z))[:, 0] for z in GRID], axis=1)
    near(e.curves.value, want, 1e-12 * np.abs(want).max(), "slopes")
    near(e.value, want.mean(axis=0), 1e-12 * np.abs(want).max(), "mean")
    near(e.heterogeneity, want.std(axis=0, ddof=1), 1e-12 * np.abs(want).max(), "spread")
    p = e.provenance
    assert (p["effect_rows"], p["slope_rows"]) == ((0, 250) if given else (250, 0))
    assert calls["slopes"] == p["slope_rows"]
    assert calls["rows"] == p["model_rows"]


# ------------------------------------------------------------------- missing values


def holey(X):
    """Return the predictions of a model that has its own branch for a missing first feature."""
    x = X[:, 0]
    return np.where(np.isnan(x), 7.0 + X[:, 1] ** 2, np.nan_to_num(x) ** 2 * X[:, 1] + X[:, 2])


def by_double_loop(f, X, w):
    """Return mean, standard deviation, count and weight of the effect of x0 being missing, over rows that miss it."""
    there, gone = np.flatnonzero(~np.isnan(X[:, 0])), np.flatnonzero(np.isnan(X[:, 0]))
    gains = []
    for i in gone:
        others = np.repeat(X[i : i + 1], len(there), axis=0)
        others[:, 0] = X[there, 0]
        gains.append(f(X[i : i + 1])[0] - np.average(f(others), weights=w[there]))
    mean = np.average(gains, weights=w[gone])
    square = np.average((np.array(gains) - mean) ** 2, weights=w[gone])
    n = w[gone].sum()
    return mean, np.sqrt(square * n / (n - 1)), len(gone), n


@pytest.mark.parametrize("method", [sd.ALE(bins=5), sd.PDP(grid=6), sd.RHALE(), sd.DALE(bins=4)])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_missing_value_against_all_observed_ones(method, weighted):
    """The mean over missing rows of q(missing, x_c) minus the mean over observed x_s of q(x_s, x_c)."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(90, 3))
    X[::7, 0] = np.nan
    w = rng.integers(1, 5, 90) / 2 if weighted else np.ones(90)
    mean, spread, count, weight = by_double_loop(holey, X, w)
    e = sd.explain(holey, X, 0, method=method, sample_weight=w if weighted else None)
    point = e.missing_point
    assert point.exact
    assert (point.count, point.weight) == (count, weight)
    near(point.effect, mean, 1e-12 * abs(mean), "effect")
    near(point.std, spread, 1e-12 * spread, "spread")
    near(point.std_error, spread / np.sqrt(weight), 1e-12 * spread, "error")


@pytest.mark.parametrize(
    ("of", "center", "ordinal"),
    [("prediction", None, True), ("label", "mean", False), ("residual", "mean", True)],
)
def test_a_missing_value_in_an_m_plot_is_a_mean_like_others(of, center, ordinal):
    """No row is changed: the value is a mean over rows where the feature is missing, like the means over other rows."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(90, 2))
    X[:, 0] = np.round(X[:, 0])
    X[::5, 0] = np.nan
    y, w = rng.normal(size=90), rng.integers(1, 4, 90).astype(float)

    def model(X):
        return np.where(np.isnan(X[:, 0]), 4.0, X[:, 0]) * X[:, 1]

    schema = {0: "ordinal"} if ordinal else None
    method, quantity = sd.MPlot(bins=4, center=center), observed(of, model)
    e = sd.explain(quantity, X, 0, method=method, y=y, sample_weight=w, schema=schema)
    shown = {"prediction": model(X), "label": y, "residual": y - model(X)}[of]
    gone = np.isnan(X[:, 0])
    mean, seen = (np.average(shown[r], weights=w[r]) for r in (gone, ~gone))
    point = e.missing_point
    assert point.count == 18
    np.testing.assert_allclose([point.effect, point.weight], [mean - seen, w[gone].sum()])
    np.testing.assert_allclose(point.value, mean - (seen if center else 0.0))
    assert point.exact
    assert e.provenance["effect_rows"] == (0 if of == "label" else 90)


def test_a_missing_value_against_quantiles_of_the_observed_ones():
    """If all observed values would cost too much, their quantiles are used, and the point is marked as not exact."""
    X = np.random.default_rng(5).normal(size=(2500, 3))
    X[::5, 0] = np.nan
    mean, spread, count, _ = by_double_loop(holey, X, np.ones(len(X)))
    e = sd.explain(holey, X, 0, method=sd.ALE())
    point = e.missing_point
    assert not point.exact
    assert point.count == count == 500
    # 20 of 2,000 values: the missing part of E[x²] = 1 is in the tails.
    near(point.effect, mean, 0.02 * abs(mean), "effect")
    near(point.std, spread, 0.05 * spread, "spread")


# -------------------------------------------------------------------------- multi-output models


def counted(model):
    """Return a copy of a fitted model, and the list of the numbers of rows of its calls."""
    model, asked = copy(model), []
    name = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    answer = getattr(model, name)

    def remembering(X):
        asked.append(len(X))
        return answer(X)

    setattr(model, name, remembering)  # the class is kept for closed forms and trees
    return model, asked


METHODS = {
    "ale": sd.ALE(bins=6),
    "rhale": sd.RHALE(),
    "pdp": sd.PDP(grid=5),
    "ice": sd.ICE(grid=5),
    "m-plot": sd.MPlot(bins=5),
}


def fitted(kind):
    """Return a model of three classes or outputs, and its rows; the last column is a category."""
    ensemble = pytest.importorskip("sklearn.ensemble", reason="the models are from scikit-learn")
    linear = pytest.importorskip("sklearn.linear_model", reason="the models are from scikit-learn")
    rng = np.random.default_rng(6)
    X = np.column_stack([rng.normal(size=(120, 2)), rng.integers(0, 3, 120)])
    scores = X[:, :1] * [1, -1, 0.5] + np.sin(X[:, 1:2] * [1, 2, 3]) + rng.normal(size=(120, 3)) / 3
    labels = np.array(["a", "b", "c"])[scores.argmax(axis=1)]
    if kind == "logistic":
        return linear.LogisticRegression().fit(X, labels), X
    if kind == "forest of classes":
        return ensemble.RandomForestClassifier(4, max_depth=4, random_state=0).fit(X, labels), X
    if kind == "linear":
        return linear.LinearRegression().fit(X, scores), X
    return ensemble.RandomForestRegressor(4, max_depth=4, random_state=0).fit(X, scores), X


@pytest.mark.parametrize(
    ("kind", "method"),
    [("logistic", "ale"), ("linear", "rhale"), ("forest", "pdp"), ("forest of classes", "ice")],
)
def test_all_outputs_are_the_single_ones_to_the_last_bit(kind, method):
    """All classes or outputs in one pass: the same numbers, for the model rows of a single one."""
    method = METHODS[method]
    model, X = fitted(kind)
    classes = kind in ("logistic", "forest of classes")
    several, asked = counted(model)
    if classes:
        found = sd.explain(sd.probability(several, class_="all"), X, 0, method=method)
        assert list(found) == ["a", "b", "c"]
    else:
        found = sd.explain(sd.prediction(several, output="all"), X, 0, method=method)
        assert list(found) == [0, 1, 2]
    for label, e in found.items():
        one, rows = counted(model)
        single = sd.probability(one, label) if classes else sd.prediction(one, output=label)
        want = sd.explain(single, X, 0, method=method)
        for name in ("x", "value", "heterogeneity", "std_error"):
            np.testing.assert_array_equal(getattr(e, name), getattr(want, name), err_msg=name)
        assert e.importance == want.importance
        assert e.provenance["effect_rows"] == want.provenance["effect_rows"]
        if want.curves is not None:
            np.testing.assert_array_equal(e.curves.value, want.curves.value)
        # The two rows that determine the number of outputs count as rows of the check.
        for p, n in ((e.provenance, sum(asked)), (want.provenance, sum(rows))):
            assert n == p["model_rows"]
