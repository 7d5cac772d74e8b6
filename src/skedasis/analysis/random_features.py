"""`chance`: the null distribution of effects, from refits with permuted columns."""

from __future__ import annotations

import copy
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Literal

import numpy as np

from skedasis._types import Floats, Ints, Json
from skedasis.data.dataset import as_source
from skedasis.data.features import Feature, find
from skedasis.engine.explain import explain
from skedasis.engine.run import Progress
from skedasis.engine.select import as_method
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.methods.ale import ALE
from skedasis.results.ale_statistics import Chance, point_figures, way_of
from skedasis.results.display import given_seed
from skedasis.results.effects import Effects

# ------------------------------------------------------------------------------------------
# Data with permuted columns, in the container that it came in.


Changed = tuple[Any, list[Any], Any]
"""The data, what the random columns are known by, and the schema of all columns."""


def replaced(X: Any, features: Sequence[Feature], orders: Sequence[Ints], schema: Any) -> Changed:
    """Return X with columns permuted in their places.

    Parameters
    ----------
    X : array or data frame
    features : sequence of Feature
        The columns.
    orders : sequence of ndarray of int, shape (n,)
        Row i gets the value of row ``order[i]``.
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
    """Return X with permuted copies of columns behind its own; parameters are those of `replaced`."""
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
    return new, labels, _declared(schema, features, labels)


def _frame(X: Any) -> tuple[Any, Any]:
    import narwhals.stable.v2 as nw

    return nw.from_native(X), lambda frame: frame.to_native()


def _column(frame: Any, feature: Feature, order: Ints) -> Any:
    return frame.get_column(feature.label)[order]


def _labels(taken: list[Any], features: Sequence[Feature]) -> list[Any]:
    """Return labels that no column has: numbers where all columns have these, as scikit-learn demands."""
    if all(isinstance(label, (int, np.integer)) for label in taken):
        first = max(map(int, taken)) + 1
        return list(range(first, first + len(features)))
    found: list[Any] = []
    known = {str(label) for label in taken}
    for feature in features:
        label = f"{feature.name} (random)"
        while label in known:
            label += "'"
        known.add(label)
        found.append(label)
    return found


def _declared(schema: Any, features: Sequence[Feature], labels: Sequence[Any]) -> Any:
    """Declare copies as their columns are declared."""
    if schema is None:
        return None
    kinds = {
        label: Feature(
            label if isinstance(label, str) else f"{f.name} (random)", f.kind, f.unit, f.levels
        )
        for f, label in zip(features, labels, strict=True)
    }
    given = schema if isinstance(schema, Mapping) else {f.name: f for f in schema}
    return {**given, **kinds}


# ------------------------------------------------------------------------------------------
# `chance`: what effects a learner finds in features that say nothing.


How = Literal["replaced", "added"]


INSTEAD = ALE()


Fit = Callable[[Any, Any], Any]


def chance(
    fit: Any,
    X: Any,
    y: Any,
    *,
    method: Any = None,
    repeats: int = 100,
    columns: Any = None,
    how: How = "replaced",
    seed: int = 0,
    progress: bool | None = None,
    **options: Any,
) -> Chance:
    """Fit a learner again and again with permuted columns, and return the ALE statistics of these.

    Parameters
    ----------
    fit : estimator or callable
        An estimator of scikit-learn's kind, of which copies are fitted; or ``fit(X, y)`` that returns a fitted model or
        a quantity, which `explain` takes.
    X : array or data frame, n rows
        What the model under test was fitted and explained on. Never changed.
    y : array of n labels
        Passed on as it is.
    method : method or str, optional
        As in `explain`: that of the effects that are to be tested.
    repeats : int
        Random features for each column.
    columns : str, int or list, optional
        By default all. A feature without copies of its own is compared with those of all columns.
    how : {"replaced", "added"}
        "replaced": one column at a time is permuted in its place. If a feature is independent of the label and of the
        other features, it is one more such permutation, and its p-value is exact for any learner.
        "added": permuted copies of all columns are appended together. It needs fewer fits, but more features compete:
        a learner that selects, such as a tree, uses each less than it would, and p-values get too small (of three
        features with boosted stumps 8 to 10 % fell below 0.05; with least squares they stay uniform).
    seed : int
    progress : bool, optional
        As in `explain`.
    **options
        Of `explain`: weights, schema, memory, threads, and so on. Not groups or several models.

    Returns
    -------
    Chance
        For ``Effects.statistics(null=...)``.

    Raises
    ------
    DataError
        For fewer than one repeat, a fit that cannot be called or gives no model, labels of another length, columns that
        do not exist.
    UnsupportedError
        For groups, methods without accumulated effects, and quantities of several outputs.

    Notes
    -----
    **Cost.** "replaced" fits ``repeats * columns`` models and explains one feature of each; "added" fits ``repeats``
    models and explains as many features as there are columns. Both take the method's model rows for
    ``repeats * columns`` features (ALE: 2 n each), and each fit's check of at most 128 rows.

    **What is tested.** A permuted column is independent of everything. A real feature may say nothing about the label
    beyond the others and still depend on these: what learners make of it varies more then, and its p-value is too
    small. With many features, expect one in twenty below 0.05.

    A random feature gets the column's own values, so that both have the same bins, levels and scale. Effects are of the
    rows that the learner was fitted on: test effects on the same rows.

    Weights in `options` weigh the effects, and are passed to an estimator as ``sample_weight``; a callable has to heed
    them by itself.

    References
    ----------
    After Okoli (2023), arXiv:2310.09877, who adds one random variable to each of 1,000 refits, drawn from a
    distribution fitted to the model's residuals: of another scale than the features.

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
    >>> null = sd.chance(fit, X, y, method=sd.ALE(bins=5), repeats=39)
    >>> [s.p_value < 0.05 for s in es.statistics(null=null)]
    [True, False]
    """
    started = time.perf_counter()
    _check(repeats, how, seed, options)
    source = as_source(X, None, options.get("weights"), options.get("schema"))
    _check_labels(y, len(X))
    chosen = _columns(source.features, columns)
    learn = _learner(fit, options.get("weights"))
    way = as_method(method)
    ways = {f.name: _way(way, f) for f in chosen}
    # Statistics of curves read no heterogeneity score.
    given = {**options, "seed": seed, "progress": False, "heterogeneity_rows": 0}
    jobs = [chosen] * repeats if how == "added" else [[f] for f in chosen for _ in range(repeats)]
    found = _Found({f.name: [] for f in chosen})
    change = added if how == "added" else replaced
    with Progress(len(jobs), "refits with random features", progress) as bar:
        for job in jobs:
            orders = [_order(len(X), seed, f, len(found.draws[f.name])) for f in job]
            new, labels, schema = change(X, job, orders, options.get("schema"))
            model = _fitted(learn, new, y)
            for part in _alike(job, ways):
                asked = {**given, "schema": schema, "method": ways[job[part[0]].name]}
                effects = _effects(model, new, [labels[k] for k in part], asked)
                found.take([job[k].name for k in part], effects)
            bar.advance()
    _used(found.draws, how)
    made: Json = {"how": how, "repeats": int(repeats), "fits": len(jobs), "seed": seed}
    made |= {"model_rows": found.model_rows, "rows": len(X)}
    made["seconds"] = time.perf_counter() - started
    return Chance({name: np.array(d) for name, d in found.draws.items()}, found.ways, made)


@dataclass
class _Found:
    """What is gathered: each column's draws, how they were explained, and the model rows."""

    draws: dict[str, list[Floats]]
    ways: dict[str, tuple[str, ...]] = field(default_factory=dict)
    model_rows: int = 0

    def take(self, names: list[str], effects: Effects) -> None:
        """Take the effects of random features that stand for columns of these names."""
        self.model_rows += int(effects.provenance.get("model_rows", 0))
        for name, effect in zip(names, effects.values(), strict=True):
            self.draws[name].append(point_figures(effect))
            self.ways.setdefault(name, way_of(effect))


