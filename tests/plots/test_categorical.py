"""Figures of categorical features: values of the panels, and drawings."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import skedasis as sd
from skedasis.plots.figures.categorical import fitted
from skedasis.plots.figures.effect import effect_spec
from skedasis.plots.spec import EffectPlotOptions
from tests.plots.mpl_helpers import apart, drawn, fits

pd = pytest.importorskip("pandas")

WORTH = {"a": 0.0, "b": 2.0, "c": 1.0, "d": 7.0}
COUNTS = {"a": 40, "b": 30, "c": 25, "d": 5}


def worth(X):
    """Return the level's value, more of it where z is large."""
    return X["g"].astype(object).map(WORTH).to_numpy(float) * (1 + X["z"].to_numpy())


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(3)
    g = rng.permutation(np.repeat(list(COUNTS), list(COUNTS.values())))
    return pd.DataFrame({"g": g, "z": rng.uniform(-1, 1, 100)})


def explained(X, method, kind="nominal", levels=tuple("abcd")):
    schema = {"g": sd.Feature("g", kind=kind, levels=levels)}
    return sd.explain(worth, X, "g", method=method, schema=schema)


class TestPlaces:
    def test_a_level_has_a_place_a_label_and_a_count(self, X):
        main = effect_spec(explained(X, sd.ALE())).main
        assert main.x.ticks == (0.0, 1.0, 2.0, 3.0)
        assert main.x.labels == ("a", "b", "c", "d")
        assert [w.text for w in main.words] == ["n=40", "n=30", "n=25", "n=5"]
        assert [w.x for w in main.words] == [0, 1, 2, 3]
        assert main.notes[:3] == ("100 rows", "4 levels", "order of levels: declared")

    def test_values_and_boxes(self, X):
        e = explained(X, sd.ALE())
        main = effect_spec(e, EffectPlotOptions(confidence_level=0.8)).main
        (line,), (spread, error) = main.lines, main.bands
        np.testing.assert_array_equal(line.x, [0, 1, 2, 3])
        np.testing.assert_array_equal(line.y, e.value)
        np.testing.assert_allclose(spread.upper - spread.lower, 2 * e.heterogeneity)
        np.testing.assert_allclose((error.lower, error.upper), e.interval(0.8))
        assert spread.reach is not None
        assert spread.reach > error.reach

    def test_nothing_lies_between_nominal_levels(self, X):
        nominal, ordinal = (
            effect_spec(explained(X, sd.PDP(), kind)).main for kind in ("nominal", "ordinal")
        )
        assert nominal.lines[0].joined is None
        assert ordinal.lines[0].joined == "thin"
        assert nominal.bundle.shift is not None
        assert np.abs(nominal.bundle.shift).max() < 0.5
        assert ordinal.bundle.shift is None

    def test_few_rows_are_hatched(self, X):
        for method in (sd.ALE(), sd.PDP(), sd.MPlot()):
            (hatch,) = effect_spec(explained(X, method)).main.hatches
            assert (hatch.left, hatch.right, hatch.doubt) == (2.5, 3.5, "few")

    def test_missing_values(self, X):
        """For a nominal feature they are a level; for an ordinal one, a point next to the axis."""
        F = X.assign(g=X.g.where(X.g != "b", None), o=np.where(X.z > 0.5, np.nan, np.round(X.z)))
        q = lambda F: F["z"].to_numpy() + F["g"].isna().to_numpy() + F["o"].isna().to_numpy()  # noqa: E731
        nominal = effect_spec(sd.explain(q, F, "g", method=sd.ALE())).main
        assert "missing" in nominal.x.labels
        assert nominal.missing_marker is None
        assert not any("missing" in note for note in nominal.notes)
        e = sd.explain(q, F, "o", method=sd.ALE(), schema={"o": "ordinal"})
        ordinal = effect_spec(e).main
        n = int(F.o.isna().sum())
        assert "missing" not in ordinal.x.labels
        assert ordinal.missing_marker.label == f"missing values (n={n})"
        assert ordinal.missing_marker.y == e.missing_point.value
        assert ordinal.notes[-1] == f"{n} rows with a missing value"

    def test_one_level(self, X):
        for method in (sd.ALE(), sd.PDP(), sd.MPlot()):
            figure = explained(X[X.g == "b"], method, levels=None).plot()
            assert "n=30" in drawn(figure)


