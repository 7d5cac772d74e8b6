"""`null_distribution`: the null distribution of ALE statistics, from refits of the learner with permuted columns."""

from __future__ import annotations

import copy
import inspect
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, Unpack, cast, get_args

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import check_int, check_option
from skedasis._progress import Progress, current_work
from skedasis._types import Container, Floats, Ints, Json, TableLike
from skedasis.data.dataset import Dataset, as_dataset
from skedasis.data.features import Declared, Feature, Schema, find_feature
from skedasis.engine.argument_types import EffectMethod, FeatureList
from skedasis.engine.assemble import limit_record
from skedasis.engine.explain import explain
from skedasis.engine.options import ExplainOptions, LimitedKeywords, takes_options
from skedasis.engine.select import FeatureMatcher, as_features, as_method
from skedasis.errors import DataError, UnsupportedError
from skedasis.methods.ale import ALE, Accumulated
from skedasis.results.ale_statistics import NullDistribution, null_key, point_statistics
from skedasis.results.effects import Effects
from skedasis.results.provenance import Provenance, summed_costs

# --- data with permuted columns -------------------------------------------------------------------


class Changed(NamedTuple):
    """Data with permuted columns: the container of X, the labels of these columns, and the schema of all columns."""

    X: Container
    labels: list[Hashable]
    schema: Schema | None


def replaced(
    X: Container, features: Sequence[Feature], orders: Sequence[Ints], schema: Schema | None
) -> Changed:
    """Return X with columns replaced by permutations of themselves."""
    pairs = list(zip(features, orders, strict=True))
    labels: list[Hashable] = [f.name for f in features]
    if isinstance(X, np.ndarray):
        new = X.copy()
        for feature, order in pairs:
            new[:, feature.position] = X[order, feature.position]
        return Changed(new, labels, schema)
    frame = nw.from_native(X)
    columns = [_column(frame, f, order).alias(_name(f.key)) for f, order in pairs]
    return Changed(frame.with_columns(*columns).to_native(), labels, schema)


def added(
    X: Container, features: Sequence[Feature], orders: Sequence[Ints], schema: Schema | None
) -> Changed:
    """Return X with permuted copies of columns appended; the parameters are those of `replaced`."""
    pairs = list(zip(features, orders, strict=True))
    labels: list[Hashable]
    if isinstance(X, np.ndarray):
        width = X.shape[1]
        new = np.column_stack([X, *(X[order, f.position][:, None] for f, order in pairs)])
        labels = list(range(width, width + len(pairs)))
        return Changed(new, labels, _extended_schema(schema, features, labels))
    frame = nw.from_native(X)
    labels = _labels(list(frame.columns), features)
    columns = [
        _column(frame, f, order).alias(_name(label))
        for (f, order), label in zip(pairs, labels, strict=True)
    ]
    new_schema = _extended_schema(schema, features, labels)
    return Changed(frame.with_columns(*columns).to_native(), labels, new_schema)


def _name(label: Hashable) -> str:
    """Return the label of a column as narwhals' types want it; pandas has labels that are no texts."""
    return cast(str, label)


def _column(frame: nw.DataFrame[Any], feature: Feature, order: Ints) -> nw.Series[Any]:
    return frame.get_column(_name(feature.key))[order]


def _labels(existing: Sequence[Hashable], features: Sequence[Feature]) -> list[Hashable]:
    """Return new labels: integers if all columns have integer labels, as scikit-learn requires uniform types."""
    numbers = [int(label) for label in existing if isinstance(label, (int, np.integer))]
    if len(numbers) == len(existing):
        first = max(numbers) + 1
        return list(range(first, first + len(features)))
    labels: list[Hashable] = []
    known = {str(label) for label in existing}
    for feature in features:
        label = f"{feature.name} (random)"
        while label in known:
            label += "'"
        known.add(label)
        labels.append(label)
    return labels


def _extended_schema(
    schema: Schema | None, features: Sequence[Feature], labels: Sequence[Hashable]
) -> Schema | None:
    """Return the schema with the copies declared in the same way as their columns."""
    if schema is None:
        return None
    copies = {
        label: Feature(
            label if isinstance(label, str) else f"{f.name} (random)", f.kind, f.unit, f.levels
        )
        for f, label in zip(features, labels, strict=True)
    }
    declared: Iterable[tuple[Hashable, Declared]] = (
        schema.items() if isinstance(schema, Mapping) else ((f.name, f) for f in schema)
    )
    return {**dict(declared), **copies}


