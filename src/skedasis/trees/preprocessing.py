"""Fitted transformers before a tree ensemble: which column of X each of their outputs depends on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np

from skedasis._types import Bools, Container, Floats, Ints, ModelRows, Values
from skedasis.data.containers import Table
from skedasis.data.dataset import as_table
from skedasis.data.factorize import is_absent
from skedasis.models.introspection import Pipeline, is_sklearn_class, with_article
from skedasis.trees.ensemble import ColumnsMixed, TreesUnreadable

StepKind: TypeAlias = Literal["same", "increasing", "missing", "other"]
"""How an output depends on its column: the value itself, where it is not missing; a function that increases with it;
whether it is missing, and nothing else; or any other function."""


@dataclass(frozen=True)
class OutputColumn:
    """An output of transformers: the position of the column that it depends on, and how it depends on it."""

    column: int
    kind: StepKind


class Transformer(Protocol):
    """What is read of scikit-learn's fitted transformers. Each class has some of these, as its rule below states."""

    n_features_in_: int
    n_features_out_: int
    n_bins_: Ints
    encode: str
    encodings_: Sequence[Floats]
    func: object
    kw_args: object
    features_: Ints
    indicator_: Transformer
    add_indicator: bool
    missing_values: object
    statistics_: Values
    strategy: str
    keep_empty_features: bool
    steps: Sequence[tuple[str, Transformer]]
    transformer_list: Sequence[tuple[str, Transformer | str]]
    transformers_: Sequence[tuple[str, Transformer | str, object]]
    transformer_weights: Mapping[str, float] | None
    output_indices_: Mapping[str, slice]
    _n_features_outs: Sequence[int]
    _transformer_to_input_indices: Mapping[str, Sequence[int]]

    def transform(self, X: object) -> Container | SparseRows: ...

    def get_support(self) -> Bools: ...


class _Coordinates(Protocol):
    row: Ints
    col: Ints
    data: Values


@runtime_checkable
class SparseRows(Protocol):
    """What is read of SciPy's sparse arrays."""

    shape: tuple[int, int]

    def tocoo(self) -> _Coordinates: ...

    def toarray(self) -> Values: ...


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """The steps before a tree ensemble, all of which act by columns."""

    steps: Sequence[Transformer]
    outputs: Sequence[OutputColumn]
    absent: bool

    def __call__(self, X: ModelRows) -> Table[Container]:
        """Return the columns that the ensemble gets for rows of X."""
        rows = cast("Container | SparseRows", X)
        for step in self.steps:
            rows = step.transform(rows)
        table = as_table(self._dense(rows) if isinstance(rows, SparseRows) else rows)
        width = len(table.features())
        if width != len(self.outputs):
            raise TreesUnreadable(
                f"its transformers return {width} columns where {len(self.outputs)} are expected"
            )
        return table

    def _dense(self, rows: SparseRows) -> Values:
        if not self.absent:
            return rows.toarray()
        stored = rows.tocoo()
        out = np.full(rows.shape, np.nan)
        out[stored.row, stored.col] = stored.data
        return out


def preprocessing_of(pipeline: Pipeline) -> Preprocessing:
    """Return the steps of a fitted pipeline of scikit-learn before the last one."""
    if not is_sklearn_class(pipeline, {"Pipeline"}):
        raise ColumnsMixed(f"{type(pipeline).__name__} is not a pipeline of scikit-learn")
    # Any object may be a step; the rules ask for the attributes of those whose class they know.
    every = [cast("Transformer", step) for _, step in pipeline.steps]
    steps = [step for step in every[:-1] if not _passes(step)]
    try:
        inputs = [
            OutputColumn(j, "same") for j in range(int([*steps, every[-1]][0].n_features_in_))
        ]
        outputs = _through(steps, inputs)
    except (AttributeError, LookupError, ValueError, TypeError) as error:
        # Attributes that are not public are renamed from version to version.
        raise TreesUnreadable(f"the pipeline's transformers cannot be read: {error}") from error
    return Preprocessing(steps, outputs, type(every[-1]).__module__.startswith("xgboost."))


