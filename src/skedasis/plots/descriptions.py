"""Alternative text and tooltips of SVG figures.

Alternative text (`effect_alt_text`, `overlay_alt_text`) summarises a figure of effects in one or two sentences computed
from its numbers, for screen readers. `lead` is the sentence below a page's heading. A `Tooltip` is an interval of the
horizontal axis with the lines of text shown when a reader points at it; `tooltip_rectangles` turns tooltips into
transparent rectangles that carry the text in `data-tip`, where `assets/figure.js` reads it. Tooltips of surfaces are in
`plots.figures.surface`, those of importances and diagnoses next to their figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from skedasis._types import Floats
from skedasis.plots.figures.categorical import Places
from skedasis.plots.figures.compare import Overlay, heterogeneity_text
from skedasis.plots.figures.effect import has_bins
from skedasis.plots.scales import clean, number, number_or_zero, position_texts, shorten
from skedasis.plots.spec import Band, EffectPlotOptions, FigureSpec, Line, Panel
from skedasis.plots.svg.elements import joined, tag
from skedasis.plots.svg.frame import Frame
from skedasis.results.axis import LevelAxis, TimedAxis
from skedasis.results.effect import (
    TRUSTED_ROWS,
    BinnedEffect,
    BinStats,
    Effect,
    LevelStepsEffect,
    MPlotEffect,
)
from skedasis.results.surface import Surface

# --- alternative text ----------------------------------------------------------------------------


def effect_alt_text(effect: Effect, panel: Panel) -> str:
    """Return the alternative text of an effect: ends and extremes of the curve, heterogeneity score and notes.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> from skedasis.plots.figures.effect import effect_spec
    >>> X = np.linspace(0, 1, 101)[:, None]
    >>> e = sd.explain(lambda X: 3 * X[:, 0], X, 0, method=sd.ALE(bins=2))
    >>> print(effect_alt_text(e, effect_spec(e).main))
    ALE of x0 on prediction. The curve runs from −1.49 at 0 to 1.51 at 1. 101 rows; 2 bins.
    """
    name, quantity = shorten(effect.feature, LONG), shorten(effect.about.quantity, LONG)
    parts = [f"{effect.spec.method} of {name} on {quantity}."]
    line = panel.lines[0]
    if np.isfinite(line.y).any():
        parts.append(_curve_text(effect, line))
    if effect.heterogeneity_score > 0:
        parts.append(f"{heterogeneity_text(effect).capitalize()}.")
    if panel.notes:
        parts.append(f"{'; '.join(panel.notes)}.")
    return " ".join(parts)


def _point_names(effect: Effect, line: Line, chosen: list[int]) -> dict[int, str]:
    """Return the names of some points of a line: feature values with their unit, or levels."""
    if not isinstance(effect.axis, LevelAxis):
        unit = effect.about.feature.unit
        after = f" {shorten(unit, 30)}" if unit else ""
        texts = [f"{t}{after}" for t in position_texts(line.x[chosen], effect.time)]
    else:
        shown = Places.of(effect.about.feature, effect.axis.levels, len(line.x)).shown
        texts = [shorten(effect.axis.levels.labels[shown[i]], LONG) for i in chosen]
    return dict(zip(chosen, texts, strict=True))


def _curve_text(effect: Effect, line: Line) -> str:
    """Describe the course of a curve, or the extremes among levels."""
    known = np.flatnonzero(np.isfinite(line.y))
    y: Floats = line.y[known]
    top = float(np.abs(y).max())
    first, last = int(known[0]), int(known[-1])
    low, high = int(known[np.argmin(y)]), int(known[np.argmax(y)])
    said = _point_names(effect, line, [first, last, low, high])

    def at(i: int) -> str:
        return f"{number_or_zero(float(line.y[i]), top)} at {said[i]}"

    if float(y.max() - y.min()) <= 1e-9 * top or len(known) == 1:
        if len(known) == 1:
            return f"The effect is {at(first)}."
        return f"The curve is constant: {at(first)}."
    if line.joined != "line":
        return f"Minimum {at(low)}, maximum {at(high)}."
    text = f"The curve runs from {at(first)} to {at(last)}"
    beyond = [
        f"{word} {at(i)}"
        for word, i in (("minimum", low), ("maximum", high))
        if i not in (first, last)
    ]
    return f"{text}; {', '.join(beyond)}." if beyond else f"{text}."


def overlay_alt_text(shown: Overlay, feature: str) -> str:
    """Return the alternative text of overlaid effects: the range of each curve."""
    parts = [f"Overlaid effects of {shorten(feature, LONG)}."]
    for s in shown.strands:
        y = s.y[np.isfinite(s.y)]
        if len(y):
            top = float(np.abs(y).max())
            low, high = number_or_zero(float(y.min()), top), number_or_zero(float(y.max()), top)
            parts.append(f"{s.label}: from {low} to {high}.")
    return " ".join(parts)


# --- summary line --------------------------------------------------------------------------------


def lead(result: Effect | Surface) -> str:
    """Return one line with the method, the quantity, and the size of the effect or of the interaction.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.arange(5.0)[:, None]
    >>> lead(sd.explain(lambda X: 3 * X[:, 0], X, 0, method=sd.ALE(bins=2)))
    'ALE of prediction: importance 4.24, heterogeneity score 0.'
    """
    unit = f" {result.about.unit}" if result.about.unit else ""
    if isinstance(result, Surface):
        what = "standard deviation" if result.includes_main_effects else "interaction strength"
        sizes = f"{what} {number(result.interaction_strength())}{unit}"
    else:
        sizes = f"importance {number(result.importance)}{unit}"
        if result.swap_score is not None:
            sizes += f", {heterogeneity_text(result)}{unit}"
    return f"{result.spec.method} of {result.about.quantity}: {sizes}."


# --- tooltips ------------------------------------------------------------------------------------

MOST = 160
"""Most tooltips of a panel; more of them would be too narrow to point at."""

STOPS = 40
"""Number of equidistant points at which overlaid curves are described."""

LONG = 60
"""Most characters of a name."""


@dataclass(frozen=True)
class Tooltip:
    """The tooltip of an interval of the horizontal axis.

    Parameters
    ----------
    left, right : float
    text : str
        One fact per line.
    """

    left: float
    right: float
    text: str


def tooltip_rectangles(hits: Iterable[Tooltip], frame: Frame, top: float, bottom: float) -> Markup:
    """Return transparent rectangles that carry the tooltips, between the pixels `top` and `bottom`."""
    parts: list[Markup] = []
    low, high = frame.across.limits
    for hit in hits:
        a, b = frame.x(np.clip([hit.left, hit.right], low, high)).tolist()
        box = {"x": a, "y": top, "width": max(b - a, 1.0), "height": bottom - top}
        parts.append(tag("rect", class_="hit", **box, data_tip=hit.text))
    return joined(parts)


def of_effect(
    effect: Effect, shown: FigureSpec, view: EffectPlotOptions
) -> tuple[list[Tooltip], list[Tooltip], bool]:
    """Return tooltips of the main and of the slope panel, and whether the first span both panels."""
    missing = _missing(effect, shown.main)
    if isinstance(effect.axis, LevelAxis):
        places = Places.of(effect.about.feature, effect.axis.levels, view.most)
        levels = _levels(places, shown.main)
        if not isinstance(effect, LevelStepsEffect) or shown.slopes is None:
            return [*levels, *missing], [], True
        return [*levels, *missing], _steps(places, shown.slopes), False
    if has_bins(effect):
        return [*_bins(effect), *missing], [], True
    return [*_points(effect, shown.main), *missing], [], True


def some(n: int) -> list[int]:
    """Return the indices of at most `MOST` of n tooltips, at equal steps."""
    return np.unique(np.linspace(0, n - 1, min(n, MOST)).round().astype(int)).tolist()


def _bins(effect: BinnedEffect) -> list[Tooltip]:
    """Return a tooltip per bin: ends, number of rows and slope, or for an M-plot the mean."""
    bins, means = effect.bins, isinstance(effect, MPlotEffect)
    edges = position_texts(bins.edges, effect.time)
    unit = _unit(effect.about.feature.unit)
    largest = float(np.nanmax(np.abs(bins.effect), initial=0.0))
    out: list[Tooltip] = []
    for k in some(len(bins)):
        lines = [f"{edges[k]} – {edges[k + 1]}{unit}", _rows(int(bins.count[k]))]
        if bins.empty[k]:
            lines = [lines[0], "no rows"]
        elif means:
            lines += _bin_statistics("mean", k, bins, largest, _unit(effect.about.unit))
        else:
            lines += _slopes(effect, k, largest)
        if not bins.trusted[k] and not bins.empty[k]:
            lines.append(f"fewer than {TRUSTED_ROWS} rows: unreliable")
        out.append(Tooltip(float(bins.low[k]), float(bins.high[k]), "\n".join(lines)))
    return out


def _slopes(effect: BinnedEffect, k: int, largest: float) -> list[str]:
    """Return the lines on the change of the effect in a bin."""
    # The curve may have more points than the bins have edges.
    bins = effect.bins
    start, end = effect.at(np.array([bins.low[k], bins.high[k]]))
    top = float(np.nanmax(np.abs(effect.value), initial=0.0))
    lines = [
        f"effect {number_or_zero(start, top)} → {number_or_zero(end, top)}{_unit(effect.about.unit)}"
    ]
    per = " per day" if isinstance(effect.axis, TimedAxis) else ""
    if bins.slope_change[k]:
        first, last = (float(v[k]) for v in bins.ends)
        lines.append(
            f"slope {number_or_zero(first, largest)} → {number_or_zero(last, largest)}{per}"
        )
    return lines + _bin_statistics("slope", k, bins, largest, per)


def _bin_statistics(what: str, k: int, bins: BinStats, largest: float, unit: str) -> list[str]:
    """Return mean, standard deviation and standard error of a bin, one line each."""
    mean = f"mean {what}" if what == "slope" else what
    return [
        f"{mean} {number_or_zero(float(bins.effect[k]), largest)}{unit}",
        f"standard deviation {number_or_zero(float(bins.std[k]), largest)}",
        f"standard error {number_or_zero(float(bins.std_error[k]), largest)}",
    ]


def _points(effect: Effect, panel: Panel) -> list[Tooltip]:
    """Return a tooltip per grid point: values of the curve and its bands."""
    x = panel.lines[0].x
    low, high = panel.x.range
    ends = np.concatenate([[low], (x[:-1] + x[1:]) / 2, [high]])
    unit, at = _unit(effect.about.feature.unit), position_texts(x, effect.time)
    chosen = some(len(x))
    # The interval of an omitted grid point belongs to its left neighbour.
    edges = ends if len(chosen) == len(x) else np.append(ends[chosen], high)
    name = shorten(effect.feature, LONG)
    out: list[Tooltip] = []
    for place, i in enumerate(chosen):
        lines = [f"{name} = {at[i]}{unit}", *_value_lines(panel, i)]
        lines += [s.label for s in panel.strips if s.left <= x[i] <= s.right]
        out.append(Tooltip(float(edges[place]), float(edges[place + 1]), "\n".join(lines)))
    return out


def _levels(shown: Places, panel: Panel) -> list[Tooltip]:
    """Return a tooltip per level: number of rows, value, standard deviation and interval."""
    levels = shown.levels
    out: list[Tooltip] = []
    for i in some(len(shown)):
        k = int(shown.shown[i])
        lines = [_name(levels.labels[k]), _rows(int(levels.count[k]))]
        lines += _value_lines(panel, i)
        if levels.count[k] < TRUSTED_ROWS:
            lines.append(f"fewer than {TRUSTED_ROWS} rows: unreliable")
        out.append(Tooltip(i - 0.5, i + 0.5, "\n".join(lines)))
    return out


def _value_lines(panel: Panel, i: int) -> list[str]:
    """Return the values of a panel's line and bands at one of their points."""
    line = panel.lines[0]
    top = float(np.nanmax(np.abs(line.y), initial=0.0))
    lines = [f"{line.label} {number_or_zero(float(line.y[i]), top)}{_unit(panel.y.unit)}"]
    for band in panel.bands:
        lines += _between(band, i, top)
    return lines


