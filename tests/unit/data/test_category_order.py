"""The order of nominal levels: distances against loops over rows, scaling against an independent computation."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from skedasis.data.category_order import OtherFeature, level_distances, similarity_order

# ----------------------------------------------------------- distances, computed row by row


def quantile(ordered, step):
    """Return R's type 7 quantile at step/99 of sorted values, in exact fractions."""
    h = Fraction(step * (len(ordered) - 1), 99)
    k = h.numerator // h.denominator
    above = ordered[min(k + 1, len(ordered) - 1)]
    return ordered[k] + (h - k) * (above - ordered[k])


def numeric_part(values, codes, a, b):
    """Return the largest difference of the distribution functions of levels a and b, at 100 quantiles."""
    rows = [
        (Fraction(v), c) for v, c in zip(values, codes, strict=True) if c >= 0 and not np.isnan(v)
    ]
    column = sorted(v for v, _ in rows)
    mine, yours = (sorted(v for v, c in rows if c == level) or column for level in (a, b))
    worst = Fraction(0)
    for step in range(100 if column else 0):
        q = quantile(column, step)
        shares = [Fraction(bisect_right(some, q), len(some)) for some in (mine, yours)]
        worst = max(worst, abs(shares[0] - shares[1]))
    return worst


def categorical_part(values, codes, a, b):
    """Return half the L1 distance between the frequencies of levels a and b."""
    rows = [(v, c) for v, c in zip(values, codes, strict=True) if c >= 0 and v >= 0]
    column = [v for v, _ in rows]
    mine, yours = ([v for v, c in rows if c == level] or column for level in (a, b))
    gaps = [
        abs(Fraction(mine.count(v), len(mine)) - Fraction(yours.count(v), len(yours)))
        for v in set(column)
    ]
    return sum(gaps, Fraction(0)) / 2


def counted(codes, levels, others, repeats=None):
    """Return all distances by loops over rows, pairs of levels and quantiles."""
    repeats = np.ones(len(codes), dtype=int) if repeats is None else repeats
    distances = np.zeros((levels, levels))
    for a, b in combinations(range(levels), 2):
        total = Fraction(0)
        for other in others:
            part, values = (
                (categorical_part, other.codes) if other.x is None else (numeric_part, other.x)
            )
            total += part(np.repeat(values, repeats), np.repeat(codes, repeats), a, b)
        distances[a, b] = distances[b, a] = float(total)
    return distances


