"""What a report tells, as values: each model's effects by three methods, and what must be said about them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis.data.given import as_source
from skedasis.data.levels import TooManyLevels
from skedasis.data.schema import Feature
from skedasis.data.source import Source
from skedasis.engine import explain
from skedasis.engine.choose import Choice
from skedasis.errors import BinningWarning, DataError, UnsupportedError, explained
from skedasis.methods.ale import ALE
from skedasis.methods.base import Method
from skedasis.methods.levels import MOST_LEVELS
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
        Of all features. Nominal features, which have no RHALE, have their ALE in its place.
    warnings : tuple of str
        What the methods complained of.
    note : str
        One sentence of the user's, such as how well the model predicts.
    passes : tuple of Effects
        As they were computed, for their provenance.
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
    passes: tuple[Effects, ...] = ()


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
        Features of more levels than can be looked at.
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
    groups: Any = None,
    notes: Mapping[str, str] | None = None,
    **options: Any,
) -> Story:
    """Explain each model by RHALE, ALE and PDP with c-ICE, all features that share a method in one pass.

    Parameters
    ----------
    models : model or mapping of str to model
        Quantities, fitted estimators or callables.
    X, y, weights, schema, groups
        As in `skedasis.explain`.
    features : list, optional
        By default every one that has no more than 2,000 levels.
    notes : mapping of str to str, optional
        A sentence about each model, by its name.
    **options
        ``seed``, ``memory``, ``keep``, ``threads``, ``progress``, ``tree``: as in `skedasis.explain`.

    Returns
    -------
    Story
    """
    quantities = _named(models)
    source = as_source(X, y, weights, schema)
    chosen, left_out = _chosen(source, features, groups)
    options |= {"y": y, "weights": weights, "schema": schema, "groups": groups}
    told = tuple(
        _tell(name, quantity, X, chosen, options, (notes or {}).get(name, ""))
        for name, quantity in quantities.items()
    )
    names = [f.name for f in chosen]
    return Story(told, len(source), len(source.features), _in_order(told, names), tuple(left_out))


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


def _chosen(source: Source, wanted: Any, groups: Any) -> tuple[list[Feature], list[str]]:
    """Return the features to explain, and the names of those that have too many levels to be."""
    if wanted is not None:
        wanted = [wanted] if isinstance(wanted, (str, int, np.integer)) else list(wanted)
    choice = Choice(source, wanted, groups)
    if choice.pairs:
        raise UnsupportedError(
            explained(
                "report(features)",
                f"the pair {[f.name for f in choice.asked[0]]}",
                "single features",
                "Explain pairs by sd.explain(model, X, (a, b)).plot()",
            )
        )
    features = list({f.name: f for (f,) in choice.asked}.values())
    left_out = [f.name for f in features if _countless(source, f)] if wanted is None else []
    if len(left_out) == len(features):
        raise UnsupportedError(
            explained(
                "report",
                f"no feature with at most {MOST_LEVELS:,} levels among {len(features)}",
                "at least one",
                'Declare codes that are numbers: schema={"name": "continuous"}',
            )
        )
    return [f for f in features if f.name not in left_out], left_out


def _countless(source: Source, feature: Feature) -> bool:
    """Return whether a feature has too many levels to be explained."""
    if not feature.categorical:
        return False
    try:
        source.levels(feature, most=MOST_LEVELS)
    except TooManyLevels:
        return True
    return False


def _tell(
    name: str,
    quantity: Quantity,
    X: Any,
    chosen: Sequence[Feature],
    options: dict[str, Any],
    note: str,
) -> Told:
    complaints: list[str] = []
    passes: list[Effects] = []

    def effects(method: Method, some: Sequence[Feature]) -> Effects:
        if not some:
            return Effects({})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = explain(quantity, X, [f.name for f in some], method=method, **options)
        _sort_out(caught, complaints)
        passes.append(result)
        return result

    # A nominal feature has no slopes for RHALE, and no first level from which its curves could start.
    nominal = [f for f in chosen if f.kind == "nominal"]
    others = [f for f in chosen if f.kind != "nominal"]
    rhale, ale = effects(RHALE(), others), effects(ALE(), chosen)
    start = effects(PDP(center="start", ice=CURVES), others)
    mean = effects(PDP(center="mean", ice=CURVES), nominal)
    names = [f.name for f in chosen]
    return Told(
        name,
        title(getattr(quantity, "model", quantity)),
        quantity.name,
        quantity.axis,
        _joined(rhale, ale, names),
        ale,
        _joined(start, mean, names),
        tuple(dict.fromkeys(complaints)),
        note,
        tuple(passes),
    )


def _joined(first: Effects, second: Effects, names: Sequence[str]) -> Effects:
    """Return the effects of all features, each from the first of two passes that has it."""
    found = {n: (first if n in first else second)[n] for n in names}
    return Effects(found, (first or second).provenance)


def _sort_out(caught: Sequence[warnings.WarningMessage], complaints: list[str]) -> None:
    """Keep complaints for the page; what it does not show is the caller's."""
    for warning in caught:
        if issubclass(warning.category, BinningWarning):
            complaints.append(str(warning.message))
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
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
