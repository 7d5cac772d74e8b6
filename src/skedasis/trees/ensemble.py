"""`Ensemble`: the trees of a model as flat arrays, its link function, and its reference evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from skedasis._types import Bools, Floats, Ints
from skedasis.errors import UnsupportedError, explained

# ------------------------------------------------------------------------------------------
# `Ensemble`: a sum of trees as flat arrays, the same for all libraries.


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


# ------------------------------------------------------------------------------------------
# From the sums of an ensemble to what its model answers.


_ROUNDING = 1e-13


def answers(link: Link, scale: float, raw: Floats) -> Floats:
    """Return what a model makes of its sums.

    Parameters
    ----------
    link : str
        - "identity": the sums themselves; a forest's mean is in its leaves;
        - "exp": the mean of a count or a positive number;
        - "sigmoid": 1 / (1 + exp(-scale · raw)), the probability of the second of two classes;
        - "one_vs_rest": the same of each output by itself;
        - "softmax": the probabilities of all classes;
        - "normalised": shares, where the sums are not negative;
        - "path": ``-2 ** (-raw / scale)``, an isolation forest's `score_samples` (Liu, Ting & Zhou 2008, Eq. 2).
    scale : float
    raw : ndarray of float, shape (..., outputs)

    Returns
    -------
    ndarray of float, shape (..., outputs)

    Examples
    --------
    >>> answers("sigmoid", 2.0, np.array([[0.0], [0.5]])).tolist()
    [[0.5], [0.7310585786]]
    """
    if link in {"sigmoid", "one_vs_rest"}:
        return expit(scale * raw)
    if link == "softmax":
        return softmax(raw, axis=-1)
    if link == "exp":
        return np.exp(raw)
    if link == "normalised":
        return raw / raw.sum(axis=-1, keepdims=True)
    if link == "path":
        # Trees of single rows have no paths: scikit-learn says -1/2 of all rows then.
        return -np.exp2(-raw / scale) if scale else np.full(raw.shape, -0.5)
    return raw


def answer(ensemble: Ensemble, raw: Floats, name: str | None = None) -> Floats:
    """Return what a method of the model answers.

    Parameters
    ----------
    ensemble : Ensemble
    raw : ndarray of float, shape (..., outputs)
        Sums of leaves, with the base.
    name : {"predict", "predict_proba", "decision_function", "score_samples"}, optional
        The method. By default `predict_proba` of a classifier, `score_samples` of an isolation forest, and `predict` of
        all others.

    Returns
    -------
    ndarray of float, shape (...) or (..., outputs)
        As the model does: without the last axis where there is one output, and for two classes with a column of each.

    Raises
    ------
    UnsupportedError
        For labels, which are no numbers, and any other method.
    """
    isolates = ensemble.link == "path"
    natural = "score_samples" if isolates else "predict_proba" if ensemble.classifier else "predict"
    asked = name or natural
    if asked == natural:
        found = answers(ensemble.link, ensemble.scale, raw)
    elif asked == "decision_function" and (isolates or ensemble.classifier):
        scores = answers(ensemble.link, ensemble.scale, raw) if isolates else raw
        found = scores - ensemble.offset
    else:
        raise UnsupportedError(
            explained(
                f"the trees of {ensemble.title}",
                f"a question for {asked}",
                f"one for {natural}",
                f"Explain {natural} instead",
            )
        )
    if asked == "predict_proba" and ensemble.link == "identity":
        # A share of all votes is 1: what rounding made of their sum would have log odds, which 1 has not.
        found = np.where(np.abs(found - 1.0) < _ROUNDING, 1.0, found)
    if asked == "predict_proba" and ensemble.link == "sigmoid":
        return np.concatenate([1.0 - found, found], axis=-1)
    plain = asked != "predict_proba" and ensemble.outputs == 1
    return found[..., 0] if plain else found


# ------------------------------------------------------------------------------------------
# From the trees of a library, each counted from its own root, to the one row of nodes of an `Ensemble`.


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


# ------------------------------------------------------------------------------------------
# An ensemble evaluated in the plainest way: what the fast paths are compared with.


_LARGEST = 2**31
"""LightGBM casts categories to 32 bits; what does not fit becomes negative."""


def as_codes(ensemble: Ensemble, X: Any) -> Floats:
    """Return X as numbers: where the ensemble knows the levels of a column, each value's place among them, else NaN.

    Parameters
    ----------
    ensemble : Ensemble
    X : array or pandas frame, shape (n, columns)

    Returns
    -------
    ndarray of float, shape (n, columns)
    """
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else np.asarray(X).__getitem__
    columns: list[Any] = []
    for s in range(ensemble.columns):
        values = np.asarray(take((slice(None), s)))
        if s in ensemble.levels:
            place = {level: code for code, level in enumerate(ensemble.levels[s])}
            columns.append([place.get(value, np.nan) for value in values.tolist()])
        else:
            columns.append(values.astype(float))
    return np.array(columns, float).T.reshape(len(X), ensemble.columns)


def raw_scores(ensemble: Ensemble, X: Floats) -> Floats:
    """Return the sums of an ensemble, walking every row down every tree.

    Parameters
    ----------
    ensemble : Ensemble
    X : ndarray of float, shape (n, columns)
        Numbers, and codes of categories (`as_codes`). A category is a whole number from 0; between two of them the one
        nearer to 0 is meant, and what is no category that the model has seen is missing.

    Returns
    -------
    ndarray of float, shape (n, outputs)
    """
    raw = np.tile(ensemble.base, (len(X), 1))
    with np.errstate(over="ignore"):  # what is beyond single precision becomes infinite
        rounded = X.astype(np.float32).astype(float) if ensemble.single else X
    for i, row in enumerate(rounded):
        for t in range(ensemble.trees):
            leaf = _leaf(ensemble, row, int(ensemble.roots[t]))
            output = ensemble.output[t]
            if output < 0:
                raw[i] += ensemble.value[leaf]
            else:
                raw[i, output] += ensemble.value[leaf]
    return raw


def _leaf(ensemble: Ensemble, row: Floats, node: int) -> int:
    while ensemble.feature[node] >= 0:
        goes = _goes_left(ensemble, row, node)
        node = int(ensemble.left[node] if goes else ensemble.right[node])
    return node


def _goes_left(ensemble: Ensemble, row: Floats, node: int) -> bool:
    column = int(ensemble.feature[node])
    x = float(row[column])
    if ensemble.category[node] < 0:
        return bool(ensemble.missing_left[node] if np.isnan(x) else x <= ensemble.threshold[node])
    if not -1 < x < _LARGEST or int(x) not in ensemble.known[column]:
        return bool(ensemble.missing_left[node])
    return int(x) in ensemble.sets[ensemble.category[node]]
