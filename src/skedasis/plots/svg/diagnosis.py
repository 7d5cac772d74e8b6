"""Figures of diagnoses as SVG: features between Likelihood-PFI and Entropy-PFI, and bars of R² below."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from skedasis._types import Floats
from skedasis.plots.figures.diagnosis import (
    ImportanceMap,
    RedundancyBars,
    RegionText,
    by_likelihood,
    predictable,
    where,
)
from skedasis.plots.scales import SMALL, clean, counted, number, shorten, touches
from skedasis.plots.svg.elements import Drawing, joined, px, sheet, tag
from skedasis.plots.svg.frame import Frame, Keys, above, below, beside, legend
from skedasis.plots.svg.importance import BARS_WIDTH, BarLines
from skedasis.plots.svg.marks import SHAPES, Defs, box_of, crosses, label_points
from skedasis.plots.svg.panels import foot, headed
from skedasis.results.diagnosis import Diagnosis

HIGH = 360.0


LOOKS: dict[str, str] = {
    "independent": "circle",
    "shared": "square",
    "informative": "diamond",
    "uninformative": "triangle",
    "undecided": "diamond",
    "no effect": "circle",
    "little effect": "triangle",
    "unused": "square",
    "misleading": "wedge",
}
"""Mark of each kind of verdict. Marks of kinds in `HOLLOW` are not filled, so that all kinds differ without colours."""


HOLLOW = ("undecided", "no effect", "little effect", "unused")


MOVES = 8
"""Number of positions tried for a text in a corner, each half its height further away."""


NAMED = 30
"""Most names that are placed beside their points."""


_STEP = 1.25 * SMALL


def diagnosis(
    diagnosis: Diagnosis,
    *,
    ident: str,
    title: str = "",
    alt: str = "",
    confidence_level: float | None = None,
) -> Drawing:
    """Draw features between Likelihood-PFI and Entropy-PFI, and below it how well other features predict each of them.

    Parameters
    ----------
    diagnosis : Diagnosis
    ident : str
        Unique on the page.
    title, alt : str
        By default "Diagnosis" and a description of the figure.
    confidence_level : float, optional
        Confidence level of the intervals; by default that of the verdicts.

    Returns
    -------
    Drawing
        Tooltips of points state both importances with their intervals and the kind of the verdict; those of bars both
        R².

    Raises
    ------
    DataError
        For a `confidence_level` outside (0, 1).

    Notes
    -----
    Names without free space are omitted; a note states their number. Costs no model rows.
    """
    shown, more = where(diagnosis, confidence_level), predictable(diagnosis)
    full = [clean(diagnosis.features[i]) for i in by_likelihood(diagnosis)]
    defs = Defs(ident)
    head, y = headed(shown.title, shown.notes, BARS_WIDTH)
    y += above(shown.y, BARS_WIDTH)
    left = beside(shown.y, HIGH)
    frame = Frame(shown.x, shown.y, left, y, BARS_WIDTH - left - 12, HIGH)
    map_, keys, left_out = _scatter(frame, shown, full)
    parts = [head, map_]
    y = frame.bottom + below(shown.x, frame.width) + 4
    if more is not None:
        bars, mine, y = _bars(more, full, defs, y)
        parts.append(bars)
        keys |= mine
    explained, high = legend(keys, 2.0, y, BARS_WIDTH - 4)
    y += high
    if left_out:
        names = f"no room for {counted(left_out, 'name')}: point at a mark to see its name"
        note, y = headed("", (names,), BARS_WIDTH, y)
        parts.append(note)
    return sheet(
        [defs.written(), *parts, explained],
        (BARS_WIDTH, y + 2),
        ident=ident,
        title=title or shown.title,
        alt=alt or _alt_text(shown, full),
    )


def _scatter(frame: Frame, shown: ImportanceMap, full: list[str]) -> tuple[Markup, Keys, int]:
    """Return the scatter plot, its legend, and the number of names without free space."""
    x, y = frame.x(shown.at[:, 0]), frame.y(shown.at[:, 1])
    d, boxes = crosses(frame, shown.at, shown.lower, shown.upper)
    words = _words(frame, shown, x, y)
    zero_x, zero_y = float(frame.x(0.0)), float(frame.y(0.0))
    lines = np.array(
        [[zero_x, frame.top, zero_x, frame.bottom], [frame.left, zero_y, frame.right, zero_y]]
    )
    names = shown.names[:NAMED]
    found = label_points(
        frame, x, y, names, taken=[b for _, b in words], lines=np.concatenate([boxes, lines])
    )
    marks = [_mark(k, a, b) for k, a, b in zip(shown.kinds, x.tolist(), y.tolist(), strict=True)]
    tips = [
        tag(
            "circle",
            class_="hit",
            cx=float(x[i]),
            cy=float(y[i]),
            r=11.0,
            data_tip=_tooltip(shown, i, name),
        )
        for i, name in enumerate(full)
    ]
    across = f"M{px(zero_x)} {px(frame.top)}V{px(frame.bottom)}"
    parts = [
        frame.ground(zero=True),
        tag("path", class_="zero", d=across),
        *(text for text, _ in words),
        tag("path", class_="cross", d=d) if d else Markup(),
        *marks,
        *(t for t in found.texts if t is not None),
        frame.axes(),
        *tips,
    ]
    left_out = found.left_out + len(full) - len(names)
    return frame.panel(*parts), _key(shown), left_out


def _key(shown: ImportanceMap) -> Keys:
    """Return the legend of the marks, with the number of features of each kind."""
    kinds = dict.fromkeys([*LOOKS, *shown.kinds])
    return {f"{k} ({shown.kinds.count(k)})": _mark(k, 13.0, 0.0) for k in kinds if k in shown.kinds}


def _mark(kind: str, x: float, y: float) -> Markup:
    look = "hollow" if kind in HOLLOW else kind if kind in LOOKS else "unknown"
    shape = SHAPES[LOOKS.get(kind, "cross")]
    return tag("path", class_=f"mark {look}", d=f"M{px(x)} {px(y)}{shape}")


def _words(
    frame: Frame, shown: ImportanceMap, x: Floats, y: Floats
) -> list[tuple[Markup, tuple[float, float, float, float]]]:
    """Return the texts on parts of the panel, moved away from points, with their boxes; omit those without space."""
    marks = [np.array([a - 6, b - 6, a + 6, b + 6]) for a, b in zip(x, y, strict=True)]
    found: list[tuple[Markup, tuple[float, float, float, float]]] = []
    for place in shown.words:
        lines = place.text.split("\n")
        at, first, anchor, up = _corner(frame, place, len(lines))
        for k in range(MOVES):
            foot_ = first + (-1 if up else 1) * k * _STEP * len(lines) / 2
            box = box_of(lines, at, foot_, anchor)
            inside = box[0] >= frame.left - 3 and box[2] <= frame.right + 3
            # Texts on the part below zero must not be above zero.
            ceiling = frame.top - 1 if place.toward[1] > 0 else float(frame.y(0.0))
            inside = inside and box[1] >= ceiling and box[3] <= frame.bottom + 1
            if inside and not touches(np.array(box), [*(np.array(b) for _, b in found), *marks]):
                texts = [
                    tag("text", line, x=at, y=foot_ + i * _STEP) for i, line in enumerate(lines)
                ]
                look = "part end" if anchor == "end" else "part"
                found.append((tag("g", *texts, class_=look), box))
                break
    return found


def _corner(frame: Frame, place: RegionText, n: int) -> tuple[float, float, str, bool]:
    """Return the position of a text: x, baseline of the first line, anchor, and whether it is moved upwards."""
    right, up = place.toward
    # At an end of an axis the text is inside it; at a point it is beside it.
    side = right if place.x is not None else -right
    rise = up if place.y is not None else -up
    x = float(frame.x(place.x)) if place.x is not None else frame.right if right > 0 else frame.left
    y = float(frame.y(place.y)) if place.y is not None else frame.top if up > 0 else frame.bottom
    first = y - 8 - (n - 1) * _STEP if rise > 0 else y + 5 + 0.8 * SMALL
    return x + 6 * side, first, "start" if side > 0 else "end", rise > 0


def _bars(
    shown: RedundancyBars, full: list[str], defs: Defs, top: float
) -> tuple[Markup, Keys, float]:
    """Return two bars of R² per feature, one of them hatched, with legend and lower end."""
    left_out = (f"{shown.left_out:,} more not shown",) if shown.left_out else ()
    head, y = headed("How well other features predict each feature", left_out, BARS_WIDTH, top + 4)
    lines = BarLines.below(shown.names, shown.x, y)
    first: list[Markup] = []
    then: list[Markup] = []
    unknown: list[Markup] = []
    tips: list[Markup] = []
    for i, (a, b) in enumerate(zip(shown.others, shown.with_target, strict=True)):
        for value, shift, bars in ((a, -0.19, first), (b, 0.19, then)):
            if np.isfinite(value):
                bars.append(lines.bar(i, float(value), shift=shift, thick=0.36))
        if not np.isfinite(a) and not np.isfinite(b):
            x, y = float(lines.frame.x(0.0)) + 4, float(lines.y[i]) + 0.35 * SMALL
            unknown.append(tag("text", "unknown", x=x, y=y))
        known = [f"{said} {number(float(v))}" for said, v in zip(_R2, (a, b), strict=True)]
        tips.append(lines.hit(i, "\n".join([shorten(full[i], 60), *known])))
    look = {"class_": "amount more", "fill": defs.pattern("elsewhere")}
    marks = [tag("g", *first, class_="amount"), tag("g", *then, **look), lines.zero()]
    clip = defs.clip(lines.frame)
    body = lines.frame.panel(
        lines.ground(),
        tag("g", *marks, clip_path=clip),
        tag("g", *unknown, class_="notes"),
        *tips,
    )
    below_, end = foot(shown.x, lines.frame.left, lines.frame.width, lines.frame.bottom)
    box = tag("rect", x=1.0, y=-5.0, width=24.0, height=10.0)
    keys: Keys = {_R2[0]: tag("g", box, class_="amount"), _R2[1]: tag("g", box, **look)}
    return joined([head, body, below_]), keys, end


_R2 = ("R² from the other features", "R² from the other features and the label")


def _tooltip(shown: ImportanceMap, i: int, name: str) -> str:
    """Return the tooltip of a point."""
    lines = [shorten(name, 60)]
    for k, what in enumerate(("Likelihood-PFI", "Entropy-PFI")):
        text = f"{what} {number(float(shown.at[i, k]))}"
        ends = [float(e[i, k]) for e in (shown.lower, shown.upper)]
        if np.isfinite(ends).all():
            text += f" ({number(ends[0])} to {number(ends[1])})"
        lines.append(text)
    return "\n".join([*lines, shown.kinds[i]])


def _alt_text(shown: ImportanceMap, full: list[str]) -> str:
    """Return the alternative text."""
    kinds = dict.fromkeys(shown.kinds)
    groups: list[str] = []
    for kind in kinds:
        mine = [shorten(n, 40) for n, k in zip(full, shown.kinds, strict=True) if k == kind]
        rest = f" and {len(mine) - 6:,} more" if len(mine) > 6 else ""
        groups.append(f"{kind}: {', '.join(mine[:6])}{rest}")
    return f"Horizontal axis: {shown.x.label}. Vertical axis: {shown.y.label}. {'; '.join(groups)}."
