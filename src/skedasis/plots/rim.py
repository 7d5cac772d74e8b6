"""The sides of a heat map: where a surface is sampled, and where the rows lie on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints
from skedasis.data.features import Feature
from skedasis.plots.levels import Places
from skedasis.plots.numbers import places as places_text
from skedasis.plots.scale import Axis, padded, shortened, told_apart
from skedasis.plots.view import BELOW, SEED
from skedasis.results.surface import PairRows, Side

MOST_LETTERS = 24
"""Of the text of one of two values."""
FINE = 200
"""Samples across an axis: what lies between is finer than a printer's dots."""
DOTS = 1000
"""Rows that are marked: more would hide the surface."""
STREWN = (-0.4, 0.1)
"""Where rows of one level or value lie in its band. Numbers stand above them."""


@dataclass(frozen=True, eq=False)
class Rim:
    """One side of a heat map: its axis, and where the surface is sampled on it.

    Parameters
    ----------
    axis : Axis
    edges : ndarray of float, shape (p + 1,)
        Of the patches, on the axis.
    at : ndarray, shape (p,)
        The values of the feature at which the surface is evaluated, one a patch: numbers, or levels.
    home : ndarray of int, shape (p,)
        Each patch's bin or level, or which of a feature's two values it is; -1 where the side has none of these.
    places : Places or None
        Of a categorical feature: which levels are shown.
    strips : (float, float) or None
        The values of a two-valued numeric feature, which are shown as two strips at 0 and 1.
    """

    axis: Axis
    edges: Floats
    at: NDArray[Any]
    home: Ints
    places: Places | None = None
    strips: tuple[float, float] | None = None

    @property
    def discrete(self) -> bool:
        """Return whether the patches are levels or values with nothing between them."""
        return self.places is not None or self.strips is not None

    @property
    def centres(self) -> Floats:
        """Return the patches' middles."""
        return (self.edges[:-1] + self.edges[1:]) / 2


def rim_of(side: Side, feature: Feature, *, step: bool, most: int, across: int | None) -> Rim:
    """Return a side's axis, and where the surface is sampled."""
    if side.levels is not None:
        places = Places.of(feature, side.levels, most)
        edges = np.arange(len(places) + 1, dtype=np.float64) - 0.5
        axis = places.axis(feature, across, most)
        return Rim(axis, edges, side.levels.array()[places.shown], places.shown, places)
    nodes = np.asarray(side.nodes, dtype=float)
    name = shortened(feature.name, BELOW)
    if side.strips is not None:
        # A gradient between two values would show values that no row has.
        labels = told_apart(places_text(np.array(side.strips)), MOST_LETTERS)
        axis = Axis(name, feature.unit, -0.5, 1.5, 0.0, (0.0, 1.0), labels)
        edges = np.array([-0.5, 0.5, 1.5])
        return Rim(axis, edges, np.array(side.strips), np.arange(2), strips=side.strips)
    if len(nodes) == 1:
        value = float(nodes[0])
        low, high = padded(value, value, 0.0)
        axis, edges = (
            Axis(name, feature.unit, low, high, 0.0, (value,), time=feature.time),
            np.array([low, high], dtype=np.float64),
        )
        return Rim(axis, edges, nodes, np.zeros(1, dtype=np.int64) - (side.bins is None))
    axis = Axis(name, feature.unit, float(nodes[0]), float(nodes[-1]), 0.0, time=feature.time)
    edges = nodes if step else np.linspace(nodes[0], nodes[-1], FINE + 1, dtype=np.float64)
    at = (edges[:-1] + edges[1:]) / 2
    home = np.full(len(at), -1) if side.bins is None else side.bins.locate(at)
    return Rim(axis, edges, at, home)


def located(rows: PairRows, order: tuple[int, int], rims: tuple[Rim, Rim]) -> tuple[Floats, Floats]:
    """Return the rows that lie on both axes, (r, 2), and their weights."""
    given = (rows.x0, rows.x1)
    at = np.column_stack([_on_axis(given[i], rim) for i, rim in zip(order, rims, strict=True)])
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    inside = np.isfinite(at).all(axis=1) & (weight > 0)
    for k, rim in enumerate(rims):
        inside &= (at[:, k] >= rim.edges[0]) & (at[:, k] <= rim.edges[-1])
    return at[inside], weight[inside]


def strewn(at: Floats, rims: tuple[Rim, Rim]) -> Floats:
    """Return rows as they are marked: a sample of many; those of one level all over its band."""
    rng, n = np.random.default_rng(SEED), len(at)
    dots = at.copy() if n <= DOTS else at[np.sort(rng.choice(n, DOTS, replace=False))]
    for k, rim in enumerate(rims):
        if rim.discrete:
            dots[:, k] += rng.uniform(*STREWN, len(dots))
    return dots


def _on_axis(values: Floats, rim: Rim) -> Floats:
    """Return where rows lie on an axis, NaN for nowhere."""
    if rim.strips is not None:
        low, high = rim.strips
        return np.where(values == low, 0.0, np.where(values == high, 1.0, np.nan))
    if rim.places is None:
        return values
    out = np.full(len(values), np.nan)
    known = np.isfinite(values)
    out[known] = rim.places.place[values[known].astype(np.int64)]
    return out


def margin(at: Floats, weight: Floats, rim: Rim) -> Floats:
    """Return the weight of the rows in each of the bars beside an axis."""
    return np.histogram(at, bars_of(rim), weights=weight)[0].astype(float)


def bars_of(rim: Rim) -> Floats:
    """Return the edges of a margin's bars."""
    if rim.discrete:
        return rim.edges
    return np.linspace(rim.edges[0], rim.edges[-1], 41)
