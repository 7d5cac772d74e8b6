"""Figures of a report: SVG for the page, and PNG files."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from skedasis._numbers import percent, sentence
from skedasis.plots import draw_matplotlib
from skedasis.plots.draw_svg import WIDTH, draw, draw_tiles
from skedasis.plots.elements import Drawing
from skedasis.plots.figures import (
    calibration,
    compare,
    multiples,
    overview,
    regions,
    variance_shares,
    weak_spots,
)
from skedasis.plots.figures.curve_height import has_mean_of_quantity, lift
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.options import EffectPlotOptions, RegionsPlotOptions
from skedasis.plots.kinds import SMALL_LEVELS, page_effect
from skedasis.plots.marks import FigureSpec, Line
from skedasis.report import text as report_text
from skedasis.report.content import ModelSection
from skedasis.report.format import named
from skedasis.report.given_rows import On, with_rows
from skedasis.results.axis import LevelAxis
from skedasis.results.calibration import calibration_text
from skedasis.results.effect import Effect
from skedasis.results.keywords import CurveScale
from skedasis.results.regions import Regions
from skedasis.results.sentences import CAPTION, tell
from skedasis.results.variance_shares import VarianceShares, full_model_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# ------------------------------------------------------------------------------ SVG for the page
MANY = 12
"""Largest number of small figures in an overview."""


@dataclass(frozen=True)
class PageFigure:
    svg: Markup
    width: float
    height: float
    caption: str


def page_figure(drawing: Drawing, caption: str = "") -> PageFigure:
    return PageFigure(drawing.svg, round(drawing.width, 1), round(drawing.height, 1), caption)


def drawn_figure(
    spec: FigureSpec, ident: str, caption: str = "", *, width: float = WIDTH
) -> PageFigure:
    """Draw a figure for a page."""
    return page_figure(draw(spec, ident=ident, width=width), caption)


def main_figures(section: ModelSection, feature: str, ident: str) -> list[PageFigure]:
    """Draw a feature's average effect, with the slopes below it; nothing for a feature with a single value."""
    effect = section.rhale[feature]
    if len(effect.points) < 2:
        return []
    spec = page_effect(_without_words(effect), EffectPlotOptions(scale=section.scale))
    case = "levels" if isinstance(effect.axis, LevelAxis) else "slopes"
    caption = tell(CAPTION[case], method=effect.spec.method, labels=effect.observed is not None)
    return [drawn_figure(_with_given(spec, section, feature, "curve"), f"{ident}-rhale", caption)]


def folded_figures(section: ModelSection, feature: str, ident: str) -> list[PageFigure]:
    """Draw a feature's curves by several methods, and its PDP with individual curves."""
    if len(section.rhale[feature].points) < 2:
        return []
    found: list[PageFigure] = []
    by_method = {"ALE": section.ale, "PDP": section.pdp, "M-plot": section.mplot}
    some = {m: e[feature] for m, e in by_method.items() if feature in e}
    some = {m: e for m, e in some.items() if np.isfinite(e.value).sum() > 1}
    if len(some) > 1:  # the page shows a single one already
        spec = compare.overlay_figure(list(some.values()), list(some), scale=section.scale)
        caption = tell(CAPTION["methods"], methods=list(some))
        found.append(drawn_figure(spec, f"{ident}-all", caption))
    if feature in section.pdp:
        pdp = section.pdp[feature]
        spec = page_effect(_without_words(pdp), EffectPlotOptions(scale=section.scale))
        spec = _with_given(spec, section, feature, "ice")
        found.append(drawn_figure(spec, f"{ident}-pdp", _pdp_caption(pdp)))
    return found


def _pdp_caption(effect: Effect) -> str:
    curves = 0 if effect.curves is None else len(effect.curves)
    grid, centred = effect.spec.parameters.get("grid"), effect.spec.center == "mean"
    start = ""
    if isinstance(effect.axis, LevelAxis) and curves and not centred:
        start = named(effect.axis.levels.labels[0])
    return tell(
        CAPTION["pdp"],
        ice=curves > 0,
        curves=curves or None,
        points=len(effect.axis) if isinstance(grid, Mapping) else None,
        centred=centred and curves > 0,
        start=start,
    )


