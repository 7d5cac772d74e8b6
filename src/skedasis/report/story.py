"""What a report tells, as values: each model's effects by three methods, and what must be said about them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis.data.schema import Feature, find
from skedasis.data.source import as_source
from skedasis.engine import explain
from skedasis.errors import BinningWarning, DataError, UnsupportedError, explained
from skedasis.methods.ale import ALE
from skedasis.methods.base import Method
from skedasis.methods.pdp import PDP
from skedasis.methods.rhale import RHALE
from skedasis.quantity.base import Quantity
from skedasis.quantity.fitted import title
from skedasis.quantity.wrap import as_quantity
from skedasis.results.effects import Effects

CURVES = 100
"""Individual curves that a figure shows: more of them are a smear."""


@dataclass(frozen=True, eq=False)
class Told:
    """What there is to tell of one model.

    Parameters
    ----------
    name : str
        The user's name for it.
    model, quantity, axis : str
        What the model is; what is explained of it, and that with its unit.
    rhale, ale, pdp : Effects
    warnings : tuple of str
        What the methods complained of.
    note : str
        One sentence of the user's, such as how well the model predicts.
    """

    name: str
    model: str
    quantity: str
    axis: str
    rhale: Effects
    ale: Effects
    pdp: Effects
    warnings: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, eq=False)
class Story:
    """What there is to tell.

    Parameters
    ----------
    told : tuple of Told
        One a model.
    rows : int
        Rows that were explained on.
    columns : int
        Columns of X.
    features : tuple of str
        Those that are explained, the most important first: by the largest share of a model's importances.
    left_out : tuple of str
        Features without numeric values.
    remarks : tuple of str
        What else is to be said of the data.
    """

    told: tuple[Told, ...]
    rows: int
    columns: int
    features: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def gather(
    models: Any,
    X: Any,
    y: Any = None,
    *,
    features: Sequence[Any] | None = None,
    weights: Any = None,
    schema: Any = None,
    notes: Mapping[str, str] | None = None,
    **options: Any,
) -> Story:
    """Explain each model by RHALE, ALE and PDP with c-ICE, all features in one pass each.

    Parameters
    ----------
    models : model or mapping of str to model
        Quantities, fitted estimators or callables.
    X, y, weights, schema
        As in `skedasis.explain`.
    features : list, optional
        By default every numeric feature.
    notes : mapping of str to str, optional
        A sentence about each model, by its name.
    **options
        ``seed``, ``memory``, ``keep``, ``threads``, ``progress``: as in `skedasis.explain`.

    Returns
    -------
    Story
    """
    quantities = _named(models)
    source = as_source(X, y, weights, schema)
    chosen = _chosen(source.features, features)
    options |= {"y": y, "weights": weights, "schema": schema}
    wanted = [f.position if f.label is None else f.label for f in chosen]
    told = tuple(
        _tell(name, quantity, X, wanted, options, (notes or {}).get(name, ""))
        for name, quantity in quantities.items()
    )
    left_out = [] if features is not None else [f.name for f in source.features if not f.numeric]
    return Story(
        told,
        len(source),
        len(source.features),
        _in_order(told, [f.name for f in chosen]),
        tuple(left_out),
    )


def _named(models: Any) -> dict[str, Quantity]:
    """Return quantities by name; a single model is called by what it is."""
    if not isinstance(models, Mapping):
        quantity = as_quantity(models)
        return {title(getattr(quantity, "model", quantity)): quantity}
    if not models:
        raise DataError(
            explained("report", "no model", "at least one", 'Pass a model, or {"name": model}')
        )
    return {str(name): as_quantity(model) for name, model in models.items()}


def _chosen(features: Sequence[Feature], wanted: Sequence[Any] | None) -> list[Feature]:
    if wanted is not None:
        names = [wanted] if isinstance(wanted, (str, int)) else list(wanted)
        chosen = [features[j] for j in dict.fromkeys(find(features, n) for n in names)]
    else:
        chosen = [f for f in features if f.numeric]
    if not chosen:
        raise UnsupportedError(
            explained(
                "report",
                f"no numeric feature among {len(features)}",
                "at least one",
                'Declare codes that are numbers: schema={"name": "continuous"}',
            )
        )
    return chosen


def _tell(
    name: str, quantity: Quantity, X: Any, wanted: list[Any], options: dict[str, Any], note: str
) -> Told:
    complaints: list[str] = []

    def effects(method: Method) -> Effects:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = explain(quantity, X, wanted, method=method, **options)
        for warning in caught:
            if issubclass(warning.category, BinningWarning):
                complaints.append(str(warning.message))
            else:  # what the page does not show is the caller's
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )
        return result

    rhale, ale = effects(RHALE()), effects(ALE())
    pdp = effects(PDP(center="start", ice=CURVES))
    model = title(getattr(quantity, "model", quantity))
    return Told(
        name,
        model,
        quantity.name,
        quantity.axis,
        rhale,
        ale,
        pdp,
        tuple(dict.fromkeys(complaints)),
        note,
    )


def _in_order(told: Sequence[Told], names: list[str]) -> tuple[str, ...]:
    """Return the features by the largest share that any model gives them: models may differ in their units."""
    shares = np.zeros((len(told), len(names)))
    for k, one in enumerate(told):
        importances = np.array([one.rhale[n].importance for n in names])
        total = importances.sum()
        shares[k] = importances / total if total > 0 else 0.0
    order = np.argsort(-shares.max(axis=0), kind="stable")
    return tuple(names[j] for j in order)
