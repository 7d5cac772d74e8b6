"""From several effects to a figure specification: overlays, several models, small multiples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from skedasis._types import Floats
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.plots.figures import effect_parts
from skedasis.plots.figures.categorical import ERROR, ROWS, Places, steps, values
from skedasis.plots.figures.effect import has_bins, on_shared_scales, picture, slopes
from skedasis.plots.figures.ice import centred, per_words, slope_unit
from skedasis.plots.figures.importance import LETTERS, BarPanel, axis_of_values, cut, display_order
from skedasis.plots.scales import (
    Axis,
    clean,
    extent,
    number,
    number_or_zero,
    settled,
    shortened,
    told_apart,
    with_error,
)
from skedasis.plots.spec import (
    ACROSS,
    BELOW,
    BESIDE,
    MOST_LEVELS,
    Band,
    Line,
    Panel,
    Picture,
    Rug,
    View,
    most_levels,
)
from skedasis.results.build.linear_form import AXIS, drawn
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.importance import Importance
from skedasis.results.multi_model import EffectOfModels, ImportanceOfModels, Of, OfModels
from skedasis.results.surface import Surface
from skedasis.results.time_axis import on_axis_of

# ------------------------------------------------------------------------------------------
# From several effects of one feature to what is to be seen of them together: arrays in, arrays out.


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
        rug, notes = _rug_of_effects(effects), []
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
        notes.append("0 is the mean of each curve over the data")
    notes += effect_parts.missing(first)
    return Overlay(
        x,
        _overlay_axis(effects, strands, center),
        tuple(strands),
        bands,
        rug,
        center == "mean" or first.spec.derivative,
        tuple(notes),
    )


def _rug_of_effects(effects: Sequence[Effect]) -> Rug | None:
    """Return where the rows lie, as the effect that keeps most of them knows it."""
    known = [e for e in effects if e.rows is not None]
    most = max(known, key=lambda e: 0 if e.rows is None else len(e.rows), default=None)
    return None if most is None else effect_parts.effect_rug(most)


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
        n if b is None or names.count(n) == 1 else f"{n}, {effect_parts.counted(len(b), 'bin')}"
        for n, b in zip(names, parts, strict=True)
    ]
    return [
        shortened(n if full.count(n) == 1 else f"{n} ({i + 1})", 40) for i, n in enumerate(full)
    ]


def _numeric(effects: Sequence[Effect]) -> Axis:
    axes = [effect_parts.horizontal(e) for e in effects]
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


def _overlay_axis(effects: Sequence[Effect], strands: Sequence[Strand], center: Zero) -> Axis:
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


# ------------------------------------------------------------------------------------------
# From results of several models to what is to be seen of them: each one's curve, their mean, and how sure that is.


MEAN, EACH = "mean of the models", "individual models"


VERTICES = 13
"""Up to so many points are marked."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """What is to be seen of one feature's effect, of several models.

    Parameters
    ----------
    panel : Panel
        Mean and interval.
    x : ndarray of float, shape (k,)
    each : ndarray of float, shape (m, k)
        The models' own curves.
    shift : ndarray of float, shape (m,), optional
        Levels without an order have no curve between them: each model is a dash at each level, so far beside it.
    """

    panel: Panel
    x: Floats
    each: Floats
    shift: Floats | None = None


def models_panel(found: EffectOfModels, level: float = 0.95, of: Of | None = None) -> Drawn:
    """Say what is to be seen of one feature's effect, of several models.

    Parameters
    ----------
    found : EffectOfModels
    level, of
        Of the interval.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> models = [lambda X, k=k: k * X[:, 0] for k in (1.0, 2.0)]
    >>> shown = models_panel(sd.explain(models, X, 0, method=sd.ALE(bins=4)))
    >>> shown.each.shape, shown.panel.notes
    ((2, 5), ('2 models', '100 rows each'))
    """
    ends, first = found.interval(level, of), found.models[0]
    label = interval_label(found, level, of)
    notes = [effect_parts.counted(len(found), "model"), _rows(found), *_reach(found)]
    y, zero = _models_axis(found, ends)
    if found.levels is not None:
        places = Places.of(found.about.feature, found.levels, MOST_LEVELS)
        at, x = places.x, places.axis(found.about.feature, ACROSS, MOST_LEVELS)
        lower, upper, value = (v[places.shown] for v in (*ends, found.value))
        band = Band(at, lower, upper, "error", label, reach=ERROR)
        line = Line(at, value, MEAN, vertices=True, joined="thin" if places.ordered else None)
        shift = None
        if not places.ordered:
            shift = ROWS * np.linspace(-1, 1, len(found) + 2)[1:-1]
        each = found.values[:, places.shown]
        panel = Panel(x, y, zero, first.spec.method, (*notes, *places.notes()[1:]))
        return Drawn(replace(panel, lines=(line,), bands=(band,)), at, each, shift)
    x = effect_parts.horizontal(replace(first, missing_point=None))
    x = replace(
        x,
        least=min(x.least, _end(found.points, np.min)),
        most=max(x.most, _end(found.points, np.max)),
    )
    bent = _bent(found)
    ends = bent.interval(level, of)
    y, zero = _models_axis(bent, ends)
    marked = (
        np.searchsorted(bent.points, found.points) if len(bent.points) > len(found.points) else None
    )
    band = Band(bent.points, *ends, "error", label)
    few = len(found.points) <= VERTICES
    line = Line(bent.points, bent.value, MEAN, vertices=few, marked=marked if few else None)
    panel = Panel(x, y, zero, first.spec.method, tuple(notes))
    panel = replace(panel, lines=(line,), bands=(band,), rug=_rug_of_models(found))
    return Drawn(panel, bent.points, bent.values)


def _bent(found: EffectOfModels) -> EffectOfModels:
    """Return the effect at more points where slopes change within bins: between edges its curves are parabolas."""
    each = [drawn(e.bins, e.points, e.value) for e in found.models]
    x = np.unique(np.concatenate([at for at, _ in each]))
    if len(x) == len(found.points) or found.spec.local == "values":
        return found
    return replace(found, points=x, values=np.stack([e.at(x) for e in found.models]))


def interval_label(found: OfModels, level: float, of: Of | None) -> str:
    """Return what the band is, for the legend."""
    if of == "models" or (of is None and found.correction is None):
        return f"{100 * level:g} % interval of the mean over refits to these rows"
    if of == "bound":
        return f"{100 * level:g} % interval for the learner (upper bound)"
    return f"{100 * level:g} % interval for the learner (c = {found.correction:.2g})"


def _end(x: Floats, which: Any) -> float:
    known = x[np.isfinite(x)]
    return float(which(known)) if len(known) else np.nan


def _rows(found: OfModels) -> str:
    rows = found.provenance.get("rows", [])
    if len(set(rows)) == 1:
        return f"{effect_parts.counted(rows[0], 'row')} each"
    return f"{min(rows):,} to {max(rows):,} rows each" if rows else "number of rows unknown"


def _reach(found: EffectOfModels) -> tuple[str, ...]:
    """Say that not all of the models reach everywhere."""
    least = int(found.reached.min(initial=len(found)))
    return (
        (f"the ends of the axis are covered by {effect_parts.counted(least, 'model')} only",)
        if least < len(found)
        else ()
    )


def _rug_of_models(found: EffectOfModels) -> Rug | None:
    """Return where the rows lie: those of all models, where each has its own."""
    rows = [e.rows for e in found.models if e.rows is not None and len(e.rows)]
    if not rows:
        return None
    if found.provenance.get("cv", "").startswith("all rows"):
        rows = rows[:1]
    own = len(rows) > 1
    weights = [np.ones(len(r)) if r.weight is None else r.weight for r in rows]
    exact = all(r.exact for r in rows)
    rug = effect_parts.rug(
        np.concatenate([r.x for r in rows]), np.concatenate(weights), exact=exact
    )
    return replace(rug, label="rows of all models, or quantiles") if own and rug else rug


def _models_axis(found: EffectOfModels, ends: tuple[Floats, Floats]) -> tuple[Axis, bool]:
    """Return the axis of what is explained, and whether zero means "no effect" on it.

    The models set the scale, and as much of the interval as leaves them readable: that of two models has one degree of
    freedom, and may be 13 times as wide as they are apart.
    """
    low, high = extent([found.values])
    least, most = extent(ends)
    span = high - low if high > low else np.inf
    low, high = np.fmin(low, max(least, low - span)), np.fmax(high, min(most, high + span))
    spec, about = found.spec, found.about
    moves = spec.center is not None or spec.derivative
    before = "slope of " if spec.derivative else "effect on " if moves else ""
    after = per_words(about.feature) if spec.derivative else ""
    name = shortened(about.quantity, max(12, BESIDE - len(before) - len(after)))
    unit = slope_unit(found.models[0]) if spec.derivative else about.unit
    return Axis(f"{before}{name}{after}", unit, float(low), float(high), 0.06), moves


def importance_panel(
    found: ImportanceOfModels,
    *,
    features: Sequence[str] | None = None,
    top: int | None = None,
    level: float = 0.95,
    of: Of | None = None,
) -> BarPanel:
    """Say what is to be seen of importances, of several models; the models stand where repeats do for one."""
    stand = stand_in(found)
    chosen = display_order(stand, features, top)
    lower, upper = (end[chosen] for end in found.interval(level, of))
    value, each = found.mean[chosen], found.values.T[chosen]
    x = axis_of_values(stand, value, (lower, upper), each)
    notes = [effect_parts.counted(len(found), "model"), _rows(found), *cut(x, lower, upper)]
    hidden = len(found.features) - len(chosen)
    if hidden:
        total = effect_parts.counted(len(found.features), "feature")
        notes.append(f"{hidden:,} of {total} not shown")
    return BarPanel(
        told_apart([clean(found.features[i]) for i in chosen], LETTERS),
        value,
        lower,
        upper,
        each,
        x,
        interval_label(found, level, of),
        f"{stand.method} of {effect_parts.counted(len(found), 'model')}",
        tuple(notes),
    )


def stand_in(found: ImportanceOfModels) -> Importance:
    """Return one importance whose "repeats" are the models: what is chosen, and in which order, goes by their mean."""
    return replace(
        found.models[0],
        values=found.values.T.copy(),
        std_error=found.std_error.copy(),
        freedom=found.freedom.copy(),
        local=None,
    )


# ------------------------------------------------------------------------------------------
# Many effects side by side: which ones, in which order, on which scales. Values; others draw them.


NOTE_LETTERS = 33
"""Of a note above one of many figures: longer ones would break."""


def ordered_effects(
    effects: Mapping[str, Effect],
    by: Literal["importance", "heterogeneity_score"],
    top: int | None,
) -> list[Effect]:
    """Return the effects that are drawn, the largest first.

    Raises
    ------
    DataError
        Where there is nothing to draw; and as `Effects.ranking`, as does UnsupportedError.
    """
    ranks = Effects(dict(effects)).ranking(by)[:top]
    if not ranks:
        raise DataError(
            explained("plot", "no effect", "at least one effect", "Explain one or more features")
        )
    return [effects[r.feature] for r in ranks]


def heterogeneity(effect: Effect, letters: int | None = None) -> str:
    """Return the heterogeneity score with its standard error, as a caption says it.

    Parameters
    ----------
    effect : Effect
    letters : int, optional
        The error is left out where both need more room.
    """
    score, error = effect.heterogeneity_score, effect.heterogeneity_score_error
    if math.isnan(score):
        return "heterogeneity score not computed"
    said = f"heterogeneity score {with_error(score, error, effect.importance)}"
    if letters is None or len(said) <= letters:
        return said
    return f"heterogeneity score {number_or_zero(score, effect.importance)}"


def comparable(effects: Sequence[Effect], view: View, lower: bool) -> list[Picture]:
    """Return the effects' panels on shared scales."""
    mains = on_shared_scales([picture(e, view).main for e in effects])
    below = {i: _below(e, view) for i, e in enumerate(effects)} if lower else {}
    there = {i: replace(p, words=()) for i, p in below.items() if p is not None}
    shared = on_shared_scales(list(there.values()))
    names = sorted({p.y.name for p in shared})
    if names:  # a slope per sd and a step between levels are of one unit, and may be compared
        shared = [replace(p, y=replace(p.y, name=", ".join(names))) for p in shared]
    beneath = dict(zip(there, shared, strict=True))
    return [
        Picture(_headed(main, e, i), beneath.get(i))
        for i, (main, e) in enumerate(zip(mains, effects, strict=True))
    ]


