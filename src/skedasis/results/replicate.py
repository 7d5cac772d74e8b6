"""Results with their rows counted otherwise: what a bootstrap repeats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skedasis import curves
from skedasis.cells import Cells
from skedasis.errors import UnsupportedError, explained
from skedasis.moments import Moments
from skedasis.resample import Resampler
from skedasis.results.accumulated import AXIS, LOCAL, accumulate
from skedasis.results.effect import Effect
from skedasis.results.levels import BOTH, DOWN, UP, Steps
from skedasis.results.parts import Rows
from skedasis.typing import Center, Floats, Ints

Value = Callable[[Floats], Floats]


def resampler(effect: Effect) -> Resampler:
    """Return how an effect depends on how often each of its rows counts, its bins, grid or levels fixed.

    Parameters
    ----------
    effect : Effect

    Raises
    ------
    UnsupportedError
        Where not all rows, or curves, were kept.

    Notes
    -----
    No model row. A draw may leave out all rows of a bin or of a level. What is not known then is NaN in that draw, and
    the interval rests on the other draws:

    - in an M-plot the value of that bin or level;
    - in an accumulated effect what lies beyond the first and last bins with rows, or, of levels, beyond the first and
      last steps with rows (a step has rows unless both of its levels are left out). Between them the effect is joined
      as it is where the data themselves leave a bin empty. An effect that starts at zero on the left is not known
      at all in a draw without rows in its first bin or step.

    So the interval at a bin of a single row of an M-plot has no width, and where rows are few it is too narrow: that is
    what `BinStats.trusted` and `LevelStats.count` warn of.
    """
    if effect.cells is not None and len(effect.cells) == 0 and effect.spec.local != "values":
        return Resampler(np.ones(1), lambda _: effect.value)  # a constant feature's effect is zero
    kept = effect.curves if effect.spec.local == "none" else effect.rows
    if kept is None or not kept.exact:
        raise UnsupportedError(
            explained(
                f"bootstrap of a {effect.spec.method}",
                "a result that keeps a part of the rows",
                "all rows",
                "Explain with a larger keep=, for PDP with ice='all'; or use method='analytic'",
            )
        )
    weight = np.ones(len(kept)) if kept.weight is None else kept.weight
    value = _averaged(kept.value) if not isinstance(kept, Rows) else _of_rows(effect, kept)
    return Resampler(weight, value, effect.spec.weight_kind)


def _of_rows(effect: Effect, rows: Rows) -> Value:
    """Return how an effect depends on the weights of its rows."""
    if rows.effect is not None and effect.spec.local == "values":
        return _marginal(effect, rows, rows.effect)
    if rows.effect is None or len(effect.x) < 2:
        return lambda _: effect.value
    if effect.levels is not None:
        return _stepped(effect, rows, rows.effect)
    return _accumulated(effect, rows, rows.effect)


def _averaged(shown: Floats) -> Value:
    """Return the mean of curves: PDP and ICE, of numbers and of levels, anchored ones and slopes too."""
    return lambda counts: counts @ shown / counts.sum()


def _accumulated(effect: Effect, rows: Rows, slopes: Floats) -> Value:
    """Return how a numeric feature's accumulated effect depends on the weights of its rows."""
    cells, stats = effect.cells, effect.bins
    if cells is None or stats is None:
        return lambda _: effect.value
    edges = np.append(stats.left, stats.right[-1:])
    kept: Ints = np.searchsorted(cells.edges, edges)
    bins = Cells(edges, cells.closed) if effect.spec.pointwise else cells
    places = np.arange(len(edges)) if effect.spec.pointwise else kept
    cell, x = bins.locate(rows.x), rows.x
    within = cell >= 0  # re-binned to narrower edges, a result still has all its rows
    first = _first(effect.moments[LOCAL].pool(kept[:-1]).weight)

    def value(counts: Floats) -> Floats:
        drawn = within & (counts > 0)
        at, w = cell[drawn], counts[drawn]
        moments = {
            **effect.moments,
            LOCAL: Moments.of(slopes[drawn], at, len(bins), w),
            AXIS: Moments.of(x[drawn], at, len(bins), w),
        }
        curve = accumulate(bins, moments, places, effect.spec, effect.about, None).value
        started = _first(moments[LOCAL].pool(places[:-1]).weight) == first
        return _if_started(curve, effect.spec.center, started=started)

    return value


def _first(weight: Floats) -> int:
    """Return the first place that has rows; behind all of them if there is none."""
    return int(np.append(np.flatnonzero(weight > 0), len(weight))[0])


def _if_started(value: Floats, center: Center | str, *, started: bool) -> Floats:
    """Return an effect, unless it is measured from a start that this draw knows nothing of."""
    return value if started or center == "mean" else np.full(len(value), np.nan)


def _stepped(effect: Effect, rows: Rows, steps: Floats) -> Value:
    """Return how a categorical feature's accumulated effect depends on the weights of its rows."""
    size, center = len(effect.x), effect.spec.center
    place, known = rows.x.astype(np.int64), np.nan_to_num(steps)
    down, up = known[:, 0], known[:, 1]  # nothing before the first level and after the last

    def value(counts: Floats) -> Floats:
        drawn = counts > 0
        at, w = place[drawn], counts[drawn]
        ups = Moments.of(up[drawn], at, size, w)
        downs = Moments.of(down[drawn], at, size, w, like=ups)
        pooled = Steps.of({UP: ups, DOWN: downs, BOTH: ups}).pooled
        return _joined(pooled, ups.weight, center)

    return value


def _joined(steps: Moments, weight: Floats, center: Center | str) -> Floats:
    """Accumulate mean steps; NaN at the levels before the first and after the last step that has rows."""
    there = np.flatnonzero(steps.weight > 0)
    if len(there) == 0:
        return np.full(len(weight), np.nan)
    # What is borrowed before the first and after the last known step shifts nothing that stays, or is NaN.
    rise = curves.borrowed(np.where(steps.weight > 0, steps.mean, np.nan))
    value = np.append(0.0, np.cumsum(rise))
    if center == "mean":
        value -= weight @ value / weight.sum()
    level = np.arange(len(weight))
    value[(level < there[0]) | (level > there[-1] + 1)] = np.nan
    return _if_started(value, center, started=bool(there[0] == 0))


def _marginal(effect: Effect, rows: Rows, values: Floats) -> Value:
    """Return how an M-plot depends on the weights of its rows."""
    size = len(effect.x)
    shown = np.arange(size)
    # A constant feature has no cells, and all its rows are in one.
    place = np.zeros(len(rows), dtype=np.int64)
    if effect.levels is not None:
        place = rows.x.astype(np.int64)
    if effect.bins is not None and effect.cells is not None and len(effect.cells):
        edges = np.append(effect.bins.left, effect.bins.right[-1:])
        place = Cells(edges, effect.cells.closed).locate(rows.x)
        size, shown = len(effect.bins), np.flatnonzero(~effect.bins.empty)

    def value(counts: Floats) -> Floats:
        drawn = (place >= 0) & (counts > 0)
        bins = Moments.of(values[drawn], place[drawn], size, counts[drawn])
        there = bins.weight > 0
        level = np.average(bins.mean, weights=bins.weight) if effect.spec.center == "mean" else 0.0
        return np.where(there, bins.mean - level, np.nan)[shown]

    return value
