"""Find the features and pairs to explain, and the variant of the method for each."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np

import skedasis
from skedasis._arguments import is_int, shown
from skedasis._types import Values
from skedasis.binning import Binning
from skedasis.data.categories import LevelColumn, TooManyLevels, apply_groups
from skedasis.data.column_stats import Column
from skedasis.data.dataset import AnyColumn, Dataset, columns_of
from skedasis.data.features import (
    Feature,
    Groups,
    NoValues,
    OutOfRange,
    find_feature,
    first_names,
    label_position,
)
from skedasis.errors import DataError, LeftOutWarning, UnsupportedError, nearest, warn_caller
from skedasis.methods.ale import ALE, RHALE
from skedasis.methods.ale_categorical import MOST_LEVELS
from skedasis.methods.ale_pairs import check_pair
from skedasis.methods.base import (
    AnyFeatureMethod,
    AnyPairMethod,
    ColumnPair,
    MethodResult,
    Parameters,
    ResolvedMethod,
)
from skedasis.methods.plans import BatchStats
from skedasis.models.adapters import DerivativeInfo
from skedasis.registry import METHODS, Registered, call_of, listed_methods, load_plugins
from skedasis.stats.moments import WeightKind

if TYPE_CHECKING:
    import polars as pl

    from skedasis._types import Container
    from skedasis.results.effect import About

ColumnMap: TypeAlias = Callable[[AnyColumn], AnyColumn]
"""Returns a column of the same kind for other rows."""

AnyPlan: TypeAlias = object
"""What a method plans for a feature or a pair: a class of its own."""


@dataclass(frozen=True, eq=False)
class FeatureTask:
    """One feature, and the variant of the method that explains it."""

    key: str
    feature: Feature
    column: AnyColumn
    variant: AnyFeatureMethod

    @property
    def features(self) -> tuple[Feature, ...]:
        return (self.feature,)

    @property
    def columns(self) -> tuple[AnyColumn, ...]:
        return (self.column,)

    def with_columns(self, of: ColumnMap) -> FeatureTask:
        """Return the task for other rows: with the column that a function returns for the present one."""
        return replace(self, column=of(self.column))

    def plan(self, infos: Sequence[DerivativeInfo]) -> AnyPlan:
        """Plan the feature, given the quantity's derivatives by it."""
        return self.variant.plan(self.column, infos[0])

    def finalize(
        self,
        plan: AnyPlan,
        stats: BatchStats,
        abouts: Sequence[About],
        *,
        exact: bool,
        kind: WeightKind,
    ) -> MethodResult:
        """Return the result from the statistics of all batches."""
        return self.variant.finalize(plan, stats, abouts[0], exact=exact, kind=kind)


@dataclass(frozen=True, eq=False)
class PairTask:
    """Two features, and the variant of the method that explains their interaction or joint effect."""

    key: tuple[str, str]
    features: tuple[Feature, ...]
    columns: ColumnPair
    variant: AnyPairMethod

    def with_columns(self, of: ColumnMap) -> PairTask:
        """Return the task for other rows: with the columns that a function returns for the present ones."""
        first, second = (of(column) for column in self.columns)
        if isinstance(first, Feature) or isinstance(second, Feature):
            raise TypeError("a pair has columns")
        return replace(self, columns=(first, second))

    def plan(self, infos: Sequence[DerivativeInfo]) -> AnyPlan:
        """Plan the pair, given the quantity's derivatives by both features."""
        return self.variant.plan(self.columns, (infos[0], infos[1]))

    def finalize(
        self,
        plan: AnyPlan,
        stats: BatchStats,
        abouts: Sequence[About],
        *,
        exact: bool,
        kind: WeightKind,
    ) -> MethodResult:
        """Return the result from the statistics of all batches."""
        return self.variant.finalize(plan, stats, (abouts[0], abouts[1]), exact=exact, kind=kind)


Task: TypeAlias = FeatureTask | PairTask


_DEFAULT, _DEFAULT_FOR_PAIRS = RHALE(), ALE()


def as_method(method: object, *, pair: bool = False) -> Parameters:
    """Return the method for the argument `method` of `explain`."""
    if method is None:
        return _DEFAULT_FOR_PAIRS if pair else _DEFAULT
    if isinstance(method, str):
        return _named_method(method)
    if isinstance(method, Parameters):
        return method
    fix = "Use method=sd.RHALE()"
    if isinstance(method, type):
        fix = f"Pass an instance: method={call_of(method.__name__)}()"
        if not issubclass(method, Parameters):
            fix = "Use method=sd.RHALE()"
    elif isinstance(method, Binning):
        fix = f"Pass it to a method: method=sd.ALE(bins=sd.{method!r})"
    elif isinstance(method, (list, tuple)):
        fix = "Call explain once for each method, and compare the results: sd.compare(e1, e2)"
    raise DataError("method", shown(method), "a method such as sd.RHALE()", fix)


