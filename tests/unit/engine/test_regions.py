"""`sd.regions` and ``sd.explain(..., by=)``: the regions that are found, the effects in them, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import cycle

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

import skedasis as sd
from skedasis.errors import DataError, UnsupportedError
from skedasis.plots.figures.regions import regions_figure
from tests.helpers import METHODS, Remembers, every_method, refused, same_effect


def switched(X):
    """Return x1 where x2 > 0, else 0."""
    return X[:, 0] * (X[:, 1] > 0)


def uniform(n, d=5, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, d))


def mixed(n=3000, seed=0):
    """Return columns of every kind."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "few": rng.integers(0, 4, n).astype(float),
            "count": rng.poisson(20, n),
            "size": pd.Categorical(
                rng.choice(["s", "m", "l"], n), categories=["s", "m", "l"], ordered=True
            ),
            "colour": rng.choice(["red", "green", "blue", "grey"], n),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 400, n), unit="D"),
            "holes": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "p": 0,
            "q": 0,
        }
    )
    member = rng.integers(0, 2, n)
    data["p"], data["q"] = member, 1 - member
    return data


def as_number(name, column):
    """Return a column of `mixed` as numbers with standard deviation about 1."""
    if name == "size":
        return column.astype(str).map({"s": -1.0, "m": 0.0, "l": 1.0}).to_numpy(float)
    if name == "colour":
        return column.map({"red": -1.0, "green": 1.0, "blue": -1.0, "grey": 1.0}).to_numpy(float)
    if name == "day":
        return (column - pd.Timestamp("2020-07-01")).dt.days.to_numpy(float) / 115
    if name == "count":
        return column.to_numpy(float) / 4.5 - 4.4
    return column.to_numpy(float)


SIDE = {
    "number": lambda v: v > 0.3,
    "few": lambda v: v > 1,
    "count": lambda v: v > 20,
    "size": lambda v: v.astype(str) == "l",
    "colour": lambda v: v.isin(["red", "grey"]),
    "day": lambda v: v > pd.Timestamp("2020-08-01"),
    "holes": lambda v: v.isna(),
    "p": lambda v: v == 1,
}
"""Which rows of a conditioning feature have the effect."""


def depending(of_interest, by):
    """Return a model in which `by` switches the effect of `of_interest` on and off."""

    def model(X):
        value = as_number(of_interest, X[of_interest])
        return value * (0.2 + 2.0 * SIDE[by](X[by]).to_numpy(bool))

    return model


# --- what must be exact


@pytest.mark.parametrize(
    "n", [1000, 10_000, 100_000, pytest.param(1_000_000, marks=pytest.mark.slow)]
)
def test_a_switch_is_found_where_it_is(n):
    r = sd.regions(switched, uniform(n), 0)
    (split,) = r.splits
    assert split.feature == "x1"
    assert abs(split.conditions[0].high) <= 3 / n
    assert r.loss_explained_in_sample >= 0.999
    assert r.scores.within <= 1e-9 if n >= 10_000 else r.heterogeneity_explained > 0.95
    if n >= 10_000:
        assert r.loss_explained >= 0.97
        assert r.heterogeneity_explained >= 0.97
    assert r[0].value == pytest.approx(0, abs=0.01)
    assert split.p_value < 1e-6
    assert split.stability > 0.99


def test_of_two_splits_that_do_as_well_the_one_that_is_shown_names_the_other():
    """x1 (1[x2 > 0] + 1[x3 > 0]): whether x2 or x3 is split on is chance, and halves of the rows disagree."""
    X = uniform(1000, 3)
    model = lambda X: X[:, 0] * ((X[:, 1] > 0).astype(float) + (X[:, 2] > 0))  # noqa: E731
    r = sd.regions(model, X, 0, max_depth=1)
    (split,) = r.splits
    other = ({"x1", "x2"} - {split.feature}).pop()
    assert split.unstable
    assert split.another.startswith(f"{other} ≤ ")
    assert f"another split does about as well: {split.another}" in repr(r)
    panels = [stack[0] for stack in regions_figure(r).stacks[:2]]
    assert [str(panel.title) for panel in panels] == ["[0]", "[1]"]
    for panel, rule in zip(panels, r.rules, strict=True):
        assert panel.notes[:2] == (rule, f"another split does about as well: {split.another}")


