"""Colours, line styles and sizes. Whatever a colour says is also said by a style, a mark or a word."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

from matplotlib import font_manager, rcParams
from matplotlib.artist import Artist
from matplotlib.text import Text

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
Legend: TypeAlias = dict[str, Artist | tuple[Artist, ...]]

EASTERN = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans CJK KR",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Hiragino Sans",
    "Hiragino Sans GB",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "SimHei",
    "Yu Gothic",
    "Meiryo",
    "Malgun Gothic",
    "Droid Sans Fallback",
    "Arial Unicode MS",
)
"""Fonts with Chinese, Japanese or Korean letters, one of which most computers have. Matplotlib's own has none."""


@cache
def installed() -> tuple[str, ...]:
    """Return which of these fonts there are."""
    there = set(font_manager.get_font_names())
    return tuple(name for name in EASTERN if name in there)


def as_it_is(text: Text) -> None:
    """Take a text as it is, and no dollar in it for a formula; find a font for its letters."""
    text.set(parse_math=False, usetex=False)
    if any(ord(c) >= 0x2E80 for c in text.get_text()) and installed():
        text.set_fontfamily([*rcParams["font.family"], *installed()])