def _between(band: Band, i: int, top: float) -> list[str]:
    """Return half the width of a heterogeneity band, or both ends of an interval; nothing where it is unknown."""
    low, high = float(band.lower[i]), float(band.upper[i])
    if not np.isfinite(high - low):
        return []
    if band.role == "heterogeneity":
        return [f"± {number_or_zero((high - low) / 2, top)} {band.label.removeprefix('± ')}"]
    return [f"{band.label}: {number_or_zero(low, top)} to {number_or_zero(high, top)}"]


def _steps(shown: Places, panel: Panel) -> list[Tooltip]:
    """Return a tooltip per difference between adjacent levels: mean and standard deviation."""
    steps = panel.steps
    if steps is None:
        return []
    labels = [_name(shown.levels.labels[k]) for k in shown.shown.tolist()]
    top = float(np.nanmax(np.abs(steps.y), initial=0.0))
    unit = _unit(panel.y.unit)
    out: list[Tooltip] = []
    for k in some(len(steps.y)):
        # The drawn steps leave a gap to the levels they connect.
        first, last = round(float(steps.left[k])), round(float(steps.right[k]))
        spread = number_or_zero(float(steps.upper[k] - steps.y[k]), top)
        said = f"{labels[first]} → {labels[last]}"
        value = f"{steps.label} {number_or_zero(float(steps.y[k]), top)}{unit}"
        text = f"{said}\n{value}\nstandard deviation {spread}"
        out.append(Tooltip(float(first), float(last), text))
    return out


