"""Individual curves on the axis of a finished effect: how they are centred, and which of them other bins keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skedasis._types import Floats
from skedasis.results.axis import LevelAxis
from skedasis.results.build.linear_form import AXIS, LOCAL
from skedasis.results.build.step_functions import centre_form
from skedasis.results.effect import BinnedEffect, Curves, Effect, ValueStepsEffect


def centred_curves(value: Floats, effect: Effect) -> Floats:
    """Return curves of rows, (r, m), centred as an accumulated effect is.

    For ``center="mean"`` each has mean zero over the data, by the weights of the effect's own centre; else it starts at
    zero. Between the points a curve is a line, also where the effect is a parabola.
    """
    # Subtract the first value first: a constant curve is then exactly zero.
    value = value - value[:, :1]
    if effect.spec.center != "mean":
        return value
    # Not a matrix product, whose last digits depend on the number of threads.
    return value - np.einsum("rm,m->r", value, point_shares(effect))[:, None]


def point_shares(effect: Effect) -> Floats:
    """Return the weight of each point in the mean of an accumulated curve over the data, (m,)."""
    if isinstance(effect.axis, LevelAxis):
        return effect.axis.levels.share
    points = effect.axis.coordinates
    if not isinstance(effect, BinnedEffect) or len(points) < 2:
        return np.full(len(points), 1 / len(points))
    first = np.searchsorted(effect.cells.edges, points)[:-1]
    if isinstance(effect, ValueStepsEffect):
        return centre_form(points, effect.moments[AXIS].pool(first))
    pooled = effect.moments[LOCAL].pool(first)
    half = pooled.weight / (2 * pooled.total_size())
    return np.append(half, 0.0) + np.append(0.0, half)


def curves_on(effect: Effect, before: Effect) -> Curves | None:
    """Return the curves of an effect for the same effect on other bins; None if it has points that they do not."""
    if before.curves is None:
        return None
    points, known = effect.axis.coordinates, before.axis.coordinates
    if not np.isin(points, known).all():
        return None
    value = before.curves.value[:, np.searchsorted(known, points)]
    return replace(before.curves, value=centred_curves(value, effect))
