"""Effects of two features against `aleplot_reference`, which computes the definitions by cell and by row."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import skedasis as sd
from skedasis.results.build.pairs import corners_with_rows
from tests.laws.strategies import law, near
from tests.reference import aleplot_reference as reference
from tests.reference.aleplot_cases import NAMES, NOMINAL, Case, case

SEEDS = st.integers(0, 2**32 - 1)
LOW, HIGH = 1, 9
"""Bins of a number."""


def bins_of(seed: int) -> tuple[int, int]:
    """Return two numbers of bins, almost always different; one case in five has a bin for each row."""
    rng = np.random.default_rng([seed, 1])
    if rng.random() < 0.2:
        return 40, int(rng.integers(LOW, 40))
    first, second = rng.integers(LOW, HIGH, 2)
    return int(first), int(second)


def same_surface(s: Any, want: Any, size: float) -> None:
    """Compare values, cells, and the fill values of empty cells."""
    tolerance = 1e-9 * np.abs(want.value).max() + 1e-13 * size * want.value.size
    near(s.value, want.value, tolerance, "value")
    cells = want.cells
    np.testing.assert_array_equal(s.cells.empty, cells.empty)
    near(s.cells.weight, cells.weight, 1e-12 * cells.weight.max(initial=0), "weight")
    within = 1e-9 * np.nanmax(np.abs(cells.mean), initial=0.0) + 1e-13 * size
    near(s.cells.effect, cells.mean, within, "double differences")
    # Differencing removes main effects and mean: the double differences that were accumulated remain.
    seen = np.diff(np.diff(s.value, axis=0), axis=1)
    near(seen, cells.filled, tolerance + within, "filled double differences")


def explained(c: Case, pair: tuple[str, str], method: Any) -> Any:
    """Explain a pair of a case's features."""
    kinds = {NAMES.index(n): kind for n, kind in NOMINAL.items()}
    return sd.explain(c.f, c.X, pair, method=method, sample_weight=c.weights, schema=kinds)


# ------------------------------------------------- the second-order ALE (ale_vs_pdp Eq. 6.4 to 6.7)


@pytest.mark.slow
@law(seed=SEEDS)
def test_two_numbers(seed):
    """ale_vs_pdp Eq. 6.4 to 6.7 with unequal numbers of bins, and the transposed pair."""
    c, (k0, k1) = case(seed), bins_of(seed)
    s = explained(c, ("x0", "x1"), sd.ALE(bins={"x0": k0, "x1": k1}))
    want = reference.ale_2d(c.f, c.plain, 0, 1, k0, k1, c.weights_of_plain)
    np.testing.assert_array_equal(s.x[0], want.points_j)
    np.testing.assert_array_equal(s.x[1], want.points_l)
    same_surface(s, want, c.size)
    turned = explained(c, ("x1", "x0"), sd.ALE(bins={"x0": k0, "x1": k1}))
    near(turned.value.T, s.value, 1e-9 * np.abs(s.value).max() + 1e-12 * c.size, "transposed")


@pytest.mark.slow
@law(seed=SEEDS)
def test_a_category_and_a_number(seed):
    """Rows are moved to the level above and below, in cells of level pairs and bins; in both orders."""
    c, (k, _) = case(seed), bins_of(seed)
    orders = c.orders
    want = reference.ale_cat_num(c.f, c.plain, 2, 1, orders["x2"], k, c.weights_of_plain)
    s = explained(c, ("x2", "x1"), sd.ALE(bins=k, order=orders))
    np.testing.assert_array_equal(s.x[0], orders["x2"])
    np.testing.assert_array_equal(s.x[1], want.points_l)
    same_surface(s, want, c.size)
    turned = explained(c, ("x1", "x2"), sd.ALE(bins=k, order=orders))
    same_surface(turned, transposed(want), c.size)


def transposed(want: Any) -> Any:
    """Return the reference's surface with its features in the other order."""
    cells = want.cells
    turned = cells._replace(**{k: v.T for k, v in cells._asdict().items()})
    return want._replace(value=want.value.T, count=want.count.T, cells=turned)


