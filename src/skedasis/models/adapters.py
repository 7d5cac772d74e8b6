"""Base of the adapters for torch, JAX, Keras and ONNX: dtype, shape and container of the rows a model takes."""

from __future__ import annotations

import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats
from skedasis.data.containers import ArrayTable, to_float
from skedasis.data.dataset import Source, as_arrays, to_array
from skedasis.data.features import Feature
from skedasis.errors import DataError, ModelOutputError, explained
from skedasis.models.introspection import check_fitted_on

ROWS = 2048
"""Rows of one pass on a processor: their hidden layers stay in its cache."""


PROBED = 64
"""Rows of the first call that are kept, to look at the model with."""


_TOGETHER = 8
"""Of these, rows that are asked for together and apart."""


class Adapted(ABC):
    """A model of another library as a function of rows: it answers with an array, (n,) or (n, outputs).

    Rows come in any container and are converted a part at a time, so that nothing of their size is copied. The model is
    never changed. Of the rows that it is first called with, up to eight are asked for again, two at a time: in a model
    whose rows see each other no effect would be a row's own.

    Parameters
    ----------
    model : object
        As the user has it.
    title : str
        Its name in provenances and errors.
    """

    piecewise_constant = False

    @property
    def batch_rows(self) -> int:
        """Return how many rows a batch should have: eight parts on a processor, so that slopes need little memory."""
        return 8 * ROWS if self.rows_at_once <= ROWS else 2 * self.rows_at_once

    def __init__(self, model: Any, title: str) -> None:
        self.model, self.__name__ = model, title
        self._start()

    def _start(self) -> None:
        """Make what is found out while the model is asked: it does not travel."""
        self._lock = threading.RLock()
        self._probe: NDArray[Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if not k.startswith("_") or k == "__name__"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._start()

    @property
    def rows_at_once(self) -> int:
        """Return the rows of one pass."""
        return ROWS

    @property
    @abstractmethod
    def dtype(self) -> Any:
        """Return the NumPy type of the numbers that the model is given."""

    @property
    def eps(self) -> float:
        """Return the unit round-off of the numbers that the model computes in."""
        return float(np.finfo(self.dtype).eps) if np.dtype(self.dtype).kind == "f" else 0.0

    @abstractmethod
    def _values(self, part: NDArray[Any]) -> NDArray[Any]:
        """Call the model on some rows, (m, d) of `dtype` and contiguous, at least two of them."""

    def __call__(self, X: Any) -> NDArray[Any]:
        """Call the model on rows in any container."""
        rows = self._rows(X)
        self._meet(rows)
        found: NDArray[Any] | None = None
        for part in self._parts(len(rows)):
            answer = self._of(rows[part])
            if found is None:
                found = np.empty((len(rows), *answer.shape[1:]), answer.dtype)
            if answer.shape[1:] != found.shape[1:]:
                raise self._shapeless(answer.shape, len(answer))
            found[part] = answer
        return np.empty(0) if found is None else found

    def prepare(self, source: Source, what: str) -> Source:
        """Return the rows as an array of numbers, whatever container they came in.

        Raises
        ------
        DataError
            For text, and where it is known how many columns the model takes, for another number of them.
        """
        check_fitted_on(self, source, what)
        source = as_arrays(source)
        X = source.table.to_array()
        if X.dtype.kind != "O":
            return source
        columns = [_numbers(X[:, f.position], f, what) for f in source.features]
        return replace(source, table=ArrayTable(np.stack(columns, axis=1)))

    def traits(self, feature: Feature, output: int | None) -> Traits:
        """Return what the model can do for a feature."""
        return Traits("differences", "central differences")

    def has_mixed(self, output: int | None) -> bool:
        """Return whether there are mixed second derivatives."""
        return False

    def _rows(self, X: Any) -> NDArray[Any]:
        return to_array(X)

    def _parts(self, n: int) -> Iterator[slice]:
        """Cut n rows into parts of about the same size: none is a single row, unless there is no other."""
        count = -(-n // max(self.rows_at_once, 2))
        edges = [n * k // count for k in range(count + 1)] if count else [0]
        return (slice(a, b) for a, b in itertools.pairwise(edges))

    def _own(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return rows as the model takes them, in memory that is nobody else's; a single one twice.

        Of a single row many models drop the first axis (``squeeze``).
        """
        rows = np.repeat(rows, 2, axis=0) if len(rows) == 1 else rows
        with np.errstate(over="ignore"):  # infinite in single precision: the model's answer tells
            return np.array(rows, dtype=self.dtype, order="C")

    def _of(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the model's answer for a part of the rows, or refuse what has no row for each of them."""
        own = self._own(rows)
        answer = self._values(own)
        if answer.ndim == 0 or len(answer) != len(own):
            raise self._shapeless(answer.shape, len(own))
        return answer[: len(rows)]

    def _shapeless(self, shape: tuple[int, ...], n: int) -> ModelOutputError:
        return ModelOutputError(
            explained(
                self.__name__,
                f"output of shape {shape} for {n} rows",
                f"({n},) or ({n}, outputs)",
                "Return one number for each row, or one for each row and output",
            )
        )

    def _meet(self, rows: NDArray[Any]) -> None:
        """Look at the model when it is first called, and again when there are more rows to look at, up to 64."""
        enough = min(PROBED, len(rows))
        with self._lock:
            if enough < 2 or (self._probe is not None and len(self._probe) >= enough):
                return
            spread = np.unique(np.linspace(0, len(rows) - 1, enough).astype(int))
            probe = np.array(rows[spread])
            few = probe[:: max(1, len(probe) // _TOGETHER)][:_TOGETHER]
            self._check_rows_apart(few)
            self._met(probe)

    def _met(self, probe: NDArray[Any]) -> None:
        """Keep the rows that the model is looked at with."""
        self._probe = probe

    def _check_rows_apart(self, few: NDArray[Any]) -> None:
        """Refuse a model whose answer for a row depends on the rows beside it."""
        together = np.asarray(self._of(few), dtype=float)
        answers = [self._of(few[i : i + 2]) for i in range(0, len(few), 2)]
        if any(a.shape[1:] != together.shape[1:] for a in answers):
            raise self._shapeless(answers[0].shape, len(answers[0]))
        with np.errstate(
            invalid="ignore"
        ):  # infinite answers are refused elsewhere, in better words
            apart = np.abs(np.concatenate(answers) - together)
        # Products of few rows are summed in another order: rounding, and no more than that.
        size = np.abs(together)[np.isfinite(together)].max(initial=0.0)
        if (apart[np.isfinite(apart)] > np.sqrt(self.eps) * size).any():
            raise self._entangled(f"that differs by up to {np.nanmax(apart):.3g}")

    def _entangled(self, how: str) -> ModelOutputError:
        return ModelOutputError(
            explained(
                self.__name__,
                f"an answer for a row {how} with the rows beside it",
                "each row's answer to depend on that row alone",
                "Use the statistics of training (batch normalisation in evaluation mode), and attend within a row only",
            )
        )


def _numbers(values: NDArray[Any], feature: Feature, what: str) -> NDArray[Any]:
    """Return a column of objects as floats, or refuse text."""
    try:
        if any(isinstance(v, (str, bytes)) for v in values):
            raise TypeError
        return to_float(values)
    except (TypeError, ValueError) as error:
        raise DataError(
            explained(
                what,
                f"text, or other objects, in column {feature.name!r}",
                "numbers or booleans",
                "Encode it as the model was trained, or wrap both steps in a function: "
                "sd.prediction(lambda X: ...)",
            )
        ) from error


def first_line(error: BaseException) -> str:
    """Return what an exception says, in one short line."""
    lines = str(error).strip().splitlines()
    said = lines[0].strip() if lines else ""
    return f"{type(error).__name__}: {said[:80]}{'…' if len(said) > 80 else ''}"


LocalEffects = Literal[
    "slopes",
    "differences",
    "steps",
    "edges",
    "value_steps",
    "integer_steps",
    "levels",
    "values",
    "none",
]


ON_CELLS = ("steps", "value_steps")
"""Differences whose curve is given at the edges of all cells, whatever bins summarise it."""


@dataclass(frozen=True)
class Traits:
    """What a quantity can do for one feature.

    Parameters
    ----------
    local : str
        The best local effects of the quantity: "slopes", its own derivatives; central "differences"; or "steps",
        differences across cells, because it is piecewise constant. Plans of methods have the other kinds, too (see
        `skedasis.results.effect.Spec`).
    source : str
        Where they come from, in words, for the provenance.
    certain : bool
        False where it was concluded from a look at a few rows.
    jumps : ndarray of float, optional
        Where a piecewise constant quantity jumps, sorted: just behind each of these. None where that is not known, as
        for a model that is called. So no result depends on it unless the user demands it by name.
    given : bool
        Whether the derivatives come from a function that the user gave. These are never replaced by differences.
    """

    local: LocalEffects
    source: str
    certain: bool = True
    jumps: Floats | None = None
    given: bool = False

    @property
    def on_cells(self) -> bool:
        """Return whether the curve is given at the edges of all cells."""
        return self.local in ON_CELLS
