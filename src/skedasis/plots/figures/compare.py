"""From several results of the same features to a figure: overlaid effects, grids of them, surfaces side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from skedasis._arguments import check_flag
from skedasis._numbers import counted, number, number_or_zero, with_minus
from skedasis._types import Floats
from skedasis.errors import DataError, UnsupportedError
from skedasis.plots.figures import effect_parts
from skedasis.plots.figures.curve_height import (
    axis_name,
    centred,
    has_mean_of_quantity,
    mean_line,
    mean_of_quantity,
    mean_over_data,
    moved,
    raised,
)
from skedasis.plots.figures.effect_parts import LONG
from skedasis.plots.figures.models import models_figure
from skedasis.plots.figures.multiples import (
    PER_PAGE,
    features_text,
    headed,
    models_effects_figure,
    named,
    on_shared_scales,
    page_of,
    side_by_side,
)
from skedasis.plots.figures.observed import cells_of, shared_labels
from skedasis.plots.figures.options import MOST_LEVELS, EffectPlotOptions
from skedasis.plots.figures.shown_levels import ShownLevels
from skedasis.plots.figures.surface import grid_text, surface_figure
from skedasis.plots.figures.titles import effect_title, surface_title
from skedasis.plots.marks import (
    Area,
    FigureSpec,
    Line,
    Mark,
    Panel,
    Points,
    Rug,
    Segments,
    Title,
    Tooltip,
    horizontal_line,
)
from skedasis.plots.scales import (
    PlotAxis,
    clean,
    distinct_names,
    extent,
    position_texts,
    rounded,
    shorten,
    zero_rounding,
)
from skedasis.results.axis import LevelAxis
from skedasis.results.build.linear_form import curve_polygon
from skedasis.results.effect import BinnedEffect, Effect, PartialDependence
from skedasis.results.effect_words import method_of
from skedasis.results.effects import Effects
from skedasis.results.keywords import CurveScale, Zero
from skedasis.results.main_stretch import main_part
from skedasis.results.multi_model import MultiModelEffect, MultiModelEffects, MultiModelSurface
from skedasis.results.regions import ALL_ROWS, Regions
from skedasis.results.surface import Surface
from skedasis.results.time_axis import align_time_axis

Comparable: TypeAlias = (
    Effect | Effects | Surface | Regions | MultiModelEffect | MultiModelEffects | MultiModelSurface
)

BANDS = 3
"""Intervals are drawn for at most this many effects; more bands would hide each other."""

MOST = 8
"""Most effects; more could not be distinguished by line style, mark and colour."""

STOPS = 40
"""Number of equidistant points at which overlaid curves are described."""


# --- any results ---------------------------------------------------------------------------------


def compare_figure(
    *results: Comparable | Sequence[Comparable] | Mapping[str, Comparable],
    labels: Sequence[str] | None = None,
    center: Zero = "mean",
    confidence_level: float = 0.95,
    scale: CurveScale | None = None,
    observed: bool = True,
) -> FigureSpec:
    """Return the figure that compares several results of the same features."""
    given, named = _given(results)
    names = named if labels is None else labels
    one = given[0] if len(given) == 1 else None
    if isinstance(one, Regions):
        # Without the whole where there is no room for another curve.
        given = [*one.effects, one.whole] if len(one) < MOST else list(one.effects)
    if isinstance(one, MultiModelEffect | MultiModelEffects | MultiModelSurface):
        m = len(next(iter(one.values()))) if isinstance(one, MultiModelEffects) else len(one)
        if labels is None:
            numbered = [f"model {i + 1}" for i in range(m)]
            names = list(one.provenance.get("model_names", numbered))
            if m > MOST and isinstance(one, MultiModelEffect):
                return models_figure(one, confidence_level, scale=scale or "difference")
            if m > MOST and isinstance(one, MultiModelEffects):
                return models_effects_figure(
                    one,
                    confidence_level=confidence_level,
                    page=None,
                    scale=scale or "difference",
                )
        if isinstance(one, MultiModelEffects):
            given = [Effects({f: e.models[i] for f, e in one.items()}) for i in range(m)]
        else:
            given = list(one.models)
    check_count(given, names)
    shown = check_flag("compare(observed)", observed, "Use observed=False to hide mean labels")
    given = [one if shown else unlabelled(one) for one in given]
    surfaces, many = _all_of(given, Surface), _all_of(given, Effects)
    if surfaces is not None:
        return _surfaces(surfaces, names)
    if many is not None:
        return overlays(many, names, center, confidence_level, page=None, scale=scale)
    effects = _all_of(given, Effect)
    if effects is None:
        kinds = list(dict.fromkeys(map(_public_name, given)))
        expected = "results of one kind: effects, Effects, or surfaces"
        fix = "Pass what sd.explain returns for the same features"
        raise UnsupportedError("compare", " and ".join(kinds), expected, fix)
    return overlay_figure(effects, names, center, confidence_level, scale=scale)


def _public_name(result: object) -> str:
    """Return the name by which a user knows the class of a result."""
    public = (Effects, Effect, Surface)
    return next((c.__name__ for c in public if isinstance(result, c)), type(result).__name__)


def _given(results: Sequence[object]) -> tuple[list[object], list[str] | None]:
    """Return results and labels from single arguments, a list, or a mapping from labels to results."""
    one = results[0] if len(results) == 1 else None
    if isinstance(one, Mapping) and not isinstance(one, MultiModelEffects):
        return list(one.values()), [str(k) for k in one]
    return list(one if isinstance(one, list | tuple) else results), None


def check_count(given: Sequence[object], labels: Sequence[str] | None) -> None:
    """Raise if there are too many results to distinguish, or not one label for each."""
    if not 1 <= len(given) <= MOST:
        got = counted(len(given), "result") if given else "no result"
        raise DataError("compare", got, f"1 to {MOST} results", f"Pass 1 to {MOST} results")
    if labels is not None and (isinstance(labels, str) or len(labels) != len(given)):
        got = "one string" if isinstance(labels, str) else counted(len(labels), "label")
        fix = "Pass one label for each result"
        raise DataError("compare(labels)", got, counted(len(given), "label"), fix)


Kind = TypeVar("Kind")


def _all_of(given: Sequence[object], kind: type[Kind]) -> list[Kind] | None:
    """Return the results if all are of this kind."""
    found = [r for r in given if isinstance(r, kind)]
    return found if len(found) == len(given) else None


def unlabelled(result: Kind) -> Kind:
    """Return an effect, or effects, without mean labels."""
    if isinstance(result, Effects):
        return replace(result, members={name: unlabelled(e) for name, e in result.items()})
    return replace(result, observed=None) if isinstance(result, Effect) else result


# --- surfaces ------------------------------------------------------------------------------------


def _surfaces(surfaces: Sequence[Surface], labels: Sequence[str] | None) -> FigureSpec:
    """Return heat maps of the same two features side by side, on one colour scale and the same axes."""
    first = surfaces[0]
    for other in surfaces[1:]:
        if other.features != first.features:
            pairs = [" and ".join(shorten(n, 40) for n in s.features) for s in (first, other)]
            got = f"surfaces of {pairs[0]!r} and of {pairs[1]!r}"
            fix = "Explain the same pair, in the same order"
            raise DataError("compare", got, "surfaces of the same two features", fix)
        if other.includes_main_effects != first.includes_main_effects:
            got, fix = (
                "surfaces with and without main effects",
                "Use with_main_effects() of the latter",
            )
            raise UnsupportedError("compare", got, "only one of the two", fix)
        _check_units(first.about.unit, other.about.unit)
    names = _labels(surfaces) if labels is None else distinct_labels(labels)
    scales = [surface_figure(s).panels[1].x for s in surfaces]
    limits = min(a.least for a in scales), max(a.most for a in scales)
    figures = [surface_figure(s, limits=limits) for s in surfaces]
    x, y = [f.main.x for f in figures], [f.main.y for f in figures]
    each: list[FigureSpec] = []
    for name, figure in zip(names, figures, strict=True):
        main, *scale = figure.stacks[0]
        main = replace(main, x=_joint(main.x, x), y=_joint(main.y, y))
        each.append(named(name, replace(figure, stacks=((main, *scale),))))
    return side_by_side(each, surface_title(*surfaces), "surface", len(each), page=None)


def _joint(axis: PlotAxis, axes: Sequence[PlotAxis]) -> PlotAxis:
    """Return an axis of numbers with the range of all axes; names of levels stay where they are."""
    return axis if any(a.labels for a in axes) else axis.spanning(axes)


# --- effects of many features --------------------------------------------------------------------


def overlays(
    many: Sequence[Effects],
    labels: Sequence[str] | None,
    center: Zero,
    confidence_level: float,
    *,
    top: int | None = PER_PAGE,
    columns: int | None = None,
    page: int | None = 1,
    quantity: str = "",
    scale: CurveScale | None = None,
) -> FigureSpec:
    """Return one overlay for each feature that all results have, the most important ones first."""
    common = common_features(many)
    first = [es[common[0]] for es in many]
    names = _labels(first, size=False) if labels is None else distinct_labels(labels)
    scale = _height(first, scale)
    each: list[FigureSpec] = []
    for place, feature in enumerate(common[:top]):
        effects = [es[feature] for es in many]
        panel, curves = overlay_panel(
            effects, names, center, confidence_level, small=True, quantity=quantity, scale=scale
        )
        sizes = [e.importance for e in effects]
        ends = dict.fromkeys(number(v) for v in (min(sizes), max(sizes)))
        notes = (f"importance {' to '.join(ends)}", *effect_parts.missing(effects[0]))
        main, alt = headed(panel, place, feature, notes), overlay_alt_text(panel, curves)
        each.append(FigureSpec(((main,),), str(panel.title), alt, order=names))
    return page_of(
        on_shared_scales(each),
        effect_title(*first, of=features_text(len(each)), quantity=quantity),
        "overlaid effects on shared scales, ordered by importance",
        len(dict.fromkeys(f for es in many for f in es)),
        columns,
        page,
        notes=(*_zero_notes(first[0], center, scale), *_label_notes(first, scale)),
    )


def common_features(many: Sequence[Effects]) -> list[str]:
    """Return the features that all results have, the largest importance first."""
    common = [f for f in many[0] if all(f in es for es in many)]
    if not common:
        got, fix = "results without a common feature", "Explain the same features"
        raise DataError("compare", got, "results of the same features", fix)
    return sorted(common, key=lambda f: -max(es[f].importance for es in many))


# --- effects of one feature ----------------------------------------------------------------------


class OverlaidCurve(NamedTuple):
    """The curve of one effect and its confidence interval, each of shape (m,)."""

    label: str
    x: Floats
    y: Floats
    lower: Floats
    upper: Floats


def overlay_figure(
    effects: Sequence[Effect],
    labels: Sequence[str] | None = None,
    center: Zero = "mean",
    confidence_level: float = 0.95,
    quantity: str = "",
    scale: CurveScale | None = None,
) -> FigureSpec:
    """Return the figure of several effects of the same feature on the same axes."""
    check_count(effects, labels)
    names = _labels(effects) if labels is None else distinct_labels(labels)
    panel, curves = overlay_panel(
        effects, names, center, confidence_level, quantity=quantity, scale=_height(effects, scale)
    )
    alt = overlay_alt_text(panel, curves)
    return FigureSpec(((panel,),), str(panel.title), alt, order=names)


def overlay_panel(
    effects: Sequence[Effect],
    names: Sequence[str],
    center: Zero,
    confidence_level: float,
    *,
    small: bool = False,
    most_levels: int = MOST_LEVELS,
    quantity: str = "",
    scale: CurveScale = "difference",
) -> tuple[Panel, list[OverlaidCurve]]:
    """Return the panel of overlaid effects, and their curves."""
    for other in effects[1:]:
        _check_comparable(effects[0], other)
    effects = [align_time_axis(e, effects[0]) for e in effects]
    first = effects[0]
    levels = ShownLevels.of_effect(first, most_levels)
    x = overlaid_horizontal(effects) if levels is None else levels.axis(first.about.feature)
    cells = None
    if _draws_labels(effects, scale):
        options = EffectPlotOptions(confidence_level=confidence_level, most_levels=most_levels)
        cells = cells_of(first, options, x)
    slots = len(effects) + (cells is not None)
    centred_already = all(e.spec.center is not None for e in effects)
    around = scale == "difference" and (center == "mean" or centred_already)
    if scale == "prediction":
        line = mean_line(*effects) if cells is None else ()
        shown = [
            moved(_minus_data_mean(e), mean_of_quantity(e)) if center == "mean" else raised(e)
            for e in effects
        ]
    else:
        shown = [_minus_data_mean(e) for e in effects] if center == "mean" else effects
        line = (horizontal_line(0.0),) if around or first.spec.derivative else ()
    curves = [
        overlaid_curve(e, name, confidence_level, levels, (i, slots), small=small)
        for i, (e, name) in enumerate(zip(shown, names, strict=True))
    ]
    # Curves determine the scale, and intervals as far as curves stay readable.
    few = curves if len(curves) <= BANDS else []
    reached = [a for c in few for a in (c.lower, c.upper)]
    drawn = [c.y for c in curves]
    if cells is not None:
        beside = 0.0 if levels is None else _offset(levels, slots, small=small) * (slots - 1) / 2
        cells = cells.labels_alone(beside)
        drawn += cells.curves()
        reached += [end for band in cells.intervals() for end in (band.lower, band.upper)]
    ends = extent(drawn)
    if reached:
        ends = effect_parts.readable_range(extent(reached), *ends)
    united = next((e for e in effects if e.about.unit), first)
    quantities = ", ".join(dict.fromkeys(shorten(e.about.quantity, LONG) for e in effects))
    known = [e for e in effects if e.rows is not None and levels is None]
    most = max(known, key=lambda e: len(e.rows or ()), default=None)
    panel = overlaid_panel(
        curves,
        x,
        PlotAxis(*axis_name(united, around=around, quantity=quantity or quantities), *ends, 0.06),
        levels,
        gaps_of=first,
        line=line,
        level=confidence_level if len(curves) <= BANDS else None,
        rug=None if most is None else effect_parts.effect_rug(most),
        height=160.0,
        title=effect_title(*effects, quantity=quantity),
        notes=(
            *(() if levels is None else levels.notes()),
            *_zero_notes(first, center, scale),
            *_label_notes(effects, scale),
            *effect_parts.missing(first),
        ),
    )
    if cells is not None:
        marks, tips = (*panel.marks, *cells.labels()), cells.added(panel.tooltips)
        panel = replace(panel, marks=marks, tooltips=tips)
    return panel, curves


def _draws_labels(effects: Sequence[Effect], scale: CurveScale) -> bool:
    return scale == "prediction" and shared_labels(effects)


def _height(effects: Sequence[Effect], scale: CurveScale | None) -> CurveScale:
    """Return how high curves are drawn: by default as predictions if mean labels are drawn over them."""
    if scale is not None:
        return scale
    raises = shared_labels(effects) and all(map(has_mean_of_quantity, effects))
    return "prediction" if raises else "difference"


def _label_notes(effects: Sequence[Effect], scale: CurveScale) -> tuple[str, ...]:
    """Return a note on where mean labels are that are not drawn."""
    kept = any(e.observed is not None for e in effects) and not _draws_labels(effects, scale)
    return ("mean labels are in the figure of each alone",) if kept else ()


def overlaid_panel(
    curves: Sequence[OverlaidCurve],
    x: PlotAxis,
    y: PlotAxis,
    levels: ShownLevels | None,
    *,
    gaps_of: Effect,
    line: Sequence[Mark],
    level: float | None,
    rug: Rug | None,
    height: float,
    title: Title,
    notes: Sequence[str],
    whole: OverlaidCurve | None = None,
    doubts: effect_parts.Doubts | None = None,
) -> Panel:
    """Return a panel of curves over each other, and behind them that of all rows, if it is given.

    Their intervals are drawn with confidence `level`, unless it is None.
    """
    hatched, words = effect_parts.hatches(doubts, y, gaps_of)
    drawn = [overlaid_marks(c, i, levels) for i, c in enumerate(curves)]
    shown = curves if whole is None else [*curves, whole]
    known = any(np.isfinite(c.lower).any() for c in curves)
    bands = [] if level is None or not known else _named([band for band, _ in drawn], level)
    marks = (
        *hatched,
        *line,
        *bands,
        *(() if whole is None else _whole_marks(whole, levels)),
        *(mark for _, marks in drawn for mark in marks),
        *(() if rug is None else (rug,)),
    )
    return Panel(
        x,
        y,
        marks,
        height,
        title,
        (*notes, *effect_parts.off_scale(y, [(c.lower, c.upper) for c in curves if bands])),
        words,
        tooltips=tuple(overlaid_tooltips(gaps_of.feature_title, x, shown, levels)),
    )


def _whole_marks(curve: OverlaidCurve, levels: ShownLevels | None) -> tuple[Mark, ...]:
    """Return the effect in all rows, thin and grey."""
    points = Points(curve.x, curve.y, "whole-vertex", ALL_ROWS)
    if levels is not None and not levels.ordered:
        return (points,)
    line = Line(curve.x, curve.y, "whole", ALL_ROWS)
    return (line,) if levels is None and len(curve.x) > 1 else (line, points)


def _named(bands: Sequence[Area | Segments], level: float) -> list[Area | Segments]:
    """Return intervals with one legend entry: of several colours, a grey one without a place of its own."""
    name = f"{100 * level:g} % interval"
    if len(bands) == 1:
        return [replace(bands[0], label=name)]
    none = np.zeros(0)
    if isinstance(bands[0], Area):
        return [*bands, Area(none, none, none, "bands", name)]
    return [*bands, Segments(none, none, none, none, "whisker", name, caps=2.7)]


def _zero_notes(first: Effect, center: Zero, scale: CurveScale) -> tuple[str, ...]:
    """Return a note on what zero is."""
    around = center == "mean" and not first.spec.derivative and scale == "difference"
    return ("each curve minus its mean",) if around else ()


def overlaid_marks(
    curve: OverlaidCurve, i: int, levels: ShownLevels | None
) -> tuple[Area | Segments, tuple[Mark, ...]]:
    """Return the interval of an effect, and its line, or its points at levels."""
    label, x, y, lower, upper = curve
    if levels is None and len(x) > 1:
        # Without marks: some points of a curve would seem to be special.
        return Area(x, lower, upper, f"hue{i}-band"), (Line(x, y, f"hue{i}", label),)
    band = Segments(x, lower, x, upper, f"hue{i}-interval")
    line = (Line(x, y, f"hue{i}-thin", label),) if levels is not None and levels.ordered else ()
    return band, (*line, Points(x, y, f"hue{i}-vertex", label))


def _check_comparable(a: Effect, b: Effect) -> None:
    """Raise if two effects cannot be drawn on the same axes."""
    if a.feature != b.feature:
        got = f"effects of {shorten(a.feature, 40)!r} and {shorten(b.feature, 40)!r}"
        fix = "Compare one feature at a time"
        raise DataError("compare", got, "effects of the same feature", fix)
    if a.spec.derivative != b.spec.derivative:
        fix = "Pass only effects with derivative=True, or only others"
        got = "derivatives and values"
        raise UnsupportedError("compare", got, "only one of the two", fix)
    if isinstance(a.axis, LevelAxis) != isinstance(b.axis, LevelAxis):
        fix = "Explain both with the same schema"
        got = f"{shorten(a.feature, 40)!r} as a categorical and as a numeric feature"
        raise UnsupportedError("compare", got, "only one of the two", fix)
    _check_units(a.about.unit, b.about.unit)


def _check_units(a: str | None, b: str | None) -> None:
    if a != b and a is not None and b is not None:
        expected, fix = "results in the same unit", "Explain the same quantity"
        raise UnsupportedError("compare", f"units {a!r} and {b!r}", expected, fix)


def _minus_data_mean(effect: Effect) -> Effect:
    """Return an effect minus its mean over the data."""
    if effect.spec.derivative:
        return effect
    if isinstance(effect, PartialDependence) and effect.spec.center is None:
        effect = centred(effect)
    size = float(np.abs(np.nan_to_num(extent([effect.value]))).max())
    return replace(effect, value=zero_rounding(effect.value - mean_over_data(effect), size))


def _labels(results: Sequence[Effect | Surface], *, size: bool = True) -> tuple[str, ...]:
    """Return the names of the methods, with quantity and size if they are equal, all different."""
    first = results[0].about.quantity
    rules = [with_minus(r.rule) if isinstance(r, Effect) else "" for r in results]
    if any(rules):
        same = len({(r.spec.method, r.about.quantity) for r in results}) == 1
        return distinct_labels(
            [
                (rule or ALL_ROWS) if same else f"{method_of(r)}, {rule or ALL_ROWS}"
                for rule, r in zip(rules, results, strict=True)
            ]
        )
    names = [
        method_of(r) if r.about.quantity == first else f"{method_of(r)} of {r.about.quantity}"
        for r in results
    ]
    return distinct_labels(
        [
            f"{n}, {_size(r)}" if size and names.count(n) > 1 else n
            for n, r in zip(names, results, strict=True)
        ]
    )


def _size(result: Effect | Surface) -> str:
    """Return the number of bins, points or levels of an effect, or of the cells of a surface."""
    if isinstance(result, Surface):
        return grid_text(result)
    if isinstance(result, BinnedEffect):
        return counted(len(result.bins), "bin")
    return counted(len(result.axis), result.axis.noun)


def distinct_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return legend entries on one line each, all different."""
    return distinct_names([clean(str(label)) for label in labels], LONG)


