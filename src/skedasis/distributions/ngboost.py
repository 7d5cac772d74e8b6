"""Predictive distributions of NGBoost's models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skedasis._types import ModelRows
from skedasis.distributions.base import Labels, Predicted, Predictor
from skedasis.distributions.categorical import as_classes
from skedasis.distributions.scipy import as_distribution, is_distribution
from skedasis.errors import UnsupportedError


@dataclass(frozen=True, eq=False)
class NGBoostPredictor(Predictor):
    """A fitted NGBoost model. The classes of a classifier are 0, 1, …, as NGBoost requires."""

    model: Any  # NGBoost has no types

    @property
    def labels(self) -> Labels:
        return Labels("classes" if hasattr(self.model, "predict_proba") else "numbers")

    def distributions(self, X: ModelRows) -> Predicted:
        """Return the SciPy distributions, or the probabilities, that the model predicts."""
        n, what = len(X), self.describe()
        if self.labels.kind == "classes":
            return as_classes(self.model.predict_proba(X), n, what)
        predicted = self.model.pred_dist(X)
        inner = getattr(predicted, "dist", None)
        if not is_distribution(inner):
            raise UnsupportedError(
                what,
                f"{type(predicted).__name__} distributions",
                "distributions of one number",
                "Fit NGBRegressor with such a distribution, for example Dist=Normal",
            )
        return as_distribution(inner, n, what)
