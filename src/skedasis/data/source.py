"""Sources: the rows to explain on, in batches, with their labels and weights."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skedasis.data.arrays import ArrayTable, Rows
from skedasis.data.schema import Feature, check_names, declare
from skedasis.data.summary import Column
from skedasis.errors import DataError, explained
from skedasis.typing import Floats, Ints

_HOLD = 16_000_000
"""Bytes of columns that are held, so that batches need not read them out of X again."""


class Buffer(Protocol):
    """A batch's rows in the container of X, repeated, with at most one column replaced at a time."""

    n: int
    copies: int

    def own(self) -> Any:
        """Return the rows as they are."""
        ...

    def swept(self, j: int, values: Floats | Sequence[Floats]) -> Any:
        """Return the rows once for each row of `values`, (sets, n) or (sets, 1), with column j replaced."""
        ...


class Table(Protocol):
    """What a container of rows must offer."""

    @property
    def library(self) -> str | None:
        """Return the data frame library, None for arrays."""
        ...

    def __len__(self) -> int: ...

    def features(self) -> tuple[Feature, ...]:
        """Return the columns, with inferred kinds."""
        ...

    def column(self, j: int, rows: Rows | None = None) -> Floats:
        """Return a column as float64."""
        ...

    def numeric_type(self, j: int) -> np.dtype[Any]:
        """Return the type that swept values must fit into."""
        ...

    def to_array(self) -> NDArray[Any]:
        """Return all rows as an array."""
        ...

    def tile(self, rows: Rows, copies: int, used: Any = None) -> Buffer:
        """Return a buffer of the rows, repeated, in the memory of a `used` one where that is possible."""
        ...


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a source.

    Parameters
    ----------
    source : Source
    rows : slice or ndarray of int
        Their places in X.
    weights : ndarray of float, optional
        None means 1 each.
    size : int
        How many they are.
    start : int, optional
        Where they begin among the source's rows, if they are neighbours there.
    """

    source: Source
    rows: Rows
    weights: Floats | None
    size: int
    start: int | None = None

    def __len__(self) -> int:
        return self.size

    @property
    def row_id(self) -> Ints:
        """Return the rows' places in X, one by one."""
        if isinstance(self.rows, slice):
            return np.arange(self.rows.start, self.rows.stop)
        return self.rows

    def take(self, some: Ints) -> Batch:
        """Return a part of the batch."""
        weights = None if self.weights is None else self.weights[some]
        return Batch(self.source, self.row_id[some], weights, len(some))

    def column(self, j: int) -> Floats:
        """Return a column of the batch as float64."""
        held = self.source.held.get(j)
        if held is not None and self.start is not None:
            return held[self.start : self.start + self.size]
        return self.source.table.column(j, self.rows)

    def tile(self, copies: int, used: Any = None) -> Buffer:
        """Return the batch's buffer."""
        return self.source.table.tile(self.rows, copies, used)