def _below(effect: Effect, view: View) -> Panel | None:
    """Return the panel of an effect's bins, or of the steps between its levels."""
    if effect.levels is not None:
        return steps(effect, view) if effect.bins is not None else values(effect, view)
    return slopes(effect, per_sd=True) if has_bins(effect) else None


def _headed(panel: Panel, effect: Effect, place: int) -> Panel:
    """Return a panel headed by its feature and the two numbers that rank it."""
    name = f"{place + 1}. {shortened(effect.feature, 24)}"
    figures = (f"importance {number(effect.importance)}", heterogeneity(effect, NOTE_LETTERS))
    missing = effect_parts.missing(effect)
    if panel.x.labels and effect.levels is not None and len(effect.levels) > len(panel.lines[0].x):
        missing = (f"{len(panel.lines[0].x)} of {len(effect.levels):,} levels", *missing)
    # One entry in the legend for all, however many rows each has.
    rug = None if panel.rug is None else replace(panel.rug, label="rows, or quantiles")
    y = replace(panel.y, name=shortened(panel.y.name, 36))
    apart = None if panel.apart is None else replace(panel.apart, label="missing values")
    return replace(
        panel, title=name, notes=(*figures, *missing), rug=rug, y=y, words=(), apart=apart
    )


def columns_for(n: int) -> int:
    """Return how many columns make a page of n panels neither a strip nor a tower."""
    return next((c for c, most in ((1, 1), (2, 4), (3, 9), (4, 16)) if n <= most), 5)
