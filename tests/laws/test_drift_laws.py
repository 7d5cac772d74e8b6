"""Laws of `sd.drift`: parts sum to the change; swapped tables and models negate it; order and weights of the rows."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
from hypothesis import strategies as st

import skedasis as sd
from tests.laws.strategies import law
from tests.laws.test_change_laws import random_model, table

QUIET = {"progress": False}
seeds = st.integers(0, 2**31 - 1)


def tables(seed, old=60, new=40):
    X = np.round(table(seed, old + new), 1 + seed % 3)
    X[old:, 0] += 0.5
    return X[:old], X[old:]


def values(found):
    """Return the numbers of all parts, by name."""
    by_name = {p.part: p.value for p in found.parts}
    by_name |= {f.feature: f.value for f in found.features}
    return by_name | {f"curve {f.feature}": f.curve_change for f in found.features}


@law(seed=seeds, scale=st.sampled_from([1e-9, 1.0, 1e9]), offset=st.sampled_from([0.0, 1e3]))
def test_parts_sum_to_the_change(seed, scale, offset):
    f, g = (random_model(seed + k) for k in (0, 1))
    old, new = tables(seed)
    found = sd.drift(
        lambda X: scale * (f(X) + offset), old, lambda X: scale * (g(X) + offset), new, **QUIET
    )
    size = scale * max(abs(f(old)).max(), abs(g(new)).max(), offset)
    near = {"rtol": 1e-12, "atol": 1e-12 * size}
    np.testing.assert_allclose(
        found.rows_moved.value + found.model_changed.value, found.change.value, **near
    )
    np.testing.assert_allclose(found.mean_new - found.mean_old, found.change.value, **near)
    carried = sum(f.value for f in found.features) + found.jointly.value
    np.testing.assert_allclose(carried, found.rows_moved.value, **near)
    for part in (found.rows_moved, found.model_changed):
        total = sum(g.total for g in found.groups_of(part.part))
        np.testing.assert_allclose(total, part.value, **near)


@law(seed=seeds)
def test_swapped_tables_and_models_negate_every_part(seed):
    f, g = (random_model(seed + k) for k in (0, 1))
    old, new = tables(seed)
    there, back = sd.drift(f, old, g, new, **QUIET), sd.drift(g, new, f, old, **QUIET)
    a, b = values(there), values(back)
    for name, value in a.items():
        sign = 1 if name.startswith("curve") else -1
        np.testing.assert_allclose(value, sign * b[name], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        [p.std_error for p in there.parts], [p.std_error for p in back.parts], rtol=1e-9
    )
    np.testing.assert_allclose([f.psi for f in there.features], [f.psi for f in back.features])
    assert [g.group for g in there.groups] == [g.group for g in back.groups]


@law(seed=seeds)
def test_the_order_of_the_rows_does_not_matter(seed):
    f, (old, new) = random_model(seed), tables(seed)
    rng = np.random.default_rng(seed)
    first, second = rng.permutation(len(old)), rng.permutation(len(new))
    ids = np.arange(len(old)), np.arange(len(new))
    a = sd.drift(f, old, X_new=new, row_id_old=ids[0], row_id_new=ids[1], **QUIET)
    b = sd.drift(f, old[first], X_new=new[second], row_id_old=first, row_id_new=second, **QUIET)
    for one, other in zip((*a.parts, *a.features), (*b.parts, *b.features), strict=True):
        for name, value in asdict(one).items():
            if isinstance(value, float):
                np.testing.assert_allclose(value, asdict(other)[name], rtol=1e-8, atol=1e-9)
    assert [g.group for g in a.groups] == [g.group for g in b.groups]


@law(seed=seeds)
def test_weights_are_repetitions(seed):
    f, g = (random_model(seed + k) for k in (0, 1))
    old, new = tables(seed)
    rng = np.random.default_rng(seed)
    w = [rng.integers(0, 4, len(X)) for X in (old, new)]
    w[0][0] = w[1][0] = 2
    weighted = sd.drift(f, old, g, new, sample_weight_old=w[0], sample_weight_new=w[1], **QUIET)
    repeated = sd.drift(f, np.repeat(old, w[0], axis=0), g, np.repeat(new, w[1], axis=0), **QUIET)
    for one, other in zip(
        (*weighted.parts, *weighted.features), (*repeated.parts, *repeated.features), strict=True
    ):
        for name in ("value", "std_error", "df", "p_value", "psi"):
            if name in asdict(one):
                np.testing.assert_allclose(
                    asdict(one)[name], asdict(other)[name], rtol=1e-8, atol=1e-9
                )


@law(seed=seeds)
def test_one_model_does_not_change_and_one_table_does_not_move(seed):
    f, g = (random_model(seed + k) for k in (0, 1))
    old, new = tables(seed)
    rows = sd.drift(f, old, f, new, **QUIET)
    assert rows.model_changed.value == 0.0
    assert rows.rows_moved.value == rows.change.value
    models = sd.drift(f, old, g, old, **QUIET)
    assert models.rows_moved.value == models.jointly.value == 0.0
    assert models.model_changed.value == models.change.value
    none = sd.drift(f, old, X_new=old.copy(), **QUIET)
    assert not none.found
    np.testing.assert_allclose(none.change.value, 0.0, atol=1e-12)
