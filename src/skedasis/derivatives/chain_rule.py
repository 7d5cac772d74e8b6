"""Derivatives of pipelines by the chain rule: transformer steps, parallel branches, and a final head.

A pipeline is a chain of `Step`, each a transformer, and a `Head`, the final model. The head gives the gradient of its
output by its inputs; each step turns the gradient by its outputs into the gradient by its inputs (`Step.backward`),
from the last step to the first. Gradients have one row for each row of X, or a single row if all rows have the same
gradient: a linear model needs no computation per row, however long its pipeline is.

A step that jumps, such as an encoder, has a derivative of zero between its jumps, which ignores the jumps. Therefore
steps also report the inputs that act through a jump (`jump_inputs`): a slope describes the model completely only for
the other inputs.

`skedasis.derivatives.sklearn_models` builds the chains; `Derivative` evaluates one on rows of X.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias, cast, runtime_checkable

import numpy as np

from skedasis._types import Bools, Container, Floats, Ints, ModelRows, Values
from skedasis.data.features import Feature

# --- containers of rows between steps: arrays, sparse matrices or data frames ---------------------


@runtime_checkable
class SparseMatrix(Protocol):
    """A sparse matrix or array of SciPy."""

    def toarray(self) -> Values:
        """Return the matrix as an array."""
        ...

    def __getitem__(self, key: tuple[slice, Ints], /) -> SparseMatrix:
        """Return some of the columns."""
        ...


Rows: TypeAlias = "Container | SparseMatrix"
"""Rows between steps: an array, a data frame or a sparse matrix."""

NOT_READ: Rows = np.empty((0, 0))
"""In place of rows that no step reads, because all are flat."""


def doubles(X: Container) -> Container:
    """Return rows in their own container, with numbers in double precision.

    scikit-learn's steps compute in the precision of their input: in single precision, the inputs of later steps would
    have seven digits only. Other values stay unchanged.
    """
    if isinstance(X, np.ndarray):
        try:
            return X.astype(float, copy=False)
        except (TypeError, ValueError):  # some columns are text, which the model encodes itself
            return X
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True)
    single = [name for name, dtype in frame.schema.items() if dtype == nw.Float32]
    return frame.with_columns(nw.col(*single).cast(nw.Float64)).to_native() if single else X


def numbers(Z: Rows) -> Floats:
    """Return rows from any container as an array of floats, (n, d)."""
    if isinstance(Z, np.ndarray):
        return np.asarray(Z, dtype=float)
    if isinstance(Z, SparseMatrix):
        return np.asarray(Z.toarray(), dtype=float)
    from skedasis.data.frames import FrameTable

    return np.asarray(FrameTable(Z).to_array(), dtype=float)


def slice_rows(X: Container, start: int, stop: int) -> Container:
    """Return the rows from `start` to `stop`, in their container."""
    if isinstance(X, np.ndarray):
        return X[start:stop]
    import narwhals.stable.v2 as nw

    return nw.from_native(X, eager_only=True)[start:stop].to_native()


def columns(Z: Rows, positions: Ints) -> Rows:
    """Return the columns at these positions, in their container."""
    if isinstance(Z, np.ndarray | SparseMatrix):
        return Z[:, positions]
    import narwhals.stable.v2 as nw

    return nw.from_native(Z, eager_only=True)[:, positions.tolist()].to_native()


# --- steps and heads ------------------------------------------------------------------------------

CHUNK_BYTES = 8_000_000
"""Bytes that the working memory of a chunk of rows may take: it fits the caches and does not grow with X."""


class Step(ABC):
    """A transformer: rows with d inputs become rows with m outputs."""

    flat: bool = False
    """Whether the derivatives are the same for all rows, so that the rows need not be known."""

    @abstractmethod
    def values(self, Z: Rows) -> Rows:
        """Return the outputs, as scikit-learn computes them."""

    @abstractmethod
    def backward(self, Z: Rows, G: Floats) -> Floats:
        """Return the gradient by the inputs, given the gradient by the outputs.

        Parameters
        ----------
        Z : array, sparse matrix or data frame of n rows
            The inputs; ignored if the step is `flat`.
        G : ndarray of float, shape (n, m) or (1, m)
            The gradient by the outputs.

        Returns
        -------
        ndarray of float, shape (n, d) or (1, d)
        """

    def jump_inputs(self, jump_outputs: Bools | None) -> Bools | None:
        """Return which inputs act through a jump, (d,), given which outputs do, (m,). None stands for none of them.

        By default, an input acts through a jump if the output of the same column does.
        """
        return jump_outputs

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Return the number of outputs, m."""

    @property
    @abstractmethod
    def row_memory(self) -> int:
        """Return the working memory per row, in numbers."""


class Transformer(Protocol):
    """What steps read of any fitted transformer of scikit-learn."""

    n_features_in_: int

    def transform(self, X: Rows, /) -> Rows:
        """Return the outputs."""
        ...


