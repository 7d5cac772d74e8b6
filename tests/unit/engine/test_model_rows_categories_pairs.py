"""Model rows of categories, pairs, M-plots, missing values and several outputs, counted inside the model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import skedasis as sd

N = 600
NUMBER, OTHER, CODES, MORE_CODES, FLAG = range(5)
LEVELS, MORE_LEVELS = 5, 4
SCHEMA = {"x2": "nominal", "x3": "ordinal", "x4": "nominal"}


class Counted:
    """A model with slopes and mixed derivatives, that counts the rows of each."""

    def __init__(self):
        self.rows, self.slope_rows, self.mixed_rows = 0, 0, 0

    def __call__(self, X):
        self.rows += len(X)
        return X[:, NUMBER] * X[:, CODES] + X[:, OTHER] * X[:, NUMBER] + X[:, MORE_CODES]

    def slope(self, X):
        self.slope_rows += len(X)
        out = np.zeros(X.shape)
        out[:, NUMBER], out[:, OTHER] = X[:, CODES] + X[:, OTHER], X[:, NUMBER]
        return out

    def mixed(self, X, i, j):
        self.mixed_rows += len(X)
        return np.ones(len(X)) * ({i, j} == {NUMBER, OTHER})


def data(seed=0):
    """Return two numeric columns (no value on an edge of equal bins), codes of 5 and 4 levels, and a flag."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5))
    X[:, CODES] = rng.integers(0, LEVELS, size=N)
    X[:, MORE_CODES] = rng.integers(0, MORE_LEVELS, size=N)
    X[:, FLAG] = rng.integers(0, 2, size=N)
    return X


def explained(features, method, X=None, model=None, **options):
    """Return the model rows of the method's own calls, and the result. The reported counts must be the model's."""
    model = model or Counted()
    X = data() if X is None else X
    q = options.pop("quantity", sd.prediction)(model)
    result = sd.explain(q, X, features, method=method, schema=SCHEMA, progress=False, **options)
    one = (
        next(iter(result.values())) if isinstance(result, sd.MultiOutput | sd.Surfaces) else result
    )
    said = one.provenance
    assert model.rows == said["model_rows"]
    assert model.slope_rows + model.mixed_rows == said["slope_rows"]
    assert said["check_rows"] == 128 or said["local_effects"].startswith(("central", "mixed"))
    return said["effect_rows"], result


def at_levels(X, column, *codes):
    """Return how many rows have one of these codes."""
    return int(np.isin(X[:, column], codes).sum())


# ---------------------------------------------------------------------------------- categories


@pytest.mark.parametrize("memory", ["1GB", "20KB"])
def test_a_categorical_ale_moves_each_row_once_to_each_neighbour(memory):
    X = data()
    order = [3.0, 0.0, 4.0, 1.0, 2.0]
    rows, e = explained(CODES, sd.ALE(order=order), memory=memory)
    ends = at_levels(X, CODES, 3, 2)
    assert rows == N + 2 * (N - ends) + ends
    assert list(e.x) == order


def test_the_rows_themselves_are_shared_by_all_categories_of_a_call():
    X = data()
    rows, _ = explained([CODES, MORE_CODES, FLAG], sd.ALE(order={CODES: [0.0, 1, 2, 3, 4]}))
    neighbours = 2 * N - at_levels(X, CODES, 0, 4) + 2 * N - at_levels(X, MORE_CODES, 0, 3) + N
    assert rows == N + neighbours


def test_the_order_of_levels_costs_nothing():
    """The similarity of levels is computed from the other columns, without the model."""
    X = data()
    for asked in (None, "similarity"):
        rows, e = explained(CODES, sd.ALE(order=asked))
        first, last = e.x[[0, -1]]
        assert rows == 3 * N - at_levels(X, CODES, first, last)


def test_levels_that_are_cut_cost_nothing():
    X = data()
    rows, e = explained(CODES, sd.ALE(top_levels=2))
    assert rows == 2 * int(e.levels.count.sum())
    assert e.provenance["rows_outside"] == N - e.levels.count.sum()
    assert explained(CODES, sd.PDP(top_levels=2), X)[0] == 2 * N


def test_a_category_of_one_level_costs_nothing_to_move():
    X = data()
    X[:, CODES] = 3.0
    assert explained(CODES, sd.ALE(), X)[0] <= N


def test_dependence_of_a_category_costs_its_levels():
    for method in (sd.PDP(), sd.ICE(center="start"), sd.PDP(anchor=1.0)):
        assert explained(CODES, method)[0] == LEVELS * N
    assert explained(CODES, sd.PDP(grid={"x2": [0.0, 3.0]}))[0] == 2 * N


