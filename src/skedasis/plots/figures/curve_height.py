"""How high curves are drawn: as differences around zero, or as predictions around the mean of the quantity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from skedasis._numbers import number
from skedasis._types import Floats
from skedasis.data.features import Feature
from skedasis.errors import UnsupportedError
from skedasis.plots.figures.effect_parts import LONG, LONGEST
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.marks import Segments, horizontal_line
from skedasis.plots.scales import extent, shorten, zero_rounding
from skedasis.results.axis import LevelAxis
from skedasis.results.build.linear_form import AXIS, LOCAL, curve_polygon
from skedasis.results.effect import AnyMPlot, Effect, PartialDependence
from skedasis.results.effect_words import method_of
from skedasis.results.keywords import CurveScale
from skedasis.stats.grid import EXACT_STEP_GRID, width_weights

AVERAGE: Mapping[CurveScale | None, str] = {
    "difference": "average effect",
    "prediction": "average",
}
"""Legend entry of an accumulated curve."""


EffectT = TypeVar("EffectT", bound=Effect)
EffectT_co = TypeVar("EffectT_co", bound=Effect, covariant=True)


@dataclass(frozen=True)
class DrawnEffect(Generic[EffectT_co]):
    """An effect as it is drawn, the name and the unit of its axis, its line of the mean, and notes on it."""

    effect: EffectT_co
    name: str
    unit: str | None
    line: tuple[Segments, ...]
    notes: tuple[str, ...] = ()


def with_scale(effect: Effect, options: EffectPlotOptions) -> tuple[Effect, EffectPlotOptions]:
    """Return an effect without what is not drawn of it, and the options with the height of its curve decided."""
    if not options.observed and effect.observed is not None:
        effect = replace(effect, observed=None)
    if options.scale is None:
        raises = is_on_label_scale(effect) and has_mean_of_quantity(effect)
        options = replace(options, scale="prediction" if raises else "difference")
    return effect, options


def is_on_label_scale(effect: Effect) -> bool:
    """Return whether an effect has mean labels on the scale of its own values."""
    found = effect.observed
    return found is not None and found.of_effect and not effect.spec.derivative


def shows_labels(effect: Effect, options: EffectPlotOptions) -> bool:
    """Return whether mean labels are in one panel with the curve, and not in one of their own."""
    return options.scale == "prediction" and is_on_label_scale(effect)


def curve_label(effect: Effect, options: EffectPlotOptions, *, accumulated: bool = False) -> str:
    """Return the legend entry of a curve; beside mean labels, "average" would be ambiguous."""
    if shows_labels(effect, options):
        return f"effect ({method_of(effect)})"
    return AVERAGE[options.scale] if accumulated else "average"


def drawn_effect(effect: EffectT, options: EffectPlotOptions) -> DrawnEffect[EffectT]:
    """Return an effect at the height that the options ask for."""
    spec, partial = effect.spec, isinstance(effect, PartialDependence)
    rows = partial or effect.curves is not None
    if rows and options.ice == "raw" and spec.center is not None:
        raise UnsupportedError(
            "plot(ice='raw')",
            f"{spec.method} with center={spec.center!r}",
            "an effect that is not centred",
            "Explain with center=None, or plot with ice='centered'",
        )
    # Derivatives are not centred: their mean is the average slope.
    centring = partial and not spec.derivative and spec.center is None
    centring = centring and options.ice == "centered"
    shown = centred(effect) if centring else effect
    if options.scale == "prediction":
        shown = moved(shown, mean_of_quantity(effect)) if centring else raised(effect)
        # Means are drawn cell by cell beside labels: another line would say less.
        line = () if shows_labels(effect, options) else mean_line(effect)
        return DrawnEffect(shown, *axis_name(effect), line)
    around = centring or spec.center is not None
    line = (horizontal_line(0.0),) if around or spec.derivative else ()
    if not centring:
        return DrawnEffect(shown, *axis_name(effect, around=around), line, _anchored(effect))
    over = "" if effect.spread is not None else f" over the {effect.axis.noun}s"
    note = f"0 stands for the average{over}, {number(float(share_of(effect) @ effect.value))}"
    return DrawnEffect(shown, *axis_name(effect, around=True), line, (note,))


def axis_name(
    effect: Effect, *, around: bool = False, quantity: str = ""
) -> tuple[str, str | None]:
    """Return name and unit of the vertical axis: of slopes, of differences around zero, or of the quantity itself."""
    name = quantity or shorten(effect.about.quantity, LONGEST)
    if effect.spec.derivative:
        return f"slope of {name}{per_words(effect.about.feature)}", slope_unit(effect)
    if around:
        means = isinstance(effect, AnyMPlot)
        name = f"{name} minus its mean" if means else f"effect on {name}"
    return name, effect.about.unit


def per_words(feature: Feature) -> str:
    """Return the text after the name of a slope: " per age", or " per day" for dates and times."""
    return f" per {'day' if feature.time is not None else shorten(feature.title, LONG)}"


def slope_unit(effect: Effect) -> str | None:
    """Return the unit of a slope, such as "EUR per m²", or its known part."""
    feature = effect.about.feature
    top, bottom = effect.about.unit, feature.unit
    if feature.time is not None:  # the name of the axis contains "per day"
        return f"{top} per day" if top else None
    return f"{top or ''} per {bottom}".strip() if bottom else top


# --- predictions ---------------------------------------------------------------------------------


def mean_line(*effects: Effect, mean: float | None = None) -> tuple[Segments, ...]:
    """Return the line of the mean, by default that of the effects, with its legend entry; none if means differ."""
    means = [mean_of_quantity(e) if mean is None else mean for e in effects]
    if len({number(v) for v in means}) > 1:
        return ()
    said = {_averaged(e) for e in effects}
    text = said.pop() if len(said) == 1 else "average"
    return (horizontal_line(means[0], label=f"{text}: {number(means[0])}"),)


def _averaged(effect: Effect) -> str:
    """Return what `mean_of_quantity` is the mean of."""
    if isinstance(effect, PartialDependence) and effect.spec.center is None:
        # It is not that of the predictions if features depend on one another.
        return "average of the curve"
    if not isinstance(effect, AnyMPlot) and not effect.provenance.get("score_exact", True):
        return "average"  # of the rows of the score, or of all
    gaps = effect.missing > 0 and effect.about.feature.kind != "nominal"
    return f"average over {'rows with a value' if gaps else 'all rows'}"


def mean_of_quantity(effect: Effect) -> float:
    """Return the mean over the rows of the curve that shows predictions; raise if it is not known."""
    if isinstance(effect, PartialDependence) and effect.spec.center is None:
        mean = float(share_of(effect) @ effect.value)
    elif isinstance(effect, AnyMPlot):
        local = effect.moments[LOCAL]
        mean = float(np.average(local.mean, weights=local.weight)) if local.weight.any() else 0.0
    elif effect.observed is not None and is_on_label_scale(effect):
        # Of all rows; otherwise it may be that of the rows of the score.
        weight = effect.observed.weight
        known = weight > 0
        total = float(weight[known] @ effect.observed.prediction[known])
        mean = total / float(weight[known].sum()) if known.any() else math.nan
    else:
        mean = effect.about.quantity_mean
    if effect.spec.derivative or not math.isfinite(mean):
        derivative = effect.spec.derivative
        raise UnsupportedError(
            "plot(scale='prediction')",
            "a derivative" if derivative else f"{effect.spec.method} without the mean prediction",
            "an effect whose mean prediction is known",
            "Use scale='difference'"
            if derivative
            else "Explain with heterogeneity_rows above 0, or use scale='difference'",
        )
    return mean


def has_mean_of_quantity(effect: Effect) -> bool:
    """Return whether the predictions of an effect can be drawn."""
    try:
        mean_of_quantity(effect)
    except UnsupportedError:
        return False
    return True


def lift(effect: Effect) -> float:
    """Return what is added to a curve so that its mean over the rows is that of the quantity; 0 if not centred."""
    mean, center = mean_of_quantity(effect), effect.spec.center
    if center is None:
        return 0.0
    return mean if center == "mean" else mean - mean_over_data(effect)


def raised(effect: EffectT) -> EffectT:
    """Return an effect at the height of predictions."""
    return moved(effect, lift(effect))


def scaled(effect: EffectT, scale: CurveScale) -> EffectT:
    """Return an effect as it is, or at the height of predictions."""
    return raised(effect) if scale == "prediction" else effect


def moved(effect: EffectT, by: float) -> EffectT:
    """Return an effect, its curves and its point of missing values plus a number."""
    curves, point = effect.curves, effect.missing_point
    return replace(
        effect,
        value=effect.value + by,
        curves=None if curves is None else replace(curves, value=curves.value + by),
        missing_point=None if point is None else replace(point, value=point.value + by),
    )


# --- differences ---------------------------------------------------------------------------------


def centred(effect: EffectT) -> EffectT:
    """Return an effect and its curves minus their means over the data."""
    size, spread = effect.df + 1, effect.spread
    curves, point = effect.curves, effect.missing_point
    share = share_of(effect)
    with np.errstate(invalid="ignore"):  # curves with infinite values have no mean
        mean = share @ effect.value
        value = effect.value - mean
    # A constant minus its mean is rounding error, which would otherwise fill the panel.
    known = [effect.value] if curves is None else [effect.value, curves.value]
    largest = float(np.abs(np.nan_to_num(extent(known))).max())
    if curves is not None:
        around = curves.value - (curves.value @ share)[:, None]
        curves = replace(curves, value=zero_rounding(around, largest))
    if spread is not None:
        spread = replace(spread, value=zero_rounding(spread.value, largest))
    std = np.full(len(value), np.nan) if spread is None else spread.value
    if point is not None:
        point = replace(point, value=float(point.value - mean))
    return replace(
        effect,
        value=zero_rounding(value, largest),
        spread=spread,
        std_error=std / np.sqrt(np.maximum(size, 1.0)),
        curves=curves,
        missing_point=point,
    )


def share_of(effect: Effect) -> Floats:
    """Return the weight of each point in the mean of a curve: over the data, or over the grid if that is not known."""
    if effect.spread is not None:
        return effect.spread.weight
    if effect.provenance.get("grid") == EXACT_STEP_GRID:
        return width_weights(effect.points)
    return np.full(len(effect.points), 1 / max(len(effect.points), 1))


def _anchored(effect: Effect) -> tuple[str, ...]:
    """Return a note on the value of the feature that zero belongs to, if the effect is anchored."""
    if effect.spec.center != "anchor":
        return ()
    anchor, feature = effect.spec.parameters.get("anchor"), effect.about.feature
    if isinstance(anchor, Mapping):
        keys = (feature.name, str(feature.key), str(feature.position))
        anchor = next((anchor[k] for k in keys if k in anchor), None)
    if isinstance(anchor, (int, float)) and not isinstance(anchor, bool):
        anchor = f"{anchor:.6g}".replace("-", "\N{MINUS SIGN}")
    return (f"0 at {shorten(feature.title, LONG)} = {shorten(str(anchor), LONG)}",)


def mean_over_data(effect: Effect) -> float:
    """Return the mean of a curve over the rows; outside its range the curve is extended as a constant."""
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
