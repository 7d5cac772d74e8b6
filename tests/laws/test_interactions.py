"""Laws of interactions: trees of any kind against row by row, columns, row order, scales, weights, saving."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import skedasis as sd
from skedasis.trees.layout import layout_of, layouts_by_output
from skedasis.trees.partial_dependence import TreePartialDependence
from tests.laws.strategies import law
from tests.laws.test_tree_laws import COLUMNS, ensembles
from tests.reference.tree_evaluation import raw_scores

FAST: dict[str, Any] = {"heterogeneity_rows": 0, "method": sd.ALE(bins=4)}


@pytest.mark.slow
@law(drawn=ensembles(), weighted=st.booleans(), grouped=st.booleans())
def test_partial_dependence_of_trees_is_that_of_rows_sent_down_every_tree(
    drawn: Any, weighted: bool, grouped: bool
) -> None:
    """Missing values, unknown categories, ties with thresholds, several outputs, blocks of 64 rows."""
    pytest.importorskip("numba")
    ensemble, X, rng = drawn
    X = X[:70]
    n = len(X)
    w = rng.uniform(0.5, 2.0, n) if weighted else None
    share = np.full(n, 1 / n) if w is None else w / w.sum()
    features = [(0,), (1, 3), (2,)] if grouped else [(j,) for j in range(COLUMNS)]
    shape = layout_of(ensemble)
    codes = [shape.tests[k].codes(X[:, j]) for k, j in enumerate(shape.columns)]
    pairs = [(a, b) for a in range(len(features)) for b in range(a + 1, len(features))]

    def swept(columns: tuple[int, ...]) -> np.ndarray:
        """Return the centred partial dependence on columns, (n, outputs)."""
        Z = np.repeat(X[None], n, axis=0)
        for j in columns:
            Z[:, :, j] = X[:, j][:, None]
        scores = raw_scores(ensemble, Z.reshape(-1, COLUMNS)).reshape(n, n, -1)
        found = np.einsum("ebk,b->ek", scores, share)
        return found - share @ found

    single = [swept(f) for f in features]
    rest = [swept(tuple(j for j in range(COLUMNS) if j not in f)) for f in features]
    both = {(a, b): swept((*features[a], *features[b])) for a, b in pairs}
    for k, part in enumerate(layouts_by_output(ensemble, shape)):
        part_codes = [codes[shape.place(j)] for j in part.columns]
        got = TreePartialDependence(part, part_codes, n, features, w, pairs, 2.0)
        got.count(rest=True)

        def near(values: np.ndarray, want: np.ndarray, k: int = k) -> None:
            np.testing.assert_allclose(
                values - share @ values, 2.0 * want[:, k], rtol=0, atol=1e-12
            )

        for i in range(len(features)):
            near(got.of(i), single[i])
            near(got.values + got.without(i), rest[i])
        for a, b in pairs:
            near(got.interaction(a, b), both[a, b] - single[a] - single[b])
            near(got.interaction(b, a), both[a, b] - single[a] - single[b])


# --- the public function --------------------------------------------------------------------------


def model(X: np.ndarray) -> np.ndarray:
    return X[:, 0] * X[:, 1] + np.sin(X[:, 2]) * X[:, 0] + np.where(X[:, 3] > 0, X[:, 2], 0.0)


def rows(seed: int, n: int = 40) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 1] = rng.integers(-1, 2, n)
    return X


def numbers(it: Any, names: Any = None) -> np.ndarray:
    """Return all numbers of all pairs, in the order of the names."""
    names = it.features if names is None else names
    found = []
    for a in range(len(names)):
        for b in range(a + 1, len(names)):
            p = it[names[a], names[b]]
            found.append([p.h2, p.h2_unnormalized, p.std_error, p.ale_strength])
            found[-1] += [p.depends_01, p.depends_10]
    by_name = {o.feature: o for o in it.overall}
    over = [[by_name[m].h2, by_name[m].h2_unnormalized, by_name[m].importance] for m in names]
    return np.concatenate([np.ravel(found), np.ravel(over), [it.h2]])


@law(seed=st.integers(0, 10**6))
def test_permuting_columns_permutes_results(seed: int) -> None:
    X = rows(seed)
    order = np.random.default_rng(seed).permutation(4)
    one = sd.interactions(model, X, max_rows=25, **FAST)
    inverse = np.argsort(order)
    other = sd.interactions(lambda Z: model(Z[:, inverse]), X[:, order], max_rows=25, **FAST)
    renamed = [f"x{int(np.flatnonzero(order == j)[0])}" for j in range(4)]
    np.testing.assert_allclose(numbers(other, renamed), numbers(one), rtol=1e-9, atol=1e-11)


@law(seed=st.integers(0, 10**6))
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    X = rows(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    ids = np.arange(len(X)) + 7
    one = sd.interactions(model, X, row_id=ids, max_rows=20, **FAST)
    other = sd.interactions(model, X[order], row_id=ids[order], max_rows=20, **FAST)
    np.testing.assert_allclose(numbers(other), numbers(one), rtol=1e-9, atol=1e-11)
    assert one.provenance["h2_rows"] == 20


@law(
    seed=st.integers(0, 10**6),
    c=st.sampled_from([-3.0, 1e-6, 1e7]),
    d=st.sampled_from([0.0, 100.0]),
)
def test_a_linear_change_of_the_quantity_scales_the_unnormalized_statistic(
    seed: int, c: float, d: float
) -> None:
    X = rows(seed)
    one = sd.interactions(model, X, ale=False, **FAST)
    other = sd.interactions(lambda Z: c * (model(Z) + d), X, ale=False, **FAST)
    assert other.h2 == pytest.approx(one.h2, rel=1e-9)
    for pair in one:
        a, b = one[pair], other[pair]
        assert b.h2 == pytest.approx(a.h2, rel=1e-8, abs=1e-9)
        assert b.h2_unnormalized == pytest.approx(abs(c) * a.h2_unnormalized, rel=1e-8)
        assert b.std_error == pytest.approx(abs(c) * a.std_error, rel=1e-7)


@law(seed=st.integers(0, 10**6))
def test_integer_weights_are_repetitions(seed: int) -> None:
    X = rows(seed)
    w = np.random.default_rng(seed).integers(0, 4, len(X))
    options: dict[str, Any] = {**FAST, "max_rows": None, "ale": False}
    one = sd.interactions(model, X, sample_weight=w, **options)
    other = sd.interactions(model, np.repeat(X, w, axis=0), **options)
    for pair in one:
        a, b = one[pair], other[pair]
        for name in ("h2", "h2_unnormalized", "std_error"):
            assert getattr(b, name) == pytest.approx(getattr(a, name), rel=1e-9, abs=1e-12)
    assert [o.h2 for o in other.by_feature] == pytest.approx([o.h2 for o in one.by_feature])


@law(seed=st.integers(0, 10**6))
def test_threads_and_memory_do_not_matter(seed: int) -> None:
    X = rows(seed)
    one = sd.interactions(model, X, **FAST)
    other = sd.interactions(model, X, n_jobs=3, memory="6KB", **FAST)
    np.testing.assert_allclose(numbers(other), numbers(one), rtol=1e-10, atol=1e-12)


@law(seed=st.integers(0, 10**6))
def test_saving_and_loading_are_identities(tmp_path_factory: Any, seed: int) -> None:
    path = Path(tmp_path_factory.mktemp("saved")) / "it.npz"
    it = sd.interactions(model, rows(seed), **FAST)
    it.save(path)
    loaded = sd.load(path)
    assert isinstance(loaded, sd.Interactions)
    assert str(loaded) == str(it)
    assert repr(loaded.pairs) == repr(it.pairs)
    assert repr(loaded.by_feature) == repr(it.by_feature)
    assert loaded.provenance == it.provenance
