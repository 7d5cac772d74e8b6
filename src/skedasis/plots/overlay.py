"""From several effects of one feature to what is to be seen of them together: arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from skedasis._types import Floats
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.plots import common
from skedasis.plots.dependence import centred, per_words, slope_unit
from skedasis.plots.levels import Places
from skedasis.plots.marks import Rug
from skedasis.plots.scale import Axis, extent, settled, shortened
from skedasis.plots.view import ACROSS, BELOW, BESIDE, most_levels
from skedasis.results.build.linear_form import AXIS, drawn
from skedasis.results.effect import Effect
from skedasis.results.surface import Surface
from skedasis.results.time_axis import on_axis_of

Zero = Literal["mean"] | None
Joined = Literal["line", "thin"] | None
BANDS = 3
"""More bands than this hide one another."""
MOST = 8
"""Lines that styles, marks and colours tell apart."""


@dataclass(frozen=True, eq=False)
class Strand:
    """One of the effects.

    Parameters
    ----------
    x, y, lower, upper : ndarray of float, shape (m,)
        Its points and their intervals.
    label : str
    joined : {"line", "thin", None}
        How one point leads to the next.
    """

    x: Floats
    y: Floats
    lower: Floats
    upper: Floats
    label: str
    joined: Joined


@dataclass(frozen=True, eq=False)
class Overlay:
    """Several effects of one feature on the same axes.

    Parameters
    ----------
    x, y : Axis
    strands : tuple of Strand
    bands : bool
        Whether intervals are drawn.
    rug : Rug or None
    zero : bool
        Whether zero is common to all, and marked.
    notes : tuple of str
    """

    x: Axis
    y: Axis
    strands: tuple[Strand, ...]
    bands: bool
    rug: Rug | None
    zero: bool
    notes: tuple[str, ...]


def overlay(
    effects: Sequence[Effect],
    labels: Sequence[str] | None,
    center: Zero,
    level: float,
    across: int = ACROSS,
) -> Overlay:
    """Say what is to be seen of several effects of one feature; see `compare`. `across` letters fit below it."""
    checked(effects, labels, center)
    effects = [on_axis_of(e, effects[0]) for e in effects]
    names = _labels(effects) if labels is None else [shortened(str(v), 40) for v in labels]
    first = effects[0]
    shown = [_moved(e) if center == "mean" else e for e in effects]
    if first.levels is None:
        x = _numeric(effects)
        strands = [_strand(e, n, level) for e, n in zip(shown, names, strict=True)]
        rug, notes = _rug(effects), []
    else:
        most = most_levels(across)
        places = Places.of(first.about.feature, first.levels, most)
        x, rug = places.axis(first.about.feature, across, most), None
        strands = [
            _dodged(e, n, level, places, i, len(shown))
            for i, (e, n) in enumerate(zip(shown, names, strict=True))
        ]
        notes = list(places.notes())
    bands = len(strands) <= BANDS
    if bands:
        notes.append(f"bands: {100 * level:g} % intervals")
    if center == "mean":
        notes.append("0 is each one's mean over the data")
    notes += common.missing(first)
    return Overlay(
        x,
        _vertical(effects, strands, center),
        tuple(strands),
        bands,
        rug,
        center == "mean" or first.spec.derivative,
        tuple(notes),
    )


def _rug(effects: Sequence[Effect]) -> Rug | None:
    """Return where the rows lie, as the effect that keeps most of them knows it."""
    known = [e for e in effects if e.rows is not None]
    most = max(known, key=lambda e: 0 if e.rows is None else len(e.rows), default=None)
    return None if most is None else common.rug(most)


def gathered(given: Sequence[Any]) -> tuple[list[Any], list[str] | None]:
    """Return effects that may be given one by one, as a list, or by their labels."""
    if len(given) == 1 and isinstance(given[0], Mapping):
        return list(given[0].values()), [str(k) for k in given[0]]
    if len(given) == 1 and isinstance(given[0], (list, tuple)):
        return list(given[0]), None
    return list(given), None


def checked(effects: Sequence[Any], labels: Sequence[str] | None, center: Any) -> None:
    """Refuse what cannot be compared.

    Raises
    ------
    DataError
        For no effect, too many, effects of different features, as many labels as there are not, or an unknown `center`.
    UnsupportedError
        For what is no effect of one feature, slopes beside values, levels beside numbers, and different units.
    """
    if center not in ("mean", None):
        raise DataError(explained("compare(center)", repr(center), "'mean' or None", "Name one"))
    if not 1 <= len(effects) <= MOST:
        got = f"{len(effects)} effects" if effects else "no effect"
        raise DataError(explained("compare", got, f"1 to {MOST} effects", "Choose some"))
    for e in effects:
        if not isinstance(e, Effect):
            got = "a Surface" if isinstance(e, Surface) else f"a {type(e).__name__}"
            fix = "Pass what sd.explain(q, X, feature) returns"
            raise UnsupportedError(explained("compare", got, "effects of one feature", fix))
    if labels is not None and (isinstance(labels, str) or len(labels) != len(effects)):
        got = "one text" if isinstance(labels, str) else f"{len(labels)} labels"
        fix = "Pass one text for each effect"
        raise DataError(explained("compare(labels)", got, f"{len(effects)} labels", fix))
    first = effects[0]
    for e in effects[1:]:
        _alike(first, e)


def _alike(a: Effect, b: Effect) -> None:
    if a.feature != b.feature:
        got = f"effects of {shortened(a.feature, 40)!r} and {shortened(b.feature, 40)!r}"
        raise DataError(
            explained(
                "compare", got, "effects of the same feature", "Compare one feature at a time"
            )
        )
    if a.spec.derivative != b.spec.derivative:
        fix = "Compare slopes with slopes"
        raise UnsupportedError(explained("compare", "slopes beside values", "either or", fix))
    if (a.levels is None) != (b.levels is None):
        fix = "Explain both with the same schema"
        got = f"levels and numbers of {shortened(a.feature, 40)!r}"
        raise UnsupportedError(explained("compare", got, "either or", fix))
    if a.about.unit != b.about.unit and not (a.about.unit is None or b.about.unit is None):
        got = f"units {a.about.unit!r} and {b.about.unit!r}"
        raise UnsupportedError(
            explained("compare", got, "effects in the same unit", "Explain the same quantity")
        )


def mean_over_data(effect: Effect) -> float:
    """Return a curve's mean over the rows; beyond its ends it is taken as constant.

    From the kept rows where these are all, else from the moments of the feature, in each of whose cells a curve is
    linear (an M-plot nearly so), else from the sample of rows that was kept.
    """
    value = effect.value
    known = np.isfinite(value)
    if not known.any():
        return 0.0
    if effect.levels is not None:
        share = np.where(known, effect.levels.share, 0.0)
        return float(np.average(value[known], weights=share[known] if share.any() else None))
    at, weight = _where(effect)
    if at is None or len(at) == 0:
        return float(value[known].mean())
    x, value = drawn(effect.bins, np.asarray(effect.points, dtype=float), value)
    known = np.isfinite(value)
    return float(np.average(np.interp(at, x[known], value[known]), weights=weight))


def _where(effect: Effect) -> tuple[Floats | None, Floats | None]:
    """Return where the data lie, and with what weight."""
    rows, axis = effect.rows, effect.moments.get(AXIS)
    if axis is not None and not (rows is not None and rows.exact):
        there = axis.weight > 0
        return axis.mean[there], axis.weight[there]
    if rows is None:
        return None, None
    there = np.isfinite(rows.x) if rows.weight is None else np.isfinite(rows.x) & (rows.weight > 0)
    return rows.x[there], None if rows.weight is None else rows.weight[there]


def _moved(effect: Effect) -> Effect:
    """Return an effect minus its mean over the data.

    A PDP that was not centred has the error of its level in its intervals: that is taken off, too.
    """
    if effect.spec.derivative:
        return effect
    if effect.spec.local == "none" and effect.spec.center is None:
        effect = centred(effect)
    size = float(np.abs(np.nan_to_num(extent([effect.value]))).max())
    moved = settled(effect.value - mean_over_data(effect), size)
    return replace(effect, value=moved)


def _labels(effects: Sequence[Effect]) -> list[str]:
    """Return the methods' names, with what tells them apart."""
    first = effects[0].about.quantity
    names = [
        e.spec.method if e.about.quantity == first else f"{e.spec.method} of {e.about.quantity}"
        for e in effects
    ]
    parts = [e.bins if e.levels is None else None for e in effects]
    full = [
        n if b is None or names.count(n) == 1 else f"{n}, {common.counted(len(b), 'bin')}"
        for n, b in zip(names, parts, strict=True)
    ]
    return [
        shortened(n if full.count(n) == 1 else f"{n} ({i + 1})", 40) for i, n in enumerate(full)
    ]


