"""Options of a figure of an effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skedasis._arguments import check_flag, check_int_or_none
from skedasis.errors import DataError
from skedasis.results.keywords import BandKind, CurveScale, Ice, RegionsKind

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
    """Options of a figure of an effect."""

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
    band: BandKind = "spread"
    scale: CurveScale | None = None
    """None: at the height of predictions where mean labels are drawn, else around zero."""
    observed: bool = True

    def __post_init__(self) -> None:
        check_flag("plot(observed)", self.observed, "Use observed=False to hide mean labels")
        check_int_or_none("plot(curves)", self.curves, 0, "Use 200")
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
    """What a figure of regions shows."""

    kind: RegionsKind = "panels"
    confidence_level: float = 0.95
    scores: bool = True
    columns: int | None = None
    scale: CurveScale = "difference"
    observed: bool = True

    def __post_init__(self) -> None:
        check_flag("plot(observed)", self.observed, "Use observed=False to hide mean labels")
        check_int_or_none("plot(columns)", self.columns, 1, "Use 2, or None")
