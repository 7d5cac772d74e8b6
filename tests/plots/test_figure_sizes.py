"""Every kind of figure is readable in a column of a paper, on a page, and on a slide.

The texts are measured where matplotlib has drawn them: none overlaps another one, and none leaves the figure.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

from skedasis.plots import draw_matplotlib
from skedasis.plots.layout import arrange
from skedasis.plots.marks import legend_of
from tests.plots import gallery

SIZES = (3.3, 2.5), (7.0, 4.0)
EVERY_SIZE = pytest.mark.parametrize(
    ("name", "size"), list(zip(gallery.FIGURES, itertools.cycle(SIZES), strict=False))
)
DPI = 120
SLACK = 0.5
"""Pixels by which two boxes may overlap: the rounding of letters to whole pixels."""

# Measuring texts of a finished figure makes matplotlib warn of each missing character.
pytestmark = pytest.mark.filterwarnings("ignore:No installed font has", "ignore:Glyph")


def drawn(name: str, size: tuple[float, float] | None = None) -> Figure:
    """Return a drawn figure of the gallery."""
    figure = draw_matplotlib.draw(gallery.figure(name), size)
    figure.set_dpi(DPI)
    figure.draw_without_rendering()
    return figure


@cache
def examined(name: str, size: tuple[float, float] | None = None) -> tuple[list[str], float]:
    """Return the problems of the texts of a figure, and the part of its height that is left to its main panels."""
    figure = drawn(name, size)
    return problems(figure), height_of_main_panels(figure)


def texts(figure: Figure) -> Iterator[Text]:
    """Yield all texts that readers see."""
    hidden = {
        id(label)
        for ax in figure.axes
        for axis in (ax.xaxis, ax.yaxis)
        for label in _unseen(ax, axis)
    }
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip() and id(text) not in hidden:
            yield text


def _unseen(ax: Axes, axis) -> Iterator[Text]:
    """Yield the labels of ticks that matplotlib keeps but does not draw."""
    low, high = sorted(axis.get_view_interval())
    for which in ("major", "minor"):
        ticks = axis.get_major_ticks() if which == "major" else axis.get_minor_ticks()
        shown = len(axis.get_majorticklocs() if which == "major" else axis.get_minorticklocs())
        for k, tick in enumerate(ticks):
            seen = k < shown and low - 1e-9 * abs(low) <= tick.get_loc() <= high + 1e-9 * abs(high)
            for label in (tick.label1, tick.label2):
                if not seen or not label.get_visible():
                    yield label


def corners(text: Text) -> np.ndarray:
    """Return the corners of the area of a text in pixels, shape (4, 2); that of a rotated text is rotated, too."""
    turn = text.get_rotation()
    if turn % 90 == 0:
        return _box(text).corners()[[0, 1, 3, 2]]
    text.set_rotation(0.0)
    box = _box(text)
    text.set_rotation(turn)
    around = text.get_transform().transform(text.get_position())
    assert text.get_rotation_mode() == "anchor"
    slope = np.radians(turn)
    matrix = np.array([[np.cos(slope), np.sin(slope)], [-np.sin(slope), np.cos(slope)]])
    return (box.corners()[[0, 1, 3, 2]] - around) @ matrix + around


def _box(text: Text) -> Bbox:
    return (
        Text.get_window_extent(text) if isinstance(text, Annotation) else text.get_window_extent()
    )


def lines_of(text: Text) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the lines of a text with their areas: beside a short last line of a title there is room for the method."""
    lines, area = text.get_text().split("\n"), corners(text)
    if len(lines) == 1 or text.get_rotation() or text.get_ha() != "left":
        yield text.get_text(), area
        return
    (left, low), (_, top) = area.min(axis=0), area.max(axis=0)
    ends = np.linspace(top, low, len(lines) + 1)
    for line, (a, b) in zip(lines, itertools.pairwise(ends), strict=True):
        text.set_text(line)
        right = left + _box(text).width
        yield line, np.array([[left, b], [right, b], [right, a], [left, a]])
    text.set_text("\n".join(lines))


def overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two convex areas overlap by more than `SLACK` in every direction (separating axes)."""
    for corner in (a, b):
        for side in np.diff(np.vstack([corner, corner[:1]]), axis=0)[:2]:
            normal = np.array([-side[1], side[0]]) / max(np.hypot(*side), 1e-9)
            p, q = a @ normal, b @ normal
            if p.max() - q.min() <= SLACK or q.max() - p.min() <= SLACK:
                return False
    return True


def problems(figure: Figure) -> list[str]:
    """Return which texts overlap, and which leave the figure."""
    areas = [area for t in texts(figure) for area in lines_of(t)]
    found = [
        f"{s!r} overlaps {t!r}"
        for (s, a), (t, b) in itertools.combinations(areas, 2)
        if overlap(a, b)
    ]
    wide, high = DPI * figure.get_size_inches()
    for t, a in areas:
        (left, low), (right, top) = a.min(axis=0), a.max(axis=0)
        out = max(-left, -low, right - wide, top - high)
        if out > SLACK:
            found.append(f"{t!r} leaves the figure by {out:.1f} pixels")
    return found


def height_of_main_panels(figure: Figure) -> float:
    """Return the part of the height, without that of the legend, that lines of main panels have."""
    high = figure.bbox.height
    mains = [ax for ax in figure.axes if ax.get_title(loc="left")] or figure.axes[:1]
    lines = {round(ax.bbox.y0, -1): ax.bbox.height for ax in mains}
    legend = sum(one.get_window_extent().height for one in figure.legends)
    return sum(lines.values()) / (high - legend)


@EVERY_SIZE
def test_texts_touch_neither_each_other_nor_the_edge(name, size):
    assert examined(name, size)[0] == []


@pytest.mark.parametrize("name", [*gallery.FIGURES][::4])
def test_texts_of_figures_in_their_natural_size(name):
    assert examined(name)[0] == []


# Where colour scales, histograms, names or a note on what is left out leave less: parts of the height without the
# legend.
LOWER = {
    ("bands", 3.3): 0.23,
    ("nominal", 3.3): 0.29,
    ("cells", 3.3): 0.29,
    ("tiles", 3.3): 0.22,
    ("compared surfaces", 3.3): 0.24,
    ("local", 3.3): 0.25,
    ("effects", 3.3): 0.19,
    ("effects", 7.0): 0.26,
    ("effects of models", 3.3): 0.2,
    ("effects of models", 7.0): 0.26,
    ("compared effects", 3.3): 0.19,
    ("compared effects", 7.0): 0.25,
    ("difference of levels", 3.3): 0.27,
    ("rating table", 3.3): 0.25,
    ("rating table", 7.0): 0.26,
}


@EVERY_SIZE
def test_legends_have_at_most_a_fifth_of_the_height(name, size):
    figure = drawn(name, size)
    boxes = [one.get_window_extent() for one in figure.legends]
    if boxes:
        high = max(box.y1 for box in boxes) - min(box.y0 for box in boxes)
        assert high <= 0.2 * figure.bbox.height


@pytest.mark.parametrize("name", gallery.FIGURES)
def test_small_figures_say_what_they_leave_out(name):
    """All panels, lines, names and legend entries are there, or a note says that they need a larger figure."""
    spec = gallery.figure(name)
    small = arrange(spec, 72 * SIZES[0][0], 72 * SIZES[0][1])
    noted = " ".join(small.notes.lines if small.notes is not None else ())
    said = noted.endswith(("larger figure", "draw it larger"))
    details = [p for p in spec.panels if p.kind == "detail"]
    some = len(small.stacks) < len(spec.stacks)
    assert not some or (said and f"{len(small.stacks)} of {len(spec.stacks)} {spec.noun}s" in noted)
    assert small.keys or not legend_of(spec.panels) or (said and "legend" in noted)
    lower = any(p.panel.kind == "detail" for p in small.panels)
    assert lower or some or not details or (said and "lower panel" in noted)
    for text in small.texts():
        for line in text.lines:
            assert not line.rstrip("…").endswith((" =", " ≤", " <", " >", " ±", " [", " (")), line


@EVERY_SIZE
def test_main_panels_have_a_third_of_the_height_where_the_legend_allows(name, size):
    assert examined(name, size)[1] >= LOWER.get((name, size[0]), 0.3)
