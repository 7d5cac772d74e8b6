"""Where to look first: the importance of each feature against its heterogeneity score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from skedasis._types import Floats
from skedasis.plots.common import counted
from skedasis.plots.numbers import number
from skedasis.plots.scale import Axis, clean, shortened, told_apart
from skedasis.plots.view import BELOW
from skedasis.plots.web.drawing import Drawing, sheet
from skedasis.plots.web.frame import Frame, above, below, beside
from skedasis.plots.web.legend import Keys, legend
from skedasis.plots.web.outline import headed
from skedasis.plots.web.svg import px, tag
from skedasis.plots.web.tagged import SHAPES, box_of, crosses, named
from skedasis.plots.web.text import SMALL

WIDTH, HIGH = 480.0, 330.0
"""Of the figure and of the panel."""
SHORT = 22
"""Letters of a name beside its point."""
NAMED = 14
"""Points that have their names beside them; those of others are told when they are pointed at."""
REACH = 2.0
"""How many times as far as its points a panel reaches for the sake of their intervals."""
KINDS = {"ordinal": ("triangle", "ordinal"), "nominal": ("square", "nominal")}
NUMERIC = ("circle", "numeric")
EQUAL = "score = importance"
_OVER = ("rows differ more than", "the average effect moves")
_UNDER = ("the average effect moves", "more than rows differ")


@dataclass(frozen=True)
class Place:
    """A feature's importance and its heterogeneity score.

    Parameters
    ----------
    feature : str
    kind : str
        "continuous", "ordinal" or "nominal".
    importance, heterogeneity_score : float
        In units of the quantity.
    importance_ends, heterogeneity_score_ends : (float, float) or None
        Ends of their intervals.
    """

    feature: str
    kind: str
    importance: float
    heterogeneity_score: float
    importance_ends: tuple[float, float] | None = None
    heterogeneity_score_ends: tuple[float, float] | None = None


def places(
    places: Sequence[Place],
    *,
    ident: str,
    links: Mapping[str, str],
    x_label: str,
    y_label: str,
    unit: str | None = None,
    level: float = 0.95,
    title: str = "Where to look",
    alt: str = "",
) -> Drawing:
    """Draw the importance of features against their heterogeneity scores, on axes of the same range.

    Parameters
    ----------
    places : sequence of Place
    ident : str
        Unique on the page.
    links : mapping of str to str
        Where each feature's point leads, such as "#feature-3".
    x_label, y_label : str
        Of importance and of the heterogeneity score.
    unit : str, optional
    level : float
        Of the intervals.
    title, alt : str

    Returns
    -------
    Drawing
        Each point is a link, and the most important ones come first. A feature without one of the numbers is not
        drawn, but counted.

    Examples
    --------
    >>> one = [Place("age", "continuous", 2.0, 1.0, (1.8, 2.2), (0.9, 1.1))]
    >>> labels = {"x_label": "importance", "y_label": "heterogeneity score"}
    >>> 'href="#f0"' in places(one, ident="w", links={"age": "#f0"}, **labels).svg
    True
    """
    order = sorted(places, key=lambda p: -p.importance if math.isfinite(p.importance) else math.inf)
    known = [p for p in order if math.isfinite(p.importance + p.heterogeneity_score)]
    labels = (shortened(x_label, BELOW), shortened(y_label, BELOW))
    parts: list[Markup] = []
    keys: Keys = {}
    y, hidden = 2.0, 0
    if known:
        scatter = _Scatter.of(known, labels, unit, y, level)
        drawn, keys, hidden = scatter.drawn(links)
        parts.append(drawn)
        y = scatter.frame.bottom + below(scatter.frame.across, scatter.frame.width) + 6
    explained, high = legend(keys, 2.0, y, WIDTH - 4)
    notes = _notes(places, known, hidden)
    foot, end = headed("", notes, WIDTH, y + high)
    said = alt or _said(known, labels, notes)
    size = (WIDTH, end)
    return sheet([*parts, explained, foot], size, ident=ident, title=title, alt=said, role="group")


def _notes(places: Sequence[Place], known: Sequence[Place], hidden: int) -> tuple[str, ...]:
    """Say what is not to be seen."""
    notes: list[str] = []
    if not places:
        notes.append("no features")
    if len(known) < len(places):
        notes.append(f"{counted(len(places) - len(known), 'feature')} without a score")
    if hidden:
        notes.append(f"{counted(hidden, 'name')} shown when pointed at")
    return tuple(notes)


@dataclass(frozen=True, eq=False)
class _Scatter:
    """One panel of points."""

    places: Sequence[Place]
    names: tuple[str, ...]
    frame: Frame
    at: Floats
    lower: Floats
    upper: Floats
    level: float

    @classmethod
    def of(
        cls,
        places: Sequence[Place],
        labels: tuple[str, str],
        unit: str | None,
        top: float,
        level: float,
    ) -> _Scatter:
        at = np.array([(p.importance, p.heterogeneity_score) for p in places], dtype=float)
        ends = [[_ends(e) for e in (p.importance_ends, p.heterogeneity_score_ends)] for p in places]
        lower, upper = np.moveaxis(np.array(ends, dtype=float), 2, 0)
        most = _most(at, upper)
        x, y = (Axis(label, unit, 0.0, most, 0.04) for label in labels)
        top += above(y, WIDTH)
        left = beside(y, HIGH)
        frame = Frame(x, y, left, top, WIDTH - left - 20, HIGH)
        names = told_apart([clean(p.feature) for p in places], SHORT)
        return cls(places, names, frame, at, lower, upper, level)

    def drawn(self, links: Mapping[str, str]) -> tuple[Markup, Keys, int]:
        """Return the panel, what explains it, and how many points have no name beside them."""
        frame = self.frame
        x, y = frame.x(self.at[:, 0]), frame.y(self.at[:, 1])
        d, boxes = crosses(frame, self.at, self.lower, self.upper)
        words = self._words(x, y)
        taken = [box for _, box in words]
        # The first points are served first: those that stand out in either way.
        stands_out = (self.at / np.maximum(np.abs(self.at).max(axis=0), 1e-300)).max(axis=1)
        first = np.argsort(-stands_out, kind="stable")
        shown = [self.names[i] for i in first[:NAMED]]
        found = named(frame, x[first], y[first], shown, taken=taken, lines=boxes)
        texts = dict(zip(first.tolist(), found.texts, strict=False))
        points = [
            self._point(i, float(x[i]), float(y[i]), texts.get(i), links) for i in range(len(x))
        ]
        hidden = len(x) - sum(t is not None for t in texts.values())
        parts = [
            frame.ground(),
            self._diagonal(),
            *(text for text, _ in words),
            tag("path", class_="cross", d=d) if d else Markup(),
            frame.axes(),
            *points,
        ]
        return frame.panel(*parts), self._keys(bool(d)), hidden

    def _point(
        self, i: int, x: float, y: float, name: Markup | None, links: Mapping[str, str]
    ) -> Markup:
        place = self.places[i]
        shape, kind = KINDS.get(place.kind, NUMERIC)
        mark = tag("path", class_=f"mark {kind}", d=f"M{px(x)} {px(y)}{SHAPES[shape]}")
        around = tag("circle", class_="hit", cx=x, cy=y, r=11.0)
        tip = _tip(place, kind)
        look = {
            "class_": "place",
            "data_tip": tip,
            "data_feature": place.feature,
            "aria_label": tip.replace("\n", ", "),
        }
        inner = [around, mark, *([name] if name is not None else [])]
        link = links.get(place.feature)
        if link is None:
            return tag("g", *inner, role="img", tabindex="0", **look)
        return tag("a", *inner, href=link, **look)

    def _diagonal(self) -> Markup:
        """Return where rows differ as much as the average effect moves."""
        ends = np.array(self.frame.across.limits)
        (x0, x1), (y0, y1) = self.frame.x(ends).tolist(), self.frame.y(ends).tolist()
        return tag("path", class_="diagonal", d=f"M{px(x0)} {px(y0)}L{px(x1)} {px(y1)}")

    def _words(
        self, x: Floats, y: Floats
    ) -> list[tuple[Markup, tuple[float, float, float, float]]]:
        """Return what lies on either side of the diagonal, as far as words there lie upon no point."""
        frame, found = self.frame, []
        step = 1.25 * SMALL
        for lines, left, first, anchor in (
            (_OVER, frame.left + 8, frame.top + 16, "start"),
            (_UNDER, frame.right - 6, frame.bottom - 10 - step, "end"),
        ):
            box = box_of(lines, left, first, anchor)
            inside = (x > box[0] - 6) & (x < box[2] + 6) & (y > box[1] - 6) & (y < box[3] + 6)
            if inside.any():
                continue
            texts = [tag("text", t, x=left, y=first + k * step) for k, t in enumerate(lines)]
            look = "part end" if anchor == "end" else "part"
            found.append((tag("g", *texts, class_=look), box))
        return found

    def _keys(self, intervals: bool) -> Keys:
        there = {KINDS.get(p.kind, NUMERIC) for p in self.places}
        keys: Keys = {
            kind: tag("path", class_=f"mark {kind}", d=f"M13 0{SHAPES[shape]}")
            for shape, kind in (NUMERIC, *KINDS.values())
            if (shape, kind) in there
        }
        if intervals:
            said = f"{100 * self.level:g} % intervals"
            keys[said] = tag("path", class_="cross", d="M3 0H23M13-6V6")
        return keys | {EQUAL: tag("path", class_="diagonal", d="M1 5L25-5")}


def _ends(ends: tuple[float, float] | None) -> tuple[float, float]:
    """Return an interval's ends; NaN where there is none."""
    return (math.nan, math.nan) if ends is None else ends


