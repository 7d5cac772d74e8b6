"""The search for regions on arrays: gains, thresholds and checks against naive loops; planted and null data."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from skedasis.stats.conditioning import code_levels, code_numbers
from skedasis.stats.regions import (
    DEEP,
    NO_CUT,
    NO_LOSS,
    NOT_HELD,
    TOO_FEW,
    TOO_SMALL,
    CellEffects,
    CurveEffects,
    RegionSearch,
    _gain_of_four,
    cell_path,
    slope_effects,
)

# --- naive counterparts


def naive_gain(node, left, weights):
    """Return the gain of a division by recomputed sums of squares, or by the distance of the two curves."""
    w = np.ones(len(left)) if weights is None else weights
    at = np.arange(len(left)) if node.place is None else node.place
    e, entry_w, side = node.residual, w[at], left[at]
    curves = e.ndim == 2
    cell = np.zeros(len(e), int) if curves else node.cell
    size = e.shape[1] if curves else len(node.n)
    if node.form is None:
        squares = 0.0
        for k in range(size):
            here = cell == k
            for some, sign in ((here, 1), (here & side, -1), (here & ~side, -1)):
                if some.any():
                    mean = np.average(e[some], weights=entry_w[some])
                    squares += sign * float(entry_w[some] @ (e[some] - mean) ** 2)
        return node.scale * squares
    difference = np.zeros(size)
    for k in range(size):
        here = np.ones(len(e), bool) if curves else cell == k
        one, other = here & side, here & ~side
        if one.any() and other.any():
            values = e[:, k] if curves else e
            difference[k] = np.average(values[one], weights=entry_w[one]) - np.average(
                values[other], weights=entry_w[other]
            )
    share = w[left].sum() / w.sum()
    return share * (1 - share) * w.sum() * float(difference @ node.form @ difference)


def every_cut(column, rows):
    """Yield the largest left value, whether missing values go left, and the left side of every cut of a column."""
    x = column.values[rows]
    present = np.unique(x[~np.isnan(x)])
    lost = np.isnan(x)
    for missing_left in (False, True) if lost.any() else (False,):
        for value in present[: len(present) - (0 if lost.any() and not missing_left else 1)]:
            yield value, missing_left, (x <= value) | (lost & missing_left)


def brute_force(effects, column, rows, weights, least):
    """Return the largest gain of all cuts of a column, and its left side."""
    own = None if weights is None else weights[rows]
    node = effects.node(rows, own)
    w = np.ones(len(rows)) if own is None else own
    best = (0.0, None)
    for _, _, left in every_cut(column, rows):
        if min(w[left].sum(), w[~left].sum()) >= least * 0.999:
            gain = naive_gain(node, left, own)
            if gain > best[0]:
                best = gain, left
    return best


KINDS = ("within", "within curves", "two entries", "two entries curves", "slopes", "ice")


def local_effects(kind, n, seed=0, depending=None, noise=1.0):
    """Return local effects of a kind; they depend on `depending`, and some rows have none."""
    rng = np.random.default_rng(seed)
    shift = np.zeros(n) if depending is None else depending
    lost = rng.random(n) < 0.05
    if kind == "ice":
        curve = shift[:, None] * np.linspace(-1, 1, 6) + noise * rng.normal(size=(n, 6))
        share = np.array([1, 2, 3, 1, 1, 2]) / 10
        place = np.where(lost, -1, np.cumsum(~lost) - 1)
        curve = curve[~lost]
        return CurveEffects(curve - (curve @ share)[:, None], share, place)
    if kind == "slopes":
        x = rng.normal(size=n)
        x[lost] = np.nan
        slopes = 3 * x + shift + noise * rng.normal(size=n)
        return slope_effects(x, slopes, 1.7)
    curves = kind.endswith("curves")
    if kind.startswith("two"):
        code = rng.integers(0, 4, n)
        value = shift[:, None] + noise * rng.normal(size=(n, 2))
        value[code == 0, 0] = value[code == 3, 1] = np.nan
        value[lost] = np.nan
        cell = np.stack([2 * code - 1, 2 * code], axis=1).clip(0, 5)
        path = np.repeat(np.tri(4, 3, -1), 2, axis=1) / 2 if curves else None
        return CellEffects(value, cell, 6, 1.3, path, np.where(lost, -1, code) if curves else None)
    cell = rng.integers(0, 5, n)
    value = shift + cell + noise * rng.normal(size=n)
    value[lost] = np.nan
    path = cell_path(np.arange(1.0, 6.0)) if curves else None
    return CellEffects(value, cell, 5, 0.8, path, np.where(lost, -1, cell) if curves else None)


every_kind = pytest.mark.parametrize("kind", KINDS)
weighted = pytest.mark.parametrize("weights", [False, True], ids=["unweighted", "weighted"])


def search_of(effects, columns, n, *, weights=None, **options):
    half = np.random.default_rng(99).random(n) < 0.5
    return RegionSearch([effects], columns, half, weights, **{"min_rows": 20.0, **options})


# --- residuals


@weighted
def test_residuals_of_slopes_are_those_of_lines_in_fine_cells(weights):
    rng = np.random.default_rng(1)
    n = 6000
    x, slopes = rng.normal(size=n), rng.normal(size=n)
    w = rng.integers(1, 4, n).astype(float) if weights else None
    effects = slope_effects(x, slopes, 1.0, w)
    rows = np.arange(n)
    node = effects.node(rows, w)
    assert effects.per_cell > 1
    np.testing.assert_array_equal(effects.cell, effects.fine // effects.per_cell)
    expected = np.empty(n)
    for k in range(32 * effects.per_cell):
        here = effects.fine == k
        assert here.sum() >= 8
        root = None if w is None else np.sqrt(w[here])
        line = np.polyfit(x[here], slopes[here], 1, w=root)
        expected[here] = slopes[here] - np.polyval(line, x[here])
    np.testing.assert_allclose(node.residual, expected, atol=1e-12)
    assert node.squares == pytest.approx(
        float((1 if w is None else w) @ expected**2 if weights else expected @ expected)
    )


@pytest.mark.parametrize("n", [7, 8])
def test_lines_are_fitted_to_eight_rows_or_more(n):
    x = np.arange(float(n))
    effects = CellEffects(2 * x, np.zeros(n, int), 1, x=x, fine=np.zeros(n, int))
    residual = effects.node(np.arange(n), None).residual
    np.testing.assert_allclose(residual, 0 * x if n == 8 else 2 * x - 6.0, atol=1e-12)


def test_curvature_leaves_almost_no_residual():
    x = np.random.default_rng(0).normal(size=20_000)
    effects = slope_effects(x, 3 * np.cos(3 * x), 1.0)
    node = effects.node(np.arange(20_000), None)
    assert node.squares / 20_000 < 1e-2 * 4.5


@weighted
def test_residuals_of_curves_and_of_cells_have_weighted_mean_zero(weights):
    n = 400
    w = np.random.default_rng(5).integers(1, 5, n).astype(float) if weights else None
    for kind in KINDS:
        node = local_effects(kind, n, 3).node(np.arange(n), w)
        at = np.arange(n) if node.place is None else node.place
        own = np.ones(len(at)) if w is None else w[at]
        if kind == "ice":
            np.testing.assert_allclose(own @ node.residual, 0, atol=1e-10)
        else:
            np.testing.assert_allclose(np.bincount(node.cell, own * node.residual), 0, atol=1e-10)


# --- gains and thresholds


@pytest.mark.parametrize(
    ("kind", "weights", "missing"),
    list(zip(KINDS, [True, False] * 3, [True, True, False] * 2, strict=True)),
)
def test_gains_of_cuts_are_those_of_a_naive_loop(kind, weights, missing):
    n, rng = 240, np.random.default_rng(7)
    z = rng.integers(0, 9, n).astype(float)
    if missing:
        z[rng.random(n) < 0.2] = np.nan
    column = code_numbers(z)
    w = rng.integers(1, 4, n).astype(float) if weights else None
    effects = local_effects(kind, n, 11, np.where(np.isnan(z), 2, z > 5))
    rows = np.arange(n)
    node = effects.node(rows, w)
    tables = node.tables(column.codes.astype(np.int64), column.width)
    whole = tables[0].sum(axis=1), tables[1].sum(axis=1)
    total = n if w is None else w.sum()
    seen = 0
    for value, missing_left, left in every_cut(column, rows):
        picked = [*range(int(np.searchsorted(column.upper, value)) + 1)]
        picked += [column.size] * missing_left
        sums = tables[0][:, picked].sum(axis=1)[:, None], tables[1][:, picked].sum(axis=1)[:, None]
        size = np.array([float(left.sum() if w is None else w[left].sum())])
        found = node.gains(sums, whole, size, float(total))
        assert found.shape == (1,)
        assert found[0] == pytest.approx(naive_gain(node, left, w), rel=1e-9, abs=1e-9)
        seen += 1
    assert seen == (17 if missing else 8)


@pytest.mark.parametrize(
    ("kind", "weights", "missing", "few"),
    [
        ("within", False, False, False),
        ("within curves", True, True, False),
        ("two entries", False, True, True),
        ("two entries curves", True, False, True),
        ("slopes", True, True, True),
        ("slopes", False, False, False),
        ("ice", False, True, False),
        ("ice", True, False, True),
    ],
)
def test_the_best_cut_is_that_of_brute_force(kind, weights, missing, few):
    n, rng = 700, np.random.default_rng(17)
    z = rng.integers(0, 20, n).astype(float) if few else rng.normal(size=n)
    if missing:
        z[rng.random(n) < 0.15] = np.nan
    w = rng.integers(1, 4, n).astype(float) if weights else None
    side = np.where(np.isnan(z), 0.0, z > (11 if few else 0.4))
    effects = local_effects(kind, n, 19, 2 * side, noise=0.5)
    search = search_of(effects, [code_numbers(z, w)], n, weights=w)
    rows = np.flatnonzero(search.half)
    cut = search.best_cut([search.part(rows)])
    gain, left = brute_force(effects, search.columns[0], rows, w, 10)
    held = cut.holds(search.columns[0], rows)
    found = naive_gain(
        effects.node(rows, None if w is None else w[rows]), held, None if w is None else w[rows]
    )
    assert found == pytest.approx(gain, rel=1e-9)
    np.testing.assert_array_equal(held, left)


def test_all_values_may_go_left_and_missing_ones_right():
    n, rng = 600, np.random.default_rng(2)
    z = rng.normal(size=n)
    z[rng.random(n) < 0.4] = np.nan
    effects = CellEffects(np.isnan(z) + 0.1 * rng.normal(size=n), np.zeros(n, int), 1)
    search = search_of(effects, [code_numbers(z)], n)
    cut = search.best_cut([search.part(np.arange(n))])
    assert cut.threshold == math.inf
    np.testing.assert_array_equal(cut.holds(search.columns[0], np.arange(n)), ~np.isnan(z))


@every_kind
def test_levels_are_divided_as_by_the_best_of_all_subsets(kind):
    n, rng = 900, np.random.default_rng(23)
    codes = rng.integers(0, 6, n)
    codes[rng.random(n) < 0.1] = -1
    effects = local_effects(kind, n, 29, 2.0 * np.isin(codes, [1, 4]), noise=0.3)
    column, _ = code_levels(codes, 6, ordered=False)
    search = search_of(effects, [column], n)
    rows = np.arange(n)
    cut = search.best_cut([search.part(rows)])
    node = effects.node(rows, None)
    gains = {
        chosen: naive_gain(node, np.isin(column.codes, chosen), None)
        for size in (1, 2, 3)
        for chosen in itertools.combinations(range(7), size)
    }
    best = max(gains, key=gains.__getitem__)
    assert best == (1, 4)
    assert set(np.flatnonzero(cut.left)) in ({1, 4}, {0, 2, 3, 5, 6})


def test_least_rows_of_a_side_are_kept():
    n = 400
    z = np.arange(n, dtype=float)
    effects = CellEffects((z < 12).astype(float), np.zeros(n, int), 1)
    search = RegionSearch([effects], [code_numbers(z)], np.arange(n) % 2 == 0, min_rows=80.0)
    for rows in (np.arange(n), np.flatnonzero(search.half)):
        held = search.best_cut([search.part(rows)]).holds(search.columns[0], rows)
        assert (
            40 <= held.sum() <= 41
        )  # half of the least rows of a region, since the rows are halved


@every_kind
@weighted
def test_the_gain_of_two_cuts_is_that_of_their_four_groups(kind, weights):
    n, rng = 400, np.random.default_rng(59)
    group = rng.integers(0, 4, n)
    w = rng.integers(1, 4, n).astype(float) if weights else None
    node = local_effects(kind, n, 61, group % 3.0).node(np.arange(n), w)
    size = np.bincount(group, w, 4)
    count, total = node.tables(group, 4)
    found = _gain_of_four(
        node, count.T[:, :, None, None], total.T[:, :, None, None], size[:, None, None]
    )
    assert found.shape == (1, 1)
    assert found[0, 0] == pytest.approx(node.group_gain(*node.group_means(group, 4), size))
    # In a node of one feature, two groups that are divided no further gain what a single cut gains.
    halves = np.where(group < 2, 0, 3)
    count, total = node.tables(halves, 4)
    size = np.bincount(halves, w, 4)
    found = _gain_of_four(
        node, count.T[:, :, None, None], total.T[:, :, None, None], size[:, None, None]
    )
    assert found[0, 0] == pytest.approx(naive_gain(node, halves == 0, w))


def test_parts_that_share_a_cut_keep_half_as_many_rows_each():
    n = 400
    z = np.arange(n, dtype=float)
    effects = CellEffects((z < 12).astype(float), np.zeros(n, int), 1)
    search = RegionSearch([effects], [code_numbers(z)], np.arange(n) % 2 == 0, min_rows=80.0)
    parts = [search.part(np.flatnonzero(half)) for half in (search.half, ~search.half)]
    held = search.best_cut(parts).holds(search.columns[0], np.arange(n))
    assert [held[part.rows].sum() for part in parts] == [20, 20]


def test_two_values_can_be_divided():
    z = np.repeat([0.0, 1.0], 50)
    effects = CellEffects(z + 0.1 * np.sin(np.arange(100)), np.zeros(100, int), 1)
    search = search_of(effects, [code_numbers(z)], 100)
    cut = search.best_cut([search.part(np.arange(100))])
    np.testing.assert_array_equal(cut.holds(search.columns[0], np.arange(100)), z == 0)


def test_a_threshold_lies_before_the_next_value_of_the_rows():
    """Rows of the node that lie above a code, not other rows of the data, decide where it ends."""
    z = np.sort(np.random.default_rng(41).normal(size=3000))
    z[1::7] = np.nan
    search = search_of(CellEffects(z, np.zeros(3000, int), 1), [code_numbers(z)], 3000)
    column, rows = search.columns[0], np.arange(0, 3000, 5)
    codes = column.codes[rows]
    for code in range(0, column.size - 1, 9):
        above = z[rows][(codes > code) & ~np.isnan(z[rows])]
        one, other = search.part(rows[::2]), search.part(rows[1::2])
        assert search._next_value(column, code, [one, other]) == above.min()
    nothing = search.part(rows[codes <= 3])
    assert search._next_value(column, 3, [nothing]) == column.upper[4]


@pytest.mark.parametrize("kind", ["within", "two entries curves", "ice"])
def test_gains_do_not_depend_on_how_many_cuts_are_computed_at_a_time(kind, monkeypatch):
    n, rng = 500, np.random.default_rng(43)
    z = rng.normal(size=n)
    search = search_of(local_effects(kind, n, 47, z > 0.2), [code_numbers(z)], n)
    part, column = search.part(np.arange(n)), search.columns[0]
    values = search._near_values(column, 3, [part])
    left = np.zeros(column.width, dtype=bool)
    whole = search._gains_at(values, column, 3, left, [part])
    monkeypatch.setattr("skedasis.stats.regions._CHUNK", 18)
    np.testing.assert_allclose(
        search._gains_at(values, column, 3, left, [part]), whole, rtol=1e-12, atol=1e-15
    )
    assert len(values) > 5
    assert whole.max() > 0


# --- the check


@every_kind
@weighted
def test_the_gain_on_other_rows_is_the_naive_cross_product(kind, weights):
    """The sum over groups and cells of n · (mean of A - that of all groups) · mean of B, or its quadratic form."""
    n, rng = 500, np.random.default_rng(31)
    group = rng.integers(0, 3, n)
    w = rng.integers(1, 4, n).astype(float) if weights else None
    effects = local_effects(kind, n, 37, group.astype(float))
    search = search_of(effects, [], n, weights=w)
    rows = np.arange(n)
    a, b = search.part(rows[search.half]), search.part(rows[~search.half])
    t, p_value = search.test(a, b, group[a.rows], group[b.rows], 3)
    assert t.shape == (len(b.rows),)
    of_a, of_b = a.nodes[0], b.nodes[0]
    n_b, mean_b = of_b.group_means(group[b.rows], 3)
    _, mean_a = of_a.group_means(group[a.rows], 3)
    mean_a = np.where(n_b > 1.5, mean_a, 0) / of_a.kept_share
    if of_b.form is None:
        centre = (n_b * mean_a).sum(axis=0) / n_b.sum(axis=0)
        expected = of_b.scale * float((n_b * (mean_a - centre) * mean_b).sum())
    else:
        size = np.bincount(group[b.rows], b.weights, 3)
        centre = size @ mean_a / size.sum()
        usable = np.where(n_b > 1.5, mean_b, 0)
        expected = float(np.einsum("q,qk,kl,ql->", size, mean_a - centre, of_b.form, usable))
    assert t.sum() == pytest.approx(expected, rel=1e-9)
    assert 0 <= p_value < 1e-3


def test_the_p_value_is_students_with_satterthwaites_degrees_of_freedom():
    n, rng = 300, np.random.default_rng(0)
    group = rng.integers(0, 2, n)
    effects = CellEffects(rng.standard_t(3, n) + 0.2 * group, np.zeros(n, int), 1)
    search = search_of(effects, [], n)
    rows = np.arange(n)
    a, b = search.part(rows[search.half]), search.part(rows[~search.half])
    t, p_value = search.test(a, b, group[a.rows], group[b.rows], 2)
    squares = (t / np.sqrt(1 - 1 / len(t))) ** 2
    df = squares.sum() ** 2 / (squares**2).sum()
    assert p_value == pytest.approx(stats.t.sf(t.sum() / np.sqrt(squares.sum()), df))


def test_stability_is_the_agreement_with_the_best_cut_of_the_other_half():
    n, rng = 2000, np.random.default_rng(3)
    z = rng.uniform(-1, 1, n)
    effects = CellEffects((z > 0) + 1.5 * rng.normal(size=n), np.zeros(n, int), 1)
    search = search_of(effects, [code_numbers(z)], n, max_depth=1)
    root = search.run()
    other = search.best_cut([search.part(np.flatnonzero(~search.half))])
    one, two = (c.holds(search.columns[0], np.arange(n)) for c in (root.split.cuts[0], other))
    assert root.split.stability == pytest.approx(cohen_kappa_score(one, two))
    assert (root.split.other.column, root.split.other.threshold) == (0, other.threshold)
    assert 0.5 < root.split.stability < 1


# --- planted structure


def found(X, d, s=0, *, nominal=(), half_seed=0, chooses=0.5, **options):
    """Return the tree of the slopes d of feature s."""
    n = len(d)
    columns = [
        code_levels(X[:, j].astype(int), int(X[:, j].max()) + 1, ordered=False)[0]
        if j in nominal
        else code_numbers(X[:, j])
        for j in range(X.shape[1])
        if j != s
    ]
    half = np.random.default_rng(half_seed).random(n) < chooses
    effects = slope_effects(X[:, s], d, float(np.var(X[:, s])))
    options = {"min_gain": 0.01, "min_rows": max(20, 0.01 * n), **options}
    return RegionSearch([effects], columns, half, **options).run()


def explained(root):
    """Return the share of the loss that the leaves explain."""
    left = sum(leaf.weight * leaf.loss for leaf in root.leaves())
    return 1 - left / (root.weight * root.loss)


@pytest.mark.parametrize(
    ("n", "seed"),
    [
        (1000, 0),
        (10_000, 1),
        (100_000, 2),
        pytest.param(1_000_000, 0, marks=pytest.mark.slow),
    ],
)
def test_a_switch_is_one_split_at_its_place(n, seed):
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 5))
    root = found(X, (X[:, 1] > 0) * 1.0)
    assert len(root.leaves()) == 2
    (cut,) = root.split.cuts
    assert cut.column == 0
    assert abs(cut.threshold) <= 3 / n
    assert explained(root) >= 0.999
    if n >= 10_000:
        assert root.split.gain / root.loss >= 0.97


def test_a_skewed_feature_is_cut_at_its_median():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (10_000, 5))
    X[:, 1] = np.exp(1.5 * rng.normal(size=10_000))
    root = found(X, (X[:, 1] > 1) * 1.0)
    assert root.split.cuts[0].threshold == pytest.approx(1, abs=0.02)
    assert explained(root) >= 0.99


def test_two_cuts_at_once_divide_the_rows_into_four_parts():
    n, rng = 800, np.random.default_rng(53)
    z = rng.uniform(-1, 1, (n, 2))
    effects = CellEffects(np.sign(z[:, 0] * z[:, 1]), np.zeros(n, int), 1)
    root = search_of(effects, [code_numbers(z[:, 0]), code_numbers(z[:, 1])], n).run()
    assert [len(root.children), *(len(child.children) for child in root.children)] == [2, 2, 2]
    for node in (root, *root.children):
        parts = np.concatenate([child.rows for child in node.children])
        np.testing.assert_array_equal(np.sort(parts), node.rows)
    for leaf in root.leaves():
        assert abs(np.sign(z[leaf.rows, 0] * z[leaf.rows, 1]).mean()) > 0.8


# --- many columns


def wide(rows, columns, seed, kind="slopes"):
    """Return a search among noise, in which one pair of columns acts by an exclusive or, and the places of the pair."""
    rng = np.random.default_rng([3, seed])
    X = rng.uniform(-1, 1, size=(rows, columns + 3))
    pair = np.sort(rng.permutation(columns + 2)[:2])
    sign = np.sign(np.prod(X[:, 1 + pair], axis=1))
    if kind == "curves":
        curve = sign[:, None] * np.linspace(-1, 1, 12) + rng.normal(size=(rows, 12))
        effects = CurveEffects(curve - curve.mean(axis=1, keepdims=True), np.full(12, 1 / 12))
    else:  # the sign of the interaction changes along the feature
        shape = np.cos(4 * X[:, 0]) if kind == "waves" else 1.0
        effects = slope_effects(X[:, 0], sign * shape + rng.normal(size=rows), 1.0)
    half = rng.random(rows) < 0.5
    columns = [code_numbers(x) for x in X[:, 1:].T]
    # At a level at which no single cut holds by chance, after which no pair would be tried.
    return RegionSearch([effects], columns, half, alpha=1e-3), pair


@pytest.mark.parametrize("kind", ["slopes", "waves", "curves"])
def test_an_exclusive_or_is_found_among_a_hundred_columns_of_noise(kind):
    for seed in range(10):
        search, pair = wide(2_000, 100, seed, kind)
        cuts = search.run().split.cuts
        assert [c.column for c in cuts] == pair.tolist()
        assert [c.threshold for c in cuts] == pytest.approx([0, 0], abs=0.1)


@pytest.mark.parametrize("weights", [False, True])
def test_ranks_of_pairs_are_those_of_loops_over_their_groups(weights):
    """Of each two groups the sum of e z z', squared, is compared with what it is on average without a difference."""
    rng, cells, n = np.random.default_rng(19), 4, 480
    cell, sizes = np.arange(n) % cells, [2, 4, 3, 2, 4, 4]
    codes = [rng.permutation(np.arange(n) % size) for size in sizes]
    own = np.tile(rng.integers(1, 4, n // cells), (cells, 1)).T.ravel().astype(float)
    w = own if weights else np.ones(n)
    y = rng.normal(size=n) + 0.5 * np.where(codes[0] == 1, 1.0, -1.0) * (codes[4] > 1)
    columns = [code_numbers(code.astype(float)) for code in codes]
    search = RegionSearch(
        [CellEffects(y, cell, cells)], columns, np.ones(n, bool), w if weights else None
    )
    found = search._strengths(search.part(np.arange(n)), range(len(sizes)))

    e = np.zeros((n, cells))
    for k in range(cells):
        here = cell == k
        e[here, k] = (w * (y - np.average(y[here], weights=w[here])))[here]
    square = (e**2).sum(axis=1)
    z = [
        [(code == g) - (code == g).mean() for g in range(size)]
        for code, size in zip(codes, sizes, strict=True)
    ]
    parts = (e**2).sum(axis=0)
    for i, j in itertools.combinations(range(len(sizes)), 2):
        together, apart, count = 0.0, 0.0, 0
        of_pair = [(a, b, square.sum()) for a in z[i] for b in z[j]]
        for a, b, unit in (*of_pair, *((a, 1 + 0 * a, 1.0) for a in (*z[i], *z[j]))):
            expected = (square @ a**2) * (square @ b**2 / unit if unit != 1.0 else 1.0)
            together += (e.sum(axis=1) @ (a * b)) ** 2 / expected
            apart += ((e.T @ (a * b)) ** 2).sum() / expected
            count += 1
        several = math.sqrt((parts**2).sum()) / parts.sum()
        want = max((together - count), (apart - count) / several) / math.sqrt(count)
        assert [found[i, j], found[j, i]] == pytest.approx([want, want], rel=1e-3, abs=1e-3)


def test_many_columns_are_first_chosen_by_what_they_explain_alone(monkeypatch):
    monkeypatch.setattr("skedasis.stats.regions._SCREENED", 40)
    search, _ = wide(400, 60, 0)
    gains = dict(enumerate(np.random.default_rng(2).permutation(len(search.columns)).tolist()))
    pairs = search._pairs(search.part(np.arange(400)), range(len(search.columns)), gains)
    assert len(pairs) == len(set(pairs)) == 64
    assert min(gains[j] for pair in pairs for j in pair) >= len(search.columns) - 40


@every_kind
@weighted
def test_gains_of_two_cuts_are_those_of_the_four_parts(kind, weights):
    """0 where one of the four parts has too little weight."""
    n, rng = 300, np.random.default_rng(23)
    z = rng.integers(0, 4, (2, n))
    z[1] = np.where(rng.random(n) < 0.8, z[0], z[1])  # some parts are small
    w = rng.integers(1, 4, n).astype(float) if weights else None
    effects = local_effects(kind, n, 29, 1.0 * (z[0] > 1) * (z[1] > 2))
    part = search_of(effects, [code_numbers(x * 1.0) for x in z], n, weights=w).part(np.arange(n))
    sides, least = np.tri(3, 4, dtype=bool), 12.0
    (found,) = RegionSearch._gains_of_pairs(
        part, [(0, 1)], dict(enumerate(z)), (sides, sides), least
    )
    node, own = part.nodes[0], np.ones(n) if w is None else w
    at = np.arange(n) if node.place is None else node.place
    refused = 0
    for a, b in itertools.product(range(3), range(3)):
        group = 2 * (z[0] <= a) + (z[1] <= b)
        size = np.array([own[group == q].sum() for q in range(4)])
        if size.min() < least:
            refused += 1
            assert found[a, b] == 0
            continue
        mean, weight = np.zeros((4, node.n_cells)), np.zeros((4, node.n_cells))
        for q, k in itertools.product(range(4), range(node.n_cells)):
            curves = node.residual.ndim == 2
            here = (group[at] == q) & (True if curves else node.cell == k)
            weight[q, k] = own[at][here].sum()
            if here.any():
                value = node.residual[here, k] if curves else node.residual[here]
                mean[q, k] = np.average(value, weights=own[at][here])
        if node.form is None:
            want = node.scale * (weight * mean**2).sum()
        else:
            far = mean - np.average(mean, axis=0, weights=size)
            want = sum(s * d @ node.form @ d for s, d in zip(size, far, strict=True))
        assert found[a, b] == pytest.approx(want, rel=1e-9)
    assert 0 < refused < 9


@pytest.mark.parametrize("columns", [10, 60, 300])
def test_tables_of_two_columns_do_not_grow_with_the_columns(columns, monkeypatch):
    tried, single, refined = [], [], []
    pairs, best, exact = RegionSearch._gains_of_pairs, RegionSearch._best_of, RegionSearch._refined

    def counting(part, block, *rest):
        tried.extend(block)
        return pairs(part, block, *rest)

    def one(self, some, parts):
        single.extend(some)
        return best(self, some, parts)

    def near(self, candidate, parts):
        refined.append(candidate.column)
        return exact(self, candidate, parts)

    monkeypatch.setattr(RegionSearch, "_gains_of_pairs", staticmethod(counting))
    monkeypatch.setattr(RegionSearch, "_best_of", one)
    monkeypatch.setattr(RegionSearch, "_refined", near)
    n, rng = 400, np.random.default_rng(7)
    effects = CellEffects(rng.normal(size=n), np.zeros(n, int), 1)
    codes = [code_numbers(x) for x in rng.normal(size=(columns, n))]
    RegionSearch([effects], codes, rng.random(n) < 0.5, alpha=1e-9).run()
    # Then each of the two cuts is chosen again, twice.
    assert len(single) == columns + 4
    assert len(set(tried)) == len(tried) == (math.comb(10, 2) if columns == 10 else 64)
    assert len(refined) <= 32 + 4


@every_kind
@weighted
def test_columns_that_are_searched_together_have_the_cuts_of_each_alone(kind, weights):
    n, rng = 600, np.random.default_rng(71)
    z = rng.normal(size=(9, n))
    z[2], z[3] = np.round(z[2]), rng.integers(0, 2, n)
    z[4:6, rng.random(n) < 0.2] = np.nan
    w = rng.integers(1, 4, n).astype(float) if weights else None
    columns = [code_numbers(x, w) for x in z]
    columns.append(code_levels(rng.integers(-1, 6, n), 6, ordered=False)[0])
    effects = local_effects(kind, n, 73, 1.0 * (z[0] > 0.3))
    search = search_of(effects, columns, n, weights=w)
    parts = [search.part(np.arange(n))]
    together = search._candidates(parts, range(len(columns)))
    alone = [c for j in range(len(columns)) for c in search._candidates(parts, [j])]
    assert len(together) == len(alone) == len(columns)
    for one, other in zip(together, alone, strict=True):
        assert one.gain == pytest.approx(other.gain, rel=1e-12)
        assert (one.column, one.count, one.missing_left) == (
            other.column,
            other.count,
            other.missing_left,
        )


# --- reasons


def test_leaves_say_why_they_are_not_divided():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1000, 3))
    assert found(X, rng.normal(size=1000)).note == NOT_HELD
    assert found(X, np.full(1000, 0.1)).note == NO_LOSS
    assert found(X[:30], rng.normal(size=30)).note == TOO_FEW
    assert found(X, (X[:, 1] > 0) * 1.0, allowed=[]).note == NO_CUT
    assert {
        leaf.note for leaf in found(X, (X[:, 1] > 0) + 0.1 * X[:, 2], max_depth=1).leaves()
    } == {DEEP}
    weak = found(X, 0.2 * np.sign(X[:, 1]) + rng.normal(size=1000), min_gain=0.5)
    assert weak.note == TOO_SMALL
    assert weak.rejected.p_value <= weak.rejected.level == 0.8 * 0.05
    assert weak.rejected.gain < 0.5 * weak.loss


