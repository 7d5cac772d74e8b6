"""Adapter of ONNX models, evaluated by onnxruntime: values only."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from skedasis._escaping import one_line
from skedasis._types import Container, Values
from skedasis.data.dataset import Dataset, to_array
from skedasis.errors import DataError, ModelOutputError, UnsupportedError
from skedasis.models.adapters import ModelAdapter

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


Response: TypeAlias = "Values | list[dict[Hashable, float]]"
"""An output: an array, or for each row the probabilities by class."""


class _Value(Protocol):
    """The name, type and shape of an input or an output of a session."""

    name: str
    type: str
    shape: Sequence[int | str | None]


class RuntimeSession(Protocol):
    """What is called on onnxruntime's `InferenceSession`."""

    def get_inputs(self) -> Sequence[_Value]: ...

    def get_outputs(self) -> Sequence[_Value]: ...

    def run(
        self, output_names: Sequence[str], input_feed: Mapping[str, Values]
    ) -> list[Response]: ...


def is_onnx(model: object) -> bool:
    """Return whether a model is an onnxruntime session or an `onnx.ModelProto`."""
    runtime, onnx = sys.modules.get("onnxruntime"), sys.modules.get("onnx")
    sessions = getattr(runtime, "InferenceSession", None)
    protos = getattr(onnx, "ModelProto", None)
    return any(isinstance(kind, type) and isinstance(model, kind) for kind in (sessions, protos))


def as_onnx(model: Any) -> ModelAdapter:
    """Return the adapter of an onnxruntime session or an `onnx.ModelProto`, with `predict_proba` of a classifier."""
    session = _session(model)
    kinds = [(o.name, o.type) for o in session.get_outputs()]
    inputs = session.get_inputs()
    one_table = len(inputs) == 1 and len(inputs[0].shape) == 2
    one_per_column = all(len(i.shape) == 2 and i.shape[1] == 1 for i in inputs)
    supported = all(i.type in _TYPES for i in inputs) and (one_table or one_per_column)
    labels = [name for name, kind in kinds if kind in _LABELS]
    mappings = [name for name, kind in kinds if kind.startswith("seq(map(")]
    numbers = [name for name, kind in kinds if kind in _NUMBERS]
    if supported and labels and (mappings or numbers):
        return OnnxClassifier(model, (mappings or numbers)[:1])
    if supported and numbers:
        return OnnxModel(model, numbers)
    got = [f"{i.name} {i.type}{i.shape}" for i in inputs] + [f"{n} {kind}" for n, kind in kinds]
    raise UnsupportedError(
        "ONNX model",
        f"inputs and outputs {', '.join(got)}"[:200],
        "one input (rows, columns), or one input (rows, 1) for each column, and outputs of floats",
        "Wrap the session: sd.prediction(lambda X: session.run(None, {...})[0][:, 0])",
    )


def _session(model: Any) -> RuntimeSession:
    """Return the session itself, or a new session for a `ModelProto`."""
    if not hasattr(model, "SerializeToString"):
        return model
    try:
        runtime = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise UnsupportedError(
            "ONNX model",
            "no installed onnxruntime",
            "onnxruntime, which evaluates the model",
            "Install it: pip install onnxruntime",
        ) from error
    return runtime.InferenceSession(
        model.SerializeToString(), providers=runtime.get_available_providers()
    )


