"""How a feature is distributed in each of the groups that its curves are coloured by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skedasis._types import Bools, Floats
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.plots.common import counted, length_of
from skedasis.plots.marks import Outline, Panel, Tint
from skedasis.plots.scale import Axis, shortened
from skedasis.plots.tint import as_numbers, gaps, named, tint
from skedasis.plots.view import View
from skedasis.results.effect import Effect

MOST_BARS, LEAST_BARS = 40, 8
OVER_ONE_ANOTHER = 3
"""Groups whose outlines can be told apart where they lie over one another. More of them stand on one another."""
WIDE = 0.4
"""How far a level's bar reaches to either side."""


def grouped(effect: Effect, view: View, x: Axis, places: Floats | None = None) -> Panel:
    """Return the panel of a feature's distributions.

    Parameters
    ----------
    effect : Effect
        With individual curves.
    view : View
        Its `color` gives the rows' groups.
    x : Axis
        Of the panel above.
    places : ndarray of float, shape (L,), optional
        Of a categorical feature where each level stands, NaN for those that are not shown.

    Raises
    ------
    UnsupportedError
        For colours that are numbers on a scale.
    DataError
        For values that are not one number for each row of X.

    Notes
    -----
    Rows count by their weight where they are those that were kept; given values are counted.
    """
    at, groups, weight, notes = _rows(effect, view)
    if not groups.groups:
        fix = "Colour by a class, text or booleans: color=y"
        raise UnsupportedError(
            explained("plot(histogram)", "colours that are numbers on a scale", "groups", fix)
        )
    if places is not None:
        known = np.isfinite(at) & (at >= 0)
        there = np.full(len(at), np.nan)
        there[known] = places[at[known].astype(np.int64)]
        at = there
    edges = _edges(at, x, levels=places is not None)
    shown = (at >= edges[0]) & (at <= edges[-1])
    beyond = int((np.isfinite(at) & ~shown).sum())
    outlines = _outlines(at, groups, weight, edges)
    if len(outlines) > OVER_ONE_ANOTHER:
        outlines, notes = _stacked(outlines), (*notes, "stacked")
    tops = [o.height if o.base is None else o.base + o.height for o in outlines]
    highest = max((float(top.max(initial=0.0)) for top in tops), default=0.0)
    said = "rows" if weight is None else "weight of rows"
    y = Axis(said, None, 0.0, 1.05 * highest or 1.0, 0.0)
    notes += (f"{counted(beyond, 'row')} beyond the panel",) if beyond else ()
    return Panel(x, y, notes=notes, outlines=tuple(outlines))


def _rows(effect: Effect, view: View) -> tuple[Floats, Tint, Floats | None, tuple[str, ...]]:
    """Return rows' values, their groups and weights, and what must be said of them."""
    curves = effect.curves
    if curves is None:
        raise TypeError("groups are those of curves")
    if view.values is None:
        colour = tint(view.color, view.color_name, curves.row, length_of(effect))
        some = "all" if curves.exact else "a sample of"
        return curves.x, colour, curves.weight, (f"{some} {counted(len(curves), 'row')}",)
    at = _values(effect, view.values)
    colour = tint(view.color, view.color_name, np.arange(len(at)), len(at))
    return at, colour, None, (f"all {counted(len(at), 'row')}",)


def _values(effect: Effect, given: Any) -> Floats:
    """Return the feature's values as they were given for all rows; of a categorical feature the levels' places."""
    values = np.asarray(given)
    n = length_of(effect)
    if values.ndim != 1 or (n is not None and len(values) != n):
        got = f"shape {values.shape}" if values.ndim != 1 else f"{len(values):,} values"
        rows = "each row" if n is None else f"each of the {n:,} rows"
        fix = f"Pass the column {shortened(effect.feature, 40)!r} of X"
        raise DataError(explained("plot(values)", got, f"one value for {rows} of X", fix))
    if effect.levels is not None:
        return effect.levels.places(values).astype(float)
    if effect.time is not None:
        return effect.time.days(given, "plot(values)")
    numbers = as_numbers(values, gaps(values))
    if numbers is None:
        fix = f"Pass the column {shortened(effect.feature, 40)!r} of X"
        raise DataError(explained("plot(values)", "what is no number", "numbers", fix))
    return numbers


def _edges(at: Floats, x: Axis, *, levels: bool) -> Floats:
    """Return the edges of bars: around levels and single values, else of equal width across the axis."""
    low, high = (float(v) for v in x.range)
    if levels:
        middles = np.arange(round(high - low)) + low + 0.5
        return np.add.outer(middles, np.array([-WIDE, WIDE])).ravel()
    ticks = np.asarray(x.ticks, dtype=float)
    if len(ticks) > 1:
        return np.concatenate([[low], (ticks[:-1] + ticks[1:]) / 2, [high]])
    there = at[(at >= low) & (at <= high)]
    bars = int(np.clip(np.ceil(2 * len(there) ** (1 / 3)), LEAST_BARS, MOST_BARS))
    width = (high - low) / bars
    if len(there) and not (there % 1).any() and 0.5 < width < 2**50:
        return _whole(there.min(), there.max(), width)
    return np.linspace(low, high, bars + 1)


def _whole(low: float, high: float, width: float) -> Floats:
    """Return edges between whole numbers: each bar holds as many of these, and all bars together just fit."""
    first, last = low - 0.5, high + 0.5
    some = np.arange(max(1, int(0.7 * width)), int(1.4 * width) + 2)
    spare = -(last - first) % some
    # Of those that leave least over the one that is nearest to what was wished for.
    best = int(some[np.lexsort([np.abs(some - width), spare])[0]])
    count = int(np.ceil((last - first) / best))
    return first - (spare[some == best][0] // 2) + best * np.arange(count + 1)


def _outlines(at: Floats, tint: Tint, weight: Floats | None, edges: Floats) -> list[Outline]:
    """Return one outline for each group that has rows, those without a group last."""
    out: list[Outline] = []
    for place in (*range(len(tint.groups)), -1):
        mine: Bools = np.isnan(tint.value) if place < 0 else tint.value == place
        if not mine.any():
            continue
        there = mine & np.isfinite(at)
        weights = None if weight is None else weight[there]
        height = np.histogram(at[there], edges, weights=weights)[0].astype(float)
        label = f"{named(tint, place)} ({counted(int(there.sum()), 'row')})"
        out.append(Outline(edges, height, None, place, label))
    return out


def _stacked(outlines: Sequence[Outline]) -> list[Outline]:
    """Return the same distributions, each standing on those before it."""
    out: list[Outline] = []
    base = np.zeros(len(outlines[0].height))
    for outline in outlines:
        out.append(replace(outline, base=base))
        base = base + outline.height
    return out