def _without_words(effect: Effect) -> Effect:
    """Return an effect whose figure does not say what it depends on, which sentences of the page say."""
    return replace(effect, depends_on=None)


def _with_given(spec: FigureSpec, section: ModelSection, feature: str, on: On) -> FigureSpec:
    """Return a figure with the rows that the caller named in its first panel."""
    if not section.given_rows:
        return spec
    (main, *below), *others = spec.stacks
    return replace(spec, stacks=((with_rows(main, section, feature, on), *below), *others))


def draw_overview(effects: Mapping[str, Effect], ident: str, scale: CurveScale) -> list[PageFigure]:
    """Draw the most important effects as small figures on shared scales, followed by their legend."""
    there = {f: _without_words(e) for f, e in effects.items() if np.isfinite(e.value).sum() > 1}
    if len(there) < 2:
        return []  # nothing to compare
    scale = scale if all(map(has_mean_of_quantity, there.values())) else "difference"
    view = EffectPlotOptions(ice=None, most_levels=SMALL_LEVELS, scale=scale, observed=False)
    spec = multiples.effects_figure(there, top=MANY, lower=False, options=view, page=None)
    drawn, legend = draw_tiles(spec, ident=ident)
    return [page_figure(one) for one in (*drawn, legend)]


def importance_figure(
    section: ModelSection, links: Mapping[str, str], ident: str
) -> PageFigure | None:
    """Draw heterogeneity score against importance; each point is a link to the section of its feature."""
    if not any(math.isfinite(p.heterogeneity_score) for p in section.importance_points):
        return None
    unit = f" ({section.axis})"
    points = {f: overview.regions_point(r) for f, r in section.regions.items()}
    spec = overview.overview_figure(
        section.importance_points,
        regions={f: p for f, p in points.items() if p is not None},
        links={feature: f"#{anchor}" for feature, anchor in links.items()},
        x_label=f"importance{unit}",
        y_label=f"heterogeneity score{unit}",
    )
    return drawn_figure(spec, ident)


def variance_shares_figure(section: ModelSection, ident: str) -> PageFigure | None:
    """Draw the fractions of the quantity's variance that main effects, regions and pairs explain."""
    if section.variance_shares is None:
        return None
    spec = variance_shares.variance_shares_figure(section.variance_shares, report_text.LEVEL)
    return drawn_figure(spec, ident, variance_caption(section.variance_shares))


def variance_caption(shares: VarianceShares) -> str:
    """Return what the best functions of one, then of more features would explain, and how this is measured."""
    main, *parts, rest = shares.parts
    return tell(
        CAPTION["variance"],
        main=_explained(main.r2),
        **{part.kind: _explained(part.r2) for part in parts},  # the last one of a kind
        left=rest.share > 0,
        rows=shares.rows_held_out,
        full=full_model_text(shares) if shares.has_labels else "",
    )


def _explained(share: float) -> str:
    return percent(share) if share > 0 else "nothing"


def overview_caption(section: ModelSection) -> str:
    """Return the caption of the RHALE of the most important features on shared scales."""
    ranks = [r.feature for r in section.rhale.ranking()][:MANY]
    methods, every = {section.rhale[f].spec.method for f in ranks}, len(ranks) == len(section.rhale)
    return tell(
        CAPTION["all"],
        every=every,
        most=None if every else len(ranks),
        axis=section.axis,
        method="ALE" if methods == {"ALE"} else "RHALE",
        both=len(methods) > 1,
        model=named(section.name),
    )


CURVE_WIDTH = 390.0
"""Width in pixels of a small figure: three fit side by side on the first screen."""

PANEL = 285.0
"""Width in pixels of the panel of a region: four side by side in a window, one on a phone."""


def region_panels(
    found: Regions, said: Sequence[str], ident: str, scale: CurveScale
) -> list[PageFigure]:
    """Draw the effect in each region beside the one in all rows, with a caption, the scores, and last the legend."""
    options = RegionsPlotOptions(confidence_level=report_text.LEVEL, scale=scale)
    spec = regions.regions_figure(found, options)
    drawn, legend = draw_tiles(spec, ident=ident, width=PANEL)
    captions = [*said, ""][: len(drawn)]
    captions += [""] * (len(drawn) - len(captions))
    _, *notes = map(sentence, spec.notes)  # the first one is what the page says above
    captions.append(" ".join(notes))
    return [page_figure(d, c) for d, c in zip((*drawn, legend), captions, strict=True)]


