"""Multi-model results: the means of the single models' results at the same points."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import skedasis as sd
from tests.helpers import Remembers, bent, frame, of_frame, table

X = table(150, 3)
ROWS = [np.arange(0, 150, 3), np.arange(1, 150, 3), np.arange(2, 150, 3)]


def times(k: float) -> Any:
    """Return the model ``k * bent(X) + (k - 1) * x0``."""
    return lambda X: k * bent(X) + (k - 1) * X[:, 0]


MODELS = [times(1.0), times(1.7), times(0.4)]


def brute(effects: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation, point by point, by loops."""
    values = np.array([e.value for e in effects])
    mean, between = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for k in range(values.shape[1]):
        there = [v for v in values[:, k] if not np.isnan(v)]
        mean[k] = sum(there) / len(there)
        between[k] = (sum((v - mean[k]) ** 2 for v in there) / (len(there) - 1)) ** 0.5
    return mean, between


@pytest.mark.parametrize("method", ["ale", "dale", "pdp", "ice", "mplot"])
def test_all_rows_are_the_mean_of_single_explanations(method: str) -> None:
    em = sd.explain(MODELS, X, "x0", method=method, refits=True)
    alone = [sd.explain(m, X, "x0", method=method) for m in MODELS]
    mean, between = brute(alone)
    np.testing.assert_allclose(em.value, mean, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(em.between, between, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(em.x, alone[0].x)
    np.testing.assert_allclose(em.heterogeneity, np.mean([e.heterogeneity for e in alone], 0))
    np.testing.assert_allclose(em.std_error, between / np.sqrt(3), rtol=1e-10, atol=1e-14)
    assert em.importance == pytest.approx(np.mean([e.importance for e in alone]))


@pytest.mark.parametrize("method", [sd.ALE, sd.DALE, partial(sd.RHALE, local_effects="slopes")])
def test_folds_are_single_explanations_on_their_rows_at_the_same_edges(method: Any) -> None:
    edges = np.array([X[:, 0].min(), -0.6, 0.1, 0.9, X[:, 0].max()])
    em = sd.explain(MODELS, X, "x0", method=method(bins=sd.Edges(edges)), cv=ROWS)
    alone = [
        sd.explain(m, X[r], "x0", method=method(bins=sd.Edges(edges)), row_id=r)
        for m, r in zip(MODELS, ROWS, strict=True)
    ]
    for mine, single in zip(em.models, alone, strict=True):
        np.testing.assert_allclose(mine.value, single.value, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(mine.std_error, single.std_error, rtol=1e-6)
        assert mine.swap_score == single.swap_score
        np.testing.assert_array_equal(mine.bins.count, single.bins.count)
    mean, between = brute(alone)
    np.testing.assert_allclose(em.value, mean, rtol=1e-9)
    np.testing.assert_allclose(em.between, between, rtol=1e-9)


def test_quantile_bins_are_those_of_all_rows_and_ends_beyond_a_fold_are_left_out() -> None:
    method = sd.ALE(bins=12)
    whole = sd.explain(MODELS[0], X, 0, method=method)
    low, high = X[:, 0] < -0.3, X[:, 0] > -0.8
    em = sd.explain(MODELS[:2], X, 0, method=method, cv=[np.flatnonzero(low), np.flatnonzero(high)])
    np.testing.assert_array_equal(em.x, whole.x)
    first = em.models[0]
    reached = em.x <= np.min(em.x[em.x >= X[low, 0].max()])
    np.testing.assert_array_equal(~np.isnan(first.value), reached)
    beyond = ~reached
    np.testing.assert_array_equal(em.reached[beyond], 1)
    np.testing.assert_array_equal(em.value[beyond], em.models[1].value[beyond])
    assert np.isnan(em.between[beyond]).all()
    assert np.isnan(em.std_error[beyond]).all()
    assert np.isnan(em.interval(of="models")[0][beyond]).all()
    assert np.isfinite(em.value).all()


def test_models_see_their_held_out_rows_only_but_for_the_check() -> None:
    marks = np.c_[X, np.arange(150.0)]
    seen = [Remembers(times(1.0)) for _ in ROWS]
    sd.explain(seen, marks, 0, method=sd.PDP(grid=3, ice=0), cv=ROWS)
    for model, rows in zip(seen, ROWS, strict=True):
        swept = np.concatenate([c for c in model.seen if len(c) > 64])
        assert set(swept[:, 3].astype(int)) == set(rows.tolist())


def test_copies_of_a_model_do_not_differ_and_choose_its_bins() -> None:
    for method in (sd.RHALE(), sd.RHALE(sd.Optimal(20, min_points=12)), sd.RHALE(sd.AutoUniform())):
        alone = sd.explain(MODELS[1], X, 0, method=method)
        em = sd.explain([MODELS[1]] * 3, X, 0, method=method, refits=True)
        np.testing.assert_array_equal(em.x, alone.x)
        np.testing.assert_array_equal(em.value, alone.value)
        np.testing.assert_array_equal(em.between, 0)
        np.testing.assert_array_equal(em.heterogeneity, alone.heterogeneity)


def test_chosen_bins_see_the_moments_of_all_models() -> None:
    """The slopes of two models jump at 0.3 and at 0.7: together they have both edges, each alone has one."""
    U = np.random.default_rng(1).uniform(size=(4000, 2))

    def kinked(at: float) -> Any:
        return sd.prediction(
            lambda X: np.maximum(X[:, 0] - at, 0) * 5,
            slope=lambda X: np.c_[5.0 * (X[:, 0] > at), 0 * X[:, 1]],
        )

    models = [kinked(0.3), kinked(0.7)]
    em = sd.explain(models, U, 0, method=sd.RHALE(sd.Optimal(10)), refits=True)
    inner = em.x[1:-1]
    assert np.abs(inner - 0.3).min() < 0.01
    assert np.abs(inner - 0.7).min() < 0.01
    alone = sd.explain(models[0], U, 0, method=sd.RHALE(sd.Optimal(10)))
    assert np.abs(alone.x - 0.7).min() > 0.05
    assert all(len(e.x) == len(em.x) for e in em.models)


def test_edges_between_two_rows_are_those_of_all_models() -> None:
    """The penalized likelihood moves edges to single rows, jointly for all models, and moments are recomputed."""
    U = np.random.default_rng(1).uniform(size=(400, 2))

    def jumping(k: float) -> Any:
        slope = lambda X: np.c_[k * (X[:, 0] > 0.41) + 0.1 * X[:, 1], 0 * X[:, 1]]  # noqa: E731
        return sd.prediction(lambda X: k * np.maximum(X[:, 0] - 0.41, 0), slope=slope)

    parts = [np.arange(0, 400, 2), np.arange(1, 400, 2)]
    em = sd.explain([jumping(1.0), jumping(3.0)], U, 0, cv=parts)
    edge = em.x[np.argmin(np.abs(em.x - 0.41))]
    assert abs(edge - 0.41) < np.diff(np.sort(U[:, 0])).max()
    for e, rows, k in zip(em.models, parts, (1.0, 3.0), strict=True):
        x = U[rows, 0]
        for left, right, effect, count, trend in zip(
            e.bins.left, e.bins.right, e.bins.effect, e.bins.count, e.bins.slope_change, strict=True
        ):
            last = right == e.x[-1]
            here = (x >= left) & ((x <= right) if last else (x < right))
            assert count == here.sum()
            if trend == 0:
                slopes = k * (x[here] > 0.41) + 0.1 * U[rows, 1][here]
                assert effect == pytest.approx(slopes.mean())


def test_trees_of_one_kind_and_mixed_kinds() -> None:
    y = bent(X)
    trees = [
        DecisionTreeRegressor(max_depth=4).fit(np.delete(X, r, 0), np.delete(y, r)) for r in ROWS
    ]
    em = sd.explain(trees, X, 0, cv=ROWS)
    assert em.spec.local_effects == "steps"
    assert {len(e.x) for e in em.models} == {len(em.x)}
    mixed = sd.explain([trees[0], LinearRegression().fit(X, y), times(1.0)], X, 0, refits=True)
    assert [e.spec.local_effects for e in mixed.models] == ["steps"] * 3
    alone = sd.explain(trees[0], X, 0)
    assert mixed.models[1].provenance.get("bins") == alone.provenance.get("bins")
    assert "all models" in mixed.models[1].provenance["local_effects"]
    smooth = sd.explain(
        [LinearRegression().fit(X, y), lambda X: X[:, 0] + X[:, 1] ** 2], X, 0, refits=True
    )
    assert [e.spec.local_effects for e in smooth.models] == ["slopes", "differences"]
    exact = sd.explain(trees[:2], X, 0, method=sd.PDP(grid="exact"), refits=True)
    single = sd.explain(trees[1], X, 0, method=sd.PDP(grid=exact.x))
    np.testing.assert_allclose(exact.models[1].value, single.value)
    jumps = sd.explain(trees[:2], X, 0, method=sd.RHALE(sd.Optimal(grid="jumps")), refits=True)
    assert len({len(e.x) for e in jumps.models}) == 1


def test_categorical_features_keep_levels_that_a_fold_lacks() -> None:
    T = frame(120)
    models = [of_frame, lambda T: 2 * of_frame(T)]
    rows = [np.flatnonzero(T["c"] != "v"), np.arange(120)]
    for method in (sd.ALE(order={"c": list("uvwx")}), sd.PDP(), sd.MPlot()):
        em = sd.explain(models, T, "c", method=method, cv=rows)
        assert list(em.x) == list("uvwx")
        single = sd.explain(models[1], T, "c", method=method)
        np.testing.assert_allclose(em.models[1].value, single.value)
        assert em.models[0].levels.count[1] == 0
        assert isinstance(em.to_frame(), pd.DataFrame)
    pdp = sd.explain(models, T, "c", method=sd.PDP(), cv=rows).models[0]
    here = T.iloc[rows[0]]
    for level, value in zip(pdp.x, pdp.value, strict=True):
        assert value == pytest.approx(of_frame(here.assign(c=level)).mean())


def test_missing_values_of_models_on_all_rows_have_the_effect_that_each_model_has_alone() -> None:
    some = X.copy()
    some[::9, 0] = np.nan
    models = [lambda X, k=k: k * np.nan_to_num(X[:, 0], nan=3.0) for k in (1.0, 2.0)]
    em = sd.explain(models, some, 0, method=sd.ALE(bins=3), refits=True)
    for model, of in zip(models, em.models, strict=True):
        alone = sd.explain(model, some, 0, method=sd.ALE(bins=3)).missing_point
        assert alone is not None
        assert alone == of.missing_point


def test_missing_values_in_some_folds() -> None:
    U = X.copy()
    U[::9, 0] = np.nan  # rows of the first fold only
    models = [lambda X, k=k: k * np.nan_to_num(X[:, 0], nan=3.0) for k in (1.0, 2.0, 3.0)]
    em = sd.explain(models, U, 0, method="ale", cv=ROWS)
    assert em.models[0].missing == 17
    assert em.models[1].missing == 0
    assert em.models[0].missing_point is not None
    assert em.models[1].missing_point is None


def test_weights_and_labels_go_with_their_rows() -> None:
    w = np.random.default_rng(0).integers(0, 4, 150)
    y = bent(X)
    losses = [sd.loss(m, "squared_error") for m in MODELS]
    em = sd.explain(losses, X, 0, method=sd.PDP(grid=5), y=y, sample_weight=w, cv=ROWS)
    for e, m, r in zip(em.models, MODELS, ROWS, strict=True):
        for point, value in zip(em.x, e.value, strict=True):
            U = X[r].copy()
            U[:, 0] = point
            assert value == pytest.approx(np.average((y[r] - m(U)) ** 2, weights=w[r]))
    assert em.provenance["weight"] == [float(w[r].sum()) for r in ROWS]
    test = np.array([w[r].sum() for r in ROWS])
    assert em.correction == pytest.approx(np.mean(test / (w.sum() - test)))


def test_surfaces() -> None:
    sm = sd.explain(MODELS, X, ("x0", "x1"), method=sd.ALE(bins=4), refits=True)
    alone = [sd.explain(m, X, ("x0", "x1"), method=sd.ALE(bins=4)) for m in MODELS]
    np.testing.assert_allclose(sm.value, np.mean([s.value for s in alone], 0), atol=1e-12)
    np.testing.assert_allclose(sm.between, np.std([s.value for s in alone], 0, ddof=1), atol=1e-12)
    assert sm.interaction_strength() == pytest.approx(
        np.mean([s.interaction_strength() for s in alone])
    )
    lower, upper = sm.interval(0.9, of="models")
    assert lower.shape == sm.value.shape
    assert (lower <= upper).all()
    assert len(sm.to_frame()) == 25
    assert len(sm.to_frame(of="models")) == 75
    assert sm(0.0, 0.0) == pytest.approx(np.mean([s(0.0, 0.0) for s in alone]))
    both = sd.explain(MODELS, X, [(0, 1), (0, 2)], method=sd.PDP(grid=4), cv=ROWS)
    assert list(both) == [("x0", "x1"), ("x0", "x2")]
    part = sd.explain(
        MODELS[0], X[ROWS[0]], (0, 2), method=sd.PDP(grid=[both[("x0", "x2")].x[0][0]])
    )
    assert both[("x0", "x2")].models[0].value.shape == (4, 4)
    assert part.value.shape == (1, 1)


def test_importances() -> None:
    y = bent(X)
    losses = [sd.loss(m, "squared_error") for m in MODELS]
    pf = sd.explain(losses, X, y=y, method=sd.PFI(n_repeats=5), cv=ROWS)
    alone = [
        sd.explain(q, X[r], y=y[r], method=sd.PFI(n_repeats=5))
        for q, r in zip(losses, ROWS, strict=True)
    ]
    np.testing.assert_allclose(pf.values, [a.mean for a in alone], rtol=1e-12)
    np.testing.assert_allclose(pf.mean, np.mean([a.mean for a in alone], 0))
    np.testing.assert_allclose(pf.between, np.std([a.mean for a in alone], 0, ddof=1))
    assert pf.correction == pytest.approx(0.5)
    assert pf.overlap == pytest.approx(0.5)
    assert pf.features == ("x0", "x1", "x2")
    assert len(list(pf)) == 3
    assert "x1" in pf
    assert pf["x0"].mean == pf.mean[0]
    assert pf.ranking()[0].first >= 1
    assert sum(line.first for line in pf.ranking()) == 3
    assert all(m.provenance["exact"] for m in pf.models)
    assert len(pf.to_frame()) == 3
    assert len(pf.to_frame(of="models")) == 9


def test_several_outputs() -> None:
    models = [lambda X, k=k: np.c_[k * X[:, 0], X[:, 1]] for k in (1.0, 3.0)]
    quantities = [sd.prediction(m, output="all") for m in models]
    found = sd.explain(quantities, X, method="ale", refits=True)
    assert list(found) == [0, 1]
    assert list(found[0]) == ["x0", "x1", "x2"]
    single = sd.explain(sd.prediction(models[0], output=0), X, 0, method="ale")
    np.testing.assert_allclose(found[0]["x0"].value, 2 * single.value, rtol=1e-9)
    np.testing.assert_array_equal(found[1]["x1"].between, 0)


def test_calling_evaluates_the_mean_of_the_models_that_reach() -> None:
    low = np.flatnonzero(X[:, 0] < 0)
    em = sd.explain(MODELS[:2], X, 0, method="ale", cv=[low, np.arange(150)])
    at = np.array([-0.5, 1.5, 99.0])
    first, second = (e(at) for e in em.models)
    assert em(at)[0] == pytest.approx((first[0] + second[0]) / 2)
    assert em(at)[1] == second[1]
    assert np.isnan(first[1])
    assert np.isnan(em(at)[2])


def test_provenance_sums_the_costs() -> None:
    em = sd.explain(MODELS, X, 0, method="pdp", cv=ROWS)
    said = em.provenance
    assert said["rows"] == [50, 50, 50]
    assert said["models"] == 3
    assert said["effect_rows"] == sum(e.provenance["effect_rows"] for e in em.models) == 150 * 50
    assert said["rows_of_several_models"] == 0
    assert "given" not in said["correction_chosen"]
    shared = sd.explain(MODELS[:2], X, 0, cv=[np.arange(100), np.arange(50, 150)])
    assert shared.provenance["rows_of_several_models"] == 50
    assert shared.correction is None


NAMED = {"the line": lambda X: X[:, 0], "product": lambda X: X[:, 0] * X[:, 1]}
POINTS = np.random.default_rng(3).normal(size=(120, 2))


@pytest.mark.parametrize(
    ("features", "method"), [(0, None), (None, "pdp"), ((0, 1), "ale"), (None, "pfi")]
)
def test_a_dictionary_names_the_models_of_a_list(features, method):
    given = {k: sd.loss(f) for k, f in NAMED.items()} if method == "pfi" else NAMED
    labels = POINTS[:, 0] if method == "pfi" else None
    named, listed = (
        sd.explain(models, POINTS, features, method=method, y=labels, refits=True)
        for models in (given, list(given.values()))
    )
    by_feature = named if isinstance(named, sd.MultiModelEffects) else {None: named}
    for key, one in by_feature.items():
        other = listed if key is None else listed[key]
        assert np.array_equal(one.values, other.values)
        assert one.names == list(NAMED)
        assert other.names == [0, 1]
        table = one.to_frame(of="models")
        assert list(dict.fromkeys(table["model"])) == list(NAMED)
        assert list(dict.fromkeys(other.to_frame(of="models")["model"])) == [0, 1]