def test_two_cuts_at_once_are_two_of_the_depth():
    """x1 sign(x2 x3) (1 + 1[x4 > 0]): no single cut shows the product of signs, and behind it x4 is a third one."""
    X = uniform(4000, 4)
    model = lambda X: X[:, 0] * np.sign(X[:, 1] * X[:, 2]) * (1.0 + (X[:, 3] > 0))  # noqa: E731
    sizes = [len(sd.regions(model, X, 0, max_depth=depth)) for depth in (2, 3)]
    assert sizes == [4, 8]


def test_the_heterogeneity_score_of_a_switch_is_its_closed_form():
    """x1 · 1[x2 > 0] differs by a swap of x1 from its mean effect: score² = Var(x1) · Var(1[x2 > 0]) = 1/12."""
    r = sd.regions(switched, uniform(20_000), 0)
    assert r.scores.whole == pytest.approx(math.sqrt(1 / 12), rel=0.03)
    assert r.scores.regions == pytest.approx([0, 0], abs=0.01)


def test_the_place_is_found_under_correlation():
    n, cov = 100_000, np.full((5, 5), 0.9) + 0.1 * np.eye(5)
    X = np.random.default_rng(0).multivariate_normal(np.zeros(5), cov, n)
    r = sd.regions(lambda X: X[:, 0] * (X[:, 1] > 0.5), X, 0)
    assert len(r) == 2
    assert r.splits[0].feature == "x1"
    assert r.splits[0].conditions[0].high == pytest.approx(0.5, abs=0.005)


def test_exclusive_or_has_four_regions_also_with_levels():
    X = uniform(10_000, 4)

    def either(X):
        return X[:, 0] * np.sign(X[:, 1]) * np.sign(X[:, 2])

    r = sd.regions(either, X, 0)
    assert len(r) == 4
    assert r.heterogeneity_explained >= 0.95
    assert all(s.look_ahead for s in r.splits)
    assert len(sd.regions(either, X, 0, look_ahead=False)) == 1
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    frame["yes"] = np.where(X[:, 2] > 0, "yes", "no")
    r = sd.regions(
        lambda X: X["a"] * np.sign(X["b"]) * np.where(X["yes"] == "yes", 1, -1), frame, "a"
    )
    assert {s.feature for s in r.splits} == {"b", "yes"}
    assert len(r) == 4
    assert r.heterogeneity_explained >= 0.95


def test_a_three_way_interaction_has_all_its_regions():
    X = uniform(10_000)
    r = sd.regions(lambda X: X[:, 0] * np.sign(X[:, 1]) * (X[:, 2] > 0.3), X, 0)
    assert {s.feature for s in r.splits} == {"x1", "x2"}
    assert r.heterogeneity_explained >= 0.97
    truth = np.where(X[:, 2] <= 0.3, 0, np.where(X[:, 1] > 0, 1, 2))
    rows = r.assign(X)
    purest = sum(np.bincount(truth[rows == k]).max() for k in range(len(r)))
    assert purest >= 0.995 * len(X)


@pytest.mark.parametrize("shape", ["linear", "sine", "square", "tiny interaction"])
def test_additive_functions_have_no_regions_under_correlation(shape):
    cov = np.full((4, 4), 0.9) + 0.1 * np.eye(4)
    X = np.random.default_rng(1).multivariate_normal(np.zeros(4), cov, 10_000)
    own = {"sine": lambda x: np.sin(3 * x), "square": lambda x: x**2}.get(shape, lambda x: 2 * x)

    def additive(X):
        tiny = 0.001 * X[:, 1] * X[:, 2] if shape == "tiny interaction" else 0.0
        return own(X[:, 0]) + X[:, 1] ** 2 - X[:, 2] + tiny

    for method in ("rhale", "ale", "pdp"):
        r = sd.regions(additive, X, 0, method=method)
        assert r.rules == ("all rows",), (method, r.rules)
        assert r.loss_explained == 0


# --- every method and kind


