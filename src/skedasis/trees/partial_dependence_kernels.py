"""numba kernels of partial dependence: in which box of its features' values each leaf lies, and how many rows fit it.

A leaf is a box: for each *unit* (a column, or a group of columns that are replaced together) that its path tests, the
set of the unit's values that pass all of these tests. The observed values of a unit are numbered (*ranks*, the missing
value last), so that a set of values is a list of runs of ranks. The partial dependence on units S at a row is the sum
over leaves of the leaf's value, if the row's values of S are in the box, times the share of rows whose other values
are. So a leaf contributes counts: of the rows that fail no test but those of one unit, or of two.

The kernels are plain Python, compiled by `skedasis._compilation`. Words are uint64, with one bit per row.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from skedasis._compilation import count_bits, lowest_bit
from skedasis._types import Bools, Floats, Ints
from skedasis.trees.arrays import Indices, ThresholdCodes, Words

ZERO, ONE, ALL = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)

COMPILED = "H² of trees", 10
"""What the kernels are for, and the seconds of one processor that compiling all of them takes."""

HELPERS = (
    *("narrow_box", "list_runs", "interval_runs"),
    *("fill_mask", "size_of", "find_failures", "count_pairs", "add_leaf"),
    *("cumulate", "prefix_sum", "add_point", "sorted_events"),
)
"""Functions that the kernels call; they are compiled into them."""

Boxes: TypeAlias = tuple[Ints, Indices, Ints, Indices, Indices]
"""`start`, `unit`, `first`, `low`, `high`, as `leaf_boxes` fills them in."""

Box: TypeAlias = tuple[Ints, Ints, Bools, Bools]
"""Working memory of `leaf_boxes`: the box of one leaf."""


# --- leaves as boxes ------------------------------------------------------------------------------


def leaf_boxes(
    leaves: Ints,
    nodes: tuple[Indices, Indices, Indices],
    tests: tuple[Indices, Indices, Bools, Ints],
    table: Bools,
    units: tuple[Ints, Ints, Bools],
    out: Boxes,
    fill: bool,
) -> tuple[int, int]:
    """Fill in the boxes of leaves, and return the number of their units and of the runs of these."""
    size, _, listed = units
    start, unit, first, _, _ = out
    n = len(size)
    widest = 1
    for u in range(n):
        if listed[u]:
            widest = max(widest, size[u])
    among = np.zeros((n if listed.any() else 1, widest), np.bool_)
    seen, here = np.full(n, -1, np.int64), np.zeros(n + 1, np.int64)
    lows, highs, has_missing = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.bool_)
    box = (lows, highs, has_missing, among)
    entries, runs = 0, 0
    for i in range(len(leaves)):
        k = narrow_box(leaves[i], i, nodes, tests, table, units, (seen, here), box)
        here[:k].sort()
        for a in range(k):
            u = here[a]
            if fill:
                unit[entries] = u
                first[entries] = runs
            entries += 1
            if listed[u]:
                runs = list_runs(among[u, : size[u]], out, runs, fill)
            else:
                runs = interval_runs(u, units, box, out, runs, fill)
        if fill:
            start[i + 1] = entries
    if fill:
        first[entries] = runs
    return entries, runs


def narrow_box(
    leaf: int,
    i: int,
    nodes: tuple[Indices, Indices, Indices],
    tests: tuple[Indices, Indices, Bools, Ints],
    table: Bools,
    units: tuple[Ints, Ints, Bools],
    visited: tuple[Ints, Ints],
    box: Box,
) -> int:
    """Fill in the values of each tested unit that reach the i-th leaf, and return the number of these units."""
    parent, is_left, test = nodes
    unit_of, cut, missing_left, row_of = tests
    size, absent, listed = units
    seen, here = visited
    lows, highs, has_missing, among = box
    q, k = leaf, 0
    while parent[q] >= 0:
        above = parent[q]
        t, left = test[above], is_left[q] == 1
        u = unit_of[t]
        if seen[u] != i:
            seen[u] = i
            here[k] = u
            k += 1
            lows[u], highs[u] = 0, size[u] - (1 if absent[u] >= 0 else 0)
            has_missing[u] = absent[u] >= 0
            if listed[u]:
                among[u, : size[u]] = True
        if listed[u]:
            for r in range(size[u]):
                among[u, r] &= table[row_of[t] + r] == left
        elif left:
            highs[u] = min(highs[u], cut[t])
        else:
            lows[u] = max(lows[u], cut[t])
        has_missing[u] &= missing_left[t] == left
        q = above
    return k


def list_runs(among: Bools, out: Boxes, runs: int, fill: bool) -> int:
    """Add the runs of listed ranks, and return the number of all runs so far."""
    _, _, _, low, high = out
    inside = False
    for r in range(len(among)):
        if among[r] and not inside and fill:
            low[runs] = r
        if inside and not among[r]:
            if fill:
                high[runs] = r
            runs += 1
        inside = among[r]
    if inside:
        if fill:
            high[runs] = len(among)
        runs += 1
    return runs


def interval_runs(
    u: int, units: tuple[Ints, Ints, Bools], box: Box, out: Boxes, runs: int, fill: bool
) -> int:
    """Add the interval of a unit, and the missing value, and return the number of all runs so far."""
    _, absent, _ = units
    lows, highs, has_missing, _ = box
    _, _, _, low, high = out
    whole = lows[u] < highs[u]
    joined = whole and has_missing[u] and highs[u] == absent[u]
    if whole:
        if fill:
            low[runs], high[runs] = lows[u], highs[u] + (1 if joined else 0)
        runs += 1
    if has_missing[u] and not joined:
        if fill:
            low[runs], high[runs] = absent[u], absent[u] + 1
        runs += 1
    return runs


# --- counts of rows -------------------------------------------------------------------------------


def mark_ranks(rank: ThresholdCodes, size: int, out: Words) -> None:
    """Fill in for each rank r, up to the number of ranks, the set of rows with a smaller one, (size + 1, words)."""
    out[:, :] = ZERO
    words = out.shape[1]
    for i in range(len(rank)):
        out[rank[i] + 1, i >> 6] |= ONE << np.uint64(i & 63)
    for r in range(2, size + 1):
        for w in range(words):
            out[r, w] |= out[r - 1, w]


def fill_mask(sets: Words, rows: int, low: Indices, high: Indices, out: Words) -> None:
    """Fill in the set of rows whose rank is in one of the runs; the sets of the unit begin at row `rows`."""
    if len(low) == 1:
        above, below = sets[rows + high[0]], sets[rows + low[0]]
        for w in range(len(out)):
            out[w] = above[w] & ~below[w]
        return
    for w in range(len(out)):
        out[w] = ZERO
    for r in range(len(low)):
        above, below = sets[rows + high[r]], sets[rows + low[r]]
        for w in range(len(out)):
            out[w] |= above[w] & ~below[w]


def size_of(rows: Words, weights: Floats) -> float:
    """Return the number of rows of a set, or their weight."""
    if len(weights) == 0:
        n = 0
        for w in range(len(rows)):
            n += count_bits(rows[w])
        return float(n)
    total = 0.0
    for w in range(len(rows)):
        word = rows[w]
        while word != ZERO:
            total += weights[(w << 6) + lowest_bit(word)]
            word &= word - ONE
    return total


def count_rows(
    boxes: Boxes,
    leaf: tuple[Floats, Floats, Ints],
    sets: tuple[Words, Ints, Words],
    weights: Floats,
    counts: tuple[Floats, Floats],
    wanted: Ints,
    own: Floats,
    rest: Floats,
) -> None:
    """Add what a block of rows contributes to the leaves' counts, and the leaves to the rows' sums."""
    start, unit, first, low, high = boxes
    value, share, first_pair = leaf
    smaller, first_set, everyone = sets
    of_one, of_two = counts
    words, counting = len(everyone), len(of_one) > 0
    most = 1
    for i in range(len(value)):
        most = max(most, start[i + 1] - start[i])
    masks, but_one = np.empty((most, words), np.uint64), np.empty((most, words), np.uint64)
    # The rows in all masks before this one, in this one and all after it, and those of a pair.
    before, after = np.empty((most + 1, words), np.uint64), np.empty((most + 1, words), np.uint64)
    among = np.empty((2, words), np.uint64)
    places, changes = np.empty(most, np.int64), np.empty(most, np.float64)
    ones, twos = np.zeros(most, np.float64), np.zeros(most * most, np.float64)
    for i in range(len(value)):
        s = start[i]
        k = start[i + 1] - s
        for a in range(k):
            e = s + a
            places[a] = wanted[unit[e]]
            changes[a] = value[i] * share[e]
            runs = slice(first[e], first[e + 1])
            fill_mask(smaller, int(first_set[unit[e]]), low[runs], high[runs], masks[a])
        find_failures(int(k), everyone, masks, (before, after), but_one)
        if counting:
            # The rows that fail nothing, one unit, two units, are disjoint sets: each row is added once.
            total = size_of(after[0], weights)
            for a in range(k):
                ones[a] = size_of(but_one[a], weights)
            count_pairs(int(k), masks, (before, after), among, weights, twos)
            p = 0
            for a in range(k):
                of_one[s + a] += total + ones[a]
                for b in range(a + 1, k):
                    of_two[first_pair[i] + p] += total + ones[a] + ones[b] + twos[p]
                    p += 1
        add_leaf(int(k), value[i], after[0], but_one, (places, changes), own, rest)


def find_failures(
    k: int, everyone: Words, masks: Words, around: tuple[Words, Words], but_one: Words
) -> None:
    """Fill in the rows that are in all masks but one, for each mask."""
    before, after = around
    words = len(everyone)
    for w in range(words):
        before[0, w] = after[k, w] = everyone[w]
    for a in range(k):
        for w in range(words):
            before[a + 1, w] = before[a, w] & masks[a, w]
    for a in range(k - 1, -1, -1):
        for w in range(words):
            after[a, w] = after[a + 1, w] & masks[a, w]
            but_one[a, w] = before[a, w] & after[a + 1, w] & ~masks[a, w]


def count_pairs(
    k: int,
    masks: Words,
    around: tuple[Words, Words],
    among: Words,
    weights: Floats,
    out: Floats,
) -> None:
    """Fill in the size of the set of rows that are in all masks but two, for each pair of masks.

    Parameters are those of `find_failures`, and working memory, (2, words).
    """
    before, after = around
    between, both = among[0], among[1]
    words = masks.shape[1]
    p = 0
    for a in range(k - 1):
        for w in range(words):
            between[w] = before[a, w] & ~masks[a, w]
        for b in range(a + 1, k):
            for w in range(words):
                both[w] = between[w] & after[b + 1, w] & ~masks[b, w]
                between[w] &= masks[b, w]
            out[p] = size_of(both, weights)
            p += 1


def add_leaf(
    k: int,
    value: float,
    inside: Words,
    but_one: Words,
    units: tuple[Ints, Floats],
    own: Floats,
    rest: Floats,
) -> None:
    """Add a leaf to the rows' sums of leaves, and to their partial dependence on all units but one."""
    places, changes = units
    for w in range(len(inside)):
        word = inside[w]
        while word != ZERO:
            row = (w << 6) + lowest_bit(word)
            own[row] += value
            for a in range(k):
                if places[a] >= 0:
                    rest[row, places[a]] += changes[a] - value
            word &= word - ONE
    for a in range(k):
        column, change = places[a], changes[a]
        if column < 0:
            continue
        for w in range(len(inside)):
            word = but_one[a, w]
            while word != ZERO:
                rest[(w << 6) + lowest_bit(word), column] += change
                word &= word - ONE


