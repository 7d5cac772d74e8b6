"""Alignment of time axes: effects of different rows may count days from different origins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skedasis.data.times import TimeAxis
from skedasis.results.build.linear_form import AXIS
from skedasis.results.effect import Effect
from skedasis.stats.moments import Moments


def on_axis_of(effect: Effect, other: Effect) -> Effect:
    """Return an effect with its days counted from the origin of another one; itself if the origins agree.

    Parameters
    ----------
    effect, other : Effect
        Of the same feature. Rows, curves, bins, cells and moments are shifted, too. No model row.
    """
    own, wanted = effect.time, other.time
    if own is None or wanted is None or own.onto(wanted, np.zeros(1))[0] == 0:
        return effect

    bins, cells, rows, curves = effect.bins, effect.cells, effect.rows, effect.curves
    moments = dict(effect.moments)
    if AXIS in moments:
        moments[AXIS] = _moved(moments[AXIS], own, wanted)
    return replace(
        effect,
        points=own.onto(wanted, effect.points),
        about=replace(effect.about, feature=replace(effect.about.feature, time=wanted)),
        bins=None
        if bins is None
        else replace(
            bins, low=own.onto(wanted, bins.low), high=own.onto(wanted, bins.high), time=wanted
        ),
        cells=None if cells is None else replace(cells, edges=own.onto(wanted, cells.edges)),
        rows=None if rows is None else replace(rows, x=own.onto(wanted, rows.x)),
        curves=None if curves is None else replace(curves, x=own.onto(wanted, curves.x)),
        moments=moments,
    )


def _moved(moments: Moments, own: TimeAxis, wanted: TimeAxis) -> Moments:
    """Return moments of days that count from another origin; empty cells keep their zero."""
    return replace(
        moments,
        mean=np.where(moments.weight > 0, own.onto(wanted, moments.mean), moments.mean),
    )
