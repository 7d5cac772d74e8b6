"""Figures of changes: their percentages are those of the rows that a histogram counts."""

from __future__ import annotations

import re

import numpy as np

import skedasis as sd
from skedasis.plots.figures.change import change_figure


def test_bars_and_far_rows_are_percentages_of_the_rows_by_weight():
    rng = np.random.default_rng(0)
    x = rng.exponential(size=3000)
    x[:6] = 1e4
    weight = np.where(np.arange(3000) % 2, 1.0, 3.0)
    change = sd.what_if(lambda X: X[:, 0] * X[:, 1], np.c_[x, x], {0: 1.0}, sample_weight=weight)
    panel = change_figure(change, kind="rows").main
    found = [
        re.match(r"change (.*) – (.*)\n(<?)([\d.]+) % of rows$", t.text) for t in panel.tooltips
    ]
    assert all(found)
    for tip, at in zip(found, panel.tooltips, strict=True):
        inside = (x >= at.left) & (x < at.right)
        expected = 100 * weight[inside].sum() / weight.sum()
        assert tip[3] or abs(float(tip[4]) - expected) <= 0.5
    far = 100 * weight[x > panel.tooltips[-1].right].sum() / weight.sum()
    assert far > 0.1
    assert f"{far:.1f} % of rows are off the scale" in panel.notes
