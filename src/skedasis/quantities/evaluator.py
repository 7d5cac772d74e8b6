"""Evaluation of a quantity on a batch of rows: the only place that calls the model."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, cast

import numpy as np

from skedasis._types import Bools, Container, DType, Floats, Ints, ModelRows, RawResponse, Values
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Summary
from skedasis.data.containers import Buffer, DonorRows, LevelReplacement, Replacement, SetChanges
from skedasis.data.dataset import Batch, Dataset, to_array
from skedasis.data.factorize import is_missing
from skedasis.data.features import Feature
from skedasis.derivatives.finite_differences import differences, mixed_differences
from skedasis.distributions.base import Predicted
from skedasis.errors import DataError, ModelOutputError
from skedasis.models.adapters import DerivativeInfo
from skedasis.models.calling import (
    SMALLEST,
    CallStats,
    ChunkedCaller,
    as_array,
    as_numbers,
    check_response,
    unit_round_off,
)
from skedasis.quantities.joint_calls import JointCalls, Request
from skedasis.stats.moments import dot

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

    from skedasis.quantities.base import Quantity

# --- what is evaluated ----------------------------------------------------------------------------

SweepValues: TypeAlias = Floats | tuple[Floats, ...] | LevelReplacement | DonorRows
"""m values of a column: the same for all rows (m,), or different for each row (n, m), or a tuple of m arrays (n,); or
`LevelReplacement` with codes of these shapes; or `DonorRows`."""

SweptValues: TypeAlias = Mapping[int, SweepValues]
"""Replaced values by column index, m of each column."""

ModelPart: TypeAlias = "tuple[Quantity, Dataset]"
"""A quantity of one model, of those that a quantity is the sum of, and the rows as its model takes them."""

_ArgumentT = TypeVar("_ArgumentT")
_ResultT = TypeVar("_ResultT")


class InputBuffer(Protocol):
    """The rows of a batch as a model takes them, in which columns are replaced."""

    def own(self) -> ModelRows:
        """Return the rows without replacements."""
        ...

    def swept(self, changes: SetChanges, sets: int) -> ModelRows:
        """Return the rows repeated `sets` times, one set after the other, with columns replaced."""
        ...


# --- cache of responses ---------------------------------------------------------------------------


OWN = b"own"
"""Key of the response at the rows of a batch."""


class ResponseCache:
    """Cache of model responses, keyed by the rows of the batch and the replaced values of their columns."""

    def __init__(
        self, responses: dict[bytes, RawResponse] | None = None, rows: bytes = b""
    ) -> None:
        self._responses: dict[bytes, RawResponse] = {} if responses is None else responses
        self._rows = rows
        self._of_models: dict[int, ResponseCache] = {}

    def part(self, rows: Ints) -> ResponseCache:
        """Return a view of the cache for a subset of the batch's rows."""
        # Imported here: it loads OpenSSL.
        import hashlib

        return ResponseCache(self._responses, hashlib.blake2b(self._rows + rows.tobytes()).digest())

    def of_model(self, i: int) -> ResponseCache:
        """Return the cache of one of several models."""
        return self._of_models.setdefault(i, ResponseCache())

    def key(self, changes: SetChanges) -> bytes:
        import hashlib

        digest = hashlib.blake2b(self._rows, digest_size=24)
        for j, values in changes.items():
            digest.update(f"|{j}".encode())
            if isinstance(values, DonorRows):
                digest.update(values.mark)
                continue
            part_values = values.codes if isinstance(values, LevelReplacement) else values
            parts = (part_values,) if isinstance(part_values, np.ndarray) else part_values
            for part in parts:
                array = np.ascontiguousarray(part)
                digest.update(f"{array.shape}{array.dtype}".encode())
                digest.update(array.data)
        # A key of its own for unchanged rows: `forget` keeps their response.
        return digest.digest() if changes else OWN + self._rows

    def __contains__(self, key: object) -> bool:
        return key in self._responses

    def __getitem__(self, key: bytes) -> RawResponse:
        return self._responses[key]

    def __setitem__(self, key: bytes, response: RawResponse) -> None:
        self._responses[key] = _kept(response)

    def forget(self) -> None:
        """Delete all responses except those at the rows of X, which the next feature uses again."""
        own = {k: v for k, v in self._responses.items() if k == OWN}
        self._responses.clear()
        self._responses.update(own)
        for cache in self._of_models.values():
            cache.forget()


def _kept(response: RawResponse) -> RawResponse:
    """Return a copy: a model may return a view of its input, and the input buffer is overwritten later."""
    return response if isinstance(response, Predicted) else np.array(response)


