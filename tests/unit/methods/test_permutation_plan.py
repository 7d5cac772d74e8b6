"""Conditional PFI: subgroups of rows with similar other features, and donor rows from the same subgroup."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.data.dataset import as_dataset
from skedasis.data.features import Feature
from skedasis.methods.permutation_plan import subgroups


@pytest.fixture
def rng():
    """Return a random generator that does not depend on other tests."""
    return np.random.default_rng(0)


def forgets(y, values):
    """Return the prediction. Conditional PFI requires a quantity of the label, hence the signature of a loss."""
    return values


def donors(X, j, n_repeats=6, model=lambda X: X[:, 0], random_state=0, **settings):
    """Return the model response of each row in each repeat, shape (n, repeats), and the number of subgroups."""
    method = sd.PFI(n_repeats=n_repeats, conditional=True, local="all", **settings)
    y = np.zeros(len(X))
    pf = sd.explain(
        sd.loss(model, forgets), X, j, y=y, method=method, random_state=random_state, progress=False
    )
    return pf.local.after[0], next(iter(pf.provenance["subgroups"].values()))


def found(X, name, rows=30, weights=None, schema=None, groups=None, keys=None):
    """Return the subgroup of each row."""
    source = as_dataset(X, None, weights, schema, keys)
    if groups is None:
        feature = next(f for f in source.features if f.name == name)
    else:
        places = tuple(f.position for f in source.features if f.name in groups)
        feature = Feature(name, "nominal", position=places[0], key=name, members=places)
    return subgroups(source, feature, rows, 0)


def numbered(n, levels=5, seed=0):
    """Return the row number, a category that adjacent rows share, and noise."""
    c = np.arange(n) * levels // n
    noise = np.random.default_rng(seed).normal(size=n)
    return np.stack([np.arange(n, dtype=float), c.astype(float), noise], axis=1)


# ---------------------------------------------------------------------------------------- donors


def test_donors_stay_inside_and_lend_once():
    X = numbered(400)
    lent, groups = donors(X, 0)
    assert groups == 5
    np.testing.assert_array_equal(X[lent.astype(int), 1], np.tile(X[:, 1:2], 6))
    np.testing.assert_array_equal(np.sort(lent, axis=0), np.tile(X[:, :1], 6))
    assert (lent != X[:, :1]).mean() > 0.9
    assert len(np.unique(lent, axis=1).T) == 6


def test_recorded_inside_the_model_they_do_too():
    """The model receives the donor row's value with the recipient's other features."""
    X, seen = numbered(300), []

    def model(X):
        seen.append(X.copy())
        return X[:, 0]

    donors(X, 0, model=model)
    rows = np.concatenate([part for part in seen if len(part) > 300])
    assert len(rows) == 6 * 300
    np.testing.assert_array_equal(X[rows[:, 0].astype(int), 1], rows[:, 1])


@pytest.mark.parametrize("weighted", [False, True])
def test_donors_are_near_in_what_the_feature_depends_on(weighted, rng):
    n = 2000
    c = np.sort(rng.normal(size=n))
    X = np.stack([c + 0.05 * rng.normal(size=n), c, rng.normal(size=n)], axis=1)
    place = np.argsort(np.argsort(X[:, 0]))
    y, w = np.zeros(n), rng.uniform(0.2, 3, n) if weighted else None
    q = sd.loss(lambda X: X[:, 0], forgets)
    method = sd.PFI(n_repeats=5, conditional=True, local="all")
    pf = sd.explain(q, X, 0, y=y, sample_weight=w, method=method, progress=False)
    donor = np.argsort(X[:, 0])[np.searchsorted(np.sort(X[:, 0]), pf.local.after[0])]
    np.testing.assert_array_equal(X[donor, 0], pf.local.after[0])
    apart = np.abs(X[donor, 1] - X[:, 1:2])
    assert np.mean(apart) < 0.1 * np.mean(np.abs(X[:, 1] - X[rng.permutation(n), 1]))
    assert np.abs(place[donor] - place[:, None]).mean() < 0.1 * n


def test_all_pairs_of_a_subgroup_are_equally_likely():
    X = numbered(12, levels=3)
    counts = np.zeros((12, 12))
    for r in range(6):
        lent = donors(X[:, :2], 0, n_repeats=200, subgroup_rows=4, random_state=r)[0]
        for column in lent.astype(int).T:
            counts[np.arange(12), column] += 1
    inside = X[:, 1:2] == X[:, 1]
    assert (counts[~inside] == 0).all()
    assert (np.diag(counts) == 0).all()
    # Each of the three other rows is the donor 400 of 1,200 times, with a standard deviation of 16.
    others = inside & ~np.eye(12, dtype=bool)
    assert np.abs(counts[others] - 400).max() < 4 * 16


def test_weighted_rows_lend_in_proportion_within_a_subgroup(rng):
    X = numbered(12, levels=3)[:, :2]
    w = rng.uniform(0.5, 4, 12)
    method = sd.PFI(n_repeats=3000, conditional=True, local="all", subgroup_rows=4)
    pf = sd.explain(
        sd.loss(lambda X: X[:, 0], forgets),
        X,
        0,
        y=w,
        sample_weight=w,
        method=method,
        progress=False,
    )
    lent = pf.local.after[0].astype(int)
    for i in range(12):
        mates = np.flatnonzero(X[:, 1] == X[i, 1])
        share = w[mates] / w[mates].sum()
        counts = np.array([(lent[i] == j).sum() for j in mates])
        assert counts.sum() == 3000
        np.testing.assert_allclose(counts / 3000, share, atol=5 * np.sqrt(0.25 / 3000))


# ------------------------------------------------------------------------------------------- values


def importances(X, y, model, **settings):
    q = sd.loss(model, "squared_error")
    return sd.explain(q, X, y=y, method=sd.PFI(**settings), progress=False)


def test_a_copy_has_importance_but_none_given_the_other(rng):
    n = 1500
    x = rng.normal(size=n)
    X = np.stack([x, x, rng.normal(size=n)], axis=1)
    y = x + 0.5 * X[:, 2] + rng.normal(size=n)

    def model(X):
        return 0.5 * X[:, 0] + 0.5 * X[:, 1] + 0.5 * X[:, 2]

    alone, given = importances(X, y, model), importances(X, y, model, conditional=True)
    np.testing.assert_allclose(alone.mean, 0.5, rtol=0.25)
    assert (given.mean[:2] < 0.03 * alone.mean[:2]).all()
    assert given.mean[2] == pytest.approx(alone.mean[2], rel=0.1)


@pytest.mark.parametrize("d", [2, 6])
@pytest.mark.parametrize("n", [300, 2000])
def test_of_independent_features_it_is_the_same(n, d, rng):
    """A tree also finds splits in noise. Subgroups from these must not restrict the values of the feature itself."""
    X = rng.normal(size=(n, d))
    y = X.sum(axis=1) + rng.normal(size=n)

    def model(X):
        return X.sum(axis=1)

    alone, given = importances(X, y, model), importances(X, y, model, conditional=True)
    error = np.sqrt(alone.std**2 + given.std**2) / np.sqrt(10)
    assert (np.abs(given.mean - alone.mean) < 4 * error + 0.02 * alone.mean).all()


def test_it_is_the_variance_within_what_the_others_tell(rng):
    """x0 = 2 c + e: within a level of c the error is e' - e, whose mean square is twice the variance of e."""
    n = 3000
    c = rng.integers(0, 6, n).astype(float)
    X = np.stack([2 * c + 0.5 * rng.normal(size=n), c], axis=1)
    given = importances(X, X[:, 0], lambda X: X[:, 0], conditional=True, n_repeats=20)
    alone = importances(X, X[:, 0], lambda X: X[:, 0], n_repeats=20)
    assert given.mean[0] == pytest.approx(2 * 0.25, rel=0.05)
    assert alone.mean[0] == pytest.approx(2 * (4 * 35 / 12 + 0.25), rel=0.05)


