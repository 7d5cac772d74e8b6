"""What is to be seen, for those who do not see it: one or two sentences made from the numbers."""

from __future__ import annotations

import numpy as np

from skedasis._types import Floats
from skedasis.plots.levels import Places
from skedasis.plots.marks import Line, Panel
from skedasis.plots.multiples import heterogeneity
from skedasis.plots.numbers import beside, places
from skedasis.plots.overlay import Overlay
from skedasis.plots.scale import shortened
from skedasis.results.effect import Effect

LONG = 60


def described(effect: Effect, panel: Panel) -> str:
    """Describe an effect: where its curve begins and ends, where it is lowest and highest, how the rows differ.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> from skedasis.plots.panels import picture
    >>> X = np.linspace(0, 1, 101)[:, None]
    >>> e = sd.explain(lambda X: 3 * X[:, 0], X, 0, method=sd.ALE(bins=2))
    >>> print(described(e, picture(e).main))
    ALE of x0 on prediction. From −1.49 at 0 the curve goes to 1.51 at 1. 101 rows; 2 bins.
    """
    name, quantity = shortened(effect.feature, LONG), shortened(effect.about.quantity, LONG)
    parts = [f"{effect.spec.method} of {name} on {quantity}."]
    line = panel.lines[0]
    if np.isfinite(line.y).any():
        parts.append(_course(effect, line))
    if effect.heterogeneity_score > 0:
        parts.append(f"{heterogeneity(effect).capitalize()}.")
    if panel.notes:
        parts.append(f"{'; '.join(panel.notes)}.")
    return " ".join(parts)


def _said(effect: Effect, line: Line, chosen: list[int]) -> dict[int, str]:
    """Return what some points of a line are called."""
    if effect.levels is None:
        unit = effect.about.feature.unit
        after = f" {shortened(unit, 30)}" if unit else ""
        texts = [f"{t}{after}" for t in places(line.x[chosen], effect.time)]
    else:
        shown = Places.of(effect.about.feature, effect.levels, len(line.x)).shown
        texts = [shortened(effect.levels.labels[shown[i]], LONG) for i in chosen]
    return dict(zip(chosen, texts, strict=True))


def _course(effect: Effect, line: Line) -> str:
    """Say how a curve runs, or what the extremes among levels are."""
    known = np.flatnonzero(np.isfinite(line.y))
    y: Floats = line.y[known]
    top = float(np.abs(y).max())
    first, last = int(known[0]), int(known[-1])
    low, high = int(known[np.argmin(y)]), int(known[np.argmax(y)])
    said = _said(effect, line, [first, last, low, high])

    def at(i: int) -> str:
        return f"{beside(float(line.y[i]), top)} at {said[i]}"

    if float(y.max() - y.min()) <= 1e-9 * top or len(known) == 1:
        return f"It is {at(first)}{' and everywhere' if len(known) > 1 else ''}."
    if line.joined != "line":
        return f"Lowest is {at(low)}, highest {at(high)}."
    text = f"From {at(first)} the curve goes to {at(last)}"
    beyond = [
        f"{word} {at(i)}"
        for word, i in (("lowest", low), ("highest", high))
        if i not in (first, last)
    ]
    return f"{text}; {', '.join(beyond)}." if beyond else f"{text}."


def compared(shown: Overlay, feature: str) -> str:
    """Describe curves that lie over one another: the range of each."""
    parts = [f"Effects of {shortened(feature, LONG)} laid over one another."]
    for s in shown.strands:
        y = s.y[np.isfinite(s.y)]
        if len(y):
            top = float(np.abs(y).max())
            low, high = beside(float(y.min()), top), beside(float(y.max()), top)
            parts.append(f"{s.label}: from {low} to {high}.")
    return " ".join(parts)
