"""What results that contain other results have in common: `Effects`, `Surfaces`, `RegionsByFeature`, `Changes`, …."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias, TypeVar, overload, runtime_checkable

import numpy as np

from skedasis._types import Values
from skedasis.data.features import Feature, find_feature, label_position
from skedasis.data.times import TimePoints
from skedasis.errors import DataError
from skedasis.results.display import SavedResult
from skedasis.results.provenance import as_provenance

TableColumn: TypeAlias = Values | Sequence[object] | TimePoints
TableColumns: TypeAlias = dict[str, TableColumn]
"""A table as columns, which `to_frame` converts."""

KeyT = TypeVar("KeyT", bound=Hashable)
MemberT_co = TypeVar("MemberT_co", covariant=True)
DefaultT = TypeVar("DefaultT")


@runtime_checkable
class HasProvenance(Protocol):
    """A result with a record of how it was computed."""

    @property
    def provenance(self) -> Mapping[str, object]:
        """Return the record."""
        ...


class ResultMapping(SavedResult, Mapping[KeyT, MemberT_co]):
    """A mapping of results that is itself a result."""

    __slots__ = ()

    @property
    @abstractmethod
    def members(self) -> Mapping[KeyT, MemberT_co]:
        """Return the members by key."""

    def __contains__(self, key: object) -> bool:
        return key in self.members

    def __iter__(self) -> Iterator[KeyT]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    @overload
    def get(self, key: KeyT, /) -> MemberT_co | None: ...
    @overload
    def get(self, key: KeyT, default: MemberT_co | DefaultT, /) -> MemberT_co | DefaultT: ...
    def get(self, key: KeyT, default: object = None, /) -> object:
        """Return the member of a key that is in the mapping, and `default` for any other key."""
        return self[key] if self.__contains__(key) else default

    def __post_init__(self) -> None:
        """Add to the provenance the entries that all members share; entries that differ are left to the members."""
        if isinstance(self, HasProvenance):
            shared = shared_entries(list(self.members.values()))
            complete = as_provenance({**shared, **self.provenance})
            object.__setattr__(self, "provenance", complete)  # subclasses are frozen
        super().__post_init__()

    def _ipython_key_completions_(self) -> list[KeyT]:
        """Return the keys that IPython offers after ``result[``."""
        return list(self)


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


def explained_name(features: Sequence[Feature], wanted: Hashable) -> str:
    """Return the name of an explained feature, given its name, its label or its position in X."""
    names = [f.name for f in features]
    if isinstance(wanted, str) and wanted in names:
        return str(wanted)
    for known in ([f.key for f in features], [f.position for f in features]):
        position = label_position(known, wanted)
        if position is not None:
            return names[position]
    if isinstance(wanted, str):
        return names[find_feature(features, wanted)]
    known = f"one of {list(dict.fromkeys(names))}"
    fix = "Pass the name of an explained feature"
    if isinstance(wanted, tuple) and all(w in names for w in wanted):
        fix = f"One feature has an effect; for the pair use sd.explain(model, X, {wanted!r})"
    elif isinstance(wanted, list):
        fix = f"Pass one name, or explain only these: sd.explain(model, X, {wanted!r})"
    raise DataError("feature", repr(wanted), known, fix)


# --- tables ---------------------------------------------------------------------------------------


@runtime_checkable
class _HasLibrary(Protocol):
    """A result that states the data frame library of X."""

    @property
    def library(self) -> str | None: ...


@runtime_checkable
class _HasAbout(Protocol):
    """A result whose description states the data frame library of X."""

    @property
    def about(self) -> _HasLibrary:
        """Return the description."""
        ...


def frame_library(result: object) -> str | None:
    """Return the data frame library of the rows that a result is of."""
    if isinstance(result, ResultMapping):
        first = next(iter(result.members.values()), None)
        return None if first is None else frame_library(first)
    if isinstance(result, _HasLibrary):
        return result.library
    return result.about.library if isinstance(result, _HasAbout) else None


def key_column(keys: Sequence[Hashable], sizes: Sequence[int]) -> list[object]:
    """Return a column that repeats each key as often as its member has rows."""
    plain = [k.item() if isinstance(k, np.generic) else k for k in keys]
    kinds = {type(k) for k in plain}
    kept = len(kinds) == 1 and kinds <= {str, int, bool, float}
    texts = [str(k) for k in plain]
    if len(set(texts)) < len(texts):  # such as 1 and "1"
        texts = [repr(k) for k in plain]
    shown: list[object] = list(plain if kept else texts)
    return [k for k, size in zip(shown, sizes, strict=True) for _ in range(size)]


def no_members_error(what: str, expected: str) -> DataError:
    """Return the error for an operation that needs at least one member."""
    return DataError(what, "no member", expected, "Explain at least one")
