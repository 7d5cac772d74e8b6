"""Content of a report as values, and how it is computed."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar, Unpack

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import check_flag, check_int
from skedasis._calls import result_error
from skedasis._escaping import Printed
from skedasis._progress import one_call
from skedasis._types import Floats, Json, TableLike
from skedasis.analysis.drift import AtRows
from skedasis.analysis.variance_shares import PAIRS, variance_shares_of_values
from skedasis.data.categories import TooManyLevels
from skedasis.data.dataset import Dataset, as_dataset, require_rows
from skedasis.data.features import Feature, Groups, NoValues, OutOfRange
from skedasis.engine.argument_types import FeatureList, GivenRegions, Models, SplitBy
from skedasis.engine.budget import LONG
from skedasis.engine.observed import check_labels
from skedasis.engine.options import UNOBSERVED, ExplainOptions, ReportKeywords
from skedasis.engine.region_pass import RegionPass
from skedasis.engine.rows import ROWS_OF_CHUNKS, draw_rows
from skedasis.engine.select import FeatureSelection, as_features, as_method
from skedasis.errors import DataError, UnsupportedError
from skedasis.methods.ale import ALE
from skedasis.models.calling import CallStats
from skedasis.models.introspection import title
from skedasis.plots.figures.curve_height import has_mean_of_quantity
from skedasis.plots.figures.overview import ImportancePoint, importance_points
from skedasis.plots.scales import shorten
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import (
    ModelLike,
    MultiOutputQuantity,
    Probability,
    as_quantity,
    model_names,
    with_target,
)
from skedasis.quantities.tree_evaluator import may_be_trees
from skedasis.quantities.uncertainty import Entropy
from skedasis.report.budget import (
    NO_CUTS,
    NOT_TIMED,
    Budget,
    Cuts,
    Demand,
    PageParts,
    check_max_seconds,
    demand_of,
    demand_without_model,
    sampled,
    timed,
)
from skedasis.report.changed import NOTHING, OldRows, PageChanges, rows_left, what_changed
from skedasis.report.code import (
    CURVES,
    Call,
    at_scale,
    called_points,
    figure_codes,
    pdp_method,
    split_code,
)
from skedasis.report.cohorts import Cohort, cohorts
from skedasis.report.format import listed
from skedasis.report.given_rows import GivenRow, RowCurves, given_rows, named_rows, places_of
from skedasis.report.interactions import StrongestPairs, strongest_pairs
from skedasis.report.passes import (
    Label,
    ModelRunner,
    Predictions,
    ReportPass,
    with_scores,
)
from skedasis.report.quality import Quality, WhereWrong, page_calibration, quality, where_wrong
from skedasis.report.uncertainty import UncertaintySection, explain_uncertainty, model_of
from skedasis.results.build.steps import BOTH, DOWN, UP
from skedasis.results.calibration import Calibration
from skedasis.results.checks.check import Checks, IgnoreByFeature, check_ignore
from skedasis.results.checks.extrapolation import FeatureSpace
from skedasis.results.effect import TRUSTED_ROWS, Effect, ValueStepsEffect
from skedasis.results.effects import Effects
from skedasis.results.keywords import CurveScale
from skedasis.results.observed_words import OffCells, deviations
from skedasis.results.regions import Regions
from skedasis.results.sentences import UNEXPLAINED, tell
from skedasis.results.surface import Surface
from skedasis.results.variance_shares import VarianceShares

# ---------------------------------------------------------------------------------------- values
PartCode = Mapping[tuple[str, ...], str]
"""Code of each figure, by the kind of figure and its feature or features; see `skedasis.report.code`."""


@dataclass(frozen=True, eq=False)
class ModelSection:
    """Results for one model, or for one of its outputs."""

    name: str
    of: str
    output: str
    model: str
    quantity: str
    axis: str
    rhale: Effects
    ale: Effects
    pdp: Effects
    warnings: tuple[str, ...] = ()
    note: str = ""
    passes: tuple[Effects | ReportPass, ...] = ()
    mplot: Effects = field(default_factory=lambda: Effects({}))
    checks: Mapping[str, Checks] = field(default_factory=dict)
    importance_points: tuple[ImportancePoint, ...] = ()
    outputs: str = "Output"
    class_name: str = ""
    of_classes: bool | None = None
    """Of an entropy, whether it is that of classes."""
    quality: Quality | None = None
    calibration: Calibration | None = None
    where_wrong: WhereWrong | None = None
    regions: Mapping[str, Regions] = field(default_factory=dict)
    deviations: Mapping[str, tuple[OffCells, ...]] = field(default_factory=dict)
    """Where the mean residual along a feature is clearly not 0."""
    mean: float = math.nan
    variance_shares: VarianceShares | None = None
    interactions: StrongestPairs = field(default_factory=StrongestPairs)
    uncertainty: UncertaintySection | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    code: PartCode = field(default_factory=dict)
    cohorts: tuple[Cohort, ...] = ()
    given_rows: tuple[GivenRow, ...] = ()
    scale: CurveScale = "difference"
    """How high curves are drawn."""

    @property
    def has_levels(self) -> bool:
        """Return whether its curves can be drawn at the height of predictions."""
        return all(
            has_mean_of_quantity(e) for es in (self.rhale, self.ale, self.pdp) for e in es.values()
        )

    @property
    def pairs(self) -> tuple[Surface, ...]:
        """Return the surfaces of the pairs that interact most strongly, strongest first."""
        return self.interactions.surfaces

    @cached_property
    def largest_importance(self) -> float:
        """Return the largest importance of the features."""
        return max(e.importance for e in self.rhale.values())


AROUND_ZERO = "Curves are differences, around zero: the mean prediction was not computed."
"""What a page says that was asked for curves at the height of predictions."""


@dataclass(frozen=True, eq=False)
class ReportContent:
    """Everything that a report shows."""

    sections: tuple[ModelSection, ...]
    rows: int
    columns: int
    features: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    target: str = ""
    changed: PageChanges = NOTHING

    def drawn_at(self, scale: CurveScale) -> ReportContent:
        """Return the content with curves at the height of predictions, where it is known, or around zero."""
        if scale == "difference":
            return self
        sections = [
            replace(s, scale=scale, code=at_scale(s.code, scale)) if s.has_levels else s
            for s in self.sections
        ]
        told = all(s.scale == scale for s in sections)
        remarks = self.remarks if told else (*self.remarks, AROUND_ZERO)
        return replace(self, sections=tuple(sections), remarks=remarks)

    @property
    def titles(self) -> dict[str, str]:
        """Return the text for people of each feature that has a label, by its name."""
        return {
            name: effect.about.feature.title
            for section in self.sections
            for name, effect in section.rhale.items()
            if effect.about.feature.label
        }


# -------------------------------------------------------------------------- results without rows
ResultT = TypeVar("ResultT", Effect, Effects, Surface)


def without_rows(result: ResultT) -> ResultT:
    """Return a result without kept rows and individual curves; figures computed from them are unchanged."""
    if isinstance(result, Effects):
        return Effects({n: without_rows(e) for n, e in result.items()}, result.provenance)
    if isinstance(result, Effect):
        seen = result.observed
        seen = None if seen is None else seen.of_many_rows(TRUSTED_ROWS)
        bare = replace(result, rows=None, curves=None, observed=seen)
        if not isinstance(bare, ValueStepsEffect) or bare.spec.on_cells:
            return bare
        # Features of many whole numbers keep sums for each observed value: these nearly are rows.
        moments = {k: m for k, m in result.moments.items() if k not in (UP, DOWN, BOTH)}
        return replace(bare.without_values(), moments=moments)
    return replace(result, rows=None)


# ------------------------------------------------------------------------- sections of one model
ByOutput = dict[Label, Effects]


@dataclass(frozen=True)
class ContentOptions(PageParts):
    """What a report shows of each model."""

    by: GivenRegions | None
    given: tuple[int, ...] = ()
    ignore: Mapping[str, frozenset[str]] = field(default_factory=dict)
    cuts: Cuts = NO_CUTS
    pdp: tuple[str, ...] | None = None

    def pdp_names(self, main: Mapping[Label, Effects]) -> tuple[str, ...]:
        """Return the features that have a PDP: all, or the most important ones."""
        every = self.names()
        if self.pdp is not None:
            return self.pdp
        if self.cuts.pdp_features is None:
            return tuple(every)
        share = largest_shares([[e[n].importance for n in every] for e in main.values()])
        top = np.argsort(-share, kind="stable")[: self.cuts.pdp_features]
        return tuple(every[j] for j in np.sort(top))

    @property
    def has_regions(self) -> bool:
        """Return whether there are scores within regions: found, or of the caller."""
        return self.regions or self.by is not None


def largest_shares(sizes: Sequence[Sequence[float]]) -> Floats:
    """Return the largest share of each feature, shape (d,), in the sum of the sizes of any output or model."""
    known = np.nan_to_num(np.array(sizes, dtype=float))
    return (known / np.maximum(known.sum(axis=1, keepdims=True), 1e-300)).max(axis=0)


def build_sections(
    runner: ModelRunner,
    options: ContentOptions,
    name: str,
    note: str,
    call: Call,
    measured: CallStats,
    limits: Json,
) -> list[ModelSection]:
    """Return the sections of one model, one per output. `measured` is what measuring its time cost."""
    runner.prepare(options.names())
    predictions = runner.predict()
    main = runner.in_regions(options.names(), options.by, search=options.regions)
    found, curves = _passes(runner, options, main)
    rows, eps = runner.dataset(), main.done.job.checked.eps
    runner.known = AtRows(rows, predictions.quantities, predictions.values, found["ale"], eps)
    trees_evaluated = _trees_evaluated(runner)
    interactions = strongest_pairs(
        runner,
        main,
        options.pairs,
        trees_evaluated=trees_evaluated,
        drawn_at_most=options.cuts.surfaces,
    )
    shares, no_shares = _variance_shares(runner, options, main, predictions)
    uncertainty, certain = _uncertainty(runner, options, trees_evaluated=trees_evaluated)
    dataset, space = runner.dataset(), FeatureSpace.of(runner.X, runner.options.seed)
    if measured.calls or limits:
        runner.count("measurement of the model's time", "check", measured, limits)
    sections: list[ModelSection] = []
    for label, rhale in found["main"].items():
        of_label = {kind: of.get(label, Effects({})) for kind, of in found.items()}
        pdp, about = of_label["pdp"], next(iter(rhale.values())).about
        quantity, values = predictions.quantities[label], predictions.values[label]
        good, no_quality = quality(quantity, values, predictions.raw, dataset.y, dataset.weights)
        calibrated = (
            None
            if good is None
            else page_calibration(quantity, values, dataset, runner.options, rows=options.rows)
        )
        wrong = None
        if good is not None:
            wrong = where_wrong(quantity, values, dataset, runner.options.seed)
        every = main.regions[label].regions if label in main.regions else {}
        regions = _on_others(every)
        reasons = {"quality": no_quality, "variance_shares": no_shares, "uncertainty": certain}
        if sections and uncertainty is not None:
            # The first output shows it for the whole model.
            reasons["uncertainty"] = f"The same for all outputs: see {sections[0].name}."
        code = figure_codes(
            call if label is None else replace(call, output=f"[{label!r}]"),
            rhale,
            [s.features for s in interactions[label].surfaces],
            uncertainty,
            [feature for feature, found in regions.items() if len(found) > 1],
            options.by,
            rows=options.rows,
            points=_points(pdp),
            split=split_code(runner.options.split),
        )
        one = ModelSection(
            name=name if label is None else f"{name}: {label}",
            of=name,
            output="" if label is None else str(label),
            model=_title(runner.quantity),
            quantity=about.quantity,
            axis=about.axis,
            rhale=rhale,
            ale=of_label["ale"],
            pdp=pdp,
            warnings=tuple(dict.fromkeys(runner.binning_warnings)),
            note=note,
            passes=() if sections else tuple(runner.passes),
            mplot=of_label["mplot"],
            checks={
                feature: effect.checks(
                    X=space,  # the rows are converted to points once, for all effects
                    beside=pdp.get(feature),
                    random_state=runner.options.seed,
                    ignore=options.ignore.get(feature),
                )
                for feature, effect in rhale.items()
            },
            importance_points=importance_points(rhale, seed=runner.options.seed),
            outputs=_kind_of_output(quantity),
            class_name=(quantity.class_name or "") if isinstance(quantity, Probability) else "",
            of_classes=_of_classes(quantity),
            quality=good,
            calibration=calibrated,
            where_wrong=wrong,
            regions=regions,
            deviations=deviations(rhale),
            mean=float(np.average(values, weights=dataset.weights)),
            variance_shares=shares.get(label),
            interactions=interactions[label],
            uncertainty=None if sections else uncertainty,
            reasons={of: why for of, why in reasons.items() if why},
            code=code,
            cohorts=cohorts(
                every, main.given, dataset, quantity, values, predictions.raw, rows=options.rows
            ),
            given_rows=given_rows(
                options.given, dataset, values, rhale, pdp, curves.get(label, {}), every, main.given
            ),
        )
        sections.append(one)
    return sections if options.rows else [_without_rows(one) for one in sections]


def _passes(
    runner: ModelRunner, options: ContentOptions, main: RegionPass
) -> tuple[dict[str, ByOutput], Mapping[Label, RowCurves]]:
    """Explain all features by the other methods, each kind by those that support it, with curves of given rows."""
    every, nominal = options.names(), options.names(nominal=True)
    others = options.names(nominal=False)
    first = dict(main.effects)
    levels = {k: Effects({n: e[n] for n in nominal}, e.provenance) for k, e in first.items()}
    ale = runner.effects(ALE(), others)
    given, shown = places_of(main.done.job.dataset, options.given), options.pdp_names(first)
    numeric, points = [n for n in others if n in shown], dict[str, int]()
    if numeric and not _trees_evaluated(runner):
        points = called_points(_sizes(first, numeric))
    start, curves = runner.effects_and_curves(
        pdp_method("continuous", rows=options.rows, points=points), numeric, given
    )
    mean, of_levels = runner.effects_and_curves(
        pdp_method("nominal", rows=options.rows), [n for n in nominal if n in shown], given
    )
    found = {
        "main": first,
        "ale": _joined(_scored(ale, first), levels, every),
        "pdp": _scored(_joined(start, mean, shown), first),
        "mplot": runner.effects(as_method("mplot"), every),
    }
    both = {label: {**curves.get(label, {}), **of_levels.get(label, {})} for label in first}
    return found, both


def _sizes(main: ByOutput, names: Sequence[str]) -> dict[str, float]:
    """Return how large the effects and their heterogeneity are, as shares."""
    outputs = [[(e[n].importance, e[n].heterogeneity_score) for n in names] for e in main.values()]
    sizes = [np.hypot(*np.nan_to_num(np.array(one)).T).tolist() for one in outputs]
    return dict(zip(names, largest_shares(sizes).tolist(), strict=True))


def _scored(found: ByOutput, main: ByOutput) -> ByOutput:
    return {label: with_scores(effects, main[label]) for label, effects in found.items()}


def _joined(first: ByOutput, second: ByOutput, names: Sequence[str]) -> ByOutput:
    """Return the effects of all features from two passes; a feature in both is taken from the first."""
    joined: ByOutput = {}
    for label in first or second:
        a, b = first.get(label, Effects({})), second.get(label, Effects({}))
        found = {n: (a if n in a else b)[n] for n in names}
        joined[label] = Effects(found, (a or b).provenance)
    return joined


def _variance_shares(
    runner: ModelRunner, options: ContentOptions, main: RegionPass, predictions: Predictions
) -> tuple[Mapping[Label, VarianceShares], str]:
    """Return the variance shares of each output, or none and the reason."""
    try:
        return variance_shares_of_values(
            predictions.quantities,
            predictions.values,
            main.done.job.dataset,
            runner.options,
            main.labels,
            main.effects,
            main.regions,
            region=main.given,
            pairs=PAIRS if options.pairs else 0,
        ), ""
    except DataError as error:
        return {}, str(error).splitlines()[0]


def _uncertainty(
    runner: ModelRunner, options: ContentOptions, *, trees_evaluated: bool
) -> tuple[UncertaintySection | None, str]:
    """Return the part about predictive uncertainty, or None and the reason."""
    if not options.uncertainty:
        return None, "The report was written with uncertainty=False."
    if not options.cuts.uncertainty:
        return None, "It was left out to keep to max_seconds or max_model_rows."
    ice = CURVES if options.rows else 0
    return explain_uncertainty(
        runner, options.features, runner.X, trees_evaluated=trees_evaluated, ice=ice
    )


def _trees_evaluated(runner: ModelRunner) -> bool:
    """Return whether the effects were computed from the tree structure, without calling the model."""
    notes = [str(p.provenance.get("trees", "")) for p in runner.passes]
    return any(note.startswith("exact") for note in notes)


def _kind_of_output(quantity: Quantity) -> str:
    if not isinstance(quantity, Probability):
        return "Output"
    return "Class" if quantity.label is None else "Label"


def _of_classes(quantity: Quantity) -> bool | None:
    """Return whether an entropy is that of classes; None if that is not known, or for another quantity."""
    if not isinstance(quantity, Entropy) or quantity.part != "total":
        return None
    return {"classes": True, "numbers": False}.get(quantity.predictor.labels.kind)


def _points(pdp: Effects) -> dict[str, int]:
    """Return the number of points that PDPs of called models were given, by feature."""
    grids = {name: effect.spec.parameters.get("grid") for name, effect in pdp.items()}
    return {n: int(g[n]) for n, g in grids.items() if isinstance(g, Mapping) and n in g}


def _on_others(found: Mapping[str, Regions]) -> dict[str, Regions]:
    """Return the regions of features without those that are defined by the feature itself."""

    def itself(name: str, regions: Regions) -> bool:
        conditions = [c for leaf in regions.leaves for c in leaf.conditions]
        return bool(conditions) and all(c.feature.name == name for c in conditions)

    return {name: r for name, r in found.items() if not itself(name, r)}


def _without_rows(section: ModelSection) -> ModelSection:
    """Return the section without any row of the data."""
    pairs, unsure = tuple(map(without_rows, section.interactions.surfaces)), section.uncertainty
    if unsure is not None:
        unsure = replace(unsure, rhale=without_rows(unsure.rhale), pdp=without_rows(unsure.pdp))
    return replace(
        section,
        regions={
            name: replace(
                r, effects=tuple(map(without_rows, r.effects)), whole=without_rows(r.whole)
            )
            for name, r in section.regions.items()
        },
        rhale=without_rows(section.rhale),
        ale=without_rows(section.ale),
        pdp=without_rows(section.pdp),
        mplot=without_rows(section.mplot),
        interactions=replace(section.interactions, surfaces=pairs),
        uncertainty=unsure,
        passes=tuple(ReportPass({**p.provenance}) for p in section.passes),
    )


# ----------------------------------------------------------------------- the content of a report
def gather(
    models: ModelLike | Models[ModelLike],
    X: TableLike,
    y: ArrayLike | None = None,
    *,
    features: Sequence[str | int] | str | int | FeatureList = None,
    notes: Mapping[str, str] | None = None,
    pairs: int = 4,
    rows: bool | Sequence[int] = True,
    uncertainty: bool = True,
    regions: bool = True,
    by: GivenRegions | None = None,
    observed: bool = True,
    split: SplitBy | None = None,
    max_seconds: float | None = None,
    ignore: IgnoreByFeature = None,
    old: OldRows | None = None,
    **keywords: Unpack[ReportKeywords],
) -> ReportContent:
    """Explain each model by RHALE, ALE, M-plots and PDP with c-ICE, and derive the other parts of a report."""
    _check(pairs, uncertainty, regions, observed)
    started, max_seconds = time.perf_counter(), check_max_seconds(max_seconds)
    single, given = named_rows(rows)
    quantities, target = _named(models), _name_of(y)
    if target:
        quantities = {n: with_target(q, shorten(target, ROOM)) for n, q in quantities.items()}
    options = ExplainOptions.of("report", y=y, observed=bool(observed), split=split, **keywords)
    max_model_rows = options.max_model_rows
    # The limit is that of the page: no pass has one of its own.
    options = replace(options, max_model_rows=None)
    # A tuple is a list of features here, and not a pair.
    several = list(features) if isinstance(features, tuple) else features
    wanted = as_features(X, several, "report(features)")
    if given:
        # The page is about a sample of rows beyond memory, in which a row may not be.
        fix = "Read a part into memory: data.take(rows), or a data frame"
        require_rows(
            X,
            "report(rows)",
            "rows at given positions",
            "True or False, for drawn rows or none",
            fix,
        )
    drawn = draw_rows(X, ROWS_OF_CHUNKS, options)
    # Labels may be a column of files. Without any, a split is refused.
    options = replace(drawn.options, observed=bool(observed) and drawn.options.y is not None)
    dataset = as_dataset(
        drawn.X, options.y, options.sample_weight, options.schema, sample=options.row_sample
    )
    places_of(dataset, given)  # a wrong position is reported before the model is called
    chosen, left_out, remarks = _select_features(dataset, wanted, options.groups)
    names = [f.name for f in chosen]
    shown = ContentOptions(
        features=tuple(chosen),
        pairs=int(pairs),
        rows=single,
        uncertainty=bool(uncertainty),
        regions=bool(regions),
        by=by,
        given=given,
        ignore=check_ignore("report(ignore)", ignore, names),
    )
    runners = {
        name: ModelRunner(one, drawn.X, _observing(options, one, dataset))
        for name, one in quantities.items()
    }
    with one_call():
        budget = _budget(runners, shown, max_seconds, max_model_rows, started)
    shown = replace(shown, cuts=budget.cuts)
    sections, used = list[ModelSection](), list[ModelRunner]()
    with one_call() as work:
        work.is_cost_checked = budget.is_timed  # by the page, for all passes
        work.expected = max(work.expected, work.rows + budget.rows if budget.seconds > LONG else 0)
        if not budget.is_timed:
            work.after_check = budget.warn_once_timed
        for (name, whole), demand in zip(runners.items(), budget.demands, strict=True):
            runner = _within(whole, budget, shown)
            used.append(runner)
            # The caller's rows: code does not name a sample that was drawn here.
            # Mean labels are asked for by the code of the figures that show them.
            of_caller = replace(
                replace(runner.options, **UNOBSERVED), sample_weight=options.sample_weight
            )
            call = _user_call(models, name, of_caller, runner.quantity)
            note = (notes or {}).get(name, "")
            sections += build_sections(
                runner, shown, name, note, call, demand.measured, budget.record
            )
            # Models on the same axes have the same figures.
            shown = replace(shown, pdp=tuple(sections[0].pdp))
    sections, changed = _with_changes(sections, used, old, (max_model_rows, max_seconds), started)
    return ReportContent(
        changed=changed,
        sections=tuple(sections),
        rows=min(budget.cuts.rows or len(dataset), len(dataset)),
        columns=len(dataset.features),
        features=_by_importance(sections, names),
        left_out=tuple(left_out),
        remarks=(*_on_the_sample(dataset, drawn.note), *remarks, *budget.left_out),
        target=target,
    )


def _with_changes(
    sections: list[ModelSection],
    runners: Sequence[ModelRunner],
    old: OldRows | None,
    limits: tuple[int | None, float | None],
    started: float,
) -> tuple[list[ModelSection], PageChanges]:
    """Return what changed, and the sections with its cost, which the first one of the last model has."""
    passes = [{**p.provenance} for section in sections for p in section.passes]
    rows, seconds = limits
    left = None if seconds is None else seconds - (time.perf_counter() - started)
    changed = what_changed(runners, old, rows_left(passes, rows, left))
    made = next((d.provenance for d in changed.drifts.values()), {})
    if not made.get("model_calls"):
        return sections, changed
    k = next(k for k, s in enumerate(sections) if s.of == sections[-1].of)
    with_cost = (*sections[k].passes, ReportPass({"settings": {}, **made}))
    return [*sections[:k], replace(sections[k], passes=with_cost), *sections[k + 1 :]], changed


def _on_the_sample(dataset: Dataset, note: str) -> Iterator[str]:
    """Yield of which rows the page is about, if these are not all."""
    if note:
        yield f"The data are read in chunks. This page is about {note}."
    elif dataset.origin:
        drawn_of = f"{len(dataset):,} of {dataset.origin['source_rows']:,} rows"
        yield f"This page is about a random sample of {drawn_of}."


def _budget(
    runners: Mapping[str, ModelRunner],
    options: ContentOptions,
    max_seconds: float | None,
    max_model_rows: int | None,
    started: float,
) -> Budget:
    """Return what the report will cost, and what is left out; warn if it takes long.

    A limit is kept before the models are called, but for their time, unless they may be trees that are not called.
    """
    before = (max_seconds is not None or max_model_rows is not None) and not any(
        may_be_trees(q.quantity, q.options.tree) for q in runners.values()
    )
    demands: list[Demand] = []
    for one in runners.values():
        if before:
            dataset = one.dataset()
            timing = NOT_TIMED if max_seconds is None else timed(one.quantity, dataset)
            demand = demand_without_model(
                one.quantity, one.X, dataset, one.options, options, timing
            )
        else:
            job = one.prepare(options.names())
            demand = demand_of(one.quantity, one.X, job, options, max_seconds, max_model_rows)
        demands.append(demand)
    spent = time.perf_counter() - started
    budget = Budget.of(demands, len(options.features), max_seconds, max_model_rows, spent)
    if not before:
        budget.warn()
    return budget


def _within(runner: ModelRunner, budget: Budget, options: ContentOptions) -> ModelRunner:
    """Return the runner of a model for the rows that the budget allows."""
    cuts, prepared = budget.cuts, runner.prepared
    runner = replace(runner, announced=budget.is_timed)
    if cuts.score_rows is not None:
        changed = replace(runner.options, heterogeneity_rows=cuts.score_rows)
        if prepared is not None:
            prepared = replace(prepared, options=changed)
        runner = replace(runner, options=changed, prepared=prepared)
    if cuts.rows is not None:
        changed = sampled(runner.options, runner.X, cuts.rows, options.given)
        runner = replace(runner, options=changed, prepared=None)
    return runner


def _observing(options: ExplainOptions, quantity: Quantity, dataset: Dataset) -> ExplainOptions:
    """Return the options of a quantity, without mean labels if it has none to be compared with."""
    if not options.observed:
        return options
    several = isinstance(quantity, MultiOutputQuantity)
    parts = list(quantity.parts.values()) if several else [quantity]
    try:
        for part in parts:
            check_labels(part, dataset)
    except (DataError, UnsupportedError):  # the part on quality says why
        parts = []
    return options if parts else replace(options, **UNOBSERVED)


def _check(pairs: object, uncertainty: object, regions: object, observed: object) -> None:
    check_int("report(pairs)", pairs, 0, "Use pairs=4")
    check_flag("report(uncertainty)", uncertainty, "Use uncertainty=False")
    check_flag("report(regions)", regions, "Use regions=False")
    check_flag("report(observed)", observed, "Use observed=False")


ROOM = 30
"""Longest name of the labels in the name of a quantity."""


def _name_of(y: ArrayLike | None) -> str:
    """Return the name of labels that are a series; empty for others."""
    series = nw.from_native(y, series_only=True, pass_through=True)
    name = series.name if isinstance(series, nw.Series) else None
    return "" if name is None else str(name).strip()


def _user_call(
    models: ModelLike | Models[ModelLike],
    name: str,
    options: ExplainOptions,
    quantity: Quantity,
) -> Call:
    """Return how the user's code refers to a model."""
    if isinstance(models, Mapping):
        key = next(k for k in models if str(k) == name)
        given, text = models[key], f"models[{key!r}]"
    elif isinstance(models, (list, tuple)):
        k = int(name.removeprefix(NUMBERED))
        given, text = models[k], f"models[{k}]"
    else:
        given, text = models, "model"
    bare = ""
    if isinstance(given, Quantity):
        bare = f"{text}.one.model" if isinstance(given, MultiOutputQuantity) else f"{text}.model"
        if given.labelled:
            return Call(text, options, bare=bare)
    elif isinstance(quantity, MultiOutputQuantity):
        text, bare = f"sd.probability({text}, class_='all')", text
    return Call(text, replace(options, y=None), bare=bare)


