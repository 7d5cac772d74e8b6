"""A report's pictures: figures of results as small PNG files, each with words for those who do not see it."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis.report import words
from skedasis.report.levels import named
from skedasis.report.numbers import count, listed, number
from skedasis.report.story import Told
from skedasis.results.effect import Effect

DPI = 150
"""Sharp at the width at which the page shows a figure, and on paper."""
COLOURS = 96
"""A figure of lines and tints needs no more: a third of the size of full colour, and no difference to be seen."""
TALL, FLAT = (5.3, 5.9), (5.3, 3.7)
"""Inches: small figures, so that their letters are large on the page."""


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

    @property
    def source(self) -> str:
        """Return the picture as an address that holds it."""
        return "data:image/png;base64," + base64.b64encode(self.png).decode("ascii")


def of_rhale(told: Told, feature: str) -> Picture:
    """Draw a feature's RHALE, and its ALE over it; of a nominal feature the ALE alone."""
    effect, ale = told.rhale[feature], told.ale[feature]
    if effect.levels is not None:
        return _of_levels(told, effect)
    figure = effect.plot(size=TALL)
    caption = "RHALE: the average effect and how rows stray from it; below, the slopes in each bin."
    if np.isfinite(ale.value).sum() > 1:
        axes = figure.axes[0]
        axes.plot(
            ale.x, words.aligned(ale, effect), ls=(0, (1.5, 1.5)), lw=1.3, color="#444444", zorder=4
        )
        caption += " Dotted: ALE, from differences between quantiles, moved to the same mean."
    bins = 0 if effect.bins is None else len(effect.bins)
    said = (words.course(effect, unit_of(effect)), words.scatter(effect), words.missing(effect))
    alt = (
        f"RHALE of {feature} on {told.axis}, {told.name}, in {count(bins, 'bin')}. {_joined(said)}"
    )
    return _drawn(figure, f"{feature} RHALE", alt, caption)


def _of_levels(told: Told, effect: Effect) -> Picture:
    """Draw a categorical feature's levels, and the steps between them."""
    method = effect.spec.method
    said = (words.course(effect, ""), words.scatter(effect), words.missing(effect))
    alt = (
        f"{method} of {effect.feature} on {told.axis}, {told.name}, at {count(len(effect.x), 'level')}. "
        f"{_joined(said)}"
    )
    caption = (
        f"{method} at each level: the average effect and how rows stray from it; "
        "below, the steps from level to level."
    )
    return _drawn(effect.plot(size=TALL), f"{effect.feature} {method}", alt, caption)


def _joined(sentences: Sequence[str]) -> str:
    return " ".join(s for s in sentences if s)


def of_pdp(told: Told, feature: str) -> Picture:
    """Draw a feature's PDP with its individual curves."""
    effect = told.pdp[feature]
    curves = 0 if effect.curves is None else len(effect.curves)
    centred = effect.spec.center == "mean"
    spread = number(float(np.nanmax(effect.heterogeneity)))
    alt = (
        f"Partial dependence of {told.axis} on {feature}, {told.name}, "
        f"with {count(curves, 'individual curve')} {'around zero' if centred else 'from a common start'}. "
        f"{words.course(effect, unit_of(effect))} Where they have parted most, the curves’ standard deviation "
        f"is {spread}."
    )
    caption = f"PDP with c-ICE: the average of all rows and {count(curves, 'row')} one by one."
    if centred:
        caption += " Each row’s mean over the levels is zero."
    elif effect.levels is not None:
        caption += f" All are zero at {named(effect.levels.labels[0])}."
    return _drawn(effect.plot(size=FLAT), f"{feature} PDP", alt, caption)


def of_all(told: Told) -> Picture:
    """Draw all features by RHALE on shared scales."""
    ranks = [r.feature for r in told.rhale.ranking()]
    methods = {e.spec.method for e in told.rhale.values()}
    what = "ALE" if methods == {"ALE"} else "RHALE"
    besides = " (of features without an order: ALE)" if len(methods) > 1 else ""
    alt = (
        f"{what}{besides} of {count(len(ranks), 'feature')} on {told.axis}, {told.name}, on shared scales, "
        f"the most important first: {listed(ranks)}."
    )
    return _drawn(
        told.rhale.plot(columns=min(len(ranks), 4)),
        "all features",
        alt,
        f"{what} of every feature{besides}, {told.name}.",
    )


def unit_of(effect: Effect) -> str:
    """Return the feature's unit, or nothing."""
    return effect.about.feature.unit or ""


def file_name(*parts: str) -> str:
    """Return a name that every file system takes.

    Examples
    --------
    >>> file_name("gradient boosting", "a/b <c> RHALE")
    'gradient_boosting-a_b_c_RHALE'
    """
    clean = [re.sub(r"\W+", "_", part).strip("_")[:60] or "_" for part in parts]
    return "-".join(clean)


def _drawn(figure: Any, name: str, alt: str, caption: str) -> Picture:
    """Return a figure as a PNG file of few colours, and let go of it."""
    from PIL import Image

    raw = io.BytesIO()
    figure.savefig(raw, format="rgba", dpi=DPI)
    width, height = (int(side * DPI) for side in figure.get_size_inches())
    image = Image.frombuffer("RGBA", (width, height), raw.getvalue(), "raw", "RGBA", 0, 1)
    small = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    png = io.BytesIO()
    small.save(png, format="png", optimize=True)
    return Picture(name, png.getvalue(), width, height, alt, caption)
