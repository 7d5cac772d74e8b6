"""`cv`: the rows on which each of several models is explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.dataset import Source
from skedasis.errors import DataError, explained

_FORMS = (
    "a list of test rows, or of (train, test) rows, for each model; a fold number for each row; "
    "or a splitter of scikit-learn"
)


_ROUNDING = 1e-9


_FIX = "Pass the folds that the models were fitted on, such as list(KFold(5).split(X))"


@dataclass(frozen=True, eq=False)
class Folds:
    """The rows of each model.

    Parameters
    ----------
    parts : tuple of ndarray of int
        Places among the source's rows, ascending.
    correction : float or None
        Mean over the models of their test rows' weight over their training rows'; None where the latter are not known.
    overlap : float or None
        What the training rows of two models have in common: the mean cosine of how often each row is there.
    said : str
        What was given, for the provenance.
    shared : int
        Rows that more than one model is explained on.
    chosen : str
        Where the correction comes from.
    """

    parts: tuple[Ints, ...]
    correction: float | None
    overlap: float | None
    said: str
    shared: int = 0
    chosen: str = "none: it is not known how much the models' training rows overlap"


def as_folds(cv: Any, models: int, source: Source, X: Any, y: Any) -> Folds:
    """Return which rows each model is explained on.

    Parameters
    ----------
    cv : object
        As in `explain`; None for all rows for every model.
    models : int
    source : Source
    X, y : object
        As the caller gave them, for a splitter.

    Raises
    ------
    DataError
        For folds that are none of these forms, not as many as models, empty, beyond X, with a row twice, or with rows
        that their own model was fitted on; and for a splitter that splits differently each time.
    """
    if cv is None:
        every = (np.arange(len(source)),) * models
        return Folds(every, None, None, "all rows for every model")
    n = len(source.table)
    tests, trains, said = _read(cv, n, X, y)
    if len(tests) != models:
        raise _refused(f"{len(tests)} folds for {models} models", "one fold for each model")
    weight = np.zeros(n)
    weight[slice(None) if source.row_id is None else source.row_id] = (
        1.0 if source.weights is None else source.weights
    )
    tested = np.zeros(n, dtype=np.int64)
    for i, test in enumerate(tests):
        tested[test] += 1
        if not weight[test].any():
            got = "no row" if len(test) == 0 else "only rows of weight 0"
            raise _refused(f"{got} in fold {i}", "at least one row for each model")
    if trains is None and ((tested == 1) | (weight == 0)).all():  # then each was fitted on the rest
        trains = [np.flatnonzero(~np.isin(np.arange(n), test)) for test in tests]
    correction, overlap = _shares(tests, trains, weight)
    parts = tuple(_places(test[weight[test] > 0], source) for test in tests)
    shared = int(np.count_nonzero((tested > 1) & (weight > 0)))
    if correction is None:
        return Folds(parts, None, overlap, said, shared)
    return Folds(parts, correction, overlap, said, shared, "rows held out over rows fitted on")


def _places(rows: Ints, source: Source) -> Ints:
    """Return rows of X as places among the source's rows."""
    return rows if source.row_id is None else np.searchsorted(source.row_id, rows)


def _shares(
    tests: Sequence[Ints], trains: Sequence[Ints] | None, weight: Floats
) -> tuple[float | None, float | None]:
    """Return n_test / n_train, a row that was drawn repeatedly counted once, and the overlap of training rows."""
    if trains is None:
        return None, None
    m, ratios, together = len(tests), np.zeros(len(tests)), np.zeros(len(weight))
    for i, (test, train) in enumerate(zip(tests, trains, strict=True)):
        often = np.bincount(train, minlength=len(weight)) * np.sqrt(weight)
        size = float(np.sqrt(often @ often))
        if size == 0:
            return None, None
        ratios[i] = weight[test].sum() / weight[often > 0].sum()
        together += often / size
    overlap = (float(together @ together) - m) / (m * (m - 1))
    if overlap > 1 - _ROUNDING:
        return (
            None,
            1.0,
        )  # whatever was held out: the models saw the same data, and show no error of it
    return float(ratios.mean()), max(overlap, 0.0)