NUMBERED = "model "
"""What the name of a model without a name begins with; its number follows."""


def _title(quantity: Quantity) -> str:
    """Return the name of a quantity's model: its class, or those of several."""
    if len(quantity.models) == 1:
        return title(model_of(quantity) or quantity)
    return " and ".join(dict.fromkeys(map(title, quantity.models)))


def _named(models: ModelLike | Models[ModelLike]) -> dict[str, Quantity]:
    """Return quantities by name; a single model is named after its class."""
    if isinstance(models, Printed):  # Effects are a mapping, too
        raise result_error("report(models)", models, "a model, or several by name")
    if isinstance(models, (list, tuple)):
        models = {f"{NUMBERED}{k}": one for k, one in enumerate(models)}
    if not isinstance(models, Mapping):
        quantity = as_quantity(models, every=True)
        return {_title(quantity): quantity}
    if not models:
        raise DataError("report", "no model", "at least one", 'Pass a model, or {"name": model}')
    quantities = [as_quantity(model, every=True) for model in models.values()]
    return dict(zip(model_names(models), quantities, strict=True))


def _select_features(
    dataset: Dataset, wanted: object, groups: Groups | None
) -> tuple[list[Feature], list[str], list[str]]:
    """Return the features to explain, the names of those with too many levels, and remarks on others left out."""
    choice = FeatureSelection(dataset, wanted, groups, free=True)
    if choice.pairs:
        raise UnsupportedError(
            "report(features)",
            f"the pair {[f.name for f in choice.asked[0]]}",
            "single features",
            "Explain a pair with sd.explain(model, X, (a, b)).plot()",
        )
    found, skipped = choice.usable(as_method(None))
    remarks = {"no values": skipped[NoValues], "out of range": skipped[OutOfRange]}
    return (
        [task.feature for task in found.values()],
        list(skipped[TooManyLevels]),
        [tell(UNEXPLAINED[k], names=listed(list(n), 20)) for k, n in remarks.items() if n],
    )


def _by_importance(sections: Sequence[ModelSection], names: list[str]) -> tuple[str, ...]:
    """Return the features by the largest fraction of importance in any model: models may differ in their units."""
    shares = largest_shares([[one.rhale[n].importance for n in names] for one in sections])
    order = np.argsort(-shares, kind="stable")
    return tuple(names[j] for j in order)
