"""Laws of pairs on known models: the surfaces, and what is derived from them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

import skedasis as sd
from tests.laws.mixed_cases import (
    IDLE,
    PAIR_WAYS,
    A,
    B,
    C,
    D,
    kinds,
    mixed_cases,
    pair_effect,
    pair_quantity,
    pair_tolerance,
    pair_ways,
    size_of,
    tables,
)
from tests.laws.strategies import EXACT, law, near

# ------------------------------------------------------------------------------------- the model


@law(way=pair_ways(), case=mixed_cases())
def test_values_add_up(way, case):
    other = tables(case.rng, *case.levels)

    class Both:
        def __call__(self, X):
            return case.model(X) + other(X)

        def slope(self, X):
            return case.model.slope(X) + other.slope(X)

        def mixed(self, X, i, j):
            return case.model.mixed(X, i, j) + other.mixed(X, i, j)

    models = (Both(), case.model, other)
    total, first, second = (pair_effect(replace(case, model=m), way) for m in models)
    size = size_of(case, way) + size_of(replace(case, model=other), way)
    near(total.value, first.value + second.value, pair_tolerance(way) * size, "value")


@law(way=pair_ways(lambda way: way.accumulates), case=mixed_cases(additive=True))
def test_an_additive_model_has_no_second_order_effect(way, case):
    s = pair_effect(case, way)
    size = pair_tolerance(way) * size_of(case, way)
    near(s.value, 0.0, size, "value")
    near(s.interaction_strength(), 0.0, size, "strength")


@law(way=pair_ways(lambda way: way.accumulates), case=mixed_cases())
def test_a_pair_is_its_mirror_image(way, case):
    """This includes different numbers of bins and levels on the two axes."""
    first, second = way.columns
    want = pair_effect(case, way)
    got = pair_effect(case, way, (second, first))
    size = pair_tolerance(way) * size_of(case, way)
    for one, two in zip(got.x, want.x[::-1], strict=True):
        np.testing.assert_array_equal(one, two)
    near(got.value.T, want.value, size, "value")
    near(got.heterogeneity.T, want.heterogeneity, size, "heterogeneity")
    near(got.cells.effect.T, want.cells.effect, size, "cells")
    np.testing.assert_array_equal(got.cells.count.T, want.cells.count)
    near(got.interaction_strength(), want.interaction_strength(), size, "strength")
    for one, two in zip(got.main, want.main[::-1], strict=True):
        near(one, two, size, "main")


@law(way=pair_ways(), case=mixed_cases())
def test_a_dependence_is_its_mirror_image_too(way, case):
    if way.accumulates:
        return
    want, got = pair_effect(case, way), pair_effect(case, way, way.columns[::-1])
    near(got.value.T, want.value, EXACT * case.bound, "value")
    near(got.heterogeneity.T, want.heterogeneity, EXACT * case.bound, "heterogeneity")


def homes_of(x, nodes, *, levels, left):
    """Return each row's bin or level, by a comparison with each edge."""
    if levels:
        return np.array([int(np.flatnonzero(nodes == v)[0]) for v in x])
    if left:  # [z, z'), the last bin is closed
        return np.minimum((x[:, None] >= nodes[1:]).sum(axis=1), len(nodes) - 2)
    return np.maximum((x[:, None] > nodes[:-1]).sum(axis=1) - 1, 0)