@pytest.mark.parametrize(
    ("method", "by"), list(zip(cycle(sorted(METHODS)), sorted(SIDE), strict=False))
)
def test_every_method_finds_conditioning_features_of_every_kind(method, by):
    data = mixed()
    of_interest = "few" if by == "number" else "number"
    if of_interest == "few" and method in ("dale", "uale"):
        of_interest = "count"
    r = sd.regions(
        depending(of_interest, by),
        data,
        of_interest,
        method=method,
        groups={"pq": ["p", "q"]} if by == "p" else None,
        max_depth=1,
    )
    assert len(r) == 2, str(r)
    assert r.splits[0].feature == ("pq" if by == "p" else by)
    side = SIDE[by](data[by]).to_numpy(bool)
    assigned = r.assign(data)
    agreement = np.mean(assigned == side)
    assert max(agreement, 1 - agreement) >= 0.98
    np.testing.assert_array_equal(np.bincount(assigned), [leaf.count for leaf in r.leaves])
    assert r.heterogeneity_explained > 0.9


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("rhale", "number"),
        ("dale", "count"),
        ("uale", "few"),
        ("ale", "size"),
        ("pdp", "colour"),
        ("ice", "day"),
    ],
)
def test_every_method_explains_features_of_every_kind(method, name):
    data = mixed()
    r = sd.regions(depending(name, "holes"), data, name, method=method, max_depth=1)
    assert [s.feature for s in r.splits] == ["holes"], str(r)
    np.testing.assert_array_equal(
        r.assign(data) == r.assign(data)[data["holes"].isna().to_numpy()][0], data["holes"].isna()
    )
    assert r.heterogeneity_explained > 0.9
    low, high = sorted(r, key=lambda e: e.importance)
    assert high.importance == pytest.approx(11 * low.importance, rel=0.15)


def test_missing_values_of_the_feature_of_interest_belong_to_a_region():
    X = uniform(4000, 3)
    X[::9, 0] = np.nan
    r = sd.regions(lambda X: np.nan_to_num(X[:, 0]) * (X[:, 1] > 0), X, 0)
    assert [s.feature for s in r.splits] == ["x1"]
    np.testing.assert_array_equal(np.bincount(r.assign(X)), [n.count for n in r.leaves])
    assert sum(n.count for n in r.leaves) == 4000


def test_rules_on_ordered_levels_say_where_missing_values_are():
    rng = np.random.default_rng(0)
    code = rng.choice(4, 1000)
    sizes = pd.CategoricalDtype(["S", "M", "L"], ordered=True)
    s = pd.Series(np.array(["S", "M", "L", None], dtype=object)[code]).astype(sizes)
    X = pd.DataFrame({"x": rng.uniform(-1, 1, 1000), "size": s, "code": code})
    f = lambda X: np.where(np.isin(X["code"], [0, 3]), 5.0, -1.0) * X["x"]  # noqa: E731
    r = sd.regions(f, X, "x", split_on=["size"])
    assert r.rules == ("size = S or missing", "size not in {S, missing}")
    np.testing.assert_array_equal(r.assign(X), np.where(np.isin(code, [0, 3]), 0, 1))


def test_levels_that_matter_are_exactly_those_of_the_rule():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(
        {"a": rng.uniform(-1, 1, 6000), "town": rng.choice(list("ABCDEFGHIJKL"), 6000)}
    )
    chosen = {"B", "E", "F", "I", "K"}
    r = sd.regions(lambda X: X["a"] * X["town"].isin(chosen), data, "a")
    (split,) = r.splits
    assert chosen in [set(c.levels) for c in split.conditions]
    assert r.loss_explained > 0.95


@pytest.mark.parametrize("method", ["ale", "pdp"])
def test_trees_are_split_the_same_with_and_without_their_evaluator(method):

    X = uniform(1500, 4)
    model = RandomForestRegressor(10, max_depth=6, random_state=0, n_jobs=1).fit(X, switched(X))
    on, off = (sd.regions(model, X, 0, method=method, tree=tree) for tree in ("auto", "off"))
    assert on.rules == off.rules
    assert len(on) >= 2
    assert on.splits[0].feature == "x1"
    for a, b in zip(on, off, strict=True):
        same_effect(a, b, rtol=1e-9)


def test_without_score_rows_there_are_shares_only():
    r = sd.regions(switched, uniform(2000), 0, heterogeneity_rows=0)
    assert len(r) == 2
    assert math.isnan(r.heterogeneity_explained)
    assert np.isnan(r.scores.regions).all()
    assert r.loss_explained > 0.9
    assert r.provenance["region_score_rows"] == 0


