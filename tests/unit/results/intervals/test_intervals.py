"""Intervals and bands of effects, bins, scalars and importances: their construction, and rejected arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

import skedasis as sd
from skedasis.results.intervals.analytic import blocks_of
from skedasis.stats.resampling import BootstrapDraws, ErrorBlocks, bootstrap_rng, sup_t
from skedasis.stats.student import quantile_t
from tests.helpers import refused, usually

N = 300
CUT = sd.Edges([-1.0, -0.5, -0.1, 0.3, 1.0], closed="left")
SCHEMA = {0: sd.Feature("c", "nominal", levels=(0, 1, 2, 3))}


def data(n: int = N, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    level = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    return np.c_[level, rng.normal(size=n) + 0.4 * level, rng.uniform(-1, 1, n)]


def model(X: np.ndarray) -> np.ndarray:
    step = np.array([0.0, 1.0, -0.5, 2.0])[X[:, 0].astype(int)]
    return step * (1 + X[:, 1]) + np.sin(3 * X[:, 2]) * (2 + X[:, 1])


def explain(method: Any, feature: int = 2, schema: Any = SCHEMA, **options: Any) -> Any:
    X = options.pop("X", data())
    return sd.explain(model, X, feature, method=method, schema=schema, progress=False, **options)


ALE = explain(sd.ALE(bins=CUT))
EFFECTS = {
    "ale": ALE,
    "ale from the start": explain(sd.ALE(bins=CUT, center="start")),
    "ale merged": ALE.rebin(sd.Edges([-1.0, -0.1, 1.0], closed="left")),
    "dale": explain(sd.DALE(bins=CUT)),
    "levels": explain(sd.ALE(), 0),
    "levels from the start": explain(sd.ALE(center="start"), 0),
    "weighted levels": explain(
        sd.ALE(), 0, sample_weight=np.random.default_rng(1).integers(1, 4, N).astype(float)
    ),
    "mplot": explain(sd.MPlot(bins=CUT)),
    "centred mplot": explain(sd.MPlot(bins=CUT, center="mean")),
    "mplot of levels": explain(sd.MPlot(center="mean"), 0),
    "pdp": explain(sd.PDP(grid=[-0.8, 0.0, 0.3, 0.7], ice="all")),
    "centred pdp": explain(sd.PDP(grid=[-0.8, 0.0, 0.3, 0.7], ice="all", center="mean")),
}


def covariance(blocks: ErrorBlocks) -> np.ndarray:
    return blocks.factor @ blocks.factor.T


# ------------------------------------------------------------------------------------ covariance of bands
@pytest.mark.parametrize("e", usually(EFFECTS, "ale", "weighted levels", "centred pdp"))
def test_errors_together_are_what_resampled_rows_vary_by(e):
    """The covariance of a band: its diagonal agrees with the standard errors, all of it with a bootstrap."""
    found = covariance(blocks_of(e, "value"))
    np.testing.assert_allclose(np.sqrt(np.diag(found)), e.std_error, rtol=1e-9, atol=1e-12)
    counts = np.random.default_rng(5).multinomial(N, np.full(N, 1 / N), size=4000)
    if e.rows.weight is not None:
        share = e.rows.weight / e.rows.weight.sum()
        counts = np.random.default_rng(5).multinomial(int(e.rows.weight.sum()), share, size=4000)
    drawn = np.cov(e.resampled(counts).T)
    size = np.sqrt(np.outer(np.diag(found), np.diag(found)))
    there = size > 0
    assert np.abs(drawn - found)[there].max() > 0
    # Merged cells share the variance of their bin; in the bootstrap of rows they do not.
    shared = e.cells is not None and e.bins is not None and len(e.cells) > len(e.bins)
    assert (np.abs(drawn - found)[there] / size[there]).max() < (0.25 if shared else 0.1)


@pytest.mark.parametrize("center", ["mean", "start"])
def test_errors_together_of_steps_between_values_are_the_standard_errors(center):
    e = explain(sd.ALE(center=center), 0, {0: "continuous"})
    assert len(e.x) == len(np.unique(data()[:, 0]))
    found = covariance(blocks_of(e, "value"))
    np.testing.assert_allclose(np.sqrt(np.diag(found)), e.std_error, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("e", EFFECTS.values(), ids=list(EFFECTS))
@pytest.mark.parametrize("of", ["value", "bins"])
def test_each_part_of_the_errors_has_degrees_of_freedom_of_its_own(e, of):
    """The last part of a centred M-plot is the centre's, to which all rows contribute."""
    if of == "bins" and e.bins is None:
        return
    blocks = blocks_of(e, of)
    assert blocks.factor.shape[1] == len(blocks.block)
    np.testing.assert_array_equal(np.unique(blocks.block), np.arange(len(blocks.df)))
    assert (np.diff(blocks.block) >= 0).all()
    if e.spec.method == "MPlot" and e.spec.center == "mean" and of == "value":
        weight = np.ones(N) if e.rows.weight is None else e.rows.weight
        assert len(blocks.df) == len(e.value) + 1
        assert blocks.df[-1] == weight.sum() - 1


