"""From an `Effect` of a categorical feature to a figure specification.

Levels are drawn at the positions 0, 1, …, in the order of the effect (`Places`). Each level has a point and two boxes:
the standard deviation between rows and the confidence interval. A thin line connects ordinal levels; nominal levels
have no order, and no line connects them. Of more levels than fit, those with most rows are shown.

An ALE of a categorical feature has a second panel with the differences between adjacent levels (`steps`), an M-plot one
with the values of single rows at each level (`values`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.features import Feature
from skedasis.plots.figures import effect_parts
from skedasis.plots.figures.ice import anchored, centred_as_requested, grouped, individual_curves
from skedasis.plots.scales import Axis, clean, counted, distinct_names, shorten
from skedasis.plots.spec import BELOW, Band, Bars, EffectPlotOptions, FigureSpec, Hatch, Line, Panel
from skedasis.results.axis import LevelStats
from skedasis.results.build.steps import Steps
from skedasis.results.effect import TRUSTED_ROWS, Curves, Effect, LevelMeansEffect, LevelStepsEffect

ERROR_HALF_WIDTH, SPREAD_HALF_WIDTH, ROWS_HALF_WIDTH = 0.16, 0.3, 0.36
"""Half widths of the confidence box, of the heterogeneity box, and of the rows at a level."""


LONG = 24
"""Most characters of a rotated label."""


@dataclass(frozen=True, eq=False)
class Places:
    """The levels that are shown, at positions 0, 1, ….

    Parameters
    ----------
    levels : LevelStats
    ordered : bool
        Whether the feature is ordinal.
    shown : ndarray of int, shape (s,)
        Codes of the shown levels.
    """

    levels: LevelStats
    ordered: bool
    shown: Ints

    @classmethod
    def of(cls, feature: Feature, levels: LevelStats, most: int) -> Places:
        """Choose the levels that are shown: all, or of too many nominal levels those with most rows."""
        ordered = feature.kind == "ordinal"
        shown = np.arange(len(levels))
        if len(levels) > most and not ordered:
            shown = np.sort(np.argsort(-levels.weight, kind="stable")[:most])
        return cls(levels, ordered, shown)

    def __len__(self) -> int:
        return len(self.shown)

    @property
    def x(self) -> Floats:
        """Return the positions of the shown levels."""
        return np.arange(len(self), dtype=float)

    @property
    def place(self) -> Floats:
        """Return the position of each level, NaN for levels that are not shown."""
        at = np.full(len(self.levels), np.nan)
        at[self.shown] = self.x
        return at

    @property
    def count(self) -> Ints:
        """Return the number of rows of each shown level."""
        return self.levels.count[self.shown]

    def axis(
        self, feature: Feature, across: int | None, most: int, missing_label: str = ""
    ) -> Axis:
        """Return the axis, with labels shortened and rotated as necessary.

        Parameters
        ----------
        feature : Feature
        across : int or None
            Characters that fit across the axis; None for a vertical axis.
        most : int
            Most labels.
        missing_label : str
            Tick label of the position of missing values.
        """
        every = max(1, math.ceil(len(self) / most))
        ticks = np.arange(0, len(self), every)
        names = [self.levels.labels[self.shown[i]] for i in ticks]
        if across is None:
            labels, turn = distinct_names([clean(n) for n in names], LONG), 0
        else:
            labels, turn = fitted(names, across / max(len(self), 1) * every)
        return Axis(
            shorten(feature.name, BELOW),
            feature.unit,
            -0.5,
            len(self) - 0.5,
            0.0,
            tuple(float(t) for t in ticks),
            labels,
            turn,
            missing_label,
        )

    def notes(self) -> tuple[str, ...]:
        """Return notes on the number of levels and on their order."""
        notes = [counted(len(self.levels), "level")]
        if len(self) < len(self.levels):
            left = len(self.levels) - len(self)
            notes.append(f"the {len(self)} levels with most rows are shown, {left:,} are not")
        if len(self.levels) > 1 and not self.levels.order_description.startswith("the observed"):
            chosen = self.levels.order_description
            notes.append(f"order of levels: {chosen}" if chosen else "levels in their own order")
        return tuple(notes)


def _axis(places: Places, effect: Effect, view: EffectPlotOptions) -> Axis:
    missing_label = "" if effect.missing_point is None else effect_parts.MISSING
    return places.axis(effect.about.feature, view.across, view.most, missing_label)


def fitted(names: Sequence[str], room: float) -> tuple[tuple[str, ...], int]:
    """Return labels that do not overlap, and their rotation in degrees.

    Parameters
    ----------
    names : sequence of str
    room : float
        Characters between neighbouring labels.

    Examples
    --------
    >>> fitted(["low", "high"], 10)
    (('low', 'high'), 0)
    >>> fitted(["a long name", "another one"], 8)
    (('a long name', 'another one'), 40)
    """
    longest = max((len(clean(n)) for n in names), default=0)
    if longest + 1 <= room:
        return tuple(clean(n) for n in names), 0
    labels = distinct_names([clean(n) for n in names], max(LONG, int(room) - 1))
    if max(len(n) for n in labels) + 1 <= room:
        return labels, 0
    return labels, 40 if room >= 5 else 90


def picture(effect: Effect, levels: LevelStats, view: EffectPlotOptions) -> FigureSpec:
    """Return the figure specification of an effect of a categorical feature."""
    places = Places.of(effect.about.feature, levels, view.most)
    x = _axis(places, effect, view)
    if isinstance(effect, LevelStepsEffect):
        main, below = _accumulated(effect, places, x, view), steps(effect, view)
    elif isinstance(effect, LevelMeansEffect):
        main, below = _means(effect, places, x, view), values(effect, view)
    else:
        main, below = _dependence(effect, places, x, view), None
    words = effect_parts.effect_words(places.count, places.x, x, view.across)
    main = replace(main, words=words, hatches=tuple(_doubtful(places)))
    counts = None if words else _counts(places, x)
    groups = grouped(effect, view, x, places.place) if view.histogram else None
    return FigureSpec(main, below, counts, groups)


def steps(effect: LevelStepsEffect, view: EffectPlotOptions) -> Panel | None:
    """Return the panel of differences between adjacent levels; None if no two shown levels are adjacent.

    A bin of an ordinal feature may contain several differences. Local effects are then shown relative to the mean of
    their difference, shifted to the mean of the bin: how the differences vary is the shape of the curve, not
    heterogeneity (docs/explanation/heterogeneity.md).
    """
    levels, bins = effect.axis.levels, effect.bins
    if len(bins) == 0:
        return None
    places = Places.of(effect.about.feature, levels, view.most)
    at = places.place
    first, last = levels.codes(bins.low), levels.codes(bins.high)
    # Two levels are adjacent in the figure only if they are adjacent in the order of all levels.
    there = np.flatnonzero(at[last] - at[first] == last - first)
    if len(there) == 0:
        return None
    where = np.full(len(levels), -1)
    for new, old in enumerate(there):
        where[first[old] : last[old]] = new
    y, cell, weight = _local(effect, where, there)
    left, right = at[first[there]], at[last[there]]
    single = bool((last[there] - first[there] == 1).all())
    s = effect_parts.Spread(
        # With gaps the differences do not look like a staircase: each belongs to a pair of levels.
        left + 0.12,
        right - 0.12,
        bins.effect[there],
        bins.std[there],
        bins.trusted[there],
        y,
        cell,
        weight,
    )
    said = "mean difference" if single else "mean difference within the bin"
    texts = (said, "± standard deviation of local effects", "local effects")
    x = _axis(places, effect, view)
    panel = effect_parts.spread_panel(
        x, ("difference to the next level", effect.about.unit), s, texts, zero=True
    )
    left_out = len(bins) - len(there)
    if left_out:
        note = f"{left_out:,} of {len(bins):,} differences involve levels that are not shown"
        panel = replace(panel, notes=(*panel.notes, note))
    few = np.flatnonzero(~bins.trusted[there])
    return replace(panel, hatches=tuple(Hatch(float(left[i]), float(right[i]), "few") for i in few))


def values(effect: LevelMeansEffect, view: EffectPlotOptions) -> Panel | None:
    """Return the panel of the rows' values at each level of an M-plot; None if no rows were kept."""
    levels, rows = effect.axis.levels, effect.rows
    if rows is None or rows.effect is None or len(rows) == 0:
        return None
    places = Places.of(effect.about.feature, levels, view.most)
    at = places.place[rows.x.astype(np.int64)]
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    there = np.isfinite(at) & (weight > 0) & np.isfinite(rows.effect)
    mean = effect.value[places.shown] + _level(effect)
    s = effect_parts.Spread(
        places.x - 0.42,
        places.x + 0.42,
        mean,
        effect.heterogeneity[places.shown],
        places.count >= TRUSTED_ROWS,
        rows.effect[there],
        at[there].astype(np.int64),
        weight[there],
    )
    x = _axis(places, effect, view)
    y = (shorten(effect.about.quantity, 40), effect.about.unit)
    panel = effect_parts.spread_panel(x, y, s, effect_parts.MEANS_OF["level"], zero=False)
    return replace(panel, hatches=tuple(_doubtful(places)))


