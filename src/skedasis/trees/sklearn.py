"""Reader of scikit-learn's trees, forests, gradient boosting and isolation forest."""

# ruff: noqa: SLF001  (much of what scikit-learn predicts with has no public name)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.trees.ensemble import Ensemble, Link, Nodes, NoTrees, Reading, assemble

_CONSTANT = {"DummyRegressor", "DummyClassifier"}


_RANDOM = {"stratified", "uniform"}


_LINKS: dict[str, tuple[Link, float]] = {
    "IdentityLink": ("identity", 1.0),
    "LogLink": ("exp", 1.0),
    "LogitLink": ("sigmoid", 1.0),
    "HalfLogitLink": ("sigmoid", 2.0),
    "MultinomialLogit": ("softmax", 1.0),
}


def forest(model: Any) -> Ensemble:
    """Return a tree, or a forest as the mean of its trees. A classifier's leaves hold a share of each class.

    Raises
    ------
    NoTrees
        For a classifier of several outputs.
    """
    trees = [e.tree_ for e in model.estimators_] if hasattr(model, "estimators_") else [model.tree_]
    value = np.concatenate([tree.value for tree in trees]) / len(trees)
    if hasattr(model, "predict_proba"):
        if model.n_outputs_ > 1:
            raise NoTrees("a classifier of several outputs has no one answer")
        value = value[:, 0, : model.n_classes_]
    else:
        value = value[:, 0, 0] if model.n_outputs_ == 1 else value[:, :, 0]
    outputs = 1 if value.ndim == 1 else value.shape[1]
    reading = Reading(
        columns=model.n_features_in_,
        base=np.zeros(outputs),
        title=type(model).__name__,
        classifier=hasattr(model, "predict_proba"),
        single=True,
    )
    return assemble(_gathered(trees, value), reading)


def boosting(model: Any) -> Ensemble:
    """Return the stages of GradientBoostingRegressor or -Classifier, and its constant start as the base.

    Raises
    ------
    NoTrees
        Where the start is a model of its own, or the loss an unknown one.
    """
    stages = np.asarray(model.estimators_)
    rounds, outputs = stages.shape
    trees = [stage.tree_ for stage in stages.ravel()]
    link, scale = link_of(model)
    value = model.learning_rate * np.concatenate([tree.value[:, 0, 0] for tree in trees])
    reading = Reading(
        columns=model.n_features_in_,
        base=_start(model, outputs),
        title=type(model).__name__,
        classifier=hasattr(model, "predict_proba"),
        output=np.tile(np.arange(outputs), rounds),
        link=link,
        scale=scale,
        single=True,
    )
    return assemble(_gathered(trees, value), reading)


def histograms(model: Any) -> Ensemble:
    """Return the stages of HistGradientBoostingRegressor or -Classifier.

    Categorical columns come first in its own order of columns, encoded; here they are where X has them, and `levels`
    says what X holds.

    Raises
    ------
    NoTrees
        For an unknown loss, and where None is a category: it would be missing here.
    """
    stages = model._predictors
    outputs = model.n_trees_per_iteration_
    trees = [tree for stage in stages for tree in stage]
    own, levels = _own_columns(model)
    link, scale = link_of(model)
    reading = Reading(
        columns=model.n_features_in_,
        base=np.ravel(model._baseline_prediction),
        title=type(model).__name__,
        classifier=hasattr(model, "predict_proba"),
        output=np.tile(np.arange(outputs), len(stages)),
        link=link,
        scale=scale,
        levels=levels,
        known={column: np.arange(len(names)) for column, names in levels.items()},
    )
    return assemble(_binned(trees, own), reading)


def isolation(model: Any) -> Ensemble:
    """Return an isolation forest whose sums are depths, and whose answer is `score_samples`.

    A leaf's value is its depth and the average depth that its rows would still have (Liu, Ting & Zhou 2008, Eq. 1);
    `decision_function` is that less ``model.offset_``.
    """
    trees = [e.tree_ for e in model.estimators_]
    depth = np.concatenate(
        [
            own + average - 1.0
            for own, average in zip(
                model._decision_path_lengths, model._average_path_length_per_tree, strict=True
            )
        ]
    )
    reading = Reading(
        columns=model.n_features_in_,
        base=np.zeros(1),
        title=type(model).__name__,
        link="path",
        offset=float(model.offset_),
        scale=len(trees) * float(_average_path(model._max_samples)),
        single=True,
    )
    return assemble(_gathered(trees, depth, model.estimators_features_), reading)