@pytest.mark.slow
@law(seed=SEEDS)
def test_two_categories(seed):
    """Level pairs are on both axes; a row is in up to four cells."""
    c = case(seed)
    args = (c.orders["x2"], c.orders["x3"], c.weights_of_plain)
    want = reference.ale_cat_cat(c.f, c.plain, 2, 3, *args)
    s = explained(c, ("x2", "x3"), sd.ALE(order=c.orders))
    same_surface(s, want, c.size)
    same_surface(explained(c, ("x3", "x2"), sd.ALE(order=c.orders)), transposed(want), c.size)


@pytest.mark.slow
@law(seed=SEEDS)
def test_data_frames_with_text(seed):
    """The same pairs from a data frame whose numeric and categorical columns have different dtypes."""
    pytest.importorskip("pandas", reason="the rows are a data frame")
    c, (k0, k1) = case(seed), bins_of(seed)
    model, frame = c.framed()
    orders = {name: c.named(order) for name, order in c.orders.items()}
    method = sd.ALE(bins={"x0": k0, "x1": k1}, order=orders)
    w = c.weights_of_plain
    wanted = {
        ("x0", "x1"): reference.ale_2d(c.f, c.plain, 0, 1, k0, k1, w),
        ("x3", "x0"): reference.ale_cat_num(c.f, c.plain, 3, 0, c.orders["x3"], k0, w),
        ("x2", "x3"): reference.ale_cat_cat(c.f, c.plain, 2, 3, *c.orders.values(), w),
    }
    found = sd.explain(model, frame, list(wanted), method=method, sample_weight=c.weights)
    for pair, want in wanted.items():
        same_surface(found[pair], want, c.size)


@law(seed=SEEDS)
def test_empty_cells_may_stay_empty(seed):
    """With `empty=None` cells without rows add nothing and have no value."""
    c, (k0, k1) = case(seed), bins_of(seed)
    s = explained(c, ("x0", "x1"), sd.ALE(bins={"x0": k0, "x1": k1}, empty=None))
    want = reference.ale_2d(c.f, c.plain, 0, 1, k0, k1, c.weights_of_plain)
    np.testing.assert_array_equal(s.cells.empty, want.cells.empty)
    seen = np.diff(np.diff(s.value, axis=0), axis=1)
    tolerance = 1e-9 * np.abs(s.value).max() + 1e-12 * c.size
    near(seen, np.where(want.cells.empty, 0.0, want.cells.mean), tolerance, "double differences")
    x0, x1 = ((x[1:] - x[:-1]) / 2 + x[:-1] for x in s.x)
    inside = s(x0[:, None], x1[None, :])
    wide = (np.diff(s.x[0]) > 4 * np.spacing(s.x[0][1:]))[:, None] & (x1 > s.x[1][:-1])
    np.testing.assert_array_equal(np.isnan(inside)[wide], want.cells.empty[wide])


# --------------------------------------------------------------------- interaction strength


def by_hand(s, x0, x1, weight):
    """Return the standard deviation over the rows of the interpolated surface, with bilinear weights written out."""
    found = []
    for a, b in zip(x0, x1, strict=True):
        i = min(max(np.searchsorted(s.x[0], a) - 1, 0), len(s.x[0]) - 2)
        j = min(max(np.searchsorted(s.x[1], b) - 1, 0), len(s.x[1]) - 2)
        u = (a - s.x[0][i]) / (s.x[0][i + 1] - s.x[0][i])
        v = (b - s.x[1][j]) / (s.x[1][j + 1] - s.x[1][j])
        (p, q), (r, t) = s.value[i : i + 2, j : j + 2]
        found.append((1 - u) * ((1 - v) * p + v * q) + u * ((1 - v) * r + v * t))
    mean = np.average(found, weights=weight)
    return float(np.sqrt(np.average((np.array(found) - mean) ** 2, weights=weight)))


