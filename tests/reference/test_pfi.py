"""PFI against its definition in plain loops, closed forms, scikit-learn, and the paper's propositions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression

import skedasis as sd
from skedasis.methods.permutation_plan import draw_donors
from tests.helpers import refused
from tests.reference.pfi_reference import (
    all_pairs,
    as_model,
    by_permutation,
    entropy,
    is_missing,
    logistic,
    rows_of,
)

GROUPS = {"place": ["a", "c"]}


@pytest.fixture
def rng():
    """Return a random generator that is independent of the order of tests."""
    return np.random.default_rng(20)


def important(quantity, X, features=None, y=None, sample_weight=None, random_state=0, **settings):
    """Return an importance without local importances, unless they are requested."""
    settings = {"local": 0, **settings}
    method = sd.PFI(**settings)
    return sd.explain(
        quantity,
        X,
        features,
        method=method,
        y=y,
        sample_weight=sample_weight,
        random_state=random_state,
        progress=False,
    )


def lenders_of(n, repeats, seed=0, weights=None, **settings):
    """Return the donor of each row and repeat, (n, repeats), from a model that returns the row number stored in a
    feature.
    """
    X = np.stack([np.arange(n, dtype=float), np.zeros(n)], axis=1)
    pf = important(
        lambda X: X[:, 0],
        X,
        0,
        sample_weight=weights,
        random_state=seed,
        n_repeats=repeats,
        local="all",
        **settings,
    )
    return pf.local.after[0].astype(int)


# ------------------------------------------------------------------------------- from the definition


def mixed(n=11):
    """Return rows with numbers, text and missing values."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=n), rng.integers(0, 4, n)
    a[[2, 5]] = np.nan
    c = rng.choice(["u", "v", "w"], n).astype(object)
    c[4] = None
    d = rng.choice(["p", "q"], n)
    return {"a": a, "b": b, "c": list(c), "d": list(d)}


def pandas_frame():
    columns = mixed()
    X = pd.DataFrame(columns, index=pd.Index(range(50, 61)))
    X["d"] = pd.Categorical(X["d"], ["q", "p"], ordered=True)
    return X.assign(c=X["c"].astype("category"))


CONTAINERS = {
    "pandas": pandas_frame,
    "polars": lambda: pl.DataFrame(mixed()).with_columns(pl.col("d").cast(pl.Categorical)),
    "pyarrow": lambda: pa.table(mixed()),
}


def rule(row, label=None):
    """Return a number that depends on all values of a row, on missing ones too, and on its label."""
    a = -2.0 if is_missing(row["a"]) else row["a"]
    level = 0.3 if is_missing(row["c"]) else {"u": 1.0, "v": -2.0, "w": 4.0}[row["c"]]
    value = a * level + math.sin(row["b"] + a) + (level + row["b"]) * (row["d"] == "p")
    return value if label is None else (value - label) ** 2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", CONTAINERS)
def test_exact_is_the_mean_over_all_ordered_pairs(container, weighted):
    X = CONTAINERS[container]()
    rows = rows_of(X)
    w = np.random.default_rng(1).uniform(0.2, 3, len(rows)) if weighted else None
    pf = important(as_model(rule), X, sample_weight=w, exact=True, groups=GROUPS, local="all")
    assert pf.features == ("place", "b", "d")
    for name, columns in {"place": ["a", "c"], "b": ["b"], "d": ["d"]}.items():
        want = all_pairs(rule, rows, columns, weights=w)
        assert abs(want) > 1e-3
        assert pf[name].mean == pytest.approx(want, rel=0, abs=1e-12)
        ones = np.ones(len(rows)) if w is None else w
        assert pf.local[name] @ ones / ones.sum() == pytest.approx(want, rel=0, abs=1e-12)
    assert pf.baseline == pytest.approx(np.average([rule(r) for r in rows], weights=w), abs=1e-12)


