# A quantity with several outputs is a `Quantity`: the overloads list the narrower types first.
# pyright: reportOverlappingOverload=false

from typing import Literal, Unpack, overload

from skedasis._types import TableLike
from skedasis.engine.argument_types import EffectMethod, FeatureLike, FeatureList, Models, ModelT
from skedasis.engine.options import MultiModelKeywords
from skedasis.quantities.outputs import ModelLike, MultiOutputQuantity
from skedasis.results.multi_output import MultiOutput
from skedasis.results.regions import (
    MultiModelRegions,
    MultiModelRegionsByFeature,
    Regions,
    RegionsByFeature,
)

@overload
def regions(
    model: MultiOutputQuantity,
    X: TableLike,
    features: FeatureLike,
    *,
    method: EffectMethod = None,
    split_on: FeatureList = None,
    max_depth: int = 2,
    alpha: float = 0.05,
    min_gain: float = 0.01,
    criterion: Literal["auto", "within", "curves"] = "auto",
    look_ahead: bool = True,
    joint: bool = False,
    **keywords: Unpack[MultiModelKeywords],
) -> MultiOutput[Regions]: ...
@overload
def regions(
    model: MultiOutputQuantity,
    X: TableLike,
    features: FeatureList = None,
    *,
    method: EffectMethod = None,
    split_on: FeatureList = None,
    max_depth: int = 2,
    alpha: float = 0.05,
    min_gain: float = 0.01,
    criterion: Literal["auto", "within", "curves"] = "auto",
    look_ahead: bool = True,
    joint: bool = False,
    **keywords: Unpack[MultiModelKeywords],
) -> MultiOutput[RegionsByFeature]: ...
@overload
def regions(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureLike,
    *,
    method: EffectMethod = None,
    split_on: FeatureList = None,
    max_depth: int = 2,
    alpha: float = 0.05,
    min_gain: float = 0.01,
    criterion: Literal["auto", "within", "curves"] = "auto",
    look_ahead: bool = True,
    joint: bool = False,
    **keywords: Unpack[MultiModelKeywords],
) -> MultiModelRegions: ...
@overload
def regions(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureList = None,
    *,
    method: EffectMethod = None,
    split_on: FeatureList = None,
    max_depth: int = 2,
    alpha: float = 0.05,
    min_gain: float = 0.01,
    criterion: Literal["auto", "within", "curves"] = "auto",
    look_ahead: bool = True,
    joint: bool = False,
    **keywords: Unpack[MultiModelKeywords],
) -> MultiModelRegionsByFeature: ...
@overload
def regions(
    model: ModelLike,
    X: TableLike,
    features: FeatureLike,
    *,
    method: EffectMethod = None,
    split_on: FeatureList = None,
    max_depth: int = 2,
    alpha: float = 0.05,
    min_gain: float = 0.01,
    criterion: Literal["auto", "within", "curves"] = "auto",
    look_ahead: bool = True,
    joint: bool = False,
    **keywords: Unpack[MultiModelKeywords],
) -> Regions: ...
@overload
def regions(
    model: ModelLike,
    X: TableLike,
    features: FeatureList = None,
    *,
    method: EffectMethod = None,
    split_on: FeatureList = None,
    max_depth: int = 2,
    alpha: float = 0.05,
    min_gain: float = 0.01,
    criterion: Literal["auto", "within", "curves"] = "auto",
    look_ahead: bool = True,
    joint: bool = False,
    **keywords: Unpack[MultiModelKeywords],
) -> RegionsByFeature: ...
