"""Columns as codes: what trees see of a value is between which of their thresholds it lies, or which category it is.

A test of a node then compares small whole numbers, and all values that no tree tells apart are one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints
from skedasis.quantity.trees.ensemble import Ensemble
from skedasis.stats.grid import locate

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Tests:
    """The different tests of one column, those of numbers in the order of their thresholds.

    Parameters
    ----------
    thresholds : ndarray of float, shape (T,)
        All of them, sorted. A number's code is how many lie below it, so ``x <= thresholds[k]`` where ``code <= k``.
    cut : ndarray of int32, shape (R,)
        Of each test: codes up to this one go left.
    missing_left : ndarray of bool, shape (R,)
        Whether a missing value goes left, too.
    categories : ndarray of int, shape (C,), optional
        The categories that are known, where the column is tested for these. Their codes are their places here.
    among : ndarray of bool, shape (R, C), optional
        Which categories go left in each test.
    single : bool
        Whether numbers are rounded to single precision first.
    """

    thresholds: Floats
    cut: Codes
    missing_left: Bools
    categories: Ints | None = None
    among: Bools | None = None
    single: bool = False

    def __len__(self) -> int:
        return len(self.cut)

    @property
    def missing(self) -> int:
        """Return the code of a missing value, and of an unknown category: one more than all others."""
        return len(self.thresholds) + 1 if self.categories is None else len(self.categories)

    def codes(self, x: Floats) -> Codes:
        """Return the codes of values, of any shape; NaN is missing."""
        if self.categories is not None:
            return self._places(x)
        flat = np.ascontiguousarray(x, dtype=float).reshape(-1)
        if self.single:
            with np.errstate(over="ignore"):
                flat = flat.astype(np.float32).astype(float)
        absent = np.isnan(flat)
        some = bool(absent.any())
        known = np.where(absent, 0.0, flat) if some else flat
        t = self.thresholds
        code = (
            locate(t, known, float(t[0]), float(t[-1]), "right") if len(t) else np.zeros(len(flat))
        )
        code = code.astype(np.int32)
        if some:
            code[absent] = self.missing
        return code.reshape(x.shape)

    def _places(self, x: Floats) -> Codes:
        known = self.categories
        if known is None or len(known) == 0:
            return np.full(x.shape, self.missing, np.int32)
        # A fraction stands for the category that it is cut down to, as models read it.
        with np.errstate(invalid="ignore"):
            whole = np.trunc(np.where(np.isfinite(x), x, -1.0))
        place = np.minimum(np.searchsorted(known, whole), len(known) - 1)
        there = (known[place] == whole) & ~np.isnan(x)
        return np.where(there, place, self.missing).astype(np.int32)

    def passes(self, codes: Codes) -> Bools:
        """Return which tests values of these codes pass to the left, (R, number of codes)."""
        codes = np.asarray(codes)
        missing = codes == self.missing
        if self.among is None:
            left = codes[None, :] <= self.cut[:, None]
        else:
            left = self.among[:, np.minimum(codes, self.missing - 1)] if self.missing else False
            left = left & ~missing
        return np.where(missing[None, :], self.missing_left[:, None], left)


def tests_of(ensemble: Ensemble) -> tuple[dict[int, Tests], NDArray[np.int32]]:
    """Return the tests of each column that is tested at all, and each node's place among its column's tests.

    Returns
    -------
    dict of int to Tests
    ndarray of int32, shape (nodes,)
        -1 in leaves.
    """
    place = np.full(len(ensemble.feature), -1, np.int32)
    inner = np.flatnonzero(ensemble.feature >= 0)
    column = ensemble.feature[inner]
    # Numbers this small are sorted by their digits, in a tenth of the time.
    order = inner[
        np.argsort(column.astype(np.int16 if ensemble.columns < 2**15 else np.int32), kind="stable")
    ]
    counts = np.bincount(column, minlength=ensemble.columns)
    found: dict[int, Tests] = {}
    for j, nodes in enumerate(np.split(order, np.cumsum(counts)[:-1])):
        if len(nodes) == 0:
            continue
        named = (ensemble.category[nodes] >= 0).any()
        made = _of_categories(ensemble, j, nodes) if named else _of_numbers(ensemble, nodes)
        found[j], place[nodes] = made
    return found, place


def _of_numbers(ensemble: Ensemble, nodes: Ints) -> tuple[Tests, Ints]:
    thresholds, cut = np.unique(ensemble.threshold[nodes], return_inverse=True)
    both = cut * 2 + ensemble.missing_left[nodes]
    there = np.zeros(2 * len(thresholds), bool)
    there[both] = True
    different = np.flatnonzero(there)
    cuts, missing_left = (different // 2).astype(np.int32), different % 2 == 1
    rank = np.cumsum(there) - 1
    return Tests(thresholds, cuts, missing_left, single=ensemble.single), rank[both]


def _of_categories(ensemble: Ensemble, j: int, nodes: Ints) -> tuple[Tests, Ints]:
    both = ensemble.category[nodes].astype(np.int64) * 2 + ensemble.missing_left[nodes]
    different, place = np.unique(both, return_inverse=True)
    sets = [np.asarray(ensemble.sets[k]) for k in different // 2]
    known = ensemble.known.get(j)
    categories = np.unique(np.concatenate(sets)) if known is None else np.unique(known)
    among = np.array([np.isin(categories, some) for some in sets])
    blank = np.zeros(len(different), np.int32)
    return Tests(np.zeros(0), blank, different % 2 == 1, categories.astype(np.int64), among), place
