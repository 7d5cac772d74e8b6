"""Cohorts of a report: how a model predicts, and what features do, within each of the regions that the caller named."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from skedasis._types import Floats, Ints
from skedasis.data.dataset import Dataset
from skedasis.quantities.base import Quantity
from skedasis.report.quality import Quality, label_values, quality
from skedasis.results.regions import Regions


@dataclass(frozen=True, eq=False)
class Cohort:
    """A model within one of the regions that the caller named."""

    rule: str
    rows: int
    share: float
    mean: float
    label_mean: float = math.nan
    label_rows: int = 0
    quality: Quality | None = None
    reason: str = ""
    importance: Mapping[str, float] = field(default_factory=dict)
    heterogeneity_score: Mapping[str, float] = field(default_factory=dict)
    heterogeneity_score_error: Mapping[str, float] = field(default_factory=dict)


def cohorts(
    regions: Mapping[str, Regions],
    region: Ints | None,
    dataset: Dataset,
    quantity: Quantity,
    values: Floats,
    raw: ArrayLike | None,
    *,
    rows: bool = True,
) -> tuple[Cohort, ...]:
    """Return one cohort per region that the caller named, in their order; none if regions were not named."""
    if region is None or not regions:
        return ()
    observed = label_values(quantity, values, raw, dataset.y)
    total = dataset.total_weight
    found: list[Cohort] = []
    for leaf in next(iter(regions.values())).leaves:
        inside = region == leaf.region
        weight = None if dataset.weights is None else dataset.weights[inside]
        count = int(inside.sum())
        least = 1 if rows else 2
        mean = _mean(values[inside], weight, least)
        label_mean, labelled = math.nan, 0
        if observed is not None:
            label_mean = _mean(observed[inside], weight, least)
            labelled = int(np.isfinite(observed[inside]).sum())
        good, reason = quality(
            quantity,
            values[inside],
            None if raw is None else np.asarray(raw)[inside],
            None if dataset.y is None else np.asarray(dataset.y)[inside],
            weight,
        )
        own = {name: r.effects[leaf.region] for name, r in regions.items()}
        found.append(
            Cohort(
                leaf.rule,
                count,
                (count if weight is None else float(weight.sum())) / total,
                mean,
                label_mean,
                labelled,
                good,
                reason,
                {name: e.importance for name, e in own.items()},
                {name: e.heterogeneity_score for name, e in own.items()},
                {name: e.heterogeneity_score_error for name, e in own.items()},
            )
        )
    return tuple(found)


def _mean(values: Floats, weight: Floats | None, least: int) -> float:
    """Return the weighted mean of the values that are known; NaN if there are fewer than `least`."""
    known = np.isfinite(values)
    if int(known.sum()) < least:
        return math.nan
    return float(np.average(values[known], weights=None if weight is None else weight[known]))
