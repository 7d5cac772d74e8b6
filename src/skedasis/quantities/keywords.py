"""The keywords that all functions share which make a quantity: their types and texts, and what they become."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import TypedDict, TypeVar, cast

from skedasis._calls import misfit
from skedasis._error_state import with_own_errors
from skedasis.quantities.base import check_labels


class QuantityKeywords(TypedDict, total=False):
    """The keywords of each function that makes a quantity of a model."""

    name: str | None
    """Label for the axes of plots."""
    unit: str | None
    """Unit for the axes of plots."""
    copy: bool
    """Whether each call of the model gets rows of its own."""
    batch_rows: int | None
    """Largest number of rows in a call of the model. By default it follows from the measured time."""


_ENTRIES = """
copy : bool
    Whether each call of the model gets rows of its own, which models need that keep or change their input. By default
    rows are written to one buffer again and again.
batch_rows : int, optional
    Largest number of rows in a call of the model, at least 1, for a model that takes no more at once, such as an
    in-context model. Each call but the last then has this many rows. By default it follows from the measured time."""

Function = TypeVar("Function", bound=Callable[..., object])


def takes_quantity_keywords(function: Function) -> Function:
    """Return a function with ``**keywords: Unpack[QuantityKeywords]``, whose signature and docstring have them."""
    given = inspect.signature(function)
    own = [p for p in given.parameters.values() if p.kind is not p.VAR_KEYWORD]
    shared = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if name == "copy" else None,
            annotation=kind.__forward_arg__,
        )
        for name, kind in QuantityKeywords.__annotations__.items()
    ]
    signature = given.replace(parameters=[*own, *shared])

    @wraps(function)
    def checked(*args: object, **given: object) -> object:
        problem = misfit(function.__name__, signature, args, given)
        if problem is not None:
            raise problem
        return with_own_errors(function, *args, **given)

    checked.__dict__["__signature__"] = signature
    if function.__doc__ is not None:
        end = r"(?=\n\n(Returns|Raises)\n)"  # of the parameters
        checked.__doc__ = re.sub(end, _ENTRIES, inspect.cleandoc(function.__doc__), count=1)
    return cast(Function, checked)


class CallSettings(TypedDict):
    """How the model is called, as fields of a quantity."""

    copy: bool
    call_rows: int | None


def named_and_called(keywords: QuantityKeywords) -> tuple[str | None, str | None, CallSettings]:
    """Return name and unit, which are checked, and how the model is called."""
    name, unit = keywords.get("name"), keywords.get("unit")
    check_labels(name, unit)
    return (
        name,
        unit,
        {
            "copy": keywords.get("copy", False),
            "call_rows": keywords.get("batch_rows"),
        },
    )
