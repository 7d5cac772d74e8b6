"""Intervals: Student's t from standard errors, and the bootstrap from resampled rows. Pure arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skedasis.errors import DataError, explained
from skedasis.moments import WeightKind
from skedasis.typing import Floats


@dataclass(frozen=True, eq=False)
class Resampler:
    """What a bootstrap needs: how often each row counts, and what comes out of such counts.

    Parameters
    ----------
    weight : ndarray of float, shape (n,)
        How often each row is there.
    value : callable
        ``value(counts) -> (m,)``: the result with each row counted so often.
    kind : {"frequency", "sampling"}
        Whether a row of weight 2 is two rows, or one that stands for more of the population than others.
    """

    weight: Floats
    value: Callable[[Floats], Floats]
    kind: WeightKind = "frequency"


def t_interval(
    value: Floats, error: Floats, freedom: Floats, level: float
) -> tuple[Floats, Floats]:
    """Return value -+ t * error, pointwise, each point with its own degrees of freedom."""
    from scipy.special import stdtrit

    finite = np.where(np.isfinite(freedom), np.maximum(freedom, 1.0), 1e12)
    half = stdtrit(finite, (1 + level) / 2) * error
    return value - half, value + half


def bootstrap_interval(
    source: Resampler, level: float, replicates: int, seed: int
) -> tuple[Floats, Floats]:
    """Return percentiles over replicates, in each of which as many rows are drawn with replacement as there are.

    Raises
    ------
    DataError
        For fewer than two replicates.
    """
    if isinstance(replicates, bool) or not isinstance(replicates, int) or replicates < 2:
        raise DataError(
            explained("interval(replicates)", repr(replicates), "2 or more", "Use 1000")
        )
    rng = np.random.default_rng(seed)
    rows, total = len(source.weight), source.weight.sum()
    if source.kind == "sampling":  # rows are drawn alike, and keep their weights
        drawn, share, worth = rows, np.full(rows, 1 / rows), source.weight
    else:
        drawn, share, worth = max(1, round(total)), source.weight / total, np.ones(rows)
    draws = np.array(
        [source.value(worth * rng.multinomial(drawn, share)) for _ in range(replicates)]
    )
    tail = (1 - level) / 2
    ends = np.full((2, draws.shape[1]), np.nan)
    there = ~np.isnan(draws).all(axis=0)  # beyond the data there is no value in any draw
    ends[:, there] = np.nanquantile(draws[:, there], [tail, 1 - tail], axis=0)
    return ends[0], ends[1]
