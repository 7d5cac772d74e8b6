"""Choices of a command from text: names in a list, classes and outputs, losses, methods."""

from __future__ import annotations

import csv
from collections.abc import Collection, Hashable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from skedasis.errors import DataError, nearest
from skedasis.models.introspection import is_classifier, labels_of

if TYPE_CHECKING:
    from skedasis.data.features import Feature
    from skedasis.methods.base import Parameters
    from skedasis.quantities.base import Quantity


DATA = (".csv", ".tsv", ".gz", ".parquet", ".pq", ".feather", ".arrow", ".ipc")
"""Suffixes of data files, which never hold a model."""


def listed(names: str | None, option: str) -> list[str]:
    """Return the names in a comma-separated list; names that contain a comma are quoted, as in CSV."""
    if names is None:
        return []
    found = [n.strip() for n in next(csv.reader([names], skipinitialspace=True), [])]
    if not found or not all(found):
        raise DataError(
            option, repr(names), "COLUMN,COLUMN", f"Write for example {option} age,town"
        )
    return found


def check_known(option: str, name: str | None, known: Collection[str]) -> None:
    """Raise for a name that is given and not known."""
    if name is not None and name not in known:
        near = nearest(name, known)
        fix = f"Did you mean {near!r}?" if near else "Choose one of these"
        raise DataError(option, repr(name), f"one of {', '.join(known)}", fix)


def class_of(model: object, class_: str) -> Hashable:
    """Return the class label of a model for a text: labels may be numbers or booleans."""
    known = labels_of(model) or getattr(model, "classes_", ())
    labels: list[Hashable] = [c for c in known if str(c) == class_]
    return labels[0].item() if labels and isinstance(labels[0], np.generic) else class_


def output_of(class_: str) -> int | str:
    """Return the output of a model without class names, such as a booster or a network."""
    if class_ == "all":
        return class_
    if not class_.isdecimal():
        got = f"{class_!r}, for a model without class names"
        raise DataError("--class", got, "the number of an output, or all", "Count from 0")
    return int(class_)


def loss_of(model: Any, kind: str | None) -> Quantity:
    """Return the loss of a model, by default squared, or zero-one for a classifier."""
    from skedasis.quantities.loss import LossName, loss

    default: LossName = "zero_one" if is_classifier(model) else "squared_error"
    return loss(model, cast(LossName, kind or default))  # `loss` checks it


def method_of(name: str, bins: int | None) -> Parameters:
    """Return a method by name, with a number of bins or grid points if given."""
    from skedasis.engine.select import as_method

    method = as_method(name)
    if bins is None:
        return method
    key = next((f.name for f in fields(method) if f.name in ("grid", "bins")), None)
    if key is None:
        fix = "Leave --bins out"
        raise DataError("--bins", f"--method {name}", "a method with bins or a grid", fix)
    return replace(method, **{key: bins})


def usual_method(features: Sequence[Feature]) -> str:
    """Return the default method: RHALE, or ALE for pairs and for levels without an order."""
    return "ale" if len(features) > 1 or features[0].kind == "nominal" else "rhale"
