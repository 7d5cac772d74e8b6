"""Helpers of the tests of figure specifications: marks, texts and overlaps in figures of several sizes."""

from __future__ import annotations

import itertools
from typing import TypeVar

import numpy as np

from skedasis.plots.draw_svg import draw
from skedasis.plots.layout import Layout, PlacedText, arrange
from skedasis.plots.marks import FigureSpec, Mark, Panel, legend_of, marks_of
from tests.plots.svg_figures import inside, parsed

Kind = TypeVar("Kind", bound=Mark)
Box = tuple[float, float, float, float]
SIZES = ((320.0, None), (220.0, None), (734.0, None), (230.0, 170.0), (504.0, 360.0))
"""Widths and heights of figures in points: on a page, on a phone, in notebooks, small, and wide."""


def mark(panel: Panel, kind: type[Kind], style: str) -> Kind:
    """Return the only mark of a kind and style."""
    (found,) = marks_of(panel, kind, style)
    return found


def labels(spec: FigureSpec) -> list[str]:
    """Return the legend."""
    return [key.label for key in legend_of(spec.panels, spec.order)]


def tips(spec: FigureSpec) -> list[str]:
    """Return all tooltips."""
    return [t.text for panel in spec.panels for t in panel.tooltips]


def box_of(placed: Layout, text: PlacedText) -> Box:
    """Return the area of a text that is not rotated: left, top, right, bottom."""
    letters = placed.lettering
    size, leading = letters.size(text.style), letters.leading(text.style)
    wide = max(letters.width(line, text.style) for line in text.lines)
    left = text.x - (1 - text.anchor) * wide / 2
    return left, text.y - 0.75 * size, left + wide, text.y + (len(text.lines) - 1) * leading


def overlap(a: Box, b: Box) -> bool:
    """Return whether two areas overlap."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def assert_readable(spec: FigureSpec) -> None:
    """Check that numbers are finite, texts overlap neither each other nor the edges at any size, the SVG is valid."""
    for panel in spec.panels:
        assert np.isfinite([*panel.x.limits, *panel.y.limits]).all()
        assert not any("nan" in t.text.split() for t in panel.tooltips)
    for width, height in SIZES:
        placed = arrange(spec, width, height)
        texts = list(placed.texts())
        assert not any("nan" in line for text in texts for line in text.lines)
        areas = [(t.lines, box_of(placed, t)) for t in texts if not t.turn]
        pairs = itertools.combinations(areas, 2)
        touching = [(s, t) for (s, a), (t, b) in pairs if overlap(a, b)]
        assert touching == [], (width, height)
        beyond = [t for t, (left, _, right, _) in areas if left < -1 or right > width + 1]
        assert beyond == [], (width, height)
    assert inside(parsed(draw(spec, ident="f1")))
