"""Registry of predictors: the type of a model → its predictive distribution.

`as_predictor` returns the predictor of the first row of `_TABLE` whose test holds. The quantities in
`skedasis.quantities.uncertainty` and `sd.ensemble` call it. No library is imported to test whether a model belongs to
it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from skedasis._calls import result_error
from skedasis._escaping import Printed
from skedasis.distributions.base import Predictor
from skedasis.distributions.callables import FunctionPredictor
from skedasis.distributions.gpytorch import as_process, is_process
from skedasis.distributions.mixture_models import is_estimator_ensemble
from skedasis.distributions.ngboost import NGBoostPredictor
from skedasis.distributions.sklearn import as_classifier, as_gaussian, has_return_std
from skedasis.distributions.skpro import SkproPredictor, is_skpro
from skedasis.errors import UnsupportedError
from skedasis.models.introspection import is_classifier, title, with_article
from skedasis.models.torch import is_torch_module

PredictorRow: TypeAlias = tuple[Callable[[Any], bool], Callable[[Any], Predictor]]
"""A test of a model, and the predictor for models that pass it."""


def _is_function(model: object) -> bool:
    return callable(model) and not hasattr(model, "predict") and not isinstance(model, type)


def _bare_module(model: object) -> Predictor:
    raise UnsupportedError(
        title(model),
        f"a torch module ({title(model)})",
        "a model that returns distributions",
        "Sample its dropout: sd.ensemble(module, samples=100, output='logits'), or wrap the module in a function "
        "that returns probabilities (n, classes) or (mean, standard deviation)",
    )


_TABLE: tuple[PredictorRow, ...] = (
    (lambda model: isinstance(model, Predictor), lambda model: model),
    (is_process, as_process),
    (is_torch_module, _bare_module),
    (lambda model: hasattr(model, "pred_dist"), NGBoostPredictor),
    (is_skpro, SkproPredictor),
    (is_classifier, as_classifier),
    (has_return_std, as_gaussian),
    (_is_function, FunctionPredictor),
)
"""The first row whose test holds makes the predictor."""


def has_predictor(model: object) -> bool:
    """Return whether a model has a predictive distribution, not only a mean."""
    return any(fits(model) for fits, _ in _TABLE)


def as_predictor(model: object) -> Predictor:
    """Return the predictor of a model."""
    if isinstance(model, Printed):  # some of which are callable
        expected = "a model with a predictive distribution"
        raise result_error(type(model).__name__, model, expected)
    for fits, make in _TABLE:
        if fits(model):
            return make(model)
    fix = "Make a mixture of several models: sd.ensemble([model, model2, …], noise=...)"
    if is_estimator_ensemble(model):
        fix = "Make a mixture of its estimators: sd.ensemble(model, noise=...)"
    raise UnsupportedError(
        title(model) if not isinstance(model, type) else f"the class {model.__name__}",
        f"{with_article(title(model))}, which has no predictive distribution",
        "a classifier with predict_proba; a regressor with return_std (GaussianProcessRegressor, BayesianRidge, "
        "ARDRegression) or of NGBoost, GPyTorch or skpro; or a function that returns probabilities (n, classes), "
        "(mean, standard deviation) or SciPy distributions",
        fix,
    )
