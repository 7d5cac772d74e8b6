"""`Quantity`: a scalar function of a row, and of its label for losses and likelihoods, derived from a fitted model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import is_number, shown
from skedasis._types import (
    DType,
    Floats,
    Ints,
    ModelRows,
    OutputLabel,
    RawResponse,
    TableLike,
    Values,
)
from skedasis.data.dataset import Batch, Dataset, as_dataset
from skedasis.data.factorize import missing_mask
from skedasis.data.features import Feature
from skedasis.errors import DataError, UnsupportedError
from skedasis.models.adapters import Breakpoints, DerivativeInfo
from skedasis.models.calling import CallStats
from skedasis.models.protocols import AdaptedModel
from skedasis.quantities.evaluator import BatchEvaluator, ResponseCache

CALL_ROWS = 100_000
"""Rows per call of the model: enough to make the overhead of a call negligible, few enough to fit in memory."""

FULL_CALL = 10_000
"""Rows per call above which the overhead of a call is small relative to its work."""

_EPS = float(np.finfo(float).eps)


class ModelProxy(AdaptedModel, ABC):
    """A stand-in for a model, with an evaluator of its own that does not call the model."""

    @property
    @abstractmethod
    def evaluator_class(self) -> type[BatchEvaluator]:
        """Return the class of the evaluators of this proxy's quantities."""

    @abstractmethod
    def breakpoints(self, feature: Feature) -> Breakpoints:
        """Return the values at which the responses jump along a feature; see `DerivativeInfo`."""


def given_labels(y: Values | None) -> Values:
    """Return the labels; raise if there are none. Evaluators always pass the labels of a labelled quantity."""
    if y is None:
        raise TypeError("a quantity that needs labels was evaluated without labels")
    return y


