"""numba kernels of the bitset evaluation: which rows reach which node, as sets of 64 rows per word.

A set of rows is an array of bits, 64 to a word. The rows that pass a test are a set; the rows that reach a node are the
intersection of the sets of the tests on its path (or of their complements). Replacing a column replaces the sets of its
tests. So only branches below tests of the column have to be visited, and only bits that differ have to be processed.

The kernels are plain Python, compiled by `skedasis._compilation`. All arrays are contiguous; words are uint64,
indices int32 or int64. A test is inverted by an exclusive or with `flip`, which is ALL for right children, else ZERO.
"""

from __future__ import annotations

import numpy as np

from skedasis._compilation import count_bits, lowest_bit
from skedasis._types import Bools, Floats, Ints
from skedasis.trees.arrays import GridCorners, Indices, NodeArrays, ThresholdCodes, Words

ZERO, ONE, ALL = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)

MANY = 6
"""If more rows of a word change, all 64 are updated by vector instructions instead of one by one."""

COMPILED = "effects of shallow trees", 7
"""What the kernels are for, and the seconds of one processor that compiling all of them takes."""

HELPERS = (
    "narrow",
    "copied",
    "left_open",
    "beyond",
    "differ",
    "move",
    "rise",
    "narrow_both",
    "exchange",
    "add",
    "counted",
)
"""Functions that the kernels call; they are compiled into them."""


# --- sets of rows ---------------------------------------------------------------------------------


def mark_numbers(
    codes: ThresholdCodes, start: Indices, missing_left: Bools, missing: int, out: Words
) -> None:
    """Fill in the sets of rows, uint64 (R, words), that pass the tests of a numeric column.

    `codes`, int32 (n,), have each a first test that they pass, `start`, int32 (codes,), and pass all later ones, too.
    `missing` is the code of missing values, which pass as `missing_left`, bool (R,), says.
    """
    tests, words = out.shape
    out[:, :] = ZERO
    absent = np.zeros(words, np.uint64)
    for i in range(len(codes)):
        w, bit = i >> 6, ONE << np.uint64(i & 63)
        code = codes[i]
        if code == missing:
            absent[w] |= bit
        elif start[code] < tests:
            out[start[code], w] |= bit
    for r in range(1, tests):
        for w in range(words):
            out[r, w] |= out[r - 1, w]
    for r in range(tests):
        if missing_left[r]:
            for w in range(words):
                out[r, w] |= absent[w]


def mark_categories(codes: ThresholdCodes, passes: Bools, out: Words) -> None:
    """Fill in the sets of rows, uint64 (R, words), that pass tests, from a table of tests and codes.

    `codes` are int32 (n,), `passes` bool (R, codes).
    """
    out[:, :] = ZERO
    if passes.shape[1] <= 64:
        # Joining the sets of rows of each code takes fewer steps than rows times tests.
        sets = np.zeros((passes.shape[1], out.shape[1]), np.uint64)
        for i in range(len(codes)):
            sets[codes[i], i >> 6] |= ONE << np.uint64(i & 63)
        for r in range(len(passes)):
            for c in range(len(sets)):
                if passes[r, c]:
                    for w in range(out.shape[1]):
                        out[r, w] |= sets[c, w]
        return
    for i in range(len(codes)):
        w, bit = i >> 6, ONE << np.uint64(i & 63)
        for r in range(len(passes)):
            if passes[r, codes[i]]:
                out[r, w] |= bit


def everyone(n: int, out: Words) -> None:
    """Fill in the set of all n rows, (words,)."""
    for w in range(len(out)):
        out[w] = ZERO
    for i in range(n):
        out[i >> 6] |= ONE << np.uint64(i & 63)


def reach(
    parent: Indices, is_left: Indices, test: Indices, passing: Words, everybody: Words, out: Words
) -> None:
    """Fill in the set of rows that reach each node, (nodes, words)."""
    nodes, words = out.shape
    for q in range(nodes):
        above = parent[q]
        if above < 0:
            for w in range(words):
                out[q, w] = everybody[w]
            continue
        t = test[above]
        flip = ZERO if is_left[q] else ALL
        for w in range(words):
            out[q, w] = out[above, w] & (passing[t, w] ^ flip)


def own(test: Indices, value: Floats, reached: Words, out: Floats) -> None:
    """Add the values of the leaves that rows reach, (n,)."""
    for q in range(len(reached)):
        if test[q] < 0:
            add(reached[q], value[q], out)


def narrow(from_: Words, passed: Words, flip: np.uint64, to: Words) -> np.uint64:
    """Fill in the rows of a set that pass a test (or fail it), and return a word that is zero if there are none."""
    union = ZERO
    for w in range(len(to)):
        rows = from_[w] & (passed[w] ^ flip)
        to[w] = rows
        union |= rows
    return union


