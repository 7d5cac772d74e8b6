"""From regions to a figure: the effect in each region on one scale, the effect in all rows, and the scores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from skedasis._arguments import check_int_or_none
from skedasis._numbers import counted, number, percent, sentence, with_error, with_minus
from skedasis._types import Floats
from skedasis.errors import DataError
from skedasis.plots.figures import effect_parts
from skedasis.plots.figures.bars import RankedLine, first_of, in_unit, ranked_panel, value_lines
from skedasis.plots.figures.compare import (
    BANDS,
    MOST,
    OverlaidCurve,
    overlaid_curve,
    overlaid_horizontal,
    overlaid_panel,
)
from skedasis.plots.figures.curve_height import axis_name, is_on_label_scale, mean_line, scaled
from skedasis.plots.figures.effect import has_bins
from skedasis.plots.figures.effect_parts import LONG, LONGEST
from skedasis.plots.figures.multiples import PER_PAGE, relabelled
from skedasis.plots.figures.observed import ShownCells, cells_of
from skedasis.plots.figures.options import MOST_LEVELS, EffectPlotOptions, RegionsPlotOptions
from skedasis.plots.figures.shown_levels import ShownLevels
from skedasis.plots.figures.titles import effect_title
from skedasis.plots.marks import FigureSpec, Mark, Panel, Title, horizontal_line
from skedasis.plots.scales import PlotAxis, clean, distinct_names, extent, shorten
from skedasis.results.curve_words import curve_words
from skedasis.results.effect import Effect
from skedasis.results.effect_words import share_text
from skedasis.results.keywords import RegionsBy
from skedasis.results.main_stretch import beyond_text, main_part
from skedasis.results.regions import (
    ALL_ROWS,
    Condition,
    MultiModelRegions,
    Regions,
    RegionsByFeature,
    alternatives,
    another_text,
    explained_share,
    summary_text,
    unstable_splits,
)
from skedasis.results.time_axis import align_time_axis
from skedasis.stats.heterogeneity_score import HeterogeneityScore

WITHIN = "left within the groups"
"""Name of the score that the regions leave."""

PANEL, TOGETHER = 150.0, 190.0
"""Heights of the panels."""

SPREAD = "spread between rows (SD)"
"""Name of the heterogeneity score on axes."""

OWN_AVERAGE, OWN_HEIGHT = (
    "each curve is around the average of its own rows: compare how curves rise and fall, not their heights",
    "heights differ also because the groups differ: the effect is how each curve rises or falls",
)
"""Notes on the heights of curves of groups of rows, around zero and as predictions."""

HERE = "this group"
"""Name of a group of rows in its own panel."""


def regions_figure(regions: Regions, options: RegionsPlotOptions | None = None) -> FigureSpec:
    """Return the figure of the regions of one feature."""
    view = RegionsPlotOptions() if options is None else options
    n, together, level = len(regions), view.kind == "together", view.confidence_level
    if together and n > MOST:
        fix = "Use kind='panels'"
        got = f"{n} regions with kind='together'"
        raise DataError("plot(kind)", got, f"at most {MOST} regions", fix)
    labels = region_labels(regions)[:PER_PAGE]
    shown = range(len(labels))
    found = region_curves(regions, shown, labels, view)
    title = _title(regions)
    scored = view.scores and n > 1 and math.isfinite(regions.scores.whole)
    lines = _spreads(regions, labels, level) if scored else []
    compact = _compact(regions, view) if 1 < n <= MOST else None
    if together:
        curves = panel_of_all(regions, found, level)
        stacks, named = [(curves,)], [title]
        if scored:
            stacks[0] = (replace(curves, title=Title("Effect in each group")),)
            stacks.append((_all_spreads(regions, lines, level),))
            named.append(replace(title, quantity=f"spread of the {title.quantity}"))
    else:
        stacks = [
            (
                _region_panel(regions, i, found, level, scored=scored),
                *_own_spread(lines, i, level, regions.about.unit),
            )
            for i in shown
        ]
        named = [effect_title(e) for e in found.effects]
    alt = _alt_text(regions, labels, found.effects)
    columns = len(stacks) if len(stacks) <= 3 else 2 if len(stacks) == 4 else 3
    return FigureSpec(
        tuple(stacks),
        str(title),
        alt,
        columns=columns if view.columns is None else view.columns,
        column_width=150.0 if view.columns is None else 0.0,
        widths=(1.9, 1.0) if together and len(stacks) > 1 else (),
        heading=title if len(stacks) > 1 else Title(),
        stack_titles=tuple(map(str, named)),
        notes=_figure_notes(regions, view, len(labels)),
        order=(*(labels if together else (HERE,)), ALL_ROWS),
        noun="group" if not together else "panel",
        compact=None if compact is None else replace(compact, alt=alt),
    )


def _compact(regions: Regions, view: RegionsPlotOptions) -> FigureSpec:
    """Return the curves of all regions in one panel, for figures without room for a panel each."""
    short, features = short_rules(regions)
    found = region_curves(regions, range(len(short)), short, replace(view, kind="together"))
    panel = panel_of_all(regions, found, view.confidence_level)
    return FigureSpec(
        ((panel,),),
        str(panel.title),
        "",
        notes=(*features, summary_text(regions)),
        order=(*short, ALL_ROWS),
    )


SHORT = 12
"""Most characters of each of several comparisons in a short rule."""


def short_rules(regions: Regions) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the numbers and the rules of regions in short, and a note on the features that all rules compare.

    Such a feature is not repeated in each rule, and of several comparisons the units are left out.
    """
    every = [leaf.conditions for leaf in regions.leaves]
    columns = [{c.feature.name for c in some} for some in zip(*every, strict=False)]
    shared = [len(column) == 1 for column in columns]
    if not any(shared):
        return region_labels(regions), ()
    labels: list[str] = []
    for i, conditions in enumerate(every):
        parts: list[str] = []
        for c, same in itertools.zip_longest(conditions, shared, fillvalue=False):
            if not isinstance(c, Condition):
                continue
            name, text = clean(c.feature.title), clean(c.text)
            if same:
                text = (
                    text.removeprefix(f"{name} = ")
                    .removeprefix(f"{name} ")
                    .replace(f" {name} ", " … ", 1)
                )
            text = text.removesuffix(in_unit(c.feature.unit))
            parts.append(shorten(text, SHORT) if len(conditions) > 1 else text)
        labels.append(f"[{i}] {shorten(with_minus(', '.join(parts)), LONGEST)}")
    names = [clean(c.feature.title) for c, same in zip(every[0], shared, strict=False) if same]
    return tuple(labels), (f"groups by {', '.join(names)}",)