def _level(effect: Effect) -> float:
    """Return the mean that was subtracted from an M-plot."""
    local = effect.moments["local"]
    if effect.spec.center != "mean" or not local.weight.any():
        return 0.0
    return float(np.average(local.mean, weights=local.weight))


def _accumulated(effect: Effect, places: Places, x: Axis, view: EffectPlotOptions) -> Panel:
    said = (
        "± heterogeneity (standard deviation)"
        if places.ordered
        else "± standard deviation of adjacent level differences"
    )
    notes = (_rows(places), *places.notes(), *_outside(effect))
    return _panel(effect, places, x, view, said, notes, "effect on ")


def _means(effect: Effect, places: Places, x: Axis, view: EffectPlotOptions) -> Panel:
    notes = (_rows(places), *places.notes(), *_outside(effect))
    after = " minus its mean" if effect.spec.center == "mean" else ""
    return _panel(
        effect, places, x, view, "± standard deviation within the level", notes, "", after
    )


def _dependence(effect: Effect, places: Places, x: Axis, view: EffectPlotOptions) -> Panel:
    shown, centring = centred_as_requested(effect, view)
    moves = centring or effect.spec.center is not None
    n = effect.provenance.get("rows", int(places.levels.count.sum()))
    bundle = None
    if view.ice:
        curves = None if shown.curves is None else _at(shown.curves, places)
        bundle = individual_curves(
            places.x, curves, view, shown, 0.0 if places.ordered else ROWS_HALF_WIDTH
        )
    notes = [counted(n, "row")]
    if bundle is not None:
        notes.append(f"{len(bundle.y):,} drawn individually")
    notes += [*places.notes(), *anchored(effect, centring, "levels")]
    before = "effect on " if moves else ""
    panel = _panel(
        shown, places, x, view, "± standard deviation of centred curves", tuple(notes), before
    )
    individual = () if bundle is None else (bundle.y,)
    y = effect_parts.vertical(
        effect, panel.bands, (panel.lines[0].y, *individual), (before, ""), panel.missing_marker
    )
    return replace(panel, y=y, bundle=bundle, zero=moves)