def loaded(entry: Registered) -> Callable[..., object]:
    """Return the class or function of an entry, which is imported on first use."""
    return entry.own or getattr(skedasis, entry.name)


def _named_method(name: str) -> Parameters:
    """Return the method with a name, with its default parameters."""
    if name.lower() not in METHODS:
        load_plugins()
    entry = {key.lower(): entry for key, entry in METHODS.items()}.get(name.lower())
    if entry is not None:
        return cast("Parameters", loaded(entry)())
    known, meant = ", ".join(map(repr, METHODS)), nearest(name, METHODS, 0.75)
    fix = f"Did you mean method={meant!r}?"
    if meant is None:
        fix = "Use method='rhale' for effects of features, method='pfi' for their importance"
    raise DataError("method", repr(name), f"one of {known}", fix)


# ------------------------------------------------------------------------------------------
# Features by pattern or selector.


class SelectorLike(Protocol):
    """What narwhals' and Polars' selectors have in common, for type checkers."""

    def is_null(self) -> object: ...

    def alias(self, name: str, /) -> object: ...


FeaturePattern: TypeAlias = re.Pattern[str] | SelectorLike | Callable[[str], bool]
"""Features by what they have in common: a compiled pattern, a selector, or a function of the name."""


@dataclass(frozen=True, eq=False)
class FeatureMatcher:
    """A pattern or selector, as `FeatureSelection` uses it."""

    what: str
    text: str
    test: Callable[[str], bool] | None = None
    columns: frozenset[int] = field(default_factory=frozenset)

    def matches(self, feature: Feature) -> bool:
        """Return whether a feature is meant: by its name, or by a selector that chose all of its columns."""
        if self.test is None:
            return self.columns.issuperset(feature.columns)
        found = self.test(feature.name)
        if not isinstance(found, (bool, np.bool_)):
            raise DataError(
                self.what,
                f"a function that returned {shown(found)} for {feature.name!r}",
                "True or False for each name",
                "Write for example lambda name: name.endswith('temp')",
            )
        return bool(found)

    def among(self, features: Sequence[Feature], dataset: Dataset) -> list[Feature]:
        """Return the features that are meant, in their order."""
        found = [f for f in features if self.matches(f)]
        if not found:
            raise self._no_match(features, dataset)
        return found

    def _no_match(self, features: Sequence[Feature], dataset: Dataset) -> DataError:
        many = f"{len(features)} feature{'s' * (len(features) != 1)}"
        got = f"{self.text}, which matches none of {many}"
        for feature in features:
            if any(self.matches(dataset.features[j]) for j in feature.members):
                fix = f"Its columns are explained together: match the name of the group {feature.name!r}"
                return DataError(self.what, got, "a pattern of names of features", fix)
        names = [f.name for f in features]
        near: str | None = None
        if self.test is not None:
            plain = re.sub(r"\W+", "", self.text.removeprefix("re.compile"))
            near = nearest(plain, names)
        fix = f"Did you mean {near!r}?" if near else f"X has {first_names(names)}"
        return DataError(self.what, got, "at least one feature that matches", fix)


def as_features(X: object, wanted: object, what: str = "features") -> object:
    """Return an argument that chooses features, with each pattern and selector replaced by a `FeatureMatcher`."""
    if _is_pattern(wanted):
        return [_matcher(X, wanted, what)]
    if isinstance(wanted, tuple):
        _check_pair_of_names(wanted, what)
        return wanted
    # An array or a mapping has no patterns; `check_wanted` refuses those that are no names.
    unordered = isinstance(wanted, (set, frozenset, bytes, bytearray))  # refused by `check_wanted`
    if unordered or isinstance(wanted, (str, Mapping)) or hasattr(wanted, "__array__"):
        return wanted
    if not isinstance(wanted, Iterable):
        return wanted
    items = list(cast("Iterable[object]", wanted))
    for item in items:
        if isinstance(item, tuple):
            _check_pair_of_names(item, what)
    return [_matcher(X, item, what) if _is_pattern(item) else item for item in items]


