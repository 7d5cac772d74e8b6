"""The grid that misses nothing: on both sides of every jump of a piecewise constant quantity."""

from __future__ import annotations

import numpy as np

from skedasis.data.column_stats import Column
from skedasis.errors import UnsupportedError, explained
from skedasis.models.adapters import Traits
from skedasis.stats.grid import EVERY_JUMP, Grid, widths_share

EXACT = "exact"


def exact_grid(column: Column, traits: Traits, method: str) -> Grid:
    """Return the ends of the data, and for each jump between them the last number before it and the first behind it.

    Between two points a curve is a line: level, or a jump from one number to the next. So what is drawn and evaluated
    is the step function itself. Its mean over the axis counts each step by its width.

    Parameters
    ----------
    column : Column
    traits : Traits
        With the quantity's jumps.
    method : str
        For the message.

    Raises
    ------
    UnsupportedError
        Where it is not known where the quantity jumps.
    """
    if traits.jumps is None:
        raise UnsupportedError(
            explained(
                f"{method}(grid='exact') of {column.feature.name!r}",
                "a quantity whose jumps are not known",
                "trees that are walked (scikit-learn, LightGBM, XGBoost), and a numeric feature",
                "Use grid=50",
            )
        )
    low, high = column.low, column.high
    inside = traits.jumps[(traits.jumps >= low) & (traits.jumps < high)]
    behind = np.nextafter(inside, np.inf)
    points = np.unique(np.concatenate([[low], inside, behind, [high]]))
    return Grid(points, EVERY_JUMP, widths_share(points))