@pytest.mark.parametrize("e", [e for e in EFFECTS.values() if e.bins is not None])
def test_bins_have_students_interval(e):
    low, high = e.interval(0.9, of="bins")
    np.testing.assert_allclose((low + high) / 2, e.bins.effect)
    found = np.sqrt(np.diag(covariance(blocks_of(e, "bins"))))
    np.testing.assert_allclose(found, e.bins.std_error, rtol=1e-9)
    if e.levels is None and e.spec.local_effects != "edges" and e.rows.weight is None:
        np.testing.assert_allclose(
            high - low, 2 * quantile_t(e.bins.count - 1.0, 0.9) * e.bins.std_error
        )
    below, above = e.interval(0.9, "bootstrap", of="bins", replicates=1500)
    assert np.abs((above - below) / (high - low) - 1).max() < 0.12


@pytest.mark.parametrize("e", usually(EFFECTS, "ale merged", "levels", "mplot"))
@pytest.mark.parametrize("of", ["value", "bins"])
def test_a_band_lies_between_the_interval_and_bonferroni(e, of):
    if of == "bins" and e.bins is None:
        return
    level = 0.9
    low, high = e.interval(level, of=of)
    below, above = e.interval(level, of=of, simultaneous=True)
    error = e.std_error if of == "value" else e.bins.std_error
    there = error > 0
    ratio = (above - below)[there] / (high - low)[there]
    assert ratio.min() >= 1
    points = there.sum()
    most = quantile_t(np.array([20.0]), 1 - (1 - level) / points)[0] / ndtri(1 - (1 - level) / 2)
    assert ratio.max() < most
    assert ((above - below)[~there] == 0).all()
    drawn = e.interval(level, "bootstrap", of=of, simultaneous=True, replicates=2000)
    assert np.abs((drawn[1] - drawn[0])[there] / (above - below)[there] - 1).max() < 0.12


def test_critical_values_are_those_of_closed_forms():
    """Independent normal errors, identical t errors, and independent t errors."""
    for k in (1, 3, 20):
        free = ErrorBlocks(np.eye(k), np.arange(k), np.full(k, 1e9))
        want = ndtri((1 + 0.95 ** (1 / k)) / 2)
        assert sup_t(free, 0.95, 200_000) == pytest.approx(want, rel=0.005)
        same = ErrorBlocks(np.ones((k, 1)), np.zeros(1, int), np.array([7.0]))
        assert sup_t(same, 0.95, 200_000) == pytest.approx(2.3646, rel=0.01)
    # Šidák's critical value for independent t variables.
    ts = ErrorBlocks(np.diag([1.0, 5.0, 0.1]), np.arange(3), np.array([4.0, 4.0, 4.0]))
    want = quantile_t(np.array([4.0]), 0.95 ** (1 / 3))[0]
    assert sup_t(ts, 0.95, 200_000) == pytest.approx(want, rel=0.015)
    assert math.isnan(sup_t(ErrorBlocks(np.zeros((3, 2)), np.arange(2), np.ones(2)), 0.95))


