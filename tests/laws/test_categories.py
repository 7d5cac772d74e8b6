"""Laws of effects of categories, on random models of numbers and codes, for every method that supports categories."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

import skedasis as sd
from skedasis.engine import prepare
from tests.helpers import observed
from tests.laws.mixed_cases import (
    IDLE_CODES,
    LEVEL_WAYS,
    NUMBERS,
    A,
    B,
    C,
    D,
    kinds,
    level_effect,
    level_ways,
    levels_of,
    mixed_cases,
    same_levels,
    tables,
)
from tests.laws.strategies import EXACT, identical, law, near

# ---------------------------------------------------------------------- batches, threads and calls


@law(
    way=level_ways(),
    case=mixed_cases(),
    memory=st.sampled_from([400, 1_500]),
    rows=st.sampled_from([7, 23, 64]),
)
def test_how_the_work_is_cut_does_not_matter(way, case, memory, rows):
    whole = level_effect(case, way)
    pieces = level_effect(case, way, memory=memory)
    assert pieces.provenance["effect_calls"] > whole.provenance["effect_calls"]
    assert pieces.provenance["effect_rows"] == whole.provenance["effect_rows"]
    same_levels(pieces, whole, EXACT * case.bound)
    identical(level_effect(case, way, memory=memory, n_jobs=3), pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "CALL_ROWS", rows)
        same_levels(level_effect(case, way), whole, EXACT * case.bound)


# ------------------------------------------------------------------------------------ the rows


@law(way=level_ways(), case=mixed_cases(weights=("whole",)))
def test_whole_weights_are_repetitions(way, case):
    repeats = case.weights.astype(int)
    repeated = replace(case, X=np.repeat(case.X, repeats, axis=0), weights=None)
    got, want = level_effect(case, way), level_effect(repeated, way)
    same_levels(got, want, EXACT * case.bound, score=False)


@law(way=level_ways(), case=mixed_cases())
def test_weight_zero_is_absence(way, case):
    """A level that only rows of weight zero have is not a level."""
    absent = (case.X[:, C] == 1) | (case.rng.random(len(case.X)) < 0.2)
    absent[0] = False
    X = case.X.copy()
    X[absent] = [1e6, -1e6, 1, 1, 1e6, 1]
    given = np.ones(len(X)) if case.weights is None else case.weights
    with_zeros = replace(case, X=X, weights=np.where(absent, 0.0, given))
    without = replace(case, X=case.X[~absent], weights=given[~absent])
    method = way.method(levels_of(without))
    ids = np.arange(len(X))
    got = level_effect(with_zeros, way, method=method, row_id=ids)
    assert 1.0 not in got.levels.values
    want = level_effect(without, way, method=method, row_id=ids[~absent])
    same_levels(got, want, EXACT * without.bound)
    assert got.swap_score == want.swap_score


@law(way=level_ways(), case=mixed_cases())
def test_the_order_of_rows_does_not_matter(way, case):
    order = case.rng.permutation(len(case.X))
    got = level_effect(case.with_rows(order), way, row_id=order)
    want = level_effect(case, way, row_id=np.arange(len(order)))
    same_levels(got, want, EXACT * case.bound)


# --------------------------------------------------------------------------------- the columns


@law(way=level_ways(), case=mixed_cases())
def test_permuting_columns_permutes_results(way, case):
    order = case.rng.permutation(case.X.shape[1])
    place = [int(np.flatnonzero(order == j)[0]) for j in range(len(order))]
    model = replace(case.model, place=tuple(place[j] for j in (A, B, C, D)))
    permuted = replace(case, X=np.ascontiguousarray(case.X[:, order]), model=model)
    method = way.method(levels_of(case))
    schema = kinds(way.kind, place)
    got = level_effect(permuted, way, place[C], method, schema=schema)
    same_levels(got, level_effect(case, way, method=method), EXACT * case.bound)


@law(way=level_ways(lambda way: way.moves), case=mixed_cases())
def test_an_unused_category_is_exactly_zero(way, case):
    e = level_effect(case, way, IDLE_CODES)
    # Uncentred values are constant instead: the same rows have the same mean.
    np.testing.assert_array_equal(e.value, e.value[0] if way.raw else 0.0)
    if not way.raw:
        np.testing.assert_array_equal(e.std_error[~np.isnan(e.std_error)], 0.0)
    np.testing.assert_array_equal(e.heterogeneity[~np.isnan(e.heterogeneity)], 0.0)
    assert e.importance == 0
    assert e.heterogeneity_score == 0 or not way.moves


# ------------------------------------------------------------------------------------- the model


@law(way=level_ways(), case=mixed_cases())
def test_values_add_up(way, case):
    """The effect of a sum of two quantities is the sum of their effects, for the same levels in the same order."""
    other = tables(case.rng, *case.levels)

    def both(X):
        return case.model(X) + other(X)

    method = way.method(levels_of(case))
    total, first, second = (
        level_effect(replace(case, model=m), way, method=method) for m in (both, case.model, other)
    )
    size = EXACT * (case.bound + other.bound(case.X))
    near(total.value, first.value + second.value, size, "value")


@law(
    way=level_ways(),
    case=mixed_cases(),
    c=st.sampled_from([1e-12, 3.0, 1e12]),
    d=st.sampled_from([0.0, 5.0]),
)
def test_the_scale_of_the_quantity_only_scales_results(way, case, c, d):
    scaled = replace(case, model=replace(case.model, size=c, lift=c * d))
    got, want = level_effect(scaled, way), level_effect(case, way)
    size = 10 * EXACT * (case.bound + d)
    near(got.value / c, want.value + (d if way.raw else 0.0), size, "value")
    for name in ("heterogeneity", "accumulated_std", "std_error"):
        if getattr(want, name) is not None:
            near(getattr(got, name) / c, getattr(want, name), size, name)
    near(got.importance / c, want.importance, size, "importance")
    near(got.heterogeneity_score / c, want.heterogeneity_score, size, "score")


@law(way=level_ways(lambda way: way.moves), case=mixed_cases())
def test_a_category_that_only_adds_has_its_own_steps_for_an_effect(way, case):
    """For q = t_k + the rest, every method that moves rows finds t_k up to a constant, and no heterogeneity."""
    model = tables(case.rng, *case.levels, additive=True)
    e = level_effect(replace(case, model=model), way)
    truth = model.first[0, [int(v) for v in e.levels.values]]
    size = EXACT * model.bound(case.X)
    near(e.value - e.value[0], truth - truth[0], size, "value")
    near(np.nan_to_num(e.heterogeneity), 0.0, size, "heterogeneity")
    near(e.heterogeneity_score, 0.0, size, "score")
    share = e.levels.weight / e.levels.weight.sum()
    near(e.importance, np.sqrt(share @ (truth - share @ truth) ** 2), size, "importance")


@law(
    column=st.sampled_from([A, C]),
    of=st.sampled_from(["prediction", "label", "residual"]),
    case=mixed_cases(),
    constant=st.sampled_from([0.0, 0.1, -1e7]),
)
def test_an_m_plot_of_a_constant_is_constant_and_does_not_spread(column, of, case, constant):
    y = np.full(len(case.X), 3.0)
    e = sd.explain(
        observed(of, lambda X: np.full(len(X), constant)),
        case.X,
        column,
        y=y,
        method=sd.MPlot(bins=5),
        sample_weight=case.weights,
        schema=kinds("nominal"),
    )
    expected = {"prediction": constant, "label": 3.0, "residual": 3.0 - constant}[of]
    np.testing.assert_array_equal(e.value, expected)
    np.testing.assert_array_equal(e.heterogeneity[~np.isnan(e.heterogeneity)], 0.0)
    assert np.isnan(e.heterogeneity_score)  # no row is moved
    # The mean of equal numbers is exact up to rounding in its last place.
    near(e.importance, 0.0, 4 * np.spacing(abs(expected)), "importance")


# ------------------------------------------------------------------------------- names and orders


@law(case=mixed_cases(), center=st.sampled_from(["mean", None]))
def test_the_direction_of_an_order_changes_no_level(case, center):
    """For a nominal feature with a given order, heterogeneity is accumulated from the first level."""
    order = [float(v) for v in case.rng.permutation(case.levels[0])]
    way = LEVEL_WAYS["ale-given"]
    there, back = (
        level_effect(case, way, method=sd.ALE(order=o, center=center)) for o in (order, order[::-1])
    )
    if center is None:  # no centring: the curve starts at zero at the first level of either order
        near(np.diff(back.value[::-1]), np.diff(there.value), EXACT * case.bound, "steps")
        return
    assert list(there.x) == list(back.x[::-1])
    same_levels(back, there, EXACT * case.bound)
    near(back.bins.effect[::-1], -there.bins.effect, EXACT * case.bound, "steps")
    near(back.bins.std[::-1], there.bins.std, EXACT * case.bound, "their spread")


@law(way=level_ways(), case=mixed_cases())
def test_renaming_levels_renames_results(way, case):
    """This includes new names in another alphabetical order."""
    names = [f"level {c}" for c in case.rng.permutation(case.levels[0])]
    code = {name: k for k, name in enumerate(names)}
    frame = pd.DataFrame(case.X, columns=[f"x{j}" for j in range(6)])
    frame["x2"] = [names[int(k)] for k in case.X[:, C]]

    def model(X):
        return case.model(X.assign(x2=X["x2"].map(code).astype(float)).to_numpy(dtype=float))

    method = way.method(levels_of(case))
    want = level_effect(case, way, method=method)
    renamed = way.method(names)
    if isinstance(getattr(method, "order", None), list):
        renamed = sd.ALE(
            **{**vars(method), "order": [names[int(k)] for k in method.order]},
        )
    schema = {
        **kinds(way.kind),
        "x2": sd.Feature(
            "x2", kind=way.kind, levels=tuple(names) if way.kind == "ordinal" else None
        ),
    }
    got = sd.explain(model, frame, "x2", method=renamed, sample_weight=case.weights, schema=schema)
    size = EXACT * case.bound
    if getattr(method, "center", None) == "start" and isinstance(method, sd.ICE):
        lift = want(got_codes(got, code)) - got.value
        near(lift, lift[0], size, "value")  # another first level shifts the values by a constant
        return
    for name in NUMBERS:
        if getattr(want, name) is not None:
            by_name = dict(zip(got.levels.values, getattr(got, name), strict=True))
            found = [by_name[names[int(k)]] for k in want.levels.values]
            near(found, getattr(want, name), size, name)
    near(got.importance, want.importance, size, "importance")
    near(got.heterogeneity_score, want.heterogeneity_score, size, "score")


def got_codes(effect, code):
    """Return the codes of an effect's levels."""
    return [float(code[name]) for name in effect.levels.values]