@dataclass(frozen=True, eq=False)
class TransformerStep(Step):
    """The step of one fitted transformer, with as many outputs as inputs."""

    model: Transformer

    def values(self, Z: Rows) -> Rows:
        """Return the outputs, as scikit-learn computes them."""
        return self.model.transform(Z)

    @property
    def inputs(self) -> int:
        """Return the number of inputs, d."""
        return int(self.model.n_features_in_)

    @property
    def outputs(self) -> int:
        """Return the number of outputs, m."""
        return self.inputs

    @property
    def row_memory(self) -> int:
        """Return the working memory per row, in numbers."""
        return 4 * self.inputs


class Head(ABC):
    """A model without its transformers: a row with d inputs becomes one number."""

    flat: bool = False
    """Whether the gradient is the same for all rows."""

    @abstractmethod
    def gradient(self, Z: Rows) -> Floats:
        """Return the derivative of the output by each input, (n, d), or (1, d) if the head is `flat`."""

    def jump_inputs(self) -> Bools | None:
        """Return which inputs act through a jump, (d,). None stands for none of them."""
        return None

    @property
    @abstractmethod
    def row_memory(self) -> int:
        """Return the working memory per row, in numbers."""


@dataclass(frozen=True, eq=False)
class Identity(Step):
    """Columns that are passed through unchanged."""

    size: int

    flat = True

    def values(self, Z: Rows) -> Rows:
        """Return the inputs."""
        return Z

    def backward(self, Z: Rows, G: Floats) -> Floats:
        """Return the gradient unchanged."""
        return G

    @property
    def outputs(self) -> int:
        """Return the number of inputs."""
        return self.size

    @property
    def row_memory(self) -> int:
        """Return the number of inputs."""
        return self.size


class EncodingTransformer(Transformer, Protocol):
    """A fitted encoder."""

    def get_feature_names_out(self) -> Values:
        """Return the names of the outputs."""
        ...


@dataclass(frozen=True, eq=False)
class PiecewiseConstant(TransformerStep):
    """An encoder or another transformer that is constant between jumps: its slopes are zero and ignore the jumps.

    Parameters
    ----------
    model : object
        The transformer, or the last of several.
    size : int
        The number of inputs.
    """

    model: EncodingTransformer
    size: int

    flat = True

    def backward(self, Z: Rows, G: Floats) -> Floats:
        """Return zeros."""
        return np.zeros((1, self.size))

    def jump_inputs(self, jump_outputs: Bools | None) -> Bools | None:
        """Return that all inputs act through jumps."""
        return np.ones(self.size, dtype=bool)

    @property
    def outputs(self) -> int:
        """Return the number of output names."""
        return len(self.model.get_feature_names_out())

    @property
    def row_memory(self) -> int:
        """Return twice the number of inputs."""
        return 2 * self.size


@dataclass(frozen=True, eq=False)
class Chain(Step):
    """Several steps in sequence."""

    steps: Sequence[Step]

    @property
    def flat(self) -> bool:  # type: ignore[override]
        """Return whether all steps are flat."""
        return all(step.flat for step in self.steps)

    def values(self, Z: Rows) -> Rows:
        """Return the outputs of the last step."""
        return self.inputs_of_steps(Z, with_outputs=True)[-1]

    def inputs_of_steps(self, Z: Rows, with_outputs: bool) -> list[Rows]:
        """Return the inputs of each step and, last, the outputs of the chain; `NOT_READ` for unneeded ones.

        Parameters
        ----------
        Z : object
            The inputs of the first step.
        with_outputs : bool
            Whether the outputs of the chain are needed. If not, the inputs of the last step that is not flat suffice.
        """
        not_flat = [k for k, step in enumerate(self.steps) if not step.flat]
        needed = len(self.steps) if with_outputs else max(not_flat, default=0)
        rows = [Z]
        for step in self.steps[:needed]:
            rows.append(step.values(rows[-1]))
        return rows + [NOT_READ] * (len(self.steps) - needed)

    def backward_from(self, inputs: Sequence[Rows], G: Floats) -> Floats:
        """Return the gradient by the chain's inputs, given the inputs of each step."""
        gradient = G
        for step, Z in zip(reversed(self.steps), inputs[-2::-1], strict=True):
            gradient = step.backward(Z, gradient)
        return gradient

    def backward(self, Z: Rows, G: Floats) -> Floats:
        """Apply the chain rule."""
        return self.backward_from(self.inputs_of_steps(Z, with_outputs=False), G)

    def jump_inputs(self, jump_outputs: Bools | None) -> Bools | None:
        """Trace jumps back to the inputs of the first step."""
        for step in reversed(self.steps):
            jump_outputs = step.jump_inputs(jump_outputs)
        return jump_outputs

    @property
    def outputs(self) -> int:
        """Return the number of outputs of the last step."""
        return self.steps[-1].outputs

    @property
    def row_memory(self) -> int:
        """Return the sum over the steps."""
        return sum(step.row_memory for step in self.steps)


