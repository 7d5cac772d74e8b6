"""Figures of importances: panels against closed forms and loops, and drawings of any input."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

import skedasis as sd
from skedasis.plots.figures.importance import bars, shifts
from skedasis.plots.mpl.importance import draw_importance
from skedasis.results.importance import Importance, LocalImportance
from tests.helpers import refused
from tests.plots.mpl_helpers import drawn, fits

NAMES = [
    "x",
    r"$x^2_{\frac$ \alpha",
    "_private_",
    "<script>alert('x')</script> & more",
    "very long " * 20,
    "onewordwithoutanyplacewhereitcouldbebroken" * 3,
    " two\nlines\tand a tab ",
    "",
]
MEANS = [0.2, 1.5, 0.0, -0.3, 0.7]


def importance(means=MEANS, n_repeats=10, names=None, scale=1.0, seed=0, **more):
    """Return importances with repeats of standard deviation 0.1; a mean of zero is exactly zero in every repeat."""
    rng = np.random.default_rng(seed)
    m = np.asarray(means, dtype=float)[:, None]
    values = scale * np.where(m == 0, 0.0, m + 0.1 * rng.normal(size=(len(m), n_repeats)))
    error = scale * np.where(m[:, 0] == 0, 0.0, 0.15)
    names = tuple(names or [f"f{i}" for i in range(len(m))])
    more = {"quantity": "entropy", "unit": "nats", **more}
    return Importance(names, values, error, np.full(len(m), 12.0), 0.5 * scale, 500, **more)


def local(rows=50, features=2, repeats=3, weight=None, exact=True, seed=0, **more):
    """Return importances with local importances: 0 for the second feature, positive for the others."""
    rng = np.random.default_rng(seed)
    own = rng.uniform(size=rows)
    rise = np.where(np.arange(features) == 1, 0.0, 1.0)[:, None, None]
    after = own[:, None] + rise * rng.exponential(size=(features, rows, repeats))
    names = tuple(f"f{i}" for i in range(features))
    kept = LocalImportance(names, np.arange(rows), own, after, weight, exact)
    values = np.average(after - own[:, None], axis=1, weights=weight)
    error = np.full(features, 0.1)
    return Importance(
        names, values, error, error + 9, 0.5, rows, "entropy", "nats", local=kept, **more
    )


class TestBars:
    def test_most_important_first_with_their_intervals(self):
        given = importance()
        panel = bars(given, confidence_level=0.9)
        assert panel.names == ("f1", "f4", "f0", "f2", "f3")
        order = [1, 4, 0, 2, 3]
        np.testing.assert_allclose(panel.value, [given.values[i].mean() for i in order])
        half = 0.15 * stats.t.ppf(0.95, 12)
        np.testing.assert_allclose(panel.upper - panel.value, [half, half, half, 0, half])
        np.testing.assert_allclose(panel.value - panel.lower, [half, half, half, 0, half])
        np.testing.assert_array_equal(panel.repeats, given.values[order])
        assert panel.interval == "90 % interval"
        assert (panel.title, panel.notes) == ("PFI of entropy", ("500 rows", "10 repeats"))

    def test_the_axis_shows_all_that_is_drawn_and_zero(self):
        panel = bars(importance())
        low, high = panel.x.limits
        for shown in (panel.value, panel.lower, panel.upper, panel.repeats, 0.0):
            assert np.min(shown) > low
            assert np.max(shown) < high
        assert panel.x.label == "rise of entropy [nats]"
        positive = bars(importance([1.0, 2.0]))
        assert positive.x.limits[0] < 0 < positive.x.limits[1]

    def test_an_interval_of_a_few_repeats_may_not_flatten_the_bars(self):
        """With one degree of freedom Student's t is 12.7: the interval would be 60 times as wide as the bars."""
        given = importance([0.1, 0.2])
        wide = Importance(
            ("a", "b"), given.values, np.array([1.0, 1.0]), np.ones(2), 0.5, 500, "loss"
        )
        panel = bars(wide)
        low, high = panel.x.limits
        assert panel.upper.max() > 12
        assert high - low < 4 * np.ptp([0.0, *panel.repeats.ravel()])
        assert "intervals extend beyond the panel" in panel.notes
        drawn(draw_importance(wide))

    def test_names_of_metrics_and_units(self):
        falls = importance(provenance={"metric": "accuracy"}, unit=None)
        assert bars(falls).x.label == "fall of accuracy"
        assert bars(falls).title == "PFI of accuracy"
        tiny = bars(importance(scale=1e-12))
        assert tiny.x.label == "rise of entropy [10⁻¹² nats]"

    def test_no_interval_is_told(self):
        two = importance(n_repeats=2)
        nothing = Importance(two.features, two.values, np.full(5, np.nan), two.df, 0.0, 500)
        panel = bars(nothing)
        assert np.isnan(panel.lower).all()
        assert "no interval: too few repeats or rows" in panel.notes
        texts = drawn(draw_importance(nothing))
        assert "95 % interval" not in texts
        assert "individual repeats" in texts

    def test_nothing_left_to_chance_has_no_repeats(self):
        exact = importance(n_repeats=1, provenance={"settings": {"exact": True}})
        panel = bars(exact)
        assert panel.repeats.size == 0
        assert panel.notes == ("500 rows", "all pairs of rows")
        texts = drawn(draw_importance(exact))
        assert "individual repeats" not in texts
        assert "mean" in texts

    def test_of_very_many_repeats_quantiles(self):
        given = importance([1.0, 2.0], n_repeats=1000)
        panel = bars(given)
        assert panel.repeats.shape == (2, 100)
        np.testing.assert_allclose(panel.repeats[0, [0, -1]], np.sort(given.values[1])[[0, -1]])

    def test_choice(self):
        panel = bars(importance(), top=2)
        assert panel.names == ("f1", "f4")
        assert panel.notes[-1] == "3 of 5 features not shown"
        assert bars(importance(), features=["f3", "f0"]).names == ("f0", "f3")
        assert bars(importance(), features="f3").names == ("f3",)
        assert bars(importance(), top=99).notes == ("500 rows", "10 repeats")

    def test_alike_names_are_told_apart(self):
        names = [f"{'x' * 40}{i}{'y' * 40}" for i in range(5)]
        assert len(set(bars(importance(names=names)).names)) == 5

    def test_drawn_as_it_is(self):
        given = importance()
        ax = draw_importance(given).axes[0]
        widths = {p.get_y() + p.get_height() / 2: p.get_x() + p.get_width() for p in ax.patches}
        ends = {k: p.get_x() for k, p in zip(widths, ax.patches, strict=True)}
        reached = [widths[k] if abs(widths[k]) > abs(ends[k]) else ends[k] for k in sorted(widths)]
        np.testing.assert_allclose(reached, bars(given).value)  # negative ones to the left
        dots = next(line for line in ax.get_lines() if line.get_marker() == "o")
        np.testing.assert_allclose(np.sort(dots.get_xdata()), np.sort(given.values.ravel()))
        assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first is at the top

    def test_found_by_the_library_itself(self):
        X = np.random.default_rng(0).normal(size=(120, 3))
        loss = sd.loss(lambda X: X[:, 0] + 2 * X[:, 1], "squared_error")
        found = sd.explain(loss, X, y=X[:, 0] + 2 * X[:, 1], method=sd.PFI(n_repeats=4))
        assert bars(found).names == ("x1", "x0", "x2")
        assert bars(found).repeats[2].tolist() == [0.0] * 4
        assert {"x0", "x1", "x2", "120 rows · 4 repeats"} <= set(drawn(found.plot()))


