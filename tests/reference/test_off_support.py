"""Swapped rows off support, compared with distances by brute force and with rows that are impossible by construction.

The largest share over all features is below 15 %, the limit of the check `extrapolation`, on clean data: see the table
of docs/explanation/heterogeneity.md.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri

import skedasis as sd
from skedasis.results.checks.extrapolation import NOTE_OFF_SUPPORT
from skedasis.stats.heterogeneity_score import mid_ranks
from skedasis.stats.off_support import Support, dependent_sets

NOISE = 0.03


def _rows(kind, n, extra, seed):
    """Return rows of which one function, named by the kind, is almost 0, and independent columns beside them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3 + extra))
    angle = rng.uniform(0, 2 * np.pi, n)
    noise = NOISE * rng.normal(size=n)
    if kind == "circle":
        X[:, 0], X[:, 1] = (1 + noise) * np.cos(angle), (1 + noise) * np.sin(angle)
    elif kind == "parabola":
        X[:, 0] = rng.uniform(-1, 1, n)
        X[:, 1] = X[:, 0] ** 2 + noise
    else:
        X[:, 2] = X[:, 0] * X[:, 1] + noise
    return X


LAWS = {
    "circle": (lambda X: np.hypot(X[:, 0], X[:, 1]) - 1, 2),
    "parabola": (lambda X: X[:, 1] - X[:, 0] ** 2, 2),
    "product": (lambda X: X[:, 2] - X[:, 0] * X[:, 1], 3),
}


@pytest.mark.parametrize("extra", [0, 5])
@pytest.mark.parametrize("kind", LAWS)
def test_rows_that_break_the_law_of_the_columns_are_seen(kind, extra):
    law, involved = LAWS[kind]
    X = _rows(kind, 4_000, extra, 1)
    seen = []

    def broken(Z):
        seen.append(np.abs(law(Z)) > 5 * NOISE)
        return seen[-1].astype(float)

    es = sd.explain(broken, X, method=sd.ALE(bins=3))
    for k, e in enumerate(es.values()):
        if k >= involved:
            assert e.score_off_support < 0.05
            continue
        assert e.score_off_support >= NOTE_OFF_SUPPORT
        (found,) = e.checks().of("extrapolation")
        assert set(found.numbers["others"]) < {"x0", "x1", "x2"}
        # c is a half where one of two swapped rows breaks the law and 1 where both do: between the share's half and it.
        impossible = e.heterogeneity_score**2
        assert 0.3 * impossible < e.score_off_support < 4 * impossible


@pytest.mark.parametrize("p", [3, 10])
def test_clean_data_are_below_the_limit(p):
    rng = np.random.default_rng(p)
    shared, own = rng.normal(size=(2_000, 1)), rng.normal(size=(2_000, p))
    equal = np.sqrt(0.8) * shared + np.sqrt(0.2) * own
    levels = own.copy()
    levels[:, ::2] = own[:, ::2] > 0.7
    for X in (own, equal, np.exp(equal), np.floor(own), levels):
        es = sd.explain(lambda X: X[:, 0] * X[:, 1], X, method=sd.PDP(grid=2))
        assert max(e.score_off_support for e in es.values()) < NOTE_OFF_SUPPORT
        assert not [f for f in es.checks().of("extrapolation") if "others" in f.numbers]


@pytest.mark.parametrize("seed", range(2))
def test_distances_are_those_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    n = 300
    x, a = rng.normal(size=n), rng.normal(size=n)
    a[:40] = np.nan
    level = rng.integers(0, 3, n)
    level[x > 1] = 0
    few = np.round(2 * x + rng.normal(size=n))
    columns = [mid_ranks(x), mid_ranks(a), level, mid_ranks(few)]
    partner = rng.permutation(n).reshape(-1, 2)
    other = np.empty(n, dtype=int)
    other[partner[:, 0]], other[partner[:, 1]] = partner[:, 1], partner[:, 0]
    values = [ndtri(mid_ranks(x).values), ndtri(mid_ranks(a).values), level.astype(float)]
    values[1][np.isnan(a)] = np.nan
    values.append(ndtri(mid_ranks(few).values))

    def squares(new, old, j):
        """Return squared differences, (n, n); levels and missing values are infinitely far from others."""
        u, v = new[:, None], old[None, :]
        same = (u == v) | (np.isnan(u) & np.isnan(v))
        apart = np.isnan(u) | np.isnan(v) | (j == 2)
        return np.where(same, 0.0, np.where(apart, np.inf, (u - v) ** 2))

    support = Support.of(columns)
    for others in [(1,), (2,), (3,), (1, 2), (2, 3)]:
        rest = sum(squares(values[j], values[j], j) for j in others)
        rest[np.diag_indices(n)] = np.inf
        nearest = np.sqrt(rest + squares(values[0], values[0], 0)).min(axis=1)
        limit = np.percentile(np.minimum(nearest, 1e3), 99)
        swapped = np.sqrt(rest + squares(values[0][other], values[0], 0)).min(axis=1)
        share = support.off_support((0,), [others], other, None).share
        assert share == np.mean(swapped > limit * (1 + 1e-9))
    # The order in which a group names its columns does not matter.
    both = [support.off_support(own, [(2,)], other, None).share for own in ((0, 3), (3, 0))]
    assert both[0] == both[1] > 0
    weights = rng.uniform(1, 2, n)
    heavy = support.off_support((0,), [(2,)], other, np.where(np.arange(n) == 0, 1e9, weights))
    assert heavy.share < 1e-3 or heavy.share > 1 - 1e-3  # the weight of one row