def region_labels(regions: Regions) -> tuple[str, ...]:
    """Return the numbers and the rules of regions, shortened: "[0] workingday = 0"."""
    if len(regions) == 1:
        return tuple(shorten(with_minus(clean(rule)), LONGEST) for rule in regions.rules)
    return tuple(
        f"[{i}] {shorten(with_minus(clean(rule)), LONGEST)}" for i, rule in enumerate(regions.rules)
    )


def _title(regions: Regions) -> Title:
    return effect_title(regions.whole, among=counted(len(regions), "group") + " of rows")


def _figure_notes(regions: Regions, view: RegionsPlotOptions, shown: int) -> tuple[str, ...]:
    notes = [summary_text(regions)]
    if view.kind == "together":  # panels have notes of their own
        notes += [shorten(clean(text), LONGEST) for text in alternatives(regions)]
    if shown < len(regions):
        notes.append(f"the first {shown} of {len(regions):,} groups")
    if len(regions) > 1 and not regions.whole.spec.derivative:
        around = regions.whole.spec.center is not None and view.scale == "difference"
        notes.append(OWN_AVERAGE if around else OWN_HEIGHT)
    if view.scores and len(regions) > 1 and not math.isfinite(regions.scores.whole):
        notes.append("spread not computed")
    said = beyond_text(regions.whole)
    return (*notes, said) if said else tuple(notes)


