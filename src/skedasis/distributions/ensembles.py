"""`ensemble`: several models, or samples of one model, as a mixture.

The function checks its arguments and wraps each kind of member (`skedasis.distributions.mixture_models`,
`skedasis.distributions.torch_ensembles`) in an `MixtureEnsemble`, which is a model and a predictor at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import as_numbers, check_int_or_none, check_number, shown
from skedasis._calls import checked_call
from skedasis._types import Floats
from skedasis.distributions.base import Predictor
from skedasis.distributions.callables import FunctionPredictor
from skedasis.distributions.gpytorch import is_process
from skedasis.distributions.mixture_models import (
    ClassifierEnsemble,
    FittedEstimators,
    IndexedSamples,
    JointSamples,
    Member,
    Members,
    MixtureEnsemble,
    ModelList,
    NoiseScale,
    function_member,
    is_estimator_ensemble,
    mean_member,
    noise_not_applicable,
    too_few_members,
    wrong_weight_count,
)
from skedasis.distributions.registry import as_predictor, has_predictor
from skedasis.errors import DataError, UnsupportedError
from skedasis.models.introspection import check_supervised, title, with_article
from skedasis.models.protocols import (
    RowFunction,
    SupportsPredict,
    SupportsPredictProba,
    has_predict,
)
from skedasis.models.torch import is_torch_module
from skedasis.stats.random import RandomState, as_seed

Output: TypeAlias = Literal["values", "logits", "probabilities"]

MixtureLike: TypeAlias = (
    Sequence[SupportsPredict | SupportsPredictProba | RowFunction | tuple[RowFunction, object]]
    | SupportsPredict
    | RowFunction
    | Callable[[Any, int], object]
)
"""What has members: a list of models, a fitted forest or bagging ensemble, a function with or without an index of the
sample, or a torch module with dropout."""


@checked_call
def ensemble(
    model: MixtureLike,
    samples: int | None = None,
    *,
    output: Output | None = None,
    noise: NoiseScale | None = None,
    random_state: RandomState = 0,
    weights: ArrayLike | None = None,
) -> MixtureEnsemble:
    """Return a mixture of several models, or of samples of one model; its uncertainty has an epistemic part.

    Parameters
    ----------
    model : object
        The members of the mixture:

        - a list of fitted models that `sd.entropy` accepts, with the same classes; also regressors that predict a mean
          alone; with `output`, torch modules;
        - a fitted random forest, extra-trees or bagging ensemble of scikit-learn, in a pipeline or not: its trees or
          estimators;
        - a function ``f(X, s)`` with `samples`: sample s = 0, 1, … of the rows' probabilities (n, classes), tuples
          (mean, standard deviation), SciPy distributions, or means (n,);
        - a function ``f(X)`` that returns all S samples at once: (S, n, classes), a tuple of two (S, n), or means
          (S, n);
        - a torch module with dropout layers, with `samples` and `output`: Monte-Carlo dropout.
    samples : int, optional
        The number of samples of a function or a module, 2 or more.
    output : {"logits", "probabilities", "values"}, optional
        The output of torch modules: scores (n, classes), or (n, 1) for two classes; probabilities of these shapes; or
        numbers, (n,) or (n, 1), or a tuple (mean, standard deviation).
    noise : float or function, optional
        The standard deviation of the observations around a member's mean, for members that predict a mean alone: a
        number, or a function X -> (n,).
    random_state : int
        Seed of the masks of Monte-Carlo dropout.
    weights : array_like, shape (S,), optional
        Weights of the members; by default they are equal.

    Returns
    -------
    MixtureEnsemble
        A model for `sd.entropy`, `sd.nll`, `sd.predictive_variance` and `sd.predictive_quantile`. `sd.prediction`
        explains its mean, `sd.probability` its mean probabilities; called with rows, it returns these.

    Raises
    ------
    DataError
        If there is one member only, members have different classes, or weights or noise are invalid.
    UnsupportedError
        If the model is not a mixture, or a module has no dropout layers.

    Notes
    -----
    A row costs one row of each member. Distributions over classes are averaged member by member; distributions over
    numbers take 16 bytes for each member and row of a call (up to 100,000 rows).

    Without `noise`, a mixture of members that predict a mean alone has a variance but no density: `sd.entropy`,
    `sd.nll` and `sd.predictive_quantile` raise an error when they are evaluated.

    The masks of Monte-Carlo dropout depend on (seed, sample, layer) only and are shared by all rows: a sample is one
    thinned network, and a result does not depend on its batch. The module itself is not changed: a copy that shares its
    parameters is called, in evaluation mode except for its dropout layers (`Dropout`, `Dropout1d`, `Dropout2d`,
    `Dropout3d`, `AlphaDropout`). The rows must lie along the first axis at each of these layers.

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
    expected = "an integer of two or more, because the epistemic part is the members' disagreement"
    fix = "Pass samples=100"
    if samples is not None and not isinstance(samples, (int, float, str)):
        fix = "Pass several models as a list: sd.ensemble([model, model2])"
    samples = check_int_or_none("ensemble(samples)", samples, 2, fix, expected)
    if noise is not None and not callable(noise):
        expected = "a positive standard deviation, or a function X -> (n,)"
        fix = "Pass the standard deviation of the residuals"
        check_number("ensemble(noise)", noise, expected, fix, above=0.0)
    seed = as_seed("ensemble(random_state)", random_state)
    members = _members(model, samples, output, seed)
    if members.count is not None and members.count < 2:
        raise too_few_members(members.count)
    if noise is not None and members.labels.kind == "classes":
        raise noise_not_applicable("classes")
    member_weights = _check_weights(weights, members.count)
    kind = MixtureEnsemble if members.labels.classes is None else ClassifierEnsemble
    return kind(model, members, noise, member_weights)


