"""Reader of XGBoost's models, from the JSON format in which XGBoost saves them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Values
from skedasis.models.files import best_iteration
from skedasis.models.protocols import has_predict_proba
from skedasis.trees.arrays import Indices
from skedasis.trees.ensemble import Ensemble, Link, ModelInfo, Nodes, TreesUnreadable, assemble

_LINKS: dict[str, Link] = {
    "binary:logistic": "sigmoid",
    "binary:logitraw": "identity",
    "count:poisson": "exp",
    "multi:softmax": "softmax",
    "multi:softprob": "softmax",
    "rank:map": "identity",
    "rank:ndcg": "identity",
    "rank:pairwise": "identity",
    "reg:absoluteerror": "identity",
    "reg:gamma": "exp",
    "reg:logistic": "sigmoid",
    "reg:pseudohubererror": "identity",
    "reg:quantileerror": "identity",
    "reg:squarederror": "identity",
    "reg:squaredlogerror": "identity",
    "reg:tweedie": "exp",
    "survival:aft": "exp",
    "survival:cox": "exp",
}


_PROBABILITIES = {"binary:logistic", "multi:softmax", "multi:softprob"}


_ROUNDED_TWICE = 7.038531e-26
"""The only decimal of a float32 that, read as float64, lies halfway between two float32 (all float32 were tried)."""


Singles: TypeAlias = NDArray[np.float32]

ScalarT = TypeVar("ScalarT", bound=np.generic)


@dataclass(frozen=True, eq=False)
class _Tree:
    """The needed fields of a tree as arrays, because a number in a list takes up to 32 bytes instead of 4."""

    left: Indices
    right: Indices
    feature: Indices
    categorical: Bools
    missing_left: Bools
    condition: Singles
    leaf_size: int
    leaf_values: Singles | None


def load(model: Any) -> Ensemble:
    """Return the trees of an XGBModel or a Booster that its `predict` uses."""
    missing = getattr(model, "missing", None)
    if missing is not None and not np.isnan(missing):
        raise TreesUnreadable(f"{missing!r} counts as missing in this XGBoost model")
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    learner = parse_xgboost_json(booster.save_raw("json"))["learner"]
    inner = learner["gradient_booster"]
    if inner["name"] == "gblinear":
        raise TreesUnreadable("XGBoost's gblinear has no trees")
    if "c" in learner["feature_types"]:
        raise TreesUnreadable("XGBoost's own handling of categories is not supported")
    saved = inner["gbtree"]["model"] if inner["name"] == "dart" else inner["model"]
    # XGBoost wrote the weights of dropped trees into the booster, and from 3.4 on into the model.
    dropped = saved.get("weight_drop", inner.get("weight_drop"))
    weights = None if dropped is None else _as_float32(dropped)
    best = best_iteration(learner["attributes"])
    used = _n_used(saved, best if model is booster else getattr(model, "best_iteration", None))
    trees: list[_Tree] = saved["trees"][:used]
    classifier = has_predict_proba(model)
    link = _link(learner["objective"]["name"], booster is not model, classifier)
    params = learner["learner_model_param"]
    outputs = max(int(params["num_class"]), int(params.get("num_target", 1)), 1)
    nodes = _nodes(trees, weights)
    reading = ModelInfo(
        columns=int(params["num_feature"]),
        base=_base(params["base_score"], learner["objective"]["name"], outputs),
        title=type(model).__name__ if booster is not model else "XGBoost Booster",
        output=np.asarray(saved["tree_info"])[:used] if nodes.value.ndim == 1 else None,
        link="one_vs_rest" if link == "sigmoid" and outputs > 1 else link,
        classifier=classifier,
        single=True,
        sums_single=True,
    )
    return assemble(nodes, reading)


def parse_xgboost_json(saved: bytes | bytearray) -> dict[str, Any]:
    r"""Return the parsed JSON of a saved model, whose decimals give every number of the model exactly."""
    # Only names and attributes, which are not used, may have characters beyond ASCII. Latin-1 makes one character of
    # each byte; in another decoding a single wider character would double the memory of the whole text.
    text = saved.decode("latin-1")
    try:
        return json.loads(text, object_hook=_tree)
    except ValueError:
        # XGBoost does not escape a backslash before a "u", so a name such as "C:\users" makes the JSON invalid.
        return json.loads(text.replace("\\u", "\\\\u"), object_hook=_tree)


def _tree(part: dict[str, Any]) -> dict[str, Any] | _Tree:
    """Return a JSON object, if it is a tree, as `_Tree`."""
    if "split_conditions" not in part:
        return part
    return _Tree(
        left=np.asarray(part["left_children"], np.int32),
        right=np.asarray(part["right_children"], np.int32),
        feature=np.asarray(part["split_indices"], np.int32),
        categorical=np.asarray(part["split_type"], np.bool_),
        missing_left=np.asarray(part["default_left"], np.bool_),
        condition=_as_float32(part["split_conditions"]),
        leaf_size=int(part["tree_param"]["size_leaf_vector"]),
        leaf_values=_as_float32(part["leaf_weights"]) if "leaf_weights" in part else None,
    )


def _as_float32(numbers: list[float]) -> Singles:
    """Return the original float32 numbers, whose shortest decimals were read as float64."""
    doubles = np.asarray(numbers, np.float64)
    singles = doubles.astype(np.float32)
    twice = np.abs(doubles) == _ROUNDED_TWICE
    singles[twice] = np.nextafter(singles[twice], np.float32(0))
    return singles


def _n_used(saved: dict[str, Any], best: int | None) -> int:
    """Return the number of trees that `predict` uses: after early stopping, those up to the best iteration."""
    if best is None:
        return len(saved["trees"])
    return int(np.asarray(saved["iteration_indptr"])[best + 1])


def _link(objective: str, estimator: bool, classifier: bool) -> Link:
    """Return the link of `predict`, or of a classifier's `predict_proba`."""
    if objective not in _LINKS:
        raise TreesUnreadable(f"XGBoost's objective {objective!r} has no known link")
    if classifier and objective not in _PROBABILITIES:
        raise TreesUnreadable(f"probabilities do not follow from XGBoost's objective {objective!r}")
    if objective == "multi:softmax" and not estimator:
        raise TreesUnreadable("a booster with the objective 'multi:softmax' predicts labels")
    return _LINKS[objective]


