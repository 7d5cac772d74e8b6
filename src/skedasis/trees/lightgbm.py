"""Reader of LightGBM's models, from the text format in which LightGBM saves them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints, Level
from skedasis.models.protocols import has_predict_proba
from skedasis.trees.ensemble import Ensemble, Link, ModelInfo, Nodes, TreesUnreadable, assemble

_ZERO = float(np.float32(1e-35))
"""LightGBM treats values up to this absolute value as zero (its kZeroThreshold)."""

_CATEGORY, _DEFAULT_LEFT, _MISSING = 1, 2, 12
"""Bits of a node's `decision_type`."""

_ZERO_MISSING = 4
"""The value of its bits `_MISSING` if zeros are missing; 8 if NaN is."""


_IDENTITY = {
    "regression",
    "regression_l1",
    "huber",
    "fair",
    "quantile",
    "mape",
    "lambdarank",
    "rank_xendcg",
}


_LINKS: dict[str, Link] = {
    "poisson": "exp",
    "gamma": "exp",
    "tweedie": "exp",
    "binary": "sigmoid",
    "cross_entropy": "sigmoid",
    "multiclass": "softmax",
    "multiclassova": "one_vs_rest",
}


Head = dict[str, str]

ScalarT = TypeVar("ScalarT", bound=np.generic)


def load(model: Any) -> Ensemble:
    """Return the trees of an LGBMModel or a Booster that its `predict` uses."""
    booster = model.booster_ if hasattr(model, "booster_") else model
    head, trees = _parsed(booster.model_to_string())
    if any(_line(tree, "is_linear") == "1" for tree in trees):
        raise TreesUnreadable("LightGBM's linear trees have no constant leaves")
    classifier = has_predict_proba(model)
    link, scale = _link(head, classifier)
    outputs = int(head["num_tree_per_iteration"])
    columns = int(head["max_feature_idx"]) + 1
    nodes = _nodes(trees)
    if "average_output" in head and trees:
        nodes.value[:] /= len(trees) // outputs
    seen = _seen(head["feature_infos"].split())
    reading = ModelInfo(
        columns=columns,
        base=np.zeros(outputs),
        title=type(model).__name__ if booster is not model else "LightGBM Booster",
        output=np.arange(len(trees)) % outputs,
        link=link,
        scale=scale,
        levels=_levels(booster, head["feature_infos"].split(), seen),
        known=seen,
        also_missing=_zeros_missing(nodes, _ints(trees, "decision_type")),
        classifier=classifier,
    )
    return assemble(nodes, reading)


def _parsed(text: str) -> tuple[Head, list[str]]:
    """Return the fields of the header, and the text of each tree."""
    body = text[: text.index("\nend of trees")]
    first, *trees = body.split("\nTree=")
    head = {key: rest for key, _, rest in (line.partition("=") for line in first.split("\n"))}
    return head, trees


def _line(tree: str, key: str) -> str:
    """Return the value of a field of a tree, "" if it has no such field. Searching is faster than splitting lines."""
    start = tree.find(f"\n{key}=")
    if start < 0:
        return ""
    start += len(key) + 2
    stop = tree.find("\n", start)
    return tree[start:] if stop < 0 else tree[start:stop]


def _joined(trees: list[str], key: str) -> str:
    """Return the numbers of a field of all trees as text."""
    return " ".join([_line(tree, key) for tree in trees])


def _floats(trees: list[str], key: str) -> Floats:
    """Return the numbers of a field of all trees, concatenated."""
    return np.fromstring(_joined(trees, key), np.float64, sep=" ")


def _ints(trees: list[str], key: str) -> Ints:
    """Return the integers of a field of all trees, concatenated."""
    return np.fromstring(_joined(trees, key), np.int64, sep=" ")


def _nodes(trees: list[str]) -> Nodes:
    """Return the nodes: for each tree the inner nodes in LightGBM's order, then the leaves."""
    leaves = np.array([int(_line(tree, "num_leaves")) for tree in trees], np.int64)
    sizes = 2 * leaves - 1
    roots = np.cumsum(sizes) - sizes
    inner = _ranges(roots, leaves - 1)
    bottom = _ranges(roots + leaves - 1, leaves)
    count = int(sizes.sum())
    kind = _ints(trees, "decision_type")
    threshold = _floats(trees, "threshold")
    first = np.repeat(leaves - 1, leaves - 1)  # index of a tree's first leaf

    def child(key: str) -> Ints:
        index = _ints(trees, key)
        # LightGBM stores leaf i as ~i.
        return _scattered(count, inner, np.where(index >= 0, index, first + ~index), -1)

    category, sets = _sets(trees, kind, threshold, leaves - 1)
    return Nodes(
        sizes=sizes,
        feature=_scattered(count, inner, _ints(trees, "split_feature"), -1),
        threshold=_scattered(count, inner, _around_zero(threshold), 0.0),
        left=child("left_child"),
        right=child("right_child"),
        missing_left=_scattered(count, inner, _missing_left(kind, threshold), False),
        value=_scattered(count, bottom, _floats(trees, "leaf_value"), 0.0),
        category=_scattered(count, inner, category, -1),
        sets=sets,
    )