def _read(cv: Any, n: int, X: Any, y: Any) -> tuple[list[Ints], list[Ints] | None, str]:
    """Return test rows, training rows where they are known, and what was given."""
    if isinstance(cv, (str, dict, int, float)):
        raise _refused(repr(cv)[:60], _FORMS)
    if callable(getattr(cv, "split", None)):
        return (*_read(_split(cv, X, y), n, X, y)[:2], type(cv).__name__)
    if hasattr(cv, "__next__"):
        cv = list(cv)
    numbers = _fold_numbers(cv, n)
    if numbers is not None:
        known = np.unique(numbers[numbers >= 0])
        return [np.flatnonzero(numbers == k) for k in known], None, "a fold number for each row"
    if not isinstance(cv, (list, tuple)):
        raise _refused(f"a {type(cv).__name__} {_shape(cv)}".strip(), _FORMS)
    paired = [isinstance(f, tuple) and len(f) == 2 and _array_like(f[0]) for f in cv]
    if any(paired) and not all(paired):
        raise _refused("(train, test) for some models, test rows alone for others", "either")
    if not any(paired):
        return [_rows(f, n, f"fold {i}") for i, f in enumerate(cv)], None, "test rows"
    trains = [_rows(f[0], n, f"training rows {i}", twice=True) for i, f in enumerate(cv)]
    tests = [_rows(f[1], n, f"fold {i}") for i, f in enumerate(cv)]
    for i, (train, test) in enumerate(zip(trains, tests, strict=True)):
        both = len(np.intersect1d(train, test))
        if both:
            raise _refused(f"{both:,} rows of fold {i} in its training rows", "held-out rows")
    return tests, trains, "(train, test) rows"


def _split(cv: Any, X: Any, y: Any) -> list[Any]:
    """Return a splitter's folds, if they are always the same: the models were fitted on these, not on others."""
    first, second = list(cv.split(X, y)), list(cv.split(X, y))
    same = len(first) == len(second) and all(
        np.array_equal(a[k], b[k]) for a, b in zip(first, second, strict=True) for k in (0, 1)
    )
    if not same:
        raise DataError(
            explained(
                "cv",
                f"a {type(cv).__name__} that splits differently each time",
                "the folds that the models were fitted on",
                "Give it a random_state, or pass the list of its folds",
            )
        )
    return [(train, test) for train, test in first]


def _fold_numbers(cv: Any, n: int) -> Ints | None:
    """Return one whole number for each row, None if these are none; negative ones stand for no fold."""
    if isinstance(cv, (list, tuple)) and not all(
        isinstance(k, (int, np.integer)) and not isinstance(k, bool) for k in cv
    ):
        return None
    numbers = np.asarray(cv)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or len(numbers) == 0:
        return None
    if len(numbers) != n:
        raise _refused(f"{len(numbers):,} fold numbers", f"{n:,}, one for each row of X")
    return numbers


def _array_like(value: Any) -> bool:
    return np.ndim(value) == 1


def _shape(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return "" if shape is None else f"of shape {tuple(shape)}"


def _rows(given: Any, n: int, what: str, *, twice: bool = False) -> Ints:
    """Return rows of X, from their places or from a mask: ascending, unless they may be there `twice`."""
    rows = np.asarray(given)
    if rows.ndim == 1 and rows.dtype == bool and len(rows) == n:
        return np.flatnonzero(rows)
    if rows.ndim == 1 and len(rows) == 0:
        raise _refused(f"no row in {what}", "at least one row for each model")
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        got = f"{what} of shape {rows.shape} and type {rows.dtype}"
        raise _refused(got, "places of rows in X")
    beyond = rows[(rows < 0) | (rows >= n)]
    if len(beyond):
        raise _refused(f"row {int(beyond[0])} in {what}", f"places from 0 to {n - 1}")
    distinct = np.unique(rows)
    if len(distinct) < len(rows) and not twice:
        raise _refused(f"{len(rows) - len(distinct):,} rows twice in {what}", "each row once")
    return (rows if twice else distinct).astype(np.int64)


def _refused(got: str, expected: str) -> DataError:
    return DataError(explained("cv", got, expected, _FIX))