def _numeric(effects: Sequence[Effect]) -> Axis:
    axes = [common.horizontal(e) for e in effects]
    feature, time = effects[0].about.feature, effects[0].time
    low, high = extent([np.array([a.least, a.most]) for a in axes])
    ticks = {a.ticks for a in axes}
    same = ticks.pop() if len(ticks) == 1 else ()
    return Axis(shortened(feature.name, BELOW), feature.unit, low, high, 0.03, same, time=time)


def _ends(effect: Effect, level: float) -> tuple[Floats, Floats]:
    """Return the ends of the intervals, NaN where only the mean is known."""
    if effect.spec.mean_alone:
        unknown = np.full(len(effect.value), np.nan)
        return unknown, unknown
    return effect.interval(level)


def _strand(effect: Effect, label: str, level: float) -> Strand:
    at = np.asarray(effect.points, dtype=float)
    x, y = drawn(effect.bins, at, effect.value)
    lower, upper = (drawn(effect.bins, at, ends)[1] for ends in _ends(effect, level))
    return Strand(x, y, lower, upper, label, "line")


def _dodged(effect: Effect, label: str, level: float, places: Places, i: int, n: int) -> Strand:
    """Return an effect's points beside those of the others, in the order of the first one's levels."""
    lower, upper = _ends(effect, level)
    if effect.levels is None:
        raise TypeError("levels are compared with levels")
    # Names are compared, not values: 1 and 1.0 may stand for the same level.
    mine = {name: k for k, name in enumerate(effect.levels.labels)}
    at = [mine.get(places.levels.labels[k], -1) for k in places.shown]
    there = np.flatnonzero(np.array(at) >= 0)
    take = np.array(at, dtype=np.int64)[there]
    # As far apart as marks are wide, where there is room: no more, for they are of the same level.
    apart = min(0.56 / max(n - 1, 1), max(0.06, 0.0163 * len(places)))
    x = places.x[there] + apart * (i - (n - 1) / 2)
    joined: Joined = "thin" if places.ordered else None
    return Strand(x, effect.value[take], lower[take], upper[take], label, joined)


def _vertical(effects: Sequence[Effect], strands: Sequence[Strand], center: Zero) -> Axis:
    first = effects[0]
    low, high = extent([s.y for s in strands])
    if len(strands) <= BANDS:
        least, most = extent([a for s in strands for a in (s.lower, s.upper)])
        span = high - low if high > low else np.inf
        low, high = max(low - span / 2, least) if least < low else low, min(high + span / 2, most)
        high = float(np.fmax(high, extent([s.y for s in strands])[1]))
    quantities = list(dict.fromkeys(e.about.quantity for e in effects))
    before = "slope of " if first.spec.derivative else "effect on " if center == "mean" else ""
    room = max(10, (BESIDE - len(before)) // len(quantities))
    name = before + ", ".join(shortened(q, room) for q in quantities)
    unit = (
        slope_unit(first)
        if first.spec.derivative
        else next((e.about.unit for e in effects if e.about.unit), None)
    )
    if first.spec.derivative:
        name += per_words(first.about.feature)
    return Axis(name, unit, float(low), float(high), 0.06)
