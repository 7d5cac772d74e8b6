"""Evaluation of a quantity on a batch of rows: the one place that calls the model.

The model is touched in this file and nowhere else: its rows are counted here, its answers checked here, and the buffer
that its inputs are written to lives here.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Summary
from skedasis.data.containers import Borrowed, Coded
from skedasis.data.dataset import Batch, Source, to_array
from skedasis.data.factorize import is_missing
from skedasis.derivatives.finite_differences import differences, look, mixed_differences
from skedasis.distributions.base import Predicted
from skedasis.errors import DataError, ModelOutputError, explained
from skedasis.models.adapters import Traits
from skedasis.models.calling import Meter, Pace, as_array, as_numbers, checked, unit_round_off
from skedasis.quantities.base import Quantity

# ------------------------------------------------------------------------------------------
# A tape of a model's answers, for quantities of several outputs: one more axis, never a second code path.


class Tape:
    """Answers by what was asked: which of the batch's rows, and what their columns were replaced by.

    Each output of a model runs through the same steps on its own; the first one asks the model, the others find the
    answer here. So the model's rows are those of one output, and no method needs to know of several.
    """

    def __init__(self, answers: dict[bytes, Any] | None = None, rows: bytes = b"") -> None:
        self._answers = {} if answers is None else answers
        self._rows = rows

    def part(self, rows: Ints) -> Tape:
        """Return the tape as some of the rows see it."""
        return Tape(self._answers, hashlib.blake2b(self._rows + rows.tobytes()).digest())

    def key(self, changes: Mapping[int, Any]) -> bytes:
        """Return what identifies a question."""
        mark = hashlib.blake2b(self._rows, digest_size=24)
        for j, values in changes.items():
            mark.update(f"|{j}".encode())
            if isinstance(values, Borrowed):
                mark.update(values.mark)
                continue
            parts = (values.codes,) if isinstance(values, Coded) else values
            for part in parts if isinstance(parts, tuple) else (parts,):
                array = np.ascontiguousarray(part)
                mark.update(f"{array.shape}{array.dtype}".encode())
                mark.update(array.data)
        # Answers at the rows themselves stay when the rest is forgotten.
        return mark.digest() if changes else b"own" + self._rows

    def __contains__(self, key: object) -> bool:
        return key in self._answers

    def __getitem__(self, key: Any) -> Any:
        return self._answers[key]

    def __setitem__(self, key: Any, answer: Any) -> None:
        # A copy: a model may answer with a part of its input, which is written to later.
        self._answers[key] = answer if isinstance(answer, Predicted) else np.array(answer)

    def forget(self) -> None:
        """Forget all answers but those at the rows of X: the next feature asks other questions."""
        for key in [k for k in self._answers if k != b"own"]:
            del self._answers[key]


# ------------------------------------------------------------------------------------------
# Which level it was: a model that fails for one of a categorical feature's levels is to say so.


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


# ------------------------------------------------------------------------------------------
# `Bound`: a quantity on one batch of rows.


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


# ------------------------------------------------------------------------------------------
# One look at a model before the work begins: does it answer, the same each time, and leave its input as it is.


LOOKED_AT = 64
"""Rows at which a model is looked."""


_LOOKED_AT = 128


@dataclass(frozen=True)
class Checked:
    """What the look found.

    Parameters
    ----------
    eps : float
        Unit round-off of the model's numbers.
    meter : Meter
        What the look cost. It is counted apart from the explanation's own rows.
    among : ndarray of int, optional
        Places of the rows that were looked among; None means all.
    pace : Pace
        How fast the model was, and how large its calls are to be.
    answers : tuple of ndarray of float
        Of each quantity, at up to 64 rows among those.
    """

    eps: float
    meter: Meter
    among: Ints | None = None
    pace: Pace = field(default_factory=Pace)
    answers: tuple[Floats, ...] = ()


def check(quantities: Sequence[Quantity], source: Source, among: Ints | None = None) -> Checked:
    """Call the model twice on a few rows.

    Parameters
    ----------
    quantities : sequence of Quantity
        One, or one for each output of the same model.
    source : Source
    among : ndarray of int, optional
        Places of the rows that the model will be asked for; None means all.

    Raises
    ------
    ModelOutputError
        Where the output is not one finite number a row, differs between the calls, or the rows were changed.

    Notes
    -----
    Costs at most 128 model rows in two calls, whatever the size of X and the number of outputs.
    """
    batch = source.some(LOOKED_AT, among)
    meter, pace = Meter(), Pace()
    rounds: list[list[Floats]] = []
    eps = float(np.finfo(float).eps)
    for _ in range(2):
        tape = Tape() if len(quantities) > 1 else None
        bounds = [q.on(batch, tape=tape) for q in quantities]
        for bound in bounds:
            bound.pace = pace
        rounds.append([bound.at() for bound in bounds])
        for bound, answer in zip(bounds, rounds[-1], strict=True):
            meter.add(bound.meter)
            eps = max(eps, unit_round_off(bound.output, answer))
        if not _same(bounds[0].given(), batch.tile(1).own()):
            raise ModelOutputError(
                explained(
                    quantities[0].describe(),
                    "rows that the model has written to",
                    "a model that leaves its input as it is",
                    "Let it copy first: X = X.copy()",
                )
            )
    for quantity, first, second in zip(quantities, *rounds, strict=True):
        _agree(quantity, first, second, eps)
    return Checked(eps, meter, among, pace, tuple(rounds[0]))


def _agree(quantity: Quantity, first: Floats, second: Floats, eps: float) -> None:
    """Refuse a model that answers differently when it is asked again."""
    size, apart = np.abs(first).max(), np.abs(first - second).max()
    if apart > 64 * eps * size:
        raise ModelOutputError(
            explained(
                quantity.describe(),
                f"two answers for the same rows, up to {apart:.3g} apart",
                "the same answer at each call",
                "Fix its random seed, or switch it to evaluation (dropout off)",
            )
        )


def traits_of(
    quantity: Quantity,
    source: Source,
    column: Summary,
    found: Checked,
    tape: Tape | None = None,
    values: Floats | None = None,
) -> Traits:
    """Return a quantity's traits for a feature; where only differences are left, look at whether they mean anything.

    Of whole numbers `values` are those that were observed.
    """
    traits = quantity.traits(column.feature)
    if traits.local != "differences":
        return traits
    bound = quantity.on(source.some(_LOOKED_AT, found.among), 4, found.eps, tape=tape)
    traits = look(bound, column, values)
    found.meter.add(bound.meter)
    return traits


def _equal(x: Any, y: Any) -> bool:
    # The NA of pandas is neither equal nor unequal to anything, itself included.
    if is_missing(x) or is_missing(y):
        return is_missing(x) and is_missing(y)
    return bool(x == y) or (x != x and y != y)  # noqa: PLR0124 - NaN equals NaN here


def _same(a: Any, b: Any) -> bool:
    try:
        a, b = to_array(a), to_array(b)
    except Exception:  # noqa: BLE001 - each library has its own for columns that no one type fits
        return bool(a.equals(b)) if hasattr(a, "equals") else True
    if a.dtype.kind == "O":
        return all(_equal(x, y) for x, y in zip(a.flat, b.flat, strict=True))
    return bool(((a == b) | ((a != a) & (b != b))).all())  # noqa: PLR0124 - NaN equals NaN here
