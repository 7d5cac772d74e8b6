"""Explain several fitted models of the same quantity on shared cells."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from skedasis._progress import current_work
from skedasis._types import Floats, Ints, Json, JsonValue, ResultKey, TableLike
from skedasis.binning import Binning, BinSegments, VarianceOptions
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Column
from skedasis.data.dataset import AnyColumn, Dataset
from skedasis.engine.assemble import (
    Results,
    abouts_of,
    collect_results,
    finalize,
    finalize_task,
    provenance,
    warn_unused_arguments,
)
from skedasis.engine.budget import PlannedCall, announce, within_limit
from skedasis.engine.compare import annotate_model_index, check_several
from skedasis.engine.cross_validation import Folds, as_folds
from skedasis.engine.curves import with_curves
from skedasis.engine.heterogeneity_score import Scores, compute_scores
from skedasis.engine.options import ExplainOptions
from skedasis.engine.prepare import Job, Plans, TaskKey, prepare_job, resolve_method_and_selection
from skedasis.engine.rounds import (
    add_round,
    check_slopes,
    keep_missing_moments,
    restricted_job,
    should_replace_slopes,
    step_function_info,
    with_slopes,
)
from skedasis.engine.run import GatheredStats, run
from skedasis.engine.select import AnyPlan, FeatureTask, PairTask, Task, as_method
from skedasis.errors import DataError, ModelOutputError
from skedasis.methods.ale_categorical import LevelPlan
from skedasis.methods.ale_pairs import PairPlan
from skedasis.methods.base import AnyFeatureMethod, MethodResult
from skedasis.methods.missing import OF_MISSING
from skedasis.methods.pdp import PairGrid
from skedasis.methods.plans import BatchStats, CellPlan, NumericPlan, RowArrays
from skedasis.models.adapters import DerivativeInfo, LocalEffectKind
from skedasis.models.introspection import fitted_names, fitted_width, labels_of
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import as_quantity, listed
from skedasis.results.build.linear_form import AXIS, LOCAL
from skedasis.results.effect import BinStats, Effect
from skedasis.results.multi_model import AnyMultiModel, combine_models
from skedasis.results.multi_output import MultiOutput
from skedasis.results.provenance import COSTS, summed_costs
from skedasis.stats.grid import Cells
from skedasis.stats.heterogeneity_score import HeterogeneityScore
from skedasis.stats.moments import Moments

# ------------------------------------------------------------------------------------------
# Validation: the models must have the same quantity, columns, classes and outputs.


def quantities_of(models: Sequence[Any]) -> list[Quantity]:
    """Return the quantities of models that are averaged; raise if they are not of one kind."""
    check_several(models)
    found: list[Quantity] = []
    for i, model in enumerate(models):
        with annotate_model_index(i, len(models)):
            try:
                found.append(as_quantity(model))
            except ModelOutputError as error:
                each = "[sd.probability(m, class_=...) for m in models]"
                error.add_note(f"Choose one for each model: {each}.")
                raise
    check_equal([fitted_width(q.model) for q in found], "columns")
    check_equal([fitted_names(q.model) for q in found], "columns' names")
    check_equal(
        [labels_of(q.model) or getattr(q.model, "classes_", None) for q in found], "classes"
    )
    check_equal([q.name for q in found], "quantities")
    check_equal([q.scale for q in found], "scales")
    return found


def check_equal(values: Sequence[Any], what: str) -> None:
    """Raise if the values that are not None differ between models."""
    known = [(i, v if np.ndim(v) == 0 else np.asarray(v).tolist()) for i, v in enumerate(values)]
    known = [(i, v) for i, v in known if v is not None]
    for i, value in known:
        if value != known[0][1]:
            first = f"{known[0][1]!r}"[:60], f"{value!r}"[:60]
            raise DataError(
                f"models: {what}",
                f"{first[0]} of model {known[0][0]} and {first[1]} of model {i}",
                "the same for every model, of which the mean is explained",
                "Compare them: leave out refits=True, cv and correction",
            )


# ------------------------------------------------------------------------------------------
# Restriction of plans to the rows of one model: cells stay, summaries of columns are computed from these rows.


@dataclass(frozen=True, eq=False)
class RowSubset:
    """The rows on which one of several models is explained."""

    rows: Ints
    parts: tuple[Ints, ...]

    def restrict(
        self, dataset: Dataset, tasks: list[Task], plans: Plans
    ) -> tuple[Dataset, list[Task], Plans]:
        """Return dataset, tasks and plans of these rows, with the same grids, bins and levels."""
        if all(len(rows) == len(dataset) for rows in self.parts):
            return dataset, tasks, plans
        some = some_rows(dataset, self.rows)
        own = [t.with_columns(lambda column: _column(column, self.rows, some)) for t in tasks]
        of = {t.key: t for t in own}
        plans = {key: _plan(plan, of[key[1]]) for key, plan in plans.items()}
        return some, own, plans


def some_rows(dataset: Dataset, rows: Ints) -> Dataset:
    """Return a dataset with the rows that one model is explained on. Unlike a sample, these are all its rows."""
    if len(rows) == len(dataset):
        return dataset
    return replace(dataset.subset(rows), sampled=dataset.sampled)


def _column(column: AnyColumn, rows: Ints, some: Dataset) -> AnyColumn:
    if isinstance(column, LevelColumn):
        return _levels(column, rows, some)
    if not isinstance(column, Column):
        return column
    x = some.floats(column.feature.position)
    if np.isnan(x).all():
        raise _only_missing(column.feature.name, len(x))
    return Column(column.feature, x, some.weights, column.dtype, sampling=some.sampling_weights)


def _levels(column: LevelColumn, rows: Ints, some: Dataset) -> LevelColumn:
    """Return a categorical feature's column for some rows, with all its levels, also those absent from these rows."""
    codes, size = column.codes[rows], len(column.levels)
    there = codes >= 0
    if not there.any():
        raise _only_missing(column.feature.name, len(codes))
    count = np.bincount(codes[there], minlength=size)
    weights = None if some.weights is None else some.weights[there]
    weight = np.bincount(codes[there], weights, minlength=size).astype(float)
    left = int(np.count_nonzero(~there))
    missing_is_level = column.feature.kind == "nominal" and None in column.levels.values
    missing = int(count[column.levels.values.index(None)]) if missing_is_level else 0
    if not missing_is_level and not column.n_other:
        missing = left
    return replace(
        column,
        codes=codes,
        weights=some.weights,
        count=count.astype(np.int64),
        weight=weight,
        missing=missing,
        n_other=left if column.n_other else 0,
        dataset=some,
    )


