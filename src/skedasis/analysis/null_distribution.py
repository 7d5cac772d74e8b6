"""`null_distribution`: the null distribution of ALE statistics, from refits of the learner with permuted columns.

A permuted column is independent of the label and of all other columns. The effects that a learner finds in such columns
show which effects of real features can be due to chance (after Okoli 2023). `results.ale_statistics` derives p-values
from them.
"""

from __future__ import annotations

import copy
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Literal

import numpy as np

from skedasis._renamed import refuse_old_keywords
from skedasis._types import Floats, Ints, Json
from skedasis.data.dataset import as_dataset
from skedasis.data.features import Feature, find_feature
from skedasis.engine.explain import explain
from skedasis.engine.run import Progress
from skedasis.engine.select import as_method
from skedasis.errors import DataError, UnsupportedError
from skedasis.methods.ale import ALE
from skedasis.results.ale_statistics import NullDistribution, null_key, point_statistics
from skedasis.results.effects import Effects
from skedasis.stats.random import RandomState, as_seed

# --- data with permuted columns -------------------------------------------------------------------


Changed = tuple[Any, list[Any], Any]
"""The data in the container of X, the labels of the random columns, and the schema of all columns."""


def replaced(X: Any, features: Sequence[Feature], orders: Sequence[Ints], schema: Any) -> Changed:
    """Return X with columns replaced by permutations of themselves.

    Parameters
    ----------
    X : array or data frame
    features : sequence of Feature
        The columns.
    orders : sequence of ndarray of int, shape (n,)
        Permutations, one per column: row i gets the value of row ``order[i]``.
    schema : mapping, sequence of Feature or None
    """
    pairs = list(zip(features, orders, strict=True))
    labels: list[Any] = [f.name for f in features]
    if isinstance(X, np.ndarray):
        new = X.copy()
        for feature, order in pairs:
            new[:, feature.position] = X[order, feature.position]
        return new, labels, schema
    frame, native = _frame(X)
    columns = [_column(frame, f, order).alias(f.label) for f, order in pairs]
    return native(frame.with_columns(*columns)), labels, schema


def added(X: Any, features: Sequence[Feature], orders: Sequence[Ints], schema: Any) -> Changed:
    """Return X with permuted copies of columns appended; the parameters are those of `replaced`."""
    pairs = list(zip(features, orders, strict=True))
    if isinstance(X, np.ndarray):
        width = X.shape[1]
        new = np.column_stack([X, *(X[order, f.position][:, None] for f, order in pairs)])
        labels: list[Any] = list(range(width, width + len(pairs)))
    else:
        frame, native = _frame(X)
        labels = _labels(list(frame.columns), features)
        columns = [
            _column(frame, f, order).alias(label)
            for (f, order), label in zip(pairs, labels, strict=True)
        ]
        new = native(frame.with_columns(*columns))
    return new, labels, _extended_schema(schema, features, labels)


def _frame(X: Any) -> tuple[Any, Any]:
    import narwhals.stable.v2 as nw

    return nw.from_native(X), lambda frame: frame.to_native()


def _column(frame: Any, feature: Feature, order: Ints) -> Any:
    return frame.get_column(feature.label)[order]


def _labels(existing: list[Any], features: Sequence[Feature]) -> list[Any]:
    """Return new labels: integers if all columns have integer labels, as scikit-learn requires uniform types."""
    if all(isinstance(label, (int, np.integer)) for label in existing):
        first = max(map(int, existing)) + 1
        return list(range(first, first + len(features)))
    labels: list[Any] = []
    known = {str(label) for label in existing}
    for feature in features:
        label = f"{feature.name} (random)"
        while label in known:
            label += "'"
        known.add(label)
        labels.append(label)
    return labels


