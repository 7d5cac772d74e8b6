"""Registry of tree readers: the type of a model → its `Ensemble`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skedasis.models.piecewise_constant import KINDS
from skedasis.trees import catboost, lightgbm, sklearn, xgboost
from skedasis.trees.ensemble import Ensemble, TreesUnreadable

RESPONSE_METHODS = ("predict", "predict_proba", "decision_function", "score_samples")
"""Methods whose responses can be computed from trees."""


_FORESTS = (
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
)


_LOADERS: dict[tuple[str, str], Callable[[Any], Ensemble]] = {
    **{("sklearn", name): sklearn.forest for name in _FORESTS},
    ("sklearn", "GradientBoostingClassifier"): sklearn.boosting,
    ("sklearn", "GradientBoostingRegressor"): sklearn.boosting,
    ("sklearn", "HistGradientBoostingClassifier"): sklearn.histograms,
    ("sklearn", "HistGradientBoostingRegressor"): sklearn.histograms,
    ("sklearn", "IsolationForest"): sklearn.isolation,
    **{("lightgbm", name): lightgbm.load for name in KINDS["lightgbm"]},
    **{("xgboost", name): xgboost.load for name in KINDS["xgboost"]},
    **{("catboost", name): catboost.load for name in KINDS["catboost"]},
}


def _kind(model: object) -> tuple[str, str]:
    """Return the library and the name of the model's class."""
    return type(model).__module__.partition(".")[0], type(model).__name__


def _is_fitted(model: object) -> bool:
    """Return whether an estimator is fitted; boosters always are."""
    own = getattr(model, "__sklearn_is_fitted__", None)
    if own is not None:
        return bool(own())
    estimator = hasattr(model, "get_params")
    return not estimator or any(name.endswith("_") and name[:2] != "__" for name in vars(model))


def is_candidate(model: object) -> bool:
    """Return whether a model is of a class that `load` reads."""
    return _kind(model) in _LOADERS


_MEMBERS = {"estimators_", "estimator_", "regressor_", "calibrated_classifiers_", "estimator"}
"""Attributes in which scikit-learn's ensembles and meta-estimators keep fitted models."""


def has_trees(model: object) -> bool:
    """Return whether a model is of a class that `load` reads, or made of such models, as a bagging ensemble is."""
    if is_candidate(model):
        return True
    if _kind(model)[0] != "sklearn":
        return False
    found = [each for name, each in vars(model).items() if name in _MEMBERS]
    return any(has_trees(m) for each in found for m in (each if isinstance(each, list) else [each]))


def load(model: object) -> Ensemble:
    """Return the trees of a fitted model."""
    loader = _LOADERS.get(_kind(model))
    if loader is None:
        raise TreesUnreadable(f"{type(model).__name__} is not a supported tree ensemble")
    if not _is_fitted(model):
        raise TreesUnreadable(f"this {type(model).__name__} is not fitted")
    try:
        return loader(model)
    except (AttributeError, LookupError, ValueError) as error:
        # Libraries rename private attributes of their models from version to version.
        raise TreesUnreadable(
            f"the trees of this {type(model).__name__} cannot be read: {error}"
        ) from error
