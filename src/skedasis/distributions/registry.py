"""Registry of predictors: the type of a model → its predictive distribution."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from skedasis.distributions.base import Predictor
from skedasis.distributions.callables import Function
from skedasis.distributions.gpytorch import as_process, is_process
from skedasis.distributions.mixture_models import is_grown
from skedasis.distributions.ngboost import Boosted
from skedasis.distributions.sklearn import as_classifier, as_gaussian, gives_deviation
from skedasis.distributions.skpro import Probabilistic, is_skpro
from skedasis.errors import UnsupportedError, explained
from skedasis.models.introspection import articled, is_classifier, title

Row = tuple[Callable[[Any], bool], Callable[[Any], Predictor]]


def _is_torch(model: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _is_function(model: Any) -> bool:
    return callable(model) and not hasattr(model, "predict") and not isinstance(model, type)


def _bare_module(model: Any) -> Predictor:
    raise UnsupportedError(
        explained(
            title(model),
            f"a torch module ({title(model)})",
            "a model that answers with distributions",
            "Sample its dropout: sd.ensemble(module, samples=100, output='logits'), or wrap it in a function that "
            "returns probabilities (n, classes) or (mean, standard deviation)",
        )
    )


_TABLE: tuple[Row, ...] = (
    (lambda model: isinstance(model, Predictor), lambda model: model),
    (is_process, as_process),
    (_is_torch, _bare_module),
    (lambda model: hasattr(model, "pred_dist"), Boosted),
    (is_skpro, Probabilistic),
    (is_classifier, as_classifier),
    (gives_deviation, as_gaussian),
    (_is_function, Function),
)
"""The first row whose test holds makes the predictor."""


def says_more(model: Any) -> bool:
    """Return whether a model says more of its labels than a mean."""
    return any(fits(model) for fits, _ in _TABLE)


def as_predictor(model: Any) -> Predictor:
    """Return a model as something that answers with distributions.

    Raises
    ------
    UnsupportedError
        Where it gives no uncertainty.
    """
    for fits, make in _TABLE:
        if fits(model):
            return make(model)
    fix = "Make a mixture of several: sd.ensemble([model, model2, …], noise=...)"
    if is_grown(model):
        fix = "Make a mixture of its estimators: sd.ensemble(model, noise=...)"
    raise UnsupportedError(
        explained(
            title(model) if not isinstance(model, type) else f"the class {model.__name__}",
            f"{articled(title(model))}, which says nothing of its uncertainty",
            "a classifier with predict_proba; a regressor with return_std (GaussianProcessRegressor, BayesianRidge, "
            "ARDRegression), of NGBoost, GPyTorch or skpro; or a function that returns probabilities (n, classes), "
            "(mean, standard deviation) or SciPy distributions",
            fix,
        )
    )
