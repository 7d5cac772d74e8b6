"""Errors and tests of `drift` against SciPy, plain NumPy, and tables that are drawn anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm, t, ttest_ind

import skedasis as sd
from skedasis.analysis import drift as analysis
from skedasis.analysis.row_groups import find_row_groups
from skedasis.engine.options import ExplainOptions
from skedasis.stats.random import random_half

QUIET: Any = {"progress": False}


def table(seed: int, n: int, shift: float = 0.0) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X[:, 0] += shift
    return X


def curved(X: np.ndarray) -> np.ndarray:
    return np.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def stepped(X: np.ndarray) -> np.ndarray:
    return curved(X) + 2.0 * (X[:, 1] > 1.0)


def drawn(rng: np.random.Generator, *tables: np.ndarray) -> list[np.ndarray]:
    """Return as many rows of each table, drawn with replacement."""
    return [X[rng.integers(0, len(X), len(X))] for X in tables]


def both(
    old: np.ndarray, new: np.ndarray, models: list[Any], weights: Any = None
) -> analysis._DriftParts:
    """Return the parts of the values of some models at both tables, without features."""
    given = analysis._OfNewTable(None, weights, None)
    options = ExplainOptions.of("drift", sample_weight=weights)
    rows = analysis._rows(old, new, options, given)
    X = np.concatenate([old, new])
    return analysis._DriftParts.of(rows, [model(X) for model in models], 1e-16, 0)


# --- tests ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_old", "n_new", "spread"), [(7, 5, 1.0), (40, 5, 0.2), (40, 5, 3.0)])
def test_a_change_must_be_found_by_welchs_test_and_by_students(n_old, n_new, spread):
    old, new = table(0, n_old), spread * table(1, n_new, 0.3)
    found = sd.drift(curved, old, X_new=new, **QUIET)
    welch, student = (
        ttest_ind(curved(new), curved(old), equal_var=equal) for equal in (False, True)
    )
    assert found.change.p_value == pytest.approx(max(welch.pvalue, student.pvalue), rel=1e-9)
    ends = welch.confidence_interval(0.95)
    assert (found.change.lower, found.change.upper) == pytest.approx((ends.low, ends.high))


@pytest.mark.parametrize(("n", "slope"), [(4000, -0.06), (4000, 0.0), (4000, 0.05), (30, 1.0)])
def test_the_test_of_a_curve_is_one_sided_in_the_direction_of_the_other_half(n, slope):
    """Of two values, the curve is one step: ½ the mean from below + ½ the mean from above."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 2, n), rng.normal(size=n)]).astype(float)
    found = sd.drift(lambda X: X[:, 1], X, lambda X: X[:, 1] + (slope + X[:, 1]) * X[:, 0], **QUIET)
    half, step = random_half(np.arange(n), 0, "drift: halves"), slope + X[:, 1]
    below, above = (step[~half & (X[:, 0] == k)] for k in (0, 1))
    chosen = sum(step[half & (X[:, 0] == k)].mean() for k in (0, 1))
    a, b = np.sign(chosen) * below, -np.sign(chosen) * above
    expected = ttest_ind(a, b, equal_var=False, alternative="greater")
    p = found.features[0].curve_p_value
    if n > 100:
        assert p == pytest.approx(expected.pvalue, rel=0.02)
    else:  # Student's distribution, of fewer degrees of freedom than there are rows
        low, high = (t.sf(expected.statistic, df) for df in (len(a) + len(b), 3))
        assert low < p < high


@pytest.mark.parametrize("seed", range(6))
def test_the_test_of_groups_is_one_sided_at_the_rows_that_did_not_choose_them(seed):
    old, new = table(seed, 600), table(seed + 10, 400, 0.1)
    parts, values = both(old, new, [curved]), curved(np.concatenate([old, new]))
    is_new = np.arange(1000) >= 600
    centred = values - (values[is_new].mean() + values[~is_new].mean()) / 2
    moved = np.where(is_new, 1000 / 400, -1000 / 600) * centred
    groups = find_row_groups(moved, parts.rows.dataset, seed, purpose="any rules", alpha=0.9)
    k = groups.group
    means = np.array([moved[groups.half & (k == g)].mean() for g in range(len(groups))])
    apart = [centred[~groups.half & side].mean() for side in (~is_new, is_new)]
    # Both tables are put at the same mean: what all rows moved by is no difference between groups.
    alike = centred - np.where(is_new, 0.5, -0.5) * (apart[1] - apart[0])
    tested = alike * (means - np.bincount(k) / 1000 @ means)[k]
    a, b = (tested[~groups.half & side] for side in (is_new, ~is_new))
    tests = [ttest_ind(a, b, equal_var=equal, alternative="greater") for equal in (False, True)]
    expected = max(test.pvalue for test in tests) if a.mean() > b.mean() else 1.0
    assert parts._p_of_groups(moved, groups) == pytest.approx(expected, rel=1e-6)


# --- groups ---------------------------------------------------------------------------------------


def contribution(
    part: str, f: np.ndarray, g: np.ndarray, inside: np.ndarray, is_new: np.ndarray
) -> float:
    """Return what a group contributes to a part, by the definition, at some rows of both tables."""
    sides = ~is_new, is_new
    if part == "model changed":
        return float(sum(((g - f) * inside)[side].mean() for side in sides) / 2)
    m = (f + g) / 2
    own = (m - sum(m[side].mean() for side in sides) / 2) * inside
    return float(own[is_new].mean() - own[~is_new].mean())


