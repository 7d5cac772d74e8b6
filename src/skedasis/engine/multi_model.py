"""Explaining several fitted models: validation, shared cells and bins, plans on subsets of rows.

What is shared is decided in two places. Grids, fixed bins, levels and fine cells are planned on all rows, whatever rows
each model is explained on. Bins that are chosen by the local effects are chosen once, from the moments of all models.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from skedasis._types import Ints, Json
from skedasis.binning import Binning, Segments, Spread
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Column
from skedasis.data.dataset import Source, as_source
from skedasis.engine.assemble import (
    SCORE_ROWS,
    about_of,
    as_bytes,
    check_rows_wanted,
    check_settings,
    heed,
    provenance,
    read,
    settled,
)
from skedasis.engine.cross_validation import Folds, as_folds
from skedasis.engine.heterogeneity_score import Scores, scores_of
from skedasis.engine.plan import Job, Key, Plans, Settings, prepare
from skedasis.engine.run import Gathered, run
from skedasis.engine.second_round import (
    add_round,
    checked_slopes,
    part_of,
    replaceable,
    stepped,
    with_missing_of,
)
from skedasis.engine.select import Choice, Task, as_method
from skedasis.errors import DataError, explained
from skedasis.methods.ale_categorical import LevelPlan
from skedasis.methods.ale_pairs import SideColumn, side_of
from skedasis.methods.base import Local, Plan
from skedasis.methods.missing import MISSING
from skedasis.models.adapters import Traits
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import as_quantity
from skedasis.quantities.tree_evaluator import Wish
from skedasis.results.build.linear_form import AXIS, LOCAL
from skedasis.results.multi_model import EffectsOfModels, put_together
from skedasis.stats.grid import Cells
from skedasis.stats.heterogeneity_score import HeterogeneityScore
from skedasis.stats.moments import Moments, WeightKind

# ------------------------------------------------------------------------------------------
# Whether several models can be explained together: their quantities, columns, classes and outputs are the same.


def refuse_alone(cv: Any, correction: Any) -> None:
    """Refuse what only several models have a use for.

    Raises
    ------
    DataError
    """
    for name, value in (("cv", cv), ("correction", correction)):
        if value is not None:
            raise DataError(
                explained(
                    name,
                    "one model",
                    "a list of models, one for each fold",
                    f"Leave {name} out, or pass all models: sd.explain([m1, m2, m3], X, {name}=...)",
                )
            )


def quantities_of(models: Sequence[Any]) -> list[Quantity]:
    """Return each model's quantity.

    Raises
    ------
    DataError
        For fewer than two, and for models of different columns.
    UnsupportedError
        For what is no model.
    """
    if len(models) < 2:
        got = "an empty list" if not models else "a list of one model"
        fix = "Give the model itself" if models else "Pass the fitted models: [m1, m2]"
        expected = "two or more: how models differ is not to be seen of fewer"
        raise DataError(explained("models", got, expected, fix))
    found: list[Quantity] = []
    for i, model in enumerate(models):
        with noted(i, len(models)):
            found.append(as_quantity(model))
    for name, what in (("n_features_in_", "columns"), ("feature_names_in_", "columns' names")):
        alike([getattr(q.called, name, None) for q in found], what)
    alike([getattr(q.called, "classes_", None) for q in found], "classes")
    alike([q.name for q in found], "quantities")
    return found


def alike(values: Sequence[Any], what: str) -> None:
    """Refuse models of which one says other than the first that says something; None is nothing said.

    Raises
    ------
    DataError
    """
    known = [(i, v if np.ndim(v) == 0 else np.asarray(v).tolist()) for i, v in enumerate(values)]
    known = [(i, v) for i, v in known if v is not None]
    for i, value in known:
        if value != known[0][1]:
            first = f"{known[0][1]!r}"[:60], f"{value!r}"[:60]
            raise DataError(
                explained(
                    f"models: {what}",
                    f"{first[0]} of model {known[0][0]} and {first[1]} of model {i}",
                    "the same of every model",
                    "Explain models of different things in calls of their own",
                )
            )


class noted:  # noqa: N801 - read as a word: with noted(2, 5)
    """Says of an error which of the models it is about."""

    def __init__(self, place: int, models: int) -> None:
        self.said = f"This is about model {place} of the {models} models (counted from 0)."

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None:
            error.add_note(self.said)


def checked_correction(correction: Any) -> float:
    """Return the correction that was given.

    Raises
    ------
    DataError
    """
    number = isinstance(correction, (int, float, np.integer, np.floating))
    if isinstance(correction, bool) or not number or not 0 <= correction < np.inf:
        raise DataError(
            explained(
                "correction",
                repr(correction)[:60],
                "a number from 0: rows held out over rows fitted on",
                "Use 0.25 for models of 5-fold cross-validation, 0 for models of separate data",
            )
        )
    return float(correction)


# ------------------------------------------------------------------------------------------
# Plans that were made on all rows, met by a part of the rows: cells stay, what is counted by rows does not.


@dataclass(frozen=True, eq=False)
class Part:
    """The rows that one of several models is explained on.

    Parameters
    ----------
    rows : ndarray of int
        Places among the source's rows, ascending.
    parts : tuple of ndarray of int
        The same of all models.
    """

    rows: Ints
    parts: tuple[Ints, ...]

    def met(
        self, source: Source, tasks: list[Task], plans: Plans
    ) -> tuple[Source, list[Task], Plans]:
        """Return source, tasks and plans for these rows: on the same grid, bins and levels.

        Raises
        ------
        DataError
            Where none of the rows has a value of a feature.
        """
        if all(len(rows) == len(source) for rows in self.parts):
            return source, tasks, plans
        some = some_rows(source, self.rows)
        mine = [
            replace(t, columns=tuple(_column(c, self.rows, some) for c in t.columns)) for t in tasks
        ]
        of = {t.key: t for t in mine}
        plans = {key: _plan(plan, of[key[1]]) for key, plan in plans.items()}
        return some, mine, plans


def some_rows(source: Source, rows: Ints) -> Source:
    """Return some of the rows: all of those that a model is to be explained on, and no sample of them."""
    return source if len(rows) == len(source) else replace(source.only(rows), sampled=False)


def _column(column: Any, rows: Ints, some: Source) -> Any:
    if isinstance(column, LevelColumn):
        return _levels(column, rows, some)
    if not isinstance(column, Column):
        return column
    x = some.table.column(column.feature.position, some.row_id)
    if np.isnan(x).all():
        raise _nothing(column.feature.name, len(x))
    return Column(column.feature, x, some.weights, column.dtype)


def _levels(column: LevelColumn, rows: Ints, some: Source) -> LevelColumn:
    """Return a categorical feature's column with all its levels, also those that none of these rows has."""
    codes, size = column.codes[rows], len(column.levels)
    there = codes >= 0
    if not there.any():
        raise _nothing(column.feature.name, len(codes))
    count = np.bincount(codes[there], minlength=size)
    weights = None if some.weights is None else some.weights[there]
    weight = np.bincount(codes[there], weights, minlength=size).astype(float)
    left = int(np.count_nonzero(~there))
    blank = column.feature.kind == "nominal" and None in column.levels.values
    missing = int(count[column.levels.values.index(None)]) if blank else 0
    if not blank and not column.outside:
        missing = left
    return replace(
        column,
        codes=codes,
        weights=some.weights,
        count=count.astype(np.int64),
        weight=weight,
        missing=missing,
        outside=left if column.outside else 0,
        source=some,
    )


