"""Reader of scikit-learn's trees, forests, gradient boosting and isolation forest."""

# ruff: noqa: SLF001  (scikit-learn has no public attributes for much of what its predictions depend on)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints, Level
from skedasis.models.protocols import has_predict_proba
from skedasis.trees.arrays import Indices
from skedasis.trees.ensemble import Ensemble, Link, ModelInfo, Nodes, TreesUnreadable, assemble

_CONSTANT = {"DummyRegressor", "DummyClassifier"}
"""Initial estimators of boosting with constant predictions, unless their strategy is random."""

_RANDOM = {"stratified", "uniform"}

_LINKS: dict[str, tuple[Link, float]] = {
    "IdentityLink": ("identity", 1.0),
    "LogLink": ("exp", 1.0),
    "LogitLink": ("sigmoid", 1.0),
    "HalfLogitLink": ("sigmoid", 2.0),
    "MultinomialLogit": ("softmax", 1.0),
}


_LARGEST = float(np.finfo(np.float32).max)
"""The largest size of a number that trees accept, which are given X in single precision."""


class _FittedTree(Protocol):
    """The arrays of scikit-learn's `Tree`, (nodes,) each; `value` is (nodes, outputs, classes)."""

    node_count: int
    feature: Ints
    threshold: Floats
    children_left: Ints
    children_right: Ints
    missing_go_to_left: NDArray[np.uint8]
    value: Floats


class _WithTags(Protocol):
    """An estimator of a version before 1.6."""

    def _get_tags(self) -> Mapping[str, bool]: ...


class _HistogramTree(Protocol):
    """scikit-learn's `TreePredictor`: a structured array of nodes, and the categories that go left as bits."""

    nodes: NDArray[np.void]
    raw_left_cat_bitsets: NDArray[np.uint32]


def forest(model: Any) -> Ensemble:
    """Return a tree, or a forest as the mean of its trees."""
    estimators = model.estimators_ if hasattr(model, "estimators_") else [model]
    trees: list[_FittedTree] = [e.tree_ for e in estimators]
    value = np.concatenate([tree.value for tree in trees]) / len(trees)
    classifier = hasattr(model, "predict_proba")
    if classifier:
        if model.n_outputs_ > 1:
            raise TreesUnreadable("a classifier of several outputs has several predictions")
        value = value[:, 0, : model.n_classes_]
    else:
        value = value[:, 0, 0] if model.n_outputs_ == 1 else value[:, :, 0]
    outputs = 1 if value.ndim == 1 else value.shape[1]
    reading = ModelInfo(
        columns=model.n_features_in_,
        base=np.zeros(outputs),
        title=type(model).__name__,
        classifier=classifier,
        single=True,
        takes_missing=_takes_missing(model),
        largest=_LARGEST,
    )
    return assemble(_nodes(trees, value), reading)


def boosting(model: Any) -> Ensemble:
    """Return the stages of a GradientBoostingRegressor or -Classifier, with its constant initial prediction as base."""
    stages = np.asarray(model.estimators_)
    rounds, outputs = stages.shape
    trees: list[_FittedTree] = [stage.tree_ for stage in stages.ravel()]
    link, scale = link_of(model)
    value = model.learning_rate * np.concatenate([tree.value[:, 0, 0] for tree in trees])
    reading = ModelInfo(
        columns=model.n_features_in_,
        base=_initial(model, outputs),
        title=type(model).__name__,
        classifier=has_predict_proba(model),
        output=np.tile(np.arange(outputs), rounds),
        link=link,
        scale=scale,
        single=True,
        takes_missing=_takes_missing(model),
        largest=_LARGEST,
    )
    return assemble(_nodes(trees, value), reading)


def histograms(model: Any) -> Ensemble:
    """Return the stages of a HistGradientBoostingRegressor or -Classifier."""
    stages = model._predictors
    outputs = model.n_trees_per_iteration_
    trees: list[_HistogramTree] = [tree for stage in stages for tree in stage]
    columns, levels = _columns_of_x(model)
    link, scale = link_of(model)
    reading = ModelInfo(
        columns=model.n_features_in_,
        base=np.ravel(model._baseline_prediction),
        title=type(model).__name__,
        classifier=has_predict_proba(model),
        output=np.tile(np.arange(outputs), len(stages)),
        link=link,
        scale=scale,
        levels=levels,
        known={column: np.arange(len(names)) for column, names in levels.items()},
    )
    return assemble(_histogram_nodes(trees, columns), reading)


def isolation(model: Any) -> Ensemble:
    """Return an isolation forest, whose sums are path lengths and whose default response is `score_samples`."""
    trees: list[_FittedTree] = [e.tree_ for e in model.estimators_]
    missing = _takes_missing(model)
    depth = np.concatenate(
        [
            length + average - 1.0
            for length, average in zip(
                model._decision_path_lengths, model._average_path_length_per_tree, strict=True
            )
        ]
    )
    reading = ModelInfo(
        columns=model.n_features_in_,
        base=np.zeros(1),
        title=type(model).__name__,
        link="path",
        offset=float(model.offset_),
        scale=len(trees) * float(_average_path(model._max_samples)),
        single=True,
        takes_missing=missing,
        # Versions that accept missing values do not look at X at all.
        largest=np.inf if missing else _LARGEST,
    )
    return assemble(_nodes(trees, depth, model.estimators_features_), reading)