# --- outputs of one transformer -------------------------------------------------------------------


def _passes(step: object) -> bool:
    """Return whether a step leaves the columns as they are."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def _through(steps: Sequence[Transformer], inputs: Sequence[OutputColumn]) -> list[OutputColumn]:
    """Return the outputs of several transformers, one after the other."""
    outputs = list(inputs)
    for step in steps:
        outputs = _outputs(step, outputs)
    return outputs


def _outputs(step: Transformer | str | None, inputs: Sequence[OutputColumn]) -> list[OutputColumn]:
    """Return the outputs of a fitted transformer; raise `ColumnsMixed` if it is not known to act by columns."""
    if isinstance(step, str) or step is None:
        return list(inputs)  # "passthrough"; what is dropped is not asked for
    if is_sklearn_class(step, {"Pipeline"}):
        return _through([s for _, s in step.steps], inputs)
    name, module = type(step).__name__, type(step).__module__
    rule = _RULES.get(name) if module.startswith("sklearn.") else None
    if module.startswith("sklearn.feature_selection."):
        rule = _selection
    if rule is None:
        raise ColumnsMixed(f"{with_article(name)} is not known to act on each column by itself")
    return rule(step, inputs)


def _then(given: OutputColumn, kind: StepKind) -> OutputColumn:
    """Return an output that depends on another output in some way."""
    if given.kind == "missing" or kind == "same":
        return given  # a function of whether a value is missing stays one
    if kind == "increasing" and given.kind in ("same", "increasing"):
        return OutputColumn(given.column, "increasing")
    if kind == "missing" and given.kind == "same":
        return OutputColumn(given.column, "missing")
    return OutputColumn(given.column, "other")


def _each(kind: StepKind, _: Transformer, inputs: Sequence[OutputColumn]) -> list[OutputColumn]:
    """Return the outputs of a transformer with one for each column, which depends on it in this way."""
    return [_then(o, kind) for o in inputs]


def _selection(step: Transformer, inputs: Sequence[OutputColumn]) -> list[OutputColumn]:
    """Return the columns that a selection of features keeps."""
    return [inputs[k] for k in np.flatnonzero(step.get_support()).tolist()]


def _function(step: Transformer, inputs: Sequence[OutputColumn]) -> list[OutputColumn]:
    """Return the outputs of a function: of none, or of one of NumPy's that acts on each number by itself."""
    if step.func is None:
        return list(inputs)
    if isinstance(step.func, np.ufunc) and step.func.nin == 1 and not step.kw_args:
        increases = step.func in _INCREASING
        return [_then(o, "increasing" if increases else "other") for o in inputs]
    raise ColumnsMixed("a FunctionTransformer may mix columns")


_INCREASING = (
    np.arcsinh,
    np.arctan,
    np.cbrt,
    np.exp,
    np.exp2,
    np.expm1,
    np.log,
    np.log10,
    np.log1p,
    np.log2,
    np.sinh,
    np.sqrt,
    np.tanh,
)


def _imputer(step: Transformer, inputs: Sequence[OutputColumn]) -> list[OutputColumn]:
    """Return the outputs of a simple imputer: the columns with a value to insert, then indicators."""
    marked = not is_absent(step.missing_values)
    # The one marker that is replaced may be any number, as -1.
    kept = [_then(o, "other" if marked else "same") for o in inputs]
    if step.strategy != "constant" and not step.keep_empty_features:
        empty = [is_absent(value) for value in np.asarray(step.statistics_).tolist()]
        kept = [o for o, e in zip(kept, empty, strict=True) if not e]
    return kept + (_indicator(step.indicator_, inputs) if step.add_indicator else [])


