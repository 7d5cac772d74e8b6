"""Derivatives of pipelines by the chain rule: transformer steps, parallel branches, and a final head.

Gradients travel backwards, from the end to the model's own inputs. They are arrays of one row for each row of X, or of
a single row where all rows have the same: so a linear model costs nothing, however long its pipeline is.

What jumps (an encoder) has a derivative of zero between its jumps, which says nothing of them. Steps therefore tell
apart (`taint`) the inputs whose slopes are all there is to know from those that reach the end through a jump.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.data.features import Feature

# ------------------------------------------------------------------------------------------
# Rows on their way through a model: arrays, sparse matrices or data frames, as scikit-learn passes them on.


def doubles(X: Any) -> Any:
    """Return rows in their own container, with numbers in double precision.

    scikit-learn's steps compute in the precision of what they are given: in single precision, inputs of a later step
    would be known to seven digits only. What is no number stays as it is.
    """
    if isinstance(X, np.ndarray):
        try:
            return X.astype(float, copy=False)
        except (TypeError, ValueError):  # some columns are text: their encoders know what to do
            return X
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True)
    single = [name for name, dtype in frame.schema.items() if dtype == nw.Float32]
    return frame.with_columns(nw.col(*single).cast(nw.Float64)).to_native() if single else X


def numbers(Z: Any) -> Floats:
    """Return rows of any container as an array of floats, (n, d)."""
    if hasattr(Z, "toarray"):
        return np.asarray(Z.toarray(), dtype=float)
    if isinstance(Z, np.ndarray):
        return np.asarray(Z, dtype=float)
    from skedasis.data.containers import FrameTable

    return np.asarray(FrameTable(Z).to_array(), dtype=float)


def some(X: Any, start: int, stop: int) -> Any:
    """Return the rows from `start` to `stop`, in their container."""
    if isinstance(X, np.ndarray):
        return X[start:stop]
    import narwhals.stable.v2 as nw

    return nw.from_native(X, eager_only=True)[start:stop].to_native()


def columns(X: Any, places: Ints) -> Any:
    """Return the columns at some places, in their container."""
    if isinstance(X, np.ndarray) or hasattr(X, "toarray"):
        return X[:, places]
    import narwhals.stable.v2 as nw

    return nw.from_native(X, eager_only=True)[:, places.tolist()].to_native()


# ------------------------------------------------------------------------------------------
# Derivatives by the chain rule: steps that change rows, an end that makes one number of a row, and what joins them.


ROOM = 8_000_000
"""Bytes that a chunk's numbers may take: with them the caches still help, and memory does not grow with X."""


class Step(ABC):
    """A transformer: rows of d inputs become rows of m outputs."""

    flat: bool = False
    """Whether its derivatives are the same for all rows, so that the rows need not be known."""

    model: Any

    def values(self, Z: Any) -> Any:
        """Return the outputs, as scikit-learn computes them."""
        return self.model.transform(Z)

    @abstractmethod
    def pull(self, Z: Any, G: Floats) -> Floats:
        """Return the gradient by the inputs from that by the outputs.

        Parameters
        ----------
        Z : array, sparse matrix or data frame of n rows
            The inputs. Not looked at where the step is `flat`.
        G : ndarray of float, shape (n, m) or (1, m)

        Returns
        -------
        ndarray of float, shape (n, d) or (1, d)
        """

    def taint(self, bad: Bools | None) -> Bools | None:
        """Return which inputs act through a jump, (d,), from which outputs do, (m,). None means: none of them.

        That is the same column, unless the step mixes columns.
        """
        return bad

    @property
    def outputs(self) -> int:
        """Return the number of outputs, m."""
        return int(self.model.n_features_in_)

    @property
    def width(self) -> int:
        """Return how many numbers it needs for a row while it works."""
        return 4 * int(self.model.n_features_in_)


