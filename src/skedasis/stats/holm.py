"""Holm's correction for several tests (1979, Scand. J. Stat. 6)."""

from __future__ import annotations

import numpy as np

from skedasis._types import Floats


def largest_rejected(p_values: Floats, alpha: float) -> float:
    """Return the largest p-value that is rejected at the level `alpha` of all tests together; -1 if none is.

    p-values that are NaN are of no test.
    """
    ordered = np.sort(p_values[np.isfinite(p_values)])
    kept = np.flatnonzero(ordered > alpha / np.arange(len(ordered), 0, -1))
    rejected = ordered[: kept[0]] if len(kept) else ordered
    return float(rejected[-1]) if len(rejected) else -1.0
