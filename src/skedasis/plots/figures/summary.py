"""Small figures of one feature for the first screen of a page: its regions, its average curve, or those of models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from skedasis._numbers import counted, percent, sentence, with_minus
from skedasis.plots.figures import effect_parts, effect_texts
from skedasis.plots.figures.compare import (
    BANDS,
    STOPS,
    check_count,
    distinct_labels,
    overlay_alt_text,
    overlay_panel,
)
from skedasis.plots.figures.effect import effect_panels
from skedasis.plots.figures.effect_parts import LONGEST, Band
from skedasis.plots.figures.options import EffectPlotOptions, RegionsPlotOptions
from skedasis.plots.figures.regions import panel_of_all, region_curves
from skedasis.plots.figures.shown_levels import ShownLevels
from skedasis.plots.figures.titles import effect_title
from skedasis.plots.marks import (
    Area,
    FigureSpec,
    Heat,
    Mark,
    Panel,
    Rectangles,
    Rug,
    Tooltip,
    marks_of,
    shorter_labels,
)
from skedasis.plots.scales import clean, distinct_names
from skedasis.results.curve_words import curve_words
from skedasis.results.effect import Effect
from skedasis.results.keywords import CurveScale
from skedasis.results.regions import ALL_ROWS, Regions, summary_text

HEIGHT = 132.0
"""Height of the panel."""

MOST_REGIONS, MOST_LEVELS = 4, 8
"""Most regions, and most levels of a nominal feature."""


def regions_summary_figure(regions: Regions, *, scale: CurveScale = "difference") -> FigureSpec:
    """Return the effects in the regions of a feature in one small panel, with the effect in all rows in grey."""
    if len(regions) == 1:
        return effect_summary_figure(regions.whole, scale=scale)
    shares = regions.shares
    heaviest = np.sort(np.argsort(-shares, kind="stable")[:MOST_REGIONS]).tolist()
    rules = distinct_names([with_minus(clean(regions.rules[i])) for i in heaviest], LONGEST)
    labels = [
        f"{rule} ({percent(float(shares[i]))})" for rule, i in zip(rules, heaviest, strict=True)
    ]
    view = RegionsPlotOptions(kind="together", scale=scale)
    found = region_curves(regions, heaviest, labels, view, MOST_LEVELS)
    hidden = len(regions) - len(heaviest)
    more = (f"and {counted(hidden, 'more group')} of rows",) if hidden else ()
    panel = _quiet(panel_of_all(regions, found, view.confidence_level, height=HEIGHT, notes=more))
    title = panel.title
    said = f"{title}. {sentence(summary_text(regions))}"
    alt = [
        said,
        *(
            f"{c.label}: {curve_words(e)}."
            for c, e in zip(found.curves, found.effects, strict=True)
        ),
    ]
    alt += [f"{more[0].capitalize()}."] if more else []
    banded = len(heaviest) <= BANDS
    alt += [f"Bands: {100 * view.confidence_level:g} % intervals."] if banded else []
    return FigureSpec(((panel,),), str(title), " ".join(alt), order=(*labels, ALL_ROWS))


def effect_summary_figure(effect: Effect, *, scale: CurveScale = "difference") -> FigureSpec:
    """Return the average effect of a feature in one small panel, with its interval and its heterogeneity."""
    options = EffectPlotOptions(ice=None, most_levels=MOST_LEVELS, scale=scale, observed=False)
    main = _quiet(effect_panels(effect, options)[0])
    levels = ShownLevels.of_effect(effect, MOST_LEVELS)
    marks = tuple(_brief(main.marks))
    drawn = (m for m in main.marks if isinstance(m, Area | Rectangles) and m.style == "interval")
    intervals = [(m.lower, m.upper) for m in drawn]
    tips = main.tooltips
    if levels is None and len(effect.points) > 1:
        beside = {aside.left for aside in main.x.asides}
        tips = (*_point_tips(effect, main), *(t for t in tips if t.left in beside))
    panel = replace(
        main,
        marks=marks,
        height=HEIGHT,
        notes=(*_unshown(levels), *effect_parts.off_scale(main.y, intervals)),
        above=(),
        tooltips=tuple(replace(t, below=0) for t in tips),
    )
    alt = f"{panel.title}. {sentence(curve_words(effect))}"
    if effect.heterogeneity_score > 0:
        alt += f" {sentence(effect_texts.heterogeneity_text(effect))}"
    return FigureSpec(((panel,),), str(panel.title), alt, order=effect_parts.legend_order([panel]))


def models_summary_figure(
    effects: Sequence[Effect],
    labels: Sequence[str],
    *,
    scale: CurveScale = "difference",
) -> FigureSpec:
    """Return the average effects of a feature for several models in one small panel."""
    check_count(effects, labels)
    names = distinct_labels(labels)
    # Their own zero: that of the figure of each model alone.
    made, curves = overlay_panel(
        effects, names, None, 0.95, small=True, most_levels=MOST_LEVELS, scale=scale
    )
    unshown = _unshown(ShownLevels.of_effect(effects[0], MOST_LEVELS))
    title = effect_title(*effects, among=counted(len(effects), "model"))
    panel = replace(_quiet(made), height=HEIGHT, title=title, notes=unshown)
    return FigureSpec(((panel,),), str(title), overlay_alt_text(panel, curves), order=names)


# --- parts ----------------------------------------------------------------------------------------


def _quiet(panel: Panel) -> Panel:
    """Return a panel without a legend entry of its rug."""
    marks = tuple(replace(m, label="") if isinstance(m, Rug) else m for m in panel.marks)
    return replace(panel, marks=marks)


def _unshown(levels: ShownLevels | None) -> tuple[str, ...]:
    """Return a note on levels that are not shown."""
    hidden = 0 if levels is None else len(levels.every) - len(levels)
    return (f"and {counted(hidden, 'more level')}",) if hidden else ()


def _brief(marks: Sequence[Mark]) -> Iterator[Mark]:
    """Yield the marks of an effect with short legend entries."""
    for mark in marks:
        yield (
            mark if isinstance(mark, Heat) else replace(mark, label=shorter_labels(mark.label)[-1])
        )


def _point_tips(effect: Effect, panel: Panel) -> Iterator[Tooltip]:
    """Yield the average, its heterogeneity and its interval at no more points than a reader points at."""
    curve = effect_parts.average_of(panel)
    areas = {m.style: m for m in marks_of(panel, Area)}
    chosen = np.unique(np.linspace(0, len(curve.x) - 1, STOPS).round().astype(int))
    bands: list[Band] = []
    for style in ("heterogeneity", "interval"):
        if (area := areas.get(style)) is not None:
            band = Band(area.x, area.lower, area.upper, area.label)
            spread = effect.spread if style == "heterogeneity" else None
            if spread is not None:
                error = np.interp(area.x, spread.points, spread.std_error)
                band = band._replace(error=error)
            bands.append(band)
    points = curve.x[chosen], curve.y[chosen], shorter_labels(curve.label)[-1]
    yield from effect_texts.point_tooltips(effect, panel.x, panel.y.unit, points, bands)
