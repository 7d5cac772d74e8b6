"""Colours, line styles, hatches and sizes of figures.

Blue is the average and its confidence interval, amber is the heterogeneity (how the effect varies between rows). The
two differ in luminance, so that they remain distinguishable in greyscale and for colour-blind readers. Each distinction
by colour is repeated by a line style, a mark, a hatch or a word. The matplotlib renderer takes these values; colours of
the SVG renderer are in `assets/figure.css`, for light, dark and printed pages.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from skedasis.results.effect import TRUSTED_ROWS

# --- colours -------------------------------------------------------------------------------------

INK, FAINT, GRID, ASIDE = "#262626", "#6b6b6b", "#e9e9e9", "#f3f3f3"
"""Of main text and curves; of secondary text; of grid lines; of the background of the missing-value position."""

AVERAGE, ERROR = "#0a4a7d", "#79aad2"
"""Of the average effect and of its confidence interval."""

SPREAD, SPREAD_EDGE = "#f8e3c0", "#b9791f"
"""Area and edge of the heterogeneity band."""

BODY, BODY_EDGE = "#f0c987", "#a66a15"
"""Area and edge of violins."""

HUES = (
    "#0a4a7d",
    "#c8500a",
    "#1b8a6b",
    "#b3478f",
    "#8a6d00",
    "#4d9fd6",
    "#5b4bb0",
    "#7a7a7a",
)
"""Colours of overlaid curves and of groups."""

# --- hatches -------------------------------------------------------------------------------------

HATCHES = {"few": ("////", "#bdbdbd"), "empty": ("xxxx", "#cfcfcf")}
"""Hatch and colour of intervals of the axis with few rows and without rows."""

DOUBTS = {"few": f"fewer than {TRUSTED_ROWS} rows", "empty": "no data"}
"""Legend entries of these intervals."""

RISES = {"all": ("", "#4a4a4a"), "elsewhere": ("//////", "white"), "unclear": ("......", "white")}
"""Hatch and background of the strips that mark elevated regions, by verdict."""

PATTERNS = ("//////", "\\\\\\\\\\\\", "......", "------", "||||||", "xxxx", "oooo", "++++")
"""Hatches of groups; eight groups remain distinguishable without colours."""

# --- lines and marks -----------------------------------------------------------------------------

Stroke: TypeAlias = Literal["-", "--", "none"] | tuple[float, tuple[float, ...]]
"""A line style of matplotlib: its name, or an offset and the lengths of dashes and gaps in points."""

STROKES: tuple[Stroke, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (2.5, 1.5)),
    (0, (6, 1.2, 1.2, 1.2, 1.2, 1.2)),
    (0, (9, 3)),
    (0, (1, 3)),
)
"""Line styles of overlaid curves and of groups."""

MARKS = ("o", "s", "^", "D", "v", "P", "X", "<")
"""Marks of overlaid curves."""

OWN = "observed value of each row"
"""Legend entry of the points on ICE curves."""

OFTEN = 25
"""Most marks on a line; more marks would hide it."""

# --- sizes ---------------------------------------------------------------------------------------

SIZE, SMALL = 9.0, 8.0
"""Font sizes in points: titles and axis labels; ticks, notes and legends."""

BOTTOM, TOP = 0.04, 0.075
"""Vertical position of the strips that mark elevated regions, as fractions of the panel's height, above the rug."""
