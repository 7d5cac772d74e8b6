"""Finalize: from the statistics of the rows to results, and their provenance.

In: a job, and what was gathered of its rows. Out: the results of each output, as the caller gets them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from skedasis._progress import current_work
from skedasis._types import JsonValue, OutputLabel, ResultKey
from skedasis.data.categories import LevelColumn
from skedasis.data.dataset import AnyColumn, Dataset
from skedasis.data.features import Feature
from skedasis.data.gaps import Gap
from skedasis.engine.observed import OBSERVED, unlabelled_rows
from skedasis.engine.options import ExplainOptions
from skedasis.engine.prepare import Job, TaskKey
from skedasis.engine.run import GatheredStats, limits_model_threads
from skedasis.engine.select import FeatureTask, Task, as_method, names_of
from skedasis.engine.spread import spread_of
from skedasis.methods.base import MethodResult
from skedasis.methods.missing import OF_MISSING
from skedasis.methods.plans import BatchStats
from skedasis.quantities.base import Quantity
from skedasis.results.build.pdp import with_missing_point
from skedasis.results.effect import About, Effect
from skedasis.results.effects import Effects
from skedasis.results.provenance import add_cost, as_provenance
from skedasis.results.surface import Surface
from skedasis.results.surfaces import Surfaces
from skedasis.stats.ale_math import weighted_std

if TYPE_CHECKING:
    from skedasis.engine.heterogeneity_score import Scores


def warn_unused_arguments(method: object, model: object, y: object) -> None:
    """Warn about arguments that the requested method ignores, and raise if it lacks one."""
    if method is not None:
        as_method(method).warn_unused_arguments(model, y)


# ------------------------------------------------------------------------------------------
# Results from batch statistics.


Results: TypeAlias = dict[OutputLabel, dict[ResultKey, MethodResult]]
"""The results of a job, by output and by feature or pair."""


def finalize(
    job: Job, gathered: GatheredStats, scores: Scores, keys: Iterable[TaskKey]
) -> dict[TaskKey, MethodResult]:
    """Return results from the merged batch statistics: the only place where methods make them."""
    tasks = {task.key: task for task in job.tasks}
    return {
        (label, name): finalize_task(job, label, tasks[name], gathered[label, name], scores)
        for label, name in keys
    }


def finalize_task(
    job: Job, label: OutputLabel, task: Task, local: BatchStats, scores: Scores
) -> MethodResult:
    """Return the result of one feature or pair, with its heterogeneity score and the effect of missing values."""
    exact, abouts, kind = job.sample is None, abouts_of(job, label, task), job.options.weight_kind
    missing = {name: local.moments[k] for k, name in OF_MISSING.items() if k in local.moments}
    aside = {k: local.moments[k] for k in OBSERVED if k in local.moments}
    own = {k: m for k, m in local.moments.items() if k not in OF_MISSING and k not in aside}
    local = replace(local, moments=own)
    result = task.finalize(job.plans[label, task.key], local, abouts, exact=exact, kind=kind)
    if not isinstance(result, Effect):
        return result
    key, about = (label, task.key), result.about
    if job.observed is not None:
        means = job.observed.means(task.key, aside, job.outputs[label], result)
        result = replace(result, observed=means)
    result = replace(
        result, about=replace(about, quantity_mean=scores.quantity_mean(job, key, about))
    )
    if "missing" in local.notes:
        # The model rejected missing values in one batch: the mean over the other batches is not that of all rows.
        result = result.with_provenance({"missing": local.notes["missing"]})
    elif missing:
        donors = job.donors.get((label, task.key))
        result = with_missing_point(result, missing, exact=donors is None or donors.exact)
    score, spread = scores.found.get(key), scores.spreads.get(key)
    if score is None or not isinstance(task, FeatureTask):
        return result
    return replace(
        result,
        swap_score=score,
        depends_on=None if scores.swapped is None else scores.swapped.depends_on(label, task.key),
        spread=result.spread if spread is None else spread_of(result, spread, task),
        provenance={**result.provenance, "vif": score.vif},
    )


Explanation: TypeAlias = "MethodResult | Effects | Surfaces[Surface]"
"""What `explain` returns for one output."""


def collect_results(
    job: Job, found: Mapping[ResultKey, MethodResult], record: dict[str, JsonValue]
) -> Explanation:
    """Return the results of one output in the form that the caller gets: one result, `Surfaces` or `Effects`."""
    combined = job.method.combine_features(found, record)
    if combined is not None:
        return combined
    results = {key: result.with_provenance(record) for key, result in found.items()}
    if job.selection.single:
        return next(iter(results.values()))
    if job.selection.pairs:
        surfaces = {
            k: r for k, r in results.items() if isinstance(k, tuple) and isinstance(r, Surface)
        }
        return Surfaces(surfaces, as_provenance(record))
    effects = {k: r for k, r in results.items() if isinstance(k, str) and isinstance(r, Effect)}
    return Effects(effects, as_provenance(record))


# ------------------------------------------------------------------------------------------
# Metadata of results.


def provenance(job: Job, scores: Scores) -> dict[str, JsonValue]:
    """Return the record from which the results can be reproduced, with the seconds since the job began."""
    from skedasis import __version__

    requested = max(t.variant.n_rows_to_keep(len(job.dataset)) for t in job.tasks)
    enough = job.sample is None or job.n_kept >= requested
    unlabelled = 0 if job.observed is None else unlabelled_rows(job.dataset)
    return {
        "method": job.method.name,
        "settings": job.method.describe(),
        "quantity": job.quantity.describe(),
        "unit": job.quantity.unit,
        "rows": len(job.dataset),
        "weight": job.dataset.total_weight,
        "features": names_of(job.tasks),
        "random_state": job.options.seed,
        "exact": True,
        "rows_kept": "all" if job.sample is None else job.n_kept,
        "kept_as_wanted": enough,
        **_cost(job, scores),
        "score_exact": scores.exact,
        **({"floored_rows": job.stats.floored} if job.stats.floored else {}),
        **({"unlabelled_rows": unlabelled} if unlabelled else {}),
        **({"trees": job.trees, "tree_rows": job.stats.tree_rows} if job.trees else {}),
        "seconds": time.perf_counter() - job.started,
        **job.dataset.provenance,
        **limit_record(job.options),
        "n_jobs": job.options.n_jobs,
        **({"model_threads": 1} if limits_model_threads(job) else {}),
        "versions": {
            "skedasis": __version__,
            "numpy": np.__version__,
            "python": ".".join(map(str, sys.version_info[:3])),
        },
    }


def limit_record(options: ExplainOptions) -> dict[str, JsonValue]:
    """Return the limit of the model rows, and what is left out to keep to it; empty without a limit."""
    limit = options.max_model_rows
    return (
        {} if limit is None else {"max_model_rows": limit, "left_out": [*current_work().left_out]}
    )


def _cost(job: Job, scores: Scores) -> dict[str, JsonValue]:
    """Return the rows and calls of each part of the work, and of all."""
    cost: dict[str, JsonValue] = {}
    add_cost(cost, "effect", job.stats)
    add_cost(cost, "check", job.checked.stats)
    add_cost(cost, "score", scores.stats)
    if job.options.curves:
        add_cost(cost, "curve", job.curve_stats)
    return cost


def abouts_of(job: Job, label: OutputLabel, task: Task) -> tuple[About, ...]:
    """Return the description of the result's quantity and of each of its features."""
    return tuple(_about(job.outputs[label], job.dataset, c) for c in task.columns)


def _about(quantity: Quantity, dataset: Dataset, column: AnyColumn) -> About:
    name, unit, library = quantity.name, quantity.unit, dataset.library
    scale = quantity.scale
    if isinstance(column, Feature):
        return About(column, name, unit, library, scale=scale)
    feature = column.feature
    gaps: tuple[Gap, ...] = ()
    if isinstance(column, LevelColumn):
        # Of its codes, in the order of its levels.
        codes = np.arange(len(column.levels), dtype=float)
        std, dtype = weighted_std(codes, column.weight / column.weight.sum()), feature.dtype
    else:
        std, dtype, gaps = column.std, str(column.dtype), column.gaps
    return About(feature, name, unit, library, std, column.missing, dtype, gaps, scale=scale)
