"""Surfaces at values of the two features: bilinear, or the papers' step function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.errors import UnsupportedError, explained
from skedasis.results.surfaces.side import Side, between

if TYPE_CHECKING:
    from skedasis.results.surfaces.surface import Surface


def evaluated(
    shown: Surface, x0: Any, x1: Any, *, step: bool | tuple[bool, bool] = False
) -> Floats:
    """Evaluate a surface; see `Surface.__call__`. `step` may differ between the two features."""
    first, second = (
        x if time is None else time.days(x, f"surface of {name!r}")
        for x, time, name in zip((x0, x1), shown.times, shown.features, strict=True)
    )
    return on_axes(shown, first, second, step=step)


def on_axes(shown: Surface, x0: Any, x1: Any, *, step: bool | tuple[bool, bool] = False) -> Floats:
    """Evaluate a surface at numbers, days or levels; see `Surface.at`."""
    steps = step if isinstance(step, tuple) else (step, step)
    a, b = np.broadcast_arrays(_asked(shown.sides[0], x0), _asked(shown.sides[1], x1))
    first, second = (s.between(v) for s, v in zip(shown.sides, (a, b), strict=True))
    if any(steps) and shown.cells is None:
        raise UnsupportedError(
            explained(
                f"step of a {shown.spec.method}'s surface",
                "points of a grid",
                "cells, as ALE and DALE have them",
                "Leave step out",
            )
        )
    places = [
        _stepped(side, x, place) if along else place
        for side, x, place, along in zip(shown.sides, (a, b), (first, second), steps, strict=True)
    ]
    found = _bilinear(shown, places[0], places[1])
    holes = _left_empty(shown, first[:2], second[:2])
    if all(steps):
        holes = _stepped_holes(shown, places[0], places[1])
    return np.where(holes, np.nan, found)


def _asked(side: Side, x: Any) -> Any:
    """Return what was asked for as an array: of floats, or of levels."""
    return np.asarray(x, dtype=object if side.levels is not None else float)


Place = tuple[Ints, Floats, Bools]


def _bilinear(shown: Surface, first: Place, second: Place) -> Floats:
    (i, s, here), (j, t, there) = first, second
    value = shown.value
    up, right = np.minimum(i + 1, value.shape[0] - 1), np.minimum(j + 1, value.shape[1] - 1)
    low = (1 - t) * value[i, j] + t * value[i, right]
    high = (1 - t) * value[up, j] + t * value[up, right]
    return np.where(here & there, (1 - s) * low + s * high, np.nan)


def _left_empty(shown: Surface, first: tuple[Ints, Floats], second: tuple[Ints, Floats]) -> Bools:
    """Return which places lie inside cells that were left empty; a level lies in no step."""
    hole = shown.cells is not None and shown.provenance.get("empty_cells") == "left empty"
    numeric = all(s.levels is None and s.m > 1 for s in shown.sides)
    if shown.cells is None or not hole or not numeric:
        return np.zeros(first[0].shape, dtype=bool)
    # On an edge a place belongs to both cells: it is a hole only where all that touch it are.
    empty = np.ones(first[0].shape, dtype=bool)
    for i in (first[0], np.where(first[1] == 0, np.maximum(first[0] - 1, 0), first[0])):
        for j in (second[0], np.where(second[1] == 0, np.maximum(second[0] - 1, 0), second[0])):
            empty &= shown.cells.empty[i, j]
    return empty


def _stepped(side: Side, x: Any, place: Place) -> Place:
    """Return the upper edge of each value's bin: the sum of Eq. 6.4 runs over whole cells."""
    if side.bins is None or side.m == 1:
        return place
    home = np.maximum(side.bins.locate(np.ravel(x)), 0).reshape(np.shape(x))
    return home + 1, np.zeros(np.shape(x)), place[2]


def _stepped_holes(shown: Surface, first: Place, second: Place) -> Bools:
    """Return which places lie in cells that were left empty, for places at the upper corners of their cells."""
    left = shown.cells is not None and shown.provenance.get("empty_cells") == "left empty"
    if shown.cells is None or not left or any(s.bins is None or s.m == 1 for s in shown.sides):
        return np.zeros(first[0].shape, dtype=bool)
    return shown.cells.empty[first[0] - 1, second[0] - 1]


def interaction_strength(shown: Surface) -> float:
    """Return the weighted standard deviation of a surface over the rows that it keeps; NaN where it keeps none.

    A cell counts by the weight of its rows: what stands in cells without rows is no part of the sum.
    """
    rows = shown.rows
    if rows is None or len(rows) == 0:
        return float("nan")
    places: list[Place] = []
    for side, x in zip(shown.sides, (rows.x0, rows.x1), strict=True):
        nodes = side.spread_over
        # Beyond a PDP's grid the surface is taken as constant, as its curves are.
        inside = np.clip(x, nodes[0], nodes[-1]) if side.points is not None else x
        places.append(between(nodes, inside))
    value = _bilinear(shown, places[0], places[1])
    known = ~np.isnan(value)
    if not known.any():
        return 0.0
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    w = weight[known] / weight[known].sum()
    return float(np.sqrt(w @ (value[known] - w @ value[known]) ** 2))
