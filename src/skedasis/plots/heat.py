"""From a surface to what is to be seen of it: a heat map, its contours, the data under it. Arrays in, arrays out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.plots.common import counted
from skedasis.plots.contours import Crossing, crossings, round_levels
from skedasis.plots.rim import DOTS, Rim, located, margin, rim_of, strewn
from skedasis.plots.scale import Axis, extent, padded, shortened
from skedasis.plots.view import ACROSS, BESIDE, MOST_LEVELS
from skedasis.results.build.pairs import HOME, corners_with_rows, homes_with_rows
from skedasis.results.surface import Side, Surface

Empty = Literal["hatched", "filled", "blank"]
ROUNDING = 1e-9
"""Share of the main effects below which a joint effect is rounding."""


@dataclass(frozen=True)
class Tile:
    """Words in the middle of a patch."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, eq=False)
class Heat:
    """A heat map and all that stands in it.

    Parameters
    ----------
    x, y : Rim
    value : ndarray of float, shape (q, p)
        From below to above, and from left to right. NaN where nothing is shown, as in cells without rows.
    scale : Axis
        Of the colours.
    diverging : bool
        Whether zero means "no joint effect", and is the middle of the colours.
    title : str
    notes : tuple of str
    levels : tuple of float
        Of contour lines; empty where there are none.
    crossings : tuple of Crossing
        What contours are on bands of levels and strips of values.
    tiles : tuple of Tile
    holes : ndarray of float, shape (h, 4)
        Left, right, lower and upper ends of cells without rows that are to be marked.
    dots : ndarray of float, shape (r, 2)
        Rows.
    dots_label : str
    margins : tuple of two ndarray of float, shapes (p,) and (q,), or None
        Rows in equal stretches of each axis, or at each level or value.
    unsure : ndarray of float, shape (u, 4)
        Left, right, lower and upper ends of where the interval of the joint effect holds zero.
    """

    x: Rim
    y: Rim
    value: Floats
    scale: Axis
    diverging: bool
    title: str
    notes: tuple[str, ...]
    levels: tuple[float, ...]
    crossings: tuple[Crossing, ...]
    tiles: tuple[Tile, ...]
    holes: Floats
    dots: Floats
    dots_label: str
    margins: tuple[Floats, Floats] | None
    unsure: Floats


@dataclass(frozen=True, eq=False)
class Sight:
    """What of a surface is to be seen; see `draw_surface`."""

    points: bool = True
    density: bool = False
    empty: Empty = "hatched"
    step: bool = False
    levels: int | Sequence[float] | None = None
    sure: float | None = None

    def __post_init__(self) -> None:
        if self.empty not in ("hatched", "filled", "blank"):
            fix = "Name one"
            expected = "'hatched', 'filled' or 'blank'"
            raise DataError(explained("plot(empty)", repr(self.empty), expected, fix))
        if isinstance(self.levels, str) or (isinstance(self.levels, int) and self.levels < 0):
            expected = "a number of contours, their values, or None"
            raise DataError(explained("plot(levels)", repr(self.levels), expected, "Use 7"))


def heat(surface: Surface, sight: Sight | None = None) -> Heat:
    """Say what is to be seen of a surface.

    Parameters
    ----------
    surface : Surface
    sight : Sight, optional

    Returns
    -------
    Heat
        A numeric feature is the horizontal axis where the other one is categorical or has two values; else the first
        feature is. A numeric feature with two values has two strips.

    Raises
    ------
    DataError
        For choices that do not exist.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> s = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=4))
    >>> shown = heat(s, Sight(step=True))
    >>> shown.value.shape, shown.scale.label
    ((4, 4), 'joint effect on prediction')
    """
    sight = _fitting(surface, Sight() if sight is None else sight)
    order = order_of(surface)
    x, y = (
        rim_of(
            surface.sides[i], surface.abouts[i].feature, step=sight.step, most=most, across=across
        )
        for i, most, across in zip(order, (MOST_LEVELS, 30), (ACROSS - 12, None), strict=True)
    )
    asked = (y.at[:, None], x.at[None, :]) if order == (1, 0) else (x.at[None, :], y.at[:, None])
    # The step function says nothing of two values: both lie in one cell and would be drawn alike.
    steps = tuple(sight.step and s.strips is None for s in surface.sides)
    value = surface.at(*asked, step=(steps[0], steps[1]))
    count = counts(surface, order)
    empty = _empty(surface, count, x, y, order)
    if sight.empty != "filled":
        value = np.where(_covered(empty, x, y), np.nan, value)
    scale, diverging = _scale(surface, value)
    # Tiles hold numbers instead, and the contours of rounding mean nothing.
    plain = x.discrete or sight.step or flat(surface)
    levels = () if plain else _contours(sight.levels, scale)
    bands = y.discrete
    tiles = _tiles(x, y, value, count, scale, sight)
    hatched = sight.empty == "hatched"
    return Heat(
        x,
        y,
        value,
        scale,
        diverging,
        surface.spec.method,
        _notes(surface, empty, (x, y), sight),
        () if bands else levels,
        crossings(x.centres, value, levels, labelled=len(y.at) <= 15) if bands else (),
        tiles,
        _rectangles(empty, x, y, surface, order) if hatched else np.zeros((0, 4)),
        # Where rows are counted in words, dots would only hide these.
        *_data(surface, order, (x, y), sight, told=bool(tiles) and x.discrete and bands),
        _unsure(surface, asked, steps, sight, (x, y), np.isfinite(value)),
    )