class End(ABC):
    """A model, or the part of it behind its transformers: a row of d inputs becomes one number."""

    flat: bool = False
    """Whether its gradient is the same for all rows."""

    @abstractmethod
    def gradient(self, Z: Any) -> Floats:
        """Return the number's derivative by each input, (n, d) or, where the end is `flat`, (1, d)."""

    def taint(self) -> Bools | None:
        """Return which inputs act through a jump, (d,). None means: none of them."""
        return None

    @property
    @abstractmethod
    def width(self) -> int:
        """Return how many numbers it needs for a row while it works."""


@dataclass(frozen=True, eq=False)
class Same(Step):
    """No change: columns that are passed through."""

    size: int

    flat = True
    model = None

    def values(self, Z: Any) -> Any:
        """Return the inputs."""
        return Z

    def pull(self, Z: Any, G: Floats) -> Floats:
        """Return the gradient as it is."""
        return G

    @property
    def outputs(self) -> int:
        """Return the number of inputs."""
        return self.size

    @property
    def width(self) -> int:
        """Return the number of inputs."""
        return self.size


@dataclass(frozen=True, eq=False)
class Blind(Step):
    """An encoder or its like: constant between jumps, so that its slopes are zero and say nothing.

    Parameters
    ----------
    model : object
        The last of its transformers, where it is several.
    size : int
        The number of inputs.
    """

    model: Any
    size: int

    flat = True

    def pull(self, Z: Any, G: Floats) -> Floats:
        """Return zeros."""
        return np.zeros((1, self.size))

    def taint(self, bad: Bools | None) -> Bools | None:
        """Return that all inputs act through jumps."""
        return np.ones(self.size, dtype=bool)

    @property
    def outputs(self) -> int:
        """Return the number of outputs' names."""
        return len(self.model.get_feature_names_out())

    @property
    def width(self) -> int:
        """Return twice the inputs."""
        return 2 * self.size


@dataclass(frozen=True, eq=False)
class Path(Step):
    """Steps one after the other."""

    steps: Sequence[Step]

    @property
    def flat(self) -> bool:  # type: ignore[override]
        """Return whether all steps are."""
        return all(step.flat for step in self.steps)

    def values(self, Z: Any) -> Any:
        """Return the outputs of the last step."""
        return self.inputs(Z, whole=True)[-1]

    def inputs(self, Z: Any, whole: bool) -> list[Any]:
        """Return the inputs of each step, and last the outputs of all; None behind the last that is needed.

        Parameters
        ----------
        Z : object
            The inputs of the first step.
        whole : bool
            Whether the outputs are needed, too.
        """
        bends = [k for k, step in enumerate(self.steps) if not step.flat]
        needed = len(self.steps) if whole else max(bends, default=0)
        found = [Z]
        for step in self.steps[:needed]:
            found.append(step.values(found[-1]))
        return found + [None] * (len(self.steps) - needed)

    def back(self, inputs: Sequence[Any], G: Floats) -> Floats:
        """Return the gradient by the inputs, the steps' inputs being known."""
        back = G
        for step, Z in zip(reversed(self.steps), inputs[-2::-1], strict=True):
            back = step.pull(Z, back)
        return back

    def pull(self, Z: Any, G: Floats) -> Floats:
        """Apply the chain rule."""
        return self.back(self.inputs(Z, whole=False), G)

    def taint(self, bad: Bools | None) -> Bools | None:
        """Follow jumps back to the first step's inputs."""
        for step in reversed(self.steps):
            bad = step.taint(bad)
        return bad

    @property
    def outputs(self) -> int:
        """Return the number of the last step's outputs."""
        return self.steps[-1].outputs

    @property
    def width(self) -> int:
        """Return the sum of the steps' widths."""
        return sum(step.width for step in self.steps)


@dataclass(frozen=True, eq=False)
class After(End):
    """An end behind a path of steps."""

    path: Path
    end: End

    @property
    def flat(self) -> bool:  # type: ignore[override]
        """Return whether the path and the end are."""
        return self.path.flat and self.end.flat

    def gradient(self, Z: Any) -> Floats:
        """Apply the chain rule."""
        inputs = self.path.inputs(Z, whole=not self.end.flat)
        return self.path.back(inputs, self.end.gradient(inputs[-1]))

    def taint(self) -> Bools | None:
        """Follow jumps back to the path's inputs."""
        return self.path.taint(self.end.taint())

    @property
    def width(self) -> int:
        """Return the sum of both widths."""
        return self.path.width + self.end.width


