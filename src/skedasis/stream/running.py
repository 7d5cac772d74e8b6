"""Passes over data beyond memory: on threads of this process, or on the workers of a cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Generic, TypeAlias

from skedasis._progress import Further, Progress, map_in_order
from skedasis.data.arrow import ArrowTable
from skedasis.data.dataset import Pass, StateT
from skedasis.stats.moments import STATS_LEAF
from skedasis.stream.cluster import Client, map_ranges, ranges_of
from skedasis.stream.parquet import ParquetData, located

CHUNK_ROWS = 4 * STATS_LEAF
"""Rows that are read at a time in a pass that does not call the model."""

_FURTHER = Further(1.0, certain=False)
"""What follows a pass that calls no model: at least the one that does, which reads as much."""

ChunkPass: TypeAlias = Pass[StateT, ArrowTable]


@dataclass(frozen=True, eq=False)
class PassRunner:
    """Runs passes over a source, in threads or on a cluster, and records what each was for (`made`)."""

    source: ParquetData
    client: Client | None
    n_jobs: int
    progress: bool | None
    made: list[str] = field(default_factory=list[str])

    def run(self, work: ChunkPass[StateT], text: str, record: str) -> StateT:
        """Return the state of all rows."""
        whole = work.state()
        threads = _StateOfThread(work)
        here = self.client is None
        states = self.each(threads if here else work, CHUNK_ROWS)
        with Progress(self.source.n_rows, text, self.progress, _FURTHER) as bar, closing(states):
            for n, state in states:
                if not here:
                    work.merge(whole, state)
                bar.advance(n)
        for state in threads.states.values():
            work.merge(whole, state)
        self.made.append(record)
        return whole

    def each(
        self,
        work: ChunkPass[StateT],
        size: int,
        begin: Callable[[], object] | None = None,
        stop: Callable[[], object] | None = None,
    ) -> Generator[tuple[int, StateT]]:
        """Yield the states of consecutive rows, with their number: of chunks, or of what a worker reads at a time."""
        if self.client is not None:
            ranges = ranges_of(self.client, self.source.n_rows, size)
            shared = self.source, work, size
            return map_ranges(self.client, _state_of_range, _merged, shared, ranges)

        def state_of(chunk: tuple[int, ArrowTable]) -> tuple[int, StateT]:
            first, rows = chunk
            state = work.state()
            with located(self.source, first, rows.num_rows):
                work.add(state, first, rows)
            return rows.num_rows, state

        return map_in_order(state_of, self.source.chunks(size), self.n_jobs, begin, stop)


class _StateOfThread(Generic[StateT]):
    """Work whose states are one for each thread."""

    def __init__(self, work: ChunkPass[StateT]) -> None:
        self.add, self.merge, self._make = work.add, work.merge, work.state
        self.states: dict[int, StateT] = {}
        self._lock = threading.Lock()

    def state(self) -> StateT:
        """Return the state of this thread."""
        with self._lock:
            thread = threading.get_ident()
            if thread not in self.states:
                self.states[thread] = self._make()
            return self.states[thread]


_Shared: TypeAlias = tuple[ParquetData, ChunkPass[StateT], int]


def _state_of_range(shared: _Shared[StateT], start: int, stop: int) -> StateT:
    """Return the state of a range of rows."""
    source, work, size = shared
    state = work.state()
    for first, rows in source.chunks(size, start, stop):
        with located(source, first, rows.num_rows):
            work.add(state, first, rows)
    return state


def _merged(shared: _Shared[StateT], states: Sequence[StateT]) -> StateT:
    """Return the state of several ranges of rows."""
    work = shared[1]
    whole = work.state()
    for state in states:
        work.merge(whole, state)
    return whole