def test_a_band_of_curves_that_are_not_kept_is_bonferronis():
    whole = explain(sd.PDP(grid=5, ice="all"))
    few = explain(sd.PDP(grid=5, ice=10))
    low, high = few.interval(0.9, simultaneous=True)
    half = quantile_t(few.df, 1 - 0.1 / 5) * few.std_error
    np.testing.assert_allclose(high - low, 2 * half)
    assert ((whole.interval(0.9, simultaneous=True)[1] - whole.value) < half).all()
    some = explain(sd.PDP(grid=5, ice=150))
    got, want = (np.subtract(*e.interval(0.9, simultaneous=True)) for e in (some, whole))
    np.testing.assert_allclose(got, want, rtol=0.1)


# ---------------------------------------------------------------------------------------- the bootstrap


def test_features_share_their_draws_and_threads_change_nothing():
    X = data()
    es = sd.explain(model, X, method=sd.ALE(bins=5), schema=SCHEMA, progress=False)
    together = es.interval(0.9, "bootstrap", replicates=300, random_state=3)
    threaded = es.interval(0.9, "bootstrap", replicates=300, random_state=3, n_jobs=2)
    assert list(together) == list(es)
    for name, e in es.items():
        alone = e.interval(0.9, "bootstrap", replicates=300, random_state=3)
        np.testing.assert_array_equal(together[name], alone)
        np.testing.assert_array_equal(together[name], threaded[name])
        assert (e.interval(0.9, "bootstrap", replicates=300, random_state=4)[0] != alone[0]).any()
        np.testing.assert_array_equal(es.interval(0.9)[name], e.interval(0.9))
    # Features share their draws: two identical features have the same interval.
    twice = sd.explain(model, np.c_[X, X[:, 2]], [2, 3], method=sd.MPlot(bins=4), progress=False)
    ends = list(twice.interval(method="bootstrap", replicates=50).values())
    np.testing.assert_array_equal(*ends)


def test_features_with_missing_values_draw_by_themselves():
    X = data()
    X[:20, 2] = np.nan
    es = sd.explain(
        lambda X: np.nan_to_num(X).sum(1), X, [1, 2], method=sd.ALE(bins=4), progress=False
    )
    ends = es.interval(method="bootstrap", replicates=100)
    assert all(np.isfinite(side).all() for pair in ends.values() for side in pair)


@pytest.mark.parametrize("weights", [None, "integers", "fractions", "sampling"])
def test_draws_are_multinomial(weights):
    """Check the means and variances of the counts."""
    rng = np.random.default_rng(0)
    n = 40
    w = {
        None: None,
        "integers": rng.integers(1, 4, n).astype(float),
        "fractions": rng.gamma(2.0, 1.0, n),
        "sampling": rng.gamma(2.0, 1.0, n),
    }[weights]
    draws = BootstrapDraws(w, "sampling" if weights == "sampling" else "frequency", n)
    counts = np.hstack([draws.counts(rng, 250) for _ in range(40)])
    share = np.full(n, 1 / n) if w is None or weights == "sampling" else w / w.sum()
    total = n if w is None or weights == "sampling" else round(w.sum())
    np.testing.assert_array_equal(counts.sum(axis=0), total)
    error = np.sqrt(total * share / counts.shape[1])
    assert (np.abs(counts.mean(axis=1) - total * share) < 5 * error).all()
    np.testing.assert_allclose(counts.var(axis=1), total * share * (1 - share), rtol=0.12)


def test_large_blocks_count_as_small_ones_do():
    draws = BootstrapDraws(None, "frequency", 300_000)
    counts = draws.counts(np.random.default_rng(0), 2)
    np.testing.assert_array_equal(counts.sum(axis=0), 300_000)
    assert abs((counts == 0).mean() - math.exp(-1)) < 0.003
    want = [
        np.bincount(d, minlength=300_000)
        for d in np.random.default_rng(0).integers(0, 300_000, (2, 300_000))
    ]
    np.testing.assert_array_equal(counts.T, want)


def test_scalars_have_percentiles():
    X = data(1200)
    for feature, method in ((2, sd.ALE(bins=CUT)), (0, sd.ALE()), (2, sd.PDP(grid=5, ice="all"))):
        e = explain(method, feature, X=X)
        low, high = e.interval(0.95, "bootstrap", of="importance", replicates=300)
        assert low.shape == high.shape == ()
        assert 0 < low < e.importance < high < 2 * e.importance
        with refused(sd.UnsupportedError, "of='importance'", "method='bootstrap'"):
            e.interval(of="importance")


