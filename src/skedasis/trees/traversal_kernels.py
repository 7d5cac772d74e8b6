"""numba kernels of tree traversal: the leaf of each row, with one column replaced or left open.

Rows step side by side (`settle`): each step waits for the memory, and many can wait at a time. Where a step leads is
looked up, not decided: a processor guesses decisions, and those of trees it guesses wrong every other time, which makes
a step three times as long.

Plain Python, which `jit.py` compiles. All arrays are contiguous. A node is four numbers of `steps`, a row `width`
numbers of `codes`, each in one run. Places are unsigned: signed ones would be checked for counting from the end.

With another value in a column a row leaves its path only where a test of that column decides otherwise, and what such
tests leave of the column's values is the same for whole stretches of a tree (`outline`): most rows are seen not to move
without a step, and the others start at the test that sends them elsewhere.

Plain Python, which `jit.py` compiles; trees and rows are those of `steps.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# ------------------------------------------------------------------------------------------
# The steps of rows down large trees, and where they end.


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


# ------------------------------------------------------------------------------------------
# Where rows end in large trees with one column replaced or left open.


LOW, HIGH, LOWER, UPPER, TOP = 0, 1, 2, 3, 4
"""Of a stretch: codes above LOW and up to HIGH lead there; the tests that say so, -1 for none; the topmost test."""


MOST = 2**31 - 1


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
"""Functions that kernels call: they are compiled into them."""


def narrowed(stretch: Array, above: int, q: int, bound: int, left: int, made: int) -> None:
    """Note what a test leaves of a stretch on one of its sides."""
    low, high = max(stretch[above, LOW], MISSING), stretch[above, HIGH]
    lower, upper = stretch[above, LOWER], stretch[above, UPPER]
    # A test that leaves what is left anyway bounds nothing. Missing numbers may pass tests as no number does: what is
    # left may be nothing then, and all numbers start where the first test decides otherwise.
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
    tested: Array,
    behind: Array,
    first: int,
    last: int,
    stretch: Array,
    region: Array,
) -> None:
    """Fill in, for the nodes of a tree, the stretch that a column's tests above them leave of its codes.

    Parameters
    ----------
    trees : Trees
    tested, behind : int32
        The tree's nodes that test the column, in the order of visits, and the nodes behind their branches.
    first, last : int
        The tree's first node, and the one behind its last.
    stretch : int32, (stretches, 5)
        Filled in, too: two for each test, and the first for nodes without one above them, where nothing ever moves. No
        code lies in those of categories.
    region : int32, (last - first,)
        The stretch of each node.
    """
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
        # Written over by tests further down. A node is written as often as a walk to it would test the column.
        for y in range(q + 1 - first, right - first):
            region[y] = made
        for y in range(right - first, behind[x] - first):
            region[y] = made + 1


def prepared(
    trees: Trees,
    tested: Array,
    behind: Array,
    tree: tuple[int, int],
    rows: int,
    stretch: Array,
    region: Array,
) -> int:
    """Outline a tree where there are many rows for it; few start from its root without more ado."""
    first, last = tree
    if rows * MANY > last - first:
        seen = touch(trees[0], first, last)
        outline(trees, tested, behind, first, last, stretch, region)
        return seen
    stretch[1, LOW], stretch[1, HIGH], stretch[1, TOP] = MOST, MISSING, first
    for y in range(last - first):
        region[y] = 1
    return 0


def climbed(stretch: Array, region: Array, first: int, s: int, code: int, side: int) -> int:
    """Return the topmost of the tests that bound a stretch on one side and that a code does not pass as its rows do."""
    q = MOST
    while (side == LOW and code <= stretch[s, LOW]) or (side == HIGH and code > stretch[s, HIGH]):
        q = int(stretch[s, LOWER]) if side == LOW else int(stretch[s, UPPER])
        s = int(region[q - first])
    return q


def departs(stretch: Array, region: Array, first: int, leaf: int, code: int, own_code: int) -> int:
    """Return where a row that has reached a leaf starts with another code: there, if that makes no difference."""
    s = int(region[leaf - first])
    if code == own_code or stretch[s, LOW] < code <= stretch[s, HIGH]:
        return leaf
    if code == MISSING or stretch[s, LOW] == MOST:
        return int(stretch[s, TOP])
    lower = climbed(stretch, region, first, s, code, LOW)
    return min(lower, climbed(stretch, region, first, s, code, HIGH))


def movable(
    outlined: tuple[Array, Array, int],
    leaves: Array,
    some: Array,
    low: Array,
    high: Array,
    below: Array,
    above: Array,
) -> tuple[int, int]:
    """List which of some rows either replacement may move, and return how many these are."""
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
    outlined: tuple[Array, Array, int],
    rows: tuple[Array, int, Array, Array],
    k: int,
    new: Array,
    some: Array,
    at: Array,
    going: Array,
) -> None:
    """Fill in which leaves of a tree some rows reach with a column replaced.

    Parameters
    ----------
    trees, rows, k
        As in `between`; `leaves` are those of the tree.
    outlined : tuple of arrays and int
        `region` and `stretch` of `outline`, and the tree's first node.
    new : int32, (n,)
        What the column is replaced by.
    some : uint32
    at, going : uint32
        Where they end, and room.
    """
    codes, width, was, leaves = rows
    region, stretch, first = outlined
    for j in range(len(some)):
        i = int(some[j])
        at[j] = departs(stretch, region, first, int(leaves[i]), int(new[i]), int(was[i]))
        codes[i * width + k] = new[i]
    settle(trees, codes, width, some, at, going)


def between(
    trees: Trees,
    value: Array,
    column: tuple[int, Array, Array, Array],
    rows: tuple[Array, int, Array, Array],
    change: tuple[Array, Array, Array],
    room: tuple[Array, Array],
    out: Array,
    after: Array,
) -> int:
    """Add the rise of the sum of the trees from one replacement of a column to another, (n,).

    Parameters
    ----------
    trees : Trees
    value : float, (nodes,)
    column : tuple of int and arrays
        The column; the nodes that test it, and those behind their branches, int32; and where those of each tree begin,
        int64, (trees + 1,).
    rows : tuple of arrays and int
        `codes`, int32, (n · width,), in which the column is written over; `width`; what the column was, int32, (n,);
        and `leaves`, uint32, (trees, n).
    change : tuple of arrays
        The rows to look at, uint32; and both replacements, int32, (n,).
    room : tuple of int32
        `stretch` and `region` of `outline`.
    out : float, (n,)
    after : uint32, (trees, n) or (0, 0)
        If there is any room: `leaves`, to be overwritten where the second replacement leads elsewhere.

    Returns
    -------
    int
        Of no meaning: what was read ahead has to lead to something.
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


