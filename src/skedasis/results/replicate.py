"""Results with their rows counted otherwise: what a bootstrap repeats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skedasis.cells import Cells
from skedasis.errors import UnsupportedError, explained
from skedasis.moments import Moments
from skedasis.resample import Resampler
from skedasis.results.accumulated import AXIS, LOCAL, accumulate
from skedasis.results.effect import Effect
from skedasis.typing import Floats, Ints


def resampler(effect: Effect) -> Resampler:
    """Return how an effect depends on how often each of its rows counts, the bins or grid fixed.

    Raises
    ------
    UnsupportedError
        Where not all rows, or curves, were kept.
    """
    kept = effect.curves if effect.bins is None else effect.rows
    if kept is None or not kept.exact:
        raise UnsupportedError(
            explained(
                f"bootstrap of a {effect.spec.method}",
                "a result that keeps a part of the rows",
                "all rows",
                "Explain with a larger keep=, for PDP with ice='all'; or use method='analytic'",
            )
        )
    weight, kind = (
        np.ones(len(kept)) if kept.weight is None else kept.weight,
        effect.spec.weight_kind,
    )
    if effect.curves is not None:
        curves = effect.curves.value
        return Resampler(weight, lambda counts: counts @ curves / counts.sum(), kind)
    return Resampler(weight, _accumulated(effect), kind)


def _accumulated(effect: Effect) -> Callable[[Floats], Floats]:
    rows, cells = effect.rows, effect.cells
    if (
        rows is None
        or rows.effect is None
        or cells is None
        or effect.bins is None
        or len(cells) == 0
    ):
        return lambda _: effect.value
    edges = np.append(effect.bins.left, effect.bins.right[-1:])
    kept: Ints = np.searchsorted(cells.edges, edges)
    bins = Cells(edges, cells.closed) if effect.spec.pointwise else cells
    places = np.arange(len(edges)) if effect.spec.pointwise else kept
    cell, x, slopes = bins.locate(rows.x), rows.x, rows.effect
    within = cell >= 0  # re-binned to narrower edges, a result still has all its rows

    def value(counts: Floats) -> Floats:
        drawn = within & (counts > 0)
        at, w = cell[drawn], counts[drawn]
        moments = {
            **effect.moments,
            LOCAL: Moments.of(slopes[drawn], at, len(bins), w),
            AXIS: Moments.of(x[drawn], at, len(bins), w),
        }
        return accumulate(bins, moments, places, effect.spec, effect.about, None).value

    return value
