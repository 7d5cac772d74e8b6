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
| `Optimal()` | the optimum of RHALE Eq. 13 | yes | RHALE: wide where the slope is constant |
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skedasis.binning.automatic import AutoUniform, Greedy, Optimal
from skedasis.binning.base import Binning, Spread
from skedasis.binning.fixed import Edges, Quantile, Uniform
from skedasis.errors import DataError, explained

__all__ = [
    "AutoUniform",
    "Binning",
    "Edges",
    "Greedy",
    "Optimal",
    "Quantile",
    "Spread",
    "Uniform",
    "as_binning",
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
