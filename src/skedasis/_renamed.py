"""Names that were renamed before the first release: an old name raises an error that gives the new one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

PUBLIC = {
    "Chance": "NullDistribution",
    "EffectOfModels": "MultiModelEffect",
    "EffectsOfModels": "MultiModelEffects",
    "ImportanceOfModels": "MultiModelImportance",
    "Split": "VarianceDecomposition",
    "SurfaceOfModels": "MultiModelSurface",
    "Trust": "Checks",
    "chance": "null_distribution",
}
"""Old name of the package → new name."""

ATTRIBUTES = {
    "BinStats": {"trend": "slope_change"},
    "Check": {"kind": "code", "text": "message"},
    "Diagnosis": {"level": "confidence_level"},
    "Effect": {
        "freedom": "df",
        "rises": "elevated_regions",
        "score": "heterogeneity_score",
        "split": "variance_decomposition",
        "trust": "checks",
    },
    "Effects": {"trust": "checks"},
    "HeterogeneityTest": {"level": "confidence_level"},
    "Importance": {"freedom": "df"},
    "MultiModelEffect": {"freedom": "df", "score": "heterogeneity_score"},
    "PFI": {"repeats": "n_repeats"},
    "Statistics": {"level": "confidence_level"},
    "Surface": {"freedom": "df", "strength": "interaction_strength", "trust": "checks"},
}
"""Class → old attribute → new attribute."""

KEYWORDS = {
    "level": "confidence_level",
    "repeats": "n_repeats",
    "rises": "elevated_regions",
    "seed": "random_state",
    "sure": "confidence_level",
    "threads": "n_jobs",
    "weights": "sample_weight",
}
"""Old keyword of public functions → new keyword."""

OPTIONS = {
    "--level": "--confidence-level",
    "--repeats": "--n-repeats",
    "--seed": "--random-state",
    "--threads": "--n-jobs",
    "--weights": "--sample-weight",
}
"""Old option of the shell → new option."""


def refuse_old_keywords(function: F) -> F:
    """Make a function or a class name the new keyword where a caller uses the old one.

    Parameters
    ----------
    function : callable
        A function, or a class, whose constructor is meant.

    Returns
    -------
    callable
        It raises a TypeError for keywords in `KEYWORDS` whose new name is a parameter.

    Examples
    --------
    >>> @refuse_old_keywords
    ... def mean(x, sample_weight=None): ...
    >>> mean([1.0], weights=[2.0])
    Traceback (most recent call last):
    TypeError: mean() got an unexpected keyword argument 'weights': it is called 'sample_weight'
    """
    called: Any = function.__init__ if isinstance(function, type) else function
    code = called.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    renamed = {old: new for old, new in KEYWORDS.items() if new in parameters}

    @wraps(called)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for old in renamed.keys() & kwargs.keys():
            raise TypeError(
                f"{function.__name__}() got an unexpected keyword argument {old!r}: "
                f"it is called {renamed[old]!r}"
            )
        return called(*args, **kwargs)

    if isinstance(function, type):
        function.__init__ = checked
        return cast(F, function)
    return cast(F, checked)


class RenamedAttributes:
    """Base of classes with renamed attributes: an old name raises an AttributeError that gives the new one.

    Examples
    --------
    >>> import skedasis as sd
    >>> sd.PFI().repeats
    Traceback (most recent call last):
    AttributeError: 'PFI' object has no attribute 'repeats': it is called 'n_repeats'
    """

    __slots__ = ()

    if not TYPE_CHECKING:  # a type checker would take every attribute for one of ours

        def __getattr__(self, name: str) -> Any:
            for base in type(self).__mro__:
                new = ATTRIBUTES.get(base.__name__, {}).get(name)
                if new is not None:
                    raise AttributeError(
                        f"{type(self).__name__!r} object has no attribute {name!r}: it is called {new!r}",
                        name=name,
                        obj=self,
                    )
            # The ordinary error; of a property that failed, its own.
            return object.__getattribute__(self, name)
