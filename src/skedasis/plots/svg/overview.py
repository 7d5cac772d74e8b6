"""Overview figures of reports as SVG: importance against heterogeneity, variance explained, calibration.

- `importance_scatter`: a scatter plot of features, importance against heterogeneity score. Above the diagonal the
  effect varies more between rows than the average effect over the feature's values.
- `variance_bar`: a stacked bar of the parts of a whole, such as of the variance of the output.
- `calibration`: a reliability diagram, observed frequency against predicted probability.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from skedasis._types import Bools, Floats, Ints
from skedasis.plots.scales import (
    LEADING,
    SMALL,
    Axis,
    clean,
    counted,
    distinct_names,
    number,
    shorten,
    width_of,
)
from skedasis.plots.spec import BELOW
from skedasis.plots.svg.elements import Drawing, px, sheet, tag
from skedasis.plots.svg.frame import GAP, TICK, Frame, Keys, above, below, beside, legend
from skedasis.plots.svg.marks import SHAPES, Defs, box_of, crosses, label_points
from skedasis.plots.svg.panels import headed

# --- importance against heterogeneity ------------------------------------------------------------

SCATTER_WIDTH, SCATTER_HEIGHT = 480.0, 330.0
"""Width of the figure and height of the panel in pixels."""

SHORT = 22
"""Most characters of a name beside its point."""

NAMED = 14
"""Most points with a name beside them; tooltips name the others."""

REACH = 2.0
"""Intervals extend the axes to at most this multiple of the largest point."""


KINDS = {"ordinal": ("triangle", "ordinal"), "nominal": ("square", "nominal")}


NUMERIC = ("circle", "numeric")


EQUAL = "heterogeneity score = importance"


_OVER = ("heterogeneity score", "exceeds importance")


_UNDER = ("importance exceeds", "heterogeneity score")


@dataclass(frozen=True)
class ImportancePoint:
    """A feature's importance and its heterogeneity score.

    Parameters
    ----------
    feature : str
    kind : str
        "continuous", "ordinal" or "nominal".
    importance, heterogeneity_score : float
        In units of the quantity.
    importance_ends, heterogeneity_score_ends : (float, float) or None
        Confidence intervals.
    """

    feature: str
    kind: str
    importance: float
    heterogeneity_score: float
    importance_ends: tuple[float, float] | None = None
    heterogeneity_score_ends: tuple[float, float] | None = None


def importance_scatter(
    places: Sequence[ImportancePoint],
    *,
    ident: str,
    links: Mapping[str, str],
    x_label: str,
    y_label: str,
    unit: str | None = None,
    confidence_level: float = 0.95,
    title: str = "Importance and heterogeneity",
    alt: str = "",
) -> Drawing:
    """Draw the importance of features against their heterogeneity scores, on axes of the same range.

    Parameters
    ----------
    places : sequence of ImportancePoint
    ident : str
        Unique on the page.
    links : mapping of str to str
        Link of each feature's point, such as "#feature-3".
    x_label, y_label : str
        Axis labels of importance and heterogeneity score.
    unit : str, optional
    confidence_level : float
        Confidence level of the intervals.
    title, alt : str

    Returns
    -------
    Drawing
        Each point is a link; the most important ones come first. Features without one of the numbers are not drawn; a
        note states their number.

    Examples
    --------
    >>> one = [ImportancePoint("age", "continuous", 2.0, 1.0, (1.8, 2.2), (0.9, 1.1))]
    >>> labels = {"x_label": "importance", "y_label": "heterogeneity score"}
    >>> 'href="#f0"' in importance_scatter(one, ident="w", links={"age": "#f0"}, **labels).svg
    True
    """
    order = sorted(places, key=lambda p: -p.importance if math.isfinite(p.importance) else math.inf)
    known = [p for p in order if math.isfinite(p.importance + p.heterogeneity_score)]
    labels = (shorten(x_label, BELOW), shorten(y_label, BELOW))
    parts: list[Markup] = []
    keys: Keys = {}
    y, hidden = 2.0, 0
    if known:
        scatter = _Scatter.of(known, labels, unit, y, confidence_level)
        drawn, keys, hidden = scatter.drawn(links)
        parts.append(drawn)
        y = scatter.frame.bottom + below(scatter.frame.across, scatter.frame.width) + 6
    explained, high = legend(keys, 2.0, y, SCATTER_WIDTH - 4)
    notes = _scatter_notes(places, known, hidden)
    foot, end = headed("", notes, SCATTER_WIDTH, y + high)
    said = alt or _alt_text(known, labels, notes)
    size = (SCATTER_WIDTH, end)
    return sheet([*parts, explained, foot], size, ident=ident, title=title, alt=said, role="group")


def _scatter_notes(
    places: Sequence[ImportancePoint], known: Sequence[ImportancePoint], hidden: int
) -> tuple[str, ...]:
    """Return notes on features and names that are not shown."""
    notes: list[str] = []
    if not places:
        notes.append("no features")
    if len(known) < len(places):
        notes.append(
            f"{counted(len(places) - len(known), 'feature')} without a heterogeneity score"
        )
    if hidden:
        notes.append(f"no room for {counted(hidden, 'name')}: point at a mark to see its name")
    return tuple(notes)


@dataclass(frozen=True, eq=False)
class _Scatter:
    """The panel of the scatter plot."""

    places: Sequence[ImportancePoint]
    names: tuple[str, ...]
    frame: Frame
    at: Floats
    lower: Floats
    upper: Floats
    confidence_level: float

    @classmethod
    def of(
        cls,
        places: Sequence[ImportancePoint],
        labels: tuple[str, str],
        unit: str | None,
        top: float,
        confidence_level: float,
    ) -> _Scatter:
        at = np.array([(p.importance, p.heterogeneity_score) for p in places], dtype=float)
        ends = [[_ends(e) for e in (p.importance_ends, p.heterogeneity_score_ends)] for p in places]
        lower, upper = np.moveaxis(np.array(ends, dtype=float), 2, 0)
        most = _most(at, upper)
        x, y = (Axis(label, unit, 0.0, most, 0.04) for label in labels)
        top += above(y, SCATTER_WIDTH)
        left = beside(y, SCATTER_HEIGHT)
        frame = Frame(x, y, left, top, SCATTER_WIDTH - left - 20, SCATTER_HEIGHT)
        names = distinct_names([clean(p.feature) for p in places], SHORT)
        return cls(places, names, frame, at, lower, upper, confidence_level)

    def drawn(self, links: Mapping[str, str]) -> tuple[Markup, Keys, int]:
        """Return the panel, its legend, and the number of points without a name."""
        frame = self.frame
        x, y = frame.x(self.at[:, 0]), frame.y(self.at[:, 1])
        d, boxes = crosses(frame, self.at, self.lower, self.upper)
        words = self._words(x, y)
        taken = [box for _, box in words]
        # Names are placed in order of priority: large importance or large heterogeneity score.
        stands_out = (self.at / np.maximum(np.abs(self.at).max(axis=0), 1e-300)).max(axis=1)
        first = np.argsort(-stands_out, kind="stable")
        shown = [self.names[i] for i in first[:NAMED]]
        found = label_points(frame, x[first], y[first], shown, taken=taken, lines=boxes)
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
        tip = _tooltip(place, kind)
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
        """Return the line on which heterogeneity score and importance are equal."""
        ends = np.array(self.frame.across.limits)
        (x0, x1), (y0, y1) = self.frame.x(ends).tolist(), self.frame.y(ends).tolist()
        return tag("path", class_="diagonal", d=f"M{px(x0)} {px(y0)}L{px(x1)} {px(y1)}")

    def _words(
        self, x: Floats, y: Floats
    ) -> list[tuple[Markup, tuple[float, float, float, float]]]:
        """Return the texts on both sides of the diagonal with their boxes, unless they would overlap a point."""
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
            said = f"{100 * self.confidence_level:g} % intervals"
            keys[said] = tag("path", class_="cross", d="M3 0H23M13-6V6")
        return keys | {EQUAL: tag("path", class_="diagonal", d="M1 5L25-5")}


def _ends(ends: tuple[float, float] | None) -> tuple[float, float]:
    """Return the ends of an interval; NaN without one."""
    return (math.nan, math.nan) if ends is None else ends


def _most(value: Floats, upper: Floats) -> float:
    """Return the upper end of both axes; intervals extend it to at most `REACH` times the largest point."""
    high = float(value.max(initial=0.0)) or 1.0
    return min(float(upper[np.isfinite(upper)].max(initial=high)), REACH * high)


def _tooltip(place: ImportancePoint, kind: str) -> str:
    """Return the tooltip of a point."""
    return "\n".join(
        [
            shorten(place.feature, 60),
            f"importance {number(place.importance)}{_interval_text(place.importance_ends)}",
            f"heterogeneity score {number(place.heterogeneity_score)}{_interval_text(place.heterogeneity_score_ends)}",
            kind,
        ]
    )


def _interval_text(ends: tuple[float, float] | None) -> str:
    if ends is None or not all(map(math.isfinite, ends)):
        return ""
    return f" ({number(ends[0])} to {number(ends[1])})"


def _alt_text(
    known: Sequence[ImportancePoint], labels: tuple[str, str], notes: Sequence[str]
) -> str:
    """Return the alternative text."""
    parts = [
        f"{counted(len(known), 'feature')}: {labels[0]} on the horizontal axis, {labels[1]} on the vertical axis."
    ]
    if known:
        first = "; ".join(
            f"{shorten(p.feature, 60)} {number(p.importance)} and {number(p.heterogeneity_score)}"
            for p in known[:5]
        )
        parts.append(f"Most important: {first}.")
    return " ".join([*parts, *(f"{n}." for n in notes)])


# --- parts of a whole ----------------------------------------------------------------------------

LEDGER_WIDTH, BAR = 480.0, 34.0
"""Width of the figure and height of the bar in pixels."""

PATTERNS = ("", "p1", "p2", "p3", "p4", "p5")
"""Patterns of the parts, in their order; the first part is plain."""


LETTERS = 60


@dataclass(frozen=True)
class _Segment:
    """A segment of the bar: start and end as fractions of the whole, and the index of its style."""

    name: str
    share: float
    start: float
    end: float
    look: int


def variance_bar(
    shares: Mapping[str, float],
    *,
    ident: str,
    title: str = "",
    whole: str = "the output's variance",
) -> Drawing:
    """Draw the parts of a whole as one stacked bar, with a pattern and a number per part.

    Parameters
    ----------
    shares : mapping of str to float
        Fractions of the whole, in drawing order. A negative part is stated in a note instead of being drawn, and the
        others extend beyond 100 %. NaN for an unknown fraction.
    ident : str
        Unique on the page.
    title : str
        By default the whole.
    whole : str
        Name of the whole.

    Returns
    -------
    Drawing
        The tooltip of each part states its fraction.

    Examples
    --------
    >>> drawn = variance_bar(
    ...     {"additive effects": 0.75, "pairs shown": 0.3, "rest": -0.05}, ident="ledger"
    ... )
    >>> drawn.alt.split(". ")[0]
    "Parts of the output's variance: additive effects 75 %; pairs shown 30 %; rest −5 %"
    """
    parts = _stacked(shares)
    defs = Defs(ident)
    head, top = headed(title, (), LEDGER_WIDTH)
    end = max(1.0, max((p.end for p in parts), default=1.0))
    wide = LEDGER_WIDTH - 24

    def x(share: float) -> float:
        return 12 + wide * share / end

    frame = {"data_x": f"{px(x(0.0))} {px(x(end))} 0.0 {end!r}"}
    bars = [_bar(p, x(p.start), x(p.end), top, defs) for p in parts if p.end > p.start]
    notes = _ledger_notes(shares, end, whole)
    y = top + BAR
    axis = _axis(x(0.0), x(1.0), x(end), y, whole)
    y += TICK + GAP + LEADING * SMALL + 8
    keys: Keys = {f"{p.name} {_percent(p.share)}": _key(p, defs) for p in parts}
    explained, high = legend(keys, 2.0, y, LEDGER_WIDTH - 4)
    foot, y = headed("", notes, LEDGER_WIDTH, y + high)
    said = "; ".join(f"{p.name} {_percent(p.share)}" for p in parts)
    words = [f"Parts of {whole}: {said}.", *(f"{n[:1].upper()}{n[1:]}." for n in notes)]
    return sheet(
        [defs.written(), head, axis, tag("g", *bars, class_="panel", **frame), explained, foot],
        (LEDGER_WIDTH, y),
        ident=ident,
        title=title or f"Parts of {whole}",
        alt=" ".join(words),
    )


def _stacked(shares: Mapping[str, float]) -> list[_Segment]:
    """Return the parts, stacked in their order; parts that are not positive have length zero."""
    parts: list[_Segment] = []
    at = 0.0
    for k, (name, share) in enumerate(shares.items()):
        step = share if math.isfinite(share) and share > 0 else 0.0
        look = k % len(PATTERNS)
        parts.append(_Segment(shorten(name, LETTERS), share, at, at + step, look))
        at += step
    return parts


def _bar(part: _Segment, a: float, b: float, top: float, defs: Defs) -> Markup:
    """Return one part of the bar, with its number if there is space."""
    text = _percent(part.share)
    box = {"x": a, "y": top, "width": b - a, "height": BAR}
    inner = [tag("rect", class_=f"entry e{part.look}", **box)]
    if PATTERNS[part.look]:
        inner.append(tag("rect", fill=defs.pattern(PATTERNS[part.look]), **box))
    if width_of(text) + 8 < b - a:
        middle = {"x": (a + b) / 2, "y": top + BAR / 2 + 0.35 * SMALL}
        inner.append(tag("text", text, class_="middle haloed", **middle))
    inner.append(tag("rect", class_="hit", data_tip=f"{part.name}\n{text}", **box))
    return tag("g", *inner)


def _key(part: _Segment, defs: Defs) -> Markup:
    """Return the legend key of a part; empty for a part of length zero."""
    if part.end <= part.start:
        return Markup()
    box = {"x": 1.0, "y": -6.0, "width": 24.0, "height": 12.0}
    inner = [tag("rect", class_=f"entry e{part.look}", **box)]
    if PATTERNS[part.look]:
        inner.append(tag("rect", fill=defs.pattern(PATTERNS[part.look]), **box))
    return tag("g", *inner)


def _axis(zero: float, one: float, end: float, y: float, whole: str) -> Markup:
    """Return the axis with ticks at 0 and at 100 %."""
    d = f"M{px(zero)} {px(y)}H{px(end)}M{px(zero)} {px(y)}v{px(TICK)}M{px(one)} {px(y)}v{px(TICK)}"
    if one < end - 0.5:
        d += f"M{px(one)} {px(y)}v{px(-BAR - 5)}"
    foot = y + TICK + GAP + 0.8 * SMALL
    texts = tag("text", "0", x=zero, y=foot)
    last = f"100 % of {shorten(whole, 40)}"
    # Right-aligned at 100 %, if there is space.
    start = max(one, width_of(last) + 24)
    return tag(
        "g",
        tag("path", class_="axis", d=d),
        tag("g", texts, class_="ticks middle"),
        tag("g", tag("text", last, x=start, y=foot), class_="ticks end"),
    )


def _ledger_notes(shares: Mapping[str, float], end: float, whole: str) -> list[str]:
    """Return notes on negative, overlapping and unknown parts."""
    notes = [
        f"{shorten(name, LETTERS)} is {_percent(share)}: the parts before it add up to more than {whole}, "
        "because they overlap or are estimates"
        for name, share in shares.items()
        if share < 0
    ]
    if end > 1.005 and not notes:
        notes.append(
            f"the parts add up to {_percent(end)} of {whole}, because they overlap or are estimates"
        )
    unknown = [shorten(n, LETTERS) for n, s in shares.items() if not math.isfinite(s)]
    if unknown:
        notes.append(f"unknown: {', '.join(unknown)}")
    return notes


def _percent(share: float) -> str:
    """Return a fraction in percent; small positive fractions are not rounded to 0 %."""
    if not math.isfinite(share):
        return "unknown"
    if 0 < abs(share) < 0.005:
        return "less than 1 %" if share > 0 else "almost 0 %"
    return f"{100 * share:.0f} %".replace("-", "\N{MINUS SIGN}")


# --- calibration ---------------------------------------------------------------------------------

CALIBRATION_WIDTH, CALIBRATION_HEIGHT, LOW = 480.0, 330.0, 60.0
"""Width of the figure, and heights of the panel and of the counts below it, in pixels."""

WHOLE = 0.5
"""If probabilities span more than this, the axes go from 0 to 1."""


@dataclass(frozen=True, eq=False)
class ReliabilityBins:
    """Bins of the predicted probability of a class, and the observed frequency of the class in each.

    Parameters
    ----------
    left, right : ndarray of float, shape (K,)
        Smallest and largest predicted probability in the bin.
    predicted, observed : ndarray of float, shape (K,)
        Mean predicted probability, and fraction of rows of the class.
    lower, upper : ndarray of float, shape (K,)
        95 % intervals of the observed frequencies (Wilson).
    count : ndarray of int, shape (K,)
        Number of rows.
    """

    left: Floats
    right: Floats
    predicted: Floats
    observed: Floats
    lower: Floats
    upper: Floats
    count: Ints


def calibration(
    bins: ReliabilityBins,
    *,
    ident: str,
    event: str = "the class",
) -> Drawing:
    """Draw a reliability diagram: observed frequency against predicted probability, and the number of rows per bin.

    Parameters
    ----------
    bins : ReliabilityBins
        Bins without rows are not drawn.
    ident : str
        Unique on the page.
    event : str
        Name of the predicted event.

    Returns
    -------
    Drawing
        The tooltip of each bin states its probabilities, its observed frequency with interval, and its number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> ends = np.array([0.0, 0.5]), np.array([0.5, 1.0])
    >>> shares = np.array([0.2, 0.7]), np.array([0.25, 0.6])
    >>> two = ReliabilityBins(
    ...     *ends, *shares, np.array([0.1, 0.4]), np.array([0.5, 0.8]), np.array([20, 10])
    ... )
    >>> print(calibration(two, ident="c").alt)  # doctest: +ELLIPSIS
    Observed frequency of the class against predicted probability, 2 bins: predicted 0.200 observed 0.250; ...0.600.
    """
    there = np.isfinite(bins.predicted) & np.isfinite(bins.observed) & (bins.count > 0)
    drawn = _ReliabilityDiagram(bins, there, _range(bins, there))
    n = int(bins.count[there].sum())
    notes = (counted(n, "row"), counted(int(there.sum()), "bin")) if n else ("no rows",)
    head, y = headed("Calibration", notes, CALIBRATION_WIDTH)
    upper, lower = drawn.frames(y, event)
    defs = Defs(ident)
    marks, keys = drawn.marks(upper, defs)
    y = lower.bottom + below(lower.across, lower.width) + 4
    explained, high = legend(keys, 2.0, y, CALIBRATION_WIDTH - 4)
    body = [
        upper.panel(upper.ground(), *marks, upper.axes(below=False)),
        lower.panel(lower.ground(), drawn.counts(lower), lower.axes()),
        *drawn.hits(upper, lower),
    ]
    return sheet(
        [defs.written(), head, *body, explained],
        (CALIBRATION_WIDTH, y + high + 2),
        ident=ident,
        title="Calibration",
        alt=drawn.said(event),
    )


def _range(bins: ReliabilityBins, there: Bools) -> tuple[float, float]:
    """Return the ends of both axes: 0 and 1, or a smaller range for rare or almost certain events."""
    ends = [bins.left, bins.right, bins.predicted, bins.observed, bins.lower, bins.upper]
    known = np.concatenate([e[there & np.isfinite(e)] for e in ends])
    if len(known) == 0:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    if high - low > WHOLE or high <= low:
        return 0.0, 1.0
    # A nearby 0 or 1 is included, because these values have a meaning.
    low, high = (0.0 if low < high - low else low), (1.0 if 1 - high < high - low else high)
    return low, high


@dataclass(frozen=True, eq=False)
class _ReliabilityDiagram:
    """The parts of the diagram, for bins with rows."""

    bins: ReliabilityBins
    there: Bools
    ends: tuple[float, float]

    def frames(self, top: float, event: str) -> tuple[Frame, Frame]:
        """Return the frames of the frequencies and of the counts below them."""
        across = Axis("predicted probability", None, *self.ends, 0.02)
        up = Axis(f"observed frequency of {event}", None, *self.ends, 0.02)
        most = float(self.bins.count[self.there].max(initial=1))
        rows = Axis("rows", None, 0.0, 1.08 * most, 0.0)
        left = max(beside(up, CALIBRATION_HEIGHT), beside(rows, LOW, dense=True))
        top += above(up, CALIBRATION_WIDTH)
        wide = CALIBRATION_WIDTH - left - 12
        second = top + CALIBRATION_HEIGHT + above(rows, CALIBRATION_WIDTH) + 6
        upper = Frame(across, up, left, top, wide, CALIBRATION_HEIGHT)
        return upper, Frame(across, rows, left, second, wide, LOW, dense=True)

    def marks(self, frame: Frame, defs: Defs) -> tuple[list[Markup], Keys]:
        """Return the observed frequencies with their intervals, and the legend."""
        x, y, lower, upper = (
            values[self.there]
            for values in (
                self.bins.predicted,
                self.bins.observed,
                self.bins.lower,
                self.bins.upper,
            )
        )
        a, b = frame.x(x), frame.y(y)
        ends = np.array(frame.across.limits)
        (x0, x1), (y0, y1) = frame.x(ends).tolist(), frame.y(ends).tolist()
        bars = zip(a.tolist(), frame.y(lower).tolist(), frame.y(upper).tolist(), strict=True)
        d = "".join(
            f"M{px(i)} {px(j)}V{px(k)}M{px(i - 4)} {px(j)}h8M{px(i - 4)} {px(k)}h8"
            for i, j, k in bars
            if np.isfinite([j, k]).all()
        )
        points = "".join(
            f"M{px(i)} {px(j)}{SHAPES['circle']}"
            for i, j in zip(a.tolist(), b.tolist(), strict=True)
        )
        parts = [
            tag("path", class_="ideal", d=f"M{px(x0)} {px(y0)}L{px(x1)} {px(y1)}"),
            tag("path", class_="whisker", d=d),
            tag("path", class_="mark numeric", d=points),
        ]
        keys: Keys = {
            "observed frequency": tag("path", class_="mark numeric", d=f"M13 0{SHAPES['circle']}"),
            "95 % interval": tag("path", class_="whisker", d="M13-7V7M9-7h8M9 7h8"),
            "perfect calibration": tag("path", class_="ideal", d="M1 5L25-5"),
        }
        return [tag("g", *parts, clip_path=defs.clip(frame))], keys

    def counts(self, frame: Frame) -> Markup:
        """Return the number of rows of each bin as bars."""
        left, right = (frame.x(e[self.there]) for e in (self.bins.left, self.bins.right))
        high = frame.y(self.bins.count[self.there].astype(float))
        # A bin with a single value is at least two pixels wide.
        wide = np.maximum(right - left, 2.0)
        middle = (left + right) / 2
        d = "".join(
            f"M{px(m - w / 2)} {px(frame.bottom)}V{px(h)}h{px(w)}V{px(frame.bottom)}z"
            for m, w, h in zip(middle.tolist(), wide.tolist(), high.tolist(), strict=True)
        )
        return tag("path", class_="margin", d=d) if d else Markup()

    def hits(self, upper: Frame, lower: Frame) -> list[Markup]:
        """Return the transparent rectangles with the tooltips of the bins."""
        k = np.flatnonzero(self.there)
        k = k[np.argsort(self.bins.predicted[k], kind="stable")]
        x = upper.x(self.bins.predicted[k])
        cuts = [upper.left, *((x[:-1] + x[1:]) / 2).tolist(), upper.right]
        box = {"y": upper.top, "height": lower.bottom - upper.top}
        return [
            tag("rect", class_="hit", x=a, width=b - a, data_tip=self._tooltip(i), **box)
            for i, (a, b) in zip(k.tolist(), itertools.pairwise(cuts), strict=False)
        ]

    def _tooltip(self, k: int) -> str:
        b = self.bins
        ends = [number(float(e[k])) for e in (b.left, b.right)]
        interval = [number(float(e[k])) for e in (b.lower, b.upper)]
        return "\n".join(
            [
                f"predicted {ends[0]} – {ends[1]}, mean {number(float(b.predicted[k]))}",
                f"observed {number(float(b.observed[k]))} ({interval[0]} to {interval[1]})",
                counted(int(b.count[k]), "row"),
            ]
        )

    def said(self, event: str) -> str:
        """Return the alternative text."""
        k = np.flatnonzero(self.there)
        first = (
            f"Observed frequency of {event} against predicted probability, {counted(len(k), 'bin')}"
        )
        if len(k) == 0:
            return f"{first}."
        pairs = [
            f"predicted {number(float(self.bins.predicted[i]))} observed {number(float(self.bins.observed[i]))}"
            for i in k
        ]
        return f"{first}: {'; '.join(pairs)}."
