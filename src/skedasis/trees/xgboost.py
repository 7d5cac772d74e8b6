"""Reader of XGBoost's models, from the JSON format in which XGBoost saves them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats
from skedasis.models.files import parse_xgboost_json
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


_INTEGER_FIELDS: dict[str, Any] = {
    "left_children": np.int32,
    "right_children": np.int32,
    "split_indices": np.int32,
    "split_type": np.uint8,
    "default_left": np.bool_,
}


_ROUNDED_TWICE = 7.038531e-26
"""The only decimal of a float32 that, read as float64, lies halfway between two float32 (all float32 were tried)."""


Part = dict[str, Any]


def load(model: Any) -> Ensemble:
    """Return the trees of an XGBModel or a Booster that its `predict` uses.

    XGBoost rounds X to single precision and sums leaves in single precision; sums in float64 differ from these by about
    1e-6 of their size. The leaves of a DART model include the weights of its trees.

    Raises
    ------
    TreesUnreadable
        For linear boosters, pandas categories, a `missing` other than NaN, and objectives without a known link.
    """
    missing = getattr(model, "missing", None)
    if missing is not None and not np.isnan(missing):
        raise TreesUnreadable(f"{missing!r} counts as missing in this XGBoost model")
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    learner: Part = parse_xgboost_json(booster.save_raw("json"), _tree)["learner"]
    inner = learner["gradient_booster"]
    if inner["name"] == "gblinear":
        raise TreesUnreadable("XGBoost's gblinear has no trees")
    if "c" in learner["feature_types"]:
        raise TreesUnreadable("XGBoost's own handling of categories is not supported")
    weights = _as_float32(inner["weight_drop"]) if inner["name"] == "dart" else None
    saved: Part = inner["gbtree"]["model"] if weights is not None else inner["model"]
    used = _n_used(saved, model, booster)
    trees = saved["trees"][:used]
    link = _link(
        learner["objective"]["name"], booster is not model, hasattr(model, "predict_proba")
    )
    params = learner["learner_model_param"]
    outputs = max(int(params["num_class"]), int(params.get("num_target", 1)), 1)
    nodes = _nodes(trees, weights)
    reading = ModelInfo(
        columns=int(params["num_feature"]),
        base=_base(params["base_score"], learner["objective"]["name"], outputs),
        title=type(model).__name__ if booster is not model else "XGBoost Booster",
        output=np.asarray(saved["tree_info"])[:used] if nodes.value.ndim == 1 else None,
        link="one_vs_rest" if link == "sigmoid" and outputs > 1 else link,
        classifier=hasattr(model, "predict_proba"),
        single=True,
        sums_single=True,
    )
    return assemble(nodes, reading)


def _tree(part: Part) -> Part:
    """Return the needed fields of a tree as arrays, because a number in a list takes up to 32 bytes instead of 4."""
    if "split_conditions" not in part:
        return part
    tree = {key: np.asarray(part[key], kind) for key, kind in _INTEGER_FIELDS.items()}
    tree["split_conditions"] = _as_float32(part["split_conditions"])
    if "leaf_weights" in part:
        tree["leaf_weights"] = _as_float32(part["leaf_weights"])
    return {**tree, "tree_param": part["tree_param"]}


def _as_float32(numbers: list[float]) -> NDArray[np.float32]:
    """Return the original float32 numbers, whose shortest decimals were read as float64."""
    doubles = np.asarray(numbers, np.float64)
    singles = doubles.astype(np.float32)
    twice = np.abs(doubles) == _ROUNDED_TWICE
    singles[twice] = np.nextafter(singles[twice], np.float32(0))
    return singles


def _n_used(saved: Part, model: Any, booster: Any) -> int:
    """Return the number of trees that `predict` uses: after early stopping, those up to the best iteration."""
    best = None if model is booster else getattr(model, "best_iteration", None)
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


def _nodes(trees: list[Part], weights: Any) -> Nodes:
    """Return the nodes of all trees. In XGBoost rows go left if ``x < threshold``, in single precision."""
    sizes = np.array([len(tree["left_children"]) for tree in trees], np.int64)
    if any(np.any(tree["split_type"]) for tree in trees):
        raise TreesUnreadable("XGBoost's own handling of categories is not supported")
    # The threshold of an inner node, the value of a leaf.
    condition = _joined(trees, "split_conditions", np.float32)
    left = _joined(trees, "left_children", np.int64)
    vectors = any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees)
    value = _vectors(trees) if vectors else condition
    if weights is not None:
        weight = np.repeat(weights[: len(trees)], sizes)
        value = value * (weight if value.ndim == 1 else weight[:, None])
    return Nodes(
        sizes=sizes,
        feature=_joined(trees, "split_indices", np.int64),
        threshold=np.nextafter(condition, np.float32(-np.inf)).astype(float),
        left=left,
        right=_joined(trees, "right_children", np.int64),
        missing_left=_joined(trees, "default_left", np.bool_),
        value=value.astype(float),
    )


def _joined(trees: list[Part], key: str, dtype: Any) -> Any:
    return np.concatenate([tree[key] for tree in trees] or [np.zeros(0)]).astype(dtype)


def _vectors(trees: list[Part]) -> Floats:
    """Return the leaf values of trees with several outputs. A leaf's `right_children` is the index of its values."""
    values: list[Floats] = []
    for tree in trees:
        if "leaf_weights" not in tree:
            raise TreesUnreadable(
                "this version of XGBoost stores leaves with several values in another form"
            )
        leaves = np.asarray(tree["leaf_weights"], np.float64)
        leaves = leaves.reshape(-1, int(tree["tree_param"]["size_leaf_vector"]))
        index = np.where(np.asarray(tree["left_children"]) < 0, tree["right_children"], 0)
        values.append(leaves[index])
    return np.concatenate(values)