# --- effects in the regions are those of `explain` on the rows


def given_cells(method, X):
    edges = np.quantile(X[:, 0], np.linspace(0, 1, 9))
    return {
        "ale": sd.ALE(bins=sd.Edges(edges)),
        "dale": sd.DALE(bins=sd.Edges(edges)),
        "rhale": sd.RHALE(bins=sd.Edges(edges)),
        "uale": sd.UALE(bins=sd.Edges(edges)),
        "pdp": sd.PDP(grid=edges),
        "ice": sd.ICE(grid=edges),
    }[method]


@every_method
def test_the_effect_of_a_region_is_that_of_its_rows_alone(method):
    X = uniform(1500, 3)
    chosen = given_cells(method, X)
    r = sd.regions(lambda X: np.sin(X[:, 0]) * (X[:, 1] > 0), X, 0, method=chosen)
    assert len(r) == 2
    where = r.assign(X)
    for k, effect in enumerate(r):
        alone = sd.explain(
            lambda X: np.sin(X[:, 0]) * (X[:, 1] > 0),
            X[where == k],
            0,
            method=chosen,
            heterogeneity_rows=0,
        )
        _same_curve(effect, alone)


def _same_curve(effect, alone):
    scale = max(float(np.abs(alone.value).max()), 1e-3)
    np.testing.assert_allclose(effect.x, alone.x)
    np.testing.assert_allclose(effect.value, alone.value, atol=1e-9 * scale)
    if effect.accumulated_std is None:  # the spread of curves needs no score
        np.testing.assert_allclose(effect.heterogeneity, alone.heterogeneity, atol=1e-7 * scale)
    else:
        np.testing.assert_allclose(effect.accumulated_std, alone.accumulated_std, atol=1e-7 * scale)
    np.testing.assert_allclose(effect.std_error, alone.std_error, atol=1e-7 * scale)
    assert effect.importance == pytest.approx(alone.importance, rel=1e-9, abs=1e-12)
    if alone.bins is not None:
        np.testing.assert_array_equal(effect.bins.count, alone.bins.count)


@pytest.mark.parametrize(
    ("name", "method"), [("few", "ale"), ("size", "pdp"), ("colour", "ale"), ("colour", "pdp")]
)
def test_the_effect_of_a_region_is_that_of_its_rows_alone_for_values_and_levels(name, method):
    data = mixed()
    model = depending(name, "number")
    if name == "colour" and method == "ale":
        # The order of the levels is learned from the rows: it is given, so that the regions have the same.
        data["colour"] = pd.Categorical(
            data["colour"], categories=["blue", "green", "grey", "red"], ordered=True
        )
        base = depending(name, "number")

        def model(X):
            return base(X.assign(colour=X["colour"].astype(str)))

    by = data["number"].to_numpy() > 0.3
    r = sd.explain(model, data, name, method=method, by=by)
    for k, effect in enumerate(r):
        alone = sd.explain(model, data[by == bool(k)], name, method=method, heterogeneity_rows=0)
        np.testing.assert_allclose(effect.value, alone.value, atol=1e-12)
        if effect.accumulated_std is None:
            np.testing.assert_allclose(effect.heterogeneity, alone.heterogeneity, atol=1e-9)
        else:
            np.testing.assert_allclose(effect.accumulated_std, alone.accumulated_std, atol=1e-9)
        assert effect.importance == pytest.approx(alone.importance, abs=1e-12)


def test_the_score_of_a_region_is_that_of_its_rows():
    """From other pairs of rows than those of the region alone: equal within their errors."""
    X = uniform(6000, 3)
    r = sd.regions(lambda X: X[:, 0] * (2.0 * (X[:, 1] > 0) + X[:, 2]), X, 0, max_depth=1)
    where = r.assign(X)
    for k in range(2):
        alone = sd.explain(lambda X: X[:, 0] * (2.0 * (X[:, 1] > 0) + X[:, 2]), X[where == k], 0)
        error = math.hypot(r.scores.regions_error[k], alone.swap_score.std_error)
        assert abs(r.scores.regions[k] - alone.heterogeneity_score) < 4 * error
        assert r.scores.regions[k] == pytest.approx(1 / 3, rel=0.1)