def test_what_goes_along_in_a_bend_is_found(rng):
    n = 2000
    b = rng.normal(size=n)
    X = np.stack([b**2, b], axis=1)
    given = importances(X, X[:, 0], lambda X: X[:, 0], conditional=True)
    assert given.mean[0] < 0.1 * 2 * X[:, 0].var()  # the rest is from subgroups in the tails


def test_what_two_features_tell_only_together_is_found(rng):
    a, b = rng.choice([-1.0, 1.0], 3000), rng.choice([-1.0, 1.0], 3000)
    X = np.stack([a * b, a, b], axis=1)
    given = importances(X, X[:, 0], lambda X: X[:, 0], conditional=True)
    assert given.mean[0] < 0.2  # 2 for marginal PFI, 0 given both others


# --------------------------------------------------------------------------------- the subgroups


def test_subgroups_are_as_large_as_wished(rng):
    n = 1000
    c = rng.normal(size=n)
    X = np.stack([c + 0.01 * rng.normal(size=n), c], axis=1)
    for rows in (2, 30, 200, 5000):
        group = found(X, "x0", rows)
        assert group.shape == (n,)
        counts = np.bincount(group)
        assert counts.min() >= min(rows, n)
        assert (counts > 0).all()
        if rows == 30:
            assert len(counts) > 10
        if rows == 5000:
            assert len(counts) == 1


