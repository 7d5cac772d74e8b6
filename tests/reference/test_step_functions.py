"""RHALE of step functions: the ALE averaged in bins, against differences of the model's own predictions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skedasis as sd
from skedasis import datasets

pytest.importorskip("sklearn")

from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer

modelled = pytest.mark.parametrize("kind", ["boosting", "forest"])


def explained(q, X, feature=0, method=sd.RHALE, **more):
    form = method() if isinstance(method, type) else method
    return sd.explain(q, X, feature, method=form, progress=False, **more)


# -------------------------------------------------------------------------- two ground truths


def truth(X):
    """Return nonlinear effects, interactions that flip their sign, and an effect of few values."""
    bend = 4 * X[:, 0] ** 2 + 3 * X[:, 0] * X[:, 1]
    wave = 2 * np.sin(3 * X[:, 2]) + 2 * X[:, 2] * np.sign(X[:, 3])
    return bend + wave + 3 * (X[:, 4] > 0.2) + X[:, 5] * X[:, 2]


@cache
def small(kind):
    """Return a fast model, and its rows."""
    X = np.random.default_rng(2).uniform(-1, 1, (600, 6))
    X[:, 5] = np.random.default_rng(3).integers(0, 6, len(X))
    model = HistGradientBoostingRegressor(max_iter=40, random_state=0)
    if kind == "forest":
        model = RandomForestRegressor(25, min_samples_leaf=5, random_state=0)
    return model.fit(X, truth(X)), X


# ------------------------------------------------------------------------------- the curve is the ALE's


@pytest.mark.parametrize(
    ("method", "kind", "bins", "center"),
    [
        (sd.RHALE, "boosting", "auto", "mean"),
        (sd.UALE, "forest", sd.Uniform(8), "start"),
        (sd.RHALE, "forest", sd.Quantile(6), "mean"),
        (sd.UALE, "boosting", sd.Edges([-0.9, -0.3, 0.2, 0.8]), "start"),
    ],
)
def test_the_curve_is_that_of_the_ale(method, kind, bins, center):
    model, X = small(kind)
    ddof = 0 if method is sd.UALE else 1
    for feature in (0, 2):
        e = explained(model, X, feature, method(bins=bins, center=center))
        closed = {"closed": "left"} if isinstance(bins, sd.Edges) else {}
        same = sd.Edges(list(bins.edges), **closed) if closed else bins
        a = explained(model, X, feature, sd.ALE(bins=same, center=center, ddof=ddof))
        np.testing.assert_array_equal(e.x, a.x)
        size = np.abs(a.value).max()
        np.testing.assert_allclose(e.value, a.value, rtol=0, atol=1e-12 * size)
        np.testing.assert_allclose(e.std_error, a.std_error, rtol=1e-9, atol=1e-12 * size)
        assert e.importance == pytest.approx(a.importance, rel=1e-12)
        assert e.heterogeneity_score == pytest.approx(a.heterogeneity_score, rel=1e-12)


@pytest.mark.parametrize(
    ("method", "kind", "feature", "tree"),
    [
        (sd.RHALE, "boosting", 0, "auto"),
        (sd.UALE, "forest", 2, "off"),
        (sd.RHALE, "forest", 5, "auto"),
    ],
)
def test_bins_are_whole_rises_of_the_rows(method, kind, feature, tree):
    model, X = small(kind)
    e = explained(model, X, feature, method, tree=tree)
    assert e.spec.local_effects == ("value_steps" if feature == 5 else "steps")
    x, ddof = X[:, feature], 0 if method is sd.UALE else 1
    for k, (left, right) in enumerate(zip(e.bins.left, e.bins.right, strict=True)):
        rows = (x > left) & (x <= right) | ((k == 0) & (x == left))
        assert e.bins.count[k] == rows.sum()
        low, high = X[rows].copy(), X[rows].copy()
        low[:, feature], high[:, feature] = left, right
        d = (model.predict(high) - model.predict(low)) / (right - left)
        assert e.bins.std[k] == pytest.approx(d.std(ddof=ddof), rel=1e-9, abs=1e-12)
        at = np.searchsorted(e.x, [left, right])
        rise = (e.value[at[1]] - e.value[at[0]]) / (right - left)
        assert e.bins.effect[k] == pytest.approx(rise, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("method", "kind"), [(sd.RHALE, "boosting"), (sd.UALE, "forest")])
def test_spread_is_accumulated_over_whole_bins(method, kind):
    model, X = small(kind)
    e = explained(model, X, 0, method)
    step = e.bins.std * e.bins.widths
    ends = np.append(0, np.cumsum(step)) if method is sd.UALE else np.append(0, np.cumsum(step**2))
    corners = np.append(e.bins.left, e.bins.right[-1])
    inside = np.interp(e.x, corners, ends)  # variances grow linearly; standard deviations for UALE
    wanted = inside if method is sd.UALE else np.sqrt(inside)
    np.testing.assert_allclose(e.accumulated_std, wanted, rtol=1e-9)


@modelled
def test_trees_that_are_called_give_the_same(kind):
    model, X = small(kind)
    walked, called = (explained(model, X, 0, tree=t) for t in ("auto", "off"))
    np.testing.assert_allclose(walked.value, called.value, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(walked.heterogeneity, called.heterogeneity, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        walked.accumulated_std, called.accumulated_std, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_array_equal(walked.bins.left, called.bins.left)


def test_a_feature_that_is_not_used_is_one_bin():
    X = np.random.default_rng(0).normal(size=(500, 3))
    model = HistGradientBoostingRegressor(max_iter=20).fit(
        X[:, :2] @ [[1], [0]] @ [[1, 0, 0]] + X * 0, X[:, 0]
    )
    e = explained(model, X, 2)
    assert len(e.bins) == 1
    assert e.importance == e.heterogeneity_score == 0


# ------------------------------------------------------------------------------------------ re-binning


@pytest.mark.parametrize("keep", ["256MB", "10kB"])
def test_other_bins_keep_the_curve(keep, tmp_path):
    model, X = small("boosting")
    e = explained(model, X, 0, keep_rows=keep)
    some = e.cells.edges[[0, 4, 17, -1]]
    r = e.rebin(sd.Edges(list(some)))
    np.testing.assert_array_equal(r.value, e.value)
    np.testing.assert_array_equal(r.bins.left, some[:-1])
    assert np.isnan(r.bins.std).all()
    assert "rebinned_note" in r.provenance
    assert np.isnan(r.variance_decomposition().total).all()
    assert "one_row" not in {f.code for f in r.checks()}
    again = e.rebin(sd.Optimal(criterion="likelihood"))
    np.testing.assert_array_equal(again.bins.std, e.bins.std)
    np.testing.assert_array_equal(e.rebin(sd.Optimal()).value, e.value)
    with pytest.raises(sd.errors.UnsupportedError):
        e.rebin(sd.Uniform(7))
    with pytest.raises(sd.errors.UnsupportedError, match="bins='fixed'"):
        e.interval(method="bootstrap", bins="chosen", replicates=5)
    e.save(tmp_path / "e")
    np.testing.assert_array_equal(sd.load(tmp_path / "e").bins.std, e.bins.std)
    assert len(e.to_frame()) == len(e.x)
    assert len(e.to_frame(of="bins")) == len(e.bins)
    e.checks(), e.variance_decomposition()


@pytest.mark.parametrize(("center", "of"), [("mean", "value"), ("start", "bins")])
def test_intervals_of_all_kinds_are_alike(center, of):
    model, X = small("forest")
    e = explained(model, X, 2, sd.RHALE(center=center))
    wide = np.diff(e.interval(of=of), axis=0)[0]
    band = np.diff(e.interval(of=of, simultaneous=True), axis=0)[0]
    assert (band >= wide).all()
    known = wide > 0
    for source in ("rows", "moments"):
        drawn = np.diff(
            e.interval(method="bootstrap", of=of, replicates=800, source=source), axis=0
        )[0]
        assert len(drawn) == len(wide)
        np.testing.assert_allclose(drawn[known], wide[known], rtol=0.25)


# ------------------------------------------------------------------------------------ RHALE's Equation 1


def introduction():
    return datasets.SYNTHETIC["rhale_introduction"]


def test_stumps_have_no_heterogeneity():
    X = introduction().sample(1000, 0)
    model = HistGradientBoostingRegressor(max_depth=1, random_state=0).fit(X, introduction().f(X))
    for e in explained(model, X, None).values():
        assert e.heterogeneity_score == 0
        np.testing.assert_allclose(e.bins.std * e.bins.widths, 0, atol=1e-12)


# ------------------------------------------------------------------------------------- the check of slopes


@cache
def skewed_network():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.lognormal(0, 1.5, 2000), rng.normal(size=2000)])
    y = np.log(X[:, 0]) + X[:, 1]
    first = QuantileTransformer(random_state=0)
    return make_pipeline(
        first, MLPRegressor(hidden_layer_sizes=(32,), max_iter=300, random_state=0)
    ).fit(X, y), X


@pytest.mark.slow
def test_slopes_that_do_not_tell_the_rise_are_replaced():
    model, X = skewed_network()
    e = explained(model, X)
    assert e.spec.local_effects == "steps"
    assert "do not match the differences of the quantity" in e.provenance["local_effects"]
    assert e.importance == pytest.approx(explained(model, X, 0, sd.ALE).importance, rel=0.05)
    assert "slope_mismatch" not in {f.code for f in e.checks()}


@pytest.mark.parametrize(
    "f",
    [lambda x: 3 * x, lambda x: x**2, np.sin, lambda x: np.maximum(x, 0.3)],
    ids=["linear", "square", "sine", "relu"],
)
def test_smooth_functions_keep_their_slopes(f):
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (1000, 2))
    e = explained(lambda X: f(X[:, 0]) * (1 + 0.3 * X[:, 1]), X)
    assert e.spec.local_effects == "differences"
    found = e.provenance["slope_check"]
    assert found["distance"] <= found["limit"]
    assert found["rows"] <= 750


def test_the_check_costs_at_most_1500_rows_a_feature():
    X = np.random.default_rng(2).normal(size=(3000, 3))
    q = lambda X: np.sin(X).sum(axis=1)  # noqa: E731
    many = explained(q, X, [0, 1, 2], heterogeneity_rows=0).provenance["check_rows"]
    without = explained(q, X, [0, 1, 2], sd.RHALE(local_effects="steps"), heterogeneity_rows=0)
    assert many - without.provenance["check_rows"] <= 3 * 1500 + 64 * 3 * 7


@pytest.mark.parametrize("method", [sd.RHALE, sd.DALE, sd.UALE])
def test_given_slopes_that_are_wrong_are_kept_and_objected_to(method):
    X = np.random.default_rng(3).normal(size=(800, 2))
    q = sd.prediction(
        lambda X: 3 * X[:, 0] + X[:, 1], slope=lambda X: np.c_[0 * X[:, 0] - 1, 0 * X[:, 0] + 1]
    )
    e = explained(q, X, 0, method)
    assert e.spec.local_effects == "slopes"
    np.testing.assert_allclose(e.bins.effect, -1)
    assert "slope_mismatch" in {f.code for f in e.checks()}
    assert "slope_mismatch" not in {f.code for f in explained(q, X, 1, method).checks()}


@pytest.mark.slow
def test_slopes_that_were_asked_for_are_not_replaced():
    model, X = skewed_network()
    e = explained(model, X, 0, sd.RHALE(local_effects="slopes"))
    assert e.spec.local_effects in ("slopes", "differences")
    assert "slope_mismatch" in {f.code for f in e.checks()}


def test_slopes_of_one_of_several_models_are_replaced_for_all():
    model, X = skewed_network()
    smooth = lambda X: np.log1p(np.abs(X[:, 0])) + X[:, 1]  # noqa: E731
    e = explained([model.predict, smooth], X, 0, refits=True)
    assert {one.spec.local_effects for one in e.models} == {"steps"}
