"""An ensemble evaluated in the plainest way: what the fast paths are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from skedasis._types import Floats
from skedasis.quantity.trees.ensemble import Ensemble
from skedasis.quantity.trees.links import answer

__all__ = ["answer", "as_codes", "raw_scores"]

_LARGEST = 2**31
"""LightGBM casts categories to 32 bits; what does not fit becomes negative."""


def as_codes(ensemble: Ensemble, X: Any) -> Floats:
    """Return X as numbers: where the ensemble knows the levels of a column, each value's place among them, else NaN.

    Parameters
    ----------
    ensemble : Ensemble
    X : array or pandas frame, shape (n, columns)

    Returns
    -------
    ndarray of float, shape (n, columns)
    """
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else np.asarray(X).__getitem__
    columns: list[Any] = []
    for s in range(ensemble.columns):
        values = np.asarray(take((slice(None), s)))
        if s in ensemble.levels:
            place = {level: code for code, level in enumerate(ensemble.levels[s])}
            columns.append([place.get(value, np.nan) for value in values.tolist()])
        else:
            columns.append(values.astype(float))
    return np.array(columns, float).T.reshape(len(X), ensemble.columns)


def raw_scores(ensemble: Ensemble, X: Floats) -> Floats:
    """Return the sums of an ensemble, walking every row down every tree.

    Parameters
    ----------
    ensemble : Ensemble
    X : ndarray of float, shape (n, columns)
        Numbers, and codes of categories (`as_codes`). A category is a whole number from 0; between two of them the one
        nearer to 0 is meant, and what is no category that the model has seen is missing.

    Returns
    -------
    ndarray of float, shape (n, outputs)
    """
    raw = np.tile(ensemble.base, (len(X), 1))
    with np.errstate(over="ignore"):  # what is beyond single precision becomes infinite
        rounded = X.astype(np.float32).astype(float) if ensemble.single else X
    for i, row in enumerate(rounded):
        for t in range(ensemble.trees):
            leaf = _leaf(ensemble, row, int(ensemble.roots[t]))
            output = ensemble.output[t]
            if output < 0:
                raw[i] += ensemble.value[leaf]
            else:
                raw[i, output] += ensemble.value[leaf]
    return raw


def _leaf(ensemble: Ensemble, row: Floats, node: int) -> int:
    while ensemble.feature[node] >= 0:
        goes = _goes_left(ensemble, row, node)
        node = int(ensemble.left[node] if goes else ensemble.right[node])
    return node


def _goes_left(ensemble: Ensemble, row: Floats, node: int) -> bool:
    column = int(ensemble.feature[node])
    x = float(row[column])
    if ensemble.category[node] < 0:
        return bool(ensemble.missing_left[node] if np.isnan(x) else x <= ensemble.threshold[node])
    if not -1 < x < _LARGEST or int(x) not in ensemble.known[column]:
        return bool(ensemble.missing_left[node])
    return int(x) in ensemble.sets[ensemble.category[node]]
