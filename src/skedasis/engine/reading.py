"""What was asked for is settled before the work; from what was gathered the results are made after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from skedasis._types import Json
from skedasis.data.categories import LevelColumn
from skedasis.data.dataset import Source
from skedasis.data.features import Feature
from skedasis.engine.choose import Choice, Task, as_method
from skedasis.engine.prepare import Job, Key
from skedasis.engine.run import Gathered
from skedasis.methods.base import Local
from skedasis.methods.missing import MISSING
from skedasis.quantities.base import Quantity
from skedasis.results.build.pdp import with_missing
from skedasis.results.effect import About, Effect
from skedasis.results.effects import Effects
from skedasis.stats.moments import WeightKind

if TYPE_CHECKING:
    from skedasis.engine.scores import Scores


def results_of(
    job: Job,
    gathered: Gathered,
    scores: Scores,
    kind: WeightKind,
    known: Mapping[Key, Effect],
) -> dict[Any, dict[Any, Any]]:
    """Make the results of each output from what was gathered; `known` has those that are made already."""
    found: dict[Any, dict[Any, Any]] = {label: {} for label in job.outputs}
    for label, results in found.items():
        for task in job.tasks:
            key = label, task.key
            local = gathered.pop(key)
            made = known.get(key)
            results[task.key] = (
                read(job, label, task, local, scores, kind) if made is None else made
            )
    return found


def heed(method: Any, model: Any, y: Any) -> None:
    """Let a method that was asked for warn of what was given in vain; see `Parameters.heed`."""
    if method is not None:
        as_method(method).heed(model, y)


def settled(
    method: Any, quantity: Quantity, source: Source, features: Any, groups: Any, seed: int
) -> tuple[Any, Choice]:
    """Return the method for these rows, and what was asked for."""
    free = method is None
    if not free:
        method = as_method(method)
        source, groups = method.given(source, groups, seed)
    choice = Choice(source, features, groups, free=free)
    method = as_method(method, pair=choice.pairs)
    named = {f.name for f in source.features}
    method.check((*source.features, *(f for f in choice.features if f.name not in named)))
    return method.on(quantity, source, seed), choice


def together(found: dict[Any, Any], record: Json, choice: Choice, method: Any) -> Any:
    """Return what one output's results are handed over as."""
    joined = getattr(method, "together", None)
    if joined is not None:
        return joined(found, record)
    found = {name: result.with_provenance(record) for name, result in found.items()}
    if choice.single:
        return next(iter(found.values()))
    return found if choice.pairs else Effects(found, record)


def read(job: Job, label: Any, task: Task, local: Local, scores: Scores, kind: WeightKind) -> Any:
    """Make one result of what was gathered."""
    exact, about = job.sample is None, about_of(job, label, task)
    missing = local.moments.get(MISSING)
    local = replace(local, moments={k: m for k, m in local.moments.items() if k != MISSING})
    result = task.way.read(job.plans[label, task.key], local, about, exact=exact, kind=kind)
    if "missing" in local.notes:  # refused in one batch: what the others say is not the whole
        result = result.with_provenance({"missing": local.notes["missing"]})
    elif missing is not None:
        donors = job.donors.get((label, task.key))
        result = with_missing(result, missing, exact=donors is None or donors.exact)
    score = scores.found.get((label, task.key))
    if score is not None:
        result = replace(result, swap_score=score).with_provenance({"vif": score.vif})
    return result


def about_of(job: Job, label: Any, task: Task) -> Any:
    """Return what a result is about; of a pair both."""
    abouts = tuple(_about(job.outputs[label], job.source, c) for c in task.columns)
    return abouts[0] if len(abouts) == 1 else abouts


def _about(quantity: Quantity, source: Source, column: Any) -> About:
    if isinstance(column, Feature):
        return About(column, quantity.name, quantity.unit, source.library)
    levels = isinstance(column, LevelColumn)
    return About(
        column.feature,
        quantity.name,
        quantity.unit,
        source.library,
        _spread(column) if levels else column.sd,
        column.missing,
        column.feature.dtype if levels else str(column.dtype),
    )


def _spread(column: LevelColumn) -> float:
    """Return the standard deviation of the places of a categorical feature's levels, in their own order."""
    share = column.weight / column.weight.sum()
    place = np.arange(len(share))
    return float(np.sqrt(share @ (place - share @ place) ** 2))
