"""`regions`: for whom the effect of a feature differs, and why."""

# A quantity with several outputs is a `Quantity`: the overloads list the narrower types first.
# pyright: reportOverlappingOverload=false

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import (
    check_flag,
    check_int,
    check_number,
    check_option,
    is_number,
    shown,
)
from skedasis._types import Bools, Floats, Ints, Json, Level, OutputLabel, TableLike
from skedasis.data.categories import LevelColumn
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature
from skedasis.engine.assemble import (
    abouts_of,
    finalize_all,
    finalize_task,
    provenance,
    warn_unused_arguments,
)
from skedasis.engine.conditioning import (
    ConditioningFeatures,
    conditioning_features,
    find_one,
    quartile_edges,
)
from skedasis.engine.cross_validation import as_folds
from skedasis.engine.curves import with_curves
from skedasis.engine.heterogeneity_score import RegionScore, compute_region_scores
from skedasis.engine.kept_rows import Rules, at_kept_rows, count_regions
from skedasis.engine.options import (
    ALPHA,
    MAX_DEPTH,
    MIN_GAIN,
    ExplainOptions,
    MultiModelKeywords,
    Need,
    takes_options,
)
from skedasis.engine.plan import Job, TaskKey
from skedasis.engine.rounds import Computed, Prepared, compute, prepare, prepare_rows
from skedasis.engine.select import FeatureMatcher, FeatureTask, as_features, as_method
from skedasis.engine.spread import with_spread
from skedasis.errors import DataError, UnsupportedError
from skedasis.methods.base import BatchStats
from skedasis.methods.pdp import PDP, LevelPDP
from skedasis.methods.regional import (
    KeptEffects,
    check_local_effects,
    kept_effects,
    no_local_effects,
)
from skedasis.models.calling import CallStats
from skedasis.quantities.base import Quantity
from skedasis.quantities.evaluator import BatchEvaluator
from skedasis.quantities.outputs import (
    ModelLike,
    MultiOutputQuantity,
    as_quantity,
    listed,
)
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.multi_output import MultiOutput
from skedasis.results.provenance import as_provenance, model_names
from skedasis.results.regions import (
    Condition,
    MultiModelRegions,
    MultiModelRegionsByFeature,
    RegionNode,
    Regions,
    RegionsByFeature,
    RegionScores,
    Split,
    condition_text,
    merged,
    rule_text,
)
from skedasis.stats.heterogeneity_score import HeterogeneityScore
from skedasis.stats.moments import power_of_two
from skedasis.stats.random import row_hashes
from skedasis.stats.regions import (
    NO_LOSS,
    CurveEffects,
    FoundNode,
    LocalEffects,
    RegionPart,
    RegionSearch,
    SplitCriterion,
)
from skedasis.stats.variance_shares import RegionLabels

if TYPE_CHECKING:
    from skedasis.engine.explain import (
        EffectMethod,
        FeatureLike,
        FeatureList,
        GivenRegions,
        Models,
        ModelT,
    )

MIN_ROWS, MIN_SHARE = 20, 0.01
"""Least rows of a region, and least share of all rows."""

MOST_GIVEN = 30
"""Largest number of regions that are given by a column or labels."""

FEW_VALUES = 4
"""A numeric column with at most as many values gives a region for each, others are cut at their quartiles."""

NOT_EXPLAINED = "the splits explain none of the heterogeneity score"
"""Why regions that hold on other rows were dropped: what they explain is not heterogeneity (curvature within cells)."""

FoundRegions: TypeAlias = "Regions | RegionsByFeature"

_WeightT = TypeVar("_WeightT", float, Floats)


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
        names: dict[Hashable, None] = {}
        for item in self.split_on or ():
            if isinstance(item, FeatureMatcher):
                names |= dict.fromkeys(f.name for f in item.among(others, job.dataset))
            else:
                names[item] = None
        return replace(self, split_on=list(names))

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


@overload
def regions(
    model: MultiOutputQuantity,
    X: TableLike,
    features: FeatureLike,
    *,
    method: EffectMethod = None,
    split_on: FeatureList = None,
    max_depth: int = MAX_DEPTH,
    alpha: float = ALPHA,
    min_gain: float = MIN_GAIN,
    criterion: Literal["auto", "within", "curves"] = "auto",
    look_ahead: bool = True,
    joint: bool = False,
    **keywords: Unpack[MultiModelKeywords],
) -> MultiOutput[Regions]: ...


@overload
def regions(
    model: MultiOutputQuantity,
    X: TableLike,
    features: FeatureList = None,
    *,
    method: EffectMethod = None,
    split_on: FeatureList = None,
    max_depth: int = MAX_DEPTH,
    alpha: float = ALPHA,
    min_gain: float = MIN_GAIN,
    criterion: Literal["auto", "within", "curves"] = "auto",
    look_ahead: bool = True,
    joint: bool = False,
    **keywords: Unpack[MultiModelKeywords],
) -> MultiOutput[RegionsByFeature]: ...


@overload
def regions(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureLike,
    *,
    method: EffectMethod = None,
    split_on: FeatureList = None,
    max_depth: int = MAX_DEPTH,
    alpha: float = ALPHA,
    min_gain: float = MIN_GAIN,
    criterion: Literal["auto", "within", "curves"] = "auto",
    look_ahead: bool = True,
    joint: bool = False,
    **keywords: Unpack[MultiModelKeywords],
) -> MultiModelRegions: ...


@overload
def regions(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureList = None,
    *,
    method: EffectMethod = None,
    split_on: FeatureList = None,
    max_depth: int = MAX_DEPTH,
    alpha: float = ALPHA,
    min_gain: float = MIN_GAIN,
    criterion: Literal["auto", "within", "curves"] = "auto",
    look_ahead: bool = True,
    joint: bool = False,
    **keywords: Unpack[MultiModelKeywords],
) -> MultiModelRegionsByFeature: ...


@overload
def regions(
    model: ModelLike,
    X: TableLike,
    features: FeatureLike,
    *,
    method: EffectMethod = None,
    split_on: FeatureList = None,
    max_depth: int = MAX_DEPTH,
    alpha: float = ALPHA,
    min_gain: float = MIN_GAIN,
    criterion: Literal["auto", "within", "curves"] = "auto",
    look_ahead: bool = True,
    joint: bool = False,
    **keywords: Unpack[MultiModelKeywords],
) -> Regions: ...


@overload
def regions(
    model: ModelLike,
    X: TableLike,
    features: FeatureList = None,
    *,
    method: EffectMethod = None,
    split_on: FeatureList = None,
    max_depth: int = MAX_DEPTH,
    alpha: float = ALPHA,
    min_gain: float = MIN_GAIN,
    criterion: Literal["auto", "within", "curves"] = "auto",
    look_ahead: bool = True,
    joint: bool = False,
    **keywords: Unpack[MultiModelKeywords],
) -> RegionsByFeature: ...


