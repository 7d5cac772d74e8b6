"""Uncertainty quantities: entropy, negative log-likelihood, predictive variance and predictive quantile."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Self, TypeAlias, Unpack

import numpy as np

from skedasis._arguments import check_option, check_probability
from skedasis._types import DType, Floats, ModelRows, RawResponse, Values
from skedasis.data.features import Feature
from skedasis.distributions.base import Predicted, Predictor, UncertaintyPart, as_class_codes
from skedasis.distributions.categorical import Classes
from skedasis.distributions.ensembles import ensemble
from skedasis.distributions.mixture_models import is_estimator_ensemble
from skedasis.distributions.registry import as_predictor
from skedasis.distributions.sklearn import Classifier, as_classifier
from skedasis.errors import UnsupportedError
from skedasis.models.adapters import DerivativeInfo, ModelAdapter
from skedasis.models.introspection import is_classifier, with_article
from skedasis.models.protocols import RowFunction, SupportsPredict, SupportsPredictProba
from skedasis.quantities.base import Quantity, given_labels
from skedasis.quantities.keywords import (
    CallSettings,
    QuantityKeywords,
    named_and_called,
    takes_quantity_keywords,
)
from skedasis.quantities.outputs import FromModel

if TYPE_CHECKING:
    from skedasis.derivatives.sklearn_models import Derivative

# --- quantities -----------------------------------------------------------------------------------


Base: TypeAlias = Literal["e", 2]

DistributionLike: TypeAlias = (
    SupportsPredict | SupportsPredictProba | RowFunction | Predictor | tuple[RowFunction, object]
)
"""A model with a predictive distribution; a tuple is a GPyTorch model and its likelihood."""

_TINY = float(np.finfo(float).smallest_subnormal)


@dataclass(frozen=True, eq=False)
class Uncertainty(FromModel):
    """Base class of quantities computed from a model's predictive distributions."""

    predictor: Predictor = field(kw_only=True)

    def with_model(self, model: object) -> Self | None:
        """Return the same quantity of another classifier; None for other predictors, which call several methods."""
        if type(self.predictor) is not Classifier:
            return None
        return replace(self, model=model, predictor=as_classifier(model))

    def computed(self, raw: RawResponse) -> DType:
        return predicted(raw).dtype

    def raw(self, X: ModelRows) -> Predicted:
        return self.predictor.distributions(X)

    def describe(self) -> str:
        return f"{self.name}({self.predictor.describe()})"

    def derivative_info(self, feature: Feature) -> DerivativeInfo:
        """Return differences for networks: automatic differentiation gives derivatives of their outputs only."""
        if isinstance(self.model, ModelAdapter):
            return DerivativeInfo("differences", "central differences")
        return super().derivative_info(feature)

    @property
    def has_mixed(self) -> bool:
        """Return whether there are mixed derivatives: none for networks, see `derivative_info`."""
        return not isinstance(self.model, ModelAdapter) and super().has_mixed

    @property
    def stepped(self) -> bool:
        return self.predictor.stepped

    def _closed_form(self) -> Derivative | None:
        """Return the derivative of the first class's log odds; if it exists, those of all classes do."""
        if not (isinstance(self.predictor, Classifier) and self.of_probabilities):
            return None
        from skedasis.derivatives import (
            sklearn_models,  # with all closed forms, which few models need
        )

        return sklearn_models.logit_derivative(self.model, 0)

    @property
    def of_probabilities(self) -> bool:
        """Return whether slopes follow from those of the classes' log odds."""
        return False

    def _log_odds(self, X: ModelRows) -> tuple[Floats, list[Floats]]:
        """Return the probabilities, (k, n), and the slopes of the log odds of each class, k times (n, d)."""
        classes = self.raw(X)
        if not isinstance(classes, Classes):
            raise TypeError("slopes of log odds require a distribution over classes")
        p = classes.p
        if len(p) == 2:
            second = self._log_odds_slope(1, X)
            return p, [-second, second]
        return p, [self._log_odds_slope(k, X) for k in range(len(p))]

    def _log_odds_slope(self, k: int, X: ModelRows) -> Floats:
        """Return the slopes of the log odds of a class, (n, d)."""
        from skedasis.derivatives import sklearn_models

        form = sklearn_models.logit_derivative(self.model, k)
        if form is None:
            raise TypeError("slopes of log odds require a closed form")
        return form(X)


def predicted(raw: RawResponse) -> Predicted:
    """Return the response of a predictor; raise if it is that of another model."""
    if not isinstance(raw, Predicted):
        raise TypeError(f"expected predictive distributions, got a {type(raw).__name__}")
    return raw


