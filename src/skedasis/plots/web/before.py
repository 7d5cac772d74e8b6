"""Rows before and after permutation, one panel a feature, as `plots.bars` says it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from skedasis.plots.bars import Shift, kept, ordered, repeated, shifts, titled
from skedasis.plots.common import counted
from skedasis.plots.numbers import count, number, places
from skedasis.plots.scale import clean, shortened
from skedasis.plots.web.drawing import Drawing, sheet
from skedasis.plots.web.frame import Frame, above, below, beside
from skedasis.plots.web.legend import Keys, area_key, legend, line_key
from skedasis.plots.web.marks import rectangles
from skedasis.plots.web.outline import headed
from skedasis.plots.web.svg import joined, path, px, tag
from skedasis.plots.web.tips import Hit, placed
from skedasis.results.importance import Importance

WIDTH, HEIGHT = 480.0, 120.0
LONG = 60
"""Letters of a name."""
_RIGHT, _MARK = 12.0, 5.0


def before(
    importance: Importance,
    *,
    ident: str,
    title: str = "",
    alt: str = "",
    features: Sequence[str] | None = None,
    top: int | None = None,
) -> Drawing:
    """Draw how the kept rows' quantity is distributed, and how with each feature from other rows.

    Parameters
    ----------
    importance : Importance
        That kept rows.
    ident : str
        Unique on the page.
    title, alt : str
        By default what is explained, and what is to be seen in words.
    features, top
        As in `plots.bars.shifts`: by default the six most important ones.

    Returns
    -------
    Drawing
        Each bar says its ends and its shares; no single row is to be seen.

    Raises
    ------
    UnsupportedError
        Where no rows were kept.
    DataError
        As `plots.bars.shifts` does.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> pf = sd.explain(lambda X: X[:, 0], X, method=sd.PFI(local=200))
    >>> before(pf, ident="rows", top=1).title
    'PFI of prediction: rows before and after'
    """
    found, local = shifts(importance, features=features, top=top), importance.local
    if local is None:
        raise TypeError("`shifts` refuses this")
    names = [clean(importance.features[i]) for i in ordered(importance, features, top)]
    names = names[: len(found)]
    said = f"as they are: {kept(local)}", f"with values of other rows: {repeated(importance)}"
    named = title or f"{titled(importance)}: rows before and after"
    hidden = len(importance) - len(found)
    notes = (f"{len(found):,} of {counted(len(importance), 'feature')}",) if hidden else ()
    head, y = headed(named, notes, WIDTH)
    parts, keys, y = [head], Keys(), y + 4 * bool(notes)
    for place, (shift, name) in enumerate(zip(found, names, strict=True)):
        drawn, more, y = _panel(shift, name, y, said, last=place == len(found) - 1)
        parts.append(drawn)
        keys |= more
    explained, high = legend(keys, 2.0, y + 4, WIDTH - 4)
    size = (WIDTH, y + high + 8)
    words = alt or _said(found, names)
    return sheet([*parts, explained], size, ident=ident, title=named, alt=words)


def _panel(
    shift: Shift, name: str, start: float, said: tuple[str, str], *, last: bool
) -> tuple[Markup, Keys, float]:
    """Return one feature's histograms below its name, what explains them, and where they end."""
    head, y = headed(shift.name, shift.notes, WIDTH, start)
    top = y + above(shift.y, WIDTH) + 2 * _MARK - 12
    left = 2 + beside(shift.y, HEIGHT)
    frame = Frame(shift.x, shift.y, left, top, WIDTH - left - _RIGHT, HEIGHT)
    drawn, keys = _histograms(frame, shift, said)
    body = frame.panel(frame.ground(), drawn, frame.axes(names=last))
    # The scale is the same for all: the vertical one is named with each, the horizontal one below the last.
    label = Markup("") if last else _label(frame)
    hits = placed(_hits(shift, name), frame, frame.top, frame.bottom)
    end = frame.bottom + below(shift.x, frame.width, names=last) + (4 if last else 8)
    return joined([head, label, body, hits]), keys, end


def _label(frame: Frame) -> Markup:
    """Return the vertical axis' label, flush left above it."""
    text = tag("text", frame.up.label, x=frame.edge, y=frame.top - 7)
    return tag("g", text, class_="label")


def _histograms(frame: Frame, shift: Shift, said: tuple[str, str]) -> tuple[Markup, Keys]:
    """Return the rows as areas, and as an outline what became of them; the means of both as lines."""
    x = frame.x(shift.edges)
    foot = np.full(len(shift.before), frame.bottom)
    there = shift.before > 0
    bodies = rectangles(x[:-1][there], x[1:][there], foot[there], frame.y(shift.before)[there])
    heights = np.concatenate([[0.0], np.repeat(shift.after, 2), [0.0]])
    outline = path(np.repeat(x, 2), frame.y(heights))
    parts = [tag("path", class_="was", d=bodies), tag("path", class_="becomes", d=outline)]
    keys: Keys = {said[0]: area_key("was"), said[1]: area_key(None, "becomes")}
    for mean, look, text in zip(
        shift.means,
        ("was", "becomes"),
        ("mean as they are", "mean with values of other rows"),
        strict=True,
    ):
        at = float(frame.x(mean))
        parts.append(
            tag("path", class_=f"mean {look}", d=f"M{px(at)} {px(frame.bottom)}V{px(frame.top)}")
        )
        parts.append(_arrow(at, frame.top, look))
        keys[text] = line_key("mean", look) + _arrow(13.0, 3.0, look)
    return joined(parts), keys


def _arrow(x: float, y: float, look: str) -> Markup:
    """Return a mark that stands on the upper end of a line."""
    d = f"M{px(x)} {px(y)}l{px(-_MARK)} {px(-1.6 * _MARK)}h{px(2 * _MARK)}z"
    return tag("path", class_=f"arrow {look}", d=d)


def _hits(shift: Shift, name: str) -> list[Hit]:
    """Say of each bar how many of the rows there are, before and after."""
    edges = places(shift.edges)
    unit = f" {shortened(shift.x.unit, 30)}" if shift.x.unit else ""
    return [
        Hit(
            float(shift.edges[k]),
            float(shift.edges[k + 1]),
            f"{edges[k]} – {edges[k + 1]}{unit}\nas they are {number(float(shift.before[k]))} %\n"
            f"{shortened(name, LONG)} of other rows {number(float(shift.after[k]))} %",
        )
        for k in range(len(shift.before))
    ]


def _said(found: Sequence[Shift], names: Sequence[str]) -> str:
    """Say what is to be seen."""
    shown = [f"{shortened(name, LONG)}: {s.notes[0]}" for s, name in zip(found, names, strict=True)]
    first = f"Histograms of rows as they are, and with values of other rows, of {count(len(found), 'feature')}."
    return f"{first} {'; '.join(shown)}."
