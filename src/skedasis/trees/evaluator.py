"""`Forest`: an ensemble of trees on the rows of a data set; `TreeRows`: on one batch.

- `ensemble.py`: trees as flat arrays; what every loader makes and every kernel reads;
- `load.py`: from a fitted model to an ensemble, or the reason why not; a file for each library;
- `choose.py`: whether a model is walked or called;
- `coding.py`: columns as codes, so that a test of a node compares whole numbers;
- `shape.py`: the order in which nodes are visited, and what each feature decides;
- `kernels.py` and `marked.py`: the work for small trees, as sets of rows; `counting.py` for means in NumPy alone;
- `steps.py`, `walks.py` and `walked.py`: the work for large ones, row by row;
- `jit.py`, `instructions.py`, `bits.py`: how kernels are compiled;
- `forest.py`: an ensemble on a batch of rows, answering what is asked with columns replaced;
- `standin.py`: what takes the model's place in a quantity; `bound.py` its `Bound`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.containers import Borrowed, Coded
from skedasis.data.dataset import Batch, Source
from skedasis.trees.bitset import Counted, Marked, Words, marked, passing
from skedasis.trees.ensemble import Ensemble
from skedasis.trees.layout import Codes, Shape, Tests, parts_of, shape_of

# ------------------------------------------------------------------------------------------
# `Forest`: an ensemble on the rows of a source; `TreeRows`: on one batch, in the place of a buffer of rows.


MOST_LEAVES = 256
"""Trees with more are walked row by row: most of their nodes are reached by too few rows for sets."""


_HOLD = 64_000_000
"""Bytes of codes of whole columns that are held."""


_BEYOND = 2.0**128
"""The first power of two that is no single."""


_ROOM = 16_000_000
"""Bytes that the sets of a batch should take: more do not stay in the cache, of less there are too many batches."""


@dataclass(eq=False)
class Forest:
    """An ensemble on the rows of a source, shared by all batches and threads.

    Parameters
    ----------
    ensemble : Ensemble
    source : Source
    compiled : bool
        Whether kernels can be compiled; else only means over rows are answered for.
    """

    ensemble: Ensemble
    source: Source
    compiled: bool = True
    held: dict[int, Codes] = field(default_factory=dict)

    @cached_property
    def shape(self) -> Shape:
        """Return all trees in the order of visits."""
        return shape_of(self.ensemble)

    @cached_property
    def parts(self) -> list[Shape]:
        """Return those of each output."""
        return parts_of(self.ensemble, self.shape)

    @property
    def deep(self) -> bool:
        """Return whether trees are too large for sets of rows."""
        return self.shape.most_leaves > MOST_LEAVES

    @property
    def batch_rows(self) -> int:
        """Return how many rows a batch should have."""
        if self.deep:
            return 16_384
        nodes = len(self.shape) + int(self.shape.first[-1])
        # NumPy is called once a depth: that takes many rows to pay, and more room.
        room = _ROOM if self.compiled else 8 * _ROOM
        return int(np.clip(room // (8 * nodes), 64, 512)) * 64

    @cached_property
    def _holds(self) -> bool:
        return 4 * len(self.source.table) * len(self.shape.columns) <= _HOLD

    def jumps(self, j: int) -> Floats | None:
        """Return where the trees jump along a column of numbers, sorted: just behind each of these values."""
        k = self.shape.place(j)
        if k < 0:
            return np.zeros(0)
        tests = self.shape.tests[k]
        if tests.categories is not None:
            return None
        return _rounded(tests.thresholds) if tests.single else tests.thresholds

    def rows(self, j: int, rows: Any) -> Codes:
        """Return the codes of a column for some rows of X, of any shape; None means all rows."""
        if self._holds and not isinstance(rows, slice) and rows is not None:
            if j not in self.held:
                self.held[j] = self._read(j, None)
            return self.held[j].take(rows)
        if isinstance(rows, np.ndarray) and rows.ndim > 1:
            return self._read(j, rows.reshape(-1)).reshape(rows.shape)
        if self._holds and isinstance(rows, slice) and j in self.held:
            return self.held[j][rows]
        return self._read(j, rows)

    def _read(self, j: int, rows: Any) -> Codes:
        tests: Tests = self.shape.tests[self.shape.place(j)]
        table = self.source.table
        known = self.known(j)
        if known is None:
            return tests.codes(table.column(j, rows))
        codes, values = table.coded(j, rows)
        # One more at the end: a missing value's code is -1.
        number = np.array([known.get(v, np.nan) for v in values] + [np.nan])
        return tests.codes(number[codes])

    def known(self, j: int) -> dict[Any, float] | None:
        """Return the codes of a column's categories, None where X holds these codes themselves."""
        levels = self.ensemble.levels.get(j)
        return None if levels is None else {value: float(k) for k, value in enumerate(levels)}

    def numbers(self, j: int, values: Floats) -> Codes:
        """Return the codes of numbers that a column is set to, of any shape."""
        known = self.known(j)
        if known is not None:
            flat = [known.get(v, np.nan) for v in values.reshape(-1).tolist()]
            values = np.array(flat, dtype=float).reshape(values.shape)
        return self.shape.tests[self.shape.place(j)].codes(values)

    def on(self, batch: Batch) -> TreeRows:
        """Return the ensemble on a batch."""
        return TreeRows(self, batch)