def test_an_anchor_is_one_more_point():
    grid = [-1.0, 0.0, 0.5]
    assert explained(NUMBER, sd.PDP(grid=grid))[0] == 3 * N
    assert explained(NUMBER, sd.PDP(grid=grid, anchor=0.25))[0] == 4 * N
    assert explained(NUMBER, sd.ICE(grid=grid, anchor=0.25))[0] == 4 * N


def test_curves_of_slopes_cost_slope_rows_only():
    model = Counted()
    grid = [-1.0, 0.0, 0.5, 2.0]
    method = sd.ICE(grid=grid, derivative=True)
    rows, e = explained(
        NUMBER, method, model=model, quantity=lambda m: sd.prediction(m, slope=m.slope)
    )
    assert (rows, e.provenance["slope_rows"], model.slope_rows) == (0, 4 * N, 4 * N)


# ---------------------------------------------------------------------------------------- pairs


@pytest.mark.parametrize(("bins", "memory"), [(1, "1GB"), (4, "20KB"), (30, "20KB")])
def test_a_pair_of_numbers_costs_four_rows_each_whatever_the_bins(bins, memory):
    method = sd.ALE(bins=sd.Uniform(bins))
    assert explained((NUMBER, OTHER), method, memory=memory)[0] == 4 * N


@pytest.mark.parametrize("flip", [False, True])
def test_a_pair_with_a_category_costs_both_edges_at_each_level_around_the_row(flip):
    X = data()
    pair = (CODES, NUMBER) if flip else (NUMBER, CODES)
    rows, _ = explained(pair, sd.ALE(order={"x2": [0.0, 1, 2, 3, 4]}, bins=sd.Uniform(5)))
    assert rows == 2 * (3 * N - at_levels(X, CODES, 0, 4))
    assert rows <= 6 * N


def test_a_pair_of_categories_costs_all_levels_around_the_row():
    X = data()
    rows, _ = explained((CODES, MORE_CODES), sd.ALE(order={"x2": [0.0, 1, 2, 3, 4]}))
    around = [3.0 - np.isin(X[:, c], ends) for c, ends in ((CODES, (0, 4)), (MORE_CODES, (0, 3)))]
    assert rows == (around[0] * around[1]).sum()
    assert rows <= 9 * N


def test_a_dependence_of_a_pair_costs_its_product_grid():
    grids = {"x0": [0.0, 1.0, 2.0], "x1": [0.0, 0.5]}
    assert explained((NUMBER, OTHER), sd.PDP(grid=grids))[0] == 6 * N
    assert explained((CODES, NUMBER), sd.PDP(grid=grids))[0] == LEVELS * 3 * N
    assert explained((CODES, MORE_CODES), sd.PDP())[0] == LEVELS * MORE_LEVELS * N
    assert explained((NUMBER, OTHER), sd.PDP())[0] == 20 * 20 * N


def test_mixed_derivatives_cost_what_is_said():
    method = sd.DALE(bins=5)
    model = Counted()
    rows, _ = explained(
        (NUMBER, OTHER),
        method,
        model=model,
        quantity=lambda m: sd.prediction(m, slope=m.slope, mixed=m.mixed),
    )
    assert (rows, model.slope_rows, model.mixed_rows) == (0, N, N)
    model = Counted()
    rows, s = explained(
        (NUMBER, OTHER), method, model=model, quantity=lambda m: sd.prediction(m, slope=m.slope)
    )
    # 2 N for the differences of slopes; N more for the slopes themselves, the main effects.
    assert (rows, model.slope_rows) == (0, 3 * N)
    assert s.main is not None


def test_mixed_differences_cost_four_rows_each():
    model = Counted()
    s = sd.explain(sd.prediction(model), data(), (NUMBER, OTHER), method=sd.DALE(bins=5))
    assert s.provenance["effect_rows"] == 4 * N
    assert model.rows == s.provenance["model_rows"]


def test_a_constant_feature_of_a_pair_saves_its_moves():
    X = data()
    X[:, OTHER] = 2.0
    assert explained((NUMBER, OTHER), sd.ALE(bins=4), X)[0] <= 2 * N
    assert explained((OTHER, NUMBER), sd.PDP(grid={"x0": [0.0, 1.0]}), X)[0] == 2 * N
    X[:, CODES] = 1.0
    assert explained((CODES, OTHER), sd.ALE(), X)[0] <= N
    assert explained((CODES, NUMBER), sd.ALE(bins=4), X)[0] <= 2 * N


# --------------------------------------------------------------------------------------------- M-plots


