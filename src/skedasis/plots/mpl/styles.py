"""Styles of lines, areas and texts: keywords of matplotlib's artists that a mark and its legend handle share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.typing import ColorType

    from skedasis.plots.theme import Stroke


class StrokeStyle(TypedDict, total=False):
    """Keywords of a line, without its colour."""

    lw: float
    ls: Stroke
    alpha: float


class LineStyle(StrokeStyle, total=False):
    """Keywords of a line."""

    color: ColorType


class MarkStyle(TypedDict):
    """Keywords of marks without a line."""

    marker: str
    mfc: ColorType
    mec: ColorType
    ls: Literal["none"]


class CurveStyle(TypedDict):
    """Keywords of a line with marks."""

    color: ColorType
    lw: float
    ls: Stroke
    marker: str
    ms: float
    mfc: ColorType
    mew: float


class EdgeStyle(TypedDict, total=False):
    """Keywords of the edge and the hatch of an area."""

    ec: ColorType
    lw: float
    ls: Stroke
    hatch: str


class AreaStyle(EdgeStyle, total=False):
    """Keywords of an area with an edge, such as a bar, a polygon or a patch."""

    fc: ColorType


class TextStyle(TypedDict, total=False):
    """Keywords of a text."""

    ha: Literal["left", "center", "right"]
    va: Literal["bottom", "baseline", "center", "center_baseline", "top"]
    rotation: float
    weight: Literal["normal", "bold"]
    style: Literal["normal", "italic"]
    zorder: float


class LegendStyle(TypedDict):
    """Entries and letters of a legend."""

    handles: list[Artist | tuple[Artist, ...]]
    labels: list[str]
    fontsize: float
    labelcolor: str
    handlelength: float