@dataclass(frozen=True, eq=False)
class Source:
    """Rows, features, labels and weights, checked once.

    Parameters
    ----------
    table : Table
    features : tuple of Feature
    y : ndarray, optional
    weights : ndarray of float, shape (n,), optional
        Positive: rows of weight zero are absent.
    row_id : ndarray of int, shape (n,), optional
        The rows of X that take part; None means all.
    library : str, optional
        The data frame library that X came from; None for arrays.
    held : dict of int to ndarray
        Columns as floats that were asked for before, while all of them together are small.
    """

    table: Table
    features: tuple[Feature, ...]
    y: Any = None
    weights: Floats | None = None
    row_id: Ints | None = None
    library: str | None = None
    held: dict[int, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.table) if self.row_id is None else len(self.row_id)

    def column(self, j: int) -> Column:
        """Return the summary of a feature's column."""
        try:
            x = self.table.column(j, self.row_id)
        except (ValueError, TypeError) as error:
            name, kind = self.features[j].name, self.features[j].kind
            raise DataError(
                explained(
                    f"feature {name!r}",
                    f"values that are no numbers, declared {kind}",
                    "numbers",
                    "Leave it out of schema, or give numeric codes",
                )
            ) from error
        if x.nbytes * len(self.features) <= _HOLD:
            x.flags.writeable = False  # batches and results read it too
            self.held[j] = x
        return Column(self.features[j], x, self.weights, self.table.numeric_type(j))

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield the rows in order, `size` at a time."""
        for start in range(0, len(self), size):
            part = slice(start, min(start + size, len(self)))
            rows = part if self.row_id is None else self.row_id[part]
            weights = None if self.weights is None else self.weights[part]
            yield Batch(self, rows, weights, part.stop - part.start, start)

    def some(self, count: int) -> Batch:
        """Return a batch of up to `count` rows, spread evenly."""
        picked = np.unique(np.linspace(0, len(self) - 1, min(count, len(self))).astype(int))
        rows = picked if self.row_id is None else self.row_id[picked]
        weights = None if self.weights is None else self.weights[picked]
        return Batch(self, rows, weights, len(picked))


def as_arrays(source: Source) -> Source:
    """Return the same rows with an array underneath, for models that were fitted on arrays."""
    if isinstance(source.table, ArrayTable):
        return source
    return replace(source, table=ArrayTable(source.table.to_array()))


def as_frames(source: Source, names: Sequence[str]) -> Source:
    """Return the same rows with a data frame underneath, for models that were fitted on one.

    Its columns are the model's: by position, which is all that an array has.
    """
    if not isinstance(source.table, ArrayTable):
        return source
    for library in ("pandas", "polars"):
        if importlib.util.find_spec(library) is not None:
            import narwhals.stable.v2 as nw

            from skedasis.data.frames import FrameTable

            frame = nw.from_numpy(source.table.X, schema=list(names), backend=library)
            return replace(source, table=FrameTable(frame))
    return source


def to_array(X: Any) -> NDArray[Any]:
    """Return an array or any data frame as an array."""
    if isinstance(X, np.ndarray):
        return X
    import narwhals.stable.v2 as nw

    return nw.from_native(X, eager_only=True).to_numpy()


def as_table(X: Any) -> Table:
    """Return X as a table.

    Raises
    ------
    DataError
        For what is neither an array nor a data frame.
    """
    if isinstance(X, np.ndarray):
        return ArrayTable(X)
    if isinstance(X, (list, tuple, dict)) or _is_tensor(X):
        raise DataError(
            explained(
                "X", f"a {type(X).__name__}", "a NumPy array or a data frame", "Use np.asarray(X)"
            )
        )
    from skedasis.data.frames import FrameTable  # narwhals is loaded by those who use data frames

    try:
        return FrameTable(X)
    except TypeError as error:
        raise DataError(
            explained(
                "X",
                f"a {type(X).__name__}",
                "a NumPy array or a data frame",
                "Convert it first (a sparse matrix: X.toarray(); a series: X.to_frame())",
            )
        ) from error


def _is_tensor(X: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def as_source(X: Any, y: Any = None, weights: Any = None, schema: Any = None) -> Source:
    """Check X, y, weights and schema together.

    Returns
    -------
    Source
        Re-iterable, in memory.

    Raises
    ------
    DataError
        For no rows, names that stand twice, lengths that differ, weights that are negative, not finite or all zero.
    """
    table = as_table(X)
    features = table.features()
    check_names([f.name for f in features])
    if len(table) == 0 or not features:
        raise DataError(
            explained(
                "X",
                f"{len(table)} rows and {len(features)} columns",
                "at least one of each",
                "Check how the data was selected",
            )
        )
    labels = None if y is None else np.asarray(y)
    if labels is not None and len(labels) != len(table):
        raise DataError(
            explained(
                "y",
                f"length {len(labels)}",
                f"length {len(table)} (one a row)",
                "Pass the labels of the same rows as X",
            )
        )
    w, ids = _check_weights(weights, len(table))
    if labels is not None and ids is not None:
        labels = labels[ids]
    return Source(table, declare(features, schema), labels, w, ids, table.library)


def _check_weights(weights: Any, n: int) -> tuple[Floats | None, Ints | None]:
    """Return the weights of the rows that are there, and which rows those are (None: all)."""
    if weights is None:
        return None, None
    try:
        w = np.asarray(weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(
            explained(
                "weights",
                f"{type(weights).__name__} that holds no numbers",
                "one number a row",
                "Pass an array of numbers",
            )
        ) from error
    got = None
    if w.shape != (n,):
        got = f"shape {w.shape}"
    elif not np.isfinite(w).all():
        got = f"{int((~np.isfinite(w)).sum())} values that are NaN or infinite"
    elif (w < 0).any():
        got = f"{int((w < 0).sum())} negative values"
    elif not (w > 0).any():
        got = "zeros only"
    if got is not None:
        raise DataError(
            explained(
                "weights",
                got,
                f"shape ({n},), finite, not negative, some positive",
                "Pass one weight a row, 0 for a row that is to be absent",
            )
        )
    if (w > 0).all():
        return w.copy(), None
    ids = np.flatnonzero(w > 0)
    return w[ids], ids