def check_no_pattern(wanted: object) -> None:
    """Raise if the argument `pairs` of `interactions` is a pattern or has one."""
    what = "interactions(pairs)"
    if isinstance(wanted, (str, tuple)) or not isinstance(wanted, Iterable) or _is_pattern(wanted):
        items: list[object] = [wanted]
    else:
        items = list(cast("Iterable[object]", wanted))
    for item in items:
        if isinstance(item, tuple):
            _check_pair_of_names(item, what)
        elif _is_pattern(item):
            raise _no_pairs(item, what)


def _check_pair_of_names(pair: tuple[object, ...], what: str) -> None:
    for item in pair:
        if _is_pattern(item):
            raise _no_pairs(item, what)


def _no_pairs(item: object, what: str) -> UnsupportedError:
    return UnsupportedError(
        what,
        f"{_text_of(item)} for pairs",
        "pairs of two names",
        "List the pairs: list(itertools.combinations(['a', 'b', 'c'], 2))",
    )


def _is_pattern(item: object) -> bool:
    if isinstance(item, re.Pattern) or _is_selector(item):
        return True
    return callable(item) and not isinstance(item, type)


def _is_selector(item: object) -> bool:
    """Return whether an object is a selector or expression of a library, which is loaded if it is."""
    narwhals, polars = sys.modules.get("narwhals"), sys.modules.get("polars")
    return (narwhals is not None and isinstance(item, narwhals.Expr)) or (
        polars is not None and isinstance(item, polars.Expr)
    )


def _text_of(item: object) -> str:
    if isinstance(item, re.Pattern):
        return f"re.compile({item.pattern!r})"
    if _is_selector(item):
        return "a selector"
    name = item.__name__ if isinstance(item, FunctionType) else type(item).__name__
    return f"the function {name}"


def _matcher(X: object, item: object, what: str) -> FeatureMatcher:
    text = _text_of(item)
    if isinstance(item, re.Pattern):
        if not isinstance(item.pattern, str):
            fix = f"Write re.compile({item.pattern.decode('latin-1')!r})"
            raise DataError(what, text, "a pattern of text", fix)
        pattern = cast("re.Pattern[str]", item)
        return FeatureMatcher(what, text, lambda name: pattern.search(name) is not None)
    if _is_selector(item):
        return FeatureMatcher(what, text, columns=frozenset(_selected(X, item, what)))
    return FeatureMatcher(what, text, cast("Callable[[str], bool]", item))


_TYPED_ROWS = 100
"""Rows from which a selector tells text from other objects in a column of objects."""


def _selected(X: object, selector: object, what: str) -> list[int]:
    """Return the positions of the columns that a selector chooses."""
    # Imported here: users who have a selector have imported its library.
    import narwhals as nw
    from narwhals.selectors import Selector

    of_polars = sys.modules.get("polars.selectors")
    by_polars = of_polars is not None and isinstance(selector, of_polars.Selector)
    if not by_polars and not isinstance(selector, Selector):
        raise UnsupportedError(
            what,
            "an expression",
            "a selector of columns",
            "Use one such as narwhals.selectors.numeric(), or names",
        )
    columns = columns_of(cast("Container", X), what)
    frame = nw.from_native(columns, eager_only=True).head(_TYPED_ROWS)
    labels = list(frame.columns)
    if by_polars and not (frame.implementation.is_polars() or frame.implementation.is_pyarrow()):
        raise UnsupportedError(
            what,
            "a selector of Polars, and a data frame of another library",
            "a Polars data frame or an Arrow table",
            "Use narwhals.selectors, which select from all data frames",
        )
    try:
        if by_polars:
            chosen = frame.to_polars().select(cast("pl.Expr", selector)).columns
        else:
            chosen = frame.select(cast("Selector", selector)).columns
    except Exception as error:
        got = f"a selector that cannot be evaluated ({str(error).splitlines()[0]})"
        raise DataError(what, got, "a selector of X's columns", "Check its names") from error
    return [labels.index(label) for label in chosen]


@runtime_checkable
class NamedLike(Protocol):
    """What a series has."""

    name: object


