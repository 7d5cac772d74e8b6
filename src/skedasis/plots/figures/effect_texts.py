"""Words of figures of effects: alternative text, tooltips, and the line below a page's heading."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from skedasis._numbers import counted, number, number_or_zero, with_error
from skedasis._types import Floats, Ints
from skedasis.plots.figures.effect_parts import GAP, LONG, Band, Beside, average_of, hatched_gaps
from skedasis.plots.figures.titles import effect_title
from skedasis.plots.marks import Area, Line, Panel, Points, Rectangles, Tooltip, shorter_labels
from skedasis.plots.scales import PlotAxis, position_texts, shorten
from skedasis.results.axis import TimedAxis
from skedasis.results.effect import TRUSTED_ROWS, BinnedEffect, BinStats, Effect, MPlotEffect
from skedasis.results.surface import Surface

# --- alternative text, summary line --------------------------------------------------------------


def alt_text(effect: Effect, main: Panel) -> str:
    """Return the alternative text of an effect: ends and extremes of the curve, heterogeneity score and notes."""
    parts = [f"{effect_title(effect)}."]
    curve = average_of(main)
    if np.isfinite(curve.y).any():
        parts.append(_course(effect, main.x, curve.x, curve.y))
        parts += _courses_of_groups(main)
    if effect.heterogeneity_score > 0:
        parts.append(f"{heterogeneity_text(effect).capitalize()}.")
    parts += _band_texts(effect, main)
    if main.notes:
        parts.append(f"{'; '.join(main.notes)}.")
    return " ".join(parts)


def _course(effect: Effect, axis: PlotAxis, x: Floats, y: Floats) -> str:
    """Describe the course of a curve, or the extremes among levels."""
    known = np.flatnonzero(np.isfinite(y))
    top = float(np.abs(y[known]).max())
    first, last = int(known[0]), int(known[-1])
    low, high = int(known[np.argmin(y[known])]), int(known[np.argmax(y[known])])
    chosen = [first, last, low, high]
    if axis.labels:
        texts = [shorten(axis.labels[i], LONG) for i in chosen]
    else:
        texts = [f"{t}{_unit(axis.unit)}" for t in position_texts(x[chosen], effect.time)]
    said = dict(zip(chosen, texts, strict=True))

    def at(i: int) -> str:
        return f"{number_or_zero(float(y[i]), top)} at {said[i]}"

    if len(known) == 1:
        return f"The effect is {at(first)}."
    if float(np.ptp(y[known])) <= 1e-9 * top:
        return f"The curve is constant: {at(first)}."
    if axis.labels:
        return f"Minimum {at(low)}, maximum {at(high)}."
    text = f"The curve runs from {at(first)} to {at(last)}"
    extremes = [(w, i) for w, i in (("minimum", low), ("maximum", high)) if i not in (first, last)]
    return f"{text}; {', '.join(f'{w} {at(i)}' for w, i in extremes)}." if extremes else f"{text}."


def _band_texts(effect: Effect, main: Panel) -> Iterator[str]:
    """Yield a sentence for the band around the average: its smallest and its largest half width."""
    for mark in main.marks:
        if not isinstance(mark, Area | Rectangles) or mark.style != "heterogeneity":
            continue
        half = _half(mark)
        known = np.flatnonzero(np.isfinite(half))
        if not half[known].any():
            continue
        ends = [int(known[np.argmin(half[known])]), int(known[np.argmax(half[known])])]
        if main.x.labels:
            said = [shorten(main.x.labels[i], LONG) for i in ends]
        else:
            x = mark.x if isinstance(mark, Area) else mark.left
            said = [f"{t}{_unit(main.x.unit)}" for t in position_texts(x[ends], effect.time)]
        low, high = (number_or_zero(float(half[i]), float(half[ends[1]])) for i in ends)
        name = mark.label.removeprefix("± ")
        yield f"{name[0].upper()}{name[1:]}: {low} at {said[0]} to {high} at {said[1]}."


def _courses_of_groups(main: Panel) -> Iterator[str]:
    """Yield a sentence for the average of each group of rows: its ends, or its extremes among levels."""
    found: dict[str, Line | Points] = {}
    for mark in main.marks:
        if isinstance(mark, Line | Points) and mark.style.removesuffix("-point").endswith("-mean"):
            found.setdefault(mark.label, mark)
    for label, mark in found.items():
        known = np.flatnonzero(np.isfinite(mark.y))
        if len(known) == 0:
            continue
        top = float(np.abs(mark.y[known]).max())
        first, last = (number_or_zero(float(mark.y[i]), top) for i in known[[0, -1]].tolist())
        if main.x.labels:
            first, last = (
                number_or_zero(float(v), top) for v in (mark.y[known].min(), mark.y[known].max())
            )
        yield f"Average of {label}: {first} to {last}."


def heterogeneity_text(effect: Effect) -> str:
    """Return the heterogeneity score with its standard error as text."""
    score, error = effect.heterogeneity_score, effect.heterogeneity_score_error
    if math.isnan(score):
        return "heterogeneity score not computed"
    return f"heterogeneity score {with_error(score, error, effect.importance)}"


def lead(result: Effect | Surface) -> str:
    """Return one line with the size of the effect or of the interaction."""
    unit = f" {result.about.unit}" if result.about.unit else ""
    if isinstance(result, Surface):
        what = "standard deviation" if result.includes_main_effects else "interaction strength"
        sizes = f"{what.capitalize()} {number(result.interaction_strength())}{unit}"
    else:
        sizes = f"Importance {number(result.importance)}{unit}"
        if result.swap_score is not None:
            sizes += f", {heterogeneity_text(result)}{unit}"
    return f"{sizes}."


# --- tooltips ------------------------------------------------------------------------------------

MOST = 160
"""Most tooltips of a panel; more of them would be too narrow to point at."""

RARE = f"fewer than {TRUSTED_ROWS} rows: unreliable"


def some(n: int) -> list[int]:
    """Return the indices of at most `MOST` of n tooltips, at equal steps."""
    return np.unique(np.linspace(0, n - 1, min(n, MOST)).round().astype(int)).tolist()


def bin_tooltips(
    effect: BinnedEffect, label: str, spreads: Sequence[Band], below: int
) -> Iterator[Tooltip]:
    """Yield a tooltip per bin: ends, number of rows, slope and spread, or for an M-plot mean and standard deviation."""
    bins = effect.bins
    # The standard deviations of an M-plot are those of its bins.
    spreads = () if isinstance(effect, MPlotEffect) else spreads
    top = float(np.nanmax(np.abs(effect.value), initial=0.0))
    edges, unit = position_texts(bins.edges, effect.time), _unit(effect.about.feature.unit)
    for k in some(len(bins)):
        lines = [f"{edges[k]} – {edges[k + 1]}{unit}"]
        if bins.empty[k]:
            lines.append("no rows")
        else:
            lines.append(counted(int(bins.count[k]), "row"))
            lines += _of_bin(effect, label, k)
            for band in spreads:
                ends = _extremes(band, float(bins.low[k]), float(bins.high[k]))
                lines += [deviation_text(band, ends, top)] if ends else []
            lines += [] if bins.trusted[k] else [RARE]
        lines += gap_lines(effect, float(bins.low[k]), float(bins.high[k]))
        yield Tooltip(float(bins.low[k]), float(bins.high[k]), "\n".join(lines), below=below)


def _of_bin(effect: BinnedEffect, label: str, k: int) -> list[str]:
    """Return the lines on the change of the effect in a bin, or of an M-plot on its mean."""
    bins = effect.bins
    largest = float(np.nanmax(np.abs(bins.effect), initial=0.0))
    if isinstance(effect, MPlotEffect):
        return _statistics("mean", k, bins, largest, _unit(effect.about.unit))
    # The curve may have more points than the bins have edges.
    start, end = effect.at(np.array([bins.low[k], bins.high[k]]))
    top = float(np.nanmax(np.abs(effect.value), initial=0.0))
    change = f"{number_or_zero(start, top)} → {number_or_zero(end, top)}"
    lines = [f"{label.removeprefix('average ')} {change}{_unit(effect.about.unit)}"]
    per = " per day" if isinstance(effect.axis, TimedAxis) else ""
    if bins.slope_change[k]:
        ends = [number_or_zero(float(v[k]), largest) for v in bins.ends]
        lines.append(f"slope {ends[0]} → {ends[1]}{per}")
    return lines + _statistics("average slope", k, bins, largest, per)


def _statistics(mean: str, k: int, bins: BinStats, largest: float, unit: str) -> list[str]:
    """Return mean, standard deviation and standard error of a bin, one line each."""
    return [
        f"{mean} {number_or_zero(float(bins.effect[k]), largest)}{unit}",
        f"standard deviation {number_or_zero(float(bins.std[k]), largest)}",
        f"standard error {number_or_zero(float(bins.std_error[k]), largest)}",
    ]


def point_tooltips(
    effect: Effect,
    axis: PlotAxis,
    value_unit: str | None,
    curve: tuple[Floats, Floats, str],
    bands: Sequence[Band],
    regions: Sequence[tuple[float, float, str]] = (),
    groups: Sequence[tuple[str, Floats]] = (),
) -> Iterator[Tooltip]:
    """Yield a tooltip per grid point: the averages, bands, and the elevated region that contains it."""
    x, y, label = curve
    low, high = axis.range
    ends = np.concatenate([[low], (x[:-1] + x[1:]) / 2, [high]])
    at, unit = position_texts(x, effect.time), _unit(axis.unit)
    bands = [band.at(x) for band in bands]
    chosen = some(len(x))
    # The interval of an omitted grid point belongs to its left neighbour.
    edges = ends if len(chosen) == len(x) else np.append(ends[chosen], high)
    for place, i in enumerate(chosen):
        lines = [f"{shorten(effect.feature_title, LONG)} = {at[i]}{unit}"]
        lines += value_lines(i, y, label, bands, value_unit)
        lines += group_lines(i, groups)
        lines += [said for left, right, said in regions if left <= x[i] <= right]
        lines += gap_lines(effect, float(edges[place]), float(edges[place + 1]))
        yield Tooltip(float(edges[place]), float(edges[place + 1]), "\n".join(lines))


def level_tooltips(
    names: Sequence[str],
    count: Ints | None,
    curve: tuple[Floats, str, str | None],
    bands: Sequence[Band],
    below: int = 0,
    groups: Sequence[tuple[str, Floats]] = (),
) -> Iterator[Tooltip]:
    """Yield a tooltip per level: number of rows, value (with its name and unit), bands, averages of groups."""
    y, label, unit = curve
    for i in some(len(names)):
        lines = [shorten(names[i], LONG)]
        lines += [] if count is None else [counted(int(count[i]), "row")]
        lines += value_lines(i, y, label, bands, unit)
        lines += group_lines(i, groups)
        lines += [] if count is None or count[i] >= TRUSTED_ROWS else [RARE]
        yield Tooltip(i - 0.5, i + 0.5, "\n".join(lines), below=below)


def value_lines(
    i: int, y: Floats, label: str, bands: Sequence[Band], unit: str | None
) -> Iterator[str]:
    """Yield the average at a point, the standard deviation around it, and the ends of its interval."""
    top = float(np.nanmax(np.abs(y), initial=0.0))
    yield f"{label} {number_or_zero(float(y[i]), top)}{_unit(unit)}"
    for band in bands:
        low, high = float(band.lower[i]), float(band.upper[i])
        if not np.isfinite(high - low):
            continue
        if band.label.startswith("± "):
            yield deviation_text(band, (i,), top)
        else:
            yield f"{band.label}: {number_or_zero(low, top)} to {number_or_zero(high, top)}"


def _half(band: Band | Area | Rectangles) -> Floats:
    """Return half the width of a band; NaN where it is around an infinite value."""
    with np.errstate(invalid="ignore"):
        return (band.upper - band.lower) / 2


def _extremes(band: Band, low: float, high: float) -> list[int]:
    """Return the points between two others at which a band is narrowest and widest."""
    inside = np.flatnonzero((band.x >= low) & (band.x <= high))
    half = _half(band)[inside]
    known = inside[np.isfinite(half)]
    half = half[np.isfinite(half)]
    return [int(known[np.argmin(half)]), int(known[np.argmax(half)])] if len(known) else []


def deviation_text(band: Band, at: Sequence[int], top: float) -> str:
    """Return a standard deviation at one or more points, with its standard error: "spread between rows 43 ± 6"."""
    half = _half(band)
    error = np.full(len(half), np.nan) if band.error is None else band.error
    name = shorter_labels(band.label)[-1]
    said = dict.fromkeys(with_error(float(half[i]), float(error[i]), top) for i in at)
    return f"{name.removeprefix('± ')} {' to '.join(said)}"


def group_lines(i: int, groups: Sequence[tuple[str, Floats]]) -> Iterator[str]:
    """Yield the average of each group of rows at a point."""
    for label, y in groups:
        top = float(np.nanmax(np.abs(y), initial=0.0))
        yield f"{label}: {number_or_zero(float(y[i]), top)}"


def step_tooltips(
    names: Sequence[str],
    ends: tuple[Floats, Floats],
    mean: Floats,
    std: Floats,
    label: str,
    unit: str | None,
) -> Iterator[Tooltip]:
    """Yield a tooltip per difference between adjacent levels: mean and standard deviation."""
    top = float(np.nanmax(np.abs(mean), initial=0.0))
    for k in some(len(mean)):
        first, last = (float(end[k]) for end in ends)
        between = " → ".join(shorten(names[round(v)], LONG) for v in (first, last))
        value = f"{label} {number_or_zero(float(mean[k]), top)}{_unit(unit)}"
        spread = f"standard deviation {number_or_zero(float(std[k]), top)}"
        yield Tooltip(first, last, f"{between}\n{value}\n{spread}")


def tooltips_beside(
    x: PlotAxis, unit: str | None, found: Sequence[Beside], below: int
) -> Iterator[Tooltip]:
    """Yield the tooltips of effects beside the axis: number of rows, average and interval."""
    for aside, point in zip(x.asides, found, strict=True):
        lines = [*point.lines]
        if np.isfinite(point.y):
            lines.append(f"average {number(point.y)}{_unit(unit)}")
        if np.isfinite(point.upper - point.lower):
            lines.append(f"interval: {number(point.lower)} to {number(point.upper)}")
        yield Tooltip(aside.left, aside.right, "\n".join(lines), below=below)


def gap_lines(effect: Effect, low: float, high: float) -> Iterator[str]:
    """Yield the hatched gaps that overlap with an interval."""
    for a, b in zip(*hatched_gaps(effect), strict=True):
        if a < high and b > low:
            yield f"{GAP} {' – '.join(position_texts(np.array([a, b]), effect.time))}"


def group_tooltips(
    effect: Effect, x: PlotAxis, edges: Floats, groups: Sequence[tuple[str, Floats]]
) -> Iterator[Tooltip]:
    """Yield a tooltip per bar of histograms of groups: the rows, or the sum of their weights, in each group."""
    named = dict(zip(x.ticks, x.labels, strict=False))
    texts = position_texts(edges, x.time)
    for k in range(len(edges) - 1):
        # Between the bars of levels are gaps.
        if x.labels and edges[k] > edges[k + 1] - 0.5:
            continue
        head = f"{shorten(effect.feature_title, LONG)}: {texts[k]} – {texts[k + 1]}{_unit(x.unit)}"
        head = named.get(round(float(edges[k] + edges[k + 1]) / 2), head) if x.labels else head
        rows = [f"{name}: {_amount(float(height[k]))}" for name, height in groups]
        yield Tooltip(float(edges[k]), float(edges[k + 1]), "\n".join([head, *rows]))


def _amount(rows: float) -> str:
    """Return a number of rows, or a sum of weights, as text."""
    return f"{rows:,.0f}" if rows == round(rows) else number(rows)


def _unit(unit: str | None) -> str:
    return f" {shorten(unit, 30)}" if unit else ""
