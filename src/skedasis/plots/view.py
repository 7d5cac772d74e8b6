"""What of an effect is to be seen: the choices of who draws it, and how much room there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from skedasis.errors import DataError, explained

Ice = Literal["centered", "raw"] | None

BELOW, BESIDE = 120, 60
"""Characters of a name that fit below and beside a panel, on two lines."""
ACROSS = 92
"""Characters of a count that fit across a panel of the usual width."""
OWN_TICKS = 7
"""Up to so many points of a grid are its ticks."""
SEED = (8215, 4406)
"""Of what is drawn by chance. Small seeds are used up: data made with the same one would be strewn by their values."""
MOST_LEVELS = 40
"""Levels that can be told apart in a panel of the usual width."""


def most_levels(across: int) -> int:
    """Return how many levels can be told apart in a panel of so many letters."""
    return max(6, round(MOST_LEVELS * across / ACROSS))


@dataclass(frozen=True, eq=False)
class View:
    """What of an effect is to be seen.

    Parameters
    ----------
    ice : {"centered", "raw", None}
        Individual curves of PDP and ICE: minus their own anchor (the left end for ``center="start"``, else their mean
        over the grid), in which case the average is centred, too; as they are; or none. Slopes of curves have no level,
        and are never centred.
    own : bool
        Whether each row's own value is marked on its curve.
    curves : int
        At most so many curves.
    level : float
        Of the intervals of the average.
    across : int
        Characters of a count that fit across the panel: where they would touch there are bars instead.
    color : array_like, shape (n,), optional
        One value for each row of X, to colour its curve by.
    color_name : str, optional
        What these values are; by default the name of the series.
    rises : bool or None
        Whether stretches on which curves rise are marked; None marks them where what is explained is an uncertainty.
    histogram : bool
        Whether the feature's distribution is shown for each group that curves are coloured by.
    values : array_like, shape (n,), optional
        The feature's value in each row of X, for these distributions; by default they are of the rows that are kept.
    simultaneous : bool
        Whether the intervals hold at all points at once.
    """

    ice: Ice = "centered"
    own: bool = False
    curves: int = 200
    level: float = 0.95
    across: int = ACROSS
    color: Any = None
    color_name: str | None = None
    rises: bool | None = False
    histogram: bool = False
    values: Any = None
    simultaneous: bool = False

    def __post_init__(self) -> None:
        if self.ice not in ("centered", "raw", None):
            raise DataError(
                explained("plot(ice)", repr(self.ice), "'centered', 'raw' or None", "Name one")
            )
        if self.histogram and self.color is None:
            fix = "Give the rows' classes: color=y"
            raise DataError(explained("plot(histogram)", "no color", "groups of rows", fix))
        if self.values is not None and not self.histogram:
            fix = "Add histogram=True"
            raise DataError(explained("plot(values)", "no histogram", "a histogram", fix))

    @property
    def most(self) -> int:
        """Return how many levels fit across the panel."""
        return most_levels(self.across)
