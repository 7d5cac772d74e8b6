"""From the work of `explain` to regions: one pass over the rows, the rules, and the effect in each region.

In: a job. Out: `Regions` of each feature, by output. `skedasis.engine.region_rules` finds the rules.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from skedasis._types import Bools, Floats, Ints, Json, OutputLabel, TableLike
from skedasis.data.categories import LevelColumn
from skedasis.data.dataset import Dataset
from skedasis.engine.assemble import Results, abouts_of, finalize_task, provenance
from skedasis.engine.budget import PlannedCall, announce, within_limit
from skedasis.engine.curves import with_curves
from skedasis.engine.given_regions import by_of_chunks, column_named_by
from skedasis.engine.heterogeneity_score import RegionScore, compute_region_scores
from skedasis.engine.options import ExplainOptions, Need
from skedasis.engine.prepare import Job, TaskKey, prepare, prepare_rows
from skedasis.engine.region_rows import Rules, at_kept_rows, count_regions
from skedasis.engine.region_rules import RegionOptions, RegionRules, RuleFinder, check_regions
from skedasis.engine.rounds import Computed, compute
from skedasis.engine.select import FeatureTask, as_method
from skedasis.engine.spread import spread_of
from skedasis.methods.pdp import PDP, LevelPDP
from skedasis.methods.regional import KeptEffects, kept_effects
from skedasis.models.calling import CallStats
from skedasis.quantities.base import Quantity
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.multi_output import MultiOutput
from skedasis.results.provenance import add_cost, as_provenance
from skedasis.results.regions import RegionNode, Regions, RegionsByFeature, RegionScores
from skedasis.stats.heterogeneity_score import HeterogeneityScore
from skedasis.stats.moments import power_of_two
from skedasis.stats.variance_shares import RegionLabels

if TYPE_CHECKING:
    from skedasis.engine.argument_types import GivenRegions

NOT_EXPLAINED = "the rules that were confirmed explain none of the variance between rows"
"""Why regions that hold on other rows were dropped: what they explain is not heterogeneity (curvature within cells)."""

FoundRegions: TypeAlias = Regions | RegionsByFeature
RegionsOfOutputs: TypeAlias = MultiOutput[Regions] | MultiOutput[RegionsByFeature]

_WeightT = TypeVar("_WeightT", float, Floats)


def find_regions(
    quantity: Quantity,
    X: TableLike,
    features: object,
    method: object,
    options: ExplainOptions,
    search: RegionOptions,
    by: GivenRegions | None = None,
    rows: Ints | None = None,
) -> FoundRegions | RegionsOfOutputs:
    """Explain, find or take the regions, and return the results."""
    requested = None if method is None else as_method(method)
    base = requested if isinstance(requested, PDP) else None
    # Means over all rows need few curves, regions need them all.
    searched = requested if base is None else replace(base, ice="all")
    need = Need(column_named_by(by))
    asked = PlannedCall(quantity, X, features, searched, need, regions=True)
    options = within_limit(asked, options)
    job = prepare(quantity, X, features, searched, options, rows, need)
    return _regions_of(job, search, by, base)


def regions_at_rows(
    quantity: Quantity, dataset: Dataset, options: ExplainOptions
) -> dict[OutputLabel, RegionsByFeature]:
    """Return the regions of all features at the rows of a dataset, by output."""
    found = _regions_of(prepare_rows(quantity, dataset, None, None, options), RegionOptions())
    by_output = found if isinstance(found, MultiOutput) else {None: found}
    return {label: r for label, r in by_output.items() if isinstance(r, RegionsByFeature)}


def _regions_of(
    job: Job, search: RegionOptions, by: GivenRegions | None = None, base: PDP | None = None
) -> FoundRegions | RegionsOfOutputs:
    """Go through the rows, find or take the regions, and return the results."""
    # The pass over the rows can take long: what is wrong with the arguments is said before it.
    check_regions(job)
    search, given = search.at(job), by
    finder = job.dataset.before_passes(lambda: RuleFinder.of(job, search, given))
    if finder is None and by is not None:
        by = by_of_chunks(job.dataset, job.selection.features, by)
    announce([job], regions=True)
    done = compute(job.with_predictions())
    here = at_kept_rows(done)
    finder = RuleFinder.of(here.job, search, by) if finder is None else finder
    builder = _RegionBuilder(done, here, finder, base)
    wholes: Results = {label: {**builder.wholes(label)} for label in job.outputs}
    if job.options.curves:
        wholes = with_curves(job, wholes)
    results, record = builder.regions(
        {
            label: {str(k): e for k, e in by_key.items() if isinstance(e, Effect)}
            for label, by_key in wholes.items()
        }
    )
    own = as_provenance({**record, **search.record()})
    results = {
        label: {key: replace(r, provenance=own) for key, r in by_key.items()}
        for label, by_key in results.items()
    }
    if job.selection.single:
        alone = {label: next(iter(r.values())) for label, r in results.items()}
        return alone[None] if job.single else MultiOutput(alone)
    several = {
        label: RegionsByFeature(r, as_provenance(record), joint=search.joint)
        for label, r in results.items()
    }
    return several[None] if job.single else MultiOutput(several)


# --- the pass of a report -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RegionPass:
    """One pass over the rows, and the regions that follow from it."""

    done: Computed
    effects: Mapping[OutputLabel, Effects]
    regions: Mapping[OutputLabel, RegionsByFeature]
    _builder: _RegionBuilder

    @property
    def given(self) -> Ints | None:
        """Return the region of each row, shape (n,), if the caller named the regions; otherwise None."""
        given = self._builder.finder.given
        return None if given is None else given.region

    def labels(self, rows: Bools) -> dict[OutputLabel, dict[int, RegionLabels]]:
        """Return the regions of all rows, by rules that some of the rows choose and test; no model row."""
        found: dict[OutputLabel, dict[int, RegionLabels]] = {label: {} for label in self.effects}
        builder = replace(self._builder, finder=replace(self._builder.finder, only=rows))
        for label, by_feature in self.regions.items():
            wholes = {name: r.whole for name, r in by_feature.items()}
            for name, rules in builder.rules_of(label, wholes).items():
                feature = wholes[name].about.feature
                if rules.regions > 1 and not feature.members:
                    found[label][feature.position] = RegionLabels(rules.region, rules.regions)
        return found


def region_pass(job: Job, by: GivenRegions | None = None, *, search: bool = True) -> RegionPass:
    """Do the work of a job, and find the regions of its features or take those of the caller."""
    finder = RuleFinder.of(job, RegionOptions(), by)
    done = compute(job.with_predictions())
    builder = _RegionBuilder(done, done, finder, None)
    if not search and by is None:
        record = as_provenance(builder.record())
        effects = {label: Effects(builder.wholes(label), record) for label in job.outputs}
        return RegionPass(done, effects, {}, builder)
    by_output, regional = builder.regions({label: builder.wholes(label) for label in job.outputs})
    record = as_provenance(regional)
    found = {label: RegionsByFeature(r, record) for label, r in by_output.items()}
    return RegionPass(done, {k: r.effects for k, r in found.items()}, found, builder)


# --- from rules to regions ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _RegionBuilder:
    """Makes regions from the work of `explain`."""

    done: Computed
    here: Computed
    """The same work, or for data that are read in chunks that at the rows at hand."""
    finder: RuleFinder
    base: PDP | None
    """The caller's method, which keeps fewer curves than the work did."""
    cost: CallStats = field(default_factory=CallStats)

    def regions(
        self, wholes: Mapping[OutputLabel, Mapping[str, Effect]]
    ) -> tuple[dict[OutputLabel, dict[str, Regions]], Json]:
        """Return the regions of each feature by output, whose effects in all rows are known, and the provenance."""
        rules = {
            label: self._counted(self.rules_of(label, by_feature))
            for label, by_feature in wholes.items()
        }
        scores = self._region_scores(wholes, rules)
        found = {
            label: {
                t.key: self._regions(
                    label, t, by_feature[t.key], rules[label][t.key], scores.get((label, t.key), [])
                )
                for t in self.finder.tasks
            }
            for label, by_feature in wholes.items()
        }
        # The cost is that of all features: known after the last one.
        record, regional = self.record(), self._regional_record()
        recorded = {
            label: {name: _recorded(r, record, regional) for name, r in by_feature.items()}
            for label, by_feature in found.items()
        }
        return recorded, regional

    def rules_of(self, label: OutputLabel, wholes: Mapping[str, Effect]) -> dict[str, RegionRules]:
        """Return the rules of each feature for one output."""
        kept = {t.key: self._kept(label, t) for t in self.finder.tasks}
        return self.finder.rules_of(label, wholes, kept)

    def wholes(self, label: OutputLabel) -> dict[str, Effect]:
        """Return the effects in all rows for one output, with as many curves as `explain` keeps."""
        if self.base is None:
            by_key = self.done.results[label]
            return {str(k): e for k, e in by_key.items() if isinstance(e, Effect)}
        job, gathered = self.here.job, self.here.gathered
        mask, dataset = job.sample_mask, job.dataset
        stored = np.arange(len(dataset)) if mask is None else np.flatnonzero(mask)
        limit = self.base.n_rows_to_keep(len(dataset))
        drawn = dataset.sample_rows(limit, job.options.seed)
        shown = np.arange(len(stored)) if drawn is None else np.flatnonzero(drawn.rows[stored])
        sampled = replace(job, sample=drawn)
        found: dict[str, Effect] = {}
        for task in self.finder.tasks:
            stats = gathered[label, task.key]
            ids = None if stats.row_id is None else stats.row_id[shown]
            stats = replace(stats, kept={k: v[shown] for k, v in stats.kept.items()}, row_id=ids)
            few = replace(task, variant=self._variant(task, self.base))
            effect = finalize_task(sampled, label, few, stats, self.here.scores)
            if isinstance(effect, Effect):
                found[task.key] = effect
        return found

    def _kept(self, label: OutputLabel, task: FeatureTask) -> KeptEffects:
        """Return the local effects of a feature, with the variant of the caller's method."""
        job, key = self.here.job, (label, task.key)
        gathered, mask = self.here.gathered[key], job.sample_mask
        found = kept_effects(task.variant, job.plans[key], gathered, job.dataset, mask)
        if self.base is None:
            return found
        return replace(found, variant=self._variant(task, self.base))

    @staticmethod
    def _variant(task: FeatureTask, base: PDP) -> PDP | LevelPDP:
        """Return the variant of a method with curves."""
        return replace(task.variant, base=base) if isinstance(task.variant, LevelPDP) else base

    # --- counts of data that are read in chunks ---------------------------------------------------

    def _counted(self, by_feature: dict[str, RegionRules]) -> dict[str, RegionRules]:
        """Return the rules with the counts of all rows, where those at hand are some of them."""
        if self.here is self.done:
            return by_feature
        features = {t.key: t.feature for t in self.finder.tasks}
        dataset, weight = self.done.job.dataset, self._weighed(self.done.job.dataset.total_weight)
        found: dict[str, RegionRules] = {}
        # Features that share a tree are counted together.
        sharing: dict[int, list[str]] = {}
        for name, rules in by_feature.items():
            if rules.regions > 1:
                sharing.setdefault(id(rules), []).append(name)
            nodes = [replace(node, count=len(dataset), weight=weight) for node in rules.nodes]
            found[name] = replace(rules, nodes=nodes)
        if not sharing:
            return found
        wanted = [
            Rules(by_feature[names[0]].leaves, {name: features[name] for name in names})
            for names in sharing.values()
        ]
        counted = count_regions(dataset, wanted)
        for names, counts in zip(sharing.values(), counted, strict=True):
            weights = self._weighed(counts.weight)
            nodes = _with_counts(by_feature[names[0]].nodes, counts.rows, weights)
            for name in names:
                found[name] = replace(found[name], nodes=nodes, missing=counts.missing)
        return found

    def _weighed(self, weight: _WeightT) -> _WeightT:
        """Return weights of all rows in the unit of the search: sampling weights have the mean 1."""
        dataset = self.done.job.dataset
        if self.finder.weights is None or self.done.job.options.weight_kind != "sampling":
            return weight
        return weight * (len(dataset) / dataset.total_weight)

    # --- the effect in each region ----------------------------------------------------------------

    def _regions(
        self,
        label: OutputLabel,
        task: FeatureTask,
        whole: Effect,
        rules: RegionRules,
        scores: Sequence[RegionScore],
    ) -> Regions:
        """Return the regions of one feature, with an effect for each, and the scores in them, if there are any."""
        finder = self.finder
        searched = finder.given is None
        summary = _summary(whole, rules, scores, held_out=searched)
        if scores and searched and not finder.options.joint:
            reach = summary.explained + 2 * summary.explained_error
            if math.isfinite(reach) and reach < finder.options.min_gain:
                rules = finder.one_region(rules.criterion, NOT_EXPLAINED, rules.nodes[0].loss)
                scores = []
                summary = _summary(whole, rules, scores, held_out=True)
        effects, shares = [whole], (0.0, 0.0, 0.0)
        if rules.regions > 1:
            effects, shares = self._effects(label, task, whole, rules, scores), rules.shares
        explained, error, in_sample = shares
        return Regions(
            tuple(effects),
            whole,
            tuple(rules.nodes),
            summary,
            rules.criterion,
            loss_explained=explained,
            loss_explained_error=error,
            loss_explained_in_sample=in_sample,
            left_out=dict(finder.conditioning.left_out),
            by="" if finder.given is None else finder.given.by,
        )

    def _effects(
        self,
        label: OutputLabel,
        task: FeatureTask,
        whole: Effect,
        rules: RegionRules,
        scores: Sequence[RegionScore],
    ) -> list[Effect]:
        job, kept, weights = self.here.job, self._kept(label, task), self.finder.weights
        (about,) = abouts_of(job, label, task)
        missing = self._missing_in(task, whole, rules)
        effects: list[Effect] = []
        for leaf in rules.leaves:
            inside = rules.region == leaf.region
            rows = np.flatnonzero(inside)
            std = about.feature_std
            if not isinstance(task.column, LevelColumn):
                x = job.dataset.floats(task.feature.position)[rows]
                std = _std(x, None if weights is None else weights[rows])
            own = replace(about, feature_std=std, missing=int(missing[leaf.region]))
            mean = self.here.scores.quantity_mean(job, (label, task.key), about, inside)
            own = replace(own, quantity_mean=mean)
            exact, kind = job.sample is None, job.options.weight_kind
            effect = kept.effect(rows, job.dataset, own, exact=exact, kind=kind)
            if job.observed is not None:
                key, part = (label, task.key), job.dataset.whole.take(rows)
                means = job.observed.of_rows(key, part, job.outputs[label], effect)
                effect = replace(effect, observed=means)
            if scores:
                score, spread = scores[leaf.region].score, scores[leaf.region].spread
                spread = effect.spread if spread is None else spread_of(effect, spread, task)
                effect = replace(effect, swap_score=score, spread=spread)
                effect = effect.with_provenance({"vif": score.vif})
            effects.append(effect.with_provenance({"rule": leaf.rule}))
        return effects

    def _missing_in(self, task: FeatureTask, whole: Effect, rules: RegionRules) -> Ints:
        """Return how many rows of each region have no value of a feature."""
        if rules.missing is not None:
            return rules.missing[task.key]
        if not whole.about.missing:
            return np.zeros(rules.regions, dtype=np.int64)
        lost = self.here.job.dataset.is_missing(task.feature)
        return np.bincount(rules.region[lost], minlength=rules.regions)

    def _region_scores(
        self,
        wholes: Mapping[OutputLabel, Mapping[str, Effect]],
        rules: Mapping[OutputLabel, Mapping[str, RegionRules]],
    ) -> dict[TaskKey, list[RegionScore]]:
        """Return the heterogeneity scores of each region of the features that have several, and scores."""
        half, given = self.finder.half, self.finder.given
        held_out = ~half if given is None else np.ones(len(half), dtype=bool)
        regions: dict[TaskKey, Ints] = {
            (label, name): found.region
            for label, by_feature in rules.items()
            for name, found in by_feature.items()
            if found.regions > 1 and wholes[label][name].swap_score is not None
        }
        found, cost = compute_region_scores(self.here.job, self.here.scores, regions, held_out)
        self.cost.add(cost)
        return found

    def _regional_record(self) -> Json:
        """Return the provenance of what comes from the kept rows, which may be a sample."""
        sample = self.here.job.sample_mask
        if sample is None:
            return self.record()
        text = f"regions come from a sample of {int(sample.sum()):,} kept rows"
        return {**self.record(), "exact": False, "approximated": text}

    def record(self) -> Json:
        """Return the provenance."""
        found = provenance(self.done.job, self.done.scores)
        if self.base is not None:
            found["settings"] = self.base.describe()
        add_cost(found, "region_score", self.cost)
        return found