@pytest.mark.parametrize("part", ["rows moved", "model changed"])
def test_a_group_is_estimated_at_the_rows_that_did_not_choose_it(part):
    old, new = table(0, 2000), table(1, 1500, 0.8)
    parts = both(old, new, [curved, stepped])
    groups, _ = parts.groups(part)
    assert groups is not None
    assert len(groups) > 1
    X, is_new = np.concatenate([old, new]), np.arange(3500) >= 2000
    f, g, tested = curved(X), stepped(X), np.flatnonzero(~groups.half)
    rng = np.random.default_rng(0)
    sides = tested[~is_new[tested]], tested[is_new[tested]]
    for k, line in enumerate(parts.group_lines(part, groups, parts.totals()[part])):
        inside = groups.group == k

        def at(rows: np.ndarray, inside: np.ndarray = inside) -> float:
            return contribution(part, f[rows], g[rows], inside[rows], is_new[rows])

        assert line.total == pytest.approx(at(np.arange(3500)), rel=1e-9, abs=1e-12)
        assert line.value == pytest.approx(at(tested), rel=1e-9, abs=1e-12)
        again = [at(np.concatenate(drawn(rng, *sides))) for _ in range(1000)]
        assert line.std_error == pytest.approx(np.std(again), rel=0.1)


def test_weights_that_are_all_alike_count_rows_for_the_groups_of_a_changed_model():
    """A weight of 4 says as much as four such rows, in the same half: the same rules, with the same p-value."""
    old, new = table(0, 400), table(1, 400)

    def changed(X: np.ndarray) -> np.ndarray:
        return curved(X) + 0.2 * (X[:, 1] > 0) + np.sin(40 * X[:, 0])

    four = np.full(400, 4.0)
    weighted = both(old, new, [curved, changed], weights=four)
    tables = [np.repeat(X, 4, axis=0) for X in (old, new)]
    repeated = both(*tables, [curved, changed])
    ids = np.tile(np.repeat(np.arange(400), 4), 2)
    repeated.rows = replace(repeated.rows, dataset=replace(repeated.rows.dataset, keys=ids))
    alone = both(old, new, [curved, changed])
    p = [one.groups("model changed")[1] for one in (weighted, repeated, alone)]

    assert norm.isf(p[0]) == pytest.approx(norm.isf(p[1]), rel=0.01)
    assert norm.isf(p[0]) > 1.5 * norm.isf(p[2])


# --- features -------------------------------------------------------------------------------------


def test_the_error_of_a_changed_curve_is_that_of_tables_drawn_anew():
    old, new = (X[:, 1:] for X in (table(0, 300), table(1, 200)))
    old[:, 1], new[:, 1] = (np.round(X[:, 1]) for X in (old, new))  # of few values

    def model(X: np.ndarray) -> np.ndarray:
        return X[:, 0] * X[:, 1]

    def changed(X: np.ndarray) -> np.ndarray:
        return model(X) + 2.0 * X[:, 0] ** 2 + X[:, 1] * (1 + X[:, 0])

    found, rng = sd.drift(model, old, changed, new, **QUIET), np.random.default_rng(0)
    again = []
    for _ in range(100):
        P, Q = drawn(rng, old, new)
        again.append([f.curve_change for f in sd.drift(model, P, changed, Q, **QUIET).features])
    errors = [f.curve_change_error for f in found.features]
    np.testing.assert_allclose(errors, np.std(again, axis=0), rtol=0.2)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_errors_contain_that_of_the_effect_of_a_missing_value(weighted):
    """Of a squared loss it is 1 - 2 y; what it carries too much is too little in "jointly"."""
    old, new = table(0, 600), table(1, 600)
    old[:12, 0] = new[:240, 0] = np.nan
    rng = np.random.default_rng(0)
    w = rng.uniform(0.1, 1, (2, 600)) if weighted else np.ones((2, 600))
    y = rng.normal(0.5, 1, (2, 600)) / np.sqrt(w)

    def parts(*tables: np.ndarray) -> list[float]:
        absent, y, w = zip(*tables, strict=True)
        here = np.concatenate(absent) == 1
        effect = np.average((1 - 2 * np.concatenate(y))[here], weights=np.concatenate(w)[here])
        share, mean = (
            [np.average(values, weights=own) for values, own in zip(of_both, w, strict=True)]
            for of_both in (absent, [(v - a) ** 2 for v, a in zip(y, absent, strict=True)])
        )
        carried = (share[1] - share[0]) * effect
        return [carried, mean[1] - mean[0] - carried]

    given: Any = {"y_old": y[0], "y_new": y[1]}
    if weighted:
        given |= {"sample_weight_old": w[0], "sample_weight_new": w[1], "weight_kind": "sampling"}
    loss = sd.loss(lambda X: np.isnan(X[:, 0]).astype(float), "squared_error")
    drift = sd.drift(loss, old, X_new=new, **given, **QUIET)
    found = drift.features[0], drift.jointly
    rows = [
        [np.isnan(X[:, 0]).astype(float), *own] for X, *own in zip((old, new), y, w, strict=True)
    ]
    np.testing.assert_allclose([part.value for part in found], parts(*rows), rtol=1e-9)
    again = [parts(*(X.T for X in drawn(rng, *(np.array(r).T for r in rows)))) for _ in range(2000)]
    np.testing.assert_allclose([p.std_error for p in found], np.std(again, axis=0), rtol=0.05)