def check_wanted(wanted: object, features: Sequence[Feature]) -> None:
    """Raise if the argument `features` is no selection of columns, but labels, data, a slice or a mask."""
    labels = [f.key for f in features]
    problem = None
    if isinstance(wanted, Mapping):
        problem = f"a {type(wanted).__name__}", f"Pass a list: {list(wanted)!r}"
    elif isinstance(wanted, (set, frozenset)):  # their order differs between runs
        problem = f"a {type(wanted).__name__}", f"Pass a list: {sorted(wanted, key=str)!r}"
    elif isinstance(wanted, (bytes, bytearray)):
        problem = shown(wanted), f"Pass text: {wanted.decode(errors='replace')!r}"
    elif isinstance(wanted, slice):
        plain = all(v is None or is_int(v) for v in (wanted.start, wanted.stop, wanted.step))
        problem = shown(wanted), f"Pass a list: {(labels[wanted] if plain else labels)[:6]!r}"
    elif hasattr(wanted, "__array__") or (
        isinstance(wanted, list)
        and wanted
        and all(isinstance(v, (bool, float)) for v in wanted)
        and any(label_position(labels, v) is None for v in wanted)
    ):
        problem = _no_selection(wanted, np.asarray(wanted), labels)
    if problem is not None:
        got, fix = problem
        raise DataError("features", got, "names or positions of columns of X", fix)


def _no_selection(
    wanted: object, values: Values, labels: Sequence[Hashable]
) -> tuple[str, str] | None:
    """Return what an array, a series or a data frame is, and what to pass instead; None if it may choose columns."""
    kind = "an array" if isinstance(wanted, np.ndarray) else f"a {type(wanted).__name__}"
    if values.ndim == 0:  # a position as one of NumPy's integers
        return None
    if values.ndim > 1:
        return f"{kind} of shape {values.shape}", "Pass the names: list(frame.columns)"
    if values.dtype.kind == "b":
        chosen = [label for label, inside in zip(labels, values, strict=False) if inside]
        fix = f"Pass the columns themselves: {chosen[:6]!r}"
        if len(values) != len(labels):
            fix = "Choose rows in X, such as X[mask]; pass labels by name: y=y"
        return f"a mask of {len(values)} truth values", fix
    if values.dtype.kind != "f" and len(set(map(str, values))) == len(values):
        return None
    fix = "Pass labels by name: y=y"
    if isinstance(wanted, NamedLike) and wanted.name in labels:
        fix = f"Pass the name: {wanted.name!r}"
    return f"{kind} of {len(values)} values, such as {shown(values.tolist()[0])}", fix


_LEFT_OUT: dict[type[DataError], tuple[str, str]] = {
    TooManyLevels: (f"more than {MOST_LEVELS:,} levels", ""),
    OutOfRange: (
        "numbers out of range",
        " Explain one by its name to see how to rescale it.",
    ),
    NoValues: ("only missing values", ""),
}
"""What is wrong with features that are left out where all are explained, and what to do."""


