"""Joint calls: the requests of several computations reach the model together.

A call of an in-context model, of a forest or of a service takes as long for few rows as for many. Where rows are few, a
computation (of one feature) stops at its first request, and the next one starts. When the requests fill a call, the
model is called, and the computations start again: they find their answers and continue to their next request. So what a
computation asks for may depend on answers. The parts of a sweep are one request. What a computation asks of derivatives
is answered at once. So the model gets the same rows as without joint calls, unless it fails for a joint call: then
requests are answered alone from there on, those of that call a second time.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar, cast

import numpy as np

from skedasis._types import Container, ModelRows, Values
from skedasis.data.containers import Buffer, Part, SetChanges
from skedasis.data.dataset import Batch

if TYPE_CHECKING:
    from skedasis.quantities.evaluator import BatchEvaluator

_ResultT = TypeVar("_ResultT")

JOINT_ROWS = 32_768
"""Most rows of a joint call of a model whose calls are cheap."""

JOINT_CELLS = 2**20
"""Most values in the rows of such a call: 8 MB, which are read from the processor's cache."""


class Pending(BaseException):
    """Stops a computation until its request is answered; a `BaseException`, so that methods cannot swallow it."""


@dataclass(frozen=True, eq=False)
class Request:
    """Rows of a batch, repeated, with columns replaced."""

    evaluator: BatchEvaluator
    key: bytes
    changes: SetChanges
    sets: int

    @property
    def rows(self) -> int:
        """Return the number of model rows."""
        return self.sets * self.evaluator.batch.size


class _Answers:
    """What a computation keeps when it is started again: its answers, what it did once, and how many wait."""

    def __init__(self) -> None:
        self.known: dict[object, object] = {}
        self.waiting = 0


class _Computation(_Answers, Generic[_ResultT]):
    """A computation, and its result once all its requests are answered."""

    def __init__(self, work: Callable[[], _ResultT]) -> None:
        super().__init__()
        self.work = work
        self.results: list[_ResultT] = []


class JointCalls:
    """Requests that wait for a call of the model, of at most `room` rows, and the computations that wait for them."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._current = _Answers()
        self._requests: dict[bytes, tuple[Request, list[_Answers]]] = {}
        self._rows = 0
        self._alone: set[bytes] = set()
        self._answered = False
        self._buffer: tuple[Batch, Buffer[Container]] | None = None

    def wait(self, requests: Iterable[Request]) -> None:
        """Let requests wait for a joint call, and the computation for them.

        Answered at once are those that fill a call by themselves, and those that change the types of columns.
        """
        some = [r for r in requests if r.key not in self._current.known and self._fits(r)]
        for request in some:
            if request.key not in self._requests:
                if self._rows + request.rows > self.room:
                    self._answer()
                self._rows += request.rows
                self._requests[request.key] = request, []
            self._requests[request.key][1].append(self._current)
            self._current.waiting += 1
        if some:
            raise Pending

    def _fits(self, request: Request) -> bool:
        """Return whether a request can be answered together with others."""
        batch, alone = request.evaluator.batch, request.key in self._alone
        if alone or request.evaluator.caller.fails_jointly or 2 * request.rows > self.room:
            return False
        return batch.dataset.table.keeps_types(request.changes)

    def once(self, what: object, work: Callable[[], _ResultT]) -> _ResultT:
        """Return what `work` returned when the computation first came here, also if it was started again since."""
        known = self._current.known
        if what not in known:
            known[what] = work()
        return cast("_ResultT", known[what])

    def results(self, works: Iterable[Callable[[], _ResultT]]) -> Iterator[_ResultT]:
        """Yield the results of computations, in order."""
        started: deque[_Computation[_ResultT]] = deque()
        for work in works:
            started.append(_Computation(work))
            self._attempt([started[-1]])
            while self._answered:
                self._attempt(started)
            yield from self._finished(started)
        while started:
            self._answer()
            self._attempt(started)
            yield from self._finished(started)

    def _attempt(self, some: Iterable[_Computation[_ResultT]]) -> None:
        """Start computations, again if they had been started, and finish those whose requests are answered."""
        self._answered = False
        for one in some:
            if not one.results and not one.waiting:
                self._current = one
                with contextlib.suppress(Pending):
                    one.results.append(one.work())
                    one.known.clear()

    @staticmethod
    def _finished(started: deque[_Computation[_ResultT]]) -> Iterator[_ResultT]:
        """Yield the results up to the first computation that is not finished."""
        while started and started[0].results:
            yield started.popleft().results[0]

    def _answer(self) -> None:
        """Call the model for the requests that wait; if it fails, they and all later ones get calls of their own."""
        waiting, self._requests, self._rows = [*self._requests.values()], {}, 0
        self._answered = True
        requests = [request for request, _ in waiting]
        for computation in (one for _, some in waiting for one in some):
            computation.waiting -= 1
        if len(requests) == 1:
            self._alone.add(requests[0].key)
        elif requests:
            try:
                raw = self._call(requests)
            except Exception:  # noqa: BLE001 - models raise exceptions of any kind, which they will raise again
                requests[0].evaluator.caller.fails_jointly = True
                return
            for (request, some), response in zip(waiting, raw, strict=True):
                for computation in some:
                    computation.known[request.key] = response

    def _call(self, requests: list[Request]) -> list[Values]:
        """Return the model's responses to all requests, from one call."""
        ends = np.cumsum([request.rows for request in requests]).tolist()
        parts = [
            Part(end - request.rows, end, request.sets, request.changes)
            for request, end in zip(requests, ends, strict=True)
        ]
        first = requests[0].evaluator
        where = f"{ends[-1]} rows of {len(requests)} requests"
        raw = first.ask_jointly(self._joined(requests, parts), ends[-1], where)
        # Copies: a model may return a view of its input, and the buffer is overwritten later.
        return [raw[part.start : part.stop].copy() for part in parts]

    def _joined(self, requests: list[Request], parts: list[Part]) -> ModelRows:
        batch = requests[0].evaluator.batch
        if any(request.evaluator.batch is not batch for request in requests):
            rows = [np.tile(r.evaluator.batch.table_rows, r.sets) for r in requests]
            return batch.dataset.table.joined(np.concatenate(rows), parts)
        sets = sum(request.sets for request in requests)
        if self._buffer is None or self._buffer[0] is not batch or self._buffer[1].copies < sets:
            self._buffer = batch, batch.tile(sets)
        return self._buffer[1].joined(parts)


def joint_calls(room: int, rows: int) -> JointCalls | None:
    """Return joint calls for requests of at least so many rows; None if fewer than two of them fit into a call."""
    return JointCalls(room) if 2 * rows <= room else None


def in_few_calls(
    joint: JointCalls | None, works: Iterable[Callable[[], _ResultT]]
) -> Generator[_ResultT]:
    """Yield the results of computations, in order, whose requests are answered together unless `joint` is None."""
    if joint is None:
        yield from (work() for work in works)
    else:
        yield from joint.results(works)
