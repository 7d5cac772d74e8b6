"""`Ensemble`: a mixture of models or samples, as a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from skedasis._types import Floats
from skedasis.errors import DataError, ModelOutputError, explained
from skedasis.quantity.fitted import title
from skedasis.quantity.piecewise import is_piecewise_constant
from skedasis.quantity.predicted import Predicted
from skedasis.quantity.predictive.classes import Classes, ClassSum
from skedasis.quantity.predictive.labels import Labels
from skedasis.quantity.predictive.members import Answer
from skedasis.quantity.predictive.mixed import mixture_of
from skedasis.quantity.predictive.numbers import Numbers, as_normal, of_rows
from skedasis.quantity.predictive.predictor import Predictor

Noise = float | Callable[[Any], Any]

_NO_NOISE = (
    "Pass noise= to sd.ensemble: the standard deviation of the observations about a member's mean"
)


@dataclass(frozen=True, eq=False)
class Ensemble(Predictor):
    """A mixture of models or samples. Made by `ensemble`; itself a model.

    Called with rows it answers with the mean: (n,) numbers, or (n, classes) probabilities.
    """

    members: Any = None
    noise: Noise | None = None
    weights: Floats | None = None

    @property
    def labels(self) -> Labels:
        """Return what the members predict."""
        return self.members.labels

    @property
    def mixture(self) -> bool:
        """Return that its uncertainty has parts."""
        return True

    @property
    def stepped(self) -> bool:
        """Return whether the mixture is constant between jumps."""
        noise = not callable(self.noise) or is_piecewise_constant(self.noise)
        return self.members.stepped and noise

    @property
    def piecewise_constant(self) -> bool:
        """Return the same, for quantities that take the ensemble for any other model."""
        return self.stepped

    @property
    def n_features_in_(self) -> int:
        """Return how many columns the members were fitted on; AttributeError where they do not say."""
        return self._of_fitted("n_features_in_")

    @property
    def feature_names_in_(self) -> Any:
        """Return the columns that the members were fitted on; AttributeError where they do not say."""
        return self._of_fitted("feature_names_in_")

    def _of_fitted(self, name: str) -> Any:
        for model in self.members.fitted:
            found = getattr(model, name, None)
            if found is not None:
                return found
        raise AttributeError(name)

    def describe(self) -> str:
        """Return what it is made of."""
        return f"ensemble of {self.members.describe()}"

    def distributions(self, X: Any) -> Predicted:
        """Call all members, and mix what they answer."""
        answers = self.members.answers(X)
        first = next(answers)
        if isinstance(first, Classes):
            return self._classes(first, answers)
        return self._numbers(X, first, answers)

    def _classes(self, first: Classes, rest: Iterator[Answer]) -> Predicted:
        if self.noise is not None:
            raise noisy("classes")
        total, count = ClassSum(self.describe()), 0
        for count, member in enumerate(_chained(first, rest), start=1):
            if not isinstance(member, Classes):
                raise self._unlike()
            total.add(member, self._weight(count - 1))
        self._check_count(count)
        return total.mixture()

    def _numbers(self, X: Any, first: Answer, rest: Iterator[Answer]) -> Predicted:
        n, spread = len(X), self._noise_of(X)
        members: list[Numbers] = []
        for member in _chained(first, rest):
            if isinstance(member, Classes):
                raise self._unlike()
            if not isinstance(member, Predicted):
                found = as_normal(member, spread, n, self.describe(), _NO_NOISE)
                members.append(found)
            elif self.noise is not None:
                raise noisy("distributions")
            else:
                members.append(cast("Numbers", member))
        self._check_count(len(members))
        w = np.array([self._weight(s) for s in range(len(members))])
        shares = (w / w.sum()).tolist()
        pairs = [(m, s) for m, s in zip(members, shares, strict=True) if s > 0]
        return mixture_of(pairs, self.describe())

    def _weight(self, s: int) -> float:
        if self.weights is None:
            return 1.0
        return float(self.weights[s]) if s < len(self.weights) else 0.0

    def _check_count(self, count: int) -> None:
        if self.weights is not None and len(self.weights) != count:
            raise other_weights(len(self.weights), count)

    def _noise_of(self, X: Any) -> Floats:
        """Return the standard deviation of the observations at each row, (n,): 0 where nothing is said of it."""
        n = len(X)
        if not callable(self.noise):
            return np.full(n, 0.0 if self.noise is None else self.noise)
        noise = of_rows(self.noise(X), n, f"noise {title(self.noise)}", "standard deviation")
        strange = int(np.count_nonzero(noise <= 0))
        if strange:
            raise ModelOutputError(
                explained(
                    f"noise {title(self.noise)}",
                    f"no positive number for {strange:,} of {n:,} rows",
                    "standard deviations, positive",
                    "Return the standard deviation of the observations, above 0",
                )
            )
        return noise

    def _unlike(self) -> ModelOutputError:
        return ModelOutputError(
            explained(
                self.describe(),
                "members that answer with classes and members that answer with numbers",
                "one kind",
                "Mix only models of the same labels",
            )
        )

    def __call__(self, X: Any) -> Any:
        """Return the mean of the mixture: (n,) numbers, or the probabilities (n, classes)."""
        found = self.distributions(X)
        return found.p.T.copy() if isinstance(found, Classes) else found.mean()


@dataclass(frozen=True, eq=False)
class ClassifierEnsemble(Ensemble):
    """A mixture of classifiers: itself one."""

    @property
    def classes_(self) -> Any:
        """Return the classes."""
        return np.asarray(self.labels.classes)

    def predict_proba(self, X: Any) -> Any:
        """Return the mean of the members' probabilities, (n, classes)."""
        return self(X)


def noisy(kind: str) -> DataError:
    """Return the error for noise that has no place."""
    return DataError(
        explained(
            "ensemble(noise)",
            f"noise= for members that answer with {kind}",
            "members that answer with a mean alone",
            "Leave it out",
        )
    )


def other_weights(given: int, count: int) -> DataError:
    """Return the error for weights of another number than the members."""
    return DataError(
        explained(
            "ensemble(weights)",
            f"{given} weights",
            f"{count}, one a member",
            "Pass one weight for each member",
        )
    )


def _chained(first: Answer, rest: Iterator[Answer]) -> Iterator[Answer]:
    yield first
    yield from rest