def test_the_heterogeneity_score_has_the_interval_of_its_pairs():
    X = data(1200)
    for feature, method in ((2, sd.ALE(bins=CUT)), (0, sd.ALE()), (2, sd.PDP(grid=5, ice="all"))):
        e = explain(method, feature, X=X)
        low, high = e.interval(of="heterogeneity_score")
        assert low.shape == high.shape == ()
        assert 0 < low < e.heterogeneity_score < high
        # The interval is symmetric on a log scale.
        assert low * high == pytest.approx(e.heterogeneity_score**2, rel=1e-12)
        wide = e.interval(0.99, of="heterogeneity_score")
        assert wide[0] < low < high < wide[1]
        with refused(sd.UnsupportedError, "separate the pairs", "method='analytic'"):
            e.interval(method="bootstrap", of="heterogeneity_score")
    for none, fix in (
        (explain(sd.MPlot(bins=CUT), 2, X=X), "sd.ALE()"),
        (explain(sd.ALE(bins=CUT), 2, X=X, heterogeneity_rows=0), "heterogeneity_rows=0"),
    ):
        with refused(sd.UnsupportedError, "no heterogeneity score", fix):
            none.interval(of="heterogeneity_score")
    both = sd.explain(model, X, [0, 2], method=sd.ALE(), schema=e.about and None, progress=False)
    for name, ends in both.interval(of="heterogeneity_score").items():
        assert ends == both[name].interval(of="heterogeneity_score")


MOMENTS = {
    "ale": (sd.ALE(bins=CUT), 2, {}),
    "dale": (sd.DALE(bins=CUT, center="start"), 2, {}),
    "levels": (sd.ALE(), 0, {}),
    "mplot": (sd.MPlot(bins=CUT), 2, {}),
    "mplot of levels": (sd.MPlot(center="mean"), 0, {}),
    "weighted": (
        sd.DALE(bins=CUT),
        2,
        {"sample_weight": np.random.default_rng(2).integers(1, 4, 900).astype(float)},
    ),
    "sampled": (
        sd.ALE(),
        0,
        {"sample_weight": np.random.default_rng(2).gamma(3.0, 1.0, 900), "weight_kind": "sampling"},
    ),
}


@pytest.mark.parametrize("case", usually(MOMENTS, "ale", "mplot", "sampled"))
def test_moments_give_what_rows_give(case):
    method, feature, options = case
    e = explain(method, feature, X=data(900), **options)
    part = explain(method, feature, X=data(900), keep_rows=3000, **options)
    assert not part.rows.exact
    for of in ("value", "bins", "importance"):
        if of == "bins" and e.bins is None:
            continue
        how = {"of": of, "replicates": 1500, "random_state": 1}
        rows = e.interval(0.9, "bootstrap", source="rows", **how)
        for drawn in (
            e.interval(0.9, "bootstrap", source="moments", **how),
            part.interval(0.9, "bootstrap", **how),
        ):
            wide = rows[1] - rows[0]
            gap = np.abs(np.array(drawn) - np.array(rows)) / np.where(wide > 0, wide, 1.0)
            assert gap.max() < 0.12


def test_a_sample_of_curves_gives_what_all_give():
    whole = explain(sd.PDP(grid=5, ice="all"))
    part = explain(sd.PDP(grid=5, ice=100))
    for options in ({}, {"simultaneous": True}):
        got, want = (
            e.interval(0.9, "bootstrap", replicates=2000, **options) for e in (part, whole)
        )
        np.testing.assert_allclose(np.subtract(*got), np.subtract(*want), rtol=0.12)


# ----------------------------------------------------------------------- bins chosen in each replicate


def kinked(n: int = 500, seed: int = 0) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, n)
    x[:20], x[20:40] = 0.0, 1.0  # so that every replicate has the same ends
    u = rng.normal(size=n)

    def slope(X: np.ndarray) -> np.ndarray:
        return np.c_[np.where(X[:, 0] < 0.4, 1.0, -2.0) + X[:, 1] * (0.2 + X[:, 0]), X[:, 0]]

    return sd.prediction(lambda X: X[:, 0] * X[:, 1], slope=slope), np.c_[x, u]


