"""`Ensemble`: the trees of a model as flat arrays, and its link function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints, Level
from skedasis.errors import UnsupportedError
from skedasis.trees.arrays import Indices, Integers

# --- the ensemble ---------------------------------------------------------------------------------


Link = Literal["identity", "sigmoid", "softmax", "exp", "normalised", "path", "one_vs_rest"]


LEAF = -1
"""The feature and the children of a leaf."""


@dataclass(frozen=True, eq=False)
class ModelInfo:
    """Properties of a model other than its nodes: how it reads X, and the link from sums to its response.

    By column, `levels` are the levels of X that are the categories 0, 1, …; other columns have the categories' codes.
    `known` are the categories that the model distinguishes; where there is none, those of the sets. `names` are what
    XGBoost compares with the names of X's categories; None if it takes their codes. `also_missing` are the smallest
    and the largest number that counts as missing, as NaN does. `takes_missing` and `takes_unknown` say whether the
    model accepts NaN, and levels that are not among `levels`. Unknown categories are missing if `unknown_missing`;
    else they go right in each test. `largest` is the largest size of a number that the model accepts.
    """

    columns: int
    base: Floats
    title: str = "ensemble of trees"
    output: Integers | None = None
    link: Link = "identity"
    scale: float = 1.0
    single: bool = False
    levels: Mapping[int, Sequence[Level]] = field(default_factory=dict)
    known: Mapping[int, Ints] = field(default_factory=dict)
    names: Mapping[int, Sequence[bytes] | None] = field(default_factory=dict)
    also_missing: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    classifier: bool = False
    sums_single: bool = False
    offset: float = 0.0
    takes_missing: bool = True
    takes_unknown: bool = True
    unknown_missing: bool = True
    largest: float = np.inf


@dataclass(frozen=True, eq=False, kw_only=True)
class Ensemble(ModelInfo):
    """Trees whose leaves are summed, and the link from the sums to the model's response.

    `sets` are the categories that go left, of each test of categories; `category` is the index of a node's set, or -1.
    """

    feature: Indices
    threshold: Floats
    left: Indices
    right: Indices
    missing_left: Bools
    category: Indices
    sets: Sequence[Ints]
    value: Floats
    output: Indices = field(default_factory=lambda: np.zeros(0, np.int32))
    roots: Ints

    @property
    def limited(self) -> bool:
        """Return whether there are values that the model does not accept."""
        return not self.takes_missing or not self.takes_unknown or self.largest < np.inf

    def outside(self, values: Floats) -> Bools:
        """Return which values the model does not accept."""
        beyond = np.abs(values) > self.largest
        return beyond if self.takes_missing else beyond | np.isnan(values)

    @property
    def trees(self) -> int:
        return len(self.roots) - 1

    @property
    def outputs(self) -> int:
        return len(self.base)

    @property
    def most_leaves(self) -> int:
        """Return the number of leaves of the largest tree."""
        n_leaves = np.concatenate([[0], np.cumsum(self.feature < 0)])
        return int(np.diff(n_leaves[self.roots]).max(initial=1))


# --- link functions -------------------------------------------------------------------------------


_ROUNDING = 1e-13
"""Deviation of a probability from 1 that is attributed to rounding."""


def apply_link(link: Link, scale: float, raw: Floats) -> Floats:
    """Return the response of the link function to the sums."""
    if link in {"sigmoid", "one_vs_rest", "softmax"}:
        from scipy.special import expit, softmax  # not above, to keep `import skedasis` fast

        return softmax(raw, axis=-1) if link == "softmax" else expit(scale * raw)
    if link == "exp":
        return np.exp(raw)
    if link == "normalised":
        return raw / raw.sum(axis=-1, keepdims=True)
    if link == "path":
        # Trees fitted to single rows have paths of length 0; scikit-learn returns -1/2 then.
        return -np.exp2(-raw / scale) if scale else np.full(raw.shape, -0.5)
    return raw


def method_response(ensemble: Ensemble, raw: Floats, name: str | None = None) -> Floats:
    """Return the response of a method of the model."""
    is_isolation = ensemble.link == "path"
    default = "predict_proba" if ensemble.classifier else "predict"
    default = "score_samples" if is_isolation else default
    method = name or default
    if method == default:
        response = apply_link(ensemble.link, ensemble.scale, raw)
    elif method == "decision_function" and (is_isolation or ensemble.classifier):
        scores = apply_link(ensemble.link, ensemble.scale, raw) if is_isolation else raw
        response = scores - ensemble.offset
    else:
        raise UnsupportedError(
            f"the trees of {ensemble.title}",
            f"a question for {method}",
            f"one for {default}",
            f"Explain {default} instead",
        )
    if method == "predict_proba" and ensemble.link == "identity":
        # Unanimous votes have probability 1, whose log odds raise an error. A rounded sum must not hide this.
        response = np.where(np.abs(response - 1.0) < _ROUNDING, 1.0, response)
    if method == "predict_proba" and ensemble.link == "sigmoid":
        return np.concatenate([1.0 - response, response], axis=-1)
    is_single = method != "predict_proba" and ensemble.outputs == 1
    return response[..., 0] if is_single else response


# --- assembly from the trees of a library ---------------------------------------------------------


class TreesUnreadable(Exception):  # noqa: N818  (no error of the user: the model is called instead)
    """Raised if a model cannot be converted exactly to an ensemble of trees."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ColumnsMixed(TreesUnreadable):
    """Raised if a step before the last one of a pipeline is not known to act on each column by itself."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of all trees, tree by tree, with children as indices relative to the root of their tree."""

    sizes: Integers
    feature: Integers
    threshold: Floats
    left: Integers
    right: Integers
    missing_left: NDArray[np.bool_ | np.uint8]
    value: Floats
    category: Integers | None = None
    sets: Sequence[Ints] = ()