# --- given regions


def test_given_regions_may_be_a_column_labels_masks_or_edges():
    X = uniform(2000, 3)
    up = X[:, 1] > 0
    edges = sd.explain(switched, X, 0, by=(1, [0.0]))
    labels = sd.explain(switched, X, 0, by=up)
    masks = sd.explain(switched, X, 0, by={"down": ~up, "up": up})
    assert edges.rules == ("x1 ≤ 0", "x1 > 0")
    assert labels.rules == ("False", "True")
    assert masks.rules == ("down", "up")
    for other in (labels, masks):
        for a, b in zip(edges, other, strict=True):
            np.testing.assert_array_equal(a.value, b.value)
    assert edges.heterogeneity_explained > 0.99
    assert edges.loss_explained > 0.95
    assert [e.rule for e in masks] == ["down", "up"]
    np.testing.assert_array_equal(edges.assign(X), up)
    assert len(sd.explain(switched, X, 0, by=1)) == 4  # quartiles
    partly = sd.explain(switched, X, 0, by={"up": up})
    assert partly.rules == ("up", "other rows")


def test_given_regions_that_explain_nothing_have_a_share_around_zero():
    X = uniform(4000, 3)
    r = sd.explain(switched, X, 0, by=X[:, 2] > 0)
    assert abs(r.loss_explained) < 4 * r.loss_explained_error + 0.01
    assert abs(r.heterogeneity_explained) < 0.1


def test_the_error_of_the_heterogeneity_that_is_explained_is_that_of_all_scores():
    """Each score moves by its error, one after the other: the errors of what is left add up in squares."""
    X = np.random.default_rng(2).normal(size=(900, 3))
    r = sd.explain(
        lambda X: X[:, 0] * (X[:, 1] > 0) + 0.7 * X[:, 0] * X[:, 2], X, 0, by=(1, [-0.5, 0.6])
    )
    s, share = r.scores, np.array([leaf.weight for leaf in r.leaves]) / len(X)

    def explained(whole, regions):
        return 1 - share @ regions**2 / whole**2

    assert s.explained == pytest.approx(explained(s.whole, s.regions), rel=1e-9)
    tiny = 1e-6
    moves = [(explained(s.whole + tiny * s.whole_error, s.regions) - s.explained) / tiny]
    for k, error in enumerate(s.regions_error):
        moved = s.regions + tiny * error * (np.arange(len(share)) == k)
        moves.append((explained(s.whole, moved) - s.explained) / tiny)
    assert np.abs(moves).min() > 0
    assert s.explained_error == pytest.approx(np.linalg.norm(moves), rel=1e-3)
    assert s.within == pytest.approx(np.sqrt(share @ s.regions**2), rel=1e-9)


@pytest.mark.parametrize("method", ["rhale", "pdp"])
def test_the_error_of_given_regions_counts_repeated_rows(method):
    """Frequency weights of 9 are nine times the rows: a third of the error. Sampling weights of 9 add no row."""
    X = np.random.default_rng(0).normal(size=(400, 3))

    def model(X):
        return X[:, 0] * (1 + (X[:, 1] > 0)) + 0.3 * X[:, 0] * X[:, 2]

    def error(rows, **options):
        r = sd.explain(model, rows, 0, method=method, by=1, heterogeneity_rows=0, **options)
        return r.loss_explained_error

    one, weights = error(X), np.full(400, 9.0)
    assert error(np.repeat(X, 9, axis=0)) == pytest.approx(one / 3, rel=0.15)
    assert error(X, sample_weight=weights) == pytest.approx(one / 3, rel=0.15)
    sampled = error(X, sample_weight=weights, weight_kind="sampling")
    assert sampled == pytest.approx(one, rel=1e-9)


