"""Models that are mixtures: their members (estimators of an ensemble, trees of a forest, posterior samples).

`MixtureEnsemble` is what `sd.ensemble` returns: a model whose predictive distribution is the mixture of its members'
distributions. A subclass of `Members` calls the members one after the other: a list of models, the estimators of a
fitted forest or bagging ensemble, or the samples of a function.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from skedasis._types import Floats, ModelRows, RawResponse, Values
from skedasis.data.dataset import to_array
from skedasis.distributions.base import Labels, Predicted, Predictor
from skedasis.distributions.callables import as_response
from skedasis.distributions.categorical import (
    Classes,
    ClassSum,
    as_classes,
    check_same_classes,
    multi_label_error,
)
from skedasis.distributions.continuous import (
    NumericDistribution,
    as_normal,
    mixture_of,
    one_per_row,
)
from skedasis.distributions.sklearn import Gaussian, has_return_std, rows_for_model, split_pipeline
from skedasis.errors import DataError, ModelOutputError, UnsupportedError
from skedasis.models.calling import plain
from skedasis.models.introspection import is_classifier, title
from skedasis.models.piecewise_constant import is_piecewise_constant
from skedasis.models.protocols import RowFunction, SupportsPredict

# --- the mixture as a model -----------------------------------------------------------------------

NoiseScale: TypeAlias = float | RowFunction
"""The standard deviation of the observations around a member's mean, or a function X -> (n,)."""

_NO_NOISE = (
    "Pass noise= to sd.ensemble: the standard deviation of the observations around a member's mean"
)


@dataclass(frozen=True, eq=False)
class MixtureEnsemble(Predictor):
    """A mixture of models or samples, made by `ensemble`. It is a model itself.

    Called with rows, it returns the mean: (n,) numbers, or (n, classes) probabilities.
    """

    members: Members
    noise: NoiseScale | None = None
    weights: Floats | None = None

    @property
    def labels(self) -> Labels:
        return self.members.labels

    @property
    def mixture(self) -> bool:
        return True

    @property
    def stepped(self) -> bool:
        """Return whether the mixture is a piecewise constant function of the rows."""
        noise = not callable(self.noise) or is_piecewise_constant(self.noise)
        return self.members.stepped and noise

    @property
    def piecewise_constant(self) -> bool:
        """Return the same as `stepped`, for quantities that treat the ensemble as any other model."""
        return self.stepped

    @property
    def n_features_in_(self) -> int:
        """Return the number of columns that the members were fitted on; AttributeError if it is not known."""
        return self._fitted_attribute("n_features_in_")

    @property
    def feature_names_in_(self) -> Values:
        """Return the columns that the members were fitted on; AttributeError if they are not known."""
        return self._fitted_attribute("feature_names_in_")

    @property
    def fitted_members(self) -> Sequence[object]:
        return self.members.fitted

    def _fitted_attribute(self, name: str) -> Any:
        for model in self.members.fitted:
            value = getattr(model, name, None)
            if value is not None:
                return value
        raise AttributeError(name)

    def describe(self) -> str:
        return f"ensemble of {self.members.describe()}"

    def distributions(self, X: ModelRows) -> Predicted:
        """Call all members, and return the mixture of their distributions."""
        responses = self.members.responses(X)
        first = next(responses)
        if isinstance(first, Classes):
            return self._classes(first, responses)
        return self._numbers(X, first, responses)

    def _classes(self, first: Classes, rest: Iterator[MixtureResponse]) -> Predicted:
        if self.noise is not None:
            raise noise_not_applicable("classes")
        total, count = ClassSum(self.describe()), 0
        for count, member in enumerate(chain([first], rest), start=1):
            if not isinstance(member, Classes):
                raise self._mixed_kinds()
            total.add(member, self._weight(count - 1))
        self._check_count(count)
        return total.mixture()

    def _numbers(
        self, X: ModelRows, first: MixtureResponse, rest: Iterator[MixtureResponse]
    ) -> Predicted:
        n, noise_std = len(X), self._noise_of(X)
        members: list[NumericDistribution] = []
        for member in chain([first], rest):
            if isinstance(member, Classes):
                raise self._mixed_kinds()
            if not isinstance(member, Predicted):
                members.append(as_normal(member, noise_std, n, self.describe(), _NO_NOISE))
            elif self.noise is not None or not isinstance(member, NumericDistribution):
                raise noise_not_applicable("distributions")
            else:
                members.append(member)
        self._check_count(len(members))
        w = np.array([self._weight(s) for s in range(len(members))])
        fractions = (w / w.sum()).tolist()
        pairs = [(m, f) for m, f in zip(members, fractions, strict=True) if f > 0]
        return mixture_of(pairs, self.describe())

    def _weight(self, s: int) -> float:
        if self.weights is None:
            return 1.0
        return float(self.weights[s]) if s < len(self.weights) else 0.0

    def _check_count(self, count: int) -> None:
        if self.weights is not None and len(self.weights) != count:
            raise wrong_weight_count(len(self.weights), count)

    def _noise_of(self, X: ModelRows) -> Floats:
        """Return the standard deviation of the observations at each row, (n,); 0 if `noise` is None."""
        n = len(X)
        if not callable(self.noise):
            return np.full(n, 0.0 if self.noise is None else self.noise)
        noise = one_per_row(self.noise(X), n, f"noise {title(self.noise)}", "standard deviation")
        invalid = int(np.count_nonzero(noise <= 0))
        if invalid:
            raise ModelOutputError(
                f"noise {title(self.noise)}",
                f"no positive number for {invalid:,} of {n:,} rows",
                "positive standard deviations",
                "Return the standard deviation of the observations, above 0",
            )
        return noise

    def _mixed_kinds(self) -> ModelOutputError:
        return ModelOutputError(
            self.describe(),
            "members that predict classes and members that predict numbers",
            "members of one kind",
            "Combine only models of the same label",
        )

    def __call__(self, X: ModelRows) -> Floats:
        """Return the mean of the mixture: (n,) numbers, or the probabilities (n, classes)."""
        predicted = self.distributions(X)
        return predicted.p.T.copy() if isinstance(predicted, Classes) else predicted.mean()


