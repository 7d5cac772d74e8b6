"""Numeric features of data beyond memory: counts of their values, and what else passes compute of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.categories import LevelColumn
from skedasis.data.category_order import STEPS
from skedasis.data.column_stats import Column, NotYetKnown, std_of
from skedasis.data.features import (
    LARGEST_INTEGER,
    Feature,
    check_integers,
    check_range,
    infinite_values,
    no_values,
)
from skedasis.data.gaps import Upto
from skedasis.errors import UnsupportedError
from skedasis.stats.grid import CellParts, Ordered
from skedasis.stats.integer_weights import integer_sums, quantised
from skedasis.stats.moments import Moments
from skedasis.stream.order_statistics import ColumnCounts, RankSearch

MAX_DISTINCT = 1_000_000
"""Largest number of distinct values of a column that are collected from data beyond memory."""

KeyT = TypeVar("KeyT", bound=Hashable)
AnswerT = TypeVar("AnswerT")
AnswerT_co = TypeVar("AnswerT_co", covariant=True)
TallyT = TypeVar("TallyT")
GathererT = TypeVar("GathererT", bound="Gatherer")


class Questions(Generic[KeyT, AnswerT]):
    """Values that passes over the data compute: those still to be computed, and those that are known."""

    def __init__(self) -> None:
        self.open: dict[KeyT, None] = {}  # a set that keeps its order
        self._known: dict[KeyT, AnswerT] = {}

    def ask(self, keys: Iterable[KeyT]) -> None:
        """Note values that the next pass computes."""
        self.open |= dict.fromkeys(key for key in keys if key not in self._known)

    def of(self, key: KeyT) -> AnswerT:
        """Return a value; if no pass has computed it, note it and raise `NotYetKnown`."""
        if key not in self._known:
            self.open[key] = None
            raise NotYetKnown
        return self._known[key]

    def answer(self, key: KeyT, found: AnswerT) -> None:
        """Store a value."""
        self._known[key] = found
        self.open.pop(key, None)

    def answers(self) -> list[AnswerT]:
        """Return all answers."""
        return list(self._known.values())


ColumnPositions: TypeAlias = tuple[int, ...]
"""The positions of a feature's columns."""


@dataclass(frozen=True, order=True)
class TableRequest:
    """A request for the joint counts of a categorical feature and another one."""

    feature: ColumnPositions
    levels: int
    other: ColumnPositions


# ------------------------------------------------------------------------------------ searches
class Search(Protocol[TallyT, AnswerT_co]):
    """The search for an answer, in one pass or several."""

    @property
    def found(self) -> bool:
        """Whether no further pass is needed."""
        ...

    def tally(self) -> TallyT:
        """Return what the next pass gathers, of no rows."""
        ...

    def add(self, tally: TallyT, x: Floats, weights: Floats | None) -> None:
        """Add rows to a tally."""
        ...

    def take(self, tally: TallyT) -> None:
        """Take the tally of all rows."""
        ...

    def answer(self) -> AnswerT_co:
        """Return what was found."""
        ...


class Gatherer(Protocol):
    """What one pass gathers of a column."""

    def add(self, x: Floats, weights: Floats | None, /) -> None: ...


@dataclass(eq=False)
class Once(Generic[GathererT, AnswerT]):
    """A search that ends with one pass, whose answer is computed from what the pass gathers."""

    make: Callable[[], GathererT]
    answer_of: Callable[[GathererT], AnswerT]
    taken: GathererT | None = None

    @property
    def found(self) -> bool:
        return self.taken is not None

    def tally(self) -> GathererT:
        return self.make()

    def add(self, tally: GathererT, x: Floats, weights: Floats | None) -> None:
        tally.add(x, weights)

    def take(self, tally: GathererT) -> None:
        self.taken = tally

    def answer(self) -> AnswerT:
        if self.taken is None:
            raise TypeError("the pass has not been made")
        return self.answer_of(self.taken)


AnyTally: TypeAlias = Any
"""What a pass gathers for a search. Each search has its own kind."""

