"""What results that contain other results have in common: `Effects`, `Surfaces`, `RegionsByFeature`, `Changes`, …."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass, replace
from functools import cache, cached_property
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    NoReturn,
    Protocol,
    TypeVar,
    dataclass_transform,
    overload,
    runtime_checkable,
)

import numpy as np

from skedasis._arguments import check_option, shown
from skedasis._calls import checked_call
from skedasis._escaping import one_line
from skedasis._numbers import counted
from skedasis.data.factorize import equality_key
from skedasis.data.features import Feature, find_feature, first_names, label_position
from skedasis.errors import DataError, UnsupportedError, nearest
from skedasis.results import json_keys, operations
from skedasis.results.described import Keys, columns_of
from skedasis.results.display import Ranking, RankLine, SavedResult
from skedasis.results.export import (
    Content,
    Exportable,
    ExportOptions,
    TableColumn,
    TableColumns,
)
from skedasis.results.provenance import Provenance, as_provenance, no_provenance
from skedasis.results.signatures import with_choices

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from skedasis.results.checks.check import Check, Checks
    from skedasis.results.effect import About


@runtime_checkable
class HasProvenance(Protocol):
    """A result with a record of how it was computed."""

    @property
    def provenance(self) -> Mapping[str, object]:
        """Return the record."""
        ...


@runtime_checkable
class OutputResult(HasProvenance, Protocol):
    """A result that a container can have as a member: any result with a table and a provenance."""

    def table(self, of: str = ...) -> Mapping[str, TableColumn]:
        """Return the columns of `to_frame`; each result has tables of its own."""
        ...


class FeatureResult(OutputResult, Protocol):
    """A result of one feature."""

    @property
    def about(self) -> About:
        """Return the description of the feature and the quantity."""
        ...


IntervalT_co = TypeVar("IntervalT_co", covariant=True)


@runtime_checkable
class HasInterval(OutputResult, Protocol[IntervalT_co]):
    """A result with confidence intervals."""

    def interval(
        self, confidence_level: float = ..., *args: Any, **options: Any
    ) -> IntervalT_co: ...


@runtime_checkable
class HasChecks(Protocol):
    """A result with reliability checks."""

    def checks(self, *args: Any, **options: Any) -> Checks: ...


KeyT = TypeVar("KeyT", bound=Hashable)
MemberT_co = TypeVar("MemberT_co", bound=OutputResult, covariant=True)
FeatureResultT_co = TypeVar("FeatureResultT_co", bound=FeatureResult, covariant=True)
LineT = TypeVar("LineT", bound=RankLine)
DefaultT = TypeVar("DefaultT")
IntervalT = TypeVar("IntervalT")

MOST_KEYS = 6
"""Most keys that a representation names."""


# --- rankings -------------------------------------------------------------------------------------


@runtime_checkable
class HasRanking(Protocol):
    """A result with a ranking; it can take the number that orders the lines, `by`."""

    def ranking(self, by: str | None = ...) -> Sequence[RankLine]: ...


@runtime_checkable
class HasSortKey(Protocol):
    """A result whose lines do not know by what it orders them."""

    def sort_key(self, line: RankLine) -> float: ...


@runtime_checkable
class OneMember(Protocol):
    """A result without a ranking of its own that is ranked as the only member of a container."""

    def alone(self) -> object: ...


def keyed(line: DataclassInstance, column: str, key: object) -> DataclassInstance:
    """Return a member's line with its key before its fields; it is also of the class of that line."""
    return _keyed_class(type(line), column)(key, *vars(line).values())


@cache
def _keyed_class(line: type[DataclassInstance], column: str) -> Callable[..., DataclassInstance]:
    def reduced(self: object) -> tuple[object, ...]:
        # Pickle cannot find a class by its name that is made when it is first needed.
        key, *values = vars(self).values()
        return keyed, (line(*values), column, key)

    # Fields of the last base are the first fields.
    key = make_dataclass("Key", [(column, Hashable)], frozen=True)
    own = {"__reduce__": reduced}
    return make_dataclass(line.__name__, [], bases=(line, key), frozen=True, namespace=own)


