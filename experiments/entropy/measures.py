"""Shared by the experiments: both importances in one pass, and the formatting of numbers over several splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import skedasis as sd


def diagnosis(model: Any, X: Any, y: Any, repeats: int = 10, dependence: bool = False) -> Any:
    """Return Likelihood-PFI and Entropy-PFI of all features from one pass (Eq. 5 and sec. 3.2)."""
    return sd.diagnose(model, X, y, n_repeats=repeats, dependence=dependence, progress=False)


def means(found: Sequence[sd.Diagnosis], key: str) -> np.ndarray:
    """Return a measure of all splits, (splits, features); `key` is "likelihood" or "entropy"."""
    return np.stack([getattr(one, key).mean for one in found])


def covers_zero(importance: sd.Importance) -> np.ndarray:
    """Return of each feature whether its 95 % interval holds 0."""
    lower, upper = importance.interval(0.95)
    return (lower <= 0) & (upper >= 0)


def above_zero(importance: sd.Importance) -> np.ndarray:
    """Return of each feature whether its 95 % interval lies above 0."""
    return importance.interval(0.95)[0] > 0


def written(value: float, digits: int = 3) -> str:
    """Return a number with the given decimals."""
    said = f"{round(float(value), digits) + 0.0:.{digits}f}"  # + 0.0: no minus before a zero
    return said.replace("-", "−")


def spread(values: Any, digits: int = 3) -> str:
    """Return the mean of several splits, and from where to where they range."""
    values = np.asarray(values, dtype=float)
    low, mean, high = (written(v, digits) for v in (values.min(), values.mean(), values.max()))
    return f"{mean} ({low} to {high})" if len(values) > 1 else mean


def table_of(
    found: Sequence[sd.Diagnosis], labels: Sequence[str], digits: int = 2
) -> list[list[str]]:
    """Return one line a feature: both measures over all splits, the first one's intervals, and its verdict."""
    first, rows = found[0], []
    for k, label in enumerate(labels):
        line = [label]
        for key in ("likelihood", "entropy"):
            low, high = (written(e[k], digits) for e in getattr(first, key).interval(0.95))
            line += [spread(means(found, key)[:, k], digits), f"{low} to {high}"]
        rows.append([*line, first.verdicts[k].kind])
    return rows


HEAD = (
    "feature",
    "Likelihood-PFI: mean (range)",
    "95 % interval, first",
    "Entropy-PFI: mean (range)",
    "95 % interval, first",
    "`diagnose`, first",
)
