"""Which models are piecewise constant: trees, nearest neighbours, predicted classes, and combinations of these."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from skedasis.models.introspection import is_pipeline, is_sklearn_class
from skedasis.models.protocols import has_predict

ANSWERS = {"predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples"}
"""Methods that return a model's response to rows."""


KINDS: dict[str, set[str]] = {
    "sklearn": {
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
        "ExtraTreeClassifier",
        "ExtraTreeRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "GradientBoostingClassifier",
        "GradientBoostingRegressor",
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
        "IsolationForest",
        "KNeighborsClassifier",
        "KNeighborsRegressor",
        "RadiusNeighborsClassifier",
        "RadiusNeighborsRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
    },
    "lightgbm": {"Booster", "LGBMClassifier", "LGBMModel", "LGBMRanker", "LGBMRegressor"},
    "xgboost": {
        "Booster",
        "XGBClassifier",
        "XGBModel",
        "XGBRFClassifier",
        "XGBRFRegressor",
        "XGBRanker",
        "XGBRegressor",
    },
    "catboost": {"CatBoost", "CatBoostClassifier", "CatBoostRanker", "CatBoostRegressor"},
}
"""Tree models and nearest neighbours of each library."""


_ENSEMBLES = {
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "ClassifierChain",
    "MultiOutputClassifier",
    "MultiOutputRegressor",
    "OneVsOneClassifier",
    "OneVsRestClassifier",
    "OutputCodeClassifier",
    "RegressorChain",
    "VotingClassifier",
    "VotingRegressor",
}
"""scikit-learn's ensembles that are piecewise constant if all of their `estimators_` are."""


_STACKING = {"StackingClassifier", "StackingRegressor"}


_META = {
    "FixedThresholdClassifier": "estimator_",
    "FrozenEstimator": "estimator",
    "RFE": "estimator_",
    "RFECV": "estimator_",
    "SelfTrainingClassifier": "estimator_",
    "TunedThresholdClassifierCV": "estimator_",
}
"""The attribute in which scikit-learn's meta-estimators keep their fitted estimator."""


_CONSTANT = {"DummyClassifier", "DummyRegressor", "_ConstantPredictor"}


_DISCRETIZERS = {"Binarizer", "KBinsDiscretizer", "RandomTreesEmbedding"}
"""Transformers with finitely many outputs; a pipeline with one of them is piecewise constant."""


def is_piecewise_constant(model: object) -> bool:
    """Return whether a model is known to be constant between jumps."""
    own = getattr(model, "piecewise_constant", None)
    if isinstance(own, bool):
        return own
    if isinstance(model, partial):
        return is_piecewise_constant(model.func)
    owner = getattr(model, "__self__", None)
    if owner is not None:
        return _is_method(owner, getattr(model, "__name__", ""))
    return _is_pipeline(model) or _is_meta(model) or _is_known(model)


def _is_method(owner: object, name: str) -> bool:
    """Return whether a method of a model is piecewise constant; predicted labels of a classifier always are."""
    if name not in ANSWERS:
        return False
    classes = getattr(owner, "classes_", None)
    labels = name == "predict" and classes is not None and len(classes) > 0
    return labels or is_piecewise_constant(owner)


def _is_pipeline(model: object) -> bool:
    """Return whether a model is a pipeline with a piecewise constant last step, or with a step that discretises."""
    if not is_pipeline(model):
        return False
    before, last = model.steps[:-1], model.steps[-1][1]
    return is_piecewise_constant(last) or any(
        is_sklearn_class(step, _DISCRETIZERS) for _, step in before
    )


def _is_meta(model: object) -> bool:
    """Return whether a model's response is a function of the response of one piecewise constant model."""
    # Transformed targets and parameter searches of any library; and NGBoost, where the parameters of the distribution
    # are sums of base learners.
    attributes = ["regressor_", "best_estimator_", "Base" if hasattr(model, "pred_dist") else ""]
    if is_sklearn_class(model, set(_META)):
        attributes.append(_META[type(model).__name__])
    inner = [getattr(model, name, None) for name in attributes if name]
    return any(is_piecewise_constant(m) for m in inner if m is not None)


def _is_known(model: Any) -> bool:
    """Return whether a model is in the table, or a scikit-learn ensemble of models that are."""
    kind = _kind(model)
    if kind is not None:
        return not _is_smooth(model, kind)
    if is_sklearn_class(model, _ENSEMBLES):
        return _are_all(getattr(model, "estimators_", ()))
    if is_sklearn_class(model, _STACKING):
        last = is_piecewise_constant(getattr(model, "final_estimator_", None))
        return last or (not model.passthrough and _are_all(getattr(model, "estimators_", ())))
    if is_sklearn_class(model, {"CalibratedClassifierCV"}):
        return _are_all([c.estimator for c in getattr(model, "calibrated_classifiers_", ())])
    return False


def _kind(model: object) -> tuple[str, str] | None:
    """Return the model's library and class in the table; None for a subclass that overrides a predicting method."""
    for base in type(model).__mro__:
        library = base.__module__.partition(".")[0]
        if base.__name__ in KINDS.get(library, ()):
            return library, base.__name__
        if not ANSWERS.isdisjoint(vars(base)):
            return None
    return None


def _are_all(parts: Sequence[object]) -> bool:
    """Return whether all parts are piecewise constant or constant; False without parts."""
    return len(parts) > 0 and all(
        is_sklearn_class(p, _CONSTANT) or is_piecewise_constant(p) for p in parts
    )


def _is_smooth(model: Any, kind: tuple[str, str]) -> bool:
    """Return whether the settings of a usually piecewise constant model make it smooth, such as linear trees."""
    library, name = kind
    if "Neighbors" in name:
        return model.weights != "uniform"
    if name.startswith("GradientBoosting"):  # its initial predictions may come from any model
        start = getattr(model, "init_", model.init)
        return has_predict(start) and not _are_all([start])
    if library == "lightgbm":
        settings = model.params if name == "Booster" else model.get_params()
        return bool(settings.get("linear_tree") or settings.get("linear_trees"))
    if (library, name) == ("xgboost", "Booster"):
        import json

        learner = json.loads(model.save_config())["learner"]
        return learner["gradient_booster"]["name"] == "gblinear"
    return library == "xgboost" and model.get_params().get("booster") == "gblinear"
