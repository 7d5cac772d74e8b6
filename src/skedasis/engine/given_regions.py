"""Regions that the caller names: by a column, by labels of the rows, or by masks."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import is_number, shown
from skedasis._types import Floats, Ints, Level
from skedasis.data.categories import LevelColumn
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature
from skedasis.engine.conditioning import find_one
from skedasis.engine.rows import rows_of
from skedasis.errors import DataError
from skedasis.quantities.evaluator import BatchEvaluator
from skedasis.results.regions import Condition, condition_text

if TYPE_CHECKING:
    from skedasis.engine.argument_types import GivenRegions

MOST_GIVEN = 30
"""Largest number of regions that are given by a column or labels."""

FEW_VALUES = 4
"""A numeric column with at most as many values gives a region for each, others are cut at their quartiles."""


@dataclass(frozen=True, eq=False)
class GivenRules:
    """Regions of rows in memory: what gives them, the rule of each, and the region of each row, shape (n,)."""

    by: str
    rules: list[str]
    region: Ints
    conditions: Sequence[Condition] = ()

    def of(self, evaluator: BatchEvaluator) -> Ints:
        """Return the region of each row of a batch."""
        return self.region[evaluator.places]


def column_named_by(by: GivenRegions | None) -> Hashable:
    """Return the name or position of the column that gives regions; None without one."""
    if isinstance(by, tuple) and len(by) == 2 and isinstance(by[0], (str, int)):
        return by[0]
    return by if isinstance(by, (str, int, np.integer)) else None


def regions_given(
    dataset: Dataset, features: Sequence[Feature], by: GivenRegions
) -> GivenRules | ColumnRegions:
    known = dataset.before_passes(lambda: regions_of_rows(dataset, features, by))
    return _regions_of_chunks(dataset, features, by) if known is None else known


def regions_of_rows(dataset: Dataset, features: Sequence[Feature], by: GivenRegions) -> GivenRules:
    """Return the regions that `by` names, of data in memory."""
    name = column_named_by(by)
    if isinstance(by, Mapping):
        found = _of_masks(dataset, by)
    elif name is None:
        found = _of_labels(dataset, by)
    else:
        if isinstance(by, str) and set(by) & set("<>=") and by not in [f.name for f in features]:
            fix = f"Pass the rows that satisfy it: by={{{by!r}: mask}}, with a mask such as X[column] > 50"
            raise DataError("by", f"the condition {by!r}", "a column, or masks by rule", fix)
        feature = find_one(dataset, features, name)
        found = _of_rows(dataset, _of_column(dataset, feature, _edges(feature, by)))
    counts = np.bincount(found.region, minlength=len(found.rules))
    empty = [rule for rule, count in zip(found.rules, counts, strict=True) if count == 0]
    if empty:
        raise DataError(
            "by",
            f"the region {empty[0]!r} without rows",
            "at least one row in each region",
            "Leave the region out",
        )
    _check_number(len(found.rules), len(dataset))
    return found


def _check_number(regions: int, rows: int) -> None:
    if regions > MOST_GIVEN:
        raise DataError(
            "by",
            f"{regions:,} regions of {rows:,} rows",
            f"at most {MOST_GIVEN}",
            "Pass the name of a column, which is cut at its quartiles if it is numeric, or combine labels",
        )


def _of_rows(dataset: Dataset, found: ColumnRegions) -> GivenRules:
    """Return regions by a column with the region of each row of data in memory."""
    levels = found.level_column
    region = (
        found.of_values(dataset.floats(found.feature.position))
        if levels is None
        else found.of_codes(levels.codes)
    )
    return GivenRules(found.by, found.rules, region, found.conditions)


def _of_masks(dataset: Dataset, masks: Mapping[str, ArrayLike]) -> GivenRules:
    """Return regions from masks; rows in none of them are a region of their own."""
    if not masks:
        raise DataError(
            "by", "an empty mapping", "at least one rule and its mask", "Pass {rule: mask}"
        )
    region = np.full(len(dataset), -1)
    rules: list[str] = []
    for rule, given in masks.items():
        mask = np.asarray(given)
        if mask.dtype.kind != "b":
            what, got = f"by[{str(rule)!r}]", f"values of type {mask.dtype}"
            fix = f"Pass an array of truth values, such as by={{{str(rule)!r}: X[column] > 50}}"
            if rule in [f.name for f in dataset.features]:  # {"sex": "m"}, {"age": [50]}
                fix = f"Write by={rule!r}, or by={{rule: X[{rule!r}] == {shown(given)}}} for one value"
                if isinstance(given, list):
                    fix = f"Write by=({rule!r}, {shown(given)}) to cut it at these values"
            raise DataError(what, got, "True or False for each row", fix)
        inside = rows_of(dataset, mask, f"by[{str(rule)!r}]")
        twice = inside & (region >= 0)
        if twice.any():
            first = rules[int(region[twice][0])]
            raise DataError(
                "by",
                f"{int(twice.sum()):,} rows in both {first!r} and {str(rule)!r}",
                "masks that do not overlap",
                "Exclude the rows of one mask from the other",
            )
        region[inside] = len(rules)
        rules.append(str(rule))
    if (region < 0).any():
        region[region < 0] = len(rules)
        rules.append("other rows")
    return GivenRules("masks", rules, region)


def _of_labels(dataset: Dataset, labels: object) -> GivenRules:
    values = np.asarray(labels)
    if values.ndim == 0:
        fix = "Pass the name of a column"
        if callable(labels):
            fix = "Pass what the function returns: by=function(X)"
        raise DataError("by", shown(labels), "a column, labels of the rows, or masks by rule", fix)
    names = [f.name for f in dataset.features]
    columns = [v for v in values.ravel().tolist() if isinstance(v, str) and v in names]
    if values.size <= len(names) and len(columns) == values.size != len(dataset.table):
        labels_of = ' + "/" + '.join(f"X[{name!r}].astype(str)" for name in columns)
        fix = f"Write by={columns[0]!r}"
        if len(columns) > 1:
            fix = f"Name one of them, or pass a label for each row: by={labels_of}"
        raise DataError("by", f"a list of names, {columns!r}", "one column", fix)
    values = rows_of(dataset, values, "by")
    texts = np.array([str(v) for v in values.tolist()], dtype=object)
    # Numbers in the order of their size, other labels in that of their text.
    if values.dtype.kind in "iufb":
        distinct, region = np.unique(values, return_inverse=True)
        rules = [str(v) for v in distinct.tolist()]
    else:
        names, region = np.unique(texts.astype(str), return_inverse=True)
        rules = [str(v) for v in names.tolist()]
    return GivenRules("labels", rules, region.astype(np.int64))


# --- by a column ----------------------------------------------------------------------------------


def _edges(feature: Feature, by: GivenRegions) -> Floats | None:
    """Return the edges at which `by=(feature, edges)` cuts; None if `by` is the feature alone."""
    if not isinstance(by, tuple):
        return None
    given = by[1]
    try:
        edges = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        edges = np.empty((0, 0))
    if edges.ndim != 1:
        name = feature.name
        raise DataError(
            "by",
            f"({name!r}, {shown(given)})",
            "the name of a column, or a name and a list of the values at which it is cut",
            f"Write by=({name!r}, [{given}])"
            if is_number(given)
            else f"Write by={name!r}, or by=({name!r}, [10, 20])",
        )
    return edges


def _of_column(dataset: Dataset, feature: Feature, edges: Floats | None) -> ColumnRegions:
    """Return regions by a column: its levels, or a numeric one cut at edges, by default at its quartiles."""
    if feature.categorical or feature.members:
        levels = dataset.once_known(lambda: dataset.levels(feature))
        return _level_regions(dataset, feature, levels, edges)
    column = dataset.column(feature.position)
    ends = column.low, column.high
    if edges is not None and len(edges) and not ((edges >= ends[0]) & (edges < ends[1])).any():
        raise DataError(
            "by",
            f"edges outside the values of {feature.name!r}",
            f"an edge between {ends[0]:.6g} and {ends[1]:.6g}",
            f"Leave the edges out to cut at quartiles: by={feature.name!r}",
        )
    few = None
    if edges is None:
        few, edges = values_or_quartiles(dataset, feature)
    return _cut_regions(feature, few, edges, ends, missing=column.missing > 0)


def values_or_quartiles(
    dataset: Dataset, feature: Feature
) -> tuple[Floats, None] | tuple[None, Floats]:
    """Return the values of a numeric feature that has few, or the quartiles of all rows that divide them."""
    column = dataset.column(feature.position)
    few = dataset.once_known(lambda: column.distinct(FEW_VALUES))
    if few is not None:
        return few, None
    quartiles = dataset.once_known(lambda: column.order_statistics(4))[1:4]
    return None, quartiles[quartiles < column.high]


@dataclass(frozen=True, eq=False)
class ColumnRegions:
    """Regions by the values of one feature, which each row determines alone."""

    feature: Feature
    conditions: list[Condition]
    inner: Floats
    level_column: LevelColumn | None = None

    @property
    def by(self) -> str:
        """The name of the feature."""
        return self.feature.name

    @property
    def rules(self) -> list[str]:
        return [c.text for c in self.conditions]

    def of_values(self, x: Floats) -> Ints:
        """Return the region of each row, given the values of a numeric feature."""
        region = np.searchsorted(self.inner, x, side="left")
        return np.where(np.isnan(x), len(self.conditions) - 1, region).astype(np.int64)

    def of_codes(self, codes: Ints) -> Ints:
        """Return the region of each row, given the codes of a categorical feature."""
        return np.where(codes < 0, len(self.conditions) - 1, codes)

    def of(self, evaluator: BatchEvaluator) -> Ints:
        """Return the region of each row of a batch."""
        if self.level_column is not None:
            return self.of_codes(evaluator.codes(self.level_column))
        return self.of_values(evaluator.column(self.feature.position))


def _level_regions(
    dataset: Dataset, feature: Feature, column: LevelColumn, edges: Floats | None
) -> ColumnRegions:
    """Return a region for each level, and one for missing values that are no level."""
    if edges is not None:
        raise DataError(
            "by",
            f"edges of {feature.name!r}, which is {feature.kind}",
            "a numeric feature",
            f"Use by={feature.name!r}",
        )
    names = tuple(dataset.features[j].name for j in feature.members)
    conditions: list[Condition] = []
    for level, label in zip(column.levels.values, column.levels.labels, strict=True):
        value = "is missing" if level is None else f"= {label}"
        text = f"{feature.title} {value}"
        conditions.append(Condition(feature, levels=(level,), text=text, columns=names))
    if column.missing and not any(c.missing for c in conditions):
        text = f"{feature.title} is missing"
        conditions.append(Condition(feature, levels=(), missing=True, text=text))
    return ColumnRegions(feature, conditions, np.zeros(0), column)


def _cut_regions(
    feature: Feature,
    distinct: Floats | None,
    edges: Floats | None,
    ends: tuple[float, float],
    *,
    missing: bool,
) -> ColumnRegions:
    """Return a region for each of a few values of a numeric feature, or for each interval between edges."""
    only: list[Level | None] = []
    if distinct is not None:
        inner = distinct[:-1]
        only = [*distinct.tolist()] if len(distinct) else [None]
    else:
        inner = np.unique(np.zeros(0) if edges is None else edges)
        inner = inner[(inner >= ends[0]) & (inner < ends[1])]
        only = [None] * (len(inner) + 1)
    cuts = [-math.inf, *inner.tolist(), math.inf]
    conditions = [
        Condition(feature, low, high, text=condition_text(feature, low, high, only=value))
        for low, high, value in zip(cuts[:-1], cuts[1:], only, strict=True)
    ]
    if missing:
        text = f"{feature.title} is missing"
        conditions.append(Condition(feature, math.inf, math.inf, missing=True, text=text))
    return ColumnRegions(feature, conditions, inner)


# --- data that are read in chunks -----------------------------------------------------------------


def by_of_chunks(dataset: Dataset, features: Sequence[Feature], by: GivenRegions) -> GivenRegions:
    """Return what gives the regions of data that are read in chunks, with the edges of all rows."""
    feature = _feature_of_chunks(dataset, features, by)
    if isinstance(by, tuple) or not feature.numeric:
        return by
    few, quartiles = values_or_quartiles(dataset, feature)
    return by if few is not None else (feature.name, quartiles)


def _regions_of_chunks(
    dataset: Dataset, features: Sequence[Feature], by: GivenRegions
) -> ColumnRegions:
    """Return the regions of data that are read in chunks: the levels of a column, or its cuts."""
    feature = _feature_of_chunks(dataset, features, by)
    regions = _of_column(dataset, feature, _edges(feature, by))
    _check_number(len(regions.rules), len(dataset))
    return regions


def _feature_of_chunks(dataset: Dataset, features: Sequence[Feature], by: GivenRegions) -> Feature:
    """Return the feature that gives the regions; raise for labels and masks, which are arrays."""
    name = column_named_by(by)
    if name is None:
        raise DataError(
            "by",
            "an array beside data that are read in chunks",
            "the name of a column",
            "Write the labels into a column of the data, and name it",
        )
    return find_one(dataset, features, name)
