"""Friedman & Popescu's H² by loops over rows, written from their Eq. 44 to 46, independent of the library."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd


@dataclass
class Naive:
    """The statistics, by index of the feature: numerators are means, `variance` is that of the quantity."""

    variance: float
    pairs: dict[tuple[int, int], float]
    joint: dict[tuple[int, int], float]
    overall: dict[int, float]
    total: float

    def h2(self, pair: tuple[int, int]) -> float:
        return self.pairs[pair] / self.joint[pair]


def naive(
    f: Callable[[Any], np.ndarray],
    X: Any,
    weights: np.ndarray | None = None,
    features: Sequence[tuple[int, ...]] | None = None,
) -> Naive:
    """Return H² of all pairs and features of a function of rows, by 2ⁿ-free brute force: n² evaluations per set."""
    n = len(X)
    w = np.ones(n) if weights is None else weights / 1.0
    w = w / w.sum()
    columns = X.shape[1]
    groups = [(j,) for j in range(columns)] if features is None else list(features)

    def replaced(taken: Sequence[int]) -> Any:
        """Return all rows n times, with the values of row 0, of row 1, and so on, in some columns."""
        recipients, donors = np.tile(np.arange(n), n), np.repeat(np.arange(n), n)
        if isinstance(X, pd.DataFrame):
            Z = X.iloc[recipients].reset_index(drop=True)
            for j in taken:
                Z[Z.columns[j]] = X.iloc[donors, j].reset_index(drop=True)
            return Z
        Z = X[recipients]
        Z[:, taken] = X[donors][:, taken]
        return Z

    def partial(taken: Sequence[int]) -> np.ndarray:
        values = np.asarray(f(replaced(list(taken))), float).reshape(n, n) @ w
        return values - w @ values

    def square(values: np.ndarray) -> float:
        return float(w @ values**2)

    own = np.asarray(f(X), float)
    own = own - w @ own
    single = [partial(g) for g in groups]
    rest = [partial([j for j in range(columns) if j not in g]) for g in groups]
    pairs, joint = {}, {}
    for a, b in itertools.combinations(range(len(groups)), 2):
        both = partial([*groups[a], *groups[b]])
        pairs[a, b], joint[a, b] = square(both - single[a] - single[b]), square(both)
    overall = {k: square(own - single[k] - rest[k]) for k in range(len(groups))}
    return Naive(square(own), pairs, joint, overall, square(own - np.sum(single, axis=0)))
