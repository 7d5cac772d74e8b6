# A quantity with several outputs is a `Quantity`: the overloads list the narrower types first.
# pyright: reportOverlappingOverload=false

from typing import Any, Literal, Required, Unpack, overload

from skedasis._types import TableLike
from skedasis.engine.argument_types import (
    EffectMethod,
    FeatureLike,
    FeatureList,
    Models,
    ModelT,
    MultiOutputModels,
)
from skedasis.engine.cross_validation import CrossValidation
from skedasis.engine.options import FindRegionsKeywords, RefitRegionsKeywords
from skedasis.quantities.outputs import ModelLike, MultiOutputQuantity
from skedasis.results.multi_output import Comparison, MultiOutput
from skedasis.results.regions import (
    MultiModelRegions,
    MultiModelRegionsByFeature,
    Regions,
    RegionsByFeature,
)

class RegionsKeywords(FindRegionsKeywords, total=False):
    method: EffectMethod

class AveragedKeywords(RefitRegionsKeywords, total=False):
    method: EffectMethod
    refits: Required[Literal[True]]

@overload
def regions(
    model: MultiOutputQuantity,
    X: TableLike,
    features: FeatureLike,
    **keywords: Unpack[RegionsKeywords],
) -> MultiOutput[Regions]: ...
@overload
def regions(
    model: MultiOutputQuantity,
    X: TableLike,
    features: FeatureList = None,
    **keywords: Unpack[RegionsKeywords],
) -> MultiOutput[RegionsByFeature]: ...
@overload
def regions(
    model: Models[ModelT], X: TableLike, features: FeatureLike, **keywords: Unpack[AveragedKeywords]
) -> MultiModelRegions: ...
@overload
def regions(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureList = None,
    **keywords: Unpack[AveragedKeywords],
) -> MultiModelRegionsByFeature: ...
@overload
def regions(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureLike | FeatureList = None,
    *,
    method: EffectMethod = None,
    refits: bool = False,
    cv: CrossValidation,
    correction: float | None = None,
    **keywords: Unpack[FindRegionsKeywords],
) -> MultiModelRegions | MultiModelRegionsByFeature: ...
@overload
def regions(
    model: MultiOutputModels,
    X: TableLike,
    features: FeatureLike | FeatureList = None,
    **keywords: Unpack[RegionsKeywords],
) -> Comparison[MultiOutput[Any]]: ...
@overload
def regions(
    model: Models[ModelT], X: TableLike, features: FeatureLike, **keywords: Unpack[RegionsKeywords]
) -> Comparison[Regions]: ...
@overload
def regions(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureList = None,
    **keywords: Unpack[RegionsKeywords],
) -> Comparison[RegionsByFeature]: ...
@overload
def regions(
    model: ModelLike, X: TableLike, features: FeatureLike, **keywords: Unpack[RegionsKeywords]
) -> Regions: ...
@overload
def regions(
    model: ModelLike,
    X: TableLike,
    features: FeatureList = None,
    **keywords: Unpack[RegionsKeywords],
) -> RegionsByFeature: ...