def _nothing(feature: str, rows: int) -> DataError:
    return DataError(
        explained(
            f"feature {feature!r}",
            f"no value in the {rows:,} rows of one of the models",
            "at least one value for each model",
            "Use fewer folds, or leave the feature out",
        )
    )


def _plan(plan: Any, task: Task) -> Any:
    """Return a plan with the same cells for some of the rows."""
    if isinstance(plan, LevelPlan):
        return LevelPlan.of(task.column, plan.order, plan.chosen)
    if isinstance(plan, Plan):
        return replace(plan, column=task.column.summary())
    sides = getattr(plan, "sides", None)
    if sides is None:
        return plan
    mine = tuple(_side(s, c) for s, c in zip(sides, task.columns, strict=True))
    return replace(plan, sides=mine)


def _side(side: SideColumn, column: Any) -> SideColumn:
    if side.levels is None:
        return replace(side, summary=column.summary())
    return side_of(LevelPlan.of(column, side.levels.order, side.levels.chosen))


# ------------------------------------------------------------------------------------------
# What several models share: one way to get local effects on the same cells, and bins that are chosen once for all.


_LEAST = ("slopes", "differences", "steps", "edges", "levels", "values", "none")
"""Kinds of local effects: models that have the one before can do the ones after."""


_ASKED = {"value_steps": "differences", "integer_steps": "differences"}
"""Kinds that depend on the feature: the kind that the quantity itself has."""


@dataclass(frozen=True, eq=False)
class One:
    """One of the models: its job, what was gathered of it, its scores, and the seconds that this took."""

    job: Job
    choice: Choice
    method: Any
    gathered: Gathered
    scores: Scores
    seconds: float