def ordered(lines: Sequence[LineT], by: str | None, orders: Sequence[str]) -> Ranking[LineT]:
    """Return lines as a ranking, ordered by one of some numbers, by default the first."""
    by = orders[0] if by is None else by
    check_option("ranking(by)", by, orders, "Pass one of these")
    return Ranking(sorted(lines, key=lambda line: line.sort_key(by)))


# --- containers -----------------------------------------------------------------------------------


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
@dataclass(frozen=True, eq=False)
class ResultMapping(SavedResult, Mapping[KeyT, MemberT_co], Generic[KeyT, MemberT_co]):
    """A mapping of results that is itself a result.

    ``class Named(ResultMapping[str, Effect])`` and a docstring make a container: it looks up members, tabulates and
    ranks them, computes their intervals, and is saved.
    """

    noun: ClassVar[str] = "member"
    """What a key names, in messages."""
    column: ClassVar[str] = "name"
    """The first column of tables and rankings, which has the keys."""
    tables: ClassVar[tuple[str, ...]] = ()
    """The tables of `to_frame`, the default first; empty for "ranking" and those of the members."""
    orders: ClassVar[tuple[str, ...]] = ()
    """By what `ranking` orders the lines, the default first; empty for the orders of the members."""

    members: Mapping[KeyT, MemberT_co]
    provenance: Provenance = field(default_factory=no_provenance)
    """Record of how they were computed: the entries that all members share; entries that differ are in theirs."""

    def __init_subclass__(cls) -> None:
        """Make the subclass a frozen dataclass; its methods name its tables and orders."""
        super().__init_subclass__()
        if cls.tables and "to_frame" not in vars(cls):
            cls.to_frame = with_choices(cls.to_frame, cls, "of", cls.tables)
        if cls.orders and "ranking" not in vars(cls):
            cls.ranking = with_choices(cls.ranking, cls, "by", cls.orders)
        dataclass(frozen=True, eq=False, repr=False)(cls)

    def __post_init__(self) -> None:
        """Add to the provenance the entries that all members share."""
        shared = shared_entries(list(self.values()))
        complete = as_provenance({**self.provenance, **shared, **self.provenance})
        object.__setattr__(self, "provenance", complete)
        super().__post_init__()

    # --- lookup

    @cached_property
    def _by_key(self) -> dict[tuple[str, object], MemberT_co]:
        """The members by keys of which 1 and 1.0 are equal, but neither True nor "1" is."""
        return {equality_key(key): member for key, member in self.members.items()}

    def _found(self, key: object) -> MemberT_co | None:
        """Return the member of a key; None for any other key."""
        try:
            return self._by_key.get(equality_key(key))
        except TypeError:  # not hashable
            return None

    def _resolved(self, key: object) -> MemberT_co:
        """Return the member of a key in other words than its own; raise for what is none."""
        known = list(self)
        near = nearest(key, [k for k in known if isinstance(k, str)])
        fix = "Pass one of these" if near is None else f"Did you mean {near!r}?"
        expected = f"one of {first_names(known)}" if known else f"no {self.noun}"
        raise DataError(self.noun, shown(key), expected, fix)

    def __getitem__(self, key: object) -> MemberT_co:
        """Return the member of a key."""
        found = self._found(key)
        return self._resolved(key) if found is None else found

    def __contains__(self, key: object) -> bool:
        return self._found(key) is not None

    def __iter__(self) -> Iterator[KeyT]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __sub__(self, other: object) -> NoReturn:
        """Raise, because two effects are subtracted, and no containers."""
        key = next(iter(self), "name")
        raise UnsupportedError(
            f"{type(self).__name__} - {type(other).__name__}",
            "results of several members",
            "two effects of the same feature",
            f"Subtract the members: new[{key!r}] - old[{key!r}]; or for two models on the same rows, explain the "
            "difference of the quantities, sd.prediction(new) - sd.prediction(old)",
        )

    @overload
    def get(self, key: KeyT, /) -> MemberT_co | None: ...
    @overload
    def get(self, key: KeyT, default: MemberT_co | DefaultT, /) -> MemberT_co | DefaultT: ...
    def get(self, key: object, default: object = None, /) -> object:
        """Return the member of a key that is in the mapping, and `default` for any other key."""
        found = self._found(key)
        return default if found is None else found

    def _ipython_key_completions_(self) -> list[KeyT]:
        """Return the keys that IPython offers after ``result[``."""
        return list(self)

    # --- text

    def _named(self, most: int = MOST_KEYS) -> str:
        """Return the first keys."""
        return ", ".join(map(key_text, list(self)[:most])) + (", …" if len(self) > most else "")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {counted(len(self), self.noun)}: {self._named()}>"

    def __str__(self) -> str:
        each = [f"{self.noun} {key_text(key)}\n{member}" for key, member in self.items()]
        return "\n\n".join(each) or repr(self)

    # --- numbers

    @checked_call
    def ranking(self, by: str | None = None) -> Ranking[Any]:
        """Return the lines of the rankings of all members, each with its key, the largest first.

        Parameters
        ----------
        by : str, optional
            The number that orders the lines: one by which the members' `ranking` orders them, by default its first.

        Returns
        -------
        Ranking
            A tuple of lines that prints as a table. A result of one feature, or of one pair, has one line. A line is
            also of the class of the member's line, and has its fields after the key.

        Raises
        ------
        DataError
            For another `by`.
        UnsupportedError
            If the members have no ranking, and as their `ranking`.

        Notes
        -----
        No model row.
        """
        if self.orders and by is not None:
            check_option("ranking(by)", by, self.orders, "Pass one of these")
            by = None if by == self.orders[0] else by
        found = [
            (order, line, key)
            for key, member in self.items()
            for order, line in self._ranked(member, by)
        ]
        column = self._column_beside({name for _, line, _ in found for name in vars(line)})
        found.sort(key=lambda item: item[0])
        return Ranking(keyed(line, column, key) for _, line, key in found)

    def _ranked(self, member: object, by: str | None) -> list[tuple[float, RankLine]]:
        """Return the lines of a member's ranking, each with a key that sorts them."""
        of = member.alone() if isinstance(member, OneMember) else member
        if not isinstance(of, HasRanking):
            raise self._without("ranking", member, "results with a ranking")
        if by is not None and "by" not in inspect.signature(of.ranking).parameters:
            expected = f"None for {type(member).__name__}, which has one order"
            raise DataError("ranking(by)", repr(by), expected, "Omit it")
        lines = of.ranking() if by is None else of.ranking(by)
        own = of.sort_key if isinstance(of, HasSortKey) else None
        return [(line.sort_key(by) if own is None else own(line), line) for line in lines]

    def _column_beside(self, others: Collection[str]) -> str:
        """Return the column of the keys; if the members have one of that name, with the class before it."""
        column = self.column
        while column in others:
            column = f"{type(self).__name__.lower()}_{column}"
        return column

    @overload
    def interval(
        self: ResultMapping[KeyT, HasInterval[IntervalT]],
        confidence_level: float = 0.95,
        *args: Any,
        **options: Any,
    ) -> dict[KeyT, IntervalT]: ...
    @overload
    def interval(
        self, confidence_level: float = 0.95, *args: Any, **options: Any
    ) -> Mapping[KeyT, object]: ...
    def interval(self, confidence_level: float = 0.95, *args: object, **options: object) -> Any:
        """Return the confidence intervals of all members, by key.

        Parameters
        ----------
        confidence_level, *args, **options
            As in the members' `interval`.

        Returns
        -------
        dict of key to (lower, upper), or to a dict of these
            What the members' `interval` returns.

        Raises
        ------
        DataError
            As the members' `interval`.
        UnsupportedError
            If the members have no intervals, and as their `interval`.

        Notes
        -----
        An interval is of one member, and a simultaneous band covers the points of one curve or surface: they do not
        cover several members at the same time. No model row.
        """
        found: dict[KeyT, object] = {}
        for key, member in self.items():
            if not isinstance(member, HasInterval):
                raise self._without("interval", member, "effects, surfaces or importances")
            found[key] = member.interval(confidence_level, *args, **options)
        return found

    def checks(self, *args: Any, **options: Any) -> Checks:
        """Run the reliability checks on all members; each finding names the member.

        Parameters
        ----------
        *args, **options
            As in the members' `checks`.

        Returns
        -------
        Checks

        Raises
        ------
        DataError
            As the members' `checks`.
        UnsupportedError
            If the members have no checks.

        Notes
        -----
        No model row.
        """
        found: list[Check] = []
        for key, member in self.items():
            if not isinstance(member, HasChecks):
                raise self._without("checks", member, "effects or surfaces")
            found += [self._named_in(check, key) for check in member.checks(*args, **options)]
        return operations.checks_in_order(found)

    def _named_in(self, check: Check, key: KeyT) -> Check:
        """Return a finding that names its member."""
        return replace(check, message=f"{key_text(key)!r}: {check.message}")

    def _without(self, what: str, member: object, expected: str) -> UnsupportedError:
        """Return the error for an operation that the members do not have."""
        name = type(member).__name__
        got = f"{self.noun}s of class {name}"
        return UnsupportedError(what, got, expected, f"{name} has no {what}")

    def to_frame(self, backend: str | None = None, *, of: str | None = None) -> Any:
        """Return all members as one tidy data frame, one below the other; the first column is the key.

        Parameters
        ----------
        of : str, optional
            The table, by default the first one. "ranking", of regions of several models "recurrence", has the lines of
            `ranking`; the others are tables of the members' `to_frame`. If the points of the members are of several
            kinds, there is a column for each: ``"x"`` (or ``"left"`` and ``"right"``), NaN for levels and times,
            ``"level"`` and ``"time"``; of pairs ``"x0"``, ``"level0"``, ``"time0"``, and so on.

        Returns
        -------
        data frame
            Keys that are not all text, all integers, all booleans or all floats are text. Where a member lacks a
            column, numbers are NaN and other values None. Where the members have a column of the name of the keys, that
            of the keys begins with the class of the container: "countries_name".

        Raises
        ------
        DataError
            For another `of`, and without members.
        UnsupportedError
            As the members' `to_frame`.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> es = sd.explain(lambda X: X[:, 0] * X[:, 1], X, method=sd.ALE(bins=2))
        >>> es.to_frame("pandas")[["feature", "x"]].shape
        (6, 2)
        """
        return operations.to_data_frame(self.table(of), backend or self._library())

    def _library(self) -> str | None:
        first = next(iter(self.members.values()), None)
        return first._library() if isinstance(first, Exportable) else None  # noqa: SLF001

    def table(self, of: str | None = None) -> TableColumns:
        """Return the columns of `to_frame`."""
        if self.tables:
            of = self.tables[0] if of is None else of
            check_option("to_frame(of)", of, self.tables, "Pass one of these")
        if not self.members:
            raise no_members_error("to_frame", self.noun)
        if of == "ranking":
            lines = self.ranking()
            if not lines:
                raise no_members_error("to_frame(of='ranking')", "line")
            columns: TableColumns = {**columns_of(type(lines[0]), lines)}
            first = next(iter(columns))
            return {**columns, first: key_column(columns[first])}
        tables = [m.table() if of is None else m.table(of) for m in self.values()]
        sizes = [len(next(iter(table.values()))) for table in tables]
        stacked = operations.stack_tables(tables)
        return {**self._key_columns(sizes, stacked), **stacked}

    def _key_columns(self, sizes: Sequence[int], others: Collection[str]) -> TableColumns:
        """Return the first columns of tables, given those of the members' tables."""
        return {self._column_beside(others): key_column(self, sizes)}

    def _document(self, options: ExportOptions) -> Content:
        if self.exported:
            return super()._document(options)
        each = [
            {self.column: key if isinstance(key, (str, int, float)) else key_text(key), "result": m}
            for key, m in self.items()
        ]
        return {f"{self.noun}s": each, "provenance": self.provenance}

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        if cls.exported:
            return super()._keys()
        one = {
            cls.column: json_keys.label(f"What names the {cls.noun}."),
            "result": json_keys.result(json_keys.RESULT, "Its result."),
        }
        each = json_keys.lines(f"The {cls.noun}s, in their order.", f"One {cls.noun}.", one)
        return {f"{cls.noun}s": each, **json_keys.RECORD}, {}


