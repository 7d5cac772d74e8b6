"""numba kernels over the rows of a column: their cells, their order statistics, and their sums by cell.

Each kernel passes over the rows once, where NumPy needs an array for every step. All of them add row by row in the
order of the rows and round after every operation, as `np.bincount` does, so that their results have the same bits as
those of the NumPy code that they replace. For this reason they must not be compiled with `fastmath`.

The kernels are plain Python, compiled by `skedasis._compilation`. All arrays are contiguous.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints

COMPILED = "sums over many rows", 3
"""What the kernels are for, and the seconds of one processor that compiling all of them takes."""


def locate(
    x: Floats,
    inner: Floats,
    within: tuple[float, float, float],
    table: NDArray[np.int32],
    left: bool,
    limited: bool,
    out: Ints,
) -> None:
    """Fill int64 `out`, (n,), with the cell of each value x: the number of inner edges, increasing, below it.

    `within` are the ends of the range that is divided into buckets, and buckets per unit; the int32 `table`, (buckets
    + 2,), has the number of inner edges in lower buckets. `left`: cells include their left edge, so that an edge equal
    to the value counts. `limited`: NaN and values outside the range have no cell: -1.
    """
    low, high, scale = within
    for i in range(len(x)):
        v = x[i]
        if v >= low and v <= high:
            bucket = int((v - low) * scale)
        elif limited:
            out[i] = -1
            continue
        else:
            bucket = 0 if v < low else len(table) - 2
        # Edges in lower buckets are below the value, those in higher ones above it.
        k, end = table[bucket], table[bucket + 1]
        while k < end:
            middle = (k + end) >> 1
            below = inner[middle] <= v if left else inner[middle] < v
            if below:
                k = middle + 1
            else:
                end = middle
        out[i] = k


def count_buckets(x: Floats, low: float, scale: float, out: Ints) -> None:
    """Count the values in each bucket, (buckets + 1,)."""
    for i in range(len(x)):
        out[int((x[i] - low) * scale)] += 1


def select_buckets(
    x: Floats, low: float, scale: float, needed: NDArray[np.uint8], out: Floats
) -> None:
    """Copy the values of the buckets where `needed` is 1 to `out`, which has room for one more."""
    k = 0
    for i in range(len(x)):
        # Written for every value and kept for the needed ones only, so that nothing depends on a branch.
        out[k] = x[i]
        k += int(needed[int((x[i] - low) * scale)])


def add_rows(
    cell: Ints, values: Floats, other: Floats | None, weights: Floats | None, out: Floats
) -> bool:
    """Add count, weight, squared weight and the weighted values by cell; return False if a cell does not exist.

    `out`, (cells, 5), has sums of 1, of the weights, of their squares, of `values` and of `other`, of the same rows.
    Without weights the second and third are not written to.
    """
    cells = len(out)
    for i in range(len(cell)):
        k = cell[i]
        if k < 0 or k >= cells:
            return False
        out[k, 0] += 1.0
        if weights is None:
            out[k, 3] += values[i]
            if other is not None:
                out[k, 4] += other[i]
        else:
            w = weights[i]
            out[k, 1] += w
            out[k, 2] += w * w
            out[k, 3] += w * values[i]
            if other is not None:
                out[k, 4] += w * other[i]
    return True


def add_deviations(
    cell: Ints,
    values: Floats,
    other: Floats | None,
    weights: Floats | None,
    mean: Floats,
    out: Floats,
) -> None:
    """Add the weighted deviations from the cells' means, and their squares, by cell."""
    for i in range(len(cell)):
        k = cell[i]
        deviation = values[i] - mean[k, 0]
        if weights is None:
            out[k, 0] += deviation
            out[k, 1] += deviation * deviation
        else:
            out[k, 0] += weights[i] * deviation
            out[k, 1] += (deviation * deviation) * weights[i]
        if other is not None:
            deviation = other[i] - mean[k, 1]
            if weights is None:
                out[k, 2] += deviation
                out[k, 3] += deviation * deviation
            else:
                out[k, 2] += weights[i] * deviation
                out[k, 3] += (deviation * deviation) * weights[i]