def _at(curves: Curves, places: Places) -> Curves:
    """Return curves at the shown levels, with the position of each row's own level."""
    own = np.full(len(curves), np.nan)
    known = np.isfinite(curves.x)
    own[known] = places.place[curves.x[known].astype(np.int64)]
    return replace(curves, value=curves.value[:, places.shown], x=own)


def _panel(
    effect: Effect,
    places: Places,
    x: Axis,
    view: EffectPlotOptions,
    said: str,
    notes: tuple[str, ...],
    before: str,
    after: str = "",
) -> Panel:
    """Return the main panel: a value per level, with boxes of the standard deviation and the confidence interval."""
    value, spread = effect.value[places.shown], effect.heterogeneity[places.shown]
    bands: tuple[Band, ...] = ()
    if not effect.spec.mean_alone:
        error = effect_parts.interval(effect, view)
        lower, upper = error.lower[places.shown], error.upper[places.shown]
        bands = (
            Band(
                places.x, value - spread, value + spread, "heterogeneity", said, SPREAD_HALF_WIDTH
            ),
            Band(places.x, lower, upper, "error", error.label, ERROR_HALF_WIDTH),
        )
    point = effect_parts.aside(effect, view.confidence_level)
    y = effect_parts.vertical(effect, bands, (value,), (before, after), point)
    label = "average effect" if isinstance(effect, LevelStepsEffect) else "average"
    return Panel(
        x,
        y,
        zero=bool(before or after),
        title=effect.spec.method,
        notes=(*notes, *effect_parts.missing(effect)),
        lines=(Line(places.x, value, label, True, "thin" if places.ordered else None),),
        bands=bands,
        missing_marker=point,
    )


def _local(effect: LevelStepsEffect, where: Ints, there: Ints) -> tuple[Floats, Ints, Floats]:
    """Return the local effects of the kept rows, their bins and their weights.

    Parameters
    ----------
    effect : LevelStepsEffect
    where : ndarray of int, shape (L,)
        Index of each difference's bin among the shown ones, -1 for none.
    there : ndarray of int
        Indices of the shown bins.
    """
    rows, bins = effect.rows, effect.bins
    if rows is None or rows.effect is None or rows.effect.ndim != 2:
        return np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0)
    place = rows.x.astype(np.int64)
    # Each row has two local effects: the difference to the previous level, and that to the next one.
    step = np.concatenate([place - 1, place])
    y = np.concatenate([rows.effect[:, 0], rows.effect[:, 1]])
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    weight = np.concatenate([weight, weight])
    known = np.isfinite(y) & (weight > 0) & (step >= 0)
    y, step, weight = y[known], step[known], weight[known]
    cell = where[step]
    there_too = cell >= 0
    y, step, weight, cell = y[there_too], step[there_too], weight[there_too], cell[there_too]
    if len(bins) < len(effect.axis) - 1:
        y = y - Steps.of(effect.moments).pooled.mean[step] + bins.effect[there][cell]
    return y, cell, weight


def _doubtful(places: Places) -> list[Hatch]:
    """Return hatched intervals at levels with few rows; neighbouring ones are merged."""
    found: list[Hatch] = []
    for x, n in zip(places.x, places.count, strict=True):
        if n >= TRUSTED_ROWS:
            continue
        if found and found[-1].right == x - 0.5:
            found[-1] = replace(found[-1], right=x + 0.5)
        else:
            found.append(Hatch(float(x - 0.5), float(x + 0.5), "few"))
    return found


def _counts(places: Places, x: Axis) -> Panel:
    height = places.count.astype(float)
    y = Axis("rows", None, 0.0, float(height.max(initial=0.0)), 0.0)
    return Panel(x, y, bars=Bars(places.x - 0.4, places.x + 0.4, height))


def _rows(places: Places) -> str:
    return counted(int(places.levels.count.sum()), "row")


def _outside(effect: Effect) -> tuple[str, ...]:
    n = effect.provenance.get("rows_outside", 0)
    return (f"{counted(n, 'row')} with levels that were left out",) if n else ()