def _missing(effect: Effect, panel: Panel) -> list[Tooltip]:
    """Return the tooltip of missing values: number of rows, average and interval."""
    point = panel.missing_marker
    if point is None or effect.missing_point is None:
        return []
    lines = [f"{shorten(effect.feature, LONG)}: missing", _rows(effect.missing_point.count)]
    lines.append(f"average {number(point.y)}{_unit(panel.y.unit)}")
    if np.isfinite(point.upper - point.lower):
        lines.append(f"interval: {number(point.lower)} to {number(point.upper)}")
    low, high = panel.x.gap
    return [Tooltip(low, high, "\n".join(lines))]


def of_groups(panel: Panel, feature: str, unit: str | None) -> list[Tooltip]:
    """Return a tooltip per bar of the grouped histogram: number of rows in each group."""
    if not panel.outlines:
        return []
    edges = panel.outlines[0].edges
    named = dict(zip(panel.x.ticks, panel.x.labels, strict=False))
    texts = position_texts(edges, panel.x.time)
    out: list[Tooltip] = []
    for k in range(len(edges) - 1):
        middle = round(float(edges[k] + edges[k + 1]) / 2)
        if panel.x.labels and edges[k] > edges[k + 1] - 0.5:
            continue
        head = f"{shorten(feature, LONG)}: {texts[k]} – {texts[k + 1]}{_unit(unit)}"
        if panel.x.labels:
            head = named.get(float(middle), head)
        rows = [
            f"{o.label.rpartition(' (')[0]}: {_counted(float(o.height[k]))}" for o in panel.outlines
        ]
        out.append(Tooltip(float(edges[k]), float(edges[k + 1]), "\n".join([head, *rows])))
    return out


