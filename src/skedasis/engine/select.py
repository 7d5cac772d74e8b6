"""Find the features and pairs to explain, and the variant of the method for each.

`as_method` resolves the method, `FeatureSelection` the features in the data. `FeatureSelection.tasks` combines both
into one `Task` for each feature or pair, which the later steps (`plan`, `run`, `assemble`) work through.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from skedasis.data.categories import TooManyLevels, apply_groups
from skedasis.data.dataset import AnyColumn, Dataset
from skedasis.data.features import Feature, OutOfRange, find_feature
from skedasis.errors import DataError, LeftOutWarning, UnsupportedError, warn_caller
from skedasis.methods.ale import ALE, RHALE
from skedasis.methods.ale_categorical import MOST_LEVELS
from skedasis.methods.ale_pairs import check_pair
from skedasis.methods.base import Method, MethodVariant, Parameters

METHODS = {
    "ale": "ale.ALE",
    "dale": "ale.DALE",
    "ice": "pdp.ICE",
    "mplot": "mplot.MPlot",
    "pdp": "pdp.PDP",
    "pfi": "permutation.PFI",
    "rhale": "ale.RHALE",
    "uale": "ale.UALE",
}
"""Module and class of each method. Methods are imported on first use."""


def method_class(name: str) -> Any:
    """Return the class of the method with a lower-case name."""
    module, kind = METHODS[name].split(".")
    return getattr(importlib.import_module(f"skedasis.methods.{module}"), kind)


@dataclass(frozen=True, eq=False)
class Task:
    """One feature or pair, and the variant of the method that explains it.

    Parameters
    ----------
    key : str or tuple of two str
        Its name in the results.
    features : tuple of Feature
        One or two.
    columns : tuple
        Column summaries, computed on demand; the features themselves for a method that reads no values.
    variant : Method
        The method, or its variant for categorical features, groups or pairs.
    """

    key: Any
    features: tuple[Feature, ...]
    columns: tuple[AnyColumn, ...]
    variant: Method

    @property
    def column(self) -> Any:
        """Return the argument of `Method.plan`: the column, or both columns of a pair."""
        return self.columns[0] if len(self.columns) == 1 else self.columns


def as_method(method: Any, *, pair: bool = False) -> Any:
    """Return the method for the argument `method` of `explain`.

    A name gives the method with its defaults; None gives `RHALE`, or `ALE` for pairs, which have no RHALE.

    Raises
    ------
    DataError
        For an unknown name, a class instead of an instance, or an object that is no method.
    """
    if method is None:
        return ALE() if pair else RHALE()
    if isinstance(method, str):
        if method.lower() in METHODS:
            return method_class(method.lower())()
        known = ", ".join(repr(m) for m in METHODS)
        raise DataError("method", repr(method), f"one of {known}", "Use one of these names")
    if isinstance(method, Parameters | MethodVariant):
        return method
    fix = "Use sd.RHALE()"
    if isinstance(method, type):
        fix = f"Pass an instance: {method.__name__}()"
    raise DataError("method", repr(method)[:60], "a method such as sd.RHALE()", fix)


class FeatureSelection:
    """The features or pairs to explain, found in the data.

    Parameters
    ----------
    dataset : Dataset
    wanted : str, int, tuple, list or None
        The argument `features` of `explain`.
    groups : mapping, optional
        Groups of columns that are explained as one feature.
    free : bool
        Whether no method was named. A categorical feature then gets the variant that suits it best.
    """

    def __init__(
        self, dataset: Dataset, wanted: Any, groups: Any = None, *, free: bool = False
    ) -> None:
        self.dataset = dataset
        self.free = free
        self.features = (
            dataset.features if groups is None else apply_groups(dataset.features, groups)
        )
        self.everything = wanted is None
        self.single = False
        self.asked: list[tuple[Feature, ...]] = []
        if self.everything:
            self.asked = [(f,) for f in self.features]
            return
        self.single = self._is_one(wanted) or not isinstance(wanted, Iterable)
        items = [wanted] if self.single else list(wanted)
        if not items:
            raise DataError(
                "features", "an empty list", "at least one feature", "Use None for all features"
            )
        self.asked = [self._item(item) for item in items]
        if len({len(a) for a in self.asked}) > 1:
            raise DataError(
                "features",
                "single features and pairs in one list",
                "only features, or only pairs",
                "Call explain once with the features, and once with the pairs",
            )

    @property
    def pairs(self) -> bool:
        """Whether the selection consists of pairs."""
        return len(self.asked[0]) == 2

    def _is_one(self, wanted: Any) -> bool:
        """Return whether this is one feature or one pair, not a list."""
        return isinstance(wanted, (str, tuple))

    def _item(self, item: Any) -> tuple[Feature, ...]:
        labels = [f.label for f in self.features]
        if not isinstance(item, tuple) or item in labels:  # pandas has labels that are tuples
            return (self._find(item),)
        if len(item) != 2:
            raise UnsupportedError(
                "features",
                f"a tuple of {len(item)}",
                "a name, a pair (a tuple of two names), a list of names or of pairs, or None",
                "Use a list to explain several features, each on its own",
            )
        first, second = self._find(item[0]), self._find(item[1])
        check_pair((first.name, second.name))
        return first, second

    def _find(self, wanted: Any) -> Feature:
        """Return a feature by name, label or position in X; a group by its name."""
        for feature in self.features:
            if isinstance(wanted, str) and feature.name == wanted:
                return feature
        place = find_feature(self.dataset.features, wanted)
        for feature in self.features:
            if feature.columns == (place,):
                return feature
        group = next(f for f in self.features if place in f.columns)
        raise DataError(
            "feature",
            f"{wanted!r}, which is a column of the group {group.name!r}",
            "the name of a group, or a column outside all groups",
            f"Explain the whole group: features={group.name!r}",
        )

    def tasks(self, method: Any) -> list[Task]:
        """Return the tasks. If all features are explained, leave out those without a variant, with a warning.

        Raises
        ------
        UnsupportedError
            If none of all features has a variant.
        DataError
            For a feature requested by name that has too many levels, or numbers out of range.
        """
        if self.pairs:
            pairs = [self._pair(method, *a) for a in self.asked]
            return list({task.key: task for task in pairs}.values())
        found: dict[str, Task] = {}
        skipped: list[str] = []
        out_of_range: list[str] = []
        reason: DataError | None = None
        for (feature,) in self.asked:
            try:
                found[feature.name] = self._one(method, feature)
            except (TooManyLevels, OutOfRange) as error:
                if not self.everything:
                    raise
                skipped.append(feature.name)
                out_of_range += [feature.name] if isinstance(error, OutOfRange) else []
                reason = reason or error
        if not found and len(out_of_range) == len(skipped) and reason is not None:
            raise reason
        if not found:
            raise UnsupportedError(
                method.name,
                f"only features with more than {MOST_LEVELS:,} levels ({len(skipped)} in all)",
                f"a feature with at most {MOST_LEVELS:,} levels",
                "Declare numeric codes as numbers: schema={'name': 'continuous'}",
            )
        levels = [name for name in skipped if name not in out_of_range]
        for names, problem, fix in (
            (levels, f"more than {MOST_LEVELS:,} levels", ""),
            (
                out_of_range,
                "numbers out of range",
                " Explain one by its name to see how to rescale it.",
            ),
        ):
            if names:
                many = ("feature", "was") if len(names) == 1 else ("features", "were")
                warn_caller(
                    f"{method.name}: {len(names)} {many[0]} with {problem} {many[1]} left out: "
                    f"{', '.join(names[:8])}{', …' if len(names) > 8 else ''}.{fix}",
                    LeftOutWarning,
                )
        return list(found.values())

    def _one(self, method: Any, feature: Feature) -> Task:
        may_differ = feature.categorical and (self.everything or self.free)
        use_alternative = may_differ and hasattr(method, "in_place_of")
        variant = method.in_place_of(feature) if use_alternative else method.for_feature(feature)
        # If the method has explicit bins, `for_feature` returns the numeric method for an ordinal feature of numbers.
        column = self._column(variant, feature, numeric=isinstance(variant, type(method)))
        return Task(feature.name, (feature,), (column,), variant)

    def _pair(self, method: Any, first: Feature, second: Feature) -> Task:
        variant = method.for_pair((first, second))
        columns = tuple(self._column(variant, f, numeric=False) for f in (first, second))
        return Task((first.name, second.name), (first, second), columns, variant)

    def _column(self, variant: Any, feature: Feature, *, numeric: bool) -> Any:
        if not variant.reads_columns:
            return feature
        if numeric or not feature.categorical:
            column = self.dataset.column(feature.position)
            column.feature = feature  # a group of one column has the group's name
            return column
        return self.dataset.levels(feature, top=variant.top_levels, most=MOST_LEVELS)


def names_of(tasks: Sequence[Task]) -> list[Any]:
    """Return the names of the results, for the provenance."""
    return [t.key if isinstance(t.key, str) else list(t.key) for t in tasks]