@dataclass(frozen=True, eq=False)
class Entropy(Uncertainty):
    """The entropy of the predictive distribution, or a part of it. Created by `entropy`."""

    part: UncertaintyPart = "total"
    base: Base = "e"

    def read(self, raw: RawResponse, y: Values | None = None) -> Floats:
        """Return the entropies in units of the base."""
        return in_base(predicted(raw).entropy(self.part), self.base)

    @property
    def of_probabilities(self) -> bool:
        """Return True for the total entropy; its parts have no slopes."""
        return self.part == "total"

    def slopes(self, X: ModelRows, y: Values | None = None) -> Floats:
        """Return -sum p_k' log p_k (the p_k' sum to 0), with p_k' = p_k (1 - p_k) times the slope of the log odds."""
        p, slopes = self._log_odds(X)
        total = np.zeros(slopes[0].shape)
        for p_k, slope in zip(p, slopes, strict=True):
            # p_k log p_k tends to 0: the floor only avoids log 0.
            total -= (p_k * (1.0 - p_k) * np.log(np.maximum(p_k, _TINY)))[:, None] * slope
        return in_base(total, self.base)


@dataclass(frozen=True, eq=False)
class NegativeLogLikelihood(Uncertainty):
    """The negative log-likelihood of each row's label. Created by `nll`."""

    base: Base = "e"

    labelled = True

    def encoded(self, y: Values) -> Values:
        """Return labels as indices of classes, or as numbers."""
        return self.predictor.labels.encode(y, self.describe())

    def read(self, raw: RawResponse, y: Values | None = None) -> Floats:
        """Return the negative log-likelihoods in units of the base."""
        log_likelihood = predicted(raw).log_likelihood(given_labels(y))
        return in_base(np.subtract(0.0, log_likelihood, out=log_likelihood), self.base)

    @property
    def of_probabilities(self) -> bool:
        """Return True."""
        return True

    def slopes(self, X: ModelRows, y: Values | None = None) -> Floats:
        """Return -(log p_y)' = -(1 - p_y) times the slope of the log odds; 0 where p_y is raised to the floor."""
        p, slopes = self._log_odds(X)
        codes = as_class_codes(given_labels(y), len(p))
        p_label = p[codes, np.arange(p.shape[1])]
        result = np.zeros(slopes[0].shape)
        for k, slope in enumerate(slopes):
            result[codes == k] = slope[codes == k]
        above_floor = p_label >= np.finfo(float).eps
        result *= np.where(above_floor, p_label - 1.0, 0.0)[:, None]
        return in_base(result, self.base)

    def floored(self, raw: RawResponse, y: Values | None = None) -> int:
        """Return for how many rows the label's probability was raised to the floor."""
        return predicted(raw).floored(given_labels(y))


@dataclass(frozen=True, eq=False)
class PredictiveVariance(Uncertainty):
    """The variance of the predictive distribution, or a part of it. Created by `predictive_variance`."""

    part: UncertaintyPart = "total"

    def read(self, raw: RawResponse, y: Values | None = None) -> Floats:
        return predicted(raw).variance(self.part)


@dataclass(frozen=True, eq=False)
class PredictiveQuantile(Uncertainty):
    """A quantile of the predictive distribution. Created by `predictive_quantile`."""

    p: float = 0.5

    def read(self, raw: RawResponse, y: Values | None = None) -> Floats:
        return predicted(raw).quantile(self.p)


def in_base(nats: Floats, base: Base) -> Floats:
    """Convert information from nats to the unit of the base."""
    return nats if base == "e" else nats / np.log(2.0)


# --- functions that create them -------------------------------------------------------------------


_PARTS = ("total", "aleatoric", "epistemic")


