"""What every scheme of binning is, and what they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from skedasis.cells import Cells, distinct
from skedasis.data.summary import Column
from skedasis.errors import DataError, explained
from skedasis.moments import Moments, WeightKind
from skedasis.typing import Bools, Floats, Ints, Json, Side


@dataclass(frozen=True)
class Binning(ABC):
    """A scheme of cutting an axis into bins."""

    @property
    def by_risk(self) -> bool:
        """Return whether bins are chosen by their risk, so that they follow the curve."""
        return False

    @abstractmethod
    def candidates(self, column: Column) -> Cells:
        """Return the fine cells; for a constant feature a single edge."""

    def choose(self, cells: Cells, moments: Moments, spread: Spread) -> Ints:
        """Return which of the cells' edges stay, in order: all of them, unless the scheme chooses."""
        return np.arange(len(cells.edges))

    def segments(self, cells: Cells, moments: Moments, spread: Spread) -> Segments:
        """Return which edges stay, and in which bins slopes change linearly: in none, unless the scheme finds so."""
        return Segments(self.choose(cells, moments, spread))

    def describe(self) -> Json:
        """Return the scheme and its settings, as they are written into a provenance."""
        settings = {f.name: getattr(self, f.name) for f in fields(self)}
        # JSON knows no tuples: what is loaded is to equal what was saved.
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in settings.items()}
        return {"scheme": type(self).__name__, **plain}


@dataclass(frozen=True, eq=False)
class Segments:
    """Bins, as they were chosen.

    Parameters
    ----------
    kept : ndarray of int, shape (bins + 1,)
        The edges that stay.
    trend : ndarray of bool, shape (bins,), optional
        Whether slopes change linearly within the bin; None for constant slopes everywhere.
    """

    kept: Ints
    trend: Bools | None = None


EXACT = 1e-9
"""Rounding of slopes that are given or known in closed form, as a share of the largest."""


@dataclass(frozen=True)
class Spread:
    """How scatter is measured while bins are chosen.

    Parameters
    ----------
    ddof : int
        1 for the unbiased variance (RHALE Eq. 11), 0 for UALE's (Eq. 11 there).
    kind : {"frequency", "sampling"}
        What weights mean.
    largest : float
        The largest absolute local effect: it sets the scale of what counts as a tie.
    noise : float
        Share of it that may be rounding: of differences by default, see `EXACT` for slopes that are exact.
    feature : str
        Named when there is something to warn of.
    axis : Moments, optional
        Of the feature's values in the same cells; None where there are no distances.
    """

    ddof: int = 1
    kind: WeightKind = "frequency"
    largest: float = 0.0
    noise: float = 1e-6
    feature: str = ""
    axis: Moments | None = None


def positive(what: str, k: Any) -> None:
    """Refuse a number of bins that is no positive integer."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise DataError(explained(what, repr(k), "an integer of at least 1", "Use 20"))


def snapped_cells(column: Column, edges: Floats, closed: Side) -> Cells:
    """Return cells whose edges the column itself can hold: what is planned is what the model sees."""
    return Cells(distinct(column.snap(edges)), closed)
