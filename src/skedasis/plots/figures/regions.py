"""From regions to a figure: the effect in each region on one scale, the effect in all rows, and the scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from skedasis._arguments import check_int_or_none
from skedasis._numbers import counted, number, percent, sentence, with_error
from skedasis._types import Floats
from skedasis.errors import DataError
from skedasis.plots.figures import effect_parts
from skedasis.plots.figures.bars import (
    bars,
    first_of,
    interval_lines,
    line_centres,
    line_panel,
    whiskers,
)
from skedasis.plots.figures.compare import (
    BANDS,
    MOST,
    OverlaidCurve,
    overlaid_curve,
    overlaid_horizontal,
    overlaid_panel,
)
from skedasis.plots.figures.effect import has_bins
from skedasis.plots.figures.effect_parts import LONG, LONGEST
from skedasis.plots.figures.level import axis_name, level_of, mean_line, scaled
from skedasis.plots.figures.multiples import PER_PAGE, relabelled
from skedasis.plots.figures.options import MOST_LEVELS, RegionsPlotOptions
from skedasis.plots.figures.shown_levels import ShownLevels
from skedasis.plots.figures.titles import effect_title
from skedasis.plots.marks import (
    FigureSpec,
    Mark,
    Panel,
    Text,
    Title,
    horizontal_line,
    vertical_line,
)
from skedasis.plots.scales import PlotAxis, clean, distinct_names, extent, shorten
from skedasis.results.curve_words import curve_words
from skedasis.results.effect import Effect
from skedasis.results.effect_words import share_text
from skedasis.results.keywords import CurveScale, RegionsBy
from skedasis.results.main_stretch import beyond_text, main_part
from skedasis.results.regions import (
    ALL_ROWS,
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

WITHIN = "within regions"
"""Name of the score that the regions leave."""

PANEL, TOGETHER = 150.0, 190.0
"""Heights of the panels."""

TITLE = 30
"""Longest rule in the title of a panel; longer ones are in the notes below it."""

THICK, INNER = 0.66, 0.36
"""Thickness of bars, and of a bar inside another one, in units of the distance of two lines."""


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
    banded = not together or n <= BANDS
    found = region_curves(
        regions,
        shown,
        labels,
        level,
        MOST_LEVELS,
        together=together,
        bands=banded,
        scale=view.scale,
    )
    title = _title(regions)
    if together:
        stacks, named = [(_together(regions, found),)], [title]
    else:
        stacks = [(_region_panel(regions, i, found),) for i in shown]
        named = [effect_title(e) for e in found.effects]
    if view.scores and n > 1 and math.isfinite(regions.scores.whole):
        stacks.append((_scores(regions, labels, level),))
        named.append(replace(title, quantity=f"heterogeneity of the {title.quantity}"))
    columns = len(stacks) if len(stacks) <= 3 else 2 if len(stacks) == 4 else 3
    return FigureSpec(
        tuple(stacks),
        str(title),
        _alt_text(regions, labels, found.effects),
        columns=columns if view.columns is None else view.columns,
        column_width=150.0 if view.columns is None else 0.0,
        widths=(1.9, 1.0) if together and len(stacks) > 1 else (),
        heading=title if len(stacks) > 1 else Title(),
        stack_titles=tuple(map(str, named)),
        notes=_figure_notes(regions, view, len(labels)),
        order=(*(labels if together else ("region",)), ALL_ROWS),
    )


def region_labels(regions: Regions) -> tuple[str, ...]:
    """Return the numbers and the rules of regions, shortened: "[0] workingday = 0"."""
    if len(regions) == 1:
        return tuple(shorten(clean(rule), LONGEST) for rule in regions.rules)
    return tuple(f"[{i}] {shorten(clean(rule), LONGEST)}" for i, rule in enumerate(regions.rules))


def _title(regions: Regions) -> Title:
    return effect_title(regions.whole, among=counted(len(regions), "region"))


def _figure_notes(regions: Regions, view: RegionsPlotOptions, shown: int) -> tuple[str, ...]:
    notes = [summary_text(regions)]
    if view.kind == "together":  # panels have notes of their own
        notes += [shorten(clean(text), LONGEST) for text in alternatives(regions)]
    if shown < len(regions):
        notes.append(f"the first {shown} of {len(regions):,} regions")
    if view.kind == "panels" or len(regions) <= BANDS:
        notes.append(f"bands: {100 * view.confidence_level:g} % intervals")
    if view.scores and len(regions) > 1 and not math.isfinite(regions.scores.whole):
        notes.append("heterogeneity scores not computed")
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


def region_curves(
    regions: Regions,
    chosen: Sequence[int],
    labels: Sequence[str],
    level: float,
    most_levels: int,
    *,
    together: bool,
    bands: bool,
    scale: CurveScale = "difference",
) -> RegionCurves:
    """Return the curves of some regions on axes on which they, and with `bands` their intervals, are readable."""
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
    low, high = extent([c.y for c in (*curves, all_rows)])
    if bands:
        ends = extent([end for c in curves for end in (c.lower, c.upper)])
        low, high = effect_parts.readable_range(ends, low, high)
    y = PlotAxis(*axis_name(whole, around=around), low, high, 0.06)
    line: tuple[Mark, ...] = ()
    if scale == "prediction":
        line = mean_line(level_of(regions.whole))
    elif around or whole.spec.derivative:
        line = (horizontal_line(0.0),)
    return RegionCurves(effects, curves, all_rows, x, y, levels, line)


def _region_panel(regions: Regions, i: int, found: RegionCurves) -> Panel:
    effect, curve, several = found.effects[i], found.curves[i], len(regions) > 1
    part = main_part(effect).effect
    rug = effect_parts.effect_rug(effect) if found.levels is None else None
    title, notes = Title(curve.label) if several else _title(regions), _region_notes(regions, i)
    others = [shorten(clean(another_text(s)), LONGEST) for s in unstable_splits(regions, i)]
    if others or (max(map(len, regions.rules)) > TITLE and several):
        # Notes are broken into lines, titles are cut; and a title would state the rule as a finding.
        title = Title(f"[{i}]")
        notes = (shorten(clean(regions.rules[i]), LONGEST), *others, *notes)
    panel = overlaid_panel(
        [curve],
        found.x,
        found.y,
        found.levels,
        gaps_of=regions.whole,
        line=found.line,
        bands=True,
        rug=None if rug is None else replace(rug, label="rows, or quantiles"),
        small=True,
        height=PANEL,
        title=title,
        notes=notes,
        whole=found.whole if several else None,
        doubts=effect_parts.doubts(part.bins) if found.levels is None and has_bins(part) else None,
    )
    return replace(
        panel,
        marks=relabelled(panel.marks, {curve.label: "region"}),
        texts=panel.texts if len(effect_parts.hatched_gaps(regions.whole)[0]) else (),
    )


def _region_notes(regions: Regions, i: int) -> tuple[str, ...]:
    """Return the rows of a region, their share, and its score."""
    node = regions.leaves[i]
    notes = [counted(node.count, "row")]
    if len(regions) > 1:
        notes.append(percent(float(regions.shares[i])))
    score, error = float(regions.scores.regions[i]), float(regions.scores.regions_error[i])
    if math.isfinite(score):
        notes.append(f"heterogeneity score {with_error(score, error, regions.scores.whole)}")
    return tuple(notes)


def _together(regions: Regions, found: RegionCurves) -> Panel:
    return overlaid_panel(
        found.curves,
        found.x,
        found.y,
        found.levels,
        gaps_of=regions.whole,
        line=found.line,
        bands=len(found.curves) <= BANDS,
        rug=effect_parts.effect_rug(regions.whole) if found.levels is None else None,
        small=False,
        height=TOGETHER,
        title=effect_title(regions.whole),
        notes=(counted(regions.nodes[0].count, "row"), counted(len(found.curves), "region")),
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


def _scores(regions: Regions, labels: Sequence[str], level: float) -> Panel:
    """Return the heterogeneity scores of all rows, of each region and within the regions, as bars."""
    scores, shown = regions.scores, len(labels)
    value = np.array([scores.whole, *scores.regions[:shown], scores.within])
    error = np.array([scores.whole_error, *scores.regions_error[:shown], scores.within_error])
    names = (ALL_ROWS, *(f"[{i}]" for i in range(shown)), WITHIN)
    said = (ALL_ROWS, *labels, WITHIN)
    return _bars(
        PlotAxis("heterogeneity score", regions.about.unit, 0.0, 1.0, 0.04),
        names,
        said,
        value,
        _score_ends(value, error, level),
        styles=("before", *["bar"] * shown, "bar-hatched"),
        interval=f"{100 * level:g} % interval",
        title=Title("Heterogeneity"),
    )


def _bars(
    x: PlotAxis,
    names: Sequence[str],
    said: Sequence[str],
    value: Floats,
    ends: tuple[Floats, Floats],
    *,
    styles: Sequence[str],
    interval: str,
    title: Title,
) -> Panel:
    """Return a panel of horizontal bars with whiskers."""
    lower, upper = ends
    top = float(np.nanmax(value, initial=0.0)) or 1.0
    # An interval may be many times as long as its bar: it does not determine the scale alone.
    most = float(np.nanmax(np.append(np.fmin(upper, 1.6 * top), top)))
    y = line_centres(len(names))
    marks: list[Mark] = []
    for style in dict.fromkeys(styles):
        mine = np.array([s == style for s in styles]) & np.isfinite(value)
        marks.append(bars(y[mine], value[mine], style, thick=THICK))
    marks += [*whiskers(y, lower, upper, interval, 4.0), vertical_line(0.0)]
    unit = f" {clean(x.unit)}" if x.unit else ""
    tips = [
        "\n".join(
            [shorten(text, LONG), f"{x.name} {number(v)}{unit}", *interval_lines(interval, a, b)]
        )
        for text, v, a, b in zip(said, value.tolist(), lower.tolist(), upper.tolist(), strict=True)
    ]
    return line_panel(replace(x, least=0.0, most=most), names, marks, tips, title=title)


def _alt_text(regions: Regions, labels: Sequence[str], effects: Sequence[Effect]) -> str:
    """Return the alternative text: what the regions explain, and each curve in words."""
    parts = [f"{_title(regions)}. {sentence(summary_text(regions))}"]
    parts += [f"{label}: {curve_words(e)}." for label, e in zip(labels, effects, strict=True)][:8]
    if len(effects) > 8:
        parts.append(f"And {len(effects) - 8} more regions.")
    said = beyond_text(regions.whole)
    parts += [f"{said}."] if said else []
    scores = regions.scores
    if math.isfinite(scores.whole) and len(regions) > 1:
        before = with_error(scores.whole, scores.whole_error)
        after = with_error(scores.within, scores.within_error)
        parts.append(f"Heterogeneity score {before} in all rows, {after} within the regions.")
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
    y = line_centres(len(shown))
    title = effect_title(*(r.whole for r in shown), of=counted(len(shown), "feature"))
    split = np.array([len(r) > 1 for r in shown])
    if any(math.isfinite(r.scores.whole) for r in shown):
        quantity = f"heterogeneity of the {title.quantity}, before and after the split"
        before = np.array([r.scores.whole for r in shown])
        after = np.array([r.scores.within for r in shown])
        most = _largest(np.append(before, after))
        x = PlotAxis("heterogeneity score", shown[0].about.unit, 0.0, AROUND * most, 0.04)
        marks: list[Mark] = [bars(y, np.nan_to_num(before), "before", ALL_ROWS, thick=THICK)]
        known = split & np.isfinite(after)
        if known.any():
            marks.append(bars(y[known], after[known], "bar", WITHIN, thick=INNER))
    else:
        quantity = "part of the loss that regions explain"
        shares = np.array([np.clip(r.loss_explained, 0.0, 1.0) for r in shown])
        before = 100 * np.where(split, shares, 0.0)
        most = _largest(before)
        # No share is larger than 100 %.
        ticks = tuple(float(t) for t in range(0, 101, 20) if t <= AROUND * most)
        x = PlotAxis("explained by regions", "% of the loss", 0.0, AROUND * most, 0.04, ticks)
        marks = [bars(y, np.nan_to_num(before), "bar", thick=THICK)]
    title = replace(title, quantity=quantity)
    room = (0.0, AROUND * most * 1.04, -np.inf, np.inf)
    ends = (np.nan_to_num(before) + 0.02 * most).tolist()
    panel = line_panel(
        x,
        names,
        [*marks, vertical_line(0.0)],
        [_overview_tip(r) for r in shown],
        title=title,
        notes=_overview_notes(found, shown, by),
        texts=[
            Text(end, at, _first_split(r), "value", room, 1)
            for r, end, at in zip(shown, ends, y.tolist(), strict=True)
            if len(r) > 1
        ],
        features=[r.feature for r in shown],
    )
    said = [f"{shorten(n, LONG)}: {summary_text(r)}" for n, r in zip(names, shown, strict=True)]
    return FigureSpec(((panel,),), str(title), f"{title}. {first_of(said)}.")


AROUND = 1.5
"""Length of the axis of an overview in units of the longest bar: a third of the panel is left for the first splits."""


def _largest(values: Floats) -> float:
    return float(np.nanmax(values, initial=0.0)) or 1.0


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


def _overview_tip(regions: Regions) -> str:
    lines = [shorten(regions.feature_title, LONG), summary_text(regions)]
    scores = regions.scores
    if math.isfinite(scores.whole):
        lines.append(f"heterogeneity score {with_error(scores.whole, scores.whole_error)}")
        if len(regions) > 1:
            lines.append(f"{WITHIN} {with_error(scores.within, scores.within_error)}")
    lines += [f"[{i}] {shorten(rule, LONG)}" for i, rule in enumerate(regions.rules[:8])]
    return "\n".join(lines)


# --- regions for several models -------------------------------------------------------------------


def recurrence_figure(found: MultiModelRegions) -> FigureSpec:
    """Return how many models have their first split on which feature, as bars with the conditions."""
    lines = found.recurrence
    n = len(found)
    y = line_centres(len(lines))
    models = np.array([float(line.models) for line in lines])
    none = np.full(len(lines), np.nan)
    names = distinct_names([clean(line.feature) for line in lines], LONGEST)
    title = effect_title(found.models[0].whole, among=counted(n, "model"))
    panel = _bars(
        PlotAxis("models", None, 0.0, 1.0, 0.04),
        names,
        [f"{line.feature}: {line.condition}" for line in lines],
        models,
        (none, none),
        styles=["bar"] * len(lines),
        interval="",
        title=replace(title, quantity=f"first split of the {title.quantity}"),
    )
    room = (0.0, 1.6 * n, -np.inf, np.inf)
    texts = tuple(
        Text(
            float(m) + 0.02 * n,
            float(at),
            tuple(dict.fromkeys(shorten(clean(line.condition), k) for k in (60, 36, 22, 12))),
            "value",
            room,
            1,
        )
        for line, m, at in zip(lines, models, y, strict=True)
        if line.condition
    )
    step = max(1, -(-n // 5))
    ticks = tuple(float(k) for k in range(0, n + 1, step))
    panel = replace(
        panel,
        x=replace(panel.x, most=1.6 * n, ticks=ticks),
        texts=texts,
        notes=(counted(n, "model"),),
    )
    said = "; ".join(f"{name} {line.models}" for name, line in zip(names, lines, strict=True))
    return FigureSpec(((panel,),), str(panel.title), f"{panel.title}, number of models: {said}.")