def copied(from_: Words, to: Words) -> np.uint64:
    """Copy a set, and return a word that is zero if it is empty."""
    union = ZERO
    for w in range(len(to)):
        to[w] = from_[w]
        union |= from_[w]
    return union


def left_open(stack: Words, d: int, passed: Words, flip: np.uint64, own: bool) -> np.uint64:
    """Fill in the rows that reach a node at depth d if tests of some columns are ignored (`own`: this is one).

    Returns a word that is zero if there are none.
    """
    if own:
        return copied(stack[d - 1], stack[d])
    return narrow(stack[d - 1], passed, flip, stack[d])


def beyond(nodes: Indices, k: int, q: int) -> int:
    """Return the index of the first of a column's nodes, from the k-th on, that does not precede node q."""
    while k < len(nodes) and nodes[k] < q:
        k += 1
    return k


def differ(one: Words, other: Words) -> np.uint64:
    """Return a word that is zero if two sets are equal."""
    difference = ZERO
    for w in range(len(one)):
        difference |= one[w] ^ other[w]
    return difference


def move(before: Words, after: Words, value: float, out: Floats) -> None:
    """Subtract a leaf's value from rows that no longer reach it, and add it to rows that now do."""
    for w in range(len(before)):
        if before[w] != after[w]:
            exchange(before[w], after[w], value, w, out)


def rise(
    low: Words, high: Words, before: Words, after: Words, flip: np.uint64, value: float, out: Floats
) -> None:
    """Do the same as `move` for the rows of two sets that pass a test (or fail it), without storing these rows."""
    for w in range(len(low)):
        one = low[w] & (before[w] ^ flip)
        other = high[w] & (after[w] ^ flip)
        if one != other:
            exchange(one, other, value, w, out)


def narrow_both(
    low: Words,
    high: Words,
    before: Words,
    after: Words,
    flip: np.uint64,
    to_low: Words,
    to_high: Words,
) -> np.uint64:
    """Fill in the rows of two sets that pass a test (or fail it), and return a word that is zero if they are equal."""
    difference = ZERO
    for w in range(len(to_low)):
        one = low[w] & (before[w] ^ flip)
        other = high[w] & (after[w] ^ flip)
        to_low[w] = one
        to_high[w] = other
        difference |= one ^ other
    return difference


def exchange(before: np.uint64, after: np.uint64, value: float, w: int, out: Floats) -> None:
    """Subtract a value from rows that are no longer in the w-th word, and add it to rows that now are."""
    lose, gain = before & ~after, after & ~before
    if count_bits(lose | gain) > MANY:
        part = out[w << 6 : (w << 6) + 64]  # indices from 0 to 63 need no check for negative ones
        for b in range(64):
            part[b] += value if (gain >> np.uint64(b)) & ONE != ZERO else 0.0
            part[b] -= value if (lose >> np.uint64(b)) & ONE != ZERO else 0.0
        return
    while gain != ZERO:
        out[(w << 6) + lowest_bit(gain)] += value
        gain &= gain - ONE
    while lose != ZERO:
        out[(w << 6) + lowest_bit(lose)] -= value
        lose &= lose - ONE


def add(rows: Words, value: float, out: Floats) -> None:
    for w in range(len(rows)):
        word = rows[w]
        if count_bits(word) > MANY:
            part = out[w << 6 : (w << 6) + 64]
            for b in range(64):
                part[b] += value if (word >> np.uint64(b)) & ONE != ZERO else 0.0
            continue
        while word != ZERO:
            out[(w << 6) + lowest_bit(word)] += value
            word &= word - ONE


# --- sums with one column replaced ----------------------------------------------------------------


def changed(
    nodes: Indices,
    shape: NodeArrays,
    value: Floats,
    column: tuple[int, int],
    sets: tuple[Words, Words, Words],
    instead: Words,
    out: Floats,
) -> None:
    """Add the change of the sum of the trees when a column is replaced, (n,).

    `nodes`, int32, test the column, in ascending order. `shape` is `parent`, `depth`, `size`, `is_left`, `test`, int32
    (nodes,) each, and `value` float (nodes,). `column` is the first test of the column, and the one after its last.
    `sets`, uint64, are the rows that pass each test, (tests, words), those that reach each node, (nodes, words), and
    working memory for the sets on a path, (depth + 1, words). `instead`, uint64 (tests of the column, words), are the
    rows that pass the column's tests with the column replaced.
    """
    parent, depth, size, is_left, test = shape
    passing, reached, stack = sets
    first, last = column
    k = 0
    while k < len(nodes):
        top: int = nodes[k]
        base, q, end = depth[top], top + 1, top + size[top]
        copied(reached[top], stack[0])
        while q < end:
            d, t = depth[q] - base, test[parent[q]]
            flip = ZERO if is_left[q] else ALL
            passed = instead[t - first] if first <= t < last else passing[t]
            narrow(stack[d - 1], passed, flip, stack[d])
            k = beyond(nodes, k, q)
            # Skip the branch if it is reached by the same rows as before and does not test the column.
            untested = k == len(nodes) or nodes[k] >= q + size[q]
            if untested and differ(stack[d], reached[q]) == ZERO:
                q += size[q]
                continue
            if test[q] < 0:
                move(reached[q], stack[d], value[q], out)
            q += 1
        k = beyond(nodes, k, end)