@dataclass(frozen=True, eq=False)
class ClassifierEnsemble(MixtureEnsemble):
    """A mixture of classifiers, which is a classifier itself."""

    @property
    def classes_(self) -> Values:
        """Return the classes."""
        return np.asarray(self.labels.classes)

    def predict_proba(self, X: ModelRows) -> Floats:
        """Return the mean of the members' probabilities, (n, classes)."""
        return self(X)


def noise_not_applicable(kind: str) -> DataError:
    """Return the error for noise of members that have distributions of their own."""
    return DataError(
        "ensemble(noise)",
        f"noise= for members that predict {kind}",
        "members that predict a mean alone",
        "Omit noise=",
    )


def wrong_weight_count(n_weights: int, count: int) -> DataError:
    """Return the error for a number of weights that differs from the number of members."""
    return DataError(
        "ensemble(weights)",
        f"{n_weights} weights",
        f"{count} weights, one per member",
        "Pass one weight for each member",
    )


# --- members: fitted models, estimators of an ensemble, samples of a function ---------------------

MixtureResponse: TypeAlias = Predicted | Floats
"""The response of a member: its distributions, or its means alone, (n,)."""


_FORESTS = {
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
}


_BAGGING = {"BaggingClassifier", "BaggingRegressor"}


class Members(ABC):
    """The members of a mixture; they can be pickled if their models can."""

    labels: Labels = Labels()
    stepped: bool = False
    count: int | None = None
    """The number of members; None if only a response shows it."""

    @property
    def fitted(self) -> Sequence[object]:
        """Return the models that may have attributes of the columns they were fitted on."""
        return ()

    @abstractmethod
    def responses(self, X: ModelRows) -> Iterator[MixtureResponse]:
        """Yield the responses of the members, called one after the other on rows in X's container."""

    @abstractmethod
    def describe(self) -> str:
        """Return a description of the members."""


