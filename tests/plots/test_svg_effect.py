"""SVG of effects: parsed again, pixels mapped back to values, and these compared with the effect's arrays."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.plots.figures.effect import effect_spec
from skedasis.plots.scales import number, number_or_zero, position_texts
from skedasis.plots.spec import EffectPlotOptions
from skedasis.plots.svg import effect as effect_svg
from tests.plots.svg_parsing import SPACE, Sheet, marks, parts


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


def drawn(e, view=None, ident="f"):
    return Sheet(effect_svg.effect(e, view, ident=ident))


def same(found, wanted, fine):
    """Compare within the rounding of pixels, which have one decimal: half a tenth."""
    np.testing.assert_allclose(found, wanted, rtol=0, atol=0.51 * fine + 1e-12)


# ------------------------------------------------------------------------------------ every figure

METHODS = [sd.RHALE(), sd.UALE(), sd.DALE(bins=7), sd.ALE(bins=50), sd.PDP(), sd.ICE(grid=5)]
METHODS += [sd.MPlot(), sd.PDP(derivative=True)]
NAMES = [
    "x",
    "<script>alert('x')</script> & \"more\"",
    "]]> <!-- ' --",
    "very long " * 50,
    "onewordwithoutanyplacewhereitcouldbebroken" * 12,
    " two\nlines\tand \x00\x07\x1b a bell",
    "שלום עולם (מ״ר)",
    "価格の対数💶",
    "",
]


def sound(sheet, ident):
    """Check what must hold for every drawing: unique ids, valid references, nothing that a content policy forbids."""
    ids = [e.get("id") for e in sheet.root.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    assert all(i.startswith(ident) for i in ids)
    for target in re.findall(r"url\(#([^)]*)\)", sheet.text):
        assert target in ids
    for e in sheet.root.iter():
        assert e.tag.removeprefix(SPACE) in {
            "svg", "title", "desc", "defs", "clipPath", "pattern", "g", "path", "rect", "text"
        }  # fmt: skip
        assert not any(k == "style" or k.startswith("on") or "href" in k for k in e.attrib)
        for key in ("d", "x", "y", "width", "height", "transform", "data-x", "data-y"):
            assert "nan" not in e.get(key, "")
            assert "inf" not in e.get(key, "")
    svg = sheet.root
    assert [e.tag.removeprefix(SPACE) for e in svg][:2] == ["title", "desc"]
    assert svg.get("aria-labelledby") == f"{ident}-title {ident}-desc"
    assert svg[0].text
    assert svg[1].text
    width, height = (float(svg.get(k)) for k in ("width", "height"))
    assert svg.get("viewBox") == f"0 0 {svg.get('width')} {svg.get('height')}"
    for e in sheet.of("hit"):
        left, wide = float(e.get("x")), float(e.get("width"))
        assert -0.1 <= left <= left + wide <= width + 0.1
        assert float(e.get("y")) + float(e.get("height")) <= height


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_every_method(method):
    sheet = drawn(explained(method), ident="abc")
    sound(sheet, "abc")
    assert method.name in sheet.words
    assert "x0" in sheet.words
    assert sheet.tips


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", [sd.RHALE(), sd.PDP()], ids=lambda m: m.name)
def test_every_name_is_text(name, method):
    frame = pytest.importorskip("pandas").DataFrame(data(), columns=[name, "b"])
    q = sd.prediction(lambda D: model(D.to_numpy()), name=f"q {name}")
    e = sd.explain(q, frame, name, method=method)
    sheet = drawn(e, ident="n")
    sound(sheet, "n")
    both = Sheet(effect_svg.compare([e, e], ident="n"))
    sound(both, "n")
    if name.startswith("<script>"):
        assert any(name in w for w in sheet.words)
        assert any(name in line for w in (*sheet.tips, *both.tips) for line in w)


def test_the_legend_explains_all_that_the_other_figure_explains():
    X = data(400)
    X[::9, 0] = np.nan

    def f(X):
        return np.where(np.isnan(X[:, 0]), 2.0, np.nan_to_num(X[:, 0]) * X[:, 1])

    side = (X[:, 1] > 0).astype(int)
    cases = [
        (sd.explain(f, X, 0, method=sd.ALE(bins=40)), {}),
        (explained(sd.RHALE()), {}),
        (explained(sd.MPlot()), {}),
        (explained(sd.PDP()), {"own": True}),
        (explained(sd.PDP(), data(400)), {"color": side, "histogram": True, "color_name": "side"}),
        (lettered(sd.ALE()), {}),
        (lettered(sd.PDP()), {}),
        (lettered(sd.MPlot()), {}),
    ]
    for e, view in cases:
        texts = [t.get_text() for t in e.plot(**view).legends[0].get_texts()]
        assert sorted(drawn(e, EffectPlotOptions(**view)).legend) == sorted(texts), e.spec.method


def test_the_same_effect_twice_on_a_page_shares_no_name():
    e = explained(sd.RHALE(), data(30))
    a, b = drawn(e, ident="a"), drawn(e, ident="b")
    ids = [{x.get("id") for x in s.root.iter() if x.get("id")} for s in (a, b)]
    assert not ids[0] & ids[1]
    assert a.text != b.text


def test_no_matplotlib_is_needed():
    code = (
        "import sys, numpy as np, skedasis as sd\n"
        "from skedasis.plots.svg import effect as figure\n"
        "e = sd.explain(lambda X: X[:, 0], np.arange(40.0).reshape(20, 2), 0)\n"
        "figure.effect(e, ident='a'); figure.compare([e], ident='b')\n"
        "figure.effects({'x': e}, ident='c')\n"
        "sys.exit('matplotlib' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ------------------------------------------------------------------------------ accumulated effects


def test_the_curve_is_the_effects_own_path():
    e = explained(sd.RHALE(), data(600))
    assert np.any(e.bins.slope_change)
    sheet = drawn(e)
    main = sheet.panels[0]
    (line,) = main.parts(sheet.one("line average", main.element))
    x, value = e.path()
    same(line[:, 0], x, main.fine[0])
    same(line[:, 1], value, main.fine[1])
    at = marks(sheet.one("marks average", main.element))
    same(main.x(at[:, 0]), e.x, main.fine[0])
    same(main.y(at[:, 1]), e.value, main.fine[1])


def test_bands_are_the_interval_and_the_heterogeneity():
    e = explained(sd.DALE(bins=6), data(500))
    sheet = drawn(e, EffectPlotOptions(confidence_level=0.8))
    main = sheet.panels[0]
    for look, (lower, upper) in (
        ("err", e.interval(0.8)),
        ("het", (e.value - e.heterogeneity, e.value + e.heterogeneity)),
    ):
        below, above = main.parts(sheet.one(f"edge {look}", main.element))
        same(below[:, 1], lower, main.fine[1])
        same(above[:, 1], upper, main.fine[1])
        (area,) = main.parts(sheet.one(f"band {look}", main.element))
        same(area[:, 1], np.concatenate([upper, lower[::-1]]), main.fine[1])
    assert "80 % interval of the average" in sheet.legend


def test_an_unknown_stretch_interrupts_bands():
    e = explained(sd.ALE(bins=sd.Edges([-2.0, -1.0, 0.0, 1.0])))
    assert np.isnan(e.value).any()
    sheet = drawn(e)
    main = sheet.panels[0]
    (line,) = main.parts(sheet.one("line average", main.element))
    same(line[:, 0], e.x[np.isfinite(e.value)], main.fine[0])


def test_steps_whiskers_and_violins_are_those_of_the_bins():
    e = explained(sd.DALE(bins=5), data(500))
    sheet = drawn(e)
    lower = sheet.panels[1]
    found = np.stack(lower.parts(sheet.one("step", lower.element)))
    same(found[:, 0, 0], e.bins.left, lower.fine[0])
    same(found[:, 1, 0], e.bins.right, lower.fine[0])
    same(found[:, 0, 1], e.bins.effect, lower.fine[1])
    whiskers = lower.parts(sheet.of("whisker", lower.element)[0])[::3]
    same([w[0, 1] for w in whiskers], e.bins.effect - e.bins.std, lower.fine[1])
    same([w[1, 1] for w in whiskers], e.bins.effect + e.bins.std, lower.fine[1])
    bodies = lower.parts(sheet.one("violin", lower.element))
    cell = np.clip(np.searchsorted(e.bins.left, e.rows.x, side="right") - 1, 0, 4)
    assert len(bodies) == 5
    for k, body in enumerate(bodies):
        own = e.rows.effect[cell == k]
        same([body[:, 1].min(), body[:, 1].max()], [own.min(), own.max()], 1.5 * lower.fine[1])
        assert len(body) <= 2 * 40
        middle = (e.bins.left[k] + e.bins.right[k]) / 2
        same(body[:, 0].min() + body[:, 0].max(), 2 * middle, 4 * lower.fine[0])


def test_violins_keep_their_shape():
    e = explained(sd.DALE(bins=2), data(500))
    sheet = drawn(e)
    lower = sheet.panels[1]
    for violin, body in zip(
        effect_spec(e).slopes.violins, lower.parts(sheet.one("violin", lower.element)), strict=True
    ):
        right = body[: len(body) // 2]
        wide = np.interp(violin.y, right[:, 1], right[:, 0] - violin.middle)
        assert np.abs(wide - violin.half_width).max() <= 14 * lower.fine[0]  # 1.4 pixels


def test_slopes_that_change_are_tilted():
    e = explained(sd.RHALE(), data(600))
    sheet = drawn(e)
    lower = sheet.panels[1]
    found = np.stack(lower.parts(sheet.one("step", lower.element)))
    start, end = e.bins.ends
    same(found[:, 0, 1], start, lower.fine[1])
    same(found[:, 1, 1], end, lower.fine[1])


def test_bins_say_their_numbers():
    e = explained(sd.DALE(bins=4), data(37))
    sheet = drawn(e)
    edges = position_texts(np.append(e.bins.left, e.bins.right[-1]))
    assert len(sheet.tips) == 4
    for k, lines in enumerate(sheet.tips):
        assert lines[0] == f"{edges[k]} – {edges[k + 1]}"
        assert lines[1] == f"{e.bins.count[k]} rows"
        assert lines[2] == f"effect {number(e.value[k])} → {number(e.value[k + 1])}"
        assert lines[3] == f"mean slope {number(e.bins.effect[k])}"
        assert lines[4] == f"standard deviation {number(e.bins.std[k])}"
        assert lines[5] == f"standard error {number(e.bins.std_error[k])}"
        assert len(lines) == 6 + (e.bins.count[k] < 10)
    main = sheet.panels[0]
    hits = sheet.of("hit")
    same([main.x(float(h.get("x"))) for h in hits], e.bins.left, main.fine[0])
    # One tooltip describes both panels: its area extends from the top of the first to the bottom of the second.
    top, foot = main.up[1], sheet.panels[1].up[0]
    assert {(float(h.get("y")), float(h.get("height"))) for h in hits} == {(top, foot - top)}


def test_doubts_are_hatched_and_said():
    X = data(300)
    X[:, 0] = np.where(X[:, 0] > 0, X[:, 0] + 3, X[:, 0])
    X[0, 0] = 8.0
    e = explained(sd.DALE(bins=sd.Uniform(9)), X)
    assert e.bins.empty.any()
    assert (e.bins.count[~e.bins.trusted] > 0).any()
    sheet = drawn(e)
    assert "no data" in sheet.words
    assert {"no data", "fewer than 10 rows"} <= set(sheet.legend)
    fills = {h.get("fill") for h in sheet.of("hatch")}
    assert fills == {"url(#f-few)", "url(#f-empty)"}
    said = [" ".join(lines) for lines in sheet.tips]
    assert sum("no rows" in s for s in said) == e.bins.empty.sum()
    assert sum("unreliable" in s for s in said) == (~e.bins.trusted & ~e.bins.empty).sum()


def test_counts_stand_above_bins_or_are_bars():
    e = explained(sd.DALE(bins=3))
    sheet = drawn(e)
    (group,) = sheet.of("words")
    texts = list(group.iter(f"{SPACE}text"))
    assert [t.text for t in texts] == [f"n={n}" for n in e.bins.count]
    lower = sheet.panels[1]
    middles = (e.bins.left + e.bins.right) / 2
    same([lower.x(float(t.get("x"))) for t in texts], middles, lower.fine[0])
    many = explained(sd.ALE(bins=40), data(900))
    sheet = drawn(many)
    assert not sheet.of("words")
    counts = sheet.panels[2]
    bars = counts.parts(sheet.one("bar", counts.element))
    same([b[1, 1] for b in bars], many.bins.count, counts.fine[1])


def test_the_rug_is_where_rows_lie():
    e = explained(sd.DALE(bins=3), data(60))
    sheet = drawn(e)
    main = sheet.panels[0]
    teeth = [p[:, 0].mean() for p in parts(sheet.one("rug", main.element))]
    at = (e.rows.x - main.across[2]) / (main.across[3] - main.across[2])
    pixels = main.across[0] + at * (main.across[1] - main.across[0])
    far = np.abs(pixels[:, None] - np.array(teeth)[None]).min(axis=1)
    assert far.max() <= 0.36
    assert np.abs(np.array(teeth)[:, None] - pixels[None]).min(axis=1).max() <= 0.36


# ------------------------------------------------------------------------------- individual curves


def test_curves_are_the_rows_own():
    e = explained(sd.PDP(grid=40), data(50))
    sheet = drawn(e)
    main = sheet.panels[0]
    path = sheet.one("curves", main.element)
    rows = [int(v) for v in path.get("data-rows").split()]
    found = main.parts(path)
    assert len(found) == len(rows) == 50
    assert rows == e.curves.row.tolist()
    wanted = e.curves.value - e.curves.value.mean(axis=1, keepdims=True)
    for curve, y in zip(found, wanted, strict=True):
        # Omitted points are on the lines between the others, to a tenth of a pixel.
        along = np.interp(e.x, curve[:, 0], curve[:, 1])
        assert np.abs(along - y).max() <= 2.2 * main.fine[1]
        assert np.all(np.diff(curve[:, 0]) > 0)
    assert sum(map(len, found)) < 50 * 40


def test_a_few_of_many_curves():
    e = explained(sd.PDP(), data(300))
    sheet = drawn(e, EffectPlotOptions(curves=40))
    path = sheet.one("curves", sheet.panels[0].element)
    rows = [int(v) for v in path.get("data-rows").split()]
    assert len(parts(path)) == len(set(rows)) == 40
    model_of = dict(zip(e.curves.row.tolist(), e.curves.value, strict=True))
    main = sheet.panels[0]
    for r, curve in zip(rows, main.parts(path), strict=True):
        y = model_of[r] - model_of[r].mean()
        assert abs(curve[0, 1] - y[0]) <= main.fine[1]


def test_groups_have_colours_strokes_marks_and_names():
    X = data(80)
    side = np.where(X[:, 1] > 0, "up", "down")
    e = explained(sd.PDP(), X)
    sheet = drawn(e, EffectPlotOptions(color=side, color_name="side", own=True, histogram=True))
    sound(sheet, "f")
    for place, name in enumerate(("down", "up")):
        (path,) = [p for p in sheet.of(f"curves m{place}") if p.get("data-rows")]
        rows = np.array([int(v) for v in path.get("data-rows").split()])
        assert set(side[rows]) == {name}
        assert len(parts(path)) == len(rows) == (side == name).sum()
        assert path.get("data-name") == f"side = {name}"
    assert "side = up (" in " ".join(sheet.legend)
    groups = sheet.panels[-1]
    for place, name in enumerate(("down", "up")):
        (rim,) = groups.parts(sheet.one(f"outline m{place}", groups.element))
        heights = rim[1:-1].reshape(-1, 2, 2)[:, 0, 1]
        inside = (e.curves.x >= groups.across[2]) & (e.curves.x <= groups.across[3])
        assert round(heights.sum()) == (inside & (side[e.curves.row] == name)).sum()
        (tips,) = {sum(int(t[1 + place].rpartition(" ")[2]) for t in sheet.tips if ": " in t[1])}
        assert tips == round(heights.sum())


def test_numbers_have_a_scale():
    X = data(60)
    sheet = drawn(explained(sd.PDP(), X), EffectPlotOptions(color=X[:, 1], color_name="other"))
    shade = np.full(60, -1)
    for k in range(16):
        for path in sheet.of(f"curves v{k}"):
            shade[[int(v) for v in path.get("data-rows").split()]] = k
    assert (shade >= 0).all()
    assert np.all(np.diff(shade[np.argsort(X[:, 1])]) >= 0)
    assert shade.min() == 0
    assert shade.max() == 15
    assert any("by other: −" in t for t in sheet.legend)


def test_points_of_a_grid_say_their_numbers():
    e = explained(sd.PDP(grid=9), data(120))
    sheet = drawn(e)
    level = e.value.mean()
    shown = effect_spec(e).main
    for i, lines in enumerate(sheet.tips):
        assert lines[0] == f"x0 = {position_texts(e.x)[i]}"
        assert lines[1] == f"average {number(e.value[i] - level)}"
        # Rounding errors of a zero are shown as 0 in a curve that was shifted.
        spread = number_or_zero(e.heterogeneity[i], np.abs(e.value - level).max()).removeprefix(
            "≈ "
        )
        assert lines[2] == f"± {spread} standard deviation of centred curves"
        low, high = shown.bands[1].lower[i], shown.bands[1].upper[i]
        assert lines[3] == f"95 % interval of the average: {number(low)} to {number(high)}"
    main = sheet.panels[0]
    for x, hit in zip(e.x, sheet.of("hit"), strict=True):
        left = main.x(float(hit.get("x")))
        right = main.x(float(hit.get("x")) + float(hit.get("width")))
        assert left <= x + main.fine[0]
        assert x - main.fine[0] <= right


def test_stretches_on_which_curves_stand_high():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 400)
    X = np.c_[x, x + 0.1 * rng.normal(size=400)]
    q = sd.prediction(lambda X: np.exp(-8 * (X[:, 0] - 1) ** 2), name="entropy")
    e = sd.explain(q, X, 0, method=sd.PDP())
    found = e.elevated_regions()
    assert found
    sheet = drawn(e, EffectPlotOptions(elevated_regions=True))
    sound(sheet, "f")
    main = sheet.panels[0]
    strips = [s for s in sheet.of("strip", main.element) if s.get("class") != "strip ground"]
    for rise, strip in zip(found, strips, strict=True):
        same(main.x(float(strip.get("x"))), rise.left, main.fine[0])
        right = float(strip.get("x")) + float(strip.get("width"))
        same(main.x(right), rise.right, 2 * main.fine[0])
    assert any(line.startswith("elevated:") for lines in sheet.tips for line in lines)


def test_a_figure_is_told_in_words():
    X = np.linspace(0, 1, 101)[:, None]
    e = sd.explain(lambda X: (X[:, 0] - 0.5) ** 2, X, 0, method=sd.ALE(bins=4))
    alt = effect_svg.effect(e, ident="a").alt
    assert f"runs from {number(e.value[0])} at 0.0" in alt
    assert f"minimum {number(e.value.min())} at 0.5" in alt
    assert alt.startswith("ALE of x0 on prediction.")
    assert alt.endswith("101 rows; 4 bins.")
    flat = sd.explain(lambda X: np.full(len(X), 2.0), X, 0, method=sd.ALE(bins=4))
    assert "The curve is constant: 0 at 0." in effect_svg.effect(flat, ident="a").alt
    assert effect_svg.effect(e, ident="a", title="T", alt="A").alt == "A"
    f = lettered(sd.ALE())
    low, high = f.levels.labels[f.value.argmin()], f.levels.labels[f.value.argmax()]
    said = f"Minimum {number(f.value.min())} at {low}, maximum {number(f.value.max())} at {high}."
    assert said in effect_svg.effect(f, ident="a").alt


# ------------------------------------------------------------------------------------------ levels

LETTERS = np.array(["red", "green", "blue & <b>", "rather long name of a colour", "x"])


def lettered(method, n=400, kind="nominal"):
    rng = np.random.default_rng(3)
    pandas = pytest.importorskip("pandas")
    k = np.concatenate([np.arange(5), rng.integers(0, 4, n - 5)])
    X = pandas.DataFrame({"c": LETTERS[k], "b": rng.normal(size=n)})
    where = {v: i for i, v in enumerate(LETTERS)}
    q = sd.prediction(lambda X: X["c"].map(where).to_numpy() * (1 + 0.3 * X["b"].to_numpy()))
    return sd.explain(q, X, "c", method=method)


@pytest.mark.parametrize("method", [sd.ALE(), sd.PDP(), sd.MPlot()], ids=lambda m: m.name)
def test_levels_stand_at_their_places(method):
    e = lettered(method)
    shown = effect_spec(e, EffectPlotOptions(across=effect_svg.ACROSS)).main
    sheet = drawn(e)
    sound(sheet, "f")
    main = sheet.panels[0]
    at = marks(sheet.one("marks average", main.element))
    same(main.x(at[:, 0]), np.arange(5), main.fine[0])
    same(main.y(at[:, 1]), shown.lines[0].y, main.fine[1])
    for band, look in zip(shown.bands, ("het", "err"), strict=True):
        boxes = main.parts(sheet.one(f"box {look}", main.element))
        there = np.isfinite(band.lower) & np.isfinite(band.upper)
        same([b[0, 1] for b in boxes], band.lower[there], main.fine[1])
        same([b[1, 1] for b in boxes], band.upper[there], main.fine[1])
        same([b[0, 0] for b in boxes], band.x[there] - band.reach, main.fine[0])
    assert {n for n in e.levels.labels if len(n) <= 24} <= set(sheet.words)
    for lines, name, n in zip(sheet.tips, e.levels.labels, e.levels.count, strict=False):
        assert lines[0] == name
        assert lines[1] == f"{n:,} row{'' if n == 1 else 's'}"
    assert any("unreliable" in " ".join(lines) for lines in sheet.tips)


def test_steps_between_levels_say_between_which():
    e = lettered(sd.ALE())
    sheet = drawn(e)
    said = sheet.tips[5:]
    assert [lines[0] for lines in said] == [
        f"{a} → {b}" for a, b in itertools.pairwise(e.levels.labels)
    ]
    assert [lines[1] for lines in said] == [f"mean difference {number(v)}" for v in e.bins.effect]


def test_rows_at_levels_are_dashes():
    e = lettered(sd.PDP(), 60)
    sheet = drawn(e)
    flecks = parts(sheet.one("flecks"))
    assert len(flecks) == 60 * 5
    assert all(abs(np.ptp(f[:, 0]) - 5) < 0.11 for f in flecks)
    main = sheet.panels[0]
    y = sorted(float(main.y(f[0, 1])) for f in flecks)
    same(
        y,
        np.sort((e.curves.value - e.curves.value.mean(axis=1, keepdims=True)).ravel()),
        main.fine[1],
    )


def test_two_thousand_levels():
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(0, 2000, 6000), rng.normal(size=6000)].astype(float)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"c": pandas.Categorical(X[:, 0].astype(int), ordered=True), "b": X[:, 1]}
    )
    q = sd.prediction(lambda D: D["c"].astype(float).to_numpy() % 7 + D["b"].to_numpy())
    e = sd.explain(q, frame, "c", method=sd.MPlot())
    sheet = drawn(e)
    sound(sheet, "f")
    assert len(sheet.of("hit")) <= 400
    assert len(sheet.text) < 600_000


# ----------------------------------------------------------------------------- missing and hostile


def test_missing_values_stand_beside_the_axis():
    X = data(300)
    X[::7, 0] = np.nan

    def f(X):
        return np.where(np.isnan(X[:, 0]), 2.0, np.nan_to_num(X[:, 0]) * X[:, 1])

    e = sd.explain(f, X, 0, method=sd.ALE(bins=5))
    sheet = drawn(e)
    sound(sheet, "f")
    main = sheet.panels[0]
    point = list(sheet.of("marks average", main.element))[-1]
    ((x, y),) = marks(point)
    axis = effect_spec(e).main.x
    same(main.x(x), axis.beside, main.fine[0])
    same(main.y(y), e.missing_point.value, main.fine[1])
    assert "missing" in sheet.words
    (lines,) = [t for t in sheet.tips if t[0] == "x0: missing"]
    assert lines[1:3] == ["43 rows", f"average {number(e.missing_point.value)}"]
    assert "43 rows with a missing value" in " ".join(sheet.words)


HOSTILE = {
    "constant": lambda X: np.full(len(X), 3.0),
    "constant at zero": lambda X: np.zeros(len(X)),
    "two values": lambda X: np.where(X[:, 0] > 0, 1.0, 0.0),
    "1e-12": lambda X: 1e-12 * X[:, 0],
    "1e100": lambda X: 1e100 * X[:, 0],
    "Unix time": lambda X: 1.7e9 + 86_400 * X[:, 0],
    "missing": lambda X: np.where(X[:, 0] > 0.5, np.nan, X[:, 0]),
    "a gap": lambda X: X[:, 0] + 50 * (X[:, 0] > 0),
    "an outlier": lambda X: np.where(np.arange(len(X)) == 0, 1e4, X[:, 0]),
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("method", [sd.RHALE(), sd.DALE(bins=50), sd.PDP(), sd.MPlot()], ids=str)
@pytest.mark.parametrize("n", [2, 120])
def test_hostile_features(what, method, n):
    X = data(n)
    X[:, 0] = HOSTILE[what](X)
    if np.isnan(X[:, 0]).all():
        pytest.skip("nothing to explain")
    scale = np.nanmax(np.abs(X[:, 0])) or 1.0
    q = sd.prediction(lambda X: np.tanh(np.nan_to_num(X[:, 0]) / scale) * X[:, 1])
    e = sd.explain(q, X, 0, method=method)
    sheet = drawn(e)
    sound(sheet, "f")
    main = sheet.panels[0]
    known = np.isfinite(e.value)
    if sheet.of("line", main.element):
        found = np.concatenate(main.parts(sheet.one("line average", main.element)))
        assert found[0, 0] == pytest.approx(float(e.x[known][0]), abs=2 * main.fine[0])
    if what == "Unix time" and n > 2:
        assert "x0 \N{MINUS SIGN} 1699900000 [×10³]" in sheet.words
    sound(Sheet(effect_svg.compare([e], ident="c")), "c")


@pytest.mark.parametrize("value", [0.0, 3.0, 1e12])
def test_constant_models(value):
    e = explained(sd.PDP(), f=lambda X: np.full(len(X), value))
    sheet = drawn(e)
    sound(sheet, "f")
    # Zero is a position on the axis, and rounding errors are not magnified.
    assert sheet.tips[0][1] in ("average 0", "average ≈ 0")


# ----------------------------------------------------------------- several in one figure or panel


def test_compare_reads_all_methods_off_at_the_same_place():
    X = data(400)
    found = [explained(m, X) for m in (sd.PDP(), sd.ALE(), sd.MPlot())]
    sheet = Sheet(effect_svg.compare(found, ident="c"))
    sound(sheet, "c")
    assert sheet.legend[:3] == ["PDP", "ALE", "MPlot"]
    (panel,) = sheet.panels
    lines = [panel.parts(sheet.one(f"line m{k}", panel.element))[0] for k in range(3)]
    moved = found[1].value - np.average(np.interp(found[1].rows.x, found[1].x, found[1].value))
    same(lines[1][:, 1], moved, panel.fine[1])
    ends = min(e.x[0] for e in found), max(e.x[-1] for e in found)
    stops = np.linspace(*ends, len(sheet.tips))
    for middle, hit, tip in zip(stops, sheet.of("hit"), sheet.tips, strict=True):
        left = float(panel.x(float(hit.get("x"))))
        assert left <= middle <= left + 10 * float(hit.get("width")) * panel.fine[0] + 1e-9
        assert float(tip[0].rpartition(" ")[2].replace("−", "-")) == pytest.approx(middle, abs=0.02)
        assert [t.rpartition(" ")[0] for t in tip[1:]] == ["PDP", "ALE", "MPlot"]
        for line, text in zip(lines, tip[1:], strict=True):
            said = text.rpartition(" ")[2].replace("−", "-")
            if said == "–":
                assert not line[0, 0] + 0.02 < middle < line[-1, 0] - 0.02
            elif line[0, 0] < middle < line[-1, 0]:
                there = np.interp(middle, line[:, 0], line[:, 1])
                assert float(said) == pytest.approx(there, abs=0.02)


def test_compare_of_levels():
    found = [lettered(m) for m in (sd.ALE(), sd.PDP(), sd.MPlot())]
    sheet = Sheet(effect_svg.compare(found, ident="c"))
    sound(sheet, "c")
    assert [t[0] for t in sheet.tips] == list(found[0].levels.labels)
    assert all(
        [line.split(" ")[0] for line in t[1:]] == ["ALE", "PDP", "MPlot"] for t in sheet.tips
    )


def test_compare_refuses_as_the_other_figure_does():
    with pytest.raises(sd.DataError, match="compare"):
        effect_svg.compare([], ident="c")


def several(method):
    X = np.random.default_rng(0).normal(size=(150, 4))
    q = sd.prediction(lambda X: X[:, 0] + 3 * np.sin(X[:, 2]) + X[:, 1] * X[:, 3])
    return sd.explain(q, X, method=method)


@pytest.mark.parametrize("method", [sd.ALE(bins=6), sd.PDP()], ids=lambda m: m.name)
def test_many_share_their_scales_and_stand_level(method):
    found = several(method)
    sheet = Sheet(effect_svg.effects(found, ident="m", columns=4))
    sound(sheet, "m")
    deep = 2 if method.name == "ALE" else 1
    mains = sheet.panels[::deep]
    assert len(mains) == 4
    assert len({tuple(p.up) for p in mains}) == 1
    titles = list(sheet.of("title"))
    assert [t[0].text for t in titles] == [
        f"{i + 1}. {e.feature}"
        for i, e in enumerate(sorted(found.values(), key=lambda e: -e.importance))
    ]
    order = sorted(found.values(), key=lambda e: -e.importance)
    for panel, e in zip(mains, order, strict=True):
        (line,) = panel.parts(sheet.one("line average", panel.element))
        wanted = e.value - (e.value.mean() if deep == 1 else 0)
        same(line[:, 1], wanted, panel.fine[1])
    lefts = [p.across[0] for p in mains]
    assert lefts == sorted(lefts)


def test_small_ones_are_the_same_on_sheets_of_their_own():
    found = several(sd.ALE(bins=6))
    made, legend = effect_svg.small(found, ident="s", by="heterogeneity_score", top=3)
    sheets = [Sheet(d) for d in made]
    for i, sheet in enumerate(sheets):
        sound(sheet, f"s-{i}")
    order = sorted(found.values(), key=lambda e: -e.heterogeneity_score)[:3]
    assert [s.one("title")[0].text for s in sheets] == [
        f"{i + 1}. {e.feature}" for i, e in enumerate(order)
    ]
    assert len({tuple(s.panels[0].up) for s in sheets}) == 1
    assert "average effect" in Sheet(legend).legend
    with pytest.raises(sd.DataError, match="'importance' or 'heterogeneity_score'"):
        effect_svg.small(found, ident="s", by="name")
    with pytest.raises(sd.DataError, match="no effect"):
        effect_svg.effects({}, ident="s")


# -------------------------------------------------------------------------------------------- size


def test_a_feature_takes_little_room():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    q = sd.prediction(
        lambda X: np.sin(X[:, 0]) * X[:, 1] + (X[:, 0] > 0.3) * X[:, 2],
        slope=lambda X: np.c_[np.cos(X[:, 0]) * X[:, 1], np.sin(X[:, 0]), X[:, 0] > 0.3],
    )
    rhale, pdp, mplot = (sd.explain(q, X, 0, method=m) for m in (sd.RHALE(), sd.PDP(), sd.MPlot()))
    made = [
        effect_svg.effect(rhale, ident="a"),
        effect_svg.compare([rhale, pdp, mplot], ident="b"),
        effect_svg.effect(pdp, EffectPlotOptions(curves=100), ident="c"),
    ]
    assert sum(len(d.svg.encode()) for d in made) < 100_000


# -------------------------------------------------------------------------- rounding errors, and lack of space


def test_a_constant_is_drawn_as_zero_by_both_figures():
    X = data(200)
    flat = sd.prediction(lambda X: np.exp(X[:, 1]) + 50)
    pdp, ale = (sd.explain(flat, X, 0, method=m) for m in (sd.PDP(grid=9), sd.ALE(bins=5)))
    assert np.ptp(pdp.value) < 1e-12
    shown = effect_spec(pdp).main
    assert shown.y.range[1] - shown.y.range[0] > 0.1
    assert not shown.lines[0].y.any()
    assert shown.bundle is not None
    assert not shown.bundle.y.any()
    assert all(not b.lower.any() and not b.upper.any() for b in shown.bands)
    low, high = pdp.plot().axes[0].get_ylim()
    assert high - low > 0.1
    for drawing in (drawn(pdp), Sheet(effect_svg.compare([pdp, ale], ident="c"))):
        (panel,) = drawing.panels
        assert panel.up[3] - panel.up[2] > 0.1
        assert "10⁻" not in " ".join(drawing.words)
        for line in drawing.of("line", panel.element):
            for part in panel.parts(line):
                assert np.abs(part[:, 1]).max() <= panel.fine[1]


def test_what_is_small_but_real_is_no_zero():
    X = data(200)
    e = sd.explain(lambda X: 50 + 1e-9 * X[:, 0], X, 0, method=sd.PDP(grid=9))
    assert np.ptp(effect_spec(e).main.lines[0].y) == pytest.approx(np.ptp(e.value), rel=1e-9)
    assert "10⁻⁹" in " ".join(drawn(e).words)


def test_compare_is_headed_by_what_it_compares():
    X = data(150)
    found = [
        sd.explain(lambda X: X[:, 0], X, 0, method=m) for m in (sd.PDP(), sd.ALE(), sd.MPlot())
    ]
    sheet = Sheet(effect_svg.compare(found, ident="c"))
    (title,) = [t.text for g in sheet.of("title") for t in g]
    assert title == "PDP, ALE and MPlot"
    one = Sheet(effect_svg.compare({"a model": found[1]}, ident="c"))
    assert [t.text for g in one.of("title") for t in g] == ["a model"]


def test_marks_that_look_alike_have_one_entry():
    frame = pd.DataFrame({"x": data(150)[:, 0], "c": pd.Categorical(["a", "b", "c"] * 50)})
    found = sd.explain(
        lambda d: d["x"].to_numpy() * (d["c"] == "b").to_numpy(), frame, method=sd.ALE(bins=4)
    )
    _, legend = effect_svg.small(found, ident="s")
    sheet = Sheet(legend)
    assert {"mean slope or mean difference", "± standard deviation of local effects"} <= set(
        sheet.legend
    )
    (group,) = sheet.of("legend")
    looks = [tuple(ET.tostring(e) for e in entry)[:-1] for entry in group]
    assert len(set(looks)) == len(looks) - 1  # one is too long to share a line


def test_thousands_of_levels_are_small_and_true():
    rng = np.random.default_rng(3)
    level = np.sort(rng.integers(0, 2000, 6000))
    names = pd.Categorical([f"{v:04d}" for v in level], ordered=True)
    frame = pd.DataFrame({"level": names, "x": rng.normal(size=6000)})
    e = sd.explain(
        lambda d: d["level"].cat.codes.to_numpy() / 100 + d["x"].to_numpy(),
        frame,
        "level",
        method=sd.MPlot(),
    )
    drawing = effect_svg.effect(e, ident="f")
    assert len(drawing.svg) < 180_000
    sheet = Sheet(drawing)
    panel = sheet.panels[0]
    (dots,) = sheet.of("dots", panel.element)
    at = np.array([p[0] for p in panel.parts(dots)])
    known = np.isfinite(e.value)
    assert len(at) == known.sum()
    np.testing.assert_allclose(at[:, 1], e.value[known], atol=panel.fine[1])
    # Boxes on the same pixel are merged into their union, and none is omitted.
    lower, upper = e.interval()
    known = np.isfinite(lower) & np.isfinite(upper)
    places = np.arange(len(e.value))[known]
    boxes = parts(sheet.one("box err", panel.element))
    assert len(boxes) < 500
    p0, p1, v0, v1 = panel.across
    pixel = np.floor(p0 + (places - v0) / (v1 - v0) * (p1 - p0))
    for box in boxes:
        mine = places[pixel == box[:, 0].min()]
        ends = panel.y(np.array([box[:, 1].max(), box[:, 1].min()]))
        np.testing.assert_allclose(
            ends, [lower[mine].min(), upper[mine].max()], atol=panel.fine[1], err_msg=str(mine)
        )
    assert len(boxes) == len(np.unique(pixel))


def test_neighbouring_stretches_of_one_doubt_are_one():
    few = pd.DataFrame({"c": pd.Categorical(list("abcdef") * 4, ordered=True), "x": data(24)[:, 0]})
    e = sd.explain(lambda d: d["c"].cat.codes * d["x"], few, "c", method=sd.ALE())
    sheet = drawn(e)
    panel = sheet.panels[1]
    spans = sorted(
        (panel.x(float(h.get("x"))), panel.x(float(h.get("x")) + float(h.get("width"))))
        for h in sheet.of("hatch", panel.element)
    )
    shown = effect_spec(e).slopes.hatches
    assert len(spans) < len(shown)
    assert spans[0][0] == pytest.approx(min(h.left for h in shown), abs=panel.fine[0])
    assert sum(b - a for a, b in spans) == pytest.approx(
        sum(h.right - h.left for h in shown), abs=4 * panel.fine[0]
    )


def test_curves_of_very_many_points_are_fewer():
    rng = np.random.default_rng(4)
    level = pd.Categorical(rng.integers(0, 1000, 3000).astype(str), ordered=True)
    frame = pd.DataFrame({"level": level, "x": rng.normal(size=3000)})
    e = sd.explain(
        lambda d: np.sin(d["level"].cat.codes.to_numpy()) * d["x"].to_numpy(),
        frame,
        "level",
        method=sd.PDP(),
    )
    sheet = drawn(e)
    (curves,) = (c for c in sheet.of("curves") if c.get("data-rows"))
    kept = len(curves.get("data-rows").split())
    assert kept == 60_000 // len(e.value) < 200
    assert any(f"{kept} drawn individually" in w for w in sheet.words)


@pytest.mark.parametrize("method", [sd.ALE(bins=6), sd.RHALE(), sd.MPlot(bins=5)])
def test_a_bin_is_touched_over_its_whole_width(method):
    e = explained(method)
    sheet = drawn(e)
    panel = sheet.panels[0]
    spans = np.array(
        [[float(h.get("x")), float(h.get("x")) + float(h.get("width"))] for h in sheet.of("hit")]
    )
    edges = np.column_stack([e.bins.left, e.bins.right])
    np.testing.assert_allclose(panel.x(spans), edges, atol=1.5 * panel.fine[0])
    foot = max(p.up[0] for p in sheet.panels)
    assert all(
        float(h.get("y")) + float(h.get("height")) == pytest.approx(foot, abs=0.2)
        for h in sheet.of("hit")
    )


def test_compare_draws_the_interval_of_each():
    X = data(250)
    found = [explained(m, X) for m in (sd.PDP(grid=9), sd.ALE(bins=6))]
    sheet = Sheet(effect_svg.compare(found, ident="c", center=None))
    (panel,) = sheet.panels
    for place, e in enumerate(found):
        corners = np.concatenate(panel.parts(sheet.one(f"sure m{place}", panel.element)))
        lower, upper = e.interval()
        drawn_ends = np.array(
            [
                [c[:, 1].min(), c[:, 1].max()]
                for c in (corners[np.abs(corners[:, 0] - x) <= 1.5 * panel.fine[0]] for x in e.x)
            ]
        )
        wanted = np.column_stack([lower, upper])
        np.testing.assert_allclose(drawn_ends, wanted, atol=2 * panel.fine[1])
    four = [explained(m, X) for m in (sd.PDP(), sd.ALE(), sd.MPlot(), sd.RHALE())]
    assert not Sheet(effect_svg.compare(four, ident="c")).of("sure")