class TestShifts:
    def test_against_counting(self):
        given = local()
        first, second = shifts(given)
        assert (first.name, second.name) == ("f0", "f1")
        own, after = given.local.before, given.local.after[0].ravel()
        for k, (a, b) in enumerate(zip(first.edges[:-1], first.edges[1:], strict=True)):
            assert first.before[k] == pytest.approx(100 * np.mean((own >= a) & (own < b)))
            assert first.after[k] == pytest.approx(100 * np.mean((after >= a) & (after < b)))
        assert first.means == pytest.approx((own.mean(), after.mean()))
        np.testing.assert_allclose(second.before, second.after)
        assert (first.x, first.y) == (second.x, second.y)
        assert first.x.label == "entropy [nats]"
        assert first.y.name == "% of rows"

    def test_weights_repeat_rows(self):
        w = np.random.default_rng(1).integers(1, 4, 50).astype(float)
        weighted = local(weight=w)
        kept = weighted.local
        rows = np.repeat(np.arange(50), w.astype(int))
        again = LocalImportance(kept.features, rows, kept.before[rows], kept.after[:, rows])
        twice = Importance(
            kept.features,
            weighted.values,
            weighted.std_error,
            weighted.df,
            0.5,
            99,
            local=again,
        )
        a, b = shifts(weighted)[0], shifts(twice)[0]
        assert a.means == pytest.approx(b.means)
        assert a.y.name == "% of rows by weight"
        at = kept.before
        for k, (low, high) in enumerate(zip(a.edges[:-1], a.edges[1:], strict=True)):
            there = (at >= low) & (at < high)
            assert a.before[k] == pytest.approx(100 * w[there].sum() / w.sum())
            moved = ((kept.after[0] >= low) & (kept.after[0] < high)).mean(axis=1)
            assert a.after[k] == pytest.approx(100 * w @ moved / w.sum())

    def test_the_six_most_important(self):
        given = local(features=9)
        assert len(shifts(given)) == 6
        order = np.argsort(-given.mean, kind="stable")
        assert [s.name for s in shifts(given)] == [f"f{i}" for i in order[:6]]
        assert len(shifts(given, features=[f"f{i}" for i in range(8)])) == 8
        assert [s.name for s in shifts(given, top=1)] == [f"f{order[0]}"]

    def test_features_that_are_left_out_are_counted(self):
        said = [t for t in drawn(draw_importance(local(features=8), kind="local")) if " of " in t]
        assert "6 of 8 features" in said
        texts = drawn(draw_importance(local(features=3), kind="local"))
        assert not any(t.endswith("of 3 features") for t in texts)

    def test_far_values_stretch_nothing_and_are_counted(self):
        given = local(rows=1000)
        given.local.after.flags.writeable = True
        given.local.after[0, :5, 0] = 1e6
        panel = shifts(given)[0]
        assert panel.edges[-1] < 2e3
        beyond = 100 - panel.after.sum()
        assert (
            panel.notes[-1] == f"{(100 - panel.before.sum() + beyond) / 2:.1g} % outside the panel"
        )

    @pytest.mark.parametrize("rows", [1, 2, 40])
    @pytest.mark.parametrize("factor", [0.0, 1e-12, 1.0, 1e12])
    def test_whatever_comes(self, rows, factor):
        given = local(rows=rows)
        kept = given.local
        scaled = LocalImportance(kept.features, kept.row, factor * kept.before, factor * kept.after)
        all_ = Importance(
            given.features, given.values, given.std_error, given.df, 0.5, rows, local=scaled
        )
        for panel in shifts(all_):
            assert panel.before.sum() == pytest.approx(100)
            assert np.isfinite([*panel.x.limits, *panel.y.limits]).all()
        figure = draw_importance(all_, kind="local")
        assert not any("nan" in t for t in drawn(figure))
        assert fits(figure)

    def test_what_is_kept_is_said(self):
        texts = drawn(draw_importance(local(exact=False), kind="local"))
        assert "before permutation: a sample of 50 rows" in texts
        assert "after permutation: 3 repeats" in texts
        assert "before permutation: 50 rows" in drawn(draw_importance(local(), kind="local"))

    def test_both_means_are_marked(self):
        given = local()
        figure = draw_importance(given, kind="local", features=["f0"])
        (ax,) = figure.axes
        marked = {round(float(line.get_xdata()[0]), 9) for line in ax.get_lines()}
        assert marked == {round(m, 9) for m in shifts(given)[0].means}

    def test_of_the_library_itself(self):
        X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
        X[:, 1] = X[:, 0]
        q = sd.prediction(lambda X: np.abs(X[:, 0] - X[:, 1]), name="entropy")
        found = sd.explain(q, X, method=sd.PFI(n_repeats=5, local=60))
        panel = shifts(found)[0]
        assert panel.before.max() == pytest.approx(100)  # the features are equal in all rows
        assert panel.means[1] > panel.means[0]
        assert "before permutation: a sample of 60 rows" in drawn(found.plot(kind="local"))


