"""What a fitted model is: classifier or regressor, classes, outputs, column names, kind of estimator."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from skedasis.data.dataset import Source
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, explained

# ------------------------------------------------------------------------------------------
# What a fitted estimator says of itself: its kind, its title, the columns it was fitted on.


def title(model: Any) -> str:
    """Return a short name for a model: its class, a pipeline's last step, a function's own name."""
    steps = getattr(model, "steps", None)
    if steps:
        return f"{type(model).__name__}(… {title(steps[-1][1])})"
    name = getattr(model, "__name__", None)
    if name is not None:
        return "function" if name == "<lambda>" else str(name)
    return type(model).__name__


def articled(noun: str) -> str:
    """Return a noun with its article, by how its first letters are said.

    Examples
    --------
    >>> [articled(n) for n in ("SVC", "Ridge", "ensemble of 3 models", "ndarray", "KMeans")]
    ['an SVC', 'a Ridge', 'an ensemble of 3 models', 'an ndarray', 'a KMeans']
    """
    spelt = noun[:1].isupper() and noun[1:2].isupper() and noun[0] in "AEFHILMNORSX"
    vowel = noun[:1].lower() in "aeio" and noun[:3].lower() != "one"
    return f"{'an' if spelt or vowel or noun.startswith('nd') else 'a'} {noun}"


def is_classifier(model: Any) -> bool:
    """Return whether a model predicts classes. CatBoost's regressors have an empty list of them."""
    some = getattr(model, "classes_", None)
    named = some is not None and len(some) > 0
    return hasattr(model, "predict_proba") or (named and hasattr(model, "predict"))


def fitted_names(model: Any) -> list[Any] | None:
    """Return the columns that an estimator was fitted on, None where it was fitted on an array or is a callable."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)


def wants_arrays(model: Any) -> bool:
    """Return whether a model was fitted on arrays: given a frame, such an estimator would warn at every call."""
    return hasattr(model, "n_features_in_") and fitted_names(model) is None


def check_fitted_on(model: Any, source: Source, what: str) -> None:
    """Refuse rows whose columns are not those that the model was fitted on.

    Raises
    ------
    DataError
        For another number of columns, other names or another order.
    """
    expected = getattr(model, "n_features_in_", None)
    have = [f.label for f in source.features]
    names = fitted_names(model)
    if source.library is None or names is None:
        if expected is not None and expected != len(have):
            raise DataError(
                explained(
                    what,
                    f"X with {len(have)} columns",
                    f"{expected}, as in fit",
                    "Pass the columns that the model was fitted on",
                )
            )
        return
    if have == names:
        return
    if sorted(map(str, have)) == sorted(map(str, names)):
        raise DataError(
            explained(
                what,
                f"X with columns in the order {_short(have)}",
                f"the order of fit, {_short(names)}",
                "Use X[list(model.feature_names_in_)]",
            )
        )
    absent = [n for n in names if n not in have]
    beyond = [n for n in have if n not in names]
    got = f"X without {_short(absent)}" if absent else f"X with {_short(beyond)} besides"
    raise DataError(
        explained(
            what, got, f"the {len(names)} columns of fit", "Use X[list(model.feature_names_in_)]"
        )
    )


def _short(names: list[Any]) -> str:
    shown = ", ".join(repr(str(n)) for n in names[:6])
    return f"[{shown}{', …' if len(names) > 6 else ''}]"


# ------------------------------------------------------------------------------------------
# What may be asked of a model: what is no model of numbers, or has no such class, is refused in words.


def check_predictor(model: Any, slope: Any, mixed: Any) -> None:
    """Refuse what is no model of numbers, and derivatives that are no functions."""
    if is_classifier(model):
        raise UnsupportedError(
            explained(
                f"prediction({title(model)})",
                "a classifier",
                "a regressor or a callable",
                "Use sd.probability(model, class_=...) or sd.logit(model, class_=...)",
            )
        )
    if not callable(model) and not hasattr(model, "predict"):
        fix = "Pass the fitted model itself"
        if isinstance(model, Mapping):
            fix += ", or several in a list: sd.explain([*models.values()], X)"
        raise UnsupportedError(
            explained(
                f"prediction({title(model)})",
                f"a {type(model).__name__}",
                "a callable or an object with predict",
                fix,
            )
        )
    for what, given, wanted in (
        ("slope", slope, "jac(X) -> (n, d)"),
        ("mixed", mixed, "mixed(X, j, k) -> (n,)"),
    ):
        if given is not None and not callable(given):
            raise UnsupportedError(
                explained(
                    what,
                    f"a {type(given).__name__}",
                    f"a function {wanted}",
                    "Pass the function, not its result",
                )
            )


def class_column(model: Any, class_: Any, asked: str) -> tuple[int | None, Any]:
    """Return the column of `predict_proba` that holds the class, and the class's label."""
    what = f"{asked}({title(model)})"
    classes = getattr(model, "classes_", None)
    if not hasattr(model, "predict_proba"):
        if is_classifier(model) or not callable(model):
            raise UnsupportedError(
                explained(
                    what,
                    f"a {title(model)} without predict_proba",
                    "a classifier that gives probabilities",
                    "Calibrate it (sklearn.calibration.CalibratedClassifierCV), or explain "
                    "sd.prediction(model.decision_function)",
                )
            )
        if class_ is not None and (isinstance(class_, bool) or not isinstance(class_, Integral)):
            raise UnsupportedError(
                explained(
                    what,
                    f"class_={class_!r}",
                    "the index of a column, for a callable",
                    "Pass class_=0, 1, …",
                )
            )
        return (None, 1) if class_ is None else (int(class_), int(class_))
    if classes is None:
        raise UnsupportedError(
            explained(what, "no classes_", "a fitted classifier", "Fit the model first")
        )
    labels = list(np.asarray(classes).tolist())
    if class_ is None and len(labels) == 2:
        return 1, labels[1]
    if class_ in labels:
        return labels.index(class_), class_
    got = f"{len(labels)} classes and none named" if class_ is None else f"class_={class_!r}"
    raise ModelOutputError(
        f"{what}: got {got}, expected one class. "
        f"Choose one class: sd.{asked}(model, class_={labels[-1]!r}); available: {labels}."
    )


# ------------------------------------------------------------------------------------------
# Which class is of which kind: linear, logistic, a perceptron, and what decides by log odds.


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