# --- failing levels -------------------------------------------------------------------------------


_MAX_LEVELS, _MAX_ROWS = 2000, 64
"""Maximum number of levels to try one by one, and of rows to try in search of one that the model accepts."""


def note_failing_levels(
    error: Exception, quantity: Quantity, batch: Batch, changes: SetChanges
) -> None:
    """Add a note to a model's exception that names the levels for which the model fails."""
    base = _accepted_row(quantity, batch)
    if base is None:
        return
    if changes:
        for j, values in changes.items():
            if isinstance(values, LevelReplacement):
                rows = values.rows[np.unique(values.codes)][:_MAX_LEVELS]
                _add_note(error, batch, j, _failing_rows(quantity, base, rows, j))
        return
    for feature in batch.dataset.features:
        if feature.kind == "continuous":
            continue
        try:
            column = batch.dataset.levels(feature, most=_MAX_LEVELS)
        except DataError:  # too many levels to try, or none
            continue
        j = feature.position
        _add_note(error, batch, j, _failing_rows(quantity, base, column.levels.rows, j))


def _accepted_row(quantity: Quantity, batch: Batch) -> Batch | None:
    """Return a row of the batch that the model accepts unchanged, or None if it rejects all of the first rows."""
    for i in range(min(len(batch), _MAX_ROWS)):
        one = batch.take(np.array([i]))
        if _accepts(quantity, one.tile(1).own()):
            return one
    return None


def _failing_rows(quantity: Quantity, base: Batch, rows: Ints, j: int) -> Ints:
    """Return those of the given rows of X whose value of column j makes the model fail when inserted into `base`."""
    code = np.zeros((1, 1), dtype=np.int64)
    buffer = base.tile(1)
    failing = [
        r
        for r in rows
        if not _accepts(quantity, buffer.swept({j: LevelReplacement(code, np.array([r]))}, 1))
    ]
    return np.array(failing, dtype=np.int64)


def _accepts(quantity: Quantity, rows: ModelRows) -> bool:
    try:
        quantity.raw(rows)
    except Exception:  # noqa: BLE001 - models raise exceptions of any kind
        return False
    return True


def _add_note(error: Exception, batch: Batch, j: int, rows: Ints) -> None:
    if len(rows) == 0:
        return
    values = [repr(batch.dataset.table.value(j, int(row))) for row in rows[:5]]
    more = ", …" if len(rows) > 5 else ""
    name = batch.dataset.features[j].name
    error.add_note(f"The model fails for these levels of {name!r}: {', '.join(values)}{more}")


# --- evaluator of a batch -------------------------------------------------------------------------