def test_p_values_of_rejected_cuts_are_uniform_where_there_is_no_effect():
    """The best of 400 and more cuts of ten columns, chosen on half A: its one test on half B knows nothing of that."""
    p_values = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (300, 11))
        slopes = rng.normal(size=300) * (
            1 + (X[:, 1] > 0)
        )  # the scatter differs, the mean does not
        root = found(X, slopes, half_seed=seed, alpha=1e-12)
        assert root.note == NOT_HELD
        if root.rejected is not None:  # None: a side has fewer than five rows of half B
            p_values.append(root.rejected.p_value)
    assert len(p_values) > 290
    assert stats.kstest(p_values, "uniform").pvalue > 0.01
    assert np.mean(np.array(p_values) < 0.05) < 0.09


def test_a_rejected_cut_is_the_single_one_even_if_two_at_once_were_tried():
    """An exclusive or that is too weak for its level, beside which the single cut has its own p-value."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1000, 3))
    slopes = 0.5 * np.sign(X[:, 1] * X[:, 2]) + rng.normal(size=1000)
    single = found(X, slopes, look_ahead=False, alpha=1e-12)
    both = found(X, slopes, alpha=1e-12)
    assert len(both.rejected.cuts) == 1
    assert both.rejected.p_value == single.rejected.p_value
    small = found(X, slopes, min_gain=0.5)
    assert (small.note, small.rejected) == (
        TOO_SMALL,
        None,
    )  # it is two cuts that explain too little


def test_constant_columns_and_other_columns_are_no_candidates():
    X = np.random.default_rng(0).uniform(-1, 1, (1000, 4))
    X[:, 3] = 2.0
    assert found(X, (X[:, 1] > 0) * 1.0, allowed=[1, 2]).note == NOT_HELD


# --- laws


def taken(effects, rows, factor=1):
    """Return the local effects of these rows, times a factor."""
    if isinstance(effects, CurveEffects):
        return CurveEffects(factor * effects.curve, effects.point_weights, effects.place[rows])
    of_rows = (effects.point, effects.x, effects.fine)
    return CellEffects(
        factor * effects.value[rows],
        effects.cell[rows],
        effects.n_cells,
        effects.scale,
        effects.path,
        *(None if part is None else part[rows] for part in of_rows),
        effects.per_cell,
    )


@every_kind
def test_integer_weights_are_repeated_rows(kind):
    n, rng = 1200, np.random.default_rng(41)
    z, other = rng.normal(size=n), rng.normal(size=n)
    w = rng.integers(1, 4, n)
    effects = local_effects(kind, n, 43, 3.0 * (z > 0.2), noise=0.3)
    half = rng.random(n) < 0.5
    again = np.repeat(np.arange(n), w)
    repeated = taken(effects, again)
    weights = w.astype(float)
    one = RegionSearch(
        [effects], [code_numbers(v, weights) for v in (z, other)], half, weights
    ).run()
    two = RegionSearch([repeated], [code_numbers(v[again]) for v in (z, other)], half[again]).run()
    assert one.split is not None
    assert one.split.cuts[0].column == two.split.cuts[0].column == 0
    assert one.split.cuts[0].threshold == two.split.cuts[0].threshold
    assert one.split.gain == pytest.approx(two.split.gain, rel=1e-9)
    assert one.loss == pytest.approx(two.loss, rel=1e-9)
    for a, b in zip(one.leaves(), two.leaves(), strict=True):
        assert a.weight == pytest.approx(b.weight)
        assert set(a.rows) == set(again[b.rows])


@every_kind
def test_scale_and_order_of_rows_leave_splits_unchanged(kind):
    n = 1000
    z = np.random.default_rng(0).normal(size=(2, n))
    effects = local_effects(kind, n, 5, 3.0 * (z[0] > 0.2), noise=0.3)
    half = np.random.default_rng(1).random(n) < 0.5
    root = RegionSearch([effects], [code_numbers(v) for v in z], half).run()
    order = np.random.default_rng(2).permutation(n)
    moved = taken(effects, order, -3)
    other = RegionSearch([moved], [code_numbers(v[order]) for v in z], half[order]).run()
    assert other.split.cuts[0].threshold == root.split.cuts[0].threshold
    assert other.loss == pytest.approx(9 * root.loss)
    assert [set(order[leaf.rows]) for leaf in other.leaves()] == [
        set(leaf.rows) for leaf in root.leaves()
    ]


def test_two_features_of_interest_share_a_tree():
    n, rng = 3000, np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 4))
    one = slope_effects(X[:, 0], (X[:, 2] > 0) * 2.0, 1.0)
    two = slope_effects(X[:, 1], (X[:, 3] > 0) * 1.0, 1.0)
    half = rng.random(n) < 0.5
    root = RegionSearch([one, two], [code_numbers(X[:, j]) for j in range(4)], half).run()
    assert root.split.cuts[0].column == 2
    assert [child.split.cuts[0].column for child in root.children] == [3, 3]
    assert root.loss == pytest.approx(1.25, rel=0.1)


@pytest.mark.parametrize("chooses", [0.2, 0.5, 0.8])
def test_a_gain_is_per_row_of_those_that_check_it(chooses):
    """Slopes are 1 or -1: their variance is 1, and that of the effects Var(x), however many rows choose the cut."""
    X = np.random.default_rng(0).uniform(-1, 1, (3000, 3))
    slopes = np.sign(X[:, 1]) + np.random.default_rng(1).normal(0, 0.1, 3000)
    split = found(X, slopes, chooses=chooses).split
    # The lines that are removed in cells take a part of it: a tenth, with twenty rows in each.
    assert split.gain == pytest.approx(np.var(X[:, 0]), rel=0.12)
    assert split.rows == pytest.approx(3000 * (1 - chooses), rel=0.1)
