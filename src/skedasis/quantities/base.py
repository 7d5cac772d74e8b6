"""`Quantity`: a scalar function of a row (and of its label, where it needs one), derived from a fitted model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.dataset import Batch, Source, as_source
from skedasis.data.factorize import missing_among
from skedasis.data.features import Feature
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.models.adapters import Traits
from skedasis.models.calling import Meter

if TYPE_CHECKING:
    from skedasis.quantities.evaluator import Bound, Tape


# ------------------------------------------------------------------------------------------
# `Quantity`: a scalar function of a row (and of its label, where it needs one), derived from a fitted model.


CALL_ROWS = 100_000
"""Rows that one call of the model carries: enough to hide what a call costs, few enough to stay in memory."""


FULL_CALL = 10_000
"""Rows from which on what a call costs is small beside what it does."""


_EPS = float(np.finfo(float).eps)


class Quantity(ABC):
    """A scalar function of a row. Immutable; picklable where its model is.

    Attributes
    ----------
    name : str
        Shown on axes.
    unit : str or None
        Shown on axes.
    """

    name: str = "prediction"
    unit: str | None = None

    labelled: bool = False
    """Whether it needs the rows' labels: a likelihood and a loss do, a prediction and an entropy do not."""

    @property
    def called(self) -> Any:
        """Return the model that `raw` calls, None where it is not known."""
        return None

    def calling(self, model: Any) -> Quantity | None:
        """Return the same quantity of another model that answers alike, None where that cannot be."""
        return None

    @abstractmethod
    def raw(self, X: Any) -> Any:
        """Call the model on rows in X's container, and return all that it answers.

        Kept apart from `read`, so that one call serves all quantities that can be read off the same answer: the outputs
        of a model, or the entropy and the likelihood of its predictive distribution.
        """

    def read(self, raw: Any, y: Any = None) -> Any:
        """Return the quantity's values from what `raw` returned: (n,) numbers, if all is well.

        Parameters
        ----------
        raw : object
            The model's answer for n rows.
        y : ndarray, shape (n,), optional
            These rows' labels as `encoded` returned them, where the quantity is `labelled`.
        """
        return raw

    def encoded(self, y: Any) -> Any:
        """Return labels as `read` takes them, or refuse them. Only where the quantity is `labelled`."""
        return y

    def computed(self, raw: Any) -> Any:
        """Return the type that the model computed in, where what is read off its answer hides it; else None."""
        return None

    def floored(self, raw: Any, y: Any = None) -> int:
        """Return for how many rows the answer was too small for its logarithm and was raised to a floor."""
        return 0

    def outputs(
        self, source: Source, meter: Meter | None = None, among: Ints | None = None
    ) -> dict[Any, Quantity] | None:
        """Return the quantities of the single outputs, by their labels; None for a quantity that is one itself.

        Where the model has to be asked how many there are, it is on rows that are `among` those of these places, and
        `meter` counts them.
        """
        return None

    @property
    def has_mixed(self) -> bool:
        """Return whether there are mixed second derivatives of its own."""
        return False

    def mixed(self, X: Any, j: int, k: int) -> Any:
        """Return the mixed second derivative by columns j and k at each row, (n,). Only where `has_mixed`."""
        raise UnsupportedError(
            explained(self.describe(), "no mixed derivative", "one of its own", "Give mixed=")
        )

    def slopes(self, X: Any, y: Any = None) -> Any:
        """Call the model's derivative: (n, d). Only where `traits` says that there is one."""
        raise UnsupportedError(
            explained(self.describe(), "no derivative", "a differentiable model", "Give slope=")
        )

    def traits(self, feature: Feature) -> Traits:
        """Return what the quantity can do for a feature."""
        return Traits("differences", "central differences")

    def describe(self) -> str:
        """Return the quantity as a user would write it, for errors and provenances."""
        return self.name

    def prepare(self, source: Source) -> Source:
        """Check that the rows are of the kind that the model was fitted on, and return them in its container.

        Where the quantity is `labelled`, they carry their labels as it reads them.
        """
        return self.with_labels(source)

    def with_labels(self, source: Source) -> Source:
        """Return the rows with their labels encoded, if the quantity needs them.

        Raises
        ------
        DataError
            Where there are none, or some are missing.
        """
        if not self.labelled:
            return source
        if source.y is None:
            raise DataError(
                explained(
                    self.describe(), "no y", "the label of each row", "Pass y=, the labels of X"
                )
            )
        missing = int(missing_among(source.y).sum())
        if missing:
            raise DataError(
                explained(
                    f"{self.describe()}: y",
                    f"{missing:,} missing labels (NaN or None)",
                    "a label for every row",
                    "Leave these rows out",
                )
            )
        return replace(source, targets=np.asarray(self.encoded(source.y)))

    @property
    def axis(self) -> str:
        """Return the text for an axis."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    def on(
        self,
        batch: Batch,
        copies: int = 1,
        eps: float = _EPS,
        used: Bound | None = None,
        tape: Tape | None = None,
    ) -> Bound:
        """Bind the quantity to a batch of rows.

        Parameters
        ----------
        batch : Batch
        copies : int
            How many sets of the batch's rows one call of the model carries at most.
        eps : float
            Unit round-off of the numbers that the model computes in.
        used : Bound, optional
            A bound of the same worker that is done: its buffer's memory is used again.
        tape : Tape, optional
            Answers that are shared with the model's other outputs.
        """
        if getattr(self.called, "forest", None) is not None:
            from skedasis.quantities.tree_evaluator import TreeBound

            return TreeBound(self, batch, copies, eps, used, tape)
        from skedasis.quantities.evaluator import Bound

        return Bound(self, batch, copies, eps, used, tape)

    def at(self, X: Any, y: Any = None) -> Floats:
        """Return the quantity at each row of X.

        Parameters
        ----------
        X : array or data frame of n rows
        y : array of n labels, optional
            For quantities that need them.

        Returns
        -------
        ndarray of float, shape (n,)
            Of a quantity with several outputs a dictionary of these.

        Raises
        ------
        DataError
            Where X does not fit the model.
        ModelOutputError
            Where the model's answer is not one finite number a row.

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
        source = self.prepare(as_source(X, y))
        several = self.outputs(source)
        if several is not None:
            return {k: q.at(X, y) for k, q in several.items()}  # type: ignore[return-value]
        return np.concatenate([self.on(b).at() for b in source.batches(CALL_ROWS)])
