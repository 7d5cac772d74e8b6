"""Registry of tree readers: the type of a model → its `Ensemble`.

Models are recognised by the path of their class; no library is imported that the model has not brought along.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skedasis.trees import catboost, lightgbm, sklearn, xgboost
from skedasis.trees.ensemble import Ensemble, NoTrees

ANSWERS = ("predict", "predict_proba", "decision_function", "score_samples")
"""What a model may be asked for."""


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


_LIGHTGBM = ("Booster", "LGBMClassifier", "LGBMModel", "LGBMRanker", "LGBMRegressor")


_XGBOOST = (
    "Booster",
    "XGBClassifier",
    "XGBModel",
    "XGBRanker",
    "XGBRegressor",
    "XGBRFClassifier",
    "XGBRFRegressor",
)


_CATBOOST = ("CatBoost", "CatBoostClassifier", "CatBoostRanker", "CatBoostRegressor")


_LOADERS: dict[tuple[str, str], Callable[[Any], Ensemble]] = {
    **{("sklearn", name): sklearn.forest for name in _FORESTS},
    ("sklearn", "GradientBoostingClassifier"): sklearn.boosting,
    ("sklearn", "GradientBoostingRegressor"): sklearn.boosting,
    ("sklearn", "HistGradientBoostingClassifier"): sklearn.histograms,
    ("sklearn", "HistGradientBoostingRegressor"): sklearn.histograms,
    ("sklearn", "IsolationForest"): sklearn.isolation,
    **{("lightgbm", name): lightgbm.load for name in _LIGHTGBM},
    **{("xgboost", name): xgboost.load for name in _XGBOOST},
    **{("catboost", name): catboost.load for name in _CATBOOST},
}


def _kind(model: Any) -> tuple[str, str]:
    """Return the library and the name of a model's class."""
    return type(model).__module__.partition(".")[0], type(model).__name__


def _is_fitted(model: Any) -> bool:
    """Return whether an estimator is fitted; a booster always is."""
    own = getattr(model, "__sklearn_is_fitted__", None)
    if own is not None:
        return bool(own())
    estimator = hasattr(model, "get_params")
    return not estimator or any(name.endswith("_") and name[:2] != "__" for name in vars(model))


def is_candidate(model: Any) -> bool:
    """Return whether a model is of a kind that `load` reads. Of others nobody wants to hear why they are no trees.

    Examples
    --------
    >>> is_candidate(print)
    False
    """
    return _kind(model) in _LOADERS


def load(model: Any) -> Ensemble:
    """Return the trees of a fitted model.

    Parameters
    ----------
    model : object
        An estimator or a booster of scikit-learn, LightGBM, XGBoost or CatBoost; not a pipeline around one.

    Returns
    -------
    Ensemble
        Its sums are those of the model in float64; `links.answers` makes of them what the model answers:
        `predict_proba` of a classifier, `score_samples` of an isolation forest, `predict` of all others.

    Raises
    ------
    NoTrees
        With the reason, for a model of no known kind, one that is not fitted, and one whose answers its trees do not
        determine exactly.
    """
    loader = _LOADERS.get(_kind(model))
    if loader is None:
        raise NoTrees(f"{type(model).__name__} is no ensemble of trees that is known here")
    if not _is_fitted(model):
        raise NoTrees(f"this {type(model).__name__} is not fitted")
    try:
        return loader(model)
    except (AttributeError, LookupError, ValueError) as error:
        # Libraries rename what is inside their models, now and then.
        raise NoTrees(
            f"the trees of this {type(model).__name__} cannot be read: {error}"
        ) from error