def main_effects_again(s, case, way):
    """Return both accumulated main effects of a surface, and its mean, by loops over rows, cells and nodes.

    Values at a row in a bin average both edges; those at a row at a level are the level's. The weight of a step between
    two levels is the mean of theirs.
    """
    left = not isinstance(way.method(), sd.ALE) or way.columns != (A, B)
    sides = []
    for j, nodes in zip(way.columns, s.x, strict=True):
        bins = getattr(way.method(), "bins", 20)
        scheme = bins.get(f"x{j}", 20) if isinstance(bins, dict) else bins
        left = isinstance(scheme, sd.Uniform) or (
            isinstance(scheme, int) and isinstance(way.method(), sd.DALE)
        )
        levels = j not in (A, B)
        sides.append((homes_of(case.X[:, j], nodes, levels=levels, left=left), levels))
    w = np.ones(len(case.X)) if case.weights is None else case.weights
    mains = []
    for axis in (0, 1):
        value = s.value if axis == 0 else s.value.T
        (own, own_levels), (other, other_levels) = sides[axis], sides[1 - axis]
        rises = []
        for k in range(len(value) - 1):
            weight = rise = 0.0
            for row in range(len(w)):
                touched = (own[row] in (k, k + 1)) / 2 if own_levels else float(own[row] == k)
                step = value[k + 1] - value[k]
                h = other[row]
                seen = step[h] if other_levels else (step[h] + step[h + 1]) / 2
                weight, rise = weight + touched * w[row], rise + touched * w[row] * seen
            rises.append(rise / weight if weight else 0.0)
        mains.append(np.cumsum(rises))
    (h0, levels0), (h1, levels1) = sides
    ends0, ends1 = (h0,) if levels0 else (h0, h0 + 1), (h1,) if levels1 else (h1, h1 + 1)
    corners = np.mean([s.value[i, j] for i in ends0 for j in ends1], axis=0)
    return (*mains, np.average(corners, weights=w))


@law(
    way=pair_ways(lambda way: way.accumulates and way.method().empty is not None),
    case=mixed_cases(),
)
def test_main_effects_and_mean_of_the_result_are_zero(way, case):
    """Recomputed from the values, row by row. Strips without rows have no weights, so these surfaces are skipped."""
    s = pair_effect(case, way)
    if (s.cells.empty.all(axis=0)).any() or (s.cells.empty.all(axis=1)).any():
        return
    size = 1e-10 * size_of(case, way) if way.local != "differences" else 1e-7 * case.bound
    for part in main_effects_again(s, case, way):
        near(part, 0.0, size, "main effects, mean")


@law(way=pair_ways(lambda way: C in way.columns), case=mixed_cases())
def test_the_direction_of_an_order_changes_no_value(way, case):
    order = [float(v) for v in case.rng.permutation(case.levels[0])]
    if way.accumulates:
        methods = [replace(way.method(), order={"x2": o}) for o in (order, order[::-1])]
        if way.kind == "nominal":
            methods = [replace(m, order={**m.order, "x3": "similarity"}) for m in methods]
    else:
        method = way.method()
        grids = method.grid if isinstance(method.grid, dict) else {"x1": 3}
        methods = [replace(method, grid={**grids, "x2": o}) for o in (order, order[::-1])]
    there, back = (pair_effect(case, way, method=m) for m in methods)
    axis = way.columns.index(C)
    np.testing.assert_array_equal(back.x[axis], order[::-1])
    size = EXACT * case.bound
    for name in ("value", "heterogeneity"):
        near(np.flip(getattr(back, name), axis), getattr(there, name), size, name)
    near(back.interaction_strength(), there.interaction_strength(), size, "strength")
    if way.accumulates:
        near(np.flip(back.cells.effect, axis), -there.cells.effect, size, "cells")
        near(np.flip(back.main[axis]), there.main[axis], size, "main")


