"""Find where two effects of one feature differ by more than their standard errors, and suggest which one to use."""

from __future__ import annotations

from typing import Any

import numpy as np

from skedasis._numbers import number as number_text
from skedasis._numbers import percent
from skedasis._types import Floats
from skedasis.errors import DataError
from skedasis.registry import call_of
from skedasis.results.axis import LevelAxis
from skedasis.results.build.linear_form import curve_polygon
from skedasis.results.checks.advice import OBSERVED_ONLY, narrower_bins
from skedasis.results.checks.check import number, runs
from skedasis.results.checks.extrapolation import NOTE_EXTRAPOLATION
from skedasis.results.effect import TRUSTED_ROWS, AnyMPlot, BinnedEffect, Effect, PartialDependence
from skedasis.results.time_axis import align_time_axis

LEAST_FRACTION = 0.1
"""Smaller differences, as a fraction of the larger of both effects' ranges, are not reported."""


NARROW_FRACTION = 0.1
"""Between two points of a curve with at most this fraction of the rows between them, a jump may lie anywhere."""


Disagreement = tuple[Any, str, dict[str, Any]]


def disagreement(
    effect: Effect,
    other: Effect,
    confidence_level: float = 0.95,
    far: tuple[float | None, float | None] = (None, None),
) -> Disagreement | None:
    """Return where two effects of a feature differ by more than their errors, or None if they do not."""
    check_comparable(effect, other)
    other = align_time_axis(other, effect)
    x, values, errors, df, share = _common(effect, other)
    if len(x) < 2:
        return None
    centred = values - (values @ share)[:, None]
    difference = _difference(effect, other, x, centred)
    size = float(np.ptp(centred, axis=1).max())
    error = errors.sum(axis=0)
    sure = np.abs(difference) > _quantile(df, 1 - (1 - confidence_level) / (2 * len(x))) * error
    reported = sure & (np.abs(difference) >= LEAST_FRACTION * size)
    if not reported.any() or size == 0:
        return None
    worst = int(np.argmax(np.where(reported, np.abs(difference), 0.0)))
    first, last = next((a, b) for a, b in runs(reported) if a <= worst <= b)
    gap = float(abs(difference[worst]))
    numbers = {
        "difference": gap,
        "errors": gap / float(error[worst]) if error[worst] > 0 else np.inf,
        "of_range": gap / size,
        "at": x[worst],
        "extrapolation": far,
    }
    where = (
        str(x[worst]) if isinstance(effect.axis, LevelAxis) else (float(x[first]), float(x[last]))
    )
    return where, _text(effect, other, where, numbers, far), numbers


def check_comparable(effect: Effect, other: object) -> None:
    """Raise if `other` is not an effect of the same feature, quantity and kind."""
    fix = "Pass the other method's effect of the same feature"
    if not isinstance(other, Effect):
        got = type(other).__name__
        raise DataError("checks(beside)", got, "an effect of the same feature", fix)
    mine, theirs = effect.about, other.about
    got = ""
    if mine.feature.name != theirs.feature.name:
        got = f"effects of {mine.feature.name!r} and of {theirs.feature.name!r}"
    elif mine.quantity != theirs.quantity:
        got = f"effects on {mine.quantity!r} and on {theirs.quantity!r}"
    elif (
        isinstance(effect.axis, LevelAxis) != isinstance(other.axis, LevelAxis)
    ) or effect.spec.derivative != other.spec.derivative:
        got = "effects of different kinds (levels and numbers, or slopes and values)"
    if got:
        raise DataError("checks(beside)", got, "the same feature and quantity", fix)


