"""Which level it was: a model that fails for one of a categorical feature's levels is to say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from skedasis._types import Ints
from skedasis.data.containers import Coded
from skedasis.data.dataset import Batch
from skedasis.errors import DataError
from skedasis.quantity.base import Quantity

_MOST, _TRIED = 2000, 64
"""Levels that are tried one by one, and rows that are tried for one that the model takes."""


def blamed(error: Exception, quantity: Quantity, batch: Batch, changes: Mapping[int, Any]) -> None:
    """Add a note to a model's exception that names the levels it fails for.

    The levels that were put into the rows are tried one by one; where none was, those of all categorical features. They
    are tried in a row that the model takes as it is, for another feature's level must not be blamed on this one. Only
    a failure costs this, and its rows are not counted: there is no result to count them for.
    """
    base = _working(quantity, batch)
    if base is None:
        return
    if changes:
        for j, values in changes.items():
            if isinstance(values, Coded):
                rows = values.rows[np.unique(values.codes)][:_MOST]
                _note(error, batch, j, _failing(quantity, base, rows, j))
        return
    for feature in batch.source.features:
        if feature.kind == "continuous":
            continue
        try:
            column = batch.source.levels(feature, most=_MOST)
        except DataError:  # too many levels, or none: there is nobody to blame
            continue
        j = feature.position
        _note(error, batch, j, _failing(quantity, base, column.levels.rows, j))


def _working(quantity: Quantity, batch: Batch) -> Batch | None:
    """Return a row of the batch that the model takes as it is, None if there is none among the first."""
    for place in range(min(len(batch), _TRIED)):
        one = batch.take(np.array([place]))
        if _takes(quantity, one.tile(1).own()):
            return one
    return None


def _failing(quantity: Quantity, base: Batch, rows: Ints, j: int) -> Ints:
    """Return those of the places in X whose value of column j the model fails for, put into a row that it takes."""
    code = np.zeros((1, 1), dtype=np.int64)
    buffer = base.tile(1)
    bad = [
        r for r in rows if not _takes(quantity, buffer.swept({j: Coded(code, np.array([r]))}, 1))
    ]
    return np.array(bad, dtype=np.int64)


def _takes(quantity: Quantity, rows: Any) -> bool:
    try:
        quantity.raw(rows)
    except Exception:  # noqa: BLE001 - whatever it is: we are looking for what raises it
        return False
    return True


def _note(error: Exception, batch: Batch, j: int, rows: Ints) -> None:
    if len(rows) == 0:
        return
    values = [repr(batch.source.table.value(j, int(row))) for row in rows[:5]]
    more = ", …" if len(rows) > 5 else ""
    name = batch.source.features[j].name
    error.add_note(f"the model fails for these levels of {name!r}: {', '.join(values)}{more}")
