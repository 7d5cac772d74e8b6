"""Types of the arguments that `explain` and its sisters share, for type checkers and editors."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sized
from typing import Literal, SupportsIndex, TypeAlias, TypeVar

from skedasis.engine.select import FeaturePattern, SelectorLike
from skedasis.methods.base import Parameters
from skedasis.methods.permutation import PFI
from skedasis.quantities.outputs import ModelLike, MultiOutputQuantity
from skedasis.registry import EffectMethodName
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
