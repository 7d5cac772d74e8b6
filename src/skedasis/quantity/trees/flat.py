"""From the trees of a library, each counted from its own root, to the one row of nodes of an `Ensemble`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints
from skedasis.quantity.trees.ensemble import LEAF, Ensemble, Link


class NoTrees(Exception):  # noqa: N818  (no failure of the user's: the general path is taken instead)
    """There is no exact way from a model to an ensemble of trees.

    Parameters
    ----------
    reason : str
        A clause for a provenance, such as "LightGBM's linear trees have no constant leaves".
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of all trees in one row, tree by tree, their children counted from the root of their tree.

    Parameters
    ----------
    sizes : ndarray of int, shape (trees,)
        Nodes of each tree. The first of them is its root.
    feature, left, right : ndarray of int, shape (nodes,)
        A leaf is a node whose `left` is negative.
    threshold : ndarray of float, shape (nodes,)
        Left is ``x <= threshold``. Ignored in leaves and where a category is tested.
    missing_left : ndarray of bool, shape (nodes,)
    value : ndarray of float, shape (nodes,) or (nodes, outputs)
        Ignored in inner nodes.
    category : ndarray of int, shape (nodes,), optional
        The place in `sets` of a node that tests a category, else -1.
    sets : sequence of ndarray of int
        Categories that go left.
    """

    sizes: NDArray[np.integer[Any]]
    feature: NDArray[np.integer[Any]]
    threshold: Floats
    left: NDArray[np.integer[Any]]
    right: NDArray[np.integer[Any]]
    missing_left: NDArray[Any]
    value: Floats
    category: NDArray[np.integer[Any]] | None = None
    sets: Sequence[Ints] = ()


@dataclass(frozen=True, eq=False)
class Reading:
    """What a library makes of the sums of its trees, and how it reads X. The names are those of `Ensemble`."""

    columns: int
    base: Floats
    title: str
    output: NDArray[np.integer[Any]] | None = None
    link: Link = "identity"
    scale: float = 1.0
    single: bool = False
    levels: Mapping[int, Sequence[Any]] = field(default_factory=dict)
    known: Mapping[int, Ints] = field(default_factory=dict)
    classifier: bool = False
    sums_single: bool = False
    offset: float = 0.0


def assemble(nodes: Nodes, reading: Reading) -> Ensemble:
    """Put trees and what is made of them together.

    Parameters
    ----------
    nodes : Nodes
    reading : Reading
        Without `output`, all trees add to the first output, or to each where leaves have a value for each.

    Returns
    -------
    Ensemble
        With every node before its children: trees that are not so are put in order, and nodes that no row can reach
        (some libraries keep what they have pruned) are left out.

    Raises
    ------
    NoTrees
        For a threshold that is no number, or nodes that are no trees.
    """
    roots = np.concatenate([[0], np.cumsum(nodes.sizes, dtype=np.int64)])
    shift = np.repeat(roots[:-1].astype(np.int32), nodes.sizes)
    inner = np.asarray(nodes.left) >= 0
    left = np.where(inner, nodes.left + shift, LEAF)
    right = np.where(inner, nodes.right + shift, LEAF)
    category, numbers = np.full(len(inner), -1, np.int32), inner
    if nodes.category is not None:
        category = np.where(inner, nodes.category, -1).astype(np.int32)
        numbers = inner & (category < 0)
    trees = len(nodes.sizes)
    spread = LEAF if nodes.value.ndim == 2 else 0
    output = np.full(trees, spread) if reading.output is None else reading.output
    mask = inner if nodes.value.ndim == 1 else inner[:, None]
    told: dict[str, Any] = {f.name: getattr(reading, f.name) for f in fields(reading)}
    told["output"] = np.asarray(output, np.int32)
    whole = Ensemble(
        feature=np.where(inner, nodes.feature, LEAF).astype(np.int32, copy=False),
        threshold=np.where(numbers, nodes.threshold, 0.0),
        left=left.astype(np.int32, copy=False),
        right=right.astype(np.int32, copy=False),
        missing_left=np.asarray(nodes.missing_left, bool) & inner,
        category=category,
        sets=nodes.sets,
        value=np.where(mask, 0.0, nodes.value),
        roots=roots,
        **told,
    )
    whole = whole if _in_order(whole, inner) else _ordered(whole)
    if np.isnan(whole.threshold).any():
        raise NoTrees("a threshold of the model is not a number")
    return whole


def _in_order(whole: Ensemble, inner: Bools) -> bool:
    """Return whether every node stands before its children, and each is the root or a child."""
    own = np.arange(len(inner))
    after = ((whole.left > own) & (whole.right > own))[inner].all()
    return bool(after) and 2 * int(inner.sum()) + whole.trees == len(inner)


def _ordered(whole: Ensemble) -> Ensemble:
    """Return the nodes level by level in each tree, without those that no row can reach."""
    level = whole.roots[:-1]
    tree = np.arange(whole.trees)
    nodes, trees = [level], [tree]
    count = len(level)
    while len(level):
        split = whole.feature[level] >= 0
        level, tree = level[split], tree[split]
        level = np.stack([whole.left[level], whole.right[level]], axis=1).ravel().astype(np.int64)
        tree = np.repeat(tree, 2)
        count += len(level)
        if count > len(whole.feature):
            raise NoTrees("the model's nodes do not form trees")
        nodes.append(level)
        trees.append(tree)
    owner = np.concatenate(trees)
    order = np.argsort(owner, kind="stable")
    kept = np.concatenate(nodes)[order]
    place = np.full(
        len(whole.feature) + 1, LEAF, np.int32
    )  # the last is for LEAF, counted from the end
    place[kept] = np.arange(len(kept))
    sizes = np.bincount(owner, minlength=whole.trees)
    return replace(
        whole,
        feature=whole.feature[kept],
        threshold=whole.threshold[kept],
        left=place[whole.left[kept]],
        right=place[whole.right[kept]],
        missing_left=whole.missing_left[kept],
        category=whole.category[kept],
        value=whole.value[kept],
        roots=np.concatenate([[0], np.cumsum(sizes)]),
    )
