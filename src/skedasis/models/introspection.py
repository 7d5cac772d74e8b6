"""Properties of a fitted model: classifier or regressor, classes, column names, kind of estimator."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MethodType
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np

from skedasis._arguments import is_int, shown
from skedasis._calls import result_error
from skedasis._escaping import Printed
from skedasis._types import Level
from skedasis.data.dataset import Dataset
from skedasis.data.features import label_position
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, nearest
from skedasis.models.protocols import AdaptedModel, has_predict, has_predict_proba

# --- title, kind and columns of a fitted estimator ------------------------------------------------


class Pipeline(Protocol):
    """A fitted pipeline of scikit-learn, or of a library that follows it."""

    steps: Sequence[tuple[str, object]]


def is_pipeline(model: object) -> TypeGuard[Pipeline]:
    """Return whether a model is a pipeline with at least one step."""
    return bool(getattr(model, "steps", None))


def title(model: object) -> str:
    """Return a short name for a model: its class, a pipeline's last step, or a function's name."""
    if is_pipeline(model):
        return f"{type(model).__name__}(… {title(model.steps[-1][1])})"
    name = getattr(model, "__name__", None)
    if name is not None:
        return "function" if name == "<lambda>" else str(name)
    return type(model).__name__


def with_article(noun: str) -> str:
    """Return a noun with its indefinite article, chosen by the pronunciation of its first letters."""
    spelt = noun[:1].isupper() and noun[1:2].isupper() and noun[0] in "AEFHILMNORSX"
    vowel = noun[:1].lower() in "aeio" and noun[:3].lower() != "one"
    return f"{'an' if spelt or vowel or noun.startswith('nd') else 'a'} {noun}"


def answers_every_name(model: object) -> bool:
    """Return whether an object has any attribute that it is asked for, as mocks do: its methods say nothing."""
    return hasattr(model, "skedasis_no_model_has_this_attribute")


def is_classifier(model: object) -> bool:
    """Return whether a model predicts classes."""
    if _unsupervised(model) is not None:  # a mixture has probabilities of components
        return False
    has_classes = len(classes_of(model)) > 0
    return has_predict_proba(model) or (has_classes and has_predict(model))


_UNSUPERVISED = {
    "clusterer": "a clusterer, whose numbers of clusters have no order",
    "density_estimator": "a density estimator, whose numbers of components have no order",
    "outlier_detector": "an outlier detector, whose labels are 1 and -1",
}
"""scikit-learn's kinds of estimators whose `predict` returns labels that are no predictions."""


@runtime_checkable
class _Tagged(Protocol):
    """An estimator of scikit-learn from 1.6 on, or of a library that follows it."""

    def __sklearn_tags__(self) -> object: ...


def _unsupervised(model: object) -> str | None:
    """Return what an estimator is that predicts labels of its own: of a pipeline and a search, what their last is."""
    if isinstance(model, type):
        return None
    kind, field = model, "_estimator_type"
    if isinstance(model, _Tagged):
        try:
            kind, field = model.__sklearn_tags__(), "estimator_type"
        except AttributeError:
            return None  # a mixin without scikit-learn's base class; it is of a regressor or classifier
    return _UNSUPERVISED.get(getattr(kind, field, ""))


def check_supervised(model: object, what: str) -> None:
    """Raise for an estimator whose `predict` returns labels of its own; the message says what can be explained."""
    bound = isinstance(model, MethodType) and model.__name__ == "predict"
    owner = model.__self__ if isinstance(model, MethodType) and bound else model
    got = _unsupervised(owner)
    if got is None or (bound and got == _UNSUPERVISED["outlier_detector"]):
        return
    fix = next((fix for name, fix in _INSTEAD.items() if hasattr(owner, name)), _BY_A_CLASSIFIER)
    if type(owner).__name__ == "LocalOutlierFactor" and fix == _BY_A_CLASSIFIER:
        fix = "Fit it with novelty=True, and explain its score: sd.prediction(model.decision_function)"
    raise UnsupportedError(what, got, "a regressor, a classifier or a callable", fix)


