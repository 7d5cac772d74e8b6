"""What may be asked of a model: what is no model of numbers, or has no such class, is refused in words."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from skedasis.errors import ModelOutputError, UnsupportedError, explained
from skedasis.quantity.fitted import is_classifier, title


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
