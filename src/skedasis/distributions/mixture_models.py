"""Models that are mixtures: their members (estimators of an ensemble, trees of a forest, posterior samples)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from skedasis._types import Floats
from skedasis.data.dataset import to_array
from skedasis.distributions.base import Labels, Predicted, Predictor
from skedasis.distributions.callables import as_answer, plain
from skedasis.distributions.categorical import (
    Classes,
    ClassSum,
    as_classes,
    same_classes,
    several_labels,
)
from skedasis.distributions.continuous import Numbers, as_normal, mixture_of, of_rows
from skedasis.distributions.sklearn import Gaussian, gives_deviation, own_rows, unfolded
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, explained
from skedasis.models.introspection import is_classifier, title
from skedasis.models.piecewise_constant import is_piecewise_constant

# ------------------------------------------------------------------------------------------
# `Ensemble`: a mixture of models or samples, as a model.


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


# ------------------------------------------------------------------------------------------
# The members of a mixture: fitted models, the trees of a forest, samples of a function.


Answer = Predicted | Floats
"""A member's distributions, or its means alone, (n,)."""


_FORESTS = {
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
}


_BAGGING = {"BaggingClassifier", "BaggingRegressor"}


class Members(ABC):
    """What a mixture is made of. Picklable where its models are."""

    labels: Labels = Labels()
    stepped: bool = False
    count: int | None = None
    """How many they are; None where only the answer tells."""

    @property
    def fitted(self) -> Sequence[Any]:
        """Return the models that know which columns they were fitted on."""
        return ()

    @abstractmethod
    def answers(self, X: Any) -> Iterator[Answer]:
        """Call one member after the other on rows in X's container."""

    @abstractmethod
    def describe(self) -> str:
        """Return what they are, in words."""


class Mean:
    """A model that gives no more than a mean, as a member."""

    labels = Labels("numbers")

    def __init__(self, model: Any) -> None:
        self.model, self.stepped = model, is_piecewise_constant(model)
        self.title = title(model)

    def answer(self, X: Any) -> Answer:
        """Return its predictions."""
        raw = self.model.predict(own_rows(self.model, X))
        return of_rows(raw, len(X), self.title, "mean")


class Plain:
    """A function that answers with distributions or with means, as a member."""

    labels = Labels()

    def __init__(self, model: Any) -> None:
        self.model, self.title = model, title(model)
        self.stepped = is_piecewise_constant(model)

    def answer(self, X: Any) -> Answer:
        """Return what it answers."""
        return as_answer(self.model(X), len(X), self.title)


class Whole:
    """A model with distributions of its own, as a member."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor, self.model, self.title = predictor, predictor.model, predictor.describe()
        self.labels, self.stepped = predictor.labels, predictor.stepped

    def answer(self, X: Any) -> Answer:
        """Return its distributions."""
        return self.predictor.distributions(X)


class Listed(Members):
    """A list of models.

    Parameters
    ----------
    models : sequence
        Each a `Mean`, `Plain`, `Whole` or the like.

    Raises
    ------
    DataError
        Where some predict classes and others numbers, or other classes.
    """

    def __init__(self, models: Sequence[Any]) -> None:
        self.models, self.count = models, len(models)
        self.stepped = all(m.stepped for m in models)
        known = [m.labels for m in models if m.labels.kind != "either"]
        # Members that know the names of their classes speak for those that only count them.
        known.sort(key=lambda labels: labels.classes is None)
        self.labels = known[0] if known else Labels()
        for other in known:
            if other.kind != self.labels.kind:
                raise DataError(
                    explained(
                        "ensemble",
                        "members that predict classes and members that predict numbers",
                        "one kind",
                        "Mix only models of the same labels",
                    )
                )
            if other.classes is not None and self.labels.classes is not None:
                same_classes(self.labels.classes, other.classes, "ensemble")

    @property
    def fitted(self) -> Sequence[Any]:
        """Return the models themselves."""
        return [m.model for m in self.models]

    def answers(self, X: Any) -> Iterator[Answer]:
        """Call one model after the other."""
        return (m.answer(X) for m in self.models)

    def describe(self) -> str:
        """Return what they are, in words."""
        kinds = dict.fromkeys(m.title for m in self.models)
        return f"{self.count} {', '.join(kinds)}"


@dataclass(eq=False)
class Grown(Members):
    """The trees of a forest, or the estimators of a bagging ensemble, possibly behind a pipeline's other steps."""

    model: Any

    def __post_init__(self) -> None:
        self.before, self.final = unfolded(self.model)
        self.count = len(self.final.estimators_)
        self.stepped = is_piecewise_constant(self.model)
        classes = getattr(self.final, "classes_", None)
        if isinstance(classes, list) or getattr(self.final, "n_outputs_", 1) > 1:
            raise several_labels(title(self.model), self.final.n_outputs_)
        self.labels = (
            Labels("numbers")
            if classes is None
            else Labels("classes", np.asarray(classes).tolist())
        )

    @property
    def fitted(self) -> Sequence[Any]:
        """Return the model."""
        return [self.model]

    def answers(self, X: Any) -> Iterator[Answer]:
        """Call one estimator after the other; what stands before them in a pipeline is called once."""
        rows = own_rows(self.model, X)
        for step in self.before:
            rows = step.transform(rows)
        # Estimators were fitted on arrays, whatever the model was fitted on; trees on single precision.
        rows = rows.toarray() if hasattr(rows, "toarray") else to_array(rows)
        forest = _named(self.final, _FORESTS)
        rows = np.ascontiguousarray(rows, dtype=np.float32) if forest else rows
        columns = [slice(None)] * len(self.final.estimators_)
        columns = getattr(self.final, "estimators_features_", columns)
        for estimator, chosen in zip(self.final.estimators_, columns, strict=True):
            part = rows if isinstance(chosen, slice) else rows[:, chosen]
            yield self._answer(estimator, part)

    def _answer(self, estimator: Any, rows: Any) -> Answer:
        classes = self.labels.classes
        if classes is not None:
            raw = np.asarray(estimator.predict_proba(rows))
            if raw.shape[1] != len(classes):  # a sample of the rows may have missed a class
                every = np.zeros((len(rows), len(classes)))
                every[:, np.asarray(estimator.classes_, dtype=int)] = raw
                raw = every
            return as_classes(raw, len(rows), title(self.model), classes)
        if gives_deviation(estimator):
            return Gaussian(estimator).distributions(rows)
        return of_rows(estimator.predict(rows), len(rows), title(self.model), "mean")

    def describe(self) -> str:
        """Return what they are, in words."""
        kind = "trees" if _named(self.final, _FORESTS) else "estimators"
        return f"{self.count} {kind} of {title(self.model)}"


