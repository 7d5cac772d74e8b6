"""A figure with every kind of mark, whose numbers tests find again in what renderers draw."""

from __future__ import annotations

import numpy as np

from skedasis.plots.marks import (
    Area,
    Arrows,
    Contour,
    CurveSet,
    FigureSpec,
    Heat,
    Line,
    Margin,
    Mark,
    Panel,
    Points,
    Polygons,
    Rectangles,
    Rug,
    Segments,
)
from skedasis.plots.scales import PlotAxis

X_AXIS, Y_AXIS = PlotAxis("x", None, 0.0, 10.0, 0.0), PlotAxis("y", None, -2.0, 2.0, 0.0)
LOG_AXIS = PlotAxis("x", None, 0.1, 1000.0, 0.0, log=True)


def one(*marks: Mark, x: PlotAxis = X_AXIS, y: PlotAxis = Y_AXIS, **more) -> FigureSpec:
    """Return a figure of one panel."""
    return FigureSpec(((Panel(x, y, tuple(marks), **more),),), "title", "alternative text")


AT = np.array([1.0, 2.5, 4.0, 7.0, 9.0])
UP = np.array([-1.0, 0.5, 1.5, -0.25, 1.0])
GRID = np.array([[1.0, 2.0, np.nan], [-3.0, 0.0, 3.0]])

MARKS: dict[str, Mark] = {
    "line": Line(AT, UP, "average", "a line"),
    "area": Area(AT, UP - 0.25, UP + 0.5, "heterogeneity", "an area"),
    "hatched area": Area(AT, UP - 0.25, UP + 0.5, "group1-area"),
    "rectangles": Rectangles(AT - 0.4, AT + 0.4, UP * 0, UP, "count", "rectangles"),
    "hatched": Rectangles(
        np.array([3.0]), np.array([5.0]), np.array([-np.inf]), np.array([np.inf]), "few", "few"
    ),
    "points": Points(AT, UP, "vertex", "points"),
    "dots": Points(AT, UP, "own", "dots"),
    "segments": Segments(AT, UP - 0.3, AT, UP + 0.3, "whisker", "whiskers", caps=2.0),
    "dashes": Segments(AT, UP, AT, UP, "slope", reach=6.0),
    "oblique": Segments(AT, UP, AT + 0.5, UP + 0.25, "lead"),
    "arrows": Arrows(AT, UP, AT - 0.5, UP - 0.75, "to-regions", "arrows"),
    "curves": CurveSet(
        AT, np.stack([UP, -UP, UP / 2]), "curve", "curves", 0.5, np.array([3, 17, 4]), "women"
    ),
    "polygons": Polygons(
        (np.array([(2.0, -1.0), (2.5, 0.0), (2.0, 1.0), (1.5, 0.0)]),), "violin", "violins"
    ),
    "heat": Heat(
        np.array([1.0, 3.0, 5.0, 9.0]),
        np.array([-1.0, 0.0, 2.0]),
        GRID,
        (-3.0, 3.0),
        diverging=True,
    ),
    "contour": Contour((np.column_stack([AT, UP]),), "0.25", "contour"),
    "rug": Rug(AT, "rows"),
    "top": Margin("top", np.array([0.0, 2.0, 6.0, 10.0]), np.array([1.0, 4.0, 2.0]), "histogram"),
    "right": Margin("right", np.array([-2.0, 0.0, 2.0]), np.array([1.0, 4.0])),
}
"""Name → mark."""
