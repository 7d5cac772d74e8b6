"""The order of a column, its mid-ranks and its hat functions against naive counterparts."""

from __future__ import annotations

import numpy as np
import pytest

from skedasis.stats.depends_on import hat_functions
from skedasis.stats.heterogeneity_score import ScoreOrder, mid_ranks, sorted_rows

R = np.random.default_rng(5)
NUMBERS = R.normal(size=400)
GAPS = np.where(R.random(400) < 0.2, np.nan, NUMBERS)
COLUMNS = {
    "numbers": NUMBERS,
    "missing values": GAPS,
    "ties": np.round(NUMBERS),
    "ties and missing values": np.round(2 * GAPS),
    "infinities": np.where(NUMBERS > 1.5, np.inf, np.where(NUMBERS < -1.5, -np.inf, GAPS)),
    "negative and huge": 1e300 * (np.round(NUMBERS, 1) - 5),
    "one value": np.where(np.isnan(GAPS), np.nan, 3.0),
    "nothing": np.full(400, np.nan),
}
every_column = pytest.mark.parametrize("x", COLUMNS.values(), ids=COLUMNS)


@every_column
def test_rows_are_sorted_by_value_and_then_by_place(x):
    want = sorted((i for i in range(len(x)) if x[i] == x[i]), key=lambda i: (x[i], i))
    assert sorted_rows(x).tolist() == want


@every_column
@pytest.mark.parametrize("weighted", [False, True])
def test_mid_ranks_are_the_weight_below_and_half_of_that_at_a_value(x, weighted):
    w = R.integers(1, 5, len(x)).astype(float)
    found = mid_ranks(x, w if weighted else None)
    w, there = w if weighted else np.ones(len(x)), ~np.isnan(x)
    for i in range(len(x)):
        parts = w[there & (x < x[i])].sum(), w[there & (x == x[i])].sum() / 2
        want = sum(parts) / w[there].sum() if there[i] else 0.5
        assert found.values[i] == pytest.approx(want, rel=1e-12)
    assert found.distinct == len(set(x[there].tolist()))
    np.testing.assert_array_equal(found.missing, ~there)


@every_column
def test_rows_without_a_value_are_in_no_pair(x):
    order = ScoreOrder.of(x, mid_ranks(x), 1.0, R.normal(size=len(x)))
    some = np.sort(np.flatnonzero(~np.isnan(x)))
    np.testing.assert_array_equal(np.sort(order.rows), some)
    assert (np.diff(order.key[order.rows]) >= 0).all()
    np.testing.assert_array_equal(order.by_value, sorted_rows(x))


@every_column
@pytest.mark.parametrize("knots", [2, 5, 200])
def test_hat_functions_interpolate_between_knots(x, knots):
    found, there = hat_functions(x, knots), ~np.isnan(x)
    np.testing.assert_array_equal(hat_functions(x, knots, sorted_rows(x)), found)
    if not there.any():
        assert found.shape == (len(x), 0)
        return
    unit = np.abs(x[np.isfinite(x)]).max()
    y = np.where(np.isinf(x), 2 * np.sign(x), x / unit)
    values = np.unique(y[there])
    if len(values) > 3 * knots:
        ordered = np.sort(y[there])
        values = np.unique(ordered[np.linspace(0, len(ordered) - 1, knots).astype(int)])
    want = np.zeros((len(x), len(values) + 1))
    for k, unit in enumerate(np.eye(len(values))):
        want[there, k] = np.interp(y[there], values, unit)
    want[~there, -1] = 1.0
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)