def order_of(surface: Surface) -> tuple[int, int]:
    """Return which feature lies on the horizontal axis, and which on the vertical one."""
    # Bands of levels and strips of two values lie on top of one another, where their names are read without turning the
    # head.
    bands = [s.levels is not None or s.strips is not None for s in surface.sides]
    return (1, 0) if bands[0] and not bands[1] else (0, 1)


def counts(surface: Surface, order: tuple[int, int]) -> Ints | None:
    """Return the rows in each pair of homes, (h of y, h of x); None where that is not known.

    Of a two-valued numeric feature the homes are its two values.
    """
    sides, rows = surface.sides, surface.rows
    strips = any(s.strips is not None for s in sides)
    located = all(s.points is None or s.strips is not None for s in sides)
    if HOME in surface.moments and not strips:
        count = surface.moments[HOME].count.astype(np.int64)
    elif rows is not None and rows.exact and located:
        homes = [_home(s, v) for s, v in zip(sides, (rows.x0, rows.x1), strict=True)]
        there = (homes[0] >= 0) & (homes[1] >= 0)
        size = [s.homes if s.strips is None else 2 for s in sides]
        count = np.zeros((size[0], size[1]), dtype=np.int64)
        np.add.at(count, (homes[0][there], homes[1][there]), 1)
    else:
        return None
    return count.T if order == (0, 1) else count


def _home(side: Side, x: Floats) -> Ints:
    """Return each row's bin or level, or which of the two values it has; -1 for none."""
    if side.strips is None:
        return side.home(x)
    low, high = side.strips
    return np.where(x == low, 0, np.where(x == high, 1, -1)).astype(np.int64)


def _empty(surface: Surface, count: Ints | None, x: Rim, y: Rim, order: tuple[int, int]) -> Bools:
    """Return which pairs of homes have no row, (h of y, h of x), among those that are shown."""
    if surface.cells is None:
        return np.zeros((0, 0), dtype=bool)
    if count is not None:
        empty = count == 0
    else:
        # Where rows were not all kept it is known by bins only, of which both values of a feature may share one.
        known = homes_with_rows(surface)
        if known is None:
            return np.zeros((0, 0), dtype=bool)
        for axis, side in enumerate(surface.sides):
            if side.strips is not None:
                known = known.take(side.home(np.array(side.strips)), axis=axis)
        empty = ~(known.T if order == (0, 1) else known)
    if y.discrete:
        empty = empty[y.home]
    return empty[:, x.home] if x.discrete else empty


def _covered(empty: Bools, x: Rim, y: Rim) -> Bools:
    """Return which patches lie in homes without rows."""
    if empty.size == 0:
        return np.zeros((len(y.at), len(x.at)), dtype=bool)
    i = np.arange(len(y.at)) if y.discrete else y.home
    j = np.arange(len(x.at)) if x.discrete else x.home
    return empty[np.ix_(i, j)]


def _fitting(surface: Surface, sight: Sight) -> Sight:
    """Return what is to be seen, as far as there is something: points of a grid have no cells to make steps of."""
    return replace(sight, step=False) if surface.cells is None else sight


