"""Where a model is unsure: the group of rows in which the entropy of its predictive distribution is largest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.dataset import Dataset
from skedasis.distributions.base import LabelKind
from skedasis.engine.conditioning import ConditioningFeature, conditioning_features
from skedasis.results.importance import LocalImportance
from skedasis.results.regions import Condition, merged, rule_text
from skedasis.results.sentences import UNSURE, tell
from skedasis.stats.random import row_hashes
from skedasis.stats.regions import CellEffects, FoundNode, RegionSearch

LEAST_ROWS, LEAST_SHARE, LEAST_GAIN = 10, 0.02, 0.02
"""Least rows of a group, least share of all rows, and least share of the entropies' variance that a rule explains."""

WORTH_TELLING = 1.2
"""Groups in which the model is less unsure than this many times the average are not told."""


def where_unsure(local: LocalImportance, dataset: Dataset, labels: LabelKind, seed: int) -> str:
    """Say where a model is least certain, and how much less than on average; empty if that is nowhere confirmed.

    Parameters
    ----------
    local : LocalImportance
        Of the entropy in nats: its rows, and the entropies before any permutation.
    dataset : Dataset
        Has these rows.
    labels : {"classes", "numbers", "either"}
        What the model predicts.
    seed : int

    Notes
    -----
    No model row. Rules of at most two conditions are searched as those of regions are (`skedasis.stats.regions`): one
    half of the rows chooses a rule, the other half must confirm it at the level 0.05. Of the groups, the first half
    chooses the one with the largest mean; the ratio is that of the second half. It is an observed ratio, of the rows
    as they are: the other features of the group differ, too.

    For classes the ratio is that of mean entropies. A differential entropy may be negative and has no ratio. For
    numbers the ratio is exp(mean entropy in the group - mean entropy): how many times as wide the predictive
    distribution is. For a function whose labels are not known to be classes it is the same, the effective number of
    labels.
    """
    order = np.argsort(local.row, kind="stable")
    places = np.searchsorted(dataset.places_in_x, local.row[order])
    rows, entropy = dataset.subset(places), local.before[order]
    weights = rows.weights
    if weights is not None and rows.sampling_weights:
        weights = weights / weights.mean()
    half = row_hashes(rows.identifiers, seed, "unsure: halves") >> np.uint64(63) == 0
    known = conditioning_features(rows, rows.features, None, ())
    search = RegionSearch(
        [CellEffects(entropy, np.zeros(len(rows), dtype=np.int64), 1)],
        known.columns,
        half,
        weights,
        frequency=not rows.sampling_weights,
        min_gain=LEAST_GAIN,
        min_rows=max(LEAST_ROWS, LEAST_SHARE * (len(rows) if weights is None else weights.sum())),
    )
    groups = list(_groups(search.run(), known.found))
    w = np.ones(len(rows)) if weights is None else weights
    group, conditions = max(groups, key=lambda g: _mean(entropy, w, g[0][half[g[0]]]))
    if len(groups) == 1:
        return ""
    inside, all_rows = (
        _mean(entropy, w, some[~half[some]]) for some in (group, np.arange(len(rows)))
    )
    ratio = inside / all_rows if labels == "classes" else math.exp(inside - all_rows)
    if not ratio >= WORTH_TELLING:
        return ""
    part = float(w[group].sum() / w.sum())
    return tell(UNSURE, rule=rule_text(conditions), part=part, ratio=ratio)


def _groups(
    node: FoundNode,
    found: Sequence[ConditioningFeature],
    conditions: tuple[Condition, ...] = (),
) -> Iterator[tuple[Ints, tuple[Condition, ...]]]:
    """Yield the rows and the conditions of each leaf."""
    if node.split is None:
        yield node.rows, conditions
        return
    cut = node.split.cuts[0]
    sides = found[cut.column].conditions(cut, node.rows)
    for child, side in zip(node.children, sides, strict=True):
        yield from _groups(child, found, merged((*conditions, side)))


def _mean(values: Floats, weights: Floats, rows: Ints) -> float:
    return float(np.average(values[rows], weights=weights[rows]))