_INSTEAD = {
    "predict_proba": "Explain the probability of one cluster: sd.prediction(model.predict_proba, output=0)",
    "decision_function": "Explain its score: sd.prediction(model.decision_function)",
    "transform": (
        "Explain one column of its transform, of k-means the distance to a centre: "
        "sd.prediction(model.transform, output=0)"
    ),
    "predict": (
        "Explain which rows are in one cluster: sd.prediction(lambda X: model.predict(X) == 0)"
    ),
}
"""What can be explained of estimators that predict labels of their own, by the methods that they have."""


_BY_A_CLASSIFIER = (
    "It cannot assign other rows: explain a classifier of its clusters, such as "
    "KNeighborsClassifier().fit(X, model.labels_)"
)


def classes_of(model: object) -> Sequence[Level]:
    """Return the classes of a classifier, of several labels a list for each; empty for other models."""
    classes = getattr(model, "classes_", None)
    return () if classes is None else classes  # CatBoost's regressors have an empty list


def fitted_names(model: object) -> list[str] | None:
    """Return the column names that an estimator was fitted on; None for arrays and callables."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)


def fitted_width(model: object) -> int | None:
    """Return the number of columns that a model was fitted on; None if it does not know it."""
    width = getattr(model, "n_features_in_", None)
    if not width and type(model).__module__.startswith("catboost"):
        # A loaded or copied model says 0, and still has the names of its columns.
        width = len(getattr(model, "feature_names_", None) or ())
    return width or None


def wants_arrays(model: object) -> bool:
    """Return whether a model was fitted on arrays; given a frame, such an estimator would warn at every call."""
    return hasattr(model, "n_features_in_") and fitted_names(model) is None


def columns_of_fit(model: object) -> list[str] | None:
    """Return the column names that a model knows, also if it does not compare them with those of X; None if none."""
    names = fitted_names(model)
    inner, library = last_step(_one_member(model), 0), _library(model)
    bare = type(inner).__name__ == "Booster"
    if names is None and isinstance(inner, AdaptedModel):
        names = inner.columns
    elif names is None and library == "catboost":
        names = inner.feature_names_
    elif names is None and library == "xgboost":
        names = (inner if bare else inner.get_booster()).feature_names
    elif names is None and library == "lightgbm" and bare:
        names = inner.feature_name()
    names = [str(name) for name in names or ()]
    # What CatBoost and LightGBM call the columns of arrays.
    made = [[f"{prefix}{k}" for k in range(len(names))] for prefix in ("", "Column_")]
    return None if names in made else names


@runtime_checkable
class HasMembers(Protocol):
    """A mixture of models that take the same columns."""

    @property
    def fitted_members(self) -> Sequence[object]:
        """The models that may know the columns they were fitted on."""
        ...


def _one_member(model: object) -> object:
    """Return one member of a mixture; other models unchanged."""
    mixed = isinstance(model, HasMembers) and model.fitted_members
    return mixed[0] if mixed else model


def _library(model: object) -> str:
    """Return the library of the model, or of the step, that takes the columns of X."""
    inner = last_step(_one_member(model), 0)
    return type(inner).__module__.partition(".")[0]


def as_in_fit(model: object, labels: Sequence[object]) -> list[str]:
    """Return labels of columns as the model's library spells them: LightGBM has underscores for spaces."""
    spaces = "_" if _library(model) == "lightgbm" else " "
    return [str(label).replace(" ", spaces) for label in labels]


