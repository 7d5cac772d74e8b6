"""Figures of importances as SVG: bars, histograms before and after permutation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from skedasis._types import Floats
from skedasis.plots.descriptions import Tooltip, tooltip_rectangles
from skedasis.plots.figures.importance import (
    EACH_REPEAT,
    MEAN_OF_REPEATS,
    BarPanel,
    PermutationHistograms,
    bars,
    display_order,
    kept,
    repeated,
    shifts,
    titled,
)
from skedasis.plots.scales import (
    SMALL,
    Axis,
    clean,
    counted,
    fitting,
    number,
    position_texts,
    shorten,
    width_of,
)
from skedasis.plots.svg.elements import Drawing, joined, path, px, sheet, tag
from skedasis.plots.svg.frame import (
    GAP,
    Frame,
    Keys,
    above,
    area_key,
    below,
    beside,
    legend,
    line_key,
)
from skedasis.plots.svg.marks import Defs, rectangles
from skedasis.plots.svg.panels import foot, headed
from skedasis.results.importance import Importance

# --- bars ----------------------------------------------------------------------------------------

BARS_WIDTH = 480.0

NAMES = 0.4
"""Largest fraction of the width for names."""


LINE, TIGHT, MANY = 26.0, 18.0, 40
"""Height of a line in pixels; that of more than `MANY` lines."""


THICK = 0.6
"""Height of a bar, as a fraction of its line."""


_DOT = "m-2.2 0a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0-4.4 0"


@dataclass(frozen=True, eq=False)
class BarLines:
    """One line per name, the first on top, with a horizontal axis below.

    Parameters
    ----------
    names : tuple of str
        Shortened names.
    frame : Frame
        The centre of line i is ``frame.y(n - 1 - i)``.
    """

    names: tuple[str, ...]
    frame: Frame

    @classmethod
    def below(
        cls,
        names: Sequence[str],
        axis: Axis,
        top: float,
    ) -> BarLines:
        """Return lines that start at `top`."""
        n, end = len(names), BARS_WIDTH - 12
        short = tuple(fitting(name, NAMES * BARS_WIDTH) for name in names)
        start = max(width_of(name) for name in short) + 2 * GAP
        high = n * (LINE if n <= MANY else TIGHT)
        up = Axis("", None, -0.5, n - 0.5, 0.0)
        return cls(short, Frame(axis, up, start, top, end - start, high))

    @property
    def y(self) -> Floats:
        """Return the centres of the lines in pixels, shape (n,)."""
        n = len(self.names)
        return self.frame.y(np.arange(n - 1.0, -1.0, -1.0))

    @property
    def height(self) -> float:
        """Return the height of a line in pixels."""
        return self.frame.height / len(self.names)

    def ground(self) -> Markup:
        """Return the grid, and the names."""
        frame = self.frame
        at = frame.x(np.array(frame.under.at)).tolist()
        d = "".join(f"M{px(x)} {px(frame.top)}V{px(frame.bottom)}" for x in at)
        places = zip(self.names, self.y.tolist(), strict=True)
        names = [
            tag("text", name, x=frame.left - 2 * GAP, y=y + 0.35 * SMALL) for name, y in places
        ]
        return joined([tag("path", class_="grid", d=d), tag("g", *names, class_="ticks end")])

    def zero(self) -> Markup:
        """Return the line at zero."""
        x = px(float(self.frame.x(0.0)))
        return tag("path", class_="zero", d=f"M{x} {px(self.frame.top)}V{px(self.frame.bottom)}")

    def bar(self, i: int, value: float, *, shift: float = 0.0, thick: float = THICK) -> Markup:
        """Return a bar from zero to a value; `shift` and `thick` are fractions of the height of a line."""
        a, b = sorted(self.frame.x(np.array([0.0, value])).tolist())
        high = thick * self.height
        y = float(self.y[i]) + shift * self.height - high / 2
        return tag("rect", x=a, y=y, width=b - a, height=high)

    def hit(self, i: int, tip: str) -> Markup:
        """Return the transparent rectangle with the tooltip of a line."""
        y = float(self.y[i]) - self.height / 2
        right = self.frame.right
        return tag(
            "rect", class_="hit", x=2.0, y=y, width=right - 2, height=self.height, data_tip=tip
        )


def importance(
    importance: Importance,
    *,
    ident: str,
    title: str = "",
    alt: str = "",
    features: Sequence[str] | None = None,
    top: int | None = None,
    confidence_level: float = 0.95,
) -> Drawing:
    """Draw the importances of features as bars, most important first.

    Parameters
    ----------
    importance : Importance
    ident : str
        Unique on the page.
    title, alt : str
        By default the method and the quantity, and a description of the figure.
    features, top, confidence_level
        As in `skedasis.plots.figures.importance.bars`.

    Returns
    -------
    Drawing
        The tooltip of each line states the importance, its interval and the range of the repeats.

    Raises
    ------
    DataError
        As `skedasis.plots.figures.importance.bars`.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([[0.1, 0.2, 0.3], [0.0, -0.01, 0.01]])
    >>> pf = Importance(("age", "noise"), values, np.full(2, 0.05), np.full(2, 9.0), 0.5, 500)
    >>> importance(pf, ident="pfi").alt.startswith("Bar chart, most important first: age 0.200")
    True
    """
    panel = bars(importance, features=features, top=top, confidence_level=confidence_level)
    full = [clean(importance.features[i]) for i in display_order(importance, features, top)]
    return chart(panel, full, ident=ident, title=title, alt=alt)


def chart(
    panel: BarPanel,
    full: Sequence[str],
    *,
    ident: str,
    title: str = "",
    alt: str = "",
    dots: str = EACH_REPEAT,
    mean: str = MEAN_OF_REPEATS,
) -> Drawing:
    """Draw the bars of a specification.

    Parameters
    ----------
    panel : BarPanel
    full : sequence of str
        Full names of the features.
    ident, title, alt : str
        As in `importance`.
    dots, mean : str
        Legend entries of the dots and of the bars.

    Returns
    -------
    Drawing
    """
    unit = f" {clean(panel.x.unit)}" if panel.x.unit else ""
    head, y = headed(panel.title, panel.notes, BARS_WIDTH)
    lines, defs = BarLines.below(panel.names, panel.x, y), Defs(ident)
    marks, keys = _marks(lines, panel, dots, mean)
    tips = [lines.hit(i, _tooltip(panel, i, name, unit, dots)) for i, name in enumerate(full)]
    body = lines.frame.panel(
        lines.ground(), tag("g", *marks, clip_path=defs.clip(lines.frame)), *tips
    )
    below, y = foot(panel.x, lines.frame.left, lines.frame.width, lines.frame.bottom)
    explained, high = legend(keys, 2.0, y, BARS_WIDTH - 4)
    return sheet(
        [defs.written(), head, body, below, explained],
        (BARS_WIDTH, y + high + 2),
        ident=ident,
        title=title or panel.title,
        alt=alt or _bars_alt_text(panel, full, unit),
    )


def _marks(lines: BarLines, panel: BarPanel, dots: str, mean: str) -> tuple[list[Markup], Keys]:
    """Return bars, whiskers and repeats, and the legend."""
    bodies = [lines.bar(i, v) for i, v in enumerate(panel.value.tolist())]
    parts = [tag("g", *bodies, class_="amount"), lines.zero()]
    swatch = tag("g", tag("rect", x=1.0, y=-5.0, width=24.0, height=10.0), class_="amount")
    keys: Keys = {mean if panel.repeats.size else "mean": swatch}
    if panel.repeats.size:
        # Below the whisker, with a small vertical offset so that equal ones do not coincide.
        r = panel.repeats.shape[1]
        shift = lines.height * THICK * (0.27 + 0.08 * (np.arange(r) % 3 - 1))
        x, y = lines.frame.x(panel.repeats).ravel(), np.add.outer(lines.y, shift).ravel()
        at = zip(x.tolist(), y.tolist(), strict=True)
        parts.append(
            tag("path", class_="repeat", d="".join(f"M{px(a)} {px(b)}{_DOT}" for a, b in at))
        )
        keys[dots] = tag("path", class_="repeat", d=f"M13 0{_DOT}")
    d = "".join(
        f"M{px(a)} {px(y)}H{px(b)}M{px(a)} {px(y - 4)}v8M{px(b)} {px(y - 4)}v8"
        for a, b, y in zip(
            *(lines.frame.x(e) for e in (panel.lower, panel.upper)), lines.y, strict=True
        )
        if np.isfinite(a) and np.isfinite(b)
    )
    if d:
        parts.append(tag("path", class_="whisker", d=d))
        keys[panel.interval] = tag("path", class_="whisker", d="M3 0H23M3-4v8M23-4v8")
    return parts, keys


def _tooltip(panel: BarPanel, i: int, name: str, unit: str, dots: str) -> str:
    """Return the tooltip of a line."""
    lines = [shorten(name, 60), f"importance {number(float(panel.value[i]))}{unit}"]
    if np.isfinite(panel.lower[i]):
        ends = [number(float(e[i])) for e in (panel.lower, panel.upper)]
        lines.append(f"{panel.interval} {ends[0]} to {ends[1]}")
    if panel.repeats.size:
        ends = [number(float(f(panel.repeats[i]))) for f in (np.min, np.max)]
        lines.append(f"{dots} {ends[0]} to {ends[1]}")
    return "\n".join(lines)


def _bars_alt_text(panel: BarPanel, full: Sequence[str], unit: str) -> str:
    """Return the alternative text."""
    shown = zip(full[:5], panel.value.tolist(), strict=False)
    first = "; ".join(f"{shorten(name, 60)} {number(v)}{unit}" for name, v in shown)
    more = f"; and {len(full) - 5:,} more" if len(full) > 5 else ""
    return f"Bar chart, most important first: {first}{more}. {'; '.join(panel.notes)}."


# --- histograms before and after permutation -----------------------------------------------------

SHIFTS_WIDTH, SHIFTS_HEIGHT = 480.0, 120.0


LONG = 60
"""Most characters of a name."""


_RIGHT, _MARK = 12.0, 5.0


def before(
    importance: Importance,
    *,
    ident: str,
    features: Sequence[str] | None = None,
    top: int | None = None,
) -> Drawing:
    """Draw histograms of the quantity over the kept rows before and after permutation, one panel per feature.

    Parameters
    ----------
    importance : Importance
        With kept rows, such as of ``sd.PFI(local=1000)``.
    ident : str
        Unique on the page.
    features, top
        As in `skedasis.plots.figures.importance.shifts`: by default the six most important features.

    Returns
    -------
    Drawing
        The tooltip of each bar states its ends and both percentages; single rows are not shown.

    Raises
    ------
    UnsupportedError
        If no rows were kept.
    DataError
        As `skedasis.plots.figures.importance.shifts`.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> pf = sd.explain(lambda X: X[:, 0], X, method=sd.PFI(local=200))
    >>> before(pf, ident="rows", top=1).title
    'PFI of prediction: rows before and after permutation'
    """
    found, local = shifts(importance, features=features, top=top), importance.local
    if local is None:
        raise TypeError("the importance has no kept rows")
    names = [clean(importance.features[i]) for i in display_order(importance, features, top)]
    names = names[: len(found)]
    said = f"before permutation: {kept(local)}", f"after permutation: {repeated(importance)}"
    named = f"{titled(importance)}: rows before and after permutation"
    hidden = len(importance) - len(found)
    notes = (f"{len(found):,} of {counted(len(importance), 'feature')}",) if hidden else ()
    head, y = headed(named, notes, SHIFTS_WIDTH)
    parts, keys, y = [head], Keys(), y + 4 * bool(notes)
    for place, (shift, name) in enumerate(zip(found, names, strict=True)):
        drawn, more, y = _panel(shift, name, y, said, last=place == len(found) - 1)
        parts.append(drawn)
        keys |= more
    explained, high = legend(keys, 2.0, y + 4, SHIFTS_WIDTH - 4)
    size = (SHIFTS_WIDTH, y + high + 8)
    words = _shifts_alt_text(found, names)
    return sheet([*parts, explained], size, ident=ident, title=named, alt=words)


def _panel(
    shift: PermutationHistograms, name: str, start: float, said: tuple[str, str], *, last: bool
) -> tuple[Markup, Keys, float]:
    """Return the panel of one feature, its legend, and the y coordinate of its lower end."""
    head, y = headed(shift.name, shift.notes, SHIFTS_WIDTH, start)
    top = y + above(shift.y, SHIFTS_WIDTH) + 2 * _MARK - 12
    left = 2 + beside(shift.y, SHIFTS_HEIGHT)
    frame = Frame(shift.x, shift.y, left, top, SHIFTS_WIDTH - left - _RIGHT, SHIFTS_HEIGHT)
    drawn, keys = _histograms(frame, shift, said)
    body = frame.panel(frame.ground(), drawn, frame.axes(names=last))
    # All panels share both axes: the vertical one is labelled in each, the horizontal one below the last.
    label = Markup("") if last else _label(frame)
    hits = tooltip_rectangles(_hits(shift, name), frame, frame.top, frame.bottom)
    end = frame.bottom + below(shift.x, frame.width, names=last) + (4 if last else 8)
    return joined([head, label, body, hits]), keys, end


def _label(frame: Frame) -> Markup:
    """Return the label of the vertical axis, left-aligned above it."""
    text = tag("text", frame.up.label, x=frame.edge, y=frame.top - 7)
    return tag("g", text, class_="label")


def _histograms(
    frame: Frame, shift: PermutationHistograms, said: tuple[str, str]
) -> tuple[Markup, Keys]:
    """Return the histograms before (bars) and after permutation (outline), both means as lines, and the legend."""
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
        ("mean before permutation", "mean after permutation"),
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
    """Return the mark at the upper end of the line of a mean."""
    d = f"M{px(x)} {px(y)}l{px(-_MARK)} {px(-1.6 * _MARK)}h{px(2 * _MARK)}z"
    return tag("path", class_=f"arrow {look}", d=d)


def _hits(shift: PermutationHistograms, name: str) -> list[Tooltip]:
    """Return a tooltip per bar: its ends and the percentage of rows before and after permutation."""
    edges = position_texts(shift.edges)
    unit = f" {shorten(shift.x.unit, 30)}" if shift.x.unit else ""
    return [
        Tooltip(
            float(shift.edges[k]),
            float(shift.edges[k + 1]),
            f"{edges[k]} – {edges[k + 1]}{unit}\nbefore permutation {number(float(shift.before[k]))} %\n"
            f"{shorten(name, LONG)} permuted {number(float(shift.after[k]))} %",
        )
        for k in range(len(shift.before))
    ]


def _shifts_alt_text(found: Sequence[PermutationHistograms], names: Sequence[str]) -> str:
    """Return the alternative text."""
    shown = [f"{shorten(name, LONG)}: {s.notes[0]}" for s, name in zip(found, names, strict=True)]
    first = (
        f"Histograms of rows before and after permutation, for {counted(len(found), 'feature')}."
    )
    return f"{first} {'; '.join(shown)}."
