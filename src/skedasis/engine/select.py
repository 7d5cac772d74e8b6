"""Selection of features and pairs, and of the variant of the method for each."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from skedasis.data.categories import LevelColumn, TooManyLevels, grouped
from skedasis.data.column_stats import Column
from skedasis.data.dataset import Source
from skedasis.data.features import Feature, OutOfRange, find
from skedasis.errors import DataError, LeftOutWarning, UnsupportedError, explained
from skedasis.methods.ale import ALE, RHALE
from skedasis.methods.ale_categorical import MOST_LEVELS
from skedasis.methods.ale_pairs import check_pair
from skedasis.methods.base import Form, Method, Parameters

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
"""Where each method is. They are imported when they are first used."""


def method_called(name: str) -> Any:
    """Return the method of a lower-case name, to be called with its parameters."""
    module, kind = METHODS[name].split(".")
    return getattr(importlib.import_module(f"skedasis.methods.{module}"), kind)


@dataclass(frozen=True, eq=False)
class Task:
    """One feature, or a pair, and the form of the method that explains it.

    Parameters
    ----------
    key : str or tuple of two str
        Its name in the results.
    features : tuple of Feature
        One or two.
    columns : tuple
        Their values, summarised on demand; the features themselves for a method that reads no values.
    way : Method
    """

    key: Any
    features: tuple[Feature, ...]
    columns: tuple[Column | LevelColumn | Feature, ...]
    way: Method

    @property
    def column(self) -> Any:
        """Return what `plan` sees: the column, or both."""
        return self.columns[0] if len(self.columns) == 1 else self.columns


def as_method(method: Any, *, pair: bool = False) -> Any:
    """Return the method that is meant: by its name with its defaults, or itself.

    Where none is named it is `RHALE`, and for a pair, of which there is no RHALE, `ALE`.
    """
    if method is None:
        return ALE() if pair else RHALE()
    if isinstance(method, str):
        if method.lower() in METHODS:
            return method_called(method.lower())()
        known = ", ".join(repr(m) for m in METHODS)
        raise DataError(explained("method", repr(method), f"one of {known}", "Use 'rhale'"))
    if isinstance(method, Parameters | Form):
        return method
    fix = f"Write {method.__name__}()" if isinstance(method, type) else "Use sd.RHALE()"
    raise DataError(explained("method", repr(method)[:60], "a method such as sd.RHALE()", fix))


class Choice:
    """What was asked for, found in the data.

    Parameters
    ----------
    source : Source
    wanted : str, int, tuple, list or None
        As in `explain`.
    groups : mapping, optional
        Columns that are moved together.
    free : bool
        Whether no method was named, so that a feature may get another form of what is usual.
    """

    def __init__(
        self, source: Source, wanted: Any, groups: Any = None, *, free: bool = False
    ) -> None:
        self.source = source
        self.free = free
        self.features = grouped(source, groups)
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
                explained("features", "an empty list", "at least one feature", "Use None for all")
            )
        self.asked = [self._item(item) for item in items]
        if len({len(a) for a in self.asked}) > 1:
            raise DataError(
                explained(
                    "features",
                    "single features and pairs in one list",
                    "either",
                    "Explain them in two calls",
                )
            )

    @property
    def pairs(self) -> bool:
        """Return whether pairs are asked for."""
        return len(self.asked[0]) == 2

    def _is_one(self, wanted: Any) -> bool:
        """Return whether this is one feature, or one pair, and no list of them."""
        return isinstance(wanted, (str, tuple))

    def _item(self, item: Any) -> tuple[Feature, ...]:
        labels = [f.label for f in self.features]
        if not isinstance(item, tuple) or item in labels:  # pandas has labels that are tuples
            return (self._find(item),)
        if len(item) != 2:
            raise UnsupportedError(
                explained(
                    "features",
                    f"a tuple of {len(item)}",
                    "a name, a tuple of two, a list of names or None",
                    "Use a list for several features one by one",
                )
            )
        first, second = self._find(item[0]), self._find(item[1])
        check_pair((first.name, second.name))
        return first, second

    def _find(self, wanted: Any) -> Feature:
        """Return a feature, or a group by its name. Positions are those of X's columns."""
        for feature in self.features:
            if isinstance(wanted, str) and feature.name == wanted:
                return feature
        place = find(self.source.features, wanted)
        for feature in self.features:
            if feature.columns == (place,):
                return feature
        group = next(f for f in self.features if place in f.columns)
        raise DataError(
            explained(
                "feature",
                f"{wanted!r}, which is moved together with others",
                f"its group {group.name!r}, or a column of none",
                f"Ask for {group.name!r}",
            )
        )

    def tasks(self, method: Any) -> list[Task]:
        """Return what is to be done; where everything is explained, leave out what cannot be, and say so.

        Raises
        ------
        UnsupportedError
            For a feature asked for by name that the method has no form for.
        """
        if self.pairs:
            pairs = [self._pair(method, *a) for a in self.asked]
            return list({task.key: task for task in pairs}.values())
        found: dict[str, Task] = {}
        left: list[str] = []
        beyond: list[str] = []
        reason: DataError | None = None
        for (feature,) in self.asked:
            try:
                found[feature.name] = self._one(method, feature)
            except (TooManyLevels, OutOfRange) as error:
                if not self.everything:
                    raise
                left.append(feature.name)
                beyond += [feature.name] if isinstance(error, OutOfRange) else []
                reason = reason or error
        if not found and len(beyond) == len(left) and reason is not None:
            raise reason
        if not found:
            raise UnsupportedError(
                explained(
                    method.name,
                    f"no feature with at most {MOST_LEVELS:,} levels among {len(left)}",
                    "at least one",
                    "Declare codes that are numbers: schema={'name': 'continuous'}",
                )
            )
        levels = [name for name in left if name not in beyond]
        for names, what, fix in (
            (levels, f"more than {MOST_LEVELS:,} levels", ""),
            (beyond, "numbers out of range", " Explain one by its name to see what to do."),
        ):
            if names:
                many = ("feature", "was") if len(names) == 1 else ("features", "were")
                warnings.warn(
                    f"{method.name}: {len(names)} {many[0]} with {what} {many[1]} left out: "
                    f"{', '.join(names[:8])}{', …' if len(names) > 8 else ''}.{fix}",
                    LeftOutWarning,
                    stacklevel=4,
                )
        return list(found.values())

    def _one(self, method: Any, feature: Feature) -> Task:
        chosen = feature.categorical and (self.everything or self.free)
        instead = chosen and hasattr(method, "in_place_of")
        way = method.in_place_of(feature) if instead else method.for_feature(feature)
        # Explicit bins win: an ordinal feature of numbers is then numeric.
        column = self._column(way, feature, numeric=isinstance(way, type(method)))
        return Task(feature.name, (feature,), (column,), way)

    def _pair(self, method: Any, first: Feature, second: Feature) -> Task:
        way = method.for_pair((first, second))
        columns = tuple(self._column(way, f, numeric=False) for f in (first, second))
        return Task((first.name, second.name), (first, second), columns, way)

    def _column(self, way: Any, feature: Feature, *, numeric: bool) -> Any:
        if not way.reads_columns:
            return feature
        if numeric or not feature.categorical:
            column = self.source.column(feature.position)
            column.feature = feature  # a group of one column goes by the group's name
            return column
        return self.source.levels(feature, top=way.top_levels, most=MOST_LEVELS)


def names_of(tasks: Sequence[Task]) -> list[Any]:
    """Return what the results will be called, for the provenance."""
    return [t.key if isinstance(t.key, str) else list(t.key) for t in tasks]