def _only_missing(feature: str, rows: int) -> DataError:
    return DataError(
        f"feature {feature!r}",
        f"only missing values in the {rows:,} rows of one of the models",
        "at least one value for each model",
        "Use fewer folds, or explain other features",
    )


def _plan(plan: AnyPlan, task: Task) -> AnyPlan:
    """Return a plan with the same cells for the rows of the task's columns."""
    if isinstance(plan, PairPlan | PairGrid) and isinstance(task, PairTask):
        first, second = (s.for_column(c) for s, c in zip(plan.sides, task.columns, strict=True))
        return replace(plan, sides=(first, second))
    if isinstance(task, PairTask):
        return plan
    if isinstance(plan, LevelPlan) and isinstance(task.column, LevelColumn):
        return LevelPlan.of(task.column, plan.order, plan.chosen)
    if isinstance(plan, NumericPlan) and isinstance(task.column, Column):
        plan = replace(plan, column=task.column.summary())
        if isinstance(plan, CellPlan) and plan.nearest is not None:
            return replace(plan, nearest=task.column.nearest(plan.nearest.across[::2]))
    return plan


# ------------------------------------------------------------------------------------------
# Shared decisions: the kind of local effect, and the bins.


_KINDS: tuple[LocalEffectKind, ...] = (
    "slopes",
    "differences",
    "steps",
    "edges",
    "levels",
    "values",
    "none",
)
"""Kinds of local effects. A model that supports one of them also supports the later ones."""


_KIND_OF_QUANTITY: dict[LocalEffectKind, LocalEffectKind] = {
    "value_steps": "differences",
    "integer_steps": "differences",
}
"""Kinds that were chosen for a feature, and the kind of the quantity from which they follow."""


