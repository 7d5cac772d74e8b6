"""Overview figures: importance against heterogeneity, parts of a whole."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from skedasis._arguments import check_probability
from skedasis._numbers import counted, number
from skedasis._types import Floats
from skedasis.errors import UnsupportedError
from skedasis.plots.figures.bars import first_of
from skedasis.plots.figures.diagnosis import crosses, ends_of, interval_text
from skedasis.plots.figures.importance import LONG
from skedasis.plots.marks import (
    Arrows,
    FigureSpec,
    Line,
    Names,
    Panel,
    Points,
    Segments,
    Text,
    Tooltip,
)
from skedasis.plots.scales import PlotAxis, clean, distinct_names, shorten
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.regions import Regions

# --- importance against heterogeneity ------------------------------------------------------------

SHORT = 22
"""Most characters of a name beside its point."""

NAMED = 14
"""Most points with a name beside them; tooltips name the others."""

FLAT = 0.25
"""Smallest length of an axis in units of the largest point."""

LEAST = 0.1
"""Smallest part of the largest importance, or of the largest heterogeneity score, of a feature that is named."""

AWAY, EACH = 0.2, 21.0
"""Largest distance of a name, as a part of the width of the panel, and the width in points for each name."""

MANY = 60
"""More points are smaller, so that those near zero do not merge."""

REACH = 2.0
"""Intervals extend the axes to at most this multiple of the largest point."""

EQUAL = "heterogeneity score = importance"

TO_REGIONS = "to the mean of its groups of rows"

KINDS = ("numeric", "ordinal", "nominal")

_NONE = (math.nan, math.nan)


@dataclass(frozen=True)
class ImportancePoint:
    """A feature's importance and its heterogeneity score."""

    feature: str
    kind: str
    importance: float
    heterogeneity_score: float
    importance_ends: tuple[float, float] | None = None
    heterogeneity_score_ends: tuple[float, float] | None = None
    label: str | None = None

    @property
    def title(self) -> str:
        """Return the feature's text for people."""
        return self.label or self.feature

    @property
    def style(self) -> str:
        """Return the style of the point: one of `KINDS`."""
        return self.kind if self.kind in KINDS else "numeric"


class RegionsPoint(NamedTuple):
    """Where a feature is after a split into regions: the mean of its importances, and of its heterogeneity scores."""

    importance: float
    heterogeneity_score: float
    regions: int


def regions_point(regions: Regions) -> RegionsPoint | None:
    """Return the mean importance and the mean heterogeneity score within the regions of a feature."""
    weight = np.array([node.weight for node in regions.leaves], dtype=float)
    value = np.array([effect.importance for effect in regions], dtype=float)
    there, within = weight > 0, float(regions.scores.within)
    if len(regions) < 2 or not there.any() or not math.isfinite(within):
        return None
    # Divided first: squares of large numbers would overflow.
    top = float(np.max(np.abs(value[there])))
    if not math.isfinite(top):
        return None
    shares = np.abs(value[there]) / (top or 1.0)
    mean = float(np.average(shares**2, weights=weight[there] / weight.max()))
    return RegionsPoint(top * math.sqrt(mean), within, len(regions))


