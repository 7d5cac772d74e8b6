"""Convert `cv` to the rows on which each of several models is explained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import is_int, shown
from skedasis._types import Floats, Ints, TableLike
from skedasis.data.dataset import Dataset
from skedasis.errors import DataError

_FORMS = (
    "a list with the test rows, or the (train, test) rows, of each model; a fold number for each row; "
    "or a splitter of scikit-learn"
)


_ROUNDING = 1e-9
"""Training rows whose overlap differs from 1 by less than this are the same."""


_USE_FOLDS = "Pass the folds that the models were fitted on, such as list(KFold(5).split(X))"


Fold: TypeAlias = ArrayLike | tuple[ArrayLike, ArrayLike]
"""The test rows of a model, or its training and its test rows: indices of rows of X, or masks."""


@runtime_checkable
class Splitter(Protocol):
    """A splitter of scikit-learn, such as `KFold`."""

    def split(self, X: Any, y: Any) -> Iterable[tuple[ArrayLike, ArrayLike]]:
        """Yield the training and test rows of each fold; X and y are those of the caller."""
        ...


CrossValidation: TypeAlias = Splitter | Iterable[Fold]
"""The argument `cv` of `explain`. An array of integers holds the fold number of each row."""


@dataclass(frozen=True, eq=False)
class Folds:
    """The rows of each model."""

    parts: tuple[Ints, ...]
    correction: float | None
    overlap: float | None
    description: str
    shared: int = 0
    chosen: str = "none: the overlap of the models' training rows is not known"


def as_folds(
    cv: CrossValidation | None, models: int, dataset: Dataset, X: TableLike, y: ArrayLike | None
) -> Folds:
    """Return the rows that each model is explained on."""
    if cv is None:
        every = (np.arange(len(dataset)),) * models
        return Folds(every, None, None, "all rows for every model")
    n = len(dataset.table)
    tests, trains, said = _read(cv, n, X, y)
    if len(tests) != models:
        raise _error(f"{len(tests)} folds for {models} models", "one fold for each model")
    weight = np.zeros(n)
    weight[slice(None) if dataset.row_id is None else dataset.row_id] = (
        1.0 if dataset.weights is None else dataset.weights
    )
    tested = np.zeros(n, dtype=np.int64)
    for i, test in enumerate(tests):
        tested[test] += 1
        if not weight[test].any():
            got = "no row" if len(test) == 0 else "only rows of weight 0"
            raise _error(f"{got} in fold {i}", "at least one row for each model")
    if trains is None and ((tested == 1) | (weight == 0)).all():
        # Every row is tested once, so the training rows of a model are those that it is not tested on.
        trains = [np.flatnonzero(~np.isin(np.arange(n), test)) for test in tests]
    correction, overlap = _correction_and_overlap(tests, trains, weight)
    parts = tuple(test[weight[test] > 0] for test in tests)
    if dataset.row_id is not None:
        parts = tuple(np.searchsorted(dataset.row_id, rows) for rows in parts)
    shared = int(np.count_nonzero((tested > 1) & (weight > 0)))
    if correction is None:
        return Folds(parts, None, overlap, said, shared)
    return Folds(parts, correction, overlap, said, shared, "rows held out over rows fitted on")


def _correction_and_overlap(
    tests: Sequence[Ints], trains: Sequence[Ints] | None, weight: Floats
) -> tuple[float | None, float | None]:
    """Return n_test / n_train, where repeatedly drawn rows count once, and the overlap of training rows."""
    if trains is None:
        return None, None
    m, ratios, total = len(tests), np.zeros(len(tests)), np.zeros(len(weight))
    for i, (test, train) in enumerate(zip(tests, trains, strict=True)):
        counts = np.bincount(train, minlength=len(weight)) * np.sqrt(weight)
        size = float(np.sqrt(counts @ counts))
        if size == 0:
            return None, None
        ratios[i] = weight[test].sum() / weight[counts > 0].sum()
        total += counts / size
    overlap = (float(total @ total) - m) / (m * (m - 1))
    if overlap > 1 - _ROUNDING:
        # All models have the same training rows, so their differences do not show the variation between training sets.
        return None, 1.0
    return float(ratios.mean()), max(overlap, 0.0)


def _read(
    cv: object, n: int, X: TableLike, y: ArrayLike | None
) -> tuple[list[Ints], list[Ints] | None, str]:
    """Return the test rows, the training rows if known, and a description of `cv`."""
    if isinstance(cv, (str, dict, int, float)):
        raise _error(shown(cv), _FORMS)
    if isinstance(cv, Splitter):
        return (*_read(_split(cv, X, y), n, X, y)[:2], type(cv).__name__)
    if isinstance(cv, Iterator):
        cv = list(cv)
    numbers = _fold_numbers(cv, n)
    if numbers is not None:
        known = np.unique(numbers[numbers >= 0])
        return [np.flatnonzero(numbers == k) for k in known], None, "a fold number for each row"
    if not isinstance(cv, (list, tuple)):
        of_shape = f" of shape {cv.shape}" if isinstance(cv, np.ndarray) else ""
        raise _error(f"{type(cv).__name__}{of_shape}", _FORMS)
    folds: Sequence[object] = cv
    pairs = [f for f in folds if _is_pair(f)]
    if pairs and len(pairs) < len(folds):
        raise _error(
            "(train, test) rows for some models, but only test rows for others",
            "one form for all models",
        )
    if not pairs:
        return [_rows(f, n, f"fold {i}") for i, f in enumerate(folds)], None, "test rows"
    trains = [_rows(f[0], n, f"training rows {i}", twice=True) for i, f in enumerate(pairs)]
    tests = [_rows(f[1], n, f"fold {i}") for i, f in enumerate(pairs)]
    for i, (train, test) in enumerate(zip(trains, tests, strict=True)):
        both = len(np.intersect1d(train, test))
        if both:
            raise _error(
                f"{both:,} test rows of fold {i} that are also its training rows",
                "separate test rows",
            )
    return tests, trains, "(train, test) rows"


def _split(cv: Splitter, X: TableLike, y: ArrayLike | None) -> list[tuple[ArrayLike, ArrayLike]]:
    """Return the folds of a splitter. Raise if they differ between calls: the models then saw other folds."""
    first, second = ([(train, test) for train, test in cv.split(X, y)] for _ in range(2))
    same = len(first) == len(second) and all(
        np.array_equal(a[k], b[k]) for a, b in zip(first, second, strict=True) for k in (0, 1)
    )
    if not same:
        raise DataError(
            "cv",
            f"{type(cv).__name__}, which returned different folds when called twice",
            "the folds that the models were fitted on",
            "Set its random_state to an integer, or pass the list of folds used for fitting",
        )
    return first


def _fold_numbers(cv: object, n: int) -> Ints | None:
    """Return the fold number of each row (negative for no fold), or None if `cv` is not an array of integers."""
    if isinstance(cv, (list, tuple)) and not all(map(is_int, cv)):
        return None
    numbers = np.asarray(cv)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or len(numbers) == 0:
        return None
    if len(numbers) != n:
        raise _error(f"{len(numbers):,} fold numbers", f"{n:,} fold numbers, one for each row of X")
    return numbers


def _is_pair(fold: object) -> TypeGuard[tuple[ArrayLike, ArrayLike]]:
    """Return whether a fold consists of training and test rows; a tuple of two indices does not."""
    return isinstance(fold, tuple) and len(fold) == 2 and np.ndim(fold[0]) == 1


def _rows(given: object, n: int, what: str, *, twice: bool = False) -> Ints:
    """Return row indices from indices or a mask. Repeated indices are allowed only if `twice`; else sort them."""
    rows = np.asarray(given)
    if rows.ndim == 1 and rows.dtype == bool and len(rows) == n:
        return np.flatnonzero(rows)
    if rows.ndim == 1 and len(rows) == 0:
        raise _error(f"no row in {what}", "at least one row for each model")
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        got = f"{what} of shape {rows.shape} and type {rows.dtype}"
        raise _error(got, "integer indices of rows of X, or a mask of all rows")
    beyond = rows[(rows < 0) | (rows >= n)]
    if len(beyond):
        raise _error(f"row {int(beyond[0])} in {what}", f"indices from 0 to {n - 1}")
    distinct = np.unique(rows)
    if len(distinct) < len(rows) and not twice:
        raise _error(f"{len(rows) - len(distinct):,} repeated rows in {what}", "each row once")
    return (rows if twice else distinct).astype(np.int64)


def _error(got: str, expected: str) -> DataError:
    return DataError("cv", got, expected, _USE_FOLDS)