@pytest.mark.parametrize("container", ["pandas", "array"])
def test_exact_of_a_loss_leaves_each_label_with_its_row(container, rng):
    X = CONTAINERS[container]() if container != "array" else rng.normal(size=(11, 2))
    rows, y = rows_of(X), np.random.default_rng(5).normal(size=11)

    def of(row, label=None):
        return rule({**row, "a": row["x0"], "b": row["x1"], "c": "u", "d": "p"}, label)

    one = rule if container != "array" else of
    pf = important(sd.loss(as_model(one), "squared_error"), X, y=y, exact=True)
    for name in pf.features:
        want = all_pairs(one, rows, [name], labels=y)
        assert pf[name].mean == pytest.approx(want, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_repeat_is_the_mean_over_the_pairs_that_it_drew(container):
    """Text, categories, missing values and groups are taken together from one donor row."""
    X, repeats = CONTAINERS[container](), 6
    rows = rows_of(X)
    drawn = lenders_of(len(rows), repeats, seed=4)
    pf = important(as_model(rule), X, random_state=4, n_repeats=repeats, groups=GROUPS)
    for name, columns in {"place": ["a", "c"], "b": ["b"], "d": ["d"]}.items():
        # Pairs of a row with itself are 1 of n for each row, and leave the prediction unchanged.
        apart = 1 - 1 / len(rows)
        want = [apart * by_permutation(rule, rows, columns, drawn[:, r]) for r in range(repeats)]
        place = pf.features.index(name)
        np.testing.assert_allclose(pf.values[place], want, rtol=0, atol=1e-12)


# -------------------------------------------------------------------------------------- the donors


@pytest.mark.parametrize("n", [1, 2, 3, 7, 127, 128, 129, 300])
def test_every_row_lends_once_in_each_repeat(n):
    for repeats in (1, 10, 23):
        drawn = np.sort(lenders_of(n, repeats), axis=0)
        np.testing.assert_array_equal(drawn, np.tile(np.arange(n)[:, None], repeats))


def test_the_model_gets_the_rows_that_the_result_tells_of():
    """Recorded inside the model: the recipient's own value and the donor's."""
    n, repeats, seen = 140, 12, []

    def model(X):
        seen.append(X.copy())
        return X[:, 0]

    X = np.stack([np.arange(n, dtype=float), np.arange(n) + 0.5], axis=1)
    pf = important(model, X, 0, n_repeats=repeats, local="all")
    rows = np.concatenate([s for s in seen if len(s) > 64 and not np.array_equal(s, X)])
    assert len(rows) == n * repeats
    drawn = rows[:, 0].reshape(repeats, n).T
    np.testing.assert_array_equal(rows[:, 1], np.tile(X[:, 1], repeats))
    np.testing.assert_array_equal(pf.local.after[0], drawn)


def test_all_features_share_the_draws():
    n = 60
    X = np.tile(np.arange(n, dtype=float)[:, None], 2)
    pf = important(lambda X: X[:, 0] + 1000 * X[:, 1], X, n_repeats=13, local="all")
    first, second = pf.local.after[0] - 1000 * X[:, 1:], (pf.local.after[1] - X[:, :1]) / 1000
    np.testing.assert_array_equal(first, second)


def test_repeats_differ_and_so_do_seeds():
    drawn = np.concatenate([lenders_of(200, 30, seed=s).T for s in range(4)])
    assert len(np.unique(drawn, axis=0)) == 120
    assert (drawn != np.arange(200)).all()


def unlikely(counts, shares):
    """Return the least p-value of rows of counts, given expected fractions; fractions of 0 require counts of 0."""
    total, there = counts.sum(axis=1, keepdims=True), shares > 0
    assert (counts[~there] == 0).all()
    expected = np.where(there, total * shares, 1.0)
    statistic = np.where(there, (counts - expected) ** 2 / expected, 0.0).sum(axis=1)
    return stats.chi2.sf(statistic, np.maximum(there.sum(axis=1) - 1, 1)).min()


def donor_counts(n, weights=None, seeds=800):
    """Return how often each row is the donor of each recipient, over seeds, from the plan of an explanation."""
    counts = np.zeros((n, n))
    for seed in range(seeds):
        drawn = draw_donors(n, None, 1, seed, weights).donors(np.arange(n))[0]
        if seed < 5:  # these are the draws that an explanation uses
            np.testing.assert_array_equal(drawn, lenders_of(n, 1, seed, weights)[:, 0])
        counts[np.arange(n), drawn] += 1
    return counts


@pytest.mark.parametrize("n", [3, 8])
def test_all_pairs_of_different_rows_are_equally_likely(n):
    """Self-pairs, which change nothing, are not drawn but accounted for: see the test of many repeats below."""
    counts = donor_counts(n)
    share = (1 - np.eye(n)) / (n - 1)
    assert unlikely(counts, share) > 1e-4 / n
    assert unlikely(counts.T, share) > 1e-4 / n


@pytest.mark.parametrize("n", [127, 129, 131])
def test_all_pairs_are_equally_likely_where_blocks_leave_rows_over(n):
    drawn = lenders_of(n, 5000, seed=2)
    counts = np.array([np.bincount(row, minlength=n) for row in drawn])
    share = (1 - np.eye(n)) / (n - 1)
    some = [0, 1, n // 2, n - 2, n - 1]
    assert unlikely(counts[some], share[some]) > 1e-4 / 5


@pytest.mark.parametrize(
    "w",
    [
        np.array([1.0, 2.0, 3.0, 0.5, 4.0]),
        np.array([1.0, 2.0, 2.5, 0.5, 2.0, 0.2, 2.0, 1.5, 1.0]),
        np.array([100.0, 1.0, 2.0]),
    ],
    ids=["some", "light", "heavy"],
)
def test_weighted_rows_lend_in_proportion_to_their_weights(w):
    """For every recipient, whether self-pairs are possible or not."""
    n = len(w)
    counts = donor_counts(n, w)
    share = np.tile(w, (n, 1))
    if (np.diag(counts) == 0).all():
        np.fill_diagonal(share, 0.0)
    assert unlikely(counts, share / share.sum(axis=1, keepdims=True)) > 1e-4 / n


# --------------------------------------------------------------------- many repeats, and all of them


def bent(row, label=None):
    return row["x0"] * row["x1"] + (row["x0"] - row["x1"]) ** 2


def fast(X):
    return X[:, 0] * X[:, 1] + (X[:, 0] - X[:, 1]) ** 2


def dependent(n, seed):
    rng = np.random.default_rng([seed, n])
    x = rng.normal(size=n)
    return np.stack([x, 0.6 * x + 0.8 * rng.normal(size=n)], axis=1)


@pytest.mark.parametrize(
    ("n", "kind"), [(3, "none"), (20, "fractional"), (128, "none"), (129, "whole")]
)
def test_many_repeats_come_to_all_pairs(n, kind):
    repeats = 3000 if n < 30 else 500
    told = False
    for seed in range(3):
        X, rng = dependent(n, seed), np.random.default_rng(seed)
        w = {
            "none": None,
            "fractional": rng.uniform(0.2, 3, n),
            "whole": rng.integers(1, 5, n).astype(float),
        }[kind]
        exact = important(fast, X, sample_weight=w, exact=True).mean
        if n <= 20:
            want = [all_pairs(bent, rows_of(X), [f], weights=w) for f in ("x0", "x1")]
            np.testing.assert_allclose(exact, want, rtol=1e-12, atol=1e-12)
        pf = important(fast, X, sample_weight=w, random_state=seed, n_repeats=repeats)
        error = pf.std / np.sqrt(repeats)
        assert (np.abs(pf.mean - exact) <= 4 * error + 1e-12).all()
        told |= bool((4 * error < np.abs(exact) / (n - 1)).any())
    # In small tables the error is small enough to detect omitted self-pairs, which would give n / (n - 1) times as
    # much.
    assert told or n > 20


# ------------------------------------------------------------------------------------ scikit-learn


def far(ours, theirs, repeats):
    """Return the difference of two means over repeats, in standard errors."""
    error = np.sqrt(ours.std**2 / ours.values.shape[1] + theirs.importances_std**2 / (repeats - 1))
    return np.abs(ours.mean - theirs.importances_mean) / error


def regression(n=250):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.3], [0, 0, 1.0]])
    y = X @ np.array([1.0, -2.0, 0.2]) + rng.normal(size=n)
    return X, y, LinearRegression().fit(X, y), rng.uniform(0.2, 3, n)