# --- null distribution ----------------------------------------------------------------------------


How = Literal["replaced", "added"]


ColumnsLike: TypeAlias = str | int | FeatureList | Ints


FALLBACK = ALE()
"""The method for categorical features, if the requested method does not support them."""


class Estimator(Protocol):
    """An unfitted estimator of scikit-learn."""

    def fit(self, X: Any, y: Any) -> object:
        """Fit the estimator in place."""
        ...


Learner = Callable[[Container, ArrayLike], Any]
"""A function of data and labels that returns a fitted model or a quantity."""


@takes_options(LimitedKeywords)
def null_distribution(
    fit: Estimator | Callable[[Any, Any], Any],
    X: TableLike,
    y: ArrayLike,
    *,
    method: EffectMethod = None,
    n_repeats: int = 100,
    columns: ColumnsLike | None = None,
    how: How = "replaced",
    **keywords: Unpack[LimitedKeywords],
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
    columns : str, int, list, pattern or selector, optional
        Columns to permute, by default all; patterns and selectors as in `skedasis.explain`. A feature without random
        copies of itself is compared with those of all columns.
    how : {"replaced", "added"}
        "replaced": one column at a time is replaced by a permutation of itself. If a feature is independent of the
        label and of the other features, it is exchangeable with its permutations, and its p-value is exact for any
        learner.
        "added": permuted copies of all columns are appended together. It needs fewer fits, but more features compete.
        A learner that selects features, such as a tree, uses each of them less, and p-values are too small (for three
        features with boosted stumps 8 to 10 % were below 0.05; with least squares they are uniform).
    sample_weight, schema, random_state, sample, memory, keep_rows, n_jobs, progress, tree, weight_kind, row_id
        As in `explain`: with `sample`, models are fitted on all rows, and explained on these. Groups and several
        models are not supported.
    max_model_rows : int or None
        Largest number of rows at which the models are called, which the refits share; see `explain`.

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

    `sample_weight` weights the effects, and is passed to an estimator as ``sample_weight``. A callable must apply
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
    check_int("null_distribution(n_repeats)", n_repeats, 1, "Pass for example 100")
    check_option("null_distribution(how)", how, get_args(How))
    options = ExplainOptions.of("null_distribution", **keywords)
    seed, schema = options.seed, options.schema
    dataset = as_dataset(X, None, options.sample_weight, schema)
    _check_labels(y, len(dataset.table))
    selected = _columns(dataset, as_features(X, columns, "null_distribution(columns)"))
    learn = _learner(fit, options.sample_weight)
    requested = as_method(method)
    methods = {f.name: _method_for(requested, f) for f in selected}
    # ALE statistics do not use the heterogeneity score.
    common = replace(options, progress=False, heterogeneity_rows=0)
    rows = len(dataset.table)
    refits = (
        [selected] * n_repeats
        if how == "added"
        else [[f] for f in selected for _ in range(n_repeats)]
    )
    current_work().times = float(len(refits) * len(_by_method(refits[0], methods)))
    draws = _Draws({f.name: [] for f in selected})
    permute = added if how == "added" else replaced
    with Progress(len(refits), "refits with random features", options.progress) as bar:
        for features in refits:
            orders = [_order(rows, seed, f, len(draws.values[f.name])) for f in features]
            # `as_dataset` has checked X.
            new = permute(cast("Container", X), features, orders, schema)
            model = _fitted(learn, new.X, y)
            changed = replace(common, schema=new.schema)
            for group in _by_method(features, methods):
                labels = [new.labels[k] for k in group]
                effects = _effects(model, new.X, labels, methods[features[group[0]].name], changed)
                draws.add([features[k].name for k in group], effects)
            bar.advance()
    _check_used(draws.values, how)
    record: Json = {
        "how": how,
        "n_repeats": int(n_repeats),
        "fits": len(refits),
        "random_state": seed,
    }
    record |= {**limit_record(options), **summed_costs(draws.records), "rows": rows}
    explained = options.dataset(X)
    record |= explained.origin | ({"rows": len(explained)} if explained.origin else {})
    record["seconds"] = time.perf_counter() - started
    values = {name: np.array(v) for name, v in draws.values.items()}
    return NullDistribution(values, draws.settings, record)


@dataclass
class _Draws:
    """The statistics of the random features by column, the settings of their effects, and their provenances."""

    values: dict[str, list[Floats]]
    settings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    records: list[Provenance] = field(default_factory=list["Provenance"])

    def add(self, names: list[str], effects: Effects) -> None:
        """Add the effects of random features that are permutations of the named columns."""
        self.records.append(effects.provenance)
        for name, effect in zip(names, effects.values(), strict=True):
            self.values[name].append(point_statistics(effect))
            self.settings.setdefault(name, null_key(effect))


def _fitted(learn: Learner, X: Container, y: ArrayLike) -> Any:
    model = learn(X, y)
    if model is None:
        fix = "Return the fitted model from fit(X, y)"
        raise DataError("null_distribution(fit)", "None", "a fitted model", fix)
    return model


def _effects(
    model: Any,
    X: Container,
    features: list[Hashable],
    method: EffectMethod,
    options: ExplainOptions,
) -> Effects:
    """Return the effects of random features."""
    effects: object = explain(model, X, features, method=method, **options.keywords())
    if not isinstance(effects, Effects):
        got = f"a result of type {type(effects).__name__}"
        fix = "Return one quantity, such as sd.probability(model, class_=...), and use an ALE"
        raise UnsupportedError("null_distribution", got, "effects of one output", fix)
    return effects


def _method_for(method: Any, feature: Feature) -> Any:
    """Return the method for a feature, as `explain` selects it: ALE if `method` does not support a categorical one."""
    if not feature.categorical or not isinstance(method, Accumulated):
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


def _learner(fit: Any, weights: ArrayLike | None) -> Learner:
    """Return a function (X, y) that fits a new model."""
    if isinstance(fit, type) or not (hasattr(fit, "fit") or callable(fit)):
        got, fix = f"an object of type {type(fit).__name__}", "Pass an unfitted estimator"
        if isinstance(fit, type):
            got, fix = f"the class {fit.__name__}", f"Pass an instance: {fit.__name__}()"
        expected = "an estimator, or a callable fit(X, y) that returns a model"
        raise DataError("null_distribution(fit)", got, expected, fix)
    if not hasattr(fit, "fit"):
        _check_learner(fit)
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

    def learn(X: Container, y: ArrayLike) -> Any:
        model = _fresh(estimator)
        model.fit(X, y, **extra)
        return model

    return learn


def _check_learner(fit: Callable[..., object]) -> None:
    """Raise for a function that does not take X and y: a function of predictions learns nothing."""
    try:
        signature = inspect.signature(fit)
    except (TypeError, ValueError):  # compiled functions have none
        return
    try:
        signature.bind(None, None)
    except TypeError as error:
        expected = "an estimator, or a callable fit(X, y) that returns a model"
        fix = "Write a function of X and y that fits a model to them"
        got = f"a function that does not take X and y ({error})"
        raise DataError("null_distribution(fit)", got, expected, fix) from error


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


def _check_labels(y: object, rows: int) -> None:
    length = len(y) if isinstance(y, Sized) and not isinstance(y, (str, Mapping)) else None
    if length != rows:
        got = f"an object of type {type(y).__name__}" if length is None else f"length {length}"
        fix = "Pass the labels of the same rows as X"
        raise DataError("null_distribution(y)", got, f"length {rows} (one per row)", fix)


def _columns(dataset: Dataset, columns: object) -> list[Feature]:
    features = dataset.features
    if columns is None:
        return list(features)
    several = isinstance(columns, list)
    positions: list[int] = []
    for item in columns if several else [columns]:
        if isinstance(item, FeatureMatcher):
            positions += [f.position for f in item.among(features, dataset)]
        else:
            positions.append(find_feature(features, item, "null_distribution(columns)"))
    if not positions:
        fix = "Pass None for all columns"
        raise DataError("null_distribution(columns)", "an empty list", "at least one column", fix)
    return [features[k] for k in dict.fromkeys(positions)]
