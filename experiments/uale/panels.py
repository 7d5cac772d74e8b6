"""The figure of UALE's section 4.1: UALE and its bins, and PDP with ICE curves, one row a feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from experiments.uale import correlated as shared
from experiments.uale import drawing
from experiments.uale.drawing import Floats
from skedasis.datasets.simulations import Correlated


def beside(draws: Sequence[shared.Draw], case: Correlated, features: Sequence[int]) -> Any:
    """Return the figure: for each feature its effect, its bins, and its PDP."""
    rows = len(features)
    figure, axes = drawing.sheet(rows, 3, height=0.7 + 2.6 * rows, width=10.0)
    for row, (draw, feature) in enumerate(zip(draws, features, strict=True)):
        left, middle, right = axes[row]
        name = f"x{feature + 1}"
        truth = _from(lambda x, j=feature: case.true_effect(j, x), draw.eq13.x[0])
        drawing.curve(left, draw.eq13, truth)
        x, value = draw.likelihood.path()
        left.plot(
            x, value, color=drawing.EQ13, linewidth=1.1, linestyle=":", label="bins by likelihood"
        )
        drawing.slopes(middle, draw.eq13, _slope(case, feature))
        drawing.rug(middle, draw.X[:, feature])
        drawing.strands(
            right, draw.pdp, _from(lambda x, j=feature: case.true_effect(j, x), draw.pdp.x[0])
        )
        if feature < 2:
            closed = shared.pdp(case, feature, shared.GRID)
            right.plot(
                shared.GRID[::4],
                closed[::4],
                "o",
                color=drawing.INK,
                markersize=3,
                markerfacecolor="white",
                label="PDP in closed form",
            )
        bins = f"bins: {len(draw.eq13.bins)} by Eq. 13, {len(draw.likelihood.bins)} by likelihood"
        drawing.named(left, name, f"effect of {name} on f", "UALE" if row == 0 else "")
        drawing.named(middle, name, f"slope of f along {name}", bins)
        drawing.named(
            right, name, f"f, {name} moved, from the left end", "PDP and ICE" if row == 0 else ""
        )
    drawing.key(figure, *axes.ravel(), columns=5)
    return figure


def _from(effect: Callable[[Floats], Floats], start: float) -> Callable[[Floats], Floats]:
    return lambda x: effect(x) - effect(np.array([start]))


def _slope(case: Correlated, feature: int) -> Callable[[Floats], Floats]:
    if feature == 2:
        return lambda x: np.full(np.shape(x), 0.5 * case.alpha)
    return lambda x: shared.slopes(case, feature, x)