class TestSteps:
    def test_the_rows_of_both_levels_take_a_step(self, X):
        e = explained(X, sd.ALE())
        below = effect_spec(e).slopes
        z = {k: X.z[k == X.g].to_numpy() for k in WORTH}
        for k, (low, high) in enumerate(["ab", "bc", "cd"]):
            own = (WORTH[high] - WORTH[low]) * (1 + np.concatenate([z[low], z[high]]))
            assert below.steps.y[k] == pytest.approx(own.mean())
            half = (below.steps.upper - below.steps.lower)[k] / 2
            assert half == pytest.approx(own.std(ddof=1))
            (violin,) = (v for v in below.violins if v.bin == k)
            assert violin.y[0] == pytest.approx(own.min())
            assert violin.y[-1] == pytest.approx(own.max())
            assert violin.middle == pytest.approx(k + 0.5)
            assert np.trapezoid(violin.density, violin.y) == pytest.approx(1)
        assert (below.steps.left > [0, 1, 2]).all()
        assert (below.steps.right < [1, 2, 3]).all()

    def test_runs_of_steps(self):
        """Up to level 5 every step is 1 for all rows; above it rows differ."""
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"g": rng.integers(0, 10, 2000), "z": rng.choice([-1.0, 1.0], 2000)})
        quantity = lambda X: X["g"] + np.where(X["g"] > 5, X["z"] * (X["g"] - 5), 0.0)  # noqa: E731
        e = sd.explain(
            quantity, X, "g", method=sd.RHALE(bins=sd.Optimal(alpha=0.0)), schema={"g": "ordinal"}
        )
        assert 1 < len(e.bins) < 9  # there are bins of several steps
        panel = effect_spec(e).slopes
        np.testing.assert_allclose(panel.steps.y, e.bins.effect)
        spans = e.levels.codes(e.bins.right) - e.levels.codes(e.bins.left)
        gap = spans - (panel.steps.right - panel.steps.left)
        np.testing.assert_allclose(gap, gap[0])
        assert panel.steps.label == "mean difference within the bin"
        # All steps of the first bin are 1. Later ones are 0 or 2, shifted to the mean of their bin.
        assert 0 not in {v.bin for v in panel.violins}
        assert len(panel.violins) == len(e.bins) - 1
        for violin in panel.violins:
            assert (violin.y[0], violin.y[-1]) == pytest.approx((0, 2), abs=0.25)

    def test_an_m_plot_shows_its_rows(self, X):
        e = explained(X, sd.MPlot())
        below = effect_spec(e).slopes
        own = worth(X)[X.g == "b"]
        assert below.steps.y[1] == pytest.approx(own.mean())
        (violin,) = (v for v in below.violins if v.bin == 1)
        assert (violin.y[0], violin.y[-1]) == pytest.approx((own.min(), own.max()))
        assert below.y.name == "prediction"
        centred = effect_spec(explained(X, sd.MPlot(center="mean")))
        np.testing.assert_allclose(centred.slopes.steps.y, below.steps.y)
        assert centred.main.y.label == "prediction minus its mean"


class TestCurves:
    def test_each_row_at_each_level(self, X):
        e = explained(X, sd.ICE())
        bundle = effect_spec(e, EffectPlotOptions(own=True)).main.bundle
        z = X.z.to_numpy()
        raw = np.outer(1 + z, list(WORTH.values()))
        np.testing.assert_allclose(bundle.y, raw - raw.mean(axis=1, keepdims=True))
        at = [list(WORTH).index(g) for g in X.g]
        np.testing.assert_allclose(bundle.own_x - bundle.shift, at)
        np.testing.assert_allclose(bundle.own_y, bundle.y[np.arange(100), at])

    def test_anchored_at_a_level(self, X):
        main = effect_spec(explained(X, sd.PDP(anchor="c"))).main
        assert main.lines[0].y[2] == 0
        assert "0 at g = c" in main.notes


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(0)
    names = np.array([f"name {i}" for i in range(300)])
    g = np.concatenate([names, rng.choice(names[:50], 900)])
    return pd.DataFrame({"g": g, "z": rng.normal(size=1200)})


