"""Conditioning features in codes: numbers in quantile groups, levels as they are, and the cuts that divide the codes.

A conditioning feature is one that the effect of another feature may depend on. The search for regions
(`skedasis.stats.regions`) sums residuals by its codes, which are made once for all features and all nodes of a tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints

N_CODES = 32
"""Number of quantile groups of a numeric feature with more values."""

MOST_LEVELS = 254
"""Largest number of levels with a code of their own; the others share one."""

LEVEL_ROWS = 10
"""Least number of rows of a level with a code of its own."""

Codes: TypeAlias = NDArray[np.uint8]
Rounding: TypeAlias = Callable[[float, float], float]
"""Returns the roundest value v with low <= v < high."""


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A conditioning feature, coded.

    `codes`, (n,), ascend with the values of a feature with an order (`ordered`: cuts respect it). There are `size` of
    them, and one more, `size`, of rows without a value, if there are any (`missing`). For numbers `values`, (n,), are
    those of the rows, NaN where missing, `upper`, (size,), the largest of each code, and `rounding` is how thresholds
    are rounded. For levels without an order `rare` says whether rare ones share the last code.
    """

    codes: Codes
    size: int
    missing: bool = False
    ordered: bool = True
    values: Floats | None = None
    upper: Floats | None = None
    rare: bool = False
    rounding: Rounding | None = None

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def width(self) -> int:
        """Return the number of codes, with that of missing values."""
        return self.size + self.missing

    def between(self, low: float, high: float) -> float:
        """Return the roundest threshold t with ``low <= t < high``."""
        return (roundest if self.rounding is None else self.rounding)(low, high)


@dataclass(frozen=True, eq=False)
class Cut:
    """A division of the rows by a conditioning feature, the index `column`: which rows go left.

    Of levels those go left whose codes are in `left`, (width,), and `threshold` is NaN. Of numbers those up to
    `threshold`; of `left` only the code of missing values is used.
    """

    column: int
    threshold: float
    left: Bools

    def holds(self, coded: CodedColumn, rows: Ints) -> Bools:
        """Return which of the rows go left, (len(rows),)."""
        if coded.values is None:
            return self.left[coded.codes[rows]]
        below = coded.values[rows] <= self.threshold
        if coded.missing and self.left[coded.size]:
            below |= np.isnan(coded.values[rows])
        return below


def code_numbers(
    x: Floats, weights: Floats | None = None, *, rounding: Rounding | None = None
) -> CodedColumn:
    """Code a numeric feature: its values if there are at most 32, else 32 quantile groups. One sort.

    `x`, (n,), is NaN where missing, and `weights`, (n,), are frequencies. Thresholds are rounded to the fewest decimal
    digits, unless `rounding` is given.
    """
    codes, upper, missing = quantile_codes(x, N_CODES, weights)
    return CodedColumn(codes.astype(np.uint8), len(upper), missing, True, x, upper, False, rounding)


def quantile_codes(
    x: Floats, size: int, weights: Floats | None = None, *, nested: bool = False
) -> tuple[NDArray[np.uint16], Floats, bool]:
    """Return codes of quantile groups, the largest value of each, and whether values are missing.

    Missing values of `x`, (n,), NaN, get the code after the last of `size` groups; a feature with at most as many
    values has a group for each. `nested` keeps empty groups (of tied values), so that groups of neighbouring codes are
    quantile groups, too.
    """
    order = np.argsort(x)
    ordered = x[order]
    n = len(x)
    missing = bool(n and np.isnan(ordered[-1]))
    if missing:
        n = int(np.searchsorted(ordered, np.nan))
    present = ordered[:n]
    upper = _quantiles(present, order[:n], size, weights)
    if not nested:
        upper = np.unique(upper)
        if len(upper) < size or n <= size:
            distinct = (
                present[np.concatenate([present[1:] != present[:-1], [True]])] if n else present
            )
            if len(distinct) <= size:
                upper = distinct
    ends = np.searchsorted(present, upper, side="right")
    counts = np.diff(ends, prepend=0)
    if missing:
        counts = np.append(counts, len(x) - n)
    codes = np.empty(len(x), dtype=np.uint16)
    codes[order] = np.repeat(np.arange(len(counts), dtype=np.uint16), counts)
    return codes, upper, missing


def _quantiles(ordered: Floats, order: Ints, size: int, weights: Floats | None) -> Floats:
    """Return the values at the ends of `size` groups of equal weight (R type 1), repeated where values are tied."""
    n = len(ordered)
    if n == 0:
        return ordered
    steps = np.arange(1, size + 1)
    if weights is None:
        return ordered[(n * steps + size - 1) // size - 1]
    total = np.cumsum(weights[order])
    # Sums of weights are rounded: a boundary that a sum misses by rounding counts as reached.
    wanted = total[-1] * steps / size * (1 - 1e-12)
    return ordered[np.minimum(np.searchsorted(total, wanted), n - 1)]


def code_levels(codes: Ints, size: int, *, ordered: bool) -> tuple[CodedColumn, Ints]:
    """Code a feature by its levels, -1 where missing; return also the code of each level, (size,).

    Rare levels without an order share one code; with an order neighbouring ones do, if they are more than 254.
    """
    count = np.bincount(codes[codes >= 0], minlength=size)[:size]
    rare = False
    if ordered:
        below = np.cumsum(count) - count
        code_of = np.arange(size)
        if size > MOST_LEVELS:
            code_of = (below * MOST_LEVELS) // max(int(count.sum()), 1)
            code_of = np.unique(code_of, return_inverse=True)[1]
        n_codes = int(code_of.max(initial=-1)) + 1
    else:
        frequent = np.flatnonzero(count >= LEVEL_ROWS)
        if len(frequent) > MOST_LEVELS - 1:
            frequent = np.sort(
                frequent[np.argsort(-count[frequent], kind="stable")][: MOST_LEVELS - 1]
            )
        code_of = np.full(size, len(frequent))
        code_of[frequent] = np.arange(len(frequent))
        rare = len(frequent) < size
        n_codes = len(frequent) + rare
    missing = bool((codes < 0).any())
    table = np.append(code_of, n_codes)  # index -1 is a missing level
    coded = table[codes].astype(np.uint8)
    return CodedColumn(coded, n_codes, missing, ordered, rare=rare), code_of


def roundest(low: float, high: float) -> float:
    """Return the number with the fewest digits in ``[low, high)``."""
    if not high > low:
        return low
    if low <= 0.0 < high:
        return 0.0
    largest = max(abs(low), abs(high))
    start = math.floor(math.log10(largest)) + 1
    for power in range(start, start - 18, -1):
        unit = 10.0**power
        for count in (math.ceil(low / unit), math.ceil(low / unit) + 1):
            value = float(f"{count * unit:.15g}")
            if low <= value < high:
                return value
    return low
