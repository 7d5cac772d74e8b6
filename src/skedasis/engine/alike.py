"""Whether several models can be explained together: their quantities, columns, classes and outputs are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skedasis.errors import DataError, explained
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import as_quantity


def refuse_alone(cv: Any, correction: Any) -> None:
    """Refuse what only several models have a use for.

    Raises
    ------
    DataError
    """
    for name, value in (("cv", cv), ("correction", correction)):
        if value is not None:
            raise DataError(
                explained(
                    name,
                    "one model",
                    "a list of models, one for each fold",
                    f"Leave {name} out, or pass all models: sd.explain([m1, m2, m3], X, {name}=...)",
                )
            )


def quantities_of(models: Sequence[Any]) -> list[Quantity]:
    """Return each model's quantity.

    Raises
    ------
    DataError
        For fewer than two, and for models of different columns.
    UnsupportedError
        For what is no model.
    """
    if len(models) < 2:
        got = "an empty list" if not models else "a list of one model"
        fix = "Give the model itself" if models else "Pass the fitted models: [m1, m2]"
        expected = "two or more: how models differ is not to be seen of fewer"
        raise DataError(explained("models", got, expected, fix))
    found: list[Quantity] = []
    for i, model in enumerate(models):
        with noted(i, len(models)):
            found.append(as_quantity(model))
    for name, what in (("n_features_in_", "columns"), ("feature_names_in_", "columns' names")):
        alike([getattr(q.called, name, None) for q in found], what)
    alike([getattr(q.called, "classes_", None) for q in found], "classes")
    alike([q.name for q in found], "quantities")
    return found


def alike(values: Sequence[Any], what: str) -> None:
    """Refuse models of which one says other than the first that says something; None is nothing said.

    Raises
    ------
    DataError
    """
    known = [(i, v if np.ndim(v) == 0 else np.asarray(v).tolist()) for i, v in enumerate(values)]
    known = [(i, v) for i, v in known if v is not None]
    for i, value in known:
        if value != known[0][1]:
            first = f"{known[0][1]!r}"[:60], f"{value!r}"[:60]
            raise DataError(
                explained(
                    f"models: {what}",
                    f"{first[0]} of model {known[0][0]} and {first[1]} of model {i}",
                    "the same of every model",
                    "Explain models of different things in calls of their own",
                )
            )


class noted:  # noqa: N801 - read as a word: with noted(2, 5)
    """Says of an error which of the models it is about."""

    def __init__(self, place: int, models: int) -> None:
        self.said = f"This is about model {place} of the {models} models (counted from 0)."

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None:
            error.add_note(self.said)


def checked_correction(correction: Any) -> float:
    """Return the correction that was given.

    Raises
    ------
    DataError
    """
    number = isinstance(correction, (int, float, np.integer, np.floating))
    if isinstance(correction, bool) or not number or not 0 <= correction < np.inf:
        raise DataError(
            explained(
                "correction",
                repr(correction)[:60],
                "a number from 0: rows held out over rows fitted on",
                "Use 0.25 for models of 5-fold cross-validation, 0 for models of separate data",
            )
        )
    return float(correction)