def _rectangles(empty: Bools, x: Rim, y: Rim, surface: Surface, order: tuple[int, int]) -> Floats:
    if empty.size == 0:
        return np.zeros((0, 4))
    ends: list[Floats] = []
    for rim, place in zip((x, y), order, strict=True):
        one = rim.discrete or surface.sides[place].m == 1
        ends.append(rim.edges if one else np.asarray(surface.sides[place].nodes, dtype=float))
    j, i = np.argwhere(empty).T
    return np.column_stack([ends[0][i], ends[0][i + 1], ends[1][j], ends[1][j + 1]])


def _unsure(
    surface: Surface,
    asked: tuple[Any, Any],
    steps: tuple[bool, ...],
    sight: Sight,
    rims: tuple[Rim, Rim],
    seen: Bools,
) -> Floats:
    """Return where the interval of a joint effect holds zero: rectangles, one for each stretch of a row of patches.

    Patches without a value (not `seen`) are left out: of them nothing is claimed.
    """
    if sight.sure is None:
        return np.zeros((0, 4))
    if surface.includes_main_effects:
        raise UnsupportedError(
            explained(
                f"plot(sure) of a {surface.spec.method}'s surface",
                "values in which zero is nothing particular",
                "a joint effect alone, as ALE and DALE have it",
                "Leave sure= out",
            )
        )
    ends = [replace(surface, value=v) for v in surface.interval(sight.sure)]
    low, high = (e.at(*asked, step=(steps[0], steps[1])) for e in ends)
    holds = seen & ~((low > 0) | (high < 0))
    change = np.diff(np.pad(holds.astype(int), ((0, 0), (1, 1))), axis=1)
    (i, start), (_, stop) = np.nonzero(change > 0), np.nonzero(change < 0)
    x, y = (r.edges for r in rims)
    return np.column_stack([x[start], x[stop], y[i], y[i + 1]])


def _scale(surface: Surface, value: Floats) -> tuple[Axis, bool]:
    """Return the axis of the colours, and whether zero is their middle."""
    about, low, high = surface.about, *extent([value])
    joint = not surface.includes_main_effects
    centred = joint or surface.spec.center is not None or surface.cells is not None
    before = "joint effect on " if joint else "effect on " if centred else ""
    name = f"{before}{shortened(about.quantity, BESIDE - len(before))}"
    # Corners that touch no row would pale all others.
    near = extent([_near_rows(surface, value)])
    if not joint:
        if not math.isnan(near[0]):
            low, high = max(low, near[0]), min(high, near[1])
        least, most = padded(low, high, 0.0)
        return Axis(name, about.unit, least, most, 0.0), False
    size = 0.0 if math.isnan(low) else max(abs(low), abs(high))
    size = size if math.isnan(near[0]) else min(size, max(abs(near[0]), abs(near[1])))
    if flat(surface):  # what is mere rounding gets no colours
        size = max(float(np.nanmax(np.abs(m), initial=0.0)) for m in surface.main or ())
    return Axis(name, about.unit, -(size or 1.0), size or 1.0, 0.0), True


def _near_rows(surface: Surface, value: Floats) -> Floats:
    """Return the values at the corners of cells that hold rows, where these are known; else all."""
    near = None if surface.cells is None else corners_with_rows(surface)
    return value if near is None else surface.value[near]


def flat(surface: Surface) -> bool:
    """Return whether a joint effect is nothing but rounding, beside the main effects."""
    if surface.includes_main_effects or surface.main is None:
        return False
    size = max(float(np.nanmax(np.abs(m), initial=0.0)) for m in surface.main)
    near = _near_rows(surface, surface.value)
    return float(np.nanmax(np.abs(near), initial=0.0)) < ROUNDING * size


def _contours(wanted: int | Sequence[float] | None, scale: Axis) -> tuple[float, ...]:
    low, high = scale.limits
    if wanted is not None and not isinstance(wanted, (int, np.integer)):
        return tuple(sorted(float(v) for v in wanted if low < v < high))
    return round_levels(low, high, 7 if wanted is None else int(wanted))


