"""Bins by penalized likelihood, through the public API: the exact optimum where it is computed, and invariances."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import strategies as st

import skedasis as sd
from skedasis.results.build.accumulated import accumulated_effect
from skedasis.results.build.linear_form import AXIS, LOCAL
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments
from tests.laws.strategies import law
from tests.long.figures import long_case
from tests.reference.likelihood_partitions import Rows, slopes_as_given

LIKELIHOOD = sd.Optimal(criterion="likelihood")
FLAT = sd.Optimal(criterion="likelihood", slopes="constant")
both = pytest.mark.parametrize("scheme", [LIKELIHOOD, FLAT], ids=["linear", "constant"])
schemes = st.sampled_from([LIKELIHOOD, FLAT])


@st.composite
def rows(draw, most=256):
    """Draw positions and slopes: jumps, lines, curves, varying noise, outliers; sometimes ties."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(12, most))
    tied = draw(st.booleans())
    x = rng.integers(0, 40, size=n) / 1.0 if tied else rng.uniform(-1, 3, size=n)
    z = (x - x.min()) / max(np.ptp(x), 1e-9)
    e = rng.normal(size=n)
    shape = draw(st.sampled_from(["jumps", "line", "wave", "scatter", "noise", "tails"]))
    d = {
        "jumps": 5.0 * (z > 0.3) - 8.0 * (z > 0.7) + 0.5 * e,
        "line": 9.0 * z + 0.5 * e,
        "wave": 4.0 * np.sin(6 * z) + 0.3 * e,
        "scatter": e * np.where(z < 0.5, 0.1, 2.0),
        "noise": e,
        "tails": 3.0 * (z > 0.5) + rng.standard_t(2, size=n),
    }[shape]
    return x, d


def same_bins(a, b, factor=1.0, offset=0.0, rtol=1e-9):
    """Assert that two effects have the same bins, up to a rescaling and shift of the axis."""
    assert len(a.bins) == len(b.bins)
    size = np.abs(b.x).max() * abs(factor) + abs(offset)
    np.testing.assert_allclose(a.x, factor * b.x + offset, rtol=rtol, atol=rtol * size)
    np.testing.assert_array_equal(a.bins.slope_change != 0, b.bins.slope_change != 0)


# ---------------------------------------------------------------------------------- the optimum


@law(seed=st.integers(0, 2**32 - 1), linear=st.booleans())
def test_the_bins_of_few_values_cost_least(seed, linear):
    """With ten values of many rows all partitions are tried; the noise is estimated directly, within the values."""
    rng = np.random.default_rng(seed)
    x = np.repeat(np.arange(10.0), 30)
    mean = rng.choice([0.0, 0.5, 2.0], size=10) + rng.choice([0, 0.4]) * np.arange(10)
    d = mean[x.astype(int)] + rng.normal(size=300)
    e = slopes_as_given(x, d, LIKELIHOOD if linear else FLAT)
    cells = [(x[x == v], d[x == v], np.ones(30)) for v in np.arange(10.0)]
    # Cells of at least 8 rows estimate their own noise: the median over 25 cells on either side, mirrored at the ends.
    own = np.array([c[1].var(ddof=1) for c in cells])
    at = np.arange(-25, 35)
    mirrored = own[np.minimum(at % 20, 19 - at % 20)]
    noise = [np.median(mirrored[i : i + 51]) for i in range(10)]
    want, lines = Rows(cells, noise, 1.0, linear=linear).cheapest()
    assert np.searchsorted(np.arange(10.0), e.x[1:-1]).tolist() == list(want[1:-1])
    assert (e.bins.slope_change != 0).tolist() == lines


@both
def test_one_value_among_few_is_no_outlier(scheme):
    """Single values among few that differ from their neighbors, each with many equal rows, are bins and no outliers."""
    rng = np.random.default_rng(0)
    x = np.repeat(np.arange(10.0), 500)
    d = rng.normal(size=5000) + 3.0 * (x == 4) - 5.0 * (x == 9)
    e = slopes_as_given(x, d, scheme)
    assert e.x.tolist() == [0.0, 3.5, 4.5, 8.5, 9.0]
    np.testing.assert_allclose(e.bins.effect, [0, 3, 0, -5], atol=0.2)


