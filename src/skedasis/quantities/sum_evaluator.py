"""Evaluation of a sum of quantities on a batch of rows: by the evaluators of its parts, each of one model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from skedasis._types import Floats, Ints
from skedasis.data.column_stats import Summary
from skedasis.data.dataset import Batch
from skedasis.models.adapters import DerivativeInfo
from skedasis.quantities.evaluator import (
    BatchEvaluator,
    ResponseCache,
    SetChanges,
    SweptValues,
)

if TYPE_CHECKING:
    from skedasis.quantities.base import Sum


class SumEvaluator(BatchEvaluator):
    """Evaluator of a sum of quantities: what the model is called for, each of its parts is."""

    def __init__(
        self,
        quantity: Sum,
        batch: Batch,
        copies: int,
        eps: float,
        used: BatchEvaluator | None = None,
        cache: ResponseCache | None = None,
    ) -> None:
        super().__init__(quantity, batch, copies, eps, None, cache)
        self.quantity: Sum = quantity
        self._finished = used.parts if isinstance(used, SumEvaluator) else None

    @cached_property
    def parts(self) -> list[BatchEvaluator]:
        """Return the evaluators of the parts, made when they are needed: by then, it is known who calls the models."""
        found = self.quantity.parts_on(self.batch.dataset)
        finished, self._finished = self._finished or [None] * len(found), None
        made: list[BatchEvaluator] = []
        for i, ((quantity, rows), before) in enumerate(zip(found, finished, strict=True)):
            cache = None if self._cache is None else self._cache.of_model(i)
            batch = replace(self.batch, dataset=rows)
            eps = self.quantity.round_off[i] if self.quantity.round_off else self.eps
            part = quantity.evaluator(batch, self.copies, eps, before, cache)
            part.stats, part.caller = self.stats, self.caller.of_model(i)
            made.append(part)
        return made

    def summed(self, of: Callable[[BatchEvaluator], Floats]) -> Floats:
        """Return the sum of what a function returns of each part."""
        return self.quantity.combined([of(part) for part in self.parts])

    def subset(self, rows: Ints, sets: int = 1) -> BatchEvaluator:
        part = super().subset(rows, sets)
        part.__dict__["parts"] = [own.subset(rows, sets) for own in self.parts]
        return part

    def _call(self, changes: SetChanges, sets: int, where: str) -> Floats:
        return self.summed(lambda part: part._call(changes, sets, where))  # noqa: SLF001 - of the base class

    @cached_property
    def _slopes(self) -> Floats:
        slopes = self.summed(lambda part: part.slope())
        slopes.flags.writeable = False
        return slopes

    def slopes_at(self, j: int, moved: int, values: Floats | tuple[Floats, ...]) -> Floats:
        return self.summed(lambda part: part.slopes_at(j, moved, values))

    def local_slopes(self, column: Summary, derivative_info: DerivativeInfo) -> Floats:
        """Return the sum of the parts' slopes: each from its derivatives, or by differences of its own."""
        return self.summed(
            lambda part: part.local_slopes(column, part.quantity.derivative_info(column.feature))
        )

    def mixed_slopes(
        self,
        columns: tuple[Summary, Summary],
        derivative_info: tuple[DerivativeInfo, DerivativeInfo],
    ) -> tuple[Floats, Floats | None, Floats | None]:
        """Return the sums of the parts' mixed derivatives, and of their slopes if all have them."""
        found = [
            part.mixed_slopes(columns, (info(columns[0].feature), info(columns[1].feature)))
            for part in self.parts
            for info in (part.quantity.derivative_info,)
        ]
        mixed, *slopes = zip(*found, strict=True)
        combined = self.quantity.combined
        first, second = (
            combined(known) if len(known) == len(found) else None
            for known in ([one for one in side if one is not None] for side in slopes)
        )
        return combined(mixed), first, second


class SumOfTreesEvaluator(SumEvaluator):
    """Evaluator of a sum with trees among its parts, which evaluate more than values in ways of their own."""

    def values(self) -> Floats:
        if self._own is None:
            self._own = self.summed(lambda part: part.values())
        return self._own

    def sweep_together(self, changes: SweptValues, m: int) -> Floats:
        return self.summed(lambda part: part.sweep_together(changes, m))

    def sums(self, changes: SweptValues, m: int) -> Floats:
        return self.summed(lambda part: part.sums(changes, m))

    def cell_differences(self, j: int, edges: Floats, cell: Ints) -> Floats:
        return self.summed(lambda part: part.cell_differences(j, edges, cell))

    def edge_differences(self, j: int, low: Floats, high: Floats) -> Floats:
        return self.summed(lambda part: part.edge_differences(j, low, high))

    def corners(
        self, columns: tuple[int, int], nodes: tuple[Floats, Floats], homes: tuple[Ints, Ints]
    ) -> Floats:
        return self.summed(lambda part: part.corners(columns, nodes, homes))