def overlaid_horizontal(effects: Sequence[Effect]) -> PlotAxis:
    """Return the axis of a numeric feature, with the ticks that all effects have."""
    axes = [effect_parts.horizontal(e) for e in effects]
    ticks = axes[0].ticks if len({a.ticks for a in axes}) == 1 else ()
    return replace(axes[0].spanning(axes), ticks=ticks, missing_label="", off_axis=())


def overlaid_curve(
    effect: Effect,
    label: str,
    confidence_level: float,
    levels: ShownLevels | None,
    place: tuple[int, int],
    *,
    small: bool,
) -> OverlaidCurve:
    """Return the curve of effect i of n; at levels side by side, in the order of the first effect."""
    lower = upper = np.full(len(effect.value), np.nan)
    if not effect.spec.mean_alone:
        lower, upper = effect.interval(confidence_level)
    if levels is None or not isinstance(effect.axis, LevelAxis):
        part, take = main_part(effect)
        x, y, low, high = (
            curve_polygon(part.bins, part.axis.coordinates, v)[k]
            for k, v in ((0, part.value), (1, part.value), (1, take(lower)), (1, take(upper)))
        )
        return OverlaidCurve(label, x, y, low, high)
    i, n = place
    # Levels are matched by name: the values 1 and 1.0 may be the same level.
    mine = {name: k for k, name in enumerate(effect.axis.levels.labels)}
    at = np.array([mine.get(levels.every.labels[k], -1) for k in levels.shown], dtype=np.int64)
    there = np.flatnonzero(at >= 0)
    take = at[there]
    x = levels.x[there] + _offset(levels, n, small=small) * (i - (n - 1) / 2)
    return OverlaidCurve(label, x, effect.value[take], lower[take], upper[take])