def test_levels_that_never_meet_are_off_support_and_steps_of_few_values_are_not():
    rng = np.random.default_rng(0)
    season = rng.integers(0, 4, 3_000)
    X = pd.DataFrame({"season": np.array(list("abcd"))[season], "warm": 1.0 * (season > 1)})
    e = sd.explain(lambda X: X["warm"].to_numpy() * (X["season"] == "a"), X, "season")
    # A season comes with one value of `warm`: of three other seasons two have the other value.
    assert e.score_off_support == pytest.approx(2 / 3, abs=0.05)
    few = rng.integers(0, 5, size=(3_000, 3)).astype(float)
    few = few[few.sum(axis=1) != 6]  # combinations that are missing are one step from others
    es = sd.explain(lambda X: X[:, 0] * X[:, 1], few, method=sd.PDP(grid=2))
    assert max(e.score_off_support for e in es.values()) == 0


def _shares(X, model=lambda X: np.zeros(len(X)), **options):
    es = sd.explain(model, X, method=sd.PDP(grid=2), **options)
    return [e.score_off_support for e in es.values()]


def _normal(n, r, seed=0):
    rng = np.random.default_rng(seed)
    return np.sqrt(r) * rng.normal(size=(n, 1)) + np.sqrt(1 - r) * rng.normal(size=(n, 2))


def test_repeated_rows_are_no_evidence_of_distances():
    X = _normal(400, 0.6)
    assert max(_shares(X)) < 0.05
    assert max(_shares(np.repeat(X, 2, axis=0))) < 0.05
    assert max(_shares(np.repeat(X[:100], 30, axis=0))) < 0.05


def test_only_rows_whose_value_changes_count():
    x = np.random.default_rng(1).normal(size=6_000)
    rare = np.c_[x > np.quantile(x, 0.97), x].astype(float)
    # A swap with a row of the other value is impossible, whatever the share of such rows.
    assert _shares(rare)[0] > 0.9


def test_a_level_that_determines_a_number_is_off_support_with_others():
    level = np.random.default_rng(2).integers(0, 8, 3_000)
    X = pd.DataFrame({"level": np.array(list("abcdefgh"))[level], "number": np.cos(level)})
    assert min(_shares(X)) == 1


def test_rows_without_a_value_of_the_feature_are_no_reference():
    X = _normal(10_000, 0.7)
    X[np.random.default_rng(3).uniform(size=10_000) < 0.9, 0] = np.nan
    assert _shares(X)[0] < NOTE_OFF_SUPPORT


@pytest.mark.parametrize("periods", [2, 6])
def test_an_oscillation_is_seen_from_its_argument_too(periods):
    x = np.random.default_rng(4).uniform(0, 2 * np.pi, 4_000)
    assert min(_shares(np.c_[x, np.sin(periods * x + 1)])) > NOTE_OFF_SUPPORT


def test_weights_count_once():
    # Impossible swaps in rows of weight 1; the others have weight 20.
    rng = np.random.default_rng(5)
    heavy = rng.uniform(size=6_000) < 0.1
    x = rng.normal(size=6_000)
    X = np.c_[x, heavy, np.where(heavy, rng.normal(size=6_000), x**2)]
    weight = np.where(heavy, 20.0, 1.0)
    (want, *_), (got, *_) = (
        _shares(np.repeat(X, weight.astype(int), axis=0), heterogeneity_rows=None),
        _shares(X, sample_weight=weight, heterogeneity_rows=None),
    )
    assert got == pytest.approx(want, abs=0.06)


def test_a_regression_finds_the_columns_of_a_product():
    X = _rows("product", 2_000, 10, 3)
    half = np.arange(2_000) % 2 == 0
    columns = [mid_ranks(x) for x in X.T]
    sets = dependent_sets(columns, [(0,), (1,), (2,), (5,), (0, 1)], half)
    assert [s[0] for s in sets[:3]] == [(1, 2), (0, 2), (0, 1)]
    assert sets[3] == []
    assert sets[4][0] == (2,)  # of a group


@pytest.mark.parametrize(("n", "p"), [(100, 3), (200, 10), (300, 60)])
def test_independent_columns_have_no_sets(n, p):
    rng = np.random.default_rng(p)
    found = list[list[tuple[int, ...]] | None]()
    for _ in range(300 // p):
        columns = [mid_ranks(x) for x in rng.normal(size=(p, n))]
        found += dependent_sets(columns, [(j,) for j in range(p)], rng.random(n) < 0.5)
    # One in a hundred features has some by chance.
    assert sum(bool(sets) for sets in found) < 0.03 * len(found)


@pytest.mark.parametrize("n", [100, 500])
def test_sets_do_not_depend_on_which_features_are_asked_for(n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 6))
    X[:, 1] += X[:, 0]
    X[:, 3] = X[:, 2] ** 2 + 0.3 * X[:, 3]
    half = rng.random(n) < 0.5
    columns = [mid_ranks(x) for x in X.T]
    whole = dependent_sets(columns, [(j,) for j in range(6)], half)
    assert [s[0] for s in whole[:4] if s] == [(1,), (0,), (3,), (2,)]
    for j in range(6):
        assert dependent_sets(columns, [(j,)], half) == [whole[j]]


def test_an_additive_model_and_few_rows_say_nothing():
    X = _rows("parabola", 1_000, 0, 0)
    e = sd.explain(lambda X: X[:, 0] + X[:, 1], X, 0)
    assert e.score_off_support > NOTE_OFF_SUPPORT
    assert e.heterogeneity_score == 0
    assert not e.checks().of("extrapolation")
    assert np.isnan(sd.explain(lambda X: X[:, 0], X[:40], 0).score_off_support)
    assert np.isnan(sd.explain(lambda X: X[:, 0], X, 0, heterogeneity_rows=0).score_off_support)