@dataclass(frozen=True, eq=False)
class ChainedHead(Head):
    """A head behind a chain of steps."""

    chain: Chain
    head: Head

    @property
    def flat(self) -> bool:  # type: ignore[override]
        """Return whether the chain and the head are flat."""
        return self.chain.flat and self.head.flat

    def gradient(self, Z: Rows) -> Floats:
        """Apply the chain rule."""
        inputs = self.chain.inputs_of_steps(Z, with_outputs=not self.head.flat)
        return self.chain.backward_from(inputs, self.head.gradient(inputs[-1]))

    def jump_inputs(self) -> Bools | None:
        """Trace jumps back to the inputs of the chain."""
        return self.chain.jump_inputs(self.head.jump_inputs())

    @property
    def row_memory(self) -> int:
        """Return the sum of chain and head."""
        return self.chain.row_memory + self.head.row_memory


@dataclass(frozen=True, eq=False)
class Derivative:
    """The partial derivatives of a model, ``X (n, d) -> (n, d)``.

    At a kink of a piecewise linear model, the derivative is one of the slopes on both sides or their mean. The
    derivative by a column of text is zero.

    Parameters
    ----------
    what : str
        The model's title, for the provenance.
    head : Head
        The whole model.
    """

    what: str
    head: Head

    @cached_property
    def _jump_columns(self) -> Bools | None:
        return self.head.jump_inputs()

    def knows(self, feature: Feature) -> bool:
        """Return whether the slope by a feature describes its effect completely: it does not act through jumps."""
        return self._jump_columns is None or not self._jump_columns[feature.position]

    def __call__(self, X: ModelRows) -> Floats:
        """Return the derivatives at rows in any container that the model takes, computed in chunks."""
        n, rows = len(X), cast("Container", X)  # no query of trees: these models have none
        if self.head.flat:
            gradient = self.head.gradient(rows)
            return np.broadcast_to(gradient, (n, gradient.shape[1]))
        size = max(CHUNK_BYTES // (8 * self.head.row_memory), 1)
        out: Floats | None = None
        for start in range(0, n, size):
            stop = min(start + size, n)
            part = self.head.gradient(doubles(slice_rows(rows, start, stop)))
            out = np.empty((n, part.shape[1])) if out is None else out
            out[start:stop] = part
        return np.empty(numbers(rows).shape) if out is None else out


# --- parallel branches: transformers whose outputs are concatenated -------------------------------


@dataclass(frozen=True, eq=False)
class Branch:
    """One of several parallel transformers.

    Parameters
    ----------
    positions : ndarray of int
        Positions of its columns in the input.
    outputs : slice
        Its columns in the concatenated output.
    step : Step
    weight : float
        Factor of its outputs.
    all_columns : bool
        Whether it takes all columns, in their order.
    """

    positions: Ints
    outputs: slice
    step: Step
    weight: float = 1.0
    all_columns: bool = False

    def backward(self, Z: Rows, G: Floats) -> Floats:
        """Return the gradient by the branch's columns, (n, k) or (1, k)."""
        own = Z if self.step.flat or self.all_columns else columns(Z, self.positions)
        return self.step.backward(own, G[:, self.outputs] * self.weight)

    def jump_inputs(self, jump_outputs: Bools | None) -> Bools | None:
        """Return which of the branch's columns act through a jump."""
        return self.step.jump_inputs(None if jump_outputs is None else jump_outputs[self.outputs])


@dataclass(frozen=True, eq=False)
class Parallel(TransformerStep):
    """Parallel branches with concatenated outputs. Columns that no branch takes have a slope of zero."""

    branches: Sequence[Branch]
    size: int

    @property
    def flat(self) -> bool:  # type: ignore[override]
        """Return whether all branches are flat."""
        return all(b.step.flat for b in self.branches)

    def backward(self, Z: Rows, G: Floats) -> Floats:
        """Return the sum of the gradients of all branches."""
        parts = [b.backward(Z, G) for b in self.branches]
        gradient = np.zeros((max((len(p) for p in parts), default=1), self.size))
        for branch, part in zip(self.branches, parts, strict=True):
            for k, j in enumerate(branch.positions):  # a branch may take a column twice
                gradient[:, j] += part[:, k]
        return gradient

    def jump_inputs(self, jump_outputs: Bools | None) -> Bools | None:
        """Return which inputs act through a jump in at least one branch."""
        inputs = np.zeros(self.size, dtype=bool)
        for branch in self.branches:
            own = branch.jump_inputs(jump_outputs)
            if own is not None:
                inputs[branch.positions[own]] = True
        return inputs if inputs.any() else None

    @property
    def outputs(self) -> int:
        """Return the number of concatenated outputs."""
        return max((b.outputs.stop for b in self.branches), default=0)

    @property
    def row_memory(self) -> int:
        """Return the sum over the branches, and the concatenated inputs and outputs."""
        return 2 * (self.outputs + self.size) + sum(b.step.row_memory for b in self.branches)
