"""Predictive distributions: the base class, predictors that return them, and encoded labels.

- `Predicted` holds the distributions of the labels of n rows. Every uncertainty quantity (entropy, likelihood,
  variance, quantile) is a method of it, so that a new kind of distribution needs only a subclass.
- `Predictor` wraps a model that returns distributions; `skedasis.distributions.registry` chooses it.
- `Labels` encodes the labels y as class codes or as numbers, and rejects labels that the model does not know.

The quantities in `skedasis.quantities.uncertainty` and `skedasis.quantities.loss` use all three.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skedasis._types import DType, Floats, Ints, Level, ModelRows, Values
from skedasis.data.dataset import to_array
from skedasis.data.factorize import missing_mask
from skedasis.errors import DataError, UnsupportedError
from skedasis.models.calling import LARGEST
from skedasis.models.introspection import title
from skedasis.models.piecewise_constant import is_piecewise_constant

# --- predictive distributions ---------------------------------------------------------------------

UncertaintyPart: TypeAlias = Literal["total", "aleatoric", "epistemic"]
"""Parts of an uncertainty: all of it, the noise within the models of a mixture, and the disagreement between them."""


class Predicted(ABC):
    """The predictive distributions of the labels of n rows: over classes, or over numbers.

    An instance owns its arrays: none is a view of the rows or of the model's memory. All logarithms are natural.
    """

    @property
    @abstractmethod
    def dtype(self) -> DType:
        """Return the dtype that the model computed in, which limits the precision of differences."""

    @abstractmethod
    def __len__(self) -> int:
        """Return n."""

    @abstractmethod
    def entropy(self, part: UncertaintyPart = "total") -> Floats:
        """Return the entropies, shape (n,), in nats; differential entropies if the label is a continuous number."""

    def entropy_error(self) -> Floats:
        """Return estimates of the numerical errors of the total entropies, in nats, (n,); 0 for closed forms."""
        return np.zeros(len(self))

    @abstractmethod
    def log_likelihood(self, y: Values) -> Floats:
        """Return the log probability, or log density, of each row's label, shape (n,)."""

    def floored(self, y: Values) -> int:
        """Return the number of rows whose label probability was raised to the floor of `log_likelihood`."""
        return 0

    @abstractmethod
    def mean(self) -> Floats:
        """Return the expected labels, shape (n,)."""

    @abstractmethod
    def variance(self, part: UncertaintyPart = "total") -> Floats:
        """Return the variances of the labels, shape (n,)."""

    @abstractmethod
    def quantile(self, p: float) -> Floats:
        """Return the p-quantiles of the labels, shape (n,)."""

    @staticmethod
    def joined(parts: Sequence[Predicted]) -> Predicted:
        """Return the distributions of rows that were predicted in parts."""
        return _InParts(parts)


@dataclass(frozen=True, eq=False)
class _InParts(Predicted):
    """The distributions of rows that were predicted in parts, one after the other."""

    parts: Sequence[Predicted]

    @property
    def dtype(self) -> DType:
        return self.parts[0].dtype

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def _of_each(self, y: Values) -> Iterator[tuple[Predicted, Values]]:
        """Yield each part with its labels."""
        first = 0
        for part in self.parts:
            yield part, y[first : first + len(part)]
            first += len(part)

    def entropy(self, part: UncertaintyPart = "total") -> Floats:
        return np.concatenate([p.entropy(part) for p in self.parts])

    def entropy_error(self) -> Floats:
        return np.concatenate([p.entropy_error() for p in self.parts])

    def log_likelihood(self, y: Values) -> Floats:
        return np.concatenate([p.log_likelihood(some) for p, some in self._of_each(y)])

    def floored(self, y: Values) -> int:
        return sum(p.floored(some) for p, some in self._of_each(y))

    def mean(self) -> Floats:
        return np.concatenate([p.mean() for p in self.parts])

    def variance(self, part: UncertaintyPart = "total") -> Floats:
        return np.concatenate([p.variance(part) for p in self.parts])

    def quantile(self, p: float) -> Floats:
        return np.concatenate([part.quantile(p) for part in self.parts])


def require_total(part: UncertaintyPart) -> None:
    """Raise if a part of the uncertainty is requested that only a mixture has."""
    if part != "total":
        raise UnsupportedError(
            f"part={part!r}",
            "a model with one predictive distribution per row",
            "a mixture, whose members' disagreement is the epistemic part",
            "Make a mixture of several models: sd.ensemble([model, model2, …])",
        )


# --- labels: class codes or numbers ---------------------------------------------------------------

LabelKind: TypeAlias = Literal["classes", "numbers", "either"]

_SHOWN = 5
"""Number of labels that a message lists."""

_FIX = {
    "classes": "Pass class codes 0, 1, …: the positions of the columns of the probabilities",
    "either": "Pass numbers, or, if the model returns probabilities, class codes 0, 1, …: the positions of their "
    "columns",
}
"""Advice for labels that are not numbers, if the classes of the model have no names."""


@dataclass(frozen=True)
class Labels:
    """The kind of label that a model predicts."""

    kind: LabelKind = "either"
    classes: Sequence[Level] | None = None

    @property
    def values(self) -> Floats | None:
        """Return the classes as numbers; None if they are not numbers."""
        return None if self.classes is None else class_values(self.classes)

    def encode(self, y: ArrayLike, what: str) -> Values:
        """Return each row's label as a class code, (n,) of int, or as a finite number, (n,) of float."""
        if self.classes is None:
            return label_numbers(y, what, _FIX.get(self.kind))
        return class_codes(y, self.classes, what)


