"""Features with few values, and whole numbers: differences between observed values, compared with sums by hand."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from tests.long.figures import long_case, of_ratio

ACCUMULATED = (sd.ALE, sd.DALE, sd.RHALE, sd.UALE)
VALUES = np.array([0.0, 0.5, 1.25, 3.0])
SHARES = np.array([0.6, 0.1, 0.2, 0.1])

every = pytest.mark.parametrize("method", ACCUMULATED)


def explained(q, X, feature=0, method=sd.ALE, **more):
    form = method() if isinstance(method, type) else method
    return sd.explain(q, X, feature, method=form, progress=False, **more)


def few(n=400, seed=0):
    """Return rows of three features: few values with unequal frequencies, many whole numbers, a continuous number."""
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.choice(VALUES, n, p=SHARES), rng.geometric(0.02, n), rng.normal(size=n)]
    )


def mixed(X):
    """Return a function in which all three features interact."""
    return np.sin(X[:, 0]) * (1 + X[:, 2]) + (X[:, 1] / 30) ** 2 * (X[:, 2] + 1)


def whole(e):
    return e.value[-1] - e.value[0]


def by_hand(q, X, j, w=None):
    """Return the values, the mean differences by definition, and their squared errors."""
    w = np.ones(len(X)) if w is None else w
    v = np.unique(X[w > 0, j])
    step, error2 = np.zeros(len(v) - 1), np.zeros(len(v) - 1)
    for k in range(len(v) - 1):
        for end in (k, k + 1):
            rows = np.flatnonzero(X[:, j] == v[end])
            low, high = X[rows].copy(), X[rows].copy()
            low[:, j], high[:, j] = v[k], v[k + 1]
            d, n = q(high) - q(low), w[rows].sum()
            mean = w[rows] @ d / n
            step[k] += mean / 2
            error2[k] += w[rows] @ (d - mean) ** 2 / max(n - 1, 1) / n / 4
    return v, step, error2


# ------------------------------------------------------------------- the total difference is the model's


def square(X):
    return X[:, 0] ** 2


def four(n=500, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.choice(4, n, p=[0.5, 0.3, 0.15, 0.05]), rng.normal(size=n)]).astype(
        float
    )


@pytest.mark.parametrize(
    ("method", "bins"),
    [
        (sd.ALE, "auto"),
        (sd.ALE, sd.Uniform(2)),
        (sd.DALE, 3),
        (sd.DALE, sd.Quantile(3)),
        (sd.RHALE, sd.Greedy()),
        (sd.RHALE, sd.Edges([0, 1.5, 3])),
        (sd.UALE, sd.Optimal()),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_square_of_0_to_3_rises_by_9(method, bins, weighted):
    X = four()
    w = np.random.default_rng(1).uniform(0.1, 4, len(X)) if weighted else None
    assert whole(explained(square, X, method=method(bins=bins), sample_weight=w)) == pytest.approx(
        9, rel=1e-12
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_partial_dependence_rises_by_9_too(weighted):
    X = four()
    w = np.random.default_rng(1).uniform(0.1, 4, len(X)) if weighted else None
    e = explained(square, X, method=sd.PDP, sample_weight=w)
    np.testing.assert_array_equal(e.x, np.arange(4))
    assert whole(e) == pytest.approx(9, rel=1e-12)


@pytest.mark.parametrize("method", [sd.DALE, sd.RHALE, sd.UALE])
def test_slopes_that_are_given_are_taken(method):
    q = sd.prediction(square, slope=lambda X: np.c_[2 * X[:, 0], 0 * X[:, 1]])
    e = explained(q, four(), method=method(bins=1))
    assert e.spec.local_effects == "slopes"
    assert whole(e) == pytest.approx(3 * 2 * four()[:, 0].mean())


@pytest.mark.parametrize(
    ("method", "kind"),
    [(sd.ALE, "uniform"), (sd.RHALE, "geometric"), (sd.UALE, "poisson")],
)
def test_two_copies_have_no_effect_of_their_distance(method, kind):
    rng = np.random.default_rng(2)
    draws = {
        "uniform": rng.integers(0, 12, 700),
        "geometric": rng.geometric(0.3, 700),
        "poisson": rng.poisson(3, 700),
    }
    X = np.repeat(draws[kind][:, None], 2, axis=1).astype(float)
    e = explained(lambda X: np.abs(X[:, 0] - X[:, 1]), X, method=method)
    assert e.spec.local_effects == "value_steps"
    assert not e.value.any()
    assert not np.nan_to_num(e.bins.effect).any()
    assert e.importance == 0


@pytest.mark.parametrize("method", [sd.DALE, sd.RHALE])
@pytest.mark.parametrize(
    "draw", [lambda r: r.integers(0, 300, 900), lambda r: r.geometric(0.01, 2000)]
)
def test_two_copies_of_many_whole_numbers_have_none_either(method, draw):
    X = np.repeat(draw(np.random.default_rng(3))[:, None], 2, axis=1).astype(float)
    e = explained(lambda X: np.abs(X[:, 0] - X[:, 1]), X, method=method)
    assert e.spec.local_effects == "integer_steps"
    assert not e.value.any()
    assert not e.bins.rise.any()


# ------------------------------------------------------------------------------------- the definition


@every
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_are_the_mean_of_the_means_of_both_ends(method, weighted):
    X = few()
    w = np.random.default_rng(4).integers(1, 5, len(X)).astype(float) if weighted else None
    e = explained(mixed, X, method=method(center="start"), sample_weight=w)
    v, step, error2 = by_hand(mixed, X, 0, w)
    np.testing.assert_array_equal(e.x, v)
    np.testing.assert_allclose(np.diff(e.value), step, rtol=1e-12)
    ale = explained(mixed, X, sample_weight=w)
    np.testing.assert_allclose(ale.bins.std_error * ale.bins.widths, np.sqrt(error2), rtol=1e-12)
    np.testing.assert_allclose(e.std_error[1], np.sqrt(error2[0]), rtol=1e-12)


@pytest.mark.parametrize("method", [sd.DALE(bins=5, center="start"), sd.RHALE(center="start")])
def test_bins_of_whole_numbers_rise_by_the_sum_of_their_steps(method):
    X = few()
    e = explained(mixed, X, 1, method)
    v, step, _ = by_hand(mixed, X, 1)
    curve = np.append(0, np.cumsum(step))
    np.testing.assert_allclose(e.value, np.interp(e.x, v, curve), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(e.bins.rise, np.diff(e.value), rtol=1e-12)


def test_the_centre_is_the_mean_over_the_rows():
    X = few()
    e = explained(mixed, X)
    v, step, _ = by_hand(mixed, X, 0)
    curve = np.append(0, np.cumsum(step))
    at = np.interp(X[:, 0], v, curve)
    np.testing.assert_allclose(e.value, curve - at.mean(), rtol=1e-12)
    assert e.importance == pytest.approx(at.std(), rel=1e-12)


@every
def test_mirrored_values_mirror_the_curve(method):
    X = few()
    e, m = (
        explained(mixed, X, method=method),
        explained(lambda X: mixed(X * [-1, 1, 1]), X * [-1, 1, 1], method=method),
    )
    np.testing.assert_array_equal(m.x, -e.x[::-1])
    np.testing.assert_allclose(m.value, e.value[::-1], rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(m.std_error, e.std_error[::-1], rtol=1e-12)
    np.testing.assert_allclose(m.bins.effect, -e.bins.effect[::-1], rtol=1e-12)
    np.testing.assert_allclose(m.bins.std_error, e.bins.std_error[::-1], rtol=1e-12)


def test_mirrored_whole_numbers_mirror_the_curve():
    X = few()
    # No value is an edge between two bins, to one of which it would belong.
    method = sd.DALE(bins=sd.Edges([10, 30.5, 60]))
    mirrored = sd.DALE(bins=sd.Edges([-60, -30.5, -10]))
    e, m = (
        explained(mixed, X, 1, method),
        explained(lambda X: mixed(X * [1, -1, 1]), X * [1, -1, 1], 1, mirrored),
    )
    assert e.spec.local_effects == m.spec.local_effects == "integer_steps"
    np.testing.assert_allclose(
        m.value - m.value[-1], (e.value - e.value[0])[::-1], rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(m.bins.std_error, e.bins.std_error[::-1], rtol=1e-9)
    np.testing.assert_allclose(m.bins.effect, -e.bins.effect[::-1], rtol=1e-9)


@every
def test_weights_are_repetitions(method):
    X = few(150)
    w = np.random.default_rng(5).integers(0, 4, len(X))
    for feature in (0, 1):
        a = explained(
            mixed,
            X,
            feature,
            method(bins="auto"),
            sample_weight=w.astype(float),
            heterogeneity_rows=0,
        )
        b = explained(
            mixed, np.repeat(X, w, axis=0), feature, method(bins="auto"), heterogeneity_rows=0
        )
        np.testing.assert_allclose(a.x, b.x)
        np.testing.assert_allclose(a.value, b.value, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(a.std_error, b.std_error, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(a.heterogeneity, b.heterogeneity, rtol=1e-9, atol=1e-12)


# --------------------------------------------------------------------------------------- calls of the model


@every
@pytest.mark.parametrize("gaps", [False, True])
def test_a_model_is_asked_for_observed_values_alone(method, gaps):
    # ALE of many whole numbers has the edges of 32 quantiles, which are observed; see below.
    features = [0] if method is sd.ALE else [0, 1]
    X = few(600)
    if gaps:
        X[::7, 0] = np.nan
        X[::11, 1] = np.nan

    def picky(A):
        for j in features:
            seen = np.isin(A[:, j], X[:, j]) | (np.isnan(A[:, j]) if gaps else False)
            if not seen.all():
                raise ValueError(f"{A[~seen, j][:3]} were not observed")
        return np.nan_to_num(A[:, 0]) ** 2 * A[:, 2] + np.nan_to_num(A[:, 1]) / 50 * A[:, 2]

    explained(picky, X, features, method)


def test_edges_of_quantiles_are_observed_too():
    X = few(600)

    def picky(A):
        if not np.isin(A[:, 1], X[:, 1]).all():
            raise ValueError("not observed")
        return A[:, 1] * A[:, 2]

    explained(picky, X, 1, sd.ALE)


# ----------------------------------------------------------------------- results with a sample of the rows


@pytest.mark.parametrize(
    ("method", "feature"), [(sd.ALE, 0), (sd.RHALE, 0), (sd.DALE, 1), (sd.UALE, 1)]
)
def test_a_sample_of_the_rows_changes_no_number_of_the_curve(method, feature):
    X = few(3000)
    bins = 6 if feature else "auto"  # automatic edges may be at rows
    a = explained(mixed, X, feature, method(bins=bins))
    b = explained(mixed, X, feature, method(bins=bins), keep_rows="10kB")
    assert a.rows.exact
    assert not b.rows.exact
    np.testing.assert_array_equal(a.x, b.x)
    np.testing.assert_allclose(a.value, b.value, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(a.std_error, b.std_error, rtol=1e-12)
    np.testing.assert_allclose(a.bins.std, b.bins.std, rtol=1e-12)
    lower, upper = b.interval(method="bootstrap", replicates=50)
    assert (upper >= lower).all()
    b.variance_decomposition(), b.checks(), b.to_frame(), b.to_frame(of="bins")


@every
def test_a_value_of_one_row_borrows_its_neighbours_variance(method):
    X = np.vstack([few(300), [[2.0, 5, 0.3]], [[9.0, 5, -1.0]]])
    e = explained(mixed, X, method=method)
    assert np.isfinite(e.value).all()
    assert np.isfinite(e.std_error).all()
    assert (e.std_error[-2:] > 0).all()


@every
def test_missing_values_are_left_out_of_the_steps(method):
    X = few(500)
    X[::9, 0] = np.nan
    q = lambda A: mixed(np.nan_to_num(A, nan=-1.0))  # noqa: E731
    e = explained(q, X, method=method)
    v, step, _ = by_hand(q, X[~np.isnan(X[:, 0])], 0)
    np.testing.assert_allclose(np.diff(np.interp(v, e.x, e.value)), step, rtol=1e-12)
    assert e.missing == len(X[::9])
    assert e.missing_point is not None


# ------------------------------------------------------------------------ multi-output and multi-model


def test_a_part_may_lack_a_value():
    X = few(60)
    X[:, 0] = np.repeat([0, 1, 2, 3], [20, 20, 1, 19])
    folds = [
        (np.flatnonzero(np.arange(60) % 2 != k), np.flatnonzero(np.arange(60) % 2 == k))
        for k in (0, 1)
    ]
    e = sd.explain([square, square], X, 0, method=sd.RHALE(), cv=folds, progress=False)
    np.testing.assert_allclose(
        np.diff(np.interp([0, 1, 2, 3], e.x, e.value)), [1, 3, 5], rtol=1e-12
    )


# -------------------------------------------------------------------------------------------- errors


@pytest.mark.slow
@pytest.mark.parametrize(("draws", "slack"), [(60, 0.35), long_case(500, 0.12)])
@pytest.mark.parametrize("center", ["mean", "start"])
@pytest.mark.parametrize(
    ("feature", "bins"), [(0, "auto"), (1, sd.Edges([1, 20, 45, 70]))], ids=["few", "whole"]
)
def test_errors_are_those_of_simulated_data_sets(center, feature, bins, draws, slack, measured):
    rows = 400 if feature == 0 else 1600
    method = sd.DALE(bins=bins, center=center)
    found = [
        explained(mixed, few(rows, seed), feature, method, heterogeneity_rows=0)
        for seed in range(draws)
    ]
    values, errors = np.array([e.value for e in found]), np.array([e.std_error for e in found])
    typical = np.sqrt((errors**2).mean(axis=0))
    spread = values.std(axis=0)
    np.testing.assert_allclose(typical, spread, rtol=slack, atol=1e-3)
    ratio = (typical / np.where(spread > 1e-3, spread, np.nan))[spread > 1e-3]
    about = {"draws": draws, "rows": rows, "seed": f"0 to {draws - 1}"}
    about |= {"low": 1 - slack, "high": 1 + slack}
    for name, one in (("least", ratio.min()), ("most", ratio.max())):
        measured(f"stated error over true, {name}", one, error=of_ratio(one, draws), **about)


@pytest.mark.parametrize(
    ("feature", "center", "of"),
    [(0, "mean", "value"), (1, "start", "value"), (1, "mean", "bins"), (0, "start", "bins")],
)
def test_intervals_of_all_kinds_are_alike(feature, center, of):
    X = few(1500)
    X[:, 1] = np.random.default_rng(7).integers(0, 80, len(X))
    e = explained(mixed, X, feature, sd.DALE(bins="auto" if feature == 0 else 4, center=center))
    wide = np.diff(e.interval(of=of), axis=0)[0]
    for more in ({}, {"source": "moments"}):
        drawn = np.diff(e.interval(method="bootstrap", of=of, replicates=600, **more), axis=0)[0]
        known = np.isfinite(wide) & np.isfinite(drawn) & (wide > 0)
        assert known.sum() >= len(wide) - 1
        np.testing.assert_allclose(drawn[known], wide[known], rtol=0.2)
    band = np.diff(e.interval(of=of, simultaneous=True), axis=0)[0]
    assert (band[known] >= wide[known] * (1 - 1e-9)).all()


@pytest.mark.parametrize(
    ("method", "feature"), [(sd.ALE, 0), (sd.RHALE, 0), (sd.DALE, 1), (sd.UALE, 1)]
)
def test_rows_counted_otherwise_are_as_repeated(method, feature):
    X = few(300)
    form = (
        method(bins="auto") if feature == 0 else method(bins=sd.Edges([1, 20, 45, X[:, 1].max()]))
    )
    e = explained(mixed, X, feature, form, heterogeneity_rows=0)
    counts = np.random.default_rng(6).integers(1, 4, len(X)).astype(float)
    again = explained(mixed, X, feature, form, sample_weight=counts, heterogeneity_rows=0)
    np.testing.assert_allclose(e.resampled(counts), again(e.x), rtol=1e-9, atol=1e-10)


# ------------------------------------------------------------------------------------------ re-binning


@pytest.mark.parametrize("keep", ["256MB", "10kB"])
def test_unions_of_values_keep_the_curve_and_say_what_is_not_known(keep):
    X = few(2000)
    e = explained(mixed, X, 0, sd.ALE, keep_rows=keep)
    r = e.rebin(sd.Edges([0.0, 1.25, 3.0]))
    np.testing.assert_array_equal(r.value, e.value)
    np.testing.assert_array_equal(r.std_error, e.std_error)
    np.testing.assert_allclose(r.bins.effect * r.bins.widths, np.diff(e.value[[0, 2, 3]]))
    assert np.isnan(r.bins.std).all()
    assert "Edges([0, 1.25, 3])" in r.provenance["rebinned_note"]
    assert "one_row" not in {f.code for f in r.checks()}
    assert np.isnan(r.variance_decomposition().total).all()
    r.to_frame(of="bins"), r.interval(of="bins"), r.interval(method="bootstrap", replicates=20)
    back = e.rebin(sd.Edges(list(VALUES)))
    np.testing.assert_array_equal(back.bins.std, e.bins.std)


def test_edges_between_values_are_refused():
    e = explained(mixed, few(), 0, sd.ALE)
    for bins in (sd.Edges([0, 1, 3]), sd.Edges([0.5, 3]), sd.Uniform(3)):
        with pytest.raises(sd.errors.UnsupportedError, match=r"sd\.Edges"):
            e.rebin(bins)


@pytest.mark.parametrize(
    ("center", "weights"), [("mean", None), ("start", "frequency"), (None, "sampling")]
)
def test_rebinning_as_it_was_gives_the_bins_as_they_were(center, weights):
    X = few(1000)
    w = None if weights is None else np.random.default_rng(8).uniform(0.2, 2, len(X))
    kind = weights or "frequency"
    w = w / w.sum() if kind == "sampling" else w
    e = explained(mixed, X, 0, sd.RHALE(center=center), sample_weight=w, weight_kind=kind)
    r = e.rebin(sd.Optimal(criterion="likelihood"))
    np.testing.assert_array_equal(r.bins.left, e.bins.left)
    np.testing.assert_array_equal(r.bins.std, e.bins.std)
    np.testing.assert_array_equal(r.heterogeneity, e.heterogeneity)
    if kind == "frequency":  # Optimal requires a minimum weight per bin
        np.testing.assert_array_equal(e.rebin(sd.Optimal()).value, e.value)


@pytest.mark.parametrize(
    "bins", [sd.Uniform(7), sd.Quantile(5), sd.Edges([20, 40, 170]), sd.Greedy()]
)
def test_whole_numbers_are_rebinned_as_if_explained_anew(bins):
    X = few(1500)
    X[:, 1] = np.random.default_rng(9).integers(0, 200, len(X))
    a, b = explained(mixed, X, 1, sd.RHALE).rebin(bins), explained(mixed, X, 1, sd.RHALE(bins=bins))
    np.testing.assert_allclose(a.x, b.x)
    np.testing.assert_allclose(a.value, b.value, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(a.std_error, b.std_error, rtol=1e-12)
    np.testing.assert_allclose(a.bins.std, b.bins.std, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_an_m_plot_has_the_mean_of_each_value(weighted):
    X = few()
    w = np.random.default_rng(1).uniform(0.1, 3, len(X)) if weighted else None
    e = explained(mixed, X, 0, sd.MPlot, sample_weight=w)
    np.testing.assert_allclose(e.x, VALUES, rtol=1e-14)
    means = [
        np.average(mixed(X[rows]), weights=None if w is None else w[rows])
        for rows in (X[:, 0] == v for v in VALUES)
    ]
    np.testing.assert_allclose(e.value, means, rtol=1e-12)
    assert e.bins.count.tolist() == [np.sum(X[:, 0] == v) for v in VALUES]
    two = explained(lambda X: 3 * X[:, 0], (X[:, :1] > 0.2) * 1.0, 0, sd.MPlot)
    np.testing.assert_allclose(two.value, [0, 3])


def test_an_m_plot_keeps_neighbouring_floats_apart_or_together_but_in_order():
    x = np.resize([1.0, np.nextafter(1.0, 2), 2.0], 60)
    e = explained(lambda X: X[:, 0] > 1.5, x[:, None], 0, sd.MPlot)
    assert e.value[-1] == 1
    assert e.value[:-1].max() == 0


@pytest.mark.parametrize(
    ("values", "rows", "few"),
    [(13, 26, True), (14, 139, False), (14, 140, True), (64, 640, True), (65, 1300, False)],
)
def test_few_are_13_values_or_64_with_ten_rows_each(values, rows, few):
    x = np.arange(rows) % values + 0.5
    X = np.column_stack([x, np.random.default_rng(8).normal(size=rows)])
    for weights in (None, np.full(rows, 1e-9), np.full(rows, 1e9)):
        e = sd.explain(
            mixed_of_two, X, 0, method=sd.ALE(), sample_weight=weights, heterogeneity_rows=0
        )
        assert (e.spec.local_effects == "value_steps") == few


def mixed_of_two(X):
    return X[:, 0] * X[:, 1]
