"""Which class is of which kind: linear, logistic, a perceptron, and what decides by log odds."""

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
