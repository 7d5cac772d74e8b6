"""Every number of a result, recomputed by plain loops from the definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import stats

import skedasis as sd
from skedasis.data.column_stats import Column
from skedasis.data.features import Feature
from skedasis.stats import grid
from skedasis.stats.grid import Cells
from tests.laws.strategies import cases, law, near
from tests.long.figures import long_case
from tests.reference.formulas import Accumulated, cell_of, inverse_ecdf, spread_of, weighted_mean

# ------------------------------------------------------------------------------ cells

WEIGHTS = {
    "none": lambda rng, n: (None, np.ones(n)),
    "whole": lambda rng, n: _parts(rng.integers(1, 5, size=n), 1),
    "equal tenths": lambda rng, n: _parts(np.ones(n, dtype=int), 10),
    "one over n": lambda rng, n: _parts(np.ones(n, dtype=int), n),
    "thirds": lambda rng, n: _parts(rng.integers(1, 4, size=n), 3),
    "any": lambda rng, n: (rng.uniform(0.01, 3, size=n),) * 2,
}
"""Weights as floats, and their exact values: the float 1/3 is slightly below one third."""


def _parts(whole, of):
    return whole / of, [Fraction(int(v), of) for v in whole]


@law(
    weighing=st.sampled_from(sorted(WEIGHTS)),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 70),
    k=st.integers(1, 90),
    ties=st.booleans(),
)
def test_quantile_edges_are_the_inverse_empirical_distribution(weighing, seed, n, k, ties):
    rng = np.random.default_rng(seed)
    x = rng.integers(-4, 9, size=n) / 2 if ties else rng.normal(size=n)
    w, meant = WEIGHTS[weighing](rng, n)
    if np.ptp(x) == 0:
        return
    want = np.unique(inverse_ecdf(x, meant, k))
    given = {"method": sd.ALE(bins=k), "sample_weight": w, "heterogeneity_rows": 0}
    e = sd.explain(lambda X: X[:, 0], x[:, None], 0, **given)
    np.testing.assert_array_equal(e.x, want)
    assert not e.bins.empty.any()


@pytest.mark.parametrize(("n", "k"), [(5, 7), (100, 20), (2049, 100), (50000, 20)])
def test_quantile_edges_are_numpys_inverted_cdf(n, k):
    """NumPy's rounding has no influence for fractions j/k that are exact in binary, nor for primes."""
    rng = np.random.default_rng(n + k)
    for x in (rng.normal(size=n), np.round(rng.normal(size=n), 1), rng.integers(0, 5, n) * 1.0):
        got = Column(Feature("x"), x, None).order_statistics(k)
        ranks = np.array([max(-(-n * j // k), 1) - 1 for j in range(k + 1)])
        np.testing.assert_array_equal(got, np.sort(x)[ranks])
        # NumPy multiplies n by a rounded j / k; in the middle of the rank's interval this cannot change the result.
        inside = (ranks + 0.5) / n
        np.testing.assert_array_equal(got, np.quantile(x, inside, method="inverted_cdf"))


@law(
    closed=st.sampled_from(["left", "right"]),
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(1, 8),
    n=st.integers(1, 40),
)
def test_every_value_lies_in_the_cell_that_comparisons_say(closed, seed, k, n):
    rng = np.random.default_rng(seed)
    edges = np.unique(np.round(rng.normal(size=k + 1), 1))
    if len(edges) < 2:
        return
    x = np.concatenate(
        [
            np.round(rng.normal(size=n), 1),
            edges,
            np.nextafter(edges, -np.inf),
            np.nextafter(edges, np.inf),
            [np.nan, -1e300, 1e300],
        ]
    )
    want = [cell_of(v, edges, closed) for v in x]
    np.testing.assert_array_equal(Cells(edges, closed).locate(x), want)


@pytest.mark.parametrize("low", [-3, 17])
def test_uniform_edges_that_are_whole_numbers_are_exact(low):
    """Rows of an integer feature are often on edges: rounding errors of edges would put them into the wrong bin."""
    for high in range(low + 2, low + 60, 3):
        x = np.arange(low, high + 1.0)
        for k in (j for j in range(2, high - low + 1) if (high - low) % j == 0):
            method = sd.DALE(bins=k)
            e = sd.explain(lambda X: X[:, 0], x[:, None], 0, method=method, heterogeneity_rows=0)
            np.testing.assert_array_equal(e.x, np.arange(low, high + 1, (high - low) // k))
            assert e.bins.count.tolist() == [(high - low) // k] * (k - 1) + [(high - low) // k + 1]


def test_rows_beyond_given_edges_are_counted_and_left_out():
    x = np.array([0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 9.0, np.nan])
    X = np.stack([x, x * 0], axis=1)
    X[-1, 0] = np.nan
    for method, counts in ((sd.ALE, [3, 1]), (sd.DALE, [2, 2])):
        edges = sd.Edges([1.0, 2.0, 3.0])
        quantity = sd.prediction(lambda X: np.nan_to_num(X[:, 0]), slope=lambda X: np.ones(X.shape))
        e = sd.explain(quantity, X, 0, method=method(bins=edges))
        assert e.bins.count.tolist() == counts
        assert e.provenance["rows_outside"] == 3
        assert e.missing == 1


# --------------------------------------------------------------------------- effects


def plain_differences(case, edges, closed):
    """Return the rows' differences across their bins, row by row."""
    d = np.zeros(len(case.X))
    for i, row in enumerate(case.X):
        k = cell_of(row[0], edges, closed)
        if k >= 0:
            low, high = row.copy(), row.copy()
            low[0], high[0] = edges[k], edges[k + 1]
            ends = case.model(np.stack([low, high]))
            d[i] = (ends[1] - ends[0]) / (edges[k + 1] - edges[k])
    return d


def check_against(plain, e, tol):
    """Compare every number of an accumulated effect."""
    size = np.abs(plain.d).max() * (plain.edges[-1] - plain.edges[0])
    near(e.value, plain.value(), tol * size, "value")
    accumulate = e.spec.accumulate
    spread = plain.heterogeneity_std() if accumulate == "std" else plain.heterogeneity_variance()
    near(e.accumulated_std, spread, tol * size, "accumulated_std")
    near(e.importance, plain.importance(), tol * size, "importance")
    near(e.bins.effect, plain.mean, tol * np.abs(plain.d).max(), "effect")
    std = np.sqrt([plain.variance(k) for k in plain.bins])
    near(e.bins.std, std, tol * np.abs(plain.d).max(), "std")
    size_of = np.array([plain.size(k) for k in plain.bins])
    near(e.bins.std_error, std / np.sqrt(size_of), tol * np.abs(plain.d).max(), "std_error of bins")
    near(e.bins.weight, plain.n, 1e-12 * plain.total, "weight")
    assert e.bins.count.tolist() == [len(r) for r in plain.rows]
    assert e.bins.trusted.tolist() == [len(r) >= 10 for r in plain.rows]
    if e.spec.accumulate_se == "sum":
        near(e.std_error, plain.std_error_sum(), tol * size, "std_error")
        return
    error, df = np.array(plain.std_error()), np.array(plain.df())
    near(e.std_error, error, tol * size, "std_error")
    real = (
        error > 1e-9 * size
    )  # where the error is nothing but rounding, it has no degrees of freedom
    np.testing.assert_allclose(e.df[real], df[real], rtol=1e-6)
    for level in (0.5, 0.95):
        half = stats.t.ppf((1 + level) / 2, np.minimum(df, 1e12)) * error
        low, high = e.interval(level)
        near(low, np.array(plain.value()) - half, 1e-7 * size, "lower")
        near(high, np.array(plain.value()) + half, 1e-7 * size, "upper")


SETTINGS = {
    "ale": (sd.ALE(bins=5), "right"),
    "ale-start": (sd.ALE(bins=5, center="start"), "right"),
    "ale-equal-bins": (sd.ALE(bins=sd.Uniform(3), ddof=0), "left"),
    "dale": (sd.DALE(bins=3), "left"),
    "dale-uncentred": (sd.DALE(bins=sd.Quantile(4), center=None), "right"),
    "dale-sum": (sd.DALE(bins=3, center="start", accumulate_se="sum"), "left"),
    "uale": (sd.UALE(bins=sd.Uniform(3)), "left"),
    "rhale": (sd.RHALE(bins=sd.Optimal(max_bins=12, min_points=4)), "left"),
    "rhale-ddof0": (sd.RHALE(bins=sd.Uniform(2), ddof=0), "left"),
    "steps": (sd.RHALE(bins=sd.Uniform(3), local_effects="steps"), "left"),
}


@pytest.mark.parametrize(("method", "closed"), SETTINGS.values(), ids=SETTINGS)
@law(
    case=cases(rows=(40, 90), kinds=("normal", "uniform", "rounded")),
    kind=st.sampled_from(["frequency", "sampling"]),
)
def test_every_number_is_that_of_the_formulas(method, closed, kind, case):
    quantity = sd.prediction(case.model, slope=case.model.slope)
    e = sd.explain(quantity, case.X, 0, method=method, sample_weight=case.weights, weight_kind=kind)
    differences = method.name == "ALE" or e.spec.local_effects == "steps"
    w = np.ones(len(case.X)) if case.weights is None else case.weights
    d = plain_differences(case, e.x, closed) if differences else case.model.slope(case.X)[:, 0]
    if (e.bins.count < 3).any() or (e.bins.weight <= 1.5).any() or np.abs(d).max() == 0:
        return  # other tests cover undefined variances
    parts = {"closed": closed, "center": e.spec.center, "ddof": method.ddof, "kind": kind}
    plain = Accumulated(case.X[:, 0], d, w, e.x, **parts)
    # Differences of two values are rounded by eps |q| before they are divided by a width.
    q = np.abs(case.model(case.X)).max() / np.abs(d).max() / np.diff(e.x).min()
    check_against(plain, e, max(1e-11, 1e-14 * q))


@law(case=cases(weights=("fractional",)), factor=st.sampled_from([1e-6, 0.01, 1e5]))
def test_sampling_weights_have_no_unit(case, factor):
    """Only ratios of sampling weights matter: a weight is the number of rows represented, not observed."""
    for method in (sd.DALE(bins=3), sd.ALE(bins=4), sd.PDP(grid=4), sd.PDP(grid=4, center="start")):
        slope = case.model.slope if method.name == "DALE" else None
        quantity = sd.prediction(case.model, slope=slope)
        want = sd.explain(
            quantity, case.X, 0, method=method, sample_weight=case.weights, weight_kind="sampling"
        )
        weights = case.weights * factor
        got = sd.explain(
            quantity, case.X, 0, method=method, sample_weight=weights, weight_kind="sampling"
        )
        for name in (
            "x",
            "value",
            "heterogeneity",
            "std_error",
            "importance",
            "heterogeneity_score",
        ):
            one, two = getattr(got, name), getattr(want, name)
            size = np.abs(np.append(want.value, want.heterogeneity)).max()
            near(one, two, 1e-10 * size, name)
        for one, two in zip(got.interval(), want.interval(), strict=True):
            near(one, two, 1e-8 * np.abs(np.append(two, 0)).max(), "interval")


def test_a_bin_of_weight_one_or_less_has_no_variance():
    x = np.array([0.0, 0.1, 0.2, 1.0, 1.9, 2.0])
    d = np.array([1.0, 2.0, 4.0, 7.0, 1.0, 3.0])
    quantity = sd.prediction(
        lambda X: X[:, 0], slope=lambda X: np.stack([X[:, 1], 0 * X[:, 1]], axis=1)
    )
    X = np.stack([x, d], axis=1)
    e = sd.explain(quantity, X, 0, method=sd.DALE(bins=3))
    assert e.bins.count.tolist() == [3, 1, 2]
    np.testing.assert_allclose(e.bins.effect, [7 / 3, 7.0, 2.0])
    np.testing.assert_allclose(e.bins.std, [np.std(d[:3], ddof=1), np.nan, np.sqrt(2)])
    assert np.isnan(e.bins.std_error[1])
    assert np.isfinite(e.std_error).all()  # not zero: the errors of neighbours are used
    weights = np.array([1.0, 1.0, 1.0, 1.0, 0.5, 0.5])
    e = sd.explain(quantity, X, 0, method=sd.DALE(bins=3, ddof=0), sample_weight=weights)
    assert np.isnan(e.bins.std).tolist() == [False, True, True]
    e = sd.explain(
        quantity, X, 0, method=sd.DALE(bins=3), sample_weight=weights, weight_kind="sampling"
    )
    assert np.isnan(e.bins.std).tolist() == [False, True, False]


def test_the_curve_begins_and_ends_with_the_rows():
    """The effect is NaN outside the first and last bins with rows; empty bins between are crossed linearly."""
    x = np.array([1.2, 1.4, 1.6, 3.1, 3.3, 3.9])
    quantity = sd.prediction(lambda X: X[:, 0] ** 2, slope=lambda X: 2 * X)
    edges = sd.Edges([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    e = sd.explain(quantity, x[:, None], 0, method=sd.DALE(bins=edges, center="start"))
    first, last = 2 * np.mean(x[:3]), 2 * np.mean(x[3:])
    assert e.bins.empty.tolist() == [True, False, True, False, True]
    np.testing.assert_array_equal(np.isnan(e.value), [True, False, False, False, False, True])
    steps = np.diff(e.value[1:5])
    np.testing.assert_allclose(steps, [first, (first + last) / 2, last])


# ------------------------------------------------------------------------------------ PDP and ICE


@law(
    case=cases(rows=(5, 40)),
    kind=st.sampled_from(["frequency", "sampling"]),
    center=st.sampled_from([None, "start", "mean"]),
)
def test_partial_dependence_is_that_of_the_formulas(kind, center, case):
    x = case.X[:, 0]
    grid = np.linspace(x.min() - 0.1, x.max() * 0.7, 5)
    w = np.ones(len(x)) if case.weights is None else case.weights
    e = sd.explain(
        case.model,
        case.X,
        0,
        method=sd.PDP(grid=grid, center=center),
        sample_weight=case.weights,
        weight_kind=kind,
    )
    moved = [case.X.copy() for _ in e.x]
    for X, z in zip(moved, e.x, strict=True):
        X[:, 0] = z
    curves = np.stack([case.model(X) for X in moved], axis=1)
    size = np.abs(curves).max()
    own = curves[:, :1] if center == "start" else curves.mean(axis=1, keepdims=True)
    shown = curves if center is None else curves - own
    value, variance, sizes = np.array([spread_of(c, w, kind) for c in shown.T]).T
    # The mean of a curve over the data, linear between the points.
    means = [np.average(np.interp(x, e.x, curve), weights=w) for curve in curves]
    over_data = np.array(means)[:, None]
    spread = np.sqrt([spread_of(c, w, kind)[1] for c in (curves - over_data).T])
    near(e.value, value, 1e-12 * size, "value")
    if w[(x < e.x[0]) | (x > e.x[-1])].sum() > 0.25 * w.sum():
        assert e.spread is None  # the mean over the data is not known
    else:
        near(e.heterogeneity, spread, 1e-12 * size, "heterogeneity")
    near(e.std_error, np.sqrt(variance / sizes), 1e-12 * size, "std_error")
    half = stats.t.ppf(0.95, sizes - 1) * np.sqrt(variance / sizes)
    for got, want in zip(e.interval(0.9), (value - half, value + half), strict=True):
        near(got, want, 1e-9 * size, "interval")
    at_rows = np.interp(x, e.x, e.value)  # outside the grid the curve is constant
    m = weighted_mean(at_rows, w)
    near(e.importance, np.sqrt(weighted_mean((at_rows - m) ** 2, w)), 1e-12 * size, "importance")


def test_a_uniform_grid_is_equidistant_between_the_5th_and_95th_percentile():
    x = np.random.default_rng(0).exponential(size=1001)
    e = sd.explain(lambda X: X[:, 0], x[:, None], 0, method=sd.PDP(grid=11, spacing="uniform"))
    low, high = inverse_ecdf(x, np.ones(1001), 20)[1], inverse_ecdf(x, np.ones(1001), 20)[19]
    np.testing.assert_allclose(e.x, np.linspace(low, high, 11), rtol=1e-14)
    few = np.repeat(np.arange(13.0), 9)
    e = sd.explain(lambda X: X[:, 0], few[:, None], 0, method=sd.PDP(grid=5))
    np.testing.assert_array_equal(e.x, np.arange(13.0))
    e = sd.explain(lambda X: X[:, 0], np.full((9, 1), 4.0), 0, method=sd.PDP())
    np.testing.assert_array_equal(e.x, [4.0])


# ---------------------------------------------------------------------------------- the bootstrap


def resampled(x, w, e, d, replicates, rng):
    """Return the effect's values over resampled rows, with fixed bins: an independent bootstrap."""
    n = len(x)
    cell = np.array([cell_of(v, e.x, e.spec.closed) for v in x])
    each = np.repeat(np.arange(n), 1 if w is None else w.astype(int))
    out = []
    for _ in range(replicates):
        drawn = rng.choice(each, size=len(each))
        n_k = np.bincount(cell[drawn], minlength=len(e.bins))
        mean = np.bincount(cell[drawn], d[drawn], len(e.bins)) / np.maximum(n_k, 1)
        f = np.concatenate([[0.0], np.cumsum(mean * np.diff(e.x))])
        if e.spec.center == "mean":
            f -= np.average((f[:-1] + f[1:]) / 2, weights=n_k)
        out.append(f)
    return np.array(out)


@pytest.mark.parametrize(
    ("center", "weighing", "local"), [("mean", "none", "slopes"), ("start", "whole", "differences")]
)
def test_the_bootstrap_is_a_bootstrap(center, weighing, local):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(150, 2))
    w = rng.integers(1, 4, size=150).astype(float) if weighing == "whole" else None

    def f(X):
        return np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1]

    def slope(X):
        return np.stack([2 * np.cos(2 * X[:, 0]) + X[:, 1], X[:, 0]], axis=1)

    if local == "slopes":
        q, method, d = sd.prediction(f, slope=slope), sd.DALE(bins=4, center=center), slope(X)[:, 0]
        e = sd.explain(q, X, 0, method=method, sample_weight=w)
    else:
        e = sd.explain(f, X, 0, method=sd.ALE(bins=4, center=center), sample_weight=w)
        d = e.rows.effect
    replicates = 3000
    draws = resampled(X[:, 0], w, e, d, replicates, rng)
    sd_of = draws.std(axis=0)
    low, high = e.interval(0.9, method="bootstrap", replicates=replicates, random_state=1)
    want = np.quantile(draws, [0.05, 0.95], axis=0)
    # A 5 % point of 3,000 normal draws has a standard error of sqrt(.05 * .95 / 3000) / phi(1.645) = 0.039 sd; two
    # independent ones differ by 0.055 sd. There are 10 of them: the tolerance is four such errors.
    near((low - want[0]) / np.maximum(sd_of, 1e-12), 0.0, 0.22, "lower")
    near((high - want[1]) / np.maximum(sd_of, 1e-12), 0.0, 0.22, "upper")
    again = e.interval(0.9, method="bootstrap", replicates=50, random_state=7)
    for one, two in zip(
        again, e.interval(0.9, method="bootstrap", replicates=50, random_state=7), strict=True
    ):
        np.testing.assert_array_equal(one, two)


@pytest.mark.slow
@pytest.mark.parametrize("replicates", [100, long_case(2000)])
@pytest.mark.parametrize("center", ["mean", "start"])
@pytest.mark.parametrize("local", ["slopes", "edges"])
def test_intervals_cover_what_they_estimate(center, local, replicates, measured):
    """At fixed edges the estimand is E[d | bin], accumulated, and centred with the population fractions of rows."""
    edges = np.array([0.0, 0.3, 0.5, 1.0])

    # Given x the slope is normal with mean g(x) and increasing scale: the three bins differ.
    def sample(rng):
        x = rng.uniform(size=60) ** 1.5
        return np.stack([x, rng.normal(size=60)], axis=1)

    def f(X):
        return X[:, 0] ** 2 + (0.2 + X[:, 0]) * X[:, 1] * X[:, 0]

    def slope(X):
        d = 2 * X[:, 0] + X[:, 1] * (0.2 + 2 * X[:, 0])
        return np.stack([d, 0 * d], axis=1)

    bins = sd.Edges(edges, closed="left")
    if local == "slopes":
        q, method = sd.prediction(f, slope=slope), sd.DALE(bins=bins, center=center)
    else:
        q, method = sd.prediction(f), sd.ALE(bins=bins, center=center)
    # The density of u^1.5 is (2/3) x^(-1/3): P(x < z) = z^(2/3), which gives the mean of 2x over a bin.
    p = np.diff(edges ** (2 / 3))
    mean = np.diff(edges**2) / np.diff(edges)
    if local == "slopes":
        mean = 2 * (2 / 5) * np.diff(edges ** (5 / 3)) / p  # integral of x * (2/3) x^(-1/3)
    truth = np.concatenate([[0.0], np.cumsum(mean * np.diff(edges))])
    if center == "mean":
        truth -= p @ (truth[:-1] + truth[1:]) / 2
    covered = np.zeros(len(edges))
    for seed in range(replicates):
        e = sd.explain(q, sample(np.random.default_rng(seed)), 0, method=method, progress=False)
        low, high = e.interval(0.95)
        covered += (low <= truth + 1e-12) & (truth - 1e-12 <= high)
    share = covered / replicates
    # The standard error of a coverage of 0.95 in 2,000 runs is 0.5 %. Satterthwaite's t, and the normality of slopes,
    # are approximations: the tolerance has one percentage point more for them.
    about = {"draws": replicates, "rows": 60, "seed": f"0 to {replicates - 1}"}
    for k, one in enumerate(share):
        limits = {"low": 0.925, "high": 0.975} if k else {"low": 0.925}
        measured(f"edge {k}", one, **about, **limits)


# ------------------------------------------------------------------------ slopes at a large offset


@pytest.mark.parametrize("offset", [1.7e9, -4e6])
def test_differences_at_a_large_offset(offset):
    """The derivative is that of the function near the rows, and the model is only called where it is defined."""
    rng = np.random.default_rng(0)
    u = np.round(rng.normal(size=(300, 2)) * 2**20) / 2**20
    X = u.copy()
    X[:, 0] += offset
    models = {
        "linear": (lambda t: 3 * t, lambda t: 3 + 0 * t),
        "bent": (lambda t: t**2 + np.sin(t), lambda t: 2 * t + np.cos(t)),
        "strongly bent": (lambda t: 1e3 * t**2 + np.sin(t), lambda t: 2e3 * t + np.cos(t)),
        "explosive": (np.exp, np.exp),
    }
    for f, slope in models.values():
        e = sd.explain(lambda X, f=f: f(X[:, 0] - offset), X, 0, method=sd.DALE(bins=4))
        want = slope(u[:, 0])
        # The step is 6e-6 standard deviations: rounding eps / 6e-6, truncation (6e-6)² f''' / 6; the spacing of
        # floating-point numbers at the offset makes the step at least 32 spacings, 7.6e-6.
        near(e.rows.effect, want, 1e-9 * np.abs(want).max(), "slopes")
    e = sd.explain(lambda X: 3e-5 * X[:, 0], X, 0, method=sd.DALE(bins=4))
    near(e.rows.effect, 3e-5, 1e-9 * 3e-5, "a model that keeps the offset")


# ---------------------------------------------------------------------------------------- buckets

HOSTILE = {
    "normal": lambda rng, n: rng.normal(size=n),
    "few values": lambda rng, n: rng.integers(0, 3, size=n) * 1.0,
    "ties": lambda rng, n: np.round(rng.normal(size=n), 1),
    "one value but one": lambda rng, n: np.where(np.arange(n) == 5, 1.0, 0.0),
    "subnormal": lambda rng, n: rng.integers(0, 50, size=n) * 5e-324,
    "tiny": lambda rng, n: rng.normal(size=n) * 1e-300,
    "huge": lambda rng, n: rng.choice([-1e300, 1e300, 0.0, 1.0], size=n),
    "largest": lambda rng, n: rng.uniform(-0.9e308, 0.8e308, size=n),
    "offset": lambda rng, n: 1.7e9 + rng.normal(size=n),
    "far offset": lambda rng, n: 1e15 + rng.integers(0, 9, size=n) / 8,
    "neighbours": lambda rng, n: 1.0 + rng.integers(0, 4, size=n) * 2.0**-52,
    "skewed": lambda rng, n: np.exp(5 * rng.normal(size=n)),
    "both zeros": lambda rng, n: rng.choice([-0.0, 0.0, 1.0, -1.0], size=n),
    "infinite range": lambda rng, n: rng.choice([-1.7e308, 1.7e308], size=n),
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("n", [10, 2049, 20000])
def test_order_statistics_are_those_of_sorting(make, n):
    rng = np.random.default_rng(n)
    x = make(rng, n)
    for ranks in (np.arange(0, n, 7), np.array([0, 0, n // 2, n // 2, n - 1]), np.array([n - 1])):
        got = grid.Ordered(x, float(x.min()), float(x.max())).at(ranks)
        np.testing.assert_array_equal(got, np.sort(x)[ranks])


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize(("n", "closed"), [(10, "left"), (2049, "right"), (20_000, "left")])
def test_cells_are_those_of_a_search(make, n, closed):
    rng = np.random.default_rng(n)
    x = make(rng, n)
    low, high = float(x.min()), float(x.max())
    side = "right" if closed == "left" else "left"
    picked = np.unique(rng.choice(x, size=40))  # edges that are data values
    with np.errstate(over="ignore", invalid="ignore"):
        spaced = np.linspace(low, high, 17)[1:-1]
    for some in (picked, picked[1:-1], spaced, spaced[:1], np.array([])):
        inner = np.unique(some[np.isfinite(some)])
        want = np.searchsorted(inner, x, side=side)
        np.testing.assert_array_equal(grid.locate(inner, x, low, high, closed), want)
    if len(picked) > 1:  # also values outside the edges, where both ends are edges
        ends = float(picked[0]), float(picked[-1])
        want = np.searchsorted(picked, x, side=side)
        np.testing.assert_array_equal(grid.locate(picked, x, *ends, closed), want)