def test_the_share_of_given_regions_is_its_closed_form_and_scatters_as_its_error_says():
    """Slopes 1 + 1[x1 > 0] + 0.3 x2: a cut of x1 at 0 explains 1/4 of their variance of 1/4 + 0.09.

    The error is that of what is explained, for the loss as it is.
    """

    def slopes(X):
        return 1 + (X[:, 1] > 0) + 0.3 * X[:, 2]

    found = []
    for seed in range(40):
        X = np.random.default_rng(seed).normal(size=(300, 3))
        r = sd.explain(
            lambda X: X[:, 0] * slopes(X), X, 0, method="pdp", by=(1, [0.0]), heterogeneity_rows=0
        )
        shares = r.loss_explained, r.loss_explained_error, r.loss_explained_in_sample
        found.append((*shares, slopes(X).var() / 0.34))
    share, error, in_sample, loss = np.array(found).T
    assert share.mean() == pytest.approx(25 / 34, abs=4 * share.std() / np.sqrt(40))
    assert in_sample.mean() == pytest.approx(25 / 34, abs=0.03)
    assert 0.7 < (share * loss).std(ddof=1) / error.mean() < 1.4


def test_given_regions_of_levels_and_missing_values():
    data = mixed(1000)
    r = sd.explain(depending("number", "colour"), data, "number", by="colour")
    assert sorted(rule.rpartition(" ")[2] for rule in r.rules) == ["blue", "green", "grey", "red"]
    holes = sd.explain(depending("number", "colour"), data, "number", by=("holes", [0.0]))
    assert holes.rules[-1] == "holes is missing"
    np.testing.assert_array_equal(np.bincount(holes.assign(data)), [n.count for n in holes.leaves])


@pytest.mark.parametrize(
    ("by", "words"),
    [
        (np.zeros(7), ("by", "(7,)")),
        ({"a": np.ones(3000, bool), "b": np.ones(3000, bool)}, ("3,000 rows", "'a'", "overlap")),
        ({"a": np.zeros(3000, bool), "b": np.ones(3000, bool)}, ("'a'", "without rows")),
        (np.arange(3000), ("3,000 regions", "at most 30")),
    ],
)
def test_bad_given_regions_are_refused(by, words):
    X = uniform(3000, 3)
    model = Remembers(switched)
    with refused(DataError, *words):
        sd.explain(model, X, 0, by=by)
    assert sum(map(len, model.seen)) <= 1500  # what plans look at


# --- bad input


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"split_on": [0]}, ("x0", "the feature of interest")),
        ({"split_on": []}, ("empty list",)),
        ({"max_depth": 0}, ("max_depth", "0")),
        ({"alpha": 2}, ("alpha", "2")),
        ({"min_gain": -0.1}, ("min_gain", "-0.1")),
        ({"criterion": "best"}, ("criterion", "best")),
        ({"joint": "yes"}, ("joint", "yes")),
    ],
)
def test_bad_options_are_refused_before_the_pass_over_the_rows(options, words):
    model = Remembers(switched)
    with refused(DataError, *words):
        sd.regions(model, uniform(3000, 3), 0, **options)
    assert sum(map(len, model.seen)) <= 1500  # what plans look at


@pytest.mark.parametrize(("features", "method"), [((0, 1), None), (0, "mplot")])
def test_pairs_and_methods_without_local_effects_are_refused(features, method):
    model = Remembers(switched)
    with refused(UnsupportedError, "regions"):
        sd.regions(model, uniform(3000, 3), features, method=method)
    assert sum(map(len, model.seen)) <= 1500  # what plans look at


@pytest.mark.parametrize("method", [sd.PDP(derivative=True), sd.PDP(heterogeneity=False)])
def test_curves_without_rows_are_refused(method):
    with refused(UnsupportedError, "regions of", "Leave"):
        sd.regions(switched, uniform(100, 3), 0, method=method)


def test_features_that_cannot_be_split_on_are_said():
    n = 400
    data = pd.DataFrame(uniform(n, 2), columns=["a", "b"])
    data["same"] = 1.0
    data["id"] = [f"row {i}" for i in range(n)]
    data["lost"] = np.nan
    data["far"] = np.where(np.arange(n) % 50, 1.0, np.inf)
    r = sd.regions(lambda X: X["a"] * (X["b"] > 0), data, "a", tree="off")
    assert set(r.left_out) == {"same", "id", "lost", "far"}
    assert r.left_out["same"] == "constant"
    assert "10 rows" in r.left_out["id"]
    assert "infinite" in r.left_out["far"]
    assert [s.feature for s in r.splits] == ["b"]