@dataclass(frozen=True, eq=False)
class ModelRun:
    """The run of one model: its job, batch statistics, scores, and the seconds it took."""

    job: Job
    gathered: GatheredStats
    scores: Scores
    seconds: float

    def note(self, key: TaskKey, name: str, value: object) -> None:
        """Add to the provenance of a result; it is in the plan, because results are finalized again."""
        plan = self.job.plans[key]
        if isinstance(plan, CellPlan):
            self.job.plans[key] = replace(plan, notes={**plan.notes, name: value})


def common_derivative_info(jobs: Sequence[Job]) -> dict[TaskKey, DerivativeInfo]:
    """Return the kind of local effect that all models support, for features whose cells would differ between models."""
    agreed: dict[TaskKey, DerivativeInfo] = {}
    for key in jobs[0].plans:
        plans = [p for p in (job.plans[key] for job in jobs) if isinstance(p, NumericPlan)]
        if len(plans) < len(jobs) or _same_cells(plans):
            continue
        kinds: list[LocalEffectKind] = [
            _KIND_OF_QUANTITY.get(p.derivative_info.kind, p.derivative_info.kind) for p in plans
        ]
        local: LocalEffectKind = max(kinds, key=_KINDS.index)
        infos = [p.derivative_info for p in plans]
        said = "differences, the kind of local effect that all models support"
        agreed[key] = DerivativeInfo(
            local, said, all(i.exact for i in infos), partial(_all_jumps, infos)
        )
    return agreed


def _all_jumps(infos: Sequence[DerivativeInfo]) -> Floats | None:
    """Return the jumps of several models; None if those of one are not known."""
    jumps = [info.jumps() for info in infos]
    known = [j for j in jumps if j is not None]
    return np.unique(np.concatenate(known)) if len(known) == len(jumps) else None


def _same_cells(plans: Sequence[NumericPlan]) -> bool:
    """Return whether all plans have the same kind of local effect and the same cells."""
    steps = {p.derivative_info.kind == "steps" for p in plans}
    places = [p.positions for p in plans]
    return len(steps) == 1 and all(np.array_equal(places[0], p) for p in places)


@dataclass(frozen=True)
class _ChosenBins(Binning):
    """Bins that were chosen from the pooled moments of all models."""

    scheme: Binning
    description: dict[str, JsonValue] | str
    segments_: BinSegments

    def candidates(self, column: Any) -> Cells:
        return self.scheme.candidates(column)

    def choose(self, cells: Cells, moments: Moments, options: VarianceOptions) -> Ints:
        return self.segments_.edge_index

    def segments(self, cells: Cells, moments: Moments, options: VarianceOptions) -> BinSegments:
        return self.segments_

    def describe(self) -> dict[str, JsonValue] | str:
        """Return the scheme as the user gave it."""
        return self.description


def choose_shared_bins(found: Sequence[ModelRun]) -> dict[TaskKey, AnyFeatureMethod]:
    """Choose bins that depend on the local effects from those of all models; return the variants with them."""
    variants: dict[TaskKey, AnyFeatureMethod] = {}
    job = found[0].job
    for key, task in _features_of(job):
        scheme = task.variant.choosing_scheme()
        if scheme is None:
            continue
        plan, pooled = _pooled(found, key)
        if isinstance(plan, CellPlan) and plan.on_cells:
            continue  # `run_shared_rounds` chose their bins
        (about,) = abouts_of(job, key[0], task)
        kind = job.options.weight_kind
        whole = task.variant.finalize(plan, pooled, about, exact=True, kind=kind)
        if not isinstance(whole, Effect) or whole.bins is None or len(whole.bins) == 0:
            continue
        cells = whole.cells
        if isinstance(plan, CellPlan) and cells is not None and len(cells) != len(plan.cells):
            plan = replace(plan, cells=cells)
            _refine_cells(found, key, cells)
        said = whole.provenance.get("bins")
        if said is not None:
            for model_run in found:
                model_run.note(key, "bins", said)
        bins = task.variant.describe()["bins"]
        named = bins if isinstance(bins, str) else scheme.describe()
        chosen = _ChosenBins(scheme, named, _segments(plan, whole, whole.bins))
        variants[key] = task.variant.with_scheme(chosen)
    return variants


