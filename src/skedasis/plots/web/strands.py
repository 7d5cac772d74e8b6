"""Individual curves: all alike, or coloured by what the rows have besides."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from markupsafe import Markup

from skedasis._types import Ints
from skedasis.plots.marks import Bundle, Tint
from skedasis.plots.numbers import places
from skedasis.plots.palette import OWN
from skedasis.plots.scale import shortened
from skedasis.plots.tint import ends, named
from skedasis.plots.web.frame import Frame
from skedasis.plots.web.legend import Keys, line_key
from skedasis.plots.web.marks import points
from skedasis.plots.web.svg import dashes, joined, tag, way
from skedasis.plots.web.thin import thinned

SHADES = 16
"""Colours of the scale of numbers."""
_FINE = 0.1
"""Pixels by which a curve may be off: less than a screen shows."""
_DASH = 2.5


def bundle(frame: Frame, strands: Bundle) -> tuple[Markup, Markup, Keys]:
    """Draw individual curves, and the points on them; one path for all curves that look alike."""
    alpha = np.clip((30 if strands.tint is None else 60) / max(len(strands.y), 1), 0.0, 1.0)
    drawn: list[Markup] = []
    keys: Keys = {}
    for label, rows, look, key in _parts(strands):
        if label:
            keys[label] = key
        if len(rows):
            drawn.append(_path(frame, strands, rows, look, label))
    # Many curves let the average shine through: how far is the style sheet's, by three sizes of bundles.
    density = "few" if alpha >= 0.5 else "some" if alpha >= 0.2 else "many"
    dots, more = _own(frame, strands)
    return tag("g", *drawn, class_=f"bundle {density}"), dots, keys | more


def _parts(strands: Bundle) -> Iterator[tuple[str, Ints, str, Markup]]:
    """Return which curves look alike: what they are called, their rows, their look and its key."""
    tint = strands.tint
    if tint is None:
        yield strands.label, np.arange(len(strands.y)), "", line_key("curves")
        return
    missing = np.flatnonzero(np.isnan(tint.value))
    if len(missing):
        yield named(tint, -1), missing, "mx", line_key("curves", "mx", "key")
    if tint.groups:
        for place in range(len(tint.groups)):
            rows = np.flatnonzero(tint.value == place)
            yield named(tint, place), rows, f"m{place}", line_key("curves", f"m{place}", "key")
        return
    shade = shades(tint)
    for k in np.unique(shade[shade >= 0]).tolist():
        yield "", np.flatnonzero(shade == k), f"v{k}", Markup("")
    # A legend has room for a scale where a figure has none beside its panel.
    low, high = places(np.array(ends(tint)))
    label = f"{strands.label}, by {shortened(tint.name, 24)}: {low} to {high}"
    yield label, np.zeros(0, dtype=np.int64), "", _scale()


def shades(tint: Tint) -> Ints:
    """Return each curve's place on the scale of colours, -1 where it has no number."""
    low, high = ends(tint)
    known = np.isfinite(tint.value)
    share = (np.where(known, tint.value, low) - low) / (high - low)
    return np.where(known, np.clip(share * SHADES, 0, SHADES - 1).astype(np.int64), -1)


def _scale() -> Markup:
    wide = 26 / SHADES
    boxes = [
        tag("rect", class_=f"shade v{k}", x=k * wide, y=-5.0, width=wide + 0.4, height=10.0)
        for k in range(SHADES)
    ]
    return joined(boxes)


def _path(frame: Frame, strands: Bundle, rows: Ints, look: str, label: str) -> Markup:
    """Return curves as one path, one part a row; dashes at levels between which there is nothing."""
    x, y = frame.x(strands.x), frame.y(strands.y[rows])
    if strands.shift is not None:
        return tag("path", class_=f"flecks {look}".strip(), d=_flecks(frame, strands, rows))
    if len(x) == 1:  # no line through one point: a dash
        x, y = x + np.array([-_DASH, _DASH]), np.repeat(y, 2, axis=1)
    known = np.isfinite(y).any(axis=1)
    kept = thinned(x, y, _FINE)
    kept &= np.isfinite(y)
    # A gap in a curve is bridged: rows and parts of the path would not correspond otherwise.
    d = "".join(way(x[some], down[some]) for down, some in zip(y[known], kept[known], strict=True))
    numbers = None if strands.row is None else " ".join(map(str, strands.row[rows][known].tolist()))
    name = label if strands.tint is not None and label else None
    return tag("path", class_=f"curves {look}".strip(), d=d, data_rows=numbers, data_name=name)


def _flecks(frame: Frame, strands: Bundle, rows: Ints) -> str:
    shift = np.zeros(len(strands.y)) if strands.shift is None else strands.shift
    x = frame.x(strands.x[None, :] + shift[rows, None]) - _DASH
    y = frame.y(strands.y[rows])
    # Level by level: neighbours are near each other, and steps between them short.
    return dashes(x.T.ravel(), y.T.ravel(), 2 * _DASH)


def _own(frame: Frame, strands: Bundle) -> tuple[Markup, Keys]:
    """Return each row's own value as a point on its curve."""
    if len(strands.own_x) == 0:
        return Markup(""), {}
    x, y, tint = frame.x(strands.own_x), frame.y(strands.own_y), strands.tint
    key = {OWN: points(np.array([13.0]), np.zeros(1), 0, 2.2, "own")}
    if tint is None:
        return points(x, y, 0, 1.6, "own"), key
    place = np.where(np.isnan(tint.value), -1, np.nan_to_num(tint.value)) if tint.groups else None
    place = shades(tint) if place is None else place.astype(np.int64)
    letter = "m" if tint.groups else "v"
    drawn: list[Markup] = []
    for k in np.unique(place[strands.own]).tolist():
        mine = place[strands.own] == k
        look = "mx" if k < 0 else f"{letter}{k}"
        mark = k if tint.groups and k >= 0 else 0
        drawn.append(points(x[mine], y[mine], mark, 2.6, f"own {look}"))
    return joined(drawn), key
