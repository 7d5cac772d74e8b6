"""Predictive distributions of NGBoost's models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skedasis.distributions.base import Labels, Predicted, Predictor
from skedasis.distributions.categorical import as_classes
from skedasis.distributions.scipy import as_distribution, is_distribution
from skedasis.errors import UnsupportedError, explained


@dataclass(frozen=True, eq=False)
class Boosted(Predictor):
    """A fitted NGBoost model. A classifier's classes are 0, 1, …, as NGBoost wants them."""

    @property
    def labels(self) -> Labels:
        """Return what the model predicts."""
        return Labels("classes" if hasattr(self.model, "predict_proba") else "numbers")

    def distributions(self, X: Any) -> Predicted:
        """Return the SciPy distributions, or the probabilities, that the model predicts."""
        n, what = len(X), self.describe()
        if self.labels.kind == "classes":
            return as_classes(self.model.predict_proba(X), n, what)
        found = self.model.pred_dist(X)
        inner = getattr(found, "dist", None)
        if not is_distribution(inner):
            raise UnsupportedError(
                explained(
                    what,
                    f"distributions of the kind {type(found).__name__}",
                    "distributions of one number",
                    "Fit NGBRegressor with one of these, such as Dist=Normal",
                )
            )
        return as_distribution(inner, n, what)
