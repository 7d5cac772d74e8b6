"""Types of the arguments that `explain` and its sisters share, and of what follows from them, for type checkers."""

# A quantity with several outputs is a `Quantity`: the overloads list the narrower type first.
# pyright: reportOverlappingOverload=false

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sized
from typing import (
    Concatenate,
    Literal,
    ParamSpec,
    Protocol,
    SupportsIndex,
    TypeAlias,
    TypeVar,
    cast,
    overload,
)

from skedasis.engine.select import FeaturePattern, SelectorLike
from skedasis.methods.base import Parameters
from skedasis.methods.permutation import PFI
from skedasis.quantities.outputs import ModelLike, MultiOutputQuantity
from skedasis.registry import EffectMethodName
from skedasis.results.containers import OutputResult
from skedasis.results.multi_output import Comparison, MultiOutput
from skedasis.results.regions import Regions

FeatureLike: TypeAlias = str | SupportsIndex
PairLike: TypeAlias = tuple[FeatureLike, FeatureLike]
PairList: TypeAlias = list[tuple[str, str]] | list[tuple[int, int]] | list[PairLike]
FeatureList: TypeAlias = (
    list[str]
    | list[int]
    | list[str | int]
    | list[FeatureLike]
    | list[re.Pattern[str]]
    | list[FeatureLike | re.Pattern[str]]
    | list[FeatureLike | FeaturePattern]
    | list[Hashable]
    | re.Pattern[str]
    | SelectorLike
    | Callable[[str], bool]
    | None
)
"""Several features: names and positions, patterns and selectors of them, or None for all."""
Features: TypeAlias = FeatureLike | PairLike | PairList | FeatureList

ImportanceMethod: TypeAlias = PFI | Literal["pfi"]
EffectMethod: TypeAlias = Parameters | EffectMethodName | None
"""A `PFI` is also a `Parameters`, so the overloads with `ImportanceMethod` come first."""

ModelT = TypeVar("ModelT", bound=ModelLike)
Models: TypeAlias = list[ModelT] | tuple[ModelT, ...] | Mapping[str, ModelT]
MultiOutputModels: TypeAlias = Models[MultiOutputQuantity]

GivenRegions: TypeAlias = int | Sized
"""Given regions: a column (name or position), labels of the rows, masks by rule, or a numeric column with its edges."""
SplitBy: TypeAlias = int | Sized
"""A split of the rows: a column (name or position), or labels of the rows."""
ByRegions: TypeAlias = GivenRegions | Regions
"""Regions as in `explain`, or regions that were found."""

MoveStep: TypeAlias = Hashable
"""A move of one feature: a number, a duration, text such as "+10%", or a level."""
MoveLike: TypeAlias = Mapping[str, MoveStep] | Mapping[int, MoveStep] | Mapping[str | int, MoveStep]
"""The move of each feature, by name or position."""
Scenarios: TypeAlias = Mapping[str, MoveLike]
"""Several moves, by names that the caller chooses."""

# --- what a function returns of several outputs and models ----------------------------------------

P = ParamSpec("P")
ResultT_co = TypeVar("ResultT_co", bound=OutputResult, covariant=True)


class OfOutputs(Protocol[P, ResultT_co]):
    """A function of a model whose result, for a quantity with several outputs, is a `MultiOutput`."""

    @overload
    def __call__(
        self, model: MultiOutputQuantity, *args: P.args, **keywords: P.kwargs
    ) -> MultiOutput[ResultT_co]: ...
    @overload
    def __call__(self, model: ModelLike, *args: P.args, **keywords: P.kwargs) -> ResultT_co: ...


class OfModels(Protocol[P, ResultT_co]):
    """The same of a function that also takes several models, whose results are a `Comparison`."""

    @overload
    def __call__(
        self, model: MultiOutputQuantity, *args: P.args, **keywords: P.kwargs
    ) -> MultiOutput[ResultT_co]: ...
    @overload
    def __call__(self, model: ModelLike, *args: P.args, **keywords: P.kwargs) -> ResultT_co: ...
    @overload
    def __call__(
        self, model: MultiOutputModels, *args: P.args, **keywords: P.kwargs
    ) -> Comparison[MultiOutput[ResultT_co]]: ...
    @overload
    def __call__(
        self, model: Models[ModelT], *args: P.args, **keywords: P.kwargs
    ) -> Comparison[ResultT_co]: ...


def of_outputs(
    result: type[ResultT_co],
) -> Callable[[Callable[Concatenate[ModelLike, P], object]], OfOutputs[P, ResultT_co]]:
    """Return a decorator that says the types of what a function returns, and leaves the function as it is."""
    del result
    return lambda function: cast("OfOutputs[P, ResultT_co]", function)


def of_models(
    result: type[ResultT_co],
) -> Callable[
    [Callable[Concatenate[ModelLike | Models[ModelLike], P], object]], OfModels[P, ResultT_co]
]:
    """Return such a decorator of a function that also takes several models."""
    del result
    return lambda function: cast("OfModels[P, ResultT_co]", function)
