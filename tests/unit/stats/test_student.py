"""Intervals and p-values by Student's t against SciPy's distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from skedasis.stats.student import interval_of, two_sided_p


@pytest.mark.parametrize("t", [0.0, 0.7, -3.1, 12.0])
@pytest.mark.parametrize(
    ("df", "used"), [(4.5, 4.5), (0.3, 1.0), (np.inf, np.inf), (np.nan, np.inf)]
)
def test_p_values_are_both_tails(t, df, used):
    assert two_sided_p(t, df) == pytest.approx(2 * stats.t.sf(abs(t), used), rel=1e-6)


def test_the_interval_of_a_number():
    found = interval_of(2.0, 0.5, 6.0, 0.9)
    assert found == pytest.approx(stats.t.interval(0.9, 6.0, 2.0, 0.5))
    assert interval_of(2.0, 0.0, np.nan, 0.9) == (2.0, 2.0)
    assert np.isnan(interval_of(2.0, np.nan, 6.0, 0.9)).all()
