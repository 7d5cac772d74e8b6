"""Two tables as one: the rows of the second table below those of the first, with the columns matched by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import narwhals.stable.v2 as nw
import numpy as np

from skedasis._types import Container, TableLike, Values
from skedasis.data.containers import ArrayTable
from skedasis.data.dataset import as_table
from skedasis.data.time_columns import native_of
from skedasis.errors import DataError

if TYPE_CHECKING:
    from narwhals.dtypes import DType

    from skedasis.data.frames import Frame, FrameTable
    from skedasis.data.time_columns import Series

_SAME = "Pass the same columns, of the same types, in both tables"


def stacked(old: TableLike, new: TableLike) -> Container:
    """Return the rows of two tables as one table, in the container and with the order of columns of the first.

    Columns are matched by name, those of arrays by position. Numbers of two types become numbers of a type that holds
    both; categories that only one table declares are added to those of the other. Neither table is changed.

    Raises
    ------
    DataError
        For an array and a data frame, frames of two libraries, a column that only one table has, and columns whose
        types have nothing in common.
    """
    first, second = as_table(old), as_table(new)
    if isinstance(first, ArrayTable) and isinstance(second, ArrayTable):
        return _stacked_arrays(first.to_array(), second.to_array())
    if first.library != second.library:
        got, expected = (f"a table of {t.library or 'NumPy'}" for t in (second, first))
        raise DataError("X_new", got, f"{expected}, as X_old", "Convert one of the tables")
    return _stacked_frames(cast("FrameTable", first).frame, cast("FrameTable", second).frame)


def _stacked_arrays(old: Values, new: Values) -> Values:
    numbers = [a.dtype.kind in "biuf" for a in (old, new)]
    if old.shape[1] != new.shape[1]:
        got, expected = (f"{a.shape[1]} columns" for a in (new, old))
    elif numbers[0] != numbers[1] and "O" not in (old.dtype.kind, new.dtype.kind):
        got, expected = f"the type {new.dtype}", f"{old.dtype}"
    else:
        return np.concatenate([old, new])
    raise DataError("X_new", got, f"{expected}, as X_old", _SAME)


def _stacked_frames(old: Frame, new: Frame) -> Container:
    for frame, other, what, title in ((new, old, "X_new", "X_old"), (old, new, "X_old", "X_new")):
        absent = [repr(name) for name in other.columns if name not in set(frame.columns)]
        if absent:
            expected = (
                f"the columns of {title}: all models are evaluated at the rows of both tables"
            )
            fix = f"Add what is missing, or leave it out of {title}"
            raise DataError(what, f"no column {', '.join(absent[:8])}", expected, fix)
    columns = [_alike(old.get_column(c), new.get_column(c)) for c in old.columns]
    frames = [
        frame.select(*side)
        for frame, side in zip((old, new), zip(*columns, strict=True), strict=True)
    ]
    found = nw.maybe_reset_index(nw.concat(frames, how="vertical")).to_native()
    if old.implementation.is_pyarrow():
        found = found.unify_dictionaries()
    return cast("Container", found)


def _alike(old: Series, new: Series) -> tuple[Series, Series]:
    """Return the two parts of a column as parts of one type."""
    types = old.dtype, new.dtype
    if all(t in (nw.Categorical, nw.Enum) for t in types):
        return _with_all_categories(old, new)
    if types[0] == types[1]:
        # Text of Arrow is of two types, of which narwhals makes one.
        is_text = old.implementation.is_pyarrow() and types[0] == nw.String
        return (old.cast(nw.String), new.cast(nw.String)) if is_text else (old, new)
    # A column without any value takes the type of the other one, and text that of categories.
    for side, wanted in ((0, types[1]), (1, types[0])):
        column = (old, new)[side]
        if column.null_count() == len(column) or (
            types[side] == nw.String and wanted == nw.Categorical
        ):
            changed = column.cast(wanted)
            return _alike(changed, new) if side == 0 else _alike(old, changed)
    wanted = _common_type(*types)
    if wanted is not None:
        return old.cast(wanted), new.cast(wanted)
    if nw.Object in types:  # whose values may be of any type
        return old, new
    got, expected = (f"the type {t}" for t in types[::-1])
    raise DataError(f"X_new: column {new.name!r}", got, f"{expected}, as in X_old", _SAME)


def _common_type(old: DType, new: DType) -> DType | None:
    """Return a type that holds the values of both; None if there is none."""
    if old.is_integer() and new.is_integer():
        return nw.Int64()
    if old.is_numeric() and new.is_numeric():
        return nw.Float64()
    return old if old.is_temporal() and type(old) is type(new) else None


def _with_all_categories(old: Series, new: Series) -> tuple[Series, Series]:
    """Return two columns of categories with the categories of both: those of the first, then others of the second."""
    if not old.implementation.is_pandas() and old.dtype == new.dtype:
        return old, new
    if old.implementation.is_pandas():
        a, b = native_of(old), native_of(new)
        if a.dtype == b.dtype:
            return old, new
        if not (a.cat.ordered or b.cat.ordered):
            every = a.cat.categories.union(b.cat.categories, sort=False)
            both = (nw.from_native(s.cat.set_categories(every), series_only=True) for s in (a, b))
            return next(both), next(both)
    got, expected = (
        "other categories, which have an order",
        "the categories of X_old, in their order",
    )
    raise DataError(f"X_new: column {new.name!r}", got, expected, "Declare the same in both tables")
