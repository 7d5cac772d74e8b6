"""Several fitted models: each goes the ordinary way, on cells that all of them share, and its results are put together.

What is shared is decided in two places. Grids, fixed bins, levels and fine cells are planned on all rows, whatever rows
each model is explained on. Bins that are chosen by the local effects are chosen once, from the moments of all models.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from skedasis._types import Json
from skedasis.data.dataset import Source, as_source
from skedasis.engine.alike import alike, checked_correction, noted, quantities_of
from skedasis.engine.apart import Part, some_rows
from skedasis.engine.choose import Choice, as_method
from skedasis.engine.folds import Folds, as_folds
from skedasis.engine.prepare import Job, Key, Settings, prepare
from skedasis.engine.reading import heed, read, settled
from skedasis.engine.record import (
    SCORE_ROWS,
    as_bytes,
    check_rows_wanted,
    check_settings,
    provenance,
)
from skedasis.engine.rounds import (
    checked_slopes,
    part_of,
    replaceable,
    stepped,
    with_missing_of,
)
from skedasis.engine.run import run
from skedasis.engine.scores import scores_of
from skedasis.engine.shared import One, agreement, common_rounds, settled_bins
from skedasis.methods.base import Plan
from skedasis.models.adapters import Traits
from skedasis.quantities.base import Quantity
from skedasis.quantities.tree_evaluator import Wish
from skedasis.results.multi_model import EffectsOfModels, put_together
from skedasis.stats.moments import WeightKind

_SUMMED = (
    *("model_rows", "model_calls", "slope_rows", "slope_calls", "check_rows", "check_calls"),
    *("score_rows", "score_calls", "floored_rows", "tree_rows", "model_seconds", "seconds"),
)
_EACH = ("quantity", "rows", "weight", "rows_kept", "kept_as_wanted", "trees", *_SUMMED)


@dataclass(frozen=True)
class Asked:
    """The keywords of `explain`, as they were given."""

    method: Any = None
    y: Any = None
    weights: Any = None
    schema: Any = None
    groups: Any = None
    seed: int = 0
    memory: int | str = "1GB"
    keep: int | str = "256MB"
    threads: int = 1
    progress: bool | None = None
    weight_kind: WeightKind = "frequency"
    row_id: Any = None
    tree: Wish = "auto"
    heterogeneity_rows: int | None = SCORE_ROWS


def explain_several(
    models: Sequence[Any], X: Any, features: Any, asked: Asked, cv: Any, correction: float | None
) -> Any:
    """Explain several fitted models of the same quantity; see `explain`.

    Parameters
    ----------
    models : list or tuple of quantities or models
    X, features : object
    asked : Asked
    cv, correction : object
        As in `explain`.
    """
    quantities = quantities_of(models)
    check_settings(asked.threads, asked.weight_kind)
    share = None if correction is None else checked_correction(correction)
    source = as_source(X, asked.y, asked.weights, asked.schema, asked.row_id)
    folds = as_folds(cv, len(models), source, X, asked.y)
    if share is not None:
        folds = replace(folds, correction=share, chosen="given")
    heed(asked.method, models[0], asked.y)
    found = _asked_of_each(quantities, source, features, folds, asked)
    _replace_slopes(found, quantities, source, features, folds, asked)
    common_rounds(found, asked.threads, asked.progress, asked.weight_kind)
    ways = settled_bins(found, asked.weight_kind)
    records = [provenance(o.job, o.scores, asked.seed, asked.threads, o.seconds) for o in found]
    record = _record(records, found, folds)
    kind, first = asked.weight_kind, found[0].job
    results = {k: _results(found, k, ways, folds, (record, records), kind) for k in first.outputs}
    return results[None] if first.single else results


def _asked_of_each(
    quantities: Sequence[Quantity], source: Source, features: Any, folds: Folds, asked: Asked
) -> list[One]:
    """Prepare every model, on cells that suit all of them; then go through each one's rows."""
    limit = check_rows_wanted(asked.heterogeneity_rows)
    started = time.perf_counter()
    prepared = _prepared(quantities, source, features, folds, asked, {})
    alike([sorted(map(str, job.outputs)) for job, _, _ in prepared], "outputs")
    agreed = agreement([job for job, _, _ in prepared])
    if agreed:
        prepared = _prepared(quantities, source, features, folds, asked, agreed)
    found: list[One] = []
    for i, (job, choice, method) in enumerate(prepared):
        with noted(i, len(prepared)):
            gathered = run(job, asked.threads, asked.progress)
            scores = scores_of(job, limit, asked.seed, asked.threads, asked.progress)
        found.append(One(job, choice, method, gathered, scores, time.perf_counter() - started))
        started = time.perf_counter()
    return found


