"""Reader of LightGBM's models, from the text format that they are saved in.

The text is read by whole columns (all thresholds of all trees at once), which is several times faster than its JSON.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.trees.ensemble import Ensemble, Link, Nodes, NoTrees, Reading, assemble

_ZERO = float(np.float32(1e-35))
"""LightGBM reads a value as zero whose size does not exceed this (its kZeroThreshold)."""


_CATEGORY, _DEFAULT_LEFT, _MISSING = 1, 2, 12
"""Bits of a node's `decision_type`."""


_ZERO_MISSING, _NAN_MISSING = 4, 8


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


def load(model: Any) -> Ensemble:
    """Return the trees of an LGBMModel or a Booster, as many as its `predict` uses.

    Raises
    ------
    NoTrees
        For linear trees, zeros that count as missing, answers that are no known function of the sums, and categories
        whose columns cannot be told.
    """
    booster = model.booster_ if hasattr(model, "booster_") else model
    head, trees = _parsed(booster.model_to_string())
    if any(_said(tree, "is_linear") == "1" for tree in trees):
        raise NoTrees("LightGBM's linear trees have no constant leaves")
    link, scale = _link(head, hasattr(model, "predict_proba"))
    outputs = int(head["num_tree_per_iteration"])
    columns = int(head["max_feature_idx"]) + 1
    nodes = _nodes(trees)
    if "average_output" in head and trees:
        nodes.value[:] /= len(trees) // outputs
    seen = _seen(head["feature_infos"].split())
    reading = Reading(
        columns=columns,
        base=np.zeros(outputs),
        title=type(model).__name__ if booster is not model else "LightGBM Booster",
        output=np.arange(len(trees)) % outputs,
        link=link,
        scale=scale,
        levels=_levels(booster, head["feature_infos"].split(), seen),
        known=seen,
        classifier=hasattr(model, "predict_proba"),
    )
    return assemble(nodes, reading)


def _parsed(text: str) -> tuple[Head, list[str]]:
    """Return the header's lines, by what stands before their first `=`, and the text of each tree."""
    body = text[: text.index("\nend of trees")]
    first, *trees = body.split("\nTree=")
    head = {key: rest for key, _, rest in (line.partition("=") for line in first.split("\n"))}
    return head, trees


def _said(tree: str, key: str) -> str:
    """Return what a tree's line holds; nothing where it has no such line. To search is faster than to cut all lines."""
    start = tree.find(f"\n{key}=")
    if start < 0:
        return ""
    start += len(key) + 2
    stop = tree.find("\n", start)
    return tree[start:] if stop < 0 else tree[start:stop]


def _numbers(trees: list[str], key: str, kind: Any = float) -> Any:
    """Return what a line holds in all trees, one after the other."""
    return np.fromstring(" ".join([_said(tree, key) for tree in trees]), kind, sep=" ")


def _nodes(trees: list[str]) -> Nodes:
    """Return the nodes: in each tree the inner ones first, as LightGBM counts them, then the leaves."""
    leaves = np.array([int(_said(tree, "num_leaves")) for tree in trees], np.int64)
    sizes = 2 * leaves - 1
    roots = np.cumsum(sizes) - sizes
    inner = _places(roots, leaves - 1)
    bottom = _places(roots + leaves - 1, leaves)
    count = int(sizes.sum())
    kind = _numbers(trees, "decision_type", np.int64)
    if ((kind & _MISSING == _ZERO_MISSING) & (kind & _CATEGORY == 0)).any():
        raise NoTrees("zeros count as missing in this LightGBM model (zero_as_missing)")
    limit = _numbers(trees, "threshold")
    first = np.repeat(leaves - 1, leaves - 1)  # where a tree's leaves begin

    def child(key: str) -> Ints:
        at = _numbers(trees, key, np.int64)
        return _spread(count, inner, np.where(at >= 0, at, first + ~at), -1)

    category, sets = _sets(trees, kind, limit, leaves - 1)
    return Nodes(
        sizes=sizes,
        feature=_spread(count, inner, _numbers(trees, "split_feature", np.int64), -1),
        threshold=_spread(count, inner, _around_zero(limit), 0.0),
        left=child("left_child"),
        right=child("right_child"),
        missing_left=_spread(count, inner, _missing_left(kind, limit), False),
        value=_spread(count, bottom, _numbers(trees, "leaf_value"), 0.0),
        category=_spread(count, inner, category, -1),
        sets=sets,
    )