def _most(value: Floats, upper: Floats) -> float:
    """Return where both axes end: upper ends of intervals stretch them to twice their length at most."""
    high = float(value.max(initial=0.0)) or 1.0
    return min(float(upper[np.isfinite(upper)].max(initial=high)), REACH * high)


def _tip(place: Place, kind: str) -> str:
    """Say what one point shows."""
    return "\n".join(
        [
            shortened(place.feature, 60),
            f"importance {number(place.importance)}{_written(place.importance_ends)}",
            f"heterogeneity score {number(place.heterogeneity_score)}{_written(place.heterogeneity_score_ends)}",
            kind,
        ]
    )


def _written(ends: tuple[float, float] | None) -> str:
    if ends is None or not all(map(math.isfinite, ends)):
        return ""
    return f" ({number(ends[0])} to {number(ends[1])})"


def _said(known: Sequence[Place], labels: tuple[str, str], notes: Sequence[str]) -> str:
    """Say what is to be seen."""
    parts = [f"{counted(len(known), 'feature')}: {labels[0]} across, {labels[1]} upwards."]
    if known:
        first = "; ".join(
            f"{shortened(p.feature, 60)} {number(p.importance)} and {number(p.heterogeneity_score)}"
            for p in known[:5]
        )
        parts.append(f"The most important: {first}.")
    return " ".join([*parts, *(f"{n}." for n in notes)])