class RegionCurves(NamedTuple):
    """The effects in some regions, their curves, that of all rows, and their axes."""

    effects: list[Effect]
    curves: list[OverlaidCurve]
    whole: OverlaidCurve
    x: PlotAxis
    y: PlotAxis
    levels: ShownLevels | None
    line: tuple[Mark, ...]
    cells: list[ShownCells | None]


def region_curves(
    regions: Regions,
    chosen: Sequence[int],
    labels: Sequence[str],
    view: RegionsPlotOptions,
    most_levels: int = MOST_LEVELS,
) -> RegionCurves:
    """Return the curves of some regions on axes on which they, and the bands that are drawn, are readable."""
    together, scale, level = view.kind == "together", view.scale, view.confidence_level
    bands = not together or len(chosen) <= BANDS
    whole = scaled(regions.whole, scale)
    effects = [scaled(align_time_axis(regions.effects[i], whole), scale) for i in chosen]
    levels = ShownLevels.of_effect(whole, most_levels)
    # Several curves at the same levels are side by side.
    count = len(effects) + 1 if together else 2
    sides = [*(range(len(effects)) if together else [0] * len(effects)), count - 1]
    every, named = [*effects, whole], [*labels, ALL_ROWS]
    *curves, all_rows = (
        overlaid_curve(e, label, level, levels, (i, count), small=True)
        for e, label, i in zip(every, named, sides, strict=True)
    )
    everything = [whole, *effects]
    x = overlaid_horizontal(everything) if levels is None else levels.axis(whole.about.feature)
    around = whole.spec.center is not None and scale == "difference"
    cells: list[ShownCells | None] = [None] * len(effects)
    if view.observed and not together and scale == "prediction":
        options = EffectPlotOptions(confidence_level=level, most_levels=most_levels)
        cells = [cells_of(e, options, x) if is_on_label_scale(e) else None for e in effects]
    seen = [c for c in cells if c is not None]
    low, high = extent(
        [*(c.y for c in (*curves, all_rows)), *(v for c in seen for v in c.curves())]
    )
    if bands:
        reached = [*curves, *(band for c in seen for band in c.intervals())]
        ends = extent([end for c in reached for end in (c.lower, c.upper)])
        low, high = effect_parts.readable_range(ends, low, high)
    y = PlotAxis(*axis_name(whole, around=around), low, high, 0.06)
    line: tuple[Mark, ...] = ()
    if scale == "prediction":
        line = mean_line(regions.whole)
    elif around or whole.spec.derivative:
        line = (horizontal_line(0.0),)
    return RegionCurves(effects, curves, all_rows, x, y, levels, line, cells)


def _region_panel(
    regions: Regions, i: int, found: RegionCurves, level: float, *, scored: bool
) -> Panel:
    effect, curve, several = found.effects[i], found.curves[i], len(regions) > 1
    part = main_part(effect).effect
    rug = effect_parts.effect_rug(effect) if found.levels is None else None
    title, notes = (
        Title(curve.label) if several else _title(regions),
        _region_notes(regions, i, scored=scored),
    )
    others = [shorten(clean(another_text(s)), LONGEST) for s in unstable_splits(regions, i)]
    if others:  # a title would state the rule as a finding
        title = Title(f"[{i}]")
        notes = (shorten(with_minus(clean(regions.rules[i])), LONGEST), *others, *notes)
    panel = overlaid_panel(
        [curve],
        found.x,
        found.y,
        found.levels,
        gaps_of=regions.whole,
        line=found.line,
        level=level,
        rug=rug,
        height=PANEL,
        title=title,
        notes=notes,
        whole=found.whole if several else None,
        doubts=effect_parts.doubts(part.bins) if found.levels is None and has_bins(part) else None,
    )
    cells, marks = found.cells[i], relabelled(panel.marks, {curve.label: HERE})
    if cells is not None:
        panel = replace(panel, tooltips=cells.added(panel.tooltips))
    return replace(
        panel,
        marks=(*marks, *(() if cells is None else cells.marks())),
        texts=panel.texts if len(effect_parts.hatched_gaps(regions.whole)[0]) else (),
    )


