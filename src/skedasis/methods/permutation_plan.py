"""Permutation plan of PFI: the donor row of each row and repeat; subgroups for conditional PFI.

All rows stand on a circle, in a random order, and each borrows from the row that is some steps ahead of it. So every
row lends exactly once, as in any permutation; over random orders each pair of rows is equally likely; and what varies
with the lender can be told from what varies with the receiver (`resample.permutation_error`), for the steps are whole
blocks of the circle: a block's rows borrow from one other block's, all of them.

No row borrows from itself, as one of n does in a random permutation: drawn for all rows at once, that would come out
as all of them or none. It is counted instead: `others` says which part of all pairs are pairs of different rows, and
the pairs of a row with itself, which change nothing, make up the rest.

The draws belong to the rows' keys. They depend neither on batches nor on threads nor, with `row_id`, on the rows'
order; and all features share them, so that two features are compared by the same pairs of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints
from skedasis.data.dataset import Source
from skedasis.data.features import Feature
from skedasis.errors import UnsupportedError, explained

# ------------------------------------------------------------------------------------------
# Who lends whom its values: the permutations of PFI, drawn before the first batch.


BLOCKS = 127
"""Blocks of a circle: so many independent looks at how rows differ."""


STEPS = 10
"""Repeats that share a circle. Many of them tell lenders from receivers better, but not without end."""


_FEW = 3
"""Blocks that the longest arc of a weighted circle may cover for its steps to be whole blocks."""


_SALT = 4098
"""Keeps these draws apart from others that are made with the same seed."""


class Circle(Protocol):
    """Rows on a circle, and the steps of some repeats."""

    @property
    def steps(self) -> Floats:
        """Return the steps of each repeat, in blocks; 0 where each row keeps its own value."""
        ...

    @property
    def blocks(self) -> int:
        """Return how many blocks there are."""
        ...

    def lenders(self, places: Ints) -> Ints:
        """Return the places of the rows that these borrow from, (repeats, n)."""
        ...

    @property
    def inside(self) -> int:
        """Return how many rows stand in blocks."""
        ...

    def block(self, places: Ints) -> Ints:
        """Return the rows' blocks, (n,); `blocks` for rows that belong to none."""
        ...

    def others(self, places: Ints) -> Floats | float:
        """Return which part of a row's lenders are other rows, for each row, (n,), or for all."""
        ...


