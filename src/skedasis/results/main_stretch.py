"""The part of an effect that figures and sentences are about.

It leaves out the few rows beyond gaps and, of a region, the cells at the ends in which it has no rows: over these its
curve goes on with the slopes of other cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from skedasis._numbers import counted
from skedasis._types import Bools, Floats, Ints
from skedasis.data.gaps import Gap, main_stretch
from skedasis.data.times import TimeAxis
from skedasis.results.axis import LevelAxis, NumericAxis
from skedasis.results.build.linear_form import AXIS
from skedasis.results.effect import (
    AccumulatedEffect,
    BinnedEffect,
    BinStats,
    Effect,
    MPlotEffect,
    Rows,
)
from skedasis.stats.grid import Cells


class MainPart(NamedTuple):
    """An effect on the main stretch of its axis, and what takes the part of curves beside its own, such as bounds."""

    effect: Effect
    take: Callable[[Floats], Floats]


def stretch(effect: Effect) -> tuple[float, float]:
    """Return the ends of an effect's main stretch; that of a region ends with the cells in which it has rows."""
    low, high = main_stretch(effect.about.gaps)
    axis = effect.moments.get(AXIS)
    if not effect.rule or axis is None or effect.cells is None:
        return low, high
    full = np.flatnonzero(axis.weight)
    if len(full) == 0:
        return low, high
    edges = effect.cells.edges
    return max(low, float(edges[full[0]])), min(high, float(edges[full[-1] + 1]))


def joint_stretch(effects: Sequence[Effect]) -> tuple[float, float]:
    """Return the ends of the union of the main stretches of effects."""
    low, high = zip(*(stretch(effect) for effect in effects), strict=True)
    return min(low), max(high)


def stretch_points(points: Floats, low: float, high: float) -> Floats:
    """Return the points of a curve in a stretch, with the ends of the stretch that it passes."""
    inner = [end for end in (low, high) if points[0] < end < points[-1]]
    return np.union1d(points[(points >= low) & (points <= high)], inner)


def main_part(effect: Effect) -> MainPart:
    """Return an effect on the main stretch of its axis, and the effect itself if that is all of it."""
    low, high = stretch(effect)
    points, axis = effect.axis.coordinates, effect.axis
    reach = effect.bins.edges if isinstance(effect, MPlotEffect) else points
    if isinstance(axis, LevelAxis) or not (low > reach[0] or high < reach[-1]):
        return MainPart(effect, lambda value: value)
    bins, cut = effect.bins, np.zeros(0, dtype=bool)
    if isinstance(effect, MPlotEffect):
        main = _main_means(effect)
        there = main[~effect.bins.empty]
        bins, cut = _main_bins(effect, low, high, main)

        def take(value: Floats) -> Floats:
            return value[..., there]

        take_curve, at, value = take, take(points), take(effect.value)
    else:
        if isinstance(effect, BinnedEffect):
            bins, cut = _main_bins(effect, low, high)
        at = stretch_points(points, low, high)
        value = effect.at(at)
        bent = value - along(at, points, effect.value)

        def take(value: Floats) -> Floats:
            return along(at, points, value)

        def take_curve(value: Floats) -> Floats:
            return take(value) + bent

    if len(at) == 0:
        return MainPart(effect, lambda value: value)
    changed = partial(
        replace,
        effect,
        axis=NumericAxis.of(effect.about.feature, at),
        value=value,
        spread=None if effect.spread is None else effect.spread.within(at[0], at[-1]),
        std_error=take(effect.std_error),
        df=take(effect.df),
        rows=_main_rows(effect, bins, cut, low, high),
        about=replace(
            effect.about, gaps=tuple(gap for gap in effect.about.gaps if not gap.few_beyond)
        ),
    )
    if isinstance(effect, AccumulatedEffect):
        changed = partial(changed, accumulated_std=_accumulated_from(low, at, effect))
    part = changed(bins=bins) if isinstance(effect, BinnedEffect) else changed()
    if part.curves is not None:
        part = replace(part, curves=replace(part.curves, value=take(part.curves.value)))
    return MainPart(part, take_curve)


