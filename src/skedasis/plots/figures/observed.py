"""What was observed, in the figure of an effect: mean labels, mean predictions and numbers of rows in cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from skedasis._numbers import counted, number_or_zero
from skedasis._types import Bools, Floats, Ints
from skedasis.plots.figures import effect_parts
from skedasis.plots.figures.curve_height import is_on_label_scale, shows_labels
from skedasis.plots.figures.effect_parts import COUNTS, LONG, LONGEST, LOWER, Band
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.figures.shown_levels import ShownLevels
from skedasis.plots.marks import Line, Mark, Panel, Points, Rectangles, Segments, Stack, Tooltip
from skedasis.plots.scales import PlotAxis, clean, distinct_names, extent, position_texts, shorten
from skedasis.results.effect import TRUSTED_ROWS, Effect
from skedasis.results.observed import Observed, ObservedMean
from skedasis.results.sentences import OBSERVED_TEXT, tell

LABEL, PREDICTION = "mean label", "mean prediction"
"""Legend entries."""

ROWS = 42.0
"""Height of the panel with numbers of rows."""

ASIDE = 0.2
"""Distance of the means from the average at a level or beside the axis, where these are not on top of each other."""

ACROSS, APART = 0.8, 0.016
"""The values of a split are side by side within this part of the room around a cell, but not farther apart than this
fraction of the axis."""


class CellMeans(NamedTuple):
    """Means of one value of the split in the shown cells, each of shape (K,), with their intervals."""

    name: str
    style: str
    x: Floats
    rows: Floats
    label: Floats
    label_low: Floats
    label_high: Floats
    prediction: Floats
    residual: Floats
    residual_low: Floats
    residual_high: Floats

    @property
    def trusted(self) -> tuple[Floats, Floats]:
        """Return mean labels and mean predictions, NaN in cells with few rows, which do not determine a scale."""
        few = self.rows < TRUSTED_ROWS
        return np.where(few, np.nan, self.label), np.where(few, np.nan, self.prediction)

    @property
    def interval(self) -> Band:
        """Return the intervals of the mean labels; without an interval, the mean itself."""
        known = np.isfinite(self.label_low)
        low = np.where(known, self.label_low, self.label)
        return Band(self.x, low, np.where(known, self.label_high, self.label), LABEL)


@dataclass(frozen=True, eq=False)
class ShownCells:
    """The cells of a figure, at positions of its horizontal axis, and the means there of each value of a split.

    Parameters
    ----------
    at : ndarray, shape (K,)
        Positions, in ascending order.
    left, right : ndarray, shape (K,)
        Ends of the cells, between which the bars of their rows are.
    main : ndarray of bool, shape (K,)
        Which cells are on the main stretch, and not beside the axis.
    names : sequence of str
        The cells as text.
    """

    at: Floats
    left: Floats
    right: Floats
    main: Bools
    names: Sequence[str]
    means: Sequence[CellMeans]
    level: float
    unit: str | None
    joined: bool
    """Whether predictions are joined by lines: those of values of a split at one level are side by side."""

    @property
    def split(self) -> bool:
        """Return whether there is more than one value of a split."""
        return len(self.means) > 1

    @property
    def entry(self) -> str:
        """Return the legend entry of mean labels."""
        return f"{LABEL} ({100 * self.level:g} % interval)"

    # --- marks

    def marks(self) -> Iterator[Mark]:
        """Yield predictions, then labels with their intervals, so that a label is never hidden."""
        none, interval = np.zeros(0), self.entry
        if self.split:  # what is filled and what is open is said once, in grey
            yield Segments(none, none, none, none, "observed-interval", interval, 1.0)
            yield Points(none, none, "observed", interval)
            if self.joined:
                yield Line(none, none, "predicted-any-line", PREDICTION)
            yield Points(none, none, "predicted-any", PREDICTION)
        for one in self.means:
            said = one.name if self.split else PREDICTION
            if self.joined and self.main.sum() > 1:
                yield Line(
                    one.x[self.main], one.prediction[self.main], f"predicted{one.style}-line", said
                )
            yield Points(one.x, one.prediction, f"predicted{one.style}", said)
        yield from self.labels()

    def labels(self) -> Iterator[Mark]:
        """Yield labels with their intervals."""
        for one in self.means:
            said = one.name if self.split else self.entry
            yield Segments(
                one.x,
                one.label_low,
                one.x,
                one.label_high,
                f"observed{one.style}-interval",
                "" if self.split else said,
                1.0,
            )
            yield Points(one.x, one.label, f"observed{one.style}", said)

    def curves(self) -> list[Floats]:
        """Return what determines the scale."""
        return [mean for one in self.means for mean in one.trusted]

    def intervals(self) -> list[Band]:
        """Return what the scale includes as far as curves stay readable."""
        return [one.interval for one in self.means]

    def labels_alone(self, beside: float) -> ShownCells:
        """Return the cells with labels only, so far beside their positions."""
        none, at = np.full(len(self.at), np.nan), self.at + beside
        means = [one._replace(x=at, prediction=none, residual=none) for one in self.means]
        return replace(self, means=means)

    # --- tooltips

    def lines(self, k: int) -> Iterator[str]:
        """Yield the means in a cell, of each value of the split."""
        unit = f" {shorten(self.unit, 30)}" if self.unit else ""
        for one in self.means:
            if not one.rows[k]:
                continue
            top = float(np.fmax(abs(one.label[k]), abs(one.prediction[k])))
            if self.split:
                yield f"{one.name}: {counted(int(one.rows[k]), 'row')}"
            yield f"{LABEL} {_with_ends(one.label[k], one.label_low[k], one.label_high[k], top)}{unit}"
            if np.isnan(one.prediction[k]):
                continue
            yield f"{PREDICTION} {number_or_zero(float(one.prediction[k]), top)}{unit}"
            ends = one.residual_low[k], one.residual_high[k]
            yield f"label minus prediction {_with_ends(one.residual[k], *ends, top)}"

    def tooltips(self, x: PlotAxis, below: int = 0) -> Iterator[Tooltip]:
        """Yield a tooltip per cell of the main stretch: its ends, its rows and its means."""
        low, high = x.range
        at = np.flatnonzero(self.main)
        middles = (self.at[at][1:] + self.at[at][:-1]) / 2
        ends = [low, *middles.tolist(), high]
        for place, k in enumerate(at.tolist()):
            rows = sum(int(one.rows[k]) for one in self.means)
            head = [self.names[k], *([] if self.split else [counted(rows, "row")])]
            yield Tooltip(
                ends[place], ends[place + 1], "\n".join([*head, *self.lines(k)]), below=below
            )

    def added(self, tooltips: Sequence[Tooltip]) -> tuple[Tooltip, ...]:
        """Return tooltips of levels, or beside the axis, with the means in the cell that each contains."""
        found: list[Tooltip] = []
        for tip in tooltips:
            k = np.flatnonzero((self.at > tip.left) & (self.at < tip.right))
            lines = self.lines(int(k[0])) if len(k) == 1 else ()
            found.append(replace(tip, text="\n".join([tip.text, *lines])))
        return tuple(found)

    # --- panels

    def rows_panel(self, x: PlotAxis) -> Panel:
        """Return the panel with the number of rows in each cell, the values of a split side by side."""
        n = len(self.means)
        width = (self.right - self.left) / n
        bars: list[Mark] = []
        for i, one in enumerate(self.means):
            left, height = self.left + i * width, one.rows
            style = f"observed{one.style}-rows" if self.split else "count"
            bars.append(Rectangles(left, left + width, np.zeros(len(height)), height, style))
        most = max((float(one.rows.max(initial=0)) for one in self.means), default=0.0)
        y = PlotAxis("rows", None, 0.0, most, 0.0)
        tips = tuple(self.tooltips(x))
        high = ROWS if self.split else COUNTS
        return Panel(x, y, (*effect_parts.backdrop(x), *bars), high, kind="counts", tooltips=tips)


def _with_ends(value: float, low: float, high: float, top: float) -> str:
    text = number_or_zero(float(value), top)
    if not np.isfinite(high - low):
        return text
    if abs(high + low - 2 * value) > 1e-6 * (high - low):
        return f"{text} ({number_or_zero(float(low), top)} to {number_or_zero(float(high), top)})"
    return f"{text} ± {number_or_zero(float(high - low) / 2, top)}"


# --- the cells of an effect -----------------------------------------------------------------------


def cells_of(effect: Effect, options: EffectPlotOptions, x: PlotAxis) -> ShownCells | None:
    """Return the cells that a figure of an effect shows, on its horizontal axis; None without any."""
    level, levels = options.confidence_level, ShownLevels.of_effect(effect, options.most_levels)
    found = effect.observed
    if found is None or len(found) + (found.missing is not None) == 0:
        return None
    at, place = _positions(found, x, levels)
    if len(at) == 0:
        return None
    room = _room(at, x)
    main = np.isin(at, found.points) if levels is None else at < len(levels)
    columns = _pooled(found, place, len(at), level)
    names, values = _split_names(found), len(found.split_values)
    style = [""] if values == 1 else list(map(str, range(values)))
    step = np.minimum(
        ACROSS * 2 * room / values, np.inf if levels is not None else APART * _span(x)
    )
    beside = np.full(len(at), levels is not None) | ~main
    means = [
        CellMeans(
            names[i], style[i], at + _shift(i, values, step, room, beside), *(c[i] for c in columns)
        )
        for i in range(values)
    ]
    ends = at - ACROSS * room, at + ACROSS * room
    if values == 1:  # the bars of several values are side by side in a part of their cell
        ends = _ends(found, place, at, *ends)
    return ShownCells(
        at,
        *ends,
        main,
        _names(effect, found, place, at, x, levels),
        means,
        level,
        found.unit,
        levels is None,
    )


def shared_labels(effects: Sequence[Effect]) -> bool:
    """Return whether effects on the scale of the labels have the same mean labels, without a split."""
    first, *others = (e.observed for e in effects) if effects else (None,)
    return (
        first is not None
        and len(first.split_values) == 1
        and all(map(is_on_label_scale, effects))
        and all(
            o is not None
            and np.array_equal(first.points, o.points, equal_nan=True)
            and np.array_equal(first.count, o.count)
            and np.array_equal(first.label, o.label, equal_nan=True)
            for o in others
        )
    )


def _positions(found: Observed, x: PlotAxis, levels: ShownLevels | None) -> tuple[Floats, Ints]:
    """Return positions in ascending order, and that of each cell, at last of missing values; -1 for none."""
    points = np.append(found.points, np.nan) if found.missing is not None else found.points
    if levels is None:
        where, (low, high) = np.array([x.place(v) for v in points.tolist()]), x.range
        where[(where == points) & ((points < low) | (points > high))] = np.nan
    else:
        known = np.isfinite(points)
        where = np.full(len(points), x.place(np.nan))
        where[known] = levels.position[points[known].astype(np.int64)]
    place = np.full(len(points), -1)
    at, place[np.isfinite(where)] = np.unique(where[np.isfinite(where)], return_inverse=True)
    return at, place


def _pooled(found: Observed, place: Ints, n: int, level: float) -> list[Floats]:
    """Return rows, label with its interval, prediction, and residual with its interval at n positions, (S, n) each.

    Cells at one position, beyond a gap, are strata of one mean.
    """
    parts = [found] if found.missing is None else [found, found.missing]
    there = place >= 0

    def joined(name: str) -> Floats:
        return np.concatenate([vars(one)[name] for one in parts], axis=1)[:, there]

    into = np.zeros((int(there.sum()), n))
    into[np.arange(len(into)), place[there]] = 1.0
    weight = joined("weight")
    total = weight @ into

    def mean(value: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return (np.where(weight > 0, weight * value, 0.0) @ into) / total

    def with_ends(of: ObservedMean) -> Iterator[Floats]:
        value = joined(of)
        yield mean(value)
        each = zip(*(one.interval(level, of) for one in parts), strict=True)
        for sign, ends in zip((-1, 1), each, strict=True):
            off = np.concatenate(ends, axis=1)[:, there] - value
            with np.errstate(invalid="ignore", divide="ignore"):
                error = np.sqrt(np.where(weight > 0, (weight * off) ** 2, 0.0) @ into) / total
            yield mean(value) + sign * error

    return [
        joined("count") @ into,
        *with_ends("label"),
        mean(joined("prediction")),
        *with_ends("residual"),
    ]


def _room(at: Floats, x: PlotAxis) -> Floats:
    """Return half the distance of each position to its nearest neighbour; beside the axis, of what is drawn there."""
    steps = np.diff(at)
    room = np.minimum(np.append(steps, np.inf), np.insert(steps, 0, np.inf)) / 2
    if len(at) == 1:
        room = np.array([_span(x) / 4])
    for aside in x.asides:
        room[at == aside.at] = (aside.right - aside.left) / 2
    return room


def _span(x: PlotAxis) -> float:
    low, high = x.range
    return high - low


def _shift(i: int, n: int, step: Floats, room: Floats, beside: Bools) -> Floats:
    """Return how far value i of n of a split is beside its cell: at levels, never where the average is."""
    if n == 1:
        return np.where(beside, 2 * ASIDE * room, 0.0)
    slots = n + n % 2
    return np.where(
        beside, 2 * room * 0.6 * ((i + n % 2) / (slots - 1) - 0.5), step * (i - (n - 1) / 2)
    )


def _ends(
    found: Observed, place: Ints, at: Floats, left: Floats, right: Floats
) -> tuple[Floats, Floats]:
    """Return the ends of the bars at each position: of a cell its own, of a single value those given."""
    cells = place[: len(found)]
    inside = (cells >= 0) & (found.high > found.low) & (at[cells] == found.points)
    left[cells[inside]], right[cells[inside]] = found.low[inside], found.high[inside]
    return left, right


def _split_names(found: Observed) -> tuple[str, ...]:
    called = f"{shorten(found.split_name, 24)} = " if found.split_name else ""
    names = [clean(value) for value in found.split_values]
    return tuple(f"{called}{name}" for name in distinct_names(names, 24))


def _names(
    effect: Effect,
    found: Observed,
    place: Ints,
    at: Floats,
    x: PlotAxis,
    levels: ShownLevels | None,
) -> list[str]:
    """Return each position as text: a level, a value, the ends of a cell, or what is beside the axis."""
    if levels is not None:
        return [
            shorten(levels.names[round(v)], LONG) if v <= len(levels) - 1 else effect_parts.MISSING
            for v in at.tolist()
        ]
    unit = f" {shorten(x.unit, 30)}" if x.unit else ""
    names = [""] * len(at)
    low, high = (position_texts(ends, effect.time) for ends in (found.low, found.high))
    title = shorten(effect.feature_title, LONG)
    for k, to in enumerate(place[: len(found)].tolist()):
        if to >= 0:
            one = found.low[k] == found.high[k]
            names[to] = f"{title} = {low[k]}{unit}" if one else f"{low[k]} – {high[k]}{unit}"
    for aside in x.asides:
        for k in np.flatnonzero(at == aside.at).tolist():
            names[k] = aside.text
    return names


# --- beside the panels of an effect ---------------------------------------------------------------


def with_observed(
    effect: Effect,
    options: EffectPlotOptions,
    main: Panel,
    detail: Panel | None = None,
    counts: Panel | None = None,
) -> Stack:
    """Return the panels of an effect with the rows of its cells, and labels of another scale than the curve's.

    `counts` is the panel of rows that the effect has without labels.
    """
    cells = cells_of(effect, options, main.x)
    if cells is None:
        return tuple(p for p in (main, detail, counts) if p is not None)
    own: tuple[Panel, ...] = ()
    if not shows_labels(effect, options):
        own = (_panel(effect, cells, main.x),)
        # Below it are others than those that its tooltips are about.
        main = replace(main, tooltips=tuple(replace(t, below=0) for t in main.tooltips))
    if counts is None or cells.split:
        counts, main = cells.rows_panel(main.x), replace(main, above=())
    return (main, *own, *(() if detail is None else (detail,)), counts)


def _panel(effect: Effect, cells: ShownCells, x: PlotAxis) -> Panel:
    """Return the panel of mean labels and predictions of an effect that is not on the scale of the labels."""
    found = effect.observed
    name = "" if found is None else shorten(found.quantity, LONGEST)
    ends = [(band.lower, band.upper) for band in cells.intervals()]
    reached = extent([end for both in ends for end in both])
    y = PlotAxis(
        name, cells.unit, *effect_parts.readable_range(reached, *extent(cells.curves())), 0.06
    )
    return Panel(
        x,
        y,
        (*effect_parts.backdrop(x), *cells.marks()),
        LOWER,
        notes=effect_parts.off_scale(y, ends),
        kind="detail",
        tooltips=tuple(cells.tooltips(x)),
    )


# --- alternative text -----------------------------------------------------------------------------


def observed_text(effect: Effect, options: EffectPlotOptions | None, x: PlotAxis) -> str:
    """Return sentences for the alternative text: ranges of the means, and where they differ most."""
    options = EffectPlotOptions() if options is None else options
    cells = cells_of(effect, options, x) if options.observed else None
    said: list[str] = []
    for one in () if cells is None else cells.means:
        known = np.flatnonzero(np.isfinite(one.residual))
        if len(known) == 0:
            continue
        labels, predictions = one.label[known], one.prediction[known]
        top, worst = float(np.abs(labels).max()), int(known[np.argmax(np.abs(one.residual[known]))])
        ends = [
            number_or_zero(float(v), top)
            for of in (labels, predictions)
            for v in (of.min(), of.max())
        ]
        facts = dict(zip(("low", "high", "least", "most"), ends, strict=True))
        said.append(
            tell(
                OBSERVED_TEXT,
                split=one.name if cells is not None and cells.split else "",
                size=number_or_zero(abs(float(one.residual[worst])), top),
                change=float(one.residual[worst]),
                at="" if cells is None else cells.names[worst],
                **facts,
            )
        )
    return " ".join(said)
