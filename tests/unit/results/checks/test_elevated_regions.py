"""Elevated regions: simulated uncertainties of known origin, and every number against a loop over rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import skedasis as sd
from skedasis.results.checks.elevated_regions import elevated_regions
from tests.helpers import refused


def border(n: int, seed: int = 0) -> np.ndarray:
    """Return rows of the square [-1, 1]² within 0.2 of its border (entropy_importance, sec. 4.2)."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(20 * n, 2))
    return X[np.abs(X).max(axis=1) > 0.8][:n]


def inside(X: np.ndarray) -> np.ndarray:
    """Return each row's depth in the square's empty middle; 0 in the region of the data."""
    return np.maximum(0.8 - np.abs(X).max(axis=1), 0.0)


class TestVerdicts:
    @pytest.mark.parametrize("seed", range(2))
    def test_noise_of_the_feature_itself_is_in_all_rows(self, seed):
        """The label's standard deviation triples above x0 = 0.3 for all x1; q is the normal distribution's entropy."""
        X = np.random.default_rng(seed).uniform(-1, 1, size=(400, 2))
        sigma = lambda X: np.where(X[:, 0] > 0.3, 3.0, 1.0) * np.exp(0.5 * X[:, 1])  # noqa: E731
        H = lambda X: 0.5 * np.log(2 * np.pi * np.e * sigma(X) ** 2)  # noqa: E731
        (rise,) = sd.explain(H, X, 0, method=sd.ICE(grid=21)).elevated_regions()
        assert rise.verdict == "all"
        assert rise.text == "curves of rows here, too"
        assert rise.left == pytest.approx(0.3, abs=0.1)
        # q is additive in x0 and x1, so curves differ by constants only and are equally elevated for all rows.
        assert rise.near == pytest.approx(rise.elsewhere, rel=1e-9)

    @pytest.mark.parametrize("seed", range(2))
    def test_the_empty_middle_surprises_only_rows_from_elsewhere(self, seed):
        X = border(400, seed)
        (rise,) = sd.explain(inside, X, 0, method=sd.ICE(grid=31)).elevated_regions()
        assert rise.verdict == "elsewhere"
        assert rise.left < -0.4
        assert rise.right > 0.4
        # Rows observed in the region have |x1| > 0.8, where q is 0: the model is certain about them.
        assert rise.near == pytest.approx(0, abs=0.02)
        assert rise.elsewhere > 5 * abs(rise.near)
        assert rise.text == "only curves of rows outside: extrapolation"

    def test_a_rise_of_all_rows_beside_one_of_some(self):
        """The term 0.3 x0⁸ elevates every curve near both ends, independently of the curve's middle."""
        X = border(400)
        q = lambda X: inside(X) + 0.3 * np.abs(X[:, 0]) ** 8  # noqa: E731
        found = sd.explain(q, X, 0, method=sd.ICE(grid=41)).elevated_regions()
        assert [r.verdict for r in found] == ["all", "elsewhere", "all"]

    def test_a_copied_feature_extrapolates_at_both_ends(self):
        """x1 = x0: a row moved to the other end contradicts its copy; a row observed there does not."""
        x = np.random.default_rng(0).uniform(-1, 1, size=500)
        X = np.column_stack([x, x])
        q = lambda X: np.abs(X[:, 0] - X[:, 1])  # noqa: E731
        found = sd.explain(q, X, 0, method=sd.ICE(grid=21)).elevated_regions()
        assert [r.verdict for r in found] == ["elsewhere", "elsewhere"]
        assert found[0].right < 0 < found[1].left

    def test_nothing_rises(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, size=(300, 2))
        for q in (lambda X: X[:, 1], lambda X: np.full(len(X), 0.1), lambda X: np.zeros(len(X))):
            assert sd.explain(q, X, 0, method=sd.ICE()).elevated_regions() == ()
        # Rounding errors of a large offset are not an elevated region.
        q = lambda X: 1e9 + 1e-7 * np.sin(1e6 * X[:, 0])  # noqa: E731
        assert sd.explain(q, X, 0, method=sd.ICE()).elevated_regions() == ()

    @pytest.mark.slow
    def test_chance_is_no_rise(self):
        """Pure noise: with 95 % simultaneous confidence, about 2.5 % of data sets have an elevated region."""
        shown = 0
        for seed in range(200):
            rng = np.random.default_rng(seed)
            values = rng.normal(size=(60, 20))
            X = np.column_stack([np.linspace(0, 1, 60), np.arange(60.0)])
            q = lambda X, v=values: v[X[:, 1].astype(int), np.round(19 * X[:, 0]).astype(int)]  # noqa: E731
            grid = np.arange(20) / 19
            shown += bool(sd.explain(q, X, 0, method=sd.ICE(grid=grid)).elevated_regions())
        assert shown <= stats.binom.ppf(0.9999, 200, 0.05)

    def test_too_few_rows_to_tell(self):
        X = np.random.default_rng(0).uniform(0, 1, size=(200, 2))
        X[:, 0] = np.where(np.arange(200) < 4, 2.0, X[:, 0])
        e = sd.explain(lambda X: 1.0 * (X[:, 0] > 1.5), X, 0, method=sd.ICE(grid=[0.0, 1, 2]))
        (rise,) = e.elevated_regions()
        assert (rise.verdict, rise.near_rows, rise.elsewhere_rows) == ("unclear", 4, 196)
        assert rise.text == "unclear: 4 rows here"

    def test_where_no_row_lies(self):
        X = np.random.default_rng(0).uniform(0, 1, size=(200, 2))
        e = sd.explain(lambda X: 1.0 * (X[:, 0] > 3), X, 0, method=sd.ICE(grid=[0.0, 1, 3, 5, 6]))
        (rise,) = e.elevated_regions()
        assert (rise.left, rise.right, rise.near_rows) == (4.0, 6.0, 0)
        assert np.isnan(rise.near)
        assert rise.elsewhere == 1
        assert rise.text == "unclear: 0 rows here"

    def test_what_only_those_show_who_lie_there(self):
        """x1 = x0, and q is high where both are: the curves of other rows stay flat."""
        x = np.random.default_rng(0).uniform(-1, 1, size=500)
        X = np.column_stack([x, x])
        q = lambda X: 1.0 * ((X[:, 0] > 0.5) & (X[:, 1] > 0.5))  # noqa: E731
        (rise,) = sd.explain(q, X, 0, method=sd.ICE(grid=21)).elevated_regions()
        assert rise.verdict == "all"
        assert rise.text == "mainly curves of rows here"