class FeatureSelection:
    """The features or pairs to explain, found in the data."""

    def __init__(
        self,
        dataset: Dataset,
        wanted: object,
        groups: Groups | None = None,
        *,
        free: bool = False,
        overlapping: bool = False,
    ) -> None:
        self.dataset = dataset
        self.free = free
        self.features = (
            dataset.features
            if groups is None
            else apply_groups(dataset.features, groups, overlapping=overlapping)
        )
        self.everything = wanted is None
        self.single = False
        self.without_values: set[str] = set()
        self.asked: list[tuple[Feature, ...]] = []
        if self.everything:
            self.asked = [(f,) for f in self.features]
            return
        check_wanted(wanted, dataset.features)
        # A name is one feature, a tuple one pair; any other collection is a list of them.
        if isinstance(wanted, (str, tuple)) or not isinstance(wanted, Iterable):
            self.single, items = True, [wanted]
        else:
            items = list(wanted)
        if not items:
            raise DataError(
                "features", "an empty list", "at least one feature", "Use None for all features"
            )
        if any(isinstance(item, FeatureMatcher) for item in items):
            self.asked = [(feature,) for feature in self._matched(items)]
            return
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

    def _matched(self, items: Sequence[object]) -> list[Feature]:
        """Return the features of a list that has patterns, each once and in X's order."""
        chosen: set[tuple[int, ...]] = set()
        for item in items:
            if isinstance(item, FeatureMatcher):
                chosen |= {f.columns for f in item.among(self.features, self.dataset)}
                continue
            one = self._item(item)
            if len(one) != 1:
                raise UnsupportedError(
                    "features",
                    "patterns and pairs in one list",
                    "only features, or only pairs of names",
                    "Call explain for the features, and again for the pairs",
                )
            chosen.add(one[0].columns)
        return [f for f in self.features if f.columns in chosen]

    def _item(self, item: object) -> tuple[Feature, ...]:
        labels = [f.key for f in self.features]
        if not isinstance(item, tuple) or item in labels:  # pandas has labels that are tuples
            return (self._find(item),)
        if len(item) != 2:
            raise UnsupportedError(
                "features",
                f"a tuple of {len(item)}",
                "a name, a pair (a tuple of two names), a list of names or of pairs, or None",
                f"Use a list to explain several features, each on its own: {list(item)!r}",
            )
        first, second = self._find(item[0]), self._find(item[1])
        check_pair((first.name, second.name))
        return first, second

    def _find(self, wanted: object) -> Feature:
        """Return a feature by name, label or position in X; a group by its name."""
        for feature in self.features:
            if isinstance(wanted, str) and feature.name == wanted:
                return feature
        place = find_feature(self.dataset.features, wanted)
        for feature in self.features:
            if feature.columns == (place,):
                return feature
        owners = [f.name for f in self.features if place in f.columns]
        many = "the group" if len(owners) == 1 else "the groups"
        raise DataError(
            "feature",
            f"{wanted!r}, which is a column of {many} {', '.join(map(repr, owners[:8]))}",
            "the name of a group, or a column outside all groups",
            f"Explain the whole group: features={owners[0]!r}",
        )

    def tasks(self, method: ResolvedMethod) -> list[Task]:
        if self.pairs:
            read: dict[tuple[type[AnyPairMethod], str], Column | LevelColumn] = {}
            pairs = [self._pair(method, first, second, read) for first, second in self.asked]
            return list({task.key: task for task in pairs}.values())
        found, skipped = self.usable(method)
        for kind, (problem, fix) in _LEFT_OUT.items():
            names = list(skipped[kind])
            if names:
                many = ("feature", "was") if len(names) == 1 else ("features", "were")
                warn_caller(
                    f"{method.name}: {len(names)} {many[0]} with {problem} {many[1]} left out: "
                    f"{', '.join(names[:8])}{', …' if len(names) > 8 else ''}.{fix}",
                    LeftOutWarning,
                )
        return list(found.values())

    def usable(
        self, method: ResolvedMethod
    ) -> tuple[dict[str, FeatureTask], dict[type[DataError], dict[str, DataError]]]:
        """Return the tasks of features by name, and the errors of those that are left out, by their kind and name.

        Raise if a feature that was named has an error, or if none is left.
        """
        found: dict[str, FeatureTask] = {}
        skipped: dict[type[DataError], dict[str, DataError]] = {kind: {} for kind in _LEFT_OUT}
        for (feature,) in self.asked:
            try:
                may_differ = feature.categorical and (self.everything or self.free)
                choose = method.substitute_for if may_differ else method.for_feature
                variant = choose(feature)
                column = variant.read_column(self.dataset, feature)
                found[feature.name] = FeatureTask(feature.name, feature, column, variant)
            except (TooManyLevels, OutOfRange, NoValues) as error:
                if not self.everything:
                    raise
                skipped[type(error)][feature.name] = error
        self.without_values = {*skipped[NoValues]}
        if not found:
            levels = skipped.pop(TooManyLevels)
            for error in (e for errors in skipped.values() for e in errors.values()):
                raise error
            raise UnsupportedError(
                method.name,
                f"only features with more than {MOST_LEVELS:,} levels ({len(levels)} in all)",
                f"a feature with at most {MOST_LEVELS:,} levels",
                "Declare numeric codes as numbers: schema={'name': 'continuous'}",
            )
        return found, skipped

    def _pair(
        self,
        method: ResolvedMethod,
        first: Feature,
        second: Feature,
        read: dict[tuple[type[AnyPairMethod], str], Column | LevelColumn],
    ) -> PairTask:
        """Return the task of a pair; `read` are the columns of other pairs."""
        variant = method.for_pair((first, second))

        def column(feature: Feature) -> Column | LevelColumn:
            key = type(variant), feature.name
            if key not in read:
                read[key] = variant.read_column(self.dataset, feature)
            return read[key]

        columns = column(first), column(second)
        return PairTask((first.name, second.name), (first, second), columns, variant)


def check_curves(tasks: Sequence[Task]) -> None:
    """Raise if one of the results cannot have individual curves."""
    for task in tasks:
        if isinstance(task, FeatureTask) and task.variant.of_rows:
            continue
        raise UnsupportedError(
            "explain(curves)",
            f"{task.variant.name} of {shown(task.key)}, which has no curves of rows",
            f"{listed_methods(lambda m: m.local_effects)} of single features",
            "Leave curves out, or explain single features by method='rhale'",
        )


def names_of(tasks: Sequence[Task]) -> list[str | list[str]]:
    """Return the names of the results, for the provenance."""
    return [t.key if isinstance(t, FeatureTask) else list(t.key) for t in tasks]