def _recorded(regions: Regions, record: Json, regional: Json) -> Regions:
    """Return regions with the provenance of their effects."""
    own = regional if len(regions) > 1 else record
    return replace(
        regions,
        effects=tuple(e.with_provenance(own) for e in regions.effects),
        whole=regions.whole.with_provenance(record),
    )


def _with_counts(nodes: Sequence[RegionNode], rows: Ints, weight: Floats) -> list[RegionNode]:
    """Return the nodes of a tree with the counts of their leaves; parents have those of their children."""
    found = list(nodes)
    for number in reversed(range(len(nodes))):  # children come after their parents
        node = found[number]
        if node.region >= 0:
            count, total = int(rows[node.region]), float(weight[node.region])
        else:
            below = [found[child] for child in node.children]
            count, total = sum(n.count for n in below), sum(n.weight for n in below)
        found[number] = replace(node, count=count, weight=total)
    return found


def _std(x: Floats, weights: Floats | None) -> float:
    """Return the weighted standard deviation of the values that are not missing."""
    present = ~np.isnan(x)
    x = x[present]
    if len(x) == 0 or x.min() == x.max():
        return 0.0
    w = np.ones(len(x)) if weights is None else weights[present]
    return float(np.sqrt(np.average((x - np.average(x, weights=w)) ** 2, weights=w)))


