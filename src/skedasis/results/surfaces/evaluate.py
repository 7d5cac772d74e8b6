"""Surfaces at values of the two features: bilinear, or the papers' step function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skedasis.errors import UnsupportedError, explained
from skedasis.results.surfaces.side import Side, between
from skedasis.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from skedasis.results.surfaces.surface import Surface


def evaluated(shown: Surface, x0: Any, x1: Any, *, step: bool = False) -> Floats:
    """Evaluate a surface; see `Surface.__call__`."""
    first, second = (
        x if time is None else time.days(x, f"surface of {name!r}")
        for x, time, name in zip((x0, x1), shown.times, shown.features, strict=True)
    )
    return on_axes(shown, first, second, step=step)


def on_axes(shown: Surface, x0: Any, x1: Any, *, step: bool = False) -> Floats:
    """Evaluate a surface at numbers, days or levels; see `Surface.at`."""
    a, b = np.broadcast_arrays(_asked(shown.sides[0], x0), _asked(shown.sides[1], x1))
    first, second = (s.between(v) for s, v in zip(shown.sides, (a, b), strict=True))
    if step and shown.cells is None:
        raise UnsupportedError(
            explained(
                f"step of a {shown.spec.method}'s surface",
                "points of a grid",
                "cells, as ALE and DALE have them",
                "Leave step out",
            )
        )
    if step:
        return _stepped(shown, a, b, first, second)
    return _bilinear(shown, first, second)


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
    found = np.where(here & there, (1 - s) * low + s * high, np.nan)
    return np.where(_left_empty(shown, (i, s), (j, t)), np.nan, found)


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


def _stepped(shown: Surface, a: Any, b: Any, first: Place, second: Place) -> Floats:
    """Return the value at the upper corner of each place's cell: the sum of Eq. 6.4 runs over whole cells."""
    nodes: list[Ints] = []
    for side, x, (place, _, _) in zip(shown.sides, (a, b), (first, second), strict=True):
        if side.bins is None or side.m == 1:
            nodes.append(place)
        else:
            nodes.append(np.maximum(side.bins.locate(np.ravel(x)), 0).reshape(np.shape(x)) + 1)
    inside = first[2] & second[2]
    found = np.where(inside, shown.value[nodes[0], nodes[1]], np.nan)
    if shown.cells is None or shown.provenance.get("empty_cells") != "left empty":
        return found
    if any(s.bins is None or s.m == 1 for s in shown.sides):
        return found
    hole = shown.cells.empty[nodes[0] - 1, nodes[1] - 1]
    return np.where(hole, np.nan, found)


def strength(shown: Surface) -> float:
    """Return the weighted standard deviation of a surface over the rows that it keeps; NaN where it keeps none."""
    rows = shown.rows
    if rows is None or len(rows) == 0:
        return float("nan")
    places: list[Place] = []
    for side, x in zip(shown.sides, (rows.x0, rows.x1), strict=True):
        nodes = side.spread_over
        # Beyond a PDP's grid the surface is taken as constant, as its curves are.
        inside = np.clip(x, nodes[0], nodes[-1]) if side.points is not None else x
        places.append(between(nodes, inside))
    value = _bilinear(shown, *places)
    known = ~np.isnan(value)
    if not known.any():
        return 0.0
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    w = weight[known] / weight[known].sum()
    return float(np.sqrt(w @ (value[known] - w @ value[known]) ** 2))
