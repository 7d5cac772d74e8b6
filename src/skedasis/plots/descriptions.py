"""Tooltips and alternative text of figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from skedasis._types import Floats
from skedasis.plots.figures.categorical import Places
from skedasis.plots.figures.compare import Overlay, heterogeneity
from skedasis.plots.figures.effect import has_bins
from skedasis.plots.scales import clean, number, number_or_zero, places, shortened
from skedasis.plots.spec import Band, Line, Panel, Picture, View
from skedasis.plots.svg.elements import joined, tag
from skedasis.plots.svg.frame import Frame
from skedasis.results.effect import TRUSTED_ROWS, BinStats, Effect
from skedasis.results.surface import Surface

# ------------------------------------------------------------------------------------------
# What is to be seen, for those who do not see it: one or two sentences made from the numbers.


def described(effect: Effect, panel: Panel) -> str:
    """Describe an effect: where its curve begins and ends, where it is lowest and highest, how the rows differ.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> from skedasis.plots.figures.effect import picture
    >>> X = np.linspace(0, 1, 101)[:, None]
    >>> e = sd.explain(lambda X: 3 * X[:, 0], X, 0, method=sd.ALE(bins=2))
    >>> print(described(e, picture(e).main))
    ALE of x0 on prediction. From −1.49 at 0 the curve goes to 1.51 at 1. 101 rows; 2 bins.
    """
    name, quantity = shortened(effect.feature, LONG), shortened(effect.about.quantity, LONG)
    parts = [f"{effect.spec.method} of {name} on {quantity}."]
    line = panel.lines[0]
    if np.isfinite(line.y).any():
        parts.append(_course(effect, line))
    if effect.heterogeneity_score > 0:
        parts.append(f"{heterogeneity(effect).capitalize()}.")
    if panel.notes:
        parts.append(f"{'; '.join(panel.notes)}.")
    return " ".join(parts)


def _said(effect: Effect, line: Line, chosen: list[int]) -> dict[int, str]:
    """Return what some points of a line are called."""
    if effect.levels is None:
        unit = effect.about.feature.unit
        after = f" {shortened(unit, 30)}" if unit else ""
        texts = [f"{t}{after}" for t in places(line.x[chosen], effect.time)]
    else:
        shown = Places.of(effect.about.feature, effect.levels, len(line.x)).shown
        texts = [shortened(effect.levels.labels[shown[i]], LONG) for i in chosen]
    return dict(zip(chosen, texts, strict=True))


def _course(effect: Effect, line: Line) -> str:
    """Say how a curve runs, or what the extremes among levels are."""
    known = np.flatnonzero(np.isfinite(line.y))
    y: Floats = line.y[known]
    top = float(np.abs(y).max())
    first, last = int(known[0]), int(known[-1])
    low, high = int(known[np.argmin(y)]), int(known[np.argmax(y)])
    said = _said(effect, line, [first, last, low, high])

    def at(i: int) -> str:
        return f"{number_or_zero(float(line.y[i]), top)} at {said[i]}"

    if float(y.max() - y.min()) <= 1e-9 * top or len(known) == 1:
        return f"It is {at(first)}{' and everywhere' if len(known) > 1 else ''}."
    if line.joined != "line":
        return f"Lowest is {at(low)}, highest {at(high)}."
    text = f"From {at(first)} the curve goes to {at(last)}"
    beyond = [
        f"{word} {at(i)}"
        for word, i in (("lowest", low), ("highest", high))
        if i not in (first, last)
    ]
    return f"{text}; {', '.join(beyond)}." if beyond else f"{text}."


def compared(shown: Overlay, feature: str) -> str:
    """Describe curves that lie over one another: the range of each."""
    parts = [f"Effects of {shortened(feature, LONG)} laid over one another."]
    for s in shown.strands:
        y = s.y[np.isfinite(s.y)]
        if len(y):
            top = float(np.abs(y).max())
            low, high = number_or_zero(float(y.min()), top), number_or_zero(float(y.max()), top)
            parts.append(f"{s.label}: from {low} to {high}.")
    return " ".join(parts)


# ------------------------------------------------------------------------------------------
# A line on what is shown.


def lead(result: Effect | Surface) -> str:
    """Return which method says what of which quantity, and how large that is.

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
            sizes += f", {heterogeneity(result)}{unit}"
    return f"{result.spec.method} of {result.about.quantity}: {sizes}."


