"""From a result of several models to a figure: the mean, its confidence interval, and what each model says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skedasis._numbers import counted, number_or_zero
from skedasis._types import Floats, Values
from skedasis.plots.figures import effect_parts, effect_texts
from skedasis.plots.figures.curve_height import axis_name, lift, mean_line, mean_of_quantity
from skedasis.plots.figures.effect_parts import Band
from skedasis.plots.figures.importance import bar_figure, display_order
from skedasis.plots.figures.main_panel import HALF_WIDTHS, ROWS_HALF_WIDTH
from skedasis.plots.figures.options import MOST_LEVELS
from skedasis.plots.figures.shown_levels import ShownLevels
from skedasis.plots.figures.titles import effect_title, importance_title
from skedasis.plots.marks import (
    CurveSet,
    FigureSpec,
    Mark,
    Panel,
    Rectangles,
    Rug,
    Segments,
    horizontal_line,
)
from skedasis.plots.scales import PlotAxis, extent
from skedasis.results.axis import LevelAxis, NumericAxis
from skedasis.results.build.linear_form import curve_polygon
from skedasis.results.effect import AnyMPlot
from skedasis.results.importance import Importance
from skedasis.results.keywords import CurveScale, IntervalTarget
from skedasis.results.main_stretch import (
    along,
    beyond_text,
    joint_stretch,
    main_part,
    stretch_points,
)
from skedasis.results.multi_model import MultiModelEffect, MultiModelImportance

MEAN, EACH, BETWEEN = "mean", "each model", "± standard deviation between models"

VERTICES = 13
"""A curve of at most this many points has marks."""


def models_figure(
    found: MultiModelEffect,
    confidence_level: float = 0.95,
    of: IntervalTarget | None = None,
    scale: CurveScale = "difference",
) -> FigureSpec:
    """Return the figure of one feature's effect for several models."""
    panel = _panel(found, confidence_level, of, scale)
    return FigureSpec(((panel,),), str(panel.title), _alt_text(panel), order=(MEAN,))


def models_importance_figure(
    found: MultiModelImportance,
    *,
    features: Sequence[str] | None = None,
    top: int | None = None,
    confidence_level: float = 0.95,
    of: IntervalTarget | None = None,
) -> FigureSpec:
    """Return a bar chart of importances for several models: means as bars, models as dots, most important first."""
    stand = _models_as_repeats(found)
    chosen = display_order(stand, features, top)
    lower, upper = found.interval(confidence_level, of)
    models, label = counted(len(found), "model"), interval_label(found, confidence_level, of)
    return bar_figure(
        stand,
        chosen,
        found.mean[chosen],
        (lower[chosen], upper[chosen]),
        found.values.T[chosen],
        label,
        importance_title(stand, among=models),
        (models, _rows(found)),
        mean=MEAN,
        dots=EACH,
    )


def _models_as_repeats(found: MultiModelImportance) -> Importance:
    """Return an importance whose repeats are the models: features are chosen and ordered by the mean."""
    return replace(
        found.models[0],
        values=found.values.T.copy(),
        std_error=found.std_error.copy(),
        df=found.df.copy(),
        local=None,
    )


def _panel(
    found: MultiModelEffect, confidence_level: float, of: IntervalTarget | None, scale: CurveScale
) -> Panel:
    """Return the panel with the mean, its interval, and above the interval, which would hide them, all models."""
    categorical, levels = isinstance(found.axis, LevelAxis), None
    label = interval_label(found, confidence_level, of)
    drawn, numbers = found if categorical else _bent(found), _names(found)
    (named, line, up), model = _height(found, scale), found.models[0]
    at, value, each = drawn.axis.coordinates, drawn.value + up, drawn.values + up
    lower, upper = (end + up for end in drawn.interval(confidence_level, of))
    if not categorical:
        some = stretch_points(at, *joint_stretch(found.models))
        value, each, lower, upper = (along(some, at, v) for v in (value, each, lower, upper))
        at = some
    ends = extent([lower, upper])
    y = PlotAxis(*named, *effect_parts.readable_range(ends, *extent([each]), share=1.0), 0.06)
    marked, join, rug = None, "line", None
    notes = [counted(len(found), "model"), _rows(found), *_reach(found)]
    hatched, words = effect_parts.hatches(None, y, model)
    if isinstance(found.axis, LevelAxis):
        levels = ShownLevels.of(found.about.feature, found.axis.levels, MOST_LEVELS)
        at, x, join = levels.x, levels.axis(found.about.feature), "thin" if levels.ordered else ""
        value, each, lower, upper = (v[..., levels.shown] for v in (value, each, lower, upper))
        sides = at - HALF_WIDTHS["interval"], at + HALF_WIDTHS["interval"]
        band: Mark = Rectangles(*sides, lower, upper, "interval", label)
        notes += levels.notes()[1:]
    else:
        points = found.axis.coordinates
        x, rug = _horizontal(found, at), _rug(found)
        notes += dict.fromkeys(text for e in found.models if (text := beyond_text(e)))
        band = effect_parts.area(Band(at, lower, upper, label), "interval")
        marked = np.flatnonzero(np.isin(at, points if len(points) <= VERTICES else points[:0]))
    between = _between(value, each)
    curves: Mark = CurveSet(at, each, "model", EACH, rows=numbers, each="model")
    if not join or len(at) == 1:  # without an order, and at a single point, no curve
        shift = ROWS_HALF_WIDTH * np.linspace(-1, 1, len(found) + 2)[1:-1]
        around, y0 = np.add.outer(shift if categorical else 0 * shift, at).ravel(), each.ravel()
        curves = Segments(around, y0, around, y0, "model-dash", EACH, reach=1.7)
    marks = (
        *hatched,
        *line,
        band,
        curves,
        *effect_parts.average(at, value, MEAN, vertices=marked, join=join),
        *(() if rug is None else (rug,)),
    )
    said = Band(at, value - between, value + between, BETWEEN), Band(at, lower, upper, label)
    tips = (
        effect_texts.point_tooltips(model, x, y.unit, (at, value, MEAN), said)
        if levels is None
        else effect_texts.level_tooltips(levels.names, None, (value, MEAN, y.unit), said)
    )
    return Panel(
        x,
        y,
        marks,
        height=160.0,
        title=effect_title(model, among=counted(len(found), "model")),
        notes=tuple(notes),
        texts=words,
        tooltips=tuple(tips),
    )


