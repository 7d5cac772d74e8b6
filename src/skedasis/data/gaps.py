"""`Gap`: a wide interval of a feature's axis in which no value lies, such as between incomes and the code 99999."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.stats.random import row_hashes, uniform_from_hash

GAP_SHARE, MOST_GAPS = 0.25, 8
"""Smallest width of a gap as a share of its stretch, and largest number of gaps."""

_FEW, _HALF = 0.01, 0.5
"""A gap separates rows if it is wider than half of the main stretch, and beyond it are rows of a single value or of
less than this share. The main stretch is what the gaps before have on their heavier side."""


@dataclass(frozen=True)
class Gap:
    """A wide interval between neighbouring values of a feature."""

    left: float
    right: float
    side: Literal["left", "right"]
    end: float
    rows: int
    share: float
    separates: bool

    @property
    def few_beyond(self) -> bool:
        """Return whether the gap separates so few rows that figures leave them out of the axis."""
        return self.separates and self.share < _FEW

    @property
    def near(self) -> float:
        """Return the value nearest to the gap among the rows beyond."""
        return self.left if self.side == "left" else self.right


def main_stretch(gaps: Sequence[Gap]) -> tuple[float, float]:
    """Return the ends of the axis without the few rows beyond gaps; -inf or inf where there are none."""
    few = [gap for gap in gaps if gap.few_beyond]
    low = max((gap.right for gap in few if gap.side == "left"), default=-np.inf)
    return float(low), float(min((g.left for g in few if g.side == "right"), default=np.inf))


class Upto(NamedTuple):
    """Values of a column up to some points, (m,) each: their number, their weight in quanta, the largest of them."""

    rows: Ints
    weight: Ints
    largest: Floats


Step: TypeAlias = tuple[float, float, float, float]
"""The ends of a gap, and those of the stretch in which it was found."""


def points_around(steps: Sequence[Step]) -> Floats:
    """Return the points up to which values are counted to know the rows on both sides of gaps."""
    return np.unique([(np.nextafter(low, -np.inf), left, high) for left, _, low, high in steps])


def gaps_of(steps: Sequence[Step], points: Floats, upto: Upto) -> tuple[Gap, ...]:
    """Return the gaps, from left to right."""
    gaps, main = list[Gap](), steps[0][2:]
    for left, right, low, high in steps:
        start, middle, end = np.searchsorted(points, [np.nextafter(low, -np.inf), left, high])
        before, after = (
            int(upto.weight[b] - upto.weight[a]) for a, b in ((start, middle), (middle, end))
        )
        a, b, near, far = (
            (start, middle, left, low) if before < after else (middle, end, right, high)
        )
        rows, share = int(upto.rows[b] - upto.rows[a]), min(before, after) / int(upto.weight[-1])
        in_main = (low, high) == main
        if in_main:
            main = (right, high) if before < after else (low, left)
        wide = in_main and right - left > _HALF * (high - low)
        separates = wide and (far == near or share < _FEW)
        side: Literal["left", "right"] = "left" if before < after else "right"
        gaps.append(Gap(left, right, side, far, rows, share, separates))
    return tuple(sorted(gaps, key=lambda gap: gap.left))


NEAREST_ROWS = 32
"""Number of rows on either side of a gap from which the rise across it is estimated."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """The rows nearest to the gaps, two groups for each gap: on its left and on its right."""

    low: Floats
    high: Floats
    share: Floats
    across: Floats

    def rows(self, x: Floats, row_id: np.ndarray) -> tuple[Ints, Ints]:
        """Return the rows of all groups, and the group of each."""
        parts = [
            np.flatnonzero((x >= a) & (x <= b)) for a, b in zip(self.low, self.high, strict=True)
        ]
        for group in np.flatnonzero(self.share < 1):
            drawn = uniform_from_hash(row_hashes(row_id[parts[group]], 0, "rows beside gaps"))
            parts[group] = parts[group][drawn <= self.share[group]]
        groups = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return np.concatenate(parts), groups