def classification(n=250):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] + rng.logistic(size=n) > 0, "yes", "no")
    return X, y, LogisticRegression().fit(X, y), rng.uniform(0.2, 3, n)


CASES = {
    "squared error": (
        regression,
        lambda m: sd.loss(m, "squared_error"),
        {},
        "neg_mean_squared_error",
    ),
    "absolute error": (
        regression,
        lambda m: sd.loss(m, "absolute_error"),
        {},
        "neg_mean_absolute_error",
    ),
    "r2": (regression, sd.prediction, {"metric": "r2"}, "r2"),
    "median": (
        regression,
        sd.prediction,
        {"metric": "median_absolute_error"},
        "neg_median_absolute_error",
    ),
    "log loss": (classification, sd.nll, {}, "neg_log_loss"),
    "accuracy": (classification, lambda m: sd.loss(m, "zero_one"), {}, "accuracy"),
    "roc_auc": (classification, sd.probability, {"metric": "roc_auc"}, "roc_auc"),
}


@pytest.mark.parametrize("case", CASES)
def test_scikit_learn_agrees(case):
    data, quantity, settings, scoring = CASES[case]
    X, y, model, _ = data()
    repeats = 12 if "metric" in settings else 40  # metrics are computed without each of ten groups
    theirs = permutation_importance(model, X, y, scoring=scoring, n_repeats=repeats, random_state=0)
    ours = important(quantity(model), X, y=y, n_repeats=repeats, **settings)
    assert (far(ours, theirs, repeats) < 4).all()
    assert theirs.importances_mean.max() > 15 * theirs.importances_std.max() / np.sqrt(repeats)