# ------------------------------------------------------------------------------------------
# What is said of a bin, a level or a point where somebody asks for it.


MOST = 160
"""Stops of a panel: more of them are narrower than a finger, and nobody steps through them."""


STOPS = 40
"""Where curves that lie over one another are read off."""


LONG = 60
"""Letters of a name."""


@dataclass(frozen=True)
class Hit:
    """A stretch of the horizontal axis, and what is said of it.

    Parameters
    ----------
    left, right : float
    text : str
        One thing a line.
    """

    left: float
    right: float
    text: str


def placed(hits: Iterable[Hit], frame: Frame, top: float, bottom: float) -> Markup:
    """Return what is touched: a rectangle over each stretch, seen by nobody."""
    parts: list[Markup] = []
    low, high = frame.across.limits
    for hit in hits:
        a, b = frame.x(np.clip([hit.left, hit.right], low, high)).tolist()
        box = {"x": a, "y": top, "width": max(b - a, 1.0), "height": bottom - top}
        parts.append(tag("rect", class_="hit", **box, data_tip=hit.text))
    return joined(parts)


def of_effect(effect: Effect, shown: Picture, view: View) -> tuple[list[Hit], list[Hit], bool]:
    """Return what is said of an effect's main panel, of the one below it, and whether the first is said of both."""
    missing = _missing(effect, shown.main)
    if effect.levels is not None:
        levels = _levels(effect, shown.main, view)
        if effect.bins is None or shown.slopes is None:
            return [*levels, *missing], [], True
        return [*levels, *missing], _steps(effect, shown.slopes, view), False
    if effect.bins is not None and has_bins(effect):
        return [*_bins(effect, effect.bins), *missing], [], True
    return [*_points(effect, shown.main), *missing], [], True


def some(n: int) -> list[int]:
    """Return which of n stops are kept: all, or of many those at equal steps."""
    return np.unique(np.linspace(0, n - 1, min(n, MOST)).round().astype(int)).tolist()


# ------------------------------------------------------------------------------------------- bins
def _bins(effect: Effect, bins: BinStats) -> list[Hit]:
    """Say of each bin its ends, its rows and its slope; of an M-plot its mean."""
    edges = places(bins.edges, effect.time)
    means = effect.spec.local == "values"
    unit = _unit(effect.about.feature.unit)
    largest = float(np.nanmax(np.abs(bins.effect), initial=0.0))
    out: list[Hit] = []
    for k in some(len(bins)):
        lines = [f"{edges[k]} – {edges[k + 1]}{unit}", _rows(int(bins.count[k]))]
        if bins.empty[k]:
            lines = [lines[0], "no rows"]
        elif means:
            lines += _figures("mean", k, bins, largest, _unit(effect.about.unit))
        else:
            lines += _slopes(effect, bins, k, largest)
        if not bins.trusted[k] and not bins.empty[k]:
            lines.append(f"fewer than {TRUSTED_ROWS} rows: not to be trusted")
        out.append(Hit(float(bins.low[k]), float(bins.high[k]), "\n".join(lines)))
    return out


def _slopes(effect: Effect, bins: BinStats, k: int, largest: float) -> list[str]:
    """Say how the effect changes in a bin."""
    # The curve may have more points than the bins have edges.
    start, end = effect.at(np.array([bins.low[k], bins.high[k]]))
    top = float(np.nanmax(np.abs(effect.value), initial=0.0))
    lines = [
        f"effect {number_or_zero(start, top)} → {number_or_zero(end, top)}{_unit(effect.about.unit)}"
    ]
    per = " per day" if effect.time is not None else ""
    if bins.trend[k]:
        first, last = (float(v[k]) for v in bins.ends)
        lines.append(
            f"slope {number_or_zero(first, largest)} → {number_or_zero(last, largest)}{per}"
        )
    return lines + _figures("slope", k, bins, largest, per)


