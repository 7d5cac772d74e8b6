"""RHALE of step functions: the ALE averaged in bins, against differences of the model's own predictions."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

import skedasis as sd
from skedasis import datasets
from skedasis.datasets import real
from skedasis.errors import DataError

pytest.importorskip("sklearn")

from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

METHODS = (sd.RHALE, sd.UALE)
stepped = pytest.mark.parametrize("method", METHODS)
modelled = pytest.mark.parametrize("kind", ["boosting", "forest"])


def explained(q, X, feature=0, method=sd.RHALE, **more):
    form = method() if isinstance(method, type) else method
    return sd.explain(q, X, feature, method=form, progress=False, **more)


# -------------------------------------------------------------------------- two ground truths


class Independent:
    """Six independent features: nonlinear effects, and interactions that flip their sign."""

    features = 6

    def sample(self, n, seed):
        return np.random.default_rng(seed).uniform(-1, 1, (n, 6))

    def __call__(self, X):
        bend = 4 * X[:, 0] ** 2 + 3 * X[:, 0] * X[:, 1]
        wave = 2 * np.sin(3 * X[:, 2]) + 2 * X[:, 2] * np.sign(X[:, 3])
        return bend + wave + 3 * (X[:, 4] > 0.2)


class Dependent:
    """Correlated normals, an hour with two profiles, a lognormal feature, and an additive feature."""

    features = 7

    def sample(self, n, seed):
        rng = np.random.default_rng(seed)
        a = rng.normal(size=n)
        b = 0.8 * a + 0.6 * rng.normal(size=n)
        hour, work = rng.integers(0, 24, n), rng.random(n) < 0.7
        skewed, sign = np.exp(7 + rng.normal(size=n)), np.sign(rng.random(n) - 0.5)
        return np.column_stack([a, b, hour, work, skewed, sign, rng.uniform(-1, 1, n)]).astype(
            float
        )

    def __call__(self, X):
        h = X[:, 2]
        work = 3 * np.exp(-0.5 * ((h - 8) / 1.5) ** 2) + 3.5 * np.exp(-0.5 * ((h - 17.5) / 2) ** 2)
        free = 2.5 * np.exp(-0.5 * ((h - 14) / 4) ** 2)
        hour = np.where(X[:, 3] > 0.5, work, free)
        return (
            1.5 * X[:, 0] * X[:, 1] + hour + (np.log(X[:, 4]) - 7) * (1 + X[:, 5] / 2) + 2 * X[:, 6]
        )


TRUTHS = {"independent": Independent(), "dependent": Dependent()}


def made(kind):
    if kind == "boosting":
        return HistGradientBoostingRegressor(random_state=0)
    if kind.startswith("boosting"):
        return HistGradientBoostingRegressor(learning_rate=float(kind[9:]), random_state=0)
    if kind == "forest":
        return RandomForestRegressor(25, min_samples_leaf=5, random_state=0)
    if kind.startswith("forest"):
        return RandomForestRegressor(50, min_samples_leaf=int(kind[7:]), random_state=0)
    return make_pipeline(
        StandardScaler(),
        MLPRegressor(
            hidden_layer_sizes=(64, 64),
            max_iter=600,
            alpha=1e-2,
            early_stopping=True,
            learning_rate_init=3e-3,
            random_state=0,
        ),
    )


@cache
def fitted(kind, truth):
    f = TRUTHS[truth]
    X = f.sample(2000, 0)
    return made(kind).fit(X, f(X) + 0.5 * np.random.default_rng(1).normal(size=len(X)))


@cache
def small(kind):
    """Return a fast model of the independent ground truth, and new rows."""
    f = TRUTHS["independent"]
    X = f.sample(600, 2)
    X[:, 5] = np.random.default_rng(3).integers(0, 6, len(X))
    y = f(X) + X[:, 5] * X[:, 2]
    model = (
        made(kind)
        if kind == "forest"
        else HistGradientBoostingRegressor(max_iter=40, random_state=0)
    )
    return model.fit(X, y), X


# ------------------------------------------------------------------------------- the curve is the ALE's


@pytest.mark.many
@pytest.mark.thinned
@pytest.mark.parametrize("center", ["mean", "start"])
@pytest.mark.parametrize(
    "bins",
    [
        pytest.param("auto", id="auto"),
        pytest.param(sd.Uniform(8), id="uniform"),
        pytest.param(sd.Quantile(6), id="quantile"),
        pytest.param(sd.Edges([-0.9, -0.3, 0.2, 0.8]), id="edges"),
    ],
)
@pytest.mark.parametrize("kind", ["boosting", "forest"])
@pytest.mark.parametrize("method", [pytest.param(method, id=method.__name__) for method in METHODS])
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


@pytest.mark.thinned
@pytest.mark.parametrize("tree", ["auto", "off"])
@pytest.mark.parametrize("feature", [0, 2, 5])
@pytest.mark.parametrize("kind", ["boosting", "forest"])
@pytest.mark.parametrize("method", [pytest.param(method, id=method.__name__) for method in METHODS])
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


@stepped
@modelled
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


def test_it_costs_two_rounds_of_two_rows_a_row():
    model, X = small("boosting")
    n = len(X)
    called = explained(model, X, 0, tree="off", heterogeneity_rows=0).provenance
    assert called["model_rows"] <= 4 * n
    fixed = explained(model, X, 0, sd.RHALE(bins=5), tree="off", heterogeneity_rows=0).provenance
    assert fixed["model_rows"] <= 2 * n
    ale = explained(model, X, 0, sd.ALE, tree="off", heterogeneity_rows=0).provenance
    assert ale["model_rows"] <= 2 * n
    walked = explained(model, X, None).provenance
    assert walked["model_rows"] == walked["score_rows"] == walked["slope_rows"] == 0


def test_a_feature_that_is_not_used_is_one_bin():
    X = np.random.default_rng(0).normal(size=(500, 3))
    model = HistGradientBoostingRegressor(max_iter=20).fit(
        X[:, :2] @ [[1], [0]] @ [[1, 0, 0]] + X * 0, X[:, 0]
    )
    e = explained(model, X, 2)
    assert len(e.bins) == 1
    assert e.importance == e.heterogeneity_score == 0


def test_derivatives_that_are_asked_for_are_refused():
    model, X = small("boosting")
    for method in (sd.DALE(), sd.RHALE(local_effects="slopes")):
        with pytest.raises(sd.errors.UnsupportedError):
            explained(model, X, 0, method)


# ------------------------------------------------------------------------------------------ re-binning


@pytest.mark.parametrize("keep", ["256MB", "10kB"])
def test_other_bins_keep_the_curve(keep, tmp_path):
    model, X = small("boosting")
    e = explained(model, X, 0, keep=keep)
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


@pytest.mark.parametrize("center", ["mean", "start"])
@pytest.mark.parametrize("of", ["value", "bins"])
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


# ----------------------------------------------------------------------------------- the ground truths


BETWEEN = [pytest.param(rate, marks=pytest.mark.long) for rate in (0.05, 0.2)]
"""Learning rates in the long run only: the default and the largest are in the slow one."""


@pytest.mark.slow
@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize(
    "kind",
    [
        "boosting 0.1",
        "boosting 0.5",
        "forest 1",
        "forest 10",
        "network",
        *(pytest.param(f"boosting {p.values[0]}", marks=p.marks) for p in BETWEEN),
    ],
)
def test_scores_are_those_of_the_same_function_on_many_rows(kind, truth):
    f = TRUTHS[truth]
    model = fitted(kind, truth)
    few, many = f.sample(2000, 4), f.sample(20_000, 5)
    e = explained(model, few, None)
    # Only the score is needed, so the curve has one bin.
    whole = explained(model, many, None, sd.ALE(bins=1))
    out = model.predict(many).std()
    for name in e:
        long = whole[name].heterogeneity_score
        if long > 0.1 * out:
            assert e[name].heterogeneity_score == pytest.approx(long, rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("rate", [0.1, 0.5, *BETWEEN])
def test_boosting_has_about_as_many_bins_as_the_truth(rate, truth):
    f, model = TRUTHS[truth], fitted(f"boosting {rate}", truth)
    X = f.sample(2000, 4)
    e = explained(model, X, None)
    t = explained(f, X, None, sd.RHALE(local_effects="steps"))
    largest = max(one.importance for one in e.values())
    for name in e:
        if e[name].importance > 0.3 * largest:
            # At a learning rate of 0.5 noise is fitted, too: a bump in an additive feature adds up to three bins.
            assert abs(len(e[name].bins) - len(t[name].bins)) <= (2 if rate < 0.5 else 3)


@pytest.mark.slow
@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("kind", ["boosting 0.1", "forest 10"])
def test_the_number_of_cells_matters_little(kind, truth):
    X, model = TRUTHS[truth].sample(2000, 4), fitted(kind, truth)
    a, b = (explained(model, X, None, sd.RHALE(bins=sd.Quantile(k))) for k in (32, 64))
    largest = max(one.importance for one in a.values())
    for name in a:
        assert b[name].heterogeneity_score == pytest.approx(a[name].heterogeneity_score, rel=1e-12)
        if a[name].importance > 0.3 * largest:
            assert b[name].importance == pytest.approx(a[name].importance, rel=0.15)


# ------------------------------------------------------------------------------------ RHALE's Equation 1


def introduction():
    return datasets.SYNTHETIC["rhale_introduction"]


@pytest.mark.parametrize("seed", range(3))
def test_the_papers_example_is_found_by_boosting(seed):
    example = introduction()
    X = example.sample(1000, seed)
    model = HistGradientBoostingRegressor(random_state=0).fit(X, example.f(X))
    e = explained(model, X, None)
    x2, x3 = e["x1"], e["x2"]
    assert len(x2.bins) == 1
    assert 4 <= x2.bins.std[0] <= 5.2
    assert 2.5 <= x2.heterogeneity_score <= 3.2
    assert 2.5 <= x3.heterogeneity_score <= 3.2


def test_stumps_have_no_heterogeneity():
    X = introduction().sample(1000, 0)
    model = HistGradientBoostingRegressor(max_depth=1, random_state=0).fit(X, introduction().f(X))
    for e in explained(model, X, None).values():
        assert e.heterogeneity_score == 0
        np.testing.assert_allclose(e.bins.std * e.bins.widths, 0, atol=1e-12)


# ------------------------------------------------------------------------------------- the check of slopes


@cache
def skewed_network(transformed):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.lognormal(0, 1.5, 2000), rng.normal(size=2000)])
    y = np.log(X[:, 0]) + X[:, 1]
    first = QuantileTransformer(random_state=0) if transformed else StandardScaler()
    return make_pipeline(
        first, MLPRegressor(hidden_layer_sizes=(32,), max_iter=300, random_state=0)
    ).fit(X, y), X


@pytest.mark.slow
def test_slopes_that_do_not_tell_the_rise_are_replaced():
    model, X = skewed_network(transformed=True)
    e = explained(model, X)
    assert e.spec.local_effects == "steps"
    assert "do not match the differences of the quantity" in e.provenance["local_effects"]
    assert e.importance == pytest.approx(explained(model, X, 0, sd.ALE).importance, rel=0.05)
    assert "slope_mismatch" not in {f.code for f in e.checks()}


@pytest.mark.many
@pytest.mark.parametrize("draw", ["uniform", "normal"])
@pytest.mark.parametrize(
    "f",
    [lambda x: 3 * x, lambda x: x**2, np.sin, lambda x: np.maximum(x, 0.3)],
    ids=["linear", "square", "sine", "relu"],
)
def test_smooth_functions_keep_their_slopes(f, draw):
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (1000, 2)) if draw == "uniform" else rng.normal(size=(1000, 2))
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
    model, X = skewed_network(transformed=True)
    e = explained(model, X, 0, sd.RHALE(local_effects="slopes"))
    assert e.spec.local_effects in ("slopes", "differences")
    assert "slope_mismatch" in {f.code for f in e.checks()}


def test_slopes_of_one_of_several_models_are_replaced_for_all():
    model, X = skewed_network(transformed=True)
    smooth = lambda X: np.log1p(np.abs(X[:, 0])) + X[:, 1]  # noqa: E731
    e = explained([model.predict, smooth], X, 0)
    assert {one.spec.local_effects for one in e.models} == {"steps"}


# ---------------------------------------------------------------------------------------- bike sharing


@cache
def bicycles():
    try:
        return real.load("bike_sharing_hour", download=False)
    except DataError as error:
        pytest.skip(f"{error}")


@cache
def rider(kind):
    """Return a fitted model of the hourly counts, and the rows on which it is explained."""
    data = bicycles()
    X, y = data.X.astype(float), np.asarray(data.y, dtype=float)
    if kind == "lightgbm":
        model = pytest.importorskip("lightgbm").LGBMRegressor(
            n_estimators=200, verbose=-1, n_jobs=1, random_state=0
        )
    elif kind == "boosting":
        model = HistGradientBoostingRegressor(max_iter=200, random_state=0)
    else:
        model = make_pipeline(
            StandardScaler(),
            MLPRegressor(
                hidden_layer_sizes=(64, 64),
                max_iter=60,
                learning_rate_init=3e-3,
                early_stopping=True,
                random_state=0,
            ),
        )
    held = np.random.default_rng(0).random(len(X)) < 0.2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[~held], y[~held])
    assert model.score(X[held], y[held]) > 0.85
    return model, X[held].reset_index(drop=True)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["boosting", "lightgbm", "network"])
def test_bicycles_have_the_same_scores_by_any_model(kind):
    model, X = rider(kind)
    e = explained(model, X, None)
    out = model.predict(X).std()
    assert 70 <= e["hr"].heterogeneity_score <= 95
    assert 45 <= e["workingday"].heterogeneity_score <= 70
    assert max(one.heterogeneity_score for one in e.values()) < out


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["boosting", "network"])
@pytest.mark.parametrize("method", [sd.RHALE, sd.ALE])
def test_the_hour_rises_by_its_steps(kind, method):
    model, X = rider(kind)
    e = explained(model, X, "hr", method)
    at = []
    for hour in range(24):
        there = X.copy()
        there["hr"] = float(hour)
        at.append(model.predict(there))
    hours, wanted = X["hr"].to_numpy(), 0.0
    for hour in range(4, 17):
        step = at[hour + 1] - at[hour]
        wanted += (step[hours == hour].mean() + step[hours == hour + 1].mean()) / 2
    assert e([17.0])[0] - e([4.0])[0] == pytest.approx(wanted, rel=0.01)