def _extended_schema(schema: Any, features: Sequence[Feature], labels: Sequence[Any]) -> Any:
    """Return the schema with the copies declared in the same way as their columns."""
    if schema is None:
        return None
    copies = {
        label: Feature(
            label if isinstance(label, str) else f"{f.name} (random)", f.kind, f.unit, f.levels
        )
        for f, label in zip(features, labels, strict=True)
    }
    by_name = schema if isinstance(schema, Mapping) else {f.name: f for f in schema}
    return {**by_name, **copies}


# --- null distribution ----------------------------------------------------------------------------


How = Literal["replaced", "added"]


FALLBACK = ALE()
"""The method for categorical features, if the requested method does not support them."""


Fit = Callable[[Any, Any], Any]


@refuse_old_keywords
def null_distribution(
    fit: Any,
    X: Any,
    y: Any,
    *,
    method: Any = None,
    n_repeats: int = 100,
    columns: Any = None,
    how: How = "replaced",
    random_state: RandomState = 0,
    progress: bool | None = None,
    **options: Any,
) -> NullDistribution:
    """Return the null distribution of ALE statistics, from refits of a learner with permuted columns.

    Parameters
    ----------
    fit : estimator or callable
        A scikit-learn estimator, of which copies are fitted; or ``fit(X, y)`` that returns a fitted model or a quantity
        for `explain`.
    X : array or data frame, n rows
        The rows on which the model under test was fitted and explained. They are not modified.
    y : array of n labels
        Passed to `fit` unchanged.
    method : method or str, optional
        The method of the effects under test, as in `explain`.
    n_repeats : int
        Number of random features per column.
    columns : str, int or list, optional
        Columns to permute, by default all. A feature without random copies of itself is compared with those of all
        columns.
    how : {"replaced", "added"}
        "replaced": one column at a time is replaced by a permutation of itself. If a feature is independent of the
        label and of the other features, it is exchangeable with its permutations, and its p-value is exact for any
        learner.
        "added": permuted copies of all columns are appended together. It needs fewer fits, but more features compete.
        A learner that selects features, such as a tree, uses each of them less, and p-values are too small (for three
        features with boosted stumps 8 to 10 % were below 0.05; with least squares they are uniform).
    random_state : int, numpy.random.Generator or None
    progress : bool, optional
        As in `explain`.
    **options
        Options of `explain`: sample_weight, schema, memory, n_jobs, ... Groups and several models are not supported.

    Returns
    -------
    NullDistribution
        The null distribution, for ``Effects.statistics(null=...)``.

    Raises
    ------
    DataError
        For fewer than one repeat, a `fit` that cannot be called or returns no model, labels of another length, and
        columns that do not exist.
    UnsupportedError
        For groups, methods without accumulated effects, and quantities with several outputs.

    Notes
    -----
    **Cost.** "replaced" fits ``n_repeats * columns`` models and explains one feature of each; "added" fits
    ``n_repeats`` models and explains as many features as there are columns. Both need the method's model rows for
    ``n_repeats * columns`` features (ALE: 2 n each), and at most 128 rows for the check of each fitted model.

    **Null hypothesis.** A permuted column is independent of the label and of all other columns. A real feature may be
    uninformative given the others, but dependent on them. Then its effect varies more between fits, and its p-value is
    too small. Among many features, expect one in twenty p-values below 0.05.

    A random feature has the values of its column, so that both have the same bins, levels and scale. The effects are
    computed on the rows that the learner is fitted on; compare them with effects on the same rows.

    Weights in `options` weight the effects, and are passed to an estimator as ``sample_weight``. A callable must apply
    them itself.

    References
    ----------
    After Okoli (2023), arXiv:2310.09877, who adds one random variable to each of 1,000 refits. It is drawn from a
    distribution fitted to the residuals of the model, whose scale differs from that of the features.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> y = X[:, 0] + rng.normal(size=100)
    >>> def fit(X, y):
    ...     slopes = np.linalg.lstsq(X, y, rcond=None)[0]
    ...     return lambda X: X @ slopes
    >>> es = sd.explain(fit(X, y), X, method=sd.ALE(bins=5))
    >>> null = sd.null_distribution(fit, X, y, method=sd.ALE(bins=5), n_repeats=39)
    >>> [s.p_value < 0.05 for s in es.statistics(null=null)]
    [True, False]
    """
    started = time.perf_counter()
    seed = as_seed("null_distribution(random_state)", random_state)
    _check(n_repeats, how, options)
    dataset = as_dataset(X, None, options.get("sample_weight"), options.get("schema"))
    _check_labels(y, len(X))
    selected = _columns(dataset.features, columns)
    learn = _learner(fit, options.get("sample_weight"))
    requested = as_method(method)
    methods = {f.name: _method_for(requested, f) for f in selected}
    # ALE statistics do not use the heterogeneity score.
    common = {**options, "random_state": seed, "progress": False, "heterogeneity_rows": 0}
    refits = (
        [selected] * n_repeats
        if how == "added"
        else [[f] for f in selected for _ in range(n_repeats)]
    )
    draws = _Draws({f.name: [] for f in selected})
    permute = added if how == "added" else replaced
    with Progress(len(refits), "refits with random features", progress) as bar:
        for features in refits:
            orders = [_order(len(X), seed, f, len(draws.values[f.name])) for f in features]
            new, labels, schema = permute(X, features, orders, options.get("schema"))
            model = _fitted(learn, new, y)
            for group in _by_method(features, methods):
                keywords = {**common, "schema": schema, "method": methods[features[group[0]].name]}
                effects = _effects(model, new, [labels[k] for k in group], keywords)
                draws.add([features[k].name for k in group], effects)
            bar.advance()
    _check_used(draws.values, how)
    record: Json = {
        "how": how,
        "n_repeats": int(n_repeats),
        "fits": len(refits),
        "random_state": seed,
    }
    record |= {"model_rows": draws.model_rows, "rows": len(X)}
    record["seconds"] = time.perf_counter() - started
    values = {name: np.array(v) for name, v in draws.values.items()}
    return NullDistribution(values, draws.settings, record)


