"""What the forms of a method share: the same method for a categorical feature, or for two features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skedasis._types import Json

if TYPE_CHECKING:
    from skedasis.data.column_stats import Column
    from skedasis.methods.base import Local
    from skedasis.results.effect import About
    from skedasis.stats.heterogeneity_score import HeterogeneityScore
    from skedasis.stats.moments import WeightKind


@dataclass(frozen=True)
class Form:
    """A method in the form that meets one kind of feature; what is said of it is what the user wrote.

    Parameters
    ----------
    base : method
        The method as the user wrote it.
    """

    base: Any

    uses_slopes = False
    compares_missing = True
    leaves_out_missing = True
    reads_columns = True
    scored = False
    checks_slopes = False
    follows_curve = False
    replaces_slopes = False
    batch_rows = None

    @property
    def name(self) -> str:
        """Return the name of the method as the user wrote it."""
        return self.base.name

    @property
    def top_levels(self) -> int | None:
        """Return how many of the most frequent levels were asked for."""
        return self.base.top_levels

    def heed(self, model: Any, y: Any) -> None:
        """Warn of nothing: what was given has been settled."""

    def describe(self) -> Json:
        """Return the parameters as plain values."""
        return self.base.describe()

    def refined(self, plan: Any) -> Any:
        """Return the plan as it is: levels, and differences across cells, cannot be cut finer."""
        return plan

    def observed_only(self, column: Column) -> bool:
        """Return False: forms for pairs decide by their cells, and levels have nothing between them."""
        return False

    def further(
        self,
        plan: Any,
        local: Local,
        score: HeterogeneityScore | None,
        about: About,
        kind: WeightKind,
    ) -> None:
        """Return None: forms need one round."""
        return

    def held(self, plans: Sequence[Any]) -> int:
        """Return 0: rows have no curves."""
        return 0

    def rows_wanted(self, rows: int) -> int:
        """Return how many rows are to be kept: all."""
        return rows