def _common(effect: Effect, other: Effect) -> tuple[Any, Floats, Floats, Floats, Floats]:
    """Return common points, values (2, m), errors (2, m), degrees of freedom (2, m), and fractions of rows (m,)."""
    both = (effect, other)
    if isinstance(effect.axis, LevelAxis) and isinstance(other.axis, LevelAxis):
        levels, others = effect.axis.levels, other.axis.levels
        known = dict(zip(others.labels, range(len(others)), strict=True))
        shared = [(i, known[v]) for i, v in enumerate(levels.labels) if v in known]
        places = np.array(shared, dtype=np.int64).reshape(-1, 2).T
        parts = [
            np.array([getattr(e, name)[p] for e, p in zip(both, places, strict=True)])
            for name in ("value", "std_error", "df")
        ]
        labels = np.array(levels.labels, dtype=object)[places[0]]
        weight = levels.weight[places[0]]
        return labels, parts[0], parts[1], parts[2], weight / max(float(weight.sum()), 1e-300)
    left, right = max(float(e.points[0]) for e in both), min(float(e.points[-1]) for e in both)
    x = np.unique(np.concatenate([curve_polygon(e.bins, e.points, e.value)[0] for e in both]))
    x = x[(x >= left) & (x <= right)]
    values = np.array([e.at(x) for e in both])
    errors, df = (
        np.array([np.interp(x, e.points, np.asarray(getattr(e, name), dtype=float)) for e in both])
        for name in ("std_error", "df")
    )
    there = ~np.isnan(values).any(axis=0)
    x, values, errors, df = x[there], values[:, there], errors[:, there], df[:, there]
    return x, values, np.nan_to_num(errors), df, _fraction_at(effect, x)


def _difference(effect: Effect, other: Effect, x: Any, values: Floats) -> Floats:
    """Return the difference of two curves at each point that no jump between two of their points can explain."""
    difference = values[0] - values[1]
    if isinstance(effect.axis, LevelAxis):
        return difference
    before = _fraction_before(effect, x)
    first, last = np.arange(len(x)), np.arange(len(x))
    for curve in (effect, other):
        place = np.clip(
            np.searchsorted(curve.points, x, side="right") - 1, 0, len(curve.points) - 2
        )
        left = np.searchsorted(x, curve.points[place])
        right = np.minimum(np.searchsorted(x, curve.points[place + 1]), len(x) - 1)
        narrow = before[right] - before[left] <= NARROW_FRACTION
        first = np.where(narrow, np.minimum(first, left), first)
        last = np.where(narrow, np.maximum(last, right), last)
    windows = list(zip(first.tolist(), last.tolist(), strict=True))
    low = np.array([[v[a : b + 1].min() for a, b in windows] for v in values])
    high = np.array([[v[a : b + 1].max() for a, b in windows] for v in values])
    gap = np.maximum(np.maximum(low[0] - high[1], low[1] - high[0]), 0.0)
    return np.copysign(gap, difference)


def _fraction_before(effect: Effect, x: Floats) -> Floats:
    """Return the fraction of rows before each point; if no rows are kept, the fraction of the axis."""
    kept = effect.rows
    if kept is None or len(kept) == 0:
        return (x - x[0]) / (x[-1] - x[0])
    order = np.argsort(kept.x)
    weight = np.ones(len(kept)) if kept.weight is None else kept.weight[order]
    total = np.concatenate([[0.0], np.cumsum(weight)])
    return total[np.searchsorted(kept.x[order], x)] / max(float(total[-1]), 1e-300)


def _fraction_at(effect: Effect, x: Floats) -> Floats:
    """Return the fraction of rows nearest to each point; if no rows are kept, the fraction of the axis."""
    if len(x) == 0:
        return x
    middle = (x[1:] + x[:-1]) / 2
    kept = effect.rows
    if kept is not None and len(kept):
        inside = (kept.x >= x[0]) & (kept.x <= x[-1])
        w = None if kept.weight is None else kept.weight[inside]
        near = np.bincount(np.searchsorted(middle, kept.x[inside]), w, len(x))
        if near.sum() > 0:
            return near / near.sum()
    ends = np.concatenate([x[:1], middle, x[-1:]])
    return np.diff(ends) / (x[-1] - x[0]) if x[-1] > x[0] else np.ones(1)


def _quantile(df: Floats, confidence_level: float) -> Floats:
    """Return the quantile of Student's t with the smaller degrees of freedom of both effects."""
    from scipy.special import stdtrit

    fewer = np.nan_to_num(df, nan=1e9, posinf=1e9).min(axis=0)
    return np.asarray(stdtrit(np.clip(fewer, 1.0, 1e9), confidence_level))


def _few(effect: Effect, where: Any) -> bool:
    """Return whether an accumulated effect has bins or levels with few rows there."""
    if isinstance(effect.axis, LevelAxis):
        levels = effect.axis.levels
        there = np.array([v == where for v in levels.labels])
        return bool((levels.count[there] < TRUSTED_ROWS).any())
    if not isinstance(effect, BinnedEffect):
        return False
    there = (effect.bins.low <= where[1]) & (effect.bins.high >= where[0])
    return bool((there & ~effect.bins.trusted).any())


