"""Which features modulate the effects of others: shares of heterogeneity, from the work of `explain`, no model row.

The local effects are those from which `skedasis.engine.regions` finds regions, as are the codes of the conditioning
features and the halves of the rows. `skedasis.stats.regions.modulation` has the definition.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from skedasis._types import Floats, OutputLabel
from skedasis.engine.assemble import abouts_of
from skedasis.engine.conditioning import CONSTANT, ConditioningFeatures, conditioning_features
from skedasis.engine.plan import Job
from skedasis.engine.regions import halves, search_weights
from skedasis.engine.rounds import Computed
from skedasis.engine.select import FeatureTask
from skedasis.errors import UnsupportedError
from skedasis.methods.pdp import PDP, LevelPDP
from skedasis.methods.regional import kept_effects
from skedasis.stats.regions import Criterion, CurveEffects, GroupedColumns, RegionSearch, modulation

Shares = Mapping[tuple[str, str], float]
"""Share of the heterogeneity of a feature's effect that another feature explains, by (feature, other feature)."""


def modulation_shares(
    done: Computed, modulated: Collection[str] | None = None
) -> dict[OutputLabel, Shares]:
    """Return for each output the shares of heterogeneity that each feature explains of each other feature's effect.

    Parameters
    ----------
    done : Computed
        The work of `explain`, of which `gathered` has not been emptied.
    modulated : collection of str, optional
        The features whose effects are modulated; by default all that were explained.

    Returns
    -------
    dict of label to dict of (str, str) to float
        NaN for effects without heterogeneity, and where it is unknown: for effects without local effects or without
        the curves of all rows, and for features without codes (levels that are all rare). 0 for a constant feature.
    """
    job = done.job
    tasks = [t for t in job.tasks if isinstance(t, FeatureTask)]
    if modulated is not None:
        tasks = [t for t in tasks if t.key in modulated]
    source = _Source.of(job)
    return {
        label: {
            (task.key, other): share
            for task in tasks
            for other, share in _shares_of(done, label, task, source).items()
        }
        for label in job.outputs
    }


@dataclass(frozen=True, eq=False)
class _Source:
    """What all features of interest share: the codes, and the halves of the rows."""

    conditioning: ConditioningFeatures
    grouped: GroupedColumns
    weights: Floats | None

    @classmethod
    def of(cls, job: Job) -> _Source:
        conditioning = conditioning_features(job.dataset, job.selection.features, None, ())
        weights = search_weights(job)
        mask = job.sample_mask
        rows = None if mask is None else np.flatnonzero(mask)
        grouped = GroupedColumns.of(conditioning.columns, halves(job), weights, rows)
        return cls(conditioning, grouped, weights)


def _shares_of(
    done: Computed, label: OutputLabel, task: FeatureTask, source: _Source
) -> dict[str, float]:
    """Return the share of each other feature."""
    names = [c.feature.name for c in source.conditioning.found]
    found = dict.fromkeys([*names, *source.conditioning.left_out], float("nan"))
    search = _search(done, label, task, source)
    if search is not None:
        shares = modulation(search, source.grouped)
        found |= dict(zip(names, shares.tolist(), strict=True))
        if np.isfinite(shares).any():
            left_out = source.conditioning.left_out
            found |= {name: 0.0 for name, why in left_out.items() if why == CONSTANT}
    found.pop(task.key, None)
    return found


def _search(
    done: Computed, label: OutputLabel, task: FeatureTask, source: _Source
) -> RegionSearch | None:
    """Return the local effects of a feature with the conditioning features; None if the shares are unknown.

    As in the search for regions, the curves of step functions have no loss of their own: their heterogeneity is the
    score. Without scores, their steps within cells are compared.
    """
    job, key = done.job, (label, task.key)
    score = done.scores.found.get(key)
    if not _has_all_curves(task, len(job.dataset)) or (score is not None and score.value == 0):
        return None
    try:
        kept = kept_effects(
            task.variant, job.plans[key], done.gathered[key], job.dataset, job.sample_mask
        )
    except UnsupportedError:
        return None
    within = kept.has_slopes or score is None
    criterion: Criterion = "within" if within else "curves"
    (about,) = abouts_of(job, label, task)
    effects = kept.local_effects(len(job.dataset), criterion, about.feature_std, source.weights)
    if effects is None:
        return None
    own_loss = within or isinstance(effects, CurveEffects)
    return RegionSearch(
        [effects],
        source.conditioning.columns,
        np.zeros(0, dtype=bool),
        source.weights,
        allowed=source.conditioning.allowed_for(task.feature),
        loss=None if own_loss or score is None else score.value**2,
    )


def _has_all_curves(task: FeatureTask, rows: int) -> bool:
    """Return whether a method of curves keeps those of all rows: a few curves say little about other features."""
    base = task.variant.base if isinstance(task.variant, LevelPDP) else task.variant
    return not isinstance(base, PDP) or base.n_rows_to_keep(rows) >= rows
