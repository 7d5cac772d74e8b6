"""Reader of CatBoost's models of numeric features, from the JSON format that they are saved in."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from skedasis._types import Floats
from skedasis.trees.ensemble import Ensemble, Link, Nodes, NoTrees, Reading, assemble

_PROBABILITIES: dict[str, Link] = {
    "Logloss": "sigmoid",
    "CrossEntropy": "sigmoid",
    "MultiClass": "softmax",
    "MultiClassOneVsAll": "one_vs_rest",
    "MultiCrossEntropy": "one_vs_rest",
    "MultiLogloss": "one_vs_rest",
}


_EXPONENTS = {"Poisson", "Tweedie"}


_OTHER = {"RMSEWithUncertainty"}


Part = dict[str, Any]


def load(model: Any) -> Ensemble:
    """Return the trees of a CatBoost model.

    Raises
    ------
    NoTrees
        For features that are no numbers, and answers that are no known function of the sums.
    """
    saved = _saved(model)
    features = saved["features_info"]
    if any(
        features.get(kind)
        for kind in ("categorical_features", "text_features", "embedding_features")
    ):
        raise NoTrees("CatBoost makes other numbers of features that are not numeric")
    scale, bias = saved["scale_and_bias"]
    base = np.atleast_1d(np.asarray(bias, float))
    numeric = features["float_features"]
    column = {f["feature_index"]: f["flat_feature_index"] for f in numeric}
    left = {f["feature_index"]: f["nan_value_treatment"] != "AsTrue" for f in numeric}
    nodes = _grown(saved, len(base), column, left)
    nodes.value[:] *= scale
    reading = Reading(
        columns=len(model.feature_names_),
        base=base,
        title=type(model).__name__,
        link=_link(model, saved),
        classifier=hasattr(model, "predict_proba"),
        single=True,
    )
    return assemble(nodes, reading)


def _saved(model: Any) -> Part:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return json.loads(path.read_text(encoding="utf-8"))


def _link(model: Any, saved: Part) -> Link:
    """Return the link that `predict` (of a classifier: `predict_proba`) uses."""
    given = saved.get("model_info", {}).get("params", {})
    loss = given.get("loss_function", {}).get("type", "")
    if hasattr(model, "predict_proba"):
        if loss not in _PROBABILITIES:
            raise NoTrees(f"CatBoost's loss {loss!r} has no known link to probabilities")
        return _PROBABILITIES[loss]
    if loss in _OTHER:
        raise NoTrees(f"CatBoost's loss {loss!r} has no one answer")
    return (
        "exp" if loss in _EXPONENTS and type(model).__name__ == "CatBoostRegressor" else "identity"
    )


def _grown(saved: Part, outputs: int, column: dict[int, int], left: dict[int, bool]) -> Nodes:
    """Return the nodes of symmetric trees, or of any."""
    if "oblivious_trees" in saved:
        parts = [_symmetric(tree, outputs) for tree in saved["oblivious_trees"]]
    else:
        parts = [_free(tree, outputs) for tree in saved.get("trees", [])]
    index, limit, lefts, rights, values = (np.concatenate(p) for p in zip(*parts, strict=True))
    place = np.array([column.get(i, 0) for i in range(max(column, default=0) + 1)])
    first = np.array([left.get(i, True) for i in range(max(left, default=0) + 1)])
    return Nodes(
        sizes=np.array([len(p[0]) for p in parts]),
        feature=place[index],
        threshold=limit,
        left=lefts,
        right=rights,
        missing_left=first[index],
        value=values if outputs > 1 else values[:, 0],
    )


def _test(split: Part) -> tuple[int, float]:
    """Return the feature and the border of a test: a value goes right where it is above."""
    return split["float_feature_index"], split["border"]


def _symmetric(tree: Part, outputs: int) -> tuple[Any, ...]:
    """Return a tree that asks the same of all nodes of a level.

    The answer to test k is bit k of a leaf's place: with the last test in the root, leaves stand from left to right.
    """
    tests = [_test(split) for split in tree["splits"]][::-1]
    inner = 2 ** len(tests) - 1
    wide = 2 ** np.arange(len(tests))
    index = np.zeros(2 * inner + 1, np.int64)
    limit = np.zeros(2 * inner + 1)
    index[:inner] = np.repeat([i for i, _ in tests], wide)
    limit[:inner] = np.repeat([b for _, b in tests], wide)
    left = np.full(2 * inner + 1, -1)
    left[:inner] = 2 * np.arange(inner) + 1
    values = np.zeros((2 * inner + 1, outputs))
    values[inner:] = np.reshape(tree["leaf_values"], (inner + 1, outputs))
    return index, limit, left, np.where(left < 0, -1, left + 1), values


def _free(tree: Part, outputs: int) -> tuple[Any, ...]:
    """Return a tree of any shape, level by level."""
    queue: list[Part] = [tree]
    index: list[int] = []
    limit: list[float] = []
    left: list[int] = []
    values: list[Floats | Sequence[float]] = []
    for node in queue:  # it grows while it is read
        if "split" not in node:
            found, value = (0, 0.0, -1), np.reshape(node["value"], outputs)
        else:
            found, value = (*_test(node["split"]), len(queue)), np.zeros(outputs)
            queue += [node["left"], node["right"]]
        index.append(found[0])
        limit.append(found[1])
        left.append(found[2])
        values.append(value)
    own = np.array(left)
    right = np.where(own < 0, -1, own + 1)
    return np.array(index), np.array(limit), own, right, np.array(values)