def _features_of(job: Job) -> Iterator[tuple[TaskKey, FeatureTask]]:
    """Yield the tasks of single features, for each output."""
    for task in job.tasks:
        if isinstance(task, FeatureTask):
            for label in job.outputs:
                yield (label, task.key), task


def run_shared_rounds(found: Sequence[ModelRun]) -> None:
    """Choose bins of step functions from the moments of all models, and each model's differences across them."""
    job = found[0].job
    chosen: dict[TaskKey, Cells] = {}
    for key, task in _features_of(job):
        plan = job.plans[key]
        if not isinstance(plan, CellPlan) or not plan.on_cells:
            continue
        whole, pooled = _pooled(found, key)
        (about,) = abouts_of(job, key[0], task)
        score, kind = _mean_score(found, key), job.options.weight_kind
        more = task.variant.next_round(whole, pooled, score, about, kind)
        if isinstance(more, CellPlan) and more.difference_bins is not None:
            chosen[key] = more.difference_bins
    for model_run in found:
        plans: dict[TaskKey, AnyPlan] = {}
        for key, cells in chosen.items():
            plan = model_run.job.plans[key]
            if isinstance(plan, CellPlan):
                plans[key] = replace(plan, difference_bins=cells)
        add_round(model_run.job, plans, model_run.gathered)


def _mean_score(found: Sequence[ModelRun], key: TaskKey) -> HeterogeneityScore | None:
    """Return the root mean square of the models' scores, with the means of their standard deviations and ranges."""
    scores = [model_run.scores.found[key] for model_run in found if key in model_run.scores.found]
    if len(scores) < len(found):
        return None
    value = float(np.sqrt(np.mean([s.value**2 for s in scores])))
    spread = float(np.mean([s.quantity_std for s in scores]))
    extent = float(np.mean([s.quantity_range for s in scores]))
    return replace(scores[0], value=value, quantity_std=spread, quantity_range=extent)


def _segments(plan: AnyPlan, whole: Effect, bins: BinStats) -> BinSegments:
    """Return the bins of an effect as indices of the planned edges, or of levels."""
    trend = bins.slope_change != 0 if np.any(bins.slope_change) else None
    if isinstance(plan, CellPlan):
        return BinSegments(np.searchsorted(plan.cells.edges, bins.edges), trend)
    if whole.levels is None:
        raise TypeError("bins of a categorical feature require its levels")
    places = whole.levels.codes
    return BinSegments(np.append(places(bins.low), places(bins.high[-1:])), trend)


def _pooled(found: Sequence[ModelRun], key: TaskKey) -> tuple[AnyPlan, BatchStats]:
    """Return the planned cells, and the pooled moments and rows of all models' local effects on them."""
    plans = [model_run.job.plans[key] for model_run in found]
    local: list[BatchStats] = []
    for model_run, plan in zip(found, plans, strict=True):
        moments = model_run.gathered[key].moments
        if isinstance(plan, CellPlan) and plan.coarse is not None:
            coarse = plan.coarse
            moments = {
                k: m.pool(coarse[:-1]) if k in (LOCAL, AXIS) else m for k, m in moments.items()
            }
        local.append(BatchStats(moments, {}, model_run.gathered[key].largest))
    shared = set.intersection(*(set(part.moments) for part in local)) - {*OF_MISSING}
    pooled = reduce(
        BatchStats.merge, [replace(p, moments={k: p.moments[k] for k in shared}) for p in local]
    )
    ids = [model_run.job.dataset.identifiers for model_run in found]
    fraction = len(np.unique(np.concatenate(ids))) / sum(map(len, ids))
    moments = {k: _scaled(m, fraction) for k, m in pooled.moments.items()}
    plan = plans[0]
    if isinstance(plan, CellPlan) and plan.coarse is not None:
        plan = replace(plan, cells=plan.cells.merge(plan.coarse), coarse=None)
    rows: RowArrays = {}
    if isinstance(plan, CellPlan) and all(model_run.job.sample is None for model_run in found):
        rows = _rows([model_run.gathered[key].kept for model_run in found], fraction)
    return plan, replace(pooled, moments=moments, kept=rows)