class Question:
    """Rows with columns replaced, as a model's stand-in is asked for them.

    Parameters
    ----------
    rows : TreeRows
    changes : mapping of int to values
        As buffers take them (`skedasis.data.containers.Values`).
    sets : int
    """

    def __init__(self, rows: TreeRows, changes: Mapping[int, Any], sets: int) -> None:
        self.rows, self.changes, self.sets = rows, changes, sets

    def __len__(self) -> int:
        return self.sets * self.rows.n


class TreeRows:
    """An ensemble on one batch, in the place of a buffer: instead of altered rows it hands out questions.

    Parameters
    ----------
    forest : Forest
    batch : Batch
    """

    def __init__(self, forest: Forest, batch: Batch) -> None:
        self.forest, self.batch, self.n = forest, batch, len(batch)
        self._codes: dict[int, Codes] = {}
        self._parts: dict[int, Marked] = {}

    def own(self) -> Question:
        """Return the question for the rows as they are."""
        return Question(self, {}, 1)

    def swept(self, changes: Mapping[int, Any], sets: int) -> Question:
        """Return the question for the rows with columns replaced."""
        return Question(self, changes, sets)

    def codes(self, j: int) -> Codes:
        """Return the rows' codes of a column, (n,)."""
        if j not in self._codes:
            self._codes[j] = self._own_codes(j)
        return self._codes[j]

    def _own_codes(self, j: int) -> Codes:
        forest, batch = self.forest, self.batch
        if j in forest.ensemble.levels:
            return forest.rows(j, batch.rows)
        if isinstance(batch.rows, slice) and j in forest.held:
            return forest.held[j][batch.rows]
        return forest.numbers(j, batch.column(j))

    def some(self, rows: Ints) -> TreeRows:
        """Return the same for some of the rows."""
        part = TreeRows(self.forest, self.batch.take(rows))
        part._codes = {j: codes[rows] for j, codes in self._codes.items()}
        return part

    @cached_property
    def passing(self) -> Words:
        """Return who passes which test."""
        shape = self.forest.shape
        mark = marked if self.forest.compiled else passing
        out = [mark(t, self.codes(j)) for j, t in zip(shape.columns, shape.tests, strict=True)]
        return np.concatenate(out) if out else np.zeros((0, -(-self.n // 64)), np.uint64)

    def part(self, output: int) -> Any:
        """Return the trees of one output on the rows."""
        if output not in self._parts:
            shape = self.forest.parts[output]
            same = self.forest.shape.value.ndim == 2 and self._parts
            if same:
                self._parts[output] = next(iter(self._parts.values())).like(shape)
            else:
                self._parts[output] = self._make(shape)
        return self._parts[output]

    def _make(self, shape: Shape) -> Any:
        if not self.forest.compiled:
            return Counted(shape, self.n, self.passing)
        if self.forest.deep:
            from skedasis.trees.traversal import Walked

            codes = [self.codes(j) for j in shape.columns]
            return Walked(shape, self.n, np.array(codes, np.int32).reshape(len(codes), self.n))
        return Marked(shape, self.n, self.passing)

    def raw(self, question: Question) -> Floats:
        """Return the sums of all outputs, (rows of the question, outputs)."""
        outputs = len(self.forest.parts)
        out = np.empty((len(question), outputs))
        base = self.forest.ensemble.base
        for k in range(outputs):
            out[:, k] = self.sums(k, question.changes, question.sets).reshape(-1)
        out += base
        return out

    def sums(self, output: int, changes: Mapping[int, Any], sets: int) -> Floats:
        """Return the sums of one output's leaves, (sets, n)."""
        part, place = self.part(output), self.forest.shape.place
        coded = {place(j): self.coded(j, v) for j, v in changes.items() if place(j) >= 0}
        if not coded:
            return np.broadcast_to(part.own(), (sets, self.n))
        if len(coded) == 1:
            k, codes = next(iter(coded.items()))
            return _along(part, k, codes)
        return _together(part, coded, sets)

    def coded(self, j: int, values: Any) -> Codes:
        """Return the codes of what a column is replaced by, (sets, n) or (sets, 1)."""
        if isinstance(values, Borrowed):
            return self.forest.rows(j, values.rows)
        if isinstance(values, Coded):
            return self.forest.rows(j, values.rows)[values.codes]
        if isinstance(values, np.ndarray):
            return self.forest.numbers(j, values)
        found = [self.forest.numbers(j, np.asarray(v)) for v in values]
        return np.stack([np.broadcast_to(codes, (self.n,)) for codes in found])


def _rounded(thresholds: Floats) -> Floats:
    """Return the last numbers that are still rounded to a single that does not exceed the thresholds."""
    with np.errstate(over="ignore"):
        single = thresholds.astype(np.float32)
        single = np.where(single > thresholds, np.nextafter(single, np.float32(-np.inf)), single)
        behind = np.nextafter(single, np.float32(np.inf))
        # What is rounded to infinity begins where one more power of two would be rounded up to.
        below, above = (np.clip(x.astype(float), -_BEYOND, _BEYOND) for x in (single, behind))
        middle = (below + above) / 2
        # Halfway between two singles it is the even one.
        stays = middle.astype(np.float32) <= single
    return np.unique(np.where(stays, middle, np.nextafter(middle, -np.inf)))


def _along(part: Any, k: int, codes: Codes) -> Floats:
    """Return the sums with one column replaced, (sets, n)."""
    if codes.shape[1] == 1 and part.n > 1:
        return part.curves(k, np.ascontiguousarray(codes[:, 0]))
    return np.stack([part.own() + part.changed(k, np.ascontiguousarray(c)) for c in codes])


def _together(part: Any, coded: Mapping[int, Codes], sets: int) -> Floats:
    """Return the sums with several columns replaced, (sets, n).

    Sets in which all columns but one are the same are answered together: those are replaced once, and the one swept.
    """
    out = np.empty((sets, part.n))
    inner = max(coded, key=lambda k: _distinct(coded[k]))
    outer = [k for k in coded if k != inner]
    groups: dict[bytes, list[int]] = {}
    for s in range(sets):
        key = b"|".join(coded[k][s % len(coded[k])].tobytes() for k in outer)
        groups.setdefault(key, []).append(s)
    for some in groups.values():
        fixed = {k: _full(coded[k][some[0] % len(coded[k])], part.n) for k in outer}
        there = part.replaced(fixed)
        codes = coded[inner][[s % len(coded[inner]) for s in some]]
        out[some] = _along(there, inner, codes)
    return out


def _distinct(codes: Codes) -> int:
    return len({row.tobytes() for row in codes})


def _full(codes: Codes, n: int) -> Codes:
    return np.ascontiguousarray(np.broadcast_to(codes, (n,)))