@dataclass
class _Draws:
    """The statistics of the random features by column, the settings of their effects, and the model rows."""

    values: dict[str, list[Floats]]
    settings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    model_rows: int = 0

    def add(self, names: list[str], effects: Effects) -> None:
        """Add the effects of random features that are permutations of the named columns."""
        self.model_rows += int(effects.provenance.get("model_rows", 0))
        for name, effect in zip(names, effects.values(), strict=True):
            self.values[name].append(point_statistics(effect))
            self.settings.setdefault(name, null_key(effect))


def _fitted(learn: Fit, X: Any, y: Any) -> Any:
    model = learn(X, y)
    if model is None:
        fix = "Return the fitted model from fit(X, y)"
        raise DataError("null_distribution(fit)", "None", "a fitted model", fix)
    return model


def _effects(model: Any, X: Any, features: list[Any], keywords: Mapping[str, Any]) -> Effects:
    """Return the effects of random features."""
    effects = explain(model, X, features, **keywords)
    if not isinstance(effects, Effects):
        got = f"a result of type {type(effects).__name__}"
        fix = "Return one quantity, such as sd.probability(model, class_=...), and use an ALE"
        raise UnsupportedError("null_distribution", got, "effects of one output", fix)
    return effects


def _method_for(method: Any, feature: Feature) -> Any:
    """Return the method for a feature, as `explain` selects it: ALE if `method` does not support a categorical one."""
    if not feature.categorical or not hasattr(method, "in_place_of"):
        return method
    try:
        method.for_feature(feature)
    except UnsupportedError:
        return FALLBACK
    return method


def _by_method(features: list[Feature], methods: Mapping[str, Any]) -> list[list[int]]:
    """Return the indices of the features, grouped by their method."""
    groups: dict[bool, list[int]] = {}
    for k, feature in enumerate(features):
        groups.setdefault(methods[feature.name] is FALLBACK, []).append(k)
    return list(groups.values())


def _order(rows: int, seed: int, feature: Feature, repeat: int) -> Ints:
    """Return a permutation, which depends on the column but not on which others are selected."""
    return np.random.default_rng([seed, feature.position, repeat]).permutation(rows)


