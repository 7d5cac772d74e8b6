"""`Source`: validated rows, labels and weights, read in batches."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints
from skedasis.data.categories import (
    MOST,
    LevelColumn,
    few_enough,
    in_order,
    level_column,
    observed_group,
)
from skedasis.data.column_stats import Column
from skedasis.data.containers import ArrayTable, Buffer, Rows, Table
from skedasis.data.factorize import missing_among
from skedasis.data.features import Feature, check_integers, check_names, declare
from skedasis.errors import DataError, explained

# ------------------------------------------------------------------------------------------
# Sources: the rows to explain on, in batches, with their labels and weights.


_HOLD = 8_000_000
"""Bytes of columns that are held, so that batches need not read them out of X again."""


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

    @property
    def places(self) -> Ints:
        """Return the rows' places among those of the source, one by one."""
        if self.start is not None:
            return np.arange(self.start, self.start + self.size)
        ids = self.source.row_id
        return self.row_id if ids is None else np.searchsorted(ids, self.row_id)

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

    def codes(self, column: LevelColumn) -> Ints:
        """Return the rows' places in a categorical feature's levels, shape (size,), -1 where there is none."""
        return self._of_source(column.codes)

    def labels(self) -> Floats:
        """Return the rows' labels as numbers, shape (size,)."""
        return self._of_source(self.source.labels)

    def targets(self) -> NDArray[Any]:
        """Return the rows' labels as the quantity reads them, shape (size,)."""
        if self.source.targets is None:
            raise DataError(explained("y", "no labels", "one label a row", "Pass y="))
        return self._of_source(self.source.targets)

    def _of_source(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return what belongs to these rows of an array over all of the source's rows."""
        if self.start is not None:
            return values[self.start : self.start + self.size]
        return values[self.places]

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
    coded : dict of int to ndarray
        Codes of columns likewise, in no particular order.
    targets : ndarray, shape (n,), optional
        The labels as the quantity reads them, such as the places of classes.
    keys : ndarray, shape (n,), optional
        What the caller knows the rows by, wherever they stand in X: what is drawn by chance is drawn for them.
    sampled : bool
        Whether these are only some of the rows that were given.
    """

    table: Table
    features: tuple[Feature, ...]
    y: Any = None
    weights: Floats | None = None
    row_id: Ints | None = None
    library: str | None = None
    held: dict[int, Floats] = field(default_factory=dict)
    coded: dict[int, Ints | None] = field(default_factory=dict)
    targets: NDArray[Any] | None = None
    keys: NDArray[Any] | None = None
    sampled: bool = False

    def __len__(self) -> int:
        return len(self.table) if self.row_id is None else len(self.row_id)

    @cached_property
    def labels(self) -> Floats:
        """Return the labels as numbers.

        Raises
        ------
        DataError
            Where there are none, or they are no finite numbers.
        """
        try:
            labels = np.asarray(self.y, dtype=float)
        except (TypeError, ValueError):
            labels = np.array(np.nan)
        if labels.shape != (len(self),) or not np.isfinite(labels).all():
            raise DataError(
                explained(
                    "y",
                    "labels that are no finite numbers" if self.y is not None else "no labels",
                    "one finite number a row",
                    "Encode classes as numbers, for example y == 'yes'",
                )
            )
        return labels

    @cached_property
    def sorted(self) -> Ints | None:
        """Return the rows' places in the order of their keys, None where they stand in it: one for all orders."""
        return None if self.keys is None else np.argsort(self.keys, kind="stable")

    @property
    def order(self) -> Ints:
        """Return the same as an array in any case."""
        return np.arange(len(self)) if self.sorted is None else self.sorted

    def only(self, places: Ints) -> Source:
        """Return some of the rows, at ascending places, as a source of their own."""
        parts = {
            name: None if values is None else values[places]
            for name, values in (
                ("y", self.y),
                ("weights", self.weights),
                ("targets", self.targets),
                ("keys", self.keys),
            )
        }
        ids = places if self.row_id is None else self.row_id[places]
        return replace(self, row_id=ids, held={}, coded={}, sampled=True, **parts)

    def holds(self, size: int) -> bool:
        """Return whether arrays of so many bytes are held, one of each column."""
        return size * len(self.features) <= _HOLD

    def column(self, j: int) -> Column:
        """Return the summary of a feature's column.

        Raises
        ------
        DataError
            For values that are no numbers, and numbers out of range (`skedasis.data.features`).
        """
        # Checked before the conversion to floats, which rounds them.
        check_integers(self.features[j], self.table.integer_ends(j, self.row_id))
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
        if self.holds(x.nbytes):
            x.flags.writeable = False  # batches and results read it too
            self.held[j] = x
        return Column(self.features[j], x, self.weights, self.table.numeric_type(j))

    def levels(self, feature: Feature, top: int | None = None, most: int = MOST) -> LevelColumn:
        """Return a categorical feature's levels, and which row has which.

        Parameters
        ----------
        feature : Feature
            A column, or a group of columns.
        top : int, optional
            Only so many levels, those of the largest weight (of equal ones the first), are kept; the rows of the others
            have the code -1.
        most : int
            More levels than this are refused unless `top` is given.

        Raises
        ------
        DataError
            For too many levels, none at all, infinite numbers, a declared order that misses an observed level or names
            one twice, and groups that are neither one-hot blocks nor columns of few combinations.

        Notes
        -----
        No model rows. Time grows as the rows; the column is read once, and X is not copied.
        """
        whole = isinstance(top, Integral) and not isinstance(top, bool)
        if top is not None and (not whole or top < 1):
            raise DataError(
                explained("top_levels", repr(top), "a whole number from 1", "Leave it out for all")
            )
        limit = len(self) + 1 if top is not None else most
        if feature.members:
            seen = observed_group(self, feature)
            blank = bool((seen.codes < 0).any())
            few_enough(feature, len(seen.values) + blank, limit)
        else:
            codes, values = self.table.coded(feature.position, self.row_id)
            blank = feature.kind == "nominal" and bool((codes < 0).any())
            few_enough(feature, len(values) + blank, limit)
            seen = in_order(feature, codes, values)
        return level_column(self, feature, seen, top)

    def numbers(self, feature: Feature) -> Floats | None:
        """Return a feature's values as floats, NaN where missing; None if its values have no distances."""
        if feature.members or not feature.numeric:
            return None
        held = self.held.get(feature.position)
        if held is not None:
            return held
        try:
            return self.table.column(feature.position, self.row_id)
        except (ValueError, TypeError):  # declared to have an order, but no numbers
            return None

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield the rows in order, `size` at a time."""
        for start in range(0, len(self), size):
            part = slice(start, min(start + size, len(self)))
            rows = part if self.row_id is None else self.row_id[part]
            weights = None if self.weights is None else self.weights[part]
            yield Batch(self, rows, weights, part.stop - part.start, start)

    def some(self, count: int, among: Ints | None = None) -> Batch:
        """Return a batch of up to `count` rows, spread evenly over all, or over those whose places are `among`."""
        size = len(self) if among is None else len(among)
        picked = np.unique(np.linspace(0, size - 1, min(count, size)).astype(int))
        picked = picked if among is None else among[picked]
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

            from skedasis.data.containers import FrameTable

            frame = nw.from_numpy(source.table.X, schema=list(names), backend=library)
            return replace(source, table=FrameTable(frame))
    return source


def to_array(X: Any) -> NDArray[Any]:
    """Return an array or any data frame as an array."""
    if isinstance(X, np.ndarray):
        return X
    import narwhals.stable.v2 as nw

    from skedasis.data.containers import decoded

    return decoded(nw.from_native(X, eager_only=True)).to_numpy()


# ------------------------------------------------------------------------------------------
# What the caller gave, checked: X, y, weights, schema and keys become a `Source`.


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
    from skedasis.data.containers import (
        FrameTable,  # narwhals is loaded by those who use data frames
    )

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


def as_source(
    X: Any, y: Any = None, weights: Any = None, schema: Any = None, keys: Any = None
) -> Source:
    """Check X, y, weights, schema and the rows' keys together.

    Returns
    -------
    Source
        Re-iterable, in memory.

    Raises
    ------
    DataError
        For no rows, names that stand twice, lengths that differ, weights that are negative, not finite or all zero,
        keys that stand twice.
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
    labels = None if y is None else _check_labels(y, len(table))
    w, ids = _check_weights(weights, len(table))
    known = None if keys is None else _check_keys(keys, len(table))
    if ids is not None:
        labels = None if labels is None else labels[ids]
        known = None if known is None else known[ids]
    return Source(table, declare(features, schema), labels, w, ids, table.library, keys=known)


def _check_labels(y: Any, n: int) -> NDArray[Any]:
    """Return the labels as an array, one for each row."""
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]  # a frame of one column
    if labels.ndim != 1:
        raise DataError(
            explained("y", f"shape {labels.shape}", f"shape ({n},)", "Pass one label for each row")
        )
    if len(labels) != n:
        raise DataError(
            explained(
                "y",
                f"length {len(labels)}",
                f"length {n} (one a row)",
                "Pass the labels of the same rows as X",
            )
        )
    return labels


def _check_keys(keys: Any, n: int) -> NDArray[Any]:
    """Return what the caller knows the rows by: of one kind, and each different."""
    known = np.asarray(keys)
    got = None
    if known.shape != (n,):
        got = f"shape {known.shape}"
    elif missing_among(known).any():
        got = f"{int(missing_among(known).sum())} that are missing"
    else:
        try:
            distinct = len(np.unique(known))
        except TypeError:
            got = "several types, which have no order"
        else:
            got = f"{distinct:,} different ones" if distinct < n else None
    if got is not None:
        raise DataError(
            explained(
                "row_id",
                got,
                f"shape ({n},), each different",
                "Pass one number or text for each row",
            )
        )
    return known


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
