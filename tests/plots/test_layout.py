"""Laws of `plots.layout` and `plots.ticks`: texts touch neither each other nor the edges, ticks are on their axes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skedasis.data.times import TimeAxis
from skedasis.plots.layout import Layout, PlacedText, arrange, separated
from skedasis.plots.marks import (
    Contour,
    FigureSpec,
    Margin,
    Names,
    Panel,
    Points,
    Stack,
    Text,
    Title,
    legend_of,
    vertical_line,
)
from skedasis.plots.scales import PlotAxis
from skedasis.plots.text import Lettering
from skedasis.plots.ticks import round_ticks, ticks_across, ticks_up
from tests.laws.strategies import law

# --- any figure ----------------------------------------------------------------------------------

HOSTILE = (
    "",
    "x0",
    "<script>alert(1)</script>",
    "number of visits in the year 2019",
    "value\nof two lines\t\x00",
    "n" * 300,
    "W" * 90,
    "العمر عند الدخول",
    "世帯の年間収入、税込",
    "😀" * 40,
    "$x_1$ & {y}",
    "é" * 30,
)
names = st.sampled_from(HOSTILE) | st.text(max_size=40)
sizes = st.sampled_from([1e-300, 1e-12, 1e-3, 1.0, 37.5, 1e6, 1e12, 1e300])
offsets = st.sampled_from([0.0, 0.0, -1.0, 0.3, 1e3, -1.7e9, 1e15])
units = st.none() | st.sampled_from(["EUR", "m²", "a very long unit of measurement per unit"])
CLOCKS = (
    TimeAxis("date", "D"),
    TimeAxis("datetime", "s", 1_577_836_800, "Europe/Berlin"),
    TimeAxis("datetime", "ns"),
    TimeAxis("duration", "s"),
    TimeAxis("time", "s"),
)


@st.composite
def numeric_axes(draw: st.DrawFn) -> PlotAxis:
    """Return an axis of numbers: any range, logarithmic, of times, without data, with given ticks."""
    name, unit = draw(names), draw(units)
    margin = draw(st.sampled_from([0.0, 0.03]))
    kind = draw(
        st.sampled_from(["linear", "linear", "log", "time", "nothing", "ticks", "constant"])
    )
    missing = draw(st.sampled_from(["", "", "missing"]))
    if kind == "nothing":
        return PlotAxis(name, unit, math.nan, math.nan, margin)
    if kind == "log":
        low = draw(st.sampled_from([1e-9, 0.5, 1.0, 37.0, 1e6]))
        ratio = draw(st.sampled_from([1.3, 4.0, 100.0, 1e5, 1e12]))
        return PlotAxis(name, unit, low, low * ratio, margin, missing_label=missing, log=True)
    if kind == "time":
        span = draw(st.sampled_from([1e-4, 0.01, 0.4, 3.0, 40.0, 400.0, 9000.0]))
        clock = draw(st.sampled_from(CLOCKS))
        if clock.kind == "time":
            span = min(span, 0.9)
        start = draw(st.sampled_from([0.0, 0.04, 0.09]))
        return PlotAxis(name, unit, start, start + span, margin, missing_label=missing, time=clock)
    low, span = draw(offsets), draw(sizes)
    if kind == "constant":
        return PlotAxis(name, unit, low, low, margin)
    if kind == "ticks":
        shares = np.linspace(0.0, 1.0, draw(st.integers(1, 12)))
        ticks = tuple(np.unique(low + span * shares).tolist())
        return PlotAxis(name, unit, low, low + span, margin, ticks, missing_label=missing)
    return PlotAxis(name, unit, low, low + span, margin, missing_label=missing)


@st.composite
def level_axes(draw: st.DrawFn, most: int = 45) -> PlotAxis:
    """Return an axis of names of levels."""
    n = draw(st.integers(1, most))
    some = draw(st.lists(names, min_size=1, max_size=4))
    labels = tuple(" ".join(f"{some[i % len(some)]} {i}".split()) for i in range(n))
    ticks = tuple(float(i) for i in range(n))
    missing = draw(st.sampled_from(["", "missing"]))
    return PlotAxis(draw(names), None, -0.5, n - 0.5, 0.0, ticks, labels, missing_label=missing)


def inner(draw: st.DrawFn, axis: PlotAxis, n: int) -> np.ndarray:
    """Return positions on an axis."""
    low, high = axis.limits
    shares = draw(st.lists(st.floats(0, 1), min_size=n, max_size=n))
    return np.array([low * (1 - s) + high * s for s in shares])


@st.composite
def texts_inside(draw: st.DrawFn, x: PlotAxis, y: PlotAxis) -> Text:
    at, up = inner(draw, x, 1)[0], inner(draw, y, 1)[0]
    words = draw(
        st.lists(st.sampled_from(["interval", "a\nb", "0.25\nn=12", "W" * 30, "+"]), min_size=1)
    )
    room = None
    if draw(st.booleans()):
        a, b = sorted(inner(draw, x, 2))
        room = (float(a), float(b), -np.inf, np.inf)
    return Text(
        float(draw(st.sampled_from([at, np.inf, -np.inf]))),
        float(draw(st.sampled_from([up, np.inf, -np.inf]))),
        tuple(words),
        draw(st.sampled_from(["word", "value", "sign", "region"])),
        room,
        draw(st.sampled_from([-1, 0, 1])),
        draw(st.sampled_from([-1, 0, 1])),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.integers(0, 3)),
    )


@st.composite
def titles(draw: st.DrawFn) -> Title:
    """Return a title, which may have a method without a quantity, or be none."""
    some = st.sampled_from(["", "a heading", "W" * 200])
    method = draw(st.sampled_from(["", "RHALE", "PDP, ALE and MPlot"]))
    return Title(draw(names | some), draw(names | st.just("")), method)


@st.composite
def panels(draw: st.DrawFn, x: PlotAxis, kind: str) -> Panel:
    """Return a panel with texts, names and marks of all kinds that need room."""
    y = draw(numeric_axes() | level_axes(12)) if kind == "main" else draw(numeric_axes())
    rows = 0
    if y.labels and draw(st.booleans()):
        rows = len(y.labels)
    keys = draw(st.lists(names, max_size=4))
    marks: list = [vertical_line(float(inner(draw, x, 1)[0]), "average", k) for k in keys]
    if draw(st.booleans()):
        marks.append(Points(inner(draw, x, 5), inner(draw, y, 5), "row", draw(names)))
    if draw(st.booleans()):
        lines = (np.column_stack([inner(draw, x, 6), inner(draw, y, 6)]),)
        marks.append(Contour(lines, "−0.25", "contour"))
    for side in draw(st.sets(st.sampled_from(["top", "right"]))):
        axis = x if side == "top" else y
        marks.append(Margin(side, np.linspace(*axis.limits, 4), np.array([1.0, 2.0, 0.0]), "rows"))
    above = ()
    if draw(st.booleans()):
        above = tuple(
            (v, t)
            for v, t in zip(
                np.sort(inner(draw, x, 4)).tolist(), ["n=12", "120,000", "3", "1,2"], strict=True
            )
        )
    some = None
    if kind == "main" and draw(st.booleans()):
        n = draw(st.integers(1, 8))
        named = tuple(draw(st.sampled_from(["age", "income", "n" * 60])) for _ in range(n))
        some = Names(inner(draw, x, n + 2), inner(draw, y, n + 2), named)
    return Panel(
        x,
        y,
        tuple(marks),
        draw(st.sampled_from([30.0, 147.0, 293.0])),
        draw(titles()),
        tuple(draw(st.lists(names, max_size=3))),
        tuple(draw(st.lists(texts_inside(x, y), max_size=3))),
        some,
        above,
        rows=rows,
        kind=kind,
    )


@st.composite
def stacks(draw: st.DrawFn) -> Stack:
    x = draw(numeric_axes() | level_axes())
    found = [draw(panels(x, "main"))]
    if draw(st.booleans()):
        found.append(draw(panels(x, "detail")))
    if draw(st.booleans()):
        found.append(draw(panels(x, "counts")))
    if draw(st.booleans()):
        up = PlotAxis("", None, 0.0, 1.0, 0.0, hidden=True)
        found.append(Panel(draw(numeric_axes()), up, grid="", kind="scale"))
    return tuple(found)


@st.composite
def figures(draw: st.DrawFn) -> FigureSpec:
    n = draw(st.sampled_from([1, 1, 2, 3, 6]))
    columns = draw(st.sampled_from([1, 2, 3]))
    return FigureSpec(
        tuple(draw(stacks()) for _ in range(n)),
        "title",
        "alt",
        columns,
        draw(st.sampled_from([110.0, 150.0])),
        heading=draw(titles()),
        notes=tuple(draw(st.lists(names, max_size=2))),
        small=draw(st.booleans()),
    )


# --- laws ----------------------------------------------------------------------------------------


def corners_of(text: PlacedText, letters: Lettering) -> np.ndarray:
    """Return the corners of a text, (4, 2), in order around it; the lower ends of letters are not counted."""
    size = letters.size(text.style)
    wide = max(letters.width(line, text.style) for line in text.lines)
    left = -(1 - text.anchor) * wide / 2
    top, bottom = -0.72 * size, (len(text.lines) - 1) * letters.leading(text.style)
    box = np.array([[left, top], [left + wide, top], [left + wide, bottom], [left, bottom]])
    turn = math.radians(-text.turn)
    rotation = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
    return box @ rotation + [text.x, text.y]


def lines_of(text: PlacedText, letters: Lettering) -> Iterator[PlacedText]:
    """Yield the lines of a text, and the method that follows the last line of a title."""
    low = text.y
    for i, line in enumerate(text.lines):
        low = text.y + i * letters.leading(text.style)
        if line:
            yield replace(text, lines=(line,), y=low, after="")
    if text.after:
        wide = letters.width(text.lines[-1], text.style)
        yield PlacedText((text.after,), text.x + wide, low, "method")


def overlap(a: np.ndarray, b: np.ndarray, slack: float = 0.3) -> bool:
    """Return whether two rectangles overlap: no side of either separates them."""
    for corners in (a, b):
        for k in range(2):
            way = corners[k + 1] - corners[k]
            length = float(np.hypot(*way))
            if length == 0:
                return False
            p, q = a @ way / length, b @ way / length
            if p.max() <= q.min() + slack or q.max() <= p.min() + slack:
                return False
    return True


def assert_laws(layout: Layout) -> None:
    letters = layout.lettering
    every = [line for text in layout.texts() for line in lines_of(text, letters)]
    placed = [(text, corners_of(text, letters)) for text in every]
    for (s, a), (t, b) in itertools.combinations(placed, 2):
        assert not overlap(a, b), (s, t)
    for panel in layout.panels:
        f = panel.frame
        assert 0 <= f.left < f.right <= layout.width
        assert 0 <= f.top < f.bottom <= layout.height
    for text, corners in placed:
        low, high = corners.min(axis=0), corners.max(axis=0)
        assert np.isfinite(corners).all(), text
        assert low.min() >= -0.5, text
        assert high[0] <= layout.width + 0.5, text
        assert high[1] <= layout.height + 0.5, text
    outside = [
        t
        for p in layout.panels
        for t in (p.title, p.notes, p.x_label, p.y_label, *p.tick_texts)
        if t is not None
    ]
    outside += [k.text for k in layout.keys]
    for panel in layout.panels:
        f = panel.frame
        box = np.array([[f.left, f.top], [f.right, f.top], [f.right, f.bottom], [f.left, f.bottom]])
        for text in outside:
            assert not overlap(corners_of(text, letters), box), (text, f)


LETTERINGS = (
    Lettering(),
    Lettering(scale=1.3),
    Lettering(lambda text, size: 0.5 * size * len(text)),
)


@pytest.mark.slow
@law(
    spec=figures(),
    width=st.floats(120, 900),
    height=st.none() | st.floats(120, 600),
    lettering=st.sampled_from(LETTERINGS),
    legend=st.booleans(),
)
def test_texts_touch_neither_each_other_nor_the_edges(spec, width, height, lettering, legend):
    width *= lettering.scale
    height = None if height is None else height * lettering.scale
    assert_laws(arrange(spec, width, height, lettering=lettering, legend=legend))


@pytest.mark.slow
@law(spec=figures(), width=st.floats(150, 400))
def test_separate_drawings_follow_the_same_laws(spec, width):
    apart, legend = separated(spec, width, 1.5 * width)
    tops = {tuple(p.frame.top for p in layout.panels)[:1] for layout in apart}
    assert len(tops) == 1
    for layout in (*apart, legend):
        assert_laws(layout)


def test_names_without_a_letter_cost_no_entry_of_the_legend():
    axis = PlotAxis("x", None, 0.0, 1.0)
    margin = Margin("top", np.linspace(0, 1, 4), np.array([1.0, 2.0, 0.0]), "rows")
    marks = (*(vertical_line(0.5, "average", label) for label in ("\u00ad", "\u200b")), margin)
    layout = arrange(FigureSpec(((Panel(axis, axis, marks),),), "title", "alt"), 900.0)
    assert [key.text.lines for key in layout.keys] == [("(no name)",)] * 2 + [("rows",)]


@pytest.mark.slow
@law(spec=figures())
def test_everything_is_shown_if_there_is_room(spec):
    layout = arrange(spec, 900.0)
    shown = [p for p in layout.panels if p.panel.kind != "counts"]
    assert len(shown) == sum(p.kind != "counts" for p in spec.panels)
    assert len(layout.keys) == len(legend_of([p.panel for p in layout.panels], spec.order))
    assert [p.title is not None for p in shown] == [
        bool(p.title) for p in spec.panels if p.kind != "counts"
    ]


# --- ticks ---------------------------------------------------------------------------------------


@pytest.mark.slow
@given(numeric_axes(), st.floats(40, 900))
def test_ticks_across_are_on_the_axis_and_apart(axis, length):
    letters = Lettering()
    ticks = ticks_across(axis, length, letters)
    low, high = axis.limits
    assert len(ticks.at) == len(ticks.texts)
    assert all(low <= v <= high for v in ticks.at)
    assert all(b > a for a, b in itertools.pairwise(ticks.at))
    at = (length * axis.share(np.array(ticks.at))).tolist()
    shown = [(x, t) for x, t in zip(at, ticks.texts, strict=True) if t]
    ends = [(x - letters.width(t, "tick") / 2, x + letters.width(t, "tick") / 2) for x, t in shown]
    assert all(b[0] > a[1] for a, b in itertools.pairwise(ends)) or axis.missing_label
    if not axis.ticks:
        texts = [t for _, t in shown]
        assert len(texts) == len(set(texts))
    if length > 200 and not axis.ticks and axis.time is None:
        assert len(shown) >= 2


@given(numeric_axes(), st.floats(20, 400), st.floats(30, 200))
def test_ticks_up_are_on_the_axis_and_apart(axis, length, room):
    letters = Lettering()
    ticks = ticks_up(axis, length, letters, room=room)
    places = axis.share(np.array(ticks.at))
    assert np.all((places >= -1e-9) & (places <= 1 + 1e-9))
    at = (length * axis.share(np.array(ticks.at))).tolist()
    shown = [(y, t) for y, t in zip(at, ticks.texts, strict=True) if t]
    assert all(b[0] - a[0] >= letters.size("tick") for a, b in itertools.pairwise(shown))
    assert all(letters.width(t, "tick") <= room for _, t in shown)
    if not axis.ticks:
        assert len({t for _, t in shown}) == len(shown)


@pytest.mark.slow
@given(level_axes(), st.floats(40, 900))
def test_names_are_apart_however_many(axis, length):
    letters = Lettering()
    ticks = ticks_across(axis, length, letters)
    assert set(ticks.at) <= {*axis.ticks, *(aside.at for aside in axis.asides)}
    shown = [t for t in ticks.texts if t]
    assert shown
    names = shown[:-1] if axis.missing_label else shown
    assert len(names) == len(set(names)) or len(set(axis.labels)) < len(axis.labels)
    if ticks.turn == 0 and len(shown) > 1:
        at = (length * axis.share(np.array(ticks.at))).tolist()
        half = [letters.width(t, "tick") / 2 for t in ticks.texts]
        pairs = itertools.pairwise(
            (x, h) for x, h, t in zip(at, half, ticks.texts, strict=True) if t
        )
        assert all(b[0] - b[1] > a[0] + a[1] for a, b in pairs) or axis.missing_label
    up = ticks_up(axis, length, letters, room=80.0)
    assert all(letters.width(t, "tick") <= 80.0 for t in up.texts)


@given(st.floats(-8, 8), st.floats(0.01, 16), st.integers(2, 9))
def test_ticks_of_a_logarithmic_axis(power, decades, most):
    axis = PlotAxis("a", None, 10.0**power, 10.0 ** (power + decades), 0.0, log=True)
    at = round_ticks(axis, most)
    assert at
    assert all(b > a for a, b in itertools.pairwise(at))
    low, high = axis.range
    assert all(low * (1 - 1e-6) <= v <= high * (1 + 1e-6) for v in at)
    texts = axis.scale.texts(at)
    assert len(set(texts)) == len(texts)
    written = [_value(t) for t in texts]
    np.testing.assert_allclose(written, at, rtol=1e-5)


def _value(text: str) -> float:
    """Return the value of a number with a power of ten."""
    digits, _, power = (
        text.replace("\N{MINUS SIGN}", "-").rpartition("10")
        if any(c in "⁻⁰¹²³⁴⁵⁶⁷⁸⁹" for c in text)
        else (text, "", "")
    )
    exponent = "".join("-" if c == "⁻" else str("⁰¹²³⁴⁵⁶⁷⁸⁹".index(c)) for c in power)
    return float(digits.rstrip("\N{MULTIPLICATION SIGN}") or 1) * 10.0 ** int(exponent or 0)


@given(st.sampled_from(CLOCKS), st.floats(0, 0.1), st.floats(1e-3, 20_000.0), st.integers(2, 9))
def test_ticks_of_times(clock, start, span, most):
    if clock.kind == "time":
        span = min(span, 0.9)
    if clock.kind == "date":
        span = max(span, 3.0)
    axis = PlotAxis("a", None, start, start + span, 0.0, time=clock)
    at = round_ticks(axis, most)
    assert len(at) <= most + 1
    assert all(b > a for a, b in itertools.pairwise(at))
    assert all(start <= v <= start + span for v in at)
    texts = axis.scale.texts(at)
    assert len(set(texts)) == len(texts)