MakeSearch: TypeAlias = Callable[[int], Search[AnyTally, AnswerT]]
"""Makes a search, which may need a number of bytes."""


def same(tally: GathererT) -> GathererT:
    """Return what was gathered: it is the answer."""
    return tally


class Distinct:
    """The distinct values of a column, up to a limit; None if there are more."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._values: Floats | None = np.zeros(0)

    def add(self, x: Floats, weights: Floats | None = None) -> None:
        if self._values is None:
            return
        found = np.union1d(self._values, x[~np.isnan(x)] + 0.0)
        self._values = found if len(found) <= self.limit else None

    def merge(self, other: Distinct) -> None:
        if other._values is None:
            self._values = None
        else:
            self.add(other._values)

    def answer(self) -> Floats | None:
        return self._values


class CountedUpto:
    """The number, the weight and the largest of the values up to each ascending point."""

    def __init__(self, points: Floats, quantum: float) -> None:
        self._points, self._quantum = points, quantum
        self._rows = np.zeros(len(points) + 1, dtype=np.int64)
        self._sums, self._largest = self._rows.copy(), np.full(len(points) + 1, -np.inf)

    def add(self, x: Floats, weights: Floats | None) -> None:
        present = ~np.isnan(x)
        x, size = x[present] + 0.0, len(self._rows)
        code = np.searchsorted(self._points, x, side="left")
        rows = np.bincount(code, minlength=size)
        self._rows += rows
        own = None if weights is None else quantised(weights[present], self._quantum)
        self._sums += rows if own is None else integer_sums(code, own, size)
        np.maximum.at(self._largest, code, x)

    def merge(self, other: CountedUpto) -> None:
        self._rows += other._rows
        self._sums += other._sums
        np.maximum(self._largest, other._largest, out=self._largest)

    def answer(self) -> Upto:
        rows, weight = (sums[:-1].cumsum() for sums in (self._rows, self._sums))
        largest = np.maximum.accumulate(self._largest[:-1])
        return Upto(rows, weight, np.where(rows > 0, largest, np.nan))


class CountedColumn(Column):
    """A numeric feature that is known by counts of its values, not by the values."""

    def __init__(
        self,
        feature: Feature,
        counts: ColumnCounts,
        moments: Moments,
        dtype: np.dtype[np.generic],
        quantum: float | None = None,
        ends: tuple[int, int] | None = None,
        *,
        sampling: bool = False,
    ) -> None:
        self.sampling = sampling
        self.feature, self.dtype, self.counts = feature, dtype, counts
        self.missing, self.present = counts.missing, None
        self.x, self.weights, self.weighted = np.zeros(0), None, quantum is not None
        self.questions: Questions[Hashable, object] = Questions()
        self.searches: dict[Hashable, MakeSearch[object]] = {}
        self.within: LevelColumn | None = None
        self._upto: dict[float, tuple[int, int, float]] = {}
        check_integers(feature, ends)
        self._set("low", counts.low + 0.0)
        self._set("high", counts.high + 0.0)
        self.quantum = 1.0 if quantum is None else quantum
        self._set("quanta", counts.weight)
        fractions_exist = max(-counts.low, counts.high) <= LARGEST_INTEGER
        self._set("integer", dtype.kind in "iub" or (counts.integer and fractions_exist))
        if counts.n == 0:
            raise no_values(feature)
        if counts.infinite:
            raise infinite_values(feature, counts.infinite)
        check_range(feature, self.low, self.high)
        self._set("std", 0.0 if self.low == self.high else std_of(moments))

    def _set(self, name: str, value: float | bool) -> None:
        """Set a property that `Column` computes from the values."""
        self.__dict__[name] = value

    def __len__(self) -> int:
        return self.counts.n

    def distinct(self, limit: int | None = None) -> Floats | None:
        few = self.counts.distinct()
        if few is not None:
            return few[0] if limit is None or len(few[0]) <= limit else None
        if limit is not None and limit <= self.counts.max_distinct:
            return None
        most = MAX_DISTINCT if limit is None else min(limit, MAX_DISTINCT)
        values = self._answered(
            ("distinct", most), lambda _: Once(partial(Distinct, most), Distinct.answer)
        )
        if values is None and (limit is None or limit > MAX_DISTINCT):
            raise UnsupportedError(
                f"feature {self.feature.name!r}",
                f"more than {MAX_DISTINCT:,} distinct values in data that are read in chunks",
                "at most that many, where bins may begin at each of them",
                "Choose fewer bins, such as max_bins=256, or quantiles: bins=sd.Quantile(100)",
            )
        return values

    def values_to_step_between(self) -> Floats | None:
        return self.distinct(MAX_DISTINCT)

    @property
    def distinct_values(self) -> Floats:  # type: ignore[override] - a cached property there
        values = self.distinct()
        if values is None:
            raise TypeError("without a limit there is no None")
        return values

    def value_weights(self, values: Floats) -> Floats:
        few = self.counts.distinct()
        if few is None:
            raise TypeError("the weights of many values are not counted")
        return few[2].astype(float) * self.quantum

    @property
    def _inexact(self) -> int:
        return 0 if self.counts.whole_weights else self.counts.n

    def at_weights(self, targets: Ints) -> Floats:
        few = self.counts.distinct()
        if few is None:
            key = "ranks", *targets.tolist()
            return self._answered(key, lambda budget: RankSearch(self.counts, targets, budget))
        found = np.searchsorted(np.cumsum(few[2]), targets, side="left")
        return few[0][np.minimum(found, len(few[0]) - 1)]

    def upto(self, points: Floats) -> Upto:
        few = self.counts.distinct()
        if few is None:
            new = tuple(z for z in points.tolist() if z not in self._upto)
            if new:
                make = partial(CountedUpto, np.array(new), self.quantum)
                answer = self._answered(("upto", *new), lambda _: Once(make, CountedUpto.answer))
                found = zip(*(values.tolist() for values in answer), strict=True)
                self._upto |= dict(zip(new, found, strict=True))
            rows, weight, largest = zip(*(self._upto[z] for z in points.tolist()), strict=True)
            return Upto(np.array(rows), np.array(weight), np.array(largest))
        place = np.searchsorted(few[0], points, side="right")
        rows, weight = (np.append(0, np.cumsum(sums))[place] for sums in few[1:])
        return Upto(rows, weight, np.where(place > 0, few[0][place - 1], np.nan))

    def wide_steps(
        self, stretches: Sequence[tuple[float, float]], share: float
    ) -> list[list[tuple[float, float]]]:
        few = self.counts.distinct()
        if few is not None:
            parts = [(few[0][(few[0] >= a) & (few[0] <= b)], a, b) for a, b in stretches]
            return [Ordered(*part).wide_steps(share) for part in parts]
        asked = [_parts(*stretch) for stretch in stretches]
        for question in asked:
            self._ask(*question)
        return [self._answered(*question).wide_steps(share) for question in asked]

    def quantile_floors(self) -> Floats:
        """Return the distinct values at or below the quantiles at which distributions are compared."""
        last = self.quanta - self.row_quanta
        targets = [step * last // STEPS + 1 for step in range(STEPS + 1)]
        return np.unique(self.at_weights(np.array(targets, dtype=np.int64)))

    def _answered(self, key: Hashable, search: MakeSearch[AnswerT]) -> AnswerT:
        """Return an answer, or ask for it, and for the gaps, which follow sooner or later."""
        if self._ask(key, search):
            self._ask(*_parts(self.low, self.high))
        return cast("AnswerT", self.questions.of(key))

    def _ask(self, key: Hashable, search: MakeSearch[object]) -> bool:
        """Note a search for the next pass; return whether its answer is unknown."""
        self.searches[key] = search
        self.questions.ask([key])
        return key in self.questions.open

    def release(self) -> None:
        """Do nothing: there are no values to free."""


def _parts(low: float, high: float) -> tuple[Hashable, MakeSearch[CellParts]]:
    """Return the question for the smallest and the largest value in each of equal parts of a stretch."""
    return ("parts", low, high), lambda _: Once(partial(CellParts, low, high), same)