def _figures(what: str, k: int, bins: BinStats, largest: float, unit: str) -> list[str]:
    mean = f"mean {what}" if what == "slope" else what
    return [
        f"{mean} {number_or_zero(float(bins.effect[k]), largest)}{unit}",
        f"std {number_or_zero(float(bins.std[k]), largest)}",
        f"standard error {number_or_zero(float(bins.std_error[k]), largest)}",
    ]


# ------------------------------------------------------------------------------- points and levels
def _points(effect: Effect, panel: Panel) -> list[Hit]:
    """Say of each point of a grid what the curve and its bands are there."""
    x = panel.lines[0].x
    low, high = panel.x.range
    ends = np.concatenate([[low], (x[:-1] + x[1:]) / 2, [high]])
    unit, at = _unit(effect.about.feature.unit), places(x, effect.time)
    chosen = some(len(x))
    # Stops that were left out belong to their neighbours: the curve is said where it is asked for.
    edges = ends if len(chosen) == len(x) else np.append(ends[chosen], high)
    name = shortened(effect.feature, LONG)
    out: list[Hit] = []
    for place, i in enumerate(chosen):
        lines = [f"{name} = {at[i]}{unit}", *_read(panel, i)]
        lines += [s.label for s in panel.strips if s.left <= x[i] <= s.right]
        out.append(Hit(float(edges[place]), float(edges[place + 1]), "\n".join(lines)))
    return out


def _levels(effect: Effect, panel: Panel, view: View) -> list[Hit]:
    """Say of each level its rows, and what its point and its boxes are."""
    if effect.levels is None:
        raise TypeError("levels are those of a categorical feature")
    shown = Places.of(effect.about.feature, effect.levels, view.most)
    out: list[Hit] = []
    for i in some(len(shown)):
        k = int(shown.shown[i])
        lines = [_name(effect.levels.labels[k]), _rows(int(effect.levels.count[k]))]
        lines += _read(panel, i)
        if effect.levels.count[k] < TRUSTED_ROWS:
            lines.append(f"fewer than {TRUSTED_ROWS} rows: not to be trusted")
        out.append(Hit(i - 0.5, i + 0.5, "\n".join(lines)))
    return out


def _read(panel: Panel, i: int) -> list[str]:
    """Return what a panel's line and bands are at one of their points."""
    line = panel.lines[0]
    top = float(np.nanmax(np.abs(line.y), initial=0.0))
    lines = [f"{line.label} {number_or_zero(float(line.y[i]), top)}{_unit(panel.y.unit)}"]
    for band in panel.bands:
        lines += _between(band, i, top)
    return lines


def _between(band: Band, i: int, top: float) -> list[str]:
    low, high = float(band.lower[i]), float(band.upper[i])
    if not np.isfinite(high - low):
        return []
    if band.role == "heterogeneity":
        return [f"± {number_or_zero((high - low) / 2, top)} {band.label.removeprefix('± ')}"]
    return [f"{band.label}: {number_or_zero(low, top)} to {number_or_zero(high, top)}"]


def _steps(effect: Effect, panel: Panel, view: View) -> list[Hit]:
    """Say of each step between levels how large it is, and how the rows differ."""
    steps = panel.steps
    if effect.levels is None or steps is None:
        return []
    shown = Places.of(effect.about.feature, effect.levels, view.most)
    labels = [_name(effect.levels.labels[k]) for k in shown.shown.tolist()]
    top = float(np.nanmax(np.abs(steps.y), initial=0.0))
    unit = _unit(panel.y.unit)
    out: list[Hit] = []
    for k in some(len(steps.y)):
        # Steps leave a gap to the levels that they lead between.
        first, last = round(float(steps.left[k])), round(float(steps.right[k]))
        spread = number_or_zero(float(steps.upper[k] - steps.y[k]), top)
        said = f"{labels[first]} → {labels[last]}"
        value = f"{steps.label} {number_or_zero(float(steps.y[k]), top)}{unit}"
        text = f"{said}\n{value}\nstd {spread}"
        out.append(Hit(float(first), float(last), text))
    return out


