"""Laws of `prediction(inverse=...)`: the effects are those of the composed function, for every method."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

import skedasis as sd
from tests.laws.strategies import Smooth, assert_same, cases, effects_of, law, tolerance, ways


@dataclass(frozen=True)
class Composed:
    """A function of a model, with the derivatives of the composition."""

    model: Smooth
    size: float
    place: float

    def inverse(self, v):
        return self.size * np.sinh((v - self.place) / self.size)

    def derivative(self, v):
        return np.cosh((v - self.place) / self.size)

    def __call__(self, X):
        return self.inverse(self.model(X))

    def slope(self, X):
        return self.derivative(self.model(X))[:, None] * self.model.slope(X)


def composed(case):
    values = case.model(case.X)
    size = float(np.abs(values - np.median(values)).max())
    # A step beyond the data may be taken: sinh grows by e there at most.
    return Composed(case.model, max(size, 1e-300), float(np.median(values)))


@law(way=ways(), case=cases(), known=st.booleans())
def test_effects_are_those_of_the_composed_function(way, case, known):
    both = composed(case)
    inverse = (both.inverse, both.derivative) if known else both.inverse
    expected = effects_of(replace(case, model=both), way, features=[0])
    options = {"sample_weight": case.weights, "progress": False}
    slope = case.model.slope if way.sloped else None
    q = sd.prediction(case.model, slope=slope, inverse=inverse)
    for j, want in expected.items():
        got = sd.explain(q, case.X, j, method=way.method(case.X[:, j]), **options)
        # The numerical derivative has a relative error of 1e-12, and the composition rounds once more.
        assert_same(got, want, max(tolerance(way), 1e-9 if way.sloped else 0.0))
        for key in ("effect_rows", "slope_rows", "score_rows"):
            assert got.provenance[key] == want.provenance[key]