# ---------------------------------------------------------------------------------- likelihoods


@pytest.mark.parametrize("sigma", [0.5, 3.0])
@pytest.mark.parametrize("way", ["tuple", "scipy"])
def test_of_a_gaussian_of_fixed_width_likelihood_pfi_is_that_of_the_squared_error(sigma, way, rng):
    """entropy_importance sec. 3.1: equal up to the factor 1 / (2 sigma²)."""
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + rng.normal(size=80)

    def mean(X):
        return np.sin(X[:, 0]) + X[:, 1]

    def tuple_(X):
        return mean(X), np.full(len(X), sigma)

    model = tuple_ if way == "tuple" else lambda X: stats.norm(mean(X), sigma)
    for settings in ({"n_repeats": 12}, {"exact": True}):
        likelihood = important(sd.nll(model), X, y=y, **settings)
        loss = important(sd.loss(mean, "squared_error"), X, y=y, **settings)
        scale = np.abs(loss.values).max()
        np.testing.assert_allclose(
            likelihood.values * 2 * sigma**2, loss.values, rtol=1e-12, atol=1e-12 * scale
        )
        np.testing.assert_allclose(
            likelihood.std_error * 2 * sigma**2, loss.std_error, rtol=1e-9, atol=1e-12 * scale
        )


def test_likelihood_and_entropy_of_a_classifier_from_the_definition():
    X, y, model, w = classification(14)
    a, (b,) = model.coef_[0], model.intercept_

    def p(row):
        return logistic(b + sum(c * row[f"x{j}"] for j, c in enumerate(a)))

    def surprise(row, label):
        return -math.log(p(row) if label == "yes" else 1 - p(row))

    def doubt(row, label=None):
        return entropy([p(row), 1 - p(row)])

    rows = rows_of(X)
    likelihood = important(sd.nll(model), X, y=y, sample_weight=w, exact=True)
    entropic = important(sd.entropy(model), X, sample_weight=w, exact=True)
    for name in ("x0", "x1", "x2"):
        want = all_pairs(surprise, rows, [name], labels=y, weights=w)
        assert likelihood[name].mean == pytest.approx(want, rel=0, abs=1e-12)
        want = all_pairs(doubt, rows, [name], weights=w)
        assert entropic[name].mean == pytest.approx(want, rel=0, abs=1e-12)


