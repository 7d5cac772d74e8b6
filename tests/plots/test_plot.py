"""`plot()` of every kind of result and `sd.compare`: the options that all figures have, and errors that help."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import same_color, to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Text

import skedasis as sd
from tests.helpers import refused
from tests.plots import gallery
from tests.plots.gallery import LONG

pytestmark = pytest.mark.filterwarnings("ignore:No installed font has")

# --- every kind of result ------------------------------------------------------------------------


@cache
def positive() -> sd.Effects:
    """Return effects of positive features."""
    X = np.random.default_rng(0).uniform(1, 50, size=(80, 3))
    return sd.explain(lambda X: X[:, 0] * np.log(X[:, 1]) + X[:, 2], X, method=sd.PDP(grid=8))


@cache
def positive_models() -> sd.MultiModelEffects:
    X = np.random.default_rng(0).uniform(1, 50, size=(80, 3))
    fits = [lambda X: X[:, 0] * X[:, 1], lambda X: X[:, 0] * X[:, 1] + X[:, 2]]
    return sd.explain(fits, X, method=sd.ALE(bins=5), refits=True)


RESULTS: dict[str, Callable[[], Callable[..., Figure]]] = {
    "Effect.plot": lambda: gallery.effect(LONG).plot,
    "Effects.plot": lambda: positive().plot,
    "Surface.plot": lambda: gallery.surface(LONG, "risk").plot,
    "Importance.plot": lambda: gallery.importance().plot,
    "Diagnosis.plot": lambda: gallery.diagnosis().plot,
    "MultiModelEffect.plot": lambda: gallery.models(LONG).plot,
    "MultiModelEffects.plot": lambda: positive_models().plot,
    "MultiModelImportance.plot": lambda: gallery.models_importance().plot,
    "compare": lambda: (
        lambda **more: sd.compare(gallery.effect(LONG), gallery.effect(LONG, "pdp"), **more)
    ),
}
"""Name of the method → the method of a result."""

MANY = {"Effects.plot", "MultiModelEffects.plot"}
"""Methods that draw one panel per feature."""

every = pytest.mark.parametrize("method", RESULTS)
some = pytest.mark.parametrize(
    "method", ["Effect.plot", "Surface.plot", "Importance.plot", "compare"]
)


def called(method: str, **options: object) -> Figure:
    figure = RESULTS[method]()(**options)
    figure.draw_without_rendering()
    return figure


@cache
def drawn_plainly(method: str) -> Figure:
    """Return the figure that a method draws without options, for tests that only look at it."""
    return called(method)


def words(figure: Figure) -> list[str]:
    return [t.get_text() for t in figure.findobj(Text) if t.get_visible() and t.get_text()]


def main(figure: Figure) -> Axes:
    """Return the axes of the main panel."""
    return figure.axes[0]


def colors(figure: Figure) -> list[object]:
    """Return the colours of lines and areas."""
    found: list[object] = []
    for ax in figure.axes:
        found += [line.get_color() for line in ax.lines]
        for some in ax.collections:
            found += [*some.get_facecolor(), *some.get_edgecolor()]
    return found


@some
def test_title(method):
    title = r"My <title> of $x_1$"
    figure = called(method, title=title)
    assert title in words(figure)
    default = words(drawn_plainly(method))
    none = words(called(method, title=""))
    assert title not in default
    # The titles of panels of features remain. The title of the figure is left out with its method.
    gone = set(default) - set(none)
    assert sum(not text.startswith("(") for text in gone) == 1
    assert len(gone) <= 2


@some
def test_axis_labels(method):
    figure = called(method, xlabel="days_in_$hospital", ylabel="cost")
    xs = [ax.get_xlabel() for ax in figure.axes if ax.get_xlabel()]
    assert any(x.startswith("days_in_$hospital") for x in xs)
    assert any(ax.get_ylabel().startswith("cost") for ax in figure.axes)
    if method == "Diagnosis.plot":
        return
    below = called(method, xlabel="", ylabel="")
    assert main(below).get_xlabel() == main(below).get_ylabel() == ""


@some
def test_limits(method):
    limits = {"xlim": (2.0, 9.0), "ylim": (-3.0, 4.0)}
    ax = main(called(method, **limits))
    assert ax.get_xlim() == pytest.approx(limits["xlim"])
    assert ax.get_ylim() == pytest.approx(limits["ylim"])
    # Tick labels are inside.
    at = [t for t in ax.get_xticks() if t < 2 - 1e-9 or t > 9 + 1e-9]
    assert at == []


@some
def test_sizes(method):
    figure = called(method, size=(5.0, 3.0))
    assert tuple(figure.get_size_inches()) == (5.0, 3.0)
    assert tuple(drawn_plainly(method).get_size_inches()) != (5.0, 3.0)


@some
def test_legends(method):
    with_legend, without = drawn_plainly(method), called(method, legend=False)
    assert with_legend.legends or method == "Surface.plot"
    assert not without.legends
    # The room of the legend is not left empty.
    assert (
        without.get_size_inches()[1] < with_legend.get_size_inches()[1] or not with_legend.legends
    )


@pytest.mark.parametrize("method", ["Effect.plot", "compare"])
def test_style_sheets(method):
    before = dict(mpl.rcParams)
    figure = called(method, style="dark_background")
    assert same_color(figure.get_facecolor(), "black")
    assert same_color(main(figure).get_facecolor(), "black")
    light = [t for t in figure.findobj(Text) if t.get_text() and t.get_visible()]
    assert all(np.mean(to_rgba(t.get_color())[:3]) > 0.5 for t in light)
    assert dict(mpl.rcParams) == before
    big = called(method, style={"font.size": 15}, size=(9.0, 7.0))
    normal = called(method, size=(9.0, 7.0))
    assert _letters(big) == pytest.approx(1.5 * _letters(normal))


def _letters(figure: Figure) -> float:
    """Return the size of the letters of the title, or of the first text."""
    return float(next(t.get_fontsize() for t in main(figure).findobj(Text) if t.get_text()))


COLORED = {"Diagnosis.plot", "Surface.plot", "compare"} ^ set(RESULTS)


@pytest.mark.parametrize("method", sorted(COLORED)[:3])
def test_color_of_the_average(method):
    given = to_rgba("tab:red")
    assert any(same_color(c, given) for c in colors(called(method, color="tab:red")))
    assert not any(same_color(c, given) for c in colors(drawn_plainly(method)))
    with refused(sd.DataError, f"{method}(color)", "a colour of matplotlib"):
        called(method, color="no colour")


@pytest.mark.parametrize("method", ["Effects.plot", "Surface.plot", "compare"])
def test_logarithmic_axis(method):
    figure = called(method, xscale="log")
    ax = main(figure)
    assert ax.get_xscale() == "log"
    assert ax.get_xlim()[0] > 0
    shown = [t.get_text() for t in ax.get_xticklabels() if t.get_text()]
    assert not any("$" in t for t in shown)  # numbers as in all figures, not matplotlib's formulas


class TestLogarithmicAxis:
    def test_lines_between_two_points_stay_straight_in_units_of_the_data(self):
        e = positive()["x0"]
        (line,) = [
            line
            for line in main(e.plot(xscale="log")).lines
            if len(line.get_xdata()) > 100 and line.get_linewidth() > 1
        ]
        x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        moved = y + float(np.interp(x[0], e.x, e.value)) - y[0]
        np.testing.assert_allclose(moved, np.interp(x, e.x, e.value), atol=1e-9)
        ratio = np.diff(np.log(x))
        assert ratio.max() < 0.05

    @pytest.mark.parametrize(
        ("values", "scale", "method"),
        [("zeros", 1e-9, "rhale"), ("both signs", 1.0, "pdp"), ("counts", 1e9, "ice")],
    )
    def test_values_that_are_not_positive(self, values, scale, method):
        rng = np.random.default_rng(0)
        x = {
            "zeros": np.where(rng.random(80) < 0.2, 0.0, rng.lognormal(0, 2, 80)),
            "both signs": rng.normal(size=80),
            "counts": rng.integers(0, 9, 80).astype(float),
        }[values]
        X = scale * x[:, None]
        e = sd.explain(lambda X: X[:, 0] / scale, X, 0, method=method)
        with pytest.raises(sd.DataError, match=r"Effect.plot\(xscale\)") as caught:
            e.plot(xscale="log")
        said = re.search(r"above zero: xlim=\((.+), (.+)\)\.$", str(caught.value))
        assert said is not None
        low, high = float(said[1]), float(said[2])
        ax = main(e.plot(xscale="log", xlim=(low, high)))
        assert ax.get_xlim() == (low, high)
        # Most of what lies above zero is within the limits, horizontally and vertically.
        assert np.mean((X[X > 0] >= low) & (X[X > 0] <= high)) > 0.7
        line = max(ax.lines, key=lambda line: len(np.asarray(line.get_xdata())))
        shown = np.asarray(line.get_xdata())
        inside = (shown >= low) & (shown <= high)
        y = np.asarray(line.get_ydata())[inside]
        assert inside.sum() > 100
        assert ((y >= ax.get_ylim()[0]) & (y <= ax.get_ylim()[1])).all()
        assert np.ptp(y) > 0.5 * np.ptp(e.value[e.x >= 0])

    def test_values_below_zero_have_no_logarithmic_axis(self):
        X = -np.arange(50.0)[:, None]
        with pytest.raises(sd.DataError, match=r"expected positive values\. Omit xscale\.$"):
            sd.explain(lambda X: X[:, 0], X, 0).plot(xscale="log")

    @pytest.mark.parametrize("feature", ["city", "grade", "admitted"])
    def test_levels_and_times(self, feature):
        with refused(sd.UnsupportedError, "Effect.plot(xscale)", feature, "numbers"):
            gallery.effect(feature).plot(xscale="log")


@every
def test_unknown_options(method):
    said = f"{method}(): got an unexpected keyword argument 'titel', expected 'title'. Write title= instead."
    with pytest.raises(TypeError, match=re.escape(said)):
        called(method, titel="a")
    with pytest.raises(TypeError, match=r"'qqqqq', expected one of .*Remove qqqqq=") as seen:
        called(method, qqqqq=1)
    own = "axes" if method == "MultiModelEffects.plot" else "ax"
    for name in (
        "legend",
        "size",
        "style",
        "title",
        "xlabel",
        "xlim",
        "xscale",
        "ylabel",
        "ylim",
        own,
    ):
        assert re.search(rf"\b{name}\b", str(seen.value))


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("xscale", "logarithmic", "'linear', 'log' or None"),
        ("legend", "yes", "True or False"),
        ("size", (6.8,), "two numbers"),
        ("size", 5, "two numbers"),
        ("size", (0.2, 3), "at least 1 inch"),
        ("size", (np.nan, 3), "two numbers"),
        ("xlim", (3, 3), "the smaller number first"),
        ("xlim", "ab", "two numbers"),
        ("ylim", (4, 2), "the smaller number first"),
        ("ylim", (0, np.inf), "two numbers"),
    ],
)
def test_invalid_values(option, value, said):
    for method in ("Effect.plot", "Surface.plot"):
        with refused(sd.DataError, f"{method}({option})", said):
            RESULTS[method]()(**{option: value})


# --- axes that a user passes ---------------------------------------------------------------------


# On a figure of ours, matplotlib's warnings of single characters are suppressed; a user's figure is the user's.
@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("method", ["Effect.plot", "Surface.plot", "compare"])
def test_on_axes(method):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert called(method, ax=left, title="mine", xlabel="below", xlim=(1, 2)) is figure
    assert left.get_title(loc="left") == "mine"
    assert left.get_xlabel().startswith("below")
    assert left.get_xlim() == (1, 2)
    assert not right.has_data()
    assert len(figure.axes) == (3 if method == "Surface.plot" else 2)  # with a colour scale
    for option in ("size", "style"):
        with refused(sd.DataError, f"{method}({option})", "axes"):
            called(method, ax=right, **{option: (5, 3) if option == "size" else "ggplot"})


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("method", ["Effect.plot", "Importance.plot"])
def test_what_a_user_has_set_on_axes_stays(method):
    ax = Figure().subplots()
    ax.set_xlabel("Hour $x$")
    ax.set_ylabel("Riders")
    ax.set_title("Mine", fontsize=17, color="red")
    ax.set_xlim(0.2, 0.7)
    ax.set_ylim(8, -3)  # inverted
    ax.set_xticks([0.25, 0.5])
    for _ in range(2):
        called(method, ax=ax)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("Hour $x$", "Riders")
        assert (ax.get_title(), ax.get_title(loc="left")) == ("Mine", "")
        assert (ax.title.get_fontsize(), ax.title.get_color()) == (17, "red")
        assert (ax.get_xlim(), ax.get_ylim()) == ((0.2, 0.7), (8, -3))
        assert ax.get_xticks().tolist() == [0.25, 0.5]
    called(method, ax=ax, xlabel="asked", xlim=(1, 2), title="asked")
    assert (ax.get_xlabel(), ax.get_xlim()) == ("asked", (1, 2))
    assert (ax.get_ylabel(), ax.get_ylim()) == ("Riders", (8, -3))


@cache
def both_signs() -> tuple[sd.Effect, sd.Effect]:
    """Return the effect of a feature on both sides of zero, and one whose axes are both larger."""
    X = np.random.default_rng(0).normal(size=(80, 2))
    small = sd.explain(lambda X: X[:, 0] ** 2, X, 0)
    large = sd.explain(lambda X: 100 * X[:, 0] ** 2, 3 * X, 0)
    return small, large


@pytest.mark.parametrize("which", ["x", "y"])
def test_a_user_s_logarithmic_axis_of_values_that_are_not_positive(which):
    ax = Figure().subplots()
    ax.set(**{f"{which}scale": "log"})
    e = both_signs()[0]
    with refused(sd.DataError, "Effect.plot(ax)", "positive values") as caught:
        e.plot(ax=ax)
    assert not ax.has_data()
    advised = re.findall(r"ax\.(set_\w+)\((.+?)\)", str(caught.value))
    assert len(advised) == (2 if which == "x" else 1)
    for method, value in advised:
        ax = Figure().subplots()
        ax.set(**{f"{which}scale": "log"})
        getattr(ax, method)(eval(value))
        e.plot(ax=ax)
        assert ax.has_data()
    ax.set_xscale("log")
    e.plot(ax=ax, xscale="linear")
    assert ax.get_xscale() == "linear"


@pytest.mark.parametrize("projection", ["3d", "mollweide"])
def test_axes_that_are_not_flat_are_refused(projection):
    ax = Figure().add_subplot(projection=projection)
    with refused(sd.UnsupportedError, "Effect.plot(ax)", projection, "rectangular"):
        both_signs()[0].plot(ax=ax)


@pytest.mark.parametrize(("xscale", "sharex"), [("linear", True), ("log", False)])
def test_horizontal_limits_on_many_axes_are_those_of_one_call_each(xscale, sharex):
    X = np.random.default_rng(0).normal(size=(80, 2)) * [1, 9]
    es = sd.explain(lambda X: X.sum(axis=1), X)
    together, each = (Figure().subplots(1, 2, sharex=sharex) for _ in range(2))
    if xscale == "log":  # within limits above zero
        for ax in (*together, *each):
            ax.set_xlim(0.5, 2)
    es.plot(axes=together, xscale=xscale)
    for rank, ax in zip(es.ranking(), each, strict=True):
        es[rank.feature].plot(ax=ax, xscale=xscale)
    assert [ax.get_xlim() for ax in together] == [ax.get_xlim() for ax in each]


@pytest.mark.parametrize("method", sorted(MANY))
def test_on_many_axes(method):
    figure = Figure(figsize=(9, 3))
    axes = figure.subplots(1, 3)
    assert called(method, axes=axes) is figure
    assert len(figure.axes) == 3
    assert [ax.get_title(loc="left")[:2] for ax in axes] == ["1.", "2.", "3."]
    assert [ax.get_legend() is not None for ax in axes][1:] == [False, False]
    with refused(sd.DataError, f"{method}(axes)", "2 axes", "3 effects", "top=2"):
        called(method, axes=list(axes[:2]))
    assert called(method, axes=list(axes[:2]), top=2) is figure
    with refused(sd.DataError, f"{method}(size)", "axes"):
        called(method, axes=axes, size=(5, 3))


def test_one_axes_for_many_effects_is_refused():
    ax = Figure().subplots()
    with refused(sd.DataError, "Effects.plot(ax)", "axes="):
        positive().plot(ax=ax)
    with refused(sd.DataError, "Importance.plot(ax)", "features"):
        gallery.importance().plot(kind="local", ax=ax)
    assert gallery.importance().plot(kind="local", features=["risk"], ax=ax) is ax.figure
    with refused(sd.DataError, "compare(ax)", "3 panels"):
        sd.compare(positive(), positive(), ax=ax)


# --- many effects --------------------------------------------------------------------------------


class TestOverview:
    def test_is_a_figure_of_points(self):
        figure = positive().plot(kind="overview", confidence_level=0.9, title="All")
        (ax,) = figure.axes
        assert "importance" in ax.get_xlabel()
        assert "All" in words(figure)
        assert "90 % intervals" in words(figure)
        at = {
            (round(float(x), 9), round(float(y), 9))
            for line in ax.lines
            for x, y in line.get_xydata()
        }
        for e in positive().values():
            assert (round(e.importance, 9), round(e.heterogeneity_score, 9)) in at

    @pytest.mark.parametrize(
        ("option", "value"),
        [
            ("top", 3),
            ("page", 1),
            ("by", "importance"),
            ("columns", 2),
            ("lower", True),
            ("ice", None),
            ("curves", 5),
        ],
    )
    def test_refuses_what_it_would_ignore(self, option, value):
        with refused(sd.DataError, f"Effects.plot({option})", "overview"):
            positive().plot(kind="overview", **{option: value})


@pytest.fixture(scope="module")
def many():
    X = np.random.default_rng(0).normal(size=(40, 273))
    return sd.explain(lambda X: X @ np.arange(273.0), X, method=sd.PDP(grid=4))


class TestHundredsOfFeatures:
    @pytest.mark.slow
    def test_a_page_has_at_most_twenty(self, many):
        figure = many.plot()
        mains = [ax for ax in figure.axes if ax.get_title(loc="left")]
        assert len(mains) == 20
        assert mains[0].get_title(loc="left") == f"1. {many.ranking()[0].feature}"
        assert figure.get_size_inches()[1] < 25
        assert figure.get_size_inches()[0] < 16
        assert any("20 of 273 features, all in pages with top=None" in t for t in words(figure))

    @pytest.mark.slow
    def test_further_pages(self, many):
        figure = many.plot(top=None, page=14)
        mains = [ax for ax in figure.axes if ax.get_title(loc="left")]
        assert len(mains) == 13
        assert mains[-1].get_title(loc="left") == f"273. {many.ranking()[-1].feature}"
        assert any("page 14 of 14" in t for t in words(figure))
        with refused(sd.DataError, "plot(page)", "at most 14"):
            many.plot(top=None, page=15)
        with refused(sd.DataError, "plot(page)", "top=None"):
            many.plot(page=2)

    def test_bars_of_all_features_are_one_figure_of_readable_names(self):
        X = np.random.default_rng(0).normal(size=(60, 300))
        quantity = sd.loss(lambda X: X[:, 0], "squared_error")
        pf = sd.explain(quantity, X, y=X[:, 0], method=sd.PFI(n_repeats=2))
        figure = pf.plot(top=12)
        assert figure.get_size_inches()[1] < 6
        assert "288 of 300 features not shown" in " ".join(words(figure))


# --- compare -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def effects():
    return [gallery.effect("risk", m) for m in ("ale", "pdp", "mplot")]


class TestCompare:
    def test_single_arguments_a_list_and_a_mapping(self, effects):
        labels = ["ALE", "PDP", "M-plot"]
        for figure in (sd.compare(*effects), sd.compare(effects), sd.compare(tuple(effects))):
            assert [t.get_text() for t in figure.legends[0].get_texts()][:3] == labels
        named = sd.compare(dict(zip("abc", effects, strict=True)))
        assert [t.get_text() for t in named.legends[0].get_texts()][:3] == ["a", "b", "c"]
        given = sd.compare(*effects, labels=["x", "y", "z"])
        assert [t.get_text() for t in given.legends[0].get_texts()][:3] == ["x", "y", "z"]

    def test_surfaces(self):
        pair = gallery.surface("risk", LONG), gallery.surface("risk", LONG, sd.ALE(bins=4))
        figure = sd.compare(*pair, labels=["fine", "coarse"])
        titles = [ax.get_title(loc="left") for ax in figure.axes]
        assert [t for t in titles if t] == ["fine", "coarse"]
        heat = [c for ax in figure.axes for c in ax.collections if type(c).__name__ == "QuadMesh"]
        assert len({(h.norm.vmin, h.norm.vmax) for h in heat}) == 1

    def test_models(self):
        figure = sd.compare(gallery.models("risk"))
        assert [t.get_text() for t in figure.legends[0].get_texts()][:3] == [
            "model 1",
            "model 2",
            "model 3",
        ]
        named = sd.compare(gallery.models("risk"), labels=["a", "b", "c"])
        assert [t.get_text() for t in named.legends[0].get_texts()][:3] == ["a", "b", "c"]
        assert len(sd.compare(positive_models(), labels=["a", "b"]).axes) == 3

    def test_zero(self, effects):
        centred = main(sd.compare(effects[1])).lines
        raw = main(sd.compare(effects[1], center=None)).lines
        y = [
            next(
                np.asarray(line.get_ydata())
                for line in lines
                if len(line.get_xdata()) == len(effects[1].x)
            )
            for lines in (centred, raw)
        ]
        np.testing.assert_allclose(y[1], effects[1].value)
        assert np.ptp(y[1] - y[0]) < 1e-9 < abs(float((y[1] - y[0])[0]))

    def test_refusals(self, effects):
        one = effects[0]
        with refused(sd.DataError, "compare", "no result"):
            sd.compare()
        with refused(sd.DataError, "compare", "9 results"):
            sd.compare([one] * 9)
        with refused(sd.DataError, "compare", "the same feature"):
            sd.compare(one, gallery.effect("admitted"))
        with refused(sd.DataError, "compare(labels)", "1 label"):
            sd.compare(one, one, labels=["a"])
        with refused(sd.DataError, "compare(labels)", "one string"):
            sd.compare(one, one, labels="ab")
        with refused(sd.DataError, "compare(center)"):
            sd.compare(one, center="zero")
        with refused(sd.DataError, "confidence_level"):
            sd.compare(one, confidence_level=1.5)
        with refused(sd.UnsupportedError, "compare", "Effect and ", "Surface"):
            sd.compare(one, gallery.surface("risk", LONG))
        with refused(sd.UnsupportedError, "compare", "Importance"):
            sd.compare(gallery.importance())
        with refused(sd.UnsupportedError, "compare", "str"):
            sd.compare("effect")
        other = sd.explain(
            sd.prediction(gallery.model, unit="USD"), gallery.table(), "risk", method="ale"
        )
        with refused(sd.UnsupportedError, "compare", "'EUR'", "'USD'"):
            sd.compare(one, other)


# --- a new kind of figure ------------------------------------------------------------------------