@takes_options(MultiModelKeywords)
def regions(
    model: ModelLike | Models[ModelT],
    X: TableLike,
    features: FeatureLike | FeatureList = None,
    *,
    method: EffectMethod = None,
    split_on: FeatureList = None,
    max_depth: int = MAX_DEPTH,
    alpha: float = ALPHA,
    min_gain: float = MIN_GAIN,
    criterion: Literal["auto", "within", "curves"] = "auto",
    look_ahead: bool = True,
    joint: bool = False,
    **keywords: Unpack[MultiModelKeywords],
) -> (
    Regions
    | RegionsByFeature
    | MultiModelRegions
    | MultiOutput[Regions]
    | MultiOutput[RegionsByFeature]
    | MultiModelRegionsByFeature
):
    """Find regions of the data in which the effect of a feature differs: a tree of rules on the other features.

    Parameters
    ----------
    model : quantity, fitted estimator, network, callable, or path of a model's file
        As in `skedasis.explain`. For a list of models regions are found for each of them.
    X : array or data frame, n rows
        Rows to explain on. Never modified.
    features : str, int, list, pattern, selector or None
        One feature gives `Regions`; a list, or None for every feature, `RegionsByFeature` from one pass. Patterns and
        selectors as in `skedasis.explain`.
    method : method or str, optional
        As in `skedasis.explain`: a method with local effects (ALE, DALE, UALE, RHALE) or curves (PDP, ICE).
    split_on : list of str or int, pattern or selector, optional
        The features that rules may use; by default all others. A feature is never split by itself.
    max_depth : int
        Largest number of conditions of a rule.
    alpha : float
        Level of the test of each split, on rows that did not choose it. It is shared by the features that are
        explained, and halved for each further level of the tree.
    min_gain : float
        Least share of the whole's loss that a split explains: of the squared deviations of local effects or curves, or,
        for curves of step functions, of the squared heterogeneity score.
    criterion : {"auto", "within", "curves"}
        What splits explain: the deviations of local effects from their mean within cells, or the differences between
        curves. "auto": "within" for slopes; "curves" for step functions, levels, PDP and ICE.
    look_ahead : bool
        Whether two features are divided at once where no single split holds. This finds interactions that no single
        feature shows, such as an exclusive or.
    joint : bool
        Whether all features get the same regions: splits lower the heterogeneity of all effects together.
    y, sample_weight, schema, groups, random_state, sample, memory, keep_rows, n_jobs, progress, weight_kind
        As in `skedasis.explain`.
    row_id, tree, heterogeneity_rows, curves, client, cv, correction
        As in `skedasis.explain`. The effect of all rows has the `curves`, those of regions have none. Regions have no
        standard errors over models, so that `correction` has no effect.

    Returns
    -------
    Regions, RegionsByFeature, MultiModelRegions, MultiModelRegionsByFeature or MultiOutput
        For a quantity with several outputs a `MultiOutput` of these; for several models and features
        `MultiModelRegionsByFeature`.

    Raises
    ------
    DataError
        For an option out of range, a name that does not exist, the feature itself in `split_on`, and as
        `skedasis.explain`.
    UnsupportedError
        For pairs of features, M-plots, PFI, slopes of curves, and means without curves.

    Notes
    -----
    Cost: the model rows of `skedasis.explain`, and for each feature that is split at most `heterogeneity_rows` for the
    scores within its regions, and 4,000 for their spreads; the provenance counts these as ``region_score_rows``. The
    search itself needs none: it goes through tables of the residuals of the local effects by cell and code of the
    conditioning feature. With `keep_rows` too small for all rows, the search uses a sample, and the effects in the
    regions say so.

    A region has at least 20 rows, and 1 % of all. Numeric features are cut at the roundest number between two observed
    values; nominal features into two sets of levels; missing values may go to either side. Rows are divided into two
    halves by hashes of `random_state` and `row_id`: one half chooses a split, the other tests it. A split is kept if
    the test is significant, and if it explains the share `min_gain` of the heterogeneity. Additive models have no
    regions.

    References
    ----------
    Herbinger, Wright, Nagler, Bischl & Casalicchio (2024), GADGET, JMLR 25; Gkolemis et al. (2024), effector.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 3))
    >>> r = sd.regions(lambda X: X[:, 0] * np.where(X[:, 1] > 0, 2, -1), X, 0)
    >>> r.rules, round(r.heterogeneity_explained, 2)
    (('x1 ≤ 0', 'x1 > 0'), 1.0)
    >>> r[1].rule, len(r[1].bins)
    ('x1 > 0', 1)
    >>> sd.regions(lambda X: X[:, 0] + X[:, 1] ** 2, X, 0).rules
    ('all rows',)
    """
    options = ExplainOptions.of("regions", **keywords)
    if isinstance(split_on, str):
        raise DataError(
            "regions(split_on)", repr(split_on), "a list of features", f"Use [{split_on!r}]"
        )
    found = as_features(X, split_on, "regions(split_on)")
    if found is not None and not isinstance(found, Iterable):
        fix = "Use None for all features"
        raise DataError("regions(split_on)", shown(found), "a list of features, or None", fix)
    conditions = None if found is None else list(found)
    search = RegionOptions(conditions, max_depth, alpha, min_gain, criterion, look_ahead, joint)
    wanted = as_features(X, features)
    if isinstance(model, (list, tuple, Mapping)):
        models, names = listed(model)
        each = [as_quantity(m) for m in models]
        return _of_models(each, X, wanted, method, options, search, names)
    warn_unused_arguments(method, model, options.y)
    return _regions(as_quantity(model), X, wanted, method, options, search, None)


def given_regions(
    quantity: Quantity,
    X: TableLike,
    features: object,
    method: object,
    options: ExplainOptions,
    by: GivenRegions,
) -> FoundRegions | MultiOutput[Regions] | MultiOutput[RegionsByFeature]:
    """Return the effects in regions that the caller names: ``explain(..., by=)``."""
    return _regions(quantity, X, features, method, options, RegionOptions(), by)