# --- partial dependence at the rows ---------------------------------------------------------------


def pair_index(
    boxes: Boxes,
    number: Ints,
    out: tuple[Indices, Ints, Ints, Ints],
) -> None:
    """Fill in for each pair of entries of a leaf the number of its pair of units, its entries and its leaf."""
    start, unit, _, _, _ = boxes
    pair, one, other, leaf = out
    p = 0
    for i in range(len(start) - 1):
        for a in range(start[i], start[i + 1]):
            for b in range(a + 1, start[i + 1]):
                pair[p] = number[unit[a], unit[b]]
                one[p], other[p], leaf[p] = a, b, i
                p += 1


def single_table(
    boxes: Boxes,
    value: Floats,
    of_one: Floats,
    first_cell: Ints,
    out: Floats,
) -> None:
    """Add the leaves to the partial dependence on one unit, by rank, of all units."""
    start, unit, first, low, high = boxes
    for i in range(len(value)):
        for e in range(start[i], start[i + 1]):
            v, cell = value[i] * of_one[e], first_cell[unit[e]]
            for r in range(first[e], first[e + 1]):
                out[cell + low[r]] += v
                out[cell + high[r]] -= v
    for u in range(len(first_cell) - 1):
        cumulate(out[first_cell[u] : first_cell[u + 1]])


