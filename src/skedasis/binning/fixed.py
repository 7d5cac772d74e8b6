"""Schemes that look at the column alone: `Uniform`, `Quantile`, `Edges`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis.binning.base import Binning, positive, snapped_cells
from skedasis.cells import Cells, distinct, uniform_edges
from skedasis.data.summary import Column
from skedasis.data.times import given_times
from skedasis.errors import DataError, explained
from skedasis.typing import Floats, Json, Side


@dataclass(frozen=True)
class Uniform(Binning):
    """k bins of equal width, closed on the left (RHALE sec. 2.1).

    Parameters
    ----------
    k : int
        Number of bins. A bin may be empty: the result marks it.

    Raises
    ------
    DataError
        For a k that is no positive integer.

    Examples
    --------
    >>> Uniform(20)
    Uniform(k=20)
    """

    k: int = 20

    def __post_init__(self) -> None:
        positive("Uniform(k)", self.k)

    def candidates(self, column: Column) -> Cells:
        """Return the fine cells."""
        return snapped_cells(column, uniform_edges(column.low, column.high, self.k), "left")


@dataclass(frozen=True)
class Quantile(Binning):
    """Bins between k + 1 order statistics, closed on the right (Apley & Zhu; ale_vs_pdp 6.2.1.2).

    Edges are data values: the inverse empirical distribution at 0, 1/k, …, 1, duplicates dropped. No bin is empty.

    Parameters
    ----------
    k : int
        Number of bins before duplicates are dropped; may exceed the number of rows.

    Examples
    --------
    >>> Quantile(40)
    Quantile(k=40)
    """

    k: int = 20

    def __post_init__(self) -> None:
        positive("Quantile(k)", self.k)

    def candidates(self, column: Column) -> Cells:
        """Return the fine cells."""
        return Cells(distinct(column.order_statistics(self.k)), "right")


@dataclass(frozen=True)
class Edges(Binning):
    """Your own edges. Rows beyond them are left out, and counted.

    Parameters
    ----------
    edges : sequence of float, or of times
        At least two, strictly increasing, finite. Of a feature of dates, times or durations such, or text that says
        when (``"2020-01-31"``).
    closed : {"left", "right"}, optional
        The side that belongs to a bin. By default "right" in ALE and "left" elsewhere.

    Raises
    ------
    DataError
        For edges that are too few, not increasing or not finite.

    Examples
    --------
    >>> Edges([0, 18, 65, 100]).edges
    (0.0, 18.0, 65.0, 100.0)
    """

    edges: Sequence[Any] = ()
    closed: Side | None = None

    def __post_init__(self) -> None:
        times = given_times(self.edges)
        if times is not None:  # whether they increase is known with the feature
            object.__setattr__(self, "edges", times)
            self._check_side()
            return
        try:
            edges = tuple(float(z) for z in self.edges)
        except (TypeError, ValueError):
            edges = ()
        self._check_increasing(np.array(edges))
        self._check_side()
        object.__setattr__(self, "edges", edges)

    def _check_increasing(self, edges: Floats) -> None:
        steps = np.diff(edges)
        if len(edges) < 2 or not np.isfinite(edges).all() or not (steps > 0).all():
            raise DataError(
                explained(
                    "Edges",
                    f"{self.edges!r}"[:80],
                    "two or more increasing, finite numbers",
                    "Sort them, and drop duplicates",
                )
            )

    def _check_side(self) -> None:
        if self.closed not in ("left", "right", None):
            raise DataError(
                explained("Edges(closed=)", repr(self.closed), "'left' or 'right'", "Name a side")
            )

    def describe(self) -> Json:
        """Return the scheme and its settings, times as text."""
        said = super().describe()
        return {**said, "edges": [z if isinstance(z, float) else str(z) for z in self.edges]}

    def candidates(self, column: Column) -> Cells:
        """Return the fine cells."""
        time, what = column.feature.time, f"Edges of {column.feature.name!r}"
        if time is not None:
            edges = time.days(self.edges, what)
            self._check_increasing(edges)
            return snapped_cells(column, edges, self.closed or "left")
        if not all(isinstance(z, float) for z in self.edges):
            raise DataError(
                explained(what, repr(self.edges[0]), "numbers", "The feature holds no times")
            )
        return snapped_cells(column, np.array(self.edges), self.closed or "left")
