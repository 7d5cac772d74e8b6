"""From several effects to a figure specification: overlays, several models, small multiples.

- *Overlays* (`overlay`): effects of one feature by several methods or of several quantities on the same axes, by
  default each centred at its mean over the data.
- *Several models* (`models_panel`, `importance_panel`): the mean of the models, its confidence interval, and the curve
  or importance of each model.
- *Small multiples* (`comparable`): effects of many features on shared vertical scales, largest first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from skedasis._arguments import check_option
from skedasis._types import Floats
from skedasis.errors import DataError, UnsupportedError
from skedasis.plots.figures import effect_parts
from skedasis.plots.figures.categorical import (
    ERROR_HALF_WIDTH,
    ROWS_HALF_WIDTH,
    Places,
    steps,
    values,
)
from skedasis.plots.figures.effect import effect_spec, has_bins, share_vertical_axis, slopes
from skedasis.plots.figures.ice import centred, per_words, slope_unit
from skedasis.plots.figures.importance import BarPanel, bar_panel, display_order
from skedasis.plots.scales import (
    Axis,
    counted,
    extent,
    number,
    number_or_zero,
    shorten,
    with_error,
    zero_rounding,
)
from skedasis.plots.spec import (
    ACROSS,
    BELOW,
    BESIDE,
    MOST_LEVELS,
    Band,
    EffectPlotOptions,
    FigureSpec,
    Line,
    Panel,
    Rug,
    most_levels,
)
from skedasis.results.axis import LevelAxis, NumericAxis
from skedasis.results.build.linear_form import AXIS, curve_polygon
from skedasis.results.effect import (
    AnyMPlot,
    BinnedEffect,
    Effect,
    LevelMeansEffect,
    LevelStepsEffect,
    PartialDependence,
)
from skedasis.results.effects import Effects
from skedasis.results.importance import Importance
from skedasis.results.multi_model import (
    IntervalTarget,
    MultiModelEffect,
    MultiModelImportance,
)
from skedasis.results.time_axis import align_time_axis

# --- overlays ------------------------------------------------------------------------------------

Zero = Literal["mean"] | None

Joined = Literal["line", "thin"] | None

BANDS = 3
"""Intervals are drawn for at most this many effects; more bands would hide each other."""

MOST = 8
"""Most effects; more could not be distinguished by line style, mark and colour."""


@dataclass(frozen=True, eq=False)
class OverlayCurve:
    """The curve of one effect.

    Parameters
    ----------
    x, y, lower, upper : ndarray of float, shape (m,)
        Points and confidence intervals.
    label : str
    joined : {"line", "thin", None}
        How the points are connected, see `Line`.
    """

    x: Floats
    y: Floats
    lower: Floats
    upper: Floats
    label: str
    joined: Joined


@dataclass(frozen=True, eq=False)
class Overlay:
    """Several effects of one feature on the same axes.

    Parameters
    ----------
    x, y : Axis
    strands : tuple of OverlayCurve
    bands : bool
        Whether intervals are drawn.
    rug : Rug or None
    zero : bool
        Whether zero has the same meaning for all effects and is marked.
    notes : tuple of str
    """

    x: Axis
    y: Axis
    strands: tuple[OverlayCurve, ...]
    bands: bool
    rug: Rug | None
    zero: bool
    notes: tuple[str, ...]


def overlay(
    effects: Sequence[Effect],
    labels: Sequence[str] | None,
    center: Zero,
    confidence_level: float,
    across: int = ACROSS,
) -> Overlay:
    """Return the specification of overlaid effects, see `compare`; `across` characters fit across the panel."""
    check_comparable(effects, labels, center)
    effects = [align_time_axis(e, effects[0]) for e in effects]
    names = _labels(effects) if labels is None else [shorten(str(v), 40) for v in labels]
    first = effects[0]
    shown = [_minus_data_mean(e) if center == "mean" else e for e in effects]
    if not isinstance(first.axis, LevelAxis):
        x = _numeric(effects)
        strands = [_curve_of(e, n, confidence_level) for e, n in zip(shown, names, strict=True)]
        rug, notes = _rug_of_effects(effects), []
    else:
        most = most_levels(across)
        places = Places.of(first.about.feature, first.axis.levels, most)
        x, rug = places.axis(first.about.feature, across, most), None
        strands = [
            _curve_at_levels(e, n, confidence_level, places, i, len(shown))
            for i, (e, n) in enumerate(zip(shown, names, strict=True))
        ]
        notes = list(places.notes())
    bands = len(strands) <= BANDS
    if bands:
        notes.append(f"bands: {100 * confidence_level:g} % intervals")
    if center == "mean":
        notes.append("0 is the mean of each curve over the data")
    notes += effect_parts.missing(first)
    return Overlay(
        x,
        _overlay_axis(effects, strands, center),
        tuple(strands),
        bands,
        rug,
        center == "mean" or first.spec.derivative,
        tuple(notes),
    )


def _rug_of_effects(effects: Sequence[Effect]) -> Rug | None:
    """Return the rug of the effect that keeps most rows."""
    known = [e for e in effects if e.rows is not None]
    most = max(known, key=lambda e: 0 if e.rows is None else len(e.rows), default=None)
    return None if most is None else effect_parts.effect_rug(most)


def as_effects_and_labels(
    given: Sequence[Effect | Sequence[Effect] | Mapping[str, Effect]],
) -> tuple[list[Effect], list[str] | None]:
    """Return effects and labels from single arguments, a list, or a mapping from labels to effects.

    Raises
    ------
    UnsupportedError
        For anything but effects of one feature.
    """
    one = given[0] if len(given) == 1 else None
    if isinstance(one, Mapping):
        return [_as_effect(e) for e in one.values()], [str(k) for k in one]
    return [_as_effect(e) for e in (one if isinstance(one, (list, tuple)) else given)], None


def _as_effect(given: object) -> Effect:
    if not isinstance(given, Effect):
        fix = "Pass what sd.explain(q, X, feature) returns"
        raise UnsupportedError("compare", type(given).__name__, "effects of one feature", fix)
    return given


def check_comparable(effects: Sequence[Effect], labels: Sequence[str] | None, center: Zero) -> None:
    """Raise if effects cannot be compared.

    Raises
    ------
    DataError
        For no effect or more than 8, for effects of different features, if the number of labels differs from the number
        of effects, or for an unknown `center`.
    UnsupportedError
        For derivatives with values, for categorical with numeric features, and for different units.
    """
    check_option("compare(center)", center, ("mean", None))
    if not 1 <= len(effects) <= MOST:
        got = f"{len(effects)} effects" if effects else "no effect"
        raise DataError("compare", got, f"1 to {MOST} effects", f"Pass 1 to {MOST} effects")
    if labels is not None and (isinstance(labels, str) or len(labels) != len(effects)):
        got = "one string" if isinstance(labels, str) else f"{len(labels)} labels"
        fix = "Pass one label for each effect"
        raise DataError("compare(labels)", got, f"{len(effects)} labels", fix)
    first = effects[0]
    for e in effects[1:]:
        _check_comparable_pair(first, e)


def _check_comparable_pair(a: Effect, b: Effect) -> None:
    if a.feature != b.feature:
        got = f"effects of {shorten(a.feature, 40)!r} and {shorten(b.feature, 40)!r}"
        raise DataError(
            "compare", got, "effects of the same feature", "Compare one feature at a time"
        )
    if a.spec.derivative != b.spec.derivative:
        fix = "Pass only effects with derivative=True, or only others"
        got = "derivatives and values"
        raise UnsupportedError("compare", got, "only one of the two", fix)
    if isinstance(a.axis, LevelAxis) != isinstance(b.axis, LevelAxis):
        fix = "Explain both with the same schema"
        got = f"{shorten(a.feature, 40)!r} as a categorical and as a numeric feature"
        raise UnsupportedError("compare", got, "only one of the two", fix)
    if a.about.unit != b.about.unit and not (a.about.unit is None or b.about.unit is None):
        got = f"units {a.about.unit!r} and {b.about.unit!r}"
        raise UnsupportedError(
            "compare", got, "effects in the same unit", "Explain the same quantity"
        )


def mean_over_data(effect: Effect) -> float:
    """Return the mean of a curve over the rows; outside its range the curve is extended as a constant.

    Uses the kept rows if all rows were kept; otherwise the moments of the feature per cell, because a curve is linear
    in each cell (that of an M-plot approximately); otherwise the kept sample of rows.
    """
    value = effect.value
    known = np.isfinite(value)
    if not known.any():
        return 0.0
    if isinstance(effect.axis, LevelAxis):
        share = np.where(known, effect.axis.levels.share, 0.0)
        return float(np.average(value[known], weights=share[known] if share.any() else None))
    at, weight = _where(effect)
    if at is None or len(at) == 0:
        return float(value[known].mean())
    x, value = curve_polygon(effect.bins, effect.axis.coordinates, value)
    known = np.isfinite(value)
    return float(np.average(np.interp(at, x[known], value[known]), weights=weight))


def _where(effect: Effect) -> tuple[Floats | None, Floats | None]:
    """Return positions that represent the data, and their weights."""
    rows, axis = effect.rows, effect.moments.get(AXIS)
    if axis is not None and not (rows is not None and rows.exact):
        there = axis.weight > 0
        return axis.mean[there], axis.weight[there]
    if rows is None:
        return None, None
    there = np.isfinite(rows.x) if rows.weight is None else np.isfinite(rows.x) & (rows.weight > 0)
    return rows.x[there], None if rows.weight is None else rows.weight[there]


def _minus_data_mean(effect: Effect) -> Effect:
    """Return an effect minus its mean over the data.

    The intervals of an uncentred PDP include the error of its level; centring removes it.
    """
    if effect.spec.derivative:
        return effect
    if isinstance(effect, PartialDependence) and effect.spec.center is None:
        effect = centred(effect)
    size = float(np.abs(np.nan_to_num(extent([effect.value]))).max())
    moved = zero_rounding(effect.value - mean_over_data(effect), size)
    return replace(effect, value=moved)


def _labels(effects: Sequence[Effect]) -> list[str]:
    """Return the names of the methods, with quantity, number of bins or a counter if they are equal."""
    first = effects[0].about.quantity
    names = [
        e.spec.method if e.about.quantity == first else f"{e.spec.method} of {e.about.quantity}"
        for e in effects
    ]
    full = [
        f"{n}, {counted(len(e.bins), 'bin')}"
        if isinstance(e, BinnedEffect) and names.count(n) > 1
        else n
        for n, e in zip(names, effects, strict=True)
    ]
    return [shorten(n if full.count(n) == 1 else f"{n} ({i + 1})", 40) for i, n in enumerate(full)]


def _numeric(effects: Sequence[Effect]) -> Axis:
    axes = [effect_parts.horizontal(e) for e in effects]
    feature, time = effects[0].about.feature, effects[0].time
    low, high = extent([np.array([a.least, a.most]) for a in axes])
    ticks = {a.ticks for a in axes}
    same = ticks.pop() if len(ticks) == 1 else ()
    return Axis(shorten(feature.name, BELOW), feature.unit, low, high, 0.03, same, time=time)


def _ends(effect: Effect, confidence_level: float) -> tuple[Floats, Floats]:
    """Return the confidence intervals, NaN if only the mean is known."""
    if effect.spec.mean_alone:
        unknown = np.full(len(effect.value), np.nan)
        return unknown, unknown
    return effect.interval(confidence_level)


def _curve_of(effect: Effect, label: str, confidence_level: float) -> OverlayCurve:
    at = effect.axis.coordinates
    x, y = curve_polygon(effect.bins, at, effect.value)
    lower, upper = (
        curve_polygon(effect.bins, at, ends)[1] for ends in _ends(effect, confidence_level)
    )
    return OverlayCurve(x, y, lower, upper, label, "line")


def _curve_at_levels(
    effect: Effect, label: str, confidence_level: float, places: Places, i: int, n: int
) -> OverlayCurve:
    """Return the points of effect i of n, offset horizontally at each level, in the order of the first effect."""
    lower, upper = _ends(effect, confidence_level)
    if not isinstance(effect.axis, LevelAxis):
        raise TypeError("the effect of a numeric feature has no levels")
    # Levels are matched by name: the values 1 and 1.0 may be the same level.
    mine = {name: k for k, name in enumerate(effect.axis.levels.labels)}
    at = [mine.get(places.levels.labels[k], -1) for k in places.shown]
    there = np.flatnonzero(np.array(at) >= 0)
    take = np.array(at, dtype=np.int64)[there]
    # As far apart as a mark is wide, if possible, but not farther: the points belong to the same level.
    offset = min(0.56 / max(n - 1, 1), max(0.06, 0.0163 * len(places)))
    x = places.x[there] + offset * (i - (n - 1) / 2)
    joined: Joined = "thin" if places.ordered else None
    return OverlayCurve(x, effect.value[take], lower[take], upper[take], label, joined)


def _overlay_axis(effects: Sequence[Effect], strands: Sequence[OverlayCurve], center: Zero) -> Axis:
    first = effects[0]
    low, high = extent([s.y for s in strands])
    if len(strands) <= BANDS:
        least, most = extent([a for s in strands for a in (s.lower, s.upper)])
        span = high - low if high > low else np.inf
        low, high = max(low - span / 2, least) if least < low else low, min(high + span / 2, most)
        high = float(np.fmax(high, extent([s.y for s in strands])[1]))
    quantities = list(dict.fromkeys(e.about.quantity for e in effects))
    before = "slope of " if first.spec.derivative else "effect on " if center == "mean" else ""
    room = max(10, (BESIDE - len(before)) // len(quantities))
    name = before + ", ".join(shorten(q, room) for q in quantities)
    unit = (
        slope_unit(first)
        if first.spec.derivative
        else next((e.about.unit for e in effects if e.about.unit), None)
    )
    if first.spec.derivative:
        name += per_words(first.about.feature)
    return Axis(name, unit, float(low), float(high), 0.06)


# --- several models ------------------------------------------------------------------------------

MEAN, EACH = "mean of the models", "individual models"


VERTICES = 13
"""A curve of at most this many points has marks."""


@dataclass(frozen=True, eq=False)
class ModelsSpec:
    """Specification of one feature's effect for several models.

    Parameters
    ----------
    panel : Panel
        Mean and interval.
    x : ndarray of float, shape (k,)
    each : ndarray of float, shape (m, k)
        One curve per model.
    shift : ndarray of float, shape (m,), optional
        For nominal levels: horizontal offset of each model's dash from the position of the level.
    """

    panel: Panel
    x: Floats
    each: Floats
    shift: Floats | None = None


def models_panel(
    found: MultiModelEffect, confidence_level: float = 0.95, of: IntervalTarget | None = None
) -> ModelsSpec:
    """Return the specification of one feature's effect for several models.

    Parameters
    ----------
    found : MultiModelEffect
    confidence_level, of
        As in `MultiModelEffect.interval`.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> models = [lambda X, k=k: k * X[:, 0] for k in (1.0, 2.0)]
    >>> shown = models_panel(sd.explain(models, X, 0, method=sd.ALE(bins=4)))
    >>> shown.each.shape, shown.panel.notes
    ((2, 5), ('2 models', '100 rows each'))
    """
    ends, first = found.interval(confidence_level, of), found.models[0]
    label = interval_label(found, confidence_level, of)
    notes = [counted(len(found), "model"), _rows(found), *_reach(found)]
    y, zero = _models_axis(found, ends)
    if isinstance(found.axis, LevelAxis):
        places = Places.of(found.about.feature, found.axis.levels, MOST_LEVELS)
        at, x = places.x, places.axis(found.about.feature, ACROSS, MOST_LEVELS)
        lower, upper, value = (v[places.shown] for v in (*ends, found.value))
        band = Band(at, lower, upper, "error", label, reach=ERROR_HALF_WIDTH)
        line = Line(at, value, MEAN, vertices=True, joined="thin" if places.ordered else None)
        shift = None
        if not places.ordered:
            shift = ROWS_HALF_WIDTH * np.linspace(-1, 1, len(found) + 2)[1:-1]
        each = found.values[:, places.shown]
        panel = Panel(x, y, zero, first.spec.method, (*notes, *places.notes()[1:]))
        return ModelsSpec(replace(panel, lines=(line,), bands=(band,)), at, each, shift)
    x = effect_parts.horizontal(replace(first, missing_point=None))
    points = found.axis.coordinates
    x = replace(x, least=min(x.least, _end(points, np.min)), most=max(x.most, _end(points, np.max)))
    bent = _bent(found)
    at = bent.axis.coordinates
    ends = bent.interval(confidence_level, of)
    y, zero = _models_axis(bent, ends)
    marked = np.searchsorted(at, points) if len(at) > len(points) else None
    band = Band(at, *ends, "error", label)
    few = len(points) <= VERTICES
    line = Line(at, bent.value, MEAN, vertices=few, marked=marked if few else None)
    panel = Panel(x, y, zero, first.spec.method, tuple(notes))
    panel = replace(panel, lines=(line,), bands=(band,), rug=_rug_of_models(found))
    return ModelsSpec(panel, at, bent.values)


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
    if of == "models" or (of is None and found.correction is None):
        return f"{100 * confidence_level:g} % interval of the mean over refits to these rows"
    if of == "bound":
        return f"{100 * confidence_level:g} % interval for the learner (upper bound)"
    return f"{100 * confidence_level:g} % interval for the learner (c = {found.correction:.2g})"


def _end(x: Floats, which: Callable[[Floats], np.float64]) -> float:
    known = x[np.isfinite(x)]
    return float(which(known)) if len(known) else np.nan


def _rows(found: MultiModelEffect | MultiModelImportance) -> str:
    rows = found.provenance.get("rows", [])
    if len(set(rows)) == 1:
        return f"{counted(rows[0], 'row')} each"
    return f"{min(rows):,} to {max(rows):,} rows each" if rows else "number of rows unknown"


def _reach(found: MultiModelEffect) -> tuple[str, ...]:
    """Return a note if not all models cover the whole axis."""
    least = int(found.reached.min(initial=len(found)))
    return (
        (f"the ends of the axis are covered by {counted(least, 'model')} only",)
        if least < len(found)
        else ()
    )


def _rug_of_models(found: MultiModelEffect) -> Rug | None:
    """Return the rug of the rows: of all models, if each has its own rows."""
    rows = [e.rows for e in found.models if e.rows is not None and len(e.rows)]
    if not rows:
        return None
    if found.provenance.get("cv", "").startswith("all rows"):
        rows = rows[:1]
    own = len(rows) > 1
    weights = [np.ones(len(r)) if r.weight is None else r.weight for r in rows]
    exact = all(r.exact for r in rows)
    rug = effect_parts.rug(
        np.concatenate([r.x for r in rows]), np.concatenate(weights), exact=exact
    )
    return replace(rug, label="rows of all models, or quantiles") if own and rug else rug


def _models_axis(found: MultiModelEffect, ends: tuple[Floats, Floats]) -> tuple[Axis, bool]:
    """Return the vertical axis, and whether zero means "no effect" on it.

    The curves of the models determine the scale, and the interval as far as they stay readable: with two models it has
    one degree of freedom and may be 13 times as wide as their distance.
    """
    low, high = extent([found.values])
    least, most = extent(ends)
    span = high - low if high > low else np.inf
    low, high = np.fmin(low, max(least, low - span)), np.fmax(high, min(most, high + span))
    spec, about = found.spec, found.about
    moves = spec.center is not None or spec.derivative
    before = "slope of " if spec.derivative else "effect on " if moves else ""
    after = per_words(about.feature) if spec.derivative else ""
    name = shorten(about.quantity, max(12, BESIDE - len(before) - len(after)))
    unit = slope_unit(found.models[0]) if spec.derivative else about.unit
    return Axis(f"{before}{name}{after}", unit, float(low), float(high), 0.06), moves


def importance_panel(
    found: MultiModelImportance,
    *,
    features: Sequence[str] | None = None,
    top: int | None = None,
    confidence_level: float = 0.95,
    of: IntervalTarget | None = None,
) -> BarPanel:
    """Return the specification of importances for several models; models take the role of repeats."""
    stand = models_as_repeats(found)
    chosen = display_order(stand, features, top)
    lower, upper = (end[chosen] for end in found.interval(confidence_level, of))
    value, each = found.mean[chosen], found.values.T[chosen]
    models, interval = counted(len(found), "model"), interval_label(found, confidence_level, of)
    notes, title = (models, _rows(found)), f"{stand.method} of {models}"
    return bar_panel(stand, chosen, value, (lower, upper), each, interval, title, notes)


def models_as_repeats(found: MultiModelImportance) -> Importance:
    """Return an importance whose repeats are the models: features are chosen and ordered by the mean."""
    return replace(
        found.models[0],
        values=found.values.T.copy(),
        std_error=found.std_error.copy(),
        df=found.df.copy(),
        local=None,
    )


# --- small multiples -----------------------------------------------------------------------------

NOTE_LETTERS = 33
"""Most characters of a note above one of many figures."""


def ordered_effects(
    effects: Mapping[str, Effect],
    by: Literal["importance", "heterogeneity_score"],
    top: int | None,
) -> list[Effect]:
    """Return the effects to draw, the largest first.

    Raises
    ------
    DataError
        If there is no effect.
    DataError, UnsupportedError
        As `Effects.ranking`.
    """
    ranks = Effects(dict(effects)).ranking(by)[:top]
    if not ranks:
        raise DataError("plot", "no effect", "at least one effect", "Explain one or more features")
    return [effects[r.feature] for r in ranks]


def heterogeneity_text(effect: Effect, letters: int | None = None) -> str:
    """Return the heterogeneity score with its standard error as text for a caption.

    Parameters
    ----------
    effect : Effect
    letters : int, optional
        Most characters; the error is omitted if the text would be longer.
    """
    score, error = effect.heterogeneity_score, effect.heterogeneity_score_error
    if math.isnan(score):
        return "heterogeneity score not computed"
    said = f"heterogeneity score {with_error(score, error, effect.importance)}"
    if letters is None or len(said) <= letters:
        return said
    return f"heterogeneity score {number_or_zero(score, effect.importance)}"


def comparable(effects: Sequence[Effect], view: EffectPlotOptions, lower: bool) -> list[FigureSpec]:
    """Return the specifications of the effects on shared vertical scales."""
    mains = share_vertical_axis([effect_spec(e, view).main for e in effects])
    below = {i: _below(e, view) for i, e in enumerate(effects)} if lower else {}
    there = {i: replace(p, words=()) for i, p in below.items() if p is not None}
    shared = share_vertical_axis(list(there.values()))
    names = sorted({p.y.name for p in shared})
    if (
        names
    ):  # a slope per SD and a difference between levels have the same unit and are comparable
        shared = [replace(p, y=replace(p.y, name=", ".join(names))) for p in shared]
    beneath = dict(zip(there, shared, strict=True))
    return [
        FigureSpec(_headed(main, e, i), beneath.get(i))
        for i, (main, e) in enumerate(zip(mains, effects, strict=True))
    ]


def _below(effect: Effect, view: EffectPlotOptions) -> Panel | None:
    """Return the lower panel: local effects per bin, or differences between adjacent levels."""
    if isinstance(effect, LevelStepsEffect):
        return steps(effect, view)
    if isinstance(effect, LevelMeansEffect):
        return values(effect, view)
    return slopes(effect, per_sd=True) if has_bins(effect) else None


def _headed(panel: Panel, effect: Effect, place: int) -> Panel:
    """Return the panel with its feature as title, and importance and heterogeneity score as notes."""
    name = f"{place + 1}. {shorten(effect.feature, 24)}"
    figures = (f"importance {number(effect.importance)}", heterogeneity_text(effect, NOTE_LETTERS))
    missing = effect_parts.missing(effect)
    shown, points = len(panel.lines[0].x), len(effect.axis)
    if panel.x.labels and isinstance(effect.axis, LevelAxis) and points > shown:
        missing = (f"{shown} of {points:,} levels", *missing)
    # The same legend entry for all panels, regardless of the number of rows.
    rug = None if panel.rug is None else replace(panel.rug, label="rows, or quantiles")
    y = replace(panel.y, name=shorten(panel.y.name, 36))
    missing_marker = (
        None
        if panel.missing_marker is None
        else replace(panel.missing_marker, label="missing values")
    )
    return replace(
        panel,
        title=name,
        notes=(*figures, *missing),
        rug=rug,
        y=y,
        words=(),
        missing_marker=missing_marker,
    )


def columns_for(n: int) -> int:
    """Return the number of columns of a roughly square grid of n panels."""
    return next((c for c, most in ((1, 1), (2, 4), (3, 9), (4, 16)) if n <= most), 5)