@pytest.mark.parametrize("weighted", [False, True])
def test_interaction_strength_is_the_spread_at_the_rows(weighted):
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 1, 300)
    X = np.column_stack([x, np.clip(x + 0.15 * rng.normal(size=300), 0, 1)])
    w = rng.integers(1, 4, 300).astype(float) if weighted else np.ones(300)
    s = sd.explain(
        lambda X: np.exp(2 * X[:, 0] * X[:, 1]),
        X,
        (0, 1),
        method=sd.ALE(bins=sd.Uniform(7)),
        sample_weight=w if weighted else None,
    )
    assert s.cells.empty.sum() > 10
    assert s.interaction_strength() == pytest.approx(by_hand(s, *X.T, w), rel=1e-12)


def test_cells_without_rows_do_not_count_in_the_interaction_strength():
    """Neither the fill of empty cells nor the model's predictions there change the interaction strength."""
    rng = np.random.default_rng(6)
    x = rng.uniform(0, 1, 500)
    # A band along the diagonal: cells near it have rows, those farther away have none.
    X = np.column_stack([x, np.clip(x + rng.uniform(-0.09, 0.09, 500), 0, 1)])
    edges = sd.Edges(np.linspace(0, 1, 11))

    def model(X):
        corner = (X[:, 0] < 0.3) & (X[:, 1] > 0.7)
        return 3 * X[:, 0] * X[:, 1] + np.where(corner, 1e6 * X[:, 0], 0.0)

    near = sd.explain(model, X, (0, 1), method=sd.ALE(bins=edges))
    none = sd.explain(model, X, (0, 1), method=sd.ALE(bins=edges, empty=None))
    assert 50 < near.cells.empty.sum() < 90
    assert not np.allclose(near.value, none.value)
    assert near.interaction_strength() == pytest.approx(none.interaction_strength(), rel=1e-9)
    # Corners that belong to no cell with rows may have any value.
    touched = np.zeros(near.value.shape, dtype=bool)
    for i, j in np.argwhere(~near.cells.empty):
        touched[i : i + 2, j : j + 2] = True
    wild = replace(near, value=np.where(touched, near.value, 1e9))
    assert wild.interaction_strength() == near.interaction_strength()
    np.testing.assert_array_equal(corners_with_rows(near), touched)


def test_interaction_strength_of_two_values():
    """For q = b c with two values each there is one cell with corners -+ 1/4: Eq. 6.6 gives both edges equal weight."""
    b, c = (v.ravel().astype(float) for v in np.meshgrid([0] * 3 + [1] * 7, [0] * 4 + [1] * 6))
    s = sd.explain(lambda X: X[:, 0] * X[:, 1], np.column_stack([b, c]), (0, 1), method=sd.ALE())
    v = np.array([[0.25, -0.25], [-0.25, 0.25]])
    at = v[b.astype(int), c.astype(int)]
    np.testing.assert_allclose(s.value, v)
    assert s.interaction_strength() == pytest.approx(at.std(), rel=1e-12)


# ----------------------------------------------------------------------------------- PDP


@law(seed=SEEDS)
def test_pdp_of_a_pair(seed):
    """entropy_importance Eq. 4 with two features: the mean over all rows at each pair of grid values."""
    c = case(seed)
    rng = np.random.default_rng([seed, 2])
    numbers = {
        n: np.unique(rng.choice(c.X[:, j], 3)).astype(float) for j, n in enumerate(NAMES[:2])
    }
    some = {n: order[: rng.integers(1, len(order) + 1)] for n, order in c.orders.items()}
    grids = numbers | some
    j, k = rng.choice(4, 2, replace=False)
    pair = NAMES[j], NAMES[k]
    s = explained(c, pair, sd.PDP(grid=grids))
    args = (grids[pair[0]], grids[pair[1]], c.weights_of_plain)
    want = reference.pdp_2d(c.f, c.plain, j, k, *args)
    for x, points in zip(s.x, (want.grid_j, want.grid_l), strict=True):
        np.testing.assert_array_equal(x, points)
    near(s.value, want.value, 1e-12 * np.abs(want.value).max() + 1e-13 * c.size, "PDP")


# ------------------------------------------------------- equidistant cells