def cumulate(steps: Floats) -> None:
    """Replace steps by their running sums."""
    for r in range(1, len(steps)):
        steps[r] += steps[r - 1]


def pair_table(
    entries: tuple[Ints, Ints, Ints, Ints],
    runs: tuple[Ints, Indices, Indices],
    value: Floats,
    shares: tuple[Floats, Floats],
    ranks: tuple[ThresholdCodes, ThresholdCodes],
    table: Floats,
    out: Floats,
) -> None:
    """Fill in the interaction of two units at the rows, float (n,), from a table of their ranks.

    It is the partial dependence on both less those on each, of the leaves that test both: other leaves add nothing to
    the interaction. `entries`, int64, are the pairs of entries of these units; and of all pairs of entries the first,
    the second, and the leaf. `runs` are `first`, `low`, `high` of the boxes, `value` is float (L,), and `shares` are
    those of the rows that pass all tests but those of one entry's unit, and of both. `ranks` are int32 (n,), and
    `table`, float (ranks + 1, other ranks + 1), is working memory.
    """
    items, one, other, leaf = entries
    first, low, high = runs
    of_one, of_two = shares
    table[:, :] = 0.0
    row, column = np.zeros(table.shape[0]), np.zeros(table.shape[1])
    for i in range(len(items)):
        p = items[i]
        a, b, v = one[p], other[p], value[leaf[p]]
        both, mine, theirs = v * of_two[p], v * of_one[a], v * of_one[b]
        for r in range(first[a], first[a + 1]):
            row[low[r]] += mine
            row[high[r]] -= mine
            for s in range(first[b], first[b + 1]):
                table[low[r], low[s]] += both
                table[low[r], high[s]] -= both
                table[high[r], low[s]] -= both
                table[high[r], high[s]] += both
        for s in range(first[b], first[b + 1]):
            column[low[s]] += theirs
            column[high[s]] -= theirs
    cumulate(row)
    cumulate(column)
    for r in range(table.shape[0]):
        cumulate(table[r])
        if r > 0:
            for c in range(table.shape[1]):
                table[r, c] += table[r - 1, c]
    x, y = ranks
    for i in range(len(out)):
        out[i] = table[x[i], y[i]] - row[x[i]] - column[y[i]]


