"""Laws of effects of two features: numbers and categories, differences and derivatives, dependence."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

import skedasis as sd
from skedasis.engine import prepare
from tests.helpers import refused
from tests.laws.mixed_cases import (
    IDLE,
    IDLE_CODES,
    A,
    B,
    C,
    D,
    kinds,
    mixed_cases,
    pair_effect,
    pair_tolerance,
    pair_ways,
    same_surface,
    size_of,
)
from tests.laws.strategies import EXACT, identical, law, near

# ---------------------------------------------------------------------- batches, threads and calls


@law(
    way=pair_ways(),
    case=mixed_cases(),
    memory=st.sampled_from([400, 2_000]),
    rows=st.sampled_from([7, 23, 64]),
)
def test_how_the_work_is_cut_does_not_matter(way, case, memory, rows):
    whole = pair_effect(case, way)
    pieces = pair_effect(case, way, memory=memory)
    calls = [s.provenance["effect_calls"] + s.provenance["slope_calls"] for s in (whole, pieces)]
    assert calls[1] > calls[0]
    same_surface(pieces, whole, EXACT * size_of(case, way))
    identical(pair_effect(case, way, memory=memory, n_jobs=3), pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "CALL_ROWS", rows)
        same_surface(pair_effect(case, way), whole, EXACT * size_of(case, way))


@law(way=pair_ways(), case=mixed_cases())
def test_pairs_together_are_pairs_one_by_one(way, case):
    pairs = [way.columns, (way.columns[1], IDLE), way.columns[::-1]]
    together = pair_effect(case, way, pairs)
    assert list(together) == [(f"x{a}", f"x{b}") for a, b in pairs]
    for pair, found in zip(pairs, together.values(), strict=True):
        same_surface(found, pair_effect(case, way, pair), EXACT * size_of(case, way))


# ------------------------------------------------------------------------------------ the rows


@law(way=pair_ways(), case=mixed_cases(weights=("whole",)))
def test_whole_weights_are_repetitions(way, case):
    repeats = case.weights.astype(int)
    repeated = replace(case, X=np.repeat(case.X, repeats, axis=0), weights=None)
    got, want = pair_effect(case, way), pair_effect(repeated, way)
    same_surface(got, want, pair_tolerance(way) * size_of(case, way))


@law(way=pair_ways(), case=mixed_cases())
def test_weight_zero_is_absence(way, case):
    absent = (case.X[:, C] == 1) | (case.rng.random(len(case.X)) < 0.2)
    absent[0] = False
    X = case.X.copy()
    X[absent] = [1e6, -1e6, 1, 1, 1e6, 1]
    given = np.ones(len(X)) if case.weights is None else case.weights
    with_zeros = replace(case, X=X, weights=np.where(absent, 0.0, given))
    without = replace(case, X=case.X[~absent], weights=given[~absent])
    got, want = pair_effect(with_zeros, way), pair_effect(without, way)
    same_surface(got, want, EXACT * size_of(without, way))


@law(way=pair_ways(), case=mixed_cases())
def test_the_order_of_rows_does_not_matter(way, case):
    shuffled = case.with_rows(case.rng.permutation(len(case.X)))
    got, want = pair_effect(shuffled, way), pair_effect(case, way)
    same_surface(got, want, pair_tolerance(way) * size_of(case, way))


# --------------------------------------------------------------------------------- the columns


@law(way=pair_ways(), case=mixed_cases())
def test_permuting_columns_permutes_results(way, case):
    order = case.rng.permutation(case.X.shape[1])
    place = [int(np.flatnonzero(order == j)[0]) for j in range(len(order))]
    model = replace(case.model, place=tuple(place[j] for j in (A, B, C, D)))
    permuted = replace(case, X=np.ascontiguousarray(case.X[:, order]), model=model)
    method = way.method()
    for name in ("bins", "grid"):
        if isinstance(getattr(method, name, None), dict):
            named = {place[int(k[1:])]: v for k, v in getattr(method, name).items()}
            method = replace(method, **{name: named})
    columns = tuple(place[j] for j in way.columns)
    got = pair_effect(permuted, way, columns, method, schema=kinds(way.kind, place))
    same_surface(got, pair_effect(case, way), EXACT * size_of(case, way))


@law(
    way=pair_ways(lambda way: way.accumulates),
    used=st.sampled_from([0, 1]),
    case=mixed_cases(),
)
def test_with_an_unused_feature_there_is_exactly_nothing(way, used, case):
    idle = IDLE if way.columns[1 - used] in (A, B) else IDLE_CODES
    columns = (way.columns[0], idle) if used == 0 else (idle, way.columns[1])
    s = pair_effect(case, way, columns)
    np.testing.assert_array_equal(s.value, 0.0)
    np.testing.assert_array_equal(s.heterogeneity[~np.isnan(s.heterogeneity)], 0.0)
    np.testing.assert_array_equal(s.cells.effect[~s.cells.empty], 0.0)
    assert s.interaction_strength() == 0
    np.testing.assert_array_equal(s.main[1 - used], 0.0)


@law(
    way=pair_ways(),
    case=mixed_cases(),
    a=st.sampled_from([1e-12, 2.0**-20, 1e4, 1e12]),
    c=st.sampled_from([1e-12, 3.0, 1e12]),
)
def test_units_of_features_and_quantity_only_scale_results(way, case, a, c):
    X = case.X.copy()
    X[:, [A, B]] *= a
    scaled = replace(case, X=X, model=replace(case.model, unit=a, size=c))
    want, got = pair_effect(case, way), pair_effect(scaled, way)
    size = 10 * pair_tolerance(way) * size_of(case, way)
    for one, two, j in zip(got.x, want.x, way.columns, strict=True):
        near(one / (a if j in (A, B) else 1.0), two, 1e-12 * np.abs(two).max(), "x")
    for name in ("value", "heterogeneity"):
        near(getattr(got, name) / c, getattr(want, name), size, name)
    near(got.interaction_strength() / c, want.interaction_strength(), size, "strength")


@law(
    way=pair_ways(),
    case=mixed_cases(),
    b=st.sampled_from([-4.0e4, 1.7e9]),
    d=st.sampled_from([0, 1e3]),
)
def test_offsets_of_features_and_quantity_change_nothing(way, case, b, d):
    case = replace(case, X=np.round(case.X * 2**20) / 2**20)
    X = case.X.copy()
    X[:, [A, B]] += b
    moved = replace(case, X=X, model=replace(case.model, shift=b, lift=float(d)))
    want, got = pair_effect(case, way), pair_effect(moved, way)
    # Edges and steps are rounded to spacing(b), and so are the values of rows moved there.
    rounded = 1e3 * np.spacing(abs(b)) * (1 + np.abs(case.X).max())
    if way.local == "differences":
        if b > 1e9:
            return  # differences of differences, divided by two steps, lose all digits here
        rounded = 0.05
    size = (pair_tolerance(way) + rounded) * (size_of(case, way) + d)
    raw = want.spec.center is None and not way.accumulates
    near(got.value - (d if raw else 0), want.value, size, "value")
    near(got.heterogeneity, want.heterogeneity, size, "heterogeneity")
    near(got.interaction_strength(), want.interaction_strength(), size, "strength")


# ------------------------------------------------------------------------------------ the result


@law(
    way=pair_ways(lambda way: way.local in ("slopes", "mixed", "differences")),
    case=mixed_cases(),
    other=st.sampled_from([sd.Uniform(3), sd.Quantile(4), 2]),
)
def test_rebinning_is_explaining_anew(way, case, other):
    s = pair_effect(case, way)
    rebinned = s.rebin((other, sd.Uniform(5)))
    bins = {"x0": other, "x1": sd.Uniform(5)}
    anew = pair_effect(case, way, method=sd.DALE(bins=bins))
    same_surface(rebinned, anew, EXACT * size_of(case, way))
    first = way.method().bins
    both = (first["x0"], first["x1"]) if isinstance(first, dict) else first
    same_surface(rebinned.rebin(both), s, EXACT * size_of(case, way))


@law(way=pair_ways(), case=mixed_cases())
def test_evaluation_at_the_nodes_gives_the_values(way, case):
    s = pair_effect(case, way)
    found = s(s.x[0][:, None], s.x[1][None, :])
    if way.accumulates and way.method().empty is None:
        found = np.where(np.isnan(found), s.value, found)  # nodes with empty cells only
    np.testing.assert_array_equal(found, s.value)
    for axis, j in enumerate(way.columns):
        at = [s.x[0][0], s.x[1][0]]
        at[axis] = 1e9
        if j in (A, B):
            assert np.isnan(s(*at))
        else:
            with refused(sd.DataError, "one of the levels"):
                s(*at)


@law(way=pair_ways(), case=mixed_cases())
def test_strength_is_the_spread_over_the_rows(way, case):
    s = pair_effect(case, way)
    i, j = way.columns
    x = [case.X[:, c] for c in (i, j)]
    if not way.accumulates:  # outside a grid its last value is used
        x = [
            np.clip(v, n.min(), n.max()) if c in (A, B) else v
            for v, n, c in zip(x, s.x, (i, j), strict=True)
        ]
    value = s(*x)
    assert not np.isnan(value).any()
    w = np.ones(len(value)) if case.weights is None else case.weights
    mean = np.average(value, weights=w)
    want = np.sqrt(np.average((value - mean) ** 2, weights=w))
    near(s.interaction_strength(), want, EXACT * size_of(case, way), "strength")


@law(way=pair_ways(), case=mixed_cases())
def test_saving_and_loading_is_the_identity(way, case):
    result = pair_effect(case, way)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "surface.npz"
        result.save(path)
        again = sd.load(path)
    identical(again, result)
    assert json.dumps(again.provenance) == json.dumps(result.provenance)
    if way.local in ("slopes", "mixed", "differences"):
        identical(again.rebin(3), result.rebin(3))
    identical(again.with_main_effects(), result.with_main_effects())
