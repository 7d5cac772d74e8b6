"""Groups of rows in which the mean of a number differs, and these means at rows that did not choose the groups.

What a model does wrong (`weak_spots`), where it is unsure (`diagnose`) and what has changed (`drift`) are all means of
a number at the rows, by groups that rules define. One half of the rows chooses the rules, the other one tests them
(`skedasis.stats.regions`, with one cell), and gives every mean and every error that is said of a group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.data.dataset import Dataset
from skedasis.engine.conditioning import ConditioningFeatures, conditioning_features
from skedasis.engine.options import ALPHA, MAX_DEPTH
from skedasis.engine.region_rules import MIN_ROWS, MIN_SHARE, RegionRules, rules_of_search
from skedasis.results.regions import RegionNode
from skedasis.stats.moments import WeightKind, power_of_two
from skedasis.stats.random import random_half
from skedasis.stats.regions import CellEffects, RegionSearch, kappa
from skedasis.stats.resampling import influence_error
from skedasis.stats.student import interval_of, two_sided_p


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error and Student's degrees of freedom; NaN where one row says nothing of them."""

    value: float
    std_error: float
    df: float

    @property
    def p_value(self) -> float:
        """Return the two-sided p-value of the value 0: of equal values 0 or 1, and 1 where there is no error."""
        if not self.std_error > 0:
            return 0.0 if self.std_error == 0 and self.value != 0 else 1.0
        return float(two_sided_p(self.value / self.std_error, self.df))

    def interval(self, confidence_level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the confidence interval."""
        return interval_of(self.value, self.std_error, self.df, confidence_level)


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Groups that are the leaves of a tree of rules, in the order of its `nodes`."""

    rules: RegionRules
    search: RegionSearch

    @property
    def half(self) -> Bools:
        """Return which rows chose the rules, (n,); the others tested them."""
        return self.search.half

    @property
    def weights(self) -> Floats | None:
        """Return the weights of the rows, (n,): of the mean 1 if they are sampling weights. None for 1."""
        return self.search.weights

    @property
    def kind(self) -> WeightKind:
        """Return what the weights are."""
        return "frequency" if self.search.frequency else "sampling"

    def __len__(self) -> int:
        return len(self.leaves)

    @property
    def nodes(self) -> list[RegionNode]:
        """Return the nodes of the tree, depth first."""
        return self.rules.nodes

    @property
    def leaves(self) -> tuple[RegionNode, ...]:
        """Return the groups: their rules, conditions and sizes."""
        return self.rules.leaves

    @property
    def group(self) -> Ints:
        """Return the number of each row's group, (n,)."""
        return self.rules.region

    @cached_property
    def stability(self) -> Floats:
        """Return how well each group agrees with the most similar one that the other half would choose, (groups,).

        1 for the same rows, 0 for no more in common than by chance (Cohen's kappa). The other half chooses with its
        tests, which finds two cuts at once, and nearly without them, which does not ask for two confirmations. The
        order of the cuts does not matter: a box is the same group whichever of its sides is cut first.
        """
        searches = (
            replace(self.search, half=~self.half, alpha=a) for a in (self.search.alpha, 1.0)
        )
        others = [node.rows for search in searches for node in search.run().below()]
        found = np.zeros(len(self))
        for rows in others:
            other = np.zeros(len(self.group), dtype=bool)
            other[rows] = True
            for g in range(len(self)):
                found[g] = max(found[g], kappa(self.group == g, other, self.weights))
        return found

    def share(self, group: int) -> float:
        """Return the share of the weight of all rows."""
        return self.leaves[group].weight / max(self.nodes[0].weight, 1e-300)

    def chosen_mean(self, values: Floats, group: int) -> float:
        """Return the mean in a group of the rows that chose it, from which another choice may be made."""
        return self._mean(values, self.half & (self.group == group)).value

    def mean(self, values: Floats, group: int | None = None) -> Estimate:
        """Return the mean of values, (n,), in a group, or of all, at the rows that did not choose the groups."""
        some = ~self.half if group is None else ~self.half & (self.group == group)
        return self._mean(values, some)

    def overall(self, values: Floats) -> Estimate:
        """Return the mean of all rows, which needs no rule: both halves say it."""
        return self._mean(values, np.ones(len(values), dtype=bool))

    def difference(self, values: Floats, group: int) -> Estimate:
        """Return the mean in a group minus that of all rows, both at the rows that did not choose the groups."""
        inside, outside, rest = self._apart(values, group)
        return _combined(rest * (inside.value - outside.value), (inside, rest), (outside, -rest))

    def log_ratio(self, values: Floats, group: int) -> Estimate:
        """Return the logarithm of the mean in a group divided by that of all rows; NaN if either is not positive."""
        inside, outside, rest = self._apart(values, group)
        mean = (1 - rest) * inside.value + rest * outside.value
        if not (inside.value > 0 and mean > 0):
            return Estimate(math.nan, math.nan, math.nan)
        slopes = 1 / inside.value - (1 - rest) / mean, -rest / mean
        value = math.log(inside.value / mean)
        return _combined(value, (inside, slopes[0]), (outside, slopes[1]))

    def _apart(self, values: Floats, group: int) -> tuple[Estimate, Estimate, float]:
        """Return the means inside and outside of a group, and the share of the weight that is outside."""
        inside, outside = (~self.half & ((self.group == group) == side) for side in (True, False))
        sizes = [
            float(s.sum() if self.weights is None else self.weights[s].sum())
            for s in (inside, outside)
        ]
        rest = sizes[1] / max(sum(sizes), 1e-300)
        mean = self._mean(values, inside)
        return mean, self._mean(values, outside) if rest else mean, rest

    def _mean(self, values: Floats, some: Bools) -> Estimate:
        """Return the mean of some rows, and its error."""
        v, w = values[some], None if self.weights is None else self.weights[some]
        if not len(v):
            return Estimate(math.nan, math.nan, math.nan)
        value = float(np.average(v, weights=w))
        unit = power_of_two(v - value)  # squares of very large or small values
        error, df = influence_error((v - value) / unit, w, self.kind)
        return Estimate(value, unit * error, df)


def _combined(value: float, *parts: tuple[Estimate, float]) -> Estimate:
    """Return a function of independent means, of the given slopes: Welch's error and degrees of freedom."""
    known = [(abs(slope) * e.std_error, e.df) for e, slope in parts if slope]
    error = math.hypot(*(of_part for of_part, _ in known))
    if not error > 0:
        return Estimate(value, error, math.inf)
    return Estimate(value, error, 1.0 / sum((of_part / error) ** 4 / df for of_part, df in known))


def find_row_groups(
    values: Floats,
    dataset: Dataset,
    seed: int,
    *,
    purpose: str,
    conditioning: ConditioningFeatures | None = None,
    max_depth: int = MAX_DEPTH,
    alpha: float = ALPHA,
    min_gain: float = 0.0,
    look_ahead: bool = True,
    intervals: bool = False,
    least: tuple[float, float] = (MIN_ROWS, MIN_SHARE),
) -> RowGroups:
    """Return the groups of rows, by rules of the features, in which the mean of some values differs.

    Parameters
    ----------
    values : array of floats, shape (n,)
        Finite, one for each row of `dataset`.
    dataset : Dataset
        The rows; their weights are counts, or sampling weights if it says so.
    seed : int
    purpose : str
        Names the random halves: other purposes divide the rows in another way.
    conditioning : ConditioningFeatures, optional
        The features that rules may use; by default all.
    max_depth, alpha, look_ahead
        As in `skedasis.regions`: with probability `alpha` at most, there are several groups although the values have
        the same mean everywhere, whatever their distribution.
    intervals : bool
        Whether looking ahead also tries two cuts of one feature: a group in the middle of its range.
    min_gain : float
        Least share of the variance of the values that a split explains.
    least : tuple of float
        Least rows of a group, and their least share of all.

    Returns
    -------
    RowGroups
        One group, "all rows", if no rule was confirmed.

    Notes
    -----
    No model row.
    """
    weights = dataset.weights
    if weights is not None and dataset.sampling_weights:
        weights = weights / weights.mean()
    half = random_half(dataset.identifiers, seed, purpose)
    if conditioning is None:
        conditioning = conditioning_features(dataset, dataset.features, None, ())
    n, unit = len(dataset), power_of_two(values)
    search = RegionSearch(
        [CellEffects(values / unit, np.zeros(n, dtype=np.int64), 1)],
        conditioning.columns,
        half,
        weights,
        frequency=not dataset.sampling_weights,
        max_depth=max_depth,
        alpha=alpha,
        min_gain=min_gain,
        look_ahead=look_ahead,
        intervals=intervals,
        min_rows=max(least[0], least[1] * (n if weights is None else float(weights.sum()))),
    )
    rules = rules_of_search(search, conditioning, "within")
    nodes = [replace(node, loss=node.loss * unit * unit) for node in rules.nodes]
    return RowGroups(replace(rules, nodes=nodes), search)