@both
def test_pieces_without_noise_are_found_to_the_row(scheme):
    for n in (60, 250, 3000):
        x = np.sort(np.random.default_rng(n).uniform(size=n))
        at = [0.25, 0.5, 0.55, 0.8] if n > 100 else [0.25, 0.8]
        d = np.array([3.0, -1.0, 0.1, 7.0, 2.0])[np.searchsorted(at, x)]
        e = slopes_as_given(x, d, scheme)
        place = np.searchsorted(x, at)
        np.testing.assert_allclose(e.x[1:-1], (x[place - 1] + x[place]) / 2, rtol=1e-13)
        np.testing.assert_allclose(e.bins.effect, np.unique(d)[np.argsort(_first(d))], rtol=1e-13)
        assert not e.bins.slope_change.any()
        assert np.abs(e.bins.std).max() <= 1e-12


def _first(d):
    """Return the index of the first occurrence of each distinct value."""
    return np.unique(d, return_index=True)[1]


@pytest.mark.parametrize(
    ("n", "low", "unit"),
    [(20, 0.0, 1.0), (200, -3.0, 1e-06), (5000, 1000000.0, 1.0), (200, 0.0, 1000000000.0)],
)
def test_a_slope_linear_in_x_is_one_bin_and_its_effect_a_parabola(n, low, unit):
    z = np.sort(np.random.default_rng(n).uniform(size=n))
    x = low + unit * z
    d = 2.0 - 6.0 * (x - low) / unit
    e = slopes_as_given(x, d, LIKELIHOOD, settings={"center": "start"})
    assert len(e.bins) == 1
    assert e.bins.slope_change[0] == pytest.approx(-6.0 / unit, rel=1e-8)
    rough = 1e-9 + 4e-16 * abs(low) / unit  # rounding of x itself
    assert e.bins.std[0] <= 10 * rough
    at = np.linspace(x[0], x[-1], 57)
    t, t0 = (at - low) / unit, (x[0] - low) / unit
    want = unit * ((2 * t - 3 * t**2) - (2 * t0 - 3 * t0**2))
    np.testing.assert_allclose(e(at), want, rtol=0, atol=3 * rough * np.abs(want).max())


@law(scheme=schemes, data=rows(most=400))
def test_the_curve_is_joined(scheme, data):
    x, d = data
    e = slopes_as_given(x, d, scheme)
    scale = max(np.abs(e.value).max(), 1e-300)
    np.testing.assert_allclose(e(e.x), e.value, rtol=0, atol=1e-12 * scale)
    inner = e.x[1:-1]
    near = 1e-9 * np.ptp(x)
    steep = np.abs(d).max() * near * 10
    for side in (-near, near):
        np.testing.assert_allclose(e(inner + side), e(inner), rtol=0, atol=steep + 1e-9 * scale)
    if scheme is FLAT:
        assert (e.bins.slope_change == 0).all()


# --------------------------------------------------------------------------------------- invariances


