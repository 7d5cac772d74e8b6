"""A report's pictures as small PNG files, for those who want files: the page draws its own as SVG."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis.report import captions, words
from skedasis.report.captions import Caption
from skedasis.report.story.told import Told

DPI = 150
"""Sharp at the width at which a document shows a figure, and on paper."""
COLOURS = 96
"""A figure of lines and tints needs no more: a third of the size of full colour, and no difference to be seen."""
TALL, FLAT = (5.3, 5.9), (5.3, 3.7)
"""Inches: small figures, so that their letters are large on a page."""


@dataclass(frozen=True)
class Picture:
    """A figure that is drawn.

    Parameters
    ----------
    name : str
        For a file, without its ending.
    png : bytes
    width, height : int
        In pixels.
    alt, caption : str
        What it shows, for those who do not see it; and what it is.
    """

    name: str
    png: bytes
    width: int
    height: int
    alt: str
    caption: str


def of_rhale(told: Told, feature: str) -> Picture:
    """Draw a feature's RHALE, and its ALE over it where that is another curve; of a nominal feature the ALE alone."""
    effect, ale = told.rhale[feature], told.ale[feature]
    said = captions.of_rhale(told, feature)
    figure = effect.plot(size=TALL)
    if effect.levels is None and np.isfinite(ale.value).sum() > 1 and words.apart_from(ale, effect):
        axes = figure.axes[0]
        look: dict[str, Any] = {"ls": (0, (1.5, 1.5)), "lw": 1.3, "color": "#444444", "zorder": 4}
        lines = axes.plot(ale.points, words.aligned(ale, effect), **look)
        # A file has no caption that could say what the dots are.
        said_of_it = ["ALE, moved to the same mean"]
        axes.legend(lines, said_of_it, loc="upper left", frameon=False, fontsize=8)
        dotted = " Dotted: ALE, from differences between quantiles, moved to the same mean."
        said = Caption(said.name, said.alt, said.text + dotted)
    return _drawn(figure, said)


def of_pdp(told: Told, feature: str) -> Picture:
    """Draw a feature's PDP with its individual curves."""
    return _drawn(told.pdp[feature].plot(size=FLAT), captions.of_pdp(told, feature))


def of_all(told: Told) -> Picture:
    """Draw all features by RHALE on shared scales."""
    return _drawn(told.rhale.plot(columns=min(len(told.rhale), 4)), captions.of_all(told))


def file_name(*parts: str) -> str:
    """Return a name that every file system takes.

    Examples
    --------
    >>> file_name("gradient boosting", "a/b <c> RHALE")
    'gradient_boosting-a_b_c_RHALE'
    """
    clean = [re.sub(r"\W+", "_", part).strip("_")[:60] or "_" for part in parts]
    return "-".join(clean)


def _drawn(figure: Any, said: Caption) -> Picture:
    """Return a figure as a PNG file of few colours, and let go of it."""
    from PIL import Image

    raw = io.BytesIO()
    figure.savefig(raw, format="rgba", dpi=DPI)
    width, height = (int(side * DPI) for side in figure.get_size_inches())
    image = Image.frombuffer("RGBA", (width, height), raw.getvalue(), "raw", "RGBA", 0, 1)
    small = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    png = io.BytesIO()
    small.save(png, format="png", optimize=True)
    return Picture(said.name, png.getvalue(), width, height, said.alt, said.text)