def _places(start: Ints, size: Ints) -> Ints:
    """Return start, start + 1, … for each run of a size."""
    before = np.cumsum(size) - size
    return np.arange(int(size.sum())) + np.repeat(start - before, size)


def _spread(count: int, at: Ints, values: Any, rest: Any) -> Any:
    full = np.full(count, rest, dtype=values.dtype)
    full[at] = values
    return full


def _missing_left(kind: Ints, limit: Floats) -> Any:
    """Return where a missing value goes: where the node says, or, in one that knows of none, where zero goes.

    In a node that tests a category it goes right, like all that are not named.
    """
    told = kind & _DEFAULT_LEFT > 0
    left = np.where(kind & _MISSING == _NAN_MISSING, told, limit >= 0.0)
    return left & (kind & _CATEGORY == 0)


def _around_zero(limit: Floats) -> Floats:
    """Return thresholds that split as LightGBM does, for which all of [-1e-35, 1e-35] is zero."""
    close = np.abs(limit) <= _ZERO
    return np.where(close, np.where(limit < 0, np.nextafter(-_ZERO, -1.0), _ZERO), limit)


def _sets(trees: list[str], kind: Ints, limit: Floats, inner: Ints) -> tuple[Ints, list[Ints]]:
    """Return the place of each node's categories (or -1), and the categories that go left."""
    place, sets = np.full(len(kind), -1, np.int64), list[Ints]()
    tests = kind & _CATEGORY > 0
    if not tests.any():
        return place, sets
    starts = np.cumsum(inner) - inner
    for tree, start, size in zip(trees, starts, inner, strict=True):
        at = start + np.flatnonzero(tests[start : start + size])
        if not len(at):
            continue
        words = np.array(_said(tree, "cat_threshold").split(), np.uint32)
        bounds = np.array(_said(tree, "cat_boundaries").split(), np.int64)
        place[at] = len(sets) + limit[at].astype(np.int64)
        sets += [
            np.flatnonzero(np.unpackbits(words[a:b].view(np.uint8), bitorder="little"))
            for a, b in pairwise(bounds)
        ]
    return place, sets


def _link(head: Head, classifier: bool) -> tuple[Link, float]:
    """Return the link that `predict` (of a classifier: `predict_proba`) uses, and its scale."""
    name, *options = head.get("objective", "").split() or [""]
    scale = next((float(o.partition(":")[2]) for o in options if o.startswith("sigmoid:")), 1.0)
    if name in _LINKS:
        return _LINKS[name], scale
    if classifier:
        raise NoTrees("how probabilities follow from an objective of one's own is not known")
    if "sqrt" in options:
        raise NoTrees("LightGBM squares the sums of a model with reg_sqrt")
    if not name or name in _IDENTITY:
        return "identity", 1.0
    raise NoTrees(f"LightGBM's objective {name!r} has no known link")


def _seen(infos: list[str]) -> dict[int, Ints]:
    """Return the categories that were seen, by column."""
    return {
        column: np.sort(np.array([c for c in info.split(":") if int(c) >= 0], np.int64))
        for column, info in enumerate(infos)
        if info[0] != "[" and info != "none"
    }


def _levels(booster: Any, infos: list[str], seen: dict[int, Ints]) -> dict[int, list[Any]]:
    """Return the levels of pandas' categorical columns, which LightGBM keeps in the order of the columns.

    It does not keep which columns these are. They are those that are tested for categories, and a constant one may be
    among them; an ordered one is not told from numbers.
    """
    kept = getattr(booster, "pandas_categorical", None) or []
    columns = sorted(seen)
    constant = [column for column, info in enumerate(infos) if info == "none"]
    # What starts at a code of 0 could be an ordered one.
    codes = any(info.startswith("[0:") for info in infos)
    if not codes and len(kept) == len(seen) + len(constant):
        columns = sorted([*columns, *constant])
    levels = {column: list(names) for column, names in zip(columns, kept, strict=False)}
    fits = all(seen[c].max(initial=-1) < len(levels[c]) for c in seen if c in levels)
    if kept and (len(kept) != len(columns) or not fits):
        raise NoTrees("which columns of this LightGBM model hold pandas categories cannot be told")
    return levels