def agreement(jobs: Sequence[Job]) -> dict[Any, Traits]:
    """Return how local effects are got of all models alike, for features where their cells would differ.

    A model that is constant between jumps has only steps to offer, and where they jump may be where cells end.
    """
    agreed: dict[Any, Traits] = {}
    for key in jobs[0].plans:
        plans = [job.plans[key] for job in jobs]
        if not all(isinstance(p, Plan) for p in plans) or _same_cells(plans):
            continue
        kinds = [_ASKED.get(p.traits.local, p.traits.local) for p in plans]
        local: Any = max(kinds, key=_LEAST.index)
        jumps = [p.traits.jumps for p in plans]
        known = [j for j in jumps if j is not None]
        said = "differences, as for all of the models"
        every = np.unique(np.concatenate(known)) if len(known) == len(jumps) else None
        agreed[key] = Traits(local, said, all(p.traits.certain for p in plans), every)
    return agreed


def _same_cells(plans: Sequence[Plan]) -> bool:
    """Return whether local effects of the same kind are gathered on the same cells."""
    steps = {p.traits.local == "steps" for p in plans}
    places = [p.bins.edges if isinstance(p.cells, Cells) else p.grid.points for p in plans]
    return len(steps) == 1 and all(np.array_equal(places[0], p) for p in places)


@dataclass(frozen=True)
class _Settled(Binning):
    """Bins that were chosen from what is gathered of all models.

    Parameters
    ----------
    scheme : Binning
        That chose.
    said : dict
        What the results say of it.
    segments_ : Segments
        Its choice.
    """

    scheme: Binning
    said: Json
    segments_: Segments

    def candidates(self, column: Any) -> Cells:
        """Return the scheme's fine cells."""
        return self.scheme.candidates(column)

    def choose(self, cells: Cells, moments: Moments, spread: Spread) -> Ints:
        """Return which edges stay."""
        return self.segments_.kept

    def segments(self, cells: Cells, moments: Moments, spread: Spread) -> Segments:
        """Return which edges stay, and where slopes change linearly."""
        return self.segments_

    def describe(self) -> Json:
        """Return the scheme as its user wrote it."""
        return self.said


def settled_bins(found: Sequence[One], kind: WeightKind) -> dict[Any, Any]:
    """Choose bins that depend on the local effects from those of all models; return the forms that know them.

    Parameters
    ----------
    found : sequence of One
        Where edges move off the cells, their plans and moments are made anew on finer ones.
    kind : {"frequency", "sampling"}

    Returns
    -------
    dict of (label, key) to method
    """
    ways: dict[Any, Any] = {}
    job = found[0].job
    for task in job.tasks:
        for label in job.outputs if _scheme(task.way) is not None else ():
            key = label, task.key
            plan, pooled = _pooled(found, key)
            if isinstance(plan, Plan) and plan.traits.on_cells:
                continue  # `common_rounds` chose their bins
            whole = task.way.read(plan, pooled, about_of(job, label, task), exact=True, kind=kind)
            if whole.bins is None or len(whole.bins) == 0:
                continue
            if isinstance(plan, Plan) and len(whole.cells) != len(plan.bins):
                plan = replace(plan, cells=whole.cells)
                _finer(found, key, whole.cells)
            _note(found, key, whole.provenance.get("bins"))
            ways[key] = _with_bins(task.way, _segments(plan, whole))
    return ways


def common_rounds(found: Sequence[One], threads: int, show: bool | None, kind: WeightKind) -> None:
    """Choose the bins of step functions from all models together, and compute each model's rises across them.

    Parameters
    ----------
    found : sequence of One
        The rises are added to what each model gathered.
    threads, show, kind
        ``threads``, ``progress`` and ``weight_kind`` of `explain`.
    """
    job = found[0].job
    chosen: dict[Key, Cells] = {}
    for task in job.tasks:
        for label in job.outputs:
            key = label, task.key
            plan = job.plans[key]
            if not isinstance(plan, Plan) or not plan.traits.on_cells:
                continue
            whole, pooled = _pooled(found, key)
            about = about_of(job, label, task)
            more = task.way.further(whole, pooled, _mean_score(found, key), about, kind)
            if more is not None and more.rises is not None:
                chosen[key] = more.rises
    for one in found:
        plans = {k: replace(one.job.plans[k], rises=cells) for k, cells in chosen.items()}
        add_round(one.job, plans, one.gathered, threads, show)


def _mean_score(found: Sequence[One], key: Key) -> HeterogeneityScore | None:
    """Return the root mean square of the models' scores, with the means of their standard deviations and ranges."""
    scores = [one.scores.found[key] for one in found if key in one.scores.found]
    if len(scores) < len(found):
        return None
    value = float(np.sqrt(np.mean([s.value**2 for s in scores])))
    spread = float(np.mean([s.quantity_std for s in scores]))
    extent = float(np.mean([s.quantity_range for s in scores]))
    return replace(scores[0], value=value, quantity_std=spread, quantity_range=extent)