def along(at: Floats, points: Floats, value: Floats) -> Floats:
    """Return values (..., m) at other points, linear between the given ones."""
    j = np.clip(np.searchsorted(points, at, side="right") - 1, 0, max(len(points) - 2, 0))
    k = np.minimum(j + 1, len(points) - 1)
    share = (at - points[j]) / np.where(k > j, points[k] - points[j], 1.0)
    with np.errstate(invalid="ignore"):  # degrees of freedom may be infinite
        between = (1 - share) * value[..., j] + share * value[..., k]
    # Next to an unknown value, a known one stays known.
    return np.where(share == 0, value[..., j], np.where(share == 1, value[..., k], between))


def _accumulated_from(low: float, at: Floats, effect: AccumulatedEffect) -> Floats:
    """Return `accumulated_std` at points of the main stretch, accumulated from its left end instead of the curve's."""
    points, power = effect.points, 2.0 if effect.spec.accumulate == "variance" else 1.0
    sums = effect.accumulated_std**power
    steps, widths = np.diff(sums), np.diff(points)
    low = max(low, float(points[0]))
    first, k = (
        np.clip(np.searchsorted(points, x, side="right") - 1, 0, len(steps) - 1) for x in (low, at)
    )
    # From an end of an interval on, the root of the sum is proportional to the distance.
    before = steps[first] * ((points[first + 1] - low) / widths[first]) ** power
    before = before + sums[k] - sums[first + 1]
    start = np.where(k == first, low, points[k])
    within = steps[k] * ((at - start) / widths[k]) ** power
    total = np.where(k == first, within, before + within)
    return np.maximum(total, 0.0) ** (1 / power)


def _bins_beyond(effect: MPlotEffect, gap: Gap) -> slice:
    """Return the bins that contain rows beyond a gap."""
    edges, ends = effect.bins.edges, np.sort([gap.near, gap.end])
    if ends[1] < edges[0] or ends[0] > edges[-1]:
        return slice(0, 0)
    first, last = Cells(edges, effect.spec.closed).locate(np.clip(ends, edges[0], edges[-1]))
    return slice(int(first), int(last) + 1)


def _main_means(effect: MPlotEffect) -> Bools:
    """Return which bins contain no rows beyond gaps."""
    there = np.ones(len(effect.bins), dtype=bool)
    for gap in effect.about.gaps:
        if gap.few_beyond:
            there[_bins_beyond(effect, gap)] = False
    return there


def _means_beyond(effect: MPlotEffect, gap: Gap) -> Ints:
    """Return which points are means over rows beyond a gap alone; none if a bin contains other rows as well."""
    bins, some = effect.bins, _bins_beyond(effect, gap)
    low, high, full = bins.low[some], bins.high[some], ~bins.empty
    alone = len(low) and (low[0] >= gap.left if gap.side == "right" else high[-1] <= gap.right)
    first = int(np.count_nonzero(full[: some.start]))
    return first + np.arange(int(np.count_nonzero(full[some])) if alone else 0)


def _main_bins(
    effect: BinnedEffect, low: float, high: float, wanted: Bools | None = None
) -> tuple[BinStats, Bools]:
    """Return the bins within the main stretch, or those of them that are wanted, and which of these are cut."""
    bins = effect.bins
    within = (bins.low < high) & (bins.high > low)
    kept = np.flatnonzero(within if wanted is None else within & wanted)
    left, right = np.maximum(bins.low[kept], low), np.minimum(bins.high[kept], high)
    cut = (left > bins.low[kept]) | (right < bins.high[kept])
    mean, std, rows = bins.effect[kept], bins.std[kept], bins.count[kept]
    if not isinstance(effect, MPlotEffect):
        slope = (effect.at(right) - effect.at(left)) / (right - left)
        mean = np.where(cut & ~bins.empty[kept], slope, mean)
        std = np.where(cut & effect.spec.on_cells, np.nan, std)
    for gap in effect.about.gaps:
        if gap.few_beyond:
            first, last = sorted([gap.near, gap.end])
            own = cut & (bins.low[kept] <= first) & (bins.high[kept] >= last)
            rows = np.where(own, np.maximum(rows - (rows_beyond(effect, gap) or 0), 0), rows)
    return (
        replace(
            bins,
            low=left,
            high=right,
            count=rows,
            weight=bins.weight[kept],
            effect=mean,
            std=std,
            std_error=bins.std_error[kept],
            empty=bins.empty[kept],
            trusted=bins.trusted[kept],
            slope_change=bins.slope_change[kept],
        ),
        cut,
    )


