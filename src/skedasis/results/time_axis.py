"""Alignment of time axes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from skedasis.data.times import TimeAxis
from skedasis.results.axis import TimedAxis
from skedasis.results.build.linear_form import AXIS
from skedasis.results.effect import BinnedEffect, Effect
from skedasis.stats.moments import Moments


def align_time_axis(effect: Effect, other: Effect) -> Effect:
    """Return `effect` with days counted from the origin of `other`; `effect` itself if the origins agree."""
    source, target = effect.time, other.time
    if source is None or target is None or source.onto(target, np.zeros(1))[0] == 0:
        return effect

    rows, curves, moments = effect.rows, effect.curves, dict(effect.moments)
    if AXIS in moments:
        moments[AXIS] = _shifted(moments[AXIS], source, target)
    # All at once: an accumulated effect looks up the edges of its bins among its points.
    shifted = partial(
        replace,
        effect,
        axis=TimedAxis(source.onto(target, effect.axis.coordinates), target),
        about=replace(effect.about, feature=replace(effect.about.feature, time=target)),
        rows=None if rows is None else replace(rows, x=source.onto(target, rows.x)),
        curves=None if curves is None else replace(curves, x=source.onto(target, curves.x)),
        moments=moments,
    )
    if not isinstance(effect, BinnedEffect):
        return shifted()
    bins, cells = effect.bins, effect.cells
    low, high = (source.onto(target, edges) for edges in (bins.low, bins.high))
    return shifted(
        bins=replace(bins, low=low, high=high, time=target),
        cells=replace(cells, edges=source.onto(target, cells.edges)),
    )


def _shifted(moments: Moments, source: TimeAxis, target: TimeAxis) -> Moments:
    """Return the moments of days with the origin of `target`; the mean of an empty cell stays 0."""
    return replace(
        moments,
        mean=np.where(moments.weight > 0, source.onto(target, moments.mean), moments.mean),
    )