@pytest.mark.parametrize(
    "method",
    [sd.RHALE(bins=sd.Optimal(max_bins=20)), sd.RHALE(bins=sd.Greedy(max_bins=20))],
    ids=["optimal", "greedy"],
)
def test_bins_chosen_anew_are_those_of_rows_repeated(method):
    """Compare each replicate with `sd.explain` on its resampled rows."""
    q, X = kinked()
    e = sd.explain(q, X, 0, method=method, progress=False)
    from skedasis.results.intervals.bootstrap import bootstrap_with_rebinning

    got = bootstrap_with_rebinning(e, 8, 5)
    counts = BootstrapDraws(None, "frequency", 500).counts(bootstrap_rng(5), 8)
    found = set()
    for r in range(8):
        again = sd.explain(
            q, np.repeat(X, counts[:, r].astype(int), axis=0), 0, method=method, progress=False
        )
        found.add(len(again.bins))
        np.testing.assert_allclose(got[r], again(e.x), rtol=1e-10, atol=1e-10)
    assert len(found) > 1
    ends = e.interval(0.9, "bootstrap", bins="chosen", replicates=100, random_state=5)
    fixed = e.interval(0.9, "bootstrap", replicates=100, random_state=5)
    assert np.subtract(*ends)[1:-1].sum() < np.subtract(*fixed)[1:-1].sum() * 0.9


def test_bins_chosen_from_moments():
    q, X = kinked(2000)
    method = sd.RHALE(bins=sd.Optimal(max_bins=20))
    whole = sd.explain(q, X, 0, method=method, progress=False)
    part = sd.explain(q, X, 0, method=method, progress=False, keep_rows=4000)
    assert not part.rows.exact
    options = {"bins": "chosen", "replicates": 200}
    want, got = (e.interval(0.9, "bootstrap", **options) for e in (whole, part))
    wide = (want[1] - want[0]).max()
    assert np.abs(np.array(got) - np.array(want)).max() < 0.25 * wide


def test_bins_that_do_not_choose_are_refused():
    for e in (ALE, EFFECTS["levels"], EFFECTS["pdp"], EFFECTS["mplot"]):
        with refused(sd.UnsupportedError, "bins='chosen'", "Optimal, Greedy or AutoUniform"):
            e.interval(method="bootstrap", bins="chosen")
    with refused(sd.UnsupportedError, "bins='chosen'", "method='bootstrap'"):
        ALE.interval(bins="chosen")
    with refused(sd.UnsupportedError, "bins='chosen'", "of='value'"):
        ALE.interval(method="bootstrap", bins="chosen", of="bins")


# -------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("level", [0, 1, True, float("nan"), None])
def test_levels_outside_are_refused(level):
    for one in (ALE, sd.explain(model, data(), [1, 2], method=sd.ALE(bins=3), progress=False)):
        for method in ("analytic", "bootstrap"):
            with refused(sd.DataError, "level", "between 0 and 1"):
                one.interval(level, method)


@pytest.mark.parametrize("replicates", [1, 1.5, True])
def test_replicates_that_are_none_are_refused(replicates):
    with refused(sd.DataError, "interval(replicates)", "at least 2"):
        ALE.interval(method="bootstrap", replicates=replicates)


def test_other_wrong_arguments_are_refused():
    for name, bad in {
        "method": "exact",
        "of": "curve",
        "bins": "new",
        "source": "disk",
        "simultaneous": 1,
        "n_jobs": 0,
        "random_state": -1,
    }.items():
        word = {"n_jobs": "n_jobs", "random_state": "random_state"}.get(name, name)
        with refused(sd.DataError, f"interval({word})"):
            ALE.interval(**{"method": "bootstrap", name: bad})
    with refused(sd.UnsupportedError, "of='bins'", "no bins"):
        EFFECTS["pdp"].interval(of="bins")


