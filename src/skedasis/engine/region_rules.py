"""Rules of regions: the tree that a search finds, or the regions that the caller named.

In: the features of a job, and the local effects of its rows. Out: for each feature its `RegionRules`, which say which
rows belong to which region.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from skedasis._arguments import check_flag, check_int, check_number, check_option
from skedasis._types import Bools, Floats, Ints, Json, OutputLabel
from skedasis.data.features import Feature
from skedasis.engine.assemble import abouts_of
from skedasis.engine.conditioning import ConditioningFeatures, conditioning_features, matched
from skedasis.engine.given_regions import GivenRules, regions_of_rows
from skedasis.engine.options import ALPHA, MAX_DEPTH, MIN_GAIN
from skedasis.engine.prepare import Job
from skedasis.engine.select import FeatureMatcher, FeatureTask
from skedasis.errors import UnsupportedError
from skedasis.methods.regional import KeptEffects, check_local_effects, no_local_effects
from skedasis.results.effect import Effect
from skedasis.results.regions import Condition, RegionNode, Split, merged, rule_text
from skedasis.stats.moments import power_of_two
from skedasis.stats.random import random_half
from skedasis.stats.regions import (
    NO_LOSS,
    CurveEffects,
    FoundNode,
    FoundSplit,
    LocalEffects,
    RegionPart,
    RegionSearch,
    SplitCriterion,
)

if TYPE_CHECKING:
    from skedasis.engine.argument_types import GivenRegions

MIN_ROWS, MIN_SHARE = 20, 0.01
"""Least rows of a region, and least share of all rows."""


@dataclass(frozen=True)
class RegionOptions:
    """The checked options of the search; the parameters are those of `regions`."""

    split_on: Sequence[Hashable] | None = None
    max_depth: int = MAX_DEPTH
    alpha: float = ALPHA
    min_gain: float = MIN_GAIN
    criterion: Literal["auto", "within", "curves"] = "auto"
    look_ahead: bool = True
    joint: bool = False

    def __post_init__(self) -> None:
        check_int("regions(max_depth)", self.max_depth, 1, "Use 2")
        for name, value in (("alpha", self.alpha), ("min_gain", self.min_gain)):
            check_number(
                f"regions({name})",
                value,
                "a number between 0 and 1",
                f"Use {name}=0.05",
                least=0.0,
                below=1.0,
            )
        check_option("regions(criterion)", self.criterion, ("auto", "within", "curves"))
        check_flag("regions(look_ahead)", self.look_ahead)
        check_flag("regions(joint)", self.joint)

    def at(self, job: Job) -> RegionOptions:
        """Return the options with the names of the features that patterns in `split_on` match."""
        if not any(isinstance(item, FeatureMatcher) for item in self.split_on or ()):
            return self
        own = {task.features[0].name for task in job.tasks} if len(job.tasks) == 1 else set()
        others = [f for f in job.selection.features if f.name not in own]
        return replace(self, split_on=matched(self.split_on or (), others, job.dataset))

    def record(self) -> Json:
        """Return the options for the provenance."""
        split_on = None if self.split_on is None else [str(name) for name in self.split_on]
        return {
            "split_on": split_on,
            "max_depth": self.max_depth,
            "alpha": self.alpha,
            "min_gain": self.min_gain,
            "look_ahead": self.look_ahead,
        }


@dataclass(frozen=True, eq=False)
class RegionRules:
    """The tree of one or several features, before effects are made.

    `region` is the region of each row, (n,); `shares` what the splits explain of the criterion's loss, its standard
    error, and the same from the rows that chose the splits; `missing` the rows of each region without a value of a
    feature, by its name, where the rows at hand are not all.
    """

    nodes: list[RegionNode]
    region: Ints
    criterion: str
    shares: tuple[float, float, float]
    missing: Mapping[str, Ints] | None = None

    @property
    def leaves(self) -> tuple[RegionNode, ...]:
        """Return the regions in their order."""
        return tuple(node for node in self.nodes if node.region >= 0)

    @property
    def regions(self) -> int:
        return len(self.leaves)


def check_regions(job: Job) -> list[Feature]:
    """Return the features of a job; raise if their effects cannot have regions."""
    if job.selection.pairs:
        raise UnsupportedError(
            "regions", "a pair of features", "single features", "Pass one feature, or a list"
        )
    for task in job.tasks:
        if not isinstance(task, FeatureTask):
            raise no_local_effects(task.variant.name)
        check_local_effects(task.variant)
    return [task.features[0] for task in job.tasks]


@dataclass(frozen=True, eq=False)
class RuleFinder:
    """Finds the rules of regions of rows in memory, or takes those that the caller gave."""

    job: Job
    options: RegionOptions
    conditioning: ConditioningFeatures
    given: GivenRules | None
    only: Bools | None = None
    """The rows that choose and test rules; None for all."""

    @classmethod
    def of(cls, job: Job, options: RegionOptions, by: GivenRegions | None) -> RuleFinder:
        """Check that the effects can have regions, and read where these come from."""
        of_interest = check_regions(job)
        dataset, features = job.dataset, job.selection.features
        if by is not None:
            given = regions_of_rows(dataset, features, by)
            return cls(job, options, ConditioningFeatures((), {}), given)
        found = conditioning_features(dataset, features, options.split_on, of_interest)
        return cls(job, options, found, None)

    @cached_property
    def tasks(self) -> list[FeatureTask]:
        return [t for t in self.job.tasks if isinstance(t, FeatureTask)]

    @cached_property
    def half(self) -> Bools:
        """Which rows choose a split, (n,); the others test it."""
        dataset, seed = self.job.dataset, self.job.options.seed
        return random_half(dataset.identifiers, seed, "regions: halves")

    @cached_property
    def weights(self) -> Floats | None:
        """The weights of the rows in the search, (n,); sampling weights have the mean 1. None for 1."""
        weights = self.job.dataset.weights
        if weights is not None and self.job.options.weight_kind == "sampling":
            return weights / weights.mean()
        return weights

    def weight(self, rows: Ints) -> float:
        return float(len(rows)) if self.weights is None else float(self.weights[rows].sum())

    @cached_property
    def _rows(self) -> Ints:
        """The rows that choose and test rules."""
        sample = self.job.sample_mask
        if self.only is not None:
            return np.flatnonzero(self.only if sample is None else self.only & sample)
        return np.arange(len(self.half)) if sample is None else np.flatnonzero(sample)

    def rules_of(
        self, label: OutputLabel, wholes: Mapping[str, Effect], kept: Mapping[str, KeptEffects]
    ) -> dict[str, RegionRules]:
        """Return the rules of each feature for one output, given its effect in all rows and its local effects."""
        if self.given is None and self.options.joint:
            return dict.fromkeys(wholes, self._joint(label, wholes, kept))
        one = self._searched if self.given is None else self._of_given
        return {t.key: one(label, t, wholes[t.key], kept[t.key]) for t in self.tasks}

    def _effects(
        self, label: OutputLabel, task: FeatureTask, kept: KeptEffects
    ) -> tuple[LocalEffects | None, SplitCriterion]:
        """Return the local effects that splits explain, None if there are none, and the criterion."""
        criterion = self.options.criterion
        if criterion == "auto":
            criterion = "within" if kept.has_slopes else "curves"
        (about,) = abouts_of(self.job, label, task)
        n = len(self.job.dataset)
        return kept.local_effects(n, criterion, about.feature_std, self.weights), criterion

    # --- the search -------------------------------------------------------------------------------

    def _region_search(
        self,
        effects: Sequence[LocalEffects],
        *,
        allowed: Sequence[int],
        loss: float | None,
        tests: int,
    ) -> RegionSearch:
        """Return a search that shares its level between some tests."""
        options = self.options
        return RegionSearch(
            effects,
            self.conditioning.columns,
            self.half,
            self.weights,
            frequency=self.job.options.weight_kind == "frequency",
            allowed=allowed,
            max_depth=options.max_depth,
            alpha=options.alpha / max(tests, 1),
            min_gain=options.min_gain,
            look_ahead=options.look_ahead,
            min_rows=max(float(MIN_ROWS), MIN_SHARE * self.weight(self._rows)),
            loss=loss,
        )

    def _searched(
        self, label: OutputLabel, task: FeatureTask, whole: Effect, kept: KeptEffects
    ) -> RegionRules:
        """Return the tree of one feature."""
        effects, criterion = self._effects(label, task, kept)
        if effects is None or _without_heterogeneity(whole):
            return self.one_region(criterion, NO_LOSS)
        allowed = self.conditioning.allowed_for(task.feature)
        loss = _relative_loss(effects, criterion, whole)
        search = self._region_search([effects], allowed=allowed, loss=loss, tests=len(self.tasks))
        return rules_of_search(search, self.conditioning, criterion, self._rows)

    def _joint(
        self, label: OutputLabel, wholes: Mapping[str, Effect], kept: Mapping[str, KeptEffects]
    ) -> RegionRules:
        """Return one tree for all features."""
        effects: list[LocalEffects] = []
        loss, rows = 0.0, self._rows
        criterion: SplitCriterion = "within"
        for task in self.tasks:
            found, criterion = self._effects(label, task, kept[task.key])
            if found is None or _without_heterogeneity(wholes[task.key]):
                continue
            own = _relative_loss(found, criterion, wholes[task.key])
            if own is None:
                node = found.node(rows, None if self.weights is None else self.weights[rows])
                own = node.squares / max(node.weight, 1e-300)
            effects.append(found)
            loss += own
        if not effects:
            return self.one_region(criterion, NO_LOSS)
        every = range(len(self.conditioning.found))
        search = self._region_search(effects, allowed=every, loss=loss, tests=1)
        return rules_of_search(search, self.conditioning, criterion, self._rows)

    def one_region(self, criterion: str, note: str, loss: float = 0.0) -> RegionRules:
        """Return a tree of one region, and why it is not divided."""
        rows = np.arange(len(self.job.dataset))
        node = replace(_node(rows, self.weight(rows)), region=0, loss=loss, note=note)
        return RegionRules([node], np.zeros(len(rows), dtype=np.int64), criterion, (0.0, 0.0, 0.0))

    # --- given regions ----------------------------------------------------------------------------

    def _of_given(
        self, label: OutputLabel, task: FeatureTask, whole: Effect, kept: KeptEffects
    ) -> RegionRules:
        """Return the given regions as a tree, with what they explain of a feature's heterogeneity."""
        given = self.given
        if given is None:
            raise TypeError("no regions were given")
        effects, criterion = self._effects(label, task, kept)
        shares = 0.0, math.nan, math.nan
        if effects is not None:
            loss = _relative_loss(effects, criterion, whole)
            shares = self._given_shares(effects, loss, given)
        every = np.arange(len(self.job.dataset))
        nodes = [
            replace(
                _node(every, self.weight(every)), children=tuple(range(1, len(given.rules) + 1))
            )
        ]
        for number, rule in enumerate(given.rules):
            rows = np.flatnonzero(given.region == number)
            nodes.append(
                replace(
                    _node(rows, self.weight(rows)),
                    condition=rule,
                    rule=rule,
                    conditions=tuple(given.conditions[number : number + 1]),
                    parent=0,
                    depth=1,
                    region=number,
                )
            )
        return RegionRules(nodes, given.region, "given", shares)

    def _given_shares(
        self, effects: LocalEffects, loss: float | None, given: GivenRules
    ) -> tuple[float, float, float]:
        """Return the share of the loss that given regions explain: unbiased, its error, and in sample."""
        search = self._region_search([effects], allowed=(), loss=loss, tests=1)
        half = self.half[self._rows]
        parts = search.part(self._rows[half]), search.part(self._rows[~half])
        total = sum(p.weight for p in parts)
        if loss is None:
            loss = sum(n.squares for p in parts for n in p.nodes) / max(total, 1e-300)
        if not loss > 0:
            return 0.0, 0.0, 0.0
        groups = len(given.rules)
        codes = [given.region[p.rows] for p in parts]
        gain, variance, in_sample = 0.0, 0.0, 0.0
        unit = power_of_two(loss)
        for first, second in ((0, 1), (1, 0)):
            t, _ = search.test(parts[first], parts[second], codes[first], codes[second], groups)
            gain += float(t.sum()) / unit
            variance += float(search.squares(t / unit, parts[second].weights).sum())
            in_sample += _gain_in_sample(parts[second], codes[second], groups) / unit
        scale = 1.0 / (total * (loss / unit))
        return gain * scale, math.sqrt(variance) * scale, in_sample * scale