@law(way=level_ways(lambda way: way.kind == "nominal"), case=mixed_cases())
def test_a_one_hot_block_is_its_category(way, case):
    """A one-hot block that is moved as a group: each row keeps exactly one 1, and each level its value."""
    size = case.levels[0]
    hot = (case.X[:, [C]] == np.arange(size)).astype(float)
    X = np.hstack([case.X[:, [A, B, D, 4, 5]], hot])

    def model(Z):
        assert (Z[:, 5:].sum(axis=1) == 1).all()
        code = Z[:, 5:].argmax(axis=1).astype(float)
        return case.model(np.column_stack([Z[:, 0], Z[:, 1], code, Z[:, 2], Z[:, 3], Z[:, 4]]))

    columns = [f"x{5 + k}" for k in range(size)]
    method = way.method(levels_of(case))
    named = way.method(columns)
    if isinstance(getattr(method, "order", None), list):
        named = sd.ALE(**{**vars(method), "order": [columns[int(k)] for k in method.order]})
    want = level_effect(case, way, method=method)
    got = sd.explain(
        model,
        X,
        "block",
        method=named,
        sample_weight=case.weights,
        groups={"block": columns},
        schema={"x2": "nominal", "x4": "nominal"},
    )
    place = [got.levels.values.index(columns[int(k)]) for k in want.levels.values]
    for name in NUMBERS:
        if getattr(want, name) is not None:
            near(getattr(got, name)[place], getattr(want, name), EXACT * case.bound, name)
    near(got.importance, want.importance, EXACT * case.bound, "importance")


# ------------------------------------------------------------------------------------ the result


@law(way=level_ways(), case=mixed_cases())
def test_saving_and_loading_is_the_identity(way, case):
    result = level_effect(case, way)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.npz"
        result.save(path)
        again = sd.load(path)
    identical(again, result)
    assert json.dumps(again.provenance) == json.dumps(result.provenance)
    if result.bins is not None and result.rows.exact and result.spec.local_effects != "none":
        options = {"method": "bootstrap", "replicates": 9}
        identical(again.interval(**options), result.interval(**options))