@takes_quantity_keywords
def entropy(
    model: DistributionLike,
    *,
    part: UncertaintyPart = "total",
    base: Base = "e",
    **keywords: Unpack[QuantityKeywords],
) -> Entropy:
    """Explain the predictive uncertainty of a model: the entropy of its predictive distribution.

    Parameters
    ----------
    model : object
        A model with a predictive distribution:

        - a classifier with `predict_proba`;
        - a regressor whose `predict` takes `return_std` (`GaussianProcessRegressor`, `BayesianRidge`, `ARDRegression`),
          a regressor of NGBoost or skpro, a GPyTorch model with a likelihood, or a pair (model, likelihood);
        - a function of rows that returns probabilities (n, classes), a tuple (mean, standard deviation) of (n,) each,
          or SciPy distributions with parameter arrays (n,);
        - a mixture of any of these: `sd.ensemble`.

        Pipelines and hyperparameter searches of these models are supported, too.
    part : {"total", "aleatoric", "epistemic"}
        For a mixture: "total" is the entropy of the mixture; "aleatoric" the mean entropy of its members, the noise
        that every member predicts; "epistemic" their difference, the mutual information between label and member,
        which measures the members' disagreement. The members of a forest are its trees, those of a bagging classifier
        its estimators. Other models support "total" only.
    base : {"e", 2}
        Base of the logarithm: nats or bits.
    name, unit : str, optional
        Label and unit for the axes of plots; the unit is "nats" or "bits" by default.

    Returns
    -------
    Quantity

    Raises
    ------
    UnsupportedError
        If the model has no predictive distribution, or does not support this part.
    DataError
        For any other part or base.
    ModelOutputError
        On evaluation: for probabilities that are negative, NaN or do not sum to 1, for standard deviations that are 0,
        negative or NaN, and for responses of another shape. The message states the number of rows.

    Notes
    -----
    For classes, ``-sum p log p`` with 0 log 0 = 0 (entropy_importance sec. 3.2). For numbers, the differential entropy,
    which is negative for narrow distributions; for a normal distribution ``log(2 pi e sd²) / 2``. Mixtures of normal
    distributions are integrated to an accuracy of 1e-10 nats. Mixtures of other distributions are integrated between
    quantiles of all components, so that narrow components are resolved, too: to 1e-8 for smooth densities, less
    accurately if a density has a kink or a jump within its support. `q.raw(X).entropy_error()` estimates the error for
    each row.

    Observation noise is included if the model includes it: `BayesianRidge`, `ARDRegression`, NGBoost and GPyTorch's
    likelihoods do; a `GaussianProcessRegressor` includes the noise of its kernel (a WhiteKernel) but not its `alpha`.

    Costs one model row per row; a row of an ensemble is one row of each member. Slopes are available in closed form for
    logistic regression and multi-layer perceptrons, where each slope row costs a model row in addition. Quantities of
    trees are piecewise constant.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.array([[0.0], [0.5], [1.0]])
    >>> coin = lambda X: np.column_stack([1 - X[:, 0], X[:, 0]])
    >>> q = sd.entropy(coin, base=2)
    >>> q.at(X).tolist()
    [0.0, 1.0, 0.0]
    >>> q.axis
    'entropy [bits]'
    """
    name, unit, calls = named_and_called(keywords)
    predictor = _predictor(model, part, "entropy")
    default = "entropy" if part == "total" else f"{part} entropy"
    unit = unit or _unit(base, "entropy")
    return Entropy(model, name or default, unit, part, base, predictor=predictor, **calls)


@takes_quantity_keywords
def nll(
    model: DistributionLike, *, base: Base = "e", **keywords: Unpack[QuantityKeywords]
) -> NegativeLogLikelihood:
    """Explain the negative log-likelihood of the labels, -log p(y | x).

    Parameters
    ----------
    model : object
        As for `entropy`.
    base : {"e", 2}
        Base of the logarithm: nats or bits.
    name, unit : str, optional
        Label and unit for the axes of plots; the unit is "nats" or "bits" by default.

    Returns
    -------
    Quantity
        Its evaluation requires labels: pass `y` to the function that explains it.

    Raises
    ------
    UnsupportedError
        If the model has no predictive distribution.
    DataError
        On evaluation: if `y` is not given, if a classifier does not know a label, or if a label of a regressor is not a
        finite number.
    ModelOutputError
        As for `entropy`; and if a label lies outside the support of the predictive distribution.

    Notes
    -----
    A classifier's probabilities below the unit round-off of their dtype (2.2e-16 in float64, 1.2e-7 in float32) are
    raised to it, as in `sklearn.metrics.log_loss`; the affected rows are counted. The classes of a function that
    returns probabilities are 0, 1, …. Densities of numbers remain accurate in the far tails.

    Costs one model row per row; slopes as for `entropy`.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.array([[0.0], [1.0]])
    >>> q = sd.nll(lambda X: (X[:, 0], np.ones(len(X))))
    >>> q.at(X, y=[0.0, 3.0]).tolist()
    [0.9189385332046727, 2.9189385332046727]
    """
    name, unit, calls = named_and_called(keywords)
    return likelihood_of(model, base, name or "negative log-likelihood", unit, calls)


def likelihood_of(
    model: object, base: Base, name: str, unit: str | None, calls: CallSettings
) -> NegativeLogLikelihood:
    """Return the negative log-likelihood of any model; raise if it has no predictive distribution."""
    predictor = _predictor(model, "total", "nll")
    unit = unit or _unit(base, "nll")
    return NegativeLogLikelihood(model, name, unit, base, predictor=predictor, **calls)