def _of_models(
    models: Sequence[Quantity],
    X: TableLike,
    features: object,
    method: object,
    options: ExplainOptions,
    search: RegionOptions,
    names: Mapping[str, list[str]],
) -> MultiModelRegions | MultiModelRegionsByFeature:
    """Return the regions of each model, found on its own rows."""
    if len(models) < 2:
        raise DataError(
            "regions", f"a list of {len(models)} models", "at least two", "Pass the model itself"
        )
    dataset = options.dataset(X)
    folds = as_folds(options.cv, len(models), dataset, X, options.y)
    single = replace(options, cv=None, correction=None)
    found: list[FoundRegions] = []
    for one, rows in zip(models, folds.parts, strict=True):
        part = None if options.cv is None else rows
        result = _regions(one, X, features, method, single, search, None, part)
        if isinstance(result, MultiOutput):
            raise UnsupportedError(
                "regions of several models",
                "a quantity with several outputs",
                "a quantity with one output",
                'Choose one, such as sd.probability(model, class_="yes"), for each model',
            )
        found.append(result)
    record = as_provenance({**found[0].provenance, "models": len(models), **names})
    keys = model_names(record, len(models))
    alone = {k: r for k, r in zip(keys, found, strict=True) if isinstance(r, Regions)}
    if alone:
        return MultiModelRegions(alone, record)
    several = {k: r for k, r in zip(keys, found, strict=True) if isinstance(r, RegionsByFeature)}
    each = {
        name: MultiModelRegions({k: r[name] for k, r in several.items()}, record)
        for name in several[keys[0]]
    }
    return MultiModelRegionsByFeature(each, record)


# --- from explain's work to regions ---------------------------------------------------------------


def _regions(
    quantity: Quantity,
    X: TableLike,
    features: object,
    method: object,
    options: ExplainOptions,
    search: RegionOptions,
    by: GivenRegions | None,
    rows: Ints | None = None,
) -> FoundRegions | MultiOutput[Regions] | MultiOutput[RegionsByFeature]:
    """Explain, find or take the regions, and return the results."""
    requested = None if method is None else as_method(method)
    # Means over all rows need few curves, regions need them all.
    searched = replace(requested, ice="all") if isinstance(requested, PDP) else requested
    prepared = prepare(
        quantity, X, features, searched, options, rows, need=Need(column_named_by(by))
    )
    base = requested if isinstance(requested, PDP) else None
    return _regions_of(prepared, search, by, base)


def regions_at_rows(
    quantity: Quantity, dataset: Dataset, options: ExplainOptions
) -> dict[OutputLabel, RegionsByFeature]:
    """Return the regions of all features at the rows of a dataset, by output."""
    prepared = prepare_rows(quantity, dataset, None, None, options)
    found = _regions_of(prepared, RegionOptions(), None, None)
    by_output = found if isinstance(found, MultiOutput) else {None: found}
    return {label: r for label, r in by_output.items() if isinstance(r, RegionsByFeature)}


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
        given = self._builder.given
        return None if given is None else given.region

    def labels(self, rows: Bools) -> dict[OutputLabel, dict[int, RegionLabels]]:
        """Return the regions of all rows, by rules that some of the rows choose and test; no model row."""
        found: dict[OutputLabel, dict[int, RegionLabels]] = {label: {} for label in self.effects}
        builder = replace(self._builder, only=rows)
        for label, by_feature in self.regions.items():
            wholes = {name: r.whole for name, r in by_feature.items()}
            rules = builder.rules_of(label, wholes)
            for name, found_rules in rules.items():
                feature = wholes[name].about.feature
                if found_rules.regions > 1 and not feature.members:
                    labels = RegionLabels(found_rules.region, found_rules.regions)
                    found[label][feature.position] = labels
        return found


def region_pass(
    prepared: Prepared, by: GivenRegions | None = None, *, search: bool = True
) -> RegionPass:
    """Do the prepared work of `explain`, and find the regions of its features or take those of the caller."""
    source = _RowsSource.of(prepared.job, RegionOptions(), by)
    done = compute(prepared)
    builder = _RegionBuilder.of(done, done, RegionOptions(), None, source)
    labels = list(prepared.job.outputs)
    if not search and by is None:
        record = as_provenance(builder.record())
        effects = {label: Effects(builder.wholes(label), record) for label in labels}
        return RegionPass(builder.done, effects, {}, builder)
    by_output = {label: builder.of_output(label, builder.wholes(label)) for label in labels}
    record = as_provenance({**builder.record(), **builder.sampled})
    found = {label: RegionsByFeature(r, record) for label, r in by_output.items()}
    return RegionPass(builder.done, {k: r.effects for k, r in found.items()}, found, builder)


def _regions_of(
    prepared: Prepared, search: RegionOptions, by: GivenRegions | None, base: PDP | None
) -> FoundRegions | MultiOutput[Regions] | MultiOutput[RegionsByFeature]:
    """Go through the rows, find or take the regions, and return the results."""
    # The pass over the rows can take long: what is wrong with the arguments is said before it.
    _RowsSource.check(prepared.job)
    job = prepared.job
    search = search.at(job)
    source = job.dataset.before_passes(lambda: _RowsSource.of(job, search, by))
    given = by
    if source is None and by is not None:
        given = _by_of_chunks(job.dataset, job.selection.features, by)
    done = compute(prepared)
    here = at_kept_rows(done)
    source = _RowsSource.of(here.job, search, given) if source is None else source
    builder = _RegionBuilder.of(done, here, search, base, source)
    wholes = with_curves(
        done.job, {label: {**builder.wholes(label)} for label in prepared.job.outputs}
    )
    results = {
        label: builder.of_output(
            label, {str(k): e for k, e in by_key.items() if isinstance(e, Effect)}
        )
        for label, by_key in wholes.items()
    }
    record = {**builder.record(), **builder.sampled}
    for label, by_key in results.items():
        results[label] = {
            key: replace(r, provenance=as_provenance({**record, **search.record()}))
            for key, r in by_key.items()
        }
    if prepared.job.selection.single:
        alone = {label: next(iter(r.values())) for label, r in results.items()}
        return alone[None] if prepared.job.single else MultiOutput(alone)
    several = {
        label: RegionsByFeature(r, as_provenance(record), joint=search.joint)
        for label, r in results.items()
    }
    return several[None] if prepared.job.single else MultiOutput(several)


@dataclass(frozen=True, eq=False)
class _Rules:
    """The tree of one or several features, before effects are made."""

    nodes: list[RegionNode]
    region: Ints
    criterion: str
    explained: float
    error: float
    in_sample: float
    missing: Mapping[str, Ints] | None = None

    @property
    def leaves(self) -> tuple[RegionNode, ...]:
        """Return the regions in their order."""
        return tuple(sorted((n for n in self.nodes if n.region >= 0), key=lambda n: n.region))

    @property
    def regions(self) -> int:
        """Return the number of regions."""
        return sum(node.region >= 0 for node in self.nodes)


