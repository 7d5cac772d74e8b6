"""numba kernels of tree traversal: the leaf of each row, with one column replaced or left open.

Many rows are advanced in turn, one step each (`settle`), because each step waits for memory and these waits overlap.
The next node is computed without a branch instruction: the processor would mispredict half of the tests of a tree,
which makes a step three times as long.

With another value in a column, a row leaves its path only at a test of this column. `outline` computes for each node
the interval of the column's codes that the tests above it allow; it is the same for whole parts of the tree, its
*stretches*. Most rows are found to stay in their leaf without a step; the others start at the first test with another
result.

The kernels are plain Python, compiled by `skedasis._compilation`. All arrays are contiguous. A node is four
numbers of `steps`, a row `width` numbers of `codes`. Indices are unsigned, because signed ones would be checked for
counting from the end.
"""

from __future__ import annotations

import numpy as np

from skedasis._types import Floats
from skedasis.trees.arrays import Flags, Indices, TestedColumn, ThresholdCodes, Trees, Unsigned

TEST, BOUND, LEFT, RIGHT = 0, 1, 2, 3
"""The numbers of a node in `steps`: twice its column, plus one if missing numbers go left; the largest code that goes
left, plus one in this case; and the distances to its left and right child, 0 in leaves."""

MISSING = -1
"""The code of missing numbers: as an unsigned number it is above all bounds, and after adding one, 0, below them."""

NAMED = 2**31
"""Bounds from here on belong to tests of categories: the remainder is the index of their results in `listed`."""

WORD = 2**32 - 1

SIDE = 512
"""Number of rows advanced in turn: their state fits into the fastest cache."""

MANY = 64
"""With fewer nodes per row than this, it pays to process a whole tree first."""

LOW, HIGH, LOWER, UPPER, TOP = 0, 1, 2, 3, 4
"""The numbers of a stretch: codes above LOW and up to HIGH lead there; the tests that set these bounds, -1 for none;
and
the topmost test of the column."""

MOST = 2**31 - 1

COMPILED = "effects of deep trees", 10
"""What the kernels are for, and the seconds of one processor that compiling all of them takes."""

HELPERS = (
    "turn",
    "touch",
    "settle",
    "advance",
    "narrowed",
    "outline",
    "prepared",
    "climbed",
    "departs",
    "movable",
    "moved",
    "split",
    "pile",
    "started",
)
"""Functions that the kernels call; they are compiled into them."""


# --- layout of the trees --------------------------------------------------------------------------


def pack(
    column: Indices, test: Indices, size: Indices, bound: Unsigned, left: Flags, steps: Unsigned
) -> None:
    """Fill in `steps`, uint32 (4 · nodes,).

    `column`, `test` and `size` are int32 (nodes,), as in `TreeLayout`; `bound`, uint32 (tests,), and `left`, uint8
    (tests,), 1 where missing numbers go left.
    """
    for q in range(len(test)):
        r = test[q]
        if r < 0:
            steps[4 * q + TEST], steps[4 * q + BOUND] = 0, 0
            steps[4 * q + LEFT], steps[4 * q + RIGHT] = 0, 0
        else:
            steps[4 * q + TEST], steps[4 * q + BOUND] = 2 * column[q] + left[r], bound[r]
            steps[4 * q + LEFT], steps[4 * q + RIGHT] = 1, 1 + size[q + 1]


def turn(test: int, bound: int, code: int, listed: Flags) -> int:
    """Return the result of a test: 1 for right, 0 for left."""
    if bound >= NAMED:
        return int(listed[bound - NAMED + code])
    return int(((code + (test & 1)) & WORD) > bound)


def touch(steps: Unsigned, first: int, last: int) -> int:
    """Read a tree sequentially into the cache, which is many times faster than in random order."""
    seen = 0
    for x in range(4 * first, 4 * last, 16):
        seen |= int(steps[x])
    return seen


# --- traversal ------------------------------------------------------------------------------------