def link_of(model: Any) -> tuple[Link, float]:
    """Return the link of a boosted model's loss, and its scale."""
    name = type(model._loss.link).__name__
    if name not in _LINKS:
        raise TreesUnreadable(f"the link {name} of scikit-learn's loss is not supported")
    return _LINKS[name]


def _takes_missing(model: _WithTags) -> bool:
    """Return whether an estimator accepts missing values, in any version of scikit-learn."""
    try:
        from sklearn.utils import get_tags
    except ImportError:  # before 1.6
        return model._get_tags()["allow_nan"]
    return bool(get_tags(model).input_tags.allow_nan)


def _nodes(
    trees: Sequence[_FittedTree], value: Floats, columns: Sequence[Ints] | None = None
) -> Nodes:
    features = [tree.feature for tree in trees]
    if columns is not None:
        # The feature of leaves is negative and not used: map it to any column.
        features = [np.asarray(c)[np.maximum(f, 0)] for c, f in zip(columns, features, strict=True)]

    def as_int32(parts: list[Ints]) -> Indices:
        # Large forests have millions of nodes: int32 takes half the time of int64.
        return np.concatenate(parts, dtype=np.int32, casting="unsafe")

    return Nodes(
        sizes=np.array([tree.node_count for tree in trees]),
        feature=as_int32(features),
        threshold=np.concatenate([tree.threshold for tree in trees]),
        left=as_int32([tree.children_left for tree in trees]),
        right=as_int32([tree.children_right for tree in trees]),
        missing_left=np.concatenate([tree.missing_go_to_left for tree in trees]),
        value=value,
    )


def _initial(model: Any, outputs: int) -> Floats:
    """Return the sums before the first stage."""
    initial = model.init_
    if isinstance(initial, str) and initial == "zero":
        return np.zeros(outputs)
    if type(initial).__name__ not in _CONSTANT or getattr(initial, "strategy", "") in _RANDOM:
        raise TreesUnreadable("boosting starts from the predictions of another model (init=)")
    return np.asarray(model._raw_predict_init(np.zeros((1, model.n_features_in_))), float)[0]


def _average_path(rows: int) -> float:
    """Return the average path length of an unsuccessful search among `rows` rows (Liu, Ting & Zhou 2008, Eq. 1)."""
    if rows <= 2:
        return float(rows == 2)
    return 2.0 * (np.log(rows - 1.0) + np.euler_gamma) - 2.0 * (rows - 1.0) / rows


def _columns_of_x(model: Any) -> tuple[Ints, dict[int, list[Level]]]:
    """Return the column of X of each of the model's internal columns, and the levels of categorical columns."""
    if model._preprocessor is None:
        return np.arange(model.n_features_in_), {}
    categorical = np.flatnonzero(model.is_categorical_)
    encoder = model._preprocessor.named_transformers_["encoder"]
    levels: dict[int, list[Level]] = {}
    for column, categories in zip(categorical, encoder.categories_, strict=True):
        names = categories.tolist()
        if None in names:
            raise TreesUnreadable("None is a category of its own in this model")
        # NaN, the missing value, is the last category if present.
        levels[int(column)] = names[:-1] if names and names[-1] != names[-1] else names
    return np.concatenate([categorical, np.flatnonzero(~model.is_categorical_)]), levels


def _histogram_nodes(trees: Sequence[_HistogramTree], columns: Ints) -> Nodes:
    """Return the nodes of all trees of histogram-based boosting."""
    nodes = np.concatenate([tree.nodes for tree in trees])
    inner = nodes["is_leaf"] == 0
    tests = inner & (nodes["is_categorical"] == 1)
    bits = np.concatenate([tree.raw_left_cat_bitsets for tree in trees])
    before = np.cumsum([0, *(len(tree.raw_left_cat_bitsets) for tree in trees)])[:-1]
    sizes = np.array([len(tree.nodes) for tree in trees])
    set_index = nodes["bitset_idx"].astype(np.int64) + np.repeat(before, sizes)
    return Nodes(
        sizes=sizes,
        feature=columns[np.where(inner, nodes["feature_idx"], 0)],
        threshold=nodes["num_threshold"],
        left=np.where(inner, nodes["left"].astype(np.int64), -1),
        right=np.where(inner, nodes["right"].astype(np.int64), -1),
        missing_left=nodes["missing_go_to_left"],
        value=nodes["value"],
        category=np.where(tests, set_index, -1),
        sets=[
            np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
            for words in np.ascontiguousarray(bits, "<u4")
        ],
    )