def between(
    nodes: Indices,
    shape: NodeArrays,
    value: Floats,
    column: tuple[int, int],
    sets: tuple[Words, Words, Words],
    ends: tuple[Words, Words],
    out: Floats,
) -> None:
    """Add the difference of the sum of the trees between two replacements of a column, (n,).

    Parameters are those of `changed`, with two replacements, and working memory for twice as many sets on a path.
    """
    parent, depth, size, is_left, test = shape
    passing, reached, stack = sets
    first, last = column
    low, high = ends
    half = len(stack) // 2
    k = 0
    while k < len(nodes):
        top: int = nodes[k]
        base, q, end = depth[top], top + 1, top + size[top]
        copied(reached[top], stack[0])
        copied(reached[top], stack[half])
        while q < end:
            d, t = depth[q] - base, test[parent[q]]
            flip = ZERO if is_left[q] else ALL
            tested = first <= t < last
            before = low[t - first] if tested else passing[t]
            after = high[t - first] if tested else passing[t]
            lower, higher = stack[d - 1], stack[half + d - 1]
            if test[q] < 0:
                rise(lower, higher, before, after, flip, value[q], out)
                q += 1
                continue
            difference = narrow_both(lower, higher, before, after, flip, stack[d], stack[half + d])
            k = beyond(nodes, k, q)
            untested = k == len(nodes) or nodes[k] >= q + size[q]
            q += size[q] if untested and difference == ZERO else 1
        k = beyond(nodes, k, end)


def curves(
    nodes: Indices,
    shape: NodeArrays,
    value: Floats,
    free: Bools,
    sets: tuple[Words, Words, Words],
    corners: GridCorners,
    out: Floats,
) -> None:
    """Add the steps of the rows' curves along a grid of some columns; the first point: the step from the own value.

    `nodes`, int32, test one of the columns, in ascending order; `free`, bool (tests,), says whether a test does.
    `corners` are the steps of each leaf, as returned by `TreeLayout.corners`, and `out` is float (points, n). The
    others are as in `changed`.
    """
    parent, depth, size, is_left, test = shape
    passing, reached, stack = sets
    listed, place, sign = corners
    k = 0
    while k < len(nodes):
        top: int = nodes[k]
        base, q, end = depth[top], top + 1, top + size[top]
        copied(reached[top], stack[0])
        while q < end:
            d, t = depth[q] - base, int(test[parent[q]])
            flip = ZERO if is_left[q] else ALL
            if left_open(stack, d, passing[t], flip, free[t]) == ZERO:
                q += size[q]
                continue
            if test[q] < 0:
                add(reached[q], -value[q], out[0])
                for r in range(listed[q], listed[q + 1]):
                    add(stack[d], sign[r] * value[q], out[place[r]])
            q += 1
        k = beyond(nodes, k, end)


def add_up(stride: int, size: int, out: Floats) -> None:
    """Replace steps by their running sums along an axis of `size` points of a grid, which are `stride` rows apart."""
    points, n = out.shape
    for k in range(stride, points):
        if (k // stride) % size > 0:
            for i in range(n):
                out[k, i] += out[k - stride, i]


def counts(
    nodes: Indices,
    shape: NodeArrays,
    free: Bools,
    sets: tuple[Words, Words, Words],
    out: Ints,
) -> None:
    """Count the rows that would reach each leaf if they passed all tests of some columns, (nodes,).

    Parameters are those of `curves`. Leaves that are not below tests of the columns, and leaves that no row would
    reach, are not written to.
    """
    parent, depth, size, is_left, test = shape
    passing, reached, stack = sets
    k = 0
    while k < len(nodes):
        top: int = nodes[k]
        base, q, end = depth[top], top + 1, top + size[top]
        copied(reached[top], stack[0])
        while q < end:
            d, t = depth[q] - base, int(test[parent[q]])
            flip = ZERO if is_left[q] else ALL
            if left_open(stack, d, passing[t], flip, free[t]) == ZERO:
                q += size[q]
                continue
            if test[q] < 0:
                out[q] = counted(stack[d])
            q += 1
        k = beyond(nodes, k, end)


def counted(rows: Words) -> int:
    """Return the number of rows in a set."""
    total = 0
    for w in range(len(rows)):
        total += count_bits(rows[w])
    return total


def sizes(test: Indices, reached: Words, out: Ints) -> None:
    """Count the rows that reach each leaf, (nodes,)."""
    for q in range(len(reached)):
        if test[q] < 0:
            out[q] = counted(reached[q])