@dataclass(frozen=True, eq=False)
class Derivative:
    """A model's partial derivatives, ``X (n, d) -> (n, d)``.

    Where a model bends sharply, in the kinks of what is piecewise linear, it has one of the slopes beside the kink or
    their mean. By a column of text it is zero.

    Parameters
    ----------
    what : str
        The model's title, for the provenance.
    end : End
        The whole model.
    """

    what: str
    end: End

    @cached_property
    def _tainted(self) -> Bools | None:
        return self.end.taint()

    def knows(self, feature: Feature) -> bool:
        """Return whether the slope by a feature is all there is to know of it: it does not act through jumps."""
        return self._tainted is None or not self._tainted[feature.position]

    def __call__(self, X: Any) -> Floats:
        """Return the derivatives at rows in the container that the model takes, a chunk of rows at a time."""
        n = len(X)
        if self.end.flat:
            gradient = self.end.gradient(None)
            return np.broadcast_to(gradient, (n, gradient.shape[1]))
        size = max(ROOM // (8 * self.end.width), 1)
        out: Floats | None = None
        for start in range(0, n, size):
            stop = min(start + size, n)
            part = self.end.gradient(doubles(some(X, start, stop)))
            out = np.empty((n, part.shape[1])) if out is None else out
            out[start:stop] = part
        return np.empty(X.shape) if out is None else out


# ------------------------------------------------------------------------------------------
# Steps side by side: transformers of some of the columns each, or of all of them, whose outputs are joined.


@dataclass(frozen=True, eq=False)
class Branch:
    """One of several transformers.

    Parameters
    ----------
    places : ndarray of int
        The inputs' columns that it takes.
    outputs : slice
        The columns of the joint outputs that are its own.
    step : Step
    weight : float
        What its outputs are multiplied with.
    whole : bool
        Whether it takes all columns, in their order.
    """

    places: Ints
    outputs: slice
    step: Step
    weight: float = 1.0
    whole: bool = False

    def pull(self, Z: Any, G: Floats) -> Floats:
        """Return the gradient by its own columns, (n, k) or (1, k)."""
        own = Z if self.step.flat or self.whole else columns(Z, self.places)
        return self.step.pull(own, G[:, self.outputs] * self.weight)

    def taint(self, bad: Bools | None) -> Bools | None:
        """Return which of its own columns act through a jump."""
        return self.step.taint(None if bad is None else bad[self.outputs])


@dataclass(frozen=True, eq=False)
class Beside(Step):
    """Branches whose outputs stand side by side. Columns that none of them takes have a slope of zero."""

    model: Any
    branches: Sequence[Branch]
    size: int

    @property
    def flat(self) -> bool:  # type: ignore[override]
        """Return whether all branches are."""
        return all(b.step.flat for b in self.branches)

    def pull(self, Z: Any, G: Floats) -> Floats:
        """Add up what all branches give back."""
        parts = [b.pull(Z, G) for b in self.branches]
        back = np.zeros((max((len(p) for p in parts), default=1), self.size))
        for branch, part in zip(self.branches, parts, strict=True):
            for k, j in enumerate(branch.places):  # a column may stand among them twice
                back[:, j] += part[:, k]
        return back

    def taint(self, bad: Bools | None) -> Bools | None:
        """Return what acts through a jump in one of the branches."""
        back = np.zeros(self.size, dtype=bool)
        for branch in self.branches:
            own = branch.taint(bad)
            if own is not None:
                back[branch.places[own]] = True
        return back if back.any() else None

    @property
    def outputs(self) -> int:
        """Return the number of joint outputs."""
        return max((b.outputs.stop for b in self.branches), default=0)

    @property
    def width(self) -> int:
        """Return the sum of the branches' widths, and the joint inputs and outputs."""
        return 2 * (self.outputs + self.size) + sum(b.step.width for b in self.branches)
