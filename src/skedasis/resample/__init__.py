"""Intervals: Student's t and the sup-t, draws of rows, and the errors of permutations. Pure arrays."""

from __future__ import annotations

from skedasis.resample.bands import (
    Blocks,
    bonferroni,
    percentiles,
    quantile_t,
    sup_band,
    sup_t,
    t_band,
    t_interval,
    varies,
)
from skedasis.resample.draws import Draws, Repeated, generator, replicate
from skedasis.resample.permuted import (
    PairVariance,
    influence_error,
    pair_variance,
    parts_error,
    permutation_error,
)

__all__ = [
    "Blocks",
    "Draws",
    "PairVariance",
    "Repeated",
    "bonferroni",
    "generator",
    "influence_error",
    "pair_variance",
    "parts_error",
    "percentiles",
    "permutation_error",
    "quantile_t",
    "replicate",
    "sup_band",
    "sup_t",
    "t_band",
    "t_interval",
    "varies",
]