def check_fitted_on(model: object, dataset: Dataset, what: str) -> None:
    """Raise if the columns of X are not those that the model was fitted on."""
    labels = [f.key for f in dataset.features]
    have, names = as_in_fit(model, labels), columns_of_fit(model)
    if names is not None and fitted_names(model) is None:
        place = {name: k for k, name in enumerate(names)}
        if all(place.get(name, k) == k for k, name in enumerate(have)):
            names = None
    if dataset.library is None or names is None:
        expected = fitted_width(model)
        if expected is not None and expected != len(have):
            raise DataError(
                what,
                f"X with {len(have)} columns",
                f"{expected} columns, as in fit",
                "Pass the columns that the model was fitted on",
            )
        return
    if have == names:
        return
    known = dict(zip(have, labels, strict=True))
    ordered: list[object] = [known.get(name, name) for name in names]
    fix = _how_to_order(model, dataset, ordered)
    if sorted(have) == sorted(names):
        raise DataError(
            what,
            f"X with columns in the order {_short(labels)}",
            f"the order of fit, {_short(ordered)}",
            fix,
        )
    absent = [n for n in names if n not in have]
    extra = [n for n in have if n not in names]
    got = f"X without {_short(absent)}" if absent else f"X with additional columns {_short(extra)}"
    raise DataError(what, got, f"the {len(names)} columns of fit", fix)


def takes_codes(model: object) -> bool:
    """Return whether numbers in an array are the codes of categories of the data frame that a model was fitted on."""
    if isinstance(model, AdaptedModel):
        return model.takes_codes
    inner = unwrap_search(model)
    library, bare = type(inner).__module__.partition(".")[0], type(inner).__name__ == "Booster"
    if library == "lightgbm":
        return bool((inner if bare else inner.booster_).pandas_categorical)
    if library != "xgboost":
        return False
    return "c" in ((inner if bare else inner.get_booster()).feature_types or ())


def check_categories(model: object, dataset: Dataset, what: str) -> None:
    """Raise if X is an array that does not have the categories as the model takes them in arrays."""
    if dataset.library is not None:
        return
    X = dataset.table.to_array()
    fix = (
        "Pass the rows as a data frame with the columns and categories that the model was fitted on"
    )
    if takes_codes(model):
        if any(isinstance(v, str) for v in X[:_TYPED_ROWS].ravel().tolist()):
            raise DataError(what, "an array with text", "the categories' codes in an array", fix)
    elif X.dtype.kind in "fiub" and _takes_text(model):
        raise DataError(what, "an array of numbers", "the text of the model's categories", fix)


_TYPED_ROWS = 64
"""Rows in which text is searched for."""


def _takes_text(model: object) -> bool:
    """Return whether the model takes categories that are text, in arrays too."""
    inner = unwrap_search(model)
    if type(inner).__module__.partition(".")[0] == "catboost":
        return inner.is_fitted() and len(inner.get_cat_feature_indices()) > 0
    if not is_sklearn_class(inner, _HISTOGRAMS):
        return False
    encoders = vars(inner).get("_preprocessor")
    return encoders is not None and any(
        categories.dtype.kind in "OU"
        for categories in encoders.named_transformers_["encoder"].categories_
    )


_LISTED = 30
"""Most names that a message lists as code."""


def _how_to_order(model: object, dataset: Dataset, names: list[object]) -> str:
    """Return how to pass the columns that a model was fitted on."""
    if fitted_names(model) == names:  # not where a library changed them
        columns = "list(model.feature_names_in_)"
    elif len(names) <= _LISTED:
        columns = repr(names)
    else:
        known = {"catboost": "model.feature_names_", "lightgbm": "model.feature_name()"}
        columns = known.get(_library(model), "model.feature_names")
    frame, files = f"X[{columns}]", f"columns={columns}"
    if dataset.row_numbers is not None:
        return f"Use sd.parquet(path, {files})"
    # Rows with identifiers may have been drawn from files, which cannot be indexed.
    return f"Use {frame}" + ("" if dataset.keys is None else f", or sd.parquet(path, {files})")


def _short(names: Sequence[object]) -> str:
    shown = ", ".join(repr(str(n)) for n in names[:6])
    return f"[{shown}{', …' if len(names) > 6 else ''}]"


# --- checks of the explained output ---------------------------------------------------------------