# --- from a search to rules in words ----------------------------------------------------------------


def rules_of_search(
    search: RegionSearch,
    conditioning: ConditioningFeatures,
    criterion: str,
    rows: Ints | None = None,
) -> RegionRules:
    """Search among some rows, None for all, and return the tree of all rows, with its rules in words."""
    root = search.run(rows)
    relative = root.loss if search.loss is None else search.loss
    total = max(root.weight * relative, 1e-300)
    region = np.zeros(len(search.half), dtype=np.int64)
    numbers = itertools.count()
    nodes: list[RegionNode] = []
    shares: list[tuple[float, float, float]] = []
    words = _TreeWords(search, conditioning, total)
    for node, of_node, ahead in words.nodes(root, _Place(np.arange(len(region)))):
        if node.split is None:
            node = replace(node, region=next(numbers))  # noqa: PLW2901
            region[of_node] = node.region
        elif not ahead:  # what both cuts explain together is counted where the first is
            shares.append((node.split.share, node.split.share_error, node.split.share_in_sample))
        nodes.append(node)
    in_sample = sum(s[2] for s in shares)
    if search.loss is None and root.loss > 0:
        left = sum(leaf.weight * leaf.loss for leaf in root.leaves())
        in_sample = 1.0 - left / (root.weight * root.loss)
    explained = sum(s[0] for s in shares)
    error = math.sqrt(sum(s[1] ** 2 for s in shares))
    return RegionRules(nodes, region, criterion, (explained, error, in_sample if shares else 0.0))