# ----------------------------------------------------------------------------------- propositions


def grid(k=5, m=6):
    """Return all pairs of k and m values: two features that are exactly independent."""
    rng = np.random.default_rng(0)
    return np.array(list(itertools.product(rng.normal(size=k), rng.normal(size=m))))


def shares(X):
    """Return probabilities of three classes that depend on an interaction of both features."""
    z = np.stack([X[:, 0] * X[:, 1], np.sin(3 * X[:, 0] + X[:, 1]), X[:, 1] ** 2], axis=1)
    e = np.exp(z)
    return e / e.sum(axis=1, keepdims=True)


def gaussian(X):
    return X[:, 0] * X[:, 1], np.exp(np.sin(X[:, 0] - 2 * X[:, 1]))


LABEL_FREE = {
    "prediction": sd.prediction(lambda X: np.sin(4 * X[:, 0]) * X[:, 1] + X[:, 0] ** 2),
    "entropy of classes": sd.entropy(shares),
    "entropy of a Gaussian": sd.entropy(gaussian),
    "variance": sd.predictive_variance(gaussian),
    "quantile": sd.predictive_quantile(gaussian, 0.9),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("quantity", LABEL_FREE)
def test_proposition_1_an_independent_feature_has_none(quantity, weighted, rng):
    X = grid()
    w = np.outer(rng.uniform(0.5, 2, 5), rng.uniform(0.5, 2, 6)).ravel() if weighted else None
    q = LABEL_FREE[quantity]
    size = np.abs(q.at(X)).max()
    pf = important(q, X, sample_weight=w, exact=True)
    assert np.abs(pf.mean).max() <= 1e-12 * size
    # The features change single predictions, and their importance is nonzero where they depend on each other.
    assert np.ptp(q.at(X)) > 0.1 * size
    kept = X[:, 0] * X[:, 1] > 0
    assert np.abs(important(q, X[kept], exact=True).mean).max() > 1e-3 * size


FORMS = {
    "draws": {"n_repeats": 12},
    "exact": {"exact": True},
    "metric": {"n_repeats": 4, "metric": "r2"},
    "sample": {"n_repeats": 4, "max_samples": 0.5},
}


@pytest.mark.parametrize(
    ("quantity", "form", "weighted"),
    [
        ("prediction", "draws", False),
        ("entropy of classes", "exact", True),
        ("entropy of a Gaussian", "sample", False),
        ("variance", "draws", True),
        ("quantile", "metric", False),
        ("nll", "conditional", True),
        ("loss", "exact", False),
        ("loss", "conditional", False),
    ],
)
def test_proposition_2_an_unused_feature_has_exactly_none(quantity, form, weighted):
    labelled = {"nll": sd.nll(gaussian), "loss": sd.loss(lambda X: X[:, 0] * X[:, 1])}
    q = {**LABEL_FREE, **labelled}[quantity]
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 3))
    X[:, 2] = X[:, 0] + 0.1 * X[:, 2]
    w = rng.uniform(0.5, 2, 120) if weighted else None
    settings = FORMS.get(form, {"n_repeats": 4, "conditional": True, "subgroup_rows": 10})
    y = rng.normal(size=120) if quantity in labelled or form == "metric" else None
    pf = important(q, X, y=y, sample_weight=w, **settings)
    np.testing.assert_array_equal(pf.values[2], 0.0)
    assert np.abs(pf.values[:2]).max() > 0
    if np.isfinite(pf.std_error).all():
        assert pf.std_error[2] == 0


def test_proposition_3_conditional_importance_is_refused_where_it_says_nothing(rng):
    for quantity in LABEL_FREE.values():
        with refused(
            sd.UnsupportedError,
            "conditional",
            "does not depend on the label",
            "Proposition 3",
            "zero",
        ):
            important(quantity, rng.normal(size=(60, 2)), conditional=True)