def _summary(
    whole: Effect, rules: RegionRules, measured: Sequence[RegionScore], *, held_out: bool
) -> RegionScores:
    """Return the scores before and after."""
    score = whole.swap_score
    if score is None:
        return RegionScores.unknown(rules.regions)
    if not measured:
        own = np.array([score.value]), np.array([score.std_error])
        return RegionScores(
            score.value, score.std_error, *own, score.value, score.std_error, 0.0, 0.0, score.pairs
        )
    weight = np.array([leaf.weight for leaf in rules.leaves])
    share = weight / weight.sum()
    # Squares of scores are computed in this unit: errors need squares of them, which leave float64.
    unit = power_of_two([score.value, *(m.score.value for m in measured)])

    def within(found: Sequence[HeterogeneityScore]) -> tuple[float, float]:
        """Return the mean square of the scores, and its error."""
        values = np.array([f.value for f in found]) / unit
        errors = np.nan_to_num(np.array([f.std_error for f in found])) / unit
        return float(share @ values**2), float(np.sqrt((share**2) @ (2 * values * errors) ** 2))

    square, square_error = within([m.score for m in measured])
    root = math.sqrt(square)
    judged, judged_error = within([m.held_out if held_out else m.score for m in measured])
    value, value_error = score.value / unit, float(np.nan_to_num(score.std_error)) / unit
    total, total_error = value**2, 2 * value * value_error
    explained, error = math.nan, math.nan
    if total > 0:
        ratio = judged / total
        explained = 1.0 - ratio
        error = math.sqrt(judged_error**2 + (ratio * total_error) ** 2) / total
    return RegionScores(
        score.value,
        score.std_error,
        np.array([m.score.value for m in measured]),
        np.array([m.score.std_error for m in measured]),
        unit * root,
        unit * square_error / (2 * root) if root > 0 else 0.0,
        explained,
        error,
        sum(m.score.pairs for m in measured),
    )