def assemble(nodes: Nodes, reading: ModelInfo) -> Ensemble:
    """Return the ensemble of the nodes and properties of a model."""
    _check_children(nodes)
    roots = np.concatenate([[0], np.cumsum(nodes.sizes, dtype=np.int64)])
    shift = np.repeat(roots[:-1].astype(np.int32), nodes.sizes)
    inner = np.asarray(nodes.left) >= 0
    left = np.where(inner, nodes.left + shift, LEAF)
    right = np.where(inner, nodes.right + shift, LEAF)
    category, is_numeric = np.full(len(inner), -1, np.int32), inner
    if nodes.category is not None:
        category = np.where(inner, nodes.category, -1).astype(np.int32)
        is_numeric = inner & (category < 0)
    trees = len(nodes.sizes)
    default_output = -1 if nodes.value.ndim == 2 else 0
    output = np.full(trees, default_output) if reading.output is None else reading.output
    mask = inner if nodes.value.ndim == 1 else inner[:, None]
    reading = replace(reading, output=np.asarray(output, np.int32))
    ensemble = Ensemble(
        **vars(reading),
        feature=np.where(inner, nodes.feature, LEAF).astype(np.int32, copy=False),
        threshold=np.where(is_numeric, nodes.threshold, 0.0),
        left=left.astype(np.int32, copy=False),
        right=right.astype(np.int32, copy=False),
        missing_left=np.asarray(nodes.missing_left, bool) & inner,
        category=category,
        sets=nodes.sets,
        value=np.where(mask, 0.0, nodes.value),
        roots=roots,
    )
    ensemble = ensemble if _is_ordered(ensemble, inner) else _ordered(ensemble)
    _check_tests(ensemble)
    if np.isnan(ensemble.threshold).any():
        raise TreesUnreadable("a threshold of the model is not a number")
    return ensemble


def _check_children(nodes: Nodes) -> None:
    """Raise if a child is no node of its tree, or a node with children tests nothing."""
    inner = np.asarray(nodes.left) >= 0
    size = np.repeat(nodes.sizes, nodes.sizes)[inner]
    left, right = np.asarray(nodes.left)[inner], np.asarray(nodes.right)[inner]
    outside = (left >= size) | (right < 0) | (right >= size)
    if outside.any() or (np.asarray(nodes.feature)[inner] < 0).any():
        raise TreesUnreadable("a child is no node of its tree")


def _check_tests(ensemble: Ensemble) -> None:
    """Raise if a node tests a column or a set of categories that does not exist, or a tree has no output."""
    inner = ensemble.left >= 0
    feature, category = ensemble.feature[inner], ensemble.category[inner]
    tested = ((feature >= 0) & (feature < ensemble.columns) & (category < len(ensemble.sets))).all()
    if not tested or ((ensemble.output < -1) | (ensemble.output >= ensemble.outputs)).any():
        raise TreesUnreadable("an index of the model's nodes is outside of its array")


def _is_ordered(ensemble: Ensemble, inner: Bools) -> bool:
    """Return whether every node precedes its children, and each node is a root or a child."""
    index = np.arange(len(inner))
    precedes = ((ensemble.left > index) & (ensemble.right > index))[inner].all()
    return bool(precedes) and 2 * int(inner.sum()) + ensemble.trees == len(inner)


def _ordered(ensemble: Ensemble) -> Ensemble:
    """Return the ensemble with nodes ordered by depth in each tree, without nodes that no row can reach."""
    level = ensemble.roots[:-1]
    tree = np.arange(ensemble.trees)
    nodes, trees = [level], [tree]
    count = len(level)
    while len(level):
        inner = ensemble.feature[level] >= 0
        level, tree = level[inner], tree[inner]
        children = np.stack([ensemble.left[level], ensemble.right[level]], axis=1)
        level = children.ravel().astype(np.int64)
        tree = np.repeat(tree, 2)
        count += len(level)
        if count > len(ensemble.feature):
            raise TreesUnreadable("the model's nodes do not form trees")
        nodes.append(level)
        trees.append(tree)
    owner = np.concatenate(trees)
    order = np.argsort(owner, kind="stable")
    kept = np.concatenate(nodes)[order]
    # The last entry maps LEAF, -1, to itself.
    new_index = np.full(len(ensemble.feature) + 1, LEAF, np.int32)
    new_index[kept] = np.arange(len(kept))
    sizes = np.bincount(owner, minlength=ensemble.trees)
    return replace(
        ensemble,
        feature=ensemble.feature[kept],
        threshold=ensemble.threshold[kept],
        left=new_index[ensemble.left[kept]],
        right=new_index[ensemble.right[kept]],
        missing_left=ensemble.missing_left[kept],
        category=ensemble.category[kept],
        value=ensemble.value[kept],
        roots=np.concatenate([[0], np.cumsum(sizes)]),
    )