def joint():
    """Return rows of a discrete distribution of two dependent features, repeated in proportion to their probability."""
    often = {(0, 0): 5, (0, 1): 1, (1, 0): 2, (1, 1): 6, (2, 0): 1, (2, 1): 3}
    return np.array([cell for cell, k in often.items() for _ in range(4 * k)], dtype=float)


def test_the_conditional_form_keeps_the_joint_distribution():
    """A loss that ignores the label is accepted, and is zero in every repeat (Proposition 3)."""
    X = joint()

    def forgets(y, p):
        return p

    q = sd.loss(lambda X: 1 / (1 + np.exp(-X[:, 0] * (X[:, 1] - 0.6))), forgets)
    settings = {"n_repeats": 8, "subgroup_rows": 5}
    assert np.abs(important(q, X, 0, y=X[:, 0], conditional=True, **settings).values).max() < 1e-14
    assert np.abs(important(q, X, 0, y=X[:, 0], n_repeats=8).values).max() > 1e-3


def test_conditional_importance_from_the_definition(rng):
    X = joint()
    y = X[:, 0] + rng.normal(size=len(X))
    q = sd.loss(lambda X: X[:, 0] * (1 + X[:, 1]), "squared_error")

    def squared(row, label):
        return (row["x0"] * (1 + row["x1"]) - label) ** 2

    want = all_pairs(squared, rows_of(X), ["x0"], labels=y, within=X[:, 1])
    pf = important(q, X, 0, y=y, conditional=True, n_repeats=1500, subgroup_rows=5)
    assert pf.provenance["subgroups"] == {"x0": 2}
    assert abs(pf.mean[0] - want) < 4 * pf.std[0] / np.sqrt(1500)
    assert 4 * pf.std[0] / np.sqrt(1500) < 0.05 * want


# ------------------------------------------------------------------------------ closed forms, errors


def test_closed_forms_of_simple_quantities():
    """For q = s c: mean(s) mean(c) - mean(s c) = -cov. For q = (y - s)² with y = s: twice the variance of s."""
    X = dependent(400, 0)
    product = important(lambda X: X[:, 0] * X[:, 1], X, exact=True).mean
    np.testing.assert_allclose(product, -np.cov(X.T, ddof=0)[0, 1], rtol=1e-12)
    loss = important(sd.loss(lambda X: X[:, 0], "squared_error"), X, 0, y=X[:, 0], exact=True)
    assert loss.mean[0] == pytest.approx(2 * X[:, 0].var(), rel=1e-12)


@pytest.mark.slow
def test_the_error_of_all_pairs_is_that_of_the_jackknife():
    """Leave one row out at a time; this needs no formula for the influence of a row."""
    n = 120
    X = dependent(n, 5)
    pf = important(fast, X, exact=True)
    left = np.array([important(fast, np.delete(X, i, axis=0), exact=True).mean for i in range(n)])
    jackknife = np.sqrt((n - 1) / n * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
    np.testing.assert_allclose(pf.std_error, jackknife, rtol=0.02)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [100, 300])
def test_of_a_key_that_is_looked_up_every_pair_but_a_row_with_itself_is_a_miss(n, weighted):
    """The only chance are self-pairs: 1 - 1/n, with weights 1 - sum w² / (sum w)²."""
    key, w = np.arange(float(n)), np.ones(n)
    if weighted:
        w = np.random.default_rng(0).uniform(0.5, 1.5, n)
    X = np.stack([key, key], axis=1)

    def missed(X):
        return (X[:, 0] != X[:, 1]).astype(float)

    want = 1 - (w @ w) / w.sum() ** 2
    given = {"sample_weight": w} if weighted else {}
    assert important(missed, X, 0, exact=True, **given).mean[0] == pytest.approx(want, rel=1e-12)
    values = np.array(
        [important(missed, X, 0, random_state=s, **given).values[0] for s in range(20)]
    )
    if n == 100 and weighted:  # self-pairs are possible here
        assert abs(values.mean() - want) < 4 * values.std() / np.sqrt(values.size)
    else:
        np.testing.assert_allclose(values, want, rtol=1e-12)


