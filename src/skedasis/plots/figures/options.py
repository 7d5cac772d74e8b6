"""Options of a figure of an effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skedasis._arguments import (
    check_flag,
    check_int_or_none,
    check_option,
    check_probability,
)
from skedasis.errors import DataError
from skedasis.plots.keywords import Ice, RegionsKind

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

SEED = (8215, 4406)
"""Seed of random samples and offsets in figures.

Small seeds are avoided: data generated with the same seed would be offset by their own values.
"""

MOST_CURVES = 200
"""By default, at most this many individual curves are drawn."""

MOST_LEVELS = 40
"""By default, at most this many nominal levels are shown."""


@dataclass(frozen=True, eq=False)
class EffectPlotOptions:
    """Options of a figure of an effect.

    Parameters
    ----------
    ice : {"centered", "raw", None}
        Individual curves. "centered" subtracts each curve's anchor (its left end for
        ``center="start"``, else its mean over the grid) and centres the average likewise; "raw" draws the curves
        unchanged; None draws no curves. Derivative curves have no level and are never centred.
    own : bool
        Whether the observed value of each row is marked on its curve.
    curves : int, optional
        Largest number of curves; None: 200 of those that the result keeps, if it keeps any.
    confidence_level : float
        Confidence level of the intervals of the average.
    color : array_like, shape (n,), optional
        One value for each row of X, by which its curve is coloured.
    color_name : str, optional
        Name of these values; by default the name of the series.
    group_averages : bool
        Whether the average curve of each group that curves are coloured by is drawn; of numbers on a scale, the average
        of each third.
    elevated_regions : bool or None
        Whether elevated regions of the ICE curves are marked; None marks them if the quantity is an uncertainty.
    histogram : bool
        Whether the feature's histogram is drawn for each group that curves are coloured by.
    values : array_like, shape (n,), optional
        The feature's value in each row of X, for these histograms; by default those of the rows that are kept.
    simultaneous : bool
        Whether the intervals form a simultaneous band.
    most_levels : int
        Largest number of levels of a nominal feature; of more levels those with most rows are shown. Ordinal levels
        are all shown.
    """

    ice: Ice = "centered"
    own: bool = False
    curves: int | None = None
    confidence_level: float = 0.95
    color: ArrayLike | None = None
    color_name: str | None = None
    group_averages: bool = True
    elevated_regions: bool | None = False
    histogram: bool = False
    values: ArrayLike | None = None
    simultaneous: bool = False
    most_levels: int = MOST_LEVELS

    def __post_init__(self) -> None:
        fix = "Use one of these"
        if isinstance(self.ice, bool):
            fix = "Write ice='centered'" if self.ice else "Write ice=None"
        check_option("plot(ice)", self.ice, ("centered", "raw", None), fix)
        check_int_or_none("plot(curves)", self.curves, 0, "Use 200")
        check_flag("plot(group_averages)", self.group_averages)
        if self.histogram and self.color is None:
            fix = "Pass the groups of the rows, such as color=y"
            raise DataError("plot(histogram)", "histogram=True without color", "color", fix)
        if self.values is not None and not self.histogram:
            fix = "Add histogram=True, or omit values"
            raise DataError("plot(values)", "values without histogram=True", "both", fix)

    @property
    def most_curves(self) -> int:
        """Return the largest number of curves."""
        return MOST_CURVES if self.curves is None else self.curves


@dataclass(frozen=True)
class RegionsPlotOptions:
    """What a figure of regions shows.

    Parameters
    ----------
    kind : {"panels", "together"}
        One panel per region, or all curves in one panel.
    confidence_level : float
        Confidence level of the intervals of the effects and of the heterogeneity scores.
    scores : bool
        Whether the heterogeneity scores before and after are drawn.
    columns : int, optional
        Largest number of panels side by side.
    """

    kind: RegionsKind = "panels"
    confidence_level: float = 0.95
    scores: bool = True
    columns: int | None = None

    def __post_init__(self) -> None:
        check_option("plot(kind)", self.kind, ("panels", "together"))
        check_flag("plot(scores)", self.scores)
        check_probability("plot(confidence_level)", self.confidence_level)
        check_int_or_none("plot(columns)", self.columns, 1, "Use 2, or None")