def _height(
    found: MultiModelEffect, scale: CurveScale
) -> tuple[tuple[str, str | None], Sequence[Segments], float]:
    """Return name and unit of the vertical axis, the line of the mean, and what is added to all curves."""
    model, center = found.models[0], found.spec.center
    if scale == "prediction":
        # The mean of the models is at the mean of their means.
        mean, up = np.mean([(mean_of_quantity(e), lift(e)) for e in found.models], axis=0).tolist()
        return axis_name(model), mean_line(*found.models, mean=mean), up
    around = center is not None
    line = (horizontal_line(0.0),) if around or found.spec.derivative else ()
    return axis_name(model, around=around), line, 0.0


def _names(found: MultiModelEffect) -> Values:
    """Return the names of the models for tooltips, or their numbers from 1; words stay together."""
    named = found.provenance.get("model_names")
    if named is None:
        return np.arange(1, len(found) + 1)
    return np.array(["\u00a0".join(name.split()) for name in named])


def _between(value: Floats, each: Floats) -> Floats:
    """Return the standard deviation between the models at each point; NaN where fewer than two are known."""
    known = np.count_nonzero(~np.isnan(each), axis=0)
    squares = np.nansum((each - value) ** 2, axis=0)
    return np.sqrt(np.where(known > 1, squares / np.maximum(known - 1, 1), np.nan))


def _alt_text(panel: Panel) -> str:
    """Return the alternative text: the range of the mean, and the notes."""
    curve = effect_parts.average_of(panel)
    low, high = extent([curve.y])
    top, ends = max(abs(low), abs(high)), ""
    if np.isfinite(top):
        ends = f" The mean of the models ranges from {number_or_zero(low, top)} to {number_or_zero(high, top)}."
    return f"{panel.title}.{ends} {'; '.join(panel.notes)}."


def _bent(found: MultiModelEffect) -> MultiModelEffect:
    """Return the effect at more points if slopes change within bins, where curves are parabolas between edges."""
    each = [curve_polygon(e.bins, e.points, e.value) for e in found.models]
    x = np.unique(np.concatenate([at for at, _ in each]))
    if len(x) == len(found.axis) or isinstance(found.models[0], AnyMPlot):
        return found
    axis = NumericAxis.of(found.about.feature, x)
    return replace(found, axis=axis, values=np.stack([e.at(x) for e in found.models]))


def interval_label(
    found: MultiModelEffect | MultiModelImportance,
    confidence_level: float,
    of: IntervalTarget | None,
) -> str:
    """Return the legend entry of the interval."""
    level = f"{100 * confidence_level:g} % interval"
    if of == "models" or (of is None and found.correction is None):
        return f"{level} (refits)"
    if of == "bound":
        return f"{level} (upper bound)"
    return f"{level} (new training sets)"


def _horizontal(found: MultiModelEffect, at: Floats) -> PlotAxis:
    """Return the axis of a numeric feature, which contains some points."""
    x = effect_parts.horizontal(found.models[0])
    low, high = extent([np.array([x.least, x.most]), at])
    return replace(x, least=low, most=high, missing_label="", off_axis=())


def _rows(found: MultiModelEffect | MultiModelImportance) -> str:
    rows = found.provenance.get("rows", [])
    if len(set(rows)) == 1:
        return f"{counted(rows[0], 'row')} each"
    return f"{min(rows):,} to {max(rows):,} rows each" if rows else "number of rows unknown"


def _reach(found: MultiModelEffect) -> tuple[str, ...]:
    """Return a note if not all models cover the whole axis."""
    least = int(found.reached.min(initial=len(found)))
    said = f"the ends of the axis are covered by {counted(least, 'model')} only"
    return (said,) if least < len(found) else ()


def _rug(found: MultiModelEffect) -> Rug | None:
    """Return the rug of the rows: of all models, if each has its own rows."""
    parts = [main_part(e).effect.rows for e in found.models]
    rows = [r for r in parts if r is not None and len(r)]
    if not rows:
        return None
    if found.provenance.get("cv", "").startswith("all rows"):
        rows = rows[:1]
    weights = [np.ones(len(r)) if r.weight is None else r.weight for r in rows]
    x, weight = np.concatenate([r.x for r in rows]), np.concatenate(weights)
    return effect_parts.rug(x, weight)
