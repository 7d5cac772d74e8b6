"""What makes a model uncertain, as quantities: numbers read off its predictive distributions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np

from skedasis._types import Floats
from skedasis.data.features import Feature
from skedasis.quantity import closed
from skedasis.quantity.adapted import Adapted
from skedasis.quantity.base import Quantity, Traits
from skedasis.quantity.closed import chain
from skedasis.quantity.from_model import FromModel
from skedasis.quantity.predicted import Part, Predicted
from skedasis.quantity.predictive.classes import Classes
from skedasis.quantity.predictive.sklearn import Classifier

Base = Literal["e", 2]

_TINY = float(np.finfo(float).smallest_subnormal)


@dataclass(frozen=True, eq=False)
class Uncertainty(FromModel):
    """A number read off a model's predictive distributions.

    All of a model's are read off the same answer: those whose `predictor` is of the same model may share a tape.
    """

    predictor: Any = None

    def calling(self, model: Any) -> Quantity | None:
        """Return the same of another classifier; distributions of other kinds are more than one answer."""
        if type(self.predictor) is not Classifier:
            return None
        return replace(self, model=model, predictor=Classifier(model))

    def computed(self, raw: Predicted) -> Any:
        """Return the type that the model computed in."""
        return raw.dtype

    def raw(self, X: Any) -> Predicted:
        """Call the model."""
        return self.predictor.distributions(X)

    def describe(self) -> str:
        """Return the quantity as a user would write it."""
        return f"{self.name}({self.predictor.describe()})"

    def traits(self, feature: Feature) -> Traits:
        """Take differences of a network: its own derivatives are those of its answers, not of this."""
        if isinstance(self.model, Adapted):
            return Traits("differences", "central differences")
        return super().traits(feature)

    @property
    def has_mixed(self) -> bool:
        """Return whether there are mixed derivatives; see `traits`."""
        return not isinstance(self.model, Adapted) and super().has_mixed

    @property
    def stepped(self) -> bool:
        """Return whether the distributions are constant between jumps."""
        return self.predictor.stepped

    def _closed_form(self) -> chain.Derivative | None:
        """Return the derivative of the first class's log odds: where there is one, there is one of each class."""
        plain = isinstance(self.predictor, Classifier) and self.of_probabilities
        return closed.logit_derivative(self.model, 0) if plain else None

    @property
    def of_probabilities(self) -> bool:
        """Return whether it has slopes where log odds have."""
        return False

    def _log_odds(self, X: Any) -> tuple[Floats, list[Floats]]:
        """Return the probabilities, (k, n), and the slopes of the log odds of each class, k times (n, d)."""
        p = cast("Classes", self.raw(X)).p
        if len(p) == 2:
            second = closed.logit_derivative(self.model, 1)(X)  # type: ignore[misc]
            return p, [-second, second]
        forms = [closed.logit_derivative(self.model, k) for k in range(len(p))]
        return p, [form(X) for form in forms]  # type: ignore[misc]


@dataclass(frozen=True, eq=False)
class Entropy(Uncertainty):
    """The entropy of the predictive distribution, or a part of it. Made by `entropy`."""

    part: Part = "total"
    base: Base = "e"

    def read(self, raw: Any, y: Any = None) -> Floats:
        """Return the entropies in units of the base."""
        return in_base(raw.entropy(self.part), self.base)

    @property
    def of_probabilities(self) -> bool:
        """Return that the whole entropy has slopes."""
        return self.part == "total"

    def slopes(self, X: Any, y: Any = None) -> Floats:
        """Return -sum p_k' log p_k (the p_k' sum to 0), with p_k' = p_k (1 - p_k) times the log odds' slope."""
        p, slopes = self._log_odds(X)
        total = np.zeros(slopes[0].shape)
        for one, slope in zip(p, slopes, strict=True):
            # A probability of 0 has no slope either.
            total -= (one * (1.0 - one) * np.log(np.maximum(one, _TINY)))[:, None] * slope
        return in_base(total, self.base)


@dataclass(frozen=True, eq=False)
class NegativeLogLikelihood(Uncertainty):
    """Minus the log likelihood of each row's label. Made by `nll`."""

    base: Base = "e"

    labelled = True

    def encoded(self, y: Any) -> Any:
        """Return labels as places of classes, or as numbers."""
        return self.predictor.labels.encode(y, self.describe())

    def read(self, raw: Any, y: Any = None) -> Floats:
        """Return the negative log-likelihoods in units of the base."""
        found = raw.log_likelihood(y)
        return in_base(np.subtract(0.0, found, out=found), self.base)

    @property
    def of_probabilities(self) -> bool:
        """Return that it has slopes."""
        return True

    def slopes(self, X: Any, y: Any = None) -> Floats:
        """Return -(log p_y)' = -(1 - p_y) times the log odds' slope: 0 where p_y is raised to the floor."""
        p, slopes = self._log_odds(X)
        own = p[y, np.arange(p.shape[1])]
        found = np.zeros(slopes[0].shape)
        for k, slope in enumerate(slopes):
            found[y == k] = slope[y == k]
        open_ = own >= np.finfo(float).eps
        found *= np.where(open_, own - 1.0, 0.0)[:, None]
        return in_base(found, self.base)

    def floored(self, raw: Any, y: Any = None) -> int:
        """Return for how many rows the label's probability was raised to the floor."""
        return raw.floored(y)


@dataclass(frozen=True, eq=False)
class PredictiveVariance(Uncertainty):
    """The variance of the predictive distribution, or a part of it. Made by `predictive_variance`."""

    part: Part = "total"

    def read(self, raw: Any, y: Any = None) -> Floats:
        """Return the variances."""
        return raw.variance(self.part)


@dataclass(frozen=True, eq=False)
class PredictiveQuantile(Uncertainty):
    """A quantile of the predictive distribution. Made by `predictive_quantile`."""

    p: float = 0.5

    def read(self, raw: Any, y: Any = None) -> Floats:
        """Return the quantiles."""
        return raw.quantile(self.p)


def in_base(nats: Floats, base: Base) -> Floats:
    """Return information in units of the base, from nats."""
    return nats if base == "e" else nats / np.log(2.0)
