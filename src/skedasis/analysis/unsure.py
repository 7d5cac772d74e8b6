"""Where a model is unsure: the group of rows in which the entropy of its predictive distribution is largest."""

from __future__ import annotations

import math

import numpy as np

from skedasis.analysis.row_groups import find_row_groups
from skedasis.data.dataset import Dataset
from skedasis.distributions.base import LabelKind
from skedasis.results.importance import LocalImportance
from skedasis.results.sentences import UNSURE, tell

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
    No model row. Rules of at most two conditions are searched by `find_row_groups`: one half of the rows chooses a
    rule, the other half must confirm it at the level 0.05. Of the groups, the first half chooses the one with the
    largest mean; the ratio is that of the second half. It is an observed ratio, of the rows as they are: the other
    features of the group differ, too.

    For classes the ratio is that of mean entropies. A differential entropy may be negative and has no ratio. For
    numbers the ratio is exp(mean entropy in the group - mean entropy): how many times as wide the predictive
    distribution is. For a function whose labels are not known to be classes it is the same, the effective number of
    labels.
    """
    order = np.argsort(local.row, kind="stable")
    places = np.searchsorted(dataset.places_in_x, local.row[order])
    rows, entropy = dataset.subset(places), local.before[order]
    found = find_row_groups(
        entropy,
        rows,
        seed,
        purpose="unsure: halves",
        min_gain=LEAST_GAIN,
        least=(LEAST_ROWS, LEAST_SHARE),
    )
    if len(found) == 1:
        return ""
    group = max(range(len(found)), key=lambda g: found.chosen_mean(entropy, g))
    inside, every = found.mean(entropy, group).value, found.mean(entropy).value
    ratio = inside / every if labels == "classes" else math.exp(inside - every)
    if not ratio >= WORTH_TELLING:
        return ""
    rule, part = found.leaves[group].rule, found.share(group)
    return tell(UNSURE, rule=rule, part=part, ratio=ratio)
