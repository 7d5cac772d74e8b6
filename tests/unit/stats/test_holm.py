"""Holm's correction, by hand."""

from __future__ import annotations

import numpy as np

from skedasis.stats.holm import largest_rejected


def test_holm_rejects_the_smallest_p_values():
    p = np.array([0.001, 0.011, 0.02, 0.5, np.nan])
    # 0.001 ≤ .05 / 4; 0.011 ≤ .05 / 3; 0.02 ≤ .05 / 2; 0.5 > .05
    assert largest_rejected(p, 0.05) == 0.02
    assert largest_rejected(np.array([0.02, 0.03]), 0.05) == 0.03
    assert largest_rejected(np.array([0.026, 0.03]), 0.05) == -1.0
    assert largest_rejected(np.array([np.nan]), 0.05) == -1.0
    assert largest_rejected(np.array([]), 0.05) == -1.0


def test_equal_p_values_are_rejected_together():
    assert largest_rejected(np.full(2, 0.025), 0.05) == 0.025
    assert largest_rejected(np.full(2, 0.026), 0.05) == -1.0
