"""From regions to a figure: the effect in each region on one scale, the effect in all rows, and the scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skedasis._arguments import check_int_or_none
from skedasis._types import Floats
from skedasis.errors import DataError
from skedasis.plots.figures import effect_parts
from skedasis.plots.figures.categorical import Places
from skedasis.plots.figures.compare import (
    BANDS,
    MOST,
    OverlaidCurve,
    curve_at_levels,
    curve_of,
    overlaid_horizontal,
    overlaid_marks,
    overlaid_tooltips,
    overlaid_vertical,
)
from skedasis.plots.figures.effect import has_bins
from skedasis.plots.figures.effect_parts import LONG, LONGEST
from skedasis.plots.figures.importance import line_axis, line_centres
from skedasis.plots.figures.multiples import PER_PAGE
from skedasis.plots.figures.options import MOST_LEVELS, RegionsPlotOptions
from skedasis.plots.figures.titles import effect_title
from skedasis.plots.marks import (
    FigureSpec,
    Line,
    Mark,
    Panel,
    Points,
    Rectangles,
    Segments,
    Text,
    Title,
    Tooltip,
    horizontal_line,
    vertical_line,
)
from skedasis.plots.scales import (
    PlotAxis,
    clean,
    counted,
    distinct_names,
    extent,
    number,
    sentence,
    shorten,
    with_error,
)
from skedasis.results.axis import LevelAxis
from skedasis.results.curve_words import curve_words
from skedasis.results.effect import Effect
from skedasis.results.effect_words import percent_text, share_text
from skedasis.results.keywords import RegionsBy, Zero
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
    n = len(regions)
    if view.kind == "together" and n > MOST:
        fix = "Use kind='panels'"
        got = f"{n} regions with kind='together'"
        raise DataError("plot(kind)", got, f"at most {MOST} regions", fix)
    whole = regions.whole
    effects = [align_time_axis(e, whole) for e in regions.effects[:PER_PAGE]]
    places = None
    if isinstance(whole.axis, LevelAxis):
        places = Places.of(whole.about.feature, whole.axis.levels, MOST_LEVELS)
    labels = region_labels(regions)[:PER_PAGE]
    # Several curves at the same levels are side by side.
    together = view.kind == "together"
    count = len(effects) + 1 if together else 2
    level = view.confidence_level
    curves = [
        region_curve(e, label, level, places, (i if together else 0, count))
        for i, (e, label) in enumerate(zip(effects, labels, strict=True))
    ]
    all_rows = region_curve(whole, ALL_ROWS, level, places, (count - 1, count))
    x = horizontal_of_regions(whole, effects, places)
    y = vertical_of_regions(whole, effects, [*curves, all_rows], bands=not together or n <= BANDS)
    if together:
        stacks = [(_together(regions, effects, curves, all_rows, x, y, places),)]
    else:
        stacks = [
            (_region_panel(regions, i, effects[i], curves[i], all_rows, x, y, places),)
            for i in range(len(effects))
        ]
    bars = _scores(regions, labels, level) if view.scores and n > 1 else None
    if bars is not None:
        stacks.append((bars,))
    notes = _figure_notes(regions, view, len(effects))
    title = _title(regions)
    named = [title] if together else [effect_title(e) for e in effects]
    if bars is not None:
        named.append(replace(title, quantity=f"heterogeneity of the {title.quantity}"))
    return FigureSpec(
        tuple(stacks),
        str(title),
        _alt_text(regions, labels, effects),
        columns=_columns(len(stacks), view),
        column_width=150.0 if view.columns is None else 0.0,
        widths=(1.9, 1.0) if together and bars is not None else (),
        heading=title if len(stacks) > 1 else Title(),
        stack_titles=tuple(map(str, named)),
        notes=notes,
        order=(*(labels if together else ("region",)), ALL_ROWS),
    )


def region_labels(regions: Regions) -> tuple[str, ...]:
    """Return the numbers and the rules of regions, shortened: "[0] workingday = 0"."""
    if len(regions) == 1:
        return tuple(shorten(clean(rule), LONGEST) for rule in regions.rules)
    return tuple(f"[{i}] {shorten(clean(rule), LONGEST)}" for i, rule in enumerate(regions.rules))


def _title(regions: Regions) -> Title:
    return effect_title(regions.whole, among=counted(len(regions), "region"))


def _columns(stacks: int, view: RegionsPlotOptions) -> int:
    if view.columns is not None:
        return view.columns
    return stacks if stacks <= 3 else 2 if stacks == 4 else 3


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


def _centre(effect: Effect) -> Zero:
    return None if effect.spec.center is None else "mean"


def region_curve(
    effect: Effect, label: str, level: float, places: Places | None, place: tuple[int, int]
) -> OverlaidCurve:
    """Return the curve of a region with its interval; at levels, the i-th of n side by side for `place` (i, n)."""
    if places is None:
        return curve_of(effect, label, level)
    return curve_at_levels(effect, label, level, places, place, small=True)


def horizontal_of_regions(
    whole: Effect, effects: Sequence[Effect], places: Places | None
) -> PlotAxis:
    if places is not None:
        return places.axis(whole.about.feature)
    return overlaid_horizontal([whole, *effects])


def vertical_of_regions(
    whole: Effect, effects: Sequence[Effect], curves: Sequence[OverlaidCurve], *, bands: bool
) -> PlotAxis:
    """Return the vertical axis of all panels, in which curves, and intervals as far as possible, are readable."""
    axis = overlaid_vertical([whole, *effects], curves, _centre(whole))
    low, high = extent([c.y for c in curves])
    # The last curve is that of all rows, without a band.
    least, most = extent([end for c in curves[:-1] for end in (c.lower, c.upper)])
    if bands and np.isfinite([least, most]).all():
        span = high - low if high > low else np.inf
        low = np.fmin(low, max(least, low - span / 2))
        high = np.fmax(high, min(most, high + span / 2))
    return replace(axis, least=float(low), most=float(high))


def whole_marks(curve: OverlaidCurve, places: Places | None) -> tuple[Mark, ...]:
    """Return the effect in all rows, thin and grey."""
    points = Points(curve.x, curve.y, "whole-vertex", ALL_ROWS)
    if places is not None and not places.ordered:
        return (points,)
    line = Line(curve.x, curve.y, "whole", ALL_ROWS)
    return (line,) if places is None and len(curve.x) > 1 else (line, points)


def _region_panel(
    regions: Regions,
    i: int,
    effect: Effect,
    curve: OverlaidCurve,
    all_rows: OverlaidCurve,
    x: PlotAxis,
    y: PlotAxis,
    places: Places | None,
) -> Panel:
    band, line = overlaid_marks(curve._replace(label="region"), 0, places, small=True)
    gaps = effect_parts.hatched_gaps(regions.whole)
    part = main_part(effect).effect
    doubts = effect_parts.doubts(part.bins) if places is None and has_bins(part) else None
    hatched, words = effect_parts.hatches(doubts, y, gaps)
    rug = effect_parts.effect_rug(effect) if places is None else None
    marks = (
        *hatched,
        *((horizontal_line(0.0),) if has_zero(effect) else ()),
        band,
        *(whole_marks(all_rows, places) if len(regions) > 1 else ()),
        *line,
        *(() if rug is None else (replace(rug, label="rows, or quantiles"),)),
    )
    shown = [curve, all_rows] if len(regions) > 1 else [curve]
    title = Title(curve.label) if len(regions) > 1 else _title(regions)
    notes = _region_notes(regions, i)
    others = [shorten(clean(another_text(s)), LONGEST) for s in unstable_splits(regions, i)]
    if others or (max(map(len, regions.rules)) > TITLE and len(regions) > 1):
        # Notes are broken into lines, titles are cut; and a title would state the rule as a finding.
        title = Title(f"[{i}]")
        notes = (shorten(clean(regions.rules[i]), LONGEST), *others, *notes)
    return Panel(
        x,
        y,
        marks,
        PANEL,
        title=title,
        notes=notes,
        texts=words if len(gaps[0]) else (),
        tooltips=tuple(overlaid_tooltips(regions.feature_title, x, shown, places)),
    )


def has_zero(effect: Effect) -> bool:
    """Return whether zero is a value of the effect that needs a line."""
    return _centre(effect) is not None or effect.spec.derivative


def _region_notes(regions: Regions, i: int) -> tuple[str, ...]:
    """Return the rows of a region, their share, and its score."""
    node = regions.leaves[i]
    notes = [counted(node.count, "row")]
    if len(regions) > 1:
        notes.append(percent_text(float(regions.shares[i])))
    score, error = float(regions.scores.regions[i]), float(regions.scores.regions_error[i])
    if math.isfinite(score):
        notes.append(f"heterogeneity score {with_error(score, error, regions.scores.whole)}")
    return tuple(notes)


def _together(
    regions: Regions,
    effects: Sequence[Effect],
    curves: Sequence[OverlaidCurve],
    all_rows: OverlaidCurve,
    x: PlotAxis,
    y: PlotAxis,
    places: Places | None,
) -> Panel:
    drawn = [overlaid_marks(c, i, places, small=False) for i, c in enumerate(curves)]
    rug = None
    if places is None and regions.whole.rows is not None:
        rug = effect_parts.effect_rug(regions.whole)
    hatched, words = effect_parts.hatches(None, y, effect_parts.hatched_gaps(regions.whole))
    marks = (
        *hatched,
        *((horizontal_line(0.0),) if has_zero(regions.whole) else ()),
        *((band for band, _ in drawn) if len(curves) <= BANDS else ()),
        *(whole_marks(all_rows, places) if len(curves) > 1 else ()),
        *(mark for _, marks in drawn for mark in marks),
        *(() if rug is None else (rug,)),
    )
    shown = [*curves, all_rows] if len(curves) > 1 else curves
    return Panel(
        x,
        y,
        marks,
        TOGETHER,
        title=effect_title(regions.whole),
        notes=(counted(regions.nodes[0].count, "row"), counted(len(effects), "region")),
        texts=words,
        tooltips=tuple(overlaid_tooltips(regions.feature_title, x, shown, places)),
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


def _scores(regions: Regions, labels: Sequence[str], level: float) -> Panel | None:
    """Return the heterogeneity scores of all rows, of each region and within the regions, as bars."""
    scores = regions.scores
    if not math.isfinite(scores.whole):
        return None
    shown = len(labels)
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
    axis = replace(x, least=0.0, most=most)
    y = line_centres(len(names))
    marks: list[Mark] = []
    for style in dict.fromkeys(styles):
        mine = np.array([s == style for s in styles]) & np.isfinite(value)
        bars = (np.zeros(int(mine.sum())), value[mine], y[mine] - THICK / 2, y[mine] + THICK / 2)
        marks.append(Rectangles(*bars, style))
    known = np.isfinite(lower) & np.isfinite(upper)
    if known.any():
        at = (lower[known], y[known], upper[known], y[known])
        marks.append(Segments(*at, "whisker", interval, caps=4.0))
    marks.append(vertical_line(0.0))
    unit = f" {clean(x.unit)}" if x.unit else ""
    tips = [
        Tooltip(
            -np.inf,
            np.inf,
            "\n".join(
                [
                    shorten(text, LONG),
                    f"{x.name} {number(float(v))}{unit}",
                    *([f"{interval} {number(float(a))} to {number(float(b))}"] if k else []),
                ]
            ),
            float(at) - 0.5,
            float(at) + 0.5,
        )
        for text, v, a, b, k, at in zip(said, value, lower, upper, known, y, strict=True)
    ]
    return Panel(
        axis,
        line_axis(names),
        tuple(marks),
        title=title,
        grid="x",
        rows=len(names),
        tooltips=tuple(tips),
    )


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
    found: RegionsByFeature, by: RegionsBy = "heterogeneity_score", top: int | None = 30
) -> FigureSpec:
    """Return the heterogeneity of features before and after the split into regions, with the first split of each."""
    top = check_int_or_none("plot(top)", top, 1, "Use 20, or None")
    ranks = found.ranking(by)
    if not ranks:
        raise DataError("plot", "no feature", "at least one feature", "Explain some features")
    shown = [found[r.feature] for r in ranks[:top]]
    first = shown[0]
    names = distinct_names([clean(r.feature_title) for r in shown], LONGEST)
    y = line_centres(len(shown))
    scored = any(math.isfinite(r.scores.whole) for r in shown)
    before = np.array(
        [r.scores.whole if scored else np.clip(r.loss_explained, 0.0, 1.0) for r in shown]
    )
    after = np.array([r.scores.within for r in shown])
    title = effect_title(*(r.whole for r in shown), of=counted(len(shown), "feature"))
    if scored:
        x = PlotAxis("heterogeneity score", first.about.unit, 0.0, 1.0, 0.04)
        styles, what = (
            ("before", "bar"),
            f"heterogeneity of the {title.quantity}, before and after the split",
        )
    else:
        before = 100 * np.where([len(r) > 1 for r in shown], before, 0.0)
        x = PlotAxis("explained by regions", "% of the loss", 0.0, 1.0, 0.04)
        styles, what = ("bar", "bar"), "part of the loss that regions explain"
    title = replace(title, quantity=what)
    most = float(np.nanmax(np.append(before, after if scored else 0.0), initial=0.0)) or 1.0
    # A third of the panel is left for the first splits.
    axis = replace(x, least=0.0, most=1.5 * most)
    if not scored:  # no share is larger than 100 %
        axis = replace(
            axis, ticks=tuple(t for t in (0.0, 20.0, 40.0, 60.0, 80.0, 100.0) if t <= 1.5 * most)
        )
    marks: list[Mark] = [
        Rectangles(
            np.zeros(len(shown)),
            np.nan_to_num(before),
            y - THICK / 2,
            y + THICK / 2,
            styles[0],
            ALL_ROWS if scored else "",
        )
    ]
    split = np.array([len(r) > 1 for r in shown]) & np.isfinite(after)
    if scored and split.any():
        at = y[split]
        zero = np.zeros(int(split.sum()))
        bars = (zero, after[split], at - INNER / 2, at + INNER / 2)
        marks.append(Rectangles(*bars, styles[1], WITHIN))
    marks.append(vertical_line(0.0))
    texts = tuple(
        Text(
            float(np.nan_to_num(value)) + 0.02 * most,
            float(at),
            _first_split(r),
            "value",
            (0.0, 1.5 * most * 1.04, -np.inf, np.inf),
            1,
        )
        for r, value, at in zip(shown, before, y, strict=True)
        if len(r) > 1
    )
    tips = tuple(
        Tooltip(
            -np.inf, np.inf, _overview_tip(r), float(at) - 0.5, float(at) + 0.5, feature=r.feature
        )
        for r, at in zip(shown, y, strict=True)
    )
    panel = Panel(
        axis,
        line_axis(names),
        tuple(marks),
        title=title,
        notes=_overview_notes(found, shown, by),
        texts=texts,
        grid="x",
        rows=len(names),
        tooltips=tips,
    )
    listed = "; ".join(
        f"{shorten(name, LONG)}: {summary_text(r)}"
        for name, r in zip(names[:5], shown, strict=False)
    )
    more = f"; and {len(shown) - 5} more" if len(shown) > 5 else ""
    return FigureSpec(((panel,),), str(title), f"{title}. {listed}{more}.")


def _overview_notes(
    found: RegionsByFeature, shown: Sequence[Regions], by: RegionsBy
) -> tuple[str, ...]:
    hidden, total = len(found) - len(shown), counted(len(found), "feature")
    none = sum(len(r) == 1 for r in shown)
    notes = [f"ordered by {by.replace('_', ' ')}"]
    notes += ["one partition for all features"] if found.joint else []
    notes += [f"{counted(none, 'feature')} without a split"] if none else []
    notes += [f"{hidden:,} of {total} not shown"] if hidden else []
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