def _offset(levels: ShownLevels, n: int, *, small: bool) -> float:
    """Return how far apart n points are at a level."""
    # As far apart as a mark is wide, if possible, but not farther: the points belong to the same level.
    wide = (0.04 if small else 0.02) * len(levels)
    return min(0.56 / max(n - 1, 1), max(0.06, wide))


# --- texts ---------------------------------------------------------------------------------------


def overlay_alt_text(panel: Panel, curves: Sequence[OverlaidCurve]) -> str:
    """Return the alternative text of overlaid effects: the range of each curve, and of mean labels."""
    parts = [f"{panel.title}, overlaid."]
    labels = [
        (m.label, m.y) for m in panel.marks if isinstance(m, Points) and m.style == "observed"
    ]
    for label, y in (*((c.label, c.y) for c in curves), *labels):
        low, high = extent([y])
        if np.isfinite(low):
            top = max(abs(low), abs(high))
            ends = f"{number_or_zero(low, top)} to {number_or_zero(high, top)}"
            parts.append(f"{label}: from {ends}.")
    return " ".join(parts)


def overlaid_tooltips(
    feature: str, x: PlotAxis, curves: Sequence[OverlaidCurve], levels: ShownLevels | None
) -> Iterator[Tooltip]:
    """Yield the value of each effect at the same levels, or at `STOPS` points of the axis."""
    top = max(float(np.nanmax(np.abs(c.y), initial=0.0)) for c in curves)
    if levels is not None:
        for position, code in enumerate(levels.shown):
            lines = [shorten(levels.every.labels[code], LONG)]
            for c in curves:
                mine = c.y[np.abs(c.x - position) < 0.5]
                lines += [f"{c.label} {number_or_zero(float(v), top)}" for v in mine]
            yield Tooltip(position - 0.5, position + 0.5, "\n".join(lines))
        return
    low, high = x.range
    ends = (low, high) if np.isnan(x.least) else (x.least, x.most)
    at = np.unique(np.linspace(*ends, STOPS, dtype=np.float64))
    edges = [low, *((at[:-1] + at[1:]) / 2).tolist(), high]
    texts = position_texts(rounded(at)) if x.time is None else x.time.texts(at)
    unit = f" {shorten(x.unit, 30)}" if x.unit else ""
    values = [_along(c, at) for c in curves]
    for k, text in enumerate(texts):
        lines = [f"{shorten(feature, LONG)} = {text}{unit}"]
        for c, v in zip(curves, values, strict=True):
            lines.append(f"{c.label} {number_or_zero(float(v[k]), top)}")
        yield Tooltip(edges[k], edges[k + 1], "\n".join(lines))


def _along(curve: OverlaidCurve, at: Floats) -> Floats:
    """Return the values of a curve at some positions, NaN outside its range."""
    known = np.isfinite(curve.x) & np.isfinite(curve.y)
    if not known.any():
        return np.full(len(at), np.nan)
    return np.interp(at, curve.x[known], curve.y[known], left=np.nan, right=np.nan)
