"""One of the two features of a pair, between the data and the algebra of surfaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.binning import Binning, Edges, Quantile, Uniform
from skedasis.data.column_stats import Column, Summary
from skedasis.data.features import Feature
from skedasis.errors import UnsupportedError, explained
from skedasis.methods.bound import Bound
from skedasis.methods.levels import LevelPlan
from skedasis.results.surface import Side
from skedasis.stats.grid import Cells, Grid


@dataclass(frozen=True, eq=False)
class SideColumn:
    """A feature of a pair as it was planned.

    Parameters
    ----------
    side : Side
    feature : Feature
    chosen : str
        How its nodes were chosen, for the provenance.
    summary : Summary, optional
        Of a numeric feature.
    levels : LevelPlan, optional
        Of a categorical one.
    """

    side: Side
    feature: Feature
    chosen: str
    summary: Summary | None = None
    levels: LevelPlan | None = None

    @property
    def categorical(self) -> bool:
        """Return whether rows live at levels."""
        return self.levels is not None

    def changes(self, nodes: Ints) -> dict[int, Any]:
        """Return what puts the values of these nodes into the feature's columns, (m,) or (n, m)."""
        if self.levels is not None:
            return self.levels.changes(nodes)
        return {self.feature.position: np.asarray(self.side.nodes)[nodes]}


def side_of(
    nodes: LevelPlan | Grid | Cells, column: Column | None = None, chosen: str = ""
) -> SideColumn:
    """Return a feature of a pair, from the plan of its levels, or from its points or its bins and its column."""
    if isinstance(nodes, LevelPlan):
        return SideColumn(
            Side(levels=nodes.stats), nodes.column.feature, nodes.chosen, levels=nodes
        )
    if column is None:
        raise TypeError("numeric sides have a column")
    values = column.distinct(2)
    two = (float(values[0]), float(values[1])) if values is not None and len(values) == 2 else None
    grid = isinstance(nodes, Grid)
    side = Side(points=nodes.points, two_values=two) if grid else Side(bins=nodes, two_values=two)
    summary = column.summary()
    return SideColumn(side, summary.feature, nodes.chosen if grid else chosen, summary)


def places_of(bound: Bound, column: SideColumn) -> Floats:
    """Return the rows' values, or the places of their levels; NaN where there is none."""
    if column.levels is None:
        return bound.column(column.feature.position)
    place = column.levels.at(bound).astype(float)
    return np.where(place < 0, np.nan, place)


@dataclass(frozen=True)
class OwnValuesOrQuantiles(Binning):
    """The default bins of a feature of a pair: its own values if they are few, else quantiles."""

    k: int = 20

    def candidates(self, column: Column) -> Cells:
        """Return the cells, closed on the right."""
        values = column.few_values()
        return Quantile(self.k).candidates(column) if values is None else Cells(values, "right")


def fixed(scheme: Binning, method: str) -> Binning:
    """Refuse a scheme that chooses its bins by the local effects of one feature.

    Raises
    ------
    UnsupportedError
    """
    if isinstance(scheme, (Uniform, Quantile, Edges)):
        return scheme
    name = type(scheme).__name__
    raise UnsupportedError(
        explained(
            f"{method}(bins={name}()) of two features",
            "bins that are chosen by the effect of one",
            "Uniform, Quantile or Edges",
            f"Write for example sd.{method}(bins=20)",
        )
    )