@pytest.mark.parametrize("seed", range(5))
def test_offsets_do_not_decide_which_cell_is_nearest(seed):
    """On a lattice many cells are equidistant from an empty one: their mean fills it, whatever the lattice's offset."""
    rng = np.random.default_rng(seed)
    lattice = rng.integers(0, 8, (20, 2)) / 8
    k0, k1 = (int(k) for k in rng.integers(2, 9, 2))
    at_zero = reference.ale_2d(uneven, lattice, 0, 1, k0, k1)
    for offset in (0.0, 1e3, 1e6, 1e9):
        X, method = lattice + offset, sd.ALE(bins={"x0": k0, "x1": k1})
        s = sd.explain(lambda X, offset=offset: uneven(X - offset), X, (0, 1), method=method)
        same_surface(s, at_zero, 100.0)


def uneven(X: Any) -> np.ndarray:
    """Return predictions whose double differences vary between cells."""
    x, z = 8 * X[:, 0], 8 * X[:, 1]
    return x**2 * z + 10 * np.sin(x * z)


# ------------------------------------------------------------------ DALE of a pair: RHALE Eq. 4


def curved(X: Any) -> np.ndarray:
    """Return predictions of a smooth model of three features."""
    return np.sin(X[:, 0]) * np.exp(X[:, 1] / 2) + X[:, 0] ** 2 * X[:, 1] * X[:, 2] + X[:, 2]


def curved_slope(X: Any) -> np.ndarray:
    """Return all derivatives of `curved`."""
    x, y, z = X.T
    e = np.exp(y / 2)
    first = np.cos(x) * e + 2 * x * y * z
    return np.column_stack([first, np.sin(x) * e / 2 + x**2 * z, x**2 * y + 1])


def curved_mixed(X: Any, j: int, k: int) -> np.ndarray:
    """Return the mixed derivative of `curved` by columns j and k."""
    x, y, z = X.T
    by = {(0, 1): np.cos(x) * np.exp(y / 2) / 2 + 2 * x * z, (0, 2): 2 * x * y, (1, 2): x**2}
    return by[min(j, k), max(j, k)]


def of_derivatives(X: np.ndarray, j: int, k: int, bins: tuple[int, int], w: Any) -> Any:
    """Return the reference's surface of mixed derivatives.

    In a model that is bilinear in both features, with each row's mixed derivative as the coefficient, the double
    difference is the derivative times the cell's area, as in DALE.
    """
    rows = np.column_stack([X, curved_mixed(X, j, k)])
    return reference.ale_2d(lambda Z: Z[:, j] * Z[:, k] * Z[:, 3], rows, j, k, *bins, w)


WAYS = {
    "mixed": ({"mixed": curved_mixed}, 1e-12),
    "mixed and slopes": ({"mixed": curved_mixed, "slope": curved_slope}, 1e-12),
    "slopes": ({"slope": curved_slope}, 1e-8),
    "values": ({}, 1e-5),
}
ROWS = {"mixed": (0, 1), "mixed and slopes": (0, 2), "slopes": (0, 3), "values": (4, 0)}
"""Model rows and slope rows by row of X. Slopes that are known come on top: main effects are made of them."""


