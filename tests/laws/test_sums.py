"""Laws of sums of quantities: effects are linear in the quantity, and those of a difference are of the difference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

import skedasis as sd
from tests.laws.mixed_cases import kinds, mixed_cases, pair_quantity, pair_ways, size_of, tables
from tests.laws.strategies import (
    CONTINUOUS,
    Smooth,
    assert_same,
    cases,
    law,
    near,
    quantity_of,
    sizes,
    ways,
)

LINEAR = 1e-12
"""Relative to the size of the parts: their effects are computed on the same cells from the same responses."""

FACTORS = st.floats(-3, 3).filter(lambda factor: abs(factor) > 0.1)


def _other(case):
    """Return a second model of the same columns."""
    k, rng = len(case.model.columns), case.rng
    return Smooth(rng.normal(size=k), rng.normal(size=k), rng.normal(size=k), case.model.columns)


def _check_linear(way, case, factors, sloped):
    """Check that the effect of a linear combination of two quantities is that of their effects."""
    method = way.method(case.X[:, 0])
    quantities = [
        sd.prediction(model, slope=model.slope if has else None)
        for model, has in zip((case.model, _other(case)), sloped, strict=True)
    ]
    a, b = factors
    total, e, g = (
        sd.explain(q, case.X, 0, method=method, sample_weight=case.weights)
        for q in (a * quantities[0] + b * quantities[1], *quantities)
    )
    np.testing.assert_array_equal(total.x, e.x)
    size = abs(a) * sizes(e)[1] + abs(b) * sizes(g)[1]
    near(total.value, a * e.value + b * g.value, LINEAR * size, "value")


@law(way=ways(lambda way: way.fixed), case=cases(), factors=st.tuples(FACTORS, FACTORS))
def test_effects_are_linear_in_the_quantity(way, case, factors):
    _check_linear(way, case, factors, (way.sloped, way.sloped))


@law(
    way=ways(lambda way: way.fixed and way.local == "slopes"),
    case=cases(kinds=CONTINUOUS),
    factors=st.tuples(FACTORS, FACTORS),
    sloped=st.sampled_from([(True, False), (False, False)]),
)
def test_given_slopes_and_differences_add_up(way, case, factors, sloped):
    """Where all models may be evaluated between the values of a feature."""
    _check_linear(way, case, factors, sloped)


@law(way=ways(lambda way: way.local != "differences"), case=cases())
def test_a_difference_of_models_is_explained_like_the_model_of_the_difference(way, case):
    """Bins, errors, heterogeneity and scores too, so that intervals are those of paired rows."""
    other = _other(case)

    class Difference:
        def __call__(self, X):
            return case.model(X) - other(X)

        def slope(self, X):
            return case.model.slope(X) - other.slope(X)

    method = way.method(case.X[:, 0])
    got, want = (
        sd.explain(q, case.X, 0, method=method, sample_weight=case.weights)
        for q in (
            quantity_of(case.model, way) - quantity_of(other, way),
            quantity_of(Difference(), way),
        )
    )
    assert_same(got, want)


@law(way=pair_ways(), case=mixed_cases())
def test_surfaces_are_linear_in_the_quantity(way, case):
    models = case.model, tables(case.rng, *case.levels)
    first, second = (pair_quantity(model, way) for model in models)
    total, e, g = (
        sd.explain(
            q,
            case.X,
            way.columns,
            method=way.method(),
            sample_weight=case.weights,
            schema=kinds(way.kind),
        )
        for q in (first - second, first, second)
    )
    size = sum(size_of(replace(case, model=model), way) for model in models)
    near(total.value, e.value - g.value, LINEAR * size, "value")


@law(way=ways(lambda way: way.local != "values"), case=cases())
def test_nothing_is_left_of_a_model_without_itself(way, case):
    q = quantity_of(case.model, way)
    e = sd.explain(q - q, case.X, 0, method=way.method(case.X[:, 0]), sample_weight=case.weights)
    assert (e.value == 0.0).all()
    assert e.heterogeneity_score == 0.0