def _rows(kept: Sequence[RowArrays], fraction: float) -> RowArrays:
    """Return the concatenated row arrays of all models."""
    if not all("effect" in rows for rows in kept):
        return {}
    weights = [rows.get("weight", np.ones(len(rows["x"]))) * fraction for rows in kept]
    names = [name for name in ("x", "effect", "across") if name in kept[0]]
    joined = {name: np.concatenate([rows[name] for rows in kept]) for name in names}
    return {**joined, "weight": np.concatenate(weights)}


def _scaled(moments: Moments, fraction: float) -> Moments:
    count, weight, weight2 = (size * fraction for size in moments.sizes)
    return Moments(count, weight, weight2, moments.mean, moments.m2 * fraction)


def _refine_cells(found: Sequence[ModelRun], key: TaskKey, cells: Cells) -> None:
    """Recompute the moments of all models from their rows, on cells with more edges."""
    for model_run in found:
        local = model_run.gathered[key]
        r = local.kept
        cell = cells.locate(r["x"])
        moments = Moments.of(r.get("across", r["effect"]), cell, len(cells), r.get("weight"))
        axis = Moments.of(r["x"], cell, len(cells), r.get("weight"), like=moments)
        model_run.gathered[key] = replace(
            local, moments={**local.moments, LOCAL: moments, AXIS: axis}
        )
        plan = model_run.job.plans[key]
        if isinstance(plan, CellPlan):
            model_run.job.plans[key] = replace(plan, cells=cells)


# ------------------------------------------------------------------------------------------
# Run all models and combine their results.


_SUMMED = ("floored_rows", "seconds")


_EACH = ("quantity", "rows", "weight", "rows_kept", "kept_as_wanted", "trees", *COSTS, *_SUMMED)


