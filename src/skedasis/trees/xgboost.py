"""Reader of XGBoost's models, from the JSON format in which XGBoost saves them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NotRequired, TypeAlias, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Container, Floats, Ints, Level, Values
from skedasis.data.containers import Table
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
    nodes_of_sets: Ints
    sets: list[Ints]
    missing_left: Bools
    condition: Singles
    leaf_size: int
    leaf_values: Singles | None


def load(model: Any) -> Ensemble:
    """Return the trees of an XGBModel or a Booster that its `predict` uses."""
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    learner = parse_xgboost_json(booster.save_raw("json"))["learner"]
    inner = learner["gradient_booster"]
    if inner["name"] == "gblinear":
        raise TreesUnreadable("XGBoost's gblinear has no trees")
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
    nodes, categorical = _nodes(trees, weights)
    columns = int(params["num_feature"])
    levels, names = _names(saved.get("cats", {}).get("enc", []), categorical)
    reading = ModelInfo(
        columns=columns,
        base=_base(params["base_score"], learner["objective"]["name"], outputs),
        title=type(model).__name__ if booster is not model else "XGBoost Booster",
        output=np.asarray(saved["tree_info"])[:used] if nodes.value.ndim == 1 else None,
        link="one_vs_rest" if link == "sigmoid" and outputs > 1 else link,
        classifier=classifier,
        single=True,
        sums_single=True,
        levels=levels,
        names=names,
        also_missing=_also_missing(getattr(model, "missing", None), columns, categorical),
        takes_unknown=False,
        unknown_missing=False,
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
        nodes_of_sets=np.asarray(part.get("categories_nodes", ()), np.int64),
        sets=_sets(*(part.get(f"categories{key}", []) for key in ("", "_segments", "_sizes"))),
        missing_left=np.asarray(part["default_left"], np.bool_),
        condition=_as_float32(part["split_conditions"]),
        leaf_size=int(part["tree_param"]["size_leaf_vector"]),
        leaf_values=_as_float32(part["leaf_weights"]) if "leaf_weights" in part else None,
    )


def _sets(categories: list[int], starts: list[int], sizes: list[int]) -> list[Ints]:
    """Return the sets of categories of a tree, which go right."""
    values = np.asarray(categories, np.int64)
    return [values[start : start + size] for start, size in zip(starts, sizes, strict=True)]


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


def _nodes(trees: list[_Tree], weights: Singles | None) -> tuple[Nodes, Ints]:
    """Return the nodes of all trees, and the columns that are tested for categories."""
    sizes = np.array([len(tree.left) for tree in trees], np.int64)
    condition = _joined([tree.condition for tree in trees], np.float32)
    value = _vectors(trees) if any(tree.leaf_size > 1 for tree in trees) else condition
    if weights is not None:
        weight = np.repeat(weights[: len(trees)], sizes)
        value = value * (weight if value.ndim == 1 else weight[:, None])
    feature = _joined([tree.feature for tree in trees], np.int64)
    left = _joined([tree.left for tree in trees], np.int64)
    right = _joined([tree.right for tree in trees], np.int64)
    missing_left = _joined([tree.missing_left for tree in trees], np.bool_)
    sets = [categories for tree in trees for categories in tree.sets]
    category = np.full(len(left), -1, np.int64)
    starts = np.cumsum(sizes) - sizes
    parts = [s + tree.nodes_of_sets for s, tree in zip(starts, trees, strict=True)]
    category[_joined(parts, np.int64)] = np.arange(len(sets))
    by_set = _joined([tree.categorical for tree in trees], np.bool_) & (left >= 0)
    if (category[by_set] < 0).any():
        raise TreesUnreadable("a test of categories in this XGBoost model has no categories")
    nodes = Nodes(
        sizes=sizes,
        feature=feature,
        threshold=np.nextafter(condition, np.float32(-np.inf)).astype(float),
        # Categories of a set go right, and all others left, unknown ones too.
        left=np.where(by_set, right, left),
        right=np.where(by_set, left, right),
        missing_left=missing_left != by_set,
        value=value.astype(float),
        category=np.where(by_set, category, -1),
        sets=sets,
    )
    return nodes, np.unique(feature[by_set])


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


# --- categories and missing values ----------------------------------------------------------------


class _Stored(TypedDict):
    """The categories of a column: numbers, or the bytes of their names and where each begins."""

    values: list[int]
    offsets: NotRequired[list[int]]


def _names(
    stored: Sequence[_Stored], categorical: Ints
) -> tuple[dict[int, list[Level]], dict[int, list[bytes] | None]]:
    """Return the levels of categories, by column, and their names as XGBoost stores them; None if there are none."""
    levels: dict[int, list[Level]] = {}
    # Models of arrays, and those that were saved by XGBoost before 3.1, have no names.
    names: dict[int, list[bytes] | None] = dict.fromkeys(categorical.tolist())
    for column, part in enumerate(stored):
        if not part["values"]:  # a column of numbers
            continue
        if "offsets" in part:
            text = np.asarray(part["values"], np.int8).tobytes()
            own = [text[start:stop] for start, stop in pairwise(part["offsets"])]
            levels[column] = [name.decode(errors="replace") for name in own]
        else:
            levels[column] = list(part["values"])
            own = [str(number).encode() for number in part["values"]]
        names[column] = own
    return levels, names


def with_levels_of(ensemble: Ensemble, table: Table[Container]) -> Ensemble:
    """Return the ensemble with the levels that its categories have in a table like those that the model gets."""
    if table.library is None:  # numbers in arrays are codes
        return replace(ensemble, levels={})
    levels, pandas = dict(ensemble.levels), table.library == "pandas"
    for column, stored in ensemble.names.items():
        given = table.categories(column)
        name = table.features()[column].name
        if stored is None:
            if given is not None and not pandas:
                raise TreesUnreadable(
                    f"the categories of column {name!r} have no names in this XGBoost model"
                )
            # The codes of pandas' categories are taken as they are.
            levels |= {} if given is None else {column: list(given)}
            continue
        known = dict(zip(_as_stored(given or (), pandas=pandas), given or (), strict=True))
        if len(known) < len(given or ()) or len(set(stored)) < len(stored):
            raise TreesUnreadable(
                f"XGBoost confuses the names of the categories of column {name!r}"
            )
        # Bytes are no level of X.
        levels[column] = [known.get(own, own) for own in stored]
        if new := [v for v in table.coded(column).values if v not in levels[column]]:
            raise TreesUnreadable(
                f"column {name!r} has the level {new[0]!r}, which this XGBoost model does not know"
            )
    return replace(ensemble, levels=levels)


def _as_stored(names: Sequence[Level], *, pandas: bool) -> list[bytes]:
    """Return names of categories as XGBoost stores them: of pandas their bytes, cut by numbers of characters."""
    texts = [str(name) for name in names]
    if not pandas:
        return [text.encode() for text in texts]
    joined = "".join(texts)
    ends = np.cumsum([0, *map(len, texts)]).tolist()
    return [joined.encode()[: len(joined)][start:stop] for start, stop in pairwise(ends)]


def _also_missing(
    missing: float | None, columns: int, categorical: Ints
) -> dict[int, tuple[float, float]]:
    """Return the number that counts as missing besides NaN, by column; none if there is no such number."""
    if missing is None or np.isnan(missing):
        return {}
    with np.errstate(over="ignore"):
        number = float(np.float32(missing))
    if len(categorical) and number >= 0 and number.is_integer():
        # XGBoost compares it with the codes of X's categories, and again with its own.
        raise TreesUnreadable(
            f"{missing!r} counts as missing in this XGBoost model, also as a code of categories"
        )
    return dict.fromkeys(range(columns), (number, number))
