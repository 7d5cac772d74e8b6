"""What several models share: one way to get local effects on the same cells, and bins that are chosen once for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from skedasis._types import Ints, Json
from skedasis.binning import Binning, Segments, Spread
from skedasis.data.dataset import Source
from skedasis.engine.choose import Choice
from skedasis.engine.prepare import Job, Key
from skedasis.engine.reading import about_of
from skedasis.engine.rounds import add_round
from skedasis.engine.run import Gathered
from skedasis.engine.scores import Scores
from skedasis.methods.base import Local, Plan
from skedasis.methods.missing import MISSING
from skedasis.models.adapters import Traits
from skedasis.results.build.linear_form import AXIS, LOCAL
from skedasis.stats.grid import Cells
from skedasis.stats.heterogeneity_score import HeterogeneityScore
from skedasis.stats.moments import Moments, WeightKind

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