class Quantity(ABC):
    """A scalar function of a row."""

    name: str = "prediction"
    unit: str | None = None

    model: object = None
    """The model that `raw` calls; None if it is not known."""

    labelled: bool = False
    """Whether the quantity needs the rows' labels: likelihoods and losses do, predictions and entropies do not."""

    observed_only: bool = False
    """Whether only observed rows have values, those with their own labels: methods that change rows refuse it."""

    copy: bool = False
    """Whether each call of the model gets rows of its own, which are never used again."""

    call_rows: int | None = None
    """Most rows of a call of the model; None for any number."""

    @property
    def batch_rows(self) -> int | None:
        """Return how many rows a batch should have at most because of the model; None for any number."""
        return self.model.batch_rows if isinstance(self.model, AdaptedModel) else None

    @property
    def log_scale(self) -> bool:
        """Return whether the values are natural logarithms of what the labels are."""
        return False

    def on_label_scale(self) -> Quantity | None:
        """Return the quantity of the same model whose mean is compared with that of the labels; None if there is none.

        It is a prediction, a probability, or what a function of one was computed from: the prediction itself for a
        function that shows it on another scale (`inverse="log"`, "sqrt", a logit), the function's value for one that
        undoes a transformation of the labels (`inverse="exp"`, "square"). Entropies, variances and losses have none,
        nor have all outputs of a model together, as the labels are those of one.
        """
        return None

    def observed_labels(self, y: Values) -> Floats:
        """Return labels as numbers that `on_label_scale` predicts, (n,): for a probability 1 for its class, else 0.

        Raises `DataError` for labels that are not finite numbers, or no classes of the model. Only if the quantity has
        a label scale.
        """
        raise UnsupportedError(
            self.describe(),
            "a quantity that is not compared with labels",
            "a prediction or a probability",
            "Use sd.prediction(model) or sd.probability(model)",
        )

    def with_model(self, model: object) -> Quantity | None:
        """Return this quantity of another model with the same responses; None if that is not possible."""
        return None

    @abstractmethod
    def raw(self, X: ModelRows) -> RawResponse:
        """Call the model on rows in X's container and return its full response."""

    def read(self, raw: RawResponse, y: Values | None = None) -> object:
        """Return the quantity's values from the response that `raw` returned: (n,) numbers, unless it is invalid."""
        return raw

    def encoded(self, y: Values) -> Values:
        """Return labels in the form that `read` takes; raise `DataError` if they are invalid. Only if `labelled`."""
        return y

    def computed(self, raw: RawResponse) -> DType | None:
        """Return the dtype that the model computed in if the dtype of `read`'s values does not show it, else None."""
        return None

    def floored(self, raw: RawResponse, y: Values | None = None) -> int:
        """Return the number of rows whose probability was raised to a floor before taking its logarithm."""
        return 0

    def outputs(
        self, dataset: Dataset, stats: CallStats | None = None, among: Ints | None = None
    ) -> Mapping[OutputLabel, Quantity]:
        """Return the quantity of each output by its label; a quantity with a single output has the label None."""
        return {None: self}

    @property
    def has_mixed(self) -> bool:
        """Return whether the quantity provides mixed second derivatives."""
        return False

    def mixed(self, X: ModelRows, j: int, k: int) -> object:
        """Return the mixed second derivative by columns j and k at each row, (n,). Only if `has_mixed`."""
        raise UnsupportedError(
            self.describe(),
            "a model without mixed derivatives",
            "a model that provides them",
            "Pass sd.prediction(model, mixed=f), where f(X, j, k) returns one number per row",
        )

    def slopes(self, X: ModelRows, y: Values | None = None) -> object:
        """Call the model's derivative and return it, (n, d). Only if `derivative_info` reports one."""
        raise UnsupportedError(
            self.describe(),
            "a model without derivatives",
            "a differentiable model",
            "Pass a function for them: sd.prediction(model, slope=...)",
        )

    def derivative_info(self, feature: Feature) -> DerivativeInfo:
        """Return how local effects of a feature are best computed: from derivatives or from differences."""
        return DerivativeInfo("differences", "central differences")

    def describe(self) -> str:
        """Return the quantity as a user would write it, for errors and the provenance."""
        return self.name

    def prepare(self, dataset: Dataset) -> Dataset:
        """Check that the rows match the model's training data; return them in its container."""
        return self.with_labels(dataset)

    def with_labels(self, dataset: Dataset) -> Dataset:
        """Return the rows with their encoded labels if the quantity needs labels."""
        if not self.labelled:
            return dataset
        if dataset.y is None:
            raise DataError(
                self.describe(), "no y", "the label of each row", "Pass y= with the labels of X"
            )
        missing = int(missing_mask(dataset.y).sum())
        if missing:
            raise DataError(
                f"{self.describe()}: y",
                f"{missing:,} missing labels (NaN or None)",
                "a label for every row",
                "Leave these rows out of X and y",
            )
        return replace(dataset, targets=np.asarray(self.encoded(dataset.y)))

    @property
    def axis(self) -> str:
        """Return the axis label: the name, with the unit if there is one."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    def evaluator(
        self,
        batch: Batch,
        copies: int = 1,
        eps: float = _EPS,
        used: BatchEvaluator | None = None,
        cache: ResponseCache | None = None,
    ) -> BatchEvaluator:
        """Return the evaluator of the quantity on a batch of rows."""
        model = self.model
        kind = model.evaluator_class if isinstance(model, ModelProxy) else BatchEvaluator
        return kind(self, batch, copies, eps, used, cache)

    def at(self, X: TableLike, y: ArrayLike | None = None) -> Floats:
        """Return the quantity at each row of X."""
        dataset = self.prepare(as_dataset(X, y))
        return np.concatenate([self.evaluator(b).values() for b in dataset.batches(CALL_ROWS)])


def check_labels(name: object, unit: object) -> None:
    """Raise unless the name and the unit of a quantity are text, or None."""
    for what, text in (("name", name), ("unit", unit)):
        if text is not None and not isinstance(text, str):
            fix = f"Write {what}={str(text)!r}" if is_number(text) else "Leave it out"
            raise DataError(what, shown(text), "text", fix)
