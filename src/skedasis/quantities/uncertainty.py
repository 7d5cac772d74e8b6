"""Uncertainty quantities: entropy, negative log-likelihood, predictive variance and predictive quantile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np

from skedasis._types import Floats
from skedasis.data.features import Feature
from skedasis.derivatives import chain_rule, sklearn_models
from skedasis.distributions.base import Part, Predicted, Predictor
from skedasis.distributions.categorical import Classes
from skedasis.distributions.continuous import check_level
from skedasis.distributions.ensembles import ensemble
from skedasis.distributions.mixture_models import is_grown
from skedasis.distributions.registry import as_predictor
from skedasis.distributions.sklearn import Classifier
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.models.adapters import Adapted, Traits
from skedasis.models.introspection import articled, is_classifier
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import FromModel

# ------------------------------------------------------------------------------------------
# What makes a model uncertain, as quantities: numbers read off its predictive distributions.


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

    def _closed_form(self) -> chain_rule.Derivative | None:
        """Return the derivative of the first class's log odds: where there is one, there is one of each class."""
        plain = isinstance(self.predictor, Classifier) and self.of_probabilities
        return sklearn_models.logit_derivative(self.model, 0) if plain else None

    @property
    def of_probabilities(self) -> bool:
        """Return whether it has slopes where log odds have."""
        return False

    def _log_odds(self, X: Any) -> tuple[Floats, list[Floats]]:
        """Return the probabilities, (k, n), and the slopes of the log odds of each class, k times (n, d)."""
        p = cast("Classes", self.raw(X)).p
        if len(p) == 2:
            second = sklearn_models.logit_derivative(self.model, 1)(X)  # type: ignore[misc]
            return p, [-second, second]
        forms = [sklearn_models.logit_derivative(self.model, k) for k in range(len(p))]
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


# ------------------------------------------------------------------------------------------
# What makes a model uncertain: entropy, likelihood, variance and quantiles of its predictive distribution.


_PARTS = ("total", "aleatoric", "epistemic")


def entropy(
    model: Any,
    *,
    part: Part = "total",
    base: Base = "e",
    name: str | None = None,
    unit: str | None = None,
) -> Entropy:
    """Explain how uncertain a model is: the entropy of its predictive distribution.

    Parameters
    ----------
    model : object
        One that says how uncertain it is:

        - a classifier with `predict_proba`;
        - a regressor whose `predict` takes `return_std` (`GaussianProcessRegressor`, `BayesianRidge`, `ARDRegression`),
          one of NGBoost or of skpro, a GPyTorch model that has a likelihood, or a pair (model, likelihood);
        - a function of rows that returns probabilities (n, classes), a tuple (mean, standard deviation) of (n,) each,
          or SciPy distributions with arrays (n,) for parameters;
        - a mixture of any of these: `sd.ensemble`.

        Pipelines and searches for parameters are as good as the models in them.
    part : {"total", "aleatoric", "epistemic"}
        Of a mixture: the entropy of the mixture; the mean of its members' entropies, which is the noise that all of
        them see; or the difference, the mutual information between label and member, which is what they disagree on.
        Of a forest or bagging classifier the parts are those of its trees. Other models have no parts.
    base : {"e", 2}
        Of the logarithm: nats or bits.
    name, unit : str, optional
        For the axes of plots; by default "nats" or "bits".

    Returns
    -------
    Quantity

    Raises
    ------
    UnsupportedError
        For a model that says nothing of its uncertainty, or has not the part that is asked for.
    DataError
        For another part or base.
    ModelOutputError
        While it is evaluated: for probabilities that are negative, NaN or do not sum to 1, for standard deviations that
        are 0, negative or NaN, and for answers of another shape. It says for how many rows.

    Notes
    -----
    Of classes ``-sum p log p``, with 0 log 0 = 0 (entropy_importance sec. 3.2). Of a number the differential entropy,
    which is negative for narrow distributions; of a normal one ``log(2 pi e sd²) / 2``. Mixtures of normal ones are
    integrated to 1e-10 nats. Mixtures of others are integrated between quantiles of all components, however narrow one
    is beside another: to 1e-8 where densities are smooth, less exactly where one has a kink or a jump within.
    `q.raw(X).entropy_error()` estimates how far off each row is.

    The noise of the observations is in it if the model says so: `BayesianRidge` and `ARDRegression` include it, NGBoost
    and GPyTorch's likelihoods too; a `GaussianProcessRegressor` only what its kernel holds of it, a WhiteKernel (its
    `alpha` is not).

    Costs one model row a row; a row of an ensemble is one row of each member. Slopes are known in closed form for
    logistic regression and multi-layer perceptrons, where a slope row costs a model row besides; quantities of trees
    are piecewise constant.

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
    predictor = _predictor(model, part, "entropy")
    called = "entropy" if part == "total" else f"{part} entropy"
    return Entropy(model, name or called, unit or _unit(base, "entropy"), predictor, part, base)


def nll(
    model: Any, *, base: Base = "e", name: str | None = None, unit: str | None = None
) -> NegativeLogLikelihood:
    """Explain how surprised a model is by the labels: the negative log-likelihood, -log p(y | x).

    Parameters
    ----------
    model : object
        As for `entropy`.
    base : {"e", 2}
        Of the logarithm: nats or bits.
    name, unit : str, optional
        For the axes of plots; by default "nats" or "bits".

    Returns
    -------
    Quantity
        It needs the labels: pass `y` to whatever explains it.

    Raises
    ------
    UnsupportedError
        For a model that says nothing of its uncertainty.
    DataError
        Without `y`; for labels that a classifier does not know, and labels of a regressor that are no finite numbers.
    ModelOutputError
        As for `entropy`; and where a label lies outside the support of the predictive distribution.

    Notes
    -----
    A classifier's probability is raised to the unit round-off of its numbers (2.2e-16 in float64, 1.2e-7 in float32),
    as `sklearn.metrics.log_loss` does: the rows to which that happens are counted. The classes of a function that
    returns probabilities are 0, 1, …. Densities of numbers are exact however far out.

    Costs one model row a row; slopes as for `entropy`.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.array([[0.0], [1.0]])
    >>> q = sd.nll(lambda X: (X[:, 0], np.ones(len(X))))
    >>> q.at(X, y=[0.0, 3.0]).tolist()
    [0.9189385332046727, 2.9189385332046727]
    """
    predictor = _predictor(model, "total", "nll")
    called = name or "negative log-likelihood"
    return NegativeLogLikelihood(model, called, unit or _unit(base, "nll"), predictor, base)


def predictive_variance(
    model: Any, *, part: Part = "total", name: str | None = None, unit: str | None = None
) -> PredictiveVariance:
    """Explain the variance of a model's predictive distribution.

    Parameters
    ----------
    model : object
        As for `entropy`. Of a classifier whose classes are numbers the variance of the label.
    part : {"total", "aleatoric", "epistemic"}
        Of a mixture: its variance; the mean of its members' variances; or the variance of their means. The first is the
        sum of the others (the law of total variance).
    name, unit : str, optional
        For the axes of plots.

    Returns
    -------
    Quantity

    Raises
    ------
    UnsupportedError
        As for `entropy`; and for classes that are no numbers.

    Notes
    -----
    What it says of noise, and what it costs, is as for `entropy`. A standard deviation of 0 is allowed.

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
    predictor = _predictor(model, part, "predictive_variance")
    labels = predictor.labels
    if labels.classes is not None and labels.values is None:
        raise UnsupportedError(
            explained(
                f"predictive_variance({predictor.describe()})",
                f"classes that are no numbers: {list(labels.classes)[:5]}",
                "a number to vary",
                "Use sd.entropy(model)",
            )
        )
    called = f"{'predictive' if part == 'total' else part} variance"
    return PredictiveVariance(model, name or called, unit, predictor, part)


