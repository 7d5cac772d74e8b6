"""Words of figures of effects: tooltips, alternative text, legends, and hostile names and values."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import skedasis as sd
from skedasis._numbers import number, number_or_zero
from skedasis.plots import draw_matplotlib, draw_svg
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.layout import arrange
from skedasis.plots.marks import Area, Line, Points, Rectangles, marks_of
from skedasis.plots.scales import position_texts
from tests.plots.spec_helpers import legend, only, texts, tips


def slopes(X):
    return np.c_[3 * np.cos(3 * X[:, 0]) + X[:, 1], X[:, 0]]


def model(X):
    return np.sin(3 * X[:, 0]) + X[:, 0] * X[:, 1]


def data(n=200, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, size=(n, 2))


def explained(method, X=None, feature=0, f=model, **more):
    X = data() if X is None else X
    q = sd.prediction(model, slope=slopes) if f is model else f
    return sd.explain(q, X, feature, method=method, **more)


LETTERS = np.array(["red", "green", "blue & <b>", "rather long name of a colour", "x"])


def lettered(method, n=400):
    rng = np.random.default_rng(3)
    pandas = pytest.importorskip("pandas")
    k = np.concatenate([np.arange(5), rng.integers(0, 4, n - 5)])
    X = pandas.DataFrame({"c": LETTERS[k], "b": rng.normal(size=n)})
    where = {v: i for i, v in enumerate(LETTERS)}
    q = sd.prediction(lambda X: X["c"].map(where).to_numpy() * (1 + 0.3 * X["b"].to_numpy()))
    return sd.explain(q, X, "c", method=method)


METHODS = [sd.RHALE(), sd.UALE(), sd.DALE(bins=7), sd.ALE(bins=50), sd.PDP(), sd.ICE(grid=5)]
METHODS += [sd.MPlot(), sd.PDP(derivative=True)]
NAMES = [
    "x",
    "<script>alert('x')</script> & \"more\"",
    "]]> <!-- ' --",
    "very long " * 50,
    "onewordwithoutanyplacewhereitcouldbebroken" * 12,
    "x" * 10_000,
    " two\nlines\tand \x00\x07\x1b a bell",
    "שלום עולם (מ״ר)",
    "価格の対数💶",
    "",
]


def sound(spec):
    """Check what must hold for every figure: tooltips within their panel, finite axes, short and printable texts."""
    assert spec.title
    assert spec.alt
    for panel in spec.panels:
        assert np.isfinite([*panel.x.limits, *panel.y.limits]).all()
        assert panel.x.limits[0] < panel.x.limits[1]
        assert panel.y.limits[0] < panel.y.limits[1]
        for tip in panel.tooltips:
            assert tip.left <= tip.right
            assert all(0 < len(line) < 250 for line in tip.text.split("\n"))
    placed = arrange(spec, 320.0)
    for text in placed.texts():
        for line in text.lines:
            assert line.isprintable()
            assert placed.lettering.width(line, text.style) <= 321.0


# ------------------------------------------------------------------------------------ every figure


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_every_method(method):
    spec = effect_figure(explained(method))
    sound(spec)
    slope = isinstance(method, sd.PDP) and method.derivative
    kind = "slope of" if slope else "effect on"
    said = f"x0: {kind} prediction ({method.name})"
    said = "x0: mean of prediction (M-plot)" if isinstance(method, sd.MPlot) else said
    assert spec.title == str(spec.main.title) == said
    assert "x0" in texts(spec)
    assert spec.main.tooltips


@pytest.mark.parametrize("method", [sd.RHALE(), sd.PDP()], ids=["RHALE", "PDP"])
def test_every_name_is_text(method):
    for name in NAMES:
        frame = pytest.importorskip("pandas").DataFrame(data(), columns=[name, "b"])
        q = sd.prediction(lambda D: model(D.to_numpy()), name=f"q {name}", unit=name or None)
        spec = effect_figure(sd.explain(q, frame, name, method=method))
        sound(spec)
        if name.startswith("<script>"):
            # Renderers escape it.
            assert spec.main.x.name == name
            assert any(name[:10] in tip.text for tip in spec.main.tooltips)


def test_the_legend_explains_every_kind_of_mark():
    X = data(400)
    X[::9, 0] = np.nan

    def f(X):
        return np.where(np.isnan(X[:, 0]), 2.0, np.nan_to_num(X[:, 0]) * X[:, 1])

    side = (X[:, 1] > 0).astype(int)
    effect = "± spread between rows"
    error = "95 % interval of the average"
    ale = ["average effect", effect, error, "where the data are"]
    local = ["average slope", "± SD between rows", "slopes of single rows"]
    curves = [
        "average",
        "± spread between curves",
        error,
    ]
    cases = [
        (
            sd.explain(f, X, 0, method=sd.ALE(bins=40)),
            {},
            [*ale[:3], "where the data are", "missing values (n=45)", *local, "fewer than 10 rows"],
        ),
        (explained(sd.RHALE(), data(500)), {}, [*ale[:3], "where the data are", *local]),
        (
            explained(sd.PDP()),
            {"own": True},
            [*curves, "ICE curves", "each row at its own value", "where the data are"],
        ),
        (
            explained(sd.PDP(), data(400)),
            {"color": side, "histogram": True, "color_name": "side"},
            [*curves, "where the data are"],
        ),
        (
            lettered(sd.MPlot()),
            {},
            [
                "average",
                "± SD of the rows at the level",
                error,
                "mean at the level",
                "single rows",
                "fewer than 10 rows",
            ],
        ),
    ]
    for e, options, wanted in cases:
        found = legend(effect_figure(e, EffectPlotOptions(**options)))
        groups = [label for label in found if label.startswith("side = ")]
        assert len(groups) == (2 if "histogram" in options else 0)
        assert [label for label in found if label not in groups] == wanted


def test_no_matplotlib_is_needed():
    code = (
        "import sys, numpy as np, skedasis as sd\n"
        "from skedasis.plots.figures.effect import effect_figure\n"
        "from skedasis.plots.layout import arrange\n"
        "e = sd.explain(lambda X: X[:, 0], np.arange(40.0).reshape(20, 2), 0)\n"
        "arrange(effect_figure(e), 320.0)\n"
        "sys.exit('matplotlib' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---------------------------------------------------------------------------------------- tooltips

SPREAD = "spread between rows "


def test_bins_say_their_numbers():
    e = explained(sd.DALE(bins=4), data(37))
    main = effect_figure(e).main
    edges = position_texts(np.append(e.bins.left, e.bins.right[-1]))
    assert len(main.tooltips) == 4
    for k, lines in enumerate(tips(main)):
        assert lines[0] == f"{edges[k]} – {edges[k + 1]}"
        assert lines[1] == f"{e.bins.count[k]} rows"
        assert lines[2] == f"effect {number(e.value[k])} → {number(e.value[k + 1])}"
        assert lines[3] == f"average slope {number(e.bins.effect[k])}"
        assert lines[4] == f"standard deviation {number(e.bins.std[k])}"
        assert lines[5] == f"standard error {number(e.bins.std_error[k])}"
        inside = e.spread.at(np.linspace(*e.bins.edges[k : k + 2], 1001))
        said = [float(v.split(" ")[0]) for v in lines[6].removeprefix(SPREAD).split(" to ")]
        np.testing.assert_allclose([said[0], said[-1]], [inside.min(), inside.max()], rtol=0.01)
        assert lines[7:] == ["fewer than 10 rows: unreliable"] * int(e.bins.count[k] < 10)


@pytest.mark.parametrize("method", [sd.ALE(bins=6), sd.RHALE(), sd.MPlot(bins=5)])
def test_a_bin_is_touched_over_its_whole_width_and_both_panels(method):
    e = explained(method)
    spec = effect_figure(e)
    found = spec.main.tooltips
    np.testing.assert_array_equal([t.left for t in found], e.bins.left)
    np.testing.assert_array_equal([t.right for t in found], e.bins.right)
    assert all(t.below == len(spec.panels) - 1 for t in found)
    assert not spec.panels[1].tooltips


def test_doubts_are_hatched_and_said():
    X = data(300)
    X[:, 0] = np.where(X[:, 0] > 0, X[:, 0] + 3, X[:, 0])
    X[0, 0] = 8.0
    e = explained(sd.DALE(bins=sd.Uniform(9)), X)
    assert e.bins.empty.any()
    assert (e.bins.count[~e.bins.trusted] > 0).any()
    spec = effect_figure(e)
    assert "no data" in texts(spec)
    assert {"no data", "fewer than 10 rows"} <= set(legend(spec))
    assert {m.style for m in marks_of(spec.main, Rectangles)} == {"few", "empty"}
    said = [" ".join(lines) for lines in tips(spec.main)]
    assert sum("no rows" in s for s in said) == e.bins.empty.sum()
    assert sum("unreliable" in s for s in said) == (~e.bins.trusted & ~e.bins.empty).sum()


def test_points_of_a_grid_say_their_numbers():
    e = explained(sd.PDP(grid=9), data(120))
    main, level = effect_figure(e).main, e.spread.weight @ e.value
    error = only(main, Area, "interval")
    for i, lines in enumerate(tips(main)):
        assert lines[0] == f"x0 = {position_texts(e.x)[i]}"
        assert lines[1] == f"average {number(e.value[i] - level)}"
        # Rounding errors of a zero are shown as 0 in a curve that was shifted.
        spread = number_or_zero(e.heterogeneity[i], np.abs(e.value - level).max()).removeprefix(
            "≈ "
        )
        assert lines[2] == f"spread between curves {spread}"
        low, high = number(error.lower[i]), number(error.upper[i])
        assert lines[3] == f"95 % interval of the average: {low} to {high}"
    for x, tip in zip(e.x, main.tooltips, strict=True):
        assert tip.left <= x <= tip.right
    assert [a.right for a in main.tooltips[:-1]] == [b.left for b in main.tooltips[1:]]


@pytest.mark.parametrize("method", [sd.ALE(), sd.PDP(), sd.MPlot()], ids=lambda m: m.name)
def test_levels_say_their_numbers(method):
    e = lettered(method)
    main = effect_figure(e).main
    found, points = tips(main), only(main, Points, "vertex")
    spread, error = (only(main, Rectangles, s) for s in ("heterogeneity", "interval"))
    top = np.abs(points.y).max()
    for i, (lines, name, n) in enumerate(zip(found, e.levels.labels, e.levels.count, strict=True)):
        assert lines[0] == name
        assert lines[1] == f"{n:,} row{'' if n == 1 else 's'}"
        assert lines[2].endswith(f" {number_or_zero(points.y[i], top)}")
        if np.isfinite(spread.upper[i]):
            half = (spread.upper[i] - spread.lower[i]) / 2
            assert f" {number_or_zero(half, top)}" in lines[3]
        if np.isfinite(error.upper[i]):
            low, high = (number_or_zero(v[i], top) for v in (error.lower, error.upper))
            assert f"95 % interval of the average: {low} to {high}" in lines
        assert (lines[-1] == "fewer than 10 rows: unreliable") == (n < 10)
    assert [(t.left, t.right) for t in main.tooltips] == [(i - 0.5, i + 0.5) for i in range(5)]


def test_missing_values_are_said():
    X = data(300)
    X[::7, 0] = np.nan

    def f(X):
        return np.where(np.isnan(X[:, 0]), 2.0, np.nan_to_num(X[:, 0]) * X[:, 1])

    e = sd.explain(f, X, 0, method=sd.ALE(bins=5))
    main = effect_figure(e).main
    (tip,) = [t for t in main.tooltips if t.text.startswith("x0: missing")]
    lines = tip.text.split("\n")
    assert lines[1:3] == ["43 rows", f"average {number(e.missing_point.value)}"]
    assert (tip.left, tip.right) == main.x.asides[-1][1:3]
    assert "43 rows with a missing value" in main.notes


# -------------------------------------------------------------------------------- alternative text


def test_a_figure_is_told_in_words():
    X = np.linspace(0, 1, 101)[:, None]
    e = sd.explain(lambda X: (X[:, 0] - 0.5) ** 2, X, 0, method=sd.ALE(bins=4))
    alt = effect_figure(e).alt
    assert f"runs from {number(e.value[0])} at 0.0" in alt
    assert f"minimum {number(e.value.min())} at 0.5" in alt
    assert alt.startswith("x0: effect on prediction (ALE).")
    assert alt.endswith("101 rows; 4 bins.")
    flat = sd.explain(lambda X: np.full(len(X), 2.0), X, 0, method=sd.ALE(bins=4))
    assert "The curve is constant: 0 at 0." in effect_figure(flat).alt
    one = sd.explain(lambda X: X[:, 0], X, 0, method=sd.PDP(grid=[0.25]))
    assert "The effect is 0 at 0.25" in effect_figure(one).alt
    f = lettered(sd.ALE())
    low, high = f.levels.labels[f.value.argmin()], f.levels.labels[f.value.argmax()]
    said = f"Minimum {number(f.value.min())} at {low}, maximum {number(f.value.max())} at {high}."
    assert said in effect_figure(f).alt


# -------------------------------------------------------------------------------- hostile features

HOSTILE = {
    "constant": lambda X: np.full(len(X), 3.0),
    "constant at zero": lambda X: np.zeros(len(X)),
    "two values": lambda X: np.where(X[:, 0] > 0, 1.0, 0.0),
    "1e-12": lambda X: 1e-12 * X[:, 0],
    "1e69": lambda X: 1e69 * X[:, 0],
    "Unix time": lambda X: 1.7e9 + 86_400 * X[:, 0],
    "missing": lambda X: np.where(X[:, 0] > 0.5, np.nan, X[:, 0]),
    "a gap": lambda X: X[:, 0] + 50 * (X[:, 0] > 0),
    "an outlier": lambda X: np.where(np.arange(len(X)) == 0, 1e4, X[:, 0]),
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize(("method", "n"), [(sd.DALE(bins=50), 2), (sd.RHALE(), 120)], ids=str)
def test_hostile_features(what, method, n):
    X = data(n)
    X[:, 0] = HOSTILE[what](X)
    if np.isnan(X[:, 0]).all():
        pytest.skip("nothing to explain")
    scale = np.nanmax(np.abs(X[:, 0])) or 1.0
    q = sd.prediction(lambda X: np.tanh(np.nan_to_num(X[:, 0]) / scale) * X[:, 1])
    e = sd.explain(q, X, 0, method=method)
    spec = effect_figure(e)
    sound(spec)
    known = np.isfinite(e.value)
    for line in marks_of(spec.main, Line, "average"):
        there = np.isfinite(line.y)
        assert line.x[there][0] == e.x[known][0]
    if what == "Unix time" and n > 2:
        assert "x0 \N{MINUS SIGN} 1699900000 [×10³]" in texts(spec)


@pytest.mark.parametrize("value", [0.0, 3.0, 1e12])
def test_constant_models(value):
    spec = effect_figure(explained(sd.PDP(), f=lambda X: np.full(len(X), value)))
    sound(spec)
    # Rounding errors are not magnified.
    assert tips(spec.main)[0][1] in ("average 0", "average ≈ 0")


# ------------------------------------------------------------------------ both renderers draw them


def drawn(effect, options=None):
    """Draw an effect with both renderers, and return the SVG as text, which is well-formed and has finite numbers."""
    spec = effect_figure(effect, options)
    svg = str(draw_svg.draw(spec, ident="f").svg)
    for element in ET.fromstring(svg).iter():
        assert not {k for k in element.attrib if k.startswith("on") or k in ("style", "href")}
        for key in {"x", "y", "d", "width", "height", "transform"} & set(element.attrib):
            assert not re.search(r"nan|inf|None|e[+-]?\d", element.attrib[key])
    draw_matplotlib.draw(spec).draw_without_rendering()
    return svg


@pytest.mark.parametrize(
    ("method", "size"),
    [(sd.ALE(bins=4), 1e-99), (sd.PDP(grid=6), 1e-12), (sd.MPlot(bins=4), 1e139)],
)
def test_quantities_of_any_size(method, size):
    X = data(60)
    drawn(sd.explain(lambda X: size * (X[:, 0] + np.sin(X[:, 1])), X, 0, method=method))


@pytest.mark.parametrize(
    ("method", "size"),
    [(sd.ALE(bins=4), 1e69), (sd.PDP(grid=6), 1e-12), (sd.MPlot(bins=4), 1e12)],
)
def test_features_of_any_size(method, size):
    X = data(60) * [size, 1.0]
    drawn(sd.explain(lambda X: X[:, 0] / size + X[:, 1], X, 0, method=method))


def second(value):
    """Return a function that sets the second element of an array."""
    return lambda a: np.where(np.arange(len(a)) == 1, value, a)


CHANGES = [
    ("value", lambda v: v * np.nan),
    ("value", lambda v: v * 1e305),
    ("value", second(np.nan)),
    ("value", second(np.inf)),
    ("value", second(-np.inf)),
    ("value", lambda v: v * 0 + 3.0),
    ("std_error", lambda v: v * np.nan),
    ("std_error", second(np.inf)),
    ("std_error", lambda v: v * 0),
    ("spread", lambda s: replace(s, value=s.value * np.nan)),
    ("spread", lambda s: replace(s, value=second(np.inf)(s.value))),
    ("spread", lambda s: replace(s, value=s.value + 1e300)),
    ("spread", lambda _: None),
    ("df", lambda v: v * 0),
]


@pytest.mark.parametrize("method", [sd.PDP(grid=7), sd.RHALE(), sd.MPlot(bins=5)], ids=str)
def test_numbers_that_are_none(method):
    e = sd.explain(lambda X: X[:, 0] + X[:, 0] * X[:, 1], data(60), 0, method=method)
    for name, change in CHANGES:
        given = getattr(e, name)
        drawn(replace(e, **{name: change(given if name == "spread" else np.array(given))}))


@pytest.mark.parametrize(
    "color",
    [
        np.full(60, np.nan),
        np.r_[np.nan, np.ones(59)],
        data(60)[:, 0] * 1e300,
        np.full(60, 2.5),
        np.r_[np.inf, data(59)[:, 0]],
        np.array(["</style><script>alert(1)</script>", "\u202eabc"] * 30),
    ],
    ids=range(6),
)
def test_colors_of_any_kind(color):
    e = sd.explain(lambda X: X[:, 0] * X[:, 1], data(60), 0, method=sd.ICE(grid=5))
    assert "<script" not in drawn(e, EffectPlotOptions(color=color, own=True))


@pytest.mark.slow
def test_two_rows_and_many():
    few = np.array([[0.0, 1.0], [1.0, 3.0]])
    for method in (sd.ALE(), sd.PDP(), sd.MPlot(bins=2)):
        drawn(sd.explain(lambda X: X[:, 0] * X[:, 1], few, 0, method=method))
    many = np.random.default_rng(0).normal(size=(200_000, 2))
    svg = drawn(sd.explain(lambda X: X[:, 0], many, 0, method=sd.ALE(bins=20)))
    assert "200,000 rows" in svg
    assert len(svg) < 40_000