def settle(
    trees: Trees, codes: ThresholdCodes, width: int, who: Unsigned, at: Unsigned, going: Unsigned
) -> None:
    """Advance rows until all have reached a leaf.

    `codes` are int32 (n · width,). `who`, uint32, are the rows to advance, `at` their first nodes, replaced by their
    leaves, and `going` working memory: the rows that have not reached a leaf.
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
    codes: ThresholdCodes,
    width: int,
    until: int,
    who: Unsigned,
    at: Unsigned,
    going: Unsigned,
) -> None:
    """Advance rows as in `settle`, but stop at tests of the column `until`."""
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


def reach(trees: Trees, codes: ThresholdCodes, width: int, who: Unsigned, leaves: Unsigned) -> int:
    """Fill in the leaf that each row reaches in each tree, uint32 (trees, n); `who`, uint32 (n,), are all rows."""
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


def own(value: Floats, leaves: Unsigned, out: Floats) -> None:
    """Add the values of the leaves that rows reach, (n,)."""
    for t in range(len(leaves)):
        for i in range(len(out)):
            out[i] += value[leaves[t, i]]


# --- stretches of the codes of one column ---------------------------------------------------------


def narrowed(stretch: Indices, above: int, q: int, bound: int, left: int, made: int) -> None:
    """Store the stretch that remains of the stretch `above` on one side of the test of node q."""
    low, high = max(stretch[above, LOW], MISSING), stretch[above, HIGH]
    lower, upper = stretch[above, LOWER], stretch[above, UPPER]
    # A test that excludes no remaining code sets no bound. Missing numbers may pass combinations of tests that no
    # number passes: then the stretch is empty, and all numbers start at the first test with another result.
    if bound >= NAMED:
        low, high = MOST, MISSING
    elif left == 1 and bound < high:
        high, upper = bound, q
    elif left == 0 and bound > low:
        low, lower = bound, q
    stretch[made, LOW], stretch[made, HIGH] = low, high
    stretch[made, LOWER], stretch[made, UPPER] = lower, upper
    stretch[made, TOP] = q if stretch[above, TOP] < 0 else stretch[above, TOP]


def outline(
    trees: Trees,
    tested: Indices,
    behind: Indices,
    first: int,
    last: int,
    stretch: Indices,
    region: Indices,
) -> None:
    """Fill in, for the nodes of a tree, the stretch of a column's codes that the tests above them allow."""
    steps = trees[0]
    stretch[0, LOW], stretch[0, HIGH], stretch[0, TOP] = MISSING - 1, MOST, -1
    stretch[0, LOWER], stretch[0, UPPER] = -1, -1
    for y in range(last - first):
        region[y] = 0
    for x in range(len(tested)):
        q, made = int(tested[x]), 2 * x + 1
        above, right = int(region[q - first]), q + int(steps[4 * q + RIGHT])
        bound = int(steps[4 * q + BOUND]) - (int(steps[4 * q + TEST]) & 1)
        narrowed(stretch, above, q, bound, 1, made)
        narrowed(stretch, above, q, bound, 0, made + 1)
        # Overwritten by tests further down. A node is written as often as the column is tested on its path.
        for y in range(q + 1 - first, right - first):
            region[y] = made
        for y in range(right - first, behind[x] - first):
            region[y] = made + 1


def prepared(
    trees: Trees,
    tested: Indices,
    behind: Indices,
    tree: tuple[int, int],
    rows: int,
    stretch: Indices,
    region: Indices,
) -> int:
    """Outline a tree if there are many rows for it; else let all rows start from its root."""
    first, last = tree
    if rows * MANY > last - first:
        seen = touch(trees[0], first, last)
        outline(trees, tested, behind, first, last, stretch, region)
        return seen
    stretch[1, LOW], stretch[1, HIGH], stretch[1, TOP] = MOST, MISSING, first
    for y in range(last - first):
        region[y] = 1
    return 0


def climbed(stretch: Indices, region: Indices, first: int, s: int, code: int, side: int) -> int:
    """Return the topmost of the tests bounding a stretch on one side whose result for a code differs from its rows'."""
    q = MOST
    while (side == LOW and code <= stretch[s, LOW]) or (side == HIGH and code > stretch[s, HIGH]):
        q = int(stretch[s, LOWER]) if side == LOW else int(stretch[s, UPPER])
        s = int(region[q - first])
    return q


def departs(
    stretch: Indices, region: Indices, first: int, leaf: int, code: int, own_code: int
) -> int:
    """Return the node at which a row starts with another code; its leaf if it stays there."""
    s = int(region[leaf - first])
    if code == own_code or stretch[s, LOW] < code <= stretch[s, HIGH]:
        return leaf
    if code == MISSING or stretch[s, LOW] == MOST:
        return int(stretch[s, TOP])
    lower = climbed(stretch, region, first, s, code, LOW)
    return min(lower, climbed(stretch, region, first, s, code, HIGH))


