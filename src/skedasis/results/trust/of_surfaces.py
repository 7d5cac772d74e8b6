"""To what extent to trust a surface: cells with few rows or none, and points far from all data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skedasis._types import Floats
from skedasis.results.parts import TRUSTED_ROWS
from skedasis.results.surfaces.side import Side
from skedasis.results.surfaces.surface import Surface
from skedasis.results.trust.far import (
    FAR,
    FAR_NOTE,
    PERCENTILE,
    SWEPT,
    Space,
    another_table,
    elsewhere,
    nearest,
)
from skedasis.results.trust.flags import Flag, Severity, Trust
from skedasis.results.words import given_seed

FEW, EMPTY = 0.5, 0.25
"""Share of the rows in cells of fewer than ten, and of the area without a row, from which it is a warning."""
NOTED = 0.1
"""Share of either from which it is noted."""


def trust_surface(surface: Surface, *, X: Any = None, seed: int = 0) -> Trust:
    """Return what there is to object to a surface.

    Parameters
    ----------
    surface : Surface
    X : array or data frame, optional
        What was explained: then the rows that a PDP made up are compared with it.
    seed : int
        Of samples.

    Returns
    -------
    Trust
        Warnings first.

    Notes
    -----
    No model row. The rules:

    - *no rows*: the share of the area (of categorical features of the steps, or level combinations) without any row,
      noted from 10 %, a warning from 25 %. Of a PDP a point of the grid is without rows if it lies farther from all of
      them, in the plane of the two features, than 99 % of the rows from their nearest.
    - *few rows*: the share of the rows in cells of fewer than ten; noted from 10 %, a warning from 50 %.
    - *extrapolation*: as in `skedasis.results.trust.rules`, of each row at each point of the grid.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> x = np.random.default_rng(0).uniform(size=(400, 1))
    >>> s = sd.explain(
    ...     lambda X: X[:, 0] * X[:, 1], np.hstack([x, x]), (0, 1), method=sd.ALE(bins=5)
    ... )
    >>> [(f.kind, f.severity, round(f.numbers["share"], 1)) for f in trust_surface(s)]
    [('no rows', 'warning', 0.8)]
    """
    seed = given_seed("trust(seed)", seed)
    found = [*_cells(surface), *_plane(surface), *_swept(surface, X, seed)]
    return Trust(sorted(found, key=lambda f: f.severity == "note"))


def _names(surface: Surface) -> str:
    return " × ".join(surface.features)


def _widths(side: Side) -> Floats:
    """Return the widths of a side's cells as shares of it; steps between levels count alike.

    Between the two values of a two-valued feature there is nothing: the bins of these values count alike, others not.
    """
    if side.strips is not None:
        return np.bincount(side.home(np.array(side.strips)), minlength=side.homes) / 2
    width = np.ones(max(side.m - 1, 1)) if side.bins is None or side.m < 2 else side.bins.widths
    return width / width.sum()


def _graded(share: float, grave: float) -> Severity:
    return "warning" if share >= grave else "note"


def _cells(surface: Surface) -> Iterator[Flag]:
    """Object to the cells of an accumulated surface."""
    cells, name = surface.cells, _names(surface)
    if cells is None or cells.count.size == 0:
        return
    area = np.outer(_widths(surface.sides[0]), _widths(surface.sides[1]))
    empty = cells.empty.reshape(area.shape)
    share = float(area[empty].sum())
    if share >= NOTED:
        there = area > 0
        n = int(empty[there].sum())
        text = (
            f"{share:.0%} of the area of {name} ({n} of {int(there.sum())} cells) holds no row: "
            "figures hatch it, and values there mean nothing. Use fewer bins."
        )
        numbers = {"share": share, "cells": n}
        yield Flag("no rows", _graded(share, EMPTY), text, name, None, numbers)
    few = (cells.count < TRUSTED_ROWS) & ~cells.empty
    part = float(cells.count[few].sum() / max(cells.count.sum(), 1))
    if part >= NOTED:
        text = (
            f"{part:.0%} of the rows of {name} lie in cells of fewer than {TRUSTED_ROWS} rows "
            f"({int(few.sum())} of {empty.size} cells). Use more rows or fewer bins."
        )
        numbers = {"share": part, "cells": int(few.sum())}
        yield Flag("few rows", _graded(part, FEW), text, name, None, numbers)


def _plane(surface: Surface) -> Iterator[Flag]:
    """Object to points of a PDP's grid without rows around them, in the plane of the two features."""
    rows = surface.rows
    if surface.cells is not None or rows is None or len(rows) < 2 * TRUSTED_ROWS:
        return
    known = np.isfinite(rows.x0) & np.isfinite(rows.x1)
    first = _axes(surface.sides[0], rows.x0[known])
    second = _axes(surface.sides[1], rows.x1[known])
    of_rows = np.hstack([first[0], second[0]])
    m0, m1 = surface.value.shape
    nodes = np.hstack([np.repeat(first[1], m1, axis=0), np.tile(second[1], (m0, 1))])
    some = np.random.default_rng(0).permutation(len(of_rows))[:SWEPT]
    limit = np.percentile(nearest(of_rows[some], of_rows, some), PERCENTILE)
    distance = nearest(nodes, of_rows, np.full(m0 * m1, -1))
    share = float((distance > limit * (1 + 1e-9)).mean())
    if share >= NOTED:
        name = _names(surface)
        text = (
            f"{share:.0%} of the points of {name} lie where no row is near: farther from all rows than 99 % "
            "of these from their nearest. There the surface is the model's guess."
        )
        yield Flag("no rows", _graded(share, EMPTY), text, name, None, {"share": share})


