"""Predictive distributions: the base class, predictors that return them, and encoded labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.models.introspection import title
from skedasis.models.piecewise_constant import is_piecewise_constant

# ------------------------------------------------------------------------------------------
# `Predicted`: what a model says of the labels of some rows, as distributions.


Part = Literal["total", "aleatoric", "epistemic"]
"""Of an uncertainty: all of it, the noise that every model of a mixture sees, and what the models disagree on."""


class Predicted(ABC):
    """The predictive distributions of n rows: of a label that is one of several classes, or a number.

    An answer of its own: nothing in it is a view of what a model was given or holds. All logarithms are natural.
    """

    @property
    @abstractmethod
    def dtype(self) -> Any:
        """Return the type that the model computed in: differences are no more exact than it is."""

    @abstractmethod
    def __len__(self) -> int:
        """Return n."""

    @abstractmethod
    def entropy(self, part: Part = "total") -> Floats:
        """Return the entropies, shape (n,), in nats; differential ones where the label is a number."""

    def entropy_error(self) -> Floats:
        """Return how far off the total entropies may be, in nats, (n,): 0 where they have a closed form."""
        return np.zeros(len(self))

    @abstractmethod
    def log_likelihood(self, y: Any) -> Floats:
        """Return the log probability, or log density, of each row's label, shape (n,)."""

    def floored(self, y: Any) -> int:
        """Return of how many rows the label's probability was raised to the floor of `log_likelihood`."""
        return 0

    @abstractmethod
    def mean(self) -> Floats:
        """Return the expected labels, shape (n,)."""

    @abstractmethod
    def variance(self, part: Part = "total") -> Floats:
        """Return the variances of the labels, shape (n,)."""

    @abstractmethod
    def quantile(self, p: float) -> Floats:
        """Return the p-quantiles of the labels, shape (n,)."""


def whole(part: Part) -> None:
    """Refuse to take apart the uncertainty of what is no mixture.

    Raises
    ------
    UnsupportedError
        For another part than "total".
    """
    if part != "total":
        raise UnsupportedError(
            explained(
                f"part={part!r}",
                "one predictive distribution a row",
                "several, whose disagreement is the epistemic part",
                "Make a mixture of them: sd.ensemble([model, model2, …])",
            )
        )


# ------------------------------------------------------------------------------------------
# The labels of rows, as distributions read them: places of classes, or numbers.


_SHOWN = 5


_PLACES = {
    "classes": "Pass the places of the probabilities' columns, 0, 1, …",
    "either": "Pass numbers; where the model answers with probabilities, the places of their columns, 0, 1, …",
}
"""What labels are to be where classes have no names."""


@dataclass(frozen=True)
class Labels:
    """What a model predicts.

    Parameters
    ----------
    kind : {"classes", "numbers", "either"}
        "either" where only the model's answer tells.
    classes : sequence, optional
        The labels of the classes, in the order of the probabilities' columns.
    """

    kind: str = "either"
    classes: Sequence[Any] | None = None

    @property
    def values(self) -> Floats | None:
        """Return the classes as numbers, None where they are none."""
        return None if self.classes is None else class_values(self.classes)

    def encode(self, y: Any, what: str) -> NDArray[Any]:
        """Return each row's label as a place among the classes (n,) of int, or as a finite number (n,) of float.

        Raises
        ------
        DataError
            For labels that the model does not know, or that are no finite numbers.
        """
        if self.classes is None:
            return _numbers(np.asarray(y), what, _PLACES.get(self.kind))
        return _places(np.asarray(y), self.classes, what)


def class_values(classes: Sequence[Any]) -> Floats | None:
    """Return the labels of classes as numbers, None where they are none."""
    values = np.asarray(list(classes))
    return values.astype(float) if values.dtype.kind in "fiub" else None