def movable(
    outlined: tuple[Indices, Indices, int],
    leaves: Unsigned,
    some: Unsigned,
    low: ThresholdCodes,
    high: ThresholdCodes,
    below: Unsigned,
    above: Unsigned,
) -> tuple[int, int]:
    """List the rows that each of two replacements may move to another leaf, and return their numbers."""
    region, stretch, first = outlined
    m, n = 0, 0
    for r in range(len(some)):
        i = int(some[r])
        s = int(region[int(leaves[i]) - first])
        least, most = stretch[s, LOW], stretch[s, HIGH]
        below[m], above[n] = i, i
        m += 1 - (int(least < low[i]) & int(low[i] <= most))
        n += 1 - (int(least < high[i]) & int(high[i] <= most))
    return m, n


def moved(
    trees: Trees,
    outlined: tuple[Indices, Indices, int],
    rows: tuple[ThresholdCodes, int, ThresholdCodes, Unsigned],
    k: int,
    new: ThresholdCodes,
    some: Unsigned,
    at: Unsigned,
    going: Unsigned,
) -> None:
    """Fill in the leaves of a tree that some rows reach with a column replaced by its codes `new`, int32 (n,).

    `outlined` is `region` and `stretch` of `outline`, and the tree's first node. `some`, uint32, are the rows, `at`
    their leaves, and `going` working memory. The others are as in `between`; `leaves` are those of the tree.
    """
    codes, width, was, leaves = rows
    region, stretch, first = outlined
    for j in range(len(some)):
        i = int(some[j])
        at[j] = departs(stretch, region, first, int(leaves[i]), int(new[i]), int(was[i]))
        codes[i * width + k] = new[i]
    settle(trees, codes, width, some, at, going)


# --- sums with one column replaced ----------------------------------------------------------------


def between(
    trees: Trees,
    value: Floats,
    column: TestedColumn,
    rows: tuple[ThresholdCodes, int, ThresholdCodes, Unsigned],
    change: tuple[Unsigned, ThresholdCodes, ThresholdCodes],
    room: tuple[Indices, Indices],
    out: Floats,
    after: Unsigned,
) -> int:
    """Add the difference of the sum of the trees between two replacements of a column, (n,).

    `value` is float (nodes,). `column` is the column; the nodes that test it, and the first nodes after their
    branches, int32; and the index of each tree's first such node, int64 (trees + 1,). `rows` is `codes`, int32 (n ·
    width,), in which the column is overwritten; `width`; the column's original codes, int32 (n,); and `leaves`, uint32
    (trees, n). `change` is the rows to process, uint32, and both replacements, int32 (n,); `room` is `stretch` and
    `region` of `outline`, int32. `after`, uint32 (trees, n) or (0, 0), is, if not empty, a copy of `leaves`, updated
    to those reached with the second replacement.
    """
    k, tested, behind, starts = column
    codes, width, was, leaves = rows
    who, low, high = change
    stretch, region = room
    roots, seen = trees[2], 0
    at, going = np.empty(SIDE, np.uint32), np.empty(SIDE, np.uint32)
    below, above = np.empty(SIDE, np.uint32), np.empty(SIDE, np.uint32)
    for t in range(len(roots) - 1):
        a, b, first, last = starts[t], starts[t + 1], int(roots[t]), int(roots[t + 1])
        if a == b:
            continue
        seen |= prepared(trees, tested[a:b], behind[a:b], (first, last), len(who), stretch, region)
        here, outlined = (codes, width, was, leaves[t]), (region, stretch, first)
        for c in range(0, len(who), SIDE):
            some = who[c : c + SIDE]
            m, n = movable(outlined, leaves[t], some, low, high, below, above)
            moved(trees, outlined, here, k, low, below[:m], at, going)
            for j in range(m):
                out[below[j]] -= value[at[j]] - value[leaves[t, below[j]]]
            moved(trees, outlined, here, k, high, above[:n], at, going)
            for j in range(n):
                out[above[j]] += value[at[j]] - value[leaves[t, above[j]]]
                if len(after) > 0:
                    after[t, above[j]] = at[j]
    return seen


