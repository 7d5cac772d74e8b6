"""`Ensemble`: a sum of trees as flat arrays, the same for all libraries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints

Link = Literal["identity", "sigmoid", "softmax", "exp", "normalised", "path", "one_vs_rest"]
LEAF = -1


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees whose leaves are summed, and what is made of the sums.

    Nodes of all trees stand in one row; tree t has those from ``roots[t]`` to ``roots[t + 1] - 1``, its root first and
    every node before its children.

    Parameters
    ----------
    feature : ndarray of int32, shape (nodes,)
        The column that a node tests, -1 in leaves.
    threshold : ndarray of float, shape (nodes,)
        A row goes left where ``x <= threshold``. A model that compares by ``<`` has the next smaller number here.
    left, right : ndarray of int32, shape (nodes,)
        Children, counted over all trees; -1 in leaves.
    missing_left : ndarray of bool, shape (nodes,)
        Where a missing value goes; and, in a node that tests a category, one that is not known to the model.
    category : ndarray of int32, shape (nodes,)
        For a node that tests whether a category is among some: the place of these in `sets`; else -1.
    sets : sequence of ndarray of int
        Categories that go left.
    value : ndarray of float, shape (nodes,) or (nodes, outputs)
        What a leaf adds: to the one output of its tree, or to all. 0 in inner nodes.
    output : ndarray of int32, shape (trees,)
        The output that each tree adds to; -1 where leaves have a value for each.
    base : ndarray of float, shape (outputs,)
        What is there before the first tree.
    roots : ndarray of int64, shape (trees + 1,)
    columns : int
        Columns of X.
    single : bool
        Whether values are rounded to single precision before they are compared.
    levels : mapping of int to sequence
        By column: the categories in the order of their codes, where X holds something else than these codes.
    known : mapping of int to ndarray of int
        By column that is tested for categories: those that the model has seen. Others count as missing.
    link : str
        From sums to the model's answer.
    scale : float
        Of the link: the normaliser of path lengths.
    title : str
        The model's, for provenances.
    classifier : bool
        Whether the model's answers are probabilities, and its `predict` gives labels.
    sums_single : bool
        Whether the model adds its leaves up in single precision.
    offset : float
        Of an isolation forest: what `decision_function` takes off `score_samples`.
    """

    feature: NDArray[np.int32]
    threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: Bools
    category: NDArray[np.int32]
    sets: Sequence[Ints]
    value: Floats
    output: NDArray[np.int32]
    base: Floats
    roots: Ints
    columns: int
    single: bool = False
    levels: Mapping[int, Sequence[Any]] = field(default_factory=dict)
    known: Mapping[int, Ints] = field(default_factory=dict)
    link: Link = "identity"
    scale: float = 1.0
    title: str = "ensemble of trees"
    classifier: bool = False
    sums_single: bool = False
    offset: float = 0.0

    @property
    def trees(self) -> int:
        """Return the number of trees."""
        return len(self.roots) - 1

    @property
    def outputs(self) -> int:
        """Return the number of sums that are made."""
        return len(self.base)

    @property
    def most_leaves(self) -> int:
        """Return how many leaves the largest tree has."""
        reached = np.concatenate([[0], np.cumsum(self.feature < 0)])
        return int(np.diff(reached[self.roots]).max(initial=1))