def _check_used(draws: Mapping[str, list[Floats]], how: str) -> None:
    """Raise if no model used the appended columns, for example because a pipeline selects columns by name."""
    if how == "added" and not any(np.any(d) for d in draws.values()):
        fix = "Use how='replaced', because a pipeline that selects columns by name drops added ones"
        expected = "models that use them"
        raise DataError("null_distribution", "models that use no added column", expected, fix)


def _learner(fit: Any, weights: Any) -> Fit:
    """Return a function (X, y) that fits a new model."""
    if isinstance(fit, type) or not (hasattr(fit, "fit") or callable(fit)):
        got, fix = f"an object of type {type(fit).__name__}", "Pass an unfitted estimator"
        if isinstance(fit, type):
            got, fix = f"the class {fit.__name__}", f"Pass an instance: {fit.__name__}()"
        expected = "an estimator, or a callable fit(X, y) that returns a model"
        raise DataError("null_distribution(fit)", got, expected, fix)
    if not hasattr(fit, "fit"):
        return fit
    estimator: Any = fit
    extra = {}
    if weights is not None:
        if "sample_weight" not in inspect.signature(estimator.fit).parameters:
            got = f"{type(estimator).__name__}, whose fit has no parameter sample_weight"
            fix = "Pass a callable fit(X, y) that applies the weights"
            expected = "an estimator with sample_weight"
            raise DataError("null_distribution(sample_weight)", got, expected, fix)
        extra["sample_weight"] = np.asarray(weights, dtype=float)

    def learn(X: Any, y: Any) -> Any:
        model = _fresh(estimator)
        model.fit(X, y, **extra)
        return model

    return learn


def _fresh(estimator: Any) -> Any:
    """Return an unfitted estimator with the same parameters."""
    if hasattr(estimator, "get_params"):
        try:
            from sklearn.base import clone
        except ImportError:
            pass
        else:
            return clone(estimator)
    return copy.deepcopy(estimator)


def _check(n_repeats: Any, how: Any, options: Mapping[str, Any]) -> None:
    whole = isinstance(n_repeats, Integral) and not isinstance(n_repeats, (bool, np.bool_))
    if not whole or n_repeats < 1:
        got, fix = repr(n_repeats), "Pass for example 100"
        raise DataError("null_distribution(n_repeats)", got, "an integer of at least 1", fix)
    if how not in ("replaced", "added"):
        known = "'replaced' or 'added'"
        raise DataError("null_distribution(how)", repr(how), known, "Pass one of these")
    for name in ("groups", "cv", "correction"):
        if options.get(name) is not None:
            got, expected = f"{name}={options[name]!r}"[:60], "single columns and one model"
            raise UnsupportedError("null_distribution", got, expected, f"Remove {name}")
    if "features" in options or "y" in options:
        name = "features" if "features" in options else "y"
        fix = "Select columns by columns=" if name == "features" else "Pass y only once"
        expected = "options of explain except features and y"
        raise DataError("null_distribution", f"the option {name}", expected, fix)


def _check_labels(y: Any, rows: int) -> None:
    length = len(y) if hasattr(y, "__len__") and not isinstance(y, (str, Mapping)) else None
    if length != rows:
        got = f"an object of type {type(y).__name__}" if length is None else f"length {length}"
        fix = "Pass the labels of the same rows as X"
        raise DataError("null_distribution(y)", got, f"length {rows} (one per row)", fix)


def _columns(features: tuple[Feature, ...], columns: Any) -> list[Feature]:
    if columns is None:
        return list(features)
    several = isinstance(columns, (list, np.ndarray))
    positions = [find_feature(features, c) for c in (columns if several else [columns])]
    if not positions:
        fix = "Pass None for all columns"
        raise DataError("null_distribution(columns)", "an empty list", "at least one column", fix)
    return [features[k] for k in dict.fromkeys(positions)]
