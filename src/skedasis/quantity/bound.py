"""`Bound`: a quantity on one batch of rows.

The model is touched in this file and nowhere else: its rows are counted here, its answers checked here, and the buffer
that its inputs are written to lives here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Summary
from skedasis.data.containers import Borrowed, Coded
from skedasis.data.dataset import Batch
from skedasis.errors import ModelOutputError, explained
from skedasis.quantity.answers import as_array, as_numbers, checked
from skedasis.quantity.base import Meter, Quantity, Traits
from skedasis.quantity.blame import blamed
from skedasis.quantity.gradients import differences
from skedasis.quantity.mixed import mixed_differences
from skedasis.quantity.pace import Pace
from skedasis.quantity.tape import Tape

Changes = Mapping[int, Any]
"""By column: m values for all rows (m,), each row's own (n, m) or a tuple of m arrays (n,); or `Coded` likewise; or
`Borrowed` as it is."""


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
    tape : Tape, optional
        Answers of the model that several outputs share: what one has asked, the others do not ask again.
    """

    def __init__(
        self,
        quantity: Quantity,
        batch: Batch,
        copies: int,
        eps: float,
        used: Bound | None = None,
        tape: Tape | None = None,
    ) -> None:
        self.quantity, self.batch, self.eps = quantity, batch, eps
        self.copies = max(copies, 1)
        self.meter = Meter()
        self.output: Any = None
        self._own: Floats | None = None
        self._columns: dict[int, Floats] = {}
        self._used = None if used is None else used.left()
        self._whole: tuple[Bound, Ints] | None = None
        self._tape = tape
        self._tiled: Any = None
        self.shared: dict[str, Any] = {}
        self.pace = Pace()

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

    @property
    def places(self) -> Ints:
        """Return the rows' places among those that take part."""
        return self.batch.places

    @cached_property
    def _buffer(self) -> Any:
        return self.batch.tile(self.copies, self._used)

    def left(self) -> Any:
        """Return the buffer, if there is one, and forget all else: nothing more will be asked."""
        buffer = self.__dict__.get("_buffer")
        self.__dict__.pop("_slopes", None)
        self._own, self._columns = None, {}
        return buffer

    def column(self, j: int) -> Floats:
        """Return the batch's values of a feature, shape (n,), NaN where missing."""
        if j not in self._columns:
            # One at a time: a copy of the whole batch in floats is not for keeping.
            self._columns = {j: self.batch.column(j)}
        return self._columns[j]

    def codes(self, column: LevelColumn) -> Ints:
        """Return the batch's places in a categorical feature's levels, shape (n,), -1 where there is none."""
        return self.batch.codes(column)

    def labels(self) -> Floats:
        """Return the rows' labels as numbers, shape (n,)."""
        return self.batch.labels()

    def some(self, rows: Ints) -> Bound:
        """Return the same for some of the batch's rows; what they cost counts here."""
        # Of its own kind: trees bind trees.
        part: Bound = type(self)(self.quantity, self.batch.take(rows), self.copies, self.eps)
        part.meter, part._whole, part.pace = self.meter, (self, rows), self.pace
        part._tape = None if self._tape is None else self._tape.part(rows)
        if self._own is not None:
            part._own = self._own[rows]
        return part

    def forget(self) -> None:
        """Forget answers that outputs share, but for those at the rows of X: the next feature asks other questions."""
        if self._tape is not None:
            self._tape.forget()

    def given(self) -> Any:
        """Return the rows as the model has them."""
        return self._buffer.own()

    def at(self) -> Floats:
        """Return the quantity at the rows, shape (n,). Costs n model rows, once."""
        if self._own is None:
            # A copy: a model may answer with a part of its input, which is written to later.
            self._own = self._call({}, 1, "at the rows of X").copy()
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
        return self.sweep_together({j: values}, values.shape[-1])

    def sweep_together(self, changes: Changes, m: int) -> Floats:
        """Return the quantity with several columns replaced at once, (n, m); for the rest as `sweep`."""
        n = len(self)
        out = np.empty((m, n))
        where = f"with {self._named(changes)} replaced"
        for first in range(0, m, self.copies):
            last = min(first + self.copies, m)
            part = {j: sets_of(values, first, last) for j, values in changes.items()}
            out[first:last] = self._call(part, last - first, where).reshape(last - first, n)
        return out.T

    def sums(self, changes: Changes, m: int) -> Floats:
        """Return the weighted sums over the rows of the quantity with columns replaced, (m,).

        Parameters
        ----------
        changes : mapping of int to values
            By column: m values, the same for all rows.
        m : int

        Notes
        -----
        Costs n * m model rows; of a sum of trees none.
        """
        curves = self.sweep_together(changes, m).T
        return curves.sum(axis=1) if self.weights is None else curves @ self.weights

    def across(self, j: int, edges: Floats, cell: Ints) -> Floats:
        """Return q(z_k, x_c) - q(z_{k-1}, x_c) for the edges of each row's cell, (n,); for the rest as what follows."""
        return self.edge_differences(j, edges[:-1].take(cell), edges[1:].take(cell))

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
        answer = self._call({j: (low, high)}, 2, f"with {self._named({j: low})} replaced")
        return answer[n:] - answer[:n]

    @cached_property
    def _slopes(self) -> Floats:
        slopes = self._ask_slopes(self._buffer.own(), len(self))
        if slopes.strides[0] == 0:  # one row for all, as of a linear model: little to copy
            return np.broadcast_to(slopes[:1].copy(), slopes.shape)
        # By columns, for they are read one by one; our own, for results may keep them.
        slopes = np.array(slopes, order="F")
        slopes.flags.writeable = False
        return slopes

    def _ask_slopes(self, rows: Any, n: int) -> Floats:
        """Call the derivative for rows in X's container, and check what comes back, (n, d)."""
        d = len(self.batch.source.features)
        y = self._targets(n // max(len(self), 1))
        raw = self._timed(lambda rows: self.quantity.slopes(rows, y), rows, f"slopes of {n} rows")
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
        return slopes

    def slope(self) -> Floats:
        """Return the partial derivatives of all features, shape (n, d). Costs n slope rows, once."""
        if self._whole is not None:
            whole, rows = self._whole
            return whole.slope()[rows]
        return self._slopes

    def slope_sweep(self, j: int, values: Floats) -> Floats:
        """Return the partial derivative by column j with that column replaced, (n, m). Costs n * m slope rows."""
        return self.slopes_at(j, j, values)

    def slopes_at(self, j: int, moved: int, values: Any) -> Floats:
        """Return the partial derivative by column j with column `moved` replaced, (n, m). Costs n * m slope rows."""
        n = len(self)
        m = len(values) if isinstance(values, tuple) else values.shape[-1]
        out = np.empty((m, n))
        for first in range(0, m, self.copies):
            last = min(first + self.copies, m)
            rows = self._buffer.swept({moved: sets_of(values, first, last)}, last - first)
            slopes = self._ask_slopes(rows, (last - first) * n)[:, j]
            if not np.isfinite(slopes).all():
                raise ModelOutputError(
                    explained(
                        f"{self.quantity.describe()}: slope",
                        f"NaN or infinity with {self._named({moved: values})} replaced",
                        "finite numbers",
                        "Check the slope function at the points of the grid",
                    )
                )
            out[first:last] = slopes.reshape(last - first, n)
        return out.T

    def local_slopes(self, column: Summary, traits: Traits) -> Floats:
        """Return the partial derivative by one feature, shape (n,): the quantity's own, or central differences."""
        if traits.local != "slopes":
            return differences(self, column)
        if self._whole is not None:
            whole, rows = self._whole
            return whole.slope()[rows, column.feature.position]
        return np.ascontiguousarray(self.slope()[:, column.feature.position])

    def mixed_slopes(
        self, columns: tuple[Summary, Summary], traits: tuple[Traits, Traits]
    ) -> tuple[Floats, Floats | None, Floats | None]:
        """Return the mixed second derivative by two features, and the slope by each where it comes with it, (n,).

        Notes
        -----
        n rows of the quantity's own mixed derivative; else central differences of its slopes (2 n slope rows); else of
        the quantity itself (4 n model rows); twice as many where an offset dwarfs the spread. Its slopes, where it has
        them, are n slope rows for all features.
        """
        places = columns[0].feature.position, columns[1].feature.position
        sloped = all(t.local == "slopes" for t in traits)
        first, second = (self.slope()[:, j] if sloped else None for j in places)
        if not self.quantity.has_mixed:
            mixed, first_too, second_too = mixed_differences(self, columns, sloped=sloped)
            return (mixed, first, second) if sloped else (mixed, first_too, second_too)
        n = len(self)
        raw = self._timed(
            lambda rows: self.quantity.mixed(rows, *places),
            self._buffer.own(),
            f"mixed derivatives of {n} rows",
        )
        self.meter.slope_rows += n
        self.meter.slope_calls += 1
        what = f"{self.quantity.describe()}: mixed"
        # A copy: what is kept must not change when the rows it may be a part of are written to.
        mixed = checked(as_numbers(raw, what), n, what, "mixed derivatives").copy()
        return mixed, first, second

    def _named(self, changes: Changes) -> str:
        features = self.batch.source.features
        names = [repr(features[j].name) for j in changes]
        kind = "column" if len(names) == 1 else "columns"
        return f"{kind} {', '.join(names[:4])}{', …' if len(names) > 4 else ''}"

    def _timed(self, function: Any, rows: Any, where: str) -> Any:
        started = time.perf_counter()
        try:
            return function(rows)
        except Exception as error:
            error.add_note(f"raised while skedasis called {self.quantity.describe()} ({where})")
            raise
        finally:
            self.meter.seconds += time.perf_counter() - started

    def _call(self, changes: Changes, sets: int, where: str) -> Floats:
        """Return the quantity for `sets` sets of the batch's rows, shape (sets * n,)."""
        n = sets * len(self)
        if n == 0:  # estimators refuse no rows
            return np.empty(0)
        key = None if self._tape is None else self._tape.key(changes)
        if self._tape is not None and key in self._tape:
            raw = self._tape[key]
        else:
            raw = self._ask(changes, sets, f"{n} rows {where}")
            if self._tape is not None:
                self._tape[key] = raw
        targets = self._targets(sets)
        answer = as_array(self.quantity.read(raw, targets), self.quantity.describe())
        self.meter.floored += self.quantity.floored(raw, targets)
        # What was computed from the answer is as exact as the answer was.
        if self.output is None:
            self.output = self.quantity.computed(raw) or answer.dtype
        return checked(answer, n, self.quantity.describe(), where)

    def _targets(self, sets: int) -> Any:
        """Return the labels of `sets` sets of the rows, as the quantity reads them."""
        if not self.quantity.labelled:
            return None
        if self._tiled is None or len(self._tiled) < sets * len(self):
            self._tiled = np.tile(self.batch.targets(), sets)
        return self._tiled[: sets * len(self)]

    def _ask(self, changes: Changes, sets: int, where: str) -> Any:
        """Call the model."""
        rows = self._buffer.swept(changes, sets) if changes else self._buffer.own()
        try:
            n = sets * len(self)
            raw, calls = self._timed(lambda r: self.pace.ask(self.quantity.raw, r, n), rows, where)
        except Exception as error:
            blamed(error, self.quantity, self.batch, changes)
            raise
        self.meter.rows += n
        self.meter.calls += calls
        return raw


def sets_of(values: Any, first: int, last: int) -> Any:
    """Return some of the m values, as buffers take them: set by set."""
    if isinstance(values, tuple):
        return values[first:last]
    if isinstance(values, Borrowed):
        return values.part(first, last)
    if isinstance(values, Coded):
        codes = values.codes
        part = codes[first:last, None] if codes.ndim == 1 else codes[:, first:last].T
        return Coded(part, values.rows)
    return values[first:last, None] if values.ndim == 1 else values[:, first:last].T
