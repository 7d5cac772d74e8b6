# A quantity with several outputs is a `Quantity`, and a `PFI` is a method: the overloads list the narrower types first.
# pyright: reportOverlappingOverload=false

from typing import Unpack, overload

from skedasis._types import TableLike
from skedasis.engine.argument_types import (
    EffectMethod,
    FeatureLike,
    FeatureList,
    Features,
    GivenRegions,
    ImportanceMethod,
    Models,
    ModelT,
    MultiOutputModels,
    PairLike,
    PairList,
)
from skedasis.engine.options import ExplainKeywords, MultiModelKeywords
from skedasis.quantities.outputs import ModelLike, MultiOutputQuantity
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.importance import Importance
from skedasis.results.multi_model import (
    MultiModelEffect,
    MultiModelEffects,
    MultiModelImportance,
    MultiModelSurface,
)
from skedasis.results.multi_output import MultiOutput
from skedasis.results.regions import Regions, RegionsByFeature
from skedasis.results.surface import Surface
from skedasis.results.surfaces import Surfaces

@overload
def explain(
    model: MultiOutputQuantity,
    X: TableLike,
    features: FeatureLike,
    *,
    method: EffectMethod = None,
    by: GivenRegions,
    **keywords: Unpack[ExplainKeywords],
) -> MultiOutput[Regions]: ...
@overload
def explain(
    model: MultiOutputQuantity,
    X: TableLike,
    features: FeatureList = None,
    *,
    method: EffectMethod = None,
    by: GivenRegions,
    **keywords: Unpack[ExplainKeywords],
) -> MultiOutput[RegionsByFeature]: ...
@overload
def explain(
    model: ModelLike,
    X: TableLike,
    features: FeatureLike,
    *,
    method: EffectMethod = None,
    by: GivenRegions,
    **keywords: Unpack[ExplainKeywords],
) -> Regions: ...
@overload
def explain(
    model: ModelLike,
    X: TableLike,
    features: FeatureList = None,
    *,
    method: EffectMethod = None,
    by: GivenRegions,
    **keywords: Unpack[ExplainKeywords],
) -> RegionsByFeature: ...
@overload
def explain(
    model: MultiOutputModels,
    X: TableLike,
    features: Features = None,
    *,
    method: ImportanceMethod,
    **keywords: Unpack[MultiModelKeywords],
) -> MultiOutput[MultiModelImportance]: ...
@overload
def explain(
    model: MultiOutputModels,
    X: TableLike,
    features: FeatureLike,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[MultiModelKeywords],
) -> MultiOutput[MultiModelEffect]: ...
@overload
def explain(
    model: MultiOutputModels,
    X: TableLike,
    features: PairLike,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[MultiModelKeywords],
) -> MultiOutput[MultiModelSurface]: ...
@overload
def explain(
    model: MultiOutputModels,
    X: TableLike,
    features: PairList,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[MultiModelKeywords],
) -> MultiOutput[Surfaces[MultiModelSurface]]: ...
@overload
def explain(
    model: MultiOutputModels,
    X: TableLike,
    features: FeatureList = None,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[MultiModelKeywords],
) -> MultiOutput[MultiModelEffects]: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: Features = None,
    *,
    method: ImportanceMethod,
    **keywords: Unpack[MultiModelKeywords],
) -> MultiModelImportance: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureLike,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[MultiModelKeywords],
) -> MultiModelEffect: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: PairLike,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[MultiModelKeywords],
) -> MultiModelSurface: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: PairList,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[MultiModelKeywords],
) -> Surfaces[MultiModelSurface]: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureList = None,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[MultiModelKeywords],
) -> MultiModelEffects: ...
@overload
def explain(
    model: MultiOutputQuantity,
    X: TableLike,
    features: Features = None,
    *,
    method: ImportanceMethod,
    **keywords: Unpack[ExplainKeywords],
) -> MultiOutput[Importance]: ...
@overload
def explain(
    model: MultiOutputQuantity,
    X: TableLike,
    features: FeatureLike,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[ExplainKeywords],
) -> MultiOutput[Effect]: ...
@overload
def explain(
    model: MultiOutputQuantity,
    X: TableLike,
    features: PairLike,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[ExplainKeywords],
) -> MultiOutput[Surface]: ...
@overload
def explain(
    model: MultiOutputQuantity,
    X: TableLike,
    features: PairList,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[ExplainKeywords],
) -> MultiOutput[Surfaces[Surface]]: ...
@overload
def explain(
    model: MultiOutputQuantity,
    X: TableLike,
    features: FeatureList = None,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[ExplainKeywords],
) -> MultiOutput[Effects]: ...
@overload
def explain(
    model: ModelLike,
    X: TableLike,
    features: Features = None,
    *,
    method: ImportanceMethod,
    **keywords: Unpack[ExplainKeywords],
) -> Importance: ...
@overload
def explain(
    model: ModelLike,
    X: TableLike,
    features: FeatureLike,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[ExplainKeywords],
) -> Effect: ...
@overload
def explain(
    model: ModelLike,
    X: TableLike,
    features: PairLike,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[ExplainKeywords],
) -> Surface: ...
@overload
def explain(
    model: ModelLike,
    X: TableLike,
    features: PairList,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[ExplainKeywords],
) -> Surfaces[Surface]: ...
@overload
def explain(
    model: ModelLike,
    X: TableLike,
    features: FeatureList = None,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[ExplainKeywords],
) -> Effects: ...