def _text(
    effect: Effect,
    other: Effect,
    where: Any,
    numbers: dict[str, Any],
    far: tuple[float | None, float | None],
) -> str:
    """Return the text: how much two effects differ, and which of them to use."""
    names = effect.spec.method, other.spec.method
    place = f"at {where!r}"
    if not isinstance(where, str):
        ends = [number(end, effect.time) for end in where]
        place = f"at {ends[0]}" if ends[0] == ends[1] else f"from {ends[0]} to {ends[1]}"
    times = numbers["errors"]
    sure = "their errors are zero" if np.isinf(times) else f"{times:.1f} times their joint error"
    said = (
        f"{names[0]} and {names[1]} of {effect.feature!r} differ {place} by {number_text(numbers['difference'])} "
        f"({sure}, {percent(numbers['of_range'])} of the range)."
    )
    m_plots = [isinstance(e, AnyMPlot) for e in (effect, other)]
    if m_plots[0] != m_plots[1]:
        m_plot, better = (names[0], names[1]) if m_plots[0] else (names[1], names[0])
        return f"{said} {m_plot} includes the effects of correlated features: use {better}."
    if isinstance(effect, PartialDependence) == isinstance(other, PartialDependence):
        return f"{said} {_same_points(effect, other)}"
    swept = 0 if isinstance(effect, PartialDependence) else 1
    accumulated, name = (effect, "e") if swept == 1 else (other, "beside")
    few = _few(accumulated, where)
    return (
        f"{said} {_advice(names[swept], accumulated, name, (far[swept], far[1 - swept]), few=few)}"
    )


def _same_points(effect: Effect, other: Effect) -> str:
    """Return what to do about two accumulated effects, or two swept ones."""
    if isinstance(effect.axis, LevelAxis) and isinstance(other.axis, LevelAxis):
        if effect.axis.levels.labels != other.axis.levels.labels:
            return "Their levels have different orders: compute both with the same order=."
        return "Compute both from the same rows, with the same settings."
    method = other.spec.method
    if np.array_equal(effect.points, other.points):
        return "Compute both from the same rows, with the same settings."
    if isinstance(effect, PartialDependence):
        return f"Their grids are too different: compute both on the same one, {call_of(method)}(grid=e.x)."
    return (
        "Their bins are too different: compute both on the same edges, "
        f"{call_of(method)}(bins=sd.Edges(e.x))."
    )


def _advice(
    pdp: str,
    accumulated: Effect,
    name: str,
    far: tuple[float | None, float | None],
    *,
    few: bool,
) -> str:
    """Return which of a PDP and an accumulated effect to use, and why, from their fractions of extrapolations."""
    ale, (share, of_ale) = accumulated.spec.method, far
    if share is None or of_ale is None:
        return (
            f"With correlated features, {pdp} asks the model about rows unlike any in the data, whereas {ale} stays "
            "close to the data: checks(X=X) measures how much."
        )
    if NOTE_EXTRAPOLATION <= share <= of_ale:
        return (
            f"Both ask the model about rows unlike any in the data, {pdp} at {percent(share)} of its points and "
            f"{ale} at {percent(of_ale)}: {OBSERVED_ONLY}."
        )
    if share >= NOTE_EXTRAPOLATION:
        return f"Use {ale}: {pdp} asks the model about rows unlike any in the data at {percent(share)} of its points."
    if few:
        return (
            f"Use {pdp}: {ale} has bins with fewer than {TRUSTED_ROWS} rows there, and {pdp} asks the model about rows "
            f"unlike any in the data at only {percent(share)} of its points."
        )
    agree = (
        f"{pdp} asks the model about rows unlike any in the data at few of its points ({percent(share)}), so both "
        "effects should agree."
    )
    call = None if accumulated.spec.on_cells else narrower_bins(accumulated, name)
    if call is None:
        return f"{agree} Use {pdp}: the errors of the steps of {ale} add up along the axis."
    return f"{agree} Use more bins for {ale}, because the errors of wide bins add up along the axis: {call}."