def _replace_slopes(
    found: list[One],
    quantities: Sequence[Quantity],
    source: Source,
    features: Any,
    folds: Folds,
    asked: Asked,
) -> None:
    """Explain features as step functions of all models where the slopes of one model fail the check.

    Not where the slopes of a model are given: these are never replaced, and all models share their cells.
    """
    failed: dict[Key, Traits] = {}
    plans = [item for one in found for item in one.job.plans.items()]
    given = {key for key, plan in plans if isinstance(plan, Plan) and plan.traits.given}
    for one in found:
        _, checks = checked_slopes(one.job, one.gathered, one.scores, asked.seed, asked.weight_kind)
        for key, check in checks.items():
            if key not in given and replaceable(one.job, key, check):
                failed.setdefault(key, stepped(one.job, key, check))
            # Results are read once more, on the bins of all models: what was found goes along.
            plan = one.job.plans[key]
            one.job.plans[key] = replace(plan, notes={**plan.notes, "slope_check": check.said})
    if not failed:
        return
    again = _prepared(quantities, source, features, folds, asked, failed)
    for one, (job, _, _) in zip(found, again, strict=True):
        one.job.checked.meter.add(job.checked.meter)
        one.job.plans.update({key: job.plans[key] for key in failed})
        later = run(part_of(one.job, list(failed)), asked.threads, asked.progress)
        for key, local in later.items():
            one.gathered[key] = with_missing_of(local, one.gathered[key])


def _prepared(
    quantities: Sequence[Quantity],
    source: Source,
    features: Any,
    folds: Folds,
    asked: Asked,
    agreed: dict[Any, Traits],
) -> list[tuple[Job, Choice, Any]]:
    """Return each model's job, what was asked for, and the method for its rows."""
    keep = as_bytes(asked.keep, "keep") // len(quantities)
    settings = Settings(as_bytes(asked.memory, "memory"), keep, asked.seed, asked.tree)
    by_rows = as_method(asked.method).by_rows
    prepared: list[tuple[Job, Choice, Any]] = []
    for i, (quantity, rows) in enumerate(zip(quantities, folds.parts, strict=True)):
        with noted(i, len(quantities)):
            mine = quantity.prepare(source)
            part = Part(rows, folds.parts)
            if by_rows:
                mine, part = some_rows(mine, rows), None
            method, choice = settled(
                asked.method, quantity, mine, features, asked.groups, asked.seed
            )
            tasks = choice.tasks(method)
            job = prepare(quantity, method, choice.source, tasks, settings, part, agreed)
            prepared.append((job, choice, method))
    return prepared


def _results(
    found: Sequence[One],
    label: Any,
    ways: dict[Any, Any],
    folds: Folds,
    said: tuple[Json, Sequence[Json]],
    kind: WeightKind,
) -> Any:
    """Return what all models say of one output; provenances are those of all together, and of each."""
    single: list[dict[Any, Any]] = []
    record, records = said
    for one, own in zip(found, records, strict=True):
        tasks = [replace(t, way=ways.get((label, t.key), t.way)) for t in one.job.tasks]
        gathered = one.gathered
        results = {
            t.key: read(one.job, label, t, gathered.pop((label, t.key)), one.scores, kind)
            for t in tasks
        }
        if hasattr(one.method, "together"):
            single.append({None: one.method.together(results, own)})
        else:
            single.append({k: r.with_provenance(own) for k, r in results.items()})
    shown = {
        key: put_together(
            tuple(results[key] for results in single), folds.correction, folds.overlap, record
        )
        for key in single[0]
    }
    choice = found[0].choice
    if None in shown or choice.single:
        return next(iter(shown.values()))
    return shown if choice.pairs else EffectsOfModels(shown, record)


def _record(records: Sequence[Json], found: Sequence[One], folds: Folds) -> Json:
    """Return how the results were made: what is the same of all models, and the sums of what each cost."""
    summed = {k: sum(r.get(k, 0) for r in records) for k in _SUMMED if any(k in r for r in records)}
    return {
        **{k: v for k, v in records[0].items() if k not in _EACH},
        "models": len(found),
        "quantities": [r["quantity"] for r in records],
        "cv": folds.said,
        "rows": [r["rows"] for r in records],
        "weight": [r["weight"] for r in records],
        "rows_of_several_models": folds.shared,
        "correction": folds.correction,
        "overlap": folds.overlap,
        "correction_chosen": folds.chosen,
        "score_exact": all(r["score_exact"] for r in records),
        **summed,
    }
