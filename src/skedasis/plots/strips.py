"""Where curves stand high, and whose: strips at the foot of a panel."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from skedasis.plots.marks import FOOT, Panel, Rising, Strip
from skedasis.plots.scale import Axis
from skedasis.plots.view import View
from skedasis.results.checks.elevated_regions import Rise, rises
from skedasis.results.effect import Effect

UNCERTAIN = ("entropy", "variance", "uncertainty")
LABELS: dict[Rising, str] = {
    "all": "high: all rows",
    "elsewhere": "high: rows from elsewhere only (extrapolation)",
    "unclear": "high: unclear whose rows",
}
_SHORTER: dict[Rising, tuple[str, ...]] = {
    "all": ("rows here, too", "rows here"),
    "elsewhere": ("rows from elsewhere only", "extrapolation", "elsewhere"),
    "unclear": ("unclear",),
}


def is_uncertainty(effect: Effect) -> bool:
    """Return whether what is explained is an entropy or a variance, as far as its name tells."""
    made = str(effect.provenance.get("quantity", "")).partition("(")[0]
    said = f"{effect.about.quantity} {made}".lower()
    return any(word in said for word in UNCERTAIN)


def risen(panel: Panel, effect: Effect, view: View) -> Panel:
    """Return a panel with the stretches on which curves stand high, if wanted, and room for them at its foot."""
    wanted = view.rises
    if wanted is None:
        known = effect.curves is not None and not effect.spec.derivative and effect.levels is None
        wanted = known and is_uncertainty(effect)
    found = rises(effect, view.level) if wanted else ()
    if not found:
        return panel
    low, high = panel.y.range
    foot = low - FOOT / (1 - FOOT) * (high - low)
    y = replace(panel.y, least=foot, most=high, margin=0.0)
    return replace(panel, y=y, strips=strips(found, panel.x, view.across))


def strips(found: Sequence[Rise], x: Axis, across: int) -> tuple[Strip, ...]:
    """Return the strips of some rises from left to right, with words where they fit.

    Parameters
    ----------
    found : sequence of Rise
    x : Axis
    across : int
        Letters that fit across the panel.
    """
    low, high = x.limits
    # Words may reach as far as half-way to the next strip.
    gaps = [(a.right + b.left) / 2 for a, b in itertools.pairwise(found)]
    out: list[Strip] = []
    for rise, start, end in zip(found, [low, *gaps], [*gaps, high], strict=True):
        room = across * (end - start) / (high - low)
        fitting = [t for t in (rise.text, *_SHORTER[rise.verdict]) if len(t) + 2 <= room]
        text = fitting[0] if fitting else ""
        reach = (len(text) + 1) / 2 / across * (high - low)
        middle = min(max((rise.left + rise.right) / 2, start + reach), end - reach)
        label = LABELS[rise.verdict]
        out.append(Strip(rise.left, rise.right, rise.verdict, text, middle, label))
    return tuple(out)