@dataclass(frozen=True, eq=False)
class Blocks:
    """A circle of blocks of equally many rows: for rows of equal weight.

    Parameters
    ----------
    at : ndarray of int, shape (N,)
        Each row's place on the circle.
    row : ndarray of int, shape (N,)
        The row at each place.
    size, blocks : int
        Rows of a block, and how many blocks. The rows left over have a small circle of their own.
    steps : ndarray of float, shape (r,)
    """

    at: NDArray[np.integer[Any]]
    row: NDArray[np.integer[Any]]
    size: int
    blocks: int
    steps: Floats

    @property
    def inside(self) -> int:
        """Return how many rows stand in blocks."""
        return self.size * self.blocks

    def lenders(self, places: Ints) -> Ints:
        """Return the places of the rows that these borrow from, (repeats, n)."""
        inside = self.inside
        over = len(self.row) - inside
        at, steps = self.at[places].astype(np.int64), self.steps.astype(np.int64)[:, None]
        ahead = at + steps * self.size
        ahead = np.where(ahead >= inside, ahead - inside, ahead)
        if over:
            aside = at >= inside
            turn = 1 + steps % (over - 1)  # anyone but itself
            ahead = np.where(aside, inside + (at - inside + turn) % over, ahead)
        return self.row[ahead].astype(np.int64)

    def block(self, places: Ints) -> Ints:
        """Return the rows' blocks, (n,)."""
        return np.minimum(self.at[places] // self.size, self.blocks).astype(np.int64)

    def others(self, places: Ints) -> float:
        """Return which part of each row's lenders are other rows."""
        return 1 - 1 / len(self.row)


@dataclass(frozen=True, eq=False)
class Arcs:
    """Circles of rows that take up arcs of the length of their weights: one circle, or one for each subgroup.

    Each row looks ahead from a point of its arc, and borrows from the row whose arc it meets: any row of its circle
    with the probability of its weight.

    Parameters
    ----------
    row : ndarray of int, shape (N,)
        Rows in order, circle by circle.
    point : ndarray of float, shape (N,)
        Each row's point, from the beginning of its circle.
    circle : ndarray of int, shape (N,)
        Each row's circle.
    ends : ndarray of float, shape (N,)
        Where each place's arc ends, from the beginning of all circles.
    length : ndarray of float, shape (circles,)
    ahead : ndarray of float, shape (r, circles)
        How far the rows look.
    blocks : int
    apart : ndarray of float, shape (N,), optional
        Which part of a row's lenders are other rows, where it looks too far to meet itself.
    """

    row: Ints
    point: Floats
    circle: Ints
    ends: Floats
    length: Floats
    ahead: Floats
    blocks: int
    apart: Floats | None = None

    @property
    def inside(self) -> int:
        """Return how many rows stand in blocks: all."""
        return len(self.row)

    @property
    def steps(self) -> Floats:
        """Return how far the rows look, in blocks."""
        return self.ahead[:, 0] / self.length[0] * self.blocks

    def lenders(self, places: Ints) -> Ints:
        """Return the places of the rows that these borrow from, (repeats, n)."""
        circle = self.circle[places]
        length = self.length[circle]
        start = np.append(0.0, np.cumsum(self.length))
        met = (self.point[places] + self.ahead[:, circle]) % length
        found = np.searchsorted(self.ends, start[circle] + met, side="right")
        # Rounding may carry a point to the very end of its circle.
        last = np.searchsorted(self.ends, start[circle + 1], side="left")
        return self.row[np.minimum(found, np.minimum(last, len(self.row) - 1))]

    def block(self, places: Ints) -> Ints:
        """Return the rows' blocks, (n,)."""
        share = self.point[places] / self.length[self.circle[places]]
        return np.minimum((share * self.blocks).astype(np.int64), self.blocks - 1)

    def others(self, places: Ints) -> Floats | float:
        """Return which part of each row's lenders are other rows; 1 where rows do meet themselves."""
        return 1.0 if self.apart is None else self.apart[places]


@dataclass(frozen=True, eq=False)
class Deal:
    """All repeats: circles, each with the steps of some of them.

    Parameters
    ----------
    circles : sequence of Circle
    """

    circles: Sequence[Circle]

    def lenders(self, places: Ints) -> Ints:
        """Return the places of the rows that these borrow from, shape (repeats, n)."""
        return np.concatenate([c.lenders(places) for c in self.circles])

    @property
    def turns(self) -> list[tuple[slice, Circle]]:
        """Return each circle with the repeats that it is for."""
        ends = np.cumsum([0, *(len(c.steps) for c in self.circles)])
        return [(slice(ends[k], ends[k + 1]), c) for k, c in enumerate(self.circles)]

    @property
    def blocks(self) -> int:
        """Return the largest number of blocks of a circle."""
        return max(c.blocks for c in self.circles)


def uneven(weights: Floats | None) -> bool:
    """Return whether rows differ in weight."""
    return weights is not None and bool((weights != weights[0]).any())


def deal(
    rows: int,
    order: Ints | None,
    repeats: int,
    seed: int,
    weights: Floats | None,
    circle: Ints | None = None,
) -> Deal:
    """Draw who lends to whom.

    Parameters
    ----------
    rows : int
        N.
    order : ndarray of int, shape (N,), optional
        The rows' places in the order of their keys; None where they stand in it.
    repeats, seed : int
    weights : ndarray of float, shape (N,), optional
        Rows lend in proportion to them.
    circle : ndarray of int, shape (N,), optional
        Each row's subgroup, 0, 1, …: rows borrow within it.
    """
    even = circle is None and not uneven(weights)
    shared = min(STEPS, max(1, (min(rows, BLOCKS) - 1) // 2))
    circles: list[Circle] = []
    for number, first in enumerate(range(0, repeats, shared)):
        part = min(shared, repeats - first)
        rng = np.random.default_rng([_SALT, seed, number])
        if even:
            circles.append(_even(rows, order, part, rng))
        else:
            circles.append(_arcs(rows, order, part, rng, weights, circle))
    return Deal(circles)


def _even(n: int, order: Ints | None, repeats: int, rng: np.random.Generator) -> Blocks:
    # Half the memory, where whole numbers of half the size will do.
    kind = np.int32 if n < 2**31 else np.int64
    at = np.arange(n, dtype=kind)
    rng.shuffle(at)
    if order is not None:
        drawn, at = at, np.empty(n, dtype=kind)
        at[order] = drawn
    row = np.empty(n, dtype=kind)
    row[at] = np.arange(n, dtype=kind)
    blocks = _blocks(n)
    steps = _steps(1, blocks, repeats, rng)
    return Blocks(at, row, n // blocks, blocks, (steps % blocks).astype(float))


def _steps(least: int, blocks: int, repeats: int, rng: np.random.Generator) -> Ints:
    """Return steps of whole blocks, no fewer than `least` in either direction."""
    half = max(least, (blocks - 1) // 2)
    # No two steps alike, nor one the other's opposite, which would ask the same pairs of rows twice.
    steps = rng.permutation(half - least + 1)[:repeats] + least
    return np.where(rng.random(len(steps)) < 0.5, steps, blocks - steps)


def _blocks(n: int) -> int:
    """Return how many blocks leave the fewest rows over; not one, which could borrow from nobody."""
    if n <= BLOCKS:
        return n
    return min(range(BLOCKS, BLOCKS // 2, -1), key=lambda g: (n % g == 1, n % g))


def _arcs(
    n: int,
    order: Ints | None,
    repeats: int,
    rng: np.random.Generator,
    weights: Floats | None,
    circle: Ints | None,
) -> Arcs:
    own = np.zeros(n, dtype=np.int64) if circle is None else circle
    drawn, within = np.empty(n), np.empty(n)
    known = slice(None) if order is None else order
    drawn[known], within[known] = rng.random(n), rng.random(n)
    row = np.lexsort((drawn, own))
    w = np.ones(n) if weights is None else weights
    ends = np.cumsum(w[row])
    length = np.bincount(own, w).astype(float)
    start = np.append(0.0, np.cumsum(length))[:-1]
    point = np.empty(n)
    blocks, apart = min(n, BLOCKS), None
    if weights is None:
        # Whole steps, from the middle of one arc to the middle of another: a permutation.
        ahead = 1 + np.floor(rng.random((repeats, len(length))) * (length - 1))
        within, apart = np.full(n, 0.5), 1 - 1 / length[own]
    elif circle is None:
        ahead, far = _weighted(n, float(w.max()), float(length[0]), repeats, rng)
        apart = 1 - w / length[0] if far else None
    else:
        ahead = rng.random((repeats, len(length))) * length
    point[row] = ends - w[row] - start[own[row]] + within[row] * w[row]
    return Arcs(row, point, own, ends, length, ahead, blocks, apart)


def _weighted(
    n: int, longest: float, length: float, repeats: int, rng: np.random.Generator
) -> tuple[Floats, bool]:
    """Return how far the rows of one circle look, (repeats, 1), and whether that is beyond the longest arc."""
    least = max(1, int(np.ceil(longest * BLOCKS / length)))
    if n > BLOCKS and least <= _FEW and (BLOCKS - 1) // 2 - least + 1 >= repeats:
        steps = _steps(least, BLOCKS, repeats, rng)
        return steps[:, None] * length / BLOCKS, True
    # Where arcs are long beside the circle only looks of any length are fair; spread, so that they differ.
    drawn = (rng.permutation(repeats) + rng.random(repeats)) / repeats
    return drawn[:, None] * length, False


# ------------------------------------------------------------------------------------------
# Subgroups of rows alike in all features but one: the leaves of a tree that predicts the one from the rest.


def subgroups(source: Source, feature: Feature, rows: int, seed: int) -> Ints:
    """Return each row's subgroup: 0, 1, …, shape (N,).

    Parameters
    ----------
    source : Source
    feature : Feature
        A column, or a group of columns.
    rows : int
        Rows of a subgroup at least.
    seed : int
        For equal splits of the tree.

    Raises
    ------
    UnsupportedError
        Without scikit-learn.

    Notes
    -----
    No model row; the tree is fitted once for each feature, and pruned of what chance explains. Within a leaf the
    feature hardly depends on the others any more, as far as axis-parallel splits can see it (Molnar et al. 2023).
    """
    others = [f for f in source.features if f.position not in feature.columns]
    if not others:
        return np.zeros(len(source), dtype=np.int64)
    try:
        from sklearn.tree import DecisionTreeRegressor
    except ImportError as error:
        raise UnsupportedError(
            explained(
                "PFI(conditional=True)",
                "no scikit-learn, whose trees find the subgroups",
                "scikit-learn",
                "Install it: pip install 'skedasis[sklearn]'",
            )
        ) from error
    # In the order of the rows' keys, for ties between splits are broken by what comes first.
    order = source.order
    known = np.concatenate([_numbers(source, f) for f in others], axis=1)[order]
    wanted = np.concatenate(
        [_targets(source, source.features[j]) for j in feature.columns], axis=1
    )[order]
    weights = None if source.weights is None else source.weights[order]
    tree: Any = DecisionTreeRegressor(min_samples_leaf=rows, random_state=seed)
    tree.fit(known, wanted, weights)
    leaf = _pruned(tree.tree_, len(others))[tree.apply(known)]
    found = np.empty(len(source), dtype=np.int64)
    found[order] = np.unique(leaf, return_inverse=True)[1]
    return found


def _pruned(tree: Any, others: int) -> Ints:
    """Return for each node of a tree the one that it ends in when splits that chance explains are taken back.

    A tree splits noise as well as anything else, and rows alike in the feature itself are no subgroup. From the root
    down a split stays if it lowers the sum of squares by more than the largest F statistic that one would find among
    all splits where there is nothing (Andrews 1993: about 11; more for several features), or if it does so together
    with the two splits below it: some features tell something together that neither tells alone.
    """
    critical = 11 + 2 * np.log(others)
    squares = tree.weighted_n_node_samples * tree.impurity
    left, right = tree.children_left, tree.children_right
    inner = left >= 0
    rest = np.where(inner, squares[left] + squares[right], squares)
    below = np.where(inner, rest[left] + rest[right], squares)
    rows = tree.n_node_samples
    stays = inner & ((squares - rest) * np.maximum(rows - 2, 1) > critical * rest)
    stays |= inner & ((squares - below) * np.maximum(rows - 4, 1) > 3 * critical * below)
    ends = np.arange(tree.node_count)
    for node in range(tree.node_count):  # parents come before their children
        if left[node] >= 0 and (ends[node] != node or not stays[node]):
            ends[left[node]] = ends[right[node]] = ends[node]
    return ends


def _numbers(source: Source, feature: Feature) -> Floats:
    """Return a feature as columns that a tree can split on: itself, or one of zeros and ones for each level."""
    if not feature.categorical:
        column = source.table.column(feature.position, source.row_id)
        # Ranks: trees compute in single precision, which an offset or a scale would exhaust. Missing comes last.
        return np.unique(column, return_inverse=True)[1].astype(float)[:, None]
    codes, values = source.table.coded(feature.position, source.row_id)
    if feature.kind == "ordinal":
        return codes[:, None].astype(float)
    common = np.argsort(-np.bincount(codes + 1, minlength=len(values) + 1), kind="stable")[:50]
    return (codes[:, None] + 1 == common).astype(float)


def _targets(source: Source, feature: Feature) -> Floats:
    """Return a feature's ranks or levels on one scale, so that columns of a group count alike."""
    numbers = _numbers(source, feature)
    spread = numbers.std(axis=0)
    return (numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