class FeatureMapping(ResultMapping[str, FeatureResultT_co], Generic[FeatureResultT_co, LineT]):
    """A mapping from feature names to results of one feature each, in X's order.

    A member is looked up by the name of its feature, its label, or its position in X.
    """

    noun = "feature"
    column = "feature"
    orders = ("importance", "heterogeneity_score")

    def _column_beside(self, others: Collection[str]) -> str:
        # The tables of the members have it, too, with the same names of features.
        return self.column

    def _resolved(self, key: object) -> FeatureResultT_co:
        return self.members[explained_name([m.about.feature for m in self.values()], key)]

    @abstractmethod
    def _lines(self) -> Sequence[LineT]:
        """Return the lines of the ranking, in the order of those that are equal."""

    @checked_call
    def ranking(self, by: str | None = None) -> Ranking[LineT]:
        """Return the features with their main numbers, the largest first.

        Parameters
        ----------
        by : str, optional
            The number that orders the features, by default the first one. "explained" is the share of the heterogeneity
            that the regions explain.

        Returns
        -------
        Ranking
            A tuple of lines that prints as a table. Features without this number follow, of regions by importance.

        Raises
        ------
        DataError
            For another `by`.
        """
        return ordered(self._lines(), by, self.orders)

    @property
    def features(self) -> tuple[str, ...]:
        """Return the names of the features, in X's order."""
        return tuple(self)


