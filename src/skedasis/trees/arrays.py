"""Types of the arrays of trees. numba compiles a kernel for exactly these dtypes."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints

ThresholdCodes: TypeAlias = NDArray[np.int32]
"""Codes of values of a column: the interval of the trees' thresholds, or the category."""
Indices: TypeAlias = NDArray[np.int32]
"""Indices of nodes, columns or tests; -1 for none."""
Integers: TypeAlias = Indices | Ints
"""Numbers as a library's model has them."""
Words: TypeAlias = NDArray[np.uint64]
"""Sets of rows as bits, 64 rows to a word."""
Unsigned: TypeAlias = NDArray[np.uint32]
"""Indices of rows or leaves in the traversal, and its nodes."""
Flags: TypeAlias = NDArray[np.uint8]
"""Results of tests: 0 or 1."""
Runs: TypeAlias = tuple[Ints, Indices, Indices]
"""The runs of points that lead to leaves: the leaf, the first point and the one after the last, sorted by leaf."""
GridCorners: TypeAlias = tuple[Indices, Indices, Floats]
"""The combinations of points at which leaves begin or cease to be reached; see `TreeLayout.corners`."""
NodeArrays: TypeAlias = tuple[Indices, Indices, Indices, Indices, Indices]
"""`parent`, `depth`, `size`, `is_left` and `test` of `TreeLayout`, (nodes,) each."""
Trees: TypeAlias = tuple[Unsigned, Flags, Ints]
"""`steps`, uint32, (4 · nodes,); `listed`, uint8, the results of tests of categories, 1 for right; and `roots`, int64,
(trees + 1,)."""
TestedColumn: TypeAlias = tuple[int, Indices, Indices, Ints]
"""A column; the nodes that test it, and the first nodes after their branches; and the index of each tree's first such
node, (trees + 1,)."""