@dataclass(frozen=True, eq=False)
class Member:
    """One model of a list."""

    model: object
    title: str
    labels: Labels
    stepped: bool
    """Whether the response is a piecewise constant function of the rows."""
    response: Callable[[ModelRows], MixtureResponse]
    """Returns the member's distributions or means for rows."""


def mean_member(model: SupportsPredict) -> Member:
    """Return a model that predicts a mean alone as a member."""
    response = partial(_predicted_means, model)
    return Member(model, title(model), Labels("numbers"), is_piecewise_constant(model), response)


def _predicted_means(model: SupportsPredict, X: ModelRows) -> MixtureResponse:
    return one_per_row(model.predict(rows_for_model(model, X)), len(X), title(model), "mean")


def function_member(function: RowFunction) -> Member:
    """Return a function, which returns distributions or means, as a member."""
    response, stepped = partial(_returned, function), is_piecewise_constant(function)
    return Member(function, title(function), Labels(), stepped, response)


def _returned(function: RowFunction, X: ModelRows) -> MixtureResponse:
    return as_response(function(X), len(X), title(function))


class ModelList(Members):
    """A list of models."""

    def __init__(self, models: Sequence[Member]) -> None:
        self.models, self.count = models, len(models)
        self.stepped = all(m.stepped for m in models)
        known = [m.labels for m in models if m.labels.kind != "either"]
        # Members with named classes come first: they define the labels of those with class codes only.
        known.sort(key=lambda labels: labels.classes is None)
        self.labels = known[0] if known else Labels()
        for other in known:
            if other.kind != self.labels.kind:
                raise DataError(
                    "ensemble",
                    "members that predict classes and members that predict numbers",
                    "members of one kind",
                    "Combine only models of the same label",
                )
            if other.classes is not None and self.labels.classes is not None:
                check_same_classes(self.labels.classes, other.classes, "ensemble")

    @property
    def fitted(self) -> Sequence[object]:
        return [m.model for m in self.models]

    def responses(self, X: ModelRows) -> Iterator[MixtureResponse]:
        return (m.response(X) for m in self.models)

    def describe(self) -> str:
        kinds = dict.fromkeys(m.title for m in self.models)
        return f"{self.count} {', '.join(kinds)}"


@dataclass(eq=False)
class FittedEstimators(Members):
    """The trees of a forest, or the estimators of a bagging ensemble, which may be the last step of a pipeline."""

    model: Any

    def __post_init__(self) -> None:
        self.before, self.final = split_pipeline(self.model)
        self.count = len(self.final.estimators_)
        self.stepped = is_piecewise_constant(self.model)
        classes = getattr(self.final, "classes_", None)
        if isinstance(classes, list) or getattr(self.final, "n_outputs_", 1) > 1:
            raise multi_label_error(title(self.model), self.final.n_outputs_)
        self.labels = (
            Labels("numbers")
            if classes is None
            else Labels("classes", np.asarray(classes).tolist())
        )

    @property
    def fitted(self) -> Sequence[object]:
        return [self.model]

    def responses(self, X: ModelRows) -> Iterator[MixtureResponse]:
        """Yield the responses of the estimators; the transformers of a pipeline are called once."""
        rows: Any = rows_for_model(self.model, X)
        for step in self.before:
            rows = step.transform(rows)
        # The ensemble fits its estimators on arrays, also if it was fitted on a frame, and trees on single precision.
        rows = rows.toarray() if hasattr(rows, "toarray") else to_array(rows)
        forest = _is_sklearn_class(self.final, _FORESTS)
        rows = np.ascontiguousarray(rows, dtype=np.float32) if forest else rows
        columns = [slice(None)] * len(self.final.estimators_)
        columns = getattr(self.final, "estimators_features_", columns)
        for estimator, chosen in zip(self.final.estimators_, columns, strict=True):
            part = rows if isinstance(chosen, slice) else rows[:, chosen]
            yield self._answer(estimator, part)

    def _answer(self, estimator: Any, rows: Any) -> MixtureResponse:
        classes = self.labels.classes
        if classes is not None:
            raw = np.asarray(estimator.predict_proba(rows))
            if raw.shape[1] != len(
                classes
            ):  # the bootstrap sample of this estimator missed a class
                all_classes = np.zeros((len(rows), len(classes)))
                all_classes[:, np.asarray(estimator.classes_, dtype=int)] = raw
                raw = all_classes
            return as_classes(raw, len(rows), title(self.model), classes)
        if has_return_std(estimator):
            return Gaussian(estimator).distributions(rows)
        return one_per_row(estimator.predict(rows), len(rows), title(self.model), "mean")

    def describe(self) -> str:
        kind = "trees" if _is_sklearn_class(self.final, _FORESTS) else "estimators"
        return f"{self.count} {kind} of {title(self.model)}"