@law(case=mixed_cases(), k=st.integers(1, 5), m=st.integers(1, 5))
def test_dale_is_exact_where_the_model_is_linear_in_each_feature(case, k, m):
    """For q = a x y + additive parts, the mixed derivative is constant in every cell, for any bins."""
    x, y = case.X[:, A], case.X[:, B]
    a, b = case.rng.normal(size=2)

    def f(X):
        return a * X[:, A] * X[:, B] + b * X[:, A] - X[:, B] + np.sin(X[:, IDLE])

    def slope(X):
        out = np.zeros(X.shape)
        out[:, A], out[:, B] = a * X[:, B] + b, a * X[:, A] - 1.0
        return out

    method = sd.DALE(bins={"x0": k, "x1": m})
    q = sd.prediction(f, slope=slope, mixed=lambda X, i, j: np.full(len(X), a))
    # The second-order effect of x y is (x - g(y)) (y - h(x)) up to parts of one feature: compare double differences.
    truth = a * np.diff(np.linspace(x.min(), x.max(), k + 1))[:, None]
    truth = truth * np.diff(np.linspace(y.min(), y.max(), m + 1))
    reach = np.abs(a) * np.ptp(x) * np.ptp(y)
    for quantity, tolerance in (
        (q, 1e-12),
        (sd.prediction(f, slope=slope), 1e-7),
        (f, 1e-4 * (1 + np.abs(f(case.X)).max() / reach)),
    ):
        s = sd.explain(quantity, case.X, (A, B), method=method, sample_weight=case.weights)
        double = np.diff(np.diff(s.value, axis=0), axis=1)
        near(double, truth, tolerance * reach, "double differences")
        near(s.cells.std[~np.isnan(s.cells.std)], 0.0, tolerance * reach, "spread")


@law(case=mixed_cases())
def test_steps_of_two_categories_sum_up_to_the_model(case):
    """For q = c_kl of the levels alone, the double differences are those of the table, and so is the whole surface."""
    table = case.model.crossed[0]
    s = sd.explain(
        lambda X: table[X[:, C].astype(int), X[:, D].astype(int)],
        case.X,
        (C, D),
        method=sd.ALE(),
        sample_weight=case.weights,
        schema=kinds("ordinal"),
    )
    near(
        np.diff(np.diff(s.value, axis=0), axis=1),
        np.diff(np.diff(table, axis=0), axis=1),
        1e-12,
        "",
    )
    near(s.heterogeneity[~np.isnan(s.heterogeneity)], 0.0, 1e-13, "heterogeneity")


@law(case=mixed_cases())
def test_main_effects_of_categories_are_their_own_ales(case):
    way = PAIR_WAYS["ale-categories"]
    s = pair_effect(case, way)
    options = {"method": sd.ALE(), "sample_weight": case.weights, "schema": kinds("ordinal")}
    effects = sd.explain(case.model, case.X, [C, D], **options)
    for got, name in zip(s.main, ("x2", "x3"), strict=True):
        near(got, effects[name].value, EXACT * case.bound, name)
    near(s.with_main_effects().value, s.with_main_effects(effects).value, EXACT * case.bound, "sum")


@law(case=mixed_cases())
def test_main_effects_of_slopes_are_their_own_dales(case):
    way = PAIR_WAYS["dale-slopes"]
    s = pair_effect(case, way)
    quantity = pair_quantity(case.model, way)
    for axis, column in enumerate((A, B)):
        e = sd.explain(quantity, case.X, column, method=way.method(), sample_weight=case.weights)
        np.testing.assert_array_equal(e.x, s.x[axis])
        near(s.main[axis], e.value, EXACT * size_of(case, way), "main")


@law(way=pair_ways(lambda way: not way.accumulates), case=mixed_cases())
def test_a_dependence_is_the_mean_of_rows_moved_by_hand(way, case):
    s = pair_effect(case, way)
    i, j = way.columns
    curves = np.empty((len(case.X), *s.value.shape))
    for k, u in enumerate(s.x[0]):
        for m, v in enumerate(s.x[1]):
            X = case.X.copy()
            X[:, i], X[:, j] = u, v
            curves[:, k, m] = case.model(X)
    centred = curves - curves.mean(axis=(1, 2), keepdims=True)
    shown = centred if s.spec.center == "mean" else curves
    mean = np.average(shown, axis=0, weights=case.weights)
    near(s.value, mean, EXACT * case.bound, "value")
    w = np.ones(len(curves)) if case.weights is None else case.weights
    off = centred - np.average(centred, axis=0, weights=w)
    spread = np.sqrt(np.tensordot(w, off**2, axes=1) / (w.sum() - 1))
    near(s.heterogeneity, spread, EXACT * case.bound, "heterogeneity")
