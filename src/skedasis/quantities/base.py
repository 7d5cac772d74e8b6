"""`Quantity`: a scalar function of a row, and of its label for losses and likelihoods, derived from a fitted model.

A subclass says how to call the model (`raw`) and how to compute its values from the model's response (`read`). Methods
never call these: they ask the evaluator that `Quantity.evaluator` returns (see `skedasis.quantities.evaluator`).
`ModelProxy` is the base of what may stand in for a model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

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
    """A scalar function of a row. Immutable; picklable if its model is.

    Attributes
    ----------
    name, unit : str or None
        Label and unit on the axes of plots.
    """

    name: str = "prediction"
    unit: str | None = None

    model: object = None
    """The model that `raw` calls; None if it is not known."""

    labelled: bool = False
    """Whether the quantity needs the rows' labels: likelihoods and losses do, predictions and entropies do not."""

    copy: bool = False
    """Whether each call of the model gets rows of its own, which are never used again."""

    @property
    def batch_rows(self) -> int | None:
        """Return how many rows a batch should have at most because of the model; None for any number."""
        return self.model.batch_rows if isinstance(self.model, AdaptedModel) else None

    def with_model(self, model: object) -> Quantity | None:
        """Return this quantity of another model with the same responses; None if that is not possible."""
        return None

    @abstractmethod
    def raw(self, X: ModelRows) -> RawResponse:
        """Call the model on rows in X's container and return its full response.

        Separate from `read`, so that one call serves all quantities that are computed from the same response: the
        outputs of a model, or the entropy and the likelihood of its predictive distribution.
        """

    def read(self, raw: RawResponse, y: Values | None = None) -> object:
        """Return the quantity's values from the response that `raw` returned: (n,) numbers, unless it is invalid.

        Parameters
        ----------
        raw : object
            The model's response for n rows.
        y : ndarray, shape (n,), optional
            The rows' labels as returned by `encoded`, if the quantity is `labelled`.
        """
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
        """Return the quantity of each output by its label; a quantity with a single output has the label None.

        If the model has to be called to learn the number of outputs, it is called on rows at the positions `among`,
        and `stats` counts them.
        """
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
        """Check that the rows match the model's training data and return them in the container that it was fitted on.

        If the quantity is `labelled`, the rows carry their encoded labels.
        """
        return self.with_labels(dataset)

    def with_labels(self, dataset: Dataset) -> Dataset:
        """Return the rows with their encoded labels if the quantity needs labels.

        Raises
        ------
        DataError
            If the dataset has no labels, or some are missing.
        """
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
        """Return the evaluator of the quantity on a batch of rows.

        Parameters
        ----------
        batch : Batch
        copies : int
            Maximum number of copies of the batch in one call of the model.
        eps : float
            Unit round-off of the dtype that the model computes in.
        used : BatchEvaluator, optional
            A finished evaluator of the same worker, whose buffer is reused.
        cache : ResponseCache, optional
            Cache of responses, shared with the evaluators of the model's other outputs.
        """
        model = self.model
        kind = model.evaluator_class if isinstance(model, ModelProxy) else BatchEvaluator
        return kind(self, batch, copies, eps, used, cache)

    def at(self, X: TableLike, y: ArrayLike | None = None) -> Floats:
        """Return the quantity at each row of X.

        Parameters
        ----------
        X : array or data frame of n rows
        y : array of n labels, optional
            Required by losses and likelihoods.

        Returns
        -------
        ndarray of float, shape (n,)
            For a quantity with several outputs, a dictionary with one array per output.

        Raises
        ------
        DataError
            If X does not match the model.
        ModelOutputError
            If the model does not return one finite number per row.

        Notes
        -----
        Costs n model rows.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> sd.prediction(lambda X: 2 * X[:, 0]).at(np.array([[1.0], [4.0]]))
        array([2., 8.])
        """
        dataset = self.prepare(as_dataset(X, y))
        return np.concatenate([self.evaluator(b).values() for b in dataset.batches(CALL_ROWS)])