def _tiles(
    x: Rim, y: Rim, value: Floats, count: Ints | None, scale: Axis, sight: Sight
) -> tuple[Tile, ...]:
    """Return what is written into patches that are large enough for words."""
    both = x.discrete and y.discrete
    if not (both or sight.step) or len(x.at) > 14 or len(y.at) > 20:
        return ()
    wide = np.diff(x.edges) / (x.edges[-1] - x.edges[0])
    high = np.diff(y.edges) / (y.edges[-1] - y.edges[0])
    known = np.isfinite(value)
    found: list[Tile] = []
    for i, j in np.argwhere(known):
        text = _written(float(value[i, j]), scale)
        if wide[j] < 0.065 or high[i] < 0.04:
            continue
        if both and count is not None:
            n = f"n={count[y.home[i], x.home[j]]:,}"
            text = f"{text}\n{n}" if high[i] >= 0.08 else f"{text}  {n}" if wide[j] > 0.15 else text
        found.append(Tile(float(x.centres[j]), float(y.centres[i]), text))
    return tuple(found)


def _written(value: float, scale: Axis) -> str:
    """Return a value in two or three digits of the colours' range, on their scale."""
    power = 10.0**scale.scale.exponent
    span = float(np.diff(scale.limits)[0]) / power
    decimals = max(0, 1 - math.floor(math.log10(span / 2)))
    text = f"{round((value - scale.scale.offset) / power, decimals) + 0.0:.{decimals}f}"
    return text.replace("-", "\N{MINUS SIGN}")


def _notes(surface: Surface, empty: Bools, rims: tuple[Rim, Rim], sight: Sight) -> tuple[str, ...]:
    """Say what a reader must know beside what is drawn."""
    known = surface.provenance
    rows = known.get("rows", 0 if surface.rows is None else len(surface.rows))
    outside = known.get("rows_outside", 0)
    missing = rows - known.get("rows_in_cells", rows - outside) - outside
    parts = [_parts(s) for s in surface.sides]
    what = "cells" if surface.cells is not None else "points"
    if any(s.levels is not None or s.strips is not None for s in surface.sides):
        cells = " \N{MULTIPLICATION SIGN} ".join(f"{n} {name}" for n, name in parts)
    else:
        cells = f"{parts[0][0]} \N{MULTIPLICATION SIGN} {parts[1][0]} {what}"
    notes = [counted(int(rows - outside - missing), "row"), cells]
    if outside:
        notes.append(f"{outside:,} rows outside")
    if missing:
        notes.append(f"{missing:,} rows missing a value")
    if empty.any():
        filled = sight.empty == "filled" and surface.provenance.get("empty_cells") == "nearest"
        said = "cells without rows" + (", filled from the nearest" if filled else "")
        notes.append(f"{int(empty.sum())} of {empty.size} {said}")
    strength = surface.interaction_strength()
    if np.isfinite(strength):
        shown = 0.0 if flat(surface) else strength
        what = "standard deviation" if surface.includes_main_effects else "interaction strength"
        notes.append(f"{what} {shown:.3g} {surface.about.unit or ''}".strip())
    if surface.includes_main_effects:
        notes.append("with main effects")
    else:
        notes.append("second-order effect: main effects are zero")
    for rim in rims:
        if rim.places is not None and len(rim.places) < len(rim.places.levels):
            shown, all_ = len(rim.places), len(rim.places.levels)
            notes.append(
                f"{shown} of {all_:,} levels of {shortened(rim.axis.name, 24)}, with most rows"
            )
    return tuple(notes)


def _parts(side: Side) -> tuple[int, str]:
    if side.levels is not None:
        return side.m, "level" if side.m == 1 else "levels"
    if side.strips is not None:
        return 2, "values"
    n = side.homes if side.bins is not None else side.m
    return n, ("bin" if side.bins is not None else "point") + ("s" if n != 1 else "")


def _data(
    surface: Surface, order: tuple[int, int], rims: tuple[Rim, Rim], sight: Sight, *, told: bool
) -> tuple[Floats, str, tuple[Floats, Floats] | None]:
    """Return the rows that are marked, what they are called, and how many lie where on each axis."""
    rows = surface.rows
    if rows is None or len(rows) == 0:
        return np.zeros((0, 2)), "", None
    at, weight = located(rows, order, rims)
    margins = None
    if sight.density:
        margins = (margin(at[:, 0], weight, rims[0]), margin(at[:, 1], weight, rims[1]))
    if told or not sight.points:
        return np.zeros((0, 2)), "", margins
    all_, n = "rows" if rows.exact else "sampled rows", len(at)
    label = all_ if n <= DOTS else f"{DOTS:,} of {n:,} {all_}"
    return strewn(at, rims), label, margins