def test_m_plots_of_all_features_cost_the_rows_once():
    for method in (sd.MPlot(), sd.MPlot(bins=sd.Optimal(), center="mean")):
        assert explained(None, method)[0] == N
    y = np.arange(N)
    model = Counted()
    e = sd.explain(sd.residual(model), data(), y=y, method=sd.MPlot())
    assert e.provenance["effect_rows"] == N
    assert model.rows == e.provenance["model_rows"]
    e = sd.explain(sd.label(), data(), y=y, method=sd.MPlot())
    assert (e.provenance["model_rows"], e.provenance["model_calls"]) == (0, 0)


# ------------------------------------------------------------------------------------- missing values


def missing_costs(holes, values=None, method=None, n=N, column=NUMBER):
    """Return the effect, and the model rows that the point of missing values adds."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 2))
    if values is not None:
        X[:, 0] = rng.choice(values, size=n)
    X[:holes, 0] = np.nan
    model = Counted2()
    e = sd.explain(model, X, 0, method=method or sd.ALE(bins=sd.Uniform(3)))
    assert model.rows == e.provenance["model_rows"]
    return e, e.provenance["effect_rows"] - 2 * (n - holes)


class Counted2:
    """A model that accepts missing values and counts its rows."""

    def __init__(self):
        self.rows = 0

    def __call__(self, X):
        self.rows += len(X)
        return np.where(np.isnan(X[:, 0]), 5.0, X[:, 0]) + X[:, 1]


@pytest.mark.parametrize("holes", [1, 60, 300])
def test_a_row_without_a_value_costs_itself_and_its_donors(holes):
    e, rows = missing_costs(holes, values=[0.25, 1.5, 2.5, 4.0])
    assert e.missing_point.exact
    assert e.missing_point.count == holes
    assert rows <= holes * (1 + 4)
    assert rows >= holes * 4


@pytest.mark.parametrize(("n", "holes"), [(600, 1), (600, 100), (600, 599), (20_000, 10_000)])
def test_donors_stay_within_their_budget(n, holes):
    """About 2 N donor rows, or 10,000 if that is more; 10 per row if most rows miss the feature."""
    e, rows = missing_costs(holes, n=n)
    assert e.missing_point.count == holes
    assert holes < rows <= holes + max(2 * n + holes, 10_000, 10 * holes)


def test_rows_without_a_value_of_a_category_are_a_level_and_cost_no_more():
    X = pd.DataFrame({"a": data()[:, 0], "c": ["u", "v", None] * (N // 3)})
    seen = []

    def model(Z):
        seen.append(len(Z))
        return Z["a"] * (Z["c"] == "u")

    e = sd.explain(model, X, "c", method=sd.ALE(order=["u", "v", None]))
    assert e.missing_point is None
    assert e.provenance["effect_rows"] == N + N + N // 3
    assert sum(seen) == e.provenance["model_rows"]


# ------------------------------------------------------------------------------------- several outputs


@pytest.mark.parametrize(
    ("features", "method"),
    [(None, sd.ALE(bins=5)), ((0, 1), sd.PDP(grid=3)), (0, sd.RHALE()), (None, sd.MPlot())],
)
def test_all_classes_cost_the_rows_of_one(features, method, monkeypatch):
    # Calls that take no time are not cut into parts.
    monkeypatch.setattr("skedasis.models.calling.time.perf_counter", lambda: 0.0)
    X = data()[:, :3]

    class Counts(LogisticRegression):
        rows = 0

        def predict_proba(self, X):
            type(self).rows += len(X)
            return super().predict_proba(X)

    model = Counts().fit(X, np.arange(N) % 3)
    one = sd.explain(sd.probability(model, class_=0), X, features, method=method)
    single = Counts.rows
    Counts.rows = 0
    everything = sd.explain(sd.probability(model, class_="all"), X, features, method=method)
    assert list(everything) == [0, 1, 2]
    assert Counts.rows == single
    keys = ("effect_rows", "effect_calls", "check_rows")
    for part in everything.values():
        assert [part.provenance[k] for k in keys] == [one.provenance[k] for k in keys]


def test_rhale_of_an_ordinal_feature_costs_what_its_ale_does():
    X = data()
    rows, e = explained(MORE_CODES, sd.RHALE())
    assert rows == 3 * N - at_levels(X, MORE_CODES, 0, 3)
    assert len(e.levels) == MORE_LEVELS


def test_pairs_of_rows_without_a_value_are_not_moved():
    X = data()
    X[:100, NUMBER] = np.nan
    model = Counted()
    s = sd.explain(
        sd.prediction(lambda Z: model(np.nan_to_num(Z))), X, (NUMBER, OTHER), method=sd.ALE(bins=4)
    )
    assert s.provenance["effect_rows"] == 4 * (N - 100)


def test_a_category_of_two_levels_costs_two_rows_each():
    assert explained(FLAG, sd.ALE())[0] == 2 * N