def _main_rows(
    effect: Effect, bins: BinStats | None, cut: Bools, low: float, high: float
) -> Rows | None:
    """Return the rows in the main stretch, without their differences across gaps and across bins that are cut."""
    rows = effect.rows
    if rows is None:
        return None
    there = (rows.x >= low) & (rows.x <= high)
    x = rows.x[there]
    local, slope = (None if v is None else v[there] for v in (rows.effect, rows.bin_slope))
    if local is not None and isinstance(effect, BinnedEffect) and not effect.spec.pointwise:
        across = np.isin(effect.cells.locate(x), effect.cells.gaps)
        if bins is not None and effect.spec.on_cells:
            for a, b in zip(bins.low[cut].tolist(), bins.high[cut].tolist(), strict=True):
                across |= (x >= a) & (x <= b)
        slope = None if slope is None else np.where(across, np.nan, slope)
        if local.ndim == 2:  # steps from the previous value and to the next one
            gaps = effect.about.gaps
            before, after = [low, *(g.right for g in gaps)], [high, *(g.left for g in gaps)]
            across = np.stack([np.isin(x, before), np.isin(x, after)], axis=1)
        local = np.where(across, np.nan, local)
    weight = None if rows.weight is None else rows.weight[there]
    return replace(rows, x=x, effect=local, weight=weight, bin_slope=slope)


# --- what lies beyond -----------------------------------------------------------------------------


class Beyond(NamedTuple):
    """The rows beyond a gap: their values as text, their number (None if unknown), and the curve there."""

    gap: Gap
    text: str
    rows: int | None
    value: float
    at: Floats

    @property
    def low(self) -> float:
        """Return their smallest value."""
        return min(self.gap.near, self.gap.end)

    @property
    def high(self) -> float:
        """Return their largest value."""
        return max(self.gap.near, self.gap.end)


def beyond(effect: Effect) -> list[Beyond]:
    """Return the rows beyond gaps that separate few, on each side from the main stretch outward."""
    found: list[Beyond] = []
    few = [gap for gap in effect.about.gaps if gap.few_beyond]
    left = [gap for gap in reversed(few) if gap.side == "left"]
    for gap in (*left, *(gap for gap in few if gap.side == "right")):
        rows = rows_beyond(effect, gap)
        if rows == 0:
            continue
        at = np.array([gap.near, gap.end])
        if isinstance(effect, MPlotEffect):
            at = effect.points[_means_beyond(effect, gap)]
        value = float(effect.at(at).mean()) if len(at) else np.nan
        found.append(Beyond(gap, values_text(gap, effect.time), rows, value, at))
    return found


def rows_beyond(effect: Effect, gap: Gap) -> int | None:
    """Return the number of rows beyond a gap; in a region, whose gaps are those of all rows, None if it is unknown."""
    if not effect.rule:
        return gap.rows
    if effect.rows is None or not effect.rows.exact:
        return None
    low, high = sorted([gap.near, gap.end])
    return int(np.count_nonzero((effect.rows.x >= low) & (effect.rows.x <= high)))


def values_text(gap: Gap, time: TimeAxis | None) -> str:
    """Return the values of the rows beyond a gap as text: "99,999", or "9,990 to 9,999"."""
    ends = dict.fromkeys(value_text(value, time) for value in sorted([gap.near, gap.end]))
    return " to ".join(ends)


def value_text(value: float, time: TimeAxis | None) -> str:
    """Return a value with the digits that a code such as 99999 has."""
    if time is not None:
        return time.text(value)
    whole = value == round(value) and abs(value) < 1e15
    return (f"{value:,.0f}" if whole else f"{value:,.6g}").replace("-", "\N{MINUS SIGN}")


def beyond_text(effect: Effect) -> str:
    """Return "2 rows at 99,999 lie beyond a gap"; empty if there are none."""
    parts = [
        f"{'rows' if b.rows is None else counted(b.rows, 'row')} at {b.text}"
        for b in beyond(effect)
    ]
    one = [b.rows for b in beyond(effect)] == [1]
    return f"{' and '.join(parts)} {'lies' if one else 'lie'} beyond a gap" if parts else ""