def small(seed, n=70, levels=5, width=4):
    """Return codes and other features: ties, missing values, omitted rows, a level of one row and one without rows."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, levels - 2, n)
    codes[n // 2] = levels - 2  # no row has the last level
    rough = np.round(rng.normal(size=n) + 0.4 * codes, 1)
    smooth = rng.normal(size=n) ** 3
    smooth[rng.random(n) < 0.2] = np.nan
    smooth[codes == 0] = np.nan
    group = rng.integers(-1, 4, n) * (width // 4)
    group[codes == 1] = -1
    return codes, [
        OtherFeature(rough, None),
        OtherFeature(smooth, None),
        OtherFeature(None, group, width),
    ]


@pytest.mark.parametrize(("seed", "width"), [(0, 4), (1, 4000)])
def test_distances_are_those_counted_row_by_row(seed, width):
    codes, others = small(seed, width=width)
    got = level_distances(codes, 5, others, None)
    np.testing.assert_allclose(got, counted(codes, 5, others), rtol=1e-14, atol=1e-15)
    assert (got == got.T).all()
    assert (np.diag(got) == 0).all()


@pytest.mark.parametrize(("n", "weighted"), [(2, False), (100, True), (199, False), (298, True)])
def test_quantiles_lie_exactly_where_rows_are(n, weighted):
    # For some n, (n - 1) / 99 is an integer: a quantile rounded below its row would change a fraction by one row.
    rng = np.random.default_rng(n)
    rows = n // 2 + 1 if weighted else n
    repeats = np.bincount(np.append(np.arange(rows), rng.integers(0, rows, n - rows)))
    codes = np.arange(rows) % 8
    others = [OtherFeature(rng.permutation(rows) / 7, None)]
    got = level_distances(codes, 8, others, repeats.astype(float) if weighted else None)
    np.testing.assert_allclose(got, counted(codes, 8, others, repeats), rtol=1e-14)


@pytest.mark.parametrize(("seed", "width"), [(0, 4), (1, 4000)])
def test_whole_weights_are_repetitions(seed, width):
    codes, others = small(seed, width=width)
    repeats = np.random.default_rng(seed + 100).integers(0, 4, len(codes))
    weighted = level_distances(codes, 5, others, repeats.astype(float))
    np.testing.assert_allclose(weighted, counted(codes, 5, others, repeats), rtol=1e-14, atol=1e-15)
    again = [
        OtherFeature(np.repeat(o.x, repeats), None)
        if o.codes is None
        else OtherFeature(None, np.repeat(o.codes, repeats), width)
        for o in others
    ]
    np.testing.assert_allclose(
        weighted, level_distances(np.repeat(codes, repeats), 5, again, None), rtol=1e-14
    )


@pytest.mark.parametrize(("seed", "parts"), [(0, "eighths"), (1, "tenths")])
def test_fractional_weights_have_quantiles_at_positions_of_cumulated_weight(seed, parts):
    rng = np.random.default_rng(seed)
    n, unit = (60, 8) if parts == "eighths" else (1000, 10)
    # With 1,000 weights of 0.1, positions 0, 11.1, 22.2, … are boundaries between rows, except for rounding.
    parts = rng.integers(1, 30, n) if unit == 8 else np.ones(n, dtype=int)
    x, codes = rng.normal(size=n), rng.integers(0, 8, n)
    rows = sorted(zip(x, parts.tolist(), codes, strict=True))
    points = set()
    for step in range(100):
        total = Fraction(sum(parts.tolist()), unit)
        h, reached = Fraction(step, 99) * (total - min(1, total / n)), Fraction(0)
        for value, part, _ in rows:
            reached += Fraction(part, unit)
            if reached > h:
                points.add(value)
                break
    share = np.zeros((8, len(points)))
    for k in range(8):
        for i, q in enumerate(points):
            share[k, i] = sum(w for v, w, c in rows if c == k and v <= q) / parts[codes == k].sum()
    expected = np.abs(share[:, None] - share[None]).max(axis=2)
    got = level_distances(codes, 8, [OtherFeature(x, None)], parts / unit)
    np.testing.assert_allclose(got, expected, rtol=1e-13)


@pytest.mark.parametrize("unit", [1e-6, 0.5, 150.0, 2.0**40])
def test_the_unit_of_sampling_weights_changes_no_distance(unit):
    rng = np.random.default_rng(5)
    x, codes = rng.normal(size=130), rng.integers(0, 5, 130)
    for weights in (np.ones(130), rng.integers(1, 4, 130).astype(float)):
        got = level_distances(codes, 5, [OtherFeature(x, None)], weights * unit, sampling=True)
        want = level_distances(codes, 5, [OtherFeature(x, None)], weights, sampling=True)
        np.testing.assert_allclose(got, want, rtol=1e-12)
    equal = level_distances(codes, 5, [OtherFeature(x, None)], np.full(130, unit), sampling=True)
    plain = level_distances(codes, 5, [OtherFeature(x, None)], None)
    np.testing.assert_allclose(equal, plain, rtol=1e-12)


@pytest.mark.parametrize("width", [3, 3000])
def test_fractional_weights_are_frequencies_of_categories(width):
    codes = np.array([0, 0, 1, 1, 1])
    group = np.array([0, 1, 0, 2, 2])
    w = np.array([0.5, 1.5, 0.25, 0.5, 0.25])
    # Frequencies (1/4, 3/4, 0) and (1/4, 0, 3/4).
    got = level_distances(codes, 2, [OtherFeature(None, group, width)], w)
    np.testing.assert_allclose(got, [[0, 0.75], [0.75, 0]], rtol=1e-15)


def test_a_level_without_values_is_as_far_as_the_average():
    # Level 0 has the values 1 and 2, level 1 has 3 and 4. Level 2 has none: all values 1, 2, 3, 4 are used.
    codes = np.array([0, 0, 1, 1, 2])
    x = np.array([1.0, 2.0, 3.0, 4.0, np.nan])
    got = level_distances(codes, 3, [OtherFeature(x, None)], None)
    np.testing.assert_array_equal(got, [[0, 1, 0.5], [1, 0, 0.5], [0.5, 0.5, 0]])


def test_nothing_to_compare_gives_no_distance():
    codes = np.array([0, 1, 2, -1])
    nothing = np.zeros((3, 3))
    empty = [
        OtherFeature(np.full(4, np.nan), None),
        OtherFeature(np.array([np.nan, np.nan, np.nan, 1.0]), None),
        OtherFeature(np.full(4, 5.0), None),
        OtherFeature(None, np.full(4, -1), 2),
        OtherFeature(None, np.full(4, -1), 5000),
        OtherFeature(None, np.zeros(4, dtype=int), 1),
    ]
    for weights in (None, np.ones(4), np.zeros(4), np.full(4, 0.1)):
        np.testing.assert_array_equal(level_distances(codes, 3, [], weights), nothing)
        np.testing.assert_array_equal(level_distances(codes, 3, empty, weights), nothing)
    for levels in (0, 1):
        got = level_distances(np.zeros(levels, dtype=int), levels, empty[:0], None)
        assert got.shape == (levels, levels)
        assert not got.any()


@pytest.mark.parametrize("weight", [None, 0.1, 1 / 3, 0.7, 1.1])
@pytest.mark.parametrize("values", [6, 7, 49, 60])
def test_rounded_sums_are_no_distance(values, weight):
    # All levels have the same values with the same weights, but their sums are computed in different orders.
    rng = np.random.default_rng(0)
    x, codes, times = (part.ravel() for part in np.indices((values, 4, 9)))
    mixed = rng.permutation(len(x))
    x, codes, times = x[mixed], codes[mixed], times[mixed]
    weights = None if weight is None else weight * (1 + times)
    others = [
        OtherFeature(x * 1.0, None),
        OtherFeature(None, x, values),
        OtherFeature(None, x * 50, 3000),
    ]
    assert not level_distances(codes, 4, others, weights).any()


# ----------------------------------------------------- similarity order


def between(places):
    return np.abs(places[:, None] - places[None, :])


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("levels", [3, 4, 17, 200])
def test_points_on_a_line_are_found_in_order(levels, seed):
    places = np.random.default_rng(seed).normal(size=levels)
    expected = np.argsort(places)
    if places[0] > places.mean():
        expected = expected[::-1]
    for unit in (1.0, 1e-200, 1e200):
        np.testing.assert_array_equal(similarity_order(unit * between(places)), expected)


@pytest.mark.parametrize("seed", range(2))
def test_points_in_space_are_ordered_by_their_first_principal_component(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(40, 3)) * [3.0, 2.0, 1.0]
    centred = points - points.mean(axis=0)
    component = centred @ np.linalg.svd(centred)[2][0]
    expected = np.argsort(component if component[0] < 0 else -component)
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    np.testing.assert_array_equal(similarity_order(distances), expected)


@pytest.mark.parametrize("seed", range(2))
def test_distances_of_no_space_are_scaled_as_written(seed):
    # Not Euclidean: B has negative eigenvalues. The largest of these in absolute value must not be chosen.
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.uniform(0.2, 2, size=(12, 12)), 1)
    distances = upper + upper.T
    J = np.eye(12) - 1 / 12
    value, vector = np.linalg.eig(-0.5 * J @ distances**2 @ J)
    place = vector[:, np.argmax(value.real)].real
    place *= -np.sign(place[0])
    np.testing.assert_array_equal(similarity_order(distances), np.argsort(place))


def test_equal_places_keep_their_own_order():
    places = np.array([3.0, 1, 3, 2, 1, 3, 2, 1])
    expected = [0, 2, 5, 3, 6, 1, 4, 7]
    distances = between(places)
    np.testing.assert_array_equal(similarity_order(distances), expected)
    noise = np.random.default_rng(0).uniform(-1e-12, 1e-12, size=distances.shape)
    np.fill_diagonal(noise, 0)
    noisy = np.abs(distances + noise + noise.T)
    np.testing.assert_array_equal(similarity_order(noisy), expected)


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([1.0, 2, 4], [0, 1, 2]),
        ([4.0, 2, 1], [0, 1, 2]),
        ([0.0, 1, -1], [1, 0, 2]),  # level 0 is in the middle: level 1 determines the direction
        ([0.0, -1, 1], [1, 0, 2]),
        ([1.0, 5, 0], [2, 0, 1]),
    ],
)
def test_the_first_level_lies_on_the_lower_side(places, expected):
    np.testing.assert_array_equal(similarity_order(between(np.array(places))), expected)


@pytest.mark.parametrize("levels", [0, 1, 2, 3, 8])
def test_without_distances_the_order_is_the_own(levels):
    own = np.arange(levels)
    np.testing.assert_array_equal(similarity_order(np.zeros((levels, levels))), own)
    if levels == 2:
        np.testing.assert_array_equal(similarity_order(np.array([[0.0, 1], [1, 0]])), own)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_planted_order_of_thirty_levels_is_found(weighted):
    rng = np.random.default_rng(12)
    place = rng.permutation(30)
    codes = rng.integers(0, 30, 30_000)
    latent = place[codes] / 30
    others = [
        OtherFeature(latent + 0.2 * rng.normal(size=len(codes)), None),
        OtherFeature(np.exp(-latent + 0.3 * rng.normal(size=len(codes))), None),
        OtherFeature(None, (rng.random(len(codes)) < latent).astype(int), 2),
        OtherFeature(rng.normal(size=len(codes)), None),
    ]
    weights = rng.uniform(0.5, 1.5, len(codes)) if weighted else None
    found = place[similarity_order(level_distances(codes, 30, others, weights))]
    expected = np.arange(30) if place[0] < 15 else np.arange(30)[::-1]
    np.testing.assert_array_equal(found, expected)
