"""Reader of CatBoost's models of numeric features, from the JSON format in which CatBoost saves them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NotRequired, TypeAlias, TypedDict, final

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.models.protocols import has_predict_proba
from skedasis.trees.ensemble import Ensemble, Link, ModelInfo, Nodes, TreesUnreadable, assemble

_PROBABILITIES: dict[str, Link] = {
    "Logloss": "sigmoid",
    "CrossEntropy": "sigmoid",
    "MultiClass": "softmax",
    "MultiClassOneVsAll": "one_vs_rest",
    "MultiCrossEntropy": "one_vs_rest",
    "MultiLogloss": "one_vs_rest",
}


_EXPONENTS = {"Poisson", "Tweedie"}
"""Losses whose prediction is exp of the sum."""

_OTHER = {"RMSEWithUncertainty"}
"""Losses with several predictions."""


class _Split(TypedDict):
    float_feature_index: int
    border: float


class _ObliviousTree(TypedDict):
    splits: list[_Split]
    leaf_values: list[float]


@final
class _Leaf(TypedDict):
    value: float | list[float]


@final
class _Inner(TypedDict):
    split: _Split
    left: _Node
    right: _Node


_Node: TypeAlias = "_Leaf | _Inner"


class _FloatFeature(TypedDict):
    feature_index: int
    flat_feature_index: int
    nan_value_treatment: str


class _Features(TypedDict):
    float_features: list[_FloatFeature]
    categorical_features: NotRequired[list[object]]
    text_features: NotRequired[list[object]]
    embedding_features: NotRequired[list[object]]


class _Saved(TypedDict):
    """What is read of a model in CatBoost's JSON format."""

    features_info: _Features
    scale_and_bias: tuple[float, float | list[float]]
    model_info: NotRequired[dict[str, dict[str, dict[str, str]]]]
    oblivious_trees: NotRequired[list[_ObliviousTree]]
    trees: NotRequired[list[_Node]]


_Arrays: TypeAlias = tuple[Ints, Floats, Ints, Ints, Floats]
"""Of a tree's nodes: the index and the border of the tested feature, the left and the right child, and the values."""


def load(model: Any) -> Ensemble:
    """Return the trees of a CatBoost model."""
    saved = _saved(model)
    features = saved["features_info"]
    if (
        features.get("categorical_features")
        or features.get("text_features")
        or features.get("embedding_features")
    ):
        raise TreesUnreadable("CatBoost transforms features that are not numeric")
    scale, bias = saved["scale_and_bias"]
    base = np.atleast_1d(np.asarray(bias, float))
    numeric = features["float_features"]
    column = {f["feature_index"]: f["flat_feature_index"] for f in numeric}
    left = {f["feature_index"]: f["nan_value_treatment"] != "AsTrue" for f in numeric}
    nodes = _nodes(saved, len(base), column, left)
    nodes.value[:] *= scale
    reading = ModelInfo(
        columns=len(model.feature_names_),
        base=base,
        title=type(model).__name__,
        link=_link(model, saved),
        classifier=has_predict_proba(model),
        single=True,
    )
    return assemble(nodes, reading)


def _saved(model: Any) -> _Saved:
    """Return the model in CatBoost's JSON format."""
    try:
        with TemporaryDirectory(prefix="skedasis-") as folder:
            path = Path(folder, "model.json")
            model.save_model(str(path), format="json")
            text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise TreesUnreadable(
            f"CatBoost cannot write its model to a temporary file ({error})"
        ) from error
    return json.loads(text)


def _link(model: Any, saved: _Saved) -> Link:
    """Return the link of `predict`, or of a classifier's `predict_proba`."""
    given = saved.get("model_info", {}).get("params", {})
    loss = given.get("loss_function", {}).get("type", "")
    if has_predict_proba(model):
        if loss not in _PROBABILITIES:
            raise TreesUnreadable(f"CatBoost's loss {loss!r} has no known link to probabilities")
        return _PROBABILITIES[loss]
    if loss in _OTHER:
        raise TreesUnreadable(f"CatBoost's loss {loss!r} has several predictions")
    return (
        "exp" if loss in _EXPONENTS and type(model).__name__ == "CatBoostRegressor" else "identity"
    )


def _nodes(saved: _Saved, outputs: int, column: dict[int, int], left: dict[int, bool]) -> Nodes:
    if "oblivious_trees" in saved:
        parts = [_symmetric(tree, outputs) for tree in saved["oblivious_trees"]]
    else:
        parts = [_non_symmetric(tree, outputs) for tree in saved.get("trees", [])]
    index, border, lefts, rights, values = (np.concatenate(p) for p in zip(*parts, strict=True))
    column_of = np.array([column.get(i, 0) for i in range(max(column, default=0) + 1)])
    missing_left = np.array([left.get(i, True) for i in range(max(left, default=0) + 1)])
    return Nodes(
        sizes=np.array([len(p[0]) for p in parts]),
        feature=column_of[index],
        threshold=border,
        left=lefts,
        right=rights,
        missing_left=missing_left[index],
        value=values if outputs > 1 else values[:, 0],
    )


def _test(split: _Split) -> tuple[int, float]:
    """Return the feature and the border of a test: values above the border go right."""
    return split["float_feature_index"], split["border"]


def _symmetric(tree: _ObliviousTree, outputs: int) -> _Arrays:
    """Return the arrays of an oblivious tree, in which all nodes of a level have the same test."""
    tests = [_test(split) for split in tree["splits"]][::-1]
    inner = 2 ** len(tests) - 1
    width = 2 ** np.arange(len(tests))
    index = np.zeros(2 * inner + 1, np.int64)
    border = np.zeros(2 * inner + 1)
    index[:inner] = np.repeat([i for i, _ in tests], width)
    border[:inner] = np.repeat([b for _, b in tests], width)
    left = np.full(2 * inner + 1, -1)
    left[:inner] = 2 * np.arange(inner) + 1
    values = np.zeros((2 * inner + 1, outputs))
    values[inner:] = np.reshape(tree["leaf_values"], (inner + 1, outputs))
    return index, border, left, np.where(left < 0, -1, left + 1), values


def _non_symmetric(tree: _Node, outputs: int) -> _Arrays:
    """Return the arrays of a tree of any shape, level by level."""
    queue: list[_Node] = [tree]
    indices: list[int] = []
    borders: list[float] = []
    lefts: list[int] = []
    values: list[Floats | Sequence[float]] = []
    for node in queue:  # breadth first: children are appended during the loop
        if "split" not in node:
            (index, border), left, value = (0, 0.0), -1, np.reshape(node["value"], outputs)
        else:
            (index, border), left, value = _test(node["split"]), len(queue), np.zeros(outputs)
            queue += [node["left"], node["right"]]
        indices.append(index)
        borders.append(border)
        lefts.append(left)
        values.append(value)
    left_array = np.array(lefts)
    right = np.where(left_array < 0, -1, left_array + 1)
    return np.array(indices), np.array(borders), left_array, right, np.array(values)