@law(scheme=schemes, data=rows(most=500), seed=st.integers(0, 99))
def test_whole_weights_are_rows_repeated(scheme, data, seed):
    x, d = data
    w = np.random.default_rng(seed).integers(1, 4, size=len(x))
    weighted = slopes_as_given(x, d, scheme, weights=w.astype(float))
    repeated = slopes_as_given(np.repeat(x, w), np.repeat(d, w), scheme)
    same_bins(weighted, repeated)
    np.testing.assert_allclose(weighted.value, repeated.value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(weighted.bins.std, repeated.bins.std, rtol=1e-9, atol=1e-9)


@law(scheme=schemes, data=rows(most=500), seed=st.integers(0, 99))
def test_the_order_of_rows_does_not_matter(scheme, data, seed):
    x, d = data
    turned = np.random.default_rng(seed).permutation(len(x))
    same_bins(slopes_as_given(x[turned], d[turned], scheme), slopes_as_given(x, d, scheme))


@law(
    scheme=schemes,
    data=rows(most=400),
    factor=st.sampled_from([1e-12, -1e-3, -1.0, 7.0, 1e12]),
    offset=st.sampled_from([0.0, 1.0, -1e7]),
)
def test_other_units_of_the_quantity_do_not_matter(scheme, data, factor, offset):
    """Also with an offset of ten million times the noise, for data that are exact to 1e-9 of it."""
    x, d = data
    e = slopes_as_given(x, factor * (d + offset), scheme)
    same_bins(e, slopes_as_given(x, d + offset, scheme))


@law(
    scheme=schemes,
    data=rows(most=400),
    factor=st.sampled_from([1e-12, 0.125, 3.0, 1e12]),
    offset=st.sampled_from([0.0, -5.0, 1e7, 1e9]),
)
def test_other_units_of_the_feature_do_not_matter(scheme, data, factor, offset):
    x, d = data
    x = np.round(x * 1024) / 1024  # so that adding the offset is exact
    moved = slopes_as_given(factor * (x + offset), d, scheme)
    same_bins(moved, slopes_as_given(x, d, scheme), factor, factor * offset, rtol=1e-12)


@law(scheme=schemes, data=rows(most=256))
def test_a_mirrored_axis_has_mirrored_bins(scheme, data):
    x, d = data
    a, b = slopes_as_given(x, d, scheme), slopes_as_given(-x, d, scheme)
    np.testing.assert_allclose(-b.x[::-1], a.x, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(b.bins.effect[::-1], a.bins.effect, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        b.bins.slope_change[::-1], -a.bins.slope_change, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(b.bins.std[::-1], a.bins.std, rtol=1e-9, atol=1e-9)


# ----------------------------------------------------------------------------------- the errors


def least_squares(x, d, at):
    """Return the line's value at a point, its standard error, and the residual standard deviation."""
    A = np.stack([np.ones(len(x)), x - x.mean()], axis=1)
    fitted, left, _, _ = np.linalg.lstsq(A, d, rcond=None)
    s2 = float(left[0]) / (len(x) - 2)
    a = np.array([1.0, at - x.mean()])
    return a @ fitted, np.sqrt(s2 * a @ np.linalg.inv(A.T @ A) @ a), np.sqrt(s2), fitted[1]


@pytest.mark.parametrize("n", [40, 250, 5000])
def test_linear_bins_are_least_squares(n):
    """Exact where each row is a cell; otherwise lines are fitted to cells of a few rows, which is nearly the same."""
    rng = np.random.default_rng(n)
    x = np.sort(rng.beta(2, 5, size=n))
    d = np.where(x < 0.3, 20 * x, 4 - 9 * x) + 0.1 * rng.normal(size=n)
    e = slopes_as_given(x, d, LIKELIHOOD, settings={"center": "start"})
    assert len(e.bins) == 2
    rise = 0.0
    rough = 1e-9 if n <= 256 else 2e-3
    for k in range(2):
        low, high = e.bins.left[k], e.bins.right[k]
        here = (x >= low) & (x <= high if k else x < high)
        slope, error, std, trend = least_squares(x[here], d[here], (low + high) / 2)
        assert e.bins.effect[k] == pytest.approx(slope, rel=rough)
        assert e.bins.slope_change[k] == pytest.approx(trend, rel=rough)
        assert e.bins.std[k] == pytest.approx(std, rel=rough * 10)
        assert e.bins.std_error[k] == pytest.approx(error, rel=rough * 10)
        rise += slope * (high - low)
        assert e.value[k + 1] == pytest.approx(rise, rel=rough)


def at_fixed_bins(x, d, edges, trend):
    """Return the effect at given edges; `trend` says which bins have a linear slope."""
    cells = Cells(np.unique(np.concatenate([edges, x])))
    e = slopes_as_given(x, d, sd.Edges(edges), settings={"center": None})
    cell = cells.locate(x)
    local = Moments.of(d, cell, len(cells))
    axis = Moments.of(x, cell, len(cells), like=local)
    kept = np.searchsorted(cells.edges, edges)
    moments = {LOCAL: local, AXIS: axis}
    return accumulated_effect(cells, moments, kept, e.spec, e.about, None, trend=np.asarray(trend))


@pytest.mark.slow
@pytest.mark.parametrize("runs", [100, long_case(3000)])
def test_intervals_cover_at_fixed_bins(runs, measured):
    """Intervals of bin slopes and of the curve, for bins and trends that were not chosen on the rows."""
    rng = np.random.default_rng(0)
    edges = np.array([0.0, 0.4, 1.0])
    truth = np.array([1 + 5 * 0.2, 3.0 - 2 * 0.7])  # the lines at the bins' midpoints
    rise = np.cumsum(truth * np.diff(edges))
    inside = np.zeros((2, 2))
    for _ in range(runs):
        x = np.concatenate([[0.0], rng.uniform(size=78), [1.0]])
        e = rng.normal(size=80) * np.where(x < 0.4, 0.5, 2.0)
        d = np.where(x < 0.4, 1 + 5 * x, 3.0 - 2 * x) + e
        effect = at_fixed_bins(x, d, edges, [True, True])
        low, high = effect.interval(0.95, of="bins")
        inside[0] += (low <= truth) & (truth <= high)
        low, high = effect.interval(0.95)
        inside[1] += (low[1:] <= rise) & (rise <= high[1:])
    for of, shares in zip(("slope", "curve"), inside / runs, strict=True):
        for k, one in enumerate(shares):
            about = {"draws": runs, "rows": 80, "seed": "0"}
            measured(f"{of} of bin {k}", one, **about, low=0.93, high=0.97)


# ---------------------------------------------------------------------------- with other methods


def sample(n=800, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n)
    return x, np.where(x < 0.4, 8 * x, -3.0) + 0.3 * rng.normal(size=n)


def test_without_the_rows_bins_are_nearly_the_same():
    x, d = sample()
    whole, gone = (
        slopes_as_given(x, d, LIKELIHOOD),
        slopes_as_given(x, d, LIKELIHOOD, keep_rows="0MB"),
    )
    assert gone.rows is None or not gone.rows.exact
    # The cell that contains the jump may become a bin of its own, because a cell cannot be divided.
    assert len(whole.bins) == 2
    assert len(gone.bins) in {2, 3}
    assert np.abs(gone.x[1:-1] - 0.4).max() < 0.01
    assert gone.bins.slope_change[0] == pytest.approx(whole.bins.slope_change[0], rel=0.02)
    at = np.linspace(x.min(), x.max(), 101)
    assert np.abs(gone(at) - whole(at)).max() <= 0.02 * np.ptp(whole(at))


@both
def test_other_bins_become_these(scheme):
    x, d = sample()
    want = slopes_as_given(x, d, scheme)
    for first in (sd.Uniform(7), sd.Optimal(), LIKELIHOOD, FLAT):
        got = slopes_as_given(x, d, first).rebin(scheme)
        np.testing.assert_array_equal(got.x, want.x)
        np.testing.assert_array_equal(got.bins.slope_change, want.bins.slope_change)
        np.testing.assert_allclose(got.value, want.value, rtol=1e-12, atol=1e-12)
    back = want.rebin(sd.Uniform(7))
    assert not back.bins.slope_change.any()


def bent(X):
    """Return a function whose slope in the first feature jumps at 0.4."""
    return np.where(X[:, 0] < 0.4, 2 * X[:, 0], 3.2 - 6 * X[:, 0]) + X[:, 0] * X[:, 1]


def test_differences_across_cells_are_merged_by_risk():
    X = np.random.default_rng(0).uniform(size=(3000, 2))
    e = sd.explain(bent, X, 0, method=sd.ALE(bins=LIKELIHOOD))
    assert len(e.bins) <= 4  # the cell that contains the jump belongs to neither side
    assert np.abs(e.x[1:-1] - 0.4).max() < 0.01
    assert not e.bins.slope_change.any()
    fine = e.rebin(sd.Edges(e.cells.edges))
    inner = np.isin(fine.x, e.x)
    np.testing.assert_allclose(fine.value[inner] - fine.value[0], e.value - e.value[0], atol=1e-12)


def test_steps_between_levels_are_grouped_by_risk():
    rng = np.random.default_rng(0)
    import pandas as pd

    levels = list("abcdefghijkl")
    at = rng.integers(0, 12, size=1500)
    X = pd.DataFrame({"x": np.array(levels)[at], "z": rng.normal(size=1500)})
    rise = np.cumsum([0, 1, 1, 1, 1, 1, -2, -2, -2, -2, -2, -2])

    def f(X):
        i = X["x"].map({v: i for i, v in enumerate(levels)}).to_numpy()
        return rise[i] + 0.1 * i * X["z"].to_numpy()

    feature = sd.Feature("x", "ordinal", levels=levels)
    e = sd.explain(f, X, "x", method=sd.RHALE(bins=LIKELIHOOD), schema=[feature])
    assert e.bins.left.tolist() == ["a", "f"]
    np.testing.assert_allclose(e.bins.effect, [1.0, -2.0], atol=0.05)


def test_m_plots_take_bins_by_risk():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 2))

    def f(X):
        return np.where(X[:, 0] < 0.3, 1.0, np.where(X[:, 0] < 0.6, 5.0, 2.0)) + X[:, 1]

    e = sd.explain(f, X, 0, method=sd.MPlot(bins=LIKELIHOOD))
    assert 3 <= len(e.bins) <= 5  # cells that contain a jump
    inner = e.bins.left[1:]
    assert np.minimum(np.abs(inner - 0.3), np.abs(inner - 0.6)).max() < 0.01


# ------------------------------------------------------------------------------------- hostile data


@both
def test_few_rows_and_few_values(scheme):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        two = slopes_as_given(np.array([0.0, 1.0]), np.array([3.0, 5.0]), scheme)
        assert two.x.tolist() == [0.0, 1.0]
        assert two.bins.effect.tolist() == [4.0]
        one = slopes_as_given(np.array([2.0]), np.array([3.0]), scheme)
        assert one.x.tolist() == [2.0]
        same = slopes_as_given(np.full(50, 2.0), np.arange(50.0), scheme)
        assert same.x.tolist() == [2.0]
        pair = slopes_as_given(np.repeat([0.0, 1.0], 50), np.repeat([0.0, 9.0], 50), scheme)
        assert len(pair.bins) == 2
        assert pair.bins.effect.tolist() == [0.0, 9.0]
        flat = slopes_as_given(np.linspace(0, 1, 90), np.zeros(90), scheme)
        assert len(flat.bins) == 1
        assert flat.bins.effect.tolist() == [0.0]


@law(scheme=schemes, data=rows(most=12), n=st.integers(2, 11))
def test_a_handful_of_rows_is_no_error(scheme, data, n):
    x, d = (a[:n] for a in data)
    if np.ptp(x) == 0:
        return
    e = slopes_as_given(x, d, scheme)
    assert np.isfinite(e.value).all()
    assert e.bins.weight.min() >= min(n, 5)


@both
def test_rows_without_a_value_or_without_weight_take_no_part(scheme):
    x, d = sample(300)
    want = slopes_as_given(x, d, scheme)
    worse, wrong = np.append(x, np.full(20, 0.9)), np.append(d, np.full(20, 1e6))
    w = np.append(np.ones(300), np.zeros(20))
    same_bins(slopes_as_given(worse, wrong, scheme, weights=w), want)
    missing = np.append(x, np.full(20, np.nan))
    same_bins(slopes_as_given(missing, np.append(d, np.zeros(20)), scheme), want)


@both
@pytest.mark.parametrize(("n", "at"), [(100, "first"), (5000, "middle"), (100, "last")])
def test_an_outlier_has_no_bin_of_its_own(scheme, n, at):
    found = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        x = np.sort(rng.uniform(size=n))
        d = rng.normal(size=n)
        d[{"first": 0, "middle": n // 2, "last": n - 1}[at]] = 1e9
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found.append(len(slopes_as_given(x, d, scheme).bins))
    # Clipped, but still the most extreme value: at a sparse end it can make a split more likely, but no bin of its own.
    assert max(found) <= 2
    assert np.mean(np.array(found) == 1) >= (0.85 if at == "middle" else 0.5)