def key_text(key: Hashable) -> str:
    """Return a key on one line, cut off."""
    text = one_line(str(key))
    return text if len(text) <= 40 else f"{text[:39]}…"


def shared_entries(members: Sequence[object]) -> dict[str, object]:
    """Return the entries that the provenances of all results have, with equal values."""
    records = [m.provenance for m in members if isinstance(m, HasProvenance)]
    if not records or len(records) < len(members):
        return {}
    first, *others = records
    return {
        name: value
        for name, value in first.items()
        if all(name in other and other[name] == value for other in others)
    }


def explained_name(features: Sequence[Feature], wanted: object, what: str = "feature") -> str:
    """Return the name of an explained feature, given its name, its label or its position in X."""
    names = [f.name for f in features]
    if isinstance(wanted, str) and wanted in names:
        return str(wanted)
    for known in ([f.key for f in features], [f.position for f in features]):
        position = label_position(known, wanted)
        if position is not None:
            return names[position]
    if isinstance(wanted, str):
        return names[find_feature(features, wanted, what)]
    known = f"one of {list(dict.fromkeys(names))}"
    fix = "Pass the name of an explained feature"
    if isinstance(wanted, tuple) and all(w in names for w in wanted):
        fix = f"One feature has an effect; for the pair use sd.explain(model, X, {wanted!r})"
    elif isinstance(wanted, list):
        fix = f"Pass one name, or explain only these: sd.explain(model, X, {wanted!r})"
    raise DataError(what, repr(wanted), known, fix)


# --- tables ---------------------------------------------------------------------------------------


def key_column(keys: Iterable[object], sizes: Sequence[int] | None = None) -> list[object]:
    """Return a column that repeats each key as often as its member has rows, by default once."""
    plain = [k.item() if isinstance(k, np.generic) else k for k in keys]
    kinds = {type(k) for k in plain}
    kept = len(kinds) == 1 and kinds <= {str, int, bool, float}
    texts = [str(k) for k in plain]
    if len(set(texts)) < len(texts):  # such as 1 and "1"
        texts = [repr(k) for k in plain]
    column: list[object] = list(plain if kept else texts)
    sizes = [1] * len(plain) if sizes is None else sizes
    return [k for k, size in zip(column, sizes, strict=True) for _ in range(size)]


def no_members_error(what: str, noun: str) -> DataError:
    """Return the error for an operation that needs at least one member."""
    return DataError(what, f"no {noun}", f"at least one {noun}", "Explain at least one")