def pile(stack: Indices, filled: int, q: int, i: int, begin: int, finish: int) -> int:
    """Push a row's node and range of points to the stack, and return the stack's new size."""
    stack[filled, 0], stack[filled, 1] = q, i
    stack[filled, 2], stack[filled, 3] = begin, finish
    return filled + 1


def split(
    steps: Unsigned,
    value: Floats,
    goal: tuple[Indices, Indices, Floats],
    some: tuple[Unsigned, Unsigned, Unsigned, Unsigned],
    stack: Indices,
    filled: int,
) -> int:
    """Add the values of rows in leaves, split the points of rows at tests of the column; return the stack's size."""
    at, who, begin, finish = some
    ahead, to, out = goal
    for j in range(len(who)):
        q, i, a, e = int(at[j]), int(who[j]), int(begin[j]), int(finish[j])
        right = int(steps[4 * q + RIGHT])
        if right == 0:
            out[a, to[i]] += value[q]
            out[e, to[i]] -= value[q]
            continue
        cut = int(steps[4 * q + BOUND]) - (int(steps[4 * q + TEST]) & 1)
        middle = min(max(int(ahead[cut]), a), e)
        if a < middle:
            filled = pile(stack, filled, q + 1, i, a, middle)
        if middle < e:
            filled = pile(stack, filled, q + right, i, middle, e)
    return filled


def started(
    outlined: tuple[Indices, Indices, int],
    value: Floats,
    leaves: Unsigned,
    goal: tuple[Indices, Indices, Floats],
    some: tuple[int, int],
    stack: Indices,
) -> int:
    """Subtract the values of leaves that rows may leave, and push these rows to the stack at their topmost tests."""
    region, stretch, first = outlined
    to, out = goal[1], goal[2]
    filled = 0
    for i in range(some[0], some[1]):
        leaf = int(leaves[i])
        s = int(region[leaf - first])
        if s > 0:
            out[0, to[i]] -= value[leaf]
            filled = pile(stack, filled, int(stretch[s, TOP]), i, 0, len(out) - 1)
    return filled


def opened(
    trees: Trees,
    value: Floats,
    column: TestedColumn,
    rows: tuple[ThresholdCodes, int, Unsigned],
    goal: tuple[Indices, Indices, Floats],
    room: tuple[Indices, Indices, Indices],
    depth: int,
) -> int:
    """Add the steps between adjacent points of the rows' curves; the first row: the step from the row's own value.

    As in `between`, but the column is numeric, and `rows` is `codes`, `width` and `leaves`. `goal` is `ahead`, int32:
    for each code, the number of points up to it; `to`, int32 (n,): the column of `out` to which a row adds; and `out`,
    float (points + 1, columns), whose last row is not used. `room` is `stretch` and `region` of `outline`, int32, and
    `stack`, (8 · SIDE + depth, 4), with `depth` the maximum depth of a node.
    """
    k, tested, behind, starts = column
    codes, width, leaves = rows
    stretch, region, stack = room
    roots, seen = trees[2], 0
    spare, n = len(stack) - depth, len(goal[1])
    going, at, who = np.empty(SIDE, np.uint32), np.empty(SIDE, np.uint32), np.empty(SIDE, np.uint32)
    begin, finish = np.empty(SIDE, np.uint32), np.empty(SIDE, np.uint32)
    for t in range(len(roots) - 1):
        a, b, first, last = starts[t], starts[t + 1], int(roots[t]), int(roots[t + 1])
        if a == b:
            continue
        seen |= prepared(trees, tested[a:b], behind[a:b], (first, last), n, stretch, region)
        for c in range(0, n, SIDE):
            part, outlined = (c, min(c + SIDE, n)), (region, stretch, first)
            filled = started(outlined, value, leaves[t], goal, part, stack)
            while filled > 0:
                # As many rows at a time as the stack has room for their branches; there is always room for one.
                m = max(1, min(SIDE, filled, spare - filled))
                filled -= m
                for j in range(m):
                    at[j], who[j] = stack[filled + j, 0], stack[filled + j, 1]
                    begin[j], finish[j] = stack[filled + j, 2], stack[filled + j, 3]
                advance(trees, codes, width, k, who[:m], at, going)
                some = (at, who[:m], begin, finish)
                filled = split(trees[0], value, goal, some, stack, filled)
    return seen
