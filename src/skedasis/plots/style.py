"""Colours, line styles and sizes. Whatever a colour says is also said by a style, a mark or a word."""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

from matplotlib import font_manager, rcParams
from matplotlib.artist import Artist
from matplotlib.text import Text

from skedasis.plots.palette import (
    ASIDE,
    AVERAGE,
    BODY,
    BODY_EDGE,
    DOUBTS,
    ERROR,
    FAINT,
    GRID,
    HATCHES,
    HUES,
    INK,
    MARKS,
    PATTERNS,
    RISES,
    SIZE,
    SMALL,
    SPREAD,
    SPREAD_EDGE,
    STROKES,
)

__all__ = [
    "ASIDE",
    "AVERAGE",
    "BODY",
    "BODY_EDGE",
    "DOUBTS",
    "EASTERN",
    "ERROR",
    "FAINT",
    "GRID",
    "HATCHES",
    "HUES",
    "INK",
    "MARKS",
    "PATTERNS",
    "RISES",
    "SIZE",
    "SMALL",
    "SPREAD",
    "SPREAD_EDGE",
    "STROKES",
    "Legend",
    "as_it_is",
    "installed",
]

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
