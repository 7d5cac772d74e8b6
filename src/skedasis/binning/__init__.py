"""Binning: which cells an axis is cut into.

Every scheme answers two questions. `candidates`: on which fine cells are moments to be gathered (seen: a summary of the
column)? `choose`: which of their edges stay (seen: the moments of the local effects)? Between the two the model is
called, once; choosing again costs nothing.

| scheme | edges | sees the effects | pick it when |
|---|---|---|---|
| `Uniform(k)` | equidistant | no | comparing with a paper or another library |
| `Quantile(k)` | data values, equal counts | no | ALE; skewed or spiky features |
| `Edges([...])` | yours | no | the breaks have a meaning |
| `AutoUniform()` | equidistant, number chosen | yes | equal bins are wanted, but not their number |
| `Greedy()` | merged cells | yes | a very fine grid, in a hurry |
| `Optimal()` | the optimum of RHALE Eq. 13 | yes | as in the paper: wide where the slope is constant |
| `Optimal(criterion="risk")` | between rows, at jumps and bends of the slope | yes | RHALE; nothing to set |
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skedasis.binning.automatic import AutoUniform, Greedy
from skedasis.binning.base import EXACT, Binning, Segments, Spread
from skedasis.binning.fixed import Edges, Quantile, Uniform
from skedasis.binning.optimal import Optimal, for_local
from skedasis.cells import Cells, distinct
from skedasis.data.summary import Column
from skedasis.errors import DataError, explained
from skedasis.typing import Floats

__all__ = [
    "EXACT",
    "AutoUniform",
    "Binning",
    "Edges",
    "Greedy",
    "Optimal",
    "Quantile",
    "Segments",
    "Spread",
    "Uniform",
    "as_binning",
    "fitting",
    "for_local",
]


def as_binning(bins: Any, whole: type[Uniform] | type[Quantile]) -> Binning:
    """Return a user's `bins` as a scheme; an integer means so many of the method's usual kind."""
    if isinstance(bins, Binning):
        return bins
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool):
        return whole(int(bins))
    raise DataError(
        explained(
            "bins",
            repr(bins)[:60],
            "an int or one of Uniform, Quantile, Edges, AutoUniform, Greedy, Optimal",
            "Write for example bins=sd.Uniform(20), or bins=sd.Edges([...]) for your own edges",
        )
    )


def fitting(
    bins: Binning | int, scheme: Binning, column: Column, local: str, jumps: Floats | None = None
) -> Cells:
    """Return the scheme's fine cells, as they fit the column and the way that local effects are got.

    Parameters
    ----------
    bins : Binning or int
        What the user asked for. Fixed bins that were asked for by name stay as they are.
    scheme : Binning
        What that stands for.
    column : Column
    local : {"slopes", "differences", "secants", "edges"}
    jumps : ndarray of float, optional
        Where the quantity jumps, if that is known.

    Notes
    -----
    Differences of whole numbers reach from one to the next, so cells start and end there. Secants of a feature with few
    values reach from each to the next: between them lies no row, and an edge there would tear a jump from its rows.
    """
    if isinstance(scheme, Optimal) and scheme.grid == "jumps":
        return scheme.between(jumps, column)
    scheme = for_local(scheme, local)
    if local == "edges" and isinstance(scheme, Optimal) and scheme.by_risk:
        return scheme.across(column)
    cells = scheme.candidates(column)
    chosen_by_us = not isinstance(bins, (Uniform, Quantile, Edges))
    if not chosen_by_us or len(cells) == 0:
        return cells
    if local == "secants" and isinstance(scheme, (Optimal, Greedy)):
        values = column.distinct(len(cells) + 1)
        if values is not None and 2 * len(values) <= column.weight:
            return Cells(values, "left")
    if column.integer and local in ("differences", "secants"):
        # Halfway between two values a cell begins at the upper one.
        return Cells(distinct(np.floor(cells.edges + 0.5)), "left")
    return cells