def class_values(classes: Sequence[Level]) -> Floats | None:
    """Return the labels of classes as numbers; None if they are not numbers."""
    values = np.asarray(list(classes))
    return values.astype(float) if values.dtype.kind in "fiub" else None


def class_codes(y: ArrayLike, classes: Sequence[Level], what: str) -> Ints:
    """Return the index of each label among a model's classes, (n,)."""
    y = np.asarray(y)
    code_of = {label: k for k, label in enumerate(classes)}
    if y.dtype.kind == "O":
        codes = np.array([_class_code(code_of, label) for label in y.tolist()], dtype=np.int64)
    else:
        distinct, which = np.unique(y, return_inverse=True)
        codes = np.array([_class_code(code_of, label) for label in distinct.tolist()], np.int64)
        codes = codes[which]
    unknown = codes < 0
    if unknown.any():
        refuse_missing_labels(y, what)
        fix = "Leave these rows out, or fit the model on all classes"
        if 2 * int(unknown.sum()) > len(
            y
        ):  # so many unknown labels suggest that y is another column
            names = _listed(list(classes))
            fix = f"Pass labels as in model.classes_, {names}: did you pass the right column?"
        raise DataError(
            f"{what}: y",
            f"{_distinct(y[unknown])} for {int(unknown.sum()):,} of {len(y):,} rows",
            f"labels that the model knows: {_listed(list(classes))}",
            fix,
        )
    return codes


def _class_code(code_of: dict[Level, int], label: Level) -> int:
    try:
        return code_of.get(label, -1)
    except TypeError:  # not hashable, so no label of a model
        return -1


def label_numbers(y: ArrayLike, what: str, fix: str | None = None) -> Floats:
    """Return labels as finite numbers, (n,)."""
    y = np.asarray(y)
    # Text such as "1" would convert to a number, but it is a label; a date is no number either.
    text = y.dtype.kind == "O" and any(isinstance(v, (str, bytes)) for v in y)
    try:
        if text or y.dtype.kind not in "fiubO":
            raise TypeError
        numbers = y.astype(float, copy=False)  # read-only use, so no copy is needed
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"{what}: y",
            f"labels that are not numbers, such as {_distinct(y[:1])}",
            "a number for each row, as the model predicts",
            fix or "Pass y as numbers",
        ) from error
    infinite = ~np.isfinite(numbers)
    if infinite.any():
        refuse_missing_labels(numbers, what)
        raise DataError(
            f"{what}: y",
            f"infinite labels for {int(infinite.sum()):,} of {len(y):,} rows",
            "finite numbers",
            "Leave these rows out",
        )
    if (largest := np.abs(numbers).max(initial=0.0)) > LARGEST:
        raise DataError(
            f"{what}: y",
            f"labels up to {largest:.3g} in size",
            f"at most {LARGEST:g}, because variances are computed from squares",
            "Rescale labels and predictions",
        )
    return numbers


def refuse_missing_labels(y: ArrayLike, what: str) -> None:
    """Raise if there are missing labels."""
    missing = missing_mask(y)
    if missing.any():
        raise DataError(
            f"{what}: y",
            f"missing labels (NaN or None) for {int(missing.sum()):,} of {len(missing):,} rows",
            "a label for every row",
            "Leave these rows out of X and y",
        )


def as_class_codes(y: Values, k: int) -> Ints:
    """Return labels as codes of k classes, for a model whose classes have no names: they are 0 to k - 1."""
    if y.dtype.kind in "iu":
        return y.astype(np.int64, copy=False)
    numbers = y.astype(float, copy=False)
    unknown = ~((numbers >= 0) & (numbers < k) & (numbers == np.floor(numbers)))
    if unknown.any():
        raise DataError(
            "y",
            f"{_distinct(y[unknown])} for {int(unknown.sum()):,} of {len(y):,} rows",
            f"the code of one of {k} classes, 0 to {k - 1}, because the model returns (rows, {k}) probabilities",
            "Encode the labels as the positions of the columns of the probabilities",
        )
    return y.astype(np.int64)


def _distinct(labels: Values) -> str:
    """Return the first distinct labels as text, for a message."""
    some = labels[:10_000]
    if some.dtype.kind in "mM":  # as lists, times of nanoseconds are integers
        some = some.astype(str)
    return _listed(list(dict.fromkeys(repr(v) for v in some.tolist())), quoted=True)


def _listed(labels: Sequence[object], quoted: bool = False) -> str:
    shown = ", ".join(str(v) if quoted else repr(v) for v in labels[:_SHOWN])
    return f"[{shown}{', …' if len(labels) > _SHOWN else ''}]"


# --- predictors -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Predictor(ABC):
    """A model that returns the distributions of its labels; it can be pickled if the model can."""

    model: object

    @property
    def labels(self) -> Labels:
        """Return the kind of label that the model predicts."""
        return Labels()

    @property
    def mixture(self) -> bool:
        """Return whether the distributions are mixtures, whose uncertainty has parts."""
        return False

    @property
    def stepped(self) -> bool:
        """Return whether the distributions are piecewise constant functions of the rows."""
        return is_piecewise_constant(self.model)

    @abstractmethod
    def distributions(self, X: ModelRows) -> Predicted:
        """Return the distributions for rows in X's container."""

    def describe(self) -> str:
        """Return the model's title."""
        return title(self.model)


def float_rows(X: Any) -> Floats:
    """Return a copy of rows in any container as an array of numbers."""
    return np.array(to_array(X), dtype=float)


def row_chunks(X: Any, size: int) -> Iterator[Any]:
    """Yield the rows of an array or a data frame in chunks of up to `size` rows."""
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
