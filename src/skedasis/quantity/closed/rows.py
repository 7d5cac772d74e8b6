"""Rows on their way through a model: arrays, sparse matrices or data frames, as scikit-learn passes them on."""

from __future__ import annotations

from typing import Any

import numpy as np

from skedasis._types import Floats, Ints


def doubles(X: Any) -> Any:
    """Return rows in their own container, with numbers in double precision.

    scikit-learn's steps compute in the precision of what they are given: in single precision, inputs of a later step
    would be known to seven digits only. What is no number stays as it is.
    """
    if isinstance(X, np.ndarray):
        try:
            return X.astype(float, copy=False)
        except (TypeError, ValueError):  # some columns are text: their encoders know what to do
            return X
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True)
    single = [name for name, dtype in frame.schema.items() if dtype == nw.Float32]
    return frame.with_columns(nw.col(*single).cast(nw.Float64)).to_native() if single else X


def numbers(Z: Any) -> Floats:
    """Return rows of any container as an array of floats, (n, d)."""
    if hasattr(Z, "toarray"):
        return np.asarray(Z.toarray(), dtype=float)
    if isinstance(Z, np.ndarray):
        return np.asarray(Z, dtype=float)
    from skedasis.data.containers import FrameTable

    return np.asarray(FrameTable(Z).to_array(), dtype=float)


def some(X: Any, start: int, stop: int) -> Any:
    """Return the rows from `start` to `stop`, in their container."""
    if isinstance(X, np.ndarray):
        return X[start:stop]
    import narwhals.stable.v2 as nw

    return nw.from_native(X, eager_only=True)[start:stop].to_native()


def columns(X: Any, places: Ints) -> Any:
    """Return the columns at some places, in their container."""
    if isinstance(X, np.ndarray) or hasattr(X, "toarray"):
        return X[:, places]
    import narwhals.stable.v2 as nw

    return nw.from_native(X, eager_only=True)[:, places.tolist()].to_native()
