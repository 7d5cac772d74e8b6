"""Predicted probabilities beside the shares that were observed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from skedasis._types import Bools, Floats, Ints
from skedasis.plots.common import counted
from skedasis.plots.numbers import number
from skedasis.plots.scale import Axis
from skedasis.plots.web.areas import Defs
from skedasis.plots.web.drawing import Drawing, sheet
from skedasis.plots.web.frame import Frame, above, below, beside
from skedasis.plots.web.legend import Keys, legend
from skedasis.plots.web.outline import headed
from skedasis.plots.web.svg import px, tag
from skedasis.plots.web.tagged import SHAPES

WIDTH, HIGH, LOW = 480.0, 330.0, 60.0
"""Of the figure, of the panel, and of the bars below it."""
WHOLE = 0.5
"""Probabilities that take more than this share of the axis are shown on all of it."""


@dataclass(frozen=True, eq=False)
class Reliability:
    """Bins of the predicted probability of a class, and how often the class was observed in each.

    Parameters
    ----------
    left, right : ndarray of float, shape (K,)
        The smallest and the largest probability predicted in the bin.
    predicted, observed : ndarray of float, shape (K,)
        The mean probability predicted, and the share of rows of the class.
    lower, upper : ndarray of float, shape (K,)
        Ends of the observed shares' 95 % intervals (Wilson).
    count : ndarray of int, shape (K,)
        Rows.
    """

    left: Floats
    right: Floats
    predicted: Floats
    observed: Floats
    lower: Floats
    upper: Floats
    count: Ints


def calibration(
    bins: Reliability,
    *,
    ident: str,
    title: str = "Calibration",
    alt: str = "",
    event: str = "the class",
) -> Drawing:
    """Draw predicted probabilities beside the shares that were observed, and how many rows there are of each.

    Parameters
    ----------
    bins : Reliability
        Bins without rows are not drawn.
    ident : str
        Unique on the page.
    title, alt : str
    event : str
        What is predicted, in words.

    Returns
    -------
    Drawing
        Each bin says its probabilities, its observed share with its interval, and its number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> ends = np.array([0.0, 0.5]), np.array([0.5, 1.0])
    >>> shares = np.array([0.2, 0.7]), np.array([0.25, 0.6])
    >>> two = Reliability(
    ...     *ends, *shares, np.array([0.1, 0.4]), np.array([0.5, 0.8]), np.array([20, 10])
    ... )
    >>> print(calibration(two, ident="c").alt)  # doctest: +ELLIPSIS
    Observed shares of the class beside predicted probabilities, 2 bins: predicted 0.200 observed 0.250; ...0.600.
    """
    there = np.isfinite(bins.predicted) & np.isfinite(bins.observed) & (bins.count > 0)
    drawn = _Drawn(bins, there, _range(bins, there))
    n = int(bins.count[there].sum())
    notes = (counted(n, "row"), counted(int(there.sum()), "bin")) if n else ("no rows",)
    head, y = headed(title, notes, WIDTH)
    upper, lower = drawn.frames(y, event)
    defs = Defs(ident)
    marks, keys = drawn.marks(upper, defs)
    y = lower.bottom + below(lower.across, lower.width) + 4
    explained, high = legend(keys, 2.0, y, WIDTH - 4)
    body = [
        upper.panel(upper.ground(), *marks, upper.axes(below=False)),
        lower.panel(lower.ground(), drawn.counts(lower), lower.axes()),
        *drawn.hits(upper, lower),
    ]
    return sheet(
        [defs.written(), head, *body, explained],
        (WIDTH, y + high + 2),
        ident=ident,
        title=title,
        alt=alt or drawn.said(event),
    )


def _range(bins: Reliability, there: Bools) -> tuple[float, float]:
    """Return the ends of both axes: all probabilities, or, of rare or almost certain events, theirs."""
    ends = [bins.left, bins.right, bins.predicted, bins.observed, bins.lower, bins.upper]
    known = np.concatenate([e[there & np.isfinite(e)] for e in ends])
    if len(known) == 0:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    if high - low > WHOLE or high <= low:
        return 0.0, 1.0
    # From a corner of the unit square that is near, for zero and one mean something.
    low, high = (0.0 if low < high - low else low), (1.0 if 1 - high < high - low else high)
    return low, high


@dataclass(frozen=True, eq=False)
class _Drawn:
    """What is drawn of the bins that have rows."""

    bins: Reliability
    there: Bools
    ends: tuple[float, float]

    def frames(self, top: float, event: str) -> tuple[Frame, Frame]:
        """Return the rectangle of the shares, and that of the counts below it."""
        across = Axis("predicted probability", None, *self.ends, 0.02)
        up = Axis(f"observed share of {event}", None, *self.ends, 0.02)
        most = float(self.bins.count[self.there].max(initial=1))
        rows = Axis("rows", None, 0.0, 1.08 * most, 0.0)
        left = max(beside(up, HIGH), beside(rows, LOW, dense=True))
        top += above(up, WIDTH)
        wide = WIDTH - left - 12
        second = top + HIGH + above(rows, WIDTH) + 6
        upper = Frame(across, up, left, top, wide, HIGH)
        return upper, Frame(across, rows, left, second, wide, LOW, dense=True)

    def marks(self, frame: Frame, defs: Defs) -> tuple[list[Markup], Keys]:
        """Return the shares with their intervals, and what explains them."""
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
            "observed share": tag("path", class_="mark numeric", d=f"M13 0{SHAPES['circle']}"),
            "95 % interval": tag("path", class_="whisker", d="M13-7V7M9-7h8M9 7h8"),
            "as predicted": tag("path", class_="ideal", d="M1 5L25-5"),
        }
        return [tag("g", *parts, clip_path=defs.clip(frame))], keys

    def counts(self, frame: Frame) -> Markup:
        """Return the rows of each bin as bars."""
        left, right = (frame.x(e[self.there]) for e in (self.bins.left, self.bins.right))
        high = frame.y(self.bins.count[self.there].astype(float))
        # A bin of one value is seen, too.
        wide = np.maximum(right - left, 2.0)
        middle = (left + right) / 2
        d = "".join(
            f"M{px(m - w / 2)} {px(frame.bottom)}V{px(h)}h{px(w)}V{px(frame.bottom)}z"
            for m, w, h in zip(middle.tolist(), wide.tolist(), high.tolist(), strict=True)
        )
        return tag("path", class_="margin", d=d) if d else Markup()

    def hits(self, upper: Frame, lower: Frame) -> list[Markup]:
        """Return the column of each bin, which says what it holds."""
        k = np.flatnonzero(self.there)
        k = k[np.argsort(self.bins.predicted[k], kind="stable")]
        x = upper.x(self.bins.predicted[k])
        cuts = [upper.left, *((x[:-1] + x[1:]) / 2).tolist(), upper.right]
        box = {"y": upper.top, "height": lower.bottom - upper.top}
        return [
            tag("rect", class_="hit", x=a, width=b - a, data_tip=self._tip(i), **box)
            for i, (a, b) in zip(k.tolist(), itertools.pairwise(cuts), strict=False)
        ]

    def _tip(self, k: int) -> str:
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
        """Say what is to be seen."""
        k = np.flatnonzero(self.there)
        first = (
            f"Observed shares of {event} beside predicted probabilities, {counted(len(k), 'bin')}"
        )
        if len(k) == 0:
            return f"{first}."
        pairs = [
            f"predicted {number(float(self.bins.predicted[i]))} observed {number(float(self.bins.observed[i]))}"
            for i in k
        ]
        return f"{first}: {'; '.join(pairs)}."