def check_predictor(model: object, slope: object, mixed: object, output: object = None) -> None:
    """Raise if a model does not predict numbers, or if its derivatives are not functions."""
    if isinstance(model, Printed):  # some of which are callable
        expected = "a callable or an object with predict"
        raise result_error(f"prediction({type(model).__name__})", model, expected)
    check_supervised(model, f"prediction({title(model)})")
    if is_classifier(model):
        every = isinstance(output, str) and output == "all"
        class_ = "'all'" if every else "..."
        raise UnsupportedError(
            f"prediction({title(model)})",
            "a classifier",
            "a regressor or a callable",
            f"Use sd.probability(model, class_={class_}) or sd.logit(model, class_={class_})",
        )
    if not callable(model) and not has_predict(model):
        raise UnsupportedError(
            f"prediction({title(model)})",
            "None" if model is None else with_article(type(model).__name__),
            "a callable or an object with predict",
            _how_to_pass(model),
        )
    own = model if isinstance(model, MethodType) else None
    if own is not None and own.__name__ in _NO_PREDICTIONS and has_predict(own.__self__):
        raise UnsupportedError(
            f"prediction({title(model)})",
            f"the method {own.__name__} of a model",
            "the model itself, or a method that predicts",
            "Pass the fitted model itself: sd.explain(model, X)",
        )
    for what, given, signature in (
        ("slope", slope, "jac(X) -> (n, d)"),
        ("mixed", mixed, "mixed(X, j, k) -> (n,)"),
    ):
        if given is not None and not callable(given):
            raise UnsupportedError(
                what,
                with_article(type(given).__name__),
                f"a function {signature}",
                "Pass the function, not its result",
            )


_NO_PREDICTIONS = ("fit", "fit_predict", "fit_transform", "partial_fit", "score")
"""Methods of a model that return no predictions; calling `fit` would even change the model."""


def _how_to_pass(model: object) -> str:
    """Return how to pass the model, where something else was passed."""
    if hasattr(model, "shape") or isinstance(model, (list, tuple)):
        return "Pass the fitted model itself, before the data: sd.explain(model, X)"
    if hasattr(model, "transform"):
        return (
            "Pass the model that predicts, or a pipeline that ends with it; for an output of the "
            "transformer: sd.prediction(model.transform, output=0)"
        )
    if hasattr(model, "score_samples"):
        return "Explain its score: sd.prediction(model.score_samples)"
    return "Pass the fitted model itself"


# --- classifiers of several labels -----------------------------------------------------------------


@dataclass(frozen=True)
class LabelClass:
    """A class of one of the labels of a classifier, and where its probability is."""

    label: Level
    classes: list[Level]
    index: int
    column: int

    @property
    def is_complement(self) -> bool:
        """Return whether the column is the probability of the other class."""
        return len(self.classes) == 2 and self.index == 0

    @property
    def name(self) -> str:
        """Return the label, with the class unless that is the 1 of 0 and 1."""
        positive = self.index == 1 and self.classes == [0, 1]
        return f"label {self.label}" if positive else f"label {self.label} = {self.chosen}"

    @property
    def key(self) -> Level:
        """Return the label of the output among all outputs of the classifier."""
        return self.label if len(self.classes) == 2 else f"{self.label} = {self.chosen}"

    @property
    def chosen(self) -> Level:
        """Return the class."""
        return self.classes[self.index]


def labels_of(model: object) -> dict[Level, list[Level]] | None:
    """Return the classes of each label of a classifier of several labels; None for other models."""
    classes = classes_of(model)
    if isinstance(classes, list) and any(isinstance(c, np.ndarray) for c in classes):
        return {k: np.asarray(c).tolist() for k, c in enumerate(classes)}
    if not len(classes):  # a regressor, or not fitted
        return None
    last = last_step(model)
    library = type(last).__module__.partition(".")[0]
    several = is_sklearn_class(last, {"OneVsRestClassifier"}) and last.multilabel_
    if is_sklearn_class(last, PERCEPTRON):
        several = last.out_activation_ == "logistic" and last.n_outputs_ > 1
    elif is_sklearn_class(last, {"RidgeClassifier", "RidgeClassifierCV"}):
        several = last._label_binarizer.y_type_.startswith("multilabel")  # noqa: SLF001 - not public
    elif library == "catboost":
        loss = last.get_all_params().get("loss_function")
        several = loss in ("MultiLogloss", "MultiCrossEntropy")
    elif library == "xgboost":
        settings = json.loads(last.get_booster().save_config())["learner"]["learner_model_param"]
        classes = np.arange(int(settings.get("num_target", 1)))
        several = len(classes) > 1
    return {name: [0, 1] for name in np.asarray(classes).tolist()} if several else None


