"""Exact order statistics and distinct values of columns that are read in parts.

`ColumnCounts` counts the values of a column by the leading bits of a key that orders them: 18 bits of x - pivot as a
float64, so that neither scale nor offset nor long tails matter. `RankSearch` then knows in which buckets the wanted
ranks are. If the candidates there need too much memory, it counts them by up to 14 further bits (it narrows), once or
more; at last it collects the distinct values of the buckets. Counts and weights are integers: the result is the same
for any parts in any order, and equals that of sorting all values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skedasis._compilation import compiled, has_numba
from skedasis._types import Bools, Floats, Ints
from skedasis.stats.integer_weights import are_whole, integer_sums, quantised
from skedasis.stream import order_statistics_kernels as kernels

MAX_DISTINCT = 1024
"""Up to this many distinct values of a column are counted one by one."""

_LEADING, _FEWEST, _FURTHER, _ALL = 18, 6, 14, 64
"""Bits of the key that are counted first, at least and at most in each narrowing, and in all."""

_CANDIDATE = 24
"""Bytes of a candidate: its value, its number of rows, its weight."""

_MERGED = 100_000
"""Collected candidates are merged when there are this many more."""

SortKeys = NDArray[np.uint64]


# --- first pass -----------------------------------------------------------------------------------


def _bits(x: Floats, pivot: float) -> NDArray[np.int64]:
    """Return the bits of x - pivot."""
    with np.errstate(over="ignore", invalid="ignore"):
        return (x - pivot).view(np.int64)


def _keys(x: Floats, pivot: float) -> SortKeys:
    """Return the keys of finite values."""
    bits = _bits(x, pivot)
    return np.where(bits < 0, ~bits, bits ^ np.int64(-(2**63))).view(np.uint64)


class ColumnCounts:
    """Counts of the values of a column: what one pass over parts of it finds."""

    max_distinct = MAX_DISTINCT

    def __init__(self, pivot: float, quantum: float | None = None) -> None:
        self.pivot, self.quantum = pivot, quantum
        self.n = self.missing = self.infinite = self.weight = 0
        self.low, self.high, self.integer = float("inf"), -float("inf"), True
        self.whole_weights = True
        self.rows = np.zeros(1 << _LEADING, dtype=np.int64)
        self.sums = np.zeros(0 if quantum is None else 1 << _LEADING, dtype=np.int64)
        self._few: _Values | None = _Values.none()

    def add(self, x: Floats, weights: Floats | None = None) -> None:
        """Add the values of a part, NaN where missing, with the weights of its rows."""
        x = np.ascontiguousarray(x, dtype=float)
        whole_weights = self._integers(weights)
        bits, shift = _bits(x, self.pivot), np.uint64(_ALL - _LEADING)
        count = compiled(kernels.count_values) if has_numba() else _count_values
        missing, infinite, whole = count(x, bits, whole_weights, shift, self.rows, self.sums)
        self.missing, self.infinite = self.missing + missing, self.infinite + infinite
        self.n += len(x) - missing
        self.integer = self.integer and bool(whole)
        present = ~np.isnan(x) if missing else None
        if missing < len(x):
            self.low = min(self.low, float(np.fmin.reduce(x)))
            self.high = max(self.high, float(np.fmax.reduce(x)))
        if self.quantum is None:
            self.weight += len(x) - missing
        else:
            some = whole_weights if present is None else whole_weights[present]
            self.weight += int(some.sum())
            self.whole_weights = self.whole_weights and are_whole(some, self.quantum)
        if self._few is not None:
            if present is not None:
                x = x[present]
                whole_weights = whole_weights[present] if len(whole_weights) else whole_weights
            self._few = self._few.with_values(x, whole_weights, MAX_DISTINCT)

    def _integers(self, weights: Floats | None) -> Ints:
        """Return the integer weights, an empty array without weights."""
        if self.quantum is None or weights is None:
            return np.zeros(0, dtype=np.int64)
        return quantised(weights, self.quantum)

    def merge(self, other: ColumnCounts) -> ColumnCounts:
        """Return the counts of both parts. Changes this one."""
        self.rows += other.rows
        self.sums += other.sums
        self.n, self.missing = self.n + other.n, self.missing + other.missing
        self.infinite, self.weight = self.infinite + other.infinite, self.weight + other.weight
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.integer = self.integer and other.integer
        self.whole_weights = self.whole_weights and other.whole_weights
        few = [values for values in (self._few, other._few) if values is not None]
        self._few = _Values.joined(few).limited(MAX_DISTINCT) if len(few) == 2 else None
        return self

    def distinct(self) -> tuple[Floats, Ints, Ints] | None:
        """Return the sorted distinct values with their numbers of rows and integer weights; None if there are many."""
        few = self._few
        if few is None:
            return None
        return few.values, few.rows, few.rows if self.quantum is None else few.weights

    @property
    def bucket_weights(self) -> Ints:
        """The weight of each bucket."""
        return self.rows if self.quantum is None else self.sums

    def __getstate__(self) -> dict[str, object]:
        """Return the state with those buckets only that have values."""
        used = np.flatnonzero(self.rows)
        sums = self.sums[used] if len(self.sums) else self.sums
        return {**vars(self), "rows": (used.astype(np.int32), self.rows[used]), "sums": sums}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Restore the state."""
        vars(self).update(state)
        used, rows = state["rows"]  # pyright: ignore[reportGeneralTypeIssues] - as `__getstate__` has it
        sums = self.sums
        self.rows = np.zeros(1 << _LEADING, dtype=np.int64)
        self.rows[used] = rows
        self.sums = np.zeros(0 if self.quantum is None else 1 << _LEADING, dtype=np.int64)
        if len(self.sums):
            self.sums[used] = sums


