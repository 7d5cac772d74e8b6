"""Data with permuted columns, in the container that it came in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skedasis._types import Ints
from skedasis.data.features import Feature

Changed = tuple[Any, list[Any], Any]
"""The data, what the random columns are known by, and the schema of all columns."""


def replaced(X: Any, features: Sequence[Feature], orders: Sequence[Ints], schema: Any) -> Changed:
    """Return X with columns permuted in their places.

    Parameters
    ----------
    X : array or data frame
    features : sequence of Feature
        The columns.
    orders : sequence of ndarray of int, shape (n,)
        Row i gets the value of row ``order[i]``.
    schema : mapping, sequence of Feature or None
    """
    pairs = list(zip(features, orders, strict=True))
    labels: list[Any] = [f.name for f in features]
    if isinstance(X, np.ndarray):
        new = X.copy()
        for feature, order in pairs:
            new[:, feature.position] = X[order, feature.position]
        return new, labels, schema
    frame, native = _frame(X)
    columns = [_column(frame, f, order).alias(f.label) for f, order in pairs]
    return native(frame.with_columns(*columns)), labels, schema


def added(X: Any, features: Sequence[Feature], orders: Sequence[Ints], schema: Any) -> Changed:
    """Return X with permuted copies of columns behind its own; parameters are those of `replaced`."""
    pairs = list(zip(features, orders, strict=True))
    if isinstance(X, np.ndarray):
        width = X.shape[1]
        new = np.column_stack([X, *(X[order, f.position][:, None] for f, order in pairs)])
        labels: list[Any] = list(range(width, width + len(pairs)))
    else:
        frame, native = _frame(X)
        labels = _labels(list(frame.columns), features)
        columns = [
            _column(frame, f, order).alias(label)
            for (f, order), label in zip(pairs, labels, strict=True)
        ]
        new = native(frame.with_columns(*columns))
    return new, labels, _declared(schema, features, labels)


def _frame(X: Any) -> tuple[Any, Any]:
    import narwhals.stable.v2 as nw

    return nw.from_native(X), lambda frame: frame.to_native()


def _column(frame: Any, feature: Feature, order: Ints) -> Any:
    return frame.get_column(feature.label)[order]


def _labels(taken: list[Any], features: Sequence[Feature]) -> list[Any]:
    """Return labels that no column has: numbers where all columns have these, as scikit-learn demands."""
    if all(isinstance(label, (int, np.integer)) for label in taken):
        first = max(map(int, taken)) + 1
        return list(range(first, first + len(features)))
    found: list[Any] = []
    known = {str(label) for label in taken}
    for feature in features:
        label = f"{feature.name} (random)"
        while label in known:
            label += "'"
        known.add(label)
        found.append(label)
    return found


def _declared(schema: Any, features: Sequence[Feature], labels: Sequence[Any]) -> Any:
    """Declare copies as their columns are declared."""
    if schema is None:
        return None
    kinds = {
        label: Feature(
            label if isinstance(label, str) else f"{f.name} (random)", f.kind, f.unit, f.levels
        )
        for f, label in zip(features, labels, strict=True)
    }
    given = schema if isinstance(schema, Mapping) else {f.name: f for f in schema}
    return {**given, **kinds}