def _missing(effect: Effect, panel: Panel) -> list[Hit]:
    """Say what it does to miss a value."""
    point = panel.apart
    if point is None or effect.missing_point is None:
        return []
    lines = [f"{shortened(effect.feature, LONG)} missing", _rows(effect.missing_point.count)]
    lines.append(f"average {number(point.y)}{_unit(panel.y.unit)}")
    if np.isfinite(point.upper - point.lower):
        lines.append(f"interval: {number(point.lower)} to {number(point.upper)}")
    low, high = panel.x.gap
    return [Hit(low, high, "\n".join(lines))]


def of_groups(panel: Panel, feature: str, unit: str | None) -> list[Hit]:
    """Say of each bar of a distribution how many rows of each group there are."""
    if not panel.outlines:
        return []
    edges = panel.outlines[0].edges
    named = dict(zip(panel.x.ticks, panel.x.labels, strict=False))
    texts = places(edges, panel.x.time)
    out: list[Hit] = []
    for k in range(len(edges) - 1):
        middle = round(float(edges[k] + edges[k + 1]) / 2)
        if panel.x.labels and edges[k] > edges[k + 1] - 0.5:
            continue
        head = f"{shortened(feature, LONG)}: {texts[k]} – {texts[k + 1]}{_unit(unit)}"
        if panel.x.labels:
            head = named.get(float(middle), head)
        rows = [
            f"{o.label.rpartition(' (')[0]}: {_counted(float(o.height[k]))}" for o in panel.outlines
        ]
        out.append(Hit(float(edges[k]), float(edges[k + 1]), "\n".join([head, *rows])))
    return out


# ----------------------------------------------------------------------------- several effects
def of_overlay(shown: Overlay, feature: str, names: Sequence[str] | None) -> list[Hit]:
    """Say what each of several curves is at the same places: levels, or `STOPS` points of the axis."""
    if names is not None:
        return [_at_level(shown, i, name) for i, name in enumerate(names)]
    low, high = shown.x.range
    ends = (low, high) if np.isnan(shown.x.least) else (shown.x.least, shown.x.most)
    at = np.unique(np.linspace(*ends, STOPS, dtype=np.float64))
    edges = np.concatenate([[low], (at[:-1] + at[1:]) / 2, [high]])
    time, unit = shown.x.time, _unit(shown.x.unit)
    texts = places(_rounded(at)) if time is None else time.texts(at)
    values = [_along(s.x, s.y, at) for s in shown.strands]
    top = max((float(np.nanmax(np.abs(v), initial=0.0)) for v in values), default=0.0)
    out: list[Hit] = []
    for k in range(len(at)):
        lines = [f"{shortened(feature, LONG)} = {texts[k]}{unit}"]
        lines += [
            f"{s.label} {number_or_zero(float(v[k]), top)}"
            for s, v in zip(shown.strands, values, strict=True)
        ]
        out.append(Hit(float(edges[k]), float(edges[k + 1]), "\n".join(lines)))
    return out


def _rounded(at: Floats) -> Floats:
    """Return places with the digits that a step of theirs has."""
    if len(at) < 2:
        return at
    digits = 1 - np.floor(np.log10(at[1] - at[0]))
    return np.round(at, int(np.clip(digits, -300, 300)))


def _along(x: Floats, y: Floats, at: Floats) -> Floats:
    """Return a curve at some places, NaN beyond its ends."""
    known = np.isfinite(x) & np.isfinite(y)
    if not known.any():
        return np.full(len(at), np.nan)
    return np.interp(at, x[known], y[known], left=np.nan, right=np.nan)


def _at_level(shown: Overlay, place: int, name: str) -> Hit:
    lines = [_name(name)]
    for s in shown.strands:
        mine = np.flatnonzero(np.abs(s.x - place) < 0.5)
        lines += [f"{s.label} {number(float(s.y[k]))}" for k in mine.tolist()]
    return Hit(place - 0.5, place + 0.5, "\n".join(lines))


def _counted(rows: float) -> str:
    """Return rows, or where they have weights, their weight."""
    return f"{rows:,.0f}" if rows == round(rows) else number(rows)


def _rows(n: int) -> str:
    return f"{n:,} row{'' if n == 1 else 's'}"


def _unit(unit: str | None) -> str:
    return f" {shortened(unit, 30)}" if unit else ""


def _name(label: str) -> str:
    return shortened(clean(label), LONG)
