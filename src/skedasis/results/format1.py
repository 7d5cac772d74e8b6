"""Files of format 1, which held effects of numeric features alone: they are still read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from skedasis.cells import Cells
from skedasis.data.schema import Feature
from skedasis.moments import Moments
from skedasis.results.effect import BinStats, Curves, Effect, Rows
from skedasis.results.effects import Effects
from skedasis.results.spec import About, Spec
from skedasis.typing import Json

_PLAIN = ("value", "heterogeneity", "std_error", "freedom")
_LATER = {"trend", "time", "across"}
_EARLIER = {"low": "left", "high": "right"}
"""Former names of fields of parts."""
"""What parts have today and had not then."""
_PARTS: dict[str, type[Any]] = {"bins": BinStats, "rows": Rows, "curves": Curves, "cells": Cells}


def read(header: Json, array: Callable[[str], Any]) -> Effect | Effects:
    """Return the result of a file of format 1.

    Parameters
    ----------
    header : dict
        ``several``, ``effects`` (one entry a feature), and, of several, their ``provenance``.
    array : callable
        Returns an array by its name: ``"0.value"`` of the first effect, ``"0.bins.left"``, ``"0.moments.local.mean"``.
    """
    effects = [_effect(entry, i, array) for i, entry in enumerate(header["effects"])]
    if header["several"]:
        return Effects({e.feature: e for e in effects}, header["provenance"])
    return effects[0]


def _effect(header: Json, i: int, array: Callable[[str], Any]) -> Effect:
    def own(name: str) -> Any:
        return array(f"{i}.{name}")

    parts: dict[str, Any] = {}
    for part, kind in _PARTS.items():
        entries = header[part]
        if entries is not None:
            parts[part] = kind(
                **{
                    f.name: entries[f.name]
                    if f.name in entries
                    else own(f"{part}.{_EARLIER.get(f.name, f.name)}")
                    for f in fields(kind)
                    if f.name not in _LATER
                }
            )
    moments = {
        name: Moments(*(own(f"moments.{name}.{f.name}") for f in fields(Moments)))
        for name in header["moments"]
    }
    about = dict(header["about"])
    feature = dict(about.pop("feature"))
    if feature["levels"] is not None:
        feature["levels"] = tuple(feature["levels"])
    return Effect(
        points=own("x"),
        **{name: own(name) for name in _PLAIN},
        importance=header["importance"],
        about=About(Feature(**feature), **about),
        spec=Spec(**header["spec"]),
        moments=moments,
        provenance=header["provenance"],
        **parts,
    )