def add_point(tree: Floats, position: int, value: float) -> None:
    """Add a value at a position of a binary indexed tree (Fenwick 1994)."""
    i = position + 1
    while i < len(tree):
        tree[i] += value
        i += i & -i


def prefix_sum(tree: Floats, position: int) -> float:
    """Return the sum of a binary indexed tree up to a position, inclusive."""
    i, total = position + 1, 0.0
    while i > 0:
        total += tree[i]
        i -= i & -i
    return total


def pair_sweep(
    entries: tuple[Ints, Ints, Ints, Ints],
    runs: tuple[Ints, Indices, Indices],
    value: Floats,
    shares: tuple[Floats, Floats],
    ranks: tuple[ThresholdCodes, ThresholdCodes],
    order: tuple[Ints, Ints],
    other_size: int,
    out: Floats,
) -> None:
    """Fill in the same as `pair_table` for units with too many ranks for a table: O((boxes + n) log(ranks)).

    Rows are visited in the order of the first unit's rank, and boxes begin and end on the way. `order`, int64, are the
    rows by this rank, (n,), and where each rank begins there, (ranks + 1,); `other_size` is the number of ranks of the
    second unit. The others are as in `pair_table`.
    """
    items, one, other, leaf = entries
    first, low, high = runs
    of_one, of_two = shares
    rows, begins = order
    size = len(begins) - 1
    row, column = np.zeros(size + 1), np.zeros(other_size + 1)
    for i in range(len(items)):
        p = items[i]
        a, b, v = one[p], other[p], value[leaf[p]]
        for r in range(first[a], first[a + 1]):
            row[low[r]] += v * of_one[a]
            row[high[r]] -= v * of_one[a]
        for s in range(first[b], first[b + 1]):
            column[low[s]] += v * of_one[b]
            column[high[s]] -= v * of_one[b]
    cumulate(row)
    cumulate(column)
    bounds, events, signs = sorted_events(items, one, runs, size)
    tree = np.zeros(other_size + 2)
    y = ranks[1]
    for r in range(size):
        for k in range(bounds[r], bounds[r + 1]):
            p = events[k]
            b = other[p]
            both = signs[k] * value[leaf[p]] * of_two[p]
            for s in range(first[b], first[b + 1]):
                add_point(tree, int(low[s]), both)
                add_point(tree, int(high[s]), -both)
        for k in range(begins[r], begins[r + 1]):
            i = rows[k]
            out[i] = prefix_sum(tree, int(y[i])) - row[r] - column[y[i]]


def sorted_events(
    items: Ints, one: Ints, runs: tuple[Ints, Indices, Indices], size: int
) -> tuple[Ints, Ints, Floats]:
    """Return where boxes begin and end along the first unit, in the order of its ranks."""
    first, low, high = runs
    bounds = np.zeros(size + 2, np.int64)
    for i in range(len(items)):
        for r in range(first[one[items[i]]], first[one[items[i]] + 1]):
            bounds[low[r] + 1] += 1
            bounds[high[r] + 1] += 1
    for r in range(size + 1):
        bounds[r + 1] += bounds[r]
    events, signs = np.empty(bounds[-1], np.int64), np.empty(bounds[-1], np.float64)
    filled = bounds.copy()
    for i in range(len(items)):
        for r in range(first[one[items[i]]], first[one[items[i]] + 1]):
            k, end = filled[low[r]], filled[high[r]]
            events[k], signs[k] = items[i], 1.0
            events[end], signs[end] = items[i], -1.0
            filled[low[r]] += 1
            filled[high[r]] += 1
    return bounds, events, signs
