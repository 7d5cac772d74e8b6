"""Permutation plan of PFI: the donor row of each row and repeat; subgroups for conditional PFI.

The plan is drawn before the first batch. The rows are put into a random cyclic order, and the donor of a row is the row
a fixed number of steps ahead of it. So every row is a donor exactly once, as in any permutation, and over random orders
each pair of rows is equally likely. The steps are whole blocks of the cycle, so that all rows of a block have their
donors in one other block; `stats.resampling.permutation_error` uses this to separate the variance between donors from
the variance between recipients.

No row is its own donor, although in a random permutation one row of n is, on average: with a fixed number of steps,
either all rows or none would be. Instead `distinct_fraction` gives the fraction of all ordered pairs that are pairs of
different rows; the remaining pairs, of a row with itself, leave the quantity unchanged.

The draws are keyed by the rows' ids. They do not depend on batches, threads or, with `row_id`, the order of rows. All
features share them, so that features are compared on the same pairs of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature
from skedasis.errors import UnsupportedError

# --- donors ---------------------------------------------------------------------------------------


BLOCKS = 127
"""Number of blocks of a cycle, between which the variance of rows is estimated."""

REPEATS_PER_CYCLE = 10
"""Repeats that share a cyclic order. More of them separate donors from recipients better, up to a limit."""

_MAX_ARC = 3
"""Maximum number of blocks that the longest arc may cover for the steps of weighted rows to be whole blocks."""

_SALT = 4098
"""Makes these draws independent of others with the same seed."""


@dataclass(frozen=True, eq=False)
class EqualCycle:
    """A cycle of blocks with equal numbers of rows, for rows of equal weight.

    `position`, (N,), is each row's in the cycle, and `row`, (N,), the row at each position. There are `size` rows in
    each of the `blocks`; the remaining rows form a small cycle of their own. `steps`, (r,), are those of each repeat,
    in blocks; 0 where each row keeps its own value.
    """

    position: NDArray[np.integer[Any]]
    row: NDArray[np.integer[Any]]
    size: int
    blocks: int
    steps: Floats

    @property
    def n_in_blocks(self) -> int:
        """Return the number of rows that belong to a block."""
        return self.size * self.blocks

    def donors(self, rows: Ints) -> Ints:
        """Return the positions of the rows' donors, (repeats, n)."""
        n_in_blocks = self.n_in_blocks
        n_rest = len(self.row) - n_in_blocks
        position = self.position[rows].astype(np.int64)
        steps = self.steps.astype(np.int64)[:, None]
        ahead = position + steps * self.size
        ahead = np.where(ahead >= n_in_blocks, ahead - n_in_blocks, ahead)
        if n_rest:
            in_rest = position >= n_in_blocks
            step = 1 + steps % (n_rest - 1)  # never the row itself
            rest = n_in_blocks + (position - n_in_blocks + step) % n_rest
            ahead = np.where(in_rest, rest, ahead)
        return self.row[ahead].astype(np.int64)

    def block(self, rows: Ints) -> Ints:
        """Return the rows' blocks, (n,); `blocks` for the remaining rows."""
        return np.minimum(self.position[rows] // self.size, self.blocks).astype(np.int64)

    def distinct_fraction(self, rows: Ints) -> float:
        """Return the fraction of each row's possible donors that are other rows."""
        return 1 - 1 / len(self.row)


@dataclass(frozen=True, eq=False)
class WeightedCycles:
    """Cycles on which each row covers an arc as long as its weight: one cycle, or one for each subgroup.

    The donor of a row is the row whose arc lies a given distance ahead of a point on the row's own arc: each row of
    the cycle with a probability proportional to its weight. `row`, (N,), are the rows in cyclic order, cycle by cycle,
    and `ends`, (N,), where the arc of each ends, measured from the start of the first cycle. `point`, (N,), is each
    row's, measured from the start of its `cycle`, (N,). `ahead`, (r, cycles), is the distance from a row to its donor,
    and `fraction`, (N,), that of a row's possible donors that are other rows, if the distances exclude the row itself.
    """

    row: Ints
    point: Floats
    cycle: Ints
    ends: Floats
    length: Floats
    ahead: Floats
    blocks: int
    fraction: Floats | None = None

    @property
    def n_in_blocks(self) -> int:
        """Return the number of rows: all belong to a block."""
        return len(self.row)

    @property
    def steps(self) -> Floats:
        """Return the distance from a row to its donor, in blocks."""
        return self.ahead[:, 0] / self.length[0] * self.blocks

    def donors(self, rows: Ints) -> Ints:
        """Return the positions of the rows' donors, (repeats, n)."""
        cycle = self.cycle[rows]
        length = self.length[cycle]
        start = np.append(0.0, np.cumsum(self.length))
        target = (self.point[rows] + self.ahead[:, cycle]) % length
        index = np.searchsorted(self.ends, start[cycle] + target, side="right")
        # Rounding may move a point to the very end of its cycle.
        last = np.searchsorted(self.ends, start[cycle + 1], side="left")
        return self.row[np.minimum(index, np.minimum(last, len(self.row) - 1))]

    def block(self, rows: Ints) -> Ints:
        fraction = self.point[rows] / self.length[self.cycle[rows]]
        return np.minimum((fraction * self.blocks).astype(np.int64), self.blocks - 1)

    def distinct_fraction(self, rows: Ints) -> Floats | float:
        """Return the fraction of each row's possible donors that are other rows; 1 if a row can be its own donor."""
        return 1.0 if self.fraction is None else self.fraction[rows]


CyclicPermutation: TypeAlias = EqualCycle | WeightedCycles
"""A cyclic order of the rows, and the steps of some repeats."""


@dataclass(frozen=True, eq=False)
class PermutationPlan:
    """The donors of all rows in all repeats: cyclic permutations, each with the steps of some repeats."""

    cycles: Sequence[CyclicPermutation]

    def donors(self, rows: Ints) -> Ints:
        """Return the positions of the rows' donors, shape (repeats, n)."""
        return np.concatenate([c.donors(rows) for c in self.cycles])

    @property
    def by_repeats(self) -> list[tuple[slice, CyclicPermutation]]:
        """Return each cyclic permutation with the slice of its repeats."""
        ends = np.cumsum([0, *(len(c.steps) for c in self.cycles)])
        return [(slice(ends[k], ends[k + 1]), c) for k, c in enumerate(self.cycles)]

    @property
    def blocks(self) -> int:
        """Return the largest number of blocks of a cycle."""
        return max(c.blocks for c in self.cycles)


def has_unequal_weights(weights: Floats | None) -> bool:
    """Return whether rows differ in weight."""
    return weights is not None and bool((weights != weights[0]).any())


def draw_donors(
    rows: int,
    order: Ints | None,
    n_repeats: int,
    seed: int,
    weights: Floats | None,
    subgroup: Ints | None = None,
) -> PermutationPlan:
    """Draw the donors of all rows and repeats, with probabilities proportional to `weights` if there are any.

    `order`, (N,), are the positions of the rows in the order of their ids; None if they are in this order. `subgroup`,
    (N,), numbers those to which the rows' donors belong, 0, 1, ….
    """
    equal = subgroup is None and not has_unequal_weights(weights)
    per_cycle = min(REPEATS_PER_CYCLE, max(1, (min(rows, BLOCKS) - 1) // 2))
    cycles: list[CyclicPermutation] = []
    for number, first in enumerate(range(0, n_repeats, per_cycle)):
        n_in_cycle = min(per_cycle, n_repeats - first)
        rng = np.random.default_rng([_SALT, seed, number])
        if equal:
            cycles.append(_draw_equal(rows, order, n_in_cycle, rng))
        else:
            cycles.append(_draw_weighted(rows, order, n_in_cycle, rng, weights, subgroup))
    return PermutationPlan(cycles)


def _draw_equal(n: int, order: Ints | None, n_repeats: int, rng: np.random.Generator) -> EqualCycle:
    """Draw a cyclic order of rows of equal weight."""
    # int32 halves the memory.
    dtype = np.int32 if n < 2**31 else np.int64
    position = np.arange(n, dtype=dtype)
    rng.shuffle(position)
    if order is not None:
        drawn, position = position, np.empty(n, dtype=dtype)
        position[order] = drawn
    row = np.empty(n, dtype=dtype)
    row[position] = np.arange(n, dtype=dtype)
    blocks = _n_blocks(n)
    steps = _draw_steps(1, blocks, n_repeats, rng)
    return EqualCycle(position, row, n // blocks, blocks, (steps % blocks).astype(float))


def _draw_steps(least: int, blocks: int, n_repeats: int, rng: np.random.Generator) -> Ints:
    """Draw steps of whole blocks, at least `least` in either direction."""
    half = max(least, (blocks - 1) // 2)
    # All steps differ, and none is the opposite of another, which would evaluate the same pairs of rows twice.
    steps = rng.permutation(half - least + 1)[:n_repeats] + least
    return np.where(rng.random(len(steps)) < 0.5, steps, blocks - steps)


def _n_blocks(n: int) -> int:
    """Return the number of blocks that leaves the fewest rows over, but not one row, which would have no donor."""
    if n <= BLOCKS:
        return n
    return min(range(BLOCKS, BLOCKS // 2, -1), key=lambda g: (n % g == 1, n % g))


def _draw_weighted(
    n: int,
    order: Ints | None,
    n_repeats: int,
    rng: np.random.Generator,
    weights: Floats | None,
    subgroup: Ints | None,
) -> WeightedCycles:
    """Draw cyclic orders of rows that differ in weight, or of the rows of each subgroup."""
    cycle = np.zeros(n, dtype=np.int64) if subgroup is None else subgroup
    drawn, within = np.empty(n), np.empty(n)
    by_id = slice(None) if order is None else order
    drawn[by_id], within[by_id] = rng.random(n), rng.random(n)
    row = np.lexsort((drawn, cycle))
    w = np.ones(n) if weights is None else weights
    ends = np.cumsum(w[row])
    length = np.bincount(cycle, w).astype(float)
    start = np.append(0.0, np.cumsum(length))[:-1]
    point = np.empty(n)
    blocks, fraction = min(n, BLOCKS), None
    if weights is None:
        # Whole steps from the middle of one arc to the middle of another: a permutation.
        ahead = 1 + np.floor(rng.random((n_repeats, len(length))) * (length - 1))
        within, fraction = np.full(n, 0.5), 1 - 1 / length[cycle]
    elif subgroup is None:
        ahead, excludes_own = _draw_distances(n, float(w.max()), float(length[0]), n_repeats, rng)
        fraction = 1 - w / length[0] if excludes_own else None
    else:
        ahead = rng.random((n_repeats, len(length))) * length
    point[row] = ends - w[row] - start[cycle[row]] + within[row] * w[row]
    return WeightedCycles(row, point, cycle, ends, length, ahead, blocks, fraction)


def _draw_distances(
    n: int, longest: float, length: float, n_repeats: int, rng: np.random.Generator
) -> tuple[Floats, bool]:
    """Draw the distances to the donors on one cycle, (repeats, 1); return also whether they exceed the longest arc."""
    least = max(1, int(np.ceil(longest * BLOCKS / length)))
    if n > BLOCKS and least <= _MAX_ARC and (BLOCKS - 1) // 2 - least + 1 >= n_repeats:
        steps = _draw_steps(least, BLOCKS, n_repeats, rng)
        return steps[:, None] * length / BLOCKS, True
    # With arcs that are long relative to the cycle, only distances from the whole cycle give unbiased donors. They are
    # stratified, so that they differ between repeats.
    drawn = (rng.permutation(n_repeats) + rng.random(n_repeats)) / n_repeats
    return drawn[:, None] * length, False


# --- subgroups for conditional PFI ----------------------------------------------------------------


def subgroups(dataset: Dataset, feature: Feature, rows: int, seed: int) -> Ints:
    """Return each row's subgroup, 0, 1, …, (N,): the leaf of a tree that predicts the feature from the others.

    Costs no model rows. The tree is fitted once for each feature, and splits that are not significant are pruned.
    Within a leaf the feature is nearly independent of the others, as far as axis-parallel splits can achieve this
    (Molnar et al. 2023).
    """
    others = [f for f in dataset.features if f.position not in feature.columns]
    if not others:
        return np.zeros(len(dataset), dtype=np.int64)
    try:
        from sklearn.tree import DecisionTreeRegressor
    except ImportError as error:
        raise UnsupportedError(
            "PFI(conditional=True)",
            "no scikit-learn, whose decision trees define the subgroups",
            "scikit-learn",
            "Install it: pip install 'skedasis[sklearn]'",
        ) from error
    # In the order of the rows' ids, because ties between splits are broken by the order of the rows.
    order = dataset.order
    predictors = np.concatenate([_numbers(dataset, f) for f in others], axis=1)[order]
    targets = np.concatenate(
        [_targets(dataset, dataset.features[j]) for j in feature.columns], axis=1
    )[order]
    weights = None if dataset.weights is None else dataset.weights[order]
    tree: Any = DecisionTreeRegressor(min_samples_leaf=rows, random_state=seed)
    tree.fit(predictors, targets, weights)
    leaf = _pruned(tree.tree_, len(others))[tree.apply(predictors)]
    subgroup = np.empty(len(dataset), dtype=np.int64)
    subgroup[order] = np.unique(leaf, return_inverse=True)[1]
    return subgroup


def _pruned(tree: Any, n_others: int) -> Ints:
    """Return for each node of a tree its ancestor that is a leaf after pruning splits that are not significant.

    Unpruned trees split noise, too, and rows with similar values of the feature itself would not form a valid subgroup.
    From the root down, a split is kept if it lowers the sum of squares by more than the critical value of the largest F
    statistic among all splits under independence (Andrews 1993: about 11; larger for several features), or if it does
    so together with the two splits below it, as for an interaction of two features.
    """
    critical = 11 + 2 * np.log(n_others)
    squares = tree.weighted_n_node_samples * tree.impurity
    left, right = tree.children_left, tree.children_right
    inner = left >= 0
    rest = np.where(inner, squares[left] + squares[right], squares)
    below = np.where(inner, rest[left] + rest[right], squares)
    rows = tree.n_node_samples
    is_kept = inner & ((squares - rest) * np.maximum(rows - 2, 1) > critical * rest)
    is_kept |= inner & ((squares - below) * np.maximum(rows - 4, 1) > 3 * critical * below)
    leaf = np.arange(tree.node_count)
    for node in range(tree.node_count):  # parents come before their children
        if left[node] >= 0 and (leaf[node] != node or not is_kept[node]):
            leaf[left[node]] = leaf[right[node]] = leaf[node]
    return leaf


def _numbers(dataset: Dataset, feature: Feature) -> Floats:
    """Return a feature as columns that a tree can split on: ranks or codes, or an indicator for each frequent level."""
    if not feature.categorical:
        column = dataset.floats(feature.position)
        # Ranks, because trees compute in float32, too coarse for values with a large offset. Missing values come last.
        return np.unique(column, return_inverse=True)[1].astype(float)[:, None]
    codes, values = dataset.coded(feature.position)
    if feature.kind == "ordinal":
        return codes[:, None].astype(float)
    common = np.argsort(-np.bincount(codes + 1, minlength=len(values) + 1), kind="stable")[:50]
    return (codes[:, None] + 1 == common).astype(float)


def _targets(dataset: Dataset, feature: Feature) -> Floats:
    """Return a feature's ranks or indicators, standardised so that the columns of a group have equal weight."""
    numbers = _numbers(dataset, feature)
    std = numbers.std(axis=0)
    return (numbers - numbers.mean(axis=0)) / np.where(std > 0, std, 1.0)