class TestFigures:
    @pytest.mark.parametrize("n", [1, 2, 40])
    def test_any_number_of_features(self, n):
        figure = draw_importance(importance(np.linspace(1, 0, n)))
        assert fits(figure)
        assert {f"f{i}" for i in range(n)} <= set(drawn(figure))

    def test_names_are_text_and_no_formulas(self):
        given = importance(np.arange(len(NAMES)), names=NAMES, quantity=NAMES[1], unit="$_^")
        figure = draw_importance(given)
        texts = drawn(figure)
        assert fits(figure)
        assert {NAMES[1], "_private_", "two lines and a tab", "(no name)"} <= set(texts)
        kept = local(features=len(NAMES)).local
        rows = LocalImportance(tuple(NAMES), kept.row, kept.before, kept.after)
        given = importance(np.arange(len(NAMES)), names=NAMES, local=rows)
        assert fits(draw_importance(given, kind="local", features=NAMES))

    @pytest.mark.filterwarnings("ignore:Glyph")  # a font for them may be missing
    def test_letters_of_the_east(self):
        figure = draw_importance(importance([1.0], names=["数量与质量"]))
        assert "数量与质量" in drawn(figure)

    def test_a_font_for_them_is_used_if_there_is_one(self, monkeypatch):
        from skedasis.plots.mpl import marks

        monkeypatch.setattr(marks, "installed", lambda: ("DejaVu Serif",))
        text = Figure().text(0, 0, "数量")
        marks.disable_mathtext(text)
        assert text.get_fontfamily()[-1] == "DejaVu Serif"
        plain = Figure().text(0, 0, "$x$")
        marks.disable_mathtext(plain)
        assert "DejaVu Serif" not in plain.get_fontfamily()

    def test_into_a_users_axes(self):
        figure = Figure()
        left, right = figure.subplots(1, 2)
        assert draw_importance(importance(), ax=left) is figure
        assert draw_importance(local(), kind="local", features=["f0"], ax=right) is figure
        assert left.get_xlabel() == "rise of entropy [nats]"
        drawn(figure)

    def test_size_and_legend(self):
        figure = draw_importance(importance(), size=(4.0, 3.0), legend=False)
        assert tuple(figure.get_size_inches()) == (4.0, 3.0)
        assert not figure.legends


class TestRefused:
    def test_choices(self):
        with refused(sd.DataError, "plot(kind)", "'pie'"):
            draw_importance(importance(), kind="pie")
        with refused(sd.DataError, "plot(features)", "'nobody'", "'f0'"):
            draw_importance(importance(), features=["f0", "nobody"])
        with refused(sd.DataError, "plot(features)", "no features"):
            draw_importance(importance(), features=[])
        for top in (0, -1, 1.5, True):
            with refused(sd.DataError, "plot(top)", repr(top)):
                draw_importance(importance(), top=top)
        for level in (0, 1, 95, True):
            with refused(sd.DataError, "plot(confidence_level)", repr(level)):
                draw_importance(importance(), confidence_level=level)

    def test_rows_that_are_not_kept(self):
        with refused(sd.UnsupportedError, "plot(kind='local')", "PFI(local=1000)"):
            draw_importance(importance(), kind="local")
        metric = importance(provenance={"metric": "accuracy"})
        with refused(sd.UnsupportedError, "all rows at once"):
            draw_importance(metric, kind="local")

    def test_axes_for_several_features(self):
        with refused(sd.DataError, "plot(ax)", "2 features", "features=['f0']"):
            draw_importance(local(), kind="local", ax=Figure().subplots())