@dataclass(frozen=True, eq=False)
class _TreeWords:
    """Says a found tree in words; `total` is what shares are relative to."""

    search: RegionSearch
    conditioning: ConditioningFeatures
    total: float

    def nodes(self, found: FoundNode, place: _Place) -> Iterator[tuple[RegionNode, Ints, bool]]:
        """Yield a node and those below it, depth first, their rows, and whether their cut was chosen with the parent's.

        The regions have no numbers yet.
        """
        split, children, sides, candidate = None, (), [], None
        if found.rejected is not None:
            candidate, _ = self._split(found.rejected, place, found.weight / self.total)
        if found.split is not None:
            split, sides = self._split(found.split, place, found.weight / self.total)
            # A binary tree with m leaves has 2 m - 1 nodes.
            second = place.number + 2 * len(found.children[0].leaves())
            children = place.number + 1, second
        node = replace(
            _node(place.rows, self.search.weight(place.rows)),
            condition=place.condition,
            rule=rule_text(place.conditions),
            conditions=place.conditions,
            parent=place.parent,
            children=children,
            depth=found.depth,
            split=split,
            loss=found.loss,
            note=found.note,
            candidate=candidate,
        )
        yield node, place.rows, place.ahead
        for child, number, (rows, condition) in zip(found.children, children, sides, strict=True):
            below = _Place(
                rows,
                number,
                place.number,
                condition.text,
                merged((*place.conditions, condition)),
                ahead=found.split is not None
                and child.split is not None
                and child.split.cuts == found.split.cuts[1:],
            )
            yield from self.nodes(child, below)

    def _split(
        self, found: FoundSplit, place: _Place, scale: float
    ) -> tuple[Split, list[tuple[Ints, Condition]]]:
        """Return a split in words, and the rows and the condition of each side."""
        cut, rows = found.cuts[0], place.rows
        column = self.conditioning.found[cut.column]
        conditions = column.conditions(cut, rows)
        another = ""
        if found.other is not None:
            of_other = self.conditioning.found[found.other.column]
            another = of_other.conditions(found.other, rows)[0].text
        gains = found.gain, found.gain_error, found.gain_in_sample
        share, error, in_sample = (math.nan if place.ahead else gain * scale for gain in gains)
        split = Split(
            column.feature.name,
            conditions,
            found.p_value,
            share,
            error,
            in_sample,
            found.stability,
            look_ahead=place.ahead or len(found.cuts) == 2,
            rows=found.rows,
            another=another,
            level=found.level,
        )
        left = cut.holds(column.coded, rows)
        return split, [(rows[left], conditions[0]), (rows[~left], conditions[1])]


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a node of the tree is: its rows, its number and its parent's, and its rule."""

    rows: Ints
    number: int = 0
    parent: int = -1
    condition: str = ""
    conditions: tuple[Condition, ...] = ()
    ahead: bool = False
    """Whether its cut was chosen together with that of its parent."""


def _node(rows: Ints, weight: float) -> RegionNode:
    """Return a node of some rows as if they were all rows."""
    return RegionNode("", rule_text(()), (), -1, (), 0, len(rows), weight, None, -1, 0.0)


def _without_heterogeneity(whole: Effect) -> bool:
    """Return whether the heterogeneity score is known to be 0."""
    return whole.swap_score is not None and whole.swap_score.value == 0


def _relative_loss(effects: LocalEffects, criterion: SplitCriterion, whole: Effect) -> float | None:
    """Return what shares are relative to; None for the loss of the residuals themselves."""
    if criterion == "within" or isinstance(effects, CurveEffects):
        return None
    value = whole.importance if whole.swap_score is None else whole.swap_score.value
    return value**2 if value > 0 else None


def _gain_in_sample(part: RegionPart, group: Ints, groups: int) -> float:
    """Return the gain of a division, with the means of the same rows."""
    size = np.bincount(group, part.weights, groups).astype(float)
    return sum(node.group_gain(*node.group_means(group, groups), size) for node in part.nodes)