def _ranges(start: Ints, size: Ints) -> Ints:
    """Return the concatenated ranges start, …, start + size - 1."""
    before = np.cumsum(size) - size
    return np.arange(int(size.sum())) + np.repeat(start - before, size)


def _scattered(count: int, index: Ints, values: NDArray[ScalarT], fill: float) -> NDArray[ScalarT]:
    """Return an array with these values at these indices, and `fill` elsewhere."""
    full = np.full(count, fill, dtype=values.dtype)
    full[index] = values
    return full


def _missing_left(kind: Ints, threshold: Floats) -> Bools:
    """Return whether missing values go left: by the node's default, or like zero if training data had none."""
    default_left = kind & _DEFAULT_LEFT > 0
    left = np.where(kind & _MISSING > 0, default_left, threshold >= 0.0)
    return left & (kind & _CATEGORY == 0)


def _zeros_missing(nodes: Nodes, kind: Ints) -> dict[int, tuple[float, float]]:
    """Return the numbers that count as missing besides NaN, by column: zeros where the model has zero_as_missing."""
    feature = nodes.feature[nodes.feature >= 0]  # in the order of `kind`: inner nodes only
    numeric, zero = kind & _CATEGORY == 0, kind & _MISSING == _ZERO_MISSING
    columns = np.unique(feature[numeric & zero])
    if np.isin(columns, feature[numeric & ~zero]).any():
        raise TreesUnreadable("zeros count as missing in some trees of this LightGBM model only")
    return dict.fromkeys(columns.tolist(), (-_ZERO, _ZERO))


def _around_zero(threshold: Floats) -> Floats:
    """Return thresholds that split like LightGBM, which treats all of [-1e-35, 1e-35] as zero."""
    close = np.abs(threshold) <= _ZERO
    adjusted = np.where(threshold < 0, np.nextafter(-_ZERO, -1.0), _ZERO)
    return np.where(close, adjusted, threshold)


def _sets(trees: list[str], kind: Ints, threshold: Floats, inner: Ints) -> tuple[Ints, list[Ints]]:
    """Return the index of each node's set of categories (or -1), and the sets of categories that go left."""
    set_index, sets = np.full(len(kind), -1, np.int64), list[Ints]()
    tests = kind & _CATEGORY > 0
    if not tests.any():
        return set_index, sets
    starts = np.cumsum(inner) - inner
    for tree, start, size in zip(trees, starts, inner, strict=True):
        nodes = start + np.flatnonzero(tests[start : start + size])
        if not len(nodes):
            continue
        words = np.array(_line(tree, "cat_threshold").split(), np.uint32)
        bounds = np.array(_line(tree, "cat_boundaries").split(), np.int64)
        # In such a node, the threshold is the index of the set within the tree.
        set_index[nodes] = len(sets) + threshold[nodes].astype(np.int64)
        sets += [
            np.flatnonzero(np.unpackbits(words[a:b].view(np.uint8), bitorder="little"))
            for a, b in pairwise(bounds)
        ]
    return set_index, sets


def _link(head: Head, classifier: bool) -> tuple[Link, float]:
    """Return the link of `predict`, or of a classifier's `predict_proba`, and its scale."""
    name, *options = head.get("objective", "").split() or [""]
    scale = next((float(o.partition(":")[2]) for o in options if o.startswith("sigmoid:")), 1.0)
    if name in _LINKS:
        return _LINKS[name], scale
    if classifier:
        raise TreesUnreadable(
            "the link from sums to probabilities of one's own objective is not known"
        )
    if "sqrt" in options:
        raise TreesUnreadable("LightGBM squares the sums of a model with reg_sqrt")
    if not name or name in _IDENTITY:
        return "identity", 1.0
    raise TreesUnreadable(f"LightGBM's objective {name!r} has no known link")


def _seen(infos: list[str]) -> dict[int, Ints]:
    """Return the categories seen in training, by column."""
    return {
        column: np.sort(np.array([c for c in info.split(":") if int(c) >= 0], np.int64))
        for column, info in enumerate(infos)
        if info[0] != "[" and info != "none"
    }


def _levels(booster: Any, infos: list[str], seen: dict[int, Ints]) -> dict[int, list[Level]]:
    """Return the levels of pandas' categorical columns."""
    stored = getattr(booster, "pandas_categorical", None) or []
    columns = sorted(seen)
    constant = [column for column, info in enumerate(infos) if info == "none"]
    # A column whose range starts at 0 may contain the codes of an ordered categorical.
    maybe_ordered = any(info.startswith("[0:") for info in infos)
    if not maybe_ordered and len(stored) == len(seen) + len(constant):
        columns = sorted([*columns, *constant])
    levels = {column: list(names) for column, names in zip(columns, stored, strict=False)}
    fits = all(seen[c].max(initial=-1) < len(levels[c]) for c in seen if c in levels)
    if stored and (len(stored) != len(columns) or not fits):
        raise TreesUnreadable(
            "the columns of pandas categories of this LightGBM model cannot be determined"
        )
    return levels