def link_of(model: Any) -> tuple[Link, float]:
    """Return the link of a boosted model's loss, and its scale."""
    name = type(model._loss.link).__name__
    if name not in _LINKS:
        raise NoTrees(f"a loss of scikit-learn's with the link {name} is not known")
    return _LINKS[name]


def _gathered(trees: Sequence[Any], value: Floats, columns: Sequence[Any] | None = None) -> Nodes:
    """Return the nodes of all trees; `columns` holds, by tree, the columns of X that its features are."""
    features = [tree.feature for tree in trees]
    if columns is not None:
        # A leaf's feature is negative: any column will do.
        features = [np.asarray(c)[np.maximum(f, 0)] for c, f in zip(columns, features, strict=True)]

    def places(parts: list[Any]) -> Any:
        # Large forests have millions of nodes: half as wide numbers take half the time.
        return np.concatenate(parts, dtype=np.int32, casting="unsafe")

    return Nodes(
        sizes=np.array([tree.node_count for tree in trees]),
        feature=places(features),
        threshold=np.concatenate([tree.threshold for tree in trees]),
        left=places([tree.children_left for tree in trees]),
        right=places([tree.children_right for tree in trees]),
        missing_left=np.concatenate([tree.missing_go_to_left for tree in trees]),
        value=value,
    )


def _start(model: Any, outputs: int) -> Floats:
    """Return the sums before the first stage."""
    first = model.init_
    if isinstance(first, str) and first == "zero":
        return np.zeros(outputs)
    if type(first).__name__ not in _CONSTANT or getattr(first, "strategy", "") in _RANDOM:
        raise NoTrees("boosting starts from the predictions of another model (init=)")
    return np.asarray(model._raw_predict_init(np.zeros((1, model.n_features_in_))), float)[0]


def _average_path(rows: int) -> float:
    """Return the average depth of an unsuccessful search among so many rows (Liu, Ting & Zhou 2008, Eq. 1)."""
    if rows <= 2:
        return float(rows == 2)
    return 2.0 * (np.log(rows - 1.0) + np.euler_gamma) - 2.0 * (rows - 1.0) / rows


def _own_columns(model: Any) -> tuple[Ints, dict[int, list[Any]]]:
    """Return, for each of the model's own columns, that of X, and the levels of the categorical ones."""
    if model._preprocessor is None:
        return np.arange(model.n_features_in_), {}
    chosen = np.flatnonzero(model.is_categorical_)
    encoder = model._preprocessor.named_transformers_["encoder"]
    levels: dict[int, list[Any]] = {}
    for column, found in zip(chosen, encoder.categories_, strict=True):
        names = found.tolist()
        if None in names:
            raise NoTrees("None is a category of its own in this model")
        # A NaN among the levels stands last, and is what is missing.
        levels[int(column)] = names[:-1] if names and names[-1] != names[-1] else names
    return np.concatenate([chosen, np.flatnonzero(~model.is_categorical_)]), levels


def _binned(trees: Sequence[Any], own: Ints) -> Nodes:
    """Return the nodes of all trees of a model that was fitted on histograms."""
    nodes = np.concatenate([tree.nodes for tree in trees])
    inner = nodes["is_leaf"] == 0
    tests = inner & (nodes["is_categorical"] == 1)
    bits = np.concatenate([tree.raw_left_cat_bitsets for tree in trees])
    before = np.cumsum([0, *(len(tree.raw_left_cat_bitsets) for tree in trees)])[:-1]
    sizes = np.array([len(tree.nodes) for tree in trees])
    place = nodes["bitset_idx"].astype(np.int64) + np.repeat(before, sizes)
    return Nodes(
        sizes=sizes,
        feature=own[np.where(inner, nodes["feature_idx"], 0)],
        threshold=nodes["num_threshold"],
        left=np.where(inner, nodes["left"].astype(np.int64), -1),
        right=np.where(inner, nodes["right"].astype(np.int64), -1),
        missing_left=nodes["missing_go_to_left"],
        value=nodes["value"],
        category=np.where(tests, place, -1),
        sets=[
            np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
            for words in np.ascontiguousarray(bits, "<u4")
        ],
    )