class TestManyLevels:
    @pytest.mark.parametrize("method", [sd.ALE(), sd.PDP(), sd.MPlot()], ids=lambda m: m.name)
    def test_those_with_most_rows_are_shown_and_the_rest_is_told(self, many, method):
        quantity = lambda X: X["g"].str.len().to_numpy() * X["z"].to_numpy()  # noqa: E731
        e = sd.explain(quantity, many, "g", method=method)
        shown = effect_spec(e)
        assert len(shown.main.lines[0].x) == 40
        assert "the 40 levels with most rows are shown, 260 are not" in shown.main.notes
        least = min(shown.counts.bars.height)
        hidden = [n for name, n in many.g.value_counts().items() if name not in shown.main.x.labels]
        assert max(hidden) <= least
        kept = [e.levels.labels.index(name) for name in shown.main.x.labels]
        assert kept == sorted(kept)
        np.testing.assert_allclose(np.diff(shown.main.lines[0].y), np.diff(e.value[kept]))
        assert shown.main.x.turn == 90
        if method.name == "ALE":
            steps = 0 if shown.slopes is None else len(shown.slopes.steps.y)
            assert steps == sum(b - a == 1 for a, b in itertools.pairwise(kept))
        drawn(e.plot())

    def test_ordered_levels_are_all_shown(self):
        X = pd.DataFrame({"g": np.tile(np.arange(100), 12), "z": np.arange(1200.0)})
        e = sd.explain(
            lambda X: X["g"].to_numpy() * 2.0, X, "g", method=sd.PDP(), schema={"g": "ordinal"}
        )
        main = effect_spec(e).main
        assert len(main.lines[0].x) == 100
        assert len(main.x.ticks) == len(main.x.labels) <= 40
        assert main.x.labels[1] == e.levels.labels[int(main.x.ticks[1])]
        drawn(e.plot())


class TestLabels:
    def test_turned_as_far_as_they_must(self):
        assert fitted(["ab", "cd"], 10) == (("ab", "cd"), 0)
        assert fitted(["a longer one", "b longer one"], 8)[1] == 40
        assert fitted(["a longer one", "b longer one"], 2)[1] == 90

    def test_long_names_that_differ_stay_different(self):
        names = [f"{'x' * 40}{i}{'y' * 40}" for i in range(5)]
        labels, _ = fitted(names, 3)
        assert len(set(labels)) == 5
        assert max(map(len, labels)) <= 24

    @pytest.mark.parametrize("method", [sd.ALE(), sd.PDP(), sd.MPlot()], ids=lambda m: m.name)
    def test_hostile_names(self, X, method):
        names = dict(
            zip(
                "abcd", ["<script>alert(1)</script>", "$x_1^$", "n" * 80, "two\nlines"], strict=True
            )
        )
        X = X.assign(g=X.g.map(names))
        quantity = lambda X: X["g"].str.len().to_numpy() * X["z"].to_numpy()  # noqa: E731
        e = sd.explain(quantity, X, "g", method=method)
        figure = e.plot()
        texts = drawn(figure)
        assert "$x_1^$" in texts
        assert "two lines" in texts
        assert fits(figure)

    @pytest.mark.parametrize("n", [3, 9, 14, 25, 40])
    def test_labels_never_touch(self, n):
        g = np.repeat([f"level {i:02d}" for i in range(n)], 12)
        X = pd.DataFrame({"g": g, "z": np.arange(len(g)) % 5.0})
        e = sd.explain(lambda X: X["z"].to_numpy() + 0.0, X, "g", method=sd.PDP())
        for width in (4.5, 6.8):
            figure = e.plot(size=(width, 5.0))
            figure.draw_without_rendering()
            labels = [t for t in figure.axes[-1].get_xticklabels() if t.get_text()]
            turn = {t.get_rotation() for t in labels}
            # The bounding boxes of rotated labels may overlap although the labels do not.
            assert turn == {40.0} or apart(labels), (n, width)


def test_together_with_numbers_on_shared_scales(X):
    es = sd.explain(worth, X.assign(w=np.arange(100.0)), method=sd.ALE())
    figure = es.plot()
    texts = drawn(figure)
    assert any(
        t.startswith("difference to") and "slope per SD" in t.replace("\n", " ") for t in texts
    )
    mains = [ax for ax in figure.axes if ax.get_title(loc="left")]
    assert len({ax.get_ylim() for ax in mains}) == 1


def test_unknown_numbers(X):
    e = explained(X, sd.ALE())
    nothing = np.full(4, np.nan)
    drawn(replace(e, std_error=nothing, heterogeneity=nothing).plot())
    drawn(replace(e, rows=None).plot())
