"""From calibrations to a figure: mean labels against mean predictions, of one model or overlaid, and a histogram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from skedasis._arguments import check_probability
from skedasis._numbers import counted, number
from skedasis._types import Floats, Ints
from skedasis.errors import DataError
from skedasis.plots.figures.compare import BANDS, MOST, distinct_labels
from skedasis.plots.figures.effect_parts import LONG, off_scale, readable_range
from skedasis.plots.marks import (
    FigureSpec,
    Line,
    Mark,
    Panel,
    Points,
    Rectangles,
    Segments,
    Title,
    Tooltip,
)
from skedasis.plots.scales import PlotAxis, clean, extent, shorten
from skedasis.results.calibration import Calibration, calibration_text

WHOLE = 0.5
"""If probabilities span more than this, the axes go from 0 to 1."""

THIN = 0.004
"""Smallest width of a bar, as a fraction of the axis: one with a single prediction is visible, too."""

MARKED = 10
"""Points of an isotonic fit that have an interval: quantiles of the mean of two distributions, that of the predictions
and the uniform one over their range, so that there are some where predictions are many and some where they are few."""


def calibration_figure(found: Calibration, confidence_level: float = 0.95) -> FigureSpec:
    """Return mean labels against mean predictions with their intervals, the diagonal, and a histogram below."""
    level = check_probability("plot(confidence_level)", confidence_level)
    shown = _shown(found, level)
    marks: list[Mark] = [
        *_deviations(found),
        *_curve(shown, "average"),
        _whiskers(shown, "whisker", f"{100 * level:g} % interval of the mean label"),
        Points(shown.x, shown.y, "numeric", "" if shown.fit else f"mean {_kind(found)}"),
    ]
    left, right, heights = _bars(found)
    bars = Rectangles(left, right, np.zeros(len(heights)), heights, "margin")
    notes = (counted(found.rows, "row"), *_notes(found))
    title = Title(f"Calibration of {shorten(clean(found.quantity), LONG)}")
    return _figure([found], [shown], marks, [bars], title, notes, ())


def calibrations_figure(
    found: Mapping[str, Calibration], confidence_level: float = 0.95
) -> FigureSpec:
    """Return the calibrations of several models on the same axes."""
    level = check_probability("plot(confidence_level)", confidence_level)
    if not 1 <= len(found) <= MOST:
        raise DataError(
            "plot",
            counted(len(found), "model"),
            f"1 to {MOST} models",
            "Plot fewer of them, or each alone",
        )
    names = distinct_labels(list(found))
    each = [*found.values()]
    shown = [_shown(one, level) for one in each]
    marks: list[Mark] = []
    bars: list[Mark] = []
    for i, (one, part, name) in enumerate(zip(each, shown, names, strict=True)):
        marks += _curve(part, f"hue{i}", name)
        if len(each) <= BANDS:
            interval = f"{100 * level:g} % interval of the mean label" if i == 0 else ""
            marks.append(_whiskers(part, f"hue{i}-interval", interval))
        marks.append(Points(part.x, part.y, f"hue{i}-vertex", name))
        left, right, heights = _bars(one)
        outline = np.repeat(heights, 2), np.stack([left, right], axis=1).ravel()
        bars.append(Line(outline[1], outline[0], f"hue{i}-thin", name))
    quantities = dict.fromkeys(shorten(clean(one.quantity), LONG) for one in each)
    title = Title(f"Calibration of {', '.join(quantities)}")
    rows = dict.fromkeys(counted(one.rows, "row") for one in each)
    return _figure(each, shown, marks, bars, title, tuple(rows), names)


# --- what is drawn of one calibration -------------------------------------------------------------


class _Shown(NamedTuple):
    """The points of a calibration that are drawn with intervals, and the whole isotonic fit, if there is one."""

    x: Floats
    y: Floats
    lower: Floats
    upper: Floats
    point: Ints
    fit: tuple[Floats, Floats] | None


def _shown(found: Calibration, level: float) -> _Shown:
    """Return the bins; of an isotonic fit its steps, with intervals at quantiles of the predictions."""
    columns = {
        name: np.array([vars(p)[name] for p in found.points], dtype=float)
        for name in ("low", "high", "prediction", "label", "weight")
    }
    lower, upper = found.interval(level)
    k, x = np.arange(len(found.points)), columns["prediction"]
    fit = None
    if found.method == "isotonic":
        ends = np.stack([columns["low"], columns["high"]], axis=1).ravel()
        fit = ends, np.repeat(columns["label"], 2)
        if len(k) > MARKED:
            x = _marked(columns["low"], columns["high"], columns["weight"])
            k = np.searchsorted(columns["low"], x, side="right") - 1
            x = np.minimum(x, columns["high"][k])
    return _Shown(x, columns["label"][k], lower[k], upper[k], k, fit)


def _marked(low: Floats, high: Floats, weight: Floats) -> Floats:
    """Return the predictions at which an isotonic fit with these blocks has an interval."""
    ends = np.stack([low, high], axis=1).ravel()
    until = np.cumsum(weight) / weight.sum()
    share = np.stack([np.append(0.0, until[:-1]), until], axis=1).ravel()
    mixed = (share + (ends - ends[0]) / (ends[-1] - ends[0])) / 2
    return np.interp((np.arange(MARKED) + 0.5) / MARKED, mixed, ends)


def _curve(shown: _Shown, style: str, label: str = "isotonic fit of the labels") -> list[Mark]:
    return [] if shown.fit is None else [Line(*shown.fit, style, label)]


def _whiskers(shown: _Shown, style: str, label: str) -> Segments:
    known = np.isfinite(shown.lower) & np.isfinite(shown.upper)
    x = shown.x[known]
    return Segments(x, shown.lower[known], x, shown.upper[known], style, label, caps=5.3)


def _deviations(found: Calibration) -> list[Mark]:
    """Return the ranges of predictions that are wrong on average, as a ground behind the points."""
    if not found.deviations:
        return []
    ends = np.array([(d.low, d.high) for d in found.deviations])
    whole = np.full(len(ends), np.inf)
    return [Rectangles(ends[:, 0], ends[:, 1], -whole, whole, "aside", "wrong on average")]


def _bars(found: Calibration) -> tuple[Floats, Floats, Floats]:
    """Return the ends and the heights of the bars of the histogram."""
    edges = np.array(found.histogram_edges)
    return edges[:-1], edges[1:], np.array(found.histogram_weight)


def _kind(found: Calibration) -> str:
    return "label" if not found.events else "label (proportion)"


def _notes(found: Calibration) -> tuple[str, ...]:
    bins = () if found.method == "isotonic" else (counted(len(found.points), "bin"),)
    outside = found.provenance.get("rows_outside", 0)
    left_out = (f"{counted(outside, 'row')} outside the bins",) if outside else ()
    return (*bins, *left_out)


# --- the figure -----------------------------------------------------------------------------------


def _figure(
    each: Sequence[Calibration],
    shown: Sequence[_Shown],
    marks: Sequence[Mark],
    bars: Sequence[Mark],
    title: Title,
    notes: tuple[str, ...],
    order: tuple[str, ...],
) -> FigureSpec:
    first = each[0]
    low, high = _range(each, shown)
    events = all(one.events for one in each)
    name = first.quantity if len({one.quantity for one in each}) == 1 else "prediction"
    x = PlotAxis(clean(name), first.unit, low, high, 0.02)
    y = PlotAxis("observed proportion" if events else "mean label", first.unit, low, high, 0.02)
    ends = np.array(x.limits)
    diagonal = Line(ends, ends, "ideal", "mean label = prediction")
    beyond = off_scale(y, [(part.lower, part.upper) for part in shown])
    tips = tuple(
        tip for one, part in zip(each[:1], shown[:1], strict=True) for tip in _tips(one, part)
    )
    # Grounds first, then the diagonal, then curves.
    grounds = [m for m in marks if isinstance(m, Rectangles)]
    others = [m for m in marks if not isinstance(m, Rectangles)]
    main = Panel(
        x,
        y,
        (*grounds, diagonal, *others),
        220.0,
        title,
        (*notes, *beyond),
        tooltips=tips if len(each) == 1 else (),
    )
    widened = [
        _widened(m, float(np.ptp(x.limits))) if isinstance(m, Rectangles) else m for m in bars
    ]
    most = max(max(one.histogram_weight) for one in each)
    weighted = any(one.weight != one.rows for one in each)
    below = Panel(
        x,
        PlotAxis("weight" if weighted else "rows", None, 0.0, 1.08 * most, 0.0),
        tuple(widened),
        40.0,
        kind="detail",
    )
    alt = " ".join(
        f"{title}{f', {text}' if order else ''}: {calibration_text(one)} {_points_text(part)}"
        for one, part, text in zip(each, shown, order or [""] * len(each), strict=True)
    )
    return FigureSpec(((main, below),), str(title), alt, order=order)


def _widened(bars: Rectangles, span: float) -> Rectangles:
    middle = (bars.left + bars.right) / 2
    half = np.maximum(bars.right - bars.left, THIN * span) / 2
    return Rectangles(middle - half, middle + half, bars.lower, bars.upper, bars.style, bars.label)


def _points_text(shown: _Shown) -> str:
    pairs = zip(shown.x.tolist(), shown.y.tolist(), strict=True)
    return "; ".join(f"predicted {number(x)} mean label {number(y)}" for x, y in pairs) + "."


def _range(each: Sequence[Calibration], shown: Sequence[_Shown]) -> tuple[float, float]:
    """Return the ends of both axes: of predictions and mean labels, and intervals as far as these stay readable."""
    predictions = [np.array([one.points[0].low, one.points[-1].high]) for one in each]
    low, high = extent([*predictions, *(part.y for part in shown)])
    reached = extent([a for part in shown for a in (part.lower, part.upper)])
    if np.isfinite(reached).all():
        low, high = readable_range(reached, low, high)
    if not all(one.events for one in each) or low < 0 or high > 1:
        return low, high
    if high - low > WHOLE or high <= low:
        return 0.0, 1.0
    # A nearby 0 or 1 is included, because these values have a meaning.
    return (0.0 if low < high - low else low), (1.0 if 1 - high < high - low else high)


def _tips(found: Calibration, shown: _Shown) -> list[Tooltip]:
    """Return the tooltips of the points, which together cover the panel."""
    cuts = [-np.inf, *((shown.x[:-1] + shown.x[1:]) / 2).tolist(), np.inf]
    texts: list[str] = []
    for k, lower, upper in zip(shown.point.tolist(), shown.lower, shown.upper, strict=True):
        p = found.points[k]
        low, high, mean = map(number, (p.low, p.high, p.prediction))
        label = f"mean label {number(p.label)} ({number(float(lower))} to {number(float(upper))})"
        texts.append(f"predicted {low} – {high}, mean {mean}\n{label}\n{counted(p.count, 'row')}")
    return [
        Tooltip(a, b, text, below=1)
        for a, b, text in zip(cuts[:-1], cuts[1:], texts, strict=True)
        if a < b
    ]