def test_without_other_features_there_is_one_subgroup(rng):
    X = rng.normal(size=(50, 1))
    np.testing.assert_array_equal(found(X, "x0"), 0)
    y = rng.normal(size=50)
    given = importances(X, y, lambda X: X[:, 0], conditional=True, n_repeats=500)
    alone = importances(X, y, lambda X: X[:, 0], exact=True)
    assert abs(given.mean[0] - alone.mean[0]) < 4 * given.std[0] / np.sqrt(500)


@pytest.mark.parametrize("kind", ["text", "category", "ordinal", "bool", "missing text"])
def test_categories_tell_too(kind, rng):
    n = 600
    k = rng.integers(0, 4, n)
    c = np.array(["u", "v", "w", "x"], dtype=object)[k]
    if kind == "missing text":
        c[k == 2] = None
    column = {
        "category": pd.Categorical(c),
        "ordinal": pd.Categorical(c, ["x", "w", "v", "u"], ordered=True),
        "bool": k > 1,
    }.get(kind, c)
    X = pd.DataFrame({"x": 5.0 * k + rng.normal(size=n), "c": column})
    group = found(X, "x")
    levels = k > 1 if kind == "bool" else k
    assert len(np.unique(group)) == len(np.unique(levels))
    for g in np.unique(group):
        assert len(np.unique(levels[group == g])) == 1


def test_gaps_are_a_place_of_their_own(rng):
    n = 800
    c = rng.normal(size=n)
    gap = rng.random(n) < 0.3
    X = np.stack([np.where(gap, 20.0, 0.0) + rng.normal(size=n), np.where(gap, np.nan, c)], axis=1)
    group = found(X, "x0")
    assert len(np.unique(group)) == 2
    # Except for single rows with a value near the threshold.
    assert ((group == group[gap.argmax()]) == gap).mean() > 0.99
    X[:, 1] = np.nan
    np.testing.assert_array_equal(found(X, "x0"), 0)


def test_a_group_is_told_by_the_columns_outside(rng):
    n = 900
    k = rng.integers(0, 3, n)
    X = np.stack([10 * k + rng.normal(size=n), -1e6 * k + rng.normal(size=n), 1.0 * k], axis=1)
    group = found(X, "two", groups=("x0", "x1"))
    assert len(np.unique(group)) == 3
    q = sd.loss(lambda X: X[:, 0] + X[:, 1], "squared_error")
    method = sd.PFI(groups={"two": [0, 1]}, conditional=True, local="all", n_repeats=4)
    pf = sd.explain(q, X, "two", y=X[:, 0] + X[:, 1], method=method)
    assert pf.provenance["subgroups"] == {"two": 3}
    assert pf.mean[0] == pytest.approx(2 * 2, rel=0.2)


def test_equal_weights_are_no_weights_and_weights_are_heeded(rng):
    X = numbered(400)
    np.testing.assert_array_equal(found(X, "x0", weights=np.full(400, 3.0)), found(X, "x0"))
    c = rng.integers(0, 2, 600)
    half = np.arange(600) < 300
    X = np.stack([np.where(half, 5.0 * c, 5.0 * (1 - c)) + rng.normal(size=600), c], axis=1)
    assert len(np.unique(found(X, "x0"))) == 1  # the two halves cancel
    w = np.where(half, 1.0, 1e-3)
    assert len(np.unique(found(X, "x0", weights=w))) == 2


def test_subgroups_do_not_depend_on_the_order_of_rows():
    """Two equally good predictors: rounding, which depends on the order of summation, must not decide between them."""
    others = np.array(list(itertools.product(range(3), range(3))) * 9) * 0.1
    X, keys = np.column_stack([others.sum(axis=1) / 3, others]), np.arange(81)
    want = found(X, "x0", 20, keys=keys)
    assert len(np.unique(want)) == 3
    for seed in range(40):
        order = np.random.default_rng(seed).permutation(81)
        got = found(X[order], "x0", 20, keys=keys[order])
        np.testing.assert_array_equal(got, want[order])


@pytest.mark.parametrize(
    ("scale", "offset"),
    [(1e9, 0.0), (1e-6, -1.0), (1e-12, 0.0), (1.0, 1.7e9), (1e300, 0.0)],
)
def test_units_and_offsets_do_not_matter(scale, offset, rng):
    c = rng.integers(0, 4, 600) * 10.0
    X = np.stack([c + rng.normal(size=600), c], axis=1)
    moved = X * scale + offset
    assert len(np.unique(found(X, "x0"))) == 4
    np.testing.assert_array_equal(found(moved, "x0"), found(X, "x0"))


def test_what_is_asked_for_may_be_a_category(rng):
    n = 900
    k = rng.integers(0, 3, n)
    X = pd.DataFrame({"c": np.array(["u", "v", "w"])[k], "x": 9.0 * k + rng.normal(size=n)})
    group = found(X, "c")
    for g in np.unique(group):
        assert len(np.unique(k[group == g])) == 1