def _region_notes(regions: Regions, i: int, *, scored: bool) -> tuple[str, ...]:
    """Return the rows of a region, their share, and its score if no bar shows it."""
    node = regions.leaves[i]
    notes = [counted(node.count, "row")]
    if len(regions) > 1:
        notes.append(percent(float(regions.shares[i])))
    score, error = float(regions.scores.regions[i]), float(regions.scores.regions_error[i])
    if math.isfinite(score) and not scored:
        notes.append(f"spread between rows {with_error(score, error, regions.scores.whole)}")
    return tuple(notes)


def panel_of_all(
    regions: Regions,
    found: RegionCurves,
    level: float,
    *,
    height: float = TOGETHER,
    notes: Sequence[str] | None = None,
) -> Panel:
    """Return a panel with the curves of all regions, by default with the numbers of rows and of regions."""
    if notes is None:
        notes = counted(regions.nodes[0].count, "row"), counted(len(found.curves), "group")
    return overlaid_panel(
        found.curves,
        found.x,
        found.y,
        found.levels,
        gaps_of=regions.whole,
        line=found.line,
        level=level if len(found.curves) <= BANDS else None,
        rug=effect_parts.effect_rug(regions.whole) if found.levels is None else None,
        height=height,
        title=effect_title(regions.whole),
        notes=notes,
        whole=found.whole if len(regions) > 1 else None,
    )


# --- scores before and after ----------------------------------------------------------------------