def explain_several(
    given: Sequence[object] | Mapping[str, object],
    X: TableLike,
    features: Any,
    method: Any,
    options: ExplainOptions,
) -> Any:
    """Explain the mean of several fitted models of the same quantity; see `explain`."""
    models, names = listed(given)
    quantities = quantities_of(models)
    if isinstance(options.cv, Iterator):
        options = replace(options, cv=list(options.cv))
    dataset = options.dataset(X)
    folds = as_folds(options.cv, len(models), dataset, X, options.y)
    current_work().times = float(len(models))
    share, sample = max(map(len, folds.parts)) / len(dataset), options.sample
    for quantity in quantities:
        # What a model needs less of, the others do without too.
        options = within_limit(PlannedCall(quantity, X, features, method, share=share), options)
    if options.sample != sample:
        dataset = options.dataset(X)
        folds = as_folds(options.cv, len(models), dataset, X, options.y)
    if options.correction is not None:
        folds = replace(folds, correction=options.correction, chosen="given")
    warn_unused_arguments(method, models[0], options.y)
    # The models share the memory for kept rows.
    options = replace(options, keep_rows=options.keep_bytes // len(models))
    call = _Call(quantities, dataset, features, method, folds, options)
    found = _run_models(call)
    _replace_slopes(call, found)
    run_shared_rounds(found)
    variants = choose_shared_bins(found)
    finalized = [_finalized(o, variants) for o in found]
    records = [{**provenance(o.job, o.scores), "seconds": o.seconds} for o in found]
    record = {**_record(records, found, folds), **names}
    first = found[0].job
    results = {
        k: _results(found, [f[k] for f in finalized], folds, (record, records))
        for k in first.outputs
    }
    return results[None] if first.single else MultiOutput(results)


@dataclass(frozen=True, eq=False)
class _Call:
    """The checked arguments of `explain` for several models."""

    quantities: Sequence[Quantity]
    dataset: Dataset
    features: Any
    method: Any
    folds: Folds
    options: ExplainOptions

    def prepare(self, agreed: Mapping[TaskKey, DerivativeInfo]) -> list[Job]:
        """Return each model's job."""
        by_rows = as_method(self.method).donor_rows > 0
        options, parts = self.options, self.folds.parts
        prepared: list[Job] = []
        for i, (quantity, rows) in enumerate(zip(self.quantities, parts, strict=True)):
            with annotate_model_index(i, len(parts)):
                own, part = quantity.prepare(self.dataset), RowSubset(rows, parts)
                if by_rows:
                    own, part = some_rows(own, rows), None
                method, selection = resolve_method_and_selection(
                    self.method, quantity, own, self.features, options
                )
                prepared.append(prepare_job(quantity, method, selection, options, part, agreed))
        return prepared


def _run_models(call: _Call) -> list[ModelRun]:
    """Prepare every model on shared cells, then run each on its rows."""
    started = time.perf_counter()
    prepared = call.prepare({})
    check_equal([sorted(map(str, job.outputs)) for job in prepared], "outputs")
    agreed = common_derivative_info(prepared)
    if agreed:
        before, prepared = prepared, call.prepare(agreed)
        for first, job in zip(before, prepared, strict=True):
            job.checked.stats.add(first.checked.stats)
    found: list[ModelRun] = []
    announce(prepared)
    for i, job in enumerate(prepared):
        with annotate_model_index(i, len(prepared)):
            gathered = run(job)
            scores = compute_scores(job)
        found.append(ModelRun(job, gathered, scores, time.perf_counter() - started))
        started = time.perf_counter()
    return found


def _replace_slopes(call: _Call, found: list[ModelRun]) -> None:
    """Treat all models as step functions of the features for which the slopes of one model fail the check."""
    failed: dict[TaskKey, DerivativeInfo] = {}
    plans = [item for model_run in found for item in model_run.job.plans.items()]
    given = {
        key for key, plan in plans if isinstance(plan, NumericPlan) and plan.derivative_info.given
    }
    for model_run in found:
        job = model_run.job
        keys = [key for key, _, _ in with_slopes(job)]
        results = finalize(job, model_run.gathered, model_run.scores, keys)
        for key, check in check_slopes(job, results).items():
            if key not in given and should_replace_slopes(model_run.job, key, check):
                failed.setdefault(key, step_function_info(model_run.job, key, check))
            model_run.note(key, "slope_check", check.record)
    if not failed:
        return
    for model_run, job in zip(found, call.prepare(failed), strict=True):
        model_run.job.checked.stats.add(job.checked.stats)
        model_run.job.plans.update({key: job.plans[key] for key in failed})
        later = run(restricted_job(model_run.job, list(failed)))
        for key, local in later.items():
            model_run.gathered[key] = keep_missing_moments(local, model_run.gathered[key])


def _finalized(model_run: ModelRun, variants: dict[TaskKey, AnyFeatureMethod]) -> Results:
    """Return the results of one model by output and key."""
    job, gathered, scores = model_run.job, model_run.gathered, model_run.scores
    results: Results = {label: {} for label in job.outputs}
    for label, by_key in results.items():
        for task in job.tasks:
            key, final = (label, task.key), task
            if key in variants and isinstance(task, FeatureTask):
                final = replace(task, variant=variants[key])
            by_key[task.key] = finalize_task(job, label, final, gathered.pop(key), scores)
    return with_curves(job, results) if job.options.curves else results


def _results(
    found: Sequence[ModelRun],
    finalized: Sequence[dict[ResultKey, MethodResult]],
    folds: Folds,
    provenances: tuple[Json, Sequence[Json]],
) -> AnyMultiModel:
    """Return the combined results of one output. `provenances` has the common record, and that of each model."""
    record, records = provenances
    each = [
        collect_results(model_run.job, results, own)
        for model_run, results, own in zip(found, finalized, records, strict=True)
    ]
    return combine_models(each, folds.correction, folds.overlap, record)


def _record(records: Sequence[Json], found: Sequence[ModelRun], folds: Folds) -> Json:
    """Return the common provenance: entries that are equal for all models, and the sums of their costs."""
    summed = {k: sum(r.get(k, 0) for r in records) for k in _SUMMED if any(k in r for r in records)}
    return {
        **{k: v for k, v in records[0].items() if k not in _EACH},
        "models": len(found),
        "quantities": [r["quantity"] for r in records],
        "cv": folds.description,
        "rows": [r["rows"] for r in records],
        "weight": [r["weight"] for r in records],
        "rows_of_several_models": folds.shared,
        "correction": folds.correction,
        "overlap": folds.overlap,
        "correction_chosen": folds.chosen,
        "score_exact": all(r["score_exact"] for r in records),
        **summed_costs(records),
        **summed,
    }
