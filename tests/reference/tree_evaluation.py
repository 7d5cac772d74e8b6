"""Reference evaluation of tree ensembles: every tree is traversed for every row, in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from skedasis._types import Floats
from skedasis.trees.ensemble import Ensemble

_CATEGORY_LIMIT = 2**31
"""LightGBM casts categories to 32 bits; larger values become negative."""


def as_codes(ensemble: Ensemble, X: Any) -> Floats:
    """Return X as numbers: for columns with `levels`, the code of each value, NaN for unknown values.

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
            codes = {level: code for code, level in enumerate(ensemble.levels[s])}
            columns.append([codes.get(value, np.nan) for value in values.tolist()])
        else:
            columns.append(values.astype(float))
    return np.array(columns, float).T.reshape(len(X), ensemble.columns)


def raw_scores(ensemble: Ensemble, X: Floats) -> Floats:
    """Return the sums of an ensemble, by traversing every tree for every row.

    Parameters
    ----------
    ensemble : Ensemble
    X : ndarray of float, shape (n, columns)
        Numbers, and codes of categories (`as_codes`). Categories are non-negative integers; fractions are truncated,
        and categories not seen in training are missing, or of no set.

    Returns
    -------
    ndarray of float, shape (n, outputs)
    """
    raw = np.tile(ensemble.base, (len(X), 1))
    with np.errstate(over="ignore"):  # values beyond the range of float32 become infinite
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
        goes_left = _goes_left(ensemble, row, node)
        node = int(ensemble.left[node] if goes_left else ensemble.right[node])
    return node


def _goes_left(ensemble: Ensemble, row: Floats, node: int) -> bool:
    column = int(ensemble.feature[node])
    x = float(row[column])
    low, high = ensemble.also_missing.get(column, (np.inf, -np.inf))
    if low <= x <= high:
        x = np.nan
    if ensemble.category[node] < 0:
        return bool(ensemble.missing_left[node] if np.isnan(x) else x <= ensemble.threshold[node])
    if not ensemble.unknown_missing:
        if np.isnan(x):
            return bool(ensemble.missing_left[node])
        return 0 <= x < np.inf and int(x) in ensemble.sets[ensemble.category[node]]
    if not -1 < x < _CATEGORY_LIMIT or int(x) not in ensemble.known[column]:
        return bool(ensemble.missing_left[node])
    return int(x) in ensemble.sets[ensemble.category[node]]
