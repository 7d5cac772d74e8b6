"""From a `Diagnosis` to a figure: features between both importances, and bars of R²."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from skedasis._arguments import check_probability
from skedasis._numbers import counted, number
from skedasis._types import Floats, Ints
from skedasis.plots.figures.bars import RankedLine, ranked_panel
from skedasis.plots.figures.effect_parts import off_scale
from skedasis.plots.figures.importance import LONG, axis_of_values, repeated
from skedasis.plots.figures.titles import importance_title
from skedasis.plots.marks import (
    FigureSpec,
    LabelSide,
    Names,
    Panel,
    Points,
    Segments,
    Text,
    Title,
    Tooltip,
    horizontal_line,
    vertical_line,
)
from skedasis.plots.scales import PlotAxis, clean, distinct_names, extent, shorten
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.importance import Importance
from skedasis.stats.student import t_interval

SHORT = 20
"""Most characters of a name beside its point."""

NAMED = 30
"""Most names that are placed beside their points."""

ROOM = 0.16
"""Fraction of each axis that lies below zero, for the texts there."""

HEAD = 0.14
"""Fraction of the vertical axis above all marks, for the texts in the upper corners."""

LISTED = 40
"""Most features whose R² are drawn; their names are still readable."""

KINDS = (
    "independent",
    "shared",
    "informative",
    "uninformative",
    "undecided",
    "no effect",
    "little effect",
    "unused",
    "misleading",
)
"""Kinds of verdicts in the order of the legend; each has a style of the same name with hyphens."""

_R2 = ("R² from the other features", "R² from the other features and the label")


def diagnosis_figure(diagnosis: Diagnosis, confidence_level: float | None = None) -> FigureSpec:
    """Return features between Likelihood-PFI and Entropy-PFI, and how well other features predict each of them."""
    level = diagnosis.confidence_level if confidence_level is None else confidence_level
    level = check_probability("plot(confidence_level)", level)
    order = np.argsort(-diagnosis.likelihood.mean, kind="stable")
    main, bars = _scatter(diagnosis, order, level), _r2_bars(diagnosis, order)
    by_kind: dict[str, list[str]] = {}
    for i in order:
        name = shorten(diagnosis.feature_titles[i], 40)
        by_kind.setdefault(diagnosis.verdicts[i].kind, []).append(name)
    groups = [
        f"{kind}: {', '.join(mine[:6])}{f' and {len(mine) - 6:,} more' if len(mine) > 6 else ''}"
        for kind, mine in by_kind.items()
    ]
    alt = f"Horizontal axis: {main.x.label}. Vertical axis: {main.y.label}. {'; '.join(groups)}."
    if bars is None:
        return FigureSpec(((main,),), str(main.title), alt)
    return FigureSpec(
        ((main,), (bars,)), str(main.title), alt, columns=2, column_width=190.0, widths=(1.75, 1.0)
    )


def _scatter(diagnosis: Diagnosis, order: Ints, level: float) -> Panel:
    """Return the scatter plot of both importances."""
    both = (diagnosis.likelihood, diagnosis.entropy)
    at = np.column_stack([i.mean for i in both])[order]
    ends = [t_interval(i.mean, i.std_error, i.df, level) for i in both]
    lower, upper = (np.column_stack([e[k] for e in ends])[order] for k in range(2))
    x, y = (_axis(i, at[:, k], (lower[:, k], upper[:, k])) for k, i in enumerate(both))
    beyond = [off_scale(axis, [(lower[:, k], upper[:, k])]) for k, axis in enumerate((x, y))]
    x = replace(x, name=f"Likelihood-PFI: {x.name}")
    y = replace(y, name=f"Entropy-PFI: {y.name}", most=y.most + HEAD * (y.most - y.least))
    kinds = [diagnosis.verdicts[i].kind for i in order]
    cross = crosses(at, lower, upper)
    zero = (vertical_line(0.0), horizontal_line(0.0))
    axes = np.array([[0.0, -np.inf, 0.0, np.inf], [-np.inf, 0.0, np.inf, 0.0]])
    names = distinct_names([clean(diagnosis.feature_titles[i]) for i in order[:NAMED]], SHORT)
    known = f"crosses: {100 * level:g} % intervals" if np.isfinite(lower).any() else "no intervals"
    return Panel(
        x,
        y,
        (*zero, cross, *_points(at, kinds)),
        240.0,
        importance_title(diagnosis.likelihood, "importance for likelihood and entropy"),
        (
            counted(both[0].rows, "row"),
            repeated(both[0]),
            known,
            *(beyond[0] or beyond[1]),
            *(clean(n) for n in diagnosis.notes),
        ),
        _regions("misleading" in kinds, bool((upper[:, 1] < 0).any())),
        Names(at[:, 0], at[:, 1], names, np.concatenate([ends_of(cross), axes])),
        grid="xy",
        tooltips=tuple(
            Tooltip(a, a, _point_text(diagnosis.feature_titles[i], kind, point), b, b)
            for i, kind, (a, b), point in zip(
                order, kinds, at.tolist(), np.stack([at, lower, upper], axis=2), strict=True
            )
        ),
    )


def _points(at: Floats, kinds: Sequence[str]) -> Iterator[Points]:
    """Yield the features of each kind of verdict."""
    for kind in dict.fromkeys([*KINDS, *kinds]):
        mine = np.array([k == kind for k in kinds])
        if mine.any():
            style = kind.replace(" ", "-") if kind in KINDS else "other-verdict"
            label = f"{clean(kind)} ({int(mine.sum())})"
            yield Points(at[mine, 0], at[mine, 1], style, label)


def _point_text(title: str, kind: str, measured: Floats) -> str:
    """Return the tooltip of a feature; `measured` are both importances and the ends of their intervals, (2, 3)."""
    both = zip(("Likelihood-PFI", "Entropy-PFI"), measured.tolist(), strict=True)
    said = [f"{name} {number(v)}{interval_text(a, b)}" for name, (v, a, b) in both]
    return "\n".join([shorten(title, LONG), *said, clean(kind)])


def _axis(importance: Importance, value: Floats, ends: tuple[Floats, Floats]) -> PlotAxis:
    """Return the axis of an importance, with space below zero."""
    axis = axis_of_values(importance, value, ends, np.zeros(0))
    low, high = axis.least, axis.most
    if not high > low:
        return axis
    high = max(high, -0.4 * low)
    low = min(low, -ROOM / (1 - ROOM) * high)
    return replace(axis, least=low, most=high)


def crosses(at: Floats, lower: Floats, upper: Floats, label: str = "") -> Segments:
    """Return the known intervals of points, first the horizontal ones."""
    level = np.column_stack([lower[:, 0], at[:, 1], upper[:, 0], at[:, 1]])
    upright = np.column_stack([at[:, 0], lower[:, 1], at[:, 0], upper[:, 1]])
    lines = np.concatenate([level, upright])
    x0, y0, x1, y1 = lines[np.isfinite(lines).all(axis=1)].T
    return Segments(x0, y0, x1, y1, "cross", label)


def ends_of(lines: Segments) -> Floats:
    """Return lines as names avoid them, shape (m, 4)."""
    return np.column_stack([lines.x0, lines.y0, lines.x1, lines.y1])


def interval_text(low: float, high: float) -> str:
    """Return an interval in brackets after a number; empty if an end is unknown."""
    return f" ({number(low)} to {number(high)})" if np.isfinite([low, high]).all() else ""


def _regions(left: bool, below: bool) -> tuple[Text, ...]:
    """Return the texts on the meaning of parts of the panel; on negative values only if there are some."""
    end = np.inf
    words: list[tuple[tuple[str, ...], float, float, LabelSide, LabelSide]] = [
        (("matters, and others\ntell part of it",), end, end, -1, -1),
        (("others tell it,\nnot needed", "not\nneeded"), -end, end, 1, -1),
        (("matters alone",), end, 0.0, -1, -1),
        (("unused",), 0.0, 0.0, -1, -1),
    ]
    if left:
        words.append((("better without\nthe feature", "better\nwithout"), -end, -end, 1, 1))
    if below:
        words.append((("permuting it makes\nthe model surer",), end, -end, -1, 1))
    # Texts on the parts below zero must not be above zero.
    return tuple(
        Text(
            x,
            y,
            texts,
            "region",
            (-end, 0.0 if x == -end else end, 0.0 if y == end else -end, end if y == end else 0.0),
            across,
            up,
            moves=8,
        )
        for texts, x, y, across, up in words
    )


def _r2_bars(diagnosis: Diagnosis, order: Ints) -> Panel | None:
    """Return two bars of R² per feature, the second one hatched; None if no R² is known."""
    order = order[:LISTED]
    r2 = diagnosis.r2_others[order], diagnosis.r2_with_target[order]
    if not np.isfinite(r2).any():
        return None
    lines: list[RankedLine] = []
    for i, others, both in zip(order, *(v.tolist() for v in r2), strict=True):
        name = clean(diagnosis.feature_titles[i])
        said = [f"{label} {number(v)}" for label, v in zip(_R2, (others, both), strict=True)]
        unknown = () if np.isfinite([others, both]).any() else ("unknown",)
        tip = [shorten(name, LONG), *said]
        lines.append(
            RankedLine(
                name, both, tip, (np.nan, np.nan), "bar-hatched", _R2[1], others, beside=unknown
            )
        )
    left_out = len(diagnosis) - len(order)
    # How much worse than the mean a forest predicts is of no interest.
    low, _ = extent([*r2, np.zeros(1)])
    return ranked_panel(
        lines,
        PlotAxis("R²", None, max(low, -0.25), 1.0),
        title=Title("How well other features predict each feature"),
        notes=(f"{left_out:,} more not shown",) if left_out else (),
        inner=("bar", _R2[0]),
    )
