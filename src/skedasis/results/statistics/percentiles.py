"""Effects in percentiles of the outcome: how many rows' outcomes an effect passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Floats
from skedasis.errors import DataError, explained

_REACHED = 1 + 1e-9
"""An outcome is reached if it is missed by rounding only."""


@dataclass(frozen=True, eq=False)
class Percentiles:
    """The outcome around its median.

    Parameters
    ----------
    above, below : ndarray of float
        Distances of outcomes from the median, sorted: of those greater than it, and of those smaller.
    up, down : ndarray of float, one longer
        Their weight so far, in percent of all.
    half_up, half_down : ndarray of float, one longer
        The same as Okoli counts: halves that both hold the median itself, each of 50 percent.
    """

    above: Floats
    below: Floats
    up: Floats
    down: Floats
    half_up: Floats
    half_down: Floats

    @classmethod
    def around(cls, y: Floats, weight: Floats) -> Percentiles:
        """Return the percentiles of outcomes with weights."""
        order = np.argsort(y, kind="stable")
        y, weight = y[order], weight[order]
        total = np.cumsum(weight)
        half = total[-1] / 2
        ends = [int(np.searchsorted(total, half, side=s)) for s in ("left", "right")]
        moved = y - (y[ends[0]] + y[min(ends[1], len(y) - 1)]) / 2
        sides = []
        for side in (moved, -moved):
            passed = side > 0
            worth = weight[passed]
            if side is not moved:
                worth = worth[::-1]
            tied = float(weight[moved == 0].sum())
            so_far = np.append(0.0, np.cumsum(worth))
            held = max(tied + so_far[-1], np.finfo(float).tiny)
            halves = np.append(0.0, tied + so_far[1:]) / held * 50
            sides.append((np.sort(side[passed]), so_far / total[-1] * 100, halves))
        (above, up, half_up), (below, down, half_down) = sides
        return cls(above, below, up, down, half_up, half_down)

    def of(self, effect: Floats) -> Floats:
        """Return effects in percentiles: the share of rows whose outcome lies between the median and median + effect.

        Outcomes equal to the median are not passed; those equal to the other end are.
        """
        reach = effect * _REACHED
        up = self.up[np.searchsorted(self.above, reach, side="right")]
        down = self.down[np.searchsorted(self.below, -reach, side="right")]
        return up - down

    def okoli(self, effect: Floats) -> Floats:
        """Return effects in percentiles as Okoli (2023) and the R package `ale` count.

        Nothing up to the first outcome beside the median; beyond it that and all that are tied with the median, too.
        """
        up = self.half_up[np.searchsorted(self.above, effect * _REACHED, side="right")]
        down = self.half_down[np.searchsorted(self.below, -effect * _REACHED, side="right")]
        far = [side[0] if len(side) else np.inf for side in (self.above, self.below)]
        return np.where(effect > far[0], up, 0.0) - np.where(-effect > far[1], down, 0.0)


def outcomes(y: Any, weights: Any, rows: int | None, *, weighted: bool) -> Percentiles:
    """Check what the caller gave as outcomes, and return their percentiles.

    Parameters
    ----------
    y : array_like of numbers, shape (n,)
    weights : array_like of numbers, shape (n,), optional
    rows : int, optional
        How many rows were explained.
    weighted : bool
        Whether these had weights.

    Raises
    ------
    DataError
        For another length, text, and values that are not finite; where rows had weights and these are not given.
    """
    values = _numbers(y)
    if weighted and weights is None:
        fix = "Pass the weights that explain had"
        raise DataError(explained("statistics(weights)", "None", "one weight a row", fix))
    w = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    if w.shape != values.shape:
        got = f"shapes {values.shape} and {w.shape}"
        fix = "Pass those of X's rows"
        raise DataError(explained("statistics(y, weights)", got, "one number a row", fix))
    if not np.isfinite(w).all() or (w < 0).any() or not w.any():
        got = "weights that are negative, not finite or all zero"
        raise DataError(
            explained("statistics(weights)", got, "numbers of at least 0", "Check them")
        )
    values, w = values[w > 0], w[w > 0]
    if rows is not None and len(values) != rows:
        got, expected = f"length {len(values)}", f"length {rows} (one a row)"
        fix = "Pass the outcomes of the rows that were explained"
        raise DataError(explained("statistics(y)", got, expected, fix))
    if not np.isfinite(values).all():
        got = f"{int((~np.isfinite(values)).sum())} values that are NaN or infinite"
        raise DataError(explained("statistics(y)", got, "finite numbers", "Leave such rows out"))
    return Percentiles.around(values, w)


def _numbers(y: Any) -> Floats:
    """Return outcomes as numbers, or refuse them."""
    given = np.asarray(y)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    got = None
    if given.ndim != 1 or len(given) == 0:
        got = f"shape {given.shape}"
    elif given.dtype.kind not in "biufO":
        got = f"values of type {given.dtype}"
    try:
        values = np.zeros(0) if got else given.astype(float)
    except (TypeError, ValueError):
        got, values = "values that are no numbers", np.zeros(0)
    if got:
        fix = "Pass the outcome of each row as a number, a class as 0 or 1"
        raise DataError(explained("statistics(y)", got, "one number a row", fix))
    return values
