"""Laws of contrasts: the change of an effect between two values, for every method, on random models and data."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import skedasis as sd
from skedasis.results.intervals.bootstrap import replicate_source
from skedasis.stats.resampling import bootstrap, percentiles
from tests.laws.strategies import (
    CONTINUOUS,
    EXACT,
    WAYS,
    Smooth,
    cases,
    changed,
    effects_of,
    has_few_values,
    law,
    near,
    sizes,
    tolerance,
    ways,
)

FRACTION = st.floats(0, 1, allow_nan=False)


def effect_of(case, way, **options):
    """Return the effect of the first feature, and its range."""
    e = effects_of(case, way, features=[0], **options)[0]
    known = np.flatnonzero(~np.isnan(e.value))
    assume(len(known) > 1)
    return e, e.x[known[0]], e.x[known[-1]]


def values_at(low, high, *fractions):
    return [float(np.clip(low + f * (high - low), low, high)) for f in fractions]


@law(way=ways(), case=cases(), u=FRACTION, v=FRACTION)
def test_a_change_is_that_of_the_curve_and_reverses_with_its_direction(way, case, u, v):
    e, low, high = effect_of(case, way)
    a, b = values_at(low, high, u, v)
    there, back = e.contrast(a, b), e.contrast(b, a)
    if a == b:
        assert (there.value, there.std_error, there.lower, there.upper) == (0.0, 0.0, 0.0, 0.0)
        return
    assert there.value == float(e(b) - e(a)) == -back.value
    size = tolerance(way) * sizes(e)[1]
    near(there.std_error, back.std_error, size, "error")
    near(there.lower, -back.upper, 10 * size, "interval")
    assert there.rows == back.rows
    assert there.lower <= there.value <= there.upper or math.isnan(there.std_error)


@law(way=ways(), case=cases(), u=FRACTION, v=FRACTION, w=FRACTION)
def test_changes_add_up(way, case, u, v, w):
    e, low, high = effect_of(case, way)
    a, b, c = values_at(low, high, u, v, w)
    parts, whole = (e.contrast(a, b), e.contrast(b, c)), e.contrast(a, c)
    near(parts[0].value + parts[1].value, whole.value, EXACT * sizes(e)[1], "value")
    # Errors of any dependence: the triangle inequality of standard deviations.
    if e.spec.accumulate_se == "quadrature" and not np.isnan(whole.std_error):
        assert whole.std_error <= (parts[0].std_error + parts[1].std_error) * (1 + 1e-9) + 1e-12


@law(way=ways(lambda way: way.fixed and way.accumulates), case=cases())
def test_a_change_between_neighbouring_edges_is_the_rise_of_the_bin(way, case):
    e, _, _ = effect_of(case, way)
    bins, size = e.bins, tolerance(way) * sizes(e)[1]
    for k in np.flatnonzero(~bins.empty & ~np.isnan(bins.std_error)):
        c = e.contrast(e.x[k], e.x[k + 1])
        near(c.value, bins.effect[k] * bins.widths[k], size, "rise")
        near(c.std_error, bins.std_error[k] * bins.widths[k], size, "error")
        if e.values is None:
            assert c.rows == bins.count[k]


@law(
    way=ways(lambda way: way.local != "values" and not way.derivative),
    case=cases(smooth=False),
    u=FRACTION,
    v=FRACTION,
)
def test_a_linear_model_is_exact(way, case, u, v):
    e, low, high = effect_of(case, way)
    a, b = values_at(low, high, u, v)
    used = list(case.model.columns)
    slope = case.model.linear[used.index(0)] if 0 in used else 0.0
    found = e.contrast(a, b)
    # Responses are sums over columns, so that differences are rounded relative to the responses.
    size = 100 * tolerance(way) * (sizes(e)[1] + np.abs(case.model(case.X)).max())
    near(found.value, slope * (b - a), size, "value")
    near(found.std_error, 0.0, size, "error")


@law(way=ways(), case=cases(weights=("whole",)), u=FRACTION, v=FRACTION)
def test_whole_weights_are_repetitions(way, case, u, v):
    repeats = case.weights.astype(int)
    repeated = changed(case, X=np.repeat(case.X, repeats, axis=0), weights=None)
    assume(has_few_values(case) == has_few_values(repeated))
    method = way.method(case.X[:, 0])
    if isinstance(method, sd.PDP | sd.ICE):
        method = replace(method, ice="all")  # a sample of curves is of other rows
    got, want = (effects_of(one, way, method, [0])[0] for one in (case, repeated))
    assume(got.spec.local_effects == want.spec.local_effects)
    known = np.flatnonzero(~np.isnan(want.value))
    assume(len(known) > 1)
    # The points of an M-plot are means of rows, and are rounded.
    low, high = want.x[known[0]], want.x[known[-1]]
    a, b = values_at(low + 1e-9 * (high - low), high - 1e-9 * (high - low), u, v)
    one, two = got.contrast(a, b), want.contrast(a, b)
    size = 100 * tolerance(way) * sizes(want)[1]
    for name in ("value", "std_error", "lower", "upper"):
        near(getattr(one, name), getattr(two, name), size, name)


@law(
    method=st.sampled_from(
        [sd.ALE(bins=6), sd.DALE(bins=5), sd.RHALE(bins=sd.Optimal(max_bins=9)), sd.RHALE()]
    ),
    case=cases(),
    u=FRACTION,
    v=FRACTION,
)
def test_the_centring_does_not_matter(method, case, u, v):
    way = WAYS["rhale"]
    found = []
    for center in ("mean", "start", None):
        e = effects_of(case, way, replace(method, center=center), [0])[0]
        known = np.flatnonzero(~np.isnan(e.value))
        assume(len(known) > 1)
        a, b = values_at(e.x[known[0]], e.x[known[-1]], u, v)
        found.append(e.contrast(a, b))
    for other in found[1:]:
        near(other.value, found[0].value, EXACT * sizes(e)[1], "value")
        assert other.std_error == found[0].std_error
        assert (other.df, other.rows) == (found[0].df, found[0].rows)


@law(
    way=ways(),
    case=cases(kinds=CONTINUOUS),
    scale=st.sampled_from([1e-12, 2.0**10, 1e12]),
    c=st.sampled_from([1e-12, 1e5]),
    u=FRACTION,
    v=FRACTION,
)
def test_units_only_scale_changes(way, case, scale, c, u, v):
    model = case.model
    scaled = changed(
        case,
        X=case.X * scale,
        model=Smooth(model.linear, model.product, model.wave, model.columns, 0.0, scale, c, 0.0),
    )
    want, low, high = effect_of(case, way)
    got, low2, high2 = effect_of(scaled, way)
    # Inside, because the points of an M-plot and of grids are rounded.
    u, v = 0.001 + 0.998 * u, 0.001 + 0.998 * v
    one = want.contrast(*values_at(low, high, u, v))
    two = got.contrast(*values_at(low2, high2, u, v))
    unit = c / scale if way.derivative else c
    size = 1e3 * tolerance(way) * sizes(want)[1]
    for name in ("value", "std_error", "lower", "upper"):
        near(getattr(two, name) / unit, getattr(one, name), size, name)


@law(way=ways(lambda way: way.accumulates), case=cases(), u=FRACTION, v=FRACTION)
def test_replicates_are_those_of_the_curve(way, case, u, v):
    """A bootstrap of the change between two points of the curve is the difference of the curve's replicates."""
    # Replicates that start at 0 are unknown without rows in the first bin, which a change does not depend on.
    e, _, _ = effect_of(case, way, method=replace(way.method(case.X[:, 0]), center="mean"))
    known = np.flatnonzero(~np.isnan(e.value))
    i, j = (int(known[round(f * (len(known) - 1))]) for f in (u, v))
    assume(i != j)
    c = e.contrast(e.x[i], e.x[j], method="bootstrap", replicates=30, random_state=7)
    draws = bootstrap({"": replicate_source(e).replicated("value")}, 30, 7)[""]
    ends = percentiles((draws[:, j] - draws[:, i])[:, None], 0.95, np.array([c.df]))
    size = 1e3 * EXACT * sizes(e)[1]
    near([c.lower, c.upper], [float(end[0]) for end in ends], size, "interval")