@pytest.mark.parametrize("method", [sd.ALE, sd.DALE, sd.MPlot])
def test_a_bin_of_one_row_has_no_variance(method):
    """Its interval is NaN: an interval of zero width would claim certainty."""
    X = data()
    X[0, 2] = 3.0
    e = explain(method(bins=sd.Edges([-1.0, 0.0, 1.0, 2.0, 3.0], closed="left")), X=X)
    for how in ("analytic", "bootstrap"):
        for simultaneous in (False, True):
            low, high = e.interval(method=how, of="bins", simultaneous=simultaneous, replicates=50)
            assert np.isnan(low).tolist() == np.isnan(high).tolist() == [False, False, True, True]
            assert (high[:2] > low[:2]).all()
    single = sd.Edges(np.sort(data(12)[:, 2]), closed="right")
    e = explain(method(bins=single), X=data(12))
    for of in ("value", "bins"):
        for how in ("analytic", "bootstrap"):
            low, high = e.interval(method=how, of=of, replicates=50)
            there = ~np.isnan(low)
            assert ((high > low)[there]).all()


def test_all_weight_on_one_row_is_no_variance():
    weights = np.zeros(N)
    weights[7] = 1.0
    X = data()
    for method, feature in ((sd.MPlot(), 0), (sd.PDP(grid=[0.0, 0.5]), 2), (sd.MPlot(), 2)):
        e = explain(method, feature, X=X, sample_weight=weights)
        for how in ("analytic", "bootstrap"):
            for simultaneous in (False, True):
                low, high = e.interval(method=how, replicates=20, simultaneous=simultaneous)
                assert np.isnan(low).all()
                assert np.isnan(high).all()


def test_what_cannot_vary_has_no_width():
    """A feature with one value or one level has effect 0 for any sample of rows; an M-plot's mean varies."""
    X = np.c_[np.full(50, 2.0), np.zeros(50), np.random.default_rng(0).normal(size=50)]
    schema = {1: sd.Feature("k", "nominal", levels=(0.0,))}
    for feature, method in ((0, sd.ALE()), (0, sd.DALE()), (1, sd.ALE())):
        e = sd.explain(lambda X: X[:, 2], X, feature, method=method, schema=schema, progress=False)
        for options in ({}, {"simultaneous": True}, {"method": "bootstrap", "replicates": 9}):
            assert e.interval(**options) == (0.0, 0.0)
            assert [len(side) for side in e.interval(of="bins", **options)] == [0, 0]
    e = sd.explain(lambda X: X[:, 2], X, 0, method=sd.MPlot(), progress=False)
    want = 2 * quantile_t(np.array([49.0]), 0.95) * X[:, 2].std(ddof=1) / math.sqrt(50)
    for options in ({}, {"of": "bins"}, {"simultaneous": True}):
        low, high = e.interval(**options)
        np.testing.assert_allclose(high - low, want)


# ------------------------------------------------------------------------------------------ importances


def test_importances_together_are_wider_by_sidak():
    X = data()
    pf = sd.explain(model, X, method=sd.PFI(n_repeats=5), progress=False)
    low, high = pf.interval(0.9, simultaneous=True)
    want = pf.interval(0.9 ** (1 / 3))
    np.testing.assert_array_equal([low, high], want)
    assert ((high - low) > np.subtract(*pf.interval(0.9)[::-1])).all()
    for level in (0, 1, True, "0.9", float("nan")):
        with refused(sd.DataError, "level", "between 0 and 1"):
            pf.interval(level)


def test_percentiles_of_few_rows_are_expanded():
    """For normal replicates: Student's interval times sqrt(n / (n - 1)), the factor that a bootstrap lacks."""
    from skedasis.stats.resampling import percentiles, sup_band

    draws = ndtri((np.arange(40_000) + 0.5) / 40_000)[:, None] * np.ones(3)
    free = np.array([9.0, 32.0, np.inf])
    low, high = percentiles(draws, 0.95, free)
    want = np.array([2.26216 * math.sqrt(10 / 9), 2.03693 * math.sqrt(33 / 32), 1.95996])
    np.testing.assert_allclose(high, want, rtol=2e-3)
    np.testing.assert_allclose(low, -want, rtol=2e-3)
    below, above = sup_band(np.zeros(3), draws, 0.95, free)
    np.testing.assert_allclose(above, want, rtol=2e-3)
    np.testing.assert_allclose(below, -want, rtol=2e-3)
    draws[:10, 1] = np.nan
    np.testing.assert_allclose(percentiles(draws, 0.95)[1], 1.95996, rtol=2e-3)
    assert np.isnan(percentiles(draws * np.nan, 0.95)[0]).all()