def _score_ends(score: Floats, error: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the intervals of scores; NaN where the error is unknown."""
    ends = [
        HeterogeneityScore(v, e).interval(level) if e > 0 else (np.nan, np.nan)
        for v, e in zip(score.tolist(), error.tolist(), strict=True)
    ]
    lower, upper = np.array(ends, dtype=float).T
    known = np.isfinite(lower) & np.isfinite(upper)
    return np.where(known, lower, np.nan), np.where(known, upper, np.nan)


def _spreads(regions: Regions, labels: Sequence[str], level: float) -> list[RankedLine]:
    """Return the heterogeneity scores of all rows, of each region and within the regions, as lines of a chart."""
    scores, shown = regions.scores, len(labels)
    value = np.array([scores.whole, *scores.regions[:shown], scores.within])
    error = np.array([scores.whole_error, *scores.regions_error[:shown], scores.within_error])
    names = (ALL_ROWS, *(f"[{i}]" for i in range(shown)), WITHIN)
    styles = ("before", *(f"hue{i % MOST}-bar" for i in range(shown)), "bar-hatched")
    interval = f"{100 * level:g} % interval"
    ends = zip(*(v.tolist() for v in _score_ends(value, error, level)), strict=True)
    return [
        RankedLine(
            name,
            v,
            [shorten(said, LONG), *value_lines(SPREAD, v, regions.about.unit, interval, end)],
            end,
            style,
            beside=(with_error(v, e), number(v)),
        )
        for name, said, v, e, end, style in zip(
            names,
            (ALL_ROWS, *labels, WITHIN),
            value.tolist(),
            error.tolist(),
            ends,
            styles,
            strict=True,
        )
    ]


def _all_spreads(regions: Regions, lines: Sequence[RankedLine], level: float) -> Panel:
    """Return all scores as bars, in the colours of the curves beside which they stand."""
    return ranked_panel(
        [replace(line, beside=()) for line in lines],
        PlotAxis(SPREAD, regions.about.unit, math.nan, math.nan, 0.04),
        title=Title("Spread between rows"),
        interval=f"{100 * level:g} % interval",
        reach=0.6,
        thick=min(0.62, 0.09 * len(lines)),
    )


def _own_spread(
    lines: Sequence[RankedLine], i: int, level: float, unit: str | None
) -> tuple[Panel, ...]:
    """Return the scores of all rows and of region i as two bars with their numbers, on the scale of all regions."""
    if not lines:
        return ()
    value = np.array([line.value for line in lines])
    ends = extent(
        [value, np.fmin([line.ends[1] for line in lines], 1.6 * np.nanmax(value, initial=0.0))]
    )
    room = tuple(
        (float(np.fmax(line.value, np.minimum(line.ends[1], ends[1]))), line.beside)
        for line in lines
    )
    axis = PlotAxis("", None, 0.0, ends[1] or 1.0, 0.02, hidden=True, room=room)
    mine = [lines[0], replace(lines[i + 1], name=HERE, style="bar")]
    panel = ranked_panel(mine, axis, title=Title(), interval=f"{100 * level:g} % interval")
    up = replace(panel.y, name=SPREAD, unit=unit)
    return (replace(panel, y=up, kind="detail", frame=False, grid=""),)


def _alt_text(regions: Regions, labels: Sequence[str], effects: Sequence[Effect]) -> str:
    """Return the alternative text: what the regions explain, and each curve in words."""
    parts = [f"{_title(regions)}. {sentence(summary_text(regions))}"]
    parts += [f"{label}: {curve_words(e)}." for label, e in zip(labels, effects, strict=True)][:8]
    if len(effects) > 8:
        parts.append(f"And {len(effects) - 8} more groups.")
    said = beyond_text(regions.whole)
    parts += [f"{said}."] if said else []
    scores = regions.scores
    if math.isfinite(scores.whole) and len(regions) > 1:
        before = with_error(scores.whole, scores.whole_error)
        after = with_error(scores.within, scores.within_error)
        parts.append(f"{SPREAD}: {before} in all rows, {after} within the groups.".capitalize())
    return " ".join(parts)


# --- regions of several features ------------------------------------------------------------------


def regions_overview_figure(
    found: RegionsByFeature, by: RegionsBy = "heterogeneity_score", top: int | None = PER_PAGE
) -> FigureSpec:
    """Return the heterogeneity of features before and after the split into regions, with the first split of each."""
    top = check_int_or_none("plot(top)", top, 1, "Use 20, or None")
    ranks = found.ranking(by)
    if not ranks:
        raise DataError("plot", "no feature", "at least one feature", "Explain some features")
    shown = [found[r.feature] for r in ranks[:top]]
    names = distinct_names([clean(r.feature_title) for r in shown], LONGEST)
    title = effect_title(*(r.whole for r in shown), of=counted(len(shown), "feature"))
    unit, legend = shown[0].about.unit, ("", "")
    if any(math.isfinite(r.scores.whole) for r in shown):
        split = any(len(r) > 1 for r in shown)
        quantity = (
            f"spread of the {title.quantity}{', before and after the split' if split else ''}"
        )
        x, style = PlotAxis(SPREAD, unit, math.nan, math.nan, 0.04), "before"
        legend = (ALL_ROWS if split else "", WITHIN)
        values = [(r.scores.whole, r.scores.within if len(r) > 1 else math.nan) for r in shown]
    else:
        quantity = "part that groups of rows explain"
        x, style = (
            PlotAxis("explained by groups of rows", "% of the loss", math.nan, math.nan, 0.04),
            "bar",
        )
        shares = [100 * float(np.clip(r.loss_explained, 0.0, 1.0)) * (len(r) > 1) for r in shown]
        values = [(share, math.nan) for share in shares]
    title = replace(title, quantity=quantity)
    lines = [
        RankedLine(
            name,
            float(np.nan_to_num(value)),
            _overview_tip(r),
            style=style,
            label=legend[0],
            inner=inner,
            beside=_first_split(r) if len(r) > 1 else (),
            feature=r.feature,
        )
        for name, r, (value, inner) in zip(names, shown, values, strict=True)
    ]
    panel = ranked_panel(
        lines, x, title=title, notes=_overview_notes(found, shown, by), inner=("bar", legend[1])
    )
    said = [f"{shorten(n, LONG)}: {summary_text(r)}" for n, r in zip(names, shown, strict=True)]
    return FigureSpec(((panel,),), str(title), f"{title}. {first_of(said)}.")


def _overview_notes(
    found: RegionsByFeature, shown: Sequence[Regions], by: RegionsBy
) -> tuple[str, ...]:
    hidden, total = len(found) - len(shown), counted(len(found), "feature")
    none = sum(len(r) == 1 for r in shown)
    notes = [f"ordered by {by.replace('_', ' ')}"]
    notes += ["one partition for all features"] if found.joint else []
    notes += [f"{counted(none, 'feature')} without a split"] if none else []
    notes += [f"{hidden:,} of {total} not shown: top=None draws all"] if hidden else []
    return tuple(notes)


def _first_split(regions: Regions) -> tuple[str, ...]:
    """Return alternatives of a text with the first split and what the regions explain."""
    share, error = explained_share(regions)
    on = regions.splits[0].feature_title if regions.splits else regions.by
    another = " or another" if regions.splits and regions.splits[0].unstable else ""
    explained = f", {share_text(share, error)}" if math.isfinite(share) else ""
    return tuple(f"{shorten(on, room)}{another}{explained}" for room in (30, 16, 9))


def _overview_tip(regions: Regions) -> list[str]:
    lines = [shorten(regions.feature_title, LONG), summary_text(regions)]
    scores = regions.scores
    if math.isfinite(scores.whole):
        lines.append(f"{SPREAD} {with_error(scores.whole, scores.whole_error)}")
        if len(regions) > 1:
            lines.append(f"{WITHIN} {with_error(scores.within, scores.within_error)}")
    lines += [
        f"[{i}] {shorten(with_minus(rule), LONG)}" for i, rule in enumerate(regions.rules[:8])
    ]
    return lines


# --- regions for several models -------------------------------------------------------------------


def recurrence_figure(found: MultiModelRegions) -> FigureSpec:
    """Return how many models have their first split on which feature, as bars with the conditions."""
    n = len(found)
    title = effect_title(found.models[0].whole, among=counted(n, "model"))
    title = replace(title, quantity=f"first split of the {title.quantity}")
    names = distinct_names([clean(line.feature) for line in found.recurrence], LONGEST)
    lines = [
        RankedLine(
            name,
            float(line.models),
            [
                shorten(f"{line.feature}: {with_minus(line.condition)}", LONG),
                f"models {line.models}",
            ],
            beside=_conditions(line.condition),
        )
        for name, line in zip(names, found.recurrence, strict=True)
    ]
    ticks = tuple(float(k) for k in range(0, n + 1, max(1, -(-n // 5))))
    axis = PlotAxis("models", None, 0.0, float(n), 0.04, ticks)
    panel = ranked_panel(lines, axis, title=title, notes=(counted(n, "model"),))
    said = "; ".join(f"{line.name} {line.value:.0f}" for line in lines)
    return FigureSpec(((panel,),), str(title), f"{title}, number of models: {said}.")


def _conditions(condition: str) -> tuple[str, ...]:
    """Return alternatives of a condition, shorter and shorter."""
    text = with_minus(clean(condition))
    return tuple(dict.fromkeys(shorten(text, k) for k in (60, 36, 22, 12) if condition))
