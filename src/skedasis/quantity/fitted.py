"""What a fitted estimator says of itself: its kind, its title, the columns it was fitted on."""

from __future__ import annotations

from typing import Any

from skedasis.data.dataset import Source
from skedasis.errors import DataError, explained


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
