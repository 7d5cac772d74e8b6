"""Intervals and p-values by Student's t distribution."""

from __future__ import annotations

import numpy as np

from skedasis._types import Floats


def quantile_t(df: Floats, confidence_level: Floats | float) -> Floats:
    """Return two-sided critical values of Student's t distribution.

    Degrees of freedom below 1 count as 1. Infinite or NaN ones give the normal distribution.
    """
    from scipy.special import stdtrit

    return stdtrit(_known(df), (1 + confidence_level) / 2)


def _known(df: Floats | float) -> Floats:
    return np.where(np.isfinite(df), np.maximum(df, 1.0), 1e12)


def two_sided_p(t: Floats | float, df: Floats | float) -> Floats:
    """Return the p-values of values divided by their errors; degrees of freedom count as in `quantile_t`."""
    from scipy.special import stdtr

    return 2.0 * stdtr(_known(df), -np.abs(t))


def t_interval(
    value: Floats, error: Floats, df: Floats, confidence_level: float
) -> tuple[Floats, Floats]:
    """Return the pointwise interval value -+ t * error; each point has its own degrees of freedom."""
    return t_band(value, error, quantile_t(df, confidence_level))


def interval_of(
    value: float, error: float, df: float, confidence_level: float
) -> tuple[float, float]:
    """Return the ends of the interval of one number."""
    lower, upper = t_interval(np.array(value), np.array(error), np.array(df), confidence_level)
    return float(lower), float(upper)


def t_band(value: Floats, error: Floats, critical: Floats | float) -> tuple[Floats, Floats]:
    """Return value -+ critical * error; the value itself if the error is 0, as at the start of a curve."""
    half = np.where(error == 0, 0.0, critical) * error  # avoids 0 * inf
    return value - half, value + half