def _places(y: NDArray[Any], classes: Sequence[Any], what: str) -> Ints:
    place = {label: k for k, label in enumerate(classes)}
    if y.dtype.kind == "O":
        codes = np.array([_place(place, label) for label in y.tolist()], dtype=np.int64)
    else:
        distinct, which = np.unique(y, return_inverse=True)
        codes = np.array([_place(place, label) for label in distinct.tolist()], dtype=np.int64)
        codes = codes[which]
    strange = codes < 0
    if strange.any():
        fix = "Leave these rows out, or fit the model on all classes"
        if 2 * int(strange.sum()) > len(y):  # one row is a row, many are another column
            names = _listed(list(classes))
            fix = f"Pass labels as in model.classes_, {names}: did you pass the right column?"
        raise DataError(
            explained(
                f"{what}: y",
                f"{_named(y[strange])} for {int(strange.sum()):,} of {len(y):,} rows",
                f"labels that the model knows: {_listed(list(classes))}",
                fix,
            )
        )
    return codes


def _place(place: dict[Any, int], label: Any) -> int:
    try:
        return place.get(label, -1)
    except TypeError:  # a label that has no hash is none of a model's
        return -1


def _numbers(y: NDArray[Any], what: str, fix: str | None = None) -> Floats:
    # Text that reads as a number is still a label, and a date is no number.
    text = y.dtype.kind == "O" and any(isinstance(v, (str, bytes)) for v in y)
    try:
        if text or y.dtype.kind not in "fiubO":
            raise TypeError
        numbers = y.astype(float, copy=False)  # only ever read
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            explained(
                f"{what}: y",
                f"labels that are no numbers, such as {_named(y[:1])}",
                "a number for each row, as the model predicts",
                fix or "Pass y as numbers",
            )
        ) from error
    strange = ~np.isfinite(numbers)
    if strange.any():
        raise DataError(
            explained(
                f"{what}: y",
                f"infinite labels for {int(strange.sum()):,} of {len(y):,} rows",
                "finite numbers",
                "Leave these rows out",
            )
        )
    return numbers


def as_places(y: Any, k: int) -> Ints:
    """Return labels as places among k classes: those of a model that has no names for its classes are 0 to k - 1.

    Raises
    ------
    DataError
        For others.
    """
    y = np.asarray(y)
    if y.dtype.kind in "iu":
        return y
    strange = ~((y >= 0) & (y < k) & (y == np.floor(y)))
    if strange.any():
        raise DataError(
            explained(
                "y",
                f"{_named(y[strange])} for {int(strange.sum()):,} of {len(y):,} rows",
                f"the index of one of {k} classes, 0 to {k - 1}: the model answers with (rows, {k}) probabilities",
                "Encode the labels as the columns of the probabilities",
            )
        )
    return y.astype(np.int64)


def _named(labels: NDArray[Any]) -> str:
    """Return the first of some labels, each once, as a user would write them."""
    return _listed(list(dict.fromkeys(repr(v) for v in labels[:10_000].tolist())), quoted=True)


def _listed(labels: list[Any], quoted: bool = False) -> str:
    shown = ", ".join(str(v) if quoted else repr(v) for v in labels[:_SHOWN])
    return f"[{shown}{', …' if len(labels) > _SHOWN else ''}]"


# ------------------------------------------------------------------------------------------
# `Predictor`: a model, as something that answers with distributions.


@dataclass(frozen=True, eq=False)
class Predictor(ABC):
    """A model that answers with the distributions of its labels. Picklable where the model is.

    Parameters
    ----------
    model : object
        As the user gave it.
    """

    model: Any

    @property
    def labels(self) -> Labels:
        """Return what the model predicts."""
        return Labels()

    @property
    def mixture(self) -> bool:
        """Return whether it answers with mixtures, whose uncertainty has parts."""
        return False

    @property
    def stepped(self) -> bool:
        """Return whether its answers are constant between jumps."""
        return is_piecewise_constant(self.model)

    @abstractmethod
    def distributions(self, X: Any) -> Predicted:
        """Call the model on rows in X's container."""

    def describe(self) -> str:
        """Return the model's title."""
        return title(self.model)


def pieces(X: Any, size: int) -> Iterator[Any]:
    """Yield the rows of an array or a data frame, up to `size` at a time."""
    n = len(X)
    if n <= size:
        yield X
        return
    for start in range(0, n, size):
        part = slice(start, min(start + size, n))
        if hasattr(X, "dtype"):
            yield X[part]
        else:
            import narwhals.stable.v2 as nw

            yield nw.from_native(X, eager_only=True)[part].to_native()
