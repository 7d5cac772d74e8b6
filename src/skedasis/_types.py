"""Type aliases that several packages share."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Values: TypeAlias = NDArray[np.generic]
"""Values of a column in the user's own type: numbers, text, times or objects."""


class SupportsArray(Protocol):
    """What NumPy converts: an array, or a column of a data frame."""

    def __array__(self) -> NDArray[Any]: ...


class SeriesLike(Sized, Protocol):
    """A column of a data frame."""

    def to_frame(self, *args: Any, **kwargs: Any) -> Any: ...


Container: TypeAlias = "NDArray[np.generic] | IntoDataFrame"
"""A two-dimensional array, or an eager data frame of any library that narwhals reads, or of narwhals itself."""
TableLike: TypeAlias = "Container | SeriesLike | list[Any] | tuple[Any, ...]"
"""X as users pass it: a `Container`.

Columns, lists and tuples raise an error at run time. Type checkers accept them, because they infer them for data of
libraries without types: rows of a data frame may be a column, and parts from `train_test_split` a list.
"""
DType: TypeAlias = np.dtype[np.generic]
ModelRows: TypeAlias = Sized
"""Rows as a model takes them: an array, a data frame, or a query of trees. Only models and containers look inside."""
RawResponse: TypeAlias = object
"""What a model returned, not yet checked: anything that NumPy converts, or the package's predictive distributions."""
Level: TypeAlias = Hashable
"""A level of a categorical feature as it stands in X; None for missing values."""
OutputLabel: TypeAlias = Hashable
"""The label of one of a quantity's outputs, such as a class; None if the quantity has one output."""
ResultKey: TypeAlias = str | tuple[str, str]
"""The name of a feature, or the names of a pair."""
Center: TypeAlias = Literal["mean", "start"] | None
TreeMode: TypeAlias = Literal["auto", "off", "force"]
"""The argument `tree` of `explain`."""
Side: TypeAlias = Literal["left", "right"]
JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
"""A value that `json` can write."""
Json: TypeAlias = dict[str, Any]
"""A dictionary that `json` can write. File headers and provenances store such dictionaries."""