@dataclass(frozen=True, eq=False)
class _RowsSource:
    """Where regions come from: the features to split on, or the regions that the caller gave."""

    conditioning: ConditioningFeatures
    given: _GivenRules | None

    @classmethod
    def of(cls, job: Job, search: RegionOptions, by: GivenRegions | None) -> _RowsSource:
        """Check that the effects can have regions, and read where these come from."""
        of_interest = cls.check(job)
        dataset, features = job.dataset, job.selection.features
        if by is None:
            found = conditioning_features(dataset, features, search.split_on, of_interest)
            return cls(found, None)
        given = _given(dataset, features, by)
        given.check(len(dataset))
        return cls(ConditioningFeatures((), {}), given)

    @staticmethod
    def check(job: Job) -> list[Feature]:
        """Return the features whose effects can have regions."""
        if job.selection.pairs:
            raise UnsupportedError(
                "regions", "a pair of features", "single features", "Pass one feature, or a list"
            )
        of_interest: list[Feature] = []
        for task in job.tasks:
            if not isinstance(task, FeatureTask):
                raise no_local_effects(task.variant.name)
            check_local_effects(task.variant)
            of_interest.append(task.feature)
        return of_interest


@dataclass(frozen=True, eq=False)
class _RegionBuilder:
    """Makes regions from the work of `explain`."""

    done: Computed
    here: Computed
    """The same work, or for data that are read in chunks that at the rows at hand."""
    search: RegionOptions
    base: PDP | None
    conditioning: ConditioningFeatures
    half: Bools
    weights: Floats | None
    given: _GivenRules | None
    cost: CallStats
    only: Bools | None = None
    """The rows that choose and test rules; None for all."""

    @classmethod
    def of(
        cls,
        done: Computed,
        here: Computed,
        search: RegionOptions,
        base: PDP | None,
        source: _RowsSource,
    ) -> _RegionBuilder:
        half, weights = halves(here.job), search_weights(here.job)
        conditioning, given = source.conditioning, source.given
        return cls(done, here, search, base, conditioning, half, weights, given, CallStats())

    def of_output(self, label: OutputLabel, wholes: Mapping[str, Effect]) -> dict[str, Regions]:
        """Return the regions of each feature for one output, whose effects in all rows are known."""
        rules = self._counted(self.rules_of(label, wholes))
        return {
            t.key: self._regions_of(label, t, wholes[t.key], self._kept(label, t), rules[t.key])
            for t in self._tasks
        }

    def rules_of(self, label: OutputLabel, wholes: Mapping[str, Effect]) -> dict[str, _Rules]:
        """Return the rules of each feature for one output."""
        kept = {t.key: self._kept(label, t) for t in self._tasks}
        if self.given is not None:
            return {
                t.key: self._of_given(label, t, wholes[t.key], kept[t.key], self.given)
                for t in self._tasks
            }
        if self.search.joint:
            return dict.fromkeys(kept, self._joint(label, wholes, kept))
        return {t.key: self._searched(label, t, wholes[t.key], kept[t.key]) for t in self._tasks}

    def wholes(self, label: OutputLabel) -> dict[str, Effect]:
        """Return the effects in all rows for one output."""
        done = self.done if self.base is None else self.here
        job = done.job
        gathered = {k: v for k, v in done.gathered.items() if k[0] == label}
        return self._wholes(replace(job, outputs={label: job.outputs[label]}), gathered)

    @property
    def _tasks(self) -> list[FeatureTask]:
        return [t for t in self.here.job.tasks if isinstance(t, FeatureTask)]

    def _kept(self, label: OutputLabel, task: FeatureTask) -> KeptEffects:
        key: TaskKey = label, task.key
        job = self.here.job
        found = kept_effects(
            task.variant, job.plans[key], self.here.gathered[key], job.dataset, job.sample_mask
        )
        return replace(found, variant=self._variant(task)) if self.base is not None else found

    def _variant(self, task: FeatureTask) -> PDP | LevelPDP:
        """Return the variant of the caller's method, which keeps fewer curves."""
        if self.base is None:
            raise TypeError("only partial dependence has curves")
        if isinstance(task.variant, LevelPDP):
            return replace(task.variant, base=self.base)
        return self.base

    def _wholes(self, part: Job, gathered: Mapping[TaskKey, BatchStats]) -> dict[str, Effect]:
        """Return the effects in all rows, with as many curves as `explain` keeps."""
        (label,) = part.outputs
        if self.base is None:
            effects = finalize_all(part, dict(gathered), self.done.scores, self.done.finalized)
            return {str(k): e for k, e in effects[label].items() if isinstance(e, Effect)}
        tasks = [replace(t, variant=self._variant(t)) for t in self._tasks]
        mask = part.sample_mask
        stored = np.arange(len(part.dataset)) if mask is None else np.flatnonzero(mask)
        limit = self.base.n_rows_to_keep(len(part.dataset))
        drawn = part.dataset.sample_rows(limit, part.options.seed)
        shown = np.arange(len(stored)) if drawn is None else np.flatnonzero(drawn[stored])
        found: dict[str, Effect] = {}
        for task in tasks:
            stats = gathered[label, task.key]
            ids = None if stats.row_id is None else stats.row_id[shown]
            stats = replace(stats, kept={k: v[shown] for k, v in stats.kept.items()}, row_id=ids)
            sampled = replace(part, sample=drawn)
            effect = finalize_task(sampled, label, task, stats, self.here.scores)
            if isinstance(effect, Effect):
                found[task.key] = effect
        return found

    def _weight(self, rows: Ints) -> float:
        return float(len(rows)) if self.weights is None else float(self.weights[rows].sum())

    # -- the search
    def _criterion(self, kept: KeptEffects) -> SplitCriterion:
        if self.search.criterion != "auto":
            return self.search.criterion
        return "within" if kept.has_slopes else "curves"

    def _effects(
        self, label: OutputLabel, task: FeatureTask, kept: KeptEffects
    ) -> tuple[LocalEffects | None, SplitCriterion]:
        job, criterion = self.here.job, self._criterion(kept)
        (about,) = abouts_of(job, label, task)
        found = kept.local_effects(len(job.dataset), criterion, about.feature_std, self.weights)
        return found, criterion

    def _loss(
        self, effects: LocalEffects, criterion: SplitCriterion, whole: Effect
    ) -> float | None:
        """Return what shares are relative to; None for the loss of the residuals themselves."""
        if criterion == "within" or isinstance(effects, CurveEffects):
            return None
        score = whole.swap_score
        value = whole.importance if score is None else score.value
        return value**2 if value > 0 else None

    def _root_rows(self) -> Ints:
        sample = self.here.job.sample_mask
        if self.only is not None:
            return np.flatnonzero(self.only if sample is None else self.only & sample)
        return np.arange(len(self.half)) if sample is None else np.flatnonzero(sample)

    def _region_search(
        self,
        effects: Sequence[LocalEffects],
        allowed: Sequence[int],
        loss: float | None,
        tests: int,
    ) -> RegionSearch:
        s = self.search
        total = self._weight(self._root_rows())
        return RegionSearch(
            effects,
            self.conditioning.columns,
            self.half,
            self.weights,
            self.here.job.options.weight_kind == "frequency",
            allowed,
            s.max_depth,
            s.alpha / max(tests, 1),
            s.min_gain,
            s.look_ahead,
            max(float(MIN_ROWS), MIN_SHARE * total),
            loss,
        )

    def _searched(
        self, label: OutputLabel, task: FeatureTask, whole: Effect, kept: KeptEffects
    ) -> _Rules:
        effects, criterion = self._effects(label, task, kept)
        score = whole.swap_score
        if effects is None or (score is not None and score.value == 0):
            return self._one_region(criterion, NO_LOSS)
        loss = self._loss(effects, criterion, whole)
        allowed = self.conditioning.allowed_for(task.feature)
        search = self._region_search([effects], allowed, loss, len(self._tasks))
        return self._rules(search, criterion)

    def _joint(
        self, label: OutputLabel, wholes: Mapping[str, Effect], kept: Mapping[str, KeptEffects]
    ) -> _Rules:
        """Return one tree for all features."""
        effects: list[LocalEffects] = []
        loss, rows = 0.0, self._root_rows()
        criterion: SplitCriterion = "within"
        for task in self._tasks:
            found, criterion = self._effects(label, task, kept[task.key])
            score = wholes[task.key].swap_score
            if found is None or (score is not None and score.value == 0):
                continue
            own = self._loss(found, criterion, wholes[task.key])
            if own is None:
                weights = None if self.weights is None else self.weights[rows]
                node = found.node(rows, weights)
                own = node.squares / max(node.weight, 1e-300)
            effects.append(found)
            loss += own
        if not effects:
            return self._one_region(criterion, NO_LOSS)
        every = range(len(self.conditioning.found))
        return self._rules(self._region_search(effects, every, loss, 1), criterion)

    def _one_region(self, criterion: str, note: str, loss: float = 0.0) -> _Rules:
        n = len(self.here.job.dataset)
        node = RegionNode(
            "", rule_text(()), (), -1, (), 0, n, self._weight(np.arange(n)), None, 0, loss, note
        )
        return _Rules([node], np.zeros(n, dtype=np.int64), criterion, 0.0, 0.0, 0.0)

    def _rules(self, search: RegionSearch, criterion: str) -> _Rules:
        """Search, and return the tree with its rules in words."""
        root = search.run(self._root_rows())
        n = len(self.here.job.dataset)
        relative = root.loss if search.loss is None else search.loss
        nodes: list[RegionNode] = []
        region = np.zeros(n, dtype=np.int64)
        leaves = 0
        shares: list[tuple[float, float, float]] = []

        def add(
            found: FoundNode,
            rows: Ints,
            parent: int,
            condition: str,
            conditions: tuple[Condition, ...],
            *,
            ahead: bool = False,
        ) -> int:
            nonlocal leaves
            number = len(nodes)
            nodes.append(_EMPTY)
            split, children, leaf = None, (), -1
            if found.split is None:
                leaf, leaves = leaves, leaves + 1
                region[rows] = leaf
            else:
                cut = found.split.cuts[0]
                column = self.conditioning.found[cut.column]
                both = column.conditions(cut, rows)
                scale = found.weight / max(root.weight * relative, 1e-300)
                measured = (
                    found.split.gain * scale,
                    found.split.gain_error * scale,
                    found.split.gain_in_sample * scale,
                )
                if ahead:  # what both cuts explain together is counted where the first is
                    measured = math.nan, math.nan, math.nan
                else:
                    shares.append(measured)
                two = len(found.split.cuts) == 2
                another, other = "", found.split.other
                if other is not None:
                    another = self.conditioning.found[other.column].conditions(other, rows)[0].text
                split = Split(
                    column.feature.name,
                    both,
                    found.split.p_value,
                    *measured,
                    found.split.stability,
                    two or ahead,
                    found.split.rows,
                    another,
                )
                left = cut.holds(column.coded, rows)
                children = tuple(
                    add(
                        child,
                        rows[side],
                        number,
                        own.text,
                        merged((*conditions, own)),
                        ahead=two,
                    )
                    for child, side, own in zip(found.children, (left, ~left), both, strict=True)
                )
            nodes[number] = RegionNode(
                condition,
                rule_text(conditions),
                conditions,
                parent,
                children,
                found.depth,
                len(rows),
                self._weight(rows),
                split,
                leaf,
                found.loss,
                found.note,
            )
            return number

        add(root, np.arange(n), -1, "", ())
        in_sample = sum(s[2] for s in shares)
        if search.loss is None and root.loss > 0:
            left = sum(leaf.weight * leaf.loss for leaf in root.leaves())
            in_sample = 1.0 - left / (root.weight * root.loss)
        return _Rules(
            nodes,
            region,
            criterion,
            sum(s[0] for s in shares),
            math.sqrt(sum(s[1] ** 2 for s in shares)),
            in_sample if shares else 0.0,
        )

    def _counted(self, by_feature: dict[str, _Rules]) -> dict[str, _Rules]:
        """Return the rules with the counts of all rows, where those at hand are some of them."""
        if self.here is self.done:
            return by_feature
        features = {t.key: t.feature for t in self._tasks}
        several: dict[int, list[str]] = {}
        for name, rules in by_feature.items():
            if rules.regions > 1:
                several.setdefault(id(rules), []).append(name)
        dataset = self.done.job.dataset
        groups = list(several.values())
        wanted = [
            Rules(by_feature[names[0]].leaves, {name: features[name] for name in names})
            for names in groups
        ]
        counts = count_regions(dataset, wanted) if wanted else None
        found: dict[str, _Rules] = {}
        for name, rules in by_feature.items():
            if rules.regions == 1 or counts is None:
                whole = replace(
                    rules.nodes[0], count=len(dataset), weight=self._weighed(dataset.total_weight)
                )
                found[name] = replace(rules, nodes=[whole])
                continue
            own = counts[groups.index(several[id(rules)])]
            nodes = _with_counts(rules.nodes, own.rows, self._weighed(own.weight))
            found[name] = replace(rules, nodes=nodes, missing=own.missing)
        return found

    def _weighed(self, weight: _WeightT) -> _WeightT:
        """Return weights of all rows in the unit of the search: sampling weights have the mean 1."""
        dataset = self.done.job.dataset
        if self.weights is None or self.done.job.options.weight_kind != "sampling":
            return weight
        return weight * (len(dataset) / dataset.total_weight)

    # -- given regions
    def _of_given(
        self,
        label: OutputLabel,
        task: FeatureTask,
        whole: Effect,
        kept: KeptEffects,
        given: _GivenRules,
    ) -> _Rules:
        n = len(self.here.job.dataset)
        effects, criterion = self._effects(label, task, kept)
        shares = 0.0, math.nan, math.nan
        if effects is not None:
            loss = self._loss(effects, criterion, whole)
            shares = self._given_shares(effects, loss, given)
        nodes = [
            RegionNode(
                "",
                rule_text(()),
                (),
                -1,
                tuple(range(1, len(given.rules) + 1)),
                0,
                n,
                self._weight(np.arange(n)),
                None,
                -1,
                0.0,
            )
        ]
        for number, rule in enumerate(given.rules):
            rows = np.flatnonzero(given.region == number)
            own = given.conditions[number] if given.conditions else None
            nodes.append(
                RegionNode(
                    rule,
                    rule,
                    () if own is None else (own,),
                    0,
                    (),
                    1,
                    len(rows),
                    self._weight(rows),
                    None,
                    number,
                    0.0,
                )
            )
        return _Rules(nodes, given.region, "given", *shares)

    def _given_shares(
        self, effects: LocalEffects, loss: float | None, given: _GivenRules
    ) -> tuple[float, float, float]:
        """Return the share of the loss that given regions explain: unbiased, its error, and in sample."""
        search = self._region_search([effects], (), loss, 1)
        rows = self._root_rows()
        half = self.half[rows]
        parts = search.part(rows[half]), search.part(rows[~half])
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
            a, b = parts[first], parts[second]
            t, _ = search.test(a, b, codes[first], codes[second], groups)
            gain += float(t.sum()) / unit
            variance += float(((t / unit) ** 2).sum())
            in_sample += _gain_in_sample(b, codes[second], groups) / unit
        scale = 1.0 / (total * (loss / unit))
        return gain * scale, math.sqrt(variance) * scale, in_sample * scale

    # -- results
    def _regions_of(
        self,
        label: OutputLabel,
        task: FeatureTask,
        whole: Effect,
        kept: KeptEffects,
        rules: _Rules,
    ) -> Regions:
        """Return the regions of one feature, with an effect and a score for each."""
        measured = self._region_scores(label, task, whole, rules)
        found = self.given is None and not self.search.joint and rules.regions > 1
        summary = _summary(whole, rules, measured, held_out=self.given is None)
        if found and measured:
            reach = summary.explained + 2 * summary.explained_error
            if math.isfinite(reach) and reach < self.search.min_gain:
                rules = self._one_region(rules.criterion, NOT_EXPLAINED, rules.nodes[0].loss)
                measured = []
                summary = _summary(whole, rules, measured, held_out=True)
        effects: list[Effect] = []
        missing = self._missing_in(task, whole, rules)
        for node in rules.nodes:
            if node.region < 0:
                continue
            if rules.regions == 1:
                effects.append(whole)
                continue
            rows = np.flatnonzero(rules.region == node.region)
            effect = self._effect_in(label, task, kept, rows, int(missing[node.region]))
            if measured:
                score, spread = measured[node.region].score, measured[node.region].spread
                effect = replace(effect, swap_score=score).with_provenance({"vif": score.vif})
                effect = effect if spread is None else with_spread(effect, spread, task)
            effects.append(effect.with_provenance({"rule": node.rule}))
        record = self.record()
        regional = {**record, **self.sampled} if rules.regions > 1 else record
        return Regions(
            tuple(e.with_provenance(regional) for e in effects),
            whole.with_provenance(record),
            tuple(rules.nodes),
            summary,
            rules.criterion,
            rules.explained if rules.regions > 1 else 0.0,
            rules.error if rules.regions > 1 else 0.0,
            rules.in_sample if rules.regions > 1 else 0.0,
            dict(self.conditioning.left_out),
            "" if self.given is None else self.given.by,
        )

    def _missing_in(self, task: FeatureTask, whole: Effect, rules: _Rules) -> Ints:
        """Return how many rows of each region have no value of a feature."""
        if rules.missing is not None:
            return rules.missing[task.key]
        if rules.regions == 1 or not whole.about.missing:
            return np.zeros(rules.regions, dtype=np.int64)
        lost = self.here.job.dataset.is_missing(task.feature)
        return np.bincount(rules.region[lost], minlength=rules.regions)

    def _effect_in(
        self,
        label: OutputLabel,
        task: FeatureTask,
        kept: KeptEffects,
        rows: Ints,
        missing: int,
    ) -> Effect:
        """Return the effect in a region; `missing` is how many of its rows have no value."""
        job = self.here.job
        (about,) = abouts_of(job, label, task)
        std = about.feature_std
        if not isinstance(task.column, LevelColumn):
            x = job.dataset.floats(task.feature.position)[rows]
            std = _std(x, None if self.weights is None else self.weights[rows])
        about = replace(about, feature_std=std, missing=missing)
        return kept.effect(
            rows, job.dataset, about, exact=job.sample is None, kind=job.options.weight_kind
        )

    def _region_scores(
        self, label: OutputLabel, task: FeatureTask, whole: Effect, rules: _Rules
    ) -> list[RegionScore]:
        scores = self.here.scores
        if whole.swap_score is None or rules.regions == 1:
            return []
        held_out = np.ones(len(self.half), dtype=bool) if self.given is not None else ~self.half
        found, cost = compute_region_scores(
            self.here.job, scores, (label, task.key), rules.region, held_out
        )
        self.cost.add(cost)
        return found

    @property
    def sampled(self) -> dict[str, bool | str]:
        """Return what the provenance says if the kept rows are a sample, from which regions come; empty if not."""
        sample = self.here.job.sample_mask
        if sample is None:
            return {}
        return {
            "exact": False,
            "approximated": f"regions come from a sample of {int(sample.sum()):,} kept rows",
        }

    def record(self) -> Json:
        """Return the provenance."""
        done = self.done
        found = provenance(done.job, done.scores, time.perf_counter() - done.started)
        if self.base is not None:
            found["settings"] = self.base.describe()
        return {**found, "region_score_rows": self.cost.rows}


