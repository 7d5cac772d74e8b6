"""The figure of weak spots: bars from zero, intervals, the line of all rows, hatched bars of other rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.plots.figures.weak_spots import weak_spots_figure
from skedasis.plots.marks import Rectangles, Segments


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (2000, 3))
    return X, X[:, 0] + 2 * (X[:, 1] > 0.8) + rng.normal(size=2000)


def test_bars_are_the_biases_largest_first_and_the_line_is_that_of_all_rows(data):
    found = sd.weak_spots(lambda X: X[:, 0], *data, max_depth=1)
    panel = weak_spots_figure(found).main
    by_style = {m.style: m for m in panel.marks if isinstance(m, Rectangles)}
    weak, other = by_style["bar"], by_style["bar-hatched"]
    assert weak.right.tolist() == [found[0].bias]
    assert weak.lower[0] > other.lower[0]
    lines = {m.label: m for m in panel.marks if isinstance(m, Segments)}
    assert lines["all rows"].x0.tolist() == [found.overall.bias]
    low, high = found[0].interval()
    whiskers = lines["95 % interval"]
    assert (whiskers.x0[0], whiskers.x1[0]) == (low, high)
    assert panel.notes == ("2,000 rows", "right of 0 the model is too low")
    wide = {m.label: m for m in weak_spots_figure(found, 0.99).main.marks}
    assert wide["99 % interval"].x1[0] > high


def test_models_are_one_below_the_other_on_one_axis_so_that_rules_are_read_whole(data):
    X = pd.DataFrame(data[0], columns=["workingday", "temperature", "hour"])
    first = lambda X: X["workingday"].to_numpy()  # noqa: E731 - a model
    both = {"old": first, "new": lambda X: first(X) + 0.5 * (X["temperature"] > 0.8).to_numpy()}
    found = sd.weak_spots(both, X, data[1])
    axes = found.plot().axes
    assert len({ax.get_xlim() for ax in axes}) == 1
    assert len({round(ax.get_position().x1, 6) for ax in axes}) == 1
    names = {text.get_text() for ax in axes for text in (*ax.texts, *ax.get_yticklabels())}
    rules = [group.rule.replace("-", "−") for one in found.values() for group in one.groups]
    assert all(any(name.startswith(rule) for name in names) for rule in rules)


def test_of_a_loss_bars_are_means(data):
    found = sd.weak_spots(lambda X: X[:, 0], *data, of="squared_error", max_depth=1)
    panel = weak_spots_figure(found).main
    bars = {m.style: m for m in panel.marks if isinstance(m, Rectangles)}
    expected = found[0].bias + found.overall.loss
    assert bars["bar"].right.tolist() == [pytest.approx(expected)]
    assert panel.x.name == "mean squared error"
