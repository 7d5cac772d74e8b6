"""`Bound`: a quantity on one batch of rows.

The model is touched in this file and nowhere else: its rows are counted here, its answers checked here, and the buffer
that its inputs are written to lives here.
"""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis.data.arrays import to_float
from skedasis.data.source import Batch
from skedasis.data.summary import Summary
from skedasis.errors import ModelOutputError, explained
from skedasis.quantity.base import Meter, Quantity, Traits
from skedasis.quantity.gradients import differences
from skedasis.typing import Floats, Ints


class Bound:
    """One batch of rows bound to a quantity. It never leaves its worker.

    Parameters
    ----------
    quantity : Quantity
    batch : Batch
    copies : int
        Capacity of the buffer, in sets of the batch's rows.
    eps : float
        Unit round-off of the numbers that the model computes in.
    used : Bound, optional
        A bound that is done: its buffer's memory is used again.
    """

    def __init__(
        self, quantity: Quantity, batch: Batch, copies: int, eps: float, used: Bound | None = None
    ) -> None:
        self.quantity, self.batch, self.eps = quantity, batch, eps
        self.copies = max(copies, 1)
        self.meter = Meter()
        self.output: Any = None
        self._own: Floats | None = None
        self._columns: dict[int, Floats] = {}
        self._used = None if used is None else used.__dict__.get("_buffer")
        self._whole: tuple[Bound, Ints] | None = None

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def weights(self) -> Floats | None:
        """Return the rows' weights; None means 1 each."""
        return self.batch.weights

    @property
    def row_id(self) -> Ints:
        """Return the rows' places in X."""
        return self.batch.row_id

    @cached_property
    def _buffer(self) -> Any:
        return self.batch.tile(self.copies, self._used)

    def column(self, j: int) -> Floats:
        """Return the batch's values of a feature, shape (n,), NaN where missing."""
        if j not in self._columns:
            # One at a time: a copy of the whole batch in floats is not for keeping.
            self._columns = {j: self.batch.column(j)}
        return self._columns[j]

    def some(self, rows: Ints) -> Bound:
        """Return the same for some of the batch's rows; what they cost counts here."""
        part = Bound(self.quantity, self.batch.take(rows), self.copies, self.eps)
        part.meter, part._whole = self.meter, (self, rows)
        if self._own is not None:
            part._own = self._own[rows]
        return part

    def given(self) -> Any:
        """Return the rows as the model has them."""
        return self._buffer.own()

    def at(self) -> Floats:
        """Return the quantity at the rows, shape (n,). Costs n model rows, once."""
        if self._own is None:
            # A copy: a model may answer with a part of its input, which is written to later.
            self._own = self._call(self._buffer.own(), len(self), "at the rows of X").copy()
        return self._own

    def sweep(self, j: int, values: Floats) -> Floats:
        """Return the quantity with column j replaced.

        Parameters
        ----------
        j : int
            The column's place.
        values : ndarray of float, shape (m,) or (n, m)
            The same values for all rows, or each row's own.

        Returns
        -------
        ndarray of float, shape (n, m)
            Transposed it is contiguous: one value's rows lie together.

        Notes
        -----
        Costs n * m model rows, in calls of up to `copies` sets of rows.
        """
        n, m = len(self), values.shape[-1]
        out = np.empty((m, n))
        where = f"with column {self.batch.source.features[j].name!r} replaced"
        for first in range(0, m, self.copies):
            last = min(first + self.copies, m)
            part = values[first:last, None] if values.ndim == 1 else values[:, first:last].T
            answer = self._call(self._buffer.swept(j, part), (last - first) * n, where)
            out[first:last] = answer.reshape(last - first, n)
        return out.T

    def edge_differences(self, j: int, low: Floats, high: Floats) -> Floats:
        """Return q(high, x_c) - q(low, x_c) for each row's own two edges, shape (n,).

        Notes
        -----
        Costs 2 n model rows at most. Where an edge is a row's own value, the quantity at the row is used instead, as
        soon as that saves rows: n of them serve all features of the batch.
        """
        x = self.column(j)
        at_high = x == high
        known = at_high | (x == low)
        saved = int(np.count_nonzero(known))
        # Evaluating a part of the rows means copying them: not worth it for a few.
        if saved < len(self) and (self._own is None or saved < len(self) // 10):
            return self._rise(j, low, high)
        own = self.at()
        other = self.sweep(j, np.where(at_high, low, high)[:, None])[:, 0]
        difference = np.where(at_high, own - other, other - own)
        rest = np.flatnonzero(~known)
        if len(rest):
            at_low = self.some(rest).sweep(j, low[rest, None])[:, 0]
            difference[rest] = other[rest] - at_low
        return difference

    def _rise(self, j: int, low: Floats, high: Floats) -> Floats:
        """Return the difference with both edges in one call, where the buffer has room for two sets of rows."""
        n = len(self)
        if self.copies < 2:
            both = self.sweep(j, np.stack([low, high]).T)
            return both[:, 1] - both[:, 0]
        where = f"with column {self.batch.source.features[j].name!r} replaced"
        answer = self._call(self._buffer.swept(j, (low, high)), 2 * n, where)
        return answer[n:] - answer[:n]

    @cached_property
    def _slopes(self) -> Floats:
        n, d = len(self), len(self.batch.source.features)
        raw = self._timed(self.quantity.slopes, self._buffer.own(), f"slopes of {n} rows")
        self.meter.slope_rows += n
        self.meter.slope_calls += 1
        slopes = as_numbers(raw, f"{self.quantity.describe()}: slope")
        if slopes.shape != (n, d):
            raise ModelOutputError(
                explained(
                    f"{self.quantity.describe()}: slope",
                    f"shape {slopes.shape}",
                    f"shape {(n, d)}: (rows, features)",
                    "Return the partial derivative of every feature, in X's order",
                )
            )
        if 0 in slopes.strides:  # one row for all, as of a linear model: nothing to copy
            return slopes
        # By columns, for they are read one by one; our own, for results may keep them.
        slopes = np.array(slopes, order="F")
        slopes.flags.writeable = False
        return slopes

    def slope(self) -> Floats:
        """Return the partial derivatives of all features, shape (n, d). Costs n slope rows, once."""
        if self._whole is not None:
            whole, rows = self._whole
            return whole.slope()[rows]
        return self._slopes

    def local_slopes(self, column: Summary, traits: Traits) -> Floats:
        """Return the partial derivative by one feature, shape (n,): the quantity's own, or central differences."""
        if traits.local != "slopes":
            return differences(self, column)
        if self._whole is not None:
            whole, rows = self._whole
            return whole.slope()[rows, column.feature.position]
        return np.ascontiguousarray(self.slope()[:, column.feature.position])

    def _timed(self, function: Any, rows: Any, where: str) -> Any:
        started = time.perf_counter()
        try:
            return function(rows)
        except Exception as error:
            error.add_note(f"raised while skedasis called {self.quantity.describe()} ({where})")
            raise
        finally:
            self.meter.seconds += time.perf_counter() - started

    def _call(self, rows: Any, n: int, where: str) -> Floats:
        raw = self._timed(self.quantity.values, rows, f"{n} rows {where}")
        self.meter.rows += n
        self.meter.calls += 1
        answer = as_array(raw, self.quantity.describe())
        self.output = answer.dtype
        return checked(answer, n, self.quantity.describe(), where)


def as_array(raw: Any, what: str) -> NDArray[Any]:
    """Return whatever a model answered as an array, or say why it cannot be one."""
    if isinstance(raw, np.ma.MaskedArray):
        return np.ma.filled(raw.astype(float), np.nan)
    try:
        return np.asarray(raw)
    except ValueError as error:
        raise ModelOutputError(
            explained(
                what,
                f"a {type(raw).__name__} of parts that differ in length",
                "one number for each row",
                "Return an array of shape (n,)",
            )
        ) from error


def as_numbers(raw: Any, what: str) -> Floats:
    """Return whatever a model answered as an array of float64, or say why it cannot be one."""
    answer = as_array(raw, what)
    try:
        # Text that reads as a number is still a label.
        objects = list(answer.flat) if answer.dtype.kind == "O" else []
        if answer.dtype.kind not in "fiubO" or any(isinstance(v, (str, bytes)) for v in objects):
            raise TypeError
        if objects:
            return to_float(objects).reshape(answer.shape)
        return answer.astype(float, copy=False)
    except (TypeError, ValueError) as error:
        raise ModelOutputError(
            explained(
                what,
                f"output of type {answer.dtype}",
                "numbers",
                "Wrap the model in a function that returns numbers; "
                "for a classifier use sd.probability(model, class_=...)",
            )
        ) from error


def checked(raw: Any, n: int, what: str, where: str) -> Floats:
    """Return a model's answer as finite floats of shape (n,), or raise `ModelOutputError`."""
    answer = as_numbers(raw, what)
    if answer.shape == (n, 1):
        answer = answer[:, 0]
    if answer.shape != (n,):
        several = answer.ndim == 2 and len(answer) == n
        fix = (
            "Choose one output: sd.prediction(lambda X: f(X)[:, 0]), or sd.probability(model, class_=...)"
            if several
            else "Return one number for each row, in the rows' order"
        )
        raise ModelOutputError(explained(what, f"output of shape {answer.shape}", f"({n},)", fix))
    # A sum is finite only if every term is (or, rarely, if it overflows): one cheap pass in the usual case.
    with np.errstate(over="ignore", invalid="ignore"):
        total = answer.sum()
    if not np.isfinite(total) and not np.isfinite(answer).all():
        bad = int((~np.isfinite(answer)).sum())
        raise ModelOutputError(
            explained(
                what,
                f"NaN or infinity for {bad} of {n} rows ({where})",
                "finite numbers",
                "If X has missing values that the model cannot take, impute them or drop those rows",
            )
        )
    return answer
