"""What a report tells, computed: each model's effects by several methods, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skedasis.data.categories import TooManyLevels
from skedasis.data.dataset import Source, as_source
from skedasis.data.features import Feature, OutOfRange
from skedasis.engine.select import Choice
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.methods.ale_categorical import MOST_LEVELS
from skedasis.models.introspection import title
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import as_quantity
from skedasis.report.numbers import listed
from skedasis.report.story.asked import Asked
from skedasis.report.story.codes import Call
from skedasis.report.story.telling import Wanted, tell
from skedasis.report.story.told import Story, Told
from skedasis.report.story.unsure import model_of


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
    pairs: int = 4,
    rows: bool = True,
    uncertainty: bool = True,
    **options: Any,
) -> Story:
    """Explain each model by RHALE, ALE, M-plots and PDP with c-ICE, and say what follows from these.

    Parameters
    ----------
    models : model or mapping of str to model
        Quantities, fitted estimators or callables. One with several outputs is told of output by output.
    X, y, weights, schema, groups
        As in `skedasis.explain`. Rows may miss their label where the quantity does not need it.
    features : list, optional
        By default every one that has no more than 2,000 levels.
    notes : mapping of str to str, optional
        A sentence about each model, by its name.
    pairs : int
        How many surfaces of pairs to keep of each model: the strongest by second-order ALE among pairs of the five
        features with the largest heterogeneity scores. 0 computes none.
    rows : bool
        False keeps no row and no individual curve in any result.
    uncertainty : bool
        Whether to explain the entropy of models that have a predictive distribution, and to diagnose them where labels
        are given.
    **options
        ``seed``, ``memory``, ``keep``, ``threads``, ``progress``, ``tree``, ``heterogeneity_rows``: as in
        `skedasis.explain`.

    Returns
    -------
    Story

    Raises
    ------
    DataError, UnsupportedError, ModelOutputError
        As `skedasis.explain`.

    Notes
    -----
    All features that share a method do so in one pass. In model rows, of N rows and d features: RHALE 2 N d (N slope
    rows where there are slopes), the heterogeneity scores of n rows n (d + 2), ALE 2 N d, PDP 50 N d, M-plots N,
    predictions N, at most ten pairs 4 N each (fewer where they would cost more than 2,000,000), the entropy at most
    2,000 (53 d + 3) and the diagnosis 2,000 (1 + 5 d). For tree ensembles only the predictions call the model.
    """
    _check(pairs, rows, uncertainty)
    quantities = _named(models)
    source = as_source(X, y, weights, schema)
    chosen, left_out, remarks = _chosen(source, features, groups)
    options |= {"y": y, "weights": weights, "schema": schema, "groups": groups}
    wanted = Wanted(tuple(chosen), int(pairs), bool(rows), bool(uncertainty), len(source))
    told = tuple(
        one
        for name, quantity in quantities.items()
        for one in tell(
            Asked(quantity, X, dict(options)),
            wanted,
            name,
            (notes or {}).get(name, ""),
            _written(models, name, options),
        )
    )
    size = len(source), len(source.features)
    order = _in_order(told, [f.name for f in chosen])
    return Story(told, *size, order, tuple(left_out), tuple(remarks), wanted.rows)


def _check(pairs: Any, rows: Any, uncertainty: Any) -> None:
    whole = isinstance(pairs, (int, np.integer)) and not isinstance(pairs, bool)
    if not whole or pairs < 0:
        raise DataError(
            explained("report(pairs)", repr(pairs), "a whole number from 0", "Use pairs=4")
        )
    for name, given in (("rows", rows), ("uncertainty", uncertainty)):
        # What is to be left out must not be there because "no" is true.
        if not isinstance(given, (bool, np.bool_)):
            raise DataError(
                explained(f"report({name})", repr(given), "True or False", f"Use {name}=False")
            )


def _written(models: Any, name: str, options: Mapping[str, Any]) -> Call:
    """Return how a model's user calls it."""
    given: Any = models
    text = "model"
    if isinstance(models, Mapping):
        key = next(k for k in models if str(k) == name)
        given, text = models[key], f"models[{key!r}]"
    bare = ""
    if isinstance(given, Quantity):
        bare = f"{text}.one.model" if hasattr(given, "one") else f"{text}.model"
        if given.labelled:
            return Call(text, options, bare=bare)
    return Call(text, {**options, "y": None}, bare=bare)


def _named(models: Any) -> dict[str, Quantity]:
    """Return quantities by name; a single model is called by what it is."""
    if not isinstance(models, Mapping):
        quantity = as_quantity(models)
        return {title(model_of(quantity) or quantity): quantity}
    if not models:
        raise DataError(
            explained("report", "no model", "at least one", 'Pass a model, or {"name": model}')
        )
    return {str(name): as_quantity(model) for name, model in models.items()}


def _chosen(source: Source, wanted: Any, groups: Any) -> tuple[list[Feature], list[str], list[str]]:
    """Return the features to explain, the names of those that have too many levels to be, and remarks on others."""
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
    empty = [f.name for f in features if _empty(source, f)] if wanted is None else []
    if len(empty) == len(features):
        empty = []  # nothing would be left: the first one's error says it
    beyond = [] if wanted is not None else [f.name for f in features if _out_of_range(source, f)]
    if len(empty) + len(beyond) == len(features):
        beyond = []  # likewise
    others = [f for f in features if f.name not in (*empty, *beyond)]
    left_out = [f.name for f in others if _countless(source, f)] if wanted is None else []
    if len(left_out) == len(others):
        raise UnsupportedError(
            explained(
                "report",
                f"no feature with at most {MOST_LEVELS:,} levels among {len(features)}",
                "at least one",
                'Declare codes that are numbers: schema={"name": "continuous"}',
            )
        )
    remarks = [f"Left out, having no value in any row: {listed(empty, 20)}."] if empty else []
    if beyond:
        remarks.append(
            f"Left out because their numbers are too large, or too close together, for float64: {listed(beyond, 20)}. "
            "The model still uses these features."
        )
    return [f for f in others if f.name not in left_out], left_out, remarks


def _out_of_range(source: Source, feature: Feature) -> bool:
    """Return whether a feature has numbers with which float64 cannot compute."""
    if feature.categorical or len(feature.columns) > 1:
        return False
    try:
        source.column(feature.position)
    except OutOfRange:
        return True
    except DataError:
        return False
    return False


def _empty(source: Source, feature: Feature) -> bool:
    """Return whether no row has a value of a feature."""
    if len(feature.columns) > 1:
        return False
    if not feature.categorical:
        return bool(np.isnan(source.table.column(feature.position, source.row_id)).all())
    try:
        return not len(source.levels(feature, top=1).levels.labels)
    except TooManyLevels:
        return False
    except DataError:
        return True


def _countless(source: Source, feature: Feature) -> bool:
    """Return whether a feature has too many levels to be explained."""
    if not feature.categorical:
        return False
    try:
        source.levels(feature, most=MOST_LEVELS)
    except TooManyLevels:
        return True
    return False


def _in_order(told: Sequence[Told], names: list[str]) -> tuple[str, ...]:
    """Return the features by the largest share that any model gives them: models may differ in their units."""
    shares = np.zeros((len(told), len(names)))
    for k, one in enumerate(told):
        importances = np.array([one.rhale[n].importance for n in names])
        total = importances.sum()
        shares[k] = importances / total if total > 0 else 0.0
    order = np.argsort(-shares.max(axis=0), kind="stable")
    return tuple(names[j] for j in order)
