"""`Side`: one of the two features of a surface, as the algebra of pairs sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints
from skedasis.results.parts import LevelStats
from skedasis.stats.grid import Cells


@dataclass(frozen=True, eq=False)
class Side:
    """A feature's *nodes*, where the surface has values, and its *homes*, where rows live.

    | | nodes (m) | homes (h) | cells between nodes (m - 1) |
    |---|---|---|---|
    | numeric | edges | bins | bins: a row is in that of its home |
    | categorical | levels | levels | steps: a row takes that before and that after its home |
    | points of a grid | points | none | none |

    Parameters
    ----------
    bins : Cells, optional
        Of a numeric feature.
    levels : LevelStats, optional
        Of a categorical one.
    points : ndarray of float, optional
        Of a PDP's grid.
    two_values : (float, float), optional
        The values of a numeric feature that has just two of them in the data, the smaller one first.
    """

    bins: Cells | None = None
    levels: LevelStats | None = None
    points: Floats | None = None
    two_values: tuple[float, float] | None = None

    @property
    def nodes(self) -> NDArray[Any]:
        """Return edges, levels or points."""
        if self.levels is not None:
            return self.levels.array()
        return self.points if self.bins is None else self.bins.edges  # type: ignore[return-value]

    @property
    def strips(self) -> tuple[float, float] | None:
        """Return the two values of a two-valued feature if the nodes span both; None for any other feature.

        No row lies between two values, so that figures show two strips instead of a gradient.
        """
        two = self.two_values
        if two is None or self.levels is not None:
            return None
        return two if self.nodes[0] <= two[0] and two[1] <= self.nodes[-1] else None

    @property
    def m(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)

    @property
    def homes(self) -> int:
        """Return the number of homes. A constant numeric feature has one: its single value."""
        return self.m if self.levels is not None else max(self.m - 1, 1)

    @property
    def spread_over(self) -> Floats:
        """Return where the nodes are for interpolation: numbers, or places of levels."""
        return np.arange(self.m, dtype=float) if self.levels is not None else self.nodes

    def averaging(self) -> Floats:
        """Return the matrix (h, m) from nodes to homes: a bin sees both of its edges by halves, a level itself."""
        if self.levels is not None or self.m == 1:
            return np.eye(self.homes, self.m)
        return (np.eye(self.homes, self.m) + np.eye(self.homes, self.m, k=1)) / 2

    def sharing(self) -> Floats:
        """Return the matrix (m - 1, h) from the weights of homes to those of cells: (b_k + b_{k+1}) / 2 for steps."""
        if self.levels is None:
            return np.eye(self.m - 1, self.homes)
        return (np.eye(self.m - 1, self.m) + np.eye(self.m - 1, self.m, k=1)) / 2

    def centres(self) -> Floats:
        """Return the cells' places as shares of the range: centres of bins, or steps over their number."""
        if self.levels is not None:
            return np.arange(1.0, self.m) / max(self.m - 1, 1)
        # From the left end: an offset must not cost the digits that tell which cells are equally far.
        edges = self.nodes - self.nodes[0]
        return (edges[:-1] + edges[1:]) / 2 / edges[-1]

    def home(self, x: Floats) -> Ints:
        """Return each value's home, -1 for none. Levels are given by their places."""
        if self.levels is not None:
            return np.where(np.isnan(x), -1, x).astype(np.int64)
        if self.bins is None or self.m == 1:
            return np.where(np.isnan(x), -1, 0)
        return self.bins.locate(x)

    def between(self, x: Any) -> tuple[Ints, Floats, Bools]:
        """Return for values the node before, the share of the way to the next, and whether they lie on this side.

        Parameters
        ----------
        x : array_like
            Values of a numeric feature; levels of a categorical one.
        """
        if self.levels is not None:
            place = self.levels.places(x).reshape(np.shape(x))
            return np.maximum(place, 0), np.zeros(np.shape(x)), place >= 0
        return between(self.nodes, np.asarray(x, dtype=float))


def between(nodes: Floats, x: Floats) -> tuple[Ints, Floats, Bools]:
    """Return for numbers the node before, the share of the way to the next, and whether they lie within the nodes."""
    inside = (x >= nodes[0]) & (x <= nodes[-1])
    if len(nodes) == 1:
        return np.zeros(x.shape, dtype=np.int64), np.zeros(x.shape), inside
    place = np.clip(np.searchsorted(nodes, x, side="right") - 1, 0, len(nodes) - 2)
    share = (np.where(inside, x, nodes[0]) - nodes[place]) / (nodes[place + 1] - nodes[place])
    return place, np.where(inside, share, 0.0), inside
