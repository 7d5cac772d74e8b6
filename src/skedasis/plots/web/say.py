"""A line on what is shown."""

from __future__ import annotations

from skedasis.plots.multiples import heterogeneity
from skedasis.plots.numbers import number
from skedasis.results.effect import Effect
from skedasis.results.surface import Surface


def lead(result: Effect | Surface) -> str:
    """Return which method says what of which quantity, and how large that is.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.arange(5.0)[:, None]
    >>> lead(sd.explain(lambda X: 3 * X[:, 0], X, 0, method=sd.ALE(bins=2)))
    'ALE of prediction: importance 4.24, heterogeneity score 0.'
    """
    unit = f" {result.about.unit}" if result.about.unit else ""
    if isinstance(result, Surface):
        what = "standard deviation" if result.includes_main_effects else "interaction strength"
        sizes = f"{what} {number(result.interaction_strength())}{unit}"
    else:
        sizes = f"importance {number(result.importance)}{unit}"
        if result.swap_score is not None:
            sizes += f", {heterogeneity(result)}{unit}"
    return f"{result.spec.method} of {result.about.quantity}: {sizes}."