@takes_quantity_keywords
def predictive_variance(
    model: DistributionLike,
    *,
    part: UncertaintyPart = "total",
    **keywords: Unpack[QuantityKeywords],
) -> PredictiveVariance:
    """Explain the variance of a model's predictive distribution.

    Parameters
    ----------
    model : object
        As for `entropy`. For a classifier whose classes are numbers, the variance of the label is explained.
    part : {"total", "aleatoric", "epistemic"}
        For a mixture: "total" is its variance, "aleatoric" the mean of its members' variances, "epistemic" the variance
        of their means. The first is the sum of the other two (law of total variance).
    name, unit : str, optional
        Label and unit for the axes of plots.

    Returns
    -------
    Quantity

    Raises
    ------
    UnsupportedError
        As for `entropy`; and if the classes are not numbers.

    Notes
    -----
    Observation noise and costs are as for `entropy`. A standard deviation of 0 is allowed.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> e = sd.ensemble([lambda X: X[:, 0], lambda X: -X[:, 0]], noise=0.5)
    >>> [
    ...     float(sd.predictive_variance(e, part=p).at(np.array([[2.0]]))[0])
    ...     for p in ("total", "aleatoric", "epistemic")
    ... ]
    [4.25, 0.25, 4.0]
    """
    name, unit, calls = named_and_called(keywords)
    predictor = _predictor(model, part, "predictive_variance")
    labels = predictor.labels
    if labels.classes is not None and labels.values is None:
        raise UnsupportedError(
            f"predictive_variance({predictor.describe()})",
            f"classes that are no numbers: {list(labels.classes)[:5]}",
            "a model that predicts numbers",
            "Use sd.entropy(model)",
        )
    default = f"{'predictive' if part == 'total' else part} variance"
    return PredictiveVariance(model, name or default, unit, part, predictor=predictor, **calls)


@takes_quantity_keywords
def predictive_quantile(
    model: DistributionLike, p: float, **keywords: Unpack[QuantityKeywords]
) -> PredictiveQuantile:
    """Explain a quantile of a model's predictive distribution.

    Parameters
    ----------
    model : object
        As for `entropy`, except classifiers.
    p : float
        Probability of the quantile, between 0 and 1.
    name, unit : str, optional
        Label and unit for the axes of plots.

    Returns
    -------
    Quantity

    Raises
    ------
    DataError
        If p is outside (0, 1).
    UnsupportedError
        As for `entropy`; and for classifiers, because classes have no order.

    Notes
    -----
    Quantiles of mixtures are computed by bracketing, to rounding error. Costs one model row per row.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> q = sd.predictive_quantile(lambda X: (X[:, 0], np.ones(len(X))), 0.975)
    >>> q.at(np.array([[0.0], [1.0]])).round(3).tolist()
    [1.96, 2.96]
    """
    name, unit, calls = named_and_called(keywords)
    level = check_probability("predictive_quantile(p)", p, "Pass 0.9, for example")
    predictor = _predictor(model, "total", "predictive_quantile")
    if predictor.labels.kind == "classes":
        raise UnsupportedError(
            f"predictive_quantile({predictor.describe()})",
            "a classifier",
            "a model that predicts numbers: classes have no order",
            "Use sd.probability(model, class_=...)",
        )
    name = name or f"{level:g}-quantile"
    return PredictiveQuantile(model, name, unit, level, predictor=predictor, **calls)


def _predictor(model: object, part: UncertaintyPart, function: str) -> Predictor:
    """Return the predictor of a model; raise if its uncertainty has no such part."""
    check_option(f"{function}(part)", part, _PARTS)
    if isinstance(model, Quantity):
        raise UnsupportedError(
            f"{function}({model.describe()})",
            "a quantity of a model",
            "the model itself",
            f"Pass the model: sd.{function}(model)",
        )
    # A forest's predict_proba is one distribution, the mean over its trees. The parts need those of the trees.
    if part != "total" and is_classifier(model) and is_estimator_ensemble(model):
        predictor: Predictor = ensemble(model)
    else:
        predictor = as_predictor(model)
    if part != "total" and not predictor.mixture:
        raise UnsupportedError(
            f"{function}(part={part!r})",
            f"{with_article(predictor.describe())}, which returns a single distribution",
            "several models or samples, whose disagreement is the epistemic part",
            "Combine several models: sd.ensemble([model, model2, …])",
        )
    return predictor


def _unit(base: Base, function: str) -> str:
    """Return the unit of information for the base of a logarithm."""
    check_option(f"{function}(base)", base, ("e", 2), "Use 'e' for nats or 2 for bits")
    return "nats" if base == "e" else "bits"