def halves(job: Job) -> Bools:
    """Return which rows choose a split, (n,); the others test it."""
    hashes = row_hashes(job.dataset.identifiers, job.options.seed, "regions: halves")
    return hashes >> np.uint64(63) == 0


def search_weights(job: Job) -> Floats | None:
    """Return the weights of the rows in the search, (n,); sampling weights have the mean 1. None for 1."""
    weights = job.dataset.weights
    if weights is not None and job.options.weight_kind == "sampling":
        return weights / weights.mean()
    return weights


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


_EMPTY = RegionNode("", "", (), -1, (), 0, 0, 0.0, None, -1, 0.0)
"""Takes the place of a node until its children are made."""


def _std(x: Floats, weights: Floats | None) -> float:
    """Return the weighted standard deviation of the values that are not missing."""
    present = ~np.isnan(x)
    x = x[present]
    if len(x) == 0 or x.min() == x.max():
        return 0.0
    w = np.ones(len(x)) if weights is None else weights[present]
    return float(np.sqrt(np.average((x - np.average(x, weights=w)) ** 2, weights=w)))


def _gain_in_sample(part: RegionPart, group: Ints, groups: int) -> float:
    """Return the gain of a division, with the means of the same rows."""
    size = np.bincount(group, part.weights, groups).astype(float)
    return sum(node.group_gain(*node.group_means(group, groups), size) for node in part.nodes)


