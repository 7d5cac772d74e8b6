"""Results for machines: what JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any


def jsonable(value: Any) -> Any:
    """Return a value as JSON knows it: what is no number is null, what JSON does not know is text.

    Parameters
    ----------
    value : any
        Mappings, sequences and arrays are gone through; scalars of NumPy become Python's.

    Examples
    --------
    >>> jsonable({"x": (1.5, float("nan")), 2: float("inf"), "p": PurePath("a")})
    {'x': [1.5, None], '2': None, 'p': 'a'}
    """
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy
        value = value.tolist()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(v) for v in value]
    if isinstance(value, PurePath):
        return str(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def result(found: Any, **besides: Any) -> dict[str, Any]:
    """Return a result's numbers and its provenance.

    Parameters
    ----------
    found : Effect, Surface, Importance or Diagnosis
    **besides
        What else is known of it, such as its class.
    """
    from skedasis.cli.tell import tables_of
    from skedasis.results.surface import Surface

    names = getattr(found, "features", None) or (getattr(found, "feature", ""),)
    said: dict[str, Any] = {
        "kind": type(found).__name__.lower(),
        "features": list(map(str, names)),
        **besides,
    }
    for name in ("importance", "heterogeneity_score", "heterogeneity_score_error"):
        number = getattr(found, name, None)
        if isinstance(number, float):
            said[name] = number
    if isinstance(found, Surface) and not found.includes_main_effects:
        strength = found.interaction_strength()
        said["interaction_strength"] = strength if math.isfinite(strength) else None
    return {**said, "tables": tables_of(found), "provenance": found.provenance}
