"""Colours, line styles and sizes."""

from __future__ import annotations

from typing import Any

from skedasis.results.effect import TRUSTED_ROWS

# Blue is the average and its error, amber is how rows differ from it. Their luminances differ, so that they do without
# colour, and no reader mistakes blue for orange.
INK, FAINT, GRID, ASIDE = "#262626", "#6b6b6b", "#e9e9e9", "#f3f3f3"


AVERAGE, ERROR = "#0a4a7d", "#79aad2"


SPREAD, SPREAD_EDGE = "#f8e3c0", "#b9791f"


BODY, BODY_EDGE = "#f0c987", "#a66a15"


HATCHES = {"few": ("////", "#bdbdbd"), "empty": ("xxxx", "#cfcfcf")}


DOUBTS = {"few": f"fewer than {TRUSTED_ROWS} rows", "empty": "no data"}


RISES = {"all": ("", "#4a4a4a"), "elsewhere": ("//////", "white"), "unclear": ("......", "white")}
"""Pattern and ground of strips that say whose curves rise."""


SIZE, SMALL = 9.0, 8.0


STROKES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (2.5, 1.5)),
    (0, (6, 1.2, 1.2, 1.2, 1.2, 1.2)),
    (0, (9, 3)),
    (0, (1, 3)),
)


MARKS = ("o", "s", "^", "D", "v", "P", "X", "<")


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


PATTERNS = ("//////", "\\\\\\\\\\\\", "......", "------", "||||||", "xxxx", "oooo", "++++")
"""One of each for every curve or group: eight that are told apart with colours and without."""


OWN = "each row's own value"
"""What a legend calls the points on individual curves."""


OFTEN = 25
"""Marks on a line: more of them would hide it."""


BOTTOM, TOP = 0.04, 0.075
"""Where strips lie, in shares of the panel's height: above the rug."""
