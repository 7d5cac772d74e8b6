"""`ensemble`: several models, or samples of one model, as a mixture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from skedasis._types import Floats
from skedasis.distributions.base import Predictor
from skedasis.distributions.callables import Function
from skedasis.distributions.gpytorch import is_process
from skedasis.distributions.mixture_models import (
    ClassifierEnsemble,
    Drawn,
    Ensemble,
    Grown,
    Listed,
    Mean,
    Members,
    Noise,
    Plain,
    Together,
    Whole,
    is_grown,
    noisy,
    one_sample,
    other_weights,
)
from skedasis.distributions.registry import as_predictor, says_more
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.models.introspection import articled, title

Output = Literal["values", "logits", "probabilities"]


def ensemble(
    model: Any,
    samples: int | None = None,
    *,
    output: Output | None = None,
    noise: Noise | None = None,
    seed: int = 0,
    weights: Any = None,
) -> Any:
    """Make a mixture of several models, or of samples of one: a model whose uncertainty has parts.

    Parameters
    ----------
    model : object
        What the mixture is of:

        - a list of fitted models, each one that `sd.entropy` understands, alike in their classes; of regressors also
          ones that give a mean alone; with `output`, torch modules;
        - a fitted random forest, extra-trees or bagging ensemble of scikit-learn, in a pipeline or not: of its trees;
        - a function ``f(X, s)`` with `samples`: sample s = 0, 1, … of the rows' probabilities (n, classes), tuples
          (mean, standard deviation), SciPy distributions, or means (n,);
        - a function ``f(X)`` that returns all S samples at once: (S, n, classes), a tuple of two (S, n), or means
          (S, n);
        - a torch module with dropout layers, with `samples` and `output`: Monte-Carlo dropout.
    samples : int, optional
        How many samples to take of a function or a module, 2 or more.
    output : {"logits", "probabilities", "values"}, optional
        What torch modules return: scores (n, classes), or (n, 1) for two classes; probabilities likewise; or numbers,
        (n,) or (n, 1), or a tuple (mean, standard deviation).
    noise : float or function, optional
        The standard deviation of the observations about a member's mean, where members give a mean alone: one number,
        or a function X -> (n,).
    seed : int
        Of the masks of Monte-Carlo dropout.
    weights : array_like, shape (S,), optional
        Of the members; by default all are equal.

    Returns
    -------
    Ensemble
        For `sd.entropy`, `sd.nll`, `sd.predictive_variance` and `sd.predictive_quantile`. `sd.prediction` explains its
        mean, `sd.probability` its mean probabilities; called with rows it returns these.

    Raises
    ------
    DataError
        For one member only; members with different classes; weights or noise that are none.
    UnsupportedError
        For a model that is no mixture, and for modules without dropout layers.

    Notes
    -----
    A row costs one row of each member. Members of classes are added up one by one; of numbers 16 bytes are kept for
    each member and row of a call (up to 100,000 rows).

    Without `noise`, members that give a mean alone have a variance but no density: `sd.entropy`, `sd.nll` and
    `sd.predictive_quantile` say so when they are evaluated.

    The masks of Monte-Carlo dropout depend on (seed, sample, layer) alone and are shared by all rows, so that a sample
    is one thinned network, and a result does not depend on its batch. The module itself is left as it is: a copy that
    shares its parameters is called, in evaluation mode but for its dropout layers (`Dropout`, `Dropout1d`, `Dropout2d`,
    `Dropout3d`, `AlphaDropout`). The rows must lie along the first axis at each of these.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> sure = lambda p: lambda X: np.column_stack([np.full(len(X), 1 - p), np.full(len(X), p)])
    >>> e = sd.ensemble([sure(0.0), sure(1.0)])
    >>> X = np.zeros((1, 1))
    >>> [float(sd.entropy(e, part=p, base=2).at(X)[0]) for p in ("total", "aleatoric", "epistemic")]
    [1.0, 0.0, 1.0]
    """
    if samples is not None and (isinstance(samples, bool) or not isinstance(samples, Integral)):
        raise DataError(
            explained(
                "ensemble(samples)", repr(samples), "a whole number from 2", "Pass samples=100"
            )
        )
    if samples is not None and samples < 2:
        raise one_sample(int(samples))
    _check_noise(noise)
    members = _members(model, None if samples is None else int(samples), output, seed)
    if members.count is not None and members.count < 2:
        raise one_sample(members.count)
    if noise is not None and members.labels.kind == "classes":
        raise noisy("classes")
    shares = _check_weights(weights, members.count)
    kind = Ensemble if members.labels.classes is None else ClassifierEnsemble
    return kind(model, members, noise, shares)


def _members(model: Any, samples: int | None, output: Output | None, seed: int) -> Members:
    """Return what a model is made of."""
    if isinstance(model, Sequence) and not isinstance(model, str) and not is_process(model):
        _unused(samples, "samples", "a list of models", "Leave it out")
        modules = any(_is_module(m) for m in model)
        if not modules:
            _unused(output, "output", "models that are no torch modules", "Leave it out")
        return Listed([_member(m, output) for m in model])
    if _is_module(model):
        from skedasis.distributions.torch_ensembles import Dropped, Module

        return Dropped(Module(model, output, seed), samples)
    _unused(output, "output", "a model that is no torch module", "Leave it out")
    if isinstance(model, (Predictor, type)):
        raise _no_mixture(model)
    if is_grown(model):
        _unused(samples, "samples", f"{articled(title(model))}, which has its own", "Leave it out")
        return Grown(model)
    if not callable(model) or hasattr(model, "predict"):
        raise _no_mixture(model)
    return Together(model) if samples is None else Drawn(model, samples)


def _is_module(model: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module) and not is_process(model)


def _member(model: Any, output: Output | None) -> Any:
    if _is_module(model):
        from skedasis.distributions.torch_ensembles import Module

        return Module(model, output, None)
    if hasattr(model, "predict") and not isinstance(model, type) and not says_more(model):
        return Mean(model)
    predictor = as_predictor(model)
    return Plain(model) if isinstance(predictor, Function) else Whole(predictor)


def _unused(given: Any, name: str, beside: str, fix: str) -> None:
    if given is not None:
        raise DataError(explained(f"ensemble({name})", f"{given!r} for {beside}", "nothing", fix))


def _no_mixture(model: Any) -> UnsupportedError:
    return UnsupportedError(
        explained(
            "ensemble",
            f"{articled(title(model))}, which is no mixture",
            "a list of models, a fitted forest or bagging ensemble, a function f(X, s) with samples=, a function f(X) "
            "that returns all samples, or a torch module with dropout",
            "Pass a list: sd.ensemble([model, model2, …])",
        )
    )


def _check_noise(noise: Any) -> None:
    if noise is None or callable(noise):
        return
    number = isinstance(noise, Real) and not isinstance(noise, bool)
    if not number or not 0 < float(noise) < np.inf:
        raise DataError(
            explained(
                "ensemble(noise)",
                repr(noise),
                "a positive standard deviation, or a function X -> (n,)",
                "Pass the standard deviation of the residuals",
            )
        )


def _check_weights(weights: Any, count: int | None) -> Floats | None:
    """Return the members' weights as a copy, checked."""
    if weights is None:
        return None
    try:
        w = np.array(weights, dtype=float)
    except (TypeError, ValueError):
        w = np.array(np.nan)
    if w.ndim != 1 or not np.isfinite(w).all() or (w < 0).any() or not (w > 0).any():
        raise DataError(
            explained(
                "ensemble(weights)",
                repr(weights)[:60],
                "one number a member, not negative, some positive",
                "Pass one weight for each member, or leave it out",
            )
        )
    if count is not None and len(w) != count:
        raise other_weights(len(w), count)
    return w
