"""Intervals by Student's t distribution."""

from __future__ import annotations

import numpy as np

from skedasis._types import Floats


def quantile_t(df: Floats, confidence_level: Floats | float) -> Floats:
    """Return two-sided critical values of Student's t distribution.

    Degrees of freedom below 1 count as 1. Infinite or NaN ones give the normal distribution.
    """
    from scipy.special import stdtrit

    known = np.where(np.isfinite(df), np.maximum(df, 1.0), 1e12)
    return stdtrit(known, (1 + confidence_level) / 2)


def t_interval(
    value: Floats, error: Floats, df: Floats, confidence_level: float
) -> tuple[Floats, Floats]:
    """Return the pointwise interval value -+ t * error; each point has its own degrees of freedom."""
    return t_band(value, error, quantile_t(df, confidence_level))


def t_band(value: Floats, error: Floats, critical: Floats | float) -> tuple[Floats, Floats]:
    """Return value -+ critical * error; the value itself if the error is 0, as at the start of a curve."""
    half = np.where(error == 0, 0.0, critical) * error  # avoids 0 * inf
    return value - half, value + half