def overview_figure(
    points: Sequence[ImportancePoint],
    *,
    regions: Mapping[str, RegionsPoint] | None = None,
    links: Mapping[str, str] | None = None,
    x_label: str = "importance",
    y_label: str = "heterogeneity score",
    unit: str | None = None,
    confidence_level: float = 0.95,
) -> FigureSpec:
    """Return the importance of features against their heterogeneity scores, each axis as long as its values need."""
    known = [p for p in points if math.isfinite(p.importance + p.heterogeneity_score)]
    known.sort(key=lambda p: -p.importance)
    at = np.array([(p.importance, p.heterogeneity_score) for p in known]).reshape(-1, 2)
    to = {} if regions is None else {p: regions[p.feature] for p in known if p.feature in regions}
    moved = {p.feature: end for p, end in to.items() if _is_move(p, end)}
    ends = [(p.importance_ends or _NONE, p.heterogeneity_score_ends or _NONE) for p in known]
    lower, upper = np.moveaxis(np.array(ends).reshape(-1, 2, 2), 2, 0)
    # An interval that is much wider than all values would flatten the figure.
    high = max([0.0, *at.ravel().tolist(), *(v for end in moved.values() for v in end[:2])]) or 1.0
    to_regions = np.array([end[:2] for end in moved.values()]).reshape(-1, 2)
    tops = np.concatenate([at, to_regions]).max(axis=0, initial=0.0)
    most = [
        max(
            min(float(upper[np.isfinite(upper[:, k]), k].max(initial=top)), REACH * high),
            FLAT * high,
        )
        for k, top in enumerate(tops.tolist())
    ]
    x, y = (
        PlotAxis(label, unit, 0.0, end, 0.04)
        for label, end in zip((x_label, y_label), most, strict=True)
    )
    diagonal, level = np.array(x.limits), f"{100 * confidence_level:g} % intervals"
    cross = crosses(at, lower, upper, level)
    panel = Panel(
        x,
        y,
        (
            Line(diagonal, diagonal, "equal", EQUAL),
            *((cross,) if len(cross.x0) else ()),
            *((_arrows(known, moved),) if moved else ()),
            *_points(known, at),
        ),
        220.0,
        texts=_HALVES,
        names=_names(known, at, cross),
        tooltips=tuple(
            _point_tip(p, (links or {}).get(p.feature, ""), moved.get(p.feature)) for p in known
        ),
    )
    notes = [] if points else ["no features"]
    unscored = len(points) - len(known)
    notes += [f"{counted(unscored, 'feature')} without a heterogeneity score"] if unscored else []
    axes = f"{shorten(x_label, 120)} on the horizontal axis, {shorten(y_label, 120)} on the vertical axis"
    said = [f"{counted(len(known), 'feature')}: {axes}.", *_most_important(known, moved)]
    alt = " ".join([*said, *(f"{n}." for n in notes)])
    order = (*KINDS, TO_REGIONS, level, EQUAL)
    title = "Importance and heterogeneity"
    return FigureSpec(((panel,),), title, alt, notes=tuple(notes), order=order)


_ABOVE, _BELOW = (
    "heterogeneity score\nexceeds importance",
    "importance exceeds\nheterogeneity score",
)
_HALVES = (
    Text(-np.inf, np.inf, (_ABOVE,), "region", across=1, up=-1, moves=2),
    Text(np.inf, -np.inf, (_BELOW,), "region", across=-1, up=1, moves=2),
)
"""The meaning of both halves of the figure, in their outer corners."""


def _points(known: Sequence[ImportancePoint], at: Floats) -> Iterator[Points]:
    """Yield the features of each kind."""
    for kind in KINDS:
        mine = np.array([p.style == kind for p in known], dtype=bool)
        if mine.any():
            style = f"{kind}-small" if len(known) > MANY else kind
            yield Points(at[mine, 0], at[mine, 1], style, kind)


def _names(known: Sequence[ImportancePoint], at: Floats, cross: Segments) -> Names:
    """Return the names of features in order of priority: large importance or large heterogeneity score."""
    names = distinct_names([clean(p.title) for p in known], SHORT)
    standing_out = (at / np.maximum(np.abs(at).max(axis=0, initial=0.0), 1e-300)).max(axis=1)
    first = np.argsort(-standing_out, kind="stable")
    shown = tuple(names[i] for i in first[:NAMED] if standing_out[i] >= LEAST)
    return Names(at[first, 0], at[first, 1], shown, ends_of(cross), AWAY, EACH)


def _most_important(
    known: Sequence[ImportancePoint], moved: Mapping[str, RegionsPoint]
) -> Iterator[str]:
    """Yield sentences on the most important features, and on where their arrows lead."""
    if known:
        sizes = [f"{number(p.importance)} and {number(p.heterogeneity_score)}" for p in known[:5]]
        named = (f"{shorten(p.title, LONG)} {size}" for p, size in zip(known, sizes, strict=False))
        yield f"Most important: {'; '.join(named)}."
    within = [
        f"{shorten(p.title, LONG)} {_within_text(moved[p.feature])}"
        for p in known
        if p.feature in moved
    ]
    if within:
        yield f"Arrows lead to the mean of the groups of rows: {first_of(within)}."


