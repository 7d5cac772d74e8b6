"""Find what the heterogeneity of features depends on, from the pairs of the heterogeneity score; no model row."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from skedasis._types import Floats, Ints, OutputLabel
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature
from skedasis.engine.prepare import TaskKey
from skedasis.engine.select import FeatureTask
from skedasis.stats.depends_on import (
    FEW_KNOTS,
    FITTED,
    LEAST_PAIRS,
    LEAST_SHARE,
    MOST_COMPARED,
    MOST_OTHERS,
    SCREENED_PAIRS,
    SCREENED_SHARE,
    DependsOn,
    Pairs,
    hat_functions,
    knots_for,
    least_errors,
    screened_shares,
    shares_explained,
)
from skedasis.stats.heterogeneity_score import HeterogeneityScore, Ranks, frequent_levels


@dataclass(frozen=True, eq=False)
class ColumnFunctions:
    """Functions of the columns of the score's rows, each computed once."""

    part: Dataset
    back: Ints
    columns: Sequence[Ranks | Floats]
    weights: Floats | None
    found: dict[tuple[int, int], Floats] = field(default_factory=dict)

    def of(self, j: int, knots: int) -> Floats:
        """Return functions of a column, (n, K), in the order of the hashes."""
        if (j, knots) not in self.found:
            self.found[j, knots] = self._functions(self.part.features[j], knots)
        return self.found[j, knots]

    def _functions(self, feature: Feature, knots: int) -> Floats:
        part, column = self.part, self.columns[feature.position]
        if not isinstance(column, Ranks):
            return column  # indicators of levels; none if all values are missing
        if feature.kind == "continuous":
            x = part.floats(feature.position)
        else:
            codes = part.levels(feature, most=len(part) + 1).codes
            x = np.where(codes < 0, np.nan, codes)
        return hat_functions(x[self.back], knots, column.order)


@dataclass(frozen=True, eq=False)
class SwappedPairs:
    """The pairs of rows that swapped their values for the heterogeneity scores of a job."""

    functions: ColumnFunctions
    tasks: Mapping[str, FeatureTask]
    values: Mapping[str, Floats]
    pairs: Mapping[TaskKey, Pairs]
    scores: Mapping[TaskKey, HeterogeneityScore]
    found: dict[TaskKey, DependsOn | None] = field(default_factory=dict)

    @cached_property
    def features(self) -> dict[str, Feature]:
        """Return the columns and the groups of columns that are explained, whose members are left out, by name."""
        groups = [t.feature for t in self.tasks.values() if t.feature.members]
        members = {j for group in groups for j in group.columns}
        columns = [f for f in self.functions.part.features if f.position not in members]
        return {f.name: f for f in (*columns, *groups)}

    def _functions(self, feature: Feature, knots: int) -> Floats:
        """Return functions of a column, or of the levels of a group, (n, K)."""
        if not feature.members:
            return self.functions.of(feature.position, knots)
        codes = np.nan_to_num(self.values[feature.name], nan=-1.0).astype(int)
        return frequent_levels(codes, self.functions.weights)

    @cached_property
    def _compared(self) -> dict[OutputLabel, set[str]]:
        """Return the columns that are compared, by output: of many those of the largest scores, or without one.

        An interaction of two features raises the scores of both alike.
        """
        most, found = max(MOST_COMPARED, MOST_COMPARED**2 // len(self.tasks)), {}
        for label in dict.fromkeys(label for label, _ in self.scores):
            size = {name: self.scores[label, name].value for name in self.tasks}
            order = sorted(self.features, key=lambda name: -np.nan_to_num(size.get(name, np.inf)))
            found[label] = set(order[:most])
        return found

    def depends_on(self, label: OutputLabel, name: str) -> DependsOn | None:
        """Return the other column that explains most of a feature's heterogeneity, None if none explains much."""
        # An effect is made again if its slopes are replaced.
        if (label, name) not in self.found:
            self.found[label, name] = self._depends_on(label, name)
        return self.found[label, name]

    def _depends_on(self, label: OutputLabel, name: str) -> DependsOn | None:
        if self.scores[label, name].effective_pairs < LEAST_PAIRS:
            return None
        found = self.shares(label, name, self._compared[label], FITTED)
        if not found:
            return None
        best = max(found, key=lambda other: found[other][0])
        share, error = found[best]
        told = share >= LEAST_SHARE and share >= least_errors(len(self.features)) * error
        return DependsOn(best, share, error, self.features[best].title) if told else None

    def shares(
        self, label: OutputLabel, name: str, others: Collection[str], most: int = MOST_OTHERS
    ) -> dict[str, tuple[float, float]]:
        """Return the share of a feature's heterogeneity that each other column explains, with its standard error."""
        score, pairs, task = self.scores[label, name], self.pairs[label, name], self.tasks[name]
        wanted = [
            feature
            for other, feature in self.features.items()
            if other in others and not {*feature.columns} & {*task.feature.columns}
        ]
        if not score.value > 0:
            return {}
        knots = knots_for(len(pairs))
        own = self._functions(task.feature, knots)
        some = pairs.take(slice(0, None, max(1, len(pairs) // SCREENED_PAIRS)))
        if len(wanted) > MOST_OTHERS:
            few = screened_shares(some, own, [self._functions(f, FEW_KNOTS) for f in wanted])
            wanted = [wanted[k] for k in np.sort(np.argsort(-few, kind="stable")[:MOST_OTHERS])]
        columns = [self._functions(feature, knots) for feature in wanted]
        if len(columns) > most:
            seem = screened_shares(some, own, columns)
            least = max(SCREENED_SHARE, seem.max() / 2)
            first = [k for k in np.argsort(-seem, kind="stable")[:most] if seem[k] >= least]
            wanted, columns = [wanted[k] for k in first], [columns[k] for k in first]
        share, error = shares_explained(pairs, own, columns)
        return {
            feature.name: (float(share[k]), float(error[k]))
            for k, feature in enumerate(wanted)
            if not np.isnan(share[k])
        }
