"""Adapter of ONNX models, evaluated by onnxruntime: values only."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis.data.dataset import Source, to_array
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.models.adapters import Adapted

_TYPES = {
    "tensor(float)": np.dtype(np.float32),
    "tensor(double)": np.dtype(np.float64),
    "tensor(float16)": np.dtype(np.float16),
    "tensor(int64)": np.dtype(np.int64),
    "tensor(int32)": np.dtype(np.int32),
    "tensor(bool)": np.dtype(np.bool_),
    "tensor(string)": np.dtype(object),
}


_NUMBERS = ("tensor(float)", "tensor(double)", "tensor(float16)")


_LABELS = ("tensor(int64)", "tensor(string)")


def is_onnx(model: Any) -> bool:
    """Return whether a model is a session of onnxruntime, or a model of the onnx package."""
    runtime, onnx = sys.modules.get("onnxruntime"), sys.modules.get("onnx")
    sessions = getattr(runtime, "InferenceSession", None)
    protos = getattr(onnx, "ModelProto", None)
    return any(isinstance(kind, type) and isinstance(model, kind) for kind in (sessions, protos))


def as_onnx(model: Any) -> Adapted:
    """Return a session, or a model of the onnx package, as a function of rows; a classifier's with its probabilities.

    Raises
    ------
    UnsupportedError
        Where onnxruntime is missing, and for inputs or outputs that are no table of numbers.
    """
    session = _session(model)
    kinds = [(o.name, o.type) for o in session.get_outputs()]
    inputs = session.get_inputs()
    one = len(inputs) == 1 and len(inputs[0].shape) == 2
    columns = all(len(i.shape) == 2 and i.shape[1] == 1 for i in inputs)
    taken = all(i.type in _TYPES for i in inputs) and (one or columns)
    labels = [name for name, kind in kinds if kind in _LABELS]
    mapped = [name for name, kind in kinds if kind.startswith("seq(map(")]
    numbers = [name for name, kind in kinds if kind in _NUMBERS]
    if taken and labels and (mapped or numbers):
        return OnnxClassifier(model, (mapped or numbers)[:1])
    if taken and numbers:
        return OnnxModel(model, numbers)
    got = [f"{i.name} {i.type}{i.shape}" for i in inputs] + [f"{n} {kind}" for n, kind in kinds]
    raise UnsupportedError(
        explained(
            "ONNX model",
            f"inputs and outputs {', '.join(got)}"[:200],
            "one input (rows, columns), or one (rows, 1) for each column, and outputs of floats",
            "Wrap it: sd.prediction(lambda X: session.run(None, {...})[0][:, 0])",
        )
    )


def _session(model: Any) -> Any:
    """Return the session itself, or one for a model."""
    if not hasattr(model, "SerializeToString"):
        return model
    try:
        runtime = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise UnsupportedError(
            explained(
                "ONNX model",
                "no onnxruntime to run it",
                "onnxruntime",
                "Install it: pip install onnxruntime",
            )
        ) from error
    return runtime.InferenceSession(
        model.SerializeToString(), providers=runtime.get_available_providers()
    )


class OnnxModel(Adapted):
    """An ONNX model of numbers as a function of rows. Several outputs of numbers stand side by side, in their order.

    Parameters
    ----------
    model : InferenceSession or ModelProto
    names : list of str
        Of the outputs.
    """

    def __init__(self, model: Any, names: list[str]) -> None:
        super().__init__(model, "ONNX model")
        self.names = names
        inputs = self.session.get_inputs()
        width = inputs[0].shape[1] if len(inputs) == 1 else len(inputs)
        self.n_features_in_ = width if isinstance(width, int) else None

    def _start(self) -> None:
        super()._start()
        self._running: Any = None

    @property
    def session(self) -> Any:
        """Return the session, made when it is first asked for."""
        with self._lock:
            if self._running is None:
                self._running = _session(self.model)
            return self._running

    @property
    def rows_at_once(self) -> int:
        """Return the rows of one call: as many as the model was exported for, where it takes no others."""
        fixed = self._fixed
        return 4096 if fixed is None else fixed

    @property
    def _fixed(self) -> int | None:
        rows = self.session.get_inputs()[0].shape[0]
        return rows if isinstance(rows, int) else None

    @property
    def dtype(self) -> Any:
        """Return the type of the first input: of whole numbers only where all are."""
        return _TYPES[self.session.get_inputs()[0].type]

    def prepare(self, source: Source, what: str) -> Source:
        """Return the rows as numbers; where each column is an input of its own, as they are, text among them."""
        inputs = self.session.get_inputs()
        if len(inputs) == 1:
            return super().prepare(source, what)
        names = [i.name for i in inputs]
        have = [str(f.label) for f in source.features]
        if source.library is not None and have != names:
            raise DataError(
                explained(
                    what,
                    f"X with columns {have[:6]}",
                    f"the model's inputs {names[:6]}, in this order",
                    "Select them: X[[i.name for i in session.get_inputs()]]",
                )
            )
        if len(have) != len(names):
            raise DataError(
                explained(
                    what,
                    f"X with {len(have)} columns",
                    f"{len(names)}, one for each input",
                    "Pass the columns that the model was made for",
                )
            )
        return source

    def _own(self, rows: NDArray[Any]) -> NDArray[Any]:
        if len(self.session.get_inputs()) > 1:
            return np.repeat(rows, 2, axis=0) if len(rows) == 1 else rows
        return super()._own(rows)

    def _values(self, part: NDArray[Any]) -> NDArray[Any]:
        found = [self._table(answer) for answer in self._run(part)]
        return found[0] if len(found) == 1 else np.hstack(found)

    def _table(self, answer: Any) -> NDArray[Any]:
        array = np.asarray(answer)
        return array[:, None] if array.ndim == 1 and len(self.names) > 1 else array

    def _run(self, part: NDArray[Any]) -> list[Any]:
        """Run the session, with rows added where it takes a certain number."""
        n, fixed = len(part), self._fixed
        if fixed is not None and fixed != n:
            parts = [part[i : i + fixed] for i in range(0, n, fixed)]
            short = np.repeat(part[-1:], fixed - len(parts[-1]), axis=0)
            parts[-1] = np.concatenate([parts[-1], short])
            runs = [self._run(p) for p in parts]
            return [np.concatenate(answers)[:n] for answers in zip(*runs, strict=True)]
        return self.session.run(self.names, self._feeds(part))

    def _feeds(self, part: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        inputs = self.session.get_inputs()
        if len(inputs) == 1:
            return {inputs[0].name: part}
        return {i.name: _column(part[:, [j]], i.type) for j, i in enumerate(inputs)}


class OnnxClassifier(OnnxModel):
    """An ONNX classifier, which answers with labels and probabilities."""

    @property
    def classes_(self) -> NDArray[Any]:
        """Return the classes: by their labels where the probabilities bear these, else by their places."""
        with self._lock:
            if self._labels is None:
                self._labels = self._asked()
            return self._labels

    def _start(self) -> None:
        super()._start()
        self._labels: NDArray[Any] | None = None

    def _asked(self) -> NDArray[Any]:
        """Return the classes from the answer for a row of zeros: the session names them nowhere else."""
        inputs = self.session.get_inputs()
        width = inputs[0].shape[1] if len(inputs) == 1 else len(inputs)
        text = [i.type == "tensor(string)" for i in inputs]
        blank = np.zeros((2, width if isinstance(width, int) else 1), dtype=self.dtype)
        if len(inputs) > 1:
            blank = np.array([["" if t else 0.0 for t in text]] * 2, dtype=object)
        (answer,) = self._run(blank)
        if isinstance(answer[0], Mapping):
            return np.array(list(answer[0]))
        return np.arange(max(np.shape(answer)[1], 2))

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probabilities, (n, classes)."""
        return self(X)

    def _table(self, answer: Any) -> NDArray[Any]:
        if len(answer) and isinstance(answer[0], Mapping):
            return np.array([list(row.values()) for row in answer], dtype=np.float32)
        p = np.asarray(answer)
        return np.hstack([1 - p, p]) if p.ndim == 2 and p.shape[1] == 1 else p


def _column(values: NDArray[Any], kind: str) -> NDArray[Any]:
    """Return a column as its input takes it."""
    if kind == "tensor(string)":
        return np.array([[str(v[0])] for v in values], dtype=object)
    return to_array(values).astype(_TYPES[kind])