def is_grown(model: Any) -> bool:
    """Return whether a model is the mean of estimators that are a mixture: a forest, or bagging."""
    final = unfolded(model)[1]
    grown = _named(final, _FORESTS | _BAGGING) and hasattr(final, "estimators_")
    if grown and is_classifier(final) and not hasattr(final.estimators_[0], "predict_proba"):
        raise UnsupportedError(
            explained(
                title(model),
                f"estimators ({title(final.estimators_[0])}) without predict_proba",
                "estimators that give probabilities",
                "Use estimators with predict_proba",
            )
        )
    return grown


def _named(model: Any, names: set[str]) -> bool:
    return any(
        c.__name__ in names and c.__module__.startswith("sklearn.") for c in type(model).__mro__
    )


@dataclass(eq=False)
class Drawn(Members):
    """Samples of a function f(X, s), s = 0, 1, …."""

    function: Callable[[Any, int], Any]
    count: int  # type: ignore[assignment]

    def answers(self, X: Any) -> Iterator[Answer]:
        """Call the function once for each sample."""
        what = title(self.function)
        return (as_answer(self.function(X, s), len(X), what) for s in range(self.count))

    def describe(self) -> str:
        """Return what they are, in words."""
        return f"{self.count} samples of {title(self.function)}"


@dataclass(eq=False)
class Together(Members):
    """A function f(X) that answers with all samples at once."""

    function: Callable[[Any], Any]

    def answers(self, X: Any) -> Iterator[Answer]:
        """Call the function once, and take its answer apart."""
        what, n = title(self.function), len(X)
        answer = self.function(X)
        if isinstance(answer, tuple) and len(answer) == 2:
            means, deviations = (np.asarray(plain(a)) for a in answer)
            if means.ndim != 2 or means.shape != deviations.shape:
                raise self._shapeless((means.shape, deviations.shape), n)
            samples: list[Any] = list(zip(means, deviations, strict=True))
        else:
            values = np.asarray(plain(answer))
            if values.ndim not in (2, 3) or values.shape[1] != n:
                raise self._shapeless(values.shape, n)
            samples = list(values)
        if len(samples) < 2:
            raise one_sample(len(samples))
        return (as_answer(sample, n, what) for sample in samples)

    def _shapeless(self, shape: Any, n: int) -> ModelOutputError:
        return ModelOutputError(
            explained(
                f"ensemble({title(self.function)})",
                f"output of shape {shape}",
                f"all samples: probabilities (S, {n}, classes), means (S, {n}), or a tuple (mean, standard deviation) "
                f"of (S, {n}) each",
                "Return one of these, or sample by index: sd.ensemble(f, samples=100) calls f(X, s)",
            )
        )

    def describe(self) -> str:
        """Return what they are, in words."""
        return f"samples of {title(self.function)}"


def one_sample(count: int) -> DataError:
    """Return the error for a mixture of one."""
    return DataError(
        explained(
            "ensemble",
            f"{count} {'member' if count == 1 else 'members'}",
            "two or more: one has nothing to disagree with",
            "Pass more models or samples",
        )
    )