def _summary(
    whole: Effect, rules: _Rules, measured: Sequence[RegionScore], *, held_out: bool
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
    weight = np.array([node.weight for node in rules.nodes if node.region >= 0])
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


# --- regions that the caller names ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _GivenRules:
    """Regions as the caller gave them."""

    by: str
    rules: list[str]
    region: Ints
    conditions: list[Condition]

    def check(self, n: int) -> None:
        """Raise for regions without rows, and for too many."""
        counts = np.bincount(self.region, minlength=len(self.rules))
        empty = [rule for rule, count in zip(self.rules, counts, strict=True) if count == 0]
        if empty:
            raise DataError(
                "by",
                f"the region {empty[0]!r} without rows",
                "at least one row in each region",
                "Leave the region out",
            )
        if len(self.rules) > MOST_GIVEN:
            raise DataError(
                "by",
                f"{len(self.rules):,} regions of {n:,} rows",
                f"at most {MOST_GIVEN}",
                "Pass the name of a column, which is cut at its quartiles if it is numeric, or combine labels",
            )


def column_named_by(by: GivenRegions | None) -> Hashable:
    """Return the name or position of the column that gives regions; None without one."""
    if isinstance(by, tuple) and len(by) == 2 and isinstance(by[0], (str, int)):
        return by[0]
    return by if isinstance(by, (str, int, np.integer)) else None


def _by_of_chunks(dataset: Dataset, features: Sequence[Feature], by: GivenRegions) -> GivenRegions:
    """Return what gives the regions of data that are read in chunks, with the edges of all rows."""
    name = column_named_by(by)
    if name is None:
        raise DataError(
            "by",
            "an array beside data that are read in chunks",
            "the name of a column",
            "Write the labels into a column of the data, and name it",
        )
    feature = find_one(dataset, features, name)
    if isinstance(by, tuple) or not feature.numeric:
        return by
    column = dataset.column(feature.position)
    few = dataset.once_known(lambda: column.distinct(FEW_VALUES))
    if few is not None:
        return by
    quartiles = dataset.once_known(lambda: column.order_statistics(4))
    return feature.name, quartiles[1:4]


def _given(dataset: Dataset, features: Sequence[Feature], by: GivenRegions) -> _GivenRules:
    """Return the regions that `by` names."""
    if isinstance(by, Mapping):
        return _of_masks(dataset, by)
    if isinstance(by, tuple) and len(by) == 2 and isinstance(by[0], (str, int)):
        feature = find_one(dataset, features, by[0])
        return _of_column(dataset, feature, _edges(feature, by[1]))
    if isinstance(by, (str, int, np.integer)):
        if isinstance(by, str) and set(by) & set("<>=") and by not in [f.name for f in features]:
            fix = f"Pass the rows that satisfy it: by={{{by!r}: mask}}, with a mask such as X[column] > 50"
            raise DataError("by", f"the condition {by!r}", "a column, or masks by rule", fix)
        return _of_column(dataset, find_one(dataset, features, by), None)
    return _of_labels(dataset, by)


def _edges(feature: Feature, given: object) -> Floats:
    """Return the edges at which `by=(feature, edges)` cuts."""
    try:
        edges = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        edges = np.empty((0, 0))
    if edges.ndim != 1:
        name = feature.name
        raise DataError(
            "by",
            f"({name!r}, {shown(given)})",
            "the name of a column, or a name and a list of the values at which it is cut",
            f"Write by={name!r}, or by=({name!r}, [10, 20])"
            if not is_number(given)
            else f"Write by=({name!r}, [{given}])",
        )
    return edges


def rows_of(dataset: Dataset, values: np.ndarray, what: str) -> np.ndarray:
    """Return the entries of the dataset's rows of an array over all rows of X."""
    n = len(dataset.table)
    if values.shape != (n,):
        raise DataError(
            what,
            f"an array of shape {values.shape}",
            f"one entry for each of the {n:,} rows of X, shape ({n},)",
            "Pass an array with one entry per row, or the name of a column",
        )
    return values if dataset.row_id is None else values[dataset.row_id]


def _of_masks(dataset: Dataset, masks: Mapping[str, ArrayLike]) -> _GivenRules:
    """Return regions from masks; rows in none of them are a region of their own."""
    if not masks:
        raise DataError(
            "by", "an empty mapping", "at least one rule and its mask", "Pass {rule: mask}"
        )
    region = np.full(len(dataset), -1)
    rules: list[str] = []
    for rule, given in masks.items():
        mask = np.asarray(given)
        if mask.dtype.kind != "b":
            what, got = f"by[{str(rule)!r}]", f"values of type {mask.dtype}"
            fix = f"Pass an array of truth values, such as by={{{str(rule)!r}: X[column] > 50}}"
            if rule in [f.name for f in dataset.features]:  # {"sex": "m"}, {"age": [50]}
                fix = f"Write by={rule!r}, or by={{rule: X[{rule!r}] == {shown(given)}}} for one value"
                if isinstance(given, list):
                    fix = f"Write by=({rule!r}, {shown(given)}) to cut it at these values"
            raise DataError(what, got, "True or False for each row", fix)
        inside = rows_of(dataset, mask, f"by[{str(rule)!r}]")
        twice = inside & (region >= 0)
        if twice.any():
            first = rules[int(region[twice][0])]
            raise DataError(
                "by",
                f"{int(twice.sum()):,} rows in both {first!r} and {str(rule)!r}",
                "masks that do not overlap",
                "Exclude the rows of one mask from the other",
            )
        region[inside] = len(rules)
        rules.append(str(rule))
    if (region < 0).any():
        region[region < 0] = len(rules)
        rules.append("other rows")
    return _GivenRules("masks", rules, region, [])


def _of_labels(dataset: Dataset, labels: object) -> _GivenRules:
    values = np.asarray(labels)
    if values.ndim == 0:
        fix = "Pass the name of a column"
        if callable(labels):
            fix = "Pass what the function returns: by=function(X)"
        raise DataError("by", shown(labels), "a column, labels of the rows, or masks by rule", fix)
    names = [f.name for f in dataset.features]
    columns = [v for v in values.ravel().tolist() if isinstance(v, str) and v in names]
    if values.size <= len(names) and len(columns) == values.size != len(dataset.table):
        labels_of = ' + "/" + '.join(f"X[{name!r}].astype(str)" for name in columns)
        fix = f"Write by={columns[0]!r}"
        if len(columns) > 1:
            fix = f"Name one of them, or pass a label for each row: by={labels_of}"
        raise DataError("by", f"a list of names, {columns!r}", "one column", fix)
    values = rows_of(dataset, values, "by")
    texts = np.array([str(v) for v in values.tolist()], dtype=object)
    # Numbers in the order of their size, other labels in that of their text.
    if values.dtype.kind in "iufb":
        distinct, region = np.unique(values, return_inverse=True)
        rules = [str(v) for v in distinct.tolist()]
    else:
        names, region = np.unique(texts.astype(str), return_inverse=True)
        rules = [str(v) for v in names.tolist()]
    return _GivenRules("labels", rules, region.astype(np.int64), [])


@dataclass(frozen=True, eq=False)
class ColumnRegions:
    """Regions by the values of one feature, which each row determines alone."""

    feature: Feature
    conditions: list[Condition]
    inner: Floats
    level_column: LevelColumn | None = None

    @property
    def rules(self) -> list[str]:
        """Return the rule of each region."""
        return [c.text for c in self.conditions]

    def of_values(self, x: Floats) -> Ints:
        """Return the region of each row, given the values of a numeric feature."""
        region = np.searchsorted(self.inner, x, side="left")
        return np.where(np.isnan(x), len(self.conditions) - 1, region).astype(np.int64)

    def of_codes(self, codes: Ints) -> Ints:
        """Return the region of each row, given the codes of a categorical feature."""
        return np.where(codes < 0, len(self.conditions) - 1, codes)

    def of(self, evaluator: BatchEvaluator) -> Ints:
        """Return the region of each row of a batch."""
        if self.level_column is not None:
            return self.of_codes(evaluator.codes(self.level_column))
        return self.of_values(evaluator.column(self.feature.position))


@dataclass(frozen=True, eq=False)
class RegionOfRow:
    """Regions of rows in memory."""

    rules: list[str]
    region: Ints

    def of(self, evaluator: BatchEvaluator) -> Ints:
        """Return the region of each row of a batch."""
        return self.region[evaluator.places]


def regions_given(
    dataset: Dataset, features: Sequence[Feature], by: GivenRegions
) -> tuple[str, RegionOfRow | ColumnRegions]:
    """Return what gives regions, and the regions."""

    def of_rows() -> tuple[str, RegionOfRow]:
        given = _given(dataset, features, by)
        given.check(len(dataset))
        return given.by, RegionOfRow(given.rules, given.region)

    known = dataset.before_passes(of_rows)
    if known is not None:
        return known
    found = _regions_of_chunks(dataset, features, by)
    return found.feature.name, found


def _regions_of_chunks(
    dataset: Dataset, features: Sequence[Feature], by: GivenRegions
) -> ColumnRegions:
    """Return the regions of data that are read in chunks: the levels of a column, or its cuts."""
    found = _by_of_chunks(dataset, features, by)
    feature = find_one(dataset, features, column_named_by(found))
    edges = _edges(feature, found[1]) if isinstance(found, tuple) else None
    if feature.categorical or feature.members:
        levels = dataset.once_known(lambda: dataset.levels(feature))
        regions = _level_regions(dataset, feature, levels, edges)
    else:
        column = dataset.column(feature.position)
        distinct = None
        if edges is None:
            distinct = dataset.once_known(lambda: column.distinct(FEW_VALUES))
        ends = column.low, column.high
        regions = _cut_regions(feature, distinct, edges, ends, missing=column.missing > 0)
    if len(regions.rules) > MOST_GIVEN:
        got = f"{len(regions.rules):,} regions"
        raise DataError("by", got, f"at most {MOST_GIVEN}", "Pass a column with few levels")
    return regions


def _of_column(dataset: Dataset, feature: Feature, edges: Floats | None) -> _GivenRules:
    """Return regions from a column: its levels, or a numeric one cut at edges, by default its quartiles."""
    if feature.categorical or feature.members:
        column = dataset.levels(feature)
        found = _level_regions(dataset, feature, column, edges)
        return _GivenRules(
            feature.name, found.rules, found.of_codes(column.codes), found.conditions
        )
    x = dataset.floats(feature.position)
    present = x[~np.isnan(x)]
    distinct = np.unique(present) if len(present) else present
    few = distinct if edges is None and len(distinct) <= FEW_VALUES else None
    ends = float(present.min(initial=math.inf)), float(present.max(initial=-math.inf))
    outside = edges is not None and not ((edges >= ends[0]) & (edges < ends[1])).any()
    if edges is not None and outside and len(edges) and len(present):
        raise DataError(
            "by",
            f"edges outside the values of {feature.name!r}",
            f"an edge between {ends[0]:.6g} and {ends[1]:.6g}",
            f"Leave the edges out to cut at quartiles: by={feature.name!r}",
        )
    if edges is None and few is None:
        edges = quartile_edges(x, dataset.weights)
    found = _cut_regions(feature, few, edges, ends, missing=len(present) < len(x))
    return _GivenRules(feature.name, found.rules, found.of_values(x), found.conditions)


def _level_regions(
    dataset: Dataset, feature: Feature, column: LevelColumn, edges: Floats | None
) -> ColumnRegions:
    """Return a region for each level, and one for missing values that are no level."""
    if edges is not None:
        raise DataError(
            "by",
            f"edges of {feature.name!r}, which is {feature.kind}",
            "a numeric feature",
            f"Use by={feature.name!r}",
        )
    names = tuple(dataset.features[j].name for j in feature.members)
    conditions: list[Condition] = []
    for level, label in zip(column.levels.values, column.levels.labels, strict=True):
        value = "is missing" if level is None else f"= {label}"
        text = f"{feature.title} {value}"
        conditions.append(Condition(feature, levels=(level,), text=text, columns=names))
    if column.missing and not any(c.missing for c in conditions):
        text = f"{feature.title} is missing"
        conditions.append(Condition(feature, levels=(), missing=True, text=text))
    return ColumnRegions(feature, conditions, np.zeros(0), column)


def _cut_regions(
    feature: Feature,
    distinct: Floats | None,
    edges: Floats | None,
    ends: tuple[float, float],
    *,
    missing: bool,
) -> ColumnRegions:
    """Return a region for each of a few values of a numeric feature, or for each interval between edges."""
    only: list[Level | None] = []
    if distinct is not None:
        inner = distinct[:-1]
        only = [*distinct.tolist()] if len(distinct) else [None]
    else:
        inner = np.unique(np.zeros(0) if edges is None else edges)
        inner = inner[(inner >= ends[0]) & (inner < ends[1])]
        only = [None] * (len(inner) + 1)
    cuts = [-math.inf, *inner.tolist(), math.inf]
    conditions = [
        Condition(feature, low, high, text=condition_text(feature, low, high, only=value))
        for low, high, value in zip(cuts[:-1], cuts[1:], only, strict=True)
    ]
    if missing:
        text = f"{feature.title} is missing"
        conditions.append(Condition(feature, math.inf, math.inf, missing=True, text=text))
    return ColumnRegions(feature, conditions, inner)
