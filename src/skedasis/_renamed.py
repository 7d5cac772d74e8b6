"""Names that were renamed before the first release: an old name raises an error that gives the new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

F = TypeVar("F")

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
OPTIONS = {
    "--level": "--confidence-level",
    "--repeats": "--n-repeats",
    "--seed": "--random-state",
    "--threads": "--n-jobs",
    "--weights": "--sample-weight",
}
"""Old option of the shell → new option."""


def renamed_keywords(**names: str) -> Callable[[F], F]:
    """Make a function or a class refuse old keywords.

    Parameters
    ----------
    **names : str
        ``old="new"``.

    Returns
    -------
    callable
        A decorator. What it returns raises a TypeError that names the new keyword.

    Examples
    --------
    >>> @renamed_keywords(weights="sample_weight")
    ... def mean(x, sample_weight=None): ...
    >>> mean([1.0], weights=[2.0])
    Traceback (most recent call last):
    TypeError: mean() got an unexpected keyword argument 'weights': it is called 'sample_weight'
    """

    def decorate(function: Any) -> Any:
        made = function.__init__ if isinstance(function, type) else function

        @wraps(made)
        def checked(*args: Any, **kwargs: Any) -> Any:
            for old in names.keys() & kwargs.keys():
                raise TypeError(
                    f"{function.__name__}() got an unexpected keyword argument {old!r}: "
                    f"it is called {names[old]!r}"
                )
            return made(*args, **kwargs)

        if isinstance(function, type):
            function.__init__ = checked
            return function
        return checked

    return decorate


class RenamedAttributes:
    """Base of classes with renamed attributes: an old name raises an AttributeError that gives the new one.

    Examples
    --------
    >>> class Curve(RenamedAttributes):
    ...     _RENAMED = {"score": "heterogeneity_score"}
    >>> Curve().score
    Traceback (most recent call last):
    AttributeError: 'Curve' object has no attribute 'score': it is called 'heterogeneity_score'
    """

    __slots__ = ()
    _RENAMED: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # a type checker would take every attribute for one of ours

        def __getattr__(self, name: str) -> Any:
            new = self._RENAMED.get(name)
            if new is None:
                # The ordinary error; of a property that failed, its own.
                return object.__getattribute__(self, name)
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}: it is called {new!r}",
                name=name,
                obj=self,
            )
