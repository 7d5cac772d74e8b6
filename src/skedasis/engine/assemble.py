"""Arguments before the run, and results with their provenance after it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from skedasis._types import Json
from skedasis.data.categories import LevelColumn
from skedasis.data.dataset import Source
from skedasis.data.features import Feature
from skedasis.engine.plan import Job, Key
from skedasis.engine.run import Gathered, models_alone
from skedasis.engine.select import Choice, Task, as_method, names_of
from skedasis.errors import DataError, explained
from skedasis.methods.base import Local
from skedasis.methods.missing import MISSING
from skedasis.quantities.base import Quantity
from skedasis.results.build.pdp import with_missing
from skedasis.results.effect import About, Effect
from skedasis.results.effects import Effects
from skedasis.stats.moments import WeightKind

if TYPE_CHECKING:
    from skedasis.engine.heterogeneity_score import Scores


# ------------------------------------------------------------------------------------------
# How results were made: the provenance; and the settings that all methods share, checked.


SCORE_ROWS = 10_000
"""Default number of rows of the heterogeneity score: its error is then about a hundredth of the score."""


def as_bytes(size: int | str, what: str) -> int:
    """Return a size such as "256MB" in bytes.

    Examples
    --------
    >>> as_bytes("1.5GB", "memory")
    1500000000
    """
    units = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "B": 1}
    text = str(size).strip().upper()
    number, factor = text, 1
    for unit, worth in units.items():
        if text.endswith(unit):
            number, factor = text[: -len(unit)], worth
            break
    try:
        value = float(number) * factor
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf") or isinstance(size, bool):
        raise DataError(
            explained(what, repr(size), 'a size such as "256MB"', "Name bytes, KB, MB or GB")
        )
    return int(value)


def check_settings(threads: Any, weight_kind: Any) -> None:
    """Refuse settings that mean nothing.

    Raises
    ------
    DataError
    """
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise DataError(explained("threads", repr(threads), "an integer of at least 1", "Use 1"))
    if weight_kind not in ("frequency", "sampling"):
        raise DataError(
            explained("weight_kind", repr(weight_kind), "'frequency' or 'sampling'", "Name one")
        )


def check_rows_wanted(rows: Any) -> int | None:
    """Return `heterogeneity_rows` as an int or None.

    Raises
    ------
    DataError
        For anything but None, 0 or an integer of at least 2: a pair takes two rows.
    """
    whole = isinstance(rows, (int, np.integer)) and not isinstance(rows, (bool, np.bool_))
    if rows is None or (whole and rows >= 0 and rows != 1):
        return None if rows is None else int(rows)
    raise DataError(
        explained(
            "heterogeneity_rows",
            repr(rows)[:60],
            "an integer of at least 2, or None for all rows",
            "Use 10_000, or 0 for no heterogeneity score",
        )
    )


def provenance(job: Job, scores: Scores, seed: int, threads: int, seconds: float) -> Json:
    """Return how the results were made: everything but seconds can be reproduced from it.

    Of a slow model, neither can the number of calls: see `models/calling.py`.
    """
    from skedasis import __version__

    weights = job.source.weights
    wished = max(t.way.rows_wanted(len(job.source)) for t in job.tasks)
    everything = job.sample is None or int(job.sample.sum()) >= wished
    return {
        "method": job.method.name,
        "settings": job.method.describe(),
        "quantity": job.quantity.describe(),
        "unit": job.quantity.unit,
        "rows": len(job.source),
        "weight": float(len(job.source)) if weights is None else float(weights.sum()),
        "features": names_of(job.tasks),
        "seed": seed,
        "exact": True,
        "rows_kept": "all" if job.sample is None else int(job.sample.sum()),
        "kept_as_wanted": everything,
        "model_rows": job.meter.rows,
        "model_calls": job.meter.calls,
        "slope_rows": job.meter.slope_rows,
        "slope_calls": job.meter.slope_calls,
        "check_rows": job.checked.meter.rows,
        "check_calls": job.checked.meter.calls,
        "score_rows": scores.meter.rows,
        "score_calls": scores.meter.calls,
        "score_exact": scores.exact,
        **({"floored_rows": job.meter.floored} if job.meter.floored else {}),
        **({"trees": job.trees, "tree_rows": job.meter.tree_rows} if job.trees else {}),
        "model_seconds": job.meter.seconds + scores.meter.seconds,
        "seconds": seconds,
        "threads": threads,
        **({"model_threads": 1} if models_alone(job, threads) else {}),
        "versions": {
            "skedasis": __version__,
            "numpy": np.__version__,
            "python": ".".join(map(str, sys.version_info[:3])),
        },
    }


# ------------------------------------------------------------------------------------------
# What was asked for is settled before the work; from what was gathered the results are made after it.


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