def predictive_quantile(
    model: Any, p: float, *, name: str | None = None, unit: str | None = None
) -> PredictiveQuantile:
    """Explain a quantile of a model's predictive distribution.

    Parameters
    ----------
    model : object
        As for `entropy`, but one that predicts numbers.
    p : float
        Between 0 and 1.
    name, unit : str, optional
        For the axes of plots.

    Returns
    -------
    Quantity

    Raises
    ------
    DataError
        For p outside (0, 1).
    UnsupportedError
        As for `entropy`; and for classifiers: classes have no order.

    Notes
    -----
    Of mixtures it is found by bracketing, to rounding. Costs one model row a row.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> q = sd.predictive_quantile(lambda X: (X[:, 0], np.ones(len(X))), 0.975)
    >>> q.at(np.array([[0.0], [1.0]])).round(3).tolist()
    [1.96, 2.96]
    """
    level = check_level(p)
    predictor = _predictor(model, "total", "predictive_quantile")
    if predictor.labels.kind == "classes":
        raise UnsupportedError(
            explained(
                f"predictive_quantile({predictor.describe()})",
                "a classifier",
                "a model that predicts numbers: classes have no order",
                "Use sd.probability(model, class_=...)",
            )
        )
    return PredictiveQuantile(model, name or f"{level:g}-quantile", unit, predictor, level)


def _predictor(model: Any, part: Any, asked: str) -> Predictor:
    """Return a model as a predictor whose uncertainty has the part that is asked for."""
    if part not in _PARTS:
        raise DataError(
            explained(
                f"{asked}(part)",
                repr(part),
                "'total', 'aleatoric' or 'epistemic'",
                "Use one of these",
            )
        )
    if isinstance(model, Quantity):
        raise UnsupportedError(
            explained(
                model.describe(),
                "a quantity, read off a model",
                "the model that it is read off",
                "Pass the model itself",
            )
        )
    # A forest's own answer is one distribution, the mean of its trees': only these tell what they disagree on.
    grown = part != "total" and is_classifier(model) and is_grown(model)
    predictor = ensemble(model) if grown else as_predictor(model)
    if part != "total" and not predictor.mixture:
        raise UnsupportedError(
            explained(
                f"{asked}(part={part!r})",
                f"{articled(predictor.describe())}, whose answer is one distribution",
                "several models or samples, whose disagreement is the epistemic part",
                "Make a mixture of them: sd.ensemble([model, model2, …])",
            )
        )
    return predictor


def _unit(base: Any, asked: str) -> str:
    """Return the unit of information for the base of a logarithm."""
    if base == "e":
        return "nats"
    if isinstance(base, int) and not isinstance(base, bool) and base == 2:
        return "bits"
    raise DataError(
        explained(f"{asked}(base)", repr(base), "'e' (nats) or 2 (bits)", "Use base='e' or base=2")
    )
