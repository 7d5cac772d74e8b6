"""Intervals of surfaces and of their cells: pointwise or of all points at once, analytic or by the bootstrap."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from skedasis._types import Floats
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.results.surfaces.draws import deviations, gathered, point_draws, redrawn
from skedasis.results.surfaces.errors import Errors
from skedasis.results.surfaces.pairs import CELL
from skedasis.results.words import given_level, given_seed
from skedasis.stats.resampling import generator, t_interval, varies

if TYPE_CHECKING:
    from skedasis.results.surfaces.surface import Surface

DRAWS, NUMBERS, FEW = 10_000, 20_000_000, 2_000
"""Draws for a simultaneous band; of large surfaces as many as make so many numbers, but no fewer than a few."""

Ends = tuple[Floats, Floats]


def interval(
    shown: Surface,
    level: float,
    method: str,
    *,
    simultaneous: bool,
    of: str,
    replicates: int,
    seed: int,
) -> Ends:
    """Return the ends of intervals; see `Surface.interval`."""
    level = given_level("interval(level)", level)
    seed = given_seed("interval(seed)", seed)
    _check(shown, method, of)
    if method == "bootstrap":
        values, cells = redrawn(shown, replicates, seed)
        drawn, value = (values, shown.value) if of == "value" else (cells, _cells(shown))
        ends = (
            _band(drawn, value, level) if simultaneous else _percentiles(drawn, value.shape, level)
        )
    elif of == "cells":
        ends = _of_cells(shown, level, simultaneous=simultaneous)
    else:
        ends = _analytic(shown, level, simultaneous=simultaneous, seed=seed)
    room = shown.error.rounding if of == "value" else shown.provenance.get("rounding", 0.0)
    return ends[0] - room, ends[1] + room


def _check(shown: Surface, method: Any, of: Any) -> None:
    for what, ok, got, expected, fix in (
        (
            "method",
            isinstance(method, str) and method in ("analytic", "bootstrap"),
            repr(method),
            "'analytic' or 'bootstrap'",
            "Name one",
        ),
        (
            "of",
            isinstance(of, str) and of in ("value", "cells"),
            repr(of),
            "'value' or 'cells'",
            "Name one",
        ),
    ):
        if not ok:
            raise DataError(explained(f"interval({what})", got, expected, fix))
    said = None
    if shown.cells is not None and shown.includes_main_effects and of == "value":
        said = "one with main effects", "the joint effect alone", "Take its interval before adding"
    elif shown.cells is None and of == "cells":
        said = "points of a grid", "cells, as ALE and DALE have them", "Leave of= out"
    elif shown.cells is None and shown.spec.mean_alone:
        said = (
            "the mean alone",
            "the spread of the rows' surfaces",
            "Explain again without heterogeneity=False",
        )
    if said is not None:
        raise UnsupportedError(explained(f"interval of a {shown.spec.method}'s surface", *said))


def _cells(shown: Surface) -> Floats:
    return shown.value if shown.cells is None else shown.cells.effect


def _analytic(shown: Surface, level: float, *, simultaneous: bool, seed: int) -> Ends:
    """Return intervals by Student's t; for all points at once from the largest of their deviations together."""
    gathered(shown)
    error, freedom = shown.std_error, shown.freedom
    if not simultaneous:
        return t_interval(shown.value, error, freedom, level)
    moving = error > 0  # not NaN, and no point that cannot move
    draw = _drawing(shown)
    if draw is None or not moving.any():
        each = _sidak(level, int(moving.sum()))
        return t_interval(shown.value, error, freedom, each)
    draws = max(FEW, min(DRAWS, NUMBERS // error.size))
    step = max(1, NUMBERS // 5 // error.size)
    largest: list[Floats] = []
    for i, start in enumerate(range(0, draws, step)):
        drawn = draw(min(step, draws - start), generator(seed, 1 + i))
        largest.append(np.abs(drawn[:, moving] / error[moving]).max(axis=1))
    quantile = float(np.quantile(np.concatenate(largest), level))
    return t_interval(shown.value, error, freedom, _two_sided(quantile))


def _drawing(shown: Surface) -> Callable[[int, np.random.Generator], Floats] | None:
    """Return what draws deviations that go together as the surface's do; None where nothing tells how."""
    if shown.cells is None:
        return point_draws(shown)
    found = Errors.of(shown)
    return lambda draws, rng: deviations(found, draws, rng)


def _two_sided(quantile: float) -> float:
    """Return the share of the normal distribution between -+ a quantile."""
    from scipy.special import ndtr

    return float(1 - 2 * ndtr(-quantile))


def _sidak(level: float, points: int) -> float:
    """Return the level of each of several intervals that hold all together; of dependent ones it is conservative."""
    return float(level ** (1 / max(points, 1)))


def _of_cells(shown: Surface, level: float, *, simultaneous: bool) -> Ends:
    """Return intervals of the cells' mean double differences."""
    cells = shown.cells
    if cells is None:
        raise TypeError("a surface of cells has cells")
    size = shown.moments[CELL].effective(shown.spec.weight_kind)
    known = int(np.count_nonzero(cells.std_error > 0))
    each = _sidak(level, known) if simultaneous else level
    return t_interval(cells.effect, cells.std_error, size - 1.0, each)


def _percentiles(drawn: Floats, shape: tuple[int, ...], level: float) -> Ends:
    """Return percentiles over replicates; NaN where no replicate has a value."""
    tail = (1 - level) / 2
    flat = drawn.reshape(len(drawn), -1)
    ends = np.full((2, flat.shape[1]), np.nan)
    there = ~np.isnan(flat).all(axis=0)
    gaps = bool(np.isnan(flat[:, there]).any())
    quantile = np.nanquantile if gaps else np.quantile
    ends[:, there] = quantile(flat[:, there], [tail, 1 - tail], axis=0)
    return ends[0].reshape(shape), ends[1].reshape(shape)


def _band(drawn: Floats, value: Floats, level: float) -> Ends:
    """Return a band from the largest deviation of each replicate, in units of the replicates' spread."""
    # Replicates that know a point or cell: there may be none.
    count = np.count_nonzero(~np.isnan(drawn), axis=0)
    some = np.maximum(count, 1)
    mean = np.nansum(drawn, axis=0) / some
    spread = np.sqrt(np.nansum((drawn - mean) ** 2, axis=0) / np.maximum(count - 1, 1))
    spread = np.where(count > 1, spread, np.nan)
    moving = varies(spread, value)
    half = spread * 0.0
    if moving.any():
        off = np.abs(drawn[:, moving] - value[moving]) / spread[moving]
        half = spread * float(np.quantile(np.nan_to_num(off).max(axis=1), level))
    return value - half, value + half
