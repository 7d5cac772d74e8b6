"""Find what the heterogeneity of features depends on, from the pairs of the heterogeneity score; no model row.

The mathematics is in `skedasis.stats.depends_on`. This module reads the columns of the score's rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.categories import LevelColumn
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature
from skedasis.engine.select import FeatureTask
from skedasis.errors import DataError
from skedasis.stats.depends_on import (
    FEW_KNOTS,
    FITTED,
    KNOTS,
    KNOTS_OF_OTHERS,
    LEAST_ERRORS,
    LEAST_SHARE,
    MOST_OTHERS,
    SCREENED_PAIRS,
    DependsOn,
    Pairs,
    hat_functions,
    put_first,
    shares_explained,
)
from skedasis.stats.heterogeneity_score import FEW_PAIRS, HeterogeneityScore, frequent_levels


@dataclass(frozen=True, eq=False)
class ColumnFunctions:
    """Functions of the columns of the score's rows, each computed once.

    Parameters
    ----------
    part : Dataset
        The rows, in the order of the data.
    back : ndarray of int, shape (n,)
        Indexing with it goes from that order to the order of the hashes.
    weights : ndarray of float, shape (n,), optional
    """

    part: Dataset
    back: Ints
    weights: Floats | None
    found: dict[tuple[int, int], Floats] = field(default_factory=dict)

    def of(self, j: int, knots: int) -> Floats:
        """Return functions of a column, (n, K), in the order of the hashes."""
        if (j, knots) not in self.found:
            self.found[j, knots] = self._functions(self.part.features[j], knots)
        return self.found[j, knots]

    def _functions(self, feature: Feature, knots: int) -> Floats:
        part, j = self.part, feature.position
        if feature.kind == "nominal":
            return frequent_levels(part.coded(j)[0][self.back], self.weights)
        if feature.kind == "continuous":
            return hat_functions(part.floats(j)[self.back], knots)
        try:
            codes = part.levels(feature, most=len(part) + 1).codes
        except DataError:
            # All values are missing, or some level is missing in the declared order.
            return np.zeros((len(part), 0))
        return hat_functions(np.where(codes < 0, np.nan, codes)[self.back], knots)

    def own(self, task: FeatureTask, values: Floats) -> Floats:
        """Return functions of the values of a feature that is explained, (n, K)."""
        if isinstance(task.column, LevelColumn) and task.feature.kind == "nominal":
            return frequent_levels(np.where(np.isnan(values), -1, values).astype(int), self.weights)
        return hat_functions(values, KNOTS)


def find_depends_on(
    functions: ColumnFunctions,
    task: FeatureTask,
    values: Floats,
    pairs: Pairs,
    score: HeterogeneityScore,
) -> DependsOn | None:
    """Return the other feature that explains most of a feature's heterogeneity, if it explains much; else None.

    Parameters
    ----------
    functions : ColumnFunctions
    task : FeatureTask
    values : ndarray of float, shape (n,)
        The feature's values, or the codes of its levels, in the order of the hashes.
    pairs : Pairs
    score : HeterogeneityScore
        With few effective pairs, nothing can be told.
    """
    if not score.value > 0 or score.effective_pairs < FEW_PAIRS:
        return None
    others = other_columns(functions.part, task)
    own = functions.own(task, values)
    if len(others) > MOST_OTHERS:
        step = max(1, len(pairs) // SCREENED_PAIRS)
        few = [functions.of(j, FEW_KNOTS) for j in others]
        others = [
            others[k] for k in put_first(pairs.take(slice(0, None, step)), own, few, MOST_OTHERS)
        ]
    columns = [functions.of(j, KNOTS_OF_OTHERS) for j in others]
    first = put_first(pairs, own, columns, FITTED)
    share, error = shares_explained(pairs, own, [columns[k] for k in first])
    if not len(share) or np.isnan(share).all():
        return None
    best = int(np.nanargmax(share))
    if share[best] < LEAST_SHARE or share[best] < LEAST_ERRORS * error[best]:
        return None
    name = functions.part.features[others[first[best]]].name
    return DependsOn(name, float(share[best]), float(error[best]))


def other_columns(part: Dataset, task: FeatureTask) -> Sequence[int]:
    """Return the columns that are not the feature's own."""
    return [f.position for f in part.features if f.position not in task.feature.columns]