def of_overlay(shown: Overlay, feature: str, names: Sequence[str] | None) -> list[Tooltip]:
    """Return tooltips of overlaid effects: the value of each at the same levels, or at `STOPS` points of the axis."""
    if names is not None:
        return [_at_level(shown, i, name) for i, name in enumerate(names)]
    low, high = shown.x.range
    ends = (low, high) if np.isnan(shown.x.least) else (shown.x.least, shown.x.most)
    at = np.unique(np.linspace(*ends, STOPS, dtype=np.float64))
    edges = np.concatenate([[low], (at[:-1] + at[1:]) / 2, [high]])
    time, unit = shown.x.time, _unit(shown.x.unit)
    texts = position_texts(_rounded(at)) if time is None else time.texts(at)
    values = [_along(s.x, s.y, at) for s in shown.strands]
    top = max((float(np.nanmax(np.abs(v), initial=0.0)) for v in values), default=0.0)
    out: list[Tooltip] = []
    for k in range(len(at)):
        lines = [f"{shorten(feature, LONG)} = {texts[k]}{unit}"]
        lines += [
            f"{s.label} {number_or_zero(float(v[k]), top)}"
            for s, v in zip(shown.strands, values, strict=True)
        ]
        out.append(Tooltip(float(edges[k]), float(edges[k + 1]), "\n".join(lines)))
    return out


def _rounded(at: Floats) -> Floats:
    """Return positions rounded to two significant digits of their step."""
    if len(at) < 2:
        return at
    digits = 1 - np.floor(np.log10(at[1] - at[0]))
    return np.round(at, int(np.clip(digits, -300, 300)))


def _along(x: Floats, y: Floats, at: Floats) -> Floats:
    """Return the values of a curve at some positions, NaN outside its range."""
    known = np.isfinite(x) & np.isfinite(y)
    if not known.any():
        return np.full(len(at), np.nan)
    return np.interp(at, x[known], y[known], left=np.nan, right=np.nan)


def _at_level(shown: Overlay, place: int, name: str) -> Tooltip:
    lines = [_name(name)]
    for s in shown.strands:
        mine = np.flatnonzero(np.abs(s.x - place) < 0.5)
        lines += [f"{s.label} {number(float(s.y[k]))}" for k in mine.tolist()]
    return Tooltip(place - 0.5, place + 0.5, "\n".join(lines))


def _counted(rows: float) -> str:
    """Return a number of rows, or a sum of weights, as text."""
    return f"{rows:,.0f}" if rows == round(rows) else number(rows)


def _rows(n: int) -> str:
    return f"{n:,} row{'' if n == 1 else 's'}"


def _unit(unit: str | None) -> str:
    return f" {shorten(unit, 30)}" if unit else ""


def _name(label: str) -> str:
    return shorten(clean(label), LONG)