FORMS_OF_ERRORS = {
    "draws": {"n_repeats": 200},
    "exact": {"exact": True},
    "conditional": {"n_repeats": 10, "conditional": True},
    "metric": {"n_repeats": 10, "metric": "r2"},
}


@pytest.mark.parametrize("form", FORMS_OF_ERRORS)
def test_four_times_the_rows_have_half_the_error_and_four_times_the_weight_of_a_sample_none(form):
    X = dependent(400, 2)
    y, w = X[:, 0], np.full(400, 4.0)
    q = fast if form == "metric" else sd.loss(fast, "squared_error")

    def error(**options):
        method = sd.PFI(local=0, **FORMS_OF_ERRORS[form])
        return sd.explain(q, X, 0, y=y, method=method, **options).std_error[0]

    # With weights, conditional importance draws other donors.
    near = 0.2 if form == "conditional" else 0.03
    assert error(sample_weight=w) / error() == pytest.approx(0.5, rel=near)
    assert error(sample_weight=w, weight_kind="sampling") / error() == pytest.approx(1, rel=near)


@pytest.mark.parametrize("kind", ["frequency", "sampling"])
@pytest.mark.parametrize(
    ("settings", "weighted"),
    [
        ({"n_repeats": 10}, False),
        ({"n_repeats": 10}, True),
        ({"n_repeats": 3}, True),
        ({"exact": True}, True),
        # With weights, a row may be its own donor there, which adds nothing.
        ({"conditional": True}, False),
    ],
    ids=["10", "10 weighted", "3 weighted", "exact weighted", "conditional"],
)
def test_what_each_donor_adds_has_no_error(settings, weighted, kind):
    """A constant that every change of a row adds is in the importance, but not in its error, whatever the weights."""
    n, rng = 400, np.random.default_rng(3)
    X = np.repeat(rng.normal(size=n), 2).reshape(n, 2)
    w = np.where(rng.random(n) < 0.5, 4.0, 1.0) if weighted else None

    def error(constant):
        def cost(X):
            return 100 + constant * (X[:, 0] != X[:, 1]) + X[:, 0] * X[:, 1]

        pf = sd.explain(
            sd.loss(cost, "absolute_error"),
            X,
            0,
            y=np.zeros(n),
            method=sd.PFI(local=0, **settings),
            sample_weight=w,
            weight_kind=kind,
        )
        assert pf.mean[0] > 0.99 * constant - 2
        return pf.std_error[0]

    without = error(0.0)
    assert without > 0
    assert error(20.0) == pytest.approx(without, rel=0.01)


@pytest.mark.parametrize("kind", ["frequency", "sampling"])
def test_permutations_of_weighted_rows_have_nearly_the_error_of_all_pairs(kind):
    """Heavy rows vary six times as much here, so that the kinds of weights differ. Draws add to the error."""
    n, rng = 600, np.random.default_rng(0)
    w = np.where(rng.random(n) < 0.3, 9.0, 1.0)
    x = rng.normal(size=n) * np.where(w > 1, 3.0, 0.5)
    X = np.stack([x, x], axis=1)

    def error(**settings):
        return sd.explain(
            lambda X: X[:, 0] * X[:, 1],
            X,
            0,
            method=sd.PFI(local=0, **settings),
            sample_weight=w,
            weight_kind=kind,
        ).std_error[0]

    assert 0.95 < error(n_repeats=60) / error(exact=True) < 1.3


def test_degrees_of_freedom_of_all_pairs():
    """Number of rows minus one: frequencies count with their sum, sampling weights with (sum w)² / sum w²."""
    X, w = dependent(50, 1), np.random.default_rng(0).uniform(0.2, 3, 50)

    def df(**options):
        return sd.explain(fast, X, 0, method=sd.PFI(exact=True), **options).df[0]

    assert df() == pytest.approx(49)
    assert df(sample_weight=w) == pytest.approx(w.sum() - 1)
    sampled = w.sum() ** 2 / (w @ w) - 1
    assert df(sample_weight=w, weight_kind="sampling") == pytest.approx(sampled)