@pytest.mark.parametrize(
    ("way", "pair"), list(zip(WAYS, [(0, 1), (1, 0), (2, 0), (1, 2)], strict=True))
)
def test_mixed_derivatives_from_wherever_they_come(way, pair):
    """Given, from slopes, or from the function alone: the same surface, and the documented number of model rows."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(70, 3)) @ [[1, 0.7, 0], [0, 1, 0.2], [0, 0, 1]]
    w = rng.integers(1, 5, 70) / 2
    given, tolerance = WAYS[way]
    asked = {"model": 0, "slope": 0}
    q = sd.prediction(
        counting(curved, asked, "model"),
        **{name: counting(function, asked, "slope") for name, function in given.items()},
    )
    bins = {f"x{pair[0]}": sd.Quantile(5), f"x{pair[1]}": sd.Quantile(3)}
    s = sd.explain(q, X, pair, method=sd.DALE(bins=bins), sample_weight=w)
    want = of_derivatives(X, *pair, (5, 3), w)
    near(s.value, want.value, tolerance * np.abs(want.value).max(), "value")
    np.testing.assert_array_equal(s.cells.empty, want.cells.empty)
    size = np.nanmax(np.abs(want.cells.mean))
    near(s.cells.effect, want.cells.mean, tolerance * size, "mixed derivatives")
    p = s.provenance
    assert (p["effect_rows"] / 70, p["slope_rows"] / 70) == ROWS[way]
    assert asked["model"] == p["model_rows"]
    assert asked["slope"] == p["slope_rows"]


def counting(function: Any, asked: dict[str, int], name: str) -> Any:
    """Return a function that counts the rows it is called with."""

    def wrapped(X: Any, *columns: int) -> Any:
        asked[name] += len(X)
        return function(X, *columns)

    return wrapped


@pytest.mark.parametrize("bins", [(2, 6), (12, 4)])
def test_product_on_a_lattice(bins):
    """The closed form of g(x0) h(x1) on a lattice is (g - mean g) (h - mean h), with means over both edges of all bins.

    Both g and h are quadratic: the mean of the derivative in a bin equals the difference of its edges over its width.
    """
    middle = (np.arange(12) + 0.5) / 12
    X = np.array([[a, 2 * b] for a in middle for b in middle])

    def g(x):
        return x**2 - 3 * x

    def h(x):
        return 2 * x**2 + x

    given = {
        "mixed": lambda X, j, k: (2 * X[:, 0] - 3) * (4 * X[:, 1] + 1),
        "slope": lambda X: np.column_stack(
            [(2 * X[:, 0] - 3) * h(X[:, 1]), g(X[:, 0]) * (4 * X[:, 1] + 1)]
        ),
    }
    edges = np.linspace(0, 1, bins[0] + 1), np.linspace(0, 2, bins[1] + 1)
    offs = [v - (v[1:] + v[:-1]).mean() / 2 for v in (g(edges[0]), h(edges[1]))]
    want = np.outer(*offs)
    scheme = {f"x{j}": sd.Edges(e) for j, e in enumerate(edges)}
    for method in (sd.DALE(bins=scheme), sd.ALE(bins=scheme)):
        q = sd.prediction(lambda X: g(X[:, 0]) * h(X[:, 1]), **given)
        s = sd.explain(q, X, (0, 1), method=method)
        near(s.value, want, 1e-12 * np.abs(want).max(), method.name)
        x, z = np.meshgrid(*edges, indexing="ij")
        np.testing.assert_array_equal(s(x, z), s.value)
        # The step function of Eq. 6.4 to 6.7 has, in each cell, the value of its upper corner.
        inner = [(e[1:] + e[:-1]) / 2 for e in edges]
        stepped = s(inner[0][:, None], inner[1], step=True)
        np.testing.assert_array_equal(stepped, s.value[1:, 1:])


# ------------------------------------------------------------------------------------------- PyALE


def pyales(X: np.ndarray, f: Any, bins: int) -> Any:
    """Return PyALE's surface of the first two columns."""
    pd = pytest.importorskip("pandas", reason="PyALE takes pandas data frames")
    module = pytest.importorskip("PyALE._src.ALE_2D", reason="PyALE 1.2.0 is not installed")

    class Model:
        def predict(self, X):
            return f(X.to_numpy())

    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyALE's own pandas warnings
        return module.aleplot_2D_continuous(frame, Model(), ["a", "b"], grid_size=bins)


@pytest.mark.parametrize(("bins", "seed"), [(1, 0), (10, 1), (20, 2)])
def test_equal_bin_counts_are_pyales(bins, seed):
    """With equal numbers of bins PyALE agrees with ALEPlot, including empty cells.

    Its edges are passed to the library, because it computes them from n times a rounded k / K. Of equidistant cells it
    picks one, but continuous values have none.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3))
    X[:, 1] += X[:, 0]
    theirs = pyales(X, curved, bins)
    edges = {"x0": sd.Edges(theirs.index), "x1": sd.Edges(theirs.columns)}
    s = sd.explain(curved, X, (0, 1), method=sd.ALE(bins=edges))
    assert s.value.shape == (bins + 1, bins + 1)
    near(s.value, theirs.to_numpy(), 1e-11 * np.abs(curved(X)).max(), "ALE")
