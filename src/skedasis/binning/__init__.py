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
from skedasis.binning.optimal import Optimal
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
    "is_fixed",
]

CELLS = 32
"""Number of quantile cells of an ALE with "auto" bins, unless the feature has few values."""


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
            "'auto', an int or one of Uniform, Quantile, Edges, AutoUniform, Greedy, Optimal",
            "Write for example bins=sd.Uniform(20), or bins=sd.Edges([...]) for your own edges",
        )
    )


def is_fixed(bins: object) -> bool:
    """Return whether bins name their edges: a number of bins, `Uniform`, `Quantile` or `Edges`."""
    if isinstance(bins, (Uniform, Quantile, Edges)):
        return True
    return isinstance(bins, (int, np.integer)) and not isinstance(bins, bool)


def fitting(
    bins: Any, scheme: Binning, column: Column, local: str, jumps: Floats | None = None
) -> Cells:
    """Return the fine cells for a column, given how its local effects are computed.

    Parameters
    ----------
    bins : Binning, int or "auto"
        As the user gave them. Named edges are kept.
    scheme : Binning
        What that stands for.
    column : Column
    local : {"slopes", "differences", "integer_steps", "steps", "value_steps", "edges"}
    jumps : ndarray of float, optional
        Where the quantity jumps, if that is known.

    Notes
    -----
    For step functions the cells are those of an ALE (DESIGN 4.5), and bins are unions of them. For a feature with few
    values these are the edges. For integers with more values cells start and end at integers.
    """
    if isinstance(scheme, Optimal) and scheme.grid == "jumps":
        return scheme.between(jumps, column)
    if local == "value_steps":
        return Cells(column.distinct_values, "right")
    of_an_ale = local == "edges" and bins == "auto"
    if of_an_ale or (local == "steps" and type(scheme) in (Optimal, Greedy)):
        scheme = scheme if is_fixed(bins) else Quantile(CELLS)
    elif local == "edges" and isinstance(scheme, Optimal) and scheme.by_risk:
        return scheme.across(column)
    cells = scheme.candidates(column)
    if local == "integer_steps" and column.integer and len(cells) > 0 and not is_fixed(bins):
        # Halfway between two values a cell begins at the upper one.
        return Cells(distinct(np.floor(cells.edges + 0.5)), "left")
    return cells