class OnnxModel(ModelAdapter):
    """An ONNX model with numeric outputs as a function of rows; several outputs become columns, in their order."""

    def __init__(self, model: Any, names: list[str]) -> None:
        super().__init__(model, "ONNX model")
        self.names = names
        inputs = self.session.get_inputs()
        width = inputs[0].shape[1] if len(inputs) == 1 else len(inputs)
        self.n_features_in_ = width if isinstance(width, int) else None

    def _reset(self) -> None:
        super()._reset()
        self._session: RuntimeSession | None = None

    @property
    def session(self) -> RuntimeSession:
        """Return the session, which is made on first use."""
        with self._lock:
            if self._session is None:
                self._session = _session(self.model)
            return self._session

    @property
    def rows_at_once(self) -> int:
        """Return the number of rows per call: the batch size that the model was exported with, if it is fixed."""
        fixed = self._fixed_rows
        return 4096 if fixed is None else fixed

    @property
    def _fixed_rows(self) -> int | None:
        rows = self.session.get_inputs()[0].shape[0]
        return rows if isinstance(rows, int) else None

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """Return the dtype of the first input."""
        return _TYPES[self.session.get_inputs()[0].type]

    def prepare(self, dataset: Dataset, what: str) -> Dataset:
        """Return the rows as numbers; unchanged, text included, if each column is an input of its own."""
        inputs = self.session.get_inputs()
        if len(inputs) == 1:
            return super().prepare(dataset, what)
        names = [i.name for i in inputs]
        have = [str(f.key) for f in dataset.features]
        if dataset.library is not None and have != names:
            raise DataError(
                what,
                f"X with columns {have[:6]}",
                f"the model's inputs {names[:6]}, in this order",
                "Select the columns: X[[i.name for i in session.get_inputs()]]",
            )
        if len(have) != len(names):
            raise DataError(
                what,
                f"X with {len(have)} columns",
                f"{len(names)} columns, one for each input",
                "Pass the columns that the model was trained on",
            )
        return dataset

    def _as_input(self, rows: Values) -> Values:
        if len(self.session.get_inputs()) > 1:
            return np.repeat(rows, 2, axis=0) if len(rows) == 1 else rows
        return super()._as_input(rows)

    def _call_model(self, part: Values) -> Values:
        tables = [self._table(response) for response in self._run(part)]
        return tables[0] if len(tables) == 1 else np.hstack(tables)

    def _table(self, response: Response) -> Values:
        array = np.asarray(response)
        return array[:, None] if array.ndim == 1 and len(self.names) > 1 else array

    def _run(self, part: Values) -> list[Response]:
        """Run the session; pad the rows if it takes a fixed number of them."""
        n, fixed = len(part), self._fixed_rows
        if fixed is not None and fixed != n:
            parts = [part[i : i + fixed] for i in range(0, n, fixed)]
            padding = np.repeat(part[-1:], fixed - len(parts[-1]), axis=0)
            parts[-1] = np.concatenate([parts[-1], padding])
            runs = [self._run(p) for p in parts]
            return [np.concatenate(responses)[:n] for responses in zip(*runs, strict=True)]
        try:
            return self.session.run(self.names, self._feeds(part))
        except Exception as error:  # the errors of onnxruntime have no other common base
            reason = one_line(str(error))
            raise ModelOutputError(
                self.__name__,
                f"an error of onnxruntime for {n} rows ({reason[-200:]})",
                "outputs",
                "Check that the model takes these rows, and that its results fit into memory",
            ) from error

    def _feeds(self, part: Values) -> Mapping[str, Values]:
        inputs = self.session.get_inputs()
        if len(inputs) == 1:
            return {inputs[0].name: part}
        return {i.name: _column(part[:, [j]], i.type) for j, i in enumerate(inputs)}


class OnnxClassifier(OnnxModel):
    """An ONNX classifier: its outputs are labels and probabilities."""

    @property
    def classes_(self) -> Values:
        """Return the class labels if the model returns them with the probabilities, else the column indices."""
        with self._lock:
            if self._labels is None:
                self._labels = self._read_labels()
            return self._labels

    def _reset(self) -> None:
        super()._reset()
        self._labels: Values | None = None

    def _read_labels(self) -> Values:
        """Return the classes from the output for rows of zeros: the session states them nowhere else."""
        inputs = self.session.get_inputs()
        width = inputs[0].shape[1] if len(inputs) == 1 else len(inputs)
        text = [i.type == "tensor(string)" for i in inputs]
        zeros = np.zeros((2, width if isinstance(width, int) else 1), dtype=self.dtype)
        if len(inputs) > 1:
            zeros = np.array([["" if t else 0.0 for t in text]] * 2, dtype=object)
        (response,) = self._run(zeros)
        if isinstance(response[0], Mapping):
            return np.array(list(response[0]))
        return np.arange(max(np.asarray(response).shape[1], 2))

    def predict_proba(self, X: Container) -> Values:
        """Return the probabilities, (n, classes)."""
        return self(X)

    def _table(self, response: Response) -> Values:
        if len(response) and isinstance(response[0], Mapping):
            return np.array([list(row.values()) for row in response], dtype=np.float32)
        p = np.asarray(response)
        return np.hstack([1 - p, p]) if p.ndim == 2 and p.shape[1] == 1 else p


def _column(values: Values, kind: str) -> Values:
    """Return a column in the dtype of its input."""
    if kind == "tensor(string)":
        return np.array([[str(v[0])] for v in values], dtype=object)
    return to_array(values).astype(_TYPES[kind])
