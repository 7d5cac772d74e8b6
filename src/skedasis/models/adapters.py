"""Base of the adapters for torch, JAX, Keras and ONNX: dtype, shape and container of the rows a model takes."""

from __future__ import annotations

import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from skedasis._types import Container, Floats, ModelRows, Values
from skedasis.data.containers import ArrayTable, to_float
from skedasis.data.dataset import Dataset, as_arrays, to_array
from skedasis.data.features import Feature
from skedasis.errors import DataError, ModelOutputError
from skedasis.models.introspection import check_fitted_on
from skedasis.models.protocols import AdaptedModel

ROWS_PER_PASS = 2048
"""Rows per pass on a CPU: so few that the activations of hidden layers stay in its cache."""


PROBED = 64
"""Rows of the first call that are kept as probe rows."""


_COMPARED = 8
"""Probe rows that are evaluated in one call and in pairs, to check that rows are independent."""


class ModelAdapter(AdaptedModel, ABC):
    """A model of another library as a function of rows that returns an array, (n,) or (n, outputs)."""

    @property
    def batch_rows(self) -> int:
        """Return how many rows a batch should have: eight parts on a CPU, so that slopes need little memory."""
        return 8 * ROWS_PER_PASS if self.rows_at_once <= ROWS_PER_PASS else 2 * self.rows_at_once

    def __init__(self, model: Any, title: str) -> None:
        self.model, self.__name__ = model, title
        self._reset()

    def _reset(self) -> None:
        """Reset the state that is derived from calls of the model; it is not pickled."""
        self._lock = threading.RLock()
        self._probe: Values | None = None

    def __getstate__(self) -> dict[str, object]:
        return {k: v for k, v in vars(self).items() if not k.startswith("_") or k == "__name__"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._reset()

    @property
    def rows_at_once(self) -> int:
        """Return the number of rows per pass."""
        return ROWS_PER_PASS

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[np.generic]:
        """Return the NumPy dtype of the model's input."""

    @property
    def eps(self) -> float:
        """Return the unit round-off of the model's input dtype; 0 for integers and booleans."""
        return float(np.finfo(self.dtype.name).eps) if self.dtype.kind == "f" else 0.0

    @abstractmethod
    def _call_model(self, part: Values) -> Values:
        """Call the model on at least two rows: a contiguous (m, d) array of `dtype`."""

    def __call__(self, X: ModelRows) -> Values:
        """Call the model on rows in any container."""
        rows = self._rows(X)
        self._take_probe(rows)
        out: Values | None = None
        for part in self._parts(len(rows)):
            response = self._output_for(rows[part])
            if out is None:
                out = np.empty((len(rows), *response.shape[1:]), response.dtype)
            if response.shape[1:] != out.shape[1:]:
                raise self._wrong_shape(response.shape, len(response))
            out[part] = response
        return np.empty(0) if out is None else out

    def prepare(self, dataset: Dataset, what: str) -> Dataset:
        """Return the rows as an array of numbers, from any container."""
        check_fitted_on(self, dataset, what)
        dataset = as_arrays(dataset)
        X = dataset.table.to_array()
        if X.dtype.kind != "O":
            return dataset
        columns = [_numbers(X[:, f.position], f, what) for f in dataset.features]
        return replace(dataset, table=ArrayTable(np.stack(columns, axis=1)))

    def derivative_info(self, feature: Feature, output: int | None) -> DerivativeInfo:
        """Return the derivatives that the model has with respect to a feature."""
        return DerivativeInfo("differences", "central differences")

    def has_mixed(self, output: int | None) -> bool:
        """Return whether there are mixed second derivatives."""
        return False

    def _rows(self, X: ModelRows) -> Values:
        return to_array(cast("Container", X))  # no query of trees: these models have none

    def _parts(self, n: int) -> Iterator[slice]:
        """Cut n rows into parts of nearly equal size; no part is a single row unless n is 1."""
        count = -(-n // max(self.rows_at_once, 2))
        edges = [n * k // count for k in range(count + 1)] if count else [0]
        return (slice(a, b) for a, b in itertools.pairwise(edges))

    def _as_input(self, rows: Values) -> Values:
        """Copy rows into the model's dtype; duplicate a single row, because some networks squeeze batches of one."""
        rows = np.repeat(rows, 2, axis=0) if len(rows) == 1 else rows
        with np.errstate(over="ignore"):  # overflow in single precision shows in the model's output
            return np.array(rows, dtype=self.dtype, order="C")

    def _output_for(self, rows: Values) -> Values:
        """Return the model's output for a part of the rows; raise if it does not have one entry per row."""
        own = self._as_input(rows)
        response = self._call_model(own)
        if response.ndim == 0 or len(response) != len(own):
            raise self._wrong_shape(response.shape, len(own))
        return response[: len(rows)]

    def _wrong_shape(self, shape: tuple[int, ...], n: int) -> ModelOutputError:
        return ModelOutputError(
            self.__name__,
            f"output of shape {shape} for {n} rows",
            f"({n},) or ({n}, outputs)",
            "Return one number for each row, or one for each row and output",
        )

    def _take_probe(self, rows: Values) -> None:
        """Take probe rows and check the model with them on its first call, and again when a call has more rows."""
        count = min(PROBED, len(rows))
        with self._lock:
            if count < 2 or (self._probe is not None and len(self._probe) >= count):
                return
            chosen = np.unique(np.linspace(0, len(rows) - 1, count).astype(int))
            probe = np.array(rows[chosen])
            few = probe[:: max(1, len(probe) // _COMPARED)][:_COMPARED]
            self._check_row_independence(few)
            self._set_probe(probe)

    def _set_probe(self, probe: Values) -> None:
        """Keep the probe rows; subclasses discard what they derived from former ones."""
        self._probe = probe

    def _check_row_independence(self, few: Values) -> None:
        """Raise if the output of a row depends on the other rows of the same call."""
        in_one_call = np.asarray(self._output_for(few), dtype=float)
        in_pairs = [self._output_for(few[i : i + 2]) for i in range(0, len(few), 2)]
        if any(a.shape[1:] != in_one_call.shape[1:] for a in in_pairs):
            raise self._wrong_shape(in_pairs[0].shape, len(in_pairs[0]))
        with np.errstate(invalid="ignore"):  # `calling.check_response` reports infinite outputs
            difference = np.abs(np.concatenate(in_pairs) - in_one_call)
        # Matrix products with few rows add up in another order: differences of rounding size are no dependence.
        size = np.abs(in_one_call)[np.isfinite(in_one_call)].max(initial=0.0)
        if (difference[np.isfinite(difference)] > np.sqrt(self.eps) * size).any():
            raise self._row_dependence(
                f"an output for a row that changes by up to {np.nanmax(difference):.3g}"
            )

    def _row_dependence(self, how: str) -> ModelOutputError:
        return ModelOutputError(
            self.__name__,
            f"{how} with the other rows of the call",
            "an output that depends on its own row alone",
            "Use the statistics of training (batch normalisation in evaluation mode), and attention within a row "
            "only",
        )


def _numbers(values: Values, feature: Feature, what: str) -> Values:
    """Return a column of objects as floats; raise if it holds text."""
    try:
        if any(isinstance(v, (str, bytes)) for v in values):
            raise TypeError
        return to_float(values)
    except (TypeError, ValueError) as error:
        raise DataError(
            what,
            f"text or other objects in column {feature.name!r}",
            "numbers or booleans",
            "Encode the column as in training, or wrap encoding and model in a function: "
            "sd.prediction(lambda X: ...)",
        ) from error


def first_line(error: BaseException) -> str:
    """Return an exception's type and the first 80 characters of its message."""
    lines = str(error).strip().splitlines()
    message = lines[0].strip() if lines else ""
    return f"{type(error).__name__}: {message[:80]}{'…' if len(message) > 80 else ''}"


# --- derivative capability ------------------------------------------------------------------------


LocalEffectKind = Literal[
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
"""Kinds of local effects whose curve is given at the edges of all cells, whatever bins summarise it."""


Breakpoints: TypeAlias = Floats | Callable[[], Floats | None] | None
"""Positions of jumps, a function that searches them, or None if they are not known."""


@dataclass(frozen=True)
class DerivativeInfo:
    """The derivatives that a quantity has with respect to one feature."""

    kind: LocalEffectKind
    description: str
    exact: bool = True
    breakpoints: Breakpoints = None
    given: bool = False

    def __getstate__(self) -> dict[str, object]:
        """Return the state without a function for breakpoints, which holds the model: plans are to be small."""
        known = None if callable(self.breakpoints) else self.breakpoints
        return {**vars(self), "breakpoints": known}

    def jumps(self) -> Floats | None:
        """Return the sorted breakpoints, or None if they are not known."""
        return self.breakpoints() if callable(self.breakpoints) else self.breakpoints
