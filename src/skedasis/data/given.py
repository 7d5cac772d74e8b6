"""What the caller gave, checked: X, y, weights, schema and keys become a `Source`."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints
from skedasis.data.arrays import ArrayTable
from skedasis.data.coding import missing_among
from skedasis.data.schema import check_names, declare
from skedasis.data.source import Source
from skedasis.data.table import Table
from skedasis.errors import DataError, explained


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