def label_outputs(labels: Mapping[Level, Sequence[Level]]) -> list[LabelClass]:
    """Return the outputs of a classifier of several labels: the second of two classes, or every class of a label."""
    found: list[LabelClass] = []
    for label, classes in labels.items():
        for k in [1] if len(classes) == 2 else range(len(classes)):
            found.append(LabelClass(label, list(classes), k, len(found)))
    return found


def label_class(
    model: object, labels: Mapping[Level, Sequence[Level]], class_: object, function: str
) -> LabelClass:
    """Return the class that a user means by ``{label: class}``, or by a label of two classes."""
    outputs = label_outputs(labels)
    label, chosen = class_, None
    if isinstance(class_, Mapping) and len(class_) == 1:
        ((label, chosen),) = class_.items()
    place = label_position([*labels], label) if isinstance(label, Hashable) else None
    own = [] if place is None else [o for o in outputs if o.label == label]
    if own and len(own[0].classes) == 2 and not isinstance(class_, Mapping):
        return own[0]
    if own and isinstance(chosen, Hashable) and chosen in own[0].classes:
        index = own[0].classes.index(chosen)
        return replace(own[min(index, len(own) - 1)], index=index)
    one = (own or outputs)[0]
    got = f"{len(labels)} labels and no class_" if class_ is None else f"class_={shown(class_)}"
    call = f"sd.{function}(model, class_={{{one.label!r}: {one.chosen!r}}})"
    raise ModelOutputError(
        f"{function}({title(model)})",
        got,
        "a class of one label",
        f"Choose one: {call}, or explain all: class_='all'; classes of the labels: {dict(labels)}",
    )


def class_column(model: object, class_: Level, function: str) -> tuple[int | None, Level]:
    """Return the column of `predict_proba` that holds the class, and the label of the class."""
    what = f"{function}({title(model)})"
    check_supervised(model, what)
    classes = getattr(model, "classes_", None)
    if not has_predict_proba(model):
        if is_classifier(model) or not callable(model):
            raise _no_probabilities(model, what, class_)
        if class_ is not None and not is_int(class_):
            raise UnsupportedError(
                what,
                f"class_={class_!r}",
                "the index of an output column, because the model is a callable",
                "Pass an index, such as class_=0",
            )
        return (None, 1) if class_ is None else (int(class_), int(class_))
    if classes is None:
        raise UnsupportedError(
            what, "a model with no classes_", "a fitted classifier", "Fit the model first"
        )
    labels = list(np.asarray(classes).tolist())
    if class_ is None and len(labels) == 2:
        return 1, labels[1]
    if isinstance(class_, Hashable) and class_ in labels:
        return labels.index(class_), class_
    many = "1 class" if len(labels) == 1 else f"{len(labels)} classes"
    got = f"{many} and no class_" if class_ is None else f"class_={shown(class_)}"
    meant = None if class_ is None else _meant_class(class_, labels)
    call = f"sd.{function}(model, class_={(labels[-1] if meant is None else meant)!r})"
    every = ", or explain all: class_='all'" if len(labels) > 1 else ""
    choose = f"Choose one class: {call}{every}"
    if meant is not None:
        choose = f"Did you mean {call}?"
        if is_int(class_) and str(meant) != str(class_):
            choose = f"class_ is the label of a class, not its index: {call}"
    end = " Available" if choose.endswith("?") else "; available"
    raise ModelOutputError(f"{what}: got {got}, expected one class. {choose}{end}: {labels}.")