class TestNumbers:
    def test_against_a_loop(self):
        X = border(150, 3)
        q = lambda X: inside(X) + 0.3 * X[:, 1] * X[:, 0]  # noqa: E731
        e = sd.explain(q, X, 0, method=sd.ICE(grid=15))
        grid, rise = e.x, e.elevated_regions()[0]
        own, away, points = [], [], []
        for x0, x1 in X:
            if rise.left <= x0 <= rise.right:
                curve = q(np.column_stack([grid, np.full(15, x1)]))
                own.append(
                    np.interp(x0, grid, curve) - np.sort(curve)[1]
                )  # the 10 % quantile of 15 points
                points.append(x0)
        for x0, x1 in X:
            if not rise.left <= x0 <= rise.right:
                curve = q(np.column_stack([grid, np.full(15, x1)]))
                away.append(np.mean(np.interp(points, grid, curve)) - np.sort(curve)[1])
        assert (rise.near_rows, rise.elsewhere_rows) == (len(own), len(away))
        assert rise.near == pytest.approx(np.mean(own), rel=1e-9)
        assert rise.near_error == pytest.approx(stats.sem(own), rel=1e-9)
        assert rise.elsewhere == pytest.approx(np.mean(away), rel=1e-9)
        assert rise.elsewhere_error == pytest.approx(stats.sem(away), rel=1e-9)

    def test_a_run_is_where_the_mean_lies_above_its_error(self):
        X = np.random.default_rng(1).normal(size=(80, 2))
        q = lambda X: np.sin(4 * X[:, 0]) * (1 + X[:, 1])  # noqa: E731
        e = sd.explain(q, X, 0, method=sd.ICE(grid=41, spacing="uniform"))
        curves = np.array([q(np.column_stack([e.x, np.full(41, x1)])) for x1 in X[:, 1]])
        curves -= curves.mean(axis=1, keepdims=True)
        test = stats.ttest_1samp(curves, 0, axis=0)
        sure = (test.pvalue < 0.05 / 41) & (test.statistic > 0)
        found = e.elevated_regions()
        covered = np.array([any(r.left < x < r.right for r in found) for x in e.x[1:-1]])
        assert not (sure[1:-1] & ~covered).any()
        assert (curves.mean(axis=0)[1:-1][covered] > 0).all()
        for r in found:
            touched = np.flatnonzero((e.x > r.left) & (e.x < r.right))
            assert sure[touched[[0, -1]]].all()

    @pytest.mark.parametrize("factor", [1e-12, 1e12])
    def test_scale_changes_nothing(self, factor):
        X = border(200)
        (a,) = sd.explain(inside, X, 0, method=sd.ICE(grid=15)).elevated_regions()
        (b,) = sd.explain(
            lambda X: factor * inside(X), X, 0, method=sd.ICE(grid=15)
        ).elevated_regions()
        assert (a.left, a.right, a.verdict) == (b.left, b.right, b.verdict)
        assert b.elsewhere == pytest.approx(factor * a.elsewhere)

    def test_weights_repeat_rows(self):
        X = border(200)
        w = np.random.default_rng(0).integers(0, 4, 200)
        e = sd.explain(inside, X, 0, method=sd.ICE(grid=15), sample_weight=w)
        twice = sd.explain(inside, np.repeat(X, w, axis=0), 0, method=sd.ICE(grid=e.x))
        for a, b in zip(e.elevated_regions(), twice.elevated_regions(), strict=True):
            assert (a.left, a.right, a.verdict) == (b.left, b.right, b.verdict)
            assert a.near == pytest.approx(b.near, abs=1e-12)
            assert a.near_error == pytest.approx(b.near_error)
            assert a.elsewhere_error == pytest.approx(b.elsewhere_error)

    def test_rows_beyond_the_grid_next_to_a_rise_count_as_neither(self):
        X = np.random.default_rng(0).uniform(0, 1, size=(300, 2))
        e = sd.explain(lambda X: X[:, 0] ** 4, X, 0, method=sd.ICE(grid=[0.2, 0.5, 0.8]))
        (rise,) = e.elevated_regions()
        assert (rise.left, rise.right) == (0.65, 0.8)
        assert rise.near_rows == int(((X[:, 0] >= 0.65) & (X[:, 0] <= 0.8)).sum())
        assert rise.elsewhere_rows == int((X[:, 0] < 0.65).sum())

    def test_rows_without_a_value(self):
        X = border(200)
        X[:7, 0] = np.nan
        q = lambda X: inside(np.nan_to_num(X))  # noqa: E731
        (rise,) = sd.explain(q, X, 0, method=sd.ICE(grid=15)).elevated_regions()
        here = np.sum((X[:, 0] >= rise.left) & (X[:, 0] <= rise.right))
        assert (rise.near_rows, rise.elsewhere_rows) == (here, 193 - here)
        assert rise.verdict == "elsewhere"

    def test_one_row_or_one_point(self):
        X = border(40)
        assert sd.explain(inside, X[:1], 0, method=sd.ICE()).elevated_regions() == ()
        assert sd.explain(inside, X, 0, method=sd.ICE(grid=[0.0])).elevated_regions() == ()


class TestRefused:
    def test_what_has_no_curves_over_numbers(self):
        X = border(60)
        with refused(sd.UnsupportedError, "elevated_regions", "ALE"):
            sd.explain(inside, X, 0, method=sd.ALE()).elevated_regions()
        with refused(sd.UnsupportedError, "elevated_regions", "PDP"):
            sd.explain(inside, X, 0, method=sd.PDP(ice=0)).elevated_regions()
        with refused(sd.UnsupportedError, "slopes"):
            sd.explain(inside, X, 0, method=sd.ICE(derivative=True)).elevated_regions()
        with refused(sd.UnsupportedError, "categorical"):
            sd.explain(
                inside, np.round(X), 0, method=sd.ICE(), schema={"x0": "ordinal"}
            ).elevated_regions()

    @pytest.mark.parametrize("level", [0, 2.0])
    def test_level(self, level):
        e = sd.explain(inside, border(60), 0, method=sd.ICE())
        with refused(sd.DataError, "elevated_regions(confidence_level)", repr(level)):
            elevated_regions(e, level)
