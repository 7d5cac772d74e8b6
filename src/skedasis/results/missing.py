"""The point of missing values beside a curve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skedasis.results.effect import Effect
from skedasis.results.parts import MissingPoint
from skedasis.results.pieces import AXIS, LOCAL
from skedasis.stats.moments import Moments


def with_missing(effect: Effect, moments: Moments, *, exact: bool) -> Effect:
    """Return an effect with its point of missing values.

    Parameters
    ----------
    effect : Effect
    moments : Moments, one cell
        Over the rows without a value: of the quantity minus its mean over observed values; in an M-plot, of the
        quantity itself.
    exact : bool
        Whether all observed values took part.
    """
    if moments.count[0] == 0:
        return effect
    kind = effect.spec.weight_kind
    mean = float(moments.mean[0])
    if effect.spec.local == "values":
        seen = effect.moments[LOCAL]
        level = float(np.average(seen.mean, weights=seen.weight))
        gain, value = mean - level, mean - (level if effect.spec.center == "mean" else 0.0)
    else:
        gain, value = mean, mean + _level(effect)
    std = float(np.sqrt(moments.variance(1, kind)[0]))
    point = MissingPoint(
        effect=gain,
        std=std,
        std_error=std / float(np.sqrt(moments.effective(kind)[0])),
        count=int(moments.count[0]),
        weight=float(moments.weight[0]),
        value=value,
        exact=exact,
    )
    return replace(effect, missing_point=point)


def _level(effect: Effect) -> float:
    """Return the curve's mean over the data; a linear piece's is its value at the mean of its rows."""
    if effect.levels is not None:
        return float(effect.levels.share @ effect.value)
    axis = effect.moments[AXIS]
    there = axis.weight > 0
    if not there.any() or (effect.bins is not None and effect.spec.center == "mean"):
        return 0.0  # accumulated effects are centred already
    value = effect.at(np.clip(axis.mean[there], effect.points[0], effect.points[-1]))
    return float(np.average(value, weights=axis.weight[there]))