def _count_values(
    x: Floats, bits: NDArray[np.int64], weights: Ints, shift: np.uint64, rows: Ints, sums: Ints
) -> tuple[int, int, bool]:
    """Do what the kernel of this name does, without compilation."""
    finite = np.isfinite(x)
    missing = int(np.isnan(x).sum())
    infinite = len(x) - int(finite.sum()) - missing
    if missing or infinite:
        x, bits, weights = x[finite], bits[finite], weights[finite] if len(weights) else weights
    keys = np.where(bits < 0, ~bits, bits ^ np.int64(-(2**63))).view(np.uint64)
    bucket = (keys >> shift).astype(np.int64)
    rows += np.bincount(bucket, minlength=len(rows))
    if len(weights):
        sums += integer_sums(bucket, weights, len(sums))
    # The first values decide for nearly all columns that are not whole.
    whole = bool((x[:100] % 1 == 0).all() and (x % 1 == 0).all())
    return missing, infinite, whole


@dataclass(frozen=True, eq=False)
class _Values:
    """Sorted distinct values, with their numbers of rows and their integer weights (zeros without weights)."""

    values: Floats
    rows: Ints
    weights: Ints

    @classmethod
    def none(cls) -> Self:
        """Return no values."""
        return cls(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    @classmethod
    def of(cls, x: Floats, weights: Ints) -> Self:
        """Return the distinct values of an array; `weights` may be empty."""
        if not len(weights):
            # Sorting values takes a tenth of the time of sorting indices, which weights need.
            values, rows = np.unique(x + 0.0, return_counts=True)
            return cls(values, rows.astype(np.int64), np.zeros(len(values), dtype=np.int64))
        values, code = np.unique(x + 0.0, return_inverse=True)
        rows = np.bincount(code, minlength=len(values)).astype(np.int64)
        return cls(values, rows, integer_sums(code, weights, len(values)))

    def limited(self, most: int) -> Self | None:
        """Return this, or None if there are more values than `most`."""
        return self if len(self.values) <= most else None

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the values of several parts."""
        if not parts:
            return cls.none()
        values, code = np.unique(np.concatenate([p.values for p in parts]), return_inverse=True)
        rows, weights = (
            integer_sums(code, np.concatenate(counts), len(values))
            for counts in ([p.rows for p in parts], [p.weights for p in parts])
        )
        return cls(values, rows, weights)

    def with_values(self, x: Floats, weights: Ints, most: int) -> Self | None:
        """Return the values together with those of a part; None if there are more than `most`."""
        if len(np.unique(x[: 2 * most])) > most:
            return None
        if not len(self.values):
            return self.of(x, weights).limited(most)
        # Nearly all values are known: looking them up is faster than sorting.
        code = np.minimum(np.searchsorted(self.values, x), len(self.values) - 1)
        new = self.values[code] != x
        if new.any():
            found = self.of(x[new], weights[new] if len(weights) else weights)
            merged = self.joined([self, found]).limited(most)
            if merged is None:
                return None
            return merged.with_values(x[~new], weights[~new] if len(weights) else weights, most)
        rows = self.rows + np.bincount(code, minlength=len(self.values))
        if not len(weights):
            return type(self)(self.values, rows, self.weights)
        sums = self.weights + integer_sums(code, weights, len(self.values))
        return type(self)(self.values, rows, sums)


# --- later passes ---------------------------------------------------------------------------------


@dataclass(eq=False)
class Tally:
    """What a pass of a search has found in some parts: counts by further bits, or candidates. Merges in any order.

    `rows` and `sums`, (buckets, 2**14), are numbers and weights of values by the next bits of their keys, in a pass
    that narrows. `found` are candidates, in a pass that collects: at most `most` distinct ones, or none if
    `overflown`.
    """

    rows: Ints | None
    sums: Ints | None
    found: list[_Values]
    most: int = 0
    overflown: bool = False
    _more: int = 0

    def __getstate__(self) -> dict[str, object]:
        """Return the state with counts in the narrowest type that holds them: in a part, most are small."""
        return {**vars(self), "rows": _narrowed(self.rows), "sums": _narrowed(self.sums)}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Restore the state."""
        vars(self).update(state)
        self.rows = None if self.rows is None else self.rows.astype(np.int64)
        self.sums = None if self.sums is None else self.sums.astype(np.int64)

    def put(self, values: _Values) -> None:
        """Add candidates; merge them from time to time, because equal values need no memory."""
        if self.overflown:
            return
        self.found.append(values)
        self._more += len(values.values)
        if self._more > _MERGED and len(self.found) > 1:
            self.found = [_Values.joined(self.found)]
            self._more = 0
            if len(self.found[0].values) > self.most:
                self.found, self.overflown = [], True

    def merge(self, other: Tally) -> None:
        """Add what another tally has found."""
        if self.rows is not None and other.rows is not None:
            self.rows += other.rows
        if self.sums is not None and other.sums is not None:
            self.sums += other.sums
        self.overflown |= other.overflown
        if self.overflown:
            self.found = []
        for values in other.found:
            self.put(values)


def _narrowed(counts: Ints | None) -> NDArray[np.integer] | None:
    """Return counts, which are not negative, in the narrowest type that holds them."""
    if counts is None:
        return None
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


class RankSearch:
    """The search for the values at which the cumulative weight of a sorted column first reaches given targets."""

    def __init__(self, counts: ColumnCounts, targets: Ints, budget: int) -> None:
        self.pivot, self.quantum, self.targets = counts.pivot, counts.quantum, targets
        self._budget, self._bits = budget, _LEADING
        self._overflown = False
        self._found: _Values | None = None
        weights = counts.bucket_weights
        self._choose(
            np.arange(1 << _LEADING, dtype=np.uint64),
            counts.rows,
            weights,
            np.cumsum(weights),
            np.zeros(1 << _LEADING, dtype=bool),
        )

    def _choose(
        self, prefixes: SortKeys, rows: Ints, weights: Ints, reached: Ints, tied: Bools
    ) -> None:
        """Keep those buckets that hold a target."""
        wanted = np.searchsorted(reached, self.targets, side="left")
        some = np.unique(np.minimum(wanted, len(reached) - 1))
        self._prefixes, self._rows, self._weights = prefixes[some], rows[some], weights[some]
        self._before, self._tied = (reached - weights)[some], tied[some]
        vars(self).pop("_wanted", None)

    @cached_property
    def _wanted(self) -> Bools:
        """The buckets of the leading bits that hold a target."""
        wanted = np.zeros(1 << _LEADING, dtype=bool)
        wanted[(self._prefixes >> np.uint64(self._bits - _LEADING)).astype(np.int64)] = True
        return wanted

    @property
    def narrows(self) -> bool:
        """Whether the next pass counts by further bits, because the candidates need too much memory."""
        if self._bits == _ALL or self._found is not None:
            return False
        return self._overflown or _CANDIDATE * int(self._rows[~self._tied].sum()) > self._budget

    @property
    def found(self) -> bool:
        """Whether the candidates have been collected."""
        return self._found is not None

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the table of wanted buckets, which follows from the prefixes."""
        return {name: value for name, value in vars(self).items() if name != "_wanted"}

    def tally(self) -> Tally:
        if not self.narrows:
            return Tally(None, None, [], max(4 * self._budget // _CANDIDATE, _MERGED))
        shape = len(self._prefixes), 1 << self._further
        sums = None if self.quantum is None else np.zeros(shape, dtype=np.int64)
        return Tally(np.zeros(shape, dtype=np.int64), sums, [])

    @property
    def _further(self) -> int:
        """Number of bits of the next narrowing: as many as their counts fit the budget, within limits."""
        counters = len(self._prefixes) * (8 if self.quantum is None else 16)
        affordable = (self._budget // counters).bit_length() - 1
        return min(max(affordable, _FEWEST), _FURTHER, _ALL - self._bits)

    def add(self, tally: Tally, x: Floats, weights: Floats | None = None) -> None:
        x = np.ascontiguousarray(x, dtype=float)
        some = self._candidates(x)
        values = x[some]
        keys = _keys(values, self.pivot)
        # The leading 18 bits may agree with a prefix of which further bits are known.
        slot = np.searchsorted(self._prefixes, keys >> np.uint64(_ALL - self._bits))
        slot = np.minimum(slot, len(self._prefixes) - 1)
        inside = self._prefixes[slot] == keys >> np.uint64(_ALL - self._bits)
        if not inside.all():
            values, keys, slot, some = values[inside], keys[inside], slot[inside], some[inside]
        integers = np.zeros(0, dtype=np.int64)
        if self.quantum is not None and weights is not None:
            integers = quantised(weights[some], self.quantum)
        if tally.rows is None:
            tally.put(_Values.of(values, integers))
            return
        size = 1 << self._further
        last = (keys >> np.uint64(_ALL - self._bits - self._further)) & np.uint64(size - 1)
        index = slot * size + last.astype(np.int64)
        tally.rows += np.bincount(index, minlength=tally.rows.size).reshape(tally.rows.shape)
        if tally.sums is not None:
            tally.sums += integer_sums(index, integers, tally.sums.size).reshape(tally.sums.shape)

    def _candidates(self, x: Floats) -> Ints:
        """Return the indices of the values whose leading bits are those of a wanted bucket."""
        if has_numba():
            found = np.empty(len(x), dtype=np.int64)
            shift = np.uint64(_ALL - _LEADING)
            find = compiled(kernels.find_candidates)
            return found[: find(x, _bits(x, self.pivot), shift, self._wanted, found)]
        bucket = (_keys(x, self.pivot) >> np.uint64(_ALL - _LEADING)).astype(np.int64)
        return np.flatnonzero(self._wanted[bucket] & np.isfinite(x))

    def take(self, tally: Tally) -> None:
        """Take the tally of all parts: choose among the finer buckets, or note the candidates."""
        if tally.rows is None:
            self._overflown = tally.overflown
            self._found = None if tally.overflown else _Values.joined(tally.found)
            return
        self._overflown = False
        size, further = 1 << self._further, self._further
        weights = tally.rows if tally.sums is None else tally.sums
        reached = self._before[:, None] + np.cumsum(weights, axis=1)
        prefixes = (self._prefixes[:, None] << np.uint64(further)) + np.arange(
            size, dtype=np.uint64
        )
        self._bits += further
        # A bucket of which one part has most of the values has few distinct ones, of which one each is collected. If
        # that is wrong, the collection overflows.
        tied = 2 * tally.rows > self._rows[:, None]
        # A target is reached within its bucket, so that the buckets between need not be known.
        used = tally.rows.reshape(-1) > 0
        self._choose(
            prefixes.reshape(-1)[used],
            tally.rows.reshape(-1)[used],
            weights.reshape(-1)[used],
            reached.reshape(-1)[used],
            tied.reshape(-1)[used],
        )

    def answer(self) -> Floats:
        """Return the value of each target, in the order of the targets; zeros are positive."""
        found = self._found
        if found is None:
            raise TypeError("the candidates have not been collected")
        weights = found.rows if self.quantum is None else found.weights
        reached = np.cumsum(weights)
        # The weight of values that were not collected, before each bucket.
        skipped = self._before - (np.cumsum(self._weights) - self._weights)
        bucket = np.searchsorted(self._before, self.targets, side="left") - 1
        index = np.searchsorted(reached, self.targets - skipped[np.maximum(bucket, 0)], side="left")
        return found.values[np.minimum(index, len(found.values) - 1)]