def _no_probabilities(model: object, what: str, class_: Level) -> UnsupportedError:
    """Return the error for a model without `predict_proba`."""
    fix = "Use sd.prediction(model), which explains what a regressor predicts"
    if is_classifier(model):
        fix = without_probabilities(model)
    elif not has_predict(model):
        fix = _how_to_pass(model)
    elif isinstance(model, AdaptedModel):  # XGBoost's booster, of a file or not: it has no classes
        column = class_ if is_int(class_) else 0
        fix = (
            "Use sd.prediction(model), which of two classes is the probability of the second; of "
            f"several classes one: sd.prediction(model, output={column})"
        )
    got = f"{with_article(title(model))} without predict_proba"
    return UnsupportedError(what, got, "a classifier with probabilities", fix)


def without_probabilities(model: object) -> str:
    """Return what to do with a classifier without `predict_proba`; calibration needs scores of one label."""
    labels = labels_of(model)
    if labels is None and hasattr(model, "decision_function"):
        return (
            "Calibrate it: sklearn.calibration.CalibratedClassifierCV(model).fit(X, y), or explain "
            "its score: sd.prediction(model.decision_function)"
        )
    classes = next(iter(labels.values())) if labels else classes_of(model)
    one = "model.predict(X)[:, 0]" if labels else "model.predict(X)"
    label = repr(np.asarray(classes[-1]).tolist()) if len(classes) else "..."
    return f"Explain which rows are in one class: sd.prediction(lambda X: {one} == {label})"


def _meant_class(class_: Level, labels: Sequence[Level]) -> Level | None:
    """Return the label that is meant by one that does not exist: of the same or a similar text, or by its index."""
    plain = str(class_).strip().casefold()
    texts = {str(label).strip().casefold(): label for label in labels}
    if len(texts) == len(labels) and plain in texts:
        return texts[plain]
    if is_int(class_):
        return labels[class_] if -len(labels) <= class_ < len(labels) else None
    near = nearest(plain, texts)
    return None if near is None else texts[near]


# --- kinds of scikit-learn's estimators -----------------------------------------------------------

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
"""Models whose `predict` is X @ coef_ + intercept_. Generalised linear models are not, because of their link."""


MULTI_TASK = {"MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV"}


_HISTOGRAMS = {"HistGradientBoostingClassifier", "HistGradientBoostingRegressor"}


LOGISTIC = {"LogisticRegression", "LogisticRegressionCV"}


PERCEPTRON = {"MLPClassifier", "MLPRegressor"}


def is_sklearn_class(model: object, names: set[str]) -> bool:
    """Return whether the model's class is one of these of scikit-learn; classes derived elsewhere do not count."""
    return type(model).__name__ in names and type(model).__module__.startswith("sklearn.")


def is_sklearn_or_pipeline(model: object) -> bool:
    """Return whether the model's class is one of scikit-learn, or a pipeline of any library."""
    return type(model).__module__.startswith("sklearn.") or hasattr(model, "steps")


def last_step(model: object, index: int = -1) -> Any:
    """Return the last step of a pipeline, or that at an index, inside a search or not; other models unchanged."""
    model = unwrap_search(model)
    return last_step(model.steps[index][1], index) if is_pipeline(model) else model


def unwrap_search(model: object) -> Any:
    """Return the best estimator of a parameter search, and other models unchanged."""
    is_search = type(model).__module__.startswith("sklearn.model_selection.")
    return getattr(model, "best_estimator_", model) if is_search else model


def decides_by_logit(model: object) -> bool:
    """Return whether a two-class model's `decision_function` is the log odds of its second class."""
    last = last_step(model)
    if len(classes_of(last)) != 2:
        return False
    if is_sklearn_class(last, {"GradientBoostingClassifier", "HistGradientBoostingClassifier"}):
        return last.loss == "log_loss"
    multi_class_set = getattr(last, "multi_class", "auto") not in ("auto", "deprecated")
    return is_sklearn_class(last, LOGISTIC) and not multi_class_set