def _members(model: Any, samples: int | None, output: Output | None, seed: int) -> Members:
    """Return the members of a mixture."""
    if isinstance(model, Mapping):
        model = list(model.values())
    if isinstance(model, Sequence) and not isinstance(model, str) and not is_process(model):
        _check_unused(samples, "samples", "a list of models")
        modules = any(_is_module(m) for m in model)
        if not modules:
            _check_unused(output, "output", "models that are not torch modules")
        return ModelList([_member(m, output) for m in model])
    if _is_module(model):
        from skedasis.distributions.torch_ensembles import DropoutSamples, ModuleMember

        return DropoutSamples(ModuleMember(model, output, seed), samples)
    _check_unused(output, "output", "a model that is not a torch module")
    if isinstance(model, (Predictor, type)):
        raise _not_mixture(model)
    if is_estimator_ensemble(model):
        _check_unused(
            samples, "samples", f"{with_article(title(model))}, which has its own members"
        )
        return FittedEstimators(model)
    if not callable(model) or hasattr(model, "predict"):
        raise _not_mixture(model)
    return JointSamples(model) if samples is None else IndexedSamples(model, samples)


def _is_module(model: object) -> bool:
    return is_torch_module(model) and not is_process(model)


def _member(model: object, output: Output | None) -> Member:
    check_supervised(model, f"ensemble({title(model)})")
    if _is_module(model):
        from skedasis.distributions.torch_ensembles import ModuleMember

        module = ModuleMember(model, output, None)
        return Member(model, module.title, module.labels, stepped=False, response=module.response)
    if has_predict(model) and not isinstance(model, type) and not has_predictor(model):
        return mean_member(model)
    predictor = as_predictor(model)
    if isinstance(predictor, FunctionPredictor):
        return function_member(predictor.model)
    described = predictor.describe(), predictor.labels, predictor.stepped
    return Member(predictor.model, *described, predictor.distributions)


def _check_unused(value: object, name: str, model: str) -> None:
    """Raise if an argument is given that does not apply to this kind of model."""
    if value is not None:
        raise DataError(
            f"ensemble({name})",
            f"{value!r} for {model}",
            "None, because the argument does not apply here",
            f"Omit {name}=",
        )


def _not_mixture(model: object) -> UnsupportedError:
    return UnsupportedError(
        "ensemble",
        f"{with_article(title(model))}, which is not a mixture",
        "a list of models, a fitted forest or bagging ensemble, a function f(X, s) with samples=, a function f(X) "
        "that returns all samples, or a torch module with dropout",
        "Pass a list: sd.ensemble([model, model2, …])",
    )


def _check_weights(weights: ArrayLike | None, count: int | None) -> Floats | None:
    """Return a checked copy of the members' weights."""
    if weights is None:
        return None
    try:
        w = as_numbers(weights)
    except (TypeError, ValueError):
        w = np.array(np.nan)
    if w.ndim != 1 or not np.isfinite(w).all() or (w < 0).any() or not (w > 0).any():
        raise DataError(
            "ensemble(weights)",
            shown(weights),
            "one number per member, none negative and at least one positive",
            "Pass one weight for each member, or omit weights=",
        )
    if count is not None and len(w) != count:
        raise wrong_weight_count(len(w), count)
    return w
