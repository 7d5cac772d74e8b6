# A quantity with several outputs is a `Quantity`, and a `PFI` is a method: the overloads list the narrower types first.
# pyright: reportOverlappingOverload=false

from typing import Any, Literal, Unpack, overload

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
from skedasis.engine.cross_validation import CrossValidation
from skedasis.engine.options import ExplainKeywords, RefitKeywords
from skedasis.quantities.outputs import ModelLike, MultiOutputQuantity
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.importance import Importance
from skedasis.results.multi_model import (
    AnyMultiModel,
    MultiModelEffect,
    MultiModelEffects,
    MultiModelImportance,
    MultiModelSurface,
)
from skedasis.results.multi_output import Comparison, MultiOutput
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
    refits: Literal[True],
    **keywords: Unpack[RefitKeywords],
) -> MultiOutput[MultiModelImportance]: ...
@overload
def explain(
    model: MultiOutputModels,
    X: TableLike,
    features: FeatureLike,
    *,
    method: EffectMethod = None,
    refits: Literal[True],
    **keywords: Unpack[RefitKeywords],
) -> MultiOutput[MultiModelEffect]: ...
@overload
def explain(
    model: MultiOutputModels,
    X: TableLike,
    features: PairLike,
    *,
    method: EffectMethod = None,
    refits: Literal[True],
    **keywords: Unpack[RefitKeywords],
) -> MultiOutput[MultiModelSurface]: ...
@overload
def explain(
    model: MultiOutputModels,
    X: TableLike,
    features: PairList,
    *,
    method: EffectMethod = None,
    refits: Literal[True],
    **keywords: Unpack[RefitKeywords],
) -> MultiOutput[Surfaces[MultiModelSurface]]: ...
@overload
def explain(
    model: MultiOutputModels,
    X: TableLike,
    features: FeatureList = None,
    *,
    method: EffectMethod = None,
    refits: Literal[True],
    **keywords: Unpack[RefitKeywords],
) -> MultiOutput[MultiModelEffects]: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: Features = None,
    *,
    method: ImportanceMethod,
    refits: Literal[True],
    **keywords: Unpack[RefitKeywords],
) -> MultiModelImportance: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureLike,
    *,
    method: EffectMethod = None,
    refits: Literal[True],
    **keywords: Unpack[RefitKeywords],
) -> MultiModelEffect: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: PairLike,
    *,
    method: EffectMethod = None,
    refits: Literal[True],
    **keywords: Unpack[RefitKeywords],
) -> MultiModelSurface: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: PairList,
    *,
    method: EffectMethod = None,
    refits: Literal[True],
    **keywords: Unpack[RefitKeywords],
) -> Surfaces[MultiModelSurface]: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureList = None,
    *,
    method: EffectMethod = None,
    refits: Literal[True],
    **keywords: Unpack[RefitKeywords],
) -> MultiModelEffects: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: Features = None,
    *,
    method: ImportanceMethod | EffectMethod = None,
    refits: bool = False,
    cv: CrossValidation,
    correction: float | None = None,
    **keywords: Unpack[ExplainKeywords],
) -> AnyMultiModel | MultiOutput[Any]: ...
@overload
def explain(
    model: MultiOutputModels,
    X: TableLike,
    features: Features = None,
    *,
    method: ImportanceMethod | EffectMethod = None,
    by: GivenRegions | None = None,
    **keywords: Unpack[ExplainKeywords],
) -> Comparison[MultiOutput[Any]]: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureLike,
    *,
    method: EffectMethod = None,
    by: GivenRegions,
    **keywords: Unpack[ExplainKeywords],
) -> Comparison[Regions]: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureList = None,
    *,
    method: EffectMethod = None,
    by: GivenRegions,
    **keywords: Unpack[ExplainKeywords],
) -> Comparison[RegionsByFeature]: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: Features = None,
    *,
    method: ImportanceMethod,
    **keywords: Unpack[ExplainKeywords],
) -> Comparison[Importance]: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureLike,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[ExplainKeywords],
) -> Comparison[Effect]: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: PairLike,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[ExplainKeywords],
) -> Comparison[Surface]: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: PairList,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[ExplainKeywords],
) -> Comparison[Surfaces[Surface]]: ...
@overload
def explain(
    model: Models[ModelT],
    X: TableLike,
    features: FeatureList = None,
    *,
    method: EffectMethod = None,
    **keywords: Unpack[ExplainKeywords],
) -> Comparison[Effects]: ...
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
