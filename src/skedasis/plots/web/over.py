"""Several effects of one feature, laid over one another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from skedasis.plots.levels import Places
from skedasis.plots.overlay import Overlay, Strand, Zero, gathered, overlay
from skedasis.plots.palette import OFTEN
from skedasis.plots.scale import shortened
from skedasis.plots.view import most_levels
from skedasis.plots.web import areas, marks, tips
from skedasis.plots.web.drawing import Drawing, sheet
from skedasis.plots.web.frame import Frame, above, below, beside, overhang
from skedasis.plots.web.legend import Keys, legend, line_key
from skedasis.plots.web.outline import headed
from skedasis.plots.web.svg import joined, tag
from skedasis.plots.web.words import compared
from skedasis.results.effect import Effect

WIDTH, HEIGHT = 480.0, 240.0
ACROSS = 56
"""Letters that fit across the panel."""
_EDGE, _RIGHT = 2.0, 14.0


def compare(
    effects: Mapping[str, Effect] | Sequence[Effect],
    *,
    ident: str,
    title: str = "",
    alt: str = "",
    center: Zero = "mean",
    level: float = 0.95,
) -> Drawing:
    """Draw several effects of the same feature over one another.

    Parameters
    ----------
    effects : mapping or sequence of Effect
        Such as a PDP, an ALE and an M-plot. At most 8.
    ident : str
        Unique on the page.
    title, alt : str
    center : {"mean", None}
        "mean" subtracts from each effect its mean over the data; None leaves them as they are.
    level : float
        Of the intervals, which are drawn of up to 3 effects.

    Returns
    -------
    Drawing

    Raises
    ------
    DataError, UnsupportedError
        As `skedasis.plots.compare.compare` does.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> methods = [sd.PDP(), sd.ALE(), sd.MPlot()]
    >>> found = [sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=m) for m in methods]
    >>> compare(found, ident="c0").title
    'PDP, ALE and MPlot of x0'
    """
    given, named = gathered([effects])
    shown = overlay(given, named, center, level, ACROSS)
    first: Effect = given[0]
    room = WIDTH - 2 * _EDGE
    methods = _listed([s.label for s in shown.strands])
    head, start = headed(methods, shown.notes, WIDTH, left=_EDGE)
    left = _EDGE + beside(shown.y, HEIGHT)
    left = math.ceil(max(left, _EDGE + overhang(shown.x, WIDTH - left - _RIGHT)))
    width = WIDTH - left - _RIGHT
    top = math.ceil(start - 6 + above(shown.y, room))
    frame = Frame(shown.x, shown.y, left, top, width, HEIGHT, _EDGE)
    drawn, keys = _inside(frame, shown, f"{ident}-clip")
    panel = frame.panel(frame.ground(zero=shown.zero), drawn, frame.axes())
    hits = tips.placed(
        tips.of_overlay(shown, first.feature, _names(first)), frame, frame.top, frame.bottom
    )
    foot = frame.bottom + below(shown.x, width) + 6
    below_all, high = legend(keys, _EDGE, foot, room)
    parts = [tag("defs", frame.clip(f"{ident}-clip")), head, panel, hits, below_all]
    said = title or f"{methods} of {shortened(first.feature, 60)}"
    words = alt or compared(shown, first.feature)
    return sheet(parts, (WIDTH, foot + high + 4), ident=ident, title=said, alt=words)


def _listed(names: Sequence[str]) -> str:
    """Return names as a sentence lists them."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _names(effect: Effect) -> list[str] | None:
    """Return the levels that are shown; None for a numeric feature."""
    if effect.levels is None:
        return None
    shown = Places.of(effect.about.feature, effect.levels, most_levels(ACROSS)).shown
    return [effect.levels.labels[k] for k in shown.tolist()]


def _inside(frame: Frame, shown: Overlay, clip: str) -> tuple[Markup, Keys]:
    """Draw the curves: areas below, lines above, marks on top."""
    low: list[Markup] = []
    high: list[Markup] = []
    keys: Keys = {}
    for place, strand in enumerate(shown.strands):
        under, over, key = _strand(frame, strand, place, bands=shown.bands)
        low.append(under)
        high.append(over)
        keys[strand.label] = key
    if shown.rug is not None:
        drawn, more = areas.rug(frame, shown.rug)
        high.append(drawn)
        keys |= more
    return tag("g", *low, *high, clip_path=f"url(#{clip})"), keys


def _strand(
    frame: Frame, strand: Strand, place: int, *, bands: bool
) -> tuple[Markup, Markup, Markup]:
    """Draw one effect: its interval, its line with marks, its key."""
    x, y = frame.x(strand.x), frame.y(strand.y)
    lower, upper = frame.y(strand.lower), frame.y(strand.upper)
    lined = strand.joined is not None and len(x) > 1
    area = strand.joined == "line" and len(x) > 1
    hue, thin = f"m{place}", " thin" if strand.joined == "thin" else ""
    under = Markup("")
    if bands and area:
        under = tag("path", class_=f"sure {hue}", d=marks.between(x, lower, upper))
    elif bands:
        under = marks.bars_of(x, lower, upper, f"reach {hue}")
    every = max(1, -(-len(x) // OFTEN)) if area else 1
    marked = np.arange((place * every) // 3 % every, len(x), every)
    over = [marks.points(x[marked], y[marked], place, 2.8, hue)]
    key = [marks.points(np.array([13.0]), np.zeros(1), place, 2.8, hue)]
    if lined:
        over.insert(0, tag("path", class_=f"line {hue}{thin}", d=marks.trace(x, y)))
        key.insert(0, line_key(f"line {hue}{thin}"))
    return under, joined(over), joined(key)