class BatchEvaluator:
    """Evaluator of a quantity on one batch of rows."""

    def __init__(
        self,
        quantity: Quantity,
        batch: Batch,
        copies: int,
        eps: float,
        used: BatchEvaluator | None = None,
        cache: ResponseCache | None = None,
    ) -> None:
        self.quantity, self.batch, self.eps = quantity, batch, eps
        self.copies = max(copies, 1)
        self.stats = CallStats()
        self.dtype: DType | None = None
        self._own: Floats | None = None
        self._columns: dict[int, Floats] = {}
        self._used = None if used is None else used.left()
        self._whole: tuple[BatchEvaluator, Ints] | None = None
        self._cache = cache
        self.joint: JointCalls | None = None
        """Lets requests of few rows wait for those of other computations; with a cache only."""
        self._tiled: Values | None = None
        # Methods keep values of any kind here, each under a key of its own.
        self.shared: dict[str, object] = {}
        self.caller = ChunkedCaller()

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def weights(self) -> Floats | None:
        """Return the rows' weights; None means 1 for each row."""
        return self.batch.weights

    @property
    def row_id(self) -> Ints:
        """Return the rows' indices in X."""
        return self.batch.row_id

    @property
    def identifiers(self) -> Values:
        """Return the identifiers that key random draws."""
        return self.batch.identifiers

    @property
    def places(self) -> Ints:
        """Return the rows' positions among the rows used in the explanation."""
        return self.batch.places

    @cached_property
    def _buffer(self) -> InputBuffer:
        return self.batch.tile(self.copies, self._used)

    def left(self) -> Buffer[Container] | None:
        """Return the buffer for reuse, if there is one, and release all other memory. Ends the evaluator's life."""
        buffer: Buffer[Container] | None = self.__dict__.get("_buffer")
        self.__dict__.pop("_slopes", None)
        self._own, self._columns = None, {}
        return buffer

    def column(self, j: int) -> Floats:
        """Return the batch's values of a feature, shape (n,), NaN where missing."""
        if j not in self._columns:
            # Keep one column only: a float copy of the whole batch would take too much memory.
            self._columns = {j: self.batch.column(j)}
        return self._columns[j]

    def codes(self, column: LevelColumn) -> Ints:
        """Return the batch's codes of a categorical feature's levels, shape (n,), -1 where the value has no code."""
        return self.batch.codes(column)

    def subset(self, rows: Ints, sets: int = 1) -> BatchEvaluator:
        room = self.copies * len(self) // max(len(rows), 1)
        copies = max(self.copies, min(sets, room))
        # type(self): the subset of a `TreeEvaluator` is a `TreeEvaluator`.
        part: BatchEvaluator = type(self)(self.quantity, self.batch.take(rows), copies, self.eps)
        part.stats, part._whole, part.caller = self.stats, (self, rows), self.caller
        part._cache = None if self._cache is None else self._cache.part(rows)
        part.joint = self.joint
        if self._own is not None:
            part._own = self._own[rows]
        return part

    def forget(self) -> None:
        """Delete cached responses except those at the rows of X. Called between features."""
        if self._cache is not None:
            self._cache.forget()

    def watched(self) -> ModelRows:
        """Return the unchanged rows as the model will get them, in which its writing to them can be seen afterwards."""
        watched = _WatchedRows(self.batch.tile(1).own())
        self.__dict__["_buffer"] = watched
        return watched.rows

    def know(self, values: Floats) -> None:
        """Take the quantity at the rows, shape (n,), from an earlier call of the model."""
        self._own = values

    def response(self) -> RawResponse:
        """Return the model's response at the rows, from which `values` are then read without another call."""
        where = f"{len(self)} rows at the rows of X"
        raw = _kept(self._response({}, 1, where))
        self._own = self._read(raw, 1, where)
        return raw

    def values(self) -> Floats:
        """Return the quantity at the rows, shape (n,). Costs n model rows on the first call only."""
        if self._own is None:
            # Copy: a model may return a view of its input, and the input buffer is overwritten later.
            self._own = self._call({}, 1, "at the rows of X").copy()
        return self._own

    def sweep(self, j: int, values: Floats) -> Floats:
        """Return the quantity with column j replaced."""
        return self.sweep_together({j: values}, values.shape[-1])

    def sweep_together(self, changes: SweptValues, m: int) -> Floats:
        """Return the quantity with several columns replaced at the same time, (n, m). Otherwise like `sweep`."""
        n = len(self)
        out = np.empty((m, n))
        where = f"with {self._column_names(changes)} replaced"
        ends = [(first, min(first + self.copies, m)) for first in range(0, m, self.copies)]
        parts = [{j: sets_of(values, *some) for j, values in changes.items()} for some in ends]
        if self.joint is not None and self._cache is not None and n and len(parts) > 1:
            key = self._cache.key
            self.joint.wait(
                Request(self, key(part), part, last - first)
                for part, (first, last) in zip(parts, ends, strict=True)
            )
        for part, (first, last) in zip(parts, ends, strict=True):
            out[first:last] = self._call(part, last - first, where).reshape(last - first, n)
        return out.T

    def sums(self, changes: SweptValues, m: int) -> Floats:
        """Return the weighted sums over the rows of the quantity with columns replaced, (m,)."""
        curves = self.sweep_together(changes, m).T
        return curves.sum(axis=1) if self.weights is None else dot(curves, self.weights)

    def cell_differences(self, j: int, edges: Floats, cell: Ints) -> Floats:
        """Return q(z_k, x_c) - q(z_{k-1}, x_c) for the edges of each row's cell, (n,). See `edge_differences`."""
        return self.edge_differences(j, edges[:-1].take(cell), edges[1:].take(cell))

    def edge_differences(self, j: int, low: Floats, high: Floats) -> Floats:
        """Return q(high, x_c) - q(low, x_c) for two edges per row, shape (n,)."""
        x = self.column(j)
        at_high = x == high
        known = at_high | (x == low)
        saved = int(np.count_nonzero(known))
        has_own = self._own is not None
        if self.joint is not None:
            # As when the computation was first started, before others had answers.
            has_own = self.joint.once(j, partial(bool, has_own))
        # Evaluating a subset of the rows means copying them: not worth it for a few.
        if saved < len(self) and (not has_own or saved < len(self) // 10):
            return self._both_edges(j, low, high)
        own = self.values()
        other = self.sweep(j, np.where(at_high, low, high)[:, None])[:, 0]
        difference = np.where(at_high, own - other, other - own)
        rest = np.flatnonzero(~known)
        if len(rest):
            at_low = self.subset(rest).sweep(j, low[rest, None])[:, 0]
            difference[rest] = other[rest] - at_low
        return difference

    def corners(
        self, columns: tuple[int, int], nodes: tuple[Floats, Floats], homes: tuple[Ints, Ints]
    ) -> Floats:
        """Return the quantity with two columns at both ends of each row's cells, (4, n): the first changes faster.

        `nodes`, (cells + 1,), are the edges of the cells of each column, ascending, and `homes`, (n,), the cell of
        each row's value in it.
        """
        (low0, high0), (low1, high1) = (
            (edges[:-1].take(home), edges[1:].take(home))
            for edges, home in zip(nodes, homes, strict=True)
        )
        first, second = columns
        changes = {first: (low0, high0, low0, high0), second: (low1, low1, high1, high1)}
        return self.sweep_together(changes, 4).T

    def _both_edges(self, j: int, low: Floats, high: Floats) -> Floats:
        """Return the difference by evaluating both edges, in one call if the buffer holds two copies of the batch."""
        n = len(self)
        if self.copies < 2:
            both = self.sweep(j, np.stack([low, high]).T)
            return both[:, 1] - both[:, 0]
        values = self._call({j: (low, high)}, 2, f"with {self._column_names({j: low})} replaced")
        return values[n:] - values[:n]

    @cached_property
    def _slopes(self) -> Floats:
        slopes = self._ask_slopes(self._buffer.own(), len(self))
        if (
            slopes.strides[0] == 0
        ):  # broadcast from one row, as for a linear model: copy that row only
            return np.broadcast_to(slopes[:1].copy(), slopes.shape)
        # Fortran order, because columns are read one by one; a copy, because results may keep them.
        slopes = np.array(slopes, order="F")
        slopes.flags.writeable = False
        return slopes

    def _ask_slopes(self, rows: ModelRows, n: int) -> Floats:
        """Call the derivative for rows in X's container and validate its response, (n, d)."""
        d = len(self.batch.dataset.features)
        y = self._targets(n // max(len(self), 1))
        raw = self._called(lambda rows: self.quantity.slopes(rows, y), rows, f"slopes of {n} rows")
        self.stats.slope_rows += n
        self.stats.slope_calls += 1
        slopes = as_numbers(raw, f"{self.quantity.describe()}: slope")
        if slopes.shape != (n, d):
            raise ModelOutputError(
                f"{self.quantity.describe()}: slope",
                f"shape {slopes.shape}",
                f"shape {(n, d)}: (rows, features)",
                "Return the partial derivative of every feature, in X's order",
            )
        return slopes

    def slope(self) -> Floats:
        """Return the partial derivatives by all features, shape (n, d). Costs n slope rows on the first call only."""
        if self._whole is not None:
            whole, rows = self._whole
            return whole.slope()[rows]
        return self._slopes

    def slopes_at(self, j: int, moved: int, values: Floats | tuple[Floats, ...]) -> Floats:
        """Return the partial derivative by column j with column `moved` replaced, (n, m). Costs n * m slope rows."""
        work = partial(self._ask_slopes_at, j, moved, values)
        return self._once(("slope", j), {moved: values}, work)

    def _once(
        self, what: tuple[object, ...], changes: SetChanges, work: Callable[[], Floats]
    ) -> Floats:
        """Return what `work` asks of derivatives, which a computation that joint calls start again asks once."""
        if self.joint is None or self._cache is None:
            return work()
        key = (*what, id(self.quantity), self._cache.key(changes))
        return np.array(self.joint.once(key, work))

    def _ask_slopes_at(self, j: int, moved: int, values: Floats | tuple[Floats, ...]) -> Floats:
        n = len(self)
        m = len(values) if isinstance(values, tuple) else values.shape[-1]
        out = np.empty((m, n))
        for first in range(0, m, self.copies):
            last = min(first + self.copies, m)
            rows = self._buffer.swept({moved: sets_of(values, first, last)}, last - first)
            slopes = self._ask_slopes(rows, (last - first) * n)[:, j]
            if not np.isfinite(slopes).all():
                raise ModelOutputError(
                    f"{self.quantity.describe()}: slope",
                    f"NaN or infinity with {self._column_names({moved: values})} replaced",
                    "finite numbers",
                    "Check the slope function at the points of the grid",
                )
            out[first:last] = slopes.reshape(last - first, n)
        return out.T

    def local_slopes(self, column: Summary, derivative_info: DerivativeInfo) -> Floats:
        """Return the partial derivative by one feature, (n,), from the derivatives or by central differences."""
        if derivative_info.kind != "slopes":
            return differences(self, column)
        if self._whole is not None:
            whole, rows = self._whole
            return whole.slope()[rows, column.feature.position]
        return np.ascontiguousarray(self.slope()[:, column.feature.position])

    def mixed_slopes(
        self,
        columns: tuple[Summary, Summary],
        derivative_info: tuple[DerivativeInfo, DerivativeInfo],
    ) -> tuple[Floats, Floats | None, Floats | None]:
        """Return the mixed second derivative by two features, and the slopes by each if available, (n,) each."""
        positions = columns[0].feature.position, columns[1].feature.position
        has_slopes = all(t.kind == "slopes" for t in derivative_info)
        first, second = (self.slope()[:, j] if has_slopes else None for j in positions)
        if not self.quantity.has_mixed:
            mixed, first_diff, second_diff = mixed_differences(self, columns, sloped=has_slopes)
            return (mixed, first, second) if has_slopes else (mixed, first_diff, second_diff)
        mixed = self._once(("mixed", *positions), {}, partial(self._ask_mixed, positions))
        return mixed, first, second

    def _ask_mixed(self, positions: tuple[int, int]) -> Floats:
        n = len(self)
        raw = self._called(
            lambda rows: self.quantity.mixed(rows, *positions),
            self._buffer.own(),
            f"mixed derivatives of {n} rows",
        )
        self.stats.slope_rows += n
        self.stats.slope_calls += 1
        what = f"{self.quantity.describe()}: mixed"
        # Copy: the response may be a view of the input buffer, which is overwritten later.
        return check_response(as_numbers(raw, what), n, what, "mixed derivatives").copy()

    def _column_names(self, changes: Mapping[int, object]) -> str:
        features = self.batch.dataset.features
        names = [repr(features[j].name) for j in changes]
        kind = "column" if len(names) == 1 else "columns"
        return f"{kind} {', '.join(names[:4])}{', …' if len(names) > 4 else ''}"

    def _called(
        self, function: Callable[[ModelRows], _ResultT], rows: ModelRows, where: str
    ) -> _ResultT:
        """Call the model: with a copy of the rows if the quantity asks for it, or if the model has to write to them."""
        if self.quantity.copy or self.caller.writes:
            return self._timed(function, _copied(rows), where)
        try:
            return self._timed(function, rows, where)
        except Exception:
            # pandas frames of several calls share memory, which is read-only. What a model says of that, if it tells
            # it at all, differs with the library that it writes with.
            if not self.batch.dataset.table.is_frozen(rows):
                raise
            with contextlib.suppress(Exception):
                found = self._timed(function, _copied(rows), where)
                self.caller.writes = True
                return found
            raise

    def _timed(
        self, function: Callable[[_ArgumentT], _ResultT], rows: _ArgumentT, where: str
    ) -> _ResultT:
        started = time.perf_counter()
        try:
            return function(rows)
        except StopIteration as error:
            # It would end the loop over batches without a word.
            raise ModelOutputError(
                self.quantity.describe(),
                f"StopIteration, which the model raised ({where})",
                "one number for each row",
                "Check the calls of next() in the model: next(iterator, default) does not raise",
            ) from error
        except Exception as error:
            kind = f"{'an' if isinstance(rows, np.ndarray) else 'a'} {type(rows).__name__}"
            error.add_note(
                f"raised while skedasis called {self.quantity.describe()} with {kind} ({where})"
            )
            raise
        finally:
            self.stats.seconds += time.perf_counter() - started

    def _call(self, changes: SetChanges, sets: int, where: str) -> Floats:
        """Return the quantity for `sets` copies of the batch's rows with columns replaced, shape (sets * n,)."""
        n = sets * len(self)
        if n == 0:  # estimators raise for zero rows
            return np.empty(0)
        known = None if changes else self.quantity.without_model(self.batch)
        if known is not None:
            return known
        return self._read(self._response(changes, sets, f"{n} rows {where}"), sets, where)

    def _read(self, raw: RawResponse, sets: int, where: str) -> Floats:
        """Return the quantity from the model's response for `sets` copies of the batch's rows, (sets * n,)."""
        targets = self._targets(sets)
        values = as_array(self.quantity.read(raw, targets), self.quantity.describe())
        self.stats.floored += self.quantity.floored(raw, targets)
        # The precision of the response, which the dtype of values computed from it need not show.
        if self.dtype is None:
            self.dtype = self.quantity.computed(raw) or values.dtype
        return check_response(values, sets * len(self), self.quantity.describe(), where)

    def _response(self, changes: SetChanges, sets: int, where: str) -> RawResponse:
        """Return the model's response from the cache, or call the model and cache its response."""
        if self._cache is None:
            return self._ask(changes, sets, where)
        key = self._cache.key(changes)
        # The rows' own values are shared by all computations.
        if self.joint is not None and key != OWN:
            if changes:
                self.joint.wait([Request(self, key, changes, sets)])
            return self.joint.once(key, lambda: _kept(self._ask(changes, sets, where)))
        if key not in self._cache:
            self._cache[key] = self._ask(changes, sets, where)
        return self._cache[key]

    def ask_jointly(self, rows: ModelRows, n: int, where: str) -> Values:
        """Return the model's response for n rows of several requests, which can be cut (`ChunkedCaller.can_join`)."""
        return as_array(self._call_model(rows, n, where), self.quantity.describe())

    def _targets(self, sets: int) -> Values | None:
        """Return the encoded labels of `sets` copies of the rows; None if the quantity needs none."""
        if not self.quantity.labelled:
            return None
        if self._tiled is None or len(self._tiled) < sets * len(self):
            self._tiled = np.tile(self.batch.targets(), sets)
        return self._tiled[: sets * len(self)]

    def _ask(self, changes: SetChanges, sets: int, where: str) -> RawResponse:
        """Call the model, and name the failing levels if it raises."""
        rows = self._buffer.swept(changes, sets) if changes else self._buffer.own()
        try:
            return self._call_model(rows, sets * len(self), where)
        except Exception as error:
            note_failing_levels(error, self.quantity, self.batch, changes)
            raise

    def _call_model(self, rows: ModelRows, n: int, where: str) -> RawResponse:
        """Return the model's response for n rows, in calls of at most `call_rows` rows, which are counted."""
        quantity = self.quantity
        raw, calls = self._called(
            lambda r: self.caller.call(quantity.raw, r, n, quantity.call_rows), rows, where
        )
        self.stats.rows += n
        self.stats.calls += calls
        return raw


def _copied(rows: ModelRows, *, memory: bool = True) -> ModelRows:
    """Return a copy of rows; without their memory, a frame with a list of columns of its own."""
    if isinstance(rows, np.ndarray):
        return rows.copy() if memory else rows
    import narwhals.stable.v2 as nw

    frame = nw.from_native(cast("IntoDataFrame", rows), eager_only=True)
    return (frame.clone() if memory else frame.rename({})).to_native()


def sets_of(values: SweepValues, first: int, last: int) -> Replacement:
    """Return the values `first` to `last` of the m values, with the first axis over values as buffers take them."""
    if isinstance(values, tuple):
        return values[first:last]
    if isinstance(values, DonorRows):
        return values.part(first, last)
    if isinstance(values, LevelReplacement):
        codes = values.codes
        part = codes[first:last, None] if codes.ndim == 1 else codes[:, first:last].T
        return LevelReplacement(part, values.rows)
    return values[first:last, None] if values.ndim == 1 else values[:, first:last].T


class _WatchedRows:
    """Rows whose memory is passed to the model in a new container each time. Their columns are not replaced."""

    def __init__(self, rows: ModelRows) -> None:
        self.rows = rows

    def own(self) -> ModelRows:
        # A model may replace columns of its frame, or add some: that is not writing to memory.
        return _copied(self.rows, memory=False)


# --- probe before the work ------------------------------------------------------------------------


PROBE_ROWS = 64
"""Rows at which the model is probed."""

DERIVATIVE_ROWS = 128
"""Rows at which it is checked whether differences are meaningful."""


@dataclass(frozen=True)
class ProbeResult:
    """Result of probing the model."""

    eps: float
    stats: CallStats
    among: Ints | None = None
    caller: ChunkedCaller = field(default_factory=ChunkedCaller)
    responses: tuple[Floats, ...] = ()
    parts: tuple[ProbeResult, ...] = ()
    """The results for each model, of quantities of several."""

    @property
    def largest(self) -> float:
        """Return the largest size of the quantities at the probe's rows."""
        return max((float(np.abs(r).max(initial=0.0)) for r in self.responses), default=0.0)


def probe_model(
    quantities: Sequence[Quantity],
    dataset: Dataset,
    among: Ints | None = None,
    caller: ChunkedCaller | None = None,
) -> ProbeResult:
    """Call the model on a few rows, together and in parts, and check that its response is a function of a row."""
    parts = [quantity.parts_on(dataset) for quantity in quantities]
    if parts[0]:
        return _probe_parts(quantities, parts, among)
    batch = dataset.evenly_spaced_batch(PROBE_ROWS, among)
    stats, caller = CallStats(), caller or ChunkedCaller()
    eps = float(np.finfo(float).eps)

    first: list[Floats] = []
    for evaluator in _called(quantities, batch, caller, stats):
        first.append(evaluator.values())
        eps = max(eps, unit_round_off(evaluator.dtype, first[-1]))
    in_parts = [np.empty_like(response) for response in first]
    for rows in _parts(batch):
        part = _called(quantities, batch.take(rows), caller, stats)
        for response, evaluator in zip(in_parts, part, strict=True):
            response[rows] = evaluator.values()
    if any(_differ(a, b, eps) for a, b in zip(first, in_parts, strict=True)):
        again = [e.values() for e in _called(quantities, batch, caller, stats)]
        for quantity, *three in zip(quantities, first, again, in_parts, strict=True):
            _check_function_of_row(quantity, three, eps, _floor(quantity, dataset, eps))
    for quantity, response in zip(quantities, first, strict=True):
        if 0.0 < np.abs(response).max() < SMALLEST:
            _check_not_tiny(quantity, dataset, among, stats)
    return ProbeResult(eps, stats, among, caller, tuple(first))


def _probe_parts(
    quantities: Sequence[Quantity], parts: Sequence[Sequence[ModelPart]], among: Ints | None
) -> ProbeResult:
    """Probe each of the models whose quantities are added."""
    stats, caller = CallStats(), ChunkedCaller()
    found = [
        probe_model([quantity for quantity, _ in same], same[0][1], among, caller.of_model(i))
        for i, same in enumerate(zip(*parts, strict=True))
    ]
    for one in found:
        stats.add(one.stats)
    each = zip(*(one.responses for one in found), strict=True)
    sums = tuple(q.combined(own) for q, own in zip(quantities, each, strict=True))
    eps = max(one.eps for one in found)
    whole = ProbeResult(eps, stats, among, caller, sums, tuple(found))
    # Rounding is that of the parts, which may be much larger than their difference.
    factors = [abs(factor) for factor, _ in quantities[0].as_terms()]
    rounding = max(f * one.eps * one.largest for f, one in zip(factors, found, strict=True))
    relative = min(rounding / whole.largest, 1.0) if whole.largest else eps
    return replace(whole, eps=max(eps, relative))


def _called(
    quantities: Sequence[Quantity], rows: Batch, caller: ChunkedCaller, stats: CallStats
) -> list[BatchEvaluator]:
    """Call the model on some rows for all quantities; raise if it changes them."""
    cache = ResponseCache() if len(quantities) > 1 else None
    evaluators = [q.evaluator(rows, cache=cache) for q in quantities]
    given = evaluators[0].watched()
    for evaluator in evaluators:
        evaluator.caller = caller
        evaluator.values()
        stats.add(evaluator.stats)
    unchanged = caller.writes or _same(given, rows.tile(1).own())
    if not unchanged and not isinstance(given, np.ndarray):
        caller.writes = True
    elif not unchanged:
        raise ModelOutputError(
            quantities[0].describe(),
            "rows that the model has written to",
            "a model that does not change its input",
            "Copy the input inside the model first: X = X.copy(); or let each call have rows of its "
            "own: sd.prediction(model, copy=True)",
        )
    return evaluators


def _parts(batch: Batch) -> list[Ints]:
    """Return the rows in parts in which a model would find other ranks, means or levels than in all."""
    n = len(batch)
    if n < 8:
        return [np.arange(n)] if n < 4 else [np.arange(2), np.arange(2, n)]
    codes = np.column_stack([_codes(batch, f) for f in batch.dataset.features])
    missing: Bools = np.any(codes < 0, axis=1)
    whole = np.flatnonzero(~missing)
    left = whole if len(whole) >= 4 else np.arange(n)
    parts: list[Ints] = []
    for alike in (True, False):
        shared = np.equal(codes[left], codes[parts[0][0] if parts else left[0]]).sum(axis=1)
        first = left[np.argmax(shared) if alike else np.argmin(shared)]
        order = np.argsort(-np.equal(codes[left], codes[first]).sum(axis=1), kind="stable")
        parts.append(np.sort(left[order[:2]]))
        left = np.delete(left, order[:2])
    left = np.setdiff1d(np.arange(n), np.concatenate(parts))
    with_missing = left[missing[left]][:4]
    if len(with_missing):
        others = left[~missing[left]][:4]
        parts.append(np.sort(np.concatenate([with_missing, others])))
        left = np.setdiff1d(left, parts[-1])
    return [*parts, left] if len(left) else parts


def _codes(batch: Batch, feature: Feature) -> Ints:
    """Return a code for each value of a column; -1 for missing ones."""
    try:
        if feature.categorical:
            return batch.dataset.table.coded(feature.position, batch.table_rows)[0]
        x = batch.column(feature.position)
    except (
        ValueError,
        TypeError,
    ):  # lists, or text that was declared as numbers: told where it is used
        return np.zeros(len(batch), dtype=np.int64)
    return np.where(np.isnan(x), -1, np.unique(x, return_inverse=True)[1])


def _floor(quantity: Quantity, dataset: Dataset, eps: float) -> float:
    """Return what rounding of predictions may change in a loss, which can be much smaller than its labels."""
    if not quantity.labelled or dataset.y is None:
        return 0.0
    y = dataset.y
    return 64 * eps * (float(np.abs(y.astype(float)).max()) if y.dtype.kind in "fiub" else 1.0)


def _differ(a: Floats, b: Floats, eps: float) -> bool:
    """Return whether responses differ by more than the rounding of sums in another order."""
    return bool(np.abs(a - b).max() > 64 * eps * np.abs(a).max())


_OF_RANGE, _OF_SIZE = 1e-3, 1e-4
"""Largest difference between the responses to a row in two calls with different other rows, relative to the range of
the responses and to their size. Differences by rounding were up to 2e-6 of the size in float32 (networks of torch),
4e-7 in float64 (Gaussian processes with little noise), 0 for trees, nearest neighbours and support vector machines."""


def _check_function_of_row(
    quantity: Quantity, responses: Sequence[Floats], eps: float, floor: float
) -> None:
    """Raise if two calls on the same rows differ, or if a response depends on the other rows of the call."""
    first, again, in_parts = responses
    if _differ(first, again, eps):
        raise ModelOutputError(
            quantity.describe(),
            f"two different responses for the same rows (largest difference {np.abs(first - again).max():.3g})",
            "the same response at each call",
            "Take the randomness out, or switch it to evaluation (dropout off)",
        )
    difference = float(np.abs(first - in_parts).max())
    if difference > max(_OF_RANGE * np.ptp(first), _OF_SIZE * np.abs(first).max(), floor):
        raise ModelOutputError(
            quantity.describe(),
            f"responses that change with the other rows of the call (by up to {difference:.3g})",
            "a response that depends on its own row alone",
            "Compute no ranks, means or scales of X in the model: use a transformer fitted on the training data, in "
            "torch model.eval()",
        )


_TINY_ROWS = 10_000
"""Rows at which a quantity is evaluated that is almost zero at those of the probe."""


def _check_not_tiny(
    quantity: Quantity, dataset: Dataset, among: Ints | None, stats: CallStats
) -> None:
    """Raise if the quantity is so small at many rows that its squares leave float64."""
    evaluator = quantity.evaluator(dataset.evenly_spaced_batch(_TINY_ROWS, among))
    values = evaluator.values()
    stats.add(evaluator.stats)
    largest = float(np.abs(values).max())
    if largest < SMALLEST and np.ptp(values) > 0.0:  # a constant has no squares of differences
        raise ModelOutputError(
            quantity.describe(),
            f"values of at most {largest:.3g} in size (at {len(values):,} rows)",
            f"some of at least {SMALLEST:g}, because variances are computed from squares",
            "Rescale the quantity, for example explain its logarithm",
        )


def _equal(x: object, y: object) -> bool:
    # pandas' NA is neither equal nor unequal to anything, including itself.
    if is_missing(x) or is_missing(y):
        return is_missing(x) and is_missing(y)
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):  # columns of arrays
        return np.array_equal(np.asarray(x), np.asarray(y))
    return bool(x == y) or (x != x and y != y)  # noqa: PLR0124 - NaN equals NaN here


def _same(a: Any, b: Any) -> bool:
    try:
        a, b = to_array(a), to_array(b)
    except Exception:  # noqa: BLE001 - each library raises its own error for columns of mixed types
        return bool(a.equals(b)) if hasattr(a, "equals") else True
    if a.dtype.kind == "O":
        return all(_equal(x, y) for x, y in zip(a.flat, b.flat, strict=True))
    return bool(((a == b) | ((a != a) & (b != b))).all())  # noqa: PLR0124 - NaN equals NaN here