def _fitted(learn: Fit, X: Any, y: Any) -> Any:
    model = learn(X, y)
    if model is None:
        fix = "Return the fitted model (fit of scikit-learn does)"
        raise DataError(explained("chance(fit)", "None", "a fitted model", fix))
    return model


def _effects(model: Any, X: Any, wanted: list[Any], asked: Mapping[str, Any]) -> Effects:
    """Return the effects of random features."""
    found = explain(model, X, wanted, **asked)
    if not isinstance(found, Effects):
        got = f"a {type(found).__name__}"
        fix = "Return one quantity, such as sd.probability(model, class_=...), and use an ALE"
        raise UnsupportedError(explained("chance", got, "effects of one output", fix))
    return found


def _way(method: Any, feature: Feature) -> Any:
    """Return the method for a feature: ALE where it has no form for a categorical one, as `explain` takes it."""
    if not feature.categorical or not hasattr(method, "in_place_of"):
        return method
    try:
        method.for_feature(feature)
    except UnsupportedError:
        return INSTEAD
    return method


def _alike(job: list[Feature], ways: Mapping[str, Any]) -> list[list[int]]:
    """Group the places of features that are explained by the same method."""
    groups: dict[bool, list[int]] = {}
    for k, feature in enumerate(job):
        groups.setdefault(ways[feature.name] is INSTEAD, []).append(k)
    return list(groups.values())


