"""Conditioning features of the search for regions: their codes, and the words of the conditions on them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np

from skedasis._arguments import shown
from skedasis._types import Bools, Ints, Level
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature, find_feature
from skedasis.data.times import TimeAxis
from skedasis.engine.select import FeatureMatcher, as_features
from skedasis.errors import DataError
from skedasis.results.regions import Condition, condition_text
from skedasis.stats.conditioning import (
    LEVEL_ROWS,
    CodedColumn,
    Cut,
    code_levels,
    code_numbers,
)

ROWS_LEFT_OUT = f"no level has {LEVEL_ROWS} rows"
CONSTANT = "constant"


@dataclass(frozen=True, eq=False)
class ConditioningFeature:
    """A feature that effects may depend on, with the codes of the rows."""

    feature: Feature
    coded: CodedColumn
    levels: tuple[Level, ...] = ()
    code_of: Ints | None = None
    columns: tuple[str, ...] = ()

    def conditions(self, cut: Cut, rows: Ints) -> tuple[Condition, Condition]:
        """Return the conditions of both sides of a cut."""
        left = cut.holds(self.coded, rows)
        missing_left = bool(self.coded.missing and cut.left[self.coded.size])
        # Missing values that these rows do not have go with the larger side.
        goes_left = missing_left if self.coded.missing else bool(2 * left.sum() >= len(rows))
        if self.code_of is None:
            sides = (-math.inf, cut.threshold), (cut.threshold, math.inf)
            return (
                self._interval(sides[0], goes_left, rows[left]),
                self._interval(sides[1], not goes_left, rows[~left]),
            )
        return self._level_conditions(cut, goes_left, rows, left)

    def _interval(self, ends: tuple[float, float], missing: bool, rows: Ints) -> Condition:
        low, high = ends
        values = self.coded.values
        observed = np.zeros(0) if values is None else values[rows]
        observed = observed[~np.isnan(observed)]
        # Between -inf and inf there are all values: the other side has the missing ones.
        only = None
        if len(observed) and math.isfinite(low) != math.isfinite(high):
            smallest, largest = float(observed.min()), float(observed.max())
            # Of a feature with few values, a side with one of them is named by it.
            only = smallest if smallest == largest and self.coded.size <= 12 else None
        said = missing and self.coded.missing
        text = condition_text(self.feature, low, high, missing=said, only=only)
        return Condition(self.feature, low, high, missing=missing, text=text)

    def _level_conditions(
        self, cut: Cut, goes_left: bool, rows: Ints, left: Bools
    ) -> tuple[Condition, Condition]:
        code_of = np.zeros(0, dtype=np.int64) if self.code_of is None else self.code_of
        observed = np.zeros(self.coded.width, dtype=bool)
        observed[np.unique(self.coded.codes[rows])] = True
        pool = self.coded.size - 1 if self.coded.rare else -1
        listed: list[list[Level]] = [[], []]
        for level, code in zip(self.levels, code_of.tolist(), strict=True):
            if code != pool and observed[code]:
                listed[0 if cut.left[code] else 1].append(level)
        # The side with the rare levels, and with those that were not observed, is said by what it excludes.
        excluded = int(not cut.left[pool]) if pool >= 0 else int(len(listed[1]) >= len(listed[0]))
        named = listed[1 - excluded]
        conditions: list[Condition] = []
        for side in (0, 1):
            is_excluded = side == excluded
            missing = goes_left == (side == 0)
            if None in self.levels:
                missing = (None in named) != is_excluded
            # A short list of what is there is clearer than one of what is not.
            positive = is_excluded and pool < 0 and 0 < len(listed[side]) <= len(named)
            shown = listed[side] if positive else named
            if is_excluded and not positive and self.coded.missing and not missing:
                shown = [*shown, None]  # "not in {a}" would hold for missing values
            text = condition_text(
                self.feature,
                levels=shown,
                excluded=is_excluded and not positive,
                missing=missing and self.coded.missing,
            )
            conditions.append(
                Condition(
                    self.feature,
                    levels=tuple(named),
                    excluded=is_excluded,
                    missing=missing,
                    text=text,
                    columns=self.columns,
                )
            )
        return conditions[0], conditions[1]


@dataclass(frozen=True, eq=False)
class ConditioningFeatures:
    """The conditioning features of a dataset."""

    found: tuple[ConditioningFeature, ...]
    left_out: dict[str, str]

    @property
    def columns(self) -> list[CodedColumn]:
        return [c.coded for c in self.found]

    def allowed_for(self, feature: Feature) -> list[int]:
        """Return the indices of those that share no column with a feature."""
        own = set(feature.columns)
        return [j for j, c in enumerate(self.found) if not own & set(c.feature.columns)]


def as_conditions(X: object, split_on: object, what: str) -> list[Hashable] | None:
    """Return an argument that names the features that rules may use, with patterns as matchers; None for all."""
    if isinstance(split_on, str):
        raise DataError(what, repr(split_on), "a list of features", f"Use [{split_on!r}]")
    found = as_features(X, split_on, what)
    if found is not None and not isinstance(found, Iterable):
        fix = "Use None for all features"
        raise DataError(what, shown(found), "a list of features, or None", fix)
    return None if found is None else list(cast("Iterable[Hashable]", found))


def matched(
    split_on: Sequence[Hashable], features: Sequence[Feature], dataset: Dataset
) -> list[Hashable]:
    """Return the names of features, with those that patterns match of some features in their place."""
    names: dict[Hashable, None] = {}
    for item in split_on:
        if isinstance(item, FeatureMatcher):
            names |= dict.fromkeys(f.name for f in item.among(features, dataset))
        else:
            names[item] = None
    return list(names)


def conditioning_features(
    dataset: Dataset,
    features: Sequence[Feature],
    split_on: Sequence[Hashable] | None,
    of_interest: Sequence[Feature],
    what: str = "regions(split_on)",
) -> ConditioningFeatures:
    """Code the features that effects may depend on; `what` is the argument that names them, for messages."""
    wanted = list(features)
    if split_on is not None:
        wanted = _wanted(dataset, features, split_on, of_interest, what)
    found: list[ConditioningFeature] = []
    left_out: dict[str, str] = {}
    for feature in wanted:
        coded = _coded(dataset, feature)
        if isinstance(coded, str):
            left_out[feature.name] = coded
        else:
            found.append(coded)
    return ConditioningFeatures(tuple(found), left_out)


def _wanted(
    dataset: Dataset,
    features: Sequence[Feature],
    split_on: Sequence[Hashable],
    of_interest: Sequence[Feature],
    what: str,
) -> list[Feature]:
    chosen: list[Feature] = []
    for name in split_on:
        feature = find_one(dataset, features, name, what)
        if len(of_interest) == 1 and set(feature.columns) & set(of_interest[0].columns):
            others = ", ".join(repr(f.name) for f in features if f.name != feature.name)
            raise DataError(
                what,
                f"{feature.name!r}, the feature of interest",
                "other features",
                f"Choose from {others[:200]}",
            )
        if feature not in chosen:
            chosen.append(feature)
    if not chosen:
        raise DataError(
            what,
            "an empty list",
            "at least one feature",
            "Use None for all features",
        )
    return chosen


def find_one(
    dataset: Dataset, features: Sequence[Feature], name: Hashable, what: str = "by"
) -> Feature:
    """Return a feature or group by its name, label or position; `what` is the argument, for messages."""
    for feature in features:
        if isinstance(name, str) and feature.name == name:
            return feature
    position = find_feature(dataset.features, name, what)
    for feature in features:
        if position in feature.columns:
            return feature
    raise DataError(what, repr(name), "a feature of X", "Use a name from X's columns")


def _coded(dataset: Dataset, feature: Feature) -> ConditioningFeature | str:
    """Return a feature with its codes, or why it cannot be used."""
    if feature.categorical or feature.members:
        return _coded_levels(dataset, feature)
    try:
        x = dataset.floats(feature.position)
    except (ValueError, TypeError):
        return "values that are not numbers"
    if np.isinf(x).any():
        return "infinite values"
    rounding = None if feature.time is None else partial(roundest_time, feature.time)
    coded = code_numbers(x, dataset.weights, rounding=rounding)
    return CONSTANT if coded.width < 2 else ConditioningFeature(feature, coded)


def _coded_levels(dataset: Dataset, feature: Feature) -> ConditioningFeature | str:
    ordered = feature.kind == "ordinal"
    if not feature.members and not ordered:
        # Identifiers have as many levels as rows: counting is cheap, labels are not.
        codes, values = dataset.coded(feature.position)
        if len(values) and np.bincount(codes[codes >= 0]).max(initial=0) < LEVEL_ROWS:
            return ROWS_LEFT_OUT
    try:
        column = dataset.levels(feature, most=len(dataset) + 1)
    except DataError as error:
        return str(error)
    coded, code_of = code_levels(column.codes, len(column.levels), ordered=ordered)
    if coded.width < 2:
        return CONSTANT if len(column.levels) < 2 else ROWS_LEFT_OUT
    columns = tuple(dataset.features[j].name for j in feature.members)
    return ConditioningFeature(feature, coded, column.levels.values, code_of, columns)


_TIME_UNITS = ("Y", "M", "D", "h", "m", "s", "ms", "us")


def roundest_time(axis: TimeAxis, low: float, high: float) -> float:
    """Return the roundest time t with ``low <= t < high``, in days on an axis: a year, else a month, else a day."""
    if not high > low:
        return low
    ends = axis.local(np.array([low, high]))
    if ends.dtype.kind == "M":
        for unit in _TIME_UNITS:
            start = ends[0].astype(f"M8[{unit}]").astype(ends.dtype)
            later = (ends[0].astype(f"M8[{unit}]") + np.timedelta64(1, unit)).astype(ends.dtype)
            for time in (start, later):
                if ends[0] <= time < ends[1]:
                    days = float(axis.from_local(np.array([time]))[0])
                    if low <= days < high:
                        return days
    return low