def _base(score: str, objective: str, outputs: int) -> Floats:
    """Return the intercepts as sums. XGBoost saves them as predictions if the link has an inverse."""
    given = _as_float32([float(number) for number in score.strip("[]").split(",")])
    base = np.broadcast_to(given.astype(float), outputs)
    link = _LINKS[objective]
    if link == "exp":
        return np.log(base)
    if link == "sigmoid":
        return np.log(base) - np.log1p(-base)
    return base


def _nodes(trees: list[_Tree], weights: Singles | None) -> Nodes:
    sizes = np.array([len(tree.left) for tree in trees], np.int64)
    if any(tree.categorical.any() for tree in trees):
        raise TreesUnreadable("XGBoost's own handling of categories is not supported")
    condition = _joined([tree.condition for tree in trees], np.float32)
    value = _vectors(trees) if any(tree.leaf_size > 1 for tree in trees) else condition
    if weights is not None:
        weight = np.repeat(weights[: len(trees)], sizes)
        value = value * (weight if value.ndim == 1 else weight[:, None])
    return Nodes(
        sizes=sizes,
        feature=_joined([tree.feature for tree in trees], np.int64),
        threshold=np.nextafter(condition, np.float32(-np.inf)).astype(float),
        left=_joined([tree.left for tree in trees], np.int64),
        right=_joined([tree.right for tree in trees], np.int64),
        missing_left=_joined([tree.missing_left for tree in trees], np.bool_),
        value=value.astype(float),
    )


def _joined(parts: Sequence[Values], dtype: type[ScalarT]) -> NDArray[ScalarT]:
    return np.concatenate(parts or [np.zeros(0)]).astype(dtype)


def _vectors(trees: list[_Tree]) -> Floats:
    """Return the leaf values of trees with several outputs. A leaf's `right_children` is the index of its values."""
    values: list[Floats] = []
    for tree in trees:
        if tree.leaf_values is None:
            raise TreesUnreadable(
                "this version of XGBoost stores leaves with several values in another form"
            )
        leaves = tree.leaf_values.astype(float).reshape(-1, tree.leaf_size)
        values.append(leaves[np.where(tree.left < 0, tree.right, 0)])
    return np.concatenate(values)
