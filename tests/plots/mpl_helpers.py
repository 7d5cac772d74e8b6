"""Helpers of the tests of Matplotlib figures."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.text import Text


def drawn(figure: Figure) -> list[str]:
    """Lay out and render, and return all texts. (Without rendering, a canvas without a window draws nothing.)"""
    figure.draw_without_rendering()
    return [t.get_text() for t in figure.findobj(Text)]


def fits(figure: Figure) -> bool:
    """Return whether nothing extends beyond the figure."""
    figure.draw_without_rendering()
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    return bool(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height)
