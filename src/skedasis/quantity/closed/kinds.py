"""Which class is of which kind: linear, made of trees, and what decides by log odds."""

from __future__ import annotations

from typing import Any

# Models whose `predict` is X @ coef_ + intercept_. Generalised linear models are not among them: their link bends.
LINEAR = {
    "ARDRegression",
    "BayesianRidge",
    "ElasticNet",
    "ElasticNetCV",
    "HuberRegressor",
    "Lars",
    "LarsCV",
    "Lasso",
    "LassoCV",
    "LassoLars",
    "LassoLarsCV",
    "LassoLarsIC",
    "LinearRegression",
    "LinearSVR",
    "OrthogonalMatchingPursuit",
    "OrthogonalMatchingPursuitCV",
    "PassiveAggressiveRegressor",
    "QuantileRegressor",
    "Ridge",
    "RidgeCV",
    "SGDRegressor",
    "TheilSenRegressor",
}
MULTI_TASK = {"MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV"}
LOGISTIC = {"LogisticRegression", "LogisticRegressionCV"}
PERCEPTRON = {"MLPClassifier", "MLPRegressor"}
_TREES = {
    "Booster",
    "CatBoostClassifier",
    "CatBoostRegressor",
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
    "LGBMClassifier",
    "LGBMRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "XGBClassifier",
    "XGBRegressor",
    "XGBRFClassifier",
    "XGBRFRegressor",
}
_ENSEMBLES = {
    "BaggingClassifier",
    "BaggingRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "AdaBoostClassifier",
    "AdaBoostRegressor",
}


def named(model: Any, names: set[str], package: str = "sklearn.") -> bool:
    """Return whether a model is of one of these classes of a package, and not of a class derived from it elsewhere."""
    return type(model).__name__ in names and type(model).__module__.startswith(package)


def settled(model: Any) -> Any:
    """Return the estimator that a search for parameters has settled on, else the model itself."""
    searched = type(model).__module__.startswith("sklearn.model_selection.")
    return getattr(model, "best_estimator_", model) if searched else model


def decides_by_logit(model: Any) -> bool:
    """Return whether a two-class model's `decision_function` is the log odds of its second class."""
    model = settled(model)
    steps = getattr(model, "steps", None)
    last = steps[-1][1] if steps else model
    if len(getattr(last, "classes_", ())) != 2:
        return False
    if named(last, {"GradientBoostingClassifier", "HistGradientBoostingClassifier"}):
        return last.loss == "log_loss"
    told = getattr(last, "multi_class", "auto") not in ("auto", "deprecated")
    return named(last, LOGISTIC) and not told


def is_piecewise_constant(model: Any) -> bool:
    """Return whether a model is constant between jumps: trees, neighbours, and ensembles of these."""
    steps = getattr(model, "steps", None)
    if steps:
        return is_piecewise_constant(steps[-1][1])
    inner = getattr(model, "regressor_", None) or getattr(model, "best_estimator_", None)
    if inner is not None:
        return is_piecewise_constant(inner)
    name, package = type(model).__name__, type(model).__module__.split(".")[0]
    if name in _TREES and package in ("sklearn", "lightgbm", "xgboost", "catboost"):
        return not _bends(model)
    if name in _ENSEMBLES and package == "sklearn":
        members = list(getattr(model, "estimators_", []))
        return len(members) > 0 and all(map(is_piecewise_constant, members))
    return False


def _bends(model: Any) -> bool:
    """Return whether a model that is usually piecewise constant was told to be something else."""
    if type(model).__name__.startswith("KNeighbors"):
        return model.weights != "uniform"
    start = getattr(model, "init_", None)  # gradient boosting may start from any model
    if hasattr(start, "predict") and not named(start, {"DummyClassifier", "DummyRegressor"}):
        return not is_piecewise_constant(start)
    settings: Any = model.get_params() if hasattr(model, "get_params") else {}
    settings = settings or getattr(model, "params", {})
    return bool(settings.get("linear_tree")) or settings.get("booster") == "gblinear"
