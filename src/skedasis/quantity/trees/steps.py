"""The steps of rows down large trees, and where they end.

Rows step side by side (`settle`): each step waits for the memory, and many can wait at a time. Where a step leads is
looked up, not decided: a processor guesses decisions, and those of trees it guesses wrong every other time, which makes
a step three times as long.

Plain Python, which `jit.py` compiles. All arrays are contiguous. A node is four numbers of `steps`, a row `width`
numbers of `codes`, each in one run. Places are unsigned: signed ones would be checked for counting from the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
Trees = tuple[Array, Array, Array]
"""`steps`, uint32, (4 · nodes,); `listed`, uint8, the answers of tests of categories, 1 for right; and `roots`, int64,
(trees + 1,)."""

TEST, BOUND, LEFT, RIGHT = 0, 1, 2, 3
"""Of a node: twice its column, and one more where missing numbers go left; up to which code (and one more there) is
left; and how far away its branches are, 0 in leaves."""
MISSING = -1
"""The code of a missing number here: taken as unsigned it is above all bounds, and with one more below them."""
NAMED = 2**31
"""From this bound on, tests are of categories: what is above is where their answers are listed."""
WORD = 2**32 - 1
SIDE = 512
"""Rows that step side by side: what is noted of them stays in the fastest cache."""
MANY = 64
"""With fewer nodes for each row it pays to look at a whole tree first."""
HELPERS = ("turn", "touch", "settle")
"""Functions that kernels call: they are compiled into them."""


def visit(
    left: Array,
    right: Array,
    parent: Array,
    depth: Array,
    size: Array,
    is_left: Array,
    position: Array,
) -> None:
    """Fill in the order of visits, for nodes that stand before their children.

    Parameters
    ----------
    left, right : int32, (nodes,)
        Negative in leaves.
    parent, depth, size, is_left : int32, (nodes,)
        As in `Shape`, but for the nodes where they stand.
    position : int32, (nodes,)
        Their places in the order of visits; that of roots is given.
    """
    for q in range(len(left)):
        size[q] = 1
        if left[q] >= 0:
            parent[left[q]], parent[right[q]] = q, q
            depth[left[q]], depth[right[q]] = depth[q] + 1, depth[q] + 1
            is_left[left[q]] = 1
    for q in range(len(left) - 1, -1, -1):
        if left[q] >= 0:
            size[q] = 1 + size[left[q]] + size[right[q]]
    for q in range(len(left)):
        if left[q] >= 0:
            position[left[q]] = position[q] + 1
            position[right[q]] = position[q] + 1 + size[left[q]]


def pack(column: Array, test: Array, size: Array, bound: Array, left: Array, steps: Array) -> None:
    """Fill in `steps`.

    Parameters
    ----------
    column, test, size : int32, (nodes,)
        As in `Shape`.
    bound : uint32, (tests,)
    left : uint8, (tests,)
        1 where missing numbers go left.
    steps : uint32, (4 · nodes,)
    """
    for q in range(len(test)):
        r = test[q]
        if r < 0:
            steps[4 * q + TEST], steps[4 * q + BOUND] = 0, 0
            steps[4 * q + LEFT], steps[4 * q + RIGHT] = 0, 0
        else:
            steps[4 * q + TEST], steps[4 * q + BOUND] = 2 * column[q] + left[r], bound[r]
            steps[4 * q + LEFT], steps[4 * q + RIGHT] = 1, 1 + size[q + 1]


def turn(test: int, bound: int, code: int, listed: Array) -> int:
    """Return 1 for right, 0 for left."""
    if bound >= NAMED:
        return int(listed[bound - NAMED + code])
    return int(((code + (test & 1)) & WORD) > bound)


def touch(steps: Array, first: int, last: int) -> int:
    """Read a tree from its first node to its last: memory in order comes many times faster than in leaps."""
    seen = 0
    for x in range(4 * first, 4 * last, 16):
        seen |= int(steps[x])
    return seen


def settle(
    trees: Trees,
    codes: Array,
    width: int,
    who: Array,
    at: Array,
    going: Array,
) -> None:
    """Walk until all stand in leaves.

    Parameters
    ----------
    trees : Trees
    codes : int32, (n · width,)
    who : uint32
        The rows that walk.
    at : uint32
        Where they start, and then where they end.
    going : uint32
        Room.
    """
    steps, listed = trees[0], trees[1]
    left = 0
    for j in range(len(who)):
        going[left] = j
        left += int(steps[4 * int(at[j]) + RIGHT] > 0)
    while left > 0:
        still = 0
        for a in range(left):
            j = int(going[a])
            q = int(at[j])
            test = int(steps[4 * q + TEST])
            code = int(codes[int(who[j]) * width + (test >> 1)])
            q += int(steps[4 * q + LEFT + turn(test, int(steps[4 * q + BOUND]), code, listed)])
            at[j] = q
            going[still] = j
            still += int(steps[4 * q + RIGHT] > 0)
        left = still


def advance(
    trees: Trees,
    codes: Array,
    width: int,
    until: int,
    who: Array,
    at: Array,
    going: Array,
) -> None:
    """Walk as in `settle`, but no further than to tests of one column."""
    steps, listed = trees[0], trees[1]
    left = 0
    for j in range(len(who)):
        q = int(at[j])
        going[left] = j
        left += int(steps[4 * q + RIGHT] > 0) & int(int(steps[4 * q + TEST]) >> 1 != until)
    while left > 0:
        still = 0
        for a in range(left):
            j = int(going[a])
            q = int(at[j])
            test = int(steps[4 * q + TEST])
            code = int(codes[int(who[j]) * width + (test >> 1)])
            q += int(steps[4 * q + LEFT + turn(test, int(steps[4 * q + BOUND]), code, listed)])
            at[j] = q
            going[still] = j
            still += int(steps[4 * q + RIGHT] > 0) & int(int(steps[4 * q + TEST]) >> 1 != until)
        left = still


def reach(trees: Trees, codes: Array, width: int, who: Array, leaves: Array) -> int:
    """Fill in the leaf that each row reaches in each tree, (trees, n).

    Parameters
    ----------
    trees, codes, width
        As in `settle`.
    who : uint32, (n,)
        All rows.
    leaves : uint32, (trees, n)
    """
    steps, roots = trees[0], trees[2]
    going = np.empty(SIDE, np.uint32)
    seen = 0
    for t in range(len(roots) - 1):
        if len(who) * MANY > roots[t + 1] - roots[t]:
            seen |= touch(steps, roots[t], roots[t + 1])
        leaves[t, :] = roots[t]
        for c in range(0, len(who), SIDE):
            end = min(c + SIDE, len(who))
            settle(trees, codes, width, who[c:end], leaves[t, c:end], going)
    return seen


def own(value: Array, leaves: Array, out: Array) -> None:
    """Add the values of the leaves that rows reach, (n,)."""
    for t in range(len(leaves)):
        for i in range(len(out)):
            out[i] += value[leaves[t, i]]