@pytest.mark.parametrize(
    ("n", "method"), list(zip(cycle([2, 3, 10, 39]), sorted(METHODS), strict=False))
)
def test_few_rows_have_one_region(n, method):
    r = sd.regions(switched, uniform(n, 3), 0, method=method)
    assert r.rules == ("all rows",)
    assert r.nodes[0].note
    np.testing.assert_array_equal(r.assign(uniform(5, 3)), 0)


@every_method
def test_a_model_without_heterogeneity_has_one_region_and_says_why(method):
    r = sd.regions(lambda X: 2 * X[:, 0] - X[:, 1], uniform(1000, 3), 0, method=method)
    assert r.rules == ("all rows",)
    assert r.nodes[0].note == "no heterogeneity"
    assert r.loss_explained == 0
    assert "1 region" in str(r) or "no" in str(r)
    assert r.nodes[0].candidate is None


def test_regions_that_are_not_confirmed_say_which_was_best(tmp_path):
    """The slope of x0 is noise in all other features."""
    X = uniform(1000, 4, seed=2)
    noise = lambda X: X[:, 0] * np.sin(1e5 * X[:, 1] * X[:, 2])  # noqa: E731
    r = sd.regions(noise, X, 0)
    (node,) = r.nodes
    best = node.candidate
    assert best.p_value > best.level == pytest.approx(0.8 * 0.05)
    assert best.feature in ("x1", "x2", "x3")
    assert best.conditions[0].text.startswith(f"{best.feature} ≤ ")
    assert math.isnan(best.stability)
    assert r.splits == ()
    rule = best.conditions[0].text.replace("-", "−")
    said = (
        "one group of rows: no rule was confirmed on the other half of the rows; the best was "
        f"{rule} (p = {best.p_value:.2g})"
    )
    assert said in repr(r)
    assert said in str(r)
    assert r.to_dict()["nodes"][0]["candidate"]["p_value"] == best.p_value
    r.save(tmp_path / "r.npz")
    loaded = sd.load(tmp_path / "r.npz")
    assert str(loaded) == str(r)
    assert loaded.nodes[0].candidate.p_value == best.p_value

    nearly = replace(node, candidate=replace(best, p_value=0.03, level=0.004))
    assert repr(replace(r, nodes=(nearly,))).endswith("(p = 0.03, and 0.004 is needed)>")
    weak = replace(node, candidate=replace(best, p_value=1e-5, share=0.004, share_error=0.001))
    assert repr(replace(r, nodes=(weak,))).endswith(
        f"the best rule, {rule}, explains only 0.4 % (p < 0.001)>"
    )


def test_a_constant_feature_has_one_region():
    X = uniform(500, 3)
    X[:, 0] = 1.0
    for method in ("ale", "rhale", "pdp"):
        assert sd.regions(switched, X, 0, method=method).rules == ("all rows",)


def test_duplicates_in_split_on_count_once():
    X = uniform(1000, 3)
    once, twice = (sd.regions(switched, X, 0, split_on=s) for s in ([1], [1, "x1", 1]))
    assert once.rules == twice.rules
    assert once.splits[0].p_value == twice.splits[0].p_value
    assert sd.regions(switched, X, 0, split_on=[2]).rules == ("all rows",)


# --- weights


def slopes_that_depend(X):
    return X[:, 0] * (1 + 2 * (X[:, 1] > 0) + 0.5 * (X[:, 2] > 0.3)) + 0.2 * X[:, 0] ** 2


@pytest.mark.parametrize("method", ["rhale", "pdp"])
def test_the_unit_of_sampling_weights_decides_no_region(method):
    X = uniform(1500, 3)
    w = np.random.default_rng(3).gamma(2.0, size=1500) + 0.1
    one, other = (
        sd.regions(
            slopes_that_depend,
            X,
            0,
            method=method,
            sample_weight=w * unit,
            weight_kind="sampling",
            heterogeneity_rows=0,
        )
        for unit in (1.0, 2.0**-12)
    )
    assert len(one) >= 3
    assert one.rules == other.rules
    for a, b in zip(one.tree, other.tree, strict=True):
        assert a.weight == pytest.approx(b.weight, rel=1e-9)
    assert [s.p_value for s in one.splits] == pytest.approx([s.p_value for s in other.splits])
    assert sum(leaf.weight for leaf in other.leaves) == pytest.approx(len(X))
    shares = ("loss_explained", "loss_explained_error", "loss_explained_in_sample")
    for name in shares:
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-6)
    # The parts of several splits are estimated from the same rows, each apart from the others.
    errors = [s.share_error for s in one.splits]
    assert max(errors) < one.loss_explained_error < sum(errors)