def _indicator(step: Transformer, inputs: Sequence[OutputColumn]) -> list[OutputColumn]:
    """Return the outputs of an indicator of missing values."""
    kind: StepKind = "missing" if is_absent(step.missing_values) else "other"
    return [_then(inputs[k], kind) for k in step.features_]


def _several(inputs: Sequence[OutputColumn], counts: Sequence[int]) -> list[OutputColumn]:
    """Return the outputs of a transformer that replaces each column by a number of others."""
    pairs = zip(inputs, counts, strict=True)
    return [_then(o, "other") for o, count in pairs for _ in range(count)]


def _one_hot(step: Transformer, inputs: Sequence[OutputColumn]) -> list[OutputColumn]:
    return _several(inputs, list(step._n_features_outs))  # noqa: SLF001 - not public


def _bins(step: Transformer, inputs: Sequence[OutputColumn]) -> list[OutputColumn]:
    if step.encode == "ordinal":
        return _each("increasing", step, inputs)
    return _several(inputs, np.asarray(step.n_bins_).tolist())


def _target(step: Transformer, inputs: Sequence[OutputColumn]) -> list[OutputColumn]:
    """Return the outputs of a target encoder, which has one for each class if there are more than two."""
    each = len(step.encodings_) // len(inputs)
    return _several(inputs, [each] * len(inputs))


def _splines(step: Transformer, inputs: Sequence[OutputColumn]) -> list[OutputColumn]:
    each = int(step.n_features_out_) // len(inputs)
    return _several(inputs, [each] * len(inputs))


def _weighted(outputs: list[OutputColumn], weight: float) -> list[OutputColumn]:
    if weight == 1.0:
        return outputs
    return [_then(o, "increasing" if weight > 0 else "other") for o in outputs]


def _columns(step: Transformer, inputs: Sequence[OutputColumn]) -> list[OutputColumn]:
    weights: Mapping[str, float] = step.transformer_weights or {}
    found: dict[int, OutputColumn] = {}
    chosen = step._transformer_to_input_indices  # noqa: SLF001 - not public
    for name, part, _ in step.transformers_:
        if isinstance(part, str) and part == "drop":
            continue
        positions = [int(k) for k in chosen[name]]
        if not positions:
            continue
        outputs = _weighted(_outputs(part, [inputs[k] for k in positions]), weights.get(name, 1.0))
        place = step.output_indices_[name]
        found.update(zip(range(place.start, place.stop), outputs, strict=True))
    return [found[k] for k in range(len(found))]


def _union(step: Transformer, inputs: Sequence[OutputColumn]) -> list[OutputColumn]:
    """Return the outputs of a `FeatureUnion`."""
    weights: Mapping[str, float] = step.transformer_weights or {}
    outputs: list[OutputColumn] = []
    for name, part in step.transformer_list:
        if not (isinstance(part, str) and part == "drop"):
            outputs += _weighted(_outputs(part, inputs), weights.get(name, 1.0))
    return outputs


_RULES: dict[str, Callable[[Transformer, Sequence[OutputColumn]], list[OutputColumn]]] = {
    "Binarizer": partial(_each, "increasing"),
    "ColumnTransformer": _columns,
    "FeatureUnion": _union,
    "FunctionTransformer": _function,
    "KBinsDiscretizer": _bins,
    "MaxAbsScaler": partial(_each, "increasing"),
    "MinMaxScaler": partial(_each, "increasing"),
    "MissingIndicator": _indicator,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": partial(_each, "other"),
    "PowerTransformer": partial(_each, "increasing"),
    "QuantileTransformer": partial(_each, "increasing"),
    "RobustScaler": partial(_each, "increasing"),
    "SimpleImputer": _imputer,
    "SplineTransformer": _splines,
    "StandardScaler": partial(_each, "increasing"),
    "TargetEncoder": _target,
}
"""How the outputs of scikit-learn's transformers that act by columns depend on their inputs."""
