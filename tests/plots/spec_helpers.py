"""Helpers of tests that read figure specifications."""

from __future__ import annotations

from typing import TypeVar

from skedasis.plots import draw_matplotlib, draw_svg
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.layout import arrange
from skedasis.plots.marks import FigureSpec, Mark, Panel, legend_of, marks_of
from skedasis.results.effect import Effect

AnyMark = TypeVar("AnyMark", bound=Mark)


def only(panel: Panel, kind: type[AnyMark], style: str = "") -> AnyMark:
    """Return the one mark of a kind and style."""
    (found,) = marks_of(panel, kind, style)
    return found


def styles(panel: Panel) -> set[str]:
    """Return the styles of all marks."""
    return {mark.style for mark in panel.marks if hasattr(mark, "style")}


def panel_of(spec: FigureSpec, kind: str) -> Panel:
    """Return the one panel of a kind."""
    (found,) = (p for p in spec.panels if p.kind == kind)
    return found


def texts(spec: FigureSpec, width: float = 320.0, height: float | None = None) -> list[str]:
    """Return all lines of text for which there is room."""
    placed = arrange(spec, width, height)
    return [line for text in placed.texts() for line in text.lines]


def legend(spec: FigureSpec) -> list[str]:
    """Return the legend entries in their order."""
    return [key.label for key in legend_of(spec.panels, spec.order)]


def tips(panel: Panel) -> list[list[str]]:
    """Return the lines of each tooltip of a panel."""
    return [tip.text.split("\n") for tip in panel.tooltips]


def drawn(effect: Effect, options: EffectPlotOptions | None = None) -> list[str]:
    """Draw an effect with both renderers, and return the texts for which there is room."""
    spec = effect_figure(effect, options)
    assert draw_svg.draw(spec, ident="f").svg
    draw_matplotlib.draw(spec).draw_without_rendering()
    return texts(spec)