def _is_move(p: ImportancePoint, to: RegionsPoint) -> bool:
    """Return whether a feature is elsewhere within its regions."""
    known = math.isfinite(to.importance) and math.isfinite(to.heterogeneity_score)
    return known and to[:2] != (p.importance, p.heterogeneity_score)


def _arrows(known: Sequence[ImportancePoint], moved: Mapping[str, RegionsPoint]) -> Arrows:
    ends = [
        (p.importance, p.heterogeneity_score, *moved[p.feature][:2])
        for p in known
        if p.feature in moved
    ]
    x0, y0, x1, y1 = np.array(ends).T
    return Arrows(x0, y0, x1, y1, "to-regions", TO_REGIONS)


def _within_text(to: RegionsPoint) -> str:
    numbers = f"importance {number(to.importance)}, heterogeneity score {number(to[1])}"
    return f"within {counted(to.regions, 'group')} of rows: {numbers}"


def _point_tip(p: ImportancePoint, link: str, within: RegionsPoint | None) -> Tooltip:
    pairs = (
        ("importance", p.importance, p.importance_ends),
        ("heterogeneity score", p.heterogeneity_score, p.heterogeneity_score_ends),
    )
    lines = [f"{name} {number(v)}{interval_text(*(ends or _NONE))}" for name, v, ends in pairs]
    lines += [] if within is None else [_within_text(within)]
    text = "\n".join([shorten(p.title, LONG), *lines, p.style])
    x, y = p.importance, p.heterogeneity_score
    return Tooltip(x, x, text, y, y, link=link, feature=p.feature)


# --- importances with intervals ------------------------------------------------------------------

LEVEL, REPLICATES = 0.95, 200
"""Confidence level and replicates of the bootstrap intervals; 200 suffice for whiskers, which need no third digit."""

ROWS = 20_000
"""Above this number of rows the bootstrap resamples moments instead of rows: as exact there, and 100 times faster."""


def importance_points(
    effects: Effects, confidence_level: float = LEVEL, seed: int = 0
) -> tuple[ImportancePoint, ...]:
    """Return importance and heterogeneity score of all features with intervals, the most important first."""
    confidence_level = check_probability("plot(confidence_level)", confidence_level)
    across: dict[str, tuple[float, float] | None] = dict.fromkeys(effects)
    for large in (False, True):
        some = {
            n: e
            for n, e in effects.items()
            if len(e.points) > 1 and (e.rows is not None and len(e.rows) > ROWS) == large
        }
        source = "moments" if large else None
        for name, (low, high) in _bootstrap(some, seed, source, confidence_level).items():
            if np.isfinite([low, high]).all():
                across[name] = float(low), float(high)
    return tuple(
        ImportancePoint(
            rank.feature,
            effects[rank.feature].about.feature.kind,
            rank.importance,
            rank.heterogeneity_score,
            across[rank.feature],
            _score_ends(effects[rank.feature], confidence_level),
            effects[rank.feature].about.feature.label,
        )
        for rank in effects.ranking()
    )


def _score_ends(effect: Effect, level: float) -> tuple[float, float] | None:
    """Return the interval of a heterogeneity score; None if there is no score or no interval."""
    if effect.swap_score is None:
        return None
    low, high = (float(end) for end in effect.interval(level, of="heterogeneity_score"))
    return (low, high) if np.isfinite([low, high]).all() else None


def _bootstrap(
    some: dict[str, Effect], seed: int, source: Literal["moments"] | None, level: float
) -> dict[str, tuple[Floats, Floats]]:
    """Return intervals, computed for all features at once if possible, otherwise for each that has one."""
    if not some:
        return {}
    try:
        return Effects(some).interval(
            level,
            "bootstrap",
            of="importance",
            replicates=REPLICATES,
            random_state=seed,
            source=source,
        )
    except UnsupportedError:
        if len(some) == 1:
            return {}
    found: dict[str, tuple[Floats, Floats]] = {}
    for name, effect in some.items():
        found |= _bootstrap({name: effect}, seed, source, level)
    return found
