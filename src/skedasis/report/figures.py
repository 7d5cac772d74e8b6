"""Figures of a report: SVG for the page, PNG files on request."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from skedasis.plots.spec import View
from skedasis.plots.svg.diagnosis import diagnosis
from skedasis.plots.svg.effect import compare, small
from skedasis.plots.svg.effect import effect as effect_drawing
from skedasis.plots.svg.elements import Drawing
from skedasis.plots.svg.overview import calibration, ledger, places
from skedasis.plots.svg.surface import surface as surface_drawing
from skedasis.report import text as report_text
from skedasis.report.categorical_text import quoted
from skedasis.report.content import Told
from skedasis.report.text import Caption
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.effect import Effect
from skedasis.results.surface import Surface

# ------------------------------------------------------------------------------------------
# A report's figures as SVG, drawn from the same panels as the pictures of matplotlib.


MANY = 12
"""Small figures side by side: more of them are no overview."""


@dataclass(frozen=True)
class Shown:
    """A figure of the page.

    Parameters
    ----------
    svg : Markup
    width, height : float
        Pixels that it takes where there is room.
    caption : str
    """

    svg: Markup
    width: float
    height: float
    caption: str


def shown(drawing: Drawing, caption: str) -> Shown:
    """Return a drawing with its caption."""
    return Shown(drawing.svg, round(drawing.width, 1), round(drawing.height, 1), caption)


def of_feature(told: Told, feature: str, ident: str) -> list[Shown]:
    """Draw a feature's RHALE, its curves by several methods, and its PDP with individual curves.

    Parameters
    ----------
    told : Told
    feature : str
    ident : str
        Unique on the page.

    Returns
    -------
    list of Shown
        Nothing for a feature that takes one value.
    """
    if len(told.rhale[feature].points) < 2:
        return []
    made = [
        _effect(told.rhale[feature], report_text.of_rhale(told, feature), f"{ident}-rhale"),
        _compared(told, feature, f"{ident}-all"),
        _effect(told.pdp[feature], report_text.of_pdp(told, feature), f"{ident}-pdp"),
    ]
    return [one for one in made if one is not None]


def _effect(effect: Effect, said: Caption, ident: str) -> Shown:
    return shown(effect_drawing(effect, ident=ident, title=said.title, alt=said.rest), said.text)


def _compared(told: Told, feature: str, ident: str) -> Shown | None:
    """Lay over one another what there is of a feature; one curve alone would be drawn twice on the page."""
    some = {
        m: e
        for m, e in report_text.of_methods(told, feature).items()
        if np.isfinite(e.value).sum() > 1
    }
    if len(some) < 2:
        return None
    said = report_text.of_compared(told, feature, list(some))
    return shown(compare(some, ident=ident, title=said.title, alt=said.rest), said.text)


def draw_overview(effects: Mapping[str, Effect], ident: str) -> list[Shown]:
    """Draw the most important effects on shared scales, each small and for itself; last what explains them all.

    Parameters
    ----------
    effects : mapping of str to Effect
    ident : str
        Unique on the page.
    """
    there = {f: e for f, e in effects.items() if np.isfinite(e.value).sum() > 1}
    if len(there) < 2:
        return []  # nothing to compare
    drawn, legend = small(there, ident=ident, top=MANY, lower=False, view=View(ice=None))
    return [shown(one, "") for one in (*drawn, legend)]


def of_places(told: Told, links: Mapping[str, str], ident: str) -> Shown | None:
    """Draw importance against heterogeneity score, each point a link to its feature."""
    if not any(math.isfinite(p.heterogeneity_score) for p in told.places):
        return None
    unit = f" ({told.axis})"
    drawing = places(
        told.places,
        ident=ident,
        links={feature: f"#{anchor}" for feature, anchor in links.items()},
        x_label=f"importance{unit}",
        y_label=f"heterogeneity score{unit}",
    )
    return shown(drawing, "")


def of_ledger(told: Told, ident: str) -> Shown | None:
    """Draw how much of the quantity's variance the effects add up to."""
    if told.ledger is None:
        return None
    caption = (
        "How much of the variance of the prediction the sum of the effects on this page explains."
    )
    rest = told.ledger.said[-1] if told.ledger.rest else ""
    return shown(ledger(told.ledger.shares, ident=ident), f"{caption} {rest}".rstrip())


def of_calibration(told: Told, ident: str) -> Shown | None:
    """Draw predicted probabilities beside observed shares."""
    quality = told.quality
    if quality is None or quality.calibration is None:
        return None
    name = quoted(quality.class_ or "")
    caption = f"Calibration: among rows to which it gives a probability of {name}, the share that is of this class."
    return shown(calibration(quality.calibration, ident=ident), caption)


def of_pair(surface: Surface, ident: str) -> Shown:
    """Draw what two features do together."""
    return shown(surface_drawing(surface, ident=ident), "")


def of_diagnosis(found: Diagnosis, ident: str) -> Shown:
    """Draw what the importances for likelihood and for entropy say together of each feature."""
    caption = "What the likelihood- and the entropy-importance of each feature say together."
    return shown(diagnosis(found, ident=ident), caption)


# ------------------------------------------------------------------------------------------
# A report's pictures as small PNG files, for those who want files: the page draws its own as SVG.


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
    said = report_text.of_rhale(told, feature)
    figure = effect.plot(size=TALL)
    if (
        effect.levels is None
        and np.isfinite(ale.value).sum() > 1
        and report_text.apart_from(ale, effect)
    ):
        axes = figure.axes[0]
        look: dict[str, Any] = {"ls": (0, (1.5, 1.5)), "lw": 1.3, "color": "#444444", "zorder": 4}
        lines = axes.plot(ale.points, report_text.aligned(ale, effect), **look)
        # A file has no caption that could say what the dots are.
        said_of_it = ["ALE, moved to the same mean"]
        axes.legend(lines, said_of_it, loc="upper left", frameon=False, fontsize=8)
        dotted = " Dotted: ALE, from differences between quantiles, moved to the same mean."
        said = Caption(said.name, said.alt, said.text + dotted)
    return _drawn(figure, said)


def of_pdp(told: Told, feature: str) -> Picture:
    """Draw a feature's PDP with its individual curves."""
    return _drawn(told.pdp[feature].plot(size=FLAT), report_text.of_pdp(told, feature))


def overview_png(told: Told) -> Picture:
    """Draw all features by RHALE on shared scales."""
    return _drawn(told.rhale.plot(columns=min(len(told.rhale), 4)), report_text.of_all(told))


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