def _scheme(way: Any) -> Binning | None:
    """Return the scheme of a form of a method whose bins depend on the local effects."""
    within = way.base if getattr(way, "grouped", False) else way
    if not hasattr(within, "binning"):
        return None
    scheme = within.binning()
    return None if type(scheme).choose is Binning.choose else scheme


def _with_bins(way: Any, chosen: Segments) -> Any:
    """Return the same form with bins that are chosen already."""
    scheme = _scheme(way)
    if scheme is None:
        return way
    within = way.base if getattr(way, "grouped", False) else way
    settled = replace(within, bins=_Settled(scheme, within.describe()["bins"], chosen))
    return settled if within is way else replace(way, base=settled)


def _segments(plan: Any, whole: Any) -> Segments:
    """Return the bins of an effect as places among the edges that were planned, or among levels."""
    bins = whole.bins
    trend = bins.trend != 0 if np.any(bins.trend) else None
    if isinstance(plan, Plan):
        return Segments(np.searchsorted(plan.bins.edges, bins.edges), trend)
    places = whole.levels.places
    return Segments(np.append(places(bins.low), places(bins.high[-1:])), trend)


def _pooled(found: Sequence[One], key: Any) -> tuple[Any, Local]:
    """Return the cells as planned, and the moments, and rows, of all models' local effects there.

    Rows that several models are explained on count once all together: bins are to hold as many rows as was asked for.
    """
    plans = [one.job.plans[key] for one in found]
    local: list[Local] = []
    for one, plan in zip(found, plans, strict=True):
        moments, coarse = one.gathered[key].moments, getattr(plan, "coarse", None)
        if coarse is not None:
            moments = {
                k: m.pool(coarse[:-1]) if k in (LOCAL, AXIS) else m for k, m in moments.items()
            }
        local.append(Local(moments, {}, one.gathered[key].largest))
    shared = set.intersection(*(set(part.moments) for part in local)) - {MISSING}
    pooled = reduce(
        Local.merge, [replace(p, moments={k: p.moments[k] for k in shared}) for p in local]
    )
    ids = [_ids(one.job.source) for one in found]
    share = len(np.unique(np.concatenate(ids))) / sum(map(len, ids))
    moments = {k: _share_of(m, share) for k, m in pooled.moments.items()}
    plan = plans[0]
    if getattr(plan, "coarse", None) is not None:
        plan = replace(plan, cells=plan.bins.keep(plan.coarse), coarse=None)
    rows: dict[str, Any] = {}
    if isinstance(plan, Plan) and all(one.job.sample is None for one in found):
        rows = _rows([one.gathered[key].kept for one in found], share)
    return plan, replace(pooled, moments=moments, kept=rows)


def _rows(kept: Sequence[dict[str, Any]], share: float) -> dict[str, Any]:
    """Return the rows of all models under one another."""
    if not all("effect" in rows for rows in kept):
        return {}
    weights = [rows.get("weight", np.ones(len(rows["x"]))) * share for rows in kept]
    names = [name for name in ("x", "effect", "across") if name in kept[0]]
    joined = {name: np.concatenate([rows[name] for rows in kept]) for name in names}
    return {**joined, "weight": np.concatenate(weights)}


def _share_of(moments: Moments, share: float) -> Moments:
    count, weight, weight2 = (size * share for size in moments.sizes)
    return Moments(count, weight, weight2, moments.mean, moments.m2 * share)


def _finer(found: Sequence[One], key: Any, cells: Cells) -> None:
    """Gather the moments of all models anew on cells with more edges, from their rows."""
    for one in found:
        local = one.gathered[key]
        r = local.kept
        cell = cells.locate(r["x"])
        moments = Moments.of(r.get("across", r["effect"]), cell, len(cells), r.get("weight"))
        axis = Moments.of(r["x"], cell, len(cells), r.get("weight"), like=moments)
        one.gathered[key] = replace(local, moments={**local.moments, LOCAL: moments, AXIS: axis})
        one.job.plans[key] = replace(one.job.plans[key], cells=cells)


def _note(found: Sequence[One], key: Any, said: Any) -> None:
    """Let the results of all models say what is said of the scheme that chose their bins."""
    for one in found:
        plan = one.job.plans[key]
        if said is not None and isinstance(plan, Plan):
            one.job.plans[key] = replace(plan, notes={**plan.notes, "bins": said})


def _ids(source: Source) -> Ints:
    return np.arange(len(source)) if source.row_id is None else source.row_id


# ------------------------------------------------------------------------------------------
# Several fitted models: each goes the ordinary way, on cells that all of them share, and its results are put together.


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