def pile(stack: Array, filled: int, q: int, i: int, begin: int, finish: int) -> int:
    """Note where a row is to walk on, for which points, and return the stack's new fill."""
    stack[filled, 0], stack[filled, 1] = q, i
    stack[filled, 2], stack[filled, 3] = begin, finish
    return filled + 1


def split(
    steps: Array,
    value: Array,
    goal: tuple[Array, Array, Array],
    some: tuple[Array, Array, Array, Array],
    stack: Array,
    filled: int,
) -> int:
    """Give points of rows that stand in leaves their values, and part those of the others; return the stack's fill.

    Parameters
    ----------
    steps, value, goal
        As in `opened`.
    some : tuple of uint32
        Where rows stand, which they are, their first point, and the point behind their last.
    stack : int32, (room, 4)
        The same of what is still to be walked.
    filled : int
    """
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
    outlined: tuple[Array, Array, int],
    value: Array,
    leaves: Array,
    goal: tuple[Array, Array, Array],
    some: tuple[int, int],
    stack: Array,
) -> int:
    """Take from rows the values of the leaves that they may leave, and pile them up at the topmost tests."""
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
    value: Array,
    column: tuple[int, Array, Array, Array],
    rows: tuple[Array, int, Array],
    goal: tuple[Array, Array, Array],
    room: tuple[Array, Array, Array],
    depth: int,
) -> int:
    """Add the differences from point to point of the rows' curves, and at the first the rise from their own value.

    Parameters
    ----------
    trees, value, column
        As in `between`; the column has numbers.
    rows : tuple of arrays and int
        `codes`, `width` and `leaves`.
    goal : tuple of arrays
        `ahead`, int32: of each code, how many points have it or a smaller one; `to`, int32, (n,): the column of `out`
        that a row adds to; and `out`, float, (points + 1, columns), whose last row takes what ends with the last point.
    room : tuple of int32
        `stretch` and `region` of `outline`, and `stack`, (8 · SIDE + depth, 4).
    depth : int
        The greatest depth of a node.
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
                # As many at a time as there is room for; one after the other there always is.
                m = max(1, min(SIDE, filled, spare - filled))
                filled -= m
                for j in range(m):
                    at[j], who[j] = stack[filled + j, 0], stack[filled + j, 1]
                    begin[j], finish[j] = stack[filled + j, 2], stack[filled + j, 3]
                advance(trees, codes, width, k, who[:m], at, going)
                some = (at, who[:m], begin, finish)
                filled = split(trees[0], value, goal, some, stack, filled)
    return seen
