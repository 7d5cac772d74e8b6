"""Subgroups of rows alike in all features but one: the leaves of a tree that predicts the one from the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.dataset import Source
from skedasis.data.features import Feature
from skedasis.errors import UnsupportedError, explained


def subgroups(source: Source, feature: Feature, rows: int, seed: int) -> Ints:
    """Return each row's subgroup: 0, 1, …, shape (N,).

    Parameters
    ----------
    source : Source
    feature : Feature
        A column, or a group of columns.
    rows : int
        Rows of a subgroup at least.
    seed : int
        For equal splits of the tree.

    Raises
    ------
    UnsupportedError
        Without scikit-learn.

    Notes
    -----
    No model row; the tree is fitted once for each feature, and pruned of what chance explains. Within a leaf the
    feature hardly depends on the others any more, as far as axis-parallel splits can see it (Molnar et al. 2023).
    """
    others = [f for f in source.features if f.position not in feature.columns]
    if not others:
        return np.zeros(len(source), dtype=np.int64)
    try:
        from sklearn.tree import DecisionTreeRegressor
    except ImportError as error:
        raise UnsupportedError(
            explained(
                "PFI(conditional=True)",
                "no scikit-learn, whose trees find the subgroups",
                "scikit-learn",
                "Install it: pip install 'skedasis[sklearn]'",
            )
        ) from error
    # In the order of the rows' keys, for ties between splits are broken by what comes first.
    order = source.order
    known = np.concatenate([_numbers(source, f) for f in others], axis=1)[order]
    wanted = np.concatenate(
        [_targets(source, source.features[j]) for j in feature.columns], axis=1
    )[order]
    weights = None if source.weights is None else source.weights[order]
    tree: Any = DecisionTreeRegressor(min_samples_leaf=rows, random_state=seed)
    tree.fit(known, wanted, weights)
    leaf = _pruned(tree.tree_, len(others))[tree.apply(known)]
    found = np.empty(len(source), dtype=np.int64)
    found[order] = np.unique(leaf, return_inverse=True)[1]
    return found


def _pruned(tree: Any, others: int) -> Ints:
    """Return for each node of a tree the one that it ends in when splits that chance explains are taken back.

    A tree splits noise as well as anything else, and rows alike in the feature itself are no subgroup. From the root
    down a split stays if it lowers the sum of squares by more than the largest F statistic that one would find among
    all splits where there is nothing (Andrews 1993: about 11; more for several features), or if it does so together
    with the two splits below it: some features tell something together that neither tells alone.
    """
    critical = 11 + 2 * np.log(others)
    squares = tree.weighted_n_node_samples * tree.impurity
    left, right = tree.children_left, tree.children_right
    inner = left >= 0
    rest = np.where(inner, squares[left] + squares[right], squares)
    below = np.where(inner, rest[left] + rest[right], squares)
    rows = tree.n_node_samples
    stays = inner & ((squares - rest) * np.maximum(rows - 2, 1) > critical * rest)
    stays |= inner & ((squares - below) * np.maximum(rows - 4, 1) > 3 * critical * below)
    ends = np.arange(tree.node_count)
    for node in range(tree.node_count):  # parents come before their children
        if left[node] >= 0 and (ends[node] != node or not stays[node]):
            ends[left[node]] = ends[right[node]] = ends[node]
    return ends


def _numbers(source: Source, feature: Feature) -> Floats:
    """Return a feature as columns that a tree can split on: itself, or one of zeros and ones for each level."""
    if not feature.categorical:
        column = source.table.column(feature.position, source.row_id)
        # Ranks: trees compute in single precision, which an offset or a scale would exhaust. Missing comes last.
        return np.unique(column, return_inverse=True)[1].astype(float)[:, None]
    codes, values = source.table.coded(feature.position, source.row_id)
    if feature.kind == "ordinal":
        return codes[:, None].astype(float)
    common = np.argsort(-np.bincount(codes + 1, minlength=len(values) + 1), kind="stable")[:50]
    return (codes[:, None] + 1 == common).astype(float)


def _targets(source: Source, feature: Feature) -> Floats:
    """Return a feature's ranks or levels on one scale, so that columns of a group count alike."""
    numbers = _numbers(source, feature)
    spread = numbers.std(axis=0)
    return (numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
