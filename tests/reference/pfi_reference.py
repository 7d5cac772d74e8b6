"""Permutation importance from its definition alone: loops over rows, one row of plain values at a time.

This file does not use the library, and has no batches, blocks, column indices or containers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

Row = dict[str, Any]
Rule = Callable[[Row], float]
"""A model of one row, which is a mapping from names to values."""


def rows_of(X: Any) -> list[Row]:
    """Return the rows of an array or a data frame as dictionaries."""
    if isinstance(X, np.ndarray):
        return [{f"x{j}": v for j, v in enumerate(row)} for row in X.tolist()]
    if hasattr(X, "to_pylist"):
        return X.to_pylist()
    if hasattr(X, "to_dicts"):
        return X.to_dicts()
    return X.to_dict("records")


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, or the missing value of a library."""
    return value is None or value != value or type(value).__name__ == "NAType"


def as_model(rule: Rule) -> Callable[[Any], np.ndarray]:
    """Return a rule for one row as a model for many rows, in any container."""
    return lambda X: np.array([rule(row) for row in rows_of(X)])


def moved(row: Row, donor: Row, columns: Iterable[str]) -> Row:
    """Return a row with some of its values replaced by those of a donor row."""
    return {**row, **{c: donor[c] for c in columns}}


def all_pairs(
    rule: Callable[[Row, Any], float],
    rows: Sequence[Row],
    columns: Sequence[str],
    labels: Sequence[Any] | None = None,
    weights: Sequence[float] | None = None,
    within: Sequence[Any] | None = None,
) -> float:
    """Return the mean increase over all ordered pairs of rows, pairs of a row with itself included.

    The arguments of `rule` are row and label. With `within`, only rows of the same group form pairs, and each recipient
    counts with its weight.
    """
    labels = [None] * len(rows) if labels is None else labels
    w = [1.0] * len(rows) if weights is None else weights
    parts = []
    for i, row in enumerate(rows):
        lenders = [j for j in range(len(rows)) if within is None or within[j] == within[i]]
        total = math.fsum(w[j] for j in lenders)
        own = rule(row, labels[i])
        parts += [
            w[i] * w[j] / total * (rule(moved(row, rows[j], columns), labels[i]) - own)
            for j in lenders
        ]
    return math.fsum(parts) / math.fsum(w)


def by_permutation(
    rule: Callable[[Row, Any], float],
    rows: Sequence[Row],
    columns: Sequence[str],
    lenders: Sequence[int],
    labels: Sequence[Any] | None = None,
    weights: Sequence[float] | None = None,
) -> float:
    """Return the mean increase where the donor of row i is row `lenders[i]` (entropy_importance Eq. 1)."""
    labels = [None] * len(rows) if labels is None else labels
    w = [1.0] * len(rows) if weights is None else weights
    rises = [
        w[i] * (rule(moved(row, rows[lenders[i]], columns), labels[i]) - rule(row, labels[i]))
        for i, row in enumerate(rows)
    ]
    return math.fsum(rises) / math.fsum(w)


def entropy(probabilities: Mapping[Any, float] | Sequence[float]) -> float:
    """Return the entropy of a discrete distribution, in nats; 0 log 0 = 0."""
    values = probabilities.values() if isinstance(probabilities, Mapping) else probabilities
    return -math.fsum(p * math.log(p) for p in values if p > 0)


def logistic(z: float) -> float:
    """Return 1 / (1 + exp(-z))."""
    return 1 / (1 + math.exp(-z))