def test_no_region_has_less_than_a_hundredth_of_the_weight():
    """1/200 of the rows have another slope: 10 rows of weight 50 are as few as 500 of 100,000."""
    X = uniform(2000, 2)
    X[:, 1] = np.random.default_rng(4).permutation(2000)

    def model(X):
        return X[:, 0] * (1 + 30 * (X[:, 1] >= 1990))

    for weight in (1.0, 50.0):
        r = sd.regions(model, X, 0, sample_weight=np.full(2000, weight), heterogeneity_rows=0)
        assert min(leaf.weight for leaf in r.leaves) >= max(20, 0.01 * 2000 * weight)


@pytest.mark.parametrize("method", ["rhale", "pdp"])
def test_weights_of_given_regions_are_repeated_rows(method):
    """Heavy rows are those with large values: their number decides means, centres and standard deviations."""
    X = uniform(500, 3)
    w = np.where(X[:, 0] > 0.2, 9, 1)
    options = {"method": method, "by": (1, [0.0]), "heterogeneity_rows": 0}
    weighted = sd.explain(slopes_that_depend, X, 0, sample_weight=w.astype(float), **options)
    repeated = sd.explain(slopes_that_depend, np.repeat(X, w, axis=0), 0, **options)
    for a, b in zip(weighted, repeated, strict=True):
        assert a.about.feature_std == pytest.approx(b.about.feature_std, rel=1e-9)
        assert a.about.feature_std != pytest.approx(weighted.whole.about.feature_std, rel=1e-6)
        np.testing.assert_allclose(a.value, b.value, rtol=1e-6, atol=1e-9)
    assert [n.weight for n in weighted.leaves] == [n.weight for n in repeated.leaves]
    # Rows are halved each by itself.
    shares = [r.loss_explained_in_sample for r in (weighted, repeated)]
    assert shares[0] == pytest.approx(shares[1], abs=0.02 if method == "pdp" else 0.04)


def test_the_scores_within_all_regions_share_their_calls(monkeypatch):
    # Calls take no time, so that none is divided because it lasts too long.
    monkeypatch.setattr("skedasis.models.calling.time.perf_counter", lambda: 0.0)

    def model(X):
        return switched(X) + switched(X[:, 2:]) + switched(X[:, 4:]) * (1 + X[:, 0])

    found = sd.regions(model, uniform(500, 6))
    several = [name for name, regions in found.items() if len(regions) > 1]
    assert len(several) >= 3
    cost = found.provenance
    assert cost["region_score_calls"] <= 2
    assert 500 < cost["region_score_rows"] <= 5 * 500 * len(several)
    for name in several:
        alone = sd.regions(model, uniform(500, 6), name)
        for one, other in zip(found[name], alone, strict=True):
            assert one.heterogeneity_score == other.heterogeneity_score
            np.testing.assert_array_equal(one.spread.value, other.spread.value)


def test_a_rule_that_explains_too_little_has_the_share_it_would_have_as_a_split():
    """The second split explains a quarter of what the first one leaves, on half of the rows."""
    X = uniform(2000, 3, seed=1)
    w = np.where(X[:, 1] > 0, 3.0, 1.0)
    q = lambda X: X[:, 0] * (np.where(X[:, 1] > 0, 10 + np.sign(X[:, 2]), 0))  # noqa: E731
    options = {"sample_weight": w, "look_ahead": False}
    every = sd.regions(q, X, 0, **options, min_gain=0.001).nodes
    few = sd.regions(q, X, 0, **options, min_gain=0.1).nodes
    assert len(few) == 3
    split = next(n.split for n in every[1:] if n.split is not None)
    best = next(n.candidate for n in few[1:] if n.candidate is not None and n.candidate.share > 0)
    # Of the variance 100 · 3/16 of the slopes' large step, the small one is 1 · 3/4 of the weight.
    assert best.share == split.share == pytest.approx(0.75 / (100 * 3 / 16 + 0.75), abs=0.01)
    assert (best.p_value, best.conditions) == (split.p_value, split.conditions)