def is_estimator_ensemble(model: object) -> TypeGuard[SupportsPredict]:
    """Return whether a model is a fitted forest or bagging ensemble, whose estimators are a mixture."""
    final = split_pipeline(model)[1]
    is_ensemble = _is_sklearn_class(final, _FORESTS | _BAGGING) and hasattr(final, "estimators_")
    if is_ensemble and is_classifier(final) and not hasattr(final.estimators_[0], "predict_proba"):
        raise UnsupportedError(
            title(model),
            f"estimators ({title(final.estimators_[0])}) without predict_proba",
            "estimators with probabilities",
            "Use estimators that have predict_proba",
        )
    return is_ensemble


def _is_sklearn_class(model: object, names: set[str]) -> bool:
    return any(
        c.__name__ in names and c.__module__.startswith("sklearn.") for c in type(model).__mro__
    )


@dataclass(eq=False)
class IndexedSamples(Members):
    """Samples of a function f(X, s), s = 0, 1, …."""

    function: Callable[[Any, int], RawResponse]
    samples: int

    def __post_init__(self) -> None:
        self.count = self.samples

    def responses(self, X: ModelRows) -> Iterator[MixtureResponse]:
        """Yield the function's responses, one call for each sample."""
        what = title(self.function)
        return (as_response(self.function(X, s), len(X), what) for s in range(self.samples))

    def describe(self) -> str:
        return f"{self.count} samples of {title(self.function)}"


@dataclass(eq=False)
class JointSamples(Members):
    """A function f(X) that returns all samples at once."""

    function: RowFunction

    def responses(self, X: ModelRows) -> Iterator[MixtureResponse]:
        """Call the function once, and yield its samples."""
        what, n = title(self.function), len(X)
        response = self.function(X)
        if isinstance(response, tuple) and len(response) == 2:
            means, deviations = (np.asarray(plain(a)) for a in response)
            if means.ndim != 2 or means.shape != deviations.shape:
                raise self._wrong_shape((means.shape, deviations.shape), n)
            samples: list[RawResponse] = list(zip(means, deviations, strict=True))
        else:
            values = np.asarray(plain(response))
            if values.ndim not in (2, 3) or values.shape[1] != n:
                raise self._wrong_shape(values.shape, n)
            samples = list(values)
        if len(samples) < 2:
            raise too_few_members(len(samples))
        return (as_response(sample, n, what) for sample in samples)

    def _wrong_shape(self, shape: tuple[object, ...], n: int) -> ModelOutputError:
        return ModelOutputError(
            f"ensemble({title(self.function)})",
            f"output of shape {shape}",
            f"all samples: probabilities (S, {n}, classes), means (S, {n}), or a tuple (mean, standard deviation) "
            f"of (S, {n}) each",
            "Return one of these, or sample by index: sd.ensemble(f, samples=100) calls f(X, s)",
        )

    def describe(self) -> str:
        return f"samples of {title(self.function)}"


def too_few_members(count: int) -> DataError:
    """Return the error for a mixture of fewer than two members."""
    return DataError(
        "ensemble",
        f"{count} {'member' if count == 1 else 'members'}",
        "two or more members, because the epistemic part is their disagreement",
        "Pass more models or samples",
    )
