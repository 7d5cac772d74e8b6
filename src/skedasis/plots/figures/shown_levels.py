"""The levels of a categorical feature that a figure shows, and their positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skedasis._numbers import counted
from skedasis._types import Floats, Ints
from skedasis.data.features import Feature
from skedasis.plots.figures.effect_parts import LONGEST, Doubts
from skedasis.plots.scales import PlotAxis, clean, distinct_names, shorten
from skedasis.results.axis import BY_SIMILARITY, LevelAxis, LevelStats
from skedasis.results.effect import TRUSTED_ROWS, Effect

ORDERS = {
    "": "levels in their own order",
    BY_SIMILARITY: "similar levels stand next to each other",
    "declared": "levels in the declared order",
    "given": "levels in the given order",
    "ascending values": "levels in ascending order",
}
"""Notes on orders of levels, by their description."""


@dataclass(frozen=True, eq=False)
class ShownLevels:
    """The levels that are shown, at positions 0, 1, …, and every level that there is."""

    every: LevelStats
    ordered: bool
    shown: Ints

    @classmethod
    def of(cls, feature: Feature, levels: LevelStats, most: int) -> ShownLevels:
        """Choose the levels that are shown: all, or of too many nominal levels those with most rows."""
        ordered = feature.kind == "ordinal"
        shown = np.arange(len(levels))
        if len(levels) > most and not ordered:
            shown = np.sort(np.argsort(-levels.weight, kind="stable")[:most])
        return cls(levels, ordered, shown)

    @classmethod
    def of_effect(cls, effect: Effect, most: int) -> ShownLevels | None:
        """Choose the levels of an effect of a categorical feature; None for a numeric one."""
        if not isinstance(effect.axis, LevelAxis):
            return None
        return cls.of(effect.about.feature, effect.axis.levels, most)

    def __len__(self) -> int:
        return len(self.shown)

    @property
    def x(self) -> Floats:
        """Return the positions of the shown levels."""
        return np.arange(len(self), dtype=float)

    @property
    def position(self) -> Floats:
        """Return the position of each level, NaN for levels that are not shown."""
        at = np.full(len(self.every), np.nan)
        at[self.shown] = self.x
        return at

    @property
    def count(self) -> Ints:
        """Return the number of rows of each shown level."""
        return self.every.count[self.shown]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the shown levels."""
        return tuple(clean(self.every.labels[k]) for k in self.shown.tolist())

    @property
    def doubtful(self) -> Doubts:
        """Return the levels with few rows, as intervals of the axis."""
        return self.x - 0.5, self.x + 0.5, (self.count < TRUSTED_ROWS).astype(np.int64)

    def axis(self, feature: Feature, missing_label: str = "") -> PlotAxis:
        """Return the axis, with all names, which the layout rotates and shortens as necessary."""
        n, names = len(self), distinct_names(self.names, LONGEST)
        ticks = tuple(float(i) for i in range(n))
        return PlotAxis(
            shorten(feature.title, LONGEST),
            feature.unit,
            -0.5,
            n - 0.5,
            0.0,
            ticks,
            names,
            missing_label=missing_label,
        )

    def notes(self) -> tuple[str, ...]:
        """Return notes on the number of levels and on their order."""
        notes = [counted(len(self.every), "level")]
        if len(self) < len(self.every):
            left = len(self.every) - len(self)
            notes.append(f"the {len(self)} levels with most rows are shown, {left:,} are not")
        chosen = self.every.order_description
        if len(self.every) > 2 and not chosen.startswith("the observed"):
            notes.append(ORDERS.get(chosen, f"order of levels: {chosen}"))
        return tuple(notes)