def weak_spots_figure(section: ModelSection, ident: str) -> PageFigure | None:
    """Draw the groups of rows in which the model is wrong on average, if there are some."""
    wrong = section.where_wrong
    if wrong is None or not wrong.found:
        return None
    return drawn_figure(weak_spots.weak_spots_figure(wrong.found), ident, CAPTION["wrong"])


def calibration_figure(section: ModelSection, ident: str) -> PageFigure | None:
    """Draw mean labels against mean predictions."""
    found = section.calibration
    if found is None:
        return None
    caption = tell(CAPTION["calibration"], said=calibration_text(found))
    return drawn_figure(calibration.calibration_figure(found), ident, caption)


# ------------------------------------------------------------------------------------- PNG files
DPI = 150
"""Resolution that is sharp in documents and on paper."""


COLOURS = 96
"""Number of colours of a PNG file: a third of the size of full colour, without visible difference."""


TALL, FLAT = (5.3, 5.9), (5.3, 3.7)
"""Sizes in inches: small, so that the letters are large on a page."""


@dataclass(frozen=True)
class PngFigure:
    """A figure as the content of a PNG file."""

    name: str
    png: bytes


def rhale_png(section: ModelSection, feature: str) -> PngFigure:
    """Draw a feature's RHALE, with its ALE as a dotted curve if it differs; for a nominal feature, the ALE alone."""
    effect, ale = section.rhale[feature], section.ale[feature]
    spec = effect_figure(effect, EffectPlotOptions(scale=section.scale))
    if (
        not isinstance(effect.axis, LevelAxis)
        and np.isfinite(ale.value).sum() > 1
        and report_text.max_difference(ale, effect)
    ):
        # A file has no caption that could explain the dotted curve: the legend does.
        said = "ALE, aligned to the same mean"
        up = lift(effect) if section.scale == "prediction" else 0.0
        dotted = Line(ale.points, report_text.aligned(ale, effect) + up, "compared", said)
        main, *below = spec.stacks[0]
        main = replace(main, marks=(*main.marks, dotted))
        spec = replace(spec, stacks=((main, *below),))
    return _to_png(draw_matplotlib.draw(spec, TALL), f"{feature} {effect.spec.method}")


def pdp_png(section: ModelSection, feature: str) -> PngFigure:
    """Draw a feature's PDP with its individual curves."""
    return _to_png(section.pdp[feature].plot(size=FLAT, scale=section.scale), f"{feature} PDP")


def overview_png(section: ModelSection) -> PngFigure:
    """Draw all features by RHALE on shared scales."""
    spec = multiples.effects_figure(
        section.rhale,
        columns=min(len(section.rhale), 4),
        options=EffectPlotOptions(curves=60, scale=section.scale),
        page=None,
    )
    return _to_png(draw_matplotlib.draw(spec), "all features")


def png_figures(section: ModelSection, feature: str | None) -> Iterator[PngFigure]:
    """Yield the figures of a feature; of None the overview of all."""
    if feature is None:
        yield overview_png(section)
    elif len(section.rhale[feature].points) > 1:  # a feature with a single value has no figures
        yield rhale_png(section, feature)
        if feature in section.pdp:
            yield pdp_png(section, feature)


def file_name(*parts: str) -> str:
    """Return a name that is valid on every file system."""
    clean = [re.sub(r"\W+", "_", part).strip("_")[:60] or "_" for part in parts]
    return "-".join(clean)


def _to_png(figure: Figure, name: str) -> PngFigure:
    """Return a matplotlib figure as a PNG file with few colours."""
    from PIL import Image

    raw = io.BytesIO()
    figure.savefig(raw, format="rgba", dpi=DPI)
    width, height = (int(side * DPI) for side in figure.get_size_inches())
    image = Image.frombuffer("RGBA", (width, height), raw.getvalue(), "raw", "RGBA", 0, 1)
    small = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    png = io.BytesIO()
    small.save(png, format="png", optimize=True)
    return PngFigure(name, png.getvalue())
