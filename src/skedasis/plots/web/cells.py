"""What is said of a surface's cells: both intervals, or levels, the value, and how many rows there are."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats
from skedasis.plots.common import counted
from skedasis.plots.heat import Heat, counts, order_of
from skedasis.plots.numbers import number, places
from skedasis.plots.rim import Rim
from skedasis.plots.scale import clean, shortened
from skedasis.results.surface import Side, Surface

MOST = 250
"""Cells that are spoken of one by one, each as large as a fingertip; of more, neighbouring bins together."""
LETTERS = 40
"""Of a name in a tip."""


@dataclass(frozen=True)
class Cell:
    """A rectangle in units of the axes, and what is said of it.

    Parameters
    ----------
    left, right, lower, upper : float
    tip : str
        One line a fact.
    """

    left: float
    right: float
    lower: float
    upper: float
    tip: str


@dataclass(frozen=True, eq=False)
class _Stretch:
    """One side's stretches: where they lie, what they are called, where the surface is asked, and their homes.

    Attributes
    ----------
    edges : ndarray of float, shape (k + 1,)
    names : list of str
    at : ndarray, shape (k,)
    homes : list of ndarray of int
        Of each stretch, where rows are counted; empty for points of a grid, which have none.
    """

    edges: Floats
    names: list[str]
    at: NDArray[Any]
    homes: list[NDArray[Any]]


def cells(surface: Surface, shown: Heat) -> list[Cell]:
    """Return the cells of a surface, row by row from below.

    Parameters
    ----------
    surface : Surface
    shown : Heat
        What is drawn of it.

    Returns
    -------
    list of Cell
        At most about 250 where features are numeric: beyond, neighbouring bins are one. The value is that in the
        middle of a cell, or at a point of a grid.
    """
    order = order_of(surface)
    x, y = _told(surface, shown, order)
    asked = (x.at[None, :], y.at[:, None]) if order == (0, 1) else (y.at[:, None], x.at[None, :])
    value = surface.at(*asked)
    rows = counts(surface, order)
    unit = f" {clean(surface.about.unit)}" if surface.about.unit else ""
    what = "effect" if surface.includes_main_effects else "joint effect"
    found: list[Cell] = []
    for i, name_y in enumerate(y.names):
        for j, name_x in enumerate(x.names):
            v = float(value[i, j])
            lines = [name_x, name_y, f"{what} {number(v)}{unit}" if np.isfinite(v) else "no value"]
            if rows is not None and x.homes and y.homes:
                n = int(rows[np.ix_(y.homes[i], x.homes[j])].sum())
                if n == 0 and surface.cells is not None:
                    # What stands there comes from other cells: it is not drawn, and not said.
                    lines[2:] = ["no rows"]
                else:
                    lines.append(counted(n, "row"))
            a, b, c, d = (float(e) for e in (*x.edges[j : j + 2], *y.edges[i : i + 2]))
            found.append(Cell(a, b, c, d, "\n".join(lines)))
    return found


def _told(surface: Surface, shown: Heat, order: tuple[int, int]) -> tuple[_Stretch, _Stretch]:
    """Return the stretches of both sides, so many neighbouring bins together that there are not too many cells."""
    sides, rims, folds = [surface.sides[i] for i in order], (shown.x, shown.y), [1, 1]
    while True:
        x, y = (_stretches(s, r, f) for s, r, f in zip(sides, rims, folds, strict=True))
        # Levels and two values are never told together. Cells are wider than high: upwards first.
        most = [1 if shown.y.discrete else len(y.at), 1 if shown.x.discrete else len(x.at)]
        if len(x.at) * len(y.at) <= MOST or max(most) == 1:
            return x, y
        folds[1 - most.index(max(most))] += 1


def _short(nodes: Floats) -> Floats:
    """Return places with two digits of their least step: there are hundreds of cells, and tables have the rest."""
    steps = np.diff(nodes)
    if len(steps) == 0 or not 0 < steps.min() < np.inf:
        return nodes
    return np.round(nodes, int(np.clip(1 - np.floor(np.log10(steps.min())), -300, 300)))


def _stretches(side: Side, rim: Rim, fold: int) -> _Stretch:
    """Return the stretches of one side, `fold` neighbouring bins together."""
    name = shortened(rim.axis.name, LETTERS)
    unit = f" {clean(rim.axis.unit)}" if rim.axis.unit else ""
    if rim.places is not None:
        shown = rim.places.shown
        names = [
            f"{name}: {shortened(side.levels.labels[k] if side.levels else '', LETTERS)}"
            for k in shown
        ]
        return _Stretch(rim.edges, names, rim.at, [np.array([k]) for k in shown])
    if rim.strips is not None:
        names = [f"{name}: {text}{unit}" for text in rim.axis.labels]
        return _Stretch(rim.edges, names, rim.at, [np.array([k]) for k in rim.home])
    nodes = np.asarray(side.nodes, dtype=float)
    time = rim.axis.time
    texts = places(_short(nodes)) if time is None else time.texts(nodes)
    if len(nodes) == 1:
        homes = [] if side.bins is None else [np.array([0])]
        return _Stretch(rim.edges, [f"{name}: {texts[0]}{unit}"], nodes, homes)
    if side.bins is None:
        kept = np.arange(0, len(nodes), fold)
        at = nodes[kept]
        between = at[:-1] / 2 + at[1:] / 2
        edges = np.concatenate([nodes[:1], between, nodes[-1:]])
        return _Stretch(edges, [f"{name}: {texts[k]}{unit}" for k in kept], at, [])
    cut = np.unique([*range(0, len(nodes), fold), len(nodes) - 1])
    pairs = list(itertools.pairwise(cut.tolist()))
    return _Stretch(
        nodes[cut],
        [f"{name}: {texts[a]} – {texts[b]}{unit}" for a, b in pairs],
        np.array([nodes[a] / 2 + nodes[b] / 2 for a, b in pairs]),
        [np.arange(a, b) for a, b in pairs],
    )