def _order(rows: int, seed: int, feature: Feature, repeat: int) -> Ints:
    """Return a permutation: the same for a column whatever others are asked for."""
    return np.random.default_rng([seed, feature.position, repeat]).permutation(rows)


def _used(draws: Mapping[str, list[Floats]], how: str) -> None:
    """Refuse appended columns that no model looked at, as a pipeline that names its columns does not."""
    if how == "added" and not any(np.any(d) for d in draws.values()):
        fix = "Use how='replaced': a pipeline that names its columns drops others"
        raise DataError(explained("chance", "models that use no added column", "some", fix))


def _learner(fit: Any, weights: Any) -> Fit:
    """Return what fits a fresh model."""
    if isinstance(fit, type) or not (hasattr(fit, "fit") or callable(fit)):
        got = f"the class {fit.__name__}" if isinstance(fit, type) else f"a {type(fit).__name__}"
        expected = "an estimator, or a callable fit(X, y) that returns a model"
        fix = f"Write {fit.__name__}()" if isinstance(fit, type) else "Pass what fits the model"
        raise DataError(explained("chance(fit)", got, expected, fix))
    if not hasattr(fit, "fit"):
        return fit
    estimator: Any = fit
    extra = {}
    if weights is not None:
        if "sample_weight" not in inspect.signature(estimator.fit).parameters:
            got = f"a {type(estimator).__name__}, whose fit takes no sample_weight"
            fix = "Pass a callable fit(X, y) that heeds the weights"
            raise DataError(explained("chance(weights)", got, "an estimator that does", fix))
        extra["sample_weight"] = np.asarray(weights, dtype=float)

    def learn(X: Any, y: Any) -> Any:
        model = _fresh(estimator)
        model.fit(X, y, **extra)
        return model

    return learn


def _fresh(estimator: Any) -> Any:
    """Return an estimator with the same parameters that was never fitted."""
    if hasattr(estimator, "get_params"):
        try:
            from sklearn.base import clone
        except ImportError:
            pass
        else:
            return clone(estimator)
    return copy.deepcopy(estimator)


def _check(repeats: Any, how: Any, seed: Any, options: Mapping[str, Any]) -> None:
    given_seed("chance(seed)", seed)
    whole = isinstance(repeats, Integral) and not isinstance(repeats, (bool, np.bool_))
    if not whole or repeats < 1:
        got, fix = repr(repeats), "Use 100"
        raise DataError(explained("chance(repeats)", got, "a whole number of at least 1", fix))
    if how not in ("replaced", "added"):
        raise DataError(explained("chance(how)", repr(how), "'replaced' or 'added'", "Name one"))
    for name in ("groups", "cv", "correction"):
        if options.get(name) is not None:
            got, expected = f"{name}={options[name]!r}"[:60], "single columns and one model"
            raise UnsupportedError(explained("chance", got, expected, f"Leave {name} away"))
    if "features" in options or "y" in options:
        name = "features" if "features" in options else "y"
        fix = "Name columns by columns=, and pass y once"
        raise DataError(explained("chance", f"{name} among the options", "those of explain", fix))


def _check_labels(y: Any, rows: int) -> None:
    given = len(y) if hasattr(y, "__len__") and not isinstance(y, (str, Mapping)) else None
    if given != rows:
        got = f"a {type(y).__name__}" if given is None else f"length {given}"
        fix = "Pass the labels of the same rows as X"
        raise DataError(explained("chance(y)", got, f"length {rows} (one a row)", fix))


def _columns(features: tuple[Feature, ...], wanted: Any) -> list[Feature]:
    if wanted is None:
        return list(features)
    several = isinstance(wanted, (list, np.ndarray))
    places = [find(features, w) for w in (wanted if several else [wanted])]
    if not places:
        raise DataError(explained("chance(columns)", "an empty list", "some", "Use None for all"))
    return [features[k] for k in dict.fromkeys(places)]