def _axes(side: Side, x: Floats) -> tuple[Floats, Floats]:
    """Return rows, and the nodes of a side, on axes: one in units of the standard deviation, or one a level."""
    if side.levels is not None:
        unit = np.eye(side.m) * np.sqrt(0.5)
        return unit[x.astype(np.int64)], unit
    mean, size = float(x.mean()), float(x.std())
    scale = size if size > 0 else 1.0
    return ((x - mean) / scale)[:, None], ((side.nodes - mean) / scale)[:, None].astype(float)


def _swept(surface: Surface, X: Any, seed: int) -> Iterator[Flag]:
    """Object to the rows that a PDP made up."""
    if X is None:
        return
    space, rng = Space.of(X, seed), np.random.default_rng(seed)
    features = [a.feature for a in surface.abouts]
    columns = tuple(c for f in features for c in f.columns)
    if any(elsewhere(space, f) for f in features):
        raise another_table()
    if surface.cells is not None:
        return
    view, n = space.beside(columns), len(space.points)
    row = rng.integers(n, size=SWEPT)
    made = view.points[row]
    for feature, side in zip(features, surface.sides, strict=True):
        place = rng.integers(side.m, size=SWEPT)
        if side.levels is None:
            view.put(made, feature.position, side.nodes[place].astype(float))
            continue
        column = space.source.levels(feature, top=n)
        known_rows = dict(zip(column.levels.labels, column.levels.rows, strict=True))
        donors = np.array([known_rows.get(label, -1) for label in side.levels.labels])[place]
        there = donors >= 0
        made, row, donors = made[there], row[there], donors[there]
        view.lend(made, feature.columns, donors)
    share = float(view.far(made, row).mean()) if len(row) else 0.0
    if share >= FAR_NOTE:
        name = _names(surface)
        text = (
            f"{share:.0%} of the rows that the surface of {name} asks the model for are farther from all data "
            "than 99 % of the rows are from their nearest: there the model extrapolates. Read sd.ALE() beside it."
        )
        numbers = {"share": share, "rows": len(row), "others": view.others}
        yield Flag("extrapolation", _graded(share, FAR), text, name, None, numbers)
