"""`Bound` as methods know it: rows of one batch, and what can be asked of a quantity there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from skedasis._types import Floats, Ints
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Summary
from skedasis.models.adapters import Traits


class Bound(Protocol):
    """One batch of rows bound to a quantity: all that a method knows of a model."""

    @property
    def weights(self) -> Floats | None:
        """The rows' weights; None means 1 each."""
        ...

    @property
    def eps(self) -> float:
        """The relative rounding of the model's answers."""
        ...

    @property
    def row_id(self) -> Ints:
        """The rows' places in X."""
        ...

    @property
    def places(self) -> Ints:
        """The rows' places among those that take part."""
        ...

    @property
    def shared(self) -> dict[str, Any]:
        """What features of one batch share."""
        ...

    def __len__(self) -> int: ...

    def column(self, j: int) -> Floats:
        """Return the rows' values of a feature."""
        ...

    def codes(self, column: LevelColumn) -> Ints:
        """Return the rows' places in a categorical feature's levels, -1 for none."""
        ...

    def labels(self) -> Floats:
        """Return the rows' labels as numbers."""
        ...

    def at(self) -> Floats:
        """Return the quantity at the rows, (n,)."""
        ...

    def some(self, rows: Ints) -> Bound:
        """Return the same for some of the rows."""
        ...

    def sweep(self, j: int, values: Floats) -> Floats:
        """Return the quantity, (n, m), with a column replaced."""
        ...

    def sweep_together(self, changes: Mapping[int, Any], m: int) -> Floats:
        """Return the quantity, (n, m), with several columns replaced at once."""
        ...

    def sums(self, changes: Mapping[int, Any], m: int) -> Floats:
        """Return the weighted sums over the rows of the quantity, (m,), with columns replaced."""
        ...

    def slope_sweep(self, j: int, values: Floats) -> Floats:
        """Return the partial derivative by a column, (n, m), with that column replaced."""
        ...

    def slope(self) -> Floats:
        """Return the partial derivatives by all columns, (n, d)."""
        ...

    def mixed_slopes(
        self, columns: tuple[Summary, Summary], traits: tuple[Traits, Traits]
    ) -> tuple[Floats, Floats | None, Floats | None]:
        """Return the mixed second derivative by two features, and the slope by each where there is one, (n,)."""
        ...

    def across(self, j: int, edges: Floats, cell: Ints) -> Floats:
        """Return q(z_k, x_c) - q(z_{k-1}, x_c) for the edges of each row's cell, (n,)."""
        ...

    def edge_differences(self, j: int, low: Floats, high: Floats) -> Floats:
        """Return q(high, x_c) - q(low, x_c), (n,)."""
        ...

    def local_slopes(self, column: Summary, traits: Traits) -> Floats:
        """Return the partial derivative by one feature, (n,): the quantity's own, or central differences."""
        ...
